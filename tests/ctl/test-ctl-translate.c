/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/gettext.h"
#include "common/sentence.h"
#include "common/util.h"

#define B "\xe2\x90\x82"
#define V "\xe2\x90\x9f"
#define E "\xe2\x90\x83"

static const struct {
        const char *parts, *english, *german;
} texts[] = {
        /* a sentence, a format, and several of them */
        {"It does not offer UAS.", "It does not offer UAS.", "Sie bietet UAS nicht an."},
        {B "Is being switched to %s." V "uas" E, "Is being switched to uas.",
         "Wechselt gerade zu uas."},
        {B "%s%s" V B "uasd would switch it to %s, but is not running." V "uas" E V " " B "%s" V
           "The policy for this disk decides." E E,
         "uasd would switch it to uas, but is not running. The policy for this disk decides.",
         "uasd würde zu uas wechseln, läuft aber nicht. Die Vorgabe für diese Platte entscheidet."},
        {B "It can do SuperSpeed, but its link has %u Mbit/s. %s" V "480" V
           "Its port has no SuperSpeed side: plug it into a USB 3 port." E,
         "It can do SuperSpeed, but its link has 480 Mbit/s. Its port has no SuperSpeed side: plug it into a USB 3 port.",
         "Sie kann SuperSpeed, aber ihre Verbindung hat 480 Mbit/s. Ihr Anschluss hat keine SuperSpeed-Seite: Stecken Sie die Platte an einen USB-3-Anschluss."},
        /* values keep what they are, also with a full stop, a blank, or the words of a text */
        {B "Waits for %s until nothing uses it: %s." V "uas" V "/mnt/Dr. No (sda1), " B
           "%s%s has %s open" V "cat" V " (12)" V "sda" E ", " B "and %zu more" V "3" E E,
         "Waits for uas until nothing uses it: /mnt/Dr. No (sda1), cat (12) has sda open, and 3 more.",
         "Wartet auf uas, bis nichts sie benutzt: /mnt/Dr. No (sda1), cat (12) hat sda geöffnet, und 3 weitere."},
        {B "Waits for %s until nothing uses it: %s." V "uas" V "/mnt/50%s (sda1)" E,
         "Waits for uas until nothing uses it: /mnt/50%s (sda1).",
         "Wartet auf uas, bis nichts sie benutzt: /mnt/50%s (sda1)."},
        {B "UAS failed on %s: %s." V "2026-11-20" V B "%s (firmware %x.%02x, Linux %s)" V
           "it had to be reset" V "1" V "14" V "6.1.0" E E,
         "UAS failed on 2026-11-20: it had to be reset (firmware 1.14, Linux 6.1.0).",
         "UAS hat am 2026-11-20 versagt: sie brauchte einen Reset (Firmware 1.14, Linux 6.1.0)."},
        /* a clause in a clause, and a mount point that looks like one */
        {B "%s; %s" V B "distrusted: %s" V B "%s (%s, firmware %x.%02x, Linux %s)" V
           "it had to be reset" V "2026-11-20" V "1" V "14" V "6.1.0" E E V "on trial again" E,
         "distrusted: it had to be reset (2026-11-20, firmware 1.14, Linux 6.1.0); on trial again",
         "uasd misstraut ihr: sie brauchte einen Reset (2026-11-20, Firmware 1.14, Linux 6.1.0); wieder auf Probe"},
        {B "the policy is %s, forced" V B "%s, by uasd.conf" V "uas" E E,
         "the policy is uas, by uasd.conf, forced",
         "die Vorgabe ist uas, durch uasd.conf, erzwungen"},
        {B "in use: %s of %s at %s" V "mount" V "sda1" V "/mnt/a, b: c" E,
         "in use: mount of sda1 at /mnt/a, b: c", "wird benutzt: mount von sda1 auf /mnt/a, b: c"},
        /* of uasd and uasd-switch */
        {B "%s cannot be ejected: %s" V "2-1:1.0" V B "in use: %s of %s at %s" V "holder" V "sdb" V
           "dm-9" E E,
         "2-1:1.0 cannot be ejected: in use: holder of sdb at dm-9",
         "2-1:1.0 kann nicht ausgeworfen werden: wird benutzt: holder von sdb auf dm-9"},
        {B "%s is leased: %s" V "2-1:1.0" V B "%s (%ld) has it for itself." V "fio" V "77" E E,
         "2-1:1.0 is leased: fio (77) has it for itself.",
         "2-1:1.0 ist reserviert: fio (77) hat sie für sich allein."},
        {B "%s%s%s: %s" V "2-1:1.0" V " " V "sda" V B "%s at step %s: %s" V "rolled back" V
           "bind" V B "under %s %s: %s" V "uas" V "the disk cannot be read" V
           "Input/output error" E E E,
         "2-1:1.0 sda: rolled back at step bind: under uas the disk cannot be read: Input/output error",
         "2-1:1.0 sda: zurückgenommen im Schritt bind: unter uas ist die Platte nicht lesbar: Input/output error"},
        {B "moved from %s to %s" V "uas" V "usb-storage" E B "; %s" V
           "in use again before it could be tried" E,
         "moved from uas to usb-storage; in use again before it could be tried",
         "von uas zu usb-storage gewechselt; wieder benutzt, bevor sie erprobt werden konnte"},
        /* not known: unchanged, with the known sentence after it */
        {"", "", ""},
        {"A later uasd says this.", "A later uasd says this.", "A later uasd says this."},
        {"A later uasd says this. " B "%s" V "It has no driver." E,
         "A later uasd says this. It has no driver.",
         "A later uasd says this. Sie hat keinen Treiber."},
        {B "A later uasd says this of %s." V "It has no driver." E,
         "A later uasd says this of It has no driver..",
         "A later uasd says this of Sie hat keinen Treiber.."},
        {"uas", "uas", "uas"},
        /* hostile: conversions that write or read memory, too few values, too many, no end */
        {B "%n%s%p" V "a" V "b" V "c" E, "abc", "abc"},
        {B "%s%2$s%9$s%*d" V "a" V "b" E, "abb", "abb"},
        {B "%s of %s" E, " of ", " of "},
        {B "%s." V "a" V "b" V "c" V "d" V "e" V "f" V "g" V "h" V "i" V "j" E, "a.", "a."},
        {B "100%% of %s%" V "a" E, "100% of a", "100% of a"},
        {B "%s and %s" V B "%s" V "a", "a and ", "a and "},
        {B, "", ""},
        {B V V E E V "a", E V "a", E V "a"},
};

static void fill(enum sentence_form form)
{
        char ret[4096];

        sentences_have(form);
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_string_equal(sentence_fill(texts[i].parts, ret, sizeof(ret)),
                                    form == SENTENCE_TRANSLATED ? texts[i].german
                                                                : texts[i].english);
}

static void german(void **state)
{
        fill(SENTENCE_TRANSLATED);
}

static void english(void **state)
{
        fill(SENTENCE_ENGLISH);
}

/* One program makes the parts, and another one fills them in. */
static void made(void **state)
{
        char parts[512], ret[512], with[512];

        sentences_have(SENTENCE_IN_PARTS);
        (void) sentence(parts, sizeof(parts), "UAS failed on %s: %s.", "50%s",
                        "it had to be reset");
        sentence_add(parts, sizeof(parts), " %.*s%x", 2, "abc", 255u);
        (void) sentence_with("Write it as %s", "1:2:u", with, sizeof(with));
        assert_string_equal(sentence_fill(parts, ret, sizeof(ret)), parts);
        assert_true(sentence_is_in_parts(parts));
        assert_string_equal(sentence_english(parts, ret, sizeof(ret)),
                            "UAS failed on 50%s: it had to be reset. abff");
        sentences_have(SENTENCE_TRANSLATED);
        assert_string_equal(sentence_fill(parts, ret, sizeof(ret)),
                            "UAS hat am 50%s versagt: sie brauchte einen Reset. abff");
        assert_string_equal(sentence(ret, sizeof(ret), "distrusted: %s", "it had to be reset"),
                            "uasd misstraut ihr: sie brauchte einen Reset");
        assert_string_equal(sentence_fill(with, ret, sizeof(ret)), "Schreiben Sie ihn als 1:2:u");
        sentences_have(SENTENCE_ENGLISH);
        assert_string_equal(sentence(ret, sizeof(ret), "distrusted: %s", "it had to be reset"),
                            "distrusted: it had to be reset");
}

/* A text that is too long is cut, between characters. */
static void long_text(void **state)
{
        char ret[8], two[11];

        sentences_have(SENTENCE_TRANSLATED);
        assert_string_equal(sentence_fill("It does not offer UAS.", ret, sizeof(ret)), "Sie bie");
        sentences_have(SENTENCE_ENGLISH);
        assert_string_equal(sentence(ret, sizeof(ret), "äää%s", "ä"), "äää");
        sentences_have(SENTENCE_IN_PARTS);
        assert_string_equal(sentence(two, sizeof(two), "ab%s", "äää"), B "ab%s" V);
}

/* A device or user chose it: as deep as possible. */
static void deep_text(void **state)
{
        char text[2048] = "", ret[4096];

        sentences_have(SENTENCE_TRANSLATED);
        while (strlen(text) + sizeof(B "%s" V) < sizeof(text))
                strcat(text, B "%s" V);
        assert_string_equal(sentence_fill(text, ret, sizeof(ret)), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(english),   cmocka_unit_test(german),    cmocka_unit_test(made),
                cmocka_unit_test(long_text), cmocka_unit_test(deep_text),
        };

        (void) bindtextdomain("uasd", getenv("LOCALES"));
        (void) textdomain("uasd");
        assert_int_equal(setenv("LANGUAGE", "de", true), 0);
        assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}

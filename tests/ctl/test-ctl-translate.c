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
#include "common/util.h"
#include "ctl/output.h"

static const struct {
        const char *english, *german;
} texts[] = {
        /* a sentence, a format, and several of them */
        {"It does not offer UAS.", "Sie bietet UAS nicht an."},
        {"Is being switched to uas.", "Wechselt gerade zu uas."},
        {"uasd would switch it to uas, but is not running. The policy for this disk decides.",
         "uasd würde zu uas wechseln, läuft aber nicht. Die Vorgabe für diese Platte entscheidet."},
        {"uasd defers its mounts until it is on uas. The policy for this disk decides.",
         "uasd hält sie zurück, bis sie mit uas läuft. Die Vorgabe für diese Platte entscheidet."},
        {"The switch to uas was cancelled. The disk stays on usb-storage until a user asks again or plugs it in again. It does not offer UAS.",
         "Der Wechsel zu uas wurde abgesagt. Die Platte bleibt bei usb-storage, bis ein Benutzer es wieder verlangt oder sie neu ansteckt. Sie bietet UAS nicht an."},
        {"It can do SuperSpeed, but its link has 480 Mbit/s. Its port has no SuperSpeed side: plug it into a USB 3 port.",
         "Sie kann SuperSpeed, aber ihre Verbindung hat 480 Mbit/s. Ihr Anschluss hat keine SuperSpeed-Seite: Stecken Sie die Platte an einen USB-3-Anschluss."},
        /* values keep what they are, also with a full stop, a blank or the words of a text */
        {"Waits for uas until nothing uses it: /mnt/Dr. No (sda1), cat (12) has sda open, and 3 more.",
         "Wartet auf uas, bis nichts sie benutzt: /mnt/Dr. No (sda1), cat (12) hat sda geöffnet, und 3 weitere."},
        {"Waits for uas until nothing uses it: /mnt/50%s (sda1).",
         "Wartet auf uas, bis nichts sie benutzt: /mnt/50%s (sda1)."},
        {"UAS failed on 2026-11-20: it had to be reset (firmware 1.14, Linux 6.1.0).",
         "UAS hat am 2026-11-20 versagt: sie brauchte einen Reset (Firmware 1.14, Linux 6.1.0)."},
        {"Waits for usb-storage until nothing uses it: / (sda2). UAS failed: a sign of tomorrow. The running system is on it, so "
         "uasd cannot switch it. To start it on usb-storage: uasctl policy --kernel --write 2-1:1.0 usb-storage",
         "Wartet auf usb-storage, bis nichts sie benutzt: / (sda2). UAS hat versagt: a sign of tomorrow. Das laufende System ist "
         "auf ihr, also kann uasd sie nicht wechseln. Damit sie mit usb-storage startet: uasctl policy --kernel --write 2-1:1.0 usb-storage"},
        /* a clause in a clause */
        {"distrusted: it had to be reset (2026-11-20, firmware 1.14, Linux 6.1.0); on trial again",
         "uasd misstraut ihr: sie brauchte einen Reset (2026-11-20, Firmware 1.14, Linux 6.1.0); wieder auf Probe"},
        {"the policy is uas, by uasd.conf, forced",
         "die Vorgabe ist uas, durch uasd.conf, erzwungen"},
        {"It chooses usb-storage: a rule of the kernel keeps it off UAS: ASMedia. A switch has moved the disk to uas.",
         "Er wählt usb-storage: eine Regel des Kernels hält sie von UAS fern: ASMedia. Ein Wechsel hat die Platte zu uas gebracht."},
        {"in use: the kernel turned it on by itself. Under usb-storage it would not be, unless it is kept on: uasctl trim DISK on",
         "in Gebrauch: Der Kernel hat es von selbst eingeschaltet. Unter usb-storage wäre es das nur, wenn es dauerhaft an ist: "
         "uasctl trim DISK on"},
        {"It is older than the record of this disk and may move the disk to uas at the next boot. Update it: update-initramfs -u",
         "Sie ist älter als die Aufzeichnung dieser Platte und kann die Platte beim nächsten Start zu uas bringen. Erneuern Sie sie: "
         "update-initramfs -u"},
        /* of uasd and uasd-switch */
        {"2-1:1.0 cannot be ejected: in use: holder of sdb at dm-9",
         "2-1:1.0 kann nicht ausgeworfen werden: wird benutzt: holder von sdb auf dm-9"},
        {"2-1:1.0 is leased: fio (77) has it for itself.",
         "2-1:1.0 ist reserviert: fio (77) hat sie für sich allein."},
        {"in use: mount of sda1 at /mnt/a b", "wird benutzt: mount von sda1 auf /mnt/a b"},
        {"Waits for uas until nothing uses it: /boot (sda2), md0 (on sda2), swap on sda5, a device (on sda3).",
         "Wartet auf uas, bis nichts sie benutzt: /boot (sda2), md0 (auf sda2), Swap auf sda5, ein Gerät (auf sda3)."},
        {"under uas another disk shows: before LUN0_CONTENT=17, now LUN0_CONTENT=18: Structure needs cleaning; it did not go back",
         "unter uas zeigt sich eine andere Platte: before LUN0_CONTENT=17, now LUN0_CONTENT=18: Structure needs cleaning; sie ist nicht zurückgekehrt"},
        {"2-1:1.0 sda: rolled back at step bind: under uas the disk cannot be read: Input/output error",
         "2-1:1.0 sda: zurückgenommen im Schritt bind: unter uas ist die Platte nicht lesbar: Input/output error"},
        {"2-1:1.0: not brought back, it has no driver; step bind: uas does not take it: No such device",
         "2-1:1.0: nicht zurückgekehrt, sie hat keinen Treiber; Schritt bind: uas nimmt sie nicht: No such device"},
        {"2-1:1.0 sda: moved from uas to usb-storage; in use again before it could be tried",
         "2-1:1.0 sda: von uas zu usb-storage gewechselt; wieder benutzt, bevor sie erprobt werden konnte"},
        {"distrusted with firmware 2.14 on Linux 6.1.0: it had to be reset",
         "distrusted mit Firmware 2.14 unter Linux 6.1.0: sie brauchte einen Reset"},
        /* not known: unchanged, and the known sentence after it */
        {"", ""},
        {"-", "-"},
        {"A later uasd says this.", "A later uasd says this."},
        {"A later uasd says this. It has no driver. ",
         "A later uasd says this. Sie hat keinen Treiber. "},
        {"2-1:1.0: It has no driver.", "2-1:1.0: Sie hat keinen Treiber."},
        {"uas", "uas"},
        {"...", "..."},
        {": ; . ", ": ; . "},
};

static void speak_german(void)
{
        assert_int_equal(setenv("LANGUAGE", "de", true), 0);
        assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
}

static void german(void **state)
{
        speak_german();
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_string_equal(TRANSLATED(texts[i].english), texts[i].german);
}

static void english(void **state)
{
        assert_non_null(setlocale(LC_ALL, "C"));
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_string_equal(TRANSLATED(texts[i].english), texts[i].english);
}

/* A text that is too long is cut. */
static void long_text(void **state)
{
        char ret[8];

        speak_german();
        assert_string_equal(translate("It does not offer UAS.", ret, sizeof(ret)), "Sie bie");
}

/* A device or user chose it, to have as many ends of clauses and beginnings of formats as possible.
 */
static void hostile_text(void **state)
{
        static const char piece[] = "a: b, c; d. x has y has claimed ";
        char text[1024] = "";

        speak_german();
        while (strlen(text) + sizeof(piece) < sizeof(text))
                strcat(text, piece);
        assert_true(strlen(TRANSLATED(text)) >= strlen(text) / 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(english),
                cmocka_unit_test(german),
                cmocka_unit_test(long_text),
                cmocka_unit_test(hostile_text),
        };

        (void) bindtextdomain("uasd", getenv("LOCALES"));
        (void) textdomain("uasd");
        return cmocka_run_group_tests(tests, NULL, NULL);
}

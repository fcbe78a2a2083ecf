/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Origin and effect of each entry in the quirks of usb-storage. */
#include "core/quirk-words.h"
#include "core/quirks.h"

#include "unit.h"

static void test_args(void **state)
{
        static const struct {
                const char *args, *name[3], *value[3]; /* NULL name: no more */
        } rows[] = {
                {"", {NULL}, {NULL}},
                {" \t\n", {NULL}, {NULL}},
                {"quiet", {"quiet"}, {NULL}},
                {"a=1 b\tc=3\n", {"a", "b", "c"}, {"1", NULL, "3"}},
                {"a=\"1 2\" b", {"a", "b"}, {"1 2", NULL}},
                {"\"a=1 2\" b", {"a", "b"}, {"1 2", NULL}},
                {"\"a=1", {"a"}, {"1"}},
                {"a=\"1", {"a"}, {"1"}},
                {"a=", {"a"}, {""}},
                {"a=\"\"", {"a"}, {""}},
                {"a=\"", {"a"}, {""}},
                {"\"", {""}, {NULL}},
                {"=1", {""}, {"1"}},
                {"a=b=c", {"a"}, {"b=c"}},
                {"a=1\"2 3\"4 b", {"a", "b"}, {"1\"2 3\"4", NULL}},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[64], *rest = text, *name, *value;

                (void) copy_string(text, sizeof(text), rows[i].args);
                for (size_t j = 0; j < 3 && rows[i].name[j]; j++) {
                        rest = kernel_next_arg(rest, &name, &value);
                        assert_row(i, rest && streq(name, rows[i].name[j]));
                        assert_row(i, rows[i].value[j] ? value && streq(value, rows[i].value[j])
                                                       : !value);
                }
                assert_row(i, !kernel_next_arg(rest, &name, &value));
        }
        assert_true(kernel_name_is("usb-storage.quirks", "usb_storage.quirks"));
        assert_true(kernel_name_is("usb_storage.quirks", "usb_storage.quirks"));
        assert_false(kernel_name_is("usb_storage.quirk", "usb_storage.quirks"));
        assert_false(kernel_name_is("usb_storage.quirks2", "usb_storage.quirks"));
        assert_false(kernel_name_is("usbcore.quirks", "usb_storage.quirks"));
        assert_false(kernel_name_is("uas-\0",
                                    "uas\0")); /* one more character, which may be written as two */
        assert_false(kernel_name_is("uas\0", "uas_\0"));
        assert_false(kernel_name_is("", "uas"));
        assert_false(kernel_name_is("uas", ""));
        assert_false(kernel_name_is("usb.storage.quirks", "usb_storage.quirks"));
}

#define A "/etc/modprobe.d/a.conf"
#define B "/etc/modprobe.d/b.conf"
#define LONG                                                                                                     \
        "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy," \
        "4444:4444:abcdefghijklmnopqrstuwy,1209:5a5a:u"
#define U13 "uuuuuuuuuuuuu"
#define LONGEST_ENTRY                                                                              \
        "1209:5a5a:" U13 U13 U13 U13 U13 U13 U13 U13                                               \
                U13 /* alone in the parameter, which it fills */
_Static_assert(sizeof(LONGEST_ENTRY) == QUIRKS_MAX + 1, "");

/* "ENTRY|who|effect", one string per word. */
static const struct {
        const char *what, *parameter, *a, *b, *command_line, *early, *now;
        bool built_in;
        const char *words[4];
} table[] = {
        {"nothing", ""},
        {"only entries of other bridges", "1:2:u", "1:2:u", NULL, "3:4:u"},
        {"a file", "1209:5a5a:u", "1209:5a5a:u", .words = {"1209:5a5a:u|" A ", line 7|in force"}},
        {"the last file", "1:1:u,1209:5a5a:u", "1209:5a5a:f", "1:1:u,1209:5a5a:u",
         .words = {"1209:5a5a:u|" B ", line 9|in force",
                   "1209:5a5a:f|" A ", line 7|overruled: only the last quirks= counts, that of " B
                   ", line 9"}},
        {"the command line comes last", "1209:5a5a:", "1209:5a5a:u", NULL, "1209:5a5a:",
         .words =
                 {"1209:5a5a:|the kernel command line|in force",
                  "1209:5a5a:u|" A
                  ", line 7|overruled: only the last quirks= counts, that of the kernel command line"}},
        {"also where it says nothing of this one", "1:1:u", "1209:5a5a:u", NULL, "1:1:u",
         .words =
                 {"1209:5a5a:u|" A
                  ", line 7|overruled: only the last quirks= counts, that of the kernel command line"}},
        {"other spellings", "0X1209:005a5a:UZ", NULL, NULL, "0X1209:005a5a:UZ",
         .words = {"0X1209:005a5a:UZ|the kernel command line|in force"}},
        {"twice, and the first counts", "1209:5a5a:f,1209:5a5a:u", "1209:5a5a:f,1209:5a5a:u",
         .words = {"1209:5a5a:f|" A ", line 7|in force",
                   "1209:5a5a:u|" A ", line 7|not used: an earlier entry is for the same bridge"}},
        {"of a user", "1209:5a5a:u",
         .words =
                 {"1209:5a5a:u|a user or program at run time, or an older modprobe.d or initramfs|in force"}},
        {"of a user, by echo", "1:1:u,1209:5a5a:u\n",
         .words =
                 {"1209:5a5a:u|a user or program at run time, or an older modprobe.d or initramfs|in force"}},
        {"of a user, while a file says otherwise", "1209:5a5a:f", "1209:5a5a:u",
         .words =
                 {"1209:5a5a:f|a user or program at run time, or an older modprobe.d or initramfs|in force",
                  "1209:5a5a:u|" A ", line 7|not in the parameter now"}},
        {"the same once more", "1209:5a5a:u,1209:5a5a:u", "1209:5a5a:u",
         .words =
                 {"1209:5a5a:u|" A ", line 7|in force",
                  "1209:5a5a:u|a user or program at run time, or an older modprobe.d or initramfs|not used: an earlier entry is for the same bridge"}},
        {"written into a file since", "", "1209:5a5a:u",
         .words = {"1209:5a5a:u|" A ", line 7|not in the parameter now"}},
        {"of the initramfs", "1209:5a5a:u,1:1:u", "1:1:u", .early = "9:9:u,1209:5a5a:u",
         .words = {"1209:5a5a:u|uasd, which keeps such disks off uas|in force"}},
        {"in the initramfs before, taken out since", "1:1:u", "1:1:u", .early = "1209:5a5a:u"},
        {"for a switch", "1209:5a5a:,1209:5a5a:u", "1209:5a5a:u", .now = "1209:5a5a:",
         .words = {"1209:5a5a:|uasd, for a running switch|in force",
                   "1209:5a5a:u|" A ", line 7|not used: an earlier entry is for the same bridge"}},
        {"built in", "", "1209:5a5a:u", .built_in = true,
         .words = {"1209:5a5a:u|" A ", line 7|not read: usb-storage is built into this kernel"}},
        {"built in, and a file that is not read has the same entry", "1209:5a5a:u", "1209:5a5a:u",
         .built_in = true,
         .words =
                 {"1209:5a5a:u|a user or program at run time, or an older modprobe.d or initramfs|in force",
                  "1209:5a5a:u|" A ", line 7|not read: usb-storage is built into this kernel"}},
        {"built in, by the command line", "1209:5a5a:f", "1209:5a5a:u", NULL, "1209:5a5a:f",
         .built_in = true,
         .words = {"1209:5a5a:f|the kernel command line|in force",
                   "1209:5a5a:u|" A ", line 7|not read: usb-storage is built into this kernel"}},
        {"too long", "", LONG,
         .words = {"1209:5a5a:u|" A ", line 7|refused: 147 characters, and the kernel takes 127"}},
        {"as long as the kernel takes it", LONGEST_ENTRY, LONGEST_ENTRY,
         .words = {LONGEST_ENTRY "|" A ", line 7|in force"}},
        {"as long, and not in the parameter", "", LONGEST_ENTRY,
         .words = {LONGEST_ENTRY "|" A ", line 7|not in the parameter now"}},
        {"too long, and not the last one", "", LONG, "1:1:u",
         .words = {"1209:5a5a:u|" A ", line 7|refused: 147 characters, and the kernel takes 127"}},
};

static void test_words(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct quirk_facts q = {.built_in = table[i].built_in};
                struct quirk_word words[8];
                size_t n;

                (void) copy_string(q.parameter, sizeof(q.parameter), table[i].parameter);
                (void) copy_string(q.own_kept, sizeof(q.own_kept), table[i].early ?: "");
                (void) copy_string(q.own_now, sizeof(q.own_now), table[i].now ?: "");
                if (table[i].a)
                        assert_int_equal(
                                quirk_lines_add(&q.lines, QUIRK_MODPROBE, A, 7, table[i].a), 0);
                if (table[i].b)
                        assert_int_equal(
                                quirk_lines_add(&q.lines, QUIRK_MODPROBE, B, 9, table[i].b), 0);
                if (table[i].command_line)
                        assert_int_equal(quirk_lines_add(&q.lines, QUIRK_COMMAND_LINE, NULL, 0,
                                                         table[i].command_line),
                                         0);
                n = quirk_words(&q, 0x1209, 0x5a5a, words, ELEMENTSOF(words));
                for (size_t j = 0; j < n; j++) {
                        char who[400] = "", effect[400] = "", remedy[600] = "", text[1400];

                        (void) snprintf(text, sizeof(text), "%s|%s|%s", words[j].entry,
                                        quirk_word_who(words + j, who, sizeof(who)),
                                        quirk_word_effect(words + j, effect, sizeof(effect)));
                        if (!table[i].words[j] || !streq(text, table[i].words[j]))
                                fail_msg("%s: word %zu is %s", table[i].what, j, text);
                        (void) quirk_word_remedy(words + j, remedy, sizeof(remedy));
                        assert_row(i, *remedy);
                        assert_row(i, !words[j].line || words[j].source == words[j].line->source);
                        assert_row(i, *quirk_source_to_string(words[j].source) &&
                                              *quirk_effect_to_string(words[j].effect));
                }
                if (table[i].words[n])
                        fail_msg("%s: only %zu words", table[i].what, n);
                /* It ends where the array is full. */
                assert_row(i, quirk_words(&q, 0x1209, 0x5a5a, words, n ? n - 1 : 0) ==
                                      (n ? n - 1 : 0));
                quirk_facts_done(&q);
        }
}

static void test_remedies(void **state)
{
        const struct quirk_line line = {
                .source = QUIRK_MODPROBE, .file = (char *) "/etc/modprobe.d/\033a.conf", .line = 3};
        struct quirk_word w = {.entry = "1209:5a5a:u", .source = QUIRK_MODPROBE, .line = &line};
        char text[600];

        assert_string_equal(
                quirk_word_remedy(&w, text, sizeof(text)),
                "Remove 1209:5a5a:u from /etc/modprobe.d/\\x1ba.conf, line 3, rebuild the initramfs, and restart.");
        w.source = QUIRK_COMMAND_LINE;
        assert_non_null(
                strstr(quirk_word_remedy(&w, text, sizeof(text)), "from the kernel command line"));
        w.effect = QUIRK_NOT_READ;
        assert_non_null(strstr(quirk_word_remedy(&w, text, sizeof(text)),
                               "usb-storage.quirks=1209:5a5a:u"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_args),
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_remedies),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

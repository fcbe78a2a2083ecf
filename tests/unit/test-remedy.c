/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/remedy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit.h"

/* The laws of the table, for every row. */

#define FOREACH_ROW(id) for (enum remedy id = REMEDY_NONE + 1; id < _REMEDY_MAX; id++)
/* Those with an operand. */
#define FOREACH_REMEDY(id) FOREACH_ROW(id) if (strstr(remedy_rows[id].words, "%s"))

/* It runs one program, that of the row, with at most one operand. Words that run another program
 * are not allowed. */
static void test_words(void **state)
{
        static const char *const never[] = {"nsenter", "chroot", "unshare", "sudo ", "sh -c",
                                            "env ",    "xargs",  ";",       "&",     "|",
                                            "`",       "$",      "*",       "--all", " -a "};

        assert_null(remedy_rows[REMEDY_NONE].words);
        FOREACH_ROW(id)
        {
                const struct remedy_row *row = remedy_rows + id;
                const char *place = row->words ? strchr(row->words, '%') : NULL;
                char program[64], command[REMEDY_COMMAND_MAX];

                assert_row(id,
                           row->words && (!place || (place[1] == 's' && !strchr(place + 1, '%'))));
                /* A command about the whole system says what it touches, or is about uasd alone. */
                assert_row(id, place || row->touches || strstr(row->words, "uasd") ||
                                       strstr(row->words, "hwdb"));
                assert_string_equal(remedy_command(id, NULL, command, sizeof(command)),
                                    place ? "" : row->words);
                (void) copy_part(program, sizeof(program), row->words, strcspn(row->words, " "));
                assert_row(id, row->program ? streq(row->program, program)
                                            : streq(program, "kill") || streq(program, "echo"));
                assert_row(id, (row->service != NULL) == (streq(program, "systemctl") ||
                                                          streq(program, "journalctl") ||
                                                          streq(program, "rc-service")));
                /* It goes on to a later row, so that a search ends. */
                assert_row(id, row->otherwise == REMEDY_NONE || row->otherwise > id);
                for (size_t i = 0; i < ELEMENTSOF(never); i++)
                        if (strstr(row->words, never[i]))
                                fail_msg("%s: %s", row->words, never[i]);
        }
}

/* Names that are printed otherwise than they are, or that a program takes for an option. */
static void test_refused(void **state)
{
        static const char *const names[] = {
                "",      "a\nb", "a\tb", "a\033[2K",        "a\\x0ab",
                "\\",    "\xff", "\xc3", "a\xe2\x80\xae z", "-a",
                "--all", "\x7f",
        };

        FOREACH_REMEDY(id)
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char ret[REMEDY_COMMAND_MAX] = "x";

                assert_row(i, *remedy_command(id, names[i], ret, sizeof(ret)) == '\0');
        }
}

/* Every length: all of it, or nothing. */
static void test_whole(void **state)
{
        FOREACH_REMEDY(id)
        {
                size_t longest = 0;

                for (size_t n = 1; n < 2 * REMEDY_OPERAND_MAX; n++) {
                        char name[2 * REMEDY_OPERAND_MAX + 1] = "", ret[REMEDY_COMMAND_MAX],
                                                           whole[3 * REMEDY_OPERAND_MAX];
                        const char *words = remedy_rows[id].words, *place = strstr(words, "%s");

                        (void) memset(name, ' ', n);
                        (void) snprintf(whole, sizeof(whole), "%.*s'%s'%s", (int) (place - words),
                                        words, name, place + 2);
                        (void) remedy_command(id, name, ret, sizeof(ret));
                        assert_row(n, *ret == '\0' || streq(ret, whole));
                        assert_row(n, !*ret || longest == n - 1);
                        longest = *ret ? n : longest;
                }
                assert_row(id, longest == REMEDY_OPERAND_MAX - 3);
        }
        for (size_t size = 1; size < 40; size++) {
                char ret[40] = "";

                (void) remedy_command(REMEDY_UMOUNT, "/mnt/a b", ret, size);
                assert_string_equal(ret,
                                    size > strlen("umount '/mnt/a b'") ? "umount '/mnt/a b'" : "");
        }
}

/* Pasted into a shell, the operand is one word, and it is the name. */
static void test_pasted(void **state)
{
        static const char *const names[] = {"/mnt/usb",
                                            "/mnt/a b",
                                            "/mnt/it's;touch evil",
                                            "/mnt/$(touch evil)",
                                            "/mnt/`touch evil`",
                                            "/mnt/*",
                                            "/mnt/\"q\"",
                                            "/mnt/a>evil",
                                            "/mnt/~",
                                            "'",
                                            "/mnt/#",
                                            "/mnt/ü",
                                            "/mnt/!!",
                                            "=evil"};

        FOREACH_REMEDY(id)
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char command[REMEDY_COMMAND_MAX], line[2 * REMEDY_COMMAND_MAX], got[256] = "";
                const char *word = remedy_command(id, names[i], command, sizeof(command));
                size_t skip =
                        (size_t) (strstr(remedy_rows[id].words, "%s") - remedy_rows[id].words);
                FILE *f;

                (void) snprintf(line, sizeof(line), "set -- %s; printf '%%s|%%s' \"$#\" \"$1\"",
                                word + skip);
                f = popen(line, "re");
                assert_non_null(f);
                assert_row(i, fread(got, 1, sizeof(got) - 1, f) > 0);
                (void) pclose(f);
                if (!startswith(got, "1|") || !streq(got + 2, names[i]))
                        fail_msg("%s: %s", command, got);
        }
        assert_int_equal(access("evil", F_OK), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_whole), cmocka_unit_test(test_pasted)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text in lines of a given width. */
#include <locale.h>

#include "samples.h"

#include "term/layout.h"
#include "term/terminal.h"

static void lines(void **state)
{
        static const struct {
                const char *text;
                unsigned width;
                const char *want;
        } table[] = {
                {"", 5, ""},
                {"one", 0, "one"},
                {"one  two", 0, "one  two"},
                {"one two", 7, "one two"},
                {"one two", 6, "one\ntwo"},
                {"one two three", 7, "one two\nthree"},
                {"one two three", 9, "one two\nthree"},
                {"a b c d", 3, "a b\nc d"},
                {" one  two ", 10, "one  two"},
                {"one  two", 7, "one\ntwo"},
                {"seventeen is", 5, "seve…\nis"},
                {"is seventeen so", 5, "is\nseve…\nso"},
                {"abc d", 1, "…\nd"},
                {"für über", 4, "für\nüber"},
                {"日本語 日本", 6, "日本語\n日本"},
                {"日本語", 5, "日本…"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *got = fold(table[i].text, table[i].width);

                assert_non_null(got);
                assert_string_equal(got, table[i].want);
        }
}

/* Names go after their dashes, if they do not fit. */
static void parts(void **state)
{
        static const struct {
                const char *text;
                unsigned width, part;
                const char *want;
        } table[] = {
                {"SEQ1M-Q8T1-read", 15, 6, "SEQ1M-Q8T1-read"},
                {"SEQ1M-Q8T1-read", 14, 6, "SEQ1M-Q8T1-\nread"},
                {"SEQ1M-Q8T1-read", 6, 6, "SEQ1M-\nQ8T1-\nread"},
                {"SEQ1M-Q8T1-read", 3, 6, "SE…\nQ8…\nre…"},
                {"a-b c-d", 3, 2, "a-b\nc-d"},
                {"a-b c-d", 2, 2, "a-\nb\nc-\nd"},
                {"usb-storage uas", 8, 7, "usb-\nstorage\nuas"},
                {"-- -", 2, 1, "--\n-"},
                {"one two", 7, 3, "one two"},
                {"x", 0, 1, "x"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *got = fold(table[i].text, table[i].width);

                assert_non_null(got);
                assert_string_equal(got, table[i].want);
                assert_int_equal(fold_longest(table[i].text, true), table[i].part);
        }
}

static void widths(void **state)
{
        static const struct {
                const char *text;
                unsigned whole, word;
        } table[] = {
                {"", 0, 0},
                {" ", 1, 0},
                {"one", 3, 3},
                {"one three two", 13, 5},
                {"über a", 6, 4},
                {"日本 a", 6, 4},
                {"a \xff\xff\xff", 5, 3},
                {"e\u0301 a\tb", 4, 2}, /* neither has a cell of its own */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_int_equal(fold_width(table[i].text), table[i].whole);
                assert_int_equal(fold_longest(table[i].text, false), table[i].word);
        }
}

static void shortened(void **state)
{
        static const struct {
                const char *text;
                unsigned width;
                const char *want;
        } table[] = {
                {"", 1, ""},
                {"abcde", 6, "abcde"},
                {"abcde", 5, "abcde"},
                {"abcde", 4, "abc…"},
                {"abcde", 1, "…"},
                {"日本語", 6, "日本語"},
                {"日本語", 5, "日本…"},
                {"日本語", 4, "日…"},
                {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
                {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
                {"a\xff\xff\xff", 2, "a\xff\xff\xff"}, /* shown as it is */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char text[64];

                (void) copy_string(text, sizeof(text), table[i].text);
                style_shorten(text, table[i].width);
                assert_string_equal(text, table[i].want);
        }
}

/* At any width, no line is wider, and text that is not cut is complete. */
static void any_width(void **state)
{
        static const char text[] =
                "4 KiB random reads at depth 32: 3.1 times faster on UAS; sequential: no certain difference";

        for (unsigned width = 1; width < sizeof(text) + 2; width++) {
                _cleanup_free_ char *got = fold(text, width);
                char *rest = got;

                assert_non_null(got);
                for (char *line;
                     width >= fold_longest(text, false) && (line = strsep(&rest, "\n"));) {
                        assert_in_range(fold_width(line), 1, width);
                        if (rest)
                                rest[-1] = ' ';
                }
                if (width >= fold_longest(text, false))
                        assert_string_equal(got, text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(parts),
                                           cmocka_unit_test(widths), cmocka_unit_test(shortened),
                                           cmocka_unit_test(any_width)};

        if (!setlocale(LC_ALL, "C.UTF-8"))
                return 77;
        return cmocka_run_group_tests(tests, NULL, NULL);
}

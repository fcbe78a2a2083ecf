/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>

#include "unit.h"

static void test_copy_string(void **state)
{
        char ret[4];

        assert_true(copy_string(ret, sizeof(ret), ""));
        assert_string_equal(ret, "");
        assert_true(copy_string(ret, sizeof(ret), "abc"));
        assert_string_equal(ret, "abc");
        assert_false(copy_string(ret, sizeof(ret), "abcd"));
        assert_string_equal(ret, "abc");
}

static void test_concat(void **state)
{
        char ret[8];

        assert_true(concat(ret, sizeof(ret), ""));
        assert_string_equal(ret, "");
        assert_true(concat(ret, sizeof(ret), "ab", "", "cde", "fg"));
        assert_string_equal(ret, "abcdefg");
        assert_true(concat(ret, 1, ""));
        assert_false(concat(ret, sizeof(ret), "abcde", "fgh", "i"));
        assert_string_equal(ret, "abcdefg");
        assert_false(concat(ret, sizeof(ret), "abcdefgh"));
        assert_string_equal(ret, "abcdefg");
}

static void test_parse_numbers(void **state)
{
        static const char *const bad[] = {"",     "1",    "1:",   "1:2:", "1:2:3",        ":2",
                                          "1:-2", "1: 2", "1:2 ", "x:2",  "1:4294967296", "1.2"};
        unsigned ret[2] = {7, 7};

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (parse_numbers(bad[i], ':', ret, 2))
                        fail_msg("%s", bad[i]);
        assert_true(parse_numbers("8:4294967295", ':', ret, 2));
        assert_int_equal(ret[0], 8);
        assert_int_equal(ret[1], 4294967295);
        assert_true(parse_numbers("0", 0, ret, 1));
        assert_int_equal(ret[0], 0);
        assert_false(parse_numbers("99999999999999999999999999999999", 0, ret, 1));
}

static void test_strv(void **state)
{
        char **list = NULL;
        size_t n = 0;

        strv_free(list);
        assert_int_equal(strv_push(&list, &n, "a"), 0);
        assert_int_equal(strv_push(&list, &n, "b"), 0);
        assert_int_equal(n, 2);
        assert_string_equal(list[0], "a");
        assert_string_equal(list[1], "b");
        assert_null(list[2]);
        strv_free(list);
}

static void test_make_harmless(void **state)
{
        static const struct {
                const char *s, *harmless;
        } table[] = {
                {"", ""},
                {"USB 3.0 (x)", "USB 3.0 (x)"},
                {"a\nb\t\x1b[31m\x7f", "a\\x0ab\\x09\\x1b[31m\\x7f"},
                {"back\\slash", "back\\x5cslash"},
                {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x92\xbe",
                 "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x92\xbe"},
                {"\xc3", "\\xc3"},   /* cut off */
                {"\xc3(", "\\xc3("}, /* no continuation */
                {"\x80", "\\x80"},   /* only a continuation */
                {"\xff", "\\xff"},
                {"\xc0\xaf", "\\xc0\\xaf"},                   /* overlong */
                {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
                {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
                {"\xc2\x85", "\\xc2\\x85"},                   /* C1 */
                {"\xe2\x80\xae", "\\xe2\\x80\\xae"},          /* right-to-left override */
                {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},          /* byte order mark */
                {"\xf3\xa0\x80\xa0", "\\xf3\\xa0\\x80\\xa0"}, /* tag */
                {"\xef\xbf\xbe", "\\xef\\xbf\\xbe"}, /* noncharacters: sd-bus rejects them */
                {"\xef\xb7\x90", "\\xef\\xb7\\x90"},
                {"\xf0\x9f\xbf\xbf", "\\xf0\\x9f\\xbf\\xbf"},
                {"\xef\xb7\x8f \xef\xb7\xb0 \xef\xbf\xbd",
                 "\xef\xb7\x8f \xef\xb7\xb0 \xef\xbf\xbd"}, /* their neighbours */
        };
        char ret[64], small[8];

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i,
                           streq(make_harmless(table[i].s, ret, sizeof(ret)), table[i].harmless));
        /* No character is cut in two. */
        assert_string_equal(make_harmless("abcdef\n", small, sizeof(small)), "abcdef");
        assert_string_equal(make_harmless("abcdef\xc3\xa4", small, sizeof(small)), "abcdef");
        assert_string_equal(make_harmless("abcdefghi", small, sizeof(small)), "abcdefg");
}

static void encode(uint32_t c, char ret[static 5])
{
        const char text[] = {(char) (c < 0x800     ? 0xc0 | c >> 6
                                     : c < 0x10000 ? 0xe0 | c >> 12
                                                   : 0xf0 | c >> 18),
                             (char) (0x80 | (c >> (c < 0x800     ? 0
                                                   : c < 0x10000 ? 6
                                                                 : 12) &
                                             0x3f)),
                             (char) (0x80 | (c >> (c < 0x10000 ? 0 : 6) & 0x3f)),
                             (char) (0x80 | (c & 0x3f))};
        size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

        memcpy(ret, text, n);
        ret[n] = '\0';
}

/* The ends of each range that a terminal does not show as text, and their neighbours. */
static void test_invisible(void **state)
{
        static const uint32_t hidden[] = {0x80,   0x9f,   0xad,    0x61c,   0x200b, 0x200f, 0x2028,
                                          0x202a, 0x202e, 0x2060,  0x2066,  0x2069, 0x206f, 0xfeff,
                                          0xfff0, 0xfffb, 0xe0000, 0xe0fff, 0xfdd0, 0xfdef},
                              shown[] = {0xa0,   0xac,   0xae,   0x61b,  0x61d,  0x200a,
                                         0x2010, 0x2027, 0x202f, 0x205f, 0x2070, 0xfefe,
                                         0xff00, 0xffef, 0xfffc, 0xe1000};
        char text[5], ret[32];

        for (size_t i = 0; i < ELEMENTSOF(hidden); i++) {
                encode(hidden[i], text);
                assert_row(i, strncmp(make_harmless(text, ret, sizeof(ret)), "\\x", 2) == 0 &&
                                      strlen(ret) == 4 * strlen(text));
        }
        for (size_t i = 0; i < ELEMENTSOF(shown); i++) {
                encode(shown[i], text);
                assert_row(i, streq(make_harmless(text, ret, sizeof(ret)), text));
        }
}

/* Harmless text stays as it is, and so does a backslash. */
static void test_harmless_sentence(void **state)
{
        static const struct {
                const char *s, *harmless;
        } table[] = {
                {"", ""},
                {"in use: \x1b[31m", "in use: \\x1b[31m"},
                {"in use: \\x1b[31m", "in use: \\x1b[31m"},
                {"dev-disk-by\\x2did.service", "dev-disk-by\\x2did.service"},
                {"\\", "\\"},
                {"\\x5c", "\\x5c"},
                {"\\\xff", "\\\\xff"},
        };
        char ret[64];

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, streq(harmless_sentence(table[i].s, ret, sizeof(ret)),
                                    table[i].harmless));
}

static void test_parse_uint(void **state)
{
        static const struct {
                const char *s;
                unsigned base;
                unsigned long long max;
                int r;
                unsigned long long v;
        } table[] = {
                {"0", 10, 10, 0, 0},
                {"10", 10, 10, 0, 10},
                {"11", 10, 10, -ERANGE, 0},
                {"ff", 16, 255, 0, 255},
                {"FF", 16, 255, 0, 255},
                {"ff", 10, 255, -EINVAL, 0},
                {"0x10", 16, 255, -EINVAL, 0},
                {"0X10", 16, 255, -EINVAL, 0},
                {"0x10", 10, 255, -EINVAL, 0},
                {"", 10, 10, -EINVAL, 0},
                {" 1", 10, 10, -EINVAL, 0},
                {"1 ", 10, 10, -EINVAL, 0},
                {"+1", 10, 10, -EINVAL, 0},
                {"-1", 10, 10, -EINVAL, 0},
                {"18446744073709551615", 10, ULLONG_MAX, 0, ULLONG_MAX},
                {"18446744073709551616", 10, ULLONG_MAX, -ERANGE, 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                unsigned long long v = 0;

                assert_row(i,
                           parse_uint(table[i].s, table[i].base, table[i].max, &v) == table[i].r);
                assert_row(i, v == table[i].v);
        }
}

static void test_cleanup(void **state)
{
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        {
                _cleanup_close_ int a = fds[0], b = fds[1], none = -1;
                _cleanup_free_ char *p = strdup("x");
                _cleanup_fclose_ FILE *f = NULL;
                _cleanup_free_ char *kept = TAKE_PTR(p);
                int taken = TAKE_FD(b);

                assert_null(p);
                assert_non_null(kept);
                assert_int_equal(b, -1);
                assert_int_equal(none, -1);
                assert_null(f);
                errno = EIO;
                assert_int_equal(close_keep_errno(taken), -1);
                assert_int_equal(errno, EIO);
                assert_true(a >= 0);
        }
        assert_int_equal(close(fds[0]), -1);
        assert_int_equal(close(fds[1]), -1);
        assert_true(isempty(NULL) && isempty("") && !isempty("x"));
}

static void test_read(void **state)
{
        _cleanup_close_ int file = memfd_create("file", MFD_CLOEXEC),
                            null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL, *none = NULL;
        char room[8];
        int fds[2];
        size_t size;

        /* The bytes come in two pieces. */
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(write(fds[1], "abc", 3), 3);
        assert_int_equal(read_full(fds[0], room, 2), 2);
        assert_int_equal(write(fds[1], "def", 3), 3);
        assert_int_equal(close(fds[1]), 0);
        assert_int_equal(read_full(fds[0], room, sizeof(room)), 4);
        assert_memory_equal(room, "cdef", 4);
        assert_int_equal(close(fds[0]), 0);
        assert_int_equal(read_full(fds[0], room, sizeof(room)), -EBADF);

        /* The offset of its descriptor is at the end. */
        assert_int_equal(write(file, "a\0b\n", 4), 4);
        assert_int_equal(read_whole(file, 4, &text, &size), 0);
        assert_int_equal(size, 4);
        assert_memory_equal(text, "a\0b\n", 5);
        assert_int_equal(read_whole(file, 3, &none, &size), -EFBIG);
        assert_int_equal(read_whole(null, 3, &none, &size), -EINVAL);
        assert_null(none);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_copy_string),   cmocka_unit_test(test_concat),
                cmocka_unit_test(test_parse_numbers), cmocka_unit_test(test_strv),
                cmocka_unit_test(test_make_harmless), cmocka_unit_test(test_harmless_sentence),
                cmocka_unit_test(test_invisible),     cmocka_unit_test(test_parse_uint),
                cmocka_unit_test(test_cleanup),       cmocka_unit_test(test_read),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

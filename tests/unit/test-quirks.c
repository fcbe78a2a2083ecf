/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirk-join.h"
#include "core/quirks.h"

#include "unit.h"

#define LACIE "LaCie Rugged USB3-FW"
#define ASMEDIA "ASMedia ASM105x, perhaps the ASM1051 with broken UAS"

#define LONG_17 "10000000000001209" /* an unsigned long of 64 or 32 bits wraps around to 1209 */

static void test_find(void **state)
{
        static const struct {
                const char *string;
                int r;
                const char *letters;
        } table[] = {
                {"", 0, ""},
                {"1209:5a5a:u", 1, "u"},
                {"1209:5a5a:", 1, ""},
                {"1209:5a5a", 0, ""},
                {"1209:5a5a,1209:5a5a:u", 1, "u"},
                {"0x1209:0X5A5a:U", 1, "u"},
                {"01209:005a5a:u", 1, "u"},
                {"11209:5a5a:u", 0, ""},
                {"1209:15a5a:u", 0, ""},
                {" 1209:5a5a:u", 0, ""},
                {"1209 :5a5a:u", 0, ""},
                {"1209:5a5a :u", 0, ""},
                {"1209:5a5a:u\n", 1, "u"},
                {"1209:5a5a:f?u-vxzqF@`{1", 1, "fu"},
                {"1209:5a5a:uttu", 1, "tu"},
                {"1209:5a5a:abcdefghijklmnopqrstuvwxyz", 1, "abcdefghijklmnoprstuwy"},
                {"1209:5a5a:f,1209:5a5a:u", 1, "f"},
                {"1209:5a5b:f,1209:5a5a:u", 1, "u"},
                {"junk,:,::,1209:5a5a:u", 1, "u"},
                {",,,1209:5a5a:u", 1, "u"},
                {"junk 1209:5a5a:u", 0, ""},
                {"1209:5a5a:g:h", 1, "gh"},
                {"1209:5a5a:u,", 1, "u"},
                {"1209:,5a5a:u", 0, ""},
                {LONG_17 ":5a5a:u", true, "u"},
        };
        char letters[QUIRK_ENTRY_MAX];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_row(i, quirks_find(table[i].string, 0x1209, 0x5a5a, letters) == table[i].r);
                assert_row(i, streq(letters, table[i].letters));
        }
        /* No digits are the number 0, and so is "0x" without digits. */
        assert_int_equal(quirks_find("::u", 0, 0, letters), 1);
        assert_int_equal(quirks_find("0x:0:u", 0, 0, letters), 1);
        assert_int_equal(quirks_find("x:0:u", 0, 0, letters), 0);
}

#define HS .speed_mbps = 480
#define SS .speed_mbps = 5000

static void test_kernel(void **state)
{
        static const struct {
                struct bridge b;
                const char *letters;
                bool ignore;
                enum kernel_source source;
                const char *name;
        } table[] = {
                {{0x1209, 0x5a5a}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x4971, 0x1012}, "", true, KERNEL_TABLE_UAS, "Hitachi External HDD"},
                {{0x4971, 0x1013}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x059f, 0x105f}, "fk", false, KERNEL_TABLE_UAS, "LaCie 2Big Quadra USB3"},
                {{0x13fd, 0x3940, 0x0309},
                 "rt",
                 false,
                 KERNEL_TABLE_UAS,
                 "Initio Corporation INIC-3069"},
                {{0x13fd, 0x3940, 0x0310}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0984, 0x0301, 0x0127}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0984, 0x0301, 0x0128}, "", true, KERNEL_TABLE_UAS, "Apricorn"},
                {{0x0984, 0x0301, 0x0129}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0781, 0x55e8, 0x9999}, "", true, KERNEL_TABLE_UAS, "SanDisk"},
                {{0x0781, 0x55e8, 0x999a}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x152d, 0x0578}, "", false, KERNEL_TABLE_UAS, "JMicron JMS567"},
                {{0x2109, 0x0715},
                 "",
                 true,
                 KERNEL_TABLE_STORAGE,
                 "VIA Labs, Inc. VL817 SATA Bridge"},
                {{0x357d, 0x7788, 0x0114}, "f", true, KERNEL_TABLE_UAS, "JMicron JMS566"},
                {{0x357d, 0x7788, 0x0200}, "f", true, KERNEL_TABLE_UAS, "JMicron JMS566"},
                {{0x0bc2, 0xab38}, "t", false, KERNEL_RULE, "Seagate"},
                {{0x0bc2, 0x331a}, "jt", false, KERNEL_TABLE_UAS, "Seagate Expansion Desk"},
                {{0x174c, 0x55aa, HS, .max_power = 1}, "", true, KERNEL_RULE, ASMEDIA},
                {{0x174c, 0x5106, HS, .max_power = 1}, "", true, KERNEL_RULE, ASMEDIA},
                {{0x174c, 0x55aa, HS, .max_power = 0}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x174c, 0x55ab, HS, .max_power = 1}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x174c, 0x55aa, SS, .max_power = 1, .status_streams = 32},
                 "",
                 true,
                 KERNEL_RULE,
                 ASMEDIA},
                {{0x174c, 0x55aa, SS, .max_power = 1, .status_streams = 16},
                 "g",
                 false,
                 KERNEL_RULE,
                 ASMEDIA},
                {{0x174c, 0x55aa, SS, .status_streams = 32}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0bda, 0x9210, .manufacturer = "HIKSEMI", .product = "MD202"},
                 "",
                 true,
                 KERNEL_RULE,
                 "HIKSEMI MD202"},
                {{0x0bda, 0x9210, .manufacturer = "HIKSEMI", .product = "MD2023"},
                 "",
                 false,
                 KERNEL_SAYS_NOTHING,
                 NULL},
                {{0x0bda, 0x9210, .manufacturer = "Hiksemi", .product = "MD202"},
                 "",
                 false,
                 KERNEL_SAYS_NOTHING,
                 NULL},
                {{0x0bda, 0x9210, .manufacturer = "HIKSEMI"}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0bda, 0x9210, .product = "MD202"}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0bda, 0x9211, .manufacturer = "HIKSEMI", .product = "MD202"},
                 "",
                 false,
                 KERNEL_SAYS_NOTHING,
                 NULL},
                /* the tables of older kernels */
                {{0x059f, 0x1061, .kernel = LINUX(4, 4)}, "", true, KERNEL_TABLE_UAS, LACIE},
                {{0x059f, 0x1061, .kernel = LINUX(4, 13)}, "", true, KERNEL_TABLE_UAS, LACIE},
                {{0x059f, 0x1061, .kernel = LINUX(4, 14)}, "fk", false, KERNEL_TABLE_UAS, LACIE},
                {{0x059f, 0x1061, .kernel = LINUX(7, 2)}, "fk", false, KERNEL_TABLE_UAS, LACIE},
                {{0x059f, 0x1061}, "fk", false, KERNEL_TABLE_UAS, LACIE},
                {{0x13fd, 0x3940, 0x0310, .kernel = LINUX(4, 4)},
                 "rt",
                 false,
                 KERNEL_TABLE_UAS,
                 "Initio Corporation INIC-3069"},
                {{0x13fd, 0x3940, 0x0310, .kernel = LINUX(5, 10)},
                 "",
                 false,
                 KERNEL_SAYS_NOTHING,
                 NULL},
                {{0x0b05, 0x1932, .kernel = LINUX(4, 4)}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0b05, 0x1932, .kernel = LINUX(5, 10)},
                 "",
                 true,
                 KERNEL_TABLE_UAS,
                 "ASUS External HDD"},
                {{0x2109, 0x0715, .kernel = LINUX(4, 4)}, "", false, KERNEL_SAYS_NOTHING, NULL},
                {{0x0bda, 0x9210, .manufacturer = "HIKSEMI", .product = "MD202",
                  .kernel = LINUX(4, 4)},
                 "",
                 false,
                 KERNEL_SAYS_NOTHING,
                 NULL},
                {{0x0bc2, 0xab38, .kernel = LINUX(4, 4)}, "t", false, KERNEL_RULE, "Seagate"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct kernel_flags k;

                kernel_flags(&table[i].b, &k);
                assert_row(i, streq(k.letters, table[i].letters));
                assert_row(i, k.ignore_uas == table[i].ignore);
                assert_row(i, k.source == table[i].source);
                assert_row(i, table[i].name ? k.name && streq(k.name, table[i].name) : !k.name);
        }
}

static void test_entry(void **state)
{
        static const struct bridge plain = {0x1209, 0x5a5a, SS}, hitachi = {0x4971, 0x1012, SS},
                                   jmicron = {0x357d, 0x7788, 0x0114}, via = {0x2109, 0x0715, SS},
                                   lacie = {0x059f, 0x105f, SS}, seagate = {0x0bc2, 0xab38, SS},
                                   asm1051 = {0x174c, 0x55aa, HS, .max_power = 1},
                                   asm1053 = {0x174c, 0x55aa, SS, .max_power = 1,
                                              .status_streams = 16};
        static const struct bridge toshiba = {0x0480, 0xd010, 0x0100, SS},
                                   jms567 = {0x152d, 0x0567, 0x0115, SS},
                                   any_jms567 = {0x152d, 0x0567, .any_bcd = true},
                                   apricorn = {0x0984, 0x0301, 0x0128},
                                   any_apricorn = {0x0984, 0x0301, .any_bcd = true},
                                   any_hitachi = {0x4971, 0x1012, .any_bcd = true},
                                   old_toshiba = {0x0480, 0xd010, 0x0100, SS,
                                                  .kernel = LINUX(4, 4)},
                                   old_lacie = {0x059f, 0x105f, SS, .kernel = LINUX(4, 4)},
                                   any_old = {0x059f, 0x1061, .any_bcd = true,
                                              .kernel = LINUX(4, 4)},
                                   oldest = {0x1209, 0x5a5a, SS, .kernel = LINUX(3, 10)};
        static const struct {
                const char *string;
                const struct bridge *b;
                enum driver target;
                const char *entry; /* NULL: right as it is */
        } table[] = {
                {"", &plain, DRIVER_UAS, NULL},
                {"", &plain, DRIVER_USB_STORAGE, "1209:5a5a:u"},
                {"1209:5a5a:u", &plain, DRIVER_UAS, "1209:5a5a:"},
                {"1209:5a5a:u", &plain, DRIVER_USB_STORAGE, NULL},
                {"1209:5a5a:uf", &plain, DRIVER_UAS, "1209:5a5a:f"},
                {"1209:5a5a:f", &plain, DRIVER_USB_STORAGE, "1209:5a5a:fu"},
                {"1209:5a5a:", &plain, DRIVER_UAS, NULL},
                {"0bda:9210:u", &plain, DRIVER_USB_STORAGE, "1209:5a5a:u"},
                /* a row in the kernel's own table, and an entry that overrides it */
                {"", &hitachi, DRIVER_UAS, "4971:1012:"},
                {"", &hitachi, DRIVER_USB_STORAGE, NULL},
                {"4971:1012:", &hitachi, DRIVER_UAS, NULL},
                {"4971:1012:", &hitachi, DRIVER_USB_STORAGE, "4971:1012:u"},
                {"", &jmicron, DRIVER_UAS, "357d:7788:f"},
                {"", &jmicron, DRIVER_USB_STORAGE, NULL},
                {"", &asm1051, DRIVER_UAS, "174c:55aa:"},
                {"", &asm1051, DRIVER_USB_STORAGE, NULL},
                /* usb-storage takes it, and uas would, too */
                {"", &via, DRIVER_UAS, NULL},
                {"", &via, DRIVER_USB_STORAGE, "2109:0715:u"},
                {"2109:0715:u", &via, DRIVER_UAS, "2109:0715:"},
                /* built-in letters are restated */
                {"", &lacie, DRIVER_UAS, NULL},
                {"", &lacie, DRIVER_USB_STORAGE, "059f:105f:fku"},
                {"059f:105f:u", &lacie, DRIVER_UAS, "059f:105f:fk"},
                /* rules give uas letters, and usb-storage none */
                {"", &seagate, DRIVER_USB_STORAGE, "0bc2:ab38:u"},
                {"0bc2:ab38:u", &seagate, DRIVER_UAS, "0bc2:ab38:t"},
                {"0bc2:ab38:", &seagate, DRIVER_UAS, NULL},
                {"", &asm1053, DRIVER_USB_STORAGE, "174c:55aa:u"},
                {"174c:55aa:mu", &asm1053, DRIVER_UAS, "174c:55aa:gm"},
                /* a row that only usb-storage has also has letters */
                {"", &toshiba, DRIVER_UAS, NULL},
                {"", &toshiba, DRIVER_USB_STORAGE, "0480:d010:uy"},
                {"0480:d010:u", &toshiba, DRIVER_UAS, "0480:d010:"},
                /* with unknown firmware: the letters of each row, but no 'u' that other firmware
                   does not have */
                {"", &jms567, DRIVER_USB_STORAGE, "152d:0567:u"},
                {"", &any_jms567, DRIVER_USB_STORAGE, "152d:0567:fu"},
                {"", &apricorn, DRIVER_USB_STORAGE, NULL},
                {"", &any_apricorn, DRIVER_USB_STORAGE, "0984:0301:u"},
                {"", &any_apricorn, DRIVER_UAS, NULL},
                {"", &any_hitachi, DRIVER_USB_STORAGE, NULL},
                /* an old kernel has fewer rows, and fewer letters than the entry of the user */
                {"", &old_toshiba, DRIVER_USB_STORAGE, "0480:d010:u"},
                {"059f:105f:kufy", &old_lacie, DRIVER_UAS, "059f:105f:f"},
                {"", &any_old, DRIVER_USB_STORAGE, NULL},
                {"", &oldest, DRIVER_USB_STORAGE, NULL},
                /* no driver to make possible */
                {"", &plain, DRIVER_NONE, NULL},
                {"1209:5a5a:u", &plain, DRIVER_OTHER, NULL},
                {"", &plain, _DRIVER_MAX, NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char entry[QUIRK_ENTRY_MAX], string[QUIRKS_MAX + 1], back[QUIRKS_MAX + 1];
                int r = quirks_entry(table[i].string, table[i].b, table[i].target, entry);

                assert_row(i, r == (table[i].entry != NULL));
                assert_row(i, streq(entry, table[i].entry ?: ""));
                if (r == 0)
                        continue;
                /* The entry has its effect, and it can be removed again. */
                assert_int_equal(quirks_prepend(table[i].string, entry, string), 0);
                assert_row(i, quirks_entry(string, table[i].b, table[i].target, entry) == 0);
                assert_int_equal(quirks_remove(string, table[i].entry, back), 1);
                assert_row(i, streq(back, table[i].string));
        }
}

static void test_letters_of_a_kernel(void **state)
{
        static const struct {
                const char *release;
                unsigned kernel;
                const char *unknown;
        } table[] = {
                {"3.10.108", LINUX(3, 10), "fgjktuy"},
                {"4.4.302+", LINUX(4, 4), "ky"},
                {"5.10.0-32-amd64", LINUX(5, 10), ""},
                {"6.12-rc1", LINUX(6, 12), ""},
                {"", 0, ""},
                {"6", 0, ""},
                {"6.x", 0, ""},
                {"6.256", 0, ""},
                {"-1.2", 0, ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_row(i, linux_version(table[i].release) == table[i].kernel);
                for (const char *p = QUIRK_LETTERS; *p; p++)
                        assert_row(i, !quirk_letter_find(*p, table[i].kernel) ==
                                              (strchr(table[i].unknown, *p) != NULL));
                for (const char *p = "qvxz`{A0\xe4"; *p; p++) /* no kernel knows them */
                        assert_row(i, !quirk_letter_find(*p, table[i].kernel));
        }
}

/* The entry that is in force, as it is written. */
static void test_entry_of(void **state)
{
        static const struct {
                const char *string, *entry; /* NULL: none */
        } table[] = {
                {"", NULL},
                {"1:2:u", NULL},
                {"1209:5a5a:u", "1209:5a5a:u"},
                {"1:2:u,0X1209:5a5A:zz,1209:5a5a:f", "0X1209:5a5A:zz"},
                {"1209:5a5a:,1:2:u", "1209:5a5a:"},
                {"1209:5a5a:abcdefghijklmnopqrstuvwxyz---",
                 "1209:5a5a:abcdefghijklmnopqrstuvwxyz---"},
                {"1209:5a5a:abcdefghijklmnopqrstuvwxyz----", NULL}, /* it does not fit */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char entry[QUIRK_ENTRY_MAX] = "before";
                int r = quirks_entry_of(table[i].string, 0x1209, 0x5a5a, entry);

                assert_row(i, r == (table[i].entry != NULL));
                assert_row(i, streq(entry, table[i].entry ?: ""));
        }
}

static void test_next(void **state)
{
        const char *string = ",1209:5a5a:u,1:2:f,1209:5a5a:,1209:5a5a:fu", *p;
        size_t n;

        p = quirks_next(string, 0x1209, 0x5a5a, &n);
        assert_true(p == string + 1 && n == strlen("1209:5a5a:u"));
        p = quirks_next(p + n, 0x1209, 0x5a5a, &n);
        assert_true(p == strstr(string, "1209:5a5a:,") && n == strlen("1209:5a5a:"));
        p = quirks_next(p + n, 0x1209, 0x5a5a, &n);
        assert_true(p == strstr(string, "1209:5a5a:fu") && n == strlen("1209:5a5a:fu"));
        assert_null(quirks_next(p + n, 0x1209, 0x5a5a, &n));
}

static void test_longest_entry(void **state)
{
        const struct bridge b = {0x1209, 0x5a5a};
        char entry[QUIRK_ENTRY_MAX];

        assert_int_equal(
                quirks_entry("1209:5a5a:abcdefghijklmnoprstwy", &b, DRIVER_USB_STORAGE, entry), 1);
        assert_string_equal(entry, "1209:5a5a:abcdefghijklmnoprstuwy");
}

static void test_prepend(void **state)
{
        char full[QUIRKS_MAX + 1], ret[QUIRKS_MAX + 1] = "untouched";

        assert_int_equal(quirks_prepend("", "1:2:u", ret), 0);
        assert_string_equal(ret, "1:2:u");
        assert_int_equal(quirks_prepend(ret, "3:4:", ret), 0);
        assert_string_equal(ret, "3:4:,1:2:u");

        memset(full, 'x', sizeof(full));
        full[QUIRKS_MAX - 6] = '\0';
        assert_int_equal(quirks_prepend(full, "1:2:u", ret), 0);
        assert_int_equal(strlen(ret), QUIRKS_MAX);
        full[QUIRKS_MAX - 6] = 'x';
        full[QUIRKS_MAX - 5] = '\0';
        (void) copy_string(ret, sizeof(ret), "untouched");
        assert_int_equal(quirks_prepend(full, "1:2:u", ret), -ENOSPC);
        assert_string_equal(ret, "untouched");
}

static void test_remove(void **state)
{
        static const struct {
                const char *string, *entry;
                int r;
                const char *left;
        } table[] = {
                {"", "1:2:u", 0, ""},
                {"1:2:u", "1:2:u", 1, ""},
                {"1:2:u,3:4:u", "1:2:u", 1, "3:4:u"},
                {"3:4:u,1:2:u", "1:2:u", 1, "3:4:u"},
                {"3:4:u,1:2:u,5:6:u", "1:2:u", 1, "3:4:u,5:6:u"},
                {"1:2:u,1:2:u", "1:2:u", 1, "1:2:u"},
                {"1:2:fu", "1:2:u", 0, "1:2:fu"},
                {"1:2:uf", "1:2:u", 0, "1:2:uf"},
                {"1:2:U", "1:2:u", 0, "1:2:U"},
                {"01:2:u", "1:2:u", 0, "01:2:u"},
                {"3:4:u,", "1:2:u", 0, "3:4:u,"},
                {"a,,1:2:u,,b", "1:2:u", 1, "a,,,b"},
                {",1:2:u", "1:2:u", 1, ""},
                {"1:2:u,", "1:2:u", 1, ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char ret[QUIRKS_MAX + 1];

                assert_row(i, quirks_remove(table[i].string, table[i].entry, ret) == table[i].r);
                assert_row(i, streq(ret, table[i].left));
        }
}

/* As long as the kernel takes it. */
#define FULL                                                                                                                   \
        "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy,4444:4444:abc," \
        "1209:5a5a:u"
_Static_assert(sizeof(FULL) == QUIRKS_MAX + 1, "");
#define U13 "uuuuuuuuuuuuu"
#define LONGEST_ENTRY "1209:5a5a:" U13 U13 U13 U13 U13 U13 U13 U13 U13
_Static_assert(sizeof(LONGEST_ENTRY) == QUIRKS_MAX + 1, "");

static void test_without(void **state)
{
        static const struct {
                const char *string, *entries, *left;
        } table[] = {
                {"1:2:u,3:4:f,5:6:", "3:4:f", "1:2:u,5:6:"},
                {"1:2:u,3:4:f,5:6:", "5:6:,1:2:u", "3:4:f"},
                {"1:2:u,3:4:f", "1:2:u,3:4:f", ""},
                {"1:2:u", "3:4:f,1:2:f", "1:2:u"},
                {"1:2:u", "", "1:2:u"},
                {"", "1:2:u", ""},
                {FULL, "1:2:u", FULL},
                {LONGEST_ENTRY, LONGEST_ENTRY, ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char ret[QUIRKS_MAX + 1];

                quirks_without(table[i].string, table[i].entries, ret);
                assert_row(i, streq(ret, table[i].left));
        }
}

/* To the last byte. An entry without room is left out whole, and that of a bridge that is plugged
 * in comes first. */
static void test_fit(void **state)
{
        static const char long_ones[] =
                "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy,";
        static const struct facts there = {.vid = 0x5555, .pid = 0x5555};
        static const struct {
                const char *last, *fits,
                        *left; /* behind the long ones; what of it fits; what does not */
        } table[] = {
                {"4444:4444:abc", "4444:4444:abc", NULL},
                {"4444:4444:abcd", "", "4444:4444:abcd"},
                {"4444:4444:abc,1209:5a5a:j", "4444:4444:abc", NULL}, /* the first one counts */
                {"nonsense,4444:4444:abc", "4444:4444:abc", NULL},
        };
        const struct facts *const plugged[] = {&there};
        char ret[QUIRKS_MAX + 1], **left = NULL;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char string[512], wanted[512];

                (void) snprintf(string, sizeof(string), "%s%s", long_ones, table[i].last);
                (void) snprintf(wanted, sizeof(wanted), "1209:5a5a:u,%s%s", long_ones,
                                table[i].fits);
                if (!*table[i].fits)
                        wanted[strlen(wanted) - 1] = '\0';
                assert_int_equal(quirks_fit("1209:5a5a:u", string, NULL, 0, ret, &left), 0);
                assert_string_equal(ret, wanted);
                assert_string_equal(left ? left[0] : "", table[i].left ?: "");
                assert_true(!left || !left[1]);
                strv_free(TAKE_PTR(left));
        }
        assert_int_equal(quirks_fit("", FULL ",5555:5555:u", plugged, 1, ret, &left), 0);
        assert_int_equal(strncmp(ret, "5555:5555:u,1111:1111:", 22), 0);
        assert_string_equal(left[0], "1209:5a5a:u");
        assert_null(left[1]);
        strv_free(left);
}

/* An entry that alone fills the parameter counts; the kernel never gets a longer one. */
static void test_join(void **state)
{
        char entry[QUIRKS_MAX + 2] = "1209:5a5a:", *joined;

        for (size_t n = QUIRKS_MAX; n <= QUIRKS_MAX + 1; n++) {
                memset(entry + strlen(entry), 'u', n - strlen(entry));
                joined = quirks_join((const char *[]){entry, "152d:0578:f"}, 2);
                assert_string_equal(joined + (n == QUIRKS_MAX ? n + 1 : 0), "152d:0578:f");
                free(joined);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_find),          cmocka_unit_test(test_kernel),
                cmocka_unit_test(test_entry),         cmocka_unit_test(test_letters_of_a_kernel),
                cmocka_unit_test(test_longest_entry), cmocka_unit_test(test_prepend),
                cmocka_unit_test(test_remove),        cmocka_unit_test(test_fit),
                cmocka_unit_test(test_without),       cmocka_unit_test(test_entry_of),
                cmocka_unit_test(test_next),          cmocka_unit_test(test_join),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

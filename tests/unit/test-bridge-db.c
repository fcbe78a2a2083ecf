/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/bridge-db.h"

#include "unit.h"

static void test_parse(void **state)
{
        static const struct {
                const char *value;
                int r;
                enum verdict verdict;
                uint16_t min, max;
                const char *host, *note;
        } table[] = {
                {"bad;*;*;A list;2026-11", 0, VERDICT_BAD, 0, 0xffff, "*", ""},
                {"good;0100-0210;x86;A list;2026-11;Linux 4.4", 0, VERDICT_GOOD, 0x0100, 0x0210,
                 "x86", "Linux 4.4"},
                {"unknown;0128-0128;a,b;A list;-;", 0, VERDICT_UNKNOWN, 0x0128, 0x0128, "a,b", ""},
                {"", -EINVAL},
                {"bad", -EINVAL},
                {"bad;*;*;A list", -EINVAL},
                {"bad;*;*;;2026-11", -EINVAL},
                {"bad;*;;A list;2026-11", -EINVAL},
                {"bad;*;*;A list;2026-11;note;more", -EINVAL},
                {"worse;*;*;A list;2026-11", -EINVAL},
                {"bad;;*;A list;2026-11", -EINVAL},
                {"bad;0128;*;A list;2026-11", -EINVAL},
                {"bad;0210-0100;*;A list;2026-11", -EINVAL},
                {"bad;0100-02100;*;A list;2026-11", -EINVAL},
                {"bad;-100-0210;*;A list;2026-11", -EINVAL},
                {"bad;0100-0x21;*;A list;2026-11", -EINVAL},
                {"bad;*;*;A list;2026-11-21 and some more", -EINVAL},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct db_says s = {.note = "left"};

                assert_row(i, db_says_parse(table[i].value, &s) == table[i].r);
                if (table[i].r < 0) {
                        assert_row(i, streq(s.note, "left"));
                        continue;
                }
                assert_row(i, s.verdict == table[i].verdict && s.bcd_min == table[i].min &&
                                      s.bcd_max == table[i].max);
                assert_row(i, streq(s.host, table[i].host) && streq(s.note, table[i].note));
        }
}

/* The properties of a disk in udev's record. NULL: no such property; "" is one that cannot be read.
 */
struct properties {
        const char *verdict, *chip, *says[DB_SAYS_MAX + 1];
};

static int get(const void *from, const char *key, char *ret, size_t size)
{
        const struct properties *p = from;
        const char *value = streq(key, "UASD_VERDICT")   ? p->verdict
                            : streq(key, "UASD_DB_CHIP") ? p->chip
                                                         : NULL;
        char name[32];

        for (size_t i = 0; i < ELEMENTSOF(p->says); i++) {
                (void) snprintf(name, sizeof(name), "UASD_DB_%zu", i + 1);
                if (streq(key, name))
                        value = p->says[i];
        }
        (void) copy_string(ret, size, value && *value ? value : "bad");
        return !value ? 0 : *value ? 1 : -EIO;
}

static void test_fill(void **state)
{
#define SAYS "bad;*;*;A;-"
        static const struct {
                struct properties properties;
                int r;
                bool ruled;
                enum verdict rule;
                const char *chip;
                size_t n_says;
        } table[] = {
                {{NULL}, 0, false, VERDICT_UNKNOWN, "", 0},
                {{.verdict = "unknown"}, 1, true, VERDICT_UNKNOWN, "", 0},
                {{.verdict = "bad"}, 1, true, VERDICT_BAD, "", 0},
                {{.verdict = "worse"}, 0, false, VERDICT_UNKNOWN, "", 0},
                {{.verdict = ""}, 0, false, VERDICT_UNKNOWN, "", 0},
                {{.chip = "JMS567"}, 1, false, VERDICT_UNKNOWN, "JMS567", 0},
                {{.chip = ""}, 0, false, VERDICT_UNKNOWN, "", 0},
                {{.says = {SAYS}}, 1, false, VERDICT_UNKNOWN, "", 1},
                {{.says = {"bad", "", SAYS}},
                 1,
                 false,
                 VERDICT_UNKNOWN,
                 "",
                 1}, /* a malformed one does not count */
                {{.says = {SAYS, SAYS, NULL, SAYS}}, 1, false, VERDICT_UNKNOWN, "", 2},
                {{"good", "JMS567", {SAYS}}, 1, true, VERDICT_GOOD, "JMS567", 1},
        };
        struct properties full;
        struct db_entry e;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                memset(&e, 0x55, sizeof(e));
                assert_row(i, db_fill(&e, get, &table[i].properties) == table[i].r);
                assert_row(i, e.ruled == table[i].ruled && e.rule == table[i].rule);
                assert_row(i, streq(e.chip, table[i].chip) && e.n_says == table[i].n_says);
        }
        for (size_t i = 0; i < ELEMENTSOF(full.says); i++)
                full.says[i] = SAYS;
        full.verdict = full.chip = NULL;
        assert_int_equal(db_fill(&e, get, &full), 1);
        assert_int_equal(e.n_says, DB_SAYS_MAX);
}

static void test_any_firmware(void **state)
{
        static const struct {
                struct db_says s;
                bool any;
        } table[] = {
                {{.bcd_min = 0, .bcd_max = 0xffff}, true},
                {{.bcd_min = 0, .bcd_max = 0x9999}, true},
                {{.bcd_min = 0, .bcd_max = 0x9998}, false},
                {{.bcd_min = 1, .bcd_max = 0xffff}, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, db_any_firmware(&table[i].s) == table[i].any);
}

/* A field takes its size less the end of the string. */
static void test_size(void **state)
{
        struct db_says s = {.host = ""};

        for (size_t n = sizeof(s.host) - 1; n <= sizeof(s.host); n++) {
                char value[sizeof(s.host) + 64];

                (void) snprintf(value, sizeof(value), "bad;*;%0*d;A list;2026-11", (int) n, 1);
                assert_int_equal(db_says_parse(value, &s), n < sizeof(s.host) ? 0 : -EINVAL);
                assert_int_equal(strlen(s.host), sizeof(s.host) - 1);
        }
}

static void test_host(void **state)
{
        static const struct {
                const char *host, *platform;
                bool fits;
        } table[] = {
                {"*", "", true},
                {"*", "x86_64", true},
                {"x86", "x86_64", true},
                {"x86", "aarch64", false},
                {"x86", "", false},
                {"raspberrypi", "raspberrypi,4-model-b brcm,bcm2711 ", true},
                {"brcm,bcm2711", "raspberrypi,4-model-b brcm,bcm2711 ", true},
                {"bcm2711", "raspberrypi,4-model-b brcm,bcm2711 ", false},
                {"raspberrypi,4-model-bb", "raspberrypi,4-model-b b", false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct db_says s = {0};

                (void) copy_string(s.host, sizeof(s.host), table[i].host);
                assert_row(i, db_host_fits(&s, table[i].platform) == table[i].fits);
        }
}

#define PI "raspberrypi,4-model-b brcm,bcm2711"
#define PC "x86_64"

static void test_weigh(void **state)
{
        static const struct {
                const char *says[4];
                uint16_t bcd;
                const char *platform;
                enum verdict verdict;
                bool conflict, kernel_alone;
        } table[] = {
                {{NULL}, 0x0100, PC, VERDICT_UNKNOWN, false},
                {{"bad;*;*;A;-"}, 0x0100, PC, VERDICT_BAD, false},
                {{"good;*;*;A;-"}, 0x0100, PC, VERDICT_GOOD, false},
                {{"unknown;*;*;A;-"}, 0x0100, PC, VERDICT_UNKNOWN, false},
                {{"unknown;*;*;A;-", "bad;*;*;B;-"}, 0x0100, PC, VERDICT_BAD, false},
                /* The range includes both ends. */
                {{"bad;0100-0210;*;A;-"}, 0x00ff, PC, VERDICT_UNKNOWN, false},
                {{"bad;0100-0210;*;A;-"}, 0x0100, PC, VERDICT_BAD, false},
                {{"bad;0100-0210;*;A;-"}, 0x0210, PC, VERDICT_BAD, false},
                {{"bad;0100-0210;*;A;-"}, 0x0211, PC, VERDICT_UNKNOWN, false},
                {{"bad;0100-0210;*;A;-", "good;0211-9999;*;B;-"}, 0x0211, PC, VERDICT_GOOD, false},
                /* A row for one host says nothing about another host. */
                {{"bad;*;raspberrypi;A;-", "good;*;x86;B;-"}, 0x0100, PI, VERDICT_BAD, false},
                {{"bad;*;raspberrypi;A;-", "good;*;x86;B;-"}, 0x0100, PC, VERDICT_GOOD, false},
                {{"bad;*;raspberrypi;A;-", "good;*;x86;B;-"}, 0x0100, "", VERDICT_UNKNOWN, false},
                /* A conflict gives no verdict, however many rows are on one side. */
                {{"bad;*;*;A;-", "good;*;*;B;-"}, 0x0100, PC, VERDICT_UNKNOWN, true},
                {{"good;*;*;A;-", "good;*;*;B;-", "bad;*;*;C;-"},
                 0x0100,
                 PC,
                 VERDICT_UNKNOWN,
                 true},
                {{"good;*;*;A;-", "bad;*;*;Linux 7.3;-"}, 0x0100, PC, VERDICT_UNKNOWN, true},
                /* The kernel's table has its own row in the decision. */
                {{"bad;*;*;Linux 7.3;-"}, 0x0100, PC, VERDICT_UNKNOWN, false, true},
                {{"bad;*;*;Linux 7.3;-", "bad;*;*;A;-"}, 0x0100, PC, VERDICT_BAD, false},
                {{"bad;*;*;Linuxfans;-"}, 0x0100, PC, VERDICT_BAD, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct db_entry e = {0};
                struct db_word w;

                for (size_t s = 0; s < 4 && table[i].says[s]; s++)
                        assert_row(i, db_says_parse(table[i].says[s], &e.says[e.n_says++]) == 0);
                /* A statement behind the last one says nothing. */
                assert_row(i, db_says_parse(table[i].verdict == VERDICT_GOOD ? "bad;*;*;A;-"
                                                                             : "good;*;*;A;-",
                                            &e.says[e.n_says]) == 0);
                db_weigh(&e, table[i].bcd, table[i].platform, &w);
                assert_row(i, w.verdict == table[i].verdict);
                assert_row(i, w.conflict == table[i].conflict);
                assert_row(i, w.kernel_alone == table[i].kernel_alone);
                /* A rule by the administrator overrides everything. */
                for (int v = 0; v < _VERDICT_MAX; v++) {
                        e.ruled = true;
                        e.rule = (enum verdict) v;
                        db_weigh(&e, table[i].bcd, table[i].platform, &w);
                        assert_row(i, w.verdict == (enum verdict) v);
                }
        }
}

static void test_weigh_all(void **state)
{
        static const struct {
                const char *says[3];
                const char *platform;
                enum verdict verdict;
                bool any_firmware;
        } table[] = {
                {{NULL}, PC, VERDICT_UNKNOWN, true},
                {{"good;*;*;A;-"}, PC, VERDICT_GOOD, true},
                {{"bad;0000-9999;*;A;-"}, PC, VERDICT_BAD, true},
                {{"good;*;*;A;-", "bad;*;*;B;-"}, PC, VERDICT_UNKNOWN, true},
                /* The verdict changes where a range begins, or behind its end. */
                {{"bad;0100-9999;*;A;-"}, PC, VERDICT_UNKNOWN, false},
                {{"bad;0001-9999;*;A;-"}, PC, VERDICT_UNKNOWN, false},
                {{"bad;0000-0100;*;A;-"}, PC, VERDICT_UNKNOWN, false},
                {{"good;*;*;A;-", "bad;0128-0128;*;B;-"}, PC, VERDICT_UNKNOWN, false},
                {{"bad;0000-0113;*;A;-", "bad;0114-9999;*;B;-"}, PC, VERDICT_BAD, true},
                {{"good;*;*;A;-", "bad;9999-9999;*;B;-"}, PC, VERDICT_UNKNOWN, false},
                {{"good;*;*;A;-", "bad;0128-0128;raspberrypi;B;-"}, PC, VERDICT_GOOD, true},
                {{"good;*;*;A;-", "bad;0128-0128;raspberrypi;B;-"}, PI, VERDICT_UNKNOWN, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct db_entry e = {0};
                struct db_word w;

                for (size_t s = 0; s < 3 && table[i].says[s]; s++)
                        assert_row(i, db_says_parse(table[i].says[s], &e.says[e.n_says++]) == 0);
                assert_row(i, db_weigh_all(&e, table[i].platform, &w) == table[i].any_firmware);
                assert_row(i, w.verdict == table[i].verdict);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),        cmocka_unit_test(test_size),
                cmocka_unit_test(test_host),         cmocka_unit_test(test_weigh),
                cmocka_unit_test(test_weigh_all),    cmocka_unit_test(test_fill),
                cmocka_unit_test(test_any_firmware),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

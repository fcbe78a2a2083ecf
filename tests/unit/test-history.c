/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/history.h"

#include "unit.h"

#define KERNEL "6.1.0-56-amd64"
#define BOOT "8f3c0000-0000-0000-0000-000000000001"

static const struct here here = {.kernel = KERNEL, .boot = BOOT};

#define FAILED_TEXT "it had to be reset (2026-11-20, firmware 1.14, Linux "

static const struct {
        const char *what;
        const char *line; /* NULL: none */
        bool distrusted, failed, open, passed;
        const char *reason;
} judged[] = {
        /* clang-format off */
        {"nothing is known", NULL, false, false, false, false, ""},
        {"distrusted here and now", "state=distrusted firmware=0114 kernel=" KERNEL " boot=- date=2026-11-20T15:45:07Z reason=it had to be reset",
         true, false, false, false, FAILED_TEXT KERNEL ")"},
        {"with another firmware", "state=distrusted firmware=0115 kernel=" KERNEL " reason=x", false, false, false, false, ""},
        {"with another kernel", "state=distrusted firmware=0114 kernel=6.12 reason=x", false, false, false, false, ""},
        {"the way to the data was gone: on any kernel", "state=distrusted firmware=0114 kernel=6.12 date=2026-11-20T15:45:07Z lost=1 reason=it had to be reset",
         true, false, false, false, FAILED_TEXT "6.12)"},
        {"but not with any firmware", "state=distrusted firmware=0115 kernel=6.12 lost=1 reason=x", false, false, false, false, ""},
        {"in a trial", "state=distrusted firmware=0114 kernel=" KERNEL " failed=1 reason=x", true, true, false, false, "x (firmware 1.14, Linux " KERNEL ")"},
        {"in a trial on another kernel", "state=distrusted firmware=0114 kernel=6.12 failed=1 reason=x", false, false, false, false, ""},
        {"a trial under way", "state=trial firmware=0114 kernel=" KERNEL " boot=" BOOT " reason=", false, false, true, false, ""},
        {"a trial of another boot: the machine died", "state=trial firmware=0114 kernel=" KERNEL " boot=8f3c0000-0000-0000-0000-000000000002 date=2026-11-20 reason=",
         true, true, false, false, "the machine went down in the middle of its trial (2026-11-20, firmware 1.14, Linux " KERNEL ")"},
        {"and has another kernel now", "state=trial firmware=0114 kernel=6.12 boot=8f3c0000-0000-0000-0000-000000000002 reason=", false, false, false, false, ""},
        {"or the disk another firmware", "state=trial firmware=0115 kernel=" KERNEL " boot=8f3c0000-0000-0000-0000-000000000002 reason=", false, false, false, false, ""},
        {"or under way with another firmware", "state=trial firmware=0115 kernel=" KERNEL " boot=" BOOT " reason=", false, false, false, false, ""},
        {"forced against distrust, and on trial", "state=trial firmware=0114 kernel=" KERNEL " boot=" BOOT " date=2026-11-20T15:45:07Z distrusted=1 reason=it had to be reset",
         true, false, true, false, FAILED_TEXT KERNEL ")"},
        {"forced against distrust on another kernel", "state=trial firmware=0114 kernel=6.12 boot=" BOOT " distrusted=1 reason=x", false, false, true, false, ""},
        {"passed", "state=passed firmware=0114 kernel=" KERNEL " reason=", false, false, false, true, ""},
        {"passed on another kernel", "state=passed firmware=0114 kernel=6.12 reason=", false, false, false, false, ""},
        {"passed with another firmware", "state=passed firmware=0113 kernel=" KERNEL " reason=", false, false, false, false, ""},
        {"unplugged in the middle of a trial", "state=ended firmware=0114 kernel=" KERNEL " boot=" BOOT " reason=", false, false, false, false, ""},
        /* clang-format on */
};

/* Only a trial of this boot ends, and a disk that was distrusted before is so again. */
static void test_end_trial(void **state)
{
        static const struct {
                struct history before;
                bool r;
                enum history_state after;
        } rows[] = {
                {{.state = HISTORY_TRIAL, .boot = BOOT}, true, HISTORY_ENDED},
                {{.state = HISTORY_TRIAL, .boot = BOOT, .distrusted = true},
                 true,
                 HISTORY_DISTRUSTED},
                {{.state = HISTORY_TRIAL, .boot = "another"}, false, HISTORY_TRIAL},
                {{.state = HISTORY_PASSED, .boot = BOOT}, false, HISTORY_PASSED},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct history h = rows[i].before;

                assert_row(i, history_end_trial(&h, BOOT) == rows[i].r && h.state == rows[i].after);
                assert_row(i, h.distrusted == (rows[i].before.distrusted && !rows[i].r));
        }
}

/* The database's verdict stays, and is not taken for one of the past. */
static void test_verdict_of_others(void **state)
{
        struct facts f = {.bcd = 0x0114, .verdict = VERDICT_GOOD};
        struct history h;

        history_judge(NULL, &here, &f);
        assert_true(f.verdict == VERDICT_GOOD && !f.verdict_by_past);
        assert_int_equal(
                history_parse("state=distrusted firmware=0114 kernel=" KERNEL " reason=x", &h), 0);
        history_judge(&h, &here, &f);
        assert_true(f.distrusted && f.verdict == VERDICT_GOOD && !f.verdict_by_past);
        f.verdict = VERDICT_UNKNOWN;
        history_judge(&h, &here, &f);
        assert_true(f.verdict == VERDICT_BAD && f.verdict_by_past);
}

/* It failed under usb-storage, too: no distrust, and a reason for people. An older uasd does not
 * know the word. */
static void test_cleared(void **state)
{
        struct facts f = {.bcd = 0x0114, .distrusted = true};
        char line[HISTORY_LINE_MAX], text[HISTORY_TEXT_MAX];
        struct history h;

        assert_int_equal(
                history_parse(
                        "state=cleared firmware=0114 kernel=6.0 boot=x date=2026-11-20T15:45:07Z reason=it had to be reset",
                        &h),
                0);
        assert_true(h.state == HISTORY_CLEARED && !history_matters(&h));
        history_judge(&h, &here, &f);
        assert_true(f.cleared && !f.distrusted && !f.trial_failed && f.verdict == VERDICT_UNKNOWN);
        assert_string_equal(history_clause(&f, text, sizeof(text)),
                            "it had to be reset (2026-11-20, firmware 1.14, Linux 6.0)");
        assert_int_equal(history_format(&h, line, sizeof(line)), 0);
        assert_non_null(strstr(line, "state=cleared "));
        f.bcd = 0x0115; /* another firmware */
        history_judge(&h, &here, &f);
        assert_false(f.cleared || f.distrust_reason[0]);
}

static void test_matters(void **state)
{
        for (int s = 0; s < _HISTORY_MAX; s++) {
                const struct history h = {.state = (enum history_state) s};

                assert_row(s,
                           history_matters(&h) == (s == HISTORY_DISTRUSTED || s == HISTORY_TRIAL));
        }
}

static void test_judge(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(judged); i++) {
                struct facts f = {.bcd = 0x0114,
                                  .distrusted = true,
                                  .trial_failed = true,
                                  .trial_open = true,
                                  .trial_passed = true,
                                  .distrust_reason = "old"};
                char text[HISTORY_TEXT_MAX];
                struct history h;

                if (judged[i].line)
                        assert_row(i, history_parse(judged[i].line, &h) == 0);
                history_judge(judged[i].line ? &h : NULL, &here, &f);
                if (f.distrusted != judged[i].distrusted || f.trial_failed != judged[i].failed ||
                    f.trial_open != judged[i].open || f.trial_passed != judged[i].passed)
                        fail_msg("%s: distrusted %i failed %i open %i passed %i", judged[i].what,
                                 f.distrusted, f.trial_failed, f.trial_open, f.trial_passed);
                assert_string_equal(history_clause(&f, text, sizeof(text)), judged[i].reason);
                assert_row(i, f.verdict == (judged[i].distrusted ? VERDICT_BAD
                                            : judged[i].passed   ? VERDICT_GOOD
                                                                 : VERDICT_UNKNOWN));
                history_judge(NULL, &here,
                              &f); /* forgotten, and so is the verdict that came from it */
                assert_row(i, f.verdict == VERDICT_UNKNOWN);
        }
}

static void test_sentence(void **state)
{
        static const struct {
                struct facts f;
                const char *clause, *sentence;
        } rows[] = {
                /* clang-format off */
                {{.bcd = 0x0114}, "", ""},
                {{.bcd = 0x0114, .distrust_reason = "it had to be reset", .distrust_date = "2026-11-20", .distrust_kernel = KERNEL},
                 FAILED_TEXT KERNEL ")", "UAS failed on 2026-11-20: it had to be reset (firmware 1.14, Linux " KERNEL ")."},
                {{.bcd = 0x0114, .distrust_reason = "it had to be reset", .distrust_kernel = KERNEL},
                 "it had to be reset (firmware 1.14, Linux " KERNEL ")", "UAS failed: it had to be reset (firmware 1.14, Linux " KERNEL ")."},
                /* The state while no record can be written. */
                {{.bcd = 0x0114, .distrust_reason = "it had to be reset"}, "it had to be reset", "UAS failed: it had to be reset."},
                {{.bcd = 0x0114, .distrust_reason = "x", .distrust_date = "2026-11-20"}, "x (2026-11-20)", "UAS failed on 2026-11-20: x."},
                /* clang-format on */
        };
        char text[HISTORY_TEXT_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_string_equal(history_clause(&rows[i].f, text, sizeof(text)), rows[i].clause);
                (void) copy_string(text, sizeof(text), "of another disk");
                assert_string_equal(history_sentence(&rows[i].f, text, sizeof(text)),
                                    rows[i].sentence);
        }
}

/* A line without date and kernel. */
static void test_dashes(void **state)
{
        char text[HISTORY_TEXT_MAX];
        struct facts f = {.bcd = 0x0114};
        struct history h;

        assert_int_equal(
                history_parse(
                        "state=distrusted firmware=0114 kernel=- boot=- date=- lost=1 reason=it lost data",
                        &h),
                0);
        history_judge(&h, &here, &f);
        assert_string_equal(history_sentence(&f, text, sizeof(text)), "UAS failed: it lost data.");
        assert_int_equal(history_parse("state=distrusted firmware=0114 lost=1", &h), 0);
        history_judge(&h, &here, &f);
        assert_string_equal(history_sentence(&f, text, sizeof(text)),
                            "UAS failed: the reason is not on record.");
}

/* Unplugged in the middle of its trial, in this boot and with this firmware. */
static void test_ended(void **state)
{
        static const struct {
                const char *line;
                bool ended;
        } rows[] = {
                {"state=ended firmware=0114 boot=" BOOT, true},
                {"state=ended firmware=0115 boot=" BOOT, false},
                {"state=ended firmware=0114 boot=8f3c0000-0000-0000-0000-000000000002", false},
                {"state=passed firmware=0114 boot=" BOOT, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct facts f = {.bcd = 0x0114, .trial_ended = true};
                struct history h;

                assert_row(i, history_parse(rows[i].line, &h) == 0);
                history_judge(&h, &here, &f);
                assert_row(i, f.trial_ended == rows[i].ended);
        }
}

static void test_round_trip(void **state)
{
        struct history h = {.state = HISTORY_DISTRUSTED,
                            .firmware = 0x9999,
                            .kernel = KERNEL,
                            .boot = BOOT,
                            .date = "2026-11-20T15:45:07Z",
                            .lost = true,
                            .failed = true,
                            .distrusted = true,
                            .reason = "it had to be reset, state=passed and all"},
                       back;
        char line[HISTORY_LINE_MAX], again[HISTORY_LINE_MAX];

        for (int s = 0; s < _HISTORY_MAX; s++) {
                h.state = (enum history_state) s;
                assert_int_equal(history_format(&h, line, sizeof(line)), 0);
                assert_int_equal(history_parse(line, &back), 0);
                assert_int_equal(history_format(&back, again, sizeof(again)), 0);
                assert_string_equal(line, again);
                assert_memory_equal(&h, &back, sizeof(h));
        }
        h = (struct history){.state = HISTORY_TRIAL, .reason = "two\nlines"};
        assert_int_equal(history_format(&h, line, sizeof(line)), 0);
        assert_null(strchr(line, '\n'));
        assert_int_equal(history_format(&h, line, 20), -ENOBUFS);
}

static void test_malformed(void **state)
{
        static const char *const bad[] = {
                "",
                "passed",
                "state",
                "=passed",
                "state=",
                "state=best",
                "firmware=0114",
                "state=passed rubbish",
                "state=passed =x",
                "averyveryverylongword=1 state=passed",
                "sixteen-letters-=1 state=passed",
                "state=passed boot=0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
                "reason=state=passed",
        };
        static const char *const good[] = {"state=passed",
                                           "state=passed  ",
                                           "state=passed new=word reason=x",
                                           "fifteen-letters=1 state=passed",
                                           "state=passed firmware=xyz",
                                           "state=passed firmware=12345",
                                           "state=passed lost=2 failed= distrusted=yes"};
        struct history h;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_row(i, history_parse(bad[i], &h) == -EINVAL);
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                assert_row(i, history_parse(good[i], &h) == 0 && h.state == HISTORY_PASSED &&
                                      h.firmware == 0 && !h.lost && !h.failed && !h.distrusted);
        for (int n = 79; n <= 80; n++) { /* a word has room for 79 characters */
                char line[128];

                (void) snprintf(line, sizeof(line), "state=passed new=%0*d", n, 1);
                assert_row((size_t) n, history_parse(line, &h) == (n == 79 ? 0 : -EINVAL));
        }
}

static void test_key(void **state)
{
        static const struct {
                struct facts f;
                const char *key;
        } rows[] = {
                /* clang-format off */
                {{.vid = 0x152d, .pid = 0x578, .serial = "ABC", .port = "2-1.4", .speed_mbps = 5000, .controller_device = "0000:00:14.0"}, "152d:0578:ABC@0000:00:14.0/ss/1.4"},
                {{.vid = 0x152d, .pid = 0x578, .serial = "ABC", .port = "1-1.4", .speed_mbps = 480, .controller_device = "0000:00:14.0"}, "152d:0578:ABC@0000:00:14.0/hs/1.4"},
                {{.vid = 1, .pid = 2, .serial = "A@=#\n", .port = "3-1", .speed_mbps = 10000}, "0001:0002:A\\x40\\x3d\\x23\\x0a@usb/ss/1"},
                {{.vid = 1, .pid = 2, .port = "odd"}, "0001:0002:@usb/hs/odd"},
                /* clang-format on */
        };
        char key[HISTORY_KEY_MAX], disk[HISTORY_KEY_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_string_equal(history_key(&rows[i].f, key, sizeof(key)), rows[i].key);
                history_key_disk(&rows[i].f, disk, sizeof(disk));
                assert_row(i, strncmp(key, disk, strlen(disk)) == 0 &&
                                      strchr(disk, '@') == disk + strlen(disk) - 1);
        }
        struct facts f = {.port = "2-1"};

        memset(f.serial, '@', sizeof(f.serial) - 1);
        for (size_t size = 16; size < HISTORY_KEY_MAX; size++) {
                memset(key, '!', sizeof(key));
                assert_row(size, strlen(history_key(&f, key, size)) < size && key[size] == '!');
                memset(key, '!', sizeof(key));
                assert_row(size,
                           strlen(history_key_disk(&f, key, size)) < size && key[size] == '!');
        }
        memset(f.serial, 'a', sizeof(f.serial) - 1);
        for (size_t size = 17; size < 60;
             size++) /* there is always room for the rest of one character */
                assert_row(size, strlen(history_usb_id(&f, key, size)) == size - 6);
}

/* A disk that is not plugged in, as a user writes it. */
static void test_id(void **state)
{
        static const struct {
                const char *text, *id; /* NULL: none */
        } rows[] = {
                /* clang-format off */
                {"1209:5a5a:S1@usb/ss/1", "1209:5a5a:S1@usb/ss/1"},
                {"ABCD:5A5A:S1@", "abcd:5a5a:S1@"},
                {"1209:5a5a:@", "1209:5a5a:@"},
                {"1209:5a5a: two  words/x ", "1209:5a5a:two_words_x"},
                {"1209:5a5a:a\\x3db\\x5cx41", "1209:5a5a:a\\x3db\\x5cx41"},
                {"1209:5a5a:two words@usb/ss/1", "1209:5a5a:two_words@usb/ss/1"},
                {"1209:5a5a:Gr\xc3\xb6\xc3\x9f" "e@usb/ss/1", "1209:5a5a:@usb/ss/1"},
                {"1209:5a5a:Gr\xc3\xb6\xc3\x9f" "e", NULL},
                {"1209:5a5a:S1,S2", NULL},
                {"1209:5a5a: ", NULL},
                {"1209:5a5a:", NULL},
                {"1209:5a5a", NULL},
                {"", NULL},
                {"1209-5a5a:S1", NULL},
                {"1209:5a5a-S1", NULL},
                {"g209:5a5a:S1", NULL},
                {"1209:5a5g:S1", NULL},
                {"1209:5a5a:S1=", NULL},
                {"1209:5a5a:S1#2", NULL},
                {"1209:5a5a:S1@usb/ss/1 ", NULL},
                {"1209:5a5a:S1@usb/ss/1\n", NULL},
                {"1209:5a5a:S1\x1b", NULL},
                {"1209:5a5a:as long as all of it", "1209:5a5a:as_long_as_all_of_it"},
                {"1209:5a5a:longer than all of it", NULL},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char id[31] = "-"; /* the last but one fills it */

                assert_row(i,
                           history_id_parse(rows[i].text, id, sizeof(id)) == (rows[i].id != NULL));
                assert_string_equal(id, rows[i].id ? rows[i].id : "-");
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_end_trial), cmocka_unit_test(test_judge),
                cmocka_unit_test(test_cleared),   cmocka_unit_test(test_sentence),
                cmocka_unit_test(test_dashes),    cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_malformed), cmocka_unit_test(test_key),
                cmocka_unit_test(test_id),        cmocka_unit_test(test_ended),
                cmocka_unit_test(test_matters),   cmocka_unit_test(test_verdict_of_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

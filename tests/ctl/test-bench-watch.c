/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include "ctl/bench/conditions.h"
#include "ctl/bench/errors.h"

#define SCSI " SUBSYSTEM=scsi\n DEVICE=+scsi:6:0:0:0\n"
#define USB " SUBSYSTEM=usb\n DEVICE=c189:129\n"

static void trouble(void **state)
{
        static const struct {
                struct errors_seen seen;
                bool io_failed, expect;
                const char *text;
        } rows[] = {
                {{.counts_timeouts = true}, false, false, ""},
                {{.counts_timeouts = true}, true, false, ""},
                {{.counts_timeouts = true, .timeouts = 1}, false, true, "1 command was not answered in time"},
                {{.counts_timeouts = true, .timeouts = 2, .failed = 3},
                 false,
                 true,
                 "2 commands were not answered in time, 3 commands ended in an error"},
                /* what somebody asked that it cannot do */
                {{.counts_timeouts = true, .failed = 1}, false, false, "1 command ended in an error"},
                {{.counts_timeouts = true, .failed = 1}, true, true, "1 command ended in an error"},
                /* before Linux 6.1 there is no more to be had */
                {{.failed = 1}, false, true, "1 command ended in an error"},
                {{.counts_timeouts = true, .offline = true}, false, true, "the kernel has given the disk up"},
                {{.counts_timeouts = true,
                  .signs = {{"streams lost", BLAME_BRIDGE, 1}, {"resets", BLAME_BRIDGE, 3}},
                  .n_signs = 2},
                 false,
                 true,
                 "the kernel's log: streams lost, resets (3 times)"},
                {{.counts_timeouts = true,
                  .timeouts = 1,
                  .signs = {{"over-current", BLAME_POWER, 1}},
                  .n_signs = 1},
                 false,
                 true,
                 "1 command was not answered in time; the kernel's log: over-current; to blame is perhaps the "
                 "power supply"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[ERRORS_TEXT_MAX];

                if (errors_are_trouble(&rows[i].seen, rows[i].io_failed) != rows[i].expect)
                        fail_msg("row %zu: it is %strouble", i, rows[i].expect ? "" : "no ");
                if (!streq(errors_text(&rows[i].seen, text), rows[i].text))
                        fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].text);
        }
}

/* Of all that the kernel says, what is about this disk, and is a fault. */
static void records(void **state)
{
        static const struct {
                const char *record;
                unsigned signs;
        } rows[] = {
                {"3,1,1,-;sd 6:0:0:0: [sda] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN\n" SCSI,
                 1},
                {"6,2,2,-;scsi host6: uas_eh_device_reset_handler start\n SUBSYSTEM=scsi\n "
                 "DEVICE=+scsi:host6\n",
                 1},
                {"6,3,3,-;usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd\n" USB, 1},
                /* another one's */
                {"3,4,4,-;sd 7:0:0:0: [sdb] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN\n "
                 "SUBSYSTEM=scsi\n DEVICE=+scsi:7:0:0:0\n",
                 0},
                /* a program's word */
                {"11,5,5,-;sd 6:0:0:0: [sda] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN\n" SCSI,
                 0},
                /* as it should be */
                {"5,6,6,-;sd 6:0:0:0: [sda] Attached SCSI disk\n" SCSI, 0},
                {"nonsense", 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct errors_watch w = ERRORS_NULL;

                (void) copy_string(w.host, sizeof(w.host), "host6");
                (void) copy_string(w.facts.port, sizeof(w.facts.port), "2-1");
                w.facts.busnum = 2;
                w.facts.devnum = 2;
                w.facts.driver = DRIVER_UAS;
                for (unsigned n = 0; n < 2; n++)
                        errors_take_record(&w, rows[i].record, strlen(rows[i].record));
                if (w.seen.n_signs != rows[i].signs || (rows[i].signs && w.seen.signs[0].n != 2))
                        fail_msg("row %zu: %zu signs", i, w.seen.n_signs);
        }
}

static void schedulers(void **state)
{
        static const struct {
                const char *line, *expect;
        } rows[] = {
                {"[mq-deadline] none", "mq-deadline"},
                {"none [bfq] kyber", "bfq"},
                {"[none]", "none"},
                {"none", ""},
                {"", ""},
                {"[none", ""},
                {"[a-name-that-is-too-long-for-it]", ""},
        };
        char name[16];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_string_equal(scheduler_chosen(rows[i].line, name, sizeof(name)), rows[i].expect);
}

static void load(void **state)
{
        uint64_t bytes;

        assert_int_equal(stat_bytes("     12        3     2048       40        5        6     1024       70    "
                                    "    0       90      110",
                                    &bytes),
                         0);
        assert_int_equal(bytes, 3072 * 512);
        assert_int_equal(stat_bytes("1 2 3", &bytes), -EINVAL);
        assert_int_equal(stat_bytes("", &bytes), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(trouble),
                cmocka_unit_test(records),
                cmocka_unit_test(schedulers),
                cmocka_unit_test(load),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

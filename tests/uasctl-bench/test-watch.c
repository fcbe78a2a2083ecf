/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../unit/unit.h"

#include "bench/measure/watch.h"

#define SCSI " SUBSYSTEM=scsi\n DEVICE=+scsi:6:0:0:0\n"
#define USB " SUBSYSTEM=usb\n DEVICE=c189:129\n"

static void trouble(void **state)
{
        static const struct {
                struct errors_seen seen;
                bool io_failed, expect;
                const char *text;
        } rows[] = {
                /* clang-format off */
                {{.counts_timeouts = true}, false, false, ""},
                {{.counts_timeouts = true}, true, false, ""},
                {{.counts_timeouts = true, .timeouts = 1}, false, true, "1 command was not answered in time"},
                {{.counts_timeouts = true, .timeouts = 2, .failed = 3},
                 false,
                 true,
                 "2 commands were not answered in time, 3 commands ended in an error"},
                /* commands of another program that the disk cannot execute */
                {{.counts_timeouts = true, .failed = 1}, false, false, "1 command ended in an error"},
                {{.counts_timeouts = true, .failed = 1}, true, true, "1 command ended in an error"},
                /* before Linux 6.1 the kernel reports no more */
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
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[ERRORS_TEXT_MAX];

                if (errors_are_trouble(&rows[i].seen, rows[i].io_failed) != rows[i].expect)
                        fail_msg("row %zu: it is %strouble", i, rows[i].expect ? "" : "no ");
                if (!streq(errors_text(&rows[i].seen, text), rows[i].text))
                        fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].text);
        }
}

/* Lines of the kernel that are about this disk and show a fault. */
static void records(void **state)
{
        static const struct {
                const char *record;
                unsigned signs;
        } rows[] = {
                /* clang-format off */
                {"3,1,1,-;sd 6:0:0:0: [sda] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN\n" SCSI,
                 1},
                {"6,2,2,-;scsi host6: uas_eh_device_reset_handler start\n SUBSYSTEM=scsi\n "
                 "DEVICE=+scsi:host6\n",
                 1},
                {"6,3,3,-;usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd\n" USB, 1},
                /* about another disk */
                {"3,4,4,-;sd 7:0:0:0: [sdb] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN\n "
                 "SUBSYSTEM=scsi\n DEVICE=+scsi:7:0:0:0\n",
                 0},
                /* a line from a program */
                {"11,5,5,-;sd 6:0:0:0: [sda] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN\n" SCSI,
                 0},
                /* as expected */
                {"5,6,6,-;sd 6:0:0:0: [sda] Attached SCSI disk\n" SCSI, 0},
                {"6,7,7,-;PM: suspend exit\n", 0},
                {"nonsense", 0},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct errors_watch w = ERRORS_NULL;

                (void) copy_string(w.host, sizeof(w.host), "host6");
                (void) copy_string(w.facts.port, sizeof(w.facts.port), "2-1");
                w.facts.busnum = 2;
                w.facts.devnum = 2;
                w.facts.driver = DRIVER_UAS;
                for (unsigned n = 0; n < 2; n++) {
                        struct kmsg k;

                        if (kmsg_parse(rows[i].record, &k) >= 0)
                                errors_take_record(&w, &k);
                }
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
        uint64_t in, out;

        assert_int_equal(stat_bytes("     12        3     2048       40        5        6     1024       70    "
                                    "    0       90      110",
                                    &in, &out),
                         0);
        assert_int_equal(in, 2048 * 512);
        assert_int_equal(out, 1024 * 512);
        assert_int_equal(stat_bytes("1 2 3", &in, &out), -EINVAL);
        assert_int_equal(stat_bytes("", &in, &out), -EINVAL);
}

/* The traffic of our own run is no other load, whether the kernel counts it for fio or not. */
static void traffic(void **state)
{
        static const struct {
                struct traffic after;
                double charged_in, charged_out; /* counted for fio */
                uint64_t in, out;               /* reported by fio */
                unsigned ramp_sec;
                bool buffered;
                double others, device, written; /* a second; in all */
        } rows[] = {
                {{.read = 1000, .lun_read = 1000, .known = true}, 1000, 0, 1000, 0, 0, false, 0, 1000, 0},
                {{.read = 1000, .lun_read = 1000, .others = 500, .known = true}, 1000, 0, 1000, 0, 0, false, 50, 1000, 0},
                /* another process reads the disk; another LUN of its enclosure; or writes to the disk */
                {{.read = 3000, .lun_read = 3000, .known = true}, 1000, 0, 1000, 0, 0, false, 200, 3000, 0},
                {{.read = 3000, .lun_read = 1000, .known = true}, 1000, 0, 1000, 0, 0, false, 200, 1000, 0},
                {{.read = 1000, .lun_read = 1000, .written = 700, .known = true}, 1000, 0, 1000, 0, 0, false, 70, 1000, 0},
                /* the ramp is counted, and fio does not report it */
                {{.read = 1200, .lun_read = 1200, .known = true}, 1200, 0, 1000, 0, 2, false, 0, 1200, 0},
                /* nothing is counted for fio if another process reads for it */
                {{.read = 1200, .lun_read = 1200, .known = true}, 0, 0, 1000, 0, 2, false, 0, 1200, 0},
                /* from memory */
                {{.known = true}, 0, 0, 1000, 0, 0, false, 0, 0, 0},
                /* written to memory, and from there by the kernel */
                {{.written = 5000, .known = true}, 0, 1000, 0, 1000, 0, true, 0, 0, 1000},
                {{.written = 5000, .known = true}, 0, 1000, 0, 1000, 0, false, 400, 0, 1000},
                /* nothing is known about a disk, or about the counts */
                {{.read = 5000, .known = false}, 700, 0, 1000, 0, 0, false, -1, 700, 0},
                {{.read = 1000, .lun_read = 1000, .known = true}, -1, -1, 1000, 0, 0, false, 0, -1, -1},
                /* fio writes through another process; and bytes counted here and written there later are the same */
                {{.written = 1200, .lun_written = 1200, .known = true}, 0, 0, 0, 1000, 2, false, 0, 0, 1200},
                {{.written = 700, .lun_written = 300, .known = true}, 0, 1000, 0, 1000, 0, false, 0, 0, 1000},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_pattern p = {
                        .direct = !rows[i].buffered, .ramp_sec = rows[i].ramp_sec, .read_percent = rows[i].out ? 0 : 100};
                struct bench_run r = {.read.bytes = rows[i].in,
                                      .write.bytes = rows[i].out,
                                      .runtime_usec = 10 * USEC_PER_SEC,
                                      .device_read_bytes = rows[i].charged_in,
                                      .device_written_bytes = rows[i].charged_out};

                traffic_tell(&(struct traffic){.known = true}, &rows[i].after, &p, 10 * USEC_PER_SEC, &r);
                if (r.other_bytes_per_sec != rows[i].others || r.device_read_bytes != rows[i].device ||
                    r.device_written_bytes != rows[i].written)
                        fail_msg("row %zu: %g, %g and %g", i, r.other_bytes_per_sec, r.device_read_bytes, r.device_written_bytes);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(trouble), cmocka_unit_test(records), cmocka_unit_test(schedulers),
                cmocka_unit_test(load),    cmocka_unit_test(traffic),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

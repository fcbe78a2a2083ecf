/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <cmocka.h>

#include "play.h"
#include "sys/block/claim.h"
#include "sys/block/counts.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"

/* Each reaction in REACTIONS has its test here, and its case on a real kernel. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS
#define IF "2-1:1.0"

static struct fake_usb *u;
static struct fake_lun *sda;

static void disk(enum driver driver, unsigned luns)
{
        u = fakesys_add_usb_disk("2-1", driver, luns, 1);
        sda = &u->luns[0];
        if (driver != DRIVER_NONE) /* wait until it has been announced */
                kernel_pass(USEC_PER_SEC);
}

static void unbind_takes_all(void)
{
        disk(UAS, 2);
        assert_int_equal(u->alt, 1);
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        assert_false(sda->there || u->luns[1].there ||
                     tree_exists("sys/bus/usb/devices/" IF "/driver"));
        assert_false(tree_exists("sys/bus/usb/devices/" IF "/host0") || tree_exists("dev/sda1"));
        assert_int_equal(u->alt, 0);
}

static void unbind_not_bound(void)
{
        disk(UAS, 1);
        assert_int_equal(kernel_unbind(BOT, IF), -ENODEV);
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        assert_int_equal(kernel_unbind(UAS, IF), -ENODEV);
}

static void not_refused(void)
{
        disk(BOT, 2);
        assert_int_equal(kernel_mount("sda1", true), 0);
        assert_int_equal(kernel_delete("0:0:0:1"), 0);
        assert_string_equal(fake->broken, "");
        assert_int_equal(kernel_unbind(BOT, IF), 0);
        assert_string_equal(fake->broken, "pulled from under a mount: sda1");
}

static void loses_page_cache(void)
{
        disk(BOT, 2);
        kernel_write_bytes("sda1", 10);
        kernel_write_bytes("sdb", 5);
        assert_int_equal(kernel_delete("0:0:0:1"), 0);
        assert_int_equal(fake->lost, 5);
        assert_int_equal(kernel_unbind(BOT, IF), 0);
        assert_int_equal(fake->lost, 15);
}

static void flushes_drive(void)
{
        disk(BOT, 2);
        sda->cache = u->luns[1].cache = 10;
        assert_int_equal(kernel_delete("0:0:0:1"), 0);
        assert_int_equal(u->luns[1].platter, 10);
        assert_int_equal(kernel_unbind(BOT, IF), 0);
        assert_int_equal(sda->platter, 10);
        assert_int_equal(fake->at_risk, 0);
}

static void uas_cannot_flush(void)
{
        disk(UAS, 1);
        sda->cache = 10;
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        assert_int_equal(fake->at_risk, 10);
        assert_int_equal(sda->platter, 0);
}

static void fsync_does_both(void)
{
        disk(UAS, 1);
        kernel_write_bytes("sda", 1);
        kernel_write_bytes("sda1", 2);
        assert_int_equal(kernel_fsync("sda1"), 0);
        assert_int_equal(sda->platter, 2);
        assert_int_equal(sda->nodes[0].dirty, 1);
        assert_int_equal(kernel_fsync("sda"), 0);
        assert_int_equal(sda->platter, 3);
}

static void delete_takes_one_lun(void)
{
        disk(UAS, 2);
        assert_int_equal(kernel_delete("0:0:0:0"), 0);
        assert_true(!sda->there && u->luns[1].there && u->driver == UAS);
        assert_int_equal(kernel_delete("0:0:0:0"), -ENOENT);
}

static void delete_lets_nobody_in(void)
{
        disk(UAS, 2);
        assert_int_equal(kernel_open("sda", O_RDONLY), 0);
        assert_int_equal(kernel_delete("0:0:0:0"), 0);
        assert_int_equal(kernel_open("sda", O_RDONLY), -ENXIO);
        assert_int_equal(kernel_open("sda", O_RDWR | O_EXCL), -ENXIO);
        assert_int_equal(kernel_open("sdb", O_RDWR | O_EXCL), 0);
}

/* So it is removed from under a mount if its claim was released before. */
static void delete_waits_for_scan(void)
{
        disk(UAS, 2);
        fake->switcher = getpid();
        assert_int_equal(kernel_delete("0:0:0:1"), 0);
        assert_string_equal(fake->broken, "removed without a claim: sdb");
}

static void scan_brings_back(void)
{
        delete_takes_one_lun();
        assert_int_equal(kernel_scan(0), 0);
        kernel_pass(100 * USEC_PER_MSEC);
        assert_true(sda->there && u->driver == UAS);
        assert_int_equal(kernel_scan(5), -ENOENT);
}

static void disk_comes_late(void)
{
        const char *scsi = "sys/bus/scsi/devices/0:0:0:0";

        disk(BOT, 1);
        assert_int_equal(kernel_unbind(BOT, IF), 0);
        u->spun_at = fake->clock + 10 * USEC_PER_SEC;
        for (int tries = 0; tries < 2; tries++) {
                fakesys_set_quirks("1209:5a5a:u");
                assert_int_equal(kernel_bind(BOT, IF), 0);
                kernel_pass(2 * USEC_PER_SEC);
                assert_true(tree_exists("%s/driver", scsi) && tree_exists("%s/delete", scsi) &&
                            !tree_exists("%s/block", scsi));
                assert_false(sda->there);
                if (tries == 0)
                        assert_int_equal(kernel_unbind(BOT, IF), 0);
                assert_int_equal(tree_exists("%s", scsi), tries);
        }
        kernel_pass(8 * USEC_PER_SEC);
        assert_true(sda->there && tree_exists("%s/block", scsi));
}

static void bind_busy(void)
{
        disk(UAS, 1);
        assert_int_equal(kernel_bind(UAS, IF), -EBUSY);
        (void) kernel_unbind(UAS, IF);
        fakesys_set_quirks("1209:5a5a:u");
        assert_int_equal(kernel_bind(BOT, IF), 0);
        assert_int_equal(kernel_bind(BOT, IF), -EBUSY);
        assert_int_equal(kernel_bind(UAS, IF), -EBUSY);
}

static void bind_uas_with_u(void)
{
        disk(DRIVER_NONE, 1);
        fakesys_set_quirks("1209:5a5a:fu");
        assert_int_equal(kernel_bind(UAS, IF), -ENODEV);
}

static void bind_bot_declines(void)
{
        disk(DRIVER_NONE, 1);
        assert_int_equal(kernel_bind(BOT, IF), -ENXIO);
}

static void alt_1_is_not_bot(void)
{
        disk(UAS, 1);
        fakesys_set_quirks("1209:5a5a:u");
        assert_int_equal(kernel_bind(BOT, IF), -ENODEV);
}

static void gone_is_enodev(void)
{
        disk(BOT, 1);
        assert_int_equal(kernel_bind(UAS, "2-1"), -ENODEV);
        kernel_unplug(u);
        assert_int_equal(kernel_bind(UAS, IF), -ENODEV);
        assert_int_equal(kernel_unbind(BOT, IF), -ENODEV);
}

static void vendor_never_declines(void)
{
        fake->vendor = true;
        disk(DRIVER_NONE, 1);
        assert_int_equal(kernel_bind(BOT, IF), 0);
        (void) kernel_unbind(BOT, IF);
        fakesys_set_quirks("1209:5a5a:u");
        assert_int_equal(kernel_bind(UAS, IF), -ENODEV);
        fakesys_set_quirks("");
        assert_int_equal(kernel_bind(UAS, IF), 0);
}

static void bind_does_not_wait(void)
{
        disk(DRIVER_NONE, 1);
        assert_int_equal(kernel_bind(UAS, IF), 0);
        assert_true(tree_exists("sys/bus/usb/devices/" IF "/driver") && u->alt == 1 && !sda->there);
}

static void uas_scans_at_once(void)
{
        bind_does_not_wait();
        kernel_pass(200 * USEC_PER_MSEC);
        assert_true(sda->there && tree_exists("dev/sda1") &&
                    tree_exists("sys/class/block/sda1/dev"));
}

static void bot_waits_delay_use(void)
{
        disk(DRIVER_NONE, 1);
        fakesys_set_quirks("1209:5a5a:u");
        assert_int_equal(kernel_bind(BOT, IF), 0);
        kernel_pass(500 * USEC_PER_MSEC);
        assert_false(sda->there);
        kernel_pass(700 * USEC_PER_MSEC);
        assert_true(sda->there);
}

static void letter_of_last_close(void)
{
        int fd;

        disk(UAS, 1);
        fd = openat(fake->roots.dev, "sda1", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        (void) kernel_unbind(UAS, IF);
        (void) kernel_bind(UAS, IF);
        kernel_pass(USEC_PER_SEC);
        assert_string_equal(sda->nodes[0].name, "sdb");
        (void) close(fd);
        (void) kernel_unbind(UAS, IF);
        (void) kernel_bind(UAS, IF);
        kernel_pass(USEC_PER_SEC);
        assert_string_equal(sda->nodes[0].name, "sda");
}

static void first_entry_wins(void)
{
        disk(DRIVER_NONE, 1);
        fakesys_set_quirks("1209:5a5b:,1209:5a5a:U,1209:5a5a:");
        assert_int_equal(kernel_bind(UAS, IF), -ENODEV);
        fakesys_set_quirks("nonsense,0x1209:5a5a:,1209:5a5a:u");
        assert_int_equal(kernel_bind(UAS, IF), 0);
        (void) kernel_unbind(UAS, IF);
        fakesys_set_ids(u, 0x4971, 0x1012);
        assert_int_equal(kernel_bind(UAS, IF), -ENODEV);
        fakesys_set_quirks("4971:1012:");
        assert_int_equal(kernel_bind(UAS, IF), 0);
}

static void two_tables(void)
{
        disk(DRIVER_NONE, 1);
        fakesys_set_ids(u, 0x2109, 0x0715);
        assert_int_equal(kernel_bind(BOT, IF), 0);
        (void) kernel_unbind(BOT, IF);
        assert_int_equal(kernel_bind(UAS, IF), 0);
}

static void quirks_127(void)
{
        char text[129];

        memset(text, 'x', sizeof(text));
        text[128] = '\0';
        assert_int_equal(kernel_quirks("1:2:u"), 0);
        assert_int_equal(kernel_quirks(text), -ENOSPC);
        assert_string_equal(fake->quirks, "1:2:u");
        text[127] = '\0';
        assert_int_equal(kernel_quirks(text), 0);
}

static void quirks_empty(void)
{
        assert_int_equal(kernel_quirks("1:2:u"), 0);
        assert_int_equal(kernel_quirks(""), 0);
        assert_string_equal(fake->quirks, "1:2:u");
        assert_int_equal(kernel_quirks("\n"), 0);
        assert_string_equal(fake->quirks, "\n");
}

static void module_takes_unbound(void)
{
        disk(DRIVER_NONE, 1);
        fake->uas_loaded = false;
        assert_int_equal(kernel_bind(UAS, IF), -ENOENT);
        assert_int_equal(kernel_load_uas(), 0);
        assert_int_equal(u->driver, UAS);
}

static void probe_any_driver(void)
{
        disk(UAS, 1);
        assert_int_equal(kernel_probe(IF), 0);
        assert_int_equal(u->driver, UAS);
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        assert_int_equal(kernel_probe(IF), 0);
        assert_int_equal(u->driver, UAS);
        fake->vendor = true;
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        assert_int_equal(kernel_probe(IF), 0);
        assert_int_equal(u->driver, BOT);
        u->authorized = false;
        assert_int_equal(kernel_unbind(BOT, IF), 0);
        assert_int_equal(kernel_probe(IF), 0);
        assert_int_equal(u->driver, DRIVER_NONE);
}

static void claim_excludes(void)
{
        char busy[BLOCK_NAME_MAX];
        struct claim c = CLAIM_NULL;
        struct lun l = {.disk = {"sda", 8, 0}};

        disk(BOT, 1);
        assert_int_equal(kernel_mount("sda1", false), 0);
        assert_int_equal(claim_take(&fake->roots, &l, 1, &c, busy), -EBUSY);
        kernel_umount("sda1");
        assert_int_equal(claim_take(&fake->roots, &l, 1, &c, busy), 0);
        assert_int_equal(kernel_mount("sda1", false), -EBUSY);
        claim_drop(&c);
        assert_int_equal(kernel_mount("sda1", false), 0);
}

static void slot_is_claimed(void)
{
        char busy[BLOCK_NAME_MAX];
        struct claim c = CLAIM_NULL;
        struct lun l = {.disk = {"sda", 8, 0}};

        disk(BOT, 1);
        slot_empties(u, 0);
        assert_int_equal(kernel_open("sda", 0), -ENOMEDIUM);
        assert_int_equal(claim_take(&fake->roots, &l, 1, &c, busy), 0);
        assert_true(kernel_inserts(u));
        assert_int_equal(kernel_open("sda", 0), 0);
        assert_int_equal(kernel_mount("sda1", false), -EBUSY);
        claim_drop(&c);
        assert_int_equal(kernel_mount("sda1", false), 0);
}

static void card_is_seen(void)
{
        uint64_t before;

        disk(BOT, 1);
        slot_empties(u, 0);
        before = sda->diskseq;
        assert_true(kernel_inserts(u) && !tree_exists("dev/sda1"));
        assert_int_equal(kernel_open("sda", O_NONBLOCK), 0);
        assert_true(tree_exists("dev/sda1") && sda->diskseq != before);
        before = sda->diskseq;
        assert_int_equal(kernel_open("sda", 0), 0);
        assert_int_equal(sda->diskseq, before);
}

static void plain_open_is_no_claim(void)
{
        char busy[BLOCK_NAME_MAX];
        struct claim c = CLAIM_NULL;
        struct lun l = {.disk = {"sda", 8, 0}};
        struct inotify_event events[2];

        disk(BOT, 1);
        fake->hooks[0] = (struct fake_hook){.op = "open sda", .nth = 1, .what = HOOK_OPEN};
        fake->hooks[1] = (struct fake_hook){.op = "disturbed", .nth = 2, .what = HOOK_GLANCE};
        fake->hooks[2] = (struct fake_hook){.op = "disturbed", .nth = 3, .what = HOOK_WRITE};
        assert_int_equal(claim_take(&fake->roots, &l, 1, &c, busy), 0);
        fake_someone_closes();
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_OPENED);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_WRITTEN);
        fake_inotify_tell("sda", IN_OPEN);
        fake_inotify_tell("sda", IN_OPEN);
        assert_int_equal(read(c.inotify, events, sizeof(events)), sizeof(events[0]));
        claim_drop(&c);
}

static void last_close_writes_back(void)
{
        disk(BOT, 1);
        kernel_write_bytes("sda1", 10);
        kernel_last_close("sda1");
        assert_int_equal(sda->nodes[1].dirty, 0);
        assert_int_equal(sda->cache, 10);
}

static void counts_opens(void)
{
        int fd[3];

        fake->counts = true;
        disk(BOT, 1);
        assert_int_equal(driver_opens(&fake->roots, BOT), 0);
        fd[0] = openat(fake->roots.dev, "sda", O_RDONLY | O_CLOEXEC);
        fd[1] = openat(fake->roots.dev, "sda1", O_RDONLY | O_CLOEXEC);
        fd[2] = openat(fake->roots.dev, "sda1", O_RDONLY | O_CLOEXEC);
        assert_int_equal(driver_opens(&fake->roots, BOT), 2);
        assert_int_equal(kernel_mount("sda1", true), 0);
        assert_int_equal(driver_opens(&fake->roots, BOT), 2);
        (void) close(fd[1]);
        (void) close(fd[2]);
        assert_int_equal(driver_opens(&fake->roots, BOT), 2);
        kernel_umount("sda1");
        assert_int_equal(driver_opens(&fake->roots, BOT), 1);
        assert_int_equal(kernel_unbind(BOT, IF), 0);
        assert_int_equal(driver_opens(&fake->roots, BOT), 1);
        assert_int_equal(driver_opens(&fake->roots, UAS), 0);
        (void) close(fd[0]);
        assert_int_equal(driver_opens(&fake->roots, BOT), 0);
}

/* ---- udev ---- */

/* The events since then, one word each: "+sda" is an addition, "-sda" a removal. */
static const char *told(bool processed, uint64_t since)
{
        static char text[256];
        struct fake_event *e;
        size_t n = 0;

        text[0] = '\0';
        while ((e = udev_due(processed, since))) {
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%c%s", n ? " " : "",
                                       e->remove ? '-' : '+', e->name);
                e->told = true;
        }
        return text;
}

/* A disk whose block device has just appeared. Returns the time before. */
static uint64_t appears(void)
{
        uint64_t before;

        disk(DRIVER_NONE, 1);
        before = fake->clock;
        assert_int_equal(kernel_bind(UAS, IF), 0);
        while (!sda->there)
                kernel_pass(USEC_PER_MSEC);
        return before;
}

static int opens(const char *node)
{
        int fd = openat(fake->roots.dev, node, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : 0;

        (void) close_keep_errno(fd);
        return r;
}

static void announced_when_ready(void)
{
        uint64_t before = appears();

        assert_int_equal(opens("sda"), -ENXIO);
        assert_string_equal(told(false, before), "");
        kernel_pass(5 * USEC_PER_MSEC);
        assert_string_equal(told(false, before), "+sda +sda1");
        assert_true(opens("sda") == 0 && opens("sda1") == 0);
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        assert_string_equal(told(false, before), "-sda1 -sda");
}

static void udev_announces_last(void)
{
        uint64_t before;

        fake->udev_usec = USEC_PER_SEC;
        before = appears();
        kernel_pass(900 * USEC_PER_MSEC);
        assert_string_equal(told(false, before), "+sda +sda1");
        assert_string_equal(told(true, before), "");
        kernel_pass(USEC_PER_SEC);
        assert_string_equal(told(true, before), "+sda");
        kernel_pass(USEC_PER_SEC);
        assert_string_equal(told(true, before), "+sda1");
}

static void udev_keeps_order(void)
{
        uint64_t before;

        fake->udev_usec = 2 * USEC_PER_SEC;
        before = appears();
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        kernel_pass(USEC_PER_SEC);
        assert_string_equal(told(false, before), "+sda +sda1 -sda1 -sda");
        assert_string_equal(told(true, before), "");
        kernel_pass(10 * USEC_PER_SEC);
        assert_string_equal(told(true, before), "+sda +sda1 -sda1 -sda");
}

static void udev_records_first(void)
{
        static const char record[] = "run/udev/data/b8:0";
        unsigned long long usec;
        uint64_t before;
        char text[64];

        fake->lost_events = true;
        before = appears();
        assert_false(tree_exists(record));
        while (!udev_due(true, before)) {
                assert_false(tree_exists(record));
                kernel_pass(USEC_PER_MSEC);
        }
        assert_true(attr_read(fake->roots.run, "udev/data/b8:0", text, sizeof(text)) > 0);
        assert_int_equal(sscanf(text, "I:%llu", &usec), 1);
        assert_in_range(usec, before, fake->clock);
        udev_settles();
        (void) told(true, before);
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        udev_settles();
        assert_string_equal(told(true, before), "-sda1 -sda");
        assert_false(tree_exists(record));
}

static void udev_keeps_open(void)
{
        fake->udev_usec = 2 * USEC_PER_SEC;
        (void) appears();
        for (int tries = 0; tries < 2; tries++) {
                assert_int_equal(kernel_unbind(UAS, IF), 0);
                assert_int_equal(kernel_bind(UAS, IF), 0);
                kernel_pass(USEC_PER_SEC);
                assert_string_equal(sda->nodes[0].name, tries ? "sda" : "sdb");
                udev_settles();
        }
}

static void udev_keeps_lock(void)
{
        int fd;

        fake->udev_usec = USEC_PER_SEC;
        (void) appears();
        kernel_pass(100 * USEC_PER_MSEC);
        fd = openat(fake->roots.dev, "sda", O_RDONLY | O_CLOEXEC);
        assert_true(flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EAGAIN);
        kernel_pass(USEC_PER_SEC); /* only the event of the partition is left */
        assert_true(flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EAGAIN);
        udev_settles();
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        (void) close(fd);
}

static void udev_waits_for_lock(void)
{
        uint64_t before;
        int fd;

        disk(UAS, 1);
        before = fake->clock;
        fd = openat(fake->roots.dev, "sda", O_RDONLY | O_CLOEXEC);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(kernel_trigger("sda"), 0);
        assert_int_equal(kernel_trigger("sda1"), 0);
        kernel_pass(10 * USEC_PER_SEC);
        assert_string_equal(told(false, before), "+sda +sda1");
        assert_string_equal(told(true, before), "");
        assert_int_equal(flock(fd, LOCK_UN), 0);
        udev_settles();
        assert_string_equal(told(true, before), "+sda +sda1");
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(kernel_unbind(UAS, IF), 0);
        udev_settles();
        assert_string_equal(told(true, before), "-sda1 -sda");
        (void) close(fd);
}

static void trigger_runs_rules(void)
{
        struct hold_mark m;
        uint64_t before;
        struct facts f;

        disk(DRIVER_NONE, 1);
        fake_facts(u, &f);
        m = (struct hold_mark){facts_attachment_id(&f), fake->clock + 20 * USEC_PER_SEC};
        assert_int_equal(hold_write(&fake->roots, IF, &m), 0);
        assert_int_equal(kernel_bind(UAS, IF), 0);
        while (!sda->there)
                kernel_pass(USEC_PER_MSEC);
        udev_settles();
        assert_true(sda->nodes[0].held && sda->nodes[1].held);
        assert_int_equal(hold_remove(&fake->roots, IF), 0);
        kernel_pass(2 * USEC_PER_SEC);
        assert_true(sda->nodes[0].held && sda->nodes[1].held);
        before = fake->clock;
        assert_int_equal(kernel_trigger("sda"), 0);
        assert_int_equal(kernel_trigger("sda1"), 0);
        udev_settles();
        assert_false(sda->nodes[0].held || sda->nodes[1].held);
        assert_string_equal(told(false, before), "+sda +sda1");
        assert_string_equal(told(true, before), "+sda +sda1");
}

#define REACTION(name)                                                                             \
        {                                                                                          \
#name, name                                                                        \
        }
static const struct {
        const char *name;
        void (*test)(void);
} reactions[] = {
        REACTION(unbind_takes_all),
        REACTION(unbind_not_bound),
        REACTION(not_refused),
        REACTION(loses_page_cache),
        REACTION(flushes_drive),
        REACTION(uas_cannot_flush),
        REACTION(fsync_does_both),
        REACTION(delete_takes_one_lun),
        REACTION(delete_lets_nobody_in),
        REACTION(delete_waits_for_scan),
        REACTION(scan_brings_back),
        REACTION(disk_comes_late),
        REACTION(bind_busy),
        REACTION(bind_uas_with_u),
        REACTION(bind_bot_declines),
        REACTION(alt_1_is_not_bot),
        REACTION(gone_is_enodev),
        REACTION(vendor_never_declines),
        REACTION(bind_does_not_wait),
        REACTION(uas_scans_at_once),
        REACTION(bot_waits_delay_use),
        REACTION(letter_of_last_close),
        REACTION(first_entry_wins),
        REACTION(two_tables),
        REACTION(quirks_127),
        REACTION(quirks_empty),
        REACTION(module_takes_unbound),
        REACTION(probe_any_driver),
        REACTION(claim_excludes),
        REACTION(slot_is_claimed),
        REACTION(card_is_seen),
        REACTION(plain_open_is_no_claim),
        REACTION(counts_opens),
        REACTION(last_close_writes_back),
        REACTION(announced_when_ready),
        REACTION(udev_announces_last),
        REACTION(udev_keeps_order),
        REACTION(udev_records_first),
        REACTION(udev_keeps_open),
        REACTION(udev_keeps_lock),
        REACTION(udev_waits_for_lock),
        REACTION(trigger_runs_rules),
};

static void test_reactions(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(reactions); i++) {
                fakesys_make();
                reactions[i].test();
                fakesys_remove();
        }
}

/* This file tests every reaction that REACTIONS lists, in the same order. */
static void test_list(void **state)
{
        FILE *f = fopen(REACTIONS_FILE, "re");
        char line[256];
        size_t n = 0;

        assert_non_null(f);
        while (fgets(line, sizeof(line), f)) {
                if (line[0] == '#')
                        continue;
                assert_true(n < ELEMENTSOF(reactions));
                *strchrnul(line, ':') = '\0';
                assert_string_equal(line, reactions[n++].name);
        }
        assert_int_equal(n, ELEMENTSOF(reactions));
        (void) fclose(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_reactions),
                                           cmocka_unit_test(test_list)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory runs out at the n-th allocation, for each n: once, or from there on. A function then
 * returns -ENOMEM, or the same as always: never another result that looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <limits.h>

#include <cmocka.h>

#include "../memory.h"
#include "../sys/tree.h"
#include "common/util.h"
#include "core/keepoff.h"
#include "hold/allowed.h"
#include "hold/early.h"
#include "hold/hold.h"
#include "hold/quirks.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/modprobed.h"
#include "sys/state/conf.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/state/trims.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/users.h"
#include "sys/users/who.h"

/* ---- the functions, and what they find, as a text ---- */

struct text {
        char s[4096];
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *format, ...)
{
        size_t used = strlen(t->s);
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(t->s + used, sizeof(t->s) - used, format, ap);
        va_end(ap);
}

static int configuration(const struct roots *r, struct text *t)
{
        struct config c;
        int k = conf_load(r, &c, NULL, NULL);

        if (k < 0)
                return k;
        say(t, "%llu", (unsigned long long) c.hold_usec);
        for (size_t i = 0; i < c.n_rules; i++)
                say(t, " %04x:%s:%i", c.rules[i].vid, c.rules[i].serial ?: "-",
                    (int) c.rules[i].policy);
        config_done(&c);
        return k;
}

static int interface(const struct roots *r, struct text *t)
{
        struct usb_disk d = {0};
        int k = usb_disk_read(r, TREE_INTERFACE, true, &d);

        if (k > 0)
                say(t, "%04x %s %s", d.facts.vid, d.facts.serial, d.host);
        for (size_t i = 0; k > 0 && i < d.n_luns; i++) {
                say(t, " %s", d.luns[i].disk.name);
                for (size_t j = 0; j < d.luns[i].n_parts; j++)
                        say(t, " %s", d.luns[i].parts[j].name);
        }
        usb_disk_done(&d);
        return k;
}

static int interfaces(const struct roots *r, struct text *t)
{
        char **found = NULL;
        int k = usb_disk_enumerate(r, &found);

        for (char **one = found; k >= 0 && one && *one; one++)
                say(t, "%s ", *one);
        if (k >= 0)
                strv_free(found);
        return k;
}

static struct block part = {"sda1", 8, 1};
static const struct lun disk = {
        .scsi = "0:0:0:0", .sg = "null", .disk = {"sda", 8, 0}, .parts = &part, .n_parts = 1};

static int any_user(const struct roots *r, struct text *t)
{
        return users_any(r, &disk, 1);
}

static int users(const struct roots *r, struct text *t)
{
        struct user *list = NULL;
        size_t n = 0;
        int k = users_find(r, &disk, 1, true, &list, &n);

        for (size_t i = 0; k >= 0 && i < n; i++)
                say(t, "%i %s %s %s %s,", (int) list[i].kind, list[i].device, list[i].where ?: "-",
                    list[i].namespace ?: "-", list[i].via ?: "-");
        users_free(list, n);
        return k;
}

static struct facts known(void)
{
        return (struct facts){.vid = 0x1209,
                              .pid = 0x5a5a,
                              .serial = "SN1",
                              .port = "2-1",
                              .controller_device = "0000:00:14.0"};
}

static void say_keepoff(struct text *t, const struct keepoff *k)
{
        say(t, "%s; %s;", k->quirks, k->own);
        for (size_t i = 0; i < k->n_left_out; i++)
                say(t, " %s of %s", k->left_out[i], k->left_out_disks[i]);
        for (char **one = k->dropped; one && *one; one++)
                say(t, " dropped %s", *one);
}

static int keepoff(const struct roots *r, struct text *t)
{
        struct kept_disks kept = {0};
        struct keepoff made = {0};
        struct config c;
        int k;

        config_init(&c);
        k = kept_disks_read(r, &c, "6.1.0-test", &kept);
        if (k >= 0)
                k = kept_disks_read_plugged(r, &kept);
        if (k >= 0)
                k = keepoff_entries(&kept, "dead:beef:f", false, &made);
        if (k >= 0) {
                say_keepoff(t, &made);
                keepoff_done(&made);
        }
        kept_disks_done(&kept);
        config_done(&c);
        return k;
}

#define FULL                                                                                       \
        "1:1:u,2:2:u,3:3:u,4:4:u,5:5:u,6:6:u,7:7:u,8:8:u,9:9:u,a:a:u,b:b:u,c:c:u,d:d:u,e:e:u,f:f:u,11:11:u,12:12:u,13:13:u"

static int kernel_line(const struct roots *r, struct text *t)
{
        struct kept_disks kept = {0};
        struct keepoff made = {0};
        struct facts f = known();
        int k = kept_disks_read_plugged(r, &kept);

        if (k >= 0)
                k = kernel_line_make(FULL ",14:14:u,15:15:u,16:16:u,17:17:u", &kept, &f,
                                     DRIVER_USB_STORAGE, NULL, 0, &made);
        if (k >= 0) {
                say_keepoff(t, &made);
                keepoff_done(&made);
        }
        kept_disks_done(&kept);
        return k;
}

static int modprobe(const struct roots *r, struct text *t)
{
        struct quirk_lines lines = {0};
        int k = modprobe_quirk_lines(r, &lines);

        for (size_t i = 0; k >= 0 && i < lines.n; i++)
                say(t, "%s:%u=%s ", lines.list[i].file, lines.list[i].line, lines.list[i].value);
        if (k >= 0)
                quirk_lines_done(&lines);
        return k;
}

static int policies(const struct roots *r, struct text *t)
{
        struct facts of_udev = known(), of_nobody = known();
        const struct facts *const plugged[] = {&of_nobody, &of_udev};
        struct policy_rows rows = {0};
        struct config c;
        int k;

        of_udev.policy = POLICY_IGNORE;
        of_udev.policy_source = POLICY_BY_UDEV;
        of_nobody.serial[0] = '\0';
        config_init(&c);
        k = policy_list(r, &c, plugged, ELEMENTSOF(plugged), &rows);
        for (size_t i = 0; k >= 0 && i < rows.n; i++)
                say(t, "%s=%i ", rows.list[i].id, (int) rows.list[i].policy);
        policy_rows_done(&rows);
        config_done(&c);
        return k;
}

static int record(const struct roots *r, struct text *t)
{
        struct history h = {.state = HISTORY_DISTRUSTED, .failed = true, .distrusted = true};
        struct facts f = known();

        return history_write(r, &f, &h);
}

static int forget(const struct roots *r, struct text *t)
{
        struct facts f = known();

        return history_forget(r, &f);
}

static int end_trials(const struct roots *r, struct text *t)
{
        return history_end_trials(r, NULL);
}

static int read_policy(const struct roots *r, struct text *t)
{
        enum policy p = POLICY_AUTO;
        struct facts f = known();
        bool forced = false;
        int k = policy_lookup(r, &f, &p, &forced);

        say(t, "%s", policy_to_string(p));
        return k;
}

static int policy(const struct roots *r, struct text *t)
{
        struct facts f = known();

        return policy_store(r, &f, false, POLICY_UAS, true);
}

static int timeout(const struct roots *r, struct text *t)
{
        usec_t usec = 0;
        int k = smallest_device_timeout(r, &usec);

        if (k >= 0)
                say(t, "%llu", (unsigned long long) usec);
        return k;
}

static int initramfs_quirks(const struct roots *r, struct text *t)
{
        char dir[32];

        (void) snprintf(dir, sizeof(dir), "/proc/self/fd/%i", r->var);
        return hold_quirks(r, "6.1.0-test", dir);
}

static struct text *moves;

static int note_switch(const struct facts *f, enum driver target, usec_t deadline)
{
        say(moves, "to %s", driver_to_string(target));
        return 0;
}

static void note_load(const char *module)
{
}

static int initramfs_moves(const struct roots *r, struct text *t)
{
        moves = t;
        return early_interface(r, TREE_INTERFACE, &(struct runner){note_switch, note_load});
}

static int arm(const char *unused)
{
        return 0;
}

static int begin_hold(const struct roots *r, struct text *t)
{
        struct hold_answer a = {};
        int k = hold_decide(r, &(struct block_event){"sda", "add", "disk"}, arm, &a);

        if (k >= 0 && a.hold)
                say(t, "held, %s",
                    faccessat(r->run, "uasd/hold/" TREE_INTERFACE, F_OK, 0) ? "lost" : "marked");
        return k;
}

static int end_hold(const struct roots *r, struct text *t)
{
        return hold_end(r, TREE_INTERFACE, NULL);
}

static int of_namespace(const struct roots *r, struct text *t)
{
        struct user *list = NULL;
        size_t n = 0;
        int k = users_of_namespace(r, "mnt:[2]", &list, &n);

        for (size_t i = 0; k >= 0 && i < n; i++)
                say(t, "%i ", (int) list[i].pid);
        users_free(list, n);
        return k;
}

static int trim(const struct roots *r, struct text *t)
{
        const struct trim_lun lun = {.max_bytes = 4096};
        struct facts f = known();

        return trims_store(r, &f, false, &lun, 1);
}

static void make(struct tree *t);

static void make_initramfs(struct tree *t)
{
        tree_make(t);
        tree_write(t, "etc/uasd/initramfs", "");
        tree_write(t, "etc/uasd/uasd.conf", "[uasd]\nPolicy=usb-storage\n");
        tree_link(t, TREE_DIR "/driver", "../../../../../bus/usb/drivers/uas");
}

static void make_boot(struct tree *t)
{
        tree_make(t);
        tree_write(t, "etc/uasd/uasd.conf", "[Disk 1209:5a5a:ONE]\nPolicy=usb-storage\n");
}

static void make_held(struct tree *t)
{
        tree_make(t);
        tree_write(t, "run/uasd/hold/" TREE_INTERFACE,
                   "BUSNUM=2\nDEVNUM=5\nDEADLINE=1000000000000000\n");
}

#define FUNCTION(name, ...)                                                                        \
        {                                                                                          \
#name, name, {__VA_ARGS__ }, make, false                                           \
        }
static const struct {
        const char *name;
        int (*run)(const struct roots *r, struct text *t);
        const char *written[3]; /* files: each is as before or as it should be */
        void (*make)(struct tree *t);
        bool may_do_nothing; /* 0 without a text is no result: a hold that does not begin */
} functions[] = {
        FUNCTION(configuration),
        FUNCTION(interface),
        FUNCTION(interfaces),
        FUNCTION(users),
        FUNCTION(any_user),
        FUNCTION(keepoff),
        FUNCTION(kernel_line),
        FUNCTION(modprobe),
        FUNCTION(policies),
        FUNCTION(timeout),
        FUNCTION(record, "etc/uasd/history", "var/lib/uasd/history"),
        FUNCTION(forget, "etc/uasd/history", "var/lib/uasd/history"),
        FUNCTION(end_trials, "etc/uasd/history", "var/lib/uasd/history"),
        FUNCTION(read_policy),
        FUNCTION(policy, "etc/uasd/policy", "var/lib/uasd/policy"),
        FUNCTION(of_namespace),
        FUNCTION(trim, "etc/uasd/trim", "var/lib/uasd/trim"),
        FUNCTION(initramfs_quirks, "var/etc/modprobe.d/zzz-uasd.conf", "var/etc/uasd/quirks"),
        {"initramfs_moves", initramfs_moves, {}, make_initramfs, false},
        {"begin_hold", begin_hold, {}, make_boot, true},
        {"end_hold",
         end_hold,
         {"run/uasd/hold/" TREE_INTERFACE, "sys/class/block/sda/uevent"},
         make_held,
         false},
};

#define TRIAL                                                                                      \
        "1209:5a5a:SN1@0000:00:14.0/ss/1=state=trial firmware=0100 kernel=6.1.0-test boot=now date=- reason=\n"

static void make(struct tree *t)
{
        static const char *const files[][2] = {
                {"proc/sys/kernel/random/boot_id", "now\n"},
                {"proc/1/mountinfo",
                 "20 1 254:0 / / rw - ext4 /dev/vda rw\n30 20 8:1 / /mnt rw - ext4 /dev/sda1 rw\n"
                 "32 20 0:40 / /b rw - btrfs /dev/sdb1 rw\n"},
                {"sys/fs/btrfs/1-2/devices/sda1", ""},
                {"sys/fs/btrfs/1-2/devices/sdb1", ""},
                {"proc/77/mountinfo", "31 20 8:1 / /other rw - ext4 /dev/sda1 rw\n"},
                {"proc/swaps", "Filename Type Size Used Priority\n/dev/sda1 partition 1 0 -2\n"},
                {"sys/class/block/sda1/holders/dm-0/x", ""},
                {"sys/block/loop3/loop/backing_file", "/dev/sda1\n"},
                {"etc/fstab", "LABEL=x /mnt ext4 nofail,x-systemd.device-timeout=12s 0 2\n"},
                {"etc/uasd/uasd.conf",
                 "[uasd]\nHoldSec=7\n[Disk 1209:5a5a:ONE]\nPolicy=uas\n[Disk 1209:5a5b]\nPolicy=usb-storage\n"},
                {"etc/uasd/uasd.conf.d/x.conf", "[Disk 1209:5a5a:TWO]\nPolicy=usb-storage\n"},
                {"etc/uasd/policy",
                 "generation=3\n1209:5a5a:ONE=usb-storage\n1209:5a5c:=usb-storage\n1209:5a5d:X=uas\n"},
                {"var/lib/uasd/policy", "generation=2\n1209:5a5a:SN1=ignore\n"}, /* older */
                {"etc/uasd/history",
                 "generation=3\n" TRIAL
                 "1209:5a5e:B@0000:00:14.0/ss/2=state=distrusted firmware=0100 kernel=6.1.0-test boot=- date=- "
                 "reason=it had to be reset\n"},
                {"etc/modprobe.d/a.conf",
                 "options usb-storage quirks=1:1:u \\\n  delay_use=1\noptions usb-storage quirks=2:2:u\n"},
        };

        tree_make(t);
        tree_boot_kernel(t, "6.1.0-test");
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                tree_write(t, files[i][0], files[i][1]);
        tree_link(t, "proc/1/ns/mnt", "mnt:[1]");
        tree_link(t, "proc/77/ns/mnt", "mnt:[2]");
        tree_link(t, "proc/77/fd/3", "/dev/sda1");
}

/* Copies the files that a function writes. */
static void read_files(struct tree *t, size_t function, struct text ret[static 3])
{
        for (size_t i = 0; i < 3 && functions[function].written[i]; i++) {
                const char *text = tree_read(t, functions[function].written[i]);

                (void) copy_string(ret[i].s, sizeof(ret[i].s), text ?: "(none)");
        }
}

static int run(struct tree *t, size_t function, unsigned nth, bool lasting, struct text *text)
{
        int r;

        *text = (struct text){};
        memory_begins(nth, lasting);
        r = functions[function].run(&t->roots, text);
        (void) memory_ends();
        return r;
}

static void test_each(void **state)
{
        for (size_t f = 0; f < ELEMENTSOF(functions); f++) {
                struct text usual, text, old[3], new[3], now[3];
                unsigned *nths, count;
                struct tree t;
                int r;

                functions[f].make(&t);
                read_files(&t, f, old);
                r = run(&t, f, 0, false, &usual);
                nths = memory_paths(UINT_MAX);
                read_files(&t, f, new);
                tree_remove(&t);
                if (r < 0)
                        fail_msg("%s: %s", functions[f].name, strerror(-r));
                for (count = 0; nths[count / 2]; count++) {
                        unsigned nth = nths[count / 2];
                        int k;

                        functions[f].make(&t);
                        k = run(&t, f, nth, count % 2, &text);
                        read_files(&t, f, now);
                        tree_remove(&t);
                        /* The first allocation is of what it reads first, without which it fails.
                         */
                        if (functions[f].may_do_nothing && count > 1 && k == 0 && !text.s[0])
                                continue;
                        if (k != -ENOMEM && (k != r || !streq(text.s, usual.s)))
                                fail_msg("%s, allocation %u: %i %s instead of %i %s",
                                         functions[f].name, nth, k, text.s, r, usual.s);
                        for (size_t i = 0; i < 3 && functions[f].written[i]; i++)
                                if (!streq(now[i].s, new[i].s) &&
                                    (k >= 0 || !streq(now[i].s, old[i].s)))
                                        fail_msg("%s, allocation %u: %s has %s", functions[f].name,
                                                 nth, functions[f].written[i], now[i].s);
                }
                print_message("%s: %u allocations, %s\n", functions[f].name, count / 2, usual.s);
                assert_true(count > 0);
                free(nths);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_each)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}

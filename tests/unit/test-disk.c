/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk-words.h"
#include "core/disk.h"

#include "common/exit-codes.h"
#include "core/explain.h"
#include "core/policy.h"
#include "unit.h"

#define EVENT                                                                                      \
        .bcd = 0x0114, .distrust_reason = "the machine went down in the middle of its trial",      \
        .distrust_date = "2026-11-24", .distrust_kernel = "6.1.0"

static struct block sda_parts[] = {{"sda1", 8, 1}, {"sda2", 8, 2}};
static struct lun luns[] = {
        {.disk = {"sda", 8, 0}, .parts = sda_parts, .n_parts = 2},
        {.lun = 1}, /* no block device yet: 0:0 is not its number */
        {.lun = 2, .scsi_type = 5, .disk = {"sr0", 11, 0}},
};

static void test_luns_have(void **state)
{
        static const struct {
                unsigned major, minor;
                const char *name;
        } table[] = {
                {8, 0, "sda"}, {8, 2, "sda2"}, {11, 0, "sr0"},
                {8, 3, NULL},  {9, 0, NULL},   {0, 0, NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const char *name = NULL;
                bool have =
                        luns_have(luns, ELEMENTSOF(luns), table[i].major, table[i].minor, &name);

                assert_row(i, have == (table[i].name != NULL));
                assert_row(i, have ? streq(name, table[i].name) : !name);
                assert_row(i, luns_have(luns, ELEMENTSOF(luns), table[i].major, table[i].minor,
                                        NULL) == have);
        }
        assert_false(luns_have(NULL, 0, 8, 0, NULL));
}

/* A card that is put in, taken out or replaced; partitions and LUNs that appear later. */
static void test_luns_same(void **state)
{
        static struct block one[] = {{"sda1", 8, 1}}, turned[] = {{"sda2", 8, 2}, {"sda1", 8, 1}},
                            others[] = {{"sda1", 8, 1}, {"sda3", 8, 3}},
                            first[] = {{"sda3", 8, 3}, {"sda2", 8, 2}};
        static const struct lun was = {.scsi = "0:0:0:0",
                                       .disk = {"sda", 8, 0},
                                       .size = 512,
                                       .diskseq = 9,
                                       .parts = sda_parts,
                                       .n_parts = 2};
        static const struct {
                struct lun now;
                bool same;
        } table[] = {
                {{.scsi = "0:0:0:0",
                  .disk = {"sda", 8, 0},
                  .size = 512,
                  .diskseq = 9,
                  .parts = turned,
                  .n_parts = 2},
                 true},
                {{.scsi = "0:0:0:0",
                  .disk = {"sda", 8, 0},
                  .size = 512,
                  .diskseq = 10,
                  .parts = sda_parts,
                  .n_parts = 2},
                 false},
                {{.scsi = "0:0:0:0",
                  .disk = {"sda", 8, 0},
                  .size = 0,
                  .diskseq = 9,
                  .parts = sda_parts,
                  .n_parts = 2},
                 false},
                {{.scsi = "0:0:0:0",
                  .disk = {"sda", 8, 0},
                  .size = 512,
                  .diskseq = 9,
                  .parts = one,
                  .n_parts = 1},
                 false},
                {{.scsi = "0:0:0:0",
                  .disk = {"sda", 8, 0},
                  .size = 512,
                  .diskseq = 9,
                  .parts = others,
                  .n_parts = 2},
                 false},
                {{.scsi = "0:0:0:0",
                  .disk = {"sda", 8, 0},
                  .size = 512,
                  .diskseq = 9,
                  .parts = first,
                  .n_parts = 2},
                 false},
                {{.scsi = "0:0:0:0", .size = 512, .diskseq = 9, .parts = sda_parts, .n_parts = 2},
                 false},
                {{.scsi = "0:0:0:1",
                  .disk = {"sda", 8, 0},
                  .size = 512,
                  .diskseq = 9,
                  .parts = sda_parts,
                  .n_parts = 2},
                 false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, luns_same(&was, 1, &table[i].now, 1) == table[i].same);
        assert_false(luns_same(&was, 1, &was, 0));
        assert_true(luns_same(NULL, 0, NULL, 0));
}

static void test_done(void **state)
{
        struct disk d = {.n_luns = 1, .n_users = 1};

        luns_free(NULL, 3);
        users_free(NULL, 3);
        disk_done(NULL);
        d.luns = calloc(1, sizeof(*d.luns));
        d.users = calloc(1, sizeof(*d.users));
        assert_true(d.luns && d.users);
        d.luns->parts = calloc(1, sizeof(*d.luns->parts));
        d.users->where = strdup("/mnt");
        d.users->namespace = strdup("mnt:[1]");
        d.users->command = strdup("dd");
        disk_done(&d);
        assert_null(d.luns);
        assert_null(d.users);
        disk_done(&d);
}

static void test_reason(void **state)
{
        static struct user users[] = {
                /* clang-format off */
                {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/a\nb"},
                {.kind = USER_MOUNT,
                 .device = "sda1",
                 .where = (char *) "/srv",
                 .namespace = (char *) "mnt:[1]"},
                {.kind = USER_MOUNT, .device = "sda1"},
                {.kind = USER_SWAP, .device = "sda2"},
                {.kind = USER_HOLDER, .device = "sda", .where = (char *) "dm-0"},
                {.kind = USER_HOLDER, .device = "sda"},
                {.kind = USER_LOOP, .device = "sda", .where = (char *) "loop0"},
                {.kind = USER_LOOP, .device = "sda"},
                {.kind = USER_OPEN, .device = "sda", .pid = 42, .command = (char *) "dd"},
                {.kind = USER_CLAIM, .device = "sda"},
                {.kind = USER_CLAIM, .device = "sdb", .where = (char *) "ZFS pool a\nb"},
                {.kind = _USER_KIND_MAX},
                {.kind = USER_CLAIM, .device = "sdb", .command = (char *) "mdadm", .where = (char *) "an array"},
                {.kind = USER_OPEN, .device = "sdb", .where = (char *) "an array"},
                /* clang-format on */
        };
        static struct user of_system[] = {
                {.kind = USER_SWAP, .device = "sda2"},
                {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/boot/firmware"},
                {.kind = USER_MOUNT,
                 .device = "sda1",
                 .where = (char *) "/",
                 .namespace = (char *) "mnt:[1]"},
                {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/"},
                {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/bootleg"},
                {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/usr"},
                {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/usr/local"},
        };
        static struct user stacked[] = {
                {.kind = USER_SWAP, .device = "sda1"},
                {.kind = USER_HOLDER, .device = "sda1", .where = (char *) "dm-0"},
                {.kind = USER_MOUNT, .device = "sda2", .where = (char *) "/boot"},
                {.kind = USER_HOLDER, .device = "sda2", .where = (char *) "md0"},
                {.kind = USER_MOUNT, .device = "sda3", .where = (char *) "/"},
                {.kind = USER_HOLDER, .device = "sda3"},
                {.kind = USER_MOUNT, .device = "sda4", .where = (char *) "/boot"},
                {.kind = USER_HOLDER,
                 .device = "sda4",
                 .where = (char *) "btrfs 1-2",
                 .btrfs = true},
        };
        static const struct {
                struct disk d;
                const char *reason;
        } table[] = {
                /* clang-format off */
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS},
                 "Waits for uas until it has been free for a while."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = users, .n_users = 2},
                 "Waits for uas until nothing uses it: /mnt/a\\x0ab (sda1), /srv (sda1, in mnt:[1])."},
                {{.state = STATE_WAITING,
                  .decision.target = DRIVER_USB_STORAGE,
                  .users = users + 2,
                  .n_users = 3},
                 "Waits for usb-storage until nothing uses it: a mount (sda1), swap on sda2, dm-0 (on sda). "
                 "It serves the running system: turn the swap off, or restart."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = users + 12, .n_users = 2},
                 "Waits for uas until nothing uses it: mdadm has claimed sdb, a program has sdb open."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = of_system, .n_users = 1},
                 "Waits for uas until nothing uses it: swap on sda2. It serves the running system: turn the swap "
                 "off, or restart."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = of_system, .n_users = 2},
                 "Waits for uas until nothing uses it: swap on sda2, /boot/firmware (sda1). It serves the running system: "
                 "unmount it, or restart."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = of_system + 2, .n_users = 2},
                 "Waits for uas until nothing uses it: / (sda1, in mnt:[1]), / (sda1). The running system is on it, so uasd cannot switch it."},
                {{.state = STATE_WAITING, .facts = {.interface = "2-1:1.0", .vid = 0x152d, .pid = 0x0578, .driver = DRIVER_UAS},
                  .decision.target = DRIVER_USB_STORAGE, .users = of_system + 3, .n_users = 1},
                 "Waits for usb-storage until nothing uses it: / (sda1). The running system is on it, so uasd cannot switch it. To start it on usb-storage: uasctl policy --kernel --write 2-1:1.0 usb-storage"},
                {{.state = STATE_WAITING, .facts = {.interface = "2-1:1.0", .vid = 0x152d, .pid = 0x578, .driver = DRIVER_UAS, .quirks = "152d:0578:u"},
                  .decision.target = DRIVER_USB_STORAGE, .users = of_system + 3, .n_users = 1},
                 "Waits for usb-storage until nothing uses it: / (sda1). The running system is on it, so uasd cannot switch it. To start it on usb-storage: uasctl policy --kernel --write 2-1:1.0 usb-storage"},
                /* the kernel's own flags for this bridge stay in force */
                {{.state = STATE_WAITING, .facts = {.interface = "2-1:1.0", .vid = 0x059f, .pid = 0x105f, .driver = DRIVER_UAS},
                  .decision.target = DRIVER_USB_STORAGE, .users = of_system + 3, .n_users = 1},
                 "Waits for usb-storage until nothing uses it: / (sda1). The running system is on it, so uasd cannot switch it. To start it on usb-storage: uasctl policy --kernel --write 2-1:1.0 usb-storage"},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = of_system + 4, .n_users = 1},
                 "Waits for uas until nothing uses it: /bootleg (sda1)."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = of_system + 5, .n_users = 1},
                 "Waits for uas until nothing uses it: /usr (sda1). The running system is on it, so uasd cannot switch it."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = of_system + 6, .n_users = 1},
                 "Waits for uas until nothing uses it: /usr/local (sda1)."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = stacked, .n_users = 2},
                 "Waits for uas until nothing uses it: swap on sda1, dm-0 (on sda1). It serves the running system: turn "
                 "the swap off and stop the devices on the disk, or restart."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = stacked + 2, .n_users = 2},
                 "Waits for uas until nothing uses it: /boot (sda2), md0 (on sda2). It serves the running system: unmount "
                 "it and stop the devices on the disk, or restart."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = stacked + 2, .n_users = 4},
                 "Waits for uas until nothing uses it: /boot (sda2), md0 (on sda2), / (sda3), a device (on sda3). The running system is on it, so uasd cannot switch it."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = stacked + 6, .n_users = 2},
                 "Waits for uas until nothing uses it: /boot (sda4), btrfs 1-2 (on sda4). It serves the running system: unmount "
                 "it, or restart."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = users + 5, .n_users = 3},
                 "Waits for uas until nothing uses it: a device (on sda), loop0 (on sda), "
                 "a loop device (on sda)."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = users + 8, .n_users = 3},
                 "Waits for uas until nothing uses it: dd (42) has sda open, a program has claimed sda, ZFS pool a\\x0ab has claimed sdb."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = users + 11, .n_users = 1},
                 "Waits for uas until it has been free for a while."},
                {{.state = STATE_WAITING, .decision.target = DRIVER_UAS, .users = users, .n_users = 2, .inhibited = "dd: It is filled."},
                 "Waits for uas: inhibited by dd: It is filled."},
                {{.state = STATE_INCAPABLE, .decision.reason = REASON_NO_UAS, .lease = "fio (7) has it for itself."},
                 "fio (7) has it for itself. It does not offer UAS."},
                {{.state = STATE_HELD, .decision = {DRIVER_UAS, .reason = REASON_FASTEST}},
                 "uasd defers its mounts until it is on uas. UAS is the faster one, and nothing speaks against it."},
                {{.state = STATE_SWITCHING, .decision = {DRIVER_USB_STORAGE, .reason = REASON_DISTRUSTED}},
                 "Is being switched to usb-storage. UAS has failed with this disk before."},
                {{.state = STATE_SETTLED, .facts = {EVENT}, .decision = {DRIVER_USB_STORAGE, .reason = REASON_DISTRUSTED}},
                 "UAS failed on 2026-11-24: the machine went down in the middle of its trial (firmware 1.14, Linux 6.1.0)."},
                {{.state = STATE_WAITING, .facts = {EVENT}, .decision = {DRIVER_USB_STORAGE, .reason = REASON_DISTRUSTED}},
                 "Waits for usb-storage until it has been free for a while. UAS failed on 2026-11-24: the machine went down in the middle of its "
                 "trial (firmware 1.14, Linux 6.1.0)."},
                {{.state = STATE_WAITING, .facts = {EVENT}, .decision = {DRIVER_USB_STORAGE, .reason = REASON_DISTRUSTED}, .users = users + 2, .n_users = 1},
                 "Waits for usb-storage until nothing uses it: a mount (sda1). UAS failed on 2026-11-24: the machine went down in the middle of its "
                 "trial (firmware 1.14, Linux 6.1.0)."},
                {{.state = STATE_HELD, .facts = {EVENT}, .decision = {DRIVER_USB_STORAGE, .reason = REASON_DISTRUSTED}},
                 "uasd defers its mounts until it is on usb-storage. UAS failed on 2026-11-24: the machine went down in the middle of its trial (firmware 1.14, Linux 6.1.0)."},
                {{.state = STATE_SETTLED, .facts = {EVENT}, .decision = {DRIVER_USB_STORAGE, .reason = REASON_TRIAL_FAILED}},
                 "UAS failed on 2026-11-24: the machine went down in the middle of its trial (firmware 1.14, Linux 6.1.0). The policy is uas, but the trial failed, and uasd starts no other trial by itself."},
                {{.state = STATE_SETTLED, .facts = {EVENT}, .decision = {DRIVER_UAS, .reason = REASON_FASTEST}},
                 "UAS is the faster one, and nothing speaks against it."},
                {{.state = STATE_TRIAL,
                  .facts.driver = DRIVER_UAS,
                  .decision = {DRIVER_UAS, .reason = REASON_POLICY}},
                 "On trial on uas: after an error uasd moves it back. The policy for this disk decides."},
                {{.state = STATE_SETTLED, .unattended = true, .facts.driver = DRIVER_USB_STORAGE, .decision = {DRIVER_UAS, .reason = REASON_FASTEST}},
                 "uasd would switch it to uas, but is not running. UAS is the faster one, and nothing speaks against it."},
                {{.state = STATE_SETTLED, .cancelled = true, .facts.driver = DRIVER_USB_STORAGE,
                  .decision = {DRIVER_UAS, .reason = REASON_FASTEST}},
                 "The switch to uas was cancelled. The disk stays on usb-storage until a user asks again or plugs it in again. UAS is the faster one, and nothing speaks against it."},
                {{.state = STATE_UNBOUND, .cancelled = true, .decision = {DRIVER_USB_STORAGE, .reason = REASON_POLICY}},
                 "The switch to usb-storage was cancelled. The disk stays without a driver until a user asks again or plugs it in again. The policy for this disk decides."},
                {{.state = STATE_TRIAL, .cancelled = true, .facts.driver = DRIVER_UAS,
                  .decision = {DRIVER_USB_STORAGE, .reason = REASON_POLICY}},
                 "On trial on uas: after an error uasd moves it back. The switch to usb-storage was cancelled. The disk stays on uas until a user asks again or plugs it in again. The policy for this disk decides."},
                {{.state = STATE_WAITING, .outcome = {.code = UASD_EXIT_FAILED, .text = "It did not come back."}, .decision.target = DRIVER_UAS},
                 "Has no driver. uasd tries again: It did not come back."},
                {{.state = STATE_WAITING, .outcome = {.code = UASD_EXIT_FAILED, .text = "It did not come back."}, .decision.target = DRIVER_UAS,
                  .facts.driver = DRIVER_USB_STORAGE},
                 "Waits for uas until it has been free for a while."},
                {{.state = STATE_SWITCHING, .decision.reason = REASON_JUST_UNBOUND}, "Is being switched."},
                {{.state = STATE_FAILED, .outcome.code = UASD_EXIT_ROLLED_BACK}, "The switch failed."},
                {{.state = STATE_FAILED, .outcome = {.code = UASD_EXIT_FAILED, .text = "It did not come back."}}, "It did not come back."},
                {{.state = STATE_FAILED, .outcome = {.code = UASD_EXIT_OK, .text = "moved from usb-storage to uas"}, .decision.target = DRIVER_UAS},
                 "uasd has tried uas once since it was plugged in, and does not try again by itself."},
                {{.state = STATE_INCAPABLE, .decision.reason = REASON_NO_UAS}, "It does not offer UAS."},
                /* clang-format on */
        };
        static const enum state plain[] = {STATE_SETTLED, STATE_UNBOUND, STATE_IGNORED,
                                           STATE_INCAPABLE, _STATE_MAX};
        char ret[512];

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (!streq(disk_reason(&table[i].d, ret, sizeof(ret)), table[i].reason))
                        fail_msg("row %zu: %s", i, ret);
        for (size_t i = 0; i < ELEMENTSOF(plain); i++)
                for (int r = 0; r < _REASON_MAX; r++) {
                        struct disk d = {.state = plain[i], .decision.reason = (enum reason) r};
                        assert_string_equal(disk_reason(&d, ret, sizeof(ret)),
                                            reason_sentence((enum reason) r));
                        assert_string_equal(disk_reason_id(&d), reason_to_string((enum reason) r));
                }
}

/* Lists users as long as there is room, then a number. */
static void test_many_users(void **state)
{
        struct disk d = {.state = STATE_WAITING, .decision.target = DRIVER_UAS};
        struct user many[20] = {}, longest[2] = {};
        char where[200], ret[512];

        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = (struct user){
                        .kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/somewhere"};
        d.users = many;
        d.n_users = ELEMENTSOF(many);
        (void) disk_reason(&d, ret, sizeof(ret));
        assert_non_null(strstr(ret, "/mnt/somewhere (sda1), /mnt/somewhere (sda1)"));
        assert_non_null(strstr(ret, ", and 10 more."));

        memset(where, 'x', sizeof(where));
        where[sizeof(where) - 1] = '\0';
        for (size_t i = 0; i < ELEMENTSOF(longest); i++) {
                longest[i] = (struct user){
                        .kind = USER_MOUNT, .device = "sda1", .where = where, .namespace = where};
        }
        d.users = longest;
        d.n_users = ELEMENTSOF(longest);
        (void) disk_reason(&d, ret, sizeof(ret));
        assert_non_null(strstr(ret, "xxx (sda1, in xxx"));
        assert_non_null(strstr(ret, ", and 1 more."));
}

/* The last user that is listed fills the room, with the number of the others if there are any. */
static void test_room_for_users(void **state)
{
        char a[96] = "", b[96] = "", ret[512];
        struct user three[] = {{.kind = USER_MOUNT, .device = "sda1", .where = a},
                               {.kind = USER_MOUNT, .device = "sda1", .where = a},
                               {.kind = USER_MOUNT, .device = "sda1", .where = b}};
        struct disk d = {.state = STATE_WAITING,
                         .decision.target = DRIVER_UAS,
                         .users = three,
                         .n_users = 3};

        memset(a, 'a', 76);
        for (size_t n = 1; n < sizeof(b); n++) {
                memset(b, 'b', n);
                (void) disk_reason(&d, ret, sizeof(ret));
                assert_row(n, !strstr(ret, ", and 1 more.") == (n <= 76) &&
                                      !strstr(ret, "and 2 more"));
        }
        memset(a, 'a', sizeof(a) - 1);
        memset(b, 0, sizeof(b));
        three[0].namespace = a;
        three[1].where = b;
        for (size_t n = 1; n < sizeof(b); n++) {
                memset(b, 'b', n);
                (void) disk_reason(&d, ret, sizeof(ret));
                assert_row(n, !strstr(ret, ", and 2 more.") == (n <= 32));
        }
}

static void test_claimed(void **state)
{
        static const struct {
                enum user_kind kinds[2];
                const char *device;
                size_t n, n_after;
                enum user_kind first;
        } table[] = {
                {{USER_OPEN},
                 "sda1",
                 1,
                 1,
                 USER_CLAIM}, /* the process with the open file probably has the claim */
                {{USER_OPEN}, "sg0", 1, 2, USER_OPEN},              /* no process claims sg nodes */
                {{USER_OPEN, USER_MOUNT}, "sda1", 2, 2, USER_OPEN}, /* the mount is the claim */
                {{USER_LOOP}, "sda1", 1, 2, USER_LOOP},
                {{USER_SWAP}, "sda1", 1, 1, USER_SWAP},
                {{USER_MOUNT}, "", 0, 1, USER_CLAIM},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct user *users = calloc(2, sizeof(*users));
                size_t n = table[i].n;

                assert_non_null(users);
                for (size_t k = 0; k < n; k++) {
                        users[k].kind = table[i].kinds[k];
                        (void) copy_string(users[k].device, sizeof(users[k].device),
                                           table[i].device);
                }
                users_claimed(&users, &n, "sda");
                assert_row(i, n == table[i].n_after);
                assert_row(i, users[0].kind == table[i].first);
                assert_row(i, users[n - 1].kind != USER_CLAIM || n == table[i].n ||
                                      streq(users[n - 1].device, "sda"));
                users_free(users, n);
        }
}

static void test_opened(void **state)
{
        struct user *users = NULL;
        size_t n = 0;

        users_opened(&users, &n, "sda");
        users_opened(&users, &n, "sda"); /* a user is known already */
        assert_int_equal(n, 1);
        assert_int_equal(users[0].kind, USER_OPEN);
        assert_string_equal(users[0].device, "sda");
        assert_int_equal(users[0].pid, 0);
        users_free(users, n);
}

/* A command at the end is there as a whole, or not at all. */
static void test_cut_command(void **state)
{
        static struct user root = {.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/"};
        struct disk d = {.state = STATE_WAITING,
                         .facts = {.interface = "2-1:1.0",
                                   .port = "2-1",
                                   .caps.alone = true,
                                   .vid = 0x152d,
                                   .pid = 0x0578,
                                   .driver = DRIVER_UAS},
                         .decision.target = DRIVER_USB_STORAGE,
                         .users = &root,
                         .n_users = 1};
        char ret[1024];
        size_t whole = strlen(disk_reason(&d, ret, sizeof(ret)));

        assert_true(endswith(ret, "uasctl policy --kernel --write 2-1 usb-storage"));
        for (size_t size = 1; size <= whole + 1; size++)
                assert_row(size,
                           !strstr(disk_reason(&d, ret, size), "uasctl") ||
                                   endswith(ret, "uasctl policy --kernel --write 2-1 usb-storage"));
}

static void test_cut(void **state)
{
        struct disk d = {.state = STATE_FAILED,
                         .outcome = {.code = UASD_EXIT_FAILED, .text = "ab\xc3\xa4\xe2\x82\xac"}};
        static const char *const cut[] = {"",           "a",          "ab",        "ab",
                                          "ab\xc3\xa4", "ab\xc3\xa4", "ab\xc3\xa4"};
        char ret[16];

        for (size_t size = 1; size <= 6; size++) {
                memset(ret, 'x', sizeof(ret));
                (void) disk_reason(&d, ret, size);
                assert_row(size, strlen(ret) < size);
                /* a last character that would just fit may be missing, but half of one never stays
                 */
                assert_row(size, strncmp(ret, d.outcome.text, strlen(ret)) == 0);
                assert_row(size, strlen(ret) <= strlen(cut[size - 1]));
                assert_row(size, strlen(ret) != 3);
        }
        assert_string_equal(disk_reason(&d, ret, 8), d.outcome.text);
        /* The first and the last byte that can stand at these places, and a byte that is none of a
         * character. */
        (void) copy_string(d.outcome.text, sizeof(d.outcome.text),
                           "a\xc0\x80"
                           "bcdef");
        assert_string_equal(disk_reason(&d, ret, 3), "a");
        (void) copy_string(d.outcome.text, sizeof(d.outcome.text),
                           "ab\xe2\x80\x80"
                           "cdef");
        assert_string_equal(disk_reason(&d, ret, 5), "ab");
        (void) copy_string(d.outcome.text, sizeof(d.outcome.text),
                           "\xe2\x82\xac"
                           "cdef");
        assert_string_equal(disk_reason(&d, ret, 3), "");
        ret[0] = 'x';
        (void) disk_reason(&d, ret, 0);
        assert_int_equal(ret[0], 'x');
}

static void test_history(void **state)
{
        static const struct {
                struct facts f;
                const char *history;
        } rows[] = {
                /* clang-format off */
                {{.interface = ""}, ""},
                {{.trial_open = true}, "on trial"},
                {{.trial_passed = true}, "passed its trial"},
                {{.distrusted = true, .distrust_reason = "it had to be reset"}, "distrusted: it had to be reset"},
                {{.distrusted = true, .trial_open = true, .distrust_reason = "x"}, "distrusted: x; on trial again"},
                {{.distrusted = true, EVENT}, "distrusted: the machine went down in the middle of its trial (2026-11-24, firmware 1.14, Linux 6.1.0)"},
                {{.distrusted = true, .initramfs_old = true, .distrust_reason = "x"}, "distrusted: x; the initramfs is older than this record"},
                /* clang-format on */
        };
        char ret[320];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct disk d = {.facts = rows[i].f};

                assert_string_equal(disk_history(&d, ret, sizeof(ret)), rows[i].history);
        }
}

/* Nothing is written behind the end, whatever is appended to what. */
static void test_ends(void **state)
{
        struct disk d = {.state = STATE_TRIAL,
                         .cancelled = true,
                         .facts = {.driver = DRIVER_UAS,
                                   .distrusted = true,
                                   .trial_open = true,
                                   .initramfs_old = true,
                                   .distrust_reason = "x"},
                         .decision = {DRIVER_USB_STORAGE, .reason = REASON_POLICY}};
        char ret[512];

        for (size_t size = 1; size < sizeof(ret); size++) {
                memset(ret, '#', sizeof(ret));
                (void) disk_history(&d, ret, size);
                assert_row(size, strlen(ret) < size && ret[size] == '#');
                memset(ret, '#', sizeof(ret));
                (void) disk_reason(&d, ret, size);
                assert_row(size, strlen(ret) < size && ret[size] == '#');
        }
}

static void test_user_is_udev(void **state)
{
        static const struct {
                struct user user;
                bool is;
        } table[] = {
                {{.kind = USER_OPEN, .command = "(udev-worker)", .unit = "systemd-udevd.service"},
                 true},
                {{.kind = USER_OPEN, .command = "systemd-udevd", .unit = "systemd-udevd.service"},
                 true},                                                  /* before systemd 252 */
                {{.kind = USER_OPEN, .command = "(udev-worker)"}, true}, /* in an initramfs */
                {{.kind = USER_OPEN, .command = "(udev-worker)", .unit = "user@1000.service"},
                 false}, /* a forged name */
                {{.kind = USER_OPEN, .command = "mdadm", .unit = "systemd-udevd.service"}, false},
                {{.kind = USER_OPEN, .unit = "systemd-udevd.service"}, false},
                {{.kind = USER_MOUNT, .command = "(udev-worker)", .unit = "systemd-udevd.service"},
                 false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, user_is_udev(&table[i].user) == table[i].is);
}

static void test_users_without(void **state)
{
        struct user list[] = {{.device = "sda", .pid = 7},
                              {.device = "sdb", .pid = 8},
                              {.device = "sdc", .pid = 7},
                              {.device = "sdd"}};
        struct user *users = calloc(ELEMENTSOF(list), sizeof(*users));
        size_t n = ELEMENTSOF(list);

        assert_non_null(users);
        memcpy(users, list, sizeof(list));
        users[0].command = strdup("uasd-switch");
        users_without(users, &n, 0); /* 0 is no process: a user with an unknown pid stays */
        assert_int_equal(n, 4);
        users[3].pid = 1;
        users_without(users, &n, 1);
        assert_int_equal(n, 3);
        users_without(users, &n, 9);
        assert_int_equal(n, 3);
        users_without(users, &n, 7);
        assert_int_equal(n, 1);
        assert_string_equal(users[0].device, "sdb");
        users_free(users, n);
}

/* A LUN without a block device: the kernel will make one only for these types. */
static void test_awaited(void **state)
{
        static const unsigned types[] = {0x00, 0x04, 0x05, 0x07, 0x0e, 0x14};

        for (unsigned type = 0; type < 0x20; type++) {
                struct lun l = {.scsi_type = type};
                bool is = false;

                for (size_t i = 0; i < ELEMENTSOF(types); i++)
                        is = is || types[i] == type;
                assert_row(type, lun_awaited(&l) == is);
                (void) copy_string(l.disk.name, sizeof(l.disk.name), "sda");
                assert_false(lun_awaited(&l));
        }
}

/* Names are never cut off. */
static void test_names(void **state)
{
        const struct lun named[] = {{.disk.name = "sda"}, {.disk.name = ""}, {.disk.name = "sdaa"}};
        char ret[128] = "-";

        assert_string_equal(luns_names(named, 0, ret, sizeof(ret)), "");
        assert_string_equal(luns_names(named, ELEMENTSOF(named), ret, sizeof(ret)), "sda sdaa");
        for (size_t size = 1; size < sizeof(ret); size++) {
                memset(ret, '#', sizeof(ret));
                (void) luns_names(named, ELEMENTSOF(named), ret, size);
                assert_row(size, streq(ret, "") || streq(ret, "sda") || streq(ret, "sda sdaa"));
                assert_row(size, size <= BLOCK_NAME_MAX + 2 || *ret);
        }
        const struct lun longest[] = {{.disk.name = "sdaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
                                      {.disk.name = "sdbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}};

        for (size_t size = 1; size < sizeof(ret); size++) { /* no name is cut */
                size_t n = strlen(luns_names(longest, ELEMENTSOF(longest), ret, size)),
                       one = sizeof(longest->disk.name) - 1;

                assert_row(size, n == 0 || n == one || n == 2 * one + 1);
        }
}

/* It becomes part of a path. */
static void test_interface_names(void **state)
{
        static const struct {
                const char *name;
                bool valid;
        } table[] = {
                {"2-1:1.0", true},     {"12-1.4.3:1.10", true},
                {"2-1:1.0/..", false}, {"../2-1:1.0", false},
                {"2-..:1.0", true}, /* no slash: it is only a name that no interface has */
                {"2-1", false},        {"2", false},
                {"2-1:", false},       {"2-1:1", false},
                {"2-1:1.", false},     {"2:1.0", false},
                {"-1:1.0", false},     {"2-1:1.0 ", false},
                {" 2-1:1.0", false},   {"2-1:+1.0", false},
                {"2-1: 1.0", false},   {"2-1x:1.0", false},
                {"usb2:1.0", false},   {"", false},
                {"2--1:1.0", false},   {"2-1::1.0", false},
                {"2-1:1..0", false},
        };
        char name[2 * INTERFACE_NAME_MAX];

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, interface_name_valid(table[i].name) == table[i].valid);
        for (size_t n = 1; n < sizeof(name) - 7; n++) {
                (void) snprintf(name, sizeof(name), "2-%0*u:1.0", (int) n, 1U);
                assert_row(n, interface_name_valid(name) == (strlen(name) < INTERFACE_NAME_MAX));
        }
}

static void test_copy_strings(void **state)
{
        const struct facts from = {
                .manufacturer = "Maker", .product = "Disk", .serial = "S1", .vid = 1};
        struct facts to = {.serial = "longer", .vid = 2};

        facts_copy_strings(&from, &to);
        assert_string_equal(to.manufacturer, "Maker");
        assert_string_equal(to.product, "Disk");
        assert_string_equal(to.serial, "S1");
        assert_int_equal(to.vid, 2);
}

/* udev's ID_SERIAL_SHORT for what sysfs has in `serial`. The case contracts.serial_number asks
 * udev itself, in a guest. */
static void test_serial(void **state)
{
        static const struct {
                const char *reported, *used;
        } table[] = {
                {"", ""},
                {"S1", "S1"},
                {"0123456789ABCDEFabcdef", "0123456789ABCDEFabcdef"},
                {"S1   ", "S1"},
                {"  S1", "S1"},
                {" AB 12/x ", "AB_12_x"},
                {"A   B  C", "A_B_C"},
                {"A _ B", "A___B"},
                {"   ", ""},
                {"/", "_"},
                {" / ", "_"},
                {"a#b+c-d.e:f=g@h_i", "a#b+c-d.e:f=g@h_i"},
                {"a!b\"c$d%e&f'g(h)i*j;k<l>m?n[o]p^q`r{s|t}u~v",
                 "a_b_c_d_e_f_g_h_i_j_k_l_m_n_o_p_q_r_s_t_u_v"},
                {"A\\B", "A_B"},
                {"A\\", "A_"},
                {"A\\x41\\x", "A\\x41\\x"}, /* looks like an escape to udev */
                {"A\x7f", "A_"},
                {"A,B", ""},
                {",", ""},
                {"A\x80", ""},
                {"\xff", ""},
                {"S\xc3\xb6", ""},
                {"A\x1fZ", ""},
                {"\tA", ""},
                {"A\nB", ""},
                {"A \r\n", "A"},
                {"\n", ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char serial[64];

                (void) copy_string(serial, sizeof(serial), table[i].reported);
                for (int again = 0; again < 2; again++) {
                        serial_normalize(serial);
                        if (!streq(serial, table[i].used))
                                fail_msg("\"%s\": \"%s\"", table[i].reported, serial);
                }
        }
}

#define MOUNT(at)                                                                                  \
        {                                                                                          \
                .kind = USER_MOUNT, .device = "sda1", .where = (char *) at                         \
        }

/* The use that counts may be any of the list. A mount of another namespace does not count. */
static void test_serves_system(void **state)
{
        static const struct {
                struct user users[2];
                bool root, serves;
        } uses[] = {
                {{MOUNT("/mnt"), MOUNT("/srv/boot")}, false, false},
                {{MOUNT("/mnt"), MOUNT("/")}, true, true},
                {{MOUNT("/usr"), MOUNT("/mnt")}, true, true},
                {{MOUNT("/mnt"), MOUNT("/boot/efi")}, false, true},
                {{MOUNT("/efi"), MOUNT("/mnt")}, false, true},
                {{MOUNT("/bootstrap"), MOUNT("/usr/local")}, false, false},
                {{MOUNT("/mnt"), {.kind = USER_SWAP, .device = "sda2"}}, false, true},
                {{MOUNT("/mnt"),
                  {.kind = USER_MOUNT,
                   .device = "sda1",
                   .where = (char *) "/",
                   .namespace = (char *) "mnt:[7]"}},
                 false,
                 false},
                {{MOUNT("/mnt"),
                  {.kind = USER_MOUNT,
                   .device = "sda1",
                   .where = (char *) "/boot",
                   .namespace = (char *) "mnt:[7]"}},
                 false,
                 false},
                {{MOUNT("/mnt"), {.kind = USER_MOUNT, .device = "sda1"}}, false, false},
                {{MOUNT("/mnt"), {.kind = USER_OPEN, .device = "sda1", .where = (char *) "/"}},
                 false,
                 false},
        };

        for (size_t i = 0; i < ELEMENTSOF(uses); i++) {
                struct user users[2] = {uses[i].users[0], uses[i].users[1]};
                struct disk d = {.users = users, .n_users = 2};

                assert_row(i, disk_has_root(&d) == uses[i].root);
                assert_row(i, disk_serves_system(&d) == uses[i].serves);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_serves_system),  cmocka_unit_test(test_luns_have),
                cmocka_unit_test(test_luns_same),      cmocka_unit_test(test_done),
                cmocka_unit_test(test_history),        cmocka_unit_test(test_reason),
                cmocka_unit_test(test_many_users),     cmocka_unit_test(test_cut),
                cmocka_unit_test(test_cut_command),    cmocka_unit_test(test_claimed),
                cmocka_unit_test(test_opened),         cmocka_unit_test(test_user_is_udev),
                cmocka_unit_test(test_users_without),  cmocka_unit_test(test_awaited),
                cmocka_unit_test(test_names),          cmocka_unit_test(test_interface_names),
                cmocka_unit_test(test_copy_strings),   cmocka_unit_test(test_serial),
                cmocka_unit_test(test_room_for_users), cmocka_unit_test(test_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

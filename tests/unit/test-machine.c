/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/learn.h"
#include "core/machine.h"

#include "common/exit-codes.h"
#include "unit.h"

/*
 * The specification of a disk's life: time (msec), event, expected actions, expected state. A step
 * may also have the result of a scan, which the test puts into the life before the event, as the
 * daemon does. Every disk here can do both and wants uas; the quiet time is 2 s. The times in the
 * actions are msec, too.
 */
enum found {
        SAME,
        ON_UAS,
        ON_BOT,
        NO_DRIVER, /* and therefore no disks */
        JUST_UNBOUND,
        KEPT_AWAY, /* no driver, because uas may not be loaded */
        DISKS,
        NO_DISKS,
        PROBED,      /* a SCSI device is there, and no block device yet: a disk spins up */
        ANOTHER_LUN, /* a LUN without a disk precedes the one with a disk */
        TRIED,       /* the mark in /run: one automatic try was made */
        TRIED_UAS,   /* the same, of a uasd-switch that also wrote its target */
        CANCELLED,   /* the mark in /run: a user cancelled */
        POLICY_BOT,
        UNFORCED_UAS, /* a policy for uas */
        FORCED_BOT,
        FORCED_UAS, /* a policy that was set with --force, against the kernel's table */
        IGNORE_IT,
        TRUSTED_NO_MORE, /* the history: it failed on uas */
        ON_TRIAL,        /* on uas, and the history: a trial is under way */
        PASSED,          /* the history: the trial was passed */
        UAS_OBJECTED,    /* the quirks parameter has u */
        IN_TABLE,        /* the kernel's own table has u */
};

struct step {
        unsigned at;
        struct event event;
        const char *actions;
        enum state state;
        enum found found;
        unsigned asleep; /* msec that the machine has slept up to now; 0: as before */
};

struct scenario {
        const char *what;
        enum { BOOTED, BOOTING, STOPPING, SLEEPING } machine;
        struct step steps[26];
};

/* clang-format off */
#define SCANNED {.type = EVENT_SCANNED}
#define FREE {.type = EVENT_USERS}
#define IN_USE {.type = EVENT_USERS, .in_use = true, .told = true}
#define NOBODY_BY_NAME {.type = EVENT_USERS, .by_name = true}
#define NAMED {.type = EVENT_USERS, .in_use = true, .by_name = true, .told = true}
/* In use, and the kernel will not announce the end of this use */
#define UNTOLD {.type = EVENT_USERS, .in_use = true, .by_name = true}
#define UNTOLD_AT_A_GLANCE {.type = EVENT_USERS, .in_use = true}
#define HOLD(until) {.type = EVENT_HOLD, .deadline = (until) *1000ULL}
#define RELEASED {.type = EVENT_RELEASED}
#define REQUEST(driver) {.type = EVENT_REQUEST, .target = driver}
#define FORCE(driver) {.type = EVENT_REQUEST, .target = driver, .force = true}
#define CANCEL {.type = EVENT_CANCEL}
#define CANCEL_TO(driver) {.type = EVENT_CANCEL, .target = driver}
#define TIMER {.type = EVENT_TIMER}
#define TROUBLE {.type = EVENT_TROUBLE}
/* A rescan finds a foreign uasd-switch; only in this test .on says so. */
#define STARTED {.type = EVENT_SCANNED, .on = true}
#define INHIBITED {.type = EVENT_INHIBITED, .on = true}
#define NOT_INHIBITED {.type = EVENT_INHIBITED}
#define LEASED {.type = EVENT_LEASED}
#define LEASE_TO(driver) {.type = EVENT_LEASE_SWITCH, .target = driver}
#define LEASE_OVER(driver) {.type = EVENT_LEASE_ENDED, .target = driver}
#define DONE(c) {.type = EVENT_DONE, .outcome.code = UASD_EXIT_##c}
#define FOREIGN_DONE {.type = EVENT_DONE, .foreign = true, .outcome.code = UASD_EXIT_ROLLED_BACK} /* of another switch */
/* Events of the whole machine; .deadline says which */
#define BOOT_OVER {.type = EVENT_ENVIRONMENT, .deadline = BOOTED}
#define GOING_DOWN {.type = EVENT_ENVIRONMENT, .deadline = STOPPING}
#define FALLS_ASLEEP {.type = EVENT_ENVIRONMENT, .deadline = SLEEPING}
#define AWAKE {.type = EVENT_ENVIRONMENT, .deadline = BOOTED}
/* clang-format on */

static const struct scenario table[] = {
        /* clang-format off */
        {"held at boot: switched, then released by its own switch",
         BOOTING,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {1500, SCANNED, "", STATE_SWITCHING, TRIED},
                 {3000, RELEASED, "", STATE_SWITCHING, ON_UAS},
                 {3000, DONE(OK), "report", STATE_SETTLED},
                 {9000, BOOT_OVER, "", STATE_SETTLED},
         }},
        {"held at boot, and its switch ends without the release",
         BOOTING,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {3000, DONE(OK), "release report", STATE_SETTLED, ON_UAS},
         }},
        {"plugged in, and its driver has found nothing yet: moved at once, also while the machine boots",
         BOOTING,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING, NO_DISKS},
         }},
        {"a disk that spins up while the machine boots is left alone, and mounts",
         BOOTING,
         {
                 {1000, SCANNED, "report", STATE_WAITING, PROBED},
                 {9000, SCANNED, "watch", STATE_WAITING, DISKS},
                 {20000, BOOT_OVER, "look", STATE_WAITING},
                 {20000, IN_USE, "", STATE_WAITING},
         }},
        {"an event of the boot has told that it is free: it is not looked for again",
         BOOTING,
         {
                 {1000, SCANNED, "watch report", STATE_WAITING, DISKS},
                 {2000, FREE, "", STATE_WAITING},
                 {9000, BOOT_OVER, "unwatch report switch uas automatic", STATE_SWITCHING},
         }},
        {"a disk that spins up is waited for, and moved when it has come",
         BOOTED,
         {
                 {1000, SCANNED, "timer 2000 report", STATE_WAITING, PROBED},
                 {1500, SCANNED, "", STATE_WAITING},
                 {1900, SCANNED, "watch look", STATE_WAITING, DISKS},
                 {1900, FREE, "timer 3900", STATE_WAITING},
                 {3900, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
         }},
        {"no event reports that it has come: looked at again, later each time",
         BOOTED,
         {
                 {1000, SCANNED, "timer 2000 report", STATE_WAITING, PROBED},
                 {2000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {4000, DONE(DEFERRED), "timer 6000 report", STATE_WAITING},
                 {6000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {8000, DONE(DEFERRED), "timer 12000 report", STATE_WAITING},
                 {12000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {13000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"a trial: under watch for its time, then passed",
         BOOTED,
         {
                 {1000, STARTED, "report", STATE_SWITCHING, DISKS},
                 {2000, DONE(OK), "timer 602000 report", STATE_TRIAL, ON_TRIAL},
                 {3000, SCANNED, "", STATE_TRIAL},
                 {602000, TIMER, "timer 1202000 passed", STATE_TRIAL},
                 {602000, SCANNED, "timer off report", STATE_SETTLED, PASSED},
         }},
        {"a second trial takes its full time",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL},
                 {2000, SCANNED, "timer off report", STATE_SETTLED, PASSED},
                 {700000, SCANNED, "timer 1300000 report", STATE_TRIAL, ON_TRIAL},
                 {1300000, TIMER, "timer 1900000 passed", STATE_TRIAL},
         }},
        {"a trial that is over and cannot be put on record is asked about again",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL},
                 {601000, TIMER, "timer 1201000 passed", STATE_TRIAL},
                 {1201000, TIMER, "timer 1801000 passed", STATE_TRIAL},
         }},
        {"a machine that sleeps for a night watches no disk meanwhile: the rest of the time is still to come",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL, .asleep = 50000},
                 {2000, SCANNED, "", STATE_TRIAL, .asleep = 50001}, /* two clocks */
                 {28800000, TIMER, "timer 29401000", STATE_TRIAL, .asleep = 28850000},
                 {28801000, SCANNED, "", STATE_TRIAL},
                 {29401000, TIMER, "timer 30001000 passed", STATE_TRIAL},
                 {30001000, TIMER, "timer 30301000", STATE_TRIAL, .asleep = 29150000},
                 {30301000, TIMER, "timer 30901000 passed", STATE_TRIAL},
                 {30901000, TIMER, "timer 30902000", STATE_TRIAL, .asleep = 29151000}, /* a second is a sleep */
         }},
        {"it fails on uas while it is mounted: left alone, and away when it is free, although it was tried before",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL},
                 {2000, SCANNED, "watch timer off report look", STATE_WAITING, TRUSTED_NO_MORE},
                 {2000, IN_USE, "", STATE_WAITING},
                 {2000, TROUBLE, "look", STATE_WAITING},
                 {2000, IN_USE, "", STATE_WAITING},
                 {9000, FREE, "timer 11000", STATE_WAITING},
                 {11000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {12000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
         }},
        {"and if usb-storage does not take it, again after a pause that grows, and then that is the end of it",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL},
                 {2000, SCANNED, "watch timer off report look", STATE_WAITING, TRUSTED_NO_MORE},
                 {2000, FREE, "timer 4000", STATE_WAITING},
                 {4000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {5000, DONE(ROLLED_BACK), "watch report look", STATE_WAITING},
                 {5000, FREE, "timer 20000", STATE_WAITING},
                 {20000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {21000, DONE(FAILED), "watch report look", STATE_WAITING},
                 {21000, FREE, "timer 51000", STATE_WAITING},
                 {51000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {52000, DONE(FAILED), "watch report look", STATE_WAITING},
                 {52000, FREE, "timer 112000", STATE_WAITING},
                 {112000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {113000, DONE(FAILED), "watch report look", STATE_WAITING},
                 {113000, FREE, "timer 233000", STATE_WAITING},
                 {233000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {234000, DONE(FAILED), "report", STATE_FAILED},
                 {500000, SCANNED, "", STATE_FAILED},
                 {501000, TROUBLE, "watch report look", STATE_WAITING},
         }},
        {"the search after a failure takes long: the disk is quiet from its answer on",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL},
                 {2000, SCANNED, "watch timer off report look", STATE_WAITING, TRUSTED_NO_MORE},
                 {2000, FREE, "timer 4000", STATE_WAITING},
                 {4000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {5000, DONE(ROLLED_BACK), "watch report look", STATE_WAITING},
                 {19000, FREE, "timer 21000", STATE_WAITING},
         }},
        {"it failed under uas, and could not be rolled back because a program had it: away when it is free",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {3000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {3500, SCANNED, "", STATE_SWITCHING, TRIED},
                 {3600, SCANNED, "", STATE_SWITCHING, ON_UAS},
                 {3900, SCANNED, "", STATE_SWITCHING, TRUSTED_NO_MORE},
                 {4000, DONE(ROLLED_BACK), "watch report look", STATE_WAITING},
                 {4000, IN_USE, "", STATE_WAITING},
                 {25000, FREE, "timer 27000", STATE_WAITING},
                 {27000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {28000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
         }},
        {"what was cancelled or failed before is another matter",
         BOOTED,
         {
                 {1000, SCANNED, "timer 601000 report", STATE_TRIAL, ON_TRIAL},
                 {2000, SCANNED, "watch timer off report look", STATE_WAITING, TRUSTED_NO_MORE},
                 {2500, CANCEL, "unwatch report", STATE_SETTLED},
                 {3000, SCANNED, "", STATE_SETTLED},
                 {4000, TROUBLE, "watch report look", STATE_WAITING},
         }},
        {"rolled back, and distrusted for it: failed, not settled",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {3000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {4000, DONE(ROLLED_BACK), "report", STATE_FAILED, TRUSTED_NO_MORE},
                 {5000, SCANNED, "", STATE_FAILED, TRIED},
         }},
        {"held, rolled back: released, failed, not held or tried again",
         BOOTING,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {5000, DONE(ROLLED_BACK), "release report", STATE_FAILED, TRIED},
                 {6000, HOLD(21000), "release", STATE_FAILED},
                 {9000, BOOT_OVER, "", STATE_FAILED},
         }},
        {"held, and another program was faster: tried again, for the hold has time",
         BOOTING,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {2000, DONE(DEFERRED), "timer 3000 report", STATE_HELD},
                 {3000, TIMER, "timer off report switch uas automatic plugged until 21000", STATE_SWITCHING},
                 {3900, RELEASED, "", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"held, and another program was faster until too little was left: released, looked at again after a pause and the boot",
         BOOTING,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {15500, DONE(DEFERRED), "release watch report", STATE_WAITING},
                 {18000, BOOT_OVER, "timer 25500", STATE_WAITING},
                 {25500, TIMER, "timer off look", STATE_WAITING},
                 {25500, FREE, "timer 27500", STATE_WAITING},
                 {27500, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {28500, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"held with too little time left: released",
         BOOTING,
         {
                 {14000, HOLD(18999), "release watch report", STATE_WAITING, DISKS},
                 {30000, BOOT_OVER, "look", STATE_WAITING},
                 {30000, IN_USE, "", STATE_WAITING},
         }},
        {"held with just enough",
         BOOTING,
         {{16000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS}}},
        {"held, though nothing is to be switched: released at once",
         BOOTING,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1000, HOLD(21000), "release", STATE_SETTLED},
                 {1000, RELEASED, "", STATE_SETTLED},
         }},
        {"held, and the dead man's timer releases it while the daemon sleeps",
         BOOTED,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {21000, RELEASED, "", STATE_SWITCHING},
                 {30000, DONE(DEFERRED), "watch timer 31000 report look-by-name", STATE_WAITING},
         }},
        {"released by a user before it was tried: that is his word until he asks",
         BOOTED,
         {
                 {1000, HOLD(3000), "release watch timer 11000 report", STATE_WAITING, DISKS},
                 {2000, RELEASED, "timer 12000", STATE_WAITING},
                 {2000, CANCEL, "unwatch timer off report", STATE_SETTLED},
                 {3000, HOLD(30000), "release", STATE_SETTLED},
         }},
        {"free before a hold that is too short: the quiet time begins when it is seen free after it",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1500, FREE, "timer 3500", STATE_WAITING},
                 {2000, HOLD(3000), "release timer 12000", STATE_WAITING},
                 {12000, TIMER, "timer off look", STATE_WAITING},
                 {12100, FREE, "timer 14100", STATE_WAITING},
         }},
        {"a request met a user: the next try waits until the disk has been quiet",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1100, FREE, "timer 3100", STATE_WAITING},
                 {1200, REQUEST(DRIVER_UAS), "timer off report look", STATE_WAITING},
                 {1300, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {2000, DONE(DEFERRED), "watch timer 3000 report look-by-name", STATE_WAITING},
                 {2100, NOBODY_BY_NAME, "", STATE_WAITING},
                 {3000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {3100, NOBODY_BY_NAME, "timer 5100", STATE_WAITING},
         }},
        {"the end of a lease that uasd does not know changes nothing",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING, NO_DISKS},
                 {3000, DONE(FAILED), "report", STATE_FAILED},
                 {4000, LEASE_OVER(DRIVER_USB_STORAGE), "", STATE_FAILED},
         }},
        {"its switch is killed: done if the disk is on its target",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING, NO_DISKS},
                 {3000, {.type = EVENT_DONE, .killed = true, .outcome.code = UASD_EXIT_FAILED}, "report", STATE_SETTLED, ON_UAS},
         }},
        {"asked again: the next tries come as soon as the first ones",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, UNTOLD, "timer 2000 look-by-name", STATE_WAITING},
                 {1000, UNTOLD, "", STATE_WAITING},
                 {2000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {2000, UNTOLD, "timer 4000", STATE_WAITING},
                 {4000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {4000, UNTOLD, "timer 8000", STATE_WAITING},
                 {5000, REQUEST(DRIVER_UAS), "timer off report look", STATE_WAITING},
                 {5000, UNTOLD, "timer 6000 look-by-name", STATE_WAITING},
         }},
        {"no hold is used on the way down",
         STOPPING,
         {{1000, HOLD(21000), "release watch report", STATE_WAITING, DISKS}}},

        {"plugged in, inside delay_use: no disk, so no user to wait for",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1200, SCANNED, "", STATE_SWITCHING, ON_UAS},
                 {1300, DONE(OK), "report", STATE_SETTLED, DISKS},
         }},
        {"the same while booting: nothing is claimed",
         BOOTING,
         {{1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING}}},
        {"inside delay_use, another process switches it: no hurry to try again",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1100, DONE(DEFERRED), "timer 2100 report", STATE_WAITING},
                 {1500, SCANNED, "", STATE_WAITING},
                 {2100, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {2200, DONE(DEFERRED), "timer 4200 report", STATE_WAITING},
                 {3000, SCANNED, "watch look", STATE_WAITING, DISKS},
                 {3000, FREE, "timer 5000", STATE_WAITING},
         }},
        {"plugged in, seen when its disks are there",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, ANOTHER_LUN},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {3000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"not tried twice on one attachment, also by another daemon",
         BOOTED,
         {{1000, SCANNED, "report", STATE_FAILED, TRIED}, {2000, SCANNED, "", STATE_FAILED, DISKS}}},
        {"not tried twice for the same driver, but for the other one if the settings have changed",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_FAILED, TRIED_UAS},
                 {1500, SCANNED, "", STATE_FAILED, DISKS},
                 {2000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {3000, SCANNED, "watch report look", STATE_WAITING, POLICY_BOT},
                 {3000, FREE, "timer 5000", STATE_WAITING},
                 {5000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
                 {6000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
         }},

        {"mounted: waits, without a timer, for umount and the quiet time",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, IN_USE, "", STATE_WAITING},
                 {5000, SCANNED, "", STATE_WAITING},
                 {60000, IN_USE, "", STATE_WAITING},
                 {90000, FREE, "timer 92000", STATE_WAITING},
                 {91000, FREE, "", STATE_WAITING},
                 {91500, TIMER, "", STATE_WAITING},
                 {92000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {93000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"umount and mount within the quiet time: goes on waiting",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, IN_USE, "", STATE_WAITING},
                 {5000, FREE, "timer 7000", STATE_WAITING},
                 {6000, IN_USE, "timer off", STATE_WAITING},
                 {7000, TIMER, "", STATE_WAITING},
                 {8000, FREE, "timer 10000", STATE_WAITING},
                 {10000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
         }},
        {"nothing begins on a look that has not told yet",
         BOOTED,
         {
                 {50000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {50000, SCANNED, "", STATE_WAITING},
                 {50000, FREE, "timer 52000", STATE_WAITING},
         }},
        {"it is away before its time comes: nothing left to wait for",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, SCANNED, "unwatch timer off report", STATE_SETTLED, ON_UAS},
                 {3000, TIMER, "", STATE_SETTLED},
         }},
        {"claimed by a user that no look sees: slower and slower, half a minute at most",
         BOOTED,
         {
                 {500, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {500, IN_USE, "", STATE_WAITING},
                 {1000, STARTED, "unwatch report", STATE_SWITCHING},
                 {2000, DONE(DEFERRED), "watch timer 3000 report look-by-name", STATE_WAITING},
                 {2100, NOBODY_BY_NAME, "", STATE_WAITING},
                 {3000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {3000, NOBODY_BY_NAME, "timer 5000", STATE_WAITING},
                 {5000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {6000, DONE(DEFERRED), "watch timer 8000 report look-by-name", STATE_WAITING},
                 {7000, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {8000, DONE(DEFERRED), "watch timer 12000 report look-by-name", STATE_WAITING},
                 {9000, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {10000, DONE(DEFERRED), "watch timer 18000 report look-by-name", STATE_WAITING},
                 {11000, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {12000, DONE(DEFERRED), "watch timer 28000 report look-by-name", STATE_WAITING},
                 {13000, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {14000, DONE(DEFERRED), "watch timer 44000 report look-by-name", STATE_WAITING},
                 {15000, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {16000, DONE(DEFERRED), "watch timer 46000 report look-by-name", STATE_WAITING},
                 {17000, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {18000, DONE(DEFERRED), "watch timer 48000 report look-by-name", STATE_WAITING},
                 {48000, TIMER, "timer off look-by-name", STATE_WAITING},
                 /* a user that the look by name found is watched: no more timer */
                 {48000, IN_USE, "", STATE_WAITING},
                 {90000, FREE, "timer 92000", STATE_WAITING},
         }},
        {"a user that a look by name finds, and whose end will be reported, is waited for without a timer",
         BOOTED,
         {
                 {500, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {500, FREE, "timer 2500", STATE_WAITING},
                 {2500, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {3000, DONE(DEFERRED), "watch timer 4000 report look-by-name", STATE_WAITING},
                 {3100, NAMED, "timer off", STATE_WAITING},
                 {90000, NAMED, "", STATE_WAITING},
                 {91000, NOBODY_BY_NAME, "timer 93000", STATE_WAITING},
                 {92000, IN_USE, "timer off", STATE_WAITING},
                 {95000, FREE, "timer 97000", STATE_WAITING},
                 {97000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {98000, DONE(DEFERRED), "watch timer 99000 report look-by-name", STATE_WAITING},
         }},
        {"a user that it finds, and whose end will not be reported, is looked for again, without a claim",
         BOOTED,
         {
                 {500, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {500, FREE, "timer 2500", STATE_WAITING},
                 {2500, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {3000, DONE(DEFERRED), "watch timer 4000 report look-by-name", STATE_WAITING},
                 {3100, UNTOLD, "", STATE_WAITING},
                 {4000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {4100, UNTOLD, "timer 6100", STATE_WAITING},
                 {6100, TIMER, "timer off look-by-name", STATE_WAITING},
                 {6200, UNTOLD, "timer 10200", STATE_WAITING},
                 /* the end was announced after all */
                 {7000, NOBODY_BY_NAME, "timer 9000", STATE_WAITING},
                 {9000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
         }},
        {"seen at a glance, but its end will not be reported: perhaps a look by name can arrange that",
         BOOTED,
         {
                 {500, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {500, UNTOLD_AT_A_GLANCE, "timer 1500 look-by-name", STATE_WAITING},
                 {600, NAMED, "timer off", STATE_WAITING},
                 {9000, NOBODY_BY_NAME, "timer 11000", STATE_WAITING},
         }},
        {"a success ends the slowness",
         BOOTED,
         {
                 {500, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {500, IN_USE, "", STATE_WAITING},
                 {1000, STARTED, "unwatch report", STATE_SWITCHING},
                 {2000, DONE(DEFERRED), "watch timer 3000 report look-by-name", STATE_WAITING},
                 {2500, STARTED, "unwatch timer off report", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
                 {5000, STARTED, "report", STATE_SWITCHING, ON_BOT},
                 {6000, DONE(DEFERRED), "watch timer 7000 report look-by-name", STATE_WAITING},
         }},

        {"the switch of another process has ended: its driver shows the outcome",
         BOOTED,
         {
                 {1000, STARTED, "report", STATE_SWITCHING, DISKS},
                 {2000, FOREIGN_DONE, "report", STATE_SETTLED, ON_UAS},
                 {3000, STARTED, "report", STATE_SWITCHING, ON_BOT},
                 {4000, FOREIGN_DONE, "report", STATE_FAILED},
         }},
        {"but it was for the disk that was there before, or was faster than the own one: another try",
         BOOTED,
         {
                 {1000, STARTED, "report", STATE_SWITCHING, DISKS},
                 {2000, {.type = EVENT_DONE, .foreign = true, .replugged = true}, "watch timer 3000 report look-by-name", STATE_WAITING},
                 {2000, NOBODY_BY_NAME, "", STATE_WAITING},
                 {3000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {3000, NOBODY_BY_NAME, "timer 5000", STATE_WAITING},
                 {5000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {6000, FOREIGN_DONE, "watch timer 8000 report look-by-name", STATE_WAITING},
         }},
        {"rolled back: failed, and not tried again until a user asks",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {3000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {9000, DONE(ROLLED_BACK), "report", STATE_FAILED},
                 {9500, FREE, "", STATE_FAILED},
                 {9900, SCANNED, "", STATE_FAILED, TRIED},
                 {20000, REQUEST(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {20000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {25000, DONE(ROLLED_BACK), "report", STATE_FAILED},
                 {30000, REQUEST(DRIVER_NONE), "watch report look", STATE_WAITING},
         }},
        {"asked for and free: at once, without the quiet time",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, SCANNED, "", STATE_SETTLED, DISKS},
                 {5000, REQUEST(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {5000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {7000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {9000, REQUEST(DRIVER_NONE), "watch report look", STATE_WAITING},
                 {9000, FREE, "unwatch report switch uas", STATE_SWITCHING},
         }},
        {"asked for and in use: waits, then the quiet time counts; being turned away changes nothing",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_FAILED, TRIED},
                 {2000, SCANNED, "", STATE_FAILED, DISKS},
                 {5000, REQUEST(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {5000, IN_USE, "", STATE_WAITING},
                 {8000, FREE, "timer 10000", STATE_WAITING},
                 {10000, TIMER, "unwatch timer off report switch uas", STATE_SWITCHING},
                 {11000, DONE(DEFERRED), "watch timer 12000 report look-by-name", STATE_WAITING},
                 {12000, TIMER, "timer off look-by-name", STATE_WAITING},
                 {12000, NOBODY_BY_NAME, "timer 14000", STATE_WAITING},
                 {14000, TIMER, "unwatch timer off report switch uas", STATE_SWITCHING},
                 {15000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"asked again while it is quiet: nothing begins until the new search has answered",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, REQUEST(DRIVER_UAS), "timer off report look", STATE_WAITING},
                 {2100, SCANNED, "", STATE_WAITING},
                 {2200, FREE, "unwatch report switch uas", STATE_SWITCHING},
         }},
        {"asked for while it spins up: waited for as in the beginning",
         BOOTED,
         {
                 {1000, SCANNED, "timer 2000 report", STATE_WAITING, PROBED},
                 {1500, REQUEST(DRIVER_UAS), "timer 2500 report", STATE_WAITING},
                 {2500, TIMER, "timer off report switch uas plugged", STATE_SWITCHING},
         }},
        {"asked for against the kernel's table: with force, and only with it",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, IN_TABLE},
                 {1100, SCANNED, "", STATE_SETTLED, DISKS},
                 {2000, FORCE(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {2000, IN_USE, "", STATE_WAITING},
                 {3000, REQUEST(DRIVER_UAS), "unwatch report", STATE_SETTLED},
         }},
        {"asked for with force and cancelled: the override that is in force again has none",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, IN_TABLE},
                 {1100, SCANNED, "", STATE_SETTLED, DISKS},
                 {2000, FORCE(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {3000, CANCEL_TO(DRIVER_UAS), "unwatch report", STATE_SETTLED},
                 {4000, TROUBLE, "", STATE_SETTLED}, /* makes it forget that a user has cancelled */
         }},
        {"cancelled while the quiet time runs: the next quiet time takes its full length",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, CANCEL, "unwatch timer off report", STATE_SETTLED},
                 {2900, TROUBLE, "watch report look", STATE_WAITING},
                 {2900, FREE, "timer 4900", STATE_WAITING},
         }},
        {"asked for what it has",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {2000, REQUEST(DRIVER_UAS), "report", STATE_SETTLED},
         }},
        {"asked for something else while it is switched: that is done next, however the first one ends",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1500, REQUEST(DRIVER_USB_STORAGE), "", STATE_SWITCHING},
                 {1800, SCANNED, "", STATE_SWITCHING, TRIED},
                 {1900, SCANNED, "", STATE_SWITCHING, DISKS},
                 {2000, DONE(OK), "watch report look", STATE_WAITING, ON_UAS},
                 {2000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {2500, REQUEST(DRIVER_UAS), "", STATE_SWITCHING},
                 {3000, DONE(ROLLED_BACK), "report", STATE_SETTLED},
                 {4000, REQUEST(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {4000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {5000, DONE(ROLLED_BACK), "report", STATE_FAILED},
         }},
        {"asked again for what is being done: one answer for both",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1500, REQUEST(DRIVER_UAS), "", STATE_SWITCHING},
                 {2000, DONE(ROLLED_BACK), "report", STATE_FAILED, TRIED},
         }},
        {"asked again for what is being done, while it has no driver: one answer for both",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1400, SCANNED, "", STATE_SWITCHING, JUST_UNBOUND},
                 {1500, REQUEST(DRIVER_UAS), "", STATE_SWITCHING},
                 {1900, SCANNED, "", STATE_SWITCHING, ON_BOT},
                 {2000, DONE(ROLLED_BACK), "report", STATE_FAILED, TRIED},
         }},
        {"asked for something else while it has no driver: that is done next",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1400, SCANNED, "", STATE_SWITCHING, JUST_UNBOUND},
                 {1500, REQUEST(DRIVER_USB_STORAGE), "", STATE_SWITCHING},
                 {1900, SCANNED, "", STATE_SWITCHING, DISKS},
                 {2000, DONE(OK), "watch report look", STATE_WAITING, ON_UAS},
         }},
        {"asked again for what is being done, and distrusted for its failure: failed, not settled",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1500, {.type = EVENT_AGAIN}, "", STATE_SWITCHING},
                 {1900, SCANNED, "", STATE_SWITCHING, TRUSTED_NO_MORE},
                 {2000, DONE(ROLLED_BACK), "report", STATE_FAILED, TRIED},
         }},
        {"cancelled while it is switched: too late, also for what was asked for meanwhile",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {1400, CANCEL, "", STATE_SWITCHING},
                 {1500, REQUEST(DRIVER_USB_STORAGE), "", STATE_SWITCHING},
                 {1600, CANCEL, "", STATE_SWITCHING},
                 {1900, SCANNED, "", STATE_SWITCHING, DISKS},
                 {2000, DONE(OK), "watch report look", STATE_WAITING, ON_UAS},
                 {2000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
         }},
        {"cancelled where nothing waits: what was done is not undone, what failed has failed, and nothing is said of what comes",
         BOOTED,
         {
                 {1000, REQUEST(DRIVER_USB_STORAGE), "report switch usb-storage plugged", STATE_SWITCHING, ON_UAS},
                 {1100, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {2000, CANCEL_TO(DRIVER_USB_STORAGE), "", STATE_SETTLED, DISKS},
                 {2100, SCANNED, "", STATE_SETTLED},
                 {3000, REQUEST(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {3000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {4000, DONE(FAILED), "report", STATE_FAILED},
                 {5000, CANCEL_TO(DRIVER_UAS), "", STATE_FAILED},
                 {6000, SCANNED, "", STATE_FAILED},
         }},
        {"a request cancelled: what was asked for before it is in force again, and nothing is left to say no to",
         BOOTED,
         {
                 {1000, REQUEST(DRIVER_USB_STORAGE), "report", STATE_SETTLED},
                 {2000, REQUEST(DRIVER_UAS), "watch report look", STATE_WAITING, DISKS},
                 {2000, IN_USE, "", STATE_WAITING},
                 {3000, CANCEL_TO(DRIVER_USB_STORAGE), "unwatch report", STATE_SETTLED},
                 /* if it is to leave its driver again, it is looked at again */
                 {4000, SCANNED, "watch report look", STATE_WAITING, ON_UAS},
         }},
        {"cancelled under an earlier uasd, as the mark says",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, CANCELLED},
                 {2000, SCANNED, "", STATE_SETTLED, DISKS},
                 {3000, REQUEST(DRIVER_NONE), "watch report look", STATE_WAITING},
         }},
        {"cancelled: stays where it is until a user asks",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, IN_USE, "", STATE_WAITING},
                 {2000, CANCEL, "unwatch report", STATE_SETTLED},
                 {3000, FREE, "", STATE_SETTLED},
                 {4000, HOLD(30000), "release", STATE_SETTLED},
                 {9000, REQUEST(DRIVER_NONE), "watch report look", STATE_WAITING},
         }},
        {"a request cancelled takes its override along",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, SCANNED, "", STATE_SETTLED, DISKS},
                 {5000, REQUEST(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {5000, IN_USE, "", STATE_WAITING},
                 {6000, CANCEL, "unwatch report", STATE_SETTLED},
         }},
        {"a request cancelled: no user has asked for what the policy wants later",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, REQUEST(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING, DISKS},
                 {1200, CANCEL, "unwatch report", STATE_SETTLED},
                 {7000, SCANNED, "watch report look", STATE_WAITING, POLICY_BOT},
                 {7000, FREE, "timer 9000", STATE_WAITING},
                 {9000, TIMER, "unwatch timer off report switch usb-storage automatic", STATE_SWITCHING},
         }},

        {"while the machine boots, no disk is claimed that may be about to be mounted",
         BOOTING,
         {
                 {1000, SCANNED, "watch report", STATE_WAITING, DISKS},
                 {2000, REQUEST(DRIVER_UAS), "report", STATE_WAITING},
                 {9000, BOOT_OVER, "look", STATE_WAITING},
                 {9000, FREE, "unwatch report switch uas", STATE_SWITCHING},
         }},
        {"once the machine goes down, nothing begins; what runs is finished",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, GOING_DOWN, "timer off", STATE_WAITING},
                 {3000, TIMER, "", STATE_WAITING},
                 {4000, REQUEST(DRIVER_UAS), "report", STATE_WAITING},
                 {5000, STARTED, "unwatch report", STATE_SWITCHING},
                 {6000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"plugged in while the machine falls asleep: switched when it is awake",
         SLEEPING,
         {
                 {1000, SCANNED, "report", STATE_WAITING},
                 {2000, AWAKE, "report switch uas automatic plugged", STATE_SWITCHING},
         }},
        {"it comes free while the machine falls asleep: switched when it is awake",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, IN_USE, "", STATE_WAITING},
                 {2000, FALLS_ASLEEP, "", STATE_WAITING},
                 {2500, FREE, "", STATE_WAITING},
                 {3000, REQUEST(DRIVER_UAS), "report", STATE_WAITING},
                 {9000, AWAKE, "look", STATE_WAITING},
                 {9000, FREE, "unwatch report switch uas", STATE_SWITCHING},
         }},
        {"no hold is used while the machine falls asleep, and a switch under way goes on",
         SLEEPING,
         {
                 {1000, STARTED, "report", STATE_SWITCHING, DISKS},
                 {2000, DONE(DEFERRED), "watch report", STATE_WAITING},
                 {3000, HOLD(21000), "release", STATE_WAITING},
         }},

        {"another policy settles it",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, IN_USE, "", STATE_WAITING},
                 {2000, SCANNED, "unwatch report", STATE_SETTLED, POLICY_BOT},
                 {3000, SCANNED, "report", STATE_IGNORED, IGNORE_IT},
                 {4000, HOLD(30000), "release", STATE_IGNORED},
         }},
        {"another policy settles one that failed, and the same state for another reason is news",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {2000, DONE(FAILED), "report", STATE_FAILED},
                 {3000, SCANNED, "report", STATE_SETTLED, POLICY_BOT},
                 {4000, REQUEST(DRIVER_USB_STORAGE), "report", STATE_SETTLED},
         }},
        {"against a quirk of the user's, a request is the nearer word",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, UAS_OBJECTED},
                 {1100, SCANNED, "", STATE_SETTLED, DISKS},
                 {2000, FORCE(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {2000, FREE, "unwatch report switch uas", STATE_SWITCHING},
         }},

        {"inhibited: nothing begins, and it goes on by itself",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, INHIBITED, "unwatch timer off report", STATE_WAITING},
                 {3000, TIMER, "", STATE_WAITING},
                 {4000, SCANNED, "", STATE_WAITING},
                 {9000, NOT_INHIBITED, "watch report look", STATE_WAITING},
                 {9000, FREE, "timer 11000", STATE_WAITING},
                 {11000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {12000, INHIBITED, "", STATE_SWITCHING},
                 {13000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"no longer inhibited where nothing was: the quiet time goes on",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {1500, NOT_INHIBITED, "", STATE_WAITING},
                 {3000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
         }},
        {"inhibited: a user's request waits as well, and need not be quiet first",
         BOOTED,
         {
                 {1000, INHIBITED, "report", STATE_SETTLED, ON_UAS},
                 {2000, REQUEST(DRIVER_USB_STORAGE), "report", STATE_WAITING, DISKS},
                 {3000, INHIBITED, "", STATE_WAITING},
                 {9000, NOT_INHIBITED, "watch report look", STATE_WAITING},
                 {9000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
         }},
        {"inhibited, and in use when that is over",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, INHIBITED, "unwatch timer off report", STATE_WAITING},
                 {9000, NOT_INHIBITED, "watch report look", STATE_WAITING},
                 {9000, IN_USE, "", STATE_WAITING},
                 {10000, FREE, "timer 12000", STATE_WAITING},
                 {12000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
         }},
        {"inhibited inside delay_use: not even then",
         BOOTED,
         {
                 {1000, INHIBITED, "report", STATE_WAITING},
                 {2000, SCANNED, "", STATE_WAITING},
                 {3000, NOT_INHIBITED, "report switch uas automatic plugged", STATE_SWITCHING},
         }},
        {"inhibited, a held disk is released at once; later it waits like any other",
         BOOTING,
         {
                 {1000, INHIBITED, "report", STATE_WAITING},
                 {1000, HOLD(21000), "release", STATE_WAITING, DISKS},
                 {9000, BOOT_OVER, "", STATE_WAITING},
                 {12000, NOT_INHIBITED, "watch report look", STATE_WAITING},
         }},
        {"inhibited while a hold waits for another try",
         BOOTING,
         {
                 {1000, HOLD(21000), "report switch uas automatic plugged until 21000", STATE_SWITCHING, DISKS},
                 {2000, DONE(DEFERRED), "timer 3000 report", STATE_HELD},
                 {2500, INHIBITED, "release timer off report", STATE_WAITING},
         }},

        {"leased: nothing begins but what its holder asks for; after it, back",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {2000, LEASED, "unwatch timer off report", STATE_SETTLED},
                 {2000, LEASED, "", STATE_SETTLED},
                 {3000, TIMER, "", STATE_SETTLED},
                 {4000, LEASE_TO(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {4000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {5000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
                 {6000, LEASE_OVER(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {6000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 /* And then as usual. */
                 {7000, DONE(OK), "watch report look", STATE_WAITING, ON_BOT},
                 {7000, FREE, "timer 9000", STATE_WAITING},
                 {9000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
         }},
        {"leased, and over without a switch: nothing is to be brought back",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {2000, LEASED, "", STATE_SETTLED, DISKS},
                 {3000, LEASE_OVER(DRIVER_UAS), "", STATE_SETTLED},
                 {4000, REQUEST(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
         }},
        {"leased, and over while a switch of it runs; what reads it is still dying",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {2000, LEASED, "", STATE_SETTLED, DISKS},
                 {3000, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {3000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {4000, LEASE_OVER(DRIVER_UAS), "", STATE_SWITCHING},
                 {5000, DONE(OK), "watch report look", STATE_WAITING, ON_BOT},
                 {5000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {6000, DONE(DEFERRED), "watch timer 7000 report look-by-name", STATE_WAITING},
                 {6000, NAMED, "timer off", STATE_WAITING},
                 {6500, NOBODY_BY_NAME, "timer 8500", STATE_WAITING},
                 {8500, TIMER, "unwatch timer off report switch uas", STATE_SWITCHING},
                 {9000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
         }},
        {"leased: a switch under it that is rolled back is reported; after it what failed before has still failed",
         BOOTED,
         {
                 {1000, SCANNED, "report switch uas automatic plugged", STATE_SWITCHING},
                 {2000, DONE(FAILED), "report", STATE_FAILED, DISKS},
                 {3000, LEASED, "report", STATE_SETTLED},
                 {4000, LEASE_TO(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {4000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {5000, DONE(ROLLED_BACK), "report", STATE_FAILED},
                 {6000, LEASE_TO(DRIVER_USB_STORAGE), "report", STATE_SETTLED},
                 {7000, LEASE_OVER(DRIVER_USB_STORAGE), "report", STATE_FAILED},
         }},
        {"leased: what cannot be brought back stays, and is no longer leased",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, LEASED, "", STATE_SETTLED, DISKS},
                 {1200, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {1200, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {2000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {3000, LEASE_OVER(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {3000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {4000, DONE(ROLLED_BACK), "report", STATE_FAILED},
                 {5000, REQUEST(DRIVER_UAS), "watch report look", STATE_WAITING},
         }},
        {"leased again before it is back: it stays until the new holder moves it",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, LEASED, "", STATE_SETTLED, DISKS},
                 {1200, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {1200, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {2000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {3000, LEASE_OVER(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {4000, LEASED, "unwatch report", STATE_SETTLED},
                 {5000, LEASE_TO(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {5000, FREE, "unwatch report switch uas", STATE_SWITCHING},
         }},
        {"leased: it fails on uas, and only its holder moves it off; it is not brought back there",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, LEASED, "", STATE_SETTLED, DISKS},
                 {2000, TROUBLE, "report", STATE_SETTLED, TRUSTED_NO_MORE},
                 {3000, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {3000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {5000, LEASE_OVER(DRIVER_UAS), "report", STATE_SETTLED},
         }},
        {"leased: it fails on uas, and is moved off it after the lease",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, LEASED, "", STATE_SETTLED, DISKS},
                 {2000, TROUBLE, "report", STATE_SETTLED, TRUSTED_NO_MORE},
                 {3000, LEASE_OVER(DRIVER_UAS), "watch report look", STATE_WAITING},
         }},
        {"leased: its own switch cancelled is no word on what will be after it; a cancelled way back is",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, LEASED, "", STATE_SETTLED, DISKS},
                 {2000, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {2000, IN_USE, "", STATE_WAITING},
                 {3000, CANCEL, "unwatch report", STATE_SETTLED},
                 {4000, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {4000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {5000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {6000, LEASE_OVER(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {6000, IN_USE, "", STATE_WAITING},
                 {7000, CANCEL, "unwatch report", STATE_SETTLED},
                 {8000, LEASE_OVER(DRIVER_UAS), "", STATE_SETTLED},
         }},
        {"on its way back from a lease, a user's request is the newer word",
         BOOTED,
         {
                 {1000, LEASED, "report", STATE_SETTLED, ON_UAS},
                 {2000, SCANNED, "", STATE_SETTLED, ON_BOT},
                 {3000, LEASE_OVER(DRIVER_UAS), "watch report look", STATE_WAITING, DISKS},
                 {3000, IN_USE, "", STATE_WAITING},
                 {4000, REQUEST(DRIVER_USB_STORAGE), "unwatch report", STATE_SETTLED},
         }},
        {"leased: against the kernel's table takes force, but for what it had before",
         BOOTED,
         {
                 {1000, LEASED, "report", STATE_SETTLED, IN_TABLE},
                 {2000, LEASE_TO(DRIVER_UAS), "report", STATE_SETTLED, DISKS},
                 {3000, {.type = EVENT_LEASE_SWITCH, .target = DRIVER_UAS, .force = true}, "watch report look", STATE_WAITING},
                 {3000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_SETTLED, ON_UAS},
                 {5000, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {5000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {6000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {7000, LEASE_OVER(DRIVER_UAS), "watch report look", STATE_WAITING},
         }},
        {"leased: a policy that was set with force permits its own driver, and does not block the other one",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {1100, SCANNED, "report", STATE_SETTLED, FORCED_UAS},
                 {2000, LEASED, "", STATE_SETTLED, DISKS},
                 {3000, LEASE_TO(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
                 {3000, FREE, "unwatch report switch usb-storage", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_SETTLED, ON_BOT},
                 {5000, LEASE_TO(DRIVER_UAS), "watch report look", STATE_WAITING},
                 {6000, LEASE_TO(DRIVER_USB_STORAGE), "unwatch report", STATE_SETTLED},
                 /* After it the policy counts as before. */
                 {7000, LEASE_OVER(DRIVER_USB_STORAGE), "watch report look", STATE_WAITING},
         }},
        {"leased: nor does a policy for usb-storage that was set with force",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, FORCED_BOT},
                 {2000, LEASED, "", STATE_SETTLED, DISKS},
                 {3000, LEASE_TO(DRIVER_UAS), "watch report look", STATE_WAITING},
         }},
        {"leased: a policy for uas without force permits nothing that the kernel's table forbids",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, IN_TABLE},
                 {1100, SCANNED, "report", STATE_SETTLED, UNFORCED_UAS},
                 {2000, LEASED, "", STATE_SETTLED, DISKS},
                 {3000, LEASE_TO(DRIVER_UAS), "", STATE_SETTLED},
         }},
        {"leased and inhibited: its holder's switch waits as well, and so does the way back",
         BOOTED,
         {
                 {1000, LEASED, "report", STATE_SETTLED, ON_UAS},
                 {2000, INHIBITED, "", STATE_SETTLED, DISKS},
                 {3000, LEASE_TO(DRIVER_USB_STORAGE), "report", STATE_WAITING},
                 {4000, NOT_INHIBITED, "watch report look", STATE_WAITING},
         }},
        {"a lease that ends where none is",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {2000, LEASE_OVER(DRIVER_USB_STORAGE), "", STATE_SETTLED, DISKS},
                 {3000, LEASE_TO(DRIVER_USB_STORAGE), "", STATE_SETTLED},
         }},

        {"driverless for a moment, then for good: to usb-storage if uas is kept away",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_IGNORED, JUST_UNBOUND},
                 {6000, SCANNED, "report switch usb-storage automatic plugged", STATE_SWITCHING, KEPT_AWAY},
                 {7000, SCANNED, "", STATE_SWITCHING, ON_BOT},
                 {7000, DONE(OK), "report", STATE_SETTLED},
         }},
        {"driverless and cancelled: still without a driver",
         STOPPING,
         {
                 {1000, SCANNED, "report", STATE_WAITING, NO_DRIVER},
                 {2000, CANCEL, "report", STATE_UNBOUND},
         }},
        {"left without a driver: tried again and again, ever slower, until one has it",
         BOOTED,
         {
                 {1000, REQUEST(DRIVER_UAS), "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "unwatch report switch uas", STATE_SWITCHING},
                 {2000, SCANNED, "", STATE_SWITCHING, NO_DRIVER},
                 {2000, DONE(FAILED), "timer 3000 report", STATE_WAITING, NO_DISKS},
                 {3000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {4000, DONE(FAILED), "timer 8000 report", STATE_WAITING},
                 {8000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {9000, DONE(FAILED), "timer 25000 report", STATE_WAITING},
                 {25000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {26000, DONE(FAILED), "timer 90000 report", STATE_WAITING},
                 {90000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {91000, DONE(FAILED), "timer 347000 report", STATE_WAITING},
                 {347000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {348000, DONE(FAILED), "timer 1372000 report", STATE_WAITING},
                 {1372000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {1373000, DONE(FAILED), "timer 2397000 report", STATE_WAITING},
                 {2397000, TIMER, "timer off report switch uas automatic plugged", STATE_SWITCHING},
                 {2398000, SCANNED, "", STATE_SWITCHING, ON_UAS},
                 {2398000, DONE(OK), "report", STATE_SETTLED},
         }},
        {"it says that it is done, and the disk is where it was: failed, and not begun again at once",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, FREE, "timer 3000", STATE_WAITING},
                 {3000, TIMER, "unwatch timer off report switch uas automatic", STATE_SWITCHING},
                 {4000, DONE(OK), "report", STATE_FAILED},
                 {5000, SCANNED, "", STATE_FAILED},
         }},
        {"the same of a disk that is to get away from uas: again, after a pause",
         BOOTED,
         {
                 {1000, SCANNED, "report", STATE_SETTLED, ON_UAS},
                 {2000, SCANNED, "report switch usb-storage automatic plugged", STATE_SWITCHING, TRUSTED_NO_MORE},
                 {3000, DONE(OK), "timer 18000 report", STATE_WAITING},
                 {18000, TIMER, "timer off report switch usb-storage automatic plugged", STATE_SWITCHING},
         }},
        {"what means nothing changes nothing",
         BOOTED,
         {
                 {1000, SCANNED, "watch report look", STATE_WAITING, DISKS},
                 {1000, {.type = _EVENT_MAX}, "", STATE_WAITING},
         }},
        /* clang-format on */
};

static struct lun disks[] = {{.lun = 0}, {.lun = 1, .disk = {"sda", 8, 0}}};

static void life_of_disk(struct life *l)
{
        life_init(l);
        l->disk.facts = (struct facts){
                .interface = "2-1:1.0",
                .vid = 0x1209,
                .pid = 0x5a5a,
                .speed_mbps = 5000,
                .caps = {.bot = true, .uas = true, .pipes = true, .uas_alt = 1},
                .driver = DRIVER_USB_STORAGE,
                .authorized = true,
                .unknown_target = DRIVER_UAS,
        };
}

static void find(struct life *l, enum found found)
{
        struct facts *f = &l->disk.facts;

        switch (found) {
        case SAME:
                break;
        case ON_UAS:
                f->driver = DRIVER_UAS;
                break;
        case ON_BOT:
                f->driver = DRIVER_USB_STORAGE;
                f->just_unbound = false;
                break;
        case JUST_UNBOUND:
                f->just_unbound = true;
                f->driver = DRIVER_NONE;
                break;
        case KEPT_AWAY:
                f->uas_kept_away = true;
                f->just_unbound = false;
                break;
        case NO_DRIVER:
                f->driver = DRIVER_NONE;
                break;
        case DISKS:
                l->disk.luns = disks + 1;
                l->disk.n_luns = 1;
                break;
        case NO_DISKS:
                l->disk.n_luns = 0;
                break;
        case PROBED:
                l->disk.luns = disks;
                l->disk.n_luns = 1;
                break;
        case ANOTHER_LUN:
                l->disk.luns = disks;
                l->disk.n_luns = 2;
                break;
        case TRIED:
                l->attempt.tried = true;
                break;
        case TRIED_UAS:
                l->attempt.tried = true;
                l->attempt.last = DRIVER_UAS;
                break;
        case CANCELLED:
                l->cancelled = true;
                break;
        case POLICY_BOT:
                f->policy = POLICY_USB_STORAGE;
                break;
        case UNFORCED_UAS:
                f->policy = POLICY_UAS;
                break;
        case FORCED_BOT:
                f->policy = POLICY_USB_STORAGE;
                f->policy_forced = true;
                break;
        case FORCED_UAS:
                find(l, IN_TABLE);
                f->policy = POLICY_UAS;
                f->policy_forced = true;
                break;
        case IGNORE_IT:
                f->policy = POLICY_IGNORE;
                break;
        case TRUSTED_NO_MORE:
                f->distrusted = true;
                f->trial_open = false;
                break;
        case ON_TRIAL:
                f->driver = DRIVER_UAS;
                l->attempt.tried = true;
                l->disk.luns = disks + 1;
                l->disk.n_luns = 1;
                f->trial_open = true;
                break;
        case PASSED:
                f->trial_open = false;
                f->trial_passed = true;
                break;
        case UAS_OBJECTED:
                strcpy(f->quirks, "1209:5a5a:u");
                break;
        case IN_TABLE:
                f->vid = 0x0781;
                f->pid = 0x55e8;
                break;
        }
}

static size_t say(const struct life *l, const struct action *a, char *ret, size_t size)
{
        unsigned long long msec = a->deadline / USEC_PER_MSEC;
        char until[40] = "";

        switch (a->type) {
        case ACTION_SWITCH:
                if (a->deadline)
                        (void) snprintf(until, sizeof(until), " until %llu", msec);
                return (size_t) snprintf(ret, size, "switch %s%s%s%s ", driver_to_string(a->target),
                                         a->automatic ? " automatic" : "",
                                         a->plugged ? " plugged" : "", until);
        case ACTION_RELEASE:
                return (size_t) snprintf(ret, size, "release ");
        case ACTION_WATCH:
                return (size_t) snprintf(ret, size, "watch ");
        case ACTION_UNWATCH:
                return (size_t) snprintf(ret, size, "unwatch ");
        case ACTION_LOOK:
                return (size_t) snprintf(ret, size, l->use.hidden ? "look-by-name " : "look ");
        case ACTION_TIMER:
                if (a->deadline == USEC_INFINITY)
                        return (size_t) snprintf(ret, size, "timer off ");
                return (size_t) snprintf(ret, size, "timer %llu ", msec);
        case ACTION_PASSED:
                return (size_t) snprintf(ret, size, "passed ");
        case ACTION_REPORT:
                return (size_t) snprintf(ret, size, "report ");
        case _ACTION_MAX:
                break;
        }
        fail_msg("no such action: %i", (int) a->type);
        return 0;
}

static bool run(const struct scenario *s)
{
        struct environment env = {.quiet_usec = 2 * USEC_PER_SEC, .trial_usec = 600 * USEC_PER_SEC};
        struct life l;

        env.booted = s->machine == BOOTED;
        env.stopping = s->machine == STOPPING;
        env.sleeping = s->machine == SLEEPING;
        life_of_disk(&l);
        for (size_t i = 0; i < ELEMENTSOF(s->steps) && s->steps[i].at; i++) {
                const struct step *step = &s->steps[i];
                struct actions actions;
                char said[256] = "";
                size_t n = 0;

                find(&l, step->found);
                l.attempt.running =
                        l.attempt.running || (step->event.type == EVENT_SCANNED && step->event.on);
                if (step->event.type == EVENT_ENVIRONMENT) {
                        env.booted = step->event.deadline == BOOTED;
                        env.stopping = step->event.deadline == STOPPING;
                        env.sleeping = step->event.deadline == SLEEPING;
                }
                if (step->asleep)
                        env.asleep_usec = step->asleep * USEC_PER_MSEC;
                machine_step(&l, &env, &step->event, step->at * USEC_PER_MSEC, &actions);
                for (size_t k = 0; k < actions.n; k++)
                        n += say(&l, &actions.list[k], said + n, sizeof(said) - n);
                if (n)
                        said[n - 1] = '\0';
                if (!streq(said, step->actions) || l.disk.state != step->state) {
                        print_error("%s: at %u: \"%s\" and %s, expected \"%s\" and %s\n", s->what,
                                    step->at, said, state_to_string(l.disk.state), step->actions,
                                    state_to_string(step->state));
                        return false;
                }
        }
        return true;
}

static void test_scenarios(void **state)
{
        bool good = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                good = run(&table[i]) && good;
        assert_true(good);
}

/* The laws for every sequence of events. No row of the table may break them. */
static void test_laws(void **state)
{
        unsigned seed = 1;

        for (unsigned round = 0; round < 2000; round++) {
                struct environment env = {.quiet_usec = 2 * USEC_PER_SEC,
                                          .trial_usec = 60 * USEC_PER_SEC};
                bool running = false, watched = false;
                uint64_t now = USEC_PER_SEC;
                unsigned automatic = 0;
                struct life l;

                life_of_disk(&l);
                for (unsigned i = 0; i < 60; i++) {
                        static const int codes[] = {UASD_EXIT_OK, UASD_EXIT_FAILED,
                                                    UASD_EXIT_DEFERRED, UASD_EXIT_ROLLED_BACK};
                        struct event e = {.type = (enum event_type)(rand_r(&seed) % _EVENT_MAX)};
                        struct actions actions;

                        now += (uint64_t) rand_r(&seed) % (5 * USEC_PER_SEC);
                        e.in_use = rand_r(&seed) % 2;
                        e.by_name = rand_r(&seed) % 2;
                        e.told = rand_r(&seed) % 2;
                        e.on = rand_r(&seed) % 2;
                        e.deadline = now + (uint64_t) rand_r(&seed) % (20 * USEC_PER_SEC);
                        e.target = (enum driver)(rand_r(&seed) % DRIVER_OTHER);
                        e.outcome.code = codes[rand_r(&seed) % ELEMENTSOF(codes)];
                        env.booted = env.booted || rand_r(&seed) % 8 == 0;
                        env.stopping = rand_r(&seed) % 16 == 0;
                        env.sleeping = rand_r(&seed) % 16 == 0;
                        find(&l, rand_r(&seed) % 4 ? DISKS : SAME);
                        if (e.type == EVENT_SCANNED && e.on)
                                running = l.attempt.running = true;
                        if (e.type == EVENT_DONE) {
                                running = false;
                                if (e.outcome.code == UASD_EXIT_OK ||
                                    e.outcome.code == UASD_EXIT_ROLLED_BACK)
                                        l.attempt.tried = l.attempt.tried || automatic > 0;
                                if (l.attempt.to != DRIVER_NONE)
                                        l.attempt.last = l.attempt.to;
                        }
                        machine_step(&l, &env, &e, now, &actions);
                        assert_true(actions.n <= ACTIONS_MAX);
                        for (size_t k = 0; k < actions.n; k++) {
                                const struct action *a = &actions.list[k];

                                if (a->type == ACTION_SWITCH) {
                                        assert_false(running); /* never two at the same time */
                                        assert_false(env.stopping || env.sleeping);
                                        assert_false(l.inhibited);
                                        assert_true(!l.lease.active ||
                                                    (a->target == l.lease.to && !a->automatic));
                                        assert_false(l.attempt.tried &&
                                                     l.attempt.last == a->target &&
                                                     a->automatic); /* one try */
                                        assert_true(a->target == DRIVER_UAS ||
                                                    a->target == DRIVER_USB_STORAGE);
                                        assert_true(a->target != l.disk.facts.driver);
                                        /* During boot, only held disks are claimed. */
                                        assert_true(env.booted || a->deadline ||
                                                    l.disk.n_luns == 0);
                                        running = true;
                                        automatic += a->automatic;
                                }
                                if (a->type == ACTION_SWITCH || a->type == ACTION_LOOK)
                                        assert_true(k == actions.n - 1);
                                if (a->type == ACTION_TIMER)
                                        assert_true(a->deadline > now);
                                if (a->type == ACTION_WATCH || a->type == ACTION_UNWATCH) {
                                        assert_true(watched == (a->type == ACTION_UNWATCH));
                                        watched = !watched;
                                }
                        }
                        /* A hold stays undecided only as long as there is time for a switch. */
                        assert_true(l.disk.state != STATE_HELD ||
                                    l.timer + HOLD_LEAST_USEC <= l.hold.deadline);
                        assert_true(running == (l.disk.state == STATE_SWITCHING));
                        assert_true(!watched || l.disk.state == STATE_WAITING);
                        assert_true(!l.disk.cancelled ||
                                    l.cancelled); /* only what a user has cancelled */
                }
        }
}

/* The outcome names the drivers of the switch: the disk may be on another one when it is reported.
 */
static void test_drivers(void **state)
{
        struct environment env = {.quiet_usec = 2 * USEC_PER_SEC};
        struct actions actions;
        struct life l;

        life_of_disk(&l);
        find(&l, NO_DISKS);
        machine_step(&l, &env, &(struct event) SCANNED, USEC_PER_SEC, &actions);
        assert_true(l.attempt.running);
        find(&l, ON_UAS);
        machine_step(&l, &env, &(struct event) DONE(OK), 2 * USEC_PER_SEC, &actions);
        assert_true(l.disk.outcome.from == DRIVER_USB_STORAGE && l.disk.outcome.to == DRIVER_UAS);
        assert_true(l.attempt.from == DRIVER_NONE && l.attempt.to == DRIVER_NONE);
}

/* A lease counts in the decision, and leaves what the user has set as it is. */
static void test_lease_decides(void **state)
{
        struct life l;

        life_of_disk(&l);
        for (unsigned bits = 0; bits < 16; bits++) {
                struct facts *f = &l.disk.facts;

                f->override_target = bits & 1 ? DRIVER_USB_STORAGE : DRIVER_NONE;
                f->override_forced = bits & 2;
                f->policy_forced = bits & 4;
                f->policy = POLICY_USB_STORAGE;
                l.lease.active = true;
                l.lease.to = DRIVER_UAS;
                l.lease.forced = bits & 8;
                lease_decide(&l);
                assert_int_equal(l.disk.decision.target, DRIVER_UAS);
                assert_int_equal(f->override_target, bits & 1 ? DRIVER_USB_STORAGE : DRIVER_NONE);
                assert_int_equal(f->override_forced, !!(bits & 2));
                assert_int_equal(f->policy_forced, !!(bits & 4));
        }
}

/* After a killed switch the driver of the disk decides. Its own sentence stays where the driver is
 * not there. */
static void test_killed(void **state)
{
        const struct event killed = {
                .type = EVENT_DONE,
                .killed = true,
                .outcome = {.code = UASD_EXIT_FAILED, .text = "uasd-switch was killed"}};
        struct environment env = {.quiet_usec = 2 * USEC_PER_SEC};

        for (int there = 0; there < 2; there++) {
                struct actions actions;
                struct life l;

                life_of_disk(&l);
                find(&l, NO_DISKS);
                machine_step(&l, &env, &(struct event) SCANNED, USEC_PER_SEC, &actions);
                find(&l, there ? ON_UAS : SAME);
                machine_step(&l, &env, &killed, 2 * USEC_PER_SEC, &actions);
                assert_int_equal(l.disk.outcome.code, there ? UASD_EXIT_OK : UASD_EXIT_FAILED);
                assert_string_equal(l.disk.outcome.text,
                                    there ? "moved to uas, though uasd-switch was killed"
                                          : "uasd-switch was killed");
                assert_int_equal(l.disk.last_code, l.disk.outcome.code);
        }
}

/* Cancelled is only a switch that would be wanted otherwise, and what is leased has another reason
 * to stay. */
static void test_cancelled(void **state)
{
        struct environment env = {.booted = true, .quiet_usec = 2 * USEC_PER_SEC};
        struct actions actions;
        struct life l;

        life_of_disk(&l);
        find(&l, DISKS);
        machine_step(&l, &env, &(struct event) SCANNED, USEC_PER_SEC, &actions);
        assert_false(l.disk.cancelled);
        machine_step(&l, &env, &(struct event) CANCEL, 2 * USEC_PER_SEC, &actions);
        assert_true(l.disk.cancelled);
        machine_step(&l, &env, &(struct event) LEASED, 3 * USEC_PER_SEC, &actions);
        assert_false(l.disk.cancelled);
        machine_step(&l, &env, &(struct event) LEASE_OVER(DRIVER_NONE), 4 * USEC_PER_SEC, &actions);
        find(&l, ON_UAS);
        machine_step(&l, &env, &(struct event) SCANNED, 5 * USEC_PER_SEC, &actions);
        assert_false(l.disk.cancelled);
}

/* Only a switch that failed strands a disk. One that never had a driver, or whose switch was
 * deferred, is not stranded. */
static void test_stranded(void **state)
{
        static const struct {
                enum driver driver;
                int code;
                bool stranded;
        } rows[] = {
                {DRIVER_NONE, -1, false},
                {DRIVER_NONE, UASD_EXIT_OK, false},
                {DRIVER_NONE, UASD_EXIT_DEFERRED, false},
                {DRIVER_NONE, UASD_EXIT_FAILED, true},
                {DRIVER_NONE, UASD_EXIT_ROLLED_BACK, true},
                {DRIVER_UAS, UASD_EXIT_FAILED, false},
                {DRIVER_USB_STORAGE, UASD_EXIT_ROLLED_BACK, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct life l = {
                        .disk = {.facts.driver = rows[i].driver, .outcome.code = rows[i].code}};

                if (life_stranded(&l) != rows[i].stranded)
                        fail_msg("row %zu", i);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_scenarios),     cmocka_unit_test(test_laws),
                cmocka_unit_test(test_drivers),       cmocka_unit_test(test_killed),
                cmocka_unit_test(test_cancelled),     cmocka_unit_test(test_stranded),
                cmocka_unit_test(test_lease_decides),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

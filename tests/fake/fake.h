/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/util.h"
#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * A kernel in a temporary folder, for uasd-switch. It moves links and directories, lets disks
 * appear and disappear, grants claims, and counts every written byte. It reacts as the real kernel
 * and the real udev do (REACTIONS). tests/vm/cases/reactions_*.py run the same calls in a guest.
 * Its state lies in shared memory, so it outlives a child that is killed, as the state of a real
 * kernel does.
 */

#define FAKE_USB 2
#define FAKE_BAD_SECTOR UINT64_C(52424)
#define FAKE_LUNS 3
#define FAKE_NODES 4 /* the whole disk first */

struct fake_node {
        char name[16];
        unsigned minor;
        unsigned dirty; /* bytes in its page cache */
        bool mounted;   /* claimed by a mount; in_table: one that PID 1's mount table shows */
        bool in_table;
        bool held; /* its uevent matched the hold rule, and no `add` has come since */
};

struct fake_lun {
        bool there;   /* its block device exists */
        bool probing; /* its SCSI device exists and its block device does not yet: the disk spins up
                       */
        unsigned type; /* of the SCSI device: 0 disk, 13 enclosure, which gets no block device */
        bool declined; /* no driver takes its SCSI device, or the probe failed */
        int letter;    /* sda: 0 */
        uint64_t diskseq;
        bool stopped;
        unsigned cache;   /* bytes in the drive's volatile write cache */
        unsigned platter; /* bytes that outlive a power cut */
        unsigned content; /* what a fingerprint shows */
        bool protected;   /* its medium cannot be written */
        bool offline;     /* the kernel has given it up */
        bool empty, card; /* a slot without a medium; a medium that the kernel has not seen yet */
        unsigned n_nodes;
        struct fake_node nodes[FAKE_NODES];
};

struct fake_usb {
        bool plugged;
        unsigned bus, dev;
        char port[16], interface[24];
        unsigned vid, pid;
        bool bot, uas; /* alternate settings that it offers */
        bool authorized;
        enum driver driver;
        unsigned alt;
        int host;
        uint64_t scan_due; /* 0: no scan under way */
        const char *says;  /* what the kernel logs when HOOK_UNBIND unbinds it; NULL: nothing */
        uint64_t spun_at;  /* when the disk has spun up; until then its LUNs are being probed */
        unsigned n_luns, n_parts;
        struct fake_lun luns[FAKE_LUNS];
        unsigned unbound;       /* number of writes to `unbind` for it */
        bool removed;           /* by a write to `remove` */
        unsigned touched;       /* number of writes to bind, unbind, delete and scan for it */
        bool pulled;            /* the cable is out: it answers no command */
        uint64_t disconnect_at; /* when the hub reports the disconnect; 0: not pulled, or already
                                   reported */
        bool slow_to_go; /* unplugged, the device stays in sysfs for a moment after its interface */
        uint64_t device_goes_at;
        bool comes_back;        /* after an unplug the same disk is plugged in again ... */
        uint64_t away, plug_at; /* ... after this time; when that is */
        /* faults of the disk */
        bool silent_on_uas; /* answers no command: no disk appears */
        bool silent_on_bot;
        bool garbles_on_uas; /* shows other contents */
        bool shrinks_on_uas; /* shows another size */
        bool stalls_on_uas;  /* hangs at full queue depth */
        bool slow_on_uas;    /* its reads at full depth take a second of real time */
        bool not_counted;    /* the kernel does not count its commands */
        bool answers_slowly; /* stalls, and still answers a command each tenth of a second */
        bool machine_late;   /* the machine stands still, which looks like a hang: the disk owes no
                                answer */
        int bad_place; /* errno of a read of FAKE_BAD_SECTOR, under both drivers; ETIMEDOUT: the
                          disk retries for long */
        bool two_bad_places; /* and another place */
        bool bad_sample; /* that sector is in a sample of the fingerprint, which was not read before
                            the switch */
        bool broken_by_uas; /* on usb-storage it shows itself again, and cannot be read any more */
        unsigned missing_on_uas; /* this LUN (from 1 on) does not come back */
};

enum fake_what {
        HOOK_NONE,
        HOOK_FAIL,      /* not done, returns the error */
        HOOK_SKIP,      /* an attribute: not done, returns success */
        HOOK_FAIL_DONE, /* done, but returns the error */
        HOOK_KILL,      /* the process dies before the operation */
        HOOK_KILL_DONE, /* the process dies after it */
        HOOK_ORPHAN,    /* uasd-switch is dead; a child's operation hangs */
        HOOK_HANG,      /* a child's operation hangs until the child is killed */
        HOOK_UNPLUG,    /* from here on: happens right after the operation */
        HOOK_PULL,      /* it answers no command from now on; the hub reports the disconnect `error`
                           seconds later */
        HOOK_REPLUG,    /* pulled out, and another disk plugged in at the same port */
        HOOK_MOUNT, /* mounts the first partition, if the kernel allows it; PID 1's table shows it
                     */
        HOOK_MOUNT_PRIVATE, /* in a mount namespace of its own */
        HOOK_OPEN,          /* a plain open that stays */
        HOOK_OPEN_SG,       /* of its sg node, which inotify does not report */
        HOOK_GLANCE,        /* a plain open, closed again */
        HOOK_WRITE,         /* opened, written to, closed again */
        HOOK_WAIT,          /* `error` seconds pass */
        HOOK_SLEEP,         /* the machine sleeps for `error` seconds */
        HOOK_SIGNAL,        /* uasd-switch gets the signal `error` */
        HOOK_RESCAN, /* another program makes the kernel scan the host, as rescan-scsi-bus.sh does
                      */
        HOOK_RESCUE, /* the dead man's timer removes the record, and gives a disk without a driver
                        to any (hold_rescue()) */
        HOOK_MEDIUM, /* another medium is in the first LUN */
        HOOK_FS_WRITES, /* a file system writes to the first LUN: only the kernel's count of sectors
                           shows it */
        HOOK_OTHER_ENDS,   /* the switch of the second disk ends */
        HOOK_OFFLINE,      /* the kernel gives the first LUN up */
        HOOK_SHUTDOWN,     /* a shutdown job is queued */
        HOOK_CARD,         /* a card is put into the empty slot */
        HOOK_CARD_MOUNT,   /* and its partition is mounted; PID 1's table shows it */
        HOOK_CARD_PRIVATE, /* in a mount namespace of its own */
        HOOK_CARD_WRITE,   /* it is written to, and stays open */
        HOOK_LOCK,         /* another process takes the lock of the quirks, and keeps it */
        HOOK_LOAD,         /* udev loads uas, as for each new disk */
        HOOK_UNLOAD,       /* modprobe -r uas */
        HOOK_STARVE, /* no processor time for children of uasd-switch that are started from here on
                      */
        HOOK_SLOW, /* a child's operation takes `error` seconds of real time, in which data reaches
                      the disk */
        HOOK_QUIRKS, /* before the operation another program writes the quirks parameter: the disk
                        is kept off uas */
        HOOK_UNBIND, /* before the operation another program unbinds the driver */
        HOOK_LOCK_DEVICE, /* another process takes the lock of the USB device: every read of its
                             strings hangs */
        HOOK_LATE_LUN,    /* the LUN that did not come back appears after all, and is mounted */
};

/* An action at an operation. `op` or its number, counted from 1, selects the operation. */
struct fake_hook {
        const char *op; /* NULL: any; a prefix is enough */
        unsigned nth;   /* counts the operations with that name; 0: all of them */
        bool on;        /* from that one on */
        enum fake_what what;
        int error;
        unsigned seen;
        bool fired;
};

/* An uevent of a node: the kernel's at once, udev's when udev has processed it. */
struct fake_event {
        unsigned number;
        uint64_t due, diskseq;
        uint64_t asked; /* the kernel announced it; a worker began with it; or it tries again,
                           because the disk is locked */
        bool processed, remove, triggered, told, recorded;
        bool open;  /* its worker opened the disk, and has it open until `due` */
        bool waits; /* udev's helper waits for the end of the switch */
        int letter;
        unsigned minor;
        char name[16], interface[24];
};

struct fake {
        char path[48];
        struct roots roots;
        uint64_t clock; /* CLOCK_BOOTTIME of this kernel */
        uint64_t
                slept; /* part of `clock` that the machine slept; CLOCK_MONOTONIC is behind by it */
        bool haste;    /* waits are long, and only their end matters */
        bool asks;     /* a look at the record and at its folder is an operation, too */
        bool needs_trial; /* the first disk: nothing may give it to uas before its trial is on
                             record */
        bool vendor;      /* usb-storage was built without UAS support */
        bool uas_loaded, uas_loadable;
        bool counts; /* the drivers are modules and count the opens */
        char quirks[128];
        struct fake_usb usb[FAKE_USB];
        unsigned n_usb;
        int hosts; /* host numbers in use, a bit each */
        uint64_t diskseq;
        struct fake_event events[96];
        unsigned n_events;
        /* PID 1 */
        bool no_pid1, stopping;
        bool no_diskseq;    /* Linux before 5.15 */
        const char *unit;   /* of the uasd-switch that hangs on a disk; NULL: none */
        bool own;           /* it is the examination of this switch, not of a killed one */
        pid_t hangs;        /* its PID */
        uint64_t delay_use; /* of usb-storage, usec; 0: the default */
        uint64_t udev_usec; /* time that udev needs for an event */
        bool udev_deaf;     /* udev processes no event, and no monitor receives one */
        bool lost_events; /* no monitor receives udev's events; only udev's database shows what udev
                             did */
        unsigned timers;  /* dead man's timers armed */
        uint64_t signalled_at; /* by HOOK_SIGNAL; 0: not yet */
        uint64_t files_at; /* uas is being registered: when its files appear; it has its disk before
                              that */
        unsigned
                no_sockets; /* bit n: the nth socketpair(2) fails: the process has too many files */
        unsigned n_sockets;
        bool udev_locks;   /* a udev worker keeps the flock of every disk */
        bool reader_stays; /* who hangs on the disk (fakesys_hang_on()) does not close it when it is
                              unbound */
        /* what a switch must not cause */
        unsigned lost;    /* bytes of page cache thrown away */
        unsigned at_risk; /* bytes in the cache of a drive without a driver, which a power cut
                             destroys */
        char broken[128]; /* the first oath that was broken */
        /* operations */
        struct fake_hook hooks[5]; /* those of the scene, and one of its prepare() */
        struct {
                pid_t pid;
                int fd;
        } claims[64]; /* descriptors that any process opened O_EXCL; fake_claims() checks what they
                         are now */
        unsigned n_claims;
        bool named;        /* the switch has read the strings of its device */
        char warned[1024]; /* all warnings and errors that were logged, a line each */
        unsigned n_ops;
        char ops[400][32];
        bool of_child[400]; /* done by a child of uasd-switch */
        bool unwatched;     /* by HOOK_OPEN_SG: only the count and /proc show it */
        pid_t switcher;     /* uasd-switch itself, among its children */
        bool someone;       /* HOOK_OPEN has the disk open */
        bool unnamed;       /* /proc does not show it: the process is in another PID namespace */
        const char *reader; /* its name, if not that of udev's worker */
        unsigned udevs; /* it is udev's worker, and closes at the wait with this number from here;
                           0: another process */
        uint64_t someones;  /* diskseq of the disk that HOOK_OPEN opened */
        unsigned opened_at; /* number of operations before a hook opened, wrote or mounted */
        unsigned waited_at; /* number of operations before the last wait for the end of a child */
        pid_t hung[2]; /* children that HOOK_HANG hangs in an open of the first disk, until they are
                          waited for */
        pid_t left;    /* a child that an earlier switch left behind */
        unsigned left_polls; /* number of pauses of the waiting switch until `left` ends */
        bool starved;        /* by HOOK_STARVE */
        bool early;          /* a process opened a disk before the kernel had announced it */
        bool written_late;   /* by HOOK_WRITE, one byte */
        bool refused;        /* a mount failed with EBUSY because of the claim */
        enum driver refused_on;
};

extern struct fake *fake;

/* tree.c: a machine without a disk, then its disks */
void fakesys_make(void);
void fakesys_remove(void);
/* Plugs in a disk on its driver. `port`: "2-1". Each of its LUNs has that number of partitions. */
struct fake_usb *fakesys_add_usb_disk(const char *port, enum driver driver, unsigned luns,
                                      unsigned partitions);
void fakesys_set_quirks(const char *string);
void fakesys_set_ids(struct fake_usb *u, unsigned vid, unsigned pid);
void fakesys_mount_table(void);
void fakesys_open_table(const char *node); /* NULL: no process */
void fakesys_hang_on(
        const char *node); /* udev and the examination hang until the disk is unbound */
/* The folder's counterparts of what the kernel does */
_printf_(2, 3) void tree_write(const char *text, const char *format, ...);
_printf_(1, 2) void tree_remove(const char *format, ...);
_printf_(1, 2) bool tree_exists(const char *format, ...);
void tree_plug(struct fake_usb *u);
void tree_unplug_interface(struct fake_usb *u);
void tree_unplug(struct fake_usb *u);
/* Reads of its strings hang, as if another process had the lock of the device. */
void tree_lock_device(const struct fake_usb *u);
void tree_driver(struct fake_usb *u);
void tree_host(struct fake_usb *u);
void tree_scsi(struct fake_usb *u, unsigned lun); /* only the SCSI device */
void tree_scsi_state(struct fake_usb *u, unsigned lun, const char *state);
void tree_commands(struct fake_usb *u, unsigned lun);
void tree_lun(struct fake_usb *u, unsigned lun);
void tree_lun_gone(struct fake_usb *u, unsigned lun);

/* kernel.c: reactions */
void kernel_write_bytes(const char *node, unsigned n); /* a write without a sync */
void kernel_last_close(const char *node);              /* the last close of the node */
int kernel_bind(enum driver d, const char *interface);
int kernel_unbind(enum driver d, const char *interface);
int kernel_delete(const char *scsi);
int kernel_scan(int host);
int kernel_stop(const char *node);
int kernel_remove(const char *interface);
int kernel_quirks(const char *text);
int kernel_probe(const char *interface);
int kernel_load_uas(void);
void kernel_unload_uas(void);
void kernel_unbound(struct fake_usb *u); /* by another program */
int kernel_trigger(const char *block);
/* The facts of the device there now that identify its attachment. */
void fake_facts(const struct fake_usb *u, struct facts *ret);
bool rule_holds(const struct fake_usb *u);
void kernel_dead_mans_timer(void);
int kernel_open(const char *node, int flags);
int kernel_fsync(const char *node);
int kernel_mount(const char *node, bool in_table);
void kernel_umount(const char *node);
void kernel_unplug(struct fake_usb *u);
void kernel_replug(struct fake_usb *u);
void kernel_plug_again(struct fake_usb *u);
void kernel_pull(struct fake_usb *u, uint64_t usec);
void kernel_rescan(struct fake_usb *u); /* by another program: a deleted LUN is back at once */
void kernel_pass(uint64_t usec);        /* advances the clock; what is due happens */
void kernel_sleeps(uint64_t usec);      /* advances the clock; nothing happens */
void kernel_gives_up(struct fake_usb *u, unsigned lun);
bool kernel_inserts(struct fake_usb *u); /* a card is put into its empty slot */
void kernel_names(struct fake_lun *l, unsigned n_nodes);
struct fake_node *kernel_node(const char *name, struct fake_usb **ret_usb,
                              struct fake_lun **ret_lun);

/* udev.c */
void udev_adds(const struct fake_usb *u, const struct fake_lun *l);
void udev_removes(const struct fake_usb *u, const struct fake_lun *l);
void udev_triggers(const struct fake_usb *u, const struct fake_lun *l, const struct fake_node *n);
void udev_passes(void);
bool udev_has_open(int letter); /* whether udev has a disk open that is gone */
bool udev_has_lock(const char *name);
bool udev_not_announced(void);
bool udev_has_finished(const struct fake_lun *l); /* with the whole disk, since it appeared */
void udev_settles(void); /* the time passes that udev needs for all events, at most a minute */
struct fake_event *udev_due(bool processed, uint64_t since);

/* nodes.c: the node that a descriptor is open on. `stale`: its disk is gone. */
bool fake_dev_name(int fd, char ret[static 32], bool *ret_stale);
bool fake_claims(const char *name); /* a process holds a claim on the live disk */
bool fake_stale(
        int letter); /* this process has a node open whose disk, with that letter, is gone */

void fake_no_claim(int fd); /* registers that this descriptor was not opened O_EXCL */

/* Sends an event with `mask` of inotify(7) about a node to this process, if it has a claim. */
void fake_inotify_tell(const char *name, uint32_t mask);
void fake_inotify_end(void);

/* cards.c: an empty slot, and the card that is put into it */
void medium_changes(struct fake_usb *u, unsigned lun);
void slot_empties(struct fake_usb *u, unsigned lun);
void slot_noticed(struct fake_usb *u, struct fake_lun *l);
void somebody_with_a_card(enum fake_what what);

/* hooks.c */
int op_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
int op_end(const char *op, int r);
unsigned fake_someones_files(void); /* number of files that this process holds open for HOOK_OPEN */
void fake_someone_closes(void);
void fake_someone_is_at(const struct fake_lun *l, const char *node, int fd);
void fake_someone_unlocks(void);
void fake_pause(unsigned usec); /* in real time */
void fake_break(const char *oath, const char *name);

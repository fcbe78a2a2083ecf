/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/util.h"
#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * A kernel in a temporary folder, for uasd-switch: it moves links and directories, lets disks come and go,
 * takes claims, and counts every written byte. It reacts as the real kernel does (REACTIONS);
 * tests/vm/cases/reactions_*.py run the same calls in a guest. Its state lies in shared memory: a child that is
 * killed leaves it as a killed process leaves a kernel.
 */

#define FAKE_USB 2
#define FAKE_LUNS 3
#define FAKE_NODES 4 /* the whole disk first */

struct fake_node {
        char name[16];
        unsigned minor;
        unsigned dirty; /* bytes in its page cache */
        bool mounted;   /* claimed by a mount; in_table: one that PID 1's mount table shows */
        bool in_table;
        bool held; /* its uevent met the hold rule, and no `add` has come since */
};

struct fake_lun {
        bool there;    /* its block device is */
        bool probing;  /* its SCSI device is there, and its block device not yet: the disk spins up */
        unsigned type; /* of the SCSI device: 0 disk, 13 enclosure, which gets no block device */
        bool declined; /* no driver takes its SCSI device, or the probe failed */
        int letter;    /* sda: 0 */
        uint64_t diskseq;
        unsigned cache;   /* bytes in the drive's volatile cache */
        unsigned platter; /* bytes that outlive a power cut */
        unsigned content; /* what a fingerprint shows */
        bool empty, card; /* a slot without a medium; one that has been put in, and that the kernel has not seen yet */
        unsigned n_nodes;
        struct fake_node nodes[FAKE_NODES];
};

struct fake_usb {
        bool plugged;
        unsigned bus, dev;
        char port[16], interface[24];
        unsigned vid, pid;
        bool bot, uas; /* alternate settings it has */
        bool authorized;
        enum driver driver;
        unsigned alt;
        int host;
        uint64_t scan_due; /* 0: no scan under way */
        uint64_t spun_at;  /* the disk has spun up; until then its LUNs are being probed */
        unsigned n_luns, n_parts;
        struct fake_lun luns[FAKE_LUNS];
        unsigned unbound;       /* `unbind` was written for it */
        unsigned touched;       /* bind, unbind, delete, scan written for it */
        bool pulled;            /* it answers nothing any more */
        uint64_t disconnect_at; /* and then the hub tells of it; 0: it is not pulled, or that has been told */
        bool slow_to_go;        /* unplugged, the device stays in sysfs for a moment after its interface */
        uint64_t device_goes_at;
        bool comes_back;        /* unplugged, the same disk is plugged in again ... */
        uint64_t away, plug_at; /* ... after this time; when that is */
        /* how it is sick */
        bool silent_on_uas; /* answers nothing: no disk appears */
        bool silent_on_bot;
        bool garbles_on_uas;     /* shows other contents */
        bool shrinks_on_uas;     /* shows another size */
        bool stalls_on_uas;      /* hangs at full depth */
        bool machine_late;       /* what looks like a hang is a machine that stands still: the disk owes no answer */
        unsigned missing_on_uas; /* this LUN (from 1 on) does not come back */
};

enum fake_what {
        HOOK_NONE,
        HOOK_FAIL,          /* not done, returns the error */
        HOOK_SKIP,          /* of an attribute: not done, and says that it was */
        HOOK_FAIL_DONE,     /* done, returns the error all the same */
        HOOK_KILL,          /* the process is gone before it is done */
        HOOK_KILL_DONE,     /* after */
        HOOK_ORPHAN,        /* uasd-switch is gone; if it is a child's operation, that hangs */
        HOOK_UNPLUG,        /* these happen right after it */
        HOOK_PULL,          /* it answers nothing from now on; the kernel sees that it has gone `error` seconds later */
        HOOK_REPLUG,        /* pulled out, and another disk plugged in at the same port */
        HOOK_MOUNT,         /* the first partition, if the kernel lets them; PID 1's table shows it */
        HOOK_MOUNT_PRIVATE, /* in a mount namespace of its own */
        HOOK_OPEN,          /* a plain open that stays */
        HOOK_OPEN_SG,       /* of its sg node, of which inotify does not tell */
        HOOK_GLANCE,        /* a plain open, closed again */
        HOOK_WRITE,         /* opened, written to, closed again */
        HOOK_WAIT,          /* `error` seconds go by */
        HOOK_SLEEP,         /* the machine sleeps for `error` seconds */
        HOOK_SIGNAL,        /* uasd-switch gets the signal `error` */
        HOOK_RESCAN,        /* another program has the kernel scan the host for disks, as rescan-scsi-bus.sh does */
        HOOK_RESCUE,       /* the dead man's timer removes the record, and gives a disk without a driver to any (hold_rescue()) */
        HOOK_MEDIUM,       /* the medium of the first LUN is another one */
        HOOK_SHUTDOWN,     /* a shutdown job is queued */
        HOOK_CARD,         /* a card is put into the empty slot */
        HOOK_CARD_MOUNT,   /* and its partition mounted; PID 1's table shows it */
        HOOK_CARD_PRIVATE, /* in a mount namespace of its own */
        HOOK_CARD_WRITE,   /* written to, and kept open */
        HOOK_LOCK,         /* somebody takes the lock of the quirks, and keeps it */
        HOOK_LOCK_DEVICE,  /* somebody takes that of the USB device: whoever reads its strings hangs */
};

/* What happens at an operation: by its name, or by its number, counted from 1. */
struct fake_hook {
        const char *op; /* NULL: any; a prefix is enough */
        unsigned nth;   /* of those; 0: every one */
        bool on;        /* from that one on */
        enum fake_what what;
        int error;
        unsigned seen;
        bool fired;
};

/* Of a node: the kernel's own, at once, or udev's, when it is done with it. */
struct fake_event {
        unsigned number;
        uint64_t due, diskseq, asked;
        bool processed, remove, told;
        bool waits; /* udev's helper does, for the end of the switch */
        int letter;
        char name[16], interface[24];
};

struct fake {
        char path[48];
        struct roots roots;
        uint64_t clock; /* CLOCK_BOOTTIME of this kernel */
        uint64_t slept; /* how much of that it was asleep: CLOCK_MONOTONIC is behind by it */
        bool haste;     /* waits are long, and only their end is of interest */
        bool vendor;    /* usb-storage was built without UAS support */
        bool uas_loaded, uas_loadable;
        bool counts; /* the drivers are modules and count the opens */
        char quirks[128];
        struct fake_usb usb[FAKE_USB];
        unsigned n_usb;
        int hosts; /* numbers in use, a bit each */
        uint64_t diskseq;
        struct fake_event events[96];
        unsigned n_events;
        /* PID 1 */
        bool no_pid1, stopping;
        bool udev_deaf;        /* udev answers no event: its queue is stopped */
        bool lost_events;      /* nobody hears of what udev has done; it stands in its records alone */
        unsigned timers;       /* dead man's timers armed */
        uint64_t signalled_at; /* by HOOK_SIGNAL; 0: not yet */
        uint64_t files_at;     /* uas is being registered: it has its disk, and its files from then on */
        bool udev_locks;       /* a udev worker keeps the flock of every disk */
        /* what must not happen */
        unsigned lost;    /* bytes of page cache thrown away */
        unsigned at_risk; /* bytes left in a drive's cache without a driver: a power cut takes them */
        char broken[128]; /* the first oath that was broken */
        /* operations */
        struct fake_hook hooks[4];
        struct {
                pid_t pid;
                int fd;
        } claims[64]; /* descriptors that were opened O_EXCL, of any process; fake_claims() looks at what they are now */
        unsigned n_claims;
        unsigned n_ops;
        char ops[400][32];
        bool of_child[400];  /* uasd-switch has others do it */
        bool unwatched;      /* by HOOK_OPEN_SG: the count tells, and /proc */
        pid_t switcher;      /* uasd-switch itself, among its children */
        bool someone;        /* has it open by HOOK_OPEN */
        uint64_t someones;   /* the diskseq of what he opened */
        unsigned opened_at;  /* after so many operations somebody opened, wrote or mounted */
        pid_t left;          /* a child that a switch left behind; the switch that waits for it has so many pauses more... */
        unsigned left_polls; /* ...and sees it end in the last of them */
        bool early;          /* a disk was looked at before the kernel had announced it */
        bool written_late;   /* by HOOK_WRITE, one byte */
        bool refused;        /* somebody's mount failed, since the disk was claimed */
        enum driver refused_on;
};

extern struct fake *fake;

/* tree.c: a machine without a disk, then its disks */
void fakesys_make(void);
void fakesys_remove(void);
/* Plugs in a disk on its driver. `port`: "2-1". Its LUNs are there, with so many partitions each. */
struct fake_usb *fakesys_add_usb_disk(const char *port, enum driver driver, unsigned luns, unsigned partitions);
void fakesys_set_quirks(const char *string);
void fakesys_set_ids(struct fake_usb *u, unsigned vid, unsigned pid);
void fakesys_mount_table(void);
void fakesys_open_table(const char *node); /* NULL: nobody */
void fakesys_hang_on(const char *node);    /* udev and the examination, until it is unbound */
/* The folder's counterparts of what the kernel does */
_printf_(2, 3) void tree_write(const char *text, const char *format, ...);
_printf_(1, 2) void tree_remove(const char *format, ...);
_printf_(1, 2) bool tree_exists(const char *format, ...);
void tree_plug(struct fake_usb *u);
void tree_unplug_interface(struct fake_usb *u);
void tree_unplug(struct fake_usb *u);
/* Reads of its strings hang, as behind somebody who has the lock of the device. */
void tree_lock_device(const struct fake_usb *u);
void tree_driver(struct fake_usb *u);
void tree_host(struct fake_usb *u);
void tree_scsi(struct fake_usb *u, unsigned lun); /* the SCSI device alone */
void tree_scsi_state(struct fake_usb *u, unsigned lun, const char *state);
void tree_lun(struct fake_usb *u, unsigned lun);
void tree_lun_gone(struct fake_usb *u, unsigned lun);

/* kernel.c: reactions */
void kernel_write_bytes(const char *node, unsigned n); /* somebody writes, without a sync */
void kernel_last_close(const char *node);              /* and closes it, the last to have it open */
int kernel_bind(enum driver d, const char *interface);
int kernel_unbind(enum driver d, const char *interface);
int kernel_delete(const char *scsi);
int kernel_scan(int host);
int kernel_quirks(const char *text);
int kernel_probe(const char *interface);
int kernel_load_uas(void);
int kernel_trigger(const char *block);
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
void kernel_rescan(struct fake_usb *u);  /* by others: what was deleted is found again at once */
void kernel_pass(uint64_t usec);         /* time goes by, and what was due happens */
void kernel_sleeps(uint64_t usec);       /* the clock advances, and nothing happens */
bool kernel_inserts(struct fake_usb *u); /* a card into its empty slot */
void kernel_names(struct fake_lun *l, unsigned n_nodes);
struct fake_node *kernel_node(const char *name, struct fake_usb **ret_usb, struct fake_lun **ret_lun);

/* udev.c */
void udev_adds(const struct fake_usb *u, struct fake_lun *l);
void udev_removes(const struct fake_usb *u, const struct fake_lun *l);
void udev_passes(void);
bool udev_has_open(int letter); /* of a disk that is gone */
bool udev_not_announced(void);
struct fake_event *udev_due(bool processed, uint64_t since);

/* nodes.c: the node a descriptor is open on; `stale`: of a disk that is gone */
bool fake_dev_name(int fd, char ret[static 32], bool *ret_stale);
bool fake_claims(const char *name); /* a process holds a claim on the live disk */
bool fake_stale(int letter);        /* this process has a node open of a disk of that letter that is gone */

void fake_no_claim(int fd); /* this descriptor was not opened O_EXCL */

/* `mask` of inotify(7), about a node, to the claim of this process if it has one */
void fake_inotify_tell(const char *name, uint32_t mask);
void fake_inotify_end(void);

/* cards.c: a slot that is empty, and the card that comes */
void medium_changes(struct fake_usb *u, unsigned lun);
void slot_empties(struct fake_usb *u, unsigned lun);
void slot_noticed(struct fake_usb *u, struct fake_lun *l);
void somebody_with_a_card(enum fake_what what);

/* hooks.c */
int op_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
int op_end(const char *op, int r);
unsigned fake_someones_files(void); /* in this process */
void fake_someone_closes(void);
void fake_someone_is_at(const struct fake_lun *l, const char *node, int fd);
void fake_someone_unlocks(void);
void fake_pause(unsigned usec); /* in real time */
void fake_break(const char *oath, const char *name);

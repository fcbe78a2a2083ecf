/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/disk.h"
#include "core/kmsg.h"

/*
 * Evaluates the kernel's records about one disk. Signs come in bursts: one hung command causes an
 * abort, a reset and its success, and thirty of them are no worse than one. A burst counts once, by
 * its heaviest sign. A disk has failed after two heavy bursts within ten minutes, or four light
 * ones, or one after which the disk cannot be reached. Times are those of the records. Only bursts
 * under the same driver are added up.
 *
 * One episode of the SCSI layer's error handling is one burst (drivers/scsi/scsi_error.c, the same
 * from 5.10 to 7.2):
 *
 * - It begins with the first command that is not answered in time. uas_eh_abort_handler() always
 * returns FAILED, so scsi_eh_scmd_add() puts the host into SHOST_RECOVERY. From then on the host
 * takes no new command.
 * - The error handler waits until each command that was issued before has ended or has reached its
 * own timeout (host_failed == scsi_host_busy). Aborts may come with any pause between them, up to
 * the longest timeout after the first abort. It is 30 s for reads and writes (SD_TIMEOUT), twice
 * that for a flush, and 120 s for WRITE SAME (SD_WRITE_SAME_TIMEOUT). Programs may ask for more
 * (SG_IO); then an abort after the limit begins a new burst.
 * - Then it resets the disk, and sends TEST UNIT READY to each LUN (scsi_eh_test_devices()), which
 * has 10 s (SCSI_DEFAULT_EH_TIMEOUT). An abort 10 s after the success of a reset is that of such a
 * command.
 * - The kernel does not log the end. A command issued after it has at least 20 s (INQUIRY), most
 * have 30 s. So an abort or a reset more than 15 s after the last sign is of a new command: the
 * disk hangs again.
 *
 * usb-storage resets the port after each command that fails or times out
 * (usb_stor_invoke_transport()), and logs only that reset. It has one command at a time, so its
 * resets are bursts with the usual pause.
 *
 * Other signs are one burst until a pause, and at the latest after the time that one episode takes.
 *
 * Under usb-storage a sign that would be the bridge's is of unknown cause: disk, cable, power or
 * port. If it was moved off uas and fails under usb-storage as well, uas was not the cause.
 */

#define BURST_GAP_USEC 10000000ULL  /* signs with a shorter gap are one burst, */
#define BURST_MOST_USEC 32000000ULL /* if at most this has passed since the first of them, */
/* or at most this for a sign that follows from an earlier one */
#define EPISODE_MOST_USEC 60000000ULL
/* from the first abort to the reset: the longest timeout, and rounding of timers */
#define HANDLING_WAIT_USEC 125000000ULL
/* after the reset, from one sign to the next: a command of the error handler */
#define HANDLING_NEXT_USEC 15000000ULL
/* and at most this after the reset */
#define HANDLING_TESTS_USEC 60000000ULL
#define MEMORY_USEC 600000000ULL /* time for which a burst counts */
#define EXCUSE_USEC 60000000ULL  /* around a sign of bad power a bridge is not to blame */
#define BURSTS_MAX 8

struct burst {
        usec_t first, last;
        usec_t began; /* the error handling's first sign; 0: none */
        usec_t reset; /* its first reset of the disk; 0: none */
        /* One byte each: uasd keeps eight bursts for each disk. */
        enum driver driver : 8; /* DRIVER_USB_STORAGE, or DRIVER_UAS */
        enum blame blame : 8;
        enum weight weight : 8;
        const char *what;
};

/* The record of the disk under uas. */
enum trust {
        TRUST_GOOD,       /* nothing against it */
        TRUST_DISTRUSTED, /* it has failed there, and perhaps uas is the cause */
        TRUST_CLEARED,    /* it has failed there and under usb-storage: uas is not the cause */
};

struct trouble {
        struct burst bursts[BURSTS_MAX]; /* the oldest first */
        size_t n;
        enum driver
                driver; /* as set by trouble_driver(); all but DRIVER_USB_STORAGE counts as uas */
        enum trust trust;
        usec_t excuse; /* time of the last sign that excuses */
        const char *excuse_what;
        enum blame excuse_blame;
        enum blame told;   /* the last reported cause */
        uint64_t timeouts; /* number of command timeouts, as last counted by the SCSI layer */
        bool gone;
        bool asleep; /* the machine falls asleep or wakes up: a reset of the port is no fault */
};

enum findings {
        FINDING_NONE,
        FINDING_NOTED,   /* a new burst, but not enough yet */
        FINDING_BLAMED,  /* not uas' fault: reported once for each cause */
        FINDING_CLEARED, /* distrusted, but it fails under usb-storage as well: reported once.
                            `blame` has the cause */
        FINDING_BROKEN,  /* the bridge fails under uas; never under usb-storage, nor for a disk that
                            is cleared */
};

struct finding {
        enum findings finding;
        enum blame blame;
        bool fatal; /* the disk cannot be reached any more */
        unsigned bursts;
        const char *what;
};

/* Begins a new account. Driver and trust remain. Bad power is that of the port, and excuses also
 * the next driver. */
void trouble_again(struct trouble *t);

/*
 * Sets the driver that the next signs are about, and the trust in the disk. Call it when a disk
 * comes, when a switch has succeeded, and when its record in the history has changed. A disk that
 * did not answer under usb-storage after a failure under uas was not switched: its bridge may still
 * hang. FINDING_BROKEN and FINDING_CLEARED change the trust by themselves.
 */
void trouble_driver(struct trouble *t, enum driver driver, enum trust trust);

/*
 * Returns true if the sign is about this disk. *ret becomes the sign as it concerns the disk, and
 * may be the same object. If a hub above it had to be reset, the hub is to blame. host: the name of
 * its SCSI host, or "".
 */
bool sign_about(const struct sign *s, const struct facts *f, const char *host, struct sign *ret);

/* Returns true while the account has a burst at this time. */
bool trouble_pending(struct trouble *t, usec_t usec);

void trouble_take(struct trouble *t, const struct sign *s, usec_t usec, struct finding *ret);

/*
 * Writes an account as lines "KEY=text", to be kept over a restart of uasd: signs do not count
 * twice, and bursts count as long as before. trouble_take_line() reads the text of a line; one in
 * another format is -EINVAL.
 */
#define TROUBLE_TEXT_MAX ((BURSTS_MAX + 3) * (ATTACHMENT_MAX + 224))
char *trouble_text(const struct trouble *t, const char *key, char ret[static TROUBLE_TEXT_MAX]);
int trouble_take_line(struct trouble *t, const char *line);

/* ---- drops ---- */

/*
 * Disks that drop off the bus by themselves and come back, mostly because of a cable, a connector
 * or the power. For the kernel and uasd each time is an unplug and another attachment, so drops are
 * counted by port.
 *
 * A drop is a disk that is back at its port, as another device, soon after it went. Some other
 * events look the same. A user may pull the plug and put it back at once, or do that with a
 * switchable hub. A user may exchange two disks of one kind without serial numbers quickly. A
 * bridge may restart itself. This does little harm: three drops are needed, and the only result is
 * a sentence. Drops are missed if the disk comes back at another port. A USB 3 disk does so if its
 * cable works only at high speed.
 *
 * Drops are only in memory, and evaluated when a disk comes or goes: there is no timer, and a
 * restart of uasd forgets them. Times are CLOCK_BOOTTIME.
 */

#define DROP_USEC 5000000ULL /* a user mostly takes longer to unplug and plug in */
#define DROPS_MEMORY_USEC 600000000ULL
#define DROPS_ENOUGH 3
/* A disk that lost its connection during sleep comes and goes at the wakeup. Drops so soon after it
 * do not count. */
#define DROPS_WOKEN_USEC 20000000ULL
#define DROPS_PORTS_MAX 16

struct dropping {
        char port[INTERFACE_NAME_MAX]; /* "2-1"; empty: a free entry */
        uint16_t vid, pid;             /* the last disk at that port */
        char serial[USB_STRING_MAX];
        unsigned devnum;         /* its device number */
        usec_t seen;             /* time of its last event */
        bool away;               /* it has gone, and may come back */
        usec_t at[DROPS_ENOUGH]; /* times of its last drops, the oldest first */
        unsigned n;
        bool reported; /* this series was reported. It ends after DROPS_MEMORY_USEC without a drop
                        */
};

struct drops {
        struct dropping ports[DROPS_PORTS_MAX];
        bool begun;    /* `asleep` is valid: a disk has come or gone since uasd began */
        usec_t asleep; /* its last value */
        usec_t woken;  /* time at which it was seen to grow; 0: never */
};

/*
 * A disk has gone. asleep: the part of `now` that the machine has slept. explained: uasd was
 * switching it, or its bridge is known to have failed.
 */
void drops_gone(struct drops *d, const struct facts *f, bool explained, usec_t now, usec_t asleep);

/* A disk has come. Returns its number of drops if that is enough and not reported yet, else 0. */
unsigned drops_came(struct drops *d, const struct facts *f, usec_t now, usec_t asleep);

/* Returns true if the disk at this port has dropped within the memory. */
bool drops_dropped(const struct drops *d, const struct facts *f, usec_t now);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/disk.h"
#include "core/kmsg.h"

/*
 * Evaluates the kernel's records about one disk on uas. Signs come in bursts: one hung command causes an abort, a reset and its
 * success, and thirty of them are no worse than one. A burst counts once, by its heaviest sign. The bridge has failed after two
 * heavy bursts within ten minutes, or four light ones, or one after which the disk cannot be reached. Times are those of the
 * records.
 *
 * A burst ends at a pause, and at the latest when one episode of the kernel's error handling would have ended. After the first
 * abort the kernel issues no command until it has reset the disk. Each command that it issued before has its own 30 s. So the
 * aborts of one episode spread over 30 s, and a second in which timers are rounded up. The reset follows the last abort.
 */

#define BURST_GAP_USEC 10000000ULL    /* signs with a shorter gap are one burst, */
#define BURST_MOST_USEC 32000000ULL   /* if at most this has passed since the first of them, */
#define EPISODE_MOST_USEC 60000000ULL /* or at most this for a sign that follows from an earlier one */
#define MEMORY_USEC 600000000ULL      /* time for which a burst counts */
#define EXCUSE_USEC 60000000ULL       /* around a sign of bad power a bridge is not to blame */
#define BURSTS_MAX 8

struct burst {
        usec_t first, last;
        enum blame blame;
        enum weight weight;
        const char *what;
};

struct trouble {
        struct burst bursts[BURSTS_MAX]; /* the oldest first */
        size_t n;
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
        FINDING_NOTED,  /* a new burst, but not enough yet */
        FINDING_BLAMED, /* not the bridge's fault: reported once */
        FINDING_BROKEN, /* the bridge fails under uas */
};

struct finding {
        enum findings finding;
        enum blame blame;
        bool fatal; /* the disk cannot be reached any more */
        unsigned bursts;
        const char *what;
};

/* Begins a new account. Bad power is that of the port, and excuses also the next driver. */
void trouble_again(struct trouble *t);

/* True if the sign is about this disk; `controller` is the name of its controller's device. */
bool sign_is_about(const struct sign *s, const struct facts *f, const char *host);

/* Returns true while the account has a burst at this time. */
bool trouble_pending(struct trouble *t, usec_t usec);

void trouble_take(struct trouble *t, const struct sign *s, usec_t usec, struct finding *ret);

/*
 * Writes an account as lines "KEY=text", to be kept over a restart of uasd: signs do not count twice, and bursts count as long as
 * before. trouble_take_line() reads the text of a line; one in another format is -EINVAL.
 */
#define TROUBLE_TEXT_MAX ((BURSTS_MAX + 3) * (ATTACHMENT_MAX + 176))
char *trouble_text(const struct trouble *t, const char *key, char ret[static TROUBLE_TEXT_MAX]);
int trouble_take_line(struct trouble *t, const char *line);

/* ---- drops ---- */

/*
 * Disks that drop off the bus by themselves and come back, mostly because of a cable, a connector or the power. For the kernel
 * and uasd each time is an unplug and another attachment, so drops are counted by port.
 *
 * A drop is a disk that is back at its port, as another device, soon after it went. Some other events look the same. A user may
 * pull the plug and put it back at once, or do that with a switchable hub. A user may exchange two disks of one kind without
 * serial numbers quickly. A bridge may restart itself. This does little harm: three drops are needed, and the only result is a
 * sentence. Drops are missed if the disk comes back at another port. A USB 3 disk does so if its cable works only at high speed.
 *
 * Drops are only in memory, and evaluated when a disk comes or goes: there is no timer, and a restart of uasd forgets them. Times
 * are CLOCK_BOOTTIME.
 */

#define DROP_USEC 5000000ULL /* a user mostly takes longer to unplug and plug in */
#define DROPS_MEMORY_USEC 600000000ULL
#define DROPS_ENOUGH 3
/* A disk that lost its connection during sleep comes and goes at the wakeup. Drops so soon after it do not count. */
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
        bool told; /* this series was reported. It ends after DROPS_MEMORY_USEC without a drop */
};

struct drops {
        struct dropping ports[DROPS_PORTS_MAX];
        bool begun;    /* `asleep` is valid: a disk has come or gone since uasd began */
        usec_t asleep; /* its last value */
        usec_t woken;  /* time at which it was seen to grow; 0: never */
};

/*
 * A disk has gone. asleep: the part of `now` that the machine has slept. explained: uasd was switching it, or its bridge is
 * known to have failed.
 */
void drops_gone(struct drops *d, const struct facts *f, bool explained, usec_t now, usec_t asleep);

/* A disk has come. Returns its number of drops if that is enough and not reported yet, else 0. */
unsigned drops_came(struct drops *d, const struct facts *f, usec_t now, usec_t asleep);

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

void trouble_init(struct trouble *t);

/* True if the sign is about this disk; `controller` is the name of its controller's device. */
bool sign_is_about(const struct sign *s, const struct facts *f, const char *host);

/* Returns true while the account has a burst at this time. */
bool trouble_pending(struct trouble *t, usec_t usec);

void trouble_take(struct trouble *t, const struct sign *s, usec_t usec, struct finding *ret);

/*
 * Writes an account as lines of text, to be kept over a restart of uasd: signs do not count twice, and bursts count as long as
 * before. A line in another format is -EINVAL.
 */
#define TROUBLE_LINE_MAX 160
void trouble_each_line(const struct trouble *t, void (*fn)(const char *line, void *data), void *data);
int trouble_take_line(struct trouble *t, const char *line);

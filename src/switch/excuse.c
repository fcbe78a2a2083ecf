/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "common/gettext.h"
#include "core/kmsg.h"
#include "core/machine.h"
#include "core/trouble.h"
#include "switch/transaction.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"

/*
 * A disk may fail because of its machine: it had too little power, its controller died, it was
 * reset after a sleep, or an administrator has unbound it. logind's inhibitor delays a sleep for
 * five seconds, and a write to /sys/power/state asks no program.
 */

/* more than the kernel's log has; it may be filled faster than it is read */
#define RECORDS_MAX 65536

/* The kernel's reports about the disk. */
struct reports {
        /* what happened to its power or its controller around this switch; NULL: nothing */
        const char *excuse;
        bool fault; /* the bridge has failed */
};

static int open_log(const struct transaction *t)
{
        return openat(t->roots.dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void log_remember(struct transaction *t)
{
        t->log = open_log(t);
        if (t->log >= 0 && lseek(t->log, 0, SEEK_END) < 0)
                t->log = close_keep_errno(t->log);
}

static struct reports read_reports(const struct transaction *t, int log, usec_t since)
{
        struct reports reports = {0};
        struct kmsg k;
        struct sign s;

        for (unsigned i = 0; i < RECORDS_MAX && log >= 0 && kmsg_next(log, &k) > 0; i++) {
                if (k.usec < since || !sign_read(&k, &s) ||
                    !sign_about(&s, &t->disk.facts, t->disk.host, &s))
                        continue;
                /* A bad place excuses uas only if the old driver cannot read it either (reread.c).
                 */
                if (s.excuses && s.blame != BLAME_DISK)
                        reports.excuse = s.what;
                /* The number of the new host is not known. But each reset is reported about the USB
                 * device as well. */
                else if (s.blame == BLAME_BRIDGE && s.place == PLACE_DEVICE)
                        reports.fault = true;
        }
        return reports;
}

/*
 * The times in the log are those of local_clock(), which no program sets right: after weeks they
 * differ by minutes from CLOCK_MONOTONIC. So they only find what came before the switch.
 */
const char *machine_excuses(const struct transaction *t)
{
        _cleanup_close_ int whole = open_log(t);
        usec_t began = t->began.usec ?: now_awake().usec, asleep;
        struct reports before = read_reports(t, whole,
                                             began > EXCUSE_USEC ? began - EXCUSE_USEC : 0),
                       since = read_reports(t, t->log, 0);

        /* Without `began` this is a recovery, which does not know the time of the switch. */
        (void) now_and_asleep(&asleep);
        if (t->began.usec && asleep >= t->asleep + ASLEEP_LEAST_USEC)
                return N_("the machine slept meanwhile");
        if (since.excuse || before.excuse)
                return since.excuse ?: before.excuse;
        /* The kernel itself unbinds uas only after a reset that has failed. */
        if (t->taken_off && t->log >= 0 && !since.fault)
                return N_("another program has taken it off uas");
        return NULL;
}

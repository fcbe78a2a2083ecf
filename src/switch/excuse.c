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
 * A disk may fail because of its machine: it had too little power, its controller died, it was reset after a sleep, or an
 * administrator has unbound it. logind's inhibitor delays a sleep for five seconds, and a write to /sys/power/state asks no
 * program.
 */

#define RECORDS_MAX 65536 /* more than the kernel's log has; it may be filled faster than it is read */

usec_t asleep_so_far(void)
{
        usec_t awake = now_awake().usec; /* first, so that the difference is never negative */

        return now_boottime() - awake;
}

/* The kernel's reports about the disk. */
struct reports {
        const char *excuse; /* what happened to its power or its controller around this switch; NULL: nothing */
        bool fault;         /* the bridge has failed since it was bound */
};

static struct reports read_reports(const struct transaction *t)
{
        _cleanup_close_ int fd = openat(t->roots.dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        usec_t since = t->began.usec ? t->began.usec : now_awake().usec;
        struct reports reports = {0};
        struct kmsg k;
        struct sign s;

        for (unsigned i = 0; i < RECORDS_MAX && fd >= 0 && kmsg_next(fd, &k) > 0; i++) {
                if (k.usec + EXCUSE_USEC < since || !sign_read(&k, &s) || !sign_is_about(&s, &t->disk.facts, t->disk.host))
                        continue;
                if (s.excuses)
                        reports.excuse = s.what;
                /* The number of the new host is not known. But each reset is reported about the USB device as well. */
                else if (s.blame == BLAME_BRIDGE && s.place == PLACE_DEVICE && k.usec >= t->bound_at.usec)
                        reports.fault = true;
        }
        return reports;
}

const char *machine_excuses(const struct transaction *t)
{
        struct reports reports = read_reports(t);

        /* Without `began` this is a recovery, which does not know the time of the switch. */
        if (t->began.usec && asleep_so_far() >= t->asleep + ASLEEP_LEAST_USEC)
                return N_("the machine slept meanwhile");
        if (reports.excuse)
                return reports.excuse;
        /* The kernel itself unbinds uas only after a reset that has failed. */
        return t->taken_off && !reports.fault ? N_("another program has taken it off uas") : NULL;
}

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
 * A disk may fail because of its machine: it had too little power, its controller died, or it was reset after a sleep. logind's
 * inhibitor delays a sleep for five seconds, and a write to /sys/power/state asks no program.
 */

#define RECORDS_MAX 65536 /* more than the kernel's log has; it may be filled faster than it is read */

usec_t asleep_so_far(void)
{
        usec_t awake = now_awake().usec; /* first, so that the difference is never negative */

        return now_boottime() - awake;
}

/* Returns what the kernel has reported about the power or the controller of the disk, around this switch; NULL: nothing. */
static const char *reported(const struct transaction *t)
{
        _cleanup_close_ int fd = openat(t->roots.dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        usec_t since = t->began.usec ? t->began.usec : now_awake().usec;
        const char *what = NULL;
        struct kmsg k;
        struct sign s;

        for (unsigned i = 0; i < RECORDS_MAX && fd >= 0 && kmsg_next(fd, &k) > 0; i++)
                if (k.usec + EXCUSE_USEC >= since && sign_read(&k, &s) && s.excuses &&
                    sign_is_about(&s, &t->disk.facts, t->disk.host))
                        what = s.what;
        return what;
}

const char *machine_excuses(const struct transaction *t)
{
        /* Without `began` this is a recovery, which does not know the time of the switch. */
        if (t->began.usec && asleep_so_far() >= t->asleep + ASLEEP_LEAST_USEC)
                return N_("the machine slept meanwhile");
        return reported(t);
}

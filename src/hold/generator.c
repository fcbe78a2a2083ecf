/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The systemd generator. A link in its output directory says that uasd is enabled and may hold, and for how long. On any error
 * there is no link, and nothing is ever held.
 */
#include <fcntl.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "hold/allowed.h"
#include "sys/io/boot.h"
#include "sys/state/conf.h"

/* A shorter hold has no use. */
#define HOLD_MIN_USEC USEC_PER_SEC

static int generate(const struct roots *r, int dirfd)
{
        struct hold_limits l;
        struct config c;
        int k;

        if (cmdline_has(r, CMDLINE_OFF) || cmdline_has(r, CMDLINE_NO_HOLD) || !service_enabled(r))
                return 0;
        k = conf_load(r, &c, NULL, NULL);
        if (k < 0)
                return k;
        l.hold = c.hold_usec;
        config_done(&c);
        k = smallest_device_timeout(r, &l.device_timeout);
        if (k < 0)
                return k;
        /* The other half is for the events after a release, and for units that wait for the disk. */
        if (l.hold > l.device_timeout / 2)
                l.hold = l.device_timeout / 2;
        return l.hold < HOLD_MIN_USEC ? 0 : limits_write(dirfd, &l);
}

int main(int argc, char **argv)
{
        _cleanup_close_ int dirfd = -1;
        struct roots r;
        int k;

        log_open("uasd-generator", LOG_INFO);
        if (argc != 4) {
                (void) fputs("usage: uasd-generator NORMAL-DIR EARLY-DIR LATE-DIR\n", stderr);
                return 2;
        }
        dirfd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        k = dirfd < 0 ? -errno : roots_open(&r, NULL);
        if (k >= 0) {
                k = generate(&r, dirfd);
                roots_close(&r);
        }
        if (k < 0)
                log_warning("No mounts will be held: %s", k == -EBADMSG ? "a device timeout cannot be read" : strerror(-k));
        return k < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The systemd generator. A link in its output directory says that uasd is enabled and may hold, and
 * for how long. On any error there is no link, and nothing is ever held.
 */
#include <fcntl.h>
#include <sys/param.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "hold/allowed.h"
#include "sys/io/boot.h"
#include "sys/platform/off.h"
#include "sys/state/conf.h"

/* A shorter hold has no use. */
#define HOLD_MIN_USEC USEC_PER_SEC

static int limits_generate(const struct roots *roots, int dirfd)
{
        struct hold_limits l;
        struct config c;
        int r;

        if (uasd_off(roots) || cmdline_has(roots, CMDLINE_NO_HOLD) || !service_enabled(roots))
                return 0;
        r = conf_load(roots, &c, NULL, NULL);
        if (r < 0)
                return r;
        l.hold = c.hold_usec;
        config_done(&c);
        r = smallest_device_timeout(roots, &l.device_timeout);
        if (r < 0)
                return r;
        /* The other half is for the events after a release, and for units that wait for the disk.
         */
        l.hold = MIN(l.hold, l.device_timeout / 2);
        if (l.hold < HOLD_MIN_USEC)
                return 0;
        return limits_write(dirfd, &l);
}

int main(int argc, char **argv)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        _cleanup_close_ int dirfd = -1;
        int r;

        log_open("uasd-generator", LOG_INFO);
        if (argc != 4) {
                (void) fputs("usage: uasd-generator NORMAL-DIR EARLY-DIR LATE-DIR\n", stderr);
                return 2;
        }
        dirfd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = dirfd < 0 ? -errno : roots_open(&roots, NULL);
        if (r == 0)
                r = limits_generate(&roots, dirfd);
        if (r < 0) {
                log_warning("No mounts will be held: %s",
                            r == -EBADMSG ? "a device timeout cannot be read" : strerror(-r));
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}

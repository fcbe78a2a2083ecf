/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/dropin.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "sys/io/statefile.h"

/* systemd ignores keys with X- without a message. */
#define KEY_HOLD "OnActiveSec"
#define KEY_DEVICE_TIMEOUT "X-DeviceTimeoutSec"

int limits_write(int dirfd, const struct hold_limits *l)
{
        const char *link = strrchr(RUN_HOLD_ALLOWED, '/') + 1;
        char text[256];
        int r;

        /* The empty assignment drops the timer's own OnActiveSec=. */
        (void) snprintf(text, sizeof(text), "[Timer]\n" KEY_HOLD "=\n" KEY_HOLD "=%llums\n" KEY_DEVICE_TIMEOUT "=%llums\n",
                        (unsigned long long) (l->hold / USEC_PER_MSEC), (unsigned long long) (l->device_timeout / USEC_PER_MSEC));
        r = state_write(dirfd, LIMITS_DROPIN, text, false);
        if (r < 0)
                return r;
        return symlinkat(LIMITS_DROPIN, dirfd, link) < 0 && errno != EEXIST ? -errno : 0;
}

static int limits_line(const char *key, const char *value, void *data)
{
        struct hold_limits *l = data;
        usec_t *v = streq(key, KEY_HOLD) ? &l->hold : streq(key, KEY_DEVICE_TIMEOUT) ? &l->device_timeout : NULL;

        return v && *value ? parse_seconds(value, v) : 0;
}

int limits_read(const struct roots *r, struct hold_limits *ret)
{
        struct hold_limits l = {0};
        char path[128];
        int k;

        /* The link allows holds. State files are not read through links, so its target is read directly. */
        if (faccessat(r->run, RUN_HOLD_ALLOWED, R_OK, 0) < 0)
                return -errno;
        (void) snprintf(path, sizeof(path), "%.*s" LIMITS_DROPIN, (int) (strrchr(RUN_HOLD_ALLOWED, '/') + 1 - RUN_HOLD_ALLOWED),
                        RUN_HOLD_ALLOWED);
        k = state_read(r->run, path, limits_line, &l);
        if (k <= 0)
                return k < 0 ? k : -ENOENT;
        if (l.hold == 0 || l.device_timeout == 0)
                return -EBADMSG;
        *ret = l;
        return 0;
}

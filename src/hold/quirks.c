/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/quirks.h"

#include <fcntl.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "hold/early.h"
#include "sys/io/statefile.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/modprobed.h"
#include "sys/state/conf.h"

static int hold_quirks_write(const char *dir, const struct keepoff *k)
{
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char text[QUIRKS_MAX + 128];
        int r;

        if (fd < 0)
                return -errno;
        (void) snprintf(
                text, sizeof(text),
                "# By uasd: disks kept off uas, and what other files say.\noptions usb-storage quirks=%s\n",
                k->quirks);
        r = state_write(fd, "etc/modprobe.d/" MODPROBE_FILE, text, false);
        if (r < 0)
                return r;
        (void) snprintf(text, sizeof(text), KEY_QUIRKS "=%s\n", k->own);
        return state_write(fd, "etc/" RUN_QUIRKS, text, false);
}

static int hold_quirks_make(const struct roots *roots, const char *kernel, const char *dir)
{
        _cleanup_(kept_disks_done) struct kept_disks kept = {0};
        _cleanup_(keepoff_done) struct keepoff made = {0};
        _cleanup_(config_done) struct config c;
        char others[QUIRKS_MAX + 1];
        int r;

        config_init(&c);
        r = conf_load(roots, &c, NULL, NULL);
        if (r < 0)
                return r;
        r = kept_disks_read(roots, &c, kernel, &kept);
        if (r < 0)
                return r;
        r = kept_disks_read_plugged(roots, &kept);
        if (r < 0)
                return r;
        r = modprobe_quirks(roots, others);
        if (r == -ENOSPC) {
                log_warning(
                        "The quirks of usb-storage in modprobe.d are longer than the kernel takes: none is added to them.");
                return 0;
        }
        if (r < 0)
                return r;
        r = keepoff_entries(&kept, others, false, &made);
        if (r < 0)
                return r;
        for (size_t i = 0; i < made.n_left_out; i++)
                log_warning(
                        "The quirks of usb-storage, 127 characters at most, have no room for %s: %s may start on uas.",
                        made.left_out[i], made.left_out_disks[i]);
        if (!made.own[0])
                return 0;
        return hold_quirks_write(dir, &made);
}

int hold_quirks(const struct roots *roots, const char *kernel, const char *dir)
{
        int r = hold_quirks_make(roots, kernel, dir);

        if (r < 0)
                log_error("Cannot keep disks off uas in the initramfs: %s", strerror(-r));
        return r;
}

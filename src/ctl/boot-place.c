/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/boot-place.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/log.h"
#include "common/util.h"
#include "ctl/output.h"
#include "sys/quirks/initramfs.h"

/* The folder in /etc decides. The Raspberry Pi's firmware reads its own file, even if other boot loaders are installed. */
static const struct {
        const char *at, *path, *how;
} places[] = {
        {"../boot/firmware/cmdline.txt", "/boot/firmware/cmdline.txt", ", at the end of its one line"},
        {"../boot/cmdline.txt", "/boot/cmdline.txt", ", at the end of its one line"},
        {"default/grub", "/etc/default/grub", ", in GRUB_CMDLINE_LINUX=, then: update-grub"},
        {"kernel/cmdline", "/etc/kernel/cmdline", ", then make the boot entries anew (kernel-install)"},
};

static int find(const struct ctl *c)
{
        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                if (faccessat(c->client.roots.etc, places[i].at, F_OK, 0) == 0)
                        return (int) i;
        return -ENOENT;
}

const char *boot_file(const struct ctl *c)
{
        int i = find(c);

        return i < 0 ? NULL : places[i].path;
}

char *boot_place(const struct ctl *c, char *ret, size_t size)
{
        const char *command = initramfs_command(&c->client.roots);
        int i = find(c);

        if (i >= 0)
                (void) snprintf(ret, size, "On this machine it belongs into %s%s. Restart after that.", places[i].path,
                                places[i].how);
        else
                (void) snprintf(
                        ret, size,
                        "It may also be an 'options usb-storage quirks=' in /etc/modprobe.d, then: %s. Restart after that.",
                        command ?: "make the initramfs anew, if there is one");
        return ret;
}

bool boot_place_wanted(const struct view *v)
{
        return disk_has_root(&v->disk) && v->disk.decision.target == DRIVER_USB_STORAGE && v->disk.facts.driver == DRIVER_UAS;
}

void boot_place_print(const struct ctl *c, const struct view *v)
{
        char text[BOOT_PLACE_MAX];

        if (boot_place_wanted(v))
                output_sentence("Boot", boot_place(c, text, sizeof(text)));
}

void say_initramfs_is_old(const struct ctl *c)
{
        /* Only an initramfs of initramfs-tools contains policies and records. */
        if (faccessat(c->client.roots.etc, "initramfs-tools/initramfs.conf", F_OK, 0) == 0)
                log_info("The initramfs goes by what was before until it is made anew: update-initramfs -u");
}

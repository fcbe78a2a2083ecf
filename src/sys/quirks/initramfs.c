/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/initramfs.h"

#include <fcntl.h>

#include "common/util.h"

const char *initramfs_command(const struct roots *r)
{
        const struct {
                int root;
                const char *path, *command;
        } makers[] = {
                {r->etc, "initramfs-tools/initramfs.conf", "update-initramfs -u"},
                {r->etc, "mkinitcpio.conf", "mkinitcpio -P"},
                {r->etc, "dracut.conf", "dracut --force"},
                {r->lib, "dracut/dracut.conf.d", "dracut --force"},
        };

        for (size_t i = 0; i < ELEMENTSOF(makers); i++)
                if (faccessat(makers[i].root, makers[i].path, F_OK, 0) == 0)
                        return makers[i].command;
        return NULL;
}

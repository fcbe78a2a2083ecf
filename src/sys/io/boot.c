/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/boot.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/programs.h"
#include "sys/io/sysfs.h"

bool in_initramfs(const struct roots *roots)
{
        return faccessat(roots->etc, "initrd-release", F_OK, 0) == 0 ||
               faccessat(roots->etc, INITRAMFS_MARK, F_OK, 0) == 0;
}

bool cmdline_has(const struct roots *roots, const char *word)
{
        char text[4096], *save = NULL;
        bool initrd = in_initramfs(roots);

        if (attr_read(roots->proc, "cmdline", text, sizeof(text)) < 0)
                return false;
        for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
                if (streq(w, word) ||
                    (initrd && startswith(w, "rd.") && streq(w + strlen("rd."), word)))
                        return true;
        return false;
}

const char *initramfs_command(const struct roots *roots)
{
        const struct {
                int root;
                const char *path;
                enum remedy remedy;
        } makers[] = {
                {roots->etc, "initramfs-tools/initramfs.conf", REMEDY_INITRAMFS_TOOLS},
                {roots->etc, "mkinitcpio.conf", REMEDY_MKINITCPIO},
                {roots->etc, "dracut.conf", REMEDY_DRACUT},
                {roots->lib, "dracut/dracut.conf.d", REMEDY_DRACUT},
        };

        for (size_t i = 0; i < ELEMENTSOF(makers); i++)
                if (faccessat(makers[i].root, makers[i].path, F_OK, 0) == 0 &&
                    program_there(roots, remedy_rows[makers[i].remedy].program))
                        return remedy_rows[makers[i].remedy].words;
        return NULL;
}

#define RECORD_MAX 8192 /* the kernel's own limit */

int kmsg_next(int fd, struct kmsg *ret)
{
        char record[RECORD_MAX + 1];
        ssize_t n;

        do {
                n = read(fd, record, RECORD_MAX);
                if (n < 0 && errno != EPIPE && errno != EINTR &&
                    errno != EINVAL) /* overwritten by the ring buffer, or too long */
                        return -errno;
                record[n > 0 ? n : 0] = '\0';
        } while (n != 0 && kmsg_parse(record, ret) < 0);
        return n != 0;
}

int uas_probe_error(const struct roots *roots, const char *interface)
{
        _cleanup_close_ int fd =
                openat(roots->dev, "kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct kmsg k;
        int error = 0;

        while (fd >= 0 && kmsg_next(fd, &k) > 0)
                kmsg_note_probe(&k, interface, &error);
        return error;
}

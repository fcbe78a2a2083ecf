/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/devname.h"

#include "common/util.h"

static bool begins(const char *s, const char *with)
{
        return strncmp(s, with, strlen(with)) == 0;
}

enum devname devname_of(const char *name)
{
        static const char *const made_of_pages[] = {"wwn-", "scsi-", "ata-"};
        static const char id[] = "/dev/disk/by-id/";

        if (begins(name, "/dev/sd") && !strchr(name + strlen("/dev/"), '/'))
                return DEVNAME_KERNEL;
        if (begins(name, "/dev/disk/by-diskseq/"))
                return DEVNAME_DISKSEQ;
        for (size_t i = 0; begins(name, id) && i < ELEMENTSOF(made_of_pages); i++)
                if (begins(name + strlen(id), made_of_pages[i]))
                        return DEVNAME_DRIVER;
        return DEVNAME_LASTS;
}

const char *devname_why(enum devname v)
{
        static const char *const why[_DEVNAME_MAX] = {
                [DEVNAME_KERNEL] = "may name another disk after a switch, a plug or a boot",
                [DEVNAME_DRIVER] = "may exist under only one of the two drivers",
                [DEVNAME_DISKSEQ] = "changes with every switch",
        };

        return why[v];
}

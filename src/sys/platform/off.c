/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/platform/off.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "common/names.h"
#include "sys/io/boot.h"

bool switch_locks_there(const struct roots *roots)
{
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

        return fcntl(roots->run, F_OFD_GETLK, &lock) >= 0 || errno != EINVAL;
}

const char *uasd_off(const struct roots *roots)
{
        if (cmdline_has(roots, CMDLINE_OFF))
                return N_("uasd=off is on the kernel command line");
        return switch_locks_there(roots) ? NULL : NO_SWITCH_LOCKS;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include <systemd/sd-hwdb.h>

#include "ctl/verbs.h"

static char hwdb_path[4096];

int __wrap_sd_hwdb_new(sd_hwdb **ret);

int __wrap_sd_hwdb_new(sd_hwdb **ret)
{
        return sd_hwdb_new_from_path(hwdb_path, ret);
}

/* uasctl for the machine in a folder: the first argument. */
int main(int argc, char **argv)
{
        if (argc < 2)
                return fprintf(stderr, "usage: uasctl-in-tree ROOT [ARGUMENTS...]\n"), 2;
        (void) snprintf(hwdb_path, sizeof(hwdb_path), "%s/etc/udev/hwdb.bin", argv[1]);
        return program_run(uasctl_run, argc - 1, argv + 1, argv[1]);
}

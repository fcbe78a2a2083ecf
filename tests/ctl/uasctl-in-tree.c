/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include <systemd/sd-hwdb.h>

#include "common/child.h"
#include "common/util.h"
#include "ctl/verbs.h"

static char hwdb_path[4096];

int __wrap_sd_hwdb_new(sd_hwdb **ret);

int __wrap_sd_hwdb_new(sd_hwdb **ret)
{
        return sd_hwdb_new_from_path(hwdb_path, ret);
}

/* $UASCTL_AGENT is the agent that asks for a password. */
pid_t __real_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p)
{
        const char *agent = getenv("UASCTL_AGENT"), *argv[6] = {agent};
        struct program in_tree = *p;

        if (!agent || !streq(p->argv[0], "/usr/bin/pkttyagent"))
                return __real_child_spawn(p);
        for (size_t i = 1; i < ELEMENTSOF(argv) - 1 && p->argv[i]; i++)
                argv[i] = p->argv[i];
        in_tree.argv = argv;
        return __real_child_spawn(&in_tree);
}

/* uasctl for the machine in a folder: the first argument. */
int main(int argc, char **argv)
{
        if (argc < 2)
                return fprintf(stderr, "usage: uasctl-in-tree ROOT [ARGUMENTS...]\n"), 2;
        (void) snprintf(hwdb_path, sizeof(hwdb_path), "%s/etc/udev/hwdb.bin", argv[1]);
        return program_run(uasctl_run, argc - 1, argv + 1, argv[1]);
}

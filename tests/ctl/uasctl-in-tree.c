/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "ctl/verbs.h"

/* uasctl for the machine in a folder: the first argument. */
int main(int argc, char **argv)
{
        if (argc < 2)
                return fprintf(stderr, "usage: uasctl-in-tree ROOT [ARGUMENTS...]\n"), 2;
        return uasctl_run(argc - 1, argv + 1, argv[1]);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "bench/program.h"
#include "term/terminal.h"

/* uasctl-bench for the machine in a folder: the first argument. */
int main(int argc, char **argv)
{
        if (argc < 2)
                return fprintf(stderr, "usage: bench-in-tree ROOT [ARGUMENTS...]\n"), 2;
        return program_run(bench_program, argc - 1, argv + 1, argv[1]);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "bench/program.h"
#include "term/terminal.h"

int main(int argc, char **argv)
{
        return program_run(bench_program, argc, argv, NULL);
}

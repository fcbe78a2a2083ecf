/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "bench/program.h"

int main(int argc, char **argv)
{
        return bench_program(argc, argv, NULL);
}

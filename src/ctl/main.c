/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

int main(int argc, char **argv)
{
        return program_run(uasctl_run, argc, argv, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* uasctl-bench for the machine in the folder root; NULL: this machine. Returns an enum uasd_exit. */
int bench_program(int argc, char **argv, const char *root);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All of uasctl, for the machine below `root` (NULL: this one). Returns its exit status. */
int uasctl_run(int argc, char **argv, const char *root);

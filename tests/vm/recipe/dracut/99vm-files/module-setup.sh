#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For dracut: the files of one run (/vm-files) reach the root file system.

check() {
        return 0
}

install() {
        inst_multiple cmp cp rm sync
        # shellcheck disable=SC2154
        inst_hook pre-pivot 50 "$moddir/vm-files.sh"
}

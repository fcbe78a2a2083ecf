#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC1091,SC2154 # dracut sets the variables
# Module of dracut. Its number puts it behind the modules that install systemd and udev's hwdb.

check() {
        . /usr/lib/uasd/initramfs/build
        uasd_enabled
}

depends() {
        echo udev-rules
}

installkernel() {
        . /usr/lib/uasd/initramfs/build
        # shellcheck disable=SC2086
        hostonly='' instmods $uasd_modules
}

install() {
        local programs

        . /usr/lib/uasd/initramfs/build
        readarray -t programs < <(uasd_programs "$initdir")
        inst_multiple "${programs[@]}" udevadm cat mkdir sleep
        uasd_fill "$initdir" "$kernel"
        if dracut_module_included systemd; then
                inst_multiple systemctl
        else
                inst_hook pre-udev 01 "$moddir/uasd-start.sh"
                inst_hook initqueue/settled 01 "$moddir/uasd-waiting.sh"
                inst_hook pre-mount 01 "$moddir/uasd-mounting.sh"
        fi
}

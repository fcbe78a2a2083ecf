#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# dracut sources this file. It does the work of the script vm-files in recipe/root.
if [ -e /vm-files.id ] && ! cmp -s /vm-files.id "$NEWROOT/etc/vm-files.id"; then
        mount -o remount,rw "$NEWROOT"
        cp -a /vm-files/. "$NEWROOT/"
        while read -r gone; do
                rm -rf "${NEWROOT:?}/$gone"
        done </vm-files.gone
        cp /vm-files.id "$NEWROOT/etc/vm-files.id"
        sync
fi

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# dracut sources this file.
/usr/lib/uasd/initramfs/run start

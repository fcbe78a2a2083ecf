/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/*
 * With BootEntry=auto, if UAS has failed with a disk: starts the unit that writes the boot entry.
 * It decides which disks need one. Called after a change of a record, when all disks have been read
 * and the machine has booted.
 */
void boot_entry_review(struct manager *m);

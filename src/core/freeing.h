/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/* The remedies that end the uses of a disk. ret gets the operand. REMEDY_NONE: none is known. */

/* Ends a use without its process. Devices that hold the disk are below. */
enum remedy freeing_user(const struct user *u, char ret[static REMEDY_OPERAND_MAX]);
/*
 * Returns true for a use that only the end of its process ends: an open node, or a mount in another
 * mount namespace. A local user chooses the programs of such a namespace, so nothing is run in it.
 */
bool freeing_ends_process(const struct user *u);
/* Stops the service of the process. */
enum remedy freeing_unit(const struct user *u, char ret[static REMEDY_OPERAND_MAX]);
/* ignores: SIGTERM does not end the process. */
enum remedy freeing_process(const struct user *u, bool ignores,
                            char ret[static REMEDY_OPERAND_MAX]);
/*
 * Stops a device that stands on the disk: name as in sysfs ("dm-0", "md0"). mapping, uuid: of
 * dm/name and dm/uuid, empty for others.
 */
enum remedy freeing_holder(const char *name, const char *mapping, const char *uuid,
                           char ret[static REMEDY_OPERAND_MAX]);

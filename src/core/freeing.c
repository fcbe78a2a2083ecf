/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/freeing.h"

#include "common/util.h"
#include "core/disk.h"

/* Writes all of the operand, or "": then it has no command. */
static enum remedy remedy_with(enum remedy id, const char *before, const char *name,
                               const char *behind, char *ret)
{
        if (!concat(ret, REMEDY_OPERAND_MAX, before, name, behind))
                ret[0] = '\0';
        return id;
}

enum remedy freeing_unit(const struct user *u, char ret[static REMEDY_OPERAND_MAX])
{
        if (!u->unit || !endswith(u->unit, ".service") || u->unit[0] == '.')
                return REMEDY_NONE;
        /* The unit of a user's session, or of all of a user's programs, is more than the process.
         */
        if (startswith(u->unit, "user@"))
                return REMEDY_NONE;
        return remedy_with(REMEDY_STOP_UNIT, "", u->unit, "", ret);
}

enum remedy freeing_process(const struct user *u, bool ignores, char ret[static REMEDY_OPERAND_MAX])
{
        if (u->pid <= 1) /* PID 1 cannot be killed */
                return REMEDY_NONE;
        (void) snprintf(ret, REMEDY_OPERAND_MAX, "%i", (int) u->pid);
        return ignores ? REMEDY_KILL_HARD : REMEDY_KILL;
}

bool freeing_ends_process(const struct user *u)
{
        switch (u->kind) {
        case USER_MOUNT:
                return u->namespace;
        case USER_OPEN:
                return !user_is_udev(u); /* udev ends by itself */
        case USER_CLAIM:
                return !u->where;
        case USER_SWAP:
        case USER_HOLDER:
        case USER_LOOP:
        case _USER_KIND_MAX:
                break;
        }
        return false;
}

enum remedy freeing_user(const struct user *u, char ret[static REMEDY_OPERAND_MAX])
{
        static const char pool[] = "ZFS pool ";

        if (freeing_ends_process(u))
                return REMEDY_NONE;
        if (u->kind == USER_MOUNT && u->where)
                return remedy_with(REMEDY_UMOUNT, "", u->where, "", ret);
        if (u->kind == USER_SWAP && u->where)
                return remedy_with(REMEDY_SWAPOFF, "", u->where, "", ret);
        if (u->kind == USER_SWAP)
                return remedy_with(REMEDY_SWAPOFF, "/dev/", u->device, "", ret);
        if (u->kind == USER_LOOP && u->where)
                return remedy_with(REMEDY_LOOP, "/dev/", u->where, "", ret);
        if (u->kind == USER_CLAIM && startswith(u->where, pool))
                return remedy_with(REMEDY_POOL, "", u->where + strlen(pool), "", ret);
        return REMEDY_NONE;
}

/* device-mapper names a volume VG-LV, and writes a dash in a name as two. A layer of a volume has a
 * third part. */
static enum remedy remedy_volume(const char *mapping, char *ret)
{
        size_t n = 0;
        bool named = false;

        for (; *mapping; mapping++) {
                if (n + 2 > REMEDY_OPERAND_MAX || (mapping[0] == '-' && mapping[1] != '-' && named))
                        return REMEDY_NONE;
                ret[n] = *mapping;
                if (mapping[0] == '-' && mapping[1] == '-')
                        mapping++;
                else if (*mapping == '-') {
                        ret[n] = '/';
                        named = true;
                }
                n++;
        }
        ret[n] = '\0';
        if (!named)
                return REMEDY_NONE;
        return REMEDY_VOLUME;
}

enum remedy freeing_holder(const char *name, const char *mapping, const char *uuid,
                           char ret[static REMEDY_OPERAND_MAX])
{
        static const struct {
                const char *prefix;
                enum remedy remedy;
        } mappings[] = {
                {"CRYPT-VERITY-", REMEDY_VERITY},
                {"CRYPT-INTEGRITY-", REMEDY_INTEGRITY},
                {"CRYPT-", REMEDY_CRYPT},
                {"mpath-", REMEDY_MULTIPATH},
                {"", REMEDY_MAPPING},
        };
        size_t i = 0;

        if (startswith(uuid, "LVM-"))
                return remedy_volume(mapping, ret);
        if (*mapping) {
                while (!startswith(uuid, mappings[i].prefix))
                        i++;
                return remedy_with(mappings[i].remedy, "", mapping, "", ret);
        }
        if (startswith(name, "md"))
                return remedy_with(REMEDY_ARRAY, "/dev/", name, "", ret);
        if (startswith(name, "bcache"))
                return remedy_with(REMEDY_BCACHE, "/sys/block/", name, "/bcache/stop", ret);
        return REMEDY_NONE;
}

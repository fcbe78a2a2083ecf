/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk.h"

#include "common/util.h"

/* Writes all of the operand, or "": then it has no command. */
static enum remedy with(enum remedy id, const char *before, const char *name, const char *behind, char *ret)
{
        if (!concat(ret, REMEDY_OPERAND_MAX, before, name, behind))
                ret[0] = '\0';
        return id;
}

enum remedy freeing_unit(const struct user *u, char ret[static REMEDY_OPERAND_MAX])
{
        bool service = u->unit && endswith(u->unit, ".service") && u->unit[0] != '.';

        /* The unit of a user's session, or of all of a user's programs, is more than the process. */
        return service && !startswith(u->unit, "user@") ? with(REMEDY_STOP_UNIT, "", u->unit, "", ret) : REMEDY_NONE;
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
                return with(REMEDY_UMOUNT, "", u->where, "", ret);
        if (u->kind == USER_SWAP)
                return u->where ? with(REMEDY_SWAPOFF, "", u->where, "", ret) : with(REMEDY_SWAPOFF, "/dev/", u->device, "", ret);
        if (u->kind == USER_LOOP && u->where)
                return with(REMEDY_LOOP, "/dev/", u->where, "", ret);
        if (u->kind == USER_CLAIM && startswith(u->where, pool))
                return with(REMEDY_POOL, "", u->where + strlen(pool), "", ret);
        return REMEDY_NONE;
}

/* device-mapper names a volume VG-LV, and writes a dash in a name as two. A layer of a volume has a third part. */
static enum remedy volume(const char *mapping, char *ret)
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
        return named ? REMEDY_VOLUME : REMEDY_NONE;
}

enum remedy freeing_holder(const char *name, const char *mapping, const char *uuid, char ret[static REMEDY_OPERAND_MAX])
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
                return volume(mapping, ret);
        if (*mapping) {
                while (!startswith(uuid, mappings[i].prefix))
                        i++;
                return with(mappings[i].remedy, "", mapping, "", ret);
        }
        if (startswith(name, "md"))
                return with(REMEDY_ARRAY, "/dev/", name, "", ret);
        if (startswith(name, "bcache"))
                return with(REMEDY_BCACHE, "/sys/block/", name, "/bcache/stop", ret);
        return REMEDY_NONE;
}

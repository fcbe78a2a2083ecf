/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk.h"

#include "common/util.h"

#define WORD_MAX 1024

/* Quotes a word for a shell, if it needs that. Empty: it is too long. */
static const char *quoted(const char *s, char ret[static WORD_MAX])
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
        size_t used = 1;

        if (*s && strspn(s, plain) == strlen(s))
                return copy_string(ret, WORD_MAX, s) ? ret : "";
        ret[0] = '\'';
        for (; *s; s++) {
                const char *text = *s == '\'' ? "'\\''" : (const char[]){*s, '\0'};

                if (used + strlen(text) + sizeof("'") > WORD_MAX)
                        return "";
                (void) stpcpy(ret + used, text);
                used += strlen(text);
        }
        ret[used++] = '\'';
        ret[used] = '\0';
        return ret;
}

/* Writes both, or nothing if the word is too long. */
static void put_command(const char *command, const char *word, char *ret, size_t size)
{
        char text[WORD_MAX];
        const char *q = quoted(word, text);

        (void) snprintf(ret, size, "%s%s", *q ? command : "", q);
}

/* The unit of a user's session is more than the process. */
static void stop_process(const struct user *u, char *ret, size_t size)
{
        if (u->unit && endswith(u->unit, ".service") && u->unit[0] != '.' && !startswith(u->unit, "user@"))
                put_command("systemctl stop ", u->unit, ret, size);
        else if (u->pid > 1) /* PID 1 cannot be killed */
                (void) snprintf(ret, size, "kill %i", (int) u->pid);
}

static void unmount(const struct user *u, char *ret, size_t size)
{
        char inside[64];

        if (!u->where || (u->namespace && !u->pid))
                return;
        (void) snprintf(inside, sizeof(inside), "nsenter --target %i --mount umount ", (int) u->pid);
        put_command(u->namespace ? inside : "umount ", u->where, ret, size);
}

char *freeing_command(const struct user *u, bool stacked, char *ret, size_t size)
{
        static const char pool[] = "ZFS pool ";

        ret[0] = '\0';
        if (u->kind == USER_MOUNT)
                unmount(u, ret, size);
        else if (u->kind == USER_SWAP && stacked) /* the name of the volume is not known */
                (void) snprintf(ret, size, "swapoff --all");
        else if (u->kind == USER_SWAP)
                (void) snprintf(ret, size, "swapoff /dev/%s", u->device);
        else if (u->kind == USER_LOOP && u->where)
                put_command("losetup --detach /dev/", u->where, ret, size);
        else if (u->kind == USER_CLAIM && u->where && startswith(u->where, pool))
                put_command("zpool export ", u->where + strlen(pool), ret, size);
        else if (u->kind == USER_CLAIM || (u->kind == USER_OPEN && !user_is_udev(u))) /* udev ends by itself */
                stop_process(u, ret, size);
        return ret;
}

/* device-mapper names a volume VG-LV, and writes a dash in a name as two. */
static const char *volume_group(const char *mapping, char ret[static WORD_MAX])
{
        size_t n = 0;

        for (; *mapping && n + 1 < WORD_MAX; mapping++) {
                if (mapping[0] == '-' && mapping[1] != '-')
                        break;
                if (*mapping == '-')
                        mapping++;
                ret[n++] = *mapping;
        }
        ret[n] = '\0';
        return ret;
}

char *freeing_holder(const char *name, const char *mapping, const char *uuid, char *ret, size_t size)
{
        static const struct {
                const char *prefix, *command;
        } mappings[] = {
                {"CRYPT-VERITY-", "veritysetup close "},
                {"CRYPT-INTEGRITY-", "integritysetup close "},
                {"CRYPT-", "cryptsetup close "},
                {"mpath-", "multipath -f "},
                {"", "dmsetup remove "},
        };
        char group[WORD_MAX];
        size_t i = 0;

        ret[0] = '\0';
        if (startswith(uuid, "LVM-")) {
                put_command("vgchange -an ", volume_group(mapping, group), ret, size);
        } else if (*mapping) {
                while (!startswith(uuid, mappings[i].prefix))
                        i++;
                put_command(mappings[i].command, mapping, ret, size);
        } else if (startswith(name, "md")) {
                put_command("mdadm --stop /dev/", name, ret, size);
        } else if (startswith(name, "bcache")) {
                (void) snprintf(ret, size, "echo 1 >/sys/block/%s/bcache/stop", name);
        }
        return ret;
}

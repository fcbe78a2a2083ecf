/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk.h"

#include <ctype.h>
#include <stdarg.h>

#include "common/exit-codes.h"
#include "common/util.h"
#include "core/explain.h"
#include "core/history.h"

#define NAME_SIZE 96 /* one name in a sentence */

bool interface_name_valid(const char *name)
{
        const char *colon = strchr(name, ':');
        unsigned bus, configuration, interface;
        int end = 0;

        if (!colon || strlen(name) >= INTERFACE_NAME_MAX || !isdigit((unsigned char) name[0]))
                return false;
        for (const char *p = name; p < colon; p++)
                if (!isdigit((unsigned char) *p) && *p != '-' && *p != '.')
                        return false;
        return sscanf(name, "%u-%*[0-9.]:%u.%u%n", &bus, &configuration, &interface, &end) == 3 && !name[end];
}

void luns_free(struct lun *luns, size_t n)
{
        for (size_t i = 0; luns && i < n; i++)
                free(luns[i].parts);
        free(luns);
}

static void user_done(struct user *u)
{
        free(u->where);
        free(u->namespace);
        free(u->command);
        free(u->unit);
        free(u->via);
}

void users_free(struct user *users, size_t n)
{
        for (size_t i = 0; users && i < n; i++)
                user_done(&users[i]);
        free(users);
}

static void add_unnamed(struct user **users, size_t *n, enum user_kind kind, const char *node)
{
        struct user *grown = realloc(*users, (*n + 1) * sizeof(*grown));

        if (!grown)
                return;
        *users = grown;
        grown[*n] = (struct user){.kind = kind};
        (void) copy_string(grown[*n].device, sizeof(grown[*n].device), node);
        ++*n;
}

void users_opened(struct user **users, size_t *n, const char *node)
{
        if (*n == 0)
                add_unnamed(users, n, USER_OPEN, node);
}

void users_without(struct user *users, size_t *n, pid_t ours)
{
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++) {
                struct user u = users[i];

                if (ours > 0 && u.pid == ours) {
                        user_done(&u);
                        continue;
                }
                users[kept++] = u;
        }
        *n = kept;
}

bool user_is_udev(const struct user *u)
{
        return u->kind == USER_OPEN && u->command && (streq(u->command, "(udev-worker)") || streq(u->command, "systemd-udevd")) &&
               (!u->unit || streq(u->unit, "systemd-udevd.service"));
}

void users_claimed(struct user **users, size_t *n, const char *node)
{
        bool named = false;

        for (size_t i = 0; i < *n; i++)
                if ((*users)[i].kind != USER_OPEN && (*users)[i].kind != USER_LOOP)
                        return;
        for (size_t i = 0; i < *n; i++)
                if ((*users)[i].kind == USER_OPEN && strncmp((*users)[i].device, "sg", 2) != 0) {
                        (*users)[i].kind = USER_CLAIM;
                        named = true;
                }
        if (!named)
                add_unnamed(users, n, USER_CLAIM, node);
}

void disk_done(struct disk *d)
{
        if (!d)
                return;
        luns_free(d->luns, d->n_luns);
        users_free(d->users, d->n_users);
        *d = (struct disk){};
}

static bool block_is(const struct block *b, unsigned major, unsigned minor, const char **ret_name)
{
        if (!*b->name || b->major != major || b->minor != minor)
                return false;
        if (ret_name)
                *ret_name = b->name;
        return true;
}

bool luns_have(const struct lun *luns, size_t n, unsigned major, unsigned minor, const char **ret_name)
{
        for (size_t i = 0; i < n; i++) {
                if (block_is(&luns[i].disk, major, minor, ret_name))
                        return true;
                for (size_t j = 0; j < luns[i].n_parts; j++)
                        if (block_is(luns[i].parts + j, major, minor, ret_name))
                                return true;
        }
        return false;
}

/* The types that sd and sr drive (scsi_proto.h): disk, WORM, CD-ROM, optical memory, simplified disk, zoned disk. */
bool lun_awaited(const struct lun *l)
{
        unsigned type = l->scsi_type;

        return !l->disk.name[0] && (type == 0x00 || type == 0x04 || type == 0x05 || type == 0x07 || type == 0x0e || type == 0x14);
}

size_t luns_with_disk(const struct lun *luns, size_t n)
{
        size_t found = 0;

        for (size_t i = 0; i < n; i++)
                found += luns[i].disk.name[0] != '\0';
        return found;
}

char *luns_names(const struct lun *luns, size_t n, char *ret, size_t size)
{
        size_t used = 0;

        ret[0] = '\0';
        for (size_t i = 0; i < n && used + BLOCK_NAME_MAX + 2 < size; i++)
                if (luns[i].disk.name[0])
                        used += (size_t) snprintf(ret + used, size - used, "%s%s", used ? " " : "", luns[i].disk.name);
        return ret;
}

bool luns_same(const struct lun *a, size_t n_a, const struct lun *b, size_t n_b)
{
        if (n_a != n_b)
                return false;
        for (size_t i = 0; i < n_a; i++) {
                if (!streq(a[i].scsi, b[i].scsi) || !streq(a[i].disk.name, b[i].disk.name) || a[i].size != b[i].size ||
                    a[i].diskseq != b[i].diskseq || a[i].n_parts != b[i].n_parts)
                        return false;
                for (size_t j = 0; j < a[i].n_parts; j++)
                        if (!luns_have(b + i, 1, a[i].parts[j].major, a[i].parts[j].minor, NULL))
                                return false;
        }
        return true;
}

/* Writes "/mnt/usb (sda1)": the user and the place. Names come from users and devices, and are made harmless here. */
static void describe_user(const struct user *u, char *ret, size_t size)
{
        char where[NAME_SIZE] = "", command[NAME_SIZE] = "a program", pid[24] = "", namespace[NAME_SIZE] = "";

        if (u->where)
                (void) make_harmless(u->where, where, sizeof(where));
        if (u->namespace)
                (void) make_harmless(u->namespace, namespace, sizeof(namespace));
        if (u->command)
                (void) make_harmless(u->command, command, sizeof(command));
        if (u->pid > 0)
                (void) snprintf(pid, sizeof(pid), " (%ld)", (long) u->pid);

        switch (u->kind) {
        case USER_MOUNT:
                (void) snprintf(ret, size, "%s (%s%s%s)", *where ? where : "a mount", u->device, *namespace ? ", in " : "",
                                namespace);
                break;
        case USER_SWAP:
                (void) snprintf(ret, size, "swap on %s", u->device);
                break;
        case USER_HOLDER:
                (void) snprintf(ret, size, "%s (on %s)", *where ? where : "a device", u->device);
                break;
        case USER_LOOP:
                (void) snprintf(ret, size, "%s (on %s)", *where ? where : "a loop device", u->device);
                break;
        case USER_OPEN:
                (void) snprintf(ret, size, "%s%s has %s open", command, pid, u->device);
                break;
        case USER_CLAIM:
                (void) snprintf(ret, size, "%s%s has claimed %s", !u->command && *where ? where : command, pid, u->device);
                break;
        case _USER_KIND_MAX:
                ret[0] = '\0';
                break;
        }
}

/* Writes as many users as fit, and the number of the others. */
static void describe_users(const struct disk *d, char *ret, size_t size)
{
        size_t used = 0;

        ret[0] = '\0';
        for (size_t i = 0; i < d->n_users; i++) {
                char one[4 * NAME_SIZE], rest[32] = "";
                size_t left = d->n_users - i - 1;

                describe_user(d->users + i, one, sizeof(one));
                if (left > 0)
                        (void) snprintf(rest, sizeof(rest), ", and %zu more", left);
                if (used + strlen(", ") + strlen(one) + strlen(rest) >= size) {
                        (void) snprintf(ret + used, size - used, i ? ", and %zu more" : "%zu users", left + 1);
                        return;
                }
                used += (size_t) snprintf(ret + used, size - used, "%s%s", i ? ", " : "", one);
        }
}

static bool is_or_below(const char *path, const char *dir)
{
        size_t n = strlen(dir);

        return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool user_is_stacked(const struct disk *d, const struct user *u)
{
        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *h = d->users + i;

                if (h->kind == USER_HOLDER && streq(h->device, u->device) && !h->btrfs)
                        return true;
        }
        return false;
}

#define STOP_IT ", then stop what holds it (vgchange -an, cryptsetup close, mdadm --stop), or restart."

bool disk_has_root(const struct disk *d)
{
        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *u = d->users + i;

                if (u->kind == USER_MOUNT && !u->namespace && u->where && (streq(u->where, "/") || streq(u->where, "/usr")))
                        return true;
        }
        return false;
}

/* uasd cannot move this disk, by switch or policy. Only the kernel command line can, before the kernel sees the disk. */
static void say_root(const struct disk *d, char *ret, size_t size)
{
        const struct facts *f = &d->facts;
        char entry[QUIRK_ENTRY_MAX];
        struct bridge b;

        facts_bridge(f, &b);
        if (quirks_entry(f->quirks, &b, DRIVER_USB_STORAGE, entry) <= 0)
                (void) snprintf(entry, sizeof(entry), "%04x:%04x:u", f->vid, f->pid);
        (void) snprintf(ret, size, "The running system is on it, so uasd cannot switch it.");
        if (d->decision.target == DRIVER_USB_STORAGE)
                (void) snprintf(
                        ret + strlen(ret), size - strlen(ret),
                        " With usb-storage.quirks=%s on the kernel command line it starts on usb-storage: uasctl policy --kernel %s",
                        entry, f->interface);
}

char *disk_system_remedy(const struct disk *d, char *ret, size_t size)
{
        const char *remedy = "";

        ret[0] = '\0';
        if (disk_has_root(d)) {
                say_root(d, ret, size);
                return ret;
        }

        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *u = d->users + i;

                if (u->kind == USER_SWAP)
                        remedy = user_is_stacked(d, u) ? "It serves the running system: free it by swapoff" STOP_IT
                                                       : "It serves the running system: free it by swapoff, or restart.";
                if (u->kind != USER_MOUNT || u->namespace || !u->where)
                        continue;
                if (is_or_below(u->where, "/boot") || is_or_below(u->where, "/efi"))
                        remedy = user_is_stacked(d, u) ? "It serves the running system: free it by umount" STOP_IT
                                                       : "It serves the running system: free it by umount, or restart.";
        }
        (void) snprintf(ret, size, "%s", remedy);
        return ret;
}

/* Cuts off what does not fit, but not within a character: D-Bus accepts only whole ones. */
_printf_(3, 4) static void say(char *ret, size_t size, const char *format, ...)
{
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(ret, size, format, ap);
        va_end(ap);
        if (n < 0 || (size_t) n < size || size == 0)
                return;
        for (size_t end = size - 1; end > 0; end--) {
                unsigned char last = (unsigned char) ret[end - 1];

                if (last < 0x80)
                        return;
                ret[end - 1] = '\0';
                if (last >= 0xc0)
                        return;
        }
}

bool disk_went_wrong(const struct disk *d)
{
        return d->outcome.code > UASD_EXIT_OK && d->outcome.code != UASD_EXIT_DEFERRED;
}

/* Why it is not on its target. Empty: not cancelled. */
static char *say_cancelled(const struct disk *d, char *ret, size_t size)
{
        bool none = d->facts.driver == DRIVER_NONE;

        ret[0] = '\0';
        if (d->cancelled)
                say(ret, size,
                    "The switch to %s was cancelled. The disk stays %s%s until a user asks again or plugs it in again. ",
                    driver_to_string(d->decision.target), none ? "without a driver" : "on ",
                    none ? "" : driver_to_string(d->facts.driver));
        return ret;
}

/* The failure, with time and versions, if that is the reason to avoid uas. Empty: another row decides. */
static char *say_event(const struct disk *d, char *ret, size_t size)
{
        ret[0] = '\0';
        if (d->decision.reason == REASON_DISTRUSTED || d->decision.reason == REASON_TRIAL_FAILED)
                (void) history_sentence(&d->facts, ret, size);
        return ret;
}

/* The sentence of the row that decides. For distrust the event replaces it. */
static char *say_why(const struct disk *d, char *ret, size_t size)
{
        bool replaced = *say_event(d, ret, size) && d->decision.reason == REASON_DISTRUSTED;
        size_t used = strlen(ret);

        if (!replaced)
                say(ret + used, size - used, "%s%s", used ? " " : "", reason_sentence(d->decision.reason));
        return ret;
}

char *disk_reason(const struct disk *d, char *ret, size_t size)
{
        const char *target = driver_to_string(d->decision.target);
        char names[256], cancelled[160], why[2 * HISTORY_TEXT_MAX], event[HISTORY_TEXT_MAX], remedy[REMEDY_MAX];

        (void) say_why(d, why, sizeof(why));
        (void) say_event(d, event, sizeof(event));

        switch (d->state) {
        case STATE_HELD:
                say(ret, size, "uasd defers its mounts until it is on %s. %s", target, why);
                break;
        case STATE_WAITING:
                if (*d->inhibited) {
                        say(ret, size, "Waits for %s: inhibited by %s", target, d->inhibited);
                        break;
                }
                describe_users(d, names, sizeof(names));
                (void) disk_system_remedy(d, remedy, sizeof(remedy));
                if (d->facts.driver == DRIVER_NONE && disk_went_wrong(d))
                        say(ret, size, "Has no driver. uasd tries again: %s", d->outcome.text);
                else if (*names)
                        say(ret, size, "Waits for %s until nothing uses it: %s.%s%s%s%s", target, names, *remedy ? " " : "",
                            remedy, *event ? " " : "", event);
                else
                        say(ret, size, "Waits for %s until it has been free for a while.%s%s", target, *event ? " " : "", event);
                break;
        case STATE_SWITCHING:
                say(ret, size, "Is being switched to %s. %s", target, why);
                break;
        case STATE_TRIAL:
                say(ret, size, "On trial on %s: after an error uasd moves it back. %s%s", driver_to_string(d->facts.driver),
                    say_cancelled(d, cancelled, sizeof(cancelled)), why);
                break;
        case STATE_FAILED:
                say(ret, size, "%s", *d->outcome.text ? d->outcome.text : "The switch failed.");
                break;
        case STATE_SETTLED:
        case STATE_UNBOUND:
        case STATE_IGNORED:
        case STATE_INCAPABLE:
        case _STATE_MAX:
                say(ret, size, "%s%s%s%s%s%s%s", d->lease, *d->lease ? " " : "", say_cancelled(d, cancelled, sizeof(cancelled)),
                    d->unattended ? "uasd would switch it to " : "", d->unattended ? target : "",
                    d->unattended ? ", but is not running. " : "", why);
                break;
        }
        return ret;
}

char *disk_history(const struct disk *d, char *ret, size_t size)
{
        const struct facts *f = &d->facts;

        char why[HISTORY_TEXT_MAX];

        if (f->distrusted)
                say(ret, size, "distrusted: %s%s%s", history_clause(f, why, sizeof(why)), f->trial_open ? "; on trial again" : "",
                    f->initramfs_old ? "; the initramfs is older than this record" : "");
        else
                say(ret, size, "%s", f->trial_open ? "on trial" : f->trial_passed ? "passed its trial" : "");
        return ret;
}

const char *disk_reason_id(const struct disk *d)
{
        return reason_to_string(d->decision.reason);
}

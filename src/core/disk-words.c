/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk-words.h"

#include "common/exit-codes.h"
#include "common/sentence.h"
#include "common/util.h"
#include "core/disk.h"
#include "core/explain.h"
#include "core/history.h"
#include "core/policy.h"

/* The sentences about a disk. */

#define NAME_SIZE 96 /* one name in a sentence */

/* Appends a sentence that may be empty, as a whole or not at all: it may end with a command. */
static void sentence_append(char *ret, size_t size, const char *more)
{
        size_t used = strlen(ret);
        char whole[2048];

        if (!*more)
                return;
        (void) sentence(whole, sizeof(whole), "%s%s", used ? " " : "", more);
        if (used + strlen(whole) < size)
                (void) copy_string(ret + used, size - used, whole);
}

/* Names come from users and devices, and are made harmless here. */
static const char *name_or(const char *name, const char *otherwise, char ret[static NAME_SIZE])
{
        if (isempty(name))
                return otherwise;
        return make_harmless(name, ret, NAME_SIZE);
}

/* Writes "/mnt/usb (sda1)": the user and the place. */
static void describe_user(const struct user *u, char *ret, size_t size)
{
        char text[NAME_SIZE], space[NAME_SIZE], pid[24] = "";
        const char *program = u->command;

        if (u->kind == USER_CLAIM && !u->command)
                program = u->where;
        program = name_or(program, "a program", text);
        if (u->pid)
                (void) snprintf(pid, sizeof(pid), " (%ld)", (long) u->pid);
        ret[0] = '\0';
        if (u->kind == USER_MOUNT && isempty(u->namespace))
                (void) sentence(ret, size, "%s (%s)", name_or(u->where, "a mount", text),
                                u->device);
        else if (u->kind == USER_MOUNT)
                (void) sentence(ret, size, "%s (%s, in %s)", name_or(u->where, "a mount", text),
                                u->device, make_harmless(u->namespace, space, sizeof(space)));
        else if (u->kind == USER_SWAP)
                (void) sentence(ret, size, "swap on %s", u->device);
        else if (u->kind == USER_HOLDER || u->kind == USER_LOOP)
                (void) sentence(ret, size, "%s (on %s)",
                                name_or(u->where,
                                        u->kind == USER_LOOP ? "a loop device" : "a device", text),
                                u->device);
        else if (u->kind == USER_OPEN)
                (void) sentence(ret, size, "%s%s has %s open", program, pid, u->device);
        else if (u->kind == USER_CLAIM)
                (void) sentence(ret, size, "%s%s has claimed %s", program, pid, u->device);
}

#define USERS_LENGTH 256 /* of their list in English */

/* Writes as many users as are short enough, and the number of the others. */
static void describe_users(const struct disk *d, char *ret, size_t size)
{
        size_t used = 0;

        ret[0] = '\0';
        for (size_t i = 0; i < d->n_users; i++) {
                char one[5 * NAME_SIZE], rest[64] = "", plain[5 * NAME_SIZE], plain_rest[64];
                const char *comma = i ? ", " : "";
                size_t left = d->n_users - i - 1;

                describe_user(d->users + i, one, sizeof(one));
                if (left > 0)
                        (void) sentence(rest, sizeof(rest), "and %zu more", left);
                used += strlen(comma) + strlen(sentence_english(one, plain, sizeof(plain)));
                if (used + strlen(", ") + (i ? 0 : strlen(", ")) +
                            strlen(sentence_english(rest, plain_rest, sizeof(plain_rest))) >=
                    USERS_LENGTH) {
                        (void) sentence(rest, sizeof(rest), i ? "and %zu more" : "%zu users",
                                        left + 1);
                        text_add(ret, size, "%s%s", comma, rest);
                        return;
                }
                text_add(ret, size, "%s%s", comma, one);
        }
}

/* Returns true if a volume or an array is between disk and user: it keeps the disk busy after the
 * user has ended. */
static bool user_is_stacked(const struct disk *d, const struct user *u)
{
        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *h = d->users + i;

                if (h->kind == USER_HOLDER && streq(h->device, u->device) && !h->btrfs)
                        return true;
        }
        return false;
}

bool disk_has_root(const struct disk *d)
{
        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *u = d->users + i;

                if (u->kind == USER_MOUNT && !u->namespace && u->where &&
                    (streq(u->where, "/") || streq(u->where, "/usr")))
                        return true;
        }
        return false;
}

static bool user_serves_system(const struct user *u)
{
        return u->kind == USER_SWAP ||
               (u->kind == USER_MOUNT && !u->namespace && u->where &&
                (path_is_in(u->where, "/boot") || path_is_in(u->where, "/efi")));
}

bool disk_serves_system(const struct disk *d)
{
        for (size_t i = 0; i < d->n_users; i++)
                if (user_serves_system(d->users + i))
                        return true;
        return disk_has_root(d);
}

/* uasd cannot move this disk, by switch or policy. Only the kernel command line can, before the
 * kernel sees the disk. */
static void root_sentence(const struct disk *d, char *ret, size_t size)
{
        char remedy[REMEDY_MAX];

        sentence(ret, size, "The running system is on it, so uasd cannot switch it.");
        sentence(remedy, sizeof(remedy),
                 "To start it on usb-storage: uasctl policy --kernel --write %s usb-storage",
                 facts_name(&d->facts));
        if (d->decision.target == DRIVER_USB_STORAGE)
                sentence_append(ret, size, remedy);
}

static const char *system_advice(const struct user *u, bool stacked)
{
        if (stacked && u->kind == USER_SWAP)
                return "It serves the running system: turn the swap off and stop the devices on the disk, or restart.";
        if (stacked)
                return "It serves the running system: unmount it and stop the devices on the disk, or restart.";
        if (u->kind == USER_SWAP)
                return "It serves the running system: turn the swap off, or restart.";
        return "It serves the running system: unmount it, or restart.";
}

char *disk_system_remedy(const struct disk *d, char *ret, size_t size)
{
        const struct user *system = NULL;

        ret[0] = '\0';
        if (disk_has_root(d)) {
                root_sentence(d, ret, size);
                return ret;
        }

        for (size_t i = 0; i < d->n_users; i++)
                if (user_serves_system(d->users + i))
                        system = d->users + i;
        if (!system)
                return ret;
        /* The commands depend on the machine: uasctl prints them. */
        sentence(ret, size, "%s", system_advice(system, user_is_stacked(d, system)));
        return ret;
}

bool disk_went_wrong(const struct disk *d)
{
        return d->outcome.code > UASD_EXIT_OK && d->outcome.code != UASD_EXIT_DEFERRED;
}

/* Why it is not on its target. Empty: not cancelled. */
static char *cancelled_sentence(const struct disk *d, char *ret, size_t size)
{
        const char *target = driver_to_string(d->decision.target);

        ret[0] = '\0';
        if (d->cancelled && d->facts.driver == DRIVER_NONE)
                sentence(
                        ret, size,
                        "The switch to %s was cancelled. The disk stays without a driver until a user asks again or plugs it in again.",
                        target);
        else if (d->cancelled)
                sentence(
                        ret, size,
                        "The switch to %s was cancelled. The disk stays on %s until a user asks again or plugs it in again.",
                        target, driver_to_string(d->facts.driver));
        return ret;
}

/* The failure, with time and versions, if that is the reason to avoid uas. Empty: another row
 * decides. */
static char *failure_sentence(const struct disk *d, char *ret, size_t size)
{
        ret[0] = '\0';
        if (d->decision.reason == REASON_DISTRUSTED || d->decision.reason == REASON_TRIAL_FAILED)
                (void) history_sentence(&d->facts, ret, size);
        return ret;
}

const char *disk_reason(const struct disk *d, char *ret, size_t size)
{
        const char *target = driver_to_string(d->decision.target);
        char names[1024], cancelled[256], unattended[160] = "", why[2 * HISTORY_TEXT_MAX],
                                          event[HISTORY_TEXT_MAX], remedy[REMEDY_MAX];

        /* The sentence of the row that decides. For distrust the event replaces it. */
        if (!*failure_sentence(d, why, sizeof(why)) || d->decision.reason != REASON_DISTRUSTED)
                sentence_append(why, sizeof(why),
                                reason_sentence_of(&d->facts, d->decision.reason));
        (void) failure_sentence(d, event, sizeof(event));

        switch (d->state) {
        case STATE_HELD:
                sentence(ret, size, "uasd defers its mounts until it is on %s.", target);
                sentence_append(ret, size, why);
                break;
        case STATE_WAITING:
                if (d->inhibited) {
                        sentence(ret, size, "Waits for %s: inhibited by %s", target, d->inhibited);
                        break;
                }
                describe_users(d, names, sizeof(names));
                (void) disk_system_remedy(d, remedy, sizeof(remedy));
                if (d->facts.driver == DRIVER_NONE && disk_went_wrong(d))
                        sentence(ret, size, "Has no driver. uasd tries again: %s", d->outcome.text);
                else if (*names) {
                        sentence(ret, size, "Waits for %s until nothing uses it: %s.", target,
                                 names);
                        sentence_append(ret, size, event);
                        sentence_append(ret, size, remedy); /* may end with a command */
                } else {
                        sentence(ret, size, "Waits for %s until it has been free for a while.",
                                 target);
                        sentence_append(ret, size, event);
                }
                break;
        case STATE_SWITCHING:
                if (d->decision.target == DRIVER_NONE) { /* it has no driver for a moment */
                        sentence(ret, size, "Is being switched.");
                        break;
                }
                sentence(ret, size, "Is being switched to %s.", target);
                sentence_append(ret, size, why);
                break;
        case STATE_TRIAL:
                sentence(ret, size, "On trial on %s: after an error uasd moves it back.",
                         driver_to_string(d->facts.driver));
                sentence_append(ret, size, cancelled_sentence(d, cancelled, sizeof(cancelled)));
                sentence_append(ret, size, why);
                break;
        case STATE_FAILED:
                if (disk_went_wrong(d))
                        sentence(ret, size, "%s",
                                 *d->outcome.text ? d->outcome.text : "The switch failed.");
                else
                        sentence(
                                ret, size,
                                "uasd has tried %s once since it was plugged in, and does not try again by itself.",
                                target);
                break;
        case STATE_SETTLED:
        case STATE_UNBOUND:
        case STATE_IGNORED:
        case STATE_INCAPABLE:
        case _STATE_MAX:
                ret[0] = '\0';
                sentence_append(ret, size, d->lease);
                sentence_append(ret, size, cancelled_sentence(d, cancelled, sizeof(cancelled)));
                if (d->unattended)
                        sentence(unattended, sizeof(unattended),
                                 "uasd would switch it to %s, but is not running.", target);
                sentence_append(ret, size, unattended);
                sentence_append(ret, size, why);
                break;
        }
        return ret;
}

const char *disk_history(const struct disk *d, char *ret, size_t size)
{
        const struct facts *f = &d->facts;

        char why[HISTORY_TEXT_MAX];

        if (f->cleared) {
                sentence(ret, size, "cleared: it fails under usb-storage too: %s",
                         history_clause(f, why, sizeof(why)));
                return ret;
        }
        if (!f->distrusted) {
                ret[0] = '\0';
                if (f->trial_open)
                        sentence(ret, size, "on trial");
                else if (f->trial_passed)
                        sentence(ret, size, "passed its trial");
                return ret;
        }
        sentence(ret, size, "distrusted: %s", history_clause(f, why, sizeof(why)));
        if (f->trial_open)
                sentence_add(ret, size, "; %s", "on trial again");
        if (f->initramfs_old)
                sentence_add(ret, size, "; %s", "the initramfs is older than this record");
        return ret;
}

const char *disk_diagnosis(const struct disk *d, char *ret, size_t size)
{
        const struct facts *f = &d->facts;

        if (!f->trouble)
                ret[0] = '\0';
        else if (f->trouble_cause != BLAME_NONE)
                sentence(ret, size, "Not uas: %s. Under usb-storage: %s.",
                         blame_sentence(f->trouble_cause), f->trouble);
        else
                sentence(ret, size, "Not uas: disk, cable, power or port. Under usb-storage: %s.",
                         f->trouble);
        return ret;
}

const char *disk_reason_id(const struct disk *d)
{
        return reason_to_string(d->decision.reason);
}

/* ---- names of disks in files ---- */

enum devname devname_of(const char *name)
{
        static const char *const made_of_pages[] = {"wwn-", "scsi-", "ata-"};
        const char *by_id = startswith(name, "/dev/disk/by-id/");

        if (startswith(name, "/dev/sd") && !strchr(name + strlen("/dev/"), '/'))
                return DEVNAME_KERNEL;
        if (startswith(name, "/dev/disk/by-diskseq/"))
                return DEVNAME_DISKSEQ;
        for (size_t i = 0; by_id && i < ELEMENTSOF(made_of_pages); i++)
                if (startswith(by_id, made_of_pages[i]))
                        return DEVNAME_DRIVER;
        return DEVNAME_LASTS;
}

const char *devname_why(enum devname v)
{
        static const char *const why[_DEVNAME_MAX] = {
                [DEVNAME_KERNEL] = "may name another disk after a switch, a plug or a boot",
                [DEVNAME_DRIVER] = "may exist under only one of the two drivers",
                [DEVNAME_DISKSEQ] = "changes with every switch",
        };

        return why[v];
}

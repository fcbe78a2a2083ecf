/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/keepoff.h"

#include "common/util.h"
#include "core/facts.h"
#include "core/history.h"
#include "core/policy.h"
#include "core/quirk-join.h"

void kept_disks_done(struct kept_disks *k)
{
        for (size_t i = 0; i < k->n; i++)
                free(k->list[i].name);
        free(k->list);
        *k = (struct kept_disks){0};
}

struct kept_disk *kept_disk_find(const struct kept_disks *k, uint16_t vid, uint16_t pid,
                                 const char *name)
{
        for (size_t i = 0; i < k->n; i++)
                if (k->list[i].vid == vid && k->list[i].pid == pid && streq(k->list[i].name, name))
                        return k->list + i;
        return NULL;
}

struct kept_disk *kept_disk(struct kept_disks *k, uint16_t vid, uint16_t pid, const char *name)
{
        struct kept_disk *known = kept_disk_find(k, vid, pid, name),
                         new = {.vid = vid, .pid = pid, .policy = POLICY_AUTO};

        if (known)
                return known;
        new.name = strdup(name);
        if (new.name && list_push(k->list, k->n, new))
                return k->list + k->n - 1;
        free(new.name);
        return NULL;
}

enum policy kept_policy(const struct facts *f)
{
        struct facts anywhere = *f;
        struct decision d;

        if (!facts_offer_uas(f))
                return POLICY_AUTO;
        facts_for_good(&anywhere);
        /* At another port, or after the module was installed, uas may be able to drive it. */
        anywhere.no_streams = anywhere.no_sg = anywhere.uas_kept_away = false;
        decide(&anywhere, &d);
        if (d.reason == REASON_UNKNOWN_BRIDGE && d.target == DRIVER_USB_STORAGE)
                return POLICY_USB_STORAGE;
        return f->policy;
}

const char *kept_name(const struct facts *f, bool twin, char *ret, size_t size)
{
        char id[USB_ID_MAX], key[HISTORY_KEY_MAX];
        const char *serial = history_usb_id(f, id, sizeof(id)) + strlen("1234:5678:");

        if (*serial && !twin)
                (void) snprintf(ret, size, "%s", serial);
        else
                (void) snprintf(ret, size, "%s@%s", serial,
                                strrchr(history_key(f, key, sizeof(key)), '/') + 1);
        return ret;
}

int kept_disks_plugged(struct kept_disks *k, const struct facts *f, bool twin)
{
        char name[HISTORY_KEY_MAX];
        struct kept_disk *d;

        if (facts_uas_alone(f)) {
                d = kept_disk(k, f->vid, f->pid, "");
                if (!d)
                        return -ENOMEM;
                d->uas_alone = true;
        } else if (!facts_offer_uas(f)) {
                d = kept_disk_find(k, f->vid, f->pid, kept_name(f, twin, name, sizeof(name)));
                if (d)
                        d->no_uas = true;
        }
        return 0;
}

/* Returns the driver that decide() would choose, as far as records and policies show it.
 * DRIVER_NONE: they show none. */
static enum driver kept_disk_target(const struct kept_disk *d)
{
        if (d->uas_alone)
                return DRIVER_UAS;
        if (d->no_uas)
                return DRIVER_NONE;
        if (d->policy == POLICY_USB_STORAGE)
                return DRIVER_USB_STORAGE;
        if (d->policy == POLICY_UAS && d->trial_failed)
                return DRIVER_USB_STORAGE;
        if (d->policy == POLICY_UAS)
                return DRIVER_UAS;
        if (d->policy == POLICY_IGNORE)
                return DRIVER_OTHER; /* the kernel chooses */
        if (d->good)
                return DRIVER_UAS;
        if (d->distrusted)
                return DRIVER_USB_STORAGE;
        return DRIVER_NONE;
}

bool keepoff_wanted(const struct kept_disks *k, uint16_t vid, uint16_t pid)
{
        bool off = false;

        for (size_t i = 0; i < k->n; i++) {
                enum driver d = kept_disk_target(k->list + i);

                if (k->list[i].vid != vid || k->list[i].pid != pid || d == DRIVER_NONE)
                        continue;
                if (d != DRIVER_USB_STORAGE)
                        return false;
                off = true;
        }
        return off;
}

/* Notes an entry for which there is no room; name as in struct kept_disk. */
static int keepoff_leave_out(struct keepoff *k, const char *entry, uint16_t vid, uint16_t pid,
                             const char *name)
{
        char disk[USB_STRING_MAX * 4 + 16];
        size_t n = k->n_left_out;

        (void) snprintf(disk, sizeof(disk), "%04x:%04x%s%s", vid, pid,
                        *name && *name != '@' ? ":" : "", name);
        if (strv_push(&k->left_out_disks, &n, disk) < 0)
                return -ENOMEM;
        return strv_push(&k->left_out, &k->n_left_out, entry);
}

static int keepoff_add(struct keepoff *k, const struct kept_disk *d, unsigned kernel, bool instead)
{
        /* The firmware of a disk that is not plugged in is unknown: use the kernel's rows for any
         * firmware. */
        const struct bridge b = {.vid = d->vid, .pid = d->pid, .any_bcd = true, .kernel = kernel};
        char entry[QUIRK_ENTRY_MAX], others[QUIRKS_MAX + 1];

        if (quirks_entry(k->quirks, &b, DRIVER_USB_STORAGE, entry) == 0)
                return 0;
        if (instead)
                quirks_drop(k->quirks, d->vid, d->pid, others);
        else
                memcpy(others, k->quirks, sizeof(others));
        for (size_t i = 0; i < k->n_left_out; i++)
                if (streq(k->left_out[i], entry))
                        return 0;
        if (quirks_prepend(others, entry, k->quirks) < 0)
                return keepoff_leave_out(k, entry, d->vid, d->pid, d->name);
        return quirks_prepend(k->own, entry, k->own);
}

int keepoff_entries(const struct kept_disks *k, const char *others, bool instead,
                    struct keepoff *ret)
{
        _cleanup_(keepoff_done) struct keepoff made = {0};

        /* The kernel does not load usb-storage with a string that is too long. So our line does not
         * contain it. */
        if (!copy_string(made.quirks, sizeof(made.quirks), others))
                made.quirks[0] = '\0';
        for (int pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < k->n; i++) {
                        const struct kept_disk *d = k->list + i;
                        int r;

                        if (kept_disk_target(d) != DRIVER_USB_STORAGE ||
                            (d->policy == POLICY_USB_STORAGE) != (pass == 0) ||
                            !keepoff_wanted(k, d->vid, d->pid))
                                continue;
                        r = keepoff_add(&made, d, k->kernel, instead);
                        if (r < 0)
                                return r;
                }
        *ret = TAKE_STRUCT(made);
        return 0;
}

void keepoff_done(struct keepoff *k)
{
        strv_free(k->left_out);
        strv_free(k->left_out_disks);
        strv_free(k->dropped);
        *k = (struct keepoff){0};
}

/* ---- the line for the kernel ---- */

static int keepoff_make_one(const char *base, const struct facts *f, enum driver target,
                            struct keepoff *made)
{
        char entry[QUIRK_ENTRY_MAX], others[QUIRKS_MAX + 1];
        const char *valid = strlen(base) <= QUIRKS_MAX ? base : "";
        struct bridge b;

        facts_bridge(f, &b);
        if (quirks_entry(base, &b, target, entry) == 0) {
                (void) copy_string(made->quirks, sizeof(made->quirks), valid);
                return 0;
        }
        quirks_drop(valid, f->vid, f->pid, others);
        if (quirks_prepend(others, entry, made->quirks) < 0) {
                (void) copy_string(made->quirks, sizeof(made->quirks), base);
                return keepoff_leave_out(made, entry, f->vid, f->pid, f->serial);
        }
        (void) copy_string(made->own, sizeof(made->own), entry);
        return 0;
}

int kernel_line_make(const char *base, const struct kept_disks *kept, const struct facts *one,
                     enum driver target, const struct facts *const *plugged, size_t n,
                     struct keepoff *ret)
{
        _cleanup_(keepoff_done) struct keepoff made = {0};
        bool fits = strlen(base) <= QUIRKS_MAX;
        int r;

        if (one)
                r = keepoff_make_one(base, one, target, &made);
        else
                r = keepoff_entries(kept, fits ? base : "", true, &made);
        if (r < 0)
                return r;
        /* None of its entries was in force. So those of others may go, and ours come first. */
        if (!fits) {
                r = quirks_fit(made.own, base, plugged, n, made.quirks, &made.dropped);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(made);
        return 0;
}

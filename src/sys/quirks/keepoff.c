/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/keepoff.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/record.h"
#include "sys/quirks/param.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/usb/usbdisk.h"

struct disk_reading {
        const struct config *config;
        struct here here; /* the kernel for which records are judged */
        struct kept_disks disks;
};

static void disk_reading_done(struct disk_reading *d)
{
        kept_disks_done(&d->disks);
}

/*
 * A policy has the key "VID:PID:SERIAL". A record has "VID:PID:SERIAL@0000:00:14.0/ss/1.4", and so
 * has the policy of one of two disks that only their ports distinguish. Different keys of a disk
 * must lead to the same disk. Where they do not, one statement for uas is enough to leave both
 * alone. Returns 1 and the disk, 0 if the key is none, or -ENOMEM.
 */
static int kept_disk_of_key(struct disk_reading *d, const char *key, bool record,
                            struct kept_disk **ret)
{
        char serial[USB_STRING_MAX * 4] = "", name[USB_STRING_MAX * 4 + 32] = "";
        const char *tail, *port, *chain;
        struct kept_disk *disk;
        size_t n = d->disks.n;
        unsigned vid, pid;
        int end = 0;

        if (sscanf(key, "%4x:%4x:%n", &vid, &pid, &end) != 2 || end == 0)
                return 0;
        tail = key + end;
        port = strchrnul(tail, '@');
        chain = strrchr(port, '/');
        (void) copy_part(serial, sizeof(serial), tail, (size_t) (port - tail));
        (void) snprintf(name, sizeof(name), "%s", serial);
        if (*port && (!serial[0] || !record))
                text_add(name, sizeof(name), "@%s", chain ? chain + 1 : port + 1);
        disk = kept_disk(&d->disks, (uint16_t) vid, (uint16_t) pid, name);
        if (!disk)
                return -ENOMEM;
        if (d->disks.n > n) {
                unescape(serial);
                disk->policy = config_policy(d->config, disk->vid, disk->pid, serial);
        }
        *ret = disk;
        return 1;
}

static int kept_disk_take_policy(const char *key, enum policy policy, bool forced, void *data)
{
        struct kept_disk *disk;
        int r = kept_disk_of_key(data, key, false, &disk);

        if (r > 0 && policy != POLICY_AUTO) /* POLICY_AUTO: there is no policy for this disk */
                disk->policy = policy;
        return r;
}

/* Judged with the firmware of the record: that of the disk is not known. */
static int kept_disk_take_record(const char *key, const struct history *h, void *data)
{
        struct facts f = {.verdict = VERDICT_UNKNOWN, .bcd = h->firmware};
        struct disk_reading *d = data;
        struct kept_disk *disk;
        int r = kept_disk_of_key(d, key, true, &disk);

        if (r <= 0)
                return r;
        history_judge(h, &d->here, &f);
        disk->distrusted = disk->distrusted || f.distrusted;
        disk->trial_failed = disk->trial_failed || f.trial_failed;
        disk->good = disk->good || f.trial_passed || (f.trial_open && !f.distrusted);
        return 0;
}

int kept_disks_read_plugged(const struct roots *roots, struct kept_disks *k)
{
        _cleanup_strv_ char **names = NULL;
        int r = usb_disk_enumerate(roots, &names);

        if (r == -ENOMEM)
                return r;
        for (char **name = names; name && *name; name++) {
                _cleanup_(usb_disk_done) struct usb_disk d = {};

                r = usb_disk_read(roots, *name, false, &d);
                if (r > 0 && facts_uas_alone(&d.facts))
                        r = kept_disks_plugged(k, &d.facts, false);
                if (r == -ENOMEM)
                        return r;
        }
        return 0;
}

int kept_disks_read(const struct roots *roots, const struct config *c, const char *kernel,
                    struct kept_disks *ret)
{
        _cleanup_(disk_reading_done) struct disk_reading d = {.config = c};
        int r;

        for (size_t i = 0; i < c->n_rules; i++) {
                const struct disk_rule *rule = c->rules + i;
                char id[USB_ID_MAX],
                        *name = history_rule_id(rule, id, sizeof(id)) + strlen("1234:5678:");
                struct kept_disk *disk = kept_disk(&d.disks, rule->vid, rule->pid, name);

                if (!disk)
                        return -ENOMEM;
                disk->policy = rule->policy;
        }
        r = policy_each(roots, kept_disk_take_policy, &d);
        if (r < 0)
                return r;
        history_here(roots, &d.here);
        if (kernel)
                (void) copy_string(d.here.kernel, sizeof(d.here.kernel), kernel);
        d.disks.kernel = linux_version(d.here.kernel);
        r = history_each(roots, kept_disk_take_record, &d);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(d.disks);
        return 0;
}

/* Our entries in the parameter. */
struct own {
        char entries[QUIRKS_MAX + 1];
        uint64_t
                parameter; /* its inode; 0: from the initramfs, which loads usb_storage only once */
};
static const struct state_type own_type = {
        (const struct state_field[]){
                STATE_FIELD(KEY_QUIRKS, VALUE_TEXT, own, entries),
                STATE_FIELD("parameter", VALUE_NUMBER, own, parameter),
        },
        .n = 2,
};

bool keepoff_own_all(const struct roots *roots, char ret[static QUIRKS_MAX + 1])
{
        struct own own = {};
        bool same;

        ret[0] = '\0';
        if (state_load(roots->run, RUN_QUIRKS, &own_type, &own) <= 0 || !own.entries[0])
                return true;
        same = own.parameter == quirks_param_inode(roots);
        if (same || own.parameter == 0)
                memcpy(ret, own.entries, sizeof(own.entries));
        return same;
}

void keepoff_own(const struct roots *roots, uint16_t vid, uint16_t pid,
                 char ret[static QUIRK_ENTRY_MAX])
{
        char own[QUIRKS_MAX + 1];

        (void) keepoff_own_all(roots, own);
        (void) quirks_entry_of(own, vid, pid, ret);
}

static int keepoff_own_write(const struct roots *roots, const char *entries)
{
        struct own own = {.parameter = quirks_param_inode(roots)};

        (void) copy_string(own.entries, sizeof(own.entries), entries);
        return state_store(roots->run, RUN_QUIRKS, &own_type, &own);
}

/* From the last to the first, since each is put before the others. */
static int keepoff_each_entry(const struct roots *roots, char *entries,
                              int (*fn)(const struct roots *, const char *))
{
        int n = 0;

        while (*entries) {
                char *last = strrchr(entries, ',');
                int r = fn(roots, last ? last + 1 : entries);

                if (r < 0)
                        return r;
                *(last ?: entries) = '\0';
                n++;
        }
        return n;
}

int keepoff_apply(const struct roots *roots, const struct kept_disks *kept, bool known,
                  struct keepoff *ret)
{
        _cleanup_close_ int lock = quirks_lock(roots, 0);
        _cleanup_(keepoff_done) struct keepoff made = {};
        char now[QUIRKS_MAX + 1], own[QUIRKS_MAX + 1], others[QUIRKS_MAX + 1],
                stale[QUIRKS_MAX + 1], missing[QUIRKS_MAX + 1];
        bool on_record;
        int r, out, in;

        if (lock < 0)
                return lock;
        r = quirks_param_read(roots, now);
        if (r < 0)
                return r;
        on_record = keepoff_own_all(roots, own);
        quirks_without(now, known ? own : "", others);
        r = keepoff_entries(kept, others, false, &made);
        if (r < 0)
                return r;
        quirks_without(own, made.own, stale);
        quirks_without(made.own, now, missing);
        if (!known) { /* facts that are not known yet may need these entries */
                if (stale[0] && quirks_prepend(made.own, stale, made.own) < 0)
                        return -ENOSPC;
                stale[0] = '\0';
        }
        /* If uasd is killed in here, the list on record still names all of our entries in the
         * parameter. */
        out = keepoff_each_entry(roots, stale, quirks_param_pop);
        if (out < 0)
                return out;
        if (!streq(own, made.own) || !on_record) {
                r = keepoff_own_write(roots, made.own);
                if (r < 0)
                        return r;
        }
        in = keepoff_each_entry(roots, missing, quirks_param_push);
        if (in < 0)
                return in;
        *ret = TAKE_STRUCT(made);
        return out + in > 0;
}

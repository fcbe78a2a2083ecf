/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/keepoff.h"

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "core/keepoff.h"
#include "daemon/feature/boot-entry.h"
#include "sys/io/pid1.h"
#include "sys/quirks/keepoff.h"
#include "sys/state/store.h"

/* A bind has the lock for milliseconds, unless it hangs. No event reports its end. */
#define PAUSE_MIN (100 * USEC_PER_MSEC)
#define PAUSE_MAX (30 * USEC_PER_SEC)
#define SEEN_MAX 64

/* Reports only changes, since this runs for every new disk. */
static void keepoff_report_left_out(struct manager *m, const struct keepoff *made)
{
        char disks[sizeof(m->keepoff.left_out)] = "";

        for (size_t i = 0; i < made->n_left_out; i++)
                text_add(disks, sizeof(disks), "%s ", made->left_out_disks[i]);
        if (streq(disks, m->keepoff.left_out))
                return;
        memcpy(m->keepoff.left_out, disks, sizeof(disks));
        for (size_t i = 0; i < made->n_left_out; i++)
                log_warning(
                        "The quirks of usb-storage, 127 characters at most, have no room for %s: %s may start on uas.",
                        made->left_out[i], made->left_out_disks[i]);
}

/* At the start, uasd calls it again when all disks have been read. */
static void keepoff_look(struct manager *m, void *data)
{
        if (m->looked && keepoff_review(m, NULL))
                queue_post(m, POST_RESCAN_ALL);
        boot_entry_review(m);
}

static void keepoff_look_again(void *data)
{
        queue_call(data, keepoff_look, NULL);
}

/*
 * The event of the first disk loads usb_storage and uas, and the disk is on uas before uasd can
 * write the parameter. So usb_storage must be loaded earlier. uasd may not load it itself; modprobe
 * sets the parameter from modprobe.d.
 */
static void keepoff_load_storage(struct manager *m)
{
        int r;

        if (m->keepoff.pid1 || m->env.stopping)
                return;
        log_info("PID 1 is asked to load " MODULE_STORAGE
                 ", for disks that are to be kept off uas");
        r = pid1_start_later(&m->roots, m->event, UNIT_MODPROBE(MODULE_STORAGE), &m->keepoff.pid1);
        if (r < 0)
                log_warning("PID 1 cannot be asked to load " MODULE_STORAGE ": %s", strerror(-r));
}

/* Returns true if an empty parameter would get entries: then usb_storage must be loaded. */
static bool keepoff_any(const struct kept_disks *kept)
{
        _cleanup_(keepoff_done) struct keepoff made = {};

        return keepoff_entries(kept, "", false, &made) >= 0 && made.own[0];
}

/* why: -ETIMEDOUT or -ENOENT, from keepoff_apply(). */
static void keepoff_try_again(struct manager *m, int why)
{
        usec_t last = m->keepoff.pause;

        if (m->keepoff.again.timer)
                return;
        /* given up: later events try it again, but PID 1 is not asked again */
        if (why == -ENOENT && last == PAUSE_MAX)
                return;
        if (last == 0 && why == -ENOENT)
                keepoff_load_storage(m);
        else if (last == 0)
                log_debug(
                        "a switch is at the quirks of usb-storage: what they have to say of other disks waits for it");
        m->keepoff.pause = 2 * last;
        if (last == 0)
                m->keepoff.pause = PAUSE_MIN;
        else if (last >= PAUSE_MAX / 2)
                m->keepoff.pause = PAUSE_MAX;
        if (why == -ENOENT && m->keepoff.pause == PAUSE_MAX)
                log_warning(MODULE_STORAGE
                            " is not loaded: disks that are to be kept off uas may start on it");
        (void) later_call(&m->keepoff.again, m->event, m->keepoff.pause, keepoff_look_again, m);
}

void keepoff_schedule(struct manager *m)
{
        m->keepoff.due = true;
        queue_call(m, keepoff_look, NULL);
}

void keepoff_see(struct entry *e, const struct facts *now)
{
        struct manager *m = e->manager;
        enum policy policy = kept_policy(now);
        char name[HISTORY_KEY_MAX];
        struct kept_disk *k;

        (void) kept_name(now, disk_has_twin(e), name, sizeof(name));
        k = kept_disk_find(&m->keepoff.seen, now->vid, now->pid, name);
        /* The parameter has room for about ten entries, and a device may have a new serial number
         * each time. */
        if (!k && policy != POLICY_AUTO && m->keepoff.seen.n < SEEN_MAX)
                k = kept_disk(&m->keepoff.seen, now->vid, now->pid, name);
        if (!k || k->policy == policy)
                return;
        k->policy = policy;
        m->keepoff.version = 0;
        keepoff_schedule(m);
}

static int keepoff_add_seen(const struct kept_disks *seen, struct kept_disks *kept)
{
        for (size_t i = 0; i < seen->n; i++) {
                const struct kept_disk *s = seen->list + i;
                struct kept_disk *k;

                if (s->policy == POLICY_AUTO)
                        continue;
                k = kept_disk(kept, s->vid, s->pid, s->name);
                if (!k)
                        return -ENOMEM;
                k->policy = s->policy;
        }
        return 0;
}

/* Reads the files only if they have changed: this is asked for every disk that comes or goes. */
static int keepoff_read_kept(struct manager *m)
{
        unsigned version = 1 + store_version(&m->roots, STATE_POLICY) +
                           store_version(&m->roots, STATE_HISTORY);
        struct keepoff_state *k = &m->keepoff;
        int r;

        if (k->version == version)
                return 0;
        kept_disks_done(&k->kept);
        k->version = 0;
        r = kept_disks_read(&m->roots, &m->config, NULL, &k->kept);
        if (r < 0)
                return r;
        r = keepoff_add_seen(&k->seen, &k->kept);
        if (r < 0)
                return r;
        k->version = version;
        return 0;
}

/* Before all disks have been read, sysfs is asked: an entry for a disk that supports only UAS
 * leaves it without a driver. */
static int keepoff_add_plugged(struct manager *m, const struct facts *came)
{
        struct kept_disks *kept = &m->keepoff.kept;
        int r = 0;

        for (size_t i = 0; i < kept->n; i++)
                kept->list[i].uas_alone = kept->list[i].no_uas = false;
        if (came)
                r = kept_disks_plugged(kept, came, false);
        if (!m->looked)
                return kept_disks_read_plugged(&m->roots, kept);
        if (r < 0)
                return r;
        FOREACH_ENTRY (e, m) {
                const struct facts *f = &e->life.disk.facts;

                /* Only the name of a disk without UAS is needed, and its twins are looked for among
                 * all disks. */
                r = kept_disks_plugged(kept, f,
                                       kept->n > 0 && !facts_offer_uas(f) && disk_has_twin(e));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int keepoff_write(struct manager *m, const struct facts *came, struct keepoff *ret)
{
        int r;

        r = keepoff_read_kept(m);
        if (r < 0)
                return r;
        r = keepoff_add_plugged(m, came);
        if (r < 0)
                return r;
        return keepoff_apply(&m->roots, &m->keepoff.kept, m->env.booted && m->looked, ret);
}

bool keepoff_review(struct manager *m, const struct facts *came)
{
        _cleanup_(keepoff_done) struct keepoff made = {};
        int r;

        if (!m->keepoff.due)
                return false;
        r = keepoff_write(m, came, &made);
        if (r == -ETIMEDOUT || (r == -ENOENT && keepoff_any(&m->keepoff.kept)))
                keepoff_try_again(m, r);
        if (r == -ENOENT || r == -ETIMEDOUT)
                return false;
        m->keepoff.due = false;
        later_cancel(&m->keepoff.again);
        m->keepoff.pause = 0;
        if (r < 0) {
                log_warning(
                        "the quirks of usb-storage do not keep off uas what is wanted on usb-storage: %s",
                        strerror(-r));
                return false;
        }
        keepoff_report_left_out(m, &made);
        if (r > 0)
                log_info("kept off uas by the quirks of usb-storage: %s",
                         made.own[0] ? made.own : "nothing any more");
        return r > 0;
}

void keepoff_forget(struct manager *m, const char *id)
{
        unsigned vid, pid;

        if (sscanf(id, "%4x:%4x:", &vid, &pid) != 2)
                return;
        for (size_t i = 0; i < m->keepoff.seen.n; i++) {
                struct kept_disk *d = m->keepoff.seen.list + i;

                if (d->vid == vid && d->pid == pid &&
                    strncmp(id + strlen("1234:5678:"), d->name, strcspn(d->name, "@")) == 0)
                        d->policy = POLICY_AUTO;
        }
        m->keepoff.version = 0;
        keepoff_schedule(m);
}

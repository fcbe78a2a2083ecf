/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/attachment.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/record.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "sys/usb/usbdisk.h"

#define LOCK_BUDGET USEC_PER_SEC

#define HOLD_PATH(interface) path_join(RUN_HOLD "/", interface)
static const struct state_type hold_type = {
        (const struct state_field[]){
                STATE_FIELD("BUSNUM", VALUE_NUMBER, hold_mark, attachment.busnum),
                STATE_FIELD("DEVNUM", VALUE_NUMBER, hold_mark, attachment.devnum),
                STATE_FIELD("INODE", VALUE_NUMBER, hold_mark, attachment.inode),
                STATE_FIELD("DEADLINE", VALUE_NUMBER, hold_mark, deadline),
        },
        .n = 4,
};

int hold_write(const struct roots *r, const char *interface, const struct hold_mark *m)
{
        return state_store(r->run, HOLD_PATH(interface), &hold_type, m);
}

int hold_read(const struct roots *r, const char *interface, struct hold_mark *ret)
{
        struct hold_mark m = {};
        int k = state_load(r->run, HOLD_PATH(interface), &hold_type, &m);

        if (k > 0)
                *ret = m;
        return k;
}

int hold_remove(const struct roots *r, const char *interface)
{
        return state_remove(r->run, HOLD_PATH(interface));
}

#define MARK_PATH(f) path_join(RUN_ATTACHMENT "/", facts_attachment(f, (char[ATTACHMENT_MAX]){}))
static const struct state_field mark_fields[] = {
        STATE_FIELD("EARLY", VALUE_FLAG, attachment_mark, early),
        STATE_FIELD("TRIED", VALUE_FLAG, attachment_mark, tried),
        STATE_FIELD("RELEASED", VALUE_FLAG, attachment_mark, released),
        STATE_FIELD("NO_AUTO", VALUE_FLAG, attachment_mark, no_auto),
        STATE_FIELD("CANCELLED", VALUE_FLAG, attachment_mark, cancelled),
        STATE_FIELD("OVERRIDE", VALUE_DRIVER, attachment_mark, override_target),
        STATE_FIELD("OVERRIDE_FORCED", VALUE_FLAG, attachment_mark, override_forced),
        STATE_FIELD("UNTOLD", VALUE_FLAG, attachment_mark, untold),
        STATE_FIELD("LEASE", VALUE_DRIVER, attachment_mark, lease),
        STATE_FIELD("SWITCHED_TO", VALUE_DRIVER, attachment_mark, switched_to),
        STATE_FIELD("TROUBLE", VALUE_TEXT, attachment_mark, trouble),
};
static const struct state_type mark_type = {mark_fields, ELEMENTSOF(mark_fields), false};
static const unsigned marks_of[ELEMENTSOF(mark_fields)] = {
        0,           MARK_TRIED, MARK_RELEASED, MARK_NO_AUTO, MARK_CANCELLED, MARK_OVERRIDE, MARK_OVERRIDE,
        MARK_UNTOLD, MARK_LEASE, MARK_SWITCHED, MARK_TROUBLE,
};

int attachment_read(const struct roots *r, const struct facts *f, struct attachment_mark *ret)
{
        struct attachment_mark m = {};
        int k = state_load(r->run, MARK_PATH(f), &mark_type, &m);

        if (k >= 0)
                *ret = m;
        return k;
}

bool attachment_fresh(const struct roots *r, const struct facts *f)
{
        struct attachment_mark a = {};

        if (attachment_read(r, f, &a) < 0)
                return false;
        return in_initramfs(r) ? !a.early : !a.tried && !a.released && !a.cancelled;
}

static int attachment_write(const struct roots *r, const struct facts *f, const struct attachment_mark *m)
{
        return state_store(r->run, MARK_PATH(f), &mark_type, m);
}

static int attachment_lock(const struct roots *r)
{
        return state_lock(r->run, RUN_ATTACHMENT_LOCK, awake_in(LOCK_BUDGET));
}

/* Returns true if one of the fields has changed. */
static bool take_fields(struct attachment_mark *m, unsigned fields, const struct attachment_mark *to)
{
        bool changed = false;

        for (size_t i = 0; i < ELEMENTSOF(mark_fields); i++) {
                const struct state_field *f = mark_fields + i;
                char *at = (char *) m + f->offset;
                const char *new = (const char *) to + f->offset;

                if (!(fields & marks_of[i]) || memcmp(at, new, f->size) == 0)
                        continue;
                memcpy(at, new, f->size);
                changed = true;
        }
        return changed;
}

int attachment_change(const struct roots *r, const struct facts *f, unsigned fields, const struct attachment_mark *to)
{
        _unused_ _cleanup_close_ int locked = attachment_lock(r);
        struct attachment_mark m;
        int k = attachment_read(r, f, &m);
        bool changed;

        if (k < 0)
                return k;
        if (in_initramfs(r)) {
                changed = !m.early;
                m.early = true;
        } else
                changed = take_fields(&m, fields, to);
        /* A device that has gone gets no mark. */
        return changed ? attachment_write(r, f, &m) : 0;
}

int attachment_drop_override(const struct roots *r, const struct facts *f, enum driver target)
{
        _unused_ _cleanup_close_ int locked = attachment_lock(r);
        struct attachment_mark m;
        int k = attachment_read(r, f, &m);

        if (k < 0 || m.override_target != target)
                return k;
        (void) take_fields(&m, MARK_OVERRIDE, &(struct attachment_mark){});
        return attachment_write(r, f, &m);
}

/* Read through the interface: usb_disconnect() removes the interfaces first, and the device some time later. */
int attachment_now(const struct roots *r, const char *interface, struct attachment_id *ret)
{
        return usb_attachment_read(r->sys, path_join(SYSFS_USB_DEVICES "/", interface, "/.."), ret);
}

static bool is_attached(const struct roots *r, const char *interface, struct attachment_id id)
{
        struct attachment_id now;

        return attachment_now(r, interface, &now) >= 0 && attachment_id_same(now, id);
}

/* name: "2-1:1.0@2-5-4711". False also for the name of another file. */
static bool has_gone(const struct roots *r, const char *name)
{
        const char *at = strchr(name, '@');
        char interface[INTERFACE_NAME_MAX];
        struct attachment_id id;

        return at && copy_part(interface, sizeof(interface), name, (size_t) (at - name)) && attachment_id_parse(at + 1, &id) &&
               !is_attached(r, interface, id);
}

int attachments_prune(const struct roots *r, const char *port)
{
        static const char *const dirs[] = {RUN_ATTACHMENT, RUN_STRINGS};
        const char *interfaces = port ? path_join(port, ":") : "";
        _cleanup_strv_ char **holds = NULL;
        int k = 0, n;

        for (size_t d = 0; d < ELEMENTSOF(dirs); d++) {
                _cleanup_strv_ char **names = NULL;

                n = dir_list(r->run, dirs[d], interfaces, &names);
                if (n < 0 && n != -ENOENT)
                        k = n;
                for (int i = 0; i < n; i++)
                        if (has_gone(r, names[i]))
                                (void) state_remove(r->run, path_join(dirs[d], "/", names[i]));
        }
        n = dir_list(r->run, RUN_HOLD, interfaces, &holds);
        for (int i = 0; i < n; i++) {
                struct hold_mark m;

                if (hold_read(r, holds[i], &m) > 0 && !is_attached(r, holds[i], m.attachment))
                        (void) hold_remove(r, holds[i]);
        }
        return k;
}

const char *attachment_arg(const struct facts *f, char ret[static ATTACHMENT_ARG_MAX])
{
        char id[ATTACHMENT_ID_MAX];

        (void) snprintf(ret, ATTACHMENT_ARG_MAX, "--attachment=%s", attachment_id_text(facts_attachment_id(f), id));
        return ret;
}

bool hold_in_force(const struct roots *r, const struct facts *f, usec_t now, usec_t *ret_deadline)
{
        struct attachment_mark a;
        struct hold_mark m;

        if (hold_read(r, f->interface, &m) <= 0 || !attachment_id_same(m.attachment, facts_attachment_id(f)) ||
            m.deadline <= now || m.deadline - now > HOLD_MAX_USEC)
                return false;
        if (attachment_read(r, f, &a) < 0 || a.released)
                return false;
        if (ret_deadline)
                *ret_deadline = m.deadline;
        return true;
}

int hold_release(const struct roots *r, const struct facts *f)
{
        struct attachment_mark released = {.early = true, .released = true};
        struct hold_mark mark;
        int k = attachment_change(r, f, MARK_RELEASED, &released), m = 0;

        if (k < 0) /* unreadable: make sure that it is never held again */
                k = attachment_write(r, f, &released);
        /* The mark may belong to the next device at this port. */
        if (hold_read(r, f->interface, &mark) <= 0 || attachment_id_same(mark.attachment, facts_attachment_id(f)))
                m = hold_remove(r, f->interface);
        /* One of the two is enough. Without a mark no hold begins again either, since PID 1 has seen the disk. */
        return k < 0 && m < 0 ? k : 0;
}

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

int hold_write(const struct roots *roots, const char *interface, const struct hold_mark *m)
{
        return state_store(roots->run, HOLD_PATH(interface), &hold_type, m);
}

int hold_read(const struct roots *roots, const char *interface, struct hold_mark *ret)
{
        struct hold_mark m = {};
        int r = state_load(roots->run, HOLD_PATH(interface), &hold_type, &m);

        if (r <= 0)
                return r;
        *ret = m;
        return r;
}

int hold_remove(const struct roots *roots, const char *interface)
{
        return state_remove(roots->run, HOLD_PATH(interface));
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
        STATE_FIELD("TAKEN_BY", VALUE_TEXT, attachment_mark, taken_by),
        STATE_FIELD("TOLD", VALUE_NUMBER, attachment_mark, told),
};
static const struct state_type mark_type = {mark_fields, ELEMENTSOF(mark_fields), false};
static const unsigned marks_of[ELEMENTSOF(mark_fields)] = {
        0,
        MARK_TRIED,
        MARK_RELEASED,
        MARK_NO_AUTO,
        MARK_CANCELLED,
        MARK_OVERRIDE,
        MARK_OVERRIDE,
        MARK_UNTOLD,
        MARK_LEASE,
        MARK_SWITCHED,
        MARK_TROUBLE,
        MARK_TAKEN,
        MARK_TOLD,
};

int attachment_read(const struct roots *roots, const struct facts *f, struct attachment_mark *ret)
{
        struct attachment_mark m = {};
        int r = state_load(roots->run, MARK_PATH(f), &mark_type, &m);

        if (r < 0)
                return r;
        *ret = m;
        return r;
}

bool attachment_fresh(const struct roots *roots, const struct facts *f)
{
        struct attachment_mark a = {};

        if (attachment_read(roots, f, &a) < 0)
                return false;
        if (in_initramfs(roots))
                return !a.early;
        return !a.tried && !a.released && !a.cancelled;
}

static int attachment_write(const struct roots *roots, const struct facts *f,
                            const struct attachment_mark *m)
{
        return state_store(roots->run, MARK_PATH(f), &mark_type, m);
}

static int attachment_lock(const struct roots *roots)
{
        return state_lock(roots->run, RUN_ATTACHMENT_LOCK, awake_in(LOCK_BUDGET));
}

bool attachment_mark_take(struct attachment_mark *m, unsigned fields,
                          const struct attachment_mark *to)
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

int attachment_change(const struct roots *roots, const struct facts *f, unsigned fields,
                      const struct attachment_mark *to)
{
        _unused_ _cleanup_close_ int locked = attachment_lock(roots);
        struct attachment_mark m;
        int r = attachment_read(roots, f, &m);
        bool changed;

        if (r < 0)
                return r;
        if (in_initramfs(roots)) {
                changed = !m.early;
                m.early = true;
        } else
                changed = attachment_mark_take(&m, fields, to);
        if (!changed)
                return 0; /* a device that has gone gets no mark */
        return attachment_write(roots, f, &m);
}

int attachment_drop_override(const struct roots *roots, const struct facts *f, enum driver target)
{
        _unused_ _cleanup_close_ int locked = attachment_lock(roots);
        struct attachment_mark m;
        int r = attachment_read(roots, f, &m);

        if (r < 0 || m.override_target != target)
                return r;
        (void) attachment_mark_take(&m, MARK_OVERRIDE, &(struct attachment_mark){});
        return attachment_write(roots, f, &m);
}

/* Read through the interface: usb_disconnect() removes the interfaces first, and the device some
 * time later. */
int attachment_now(const struct roots *roots, const char *interface, struct attachment_id *ret)
{
        return usb_attachment_read(roots->sys, path_join(SYSFS_USB_DEVICES "/", interface, "/.."),
                                   ret);
}

static bool attachment_is_there(const struct roots *roots, const char *interface,
                                struct attachment_id id)
{
        struct attachment_id now;

        return attachment_now(roots, interface, &now) >= 0 && attachment_id_same(now, id);
}

/* name: "2-1:1.0@2-5-4711". False also for the name of another file. */
static bool attachment_has_gone(const struct roots *roots, const char *name)
{
        const char *at = strchr(name, '@');
        char interface[INTERFACE_NAME_MAX];
        struct attachment_id id;

        return at && copy_part(interface, sizeof(interface), name, (size_t) (at - name)) &&
               attachment_id_parse(at + 1, &id) && !attachment_is_there(roots, interface, id);
}

int attachments_prune(const struct roots *roots, const char *port)
{
        static const char *const dirs[] = {RUN_ATTACHMENT, RUN_STRINGS};
        const char *interfaces = port ? path_join(port, ":") : "";
        _cleanup_strv_ char **holds = NULL;
        int r = 0, n;

        for (size_t d = 0; d < ELEMENTSOF(dirs); d++) {
                _cleanup_strv_ char **names = NULL;

                n = dir_list(roots->run, dirs[d], interfaces, &names);
                if (n < 0 && n != -ENOENT)
                        r = n;
                for (int i = 0; i < n; i++)
                        if (attachment_has_gone(roots, names[i]))
                                (void) state_remove(roots->run, path_join(dirs[d], "/", names[i]));
        }
        n = dir_list(roots->run, RUN_HOLD, interfaces, &holds);
        for (int i = 0; i < n; i++) {
                struct hold_mark m;

                if (hold_read(roots, holds[i], &m) > 0 &&
                    !attachment_is_there(roots, holds[i], m.attachment))
                        (void) hold_remove(roots, holds[i]);
        }
        return r;
}

const char *attachment_arg(const struct facts *f, char ret[static ATTACHMENT_ARG_MAX])
{
        char id[ATTACHMENT_ID_MAX];

        (void) snprintf(ret, ATTACHMENT_ARG_MAX, "--attachment=%s",
                        attachment_id_text(facts_attachment_id(f), id));
        return ret;
}

bool hold_in_force(const struct roots *roots, const struct facts *f, usec_t now,
                   usec_t *ret_deadline)
{
        struct attachment_mark a;
        struct hold_mark m;

        if (hold_read(roots, f->interface, &m) <= 0 ||
            !attachment_id_same(m.attachment, facts_attachment_id(f)) || m.deadline <= now ||
            m.deadline - now > HOLD_MAX_USEC)
                return false;
        if (attachment_read(roots, f, &a) < 0 || a.released)
                return false;
        if (ret_deadline)
                *ret_deadline = m.deadline;
        return true;
}

int hold_release(const struct roots *roots, const struct facts *f)
{
        struct attachment_mark released = {.early = true, .released = true};
        struct hold_mark mark;
        int r = attachment_change(roots, f, MARK_RELEASED, &released), removed = 0;

        if (r < 0) /* unreadable: make sure that it is never held again */
                r = attachment_write(roots, f, &released);
        /* The mark may belong to the next device at this port. */
        if (hold_read(roots, f->interface, &mark) <= 0 ||
            attachment_id_same(mark.attachment, facts_attachment_id(f)))
                removed = hold_remove(roots, f->interface);
        /* One of the two is enough. Without a mark no hold begins again either, since PID 1 has
         * seen the disk. */
        if (r < 0 && removed < 0)
                return r;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <limits.h>
#include <stdarg.h>

#include "common/names.h"
#include "common/sentence.h"
#include "switch/transaction.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"

int tx_fail(struct transaction *t, int code, int error, const char *format, ...)
{
        va_list ap;

        assert(error < 0 && code != UASD_EXIT_OK);
        if (t->result.code != UASD_EXIT_OK)
                return error;
        t->result.code = code;
        va_start(ap, format);
        (void) sentence_valist(t->result.text, sizeof(t->result.text), format, ap);
        va_end(ap);
        return error;
}

bool error_is_ours(int error)
{
        static const int ours[] = {EACCES, EAGAIN, EBUSY,  ECANCELED, EINTR, EMFILE, ENFILE,
                                   ENOENT, ENOMEM, ENOSPC, ENOSYS,    EPERM, EROFS,  ESTALE};

        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                if (error == -ours[i])
                        return true;
        return false;
}

int tx_identify(struct transaction *t, bool strings)
{
        int r;

        usb_disk_done(&t->disk);
        r = usb_disk_read(&t->roots, t->interface, strings, &t->disk);
        if (r == -ENODEV || r == 0)
                return tx_fail(t, UASD_EXIT_NO_DISK, -ENODEV,
                               "there is no USB storage interface %s", t->interface);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot read %s: %s", t->interface,
                               strerror(-r));
        if (t->request.meant.devnum != 0 &&
            !attachment_id_same(t->request.meant, facts_attachment_id(&t->disk.facts)))
                return tx_fail(t, UASD_EXIT_NO_DISK, -ENODEV,
                               "the disk was unplugged, and another one is at its port");
        t->from = t->disk.facts.driver;
        t->before.n_disks = luns_with_disk(t->disk.luns, t->disk.n_luns);
        return 0;
}

bool attachment_same(const struct transaction *t, const struct facts *f)
{
        return facts_same_attachment(f, &t->disk.facts);
}

bool attachment_there(const struct transaction *t)
{
        struct attachment_id now;

        return attachment_now(&t->roots, t->interface, &now) >= 0 &&
               attachment_id_same(now, facts_attachment_id(&t->disk.facts));
}

int look_for_media(struct transaction *t)
{
        struct usb_disk now = {0};
        int r = usb_disk_read(&t->roots, t->interface, false, &now);
        struct lun *before = t->disk.luns;
        size_t n = t->disk.n_luns;

        if (r < 0)
                return r;
        if (r == 0)
                return -ENODEV;
        r = luns_same(before, n, now.luns, now.n_luns) ? 0 : -ESTALE;
        t->disk.luns = now.luns;
        t->disk.n_luns = now.n_luns;
        t->before.n_disks = luns_with_disk(t->disk.luns, t->disk.n_luns);
        luns_free(before, n);
        return r;
}

const char *lun_attribute(const char *host, const struct lun *l, const char *name, char *ret,
                          size_t size)
{
        (void) snprintf(ret, size, "%s/target%.*s/%s/%s", host,
                        (int) (strrchr(l->scsi, ':') - l->scsi), l->scsi, l->scsi, name);
        return ret;
}

/*
 * If the kernel has given a disk up ("Device offlined - not ready after error recovery"), every
 * open and every write fails. The disk can be neither claimed nor mounted, and unwritten data is
 * lost already. If it has no user, a switch to usb-storage repairs it.
 */
bool lun_offline(const struct transaction *t, const char *host, const struct lun *l)
{
        char below[128], path[PATH_MAX], state[32];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/%s", t->interface,
                        lun_attribute(host, l, "state", below, sizeof(below)));
        return attr_read(t->roots.sys, path, state, sizeof(state)) > 0 && streq(state, "offline");
}

/*
 * Returns true if `l` is one of `luns`, with the same block device. The kernel does not reuse the
 * number of a block device that is open, and a claimed one is open. Its medium may be another one:
 * no process can mount a card in a claimed slot.
 */
bool lun_among(const struct lun *l, const struct lun *luns, size_t n, size_t *ret_i)
{
        for (size_t i = 0; i < n; i++)
                if (streq(luns[i].scsi, l->scsi) && streq(luns[i].disk.name, l->disk.name) &&
                    luns[i].disk.major == l->disk.major && luns[i].disk.minor == l->disk.minor) {
                        *ret_i = i;
                        return true;
                }
        return false;
}

void settle_unplugged(struct transaction *t)
{
        if (t->disk.facts.devnum == 0 || attachment_there(t))
                return;
        t->result.code = UASD_EXIT_NO_DISK;
        (void) copy_string(t->result.text, sizeof(t->result.text), "the disk was unplugged");
        (void) hold_release(&t->roots, &t->disk.facts);
        (void) attachments_prune(&t->roots,
                                 t->disk.facts.port); /* also the marks of that attachment */
}

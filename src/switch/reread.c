/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <sys/mman.h>

#include "common/gettext.h"
#include "common/sentence.h"
#include "switch/child.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "switch/verify.h"
#include "sys/io/clock.h"

/*
 * Does the driver make the difference? A bad place of the disk fails under both drivers, with any
 * errno: each bridge has its own sense data for it. So after a roll-back uasd-switch reads on
 * usb-storage what failed under uas. A healthy disk answers each read in some msec, so a short time
 * is enough: it is still held then, and its mounts wait. A read without a claim disturbs no
 * process.
 */

#define REREAD_BUDGET (3 * USEC_PER_SEC)

/* The progress of the child, in memory that it shares with its parent. */
struct reread {
        struct unread unread; /* what has not been read yet, or cannot be read */
        bool ready;           /* the disk is open */
        bool begun;           /* its beginning was read first */
        bool done;            /* all places were tried */
        bool alive;           /* and its beginning was read after them */
        int error;            /* of the step that came last */
        char name[BLOCK_NAME_MAX];
};

static int read_samples(const struct claim *c, struct unread *u)
{
        _cleanup_free_ char *text = NULL;

        return fingerprint_read(c, false, &text, u);
}

static void name_disk(const struct usb_disk *now, struct reread *s)
{
        for (size_t i = 0; i < now->n_luns; i++)
                if (now->luns[i].lun == s->unread.lun)
                        (void) copy_string(s->name, sizeof(s->name), now->luns[i].disk.name);
}

static void reread_places(struct transaction *t, struct claim *c, struct reread *s)
{
        struct usb_disk now = {0};
        unsigned lun = s->unread.lun;

        s->error = examiner_open(t, c, &now);
        if (s->error < 0)
                return;
        s->ready = true;
        name_disk(&now, s);
        s->error = unread_control(c, lun);
        if (s->error < 0)
                return;
        s->begun = true;
        if (s->unread.samples)
                s->error = read_samples(c, &s->unread);
        else
                s->error = unread_again(c, &s->unread);
        s->done = true;
        s->alive = s->error >= 0 || unread_control(c, lun) >= 0;
}

static void reread_in_child(struct transaction *t, struct reread *s, int out)
{
        struct claim c = CLAIM_NULL;

        reread_places(t, &c, s);
        (void) !write(out, "", 1);
        examiner_end(&c, out);
}

/* Returns false if no child could be started. */
static bool reread_run(struct transaction *t, struct reread *s)
{
        struct awake end = child_deadline(t, REREAD_BUDGET);
        _cleanup_close_ int fd = -1;
        pid_t pid;
        char word;

        verify_end(t);
        pid = switch_child(t, &fd);
        if (pid < 0)
                return false;
        if (pid == 0)
                reread_in_child(t, s, fd);
        t->examiner.pid = pid;
        t->examiner.closed = child_read(fd, &word, 1, end) > 0 && child_answers(fd, end);
        (void) kill(pid, SIGKILL);
        return true;
}

static void reread_report(struct transaction *t, const struct reread *s)
{
        const char *name = s->name[0] ? s->name : N_("the disk");
        struct unread open;

        (void) unread_copy(&s->unread, &open);
        if (!s->begun || open.n == 0)
                (void) sentence(t->result.text, sizeof(t->result.text),
                                "%s cannot be read, under both drivers", name);
        else if (!s->done)
                (void) sentence(
                        t->result.text, sizeof(t->result.text),
                        "%s does not answer reads at sector %llu in time, under both drivers", name,
                        (unsigned long long) open.at[0] / 512);
        else if (open.n == 1)
                (void) sentence(t->result.text, sizeof(t->result.text),
                                "%s cannot be read at sector %llu, under both drivers", name,
                                (unsigned long long) open.at[0] / 512);
        else
                (void) sentence(
                        t->result.text, sizeof(t->result.text),
                        "%s cannot be read at %u places, the first at sector %llu, under both drivers",
                        name, open.n, (unsigned long long) open.at[0] / 512);
}

/*
 * If even the beginning fails, although it could be read before the switch, uas has left the bridge
 * broken: the disk is distrusted. If it was never read before, the disk as a whole fails.
 */
static void reread_judge(struct transaction *t, const struct reread *s)
{
        bool well = s->done && s->error >= 0, ours = s->error < 0 && error_is_ours(s->error),
             broken = s->ready && !s->begun && s->error < 0 && t->before.fingerprint;

        if (s->ready) /* otherwise it may have been unplugged */
                t->blame.answered = s->alive;
        t->blame.guilt = ours || !(well || broken) ? GUILT_ACQUITTED : GUILT_FAILED;
        if (!s->ready || ours)
                sentence_add(t->result.text, sizeof(t->result.text), "; %s",
                             N_("whether usb-storage reads it is not known"));
        else if (t->blame.guilt == GUILT_ACQUITTED)
                reread_report(t, s);
}

/* Without a place to read, or if the disk is not on usb-storage, nothing can be compared. */
void reread(struct transaction *t)
{
        struct reread *s;

        if (!tx_failed(t) || !unread_any(&t->blame.unread) || t->to != DRIVER_UAS ||
            !attachment_there(t) || usb_disk_driver(&t->roots, t->interface) != DRIVER_USB_STORAGE)
                return;
        t->blame.guilt = GUILT_ACQUITTED;
        if (signal_waits())
                return;
        s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (s == MAP_FAILED)
                return;
        s->unread = t->blame.unread;
        if (reread_run(t, s))
                reread_judge(t, s);
        (void) munmap(s, sizeof(*s));
}

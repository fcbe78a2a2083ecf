/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/gettext.h"
#include "common/sentence.h"
#include "switch/child.h"
#include "switch/hold.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "switch/verify.h"
#include "sys/block/claim.h"
#include "sys/block/counts.h"
#include "sys/io/clock.h"

#define ANSWER_MSEC 500 /* longer than a seek of the slowest disk */
#define OPEN_TRIES 50   /* one second: sysfs shows a device a moment before it can be opened */
#define OPEN_MSEC 20

/* The answer of the child. */
struct verify_answer {
        int error;
        bool resized; /* -EUCLEAN: the size differs, which no write can cause */
        char text[256];
};

static void answer_with(struct verify_answer *a, int error, const char *text)
{
        a->error = error;
        (void) copy_string(a->text, sizeof(a->text), text);
}

static void verify_compare(struct transaction *t, const struct claim *c, struct awake deadline,
                           struct unread *unread, struct verify_answer *a)
{
        _cleanup_free_ char *now = NULL;
        char difference[160];
        int r = fingerprint_read(c, false, &now, unread);

        if (r < 0) {
                answer_with(a, r, "the disk cannot be read");
                return;
        }
        if (t->before.fingerprint &&
            !fingerprint_same(t->before.fingerprint, now, difference, sizeof(difference))) {
                a->error = -EUCLEAN;
                a->resized = !fingerprint_same_sizes(t->before.fingerprint, now);
                (void) sentence(a->text, sizeof(a->text), "%s: %s", N_("another disk shows"),
                                difference);
                return;
        }
        r = trial_reads(&t->roots, c, deadline, unread);
        if (r == -ETIMEDOUT)
                answer_with(a, r, "reads at full depth are not answered in time");
        else if (r < 0)
                answer_with(a, r, "reads at full depth fail");
}

/* Returns true if a process has written to the disk since it appeared. */
static bool verify_is_written(const struct transaction *t, const struct claim *c)
{
        return claim_written(&t->roots, c) > 0 || claim_disturbed(c) == DISTURBANCE_WRITTEN;
}

int examiner_open(struct transaction *t, struct claim *c, struct usb_disk *ret)
{
        char failed[BLOCK_NAME_MAX];
        int r = usb_disk_read(&t->roots, t->interface, false, ret);

        if (!attachment_same(t, &ret->facts))
                return r < 0 ? r : -ENODEV;
        for (int tries = 0; tries < OPEN_TRIES; tries++) {
                r = claim_watch(&t->roots, ret->luns, ret->n_luns, c, failed);
                if (r != -ENXIO && r != -ENOENT)
                        break;
                (void) poll(NULL, 0, OPEN_MSEC);
        }
        return r;
}

/*
 * Without a claim: a process that does not wait for udev may open the disk as soon as it appears,
 * and must not fail because of uasd-switch. A difference that such a process may have written does
 * not prove a fault of the driver: the disk stays. Its size cannot be written: the switch is rolled
 * back. If the disk is in use by then (switch/undo-claim.c), it stays and is distrusted.
 */
static void verify_examine(struct transaction *t, struct awake deadline, struct unread *unread,
                           struct claim *c, struct verify_answer *a)
{
        struct usb_disk now = {0};
        int r = examiner_open(t, c, &now);

        if (!attachment_same(t, &now.facts))
                answer_with(a, r, "the disk has gone");
        else if (r < 0)
                answer_with(a, r, "the disk cannot be opened");
        else
                verify_compare(t, c, deadline, unread, a);
        if (a->error == -EUCLEAN && !a->resized && verify_is_written(t, c))
                a->error = -EBUSY;
}

/*
 * The answer comes first: the close writes back what another program has left in the page cache,
 * which may take long. A byte after it says that the disk is closed. The exit comes later: there
 * the kernel waits for RCU, which takes longer than most examinations. It frees the inotify and the
 * queue of the reads (fs/aio.c:exit_aio), which keep no disk open.
 */
void examiner_end(struct claim *c, int out)
{
        claim_close(c);
        (void) !write(out, "", 1);
        _exit(0);
}

static void verify_in_child(struct transaction *t, struct awake deadline, struct unread *unread,
                            int out)
{
        struct claim c = CLAIM_NULL;
        struct verify_answer a = {0};

        verify_examine(t, deadline, unread, &c, &a);
        (void) !write(out, &a, sizeof(a));
        if (a.error == -ETIMEDOUT)
                _exit(0);
        examiner_end(&c, out);
}

/* Adds the commands of a LUN that it was sent, and those that it has answered. */
static int commands_add(const struct transaction *t, const char *name, uint64_t *sent,
                        uint64_t *done)
{
        uint64_t n, m;
        int r = scsi_count_read(&t->roots, name, SCSI_COUNT_DONE, &m);

        if (r < 0)
                return r;
        r = scsi_count_read(&t->roots, name, SCSI_COUNT_REQUESTS, &n);
        if (r < 0)
                return r;
        *sent += n;
        *done += m;
        return 0;
}

/* Counts the commands that the disk has not answered yet, and the others. Returns -errno if the
 * kernel does not count them. */
static int commands_owed(const struct transaction *t, uint64_t *ret_owed, uint64_t *ret_done)
{
        _cleanup_(usb_disk_done) struct usb_disk now = {0};
        uint64_t sent = 0, done = 0;
        int r = usb_disk_read(&t->roots, t->interface, false, &now);

        if (r < 0)
                return r;
        if (r == 0)
                return -ENODEV;
        for (size_t i = 0; i < now.n_luns; i++) {
                if (!now.luns[i].disk.name[0])
                        continue;
                r = commands_add(t, now.luns[i].disk.name, &sent, &done);
                if (r < 0)
                        return r == -ENOENT ? -ENODEV : r; /* not an error of this machine */
        }
        *ret_owed = sent > done ? sent - done : 0;
        *ret_done = done;
        return 0;
}

/* Returns true if the disk answers, or if this machine cannot tell. A machine that stood still also
 * causes a timeout, but no command stays open for long. */
static bool disk_answers(const struct transaction *t)
{
        uint64_t before, owes, after;
        int r = commands_owed(t, &owes, &before);

        if (r < 0)
                return error_is_ours(r);
        if (owes == 0)
                return true;
        (void) poll(NULL, 0, ANSWER_MSEC);
        r = commands_owed(t, &owes, &after);
        if (r < 0)
                return error_is_ours(r);
        return owes == 0 || after != before;
}

/*
 * The child may hang in open(2) or close(2) as long as the kernel waits for the device. It is not
 * waited for: the unbind of the roll-back fails its commands, and then it ends.
 */
int verify(struct transaction *t, struct awake deadline)
{
        struct unread *unread = mmap(NULL, sizeof(*unread), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        _cleanup_close_ int fd = -1;
        struct verify_answer a = {0};
        int alone, r;
        pid_t pid;
        bool faulty;

        if (unread == MAP_FAILED)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, -errno, "no memory: %s", strerror(errno));
        pid = switch_child(t, &fd);
        if (pid == 0)
                verify_in_child(t, deadline, unread, fd);
        if (pid < 0) {
                (void) munmap(unread, sizeof(*unread));
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, pid, "no child: %s", strerror(-pid));
        }
        alone = switch_hold_if_long_left(t);
        if (alone >= 0 && (uint64_t) alone * USEC_PER_MSEC < awake_left(deadline) &&
            poll(&(struct pollfd){fd, POLLIN, 0}, 1, alone) == 0)
                switch_hold_if_long(t);
        r = child_read(fd, &a, sizeof(a), deadline);
        if (r == 0)
                answer_with(&a, -ETIMEDOUT, "the disk does not answer in time");
        if (r < 0)
                answer_with(&a, r, "its examination was killed");
        /* Another program's data may delay its close, which says nothing about the disk. Then no
         * process waits for its exit. */
        t->examiner.pid = pid;
        t->examiner.closed = a.error != -ETIMEDOUT && child_answers(fd, deadline);
        if (a.error == -ETIMEDOUT)
                faulty = !signal_waits() && !disk_answers(t);
        else
                faulty = a.error < 0 && !error_is_ours(a.error);
        tx_suspect(t, faulty);
        if (!faulty && a.error == -ETIMEDOUT)
                answer_with(&a, a.error, "this machine was too slow to tell");
        (void) kill(pid, SIGKILL);
        (void) unread_copy(unread, &t->blame.unread);
        (void) munmap(unread, sizeof(*unread));
        if (a.error == 0 || a.error == -EBUSY)
                return a.error;
        verify_end(t); /* the way back looks for the users of the disk */
        return tx_fail(t, UASD_EXIT_ROLLED_BACK, a.error, "under %s %s: %s",
                       driver_to_string(t->to), a.text, strerror(-a.error));
}

void verify_end(struct transaction *t)
{
        if (t->examiner.pid > 0 && t->examiner.closed) {
                (void) waitpid(t->examiner.pid, NULL, 0);
                t->examiner.pid = 0;
        }
}

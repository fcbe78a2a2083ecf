/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/inotify.h>

#include "common/names.h"
#include "common/util.h"
#include "fake.h"
#include "wraps.h"

/*
 * Every call into the kernel is an operation with a name ("bind uas", "sync sda1"). At each of them
 * a hook can act: it returns an error, kills the process, or opens, mounts or unplugs the disk.
 */

void fake_break(const char *oath, const char *name)
{
        if (!fake->broken[0])
                (void) snprintf(fake->broken, sizeof(fake->broken), "%s %s", oath, name);
}

/* Children of uasd-switch sync several disks at once, on several processors. */
static bool meant(struct fake_hook *h, const char *op)
{
        unsigned seen;

        if (h->what == HOOK_NONE || (h->op && strncmp(op, h->op, strlen(h->op)) != 0))
                return false;
        seen = __atomic_add_fetch(&h->seen, 1, __ATOMIC_RELAXED);
        return seen == h->nth || h->nth == 0 || (h->on && seen > h->nth);
}

/* The first disk that is there. */
static const struct fake_lun *some_lun(void)
{
        for (unsigned i = 0; i < fake->n_usb; i++)
                for (unsigned k = 0; k < FAKE_LUNS; k++)
                        if (fake->usb[i].luns[k].there)
                                return &fake->usb[i].luns[k];
        return NULL;
}

static int someone = -1, locker = -1; /* of this process */

unsigned fake_someones_files(void)
{
        return (someone >= 0) + (locker >= 0);
}

void fake_someone_unlocks(void)
{
        locker = close_keep_errno(locker);
}

/* The lock lasts longer than any process waits for it. */
static void somebody_locks(void)
{
        char path[96];

        (void) snprintf(path, sizeof(path), "%s/run/" RUN_DIR, fake->path);
        (void) mkdir(path, 0755);
        (void) snprintf(path, sizeof(path), "%s/run/" RUN_QUIRKS_LOCK, fake->path);
        if (locker < 0)
                locker = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        (void) __real_flock(locker, LOCK_EX | LOCK_NB);
        fake->haste = true;
}

void fake_someone_closes(void)
{
        someone = close_keep_errno(someone);
        fake->someone = false;
        fakesys_open_table(NULL);
}

void fake_someone_is_at(const struct fake_lun *l, const char *node, int fd)
{
        fake->someone = true;
        fake->someones = l->diskseq;
        someone = fd;
        fake_no_claim(fd);
        fakesys_open_table(fake->unnamed ? NULL : node);
}

/* Opens the whole disk. inotify reports it, and /proc shows it while it stays open. */
static void somebody_opens(enum fake_what how)
{
        const struct fake_lun *l = some_lun();
        char path[96], sg[16];
        int fd;

        if (!l || fake->someone)
                return;
        (void) snprintf(path, sizeof(path), "%s/dev/%s", fake->path, l->nodes[0].name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        fake->opened_at = fake->n_ops;
        if (how == HOOK_OPEN_SG) { /* another node, which pins the same driver */
                fake->unwatched = true;
                (void) snprintf(sg, sizeof(sg), "sg%i", l->letter);
                fake_someone_is_at(l, sg, fd);
                return;
        }
        fake_inotify_tell(l->nodes[0].name, IN_OPEN);
        if (how == HOOK_OPEN)
                fake_someone_is_at(l, l->nodes[0].name, fd);
        else {
                fake_inotify_tell(l->nodes[0].name, IN_CLOSE_NOWRITE);
                (void) close(fd);
        }
}

/* Writes without a sync. uasd-switch, which removes the disk, has to save these bytes. */
static void somebody_writes(void)
{
        const struct fake_lun *l = some_lun();
        char path[96];
        int fd;

        if (!l)
                return;
        (void) snprintf(path, sizeof(path), "%s/dev/%s", fake->path, l->nodes[0].name);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        kernel_write_bytes(l->nodes[0].name, 1);
        fake->written_late = true;
        fake_inotify_tell(l->nodes[0].name, IN_OPEN);
        fake_inotify_tell(l->nodes[0].name, IN_MODIFY);
        fake_inotify_tell(l->nodes[0].name, IN_CLOSE_WRITE);
        fake->opened_at = fake->n_ops;
        (void) close(fd);
}

static void somebody_mounts(bool in_table)
{
        const struct fake_lun *l = some_lun();

        if (!l)
                return;
        if (kernel_mount(l->nodes[l->n_nodes - 1].name, in_table) >= 0)
                fake->opened_at = fake->n_ops;
        else {
                fake->refused = true;
                fake->refused_on = fake->usb[0].driver;
        }
}

static void somebody_mounts_late(struct fake_usb *u)
{
        const struct fake_lun *l = &u->luns[u->missing_on_uas - 1];

        u->missing_on_uas = 0;
        kernel_rescan(u);
        if (l->there && kernel_mount(l->nodes[l->n_nodes - 1].name, true) >= 0)
                fake->opened_at = fake->n_ops;
}

/* Data reaches the first disk each tenth of a second. */
static void data_flows(unsigned times)
{
        for (unsigned i = 1; i <= times; i++) {
                char stat[64];

                (void) snprintf(stat, sizeof(stat), "9 1 99 5 3 2 %u 7 1 8 9 0 0 0 0 4 1\n",
                                64 * i);
                tree_write(stat, "sys/class/block/%s/stat", some_lun()->nodes[0].name);
                fake_pause(100 * USEC_PER_MSEC);
        }
}

/* Runs the hooks that act before the operation or replace it. */
int op_begin(const char *format, ...)
{
        char op[32];
        va_list ap;
        int r = 0;

        va_start(ap, format);
        (void) vsnprintf(op, sizeof(op), format, ap);
        va_end(ap);
        if (fake->n_ops < ELEMENTSOF(fake->ops) - FAKE_LUNS) {
                unsigned at = __atomic_fetch_add(&fake->n_ops, 1, __ATOMIC_RELAXED);

                fake->of_child[at] = getpid() != fake->switcher;
                memcpy(fake->ops[at], op, sizeof(op));
        }
        for (size_t i = 0; i < ELEMENTSOF(fake->hooks); i++) {
                struct fake_hook *h = &fake->hooks[i];

                h->fired = meant(h, op);
                if (h->fired && h->what == HOOK_KILL)
                        (void) raise(SIGKILL);
                if (h->fired && h->what == HOOK_SLOW)
                        data_flows(10 * (unsigned) h->error);
                if (h->fired && h->what == HOOK_QUIRKS)
                        (void) kernel_quirks("1209:5a5a:u");
                if (h->fired && h->what == HOOK_UNBIND) {
                        if (fake->usb[0].says)
                                tree_write(fake->usb[0].says, "dev/kmsg");
                        kernel_unbound(&fake->usb[0]);
                }
                if (h->fired && h->what == HOOK_FAIL)
                        r = -h->error;
                if (h->fired && h->what == HOOK_SKIP)
                        r = 1;
        }
        return r;
}

/* Runs the hooks that act after the operation. An operation that failed had no effect, so nothing
 * can follow it. */
int op_end(const char *op, int r)
{
        for (size_t i = 0; i < ELEMENTSOF(fake->hooks); i++) {
                struct fake_hook *h = &fake->hooks[i];

                if (!h->fired)
                        continue;
                h->fired = false;
                switch (h->what) {
                case HOOK_KILL_DONE:
                        (void) raise(SIGKILL);
                        break;
                case HOOK_ORPHAN:
                        (void) kill(fake->switcher, SIGKILL);
                        /* fall through */
                case HOOK_HANG:
                        if (h->what == HOOK_HANG)
                                fake->hung[fake->hung[0] != 0] = getpid();
                        for (;;)
                                (void) pause();
                case HOOK_FAIL_DONE:
                        r = -h->error;
                        break;
                case HOOK_UNPLUG:
                        kernel_unplug(&fake->usb[0]);
                        break;
                case HOOK_PULL:
                        kernel_pull(&fake->usb[0], (uint64_t) h->error * USEC_PER_SEC);
                        break;
                case HOOK_REPLUG:
                        kernel_replug(&fake->usb[0]);
                        break;
                case HOOK_MOUNT:
                case HOOK_MOUNT_PRIVATE:
                        somebody_mounts(h->what == HOOK_MOUNT);
                        break;
                case HOOK_OPEN:
                case HOOK_OPEN_SG:
                case HOOK_GLANCE:
                        somebody_opens(h->what);
                        break;
                case HOOK_WRITE:
                        somebody_writes();
                        break;
                case HOOK_WAIT:
                        kernel_pass((uint64_t) h->error * USEC_PER_SEC);
                        break;
                case HOOK_SIGNAL:
                        fake->signalled_at = fake->clock;
                        (void) kill(fake->switcher, h->error);
                        break;
                case HOOK_SLEEP:
                        kernel_sleeps((uint64_t) h->error * USEC_PER_SEC);
                        break;
                case HOOK_RESCAN:
                        kernel_rescan(&fake->usb[0]);
                        break;
                case HOOK_RESCUE:
                        tree_remove("run/" RUN_SWITCH "/%s", fake->usb[0].interface);
                        if (fake->usb[0].driver == DRIVER_NONE)
                                (void) kernel_probe(fake->usb[0].interface);
                        break;
                case HOOK_MEDIUM:
                        medium_changes(&fake->usb[0], 0);
                        break;
                case HOOK_FS_WRITES:
                        tree_write("9 1 99 5 3 2 64 7 0 8 9 0 0 0 0 4 1\n",
                                   "sys/class/block/%s/stat", some_lun()->nodes[0].name);
                        break;
                case HOOK_OTHER_ENDS:
                        tree_remove("run/" RUN_SWITCH "/%s", fake->usb[1].interface);
                        break;
                case HOOK_OFFLINE:
                        kernel_gives_up(&fake->usb[0], 0);
                        break;
                case HOOK_SHUTDOWN:
                        fake->stopping = true;
                        break;
                case HOOK_CARD:
                case HOOK_CARD_MOUNT:
                case HOOK_CARD_PRIVATE:
                case HOOK_CARD_WRITE:
                        somebody_with_a_card(h->what);
                        break;
                case HOOK_LOCK:
                        somebody_locks();
                        break;
                case HOOK_LOAD:
                        (void) kernel_load_uas();
                        break;
                case HOOK_UNLOAD:
                        kernel_unload_uas();
                        break;
                case HOOK_STARVE:
                        fake->starved = true;
                        break;
                case HOOK_LOCK_DEVICE:
                        tree_lock_device(&fake->usb[0]);
                        break;
                case HOOK_LATE_LUN:
                        somebody_mounts_late(&fake->usb[0]);
                        break;
                case HOOK_NONE:
                case HOOK_FAIL:
                case HOOK_SKIP:
                case HOOK_KILL:
                case HOOK_SLOW:
                case HOOK_QUIRKS:
                case HOOK_UNBIND:
                        break;
                }
        }
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "fake.h"
#include "sys/block/claim.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/modules.h"
#include "sys/udev/uevents.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/users.h"
#include "wraps.h"

/*
 * Where the switch meets the kernel: the linker redirects those calls to this file (-Wl,--wrap,
 * meson.build). Everything else is the product's own code, including the claim with its order of
 * syncs.
 */

/* ---- the log ---- */

void __wrap_log_full(int level, const char *format, ...)
{
        size_t n = strlen(fake->warned);
        char text[512];
        va_list args;

        va_start(args, format);
        (void) vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        if (level <= LOG_WARNING)
                (void) snprintf(fake->warned + n, sizeof(fake->warned) - n, "%s\n", text);
        if (level <= LOG_WARNING && strstr(text, strerror(0)))
                fake_break("warned of what had not failed:", text);
        __real_log_full(level, "%s", text);
}

/* ---- attributes ---- */

/* "sys/bus/..." of an attribute; -ENODEV if its directory belongs to a device that is gone. */
static int sysfs_path(int dirfd, const char *path, char *ret, size_t size)
{
        char link[40], dir[400];
        size_t top = strlen(fake->path) + 1;
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%i", dirfd);
        n = readlink(link, dir, sizeof(dir) - 1);
        if (n < (ssize_t) top)
                return -EBADF;
        dir[n] = '\0';
        if (strstr(dir, " (deleted)"))
                return -ENODEV;
        (void) snprintf(ret, size, "%s/%s", dir + top, path);
        return 0;
}

/* The component before the last. */
static const char *above(const char *path, char ret[static 64])
{
        const char *end = strrchr(path, '/'), *begin = end;

        while (begin > path && begin[-1] != '/')
                begin--;
        (void) snprintf(ret, 64, "%.*s", (int) (end - begin), begin);
        return ret;
}

int __wrap_attr_write(int dirfd, const char *path, const char *text)
{
        char attribute[512], name[64];
        const char *last;
        int r = sysfs_path(dirfd, path, attribute, sizeof(attribute));

        if (r < 0)
                return r;
        last = strrchr(attribute, '/') + 1;
        if (streq(path, "../remove")) /* of the device above this interface */
                *strstr(attribute, "../remove") = '\0';
        (void) above(attribute, name);
        r = op_begin("%s %s", last, name);
        if (r != 0)
                return r < 0 ? r : 0;
        for (size_t i = 0; streq(last, "bind") && fake->usb[0].driver == DRIVER_NONE &&
                           i < ELEMENTSOF(fake->hung);
             i++)
                if (fake->hung[i])
                        fake_break("has not waited for a child that hung on", text);
        if (streq(last, "bind"))
                r = kernel_bind((enum driver) driver_from_string(name), text);
        else if (streq(last, "unbind"))
                r = kernel_unbind((enum driver) driver_from_string(name), text);
        else if (streq(last, "delete"))
                r = kernel_delete(name);
        else if (streq(last, "remove"))
                r = kernel_remove(name);
        else if (streq(last, "scan") && streq(text, "- - -"))
                r = kernel_scan(atoi(name + strlen("host")));
        else if (streq(last, "quirks"))
                r = kernel_quirks(text);
        else if (streq(last, "drivers_probe"))
                r = kernel_probe(text);
        else if (streq(last, "uevent") && streq(text, "add"))
                r = kernel_trigger(name);
        else
                fake_break("wrote what no test expects:", attribute);
        return op_end(last, r);
}

ssize_t __wrap_attr_read(int dirfd, const char *path, char *ret, size_t size)
{
        int r;

        if (!streq(path, SYSFS_QUIRKS))
                return __real_attr_read(dirfd, path, ret, size);
        r = op_begin("read quirks");
        if (r < 0)
                return r;
        r = op_end("read quirks", 0);
        return r < 0 ? r : __real_attr_read(dirfd, path, ret, size);
}

/* ---- whole functions of sys/ ---- */

static bool within_disk_read;

int __wrap_luns_read(int interface_fd, char ret_host[static 16], struct lun **ret, size_t *ret_n)
{
        int k = within_disk_read ? 0 : op_begin("read luns");

        if (k == 0)
                k = __real_luns_read(interface_fd, ret_host, ret, ret_n);
        if (!within_disk_read && k == 0 && op_end("read luns", 0) < 0) {
                luns_free(*ret, *ret_n);
                *ret = NULL;
                *ret_n = 0;
                k = -EIO;
        }
        return k;
}

int __wrap_usb_disk_read(const struct roots *r, const char *interface, bool strings,
                         struct usb_disk *ret)
{
        int k = op_begin("read disk");
        struct usb_disk d = {0};

        if (k != 0) /* skipped: the interface is not one of a disk */
                return k < 0 ? k : 0;
        if (strings && fake->named)
                fake_break("reads its strings again, which may hang:", interface);
        fake->named = fake->named || strings;
        within_disk_read = true;
        k = __real_usb_disk_read(r, interface, strings, &d);
        within_disk_read = false;
        if (op_end("read disk", 0) < 0 && k > 0)
                k = -EIO;
        if (k > 0)
                *ret = d;
        else
                usb_disk_done(&d);
        return k;
}

int __wrap_users_find(const struct roots *r, const struct lun *luns, size_t n_luns, bool deep,
                      struct user **ret, size_t *ret_n)
{
        int k = op_begin(deep ? "users deep" : "users");

        if (k == 0) {
                k = __real_users_find(r, luns, n_luns, deep, ret, ret_n);
                if (op_end("users", 0) < 0 && k == 0) {
                        users_free(*ret, *ret_n);
                        *ret = NULL;
                        *ret_n = 0;
                        k = -EIO;
                }
        }
        return k;
}

static const char *mark_name(const char *path)
{
        return strstr(path, "/switch/")       ? "record"
               : strstr(path, "/hold/")       ? "hold"
               : strstr(path, "/history")     ? "history"
               : strstr(path, "/quirks.bind") ? "entry"
                                              : "attachment";
}

int __wrap_state_write(int dirfd, const char *path, const char *text, bool durable)
{
        int r = op_begin("write %s", mark_name(path));

        return r < 0 ? r : op_end("write", __real_state_write(dirfd, path, text, durable));
}

/* Each change of a disk asks whether the record is still ours. */
int __wrap_state_load(int dirfd, const char *path, const struct state_type *type, void *record)
{
        int r;

        if (!fake->asks || !streq(mark_name(path), "record"))
                return __real_state_load(dirfd, path, type, record);
        r = op_begin("read record");
        return r < 0 ? r : op_end("read record", __real_state_load(dirfd, path, type, record));
}

int __wrap_state_mkdir(int dirfd, const char *path)
{
        int r = fake->asks ? op_begin("make folder") : 0;

        if (!fake->asks)
                return __real_state_mkdir(dirfd, path);
        return r < 0 ? r : op_end("make folder", __real_state_mkdir(dirfd, path));
}

int __wrap_state_remove(int dirfd, const char *path)
{
        int r = op_begin("remove %s", mark_name(path));

        if (streq(mark_name(path), "record")) /* that of a switch before: this one begins */
                fake->named = false;
        return r < 0 ? r : op_end("remove", __real_state_remove(dirfd, path));
}

int __wrap_fingerprint_read(const struct claim *c, bool partly, char **ret, struct unread *unread)
{
        int r = op_begin("fingerprint");
        char text[256] = "";
        size_t n = 0;

        fake->early = fake->early || udev_not_announced();

        if (r == -EIO && partly) {
                for (size_t i = 0; i < c->n; i++)
                        if (c->nodes[i].whole)
                                n += (size_t) snprintf(text + n, sizeof(text) - n,
                                                       "LUN%u_UNREAD=1\n", c->nodes[i].lun);
                *ret = strdup(text);
                return *ret ? 0 : -ENOMEM;
        }
        for (size_t i = 0; r == 0 && i < c->n; i++) {
                struct fake_usb *u;
                struct fake_lun *l;
                char name[32];
                bool stale = true;

                if (!c->nodes[i].whole)
                        continue;
                if (!fake_dev_name(c->nodes[i].fd, name, &stale) || stale ||
                    !kernel_node(name, &u, &l) || u->pulled)
                        r = -EIO;
                else if (l->empty)
                        n += (size_t) snprintf(text + n, sizeof(text) - n, "LUN%u_UNREAD=1\n",
                                               c->nodes[i].lun);
                else
                        n += (size_t) snprintf(
                                text + n, sizeof(text) - n, "LUN%u_SIZE=%u\nLUN%u_CONTENT=%u\n",
                                c->nodes[i].lun,
                                u->driver == DRIVER_UAS && u->shrinks_on_uas ? 511U : 512U,
                                c->nodes[i].lun,
                                l->content + (u->driver == DRIVER_UAS && u->garbles_on_uas));
        }
        if (r == 0 && unread && fake->usb[0].bad_sample)
                r = -EIO;
        r = r < 0 ? r : op_end("fingerprint", r);
        if (r < 0 && unread)
                *unread = (struct unread){.samples = true, .n = 1, .at = {FAKE_BAD_SECTOR * 512}};
        if (r == 0 && !(*ret = strdup(text)))
                r = -ENOMEM;
        return r;
}

/* The places that fail, and others. */
static void list_places(struct unread *u)
{
        *u = (struct unread){.n = 3, .at = {UNREAD_DONE, FAKE_BAD_SECTOR * 512, UNREAD_DONE}};
        if (fake->usb[0].two_bad_places)
                u->at[2] = FAKE_BAD_SECTOR * 1024;
}

int __wrap_trial_reads(const struct roots *r, const struct claim *c, struct awake deadline,
                       struct unread *unread)
{
        struct fake_usb *u = &fake->usb[0];
        bool stalls = u->driver == DRIVER_UAS && (u->stalls_on_uas || u->bad_place == ETIMEDOUT);
        int k = op_begin("trial");

        if (u->slow_on_uas)
                fake_pause(USEC_PER_SEC);
        if (stalls)
                fakesys_hang_on(u->luns[0].nodes[0].name);
        k = k < 0 ? k : op_end("trial", u->pulled ? -EIO : stalls ? -ETIMEDOUT : -u->bad_place);
        if (k < 0)
                list_places(unread);
        return k;
}

/* A disk that retries hangs longer than uasd-switch waits. */
int __wrap_unread_again(const struct claim *c, struct unread *unread)
{
        struct fake_usb *u = &fake->usb[0];
        int k = op_begin("reread");

        if (unread->n != (u->two_bad_places ? 2 : 1) || unread->at[0] != FAKE_BAD_SECTOR * 512)
                fake_break("reads again what has not failed on", u->interface);
        if (u->plugged && u->driver != DRIVER_USB_STORAGE)
                fake_break("reads again on the driver that failed", u->interface);
        if (u->bad_place == ETIMEDOUT)
                for (;;)
                        (void) pause();
        k = k < 0 ? k : op_end("reread", u->pulled ? -EIO : -u->bad_place);
        if (k == 0)
                unread->n = 0;
        return k;
}

int __wrap_unread_control(const struct claim *c, unsigned lun)
{
        int k = op_begin("control");

        return k < 0 ? k
                     : op_end("control",
                              fake->usb[0].pulled || fake->usb[0].broken_by_uas ? -EIO : 0);
}

/* As tests/sys/test-modules.c knows them from the real one. */
static const char *module_reason(int error)
{
        switch (error) {
        case -ENOENT:
                return "this kernel has none";
        case -EPERM:
                return "modprobe.d has an install line for it";
        case -EACCES:
                return "modprobe.d blacklists it: load it by hand, or remove that";
        default:
                return strerror(-error);
        }
}

int __wrap_uas_module_load(const struct roots *r, const char *module, char *why)
{
        int k = op_begin("module");

        k = k < 0 ? k : op_end("module", kernel_load_uas());
        (void) snprintf(why, MODULE_WHY_MAX, "%s", module_reason(k));
        return k;
}

/* ---- time and events ---- */

uint64_t __wrap_now_boottime(void)
{
        kernel_pass(1);
        return fake->clock;
}

struct awake __wrap_now_awake(void)
{
        kernel_pass(1);
        return (struct awake){fake->clock - fake->slept};
}

uint64_t __wrap_now_and_asleep(uint64_t *ret_asleep)
{
        kernel_pass(1);
        *ret_asleep = fake->slept;
        return fake->clock;
}

/* The monitor opened last: its subsystems, and the time of its opening. */
static char monitors[2], *hears;
static bool hears_udev;
static uint64_t hears_since;

static struct fake_event *due(void)
{
        return hears ? udev_due(hears_udev, hears_since) : NULL;
}

/* Time passes only while uasd-switch waits for events. A wait for a child is real, and takes time
 * if the child does not answer.
 */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
        if (!fake || (n == 1 && fds[0].fd >= 0)) {
                int r = __real_poll(fds, n, timeout);

                if (fake && r == 0 && timeout > 0)
                        kernel_pass((uint64_t) timeout * USEC_PER_MSEC);
                return r;
        }
        (void) op_begin("wait");
        if (fake->someone && fake->udevs > 0 && --fake->udevs == 0)
                fake_someone_closes();
        for (int msec = 0; msec < timeout && !(n == 1 && due()); msec += 10)
                kernel_pass((fake->haste ? 200 : 10) * USEC_PER_MSEC);
        (void) op_end("wait", 0);
        return n == 1 && due() ? 1 : 0;
}

/* Only short sleeps are real: they wait for a thread, or for the end of a process. */
int __wrap_usleep(useconds_t usec)
{
        if (fake && fake->left_polls > 0 && --fake->left_polls == 0) {
                struct pollfd end = {.fd = (int) syscall(SYS_pidfd_open, fake->left, 0),
                                     .events = POLLIN};

                fake->opened_at = fake->n_ops;
                (void) kill(fake->left, SIGKILL);
                (void) __real_poll(&end, 1, -1);
                (void) close(end.fd);
        }
        if (!fake || usec <= 10 * USEC_PER_MSEC)
                return __real_usleep(usec);
        (void) op_begin("wait");
        kernel_pass(usec);
        return op_end("wait", 0);
}

/*
 * A child that hangs in the kernel cannot be killed before its disk is unbound. After that it must
 * have closed the disk before the next bind: otherwise the new disk gets another name.
 */
pid_t __wrap_waitpid(pid_t pid, int *ret_status, int options)
{
        for (size_t i = 0; fake && i < ELEMENTSOF(fake->hung); i++)
                if (pid > 0 && fake->hung[i] == pid && options == 0) {
                        if (fake->usb[0].driver != DRIVER_NONE)
                                fake_break("waits for a child that hangs on",
                                           fake->usb[0].interface);
                        fake->hung[i] = 0;
                }
        if (fake)
                fake->waited_at = fake->n_ops;
        return __real_waitpid(pid, ret_status, options);
}

int __wrap_socketpair(int domain, int type, int protocol, int ret[2])
{
        if (!fake || !(fake->no_sockets >> (fake->n_sockets++ & 31) & 1))
                return __real_socketpair(domain, type, protocol, ret);
        errno = EMFILE;
        return -1;
}

void fake_pause(unsigned usec)
{
        (void) __real_usleep(usec);
}

int __wrap_uevents_open(enum uevents which, struct udev_monitor **ret)
{
        int r = op_begin("events");

        hears_udev = which == UEVENTS_PROCESSED;
        hears_since = fake->clock;
        r = r < 0 ? r : op_end("events", 0);
        hears = r < 0 ? NULL : hears == monitors ? monitors + 1 : monitors;
        if (r == 0)
                *ret = (struct udev_monitor *) hears;
        return r;
}

void __wrap_uevents_close(struct udev_monitor *m)
{
        if ((char *) m == hears)
                hears = NULL;
}

int __wrap_uevents_fd(struct udev_monitor *m)
{
        return -1;
}

int __wrap_uevents_next(struct udev_monitor *m, struct uevent *ret)
{
        struct fake_event *e = due();

        if (!e)
                return 0;
        e->told = true;
        if (fake->lost_events || fake->udev_deaf)
                return fake->lost_events ? -ENOBUFS : 0;
        *ret = (struct uevent){.subsystem = "block"};
        (void) copy_string(ret->action, sizeof(ret->action), e->remove ? "remove" : "add");
        (void) copy_string(ret->interface, sizeof(ret->interface), e->interface);
        (void) copy_string(ret->name, sizeof(ret->name), e->name);
        return 1;
}

/* ---- PID 1 ---- */

int __wrap_pid1_there(const struct roots *roots)
{
        int r = op_begin("pid1");

        return r < 0 ? r : op_end("pid1", fake->no_pid1 ? -ENOENT : 0);
}

/* There is no child; its number says what it asks. */
int __wrap_pid1_ask(const char *verb, const char *what, struct pid1_question *ret)
{
        int r = op_begin("ask pid1");

        assert(streq(verb, PID1_ASK_STATE));
        r = r < 0 ? r : op_end("ask pid1", 0);
        if (r >= 0)
                *ret = (struct pid1_question){
                        .pid = 1, .answer = fake->stopping ? PID1_STOPPING : PID1_RUNNING};
        return r;
}

int __wrap_pid1_answer(struct pid1_question *q, struct awake deadline)
{
        int r = op_begin("answer of pid1");

        assert(q->pid == 1);
        q->pid = 0;
        return r < 0 ? r : op_end("answer of pid1", q->answer);
}

void __wrap_pid1_forget(struct pid1_question *q)
{
        q->pid = 0;
}

int __wrap_pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline)
{
        int r = op_begin("arm timer");

        assert(streq(verb, PID1_ASK_RELEASE));
        if (r == 0)
                fake->timers++;
        return r < 0 ? r : op_end("arm timer", 0);
}

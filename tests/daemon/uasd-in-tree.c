/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-hwdb.h>
#include <unistd.h>

#include "common/child.h"
#include "common/log.h"
#include "common/names.h"
#include "daemon/loop.h"
#include "daemon/manager.h"
#include "sys/udev/uevents.h"

/*
 * uasd for the machine in a folder, which is the first argument. It starts $UASD_SWITCH instead of
 * uasd-switch, and itself as `uasd --event`. The file "modules" in the folder gets the modules that
 * uasd asks PID 1 to load. "journal" gets the messages to the journal: a line for each field, and
 * an empty line after each message. They also go to stderr. A line in the FIFO "uevents", if it
 * exists, is an event, "ACTION SUBSYSTEM NAME [INTERFACE]"; "lost" stands for lost events. "heard",
 * if it exists, gets each event in the order in which uasd takes them. While the file "at-fsync"
 * exists, each fsync makes the file "in-fsync" and waits until a test has removed it. The file
 * "looks" gets a byte for each quick look for users. With a file "no-uevents" the kernel gives no
 * events, with a file "no-fork" uasd gets no child, with a file "no-memory" no memory for a post.
 * "pauses" gets each time that uasd waits before a call, in msec. With a file "hurry" it waits 50
 * at most. The hwdb and logind's "run/systemd/seats" are those of the folder. The user who runs the
 * test is root for uasd, on the bus and at the private socket.
 *
 * The linker replaces the functions that tests/daemon/meson.build names with --wrap.
 */

static const char *top;
static int top_fd = -1;

int __wrap_sd_hwdb_new(sd_hwdb **ret);
int __wrap_sd_hwdb_new(sd_hwdb **ret)
{
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), "%s/etc/udev/hwdb.bin", top);
        return sd_hwdb_new_from_path(path, ret);
}

pid_t __real_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p)
{
        const char *argv[20] = {p->argv[0]}, *const *rest = p->argv + 1;
        struct program in_tree = *p;
        size_t n = 1;

        if (streq(p->argv[0], PROGRAM_SWITCH) && getenv("UASD_SWITCH"))
                argv[0] = getenv("UASD_SWITCH");
        if (streq(p->argv[0], PROGRAM_UASD)) {
                argv[0] = "/proc/self/exe";
                argv[n++] = top;
        }
        while (*rest && n < ELEMENTSOF(argv) - 1)
                argv[n++] = *rest++;
        in_tree.argv = argv;
        return __real_child_spawn(&in_tree);
}

/* "limits" gets the limit of each program that uasd waits for. With a file "no-patience" it is only
 * a second. */
int __real_child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec);
int __wrap_child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec);
int __wrap_child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec)
{
        char path[PATH_MAX];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/limits", top);
        f = fopen(path, "ae");
        if (f) {
                (void) fprintf(f, "%llu\n", (unsigned long long) limit_usec);
                (void) fclose(f);
        }
        (void) snprintf(path, sizeof(path), "%s/no-patience", top);
        return __real_child_exit_status(pid, access(path, F_OK) < 0 ? limit_usec : 1000000,
                                        grace_msec);
}

int __real_later_call(struct later *l, sd_event *event, usec_t delay, void (*call)(void *data),
                      void *data);
int __wrap_later_call(struct later *l, sd_event *event, usec_t delay, void (*call)(void *data),
                      void *data);
int __wrap_later_call(struct later *l, sd_event *event, usec_t delay, void (*call)(void *data),
                      void *data)
{
        char path[PATH_MAX];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/pauses", top);
        f = fopen(path, "ae");
        if (f) {
                (void) fprintf(f, "%llu\n", (unsigned long long) delay / USEC_PER_MSEC);
                (void) fclose(f);
        }
        (void) snprintf(path, sizeof(path), "%s/hurry", top);
        if (access(path, F_OK) >= 0)
                delay = MIN(delay, 50 * USEC_PER_MSEC);
        return __real_later_call(l, event, delay, call, data);
}

int __real_pid1_start_later(const struct roots *r, sd_event *event, const char *unit, sd_bus **ret);
int __wrap_pid1_start_later(const struct roots *r, sd_event *event, const char *unit, sd_bus **ret);
int __wrap_pid1_start_later(const struct roots *r, sd_event *event, const char *unit, sd_bus **ret)
{
        char path[4096];
        FILE *f;

        if (!streq(unit, "modprobe@usb_storage.service"))
                return __real_pid1_start_later(r, event, unit, ret);
        (void) snprintf(path, sizeof(path), "%s/units", top);
        f = fopen(path, "ae");
        if (!f)
                return -errno;
        (void) fprintf(f, "%s\n", unit);
        (void) fclose(f);
        return 0;
}

int __wrap_journal_send(const char *text, size_t size);

int __wrap_journal_send(const char *text, size_t size)
{
        char path[PATH_MAX];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/journal", top);
        f = fopen(path, "ae");
        if (f) {
                (void) fwrite(text, 1, size, f);
                (void) fprintf(f, "\n");
                (void) fclose(f);
        }
        return -ENOTCONN; /* so the message goes to stderr */
}

/* The fifos are instead of the netlink sockets; -1: the events are those of this machine. The
 * second one has the block events of the kernel. */
static int fifos[2] = {-1, -1};
static int heard = -1;
static struct udev_monitor *announced;

static int *fifo_of(const struct udev_monitor *m)
{
        return fifos + (m == announced);
}

int __real_uevents_open(enum uevents which, struct udev_monitor **ret);
int __wrap_uevents_open(enum uevents which, struct udev_monitor **ret);
int __wrap_uevents_open(enum uevents which, struct udev_monitor **ret)
{
        char path[PATH_MAX];
        int r;

        (void) snprintf(path, sizeof(path), "%s/no-uevents", top);
        r = access(path, F_OK) >= 0 ? -ENFILE : __real_uevents_open(which, ret);
        if (r >= 0 && which == UEVENTS_ANNOUNCED)
                announced = *ret;
        return r;
}

int __real_uevents_fd(struct udev_monitor *m);
int __wrap_uevents_fd(struct udev_monitor *m);
int __wrap_uevents_fd(struct udev_monitor *m)
{
        char path[PATH_MAX];
        int *fifo = fifo_of(m);

        (void) snprintf(path, sizeof(path), "%s/%s", top, m == announced ? "announced" : "uevents");
        if (*fifo < 0)
                *fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (heard < 0) {
                (void) snprintf(path, sizeof(path), "%s/heard", top);
                heard = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        }
        return *fifo < 0 ? __real_uevents_fd(m) : dup(*fifo);
}

int __real_uevents_next(struct udev_monitor *m, struct uevent *ret);
int __wrap_uevents_next(struct udev_monitor *m, struct uevent *ret);
int __wrap_uevents_next(struct udev_monitor *m, struct uevent *ret)
{
        char line[128];
        size_t n = 0;
        int fifo = *fifo_of(m);

        if (fifo < 0)
                return __real_uevents_next(m, ret);
        while (n < sizeof(line) - 1 && read(fifo, line + n, 1) == 1 && line[n] != '\n')
                n++;
        line[n] = '\0';
        if (n == 0)
                return 0;
        if (heard >= 0)
                (void) !dprintf(heard, "%s\n", line);
        if (streq(line, "lost"))
                return -ENOBUFS;
        *ret = (struct uevent){0};
        return sscanf(line, "%15s %15s %31s %31s", ret->action, ret->subsystem, ret->name,
                      ret->interface) >= 3
                       ? 1
                       : -EINVAL;
}

/* A slow disk, for the test that made "at-fsync". */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), "%s/at-fsync", top);
        if (access(path, F_OK) < 0)
                return 0;
        (void) snprintf(path, sizeof(path), "%s/in-fsync", top);
        (void) close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        while (access(path, F_OK) >= 0)
                (void) usleep(1000);
        return 0;
}

int __real_users_any(const struct roots *r, const struct lun *luns, size_t n);
int __wrap_users_any(const struct roots *r, const struct lun *luns, size_t n);
int __wrap_users_any(const struct roots *r, const struct lun *luns, size_t n)
{
        char path[PATH_MAX];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/looks", top);
        f = fopen(path, "ae");
        if (f) {
                (void) fputc('.', f);
                (void) fclose(f);
        }
        return __real_users_any(r, luns, n);
}

/* The machine has no room for another process, for the test that made "no-fork". */
pid_t __real_child_fork(const int *keep, size_t n, int *ret_fd);
pid_t __wrap_child_fork(const int *keep, size_t n, int *ret_fd);
pid_t __wrap_child_fork(const int *keep, size_t n, int *ret_fd)
{
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), "%s/no-fork", top);
        return access(path, F_OK) < 0 ? __real_child_fork(keep, n, ret_fd) : -EAGAIN;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
        if (top_fd >= 0 && size == sizeof(struct post) &&
            faccessat(top_fd, "no-memory", F_OK, 0) >= 0)
                return NULL;
        return __real_malloc(size);
}

int __wrap_sd_seat_get_active(const char *seat, char **session, uid_t *uid);
int __wrap_sd_seat_get_active(const char *seat, char **session, uid_t *uid)
{
        char path[PATH_MAX];
        int n;
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/run/systemd/seats/%s", top, seat);
        f = fopen(path, "re");
        if (!f)
                return -ENXIO;
        n = fscanf(f, "ACTIVE_UID=%u", uid);
        (void) fclose(f);
        return n == 1 ? 0 : -ENODATA;
}

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
        int r = __real_getsockopt(fd, level, name, value, size);
        struct ucred *peer = value;

        if (r >= 0 && name == SO_PEERCRED && peer->uid == geteuid())
                peer->uid = 0;
        return r;
}

/* src/daemon/bus/polkit.c, while it gets the answer of the bus */
static sd_bus_message_handler_t user_asked;
static bool user_answered;

static int on_user(sd_bus_message *reply, void *data, sd_bus_error *error)
{
        int r;

        user_answered = true;
        r = user_asked(reply, data, error);
        user_answered = false;
        return r;
}

int __wrap_sd_bus_call_method_async(sd_bus *bus, sd_bus_slot **slot, const char *to,
                                    const char *path, const char *interface, const char *member,
                                    sd_bus_message_handler_t callback, void *data,
                                    const char *types, ...);
int __wrap_sd_bus_call_method_async(sd_bus *bus, sd_bus_slot **slot, const char *to,
                                    const char *path, const char *interface, const char *member,
                                    sd_bus_message_handler_t callback, void *data,
                                    const char *types, ...)
{
        va_list values;
        int r;

        if (streq(member, "GetConnectionCredentials")) {
                user_asked = callback;
                callback = on_user;
        }
        va_start(values, types);
        r = sd_bus_call_method_asyncv(bus, slot, to, path, interface, member, callback, data, types,
                                      values);
        va_end(values);
        return r;
}

int __wrap_sd_bus_message_read(sd_bus_message *m, const char *types, ...);
int __wrap_sd_bus_message_read(sd_bus_message *m, const char *types, ...)
{
        static bool is_uid;
        va_list values, again;
        int r;

        va_start(values, types);
        va_copy(again, values);
        r = sd_bus_message_readv(m, types, values);
        if (r > 0 && user_answered && streq(types, "s"))
                is_uid = streq(*va_arg(again, const char **), "UnixUserID");
        else if (r > 0 && user_answered && is_uid) {
                (void) va_arg(again, const char *); /* of the variant */
                uint32_t *uid = va_arg(again, uint32_t *);

                if (*uid == geteuid())
                        *uid = 0;
                if (faccessat(top_fd, "no-user", F_OK, 0) >= 0)
                        *uid = UINT32_MAX;
                is_uid = false;
        }
        va_end(again);
        va_end(values);
        return r;
}

/* As systemd does for the stderr of a service. */
static void stderr_to_journal(void)
{
        char stream[64];
        struct stat st;

        if (fstat(STDERR_FILENO, &st) < 0)
                return;
        (void) snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long) st.st_dev,
                        (unsigned long long) st.st_ino);
        (void) setenv("JOURNAL_STREAM", stream, true);
}

int __real_manager_new(const char *root, struct manager **ret);
int __wrap_manager_new(const char *root, struct manager **ret);
int __wrap_manager_new(const char *root, struct manager **ret)
{
        return __real_manager_new(top, ret);
}

int __real_main(int argc, char *argv[]);
int __wrap_main(int argc, char *argv[]);
int __wrap_main(int argc, char *argv[])
{
        if (argc < 2)
                return fprintf(stderr, "usage: uasd-in-tree ROOT [ARGUMENT...]\n"), 2;
        top = argv[1];
        top_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
        stderr_to_journal();
        (void) setenv("UASD_DEBUG", "1", false);
        argv[1] = argv[0];
        return __real_main(argc - 1, argv + 1);
}

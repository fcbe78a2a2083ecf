/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/exit-codes.h"
#include "common/names.h"
#include "common/util.h"

/*
 * The bus API of uasd: each disk plays a part when a client asks it to switch. uasctl reads the
 * disks from the machine in the folder $TREE (tree.py), in which a part changes what uasctl reads.
 * Prints "ready" when it is on the bus, and every call. The argument selects another version:
 * "methods" has no method. "older" has none either, and reports its version. "nothing" has not even
 * ListDisks. "words" reports an unknown state; "same" does too, and says that it is ours. "dies"
 * ends at the first call, or at that of the method in the second argument, and "hangs" does not
 * answer it. After ListDisks, "leaves" has no name any more, and after the second one "twice".
 * "policies" reports an unknown policy.
 *
 * SIGUSR1 is for the disk of the last switch or lease: what its part has for the middle of it.
 */

enum part {
        PART_FREE, /* switching, then done; $SECOND_LUN is the name of another LUN */
        PART_BUSY, /* waiting. SIGUSR1: no more in use from now on, then as above */
        PART_BAD,  /* switching, then rolled back */
        PART_INCAPABLE,
        PART_REFUSED, /* SIGUSR1: another process ends its lease */
        PART_FORBIDDEN,
        PART_ABSENT, /* SIGUSR1: the user pulls it out */
        PART_FATAL,  /* SIGUSR1: the daemon dies */
        PART_HELD,   /* held until it is released. In a lease: distrusted at SIGUSR1, or with the
                        end of a switch to uas ($DISTRUST_AT_ONCE) */
};

struct fake {
        const char *id, *block, *serial;
        enum part part;
        const char *driver, *state, *target, *policy;
        bool busy, forced; /* forced: its policy */
        bool paused;       /* a switch, until SIGUSR1 */
        bool freed;        /* no more in use */
        bool removed;
        bool seen_in_use; /* by a request to eject it: its users are shown from then on */
        struct {
                int code;
                const char *step, *text;
        } outcome;
        char job[64];
        sd_bus_slot *slot, *methods;
        sd_event_source *timer;
        /* A lease: our end of its pipe, and the driver to restore. */
        sd_event_source *lease;
        const char *before, *history;
};

static struct fake disks[] = {
        {"2-1:1.0", "sda", "FREE", PART_FREE},
        {"2-2:1.0", "sdb", "BUSY", PART_BUSY},
        {"2-3:1.0", "sdc", "BAD", PART_BAD},
        {"2-4:1.0", "sdd", "INCAPABLE", PART_INCAPABLE},
        {"2-5:1.0", "sde", "REFUSED", PART_REFUSED},
        {"2-6:1.0", "sdf", "FORBIDDEN", PART_FORBIDDEN},
        {"2-7:1.0", "sdg", "ABSENT", PART_ABSENT},
        {"2-8:1.0", "sdh", "FATAL", PART_FATAL},
        {"2-9:1.0", "sdi", "HELD", PART_HELD, .state = "held"},
};

static sd_bus *bus;
static sd_event *event;

/* A path in the machine in the folder. */
#define IN_TREE(path) in_tree(path, (char[PATH_MAX]){})

static const char *in_tree(const char *path, char ret[static PATH_MAX])
{
        (void) snprintf(ret, PATH_MAX, "%s/%s", getenv("TREE") ?: "/nonexistent", path);
        return ret;
}

static void write_file(const char *path, const char *text)
{
        FILE *out = fopen(IN_TREE(path), "w");

        if (!out)
                return;
        (void) fputs(text, out);
        (void) fclose(out);
}
static unsigned n_jobs;
static struct fake *last;   /* the disk of the last switch or lease */
static const char *version; /* a different version; NULL: ours */

static bool version_is(const char *other)
{
        return version && streq(version, other);
}

#define OTHER_VERSION "0.0.1\033[31m"

static char *path_of(const struct fake *f)
{
        char *path;

        return sd_bus_path_encode(UASD_BUS_PATH "/disk", f->id, &path) < 0 ? NULL : path;
}

static void changed(struct fake *f)
{
        _cleanup_free_ char *path = path_of(f);

        (void) sd_bus_emit_properties_changed(bus, path, UASD_BUS_DISK, "State", NULL);
}

static void job_removed(struct fake *f, int code, const char *step, const char *text)
{
        f->outcome.code = code;
        f->outcome.step = step;
        f->outcome.text = text;
        (void) sd_bus_emit_signal(bus, UASD_BUS_PATH, UASD_BUS_MANAGER, "JobRemoved", "osiss",
                                  f->job, f->id, code, step, text);
}

static void remove_disk(struct fake *f)
{
        _cleanup_free_ char *path = path_of(f);
        char interface[128];

        (void) snprintf(interface, sizeof(interface), "sys/bus/usb/devices/%s", f->id);
        (void) unlink(IN_TREE(interface));
        f->removed = true;
        (void) sd_bus_emit_object_removed(bus, path);
        f->slot = sd_bus_slot_unref(f->slot);
        f->methods = sd_bus_slot_unref(f->methods);
}

static void distrust(struct fake *f)
{
        _cleanup_free_ char *path = path_of(f);

        f->history = "distrusted: commands were not answered in time";
        write_file(
                "etc/uasd/history",
                "generation=1\n1209:5a5a:HELD@0000:00:14.0/ss/9=state=distrusted firmware=0214 "
                "kernel=6.1.0-test boot=00000000-0000-0000-0000-000000000001 date=- reason=commands were not answered in time\n");
        (void) sd_bus_emit_properties_changed(bus, path, UASD_BUS_DISK, "State", NULL);
}

static void set_driver(struct fake *f, const char *driver)
{
        char link[128], target[64];

        f->driver = driver;
        (void) snprintf(link, sizeof(link), "sys/bus/usb/devices/%s/driver", f->id);
        (void) snprintf(target, sizeof(target), "drivers/%s", driver ?: "usb-storage");
        (void) unlink(IN_TREE(link));
        (void) symlink(target, IN_TREE(link));
}

/* The end of a switch. */
static int on_timer(sd_event_source *s, uint64_t usec, void *data)
{
        struct fake *f = data;

        if (f->part == PART_BAD) {
                f->state = "failed";
                job_removed(f, UASD_EXIT_ROLLED_BACK, "bind",
                            "The disk did not come back in time.");
        } else {
                set_driver(f, f->target);
                f->state = "trial";
                if (f->lease && streq(f->driver, "uas") && getenv("DISTRUST_AT_ONCE"))
                        distrust(f);
                job_removed(f, UASD_EXIT_OK, "", "It runs on its new driver.");
        }
        changed(f);
        return 0;
}

static void end_soon(struct fake *f)
{
        f->timer = sd_event_source_unref(f->timer);
        (void) sd_event_add_time_relative(event, &f->timer, CLOCK_MONOTONIC, 300 * USEC_PER_MSEC,
                                          1000, on_timer, f);
}

static void go_on(struct fake *f)
{
        f->paused = false;
        if (f->part == PART_FATAL)
                exit(0);
        if (f->part == PART_ABSENT) {
                remove_disk(f);
                return;
        }
        f->busy = false;
        f->freed = true;
        f->state = "switching";
        end_soon(f);
        changed(f);
}

/* uasd refuses these before it stores anything of a request. */
static bool refuses_uas(const struct fake *f, const char *target, bool force, sd_bus_error *e)
{
        if (!streq(target, "uas"))
                return false;
        if (f->part == PART_INCAPABLE)
                (void) sd_bus_error_setf(e, UASD_BUS_ERROR_INCAPABLE, "It does not speak UAS.");
        else if (f->part == PART_REFUSED && !force && !f->forced)
                (void) sd_bus_error_setf(e, UASD_BUS_ERROR_FORCE_NEEDED,
                                         "The kernel's table forbids it.");
        return sd_bus_error_is_set(e);
}

static bool read_force(sd_bus_message *m)
{
        const char *key;
        int force = 0;

        if (sd_bus_message_enter_container(m, 'a', "{sv}") >= 0 &&
            sd_bus_message_enter_container(m, 'e', "sv") > 0 &&
            sd_bus_message_read(m, "s", &key) >= 0)
                (void) sd_bus_message_read(m, "v", "b", &force);
        return force;
}

static int on_switch(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct fake *f = data;
        const char *target;
        bool force;
        int r;

        if (sd_bus_message_read(m, "s", &target) < 0)
                return -EBADMSG;
        force = read_force(m);
        last = f;
        printf("Switch %s %s%s\n", f->id, isempty(target) ? "-" : target, force ? " force" : "");
        if (refuses_uas(f, target, force || f->lease, e))
                return -EPERM;
        if (f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_ACCESS_DENIED, "Not authorized.");
        f->target = !isempty(target) ? streq(target, "uas") ? "uas" : "usb-storage"
                    : f->part == PART_INCAPABLE || (f->part == PART_REFUSED && !f->forced)
                            ? "usb-storage"
                            : "uas";
        (void) snprintf(f->job, sizeof(f->job), UASD_BUS_PATH "/job/%u", ++n_jobs);
        f->busy = f->part == PART_BUSY && !f->freed;
        f->state = f->busy ? "waiting" : "switching";
        r = sd_bus_reply_method_return(m, "o", f->job);
        if (streq(f->driver ?: "usb-storage", f->target)) {
                f->state = "settled";
                job_removed(f, UASD_EXIT_OK, "", "It is there already.");
        } else if (f->busy || f->part == PART_ABSENT || f->part == PART_FATAL)
                f->paused = true;
        else
                end_soon(f);
        changed(f);
        return r < 0 ? r : 1;
}

static void end_lease(struct fake *f)
{
        printf("LeaseEnded %s\n", f->id);
        f->lease = sd_event_source_disable_unref(f->lease);
        set_driver(f, f->before);
        f->history = NULL;
        write_file("etc/uasd/history", "generation=2\n");
}

/* The holder of the lease has closed the pipe. */
static int on_lease(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        end_lease(data);
        return 0;
}

/* The disk is pulled out, switched by another process, or distrusted, or the daemon dies. */
static void trouble_lease(struct fake *f)
{
        if (f->part == PART_FATAL)
                exit(0);
        if (f->part == PART_ABSENT || f->part == PART_REFUSED)
                end_lease(f);
        if (f->part == PART_ABSENT)
                remove_disk(f);
        if (f->part == PART_HELD)
                distrust(f);
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *info, void *data)
{
        if (last && last->lease)
                trouble_lease(last);
        else if (last && last->paused)
                go_on(last);
        return 0;
}

static int on_take_lease(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct fake *f = data;
        int ends[2], r;

        last = f;
        printf("Lease %s\n", f->id);
        if (f->part == PART_INCAPABLE)
                return sd_bus_error_setf(e, UASD_BUS_ERROR_INCAPABLE, "It does not speak UAS.");
        if (f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_ACCESS_DENIED, "Not authorized.");
        if (f->part == PART_BUSY)
                return sd_bus_error_setf(e, UASD_BUS_ERROR_IN_USE,
                                         "It is in use: /mnt/usb (sdb1).");
        if (getenv("LEASE_STALLS")) { /* as if a user still typed a password: no answer */
                (void) sd_bus_message_ref(m);
                return 1;
        }
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        f->before = f->driver;
        (void) sd_event_add_io(event, &f->lease, ends[1], 0, on_lease,
                               f); /* EPOLLERR: the pipe has no reader any more */
        (void) sd_event_source_set_io_fd_own(f->lease, true);
        r = sd_bus_reply_method_return(m, "h", ends[0]);
        (void) close(ends[0]);
        return r < 0 ? r : 1;
}

/* The last inhibitor, and its disk. */
static sd_event_source *inhibitor;
static char inhibited[16];

static int on_inhibitor(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        inhibitor = sd_event_source_disable_unref(inhibitor);
        return 0;
}

/* Only the disk FORBIDDEN refuses inhibitors. */
static int on_inhibit(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *who, *why;
        int ends[2], r = sd_bus_message_read(m, "ss", &who, &why);
        struct fake *f = data; /* NULL: all */

        if (r < 0)
                return r;
        printf("Inhibit %s %s\n", f ? f->id : "-", who);
        if (f && f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_ACCESS_DENIED, "Not authorized.");
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        inhibitor = sd_event_source_disable_unref(inhibitor);
        (void) sd_event_add_io(event, &inhibitor, ends[1], 0, on_inhibitor, NULL);
        (void) sd_event_source_set_io_fd_own(inhibitor, true);
        (void) snprintf(inhibited, sizeof(inhibited), "%s", f ? f->id : "");
        r = sd_bus_reply_method_return(m, "h", ends[0]);
        (void) close(ends[0]);
        return r < 0 ? r : 1;
}

static int get_inhibitors(sd_bus *b, const char *path, const char *interface, const char *property,
                          sd_bus_message *reply, void *data, sd_bus_error *e)
{
        return sd_bus_message_append(reply, "a(sss)", inhibitor ? 1 : 0, inhibited, "dd", "");
}

/* The answer of the methods that store something. */
static int reply_stored(sd_bus_message *m)
{
        const char *warning = getenv("STORE_WARNING");

        if (!warning)
                return sd_bus_reply_method_return(m, "a{sv}", 0);
        return sd_bus_reply_method_return(m, "a{sv}", 2, "another", "u", 7, "warning", "s",
                                          warning);
}

static int on_policy(sd_bus_message *m, void *data, sd_bus_error *e)
{
        static char kept[32];
        struct fake *f = data;
        const char *policy;
        char file[128];
        bool force;

        if (sd_bus_message_read(m, "s", &policy) < 0)
                return -EBADMSG;
        force = read_force(m);
        printf("SetPolicy %s %s%s\n", f->id, policy, force ? " force" : "");
        if (refuses_uas(f, policy, force, e))
                return -EPERM;
        if (f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_ACCESS_DENIED, "Not authorized.");
        (void) copy_string(kept, sizeof(kept), policy);
        f->policy = kept;
        f->forced = force;
        /* REFUSED may have the numbers of a bridge in the kernel's table. */
        (void) snprintf(file, sizeof(file), "1209:5a5a:%s=%s%s\n2109:0715:%s=%s%s\n", f->serial,
                        policy, force ? " force" : "", f->serial, policy, force ? " force" : "");
        write_file("etc/uasd/policy", streq(policy, "auto") ? "" : file);
        return reply_stored(m);
}

/* The policy of a disk that is not plugged in. There is room for one. */
static char absent[64], absent_policy[32];
static bool absent_forced;

static int on_list_policies(sd_bus_message *m, void *data, sd_bus_error *e)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = sd_bus_message_new_method_return(m, &reply);

        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssbsas)");
        if (r >= 0 && version_is("policies"))
                r = sd_bus_message_append(reply, "(ssbsas)", "*", "dreaming", false, "config", 0);
        if (r >= 0 && *absent)
                r = sd_bus_message_append(reply, "(ssbsas)", absent, absent_policy, absent_forced,
                                          "user", 0);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(disks); i++) {
                const struct fake *f = &disks[i];
                char id[64];

                (void) snprintf(id, sizeof(id), "1209:5a5a:%s", f->serial);
                if (f->policy && !streq(f->policy, "auto"))
                        r = sd_bus_message_append(reply, "(ssbsas)", id, f->policy, f->forced,
                                                  "user", 1, f->id);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int on_policy_of(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *id, *policy;

        if (sd_bus_message_read(m, "ss", &id, &policy) < 0)
                return -EBADMSG;
        absent_forced = read_force(m);
        printf("SetPolicyOf %s %s%s\n", id, policy, absent_forced ? " force" : "");
        (void) copy_string(absent, sizeof(absent), streq(policy, "auto") ? "" : id);
        (void) copy_string(absent_policy, sizeof(absent_policy), policy);
        return reply_stored(m);
}

/* There is no record of any disk. */
static int on_forget_of(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *id;

        if (sd_bus_message_read(m, "s", &id) < 0)
                return -EBADMSG;
        printf("ForgetOf %s\n", id);
        return sd_bus_error_setf(e, UASD_BUS_ERROR_NO_SUCH_DISK, "Nothing is on record of it.");
}

/* Disk 2-2 does not support TRIM. */
static int on_trim(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct fake *f = data;
        const char *trim;
        bool force;

        if (sd_bus_message_read(m, "s", &trim) < 0)
                return -EBADMSG;
        force = read_force(m);
        printf("SetTrim %s %s%s\n", f->id, trim, force ? " force" : "");
        if (f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_ACCESS_DENIED, "Not authorized.");
        if (!force && strncmp(f->id, "2-2", 3) == 0)
                return sd_bus_error_setf(e, UASD_BUS_ERROR_REFUSED, "It does not say so.");
        return reply_stored(m);
}

static int on_simple(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct fake *f = data;

        printf("%s %s\n", sd_bus_message_get_member(m), f->id);
        if (f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
                                         "Ask for a password.");
        if (f->part == PART_HELD && sd_bus_message_is_method_call(m, NULL, "Release")) {
                f->target = "uas";
                end_soon(f);
        }
        if (f->busy && !sd_bus_message_is_method_call(m, NULL, "Forget")) {
                f->paused = f->busy = false;
                f->state = "settled";
                job_removed(f, UASD_EXIT_FAILED, "", "it was cancelled");
                changed(f);
        }
        return sd_bus_message_is_method_call(m, NULL, "Forget")
                       ? reply_stored(m)
                       : sd_bus_reply_method_return(m, NULL);
}

static int on_eject(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct fake *f = data;

        printf("Eject %s\n", f->id);
        if (f->part == PART_FORBIDDEN)
                return sd_bus_error_setf(e, SD_BUS_ERROR_ACCESS_DENIED, "Not authorized.");
        if (f->part == PART_HELD)
                return sd_bus_error_setf(e, UASD_BUS_ERROR_IN_USE,
                                         "%s is held, and about to be mounted.", f->id);
        f->seen_in_use = f->part == PART_BUSY;
        if (f->seen_in_use)
                return sd_bus_error_setf(e, UASD_BUS_ERROR_IN_USE,
                                         "%s cannot be ejected: in use: holder of %s at dm-9",
                                         f->id, f->block);
        remove_disk(f);
        return sd_bus_reply_method_return(m, NULL);
}

static int get_version(sd_bus *b, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *data, sd_bus_error *e)
{
        return sd_bus_message_append(
                reply, "s", version && !streq(version, "same") ? OTHER_VERSION : UASD_VERSION);
}

static int append_course(sd_bus_message *m, const struct fake *f)
{
        return sd_bus_message_append(
                m, UASD_BUS_COURSE, f->id,
                version_is("words") || version_is("same") ? "dreaming" : f->state ?: "settled",
                "uas", "fastest", "unknown", false, "", "", f->outcome.text ? f->outcome.code : -1,
                f->outcome.step ?: "", f->outcome.text ?: "",
                f->state && streq(f->state, "switching") ? f->block : "", (uint64_t) 0,
                (uint64_t) 0);
}

static int append_user(sd_bus_message *m, const struct fake *f)
{
        if (f->seen_in_use)
                return sd_bus_message_append(m, UASD_BUS_COURSE_USER, f->id, "holder", f->block,
                                             "dm-9", "", "", 0, "");
        if (f->busy)
                return sd_bus_message_append(m, UASD_BUS_COURSE_USER, f->id, "mount", "sdb1",
                                             "/mnt/usb", "", "", 0, "");
        return 0;
}

/* $STEP is the step of each switch that has not ended. Its end is not reported. */
static void say_step(const struct fake *f)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        const char *step = getenv("STEP");

        if (!step || !f->state || (!streq(f->state, "switching") && !streq(f->state, "waiting")) ||
            sd_bus_message_new_signal(bus, &m, f->job, "org.freedesktop.DBus.Properties",
                                      "PropertiesChanged") < 0 ||
            sd_bus_message_append(m, "sa{sv}as", UASD_BUS_JOB, 3, "Disk", "s", f->id, "State", "s",
                                  "running", "Step", "s", step, 0) < 0)
                return;
        (void) sd_bus_send(bus, m, NULL);
}

static int on_list(sd_bus_message *m, void *data, sd_bus_error *e)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int users, r = sd_bus_message_read(m, "b", &users);
        static bool again;

        if (version_is("leaves"))
                (void) sd_bus_release_name(bus, UASD_BUS_NAME);
        if (r >= 0)
                r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', UASD_BUS_COURSE);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(disks); i++)
                if (!disks[i].removed)
                        r = append_course(reply, &disks[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', UASD_BUS_COURSE_USER);
        for (size_t i = 0; r >= 0 && users && i < ELEMENTSOF(disks); i++)
                if (!disks[i].removed)
                        r = append_user(reply, &disks[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        for (size_t i = 0; i < ELEMENTSOF(disks); i++)
                say_step(&disks[i]);
        if (again && version_is("twice"))
                (void) sd_bus_release_name(bus, UASD_BUS_NAME);
        again = true;
        return r;
}

#define LIST_DISKS                                                                                 \
        SD_BUS_METHOD("ListDisks", "b", "a" UASD_BUS_COURSE "a" UASD_BUS_COURSE_USER, on_list,     \
                      SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable older_vtable[] = {
        SD_BUS_VTABLE_START(0),
        LIST_DISKS,
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable nothing_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable no_methods_vtable[] = {
        SD_BUS_VTABLE_START(0),
        LIST_DISKS,
        SD_BUS_SIGNAL("JobRemoved", "osiss", 0),
        SD_BUS_VTABLE_END,
};

#define METHOD(name, takes, gives, handler)                                                        \
        SD_BUS_METHOD(name, takes, gives, handler, SD_BUS_VTABLE_UNPRIVILEGED)
static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        LIST_DISKS,
        METHOD("Inhibit", "ssa{sv}", "h", on_inhibit),
        SD_BUS_PROPERTY("Inhibitors", "a(sss)", get_inhibitors, 0, 0),
        METHOD("ListPolicies", "", "a(ssbsas)", on_list_policies),
        METHOD("SetPolicyOf", "ssa{sv}", "a{sv}", on_policy_of),
        METHOD("ForgetOf", "sa{sv}", "a{sv}", on_forget_of),
        SD_BUS_SIGNAL("JobRemoved", "osiss", 0),
        SD_BUS_VTABLE_END,
};

/* Of its properties only the signals count: uasctl asks ListDisks. */
static int get_state(sd_bus *b, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *data, sd_bus_error *e)
{
        const struct fake *f = data;

        return sd_bus_message_append(reply, "s", f->state ?: "settled");
}

static const sd_bus_vtable disk_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable disk_methods_vtable[] = {
        SD_BUS_VTABLE_START(0),
        METHOD("Switch", "sa{sv}", "o", on_switch),
        METHOD("Lease", "a{sv}", "h", on_take_lease),
        METHOD("Inhibit", "ssa{sv}", "h", on_inhibit),
        METHOD("SetPolicy", "sa{sv}", "a{sv}", on_policy),
        METHOD("SetTrim", "sa{sv}", "a{sv}", on_trim),
        METHOD("Release", "a{sv}", "", on_simple),
        METHOD("Cancel", "a{sv}", "", on_simple),
        METHOD("Eject", "a{sv}", "", on_eject),
        METHOD("Forget", "a{sv}", "a{sv}", on_simple),
        SD_BUS_VTABLE_END,
};

static int die(sd_bus_message *m, void *method, sd_bus_error *e)
{
        if (sd_bus_message_is_method_call(m, NULL, method) <= 0)
                return 0;
        if (streq(version, "dies"))
                _exit(1);
        return 1;
}

int main(int argc, char **argv)
{
        const sd_bus_vtable *manager;
        sigset_t signals;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGUSR1);
        (void) sigprocmask(SIG_BLOCK, &signals, NULL);
        version = argc > 1 ? argv[1] : NULL;
        manager = version_is("methods")   ? no_methods_vtable
                  : version_is("older")   ? older_vtable
                  : version_is("nothing") ? nothing_vtable
                                          : manager_vtable;
        setvbuf(stdout, NULL, _IOLBF, 0);
        if (sd_event_default(&event) < 0 ||
            sd_event_add_signal(event, NULL, SIGUSR1, on_signal, NULL) < 0 ||
            sd_bus_open_system(&bus) < 0 ||
            sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL) < 0 ||
            sd_bus_add_object_manager(bus, NULL, UASD_BUS_PATH) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, UASD_BUS_PATH, UASD_BUS_MANAGER, manager, NULL) < 0)
                return 1;
        for (size_t i = 0; i < ELEMENTSOF(disks); i++) {
                _cleanup_free_ char *path = path_of(&disks[i]);

                if (sd_bus_add_object_vtable(bus, &disks[i].slot, path, UASD_BUS_DISK, disk_vtable,
                                             &disks[i]) < 0)
                        return 1;
                if (manager == manager_vtable &&
                    sd_bus_add_object_vtable(bus, &disks[i].methods, path, UASD_BUS_DISK,
                                             disk_methods_vtable, &disks[i]) < 0)
                        return 1;
        }
        if ((version_is("dies") || version_is("hangs")) &&
            sd_bus_add_filter(bus, NULL, die, argv[2]) < 0)
                return 1;
        if (sd_bus_request_name(bus, UASD_BUS_NAME, 0) < 0)
                return 1;
        puts("ready");
        return sd_event_loop(event) < 0;
}

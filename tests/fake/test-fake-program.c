/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/names.h"
#include "play.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"
#include "wraps.h"

/* The whole program uasd-switch on the fake kernel: its arguments, what it prints, and its exit
 * code. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS
#define IF "2-1:1.0"

WRAPPED(int, main, int argc, char *argv[]);
WRAPPED(int, roots_open, struct roots *ret, const char *prefix);

static bool no_sysfs;

int __wrap_roots_open(struct roots *ret, const char *prefix)
{
        if (prefix) /* the fake kernel opens its folder */
                return __real_roots_open(ret, prefix);
        if (no_sysfs)
                return -ENOENT;
        *ret = fake->roots;
        return 0;
}

void __wrap_report_claim(const struct transaction *t)
{
        __real_report_claim(t);
}

static void mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount("sda1", true), 0);
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

static void tree_without_sysfs(struct fake_usb *u)
{
        no_sysfs = true;
}

/* A switch to usb-storage was killed between unbind and bind. */
static void killed(struct fake_usb *u)
{
        char record[128];

        (void) snprintf(
                record, sizeof(record),
                "PID=1\nBUSNUM=%u\nDEVNUM=%u\nFROM=uas\nTO=usb-storage\nSTEP=unbind\nDISKS=1\nMOVED=1\n",
                u->bus, u->dev);
        tree_write(record, "run/uasd/switch/" IF);
}

static int lock = -1;

static int unnamed = -1;

static void opened_by_nobody(struct fake_usb *u)
{
        unnamed = openat(fake->roots.dev, "sda1", O_RDONLY | O_CLOEXEC);
        assert_true(unnamed >= 0);
}

static void under_nohup(struct fake_usb *u)
{
        (void) signal(SIGTERM, SIG_IGN);
}

/* By another uasd-switch, which is alive. */
static void locked(struct fake_usb *u)
{
        killed(u);
        tree_write("", "run/uasd/switch/" IF ".lock");
        lock = openat(fake->roots.run, "uasd/switch/" IF ".lock", O_RDWR | O_CLOEXEC);
        assert_int_equal(switch_lock_take(lock, SWITCH_LOCK), 0);
}

#define STOPPED STOPPED_BY(SIGTERM)
#define STOPPED_BY(number) STOPPED_AT("fingerprint", number)
#define STOPPED_AT(name, number)                                                                   \
        {                                                                                          \
                {                                                                                  \
                        .op = name, .nth = 1, .what = HOOK_SIGNAL, .error = number                 \
                }                                                                                  \
        }

static const struct {
        const char *args[6];
        struct scene s;
        int code;
        const char *out, *err; /* their ends; "": nothing is printed */
        enum driver driver;
        bool tried, no_auto; /* the marks of the attachment */
} table[] = {
        /* clang-format off */
        {{IF, "usb-storage"}, {UAS, .partitions = 1}, 0, "", "uasd-switch: " IF ": moved from uas to usb-storage\n", BOT, false, true},
        {{IF, "uas"}, {UAS}, 0, "", "uasd-switch: " IF ": already moved from uas to uas\n", UAS},
        {{"--automatic", IF, "uas"}, {BOT}, 0, "", "uasd-switch: " IF ": moved from usb-storage to uas\n", UAS, true, true},
        {{"--plugged", IF, "uas"}, {BOT}, 0, "", "uasd-switch: " IF ": moved from usb-storage to uas\n", UAS, false, false},
        {{"--no-udev", IF, "uas"}, {BOT}, 0, "", "uasd-switch: " IF ": moved from usb-storage to uas\n", UAS, false, true},
        {{"--attachment=2-5", IF, "uas"}, {BOT}, 0, "", "uasd-switch: " IF ": moved from usb-storage to uas\n", UAS, false, true},
        {{"--attachment=2-3", IF, "uas"}, {BOT}, 4, "", "step identify: the disk was unplugged, and another one is at its port\n", BOT},
        {{"--attachment=1-5", IF, "uas"}, {BOT}, 4, "", "step identify: the disk was unplugged, and another one is at its port\n", BOT},
        {{"--attachment=2-3", "--eject", IF}, {UAS}, 4, "", "step begin: the disk was unplugged, and another one is at its port\n", UAS},
        {{"--attachment=2-3", "--claim", IF}, {UAS}, 4, "", "step claim: the disk was unplugged, and another one is at its port\n", UAS},
        {{"--hold-deadline=1", IF, "uas"}, {BOT}, 3, "", "uasd-switch: " IF ": step delete: too little is left of the hold for a switch and its undo\n", BOT},
        {{IF, "uas"}, {BOT, .partitions = 1, .prepare = garbles, .hooks = {{.op = "fingerprint", .nth = 2, .what = HOOK_WRITE}}}, 0, "", "moved from usb-storage to uas; in use again before it could be tried\n", UAS, false, true},
        {{IF, "uas"}, {BOT, .partitions = 1, .prepare = mounted}, 3, "", "mount sda1 at /mnt/sda1\nuasd-switch: " IF ": step claim: in use: mount of sda1 at /mnt/sda1\n", BOT},
        {{IF, "uas"}, {BOT, .prepare = tree_without_sysfs}, 1, "", "uasd-switch: no sysfs on /sys\n", BOT},
        {{IF, "uas"}, {BOT, .hooks = STOPPED}, 3, "", IF ": step fingerprint: ended by a signal before the disk was touched\n", BOT},
        {{IF, "uas"}, {BOT, .hooks = STOPPED_BY(SIGINT)}, 3, "", IF ": step fingerprint: ended by a signal before the disk was touched\n", BOT},
        {{IF, "uas"}, {BOT, .hooks = STOPPED_BY(SIGHUP)}, 3, "", IF ": step fingerprint: ended by a signal before the disk was touched\n", BOT},
        {{IF, "uas"}, {BOT, .hooks = STOPPED_AT("write history", SIGTERM)}, 3, "", IF ": step delete: ended by a signal before the disk was touched\n", BOT},
        {{IF, "uas"}, {BOT, .unscanned = true, .hooks = STOPPED_AT("unbind usb-storage", SIGTERM)}, 3, "", IF ": step delete: ended by a signal\n", BOT},
        {{IF, "uas"}, {BOT, .prepare = under_nohup, .hooks = STOPPED}, 0, "", "uasd-switch: " IF ": moved from usb-storage to uas\n", UAS, false, true},
        /* lines for uasd */
        {{"--machine", IF, "usb-storage"}, {UAS}, 0, "END 0 release ␂moved from %s to %s␟uas␟usb-storage␃\n", "", BOT, false, true},
        {{"--machine", IF, "uas"}, {BOT, .partitions = 1, .prepare = mounted}, 3, "END 3 claim ␂in use: %s of %s at %s␟mount␟sda1␟/mnt/sda1␃\n", "", BOT},
        {{"--machine", IF, "uas"}, {BOT, .hooks = {{.op = "open sda", .nth = 2, .what = HOOK_FAIL, .error = EBUSY}}}, 3, "CLAIMED sda\nEND 3 delete ␂in use: a mount or a program has claimed %s␟sda␃\n", "", BOT},
        {{"--machine", IF, "uas"}, {BOT, .partitions = 1, .counts = true, .prepare = opened_by_nobody}, 3, "OPENED sda\nEND 3 claim ␂in use: a program that cannot be named has the disk open␃\n", "", BOT},
        {{"--machine", IF, "uas"}, {BOT, .hooks = {{.op = "lock", .nth = 1, .what = HOOK_OPEN}}}, 3, "END 3 claim ␂in use: %s of %s by %s␟open␟sda␟x\\x0aEND 0 a b␃\n", "", BOT},
        {{"--machine", IF, "uas"}, {BOT, .hooks = STOPPED}, 3, "END 3 fingerprint ended by a signal before the disk was touched\n", "", BOT},
        {{"--automatic", "--machine", IF, "uas"}, {BOT}, 0, "END 0 release ␂moved from %s to %s␟usb-storage␟uas␃\n", "", UAS, true, true},
        /* other tasks */
        {{"--recover", IF}, {DRIVER_NONE, .prepare = killed}, 0, "", IF ": a switch from uas to usb-storage was left at step unbind\n", UAS},
        {{"--recover", IF}, {UAS}, 0, "", "", UAS},
        {{"--recover", IF}, {UAS, .prepare = locked}, 1, "", "", UAS},
        {{"--eject", IF}, {UAS, .partitions = 1}, 0, "", "uasd-switch: " IF ": ejected\n", DRIVER_NONE},
        {{"--machine", "--eject", IF}, {UAS, .partitions = 1}, 0, "END 0 remove ejected\n", "", DRIVER_NONE},
        {{"--eject", IF}, {DRIVER_NONE}, 0, "", "uasd-switch: " IF ": ejected\n", DRIVER_NONE},
        {{"--eject", IF}, {UAS, .partitions = 1, .prepare = mounted}, 3, "", "step claim: in use: mount of sda1 at /mnt/sda1\n", UAS},
        {{"--claim", IF}, {UAS, .partitions = 1}, 0, "It is claimed, until the standard input ends.\n", "", UAS},
        {{"--claim", "--machine", IF}, {UAS, .partitions = 1}, 0, SWITCH_KEPT "\n", "", UAS},
        {{"--claim", IF}, {UAS, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_OPEN}}}, 3, "", "step claim: in use: open of sda by x\\x0aEND 0 a b\n", UAS},
        {{"--claim-again", IF}, {UAS, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_OPEN}}}, 0, "It is claimed, until the standard input ends.\n", "", UAS},
        {{"--claim-again", "--machine", IF}, {UAS, .partitions = 1, .prepare = mounted}, 3, "CLAIMED sda\nEND 3 claim ␂in use: a mount or a program has claimed %s␟sda␃\n", "", UAS},
        /* clang-format on */
};

/* The process that wanted a claim has gone: stdin is at its end. A stdin that cannot be read is at
 * its end, too. */
static int stdin_of(const char *const args[6])
{
        return open("/dev/null",
                    (streq(args[0], "--claim-again") ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

static int program(const char *const args[6], int out, int err)
{
        char text[6][32], *argv[8] = {(char[]){"uasd-switch"}};
        int argc = 1, status = 0, in = stdin_of(args);
        pid_t pid;

        for (size_t i = 0; i < 6 && args[i]; i++) {
                (void) copy_string(text[i], sizeof(text[i]), args[i]);
                argv[argc++] = text[i];
        }
        (void) fflush(NULL);
        pid = fork();
        if (pid == 0) {
                int code;

                fake->switcher = getpid();
                (void) dup2(in, STDIN_FILENO);
                (void) dup2(out, STDOUT_FILENO);
                (void) dup2(err, STDERR_FILENO);
                scene_reports = true;
                code = __real_main(argc, argv);
                (void) fflush(NULL);
                _exit(code);
        }
        (void) close(in);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *printed(int fd, char *ret, size_t size)
{
        ssize_t n = pread(fd, ret, size - 1, 0);

        ret[n > 0 ? n : 0] = '\0';
        (void) close(fd);
        return ret;
}

static bool ends_with(const char *text, const char *end)
{
        size_t n = strlen(text), m = strlen(end);

        return m == 0 ? n == 0 : n >= m && streq(text + n - m, end);
}

static bool marks_are(bool tried, bool no_auto)
{
        struct attachment_mark a = {0};
        struct facts f;

        fake_facts(&fake->usb[0], &f);
        return attachment_read(&fake->roots, &f, &a) >= 0 && a.tried == tried &&
               a.no_auto == no_auto;
}

static bool listened(void)
{
        for (unsigned i = 0; i < fake->n_ops; i++)
                if (streq(fake->ops[i], "events"))
                        return true;
        return false;
}

static void test_program(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                int fds[2] = {memfd_create("out", MFD_CLOEXEC), memfd_create("err", MFD_CLOEXEC)},
                    code;
                const char *wrong = NULL, *second = table[i].args[1];
                const char *step =
                        second && streq(second, "--eject") ? "STEP begin " : "STEP identify ";
                char out[4096], err[4096];

                no_sysfs = false;
                scene_make(&table[i].s);
                code = program(table[i].args, fds[0], fds[1]);
                lock = close_keep_errno(lock);
                unnamed = close_keep_errno(unnamed);
                (void) signal(SIGTERM, SIG_DFL);
                (void) printed(fds[0], out, sizeof(out));
                (void) printed(fds[1], err, sizeof(err));
                if (code != table[i].code || !ends_with(out, table[i].out) ||
                    !ends_with(err, table[i].err))
                        wrong = "-";
                else if (fake->usb[0].driver != table[i].driver)
                        wrong = driver_to_string(fake->usb[0].driver);
                else if (!marks_are(table[i].tried, table[i].no_auto))
                        wrong = "the marks differ";
                else if (streq(table[i].args[0], "--no-udev") && listened())
                        wrong = "it listens to udev";
                else if (streq(table[i].args[0], IF) && table[i].driver != table[i].s.from &&
                         !listened())
                        wrong = "it does not listen to udev";
                else if (streq(table[i].args[0], "--machine") && !startswith(out, step))
                        wrong = "no step";
                else if (strstr(out, "OPENED ") && !strstr(table[i].out, "OPENED "))
                        wrong = "it can be named";
                else if (table[i].s.prepare != locked)
                        wrong = scene_wrong(&table[i].s);
                if (wrong) {
                        print_error("row %zu: %s; code %i\n%s%s", i, wrong, code, out, err);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

int __wrap_main(int argc, char *argv[])
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_program)};

        /* A shell without job control leaves some of them ignored, and uasd-switch respects that.
         */
        (void) signal(SIGHUP, SIG_DFL);
        (void) signal(SIGINT, SIG_DFL);
        return cmocka_run_group_tests(tests, NULL, NULL);
}

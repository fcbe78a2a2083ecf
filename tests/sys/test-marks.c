/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The marks of an attachment: three programs change them at the same time, and they end with the
 * attachment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/names.h"
#include "sys/state/attachment.h"
#include "tree.h"

static const struct facts facts = {
        .interface = TREE_INTERFACE, .port = "2-1", .busnum = 2, .devnum = 5};

/* First process: `writes` announces that it is about to write, and a byte in `may_write` lets it
 * continue. Second process: `waits` announces that it waits for the lock. */
static int writes = -1, may_write = -1, waits = -1;

int __real_state_write(int dirfd, const char *path, const char *text, bool durable);
int __wrap_state_write(int dirfd, const char *path, const char *text, bool durable);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static void tell(int fd)
{
        if (write(fd, "", 1) != 1)
                _exit(2);
}

static void hear(int fd)
{
        char byte;

        if (read(fd, &byte, 1) != 1)
                _exit(2);
}

int __wrap_state_write(int dirfd, const char *path, const char *text, bool durable)
{
        if (writes >= 0) {
                tell(writes);
                hear(may_write);
        }
        return __real_state_write(dirfd, path, text, durable);
}

int __wrap_flock(int fd, int operation)
{
        int r = __real_flock(fd, operation);

        if (r < 0 && waits >= 0) {
                tell(waits);
                waits = -1;
                errno = EWOULDBLOCK;
        }
        return r;
}

static void ended(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

/* The first process has read the mark and is about to write it when the second one starts. */
static void test_two_processes(void **state)
{
        int begun[2], go[2], second[2];
        struct attachment_mark m;
        pid_t first, other;
        struct tree t;

        tree_make(&t);
        assert_int_equal(pipe(begun) + pipe(go) + pipe(second), 0);
        first = fork();
        if (first == 0) {
                writes = begun[1];
                may_write = go[0];
                _exit(attachment_change(&t.roots, &facts, MARK_TRIED,
                                        &(struct attachment_mark){.tried = true}) < 0);
        }
        hear(begun[0]);
        other = fork();
        if (other == 0) {
                int k;

                waits = second[1];
                k = attachment_change(&t.roots, &facts, MARK_CANCELLED,
                                      &(struct attachment_mark){.cancelled = true});
                if (waits >= 0)
                        tell(waits);
                _exit(k < 0);
        }
        hear(second[0]);
        tell(go[1]);
        ended(first);
        ended(other);
        assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
        assert_true(m.tried && m.cancelled);
        tree_remove(&t);
}

/* A change keeps the other fields. */
static void test_fields(void **state)
{
        const struct attachment_mark all = {true,       DRIVER_UAS, true,
                                            true,       true,       DRIVER_UAS,
                                            true,       true,       "none it stalls",
                                            DRIVER_UAS, 5},
                                     none = {.override_target = DRIVER_NONE};
        struct attachment_mark m;
        struct tree t;

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_ALL, &all), 0);
        for (unsigned field = 1; field < MARK_ALL; field <<= 1) {
                assert_int_equal(attachment_change(&t.roots, &facts, field, &none), 0);
                assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
                assert_int_equal(m.tried, field != MARK_TRIED);
                assert_int_equal(m.released, field != MARK_RELEASED);
                assert_int_equal(m.no_auto, field != MARK_NO_AUTO);
                assert_int_equal(m.cancelled, field != MARK_CANCELLED);
                assert_int_equal(m.override_target,
                                 field == MARK_OVERRIDE ? DRIVER_NONE : DRIVER_UAS);
                assert_int_equal(m.override_forced, field != MARK_OVERRIDE);
                assert_int_equal(m.untold, field != MARK_UNTOLD);
                assert_string_equal(m.trouble, field == MARK_TROUBLE ? "" : "none it stalls");
                assert_int_equal(m.lease, field == MARK_LEASE ? DRIVER_NONE : DRIVER_UAS);
                assert_int_equal(m.told, field == MARK_TOLD ? 0 : 5);
                assert_int_equal(m.switched_to, field == MARK_SWITCHED ? DRIVER_NONE : DRIVER_UAS);
                assert_int_equal(attachment_change(&t.roots, &facts, MARK_ALL, &all), 0);
        }
        assert_int_equal(attachment_drop_override(&t.roots, &facts, DRIVER_USB_STORAGE), 1);
        assert_int_equal(attachment_drop_override(&t.roots, &facts, DRIVER_UAS), 0);
        assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
        assert_int_equal(m.override_target, DRIVER_NONE);
        assert_true(m.tried && m.released && m.no_auto && m.cancelled);
        tree_remove(&t);
}

/* A process that was stopped while it had the lock does not prolong a hold. */
static void test_lock_that_is_not_released(void **state)
{
        struct attachment_mark m;
        struct stat st;
        struct tree t;
        int fd;

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_TRIED,
                                           &(struct attachment_mark){.tried = true}),
                         0);
        fd = openat(t.roots.run, RUN_ATTACHMENT_LOCK, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600); /* otherwise any user could take the lock */
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(hold_release(&t.roots, &facts), 0);
        assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
        assert_true(m.released && m.tried);
        (void) close(fd);
        tree_remove(&t);
}

/* ---- attachments that have ended ---- */

static void test_prune(void **state)
{
        static const char *const dirs[] = {"attachment", "strings"};
        static const struct {
                const char *name;
                /* it stays when port 2-1 is pruned; it stays when port 2-10 is */
                bool here, other_port;
        } table[] = {
                {"2-1:1.0@2-5", true, true},    {"2-1:1.0@2-6", false, true},
                {"2-1:1.0@3-5", false, true},   {"2-1:1.1@2-5", false, true},
                {"2-10:1.0@2-5", true, false},  {"2-1:1.0", true, true},
                {"2-1:1.0@2", true, true},      {"2-1:1.0@x-5", true, true},
                {"9-9:1.0@2-5", true, true},    {"other", true, true},
                {"2-1:1.0@2-5-1", false, true}, {"2-1:1.0@2-5-x", true, true},
        };
        static const char *const ports[] = {"2-1", "2-10", NULL};

        for (size_t p = 0; p < ELEMENTSOF(ports); p++)
                for (size_t d = 0; d < ELEMENTSOF(dirs); d++) {
                        char path[128];
                        struct tree t;

                        tree_make(&t);
                        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                                (void) snprintf(path, sizeof(path), "run/uasd/%s/%s", dirs[d],
                                                table[i].name);
                                tree_write(&t, path, "TRIED=1\n");
                        }
                        assert_int_equal(attachments_prune(&t.roots, ports[p]), 0);
                        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                                bool stays = ports[p] == ports[0] ? table[i].here
                                             : ports[p] == ports[1]
                                                     ? table[i].other_port
                                                     : table[i].here && table[i].other_port &&
                                                               table[i].name[0] != '9';

                                (void) snprintf(path, sizeof(path), "run/uasd/%s/%s", dirs[d],
                                                table[i].name);
                                if (tree_exists(&t, path) != stays)
                                        fail_msg("%s, port %s", path, ports[p] ? ports[p] : "any");
                        }
                        tree_remove(&t);
                }
}

/* Also if one of the directories cannot be read. */
static void test_prune_error(void **state)
{
        struct tree t;

        tree_make(&t);
        assert_int_equal(attachments_prune(&t.roots, NULL), 0);
        tree_write(&t, "run/uasd/attachment", "no folder");
        tree_write(&t, "run/uasd/strings/9-9:1.0@2-5", "");
        assert_int_equal(attachments_prune(&t.roots, NULL), -ENOTDIR);
        assert_false(tree_exists(&t, "run/uasd/strings/9-9:1.0@2-5"));
        tree_remove(&t);
}

static void test_prune_holds(void **state)
{
        static const struct {
                const char *name;
                struct hold_mark mark;
                bool stays;
        } table[] = {
                {TREE_INTERFACE, {{2, 5}, 1}, true},
                {TREE_INTERFACE, {{2, 6}, 1}, false},
                {TREE_INTERFACE, {{3, 5}, 1}, false},
                {"9-9:1.0", {{2, 5}, 1}, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct hold_mark m = {{7, 7}, 7};
                struct tree t;

                tree_make(&t);
                assert_int_equal(hold_write(&t.roots, table[i].name, &table[i].mark), 0);
                assert_int_equal(attachments_prune(&t.roots, NULL), 0);
                assert_int_equal(hold_read(&t.roots, table[i].name, &m), table[i].stays);
                assert_int_equal(m.attachment.devnum, table[i].stays ? 5 : 7);
                assert_int_equal(hold_remove(&t.roots, table[i].name), 0);
                tree_remove(&t);
        }
}

/* ---- holds ---- */

#define NOW (1000 * USEC_PER_SEC)

static void test_in_force(void **state)
{
        static const struct {
                struct hold_mark mark;
                bool released, in_force;
        } table[] = {
                {{{2, 5}, NOW + 1}, false, true},
                {{{2, 5}, NOW + 1}, true, false},
                {{{2, 5}, NOW}, false, false},
                {{{2, 5}, NOW - 1}, false, false},
                {{{2, 5}, NOW + HOLD_MAX_USEC}, false, true},
                {{{2, 5}, NOW + HOLD_MAX_USEC + 1}, false, false}, /* of another boot */
                {{{2, 6}, NOW + 1}, false, false},
                {{{1, 5}, NOW + 1}, false, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                usec_t deadline = 7;
                struct tree t;

                tree_make(&t);
                assert_false(hold_in_force(&t.roots, &facts, NOW, &deadline));
                assert_int_equal(hold_write(&t.roots, TREE_INTERFACE, &table[i].mark), 0);
                assert_int_equal(
                        attachment_change(&t.roots, &facts, MARK_RELEASED,
                                          &(struct attachment_mark){.released = table[i].released}),
                        0);
                if (hold_in_force(&t.roots, &facts, NOW, &deadline) != table[i].in_force ||
                    hold_in_force(&t.roots, &facts, NOW, NULL) != table[i].in_force)
                        fail_msg("row %zu", i);
                assert_int_equal(deadline, table[i].in_force ? table[i].mark.deadline : 7);
                tree_remove(&t);
        }
}

/* A released disk is never held again. The hold of the next device at this port stays. */
static void test_release(void **state)
{
        static const struct {
                unsigned busnum, devnum;
                bool stays;
        } table[] = {{2, 5, false}, {2, 6, true}, {3, 5, true}};

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct attachment_mark a;
                struct hold_mark m;
                struct tree t;

                tree_make(&t);
                assert_true(attachment_fresh(&t.roots, &facts));
                assert_int_equal(hold_release(&t.roots, &facts), 0); /* without a hold, too */
                assert_int_equal(
                        hold_write(&t.roots, TREE_INTERFACE,
                                   &(struct hold_mark){{table[i].busnum, table[i].devnum}, 1}),
                        0);
                assert_int_equal(hold_release(&t.roots, &facts), 0);
                assert_int_equal(hold_read(&t.roots, TREE_INTERFACE, &m), table[i].stays);
                assert_int_equal(attachment_read(&t.roots, &facts, &a), 1);
                assert_true(a.released && !a.tried);
                assert_false(attachment_fresh(&t.roots, &facts));
                tree_remove(&t);
        }
}

/* A mark that cannot be read is replaced. If none can be written, the hold ends all the same. */
static void test_release_anyway(void **state)
{
        struct attachment_mark a;
        struct hold_mark m;
        struct tree t;

        tree_make(&t);
        tree_link(&t, "run/uasd/attachment/" TREE_INTERFACE "@2-5", "elsewhere");
        assert_true(attachment_read(&t.roots, &facts, &a) < 0);
        assert_false(attachment_fresh(&t.roots, &facts));
        assert_int_equal(hold_release(&t.roots, &facts), 0);
        assert_int_equal(attachment_read(&t.roots, &facts, &a), 1);
        assert_true(a.released);
        tree_remove(&t);

        tree_make(&t);
        assert_int_equal(hold_write(&t.roots, TREE_INTERFACE, &(struct hold_mark){{2, 5}, 1}), 0);
        tree_write(&t, "run/uasd/attachment", "no folder");
        assert_int_equal(hold_release(&t.roots, &facts), 0);
        assert_int_equal(hold_read(&t.roots, TREE_INTERFACE, &m), 0);

        /* Neither of the two succeeds: the hold may still be in force. */
        tree_write(&t, "run/uasd/hold/" TREE_INTERFACE "/x", "a folder");
        assert_true(hold_release(&t.roots, &facts) < 0);
        tree_remove(&t);
}

/* The initramfs has a mark of its own. It looks at no other, and the root file system does not look
 * at it. */
static void test_early(void **state)
{
        struct attachment_mark a;
        struct tree t;

        tree_make(&t);
        tree_write(&t, "etc/initrd-release", "");
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_TRIED,
                                           &(struct attachment_mark){.tried = true}),
                         0);
        assert_false(attachment_fresh(&t.roots, &facts));
        tree_unlink(&t, "etc/initrd-release");
        assert_true(attachment_fresh(&t.roots, &facts));
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_NO_AUTO,
                                           &(struct attachment_mark){.no_auto = true}),
                         0);
        assert_int_equal(attachment_read(&t.roots, &facts, &a), 1);
        assert_true(a.early && a.no_auto && !a.tried);
        tree_remove(&t);

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_TRIED,
                                           &(struct attachment_mark){.tried = true}),
                         0);
        tree_write(&t, "etc/initrd-release", "");
        assert_true(attachment_fresh(&t.roots, &facts));
        assert_int_equal(
                attachment_change(&t.roots, &facts, MARK_TRIED, &(struct attachment_mark){}), 0);
        assert_int_equal(attachment_read(&t.roots, &facts, &a), 1);
        assert_true(a.early && a.tried);
        tree_remove(&t);
}

/* A change that changes nothing leaves no file. Lines of another version do not matter. */
static void test_lines(void **state)
{
        struct attachment_mark a;
        struct tree t;
        struct attachment_id id = {7, 7};

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_ALL, &(struct attachment_mark){}),
                         0);
        assert_int_equal(attachment_read(&t.roots, &facts, &a), 0);
        tree_write(&t, "run/uasd/attachment/" TREE_INTERFACE "@2-5",
                   "TRIED=yes\nRELEASED=1\nOVERRIDE=ums-realtek\nLEASE=usb-storage\nFUTURE=1\n");
        assert_int_equal(attachment_read(&t.roots, &facts, &a), 1);
        assert_true(!a.tried && a.released && a.override_target == DRIVER_NONE &&
                    a.lease == DRIVER_USB_STORAGE);
        tree_write(&t, "run/uasd/hold/" TREE_INTERFACE,
                   "BUSNUM=2\nDEVNUM=x\nDEADLINE=-1\nFUTURE=1\n");
        assert_int_equal(hold_read(&t.roots, TREE_INTERFACE, &(struct hold_mark){}), 1);
        assert_int_equal(attachment_now(&t.roots, TREE_INTERFACE, &id), 0);
        assert_true(id.busnum == 2 && id.devnum == 5);
        assert_int_equal(attachment_now(&t.roots, "2-2:1.0", &id), -ENOENT);
        tree_unlink(&t, "sys/devices/pci0/usb2/2-1/dev");
        assert_int_equal(attachment_now(&t.roots, TREE_INTERFACE, &id), -ENOENT);
        assert_true(id.busnum == 2 && id.devnum == 5);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two_processes),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_lock_that_is_not_released),
                cmocka_unit_test(test_prune),
                cmocka_unit_test(test_prune_error),
                cmocka_unit_test(test_prune_holds),
                cmocka_unit_test(test_in_force),
                cmocka_unit_test(test_release),
                cmocka_unit_test(test_release_anyway),
                cmocka_unit_test(test_early),
                cmocka_unit_test(test_lines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

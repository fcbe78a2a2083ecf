/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The uas module, with a libkmod and a modprobe of the test; and the reference count of a driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libkmod.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/child.h"
#include "common/util.h"
#include "sys/block/counts.h"
#include "sys/io/ask-pid1.h"
#include "sys/quirks/modules.h"
#include "tree.h"

#define REGISTERED "sys/bus/usb/drivers/uas/bind"

/* The installed parts, and the answers. */
static struct {
        bool library, context, module, path, install, listed;
        int lookup;       /* its result */
        int insert, pid1; /* results; 0: afterwards the driver is there */
        const char *missing;
        bool modprobe, insmod;
        int program; /* its exit status; 0: afterwards the driver is there */
} have;

#define NO_DRIVER 1 /* success, but there is no driver */

static struct tree tree;
/* Of this process and its children. */
static struct {
        int open; /* libraries, contexts, modules, lists */
        unsigned inserted;
} * seen;
static unsigned asked_pid1, loaded_here;
static const char *ran; /* the argument of the program */
static char thing;

static void *handle(void)
{
        seen->open++;
        return &thing;
}

static struct kmod_ctx *new (const char *dirname, const char *const *config)
{
        return have.context ? handle() : NULL;
}

static struct kmod_ctx *unref(struct kmod_ctx *ctx)
{
        seen->open--;
        return NULL;
}

static void set_log_priority(struct kmod_ctx *ctx, int priority)
{
}

static int lookup(struct kmod_ctx *ctx, const char *alias, struct kmod_list **ret)
{
        assert_string_equal(alias, "uas");
        if (have.lookup >= 0 && have.module)
                *ret = handle();
        return have.lookup;
}

static struct kmod_module *get_module(const struct kmod_list *list)
{
        assert_ptr_equal(list, &thing);
        return handle();
}

static struct kmod_module *module_unref(struct kmod_module *m)
{
        seen->open--;
        return NULL;
}

static int unref_list(struct kmod_list *list)
{
        seen->open--;
        return 0;
}

static const char *get_path(const struct kmod_module *m)
{
        return have.path ? "/usr/lib/modules/uas.ko" : NULL;
}

static const char *get_install(const struct kmod_module *m)
{
        return have.install ? "/bin/true" : NULL;
}

static void registered(void)
{
        tree_write(&tree, REGISTERED, "");
}

static int insert(struct kmod_module *m, unsigned flags, const char *options,
                  int (*run)(struct kmod_module *, const char *, void *), const void *data,
                  void (*action)(struct kmod_module *, bool, const char *))
{
        /* no command runs, and a blacklist is only for aliases */
        assert_int_equal(flags, KMOD_PROBE_IGNORE_COMMAND);
        seen->inserted++;
        if (have.insert == 0)
                registered();
        return have.insert == NO_DRIVER ? 0 : have.insert;
}

/* ---- a file: its two lines of .modinfo, and no symbols ---- */

#define FILE_PATH "/odd/uas.ko"

static const struct info_line {
        const char *key, *value;
} info[] = {{"name", "uas"}, {"vermagic", "6.1.0-test SMP"}};

static struct kmod_list *line(size_t i)
{
        return i < ELEMENTSOF(info) ? (struct kmod_list *) (info + i) : NULL;
}

static int from_path(struct kmod_ctx *ctx, const char *path, struct kmod_module **ret)
{
        char target[64] = "";

        assert_true(readlink(path, target, sizeof(target) - 1) > 0);
        assert_non_null(endswith(target, FILE_PATH));
        *ret = handle();
        return 0;
}

static int get_info(const struct kmod_module *m, struct kmod_list **ret)
{
        seen->open++;
        *ret = line(0);
        return 2;
}

static struct kmod_list *list_next(const struct kmod_list *all, const struct kmod_list *i)
{
        assert_ptr_equal(all, line(0));
        return line((size_t) ((const struct info_line *) i - info) + 1);
}

static const char *info_key(const struct kmod_list *i)
{
        const struct info_line *l = (const void *) i;

        return l->key;
}

static const char *info_value(const struct kmod_list *i)
{
        const struct info_line *l = (const void *) i;

        return l->value;
}

static void free_list(struct kmod_list *l)
{
        seen->open--;
}

static int no_symbols(const struct kmod_module *m, struct kmod_list **ret)
{
        return 0;
}

static int insert_file(struct kmod_module *m, unsigned flags, const char *options)
{
        assert_int_equal(flags, 0); /* the kernel ignores nothing */
        seen->inserted++;
        if (have.insert == 0)
                registered();
        return have.insert;
}

static void never(void)
{
        fail_msg("there are no symbols");
}

static const char *const list[] = {"floppy", "uas", "pcspkr"};
static size_t at;

static struct kmod_config_iter *blacklists(const struct kmod_ctx *ctx)
{
        at = 0;
        return handle();
}

static bool next(struct kmod_config_iter *i)
{
        at += at == 1 && !have.listed ? 2 : 1;
        return at <= ELEMENTSOF(list);
}

static const char *key(const struct kmod_config_iter *i)
{
        return list[at - 1];
}

static void free_iter(struct kmod_config_iter *i)
{
        seen->open--;
}

void *__wrap_dlopen(const char *file, int mode);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
int __wrap_pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline);

void *__wrap_dlopen(const char *file, int mode)
{
        loaded_here++;
        return have.library ? handle() : NULL;
}

int __wrap_dlclose(void *library)
{
        seen->open--;
        return 0;
}

static void *symbol(const char *name)
{
        static const struct {
                const char *name;
                void *function;
        } table[] = {
                {"kmod_new", new},
                {"kmod_unref", unref},
                {"kmod_set_log_priority", set_log_priority},
                {"kmod_module_new_from_lookup", lookup},
                {"kmod_module_get_module", get_module},
                {"kmod_module_unref", module_unref},
                {"kmod_module_unref_list", unref_list},
                {"kmod_module_get_path", get_path},
                {"kmod_module_get_install_commands", get_install},
                {"kmod_module_probe_insert_module", insert},
                {"kmod_config_get_blacklists", blacklists},
                {"kmod_config_iter_next", next},
                {"kmod_config_iter_get_key", key},
                {"kmod_config_iter_free_iter", free_iter},
                {"kmod_module_new_from_path", from_path},
                {"kmod_module_get_info", get_info},
                {"kmod_list_next", list_next},
                {"kmod_module_info_get_key", info_key},
                {"kmod_module_info_get_value", info_value},
                {"kmod_module_info_free_list", free_list},
                {"kmod_module_get_symbols", no_symbols},
                {"kmod_module_get_dependency_symbols", no_symbols},
                {"kmod_module_insert_module", insert_file},
                {"kmod_module_symbol_get_symbol", never},
                {"kmod_module_symbol_get_crc", never},
                {"kmod_module_symbols_free_list", never},
                {"kmod_module_dependency_symbol_get_symbol", never},
                {"kmod_module_dependency_symbol_get_bind", never},
                {"kmod_module_dependency_symbol_get_crc", never},
                {"kmod_module_dependency_symbols_free_list", never},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].name, name))
                        return have.missing && streq(have.missing, name) ? NULL : table[i].function;
        fail_msg("%s", name);
        return NULL;
}

/* The sanitizers call it before they are ready. */
__attribute__((no_sanitize("address", "undefined"))) void *__wrap_dlsym(void *library,
                                                                        const char *name)
{
        return library == &thing ? symbol(name) : __real_dlsym(library, name);
}

static const char *unit = "modprobe@uas.service";

int __wrap_pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline)
{
        assert_string_equal(verb, PID1_ASK_START);
        assert_string_equal(what, unit);
        assert_in_range(awake_left(deadline), USEC_PER_SEC, 60 * USEC_PER_SEC);
        asked_pid1++;
        if (have.pid1 == 0)
                registered();
        return have.pid1 == NO_DRIVER ? 0 : have.pid1;
}

bool __wrap_program_there(const struct roots *roots, const char *name);
pid_t __wrap_child_spawn(const struct program *p);
int __wrap_child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec);
int __real_child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec);

bool __wrap_program_there(const struct roots *roots, const char *name)
{
        return streq(name, "modprobe") ? have.modprobe : have.insmod;
}

/* No process has it. */
#define PROGRAM_PID (1 << 30)

/* The program is in the last of the folders. */
pid_t __wrap_child_spawn(const struct program *p)
{
        static char argument[64];

        if (!startswith(p->argv[0], "/bin/"))
                return -ENOENT;
        assert_string_equal(p->argv[0], have.modprobe ? "/bin/modprobe" : "/bin/insmod");
        (void) copy_string(argument, sizeof(argument), p->argv[1]);
        ran = argument;
        return PROGRAM_PID;
}

int __wrap_child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec)
{
        if (pid != PROGRAM_PID) /* the child that asks libkmod */
                return __real_child_exit_status(pid, limit_usec, grace_msec);
        if (have.program == 0)
                registered();
        return have.program;
}

static void tree_without_uas(void)
{
        tree_make(&tree);
        tree_boot_kernel(&tree, "6.1.0-test");
        tree_unlink(&tree, REGISTERED);
        assert_int_equal(unlinkat(tree.roots.sys, "bus/usb/drivers/uas", AT_REMOVEDIR), 0);
        asked_pid1 = seen->inserted = 0;
        ran = NULL;
}

#define ALL .library = true, .context = true, .module = true, .path = true

static void test_module(void **state)
{
        static const struct {
                const char *what;
                bool there;
                typeof(have) have;
                int r; /* of the question */
                enum uas_module state;
                int load;
                unsigned inserted, pid1;
        } rows[] = {
                /* clang-format off */
                {"loaded", true, {0}, 0, UAS_MODULE_THERE, 0, 0, 0},
                {"loadable", false, {ALL}, 0, UAS_MODULE_LOADABLE, 0, 1, 0},
                {"no libkmod", false, {0}, 0, UAS_MODULE_MISSING, -ENOENT, 0, 0},
                {"an older libkmod", false, {ALL, .missing = "kmod_config_iter_free_iter"}, 0, UAS_MODULE_MISSING, -ENOENT, 0, 0},
                {"no context", false, {.library = true}, -ENOMEM, 0, -ENOMEM, 0, 0},
                {"lookup fails", false, {ALL, .lookup = -EINVAL}, -EINVAL, 0, -EINVAL, 0, 0},
                {"no such module", false, {.library = true, .context = true}, 0, UAS_MODULE_MISSING, -ENOENT, 0, 0},
                {"it is not installed", false, {.library = true, .context = true, .module = true, .insert = -ENOENT}, 0, UAS_MODULE_MISSING, -ENOENT, 1, 0},
                {"install line", false, {ALL, .install = true}, 0, UAS_MODULE_INSTALL_LINE, -EPERM, 0, 0},
                {"install line and blacklist", false, {ALL, .install = true, .listed = true}, 0, UAS_MODULE_INSTALL_LINE, -EPERM, 0, 0},
                /* A blacklist is for aliases. By its name a process that may load modules gets it. */
                {"blacklist", false, {ALL, .listed = true}, 0, UAS_MODULE_BLACKLISTED, 0, 1, 0},
                {"blacklist, in the service", false, {ALL, .listed = true, .insert = -EPERM}, 0, UAS_MODULE_BLACKLISTED, -EACCES, 1, 0},
                {"in the service", false, {ALL, .insert = -EPERM}, 0, UAS_MODULE_LOADABLE, 0, 1, 1},
                {"PID 1 does not answer", false, {ALL, .insert = -EPERM, .pid1 = -ETIMEDOUT}, 0, UAS_MODULE_LOADABLE, -ETIMEDOUT, 1, 1},
                {"PID 1 cannot", false, {ALL, .insert = -EPERM, .pid1 = NO_DRIVER}, 0, UAS_MODULE_LOADABLE, -ENODEV, 1, 1},
                {"it is refused", false, {ALL, .insert = -ENOEXEC}, 0, UAS_MODULE_LOADABLE, -ENOEXEC, 1, 0},
                {"it registers no driver", false, {ALL, .insert = NO_DRIVER}, 0, UAS_MODULE_LOADABLE, -ENODEV, 1, 0},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                enum uas_module state_now = UAS_MODULE_UNKNOWN;
                char why[MODULE_WHY_MAX];
                struct facts f = {0};
                int r;

                tree_make(&tree);
                if (!rows[i].there) {
                        tree_unlink(&tree, REGISTERED);
                        assert_int_equal(
                                unlinkat(tree.roots.sys, "bus/usb/drivers/uas", AT_REMOVEDIR), 0);
                }
                have = rows[i].have;
                asked_pid1 = seen->inserted = loaded_here = 0;
                r = uas_module_state(&tree.roots, NULL, &state_now);
                if (r != rows[i].r || state_now != rows[i].state || seen->open != 0)
                        fail_msg("%s: %i, %u, %i not closed", rows[i].what, r, state_now,
                                 seen->open);
                assert_int_equal(seen->inserted, 0);
                facts_complete_module(&tree.roots, NULL, &f);
                assert_int_equal(loaded_here, 0);
                assert_int_equal(f.uas_module, rows[i].state);
                assert_int_equal(f.uas_kept_away, rows[i].state > UAS_MODULE_LOADABLE);
                r = uas_module_load(&tree.roots, NULL, why);
                if (r == -EPERM)
                        assert_string_equal(why, "modprobe.d has an install line for it");
                else if (r == -EACCES)
                        assert_string_equal(
                                why, "modprobe.d blacklists it: load it by hand, or remove that");
                else if (r == -ENOENT)
                        assert_string_equal(why, "this kernel has none");
                if (r != rows[i].load || seen->inserted != rows[i].inserted ||
                    asked_pid1 != rows[i].pid1 || seen->open != 0)
                        fail_msg("%s: %i, inserted %u, PID 1 %u, %i not closed", rows[i].what, r,
                                 seen->inserted, asked_pid1, seen->open);
                tree_remove(&tree);
        }
}

#define DEP "lib/modules/6.1.0-test/modules.dep"

/* Without libkmod, and without its indexes, the programs of the system load uas. */
static void test_programs(void **state)
{
        static const struct {
                const char *what, *path, *text; /* a file of the system */
                typeof(have) have;
                bool systemd;
                enum uas_module state;
                int load;
                const char *argument; /* of the program; NULL: none runs */
                const char *why;
        } rows[] = {
                /* clang-format off */
                {"modprobe", DEP, "x.ko:\nkernel/a/uas.ko: kernel/a/b.ko\n", {.modprobe = true, .insmod = true}, false, UAS_MODULE_LOADABLE, 0, "uas", NULL},
                {"insmod", DEP, "kernel/a/uas.ko.xz:\n", {.insmod = true}, false, UAS_MODULE_LOADABLE, 0, "/lib/modules/6.1.0-test/kernel/a/uas.ko.xz", NULL},
                {"modules.dep has whole paths", DEP, "/lib/modules/6.1.0-test/uas.ko:\n", {.insmod = true}, false, UAS_MODULE_LOADABLE, 0, "/lib/modules/6.1.0-test/uas.ko", NULL},
                {"libkmod has no index", DEP, "kernel/a/uas.ko:\n", {.library = true, .context = true, .insmod = true}, false, UAS_MODULE_LOADABLE, 0, "/lib/modules/6.1.0-test/kernel/a/uas.ko", NULL},
                {"no modules.dep, one folder", "lib/modules/6.1.0-test/uas.ko", "", {.insmod = true}, false, UAS_MODULE_LOADABLE, 0, "/lib/modules/6.1.0-test/uas.ko", NULL},
                {"DSM's folder", "lib/modules/uas.ko", "", {.insmod = true}, false, UAS_MODULE_LOADABLE, 0, "/lib/modules/uas.ko", NULL},
                {"others", DEP, "kernel/a/buas.ko:\nuas.kox:\nuas\nuas.ko\n", {.modprobe = true}, false, UAS_MODULE_MISSING, -ENOENT, NULL, "this kernel has none"},
                {"no program", DEP, "kernel/a/uas.ko:\n", {0}, false, UAS_MODULE_NO_LOADER, -ELIBACC, NULL, "libkmod is missing, and the system has no modprobe, no insmod"},
                {"it fails", DEP, "kernel/a/uas.ko:\n", {.modprobe = true, .program = 1}, false, UAS_MODULE_LOADABLE, -EIO, "uas", "libkmod is missing, and modprobe failed with exit status 1"},
                {"it fails, without an index", DEP, "kernel/a/uas.ko:\n", {.library = true, .context = true, .insmod = true, .program = -ETIMEDOUT}, false, UAS_MODULE_LOADABLE, -ETIMEDOUT, "/lib/modules/6.1.0-test/kernel/a/uas.ko", "libkmod does not find it, and insmod failed: Connection timed out"},
                {"in the service", DEP, "kernel/a/uas.ko:\n", {.modprobe = true, .program = 1}, true, UAS_MODULE_LOADABLE, 0, "uas", NULL},
                {"PID 1 cannot", DEP, "kernel/a/uas.ko:\n", {.modprobe = true, .program = 1, .pid1 = -ETIMEDOUT}, true, UAS_MODULE_LOADABLE, -ETIMEDOUT, "uas", "libkmod is missing, and modprobe failed: Connection timed out"},
                {"it loads nothing", DEP, "kernel/a/uas.ko:\n", {.modprobe = true, .program = 1, .pid1 = NO_DRIVER}, true, UAS_MODULE_LOADABLE, -ENODEV, "uas", "nothing failed, but the kernel has no driver uas"},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                enum uas_module state_now = UAS_MODULE_UNKNOWN;
                char why[MODULE_WHY_MAX] = "";
                int r;

                tree_without_uas();
                tree_write(&tree, rows[i].path, rows[i].text);
                if (rows[i].systemd)
                        tree_write(&tree, "run/systemd/system/x", "");
                have = rows[i].have;
                assert_int_equal(uas_module_state(&tree.roots, NULL, &state_now), 0);
                r = uas_module_load(&tree.roots, NULL, why);
                if (state_now != rows[i].state || r != rows[i].load ||
                    !streq(ran ?: "", rows[i].argument ?: "") ||
                    (rows[i].why && !streq(why, rows[i].why)) ||
                    asked_pid1 != (rows[i].systemd ? 1 : 0) || seen->open != 0)
                        fail_msg("%s: state %u, %i, %s, PID 1 %u, %s", rows[i].what, state_now, r,
                                 ran ?: "no program", asked_pid1, why);
                tree_remove(&tree);
        }
}

/* The file of Module=. tests/ctl/test-module.py has real ones, which libkmod reads. */
static void test_file(void **state)
{
        static const struct {
                const char *what, *path, *text; /* a file of the system, or NULL */
                int insert;
                bool systemd;
                int pid1;
                int load;
                const char *why;
        } rows[] = {
                /* clang-format off */
                {"loaded", NULL, NULL, 0, false, 0, 0, NULL},
                {"by uasd-module.service", NULL, NULL, -EPERM, true, 0, 0, NULL},
                {"the service fails", NULL, NULL, -EPERM, true, NO_DRIVER, -EACCES, "uasd-module.service has not loaded it: its log has the reason"},
                {"no systemd", NULL, NULL, -EPERM, false, 0, -EACCES, "this process may not load modules"},
                {"lockdown", "sys/kernel/security/lockdown", "none [integrity] confidentiality\n", -EPERM, false, 0, -EPERM, "the kernel is locked down, and takes only signed modules"},
                {"lockdown, after the service", "sys/kernel/security/lockdown", "none [integrity] confidentiality\n", -EPERM, true, NO_DRIVER, -EPERM, "the kernel is locked down, and takes only signed modules"},
                {"no lockdown", "sys/kernel/security/lockdown", "[none] integrity confidentiality\n", -EPERM, false, 0, -EACCES, "this process may not load modules"},
                {"no modules", "proc/sys/kernel/modules_disabled", "1\n", -EPERM, false, 0, -EPERM, "this kernel loads no module until it restarts"},
                {"modules", "proc/sys/kernel/modules_disabled", "0\n", -EPERM, false, 0, -EACCES, "this process may not load modules"},
                {"signature", NULL, NULL, -EKEYREJECTED, true, 0, -EKEYREJECTED, "the kernel does not know its signature"},
                {"signature", NULL, NULL, -ENOKEY, false, 0, -ENOKEY, "the kernel does not know its signature"},
                {"symbol", NULL, NULL, -ENOENT, true, 0, -ENOENT, "the kernel lacks a symbol that it uses: the kernel log names it"},
                {"refused", NULL, NULL, -ENOEXEC, false, 0, -ENOEXEC, "the kernel refuses it: the kernel log has the reason"},
                {"refused", NULL, NULL, -EINVAL, false, 0, -EINVAL, "the kernel refuses it: the kernel log has the reason"},
                {"memory", NULL, NULL, -ENOMEM, false, 0, -ENOMEM, "Cannot allocate memory"},
                {"no driver", NULL, NULL, -EEXIST, false, 0, -ENODEV, "nothing failed, but the kernel has no driver uas"},
                /* clang-format on */
        };

        if (geteuid() != 0)
                skip(); /* the file has to belong to root */
        unit = "uasd-module.service";
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                enum uas_module state_now = UAS_MODULE_UNKNOWN;
                char why[MODULE_WHY_MAX] = "";
                int r;

                tree_without_uas();
                tree_write(&tree, &FILE_PATH[1], "");
                assert_int_equal(fchmodat(tree.roots.etc, ".." FILE_PATH, 0644, 0), 0);
                if (rows[i].path)
                        tree_write(&tree, rows[i].path, rows[i].text);
                if (rows[i].systemd)
                        tree_write(&tree, "run/systemd/system/x", "");
                have = (typeof(have)){.library = true,
                                      .context = true,
                                      .insert = rows[i].insert,
                                      .pid1 = rows[i].pid1};
                assert_int_equal(uas_module_state(&tree.roots, FILE_PATH, &state_now), 0);
                assert_int_equal(state_now, UAS_MODULE_LOADABLE);
                assert_int_equal(seen->inserted, 0);
                r = uas_module_load(&tree.roots, FILE_PATH, why);
                if (r != rows[i].load || (rows[i].why && !streq(why, rows[i].why)) ||
                    asked_pid1 != (rows[i].systemd && rows[i].insert == -EPERM ? 1 : 0) ||
                    seen->inserted != 1 || seen->open != 0)
                        fail_msg("%s: %i, PID 1 %u, %i not closed, %s", rows[i].what, r, asked_pid1,
                                 seen->open, why);
                tree_remove(&tree);
        }
        unit = "modprobe@uas.service";
}

/* A file that is refused is not loaded, and PID 1 is not asked to. */
static void test_file_refused(void **state)
{
        char why[MODULE_WHY_MAX] = "";
        enum uas_module state_now;

        tree_without_uas();
        tree_write(&tree, &FILE_PATH[1], "");
        tree_write(&tree, "run/systemd/system/x", "");
        assert_int_equal(fchmodat(tree.roots.etc, ".." FILE_PATH, 0666, 0), 0);
        have = (typeof(have)){.library = true, .context = true};
        assert_int_equal(uas_module_state(&tree.roots, FILE_PATH, &state_now), 0);
        assert_int_equal(state_now, UAS_MODULE_REFUSED);
        assert_int_equal(uas_module_load(&tree.roots, FILE_PATH, why), -EINVAL);
        assert_string_equal(why, geteuid() == 0 ? "other users may write it"
                                                : "it does not belong to root");
        assert_int_equal(seen->inserted + asked_pid1, 0);
        tree_remove(&tree);
        if (geteuid() != 0)
                return;
        tree_without_uas();
        tree_write(&tree, &FILE_PATH[1], "");
        assert_int_equal(fchmodat(tree.roots.etc, ".." FILE_PATH, 0644, 0), 0);
        have.library = false;
        assert_int_equal(uas_module_load(&tree.roots, FILE_PATH, why), -ELIBACC);
        assert_string_equal(why, "libkmod is missing, so it cannot be checked");
        tree_remove(&tree);
}

/* Each open of a disk pins its driver's module. So does a module that depends on it. */
static void test_opens(void **state)
{
        static const struct {
                const char *refcnt;
                bool holder;
                int opens;
        } rows[] = {
                {"0\n", false, 0},       {"3\n", false, 3},      {"3\n", true, 2},
                {"1\n", true, 0},        {"0\n", true, -ERANGE}, {"2147483648\n", false, -ERANGE},
                {"x\n", false, -EINVAL}, {NULL, false, -ENOENT},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                tree_make(&tree);
                tree_write(&tree, "sys/module/usb_storage/refcnt", "7\n");
                tree_write(&tree, "sys/module/usb_storage/holders/.keep", "");
                assert_int_equal(driver_opens(&tree.roots, DRIVER_UAS), -ENOENT);
                if (rows[i].refcnt)
                        tree_write(&tree, "sys/module/uas/refcnt", rows[i].refcnt);
                tree_write(&tree, "sys/module/uas/holders/.keep", "");
                if (rows[i].holder)
                        tree_write(&tree, "sys/module/uas/holders/it", "");
                assert_int_equal(driver_opens(&tree.roots, DRIVER_UAS), rows[i].opens);
                assert_int_equal(driver_opens(&tree.roots, DRIVER_USB_STORAGE), 7);
                assert_int_equal(driver_opens(&tree.roots, DRIVER_NONE), -ENOENT);
                tree_remove(&tree);
        }
}

static void test_has_one(void **state)
{
        tree_make(&tree);
        assert_true(
                driver_has_one(&tree.roots, DRIVER_UAS, "2-1:1.0")); /* "bind" is no interface */
        tree_write(&tree, "sys/bus/usb/drivers/uas/2-1:1.0", "");
        assert_true(driver_has_one(&tree.roots, DRIVER_UAS, "2-1:1.0"));
        assert_false(driver_has_one(&tree.roots, DRIVER_UAS, "2-2:1.0"));
        tree_write(&tree, "sys/bus/usb/drivers/uas/2-2:1.0", "");
        assert_false(driver_has_one(&tree.roots, DRIVER_UAS, "2-1:1.0"));
        assert_false(driver_has_one(&tree.roots, DRIVER_NONE, "2-1:1.0"));
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_module), cmocka_unit_test(test_programs),
                cmocka_unit_test(test_file),   cmocka_unit_test(test_file_refused),
                cmocka_unit_test(test_opens),  cmocka_unit_test(test_has_one),
        };

        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(seen, MAP_FAILED);
        return cmocka_run_group_tests(tests, NULL, NULL);
}

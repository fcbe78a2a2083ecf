/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The uas module, with a libkmod of the test; and the reference count of a driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libkmod.h>
#include <unistd.h>
#include <cmocka.h>

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
} have;

#define NO_DRIVER 1 /* success, but there is no driver */

static struct tree tree;
static int open_things; /* libraries, contexts, modules, lists */
static unsigned asked_pid1, inserted;
static char thing;

static void *handle(void)
{
        open_things++;
        return &thing;
}

static struct kmod_ctx *new (const char *dirname, const char *const *config)
{
        return have.context ? handle() : NULL;
}

static struct kmod_ctx *unref(struct kmod_ctx *ctx)
{
        open_things--;
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
        open_things--;
        return NULL;
}

static int unref_list(struct kmod_list *list)
{
        open_things--;
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
        inserted++;
        if (have.insert == 0)
                registered();
        return have.insert == NO_DRIVER ? 0 : have.insert;
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
        open_things--;
}

void *__wrap_dlopen(const char *file, int mode);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
int __wrap_pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline);

void *__wrap_dlopen(const char *file, int mode)
{
        return have.library ? handle() : NULL;
}

int __wrap_dlclose(void *library)
{
        open_things--;
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

int __wrap_pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline)
{
        assert_string_equal(verb, PID1_ASK_START);
        assert_string_equal(what, "modprobe@uas.service");
        assert_in_range(awake_left(deadline), USEC_PER_SEC, 60 * USEC_PER_SEC);
        asked_pid1++;
        if (have.pid1 == 0)
                registered();
        return have.pid1 == NO_DRIVER ? 0 : have.pid1;
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
                {"no libkmod", false, {0}, -ELIBACC, 0, -ELIBACC, 0, 0},
                {"an older libkmod", false, {ALL, .missing = "kmod_config_iter_free_iter"}, -ELIBBAD, 0, -ELIBBAD, 0, 0},
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
                struct facts f = {0};
                int r;

                tree_make(&tree);
                if (!rows[i].there) {
                        tree_unlink(&tree, REGISTERED);
                        assert_int_equal(
                                unlinkat(tree.roots.sys, "bus/usb/drivers/uas", AT_REMOVEDIR), 0);
                }
                have = rows[i].have;
                asked_pid1 = inserted = 0;
                r = uas_module_state(&tree.roots, &state_now);
                if (r != rows[i].r || state_now != rows[i].state || open_things != 0)
                        fail_msg("%s: %i, %u, %i not closed", rows[i].what, r, state_now,
                                 open_things);
                assert_int_equal(inserted, 0);
                facts_complete_module(&tree.roots, &f);
                assert_int_equal(f.uas_module, rows[i].state);
                assert_int_equal(f.uas_kept_away, rows[i].state > UAS_MODULE_LOADABLE);
                r = uas_module_load(&tree.roots);
                if (r != rows[i].load || inserted != rows[i].inserted ||
                    asked_pid1 != rows[i].pid1 || open_things != 0)
                        fail_msg("%s: %i, inserted %u, PID 1 %u, %i not closed", rows[i].what, r,
                                 inserted, asked_pid1, open_things);
                tree_remove(&tree);
        }
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
                cmocka_unit_test(test_module),
                cmocka_unit_test(test_opens),
                cmocka_unit_test(test_has_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libkmod.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"

/* PID 1 starts a unit for it, which may take a while during boot. */
#define LOAD_USEC (10 * USEC_PER_SEC)

/*
 * libkmod loads libcrypto. To load both takes 3.5 million instructions, and uasd-switch needs 0.7
 * million from its start to the open of its disk. It is needed only if `uas` is not loaded yet, so
 * it is loaded only then.
 */
#define LIBKMOD "libkmod.so.2"

/* clang-format off */
#define SYMBOLS(_) \
        _(new) _(unref) _(set_log_priority) _(module_new_from_lookup) _(module_get_module) _(module_unref) _(module_unref_list) \
        _(module_get_path) _(module_get_install_commands) _(module_probe_insert_module) \
        _(config_get_blacklists) _(config_iter_next) _(config_iter_get_key) _(config_iter_free_iter)
/* clang-format on */

struct kmod {
        void *library;
        struct kmod_ctx *ctx;
        struct kmod_module *module;
#define MEMBER(name) typeof(kmod_##name) *(name);
        SYMBOLS(MEMBER)
};

static void kmod_done(struct kmod *k)
{
        if (k->module)
                (void) k->module_unref(k->module);
        if (k->ctx)
                (void) k->unref(k->ctx);
        if (k->library)
                (void) dlclose(k->library);
}

static int kmod_fetch(struct kmod *k)
{
        const struct {
                const char *name;
                void *to;
        } symbols[] = {
#define SYMBOL(name) {"kmod_" #name, &k->name},
                SYMBOLS(SYMBOL)};

        k->library = dlopen(LIBKMOD, RTLD_LAZY | RTLD_LOCAL);
        if (!k->library)
                return -ELIBACC;
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++) {
                void *symbol = dlsym(k->library, symbols[i].name);

                if (!symbol)
                        return -ELIBBAD;
                memcpy(symbols[i].to, &symbol, sizeof(symbol));
        }
        k->ctx = k->new (NULL, NULL);
        if (!k->ctx)
                return -ENOMEM;
        k->set_log_priority(k->ctx, 0);
        return 0;
}

static bool uas_driver_is_there(const struct roots *roots)
{
        return faccessat(roots->sys, SYSFS_USB_DRIVERS "/" DRIVER_NAME_UAS, F_OK, 0) == 0;
}

/* Returns 0, or -ENOENT if this kernel has no uas. */
static int kmod_find_uas(struct kmod *k)
{
        struct kmod_list *list = NULL;
        int r = kmod_fetch(k);

        if (r < 0)
                return r;
        r = k->module_new_from_lookup(k->ctx, "uas", &list);
        if (r < 0)
                return r;
        if (!list)
                return -ENOENT;
        k->module = k->module_get_module(list);
        k->module_unref_list(list);
        return 0;
}

static bool kmod_is_blacklisted(const struct kmod *k, const char *name)
{
        struct kmod_config_iter *i = k->config_get_blacklists(k->ctx);
        bool found = false;

        while (i && !found && k->config_iter_next(i))
                found = streq(k->config_iter_get_key(i), name);
        if (i)
                k->config_iter_free_iter(i);
        return found;
}

int uas_module_state(const struct roots *roots, enum uas_module *ret)
{
        _cleanup_(kmod_done) struct kmod kmod = {0};
        int r;

        if (uas_driver_is_there(roots)) {
                *ret = UAS_MODULE_THERE;
                return 0;
        }
        r = kmod_find_uas(&kmod);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == -ENOENT || !kmod.module_get_path(kmod.module))
                *ret = UAS_MODULE_MISSING;
        else if (kmod.module_get_install_commands(kmod.module))
                *ret = UAS_MODULE_INSTALL_LINE;
        else if (kmod_is_blacklisted(&kmod, "uas"))
                *ret = UAS_MODULE_BLACKLISTED;
        else
                *ret = UAS_MODULE_LOADABLE;
        return 0;
}

int uas_module_load(const struct roots *roots)
{
        _cleanup_(kmod_done) struct kmod kmod = {0};
        int r;

        if (uas_driver_is_there(roots))
                return 0;
        r = kmod_find_uas(&kmod);
        if (r < 0)
                return r;
        if (kmod.module_get_install_commands(kmod.module))
                return -EPERM;
        r = kmod.module_probe_insert_module(kmod.module, KMOD_PROBE_IGNORE_COMMAND, NULL, NULL,
                                            NULL, NULL);
        if (r == -EPERM) {
                if (kmod_is_blacklisted(&kmod, "uas"))
                        return -EACCES;
                r = pid1_ask_and_wait(PID1_ASK_START, UNIT_MODPROBE(DRIVER_NAME_UAS),
                                      awake_in(LOAD_USEC));
        }
        /* udev may have loaded it meanwhile. */
        if (uas_driver_is_there(roots))
                return 0;
        if (r < 0)
                return r;
        return -ENODEV;
}

void facts_take_module(struct facts *f, enum uas_module state)
{
        f->uas_module = state;
        /* Unknown counts as available: a switch checks it before it touches the disk. */
        f->uas_kept_away = state > UAS_MODULE_LOADABLE;
}

void facts_complete_module(const struct roots *roots, struct facts *f)
{
        enum uas_module state;

        facts_take_module(f, uas_module_state(roots, &state) < 0 ? UAS_MODULE_UNKNOWN : state);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/modules.h"

#include <fcntl.h>
#include <libkmod.h>

#include "common/names.h"
#include "common/util.h"

static void kmod_unrefp(struct kmod_ctx **c)
{
        if (*c)
                kmod_unref(*c);
}

static void module_unrefp(struct kmod_module **m)
{
        if (*m)
                kmod_module_unref(*m);
}

static bool uas_registered(const struct roots *r)
{
        return faccessat(r->sys, SYSFS_USB_DRIVERS "/" DRIVER_NAME_UAS, F_OK, 0) == 0;
}

static int find_uas(struct kmod_ctx *ctx, struct kmod_module **ret)
{
        struct kmod_list *list = NULL;
        int r = kmod_module_new_from_lookup(ctx, "uas", &list);

        if (r < 0)
                return r;
        if (!list)
                return -ENOENT;
        *ret = kmod_module_get_module(list);
        kmod_module_unref_list(list);
        return 0;
}

static bool blacklisted(struct kmod_ctx *ctx, const char *name)
{
        struct kmod_config_iter *i = kmod_config_get_blacklists(ctx);
        bool found = false;

        while (i && !found && kmod_config_iter_next(i))
                found = streq(kmod_config_iter_get_key(i), name);
        if (i)
                kmod_config_iter_free_iter(i);
        return found;
}

int uas_module_state(const struct roots *r, enum module_state *ret)
{
        _cleanup_(kmod_unrefp) struct kmod_ctx *ctx = NULL;
        _cleanup_(module_unrefp) struct kmod_module *module = NULL;
        int k;

        if (uas_registered(r)) {
                *ret = MODULE_THERE;
                return 0;
        }
        ctx = kmod_new(NULL, NULL);
        if (!ctx)
                return -ENOMEM;
        kmod_set_log_priority(ctx, 0);
        k = find_uas(ctx, &module);
        if (k < 0 && k != -ENOENT)
                return k;
        if (k == -ENOENT || !kmod_module_get_path(module))
                *ret = MODULE_MISSING;
        else if (kmod_module_get_install_commands(module) || blacklisted(ctx, "uas"))
                *ret = MODULE_KEPT;
        else
                *ret = MODULE_LOADABLE;
        return 0;
}

int uas_module_load(const struct roots *r)
{
        _cleanup_(kmod_unrefp) struct kmod_ctx *ctx = NULL;
        _cleanup_(module_unrefp) struct kmod_module *module = NULL;
        int k;

        if (uas_registered(r))
                return 0;
        ctx = kmod_new(NULL, NULL);
        if (!ctx)
                return -ENOMEM;
        kmod_set_log_priority(ctx, 0);
        k = find_uas(ctx, &module);
        if (k < 0)
                return k;
        if (kmod_module_get_install_commands(module))
                return -EPERM;
        k = kmod_module_probe_insert_module(module, KMOD_PROBE_IGNORE_COMMAND, NULL, NULL, NULL, NULL);
        if (k < 0)
                return k;
        return uas_registered(r) ? 0 : -ENODEV;
}

void facts_complete_module(const struct roots *r, struct facts *f)
{
        enum module_state state;

        /* In doubt it can be had: the switch finds out before it touches anything. */
        f->uas_kept_away = uas_module_state(r, &state) >= 0 && (state == MODULE_KEPT || state == MODULE_MISSING);
}

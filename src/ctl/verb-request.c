/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/freeing.h"
#include "ctl/options.h"

#include "ctl/alone.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/io/clock.h"
#include "sys/platform/udevd.h"

/* Verbs that send one request and do more than that: forget, eject, trim. */

int verb_forget(struct ctl *c, char **args)
{
        int r = ctl_read(c, FROM_DAEMON, NULL), ret = UASD_EXIT_OK;

        for (size_t i = 0; r == UASD_EXIT_OK && args[i]; i++)
                r = ctl_select_or_id(c, args[i]);
        if (r != UASD_EXIT_OK)
                return r;
        for (; *args; args++) {
                c->v = NULL;
                (void) ctl_select_or_id(c, *args);
                r = ctl_send(c, c->v ? "Forget" : "ForgetOf", N_("its history is cleared."));
                ret = ret ?: r;
        }
        if (ret == UASD_EXIT_OK)
                say_initramfs_is_old(c);
        return ret;
}

/* A sync of a slow disk takes minutes. A switch that is under way comes before it. */
#define EJECT_USEC (600 * USEC_PER_SEC)

static void eject_done(const struct view *v)
{
        log_info("%s: ejected. You can unplug it.", VIEW_LABEL(v));
}

static void eject_in_use(const struct ctl *c, const struct view *v)
{
        log_error("%s: cannot be ejected, because it is in use:", VIEW_LABEL(v));
        say_in_use(c, v);
}

static int eject_alone(struct ctl *c)
{
        const struct view *v = c->v;
        struct outcome o = {.code = UASD_EXIT_DEFERRED};

        if (v->disk.n_users == 0)
                alone_run(c, "--eject", NULL, progress_show, NULL, &o);
        if (o.code == UASD_EXIT_OK) {
                eject_done(v);
                return o.code;
        }
        if (v->disk.n_users > 0)
                eject_in_use(c, v);
        else
                log_error("%s: the eject failed: %s", VIEW_LABEL(v), o.text);
        return o.code == UASD_EXIT_DEFERRED ? UASD_EXIT_REFUSED : o.code;
}

int verb_eject(struct ctl *c, char **args)
{
        const struct view *v = c->v;
        _cleanup_free_ char *in_use = NULL;
        const struct remote_call call = {.method = "Eject",
                                         .disk = v->disk.facts.interface,
                                         .limit_usec = EJECT_USEC,
                                         .ret_in_use = &in_use};
        _cleanup_(views_done) struct views now = {};
        int r;

        if (!c->remote.bus)
                return eject_alone(c);
        r = request_call(&c->client, &c->remote, &call, NULL);
        if (r == UASD_EXIT_OK)
                eject_done(v);
        if (!*call.ret_in_use)
                return r;
        v = NULL;
        if (local_refresh(&c->client.roots, &c->remote, &now) >= 0)
                v = views_find(&now, call.disk);
        if (v && v->disk.n_users > 0)
                eject_in_use(c, v);
        else
                log_error("%s", in_use);
        return r;
}

/* ---- trim ---- */

static int show_trim(struct ctl *c, const char *what)
{
        _cleanup_(health_done) struct health h = {};
        int r = ctl_read(c, FROM_EITHER, what);

        if (r != UASD_EXIT_OK)
                return r;
        health_read(&c->client.roots, c->v, &h);
        if (ctl_json(c))
                append(c->json, put_members(json_disk(c->v),
                                            {"trim", json_trim(&h, c->v->disk.facts.driver)}));
        else if (!health_print_trim(&h, c->v, false))
                log_info("%s: the kernel does not show whether it uses TRIM.",
                         c->v->disk.facts.interface);
        return UASD_EXIT_OK;
}

/* Longer than udev needs for its rules, also on a slow machine. */
#define UDEV_USEC (5 * USEC_PER_SEC)
#define LOOK_AGAIN_USEC (20 * USEC_PER_MSEC)

/* Whether the kernel uses TRIM wherever it is kept on. */
static bool trim_is_on(const struct ctl *c)
{
        _cleanup_(health_done) struct health h = {};
        bool on = true;

        health_read(&c->client.roots, c->v, &h);
        for (size_t i = 0; i < h.n_luns; i++)
                on = on && (h.luns[i].trim.kept != TRIM_KEPT || !h.luns[i].trim.mode[0] ||
                            h.luns[i].trim.used_bytes > 0);
        return on;
}

/* uasd has told udev, and a rule of udev turns it on. The next command may be fstrim. */
static void trim_wait_for_udev(const struct ctl *c)
{
        uint64_t end = now_boottime() + UDEV_USEC;

        if (!udevd_runs(&c->client.roots)) {
                log_warning("Only udev turns it on, and no udevd runs here.");
                return;
        }
        while (!trim_is_on(c)) {
                if (now_boottime() >= end) {
                        log_warning(
                                "udev has not turned it on yet. To ask it again: uasctl trim %s on",
                                facts_name(&c->v->disk.facts));
                        return;
                }
                (void) usleep(LOOK_AGAIN_USEC);
        }
}

static int set_trim(struct ctl *c, const char *what, const char *word)
{
        int r = ctl_read(c, FROM_DAEMON, what);

        if (r == UASD_EXIT_OK)
                r = ctl_call(c, "SetTrim", word);
        if (r != UASD_EXIT_OK)
                return r;
        if (streq(word, "on"))
                trim_wait_for_udev(c);
        log_info("%s: TRIM is %s from now on.", VIEW_LABEL(c->v), word);
        if (streq(word, "on"))
                log_info("Some bridges lose data on TRIM: make a backup before the first fstrim.");
        return UASD_EXIT_OK;
}

int verb_trim(struct ctl *c, char **args)
{
        if ((!args[1] || streq(args[1], "off")) && c->options->given & OPTION_FORCE)
                return log_failure(UASD_EXIT_USAGE, "--force works only with: uasctl trim DISK on");
        if (!args[1])
                return show_trim(c, args[0]);
        return set_trim(c, args[0], args[1]);
}

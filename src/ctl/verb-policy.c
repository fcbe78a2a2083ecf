/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/freeing.h"
#include "ctl/options.h"

#include "client/local.h"
#include "common/names.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "ctl/policy-kernel.h"
#include "ctl/policy-write.h"
#include "ctl/quirks-say.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/state/conf.h"

/* ---- sources ---- */

static int policies_read_row(sd_bus_message *m, struct policy_rows *rows)
{
        const char *id, *policy, *source;
        struct policy_row *row;
        int forced, p, s, r = sd_bus_message_read(m, "ssbs", &id, &policy, &forced, &source);

        if (r < 0)
                return r;
        p = policy_from_string(policy);
        s = policy_source_from_string(source);
        if (p < 0 || s < 0)
                return -EBADMSG;
        row = need(policy_rows_add(rows, id, (enum policy) p, forced, (enum policy_source) s));
        r = sd_bus_message_read_strv(m, &row->disks);
        if (r < 0)
                return r;
        while (row->disks && row->disks[row->n_disks])
                row->n_disks++;
        return 0;
}

static int policies_read_reply(sd_bus_message *m, struct policy_rows *rows)
{
        int r = sd_bus_message_enter_container(m, 'a', "(ssbsas)");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'r', "ssbsas")) > 0) {
                r = policies_read_row(m, rows);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r;
}

static int read_remote(const struct ctl *c, struct remote *remote, struct policy_rows *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = remote_policies(remote, &reply);

        if (r == -ENOSYS)
                return source_lacks(remote, "ListPolicies");
        if (r == -ETIMEDOUT || r == -ENOTCONN)
                return source_lost(r);
        if (r >= 0)
                r = policies_read_reply(reply, ret);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read the policies: %s", strerror(-r));
        return UASD_EXIT_OK;
}

static int policies_from_files(const struct roots *roots, struct policy_rows *ret)
{
        _cleanup_free_ const struct facts **plugged = NULL;
        _cleanup_(views_done) struct views views = {};
        _cleanup_(config_done) struct config config;
        int r;

        config_init(&config);
        r = local_read(roots, DETAIL_NO_USERS, NULL, &views);
        if (r < 0)
                return r;
        r = conf_load(roots, &config, NULL, NULL); /* local_read() has reported errors in it */
        if (r < 0)
                return r;
        plugged = need(calloc(views.n + 1, sizeof(*plugged)));
        for (size_t i = 0; i < views.n; i++)
                plugged[i] = &views.list[i].disk.facts;
        return policy_list(roots, &config, plugged, views.n, ret);
}

static int read_files(const struct ctl *c, struct policy_rows *ret)
{
        int r = policies_from_files(&c->client.roots, ret);

        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read the policies: %s", strerror(-r));
        return UASD_EXIT_OK;
}

static int policies_read(const struct ctl *c, struct policy_rows *ret)
{
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(courses_done) struct courses courses = {};

        if (!source_ask(&c->client, REMOTE_ORDER, false, &remote, &courses))
                return read_files(c, ret);
        return read_remote(c, &remote, ret);
}

/* ---- output ---- */

static const struct table_column columns[] = {
        {N_("DISK")}, {N_("POLICY")}, {N_("BY")}, {N_("PLUGGED"), SCOLS_FL_WRAP}};

static const char *const by[_POLICY_SOURCE_MAX] = {
        [POLICY_BY_NOBODY] = "-",
        [POLICY_BY_CONFIG] = "uasd.conf",
        [POLICY_BY_UDEV] = "udev",
        [POLICY_BY_USER] = "uasctl",
};

static void policies_add_line(struct libscols_table *t, const struct policy_row *p)
{
        char policy[32], disks[512] = "";

        for (size_t i = 0; i < p->n_disks; i++) {
                if (i > 0)
                        text_add(disks, sizeof(disks), " ");
                text_add(disks, sizeof(disks), "%s", p->disks[i]);
        }
        (void) copy_string(policy, sizeof(policy), policy_to_string(p->policy));
        if (p->forced)
                (void) snprintf(policy, sizeof(policy), _("%s, forced"),
                                policy_to_string(p->policy));
        (void) table_row(t, NULL,
                         (const char *const[]){SENTENCE(p->id), policy, by[p->source],
                                               *disks ? disks : "-"});
}

/* Prints every policy that is set. */
static int show_all(const struct ctl *c)
{
        _cleanup_(policy_rows_done) struct policy_rows rows = {};
        struct libscols_table *t;
        int r = policies_read(c, &rows);

        if (r != UASD_EXIT_OK)
                return r;
        if (c->options->json) {
                json_print(json_policies(&rows));
                return UASD_EXIT_OK;
        }
        if (rows.n == 0)
                return log_answer(
                        UASD_EXIT_OK,
                        "No policy is set: every disk gets the fastest driver known to be stable.");
        t = table_new(columns, ELEMENTSOF(columns), c->options->legend);
        for (size_t i = 0; i < rows.n; i++)
                policies_add_line(t, &rows.list[i]);
        table_print(t, columns, ELEMENTSOF(columns));
        return UASD_EXIT_OK;
}

/* Prints the policy of a disk that is not plugged in. */
static int show_id(const struct ctl *c, const char *id)
{
        _cleanup_(policy_rows_done) struct policy_rows rows = {};
        const struct policy_row *one = NULL;
        int r = policies_read(c, &rows);

        if (r != UASD_EXIT_OK)
                return r;
        for (size_t i = 0; i < rows.n && !one; i++)
                if (streq(rows.list[i].id, id)) /* stored policies come first */
                        one = rows.list + i;
        if (!one)
                return log_failure(
                        UASD_EXIT_NO_DISK,
                        "There is no USB disk '%s' plugged in, and no policy is set for it.", id);
        if (c->options->json)
                json_print(json_policies(&(struct policy_rows){(struct policy_row *) one, 1}));
        else
                puts(policy_to_string(one->policy));
        return UASD_EXIT_OK;
}

static int policy_show(struct ctl *c, const char *what)
{
        int r = ctl_read(c, FROM_EITHER, NULL);

        if (r == UASD_EXIT_OK)
                r = ctl_select_or_id(c, what);
        if (r != UASD_EXIT_OK)
                return r;
        if (!c->v)
                return show_id(c, c->id);
        if (ctl_json(c))
                append(c->json, json_disk(c->v));
        else
                puts(policy_to_string(c->v->disk.facts.policy));
        return UASD_EXIT_OK;
}

/* Says that only the port distinguishes it from another disk. */
static void say_by_port(const struct views *views, const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        bool twin = false;

        for (size_t i = 0; i < views->n; i++)
                twin = twin || facts_twins(f, &views->list[i].disk.facts);
        if (!f->serial[0])
                log_info(
                        "It is kept for the port it is plugged into: the disk says no serial number.");
        else if (twin)
                log_info(
                        "It is kept for the port it is plugged into: another disk says the same serial number.");
}

/* A user who names a disk by VID:PID may mean all disks of the model. */
static void say_only_this(const struct facts *f, const char *what)
{
        char model[16];

        (void) snprintf(model, sizeof(model), "%04x:%04x", f->vid, f->pid);
        if (strcasecmp(what, model) == 0)
                log_info(
                        "That is for this disk. For every disk of its model: a section [Disk %s] in uasd.conf",
                        model);
}

/* The policy may want a switch that the users of the disk prevent. */
static void say_if_in_use(struct ctl *c)
{
        _cleanup_(views_done) struct views now = {};
        const struct view *v;

        if (local_refresh(&c->client.roots, &c->remote, &now) < 0)
                return;
        v = views_find(&now, c->v->disk.facts.interface);
        if (v && v->disk.state == STATE_WAITING && v->disk.n_users > 0)
                (void) tell_deferred(c, VIEW_LABEL(v), v);
}

/* "1234:5678" */
static bool is_model(const char *s)
{
        static const char hex[] = "0123456789abcdefABCDEF";

        return strlen(s) == 9 && strspn(s, hex) == 4 && s[4] == ':' && strspn(s + 5, hex) == 4;
}

static int policy_change(struct ctl *c, const char *what, const char *policy)
{
        int r = ctl_read(c, FROM_DAEMON, NULL);
        char lost[TRIM_LOST_MAX] = "";

        if (r == UASD_EXIT_OK)
                r = ctl_select_or_id(c, what);
        if (r == UASD_EXIT_OK && c->v && streq(policy, DRIVER_NAME_BOT))
                (void) trim_lost(c, c->v, DRIVER_USB_STORAGE, lost, sizeof(lost));
        if (r == UASD_EXIT_NO_DISK && is_model(what))
                log_info("For every disk of a model: Policy= in a section [Disk %s] of uasd.conf",
                         what);
        if (r == UASD_EXIT_OK)
                r = ctl_call(c, c->v ? "SetPolicy" : "SetPolicyOf", policy);
        if (r != UASD_EXIT_OK)
                return r;
        if (c->v)
                log_info("%s: the policy is %s from now on.", VIEW_LABEL(c->v), policy);
        else
                log_info("%s, which is not plugged in: the policy is %s from now on.", c->id,
                         policy);
        if (c->v) {
                say_only_this(&c->v->disk.facts, what);
                say_by_port(&c->views, c->v);
                if (*lost)
                        log_info("%s", lost);
                say_if_in_use(c);
        } else if (streq(policy, DRIVER_NAME_UAS))
                log_info("Whether it can run on uas is not known.");
        say_initramfs_is_old(c);
        return UASD_EXIT_OK;
}

int verb_policy(struct ctl *c, char **args)
{
        bool force = c->options->given & OPTION_FORCE, kernel = c->options->given & OPTION_KERNEL,
             write = c->options->given & OPTION_WRITE;

        if (write && kernel && args[0] && args[1])
                return policy_write(c, args[0], args[1]);
        if (write && kernel && !args[0])
                return policy_write_failed(c);
        if (write)
                return log_failure(
                        UASD_EXIT_USAGE,
                        "--write takes --kernel, a disk and a policy: uasctl policy --kernel --write DISK auto|uas|usb-storage");
        if (c->options->given & OPTION_DRY_RUN)
                return log_failure(
                        UASD_EXIT_USAGE,
                        "--dry-run is for --write: uasctl policy --kernel --write DISK auto|uas|usb-storage");
        if (kernel && ((args[0] && args[1]) || force))
                return log_failure(
                        UASD_EXIT_USAGE,
                        "--kernel prints, and sets nothing without --write: uasctl policy --kernel [DISK]");
        if (kernel)
                return policy_kernel(c, args[0]);
        if (force && (!args[0] || !args[1]))
                return log_failure(UASD_EXIT_USAGE, "--force needs a policy to set.");
        if (!args[0])
                return show_all(c);
        if (!args[1])
                return policy_show(c, args[0]);
        return policy_change(c, args[0], args[1]);
}

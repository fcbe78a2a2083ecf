/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/policy.h"

#include "client/request.h"
#include "client/source.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/policy.h"
#include "ctl/absent.h"
#include "ctl/boot-place.h"
#include "ctl/policies.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static int show(const struct ctl *c, const char *what)
{
        _cleanup_(views_done) struct views views = {};
        char id[HISTORY_KEY_MAX];
        const struct view *v;
        int code = source_read(&c->client, DETAIL_ALL, &views);

        if (code == UASD_EXIT_OK && absent_named(c, &views, what, id))
                return policies_show_id(c, id);
        if (code == UASD_EXIT_OK)
                code = source_select(&c->client, &views, what, &v);
        if (code != UASD_EXIT_OK)
                return code;
        if (c->options->json)
                json_print(json_views(&(struct views){(struct view *) v, 1}));
        else
                puts(policy_to_string(v->disk.facts.policy));
        return UASD_EXIT_OK;
}

/* What only its port tells from another one. */
static void say_by_port(const struct views *views, const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        bool twin = false;

        for (size_t i = 0; i < views->n; i++)
                twin = twin || facts_twins(f, &views->list[i].disk.facts);
        if (twin || !f->serial[0])
                log_info("It is kept for the port it is plugged into: %s.",
                         f->serial[0] ? "another disk says the same serial number" : "the disk says no serial number");
}

/* For a disk that is not plugged in. */
static int set_id(const struct ctl *c, struct remote *remote, const char *id, const char *policy)
{
        const struct remote_call call = {
                .method = "SetPolicyOf", .disk = id, .value = policy, .force = c->options->given & OPTION_FORCE};
        int code = request_call(&c->client, remote, &call, NULL);

        if (code != UASD_EXIT_OK)
                return code;
        log_info("%s, which is not plugged in: the policy is %s from now on.", id, policy);
        if (streq(policy, DRIVER_NAME_UAS))
                log_info("Whether it can run on uas is not known.");
        say_initramfs_is_old(c);
        return UASD_EXIT_OK;
}

static int set(const struct ctl *c, const char *what, const char *policy)
{
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(views_done) struct views views = {};
        struct remote_call call = {.method = "SetPolicy", .value = policy, .force = c->options->given & OPTION_FORCE};
        char label[VIEW_LABEL_MAX], id[HISTORY_KEY_MAX];
        const struct view *v;
        int code = source_connect(&c->client, &remote, &views);

        if (code == UASD_EXIT_OK && absent_named(c, &views, what, id))
                return set_id(c, &remote, id, policy);
        if (code == UASD_EXIT_OK)
                code = source_select(&c->client, &views, what, &v);
        if (code != UASD_EXIT_OK)
                return code;
        call.disk = v->disk.facts.interface;
        code = request_call(&c->client, &remote, &call, NULL);
        if (code != UASD_EXIT_OK)
                return code;
        log_info("%s: the policy is %s from now on.", view_label(v, label), policy);
        say_by_port(&views, v);
        say_initramfs_is_old(c);
        return UASD_EXIT_OK;
}

int verb_policy(const struct ctl *c, char **args)
{
        if (c->options->given & OPTION_KERNEL) {
                if ((args[0] && args[1]) || c->options->given & OPTION_FORCE) {
                        log_error("--kernel prints, and sets nothing: uasctl policy --kernel [DISK]");
                        return UASD_EXIT_USAGE;
                }
                return policy_kernel(c, args[0]);
        }
        if (!args[0]) {
                if (c->options->given & OPTION_FORCE) {
                        log_error("--force needs a policy to set.");
                        return UASD_EXIT_USAGE;
                }
                return policies_show(c);
        }
        if (!args[1]) {
                if (c->options->given & OPTION_FORCE) {
                        log_error("--force needs a policy to set.");
                        return UASD_EXIT_USAGE;
                }
                return show(c, args[0]);
        }
        if (policy_from_string(args[1]) < 0) {
                log_error("'%s' is no policy: auto, uas, usb-storage or ignore.", args[1]);
                return UASD_EXIT_USAGE;
        }
        return set(c, args[0], args[1]);
}

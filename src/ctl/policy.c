/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/policy.h"

#include "common/log.h"
#include "common/util.h"
#include "core/policy.h"
#include "ctl/json.h"
#include "ctl/request.h"
#include "ctl/source.h"

static int show(const struct ctl *c, const char *what)
{
        _cleanup_(views_done) struct views views = {};
        const struct view *v;
        int code = source_read_disk(c, what, &views, &v);

        if (code != UASD_EXIT_OK)
                return code;
        if (c->options->json)
                return json_print(json_views(&(struct views){(struct view *) v, 1})) < 0 ? UASD_EXIT_FAILED
                                                                                         : UASD_EXIT_OK;
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

static int set(const struct ctl *c, const char *what, const char *policy)
{
        _cleanup_(views_done) struct views views = {};
        char label[VIEW_LABEL_MAX];
        const struct view *v;
        int code = request_disk(c, what, "SetPolicy", policy, &views, &v);

        if (code == UASD_EXIT_OK) {
                log_info("%s: the policy is %s from now on.", view_label(v, label), policy);
                say_by_port(&views, v);
                say_initramfs_is_old(c);
        }
        return code;
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
                log_error("Too few arguments: uasctl policy DISK [auto|uas|usb-storage|ignore], or: uasctl policy --kernel [DISK]");
                return UASD_EXIT_USAGE;
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "ctl/boot-place.h"
#include "ctl/policies.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static int show(struct ctl *c, const char *what)
{
        int r = ctl_read(c, FROM_EITHER, NULL);

        if (r == UASD_EXIT_OK)
                r = ctl_select_or_id(c, what);
        if (r != UASD_EXIT_OK)
                return r;
        if (!c->v)
                return policies_show_id(c, c->id);
        if (c->options->json)
                json_print(json_of_disk(json_disk(c->v)));
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
        if (twin || !f->serial[0])
                log_info("It is kept for the port it is plugged into: %s.",
                         f->serial[0] ? "another disk says the same serial number" : "the disk says no serial number");
}

static int set(struct ctl *c, const char *what, const char *policy)
{
        char label[VIEW_LABEL_MAX];
        int r = ctl_read(c, FROM_DAEMON, NULL);

        if (r == UASD_EXIT_OK)
                r = ctl_select_or_id(c, what);
        if (r == UASD_EXIT_OK)
                r = ctl_call(c, c->v ? "SetPolicy" : "SetPolicyOf", policy);
        if (r != UASD_EXIT_OK)
                return r;
        log_info("%s%s: the policy is %s from now on.", c->v ? view_label(c->v, label) : c->id,
                 c->v ? "" : ", which is not plugged in", policy);
        if (c->v)
                say_by_port(&c->views, c->v);
        else if (streq(policy, DRIVER_NAME_UAS))
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
        if (write || c->options->given & OPTION_DRY_RUN) {
                log_error("%s: uasctl policy --kernel --write DISK auto|uas|usb-storage",
                          write ? "--write takes --kernel, a disk and a policy" : "--dry-run is for --write");
                return UASD_EXIT_USAGE;
        }
        if (kernel && ((args[0] && args[1]) || force)) {
                log_error("--kernel prints, and sets nothing without --write: uasctl policy --kernel [DISK]");
                return UASD_EXIT_USAGE;
        }
        if (kernel)
                return policy_kernel(c, args[0]);
        if (force && (!args[0] || !args[1])) {
                log_error("--force needs a policy to set.");
                return UASD_EXIT_USAGE;
        }
        if (!args[0])
                return policies_show(c);
        if (!args[1])
                return show(c, args[0]);
        return set(c, args[0], args[1]);
}

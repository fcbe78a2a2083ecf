/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include <ctype.h>
#include <fcntl.h>

#include "ctl/boot-edit.h"
#include "ctl/boot.h"
#include "ctl/policy-write.h"
#include "ctl/verbs.h"

/* Undoes all that a user or a failure has set for a disk. Each part is that of another verb. */

/* uasctl has changed the file that this machine boots with. */
static bool has_boot_entry(const struct ctl *c)
{
        const struct boot_place *p = boot_place_find(&c->client.roots);

        if (!p)
                return faccessat(c->client.roots.etc, boot_place_modprobe.at, F_OK, 0) == 0;
        return faccessat(c->client.roots.etc, path_join(p->at, BOOT_BACKUP), F_OK, 0) == 0;
}

/* The same as: policy --kernel --write DISK auto. dry: only print the change. */
static int reset_boot_entry(const struct ctl *c, bool dry)
{
        struct options options = *c->options;
        struct ctl kernel = {.options = &options, .client = c->client, .root = c->root};
        int r;

        options.given &= ~(unsigned) OPTION_DRY_RUN;
        if (dry)
                options.given |= OPTION_DRY_RUN;
        r = policy_write(&kernel, c->v->disk.facts.interface, policy_to_string(POLICY_AUTO));
        views_done(&kernel.views);
        return r;
}

/* A part, and the call that undoes it. */
struct reset_part {
        bool there;
        const char *method, *value;
};

enum { RESET_SWITCH, RESET_POLICY, RESET_HISTORY, _RESET_MAX };

static void reset_find(const struct view *v, struct reset_part ret[static _RESET_MAX])
{
        const struct facts *f = &v->disk.facts;

        ret[RESET_SWITCH] = (struct reset_part){
                f->override_target != DRIVER_NONE || v->disk.cancelled, "Switch", ""};
        ret[RESET_POLICY] = (struct reset_part){f->policy_source == POLICY_BY_USER, "SetPolicy",
                                                policy_to_string(POLICY_AUTO)};
        ret[RESET_HISTORY] = (struct reset_part){v->history[0], "Forget", NULL};
}

static void reset_print(const struct view *v, const struct reset_part parts[static _RESET_MAX])
{
        const struct facts *f = &v->disk.facts;

        if (parts[RESET_SWITCH].there && v->disk.cancelled)
                log_info("  the switch to %s is cancelled",
                         driver_to_string(v->disk.decision.target));
        else if (parts[RESET_SWITCH].there)
                log_info("  switch: %s, until it is unplugged",
                         driver_to_string(f->override_target));
        if (parts[RESET_POLICY].there)
                log_info("  policy: %s", policy_to_string(f->policy));
        if (parts[RESET_HISTORY].there)
                log_info("  history: %s", v->history);
        if (f->distrusted)
                log_info("  uasd may then move it to uas again.");
}

/* Asks on a terminal. A script has decided already. */
static bool reset_agreed(void)
{
        char answer[16];

        if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
                return true;
        (void) fflush(stdout);
        (void) fprintf(stderr, "%s [y/N] ", _("Undo all of that?"));
        return fgets(answer, sizeof(answer), stdin) && tolower((unsigned char) *answer) == 'y';
}

static int reset_carry_out(struct ctl *c, const struct reset_part parts[static _RESET_MAX],
                           bool boot)
{
        int ret = UASD_EXIT_OK;

        for (size_t i = 0; i < _RESET_MAX && ret == UASD_EXIT_OK; i++) {
                _cleanup_free_ char *job = NULL;
                struct remote_call call = {.method = parts[i].method,
                                           .value = parts[i].value,
                                           .disk = c->v->disk.facts.interface};

                if (parts[i].there)
                        ret = request_call(&c->client, &c->remote, &call,
                                           i == RESET_SWITCH ? &job : NULL);
        }
        if (ret == UASD_EXIT_OK && boot)
                ret = reset_boot_entry(c, false);
        if (ret != UASD_EXIT_OK)
                return ret;
        say_initramfs_is_old(c);
        log_info("%s: nothing is set for it any more.", VIEW_LABEL(c->v));
        return ret;
}

int verb_reset(struct ctl *c, char **args)
{
        struct reset_part parts[_RESET_MAX];
        bool boot = has_boot_entry(c), any = boot;
        int r = ctl_read(c, FROM_DAEMON, args[0]);

        if (r != UASD_EXIT_OK)
                return r;
        reset_find(c->v, parts);
        for (size_t i = 0; i < _RESET_MAX; i++)
                any = any || parts[i].there;
        if (!any)
                return log_answer(UASD_EXIT_OK, "%s: nothing is set for it.", VIEW_LABEL(c->v));
        log_info("%s: this ends:", VIEW_LABEL(c->v));
        reset_print(c->v, parts);
        if (boot)
                r = reset_boot_entry(c, true);
        if (r != UASD_EXIT_OK || c->options->given & OPTION_DRY_RUN)
                return r;
        if (!reset_agreed())
                return log_answer(UASD_EXIT_FAILED, "Nothing was changed.");
        return reset_carry_out(c, parts, boot);
}

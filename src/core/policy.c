/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy.h"

#include <assert.h>

#include "common/gettext.h"
#include "common/sentence.h"
#include "common/util.h"
#include "core/history.h"

/* ---- the conditions ---- */

static bool lacks_streams(const struct facts *f)
{
        return f->no_streams && f->speed_mbps >= SUPER_SPEED_MBPS;
}

/* Without BOT only one request is possible: uas, for a disk without a driver. */
static bool fits_no_bot(const struct policy_input *in)
{
        const struct facts *f = in->f;

        if (f->caps.bot)
                return false;
        if (f->driver != DRIVER_NONE)
                return true;
        return in->wish == DRIVER_USB_STORAGE || (in->wish == DRIVER_NONE && !f->uas_kept_away);
}

static void read_conditions(struct policy_input *in)
{
        const struct facts *f = in->f;
        const bool fits[_REASON_MAX] = {
                [REASON_BAD_DESCRIPTORS] = f->caps_error < 0,
                [REASON_NO_UAS] = !f->caps.uas,
                [REASON_NO_PIPES] = !f->caps.pipes,
                [REASON_OTHER_DRIVER] = f->driver == DRIVER_OTHER,
                [REASON_UNAUTHORIZED] = !f->authorized,
                [REASON_JUST_UNBOUND] = f->driver == DRIVER_NONE && f->just_unbound,
                [REASON_POLICY_IGNORE] = !in->override && f->policy == POLICY_IGNORE,
                [REASON_NO_BOT] = fits_no_bot(in),
                [REASON_FORCE_NEEDED] = in->wish == DRIVER_UAS && in->kernel_ignores && !in->forced,
                [REASON_OVERRIDE] = in->override != DRIVER_NONE,
                /* A policy is older than the trouble, too. Moved to uas, it would fail there, and
                   be moved to and fro. */
                [REASON_NOT_UAS] = !in->override && f->trouble && f->driver == DRIVER_USB_STORAGE,
                /* A policy is older than the failure. A user who requests `switch` now knows of it.
                 */
                [REASON_TRIAL_FAILED] = !in->override && in->wish == DRIVER_UAS && f->trial_failed,
                [REASON_POLICY] = f->policy == POLICY_UAS || f->policy == POLICY_USB_STORAGE,
                /* Also a disk that was moved to usb-storage for this reason: otherwise it would be
                   moved again and again. */
                [REASON_UAS_KEPT_AWAY] = f->uas_kept_away && f->driver != DRIVER_UAS,
                [REASON_DISTRUSTED] = f->distrusted,
                [REASON_VERDICT_BAD] = f->verdict == VERDICT_BAD,
                [REASON_QUIRK] = in->entry_ignores,
                [REASON_KERNEL_TABLE] = in->kernel_ignores && in->kernel.source != KERNEL_RULE,
                [REASON_KERNEL_RULE] = in->kernel_ignores && in->kernel.source == KERNEL_RULE,
                [REASON_NO_STREAMS] = lacks_streams(f),
                [REASON_NO_SG] = f->no_sg,
                [REASON_UNKNOWN_BRIDGE] = f->verdict == VERDICT_UNKNOWN,
                [REASON_FASTEST] = true,
        };

        memcpy(in->fits, fits, sizeof(fits));
}

void policy_input_read(const struct facts *f, struct policy_input *ret)
{
        char others[QUIRKS_MAX + 1];
        struct bridge b;
        struct policy_input in = {.f = f};

        facts_bridge(f, &b);
        kernel_flags(&b, &in.kernel);
        /* Our own entry repeats the policy: it is not a statement of its own. */
        (void) copy_string(others, sizeof(others), f->quirks);
        if (f->quirks_own[0])
                (void) quirks_remove(f->quirks, f->quirks_own, others);
        in.entry = quirks_find(others, f->vid, f->pid, in.letters) > 0;
        in.entry_ignores = strchr(in.letters, 'u');
        in.kernel_ignores = !in.entry && in.kernel.ignore_uas;

        /* A policy with --force goes before an override without it. */
        if ((f->override_target == DRIVER_UAS || f->override_target == DRIVER_USB_STORAGE) &&
            (f->override_forced || !f->policy_forced || f->policy == POLICY_AUTO))
                in.override = f->override_target;
        in.wish = in.override;
        in.forced = in.override ? f->override_forced : f->policy_forced;
        if (!in.wish && f->policy == POLICY_UAS)
                in.wish = DRIVER_UAS;
        if (!in.wish && f->policy == POLICY_USB_STORAGE)
                in.wish = DRIVER_USB_STORAGE;
        read_conditions(&in);
        *ret = in;
}

/* ---- the drivers ---- */

/* It has no driver, perhaps because our entry has kept it off uas. It goes to uas, unless another
 * source forbids that. */
static enum driver choose_uas_alone(const struct policy_input *in)
{
        const struct facts *f = in->f;
        bool objected = in->entry_ignores || in->kernel_ignores || f->uas_kept_away || f->no_sg ||
                        lacks_streams(f);

        if (f->driver != DRIVER_NONE || objected)
                return DRIVER_NONE;
        return DRIVER_UAS;
}

static enum driver reason_target(enum reason r, const struct policy_input *in)
{
        enum driver bot = in->f->caps.bot ? DRIVER_USB_STORAGE : DRIVER_NONE;
        const enum driver chosen[_REASON_MAX] = {
                [REASON_NO_BOT] = choose_uas_alone(in),
                [REASON_FORCE_NEEDED] = bot,
                [REASON_OVERRIDE] = in->wish,
                [REASON_TRIAL_FAILED] = bot,
                [REASON_POLICY] = in->wish,
                [REASON_UAS_KEPT_AWAY] = bot,
                [REASON_UNKNOWN_BRIDGE] = in->f->unknown_target,
        };

        if (policy_rows[r].choice)
                return chosen[r];
        return policy_rows[r].target;
}

/* ---- the facts in words ---- */

static void found_no_uas(const struct policy_input *in, char *ret, size_t size)
{
        (void) sentence(ret, size, "alternate setting %u is 08/06/62", in->f->caps.uas_alt);
}

static void found_driver(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        if (f->driver == DRIVER_NONE)
                (void) sentence(ret, size, "no driver");
        else
                (void) sentence(ret, size, "the driver is %s",
                                *f->driver_name ? f->driver_name : driver_to_string(f->driver));
}

static void found_policy(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;
        char policy[64];

        (void) sentence(ret, size,
                        f->policy_forced ? "the policy is %s, forced" : "the policy is %s",
                        policy_text(f->policy, f->policy_source, policy, sizeof(policy)));
}

static void found_no_bot(const struct policy_input *in, char *ret, size_t size)
{
        if (in->f->caps.bot)
                (void) sentence(ret, size, "alternate setting 0 is 08/06/50");
        else
                (void) sentence(ret, size, "alternate setting 0 is not 08/06/50");
}

static void found_force_needed(const struct policy_input *in, char *ret, size_t size)
{
        if (in->wish != DRIVER_UAS)
                (void) sentence(ret, size, "no request or policy asks for uas");
        else if (!in->kernel_ignores)
                (void) sentence(ret, size, "uas is requested, and the kernel does not object");
        else if (in->forced)
                (void) sentence(ret, size,
                                "uas is requested with force, but the kernel disables it for %s",
                                in->kernel.name);
        else
                (void) sentence(ret, size,
                                "uas is requested without force, but the kernel disables it for %s",
                                in->kernel.name);
}

static void found_override(const struct policy_input *in, char *ret, size_t size)
{
        (void) sentence(ret, size,
                        in->forced ? "a user requested %s, forced" : "a user requested %s",
                        driver_to_string(in->override));
}

static void found_not_uas(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        (void) sentence(ret, size, "%s", f->trouble ?: "no trouble on usb-storage");
}

static void found_trial(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;
        char why[HISTORY_TEXT_MAX];

        if (f->trial_failed)
                (void) sentence(ret, size, "its trial failed: %s",
                                history_clause(f, why, sizeof(why)));
        else if (f->trial_open)
                (void) sentence(ret, size, "its trial is running");
        else if (f->trial_passed)
                (void) sentence(ret, size, "it passed its trial");
        else
                (void) sentence(ret, size, "no trial has failed");
}

static void found_uas_kept_away(const struct policy_input *in, char *ret, size_t size)
{
        static const char *const why[_UAS_MODULE_MAX] = {
                [UAS_MODULE_BLACKLISTED] = "uas is not loaded: modprobe.d blacklists it",
                [UAS_MODULE_INSTALL_LINE] =
                        "uas is not loaded: modprobe.d has an install line for it",
                [UAS_MODULE_MISSING] = "this kernel has no module uas, or it is not installed",
                [UAS_MODULE_NO_LOADER] =
                        "uas is not loaded: libkmod cannot load it, and the system has no modprobe, no insmod",
                [UAS_MODULE_REFUSED] =
                        "uas is not loaded: the file of Module= is refused, see uasctl module",
        };

        if (in->f->uas_kept_away)
                (void) sentence(ret, size, "%s",
                                why[in->f->uas_module]
                                        ?: "uas is not loaded, and cannot be loaded");
        else
                (void) sentence(ret, size, "uas is loaded or can be");
}

static void found_distrusted(const struct policy_input *in, char *ret, size_t size)
{
        char why[HISTORY_TEXT_MAX];

        (void) history_clause(in->f, why, sizeof(why));
        if (*why)
                (void) sentence(ret, size, "distrusted: %s", why);
        else
                (void) sentence(ret, size, "distrusted");
}

static void found_verdict(const struct policy_input *in, char *ret, size_t size)
{
        const char *verdict = verdict_to_string(in->f->verdict) ?: "unknown";

        if (in->f->verdict == VERDICT_UNKNOWN && in->f->verdict_disputed)
                (void) sentence(
                        ret, size,
                        "the verdict on this bridge is %s: the sources contradict each other",
                        verdict);
        else
                (void) sentence(ret, size, "the verdict on this bridge is %s", verdict);
}

static void found_quirk(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        if (in->entry)
                (void) sentence(ret, size, "the quirks parameter has %04x:%04x:%s", f->vid, f->pid,
                                in->letters);
        else if (f->quirks_own[0])
                (void) sentence(ret, size, "only uasd itself has set %s", f->quirks_own);
        else
                (void) sentence(ret, size, "the quirks parameter does not name %04x:%04x", f->vid,
                                f->pid);
}

static bool kernel_flags_replaced(const struct policy_input *in)
{
        return in->kernel.ignore_uas && in->entry;
}

#define REPLACED "replaced by the entry in the quirks parameter"

static void found_kernel_table(const struct policy_input *in, char *ret, size_t size)
{
        bool storage = in->kernel.source == KERNEL_TABLE_STORAGE;

        if (in->fits[REASON_KERNEL_TABLE] && storage)
                (void) sentence(ret, size,
                                "a row of the kernel's table for usb-storage keeps it off UAS: %s",
                                in->kernel.name);
        else if (in->fits[REASON_KERNEL_TABLE])
                (void) sentence(ret, size, "a row of the kernel's table keeps it off UAS: %s",
                                in->kernel.name);
        else if (kernel_flags_replaced(in))
                (void) sentence(ret, size, REPLACED);
        else if (storage)
                (void) sentence(ret, size,
                                "no row of the kernel's table for usb-storage keeps it off UAS");
        else
                (void) sentence(ret, size, "no row of the kernel's table keeps it off UAS");
}

static void found_kernel_rule(const struct policy_input *in, char *ret, size_t size)
{
        if (in->fits[REASON_KERNEL_RULE])
                (void) sentence(ret, size, "a rule of the kernel keeps it off UAS: %s",
                                in->kernel.name);
        else if (kernel_flags_replaced(in))
                (void) sentence(ret, size, REPLACED);
        else
                (void) sentence(ret, size, "no rule of the kernel keeps it off UAS");
}

static void found_no_streams(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;
        const char *controller = *f->controller ? f->controller : "an unknown controller";

        if (f->no_streams)
                (void) sentence(ret, size, "%u Mbit/s on %s, which has no streams", f->speed_mbps,
                                controller);
        else
                (void) sentence(ret, size, "%u Mbit/s on %s", f->speed_mbps, controller);
}

static void found_no_sg(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;
        const char *controller = *f->controller ? f->controller : "the controller";

        if (f->no_sg)
                (void) sentence(ret, size, "%s has no scatter-gather", controller);
        else
                (void) sentence(ret, size, "%s is not known to lack scatter-gather", controller);
}

/* auto removes the policy of uasctl, and that of another source applies. NULL: the remedy of the
 * row applies. */
static const char *advise_policy(const struct policy_input *in)
{
        bool uas = in->f->policy == POLICY_UAS;

        if (in->f->policy_source == POLICY_BY_CONFIG && uas)
                return "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK usb-storage";
        if (in->f->policy_source == POLICY_BY_CONFIG)
                return "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK uas";
        if (in->f->policy_source == POLICY_BY_UDEV && uas)
                return "Take UASD_POLICY out of the udev rule, or: uasctl policy DISK usb-storage";
        if (in->f->policy_source == POLICY_BY_UDEV)
                return "Take UASD_POLICY out of the udev rule, or: uasctl policy DISK uas";
        return NULL;
}

/* ---- the table ---- */

const struct decision_row policy_rows[_REASON_MAX] = {
        /* clang-format off */
        [REASON_BAD_DESCRIPTORS] = {.word = "bad-descriptors", .brief = "unreadable", .rest = STATE_INCAPABLE,
         .yes = "the descriptors cannot be read", .no = "the descriptors can be read",
         .means = "uasd cannot read its descriptors, so its capabilities are unknown."},
        [REASON_NO_UAS] = {.word = "no-uas", .rest = STATE_INCAPABLE,
         .yes = "no alternate setting is 08/06/62", .found = found_no_uas,
         .means = "It does not offer UAS."},
        [REASON_NO_PIPES] = {.word = "no-pipe-usage", .brief = "no-pipes", .rest = STATE_INCAPABLE,
         .yes = "pipe usage descriptors are missing", .no = "all four pipe usage descriptors are there",
         .means = "Its UAS descriptors lack the pipe usage, so the kernel cannot use UAS."},
        [REASON_OTHER_DRIVER] = {.word = "other-driver", .rest = STATE_IGNORED,
         .found = found_driver,
         .means = "Another driver, a program or a virtual machine has it.",
         .remedy = "Release it there. uasd notices when the interface is free."},
        [REASON_UNAUTHORIZED] = {.word = "unauthorized", .rest = STATE_IGNORED,
         .yes = "not authorized", .no = N_("authorized"),
         .means = "The USB device or its interface is not authorized.",
         .remedy = "Authorize it: write 1 to `authorized` in sysfs, or use usbguard."},
        [REASON_JUST_UNBOUND] = {.word = "just-unbound", .rest = STATE_IGNORED,
         .yes = "it lost its driver a moment ago", .found = found_driver,
         .means = "It lost its driver a moment ago: the kernel or another program may be switching it."},
        [REASON_POLICY_IGNORE] = {.word = "policy-ignore", .brief = "ignored", .rest = STATE_IGNORED,
         .found = found_policy,
         .means = "The policy is ignore, so uasd leaves it on its driver.",
         .remedy = "uasctl policy DISK auto", .advise = advise_policy},
        [REASON_NO_BOT] = {.word = "no-bot", .choice = "uas, if it has no driver and nothing keeps it off uas",
         .found = found_no_bot,
         .means = "It speaks only UAS, so there is no choice."},
        [REASON_FORCE_NEEDED] = {.word = "force-needed", .choice = "usb-storage, if it speaks BOT",
         .found = found_force_needed,
         .means = "The kernel disables UAS for this bridge, and uas is not forced.",
         .remedy = "uasctl --force policy DISK uas"},
        [REASON_OVERRIDE] = {.word = "override", .choice = "the requested one",
         .no = "no user requested a driver", .found = found_override,
         .means = "A user requested this driver with uasctl switch, until the disk is unplugged or the machine restarts.",
         .remedy = "uasctl switch DISK"},
        [REASON_NOT_UAS] = {.word = "not-uas",
         .found = found_not_uas,
         .means = "It fails under usb-storage, so uas is not the cause. It stays there until it is unplugged.",
         .remedy = "Check the disk, the cable, the power and the port, and plug it in again. To try uas now: uasctl switch DISK uas"},
        [REASON_TRIAL_FAILED] = {.word = "trial-failed", .choice = "usb-storage, if it speaks BOT",
         .found = found_trial,
         .means = "The policy is uas, but the trial failed, and uasd starts no other trial by itself.",
         .remedy = "uasctl policy DISK uas, once more, or: uasctl forget DISK"},
        [REASON_POLICY] = {.word = "policy", .choice = "the one of the policy",
         .found = found_policy,
         .means = "The policy for this disk decides.",
         .remedy = "uasctl policy DISK auto", .advise = advise_policy},
        [REASON_UAS_KEPT_AWAY] = {.word = "uas-kept-away", .brief = "no-module", .choice = "usb-storage, if it speaks BOT",
         .found = found_uas_kept_away,
         .means = "The module uas is blacklisted, replaced by an install line, refused, or missing.",
         .remedy = "Remove the blacklist or install line from modprobe.d, or install the module, or name its file in Module= of uasd.conf. To keep one disk off uas: uasctl policy DISK usb-storage"},
        [REASON_DISTRUSTED] = {.word = "distrusted", .target = DRIVER_USB_STORAGE,
         .no = "no error is on record", .found = found_distrusted,
         .means = "UAS has failed with this disk before.",
         .remedy = "uasctl forget DISK"},
        [REASON_VERDICT_BAD] = {.word = "verdict-bad", .target = DRIVER_USB_STORAGE,
         .found = found_verdict,
         .means = "This bridge is known to be bad at UAS. uasctl db shows the sources.",
         .remedy = "uasctl --force policy DISK uas"},
        [REASON_QUIRK] = {.word = "quirk", .target = DRIVER_USB_STORAGE,
         .found = found_quirk,
         .means = "An entry in the quirks parameter of usb-storage keeps it off UAS.",
         .remedy = "Remove the entry from the kernel command line or modprobe.d, or: uasctl policy DISK uas"},
        [REASON_KERNEL_TABLE] = {.word = "kernel-table", .target = DRIVER_USB_STORAGE,
         .found = found_kernel_table,
         .means = "The kernel's own table keeps this bridge off UAS.",
         .remedy = "uasctl --force policy DISK uas"},
        [REASON_KERNEL_RULE] = {.word = "kernel-rule", .target = DRIVER_USB_STORAGE,
         .found = found_kernel_rule,
         .means = "A rule of the kernel keeps this bridge off UAS.",
         .remedy = "uasctl --force policy DISK uas"},
        [REASON_NO_STREAMS] = {.word = "no-streams", .target = DRIVER_USB_STORAGE,
         .found = found_no_streams,
         .means = "The USB controller has no streams, which UAS needs at this speed.",
         .remedy = "Plug it into a port of another controller, or into a USB 2 port."},
        [REASON_NO_SG] = {.word = "no-scatter-gather", .brief = "no-sg", .target = DRIVER_USB_STORAGE,
         .found = found_no_sg,
         .means = "The USB controller has no scatter-gather, which UAS needs.",
         .remedy = "Plug it into a port of another controller."},
        [REASON_UNKNOWN_BRIDGE] = {.word = "unknown-bridge", .brief = "no-verdict", .choice = "what Unknown= says",
         .found = found_verdict,
         .means = "The database has no verdict on this bridge, so Unknown= in uasd.conf decides.",
         .remedy = "Set Unknown= in uasd.conf, or: uasctl policy DISK uas|usb-storage"},
        /* Fits every disk, also one with a bad bridge: an earlier row decides for that one. */
        [REASON_FASTEST] = {.word = "fastest", .target = DRIVER_UAS,
         .yes = "uas is the faster of the two drivers",
         .means = "UAS is the faster one, and nothing speaks against it.",
         .remedy = "uasctl policy DISK usb-storage"},
        /* clang-format on */
};

/* ---- the decision ---- */

void decide(const struct facts *f, struct decision *ret)
{
        struct policy_input in;
        enum reason r = 0;
        enum state rest;

        policy_input_read(f, &in);
        while (!in.fits[r])
                r++; /* the last row always fits */
        rest = policy_rows[r].rest;
        if (rest == STATE_SETTLED && f->driver == DRIVER_NONE)
                rest = STATE_UNBOUND;
        *ret = (struct decision){
                .target = reason_target(r, &in),
                .rest = rest,
                .reason = r,
        };
        assert(ret->target != DRIVER_OTHER);
        assert(ret->target != DRIVER_USB_STORAGE || f->caps.bot);
        assert(ret->target != DRIVER_UAS || facts_offer_uas(f));
}

bool decision_wants_switch(const struct facts *f, const struct decision *d)
{
        return d->target != DRIVER_NONE && d->target != f->driver;
}

bool decision_flees(const struct facts *f, const struct decision *d)
{
        return f->distrusted && d->target == DRIVER_USB_STORAGE;
}

bool decision_fits_early(const struct facts *f, const struct decision *d, bool initramfs)
{
        if (!decision_wants_switch(f, d))
                return false;
        if (d->target == DRIVER_USB_STORAGE)
                return initramfs; /* later the disk is held, and at the latest PID 1 ends that */
        /* Without a driver it is about to get one: the kernel chooses the target anyway. */
        return f->trial_passed && f->driver != DRIVER_NONE;
}

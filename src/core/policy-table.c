/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy-table.h"

#include "common/util.h"

static bool fits_bad_descriptors(const struct policy_input *in)
{
        return in->f->caps_error < 0;
}

static bool fits_no_uas(const struct policy_input *in)
{
        return !in->f->caps.uas;
}

static void found_no_uas(const struct policy_input *in, char *ret, size_t size)
{
        if (fits_no_uas(in))
                (void) snprintf(ret, size, "no alternate setting is 08/06/62");
        else
                (void) snprintf(ret, size, "alternate setting %u is 08/06/62", in->f->caps.uas_alt);
}

static bool fits_no_pipes(const struct policy_input *in)
{
        return !in->f->caps.pipes;
}

static bool fits_other_driver(const struct policy_input *in)
{
        return in->f->driver == DRIVER_OTHER;
}

static void found_driver(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        if (f->driver == DRIVER_NONE)
                (void) snprintf(ret, size, "no driver");
        else
                (void) snprintf(ret, size, "the driver is %s", *f->driver_name ? f->driver_name : driver_to_string(f->driver));
}

static bool fits_unauthorized(const struct policy_input *in)
{
        return !in->f->authorized;
}

static bool fits_just_unbound(const struct policy_input *in)
{
        return in->f->driver == DRIVER_NONE && in->f->just_unbound;
}

static void found_just_unbound(const struct policy_input *in, char *ret, size_t size)
{
        if (fits_just_unbound(in))
                (void) snprintf(ret, size, "it lost its driver a moment ago");
        else
                found_driver(in, ret, size);
}

static bool fits_policy_ignore(const struct policy_input *in)
{
        return !in->override && in->f->policy == POLICY_IGNORE;
}

static bool kept_away_unbound(const struct policy_input *in)
{
        return in->f->uas_kept_away && in->f->driver == DRIVER_NONE;
}

/* Without BOT only one request is possible: uas, for a disk without a driver. */
static bool fits_no_bot(const struct policy_input *in)
{
        if (in->f->caps.bot)
                return false;
        if (in->f->driver != DRIVER_NONE)
                return true;
        return in->wish == DRIVER_USB_STORAGE || (in->wish == DRIVER_NONE && !kept_away_unbound(in));
}

/* It has no driver, perhaps because our entry has kept it off uas. It goes to uas, unless another source forbids that. */
static enum driver choose_uas_alone(const struct policy_input *in)
{
        const struct facts *f = in->f;
        bool objected = in->entry_ignores || in->kernel_ignores || f->uas_kept_away || f->no_sg ||
                        (f->no_streams && f->speed_mbps >= SUPER_SPEED_MBPS);

        return f->driver == DRIVER_NONE && !objected ? DRIVER_UAS : DRIVER_NONE;
}

static void found_no_bot(const struct policy_input *in, char *ret, size_t size)
{
        (void) snprintf(ret, size, "%s",
                        in->f->caps.bot ? "alternate setting 0 is 08/06/50" : "alternate setting 0 is not 08/06/50");
}

static bool fits_force_needed(const struct policy_input *in)
{
        return in->wish == DRIVER_UAS && in->kernel_ignores && !in->forced;
}

static void found_force_needed(const struct policy_input *in, char *ret, size_t size)
{
        if (in->wish != DRIVER_UAS)
                (void) snprintf(ret, size, "no request or policy asks for uas");
        else if (!in->kernel_ignores)
                (void) snprintf(ret, size, "uas is requested, and the kernel does not object");
        else
                (void) snprintf(ret, size, "uas is requested %s force, but the kernel disables it for %s",
                                in->forced ? "with" : "without", in->kernel.name);
}

static enum driver choose_bot(const struct policy_input *in)
{
        return in->f->caps.bot ? DRIVER_USB_STORAGE : DRIVER_NONE;
}

static bool fits_override(const struct policy_input *in)
{
        return in->override != DRIVER_NONE;
}

static void found_override(const struct policy_input *in, char *ret, size_t size)
{
        if (in->override)
                (void) snprintf(ret, size, "a user requested %s%s", driver_to_string(in->override), in->forced ? ", forced" : "");
        else
                (void) snprintf(ret, size, "no user requested a driver");
}

static enum driver choose_wish(const struct policy_input *in)
{
        return in->wish;
}

static bool fits_policy(const struct policy_input *in)
{
        return in->wish != DRIVER_NONE;
}

static bool fits_verdict_bad(const struct policy_input *in)
{
        return in->f->verdict == VERDICT_BAD;
}

static void found_verdict(const struct policy_input *in, char *ret, size_t size)
{
        const char *verdict = verdict_to_string(in->f->verdict);

        (void) snprintf(ret, size, "the verdict on this bridge is %s", verdict ? verdict : "unknown");
}

static bool fits_quirk(const struct policy_input *in)
{
        return in->entry_ignores;
}

static void found_quirk(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        if (in->entry)
                (void) snprintf(ret, size, "the quirks parameter has %04x:%04x:%s", f->vid, f->pid, in->letters);
        else if (f->quirks_own[0])
                (void) snprintf(ret, size, "only uasd itself has set %s", f->quirks_own);
        else
                (void) snprintf(ret, size, "the quirks parameter does not name %04x:%04x", f->vid, f->pid);
}

static bool fits_kernel_table(const struct policy_input *in)
{
        return in->kernel_ignores && in->kernel.source != KERNEL_RULE;
}

static void found_kernel(const struct policy_input *in, bool fits, const char *what, char *ret, size_t size)
{
        if (fits)
                (void) snprintf(ret, size, "a %s keeps it off UAS: %s", what, in->kernel.name);
        else if (in->kernel.ignore_uas && in->entry)
                (void) snprintf(ret, size, "replaced by the entry in the quirks parameter");
        else
                (void) snprintf(ret, size, "no %s keeps it off UAS", what);
}

static void found_kernel_table(const struct policy_input *in, char *ret, size_t size)
{
        found_kernel(in, fits_kernel_table(in),
                     in->kernel.source == KERNEL_TABLE_STORAGE ? "row of the kernel's table for usb-storage"
                                                               : "row of the kernel's table",
                     ret, size);
}

static bool fits_kernel_rule(const struct policy_input *in)
{
        return in->kernel_ignores && in->kernel.source == KERNEL_RULE;
}

static void found_kernel_rule(const struct policy_input *in, char *ret, size_t size)
{
        found_kernel(in, fits_kernel_rule(in), "rule of the kernel", ret, size);
}

static bool fits_no_streams(const struct policy_input *in)
{
        return in->f->no_streams && in->f->speed_mbps >= SUPER_SPEED_MBPS;
}

static void found_no_streams(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        (void) snprintf(ret, size, "%u Mbit/s on %s%s", f->speed_mbps, *f->controller ? f->controller : "an unknown controller",
                        f->no_streams ? ", which has no streams" : "");
}

static bool fits_no_sg(const struct policy_input *in)
{
        return in->f->no_sg;
}

static void found_no_sg(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;

        (void) snprintf(ret, size, "%s %s scatter-gather", *f->controller ? f->controller : "the controller",
                        f->no_sg ? "has no" : "is not known to lack");
}

static bool fits_unknown_bridge(const struct policy_input *in)
{
        return in->f->verdict == VERDICT_UNKNOWN;
}

static enum driver choose_unknown(const struct policy_input *in)
{
        return in->f->unknown_target;
}

static bool fits_always(const struct policy_input *in)
{
        return true;
}

const struct decision_row policy_rows[_REASON_MAX] = {
        {
                .reason = REASON_BAD_DESCRIPTORS,
                .fits = fits_bad_descriptors,
                .rest = STATE_INCAPABLE,
                .yes = "the descriptors cannot be read",
                .no = "the descriptors can be read",
                .means = "uasd cannot read its descriptors, so its capabilities are unknown.",
        },
        {
                .reason = REASON_NO_UAS,
                .fits = fits_no_uas,
                .rest = STATE_INCAPABLE,
                .found = found_no_uas,
                .means = "It does not offer UAS.",
        },
        {
                .reason = REASON_NO_PIPES,
                .fits = fits_no_pipes,
                .rest = STATE_INCAPABLE,
                .yes = "pipe usage descriptors are missing",
                .no = "all four pipe usage descriptors are there",
                .means = "Its UAS descriptors lack the pipe usage, so the kernel cannot use UAS.",
        },
        {
                .reason = REASON_OTHER_DRIVER,
                .fits = fits_other_driver,
                .rest = STATE_IGNORED,
                .found = found_driver,
                .means = "Another driver, a program or a virtual machine has it.",
                .remedy = "Release it there. uasd notices when the interface is free.",
        },
        {
                .reason = REASON_UNAUTHORIZED,
                .fits = fits_unauthorized,
                .rest = STATE_IGNORED,
                .yes = "not authorized",
                .no = "authorized",
                .means = "The USB device or its interface is not authorized.",
                .remedy = "Authorize it: write 1 to `authorized` in sysfs, or use usbguard.",
        },
        {
                .reason = REASON_JUST_UNBOUND,
                .fits = fits_just_unbound,
                .rest = STATE_IGNORED,
                .found = found_just_unbound,
                .means = "It lost its driver a moment ago: the kernel or another program may be switching it.",
        },
        {
                .reason = REASON_POLICY_IGNORE,
                .fits = fits_policy_ignore,
                .rest = STATE_IGNORED,
                .found = found_policy,
                .means = "The policy is ignore, so uasd leaves it on its driver.",
                .remedy = "uasctl policy DISK auto",
                .advise = policy_remedy,
        },
        {
                .reason = REASON_NO_BOT,
                .fits = fits_no_bot,
                .choose = choose_uas_alone,
                .choice = "uas, if it has no driver and nothing keeps it off uas",
                .found = found_no_bot,
                .means = "It speaks only UAS, so there is no choice.",
        },
        {
                .reason = REASON_FORCE_NEEDED,
                .fits = fits_force_needed,
                .choose = choose_bot,
                .choice = "usb-storage, if it speaks BOT",
                .found = found_force_needed,
                .means = "The kernel disables UAS for this bridge, and --force was not given.",
                .remedy = "uasctl --force policy DISK uas",
        },
        {
                .reason = REASON_OVERRIDE,
                .fits = fits_override,
                .choose = choose_wish,
                .choice = "the requested one",
                .found = found_override,
                .means = "A user requested this driver with uasctl switch, until the disk is unplugged or the machine restarts.",
                .remedy = "uasctl switch DISK",
        },
        {
                .reason = REASON_TRIAL_FAILED,
                .fits = fits_trial_failed,
                .choose = choose_bot,
                .choice = "usb-storage, if it speaks BOT",
                .found = found_trial,
                .means = "The policy is uas, but the trial failed, and uasd starts no other trial by itself.",
                .remedy = "uasctl policy DISK uas, once more, or: uasctl forget DISK",
        },
        {
                .reason = REASON_POLICY,
                .fits = fits_policy,
                .choose = choose_wish,
                .choice = "the one of the policy",
                .found = found_policy,
                .means = "The policy for this disk decides.",
                .remedy = "uasctl policy DISK auto",
                .advise = policy_remedy,
        },
        {
                .reason = REASON_UAS_KEPT_AWAY,
                .fits = fits_uas_kept_away,
                .choose = choose_bot,
                .choice = "usb-storage, if it speaks BOT",
                .found = found_uas_kept_away,
                .means = "The module uas is blacklisted, replaced by an install line, or missing.",
                .remedy =
                        "Remove the blacklist or install line from modprobe.d, or install the module. To keep one disk off uas: uasctl policy DISK usb-storage",
        },
        {
                .reason = REASON_DISTRUSTED,
                .fits = fits_distrusted,
                .target = DRIVER_USB_STORAGE,
                .found = found_distrusted,
                .means = "UAS has failed with this disk before.",
                .remedy = "uasctl forget DISK",
        },
        {
                .reason = REASON_VERDICT_BAD,
                .fits = fits_verdict_bad,
                .target = DRIVER_USB_STORAGE,
                .found = found_verdict,
                .means = "This bridge is known to be bad at UAS. uasctl db shows the sources.",
                .remedy = "uasctl --force policy DISK uas",
        },
        {
                .reason = REASON_QUIRK,
                .fits = fits_quirk,
                .target = DRIVER_USB_STORAGE,
                .found = found_quirk,
                .means = "An entry in the quirks parameter of usb-storage keeps it off UAS.",
                .remedy = "Remove the entry from the kernel command line or modprobe.d, or: uasctl policy DISK uas",
        },
        {
                .reason = REASON_KERNEL_TABLE,
                .fits = fits_kernel_table,
                .target = DRIVER_USB_STORAGE,
                .found = found_kernel_table,
                .means = "The kernel's own table keeps this bridge off UAS.",
                .remedy = "uasctl --force policy DISK uas",
        },
        {
                .reason = REASON_KERNEL_RULE,
                .fits = fits_kernel_rule,
                .target = DRIVER_USB_STORAGE,
                .found = found_kernel_rule,
                .means = "A rule of the kernel keeps this bridge off UAS.",
                .remedy = "uasctl --force policy DISK uas",
        },
        {
                .reason = REASON_NO_STREAMS,
                .fits = fits_no_streams,
                .target = DRIVER_USB_STORAGE,
                .found = found_no_streams,
                .means = "The USB controller has no streams, which UAS needs at this speed.",
                .remedy = "Plug it into a port of another controller, or into a USB 2 port.",
        },
        {
                .reason = REASON_NO_SG,
                .fits = fits_no_sg,
                .target = DRIVER_USB_STORAGE,
                .found = found_no_sg,
                .means = "The USB controller has no scatter-gather, which UAS needs.",
                .remedy = "Plug it into a port of another controller.",
        },
        {
                .reason = REASON_UNKNOWN_BRIDGE,
                .fits = fits_unknown_bridge,
                .choose = choose_unknown,
                .choice = "what Unknown= says",
                .found = found_verdict,
                .means = "The database has no verdict on this bridge, so Unknown= in uasd.conf decides.",
                .remedy = "Set Unknown= in uasd.conf, or: uasctl policy DISK uas|usb-storage",
        },
        {
                .reason = REASON_FASTEST,
                .fits = fits_always,
                .target = DRIVER_UAS,
                /* Fits every disk, also one with a bad bridge: an earlier row decides for that one. */
                .yes = "uas is the faster of the two drivers",
                .means = "UAS is the faster one, and nothing speaks against it.",
                .remedy = "uasctl policy DISK usb-storage",
        },
};

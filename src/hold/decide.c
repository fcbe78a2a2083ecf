/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* uasd-hold becomes this program for all but the events that it can answer alone. */
#include <errno.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "hold/answer.h"
#include "hold/early.h"
#include "hold/hold.h"
#include "hold/quirks.h"
#include "hold/settle.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/state/history.h"

#define ARMED_SEC 2 /* to write the mark and print the answer: both, or neither */
#define INTERFACE_SEC 40
#define SETTLE_SEC 65
_Static_assert(TIMER_BUDGET < ANSWER_SEC * USEC_PER_SEC,
               "PID 1 has less time: without its answer udev gets the rest of ours");

static int decide_arm(const char *interface)
{
        int r = pid1_ask_and_wait(PID1_ASK_HOLD, interface, awake_in(TIMER_BUDGET));

        if (r < 0)
                return r;
        return die_in(ARMED_SEC);
}

static int decide_verb_udev(const struct roots *roots, char **args)
{
        const struct block_event e = event_of_udev(args[0]);
        struct hold_answer a;
        int r = hold_decide(roots, &e, decide_arm, &a);

        if (r < 0)
                return r;
        return answer_print(&a);
}

/* Reports the release, with the names of the disk that can be read. After the release, since no
 * process waits for it. */
static void log_release(const struct roots *roots, const char *interface, bool expired)
{
        struct usb_disk d = {};
        char names[256], usb_id[USB_ID_MAX] = "";

        if (usb_disk_read(roots, interface, false, &d) > 0) {
                strings_from_udev(roots, &d.facts);
                (void) history_usb_id(&d.facts, usb_id, sizeof(usb_id));
        }
        (void) luns_names(d.luns, d.n_luns, names, sizeof(names));
        usb_disk_done(&d);

        const struct log_field fields[] = {
                {FIELD_DISK, names}, {FIELD_INTERFACE, interface}, {FIELD_USB_ID, usb_id}};

        if (expired)
                log_ending(LOG_WARNING, MESSAGE_RELEASED, fields, ELEMENTSOF(fields),
                           "Released the mounts of %s: its time ran out before it was switched.",
                           interface);
        else
                log_ending(LOG_NOTICE, MESSAGE_RELEASED, fields, ELEMENTSOF(fields),
                           "Released the mounts of %s.", interface);
}

static int decide_verb_release(const struct roots *roots, char **args)
{
        const char *interface = args[0];
        bool expired;
        int r = hold_end(roots, interface, &expired);

        if (r < 0)
                log_error("Cannot release the mounts of %s: %s", interface, strerror(-r));
        else if (r > 0)
                log_release(roots, interface, expired);
        return r;
}

static int decide_verb_end_trials(const struct roots *roots, char **args)
{
        int r = history_end_trials(roots, NULL);

        if (r < 0)
                log_error(
                        "Cannot end the trials of this boot: %s. The next boot counts them as failed.",
                        strerror(-r));
        return r;
}

static int decide_verb_interface(const struct roots *roots, char **args)
{
        return early_interface(roots, args[0], &(struct runner){run_switch, run_modprobe});
}

static int decide_verb_let_go(const struct roots *roots, char **args)
{
        return early_let_go(roots);
}

/* In the initramfs, the exit status is the answer: 0 if a disk was tried. */
static int decide_verb_settle(const struct roots *roots, char **args)
{
        bool initramfs = in_initramfs(roots);
        int r = hold_settle(roots, initramfs ? SETTLE_BUDGET : SETTLE_BOOT_BUDGET);

        if (r == 0 && initramfs)
                return -ENOENT;
        return r;
}

static int decide_verb_quirks(const struct roots *roots, char **args)
{
        return hold_quirks(roots, args[0], args[1]);
}

int main(int argc, char **argv)
{
        static const struct hold_verb verbs[] = {
                /* clang-format off */
                {"udev", 3, decide_verb_udev, ANSWER_SEC},
                {"interface", 3, decide_verb_interface, INTERFACE_SEC},
                {"let-go", 2, decide_verb_let_go, ANSWER_SEC},
                {"settle", 2, decide_verb_settle, SETTLE_SEC},
                {"release", 3, decide_verb_release},
                {"end-trials", 2, decide_verb_end_trials},
                {"quirks", 4, decide_verb_quirks},
                /* clang-format on */
        };
        int status;

        log_open("uasd-hold", LOG_INFO);
        status = hold_verb_run(verbs, ELEMENTSOF(verbs), argc, argv);
        if (status >= 0)
                return status;
        (void) fputs(
                "usage: uasd-hold udev BLOCK-DEVICE | interface INTERFACE | release INTERFACE | settle\n"
                "in the initramfs also: uasd-hold let-go\n"
                "to make one: uasd-hold quirks KERNEL DIRECTORY\n"
                "when uasd has stopped: uasd-hold end-trials\n",
                stderr);
        return 2;
}

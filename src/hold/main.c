/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev runs this at the events of USB disks, so it links only libc, and little of that.
 * uasd-hold-decide does all the rest. */
#include <err.h>

#include "common/names.h"
#include "common/util.h"
#include "hold/answer.h"
#include "hold/hold.h"

static char **arguments;

/* The same question again, with its time from the beginning. Returns only if that fails. */
static void hold_exec_decide(void)
{
        (void) execv(PROGRAM_DECIDE, arguments);
}

static int hold_verb_udev(const struct roots *roots, char **args)
{
        const struct block_event e = event_of_udev(args[0]);
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct hold_answer a;
        int r = hold_ask(roots, &e, false, &d, &a);

        if (r > 0)
                hold_exec_decide();
        /* Without that program no disk is held, and udev does not wait for a switch. The rest of
         * the answer counts. */
        if (r == HOLD_MUST_WAIT) {
                usb_disk_done(&d);
                r = hold_ask(roots, &e, true, &d, &a);
        }
        if (r < 0)
                return r;
        return answer_print(&a);
}

int main(int argc, char **argv)
{
        static const struct hold_verb verbs[] = {{"udev", 3, hold_verb_udev, ANSWER_SEC}};
        int status;

        arguments = argv;
        status = hold_verb_run(verbs, ELEMENTSOF(verbs), argc, argv);
        if (status >= 0)
                return status;
        hold_exec_decide();
        warn("Cannot run " PROGRAM_DECIDE);
        return EXIT_FAILURE;
}

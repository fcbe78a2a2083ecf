/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* uasd-hold becomes this program where a disk may be held or moved. */
#include <errno.h>

#include "common/log.h"
#include "common/util.h"
#include "hold/answer.h"
#include "hold/early.h"
#include "hold/quirks.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"

#define ARMED_SEC 2 /* to write the mark and print the answer: both, or neither */
#define INTERFACE_SEC 40
_Static_assert(TIMER_BUDGET < ANSWER_SEC * USEC_PER_SEC, "PID 1 has less time: without its answer udev gets the rest of ours");

static int arm_in_time(const char *interface)
{
        int k = pid1_ask_and_wait(PID1_ASK_HOLD, interface, awake_in(TIMER_BUDGET));

        return k < 0 ? k : die_in(ARMED_SEC);
}

static int verb_udev(const struct roots *r, char **args)
{
        return answer_udev(r, args[0], &(struct hold_means){conf_load, arm_in_time});
}

static int verb_interface(const struct roots *r, char **args)
{
        return early_interface(r, args[0], &(struct runner){run_switch, run_modprobe});
}

static int verb_let_go(const struct roots *r, char **args)
{
        return early_let_go(r);
}

static int verb_quirks(const struct roots *r, char **args)
{
        return hold_quirks(r, args[0], args[1]);
}

int main(int argc, char **argv)
{
        static const struct hold_verb verbs[] = {
                /* clang-format off */
                {"udev", 3, ANSWER_SEC, verb_udev},
                {"interface", 3, INTERFACE_SEC, verb_interface},
                {"let-go", 2, ANSWER_SEC, verb_let_go},
                {"quirks", 4, 0, verb_quirks},
                /* clang-format on */
        };
        int status;

        log_open("uasd-hold", LOG_INFO);
        status = hold_verb_run(verbs, ELEMENTSOF(verbs), argc, argv);
        if (status >= 0)
                return status;
        (void) fputs("usage: uasd-hold udev BLOCK-DEVICE | interface INTERFACE | release INTERFACE\n"
                     "in the initramfs also: uasd-hold let-go\n"
                     "to make one: uasd-hold quirks KERNEL DIRECTORY\n"
                     "when uasd has stopped: uasd-hold end-trials\n",
                     stderr);
        return 2;
}

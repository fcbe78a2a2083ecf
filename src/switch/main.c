/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <limits.h>
#include <signal.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "switch/report.h"
#include "switch/signals.h"
#include "switch/tasks.h"
#include "switch/transaction.h"
#include "sys/platform/off.h"
#include "sys/state/conf.h"

/* The task of this process. */
enum task {
        TASK_SWITCH,
        TASK_RECOVER,
        TASK_CLAIM,
        TASK_CLAIM_AGAIN,
        TASK_EJECT,
};

static void switch_help(void)
{
        (void) printf(
                "uasd-switch [OPTION...] INTERFACE uas|usb-storage\n"
                "uasd-switch --recover|--claim|--claim-again|--eject INTERFACE\n\n"
                "Moves one USB disk to the other driver, if nothing uses it. Run by uasd, or by hand in a rescue shell.\n\n"
                "  -h --help                Show this help\n"
                "     --version             Show the version\n"
                "     --automatic           No user asked for it: one try an attachment\n"
                "     --plugged             The disk was just plugged in, or is held since boot\n"
                "     --hold-deadline=USEC  It is held until then (CLOCK_BOOTTIME, microseconds)\n"
                "     --attachment=BUS-DEV[-INODE]\n"
                "                           Only if the USB device at the interface has these numbers\n"
                "     --no-udev             udev does not see the disk meanwhile: as in a rule of the initramfs\n"
                "     --machine             Progress and result as lines on stdout\n"
                "     --recover             Finish or undo what a killed uasd-switch left behind\n"
                "     --claim               Claim the disk, if nothing uses it, until the standard input ends\n"
                "     --claim-again         The same, also if a process has it open\n"
                "     --eject               Stop the disk and remove its USB device, if no process uses it\n");
}

static int arguments_parse(int argc, char *argv[], struct transaction *t, int *ret_task)
{
        enum {
                OPT_VERSION = 256,
                OPT_HOLD,
                OPT_ATTACHMENT,
        };
        int automatic = 0, plugged = 0, no_udev = 0, machine = 0, operands, c, target;
        const struct option options[] = {
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, OPT_VERSION},
                {"automatic", no_argument, &automatic, 1},
                {"plugged", no_argument, &plugged, 1},
                {"hold-deadline", required_argument, NULL, OPT_HOLD},
                {"attachment", required_argument, NULL, OPT_ATTACHMENT},
                {"no-udev", no_argument, &no_udev, 1},
                {"machine", no_argument, &machine, 1},
                {"recover", no_argument, ret_task, TASK_RECOVER},
                {"claim", no_argument, ret_task, TASK_CLAIM},
                {"claim-again", no_argument, ret_task, TASK_CLAIM_AGAIN},
                {"eject", no_argument, ret_task, TASK_EJECT},
                {0},
        };
        unsigned long long v;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 0: /* one of those that set a variable */
                        break;
                case 'h':
                        switch_help();
                        return 0;
                case OPT_VERSION:
                        (void) printf("uasd-switch %s\n", UASD_VERSION);
                        return 0;
                case OPT_HOLD:
                        if (parse_uint(optarg, 10, UINT64_MAX, &v) < 0) {
                                log_error("--hold-deadline: not a number of microseconds: %s",
                                          optarg);
                                return -EINVAL;
                        }
                        t->hold.deadline = v;
                        break;
                case OPT_ATTACHMENT:
                        if (!attachment_id_parse(optarg, &t->request.meant)) {
                                log_error(
                                        "--attachment: not the numbers of a bus and a device (such as 2-5): %s",
                                        optarg);
                                return -EINVAL;
                        }
                        break;
                default:
                        return -EINVAL;
                }
        t->request.automatic = automatic;
        t->request.plugged = plugged;
        t->request.no_udev = no_udev;
        t->request.machine = machine;
        operands = *ret_task == TASK_SWITCH ? 2 : 1;
        if (argc - optind != operands) {
                log_error("INTERFACE%s expected; see --help",
                          *ret_task != TASK_SWITCH ? "" : " and driver");
                return -EINVAL;
        }
        t->interface = argv[optind];
        if (!interface_name_valid(t->interface)) {
                log_error("not the name of a USB interface (such as 2-1:1.0): %s", t->interface);
                return -EINVAL;
        }
        if (*ret_task != TASK_SWITCH)
                return 1;
        target = driver_from_string(argv[optind + 1]);
        if (target != DRIVER_UAS && target != DRIVER_USB_STORAGE) {
                log_error("no such target, want uas or usb-storage: %s", argv[optind + 1]);
                return -EINVAL;
        }
        t->to = (enum driver) target;
        return 1;
}

static void describe_success(struct transaction *t)
{
        const char *from = driver_to_string(t->from), *to = driver_to_string(t->to);

        if (t->from == t->to)
                (void) sentence(t->result.text, sizeof(t->result.text),
                                "already moved from %s to %s", from, to);
        else
                (void) sentence(t->result.text, sizeof(t->result.text), "moved from %s to %s", from,
                                to);
        if (t->phase == PHASE_KEPT)
                sentence_add(t->result.text, sizeof(t->result.text), "; %s",
                             N_("in use again before it could be tried"));
}

int main(int argc, char *argv[])
{
        struct transaction t = TRANSACTION_NULL;
        int task = TASK_SWITCH, r;

        log_open_service("uasd-switch", LOG_INFO);
        sentences_have(SENTENCE_IN_PARTS);
        r = arguments_parse(argc, argv, &t, &task);
        if (r < 0)
                return UASD_EXIT_USAGE;
        if (r == 0)
                return UASD_EXIT_OK;
        if (t.request.machine)
                log_for(getppid());
        (void) signal(SIGPIPE,
                      SIG_IGN); /* the reader of our output may die; the switch continues */
        if (roots_open(&t.roots, NULL) < 0 || conf_load(&t.roots, &t.config, NULL, NULL) < 0) {
                log_error("no sysfs on /sys");
                return UASD_EXIT_FAILED;
        }
        if (!switch_locks_there(&t.roots)) {
                (void) copy_string(t.result.step, sizeof(t.result.step), "record");
                (void) tx_fail(&t, UASD_EXIT_FAILED, -ENOSYS, "no disk can be switched: %s",
                               NO_SWITCH_LOCKS);
                report_end(&t);
                return t.result.code;
        }
        if (task == TASK_CLAIM || task == TASK_CLAIM_AGAIN) {
                if (transaction_claim(&t, task == TASK_CLAIM_AGAIN) != UASD_EXIT_OK)
                        report_end(&t);
                return t.result.code;
        }
        signals_begin(&t);
        if (task == TASK_RECOVER)
                return transaction_recover(&t) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        if (task == TASK_EJECT) {
                (void) transaction_eject(&t);
                report_end(&t);
                return t.result.code;
        }
        if (transaction_run(&t) == UASD_EXIT_OK)
                describe_success(&t);
        report_end(&t);
        return t.result.code;
}

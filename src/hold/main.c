/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "hold/early.h"
#include "hold/hold.h"
#include "hold/quirks.h"
#include "sys/io/clock.h"
#include "sys/state/history.h"

/*
 * udev waits for the answer, with the disk's later events: a late answer is useless. PID 1 may need long to arm the timer while
 * it boots a slow machine.
 */
#define ANSWER_SEC 10
#define ARMED_SEC 2 /* to write the mark and print the answer: both, or neither */
#define INTERFACE_SEC 40
_Static_assert(TIMER_BUDGET < ANSWER_SEC * USEC_PER_SEC, "PID 1 has less time: without its answer udev gets the rest of ours");

/*
 * Gives this process so many seconds from now on. The kernel itself then kills it, even if a signal has stopped it: udev would
 * wait three minutes. A child does not inherit the timer.
 */
static int die_in(time_t seconds)
{
        static struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
        static timer_t timer;
        static bool made;

        if (!made && timer_create(CLOCK_MONOTONIC, &kill, &timer) < 0)
                return -errno;
        made = true;
        return timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_sec = seconds}, NULL) < 0 ? -errno : 0;
}

static int arm_in_time(const char *interface)
{
        int k = run_timer(interface);

        return k < 0 ? k : die_in(ARMED_SEC);
}

static void print_trim(const struct trim_answer *t)
{
        if (t->on)
                (void) puts(PROP_TRIM "=1");
        if (t->set)
                (void) puts(PROP_TRIM_SET "=1");
        if (t->mode)
                (void) printf(PROP_TRIM_MODE "=%s\n", t->mode);
        if (t->max_bytes > 0)
                (void) printf(PROP_TRIM_MAX "=%" PRIu64 "\n", t->max_bytes);
}

static int verb_udev(const struct roots *r, char **args)
{
        const struct block_event e = {args[0], getenv("ACTION"), getenv("DEVTYPE")};
        struct hold_answer a;
        int k;

        k = hold_ask(r, &e, arm_in_time, &a);
        if (k < 0)
                return k;
        if (a.hold)
                (void) puts(PROP_HOLD "=1");
        if (a.capable)
                (void) puts(PROP_CAPABLE "=1");
        if (a.verdict != VERDICT_UNKNOWN)
                (void) printf(PROP_VERDICT "=%s\n", verdict_to_string(a.verdict));
        if (a.no_auto)
                (void) puts("UDISKS_AUTO=0");
        print_trim(&a.trim);
        return fflush(stdout) == EOF ? -errno : 0;
}

/* Reports the release, with the names of the disk that can be read. After the release, since no process waits for it. */
static void tell_release(const struct roots *r, const char *interface, bool expired)
{
        struct usb_disk d = {};
        char names[256], usb_id[USB_ID_MAX] = "";

        if (usb_disk_read(r, interface, false, &d) > 0) {
                strings_from_udev(r, &d.facts);
                (void) history_usb_id(&d.facts, usb_id, sizeof(usb_id));
        }
        (void) luns_names(d.luns, d.n_luns, names, sizeof(names));
        usb_disk_done(&d);

        const struct log_field fields[] = {{FIELD_DISK, names}, {FIELD_INTERFACE, interface}, {FIELD_USB_ID, usb_id}};

        if (expired)
                log_ending(LOG_WARNING, MESSAGE_RELEASED, fields, ELEMENTSOF(fields),
                           "Released the mounts of %s: its time ran out before it was switched.", interface);
        else
                log_ending(LOG_NOTICE, MESSAGE_RELEASED, fields, ELEMENTSOF(fields), "Released the mounts of %s.", interface);
}

static int verb_release(const struct roots *r, char **args)
{
        const char *interface = args[0];
        bool expired = false;
        int k = hold_end(r, interface, &expired);

        if (k < 0)
                log_error("Cannot release the mounts of %s: %s", interface, strerror(-k));
        else if (k > 0)
                tell_release(r, interface, expired);
        return k;
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

static int verb_end_trials(const struct roots *r, char **args)
{
        int k = history_end_trials(r, NULL);

        if (k < 0)
                log_error("Cannot end the trials of this boot: %s. The next boot counts them as failed.", strerror(-k));
        return k;
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                int argc;
                int seconds; /* 0: no limit */
                int (*run)(const struct roots *r, char **args);
        } verbs[] = {
                /* clang-format off */
                {"udev", 3, ANSWER_SEC, verb_udev},
                {"release", 3, 0, verb_release},
                {"interface", 3, INTERFACE_SEC, verb_interface},
                {"let-go", 2, ANSWER_SEC, verb_let_go},
                {"quirks", 4, 0, verb_quirks},
                {"end-trials", 2, 0, verb_end_trials},
                /* clang-format on */
        };
        struct roots r;
        int k;

        log_open("uasd-hold", LOG_INFO);
        for (size_t i = 0; argc >= 2 && i < ELEMENTSOF(verbs); i++) {
                if (!streq(argv[1], verbs[i].name) || argc != verbs[i].argc)
                        continue;
                k = verbs[i].seconds ? die_in(verbs[i].seconds) : 0;
                if (k >= 0)
                        k = roots_open(&r, NULL);
                if (k >= 0) {
                        k = verbs[i].run(&r, argv + 2);
                        roots_close(&r);
                }
                return k < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        }
        (void) fputs("usage: uasd-hold udev BLOCK-DEVICE | interface INTERFACE | release INTERFACE\n"
                     "in the initramfs also: uasd-hold let-go\n"
                     "to make one: uasd-hold quirks KERNEL DIRECTORY\n"
                     "when uasd has stopped: uasd-hold end-trials\n",
                     stderr);
        return 2;
}

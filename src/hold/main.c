/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev runs this at the events of USB disks, so it links only libc. uasd-hold-decide does all that needs the configuration. */
#include <errno.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "hold/answer.h"
#include "hold/hold.h"
#include "sys/state/history.h"

static char **arguments;

/* The same question again, with its time from the beginning. Without that program the disk is not held. */
static int leave(const struct roots *r, struct config *c, conf_complain_fn fn, void *data)
{
        (void) execv(PROGRAM_DECIDE, arguments);
        return -errno;
}

static int verb_udev(const struct roots *r, char **args)
{
        return answer_udev(r, args[0], &(struct hold_means){.load = leave});
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

static int verb_end_trials(const struct roots *r, char **args)
{
        int k = history_end_trials(r, NULL);

        if (k < 0)
                log_error("Cannot end the trials of this boot: %s. The next boot counts them as failed.", strerror(-k));
        return k;
}

int main(int argc, char **argv)
{
        static const struct hold_verb verbs[] = {
                /* clang-format off */
                {"udev", 3, ANSWER_SEC, verb_udev},
                {"release", 3, 0, verb_release},
                {"end-trials", 2, 0, verb_end_trials},
                /* clang-format on */
        };
        int status;

        log_open("uasd-hold", LOG_INFO);
        arguments = argv;
        status = hold_verb_run(verbs, ELEMENTSOF(verbs), argc, argv);
        if (status >= 0)
                return status;
        (void) execv(PROGRAM_DECIDE, argv);
        log_error("Cannot run " PROGRAM_DECIDE ": %s", strerror(errno));
        return EXIT_FAILURE;
}

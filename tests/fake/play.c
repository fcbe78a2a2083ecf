/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "play.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/log.h"
#include "common/names.h"
#include "switch/signals.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/state/switch-record.h"
#include "wraps.h"

#define BYTES 4096 /* bytes that a program has written to every node, not yet synced */

bool scene_reports;

void __wrap_report_step(const struct transaction *t)
{
        if (scene_reports)
                __real_report_step(t);
}

void __wrap_report_user(const struct transaction *t, const struct user *u)
{
        if (scene_reports)
                __real_report_user(t, u);
}

/* usb-storage is bound, and waits for delay_use before it scans. */
static void inside_delay_use(struct fake_usb *u)
{
        char before[sizeof(fake->quirks)];

        memcpy(before, fake->quirks, sizeof(before));
        fakesys_set_quirks("1209:5a5a:u");
        (void) kernel_unbind(u->driver, u->interface);
        (void) kernel_bind(DRIVER_USB_STORAGE, u->interface);
        fakesys_set_quirks(before);
        u->touched = u->unbound = 0;
        fake->lost = fake->at_risk = 0;
}

static int daemon_lock = -1;

static void daemon_comes(void)
{
        (void) state_mkdir(fake->roots.run, RUN_DIR);
        daemon_lock = openat(fake->roots.run, RUN_DAEMON_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        (void) fcntl(daemon_lock, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK});
}

void scene_make(const struct scene *s)
{
        struct fake_usb *u;

        log_open("fake", -1);
        fakesys_make();
        fake->vendor = s->vendor;
        fake->counts = s->counts;
        fake->lost_events = s->lost_events;
        fake->asks = s->asks;
        /* the record of the disk before the switch, which says nothing about the one after it */
        if (s->lost_events)
                tree_write("I:1\nG:systemd\n", "run/udev/data/b8:0");
        if (s->no_udev)
                tree_remove("run/udev/control");
        fakesys_set_quirks(s->quirks ? s->quirks : "");
        u = fakesys_add_usb_disk("2-1", s->from, s->luns ? s->luns : 1, s->partitions);
        if (s->bystander)
                (void) fakesys_add_usb_disk("2-2", s->from, 1, 1);
        kernel_pass(USEC_PER_SEC); /* udev has processed their events */
        for (unsigned l = 0; l < u->n_luns; l++)
                for (unsigned i = 0; u->luns[l].there && i < u->luns[l].n_nodes; i++) {
                        kernel_write_bytes(u->luns[l].nodes[i].name, BYTES);
                        if (s->counts &&
                            i > 0) /* the writer has closed it, so the count does not contain it */
                                kernel_last_close(u->luns[l].nodes[i].name);
                }
        if (s->slot)
                slot_empties(u, u->n_luns - 1);
        if (s->watched)
                daemon_comes();
        if (s->held) {
                struct hold_mark m = {{u->bus, u->dev}, fake->clock + 20 * USEC_PER_SEC};

                (void) hold_write(&fake->roots, u->interface, &m);
                fake->timers++;
                for (unsigned l = 0; l < u->n_luns; l++)
                        for (unsigned i = 0; i < u->luns[l].n_nodes; i++)
                                u->luns[l].nodes[i].held = true;
        }
        if (s->unscanned)
                inside_delay_use(u);
        if (s->unloaded) {
                fake->uas_loaded = false;
                tree_remove("sys/bus/usb/drivers/uas");
        }
        if (s->prepare)
                s->prepare(u);
        fake->needs_trial = s->to == DRIVER_UAS && s->from != DRIVER_UAS && !s->eject;
        memcpy(fake->hooks, s->hooks, sizeof(s->hooks));
        fake->n_ops = 0;
}

static void transaction_done(struct transaction *t)
{
        usb_disk_done(&t->disk);
        free(t->before.fingerprint);
        config_done(&t->config);
        (void) close_keep_errno(t->lock);
}

static void transaction_start(const struct scene *s, struct transaction *t)
{
        *t = TRANSACTION_NULL;
        fake->named = false;
        t->roots = fake->roots;
        t->interface = "2-1:1.0";
        config_init(&t->config);
        if (!s)
                return;
        t->to = s->to;
        t->request.automatic = s->automatic;
        t->request.plugged = s->plugged || s->held;
        t->request.no_udev = s->early;
        if (s->hold_sec)
                t->config.hold_usec = s->hold_sec < 0 ? 0 : (usec_t) s->hold_sec * USEC_PER_SEC;
        t->hold.deadline = s->held ? fake->clock + 20 * USEC_PER_SEC : 0;
}

static unsigned open_files(void)
{
        unsigned n = 0;

        fake_inotify_end();
        for (int fd = 0; fd < 48; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

void scene_switch(const struct scene *s, struct result *ret)
{
        unsigned before = open_files() - fake_someones_files();
        struct transaction t;

        fake->switcher = getpid();
        transaction_start(s, &t);
        if (s->signals)
                signals_begin(&t);
        ret->code = s->eject ? transaction_eject(&t) : transaction_run(&t);
        memcpy(ret->step, t.result.step, sizeof(ret->step));
        memcpy(ret->text, t.result.text, sizeof(ret->text));
        transaction_done(&t);
        if (open_files() - fake_someones_files() != before)
                fake_break("left a descriptor open,", "of something");
}

/* Its children end with it, whatever they do at that moment. */
static int reap(pid_t pid)
{
        int status = 0, r = 0;

        (void) waitpid(pid, &status, 0);
        for (int tries = 0; tries < 1000 && (r = waitpid(-1, NULL, WNOHANG)) >= 0; tries++)
                if (r == 0)
                        (void) usleep(2000);
        if (r >= 0) {
                fake_break("outlived uasd-switch:", "a child");
                (void) kill(-pid, SIGKILL);
                while (waitpid(-1, NULL, 0) > 0)
                        ;
        }
        return status;
}

void scene_switch_in_child(const struct scene *s, struct result *ret)
{
        int status;
        pid_t pid;

        (void) prctl(PR_SET_CHILD_SUBREAPER, 1);
        pid = fork();
        if (pid == 0) {
                (void) setpgid(0, 0);
                if (s->signals) /* stderr would get the name of the signal */
                        (void) freopen("/dev/null", "we", stderr);
                scene_switch(s, ret);
                _exit(ret->code);
        }
        status = reap(pid);
        ret->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void recover_once(int *ret)
{
        struct transaction t;

        fake->switcher = getpid();
        transaction_start(NULL, &t);
        *ret = transaction_recover(&t);
        transaction_done(&t);
}

/* A hook may kill the recovery, too. Then the next one continues. */
int scene_recorded(struct history *ret)
{
        struct usb_disk d = {0};
        struct history own = {}, *h = ret ?: &own;
        int state = -1;

        memset(fake->hooks, 0, sizeof(fake->hooks));
        fake->named = false;
        if (usb_disk_read(&fake->roots, "2-1:1.0", true, &d) <= 0)
                return -ENODEV;
        if (history_read(&fake->roots, &d.facts, h) > 0)
                state = (int) h->state;
        usb_disk_done(&d);
        return state;
}

int scene_recover(const struct scene *s)
{
        int r = -EIO;

        for (int tries = 0; tries < 4; tries++) {
                pid_t pid = fork();
                int status;

                if (pid == 0) {
                        (void) setpgid(0, 0);
                        recover_once(&r);
                        _exit(-r);
                }
                status = reap(pid);
                if (WIFEXITED(status))
                        return -WEXITSTATUS(status);
        }
        return r;
}

static bool locked(void)
{
        char path[96];
        bool yes;
        int fd;

        (void) snprintf(path, sizeof(path), "%s/run/uasd/switch/2-1:1.0.lock", fake->path);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return false;
        yes = switch_lock_held(fd, SWITCH_LOCK);
        (void) close(fd);
        return yes;
}

const char *scene_held(void)
{
        const struct fake_usb *u = &fake->usb[0];

        kernel_pass(1);
        udev_settles(); /* the events that release a hold */
        for (unsigned l = 0; l < u->n_luns; l++)
                for (unsigned i = 0; u->luns[l].there && i < u->luns[l].n_nodes; i++)
                        if (u->luns[l].nodes[i].held)
                                return "it is still held";
        return u->plugged && rule_holds(u) ? "a hold is left" : NULL;
}

static const char *disk_wrong(const struct fake_usb *u)
{
        static char text[64];

        if (!u->plugged)
                return NULL;
        if (u->driver != DRIVER_UAS && u->driver != DRIVER_USB_STORAGE)
                return "it was left without a driver";
        udev_settles();
        for (unsigned l = 0; l < u->n_luns; l++) {
                if (!u->luns[l].there) {
                        (void) snprintf(text, sizeof(text), "LUN %u is missing", l);
                        return text;
                }
                for (unsigned i = 0; i < u->luns[l].n_nodes; i++)
                        if (u->luns[l].nodes[i].held) {
                                (void) snprintf(text, sizeof(text), "%s is still held",
                                                u->luns[l].nodes[i].name);
                                return text;
                        }
        }
        return NULL;
}

/* After a program has written an empty string, the parameter reads as a newline. */
static bool same_quirks(const char *a, const char *b)
{
        size_t n = strcspn(a, "\n");

        return n == strcspn(b, "\n") && strncmp(a, b, n) == 0;
}

/* A scene tests nothing if the operation of its hook has another name now, or no switch does it. */
static const char *hook_without_operation(void)
{
        static char text[64];

        for (size_t i = 0; i < ELEMENTSOF(fake->hooks); i++) {
                const struct fake_hook *h = &fake->hooks[i];

                if (h->what == HOOK_NONE || !h->op || h->seen >= (h->nth ?: 1))
                        continue;
                (void) snprintf(text, sizeof(text), "no operation \"%s\" for a hook", h->op);
                return text;
        }
        return NULL;
}

/* The test has asked scene_wrong(), which knew that the fake kernel has broken. */
static bool asked, knew;

const char *scene_wrong(const struct scene *s)
{
        static char text[256];
        const char *wrong, *unused = hook_without_operation();

        asked = true;
        memset(fake->hooks, 0, sizeof(fake->hooks));
        fake_someone_unlocks();
        kernel_pass(25 * USEC_PER_SEC);
        kernel_dead_mans_timer();
        knew = fake->broken[0] != '\0';
        if (knew)
                return fake->broken;
        if (fake->lost || fake->at_risk) {
                (void) snprintf(text, sizeof(text), "%u bytes are lost, %u would be by a power cut",
                                fake->lost, fake->at_risk);
                return text;
        }
        wrong = disk_wrong(&fake->usb[0]);
        if (wrong)
                return wrong;
        /* Between the claim and the end of the old device a mount fails, which cannot be avoided.
         * But then the disk must move. */
        if (fake->refused && fake->usb[0].plugged && !fake->usb[0].touched)
                return "a user's mount failed without need";
        if (tree_exists("run/uasd/switch/2-1:1.0"))
                return "a record is left";
        if (tree_exists("run/" RUN_QUIRKS_BIND))
                return "the entry of a bind is left on record";
        if (locked())
                return "the record's lock is held";
        if (fake->usb[0].plugged && rule_holds(&fake->usb[0]))
                return "a hold is left";
        if (!same_quirks(fake->quirks, s->quirks ? s->quirks : "")) {
                (void) snprintf(text, sizeof(text), "the quirks are \"%s\"", fake->quirks);
                return text;
        }
        if (s->bystander && (fake->usb[1].touched || fake->usb[1].driver != s->from))
                return "another disk was touched";
        return unused;
}

void scene_remove(void)
{
        const char *wrong = NULL;

        if (fake->broken[0] && !knew)
                wrong = fake->broken;
        else if (!asked)
                wrong = hook_without_operation();
        if (wrong) {
                (void) fprintf(stderr, "%s\n", wrong);
                abort();
        }
        asked = knew = false;
        daemon_lock = close_keep_errno(daemon_lock);
        fake_someone_unlocks();
        fakesys_remove();
}

void scene_print_ops(void)
{
        for (unsigned i = 0; i < fake->n_ops; i++)
                (void) fprintf(stderr, " [%u %s]", i + 1, fake->ops[i]);
        (void) fprintf(stderr, "\n");
}

bool scene_play(const struct scene *s, const char *what, struct result *ret)
{
        const char *wrong;

        scene_make(s);
        scene_switch(s, ret);
        wrong = scene_wrong(s);
        ret->driver = fake->usb[0].driver;
        if (wrong) {
                (void) fprintf(stderr, "%s: %s (code %i at %s: %s)\n", what, wrong, ret->code,
                               ret->step, ret->text);
                scene_print_ops();
        }
        scene_remove();
        return !wrong;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

#include <stdlib.h>

#include "common/names.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"

/*
 * Unplugged after every operation, with and without a replug. This says nothing about the bridge.
 * Afterwards the history has the lines that it had before, nothing of the switch is left, and the
 * next attachment is switched.
 */

#define VENDOR .vendor = true /* the kernel puts the new attachment on usb-storage again */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .counts = true,
         .watched = true,
         VENDOR},
        {.from = DRIVER_UAS,
         .to = DRIVER_USB_STORAGE,
         .partitions = 1,
         .watched = true,
         .quirks = "1:2:u"},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .automatic = true,
         .held = true,
         .watched = true,
         VENDOR},
        {.from = DRIVER_UAS,
         .to = DRIVER_USB_STORAGE,
         .luns = 2,
         .automatic = true,
         .held = true,
         .watched = true},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .plugged = true,
         .unscanned = true,
         .watched = true,
         VENDOR},
};

/* Seconds until the hub reports the disconnect, and until the disk is back. */
static const struct pull {
        int late;
        bool back;
        unsigned away;
        bool slow; /* its interface goes first */
} pulls[] = {{0}, {0, true, 0}, {0, true, 2}, {3}, {3, true, 0}, {.slow = true}};

static const struct history passed = {.state = HISTORY_PASSED},
                            distrusted = {.state = HISTORY_DISTRUSTED,
                                          .lost = true,
                                          .reason = "it had to be reset"};
static const struct history *const before[] = {NULL, &passed, &distrusted};

static void facts_of(struct facts *ret)
{
        struct usb_disk d = {0};

        assert_int_equal(usb_disk_read(&fake->roots, "2-1:1.0", true, &d), 1);
        *ret = d.facts;
        usb_disk_done(&d);
}

/* The lines of the history, in order. */
struct lines {
        char text[4][HISTORY_KEY_MAX + HISTORY_LINE_MAX];
        size_t n;
};

static int add_line(const char *key, const struct history *h, void *data)
{
        struct lines *l = data;
        char value[HISTORY_LINE_MAX];

        assert_true(l->n < ELEMENTSOF(l->text));
        assert_int_equal(history_format(h, value, sizeof(value)), 0);
        (void) snprintf(l->text[l->n++], sizeof(l->text[0]), "%s=%s", key, value);
        return 0;
}

static int compare(const void *a, const void *b)
{
        return strcmp(a, b);
}

static void lines_read(struct lines *ret)
{
        *ret = (struct lines){.n = 0};
        assert_int_equal(history_each(&fake->roots, add_line, ret), 0);
        qsort(ret->text, ret->n, sizeof(ret->text[0]), compare);
}

static bool lines_same(const struct lines *a, const struct lines *b)
{
        for (size_t i = 0; i < a->n && a->n == b->n; i++)
                if (strcmp(a->text[i], b->text[i]) != 0)
                        return false;
        return a->n == b->n;
}

/* The scene is made. Writes this history of its disk, and a history of another one. */
static void on_record(const struct history *h, struct lines *ret)
{
        struct facts f;

        facts_of(&f);
        if (h)
                assert_int_equal(history_write(&fake->roots, &f, h), 0);
        (void) copy_string(f.serial, sizeof(f.serial), "OTHER");
        assert_int_equal(history_write(&fake->roots, &f, &distrusted), 0);
        fake->n_ops = 0;
        lines_read(ret);
}

/* Runs a switch of the next attachment, without hooks. */
static const char *next_fails(const struct scene *s, struct result *ret)
{
        struct fake_usb *u = &fake->usb[0];
        struct scene next = *s;

        if (!u->plugged)
                kernel_plug_again(u);
        for (int i = 0; i < 2; i++)
                kernel_pass(2 * USEC_PER_SEC);
        if (u->driver ==
            s->to) /* while the quirks had the entry for our bind, the kernel bound it */
                return NULL;
        next.held = false;
        scene_switch(&next, ret);
        return ret->code != UASD_EXIT_OK || u->driver != s->to
                       ? "the next attachment was not switched"
                       : NULL;
}

static bool has_mark(const char *prefix)
{
        _cleanup_strv_ char **names = NULL;

        return dir_list(fake->roots.run, RUN_ATTACHMENT, prefix, &names) > 0;
}

static bool unplugged(const struct scene *s, const struct history *h, const struct pull *p,
                      const char *op, unsigned n)
{
        struct lines then, now;
        struct result r = {0};
        char what[64];
        const char *wrong = NULL;
        bool good, last = strcmp(op, "remove record") == 0;

        if (sweep_leaves_out())
                return true;
        scene_make(s);
        on_record(h, &then);
        fake->usb[0].slow_to_go = p->slow;
        fake->usb[0].comes_back = p->back;
        fake->usb[0].away = p->away * USEC_PER_SEC;
        fake->hooks[0] = (struct fake_hook){
                .nth = n, .what = p->late ? HOOK_PULL : HOOK_UNPLUG, .error = p->late};
        scene_switch(s, &r);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        if (fake->usb[0].pulled) /* no command was sent to it since */
                kernel_unplug(&fake->usb[0]);
        for (int i = 0; i < 3; i++) /* plugged in, scanned, announced */
                kernel_pass(2 * USEC_PER_SEC);
        lines_read(&now);
        if (p->late == 0 && r.code != UASD_EXIT_NO_DISK)
                wrong = "it does not say that it was unplugged";
        else if (!lines_same(&then, &now) && !last && r.code != UASD_EXIT_OK)
                wrong = "it is on record";
        else if (r.code == UASD_EXIT_NO_DISK && tree_exists("run/uasd/hold/2-1:1.0"))
                wrong = "a hold is left";
        else if (r.code == UASD_EXIT_NO_DISK && strstr(fake->warned, "not back on"))
                wrong = "it warns of a disk that was unplugged";
        else if (r.code == UASD_EXIT_NO_DISK && has_mark("2-1:1.0@2-5-"))
                wrong = "the mark of the attachment is left";
        (void) snprintf(what, sizeof(what), "unplugged (%i s late%s, %s%u s away; %s)", p->late,
                        p->slow ? ", slow" : "", p->back ? "" : "not ", p->away,
                        h ? history_state_to_string(h->state) : "unknown");
        good = sweep_verdict(s, &r, what, n, op, wrong);
        if (good) {
                wrong = next_fails(s, &r);
                good = sweep_verdict(s, &r, what, n, op, wrong);
        }
        scene_remove();
        return good;
}

static void at_every_operation(const struct scene *s, const struct history *h, const struct pull *p,
                               bool *all)
{
        struct lines then;
        struct result r;
        struct clean c;

        scene_make(s);
        on_record(h, &then);
        scene_switch(s, &r);
        c.n = fake->n_ops;
        memcpy(c.ops, fake->ops, sizeof(c.ops));
        scene_remove();
        for (unsigned n = 1; n <= c.n && !sweep_again(&c, n); n++)
                *all = unplugged(s, h, p, c.ops[n - 1], n) && *all;
}

static bool to_uas;

static void test_unplugged(void **state)
{
        bool all = true;

        for (size_t i = to_uas ? 0 : 1; i < ELEMENTSOF(scenes); i += 2)
                for (size_t h = 0; h < ELEMENTSOF(before); h++)
                        for (size_t p = 0; p < ELEMENTSOF(pulls); p++)
                                if (h == 0 || (to_uas && !pulls[p].back))
                                        at_every_operation(&scenes[i], before[h], &pulls[p], &all);
        assert_true(all);
}

/* A disk in use as soon as it has appeared is not rolled back. The hub reports the disconnect three
 * seconds after an error. */
static void test_pulled_in_use(void **state)
{
        struct scene s = scenes[0];
        struct lines then, now;
        struct result r;

        scene_make(&s);
        on_record(NULL, &then);
        fake->hooks[0] = (struct fake_hook){.op = "fingerprint", .nth = 2, .what = HOOK_MOUNT};
        fake->hooks[1] =
                (struct fake_hook){.op = "fingerprint", .nth = 2, .what = HOOK_PULL, .error = 3};
        scene_switch(&s, &r);
        lines_read(&now);
        assert_true(lines_same(&then, &now));
        assert_int_equal(r.code, UASD_EXIT_NO_DISK);
        assert_null(scene_wrong(&s));
        scene_remove();
}

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

/* Killed on the way back from uas, where the disk had failed. Then unplugged during the recovery,
 * before there is a verdict. */
static unsigned recovered(unsigned n, bool *ret_distrusted)
{
        struct scene s = scenes[0];
        struct history h;
        struct result r;
        struct facts f;
        unsigned judged = 0;

        s.prepare = stalls;
        scene_make(&s);
        facts_of(&f);
        fake->hooks[0] = (struct fake_hook){.op = "unbind uas", .nth = 1, .what = HOOK_KILL};
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        fake->n_ops = 0;
        fake->hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_UNPLUG};
        assert_int_equal(scene_recover(&s), 0);
        for (unsigned i = 0; i < fake->n_ops && !judged; i++)
                judged = strcmp(fake->ops[i], "write history") == 0 ? i + 1 : 0;
        assert_int_equal(history_read(&fake->roots, &f, &h), 1);
        *ret_distrusted = h.state == HISTORY_DISTRUSTED;
        scene_remove();
        return judged;
}

static void test_put_in_order(void **state)
{
        bool distrusted_then;
        unsigned judged = recovered(OPS_MAX + 1, &distrusted_then);

        assert_true(distrusted_then);
        for (unsigned n = 1; n + 1 < judged;
             n++) { /* the verdict precedes the lock of the history */
                (void) recovered(n, &distrusted_then);
                if (distrusted_then)
                        fail_msg("unplugged at %u of %u, and distrusted", n, judged);
        }
}

/* Killed, and its disk unplugged. The recovery does not end the hold of the next attachment. */
static void test_next_is_held(void **state)
{
        struct scene s = scenes[2];
        struct fake_usb *u;
        struct result r;

        s.hooks[0] = (struct fake_hook){.op = "bind", .nth = 1, .what = HOOK_KILL_DONE};
        scene_make(&s);
        u = &fake->usb[0];
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        kernel_unplug(u);
        kernel_plug_again(u);
        assert_int_equal(
                hold_write(&fake->roots, u->interface,
                           &(struct hold_mark){{u->bus, u->dev}, fake->clock + 20 * USEC_PER_SEC}),
                0);
        assert_int_equal(scene_recover(&s), 0);
        assert_true(rule_holds(u));
        assert_false(tree_exists("run/uasd/switch/2-1:1.0"));
        assert_int_equal(u->touched, 0);
        scene_remove();
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_put_in_order), cmocka_unit_test(test_pulled_in_use),
                cmocka_unit_test(test_next_is_held), cmocka_unit_test(test_unplugged)};

        to_uas = argc < 2 || strcmp(argv[1], "to-usb-storage") != 0;
        return cmocka_run_group_tests(tests, NULL, NULL);
}

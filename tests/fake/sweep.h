/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "play.h"

/* Runs a switch with a hook at every operation in turn, and checks the same conditions after each.
 */

/*
 * $FAKE_SAMPLE: the sweeps run one of so many of their switches, since ASan wants each line of the
 * code once and not each moment of it. $FAKE_TURN, the number of the commit, says which: so many
 * commits in a row have all.
 */
static inline bool sweep_leaves_out(void)
{
        static unsigned long sample, next;

        if (sample == 0) {
                const char *text = getenv("FAKE_SAMPLE"), *turn = getenv("FAKE_TURN");

                sample = text ? strtoul(text, NULL, 10) : 1;
                assert_int_not_equal(sample, 0);
                next = turn ? strtoul(turn, NULL, 10) : 0;
        }
        return next++ % sample != 0;
}

#define OPS_MAX ELEMENTSOF(((struct fake *) NULL)->ops)

struct clean {
        unsigned n;
        char ops[400][32];
        bool of_child[400];
};

/* Records the operations of a switch without hooks. */
static inline void sweep_clean(const struct scene *s, struct clean *ret)
{
        struct result r;

        scene_make(s);
        scene_switch(s, &r);
        ret->n = fake->n_ops;
        memcpy(ret->ops, fake->ops, sizeof(ret->ops));
        memcpy(ret->of_child, fake->of_child, sizeof(ret->of_child));
        assert_int_equal(r.code, s->prepare ? UASD_EXIT_ROLLED_BACK : UASD_EXIT_OK);
        assert_int_equal(fake->usb[0].driver, s->prepare ? s->from : s->to);
        assert_null(scene_wrong(s));
        scene_remove();
}

/* A disk that the kernel had not looked at loses its driver first. Up to the bind nothing was
 * tried, and no program has seen it.
 */
static inline bool sweep_untried(const struct scene *s)
{
        for (unsigned i = 0; i < fake->n_ops; i++)
                if (streq(fake->ops[i], "bind uas"))
                        return false;
        return s->unscanned && fake->usb[0].driver == s->from;
}

/* Checks the exit code against the disk: moved, not touched, or touched and rolled back. */
static inline const char *sweep_code(const struct scene *s, int code)
{
        const struct fake_usb *u = &fake->usb[0];

        if (code == UASD_EXIT_OK && u->plugged && u->driver != s->to)
                return "it says that it is done, and is not";
        if (code != UASD_EXIT_OK && u->plugged && u->driver == s->to && s->from != s->to)
                return "it was moved, and does not say so";
        if (code == UASD_EXIT_ROLLED_BACK && !u->touched)
                return "it says that it rolled back, and had not begun";
        /* A LUN that was deleted and came back on the same driver has not been tried on the other
         * one. */
        if (code == UASD_EXIT_DEFERRED && !u->unbound && u->driver == s->from)
                return NULL;
        if (code != UASD_EXIT_ROLLED_BACK && code != UASD_EXIT_OK && u->touched && u->plugged &&
            !sweep_untried(s))
                return "it does not say that it rolled back";
        return NULL;
}

/* A wait repeats the same operations. Its first rounds stand for all. */
static inline bool sweep_again(const struct clean *c, unsigned n)
{
        return n > 4 && streq(c->ops[n - 1], c->ops[n - 3]) && streq(c->ops[n - 2], c->ops[n - 4]);
}

static inline bool sweep_verdict(const struct scene *s, const struct result *r, const char *what,
                                 unsigned n, const char *op, const char *also)
{
        const char *wrong = scene_wrong(s);

        if (!wrong && !also)
                return true;
        print_error("%s to %s, %u LUNs, %s at %u (%s): %s; %s (code %i at %s: %s)\n",
                    driver_to_string(s->from), driver_to_string(s->to), s->luns ? s->luns : 1, what,
                    n, op, wrong ? wrong : "-", also ? also : "-", r->code, r->step, r->text);
        return false;
}

/* Runs the switch with the hook `what` at operation n. `name` is printed. `ask` returns another
 * violation, or NULL. */
static inline bool sweep_one(const struct scene *s, const struct clean *c, unsigned n,
                             enum fake_what what, const char *name,
                             const char *(*ask)(const struct scene *s, enum fake_what what,
                                                int code))
{
        struct scene now = *s;
        struct result r = {0};
        const char *also;
        bool good;

        if (sweep_leaves_out())
                return true;
        now.hooks[0] = (struct fake_hook){.nth = n, .what = what};
        scene_make(&now);
        scene_switch(&now, &r);
        also = ask(&now, what, r.code);
        /* A disk in use on its new driver stays there, without the LUN that this driver does not
         * show. */
        if (now.prepare && r.code == UASD_EXIT_FAILED && fake->opened_at)
                fake->usb[0].n_luns = 1;
        good = sweep_verdict(&now, &r, name, n, c->ops[n - 1], also);
        scene_remove();
        return good;
}

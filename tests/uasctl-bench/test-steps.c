/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../unit/unit.h"

#include "bench/measure/session.h"

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS
#define TEXT_MAX 512

struct shape {
        enum driver now, first, second;
        unsigned n_patterns, rounds;
        bool read_all, read_again;
};

static void make_steps(struct session *s, const struct shape *shape)
{
        static char *hosts[] = {NULL};
        struct bench_options o = {.rounds = shape->rounds};
        struct bench_context c = {.options = &o};
        struct subject f = {.context = &c,
                            .driver = shape->now,
                            .first = shape->first,
                            .second = shape->second,
                            .hosts = shape->read_all ? NULL : hosts,
                            .remounts = shape->read_again};
        struct bench b = {.n_patterns = shape->n_patterns};

        s->subject = &f;
        s->bench = &b;
        session_make_steps(s);
        s->subject = NULL;
        s->bench = NULL;
}

/* The steps in short form: "|" a switch, "r" the region, "." a pause, "a0" pattern a, round 0. */
static char *text_of(const struct session *session, size_t from, char ret[static TEXT_MAX])
{
        size_t used = 0;

        ret[0] = '\0';
        for (size_t i = session_next(session, from); i < session->n_steps; i = session_next(session, i + 1)) {
                const struct step *s = &session->steps[i];
                const char *driver = s->driver == BOT ? "bot" : s->driver == UAS ? "uas" : "-";

                switch (s->kind) {
                case STEP_SWITCH:
                        used += (size_t) snprintf(ret + used, TEXT_MAX - used, "|%s ", driver);
                        break;
                case STEP_READ_ALL:
                        used += (size_t) snprintf(ret + used, TEXT_MAX - used, "r ");
                        break;
                case STEP_RUN:
                        used += (size_t) snprintf(ret + used, TEXT_MAX - used, "%c%u ", 'a' + (int) s->pattern, s->round);
                        break;
                case STEP_PAUSE:
                        used += (size_t) snprintf(ret + used, TEXT_MAX - used, ". ");
                        break;
                case _STEP_KIND_MAX:
                        fail();
                }
        }
        return ret;
}

static void orders(void **state)
{
        static const struct {
                struct shape shape;
                const char *expect;
        } rows[] = {
                /* A B B A: half of A before, half after; every block of a pattern warms up */
                {{BOT, BOT, UAS, 1, 2, true}, "r a0 . a1 |uas a0 . a1 . a2 |bot a0 . a2 "},
                {{UAS, UAS, BOT, 1, 2, true}, "r a0 . a1 |bot a0 . a1 . a2 |uas a0 . a2 "},
                {{BOT, BOT, UAS, 1, 3, false}, "a0 . a1 . a2 |uas a0 . a1 . a2 . a3 |bot a0 . a3 "},
                /* a file system that is mounted again has a new scratch file after each switch */
                {{BOT, BOT, UAS, 1, 2, true, true}, "r a0 . a1 |uas r a0 . a1 . a2 |bot r a0 . a2 "},
                {{UAS, BOT, DRIVER_NONE, 1, 1, true, true}, "|bot r a0 . a1 "},
                /* one pattern after another */
                {{BOT, BOT, UAS, 2, 2, false}, "a0 . a1 . b0 . b1 |uas a0 . a1 . a2 . b0 . b1 . b2 |bot a0 . a2 . b0 . b2 "},
                /* one round has no second half, and needs no switch back */
                {{BOT, BOT, UAS, 1, 1, false}, "a0 . a1 |uas a0 . a1 "},
                /* one driver, bound already or not */
                {{UAS, UAS, DRIVER_NONE, 1, 3, true}, "r a0 . a1 . a2 . a3 "},
                {{UAS, BOT, DRIVER_NONE, 1, 2, true}, "|bot r a0 . a1 . a2 "},
                {{DRIVER_NONE, DRIVER_NONE, DRIVER_NONE, 1, 1, false}, "a0 . a1 "},
                {{BOT, BOT, UAS, 0, 1, false}, "|uas "},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct session s = {};
                char text[TEXT_MAX];

                make_steps(&s, &rows[i].shape);
                if (!streq(text_of(&s, 0, text), rows[i].expect))
                        fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].expect);
                free(s.steps);
        }
}

/* Each driver has the requested number of rounds that count, and each of them once. */
static void rounds(void **state)
{
        for (unsigned n_rounds = 1; n_rounds <= 21; n_rounds++) {
                struct shape shape = {BOT, BOT, UAS, 3, n_rounds, true};
                unsigned seen[_DRIVER_MAX][3][32] = {};
                enum driver now = BOT;
                struct session s = {};

                make_steps(&s, &shape);
                for (const struct step *i = s.steps; i < s.steps + s.n_steps; i++) {
                        if (i->kind == STEP_SWITCH)
                                now = i->driver;
                        assert_int_equal(i->driver, now);
                        if (i->kind == STEP_RUN)
                                seen[now][i->pattern][i->round]++;
                }
                for (unsigned p = 0; p < 3; p++)
                        for (unsigned r = 1; r <= n_rounds; r++) {
                                assert_int_equal(seen[BOT][p][r], 1);
                                assert_int_equal(seen[UAS][p][r], 1);
                        }
                free(s.steps);
        }
}

/* After a half has ended, no run and no switch uses its driver. */
static void halves(void **state)
{
        static const struct {
                struct shape shape;
                enum driver ended;
                size_t at;
                const char *expect;
        } rows[] = {
                /* ended in the first round of uas: switch back, and the rest */
                {{BOT, BOT, UAS, 1, 2, false}, UAS, 5, "|bot a0 . a2 "},
                /* on uas from the beginning: only the rounds of the other driver remain */
                {{UAS, UAS, BOT, 1, 2, false}, UAS, 1, "|bot a0 . a1 . a2 "},
                {{BOT, BOT, UAS, 1, 2, false}, BOT, 1, "|uas a0 . a1 . a2 "},
                {{UAS, UAS, DRIVER_NONE, 1, 5, false}, UAS, 3, ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct session s = {};
                char text[TEXT_MAX];

                s.ended[rows[i].ended] = true;
                make_steps(&s, &rows[i].shape);
                if (!streq(text_of(&s, rows[i].at, text), rows[i].expect))
                        fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].expect);
                free(s.steps);
        }
}

static void times(void **state)
{
        struct shape shape = {BOT, BOT, UAS, 2, 2, true};
        static const uint64_t usec[] = {[STEP_SWITCH] = 10, [STEP_READ_ALL] = 3, [STEP_PAUSE] = 1};
        struct session s = {};

        make_steps(&s, &shape);
        for (struct step *i = s.steps; i < s.steps + s.n_steps; i++)
                i->usec = i->kind == STEP_RUN ? i->pattern ? 1000 : 100 : usec[i->kind];
        /* 7 runs of each pattern, 2 switches; pauses between 4, 6 and 4 runs */
        assert_int_equal(session_left(&s, 0), 3 + 7 * 1100 + 2 * 10 + 3 + 5 + 3);
        assert_int_equal(session_left(&s, s.n_steps), 0);
        s.ended[UAS] = true;
        assert_int_equal(session_left(&s, 0), 3 + 4 * 1100 + 10 + 3 + 3);
        free(s.steps);
}

static void time_left(void **state)
{
        static const struct {
                uint64_t usec;
                const char *expect;
        } rows[] = {
                {0, "0 s"},
                {1, "1 s"},
                {59 * USEC_PER_SEC, "59 s"},
                {60 * USEC_PER_SEC, "1 min"},
                {61 * USEC_PER_SEC, "2 min"},
                {3599 * USEC_PER_SEC, "60 min"},
                {3600 * USEC_PER_SEC, "1 h 0 min"},
                {9000 * USEC_PER_SEC, "2 h 30 min"},
        };
        char text[RUN_TIME_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_string_equal(run_time_text(rows[i].usec, text), rows[i].expect);
}

/* A pattern that ends with its region: the estimate follows from its bytes, and never exceeds its runtime. */
static void guesses(void **state)
{
        static const struct {
                struct bench_pattern p;
                uint64_t available;
                unsigned sec; /* approximately */
        } rows[] = {
                /* clang-format off */
                {{.block_size = 4096, .size = 1 << 30, .iodepth = 64, .numjobs = 1, .read_percent = 100, .runtime_sec = 60, .ramp_sec = 2,
                  .random = true, .time_based = true},
                 1 << 30, 63},
                /* engines: 1000 s are a limit; matrix: 10 GiB of random writes by one job */
                {{.block_size = 4096, .size = 1 << 30, .iodepth = 64, .numjobs = 1, .read_percent = 100, .runtime_sec = 1000}, 1 << 30, 11},
                {{.block_size = 4096, .size = 1 << 30, .iodepth = 64, .numjobs = 1, .read_percent = 100, .runtime_sec = 1000, .random = true},
                 1 << 30, 437},
                {{.block_size = 4096, .size = 1 << 30, .iodepth = 64, .numjobs = 1, .read_percent = 100, .runtime_sec = 1000, .random = true},
                 64 << 20, 28},
                {{.block_size = 4096, .size = 1 << 30, .iodepth = 1, .numjobs = 1, .read_percent = 100, .runtime_sec = 1000, .random = true,
                  .sync_engine = true},
                 1 << 30, 1001},
                {{.block_size = 4096, .size = 10ULL << 30, .iodepth = 1, .numjobs = 1, .random = true, .sync_engine = true}, 16ULL << 30, 3745},
                {{.block_size = 128 << 10, .size = 10ULL << 30, .iodepth = 1, .numjobs = 1, .sync_engine = true}, 16ULL << 30, 108},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t usec = session_expected(&rows[i].p, rows[i].available);

                if (usec / USEC_PER_SEC + 1 < rows[i].sec || usec / USEC_PER_SEC > rows[i].sec + 1)
                        fail_msg("row %zu: %llu s", i, (unsigned long long) (usec / USEC_PER_SEC));
        }
}

/* The first switch and the warm-up take longer than planned: the percentage stands, and those to come are expected to as well. */
static void test_progress(void **state)
{
        struct session s = {};
        uint64_t done = 0, before;
        unsigned percent = 0;

        make_steps(&s, &(struct shape){BOT, BOT, UAS, 2, 3, false, false});
        for (size_t i = 0; i < s.n_steps; i++)
                s.steps[i].usec = 10;
        for (s.at = session_next(&s, 0); s.at < s.n_steps; s.at = session_next(&s, s.at + 1)) {
                const struct step *step = &s.steps[s.at];
                uint64_t usec = step->kind == STEP_PAUSE ? 10 : step->kind == STEP_SWITCH ? 80 : 50;

                assert_true(session_percent(&s, done, session_left(&s, s.at)) >= percent);
                percent = s.percent;
                done += usec;
                session_learn(&s, usec);
                before = session_left(&s, s.at);
                assert_true(session_percent(&s, done, before - usec) >= percent);
                percent = s.percent;
        }
        assert_int_equal(percent, 100);
        /* All of a kind were learned from the first one, switches and warm-ups too. */
        for (size_t i = 0; i < s.n_steps; i++)
                assert_int_equal(s.steps[i].usec, s.steps[i].kind == STEP_PAUSE ? 10 : s.steps[i].kind == STEP_SWITCH ? 80 : 50);
        free(s.steps);
}

/* A percentage that was shown does not fall when the rest grows. */
static void test_percent(void **state)
{
        struct session s = {};

        assert_int_equal(session_percent(&s, 0, 0), 0);
        assert_int_equal(session_percent(&s, 16, 84), 16);
        assert_int_equal(session_percent(&s, 18, 132), 16);
        assert_int_equal(session_percent(&s, 40, 110), 26);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_progress), cmocka_unit_test(test_percent), cmocka_unit_test(orders),
                cmocka_unit_test(rounds),        cmocka_unit_test(halves),       cmocka_unit_test(times),
                cmocka_unit_test(time_left),     cmocka_unit_test(guesses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Disks that disconnect and reconnect by themselves, at which ports, and when uasd reports it. */
#include "core/trouble.h"

#include "unit.h"

#define MSEC 1000ULL
#define SEC (1000 * MSEC)

enum what {
        END,
        GONE,
        EXPLAINED, /* gone, for a known reason */
        CAME,      /* as another device */
        BACK,      /* as the same device: it never went */
        SIDE_GONE, /* another interface of the device that has gone, */
        LATE_GONE, /* also after the first one is back */
        SIDE_CAME,
};

struct step {
        uint64_t at; /* milliseconds that the machine was awake */
        enum what what;
        unsigned told;
        const char *port, *serial; /* NULL: "2-1", "S1" */
        uint64_t asleep;           /* seconds asleep since the step before */
};

/* A drop that takes a second. */
#define DROP(seconds, told)                                                                        \
        {(seconds) *1000, GONE, 0},                                                                \
        {                                                                                          \
                (seconds) * 1000 + 1000, CAME, told                                                \
        }
#define DROP_AT(seconds, told, ...)                                                                \
        {(seconds) *1000, GONE, 0, __VA_ARGS__},                                                   \
        {                                                                                          \
                (seconds) * 1000 + 1000, CAME, told, __VA_ARGS__                                   \
        }

#define STEPS 24

static const struct {
        const char *name;
        struct step steps[STEPS];
} stories[] = {
        /* clang-format off */
        {"plugged in", {{0, CAME, 0}}},
        {"once, twice", {DROP(100, 0), DROP(110, 0)}},
        {"three times within ten minutes, the fourth is no news", {DROP(100, 0), DROP(200, 0), DROP(300, 3), DROP(400, 0)}},
        {"the third is just in time", {DROP(100, 0), DROP(200, 0), DROP(700, 3)}},
        {"or too late, and the next is not", {DROP(100, 0), DROP(200, 0), DROP(701, 0), DROP(702, 3)}},
        {"never more than two within ten minutes", {DROP(100, 0), DROP(110, 0), DROP(800, 0), DROP(810, 0), DROP(1500, 0), DROP(1510, 0)}},
        {"a series goes on as long as each is within ten minutes of the one before",
         {DROP(100, 0), DROP(110, 0), DROP(120, 3), DROP(700, 0), DROP(1290, 0), DROP(1300, 0), DROP(1310, 0)}},
        {"just ten minutes are no pause",
         {DROP(100, 0), DROP(110, 0), DROP(120, 3), DROP(720, 0), DROP(722, 0), DROP(724, 0)}},
        {"after a success it is reported again only after three",
         {DROP(100, 0), DROP(110, 0), DROP(120, 3), DROP(721, 0), DROP(723, 0), DROP(725, 3), DROP(727, 0)}},
        {"back in five seconds",
         {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {125000, CAME, 3}}},
        {"or later, as by hand",
         {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {125001, CAME, 0}, DROP(130, 3)}},
        {"it goes and does not come back", {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {220000, CAME, 0}}},
        {"gone and back are seen at once, by a late look",
         {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {120000, CAME, 3}}},
        {"in a switch, or after its bridge has failed",
         {DROP(100, 0), DROP(110, 0), {120000, EXPLAINED, 0}, {121000, CAME, 0}, DROP(130, 3)}},
        {"only its interfaces went: it was not authorized for a moment",
         {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {121000, BACK, 0}, {130000, GONE, 0}, {131000, BACK, 0}, DROP(140, 3)}},
        {"the same at first: what goes then has come before",
         {{90000, GONE, 0}, {91000, BACK, 0}, DROP(100, 0), DROP(110, 0), DROP(120, 3)}},
        {"two interfaces go and come: one drop",
         {{100000, GONE, 0}, {100000, SIDE_GONE, 0}, {101000, CAME, 0}, {101000, SIDE_CAME, 0},
          {110000, GONE, 0}, {110000, SIDE_GONE, 0}, {111000, CAME, 0}, {111000, SIDE_CAME, 0}, DROP(120, 3)}},
        {"also if each is looked at by itself, late",
         {{101000, GONE, 0}, {101000, CAME, 0}, {101000, LATE_GONE, 0}, {101000, SIDE_CAME, 0},
          {111000, GONE, 0}, {111000, CAME, 0}, {111000, LATE_GONE, 0}, {111000, SIDE_CAME, 0}, DROP(120, 3)}},
        /* Other disks, other ports. */
        {"another disk at the same port is none that came back",
         {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {121000, CAME, 0, NULL, "S2"}}},
        {"and its own are counted from the start",
         {DROP(100, 0), DROP(110, 0), DROP_AT(120, 0, NULL, "S2"), DROP_AT(130, 0, NULL, "S2"), DROP_AT(140, 3, NULL, "S2"), DROP(150, 0)}},
        {"two in turn at one port", {{100000, GONE, 0, NULL, "S1"}, {101000, CAME, 0, NULL, "S2"}, {102000, GONE, 0, NULL, "S2"}, {103000, CAME, 0},
         {104000, GONE, 0}, {105000, CAME, 0, NULL, "S2"}, {106000, GONE, 0, NULL, "S2"}, {107000, CAME, 0}}},
        {"at another port it has not come back",
         {DROP(100, 0), DROP(110, 0), {120000, GONE, 0}, {121000, CAME, 0, "2-2"}}},
        {"each port for itself",
         {DROP(100, 0), DROP_AT(105, 0, "2-2"), DROP(110, 0), DROP_AT(115, 0, "2-2"), DROP(120, 3), DROP_AT(125, 3, "2-2")}},
        {"without a serial number too",
         {DROP_AT(100, 0, NULL, ""), DROP_AT(110, 0, NULL, ""), DROP_AT(120, 3, NULL, "")}},
        /* Sleep. */
        {"sleep before the first look does not matter", {{100000, CAME, 0, .asleep = 5000}, DROP(101, 0), DROP(103, 0), DROP(105, 3)}},
        {"it went to sleep with a disk and woke up with it, three times",
         {{0, CAME, 0}, {100000, GONE, 0}, {100001, CAME, 0, .asleep = 3}, {200000, GONE, 0}, {200001, CAME, 0, .asleep = 3},
          {300000, GONE, 0}, {300001, CAME, 0, .asleep = 3}}},
        {"or comes and goes when it wakes up",
         {{0, CAME, 0}, {100000, GONE, 0, .asleep = 60}, {101000, CAME, 0}, {200000, GONE, 0, .asleep = 60}, {201000, CAME, 0},
          {300000, GONE, 0, .asleep = 60}, {301000, CAME, 0}}},
        {"also somewhat after another disk has",
         {{0, CAME, 0}, {100000, GONE, 0, "2-2", .asleep = 60}, DROP(110, 0), DROP(113, 0), DROP(116, 0)}},
        {"but not for long: what goes after 20 seconds counts",
         {{0, CAME, 0}, {100000, GONE, 0, "2-2", .asleep = 60}, {119999, GONE, 0}, {121000, CAME, 0}, DROP(122, 0), DROP(124, 0), DROP(126, 3)}},
        {"from the 20th second on",
         {{0, CAME, 0}, {100000, GONE, 0, "2-2", .asleep = 60}, DROP(120, 0), DROP(122, 0), DROP(124, 3)}},
        {"two before a sleep and one after it",
         {{0, CAME, 0}, DROP(100, 0), DROP(110, 0), {120000, GONE, 0, "2-2", .asleep = 60}, DROP(141, 3)}},
        {"time asleep passes", {{0, CAME, 0}, DROP(100, 0), DROP(110, 0), {120000, GONE, 0, "2-2", .asleep = 565}, DROP(141, 0)}},
        {"a second is a sleep",
         {{0, GONE, 0, "2-2"}, {100000, GONE, 0, .asleep = 1}, {101000, CAME, 0}, DROP(103, 0), DROP(106, 0), DROP(109, 0)}},
        {"two clocks are not read at the same moment: no sleep",
         {{0, GONE, 0, "2-2"}, DROP(100, 0), DROP(110, 0), DROP(120, 3)}},
        /* clang-format on */
};

static unsigned play(struct drops *d, const struct step *s, unsigned *devnum, uint64_t *asleep)
{
        struct facts f = {.vid = 0x1209, .pid = 0x5a5a};
        usec_t now, slept;
        bool gone = s->what != CAME && s->what != BACK && s->what != SIDE_CAME;

        *asleep += s->asleep * SEC;
        /* Time also passes between the readings of the two clocks. */
        now = s->at * MSEC + *asleep;
        slept = *asleep + (gone ? 0 : 500 * MSEC);
        (void) copy_string(f.port, sizeof(f.port), s->port ?: "2-1");
        (void) copy_string(f.serial, sizeof(f.serial), s->serial ?: "S1");
        if (s->what == CAME)
                ++*devnum;
        f.devnum = *devnum - (s->what == LATE_GONE);
        if (!gone)
                return drops_came(d, &f, now, slept);
        drops_gone(d, &f, s->what == EXPLAINED, now, slept);
        return 0;
}

static void test_stories(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(stories); i++) {
                struct drops d = {0};
                uint64_t asleep = 0;
                unsigned devnum = 1;

                for (size_t j = 0; j < STEPS && stories[i].steps[j].what != END; j++) {
                        unsigned told = play(&d, stories[i].steps + j, &devnum, &asleep);

                        if (told != stories[i].steps[j].told)
                                fail_msg("%s: step %zu: told %u", stories[i].name, j, told);
                }
        }
}

/* One disk disconnects and reconnects at this port. */
static unsigned drop(struct drops *d, const char *port, uint64_t at)
{
        static unsigned devnum = 1;
        struct facts f = {.devnum = devnum};

        (void) copy_string(f.port, sizeof(f.port), port);
        drops_gone(d, &f, false, at * SEC, 0);
        f.devnum = ++devnum;
        return drops_came(d, &f, at * SEC, 0);
}

/* The number of ports is limited. A new one replaces the port where nothing has happened for the
 * longest time. */
static void test_full(void **state)
{
        struct drops d = {0};
        uint64_t now = 100;
        char port[16];

        for (unsigned round = 0; round < 2; round++)
                for (unsigned i = 0; i < DROPS_PORTS_MAX; i++) {
                        (void) snprintf(port, sizeof(port), "2-%u", i);
                        assert_int_equal(drop(&d, port, now++), 0);
                }
        assert_int_equal(drop(&d, "3-1", now++), 0); /* replaces 2-0 */
        assert_int_equal(drop(&d, "2-1", now++), 3);
        assert_int_equal(drop(&d, "2-15", now++), 3);
        assert_int_equal(drop(&d, "2-0", now++), 0); /* replaces 2-2 */
        assert_int_equal(drop(&d, "2-0", now++), 0);
        assert_int_equal(drop(&d, "2-0", now++), 3);
        assert_int_equal(drop(&d, "2-2", now++), 0);
        assert_int_equal(drop(&d, "2-4", now++), 3);
        assert_int_equal(drop(&d, "2-3", now++), 0); /* 2-2 has replaced it */
}

/* One drop is enough, for ten minutes, and for this disk. */
static void test_dropped(void **state)
{
        struct facts f = {.port = "2-1"}, other = {.port = "2-1", .vid = 1},
                     elsewhere = {.port = "2-2"};
        struct drops d = {0};

        assert_false(drops_dropped(&d, &f, 100 * SEC));
        assert_int_equal(drop(&d, "2-1", 100), 0);
        assert_true(drops_dropped(&d, &f, 100 * SEC));
        assert_false(drops_dropped(&d, &other, 100 * SEC));
        assert_false(drops_dropped(&d, &elsewhere, 100 * SEC));
        assert_true(drops_dropped(&d, &f, 700 * SEC));
        assert_false(drops_dropped(&d, &f, 701 * SEC));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stories),
                cmocka_unit_test(test_full),
                cmocka_unit_test(test_dropped),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/trouble.h"

#include "unit.h"

#define SEC 1000000ULL

static const struct sign abort_sign = {.place = PLACE_HOST,
                                       .name = "host6",
                                       .blame = BLAME_BRIDGE,
                                       .weight = WEIGHT_HIGH,
                                       .handling = true,
                                       .what = "abort"},
                         reset_sign = {.place = PLACE_DEVICE,
                                       .busnum = 2,
                                       .devnum = 2,
                                       .blame = BLAME_BRIDGE,
                                       .weight = WEIGHT_MEDIUM,
                                       .follows = true,
                                       .resets = true,
                                       .what = "reset"},
                         offline_sign = {.place = PLACE_HOST,
                                         .name = "host6",
                                         .blame = BLAME_BRIDGE,
                                         .weight = WEIGHT_FATAL,
                                         .follows = true,
                                         .handling = true,
                                         .what = "offline"},
                         cable_sign = {.place = PLACE_PORT,
                                       .name = "2-1",
                                       .blame = BLAME_CABLE,
                                       .weight = WEIGHT_MEDIUM,
                                       .what = "garbled"},
                         power_sign = {.place = PLACE_PORT,
                                       .name = "2-1",
                                       .blame = BLAME_POWER,
                                       .weight = WEIGHT_FATAL,
                                       .excuses = true,
                                       .what = "over-current"},
                         hub_sign = {.place = PLACE_PORT,
                                     .name = "2-1",
                                     .blame = BLAME_HUB,
                                     .weight = WEIGHT_MEDIUM,
                                     .excuses = true,
                                     .what = "no answer"},
                         streams_sign = {.place = PLACE_CONTROLLER,
                                         .name = "0000:00:14.0",
                                         .blame = BLAME_CONTROLLER,
                                         .weight = WEIGHT_MEDIUM,
                                         .what = "streams"},
                         eh_sign = {.place = PLACE_HOST,
                                    .name = "host6",
                                    .blame = BLAME_BRIDGE,
                                    .weight = WEIGHT_HIGH,
                                    .handling = true,
                                    .resets = true,
                                    .what = "reset"},
                         success_sign = {.place = PLACE_HOST,
                                         .name = "host6",
                                         .blame = BLAME_BRIDGE,
                                         .weight = WEIGHT_HIGH,
                                         .follows = true,
                                         .handling = true,
                                         .resets = true,
                                         .what = "reset"},
                         transfer_sign = {.place = PLACE_DEVICE,
                                          .busnum = 2,
                                          .devnum = 2,
                                          .blame = BLAME_BRIDGE,
                                          .weight = WEIGHT_MEDIUM,
                                          .what = "transfers"},
                         new_sign = {.weight = WEIGHT_NEW}, gone_sign = {.weight = WEIGHT_GONE},
                         sleep_sign = {.place = PLACE_MACHINE, .weight = WEIGHT_SLEEP},
                         awake_sign = {.place = PLACE_MACHINE, .weight = WEIGHT_AWAKE};

struct step {
        unsigned at; /* seconds */
        const struct sign *sign;
        enum findings finding;
        enum blame blame;
};

#define STEPS 14
#define OK FINDING_NONE
#define NOTED FINDING_NOTED
#define BLAMED FINDING_BLAMED
#define BROKEN FINDING_BROKEN

static const struct {
        const char *name;
        struct step steps[STEPS];
} stories[] = {
        /* clang-format off */
        {"one hung command: a stall of half a minute is noted, however many lines it writes",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {100, &abort_sign, OK, BLAME_BRIDGE}, {101, &reset_sign, OK, BLAME_BRIDGE},
          {102, &abort_sign, OK, BLAME_BRIDGE}, {105, &abort_sign, OK, BLAME_BRIDGE}}},
        {"and another one within ten minutes is enough",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &reset_sign, OK, BLAME_BRIDGE}, {130, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"but not a day later", {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {86500, &abort_sign, NOTED, BLAME_BRIDGE}}},
        {"not after ten minutes", {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {701, &abort_sign, NOTED, BLAME_BRIDGE}, {1300, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"given up by the kernel: at once", {{100, &offline_sign, BROKEN, BLAME_BRIDGE}}},
        {"a burst grows heavier", {{100, &reset_sign, NOTED, BLAME_BRIDGE}, {101, &abort_sign, NOTED, BLAME_BRIDGE}, {102, &offline_sign, BROKEN, BLAME_BRIDGE}}},
        {"resets while the machine wakes up are the kernel's, however often it sleeps; a bridge that hangs then is to blame",
         {{100, &sleep_sign, OK, BLAME_NONE}, {101, &reset_sign, OK, BLAME_NONE}, {102, &awake_sign, OK, BLAME_NONE}, {120, &sleep_sign, OK, BLAME_NONE},
          {121, &reset_sign, OK, BLAME_NONE}, {122, &awake_sign, OK, BLAME_NONE}, {140, &sleep_sign, OK, BLAME_NONE}, {141, &reset_sign, OK, BLAME_NONE},
          {142, &awake_sign, OK, BLAME_NONE}, {160, &sleep_sign, OK, BLAME_NONE}, {161, &reset_sign, OK, BLAME_NONE}, {162, &abort_sign, NOTED, BLAME_BRIDGE},
          {163, &awake_sign, OK, BLAME_NONE}, {180, &reset_sign, OK, BLAME_BRIDGE}}},
        {"so are resets of hubs and errors of the enumeration; what a disk does after them is excused",
         {{100, &sleep_sign, OK, BLAME_NONE}, {101, &cable_sign, OK, BLAME_NONE}, {102, &hub_sign, OK, BLAME_NONE}, {103, &awake_sign, OK, BLAME_NONE},
          {104, &abort_sign, BLAMED, BLAME_HUB}, {180, &hub_sign, NOTED, BLAME_HUB}, {300, &cable_sign, NOTED, BLAME_CABLE}}},
        {"a hub that does not answer explains errors of the enumeration",
         {{100, &cable_sign, NOTED, BLAME_CABLE}, {101, &hub_sign, NOTED, BLAME_HUB}, {102, &cable_sign, BLAMED, BLAME_HUB}, {170, &cable_sign, NOTED, BLAME_CABLE}}},
        {"only resets: it takes four",
         {{100, &reset_sign, NOTED, BLAME_BRIDGE}, {120, &reset_sign, NOTED, BLAME_BRIDGE}, {140, &reset_sign, NOTED, BLAME_BRIDGE}, {160, &reset_sign, BROKEN, BLAME_BRIDGE}}},
        {"a pause is not needed: one that fails every nine seconds, and is reset each time, has failed twice after a minute",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &eh_sign, OK, BLAME_BRIDGE}, {109, &abort_sign, OK, BLAME_BRIDGE}, {110, &eh_sign, OK, BLAME_BRIDGE},
          {118, &abort_sign, OK, BLAME_BRIDGE}, {119, &eh_sign, OK, BLAME_BRIDGE}, {133, &abort_sign, OK, BLAME_BRIDGE}, {134, &eh_sign, OK, BLAME_BRIDGE},
          {148, &abort_sign, OK, BLAME_BRIDGE}, {149, &eh_sign, OK, BLAME_BRIDGE}, {162, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"or if the kernel reports only the reset",
         {{100, &eh_sign, NOTED, BLAME_BRIDGE}, {109, &eh_sign, OK, BLAME_BRIDGE}, {118, &eh_sign, OK, BLAME_BRIDGE}, {127, &eh_sign, OK, BLAME_BRIDGE},
          {136, &eh_sign, OK, BLAME_BRIDGE}, {145, &eh_sign, OK, BLAME_BRIDGE}, {154, &eh_sign, OK, BLAME_BRIDGE}, {163, &eh_sign, BROKEN, BLAME_BRIDGE}}},
        {"and light signs without a pause take four times as long",
         {{100, &transfer_sign, NOTED, BLAME_BRIDGE}, {109, &transfer_sign, OK, BLAME_BRIDGE}, {118, &transfer_sign, OK, BLAME_BRIDGE}, {127, &transfer_sign, OK, BLAME_BRIDGE},
          {136, &transfer_sign, NOTED, BLAME_BRIDGE}, {145, &transfer_sign, OK, BLAME_BRIDGE}, {154, &transfer_sign, OK, BLAME_BRIDGE}, {163, &transfer_sign, OK, BLAME_BRIDGE},
          {172, &transfer_sign, NOTED, BLAME_BRIDGE}, {181, &transfer_sign, OK, BLAME_BRIDGE}, {190, &transfer_sign, OK, BLAME_BRIDGE}, {199, &transfer_sign, OK, BLAME_BRIDGE},
          {208, &transfer_sign, BROKEN, BLAME_BRIDGE}}},
        {"but one hang is one burst: each command has its own 30 s, and the reset follows the last of them",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {108, &abort_sign, OK, BLAME_BRIDGE}, {116, &abort_sign, OK, BLAME_BRIDGE}, {124, &abort_sign, OK, BLAME_BRIDGE},
          {131, &abort_sign, OK, BLAME_BRIDGE}, {132, &eh_sign, OK, BLAME_BRIDGE}, {141, &eh_sign, OK, BLAME_BRIDGE}, {142, &reset_sign, OK, BLAME_BRIDGE}}},
        {"a cable is blamed once, and not the bridge",
         {{100, &cable_sign, NOTED, BLAME_CABLE}, {120, &cable_sign, NOTED, BLAME_CABLE}, {140, &cable_sign, NOTED, BLAME_CABLE},
          {160, &cable_sign, BLAMED, BLAME_CABLE}, {180, &cable_sign, OK, BLAME_CABLE}}},
        {"a cable's signs do not add to the bridge's",
         {{100, &cable_sign, NOTED, BLAME_CABLE}, {120, &cable_sign, NOTED, BLAME_CABLE}, {140, &abort_sign, NOTED, BLAME_BRIDGE}, {141, &cable_sign, NOTED, BLAME_CABLE}}},
        {"over-current: blamed, and what comes of it is excused",
         {{100, &power_sign, BLAMED, BLAME_POWER}, {110, &abort_sign, OK, BLAME_POWER}, {140, &abort_sign, OK, BLAME_POWER}, {160, &offline_sign, OK, BLAME_POWER},
          {161, &abort_sign, NOTED, BLAME_BRIDGE}, {162, &eh_sign, OK, BLAME_BRIDGE}, {190, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"also if the disk gets a driver meanwhile, as in a boot",
         {{100, &power_sign, BLAMED, BLAME_POWER}, {105, &new_sign, OK, BLAME_NONE}, {110, &offline_sign, BLAMED, BLAME_POWER}, {161, &abort_sign, NOTED, BLAME_BRIDGE}}},
        {"also what came just before it was reported",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {130, &power_sign, BLAMED, BLAME_POWER}, {200, &abort_sign, NOTED, BLAME_BRIDGE}}},
        {"but not what is long past",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {161, &power_sign, BLAMED, BLAME_POWER}, {300, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"until the reset, aborts of one episode come with any pause",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {105, &abort_sign, OK, BLAME_BRIDGE}, {131, &abort_sign, OK, BLAME_BRIDGE}, {160, &abort_sign, OK, BLAME_BRIDGE},
          {220, &abort_sign, OK, BLAME_BRIDGE}, {221, &eh_sign, OK, BLAME_BRIDGE}, {222, &success_sign, OK, BLAME_BRIDGE}}},
        {"but not longer than a command may take", {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {226, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"transfers that fail meanwhile belong to it, too",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {115, &transfer_sign, OK, BLAME_BRIDGE}, {130, &transfer_sign, OK, BLAME_BRIDGE}, {131, &eh_sign, OK, BLAME_BRIDGE}}},
        {"so does the error handler's own command after the reset",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &eh_sign, OK, BLAME_BRIDGE}, {102, &reset_sign, OK, BLAME_BRIDGE}, {103, &success_sign, OK, BLAME_BRIDGE},
          {113, &abort_sign, OK, BLAME_BRIDGE}, {114, &eh_sign, OK, BLAME_BRIDGE}, {115, &success_sign, OK, BLAME_BRIDGE}, {145, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"and a reset that takes long",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &eh_sign, OK, BLAME_BRIDGE}, {121, &reset_sign, OK, BLAME_BRIDGE}, {140, &success_sign, OK, BLAME_BRIDGE}}},
        {"but a new command that hangs after it is a new episode",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &eh_sign, OK, BLAME_BRIDGE}, {102, &success_sign, OK, BLAME_BRIDGE}, {118, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"also without a word about success",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &reset_sign, OK, BLAME_BRIDGE}, {118, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        {"without error handling a burst of transfers lasts 32 seconds",
         {{100, &transfer_sign, NOTED, BLAME_BRIDGE}, {109, &transfer_sign, OK, BLAME_BRIDGE}, {118, &transfer_sign, OK, BLAME_BRIDGE}, {127, &transfer_sign, OK, BLAME_BRIDGE},
          {132, &transfer_sign, OK, BLAME_BRIDGE}, {133, &transfer_sign, NOTED, BLAME_BRIDGE}}},
        {"and none of it is counted later",
         {{100, &reset_sign, NOTED, BLAME_BRIDGE}, {115, &reset_sign, NOTED, BLAME_BRIDGE}, {130, &reset_sign, NOTED, BLAME_BRIDGE},
          {145, &reset_sign, BROKEN, BLAME_BRIDGE}, {150, &power_sign, BLAMED, BLAME_POWER}, {211, &reset_sign, NOTED, BLAME_BRIDGE},
          {226, &reset_sign, NOTED, BLAME_BRIDGE}, {241, &reset_sign, NOTED, BLAME_BRIDGE}}},
        {"and a minute is not long",
         {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {160, &power_sign, BLAMED, BLAME_POWER}, {300, &abort_sign, NOTED, BLAME_BRIDGE}}},
        {"streams mixed up by the controller are the controller's",
         {{100, &streams_sign, NOTED, BLAME_CONTROLLER}, {120, &streams_sign, NOTED, BLAME_CONTROLLER}, {140, &streams_sign, NOTED, BLAME_CONTROLLER},
          {160, &streams_sign, BLAMED, BLAME_CONTROLLER}, {161, &power_sign, BLAMED, BLAME_POWER}}},
        {"what follows an unplug is its fallout", {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {130, &gone_sign, OK, BLAME_NONE}, {131, &offline_sign, OK, BLAME_NONE}}},
        {"another disk, another account", {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {101, &gone_sign, OK, BLAME_NONE}, {102, &new_sign, OK, BLAME_NONE}, {130, &abort_sign, NOTED, BLAME_BRIDGE}}},
        {"records out of order do no harm", {{100, &abort_sign, NOTED, BLAME_BRIDGE}, {99, &abort_sign, OK, BLAME_BRIDGE}}},
        {"more bursts than are kept",
         {{0, &cable_sign, NOTED, BLAME_CABLE}, {20, &cable_sign, NOTED, BLAME_CABLE}, {40, &cable_sign, NOTED, BLAME_CABLE}, {60, &cable_sign, BLAMED, BLAME_CABLE},
          {80, &cable_sign, OK, BLAME_CABLE}, {100, &cable_sign, OK, BLAME_CABLE}, {120, &cable_sign, OK, BLAME_CABLE}, {140, &cable_sign, OK, BLAME_CABLE},
          {160, &cable_sign, OK, BLAME_CABLE}, {180, &cable_sign, OK, BLAME_CABLE}, {200, &eh_sign, NOTED, BLAME_BRIDGE}, {220, &abort_sign, BROKEN, BLAME_BRIDGE}}},
        /* clang-format on */
};

static void test_stories(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(stories); i++) {
                struct trouble t;

                t = (struct trouble){0};
                for (size_t j = 0; j < STEPS && stories[i].steps[j].sign; j++) {
                        const struct step *s = stories[i].steps + j;
                        struct finding f;

                        trouble_take(&t, s->sign, s->at * SEC, &f);
                        if (f.finding != s->finding || f.blame != s->blame)
                                fail_msg("%s: step %zu: finding %i, blame %i", stories[i].name, j,
                                         (int) f.finding, (int) f.blame);
                }
        }
}

static void test_pending(void **state)
{
        struct trouble t;
        struct finding f;

        t = (struct trouble){0};
        assert_false(trouble_pending(&t, 0));
        trouble_take(&t, &abort_sign, 100 * SEC, &f);
        assert_true(trouble_pending(&t, 101 * SEC));
        assert_true(trouble_pending(&t, 700 * SEC));
        assert_false(trouble_pending(&t, 701 * SEC));
}

/* The same signs mean something else under the other driver. */
static void test_drivers(void **state)
{
        static const struct sign moved = {.weight = WEIGHT_NEW, .driver = DRIVER_USB_STORAGE};
        struct trouble t;
        struct finding f;

        /* always on usb-storage: the cause is one of four, and never the bridge */
        t = (struct trouble){0};
        trouble_driver(&t, DRIVER_USB_STORAGE, TRUST_GOOD);
        for (unsigned i = 0; i < 3; i++) {
                trouble_take(&t, &reset_sign, (100 + 31 * i) * SEC, &f);
                assert_true(f.finding == FINDING_NOTED && f.blame == BLAME_UNKNOWN);
        }
        trouble_take(&t, &offline_sign, 170 * SEC, &f);
        assert_true(f.finding == FINDING_BLAMED && f.blame == BLAME_UNKNOWN && f.fatal);
        assert_int_equal(t.trust, TRUST_GOOD);

        /* failed under uas, and fails under usb-storage */
        t = (struct trouble){0};
        trouble_take(&t, &offline_sign, 100 * SEC, &f);
        assert_int_equal(f.finding, FINDING_BROKEN);
        assert_int_equal(t.trust, TRUST_DISTRUSTED);
        trouble_take(&t, &moved, 110 * SEC, &f);
        assert_int_equal(t.driver, DRIVER_USB_STORAGE);
        for (unsigned i = 0; i < 3; i++) {
                trouble_take(&t, &reset_sign, (200 + 31 * i) * SEC, &f);
                assert_int_equal(f.finding, FINDING_NOTED);
        }
        trouble_take(&t, &reset_sign, 300 * SEC, &f);
        assert_true(f.finding == FINDING_CLEARED && f.blame == BLAME_UNKNOWN && f.bursts == 4);
        assert_int_equal(t.trust, TRUST_CLEARED);
        trouble_take(&t, &offline_sign, 310 * SEC, &f); /* reported once */
        assert_int_equal(f.finding, FINDING_NONE);

        /* the reset line comes before the time-out is counted; the next command that hangs is
         * another burst all the same */
        t = (struct trouble){0};
        trouble_driver(&t, DRIVER_USB_STORAGE, TRUST_DISTRUSTED);
        trouble_take(&t, &reset_sign, 100 * SEC, &f);
        trouble_take(&t, &abort_sign, 100 * SEC, &f);
        assert_int_equal(f.finding, FINDING_NOTED);
        trouble_take(&t, &reset_sign, 116 * SEC, &f);
        trouble_take(&t, &abort_sign, 116 * SEC, &f);
        assert_true(f.finding == FINDING_CLEARED && f.bursts == 2);

        /* back on uas it is not blamed again */
        trouble_driver(&t, DRIVER_UAS, TRUST_CLEARED);
        trouble_take(&t, &offline_sign, 400 * SEC, &f);
        assert_true(f.finding != FINDING_BROKEN && f.blame == BLAME_UNKNOWN);

        /* signs of both drivers are not added up */
        t = (struct trouble){0};
        trouble_take(&t, &transfer_sign, 100 * SEC, &f);
        trouble_take(&t, &transfer_sign, 120 * SEC, &f);
        trouble_take(&t, &transfer_sign, 140 * SEC, &f);
        trouble_driver(&t, DRIVER_USB_STORAGE, TRUST_GOOD);
        trouble_take(&t, &reset_sign, 160 * SEC, &f);
        assert_int_equal(f.bursts, 1);
        trouble_driver(&t, DRIVER_UAS, TRUST_GOOD);
        trouble_take(&t, &transfer_sign, 180 * SEC, &f);
        assert_true(f.finding == FINDING_BROKEN && f.bursts == 4);

        /* bad power later on proves nothing about the trouble under uas */
        t = (struct trouble){0};
        trouble_driver(&t, DRIVER_USB_STORAGE, TRUST_DISTRUSTED);
        trouble_take(&t, &power_sign, 100 * SEC, &f);
        assert_true(f.finding == FINDING_BLAMED && f.blame == BLAME_POWER);
        trouble_take(&t, &offline_sign, 110 * SEC, &f);
        assert_true(f.finding == FINDING_NONE && t.trust == TRUST_DISTRUSTED);
        /* a cable stays with the disk */
        for (unsigned i = 0; i < 4; i++)
                trouble_take(&t, &cable_sign, (200 + 20 * i) * SEC, &f);
        assert_true(f.finding == FINDING_CLEARED && f.blame == BLAME_CABLE);
}

/* The disk reports a bad place, or the machine stands still: the bridge is not to blame for what
 * happens around it. */
static void test_around(void **state)
{
        static const struct sign medium = {.blame = BLAME_DISK,
                                           .weight = WEIGHT_MEDIUM,
                                           .excuses = true,
                                           .what = "place"},
                                 still = {.blame = BLAME_HOST,
                                          .weight = WEIGHT_AROUND,
                                          .excuses = true,
                                          .what = "still"};
        struct trouble t;
        struct finding f;

        t = (struct trouble){0};
        trouble_take(&t, &abort_sign, 100 * SEC, &f);
        trouble_take(&t, &medium, 110 * SEC, &f);
        assert_true(f.finding == FINDING_NOTED && f.blame == BLAME_DISK);
        trouble_take(&t, &abort_sign, 140 * SEC, &f);
        assert_true(f.finding == FINDING_BLAMED && f.blame == BLAME_DISK && streq(f.what, "place"));
        trouble_take(&t, &abort_sign, 200 * SEC, &f);
        assert_true(f.finding == FINDING_NOTED && f.blame == BLAME_BRIDGE);

        t = (struct trouble){0};
        trouble_take(&t, &still, 100 * SEC,
                     &f); /* a machine may stand still without harm to a disk */
        assert_int_equal(f.finding, FINDING_NONE);
        trouble_take(&t, &abort_sign, 110 * SEC, &f);
        assert_true(f.finding == FINDING_BLAMED && f.blame == BLAME_HOST);
        trouble_take(&t, &abort_sign, 300 * SEC, &f);
        t.told = BLAME_NONE;
        trouble_take(&t, &still, 310 * SEC, &f);
        assert_true(f.finding == FINDING_BLAMED && f.blame == BLAME_HOST && t.n == 0);
}

/* Bad power explains what came shortly before it on the bridge, and nothing else. */
static void test_excuse(void **state)
{
        struct trouble t;
        struct finding f;

        t = (struct trouble){0};
        trouble_take(&t, &cable_sign, 10 * SEC, &f);
        trouble_take(&t, &abort_sign, 45 * SEC, &f);
        trouble_take(&t, &cable_sign, 60 * SEC, &f);
        assert_int_equal(t.n, 3);
        trouble_take(&t, &power_sign, 70 * SEC, &f);
        assert_int_equal(t.n, 2);
        assert_true(t.bursts[0].blame == BLAME_CABLE && t.bursts[0].first == 10 * SEC);
        assert_true(t.bursts[1].blame == BLAME_CABLE && t.bursts[1].first == 60 * SEC);
}

static void test_finding(void **state)
{
        struct trouble t;
        struct finding f;

        t = (struct trouble){0};
        trouble_take(&t, &abort_sign, 1 * SEC, &f);
        assert_string_equal(f.what, "abort");
        trouble_take(&t, &eh_sign, 2 * SEC, &f);
        trouble_take(&t, &abort_sign, 31 * SEC, &f);
        assert_int_equal(f.bursts, 2);
        assert_string_equal(f.what, "abort");
        assert_false(f.fatal);
        trouble_take(&t, &reset_sign, 60 * SEC, &f);
        assert_string_equal(f.what, "abort"); /* reports the worst, not the last */
        trouble_take(&t, &offline_sign, 61 * SEC, &f);
        assert_string_equal(f.what, "offline");
        assert_true(f.fatal);
}

#define HUNG "commands were not answered in time"

static void keep_and_take(const struct trouble *t, struct trouble *ret)
{
        char text[TROUBLE_TEXT_MAX], *save;

        *ret = (struct trouble){0};
        (void) trouble_text(t, "2-1:1.0@2-5", text);
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *value = startswith(line, "2-1:1.0@2-5=");

                assert_non_null(value);
                assert_int_equal(trouble_take_line(ret, value), 0);
        }
}

/* The account is the same after it was stored and read. Nothing is reported again, nothing counts
 * twice, and nothing is lost. */
static void test_kept(void **state)
{
        static const struct sign hung = {.blame = BLAME_BRIDGE,
                                         .weight = WEIGHT_HIGH,
                                         .handling = true,
                                         .what = HUNG},
                                 reset = {.blame = BLAME_BRIDGE,
                                          .weight = WEIGHT_MEDIUM,
                                          .follows = true,
                                          .resets = true,
                                          .what = "it had to be reset"},
                                 power = {.blame = BLAME_POWER,
                                          .weight = WEIGHT_FATAL,
                                          .excuses = true,
                                          .what = "over-current at its port"},
                                 cable = {.blame = BLAME_CABLE,
                                          .weight = WEIGHT_MEDIUM,
                                          .what = "it did not take an address"};
        struct trouble t, again;
        struct finding f;

        t = (struct trouble){0};
        t.timeouts = 3;
        trouble_take(&t, &power, 10 * SEC, &f);
        assert_int_equal(f.finding, FINDING_BLAMED);
        assert_string_equal(f.what, power.what);
        trouble_take(&t, &hung, 100 * SEC, &f);
        assert_int_equal(f.finding, FINDING_NOTED);
        trouble_take(&t, &cable, 100 * SEC, &f);
        assert_int_equal(f.finding, FINDING_NOTED);
        trouble_take(&t, &cable, 102 * SEC, &f);
        trouble_take(&t, &reset, 101 * SEC, &f);
        keep_and_take(&t, &again);
        assert_int_equal(again.n, 2);
        assert_true(again.bursts[0].first == 100 * SEC && again.bursts[0].last == 101 * SEC);
        assert_true(again.bursts[0].began == 100 * SEC && again.bursts[0].reset == 101 * SEC);
        assert_int_equal(again.bursts[0].driver, DRIVER_UAS);
        assert_string_equal(again.bursts[0].what, HUNG);
        assert_true(again.bursts[1].first == 100 * SEC && again.bursts[1].last == 102 * SEC);
        assert_string_equal(again.bursts[1].what, cable.what);
        assert_int_equal(again.timeouts, 3);
        assert_true(again.excuse == 10 * SEC && again.excuse_blame == BLAME_POWER &&
                    streq(again.excuse_what, power.what));
        trouble_take(&again, &hung, 101 * SEC, &f);
        assert_int_equal(f.finding, FINDING_NONE);
        trouble_take(&again, &hung, 130 * SEC, &f);
        assert_int_equal(f.finding, FINDING_BROKEN);
        assert_int_equal(f.bursts, 2);
        keep_and_take(&t, &again);
        trouble_take(&again, &power, 131 * SEC, &f);
        assert_int_equal(f.finding, FINDING_NONE);
}

static void test_not_kept(void **state)
{
        static const char *const lines[] = {
                "",
                " ",
                "burst",
                "burst 1 2 bridge heavy " HUNG, /* of an older uasd */
                "burst 1 2 0 0 uas bridge heavy",
                "burst 1 2 0 0 uas bridge heavy no entry says so",
                "burst 1 x 0 0 uas bridge heavy " HUNG,
                "burst 1 2 0 x uas bridge heavy " HUNG,
                "burst 1 2 0 0 none bridge heavy " HUNG,
                "burst 1 2 0 0 vfio bridge heavy " HUNG,
                "burst 1 2 0 0 uas none heavy " HUNG,
                "burst 1 2 0 0 uas bridge none " HUNG,
                "burst 1 2 0 0 uas bridge heavyheavyheavyheavy " HUNG,
                "told",
                "told none",
                "told you",
                "excuse 1 power",
                "excuse x power over-current",
                "excuse 1 nothing " HUNG,
                "excuse x power " HUNG,
                "excuse power 1 " HUNG,
                "timeouts",
                "timeouts -1",
                "timeouts 99999999999999999999999",
                "more 1",
        };
        struct trouble t;

        t = (struct trouble){0};
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                if (trouble_take_line(&t, lines[i]) != -EINVAL)
                        fail_msg("%s", lines[i]);
        assert_int_equal(t.n, 0);
        for (size_t i = 0; i < BURSTS_MAX; i++)
                assert_int_equal(trouble_take_line(&t, "burst 1 2 0 0 uas bridge heavy " HUNG), 0);
        assert_int_equal(trouble_take_line(&t, "burst 1 2 0 0 uas bridge heavy " HUNG), -EINVAL);
}

/* A new burst takes the place of the oldest one. */
static void test_many_bursts(void **state)
{
        struct trouble t = {0};
        struct finding f;

        trouble_driver(&t, DRIVER_UAS, TRUST_GOOD);
        for (size_t i = 0; i <= BURSTS_MAX; i++)
                trouble_take(&t, &cable_sign, (100 + 60 * i) * SEC, &f);
        assert_int_equal(t.n, BURSTS_MAX);
        for (size_t i = 0; i < BURSTS_MAX; i++)
                assert_int_equal(t.bursts[i].first, (100 + 60 * (i + 1)) * SEC);
}

static void test_about(void **state)
{
        static const struct facts disk = {.port = "2-1.4",
                                          .busnum = 2,
                                          .devnum = 3,
                                          .controller_device = "0000:00:14.0"},
                                  bare = {.port = "2-1"};
        static const struct {
                struct sign sign;
                const char *host;
                bool about;
        } rows[] = {
                {{.place = PLACE_HOST, .name = "host6"}, "host6", true},
                {{.place = PLACE_HOST, .name = "host6"}, "host60", false},
                {{.place = PLACE_HOST, .name = "host60"}, "host6", false},
                {{.place = PLACE_HOST, .name = ""}, "", false},
                {{.place = PLACE_DEVICE, .busnum = 2, .devnum = 3}, "", true},
                {{.place = PLACE_DEVICE, .busnum = 1, .devnum = 3}, "", false},
                {{.place = PLACE_DEVICE, .busnum = 2, .devnum = 2}, "", false},
                {{.place = PLACE_PORT, .name = "2-1.4", .blame = BLAME_CABLE}, "", true},
                /* errors of reading a hub do not concern the disk behind it; over-current does */
                {{.place = PLACE_PORT, .name = "2-1", .blame = BLAME_CABLE}, "", false},
                {{.place = PLACE_PORT, .name = "2-1", .blame = BLAME_POWER}, "", true},
                {{.place = PLACE_PORT, .name = "2-1", .blame = BLAME_HUB}, "", true},
                {{.place = PLACE_PORT, .name = "2-0", .blame = BLAME_HUB}, "", true},
                {{.place = PLACE_PORT, .name = "1-0", .blame = BLAME_HUB}, "", false},
                {{.place = PLACE_PORT, .name = "2-2", .blame = BLAME_HUB}, "", false},
                {{.place = PLACE_DEVICE,
                  .name = "2-1",
                  .busnum = 2,
                  .devnum = 2,
                  .blame = BLAME_BRIDGE,
                  .follows = true},
                 "",
                 true},
                {{.place = PLACE_DEVICE,
                  .name = "2-1",
                  .busnum = 2,
                  .devnum = 2,
                  .weight = WEIGHT_GONE},
                 "",
                 false},
                {{.place = PLACE_DEVICE,
                  .name = "2-2",
                  .busnum = 2,
                  .devnum = 9,
                  .blame = BLAME_BRIDGE,
                  .follows = true},
                 "",
                 false},
                {{.place = PLACE_PORT, .name = "2-1.4", .blame = BLAME_POWER}, "", true},
                {{.place = PLACE_PORT, .name = "2-1.4.1", .blame = BLAME_POWER}, "", false},
                {{.place = PLACE_PORT, .name = "2-2", .blame = BLAME_POWER}, "", false},
                {{.place = PLACE_PORT, .name = "2", .blame = BLAME_POWER}, "", false},
                {{.place = PLACE_CONTROLLER, .name = "0000:00:14.0"}, "", true},
                {{.place = PLACE_CONTROLLER, .name = "0000:00:15.0"}, "", false},
                {{.place = PLACE_MACHINE}, "", true},
        };

        struct sign own;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_row(i,
                           sign_about(&rows[i].sign, &disk, rows[i].host, &own) == rows[i].about);
        assert_false(sign_about(&(struct sign){.place = PLACE_CONTROLLER}, &bare, "", &own));
        /* a hub above it, and the root hub, which is a part of the controller */
        assert_true(sign_about(&(struct sign){.place = PLACE_DEVICE,
                                              .name = "2-1",
                                              .busnum = 2,
                                              .devnum = 2,
                                              .blame = BLAME_BRIDGE,
                                              .follows = true},
                               &disk, "", &own) &&
                    own.blame == BLAME_HUB && own.excuses);
        assert_true(
                sign_about(&(struct sign){.place = PLACE_PORT, .name = "2-0", .blame = BLAME_HUB},
                           &disk, "", &own));
        assert_int_equal(own.blame, BLAME_CONTROLLER);
        assert_true(
                sign_about(&(struct sign){.place = PLACE_PORT, .name = "2-1", .blame = BLAME_HUB},
                           &disk, "", &own));
        assert_int_equal(own.blame, BLAME_HUB);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kept),    cmocka_unit_test(test_not_kept),
                cmocka_unit_test(test_stories), cmocka_unit_test(test_pending),
                cmocka_unit_test(test_finding), cmocka_unit_test(test_excuse),
                cmocka_unit_test(test_about),   cmocka_unit_test(test_drivers),
                cmocka_unit_test(test_around),  cmocka_unit_test(test_many_bursts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

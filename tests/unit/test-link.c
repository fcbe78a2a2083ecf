/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Causes of a slow link. */
#include "core/link.h"

#include "unit.h"

#define THERE LINK_PEER_THERE
#define NONE LINK_PEER_NONE
#define UNKNOWN LINK_PEER_UNKNOWN
#define ROOT(p)                                                                                    \
        {                                                                                          \
                .peer = (p), .hub = "usb1", .hub_bcd_usb = 0x0200, .root = true                    \
        }
#define HUB2(p, name)                                                                              \
        {                                                                                          \
                .peer = (p), .hub = name, .hub_bcd_usb = 0x0200                                    \
        }
#define HUB3(p, name)                                                                              \
        {                                                                                          \
                .peer = (p), .hub = name, .hub_bcd_usb = 0x0210                                    \
        }
#define SLOW .speed_mbps = 480, .able = LINK_ABLE, .controller_mbps = 10000

static const struct {
        struct link_facts l;
        enum link_limit limit;
        const char *hub;
        const char *advice; /* a part of it; NULL: no advice */
} table[] = {
        {{.speed_mbps = 5000,
          .able = LINK_ABLE,
          .controller_mbps = 5000,
          .steps = {ROOT(THERE)},
          .n_steps = 1},
         LINK_LIMIT_NONE,
         ""},
        {{.speed_mbps = 480,
          .able = LINK_ABLE_NO,
          .controller_mbps = 5000,
          .steps = {ROOT(THERE)},
          .n_steps = 1},
         LINK_LIMIT_NONE,
         ""},
        {{.speed_mbps = 0}, LINK_LIMIT_NONE, ""},
        {{SLOW, .steps = {ROOT(THERE)}, .n_steps = 1},
         LINK_LIMIT_CABLE,
         "",
         "It can do SuperSpeed, but its link has 480 Mbit/s. Its port has a SuperSpeed side: try another USB 3 cable"},
        {{.speed_mbps = 480, .able = LINK_ABLE_PERHAPS, .steps = {ROOT(THERE)}, .n_steps = 1},
         LINK_LIMIT_CABLE,
         "",
         "It seems able to do SuperSpeed, but its link has 480 Mbit/s. Its port"},
        {{.speed_mbps = 12, .able = LINK_ABLE, .steps = {ROOT(THERE)}, .n_steps = 1},
         LINK_LIMIT_CABLE,
         "",
         "its link has 12 Mbit/s."},
        {{SLOW, .steps = {ROOT(NONE)}, .n_steps = 1},
         LINK_LIMIT_PORT,
         "",
         "plug it into a USB 3 port."},
        {{SLOW, .steps = {ROOT(UNKNOWN)}, .n_steps = 1},
         LINK_LIMIT_UNKNOWN,
         "",
         "the cable, the port or a hub"},
        {{SLOW, .steps = {HUB3(NONE, "1-2"), ROOT(THERE)}, .n_steps = 1},
         LINK_LIMIT_UNKNOWN,
         "",
         "the cable, the port or a hub"},
        {{SLOW}, LINK_LIMIT_UNKNOWN, "", "the cable, the port or a hub"},
        {{.speed_mbps = 1, .able = LINK_ABLE, .controller_mbps = 1},
         LINK_LIMIT_CONTROLLER,
         "",
         "Its USB controller has no SuperSpeed"},
        {{.speed_mbps = 480,
          .able = LINK_ABLE,
          .controller_mbps = 480,
          .steps = {ROOT(NONE)},
          .n_steps = 1},
         LINK_LIMIT_CONTROLLER,
         "",
         "Its USB controller has no SuperSpeed"},
        {{.speed_mbps = 480,
          .able = LINK_ABLE,
          .controller_mbps = 5000,
          .steps = {ROOT(THERE)},
          .n_steps = 1},
         LINK_LIMIT_CABLE,
         "",
         "Its port has a SuperSpeed side"},
        {{SLOW, .steps = {HUB2(NONE, "1-2"), ROOT(THERE)}, .n_steps = 2},
         LINK_LIMIT_HUB,
         "1-2",
         "behind the USB 2 hub 1-2"},
        {{SLOW, .steps = {HUB3(THERE, "1-2"), ROOT(THERE)}, .n_steps = 2},
         LINK_LIMIT_CABLE,
         "",
         "Its port has a SuperSpeed side"},
        {{SLOW, .steps = {HUB3(NONE, "1-2"), ROOT(THERE)}, .n_steps = 2},
         LINK_LIMIT_HUB_CABLE,
         "1-2",
         "The link of hub 1-2 is as slow"},
        {{SLOW, .steps = {HUB3(UNKNOWN, "1-2"), ROOT(NONE)}, .n_steps = 2},
         LINK_LIMIT_HUB_PORT,
         "1-2",
         "plug the hub into a USB 3 port."},
        {{SLOW, .steps = {HUB3(NONE, "1-2.3"), HUB2(NONE, "1-2"), ROOT(THERE)}, .n_steps = 3},
         LINK_LIMIT_HUB,
         "1-2",
         "behind the USB 2 hub 1-2"},
        {{SLOW, .steps = {HUB3(NONE, "1-2.3"), HUB3(THERE, "1-2"), ROOT(THERE)}, .n_steps = 3},
         LINK_LIMIT_HUB_CABLE,
         "1-2.3",
         "The link of hub 1-2.3 is as slow"},
        {{SLOW, .steps = {{.peer = NONE, .hub = "1-2"}, ROOT(NONE)}, .n_steps = 2},
         LINK_LIMIT_UNKNOWN,
         "",
         "the cable, the port or a hub"},
};

static void test_limits(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                enum link_limit limit;
                char advice[512] = "of another disk";
                const char *hub;

                limit = link_limit(&table[i].l, &hub);
                if (limit != table[i].limit || !streq(hub, table[i].hub))
                        fail_msg("row %zu: %s %s", i, link_limit_to_string(limit), hub);
                (void) link_advice(&table[i].l, advice, sizeof(advice));
                if (table[i].advice
                            ? !strstr(advice, table[i].advice) || advice[strlen(advice) - 1] != '.'
                            : *advice)
                        fail_msg("row %zu: %s", i, advice);
        }
        assert_string_equal(link_able_to_string(LINK_ABLE_NO), "no");
        assert_string_equal(link_able_to_string(LINK_ABLE_PERHAPS), "perhaps");
        assert_string_equal(link_able_to_string(LINK_ABLE), "yes");
}

static void test_versions(void **state)
{
        assert_int_equal(usb_version_bcd(" 2.10"), 0x0210);
        assert_int_equal(usb_version_bcd("2.00"), 0x0200);
        assert_int_equal(usb_version_bcd("3.20"), 0x0320);
        assert_int_equal(usb_version_bcd("10.00"), 0x1000);
        assert_int_equal(usb_version_bcd(""), 0);
        assert_int_equal(usb_version_bcd("2"), 0);
        assert_int_equal(usb_version_bcd("-2.10"), 0);
        assert_int_equal(usb_version_bcd("2.100"), 0);
}

static void test_able(void **state)
{
        static const struct {
                struct facts f;
                enum link_able able;
        } rows[] = {
                {{.speed_mbps = 5000, .max_speed_mbps = 5000, .usb_version = "3.20"}, LINK_ABLE},
                {{.speed_mbps = 10000, .usb_version = "3.20"}, LINK_ABLE},
                {{.speed_mbps = 5000, .usb_version = "2.00"}, LINK_ABLE},
                {{.speed_mbps = 480, .max_speed_mbps = 5000, .usb_version = "2.10"}, LINK_ABLE},
                {{.speed_mbps = 480, .max_speed_mbps = 10000, .usb_version = "2.10"}, LINK_ABLE},
                {{.speed_mbps = 480, .max_speed_mbps = 480, .usb_version = "2.10"}, LINK_ABLE_NO},
                {{.speed_mbps = 480, .usb_version = "2.10"}, LINK_ABLE_PERHAPS},
                {{.speed_mbps = 480, .usb_version = "2.01"}, LINK_ABLE_NO},
                {{.speed_mbps = 480, .usb_version = "2.00"}, LINK_ABLE_NO},
                {{.speed_mbps = 480}, LINK_ABLE_NO},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_row(i, link_able(&rows[i].f) == rows[i].able);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_versions),
                cmocka_unit_test(test_able),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/facts.h"

#include "unit.h"

#define DEVICE 18, 1, 0x20, 0x03, 0, 0, 0, 9, 0x09, 0x12, 0x5a, 0x5a, 0, 1, 1, 2, 3, 1
#define CONFIG_POWER(total, value, power)                                                          \
        9, 2, (total) &0xff, (total) >> 8, 1, value, 0, 0x80, power
#define CONFIG(total) CONFIG_POWER(total, 1, 112)
#define ALT(number, alt, endpoints, protocol) 9, 4, number, alt, endpoints, 8, 6, protocol, 0
#define ENDPOINT(address) 7, 5, address, 2, 0, 4, 0
#define COMPANION(log2) 6, 0x30, 15, log2, 0, 0
#define PIPE(id) 4, 0x24, id, 0

/* 9 + 26 */
#define BOT_ALT ALT(0, 0, 2, 0x50), ENDPOINT(0x81), COMPANION(0), ENDPOINT(0x02), COMPANION(0)
#define PIPE_ENDPOINT(address, log2, id) ENDPOINT(address), COMPANION(log2), PIPE(id) /* 17 */
#define UAS_PIPES(log2)                                                                            \
        PIPE_ENDPOINT(0x04, 0, 1), PIPE_ENDPOINT(0x83, log2, 2), PIPE_ENDPOINT(0x81, log2, 3),     \
                PIPE_ENDPOINT(0x02, log2, 4)
#define UAS_ALT(log2) ALT(0, 1, 4, 0x62), UAS_PIPES(log2) /* 9 + 68 */

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
        const char *what;
        const uint8_t *data;
        size_t size;
        uint8_t configuration, interface;
        int r;
        struct uas_caps caps;
} table[] = {
        /* clang-format off */
        {"both protocols at SuperSpeed",
         BYTES(DEVICE, CONFIG(121), BOT_ALT, UAS_ALT(5)),
         1,
         0,
         0,
         {.bot = true,
          .uas = true,
          .pipes = true,
          .uas_alt = 1,
          .max_power = 112,
          .status_streams = 32}},
        {"any configuration",
         BYTES(DEVICE, CONFIG(121), BOT_ALT, UAS_ALT(4)),
         0,
         0,
         0,
         {.bot = true,
          .uas = true,
          .pipes = true,
          .uas_alt = 1,
          .max_power = 112,
          .status_streams = 16}},
        {"high speed: no companions",
         BYTES(DEVICE, CONFIG_POWER(85, 1, 0), ALT(0, 0, 2, 0x50), ENDPOINT(0x81), ENDPOINT(0x02),
               ALT(0, 1, 4, 0x62), ENDPOINT(4), PIPE(1), ENDPOINT(0x83), PIPE(2), ENDPOINT(0x81), PIPE(3),
               ENDPOINT(2), PIPE(4)),
         1,
         0,
         0,
         {.bot = true, .uas = true, .pipes = true, .uas_alt = 1}},
        {"BOT alone",
         BYTES(DEVICE, CONFIG(44), BOT_ALT),
         1,
         0,
         0,
         {.bot = true, .max_power = 112}},
        {"UAS alone, as alternate setting 0",
         BYTES(DEVICE, CONFIG(86), ALT(0, 0, 4, 0x62), UAS_PIPES(4)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .max_power = 112, .status_streams = 16}},
        {"BOT in an alternate setting other than 0 is no way back",
         BYTES(DEVICE, CONFIG(18), ALT(0, 1, 0, 0x50)),
         1,
         0,
         0,
         {.max_power = 112}},
        {"one pipe is missing",
         BYTES(DEVICE, CONFIG(121), BOT_ALT, ALT(0, 1, 3, 0x62), PIPE_ENDPOINT(0x04, 0, 1),
               PIPE_ENDPOINT(0x83, 5, 2), PIPE_ENDPOINT(0x81, 5, 3)),
         1,
         0,
         0,
         {.bot = true, .uas = true, .uas_alt = 1, .max_power = 112}},
        {"fewer endpoints announced than there are",
         BYTES(DEVICE, CONFIG(121), BOT_ALT, ALT(0, 1, 3, 0x62), UAS_PIPES(5)),
         1,
         0,
         0,
         {.bot = true, .uas = true, .uas_alt = 1, .max_power = 112}},
        {"more endpoints announced than USB has",
         BYTES(DEVICE, CONFIG(121), BOT_ALT, ALT(0, 1, 255, 0x62), UAS_PIPES(5)),
         1,
         0,
         0,
         {.bot = true,
          .uas = true,
          .pipes = true,
          .uas_alt = 1,
          .max_power = 112,
          .status_streams = 32}},
        {"an endpoint twice, one with address 0, one too short: none of them counts",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 6, 0x62), PIPE_ENDPOINT(0x04, 0, 1), PIPE_ENDPOINT(0x04, 0, 2),
               PIPE_ENDPOINT(0x80, 0, 2), 6, 5, 0x83, 2, 0, 4, PIPE(2), PIPE_ENDPOINT(0x81, 5, 3),
               PIPE_ENDPOINT(0x02, 5, 4)),
         1,
         0,
         0,
         {.uas = true, .uas_alt = 1, .max_power = 112}},
        {"pipes 0 and 5 are none, the first pipe usage of an endpoint counts",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 6, 0x62), ENDPOINT(1), PIPE(0), PIPE(1), ENDPOINT(2), PIPE(5),
               UAS_PIPES(4)),
         1,
         0,
         0,
         {.uas = true, .uas_alt = 1, .max_power = 112}},
        {"the last endpoint of a pipe counts; a companion counts only right behind it",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 5, 0x62), UAS_PIPES(5), ENDPOINT(0x85), PIPE(2), COMPANION(4)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112}},
        {"streams of an interrupt pipe do not count",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 5, 0x62), UAS_PIPES(5), 7, 5, 0x85, 3, 0, 4, 0, COMPANION(5),
               PIPE(2)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112}},
        {"a companion that is too short does not count",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 5, 0x62), UAS_PIPES(5), ENDPOINT(0x85), 5, 0x30, 0, 5, 0,
               PIPE(2)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112}},
        {"no device has more than 65536 streams",
         BYTES(DEVICE, CONFIG(121), BOT_ALT, UAS_ALT(0xff)),
         1,
         0,
         0,
         {.bot = true,
          .uas = true,
          .pipes = true,
          .uas_alt = 1,
          .max_power = 112,
          .status_streams = 65536}},
        {"the first UAS setting counts, though another one would be better",
         BYTES(DEVICE, CONFIG(255), ALT(0, 3, 0, 0x62), UAS_ALT(4)),
         1,
         0,
         0,
         {.uas = true, .uas_alt = 3, .max_power = 112}},
        {"the first setting of a number counts",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 0, 0xff), UAS_ALT(4)),
         1,
         0,
         0,
         {.max_power = 112}},
        {"other classes and subclasses",
         BYTES(DEVICE, CONFIG(27), 9, 4, 0, 0, 0, 3, 6, 0x50, 0, 9, 4, 0, 1, 0, 8, 5, 0x62, 0),
         1,
         0,
         0,
         {.max_power = 112}},
        {"the second interface of two, behind an association",
         BYTES(DEVICE, CONFIG(255), 8, 11, 0, 2, 8, 6, 0, 0, ALT(0, 0, 0, 0x50), ALT(1, 0, 0, 0x62)),
         1,
         1,
         0,
         {.uas = true, .max_power = 112}},
        {"an interface descriptor that is too short is none",
         BYTES(DEVICE, CONFIG(255), 8, 4, 0, 0, 0, 8, 6, 0x50, ALT(0, 0, 0, 0x50)),
         1,
         0,
         0,
         {.bot = true, .max_power = 112}},
        {"class-specific descriptors before the endpoints",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 4, 0x62), 5, 0x21, 1, 2, 3, UAS_PIPES(3)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112, .status_streams = 8}},
        {"also if they look like endpoints, or like an interface",
         BYTES(DEVICE, CONFIG(255), 9, 0x41, 5, 0, 0, 8, 6, 0x50, 0, ALT(0, 1, 4, 0x62), 7, 0x24, 0x83, 2, 0, 4, 0, UAS_PIPES(3)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112, .status_streams = 8}},
        {"what comes after a broken descriptor is not there",
         BYTES(DEVICE, CONFIG(255), ALT(0, 0, 0, 0x50), 1, 0, UAS_ALT(4)),
         1,
         0,
         0,
         {.bot = true, .max_power = 112}},
        {"a last byte alone, behind a configuration that is not the present one",
         BYTES(DEVICE, CONFIG(18), ALT(0, 0, 0, 0x50), 9),
         2,
         0,
         -EBADMSG,
         {}},
        {"a last byte alone",
         BYTES(DEVICE, CONFIG(255), ALT(0, 0, 0, 0x50), 9),
         1,
         0,
         0,
         {.bot = true, .max_power = 112}},
        {"the second configuration",
         BYTES(DEVICE, CONFIG_POWER(18, 1, 1), ALT(0, 0, 0, 0x50), CONFIG_POWER(86, 2, 2), UAS_ALT(2)),
         2,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 2, .status_streams = 4}},
        {"a configuration ends where the next begins",
         BYTES(DEVICE, CONFIG_POWER(18, 1, 1), ALT(0, 0, 0, 0x50), CONFIG_POWER(86, 2, 2), UAS_ALT(2)),
         1,
         0,
         0,
         {.bot = true, .max_power = 1}},
        {"no such configuration", BYTES(DEVICE, CONFIG(44), BOT_ALT), 2, 0, -ENOENT, {}},
        {"no such interface", BYTES(DEVICE, CONFIG(44), BOT_ALT), 1, 1, -ENOENT, {}},
        {"no interface", BYTES(DEVICE, CONFIG(9)), 1, 0, -ENOENT, {}},
        {"no interface 0, and a configuration whose length looks like its number",
         BYTES(DEVICE, CONFIG(256), ALT(1, 0, 0, 0x50)), 1, 0, -ENOENT, {}},
        {"descriptors as short as can be",
         BYTES(DEVICE, CONFIG(255), 2, 0x41, ALT(0, 1, 4, 0x62), 2, 0x21, UAS_PIPES(3)),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112, .status_streams = 8}},
        {"pipe usages without their last byte",
         BYTES(DEVICE, CONFIG(255), ALT(0, 1, 4, 0x62), ENDPOINT(4), 3, 0x24, 1, ENDPOINT(0x83), 3, 0x24, 2, ENDPOINT(0x81), 3, 0x24, 3, ENDPOINT(2), 3,
               0x24, 4),
         1,
         0,
         0,
         {.uas = true, .pipes = true, .uas_alt = 1, .max_power = 112}},
        {"nothing", BYTES(0), 0, 0, -EBADMSG, {}},
        {"a device alone", BYTES(DEVICE), 0, 0, -EBADMSG, {}},
        {"half a device", BYTES(18, 1, 0, 3), 0, 0, -EBADMSG, {}},
        {"a device that is too short", BYTES(8, 1, 0x20, 0x03, 0, 0, 0, 9), 0, 0, -EBADMSG, {}},
        {"a device that claims to be longer than all there is",
         BYTES(200, 1, 0x20, 0x03, 0, 0, 0, 9, 0x09, 0x12, 0x5a, 0x5a, 0, 1, 1, 2, 3, 1, CONFIG(18), ALT(0, 0, 0, 0x50)),
         0,
         0,
         0,
         {.bot = true, .max_power = 112}},
        {"a device of another kind", BYTES(CONFIG(18), ALT(0, 0, 0, 0x50)), 0, 0, -EBADMSG, {}},
        {"a device of another kind, and as long",
         BYTES(18, 2, 0x20, 0x03, 0, 0, 0, 9, 0x09, 0x12, 0x5a, 0x5a, 0, 1, 1, 2, 3, 1, CONFIG(18), ALT(0, 0, 0, 0x50)), 0, 0, -EBADMSG, {}},
        {"a device that claims to be shorter",
         BYTES(17, 1, 0x20, 0x03, 0, 0, 0, 9, 0x09, 0x12, 0x5a, 0x5a, 0, 1, 1, 2, 3, 1, CONFIG(18), ALT(0, 0, 0, 0x50)), 0, 0, -EBADMSG, {}},
        {"half a configuration", BYTES(DEVICE, 9, 2, 44, 0), 0, 0, -EBADMSG, {}},
        {"a configuration that is too short", BYTES(DEVICE, 8, 2, 8, 0, 1, 1, 0, 0x80), 0, 0, -EBADMSG, {}},
        {"something else for a configuration", BYTES(DEVICE, ALT(0, 0, 0, 0x50)), 0, 0, -EBADMSG, {}},
        {"a configuration that claims to be shorter than it is", BYTES(DEVICE, CONFIG(4)), 1, 0, -EBADMSG, {}},
        /* clang-format on */
};

/* Not memcmp(): the padding has no defined value. */
static bool caps_equal(const struct uas_caps *a, const struct uas_caps *b)
{
        return a->bot == b->bot && a->uas == b->uas && a->pipes == b->pipes &&
               a->uas_alt == b->uas_alt && a->max_power == b->max_power &&
               a->status_streams == b->status_streams;
}

static void test_table(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct uas_caps caps = {};
                int r = descriptors_parse(table[i].data, table[i].size, table[i].configuration,
                                          table[i].interface, &caps);

                if (r != table[i].r || !caps_equal(&caps, &table[i].caps))
                        fail_msg("%s: %d, bot %d uas %d pipes %d alt %d power %d streams %u",
                                 table[i].what, r, caps.bot, caps.uas, caps.pipes, caps.uas_alt,
                                 caps.max_power, caps.status_streams);
        }
}

/* USB has 30 endpoints: the fourth pipe counts as the 30th of them, and not as the 31st. */
static void test_most_endpoints(void **state)
{
        static const uint8_t begin[] = {DEVICE,      CONFIG(1000), ALT(0, 1, 255, 0x62),
                                        ENDPOINT(1), PIPE(1),      ENDPOINT(2),
                                        PIPE(2),     ENDPOINT(3),  PIPE(3)},
                             last[] = {ENDPOINT(0xff), PIPE(4)};

        for (size_t n = 4; n <= 40; n++) {
                uint8_t data[600], *end = data + sizeof(begin);
                struct uas_caps caps;

                memcpy(data, begin, sizeof(begin));
                for (uint8_t other = 4; other < n; other++) {
                        const uint8_t endpoint[] = {ENDPOINT(0)};

                        memcpy(end, endpoint, sizeof(endpoint));
                        end[2] =
                                (uint8_t) ((other / 15) << 4 |
                                           (other % 15 + 1)); /* an address that no other one has */
                        end += sizeof(endpoint);
                }
                memcpy(end, last, sizeof(last));
                end += sizeof(last);
                assert_int_equal(descriptors_parse(data, (size_t) (end - data), 1, 0, &caps), 0);
                assert_row(n, caps.pipes == (n <= 30));
        }
}

/* The length of a configuration has two bytes: the next one begins behind it. */
static void test_long_configuration(void **state)
{
        static const uint8_t begin[] = {DEVICE, CONFIG_POWER(9 + 9 + 255 + 27, 1, 1),
                                        ALT(0, 0, 0, 0x50), 255, 0x41},
                             other[] = {27, 0x41}, next[] = {CONFIG_POWER(86, 2, 2), UAS_ALT(2)};
        uint8_t data[18 + 9 + 9 + 255 + 27 + sizeof(next)] = {};
        struct uas_caps caps;

        memcpy(data, begin, sizeof(begin));
        memcpy(data + 18 + 9 + 9 + 255, other, sizeof(other));
        memcpy(data + sizeof(data) - sizeof(next), next, sizeof(next));
        assert_int_equal(descriptors_parse(data, sizeof(data), 2, 0, &caps), 0);
        assert_true(caps.uas && caps.pipes && !caps.bot && caps.max_power == 2);
        assert_int_equal(descriptors_parse(data, sizeof(data), 1, 0, &caps), 0);
        assert_true(caps.bot && !caps.uas && caps.max_power == 1);
}

/* Descriptors cut off or damaged anywhere: the parser reads no byte past the end (the sanitizers
 * detect it), and it ends. */
static void test_damaged(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                for (size_t size = 0; size <= table[i].size; size++) {
                        uint8_t *copy = malloc(size + 1);
                        struct uas_caps caps;

                        assert_non_null(copy);
                        for (size_t at = 0; at < size; at++)
                                for (unsigned v = 0; v < 256; v += 51) {
                                        uint8_t *exact = malloc(size);

                                        assert_non_null(exact);
                                        memcpy(exact, table[i].data, size);
                                        exact[at] = (uint8_t) v;
                                        (void) descriptors_parse(exact, size, 0, 0, &caps);
                                        free(exact);
                                }
                        memcpy(copy, table[i].data, size);
                        (void) descriptors_parse(copy, size, 1, 0, &caps);
                        free(copy);
                }
}

/* The number in the configuration does not count: the kernel corrects it. */
static void test_alone(void **state)
{
        struct uas_caps caps;

        assert_int_equal(
                descriptors_parse(BYTES(DEVICE, CONFIG(255), BOT_ALT, UAS_ALT(5)), 1, 0, &caps), 0);
        assert_true(caps.alone);
        for (uint8_t i = 0; i < 2; i++) {
                assert_int_equal(descriptors_parse(BYTES(DEVICE, CONFIG(255), ALT(0, 0, 0, 0x50),
                                                         ALT(1, 0, 0, 0x62)),
                                                   1, i, &caps),
                                 0);
                assert_false(caps.alone);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table), cmocka_unit_test(test_most_endpoints),
                cmocka_unit_test(test_long_configuration), cmocka_unit_test(test_damaged),
                cmocka_unit_test(test_alone)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/link.h"

#include "unit.h"

#define HEADER(n) 5, 0x0f, n, 0, 1
#define LPM 7, 0x10, 2, 0x02, 0, 0, 0
#define SUPERSPEED(speeds) 10, 0x10, 3, 0, speeds, 0, 1, 10, 0, 1
/* exponent: 2 is Mbit/s, 3 is Gbit/s */
#define SUBLINK(exponent, low, high) (exponent) << 4, 0, low, high
#define PLUS(size, more) size, 0x10, 10, 0, more, 0, 0, 0, 0, 0x11, 0, 0
#define BYTES(...)                                                                                 \
        (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

static void test_max_speed(void **state)
{
        const struct {
                const unsigned char *bos;
                size_t size;
                const char *version;
                unsigned link, max;
        } table[] = {
                {NULL, 0, "2.00", 480, 480},
                {NULL, 0, "1.10", 480, 480},
                {NULL, 0, "2.10", 480, 0}, /* it has a BOS, which this kernel does not show */
                {NULL, 0, "2.01", 480, 0},
                {NULL, 0, "3.20", 480, 5000},
                {NULL, 0, "3.00", 480, 5000},
                {NULL, 0, "", 480, 0},
                {NULL, 0, "nonsense", 480, 0},
                {NULL, 0, "2.00", 12, 0},
                {NULL, 0, "3.00", 5000, 0},
                {NULL, 0, "2.00", 0, 0},
                {BYTES(HEADER(12), LPM), "2.10", 480, 480},
                {BYTES(HEADER(12), LPM), "2.10", 12, 0},
                {BYTES(HEADER(12), LPM), "3.20", 5000, 0},
                {BYTES(HEADER(22), LPM, SUPERSPEED(0x0e)), "2.10", 480, 5000},
                {BYTES(HEADER(22), LPM, SUPERSPEED(0x0e)), "2.10", 12, 5000},
                {BYTES(HEADER(22), LPM, SUPERSPEED(0x0e)), "3.00", 5000, 5000},
                {BYTES(HEADER(22), LPM, SUPERSPEED(0x06)), "2.10", 480,
                 480}, /* SuperSpeed, but for the speed */
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 0), SUBLINK(3, 10, 0)), "2.10", 480,
                 10000},
                {BYTES(HEADER(31), PLUS(16, 0), SUBLINK(3, 10, 0), SUPERSPEED(8)), "3.10", 5000,
                 10000},
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 0), SUBLINK(3, 10, 0)), "3.20", 20000,
                 20000},
                {BYTES(HEADER(35), SUPERSPEED(8), PLUS(20, 1), SUBLINK(3, 5, 0), SUBLINK(3, 10, 0)),
                 "2.10", 480, 10000},
                {BYTES(HEADER(35), SUPERSPEED(8), PLUS(20, 0), SUBLINK(3, 5, 0), SUBLINK(3, 10, 0)),
                 "2.10", 480, 5000},
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 31), SUBLINK(3, 10, 0)), "2.10", 480,
                 10000}, /* too short */
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 0), SUBLINK(2, 0x10, 0x27)), "2.10", 480,
                 10000},
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 0), SUBLINK(3, 255, 255)), "2.10", 480,
                 5000}, /* an impossible speed */
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 0), SUBLINK(1, 255, 255)), "2.10", 480,
                 5000},
                {BYTES(HEADER(18), 3, 0x10, 4, SUPERSPEED(8)), "2.10", 480,
                 5000}, /* behind the smallest capability */
                {BYTES(HEADER(15), SUPERSPEED(8)), "2.10", 480, 5000},
                {BYTES(HEADER(31), SUPERSPEED(8), 16, 0x10, 11, 0, 0, 0, 0, 0, 0, 0x11, 0, 0,
                       SUBLINK(3, 10, 0)),
                 "2.10", 480, 5000}, /* no PLUS */
                {BYTES(HEADER(27), SUPERSPEED(8), 12, 0x10, 10, 0, 0, 0, 0, 0, 0, 0x11, 0, 0),
                 "2.10", 480, 5000},
                {BYTES(HEADER(21), PLUS(16, 0), SUBLINK(2, 1, 0)), "2.10", 12, 12},
                {BYTES(HEADER(31), SUPERSPEED(8), PLUS(16, 0), SUBLINK(2, 0x11, 0x27)), "2.10", 480,
                 5000}, /* 10001 Mbit/s */
                /* Damaged: the part before the damage counts. */
                {BYTES(HEADER(22)), "2.10", 480, 480},
                {BYTES(HEADER(22), LPM, 10, 0x10, 3, 0, 8), "2.10", 480, 480},
                {BYTES(HEADER(22), SUPERSPEED(8), 0, 0x10, 10), "2.10", 480, 5000},
                {BYTES(HEADER(22), 1, 0x10, SUPERSPEED(8)), "2.10", 480, 480},
                {BYTES(HEADER(22), 5, 0x10, 3, 0, 8), "2.10", 480, 480},
                {BYTES(HEADER(22), 10, 0x11, 3, 0, 8, 0, 1, 10, 0, 1), "2.10", 480, 480},
                {BYTES(HEADER(15), 10, 0x11, 3, 0, 8, 0, 1, 10, 0, 1), "2.10", 12, 0},
                {BYTES(HEADER(21), PLUS(16, 0), SUBLINK(3, 255, 255)), "2.10", 12, 0},
                {BYTES(5, 2, 22, 0, 1, SUPERSPEED(8)), "2.10", 480, 0}, /* no BOS */
                {BYTES(4, 0x0f, 22, 0), "2.00", 480, 480},
                {BYTES(200, 0x0f, 22, 0, 1, SUPERSPEED(8)), "2.10", 480, 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                /* The exact size lets ASan detect a read past the end. */
                unsigned char *exact = malloc(table[i].size ?: 1);
                unsigned max;

                assert_non_null(exact);
                if (table[i].size)
                        memcpy(exact, table[i].bos, table[i].size);
                max = device_max_speed(table[i].bos ? exact : NULL, table[i].size, table[i].version,
                                       table[i].link);
                free(exact);
                if (max != table[i].max)
                        fail_msg("row %zu: %u, not %u", i, max, table[i].max);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_max_speed)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}

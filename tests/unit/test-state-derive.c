/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/machine.h"

#include "common/exit-codes.h"
#include "unit.h"

#define SETTLED .decision = {.rest = STATE_SETTLED}
#define ON_UAS .facts = {.driver = DRIVER_UAS}
#define ON_TRIAL .facts = {.driver = DRIVER_UAS, .trial_open = true}
/* Distrusted, on uas, and wanted off uas. */
#define FLEES                                                                                      \
        .facts = {.driver = DRIVER_UAS, .distrusted = true},                                       \
        .decision = {.target = DRIVER_USB_STORAGE, .rest = STATE_SETTLED}
#define ROLLED_BACK .outcome = {.code = UASD_EXIT_ROLLED_BACK}

static const struct {
        struct disk disk;
        struct standing standing;
        enum state state;
} table[] = {
        {{SETTLED}, {}, STATE_SETTLED},
        {{.decision = {.rest = STATE_IGNORED}}, {}, STATE_IGNORED},
        {{.decision = {.rest = STATE_INCAPABLE}}, {}, STATE_INCAPABLE},
        {{.decision = {.rest = STATE_UNBOUND}}, {}, STATE_UNBOUND},
        /* A uasd-switch has precedence over a hold, and a hold over a wish. */
        {{SETTLED}, {.switching = true, .held = true, .wanted = true}, STATE_SWITCHING},
        {{SETTLED}, {.held = true, .wanted = true, .used_up = true}, STATE_HELD},
        {{SETTLED}, {.held = true}, STATE_HELD},
        {{SETTLED}, {.wanted = true}, STATE_WAITING},
        {{SETTLED}, {.wanted = true, .used_up = true}, STATE_FAILED},
        {{SETTLED}, {.used_up = true}, STATE_SETTLED},
        /* Only a disk that stays on uas is on trial. */
        {{ON_TRIAL, SETTLED}, {}, STATE_TRIAL},
        {{ON_TRIAL, SETTLED}, {.wanted = true}, STATE_WAITING},
        {{ON_TRIAL, .decision = {.rest = STATE_IGNORED}}, {}, STATE_IGNORED},
        {{ON_UAS, SETTLED}, {}, STATE_SETTLED},
        {{.facts = {.driver = DRIVER_USB_STORAGE, .trial_open = true}, SETTLED}, {}, STATE_SETTLED},
        /* A disk that could not leave uas has failed. Another disk that was rolled back is settled
           where it is. */
        {{FLEES, ROLLED_BACK}, {}, STATE_FAILED},
        {{FLEES}, {}, STATE_SETTLED},
        {{ON_UAS, SETTLED, ROLLED_BACK}, {}, STATE_SETTLED},
        {{FLEES, ROLLED_BACK}, {.wanted = true}, STATE_WAITING},
};

static void test_table(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (state_derive(&table[i].disk, &table[i].standing) != table[i].state)
                        fail_msg("row %zu: %s", i,
                                 state_to_string(state_derive(&table[i].disk, &table[i].standing)));
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}

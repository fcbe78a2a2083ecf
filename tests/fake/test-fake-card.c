/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

/* After every operation a user puts a card into a slot that was empty when the switch began. Some
 * of them then use it. */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .partitions = 1, .slot = true},
        {.from = DRIVER_UAS,
         .to = DRIVER_USB_STORAGE,
         .luns = 2,
         .partitions = 1,
         .slot = true,
         .counts = true},
};

static const char *ask(const struct scene *s, enum fake_what what, int code)
{
        const struct fake_lun *card = &fake->usb[0].luns[1];

        if (what == HOOK_CARD && code == UASD_EXIT_ROLLED_BACK)
                return "it was rolled back for a card that is not used";
        if (what != HOOK_CARD && what != HOOK_CARD_WRITE && fake->opened_at &&
            !card->nodes[1].mounted)
                return "the mount is gone";
        /* It failed and is in use, so it must not be rolled back. */
        if (code == UASD_EXIT_FAILED && fake->usb[0].driver == s->to && fake->opened_at)
                return NULL;
        return sweep_code(s, code);
}

static void test_cards(void **state)
{
        static const struct {
                enum fake_what what;
                const char *name;
        } cards[] = {
                {HOOK_CARD, "card put in"},
                {HOOK_CARD_MOUNT, "card mounted"},
                {HOOK_CARD_PRIVATE, "card mounted out of sight"},
                {HOOK_CARD_WRITE, "card written to"},
        };
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++)
                        for (size_t k = 0; k < ELEMENTSOF(cards) && !sweep_again(&c, n); k++)
                                all = sweep_one(&scenes[i], &c, n, cards[k].what, cards[k].name,
                                                ask) &&
                                      all;
        }
        assert_true(all);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_cards)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}

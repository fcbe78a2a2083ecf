/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include "ctl/facts-block.h"
#include "ctl/facts-json.h"
#include "ctl/json-disk.h"

static void round_trip(const struct facts *f, struct facts *ret)
{
        json_object *o = facts_to_json(f);
        const char *bad = "nothing";
        size_t missing;

        assert_non_null(o);
        if (facts_from_json(o, ret, &missing, &bad) != 0)
                fail_msg("'%s' is not read back", bad);
        assert_int_equal(missing, 0);
        json_object_put(o);
}

/* A byte of the facts that the table does not cover would come back as 0. */
static void every_field(void **state)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
        struct facts f, back;
        const char *a = (const char *) &f, *b = (const char *) &back;

        memset(&f, 1, sizeof(f)); /* true, an enum's second word, a character */
        __builtin_clear_padding(&f);
        f.driver = f.override_target = f.unknown_target = DRIVER_UAS;
        f.policy = POLICY_UAS;
        f.policy_source = POLICY_BY_UDEV;
        f.verdict = VERDICT_BAD;
        f.uas_module = UAS_MODULE_MISSING;
        f.caps_error = -EBADMSG;
        char *const texts[] = {f.interface + sizeof(f.interface), f.port + sizeof(f.port), f.usb_version + sizeof(f.usb_version),
                               f.manufacturer + sizeof(f.manufacturer), f.product + sizeof(f.product), f.serial + sizeof(f.serial),
                               f.driver_name + sizeof(f.driver_name), f.controller + sizeof(f.controller),
                               f.controller_device + sizeof(f.controller_device), f.quirks + sizeof(f.quirks),
                               f.quirks_own + sizeof(f.quirks_own), f.distrust_reason + sizeof(f.distrust_reason),
                               f.distrust_date + sizeof(f.distrust_date), f.distrust_kernel + sizeof(f.distrust_kernel)};
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                texts[i][-1] = '\0';
        round_trip(&f, &back);
        for (size_t i = 0; i < sizeof(f); i++)
                if (a[i] != b[i])
                        fail_msg("byte %zu of struct facts is in no report", i);
        return;
#endif
#endif
        skip();
}

static void words(void **state)
{
        struct facts f, back;

        memset(&f, 0, sizeof(f));
        for (unsigned i = 0; i < _DRIVER_MAX; i++) {
                f.driver = (enum driver) i;
                f.policy = (enum policy) i;
                f.policy_source = (enum policy_source) i;
                f.verdict = (enum verdict) (i % _VERDICT_MAX);
                f.uas_module = (enum uas_module) i;
                f.vid = (uint16_t) (0xffff - i);
                round_trip(&f, &back);
                assert_memory_equal(&f, &back, sizeof(f));
        }
}

static void block(void **state)
{
        struct view list[] = {sample_view("2-1:1.0", "sda", "S1"), sample_view("2-2:1.0", NULL, "\"\n" FACTS_BLOCK_END "\n")};
        json_object *o = facts_block_json(&(struct views){list, 2});
        char *text = json_text(o), *all, why[FACTS_BLOCK_WHY_MAX];
        struct recorded_decision d;
        struct facts_block b;
        int n;

        n = asprintf(&all, "hello\n" FACTS_BLOCK_BEGIN "\n%s\n" FACTS_BLOCK_END "\n", text);
        assert_true(n > 0);
        assert_int_equal(facts_block_read(all, (size_t) n, &b, why), 0);
        assert_int_equal(b.n, 2);
        assert_string_equal(b.version, UASD_VERSION);
        for (size_t i = 0; i < 2; i++) {
                recorded_decide(&list[i].disk.facts, &d);
                assert_true(recorded_same(&d, &b.disks[i].decision));
                assert_string_equal(b.disks[i].facts.serial, list[i].disk.facts.serial);
        }
        assert_string_equal(d.reason, "unknown-bridge");
        assert_string_equal(d.target, "uas");
        facts_block_done(&b);
        /* No beginning of it is enough. */
        for (size_t size = 0; size < strlen(all) - 1; size++)
                assert_true(facts_block_read(all, size, &b, why) < 0);
        free(all);
        free(text);
        json_object_put(o);
        view_done(&list[0]);
        view_done(&list[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_field),
                cmocka_unit_test(words),
                cmocka_unit_test(block),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

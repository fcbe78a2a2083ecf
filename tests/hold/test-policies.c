/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies of disks that are hard to distinguish: after a boot, a replug or a swap, the policy of one disk does not apply to the
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/state/policies.h"
#include "tree.h"

#define AUTO POLICY_AUTO
#define UAS POLICY_UAS
#define BOT POLICY_USB_STORAGE

/* A disk at a port, such as "2-1". The bus may have another number at the next boot. The controller stays. */
static struct facts at(const char *serial, unsigned bus, const char *chain)
{
        struct facts f = {.vid = 0x1209, .pid = 0x5a5a, .speed_mbps = 5000, .busnum = bus, .controller_device = "0000:00:14.0"};

        (void) copy_string(f.serial, sizeof(f.serial), serial);
        (void) snprintf(f.port, sizeof(f.port), "%u-%s", bus, chain);
        return f;
}

static enum policy policy_of(struct tree *t, const struct facts *f)
{
        enum policy p = AUTO;
        bool forced = false;

        assert_true(policy_lookup(&t->roots, f, &p, &forced) >= 0);
        return p;
}

/*
 * Two disks at ports 1 and 2. First their policies, set in this order while both are there. Then the policies in force at 1 and
 * at 2 after a swap, and after a boot that numbers the buses in another way.
 */
static const struct {
        const char *what, *serial[2];
        enum policy said[2], swapped[2];
} table[] = {
        {"by serial: it goes with the disk", {"ONE", "TWO"}, {BOT, UAS}, {UAS, BOT}},
        {"one alone", {"ONE", "TWO"}, {BOT, AUTO}, {AUTO, BOT}},
        {"the other alone", {"ONE", "TWO"}, {AUTO, UAS}, {UAS, AUTO}},
        {"without serials: it stays with the port", {"", ""}, {BOT, UAS}, {BOT, UAS}},
        {"without serials, one alone", {"", ""}, {BOT, AUTO}, {BOT, AUTO}},
        {"one serial for both", {"ALIKE", "ALIKE"}, {BOT, UAS}, {BOT, UAS}},
        {"one serial for both, one alone", {"ALIKE", "ALIKE"}, {BOT, AUTO}, {BOT, AUTO}},
        {"a serial, and none: the one that has none is known by its port", {"ONE", ""}, {BOT, UAS}, {AUTO, BOT}},
        {"serials with what ends a key", {"A@B", "A"}, {BOT, UAS}, {UAS, BOT}},
        {"serials that read like keys", {"A=uas", "A@0000:00:14.0/ss/1"}, {BOT, UAS}, {UAS, BOT}},
};

static void test_two(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct facts disk[2];
                struct tree t;
                bool twins;

                tree_make(&t);
                for (unsigned j = 0; j < 2; j++)
                        disk[j] = at(table[i].serial[j], 2, j ? "2" : "1");
                twins = facts_twins(disk, disk + 1);
                for (unsigned j = 0; j < 2; j++)
                        assert_int_equal(policy_store(&t.roots, disk + j, twins, table[i].said[j], false), 0);
                for (unsigned bus = 2; bus < 5; bus++)
                        for (unsigned j = 0; j < 2; j++) {
                                struct facts f = at(table[i].serial[j], bus, j ? "2" : "1"),
                                             other = at(table[i].serial[!j], bus, j ? "2" : "1");

                                if (policy_of(&t, &f) != table[i].said[j])
                                        fail_msg("%s: disk %u on bus %u", table[i].what, j + 1, bus);
                                if (policy_of(&t, &other) != table[i].swapped[j])
                                        fail_msg("%s: what is at %u after the swap, on bus %u", table[i].what, j + 1, bus);
                        }
                tree_remove(&t);
        }
}

/* A twin comes later. The policy of the name applies to it, too, until it gets its own. */
static void test_twin_comes(void **state)
{
        struct facts one = at("ALIKE", 2, "1"), two = at("ALIKE", 2, "2"), three = at("ALIKE", 2, "3");
        struct tree t;

        tree_make(&t);
        assert_int_equal(policy_store(&t.roots, &one, false, BOT, false), 0);
        assert_int_equal(policy_of(&t, &two), BOT);
        assert_int_equal(policy_store(&t.roots, &two, true, UAS, false), 0);
        assert_int_equal(policy_of(&t, &one), BOT);
        assert_int_equal(policy_of(&t, &two), UAS);
        assert_int_equal(policy_of(&t, &three), BOT);
        /* Auto of one disk is not auto of the other. */
        assert_int_equal(policy_store(&t.roots, &two, true, AUTO, false), 0);
        assert_int_equal(policy_of(&t, &one), BOT);
        assert_int_equal(policy_of(&t, &two), AUTO);
        /* When it is the only one again, its name identifies it, and no old policy interferes. */
        assert_int_equal(policy_store(&t.roots, &two, false, UAS, false), 0);
        assert_int_equal(policy_of(&t, &two), UAS);
        assert_int_equal(policy_of(&t, &one), UAS);
        assert_int_equal(policy_store(&t.roots, &two, false, AUTO, false), 0);
        assert_int_equal(policy_of(&t, &two), AUTO);
        assert_int_equal(policy_of(&t, &one), AUTO);
        assert_null(strstr(tree_read(&t, "etc/uasd/policy"), "ALIKE"));
        tree_remove(&t);
}

static void test_twins(void **state)
{
        struct facts one = at("ALIKE", 2, "1"), two = at("ALIKE", 2, "2");

        assert_true(facts_twins(&one, &two));
        assert_false(facts_twins(&one, &one)); /* two interfaces of one device */
        two.pid++;
        assert_false(facts_twins(&one, &two));
        two = at("OTHER", 2, "2");
        assert_false(facts_twins(&one, &two));
        one = at("", 2, "1");
        two = at("", 2, "2");
        assert_true(facts_twins(&one, &two));
}

/* A process keeps the lines that it has read. It sees what another one has written, and that the files are gone. */
static void test_changed_by_another(void **state)
{
        const enum policy said[] = {BOT, UAS, BOT, AUTO};
        struct facts disk = at("ONE", 2, "1");
        struct tree t;

        tree_make(&t);
        assert_int_equal(policy_of(&t, &disk), AUTO);
        for (size_t i = 0; i < ELEMENTSOF(said); i++) {
                pid_t child = fork();
                int status;

                assert_true(child >= 0);
                if (child == 0)
                        _exit(policy_store(&t.roots, &disk, false, said[i], false) < 0);
                assert_int_equal(waitpid(child, &status, 0), child);
                assert_int_equal(status, 0);
                assert_int_equal(policy_of(&t, &disk), said[i]);
        }
        assert_int_equal(policy_store(&t.roots, &disk, false, UAS, false), 0);
        assert_int_equal(policy_of(&t, &disk), UAS);
        assert_int_equal(unlinkat(t.roots.etc, "uasd/policy", 0), 0);
        assert_int_equal(policy_of(&t, &disk), UAS); /* of /var */
        assert_int_equal(unlinkat(t.roots.var, "lib/uasd/policy", 0), 0);
        assert_int_equal(policy_of(&t, &disk), AUTO);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two),
                cmocka_unit_test(test_twin_comes),
                cmocka_unit_test(test_twins),
                cmocka_unit_test(test_changed_by_another),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

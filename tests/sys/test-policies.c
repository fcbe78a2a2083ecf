/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies of disks that are hard to distinguish: after a boot, a replug or a swap, the policy of
 * one disk does not apply to the other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/state/conf.h"
#include "sys/state/settings.h"
#include "sys/state/store.h"
#include "tree.h"

#define AUTO POLICY_AUTO
#define UAS POLICY_UAS
#define BOT POLICY_USB_STORAGE

/* A disk at a port, such as "2-1". The bus may have another number at the next boot. The controller
 * stays. */
static struct facts at(const char *serial, unsigned bus, const char *chain)
{
        struct facts f = {.vid = 0x1209,
                          .pid = 0x5a5a,
                          .speed_mbps = 5000,
                          .busnum = bus,
                          .controller_device = "0000:00:14.0"};

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
 * Two disks at ports 1 and 2. First their policies, set in this order while both are there. Then
 * the policies in force at 1 and at 2 after a swap, and after a boot that numbers the buses in
 * another way.
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
        {"a serial, and none: the one that has none is known by its port",
         {"ONE", ""},
         {BOT, UAS},
         {AUTO, BOT}},
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
                        assert_int_equal(
                                policy_store(&t.roots, disk + j, twins, table[i].said[j], false),
                                0);
                for (unsigned bus = 2; bus < 5; bus++)
                        for (unsigned j = 0; j < 2; j++) {
                                struct facts f = at(table[i].serial[j], bus, j ? "2" : "1"),
                                             other = at(table[i].serial[!j], bus, j ? "2" : "1");

                                if (policy_of(&t, &f) != table[i].said[j])
                                        fail_msg("%s: disk %u on bus %u", table[i].what, j + 1,
                                                 bus);
                                if (policy_of(&t, &other) != table[i].swapped[j])
                                        fail_msg("%s: what is at %u after the swap, on bus %u",
                                                 table[i].what, j + 1, bus);
                        }
                tree_remove(&t);
        }
}

/* A twin comes later. The policy of the name applies to it, too, until it gets its own. */
static void test_twin_comes(void **state)
{
        struct facts one = at("ALIKE", 2, "1"), two = at("ALIKE", 2, "2"),
                     three = at("ALIKE", 2, "3");
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

/* A process keeps the lines that it has read. It sees what another one has written, and that the
 * files are gone. */
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

/* The number changes with each file, and only with that. Each file has its own. */
static void test_versions(void **state)
{
        struct facts one = at("ONE", 2, "1");
        const struct store *policies, *trims;
        unsigned version, other;
        struct tree t;

        tree_make(&t);
        version = store_version(&t.roots, STATE_POLICY);
        other = store_version(&t.roots, STATE_TRIM);
        assert_int_equal(store_version(&t.roots, STATE_POLICY), version);
        assert_int_equal(policy_store(&t.roots, &one, false, BOT, false), 0);
        assert_true(store_version(&t.roots, STATE_POLICY) > version);
        version = store_version(&t.roots, STATE_POLICY);
        assert_int_equal(policy_store(&t.roots, &one, false, UAS, false), 0);
        assert_true(store_version(&t.roots, STATE_POLICY) > version);
        version = store_version(&t.roots, STATE_POLICY);
        assert_int_equal(store_version(&t.roots, STATE_POLICY), version);
        assert_int_equal(store_version(&t.roots, STATE_TRIM), other);

        tree_write(&t, "etc/uasd/trim", "1209:5a5a:ONE=on 0:5\n");
        assert_int_equal(store_read(&t.roots, STATE_POLICY, &policies), 1);
        assert_int_equal(store_read(&t.roots, STATE_TRIM, &trims), 1);
        assert_non_null(strstr(policies->text, "\n1209:5a5a:ONE=uas\n")); /* still lent */
        assert_string_equal(trims->text, "1209:5a5a:ONE=on 0:5\n");
        tree_remove(&t);
}

/* Policies by the id that a user reads. They are those that the disk gets when it is plugged in. */
static void test_by_id(void **state)
{
        static const struct {
                const char *id;
                enum policy said;
                enum policy one, same_port, other_port, nameless;
        } ids[] = {
                {"1209:5a5a:ONE", BOT, BOT, AUTO, BOT, AUTO},
                {"1209:5a5a:ONE@0000:00:14.0/ss/1", BOT, BOT, AUTO, AUTO, AUTO},
                {"1209:5a5a:@0000:00:14.0/ss/1", BOT, AUTO, AUTO, AUTO, BOT},
                {"1209:5a5a:TWO", UAS, AUTO, UAS, AUTO, AUTO},
        };

        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                struct facts one = at("ONE", 2, "1"), same_port = at("TWO", 2, "1"),
                             other_port = at("ONE", 2, "2"), nameless = at("", 2, "1");
                struct tree t;
                bool forced = true;
                enum policy p;

                tree_make(&t);
                tree_write(&t, "etc/uasd/policy", "generation=7\n1209:5a5a:ELSE=ignore\n");
                assert_int_equal(policy_store_id(&t.roots, ids[i].id, ids[i].said, false), 0);
                if (policy_of(&t, &one) != ids[i].one ||
                    policy_of(&t, &same_port) != ids[i].same_port ||
                    policy_of(&t, &other_port) != ids[i].other_port ||
                    policy_of(&t, &nameless) != ids[i].nameless)
                        fail_msg("%s: %s", ids[i].id, tree_read(&t, "etc/uasd/policy"));
                assert_non_null(strstr(tree_read(&t, "etc/uasd/policy"),
                                       "generation=8\n1209:5a5a:ELSE=ignore\n"));
                if (ids[i].one != AUTO) {
                        assert_int_equal(policy_lookup(&t.roots, &one, &p, &forced), 1);
                        assert_false(forced);
                }
                assert_int_equal(policy_store_id(&t.roots, ids[i].id, ids[i].said, true), 0);
                if (ids[i].one != AUTO) {
                        assert_int_equal(policy_lookup(&t.roots, &one, &p, &forced), 1);
                        assert_true(forced);
                }
                assert_int_equal(policy_store_id(&t.roots, ids[i].id, AUTO, false), 0);
                assert_null(strstr(tree_read(&t, "etc/uasd/policy"), ids[i].id));
                assert_int_equal(policy_of(&t, &one), AUTO);
                tree_remove(&t);
        }
}

/* A policy for the name, and another one for its port: each is removed without the other. */
static void test_by_id_and_port(void **state)
{
        struct facts here = at("ONE", 2, "1"), there = at("ONE", 2, "2");
        const char *port = "1209:5a5a:ONE@0000:00:14.0/ss/1";
        struct tree t;

        tree_make(&t);
        assert_int_equal(policy_store_id(&t.roots, "1209:5a5a:ONE", BOT, false), 0);
        assert_int_equal(policy_store_id(&t.roots, port, UAS, false), 0);
        assert_int_equal(policy_of(&t, &here), UAS);
        assert_int_equal(policy_of(&t, &there), BOT);
        assert_int_equal(policy_store_id(&t.roots, port, AUTO, false),
                         0); /* auto there, not the policy of the name */
        assert_int_equal(policy_of(&t, &here), AUTO);
        assert_int_equal(policy_of(&t, &there), BOT);
        assert_int_equal(policy_store_id(&t.roots, "1209:5a5a:ONE", AUTO, false), 0);
        assert_int_equal(policy_of(&t, &there), AUTO);
        assert_int_equal(policy_store_id(&t.roots, port, AUTO, false), 0);
        assert_null(strstr(tree_read(&t, "etc/uasd/policy"), "ONE"));
        tree_remove(&t);
}

/* A file that cannot be read counts neither as empty, nor is it replaced. */
static void test_unreadable(void **state)
{
        struct facts one = at("ONE", 2, "1");
        struct config c;
        struct policy_rows rows = {};
        struct tree t;
        enum policy p = UAS;
        bool forced = true;

        tree_make(&t);
        tree_write(&t, "etc/uasd/policy/it", "is a folder");
        config_init(&c);
        assert_int_equal(policy_lookup(&t.roots, &one, &p, &forced), -EIO);
        assert_int_equal(p, UAS);
        assert_int_equal(policy_store(&t.roots, &one, false, BOT, false), -EIO);
        assert_int_equal(policy_list(&t.roots, &c, NULL, 0, &rows), -EIO);
        assert_null(rows.list);
        assert_false(tree_exists(&t, "var/lib/uasd/policy"));
        config_done(&c);
        tree_remove(&t);
}

/* One written copy is enough. The warning names the other one. */
static void test_one_copy(void **state)
{
        static const struct {
                const char *there, *blocked;
                int result;
                const char *warning;
        } copies[] = {
                {NULL, NULL, 0, ""},
                {"var/lib/uasd/policy", "etc/uasd", 0,
                 "Cannot write /etc/uasd/policy: Not a directory. /var/lib/uasd has the change, which a boot may read too late."},
                {"etc/uasd/policy", "var/lib/uasd", 0,
                 "Cannot write /var/lib/uasd/policy: Not a directory. /etc/uasd has the change, and no copy of it."},
                {NULL, "etc/uasd", -ENOTDIR,
                 ""}, /* its lines cannot be read: they are not replaced */
                {"etc/uasd/policy", NULL, 0, ""}, /* an earlier warning is over */
        };
        struct facts one = at("ONE", 2, "1");

        for (size_t i = 0; i < ELEMENTSOF(copies); i++) {
                struct tree t;

                tree_make(&t);
                if (copies[i].there)
                        tree_write(&t, copies[i].there, "1209:5a5a:ONE=uas\n");
                if (copies[i].blocked)
                        tree_link(&t, copies[i].blocked,
                                  "nowhere"); /* it has no files, and takes none */
                assert_int_equal(policy_store(&t.roots, &one, false, BOT, false), copies[i].result);
                assert_string_equal(store_warning(), copies[i].warning);
                if (copies[i].result == 0)
                        assert_int_equal(policy_of(&t, &one), BOT);
                tree_remove(&t);
        }
}

static struct facts plugged(const char *interface, const char *serial, const char *chain,
                            enum policy_source source, enum policy p)
{
        struct facts f = at(serial, 2, chain);

        (void) copy_string(f.interface, sizeof(f.interface), interface);
        f.policy_source = source;
        f.policy = p;
        return f;
}

static void test_list(void **state)
{
        struct facts disks[] = {
                plugged("2-1:1.0", "ONE", "1", POLICY_BY_USER, UAS),
                plugged("2-2:1.0", "TWO", "2", POLICY_BY_CONFIG, POLICY_IGNORE),
                plugged("2-3:1.0", "THREE", "3", POLICY_BY_CONFIG, BOT),
                plugged("2-4:1.0", "", "4", POLICY_BY_USER, BOT),
                plugged("2-5:1.0", "FIVE", "5", POLICY_BY_UDEV, UAS),
                plugged("2-6:1.0", "SIX", "6", POLICY_BY_CONFIG,
                        UAS), /* of another model, see below */
                plugged("2-7:1.0", "SEVEN", "7", POLICY_BY_NOBODY, AUTO),
                plugged("2-8:1.0", "FIVE", "8", POLICY_BY_UDEV, BOT),
        };
        const struct facts *list[ELEMENTSOF(disks)];
        char text[2048] = "";
        struct policy_rows rows;
        struct config c;
        struct tree t;

        tree_make(&t);
        disks[5].pid++;
        for (size_t i = 0; i < ELEMENTSOF(disks); i++)
                list[i] = disks + i;
        tree_write(
                &t, "etc/uasd/policy",
                "1209:5a5a:ONE=uas force\n1209:5a5a:GONE=ignore\n1209:5a5a:@0000:00:14.0/ss/4=usb-storage\nno=policy\n");
        tree_write(
                &t, "etc/uasd/uasd.conf",
                "[uasd]\nPolicy=uas\n[Disk 1209:5a5a]\nPolicy=usb-storage\n[Disk 1209:5a5a:TWO]\nPolicy=ignore\n");
        assert_int_equal(conf_load(&t.roots, &c, NULL, NULL), 0);
        assert_int_equal(policy_list(&t.roots, &c, list, ELEMENTSOF(list), &rows), 0);
        for (size_t i = 0; i < rows.n; i++) {
                const struct policy_row *row = rows.list + i;

                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s%s %s",
                                row->id, policy_to_string(row->policy),
                                row->forced ? " forced" : "", policy_source_to_string(row->source));
                for (size_t d = 0; d < row->n_disks; d++)
                        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
                                        row->disks[d]);
                strcat(text, "\n");
        }
        assert_string_equal(text, "1209:5a5a:ONE uas forced user 2-1:1.0\n"
                                  "1209:5a5a:GONE ignore user\n"
                                  "1209:5a5a:@0000:00:14.0/ss/4 usb-storage user 2-4:1.0\n"
                                  "1209:5a5a:FIVE uas udev 2-5:1.0\n"
                                  "1209:5a5a:FIVE usb-storage udev 2-8:1.0\n"
                                  "* uas config 2-6:1.0\n"
                                  "1209:5a5a usb-storage config 2-3:1.0\n"
                                  "1209:5a5a:TWO ignore config 2-2:1.0\n");
        policy_rows_done(&rows);
        assert_true(!rows.list && rows.n == 0);
        config_done(&c);

        tree_unlink(&t, "etc/uasd/policy");
        config_init(&c);
        assert_int_equal(policy_list(&t.roots, &c, NULL, 0, &rows), 0);
        assert_int_equal(rows.n, 0);
        config_done(&c);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two),
                cmocka_unit_test(test_twin_comes),
                cmocka_unit_test(test_twins),
                cmocka_unit_test(test_changed_by_another),
                cmocka_unit_test(test_versions),
                cmocka_unit_test(test_by_id),
                cmocka_unit_test(test_by_id_and_port),
                cmocka_unit_test(test_one_copy),
                cmocka_unit_test(test_unreadable),
                cmocka_unit_test(test_list),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

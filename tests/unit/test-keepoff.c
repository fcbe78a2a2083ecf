/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bridges that an initramfs keeps off uas. */
#include "core/keepoff.h"

#include "unit.h"

#define A .vid = 0x1209, .pid = 0x5a5a
#define B .vid = 0x0480, .pid = 0xd010 /* in the kernel's table, with y, from firmware 1.00 on */
#define C .vid = 0x0b05, .pid = 0x1932 /* in the kernel's table with u */
#define BOT .policy = POLICY_USB_STORAGE
#define UAS .policy = POLICY_UAS

static void test_entries(void **state)
{
        static const struct {
                struct kept_disk disks[3];
                const char *others, *quirks, *own;
        } table[] = {
                /* clang-format off */
                {{{0}}, "", "", ""},
                {{{0}}, "1:2:f", "1:2:f", ""},
                {{{A, .name = "one"}}, "", "", ""},
                {{{A, .name = "one", BOT}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", BOT}}, "1:2:f", "1209:5a5a:u,1:2:f", "1209:5a5a:u"},
                /* The same entry by another program; or a different entry, whose letters stay in force. */
                {{{A, .name = "one", BOT}}, "1209:5a5a:u", "1209:5a5a:u", ""},
                {{{A, .name = "one", BOT}}, "1209:5a5a:f", "1209:5a5a:fu,1209:5a5a:f", "1209:5a5a:fu"},
                /* The kernel's own flags stay. If its table has u, no entry is needed. */
                {{{B, .name = "one", BOT}}, "", "0480:d010:uy", "0480:d010:uy"},
                {{{C, .name = "one", BOT}}, "", "", ""},
                {{{A, .name = "one", .distrusted = true}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", BOT, .good = true}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", UAS, .distrusted = true}}, "", "", ""},
                {{{A, .name = "one", UAS, .distrusted = true, .trial_failed = true}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", .policy = POLICY_IGNORE, .distrusted = true}}, "", "", ""},
                /* Two of the same model: the kernel cannot distinguish them. */
                {{{A, .name = "one", BOT}, {A, .name = "two", BOT}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", BOT}, {A, .name = "two"}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", BOT}, {A, .name = "two", .distrusted = true}}, "", "1209:5a5a:u", "1209:5a5a:u"},
                {{{A, .name = "one", BOT}, {A, .name = "two", UAS}}, "", "", ""},
                {{{A, .name = "two", .good = true}, {A, .name = "one", BOT}}, "", "", ""},
                {{{A, .name = "one", BOT}, {A, .name = "two", .policy = POLICY_IGNORE}}, "", "", ""},
                {{{A, .name = "", UAS}, {A, .name = "one", BOT}}, "", "", ""},
                {{{A, .name = "one", .good = true, .distrusted = true}}, "", "", ""},
                /* This bridge would have no driver off uas, so it gets no entry, whatever the reason. */
                {{{A, .name = "", .uas_alone = true}, {A, .name = "one", BOT}}, "", "", ""},
                {{{A, .name = "", .uas_alone = true, BOT}, {A, .name = "one", .distrusted = true}}, "", "", ""},
                {{{A, .name = "", .uas_alone = true}, {B, .name = "one", BOT}}, "", "0480:d010:uy", "0480:d010:uy"},
                {{{A, .name = "one", .distrusted = true}, {B, .name = "two", BOT}, {B, .name = "three", BOT}}, "9:9:u",
                 "1209:5a5a:u,0480:d010:uy,9:9:u", "1209:5a5a:u,0480:d010:uy"},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct kept_disks k = {(struct kept_disk *) table[i].disks, 0};
                struct keepoff made;

                while (k.n < 3 && table[i].disks[k.n].name)
                        k.n++;
                assert_int_equal(keepoff_entries(&k, table[i].others, false, &made), 0);
                assert_row(i, streq(made.quirks, table[i].quirks));
                assert_row(i, streq(made.own, table[i].own));
                assert_row(i, made.n_left_out == 0);
                keepoff_done(&made);
        }
}

static void test_uas_alone(void **state)
{
        struct facts alone = {.vid = 0x1209, .pid = 1, .caps = {.uas = true, .pipes = true}};
        struct kept_disks k = {0};

        kept_disk(&k, 0x1209, 1, "one")->policy = POLICY_USB_STORAGE;
        kept_disk(&k, 0x1209, 2, "")->policy = POLICY_USB_STORAGE;
        assert_true(keepoff_wanted(&k, 0x1209, 1) && keepoff_wanted(&k, 0x1209, 2));
        assert_false(keepoff_wanted(&k, 0x1209, 3)); /* no record */
        assert_int_equal(kept_disks_plugged(&k, &alone, false), 0);
        assert_false(keepoff_wanted(&k, 0x1209, 1));
        assert_true(keepoff_wanted(&k, 0x1209, 2));
        alone.pid = 2;
        assert_int_equal(kept_disks_plugged(&k, &alone, false), 0);
        assert_false(keepoff_wanted(&k, 0x1209, 2));
        assert_int_equal(k.n, 3);
        kept_disks_done(&k);
}

/* A disk that is plugged in without UAS gets no entry. A disk with the same VID:PID still does, and
 * so does a setting for all. */
static void test_no_uas(void **state)
{
        static const struct {
                const char *serial;
                bool twin, uas, pipes, bot, wanted;
        } table[] = {
                {"one", .bot = true, .wanted = false},
                {"one", .bot = true, .uas = true, .wanted = false},
                {"one", .bot = true, .uas = true, .pipes = true, .wanted = true},
                {"two", .bot = true, .wanted = true},
                {"", .bot = true, .wanted = true},
                {"one", .bot = true, .twin = true, .wanted = true},
        };
        struct facts f = {A, .interface = "2-1:1.0", .controller = "0000:00:14.0"};

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct kept_disk one = {A, .name = (char[]){"one"}, BOT},
                                 every = {A, .name = (char[]){""}, BOT};
                struct kept_disks k = {&one, 1}, model = {&every, 1};

                (void) copy_string(f.serial, sizeof(f.serial), table[i].serial);
                f.caps = (struct uas_caps){
                        .uas = table[i].uas, .pipes = table[i].pipes, .bot = table[i].bot};
                assert_int_equal(kept_disks_plugged(&k, &f, table[i].twin), 0);
                assert_int_equal(kept_disks_plugged(&model, &f, table[i].twin), 0);
                assert_row(i, keepoff_wanted(&k, f.vid, f.pid) == table[i].wanted);
                assert_row(i, keepoff_wanted(&model, f.vid, f.pid));
        }
}

/* An entry that does not fit is left out and named. Distrust goes first, and the entries of others
 * always stay. */
static void test_room(void **state)
{
        static const char others[] =
                "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,"
                "3333:3333:abcdefghijklmnopqrstuwy,1:1:u";
        struct kept_disks k = {0};
        struct kept_disk *disk;
        struct keepoff made;

        disk = kept_disk(&k, 0x1209, 1, "distrusted");
        disk->distrusted = true;
        assert_ptr_equal(kept_disk(&k, 0x1209, 1, "distrusted"), disk);
        kept_disk(&k, 0x1209, 1, "alike")->distrusted = true;
        kept_disk(&k, 0x1209, 3, "@1.4")->distrusted = true;
        kept_disk(&k, 0x1209, 4, "")->distrusted = true;
        kept_disk(&k, 0x1209, 2, "policy")->policy = POLICY_USB_STORAGE;
        assert_int_equal(k.n, 5);
        assert_int_equal(keepoff_entries(&k, others, false, &made), 0);
        assert_string_equal(made.own, "1209:0002:u");
        assert_int_equal(strlen(made.quirks), strlen(others) + strlen("1209:0002:u,"));
        assert_int_equal(made.n_left_out, 3);
        assert_string_equal(made.left_out[0], "1209:0001:u");
        assert_string_equal(made.left_out_disks[0], "1209:0001:distrusted");
        assert_string_equal(made.left_out_disks[1], "1209:0003@1.4");
        assert_string_equal(made.left_out_disks[2], "1209:0004");
        keepoff_done(&made);
        kept_disks_done(&k);
}

/* A disk is on record by its serial, and also by its port if it has none, or if another one has the
 * same. */
static void test_name(void **state)
{
        static const struct {
                const char *serial, *port;
                bool twin;
                const char *name;
        } table[] = {
                {"S1", "2-1.4", false, "S1"},
                {"S1", "2-1.4", true, "S1@1.4"},
                {"", "2-1.4", false, "@1.4"},
                {"a=b", "2-1", false, "a\\x3db"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct facts f = {.vid = 0x1209, .pid = 0x5a5a, .speed_mbps = 480};
                char name[128];

                (void) copy_string(f.serial, sizeof(f.serial), table[i].serial);
                (void) copy_string(f.port, sizeof(f.port), table[i].port);
                assert_string_equal(kept_name(&f, table[i].twin, name, sizeof(name)),
                                    table[i].name);
        }
}

/* Two disks that only their ports tell apart. */
static void test_twins(void **state)
{
        const struct facts one = {A, .serial = "S1", .port = "2-1"};
        static const struct {
                struct facts f;
                bool twin;
        } table[] = {
                {{A, .serial = "S1", .port = "2-2"}, true},
                {{A, .serial = "S1", .port = "2-1"}, false}, /* the same disk */
                {{A, .serial = "S2", .port = "2-2"}, false},
                {{.vid = 0x1209, .pid = 1, .serial = "S1", .port = "2-2"}, false},
                {{.vid = 1, .pid = 0x5a5a, .serial = "S1", .port = "2-2"}, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, facts_twins(&one, &table[i].f) == table[i].twin);
}

#define CAPABLE                                                                                    \
        .caps = {.bot = true, .uas = true, .pipes = true}, .authorized = true, .driver = DRIVER_UAS

/* What the initramfs should know: also what Unknown= says, but no override, which ends with the
 * attachment. */
static void test_policy(void **state)
{
        static const struct {
                struct facts f;
                enum policy policy;
        } table[] = {
                {{CAPABLE, .policy = POLICY_UAS}, POLICY_UAS},
                {{CAPABLE, .policy = POLICY_USB_STORAGE}, POLICY_USB_STORAGE},
                {{CAPABLE, .policy = POLICY_IGNORE}, POLICY_IGNORE},
                {{CAPABLE, .unknown_target = DRIVER_UAS}, POLICY_AUTO},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE}, POLICY_USB_STORAGE},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE, .verdict = VERDICT_GOOD},
                 POLICY_AUTO},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE, .override_target = DRIVER_UAS},
                 POLICY_USB_STORAGE},
                {{CAPABLE, .unknown_target = DRIVER_UAS, .override_target = DRIVER_USB_STORAGE},
                 POLICY_AUTO},
                /* The present attachment does not change that. */
                {{.caps = {.bot = true, .uas = true, .pipes = true},
                  .authorized = true,
                  .driver = DRIVER_OTHER,
                  .unknown_target = DRIVER_USB_STORAGE},
                 POLICY_USB_STORAGE},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE, .just_unbound = true},
                 POLICY_USB_STORAGE},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE, .no_sg = true},
                 POLICY_USB_STORAGE},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE, .no_streams = true,
                  .speed_mbps = 5000},
                 POLICY_USB_STORAGE},
                {{CAPABLE, .unknown_target = DRIVER_USB_STORAGE, .uas_kept_away = true},
                 POLICY_USB_STORAGE},
                {{.caps = {.bot = true, .uas = true, .pipes = true},
                  .unknown_target = DRIVER_USB_STORAGE},
                 POLICY_USB_STORAGE}, /* not authorized */
                {{.caps = {.bot = true}, .policy = POLICY_UAS, .authorized = true}, POLICY_AUTO},
                {{.caps = {.bot = true, .uas = true}, .policy = POLICY_UAS, .authorized = true},
                 POLICY_AUTO},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, kept_policy(&table[i].f) == table[i].policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_entries), cmocka_unit_test(test_uas_alone),
                cmocka_unit_test(test_no_uas),  cmocka_unit_test(test_room),
                cmocka_unit_test(test_name),    cmocka_unit_test(test_twins),
                cmocka_unit_test(test_policy),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

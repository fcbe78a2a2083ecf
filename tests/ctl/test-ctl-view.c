/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

static void sizes(void **state)
{
        static const struct {
                uint64_t size;
                const char *text;
        } rows[] = {
                {0, "0B"},
                {1023, "1023B"},
                {1024, "1K"},
                {1536, "1.5K"},
                {1024 * 1024 - 1, "1024K"},
                {1024 * 1024, "1M"},
                {500107862016, "465.8G"},
                {2000398934016, "1.8T"},
                {UINT64_MAX, "16E"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[32];

                assert_string_equal(size_text(rows[i].size, text, sizeof(text)), rows[i].text);
        }
}

static void labels(void **state)
{
        _cleanup_(view_done) struct view a = sample_view("2-1:1.0", "sdb", ""),
                                         b = sample_view("2-2:1.0", NULL, "");
        char label[VIEW_LABEL_MAX];

        assert_string_equal(view_label(&a, label), "2-1:1.0 (sdb)");
        assert_string_equal(view_label(&b, label), "2-2:1.0");
}

static void sorted(void **state)
{
        _cleanup_(views_done) struct views views = {};
        static const char *const names[] = {"2-10:1.0", "2-2:1.0", "1-1:1.0"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                struct view v = sample_view(names[i], NULL, "");

                views_add(&views, &v);
                assert_string_equal(v.reason, "");
                views_sort(&views);
        }
        assert_string_equal(views.list[0].disk.facts.interface, "1-1:1.0");
        assert_string_equal(views.list[1].disk.facts.interface, "2-2:1.0");
        assert_ptr_equal(views_find(&views, "2-10:1.0"), &views.list[2]);
        assert_null(views_find(&views, "2-1"));
}

static void users(void **state)
{
        static const struct {
                struct user user;
                const char *text;
        } rows[] = {
                {{USER_MOUNT, "sdb1", (char *) "/mnt"}, "mounted on /mnt (sdb1)"},
                {{USER_MOUNT, "sdb1", (char *) "/mnt", (char *) "mnt:[7]", 9},
                 "mounted on /mnt in the namespace mnt:[7], pid 9 (sdb1)"},
                {{USER_SWAP, "sdb2"}, "used as swap (sdb2)"},
                {{USER_HOLDER, "sdb1", (char *) "dm-0"}, "held by dm-0 (sdb1)"},
                {{USER_OPEN, "sdb", NULL, NULL, 5, (char *) "dd"}, "opened by dd, pid 5 (sdb)"},
                {{USER_LOOP, "sdb", (char *) "loop0"}, "behind loop0 (sdb)"},
                {{USER_CLAIM, "sdb"}, "claimed by a program (sdb)"},
                {{USER_CLAIM, "sdb", (char *) "ZFS pool tank"}, "claimed by ZFS pool tank (sdb)"},
                {{USER_CLAIM, "sdb", NULL, NULL, 0, (char *) "fio"}, "claimed by fio (sdb)"},
                {{USER_MOUNT, ""}, "mounted on ?"},
                {{USER_HOLDER, "sdb1"}, "held by another block device (sdb1)"},
                {{USER_LOOP, "sdb"}, "behind a loop device (sdb)"},
                {{USER_OPEN, "sdb", NULL, NULL, 5, NULL, (char *) "x.service"},
                 "opened by a process, pid 5 of x.service (sdb)"},
        };
        char text[256], little[8];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_string_equal(user_text(&rows[i].user, text, sizeof(text)), rows[i].text);
        assert_string_equal(user_text(&rows[1].user, little, sizeof(little)), "mounted");
}

/* The words of the table. */
static void words(void **state)
{
        _cleanup_(view_done) struct view a = sample_view("2-1:1.0", "sdb", ""),
                                         b = sample_view("2-2:1.0", NULL, "");
        struct lun *lun = calloc(2, sizeof(*lun));

        assert_string_equal(view_name(&a), "sdb");
        assert_string_equal(view_name(&b), "2-2");
        assert_non_null(lun); /* a card reader whose first slot is empty */
        (void) copy_string(lun[1].disk.name, BLOCK_NAME_MAX, "sdc");
        b.disk.luns = lun;
        b.disk.n_luns = 2;
        assert_string_equal(view_name(&b), "sdc");

        assert_string_equal(view_driver(&a), "usb-storage");
        a.disk.facts.driver = DRIVER_OTHER;
        (void) copy_string(a.disk.facts.driver_name, sizeof(a.disk.facts.driver_name), "usbfs");
        assert_string_equal(view_driver(&a), "usbfs");
        a.disk.facts.driver = DRIVER_NONE;
        a.disk.facts.driver_name[0] = '\0';
        assert_null(view_driver(&a));

        assert_string_equal(view_why(&b), "fastest");
        (void) copy_string(b.reason_id, sizeof(b.reason_id), "of-a-newer-uasd");
        assert_string_equal(view_why(&b), "of-a-newer-uasd");
        b.disk.inhibited = strdup("dd: busy.");
        assert_string_equal(view_why(&b), "of-a-newer-uasd");
        b.disk.state = STATE_WAITING;
        assert_string_equal(view_why(&b), "inhibited");
}

static void products(void **state)
{
        static const char *const rows[][3] = {{"Maker", "Disk", "Maker Disk"},
                                              {"Maker", "", "Maker"},
                                              {"", "Disk", "Disk"},
                                              {"", "", ""}};

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(view_done) struct view v = sample_view("2-1:1.0", NULL, "");
                char text[64];

                (void) copy_string(v.disk.facts.manufacturer, USB_STRING_MAX, rows[i][0]);
                (void) copy_string(v.disk.facts.product, USB_STRING_MAX, rows[i][1]);
                assert_string_equal(view_product(&v, text, sizeof(text)), rows[i][2]);
        }
}

/* The words of uasd replace what uasctl has found out; the users only if they are wanted. */
static void whole_course(void **state)
{
        for (int wanted = 0; wanted < 2; wanted++) {
                _cleanup_(courses_done) struct courses l = {.list = calloc(1, sizeof(*l.list))};
                _cleanup_(view_done) struct view v = sample_view("2-1:1.0", NULL, ""),
                                                 other = sample_view("2-2:1.0", NULL, "");
                struct disk *d = &v.disk;

                assert_non_null(l.list);
                l.n = 1;
                sample_user(&v, USER_SWAP, "sdb2", NULL);
                sample_user(&other, USER_MOUNT, "sdb1", "/mnt");
                d->unattended = true;
                d->inhibited = strdup("an older reason");
                l.list[0] = (struct course){.state = STATE_WAITING,
                                            .target = DRIVER_UAS,
                                            .verdict = VERDICT_GOOD,
                                            .cancelled = true,
                                            .since = 11,
                                            .ends = 12,
                                            .lease = "A lease.",
                                            .inhibited = strdup("dd: busy."),
                                            .outcome = {7, "bind", "No."},
                                            .users = TAKE_PTR(other.disk.users),
                                            .n_users = 1};
                other.disk.n_users = 0;
                view_take_course(&v, l.list, wanted);
                assert_int_equal(d->state, STATE_WAITING);
                assert_int_equal(d->decision.target, DRIVER_UAS);
                assert_int_equal(d->facts.verdict, VERDICT_GOOD);
                assert_true(d->cancelled);
                assert_false(d->unattended);
                assert_int_equal(v.since, 11);
                assert_int_equal(v.ends, 12);
                assert_string_equal(d->lease, "A lease.");
                assert_string_equal(d->inhibited, "dd: busy.");
                assert_int_equal(d->outcome.code, 7);
                assert_string_equal(d->outcome.text, "No.");
                assert_int_equal(d->n_users, 1);
                assert_int_equal(d->users[0].kind, wanted ? USER_MOUNT : USER_SWAP);
                assert_int_equal(l.list[0].n_users, wanted ? 0 : 1);
        }
}

/* uasd has the last word on the reason. A newer one may know more of them. */
static void reasons(void **state)
{
        for (int i = 0; i <= _REASON_MAX; i++) {
                _cleanup_(view_done) struct view v = sample_view("2-1:1.0", NULL, "");
                const char *id = i < _REASON_MAX ? reason_to_string((enum reason) i) : "of-newer";
                struct course course = {.state = STATE_SETTLED};

                (void) copy_string(course.reason_id, sizeof(course.reason_id), id);
                v.disk.decision.reason = REASON_FASTEST;
                view_take_course(&v, &course, true);
                assert_int_equal(v.disk.decision.reason, i < _REASON_MAX ? i : REASON_FASTEST);
        }
}

static void pending(void **state)
{
        for (int s = 0; s < _STATE_MAX; s++)
                assert_int_equal(state_is_pending((enum state) s),
                                 s == STATE_HELD || s == STATE_WAITING || s == STATE_SWITCHING);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes),        cmocka_unit_test(labels),
                cmocka_unit_test(sorted),       cmocka_unit_test(users),
                cmocka_unit_test(words),        cmocka_unit_test(pending),
                cmocka_unit_test(reasons),      cmocka_unit_test(products),
                cmocka_unit_test(whole_course),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

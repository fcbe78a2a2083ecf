/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include "ctl/schema.h"

/* Converts to text and back: the result for a reader. */
static json_object *round_trip(json_object *o)
{
        _cleanup_free_ char *text = NULL;
        json_object *back;

        assert_non_null(o);
        text = json_text(o);
        assert_non_null(text);
        for (const char *c = text; *c; c++)
                assert_true((*c >= ' ' && *c < 0x7f) || *c == '\n');
        json_object_put(o);
        back = json_tokener_parse(text);
        assert_non_null(back);
        return back;
}

static json_object *get(json_object *o, const char *key)
{
        json_object *value;

        if (!json_object_object_get_ex(o, key, &value))
                fail_msg("no '%s'", key);
        return value;
}

static const char *string(json_object *o, const char *key)
{
        assert_true(json_object_is_type(get(o, key), json_type_string));
        return json_object_get_string(get(o, key));
}

static json_object *document_of(struct view *v, json_object **ret_disk)
{
        json_object *o = round_trip(sample_json(v, NULL, NULL));

        assert_int_equal(json_object_get_int(get(o, "version")), 1);
        assert_int_equal(json_object_array_length(get(o, "disks")), 1);
        *ret_disk = json_object_array_get_idx(get(o, "disks"), 0);
        return o;
}

static void contract(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");
        json_object *o, *d;

        v.disk.decision.target = DRIVER_UAS;
        v.disk.state = STATE_WAITING;
        o = document_of(&v, &d);
        assert_string_equal(string(d, "id"), "2-1:1.0");
        assert_string_equal(string(d, "interface"), "2-1:1.0");
        assert_string_equal(string(d, "vendor_id"), "1209");
        assert_string_equal(string(d, "product_id"), "5a5a");
        assert_string_equal(string(d, "revision"), "0214");
        assert_string_equal(string(d, "manufacturer"), "Maker");
        assert_string_equal(string(d, "product"), "Disk");
        assert_string_equal(string(d, "serial"), "S1");
        assert_true(json_object_is_type(get(d, "speed_mbps"), json_type_int));
        assert_int_equal(json_object_get_int(get(d, "speed_mbps")), 5000);
        assert_string_equal(string(d, "usb_version"), "3.20");
        assert_string_equal(string(d, "driver"), "usb-storage");
        assert_true(json_object_get_boolean(get(d, "capable")));
        assert_string_equal(string(d, "policy"), "auto");
        assert_string_equal(string(d, "target"), "uas");
        assert_string_equal(string(d, "state"), "waiting");
        assert_string_equal(string(d, "reason"), "Nothing speaks against it.");
        assert_string_equal(string(d, "reason_id"), "fastest");
        assert_string_equal(string(d, "verdict"), "unknown");
        assert_true(json_object_object_get_ex(d, "history", NULL));
        assert_string_equal(string(d, "host"), "host3");
        assert_int_equal(json_object_array_length(get(d, "disks")), 1);
        assert_int_equal(json_object_array_length(get(d, "busy")), 0);
        assert_false(json_object_object_get_ex(d, "outcome", NULL));

        d = json_object_array_get_idx(get(d, "disks"), 0);
        assert_string_equal(string(d, "name"), "sdb");
        assert_int_equal(json_object_get_int(get(d, "lun")), 0);
        assert_true(json_object_get_int64(get(d, "size")) == 2000398934016);
        json_object_put(o);
}

static void nulls(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", NULL, "");
        json_object *o, *d;

        v.disk.facts.driver = DRIVER_NONE;
        v.disk.facts.driver_name[0] = '\0';
        v.disk.facts.caps.pipes = false;
        v.disk.host[0] = '\0';
        o = document_of(&v, &d);
        assert_null(get(d, "driver"));
        assert_null(get(d, "target"));
        assert_null(get(d, "host"));
        assert_false(json_object_get_boolean(get(d, "capable")));
        assert_int_equal(json_object_array_length(get(d, "disks")), 0);
        json_object_put(o);
}

/* The speed that the link could have, or null. */
static void speeds(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");
        json_object *o, *d;

        o = document_of(&v, &d);
        assert_int_equal(json_object_get_int(get(d, "speed_mbps")), 5000);
        assert_null(get(d, "max_speed_mbps"));
        json_object_put(o);
        v.disk.facts.max_speed_mbps = 10000;
        o = document_of(&v, &d);
        assert_int_equal(json_object_get_int(get(d, "max_speed_mbps")), 10000);
        json_object_put(o);
}

static void another_driver(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", NULL, "");
        json_object *o, *d;

        v.disk.facts.driver = DRIVER_OTHER;
        (void) copy_string(v.disk.facts.driver_name, sizeof(v.disk.facts.driver_name), "usbfs");
        o = document_of(&v, &d);
        assert_string_equal(string(d, "driver"), "usbfs");
        json_object_put(o);
}

static void busy_and_outcome(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");
        json_object *o, *d, *u;

        sample_user(&v, USER_MOUNT, "sdb1", "/mnt/usb");
        v.disk.users[0].namespace = strdup("mnt:[4026532243]");
        sample_user(&v, USER_OPEN, "sdb", NULL);
        v.disk.users[1].pid = 123;
        v.disk.users[1].command = strdup("smartd");
        v.disk.outcome = (struct outcome){7, "bind", "It did not come back."};
        o = document_of(&v, &d);

        u = json_object_array_get_idx(get(d, "busy"), 0);
        assert_string_equal(string(u, "kind"), "mount");
        assert_string_equal(string(u, "device"), "sdb1");
        assert_string_equal(string(u, "where"), "/mnt/usb");
        assert_string_equal(string(u, "namespace"), "mnt:[4026532243]");
        assert_false(json_object_object_get_ex(u, "pid", NULL));
        u = json_object_array_get_idx(get(d, "busy"), 1);
        assert_string_equal(string(u, "kind"), "open");
        assert_int_equal(json_object_get_int(get(u, "pid")), 123);
        assert_string_equal(string(u, "command"), "smartd");
        assert_false(json_object_object_get_ex(u, "where", NULL));

        u = get(d, "outcome");
        assert_int_equal(json_object_get_int(get(u, "code")), 7);
        assert_string_equal(string(u, "step"), "bind");
        assert_string_equal(string(u, "text"), "It did not come back.");
        json_object_put(o);
}

/* A device may have any name. */
static void hostile_strings(void **state)
{
        static const struct {
                const char *said, *read;
        } rows[] = {
                {"\033]0;x\a\"\\/\n", "\033]0;x\a\"\\/\n"},
                {"Gr\xc3\xb6\xc3\x9f"
                 "e",
                 "Gr\xc3\xb6\xc3\x9f"
                 "e"},
                {"\xf0\x9f\x92\xbe", "\xf0\x9f\x92\xbe"}, /* more than 16 bits: a pair */
                {"\xef\xbf\xbf\xf0\x90\x80\x80",
                 "\xef\xbf\xbf\xf0\x90\x80\x80"}, /* the last without, and the first with one */
                {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},                 /* the last of all */
                {"\x7f\xc2\x9b", "\x7f\xc2\x9b"},                         /* DEL and CSI */
                {"a\xff\xfe", "a\xef\xbf\xbd\xef\xbf\xbd"},               /* not UTF-8 */
                {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
                {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half a pair */
                {"\xf0\x9f", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* cut short */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(view_done) struct view v = sample_view("2-1:1.0", NULL, "");
                json_object *o, *d;

                (void) copy_string(v.disk.facts.product, sizeof(v.disk.facts.product),
                                   rows[i].said);
                o = document_of(&v, &d);
                assert_string_equal(string(d, "product"), rows[i].read);
                json_object_put(o);
        }
}

static void rows_of_explain(void **state)
{
        const struct explain_row rows[] = {
                {REASON_NO_UAS, false, false, false, "alternate setting 1 is 08/06/62",
                 "It has none.", NULL},
                {REASON_FASTEST, true, true, false, "", "The fastest.", "Do this."},
        };
        json_object *o = round_trip(json_rows(rows, ELEMENTSOF(rows), true)), *r;

        assert_int_equal(json_object_array_length(o), 2);
        r = json_object_array_get_idx(o, 0);
        assert_string_equal(string(r, "reason_id"), "no-uas");
        assert_false(json_object_get_boolean(get(r, "fits")));
        assert_null(get(r, "remedy"));
        r = json_object_array_get_idx(o, 1);
        assert_true(json_object_get_boolean(get(r, "decides")));
        assert_string_equal(string(r, "remedy"), "Do this.");
        assert_false(json_object_get_boolean(get(r, "applies")));
        json_object_put(o);
}

static void database(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");
        struct db_entry e = {.chip = "Chip\033", .n_says = 2};
        json_object *o, *d, *s;

        assert_int_equal(db_says_parse("bad;0100-0210;*;List one;2026-10;slow", &e.says[0]), 0);
        assert_int_equal(db_says_parse("good;*;x86;List two;2026-11", &e.says[1]), 0);
        o = round_trip(sample_json(&v, "database", json_database(&e, 0x0210, "x86_64")));
        d = json_object_array_get_idx(get(o, "disks"), 0);
        assert_string_equal(string(d, "id"), "2-1:1.0");
        d = get(d, "database");
        assert_string_equal(string(d, "chip"), "Chip\033");
        assert_string_equal(string(d, "verdict"), "unknown");
        assert_true(json_object_get_boolean(get(d, "conflict")));
        assert_false(json_object_get_boolean(get(d, "overruled")));
        assert_string_equal(string(d, "platform"), "x86_64");
        assert_int_equal(json_object_array_length(get(d, "statements")), 2);
        s = json_object_array_get_idx(get(d, "statements"), 0);
        assert_string_equal(string(s, "verdict"), "bad");
        assert_string_equal(string(s, "firmware_min"), "0100");
        assert_string_equal(string(s, "firmware_max"), "0210");
        assert_true(json_object_get_boolean(get(s, "firmware_fits")));
        assert_string_equal(string(s, "source"), "List one");
        assert_string_equal(string(s, "date"), "2026-10");
        assert_string_equal(string(s, "note"), "slow");
        s = json_object_array_get_idx(get(d, "statements"), 1);
        assert_string_equal(string(s, "host"), "x86");
        assert_true(json_object_get_boolean(get(s, "host_fits")));
        assert_null(get(s, "note"));
        json_object_put(o);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(contract),        cmocka_unit_test(nulls),
                cmocka_unit_test(another_driver),  cmocka_unit_test(busy_and_outcome),
                cmocka_unit_test(hostile_strings), cmocka_unit_test(rows_of_explain),
                cmocka_unit_test(database),        cmocka_unit_test(speeds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

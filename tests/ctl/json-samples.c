/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include <limits.h>

#include "core/disk-words.h"
#include "ctl/schema.h"

/* One of each JSON object, a line each: with every member, and with as few as possible. */

static struct view full(void)
{
        struct view v = sample_view("2-1:1.0", "sdb", "S1");
        struct user *u;

        v.disk.facts.max_speed_mbps = 10000;
        v.disk.decision.target = DRIVER_UAS;
        (void) copy_string(v.history, sizeof(v.history), "on trial");
        (void) copy_string(
                v.diagnosis, sizeof(v.diagnosis),
                "Not uas: the power supply. Under usb-storage: over-current at its port.");
        (void) copy_string(v.disk.lease, sizeof(v.disk.lease), "fio (7) has it for itself.");
        v.disk.outcome = (struct outcome){7, "bind", "It did not come back."};
        sample_user(&v, USER_MOUNT, "sdb1", "/mnt/usb");
        u = v.disk.users;
        u->namespace = strdup("mnt:[4026532243]");
        u->command = strdup("sh");
        u->unit = strdup("x.service");
        u->pid = 7;
        sample_user(&v, USER_SWAP, "sdb2", NULL);
        return v;
}

static struct view little(void)
{
        struct view v = sample_view("2-2:1.0", NULL, "");

        v.disk.facts.driver = DRIVER_NONE;
        v.disk.facts.driver_name[0] = '\0';
        v.disk.host[0] = '\0';
        return v;
}

int main(void)
{
        static const struct lun lun = {.disk.name = "sdb"};
        static const struct explain_row rows[] = {
                {REASON_NO_UAS, false, false, false, "", NULL, NULL},
                {REASON_FASTEST, true, true, true, "nothing", "The fastest.", "Do this."},
        };
        struct quirk_line line = {QUIRK_MODPROBE, (char *) "/etc/modprobe.d/a.conf", 3,
                                  (char *) "1209:5a5a:u"};
        const struct quirk_word words[] = {
                {"1209:5a5a:u", QUIRK_MODPROBE, QUIRK_IN_FORCE, &line, NULL},
                {"1209:5a5a:", QUIRK_RUN_TIME, QUIRK_SECOND, NULL, NULL},
        };
        char *entry[] = {(char *) "1209:5a5b:u"}, *whose[] = {(char *) "1209:5a5b:S2"};
        const struct keepoff boot = {.quirks = "1209:5a5a:u",
                                     .own = "1209:5a5a:u",
                                     .left_out = entry,
                                     .left_out_disks = whose,
                                     .n_left_out = 1},
                             nothing = {};
        const struct link_facts fast = {.speed_mbps = 5000, .able = LINK_ABLE},
                                slow = {.speed_mbps = 480,
                                        .able = LINK_ABLE,
                                        .controller_mbps = 5000,
                                        .steps = {{LINK_PEER_NONE, "1-2", 0x0200, false},
                                                  {LINK_PEER_THERE, "usb1", 0x0200, true}},
                                        .n_steps = 2};
        struct lun_health luns[] = {{.lun = &lun,
                                     .counts = {{9, 8, 7, 6}, {true, true, true, true}},
                                     {.offer = TRIM_OFFER_YES, .mode = "full"},
                                     {.told = true, .type = "sat", .passed = 1, .temperature = 34}},
                                    {.lun = &lun,
                                     .smart = {.told = true,
                                               .why_not = "it is distrusted",
                                               .passed = -1,
                                               .temperature = INT_MIN}}};
        json_object *bridges = json_list(), *names = json_list(), *inhibitors = json_list(),
                    *signs = json_list(), *commands = json_list();
        const struct health health = {.luns = luns, .n_luns = ELEMENTSOF(luns)};
        struct log_entry happened[] = {
                {.usec = 1}, {.record = true, .values = {[EVENT_WORD] = (char *) "passed"}}};
        _cleanup_(view_done) struct view f = full(), l = little(), ended = little();
        struct policy_row policies[] = {{.id = (char *) "1209:5a5a:S1",
                                         .policy = POLICY_UAS,
                                         .forced = true,
                                         .source = POLICY_BY_USER,
                                         .disks = (char *[]){(char *) "2-1:1.0"},
                                         .n_disks = 1}};
        const char *const changed[] = {"state", NULL};
        struct db_entry known = {.chip = "Chip", .n_says = 2}, unknown = {};
        int r = 0;

        for (enum event_value v = 0; v < _EVENT_VALUE_MAX; v++)
                happened[0].values[v] = (char *) "word";
        append(names, json_name("/etc/fstab", "/mnt", "/dev/sda1", DEVNAME_KERNEL, "UUID=1"));
        append(names, json_name("/etc/fstab", NULL, "/dev/disk/by-id/wwn-1", DEVNAME_DRIVER, ""));
        append(inhibitors, json_inhibitor("", "sh", ""));
        append(inhibitors, json_inhibitor("2-1:1.0", "dd", "It is filled."));
        ended.disk.outcome = (struct outcome){0, "", "Done."};
        r |= db_says_parse("bad;0100-0210;*;List one;2026-10;slow", &known.says[0]);
        r |= db_says_parse("good;*;x86;List two;2026-11", &known.says[1]);
        append(signs, json_sign("commands were not answered in time", 2, NULL));
        append(signs, json_sign("the power failed", 1, "the power supply"));
        json_print_line(json_lease(UASD_EXIT_OK, "", false, &f, signs));
        json_print_line(json_lease(UASD_EXIT_FAILED, "It is gone.", true, NULL, json_list()));
        json_print_line(sample_json(&f, NULL, NULL));
        json_print_line(sample_json(&l, NULL, NULL));
        json_print_line(sample_json(&ended, NULL, NULL));
        json_print_line(sample_json(&f, "rows", json_rows(rows, ELEMENTSOF(rows), true)));
        json_print_line(sample_json(&f, "quirks", json_quirks(words, ELEMENTSOF(words))));
        json_print_line(sample_json(&f, "database", json_database(&known, 0x0210, "x86_64")));
        json_print_line(sample_json(&l, "database", json_database(&unknown, 0x0210, "x86_64")));
        append(bridges, json_bridge(0x1209, 0x5a5a, json_database(&known, -1, "x86_64")));
        json_print_line(json_document("bridges", bridges));
        json_print_line(sample_json(&f, "link", json_link(&fast)));
        json_print_line(sample_json(&f, "link", json_link(&slow)));
        json_print_line(sample_json(&f, "commands", json_commands(&health)));
        json_print_line(sample_json(&f, "names", names));
        json_print_line(sample_json(&f, "smart", json_smart(&health)));
        append(commands, json_object_new_string("umount /mnt/usb"));
        json_print_line(sample_json(&f, "to_free", commands));
        json_print_line(sample_json(&f, "trim", json_trim(&health, DRIVER_UAS)));
        json_print_line(sample_json(&f, "kernel", json_object_new_string("It chooses uas.")));
        json_print_line(sample_json(&f, "unbound", json_object_new_string("uas gave up on it.")));
        json_print_line(
                sample_json(&f, "initramfs",
                            json_object_new_string("It is older than the record of this disk.")));
        json_print_line(sample_json(&f, "smart_advice",
                                    json_object_new_string("The kernel blocks ATA commands.")));
        json_print_line(json_kernel(&boot, &nothing, "update-initramfs -u"));
        json_print_line(json_kernel(&nothing, NULL, NULL));
        json_print_line(json_events(&(struct events){happened, ELEMENTSOF(happened), true}, 0));
        json_print_line(json_document("inhibitors", inhibitors));
        json_print_line(json_policies(&(struct policy_rows){policies, ELEMENTSOF(policies)}));
        json_print_line(json_event(&f, "changed", 1, changed));
        return r ? 1 : 0;
}

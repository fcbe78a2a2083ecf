/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk-words.h"
#include "core/disk.h"
#include "core/explain.h"
#include "core/policy.h"

#include "unit.h"

#define BOTH .authorized = true, .caps = {.bot = true, .uas = true, .pipes = true, .uas_alt = 1}
#define PLAIN .vid = 0x1209, .pid = 0x5a5a
#define HITACHI .vid = 0x4971, .pid = 0x1012
#define ASM1051 .vid = 0x174c, .pid = 0x55aa, .speed_mbps = 480

/* One clause of one row, for a disk that fulfils it. */
static const struct {
        struct facts f;
        enum reason reason;
        bool fits;
        const char *found;
} table[] = {
        /* clang-format off */
        {{.caps_error = -EBADMSG}, REASON_BAD_DESCRIPTORS, true, "the descriptors cannot be read"},
        {{BOTH}, REASON_BAD_DESCRIPTORS, false, "the descriptors can be read"},
        {{BOTH}, REASON_NO_UAS, false, "alternate setting 1 is 08/06/62"},
        {{.vid = 1}, REASON_NO_UAS, true, "no alternate setting is 08/06/62"},
        {{.vid = 1}, REASON_NO_PIPES, true, "pipe usage descriptors are missing"},
        {{BOTH, .driver = DRIVER_OTHER, .driver_name = "usbfs"},
         REASON_OTHER_DRIVER,
         true,
         "the driver is usbfs"},
        {{BOTH, .driver = DRIVER_UAS}, REASON_OTHER_DRIVER, false, "the driver is uas"},
        {{BOTH}, REASON_OTHER_DRIVER, false, "no driver"},
        {{.vid = 1}, REASON_UNAUTHORIZED, true, "not authorized"},
        {{BOTH, .just_unbound = true}, REASON_JUST_UNBOUND, true, "it lost its driver a moment ago"},
        {{BOTH, .driver = DRIVER_UAS}, REASON_JUST_UNBOUND, false, "the driver is uas"},
        {{BOTH, .policy = POLICY_IGNORE}, REASON_POLICY_IGNORE, true, "the policy is ignore"},
        {{BOTH, .policy = POLICY_UAS, .policy_forced = true}, REASON_POLICY, true, "the policy is uas, forced"},
        {{BOTH, .policy = POLICY_UAS, .policy_source = POLICY_BY_USER, .policy_forced = true},
         REASON_POLICY,
         true,
         "the policy is uas, by uasctl policy, forced"},
        {{BOTH, .policy = POLICY_USB_STORAGE, .policy_source = POLICY_BY_CONFIG},
         REASON_POLICY,
         true,
         "the policy is usb-storage, by uasd.conf"},
        {{BOTH, .policy = POLICY_IGNORE, .policy_source = POLICY_BY_UDEV},
         REASON_POLICY_IGNORE,
         true,
         "the policy is ignore, by a udev rule"},
        {{BOTH, .policy = POLICY_IGNORE, .policy_source = _POLICY_SOURCE_MAX},
         REASON_POLICY_IGNORE,
         true,
         "the policy is ignore"},
        {{BOTH, .policy = _POLICY_MAX}, REASON_POLICY, false, "the policy is unknown"},
        {{BOTH}, REASON_NO_BOT, false, "alternate setting 0 is 08/06/50"},
        {{.caps = {.uas = true}}, REASON_NO_BOT, true, "alternate setting 0 is not 08/06/50"},
        {{BOTH, HITACHI}, REASON_FORCE_NEEDED, false, "no request or policy asks for uas"},
        {{BOTH, PLAIN, .policy = POLICY_UAS},
         REASON_FORCE_NEEDED,
         false,
         "uas is requested, and the kernel does not object"},
        {{BOTH, HITACHI, .policy = POLICY_UAS},
         REASON_FORCE_NEEDED,
         true,
         "uas is requested without force, but the kernel disables it for Hitachi External HDD"},
        {{BOTH, HITACHI, .policy = POLICY_UAS, .policy_forced = true},
         REASON_FORCE_NEEDED,
         false,
         "uas is requested with force, but the kernel disables it for Hitachi External HDD"},
        {{BOTH}, REASON_OVERRIDE, false, "no user requested a driver"},
        {{BOTH, .override_target = DRIVER_USB_STORAGE}, REASON_OVERRIDE, true, "a user requested usb-storage"},
        {{BOTH, .override_target = DRIVER_UAS, .override_forced = true},
         REASON_OVERRIDE,
         true,
         "a user requested uas, forced"},
        {{BOTH, .override_target = DRIVER_USB_STORAGE}, REASON_POLICY, false, "the policy is auto"},
        {{BOTH, .override_target = DRIVER_USB_STORAGE, .policy = POLICY_UAS}, REASON_POLICY, true, "the policy is uas"},
        {{BOTH, .uas_kept_away = true},
         REASON_UAS_KEPT_AWAY,
         true,
         "uas is not loaded, and cannot be loaded"},
        {{BOTH}, REASON_UAS_KEPT_AWAY, false, "uas is loaded or can be"},
        {{BOTH, .uas_module = UAS_MODULE_LOADABLE}, REASON_UAS_KEPT_AWAY, false, "uas is loaded or can be"},
        {{BOTH, .uas_kept_away = true, .uas_module = UAS_MODULE_BLACKLISTED},
         REASON_UAS_KEPT_AWAY,
         true,
         "uas is not loaded: modprobe.d blacklists it"},
        {{BOTH, .uas_kept_away = true, .uas_module = UAS_MODULE_INSTALL_LINE},
         REASON_UAS_KEPT_AWAY,
         true,
         "uas is not loaded: modprobe.d has an install line for it"},
        {{BOTH, .driver = DRIVER_USB_STORAGE, .uas_kept_away = true, .uas_module = UAS_MODULE_MISSING},
         REASON_UAS_KEPT_AWAY,
         true,
         "this kernel has no module uas, or it is not installed"},
        {{BOTH, .uas_kept_away = true, .uas_module = UAS_MODULE_NO_LOADER},
         REASON_UAS_KEPT_AWAY,
         true,
         "uas is not loaded: libkmod cannot load it, and the system has no modprobe, no insmod"},
        {{BOTH, .uas_kept_away = true, .uas_module = UAS_MODULE_REFUSED},
         REASON_UAS_KEPT_AWAY,
         true,
         "uas is not loaded: the file of Module= is refused, see uasctl module"},
        {{BOTH, .distrusted = true}, REASON_DISTRUSTED, true, "distrusted"},
        {{BOTH, .distrusted = true, .distrust_reason = "reset under load"},
         REASON_DISTRUSTED,
         true,
         "distrusted: reset under load"},
        {{BOTH, .trial_failed = true, .distrust_reason = "reset under load"},
         REASON_TRIAL_FAILED,
         false,
         "its trial failed: reset under load"},
        {{BOTH, .trial_open = true}, REASON_TRIAL_FAILED, false, "its trial is running"},
        {{BOTH, .trial_passed = true}, REASON_TRIAL_FAILED, false, "it passed its trial"},
        {{BOTH}, REASON_TRIAL_FAILED, false, "no trial has failed"},
        {{BOTH, .distrust_reason = "old"}, REASON_DISTRUSTED, false, "no error is on record"},
        {{BOTH, .verdict = VERDICT_BAD}, REASON_VERDICT_BAD, true, "the verdict on this bridge is bad"},
        {{BOTH, .verdict = _VERDICT_MAX}, REASON_VERDICT_BAD, false, "the verdict on this bridge is unknown"},
        {{BOTH, PLAIN, .quirks = "1209:5a5a:uf"}, REASON_QUIRK, true, "the quirks parameter has 1209:5a5a:fu"},
        {{BOTH, PLAIN}, REASON_QUIRK, false, "the quirks parameter does not name 1209:5a5a"},
        {{BOTH, PLAIN, .quirks = "1209:5a5a:u", .quirks_own = "1209:5a5a:u"},
         REASON_QUIRK,
         false,
         "only uasd itself has set 1209:5a5a:u"},
        {{BOTH, HITACHI}, REASON_KERNEL_TABLE, true, "a row of the kernel's table keeps it off UAS: Hitachi External HDD"},
        {{BOTH, HITACHI, .quirks = "4971:1012:"},
         REASON_KERNEL_TABLE,
         false,
         "replaced by the entry in the quirks parameter"},
        {{BOTH, PLAIN}, REASON_KERNEL_TABLE, false, "no row of the kernel's table keeps it off UAS"},
        {{BOTH, .vid = 0x2109, .pid = 0x0715},
         REASON_KERNEL_TABLE,
         true,
         "a row of the kernel's table for usb-storage keeps it off UAS: VIA Labs, Inc. VL817 SATA Bridge"},
        {{.caps = {.uas = true, .max_power = 1}, ASM1051},
         REASON_KERNEL_RULE,
         true,
         "a rule of the kernel keeps it off UAS: ASMedia ASM105x, perhaps the ASM1051 with broken UAS"},
        {{BOTH, PLAIN}, REASON_KERNEL_RULE, false, "no rule of the kernel keeps it off UAS"},
        {{BOTH, .speed_mbps = 5000, .controller = "dummy_hcd", .no_streams = true},
         REASON_NO_STREAMS,
         true,
         "5000 Mbit/s on dummy_hcd, which has no streams"},
        {{BOTH, .speed_mbps = 480}, REASON_NO_STREAMS, false, "480 Mbit/s on an unknown controller"},
        {{BOTH, .controller = "dwc2", .no_sg = true}, REASON_NO_SG, true, "dwc2 has no scatter-gather"},
        {{BOTH}, REASON_NO_SG, false, "the controller is not known to lack scatter-gather"},
        {{BOTH}, REASON_UNKNOWN_BRIDGE, true, "the verdict on this bridge is unknown"},
        {{BOTH, .verdict = VERDICT_GOOD}, REASON_FASTEST, true, "uas is the faster of the two drivers"},
        {{BOTH, .verdict = VERDICT_BAD}, REASON_FASTEST, true, "uas is the faster of the two drivers"},
        {{BOTH, .verdict = VERDICT_GOOD}, REASON_VERDICT_BAD, false, "the verdict on this bridge is good"},
        /* clang-format on */
};

static void test_found(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct explain_row rows[_REASON_MAX];
                const struct explain_row *row = rows;

                assert_int_equal(explain(&table[i].f, rows, ELEMENTSOF(rows)), _REASON_MAX);
                while (row->reason != table[i].reason)
                        row++;
                if (row->fits != table[i].fits || !streq(row->found, table[i].found))
                        fail_msg("row %zu, %s: %d, \"%s\"", i, reason_to_string(row->reason),
                                 row->fits, row->found);
        }
}

/* The row that explain() returns as the deciding one is the one that decided. */
static void test_same_as_decide(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct explain_row rows[_REASON_MAX];
                struct decision d;
                size_t decides = 0;

                decide(&table[i].f, &d);
                (void) explain(&table[i].f, rows, ELEMENTSOF(rows));
                for (size_t j = 0; j < ELEMENTSOF(rows); j++) {
                        if (!rows[j].decides)
                                continue;
                        decides++;
                        assert_row(i, rows[j].fits && rows[j].reason == d.reason);
                }
                assert_row(i, decides == 1 &&
                                      explain_deciding(rows, ELEMENTSOF(rows))->reason == d.reason);
        }
}

/* Why is it on usb-storage, or without a driver? Every answer has its row. The row decides,
 * explains, and names a remedy if there is one. */
static void test_answers(void **state)
{
#define GOOD .verdict = VERDICT_GOOD, .unknown_target = DRIVER_UAS, .speed_mbps = 5000
#define ON_BOT .driver = DRIVER_USB_STORAGE
        static const struct {
                const char *what;
                struct facts f;
                enum reason reason;
                bool remedy;
        } rows[] = {
                /* clang-format off */
                {"it does not speak UAS", {GOOD, ON_BOT, .authorized = true, .caps = {.bot = true}}, REASON_NO_UAS, false},
                {"its pipes have no names", {GOOD, ON_BOT, .authorized = true, .caps = {.bot = true, .uas = true}}, REASON_NO_PIPES, false},
                {"somebody's quirk", {BOTH, PLAIN, GOOD, ON_BOT, .quirks = "1209:5a5a:u"}, REASON_QUIRK, true},
                {"the kernel's table", {BOTH, HITACHI, GOOD, ON_BOT}, REASON_KERNEL_TABLE, true},
                {"usb-storage's table alone", {BOTH, .vid = 0x2109, .pid = 0x0715, GOOD, ON_BOT}, REASON_KERNEL_TABLE, true},
                {"ASMedia, by streams",
                 {.authorized = true, .vid = 0x174c, .pid = 0x5106, GOOD, ON_BOT,
                  .caps = {.bot = true, .uas = true, .pipes = true, .max_power = 1, .status_streams = 32}},
                 REASON_KERNEL_RULE, true},
                {"no scatter-gather", {BOTH, PLAIN, GOOD, ON_BOT, .controller = "dwc2", .no_sg = true}, REASON_NO_SG, true},
                {"no streams", {BOTH, PLAIN, GOOD, ON_BOT, .controller = "xhci_hcd", .no_streams = true}, REASON_NO_STREAMS, true},
                {"a kernel without uas",
                 {BOTH, PLAIN, GOOD, ON_BOT, .uas_kept_away = true, .uas_module = UAS_MODULE_MISSING},
                 REASON_UAS_KEPT_AWAY, true},
                {"uas blacklisted, and no driver",
                 {BOTH, PLAIN, GOOD, .uas_kept_away = true, .uas_module = UAS_MODULE_BLACKLISTED},
                 REASON_UAS_KEPT_AWAY, true},
                {"a program has it", {BOTH, PLAIN, GOOD, .driver = DRIVER_OTHER, .driver_name = "usbfs"}, REASON_OTHER_DRIVER, true},
                {"another machine has it", {BOTH, PLAIN, GOOD, .driver = DRIVER_OTHER, .driver_name = "usbip-host"}, REASON_OTHER_DRIVER, true},
                {"its history", {BOTH, PLAIN, GOOD, ON_BOT, .distrusted = true}, REASON_DISTRUSTED, true},
                {"what is known of it", {BOTH, PLAIN, ON_BOT, .verdict = VERDICT_BAD}, REASON_VERDICT_BAD, true},
                {"none of them", {BOTH, PLAIN, GOOD, ON_BOT}, REASON_FASTEST, true},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct explain_row explained[_REASON_MAX];
                const struct explain_row *row = explained;

                (void) explain(&rows[i].f, explained, ELEMENTSOF(explained));
                while (!row->decides)
                        row++;
                if (row->reason != rows[i].reason)
                        fail_msg("%s: decided by %s", rows[i].what, reason_to_string(row->reason));
                if (!*row->found || !row->means || !row->remedy == rows[i].remedy)
                        fail_msg("%s: %s %s", rows[i].what, row->found, row->remedy ?: "no remedy");
        }
}

/* `uasctl policy DISK auto` undoes only what uasctl policy has set. */
static void test_remedies(void **state)
{
        static const struct {
                enum policy policy;
                enum policy_source source;
                const char *remedy;
        } said[] = {
                /* clang-format off */
                {POLICY_UAS, POLICY_BY_USER, "uasctl policy DISK auto"},
                {POLICY_IGNORE, POLICY_BY_USER, "uasctl policy DISK auto"},
                {POLICY_USB_STORAGE, POLICY_BY_NOBODY, "uasctl policy DISK auto"},
                {POLICY_USB_STORAGE, _POLICY_SOURCE_MAX, "uasctl policy DISK auto"},
                {POLICY_USB_STORAGE, POLICY_BY_CONFIG, "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK uas"},
                {POLICY_IGNORE, POLICY_BY_CONFIG, "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK uas"},
                {POLICY_UAS, POLICY_BY_CONFIG, "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK usb-storage"},
                {POLICY_IGNORE, POLICY_BY_UDEV, "Take UASD_POLICY out of the udev rule, or: uasctl policy DISK uas"},
                {POLICY_UAS, POLICY_BY_UDEV, "Take UASD_POLICY out of the udev rule, or: uasctl policy DISK usb-storage"},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(said); i++) {
                const struct facts f = {BOTH, PLAIN, .policy = said[i].policy,
                                        .policy_source = said[i].source};
                struct explain_row rows[_REASON_MAX];

                (void) explain(&f, rows, ELEMENTSOF(rows));
                assert_string_equal(explain_deciding(rows, ELEMENTSOF(rows))->remedy,
                                    said[i].remedy);
        }
}

#define UNBOUND                                                                                    \
        BOTH, .interface = "2-1:1.0", .unknown_target = DRIVER_UAS, .uas_module = UAS_MODULE_THERE

/* Disks without a driver, for a reason that is not in the table. */
static void test_unbound(void **state)
{
        static const struct {
                struct facts f;
                int error;
                const char *part; /* NULL: no text */
        } rows[] = {
                {{UNBOUND}, 0, "the probe of uas failed, or a user has unbound the disk."},
                {{UNBOUND}, 0, "Meanwhile: uasctl switch 2-1:1.0 usb-storage"},
                {{UNBOUND}, -ENOSPC, "failed with error -28. If the USB controller has no streams"},
                {{UNBOUND, .driver = DRIVER_UAS}, -ENOSPC, NULL},
                {{UNBOUND, .driver = DRIVER_USB_STORAGE}, 0, NULL},
                {{UNBOUND, .just_unbound = true}, 0, NULL},
                {{UNBOUND, .policy = POLICY_USB_STORAGE}, 0, NULL},
                {{BOTH, .unknown_target = DRIVER_UAS, .uas_module = UAS_MODULE_LOADABLE}, 0, NULL},
                {{BOTH, .uas_kept_away = true, .uas_module = UAS_MODULE_BLACKLISTED}, 0, NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[512];

                assert_ptr_equal(explain_unbound(&rows[i].f, rows[i].error, text, sizeof(text)),
                                 text);
                assert_row(i, rows[i].part ? strstr(text, rows[i].part) != NULL : !*text);
        }
}

/* Below a row that says that there is no choice, no row applies that compares the drivers. */
static void test_applies(void **state)
{
        static const struct facts incapable = {
                .caps = {.bot = true}, .driver = DRIVER_USB_STORAGE, .authorized = true};
        struct explain_row rows[_REASON_MAX];

        (void) explain(&incapable, rows, ELEMENTSOF(rows));
        assert_true(rows[REASON_NO_UAS].decides && rows[REASON_NO_UAS].applies);
        assert_true(rows[REASON_FASTEST].fits && rows[REASON_UNKNOWN_BRIDGE].fits &&
                    rows[REASON_NO_PIPES].fits);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_row(i, rows[i].applies == (i == REASON_NO_UAS));
        /* With a choice every row that fits applies, except those for a disk that no row keeps off
         * uas. */
        for (size_t t = 0; t < ELEMENTSOF(table); t++) {
                const struct explain_row *row;
                struct decision d;

                row = explain_deciding(rows, explain(&table[t].f, rows, ELEMENTSOF(rows)));
                decide(&table[t].f, &d);
                for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                        bool undecided = i >= REASON_UNKNOWN_BRIDGE && i != row->reason &&
                                         row->reason != REASON_UNKNOWN_BRIDGE &&
                                         d.target == DRIVER_USB_STORAGE;

                        assert_row(t, rows[i].applies == (rows[i].fits && !undecided) ||
                                              row->reason <= REASON_NO_PIPES);
                }
        }
}

/* unknown-bridge has two sentences, and the same one is in the reason of the disk. */
static void test_disputed(void **state)
{
        struct disk d = {.facts = {.caps = {.bot = true, .uas = true, .pipes = true},
                                   .driver = DRIVER_UAS,
                                   .authorized = true,
                                   .unknown_target = DRIVER_UAS}};
        struct explain_row rows[_REASON_MAX];
        char text[512];

        for (int disputed = 0; disputed < 2; disputed++) {
                const struct explain_row *row;

                d.facts.verdict_disputed = disputed;
                decide(&d.facts, &d.decision);
                row = explain_deciding(rows, explain(&d.facts, rows, ELEMENTSOF(rows)));
                assert_int_equal(row->reason, REASON_UNKNOWN_BRIDGE);
                assert_string_equal(row->means, disk_reason(&d, text, sizeof(text)));
                assert_int_equal(strstr(row->means, "contradict each other") != NULL, disputed);
                assert_int_equal(strstr(row->found, "contradict each other") != NULL, disputed);
        }
}

static void test_room(void **state)
{
        struct explain_row rows[_REASON_MAX + 1];

        assert_int_equal(explain(&table[0].f, rows, 0), 0);
        assert_int_equal(explain(&table[0].f, rows, 3), 3);
        assert_int_equal(explain(&table[0].f, rows, ELEMENTSOF(rows)), _REASON_MAX);
}

/* Each reason has one row, and each row has a text. */
static void test_sentences(void **state)
{
        struct explain_row rows[_REASON_MAX];
        bool seen[_REASON_MAX] = {};

        (void) explain(&table[0].f, rows, ELEMENTSOF(rows));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_row(i, !seen[rows[i].reason]);
                seen[rows[i].reason] = true;
                assert_row(i, *rows[i].found);
                assert_ptr_equal(reason_sentence(rows[i].reason), rows[i].means);
                assert_row(i, rows[i].means[strlen(rows[i].means) - 1] == '.');
        }
        assert_non_null(reason_sentence(_REASON_MAX));
}

/* The kernel's own choice, its reason, and whether a switch has moved the disk since. */
static void test_kernel(void **state)
{
        static const struct {
                struct facts f;
                int built;
                const char *text;
        } rows[] = {
                /* clang-format off */
                {{BOTH, PLAIN, .driver = DRIVER_UAS}, 1, "It chooses uas: no table, rule or quirk forbids it."},
                {{BOTH, PLAIN, .driver = DRIVER_UAS}, -1, "It chooses uas: no table, rule or quirk forbids it."},
                {{BOTH, PLAIN, .driver = DRIVER_UAS}, 0,
                 "It chooses usb-storage: its usb-storage is built without UAS support (CONFIG_USB_UAS). A switch has moved the disk to uas."},
                {{BOTH, PLAIN, .driver = DRIVER_USB_STORAGE}, 0, "It chooses usb-storage: its usb-storage is built without UAS support (CONFIG_USB_UAS)."},
                {{BOTH, PLAIN, .driver = DRIVER_USB_STORAGE}, 1, "It chooses uas. A switch has moved the disk to usb-storage."},
                {{BOTH, PLAIN, .driver = DRIVER_USB_STORAGE}, -1,
                 "No table, rule or quirk keeps the disk off uas. Either a switch has moved it to usb-storage, or this kernel's usb-storage is "
                 "built without UAS support (CONFIG_USB_UAS)."},
                {{BOTH, PLAIN, .driver = DRIVER_USB_STORAGE, .quirks = "1209:5a5a:u"}, 1,
                 "It chooses usb-storage: the quirks parameter has 1209:5a5a:u."},
                {{BOTH, PLAIN, .driver = DRIVER_USB_STORAGE, .quirks = "1209:5a5a:u", .quirks_own = "1209:5a5a:u"}, 1,
                 "It chooses usb-storage: uasd has put 1209:5a5a:u into the quirks parameter."},
                {{BOTH, PLAIN, .driver = DRIVER_UAS, .quirks = "1209:5a5a:u"}, 1,
                 "It chooses usb-storage: the quirks parameter has 1209:5a5a:u. A switch has moved the disk to uas."},
                {{BOTH, HITACHI, .driver = DRIVER_USB_STORAGE}, 1, "It chooses usb-storage: a row of the kernel's table keeps it off UAS: Hitachi External HDD."},
                {{BOTH, PLAIN, .driver = DRIVER_NONE}, 1, ""},
                {{BOTH, PLAIN, .driver = DRIVER_OTHER}, 1, ""},
                {{.caps = {.bot = true}, PLAIN, .driver = DRIVER_USB_STORAGE}, 1, ""},
                {{.caps = {.uas = true, .pipes = true}, PLAIN, .driver = DRIVER_UAS}, 1, ""},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct explain_row found[_REASON_MAX];
                char text[512];

                (void) explain(&rows[i].f, found, ELEMENTSOF(found));
                if (!streq(explain_kernel(&rows[i].f, found, ELEMENTSOF(found), rows[i].built, text,
                                          sizeof(text)),
                           rows[i].text))
                        fail_msg("row %zu: %s", i, text);
        }
}

/* A word for each reason, short enough for 80 columns. The state replaces it where it says more. */
static void test_initramfs(void **state)
{
        char text[400] = "of another disk";
        struct facts f = {.vid = 0x1209};

        assert_string_equal(explain_initramfs(&f, "dracut -f", text, sizeof(text)), "");
        f.initramfs_old = true;
        assert_string_equal(
                explain_initramfs(&f, "dracut -f", text, sizeof(text)),
                "It is older than the record of this disk and may move the disk to uas at the next boot. Update it: dracut -f");
        assert_string_equal(
                explain_initramfs(&f, NULL, text, sizeof(text)),
                "It is older than the record of this disk and may move the disk to uas at the next boot. Update it.");
}

/* Only the given rows count, and a sentence is cut off where the buffer ends. */
static void test_bounds(void **state)
{
        const struct facts f = {BOTH, PLAIN, GOOD, .driver = DRIVER_UAS,
                                .quirks_own = "1209:5a5a:u"};
        struct explain_row rows[_REASON_MAX];
        char whole[400], text[420];
        size_t n = explain(&f, rows, ELEMENTSOF(rows)), first = 0;

        while (!rows[first].decides)
                first++;
        assert_null(explain_deciding(rows, first));
        assert_ptr_equal(explain_deciding(rows, first + 1), rows + first);
        for (size_t i = 0; i < n;
             i++) { /* an objection counts from its row on, also if it is the only row */
                const struct facts quirk = {BOTH, PLAIN, GOOD, .driver = DRIVER_UAS,
                                            .quirks = "1209:5a5a:u"};

                n = explain(&quirk, rows, ELEMENTSOF(rows));
                if (rows[i].reason != REASON_QUIRK)
                        continue;
                assert_null(strstr(explain_kernel(&quirk, rows, i, -1, whole, sizeof(whole)),
                                   "It chooses usb-storage"));
                assert_non_null(
                        strstr(explain_kernel(&quirk, rows + i, 1, -1, whole, sizeof(whole)),
                               "It chooses usb-storage"));
        }
        assert_non_null(strstr(explain_kernel(&f, rows, n, -1, whole, sizeof(whole)),
                               "A switch has moved the disk to uas."));
        for (size_t size = 1; size <= strlen(whole); size++) {
                memset(text, '#', sizeof(text));
                (void) explain_kernel(&f, rows, n, -1, text, size);
                assert_row(size, strlen(text) == size - 1 && strncmp(text, whole, size - 1) == 0 &&
                                         text[size] == '#');
        }
}

static void test_why_words(void **state)
{
        for (int r = 0; r < _REASON_MAX; r++) {
                const char *word = why_word(STATE_SETTLED, (enum reason) r);

                assert_row(r, *word && strlen(word) <= 12 && !strpbrk(word, " ._"));
                for (int other = 0; other < r; other++)
                        assert_row(r, !streq(word, why_word(STATE_TRIAL, (enum reason) other)));
        }
        assert_string_equal(why_word(STATE_SETTLED, REASON_KERNEL_TABLE), "kernel-table");
        assert_string_equal(why_word(STATE_HELD, REASON_UNKNOWN_BRIDGE), "no-verdict");
        assert_string_equal(why_word(STATE_WAITING, REASON_FASTEST), "in-use");
        assert_string_equal(why_word(STATE_FAILED, REASON_FASTEST), "rolled-back");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_found),     cmocka_unit_test(test_same_as_decide),
                cmocka_unit_test(test_answers),   cmocka_unit_test(test_remedies),
                cmocka_unit_test(test_unbound),   cmocka_unit_test(test_room),
                cmocka_unit_test(test_applies),   cmocka_unit_test(test_disputed),
                cmocka_unit_test(test_sentences), cmocka_unit_test(test_why_words),
                cmocka_unit_test(test_kernel),    cmocka_unit_test(test_initramfs),
                cmocka_unit_test(test_bounds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

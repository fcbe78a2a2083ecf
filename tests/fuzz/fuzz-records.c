/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files in /run/uasd, /etc/uasd and /var/lib/uasd. The first byte selects the kind. uasd reads back
 * what it wrote, for every previous content of the file. */
#include <fcntl.h>

#include "common/names.h"
#include "core/history.h"
#include "fuzz.h"
#include "hold/allowed.h"
#include "switch/record.h"
#include "switch/transaction.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/usb/usbdisk.h"

#define INTERFACE "2-1:1.0"

/* A number from the input, so that the written values vary. */
static unsigned number(const uint8_t *data, size_t size, size_t at)
{
        return at < size ? data[at] * 16777619U : 0;
}

/* Returns the inode of the device's directory. */
static uint64_t attached(const struct roots *r, unsigned bus, unsigned dev)
{
        struct attachment_id id;
        char text[16];

        (void) snprintf(text, sizeof(text), "189:%u\n", (bus - 1) * 128 + dev - 1);
        fuzz_file(r->sys, SYSFS_USB_DEVICES "/2-1/dev", text, strlen(text));
        fuzz_file(r->sys, SYSFS_USB_DEVICES "/2-1/" INTERFACE "/bInterfaceNumber", "00\n", 3);
        CHECK(symlinkat("2-1/" INTERFACE, r->sys, SYSFS_USB_DEVICES "/" INTERFACE) == 0 ||
              errno == EEXIST);
        CHECK(attachment_now(r, INTERFACE, &id) == 0 && id.busnum == bus && id.devnum == dev &&
              id.inode > 0);
        return id.inode;
}

static void check_record(struct roots *r, const uint8_t *data, size_t size)
{
        struct transaction a = {.roots = *r, .interface = INTERFACE, .lock = -1, .blame.log = -1},
                           b = a;
        bool replugged;

        (void) attached(r, 2, 5);
        fuzz_file(r->run, RUN_SWITCH "/" INTERFACE, data, size);
        CHECK(record_load(&a, &replugged) == 1);
        CHECK(a.from < _DRIVER_MAX && a.to < _DRIVER_MAX);
        CHECK(strlen(a.result.step) < sizeof(a.result.step));

        a.disk.facts.busnum = 2;
        a.disk.facts.devnum = 5;
        CHECK(record_write(&a, a.result.step) == 0);
        CHECK(record_check(&a) == 0);
        a.lock = close_keep_errno(a.lock);
        CHECK(record_load(&b, &replugged) == 1);
        CHECK(a.from == b.from && a.to == b.to && a.phase == b.phase &&
              a.hold.ours == b.hold.ours && a.before.n_disks == b.before.n_disks &&
              streq(a.result.step, b.result.step));
        record_end(&b);
}

static void check_hold(struct roots *r, const uint8_t *data, size_t size)
{
        struct facts f = {.interface = INTERFACE,
                          .port = "2-1",
                          .busnum = number(data, size, 0),
                          .devnum = number(data, size, 1)};
        struct hold_mark m = {0}, again;
        uint64_t deadline;

        fuzz_file(r->run, RUN_HOLD "/" INTERFACE, data, size);
        CHECK(hold_read(r, INTERFACE, &m) == 1);
        (void) hold_in_force(r, &f, 0, &deadline);
        CHECK(hold_write(r, INTERFACE, &m) == 0);
        CHECK(hold_read(r, INTERFACE, &again) == 1);
        CHECK(memcmp(&m, &again, sizeof(m)) == 0);
}

static void check_attachment(struct roots *r, const uint8_t *data, size_t size)
{
        const struct facts f = {.interface = INTERFACE,
                                .port = "2-1",
                                .busnum = 2,
                                .devnum = 5,
                                .inode = attached(r, 2, 5)};
        struct attachment_mark m = {0}, again;
        char name[ATTACHMENT_MAX];

        fuzz_file(r->run, path_join(RUN_ATTACHMENT "/", facts_attachment(&f, name)), data, size);
        CHECK(attachment_read(r, &f, &m) == 1);
        CHECK(m.override_target == DRIVER_NONE || m.override_target == DRIVER_UAS ||
              m.override_target == DRIVER_USB_STORAGE);
        CHECK(attachment_change(r, &f, MARK_ALL, &m) == 0);
        CHECK(attachments_prune(r, NULL) == 0); /* it is still plugged in */
        CHECK(attachment_read(r, &f, &again) == 1);
        CHECK(m.tried == again.tried && m.released == again.released &&
              m.no_auto == again.no_auto && m.override_target == again.override_target &&
              m.override_forced == again.override_forced);
}

/* The file from the input, then strings that the device chooses. Those are read back byte by byte.
 */
static void check_strings(struct roots *r, const uint8_t *data, size_t size)
{
        struct facts f = {.interface = INTERFACE,
                          .port = "2-1",
                          .busnum = 2,
                          .devnum = 5,
                          .vid = 0x1209,
                          .pid = 0x5a5a},
                     kept = f;
        char *text = fuzz_text(data, size), *rest = text, name[ATTACHMENT_MAX];

        f.inode = kept.inode = attached(r, 2, 5);
        fuzz_file(r->run, path_join(RUN_STRINGS "/", facts_attachment(&f, name)), data, size);
        (void) strings_kept(r, &kept);
        CHECK(strlen(kept.manufacturer) < USB_STRING_MAX && strlen(kept.product) < USB_STRING_MAX &&
              strlen(kept.serial) < USB_STRING_MAX);
        (void) copy_string(f.manufacturer, sizeof(f.manufacturer), fuzz_field(&rest, '|') ?: "");
        (void) copy_string(f.product, sizeof(f.product), fuzz_field(&rest, '|') ?: "");
        (void) copy_string(f.serial, sizeof(f.serial), rest ?: "");
        CHECK(strings_keep(r, &f) == 0);
        CHECK(attachments_prune(r, NULL) == 0);
        CHECK(strings_kept(r, &kept));
        CHECK(streq(kept.manufacturer, f.manufacturer) && streq(kept.product, f.product) &&
              streq(kept.serial, f.serial));
        free(text);
}

/* A serial number that the device chooses, then the file. Lines of other disks stay, and no line is
 * added in their name. */
static void check_policy(struct roots *r, const uint8_t *data, size_t size)
{
        struct facts f = {.interface = INTERFACE, .port = "2-1", .vid = 0x1209, .pid = 0x5a5a};
        const struct facts other = {
                .interface = "2-2:1.0", .port = "2-2", .vid = 0x1209, .pid = 0x5a5a, .serial = "X"};
        enum policy p = POLICY_AUTO, others = POLICY_AUTO, now = POLICY_AUTO;
        bool forced = false, forced_now = false, unused;
        char *text = fuzz_text(data, size), *rest = text;
        int k;

        (void) copy_string(f.serial, sizeof(f.serial), fuzz_field(&rest, '\n'));
        (void) unlinkat(r->etc, "uasd/" STATE_POLICY, 0);
        fuzz_file(r->var, STATE_DIR "/" STATE_POLICY, rest ? rest : "", rest ? strlen(rest) : 0);
        k = policy_lookup(r, &f, &p, &forced);
        CHECK(k == 0 || k == 1);
        (void) policy_lookup(r, &other, &others, &unused);

        p = p == POLICY_UAS ? POLICY_USB_STORAGE : POLICY_UAS;
        CHECK(policy_store(r, &f, false, p, !forced) == 0);
        CHECK(policy_lookup(r, &f, &now, &forced_now) == 1);
        CHECK(now == p && forced_now == !forced);
        now = POLICY_AUTO;
        (void) policy_lookup(r, &other, &now, &unused);
        CHECK(streq(f.serial, other.serial) || now == others);
        CHECK(policy_store(r, &f, false, POLICY_AUTO, false) == 0);
        CHECK(policy_lookup(r, &f, &now, &forced_now) == 0);
        free(text);
}

static bool same_history(const struct history *a, const struct history *b)
{
        return a->state == b->state && a->firmware == b->firmware && streq(a->kernel, b->kernel) &&
               streq(a->boot, b->boot) && streq(a->date, b->date) && a->lost == b->lost &&
               a->failed == b->failed && a->distrusted == b->distrusted;
}

/* One line is read as it was written. The reason has been made harmless before. */
static void check_history_line(const char *value)
{
        char line[HISTORY_LINE_MAX];
        struct history h, again;
        struct facts f = {.bcd = 0x114};

        if (history_parse(value, &h) < 0)
                return;
        CHECK(h.state < _HISTORY_MAX);
        history_judge(&h, &(struct here){"6.1.0", "boot"}, &f);
        CHECK(!f.distrusted || f.distrust_reason[0]);
        CHECK(history_format(&h, line, sizeof(line)) == 0);
        CHECK(!strchr(line, '\n') && history_parse(line, &again) == 0);
        if (h.kernel[0] && h.boot[0] && h.date[0]) /* an empty field is written as "-" */
                CHECK(same_history(&h, &again));
        if (!strpbrk(h.reason, "\\") && again.reason[0])
                CHECK(strncmp(again.reason, h.reason,
                              strspn(h.reason, "abcdefghijklmnopqrstuvwxyz ")) == 0);
}

/* A serial number that the device chooses, then the file. Only its own line changes. */
static void check_history(struct roots *r, const uint8_t *data, size_t size)
{
        struct facts f = {.interface = INTERFACE,
                          .port = "2-1",
                          .vid = 0x1209,
                          .pid = 0x5a5a,
                          .bcd = 0x114,
                          .controller_device = "0000:00:14.0"};
        struct facts other = f;
        const struct history distrusted = {
                .state = HISTORY_DISTRUSTED, .lost = true, .reason = "it had to be reset"};
        struct history now, before;
        char *text = fuzz_text(data, size), *rest = text;
        int k, had;

        (void) copy_string(other.port, sizeof(other.port), "2-2");
        (void) copy_string(f.serial, sizeof(f.serial), fuzz_field(&rest, '\n'));
        (void) copy_string(other.serial, sizeof(other.serial), "X");
        if (rest) {
                char *lines = fuzz_text((const uint8_t *) rest, strlen(rest)), *more = lines;

                check_history_line(fuzz_field(&more, '\n'));
                free(lines);
        }
        (void) unlinkat(r->etc, "uasd/" STATE_HISTORY, 0);
        fuzz_file(r->var, STATE_DIR "/" STATE_HISTORY, rest ? rest : "", rest ? strlen(rest) : 0);
        had = history_read(r, &other, &before);
        history_recall(r, &f);
        CHECK(history_write(r, &f, &distrusted) == 0);
        CHECK(history_read(r, &f, &now) == 1);
        CHECK(now.state == HISTORY_DISTRUSTED && now.lost && streq(now.reason, distrusted.reason));
        history_recall(r, &f);
        CHECK(f.distrusted);
        k = history_read(r, &other, &now);
        CHECK(k == had && (k <= 0 || same_history(&now, &before)));
        CHECK(history_forget(r, &f) == 0);
        CHECK(history_read(r, &f, &now) == 0);
        free(text);
}

static void check_limits(struct roots *r, const uint8_t *data, size_t size)
{
        static const char dir[] = "systemd/generator";
        struct hold_limits l, again;
        _cleanup_close_ int dirfd = -1;
        int k;

        fuzz_file(r->run, "systemd/generator/.keep", "", 0);
        dirfd = openat(r->run, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(dirfd >= 0);
        l = (struct hold_limits){.hold = 1000, .device_timeout = 2000};
        CHECK(limits_write(dirfd, &l) == 0); /* the link, and its file */
        fuzz_file(dirfd, LIMITS_DROPIN, data, size);
        k = limits_read(r, &l);
        CHECK(k <= 0);
        if (k < 0)
                return;
        CHECK(l.hold > 0 && l.device_timeout > 0);
        CHECK(limits_write(dirfd, &l) == 0);
        k = limits_read(r, &again);
        CHECK(k == 0 ? again.hold == l.hold / 1000 * 1000 &&
                               again.device_timeout == l.device_timeout / 1000 * 1000
                     : l.hold < 1000 || l.device_timeout < 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct {
                uint8_t kind;
                void (*check)(struct roots *r, const uint8_t *data, size_t size);
        } kinds[] = {
                {'s', check_record},  {'h', check_hold},   {'a', check_attachment},
                {'p', check_policy},  {'l', check_limits}, {'y', check_history},
                {'n', check_strings},
        };

        for (size_t i = 0; size > 0 && i < ELEMENTSOF(kinds); i++)
                if (kinds[i].kind == data[0])
                        kinds[i].check(fuzz_roots(), data + 1, size - 1);
        return 0;
}

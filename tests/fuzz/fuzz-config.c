/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* uasd.conf, fstab, crypttab, system.conf and the kernel command line, the kind in the first byte.
 */
#include <ctype.h>

#include "common/names.h"
#include "fuzz.h"
#include "hold/allowed.h"
#include "sys/io/boot.h"
#include "sys/state/conf.h"

static void complain(const char *file, int line, const char *what, void *data)
{
        CHECK(file && line >= 0 && what);
        ++*(int *) data;
}

/* Names that a section cannot have: inih ends them at ']' and removes blanks at the end. */
static bool writable(const char *serial)
{
        size_t n = strlen(serial);

        return n <= 20 && !strpbrk(serial, "];#\r\n\t\v\f") &&
               !isspace((unsigned char) serial[n - 1]);
}

static size_t print(const struct config *c, char *ret, size_t size)
{
        int n = snprintf(ret, size,
                         "[uasd]\nPolicy=%s\nQuietSec=%lluus\nHoldSec=%lluus\nUnknown=%s\n",
                         policy_to_string(c->policy), (unsigned long long) c->quiet_usec,
                         (unsigned long long) c->hold_usec, driver_to_string(c->unknown_target));

        for (size_t i = 0; i < c->n_rules; i++) {
                const struct disk_rule *r = &c->rules[i];

                if (*r->serial && !writable(r->serial))
                        continue;
                n += snprintf(ret + n, size - (size_t) n, "[Disk %04x:%04x%s%s]\nPolicy=%s\n",
                              r->vid, r->pid, *r->serial ? ":" : "", r->serial,
                              policy_to_string(r->policy));
                CHECK((size_t) n < size);
        }
        return (size_t) n;
}

static void same(const struct config *a, const struct config *b)
{
        size_t at = 0;

        CHECK(a->policy == b->policy && a->quiet_usec == b->quiet_usec &&
              a->hold_usec == b->hold_usec && a->unknown_target == b->unknown_target);
        for (size_t i = 0; i < a->n_rules; i++) {
                const struct disk_rule *r = &a->rules[i], *s;

                if (*r->serial && !writable(r->serial))
                        continue;
                CHECK(at < b->n_rules);
                s = &b->rules[at++];
                CHECK(r->vid == s->vid && r->pid == s->pid && r->policy == s->policy);
                CHECK(streq(r->serial, s->serial));
                CHECK(config_policy(a, r->vid, r->pid, r->serial) ==
                      config_policy(b, r->vid, r->pid, r->serial));
        }
        CHECK(at == b->n_rules);
}

static void check_conf(const struct roots *r, const uint8_t *data, size_t size)
{
        static char text[1 << 20];
        struct config c, again;
        int complaints = 0, none = 0, lines = 1;

        for (size_t i = 0; i < size; i++)
                lines += data[i] == '\n';

        fuzz_file(r->etc, CONF_FILE, data, size);
        CHECK(conf_load(r, &c, complain, &complaints) == 0);
        CHECK(complaints <= lines);
        CHECK(c.quiet_usec != UINT64_MAX && c.hold_usec != UINT64_MAX);
        CHECK(c.unknown_target == DRIVER_UAS || c.unknown_target == DRIVER_USB_STORAGE);

        fuzz_file(r->etc, CONF_FILE, text, print(&c, text, sizeof(text)));
        CHECK(conf_load(r, &again, complain, &none) == 0);
        CHECK(none == 0);
        same(&c, &again);
        config_done(&c);
        config_done(&again);
}

static void check_timeouts(const struct roots *r, int dirfd, const char *file, const uint8_t *data,
                           size_t size)
{
        uint64_t usec = 0;
        int k;

        fuzz_file(dirfd, file, data, size);
        k = smallest_device_timeout(r, &usec);
        CHECK(k == 0 || k == -EBADMSG);
        CHECK(k < 0 || (usec > 0 && usec <= 90 * USEC_PER_SEC));
        fuzz_file(dirfd, file, "", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct roots *r = fuzz_roots();

        if (size == 0)
                return 0;
        switch (data[0]) {
        case 'c':
                check_conf(r, data + 1, size - 1);
                break;
        case 'f':
                check_timeouts(r, r->etc, "fstab", data + 1, size - 1);
                break;
        case 's':
                check_timeouts(r, r->etc, "systemd/system.conf", data + 1, size - 1);
                break;
        case 'k':
                fuzz_file(r->proc, "cmdline", data + 1, size - 1);
                (void) cmdline_has(r, CMDLINE_OFF);
                check_timeouts(r, r->proc, "cmdline", data + 1, size - 1);
                break;
        default:
                break;
        }
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config.h"

#include "common/util.h"
#include "core/facts.h"

#define DISK_PREFIX "Disk "

void config_init(struct config *c)
{
        *c = (struct config){
                .policy = POLICY_AUTO,
                .quiet_usec = 2 * USEC_PER_SEC,
                .hold_usec = 20 * USEC_PER_SEC,
                .unknown_target = DRIVER_UAS,
                .trial_usec = 600 * USEC_PER_SEC,
        };
}

void config_done(struct config *c)
{
        for (size_t i = 0; i < c->n_rules; i++)
                free(c->rules[i].serial);
        free(c->rules);
        free(c->module);
        config_init(c);
}

/* Parses one number with its unit and advances *s. A number without a unit is seconds. */
static int parse_span(const char **s, usec_t *ret)
{
        static const struct {
                const char *name;
                usec_t usec;
        } units[] = {
                {"", USEC_PER_SEC},          {"us", 1},
                {"ms", USEC_PER_MSEC},       {"s", USEC_PER_SEC},
                {"sec", USEC_PER_SEC},       {"m", 60 * USEC_PER_SEC},
                {"min", 60 * USEC_PER_SEC},  {"h", 3600 * USEC_PER_SEC},
                {"d", 86400 * USEC_PER_SEC},
        };
        const char *p = *s;
        unsigned long long number;
        size_t n;
        usec_t v;

        if (take_uint(&p, 10, UINT64_MAX, &number) < 0)
                return -EINVAL;
        n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                if (strlen(units[i].name) != n || memcmp(units[i].name, p, n) != 0)
                        continue;
                if (__builtin_mul_overflow(number, units[i].usec, &v))
                        return -EINVAL;
                *s = p + n;
                *ret = v;
                return 0;
        }
        return -EINVAL;
}

int parse_seconds(const char *s, usec_t *ret_usec)
{
        usec_t total = 0;

        do {
                usec_t v;
                int r = parse_span(&s, &v);

                if (r < 0)
                        return r;
                if (__builtin_add_overflow(total, v, &total) || total == UINT64_MAX)
                        return -EINVAL; /* elsewhere the last value means "never" */
                s += strspn(s, " ");
        } while (*s);
        *ret_usec = total;
        return 0;
}

/* Parses "VID:PID" or "VID:PID:SERIAL"; a serial may contain colons. If it does not count, the
 * section would be for every disk of this VID:PID. */
static int parse_disk(const char *s, uint16_t *ret_vid, uint16_t *ret_pid,
                      char ret_serial[static USB_STRING_MAX])
{
        unsigned long long vid, pid;

        s += strspn(s, " ");
        if (take_uint(&s, 16, UINT16_MAX, &vid) < 0 || *s++ != ':' ||
            take_uint(&s, 16, UINT16_MAX, &pid) < 0)
                return -EINVAL;
        ret_serial[0] = '\0';
        if (*s) {
                if (*s++ != ':' || !copy_string(ret_serial, USB_STRING_MAX, s))
                        return -EINVAL;
                serial_normalize(ret_serial);
                if (!*ret_serial)
                        return -EINVAL;
        }
        *ret_vid = (uint16_t) vid;
        *ret_pid = (uint16_t) pid;
        return 0;
}

static int set_rule(struct config *c, uint16_t vid, uint16_t pid, const char *serial,
                    enum policy policy)
{
        struct disk_rule rule = {.vid = vid, .pid = pid, .policy = policy};

        for (size_t i = 0; i < c->n_rules; i++) {
                struct disk_rule *known = c->rules + i;

                if (known->vid == vid && known->pid == pid && streq(known->serial, serial)) {
                        known->policy = policy;
                        return 0;
                }
        }
        rule.serial = strdup(serial);
        if (rule.serial && list_push(c->rules, c->n_rules, rule))
                return 0;
        free(rule.serial);
        return -ENOMEM;
}

static int set_disk(struct config *c, const char *disk, const char *key, const char *value)
{
        char serial[USB_STRING_MAX];
        uint16_t vid, pid;
        int policy;

        if (!streq(key, "Policy") || parse_disk(disk, &vid, &pid, serial) < 0)
                return -ENOENT;
        policy = policy_from_string(value);
        if (policy < 0)
                return policy;
        return set_rule(c, vid, pid, serial, (enum policy) policy);
}

static int set_module(struct config *c, const char *path)
{
        char *copy = NULL;

        if (*path && (*path != '/' || strlen(path) >= CONFIG_PATH_MAX))
                return -EINVAL;
        if (*path && !(copy = strdup(path)))
                return -ENOMEM;
        free(c->module);
        c->module = copy;
        return 0;
}

int config_set(struct config *c, const char *section, const char *key, const char *value)
{
        const char *disk = startswith(section, DISK_PREFIX);
        int v;

        if (disk)
                return set_disk(c, disk, key, value);
        if (!streq(section, "uasd"))
                return -ENOENT;
        if (streq(key, "Policy")) {
                v = policy_from_string(value);
                if (v < 0)
                        return v;
                c->policy = (enum policy) v;
                return 0;
        }
        if (streq(key, "Unknown")) {
                v = driver_from_string(value);
                if (v != DRIVER_UAS && v != DRIVER_USB_STORAGE)
                        return -EINVAL;
                c->unknown_target = (enum driver) v;
                return 0;
        }
        if (streq(key, "BootEntry")) {
                if (!streq(value, "auto") && !streq(value, "ask"))
                        return -EINVAL;
                c->boot_entry_auto = streq(value, "auto");
                return 0;
        }
        if (streq(key, "TakeMounts")) {
                if (!streq(value, "boot") && !streq(value, "no"))
                        return -EINVAL;
                c->take_mounts = streq(value, "boot");
                return 0;
        }
        if (streq(key, "Module"))
                return set_module(c, value);
        if (streq(key, "QuietSec"))
                return parse_seconds(value, &c->quiet_usec);
        if (streq(key, "HoldSec"))
                return parse_seconds(value, &c->hold_usec);
        if (streq(key, "TrialSec"))
                return parse_seconds(value, &c->trial_usec);
        return -ENOENT;
}

enum policy config_policy(const struct config *c, uint16_t vid, uint16_t pid, const char *serial)
{
        const struct disk_rule *best = NULL;

        for (size_t i = 0; i < c->n_rules; i++) {
                const struct disk_rule *rule = c->rules + i;

                if (rule->vid != vid || rule->pid != pid)
                        continue;
                if (!*rule->serial && best)
                        continue;
                if (*rule->serial && (!serial || !streq(rule->serial, serial)))
                        continue;
                best = rule;
        }
        return best ? best->policy : c->policy;
}

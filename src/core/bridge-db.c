/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/bridge-db.h"

#include <errno.h>

#include "common/names.h"
#include "common/util.h"

#define KERNEL_PREFIX "Linux "
#define BCD_MAX 0x9999U

static bool bcd_parse(const char *s, uint16_t *ret)
{
        unsigned long long value;

        if (strlen(s) != 4 || parse_uint(s, 16, UINT16_MAX, &value) < 0)
                return false;
        *ret = (uint16_t) value;
        return true;
}

static bool firmware_parse(char *s, struct db_says *ret)
{
        char *dash;

        if (streq(s, "*")) {
                ret->bcd_min = 0;
                ret->bcd_max = UINT16_MAX;
                return true;
        }
        dash = strchr(s, '-');
        if (!dash)
                return false;
        *dash = '\0';
        return bcd_parse(s, &ret->bcd_min) && bcd_parse(dash + 1, &ret->bcd_max) &&
               ret->bcd_min <= ret->bcd_max;
}

int db_says_parse(const char *value, struct db_says *ret)
{
        char verdict[16], firmware[16];
        struct db_says s = {0};
        int v, n;

        if (sscanf(value, "%15[^;];%15[^;];%31[^;];%79[^;];%15[^;]%n", verdict, firmware, s.host,
                   s.source, s.date, &n) != 5 ||
            (v = verdict_from_string(verdict)) < 0 || !firmware_parse(firmware, &s))
                return -EINVAL;
        value += n;
        if ((*value && *value++ != ';') || strchr(value, ';') ||
            !copy_string(s.note, sizeof(s.note), value))
                return -EINVAL;
        s.verdict = (enum verdict) v;
        *ret = s;
        return 0;
}

int db_fill(struct db_entry *ret, db_property_fn get, const void *from)
{
        char key[32], value[320];
        int v;

        *ret = (struct db_entry){.n_says = 0};
        if (get(from, PROP_VERDICT, value, sizeof(value)) > 0 &&
            (v = verdict_from_string(value)) >= 0) {
                ret->ruled = true;
                ret->rule = (enum verdict) v;
        }
        if (get(from, PROP_DB_CHIP, ret->chip, sizeof(ret->chip)) <= 0)
                ret->chip[0] = '\0';
        for (size_t i = 0; i < DB_SAYS_MAX; i++) {
                int r;

                (void) snprintf(key, sizeof(key), PROP_DB_SAYS "%zu", i + 1);
                r = get(from, key, value, sizeof(value));
                if (r == 0)
                        break;
                /* A malformed statement does not count. */
                if (r > 0 && db_says_parse(value, &ret->says[ret->n_says]) >= 0)
                        ret->n_says++;
        }
        return ret->ruled || ret->chip[0] || ret->n_says > 0;
}

bool db_firmware_fits(const struct db_says *s, uint16_t bcd)
{
        return s->bcd_min <= bcd && bcd <= s->bcd_max;
}

bool db_any_firmware(const struct db_says *s)
{
        return s->bcd_min == 0 && s->bcd_max >= BCD_MAX;
}

bool db_host_fits(const struct db_says *s, const char *platform)
{
        if (streq(s->host, "*"))
                return true;
        for (const char *word = platform; *word; word += strspn(word, " ")) {
                if (startswith(word, s->host))
                        return true;
                word += strcspn(word, " ");
        }
        return false;
}

static bool db_of_kernel(const struct db_says *s)
{
        return startswith(s->source, KERNEL_PREFIX);
}

static enum verdict verdict_weigh(bool good, bool bad, bool kernel)
{
        if (good == bad || (good && kernel))
                return VERDICT_UNKNOWN;
        if (good)
                return VERDICT_GOOD;
        return VERDICT_BAD;
}

void db_weigh(const struct db_entry *e, uint16_t bcd, const char *platform, struct db_word *ret)
{
        bool good = false, bad = false, kernel = false;

        if (e->ruled) {
                *ret = (struct db_word){.verdict = e->rule};
                return;
        }
        for (size_t i = 0; i < e->n_says; i++) {
                const struct db_says *s = &e->says[i];

                if (!db_firmware_fits(s, bcd) || !db_host_fits(s, platform))
                        continue;
                good = good || s->verdict == VERDICT_GOOD;
                if (s->verdict == VERDICT_BAD) {
                        kernel = kernel || db_of_kernel(s);
                        bad = bad || !db_of_kernel(s);
                }
        }
        *ret = (struct db_word){
                .verdict = verdict_weigh(good, bad, kernel),
                .conflict = good && (bad || kernel),
                .kernel_alone = kernel && !bad && !good,
        };
}

bool db_weigh_all(const struct db_entry *e, const char *platform, struct db_word *ret)
{
        db_weigh(e, 0, platform, ret);
        for (size_t i = 0; i < e->n_says; i++) {
                /* The verdict changes only where a range begins, and behind its end. */
                const unsigned edges[] = {e->says[i].bcd_min, e->says[i].bcd_max + 1U};

                for (size_t j = 0; j < ELEMENTSOF(edges); j++) {
                        struct db_word word;

                        if (edges[j] > BCD_MAX)
                                continue;
                        db_weigh(e, (uint16_t) edges[j], platform, &word);
                        if (word.verdict == ret->verdict && word.kernel_alone == ret->kernel_alone)
                                continue;
                        *ret = (struct db_word){.verdict = VERDICT_UNKNOWN};
                        return false;
                }
        }
        return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/settings.h"

#include <inttypes.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"

#define PAGE_MAX 64

static size_t read_page(const struct roots *r, const char *block, const char *page, uint8_t ret[static PAGE_MAX])
{
        ssize_t n = attr_read_binary(r->sys, path_join("block/", block, "/device/vpd_", page), ret, PAGE_MAX);

        return n < 0 ? 0 : (size_t) n;
}

static uint64_t read_queue(const struct roots *r, const char *block, const char *attribute)
{
        uint64_t v;

        return attr_read_uint(r->sys, path_join("block/", block, "/queue/", attribute), 10, &v) < 0 ? 0 : v;
}

void trim_read_mode(const struct roots *r, const char *block, char ret[static TRIM_MODE_MAX])
{
        const char *folder = path_join("block/", block, "/device/scsi_disk");
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(r->sys, folder, "", &names);

        if (n <= 0 || attr_read(r->sys, path_join(folder, "/", names[0], "/provisioning_mode"), ret, TRIM_MODE_MAX) < 0)
                ret[0] = '\0';
}

void trim_read(const struct roots *r, const char *block, struct trim_facts *ret)
{
        uint8_t b0[PAGE_MAX], b2[PAGE_MAX];
        size_t n_b0, n_b2;
        unsigned block_size;

        *ret = (struct trim_facts){};
        n_b2 = read_page(r, block, "pgb2", b2);
        n_b0 = read_page(r, block, "pgb0", b0);
        block_size = (unsigned) read_queue(r, block, "logical_block_size");
        trim_pages(b2, n_b2, b0, n_b0, block_size ?: 512, ret);
        ret->used_bytes = read_queue(r, block, "discard_max_bytes");
        trim_read_mode(r, block, ret->mode);
}

/* "0:2146435072" */
static bool parse_lun(char *word, unsigned lun, uint64_t *ret)
{
        unsigned long long number, max;
        char *colon = strchr(word, ':');

        if (!colon)
                return false;
        *colon = '\0';
        if (parse_uint(word, 10, UINT32_MAX, &number) < 0 || number != lun || parse_uint(colon + 1, 10, UINT64_MAX, &max) < 0)
                return false;
        *ret = max;
        return true;
}

int trims_lookup(const struct roots *r, const struct facts *f, unsigned lun, uint64_t *ret_max_bytes)
{
        char *word, *state = NULL;
        struct setting set;
        uint64_t max;
        int k;

        k = setting_lookup(r, STATE_TRIM, f, &set);
        if (k < 0)
                return k;
        /* The line for the port may be "off": then a setting without a port is for another disk with the same name. */
        word = strtok_r(set.port[0] ? set.port : set.disk, " ", &state);
        if (!word || !streq(word, "on"))
                return 0;
        while ((word = strtok_r(NULL, " ", &state)))
                if (parse_lun(word, lun, &max)) {
                        *ret_max_bytes = max;
                        return 1;
                }
        return 0;
}

int trims_store(const struct roots *r, const struct facts *f, bool port, const struct trim_lun *luns, size_t n)
{
        char words[SETTING_MAX] = "off";
        size_t used;

        used = n ? (size_t) snprintf(words, sizeof(words), "on") : 0;
        for (size_t i = 0; i < n; i++) {
                used += (size_t) snprintf(words + used, sizeof(words) - used, " %u:%" PRIu64, luns[i].lun, luns[i].max_bytes);
                if (used >= sizeof(words))
                        return -E2BIG;
        }
        return setting_store(r, f, &(struct setting_line){STATE_TRIM, "uasctl trim", words, n == 0, port});
}

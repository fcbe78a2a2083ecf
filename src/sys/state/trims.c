/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/trims.h"

#include <inttypes.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/state/settings.h"

#define PAGE_MAX 512 /* page 83 may be long */

static size_t trim_read_page(const struct roots *roots, const char *block, const char *page,
                             uint8_t ret[static PAGE_MAX])
{
        ssize_t n = attr_read_binary(roots->sys, path_join("block/", block, "/device/vpd_", page),
                                     ret, PAGE_MAX);

        if (n < 0)
                return 0;
        return (size_t) n;
}

static uint64_t trim_read_queue(const struct roots *roots, const char *block, const char *attribute)
{
        uint64_t v;

        if (attr_read_uint(roots->sys, path_join("block/", block, "/queue/", attribute), 10, &v) <
            0)
                return 0;
        return v;
}

void trim_read_mode(const struct roots *roots, const char *block, char ret[static TRIM_MODE_MAX])
{
        const char *folder = path_join("block/", block, "/device/scsi_disk");
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(roots->sys, folder, "", &names);

        if (n <= 0 || attr_read(roots->sys, path_join(folder, "/", names[0], "/provisioning_mode"),
                                ret, TRIM_MODE_MAX) < 0)
                ret[0] = '\0';
}

void trim_read_offer(const struct roots *roots, const char *block, unsigned block_size,
                     struct trim_facts *ret)
{
        uint8_t b0[PAGE_MAX], b2[PAGE_MAX];
        size_t n_b0, n_b2;

        *ret = (struct trim_facts){};
        n_b2 = trim_read_page(roots, block, "pgb2", b2);
        n_b0 = trim_read_page(roots, block, "pgb0", b0);
        trim_pages(b2, n_b2, b0, n_b0, block_size, ret);
}

void trim_read(const struct roots *roots, const char *block, struct trim_facts *ret)
{
        unsigned block_size = (unsigned) trim_read_queue(roots, block, "logical_block_size");

        trim_read_offer(roots, block, block_size ?: 512, ret);
        ret->used_bytes = trim_read_queue(roots, block, "discard_max_bytes");
        trim_read_mode(roots, block, ret->mode);
}

void trim_read_medium(const struct roots *roots, const char *block, struct trim_medium *ret)
{
        static const char *const names[] = {"vendor", "model", "rev"}, *const pages[] = {"pg80",
                                                                                         "pg83"};
        uint64_t sectors;

        *ret = (struct trim_medium){};
        if (attr_read_uint(roots->sys, path_join("block/", block, "/size"), 10, &sectors) >= 0)
                ret->size = sectors * 512;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char text[64] = "";

                (void) attr_read(roots->sys, path_join("block/", block, "/device/", names[i]), text,
                                 sizeof(text));
                ret->inquiry = trim_hash(ret->inquiry, text, strlen(text) + 1);
        }
        for (size_t i = 0; i < ELEMENTSOF(pages); i++) {
                uint8_t page[PAGE_MAX];
                size_t n = trim_read_page(roots, block, pages[i], page);

                if (n > 0)
                        ret->serial = trim_hash(ret->serial, page, n);
        }
}

/* "0:2146435072:1000204886016:INQUIRY:SERIAL[:force]". An older uasd wrote only the first two: then
 * the medium is unknown. */
static bool trim_parse_lun(const char *word, struct trim_lun *ret)
{
        struct trim_lun l;
        unsigned long long lun, max, medium[3] = {};

        if (take_uint(&word, 10, UINT32_MAX, &lun) < 0 || *word++ != ':' ||
            take_uint(&word, 10, UINT64_MAX, &max) < 0)
                return false;
        for (size_t i = 0; *word && i < ELEMENTSOF(medium); i++)
                if (*word++ != ':' ||
                    take_uint(&word, i == 0 ? 10 : 16, UINT64_MAX, &medium[i]) < 0)
                        return false;
        l = (struct trim_lun){
                (unsigned) lun, max, {medium[0], medium[1], medium[2]}, streq(word, ":force")};
        if (*word && !l.forced)
                return false;
        *ret = l;
        return true;
}

/* Is the setting for the medium there now? The offer counts only where it is shown. */
static enum trim_kept trim_judge(const struct roots *roots, const struct trim_lun *kept,
                                 const char *block)
{
        struct trim_medium now;
        struct trim_facts t;

        trim_read_medium(roots, block, &now);
        if (!trim_medium_same(&kept->medium, &now))
                return TRIM_KEPT_FOR_ANOTHER;
        trim_read(roots, block, &t);
        if (t.offer == TRIM_OFFER_NO && !kept->forced)
                return TRIM_NOT_OFFERED;
        return TRIM_KEPT;
}

int trims_lookup(const struct roots *roots, const struct facts *f, unsigned lun, const char *block,
                 uint64_t *ret_max_bytes)
{
        char *word, *state = NULL;
        struct trim_lun kept;
        struct setting set;
        int r;

        r = setting_lookup(roots, STATE_TRIM, f, &set);
        if (r < 0)
                return r;
        /* The line for the port may be "off": then a setting without a port is for another disk
         * with the same name. */
        word = strtok_r(set.port[0] ? set.port : set.disk, " ", &state);
        if (!word || !streq(word, "on"))
                return TRIM_NOT_KEPT;
        while ((word = strtok_r(NULL, " ", &state)))
                if (trim_parse_lun(word, &kept) && kept.lun == lun) {
                        *ret_max_bytes = kept.max_bytes;
                        return trim_judge(roots, &kept, block);
                }
        return TRIM_NOT_KEPT;
}

int trims_store(const struct roots *roots, const struct facts *f, bool port,
                const struct trim_lun *luns, size_t n)
{
        char words[SETTING_MAX] = "off";
        size_t used = 0;

        if (n > 0)
                used = (size_t) snprintf(words, sizeof(words), "on");
        for (size_t i = 0; i < n; i++) {
                const struct trim_lun *l = luns + i;

                used += (size_t) snprintf(words + used, sizeof(words) - used,
                                          " %u:%" PRIu64 ":%" PRIu64 ":%" PRIx64 ":%" PRIx64 "%s",
                                          l->lun, l->max_bytes, l->medium.size, l->medium.inquiry,
                                          l->medium.serial, l->forced ? ":force" : "");
                if (used >= sizeof(words))
                        return -E2BIG;
        }
        return setting_store(
                roots, f, &(struct setting_line){STATE_TRIM, "uasctl trim", words, n == 0, port});
}

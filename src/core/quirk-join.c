/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirk-join.h"

#include <sys/param.h>

#include "common/util.h"

/* Copies the entry at `from`, which is read up to its comma. Returns its length. */
static size_t entry_at(const char *from, char ret[static QUIRKS_MAX + 1])
{
        size_t n = strcspn(from, ",");

        (void) copy_part(ret, QUIRKS_MAX + 1, from, MIN(n, QUIRKS_MAX));
        return n;
}

static bool is_plugged(const char *entry, const struct facts *const *plugged, size_t n)
{
        uint16_t vid, pid;

        if (!quirk_entry_ids(entry, &vid, &pid))
                return false;
        for (size_t i = 0; i < n; i++)
                if (plugged[i]->vid == vid && plugged[i]->pid == pid)
                        return true;
        return false;
}

char *quirks_join(const char *const *strings, size_t n)
{
        size_t size = 1, used = 0;
        char *joined;

        for (size_t i = 0; i < n; i++)
                size += strlen(strings[i]) + 1;
        if (n == 1)
                return strdup(strings[0]);
        joined = calloc(1, size);
        if (!joined)
                return NULL;
        for (size_t i = 0; i < n; i++)
                for (const char *p = strings[i]; *p; p += *p == ',') {
                        char entry[QUIRKS_MAX + 1];
                        size_t length = entry_at(p, entry), at;
                        uint16_t vid, pid;
                        bool wins = length <= QUIRKS_MAX && quirk_entry_ids(entry, &vid, &pid);

                        for (size_t j = i + 1; wins && j < n; j++)
                                wins = !quirks_next(strings[j], vid, pid, &at);
                        if (wins && !quirks_next(joined, vid, pid, &at))
                                used += (size_t) snprintf(joined + used, size - used, "%s%s",
                                                          used ? "," : "", entry);
                        p += length;
                }
        return joined;
}

/* Appends the entry if it fits. */
static bool quirks_append(char ret[static QUIRKS_MAX + 1], const char *entry)
{
        size_t used = strlen(ret);

        if (used + (used > 0) + strlen(entry) > QUIRKS_MAX)
                return false;
        text_add(ret, QUIRKS_MAX + 1, "%s%s", used ? "," : "", entry);
        return true;
}

int quirks_fit(const char *first, const char *string, const struct facts *const *plugged, size_t n,
               char ret[static QUIRKS_MAX + 1], char ***ret_left_out)
{
        char made[QUIRKS_MAX + 1];
        _cleanup_strv_ char **left_out = NULL;
        size_t n_left_out = 0;

        (void) copy_string(made, sizeof(made), first);
        for (int pass = 0; pass < 2; pass++)
                for (const char *p = string; *p; p += *p == ',') {
                        char entry[QUIRKS_MAX + 1];
                        uint16_t vid, pid;
                        size_t length = entry_at(p, entry), at;
                        int r;

                        p += length;
                        if (!quirk_entry_ids(entry, &vid, &pid) ||
                            quirks_next(made, vid, pid, &at) ||
                            is_plugged(entry, plugged, n) != (pass == 0))
                                continue;
                        if (length <= QUIRKS_MAX && quirks_append(made, entry))
                                continue;
                        r = strv_push(&left_out, &n_left_out, entry);
                        if (r < 0)
                                return r;
                }
        memcpy(ret, made, sizeof(made));
        *ret_left_out = TAKE_PTR(left_out);
        return 0;
}

char *quirks_at(const struct quirk_facts *q, enum quirk_source place)
{
        const char **strings = calloc(q->lines.n + 1, sizeof(*strings));
        size_t n = 0;
        char *joined;

        if (!strings)
                return NULL;
        for (size_t i = 0; i < q->lines.n; i++) {
                const struct quirk_line *line = q->lines.list + i;

                if (line->source == place ||
                    (place == QUIRK_COMMAND_LINE && line->source == QUIRK_MODPROBE && !q->built_in))
                        strings[n++] = line->value;
        }
        joined = quirks_join(strings, n);
        free(strings);
        return joined;
}

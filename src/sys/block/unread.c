/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/unread.h"

#include "common/util.h"

bool unread_copy(const struct unread *u, struct unread *ret)
{
        struct unread open = {.lun = u->lun, .samples = u->samples};

        for (unsigned i = 0; i < u->n && i < UNREAD_MAX; i++)
                if (u->at[i] != UNREAD_DONE)
                        open.at[open.n++] = u->at[i];
        *ret = open;
        return open.samples || open.n > 0;
}

/* "0 samples 1a000": the LUN, the kind, and the offsets. */
char *unread_text(const struct unread *u, char ret[static UNREAD_TEXT_MAX])
{
        int used =
                snprintf(ret, UNREAD_TEXT_MAX, "%u %s", u->lun, u->samples ? "samples" : "places");

        for (unsigned i = 0; i < u->n && i < UNREAD_MAX; i++)
                used += snprintf(ret + used, UNREAD_TEXT_MAX - (size_t) used, " %llx",
                                 (unsigned long long) u->at[i]);
        return ret;
}

bool unread_parse(const char *text, struct unread *ret)
{
        struct unread u = {.lun = 0};
        unsigned long long v;
        char word[24];

        for (unsigned i = 0; *text; i++) {
                size_t n = strcspn(text, " ");

                if (n >= sizeof(word) || u.n == UNREAD_MAX)
                        return false;
                (void) copy_part(word, sizeof(word), text, n);
                u.samples = u.samples || (i == 1 && streq(word, "samples"));
                if (i == 1 && !u.samples && !streq(word, "places"))
                        return false;
                if (i == 0 && parse_uint(word, 10, UINT16_MAX, &v) < 0)
                        return false;
                if (i > 1 && parse_uint(word, 16, UINT64_MAX - 1, &v) < 0)
                        return false;
                if (i == 0)
                        u.lun = (unsigned) v;
                else if (i > 1)
                        u.at[u.n++] = v;
                text += n;
                text += *text == ' ';
        }
        *ret = u;
        return u.samples || u.n > 0;
}

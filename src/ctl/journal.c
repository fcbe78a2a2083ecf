/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/journal.h"

#include "common/log.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "term/program.h"

int journal_open(const char *root, sd_journal **ret)
{
        return root ? sd_journal_open_directory(ret, root, SD_JOURNAL_OS_ROOT) : sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY);
}

void journal_closep(sd_journal **j)
{
        sd_journal_close(*j);
}

int journal_match(sd_journal *j, const char *field, const char *value)
{
        char text[LOG_VALUE_MAX + 32], harmless[LOG_VALUE_MAX];

        (void) snprintf(text, sizeof(text), "%s=%s", field, make_harmless(value, harmless, sizeof(harmless)));
        return sd_journal_add_match(j, text, 0);
}

int journal_each(sd_journal *j, void (*f)(sd_journal *j, void *data), void *data)
{
        int r;

        while ((r = sd_journal_next(j)) > 0)
                f(j, data);
        return r;
}

char *journal_value(sd_journal *j, const char *field)
{
        size_t size, name = strlen(field) + 1;
        const void *data;

        if (sd_journal_get_data(j, field, &data, &size) < 0 || size < name)
                return NULL;
        return need(strndup((const char *) data + name, size - name));
}

int journal_boot(const struct roots *r, char ret[static SD_ID128_STRING_MAX])
{
        char text[SD_ID128_UUID_STRING_MAX];
        sd_id128_t id;
        int k;

        if (attr_read(r->proc, "sys/kernel/random/boot_id", text, sizeof(text)) < 0)
                return -ENODATA;
        k = sd_id128_from_string(text, &id);
        if (k >= 0)
                (void) sd_id128_to_string(id, ret);
        return k;
}

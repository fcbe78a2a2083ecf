/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/record.h"

#include <assert.h>
#include <limits.h>

#include "core/facts.h"
#include "sys/io/statefile.h"

#define STORED_MAX (4 * ESCAPED_MAX + 1024) /* the strings of a device are the longest */
#define ESCAPED_MAX (4 * USB_STRING_MAX)    /* "\x1b" for each byte */

static unsigned long long field_max(const struct state_field *f)
{
        switch (f->size) {
        case sizeof(uint16_t):
                return UINT16_MAX;
        case sizeof(int):
                return INT_MAX;
        default:
                return UINT64_MAX;
        }
}

static bool field_take_number(const struct state_field *f, unsigned base, const char *value,
                              void *ret)
{
        unsigned long long v;
        bool valid = parse_uint(value, base, field_max(f), &v) >= 0;

        if (!valid)
                v = 0;
        if (f->size == sizeof(uint16_t))
                *(uint16_t *) ret = (uint16_t) v;
        else if (f->size == sizeof(int))
                *(unsigned *) ret = (unsigned) v;
        else
                *(uint64_t *) ret = v;
        return valid;
}

static unsigned long long field_number(const struct state_field *f, const void *at)
{
        switch (f->size) {
        case sizeof(uint16_t):
                return *(const uint16_t *) at;
        case sizeof(int):
                return *(const unsigned *) at;
        default:
                return *(const uint64_t *) at;
        }
}

/* Returns false if the value is none for this field. */
static bool field_take_value(const struct state_field *f, const char *value, void *ret)
{
        char text[ESCAPED_MAX];
        int driver;

        switch (f->type) {
        case VALUE_FLAG:
                *(bool *) ret = streq(value, "1");
                return true;
        case VALUE_NUMBER:
                return field_take_number(f, 10, value, ret);
        case VALUE_HEX:
                return field_take_number(f, 16, value, ret);
        case VALUE_DRIVER:
                driver = driver_from_string(value);
                if (driver >= 0)
                        *(enum driver *) ret = (enum driver) driver;
                return driver >= 0;
        case VALUE_TEXT:
                if (!copy_string(text, sizeof(text), value))
                        return false;
                unescape(text);
                return copy_string(ret, f->size, text);
        }
        return false;
}

static void field_add_value(char ret[static STORED_MAX], const struct state_field *f,
                            const void *at)
{
        char text[ESCAPED_MAX];

        switch (f->type) {
        case VALUE_FLAG:
                text_add(ret, STORED_MAX, "%s=%i\n", f->key, *(const bool *) at);
                break;
        case VALUE_NUMBER:
                text_add(ret, STORED_MAX, "%s=%llu\n", f->key, field_number(f, at));
                break;
        case VALUE_HEX:
                text_add(ret, STORED_MAX, "%s=%04llx\n", f->key, field_number(f, at));
                break;
        case VALUE_DRIVER:
                text_add(ret, STORED_MAX, "%s=%s\n", f->key,
                         driver_to_string(*(const enum driver *) at));
                break;
        case VALUE_TEXT:
                text_add(ret, STORED_MAX, "%s=%s\n", f->key, make_harmless(at, text, sizeof(text)));
                break;
        }
}

int state_store(int dirfd, const char *path, const struct state_type *type, const void *record)
{
        char text[STORED_MAX] = "";

        for (size_t i = 0; i < type->n; i++)
                field_add_value(text, type->fields + i,
                                (const char *) record + type->fields[i].offset);
        assert(strlen(text) < sizeof(text) - 1);
        return state_write(dirfd, path, text, false);
}

struct record_reading {
        const struct state_type *type;
        char *record;
        unsigned found; /* a bit for each field */
};

static int record_take_field(const char *key, const char *value, void *data)
{
        struct record_reading *d = data;

        for (size_t i = 0; i < d->type->n; i++) {
                const struct state_field *f = d->type->fields + i;

                if (streq(f->key, key) && field_take_value(f, value, d->record + f->offset))
                        d->found |= 1U << i;
        }
        return 0;
}

int state_load(int dirfd, const char *path, const struct state_type *type, void *record)
{
        struct record_reading d = {type, record, 0};
        int r = state_read(dirfd, path, record_take_field, &d);

        if (r > 0 && type->whole && d.found != (1U << type->n) - 1)
                return -EBADMSG;
        return r;
}

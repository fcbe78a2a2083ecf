/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The members of a struct as JSON, both ways, by the tables of bench.h. */
#include <limits.h>
#include <math.h>

#include "bench/tell/json.h"
#include "common/util.h"
#include "term/json.h"
#include "term/program.h"

#define REAL_MAX 1e18
#define ERRNO_MAX 4095

json_object *new_real(double value)
{
        return need(json_object_new_double(isfinite(value) ? value : 0));
}

static json_object *field_value(const struct field *f, const void *at)
{
        switch (f->type) {
        case FIELD_STRING:
                return new_string_or_null(at);
        case FIELD_WORD:
                return new_string(at);
        case FIELD_UINT:
                return new_int(*(const unsigned *) at);
        case FIELD_UINT64:
        case FIELD_TIME:
                return new_uint(*(const uint64_t *) at);
        case FIELD_REAL:
                return new_real(*(const double *) at);
        case FIELD_KNOWN:
                return *(const double *) at < 0 ? NULL : new_real(*(const double *) at);
        case FIELD_BOOL:
                return new_bool(*(const bool *) at);
        case FIELD_ERRNO:
                return new_int(*(const int *) at);
        case FIELD_DRIVER:
                return new_string(driver_to_string(*(const enum driver *) at));
        case FIELD_AXIS:
                return new_string(bench_axis_to_string(*(const enum bench_axis *) at));
        case FIELD_SIDE:
                return fields_object(side_fields, at);
        }
        return NULL;
}

void put_fields(json_object *o, const struct field *fields, const void *from)
{
        for (const struct field *f = fields; f->name; f++)
                put(o, f->name, field_value(f, (const char *) from + f->offset));
}

json_object *fields_object(const struct field *fields, const void *from)
{
        json_object *o = json_new();

        put_fields(o, fields, from);
        return o;
}

/* Any program may have printed the number, also without decimals. */
static bool get_real(json_object *value, double *ret)
{
        double x = json_object_get_double(value);

        if ((!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int)) || !isfinite(x) ||
            x < 0 || x > REAL_MAX)
                return false;
        *ret = x;
        return true;
}

static int get_word(json_object *value, int (*from_string)(const char *s))
{
        const char *s = json_object_get_string(value);
        int word = s ? from_string(s) : 0;

        return word < 0 ? 0 : word;
}

static int driver_of(const char *s)
{
        return driver_from_string(s);
}

/* json-c converts a value of any type. It is the right one if it is the same after it has been written again. */
static bool get_field(json_object *o, const struct field *f, void *at)
{
        json_object *value = json_object_object_get(o, f->name);
        _cleanup_(json_putp) json_object *again = NULL;

        switch (f->type) {
        case FIELD_STRING:
        case FIELD_WORD:
                (void) copy_string(at, f->max, json_object_get_string(value) ?: "");
                break;
        case FIELD_UINT:
                *(unsigned *) at = (unsigned) json_object_get_uint64(value);
                if (*(unsigned *) at > (f->max ?: UINT_MAX))
                        return false;
                break;
        case FIELD_UINT64:
        case FIELD_TIME:
                *(uint64_t *) at = json_object_get_uint64(value);
                break;
        case FIELD_REAL:
                return get_real(value, at);
        case FIELD_KNOWN:
                *(double *) at = -1;
                return !value || get_real(value, at);
        case FIELD_BOOL:
                *(bool *) at = json_object_get_boolean(value);
                break;
        case FIELD_ERRNO:
                *(int *) at = json_object_get_int(value);
                if (*(int *) at > 0 || *(int *) at < -ERRNO_MAX)
                        return false;
                break;
        case FIELD_DRIVER:
                *(enum driver *) at = (enum driver) get_word(value, driver_of);
                break;
        case FIELD_AXIS:
                *(enum bench_axis *) at = (enum bench_axis) get_word(value, bench_axis_from_string);
                break;
        case FIELD_SIDE:
                return get_fields(value, side_fields, at);
        }
        again = field_value(f, at);
        return json_object_equal(value, again);
}

bool get_fields(json_object *o, const struct field *fields, void *to)
{
        for (const struct field *f = fields; f->name; f++)
                if (!get_field(o, f, (char *) to + f->offset))
                        return false;
        return true;
}

void put_list(json_object *o, const char *key, const struct field *fields, size_t size, const void *from, size_t n)
{
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++)
                append(list, fields_object(fields, (const char *) from + i * size));
        put(o, key, list);
}

bool get_list(json_object *o, const char *key, const struct field *fields, size_t size, size_t max, void *ret, size_t *ret_n)
{
        json_object *list = json_object_object_get(o, key);
        char *items;
        size_t n;

        if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) > max)
                return false;
        n = json_object_array_length(list);
        *(void **) ret = items = need(calloc(n + 1, size));
        *ret_n = n;
        for (size_t i = 0; i < n; i++)
                if (!get_fields(json_object_array_get_idx(list, i), fields, items + i * size))
                        return false;
        return true;
}

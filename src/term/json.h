/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "common/util.h"

/* What objects are put together with: false, or NULL, when memory is out. */

#define JSON_VERSION 1

static inline bool put(json_object *o, const char *key, json_object *value, bool may_be_null)
{
        if (!value && !may_be_null)
                return false;
        if (json_object_object_add(o, key, value) == 0)
                return true;
        json_object_put(value);
        return false;
}

static inline bool put_string(json_object *o, const char *key, const char *s)
{
        return put(o, key, json_object_new_string(s), false);
}

static inline bool put_string_or_null(json_object *o, const char *key, const char *s)
{
        return isempty(s) ? put(o, key, NULL, true) : put_string(o, key, s);
}

static inline bool put_hex(json_object *o, const char *key, uint16_t value)
{
        char text[8];

        (void) snprintf(text, sizeof(text), "%04x", value);
        return put_string(o, key, text);
}

static inline bool put_int(json_object *o, const char *key, int64_t value)
{
        return put(o, key, json_object_new_int64(value), false);
}

static inline bool put_int_or_null(json_object *o, const char *key, int64_t value)
{
        return value ? put_int(o, key, value) : put(o, key, NULL, true);
}

/* Takes item. */
static inline bool append(json_object *array, json_object *item)
{
        if (item && json_object_array_add(array, item) == 0)
                return true;
        json_object_put(item);
        return false;
}

/* One of them failed: no half an object. */
static inline json_object *whole(json_object *o, bool ok)
{
        if (ok)
                return o;
        json_object_put(o);
        return NULL;
}

/*
 * As text, in ASCII: everything else as \uXXXX, so that neither a terminal nor a locale can misread what a
 * device calls itself; broken UTF-8 as U+FFFD. NULL: no memory.
 */
char *json_text(json_object *o);

/* Prints and frees it. 0, or -ENOMEM with o NULL. */
int json_print(json_object *o);
/* The same on a line of its own. */
int json_print_line(json_object *o);

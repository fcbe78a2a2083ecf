/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/json.h"

#include "common/util.h"
#include "term/program.h"

json_object *json_new(void)
{
        return need(json_object_new_object());
}

json_object *json_list(void)
{
        return need(json_object_new_array());
}

void put(json_object *o, const char *key, json_object *value)
{
        if (json_object_object_add(o, key, value) < 0)
                no_memory();
}

void append(json_object *list, json_object *value)
{
        if (json_object_array_add(list, value) < 0)
                no_memory();
}

void put_string(json_object *o, const char *key, const char *s)
{
        put(o, key, need(json_object_new_string(s)));
}

void put_string_or_null(json_object *o, const char *key, const char *s)
{
        put(o, key, isempty(s) ? NULL : need(json_object_new_string(s)));
}

void put_hex(json_object *o, const char *key, uint16_t value)
{
        char text[8];

        (void) snprintf(text, sizeof(text), "%04x", value);
        put_string(o, key, text);
}

void put_int(json_object *o, const char *key, int64_t value)
{
        put(o, key, need(json_object_new_int64(value)));
}

void put_uint(json_object *o, const char *key, uint64_t value)
{
        put(o, key, need(json_object_new_uint64(value)));
}

void put_bool(json_object *o, const char *key, bool value)
{
        put(o, key, need(json_object_new_boolean(value)));
}

json_object *append_new(json_object *list)
{
        json_object *o = json_new();

        append(list, o);
        return o;
}

void append_string(json_object *list, const char *s)
{
        append(list, need(json_object_new_string(s)));
}

const char *member(json_object *o, const char *key)
{
        return json_object_get_string(json_object_object_get(o, key));
}

void json_putp(json_object **o)
{
        (void) json_object_put(*o);
}

json_object *json_document(const char *key, json_object *value)
{
        json_object *o = json_new();

        put_int(o, "version", JSON_VERSION);
        put(o, key, value);
        return o;
}

static char *text_of(json_object *o, int flags)
{
        const char *text = need(
                (void *) json_object_to_json_string_ext(o, flags | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
        char *ret = need(malloc(strlen(text) * 6 + 1)), *p = ret;

        while (*text) {
                uint32_t c = 0xfffd;
                size_t n = utf8_decode(text, &c);

                text += n ?: 1;
                if (c < 0x7f)
                        *p++ = (char) c;
                else if (c < 0x10000)
                        p += sprintf(p, "\\u%04x", c);
                else
                        p += sprintf(p, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
        }
        *p = '\0';
        return ret;
}

char *json_text(json_object *o)
{
        return text_of(o, JSON_C_TO_STRING_PRETTY);
}

static const char *form;

int json_open(const char *f)
{
        if (f && !streq(f, "short") && !streq(f, "pretty"))
                return -EINVAL;
        form = f;
        return 0;
}

static void print(json_object *o, bool pretty)
{
        _cleanup_free_ char *text = text_of(o, (form ? streq(form, "pretty") : pretty) ? JSON_C_TO_STRING_PRETTY : 0);

        puts(text);
        json_object_put(o);
}

void json_print(json_object *o)
{
        print(o, true);
}

void json_print_line(json_object *o)
{
        print(o, false);
}

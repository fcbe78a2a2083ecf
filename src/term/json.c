/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/json.h"

#include "common/util.h"
#include "term/terminal.h"

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

json_object *put_members_of(json_object *o, const struct json_member *members)
{
        for (; members->key; members++)
                put(o, members->key, members->value);
        return o;
}

json_object *new_string(const char *s)
{
        return need(json_object_new_string(s));
}

json_object *new_string_or_null(const char *s)
{
        if (isempty(s))
                return NULL;
        return new_string(s);
}

json_object *new_hex(uint16_t value)
{
        char text[8];

        (void) snprintf(text, sizeof(text), "%04x", value);
        return new_string(text);
}

json_object *new_int(int64_t value)
{
        return need(json_object_new_int64(value));
}

json_object *new_uint(uint64_t value)
{
        return need(json_object_new_uint64(value));
}

json_object *new_bool(bool value)
{
        return need(json_object_new_boolean(value));
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
        return json_make({"version", new_int(JSON_VERSION)}, {key, value});
}

static char *json_text_of(json_object *o, int flags)
{
        const char *text = need((void *) json_object_to_json_string_ext(
                o, flags | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
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
                        p += sprintf(p, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                                     0xdc00 + (c & 0x3ff));
        }
        *p = '\0';
        return ret;
}

char *json_text(json_object *o)
{
        return json_text_of(o, JSON_C_TO_STRING_PRETTY);
}

static const char *form;

int json_open(const char *f)
{
        if (f && !streq(f, "short") && !streq(f, "pretty") && !streq(f, JSON_IN_PARTS))
                return -EINVAL;
        form = f;
        return 0;
}

static void json_print_as(json_object *o, bool pretty)
{
        _cleanup_free_ char *text = NULL;

        if (form)
                pretty = streq(form, "pretty");
        text = json_text_of(o, pretty ? JSON_C_TO_STRING_PRETTY : 0);
        puts(text);
        json_object_put(o);
}

void json_print(json_object *o)
{
        json_print_as(o, true);
}

void json_print_line(json_object *o)
{
        json_print_as(o, false);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/json.h"

/* The well-formed character at s, its length in *ret_n; U+FFFD and 1 if there is none. */
static uint32_t next_character(const unsigned char *s, size_t *ret_n)
{
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t n = *s < 0x80 ? 1 : (*s & 0xe0) == 0xc0 ? 2 : (*s & 0xf0) == 0xe0 ? 3 : (*s & 0xf8) == 0xf0 ? 4 : 0;
        uint32_t c = n == 1 ? *s : n ? *s & (0xffu >> (n + 1)) : 0xfffd;

        *ret_n = 1;
        for (size_t i = 1; i < n; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0xfffd;
                c = c << 6 | (s[i] & 0x3f);
        }
        if (n == 0 || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0xfffd;
        *ret_n = n;
        return c;
}

static char *text_of(json_object *o, int flags)
{
        const char *text;
        char *ret, *p;

        text = json_object_to_json_string_ext(o, flags | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (!text)
                return NULL;
        ret = malloc(strlen(text) * 6 + 1);
        if (!ret)
                return NULL;
        p = ret;
        for (const unsigned char *s = (const unsigned char *) text; *s;) {
                size_t n;
                uint32_t c = next_character(s, &n);

                s += n;
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

static int print(json_object *o, int flags)
{
        _cleanup_free_ char *text = o ? text_of(o, flags) : NULL;

        json_object_put(o);
        if (!text)
                return -ENOMEM;
        puts(text);
        return 0;
}

int json_print(json_object *o)
{
        return print(o, JSON_C_TO_STRING_PRETTY);
}

int json_print_line(json_object *o)
{
        return print(o, 0);
}

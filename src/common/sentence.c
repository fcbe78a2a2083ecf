/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/sentence.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "common/gettext.h"

/* "␂format␟value␟value␃": printable, so that it passes all that makes texts harmless. */
#define BEGIN "\xe2\x90\x82"
#define VALUE "\xe2\x90\x9f"
#define END "\xe2\x90\x83"

#define VALUES_MAX 8
#define DEPTH_MAX 8
#define FORMAT_MAX 1024
#define PARTS_MAX 4096

static enum sentence_form sentences_form;

void sentences_have(enum sentence_form form)
{
        sentences_form = form;
}

struct filling {
        char *ret;
        size_t used, size;
        bool translate;
};

/* Cuts off the beginning of a character: D-Bus accepts only whole ones. */
static void text_trim(char *s)
{
        size_t n = strlen(s), end = n;
        uint32_t c;

        while (end > 0 && ((unsigned char) s[end - 1] & 0xc0) == 0x80)
                end--;
        if (end > 0 && end + utf8_decode(s + end - 1, &c) != n + 1)
                s[end - 1] = '\0';
}

static void fill_put(struct filling *f, const char *s, size_t n)
{
        size_t room = f->size - 1 - f->used;

        memcpy(f->ret + f->used, s, MIN(n, room));
        f->used += MIN(n, room);
        f->ret[f->used] = '\0';
        if (n > room)
                text_trim(f->ret);
}

/* Returns the length of the conversion at '%'. */
static size_t conversion_length(const char *f)
{
        size_t n = 1 + strspn(f + 1, "0123456789$-+ #.*lzhjt");

        return n + (f[n] != '\0');
}

/* Returns the end of a part: where the next one begins, or its sentence ends, or the text. */
static const char *part_end(const char *s)
{
        for (unsigned depth = 0; *s; s++)
                if (startswith(s, BEGIN))
                        depth++;
                else if (depth == 0 && (startswith(s, END) || startswith(s, VALUE)))
                        break;
                else if (startswith(s, END))
                        depth--;
        return s;
}

static void fill_text(struct filling *f, const char *s, const char *end, unsigned depth);

/* Fills in the sentence behind BEGIN: "%s" or "%2$s". Returns its end. */
static const char *fill_sentence(struct filling *f, const char *s, unsigned depth)
{
        const char *values[VALUES_MAX], *end = part_end(s), *format;
        _cleanup_free_ char *own = strndup(s, (size_t) (end - s));
        size_t n = 0, next = 0;

        for (; startswith(end, VALUE); end = part_end(end + strlen(VALUE)))
                if (n < VALUES_MAX)
                        values[n++] = end + strlen(VALUE);
        for (format = own && f->translate ? translated(own) : own ?: ""; *format;) {
                size_t plain = strcspn(format, "%"), i;

                fill_put(f, format, plain);
                format += plain;
                if (*format && format[1] == '%')
                        fill_put(f, "%", 1);
                else if (*format) {
                        i = isdigit((unsigned char) format[1]) && format[2] == '$'
                                    ? (size_t) (format[1] - '1')
                                    : next++;
                        if (i < n)
                                fill_text(f, values[i], part_end(values[i]), depth + 1);
                }
                format += *format ? conversion_length(format) : 0;
        }
        return *end ? end + strlen(END) : end;
}

static void fill_text(struct filling *f, const char *s, const char *end, unsigned depth)
{
        _cleanup_free_ char *own = strndup(s, (size_t) (end - s));
        const char *text = own, *begin;

        if (!own || depth > DEPTH_MAX)
                return;
        /* A name or a number: only clauses have blanks. */
        if (f->translate && (depth == 0 || strchr(own, ' ')))
                text = translated(own);
        while ((begin = strstr(text, BEGIN))) {
                fill_put(f, text, (size_t) (begin - text));
                text = fill_sentence(f, begin + strlen(BEGIN), depth);
        }
        fill_put(f, text, strlen(text));
}

static char *sentence_in(enum sentence_form form, const char *s, char *ret, size_t size)
{
        struct filling f = {ret, 0, size, form == SENTENCE_TRANSLATED};

        if (form == SENTENCE_IN_PARTS) {
                (void) copy_string(ret, size, s);
                return ret;
        }
        *ret = '\0';
        fill_text(&f, s, s + strlen(s), 0);
        return ret;
}

bool sentence_is_in_parts(const char *s)
{
        return strstr(s, BEGIN);
}

char *sentence_fill(const char *s, char *ret, size_t size)
{
        return sentence_in(sentences_form, s, ret, size);
}

char *sentence_english(const char *s, char *ret, size_t size)
{
        return sentence_in(sentences_form == SENTENCE_IN_PARTS ? SENTENCE_ENGLISH : sentences_form,
                           s, ret, size);
}

/* Writes a format of which printf() makes the parts: the text of `format`, and one conversion for
 * each value. */
static bool format_of_parts(const char *format, char ret[static FORMAT_MAX])
{
        struct filling f = {ret, 0, FORMAT_MAX, false};

        fill_put(&f, BEGIN, strlen(BEGIN));
        for (const char *s = format; *s; s++) {
                fill_put(&f, s, 1);
                if (*s == '%')
                        fill_put(&f, "%", 1);
        }
        for (const char *s = strchr(format, '%'); s; s = strchr(s + conversion_length(s), '%')) {
                if (s[1] == '%')
                        continue;
                fill_put(&f, VALUE, strlen(VALUE));
                fill_put(&f, s, conversion_length(s));
        }
        fill_put(&f, END, strlen(END));
        return f.used + 1 < FORMAT_MAX;
}

char *sentence_valist(char *ret, size_t size, const char *format, va_list ap)
{
        char of_parts[FORMAT_MAX], parts[PARTS_MAX];
        bool filled = sentences_form != SENTENCE_IN_PARTS;

        if (size == 0)
                return ret;
        if (!format_of_parts(format, of_parts))
                abort(); /* longer than any format */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        /* The analyzer does not see the va_start() of sentence().
         * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        (void) vsnprintf(filled ? parts : ret, filled ? sizeof(parts) : size, of_parts, ap);
#pragma GCC diagnostic pop
        if (filled)
                return sentence_fill(parts, ret, size);
        text_trim(ret);
        return ret;
}

char *sentence(char *ret, size_t size, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) sentence_valist(ret, size, format, ap);
        va_end(ap);
        return ret;
}

void sentence_add(char *ret, size_t size, const char *format, ...)
{
        size_t used = strlen(ret);
        va_list ap;

        va_start(ap, format);
        (void) sentence_valist(ret + used, size - used, format, ap);
        va_end(ap);
}

char *sentence_with(const char *format, const char *name, char *ret, size_t size)
{
        char parts[PARTS_MAX];

        (void) concat(parts, sizeof(parts), BEGIN, format, VALUE, name, END);
        return sentence_fill(parts, ret, size);
}

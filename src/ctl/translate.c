/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/output.h"

#include <ctype.h>

#include "common/gettext.h"
#include "common/util.h"
#include "term/terminal.h"

/* The formats of finished texts, each ended by a NUL. The build takes them from po/uasd.pot. */
static const char formats[] =
#include "ctl/formats.h"
        ;

#define VALUES_MAX 8
#define ENDS_MAX 8     /* of clauses in one that is known */
#define KNOWN_MAX 1024 /* bytes of a text of uasd */

/* A text that fits a format, and the parts of it that stand at the format's conversions. */
struct values {
        const char *at[VALUES_MAX];
        size_t length[VALUES_MAX];
        size_t n;
};

/* The end of the conversion that begins after '%'. */
static const char *conversion_end(const char *f)
{
        return f + strspn(f, "0123456789$-.lzhj") + 1;
}

/* Finds the values. Each ends where the own characters behind it begin first: so this takes no
 * longer than the text is long. */
static bool format_match(const char *f, const char *s, struct values *v)
{
        size_t own = strcspn(f, "%");

        if (strncmp(f, s, own) != 0)
                return false;
        for (f += own, s += own; *f; f += own) {
                const char *end = NULL;
                size_t left = strlen(s);

                f = conversion_end(f + 1);
                own = strcspn(f, "%");
                if (f[own])
                        end = memmem(s, left, f, own);
                else if (left >= own && streq(s + left - own, f))
                        end = s + left - own;
                if (!end || v->n == VALUES_MAX)
                        return false;
                if (f[-1] != 's' && strspn(s, "0123456789abcdef-") != (size_t) (end - s))
                        return false;
                v->at[v->n] = s;
                v->length[v->n++] = (size_t) (end - s);
                s = end + own;
        }
        return !*s;
}

/* In the catalog, or it fits a format there. */
static bool is_known(const char *s)
{
        bool known = translated(s) != s;

        for (const char *f = formats; *f && !known; f += strlen(f) + 1)
                known = format_match(f, s, &(struct values){});
        return known;
}

/*
 * False if a value has the end of a clause in it: then the format is that of another clause, or of
 * one item of a list. The last value may be anything, and a known clause may have a comma.
 */
static bool is_plausible(const char *f, const struct values *v)
{
        bool open_end = endswith(f, "%s") || endswith(f, "%s.");

        for (size_t i = 0; i + open_end < v->n; i++) {
                _cleanup_free_ char *value = need(strndup(v->at[i], v->length[i]));

                if ((strstr(value, ", ") || strstr(value, ": ")) && !is_known(value))
                        return false;
        }
        return true;
}

/* The format with most own characters that fits s; NULL: none. */
static const char *format_find(const char *s, struct values *ret)
{
        const char *found = NULL;
        size_t most = 0;

        for (const char *f = formats; *f; f += strlen(f) + 1) {
                struct values v = {};
                size_t own = strlen(s);

                if (!format_match(f, s, &v) || !is_plausible(f, &v))
                        continue;
                for (size_t k = 0; k < v.n; k++)
                        own -= v.length[k];
                if (found && own <= most)
                        continue;
                found = f;
                most = own;
                *ret = v;
        }
        return found;
}

static void put_translated(FILE *out, const char *s);

/* Prints a translated format. Its conversions may have another order: "%2$s". */
static void put_format(FILE *out, const char *f, const struct values *v)
{
        for (size_t next = 0; *f; f++) {
                _cleanup_free_ char *value = NULL;
                size_t i;

                if (*f != '%') {
                        (void) fputc(*f, out);
                        continue;
                }
                i = isdigit((unsigned char) f[1]) && f[2] == '$' ? (size_t) (f[1] - '1') : next++;
                f = conversion_end(f + 1) - 1;
                if (i >= v->n)
                        continue;
                value = need(strndup(v->at[i], v->length[i]));
                /* A name or a number: only clauses have blanks. */
                if (strchr(value, ' '))
                        put_translated(out, value);
                else
                        (void) fputs(value, out);
        }
}

/* Returns false if neither the text nor a format that fits it is in the catalog. */
static bool put_known(FILE *out, const char *s)
{
        const char *known = translated(s), *format;
        struct values v;

        if (known != s)
                return fputs(known, out) >= 0;
        format = format_find(s, &v);
        if (format)
                put_format(out, _(format), &v);
        return format;
}

/* Prints "clause; clause". Their formats may also fit all of it, but in another language a value
 * may not come last. */
static bool put_clauses(FILE *out, const char *s)
{
        const char *second = strstr(s, "; ");
        _cleanup_free_ char *first = NULL;

        if (!second)
                return false;
        first = need(strndup(s, (size_t) (second - s)));
        if (!is_known(first) || !is_known(second + 2))
                return false;
        put_translated(out, first);
        (void) fputs("; ", out);
        put_translated(out, second + 2);
        return true;
}

/* Prints s up to `end`, with its full stop or without. Returns false, and prints nothing, if it is
 * not known. */
static bool put_head(FILE *out, const char *s, const char *end)
{
        _cleanup_free_ char *head = need(strndup(s, (size_t) (end - s) + (*end == '.')));
        bool known = put_known(out, head);

        if (!known && *end == '.') {
                head[end - s] = '\0';
                known = *head && put_known(out, head) && fputc('.', out) >= 0;
        }
        return known;
}

/* The next of these characters that ends a sentence or a clause, or the end of the text. */
static const char *next_end(const char *s, const char *ends)
{
        while (*s && !(strchr(ends, *s) && (s[1] == ' ' || (*s == '.' && !s[1]))))
                s++;
        return s;
}

/* Prints a known beginning of the text, and returns the rest. NULL: none is known, and nothing was
 * printed. */
static const char *put_beginning(FILE *out, const char *s, const char *ends)
{
        const char *end = next_end(s, ends);

        for (size_t i = 0; *end && i < ENDS_MAX; i++, end = next_end(end + 1, ends))
                if (put_head(out, s, end))
                        return end + (*end == '.');
        return NULL;
}

/* Prints its sentences and clauses as far as they are known, and the rest as it is. */
static void put_translated(FILE *out, const char *s)
{
        const char *rest;
        size_t between;

        if (!*s)
                return;
        /* The values of a format may be sentences too: so sentences come first. */
        rest = put_beginning(out, s, ".");
        if (!rest && (put_clauses(out, s) || put_known(out, s)))
                return;
        if (!rest)
                rest = put_beginning(out, s, ":;,");
        if (!rest) {
                rest = next_end(s, ".:;,");
                rest += *rest != '\0';
                (void) fprintf(out, "%.*s", (int) (rest - s), s);
        }
        between = strspn(rest, ":;, ");
        (void) fprintf(out, "%.*s", (int) between, rest);
        put_translated(out, rest + between);
}

char *translate(const char *s, char *ret, size_t size)
{
        _cleanup_free_ char *text = NULL;
        size_t length;
        FILE *out;

        /* Without a catalog there is no header. */
        if (!*gettext("") || strlen(s) > KNOWN_MAX) {
                (void) copy_string(ret, size, s);
                return ret;
        }
        out = need(open_memstream(&text, &length));
        put_translated(out, s);
        (void) copy_string(ret, size, fclose(out) == 0 ? text : s);
        return ret;
}

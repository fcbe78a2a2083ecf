/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <ini.h>
#include <stdarg.h>

#include "common/util.h"
#include "ctl/bench/profile-options.h"

/* What inih keeps of a section's name; longer, and it would be cut off. */
#define SECTION_MAX 49
#define LINE_LENGTH_MAX 190
/* A line of ours behind every header: inih tells of a section only with its first option, fio runs one without any, too. */
#define BEGIN_KEY "]"
#define BEGIN_LINE BEGIN_KEY "=1"
#define GLOBAL "global"

struct reader {
        const char *at, *end;
        int line;
        bool begin;        /* BEGIN_LINE comes next */
        const char *fault; /* of that line */
        char text[2 * LINE_LENGTH_MAX]; /* of a fault that has a name in it */

        struct profile *profile;
        struct profile_section global, *section; /* NULL: none yet */
        int error;
};

static _printf_(2, 3) void found(struct reader *r, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(r->text, sizeof(r->text), format, ap);
        va_end(ap);
        r->fault = r->text;
}

/* ---- lists of options ---- */

static void section_done(struct profile_section *s)
{
        for (size_t i = 0; i < s->n_options; i++) {
                free(s->options[i].name);
                free(s->options[i].value);
        }
        free(s->options);
        *s = (struct profile_section){};
}

static int add_option(struct profile_section *s, const char *name, const char *value)
{
        struct profile_option o = {}, *more;

        more = reallocarray(s->options, s->n_options + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        s->options = more;
        o.name = strdup(name);
        o.value = strdup(value);
        if (!o.name || !o.value) {
                free(o.name);
                free(o.value);
                return -ENOMEM;
        }
        s->options[s->n_options++] = o;
        return 0;
}

static int begin_pattern(struct reader *r, const char *name)
{
        struct profile *p = r->profile;
        struct profile_section *sections;
        struct bench_pattern *patterns;

        for (size_t i = 0; i < p->n_patterns; i++)
                if (streq(p->patterns[i].name, name)) {
                        r->fault = "a section of this name was there before";
                        return -EINVAL;
                }
        sections = reallocarray(p->sections, p->n_patterns + 1, sizeof(*sections));
        if (!sections)
                return -ENOMEM;
        p->sections = sections;
        patterns = reallocarray(p->patterns, p->n_patterns + 1, sizeof(*patterns));
        if (!patterns)
                return -ENOMEM;
        p->patterns = patterns;
        sections[p->n_patterns] = (struct profile_section){};
        patterns[p->n_patterns] = (struct bench_pattern){ .name = strdup(name) };
        p->n_patterns++;
        r->section = &sections[p->n_patterns - 1];
        if (!patterns[p->n_patterns - 1].name)
                return -ENOMEM;
        for (size_t i = 0; i < r->global.n_options; i++)
                if (add_option(r->section, r->global.options[i].name, r->global.options[i].value) < 0)
                        return -ENOMEM;
        return 0;
}

/* ---- lines ---- */

/* Blanks at both ends, and what stands behind ';' or '#', which fio takes for comments anywhere. */
static const char *trim(const char *line, size_t *n)
{
        for (size_t i = 0; i < *n; i++)
                if (line[i] == ';' || line[i] == '#')
                        *n = i;
        while (*n > 0 && isspace((unsigned char) line[*n - 1]))
                (*n)--;
        while (*n > 0 && isspace((unsigned char) *line)) {
                line++;
                (*n)--;
        }
        return line;
}

static const char *header_fault(const char *line, size_t n)
{
        if (line[n - 1] != ']')
                return "']' is missing";
        if (n == 2)
                return "a section without a name";
        if (n - 2 > SECTION_MAX || isspace((unsigned char) line[1]) || isspace((unsigned char) line[n - 2]) ||
            memchr(line + 1, ']', n - 2))
                return "this cannot be the name of a section";
        return NULL;
}

/* A name alone means yes, to fio; inih wants a value. */
static const char *option_fault(const char *line, size_t n, bool *ret_alone)
{
        size_t i = 0;

        while (i < n && (isalnum((unsigned char) line[i]) || line[i] == '_'))
                i++;
        *ret_alone = i == n;
        while (i < n && (line[i] == ' ' || line[i] == '\t'))
                i++;
        return i < n && line[i] != '=' ? "not an OPTION=VALUE line" : NULL;
}

/* As fgets(), for inih: one line, in a form that it understands as fio would have. */
static char *next_line(char *ret, int size, void *data)
{
        struct reader *r = data;
        const char *line, *newline;
        bool alone = false;
        size_t n;

        if (r->fault || r->error)
                return NULL;
        if (r->begin) {
                r->begin = false;
                (void) snprintf(ret, (size_t) size, "%s\n", BEGIN_LINE);
                return ret;
        }
        if (r->at == r->end)
                return NULL;
        line = r->at;
        newline = memchr(line, '\n', (size_t) (r->end - line));
        n = (size_t) ((newline ?: r->end) - line);
        r->at = newline ? newline + 1 : r->end;
        r->line++;

        if (memchr(line, '\0', n)) {
                r->fault = "not a text";
                return NULL;
        }
        line = trim(line, &n);
        if (n > LINE_LENGTH_MAX)
                r->fault = "line too long";
        else if (n > 0 && line[0] == '[') {
                r->fault = header_fault(line, n);
                r->begin = true;
        } else if (n > 0)
                r->fault = option_fault(line, n, &alone);
        if (r->fault)
                return NULL;
        (void) snprintf(ret, (size_t) size, "%.*s%s\n", (int) n, line, n > 0 && alone ? "=1" : "");
        return ret;
}

static int assign(void *data, const char *section, const char *name, const char *value)
{
        struct reader *r = data;
        int k;

        if (streq(name, BEGIN_KEY)) {
                k = 0;
                if (streq(section, GLOBAL))
                        r->section = &r->global;
                else
                        k = begin_pattern(r, section);
        } else if (!r->section) {
                r->fault = "an option before the first section";
                return 0;
        } else {
                const char *fault = profile_option_fault(name, value);

                if (fault)
                        found(r, "%s=%s: %s", name, value, fault);
                k = fault ? -EINVAL : add_option(r->section, name, value);
        }
        if (k == -ENOMEM)
                r->error = k;
        return k >= 0;
}

/* ---- the whole ---- */

static int describe(struct profile *p, const struct profile_section *global)
{
        for (size_t i = global->n_options; i > 0; i--)
                if (streq(global->options[i - 1].name, "description")) {
                        p->description = strdup(global->options[i - 1].value);
                        return p->description ? 0 : -ENOMEM;
                }
        return 0;
}

static int finish(struct reader *r)
{
        struct profile *p = r->profile;
        int k = describe(p, &r->global);

        for (size_t i = 0; i < p->n_patterns && k >= 0; i++) {
                char *name = p->patterns[i].name;
                const char *fault = "its options contradict each other";

                k = profile_pattern(&p->sections[i], &p->patterns[i], &fault);
                p->patterns[i].name = name;
                if (k == -EINVAL)
                        found(r, "[%s]: %s", name, fault);
        }
        if (k >= 0 && p->n_patterns == 0)
                r->fault = "no section but [" GLOBAL "]";
        return k;
}

int profile_parse(const char *name, const char *file, const char *text, size_t size, profile_complain_fn complain,
                  void *data, struct profile **ret)
{
        _cleanup_(profile_freep) struct profile *p = calloc(1, sizeof(*p));
        struct reader r = { .at = text, .end = text + size, .profile = p };
        int k;

        if (!p || !(p->name = strdup(name)))
                return -ENOMEM;
        k = ini_parse_stream(next_line, &r, assign, &r);
        if (k > 0 && !r.fault && !r.error)
                r.fault = "not an OPTION=VALUE line";
        if (k < 0)
                r.error = -ENOMEM;
        if (!r.fault && !r.error) {
                r.line = 0;
                k = finish(&r);
                if (k == -ENOMEM)
                        r.error = k;
        }
        section_done(&r.global);
        if (r.error)
                return r.error;
        if (r.fault) {
                if (complain)
                        complain(file, r.line, r.fault, data);
                return -EBADMSG;
        }
        *ret = TAKE_PTR(p);
        return 0;
}

struct profile *profile_free(struct profile *p)
{
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n_patterns; i++) {
                bench_pattern_done(&p->patterns[i]);
                section_done(&p->sections[i]);
        }
        free(p->patterns);
        free(p->sections);
        free(p->description);
        free(p->name);
        free(p);
        return NULL;
}

size_t profile_drop_writes(struct profile *p)
{
        size_t kept = 0, all = p->n_patterns;

        for (size_t i = 0; i < all; i++) {
                if (bench_pattern_writes(&p->patterns[i])) {
                        bench_pattern_done(&p->patterns[i]);
                        section_done(&p->sections[i]);
                        continue;
                }
                p->patterns[kept] = p->patterns[i];
                p->sections[kept++] = p->sections[i];
        }
        p->n_patterns = kept;
        return all - kept;
}

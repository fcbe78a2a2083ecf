/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a job file of fio: sections, options and comments. */
#include <ctype.h>
#include <stdarg.h>

#include "bench/measure/profile.h"
#include "common/util.h"
#include "term/program.h"

#define SECTION_MAX 64
#define FAULT_MAX 384
#define GLOBAL "global"

struct profile_reader {
        struct profile *profile;
        char *global; /* in the format of `sections` in struct profile */
        struct bench_pattern global_pattern;
        /* The current section; NULL: none yet. */
        char **section;
        struct bench_pattern *pattern;
        char fault[FAULT_MAX]; /* "": none */
};

static _printf_(2, 3) int fault(struct profile_reader *r, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(r->fault, sizeof(r->fault), format, ap);
        va_end(ap);
        return -EBADMSG;
}

static void add_option(char **section, const char *name, const char *value)
{
        size_t used = *section ? strlen(*section) : 0, size = strlen(name) + strlen(value) + 3;

        *section = need(realloc(*section, used + size));
        (void) snprintf(*section + used, size, "%s=%s\n", name, value);
}

/* A section begins with the options of [global] up to here. */
static int begin_pattern(struct profile_reader *r, const char *name)
{
        struct profile *p = r->profile;

        for (size_t i = 0; i < p->n_patterns; i++)
                if (streq(p->patterns[i].name, name))
                        return fault(r, "a section of this name was there before");
        p->sections = need(reallocarray(p->sections, p->n_patterns + 1, sizeof(*p->sections)));
        p->patterns = need(reallocarray(p->patterns, p->n_patterns + 1, sizeof(*p->patterns)));
        r->section = &p->sections[p->n_patterns];
        r->pattern = &p->patterns[p->n_patterns++];
        *r->section = need(strdup(r->global ?: ""));
        *r->pattern = r->global_pattern;
        (void) copy_string(r->pattern->name, sizeof(r->pattern->name), name);
        return 0;
}

static int read_header(struct profile_reader *r, char *line)
{
        size_t n = strlen(line);
        char *name = line + 1;

        if (line[n - 1] != ']')
                return fault(r, "']' is missing");
        line[n - 1] = '\0';
        if (!*name)
                return fault(r, "a section without a name");
        if (strlen(name) > SECTION_MAX || strchr(name, ']'))
                return fault(r, "this cannot be the name of a section");
        if (!streq(name, GLOBAL))
                return begin_pattern(r, name);
        r->section = &r->global;
        r->pattern = &r->global_pattern;
        return 0;
}

/* fio reads a name without a value as yes. */
static int read_option(struct profile_reader *r, char *line)
{
        char *end = line, *value;
        int k;

        while (isalnum((unsigned char) *end) || *end == '_')
                end++;
        value = end + strspn(end, " \t");
        if (end == line || (*value && *value != '='))
                return fault(r, "not an OPTION=VALUE line");
        if (!*value)
                value = (char *) "1";
        else {
                value++;
                value += strspn(value, " \t");
        }
        *end = '\0';
        if (!r->section)
                return fault(r, "an option before the first section");
        k = profile_pattern_apply(r->pattern, line, value);
        if (k < 0)
                return fault(r, "%.64s=%.200s: value not understood", line, value);
        add_option(r->section, line, value);
        return 0;
}

/* Removes the comment, and the blanks at both ends. */
static char *strip(char *line)
{
        size_t n = strcspn(line, ";#");

        while (n > 0 && isspace((unsigned char) line[n - 1]))
                n--;
        line[n] = '\0';
        while (isspace((unsigned char) *line))
                line++;
        return line;
}

static int read_lines(struct profile_reader *r, char *text, int *ret_line)
{
        for (char *line; (line = strsep(&text, "\n"));) {
                int k;

                ++*ret_line;
                line = strip(line);
                k = *line == '[' ? read_header(r, line) : *line ? read_option(r, line) : 0;
                if (k < 0)
                        return k;
        }
        return 0;
}

static int finish(struct profile_reader *r)
{
        struct profile *p = r->profile;

        if (p->n_patterns == 0)
                return fault(r, "no section but [" GLOBAL "]");
        for (size_t i = 0; i < p->n_patterns; i++) {
                const char *what = profile_pattern_finish(&p->patterns[i]);

                if (what)
                        return fault(r, "[%s]: %s", p->patterns[i].name, what);
        }
        return 0;
}

int profile_parse(const char *name, const char *file, const char *text, size_t size, profile_complain_fn complain, void *data,
                  struct profile **ret)
{
        _cleanup_(profile_freep) struct profile *p = need(calloc(1, sizeof(*p)));
        _cleanup_free_ char *copy = need(strndup(text, size));
        struct profile_reader r = {.profile = p, .global_pattern = profile_default};
        int line = 0, k;

        p->text = need(strndup(text, size));
        (void) copy_string(p->name, sizeof(p->name), name);
        k = strlen(copy) < size ? fault(&r, "not a text") : read_lines(&r, copy, &line);
        if (k >= 0) {
                line = 0;
                k = finish(&r);
        }
        free(r.global);
        if (k < 0 && complain)
                complain(file, line, r.fault, data);
        if (k >= 0)
                *ret = TAKE_PTR(p);
        return k;
}

struct profile *profile_free(struct profile *p)
{
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n_patterns; i++)
                free(p->sections[i]);
        free(p->patterns);
        free(p->sections);
        free(p->text);
        free(p);
        return NULL;
}

size_t profile_drop_writes(struct profile *p)
{
        size_t kept = 0, all = p->n_patterns;

        for (size_t i = 0; i < all; i++) {
                if (bench_pattern_writes(&p->patterns[i])) {
                        free(p->sections[i]);
                        continue;
                }
                p->patterns[kept] = p->patterns[i];
                p->sections[kept++] = p->sections[i];
        }
        p->n_patterns = kept;
        return all - kept;
}

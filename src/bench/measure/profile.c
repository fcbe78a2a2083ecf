/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/profile.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "term/terminal.h"

#define FILE_SIZE_MAX (256 * 1024)
#define SECTION_MAX 64
#define GLOBAL "global"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* ---- a job file: sections, options and comments ---- */

struct profile_reader {
        const char *file;
        int line; /* 0: the file as a whole */
        char *fault;
        struct profile *profile;
        struct bench_pattern global;
        struct bench_pattern *pattern; /* the current section; NULL: none yet */
};

static _printf_(2, 3) int fault(struct profile_reader *r, const char *format, ...)
{
        int n = snprintf(r->fault, PROFILE_FAULT_MAX, r->line > 0 ? "%.128s:%i: " : "%.128s: ", r->file, r->line);
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(r->fault + n, PROFILE_FAULT_MAX - (size_t) n, format, ap);
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
        need_push(p->patterns, p->n_patterns, r->global);
        r->pattern = &p->patterns[p->n_patterns - 1];
        r->pattern->section = need(strdup(r->global.section ?: ""));
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
        r->pattern = &r->global;
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
        value = *value ? value + 1 + strspn(value + 1, " \t") : (char *) "1";
        *end = '\0';
        if (!r->pattern)
                return fault(r, "an option before the first section");
        k = profile_pattern_apply(r->pattern, line, value);
        if (k < 0)
                return fault(r, "%.64s=%.200s: value not understood", line, value);
        if (k == 0)
                add_option(&r->pattern->section, line, value);
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

static int read_lines(struct profile_reader *r, char *text)
{
        for (char *line; (line = strsep(&text, "\n"));) {
                int k;

                r->line++;
                line = strip(line);
                k = *line == '[' ? read_header(r, line) : *line ? read_option(r, line) : 0;
                if (k < 0)
                        return k;
        }
        r->line = 0;
        if (r->profile->n_patterns == 0)
                return fault(r, "no section but [" GLOBAL "]");
        for (size_t i = 0; i < r->profile->n_patterns; i++) {
                struct bench_pattern *p = &r->profile->patterns[i];
                const char *what = profile_pattern_finish(p);

                if (what)
                        return fault(r, "[%s]: %s", p->name, what);
        }
        return 0;
}

int profile_parse(const char *name, const char *file, const char *text, size_t size, char ret_fault[static PROFILE_FAULT_MAX],
                  struct profile **ret)
{
        _cleanup_(profile_freep) struct profile *p = need(calloc(1, sizeof(*p)));
        _cleanup_free_ char *copy = need(strndup(text, size));
        struct profile_reader r = {.file = file, .fault = ret_fault, .profile = p, .global = profile_default};
        int k;

        p->text = need(strndup(text, size));
        (void) copy_string(p->name, sizeof(p->name), name);
        k = strlen(copy) < size ? fault(&r, "not a text") : read_lines(&r, copy);
        free(r.global.section);
        if (k >= 0)
                *ret = TAKE_PTR(p);
        return k;
}

void profile_freep(struct profile **at)
{
        struct profile *p = *at;

        for (size_t i = 0; p && i < p->n_patterns; i++)
                free(p->patterns[i].section);
        if (p) {
                free(p->patterns);
                free(p->text);
        }
        free(p);
}

size_t profile_drop_writes(struct profile *p)
{
        size_t kept = 0, all = p->n_patterns;

        for (size_t i = 0; i < all; i++) {
                if (bench_pattern_writes(&p->patterns[i]))
                        free(p->patterns[i].section);
                else
                        p->patterns[kept++] = p->patterns[i];
        }
        p->n_patterns = kept;
        return all - kept;
}

/* ---- the files ---- */

/* The first directory with a name wins. */
static const char *const dirs_shown[] = {BENCH_DIR_SHOWN, BENCH_SHARE_SHOWN};

static bool name_is_valid(const char *name, size_t n)
{
        return n > 0 && n <= PROFILE_NAME_MAX && name[0] != '-' && strspn(name, NAME_CHARACTERS) >= n;
}

int profile_load(const struct roots *roots, const char *name, char ret_fault[static PROFILE_FAULT_MAX], struct profile **ret)
{
        const struct dropin_dir dirs[] = {{roots->etc, BENCH_DIR}, {roots->lib, BENCH_SHARE}};

        if (!name_is_valid(name, strlen(name)))
                return -EINVAL;
        for (size_t i = 0; i < ELEMENTSOF(dirs_shown); i++) {
                const char *path = path_join(dirs[i].path, "/", name, BENCH_SUFFIX);
                const char *shown = path_join(dirs_shown[i], "/", name, BENCH_SUFFIX);
                struct profile_reader r = {.file = shown, .fault = ret_fault};
                _cleanup_free_ char *text = NULL;
                _cleanup_close_ int fd = -1;
                struct stat st;
                size_t size = 0;
                int k;

                /* A file that exists but cannot be read still hides those in later directories. */
                if (dirs[i].root < 0 || fstatat(dirs[i].root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                fd = openat(dirs[i].root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                if (fd < 0 && (errno == ENOENT || errno == ELOOP))
                        return fault(&r, "a link that leads nowhere");
                if (fd < 0 && errno != ENXIO) /* a socket */
                        return -errno;
                k = fd < 0 ? -EINVAL : read_whole(fd, FILE_SIZE_MAX, &text, &size);
                if (k == -EINVAL)
                        return fault(&r, "no regular file");
                return k < 0 ? k : profile_parse(name, shown, text, size, ret_fault, ret);
        }
        return -ENOENT;
}

struct profile_list {
        char **names;
        size_t n;
};

static int add_name(int root, const char *path, void *data)
{
        const char *file = strrchr(path, '/') + 1;
        size_t n = strlen(file) - strlen(BENCH_SUFFIX);
        struct profile_list *to = data;
        char name[PROFILE_NAME_MAX + 1];
        struct stat st;

        if (!name_is_valid(file, n) || fstatat(root, path, &st, 0) < 0 || !S_ISREG(st.st_mode))
                return 0;
        (void) copy_part(name, sizeof(name), file, n);
        return strv_push(&to->names, &to->n, name);
}

char **profile_names(const struct roots *r)
{
        const struct dropin_dir dirs[] = {{r->etc, BENCH_DIR}, {r->lib, BENCH_SHARE}};
        struct profile_list list = {};

        if (dropins_of(dirs, ELEMENTSOF(dirs), BENCH_SUFFIX, add_name, &list) < 0)
                no_memory();
        return list.names;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/conf.h"

#include <fcntl.h>
#include <ini.h>
#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"

#define BOM "\xef\xbb\xbf"
#define NOT_UNDERSTOOD "not a KEY=VALUE line"
/* Report at most this many malformed lines per file. */
#define BAD_MAX 32

struct load {
        int lib; /* /usr/lib; other files are below /etc */
        struct config *config;
        conf_complain_fn complain;
        void *data;
        int error;

        /* The present file */
        FILE *file;
        char path[PATH_MAX];
        int line; /* number of the last line that was read */
        size_t n_bad;
        bool assigned; /* in this section: an indented line continues the value */
};

static void conf_complain(struct load *l, int line, const char *what)
{
        if (l->complain)
                l->complain(l->path, line, what, l->data);
}

/* inih reports only the number of the first line that it does not understand. So it gets none of
 * them. */
static bool conf_understands(struct load *l, const char *line)
{
        const char *start = line;
        bool indented, section;

        if (l->line == 1)
                start = startswith(line, BOM) ?: line;
        indented = strspn(start, " \t\r\n") > 0;
        start += strspn(start, " \t\r\n");
        section = *start == '[';
        if (!*start || *start == ';' || *start == '#' || (indented && l->assigned))
                return true;
        if (!strpbrk(start, section ? "]" : "=:"))
                return false;
        l->assigned = !section;
        return true;
}

/* Returns one line a call, so that our line numbers are those of inih. inih would split a longer
 * line. */
static char *conf_give_line(char *ret, int size, void *data)
{
        _cleanup_free_ char *line = NULL;
        struct load *l = data;
        size_t room = 0;
        int n = read_line(l->file, &line, &room);

        if (n == -ENOMEM)
                l->error = -ENOMEM;
        if (n <= 0)
                return NULL;
        l->line++;
        if (n < size && conf_understands(l, line))
                return memcpy(ret, line, (size_t) n + 1);
        if (n < size && l->n_bad++ <= BAD_MAX)
                conf_complain(l, l->line,
                              l->n_bad <= BAD_MAX ? NOT_UNDERSTOOD
                                                  : NOT_UNDERSTOOD
                                      ", nor are others below, perhaps");
        else if (n >= size && !strchr("#;", line[strspn(line, " \t")]))
                conf_complain(l, l->line, "too long a line");
        return memcpy(ret, "\n", 2);
}

static int conf_assign(void *data, const char *section, const char *name, const char *value)
{
        struct load *l = data;
        int r = config_set(l->config, section, name, value);

        if (r == -ENOMEM)
                l->error = r;
        else if (r < 0)
                conf_complain(l, l->line,
                              r == -ENOENT ? "no such section or key" : "value not understood");
        return 1; /* inih would keep only the first one */
}

static int conf_load_file(int dirfd, const char *path, void *data)
{
        _cleanup_fclose_ FILE *f = NULL;
        struct load *l = data;
        int fd, line;

        if (dirfd < 0) /* there is no /usr/lib */
                return 0;
        (void) snprintf(l->path, sizeof(l->path), "%s/%s", dirfd == l->lib ? LIB_PATH : ETC_PATH,
                        path);
        fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                if (errno != ENOENT)
                        conf_complain(l, 0, strerror(errno));
                (void) close_keep_errno(fd);
                if (errno == ENOMEM)
                        return -ENOMEM;
                return 0;
        }
        l->file = f;
        l->line = 0;
        l->assigned = false;
        l->n_bad = 0;
        line = ini_parse_stream(conf_give_line, l, conf_assign, l);
        if (line > 0)
                conf_complain(l, line, NOT_UNDERSTOOD);
        return l->error;
}

int conf_load(const struct roots *roots, struct config *ret, conf_complain_fn fn, void *data)
{
        _cleanup_(config_done) struct config c;
        struct load l = {.lib = roots->lib, .config = &c, .complain = fn, .data = data};
        int r;

        config_init(&c);
        r = conf_load_file(roots->lib, CONF_FILE, &l);
        if (r < 0)
                return r;
        r = conf_load_file(roots->etc, CONF_FILE, &l);
        if (r < 0)
                return r;
        r = dropins_each(roots, CONF_DIR, conf_load_file, &l);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(c);
        return 0;
}

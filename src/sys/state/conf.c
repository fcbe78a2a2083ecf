/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/conf.h"

#include <fcntl.h>
#include <ini.h>
#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/dropins.h"

/* So many lines of a file that are no assignments are told. */
#define BAD_MAX 32

struct load {
        struct config *config;
        conf_complain_fn complain;
        void *data;
        int error;

        /* The file at hand */
        FILE *file;
        char path[PATH_MAX];
        int line; /* the one that was read last: inih tells the number of the first faulty one alone */
        int bad[BAD_MAX];
        size_t n_bad;
};

static void complain(struct load *l, int line, const char *what)
{
        if (l->complain)
                l->complain(l->path, line, what, l->data);
}

static bool is_bad(const struct load *l, int line)
{
        for (size_t i = 0; i < l->n_bad; i++)
                if (l->bad[i] == line)
                        return true;
        return false;
}

/* One line a call, so that ours are inih's. What is longer than it takes would come to it as several. */
static char *next_line(char *ret, int size, void *data)
{
        _cleanup_free_ char *line = NULL;
        struct load *l = data;
        size_t room = 0;
        ssize_t n = getline(&line, &room, l->file);

        if (n < 0)
                return NULL;
        l->line++;
        if (n < size && !is_bad(l, l->line))
                return memcpy(ret, line, (size_t) n + 1);
        if (n >= size && l->config && !strchr("#;", line[strspn(line, " \t")]))
                complain(l, l->line, "too long a line");
        else if (n < size && l->config)
                complain(l, l->line, "not a KEY=VALUE line");
        return memcpy(ret, "\n", 2);
}

static int assign(void *data, const char *section, const char *name, const char *value)
{
        struct load *l = data;
        int r = l->config ? config_set(l->config, section, name, value) : 0;

        if (r == -ENOMEM)
                l->error = r;
        else if (r < 0)
                complain(l, l->line, r == -ENOENT ? "no such section or key" : "value not understood");
        return 1; /* inih would keep the first one alone */
}

static int parse(struct load *l, struct config *config)
{
        l->config = config;
        l->line = 0;
        rewind(l->file);
        return ini_parse_stream(next_line, l, assign, l);
}

static int load_file(struct load *l, const char *root, int dirfd, const char *path)
{
        struct config *config = l->config;
        _cleanup_fclose_ FILE *f = NULL;
        int fd, line;

        (void) snprintf(l->path, sizeof(l->path), "%s/%s", root, path);
        fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                if (errno != ENOENT)
                        complain(l, 0, strerror(errno));
                (void) close_keep_errno(fd);
                return 0;
        }
        l->file = f;
        l->n_bad = 0;
        while (l->complain && l->n_bad < BAD_MAX && (line = parse(l, NULL)) > 0)
                l->bad[l->n_bad++] = line;
        line = parse(l, config);
        if (line > 0)
                complain(l, line, "not a KEY=VALUE line, nor are others below, perhaps");
        return l->error;
}

struct dropin_load {
        const struct roots *roots;
        struct load *load;
};

static int load_dropin(int dirfd, const char *path, void *data)
{
        struct dropin_load *d = data;

        return load_file(d->load, dirfd == d->roots->lib ? LIB_PATH : ETC_PATH, dirfd, path);
}

int conf_load(const struct roots *r, struct config *ret, conf_complain_fn fn, void *data)
{
        struct config c;
        struct load l = { .config = &c, .complain = fn, .data = data };
        int k;

        config_init(&c);
        k = load_file(&l, LIB_PATH, r->lib, CONF_FILE);
        if (k >= 0)
                k = load_file(&l, ETC_PATH, r->etc, CONF_FILE);
        if (k >= 0)
                k = dropins_each(r, CONF_DIR, load_dropin, &(struct dropin_load){ r, &l });
        if (k == -ENOMEM) {
                config_done(&c);
                return k;
        }
        *ret = c;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/roots.h"

#include <fcntl.h>
#include <limits.h>

#include "common/util.h"

static int open_tree(const char *prefix, const char *tree)
{
        char path[PATH_MAX];

        (void) concat(path, sizeof(path), prefix ?: "", tree);
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int roots_open(struct roots *ret, const char *prefix)
{
        struct roots r = ROOTS_NULL;
        const struct {
                const char *path;
                int *fd;
        } trees[] = {
                {"/sys", &r.sys}, {"/proc", &r.proc},   {"/dev", &r.dev}, {"/run", &r.run},
                {"/etc", &r.etc}, {"/usr/lib", &r.lib}, {"/var", &r.var},
        };

        for (size_t i = 0; i < ELEMENTSOF(trees); i++)
                *trees[i].fd = open_tree(prefix, trees[i].path);
        if (r.sys < 0) {
                roots_close(&r);
                return -ENOENT;
        }
        *ret = r;
        return 0;
}

void roots_reopen_var(struct roots *r, const char *prefix)
{
        int fd = open_tree(prefix, "/var");

        if (fd < 0)
                return;
        (void) close_keep_errno(r->var);
        r->var = fd;
}

void roots_close(struct roots *r)
{
        int *fds[] = {&r->sys, &r->proc, &r->dev, &r->run, &r->etc, &r->lib, &r->var};

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                *fds[i] = close_keep_errno(*fds[i]);
}

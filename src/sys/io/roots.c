/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/roots.h"

#include <fcntl.h>
#include <limits.h>

#include "common/util.h"
#include "sys/io/sysfs.h"

static int roots_open_tree(const char *prefix, const char *tree)
{
        char path[PATH_MAX];

        (void) concat(path, sizeof(path), prefix ?: "", tree);
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int roots_open(struct roots *ret, const char *prefix)
{
        struct roots roots = ROOTS_NULL;
        const struct {
                const char *path;
                int *fd;
        } trees[] = {
                {"/sys", &roots.sys}, {"/proc", &roots.proc}, {"/dev", &roots.dev},
                {"/run", &roots.run}, {"/etc", &roots.etc},   {"/usr/lib", &roots.lib},
                {"/var", &roots.var},
        };

        for (size_t i = 0; i < ELEMENTSOF(trees); i++)
                *trees[i].fd = roots_open_tree(prefix, trees[i].path);
        if (roots.sys < 0) {
                roots_close(&roots);
                return -ENOENT;
        }
        if (attr_read(roots.proc, "sys/kernel/osrelease", roots.kernel, sizeof(roots.kernel)) < 0)
                roots.kernel[0] = '\0';
        *ret = roots;
        return 0;
}

void roots_reopen_var(struct roots *roots, const char *prefix)
{
        int fd = roots_open_tree(prefix, "/var");

        if (fd < 0)
                return;
        (void) close_keep_errno(roots->var);
        roots->var = fd;
}

void roots_close(struct roots *roots)
{
        int *fds[] = {&roots->sys, &roots->proc, &roots->dev, &roots->run,
                      &roots->etc, &roots->lib,  &roots->var};

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                *fds[i] = close_keep_errno(*fds[i]);
}

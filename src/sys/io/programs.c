/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/look.h"
#include "sys/io/sysfs.h"

bool program_there(const struct roots *roots, const char *name)
{
        const struct {
                int root;
                const char *folder;
        } folders[] = {{roots->lib, "../bin/"},
                       {roots->lib, "../sbin/"},
                       {roots->etc, "../bin/"},
                       {roots->etc, "../sbin/"}};

        if (startswith(name, ETC_PATH "/"))
                return faccessat(roots->etc, name + strlen(ETC_PATH "/"), X_OK, 0) == 0;
        for (size_t i = 0; i < ELEMENTSOF(folders); i++)
                if (faccessat(folders[i].root, path_join(folders[i].folder, name), X_OK, 0) == 0)
                        return true;
        return false;
}

bool path_is_roots(const char *path)
{
        for (const char *end = path; (end = strchr(end, '/')); end++) {
                char above[PATH_MAX] = "/";
                struct stat st;
                int r;

                if (end > path && !copy_part(above, sizeof(above), path, (size_t) (end - path)))
                        return false;
                r = file_look(AT_FDCWD, above, AT_SYMLINK_NOFOLLOW, &st);
                if (r < 0)
                        return r == -ENOENT; /* only root can make it */
                if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH))
                        return false;
        }
        return path[0] == '/';
}

static bool remedy_works(const struct roots *roots, const struct remedy_row *row)
{
        return (!row->program || program_there(roots, row->program)) &&
               (!row->service || faccessat(roots->run, row->service, F_OK, 0) == 0);
}

int remedy_here(const struct roots *roots, enum remedy id, const char *operand, char *ret,
                size_t size)
{
        ret[0] = '\0';
        while (!remedy_works(roots, remedy_rows + id)) {
                id = remedy_rows[id].otherwise;
                if (id == REMEDY_NONE)
                        return -ENOENT;
        }
        return *remedy_command(id, operand, ret, size) ? 0 : -EINVAL;
}

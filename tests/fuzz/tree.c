/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "sys/io/statefile.h"

static struct roots roots = ROOTS_NULL;
static char folder[64];

char *fuzz_text(const uint8_t *data, size_t size)
{
        char *s = malloc(size + 1);

        CHECK(s);
        if (size > 0)
                memcpy(s, data, size);
        s[size] = '\0';
        return s;
}

char *fuzz_field(char **rest, char end)
{
        char *field = *rest, *p;

        if (!field)
                return NULL;
        p = strchr(field, end);
        if (p)
                *p++ = '\0';
        *rest = p;
        return field;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

static void remove_folder(void)
{
        roots_close(&roots);
        (void) nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct roots *fuzz_roots(void)
{
        static const char *const trees[] = {"sys", "proc", "dev",     "run",
                                            "etc", "usr",  "usr/lib", "var"};

        if (folder[0])
                return &roots;
        /* In memory if possible: every input makes one or two files. */
        (void) copy_string(folder, sizeof(folder), "/dev/shm/uasd-fuzz-XXXXXX");
        if (!mkdtemp(folder)) {
                (void) copy_string(folder, sizeof(folder), "/tmp/uasd-fuzz-XXXXXX");
                CHECK(mkdtemp(folder));
        }
        CHECK(atexit(remove_folder) == 0);
        for (size_t i = 0; i < ELEMENTSOF(trees); i++) {
                char path[PATH_MAX];

                (void) snprintf(path, sizeof(path), "%s/%s", folder, trees[i]);
                CHECK(mkdir(path, 0755) == 0);
        }
        CHECK(roots_open(&roots, folder) == 0);
        return &roots;
}

void fuzz_file(int dirfd, const char *path, const void *data, size_t size)
{
        const char *slash = strrchr(path, '/');
        int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0 && slash) {
                char dir[PATH_MAX];

                (void) snprintf(dir, sizeof(dir), "%.*s", (int) (slash - path), path);
                CHECK(state_mkdir(dirfd, dir) == 0);
                fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        }
        CHECK(fd >= 0);
        CHECK(size == 0 || write(fd, data, size) == (ssize_t) size);
        (void) close(fd);
}

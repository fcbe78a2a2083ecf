/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds the stored inputs to a target without libFuzzer: every file of the given folders. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t count;

static void replay(const char *path)
{
        struct stat st;
        uint8_t *data;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        CHECK(fd >= 0 && fstat(fd, &st) == 0);
        data = malloc((size_t) st.st_size + 1);
        CHECK(data && read(fd, data, (size_t) st.st_size) == st.st_size);
        (void) close(fd);
        (void) setenv("FUZZ_INPUT", path, 1); /* so that a core or a debugger shows it */
        (void) LLVMFuzzerTestOneInput(data, (size_t) st.st_size);
        free(data);
        count++;
}

int main(int argc, char **argv)
{
        /* The empty input comes first. */
        (void) LLVMFuzzerTestOneInput((const uint8_t *) "", 0);
        for (int i = 1; i < argc; i++) {
                struct dirent *e;
                DIR *d = opendir(argv[i]);

                CHECK(d);
                while ((e = readdir(d))) {
                        char path[PATH_MAX];

                        if (e->d_name[0] == '.')
                                continue;
                        (void) snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
                        replay(path);
                }
                (void) closedir(d);
        }
        (void) printf("%zu inputs\n", count);
        return count > 0 ? 0 : 1;
}

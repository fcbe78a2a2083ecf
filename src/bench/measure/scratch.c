/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/subject.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/log.h"
#include "common/util.h"
#include "term/terminal.h"

#define NAME ".uasctl-bench-XXXXXX"

/* A twentieth of the free space stays free, because a full file system does harm. */
#define KEEP_FREE_PART 20

static int free_space(const char *directory, uint64_t *ret)
{
        struct statvfs s;

        if (statvfs(directory, &s) < 0)
                return -errno;
        *ret = (uint64_t) s.f_bavail * s.f_frsize;
        return 0;
}

uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least)
{
        uint64_t space = 0;

        if (wanted <= least || free_space(directory, &space) < 0 || space / 2 < least)
                return least;
        return wanted < space / 2 ? wanted : space / 2;
}

/* Without O_TMPFILE, the file loses its name at once. */
static int open_nameless(const char *directory)
{
        _cleanup_close_ int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        _cleanup_free_ char *path = NULL;

        if (fd >= 0)
                return TAKE_FD(fd);
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
                return -errno;
        if (asprintf(&path, "%s/" NAME, directory) < 0)
                return -ENOMEM;
        fd = mkostemp(path, O_CLOEXEC);
        return fd < 0 || unlink(path) < 0 ? -errno : TAKE_FD(fd);
}

int scratch_make(const char *directory, uint64_t size, uint64_t *ret_free)
{
        _cleanup_close_ int fd = -1;
        int r = free_space(directory, ret_free);

        if (r < 0)
                return r;
        if (size > *ret_free - *ret_free / KEEP_FREE_PART)
                return -ENOSPC;
        fd = open_nameless(directory);
        if (fd < 0)
                return fd;
        return ftruncate(fd, (off_t) size) < 0 ? -errno : TAKE_FD(fd);
}

void size_scratch(struct subject *s, const struct profile *profile)
{
        const struct bench_options *o = s->context->options;
        uint64_t wanted = 0;

        if (!s->lay_out || o->size)
                return;
        for (size_t i = 0; i < profile->n_patterns; i++) {
                const struct bench_pattern *p = &profile->patterns[i];
                uint64_t asked = p->size <= UINT64_MAX / p->numjobs ? p->size * p->numjobs : UINT64_MAX;

                if (asked > wanted && pattern_is_asked_for(o, p))
                        wanted = asked;
        }
        s->available = scratch_fitting(o->file, wanted, SCRATCH_SIZE);
}

int make_scratch(struct subject *s)
{
        const char *directory = s->context->options->file;
        char wanted[32], there[32];
        uint64_t room = 0;

        s->scratch = scratch_make(directory, s->available, &room);
        if (s->scratch == -ENOSPC)
                return log_failure(
                        UASD_EXIT_FAILED,
                        "Cannot make a scratch file of %s in '%s': %s are free, and a twentieth stays free. --size= limits it.",
                        size_text(s->available, wanted, sizeof(wanted)), directory, size_text(room, there, sizeof(there)));
        if (s->scratch < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot make a scratch file in '%s': %s", directory, strerror(-s->scratch));
        free(s->path);
        if (asprintf(&s->path, "/proc/%i/fd/%i", getpid(), s->scratch) < 0) /* fio opens it through our descriptor */
                no_memory();
        return UASD_EXIT_OK;
}

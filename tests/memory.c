/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__real_calloc(size_t n, size_t size);

#define ASKED_MAX 8192
#define DEPTH 8 /* callers that make a path */

static struct {
        atomic_uint asked;
        unsigned nth;
        bool counts, lasting;
        unsigned long paths[ASKED_MAX]; /* a hash of the callers of each allocation */
} * memory;

__attribute__((constructor)) static void begin(void)
{
        memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        if (memory == MAP_FAILED)
                abort();
}

void memory_begins(unsigned nth, bool lasting)
{
        memory->nth = nth;
        memory->lasting = lasting;
        memory->counts = true;
        atomic_store(&memory->asked, 0);
}

unsigned memory_ends(void)
{
        memory->counts = false;
        return atomic_load(&memory->asked);
}

unsigned *memory_paths(unsigned times)
{
        unsigned asked = memory->asked, n = 0, *ret = __real_calloc(asked + 1, sizeof(*ret));

        for (unsigned i = 0; ret && i < asked && i < ASKED_MAX; i++) {
                unsigned before = 0;

                for (unsigned k = 0; k < i; k++)
                        before += memory->paths[k] == memory->paths[i];
                if (before < times)
                        ret[n++] = i + 1;
        }
        return ret;
}

static unsigned long path(void)
{
        unsigned long hash = 5381;
        void *callers[DEPTH];
        int n = backtrace(callers, DEPTH);

        for (int i = 0; i < n; i++)
                hash = hash * 33 + (unsigned long) callers[i];
        return hash;
}

static bool none_left(void)
{
        unsigned n;

        if (!memory || !memory->counts)
                return false;
        n = atomic_fetch_add(&memory->asked, 1) + 1;
        if (memory->nth == 0 && n <= ASKED_MAX)
                memory->paths[n - 1] = path();
        if (memory->nth == 0 || n < memory->nth || (n > memory->nth && !memory->lasting))
                return false;
        errno = ENOMEM;
        return true;
}

#define WRAPPED(type, name, ...)                                                                   \
        type __wrap_##name(__VA_ARGS__);                                                           \
        type __real_##name(__VA_ARGS__);                                                           \
        type __wrap_##name(__VA_ARGS__)

WRAPPED(void *, malloc, size_t size)
{
        return none_left() ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
        return none_left() ? NULL : __real_calloc(n, size);
}

WRAPPED(void *, realloc, void *p, size_t size)
{
        return none_left() ? NULL : __real_realloc(p, size);
}

WRAPPED(void *, reallocarray, void *p, size_t n, size_t size)
{
        return none_left() ? NULL : __real_reallocarray(p, n, size);
}

WRAPPED(int, posix_memalign, void **ret, size_t alignment, size_t size)
{
        return none_left() ? ENOMEM : __real_posix_memalign(ret, alignment, size);
}

WRAPPED(char *, strdup, const char *s)
{
        return none_left() ? NULL : __real_strdup(s);
}

WRAPPED(char *, strndup, const char *s, size_t n)
{
        return none_left() ? NULL : __real_strndup(s, n);
}

int __real_vasprintf(char **ret, const char *format, va_list ap);
int __wrap_vasprintf(char **ret, const char *format, va_list ap);
__attribute__((format(printf, 2, 0))) int __wrap_vasprintf(char **ret, const char *format,
                                                           va_list ap)
{
        return none_left() ? -1 : __real_vasprintf(ret, format, ap);
}

int __wrap_asprintf(char **ret, const char *format, ...);
__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **ret, const char *format, ...)
{
        va_list ap;
        int n;

        va_start(ap, format);
        n = __wrap_vasprintf(ret, format, ap);
        va_end(ap);
        return n;
}

/* an optimised getline() */
WRAPPED(ssize_t, __getdelim, char **line, size_t *size, int end, FILE *f)
{
        return none_left() ? -1 : __real___getdelim(line, size, end, f);
}

WRAPPED(ssize_t, getline, char **line, size_t *size, FILE *f)
{
        return none_left() ? -1 : __real_getline(line, size, f);
}

WRAPPED(FILE *, fdopen, int fd, const char *mode)
{
        return none_left() ? NULL : __real_fdopen(fd, mode);
}

WRAPPED(DIR *, fdopendir, int fd)
{
        return none_left() ? NULL : __real_fdopendir(fd);
}

/* It allocates when it is opened, and as it grows: fclose() reports that. */
static _Thread_local FILE *growing[4];

WRAPPED(FILE *, open_memstream, char **ret, size_t *size)
{
        FILE *f = none_left() ? NULL : __real_open_memstream(ret, size);

        for (size_t i = 0; f && i < 4; i++)
                if (!growing[i]) {
                        growing[i] = f;
                        break;
                }
        return f;
}

WRAPPED(int, fclose, FILE *f)
{
        for (size_t i = 0; i < 4; i++)
                if (growing[i] == f) {
                        growing[i] = NULL;
                        if (none_left()) {
                                (void) __real_fclose(f);
                                errno = ENOMEM;
                                return EOF;
                        }
                        break;
                }
        return __real_fclose(f);
}

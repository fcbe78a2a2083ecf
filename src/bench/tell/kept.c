/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <time.h>

#include "bench/tell/history.h"
#include "bench/tell/json.h"
#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "term/json.h"

#define TIME_FORMAT "%Y%m%dT%H%M%SZ"
#define TIME_LENGTH 16
#define ID_LENGTH 36
#define SUFFIX ".json"

static int name_of(const struct bench *b, char *ret, size_t size)
{
        time_t t = (time_t) (b->started_usec / USEC_PER_SEC);
        char when[TIME_LENGTH + 1];
        struct tm tm;

        if (strlen(b->id) != ID_LENGTH || strspn(b->id, "0123456789abcdef-") != ID_LENGTH || !gmtime_r(&t, &tm) ||
            strftime(when, sizeof(when), TIME_FORMAT, &tm) != TIME_LENGTH)
                return -EINVAL;
        return (size_t) snprintf(ret, size, "%s-%s" SUFFIX, when, b->id) < size ? 0 : -ENAMETOOLONG;
}

int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name)
{
        _cleanup_free_ char *text = NULL;
        char name[128], path[256];
        json_object *o;
        int r = name_of(b, name, sizeof(name));

        if (r < 0)
                return r;
        o = bench_json(b);
        text = json_text(o);
        json_object_put(o);
        (void) snprintf(path, sizeof(path), STATE_BENCH "/%s", name);
        r = state_write(roots->var, path, text, true);
        if (r < 0 || !ret_name)
                return r;
        *ret_name = strdup(name);
        return *ret_name ? 0 : -ENOMEM;
}

/* Whether the name is that of a result. A leftover temporary file has another name. */
static bool is_ours(const char *name)
{
        return strlen(name) == TIME_LENGTH + 1 + ID_LENGTH + strlen(SUFFIX) && strspn(name, "0123456789TZ") == TIME_LENGTH &&
               name[TIME_LENGTH] == '-' && strspn(name + TIME_LENGTH + 1, "0123456789abcdef-") == ID_LENGTH &&
               streq(name + TIME_LENGTH + 1 + ID_LENGTH, SUFFIX);
}

static int newest_first(const void *a, const void *b)
{
        return -strcmp(*(char *const *) a, *(char *const *) b);
}

static int take_name(const char *name, void *data)
{
        struct kept_results *k = data;

        return is_ours(name) ? strv_push(&k->names, &k->n, name) : 0;
}

int kept_open(const struct roots *roots, struct kept_results *ret)
{
        struct kept_results k = {.dirfd = -1};
        int r;

        k.dirfd = roots->var < 0 ? -1 : openat(roots->var, STATE_BENCH, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (k.dirfd < 0 && roots->var >= 0 && errno != ENOENT)
                return -errno;
        r = k.dirfd < 0 ? 0 : dir_each(k.dirfd, ".", take_name, &k);
        if (r < 0) {
                kept_close(&k);
                return r;
        }
        if (k.n > 1)
                qsort(k.names, k.n, sizeof(*k.names), newest_first);
        *ret = k;
        return 0;
}

void kept_close(struct kept_results *k)
{
        k->dirfd = close_keep_errno(k->dirfd);
        strv_free(k->names);
        *k = (struct kept_results){.dirfd = -1};
}

int kept_read(const struct kept_results *k, size_t i, struct bench *ret)
{
        return bench_json_read(k->dirfd, k->names[i], ret);
}

static bool begins(const char *name, const char *what)
{
        size_t n = strlen(what);

        return strncmp(name, what, n) == 0 || strncmp(name + TIME_LENGTH + 1, what, n) == 0;
}

int kept_index(const struct kept_results *k, const char *what, size_t *ret)
{
        size_t found = k->n;

        for (size_t i = 0; *what && i < k->n; i++)
                if (begins(k->names[i], what)) {
                        if (found < k->n)
                                return -ENOTUNIQ;
                        found = i;
                }
        if (found == k->n)
                return -ENOENT;
        *ret = found;
        return 0;
}

int kept_find(const struct kept_results *k, const char *what, struct bench *ret)
{
        size_t found = 0;
        int r;

        if (strchr(what, '/') ||
            (access(what, F_OK) == 0 && strlen(what) > strlen(SUFFIX) && streq(what + strlen(what) - strlen(SUFFIX), SUFFIX)))
                return bench_json_read(AT_FDCWD, what, ret);
        if (streq(what, "last"))
                r = k->n > 0 ? 0 : -ENOENT;
        else
                r = kept_index(k, what, &found);
        return r < 0 ? r : kept_read(k, found, ret);
}

int kept_remove(const struct kept_results *k, size_t i)
{
        return unlinkat(k->dirfd, k->names[i], 0) < 0 ? -errno : 0;
}

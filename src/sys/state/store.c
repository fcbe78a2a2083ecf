/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/store.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/util.h"
#include "core/history.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"

#define GENERATION "generation"
/* a former record with its reason is so much longer than that of a trial, at most */
#define ROOM 448
/* The process with the lock writes two small files; it may hang in an fsync. */
#define LOCK_USEC (10 * USEC_PER_SEC)

void store_done(struct store *s)
{
        free(s->text);
        *s = (struct store){};
}

/* It stands in the first line that is no comment. */
static unsigned long long store_read_generation(const struct store *s)
{
        char number[24] = "";
        unsigned long long v = 0;
        struct assignment a;
        size_t at = 0;

        if (assignment_next(s->text, s->size, NULL, &at, &a) && assignment_is(&a, GENERATION))
                (void) copy_part(number, sizeof(number), a.value, a.value_length);
        (void) parse_uint(number, 10, UINT64_MAX, &v);
        return v;
}

int store_read_file(int dirfd, const char *path, struct store *ret)
{
        int r;

        *ret = (struct store){};
        if (dirfd < 0)
                return 0;
        r = state_read_text(dirfd, path, &ret->text, &ret->size);
        if (r <= 0)
                return r;
        ret->generation = store_read_generation(ret);
        return r;
}

bool store_next(const struct store *s, const char *key, size_t *at, struct store_line *ret)
{
        struct assignment a;

        while (assignment_next(s->text, s->size, key, at, &a))
                if (!assignment_is(&a, GENERATION) &&
                    /* no line of ours is so long */
                    copy_part(ret->key, sizeof(ret->key), a.key, a.key_length) &&
                    copy_part(ret->value, sizeof(ret->value), a.value, a.value_length))
                        return true;
        return false;
}

/* An unreadable file counts as a missing one: no disk is refused because of it. */
static int store_read_newer(const struct roots *roots, const char *name, struct store *ret)
{
        struct store etc, var;
        int e = store_read_file(roots->etc, path_join(ETC_DIR "/", name), &etc),
            v = store_read_file(roots->var, path_join(STATE_DIR "/", name), &var);
        bool newer = v > 0 && (e <= 0 || var.generation > etc.generation);

        /* The file may be good, and a change would lose what it has. */
        if (no_room_for_files(e) || no_room_for_files(v)) {
                store_done(&etc);
                store_done(&var);
                *ret = (struct store){};
                return no_room_for_files(e) ? e : v;
        }
        if (newer) {
                store_done(&etc);
                *ret = var;
                return 1;
        }
        store_done(&var);
        *ret = etc;
        if (e < 0)
                store_done(ret);
        return e;
}

/* A file is replaced, or on a full disk written over (state_write()). So it has another inode or
 * time. All 0: there is none. */
struct file_id {
        dev_t dev;
        ino_t ino;
        off_t size;
        struct timespec changed;
};

static struct file_id file_identify(int dirfd, const char *path)
{
        struct stat st;

        if (dirfd < 0 || fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return (struct file_id){};
        return (struct file_id){st.st_dev, st.st_ino, st.st_size, st.st_ctim};
}

static bool file_id_same(const struct file_id *a, const struct file_id *b)
{
        return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
               a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

struct kept {
        char name[16];
        unsigned version; /* counts the readings */
        int read;         /* the result of the last one */
        struct file_id etc, var;
        struct store store;
};

static struct kept *store_keep(const struct roots *roots, const char *name)
{
        static struct kept kept[4]; /* one for each file of the project */
        struct file_id etc = file_identify(roots->etc, path_join(ETC_DIR "/", name)),
                       var = file_identify(roots->var, path_join(STATE_DIR "/", name));
        struct kept *k = kept;

        while (k->name[0] && !streq(k->name, name))
                k++;
        assert(k < kept + ELEMENTSOF(kept));
        if (k->version > 0 && k->read >= 0 && file_id_same(&k->etc, &etc) &&
            file_id_same(&k->var, &var))
                return k;
        (void) copy_string(k->name, sizeof(k->name), name);
        k->etc = etc;
        k->var = var;
        store_done(&k->store);
        k->read = store_read_newer(roots, name, &k->store);
        k->version++;
        return k;
}

int store_read(const struct roots *roots, const char *name, const struct store **ret)
{
        const struct kept *k = store_keep(roots, name);

        *ret = &k->store;
        return k->read;
}

unsigned store_version(const struct roots *roots, const char *name)
{
        return store_keep(roots, name)->version;
}

const char *store_value(const char *line, const char *key)
{
        const char *rest = startswith(line, key);

        return rest && *rest == '=' ? rest + 1 : NULL;
}

int store_add(struct store_lines *lines, const char *key, const char *words)
{
        char *line;
        int r;

        if (asprintf(&line, "%s=%s", key, words) < 0)
                return -ENOMEM;
        r = strv_push(&lines->list, &lines->n, line);
        free(line);
        return r;
}

static char warning[STORE_WARNING_MAX];

const char *store_warning(void)
{
        return warning;
}

static int store_format(const struct store_change *c, const struct store_lines *lines,
                        unsigned long long generation, char **ret)
{
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        if (!out)
                return -errno;
        (void) fprintf(
                out,
                "# Written by %s. A boot reads /etc/uasd/%s; /var/lib/uasd/%s is its copy.\n" GENERATION
                "=%llu\n",
                c->writer, c->name, c->name, generation);
        for (size_t i = 0; i < lines->n; i++)
                (void) fprintf(out, "%s\n", lines->list[i]);
        for (size_t i = 0; c->room && i < ROOM; i++)
                (void) fputc('\n', out);
        if (fclose(out) < 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

static int store_write_both(const struct roots *roots, const struct store_change *c,
                            const struct store_lines *lines, unsigned long long generation)
{
        _cleanup_free_ char *text = NULL;
        int e = -ENOENT, v = -ENOENT, r = store_format(c, lines, generation, &text);

        if (r < 0)
                return r;
        if (roots->etc >= 0)
                e = state_write(roots->etc, path_join(ETC_DIR "/", c->name), text, true);
        if (roots->var >= 0)
                v = state_write(roots->var, path_join(STATE_DIR "/", c->name), text, true);
        /* /var may be on a file system that is mounted late. */
        if (e < 0 && v >= 0 && roots->etc >= 0)
                (void) sentence(
                        warning, sizeof(warning),
                        "Cannot write /etc/uasd/%s: %s. /var/lib/uasd has the change, which a boot may read too late.",
                        c->name, strerror(-e));
        else if (v < 0 && e >= 0 && roots->var >= 0)
                (void) sentence(
                        warning, sizeof(warning),
                        "Cannot write /var/lib/uasd/%s: %s. /etc/uasd has the change, and no copy of it.",
                        c->name, strerror(-v));
        if (*warning)
                log_warning("%s", warning);
        if (e < 0 && v < 0)
                return e;
        return 0;
}

struct changing {
        const struct store_change *change;
        struct store_lines lines;
        bool changed;
};

static int store_change_line(struct changing *to, const char *before)
{
        _cleanup_free_ char *line = strdup(before);
        int r;

        if (!line)
                return -ENOMEM;
        r = to->change->change(&line, to->change->data);
        to->changed = to->changed || r == 0 || !streq(line, before);
        if (r <= 0)
                return r;
        return strv_push(&to->lines.list, &to->lines.n, line);
}

static int store_change_lines(const struct roots *roots, const struct store_change *c,
                              struct changing *to)
{
        _cleanup_free_ char *text = NULL;
        const struct store *old;
        struct assignment a;
        size_t at = 0, size;
        int r = store_read(roots, c->name, &old);

        if (r < 0) /* do not replace a file that cannot be read */
                return r;
        text = strdup(old->text ?: "");
        if (!text)
                return -ENOMEM;
        size = strlen(text);
        while (assignment_next(text, size, NULL, &at, &a)) {
                if (assignment_is(&a, GENERATION))
                        continue;
                text[at - 1] = '\0';
                r = store_change_line(to, a.key);
                if (r < 0)
                        return r;
        }
        r = c->finish ? c->finish(&to->lines, c->data) : 0;
        if (r < 0 || (r == 0 && !to->changed))
                return r;
        return store_write_both(roots, c, &to->lines, old->generation + 1);
}

int store_change(const struct roots *roots, const struct store_change *c)
{
        _cleanup_close_ int locked = -1;
        struct changing to = {.change = c};
        int r;

        warning[0] = '\0';
        if (in_initramfs(roots)) /* a file there is lost with it, so it is no record */
                return -EROFS;
        locked = state_lock(roots->run, path_join(RUN_DIR "/", c->name, ".lock"),
                            awake_in(LOCK_USEC));
        if (locked < 0)
                return locked;
        r = store_change_lines(roots, c, &to);
        strv_free(to.lines.list);
        return r;
}

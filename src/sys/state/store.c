/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/store.h"

#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "sys/io/statefile.h"

/* A disk by its own name, wherever it is, and by name and port, which are the key of its record. */
struct keys {
        char disk[HISTORY_KEY_MAX]; /* empty: it has no name of its own */
        char port[HISTORY_KEY_MAX];
};

static void make_keys(const struct facts *f, struct keys *ret)
{
        history_key(f, ret->port, sizeof(ret->port));
        history_key_disk(f, ret->disk, sizeof(ret->disk));
        ret->disk[f->serial[0] ? strlen(ret->disk) - 1 : 0] = '\0'; /* without its '@' */
}

static void make_path(const char *dir, const char *file, char ret[static 64])
{
        (void) snprintf(ret, 64, "%s/%s", dir, file);
}

int kept_each(const struct roots *r, const char *file,
              int (*fn)(const char *key, const char *words, void *data), void *data)
{
        char path[64];
        int k;

        make_path(ETC_DIR, file, path);
        k = state_read(r->etc, path, fn, data);
        if (k == 0 && r->var >= 0) {
                make_path(STATE_DIR, file, path);
                k = state_read(r->var, path, fn, data);
        }
        return k < 0 ? k : 0;
}

struct lookup {
        struct keys keys;
        struct kept kept;
};

static int lookup_line(const char *key, const char *words, void *data)
{
        struct lookup *l = data;

        if (streq(key, l->keys.port))
                (void) copy_string(l->kept.port, sizeof(l->kept.port), words);
        else if (streq(key, l->keys.disk))
                (void) copy_string(l->kept.disk, sizeof(l->kept.disk), words);
        return 0;
}

int kept_lookup(const struct roots *r, const char *file, const struct facts *f, struct kept *ret)
{
        struct lookup l = {};
        int k;

        make_keys(f, &l.keys);
        k = kept_each(r, file, lookup_line, &l);
        if (k < 0)
                return k;
        *ret = l.kept;
        return 0;
}

struct rewrite {
        const struct keys *keys;
        bool port_alone;
        bool disk_said; /* there is a line for the name */
        FILE *out;
};

static int copy_line(const char *key, const char *words, void *data)
{
        struct rewrite *w = data;
        bool disk = streq(key, w->keys->disk);

        w->disk_said = w->disk_said || disk;
        if (!streq(key, w->keys->port) && (!disk || w->port_alone))
                (void) fprintf(w->out, "%s=%s\n", key, words);
        return 0;
}

static int write_both(const struct roots *r, const char *file, const char *text)
{
        char path[64];
        int k;

        make_path(ETC_DIR, file, path);
        k = state_write(r->etc, path, text, true);
        /* The copy survives an /etc put back from a backup; a /var that is not there yet does not matter. */
        if (k >= 0 && r->var >= 0) {
                make_path(STATE_DIR, file, path);
                (void) state_write(r->var, path, text, true);
        }
        return k;
}

static int store(const struct roots *r, const struct keys *keys, bool port_alone, const struct kept_line *l)
{
        struct rewrite w = {.keys = keys, .port_alone = port_alone};
        _cleanup_free_ char *owned = NULL;
        char *text = NULL;
        size_t size;
        int k;

        w.out = open_memstream(&text, &size);
        if (!w.out)
                return -errno;
        (void) fprintf(
                w.out,
                "# Written by uasctl %s. /etc/uasd/%s is what a boot reads; /var/lib/uasd/%s is its copy.\n",
                l->verb, l->file, l->file);
        k = kept_each(r, l->file, copy_line, &w);
        if (!l->usual || (w.port_alone && w.disk_said))
                (void) fprintf(w.out, "%s=%s\n", port_alone ? keys->port : keys->disk, l->words);
        if (fclose(w.out) < 0)
                k = -ENOMEM;
        owned = text;
        return k < 0 ? k : write_both(r, l->file, text);
}

int kept_store(const struct roots *r, const struct facts *f, const struct kept_line *l)
{
        struct keys keys;

        make_keys(f, &keys);
        return store(r, &keys, l->port || !f->serial[0], l);
}

int kept_store_id(const struct roots *r, const char *id, const struct kept_line *l)
{
        const char *at = strchr(id, '@');
        struct keys keys = {};

        (void) copy_string(at ? keys.port : keys.disk, HISTORY_KEY_MAX, id);
        if (at && at[-1] != ':') /* the same disk anywhere */
                (void) snprintf(keys.disk, sizeof(keys.disk), "%.*s", (int) (at - id), id);
        return store(r, &keys, at, l);
}

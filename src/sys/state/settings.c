/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/settings.h"

#include "common/util.h"
#include "core/history.h"
#include "sys/state/store.h"

/* The keys of a disk: its name at any port, and its name and port, as in its history. */
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

int settings_each(const struct roots *r, const char *file, int (*fn)(const char *key, const char *words, void *data), void *data)
{
        const struct store *s;
        int k = store_read(r, file, &s);

        return k < 0 ? k : store_each(s, NULL, fn, data);
}

static int take_words(const char *key, const char *words, void *data)
{
        (void) copy_string(data, SETTING_MAX, words);
        return 0;
}

int setting_lookup(const struct roots *r, const char *file, const struct facts *f, struct setting *ret)
{
        const struct store *s;
        struct keys keys;
        int k = store_read(r, file, &s);

        if (k < 0)
                return k;
        *ret = (struct setting){};
        if (!s->text)
                return 0;
        make_keys(f, &keys);
        k = store_each(s, keys.port, take_words, ret->port);
        return k < 0 ? k : store_each(s, keys.disk, take_words, ret->disk);
}

struct rewrite {
        const struct keys *keys;
        const struct setting_line *line;
        bool only_port;
        bool disk_set; /* there is a line for the name at any port */
};

static int drop_line(char **line, void *data)
{
        struct rewrite *w = data;
        bool disk = store_value(*line, w->keys->disk);

        w->disk_set = w->disk_set || disk;
        return !store_value(*line, w->keys->port) && (!disk || w->only_port);
}

static int add_line(struct store_lines *s, void *data)
{
        const struct rewrite *w = data;
        _cleanup_free_ char *line = NULL;
        int k;

        if (w->line->usual && !(w->only_port && w->disk_set))
                return 1;
        if (asprintf(&line, "%s=%s", w->only_port ? w->keys->port : w->keys->disk, w->line->words) < 0) {
                line = NULL;
                return -ENOMEM;
        }
        k = strv_push(&s->list, &s->n, line);
        return k < 0 ? k : 1;
}

static int store(const struct roots *r, const struct keys *keys, bool only_port, const struct setting_line *l)
{
        struct rewrite w = {.keys = keys, .line = l, .only_port = only_port};

        return store_change(r, &(struct store_change){l->file, l->writer, &w, drop_line, add_line});
}

int setting_store(const struct roots *r, const struct facts *f, const struct setting_line *l)
{
        struct keys keys;

        make_keys(f, &keys);
        return store(r, &keys, l->port || !f->serial[0], l);
}

int setting_store_id(const struct roots *r, const char *id, const struct setting_line *l)
{
        const char *at = strchr(id, '@');
        struct keys keys = {};

        (void) copy_string(at ? keys.port : keys.disk, HISTORY_KEY_MAX, id);
        if (at && at[-1] != ':') /* the same disk at any port */
                (void) snprintf(keys.disk, sizeof(keys.disk), "%.*s", (int) (at - id), id);
        return store(r, &keys, at, l);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/history.h"

#include <time.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/state/store.h"

#define WRITER "uasd: trials and distrust; see uasd(8)"
#define LINES_MAX 256

void history_here(const struct roots *roots, struct here *ret)
{
        *ret = (struct here){0};
        if (roots->proc < 0)
                return;
        (void) copy_string(ret->kernel, sizeof(ret->kernel), roots->kernel);
        if (attr_read(roots->proc, "sys/kernel/random/boot_id", ret->boot, sizeof(ret->boot)) < 0)
                ret->boot[0] = '\0'; /* there may be a part of it */
}

/* Returns 1 and the last record with that key, or 0. */
static int history_find_key(const struct store *store, const char *key, struct history *ret)
{
        struct store_line line;
        size_t at = 0;
        int found = 0;

        while (store_next(store, key, &at, &line))
                if (history_parse(line.value, ret) >= 0)
                        found = 1;
        return found;
}

int history_read(const struct roots *roots, const struct facts *f, struct history *ret)
{
        const struct store *store;
        char key[HISTORY_KEY_MAX];
        int r = store_read(roots, STATE_HISTORY, &store);

        if (r < 0)
                return r;
        return history_find_key(store, history_key(f, key, sizeof(key)), ret);
}

void history_judge_here(const struct roots *roots, const struct history *h, struct facts *f)
{
        struct here here = {.kernel = ""};

        if (h)
                history_here(roots, &here);
        history_judge(h, &here, f);
}

bool history_initramfs_old(const struct roots *roots, const struct facts *f)
{
        _cleanup_(store_done) struct store store = {};
        char key[HISTORY_KEY_MAX];
        struct facts judged = *f;
        struct history h;

        if (!f->distrusted)
                return false;
        if (store_read_file(roots->run, RUN_INITRAMFS, &store) <= 0)
                return false;
        history_judge_here(
                roots,
                history_find_key(&store, history_key(f, key, sizeof(key)), &h) > 0 ? &h : NULL,
                &judged);
        return !judged.distrusted;
}

void history_recall(const struct roots *roots, struct facts *f)
{
        struct history h;

        history_judge_here(roots, history_read(roots, f, &h) > 0 ? &h : NULL, f);
        f->initramfs_old = history_initramfs_old(roots, f);
}

int history_each(const struct roots *roots,
                 int (*fn)(const char *key, const struct history *h, void *data), void *data)
{
        const struct store *store;
        struct store_line line;
        size_t at = 0;
        struct history h;
        int r = store_read(roots, STATE_HISTORY, &store);

        while (r >= 0 && store_next(store, NULL, &at, &line))
                if (history_parse(line.value, &h) >= 0)
                        r = fn(line.key, &h, data);
        if (r < 0)
                return r;
        return 0;
}

static bool history_line_matters(const char *line)
{
        const char *equals = strchr(line, '=');
        struct history h;

        return history_parse(equals + 1, &h) >= 0 && history_matters(&h);
}

/* Drops the oldest lines, first of those that do not matter: a device with new names does not
 * remove another's distrust. */
static void history_limit_lines(struct store_lines *s)
{
        size_t over, less = 0, kept = 0;
        size_t drop[2]; /* number of lines to drop; [1]: of those that matter */

        if (s->n <= LINES_MAX)
                return;
        over = s->n - LINES_MAX;
        for (size_t i = 0; i < s->n; i++)
                less += !history_line_matters(s->list[i]);
        drop[0] = over < less ? over : less;
        drop[1] = over - drop[0];
        for (size_t i = 0; i < s->n; i++) {
                size_t *left = &drop[history_line_matters(s->list[i])];

                if (*left > 0) {
                        --*left;
                        free(s->list[i]);
                } else
                        s->list[kept++] = s->list[i];
        }
        s->list[s->n = kept] = NULL;
}

static int history_change(const struct roots *roots, int (*fn)(char **line, void *data), void *data)
{
        return store_change(roots, &(struct store_change){STATE_HISTORY, WRITER, data, fn, NULL});
}

struct replacing {
        const char *key, *value; /* NULL: remove the record */
};

static int history_drop_key(char **line, void *data)
{
        const struct replacing *to = data;

        return store_value(*line, to->key) == NULL;
}

static int history_add_line(struct store_lines *s, void *data)
{
        const struct replacing *to = data;
        int r = store_add(s, to->key, to->value);

        if (r < 0)
                return r;
        history_limit_lines(s);
        return 1;
}

int history_put_back(const struct roots *roots, const struct facts *f, const struct history *h)
{
        char key[HISTORY_KEY_MAX], value[HISTORY_LINE_MAX];
        int r;

        history_key(f, key, sizeof(key));
        if (!h)
                return history_change(roots, history_drop_key, &(struct replacing){key, NULL});
        r = history_format(h, value, sizeof(value));
        if (r < 0)
                return r;
        return store_change(roots, &(struct store_change){STATE_HISTORY, WRITER,
                                                          &(struct replacing){key, value},
                                                          history_drop_key, history_add_line,
                                                          .room = h->state == HISTORY_TRIAL});
}

void history_complete(const struct roots *roots, const struct facts *f, struct history *h)
{
        time_t now = time(NULL);
        struct here here;
        struct tm tm;

        history_here(roots, &here);
        h->firmware = f->bcd;
        memcpy(h->kernel, here.kernel, sizeof(h->kernel));
        memcpy(h->boot, here.boot, sizeof(h->boot));
        if (!gmtime_r(&now, &tm) ||
            strftime(h->date, sizeof(h->date), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                h->date[0] = '\0';
}

int history_write(const struct roots *roots, const struct facts *f, const struct history *h)
{
        struct history full;

        if (!h)
                return history_put_back(roots, f, NULL);
        full = *h;
        history_complete(roots, f, &full);
        return history_put_back(roots, f, &full);
}

struct forgetting {
        const char *id;
        bool found;
};

static int history_drop_id(char **line, void *data)
{
        struct forgetting *f = data;
        const char *rest = startswith(*line, f->id);
        bool is = rest && (*rest == '@' || *rest == '=');

        f->found = f->found || is;
        return !is;
}

int history_forget_id(const struct roots *roots, const char *id)
{
        struct forgetting f = {.id = id};
        int r = history_change(roots, history_drop_id, &f);

        if (r < 0)
                return r;
        if (!f.found)
                return -ENOENT;
        return 0;
}

int history_forget(const struct roots *roots, const struct facts *f)
{
        char id[USB_ID_MAX];
        int r = history_forget_id(roots, history_usb_id(f, id, sizeof(id)));

        if (r == -ENOENT)
                return 0;
        return r;
}

struct ending {
        const char *key; /* NULL: every disk */
        const char *boot;
};

static int history_end_trial_line(char **line, void *data)
{
        const struct ending *e = data;
        const char *equals = strchr(*line, '=');
        char value[HISTORY_LINE_MAX];
        struct history h;
        char *ended;

        if ((e->key && !store_value(*line, e->key)) || history_parse(equals + 1, &h) < 0 ||
            !history_end_trial(&h, e->boot))
                return 1;
        if (history_format(&h, value, sizeof(value)) < 0)
                return 1;
        if (asprintf(&ended, "%.*s=%s", (int) (equals - *line), *line, value) < 0)
                return -ENOMEM;
        free(*line);
        *line = ended;
        return 1;
}

int history_end_trials(const struct roots *roots, const struct facts *f)
{
        char key[HISTORY_KEY_MAX];
        struct here here;

        history_here(roots, &here);
        return history_change(
                roots, history_end_trial_line,
                &(struct ending){f ? history_key(f, key, sizeof(key)) : NULL, here.boot});
}

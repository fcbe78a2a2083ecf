/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/history.h"

#include <fcntl.h>
#include <time.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/lock.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

#define PATH_ETC "uasd/" STATE_HISTORY
#define PATH_VAR STATE_DIR "/" STATE_HISTORY
#define GENERATION "generation"
#define LINES_MAX 256
/* Whoever has the lock writes two small files; it may hang in an fsync. */
#define LOCK_USEC (10 * USEC_PER_SEC)

void past_here(const struct roots *r, struct here *ret)
{
        *ret = (struct here){ 0 };
        if (r->proc < 0)
                return;
        (void) attr_read(r->proc, "sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
        (void) attr_read(r->proc, "sys/kernel/random/boot_id", ret->boot, sizeof(ret->boot));
}

/* ---- reading ---- */

struct file {
        unsigned long long generation;
        char **lines;
        size_t n;
};

static int take_line(const char *key, const char *value, void *data)
{
        struct file *file = data;
        _cleanup_free_ char *line = NULL;

        if (streq(key, GENERATION)) {
                (void) parse_uint(value, 10, UINT64_MAX, &file->generation);
                return 0;
        }
        if (asprintf(&line, "%s=%s", key, value) < 0) {
                line = NULL;
                return -ENOMEM;
        }
        return strv_push(&file->lines, &file->n, line);
}

static void file_done(struct file *file)
{
        strv_free(file->lines);
        *file = (struct file){ 0 };
}

/* The newer one of the two. A file that cannot be read is as good as none: nobody is refused his disk for it. */
static int read_newest(const struct roots *r, struct file *ret)
{
        struct file etc = { 0 }, var = { 0 };
        int k = r->etc < 0 ? 0 : state_read(r->etc, PATH_ETC, take_line, &etc), v = 0;

        if (r->var >= 0)
                v = state_read(r->var, PATH_VAR, take_line, &var);
        if (v > 0 && (k <= 0 || var.generation > etc.generation)) {
                file_done(&etc);
                *ret = var;
                return 1;
        }
        file_done(&var);
        if (k < 0)
                file_done(&etc);
        *ret = etc;
        return k;
}

/* What follows the key, or NULL. */
static const char *value_of(const char *line, const char *key)
{
        size_t n = strlen(key);

        return strncmp(line, key, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

/* 1 and the last record with that key, or 0. */
static int find_key(const struct file *file, const char *key, struct history *ret)
{
        int found = 0;

        for (size_t i = 0; i < file->n; i++) {
                const char *value = value_of(file->lines[i], key);

                if (value && history_parse(value, ret) >= 0)
                        found = 1;
        }
        return found;
}

int past_read(const struct roots *r, const struct facts *f, struct history *ret)
{
        char key[HISTORY_KEY_MAX];
        struct file file;
        int k = read_newest(r, &file), found;

        found = find_key(&file, history_key(f, key, sizeof(key)), ret);
        file_done(&file);
        return k < 0 ? k : found;
}

bool past_initramfs_old(const struct roots *r, const struct facts *f)
{
        struct here here = { .kernel = "" };
        char key[HISTORY_KEY_MAX];
        struct file file = { 0 };
        struct facts judged = *f;
        struct history h;
        bool there;
        int found;

        if (!f->distrusted)
                return false;
        there = state_read(r->run, RUN_INITRAMFS, take_line, &file) > 0;
        found = find_key(&file, history_key(f, key, sizeof(key)), &h);
        past_here(r, &here);
        history_judge(found > 0 ? &h : NULL, &here, &judged);
        file_done(&file);
        return there && !judged.distrusted;
}

void past_judge(const struct roots *r, struct facts *f)
{
        struct here here = { .kernel = "" };
        struct history h;
        int k = past_read(r, f, &h);

        if (k > 0)
                past_here(r, &here);
        history_judge(k > 0 ? &h : NULL, &here, f);
        f->initramfs_old = past_initramfs_old(r, f);
}

int past_list(const struct roots *r, int (*fn)(const char *key, const struct history *h, void *data), void *data)
{
        struct file file;
        int k = read_newest(r, &file);

        for (size_t i = 0; k >= 0 && i < file.n; i++) {
                char *equals = strchr(file.lines[i], '=');
                struct history h;

                if (!equals || history_parse(equals + 1, &h) < 0)
                        continue;
                *equals = '\0';
                k = fn(file.lines[i], &h, data);
        }
        file_done(&file);
        return k < 0 ? k : 0;
}

struct judging {
        struct here here;
        void (*fn)(const char *key, const struct facts *f, void *data);
        void *data;
};

static int judge_one(const char *key, const struct history *h, void *data)
{
        const struct judging *j = data;
        struct facts f = { .verdict = VERDICT_UNKNOWN, .bcd = h->firmware };

        history_judge(h, &j->here, &f);
        j->fn(key, &f, j->data);
        return 0;
}

int past_each(const struct roots *r, const char *kernel, void (*fn)(const char *key, const struct facts *f, void *data),
              void *data)
{
        struct judging j = { .fn = fn, .data = data };

        past_here(r, &j.here);
        if (kernel)
                (void) copy_string(j.here.kernel, sizeof(j.here.kernel), kernel);
        return past_list(r, judge_one, &j);
}

/* ---- writing ---- */

static int lock(const struct roots *r)
{
        _cleanup_close_ int fd = -1;
        int k = state_mkdir(r->run, RUN_DIR);

        if (k < 0)
                return k;
        fd = openat(r->run, RUN_HISTORY_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        k = lock_until(fd, awake_in(LOCK_USEC));
        return k < 0 ? k : TAKE_FD(fd);
}

static bool line_matters(const char *line)
{
        const char *equals = strchr(line, '=');
        struct history h;

        return equals && history_parse(equals + 1, &h) >= 0 && history_matters(&h);
}

/*
 * The oldest go first, but of those that matter none as long as there are others: a device that calls itself something new at
 * each plug has no other disk's distrust forgotten.
 */
static void write_lines(const struct file *file, FILE *out)
{
        size_t over = file->n > LINES_MAX ? file->n - LINES_MAX : 0, less = 0;
        size_t drop[2]; /* of those that matter: [1] */

        for (size_t i = 0; over > 0 && i < file->n; i++) /* there is room, mostly */
                less += !line_matters(file->lines[i]);
        drop[0] = over < less ? over : less;
        drop[1] = over - drop[0];
        for (size_t i = 0; i < file->n; i++) {
                size_t *left = over > 0 ? &drop[line_matters(file->lines[i])] : NULL;

                if (left && *left > 0)
                        --*left;
                else
                        (void) fprintf(out, "%s\n", file->lines[i]);
        }
}

static int write_both(const struct roots *r, const struct file *file)
{
        _cleanup_free_ char *text = NULL;
        char *stream_text = NULL;
        size_t size;
        FILE *out = open_memstream(&stream_text, &size);
        int e = -ENOENT, v = -ENOENT;

        if (!out)
                return -errno;
        (void) fprintf(out, "# Written by uasd: trials and distrust; see uasd(8). /etc/uasd/history is what a boot reads, "
                            "/var/lib/uasd/history its copy.\n" GENERATION "=%llu\n",
                       file->generation + 1);
        write_lines(file, out);
        if (fclose(out) < 0)
                e = -ENOMEM;
        text = stream_text;
        if (e == -ENOMEM)
                return e;
        if (r->etc >= 0)
                e = state_write(r->etc, PATH_ETC, text, true);
        if (r->var >= 0)
                v = state_write(r->var, PATH_VAR, text, true);
        return e >= 0 || v >= 0 ? 0 : e;
}

/* Every line goes through `change`, which returns 0 to drop it, and may replace it. */
typedef int (*change_fn)(char **line, void *data);

static int change_all(const struct file *file, change_fn change, void *data, struct file *kept, bool *changed)
{
        for (size_t i = 0; i < file->n; i++) {
                _cleanup_free_ char *line = strdup(file->lines[i]);
                int k;

                if (!line)
                        return -ENOMEM;
                k = change(&line, data);
                if (k < 0)
                        return k;
                *changed = *changed || k == 0 || !streq(line, file->lines[i]);
                if (k > 0 && strv_push(&kept->lines, &kept->n, line) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int rewrite(const struct roots *r, change_fn change, void *data, const char *added)
{
        /* What is written in an initramfs is gone with it: that would be no record. */
        _cleanup_close_ int locked = in_initramfs(r) ? -EROFS : lock(r);
        struct file file, kept = { 0 };
        bool changed = added != NULL;
        int k;

        if (locked < 0)
                return locked;
        k = read_newest(r, &file);
        if (k < 0) { /* not readable: not to be replaced by less either */
                file_done(&file);
                return k;
        }
        kept.generation = file.generation;
        k = change_all(&file, change, data, &kept, &changed);
        if (k >= 0 && added)
                k = strv_push(&kept.lines, &kept.n, added);
        if (k >= 0 && changed)
                k = write_both(r, &kept);
        file_done(&file);
        file_done(&kept);
        return k < 0 ? k : 0;
}

static int drop_key(char **line, void *data)
{
        return value_of(*line, data) == NULL;
}

static int drop_disk(char **line, void *data)
{
        return strncmp(*line, data, strlen(data)) != 0;
}

int past_put_back(const struct roots *r, const struct facts *f, const struct history *h)
{
        char key[HISTORY_KEY_MAX], value[HISTORY_LINE_MAX];
        _cleanup_free_ char *line = NULL;
        int k;

        history_key(f, key, sizeof(key));
        if (!h)
                return rewrite(r, drop_key, key, NULL);
        k = history_format(h, value, sizeof(value));
        if (k < 0)
                return k;
        if (asprintf(&line, "%s=%s", key, value) < 0) {
                line = NULL;
                return -ENOMEM;
        }
        return rewrite(r, drop_key, key, line);
}

void past_complete(const struct roots *r, const struct facts *f, struct history *h)
{
        time_t now = time(NULL);
        struct here here;
        struct tm tm;

        past_here(r, &here);
        h->firmware = f->bcd;
        memcpy(h->kernel, here.kernel, sizeof(h->kernel));
        memcpy(h->boot, here.boot, sizeof(h->boot));
        if (!gmtime_r(&now, &tm) || strftime(h->date, sizeof(h->date), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                h->date[0] = '\0';
}

int past_write(const struct roots *r, const struct facts *f, const struct history *h)
{
        struct history full;

        if (!h)
                return past_put_back(r, f, NULL);
        full = *h;
        past_complete(r, f, &full);
        return past_put_back(r, f, &full);
}

int past_forget(const struct roots *r, const struct facts *f)
{
        char disk[HISTORY_KEY_MAX];

        return rewrite(r, drop_disk, history_key_disk(f, disk, sizeof(disk)), NULL);
}

struct forgetting {
        const char *id;
        bool found;
};

static int drop_id(char **line, void *data)
{
        struct forgetting *f = data;
        size_t n = strlen(f->id);
        bool is = strncmp(*line, f->id, n) == 0 && ((*line)[n] == '@' || (*line)[n] == '=');

        f->found = f->found || is;
        return !is;
}

int past_forget_id(const struct roots *r, const char *id)
{
        struct forgetting f = { .id = id };
        int k = rewrite(r, drop_id, &f, NULL);

        return k < 0 ? k : f.found ? 0 : -ENOENT;
}

struct ending {
        const char *key; /* NULL: every disk */
        const char *boot;
};

static int end_trial(char **line, void *data)
{
        const struct ending *e = data;
        const char *equals = strchr(*line, '=');
        char value[HISTORY_LINE_MAX];
        struct history h;
        char *ended;

        if ((e->key && !value_of(*line, e->key)) || history_parse(equals + 1, &h) < 0 || !history_end_trial(&h, e->boot))
                return 1;
        if (history_format(&h, value, sizeof(value)) < 0)
                return 1;
        if (asprintf(&ended, "%.*s=%s", (int) (equals - *line), *line, value) < 0)
                return -ENOMEM;
        free(*line);
        *line = ended;
        return 1;
}

int past_end_trials(const struct roots *r, const struct facts *f)
{
        char key[HISTORY_KEY_MAX];
        struct here here;

        past_here(r, &here);
        return rewrite(r, end_trial, &(struct ending){ f ? history_key(f, key, sizeof(key)) : NULL, here.boot }, NULL);
}

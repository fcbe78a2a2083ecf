/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/settings.h"

#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "sys/state/store.h"

/* The keys of a disk: its name at any port, and its name and port, as in its history. */
struct keys {
        char disk[HISTORY_KEY_MAX]; /* empty: it has no name of its own */
        char port[HISTORY_KEY_MAX];
};

static void setting_keys(const struct facts *f, struct keys *ret)
{
        history_key(f, ret->port, sizeof(ret->port));
        history_key_disk(f, ret->disk, sizeof(ret->disk));
        if (f->serial[0])
                ret->disk[strlen(ret->disk) - 1] = '\0'; /* without its '@' */
        else
                ret->disk[0] = '\0';
}

/* Returns the words of the last line with this key, or "". */
static void setting_find(const struct store *s, const char *key, char ret[static SETTING_MAX])
{
        struct store_line line;
        size_t at = 0;

        ret[0] = '\0';
        while (store_next(s, key, &at, &line))
                (void) copy_string(ret, SETTING_MAX, line.value);
}

int settings_any(const struct roots *roots, const char *file)
{
        const struct store *s;
        struct store_line line;
        size_t at = 0;
        int r = store_read(roots, file, &s);

        if (r < 0)
                return r;
        return store_next(s, NULL, &at, &line);
}

int setting_lookup(const struct roots *roots, const char *file, const struct facts *f,
                   struct setting *ret)
{
        const struct store *s;
        struct keys keys;
        int r = store_read(roots, file, &s);

        if (r < 0)
                return r;
        *ret = (struct setting){};
        if (!s->text)
                return 0;
        setting_keys(f, &keys);
        setting_find(s, keys.port, ret->port);
        setting_find(s, keys.disk, ret->disk);
        return 0;
}

struct rewrite {
        const struct keys *keys;
        const struct setting_line *line;
        bool only_port;
        bool disk_set; /* there is a line for the name at any port */
};

static int setting_drop_line(char **line, void *data)
{
        struct rewrite *w = data;
        bool disk = store_value(*line, w->keys->disk);

        w->disk_set = w->disk_set || disk;
        return !store_value(*line, w->keys->port) && (!disk || w->only_port);
}

static int setting_add_line(struct store_lines *s, void *data)
{
        const struct rewrite *w = data;
        int r;

        if (w->line->usual && !(w->only_port && w->disk_set))
                return 1;
        r = store_add(s, w->only_port ? w->keys->port : w->keys->disk, w->line->words);
        if (r < 0)
                return r;
        return 1;
}

static int setting_store_keys(const struct roots *roots, const struct keys *keys, bool only_port,
                              const struct setting_line *l)
{
        struct rewrite w = {.keys = keys, .line = l, .only_port = only_port};

        return store_change(roots, &(struct store_change){l->file, l->writer, &w, setting_drop_line,
                                                          setting_add_line});
}

int setting_store(const struct roots *roots, const struct facts *f, const struct setting_line *l)
{
        struct keys keys;

        setting_keys(f, &keys);
        return setting_store_keys(roots, &keys, l->port || !f->serial[0], l);
}

/* Returns -1 if there is no line, or no such policy. */
static int policy_parse(const char *words, bool *ret_forced)
{
        char word[32] = "", rest[16] = "";

        (void) sscanf(words, "%31s %15s", word, rest);
        *ret_forced = streq(rest, "force");
        return policy_from_string(word);
}

int policy_lookup(const struct roots *roots, const struct facts *f, enum policy *ret,
                  bool *ret_forced)
{
        struct setting set;
        int r = setting_lookup(roots, STATE_POLICY, f, &set), policy;
        bool forced;

        if (r < 0)
                return r;
        /* The line for the port may be "auto": then a policy without a port is for another disk
         * with the same name. */
        policy = policy_parse(set.port, &forced);
        if (policy < 0)
                policy = policy_parse(set.disk, &forced);
        if (policy < 0 || policy == POLICY_AUTO)
                return 0;
        *ret = (enum policy) policy;
        *ret_forced = forced;
        return 1;
}

int policy_each(const struct roots *roots,
                int (*fn)(const char *key, enum policy p, bool forced, void *data), void *data)
{
        const struct store *s;
        struct store_line line;
        size_t at = 0;
        int r = store_read(roots, STATE_POLICY, &s);

        while (r >= 0 && store_next(s, NULL, &at, &line)) {
                bool forced;
                int policy = policy_parse(line.value, &forced);

                if (policy >= 0)
                        r = fn(line.key, (enum policy) policy, forced, data);
        }
        if (r < 0)
                return r;
        return 0;
}

static int policy_store_keys(const struct roots *roots, const struct keys *keys, bool only_port,
                             enum policy p, bool forced)
{
        char words[48];

        (void) snprintf(words, sizeof(words), "%s%s", policy_to_string(p), forced ? " force" : "");
        return setting_store_keys(
                roots, keys, only_port,
                &(struct setting_line){STATE_POLICY, "uasctl policy", words, p == POLICY_AUTO});
}

int policy_store(const struct roots *roots, const struct facts *f, bool port, enum policy p,
                 bool forced)
{
        struct keys keys;

        setting_keys(f, &keys);
        return policy_store_keys(roots, &keys, port || !f->serial[0], p, forced);
}

int policy_store_id(const struct roots *roots, const char *id, enum policy p, bool forced)
{
        const char *at = strchr(id, '@');
        struct keys keys = {};

        (void) copy_string(at ? keys.port : keys.disk, HISTORY_KEY_MAX, id);
        if (at && at[-1] != ':') /* the same disk at any port */
                (void) copy_part(keys.disk, sizeof(keys.disk), id, (size_t) (at - id));
        return policy_store_keys(roots, &keys, at, p, forced);
}

void policy_rows_done(struct policy_rows *p)
{
        for (size_t i = 0; i < p->n; i++) {
                free(p->list[i].id);
                strv_free(p->list[i].disks);
        }
        free(p->list);
        *p = (struct policy_rows){0};
}

struct policy_row *policy_rows_add(struct policy_rows *p, const char *id, enum policy policy,
                                   bool forced, enum policy_source source)
{
        struct policy_row row = {
                .id = strdup(id), .policy = policy, .forced = forced, .source = source};

        if (row.id && list_push(p->list, p->n, row))
                return p->list + p->n - 1;
        free(row.id);
        return NULL;
}

/* id: "VID:PID", "VID:PID:SERIAL", "VID:PID:SERIAL@PORT", or "*" for every disk. */
static bool policy_id_is_of(const struct facts *f, const char *id)
{
        char bridge[16];

        (void) snprintf(bridge, sizeof(bridge), "%04x:%04x", f->vid, f->pid);
        return streq(id, "*") || streq(id, bridge) || history_id_is_of(id, f);
}

struct listing {
        const struct facts *const *plugged;
        size_t n_plugged;
        struct policy_rows rows;
};

static void listing_done(struct listing *l)
{
        policy_rows_done(&l->rows);
}

static int policy_list_add(struct listing *l, const char *id, enum policy policy, bool forced,
                           enum policy_source source)
{
        struct policy_row *row = policy_rows_add(&l->rows, id, policy, forced, source);

        if (!row)
                return -ENOMEM;
        for (size_t i = 0; i < l->n_plugged; i++) {
                const struct facts *f = l->plugged[i];

                if (f->policy_source == source && f->policy == policy && policy_id_is_of(f, id) &&
                    strv_push(&row->disks, &row->n_disks, f->interface) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int policy_list_add_kept(const char *key, enum policy policy, bool forced, void *data)
{
        return policy_list_add(data, key, policy, forced, POLICY_BY_USER);
}

static int policy_list_add_rule(struct listing *l, const struct disk_rule *rule)
{
        char id[USB_ID_MAX];

        (void) history_rule_id(rule, id, sizeof(id));
        if (!*rule->serial)
                id[strlen(id) - 1] = '\0';
        return policy_list_add(l, id, rule->policy, false, POLICY_BY_CONFIG);
}

int policy_list(const struct roots *roots, const struct config *c,
                const struct facts *const *plugged, size_t n_plugged, struct policy_rows *ret)
{
        _cleanup_(listing_done) struct listing l = {plugged, n_plugged, {0}};
        int r = policy_each(roots, policy_list_add_kept, &l);

        if (r < 0)
                return r;
        /* Only disks that are plugged in have udev properties. */
        for (size_t i = 0; i < n_plugged; i++) {
                char id[USB_ID_MAX];

                if (plugged[i]->policy_source != POLICY_BY_UDEV)
                        continue;
                r = policy_list_add(&l, history_usb_id(plugged[i], id, sizeof(id)),
                                    plugged[i]->policy, false, POLICY_BY_UDEV);
                if (r < 0)
                        return r;
        }
        if (c->policy != POLICY_AUTO) {
                r = policy_list_add(&l, "*", c->policy, false, POLICY_BY_CONFIG);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < c->n_rules; i++) {
                r = policy_list_add_rule(&l, c->rules + i);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(l.rows);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/policies.h"

#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "sys/statefile.h"

#define POLICY_PATH_VAR STATE_DIR "/" STATE_POLICY
#define POLICY_PATH_ETC "uasd/" STATE_POLICY

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

struct word {
        int policy; /* -1: not found */
        bool forced;
};

struct lookup {
        struct keys keys;
        struct word disk, port;
};

static int lookup_line(const char *key, const char *value, void *data)
{
        struct lookup *l = data;
        struct word *found = streq(key, l->keys.port) ? &l->port : streq(key, l->keys.disk) ? &l->disk : NULL;
        char word[32], rest[16] = "";

        if (found && sscanf(value, "%31s %15s", word, rest) >= 1) {
                found->policy = policy_from_string(word);
                found->forced = streq(rest, "force");
        }
        return 0;
}

static int look_up(const struct roots *r, struct lookup *l)
{
        int k = state_read(r->etc, POLICY_PATH_ETC, lookup_line, l);

        if (k == 0 && r->var >= 0)
                k = state_read(r->var, POLICY_PATH_VAR, lookup_line, l);
        return k;
}

int policy_lookup(const struct roots *r, const struct facts *f, enum policy *ret, bool *ret_forced)
{
        struct lookup l = { .disk.policy = -1, .port.policy = -1 };
        const struct word *word;
        int k;

        make_keys(f, &l.keys);
        k = look_up(r, &l);
        if (k < 0)
                return k;
        /* At its port "auto" may be said: what is said of the disk is then said of another one with its name. */
        word = l.port.policy >= 0 ? &l.port : &l.disk;
        if (word->policy < 0 || word->policy == POLICY_AUTO)
                return 0;
        *ret = (enum policy) word->policy;
        *ret_forced = word->forced;
        return 1;
}

struct each {
        int (*fn)(const char *key, enum policy p, void *data);
        void *data;
};

static int each_line(const char *key, const char *value, void *data)
{
        struct each *e = data;
        char word[32];
        int policy = sscanf(value, "%31s", word) == 1 ? policy_from_string(word) : -1;

        return policy < 0 ? 0 : e->fn(key, (enum policy) policy, e->data);
}

int policy_each(const struct roots *r, int (*fn)(const char *key, enum policy p, void *data), void *data)
{
        struct each e = { fn, data };
        int k = state_read(r->etc, POLICY_PATH_ETC, each_line, &e);

        if (k == 0 && r->var >= 0)
                k = state_read(r->var, POLICY_PATH_VAR, each_line, &e);
        return k < 0 ? k : 0;
}

struct rewrite {
        const struct keys *keys;
        bool port_alone;
        bool disk_said; /* there is a line for the name */
        FILE *out;
};

static int copy_line(const char *key, const char *value, void *data)
{
        struct rewrite *w = data;
        bool disk = streq(key, w->keys->disk);

        w->disk_said = w->disk_said || disk;
        if (!streq(key, w->keys->port) && (!disk || w->port_alone))
                (void) fprintf(w->out, "%s=%s\n", key, value);
        return 0;
}

int policy_store(const struct roots *r, const struct facts *f, bool port, enum policy p, bool forced)
{
        _cleanup_free_ char *owned = NULL;
        struct rewrite w = { .port_alone = port || !f->serial[0] };
        struct keys keys;
        char *text = NULL;
        size_t size;
        int k;

        make_keys(f, &keys);
        w.keys = &keys;
        w.out = open_memstream(&text, &size);
        if (!w.out)
                return -errno;
        (void) fputs("# Written by uasctl policy. /etc/uasd/policy is what a boot reads; /var/lib/uasd/policy is its copy.\n", w.out);
        k = state_read(r->etc, POLICY_PATH_ETC, copy_line, &w);
        if (k == 0 && r->var >= 0)
                k = state_read(r->var, POLICY_PATH_VAR, copy_line, &w);
        if (p != POLICY_AUTO || (w.port_alone && w.disk_said))
                (void) fprintf(w.out, "%s=%s%s\n", w.port_alone ? keys.port : keys.disk, policy_to_string(p), forced ? " force" : "");
        if (fclose(w.out) < 0)
                k = -ENOMEM;
        owned = text;
        if (k < 0)
                return k;
        k = state_write(r->etc, POLICY_PATH_ETC, text, true);
        /* The copy survives an /etc put back from a backup; a /var that is not there yet does not matter. */
        if (k >= 0 && r->var >= 0)
                (void) state_write(r->var, POLICY_PATH_VAR, text, true);
        return k;
}

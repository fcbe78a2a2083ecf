/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/policies.h"

#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/statefile.h"

#define POLICY_PATH_VAR STATE_DIR "/" STATE_POLICY
#define POLICY_PATH_ETC "uasd/" STATE_POLICY
#define KEY_MAX (USB_STRING_MAX * 4 + 16)

/* '=' and what a line cannot hold are escaped in a serial, so that no device can write lines of its own. */
static char *policy_key(const struct facts *f, char *ret, size_t size)
{
        char serial[USB_STRING_MAX * 4], *out = ret;
        size_t left = size;
        int n;

        if (!f->serial[0]) {
                (void) snprintf(ret, size, "%04x:%04x@%s", f->vid, f->pid, f->port);
                return ret;
        }
        n = snprintf(out, left, "%04x:%04x:", f->vid, f->pid);
        out += n;
        left -= (size_t) n;
        make_harmless(f->serial, serial, sizeof(serial));
        for (const char *s = serial; *s && left > 5; s++) {
                n = *s == '=' ? snprintf(out, left, "\\x3d") : snprintf(out, left, "%c", *s);
                out += n;
                left -= (size_t) n;
        }
        return ret;
}

struct lookup {
        char key[KEY_MAX];
        int policy; /* -1: not found */
        bool forced;
};

static int lookup_line(const char *key, const char *value, void *data)
{
        struct lookup *l = data;
        char word[32], rest[16] = "";

        if (streq(key, l->key) && sscanf(value, "%31s %15s", word, rest) >= 1) {
                l->policy = policy_from_string(word);
                l->forced = streq(rest, "force");
        }
        return 0;
}

int policy_lookup(const struct roots *r, const struct facts *f, enum policy *ret, bool *ret_forced)
{
        struct lookup l = { .policy = -1 };
        int k;

        policy_key(f, l.key, sizeof(l.key));
        k = state_read(r->etc, POLICY_PATH_ETC, lookup_line, &l);
        if (k == 0 && r->var >= 0)
                k = state_read(r->var, POLICY_PATH_VAR, lookup_line, &l);
        if (k < 0)
                return k;
        if (l.policy < 0)
                return 0;
        *ret = (enum policy) l.policy;
        *ret_forced = l.forced;
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
        const char *key;
        FILE *out;
};

static int copy_line(const char *key, const char *value, void *data)
{
        struct rewrite *w = data;

        if (!streq(key, w->key))
                (void) fprintf(w->out, "%s=%s\n", key, value);
        return 0;
}

int policy_store(const struct roots *r, const struct facts *f, enum policy p, bool forced)
{
        char key[KEY_MAX], *text = NULL;
        _cleanup_free_ char *owned = NULL;
        size_t size;
        FILE *out;
        int k;

        policy_key(f, key, sizeof(key));
        out = open_memstream(&text, &size);
        if (!out)
                return -errno;
        (void) fputs("# Written by uasctl policy. /etc/uasd/policy is what a boot reads; /var/lib/uasd/policy is its copy.\n", out);
        k = state_read(r->etc, POLICY_PATH_ETC, copy_line, &(struct rewrite){ key, out });
        if (k == 0 && r->var >= 0)
                k = state_read(r->var, POLICY_PATH_VAR, copy_line, &(struct rewrite){ key, out });
        if (p != POLICY_AUTO)
                (void) fprintf(out, "%s=%s%s\n", key, policy_to_string(p), forced ? " force" : "");
        if (fclose(out) < 0)
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

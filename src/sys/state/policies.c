/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/policies.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/state/settings.h"

/* Returns -1 if there is no line, or no such policy. */
static int parse(const char *words, bool *ret_forced)
{
        char word[32] = "", rest[16] = "";

        (void) sscanf(words, "%31s %15s", word, rest);
        *ret_forced = streq(rest, "force");
        return policy_from_string(word);
}

int policy_lookup(const struct roots *r, const struct facts *f, enum policy *ret, bool *ret_forced)
{
        struct setting set;
        int k = setting_lookup(r, STATE_POLICY, f, &set), policy;
        bool forced;

        if (k < 0)
                return k;
        /* The line for the port may be "auto": then a policy without a port is for another disk with the same name. */
        policy = parse(set.port, &forced);
        if (policy < 0)
                policy = parse(set.disk, &forced);
        if (policy < 0 || policy == POLICY_AUTO)
                return 0;
        *ret = (enum policy) policy;
        *ret_forced = forced;
        return 1;
}

struct each {
        int (*fn)(const char *key, enum policy p, bool forced, void *data);
        void *data;
};

static int each_line(const char *key, const char *words, void *data)
{
        struct each *e = data;
        bool forced;
        int policy = parse(words, &forced);

        return policy < 0 ? 0 : e->fn(key, (enum policy) policy, forced, e->data);
}

int policy_each(const struct roots *r, int (*fn)(const char *key, enum policy p, bool forced, void *data), void *data)
{
        return settings_each(r, STATE_POLICY, each_line, &(struct each){fn, data});
}

int policy_store(const struct roots *r, const struct facts *f, bool port, enum policy p, bool forced)
{
        char words[48];

        (void) snprintf(words, sizeof(words), "%s%s", policy_to_string(p), forced ? " force" : "");
        return setting_store(r, f, &(struct setting_line){STATE_POLICY, "uasctl policy", words, p == POLICY_AUTO, port});
}

int policy_store_id(const struct roots *r, const char *id, enum policy p, bool forced)
{
        char words[48];

        (void) snprintf(words, sizeof(words), "%s%s", policy_to_string(p), forced ? " force" : "");
        return setting_store_id(r, id, &(struct setting_line){STATE_POLICY, "uasctl policy", words, p == POLICY_AUTO, false});
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/absent.h"

#include "client/select.h"
#include "common/names.h"
#include "ctl/journal.h"
#include "sys/state/history.h"
#include "sys/state/policies.h"

static bool is_plugged_in(const struct ctl *c, const struct views *views, const char *what)
{
        _cleanup_free_ const struct view **found = calloc(views->n + 1, sizeof(*found));
        int k = found ? select_disks(&c->client.roots, views, what, found) : -ENOMEM;

        return k != 0 && k != -ENOENT;
}

bool absent_named(const struct ctl *c, const struct views *views, const char *what, char ret_id[static HISTORY_KEY_MAX])
{
        return !is_plugged_in(c, views, what) && history_id_parse(what, ret_id, HISTORY_KEY_MAX);
}

struct id_search {
        const char *what; /* the serial number; or all of the id */
        char *id;
        bool found;
};

/* id: "VID:PID:SERIAL", perhaps with "@PORT" behind it. */
static void look_at_id(struct id_search *s, const char *id, size_t n)
{
        size_t bridge = strlen("1234:5678:"), len = strlen(s->what);

        if (s->found || n < bridge || n >= HISTORY_KEY_MAX)
                return;
        if ((n - bridge != len || strncasecmp(id + bridge, s->what, len) != 0) &&
            (n != len || strncasecmp(id, s->what, len) != 0))
                return;
        (void) snprintf(s->id, HISTORY_KEY_MAX, "%.*s", (int) n, id);
        s->found = true;
}

static int look_at_policy(const char *key, enum policy p, bool forced, void *data)
{
        look_at_id(data, key, strcspn(key, "@"));
        return 0;
}

static int look_at_record(const char *key, const struct history *h, void *data)
{
        look_at_id(data, key, strcspn(key, "@"));
        return 0;
}

static void look_at_journal(const struct ctl *c, struct id_search *s)
{
        _cleanup_(journal_closep) sd_journal *j = NULL;
        size_t size, name = strlen(FIELD_USB_ID "=");
        const void *data;

        if (journal_open(c->root, &j) < 0 || sd_journal_query_unique(j, FIELD_USB_ID) < 0)
                return;
        while (!s->found && sd_journal_enumerate_unique(j, &data, &size) > 0)
                if (size > name)
                        look_at_id(s, (const char *) data + name, size - name);
}

bool absent_recorded(const struct ctl *c, const struct views *views, const char *what, char ret_id[static HISTORY_KEY_MAX])
{
        struct id_search s = {.what = what, .id = ret_id};

        if (isempty(what) || strchr(what, '/') || is_plugged_in(c, views, what))
                return false;
        (void) history_each(&c->client.roots, look_at_record, &s);
        (void) policy_each(&c->client.roots, look_at_policy, &s);
        look_at_journal(c, &s);
        return s.found;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"

#include "client/select.h"
#include "common/names.h"
#include "ctl/events.h"
#include "ctl/options.h"
#include "sys/platform/off.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "term/terminal.h"

/* Returns true if root asks, uasd-switch is installed, and uasd is not switched off. */
static bool root_may_switch(const struct ctl *c)
{
        return geteuid() == 0 && !uasd_off(&c->client.roots) &&
               access(path_join(c->root ?: "", PROGRAM_SWITCH), X_OK) == 0;
}

static int read_for_root(struct ctl *c)
{
        int r;

        if (!root_may_switch(c))
                return source_connect(&c->client, &c->remote, &c->views);
        r = source_connect_if_running(&c->client, &c->remote, &c->views);
        if (r != UASD_EXIT_OK || c->remote.bus)
                return r;
        return source_local(&c->client, DETAIL_ALL, NULL, &c->views);
}

int ctl_read(struct ctl *c, enum disks_source from, const char *what)
{
        int r = UASD_EXIT_OK;

        switch (from) {
        case FROM_NOWHERE:
                return UASD_EXIT_OK;
        case FROM_DAEMON:
                r = source_connect(&c->client, &c->remote, &c->views);
                break;
        case FROM_DAEMON_OR_ROOT:
                r = read_for_root(c);
                break;
        case FROM_KERNEL:
                r = source_local(&c->client, DETAIL_ALL, NULL, &c->views);
                break;
        case FROM_EITHER:
                r = source_read(&c->client, DETAIL_ALL, &c->views);
                break;
        }
        if (r == UASD_EXIT_OK && what)
                return ctl_select(c, what);
        return r;
}

int ctl_select(struct ctl *c, const char *what)
{
        return source_select(&c->client, &c->views, what, &c->v);
}

int ctl_choose(struct ctl *c, char **names)
{
        struct view *list = c->views.list;
        size_t n = 0;

        c->named = names[0];
        for (; *names; names++) {
                int r = ctl_select(c, *names);
                struct view one;
                size_t i;

                if (r != UASD_EXIT_OK)
                        return r;
                i = (size_t) (c->v - list);
                if (i < n) /* named before */
                        continue;
                one = list[i];
                list[i] = list[n];
                list[n++] = one;
        }
        while (c->named && c->views.n > n)
                view_done(&list[--c->views.n]);
        c->v = NULL;
        if (n == 1)
                c->v = list;
        return UASD_EXIT_OK;
}

bool ctl_ask_daemon(struct ctl *c)
{
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(courses_done) struct courses courses = {};
        bool answers = source_ask(&c->client, REMOTE_LOOK, false, &remote, &courses);

        for (size_t i = 0; i < c->views.n; i++) {
                struct view *v = &c->views.list[i];
                struct course *course = courses_find(&courses, v->disk.facts.interface);

                if (!course)
                        continue;
                view_take_course(v, course, false);
                view_describe(v);
                memcpy(v->reason_id, course->reason_id, sizeof(v->reason_id));
        }
        return answers;
}

json_object *ctl_json(struct ctl *c)
{
        if (c->options->json && !c->json)
                c->json = json_list();
        return c->json;
}

int ctl_call(struct ctl *c, const char *method, const char *value)
{
        struct remote_call call = {
                .method = method, .value = value, .force = c->options->given & OPTION_FORCE};

        if (c->v)
                call.disk = c->v->disk.facts.interface;
        else
                call.id = c->id;
        return request_call(&c->client, &c->remote, &call, NULL);
}

int ctl_send(struct ctl *c, const char *method, const char *done)
{
        int r = ctl_call(c, method, NULL);

        if (r == UASD_EXIT_OK)
                log_info("%s: %s", c->v ? VIEW_LABEL(c->v) : c->id, _(done));
        return r;
}

/* ---- disks that are not plugged in ---- */

bool ctl_is_plugged_in(const struct ctl *c, const char *what)
{
        _cleanup_free_ const struct view **found = need(calloc(c->views.n + 1, sizeof(*found)));
        int r = select_disks(&c->client.roots, &c->views, what, found);

        return r != 0 && r != -ENOENT;
}

bool ctl_parse_bridge(const char *s, uint16_t *ret_vid, uint16_t *ret_pid)
{
        static const char digits[] = "0123456789abcdefABCDEF";
        const size_t n = strlen("1234:5678");

        return strspn(s, digits) == 4 && s[4] == ':' && strspn(s + 5, digits) == 4 &&
               (!s[n] || s[n] == ':') && sscanf(s, "%4hx:%4hx", ret_vid, ret_pid) == 2;
}

int ctl_select_or_id(struct ctl *c, const char *what)
{
        if (!ctl_is_plugged_in(c, what) && history_id_parse(what, c->id, sizeof(c->id)))
                return UASD_EXIT_OK;
        return ctl_select(c, what);
}

struct id_search {
        const char *what; /* the serial number, or the whole id */
        char *id;         /* empty: not found yet */
};

/* id: "VID:PID:SERIAL", which "@PORT" may follow. */
static void look_at_id(struct id_search *s, const char *id, size_t n)
{
        size_t bridge = strlen("1234:5678:"), len = strlen(s->what);

        if (*s->id || n < bridge || n >= HISTORY_KEY_MAX)
                return;
        if ((n - bridge != len || strncasecmp(id + bridge, s->what, len) != 0) &&
            (n != len || strncasecmp(id, s->what, len) != 0))
                return;
        (void) copy_part(s->id, HISTORY_KEY_MAX, id, n);
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
        while (!*s->id && sd_journal_enumerate_unique(j, &data, &size) > 0)
                if (size > name)
                        look_at_id(s, (const char *) data + name, size - name);
}

int ctl_select_recorded(struct ctl *c, const char *what)
{
        char name[HISTORY_KEY_MAX] = "";
        struct id_search s = {.what = name, .id = c->id};

        c->id[0] = '\0';
        if (what && !history_id_parse(what, name, sizeof(name)) &&
            copy_string(name, sizeof(name), what))
                serial_normalize(name);
        if (*name && what[0] != '/' && !ctl_is_plugged_in(c, what)) {
                (void) history_each(&c->client.roots, look_at_record, &s);
                (void) policy_each(&c->client.roots, look_at_policy, &s);
                look_at_journal(c, &s);
        }
        if (*c->id)
                return UASD_EXIT_OK;
        return ctl_select(c, what);
}

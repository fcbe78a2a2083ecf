/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/explain.h"

#include "common/util.h"
#include "ctl/json.h"
#include "ctl/output.h"
#include "ctl/source.h"

/* The daemon knows how it went; the facts are the kernel's, looked at here and now. */
static int take_from_daemon(struct view *v, const struct views *daemon)
{
        const struct view *d = views_find(daemon, v->disk.facts.interface);
        _cleanup_free_ char *reason = NULL, *reason_id = NULL;

        if (!d)
                return 0;
        reason = strdup(d->reason);
        reason_id = strdup(d->reason_id);
        if (!reason || !reason_id)
                return -ENOMEM;
        free(v->reason);
        free(v->reason_id);
        v->reason = TAKE_PTR(reason);
        v->reason_id = TAKE_PTR(reason_id);
        v->disk.state = d->disk.state;
        v->disk.outcome = d->disk.outcome;
        v->disk.decision.target = d->disk.decision.target;
        return 0;
}

/* Remedies speak of DISK: the name of this one makes them commands to paste. */
static void print_remedy(const char *remedy, const char *id)
{
        char text[512] = "";
        const char *at;

        if (remedy && (at = strstr(remedy, "DISK")))
                (void) snprintf(text, sizeof(text), "%.*s%s%s", (int) (at - remedy), remedy, id,
                                at + strlen("DISK"));
        output_sentence("Remedy", text[0] ? text : remedy);
}

static int print_text(const struct ctl *c, const struct view *v, const struct explain_row *rows, size_t n)
{
        int k;

        output_status(v);
        putchar('\n');
        k = output_rows(rows, n, c->options->legend);
        if (k < 0)
                return k;
        for (size_t i = 0; i < n; i++)
                if (rows[i].decides) {
                        putchar('\n');
                        output_field("Decides", reason_to_string(rows[i].reason));
                        output_sentence("Means", rows[i].means);
                        print_remedy(rows[i].remedy, v->disk.facts.interface);
                }
        return 0;
}

int verb_explain(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {}, daemon = {};
        _cleanup_(remote_close) struct remote remote = {};
        struct explain_row rows[_REASON_MAX];
        const struct view *found;
        struct view *v;
        size_t n;
        int code, k;

        code = source_local(c, &views);
        if (code == UASD_EXIT_OK)
                code = source_select(c, &views, args[0], &found);
        if (code != UASD_EXIT_OK)
                return code;
        v = &views.list[found - views.list];
        if (source_ask(c, &remote, &daemon) && take_from_daemon(v, &daemon) < 0)
                return UASD_EXIT_FAILED;
        n = explain(&v->disk.facts, rows, ELEMENTSOF(rows));
        k = c->options->json ? json_print(json_disk_with(v, "rows", json_rows(rows, n))) : print_text(c, v, rows, n);
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/utsname.h>

#include "common/names.h"
#include "core/explain.h"
#include "core/history.h"
#include "ctl/events.h"
#include "ctl/facts-block.h"
#include "ctl/json.h"
#include "ctl/output.h"
#include "ctl/report.h"
#include "ctl/source.h"
#include "sys/bridgedb.h"
#include "sys/quirkfacts.h"
#include "sys/sysfs.h"

#define REDACTED "(redacted)"
#define WORDS_MAX 32
#define EVENTS_MAX 200 /* the newest */

/* ---- what is nobody's business ---- */

/* Serials by number, so that two of the same are still seen to be the same. */
struct serials {
        char **list;
        size_t n;
};

static void serials_done(struct serials *s)
{
        strv_free(s->list);
}

/* "SERIAL-1" in place of it; what is empty says something, too. 0 or -ENOMEM. */
static int redact_serial(struct serials *known, char *serial, size_t size)
{
        size_t i = 0;
        int k = 0;

        if (!serial[0])
                return 0;
        while (i < known->n && !streq(known->list[i], serial))
                i++;
        if (i == known->n)
                k = strv_push(&known->list, &known->n, serial);
        (void) snprintf(serial, size, "SERIAL-%zu", i + 1);
        return k;
}

static int replace(char **s, const char *by)
{
        char *copy = *s ? strdup(by) : NULL;

        if (*s && !copy)
                return -ENOMEM;
        free(*s);
        *s = copy;
        return 0;
}

/* Mount points have labels and names of people in them, and so has every sentence about them: it is made anew. */
static int redact_disk(struct serials *known, struct view *v)
{
        struct disk *d = &v->disk;
        char text[1024];
        int k = redact_serial(known, d->facts.serial, sizeof(d->facts.serial));

        for (size_t i = 0; i < d->n_users && k >= 0; i++) {
                struct user *u = &d->users[i];

                if (u->where && !streq(u->where, "/"))
                        k = replace(&u->where, REDACTED);
                if (k >= 0)
                        k = replace(&u->unit, REDACTED);
        }
        if (d->outcome.text[0])
                (void) copy_string(d->outcome.text, sizeof(d->outcome.text), REDACTED);
        return k < 0 ? k : replace(&v->reason, disk_reason(d, text, sizeof(text)));
}

/* What the journal says in words names who used the disk. */
static int redact_event(struct serials *known, struct event *e)
{
        char **id = &e->values[EVENT_USB_ID], *serial, text[USB_ID_MAX];
        int k = e->record ? 0 : replace(&e->values[EVENT_TEXT], REDACTED);

        if (k < 0 || !*id)
                return k;
        (void) copy_string(text, sizeof(text), *id);
        serial = strchr(text, ':');
        serial = serial ? strchr(serial + 1, ':') : NULL;
        if (!serial)
                return replace(id, REDACTED);
        serial++;
        k = redact_serial(known, serial, sizeof(text) - (size_t) (serial - text));
        return k < 0 ? k : replace(id, text);
}

/* ---- what is told ---- */

/* Of the kernel command line what has to do with USB disks. */
static void print_command_line(const struct roots *r)
{
        static const char *const begins[] = {"uasd", "rd.uasd", "usb-storage.", "usb_storage.", "uas.", "usbcore.",
                                             "module_blacklist=", "modprobe.blacklist="};
        char line[4096], told[1024] = "", *rest = line;
        size_t used = 0;

        if (r->proc < 0 || attr_read(r->proc, "cmdline", line, sizeof(line)) < 0)
                return;
        for (char *word; (word = strsep(&rest, " ")) && used < sizeof(told);)
                for (size_t i = 0; i < ELEMENTSOF(begins); i++)
                        if (strncmp(word, begins[i], strlen(begins[i])) == 0) {
                                used += (size_t) snprintf(told + used, sizeof(told) - used, "%s%s", used ? " " : "", word);
                                break;
                        }
        output_field("Kernel", told[0] ? told : "(nothing about USB disks on its command line)");
}

static void print_machine(const struct ctl *c, bool daemon)
{
        char platform[PLATFORM_MAX], quirks[QUIRKS_MAX + 1], text[512];
        struct utsname u;

        output_field("uasctl", UASD_VERSION);
        output_field("uasd", daemon ? "answers" : "does not answer");
        if (uname(&u) == 0) {
                (void) snprintf(text, sizeof(text), "%s %s %s", u.sysname, u.release, u.machine);
                output_field("System", text);
        }
        platform_read(&c->roots, platform);
        output_field("Host", platform);
        print_command_line(&c->roots);
        if (attr_read(c->roots.sys, SYSFS_QUIRKS, quirks, sizeof(quirks)) >= 0)
                output_field("Quirks", quirks[0] ? quirks : "(none)");
}

static int print_disk(const struct ctl *c, const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        struct explain_row rows[_REASON_MAX];
        struct quirk_word words[WORDS_MAX];
        struct quirk_facts quirks = {};
        char platform[PLATFORM_MAX];
        struct db_entry entry;
        size_t n;
        int k;

        k = quirk_facts_read(&c->roots, &quirks);
        if (k < 0)
                return k;
        platform_read(&c->roots, platform);
        (void) bridgedb_read(&c->roots, f->port, &entry);
        n = explain(f, rows, ELEMENTSOF(rows));

        const struct json_member members[] = {
                {"rows", json_rows(rows, n)},
                {"quirks", json_quirks(words, quirk_words(&quirks, f->vid, f->pid, words, ELEMENTSOF(words)))},
                {"database", json_database(&entry, f->bcd, platform)},
        };

        k = json_print(json_disk_with_all(v, members, ELEMENTSOF(members)));
        quirk_facts_done(&quirks);
        return k;
}

static int read_all(const struct ctl *c, const struct views *daemon, struct views *views, struct events *events)
{
        struct serials known = {};
        int k = 0;

        for (size_t i = 0; i < views->n && k >= 0; i++)
                k = view_take_life(&views->list[i], daemon);
        if (k >= 0 && events_from_journal(c->root, &(struct events_filter){}, events) == -ENOMEM)
                k = -ENOMEM;
        if (k >= 0 && events_from_records(&c->roots, &(struct events_filter){}, events) == -ENOMEM)
                k = -ENOMEM;
        events_sort(events);
        if (k < 0 || !c->options->redact)
                return k;
        for (size_t i = 0; i < views->n && k >= 0; i++)
                k = redact_disk(&known, &views->list[i]);
        for (size_t i = 0; i < events->n && k >= 0; i++)
                k = redact_event(&known, &events->list[i]);
        serials_done(&known);
        return k;
}

int verb_report(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {}, daemon = {};
        _cleanup_(events_done) struct events events = {};
        struct events newest;
        bool answers;
        int code, k;

        if (c->options->replay)
                return report_replay(c, c->options->replay);
        if (c->options->hwdb)
                return report_hwdb(c, c->options->hwdb);
        code = source_local(c, &views);
        if (code != UASD_EXIT_OK)
                return code;
        answers = source_look(c, &daemon);
        k = read_all(c, &daemon, &views, &events);
        if (k < 0)
                return UASD_EXIT_FAILED;
        print_machine(c, answers);
        for (size_t i = 0; i < views.n && k >= 0; i++) {
                putchar('\n');
                k = print_disk(c, &views.list[i]);
        }
        newest = events;
        if (events.n > EVENTS_MAX) {
                newest.list += events.n - EVENTS_MAX;
                newest.n = EVENTS_MAX;
        }
        putchar('\n');
        if (k >= 0)
                k = json_print(json_events(&newest));
        putchar('\n');
        if (k >= 0)
                k = facts_block_print(&views);
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}

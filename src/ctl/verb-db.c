/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include "common/names.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/facts.h"
#include "sys/udev/hwdb.h"
#include "sys/udev/udevdb.h"

/* A bridge, and what is known of it. */
struct known_bridge {
        unsigned short vid, pid;
        int bcd; /* firmware; -1: not known, because no disk with this bridge is plugged in */
        unsigned kernel; /* LINUX() of the one that runs */
        struct db_entry entry;
        char platform[PLATFORM_MAX];
};

static bool kernel_forbids(const struct known_bridge *b)
{
        const struct bridge bridge = {.vid = b->vid,
                                      .pid = b->pid,
                                      .bcd = (uint16_t) b->bcd,
                                      .any_bcd = b->bcd < 0,
                                      .kernel = b->kernel};

        return (kernel_letters(&bridge, DRIVER_UAS) | kernel_letters(&bridge, DRIVER_USB_STORAGE)) &
               LETTER_U;
}

static const char *verdict_why(const struct known_bridge *b, const struct db_word *w,
                               bool any_firmware)
{
        if (b->entry.ruled)
                return N_(
                        "A local rule or hwdb file says so (UASD_VERDICT), and that goes before all statements.");
        if (w->conflict)
                return N_("The sources contradict each other.");
        if (w->kernel_alone && !kernel_forbids(b))
                return N_(
                        "No source has a verdict but the table of newer kernels, which keeps this bridge off UAS. This kernel does not.");
        if (w->kernel_alone)
                return N_(
                        "No other source has a verdict, but the kernel's own table keeps this bridge off UAS.");
        if (b->entry.n_says == 0 && b->bcd < 0)
                return N_("The database does not know this bridge.");
        if (b->entry.n_says == 0)
                return N_("The database did not know this bridge when it was plugged in.");
        if (!any_firmware)
                return N_(
                        "The verdict depends on the firmware. uasctl status shows the firmware of a disk that is plugged in.");
        if (w->verdict == VERDICT_UNKNOWN)
                return N_("No statement settles it for this firmware and host.");
        return N_("All that holds for this firmware and host says so.");
}

/* Returns false if the verdict depends on the firmware. */
static bool bridge_weigh(const struct known_bridge *b, const char *platform, struct db_word *ret)
{
        if (b->bcd < 0)
                return db_weigh_all(&b->entry, platform, ret);
        db_weigh(&b->entry, (uint16_t) b->bcd, platform, ret);
        return true;
}

/* The verdicts on other hosts, as far as statements name them. */
static void verdicts_elsewhere(const struct known_bridge *b, char *ret, size_t size)
{
        const struct db_entry *e = &b->entry;

        *ret = '\0';
        for (size_t i = 0; i < e->n_says && !e->ruled; i++) {
                const char *host = e->says[i].host;
                size_t n = strlen(ret);
                struct db_word word;
                bool told = db_host_fits(&e->says[i], b->platform);

                for (size_t j = 0; j < i && !told; j++)
                        told = streq(e->says[j].host, host);
                (void) bridge_weigh(b, host, &word);
                if (!told && word.verdict != VERDICT_UNKNOWN)
                        (void) snprintf(ret + n, size - n, _("%s%s on %s"), n ? ", " : "",
                                        verdict_to_string(word.verdict), host);
        }
}

static const struct table_column says_columns[] = {
        {N_("APPLIES"), .folds = FIT_BLANKS},
        {N_("VERDICT")},
        {N_("FIRMWARE")},
        {N_("HOST"), .folds = FIT_NAMES},
        {N_("SOURCE"), .folds = FIT_BLANKS},
        {N_("DATE")},
        {N_("NOTE"), .folds = FIT_CUT},
};

/* Whether the statement applies. bcd: the firmware, or -1 if it is not known. */
static const char *says_holds(const struct db_says *s, int bcd, const char *platform)
{
        if (bcd >= 0 && !db_firmware_fits(s, (uint16_t) bcd))
                return _("other firmware");
        if (!db_host_fits(s, platform))
                return _("other host");
        if (bcd < 0 && !db_any_firmware(s))
                return _("some firmware");
        return _("yes");
}

static void add_says(struct libscols_table *t, const struct db_says *s, int bcd,
                     const char *platform)
{
        char range[16];

        (void) snprintf(range, sizeof(range), "%x.%02x-%x.%02x", s->bcd_min >> 8, s->bcd_min & 0xff,
                        s->bcd_max >> 8, s->bcd_max & 0xff);
        (void) table_row(
                t, NULL,
                (const char *const[]){says_holds(s, bcd, platform), verdict_to_string(s->verdict),
                                      db_any_firmware(s) ? _("any") : range,
                                      streq(s->host, "*") ? _("any") : HARMLESS(s->host),
                                      HARMLESS(s->source), HARMLESS(s->date), HARMLESS(s->note)});
}

/* The statements, and whether each applies to this firmware and host. */
static void print_says(const struct db_entry *e, int bcd, const char *platform, bool legend)
{
        struct libscols_table *t = table_new(says_columns, ELEMENTSOF(says_columns), legend);

        for (size_t i = 0; i < e->n_says; i++)
                add_says(t, &e->says[i], bcd, platform);
        table_print(t, says_columns, ELEMENTSOF(says_columns));
}

static void bridge_print(const struct ctl *c, const struct known_bridge *b)
{
        char text[DB_SAYS_MAX * 48];
        struct db_word word;
        bool any_firmware = bridge_weigh(b, b->platform, &word);

        pager_open(c->options->pager);
        if (b->bcd >= 0)
                output_format("Bridge", "", _("%04x:%04x, firmware %x.%02x"), b->vid, b->pid,
                              (unsigned) b->bcd >> 8, b->bcd & 0xff);
        else
                output_format("Bridge", "", "%04x:%04x", b->vid, b->pid);
        output_field("Chip", b->entry.chip);
        output_field("Host", b->platform);
        output_field("Verdict", verdict_to_string(word.verdict));
        output_sentence("Reason", verdict_why(b, &word, any_firmware));
        verdicts_elsewhere(b, text, sizeof(text));
        output_field("Elsewhere", text);
        if (b->entry.n_says == 0)
                return;
        putchar('\n');
        print_says(&b->entry, b->bcd, b->platform, c->options->legend);
}

/* The entry of a bridge that is not plugged in. Returns 0 or more, or -errno. */
static int bridge_read(const struct ctl *c, struct known_bridge *b)
{
        int r = hwdb_read(b->vid, b->pid, "", &b->entry);

        if (r <= 0 && bridgedb_read_text(&c->client.roots, b->vid, b->pid, &b->entry) >= 0)
                r = 0;
        return r;
}

struct named_bridge {
        struct known_bridge bridge;
        char name[256];
};

static const struct table_column found_columns[] = {{N_("BRIDGE")},
                                                    {N_("VERDICT")},
                                                    {N_("KERNEL")},
                                                    {N_("NAME"), .folds = FIT_CUT},
                                                    {N_("CHIP"), .folds = FIT_CUT}};

static void bridges_print_table(const struct ctl *c, const struct named_bridge *list, size_t n)
{
        struct libscols_table *t =
                table_new(found_columns, ELEMENTSOF(found_columns), c->options->legend);

        pager_open(c->options->pager);
        for (size_t i = 0; i < n; i++) {
                const struct known_bridge *b = &list[i].bridge;
                struct db_word word;
                char ids[16];

                (void) bridge_weigh(b, b->platform, &word);
                (void) snprintf(ids, sizeof(ids), "%04x:%04x", b->vid, b->pid);
                (void) table_row(t, NULL,
                                 (const char *const[]){ids, verdict_to_string(word.verdict),
                                                       kernel_forbids(b) ? _("no uas") : "-",
                                                       HARMLESS(list[i].name),
                                                       HARMLESS(b->entry.chip)});
        }
        table_print(t, found_columns, ELEMENTSOF(found_columns));
        if (c->options->legend)
                fold_print(
                        stdout,
                        _("The verdicts are those for this machine. The sources: uasctl db VID:PID"),
                        0);
}

/* Bridges that are not plugged in. */
static void bridges_print(const struct ctl *c, const struct named_bridge *list, size_t n)
{
        json_object *bridges;

        if (!c->options->json && n == 1)
                bridge_print(c, &list->bridge);
        else if (!c->options->json)
                bridges_print_table(c, list, n);
        if (!c->options->json)
                return;
        bridges = json_list();
        for (size_t i = 0; i < n; i++) {
                const struct known_bridge *b = &list[i].bridge;

                append(bridges,
                       json_bridge(b->vid, b->pid, json_database(&b->entry, b->bcd, b->platform)));
        }
        json_print(json_document("bridges", bridges));
}

static int show_absent(const struct ctl *c, struct known_bridge *b)
{
        int r = bridge_read(c, b);

        if (r < 0) {
                log_error("Cannot read udev's hardware database: %s", strerror(-r));
                if (!client_say_command(&c->client, REMEDY_HWDB, NULL, _("To build it:")))
                        log_info("No program here builds it. The statements are text: %s",
                                 BRIDGES_HWDB);
                return UASD_EXIT_FAILED;
        }
        bridges_print(c, &(struct named_bridge){.bridge = *b}, 1);
        return UASD_EXIT_OK;
}

/* ---- by name, before a purchase ---- */

struct bridge_search {
        const struct ctl *c;
        const char *what;         /* a part of a name, in either case */
        struct known_bridge like; /* this host and kernel */
        struct named_bridge *found;
        size_t n;
};

static void search_take(uint16_t vid, uint16_t pid, const char *names, void *data)
{
        struct bridge_search *s = data;
        struct named_bridge one = {.bridge = s->like};

        (void) hwdb_names(vid, pid, one.name, sizeof(one.name));
        if (!strcasestr(names, s->what) && !strcasestr(one.name, s->what))
                return;
        one.bridge.vid = vid;
        one.bridge.pid = pid;
        (void) bridge_read(s->c, &one.bridge);
        if (!*one.name)
                (void) copy_string(one.name, sizeof(one.name), names);
        need_push(s->found, s->n, one);
}

/* Returns the number of bridges with that name. */
static size_t search_bridges(const struct ctl *c, const char *what, const struct known_bridge *like)
{
        struct bridge_search s = {.c = c, .what = what, .like = *like};

        if (strlen(what) >= 2)
                (void) bridgedb_each(&c->client.roots, search_take, &s);
        if (s.n > 0)
                bridges_print(c, s.found, s.n);
        free(s.found);
        return s.n;
}

static void bridges_show(struct ctl *c, struct known_bridge *b)
{
        if (!ctl_json(c) && c->views.n == 0)
                log_info("There are no USB disks. uasctl db VID:PID or NAME looks a bridge up.");
        for (size_t i = 0; i < c->views.n; i++) {
                const struct view *v = &c->views.list[i];
                const struct facts *f = &v->disk.facts;

                b->vid = f->vid;
                b->pid = f->pid;
                b->bcd = f->bcd;
                (void) bridgedb_read(&c->client.roots, f, &b->entry);
                if (c->json) {
                        append(c->json, put_members(json_disk(v),
                                                    {"database", json_database(&b->entry, b->bcd,
                                                                               b->platform)}));
                        continue;
                }
                if (i > 0)
                        putchar('\n');
                bridge_print(c, b);
        }
}

int verb_db(struct ctl *c, char **args)
{
        struct known_bridge b = {.bcd = -1};
        int r = ctl_read(c, FROM_KERNEL, NULL);

        if (r != UASD_EXIT_OK)
                return r;
        platform_read(&c->client.roots, b.platform);
        b.kernel = linux_version(c->client.roots.kernel);
        if (args[0] && ctl_parse_bridge(args[0], &b.vid, &b.pid) && !ctl_is_plugged_in(c, args[0]))
                return show_absent(c, &b);
        if (args[0] && !ctl_is_plugged_in(c, args[0]) && search_bridges(c, args[0], &b) > 0)
                return UASD_EXIT_OK;
        r = ctl_choose(c, args);
        if (r == UASD_EXIT_OK)
                bridges_show(c, &b);
        return r;
}

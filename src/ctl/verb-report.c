/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/capture.h"
#include "ctl/context.h"
#include "ctl/contribute.h"
#include "ctl/options.h"

#include <locale.h>
#include <sys/utsname.h>

#include "common/names.h"
#include "core/explain.h"
#include "core/policy.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/modprobed.h"
#include "sys/state/conf.h"
#include "sys/udev/udevdb.h"

/* ---- private data: --redact ---- */

#define REDACTED "(redacted)"
#define SERIAL_MIN 4 /* a shorter one, such as "0", identifies nothing and occurs in most lines */
#define PACKAGES "/usr/lib/" /* files here are the same on other machines */

struct serials {
        char **list;
        size_t n;
};

/* Replaces it by "SERIAL-1". An empty one stays, because that is useful to know. */
static void redact_serial(struct serials *known, char *serial, size_t size)
{
        size_t i = 0;

        if (!serial[0])
                return;
        while (i < known->n && !streq(known->list[i], serial))
                i++;
        if (i == known->n && strv_push(&known->list, &known->n, serial) < 0)
                no_memory();
        (void) snprintf(serial, size, "SERIAL-%zu", i + 1);
}

/* Takes ownership of by. */
static void redact_by(char **s, char *by)
{
        free(*s);
        *s = need(by);
}

static void redact_string(char **s)
{
        if (*s)
                redact_by(s, strdup(REDACTED));
}

static void redact_text(char *text, size_t size)
{
        if (text[0])
                (void) copy_string(text, size, REDACTED);
}

/* "Before it (redacted)": keeps the first n characters. */
static void redact_from(char **s, size_t n)
{
        char *told;

        if (asprintf(&told, "%.*s" REDACTED, (int) n, *s) < 0)
                no_memory();
        redact_by(s, told);
}

/* Sentences about the users of the disk, or about distrust, are formulated again. */
static void redact_disk(struct serials *known, struct view *v)
{
        struct disk *d = &v->disk;

        redact_serial(known, d->facts.serial, sizeof(d->facts.serial));
        /* Mount points contain labels and names of people. Commands contain file names. */
        for (size_t i = 0; i < d->n_users; i++) {
                struct user *u = &d->users[i];

                if (u->where && !streq(u->where, "/"))
                        redact_string(&u->where);
                redact_string(&u->unit);
                redact_string(&u->command);
        }
        redact_text(d->outcome.text, sizeof(d->outcome.text));
        redact_text(d->facts.distrust_reason, sizeof(d->facts.distrust_reason));
        d->facts.distrust_date[0] = d->facts.distrust_kernel[0] = '\0';
        redact_string(&d->inhibited);
        redact_text(d->lease, sizeof(d->lease));
        view_describe(v);
}

/* The text of an ending names users of the disk. In a record the last part is such a text:
 * "distrusted with firmware 1.00 on Linux 6.1: ...". */
static void redact_words(struct log_entry *e)
{
        char **text = &e->values[EVENT_TEXT], *words;

        if (!e->record || !*text) {
                redact_string(text);
                return;
        }
        words = strstr(*text, ": ");
        if (words)
                redact_from(text, (size_t) (words + strlen(": ") - *text));
}

static void redact_event(struct serials *known, struct log_entry *e)
{
        char **id = &e->values[EVENT_USB_ID], *serial, text[USB_ID_MAX];

        redact_words(e);
        if (!*id)
                return;
        (void) copy_string(text, sizeof(text), *id);
        serial = strchr(text, ':');
        if (serial)
                serial = strchr(serial + 1, ':');
        if (!serial) {
                redact_string(id);
                return;
        }
        serial++;
        redact_serial(known, serial, sizeof(text) - (size_t) (serial - text));
        redact_by(id, strdup(text));
}

/* Removes names that the kernel has read from devices, also from others at that port; and serial
 * numbers anywhere else. */
static void redact_line(const struct serials *known, char **text)
{
        static const char *const told[] = {"SerialNumber: ", "Product: ", "Manufacturer: "};

        for (size_t i = 0; i < ELEMENTSOF(told); i++) {
                const char *at = strstr(*text, told[i]);

                if (!at)
                        continue;
                redact_from(text, (size_t) (at + strlen(told[i]) - *text));
                break;
        }
        for (size_t i = 0; i < known->n; i++)
                if (strlen(known->list[i]) >= SERIAL_MIN && strstr(*text, known->list[i]))
                        redact_string(text);
}

/* Before anything is printed. Serial numbers are replaced by numbers, so that equal ones remain
 * equal. */
static void redact_all(struct views *views, struct events *events, struct events *kernel)
{
        struct serials known = {};

        for (size_t i = 0; i < views->n; i++)
                redact_disk(&known, &views->list[i]);
        for (size_t i = 0; i < events->n; i++)
                redact_event(&known, &events->list[i]);
        for (size_t i = 0; i < kernel->n; i++)
                redact_line(&known, &kernel->list[i].values[EVENT_TEXT]);
        strv_free(known.list);
}

/* Removes names of files that the administrator made. Those from packages stay. */
static void redact_quirks(struct quirk_facts *q)
{
        for (size_t i = 0; i < q->lines.n; i++) {
                char **file = &q->lines.list[i].file, *name;

                if (!*file || startswith(*file, PACKAGES))
                        continue;
                name = strrchr(*file, '/');
                if (name)
                        redact_from(file, (size_t) (name + 1 - *file));
        }
}

/* ---- the machine: versions and settings ---- */

#define OS_NAME "PRETTY_NAME="

/* Prints the parameters of the kernel command line that concern USB disks. */
static void print_command_line(const struct roots *roots)
{
        static const char *const begins[] = {
                "uasd", "rd.uasd",  "usb-storage.",      "usb_storage.",
                "uas.", "usbcore.", "module_blacklist=", "modprobe.blacklist="};
        char line[4096], told[1024] = "", *rest = line;

        if (roots->proc < 0 || attr_read(roots->proc, "cmdline", line, sizeof(line)) < 0)
                return;
        for (char *word; (word = strsep(&rest, " "));)
                for (size_t i = 0; i < ELEMENTSOF(begins); i++)
                        if (startswith(word, begins[i])) {
                                if (*told)
                                        text_add(told, sizeof(told), " ");
                                text_add(told, sizeof(told), "%s", word);
                                break;
                        }
        if (!*told)
                (void) copy_string(told, sizeof(told),
                                   "(nothing about USB disks on its command line)");
        output_field("Kernel", told);
}

/* PRETTY_NAME of os-release(5). */
static void print_distribution(const struct roots *roots)
{
        _cleanup_free_ char *name = NULL;
        char text[4096];
        const char *at;

        if ((roots->etc < 0 || attr_read(roots->etc, "os-release", text, sizeof(text)) <= 0) &&
            (roots->lib < 0 || attr_read(roots->lib, "os-release", text, sizeof(text)) <= 0))
                return;
        at = text;
        if (!startswith(text, OS_NAME))
                at = strstr(text, "\n" OS_NAME);
        if (!at)
                return;
        at += strlen(OS_NAME) + (*at == '\n');
        at += strspn(at, "\"'");
        name = strndup(at, strcspn(at, "\"'\n"));
        if (name)
                output_field("OS", name);
}

/* "systemd 252 (252.30-1~deb12u2)" */
static void print_systemd(const char *root)
{
        const char *program = path_join(root ?: "", PROGRAM_SYSTEMCTL);
        _cleanup_free_ char *text = NULL;

        if (capture((const char *const[]){program, "--version", NULL}, 5 * USEC_PER_SEC, &text) !=
            0)
                return;
        text[strcspn(text, "\n")] = '\0';
        output_field("Manager", text);
}

static void put_seconds(char *told, size_t size, const char *key, uint64_t usec)
{
        text_join(told, size, "%s=%llums", key, (unsigned long long) usec / USEC_PER_MSEC);
}

/* Prints the values of uasd.conf that differ from the defaults. */
static void print_configuration(const struct ctl *c)
{
        _cleanup_(config_done) struct config config, usual;
        char told[1024] = "";

        config_init(&config);
        config_init(&usual);
        if (conf_load(&c->client.roots, &config, NULL, NULL) < 0)
                return;
        if (config.policy != usual.policy)
                text_join(told, sizeof(told), "Policy=%s", policy_to_string(config.policy));
        if (config.unknown_target != usual.unknown_target)
                text_join(told, sizeof(told), "Unknown=%s",
                          driver_to_string(config.unknown_target));
        if (config.quiet_usec != usual.quiet_usec)
                put_seconds(told, sizeof(told), "QuietSec", config.quiet_usec);
        if (config.hold_usec != usual.hold_usec)
                put_seconds(told, sizeof(told), "HoldSec", config.hold_usec);
        if (config.trial_usec != usual.trial_usec)
                put_seconds(told, sizeof(told), "TrialSec", config.trial_usec);
        if (!*told)
                (void) copy_string(told, sizeof(told), "(as by default)");
        output_field("Settings", told);
        for (size_t i = 0; i < config.n_rules; i++) {
                const struct disk_rule *d = &config.rules[i];
                const char *serial = c->options->given & OPTION_REDACT ? REDACTED : d->serial;

                if (*d->serial)
                        output_format("Settings", "", "[Disk %04x:%04x:%s] Policy=%s", d->vid,
                                      d->pid, serial, policy_to_string(d->policy));
                else
                        output_format("Settings", "", "[Disk %04x:%04x] Policy=%s", d->vid, d->pid,
                                      policy_to_string(d->policy));
        }
}

/* The attribute ends with the newline of the last write, and often with the comma of an entry that
 * was removed. */
static const char *quirks_trimmed(char *quirks)
{
        for (size_t n = strlen(quirks); n > 0 && strchr(", \n", quirks[n - 1]); n--)
                quirks[n - 1] = '\0';
        return quirks;
}

/* The machine: versions, and settings. daemon: it answers. */
static void report_machine(const struct ctl *c, bool daemon)
{
        char platform[PLATFORM_MAX], quirks[QUIRKS_MAX + 1];
        struct utsname u;

        output_field("uasctl", UASD_VERSION);
        output_field("uasd", daemon ? "answers" : "does not answer");
        if (uname(&u) == 0)
                output_format("System", "", "%s %s %s", u.sysname, u.release, u.machine);
        print_distribution(&c->client.roots);
        print_systemd(c->root);
        platform_read(&c->client.roots, platform);
        output_field("Host", platform);
        print_command_line(&c->client.roots);
        if (attr_read(c->client.roots.sys, SYSFS_QUIRKS, quirks, sizeof(quirks)) >= 0)
                output_field("Quirks", *quirks_trimmed(quirks) ? quirks : "(none)");
        print_configuration(c);
}

#define WORDS_MAX 32
#define USERS_MAX 3

/* ---- the summary ---- */

static void print_summary(const struct view *v, const struct health *h)
{
        const struct facts *f = &v->disk.facts;
        char text[1024];

        putchar('\n');
        output_format("Disk", "", "%s %s", VIEW_LABEL(v), view_product(v, text, sizeof(text)));
        output_format("Bridge", "", "%04x:%04x, firmware %x.%02x, verdict %s", f->vid, f->pid,
                      f->bcd >> 8, f->bcd & 0xff, verdict_to_string(f->verdict));
        output_format("Driver", "", "%s, %s, %u Mbit/s", view_driver(v) ?: "none",
                      state_to_string(v->disk.state), f->speed_mbps);
        output_sentence("Reason", v->reason);
        for (size_t i = 0; i < v->disk.n_users && i < USERS_MAX; i++)
                output_sentence(i == 0 ? "Used" : "",
                                user_text(&v->disk.users[i], text, sizeof(text)));
        if (v->disk.n_users > USERS_MAX)
                output_format("", "", "and %zu more", v->disk.n_users - USERS_MAX);
        output_sentence("History", v->history);
        output_sentence("Diagnosis", v->diagnosis);
        output_sentence("Advice", link_advice(&h->link, text, sizeof(text)));
        health_print_commands(h);
}

/* ---- the facts ---- */

static void json_facts(const struct ctl *c, const struct view *v, const struct health *h,
                       json_object *disks)
{
        _cleanup_(quirk_facts_done) struct quirk_facts quirks = {};
        const struct facts *f = &v->disk.facts;
        struct explain_row rows[_REASON_MAX];
        struct quirk_word words[WORDS_MAX];
        char platform[PLATFORM_MAX];
        struct db_entry entry;

        if (quirk_facts_read(&c->client.roots, &quirks) < 0)
                no_memory();
        if (c->options->given & OPTION_REDACT)
                redact_quirks(&quirks);
        platform_read(&c->client.roots, platform);
        (void) bridgedb_read(&c->client.roots, f, &entry);
        append(disks,
               put_members(json_disk(v),
                           {"rows", json_rows(rows, explain(f, rows, ELEMENTSOF(rows)), false)},
                           {"quirks", json_quirks(words, quirk_words(&quirks, f->vid, f->pid, words,
                                                                     ELEMENTSOF(words)))},
                           {"database", json_database(&entry, f->bcd, platform)},
                           {"commands", json_commands(h)}, {"trim", json_trim(h, f->driver)},
                           {"link", json_link(&h->link)}));
}

static void print_disks(const struct ctl *c)
{
        json_object *disks = json_list();

        for (size_t i = 0; i < c->views.n; i++) {
                _cleanup_(health_done) struct health health = {};

                health_read(&c->client.roots, &c->views.list[i], &health);
                print_summary(&c->views.list[i], &health);
                json_facts(c, &c->views.list[i], &health, disks);
        }
        printf("\nFacts:\n");
        json_print(json_document("disks", disks));
}

/* ---- all of it ---- */

int verb_report(struct ctl *c, char **args)
{
        _cleanup_(events_filter_done) struct events_filter filter = {};
        _cleanup_(events_done) struct events events = {}, kernel = {};
        bool answers;
        int r;

        /* Maintainers read it. */
        (void) setlocale(LC_MESSAGES, "C");
        if (c->options->hwdb) {
                r = ctl_select(c, c->options->hwdb);
                if (r != UASD_EXIT_OK)
                        return r;
                return report_hwdb(c, c->v);
        }
        answers = ctl_ask_daemon(c);
        for (size_t i = 0; c->named && i < c->views.n; i++)
                events_filter_add(&filter, &c->views.list[i].disk.facts, NULL);
        (void) events_from_journal(c->root, &filter, &events);
        (void) events_from_records(&c->client.roots, &filter, &events);
        (void) events_from_kernel(c, &c->views, &kernel);
        events_sort(&events);
        if (c->options->given & OPTION_REDACT)
                redact_all(&c->views, &events, &kernel);
        report_machine(c, answers);
        print_disks(c);
        events_print("Events", &events);
        events_print("Kernel messages of this boot", &kernel);
        return UASD_EXIT_OK;
}

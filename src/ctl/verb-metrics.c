/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include <fcntl.h>
#include <inttypes.h>

#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/block/counts.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/param.h"

#define TEXTFILE "uasd.prom"
#define BYTES_PER_MBIT 125000

/* ---- the text ---- */

/*
 * Text for parsers of both OpenMetrics 1.0 and the Prometheus format 0.0.4 (promtool,
 * node_exporter). The two differ in the name in the TYPE line of a counter. So counters on stdout
 * have no such line, and both read them as unknown. info and stateset are gauges, whose samples
 * look the same. https://prometheus.io/docs/specs/om/open_metrics_spec/,
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
struct metrics_writer {
        FILE *out;
        bool prometheus;    /* only for node_exporter: counters have its form of the TYPE line */
        const char *family; /* the current one */
};

struct metric_family {
        const char *name;
        bool counter; /* its name ends in _total */
        const char *help;
};

struct metric_label {
        const char *name, *value; /* a list ends with a NULL name; any value is made valid */
};

static void write_value(FILE *out, const char *value)
{
        char harmless[2048]; /* no newline and valid UTF-8, which both formats require */

        for (const char *s = make_harmless(value, harmless, sizeof(harmless)); *s; s++) {
                if (*s == '\\' || *s == '"')
                        (void) fputc('\\', out);
                (void) fputc(*s, out);
        }
}

/* Samples of a family must be consecutive. A family without samples does not appear. */
static void metrics_sample(struct metrics_writer *w, const struct metric_family *f, uint64_t value,
                           const struct metric_label *labels)
{
        char before = '{';

        if (!w->family || !streq(w->family, f->name)) {
                w->family = f->name;
                (void) fprintf(w->out, "# HELP %s %s\n", f->name, f->help);
                if (!f->counter || w->prometheus)
                        (void) fprintf(w->out, "# TYPE %s %s\n", f->name,
                                       f->counter ? "counter" : "gauge");
        }
        (void) fputs(f->name, w->out);
        for (const struct metric_label *l = labels; l && l->name; l++, before = ',') {
                (void) fprintf(w->out, "%c%s=\"", before, l->name);
                write_value(w->out, l->value ?: "");
                (void) fputc('"', w->out);
        }
        if (labels && labels->name)
                (void) fputc('}', w->out);
        (void) fprintf(w->out, " %" PRIu64 "\n", value);
}

/* ---- sources ---- */

struct measured {
        const struct events *events; /* of this boot */
        const struct roots *roots;
        const struct views *views;
        bool daemon; /* uasd has answered */
};

/* ---- the machine ---- */

static uint64_t count_endings(const struct events *e, const char *word)
{
        uint64_t n = 0;

        for (size_t i = 0; i < e->n; i++)
                n += streq(e->list[i].values[EVENT_WORD], word);
        return n;
}

/* FAMILY("name", counter, "help") */
#define FAMILY(...) (&(const struct metric_family){__VA_ARGS__})
#define LABELS(...) ((const struct metric_label[]){__VA_ARGS__, {}})

static void write_machine(struct metrics_writer *w, const struct measured *m)
{
        char quirks[QUIRKS_MAX + 1];

        metrics_sample(w, FAMILY("uasd_build_info", false, "The version of uasctl."), 1,
                       LABELS({"version", UASD_VERSION}));
        metrics_sample(
                w, FAMILY("uasd_up", false, "1 if uasd answers; 0 if all data is from the kernel."),
                m->daemon, NULL);
        if (quirks_param_read(m->roots, quirks) >= 0) {
                metrics_sample(w,
                               FAMILY("uasd_quirks_used_bytes", false,
                                      "Used length of the quirks parameter of usb_storage."),
                               strlen(quirks), NULL);
                metrics_sample(w,
                               FAMILY("uasd_quirks_size_bytes", false,
                                      "Total length of the quirks parameter of usb_storage."),
                               QUIRKS_MAX, NULL);
        }
        for (size_t i = 0; m->events->journal && events_word(i); i++)
                metrics_sample(
                        w,
                        FAMILY("uasd_endings_total", true,
                               "Journal entries of uasd in this boot: switches, roll-backs, distrust."),
                        count_endings(m->events, events_word(i)),
                        LABELS({"event", events_word(i)}));
}

/* ---- a disk ---- */

#define OF_DISK(v) "interface", (v)->disk.facts.interface

/* Labels that have the names and values of members of JSON. */
static void write_info(struct metrics_writer *w, const struct view *v)
{
        static const char *const names[] = {"interface",    "vendor_id", "product_id", "revision",
                                            "manufacturer", "product",   "serial",     "driver",
                                            "target",       "policy",    "verdict",    "reason_id"};
        struct metric_label labels[ELEMENTSOF(names) + 1] = {};
        _cleanup_(json_putp) json_object *o = json_disk(v);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                labels[i] = (struct metric_label){names[i], member(o, names[i])};
        metrics_sample(w, FAMILY("uasd_disk_info", false, "Identity, driver and target of a disk."),
                       1, labels);
}

static void write_state(struct metrics_writer *w, const struct view *v)
{
        for (enum state s = 0; s < _STATE_MAX; s++)
                metrics_sample(w,
                               FAMILY("uasd_disk_state", false,
                                      "1 for the present state of a disk, 0 for all others."),
                               s == v->disk.state,
                               LABELS({OF_DISK(v)}, {"state", state_to_string(s)}));
}

static void write_numbers(struct metrics_writer *w, const struct views *views)
{
        static const struct metric_family families[] = {
                {"uasd_disk_link_speed_bytes", false,
                 "Speed of the USB link, in bytes per second."},
                {"uasd_disk_distrusted", false,
                 "1 if a disk is distrusted at this port, with this firmware and kernel."},
                {"uasd_disk_trial_passed", false, "1 if a disk has passed its trial on uas."},
                {"uasd_disk_last_switch_code", false,
                 "Exit status of the last switch since plug-in: 0 done, 7 rolled back."},
        };

        for (size_t k = 0; k < ELEMENTSOF(families); k++)
                for (size_t i = 0; i < views->n; i++) {
                        const struct disk *d = &views->list[i].disk;
                        const int64_t values[] = {(int64_t) d->facts.speed_mbps * BYTES_PER_MBIT,
                                                  d->facts.distrusted, d->facts.trial_passed,
                                                  d->outcome.code};

                        if (values[k] >= 0) /* otherwise there was no switch */
                                metrics_sample(w, &families[k], (uint64_t) values[k],
                                               LABELS({OF_DISK(&views->list[i])}));
                }
}

/* ---- a LUN ---- */

static const struct metric_family of_lun[_SCSI_COUNT_MAX] = {
        [SCSI_COUNT_REQUESTS] = {"uasd_scsi_requests_total", true,
                                 "SCSI commands sent on the present driver."},
        [SCSI_COUNT_DONE] = {"uasd_scsi_completed_total", true,
                             "SCSI commands that came back, with or without success."},
        [SCSI_COUNT_ERRORS] = {"uasd_scsi_errors_total", true, "SCSI commands that failed."},
        [SCSI_COUNT_TIMEOUTS] = {"uasd_scsi_timeouts_total", true, "SCSI commands that timed out."},
};

static void write_count(struct metrics_writer *w, const struct measured *m, enum scsi_count which,
                        const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                const struct lun *l = &v->disk.luns[i];
                char number[16];
                uint64_t count;

                if (!l->disk.name[0] || scsi_count_read(m->roots, l->disk.name, which, &count) < 0)
                        continue;
                (void) snprintf(number, sizeof(number), "%u", l->lun);
                metrics_sample(w, &of_lun[which], count,
                               LABELS({OF_DISK(v)}, {"device", l->disk.name}, {"lun", number}));
        }
}

static void metrics_write(struct metrics_writer *w, const struct measured *m)
{
        write_machine(w, m);
        for (size_t i = 0; i < m->views->n; i++)
                write_info(w, &m->views->list[i]);
        for (size_t i = 0; i < m->views->n; i++)
                write_state(w, &m->views->list[i]);
        write_numbers(w, m->views);
        for (enum scsi_count k = 0; k < _SCSI_COUNT_MAX; k++)
                for (size_t i = 0; i < m->views->n; i++)
                        write_count(w, m, k, &m->views->list[i]);
        (void) fputs("# EOF\n", w->out); /* a comment for Prometheus */
}

/* A user without access to the journal gets no such samples. Zeros would look as if nothing had
 * happened. */
static void metrics_read_events(const struct ctl *c, struct events *e)
{
        char boot[SD_ID128_STRING_MAX];

        if (journal_boot(&c->client.roots, boot) < 0 ||
            events_from_journal(c->root, &(struct events_filter){.boot = boot}, e) < 0 ||
            (e->n == 0 && geteuid() != 0))
                e->journal = false;
}

/* ---- destination ---- */

static int write_textfile(const struct measured *m, const char *folder)
{
        _cleanup_close_ int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        struct metrics_writer w = {.prometheus = true};
        size_t size;

        if (dir < 0)
                return -errno;
        w.out = need(open_memstream(&text, &size));
        metrics_write(&w, m);
        if (ferror(w.out) || fclose(w.out) != 0)
                no_memory();
        /* By rename, from a name that node_exporter does not read. */
        return state_write(dir, TEXTFILE, text, false);
}

int verb_metrics(struct ctl *c, char **args)
{
        _cleanup_(events_done) struct events events = {};
        struct measured m = {.roots = &c->client.roots,
                             .views = &c->views,
                             .events = &events,
                             .daemon = ctl_ask_daemon(c)};
        const char *folder = c->options->textfile;
        int r;

        metrics_read_events(c, &events);
        if (!folder) {
                metrics_write(&(struct metrics_writer){.out = stdout}, &m);
                return UASD_EXIT_OK;
        }
        r = write_textfile(&m, folder);
        if (r == -ENOENT || r == -ENOTDIR)
                return log_failure(
                        UASD_EXIT_FAILED,
                        "Cannot write %s/%s: %s. DIR is the directory that node_exporter reads.",
                        folder, TEXTFILE, strerror(-r));
        if (r == -EACCES)
                return log_failure(UASD_EXIT_FAILED, "Cannot write %s/%s: %s. Run it as root.",
                                   folder, TEXTFILE, strerror(-r));
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot write %s/%s: %s", folder, TEXTFILE,
                                   strerror(-r));
        return UASD_EXIT_OK;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/param.h>

#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/block/counts.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/param.h"
#include "sys/usb/link.h"

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

static uint64_t count_events(const struct events *e, const char *word)
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
                        FAMILY("uasd_events_total", true,
                               "Journal entries of uasd in this boot: switches, roll-backs, distrust."),
                        count_events(m->events, events_word(i)), LABELS({"event", events_word(i)}));
}

/* ---- a disk ---- */

/*
 * The label of a disk: VID:PID:SERIAL, so that it has the same series at another port and under the
 * other driver. Where the serial number is missing, or another disk has it, the port follows. A
 * sample that is there twice would make the whole text invalid.
 */
#define DISK_LABEL_MAX (sizeof("1209:5a5a:@") + USB_STRING_MAX + INTERFACE_NAME_MAX)

static const char *metrics_disk(const struct views *views, const struct view *v,
                                char ret[static DISK_LABEL_MAX])
{
        const struct facts *f = &v->disk.facts;
        size_t same = 0;

        for (size_t i = 0; i < views->n; i++) {
                const struct facts *other = &views->list[i].disk.facts;

                same += f->vid == other->vid && f->pid == other->pid &&
                        streq(f->serial, other->serial);
        }
        (void) snprintf(ret, DISK_LABEL_MAX, "%04x:%04x:%s%s%s", f->vid, f->pid, f->serial,
                        *f->serial && same == 1 ? "" : "@",
                        *f->serial && same == 1 ? "" : f->interface);
        return ret;
}

#define OF_DISK(views, v) "disk", metrics_disk(views, v, (char[DISK_LABEL_MAX]){})

/* Labels that do not change as long as the disk is the same. They have the names and values of
 * members of JSON. */
static void write_info(struct metrics_writer *w, const struct views *views, const struct view *v)
{
        static const char *const names[] = {"vendor_id",    "product_id", "revision",
                                            "manufacturer", "product",    "serial"};
        struct metric_label labels[ELEMENTSOF(names) + 2] = {{OF_DISK(views, v)}};
        _cleanup_(json_putp) json_object *o = json_disk(v);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                labels[i + 1] = (struct metric_label){names[i], member(o, names[i])};
        metrics_sample(w, FAMILY("uasd_disk_info", false, "Identity of a disk."), 1, labels);
}

static void write_port(struct metrics_writer *w, const struct views *views, const struct view *v)
{
        metrics_sample(w,
                       FAMILY("uasd_disk_port_info", false, "Port at which a disk is plugged in."),
                       1, LABELS({OF_DISK(views, v)}, {"interface", v->disk.facts.interface}));
}

/* One sample for each word. Only the present one is 1. */
enum metric_set {
        METRIC_SET_STATE,
        METRIC_SET_DRIVER,
        METRIC_SET_TARGET,
        METRIC_SET_POLICY,
        METRIC_SET_VERDICT,
        _METRIC_SET_MAX,
};

struct metric_words {
        unsigned n, present;
        const char *words[MAX(_STATE_MAX, _DRIVER_MAX)];
};

#define METRIC_WORDS(name, max, now)                                                               \
        ({                                                                                         \
                struct metric_words _w = {.n = (max), .present = (now)};                           \
                for (unsigned _i = 0; _i < _w.n; _i++)                                             \
                        _w.words[_i] = name##_to_string(_i);                                       \
                _w;                                                                                \
        })

static struct metric_words metric_words_of(enum metric_set which, const struct disk *d)
{
        switch (which) {
        case METRIC_SET_STATE:
                return METRIC_WORDS(state, _STATE_MAX, d->state);
        case METRIC_SET_DRIVER:
                return METRIC_WORDS(driver, _DRIVER_MAX, d->facts.driver);
        case METRIC_SET_TARGET:
                return METRIC_WORDS(driver, _DRIVER_MAX, d->decision.target);
        case METRIC_SET_POLICY:
                return METRIC_WORDS(policy, _POLICY_MAX, d->facts.policy);
        case METRIC_SET_VERDICT:
                return METRIC_WORDS(verdict, _VERDICT_MAX, d->facts.verdict);
        case _METRIC_SET_MAX:
                break;
        }
        return (struct metric_words){};
}

static void write_sets(struct metrics_writer *w, const struct views *views)
{
        static const struct metric_family families[_METRIC_SET_MAX] = {
                {"uasd_disk_state", false, "1 for the present state of a disk, 0 for all others."},
                {"uasd_disk_driver", false,
                 "1 for the present driver of a disk, 0 for all others."},
                {"uasd_disk_target", false,
                 "1 for the driver that a disk should have, 0 for all others."},
                {"uasd_disk_policy", false, "1 for the policy of a disk, 0 for all others."},
                {"uasd_disk_verdict", false,
                 "1 for the verdict of the database on a bridge, 0 for all others."},
        };

        for (enum metric_set s = 0; s < _METRIC_SET_MAX; s++)
                for (size_t i = 0; i < views->n; i++) {
                        const struct view *v = &views->list[i];
                        const struct metric_words words = metric_words_of(s, &v->disk);

                        for (unsigned k = 0; k < words.n; k++)
                                metrics_sample(w, &families[s], k == words.present,
                                               LABELS({OF_DISK(views, v)},
                                                      {families[s].name + strlen("uasd_disk_"),
                                                       words.words[k]}));
                }
}

static bool metrics_link_slow(const struct roots *roots, const struct facts *f)
{
        struct link_facts link = {};
        const char *hub;

        link_read(roots, f, &link);
        return link_limit(&link, &hub) != LINK_LIMIT_NONE;
}

static void write_numbers(struct metrics_writer *w, const struct roots *roots,
                          const struct views *views)
{
        static const struct metric_family families[] = {
                {"uasd_disk_link_speed_bytes", false,
                 "Speed of the USB link, in bytes per second."},
                {"uasd_disk_link_slow", false,
                 "1 if a disk could be linked faster: uasctl status has the advice."},
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
                                                  metrics_link_slow(roots, &d->facts),
                                                  d->facts.distrusted, d->facts.trial_passed,
                                                  d->outcome.code};

                        if (values[k] >= 0) /* otherwise there was no switch */
                                metrics_sample(w, &families[k], (uint64_t) values[k],
                                               LABELS({OF_DISK(views, &views->list[i])}));
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

static void write_luns(struct metrics_writer *w, const struct views *views, const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                const struct lun *l = &v->disk.luns[i];
                char number[16];

                (void) snprintf(number, sizeof(number), "%u", l->lun);
                if (l->disk.name[0])
                        metrics_sample(
                                w,
                                FAMILY("uasd_lun_info", false, "Name of a block device of a disk."),
                                1,
                                LABELS({OF_DISK(views, v)}, {"lun", number},
                                       {"device", l->disk.name}));
        }
}

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
                               LABELS({OF_DISK(m->views, v)}, {"lun", number}));
        }
}

static void metrics_write(struct metrics_writer *w, const struct measured *m)
{
        write_machine(w, m);
        for (size_t i = 0; i < m->views->n; i++)
                write_info(w, m->views, &m->views->list[i]);
        for (size_t i = 0; i < m->views->n; i++)
                write_port(w, m->views, &m->views->list[i]);
        write_sets(w, m->views);
        write_numbers(w, m->roots, m->views);
        for (size_t i = 0; i < m->views->n; i++)
                write_luns(w, m->views, &m->views->list[i]);
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

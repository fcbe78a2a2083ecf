/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Text that parsers of OpenMetrics 1.0 and of the Prometheus format 0.0.4 (promtool, node_exporter) both take. They differ in
 * what the TYPE line of a counter names, so on stdout counters have none, which both call unknown; and info and stateset
 * are gauges, whose samples look the same.
 * https://prometheus.io/docs/specs/om/open_metrics_spec/, https://prometheus.io/docs/instrumenting/exposition_formats/
 */
struct metrics_writer {
        FILE *out;
        bool prometheus;    /* for node_exporter alone: counters are typed as it likes them */
        const char *family; /* the last one that was begun */
};

struct metric_family {
        const char *name;
        bool counter; /* its name ends in _total */
        const char *help;
};

struct metric_label {
        const char *name, *value; /* a list ends with a NULL name; whatever the value, it is made fit */
};

/* Families one after the other; one without samples is not mentioned. */
void metrics_sample(struct metrics_writer *w, const struct metric_family *f, uint64_t value, const struct metric_label *labels);
void metrics_end(struct metrics_writer *w);

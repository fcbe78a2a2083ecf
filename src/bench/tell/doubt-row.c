/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Of one pattern under one driver, what is asked about more than once. */
#include "bench/tell/doubt-row.h"

#include "common/util.h"

#define DEPTH_SHARE 0.9 /* of all requests were to find the queue that full */
#define MEMORY_TIMES 2  /* a buffered region of less than twice the memory is half in it */
#define SYNC_TIMES 1.2  /* of what the writes call for */
#define FALL_ROUNDS 5
#define FALL_SHARE 0.05 /* from the first rounds to the last ones */

/* In the worst round, how much of it a device had; what fio is charged for has the ramp in it. */
static void worst_share(struct doubt_row *row, const struct bench_run *r, bool writing)
{
        const struct bench_side *s = writing ? &r->write : &r->read;
        double said = (double) s->bytes * bench_with_ramp(row->p, r);
        double device = writing ? r->device_written_bytes : r->device_read_bytes;

        if (device < 0 || said <= 0 || device >= row->device_share * said)
                return;
        row->device_share = device / said;
        row->device_written = writing;
}

/* Each job may sync once more in the end (end_fsync=). */
static void most_syncs(struct doubt_row *row, const struct bench_run *r)
{
        const struct bench_pattern *p = row->p;
        double writes = (double) r->write.ios, syncs = (double) r->sync.ios, asked;

        asked = (p->fsync > 0 ? writes / p->fsync : 0) + (p->fdatasync > 0 ? writes / p->fdatasync : 0);
        if (asked <= 0 || syncs <= SYNC_TIMES * asked + (p->numjobs ?: 1) || syncs * row->syncs_asked < row->syncs * asked)
                return;
        row->syncs = syncs;
        row->syncs_asked = asked;
}

static void read_runs(struct doubt_row *row, unsigned pattern)
{
        double shares[STATS_SAMPLES_MAX], lats[STATS_SAMPLES_MAX], slats[STATS_SAMPLES_MAX];
        size_t n = 0;

        row->load = -1;
        row->device_share = 1;
        for (size_t i = 0; i < row->b->n_runs; i++) {
                const struct bench_run *r = &row->b->runs[i];
                const struct bench_side *worse = r->read.mean_ns > r->write.mean_ns ? &r->read : &r->write;

                if (r->pattern != pattern || r->driver != row->driver || r->round == 0 || *r->host)
                        continue;
                if (!stats_run_counts(r)) {
                        row->failed++;
                        continue;
                }
                row->region = r->region ?: row->region;
                most_syncs(row, r);
                worst_share(row, r, false);
                if (row->p->direct) /* what is written to memory is meant to be there */
                        worst_share(row, r, true);
                if (r->other_bytes_per_sec > row->load)
                        row->load = r->other_bytes_per_sec;
                if (n == ELEMENTSOF(shares))
                        continue;
                shares[n] = r->depth_share;
                lats[n] = worse->mean_ns;
                slats[n++] = worse->slat_mean_ns;
        }
        row->depth_share = stats_median(shares, n);
        row->lat = stats_median(lats, n);
        row->slat = stats_median(slats, n);
}

void doubt_row_read(const struct bench *b, unsigned pattern, enum driver d, struct doubt_row *ret)
{
        const struct bench_pattern *p = &b->patterns[pattern];

        *ret = (struct doubt_row){.b = b, .p = p, .driver = d};
        read_runs(ret, pattern);
        ret->asked = p->size * (p->numjobs ?: 1);
        if (ret->region == 0)
                ret->region = ret->asked ?: b->conditions.disk_size;
        stats_samples(b, pattern, d, STATS_BYTES, &ret->bytes);
        stats_samples(b, pattern, d, STATS_IOPS, &ret->iops);
        stats_samples(b, pattern, d, STATS_P50, &ret->p50);
        stats_summary(&ret->bytes, &ret->rate);
        ret->halves = stats_halves(b, pattern, d);
        ret->at_once = (size_t) (p->sync_engine ? 1 : p->iodepth) * (p->numjobs ?: 1);
}

double doubt_row_median(const struct samples *s)
{
        struct samples copy = *s;

        return stats_median(copy.values, copy.n);
}

bool doubt_row_queue_not_full(const struct doubt_row *row)
{
        return row->p->iodepth > 1 && (row->p->sync_engine || row->depth_share < DEPTH_SHARE);
}

bool doubt_row_in_memory(const struct doubt_row *row)
{
        return !row->p->direct && row->b->conditions.memory > 0 && row->region / MEMORY_TIMES < row->b->conditions.memory;
}

bool doubt_row_falls(const struct doubt_row *row, double *ret_share)
{
        const struct samples *s = &row->bytes;
        struct samples first = {.n = s->n / 3 ?: 1}, last = {.n = s->n / 3 ?: 1};
        size_t rising = 0;

        if (s->n < FALL_ROUNDS)
                return false;
        for (size_t i = 0; i < s->n; i++)
                for (size_t k = i + 1; k < s->n; k++)
                        rising += s->values[k] >= s->values[i];
        memcpy(first.values, s->values, first.n * sizeof(double));
        memcpy(last.values, s->values + s->n - last.n, last.n * sizeof(double));
        *ret_share = 1 - doubt_row_median(&last) / doubt_row_median(&first);
        return rising * 10 <= s->n * (s->n - 1) / 2 && *ret_share >= FALL_SHARE;
}

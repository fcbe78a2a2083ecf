/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/stats.h"

#include <assert.h>
#include <math.h>
#include <time.h>

#include "common/util.h"
#include "term/terminal.h"

#define ALL_MAX (2 * (size_t) STATS_SAMPLES_MAX)
#define SMALL_BLOCK (64U << 10) /* below it, IOPS are the usual figure */
#define PARTS 4
#define ROUND_MAX 10000 /* of a unit, for blocks and regions; above it, the number is the size of a disk */
#define NEIGHBOURS 1.5  /* times the variance; independent neighbours differ by twice the variance */

static double value_of(const struct bench_side *s, enum stats_measure m)
{
        const double values[_STATS_MEASURE_MAX] = {
                [STATS_BYTES] = s->bytes_per_sec, [STATS_IOPS] = s->iops,           [STATS_MEAN] = s->mean_ns,
                [STATS_CLAT] = s->clat_mean_ns,   [STATS_P50] = (double) s->p50_ns, [STATS_P95] = (double) s->p95_ns,
                [STATS_P99] = (double) s->p99_ns,
        };

        return values[m];
}

double stats_of_run(const struct bench_run *r, enum stats_measure m)
{
        double read = value_of(&r->read, m), write = value_of(&r->write, m);

        return m == STATS_BYTES || m == STATS_IOPS ? read + write : fmax(read, write);
}

bool stats_run_counts(const struct bench_run *r)
{
        return r->round > 0 && r->error == 0 && !*r->host && stats_of_run(r, STATS_BYTES) > 0 && stats_of_run(r, STATS_IOPS) > 0;
}

size_t stats_drivers(const struct bench *b, unsigned pattern, enum driver ret[static _DRIVER_MAX])
{
        bool was_run[_DRIVER_MAX] = {};
        size_t n = 0;

        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == pattern && !*b->runs[i].host)
                        was_run[b->runs[i].driver] = true;
        for (enum driver d = 0; d < _DRIVER_MAX; d++)
                if (was_run[d])
                        ret[n++] = d;
        return n;
}

struct rounds stats_rounds(const struct bench *b, unsigned pattern, enum driver d)
{
        struct rounds all = {};

        for (size_t i = 0; i < b->n_runs && all.n < STATS_SAMPLES_MAX; i++) {
                const struct bench_run *r = &b->runs[i];
                size_t at = all.n;

                if (r->pattern != pattern || r->driver != d || !stats_run_counts(r))
                        continue;
                for (; at > 0 && all.runs[at - 1]->order > r->order; at--)
                        all.runs[at] = all.runs[at - 1];
                all.runs[at] = r;
                all.n++;
        }
        return all;
}

struct samples stats_samples(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        const struct rounds rounds = stats_rounds(b, pattern, d);
        struct samples s = {.n = rounds.n};

        for (size_t i = 0; i < rounds.n; i++)
                s.values[i] = stats_of_run(rounds.runs[i], m);
        return s;
}

struct summary stats_of(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        const struct samples s = stats_samples(b, pattern, d, m);

        return stats_summary(&s);
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

struct summary stats_summary(const struct samples *s)
{
        struct samples sorted = *s;
        const double *values = sorted.values;
        struct summary all = {.n = s->n};
        double sum = 0;

        if (s->n == 0)
                return all;
        qsort(sorted.values, s->n, sizeof(*values), compare);
        all.median = s->n % 2 ? values[s->n / 2] : (values[s->n / 2 - 1] + values[s->n / 2]) / 2;
        all.min = values[0];
        all.max = values[s->n - 1];
        for (size_t i = 0; i < s->n; i++)
                sum += values[i];
        all.average = sum / (double) s->n;
        if (sum > 0)
                all.spread_percent = 100 * (all.max - all.min) / all.average;
        return all;
}

double stats_median(const struct samples *s, size_t from, size_t to)
{
        struct samples part = {.n = to - from};

        memcpy(part.values, s->values + from, part.n * sizeof(*part.values));
        return stats_summary(&part).median;
}

void stats_sides(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m, double *ret_read,
                 double *ret_write)
{
        const struct rounds rounds = stats_rounds(b, pattern, d);
        struct samples reads = {}, writes = {};

        for (size_t i = 0; i < rounds.n; i++) {
                reads.values[reads.n++] = value_of(&rounds.runs[i]->read, m);
                writes.values[writes.n++] = value_of(&rounds.runs[i]->write, m);
        }
        *ret_read = stats_median(&reads, 0, reads.n);
        *ret_write = stats_median(&writes, 0, writes.n);
}

/* Whether a run of another driver that counts was between the two. */
static bool other_between(const struct bench *b, const struct bench_run *first, const struct bench_run *second)
{
        for (size_t i = 0; i < b->n_runs; i++) {
                const struct bench_run *r = &b->runs[i];

                if (r->pattern == first->pattern && r->driver != first->driver && r->order >= first->order &&
                    r->order < second->order && stats_run_counts(r))
                        return true;
        }
        return false;
}

double stats_halves(const struct bench *b, unsigned pattern, enum driver d)
{
        const struct rounds rounds = stats_rounds(b, pattern, d);
        const struct samples s = stats_samples(b, pattern, d, STATS_BYTES);
        size_t middle = 0, turns = 0;
        double first, second;

        for (size_t i = 1; i < rounds.n; i++)
                if (other_between(b, rounds.runs[i - 1], rounds.runs[i])) {
                        middle = i;
                        turns++;
                }
        if (turns != 1)
                return 1;
        first = stats_median(&s, 0, middle);
        second = stats_median(&s, middle, s.n);
        return first > second ? first / second : second / first;
}

/* By ranks, so that no single round decides. Sums of squares: differences of neighbours, and distances from the middle. */
static void add_neighbours(const struct samples *s, double *apart, double *all)
{
        double last = 0;

        for (size_t i = 0; i < s->n; i++) {
                double place = 0; /* distance from the middle, doubled */

                for (size_t k = 0; k < s->n; k++)
                        place += (s->values[k] < s->values[i]) - (s->values[k] > s->values[i]);
                *all += place * place;
                if (i > 0)
                        *apart += (place - last) * (place - last);
                last = place;
        }
}

static double furthest_parts(const struct samples *s)
{
        double least = HUGE_VAL, most = 0;

        for (size_t i = 0; i < PARTS; i++) {
                double median = stats_median(s, i * s->n / PARTS, (i + 1) * s->n / PARTS);

                least = fmin(least, median);
                most = fmax(most, median);
        }
        return most / least;
}

double stats_wander(const struct samples *a, const struct samples *b)
{
        double apart = 0, all = 0;

        if (a->n < STATS_WANDER_ROUNDS || b->n < STATS_WANDER_ROUNDS)
                return 1;
        add_neighbours(a, &apart, &all);
        add_neighbours(b, &apart, &all);
        return apart < NEIGHBOURS * all ? fmax(furthest_parts(a), furthest_parts(b)) : 1;
}

enum stats_measure stats_figure(const struct bench_pattern *p)
{
        return p->random && p->block_size < SMALL_BLOCK ? STATS_IOPS : STATS_BYTES;
}

/* Number of ways in which k of n ranks have each sum: [sum], up to the sum of all. Counts up to C(128, 64) fit a double. */
static double *deal(const unsigned *ranks, size_t n, size_t k, size_t *ret_total)
{
        _cleanup_free_ double *ways = NULL;
        size_t total = 0;
        double *last;

        for (size_t i = 0; i < n; i++)
                total += ranks[i];
        ways = need(calloc((k + 1) * (total + 1), sizeof(*ways)));
        last = need(calloc(total + 1, sizeof(*last)));
        ways[0] = 1;
        for (size_t i = 0, reached = 0; i < n; i++) {
                reached += ranks[i];
                for (size_t taken = i + 1 < k ? i + 1 : k; taken > 0; taken--) {
                        double *to = ways + taken * (total + 1);
                        const double *from = to - (total + 1);

                        for (size_t sum = ranks[i]; sum <= reached; sum++)
                                to[sum] += from[sum - ranks[i]];
                }
        }
        memcpy(last, ways + k * (total + 1), (total + 1) * sizeof(*last));
        *ret_total = total;
        return last;
}

/* Twice the rank of each. Equal values get the mean rank. Returns the sum of a's. */
static unsigned rank(const struct samples *a, const struct samples *b, unsigned ret[static ALL_MAX])
{
        size_t n = a->n + b->n;
        double all[ALL_MAX];
        unsigned sum = 0;

        memcpy(all, a->values, a->n * sizeof(*all));
        memcpy(all + a->n, b->values, b->n * sizeof(*all));
        for (size_t i = 0; i < n; i++) {
                ret[i] = 1;
                for (size_t k = 0; k < n; k++)
                        ret[i] += (all[k] < all[i]) + (all[k] <= all[i]);
                sum += i < a->n ? ret[i] : 0;
        }
        return sum;
}

double stats_rank_p(const struct samples *a, const struct samples *b)
{
        unsigned ranks[ALL_MAX], sum;
        size_t n = a->n + b->n, total;
        double expected, far, reach = 0, all = 0;
        _cleanup_free_ double *ways = NULL;

        if (a->n == 0 || b->n == 0)
                return 1;
        sum = rank(a, b, ranks);
        ways = deal(ranks, n, a->n, &total);
        expected = (double) a->n * (double) (n + 1);
        far = fabs(sum - expected);
        for (size_t i = 0; i <= total; i++) {
                all += ways[i];
                if (fabs((double) i - expected) >= far)
                        reach += ways[i];
        }
        return reach / all;
}

double stats_least_p(size_t n, size_t m)
{
        double ways = 1;

        if (n == 0 || m == 0)
                return 1;
        for (size_t i = 1; i <= n; i++)
                ways = ways * (double) (m + i) / (double) i;
        return 2 / ways;
}

/* Number of ratios that the interval leaves out at each end; 0: no interval at this level. */
static size_t left_out(size_t n, size_t m, double level)
{
        unsigned ranks[ALL_MAX];
        _cleanup_free_ double *ways = NULL;
        double all = 0, below = 0;
        size_t total, out = 0, least = n * (n + 1) / 2;

        for (size_t i = 0; i < n + m; i++)
                ranks[i] = (unsigned) i + 1;
        ways = deal(ranks, n + m, n, &total);
        for (size_t i = 0; i <= total; i++)
                all += ways[i];
        for (; out < n * m / 2; out++) {
                below += ways[least + out];
                if (below / all > level / 2)
                        break;
        }
        return out;
}

bool stats_ratio(const struct samples *a, const struct samples *b, double level, struct ratio *ret)
{
        double ratios[STATS_SAMPLES_MAX * STATS_SAMPLES_MAX], middle;
        size_t n = 0, out;

        assert(level > 0 && level < 1 && a->n <= STATS_SAMPLES_MAX && b->n <= STATS_SAMPLES_MAX);
        for (size_t i = 0; i < a->n; i++)
                for (size_t k = 0; k < b->n; k++) {
                        if (!(a->values[i] > 0) || !(b->values[k] > 0))
                                return false;
                        ratios[n++] = b->values[k] / a->values[i];
                }
        if (n == 0)
                return false;
        out = left_out(a->n, b->n, level);
        if (out == 0)
                return false;
        qsort(ratios, n, sizeof(*ratios), compare);
        /* Geometric mean: A to B is the inverse of B to A. */
        middle = n % 2 ? ratios[n / 2] : sqrt(ratios[n / 2 - 1] * ratios[n / 2]);
        *ret = (struct ratio){middle, ratios[out - 1], ratios[n - out]};
        return true;
}

/* ---- for people ---- */

/* Three digits: 9.46, 94.6, 946. A value that rounds up to the next digit has one decimal less. */
static void digits(double value, const char *prefix, char *ret)
{
        (void) snprintf(ret, UNIT_TEXT_MAX, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefix);
}

char *figure_text(double value, enum stats_measure m, bool utf8, char ret[static UNIT_TEXT_MAX])
{
        static const struct unit {
                double from, divisor;
                const char *name;
        } bytes[] = {{0, 1e6, " MB/s"}}, times[] = {{999.5e6, 1e9, " s"}, {999.5e3, 1e6, " ms"}, {0, 1e3, " us"}},
          requests[] = {{999.5e3, 1e6, "M IOPS"}, {9999.5, 1e3, "k IOPS"}, {0, 1, " IOPS"}}; /* 1234 is readable as it is */
        const struct unit *unit = m == STATS_BYTES ? bytes : m == STATS_IOPS ? requests : times;

        while (unit->from > 0 && value < unit->from)
                unit++;
        digits(value / unit->divisor, unit == &times[2] && utf8 ? " µs" : unit->name, ret);
        return ret;
}

char *bytes_text(uint64_t bytes, char ret[static UNIT_TEXT_MAX])
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"}, *const decimal[] = {" kB", " MB", " GB", " TB"};
        uint64_t whole = bytes;
        double part = (double) bytes / 1e3;
        size_t u = 0, d = 0;

        for (; u + 1 < ELEMENTSOF(units) && whole >= 1024 && whole % 1024 == 0; u++)
                whole /= 1024;
        for (; d + 1 < ELEMENTSOF(decimal) && part >= 999.5; d++)
                part /= 1e3;
        if (whole >= ROUND_MAX)
                digits(part, decimal[d], ret);
        else
                (void) snprintf(ret, UNIT_TEXT_MAX, "%u %s", (unsigned) whole, units[u]);
        return ret;
}

char *day_text(uint64_t usec, char ret[static UNIT_TEXT_MAX])
{
        time_t t = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (!gmtime_r(&t, &tm) || strftime(ret, UNIT_TEXT_MAX, "%Y-%m-%d %H:%M", &tm) == 0)
                (void) copy_string(ret, UNIT_TEXT_MAX, "?");
        return ret;
}

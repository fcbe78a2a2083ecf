/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/fio-json.h"

#include <ctype.h>
#include <math.h>

#include "bench/measure/fio.h"
#include "common/util.h"

/* A run of three years; beyond that it is no number of fio's. */
#define RUNTIME_MS_MAX 100000000000ULL
/* So that no sum or product of a few is infinite. */
#define NUMBER_MAX 1e18
#define MSEC_PER_SEC 1000.0
#define KIB 1024.0

static const double quantiles[] = {0.50, 0.95, 0.99};
static const char *const percentile_keys[] = {"50.000000", "95.000000", "99.000000"};

/* ---- members ---- */

static json_object *member(json_object *o, const char *key)
{
        json_object *value = NULL;

        return o && json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &value) ? value : NULL;
}

static uint64_t get_count(json_object *o, const char *key)
{
        json_object *value = member(o, key);
        int64_t n = value ? json_object_get_int64(value) : 0;

        return n > 0 ? (uint64_t) n : 0;
}

static double get_number(json_object *o, const char *key)
{
        json_object *value = member(o, key);
        double d = value ? json_object_get_double(value) : 0;

        return isfinite(d) && d > 0 && d < NUMBER_MAX ? d : 0;
}

/* ---- the document ---- */

/* fio prints what it divided by nothing as C does; JSON has no such numbers. */
static void mend_numbers(char *text)
{
        static const char *const broken[] = {"-nan", "nan", "-inf", "inf"};

        for (char *p = strstr(text, " : "); p; p = strstr(p + 3, " : "))
                for (size_t i = 0; i < ELEMENTSOF(broken); i++) {
                        size_t n = strlen(broken[i]);

                        if (strncmp(p + 3, broken[i], n) == 0 && !isalnum((unsigned char) p[3 + n])) {
                                memset(p + 3, ' ', n);
                                p[3] = '0';
                                break;
                        }
                }
}

static json_object *parse_one(const char *text)
{
        json_tokener *tokener = json_tokener_new();
        json_object *o;

        if (!tokener)
                return NULL;
        o = json_tokener_parse_ex(tokener, text, -1);
        if (json_tokener_get_error(tokener) != json_tokener_success || !json_object_is_type(o, json_type_object)) {
                json_object_put(o);
                o = NULL;
        }
        json_tokener_free(tokener);
        return o;
}

json_object *fio_document(const char *text)
{
        _cleanup_free_ char *copy = strdup(text);

        if (!copy)
                return NULL;
        mend_numbers(copy);
        /* Notes and warnings come before it, each a line. */
        for (const char *line = copy; line; line = strchr(line, '\n')) {
                json_object *o;

                line += *line == '\n';
                if (*line == '{' && (o = parse_one(line)))
                        return o;
        }
        return NULL;
}

/* ---- adding up ---- */

static uint64_t sum(uint64_t a, uint64_t b)
{
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int add_bins(struct fio_tally_side *s, json_object *bins)
{
        struct fio_bin *more;
        size_t n = (size_t) json_object_object_length(bins);

        if (n == 0)
                return 0;
        more = reallocarray(s->bins, s->n_bins + n, sizeof(*more));
        if (!more)
                return -ENOMEM;
        s->bins = more;
        json_object_object_foreach(bins, key, value)
        {
                unsigned long long ns;
                int64_t count = json_object_get_int64(value);

                /* Versions before 3.0 had words among them. */
                if (count > 0 && parse_uint(key, 10, UINT64_MAX, &ns) >= 0)
                        s->bins[s->n_bins++] = (struct fio_bin){ns, (uint64_t) count};
        }
        return 0;
}

/* 3.1 has the percentiles of lat under clat; and where there are none of lat, those of clat are the best there is. */
static json_object *part_of_latency(json_object *o, const char *key)
{
        return member(member(o, "lat_ns"), key) ?: member(member(o, "clat_ns"), key);
}

static double mean_of(json_object *o)
{
        double mean = get_number(member(o, "lat_ns"), "mean");

        return mean > 0 ? mean : get_number(member(o, "clat_ns"), "mean");
}

/* total_ios has fsync alone, its latency has fdatasync as well; old versions do not say of how many. */
static uint64_t count_syncs(json_object *o)
{
        uint64_t ios = get_count(o, "total_ios"), timed = get_count(member(o, "lat_ns"), "N");

        return timed > ios ? timed : ios;
}

static int add_side(struct fio_tally_side *s, json_object *o, uint64_t ios)
{
        json_object *percentile = part_of_latency(o, "percentile"), *bins = part_of_latency(o, "bins");
        uint64_t runtime = get_count(o, "runtime"), bandwidth = get_count(o, "bw_bytes");

        if (ios == 0)
                return 0;
        s->entries++;
        s->ios = sum(s->ios, ios);
        s->bytes = sum(s->bytes, get_count(o, "io_bytes"));
        if (runtime > s->runtime_ms && runtime <= RUNTIME_MS_MAX)
                s->runtime_ms = runtime;
        /* bw_bytes came after 3.1. */
        s->bytes_per_sec += bandwidth > 0 ? (double) bandwidth : get_number(o, "bw") * KIB;
        s->iops += get_number(o, "iops");
        s->mean_sum += mean_of(o) * (double) ios;
        s->slat_sum += get_number(member(o, "slat_ns"), "mean") * (double) ios;
        for (size_t i = 0; i < ELEMENTSOF(percentile_keys); i++) {
                uint64_t ns = get_count(percentile, percentile_keys[i]);

                if (ns > s->highest[i])
                        s->highest[i] = ns;
        }
        if (!bins || !json_object_is_type(bins, json_type_object))
                return 0;
        s->with_bins++;
        return add_bins(s, bins);
}

/* Of all I/O, how much was submitted at a depth of the same power of two, or a higher one; fio tells none above 64 apart. */
static double depth_reached(json_object *levels, unsigned depth)
{
        static const struct {
                const char *key;
                unsigned from;
        } table[] = {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}, {"32", 32}, {">=64", 64}};
        double percent = 0;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (i + 1 == ELEMENTSOF(table) || table[i + 1].from > depth)
                        percent += get_number(levels, table[i].key);
        return percent > 100 ? 1 : percent / 100;
}

int fio_tally_add(struct fio_tally *t, json_object *entry, unsigned depth)
{
        json_object *read = member(entry, "read"), *write = member(entry, "write"), *levels = member(entry, "iodepth_level");
        json_object *sync = member(entry, "sync");
        uint64_t reads = get_count(read, "total_ios"), writes = get_count(write, "total_ios"), error = get_count(entry, "error");
        double ios = (double) reads + (double) writes;
        int r;

        r = add_side(&t->read, read, reads);
        if (r >= 0)
                r = add_side(&t->write, write, writes);
        if (r >= 0)
                r = add_side(&t->sync, sync, count_syncs(sync));
        if (r < 0)
                return r;
        t->entries++;
        t->cpu_sum += get_number(entry, "usr_cpu") + get_number(entry, "sys_cpu");
        if (levels) {
                t->depth_sum += depth_reached(levels, depth) * ios;
                t->depth_weight += ios;
        }
        if (error && !t->error)
                t->error = error < 4096 ? -(int) error : -EIO;
        return 0;
}

static int compare_bins(const void *a, const void *b)
{
        const struct fio_bin *x = a, *y = b;

        return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* As fio does it: the first latency below which, or at which, so many are. */
static uint64_t quantile_of(const struct fio_bin *bins, size_t n, double quantile)
{
        double all = 0, below = 0;

        for (size_t i = 0; i < n; i++)
                all += (double) bins[i].count;
        for (size_t i = 0; i < n; i++) {
                below += (double) bins[i].count;
                if (below >= quantile * all)
                        return bins[i].ns;
        }
        return n > 0 ? bins[n - 1].ns : 0;
}

static void finish_side(struct fio_tally_side *s, struct bench_side *ret)
{
        uint64_t *percentiles[] = {&ret->p50_ns, &ret->p95_ns, &ret->p99_ns};

        ret->bytes = s->bytes;
        ret->ios = s->ios;
        /* All of it by the longest time: rates of jobs that end one after the other cannot be summed up. */
        ret->bytes_per_sec = s->runtime_ms ? (double) s->bytes * MSEC_PER_SEC / (double) s->runtime_ms : s->bytes_per_sec;
        ret->iops = s->runtime_ms ? (double) s->ios * MSEC_PER_SEC / (double) s->runtime_ms : s->iops;
        ret->mean_ns = s->ios ? s->mean_sum / (double) s->ios : 0;
        ret->slat_mean_ns = s->ios ? s->slat_sum / (double) s->ios : 0;
        /* Of jobs told apart without their bins only so much is known: no percentile of all is above the highest. */
        for (size_t i = 0; i < ELEMENTSOF(percentiles); i++)
                *percentiles[i] = s->highest[i];
        if (s->entries < 2 || s->with_bins < s->entries || s->n_bins == 0)
                return;
        qsort(s->bins, s->n_bins, sizeof(*s->bins), compare_bins);
        for (size_t i = 0; i < ELEMENTSOF(percentiles); i++)
                *percentiles[i] = quantile_of(s->bins, s->n_bins, quantiles[i]);
}

void fio_tally_finish(struct fio_tally *t, unsigned jobs, struct bench_run *ret)
{
        uint64_t longest = t->read.runtime_ms > t->write.runtime_ms ? t->read.runtime_ms : t->write.runtime_ms;

        *ret = (struct bench_run){
                .runtime_usec = longest * USEC_PER_MSEC,
                .depth_share = t->depth_weight > 0 ? t->depth_sum / t->depth_weight : 0,
                /* fio has the average of a group's jobs. */
                .cpu_percent = t->entries ? t->cpu_sum / (double) t->entries * jobs : 0,
                .other_bytes_per_sec = -1,
                .error = t->error,
        };
        finish_side(&t->read, &ret->read);
        finish_side(&t->write, &ret->write);
        t->sync.runtime_ms = longest; /* fio has none of its own for them */
        finish_side(&t->sync, &ret->sync);
}

void fio_tally_done(struct fio_tally *t)
{
        free(t->read.bins);
        free(t->write.bins);
        free(t->sync.bins);
        *t = (struct fio_tally){};
}

int fio_parse(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret)
{
        _cleanup_(fio_tally_done) struct fio_tally t = {};
        json_object *document = fio_document(text), *list = member(document, "jobs");
        int r = -EBADMSG;

        if (list && json_object_is_type(list, json_type_array) && json_object_array_length(list) > 0) {
                r = 0;
                for (size_t i = 0; i < json_object_array_length(list) && r >= 0; i++)
                        r = fio_tally_add(&t, json_object_array_get_idx(list, i), depth);
        }
        if (r >= 0)
                fio_tally_finish(&t, jobs, ret);
        json_object_put(document);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums of the jobs in fio's JSON. It was written for fio 3.1 to 3.41. Before 3.0 times were in microseconds. */
#include <ctype.h>
#include <json-c/json.h>
#include <math.h>

#include "bench/measure/clients.h"
#include "common/util.h"
#include "term/program.h"

/* A run of three years. fio prints no larger number. */
#define RUNTIME_MS_MAX 100000000000ULL
/* The limit keeps sums and products of a few numbers finite. */
#define NUMBER_MAX 1e18
#define MSEC_PER_SEC 1000.0
#define KIB 1024.0
/* fio's own sum over machines, which has no percentiles. */
#define ALL_CLIENTS "All clients"

static const char *const percentile_keys[] = {"50.000000", "95.000000", "99.000000"};

struct tally_side {
        uint64_t bytes, ios, runtime_ms;
        double bytes_per_sec, iops;          /* sums of fio's own rates, for jobs without a runtime */
        double mean_sum, clat_sum, slat_sum; /* means times the number of I/Os */
        /* p50, p95, p99 of the job or machine with the highest: an upper bound for all together */
        uint64_t highest[ELEMENTSOF(percentile_keys)];
};

struct tally {
        struct tally_side read, write, sync;
        double depth_sum, depth_weight;
        double cpu_sum;
        size_t entries;
        int error;
};

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

/* fio prints a division by zero as C does. JSON has no such numbers. */
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
        json_tokener *tokener = need(json_tokener_new());
        json_object *o = json_tokener_parse_ex(tokener, text, -1);

        if (json_tokener_get_error(tokener) != json_tokener_success || !json_object_is_type(o, json_type_object)) {
                json_object_put(o);
                o = NULL;
        }
        json_tokener_free(tokener);
        return o;
}

/* The JSON in a text that may begin and end with other words; NULL: none. */
static json_object *parse_document(const char *text)
{
        _cleanup_free_ char *copy = need(strdup(text));

        mend_numbers(copy);
        /* Notes and warnings precede it, a line each. */
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

/* 3.1 has the percentiles of lat under clat. If lat has none, those of clat are the best available. */
static json_object *percentiles_of(json_object *o)
{
        return member(member(o, "lat_ns"), "percentile") ?: member(member(o, "clat_ns"), "percentile");
}

static double mean_of(json_object *o)
{
        double mean = get_number(member(o, "lat_ns"), "mean");

        return mean > 0 ? mean : get_number(member(o, "clat_ns"), "mean");
}

/* total_ios counts only fsync. The latency also counts fdatasync, and old versions do not print its number. */
static uint64_t count_syncs(json_object *o)
{
        uint64_t ios = get_count(o, "total_ios"), timed = get_count(member(o, "lat_ns"), "N");

        return timed > ios ? timed : ios;
}

static void add_side(struct tally_side *s, json_object *o, uint64_t ios)
{
        json_object *percentile = percentiles_of(o);
        uint64_t runtime = get_count(o, "runtime"), bandwidth = get_count(o, "bw_bytes");

        if (ios == 0)
                return;
        s->ios = sum(s->ios, ios);
        s->bytes = sum(s->bytes, get_count(o, "io_bytes"));
        if (runtime > s->runtime_ms && runtime <= RUNTIME_MS_MAX)
                s->runtime_ms = runtime;
        /* bw_bytes is missing in 3.1. */
        s->bytes_per_sec += bandwidth > 0 ? (double) bandwidth : get_number(o, "bw") * KIB;
        s->iops += get_number(o, "iops");
        s->mean_sum += mean_of(o) * (double) ios;
        s->clat_sum += get_number(member(o, "clat_ns"), "mean") * (double) ios;
        s->slat_sum += get_number(member(o, "slat_ns"), "mean") * (double) ios;
        for (size_t i = 0; i < ELEMENTSOF(percentile_keys); i++) {
                uint64_t ns = get_count(percentile, percentile_keys[i]);

                if (ns > s->highest[i])
                        s->highest[i] = ns;
        }
}

/* Share of all I/O that was submitted at a depth of the same power of two, or higher. fio counts all depths above 64 as one. */
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

/* Adds one entry of "jobs" or "client_stats". depth: the iodepth= of the pattern. */
static void tally_add(struct tally *t, json_object *entry, unsigned depth)
{
        json_object *read = member(entry, "read"), *write = member(entry, "write"), *levels = member(entry, "iodepth_level");
        json_object *sync = member(entry, "sync");
        uint64_t reads = get_count(read, "total_ios"), writes = get_count(write, "total_ios"), error = get_count(entry, "error");
        double ios = (double) reads + (double) writes;

        add_side(&t->read, read, reads);
        add_side(&t->write, write, writes);
        add_side(&t->sync, sync, count_syncs(sync));
        t->entries++;
        t->cpu_sum += get_number(entry, "usr_cpu") + get_number(entry, "sys_cpu");
        if (levels) {
                t->depth_sum += depth_reached(levels, depth) * ios;
                t->depth_weight += ios;
        }
        if (error && !t->error)
                t->error = error < 4096 ? -(int) error : -EIO;
}

static void finish_side(const struct tally_side *s, struct bench_side *ret)
{
        ret->bytes = s->bytes;
        ret->ios = s->ios;
        /* All bytes by the longest runtime: the rates of jobs that end at different times cannot be added. */
        ret->bytes_per_sec = s->runtime_ms ? (double) s->bytes * MSEC_PER_SEC / (double) s->runtime_ms : s->bytes_per_sec;
        ret->iops = s->runtime_ms ? (double) s->ios * MSEC_PER_SEC / (double) s->runtime_ms : s->iops;
        ret->mean_ns = s->ios ? s->mean_sum / (double) s->ios : 0;
        ret->clat_mean_ns = s->ios ? s->clat_sum / (double) s->ios : 0;
        ret->slat_mean_ns = s->ios ? s->slat_sum / (double) s->ios : 0;
        ret->p50_ns = s->highest[0];
        ret->p95_ns = s->highest[1];
        ret->p99_ns = s->highest[2];
}

/* jobs: numjobs= of every entry, grouped or not. */
static void tally_finish(struct tally *t, unsigned jobs, struct bench_run *ret)
{
        uint64_t longest = t->read.runtime_ms > t->write.runtime_ms ? t->read.runtime_ms : t->write.runtime_ms;

        *ret = (struct bench_run){
                .runtime_usec = longest * USEC_PER_MSEC,
                .depth_share = t->depth_weight > 0 ? t->depth_sum / t->depth_weight : 0,
                /* fio prints the average of a group's jobs. */
                .cpu_percent = t->entries ? t->cpu_sum / (double) t->entries * jobs : 0,
                .other_bytes_per_sec = -1,
                .error = t->error,
        };
        finish_side(&t->read, &ret->read);
        finish_side(&t->write, &ret->write);
        t->sync.runtime_ms = longest; /* fio has no runtime for syncs */
        finish_side(&t->sync, &ret->sync);
}

int fio_parse(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret)
{
        json_object *document = parse_document(text), *list = member(document, "jobs");
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
        struct tally t = {};

        for (size_t i = 0; i < n; i++)
                tally_add(&t, json_object_array_get_idx(list, i), depth);
        if (n > 0)
                tally_finish(&t, jobs, ret);
        json_object_put(document);
        return n > 0 ? 0 : -EBADMSG;
}

/* ---- several machines ---- */

static const char *string_of(json_object *o, const char *key)
{
        json_object *value = member(o, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static void host_of(json_object *entry, char *ret, size_t size)
{
        const char *name = string_of(entry, "hostname");
        json_object *value = member(entry, "port");
        int port = value ? json_object_get_int(value) : FIO_PORT;

        if (port == FIO_PORT)
                (void) copy_string(ret, size, name);
        else
                (void) snprintf(ret, size, strchr(name, ':') ? "[%s]:%i" : "%s:%i", name, port);
}

int clients_parse_json(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret, size_t max)
{
        json_object *document = parse_document(text), *list = member(document, "client_stats");
        size_t n_entries = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0, n = 1;
        struct tally all = {};

        for (size_t i = 0; i < n_entries && n <= max; i++) {
                json_object *entry = json_object_array_get_idx(list, i);
                struct tally own = {}; /* a machine's jobs are grouped, so it has one entry */

                if (!json_object_is_type(entry, json_type_object) || streq(string_of(entry, "jobname"), ALL_CLIENTS))
                        continue;
                if (n < max) {
                        tally_add(&all, entry, depth);
                        tally_add(&own, entry, depth);
                        tally_finish(&own, jobs, &ret[n]);
                        host_of(entry, ret[n].host, sizeof(ret[n].host));
                }
                n++;
        }
        if (n > 1 && n <= max)
                tally_finish(&all, jobs * (unsigned) (n - 1), &ret[0]);
        json_object_put(document);
        return n > 1 && n <= max ? (int) n : -EBADMSG;
}

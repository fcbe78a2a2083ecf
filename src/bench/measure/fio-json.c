/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums of the jobs in fio's JSON. It was written for fio 3.1 to 3.41. Before 3.0 times were in microseconds. */
#include <ctype.h>
#include <json-c/json.h>
#include <math.h>

#include "bench/measure/fio.h"
#include "common/util.h"
#include "term/json.h"
#include "term/terminal.h"

/* A run of three years. fio prints no larger number. */
#define RUNTIME_MS_MAX 100000000000ULL
/* The limit keeps sums and products of a few numbers finite. */
#define NUMBER_MAX 1e18
#define COUNT_MAX 100000000000000000
#define KIB 1024.0
/* fio's own sum over machines, which has no percentiles. */
#define ALL_CLIENTS "All clients"

/* ---- members ---- */

/* NULL if there is none, or if o is no object. A missing number is 0. */
#define item(o, key) json_object_object_get(o, key)

static uint64_t get_count(json_object *o, const char *key)
{
        int64_t n = json_object_get_int64(item(o, key));

        return n <= 0 ? 0 : n < COUNT_MAX ? (uint64_t) n : COUNT_MAX;
}

static double get_number(json_object *o, const char *key)
{
        double d = json_object_get_double(item(o, key));

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

                        if (startswith(p + 3, broken[i]) && !isalnum((unsigned char) p[3 + n])) {
                                memset(p + 3, ' ', n);
                                p[3] = '0';
                                break;
                        }
                }
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
                o = *line == '{' ? json_tokener_parse(line) : NULL;
                if (json_object_is_type(o, json_type_object))
                        return o;
                json_object_put(o);
        }
        return NULL;
}

/* ---- one entry of "jobs" or "client_stats" ---- */

/* total_ios counts only fsync. The latency also counts fdatasync, and old versions do not print its number. */
static uint64_t count_syncs(json_object *o)
{
        uint64_t ios = get_count(o, "total_ios"), timed = get_count(item(o, "lat_ns"), "N");

        return timed > ios ? timed : ios;
}

/* Returns the time in milliseconds; 0: the side did nothing. */
static uint64_t read_side(json_object *o, uint64_t ios, struct bench_side *ret)
{
        json_object *lat = item(o, "lat_ns"), *clat = item(o, "clat_ns");
        /* 3.1 has the percentiles of lat under clat. If lat has none, those of clat are the best available. */
        json_object *percentile = item(lat, "percentile") ?: item(clat, "percentile");
        uint64_t runtime = get_count(o, "runtime"), bandwidth = get_count(o, "bw_bytes");
        double mean = get_number(lat, "mean");

        if (ios == 0)
                return 0;
        *ret = (struct bench_side){
                .bytes = get_count(o, "io_bytes"),
                .ios = ios,
                /* bw_bytes is missing in 3.1. */
                .bytes_per_sec = bandwidth > 0 ? (double) bandwidth : get_number(o, "bw") * KIB,
                .iops = get_number(o, "iops"),
                .mean_ns = mean > 0 ? mean : get_number(clat, "mean"),
                .clat_mean_ns = get_number(clat, "mean"),
                .slat_mean_ns = get_number(item(o, "slat_ns"), "mean"),
                .p50_ns = get_count(percentile, "50.000000"),
                .p95_ns = get_count(percentile, "95.000000"),
                .p99_ns = get_count(percentile, "99.000000"),
        };
        return runtime <= RUNTIME_MS_MAX ? runtime : 0;
}

/* Share of all I/O that was submitted at a depth of the same power of two, or higher. fio counts all depths above 64 as one. */
static double depth_reached(json_object *levels, unsigned depth)
{
        static const char *const keys[] = {"1", "2", "4", "8", "16", "32", ">=64"};
        double percent = 0;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (i + 1 == ELEMENTSOF(keys) || 2U << i > depth)
                        percent += get_number(levels, keys[i]);
        return percent > 100 ? 1 : percent / 100;
}

/* jobs: the entry's share of numjobs=, of which fio prints the average use of the CPU. depth: the iodepth= of the pattern. */
static void read_entry(json_object *entry, double jobs, unsigned depth, struct bench_run *ret)
{
        json_object *read = item(entry, "read"), *write = item(entry, "write"), *sync = item(entry, "sync");
        uint64_t error = get_count(entry, "error"), reading, writing;

        *ret = (struct bench_run){
                .cpu_percent = jobs * (get_number(entry, "usr_cpu") + get_number(entry, "sys_cpu")),
                .other_bytes_per_sec = -1,
                .error = error < 4096 ? -(int) error : -EIO,
        };
        reading = read_side(read, get_count(read, "total_ios"), &ret->read);
        writing = read_side(write, get_count(write, "total_ios"), &ret->write);
        (void) read_side(sync, count_syncs(sync), &ret->sync);
        ret->runtime_usec = (reading > writing ? reading : writing) * USEC_PER_MSEC;
        if (ret->read.ios + ret->write.ios > 0)
                ret->depth_share = depth_reached(item(entry, "iodepth_level"), depth);
}

/* ---- all entries together ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static double weighted_mean(double a, double weight_a, double b, double weight_b)
{
        return weight_a + weight_b > 0 ? (a * weight_a + b * weight_b) / (weight_a + weight_b) : 0;
}

/* The percentiles are those of the job or machine with the highest: an upper bound for all together. */
static void add_side(struct bench_side *to, const struct bench_side *s)
{
        double before = (double) to->ios, more = (double) s->ios;

        to->mean_ns = weighted_mean(to->mean_ns, before, s->mean_ns, more);
        to->clat_mean_ns = weighted_mean(to->clat_mean_ns, before, s->clat_mean_ns, more);
        to->slat_mean_ns = weighted_mean(to->slat_mean_ns, before, s->slat_mean_ns, more);
        to->p50_ns = larger(to->p50_ns, s->p50_ns);
        to->p95_ns = larger(to->p95_ns, s->p95_ns);
        to->p99_ns = larger(to->p99_ns, s->p99_ns);
        to->bytes_per_sec += s->bytes_per_sec;
        to->iops += s->iops;
        to->bytes += s->bytes;
        to->ios += s->ios;
}

static void add_run(struct bench_run *to, const struct bench_run *r)
{
        to->depth_share = weighted_mean(to->depth_share, (double) (to->read.ios + to->write.ios), r->depth_share,
                                        (double) (r->read.ios + r->write.ios));
        to->cpu_percent += r->cpu_percent;
        to->runtime_usec = larger(to->runtime_usec, r->runtime_usec);
        to->error = to->error ?: r->error;
        add_side(&to->read, &r->read);
        add_side(&to->write, &r->write);
        add_side(&to->sync, &r->sync);
}

/* All bytes by the longest runtime: the rates of jobs that end at different times cannot be added. Without a runtime, fio's own
 * rates stay. fio has no runtime for syncs. */
static void finish(struct bench_run *r)
{
        struct bench_side *const sides[] = {&r->read, &r->write, &r->sync};
        double sec = (double) r->runtime_usec / (double) USEC_PER_SEC;

        for (size_t i = 0; sec > 0 && i < ELEMENTSOF(sides); i++) {
                sides[i]->bytes_per_sec = (double) sides[i]->bytes / sec;
                sides[i]->iops = (double) sides[i]->ios / sec;
        }
}

/* Returns false if it has no name. */
static bool host_of(json_object *entry, char *ret, size_t size)
{
        const char *name = member(entry, "hostname");
        json_object *value = item(entry, "port");
        int port = value ? json_object_get_int(value) : FIO_PORT;

        if (!name || !*name)
                return false;
        if (port == FIO_PORT)
                (void) copy_string(ret, size, name);
        else
                (void) snprintf(ret, size, strchr(name, ':') ? "[%s]:%i" : "%s:%i", name, port);
        return true;
}

/* A machine's jobs are grouped, so it has one entry. */
int fio_parse(const char *text, size_t n_hosts, unsigned jobs, unsigned depth, struct bench_run *ret)
{
        _cleanup_(json_putp) json_object *document = parse_document(text);
        json_object *list = item(document, n_hosts > 0 ? "client_stats" : "jobs");
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0, found = 0;

        *ret = (struct bench_run){.other_bytes_per_sec = -1};
        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(list, i);
                struct bench_run one;

                if (n_hosts > 0 &&
                    (!json_object_is_type(entry, json_type_object) || streq(member(entry, "jobname") ?: "", ALL_CLIENTS)))
                        continue;
                read_entry(entry, n_hosts > 0 ? jobs : jobs / (double) n, depth, &one);
                add_run(&ret[0], &one);
                found++;
                if (n_hosts == 0)
                        continue;
                if (found > n_hosts || !host_of(entry, one.host, sizeof(one.host)))
                        return -EBADMSG;
                finish(&one);
                ret[found] = one;
        }
        finish(&ret[0]);
        return found == 0 ? -EBADMSG : n_hosts > 0 ? (int) found : 0;
}

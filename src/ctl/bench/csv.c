/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/csv.h"

#include <inttypes.h>
#include <time.h>

#include "common/util.h"
#include "ctl/bench/json.h"
#include "ctl/bench/stats.h"

static const char names[] = "id,profile,axis,order,pattern,rw,engine,block_size,size,iodepth,numjobs,read_percent,random,direct,"
                            "sync_engine,time_based,runtime_sec,ramp_sec,fsync,fdatasync,axis_value,driver,round,counted,host,started,"
                            "runtime_usec,region,"
                            "read_bytes,read_ios,read_bytes_per_sec,read_iops,read_mean_ns,read_p50_ns,read_p95_ns,read_p99_ns,"
                            "read_slat_mean_ns,"
                            "write_bytes,write_ios,write_bytes_per_sec,write_iops,write_mean_ns,write_p50_ns,write_p95_ns,"
                            "write_p99_ns,write_slat_mean_ns,sync_ios,sync_iops,sync_mean_ns,sync_p50_ns,sync_p95_ns,sync_p99_ns,"
                            "depth_share,cpu_percent,other_bytes_per_sec,device_read_bytes,device_written_bytes,error,"
                            "scheduler,queue_depth,nr_requests,"
                            "model,bridge,firmware,serial,controller,kernel,fio,path,speed_mbps,disk_size,memory,rotational";

/* RFC 4180. What a spreadsheet would take for a formula gets an apostrophe in front. */
static void text(FILE *out, const char *s)
{
        char harmless[4096];
        bool quotes;

        (void) make_harmless(s ?: "", harmless, sizeof(harmless));
        quotes = strpbrk(harmless, ",\"\r\n") || strchr("=+-@", harmless[0]);
        if (!harmless[0])
                quotes = false;
        if (quotes)
                (void) fputc('"', out);
        if (harmless[0] && strchr("=+-@", harmless[0]))
                (void) fputc('\'', out);
        for (const char *p = harmless; *p; p++) {
                if (*p == '"')
                        (void) fputc('"', out);
                (void) fputc(*p, out);
        }
        if (quotes)
                (void) fputc('"', out);
        (void) fputc(',', out);
}

static void number(FILE *out, uint64_t n)
{
        (void) fprintf(out, "%" PRIu64 ",", n);
}

static void real(FILE *out, double x)
{
        (void) fprintf(out, "%.15g,", x);
}

/* Negative: empty. */
static void known(FILE *out, double x)
{
        if (x >= 0)
                real(out, x);
        else
                (void) fputc(',', out);
}

static void time_of(FILE *out, uint64_t usec)
{
        time_t t = (time_t) (usec / USEC_PER_SEC);
        char when[32] = "";
        struct tm tm;

        if (usec > 0 && gmtime_r(&t, &tm))
                (void) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        (void) fprintf(out, "%s,", when);
}

static void pattern(FILE *out, const struct bench_pattern *p)
{
        text(out, p->name);
        text(out, p->rw);
        text(out, p->engine);
        number(out, p->block_size);
        number(out, p->size);
        number(out, p->iodepth);
        number(out, p->numjobs);
        number(out, p->read_percent);
        number(out, p->random);
        number(out, p->direct);
        number(out, p->sync_engine);
        number(out, p->time_based);
        number(out, p->runtime_sec);
        number(out, p->ramp_sec);
        number(out, p->fsync);
        number(out, p->fdatasync);
        real(out, p->axis);
}

static void side(FILE *out, const struct bench_side *s)
{
        number(out, s->bytes);
        number(out, s->ios);
        real(out, s->bytes_per_sec);
        real(out, s->iops);
        real(out, s->mean_ns);
        number(out, s->p50_ns);
        number(out, s->p95_ns);
        number(out, s->p99_ns);
        real(out, s->slat_mean_ns);
}

/* Nothing is moved by them, and nothing waits to be handed over. */
static void syncs(FILE *out, const struct bench_side *s)
{
        number(out, s->ios);
        real(out, s->iops);
        real(out, s->mean_ns);
        number(out, s->p50_ns);
        number(out, s->p95_ns);
        number(out, s->p99_ns);
}

static void conditions(FILE *out, const struct bench_conditions *c, enum driver d)
{
        const char *const strings[] = {c->model,  c->bridge, c->firmware, c->serial, c->controller,
                                       c->kernel, c->fio,    c->path};

        text(out, c->scheduler[d]);
        number(out, c->queue_depth[d]);
        number(out, c->nr_requests[d]);
        for (size_t i = 0; i < ELEMENTSOF(strings); i++)
                text(out, strings[i]);
        number(out, c->speed_mbps);
        number(out, c->disk_size);
        number(out, c->memory);
        (void) fprintf(out, "%i\r\n", c->rotational);
}

static void run(FILE *out, const struct bench *b, const struct bench_run *r)
{
        text(out, b->id);
        text(out, b->profile);
        text(out, bench_axis_to_string(b->axis));
        number(out, r->order);
        pattern(out, &b->patterns[r->pattern]);
        text(out, driver_to_string(r->driver));
        number(out, r->round);
        number(out, stats_run_counts(r));
        text(out, r->host);
        time_of(out, r->started_usec);
        number(out, r->runtime_usec);
        number(out, r->region);
        side(out, &r->read);
        side(out, &r->write);
        syncs(out, &r->sync);
        real(out, r->depth_share);
        real(out, r->cpu_percent);
        known(out, r->other_bytes_per_sec);
        known(out, r->device_read_bytes);
        known(out, r->device_written_bytes);
        (void) fprintf(out, "%i,", r->error);
        conditions(out, &b->conditions, r->driver);
}

int bench_csv(const struct bench *b, FILE *out, bool legend)
{
        if (legend)
                (void) fprintf(out, "%s\r\n", names);
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern < b->n_patterns)
                        run(out, b, &b->runs[i]);
        return ferror(out) ? -EIO : 0;
}

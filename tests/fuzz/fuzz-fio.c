/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fio's JSON, job files of users and lists of hosts, the kind in the first byte. */
#include <math.h>

#include "bench/measure/fio.h"
#include "fuzz.h"

#define HOSTS 4
#define JOBS 3
#define DEPTH 32

static bool sane(double d)
{
        return isfinite(d) && d >= 0;
}

static void check_side(const struct bench_side *s)
{
        CHECK(sane(s->bytes_per_sec) && sane(s->iops) && sane(s->mean_ns));
        CHECK(s->ios > 0 || (s->bytes == 0 && s->bytes_per_sec == 0 && s->p99_ns == 0));
}

static void check_run(const struct bench_run *r)
{
        check_side(&r->read);
        check_side(&r->write);
        CHECK(r->depth_share >= 0 && r->depth_share <= 1 && sane(r->cpu_percent) && r->error <= 0 && r->error > -4096);
}

static void check_json(const char *text)
{
        struct bench_run run, many[HOSTS + 1];
        int r = fio_parse(text, 0, JOBS, DEPTH, &run);

        CHECK(r == 0 || r == -EBADMSG);
        if (r == 0)
                check_run(&run);
        r = fio_parse(text, HOSTS, JOBS, DEPTH, many);
        CHECK(r == -EBADMSG || (r >= 1 && r <= HOSTS));
        for (int i = 0; i <= r; i++) {
                check_run(&many[i]);
                CHECK((i == 0) == !*many[i].host);
                CHECK(many[0].read.ios >= many[i].read.ios && many[0].write.bytes >= many[i].write.bytes);
        }
}

static struct profile *parse(const char *text, size_t size)
{
        char fault[PROFILE_FAULT_MAX] = "";
        struct profile *p = NULL;
        int r = profile_parse("x", "x.fio", text, size, fault, &p);

        CHECK(r == 0 || r == -EBADMSG);
        CHECK((strncmp(fault, "x.fio:", strlen("x.fio:")) == 0) == (r < 0) && (r == 0) == (p != NULL));
        return p;
}

static void check_pattern(const struct bench_pattern *p)
{
        CHECK(*p->name && *p->rw && *p->engine);
        CHECK(p->block_size >= 512 && p->iodepth > 0 && p->numjobs > 0 && (p->size == 0 || p->size >= p->block_size));
        CHECK(p->read_percent <= 100 && (p->runtime_sec > 0 || !p->time_based));
        /* No pattern that writes counts as a read. */
        CHECK(bench_pattern_writes(p) == (!streq(p->rw, "read") && !streq(p->rw, "randread")));
        CHECK(fio_region(p, 1ULL << 40) <= 1ULL << 40);
}

/* The job made of a pattern is read as the same pattern. Our options come last. */
static void check_round_trip(const struct bench_pattern *p)
{
        char *made = fio_job_text(&(struct fio_job){.pattern = p}, "/proc/self/fd/4", p->block_size), *own;
        struct profile *again;

        CHECK(made);
        own = strstr(made, "\nfilename=/proc/self/fd/4\nallow_file_create=0\nrw=");
        CHECK(own && !strstr(own + 1, "\nfilename=") && strncmp(made, "[bench]\n", 8) == 0 && !strstr(made, "\n["));
        again = parse(made, strlen(made));
        CHECK(again && again->n_patterns == 1 && strncmp(again->patterns[0].section, p->section, strlen(p->section)) == 0);
        CHECK(streq(again->patterns[0].rw, p->rw) && again->patterns[0].read_percent == p->read_percent);
        CHECK(again->patterns[0].block_size == p->block_size && again->patterns[0].numjobs == p->numjobs);
        CHECK(again->patterns[0].iodepth == p->iodepth && again->patterns[0].time_based == p->time_based);
        profile_freep(&again);
        free(made);
}

static void check_profile(const char *text, size_t size)
{
        struct profile *p = parse(text, size);
        size_t writes = 0, all;

        if (!p)
                return;
        CHECK(p->n_patterns > 0);
        for (size_t i = 0; i < p->n_patterns; i++) {
                check_pattern(&p->patterns[i]);
                check_round_trip(&p->patterns[i]);
                writes += bench_pattern_writes(&p->patterns[i]);
        }
        all = p->n_patterns;
        CHECK(profile_drop_writes(p) == writes && p->n_patterns == all - writes);
        profile_freep(&p);
}

static void check_hosts(const char *text)
{
        char **list = NULL;
        int r = hosts_parse(text, &list);

        CHECK(r == 0 || r == -EINVAL);
        for (char **p = list; r == 0 && *p; p++)
                CHECK((*p)[0] != '-' && (*p)[0] != ',' && strchr(*p, ',') && !strpbrk(*p, " /\n"));
        if (r == 0)
                strv_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text;

        if (size == 0)
                return 0;
        text = fuzz_text(data + 1, size - 1);
        switch (data[0]) {
        case 'j':
                check_json(text);
                break;
        case 'p':
                check_profile(text, size - 1);
                break;
        case 'h':
                check_hosts(text);
                break;
        default:
                break;
        }
        free(text);
        return 0;
}

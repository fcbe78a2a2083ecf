/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/profile.h"

#include <ctype.h>
#include <limits.h>
#include <strings.h>

#include "common/util.h"

/* fio fails above this number of jobs (REAL_MAX_JOBS), and no queue is deeper. */
#define JOBS_MAX 1024
#define DEPTH_MAX 65536

enum kind {
        KIND_RW,
        KIND_ENGINE,
        KIND_COUNT, /* an unsigned, with a unit if fio accepts one */
        KIND_SIZE,
        KIND_SECONDS,
        KIND_FLAG,
};

struct known_option {
        const char *name;
        enum kind kind;
        bool ours;     /* bench writes it into the job itself: fio does not get that of the profile */
        bool inverted; /* the option counts down from its maximum */
        size_t member; /* of struct bench_pattern */
        uint64_t min, max;
};

#define AT(m) offsetof(struct bench_pattern, m)

static const struct known_option options[] = {
        /* clang-format off */
        {"rw", KIND_RW, true},
        {"readwrite", KIND_RW, true},
        {"ioengine", KIND_ENGINE},
        {"bs", KIND_SIZE, .member = AT(block_size), .min = 512, .max = 1U << 30},
        {"blocksize", KIND_SIZE, .member = AT(block_size), .min = 512, .max = 1U << 30},
        {"size", KIND_SIZE, true, .member = AT(size), .max = UINT64_MAX},
        {"iodepth", KIND_COUNT, true, .member = AT(iodepth), .min = 1, .max = DEPTH_MAX},
        {"numjobs", KIND_COUNT, true, .member = AT(numjobs), .min = 1, .max = JOBS_MAX},
        {"runtime", KIND_SECONDS, true, .member = AT(runtime_sec)},
        {"timeout", KIND_SECONDS, true, .member = AT(runtime_sec)},
        {"ramp_time", KIND_SECONDS, true, .member = AT(ramp_sec)},
        {"time_based", KIND_FLAG, true, .member = AT(time_based), .max = 1},
        {"direct", KIND_FLAG, .member = AT(direct), .max = 1},
        {"buffered", KIND_FLAG, .inverted = true, .member = AT(direct), .max = 1},
        {"rwmixread", KIND_COUNT, .member = AT(read_percent), .max = 100},
        {"rwmixwrite", KIND_COUNT, .inverted = true, .member = AT(read_percent), .max = 100},
        {"fsync", KIND_COUNT, .member = AT(fsync), .max = INT_MAX},
        {"fdatasync", KIND_COUNT, .member = AT(fdatasync), .max = INT_MAX},
        /* clang-format on */
};

/* They name a file or a place, or what bench sets for every job. fio does not get them. */
static const char *const ignored[] = {
        "description", "directory",       "filename",  "filesize", "offset",     "offset_increment", "opendir",
        "new_group",   "group_reporting", "stonewall", "thread",   "randrepeat", "allrandrepeat",    "randseed",
};

/* When an engine waits for a request before it submits the next one. */
enum waits {
        WAITS_ALWAYS,
        WAITS_BUFFERED, /* the kernel's asynchronous I/O is synchronous through the page cache */
        WAITS_NEVER,
};

/* Engines that read and write a file or a disk. For others bench does not know the meaning of the depth. */
static const struct {
        const char *name;
        enum waits waits;
} engines[] = {
        {"psync", WAITS_ALWAYS},    {"sync", WAITS_ALWAYS},    {"vsync", WAITS_ALWAYS},
        {"pvsync", WAITS_ALWAYS},   {"pvsync2", WAITS_ALWAYS}, {"mmap", WAITS_ALWAYS},
        {"libaio", WAITS_BUFFERED}, {"io_uring", WAITS_NEVER}, {"posixaio", WAITS_NEVER},
};

static const struct {
        const char *name;
        bool reads, writes, random;
} directions[] = {
        {"read", true, false, false},     {"write", false, true, false}, {"randread", true, false, true},
        {"randwrite", false, true, true}, {"rw", true, true, false},     {"readwrite", true, true, false},
        {"randrw", true, true, true},
};

/* Its place in a table whose rows begin with their name. */
#define FIND(table, wanted) find(&(table)[0].name, sizeof((table)[0]), ELEMENTSOF(table), wanted)
static int find(const char *const *first, size_t size, size_t n, const char *wanted)
{
        for (size_t i = 0; i < n; i++)
                if (streq(*(const char *const *) ((const char *) first + i * size), wanted))
                        return (int) i;
        return -EINVAL;
}

/* Reads "10g": a number, and perhaps one of the units. 0, -EINVAL or -ERANGE. */
static int parse_scaled(const char *s, const char *units, const uint64_t *factors, uint64_t *ret, const char **ret_rest)
{
        unsigned long long value;
        const char *unit;
        int r = take_uint(&s, 10, UINT64_MAX, &value);

        if (r < 0)
                return r;
        unit = *s ? strchr(units, tolower((unsigned char) *s)) : NULL;
        *ret_rest = s + (unit != NULL);
        return __builtin_mul_overflow(value, unit ? factors[unit - units] : 1, ret) ? -ERANGE : 0;
}

int profile_size(const char *s, uint64_t *ret)
{
        static const uint64_t factors[] = {1ULL << 10, 1ULL << 20, 1ULL << 30, 1ULL << 40};
        const char *rest;
        uint64_t value;
        int r = parse_scaled(s, "kmgt", factors, &value, &rest);

        if (r < 0)
                return r;
        /* fio reads "KiB" as 1000 unless kb_base= is set: refuse it. */
        if (*rest && strcasecmp(rest, "b") != 0)
                return -EINVAL;
        *ret = value;
        return 0;
}

/* In seconds, fio's default unit. */
static int parse_time(const char *s, uint64_t *ret)
{
        static const uint64_t factors[] = {1, 60, 3600};
        const char *rest;

        return parse_scaled(s, "smh", factors, ret, &rest) < 0 || *rest || *ret > UINT_MAX ? -EINVAL : 0;
}

const struct bench_pattern profile_default = {
        .rw = "read", .engine = "psync", .block_size = 4096, .iodepth = 1, .numjobs = 1, .read_percent = 50};

/* Until profile_pattern_finish(), read_percent is the mix of patterns that read and write. */
int profile_pattern_apply(struct bench_pattern *p, const char *name, const char *value)
{
        int at = FIND(options, name), r;
        const struct known_option *o = at < 0 ? NULL : &options[at];
        void *member = o ? (char *) p + o->member : NULL;
        uint64_t n = 0;

        if (!o)
                return find(ignored, sizeof(*ignored), ELEMENTSOF(ignored), name) >= 0;
        if (o->kind == KIND_RW)
                r = FIND(directions, value) < 0 || !copy_string(p->rw, sizeof(p->rw), value) ? -EINVAL : 0;
        else if (o->kind == KIND_ENGINE)
                r = FIND(engines, value) < 0 || !copy_string(p->engine, sizeof(p->engine), value) ? -EINVAL : 0;
        else if (o->kind == KIND_SECONDS)
                r = parse_time(value, &n);
        else if (o->kind == KIND_SIZE && o->min == 0 && streq(value, "100%"))
                r = 0;
        else
                r = profile_size(value, &n) < 0 || n < o->min || n > o->max ? -EINVAL : 0;
        if (r < 0)
                return r;
        if (o->inverted)
                n = o->max - n;
        if (o->kind == KIND_SIZE)
                *(uint64_t *) member = n;
        else if (o->kind == KIND_FLAG)
                *(bool *) member = n;
        else if (o->kind == KIND_COUNT || o->kind == KIND_SECONDS)
                *(unsigned *) member = (unsigned) n;
        return o->ours;
}

const char *profile_pattern_finish(struct bench_pattern *p)
{
        const int rw = FIND(directions, p->rw), engine = FIND(engines, p->engine);
        const bool reads = directions[rw].reads, writes = directions[rw].writes;

        if (p->size && p->size < p->block_size)
                return "size= has no room for a block of bs=";
        if (p->time_based && !p->runtime_sec)
                return "time_based without runtime= would never end";
        /* fio would open it for writing, but it would look like a read. */
        if (reads && writes && (p->read_percent == 0 || p->read_percent == 100))
                return "a pattern that reads and writes needs an rwmixread= from 1 to 99";
        if (!reads || !writes)
                p->read_percent = reads ? 100 : 0;
        p->random = directions[rw].random;
        p->sync_engine = engines[engine].waits == WAITS_ALWAYS || (engines[engine].waits == WAITS_BUFFERED && !p->direct);
        return NULL;
}

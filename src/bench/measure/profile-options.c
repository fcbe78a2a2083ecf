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
        KIND_PERCENT,
};

struct known_option {
        const char *name;
        enum kind kind;
        bool inverted; /* the option is the opposite of the member */
        size_t member; /* of struct bench_pattern */
        uint64_t min, max;
};

#define AT(m) offsetof(struct bench_pattern, m)

static const struct known_option options[] = {
        {"rw", KIND_RW},
        {"readwrite", KIND_RW},
        {"ioengine", KIND_ENGINE},
        {"bs", KIND_SIZE, false, AT(block_size), 512, 1U << 30},
        {"blocksize", KIND_SIZE, false, AT(block_size), 512, 1U << 30},
        {"size", KIND_SIZE, false, AT(size), 0, UINT64_MAX},
        {"iodepth", KIND_COUNT, false, AT(iodepth), 1, DEPTH_MAX},
        {"numjobs", KIND_COUNT, false, AT(numjobs), 1, JOBS_MAX},
        {"runtime", KIND_SECONDS, false, AT(runtime_sec)},
        {"timeout", KIND_SECONDS, false, AT(runtime_sec)},
        {"ramp_time", KIND_SECONDS, false, AT(ramp_sec)},
        {"time_based", KIND_FLAG, false, AT(time_based)},
        {"direct", KIND_FLAG, false, AT(direct)},
        {"buffered", KIND_FLAG, true, AT(direct)},
        {"rwmixread", KIND_PERCENT, false, AT(read_percent)},
        {"rwmixwrite", KIND_PERCENT, true, AT(read_percent)},
        {"fsync", KIND_COUNT, false, AT(fsync), 0, INT_MAX},
        {"fdatasync", KIND_COUNT, false, AT(fdatasync), 0, INT_MAX},
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

static const struct known_option *find_option(const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (streq(options[i].name, name))
                        return &options[i];
        return NULL;
}

static int find_engine(const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(engines); i++)
                if (streq(engines[i].name, name))
                        return (int) i;
        return -EINVAL;
}

static int find_direction(const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(directions); i++)
                if (streq(directions[i].name, name))
                        return (int) i;
        return -EINVAL;
}

/* Splits "10g" into a number and its unit. 0, -EINVAL or -ERANGE. */
static int parse_number(const char *s, uint64_t *ret, const char **ret_unit)
{
        size_t n = strspn(s, "0123456789");
        unsigned long long value;
        char digits[24] = "";
        int r;

        if (n >= sizeof(digits))
                return -ERANGE;
        memcpy(digits, s, n);
        r = parse_uint(digits, 10, UINT64_MAX, &value);
        if (r < 0)
                return r;
        *ret = value;
        *ret_unit = s + n;
        return 0;
}

int profile_size(const char *s, uint64_t *ret)
{
        static const char units[] = "kmgt";
        const char *rest, *unit;
        unsigned shift = 0;
        uint64_t value;
        int r = parse_number(s, &value, &rest);

        if (r < 0)
                return r;
        if (*rest && (unit = strchr(units, tolower((unsigned char) *rest)))) {
                shift = 10 * (unsigned) (unit - units + 1);
                rest++;
        }
        /* fio reads "KiB" as 1000 unless kb_base= is set: refuse it. */
        if (*rest && strcasecmp(rest, "b") != 0)
                return -EINVAL;
        if (value > UINT64_MAX >> shift)
                return -ERANGE;
        *ret = value << shift;
        return 0;
}

/* In seconds, fio's default unit. */
static int parse_time(const char *s, uint64_t *ret)
{
        static const char units[] = "smh";
        static const unsigned seconds[] = {1, 60, 3600};
        const char *unit, *found;
        uint64_t value;

        if (parse_number(s, &value, &unit) < 0 || value > UINT_MAX / 3600)
                return -EINVAL;
        found = *unit ? strchr(units, tolower((unsigned char) *unit)) : units;
        if (!found || (*unit && unit[1]))
                return -EINVAL;
        *ret = value * seconds[found - units];
        return 0;
}

static int parse_between(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
        return profile_size(s, ret) < 0 || *ret < min || *ret > max ? -EINVAL : 0;
}

const struct bench_pattern profile_default = {
        .rw = "read", .engine = "psync", .block_size = 4096, .iodepth = 1, .numjobs = 1, .read_percent = 50};

/* Until profile_pattern_finish(), read_percent is the mix of patterns that read and write. */
int profile_pattern_apply(struct bench_pattern *p, const char *name, const char *value)
{
        const struct known_option *o = find_option(name);
        void *member = o ? (char *) p + o->member : NULL;
        uint64_t n = 0;
        int r = 0;

        if (!o)
                return 0;
        switch (o->kind) {
        case KIND_RW:
                return find_direction(value) < 0 || !copy_string(p->rw, sizeof(p->rw), value) ? -EINVAL : 0;
        case KIND_ENGINE:
                return find_engine(value) < 0 || !copy_string(p->engine, sizeof(p->engine), value) ? -EINVAL : 0;
        case KIND_SIZE:
                r = streq(value, "100%") && o->min == 0 ? 0 : parse_between(value, o->min, o->max, &n);
                if (r >= 0)
                        *(uint64_t *) member = n;
                return r;
        case KIND_COUNT:
                r = parse_between(value, o->min, o->max, &n);
                break;
        case KIND_SECONDS:
                r = parse_time(value, &n);
                break;
        case KIND_PERCENT:
                r = parse_between(value, 0, 100, &n);
                n = o->inverted ? 100 - n : n;
                break;
        case KIND_FLAG:
                r = parse_between(value, 0, 1, &n);
                if (r >= 0)
                        *(bool *) member = (n == 1) != o->inverted;
                return r;
        }
        if (r >= 0)
                *(unsigned *) member = (unsigned) n;
        return r;
}

const char *profile_pattern_finish(struct bench_pattern *p)
{
        const int rw = find_direction(p->rw), engine = find_engine(p->engine);
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

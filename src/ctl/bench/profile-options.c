/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/profile-options.h"

#include <ctype.h>
#include <limits.h>
#include <strings.h>

#include "common/util.h"

/* Beyond this fio itself gives up: REAL_MAX_JOBS, and queues nobody has. */
#define JOBS_MAX 1024
#define DEPTH_MAX 65536

enum kind {
        KIND_FREE, /* fio's business */
        KIND_ZERO, /* only to say that it is off */
        KIND_RW,
        KIND_ENGINE,
        KIND_BLOCK,
        KIND_SIZE,
        KIND_DEPTH,
        KIND_JOBS,
        KIND_RUNTIME,
        KIND_RAMP,
        KIND_TIME_BASED,
        KIND_DIRECT,
        KIND_BUFFERED,
        KIND_MIX_READ,
        KIND_MIX_WRITE,
        KIND_FSYNC,
        KIND_FDATASYNC,
};

/*
 * All others are refused: what reads or writes other files (logs, traces), runs commands, trims, changes the machine, or
 * leaves out what is to be measured; what holds it back (rate, thinktime), so that the disk is not what is measured; what makes
 * of random reads others than are told of (percentage_random, random_distribution).
 */
static const struct {
        const char *name;
        enum kind kind;
} options[] = {
        { "rw", KIND_RW },
        { "readwrite", KIND_RW },
        { "ioengine", KIND_ENGINE },
        { "bs", KIND_BLOCK },
        { "blocksize", KIND_BLOCK },
        { "size", KIND_SIZE },
        { "iodepth", KIND_DEPTH },
        { "numjobs", KIND_JOBS },
        { "runtime", KIND_RUNTIME },
        { "timeout", KIND_RUNTIME },
        { "ramp_time", KIND_RAMP },
        { "time_based", KIND_TIME_BASED },
        { "direct", KIND_DIRECT },
        { "buffered", KIND_BUFFERED },
        { "rwmixread", KIND_MIX_READ },
        { "rwmixwrite", KIND_MIX_WRITE },
        { "verify", KIND_ZERO },
        { "allrandrepeat", KIND_FREE },
        { "blockalign", KIND_FREE },
        { "buffer_compress_percentage", KIND_FREE },
        { "cpus_allowed", KIND_FREE },
        { "cpus_allowed_policy", KIND_FREE },
        { "description", KIND_FREE },
        { "end_fsync", KIND_FREE },
        { "fadvise_hint", KIND_FREE },
        { "fallocate", KIND_FREE },
        { "fdatasync", KIND_FDATASYNC },
        { "fixedbufs", KIND_FREE },
        { "fsync", KIND_FSYNC },
        { "fsync_on_close", KIND_FREE },
        { "group_reporting", KIND_FREE },
        { "hipri", KIND_FREE },
        { "invalidate", KIND_FREE },
        { "io_size", KIND_FREE },
        { "iodepth_batch", KIND_FREE },
        { "iodepth_batch_complete", KIND_FREE },
        { "iodepth_batch_complete_max", KIND_FREE },
        { "iodepth_batch_complete_min", KIND_FREE },
        { "iodepth_batch_submit", KIND_FREE },
        { "iodepth_low", KIND_FREE },
        { "loops", KIND_FREE },
        { "new_group", KIND_FREE },
        { "norandommap", KIND_FREE },
        { "nrfiles", KIND_FREE },
        { "overwrite", KIND_FREE },
        { "random_generator", KIND_FREE },
        { "randrepeat", KIND_FREE },
        { "randseed", KIND_FREE },
        { "refill_buffers", KIND_FREE },
        { "registerfiles", KIND_FREE },
        { "scramble_buffers", KIND_FREE },
        { "softrandommap", KIND_FREE },
        { "stonewall", KIND_FREE },
        { "sync", KIND_FREE },
        { "thread", KIND_FREE },
        { "zero_buffers", KIND_FREE },
};

/* When an engine waits for each request before it hands over the next one. */
enum waits {
        WAITS_ALWAYS,
        WAITS_BUFFERED, /* the kernel's own asynchronous I/O is synchronous through the page cache */
        WAITS_NEVER,
};

/* Engines that read and write a file or a disk, and nothing else. */
static const struct {
        const char *name;
        enum waits waits;
} engines[] = {
        { "psync", WAITS_ALWAYS },  { "sync", WAITS_ALWAYS },     { "vsync", WAITS_ALWAYS },
        { "pvsync", WAITS_ALWAYS }, { "pvsync2", WAITS_ALWAYS },  { "mmap", WAITS_ALWAYS },
        { "libaio", WAITS_BUFFERED }, { "io_uring", WAITS_NEVER }, { "posixaio", WAITS_NEVER },
};

static const struct {
        const char *name;
        bool reads, writes, random;
} directions[] = {
        { "read", true, false, false },     { "write", false, true, false },    { "randread", true, false, true },
        { "randwrite", false, true, true }, { "rw", true, true, false },        { "readwrite", true, true, false },
        { "randrw", true, true, true },
};

static int find_option(const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (streq(options[i].name, name))
                        return (int) i;
        return -ENOENT;
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

int profile_size(const char *s, uint64_t *ret)
{
        static const char units[] = "kmgt";
        char digits[24] = "";
        size_t n = strspn(s, "0123456789");
        const char *rest = s + n, *unit;
        unsigned long long value;
        unsigned shift = 0;
        int r;

        if (n >= sizeof(digits))
                return -ERANGE;
        memcpy(digits, s, n);
        r = parse_uint(digits, 10, UINT64_MAX, &value);
        if (r < 0)
                return r;
        if (*rest && (unit = strchr(units, tolower((unsigned char) *rest)))) {
                shift = 10 * (unsigned) (unit - units + 1);
                rest++;
        }
        /* "KiB" is 1000 to fio unless kb_base= says otherwise: nobody means that. */
        if (strcasecmp(rest, "b") == 0)
                rest++;
        if (*rest)
                return -EINVAL;
        if (value > UINT64_MAX >> shift)
                return -ERANGE;
        *ret = (uint64_t) value << shift;
        return 0;
}

static int parse_count(const char *s, unsigned max, unsigned *ret)
{
        unsigned long long value;
        int r = parse_uint(s, 10, max, &value);

        if (r < 0 || value == 0)
                return -EINVAL;
        *ret = (unsigned) value;
        return 0;
}

/* Seconds, as fio has them without a unit. */
static int parse_seconds(const char *s, unsigned *ret)
{
        static const struct {
                const char *name;
                unsigned seconds;
        } units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
        char digits[16] = "";
        size_t n = strspn(s, "0123456789");
        unsigned long long value;

        if (n >= sizeof(digits))
                return -EINVAL;
        memcpy(digits, s, n);
        if (parse_uint(digits, 10, UINT_MAX / 3600, &value) < 0)
                return -EINVAL;
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (strcasecmp(s + n, units[i].name) == 0) {
                        *ret = (unsigned) value * units[i].seconds;
                        return 0;
                }
        return -EINVAL;
}

static int parse_flag(const char *s, bool invert, bool *ret)
{
        if (!streq(s, "0") && !streq(s, "1"))
                return -EINVAL;
        *ret = streq(s, "1") != invert;
        return 0;
}

static int parse_percent(const char *s, bool invert, unsigned *ret)
{
        unsigned long long value;

        if (parse_uint(s, 10, 100, &value) < 0)
                return -EINVAL;
        *ret = invert ? 100 - (unsigned) value : (unsigned) value;
        return 0;
}

/* A number of writes, which fio takes with units as well. */
static int parse_writes(const char *s, unsigned *ret)
{
        uint64_t value;
        int r = profile_size(s, &value);

        if (r < 0 || value > INT_MAX)
                return -EINVAL;
        *ret = (unsigned) value;
        return 0;
}

/* Block sizes are one, the same both ways. */
static int parse_block(const char *s, uint64_t *ret)
{
        uint64_t value;
        int r = profile_size(s, &value);

        if (r < 0 || value < 512 || value > (1ULL << 30))
                return -EINVAL;
        *ret = value;
        return 0;
}

static int set_string(char **ret, const char *s)
{
        char *copy = strdup(s);

        if (!copy)
                return -ENOMEM;
        free(*ret);
        *ret = copy;
        return 0;
}

/* mix: what rwmixread says, used if it reads and writes. */
static int apply(struct bench_pattern *p, unsigned *mix, const struct profile_option *o)
{
        int at = find_option(o->name);

        switch (at < 0 ? KIND_FREE : options[at].kind) {
        case KIND_RW:
                return find_direction(o->value) < 0 ? -EINVAL : set_string(&p->rw, o->value);
        case KIND_ENGINE:
                return find_engine(o->value) < 0 ? -EINVAL : set_string(&p->engine, o->value);
        case KIND_BLOCK:
                return parse_block(o->value, &p->block_size);
        case KIND_SIZE:
                p->size = 0;
                return streq(o->value, "100%") ? 0 : profile_size(o->value, &p->size);
        case KIND_DEPTH:
                return parse_count(o->value, DEPTH_MAX, &p->iodepth);
        case KIND_JOBS:
                return parse_count(o->value, JOBS_MAX, &p->numjobs);
        case KIND_RUNTIME:
                return parse_seconds(o->value, &p->runtime_sec);
        case KIND_RAMP:
                return parse_seconds(o->value, &p->ramp_sec);
        case KIND_TIME_BASED:
                return parse_flag(o->value, false, &p->time_based);
        case KIND_DIRECT:
                return parse_flag(o->value, false, &p->direct);
        case KIND_BUFFERED:
                return parse_flag(o->value, true, &p->direct);
        case KIND_MIX_READ:
                return parse_percent(o->value, false, mix);
        case KIND_MIX_WRITE:
                return parse_percent(o->value, true, mix);
        case KIND_FSYNC:
                return parse_writes(o->value, &p->fsync);
        case KIND_FDATASYNC:
                return parse_writes(o->value, &p->fdatasync);
        case KIND_ZERO:
                return streq(o->value, "0") ? 0 : -EINVAL;
        case KIND_FREE:
                return 0;
        }
        return -EINVAL;
}

const char *profile_option_fault(const char *name, const char *value)
{
        struct bench_pattern p = {};
        unsigned mix;
        int r;

        if (find_option(name) < 0)
                return "a profile cannot have this option";
        /* fio would put environment variables and its own there. */
        if (!*value || strchr(value, '$'))
                return "value not understood";
        r = apply(&p, &mix, &(struct profile_option){ (char *) name, (char *) value });
        bench_pattern_done(&p);
        return r == -EINVAL || r == -ERANGE ? "value not understood" : NULL;
}

/* What each option may be, but not all of them together. */
static const char *contradiction(const struct bench_pattern *p, bool mixes, unsigned mix)
{
        if (p->size && p->size < p->block_size)
                return "size= has no room for a block of bs=";
        if (p->time_based && !p->runtime_sec)
                return "time_based without runtime= would never end";
        /* It would still open for writing, and look like reading. */
        if (mixes && (mix == 0 || mix == 100))
                return "what reads and writes takes an rwmixread= from 1 to 99";
        return NULL;
}

int profile_pattern(const struct profile_section *s, struct bench_pattern *ret, const char **ret_fault)
{
        /* fio's own defaults on Linux. */
        struct bench_pattern p = { .block_size = 4096, .iodepth = 1, .numjobs = 1 };
        unsigned mix = 50;
        enum waits waits;
        int r, rw = 0;

        r = set_string(&p.rw, "read");
        if (r >= 0)
                r = set_string(&p.engine, "psync");
        for (size_t i = 0; i < s->n_options && r >= 0; i++)
                r = apply(&p, &mix, &s->options[i]);
        if (r >= 0) {
                rw = find_direction(p.rw);
                p.random = directions[rw].random;
                p.read_percent = !directions[rw].writes ? 100 : !directions[rw].reads ? 0 : mix;
                *ret_fault = contradiction(&p, directions[rw].writes && directions[rw].reads, mix);
                r = *ret_fault ? -EINVAL : 0;
        }
        if (r < 0) {
                bench_pattern_done(&p);
                return r == -ENOMEM ? r : -EINVAL;
        }
        waits = engines[find_engine(p.engine)].waits;
        p.sync_engine = waits == WAITS_ALWAYS || (waits == WAITS_BUFFERED && !p.direct);
        *ret = p;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Profiles of uasctl bench: the shipped ones, and files that users write. */
#include <fcntl.h>
#include <sys/stat.h>

#include "../unit/unit.h"
#include "bench/measure/profile.h"
#include "common/names.h"

static char tree[] = "/tmp/uasd-profiles-XXXXXX";
static struct roots roots;

static char fault[PROFILE_FAULT_MAX];

/* The fault, or NULL. */
static const char *parse(const char *text, struct profile **ret)
{
        return profile_parse("x", "x.fio", text, strlen(text), fault, ret) < 0 ? fault : NULL;
}

static const struct bench_pattern *find(const struct profile *p, const char *name)
{
        for (size_t i = 0; i < p->n_patterns; i++)
                if (streq(p->patterns[i].name, name))
                        return &p->patterns[i];
        fail_msg("%s has no %s", p->name, name);
        return NULL;
}

#define K 1024ULL
#define M (1024 * K)
#define G (1024 * M)

/* facts as published, a row a section */
static void shipped(void **state)
{
        static const struct {
                const char *profile, *section, *rw, *engine;
                uint64_t block, size;
                unsigned depth, jobs, read_percent, runtime, ramp;
                bool direct, sync, time_based;
        } rows[] = {
                {"cdm", "SEQ1M-Q8T1-read", "read", "libaio", M, 5 * G, 8, 1, 100, 5, 0, true, false, true},
                {"cdm", "SEQ1M-Q1T1-read", "read", "libaio", M, 5 * G, 1, 1, 100, 5, 0, true, false, true},
                {"cdm", "RND4K-Q32T1-read", "randread", "libaio", 4 * K, 5 * G, 32, 1, 100, 5, 0, true, false, true},
                {"cdm", "RND4K-Q1T1-read", "randread", "libaio", 4 * K, 5 * G, 1, 1, 100, 5, 0, true, false, true},
                {"cdm", "SEQ1M-Q8T1-write", "write", "libaio", M, 5 * G, 8, 1, 0, 10, 0, true, false, true},
                {"cdm", "SEQ1M-Q1T1-write", "write", "libaio", M, 5 * G, 1, 1, 0, 10, 0, true, false, true},
                {"cdm", "RND4K-Q32T1-write", "randwrite", "libaio", 4 * K, 5 * G, 32, 1, 0, 10, 0, true, false, true},
                {"cdm", "RND4K-Q1T1-write", "randwrite", "libaio", 4 * K, 5 * G, 1, 1, 0, 10, 0, true, false, true},
                {"gcp", "write_throughput", "write", "libaio", M, 10 * G, 64, 8, 0, 60, 2, true, false, true},
                {"gcp", "write_iops", "randwrite", "libaio", 4 * K, 10 * G, 256, 1, 0, 60, 2, true, false, true},
                {"gcp", "read_throughput", "read", "libaio", M, 10 * G, 64, 8, 100, 60, 2, true, false, true},
                {"gcp", "read_iops", "randread", "libaio", 4 * K, 10 * G, 256, 1, 100, 60, 2, true, false, true},
                {"gcp", "rw_iops", "randrw", "libaio", 4 * K, 10 * G, 256, 1, 50, 60, 2, true, false, true},
                {"engines", "libaio-randread", "randread", "libaio", 4 * K, G, 64, 1, 100, 1000, 0, true, false, false},
                {"engines", "libaio-read", "read", "libaio", 4 * K, G, 64, 1, 100, 1000, 0, true, false, false},
                {"engines", "libaio-randwrite", "randwrite", "libaio", 4 * K, G, 64, 1, 0, 1000, 0, true, false, false},
                {"engines", "libaio-write", "write", "libaio", 4 * K, G, 64, 1, 0, 1000, 0, true, false, false},
                {"engines", "sync-randread", "randread", "sync", 4 * K, G, 64, 1, 100, 1000, 0, true, true, false},
                {"engines", "sync-write", "write", "sync", 4 * K, G, 64, 1, 0, 1000, 0, true, true, false},
                {"matrix", "seq-read-1", "read", "psync", 128 * K, 10 * G, 1, 1, 100, 120, 0, true, true, true},
                {"matrix", "seq-read-64", "read", "psync", 128 * K, 10 * G, 1, 64, 100, 120, 0, true, true, true},
                {"matrix", "rand-read-4", "randread", "psync", 4 * K, 10 * G, 1, 4, 100, 120, 0, true, true, true},
                {"matrix", "rand-read-16", "randread", "psync", 4 * K, 10 * G, 1, 16, 100, 120, 0, true, true, true},
                {"matrix", "seq-write-16", "write", "psync", 128 * K, 10 * G, 1, 16, 0, 0, 0, true, true, false},
                {"matrix", "rand-write-64", "randwrite", "psync", 4 * K, 10 * G, 1, 64, 0, 0, 0, true, true, false},
                {"pi", "hdparm-buffered", "read", "psync", 2 * M, 0, 1, 1, 100, 3, 0, false, true, true},
                {"pi", "hdparm-direct", "read", "psync", 2 * M, 0, 1, 1, 100, 3, 0, true, true, true},
                {"pi", "randrw-Q1T1", "randrw", "psync", 4 * K, G, 1, 1, 50, 0, 0, false, true, false},
                {"pi", "randrw-Q32T16", "randrw", "psync", 4 * K, G, 32, 16, 50, 0, 0, false, true, false},
                {"pi", "sysbench-rndrw", "randrw", "psync", 16 * K, 2 * G, 1, 1, 60, 10, 0, false, true, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = NULL;
                const struct bench_pattern *b;

                assert_row(i, profile_load(&roots, rows[i].profile, fault, &p) == 0);
                b = find(p, rows[i].section);
                assert_row(i, streq(b->rw, rows[i].rw) && streq(b->engine, rows[i].engine));
                assert_row(i, b->block_size == rows[i].block && b->size == rows[i].size);
                assert_row(i, b->iodepth == rows[i].depth && b->numjobs == rows[i].jobs);
                assert_row(i, b->read_percent == rows[i].read_percent && bench_pattern_writes(b) == (b->read_percent < 100));
                assert_row(i, b->runtime_sec == rows[i].runtime && b->ramp_sec == rows[i].ramp);
                assert_row(i, b->direct == rows[i].direct && b->sync_engine == rows[i].sync);
                assert_row(i, b->fsync == (streq(rows[i].section, "sysbench-rndrw") ? 40 : 0) && b->fdatasync == 0);
                assert_row(i, b->time_based == rows[i].time_based && b->random == (strncmp(b->rw, "rand", 4) == 0));
        }
}

/* Whether the last setting of that option in a section has this value. NULL: any. */
static bool has_option(const struct profile *p, const char *section, const char *name, const char *value)
{
        bool has = false;

        for (size_t i = 0; i < p->n_patterns; i++)
                for (const char *line = p->patterns[i].section; *line && streq(p->patterns[i].name, section);) {
                        size_t n = strlen(name), length = strcspn(line, "\n");

                        if (strncmp(line, name, n) == 0 && line[n] == '=')
                                has = !value ||
                                      (length - n - 1 == strlen(value) && strncmp(line + n + 1, value, length - n - 1) == 0);
                        line += length + 1;
                }
        return has;
}

/* Options that only fio interprets, and those that bench sets itself. */
static void shipped_options(void **state)
{
        static const struct {
                const char *profile, *section, *name, *value;
                size_t patterns, writes;
        } rows[] = {
                {"gcp", "read_throughput", "iodepth_batch_submit", "64", 5, 3},
                {"gcp", "rw_iops", "iodepth_batch_complete_max", "256", 5, 3},
                {"gcp", "rw_iops", "verify", "0", 5, 3},
                {"matrix", "rand-write-16", "fallocate", "none", 16, 8},
                {"matrix", "seq-read-4", "nrfiles", "1", 16, 8},
                {"pi", "sysbench-rndrw", "fsync", "40", 5, 3},
                {"pi", "randrw-Q32T16", "thread", NULL, 5, 3},
                {"engines", "sync-read", "direct", "1", 8, 4},
                {"cdm", "SEQ1M-Q1T1-write", "runtime", NULL, 8, 4},
                {"gcp", "rw_iops", "size", NULL, 5, 3},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = NULL;

                assert_row(i, profile_load(&roots, rows[i].profile, fault, &p) == 0);
                assert_row(i, has_option(p, rows[i].section, rows[i].name, rows[i].value) == !!rows[i].value);
                assert_row(i, p->n_patterns == rows[i].patterns);
                assert_row(i, profile_drop_writes(p) == rows[i].writes);
                assert_row(i, p->n_patterns == rows[i].patterns - rows[i].writes);
                for (size_t j = 0; j < p->n_patterns; j++)
                        assert_row(i, !bench_pattern_writes(&p->patterns[j]));
        }
}

static void inheritance(void **state)
{
        static const char text[] = "; two kinds of comment # both\n"
                                   "\n"
                                   "  [global]\n"
                                   "rw=randread ; random\n"
                                   "   bs = 8K\n"
                                   "direct\n"
                                   "[first]\r\n"
                                   "[second]\n"
                                   "bs=64k\n"
                                   "iodepth=4\n"
                                   "[global]\n"
                                   "buffered=1\n"
                                   "ioengine=libaio#x\n"
                                   "[third]\n"
                                   "numjobs=3";
        _cleanup_(profile_freep) struct profile *p = NULL;
        const struct bench_pattern *b;

        if (parse(text, &p))
                fail_msg("%s", fault);
        assert_int_equal(p->n_patterns, 3);
        b = find(p, "first");
        assert_true(b->random && b->direct && b->block_size == 8 * K && b->iodepth == 1 && streq(b->engine, "psync"));
        b = find(p, "second");
        assert_true(b->random && b->direct && b->block_size == 64 * K && b->iodepth == 4 && streq(b->engine, "psync"));
        b = find(p, "third");
        assert_true(b->random && !b->direct && b->block_size == 8 * K && b->numjobs == 3 && streq(b->engine, "libaio"));
}

/* Engines for which the depth has no effect. libaio is one of them while it uses the page cache. */
static void waiting(void **state)
{
        static const struct {
                const char *text;
                bool sync;
        } rows[] = {
                /* clang-format off */
                {"ioengine=psync\ndirect=1\n", true},
                {"ioengine=io_uring\n", false},
                {"ioengine=posixaio\n", false},
                {"ioengine=libaio\n", true},
                {"ioengine=libaio\nbuffered=1\n", true},
                {"ioengine=libaio\ndirect=0\n", true},
                {"ioengine=libaio\ndirect=1\n", false},
                {"ioengine=libaio\nbuffered=0\n", false},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = NULL;
                _cleanup_free_ char *text = NULL;

                assert_true(asprintf(&text, "[x]\nrw=randread\niodepth=32\n%s", rows[i].text) > 0);
                assert_row(i, profile_parse("x", "x.fio", text, strlen(text), fault, &p) == 0);
                assert_row(i, p->patterns[0].sync_engine == rows[i].sync);
        }
}

static void faults(void **state)
{
        static const struct {
                const char *text, *what;
                int line;
        } rows[] = {
                {"", "no section but [global]", 0},
                {"[global]\nrw=read\n", "no section but [global]", 0},
                {"rw=read\n[a]\n", "an option before the first section", 1},
                {"[a\n", "']' is missing", 1},
                {"[]\n", "a section without a name", 1},
                {"[a]\n\n[a]\n", "a section of this name was there before", 3},
                {"[a]\ninclude other.fio\n", "not an OPTION=VALUE line", 2},
                {"[a]\nrw=trim\n", "rw=trim: value not understood", 2},
                {"[a]\nrw=randtrimwrite\n", "rw=randtrimwrite: value not understood", 2},
                {"[a]\nrw=read:8\n", "rw=read:8: value not understood", 2},
                {"[a]\nioengine=exec\n", "ioengine=exec: value not understood", 2},
                {"[a]\nbs=4k,8k\n", "bs=4k,8k: value not understood", 2},
                {"[a]\nbs=0\n", "bs=0: value not understood", 2},
                {"[a]\nbs=1Ki\n", "bs=1Ki: value not understood", 2},
                {"[a]\nbs=\n", "bs=: value not understood", 2},
                {"[a]\nsize=50%\n", "size=50%: value not understood", 2},
                {"[a]\nsize=99999999999g\n", "size=99999999999g: value not understood", 2},
                {"[a]\niodepth=0\n", "iodepth=0: value not understood", 2},
                {"[a]\nnumjobs=-1\n", "numjobs=-1: value not understood", 2},
                {"[a]\nnumjobs=4096\n", "numjobs=4096: value not understood", 2},
                {"[a]\nruntime=5ms\n", "runtime=5ms: value not understood", 2},
                {"[a]\ndirect=yes\n", "direct=yes: value not understood", 2},
                {"[a]\nrwmixread=101\n", "rwmixread=101: value not understood", 2},
                {"[a]\n[b]\nrw=randrw\nrwmixread=100\n", "[b]: a pattern that reads and writes needs an rwmixread= from 1 to 99",
                 0},
                {"[a]\ntime_based\n", "[a]: time_based without runtime= would never end", 0},
                {"[a]\nbs=1m\nsize=4k\n", "[a]: size= has no room for a block of bs=", 0},
                {"[a]\nfsync=-1\n", "fsync=-1: value not understood", 2},
                {"[a]\nfdatasync=3g\n", "fdatasync=3g: value not understood", 2},
                {"[a]\nbs:4k\n", "not an OPTION=VALUE line", 2},
                {"[a]\nrw read\n", "not an OPTION=VALUE line", 2},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = NULL;
                char want[PROFILE_FAULT_MAX];

                if (rows[i].line > 0)
                        (void) snprintf(want, sizeof(want), "x.fio:%i: %s", rows[i].line, rows[i].what);
                else
                        (void) snprintf(want, sizeof(want), "x.fio: %s", rows[i].what);
                if (!parse(rows[i].text, &p) || !streq(fault, want))
                        fail_msg("row %zu: %s", i, p ? "accepted" : fault);
        }
}

static void sizes(void **state)
{
        static const struct {
                const char *text;
                int r;
                uint64_t value;
        } rows[] = {
                {"0", 0, 0},
                {"4096", 0, 4096},
                {"4k", 0, 4096},
                {"4K", 0, 4096},
                {"4kb", 0, 4096},
                {"4B", 0, 4},
                {"1M", 0, M},
                {"10g", 0, 10 * G},
                {"10GB", 0, 10 * G},
                {"2t", 0, 2048 * G},
                {"18446744073709551615", 0, UINT64_MAX},
                {"18446744073709551616", -ERANGE, 0},
                {"18446744073709551615k", -ERANGE, 0},
                {"999999999999999999999999999", -ERANGE, 0},
                {"", -EINVAL, 0},
                {"k", -EINVAL, 0},
                {"-1", -EINVAL, 0},
                {"1 k", -EINVAL, 0},
                {"1kk", -EINVAL, 0},
                {"0x10", -EINVAL, 0},
                {"1.5g", -EINVAL, 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t value = 0;

                assert_row(i, profile_size(rows[i].text, &value) == rows[i].r && value == rows[i].value);
        }
}

static void put(const char *path, const char *text)
{
        FILE *f;
        int fd = openat(roots.etc, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0 && (f = fdopen(fd, "w")) && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The user's own come first. A broken one hides the shipped one. */
static void search(void **state)
{
        static const char *const names[] = {"cdm", "engines", "gcp", "matrix", "mine", "pi"};
        _cleanup_(profile_freep) struct profile *mine = NULL, *pi = NULL, *broken = NULL;
        char **list;

        put(BENCH_DIR "/mine.fio", "[a]\nbs=512\n");
        put(BENCH_DIR "/pi.fio", "[b]\n[c]\n");
        put(BENCH_DIR "/.hidden.fio", "[a]\n");
        put(BENCH_DIR "/with blank.fio", "[a]\n");
        put(BENCH_DIR "/other.txt", "[a]\n");
        assert_int_equal(profile_load(&roots, "mine", fault, &mine), 0);
        assert_true(mine->n_patterns == 1 && mine->patterns[0].block_size == 512 && streq(mine->name, "mine"));
        assert_int_equal(profile_load(&roots, "pi", fault, &pi), 0);
        assert_true(pi->n_patterns == 2);

        list = profile_names(&roots);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_string_equal(list[i], names[i]);
        assert_null(list[ELEMENTSOF(names)]);
        strv_free(list);

        put(BENCH_DIR "/pi.fio", "[b]\nrw=trim\n");
        assert_int_equal(profile_load(&roots, "pi", fault, &broken), -EBADMSG);
        assert_string_equal(fault, "/etc/uasd/bench/pi.fio:2: rw=trim: value not understood");
        assert_int_equal(profile_load(&roots, "none", fault, &broken), -ENOENT);
        assert_int_equal(profile_load(&roots, "../bench/mine", fault, &broken), -EINVAL);
        assert_int_equal(profile_load(&roots, "", fault, &broken), -EINVAL);
        assert_int_equal(profile_load(&roots, ".hidden", fault, &broken), -EINVAL);
}

/* Files with the name of a profile that are none. */
static void no_files(void **state)
{
        static const struct {
                const char *name, *what;
        } rows[] = {
                {"folder", "no regular file"},
                {"fifo", "no regular file"},
                {"dangling", "a link that leads nowhere"},
                {"circle", "a link that leads nowhere"},
                {"gcp", "a link that leads nowhere"}, /* the shipped profile does not replace it */
        };
        char **list;

        assert_int_equal(mkdirat(roots.etc, BENCH_DIR "/folder.fio", 0755), 0);
        assert_int_equal(mkfifoat(roots.etc, BENCH_DIR "/fifo.fio", 0644), 0);
        assert_int_equal(symlinkat("nowhere", roots.etc, BENCH_DIR "/dangling.fio"), 0);
        assert_int_equal(symlinkat("circle.fio", roots.etc, BENCH_DIR "/circle.fio"), 0);
        assert_int_equal(symlinkat("nowhere", roots.etc, BENCH_DIR "/gcp.fio"), 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = NULL;
                char want[PROFILE_FAULT_MAX];

                (void) snprintf(want, sizeof(want), "/etc/uasd/bench/%s.fio: %s", rows[i].name, rows[i].what);
                assert_row(i, profile_load(&roots, rows[i].name, fault, &p) == -EBADMSG);
                assert_row(i, streq(fault, want));
        }
        list = profile_names(&roots);
        for (char **name = list; *name; name++)
                for (size_t i = 0; i + 1 < ELEMENTSOF(rows); i++)
                        assert_false(streq(*name, rows[i].name));
        strv_free(list);
        assert_int_equal(unlinkat(roots.etc, BENCH_DIR "/gcp.fio", 0), 0);
}

static int set_up(void **state)
{
        static const char *const folders[] = {"sys", "etc",     "etc/uasd",  "etc/uasd/bench",
                                              "usr", "usr/lib", "usr/share", "usr/share/uasd"};
        char path[128];

        if (!mkdtemp(tree))
                return -1;
        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", tree, folders[i]);
                if (mkdir(path, 0755) < 0)
                        return -1;
        }
        (void) snprintf(path, sizeof(path), "%s/usr/share/uasd/bench", tree);
        return symlink(getenv("UASD_PROFILES"), path) < 0 ? -1 : roots_open(&roots, tree);
}

static int tear_down(void **state)
{
        char command[128];

        roots_close(&roots);
        (void) snprintf(command, sizeof(command), "rm -r %s", tree);
        return system(command) == 0 ? 0 : -1;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shipped), cmocka_unit_test(shipped_options), cmocka_unit_test(inheritance),
                cmocka_unit_test(waiting), cmocka_unit_test(faults),          cmocka_unit_test(sizes),
                cmocka_unit_test(search),  cmocka_unit_test(no_files),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}

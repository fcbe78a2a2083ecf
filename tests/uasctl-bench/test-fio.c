/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fio itself, as uasctl bench runs it, on a file. Exits with 77 if fio is not installed. */
#include <fcntl.h>
#include <linux/loop.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "../unit/unit.h"
#include "bench/measure/fio.h"
#include "sys/io/roots.h"

#define MIB (1ULL << 20)
#define FILE_SIZE (16 * MIB)

static char folder[] = "/var/tmp/uasd-bench-XXXXXX", path[64];
static bool direct; /* whether the file system there supports it */

static struct profile *make_profile(const char *text)
{
        char fault[PROFILE_FAULT_MAX];
        struct profile *p;

        assert_int_equal(profile_parse("x", "x", text, strlen(text), fault, &p), 0);
        return p;
}

static struct fio_job first_job(const struct profile *p)
{
        return (struct fio_job){.pattern = &p->patterns[0], .path = path};
}

/* fio must accept every shipped profile, and every job that uasctl makes of it. */
static void fio_accepts(void **state)
{
        static const char *const names[] = {"cdm", "engines", "gcp", "matrix", "pi"};
        _cleanup_free_ char *broken = NULL;
        char file[512];

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_(profile_freep) struct profile *p = NULL;
                char text[65536] = "";
                FILE *f;

                (void) snprintf(file, sizeof(file), "%s/%s.fio", getenv("UASD_PROFILES"), names[i]);
                assert_true((f = fopen(file, "re")) && fread(text, 1, sizeof(text) - 1, f) > 0 && fclose(f) == 0);
                p = make_profile(text);
                for (size_t j = 0; j <= p->n_patterns; j++) {
                        _cleanup_free_ char *job = NULL, *why = NULL;

                        if (j < p->n_patterns)
                                job = fio_job_text(&(struct fio_job){.pattern = &p->patterns[j]}, "/proc/self/fd/4", MIB);
                        if (fio_ask("--parse-only", job ?: text, &why) != 0)
                                fail_msg("%s: %s", file, why);
                }
        }
        assert_int_equal(fio_ask("--parse-only", (char *) "[a]\nsuch_an_option=1\n", &broken), -EBADMSG);
        assert_non_null(broken);
}

static void says_version(void **state)
{
        _cleanup_free_ char *version = NULL;

        assert_int_equal(fio_ask("--version", NULL, &version), 0);
        assert_int_equal(strncmp(version, "fio-", 4), 0);
        assert_null(strchr(version, '\n'));
}

static int count(void *userdata)
{
        int *calls = userdata;

        (*calls)++;
        return 0;
}

static void runs(void **state)
{
        static const struct {
                const char *text;
                uint64_t bytes, region; /* bytes: 0: any number */
                double depth_share;     /* at least */
                bool writes;
        } rows[] = {
                {"[a]\nrw=read\nbs=1m\nsize=4m\n", 4 * MIB, 4 * MIB, 1, false},
                /* bench decides what is measured. */
                {"[a]\nrw=read\nbs=1m\nsize=4m\nfilename=/none/x\ndirectory=/none\noffset=15m\n", 4 * MIB, 4 * MIB, 1, false},
                {"[a]\nrw=randread\nbs=4k\nsize=4m\niodepth=8\nioengine=libaio\ndirect=1\n", 4 * MIB, 4 * MIB, 0.9, false},
                /* Each of four jobs has its own quarter of the file. */
                {"[a]\nrw=read\nbs=64k\nnumjobs=4\n", FILE_SIZE, FILE_SIZE, 1, false},
                {"[a]\nrw=randrw\nrwmixread=60\nbs=4k\nsize=1m\nfsync=40\niodepth=32\n", MIB, MIB, 1, true},
                {"[a]\nrw=write\nbs=1m\nsize=2m\nnumjobs=2\n", 4 * MIB, 4 * MIB, 1, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = make_profile(rows[i].text);
                _cleanup_free_ char *why = NULL;
                struct fio_job job = first_job(p);
                struct bench_run run = {};
                int calls = 0, r;

                if (p->patterns[0].direct && !direct)
                        continue;
                job.writes = rows[i].writes;
                job.tick = count;
                job.userdata = &calls;
                r = fio_run(&job, &run, &why);
                if (r < 0 || run.error)
                        fail_msg("row %zu: %s: %s", i, strerror(r < 0 ? -r : -run.error), why);
                assert_row(i, !why && run.region == rows[i].region && run.started_usec > 0);
                assert_row(i, run.read.bytes + run.write.bytes == rows[i].bytes);
                assert_row(i, (run.read.ios + run.write.ios) * p->patterns[0].block_size == rows[i].bytes);
                assert_row(i, (run.read.ios > 0) == (p->patterns[0].read_percent > 0));
                assert_row(i, (run.write.ios > 0) == rows[i].writes);
                assert_row(i, run.depth_share >= rows[i].depth_share && run.depth_share <= 1);
                if (run.read.ios > 0)
                        assert_row(i, run.read.p50_ns > 0 && run.read.p50_ns <= run.read.p95_ns &&
                                              run.read.p95_ns <= run.read.p99_ns && run.read.mean_ns > 0 &&
                                              run.read.slat_mean_ns < run.read.mean_ns);
        }
}

static uint64_t digest(void)
{
        uint64_t sum = 0, word;
        FILE *f = fopen(path, "re");

        assert_non_null(f);
        while (fread(&word, sizeof(word), 1, f) == 1)
                sum = sum * 31 + word;
        (void) fclose(f);
        return sum;
}

/* Forbidden actions fail: no writes, no new file, and no run on anything but a disk or a file. */
static void refusals(void **state)
{
        static const struct {
                const char *text, *path;
                uint64_t offset;
                int r;
        } rows[] = {
                {"[a]\nrw=write\nsize=4k\n", path, 0, -EPERM},
                {"[a]\nrw=randrw\nrwmixread=99\nsize=4k\n", path, 0, -EPERM},
                {"[a]\nrw=read\nsize=4k\n", "/var/tmp/uasd-bench-there-is-none", 0, -ENOENT},
                {"[a]\nrw=read\nsize=4k\n", "/dev/null", 0, -ENODEV},
                {"[a]\nrw=read\nsize=4k\n", "/var/tmp", 0, -ENODEV},
                {"[a]\nrw=read\nsize=4k\n", path, FILE_SIZE, -ENOSPC},
                {"[a]\nrw=read\nbs=1m\n", path, FILE_SIZE - MIB + 1, -ENOSPC},
                {"[a]\nrw=read\nbs=1m\nnumjobs=17\n", path, 0, -ENOSPC},
        };
        uint64_t before = digest();

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = make_profile(rows[i].text);
                struct fio_job job = first_job(p);
                struct bench_run run;

                job.path = rows[i].path;
                job.offset = rows[i].offset;
                assert_row(i, fio_run(&job, &run, NULL) == rows[i].r);
        }
        assert_int_equal(access("/var/tmp/uasd-bench-there-is-none", F_OK), -1);
        assert_true(digest() == before);
}

/* A pattern that says it reads, but writes: fio's own check catches it. */
static void second_net(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=write\nsize=4k\n");
        _cleanup_free_ char *why = NULL;
        struct fio_job job = first_job(p);
        uint64_t before = digest();
        struct bench_run run;

        p->patterns[0].read_percent = 100;
        assert_int_equal(fio_run(&job, &run, &why), -EIO);
        assert_non_null(strstr(why, "read-only"));
        assert_true(digest() == before);
}

/* An error during the run is a result, and fio names it. */
static void error_is_told(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=read\nbs=1000\nsize=100000\ndirect=1\n");
        _cleanup_free_ char *why = NULL;
        struct fio_job job = first_job(p);
        struct bench_run run = {};

        if (!direct)
                skip();
        assert_int_equal(fio_run(&job, &run, &why), 0);
        assert_int_equal(run.error, -EINVAL);
        assert_non_null(strstr(why, "Invalid argument"));
}

static void no_fio(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\n");
        struct fio_job job = first_job(p);
        struct bench_run run;

        job.program = "/nowhere/fio";
        assert_int_equal(fio_run(&job, &run, NULL), -ENOENT);
        /* A program without output: no result, and no crash. */
        job.program = "/bin/true";
        assert_int_equal(fio_run(&job, &run, NULL), -EIO);
}

/* Stops the run after this number of calls. */
static int stop(void *userdata)
{
        int *calls = userdata;

        return --*calls <= 0 ? -ECANCELED : 0;
}

static double now(void)
{
        struct timespec t;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* The run leaves no zombie and no open file. */
static void assert_gone(void)
{
        siginfo_t info;

        assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
        assert_int_equal(errno, ECHILD);
}

static void stopped(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=randread\nbs=4k\nnumjobs=4\ntime_based\nruntime=30\n");
        struct fio_job job = first_job(p);
        int calls = 10;
        struct bench_run run;
        double began = now();

        job.tick = stop;
        job.userdata = &calls;
        assert_int_equal(fio_run(&job, &run, NULL), -ECANCELED);
        assert_true(now() - began < 20);
        assert_true(now() - began > 1); /* fio was running */
        assert_gone();
}

/* A program that ignores the signal is killed. */
static void stubborn(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=read\n");
        struct fio_job job = first_job(p);
        int calls = 1;
        struct bench_run run;
        char program[80];
        double began;
        FILE *f;

        (void) snprintf(program, sizeof(program), "%s/stubborn", folder);
        assert_true((f = fopen(program, "we")) && fputs("#!/bin/sh\ntrap '' INT\nwhile :; do sleep 0.2; done\n", f) >= 0 &&
                    fclose(f) == 0 && chmod(program, 0755) == 0);
        job.program = program;
        began = now();
        job.tick = stop;
        job.userdata = &calls;
        assert_int_equal(fio_run(&job, &run, NULL), -ECANCELED);
        assert_true(now() - began >= 3 && now() - began < 20);
        assert_gone();
}

/* A program in place of fio that holds a FIFO open for a minute. */
static void make_keeper(const char *program, const char *fifo)
{
        FILE *f = fopen(program, "we");

        assert_true(f && fprintf(f, "#!/bin/sh\nexec 9>%s\necho x >&9\nexec sleep 60\n", fifo) > 0 && fclose(f) == 0);
        assert_int_equal(chmod(program, 0755), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
}

/* uasctl is killed: no run outlives it. Otherwise the disk would stay busy, and its driver could not be restored. */
static void dies_with_us(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=read\n");
        struct fio_job job = first_job(p);
        char program[80], fifo[80], text[2];
        struct pollfd ended;
        int status;
        pid_t pid;

        (void) snprintf(program, sizeof(program), "%s/keeper", folder);
        (void) snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
        make_keeper(program, fifo);
        job.program = program;
        pid = fork();
        if (pid == 0) {
                struct bench_run run;

                (void) fio_run(&job, &run, NULL);
                _exit(1);
        }
        ended = (struct pollfd){.fd = open(fifo, O_RDONLY | O_CLOEXEC), .events = POLLIN};
        assert_int_equal(read(ended.fd, text, sizeof(text)), 2);
        assert_int_equal(poll(&ended, 1, 0), 0); /* it is still running */
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(poll(&ended, 1, 10000), 1);
        assert_int_equal(read(ended.fd, text, sizeof(text)), 0);
        (void) close(ended.fd);
}

/* ---- file mode, and reads before a run ---- */

static void reads_once(void **state)
{
        _cleanup_(profile_freep) struct profile *p =
                make_profile("[a]\nrw=randread\nbs=4k\nsize=2m\nnumjobs=4\ntime_based\nruntime=60\n");
        struct fio_job job = first_job(p);
        int calls = 0;
        double began = now();

        job.tick = count;
        job.userdata = &calls;
        job.region = fio_region(job.pattern, FILE_SIZE);
        assert_int_equal(fio_prepare(&job, NULL), 0);
        assert_true(now() - began < 30); /* its size limits it, not its time */
        job.offset = FILE_SIZE - 4096 * 4;
        assert_int_equal(fio_prepare(&job, NULL), 0);
}

/* A script that runs fio and keeps a copy of its output. */
static void make_overheard(char *program, size_t size, char *said, size_t said_size)
{
        FILE *f;

        (void) snprintf(program, size, "%s/overheard", folder);
        (void) snprintf(said, said_size, "%s/said", folder);
        f = fopen(program, "we");
        assert_true(
                f &&
                fprintf(f,
                        "#!/bin/sh\n%s \"$@\"\nk=$?\nfor i; do case $i in --output=*) cp \"${i#*=}\" %s;; esac; done\nexit $k\n",
                        FIO_PROGRAM, said) > 0 &&
                fclose(f) == 0);
        assert_int_equal(chmod(program, 0755), 0);
}

/* In a sweep over regions all points are as warm as the first one. So the largest region is read, not the first one. */
static void reads_all_regions_once(void **state)
{
        static const struct {
                const char *text;
                uint64_t region, bytes;
        } rows[] = {
                {"[a]\nrw=randread\nbs=4k\nsize=2m\n", 12 * MIB, 12 * MIB},
                {"[a]\nrw=randread\nbs=4k\nsize=2m\n", 2 * FILE_SIZE, FILE_SIZE},
                {"[a]\nrw=randread\nbs=4k\nsize=2m\nnumjobs=3\n", 6 * MIB, 6 * MIB},
        };
        char program[80], said[80];

        make_overheard(program, sizeof(program), said, sizeof(said));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(profile_freep) struct profile *p = make_profile(rows[i].text);
                struct fio_job job = first_job(p);
                char text[65536] = "";
                struct bench_run run;
                FILE *f;

                job.program = program;
                job.region = rows[i].region;
                assert_row(i, fio_prepare(&job, NULL) == 0);
                assert_row(i, (f = fopen(said, "re")) && fread(text, 1, sizeof(text) - 1, f) > 0 && fclose(f) == 0);
                assert_row(i, fio_parse(text, 0, 1, 1, &run) == 0);
                assert_row(i, run.read.bytes == rows[i].bytes);
        }
}

/* Region and offset: a run that writes changes nothing outside. */
static void stays_inside(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=write\nbs=4k\nnumjobs=3\n");
        _cleanup_free_ unsigned char *data = malloc(FILE_SIZE);
        struct fio_job job = first_job(p);
        struct bench_run run;
        FILE *f = fopen(path, "we");

        assert_true(data && f);
        memset(data, 0, FILE_SIZE);
        assert_int_equal(fwrite(data, FILE_SIZE, 1, f), 1);
        assert_int_equal(fclose(f), 0);
        job.writes = true;
        job.offset = MIB;
        job.region = 3 * MIB;
        assert_int_equal(fio_run(&job, &run, NULL), 0);
        assert_int_equal(run.write.bytes, 3 * MIB);
        f = fopen(path, "re");
        assert_non_null(f);
        assert_int_equal(fread(data, FILE_SIZE, 1, f), 1);
        assert_int_equal(fclose(f), 0);
        for (uint64_t block = 0; block < FILE_SIZE / 4096; block++) {
                bool inside = block >= MIB / 4096 && block < 4 * MIB / 4096, zero = true;

                for (size_t i = 0; i < 4096 && zero; i++)
                        zero = data[block * 4096 + i] == 0;
                assert_row(block, zero == !inside);
        }
}

/* A loop device over the file. It ends with its last descriptor. Negative: not permitted here. */
static int make_loop(char *ret, size_t size)
{
        struct loop_info64 info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_READ_ONLY};
        int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n = -1, fd = -1, backing;

        if (control >= 0)
                n = ioctl(control, LOOP_CTL_GET_FREE);
        (void) close_keep_errno(control);
        (void) snprintf(ret, size, "/dev/loop%i", n);
        if (n >= 0)
                fd = open(ret, O_RDONLY | O_CLOEXEC);
        backing = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && (ioctl(fd, LOOP_SET_FD, backing) < 0 || ioctl(fd, LOOP_SET_STATUS64, &info) < 0))
                fd = close_keep_errno(fd);
        (void) close(backing);
        return fd;
}

/* The whole raw disk, while another process has claimed it, as the daemon's lease does. */
static void raw_disk(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=read\nbs=1m\nnumjobs=2\n");
        struct fio_job job = first_job(p);
        struct bench_run run = {};
        char disk[32], *why = NULL;
        int fd, claim;

        fd = make_loop(disk, sizeof(disk));
        if (fd < 0)
                skip();
        claim = open(disk, O_RDONLY | O_EXCL | O_CLOEXEC);
        assert_true(claim >= 0);
        job.path = disk;
        assert_int_equal(fio_run(&job, &run, &why), 0);
        if (run.error)
                fail_msg("%s", why);
        assert_true(run.read.bytes == FILE_SIZE && run.region == FILE_SIZE);
        (void) close(claim);
        (void) close(fd);
}

/* ---- several machines: two servers here ---- */

static unsigned free_port(void)
{
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof(a);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0 && bind(fd, (struct sockaddr *) &a, size) == 0 &&
                    getsockname(fd, (struct sockaddr *) &a, &size) == 0);
        (void) close(fd);
        return ntohs(a.sin_port);
}

static pid_t start_server(unsigned port)
{
        char argument[64];
        pid_t pid;

        (void) snprintf(argument, sizeof(argument), "--server=127.0.0.1,%u", port);
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR | O_CLOEXEC);

                (void) setpgid(0, 0);
                (void) dup2(null, STDOUT_FILENO);
                (void) dup2(null, STDERR_FILENO);
                (void) execl(FIO_PROGRAM, "fio", argument, (char *) NULL);
                _exit(127);
        }
        for (int i = 0; i < 100; i++) {
                struct sockaddr_in a = {
                        .sin_family = AF_INET, .sin_port = htons((uint16_t) port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

                r = connect(fd, (struct sockaddr *) &a, sizeof(a));
                (void) close(fd);
                if (r == 0)
                        return pid;
                (void) usleep(50000);
        }
        fail_msg("no server on port %u", port);
        return -1;
}

static void end_server(pid_t pid)
{
        int status;

        /* The server has a child for every machine that has connected. */
        (void) kill(-pid, SIGKILL);
        (void) waitpid(pid, &status, 0);
}

static void machines(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=read\nbs=64k\nsize=2m\nnumjobs=2\n");
        struct fio_job job = first_job(p);
        unsigned ports[2] = {free_port(), free_port()};
        pid_t servers[2] = {start_server(ports[0]), start_server(ports[1])};
        struct bench_run got[3];
        char text[64], **hosts, *why = NULL;
        int calls = 0, r;

        (void) snprintf(text, sizeof(text), "127.0.0.1:%u,127.0.0.1:%u", ports[0], ports[1]);
        assert_int_equal(hosts_parse(text, &hosts), 0);
        job.hosts = hosts;
        job.region = FILE_SIZE;
        for (size_t n = 1; n <= 2; n++) {
                job.n_hosts = n;
                job.tick = count;
                job.userdata = &calls;
                r = fio_run(&job, got, &why);
                if (r < 0)
                        fail_msg("%zu clients: %s: %s", n, strerror(-r), why);
                /* Two jobs each with 2 MiB of its own. */
                assert_row(n, got[0].read.bytes == n * 4 * MIB && got[0].read.ios == n * 64 && !*got[0].host);
                assert_row(n, got[0].region == n * 4 * MIB && got[1].region == 4 * MIB);
                assert_row(n, got[1].read.bytes == 4 * MIB && strncmp(got[1].host, "127.0.0.1:", 10) == 0);
                assert_row(n, got[0].read.p99_ns > 0 && got[0].error == 0 && got[0].depth_share >= 1);
        }

        /* --readonly does not keep a server from writing. */
        p->patterns[0].read_percent = 0;
        job.n_hosts = 1;
        assert_int_equal(fio_run(&job, got, NULL), -EPERM);
        p->patterns[0].read_percent = 100;
        job.path = "relative";
        assert_int_equal(fio_run(&job, got, NULL), -EINVAL);
        job.path = path;
        strv_free(hosts);

        /* A server that is not running. */
        (void) snprintf(text, sizeof(text), "127.0.0.1:%u,127.0.0.1:%u", ports[0], free_port());
        assert_int_equal(hosts_parse(text, &hosts), 0);
        job.hosts = hosts;
        job.n_hosts = 2;
        assert_int_equal(fio_run(&job, got, &why), -ECONNREFUSED);
        if (!strstr(why, "127.0.0.1"))
                fail_msg("%s", why);
        free(why);
        strv_free(hosts);
        end_server(servers[0]);
        end_server(servers[1]);
}

/* Digest of the offsets and lengths in fio's log of a run, in their order. */
static uint64_t places_of(const char *log)
{
        uint64_t sum = 0, offset, length;
        char line[512];
        FILE *f = fopen(log, "re");
        size_t n = 0;

        assert_non_null(f);
        while (fgets(line, sizeof(line), f)) {
                const char *at = strstr(line, " read ");

                if (!at || sscanf(at, " read %lu %lu", &offset, &length) != 2)
                        continue;
                sum = (sum * 31 + offset) * 31 + length;
                n++;
        }
        (void) fclose(f);
        assert_int_equal(n, 512);
        return sum;
}

/* The same seed gives the same places, under either driver. Another seed gives other places. */
static void seeds(void **state)
{
        _cleanup_(profile_freep) struct profile *p = make_profile("[a]\nrw=randread\nbs=4k\nsize=2m\n");
        static const uint64_t tried[] = {1000003, 1000003, 1000004};
        uint64_t places[ELEMENTSOF(tried)];
        struct fio_job job = first_job(p);
        char log[80];

        (void) snprintf(log, sizeof(log), "%s/places", folder);
        free(p->patterns[0].section);
        assert_true(asprintf(&p->patterns[0].section, "bs=4k\nwrite_iolog=%s\n", log) > 0);
        for (size_t i = 0; i < ELEMENTSOF(tried); i++) {
                struct bench_run run;

                job.seed = tried[i];
                assert_row(i, fio_run(&job, &run, NULL) == 0 && run.error == 0);
                places[i] = places_of(log);
                assert_int_equal(unlink(log), 0); /* fio would append to it */
        }
        assert_true(places[0] == places[1]);
        assert_true(places[0] != places[2]);
}

static int set_up(void **state)
{
        char *data = malloc(FILE_SIZE);
        int fd;

        if (!data || !mkdtemp(folder))
                return -1;
        for (size_t i = 0; i < FILE_SIZE; i++)
                data[i] = (char) (i * 2654435761U >> 13);
        (void) snprintf(path, sizeof(path), "%s/data:1", folder);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, data, FILE_SIZE) != (ssize_t) FILE_SIZE)
                return -1;
        (void) close(fd);
        free(data);
        fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
        direct = fd >= 0;
        (void) close_keep_errno(fd);
        return 0;
}

static int tear_down(void **state)
{
        char command[128];

        (void) snprintf(command, sizeof(command), "rm -r %s", folder);
        return system(command) == 0 ? 0 : -1;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(fio_accepts),  cmocka_unit_test(says_version), cmocka_unit_test(runs),
                cmocka_unit_test(refusals),     cmocka_unit_test(second_net),   cmocka_unit_test(error_is_told),
                cmocka_unit_test(no_fio),       cmocka_unit_test(stopped),      cmocka_unit_test(stubborn),
                cmocka_unit_test(dies_with_us), cmocka_unit_test(reads_once),   cmocka_unit_test(stays_inside),
                cmocka_unit_test(raw_disk),     cmocka_unit_test(machines),     cmocka_unit_test(reads_all_regions_once),
                cmocka_unit_test(seeds),
        };

        if (access(FIO_PROGRAM, X_OK) < 0)
                return 77;
        return cmocka_run_group_tests(tests, set_up, tear_down);
}

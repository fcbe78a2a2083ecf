/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/clients.h"

#include <ctype.h>
#include <sys/wait.h>

#include "bench/measure/fio-parts.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/program.h"

#define REMOVE_USEC (60 * USEC_PER_SEC)

/* ---- hosts ---- */

static bool is_host(const char *s, size_t n, bool v6)
{
        if (n == 0 || n > 253 || s[0] == '-')
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isalnum((unsigned char) s[i]) && !strchr(v6 ? ":.%" : "-._", s[i]))
                        return false;
        return true;
}

/* Converts "HOST", "HOST:PORT", "[IPV6]:PORT" to "HOST,PORT". In fio a colon would precede the type of the address. */
static int fio_address(const char *s, char *ret, size_t size)
{
        bool v6 = s[0] == '[';
        const char *end = v6 ? strchr(s, ']') : s + strcspn(s, ":"), *port;
        unsigned long long number = FIO_PORT;
        const char *host = s + v6;

        if (!end || !is_host(host, (size_t) (end - host), v6))
                return -EINVAL;
        port = end + v6;
        if (*port && (*port != ':' || parse_uint(port + 1, 10, 65535, &number) < 0 || number == 0))
                return -EINVAL;
        (void) snprintf(ret, size, "%s%.*s,%llu", v6 ? "ip6:" : "", (int) (end - host), host, number);
        return 0;
}

int clients_parse(const char *s, char ***ret)
{
        _cleanup_free_ char *copy = need(strdup(s));
        char **list = NULL, *rest = copy;
        size_t n = 0;
        int r = 0;

        for (char *word; r >= 0 && (word = strsep(&rest, ","));) {
                char address[300];

                r = n == FIO_JOBS_MAX ? -EINVAL : fio_address(word, address, sizeof(address));
                for (size_t i = 0; i < n && r >= 0; i++)
                        if (streq(list[i], address))
                                r = -EINVAL;
                if (r >= 0)
                        r = strv_push(&list, &n, address);
        }
        if (r >= 0)
                *ret = list;
        else
                strv_free(list);
        return r;
}

/* ---- the run ---- */

bool clients_path_ok(const char *path)
{
        size_t n = strlen(path);

        if (path[0] != '/' || isspace((unsigned char) path[n - 1]) || strpbrk(path, ";#$\\\""))
                return false;
        for (const char *p = path; *p; p++)
                if (iscntrl((unsigned char) *p))
                        return false;
        return true;
}

/* A colon would separate two names. Free it. */
static char *escape_path(const char *path)
{
        char *out = need(calloc(2, strlen(path) + 1)), *at = out;

        for (const char *p = path; *p; p++) {
                if (*p == ':')
                        *at++ = '\\';
                *at++ = *p;
        }
        return out;
}

/* One job file for each machine, each with its own region. */
static int execute(const struct fio_job *job, char *const *hosts, size_t n, uint64_t each, fio_progress_t cb, void *userdata,
                   struct fio_result *ret)
{
        char *jobs[FIO_JOBS_MAX + 1] = {}, *options[FIO_JOBS_MAX], clients[FIO_JOBS_MAX][512];
        _cleanup_free_ char *path = escape_path(job->path);
        int r;

        for (size_t i = 0; i < n; i++) {
                struct fio_job own = *job;

                own.offset += i * each * job->pattern->numjobs;
                own.seed += i;
                jobs[i] = fio_job_text(&own, path, each);
                (void) snprintf(clients[i], sizeof(clients[i]), "--client=%s", hosts[i]);
                options[i] = clients[i];
        }
        r = fio_execute(&(struct fio_call){job->program, {"--output-format=json"}, jobs, options, -1}, cb, userdata, ret);
        for (size_t i = 0; i < n; i++)
                free(jobs[i]);
        return r;
}

int clients_run(const struct fio_job *job, char *const *hosts, size_t n, fio_progress_t cb, void *userdata,
                struct bench_run **ret, char **ret_why)
{
        const struct bench_pattern *p = job->pattern;
        _cleanup_(fio_result_done) struct fio_result result = {};
        struct bench_run *runs = NULL;
        uint64_t each, started;
        int r;

        if (ret_why)
                *ret_why = NULL;
        /* A server ignores --readonly: this check is the only protection. */
        if (bench_pattern_writes(p) && !job->writes)
                return -EPERM;
        if (n == 0 || n > FIO_JOBS_MAX || !clients_path_ok(job->path))
                return -EINVAL;
        each = fio_region_each(p, job->region / n);
        if (each == 0)
                return -ENOSPC;
        started = now_realtime();
        r = execute(job, hosts, n, each, cb, userdata, &result);
        if (r < 0)
                return r;
        runs = need(calloc(n + 1, sizeof(*runs)));
        r = clients_parse_json(result.output, p->numjobs, p->sync_engine ? 1 : p->iodepth, runs, n + 1);
        /* If a server does not answer, fio goes on with the others and reports success. Without any server it ends. */
        if (r >= 0 && (size_t) r != n + 1)
                r = -ECONNREFUSED;
        else if (r == -EBADMSG)
                r = WIFEXITED(result.status) && WEXITSTATUS(result.status) != 0 ? -ECONNREFUSED : -EIO;
        if (ret_why && (r < 0 || runs[0].error))
                *ret_why = fio_words(&result);
        if (r < 0) {
                free(runs);
                return r;
        }
        for (size_t i = 0; i <= n; i++) {
                runs[i].started_usec = started;
                runs[i].region = each * p->numjobs * (i == 0 ? n : 1);
        }
        *ret = runs;
        return 0;
}

/* One job of the first machine. */
static int run_first(struct fio_job job, const char *rw, char *const *hosts, fio_progress_t cb, void *userdata, char **ret_why)
{
        struct bench_pattern p = {.block_size = 1U << 20, .iodepth = 1, .numjobs = 1, .sync_engine = true};
        struct bench_run *runs = NULL;
        int r;

        (void) copy_string(p.rw, sizeof(p.rw), rw);
        p.read_percent = job.writes ? 0 : 100;
        job.pattern = &p;
        r = clients_run(&job, hosts, 1, cb, userdata, &runs, ret_why);
        if (r >= 0)
                r = runs[0].error;
        free(runs);
        return r;
}

int clients_lay_out(const char *path, uint64_t size, char *const *hosts, fio_progress_t cb, void *userdata, char **ret_why)
{
        struct fio_job job = {.path = path, .region = size, .section = FIO_LAY_OUT, .creates = true, .writes = true};

        return run_first(job, "write", hosts, cb, userdata, ret_why);
}

static int give_up(void *deadline)
{
        return now_boottime() < *(uint64_t *) deadline ? 0 : -ETIMEDOUT;
}

int clients_remove(const char *path, char *const *hosts)
{
        struct fio_job job = {.path = path, .region = 1U << 20, .section = "ioengine=psync\nbs=1m\nunlink=1\n"};
        uint64_t deadline = now_boottime() + REMOVE_USEC;

        return run_first(job, "read", hosts, give_up, &deadline, NULL);
}

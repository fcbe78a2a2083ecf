/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The input of fio: a job file, and the addresses of machines. */
#include "bench/measure/fio.h"

#include <ctype.h>
#include <inttypes.h>

#include "common/util.h"
#include "term/terminal.h"

uint64_t fio_region_each(const struct bench_pattern *p, uint64_t available)
{
        uint64_t each = available / p->numjobs;

        if (p->size && p->size < each)
                each = p->size;
        return each - each % p->block_size;
}

uint64_t fio_region(const struct bench_pattern *p, uint64_t available)
{
        return fio_region_each(p, available) * p->numjobs;
}

char *fio_job_text(const struct fio_job *job, const char *filename, uint64_t each)
{
        const struct bench_pattern *p = job->pattern;
        char *text = NULL;
        size_t size;
        FILE *f = need(open_memstream(&text, &size));

        (void) fprintf(f, "[bench]\n%s", p->section ?: "");
        (void) fprintf(f, "filename=%s\nallow_file_create=%i\nrw=%s\n", filename, job->creates, p->rw);
        (void) fprintf(f, "iodepth=%u\nnumjobs=%u\nsize=%" PRIu64 "\noffset=%" PRIu64 "\n", p->iodepth, p->numjobs, each,
                       job->offset);
        /* As if each job had its own file: a block that one job has read would come to another one from a cache. */
        if (p->numjobs > 1)
                (void) fprintf(f, "offset_increment=%" PRIu64 "\n", each);
        /* Threads die with fio in every case. Processes would go on reading. */
        (void) fputs("thread=1\ngroup_reporting=1\ndisk_util=0\n", f);
        /* Latency from the submission on: if the queue is full, clat excludes most of the waiting. Old versions have only one. */
        (void) fputs("clat_percentiles=0\nlat_percentiles=1\npercentile_list=50:95:99\n", f);
        /* With randrepeat=1, the default, fio uses its own seed instead of this one. */
        (void) fprintf(f, "randrepeat=0\nrandseed=%" PRIu64 "\n", job->seed + 1);
        (void) fprintf(f, "runtime=%u\ntime_based=%i\nramp_time=%u\n", p->runtime_sec, p->time_based, p->ramp_sec);
        if (fclose(f) != 0)
                no_memory();
        return text;
}

/* ---- several machines ---- */

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

int hosts_parse(const char *s, char ***ret)
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

bool hosts_path_ok(const char *path)
{
        size_t n = strlen(path);

        if (path[0] != '/' || isspace((unsigned char) path[n - 1]) || strpbrk(path, ";#$\\\""))
                return false;
        for (const char *p = path; *p; p++)
                if (iscntrl((unsigned char) *p))
                        return false;
        return true;
}

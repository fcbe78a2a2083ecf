/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/hosts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "common/need.h"
#include "ctl/host.h"
#include "ctl/output.h"
#include "term/json.h"

#define HOSTS_MAX 256

struct host_answer {
        const char *host;
        pid_t pid;         /* -errno: ssh has not started */
        int fds[2];        /* standard output and error */
        char *text, *said; /* what came from them */
        bool silent;       /* uasctl has not run there */
        int status;        /* an exit status */
};

struct host_answers {
        struct host_answer list[HOSTS_MAX];
        size_t n;
        char *names; /* of the hosts */
};

static void answers_done(struct host_answers *a)
{
        for (size_t i = 0; i < a->n; i++) {
                free(a->list[i].text);
                free(a->list[i].said);
        }
        free(a->names);
}

/* ---- ssh ---- */

/* Many at a time: none may ask for a password, and one that does not answer ends soon. */
static void answer_ask(struct host_answer *a, const char *command)
{
        const char *argv[] = {
                "ssh",   "-T",    "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--",
                a->host, command, NULL};
        _cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        for (size_t i = 0; i < ELEMENTSOF(a->fds); i++)
                a->fds[i] = memfd_create("answer", MFD_CLOEXEC);
        a->pid = child_spawn(&(struct program){.argv = argv,
                                               .exec = execvpe,
                                               .fds = {null, a->fds[0], a->fds[1]},
                                               .foreground = true});
}

/* It has ended, so the size is that of all it wrote. */
static char *answer_text(int fd)
{
        off_t n = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
        char *text = need(calloc(1, (size_t) MAX(n, 0) + 1));

        if (n > 0 && pread(fd, text, (size_t) n, 0) < 0)
                text[0] = '\0';
        (void) close_keep_errno(fd);
        return text;
}

static void answer_take(struct host_answer *a, char **words)
{
        int status = 0;
        char *rest;

        if (a->pid >= 0 && TEMP_FAILURE_RETRY(waitpid(a->pid, &status, 0)) < 0)
                a->pid = -errno;
        a->silent = a->pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) >= UASD_EXIT_NOT_RUN;
        a->text = answer_text(a->fds[0]);
        a->said = answer_text(a->fds[1]);
        rest = a->said;
        for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
                if (*line)
                        log_info("%s: %s", a->host, line);
        a->status = host_status(a->host, words, a->pid < 0 ? a->pid : status);
}

static int hosts_ask(struct host_answers *a, const struct options *o, char **words)
{
        _cleanup_free_ char *command = host_command(o, words, "UASCTL_CELLS=1 ");
        int r = UASD_EXIT_OK;
        char *rest;

        a->names = rest = need(strdup(o->host));
        for (char *host = strsep(&rest, ","); host; host = strsep(&rest, ",")) {
                if (a->n == HOSTS_MAX)
                        return log_failure(-E2BIG, "More than %i machines are too many.",
                                           HOSTS_MAX);
                a->list[a->n++].host = host;
        }
        for (size_t i = 0; i < a->n; i++)
                answer_ask(&a->list[i], command);
        for (size_t i = 0; i < a->n; i++) {
                answer_take(&a->list[i], words);
                r = MAX(r, a->list[i].status);
        }
        return r;
}

/* ---- the list ---- */

/* The list of disks in an answer, or NULL. The shell there may print lines before it. */
static json_object *answer_disks(const char *text)
{
        json_object *list = NULL;

        while (!list && text) {
                _cleanup_(json_putp) json_object *o =
                        *text == '{' ? json_tokener_parse(text) : NULL;

                if (json_object_object_get_ex(o, "disks", &list))
                        list = json_object_is_type(list, json_type_array) ? json_object_get(list)
                                                                          : NULL;
                text = strchr(text, '\n');
                if (text)
                        text++;
        }
        return list;
}

/* Returns the exit status. */
static int hosts_print_json(const struct host_answers *a)
{
        json_object *disks = json_list(), *silent = json_list(), *document;
        int r = UASD_EXIT_OK;

        for (size_t i = 0; i < a->n; i++) {
                const struct host_answer *one = &a->list[i];
                _cleanup_(json_putp) json_object *list =
                        one->silent ? NULL : answer_disks(one->text);

                if (!list) {
                        if (!one->silent && one->status != UASD_EXIT_OK) /* it has said why */
                                continue;
                        append(silent, new_string(one->host));
                        if (!one->silent)
                                r = log_failure(UASD_EXIT_FAILED,
                                                "%s: its answer is no list of disks.", one->host);
                        continue;
                }
                for (size_t k = 0; k < json_object_array_length(list); k++) {
                        json_object *disk = json_object_get(json_object_array_get_idx(list, k));

                        put(disk, "machine", new_string(one->host));
                        append(disks, disk);
                }
        }
        document = json_document("disks", disks);
        put(document, "no_answer", silent);
        json_print(document);
        return r;
}

/* A line of cells, each of which ends with a tab. Returns false if it is something else. */
static bool hosts_add_line(struct libscols_table *t, const char *host, char *line, size_t n)
{
        const char *cells[COLUMNS_MAX + 1] = {host};
        _cleanup_free_ char *texts = need(calloc(n + 1, CELL_MAX));

        for (size_t i = 1; i <= n; i++) {
                char *end = line ? strchr(line, '\t') : NULL;

                if (!end)
                        return false;
                *end = '\0';
                cells[i] = harmless_sentence(line, texts + (i - 1) * CELL_MAX, CELL_MAX);
                line = end + 1;
        }
        if (*line)
                return false;
        (void) table_row(t, NULL, cells);
        return true;
}

static void hosts_add_silent(struct libscols_table *t, const char *host, const struct columns *c)
{
        const char *cells[COLUMNS_MAX + 1] = {host};

        for (size_t i = 0; i < c->n; i++)
                cells[i + 1] = c->list[i] == COLUMN_STATE ? _("no answer") : "-";
        (void) table_row(t, NULL, cells);
}

static void hosts_print_table(const struct host_answers *a, const struct options *o,
                              const struct columns *c)
{
        struct table_column columns[COLUMNS_MAX + 1] = {{.name = "HOST", .fixed = true}};
        struct libscols_table *t;

        for (size_t i = 0; i < c->n; i++)
                columns[i + 1] = column_describe(c->list[i], o->columns);
        t = table_new(columns, c->n + 1, o->legend);
        for (size_t i = 0; i < a->n; i++) {
                char host[CELL_MAX], *rest = a->list[i].text;

                (void) make_harmless(a->list[i].host, host, sizeof(host));
                if (a->list[i].silent)
                        hosts_add_silent(t, host, c);
                for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
                        if (!hosts_add_line(t, host, line, c->n) && *line)
                                log_info("%s: %s", host, line);
        }
        pager_open(o->pager);
        table_print(t, columns, c->n + 1);
}

int hosts_list(const struct options *o, char **words)
{
        _cleanup_(answers_done) struct host_answers answers = {};
        struct columns columns;
        int r, printed;

        if (o->given & OPTION_TREE)
                return log_failure(UASD_EXIT_USAGE, "--tree shows one machine.");
        if (columns_parse(o->columns, false, &columns) < 0)
                return UASD_EXIT_USAGE;
        if (columns.n == COLUMNS_MAX)
                return log_failure(UASD_EXIT_USAGE, "More than %i columns are too many.",
                                   COLUMNS_MAX - 1);
        r = hosts_ask(&answers, o, words);
        if (r < 0)
                return UASD_EXIT_USAGE;
        if (o->json) {
                printed = hosts_print_json(&answers);
                return MAX(r, printed);
        }
        hosts_print_table(&answers, o, &columns);
        return r;
}

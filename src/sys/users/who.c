/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users/who.h"
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"
#include "sys/users/users.h"

/* Names the process of a use, and how it can be ended. */

/*
 * Returns the first part of a cgroup's path that is no slice, if it is a unit. PID 1 makes the
 * groups of slices and units. Below a unit a user may make a group that has the name of a service.
 * Another group at the top belongs to a container manager, and the names in it are those
 * of the container.
 */
static char *cgroup_first_unit(char *path)
{
        char *save, *part = strtok_r(path, "/", &save);

        while (part && endswith(part, ".slice"))
                part = strtok_r(NULL, "/", &save);
        if (!part || !(endswith(part, ".service") || endswith(part, ".scope")))
                return NULL;
        return strdup(part);
}

static char *process_unit(const struct roots *roots, pid_t pid)
{
        char path[64], text[1024], *save;

        (void) snprintf(path, sizeof(path), "%i/cgroup", (int) pid);
        if (attr_read(roots->proc, path, text, sizeof(text)) <= 0)
                return NULL;
        /* "0::/system.slice/smbd.service"; with several hierarchies
         * "1:name=systemd:/system.slice/smbd.service" too */
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *id = line + strspn(line, "0123456789");

                if (startswith(line, "0::/") || startswith(id, ":name=systemd:/"))
                        return cgroup_first_unit(strchr(line, '/'));
        }
        return NULL;
}

void user_take_process(const struct roots *roots, struct user *u, pid_t pid)
{
        char path[64], command[64];

        u->pid = pid;
        (void) snprintf(path, sizeof(path), "%i/comm", (int) pid);
        if (attr_read(roots->proc, path, command, sizeof(command)) > 0)
                u->command = strdup(command);
        u->unit = process_unit(roots, pid);
}

bool user_unit_runs(const struct roots *roots, const char *unit)
{
        struct stat st;

        return fstatat(roots->run, path_join("systemd/units/invocation:", unit), &st,
                       AT_SYMLINK_NOFOLLOW) == 0;
}

bool user_still_there(const struct roots *roots, const struct user *u)
{
        char pid[16], text[64], harmless[4 * sizeof(text)];

        (void) snprintf(pid, sizeof(pid), "%i", (int) u->pid);
        if (attr_read(roots->proc, path_join(pid, "/comm"), text, sizeof(text)) < 0)
                return false;
        /* From the bus the command comes escaped. */
        if (u->command && !streq(u->command, text) &&
            !streq(u->command, make_harmless(text, harmless, sizeof(harmless))))
                return false;
        /* Other users may not read it. */
        return !u->namespace ||
               link_basename(roots->proc, path_join(pid, "/ns/mnt"), text, sizeof(text)) <= 0 ||
               streq(text, u->namespace);
}

/* Returns the value of a line of /proc/PID/status, or "". */
static const char *process_status_line(const char *status, const char *name)
{
        const char *line = strstr(status, name);

        if (!line)
                return "";
        return line + strlen(name);
}

/*
 * The first process of a pid namespace gets only signals that it handles. systemd in a container
 * blocks SIGTERM and handles it, but does not end.
 */
bool user_ignores_term(const struct roots *roots, const struct user *u)
{
        static const unsigned long long term = 1ULL << (SIGTERM - 1);
        char pid[24], status[4096], own[16];
        const char *pids;
        size_t n;

        (void) snprintf(pid, sizeof(pid), "%i/status", (int) u->pid);
        if (attr_read(roots->proc, pid, status, sizeof(status)) <= 0)
                return false;
        pids = process_status_line(status, "\nNSpid:");
        n = strcspn(pids, "\n");
        (void) snprintf(own, sizeof(own), "\t%i", (int) u->pid);
        if (n > strlen(own) && startswith(pids, own) && startswith(pids + n - 2, "\t1"))
                return !(strtoull(process_status_line(status, "\nSigCgt:"), NULL, 16) & term);
        return strtoull(process_status_line(status, "\nSigIgn:"), NULL, 16) & term;
}

#define PROCESSES_MAX 16

static int namespace_add_process(const struct roots *roots, pid_t pid, struct user **list,
                                 size_t *n)
{
        struct user u = {.kind = USER_MOUNT};

        user_take_process(roots, &u, pid);
        if (list_push(*list, *n, u))
                return 0;
        free(u.command);
        free(u.unit);
        return -ENOMEM;
}

int users_of_namespace(const struct roots *roots, const char *namespace, struct user **ret,
                       size_t *ret_n)
{
        _cleanup_strv_ char **pids = NULL;
        int count = dir_list(roots->proc, ".", "", &pids);
        struct user *list = NULL;
        size_t n = 0;

        if (count < 0)
                return count;
        for (int i = 0; i < count && n < PROCESSES_MAX; i++) {
                char text[64];
                int r;

                if (!isdigit((unsigned char) *pids[i]) ||
                    link_basename(roots->proc, path_join(pids[i], "/ns/mnt"), text, sizeof(text)) <=
                            0 ||
                    !streq(text, namespace))
                        continue;
                r = namespace_add_process(roots, (pid_t) atol(pids[i]), &list, &n);
                if (r < 0) {
                        users_free(list, n);
                        return r;
                }
        }
        *ret = list;
        *ret_n = n;
        return 0;
}

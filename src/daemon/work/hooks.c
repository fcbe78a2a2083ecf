/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/names.h"

#define HOOK_GRACE_MSEC 1000

/* Only root can have written it. */
static bool hook_is_safe(const struct roots *roots, const char *path)
{
        struct stat st;

        return fstatat(roots->etc, path, &st, 0) >= 0 && S_ISREG(st.st_mode) &&
               (st.st_mode & S_IXUSR) && st.st_uid == geteuid() &&
               !(st.st_mode & (S_IWGRP | S_IWOTH));
}

pid_t hook_start(const struct roots *roots, const char *root, const char *folder, const char *name,
                 const char *const args[static 2], const char *const *env)
{
        const char *argv[] = {path_join(root ?: "", ETC_PATH "/", folder, "/", name), args[0],
                              args[1], NULL};

        if (strchr(name, '/') || !hook_is_safe(roots, path_join(folder, "/", name)))
                return -EPERM;
        return child_spawn(&(struct program){
                .argv = argv, .env = env, .fds = {-1, -1, -1}, .new_signals = true});
}

int hook_end(pid_t pid)
{
        int r = child_exit_status(pid, HOOK_USEC, HOOK_GRACE_MSEC);

        if (r == -ETIMEDOUT) /* the group has the number of the hook as long as one of it is left */
                (void) kill(-pid, SIGKILL);
        return r;
}

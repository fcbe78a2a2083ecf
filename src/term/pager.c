/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/util.h"
#include "term/style.h"

/* The flags that systemd uses: end if the text fits on the screen (F), show colours (R), cut lines (S), keep the screen (X). */
#define LESS_DEFAULT "FRSXMK"
#define WORDS_MAX 16

static pid_t pager;

/* Executes words separated by blanks. No shell interprets them. */
static void exec_words(const char *words)
{
        char *copy = strdup(words), *argv[WORDS_MAX + 1] = {}, *save = NULL;
        size_t n = 0;

        for (char *w = copy ? strtok_r(copy, " \t\n", &save) : NULL; w && n < WORDS_MAX; w = strtok_r(NULL, " \t\n", &save))
                argv[n++] = w;
        if (n > 0)
                (void) execvp(argv[0], argv);
        free(copy);
}

static void run(const char *asked, int reading, int parent)
{
        static const char *const others[] = {"pager", "less", "more", "/bin/cat"};
        const char *less = getenv("SYSTEMD_LESS");

        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent || dup2(reading, STDIN_FILENO) < 0)
                _exit(EXIT_FAILURE);
        (void) setenv("LESS", less ?: LESS_DEFAULT, 1);
        if (style_utf8())
                (void) setenv("LESSCHARSET", "utf-8", 1);
        /* A user who may run only uasctl as root must not get a shell from the pager. */
        (void) setenv("LESSSECURE", "1", 1);
        if (asked)
                exec_words(asked);
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                exec_words(others[i]);
        _exit(EXIT_FAILURE);
}

void pager_open(bool wanted)
{
        const char *asked = getenv("SYSTEMD_PAGER") ?: getenv("PAGER");
        int ends[2], parent = getpid();

        if (pager > 0 || !wanted || !isatty(STDOUT_FILENO) || style_dumb() || (asked && (!*asked || streq(asked, "cat"))))
                return;
        /* Later stdout is a pipe, which has neither colours nor a width. */
        (void) style_colours();
        (void) style_width();
        if (fflush(stdout) != 0 || pipe2(ends, O_CLOEXEC) < 0)
                return;
        pager = fork();
        if (pager == 0) {
                (void) close(ends[1]); /* otherwise the reader would never see the end */
                run(asked, ends[0], parent);
        }
        (void) close(ends[0]);
        if (pager > 0 && dup2(ends[1], STDOUT_FILENO) >= 0) {
                /* The user may leave the pager early. Ctrl+C is for the pager. */
                (void) signal(SIGPIPE, SIG_IGN);
                (void) signal(SIGINT, SIG_IGN);
        }
        (void) close(ends[1]);
}

bool pager_close(void)
{
        if (pager <= 0)
                return false;
        (void) fclose(stdout);
        while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
                ;
        pager = 0;
        return true;
}

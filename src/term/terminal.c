/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/terminal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <wchar.h>

#include "common/child.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "common/util.h"

#define SGR_END "\033[0m"

#define WIDTH_DEFAULT 80

bool style_utf8(void)
{
        return streq(nl_langinfo(CODESET), "UTF-8");
}

/* A terminal without control sequences, by TERM. */
static bool style_dumb(void)
{
        const char *term = getenv("TERM");

        return term && streq(term, "dumb");
}

static bool find_colours(void)
{
        const char *asked = getenv("SYSTEMD_COLORS"), *no_color = getenv("NO_COLOR");
        static const char *const no[] = {"0", "n", "no", "f", "false", "off"};

        if (isempty(asked))
                return isatty(STDOUT_FILENO) && isempty(no_color) && !style_dumb();
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (strcasecmp(asked, no[i]) == 0)
                        return false;
        return true;
}

bool style_colours(void)
{
        static int found = -1;

        if (found < 0)
                found = find_colours();
        return found;
}

static unsigned terminal_width(int fd)
{
        struct winsize w;

        if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
                return WIDTH_DEFAULT;
        return w.ws_col;
}

static unsigned find_width(void)
{
        const char *asked = getenv("COLUMNS");
        unsigned long long columns;

        if (!isatty(STDOUT_FILENO))
                return 0;
        if (asked && parse_uint(asked, 10, USHRT_MAX, &columns) >= 0 && columns > 0)
                return (unsigned) columns;
        return terminal_width(STDOUT_FILENO);
}

unsigned style_width(void)
{
        static unsigned found = UINT_MAX;

        if (found == UINT_MAX)
                found = find_width();
        return found;
}

void style_shorten(char *s, unsigned width)
{
        char *cut = s; /* the mark still fits after this position */
        mbstate_t state = {};
        unsigned used = 0;
        size_t left = strlen(s), n;
        wchar_t c;

        for (char *at = s;; at += n, left -= n) {
                n = mbrtowc(&c, at, left, &state);
                if (n > left) /* the end; or invalid, and shown as it is */
                        return;
                used += (unsigned) MAX(wcwidth(c), 0);
                if (used < width)
                        cut = at + n;
                else if (used > width) {
                        (void) sprintf(cut, "%s", style_utf8() ? "…" : "~");
                        return;
                }
        }
}

const char *colour(const char *sgr)
{
        if (!style_colours())
                return "";
        return sgr;
}

const char *colour_end(void)
{
        return colour(SGR_END);
}

/* ---- the progress line ---- */

#define WIPE "\r\033[K"
#define LINE_WIDTH_MAX 256

static bool line_wanted, line_shown;

void progress_open(bool quiet)
{
        line_wanted = !quiet && isatty(STDERR_FILENO) && !style_dumb();
}

void progress_clear(void)
{
        if (line_shown)
                (void) fputs(WIPE, stderr);
        line_shown = false;
}

void progress_show(const char *disk, const char *step, void *data)
{
        char text[LINE_WIDTH_MAX], line[LINE_WIDTH_MAX + 2];

        if (!*step) {
                progress_clear();
                return;
        }
        if (!line_wanted)
                return;
        (void) snprintf(text, sizeof(text), "%s: %s", disk, step);
        (void) make_harmless(text, line, LINE_WIDTH_MAX);
        style_shorten(line, terminal_width(STDERR_FILENO) - 1); /* stdout may go elsewhere */
        (void) fprintf(stderr, "\r%s\033[K",
                       line); /* erases the rest of a longer line last, to avoid flicker */
        line_shown = true;
}

/* ---- the pager ---- */

/* The flags that systemd uses: end if the text fits on the screen (F), show colours (R), cut lines
 * (S), keep the screen (X). */
#define LESS_DEFAULT "FRSXMK"
#define LESS "less"
#define LESS_USEC USEC_PER_SEC /* to print its version */
#define WORDS_MAX 16

static pid_t pager;

/* Starts words separated by blanks. No shell interprets them. Returns a pid, or -errno. */
static pid_t pager_spawn(const char *words, int in)
{
        _cleanup_free_ char *copy = strdup(words);
        const char *argv[WORDS_MAX + 1] = {};
        char *save = NULL;
        size_t n = 0;

        for (char *w = copy ? strtok_r(copy, " \t\n", &save) : NULL; w && n < WORDS_MAX;
             w = strtok_r(NULL, " \t\n", &save))
                argv[n++] = w;
        if (n == 0)
                return -ENOENT;
        return child_spawn(&(struct program){.argv = argv,
                                             .exec = execvpe,
                                             .fds = {in, -1, -1},
                                             .death = SIGTERM,
                                             .foreground = true});
}

/* Returns true if this `less` knows the options: that of busybox fails on each long one. */
static bool pager_knows_options(const char *program)
{
        const char *const argv[] = {program, "--version", NULL};
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        pid_t pid = child_spawn(&(struct program){
                .argv = argv, .exec = execvpe, .fds = {null, null, null}, .foreground = true});

        return pid > 0 && child_exit_status(pid, LESS_USEC, 0) == 0;
}

static pid_t pager_start(const char *asked, int in)
{
        static const char *const others[] = {"pager", LESS, "more", "/bin/cat"};
        const char *less = getenv("SYSTEMD_LESS");
        pid_t pid;

        (void) setenv("LESS", less ?: LESS_DEFAULT, 1);
        if (style_utf8())
                (void) setenv("LESSCHARSET", "utf-8", 1);
        /* A user who may run only uasctl as root must not get a shell from the pager. */
        (void) setenv("LESSSECURE", "1", 1);
        pid = asked ? pager_spawn(asked, in) : -ENOENT;
        for (size_t i = 0; pid < 0 && i < ELEMENTSOF(others); i++)
                if (!streq(others[i], LESS) || pager_knows_options(LESS))
                        pid = pager_spawn(others[i], in);
        return pid;
}

void pager_open(bool wanted)
{
        const char *asked = getenv("SYSTEMD_PAGER") ?: getenv("PAGER");
        int ends[2];

        if (!wanted || !isatty(STDOUT_FILENO) || style_dumb() ||
            (asked && (!*asked || streq(asked, "cat"))))
                return;
        /* Later stdout is a pipe, which has neither colours nor a width. */
        (void) style_colours();
        (void) style_width();
        if (fflush(stdout) != 0 || pipe2(ends, O_CLOEXEC) < 0)
                return;
        pager = pager_start(asked, ends[0]);
        (void) close(ends[0]);
        if (pager > 0) {
                (void) dup2(ends[1], STDOUT_FILENO);
                /* The user may leave the pager early. Ctrl+C is for the pager. */
                (void) signal(SIGPIPE, SIG_IGN);
                (void) signal(SIGINT, SIG_IGN);
        }
        (void) close(ends[1]);
}

/* Waits for the end of the pager. Returns true if there was one. */
static bool pager_close(void)
{
        if (pager <= 0)
                return false;
        (void) fclose(stdout);
        (void) TEMP_FAILURE_RETRY(waitpid(pager, NULL, 0));
        return true;
}

/* ---- a program ---- */

int program_run(program_fn run, int argc, char **argv, const char *root)
{
        bool lost;
        int r;

        /* exec(2) keeps an ignored SIGCHLD, with which the kernel reports neither the end nor the
         * exit status of a child. */
        (void) signal(SIGCHLD, SIG_DFL);
        /* Not LC_ALL: each category is a file to read, and sentences and CSV need the number format
         * of C. */
        (void) setlocale(LC_CTYPE, "");
        (void) setlocale(LC_MESSAGES, "");
        log_open("uasctl", LOG_INFO);
        r = run(argc, argv, root);
        progress_clear();
        /* If the disk behind stdout is full, the exit status must show it. It is no error if the
         * user leaves the pager early. */
        (void) fflush(stdout);
        lost = ferror(stdout);
        if (!pager_close() && lost) {
                log_error("Cannot write to the standard output: %s", strerror(errno));
                return r == UASD_EXIT_OK ? UASD_EXIT_FAILED : r;
        }
        return r;
}

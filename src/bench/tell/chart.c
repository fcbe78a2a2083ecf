/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/print.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "bench/spawn.h"
#include "common/exit-codes.h"
#include "common/log.h"

#define PROGRAM "gnuplot"

static bool ends_with(const char *s, const char *end)
{
        size_t n = strlen(s), m = strlen(end);

        return n > m && strcasecmp(s + n - m, end) == 0;
}

/* Returns 0. -ENOENT: gnuplot is not installed. -EPROTO: it failed. Or -errno. */
static int run(const char *first, const char *second, int in, int out, int words)
{
        char *arguments[] = {PROGRAM, (char *) first, (char *) second, NULL};
        struct rusage usage;
        int r = spawn(&(struct spawn){.program = PROGRAM, arguments, .fds = (int[]){in, out, words}, .n_fds = 3}, &usage);

        return r > 0 ? -EPROTO : r;
}

static int tell_not_written(const char *path, int error)
{
        log_error("Cannot write the chart %s: %s", path, strerror(-error));
        return UASD_EXIT_FAILED;
}

/* Makes a temporary file beside it: a chart appears as a whole or not at all, even if the name exists. A descriptor or -errno. */
static int make_beside(const char *path, char ret[static PATH_MAX])
{
        int fd;

        if ((size_t) snprintf(ret, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX)
                return -ENAMETOOLONG;
        fd = mkostemp(ret, O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Whether the file can be made there, under its name. */
static int try_to_make(const char *path)
{
        _cleanup_close_ int fd = -1;
        char temp[PATH_MAX];
        struct stat st;

        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
                return -EISDIR;
        fd = make_beside(path, temp);
        return fd < 0 ? fd : unlink(temp) < 0 ? -errno : 0;
}

int bench_chart_possible(const char *path)
{
        _cleanup_close_ int none = open("/dev/null", O_RDWR | O_CLOEXEC);
        int r;

        if (!ends_with(path, ".svg") && !ends_with(path, ".png"))
                return log_failure(UASD_EXIT_USAGE, "'%s': the name of a chart must end with .svg or .png.", path);
        if (none < 0 || run("--version", NULL, none, none, none) == -ENOENT)
                return log_failure(UASD_EXIT_TOOL_MISSING,
                                   "gnuplot is not installed. Install it for charts (Debian: gnuplot-nox), or use --csv.");
        r = try_to_make(path);
        return r < 0 ? tell_not_written(path, r) : UASD_EXIT_OK;
}

static int draw(const char *path, int script, int words)
{
        _cleanup_close_ int picture = -1;
        char temp[PATH_MAX];
        struct stat st;
        mode_t mask;
        int r;

        picture = make_beside(path, temp);
        if (picture < 0)
                return picture;
        r = run("--default-settings", "-", script, picture, words); /* no start-up files */
        if (r == 0 && fstat(picture, &st) == 0 && st.st_size == 0)
                r = -EPROTO;
        mask = umask(0);
        (void) umask(mask);
        if (r == 0 && (fchmod(picture, 0666 & ~mask) < 0 || rename(temp, path) < 0))
                r = -errno;
        if (r < 0)
                (void) unlink(temp);
        return r;
}

/* gnuplot also prints warnings about fonts, so its words are shown only if it fails. */
static void tell_words(FILE *words)
{
        char line[256] = "";

        rewind(words);
        do
                line[0] = '\0';
        while (fgets(line, sizeof(line), words) && line[0] == '\n');
        line[strcspn(line, "\n")] = '\0';
        log_error("gnuplot could not draw the chart%s%s", *line ? ": " : ".", make_harmless(line, (char[1024]){}, 1024));
}

int bench_chart(const struct bench *b, const char *path)
{
        _cleanup_fclose_ FILE *script = NULL, *words = NULL;
        int r = bench_chart_possible(path);

        if (r != UASD_EXIT_OK)
                return r;
        script = tmpfile();
        words = tmpfile();
        r = script && words ? chart_script(b, ends_with(path, ".svg"), script) : -errno;
        if (r >= 0 && (fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) < 0))
                r = -errno;
        if (r >= 0)
                r = draw(path, fileno(script), fileno(words));
        if (r == 0)
                return UASD_EXIT_OK;
        if (r == -ENODATA)
                log_error("There is nothing to draw: no round is complete.");
        else if (r == -EPROTO)
                tell_words(words);
        else
                return tell_not_written(path, r);
        return UASD_EXIT_FAILED;
}

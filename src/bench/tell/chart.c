/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>

#include "bench/spawn.h"
#include "common/exit-codes.h"
#include "common/log.h"

#define PROGRAM "gnuplot"
#define PANEL_WIDTH 720U
#define PANEL_HEIGHT 420U
#define SERIES_MAX 16 /* lines of a chart that remain distinguishable */

/* ---- the script: names in it are stripped of all characters that could make them a command ---- */

static const char *const colours[_DRIVER_MAX] = {
        [DRIVER_NONE] = "#7570b3",
        [DRIVER_USB_STORAGE] = "#d95f02",
        [DRIVER_UAS] = "#1b9e77",
        [DRIVER_OTHER] = "#66a61e",
};

/* Keeps letters, digits, and characters without a meaning in a quoted string, in a line of data, and for its terminal. */
static void word(FILE *f, const char *s)
{
        char harmless[512];

        (void) make_harmless(s, harmless, sizeof(harmless));
        for (const char *p = harmless; *p; p++)
                (void) fputc(isalnum((unsigned char) *p) || (unsigned char) *p >= 0x80 || strchr(" -_.,:()=+/%", *p) ? *p : '.',
                             f);
}

/* A line of a sweep, or the bars of one driver. */
struct series {
        unsigned first; /* its first pattern */
        enum driver driver;
};

/* The patterns with one kind of figure. */
struct panel {
        enum stats_measure m;
        struct series series[SERIES_MAX];
        size_t n;
};

/* Whether there is a figure. A point without a place on the axis is not shown. */
static bool is_shown(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        return stats_figure(&b->patterns[pattern]) == m &&
               (b->axis == BENCH_AXIS_NONE || b->axis == BENCH_AXIS_RAMP || b->patterns[pattern].axis > 0) &&
               stats_of(b, pattern, d, m).n > 0;
}

/* Two points of a sweep belong together if their names differ only in the last word: "RND4K-Q32T1 depth=4". */
static int base_length(const struct bench_pattern *p)
{
        const char *end = strrchr(p->name, ' ');

        return end ? (int) (end - p->name) : (int) strlen(p->name);
}

static bool same_series(const struct bench *b, unsigned one, unsigned other)
{
        const struct bench_pattern *p = &b->patterns[one], *q = &b->patterns[other];
        int n = base_length(p);

        return b->axis == BENCH_AXIS_NONE || (n == base_length(q) && strncmp(p->name, q->name, (size_t) n) == 0);
}

static void find_series(const struct bench *b, struct panel *p)
{
        for (unsigned i = 0; i < b->n_patterns; i++)
                for (enum driver d = 0; d < _DRIVER_MAX && p->n < SERIES_MAX; d++) {
                        bool begins = is_shown(b, i, d, p->m);

                        for (size_t k = 0; k < p->n && begins; k++)
                                begins = p->series[k].driver != d || !same_series(b, p->series[k].first, i);
                        if (begins)
                                p->series[p->n++] = (struct series){i, d};
                }
}

/* A line of data: the name or place of a pattern, and its figure with the range of the rounds. */
static void row(FILE *f, const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        const struct bench_pattern *p = &b->patterns[pattern];
        double unit = m == STATS_BYTES ? 1e6 : 1;
        struct summary sum = stats_of(b, pattern, d, m);

        if (b->axis != BENCH_AXIS_NONE)
                (void) fprintf(f, "%.6g", p->axis / (b->axis == BENCH_AXIS_REGION ? (double) (1U << 30) : 1));
        else {
                (void) fputc('"', f);
                word(f, *p->name ? p->name : PATTERN_TEXT(b, pattern));
                (void) fputc('"', f);
        }
        if (sum.n > 0)
                (void) fprintf(f, " %.6g %.6g %.6g\n", sum.median / unit, sum.min / unit, sum.max / unit);
        else
                (void) fprintf(f, " ? ? ?\n");
}

/* Writes the data. Returns the number of rows in each series of bars, which have a row for every pattern. */
static size_t data(FILE *f, const struct bench *b, const struct panel *p)
{
        size_t rows = 0;

        for (size_t i = 0; i < p->n; i++) {
                const struct series *s = &p->series[i];

                (void) fprintf(f, "$data%zu << END\n", i);
                rows = 0;
                for (unsigned k = 0; k < b->n_patterns; k++) {
                        if (b->axis == BENCH_AXIS_NONE ? stats_figure(&b->patterns[k]) != p->m
                                                       : !is_shown(b, k, s->driver, p->m) || !same_series(b, k, s->first))
                                continue;
                        row(f, b, k, s->driver, p->m);
                        rows++;
                }
                (void) fprintf(f, "END\n");
        }
        return rows;
}

/* Bars side by side, or lines over the axis. */
static void panel(FILE *f, const struct bench *b, const struct panel *p)
{
        static const char *const names[_BENCH_AXIS_MAX] = {
                "", "queue depth", "jobs", "region in GiB", "measured seconds", "seconds before", "machines"};
        size_t rows = data(f, b, p);

        (void) fprintf(f, "set ylabel '%s'\nset yrange [0:*]\n", p->m == STATS_IOPS ? "IOPS" : "MB/s");
        if (b->axis == BENCH_AXIS_NONE)
                (void) fprintf(
                        f,
                        "set style data histogram\nset style histogram errorbars gap 1 lw 1\nset style fill solid 0.8 border -1\n"
                        "set xtics rotate by %i\nunset logscale\nset xrange [-0.7:%zu - 0.3]\nplot",
                        rows > 4 ? -30 : 0, rows);
        else
                (void) fprintf(f,
                               "set xlabel '%s'\nset xtics autofreq norotate\n%s\nset xrange [*:*]\n"
                               "set offsets graph 0.03, graph 0.03, 0, 0\nplot",
                               names[b->axis],
                               b->axis == BENCH_AXIS_REGION || b->axis == BENCH_AXIS_RAMP ? "unset logscale"
                                                                                          : "set logscale x 2");
        for (size_t i = 0; i < p->n; i++) {
                const struct bench_pattern *first = &b->patterns[p->series[i].first];
                enum driver d = p->series[i].driver;
                char name[sizeof(first->name)] = "";

                (void) fprintf(f, "%s $data%zu using ", i ? "," : "", i);
                if (b->axis == BENCH_AXIS_NONE)
                        (void) fprintf(f, "2:3:4:xtic(1)");
                else {
                        (void) fprintf(f, "1:2:3:4 with yerrorlines lw 2 pt 7 ps 0.6 dt %zu", i / 2 + 1);
                        (void) snprintf(name, sizeof(name), "%.*s ", base_length(first), first->name);
                }
                (void) fprintf(f, " lc rgb '%s' title '", colours[d]);
                word(f, name);
                (void) fprintf(f, "%s'", driver_label(d));
        }
        (void) fputc('\n', f);
}

int chart_script(const struct bench *b, bool svg, FILE *f)
{
        struct panel panels[] = {{.m = STATS_IOPS}, {.m = STATS_BYTES}};
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(panels); i++) {
                find_series(b, &panels[i]);
                n += panels[i].n > 0;
        }
        if (n == 0)
                return -ENODATA;
        (void) fprintf(f, "set terminal %s size %u,%u noenhanced%s\n", svg ? "svg" : "png", PANEL_WIDTH * n, PANEL_HEIGHT,
                       svg ? " background '#ffffff'" : "");
        (void) fprintf(f,
                       "set encoding utf8\nset datafile missing '?'\nset grid ytics\nset key below\n"
                       "set multiplot layout 1,%u title '",
                       n);
        word(f, *b->conditions.model ? b->conditions.model : "uasctl bench");
        if (*b->profile) {
                (void) fprintf(f, ", ");
                word(f, b->profile);
        }
        (void) fprintf(f, "'\n");
        for (size_t i = 0; i < ELEMENTSOF(panels); i++)
                if (panels[i].n > 0)
                        panel(f, b, &panels[i]);
        (void) fprintf(f, "unset multiplot\n");
        return ferror(f) ? -EIO : 0;
}

/* ---- the program ---- */

static bool ends_with(const char *s, const char *end)
{
        size_t n = strlen(s), m = strlen(end);

        return n > m && strcasecmp(s + n - m, end) == 0;
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

        if ((size_t) snprintf(ret, PATH_MAX, "%s.%i", path, getpid()) >= PATH_MAX)
                return -ENAMETOOLONG;
        (void) unlink(ret); /* left by a killed process with the same number */
        fd = open(ret, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return fd < 0 ? -errno : fd;
}

int bench_chart_possible(const char *path)
{
        _cleanup_close_ int none = open("/dev/null", O_RDWR | O_CLOEXEC), picture = -1;
        char temp[PATH_MAX];
        struct stat st;

        if (!ends_with(path, ".svg") && !ends_with(path, ".png"))
                return log_failure(UASD_EXIT_USAGE, "'%s': the name of a chart must end with .svg or .png.", path);
        if (none < 0 || spawn_simple((char *[]){PROGRAM, "--version", NULL}, none, none, none) == -ENOENT)
                return log_failure(UASD_EXIT_TOOL_MISSING,
                                   "gnuplot is not installed. Install it for charts (Debian: gnuplot-nox), or use --csv.");
        picture = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : make_beside(path, temp);
        if (picture < 0)
                return tell_not_written(path, picture);
        (void) unlink(temp);
        return UASD_EXIT_OK;
}

/* gnuplot also prints warnings about fonts, so its words are shown only if it fails. */
static int tell_words(FILE *words)
{
        char line[256] = "";

        rewind(words);
        (void) fscanf(words, " %255[^\n]", line);
        return log_failure(UASD_EXIT_FAILED, "gnuplot could not draw the chart%s%s", *line ? ": " : ".",
                           make_harmless(line, (char[1024]){}, 1024));
}

int bench_chart(const struct bench *b, const char *path)
{
        _cleanup_fclose_ FILE *script = NULL, *words = NULL;
        _cleanup_close_ int picture = -1;
        char temp[PATH_MAX];
        struct stat st;
        int r;

        script = tmpfile();
        r = script ? chart_script(b, ends_with(path, ".svg"), script) : -errno;
        if (r == -ENODATA)
                return log_failure(UASD_EXIT_FAILED, "There is nothing to draw: no round is complete.");
        if (r < 0 || fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) < 0)
                return tell_not_written(path, r < 0 ? r : -errno);
        picture = make_beside(path, temp);
        if (picture < 0)
                return tell_not_written(path, picture);
        words = tmpfile();
        /* Without start-up files. */
        r = words ? spawn_simple((char *[]){PROGRAM, "--default-settings", "-", NULL}, fileno(script), picture, fileno(words))
                  : -errno;
        if (r == 0 && fstat(picture, &st) == 0 && st.st_size == 0)
                r = -EPROTO;
        if (r == 0 && rename(temp, path) < 0)
                r = -errno;
        if (r == 0)
                return UASD_EXIT_OK;
        (void) unlink(temp);
        return r == -EPROTO ? tell_words(words) : tell_not_written(path, r);
}

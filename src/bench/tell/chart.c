/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/print.h"

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

/* Whether the panel with these figures shows the pattern. A point without a place on the axis is not shown. */
static bool in_panel(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        return stats_figure(&b->patterns[pattern]) == m &&
               (b->axis == BENCH_AXIS_NONE || b->axis == BENCH_AXIS_RAMP || b->patterns[pattern].axis > 0) &&
               stats_of(b, pattern, d, m).n > 0;
}

static bool driver_in_panel(const struct bench *b, enum driver d, enum stats_measure m)
{
        for (unsigned i = 0; i < b->n_patterns; i++)
                if (in_panel(b, i, d, m))
                        return true;
        return false;
}

static bool has_panel(const struct bench *b, enum stats_measure m)
{
        for (enum driver d = 0; d < _DRIVER_MAX; d++)
                if (driver_in_panel(b, d, m))
                        return true;
        return false;
}

static void cell(FILE *f, const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        double unit = m == STATS_BYTES ? 1e6 : 1;
        struct summary sum = stats_of(b, pattern, d, m);

        if (sum.n > 0)
                (void) fprintf(f, " %.6g %.6g %.6g", sum.median / unit, sum.min / unit, sum.max / unit);
        else
                (void) fprintf(f, " ? ? ?");
}

/* Bars side by side, with the range of the rounds. */
static void bars(FILE *f, const struct bench *b, enum stats_measure m)
{
        size_t patterns = 0, n = 0;

        (void) fprintf(f, "$bars << END\n");
        for (unsigned i = 0; i < b->n_patterns; i++) {
                char text[PATTERN_TEXT_MAX];

                if (stats_figure(&b->patterns[i]) != m)
                        continue;
                (void) fputc('"', f);
                word(f, *b->patterns[i].name ? b->patterns[i].name : pattern_text(b, i, text));
                (void) fputc('"', f);
                for (enum driver d = 0; d < _DRIVER_MAX; d++)
                        if (driver_in_panel(b, d, m))
                                cell(f, b, i, d, m);
                (void) fputc('\n', f);
                patterns++;
        }
        (void) fprintf(
                f,
                "END\nset style data histogram\nset style histogram errorbars gap 1 lw 1\nset style fill solid 0.8 border -1\n"
                "set xtics rotate by %i\nunset logscale\nset xrange [-0.7:%zu - 0.3]\nplot",
                patterns > 4 ? -30 : 0, patterns);
        for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                if (!driver_in_panel(b, d, m))
                        continue;
                (void) fprintf(f, "%s $bars using %zu:%zu:%zu:xtic(1) title '%s' lc rgb '%s'", n ? "," : "", 3 * n + 2, 3 * n + 3,
                               3 * n + 4, driver_label(d), colours[d]);
                n++;
        }
        (void) fputc('\n', f);
}

/* Two points of a sweep belong together if their names differ only in the last word: "RND4K-Q32T1 depth=4". */
static size_t base_length(const struct bench_pattern *p)
{
        const char *name = p->name, *end = strrchr(name, ' ');

        return end ? (size_t) (end - name) : strlen(name);
}

static bool same_base(const struct bench_pattern *a, const struct bench_pattern *b)
{
        size_t n = base_length(a);

        return n == base_length(b) && (n == 0 || strncmp(a->name, b->name, n) == 0);
}

/* The first point of a line. */
static bool begins(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        for (unsigned i = 0; i < pattern; i++)
                if (in_panel(b, i, d, m) && same_base(&b->patterns[i], &b->patterns[pattern]))
                        return false;
        return in_panel(b, pattern, d, m);
}

/* Lines over the axis, with the range of the rounds. */
static void lines(FILE *f, const struct bench *b, enum stats_measure m)
{
        static const char *const names[_BENCH_AXIS_MAX] = {
                "", "queue depth", "jobs", "region in GiB", "measured seconds", "seconds before", "machines"};
        double scale = b->axis == BENCH_AXIS_REGION ? (double) (1U << 30) : 1;
        struct {
                unsigned pattern; /* first point of the line */
                enum driver driver;
        } all[SERIES_MAX];
        size_t n = 0;

        for (unsigned i = 0; i < b->n_patterns; i++)
                for (enum driver d = 0; d < _DRIVER_MAX && n < SERIES_MAX; d++) {
                        if (!begins(b, i, d, m))
                                continue;
                        (void) fprintf(f, "$line%zu << END\n", n);
                        for (unsigned k = i; k < b->n_patterns; k++) {
                                if (!in_panel(b, k, d, m) || !same_base(&b->patterns[k], &b->patterns[i]))
                                        continue;
                                (void) fprintf(f, "%.6g", b->patterns[k].axis / scale);
                                cell(f, b, k, d, m);
                                (void) fputc('\n', f);
                        }
                        (void) fprintf(f, "END\n");
                        all[n].pattern = i;
                        all[n++].driver = d;
                }
        (void) fprintf(
                f,
                "set xlabel '%s'\nset xtics autofreq norotate\n%s\nset xrange [*:*]\nset offsets graph 0.03, graph 0.03, 0, 0\nplot",
                names[b->axis],
                b->axis == BENCH_AXIS_REGION || b->axis == BENCH_AXIS_RAMP ? "unset logscale" : "set logscale x 2");
        for (size_t i = 0; i < n; i++) {
                const struct bench_pattern *p = &b->patterns[all[i].pattern];
                char name[sizeof(p->name)];

                (void) snprintf(name, sizeof(name), "%.*s", (int) base_length(p), p->name);
                (void) fprintf(f, "%s $line%zu using 1:2:3:4 with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '%s' dt %zu title '",
                               i ? "," : "", i, colours[all[i].driver], i / 2 + 1);
                word(f, name);
                (void) fprintf(f, " %s'", driver_label(all[i].driver));
        }
        (void) fputc('\n', f);
}

int chart_script(const struct bench *b, bool svg, FILE *f)
{
        static const enum stats_measure panels[] = {STATS_IOPS, STATS_BYTES};
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(panels); i++)
                n += has_panel(b, panels[i]);
        if (n == 0)
                return -ENODATA;
        if (svg)
                (void) fprintf(f, "set terminal svg size %u,%u noenhanced background '#ffffff'\n", PANEL_WIDTH * n, PANEL_HEIGHT);
        else
                (void) fprintf(f, "set terminal png size %u,%u noenhanced\n", PANEL_WIDTH * n, PANEL_HEIGHT);
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
        for (size_t i = 0; i < ELEMENTSOF(panels); i++) {
                if (!has_panel(b, panels[i]))
                        continue;
                (void) fprintf(f, "set ylabel '%s'\nset yrange [0:*]\n", panels[i] == STATS_IOPS ? "IOPS" : "MB/s");
                if (b->axis == BENCH_AXIS_NONE)
                        bars(f, b, panels[i]);
                else
                        lines(f, b, panels[i]);
        }
        (void) fprintf(f, "unset multiplot\n");
        return ferror(f) ? -EIO : 0;
}

/* ---- the program ---- */

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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/output.h"

#include <stdarg.h>
#include <time.h>

#include "common/gettext.h"
#include "common/util.h"
#include "ctl/translate.h"
#include "term/fold.h"
#include "term/program.h"

const char *const sgr_of_state[_STATE_MAX] = {
        [STATE_SETTLED] = SGR_GREEN,    [STATE_HELD] = SGR_YELLOW,  [STATE_WAITING] = SGR_YELLOW,
        [STATE_SWITCHING] = SGR_YELLOW, [STATE_TRIAL] = SGR_YELLOW, [STATE_FAILED] = SGR_RED,
        [STATE_UNBOUND] = SGR_RED,      [STATE_IGNORED] = SGR_DIM,  [STATE_INCAPABLE] = SGR_DIM,
};

void output_head(const struct view *v, const char *text)
{
        _cleanup_free_ char *lines = need(fold_indented(text, 2));

        printf("%s%s%s %s\n", colour(sgr_of_state[v->disk.state]), style_utf8() ? "●" : "*", colour_end(), lines);
}

#define KEY_WIDTH 10
#define INDENT (KEY_WIDTH + 2)

/* Prints a text that is harmless, in lines that are indented behind the key. sgr: one of SGR_*, or "". */
static void print_value(const char *key, const char *value, const char *sgr)
{
        _cleanup_free_ char *lines = need(fold_indented(value, INDENT));

        key = translated(key);
        printf("%*s%s%s %s%s%s\n", fold_blanks(key, KEY_WIDTH), "", key, *key ? ":" : " ", colour(sgr), lines,
               *sgr ? colour_end() : "");
}

void output_field(const char *key, const char *value)
{
        output_format(key, "", "%s", value ?: "");
}

void output_format(const char *key, const char *sgr, const char *format, ...)
{
        char value[OUTPUT_TEXT_MAX];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(value, sizeof(value), format, ap);
        va_end(ap);
        if (*value)
                print_value(key, HARMLESS(value), sgr);
}

void output_sentence(const char *key, const char *value)
{
        if (!isempty(value))
                print_value(key, SENTENCE(TRANSLATED(value)), "");
}

const char *output_named(const char *text, const char *id, char *ret, size_t size)
{
        const char *at = strstr(text, "DISK");

        if (at)
                (void) snprintf(ret, size, "%.*s%s%s", (int) (at - text), text, id, at + strlen("DISK"));
        else
                (void) copy_string(ret, size, text);
        return ret;
}

const char *output_clock(uint64_t usec, char ret[static CLOCK_MAX])
{
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (usec == 0 || !localtime_r(&seconds, &tm) || strftime(ret, CLOCK_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
                return "-";
        return ret;
}

void output_line(int used, const char *text)
{
        (void) fold_print(stdout, SENTENCE(text), (unsigned) used);
}

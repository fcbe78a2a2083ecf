/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/ask.h"

#include "common/log.h"
#include "common/util.h"

/* What is typed, without the line's end. False: there is nothing. */
static bool read_line(char **ret)
{
        size_t size = 0;
        ssize_t n = getline(ret, &size, stdin);

        if (n < 0)
                return false;
        while (n > 0 && ((*ret)[n - 1] == '\n' || (*ret)[n - 1] == '\r'))
                (*ret)[--n] = '\0';
        return true;
}

bool ask_destroy(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        const char *expected = f->serial[0] ? f->serial : f->interface;
        char label[VIEW_LABEL_MAX], product[2 * USB_STRING_MAX], harmless[4 * USB_STRING_MAX];
        _cleanup_free_ char *line = NULL;

        (void) make_harmless(view_product(v, product, sizeof(product)), harmless, sizeof(harmless));
        log_warning("%s, %s: everything on it will be overwritten.", view_label(v, label), harmless);
        if (isatty(STDIN_FILENO)) {
                (void) make_harmless(expected, harmless, sizeof(harmless));
                (void) fprintf(stderr, "To go on, type its %s (%s): ", f->serial[0] ? "serial number" : "interface", harmless);
                (void) fflush(stderr);
        }
        if (read_line(&line) && streq(line, expected))
                return true;
        log_error("That is not its %s: nothing has been written.", f->serial[0] ? "serial number" : "interface");
        return false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * modprobe.d and the kernel command line, which admins and packages write. 'r': the rest is a file
 * of /etc, after a NUL one of /usr/lib, after another the command line. Otherwise: lines of a value
 * each, from which the test makes options as modprobe reads them.
 */
#include "sys/quirks/modprobed.h"

#include <ctype.h>

#include "fuzz.h"

#define ETC_FILE "/etc/modprobe.d/b.conf"
#define LIB_FILE "/usr/lib/modprobe.d/a.conf"

static void write_all(const struct roots *r, const char *etc, const char *lib,
                      const char *command_line)
{
        fuzz_file(r->etc, "modprobe.d/b.conf", etc, strlen(etc));
        fuzz_file(r->lib, "modprobe.d/a.conf", lib, strlen(lib));
        fuzz_file(r->proc, "cmdline", command_line, strlen(command_line));
}

static unsigned lines_of(const char *text)
{
        unsigned n = 1;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/* A value is a part of its file, except where a line continues. */
static void check_value(const struct quirk_line *l, const char *text)
{
        CHECK(l->line >= 1 && l->line <= lines_of(text));
        CHECK(!strchr(l->value, '\n'));
        CHECK(strlen(l->value) < strlen(text));
        CHECK(strstr(text, "\\\n") || strstr(text, l->value));
}

/* The value for an initramfs is the last one in the files. */
static void check_last(const struct roots *r, const struct quirk_lines *l)
{
        char quirks[QUIRKS_MAX + 1];
        const char *last = "";
        int k = modprobe_quirks(r, quirks);

        for (size_t i = 0; i < l->n; i++)
                if (l->list[i].source == QUIRK_MODPROBE)
                        last = l->list[i].value;
        CHECK(k == (strlen(last) > QUIRKS_MAX ? -ENOSPC : 0));
        CHECK(k < 0 || streq(quirks, last));
}

static void check_raw(const struct roots *r, char *etc, char *lib, char *command_line)
{
        struct quirk_lines l;
        size_t i = 0;

        write_all(r, etc, lib, command_line);
        CHECK(modprobe_quirk_lines(r, &l) == 0);
        /* In the order of the files' names, then of their lines; the command line comes last. */
        for (unsigned line = 0; i < l.n && l.list[i].file && streq(l.list[i].file, LIB_FILE);
             line = l.list[i++].line) {
                CHECK(l.list[i].source == QUIRK_MODPROBE && l.list[i].line >= line);
                check_value(l.list + i, lib);
        }
        for (unsigned line = 0; i < l.n && l.list[i].file && streq(l.list[i].file, ETC_FILE);
             line = l.list[i++].line) {
                CHECK(l.list[i].source == QUIRK_MODPROBE && l.list[i].line >= line);
                check_value(l.list + i, etc);
        }
        for (; i < l.n; i++) {
                CHECK(l.list[i].source == QUIRK_COMMAND_LINE && !l.list[i].file &&
                      l.list[i].line == 0);
                CHECK(strstr(command_line, l.list[i].value));
        }
        check_last(r, &l);
        quirk_lines_done(&l);
}

/* The value has no character that ends it or its line. */
static bool is_plain(const char *value)
{
        return !strpbrk(value, "\"\n\\");
}

static bool has_blank(const char *value)
{
        for (; *value; value++)
                if (isspace((unsigned char) *value))
                        return true;
        return false;
}

static void put(FILE *f, unsigned form, const char *value)
{
        static const char *const forms[] = {
                "options usb_storage quirks=%s\n",
                "options usb-storage delay_use=1 quirks=\"%s\" option_zero_cd=1\n",
                "options \\\nusb_storage \\\n\"quirks=%s\"\n",
                "\toptions\tusb_storage swi_tru_install quirks=\"%s\"\n# options usb_storage quirks=no\noptions usb_storage2 quirks=no\n",
        };

        if (form == 0 && (has_blank(value) || !*value))
                form = 1;
        _Pragma("GCC diagnostic push")
                _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")(void)
                        fprintf(f, forms[form], value);
        _Pragma("GCC diagnostic pop")
}

/* The values are those that modprobe would pass to the kernel, in that order. */
static void check_made(const struct roots *r, char *text)
{
        char *made = NULL, *values[16], *rest = text;
        struct quirk_lines l;
        size_t size, n = 0;
        FILE *f = open_memstream(&made, &size);

        CHECK(f);
        for (char *value; n < ELEMENTSOF(values) && (value = fuzz_field(&rest, '\n'));)
                if (is_plain(value)) {
                        put(f, (unsigned) (n % 4), value);
                        values[n++] = value;
                }
        CHECK(fclose(f) == 0);
        write_all(r, made, "alias x y\n", "ro usb-storage.delay_use=1 usb_storage.quirks=1:2:u");
        CHECK(modprobe_quirk_lines(r, &l) == 0);
        CHECK(l.n == n + 1 && l.list[n].source == QUIRK_COMMAND_LINE &&
              streq(l.list[n].value, "1:2:u"));
        for (size_t i = 0; i < n; i++)
                CHECK(streq(l.list[i].value, values[i]) && streq(l.list[i].file, ETC_FILE));
        check_last(r, &l);
        quirk_lines_done(&l);
        free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size), *etc = text + 1, *lib, *command_line;

        if (size > 0 && *text == 'r') {
                lib = etc + strlen(etc) + (etc + strlen(etc) < text + size);
                command_line = lib + strlen(lib) + (lib + strlen(lib) < text + size);
                check_raw(fuzz_roots(), etc, lib, command_line);
        } else if (size > 0)
                check_made(fuzz_roots(), etc);
        free(text);
        return 0;
}

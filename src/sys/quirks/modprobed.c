/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/quirks.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "core/quirk-slips.h"
#include "sys/io/sysfs.h"

#define BLANK " \t\n"

#define FILE_MAX (256 * 1024) /* larger than any of modprobe.d */
/* Longer than the command line of any present kernel. */
#define COMMAND_LINE_MAX 8192

struct modprobe_reading {
        const struct roots *roots;
        struct quirk_lines lines;
        char file[600];
        unsigned line; /* first line of the statement that is being read */
};

static int take_slip(struct quirk_lines *lines, const struct quirk_line *where, const char *name, const char *value)
{
        struct quirk_line slip = *where;
        char word[2 * QUIRKS_MAX];

        (void) snprintf(word, sizeof(word), "%s%s%s", name, value ? "=" : "", value ?: "");
        slip.value = word;
        return quirk_slips_add(lines, &slip);
}

/* usb_storage: these are options of that module; else of uas, which has none. */
static int take_options(char *options, bool usb_storage, struct modprobe_reading *d)
{
        const struct quirk_line where = {.source = QUIRK_MODPROBE, .file = d->file, .line = d->line};
        bool behind = false;
        char *name, *value;
        int k = 0;

        while (k >= 0 && (options = kernel_next_arg(options, &name, &value))) {
                bool is_quirks = value && kernel_name_is(name, "quirks");
                bool slip = is_quirks ? !usb_storage : usb_storage && quirk_word_is_slip(name, value, true, behind);

                behind = is_quirks || slip;
                if (slip)
                        k = take_slip(&d->lines, &where, name, value);
                else if (is_quirks)
                        k = quirk_lines_add(&d->lines, QUIRK_MODPROBE, d->file, d->line, value);
        }
        return k;
}

static int take_line(char *line, struct modprobe_reading *d)
{
        char *save = NULL, *word = strtok_r(line, BLANK, &save);

        if (!word || !streq(word, "options"))
                return 0;
        word = strtok_r(NULL, BLANK, &save);
        if (!word || (!kernel_name_is(word, "usb_storage") && !kernel_name_is(word, "uas")))
                return 0;
        return take_options(save, !kernel_name_is(word, "uas"), d);
}

static void name_file(struct modprobe_reading *d, int root, const char *path)
{
        const char *tree = root == d->roots->etc ? "/etc" : root == d->roots->run ? "/run" : "/usr/lib";

        const char *outside = startswith(path, "../");

        if (outside)
                (void) snprintf(d->file, sizeof(d->file), "/usr/%s", outside);
        else
                (void) snprintf(d->file, sizeof(d->file), "%s/%s", tree, path);
}

static int read_file(int root, const char *path, void *data)
{
        _cleanup_close_ int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        struct modprobe_reading *d = data;
        unsigned next = 1;
        size_t size = 0;
        int k = fd < 0 ? -errno : read_whole(fd, FILE_MAX, &text, &size);

        if (k == -EACCES) /* the kernel's modprobe runs as root */
                d->lines.denied = true;
        if (k < 0)
                return k == -ENOMEM ? k : 0; /* modprobe cannot read it either */
        name_file(d, root, path);
        for (char *line = text, *limit = text + size, *end; line < limit && k >= 0; line = end + 1) {
                d->line = next++;
                /* A backslash continues a line in the next one. */
                for (end = strchrnul(line, '\n'); end > line && end[-1] == '\\' && *end == '\n'; end = strchrnul(end - 1, '\n')) {
                        memmove(end - 1, end + 1, (size_t) (limit - end));
                        limit -= 2;
                        next++;
                }
                *end = '\0';
                k = take_line(line, d);
        }
        return k;
}

static int read_command_line(const struct roots *r, struct quirk_lines *lines)
{
        char text[COMMAND_LINE_MAX], *rest = text, *name, *value;
        struct quirk_line where = {.source = QUIRK_COMMAND_LINE};
        bool behind = false;
        int k = 0;

        if (attr_read(r->proc, "cmdline", text, sizeof(text)) < 0)
                return 0;
        while (k >= 0 && (rest = kernel_next_arg(rest, &name, &value))) {
                bool is_quirks = value && kernel_name_is(name, "usb_storage.quirks");
                bool slip = !is_quirks && quirk_word_is_slip(name, value, false, behind);

                if (slip)
                        k = take_slip(lines, &where, name, value);
                else if (is_quirks)
                        k = quirk_lines_add(lines, QUIRK_COMMAND_LINE, NULL, 0, value);
                where.behind = is_quirks ? lines->n : 0;
                behind = is_quirks || slip;
        }
        return k;
}

static int read_modprobe_d(const struct roots *r, const struct dropin_dir *dirs, size_t n, struct quirk_lines *ret)
{
        struct modprobe_reading d = {.roots = r};
        int k = dropins_of(dirs, n, ".conf", read_file, &d);

        if (k < 0)
                quirk_lines_done(&d.lines);
        *ret = d.lines;
        return k;
}

int modprobe_quirk_lines(const struct roots *r, struct quirk_lines *ret)
{
        const struct dropin_dir dirs[] = {
                {r->etc, "modprobe.d"},
                {r->run, "modprobe.d"},
                {r->lib, "../local/lib/modprobe.d"},
                {r->lib, "modprobe.d"},
        };
        struct quirk_lines lines;
        int k = read_modprobe_d(r, dirs, ELEMENTSOF(dirs), &lines);

        if (k >= 0)
                k = read_command_line(r, &lines);
        if (k < 0) {
                quirk_lines_done(&lines);
                return k;
        }
        *ret = lines;
        return 0;
}

int modprobe_quirks(const struct roots *r, char ret[static QUIRKS_MAX + 1])
{
        const struct dropin_dir dirs[] = {{r->etc, "modprobe.d"}, {r->lib, "modprobe.d"}};
        struct quirk_lines lines;
        int k = read_modprobe_d(r, dirs, ELEMENTSOF(dirs), &lines);

        if (k >= 0 && !copy_string(ret, QUIRKS_MAX + 1, lines.n ? lines.list[lines.n - 1].value : ""))
                k = -ENOSPC;
        quirk_lines_done(&lines);
        return k;
}

int quirk_facts_read(const struct roots *r, struct quirk_facts *ret)
{
        struct quirk_facts q = {.parameter = ""};
        int k = modprobe_quirk_lines(r, &q.lines);

        if (k < 0)
                return k;
        if (quirks_param_read(r, q.parameter) < 0)
                q.parameter[0] = '\0';
        /* Code in the kernel image has parameters, but no module state. */
        q.built_in = faccessat(r->sys, SYSFS_QUIRKS, F_OK, 0) == 0 && faccessat(r->sys, SYSFS_STORAGE_STATE, F_OK, 0) < 0;
        keepoff_own_all(r, q.own_kept);
        (void) quirks_bind_read(r, q.own_now);
        *ret = q;
        return 0;
}

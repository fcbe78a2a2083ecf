/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/modprobed.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "core/quirk-slips.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/param.h"

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

static int modprobe_take_slip(struct quirk_lines *lines, const struct quirk_line *where,
                              const char *name, const char *value)
{
        struct quirk_line slip = *where;
        char word[2 * QUIRKS_MAX];

        (void) snprintf(word, sizeof(word), "%s%s%s", name, value ? "=" : "", value ?: "");
        slip.value = word;
        return quirk_slips_add(lines, &slip);
}

/* usb_storage: these are options of that module; else of uas, which has none. */
static int modprobe_take_options(char *options, bool usb_storage, struct modprobe_reading *d)
{
        const struct quirk_line where = {
                .source = QUIRK_MODPROBE, .file = d->file, .line = d->line};
        bool behind = false;
        char *name, *value;

        while ((options = kernel_next_arg(options, &name, &value))) {
                bool is_quirks = value && kernel_name_is(name, "quirks");
                bool slip = is_quirks
                                    ? !usb_storage
                                    : usb_storage && quirk_word_is_slip(name, value, true, behind);
                int r = 0;

                behind = is_quirks || slip;
                if (slip)
                        r = modprobe_take_slip(&d->lines, &where, name, value);
                else if (is_quirks)
                        r = quirk_lines_add(&d->lines, QUIRK_MODPROBE, d->file, d->line, value);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int modprobe_take_line(char *line, struct modprobe_reading *d)
{
        char *save = NULL, *word = strtok_r(line, BLANK, &save);

        if (!word || !streq(word, "options"))
                return 0;
        word = strtok_r(NULL, BLANK, &save);
        if (!word || (!kernel_name_is(word, "usb_storage") && !kernel_name_is(word, "uas")))
                return 0;
        return modprobe_take_options(save, !kernel_name_is(word, "uas"), d);
}

static void modprobe_name_file(struct modprobe_reading *d, int root, const char *path)
{
        const char *outside = startswith(path, "../"), *tree = "/usr/lib";

        if (root == d->roots->etc)
                tree = "/etc";
        else if (root == d->roots->run)
                tree = "/run";
        else if (outside)
                tree = "/usr";
        (void) snprintf(d->file, sizeof(d->file), "%s/%s", tree, outside ?: path);
}

static int modprobe_read_file(int root, const char *path, void *data)
{
        _cleanup_close_ int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        struct modprobe_reading *d = data;
        unsigned next = 1;
        size_t size = 0;
        int r;

        if (fd < 0 && errno == EACCES) /* the kernel's modprobe runs as root */
                d->lines.denied = true;
        if (fd < 0)
                return 0; /* modprobe cannot read it either */
        r = read_whole(fd, FILE_MAX, &text, &size);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;
        modprobe_name_file(d, root, path);
        for (char *line = text, *limit = text + size, *end; line < limit; line = end + 1) {
                d->line = next++;
                /* A backslash continues a line in the next one. */
                for (end = strchrnul(line, '\n'); end > line && end[-1] == '\\' && *end == '\n';
                     end = strchrnul(end - 1, '\n')) {
                        memmove(end - 1, end + 1, (size_t) (limit - end));
                        limit -= 2;
                        next++;
                }
                *end = '\0';
                r = modprobe_take_line(line, d);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int modprobe_read_command_line(const struct roots *roots, struct quirk_lines *lines)
{
        char text[COMMAND_LINE_MAX], *rest = text, *name, *value;
        struct quirk_line where = {.source = QUIRK_COMMAND_LINE};
        bool behind = false;

        if (attr_read(roots->proc, "cmdline", text, sizeof(text)) < 0)
                return 0;
        while ((rest = kernel_next_arg(rest, &name, &value))) {
                bool is_quirks = value && kernel_name_is(name, "usb_storage.quirks");
                bool slip = !is_quirks && quirk_word_is_slip(name, value, false, behind);
                int r = 0;

                if (slip)
                        r = modprobe_take_slip(lines, &where, name, value);
                else if (is_quirks)
                        r = quirk_lines_add(lines, QUIRK_COMMAND_LINE, NULL, 0, value);
                if (r < 0)
                        return r;
                where.behind = is_quirks ? lines->n : 0;
                behind = is_quirks || slip;
        }
        return 0;
}

/* ret is to be freed in any case. */
static int modprobe_read_dirs(const struct roots *roots, const struct dropin_dir *dirs, size_t n,
                              struct quirk_lines *ret)
{
        struct modprobe_reading d = {.roots = roots};
        int r = dropins_of(dirs, n, ".conf", modprobe_read_file, &d);

        *ret = d.lines;
        return r;
}

int modprobe_quirk_lines(const struct roots *roots, struct quirk_lines *ret)
{
        const struct dropin_dir dirs[] = {
                {roots->etc, "modprobe.d"},
                {roots->run, "modprobe.d"},
                {roots->lib, "../local/lib/modprobe.d"},
                {roots->lib, "modprobe.d"},
        };
        _cleanup_(quirk_lines_done) struct quirk_lines lines = {};
        int r = modprobe_read_dirs(roots, dirs, ELEMENTSOF(dirs), &lines);

        if (r < 0)
                return r;
        r = modprobe_read_command_line(roots, &lines);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(lines);
        return 0;
}

int modprobe_quirks(const struct roots *roots, char ret[static QUIRKS_MAX + 1])
{
        const struct dropin_dir dirs[] = {{roots->etc, "modprobe.d"}, {roots->lib, "modprobe.d"}};
        _cleanup_(quirk_lines_done) struct quirk_lines lines = {};
        int r = modprobe_read_dirs(roots, dirs, ELEMENTSOF(dirs), &lines);

        if (r < 0)
                return r;
        if (!copy_string(ret, QUIRKS_MAX + 1, lines.n ? lines.list[lines.n - 1].value : ""))
                return -ENOSPC;
        return 0;
}

int quirk_facts_read(const struct roots *roots, struct quirk_facts *ret)
{
        struct quirk_facts q = {.parameter = ""};
        int r = modprobe_quirk_lines(roots, &q.lines);

        if (r < 0)
                return r;
        if (quirks_param_read(roots, q.parameter) < 0)
                q.parameter[0] = '\0';
        /* Code in the kernel image has parameters, but no module state. */
        q.built_in = faccessat(roots->sys, SYSFS_QUIRKS, F_OK, 0) == 0 &&
                     faccessat(roots->sys, SYSFS_STORAGE_STATE, F_OK, 0) < 0;
        keepoff_own_all(roots, q.own_kept);
        (void) quirks_bind_read(roots, q.own_now);
        *ret = q;
        return 0;
}

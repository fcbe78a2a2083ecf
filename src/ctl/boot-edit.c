/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/boot-edit.h"
#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#include "common/names.h"
#include "core/quirk-join.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

#define TEXT_MAX ((size_t) 64 * 1024)
#define WORD "usb-storage.quirks="
#define GRUB_VARIABLE "GRUB_CMDLINE_LINUX"
#define NEW ".uasd-new"
#define LOCK_USEC (10 * USEC_PER_SEC) /* the other one writes two files to a slow card */
#define MODPROBE_HEAD "# Written by uasctl policy --kernel --write.\n"
#define MODPROBE_LINE "options usb-storage quirks="

void boot_edit_done(struct boot_edit *e)
{
        free(e->text);
        free(e->value);
        *e = (struct boot_edit){};
}

/* ---- the form ---- */

/* Takes one of the words, which is the last one so far: only the last one counts for the kernel. */
static const char *take_quirks_word(struct boot_edit *e, size_t from, size_t to, const char *value)
{
        char *joined;

        if (e->value && e->n_former == ELEMENTSOF(e->former))
                return N_("it has usb-storage.quirks= too often");
        joined = need(quirks_join((const char *[]){e->value ?: value, value}, e->value ? 2 : 1));
        if (e->value) {
                e->former[e->n_former].start = e->start;
                e->former[e->n_former++].end = e->end;
        }
        free(e->value);
        e->value = joined;
        e->start = from;
        e->end = to;
        while (e->end > e->start && strchr(" \t", e->text[e->end - 1]))
                e->end--;
        if (memchr(e->text + e->start, '"', e->end - e->start) ||
            (e->start > e->from && e->text[e->start - 1] == '"'))
                return N_("the value of usb-storage.quirks= is quoted");
        return NULL;
}

/* Finds the words in the command line text[from..to]. Returns NULL, or why the form is not known.
 */
static const char *parse_command_line(struct boot_edit *e, size_t from, size_t to)
{
        _cleanup_free_ char *line = need(strndup(e->text + from, to - from));
        char *rest = line, *name, *value;
        const char *why = NULL;
        unsigned quotes = 0;

        e->from = from;
        e->to = to;
        for (const char *c = line; *c; c++) {
                if (iscntrl((unsigned char) *c) && *c != '\t')
                        return N_("it has control characters");
                quotes += *c == '"';
        }
        if (quotes % 2)
                return N_("a quote is not closed");
        while (to > from && strchr(" \t", e->text[to - 1]))
                to--;
        e->start = e->end = to;
        while (!why && (rest = kernel_next_arg(rest, &name, &value))) {
                if (streq(name, "--"))
                        return N_("the words behind -- are not for the kernel");
                if (value && kernel_name_is(name, "usb_storage.quirks"))
                        why = take_quirks_word(e, from + (size_t) (name - line),
                                               from + (size_t) (rest - line), value);
        }
        return why;
}

static const char *parse_one_line(struct boot_edit *e)
{
        size_t n = strcspn(e->text, "\n");

        if (e->text[n + strspn(e->text + n, "\n")])
                return N_("it has more than one line");
        if (strspn(e->text, " \t") == n)
                return N_("it is empty");
        /* Wherever it is: a change may remove the words before it. */
        for (const char *sign = e->text; (sign = memchr(sign, '#', (size_t) (e->text + n - sign)));
             sign++)
                if (sign == e->text || strchr(" \t", sign[-1]))
                        return N_("a word in it begins with #, which may be a comment");
        return parse_command_line(e, 0, n);
}

/* The line is NAME="..." or NAME='...', and nothing in it is for the shell to expand. */
static const char *parse_grub_line(struct boot_edit *e, const char *line)
{
        size_t from = strlen(GRUB_VARIABLE "="), n = strcspn(line, "\n"),
               at = (size_t) (line - e->text);
        const char *end = NULL;

        if (line[from] == '"' || line[from] == '\'')
                end = memchr(line + from + 1, line[from], n - from - 1);
        if (line > e->text + 1 && line[-2] == '\\')
                return N_("the line of GRUB_CMDLINE_LINUX= continues another one");
        if (!end || end[1 + strspn(end + 1, " \t")] != line[n])
                return N_("the value of GRUB_CMDLINE_LINUX= is not one quoted text");
        if (strcspn(line + from + 1, "$`\\\"") < (size_t) (end - line) - from - 1)
                return N_("the value of GRUB_CMDLINE_LINUX= needs a shell");
        return parse_command_line(e, at + from + 1, (size_t) (end - e->text));
}

static bool names_variable(const char *line, size_t n)
{
        return memmem(line, n, GRUB_VARIABLE "=", strlen(GRUB_VARIABLE "=")) ||
               memmem(line, n, GRUB_VARIABLE "+=", strlen(GRUB_VARIABLE "+="));
}

static bool names_quirks(const char *line, size_t n)
{
        return memmem(line, n, "storage.quirks", strlen("storage.quirks"));
}

static const char *parse_grub(struct boot_edit *e)
{
        const char *line = e->text, *found = NULL;

        for (; *line; line = next_line(line)) {
                size_t n = strcspn(line, "\n");
                bool starts = startswith(line, GRUB_VARIABLE "=");

                if (line[strspn(line, " \t")] == '#')
                        continue;
                if (names_variable(line, n) && (!starts || found))
                        return N_(
                                "GRUB_CMDLINE_LINUX= is set in more than one place, or not at the start of a line");
                if (starts)
                        found = line;
                else if (names_quirks(line, n))
                        return N_(
                                "usb-storage.quirks= is in another line than GRUB_CMDLINE_LINUX=");
        }
        if (!found)
                return N_("it does not set GRUB_CMDLINE_LINUX=");
        return parse_grub_line(e, found);
}

static const char *parse_modprobe(struct boot_edit *e)
{
        const char *line = startswith(e->text, MODPROBE_HEAD MODPROBE_LINE);
        size_t n;

        if (!*e->text)
                return NULL;
        if (!line)
                return N_("it is not as uasctl has written it");
        n = strcspn(line, " \"\n");
        if (!streq(line + n, "\n"))
                return N_("it is not as uasctl has written it");
        e->value = need(strndup(line, n));
        return NULL;
}

/* ---- reading ---- */

/* grub-mkconfig reads these files after /etc/default/grub. */
static bool grub_d_sets_line(const struct roots *roots)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(roots->etc, "default/grub.d", "", &names);

        for (int i = 0; i < n; i++) {
                char text[16384];
                ssize_t size;

                if (!endswith(names[i], ".cfg"))
                        continue;
                size = attr_read(roots->etc, path_join("default/grub.d/", names[i]), text,
                                 sizeof(text));
                if (size < 0 || names_variable(text, (size_t) size) ||
                    names_quirks(text, (size_t) size))
                        return true;
        }
        return false;
}

/* Returns why a change of this file has no effect or does not last; NULL: it does. */
static const char *made_by_others(const struct roots *roots, const struct boot_place *p)
{
        char text[16384];

        /* Debian's package for the Raspberry Pi. */
        if (p->form == BOOT_ONE_LINE &&
            attr_read(roots->etc, "kernel/postinst.d/z50-raspi-firmware", text, sizeof(text)) > 0 &&
            strstr(text, "raspi-extra-cmdline"))
                return N_(
                        "raspi-firmware makes it from /etc/default/raspi-extra-cmdline, which is the file to change");
        if (p->form == BOOT_ENTRIES)
                return N_("each kernel has an entry in it, and uasctl does not change those");
        if (p->form != BOOT_GRUB)
                return NULL;
        if (faccessat(roots->etc, "../boot/grub/grub.cfg", F_OK, 0) < 0 &&
            faccessat(roots->etc, "../boot/grub2/grub.cfg", F_OK, 0) < 0)
                return N_(
                        "there is no grub.cfg in /boot/grub, so another boot loader may start this machine");
        if (grub_d_sets_line(roots))
                return N_("a file in /etc/default/grub.d may set the kernel command line, too");
        return NULL;
}

static int read_boot_file(const struct roots *roots, const char *at, struct boot_edit *e,
                          const char **ret_why)
{
        _cleanup_close_ int fd =
                openat(roots->etc, at, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        size_t n = 0;
        int r;

        *ret_why = N_("it is a symbolic link");
        if (fd < 0)
                return errno == ELOOP ? -EUCLEAN : -errno;
        *ret_why = NULL;
        if (fstat(fd, &e->seen) < 0)
                return -errno;
        r = read_whole(fd, TEXT_MAX, &e->text, &n);
        if (r == -EINVAL)
                *ret_why = N_("it is no file");
        else if (r == -EFBIG)
                *ret_why = N_("it is too long");
        else if (r < 0)
                return r;
        else if (strlen(e->text) < n)
                *ret_why = N_("it has control characters");
        if (*ret_why)
                return -EUCLEAN;
        return 0;
}

int boot_edit_read(const struct roots *roots, const struct boot_place *p, bool backup,
                   struct boot_edit *ret, const char **ret_why)
{
        static const char *(*const parse[])(struct boot_edit *
                                            e) = {[BOOT_ONE_LINE] = parse_one_line,
                                                  [BOOT_GRUB] = parse_grub,
                                                  [BOOT_MODPROBE] = parse_modprobe};
        _cleanup_(boot_edit_done) struct boot_edit e = {.place = p};
        char at[PATH_MAX];
        int r;

        *ret_why = NULL;
        if (!backup)
                *ret_why = made_by_others(roots, p);
        if (*ret_why)
                return -EUCLEAN;
        (void) snprintf(at, sizeof(at), "%s%s", p->at, backup ? BOOT_BACKUP : "");
        r = read_boot_file(roots, at, &e, ret_why);
        if (r == -ENOENT && p->form == BOOT_MODPROBE && !backup) {
                e.text = need(strdup(""));
                r = 0;
        }
        if (r < 0)
                return r;
        assert(e.text);
        *ret_why = parse[p->form](&e);
        if (*ret_why)
                return -EUCLEAN;
        *ret = TAKE_STRUCT(e);
        return 0;
}

/* ---- the machine ---- */

#define COMMAND_LINE_MAX 8192

static bool has_word(const char *cmdline, const char *name, const char *value)
{
        _cleanup_free_ char *copy = need(strdup(cmdline));
        char *rest = copy, *n, *v;

        while ((rest = kernel_next_arg(rest, &n, &v)))
                if (streq(n, name) && !v == !value && (!v || streq(v, value)))
                        return true;
        return false;
}

/* The firmware of the Raspberry Pi replaces "serial0" by the name of that port, before the kernel
 * sees it. */
static bool is_replaced(const char *value)
{
        return value && (startswith(value, "serial0") || startswith(value, "serial1"));
}

/* For that firmware, config.txt may name another file. */
static bool config_names_another(const struct roots *roots, const struct boot_place *p)
{
        char at[PATH_MAX], text[16384];

        (void) snprintf(at, sizeof(at), "%.*sconfig.txt", (int) (strrchr(p->at, '/') + 1 - p->at),
                        p->at);
        if (p->form != BOOT_ONE_LINE || attr_read(roots->etc, at, text, sizeof(text)) < 0)
                return false;
        for (const char *line = text; *line; line = next_line(line)) {
                const char *name = line + strspn(line, " \t"), *file = startswith(name, "cmdline=");

                if (startswith(name, "os_prefix=") || (file && !startswith(file, "cmdline.txt")))
                        return true;
        }
        return false;
}

const char *boot_edit_not_booted(const struct roots *roots, const struct boot_edit *e)
{
        char *rest, *name, *value, cmdline[COMMAND_LINE_MAX];
        _cleanup_free_ char *line = NULL;

        if (e->place->form == BOOT_MODPROBE ||
            attr_read(roots->proc, "cmdline", cmdline, sizeof(cmdline)) <= 0)
                return NULL;
        if (config_names_another(roots, e->place))
                return N_("config.txt beside it names another file (cmdline= or os_prefix=)");
        if (e->place->form == BOOT_GRUB && !startswith(cmdline, "BOOT_IMAGE=") &&
            !strstr(cmdline, " BOOT_IMAGE="))
                return N_("GRUB has not started this machine: /proc/cmdline has no BOOT_IMAGE=");
        rest = line = need(strndup(e->text + e->from, e->to - e->from));
        while ((rest = kernel_next_arg(rest, &name, &value)))
                if (!kernel_name_is(name, "usb_storage.quirks") && !is_replaced(value) &&
                    !has_word(cmdline, name, value))
                        return N_(
                                "the kernel has started without some of its words (/proc/cmdline). "
                                "The machine boots with another file, or the file was changed since the start: then restart first");
        return NULL;
}

/* ---- the change ---- */

/* Appends text[from..to] without the former words, each with the blank behind it. */
static void add_without_former(const struct boot_edit *e, size_t from, size_t to, FILE *f)
{
        for (size_t i = 0; i < e->n_former; i++) {
                size_t start = e->former[i].start, end = e->former[i].end;

                (void) fwrite(e->text + from, 1, start - from, f);
                from = end + strspn(e->text + end, " \t");
        }
        if (from < to)
                (void) fwrite(e->text + from, 1, to - from, f);
}

/* The name of a word that is there may have a '_', and stays as it is: it has the same length. */
char *boot_edit_text(const struct boot_edit *e, const char *value)
{
        size_t start = e->start, size;
        char *text = NULL;
        FILE *f = need(open_memstream(&text, &size));

        if (e->place->form == BOOT_MODPROBE) {
                if (value)
                        (void) fprintf(f, MODPROBE_HEAD MODPROBE_LINE "%s\n", value);
        } else {
                /* With the blank before it. */
                if (!value && e->value && start > 0 && strchr(" \t", e->text[start - 1]))
                        start--;
                add_without_former(e, 0, start, f);
                if (value && start > e->from && !strchr(" \t", e->text[start - 1]))
                        (void) fputc(' ', f);
                if (value)
                        (void) fprintf(f, "%.*s%s", (int) strlen(WORD),
                                       e->value ? e->text + start : WORD, value);
                (void) fputs(e->text + e->end, f);
        }
        if (fclose(f) == EOF)
                no_memory();
        return text;
}

void boot_edit_print(const struct boot_edit *e, const char *text)
{
        size_t at = e->start;

        /* Both texts begin alike. */
        while (at > 0 && e->text[at - 1] != '\n')
                at--;
        if (e->place->form == BOOT_MODPROBE)
                at = strlen(MODPROBE_HEAD);
        printf("%s:\n", e->place->path);
        if (strlen(e->text) > at)
                printf("-%.*s\n", (int) strcspn(e->text + at, "\n"), e->text + at);
        if (strlen(text) > at)
                printf("+%.*s\n", (int) strcspn(text + at, "\n"), text + at);
}

/* Opens the present file. Returns -ENOENT if there is none, as before, -ESTALE if it is not the one
 * that was read, or -errno. */
static int open_seen(int dir, const char *name, const struct stat *seen)
{
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat now = {};

        if (fd < 0 && errno != ENOENT)
                return -errno;
        if (fd >= 0 && fstat(fd, &now) < 0)
                return -errno;
        if (now.st_ino != seen->st_ino || now.st_size != seen->st_size ||
            now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec)
                return -ESTALE;
        if (fd < 0)
                return -ENOENT;
        return TAKE_FD(fd);
}

int boot_edit_write(const struct roots *roots, const struct boot_edit *e, const char *text,
                    bool restored)
{
        const char *name = strrchr(e->place->at, '/') + 1;
        char folder[PATH_MAX], backup[NAME_MAX], temp[NAME_MAX];
        _cleanup_close_ int dir = -1, old = -1, lock = -1;
        int r;

        (void) copy_part(folder, sizeof(folder), e->place->at, (size_t) (name - e->place->at));
        (void) snprintf(backup, sizeof(backup), "%s" BOOT_BACKUP, name);
        (void) snprintf(temp, sizeof(temp), "%s" NEW, name);
        dir = openat(roots->etc, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        /* Two changes at once would use the same temporary file. The second one then finds the file
         * changed. */
        lock = state_lock(roots->run, RUN_BOOT_LOCK, awake_in(LOCK_USEC));
        if (lock < 0)
                return lock;
        old = open_seen(dir, name, &e->seen);
        if (old < 0 && old != -ENOENT)
                return old;
        if (e->place->form == BOOT_MODPROBE && restored) {
                if (unlinkat(dir, name, 0) < 0 || fsync(dir) < 0)
                        return -errno;
                return 0;
        }
        if (e->place->form != BOOT_MODPROBE &&
            faccessat(dir, backup, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
                r = file_replace(dir, backup, temp, e->text, old, true);
                if (r < 0)
                        return r;
        }
        r = file_replace(dir, name, temp, text, old, true);
        if (r < 0)
                return r;
        if (restored && unlinkat(dir, backup, 0) < 0)
                return -errno;
        return 0;
}

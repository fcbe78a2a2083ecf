/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/boot.h"

#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#include "common/names.h"
#include "core/quirks.h"
#include "ctl/output.h"
#include "sys/io/boot.h"
#include "sys/io/programs.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

/* ---- the file with the kernel command line ---- */

const struct boot_place boot_place_modprobe = {
        .form = BOOT_MODPROBE, .at = "modprobe.d/zzz-uasctl.conf", .path = "/etc/modprobe.d/zzz-uasctl.conf"};

/* The Raspberry Pi's firmware reads its own file, even if other boot loaders are installed. */
static const struct boot_place places[] = {
        /* clang-format off */
        {BOOT_ONE_LINE, "../boot/firmware/cmdline.txt", "/boot/firmware/cmdline.txt", NULL},
        {BOOT_ONE_LINE, "../boot/cmdline.txt", "/boot/cmdline.txt", NULL},
        {BOOT_GRUB, "default/grub", "/etc/default/grub", NULL}, /* see grub_command() */
        {BOOT_ONE_LINE, "kernel/cmdline", "/etc/kernel/cmdline", "kernel-install add-all"},
        /* clang-format on */
};

static const struct boot_place entries = {.form = BOOT_ENTRIES, .path = "/boot/loader/entries"};

/*
 * Fedora and its relatives: GRUB reads an entry with a command line for each kernel. grub2-mkconfig brings a change of
 * /etc/default/grub to the entries only on some of them.
 */
static bool grub_has_entries(const struct roots *r)
{
        char text[16384];

        if (attr_read(r->etc, "default/grub", text, sizeof(text)) < 0)
                return false;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *value = startswith(line, "GRUB_ENABLE_BLSCFG=");

                if (value && startswith(value + strspn(value, "\"'"), "true"))
                        return true;
        }
        return false;
}

const struct boot_place *boot_place_find(const struct roots *r)
{
        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                if (faccessat(r->etc, places[i].at, F_OK, 0) == 0)
                        return places[i].form == BOOT_GRUB && grub_has_entries(r) ? &entries : &places[i];
        return NULL;
}

/* Only Debian and its relatives have update-grub. */
static const char *grub_command(const struct roots *r)
{
        static const struct {
                const char *path;
                enum remedy remedy;
        } makers[] = {
                {"default/grub", REMEDY_GRUB_DEBIAN},
                {"../boot/grub2/grub.cfg", REMEDY_GRUB2},
                {"../boot/grub/grub.cfg", REMEDY_GRUB},
        };

        for (size_t i = 0; i < ELEMENTSOF(makers); i++)
                if (faccessat(r->etc, makers[i].path, F_OK, 0) == 0 && program_there(r, remedy_rows[makers[i].remedy].program))
                        return remedy_rows[makers[i].remedy].words;
        return _("make the configuration of GRUB again");
}

const char *boot_place_command(const struct roots *r, const struct boot_place *p)
{
        switch (p->form) {
        case BOOT_GRUB:
                return grub_command(r);
        case BOOT_MODPROBE:
                return initramfs_command(r);
        case BOOT_ONE_LINE:
        case BOOT_ENTRIES:
                break;
        }
        return p->then;
}

char *boot_place(const struct ctl *c, char *ret, size_t size)
{
        const char *command = initramfs_command(&c->client.roots);
        const struct boot_place *p = boot_place_find(&c->client.roots);

        if (p)
                (void) snprintf(
                        ret, size,
                        p->form == BOOT_GRUB
                                ? _("On this machine it belongs into %s, in GRUB_CMDLINE_LINUX=, then: %s. Restart after that.")
                        : p->form == BOOT_ENTRIES
                                ? _("On this machine it belongs into %s: grubby --update-kernel=ALL --args=WORD. Restart after that.")
                        : p->then
                                ? _("On this machine it belongs into %s, then rebuild the boot entries (kernel-install). Restart after that.")
                                : _("On this machine it belongs into %s, at the end of its one line. Restart after that."),
                        p->path, boot_place_command(&c->client.roots, p));
        else
                (void) snprintf(
                        ret, size,
                        _("It may also be an 'options usb-storage quirks=' in /etc/modprobe.d, then: %s. Restart after that."),
                        command ?: _("rebuild the initramfs, if there is one"));
        return ret;
}

char *boot_place_for(const struct ctl *c, const struct view *v, char *ret, size_t size)
{
        ret[0] = '\0';
        if (!disk_has_root(&v->disk) || !view_leaves_uas(v))
                return ret;
        text_add(boot_place(c, ret, size), size, " ");
        text_add(ret, size,
                 boot_place_find(&c->client.roots) == &entries ? _("uasctl policy --kernel %s prints the word.")
                                                               : _("uasctl policy --kernel --write %s usb-storage does that."),
                 v->disk.facts.interface);
        return ret;
}

void boot_place_print(const struct ctl *c, const struct view *v)
{
        char text[BOOT_PLACE_MAX];

        if (*boot_place_for(c, v, text, sizeof(text)))
                output_sentence("Boot", text);
}

void say_initramfs_is_old(const struct ctl *c)
{
        const char *command = initramfs_command(&c->client.roots);

        /* The hook and the initramfs itself write this file. So there is an initramfs that contains policies and records. */
        if (command && faccessat(c->client.roots.run, RUN_INITRAMFS, F_OK, 0) == 0)
                log_info("The initramfs has the former settings until it is made again: %s", command);
}

/* ---- changes of it ---- */

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

/* Finds the word in the command line text[from..to]. Returns NULL, or why the form is not known. */
static const char *parse_command_line(struct boot_edit *e, size_t from, size_t to)
{
        _cleanup_free_ char *line = need(strndup(e->text + from, to - from));
        char *rest = line, *name, *value;
        unsigned quotes = 0;

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
        e->from = from;
        while ((rest = kernel_next_arg(rest, &name, &value))) {
                if (streq(name, "--"))
                        return N_("the words behind -- are not for the kernel");
                if (!value || !kernel_name_is(name, "usb_storage.quirks"))
                        continue;
                if (e->value)
                        return N_("it has usb-storage.quirks= more than once");
                e->value = need(strdup(value));
                e->start = from + (size_t) (name - line);
                e->end = from + (size_t) (rest - line);
                while (e->end > e->start && strchr(" \t", e->text[e->end - 1]))
                        e->end--;
                if (memchr(e->text + e->start, '"', e->end - e->start) || (e->start > from && e->text[e->start - 1] == '"'))
                        return N_("the value of usb-storage.quirks= is quoted");
        }
        return NULL;
}

static const char *parse_one_line(struct boot_edit *e)
{
        size_t n = strcspn(e->text, "\n");

        if (e->text[n + strspn(e->text + n, "\n")])
                return N_("it has more than one line");
        if (strspn(e->text, " \t") == n)
                return N_("it is empty");
        return e->text[0] == '#' ? N_("it begins with #") : parse_command_line(e, 0, n);
}

/* The line is NAME="..." or NAME='...', and nothing in it is for the shell to expand. */
static const char *parse_grub_line(struct boot_edit *e, const char *line)
{
        size_t from = strlen(GRUB_VARIABLE "="), n = strcspn(line, "\n"), at = (size_t) (line - e->text);
        const char *end = line[from] == '"' || line[from] == '\'' ? memchr(line + from + 1, line[from], n - from - 1) : NULL;

        if (line > e->text + 1 && line[-2] == '\\')
                return N_("the line of GRUB_CMDLINE_LINUX= continues another one");
        if (!end || end[1 + strspn(end + 1, " \t")] != (line[n] ? '\n' : '\0'))
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

        for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t n = strcspn(line, "\n");
                bool starts = startswith(line, GRUB_VARIABLE "=");

                if (line[strspn(line, " \t")] == '#')
                        continue;
                if (names_variable(line, n) && (!starts || found))
                        return N_("GRUB_CMDLINE_LINUX= is set in more than one place, or not at the start of a line");
                if (starts)
                        found = line;
                else if (names_quirks(line, n))
                        return N_("usb-storage.quirks= is in another line than GRUB_CMDLINE_LINUX=");
        }
        return found ? parse_grub_line(e, found) : N_("it does not set GRUB_CMDLINE_LINUX=");
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

struct other_file {
        const struct roots *roots;
        const char *why;
};

/* grub-mkconfig reads these files after /etc/default/grub. */
static int look_at_grub_d(const char *name, void *data)
{
        struct other_file *o = data;
        char text[16384];
        ssize_t n;

        if (!endswith(name, ".cfg"))
                return 0;
        n = attr_read(o->roots->etc, path_join("default/grub.d/", name), text, sizeof(text));
        if (n < 0 || names_variable(text, (size_t) n) || names_quirks(text, (size_t) n))
                o->why = N_("a file in /etc/default/grub.d may set the kernel command line, too");
        return o->why != NULL;
}

/* Returns why a change of this file has no effect or does not last; NULL: it does. */
static const char *made_by_others(const struct roots *r, const struct boot_place *p)
{
        struct other_file o = {.roots = r};
        char text[16384];

        /* Debian's package for the Raspberry Pi. */
        if (p->form == BOOT_ONE_LINE && attr_read(r->etc, "kernel/postinst.d/z50-raspi-firmware", text, sizeof(text)) > 0 &&
            strstr(text, "raspi-extra-cmdline"))
                return N_("raspi-firmware makes it from /etc/default/raspi-extra-cmdline, which is the file to change");
        if (p->form == BOOT_ENTRIES)
                return N_("only grubby changes the entries in it");
        if (p->form != BOOT_GRUB)
                return NULL;
        if (faccessat(r->etc, "../boot/grub/grub.cfg", F_OK, 0) < 0 && faccessat(r->etc, "../boot/grub2/grub.cfg", F_OK, 0) < 0)
                return N_("there is no grub.cfg in /boot/grub, so another boot loader may start this machine");
        (void) dir_each(r->etc, "default/grub.d", look_at_grub_d, &o);
        return o.why;
}

static int read_file(const struct roots *r, const char *at, struct boot_edit *e, const char **ret_why)
{
        _cleanup_close_ int fd = openat(r->etc, at, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        size_t n = 0;
        int k;

        *ret_why = N_("it is a symbolic link");
        if (fd < 0)
                return errno == ELOOP ? -EUCLEAN : -errno;
        k = fstat(fd, &e->seen) < 0 ? -errno : read_whole(fd, TEXT_MAX, &e->text, &n);
        *ret_why = k == -EINVAL                    ? N_("it is no file")
                   : k == -EFBIG                   ? N_("it is too long")
                   : k >= 0 && strlen(e->text) < n ? N_("it has control characters")
                                                   : NULL;
        return *ret_why ? -EUCLEAN : k;
}

int boot_edit_read(const struct roots *r, const struct boot_place *p, bool backup, struct boot_edit *ret, const char **ret_why)
{
        static const char *(*const parse[])(struct boot_edit * e) = {
                [BOOT_ONE_LINE] = parse_one_line, [BOOT_GRUB] = parse_grub, [BOOT_MODPROBE] = parse_modprobe};
        _cleanup_(boot_edit_done) struct boot_edit e = {.place = p};
        char at[PATH_MAX];
        int k;

        *ret_why = backup ? NULL : made_by_others(r, p);
        if (*ret_why)
                return -EUCLEAN;
        (void) snprintf(at, sizeof(at), "%s%s", p->at, backup ? BOOT_BACKUP : "");
        k = read_file(r, at, &e, ret_why);
        if (k == -ENOENT && p->form == BOOT_MODPROBE && !backup) {
                e.text = need(strdup(""));
                k = 0;
        }
        if (k < 0)
                return k;
        assert(e.text);
        *ret_why = parse[p->form](&e);
        if (*ret_why)
                return -EUCLEAN;
        *ret = TAKE_STRUCT(e);
        return 0;
}

/* ---- the change ---- */

/* The name of a word that is there may have a '_', and stays as it is: it has the same length. */
char *boot_edit_text(const struct boot_edit *e, const char *value)
{
        size_t start = e->start;
        const char *blank = start > e->from && !strchr(" \t", e->text[start - 1]) ? " " : "";
        char *text = NULL;

        if (e->place->form == BOOT_MODPROBE)
                (void) !asprintf(&text, "%s%s%s", value ? MODPROBE_HEAD MODPROBE_LINE : "", value ?: "", value ? "\n" : "");
        else if (value)
                (void) !asprintf(&text, "%.*s%s%.*s%s%s", (int) start, e->text, blank, (int) strlen(WORD),
                                 e->value ? e->text + start : WORD, value, e->text + e->end);
        else {
                /* With the blank before it. */
                if (e->value && start > 0 && strchr(" \t", e->text[start - 1]))
                        start--;
                (void) !asprintf(&text, "%.*s%s", (int) start, e->text, e->text + e->end);
        }
        return need(text);
}

void boot_edit_print(const struct boot_edit *e, const char *text)
{
        size_t at = e->place->form == BOOT_MODPROBE ? strlen(MODPROBE_HEAD) : e->start;

        /* Both texts begin alike. */
        while (e->place->form != BOOT_MODPROBE && at > 0 && e->text[at - 1] != '\n')
                at--;
        printf("%s:\n", e->place->path);
        if (strlen(e->text) > at)
                printf("-%.*s\n", (int) strcspn(e->text + at, "\n"), e->text + at);
        if (strlen(text) > at)
                printf("+%.*s\n", (int) strcspn(text + at, "\n"), text + at);
}

/* Opens the present file. Returns -ENOENT if there is none, as before, -ESTALE if it is not the one that was read, or -errno. */
static int open_seen(int dir, const char *name, const struct stat *seen)
{
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat now = {};

        if (fd < 0 ? errno != ENOENT : fstat(fd, &now) < 0)
                return -errno;
        if (now.st_ino != seen->st_ino || now.st_size != seen->st_size || now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec)
                return -ESTALE;
        return fd < 0 ? -ENOENT : TAKE_FD(fd);
}

int boot_edit_write(const struct roots *r, const struct boot_edit *e, const char *text, bool restored)
{
        const char *name = strrchr(e->place->at, '/') + 1;
        char folder[PATH_MAX], backup[NAME_MAX], temp[NAME_MAX];
        _cleanup_close_ int dir = -1, old = -1, lock = -1;
        int k = 0;

        (void) copy_part(folder, sizeof(folder), e->place->at, (size_t) (name - e->place->at));
        (void) snprintf(backup, sizeof(backup), "%s" BOOT_BACKUP, name);
        (void) snprintf(temp, sizeof(temp), "%s" NEW, name);
        dir = openat(r->etc, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        /* Two changes at once would use the same temporary file. The second one then finds the file changed. */
        lock = state_lock(r->run, RUN_BOOT_LOCK, awake_in(LOCK_USEC));
        if (lock < 0)
                return lock;
        old = open_seen(dir, name, &e->seen);
        if (old < 0 && old != -ENOENT)
                return old;
        if (e->place->form == BOOT_MODPROBE && restored)
                return unlinkat(dir, name, 0) < 0 || fsync(dir) < 0 ? -errno : 0;
        if (e->place->form != BOOT_MODPROBE && faccessat(dir, backup, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                k = file_replace(dir, backup, temp, e->text, old, true);
        if (k >= 0)
                k = file_replace(dir, name, temp, text, old, true);
        if (k >= 0 && restored && unlinkat(dir, backup, 0) < 0)
                k = -errno;
        return k;
}

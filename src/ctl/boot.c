/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/boot.h"
#include "ctl/boot-edit.h"

#include <fcntl.h>

#include "common/names.h"
#include "core/disk-words.h"
#include "core/quirks.h"
#include "ctl/output.h"
#include "sys/io/boot.h"
#include "sys/io/programs.h"
#include "sys/io/sysfs.h"

/* Only Debian and its relatives have update-grub. */
static const char *grub_command(const struct roots *roots)
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
                if (faccessat(roots->etc, makers[i].path, F_OK, 0) == 0 &&
                    program_there(roots, remedy_rows[makers[i].remedy].program))
                        return remedy_rows[makers[i].remedy].words;
        return _("the tool that makes the configuration of GRUB");
}

/* add-all installs the kernels in /usr/lib/modules. Debian has none there, and uses another tool.
 */
static const char *entries_command(const struct roots *roots)
{
        if (roots->kernel[0] &&
            faccessat(roots->lib, path_join("modules/", roots->kernel, "/vmlinuz"), F_OK, 0) == 0 &&
            program_there(roots, remedy_rows[REMEDY_KERNEL_INSTALL].program))
                return remedy_rows[REMEDY_KERNEL_INSTALL].words;
        return _("the tool that makes the boot entries");
}

const struct boot_place boot_place_modprobe = {.form = BOOT_MODPROBE,
                                               .at = "modprobe.d/zzz-uasctl.conf",
                                               .path = "/etc/modprobe.d/zzz-uasctl.conf",
                                               .command = initramfs_command};

/* The Raspberry Pi's firmware reads its own file, even if other boot loaders are installed. */
static const struct boot_place places[] = {
        /* clang-format off */
        {BOOT_ONE_LINE, "../boot/firmware/cmdline.txt", "/boot/firmware/cmdline.txt", NULL},
        {BOOT_ONE_LINE, "../boot/cmdline.txt", "/boot/cmdline.txt", NULL},
        {BOOT_GRUB, "default/grub", "/etc/default/grub", grub_command},
        {BOOT_ONE_LINE, "kernel/cmdline", "/etc/kernel/cmdline", entries_command},
        /* clang-format on */
};

static const struct boot_place entries = {.form = BOOT_ENTRIES, .path = "/boot/loader/entries"};

/*
 * Fedora and its relatives: GRUB reads an entry with a command line for each kernel. grub2-mkconfig
 * brings a change of /etc/default/grub to the entries only on some of them.
 */
static bool grub_has_entries(const struct roots *roots)
{
        char text[16384];

        if (attr_read(roots->etc, "default/grub", text, sizeof(text)) < 0)
                return false;
        for (const char *line = text; *line; line = next_line(line)) {
                const char *value = startswith(line, "GRUB_ENABLE_BLSCFG=");

                if (value && startswith(value + strspn(value, "\"'"), "true"))
                        return true;
        }
        return false;
}

/* A file whose form is not known counts as the one: the change says what is wrong with it. */
static bool is_booted(const struct roots *roots, const struct boot_place *p)
{
        _cleanup_(boot_edit_done) struct boot_edit e = {};
        const char *why;

        return boot_edit_read(roots, p, false, &e, &why) < 0 || !boot_edit_not_booted(roots, &e);
}

const struct boot_place *boot_place_find(const struct roots *roots)
{
        const struct boot_place *first = NULL;

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                const struct boot_place *p = places + i;

                if (faccessat(roots->etc, p->at, F_OK, 0) < 0)
                        continue;
                if (p->form == BOOT_GRUB && grub_has_entries(roots))
                        p = &entries;
                if (p == &entries || is_booted(roots, p))
                        return p;
                first = first ?: p;
        }
        return first;
}

const char *boot_place_command(const struct roots *roots, const struct boot_place *p)
{
        if (!p->command)
                return NULL;
        return p->command(roots);
}

char *boot_place(const struct ctl *c, const char *word, char *ret, size_t size)
{
        const struct roots *roots = &c->client.roots;
        const struct boot_place *p = boot_place_find(roots);
        char grubby[REMEDY_COMMAND_MAX];
        const char *then;

        if (p)
                then = boot_place_command(roots, p);
        else
                then = initramfs_command(roots);
        if (!p)
                (void) snprintf(
                        ret, size,
                        _("It may also be an 'options usb-storage quirks=' in /etc/modprobe.d. Then run %s, and restart."),
                        then ?: _("the tool that makes the initramfs, if there is one"));
        else if (p->form == BOOT_ENTRIES &&
                 remedy_here(roots, REMEDY_GRUBBY, word, grubby, sizeof(grubby)) >= 0)
                (void) snprintf(ret, size, _("To put it into %s: %s. Then restart."), p->path,
                                grubby);
        else if (p->form == BOOT_GRUB)
                (void) snprintf(ret, size,
                                _("Put it into GRUB_CMDLINE_LINUX= in %s, run %s, and restart."),
                                p->path, then);
        else if (p->form == BOOT_ENTRIES)
                (void) snprintf(ret, size,
                                _("Put it into the options of each entry in %s, and restart."),
                                p->path);
        else if (then)
                (void) snprintf(ret, size,
                                _("Put it at the end of the line in %s, run %s, and restart."),
                                p->path, then);
        else
                (void) snprintf(ret, size,
                                _("Put it at the end of the one line in %s, and restart."),
                                p->path);
        return ret;
}

/* ---- a disk of the running system ---- */

static bool has_entry(const char *value, const struct facts *f)
{
        char letters[QUIRK_ENTRY_MAX];

        return value && strlen(value) <= QUIRKS_MAX &&
               quirks_find(value, f->vid, f->pid, letters) > 0 && strchr(letters, 'u');
}

/* The file has the entry, as a change since the start has left it. */
static bool boot_entry_written(const struct roots *roots, const struct boot_place *p,
                               const struct facts *f)
{
        _cleanup_(boot_edit_done) struct boot_edit e = {};
        const char *why;

        return boot_edit_read(roots, p, false, &e, &why) >= 0 && e.n_former == 0 &&
               has_entry(e.value, f);
}

/* The record is in the initramfs of this kernel, and keeps the disk off uas there. */
static bool in_the_initramfs(const struct roots *roots, const struct facts *f)
{
        return f->distrusted && !f->initramfs_old &&
               faccessat(roots->run, RUN_INITRAMFS, F_OK, 0) == 0;
}

/* The disk has no entry in a file, and no record in the initramfs. */
static void boot_next_on_uas(const struct view *v, const struct boot_place *p, bool command,
                             char *ret, size_t size)
{
        const char *interface = facts_name(&v->disk.facts);

        if (disk_has_root(&v->disk))
                text_add(ret, size, "%s", _("Nothing yet: it starts on uas again."));
        else
                text_add(ret, size, "%s",
                         _("It starts on uas, and uasd moves it before it is mounted."));
        if (!command)
                return;
        text_add(ret, size, " ");
        if (p == &entries)
                text_add(ret, size, _("The word to add: uasctl policy --kernel %s"), interface);
        else
                text_add(ret, size,
                         _("To change that: uasctl policy --kernel --write %s usb-storage"),
                         interface);
}

char *boot_next(const struct ctl *c, const struct view *v, bool command, char *ret, size_t size)
{
        const struct roots *roots = &c->client.roots;
        const struct facts *f = &v->disk.facts;
        const struct boot_place *p;
        const char *then;

        ret[0] = '\0';
        if (!disk_serves_system(&v->disk) || !view_leaves_uas(v))
                return ret;
        p = boot_place_find(roots) ?: &boot_place_modprobe;
        then = boot_place_command(roots, p);
        if (boot_entry_written(roots, p, f)) {
                if (then)
                        (void) snprintf(
                                ret, size,
                                _("%s has the entry. After %s and a restart the disk starts on usb-storage."),
                                p->path, then);
                else
                        (void) snprintf(
                                ret, size,
                                _("%s has the entry. After a restart the disk starts on usb-storage."),
                                p->path);
        } else if (in_the_initramfs(roots, f))
                text_add(
                        ret, size, "%s",
                        _("The initramfs has the record of this disk, and starts it on usb-storage."));
        else
                boot_next_on_uas(v, p, command, ret, size);
        return ret;
}

void boot_next_print(const struct ctl *c, const struct view *v)
{
        char text[BOOT_PLACE_MAX];

        if (*boot_next(c, v, true, text, sizeof(text)))
                output_sentence("Next boot", text);
}

void say_initramfs_is_old(const struct ctl *c)
{
        const char *command = initramfs_command(&c->client.roots);

        /* The hook and the initramfs itself write this file. So there is an initramfs that contains
         * policies and records. */
        if (command && faccessat(c->client.roots.run, RUN_INITRAMFS, F_OK, 0) == 0)
                log_info("The initramfs has the former settings until it is made again: %s",
                         command);
}

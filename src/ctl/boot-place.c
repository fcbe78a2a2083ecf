/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/boot.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "ctl/output.h"
#include "sys/io/boot.h"

const struct boot_place boot_place_modprobe = {
        .form = BOOT_MODPROBE, .at = "modprobe.d/zzz-uasctl.conf", .path = "/etc/modprobe.d/zzz-uasctl.conf"};

/* The Raspberry Pi's firmware reads its own file, even if other boot loaders are installed. */
static const struct boot_place places[] = {
        /* clang-format off */
        {BOOT_ONE_LINE, "../boot/firmware/cmdline.txt", "/boot/firmware/cmdline.txt", NULL},
        {BOOT_ONE_LINE, "../boot/cmdline.txt", "/boot/cmdline.txt", NULL},
        {BOOT_GRUB, "default/grub", "/etc/default/grub", "update-grub"},
        {BOOT_ONE_LINE, "kernel/cmdline", "/etc/kernel/cmdline", "kernel-install add-all"},
        /* clang-format on */
};

const struct boot_place *boot_place_find(const struct roots *r)
{
        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                if (faccessat(r->etc, places[i].at, F_OK, 0) == 0)
                        return &places[i];
        return NULL;
}

char *boot_place(const struct ctl *c, char *ret, size_t size)
{
        const char *command = initramfs_command(&c->client.roots);
        const struct boot_place *p = boot_place_find(&c->client.roots);

        if (p)
                (void) snprintf(
                        ret, size,
                        p->form == BOOT_GRUB
                                ? _("On this machine it belongs into %s, in GRUB_CMDLINE_LINUX=, then: update-grub. Restart after that.")
                        : p->then
                                ? _("On this machine it belongs into %s, then rebuild the boot entries (kernel-install). Restart after that.")
                                : _("On this machine it belongs into %s, at the end of its one line. Restart after that."),
                        p->path);
        else
                (void) snprintf(
                        ret, size,
                        _("It may also be an 'options usb-storage quirks=' in /etc/modprobe.d, then: %s. Restart after that."),
                        command ?: _("rebuild the initramfs, if there is one"));
        return ret;
}

bool boot_place_wanted(const struct view *v)
{
        return disk_has_root(&v->disk) && view_leaves_uas(v);
}

void boot_place_print(const struct ctl *c, const struct view *v)
{
        char text[BOOT_PLACE_MAX + 128];
        size_t n;

        if (!boot_place_wanted(v))
                return;
        n = strlen(boot_place(c, text, BOOT_PLACE_MAX));
        text[n++] = ' ';
        (void) snprintf(text + n, sizeof(text) - n, _("uasctl policy --kernel --write %s usb-storage does that."),
                        v->disk.facts.interface);
        output_sentence("Boot", text);
}

void say_initramfs_is_old(const struct ctl *c)
{
        const char *command = initramfs_command(&c->client.roots);

        /* The hook and the initramfs itself write this file. So there is an initramfs that contains policies and records. */
        if (command && faccessat(c->client.roots.run, RUN_INITRAMFS, F_OK, 0) == 0)
                log_info("The initramfs has the former settings until it is made again: %s", command);
}

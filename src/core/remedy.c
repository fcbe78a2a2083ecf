/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/remedy.h"

#include "common/util.h"

#define SYSTEMD "systemd/system"
#define OPENRC "openrc"
#define SCRIPT "/etc/init.d/uasd"

const struct remedy_row remedy_rows[_REMEDY_MAX] = {
        /* clang-format off */
        [REMEDY_UMOUNT]    = {"umount %s", "umount"},
        [REMEDY_UMOUNT_ALL] = {"umount -A %s", "umount"},
        [REMEDY_SWAPOFF]   = {"swapoff %s", "swapoff"},
        [REMEDY_LOOP]      = {"losetup --detach %s", "losetup"},
        [REMEDY_STOP_UNIT] = {"systemctl stop %s", "systemctl", SYSTEMD, .touches = "the whole service"},
        [REMEDY_KILL]      = {"kill %s", .touches = "the whole process"},
        [REMEDY_KILL_HARD] = {"kill -KILL %s", .touches = "the whole process"},
        [REMEDY_POOL]      = {"zpool export %s", "zpool", .touches = "the other disks of the pool"},
        [REMEDY_VOLUME]    = {"lvchange -an %s", "lvchange", .touches = "the other disks of the volume"},
        [REMEDY_CRYPT]     = {"cryptsetup close %s", "cryptsetup"},
        [REMEDY_VERITY]    = {"veritysetup close %s", "veritysetup"},
        [REMEDY_INTEGRITY] = {"integritysetup close %s", "integritysetup"},
        [REMEDY_MULTIPATH] = {"multipath -f %s", "multipath", .touches = "the other paths to the disk"},
        [REMEDY_MAPPING]   = {"dmsetup remove %s", "dmsetup", .touches = "the other disks of the mapping"},
        [REMEDY_ARRAY]     = {"mdadm --stop %s", "mdadm", .touches = "the other disks of the array"},
        [REMEDY_BCACHE]    = {"echo 1 >%s", .touches = "the cache of the device"},
        [REMEDY_START]     = {"systemctl start uasd", "systemctl", SYSTEMD, .otherwise = REMEDY_START_OPENRC},
        /* After its supervisor has died, start does nothing. */
        [REMEDY_START_OPENRC] = {"rc-service uasd restart", "rc-service", OPENRC, .otherwise = REMEDY_START_INIT},
        [REMEDY_START_INIT] = {SCRIPT " start", SCRIPT},
        [REMEDY_RESTART]   = {"systemctl restart uasd", "systemctl", SYSTEMD, .otherwise = REMEDY_RESTART_OPENRC},
        [REMEDY_RESTART_OPENRC] = {"rc-service uasd restart", "rc-service", OPENRC, .otherwise = REMEDY_RESTART_INIT},
        [REMEDY_RESTART_INIT] = {SCRIPT " restart", SCRIPT},
        [REMEDY_WHY_NOT]   = {"systemctl status uasd", "systemctl", SYSTEMD},
        [REMEDY_HWDB]      = {"systemd-hwdb update", "systemd-hwdb", .otherwise = REMEDY_HWDB_UDEVADM},
        [REMEDY_HWDB_UDEVADM] = {"udevadm hwdb --update", "udevadm"}, /* eudev */
        [REMEDY_GRUB_DEBIAN] = {"update-grub", "update-grub", .touches = "the boot menu"},
        [REMEDY_GRUB2]     = {"grub2-mkconfig -o /boot/grub2/grub.cfg", "grub2-mkconfig", .touches = "the boot menu"},
        [REMEDY_GRUB]      = {"grub-mkconfig -o /boot/grub/grub.cfg", "grub-mkconfig", .touches = "the boot menu"},
        [REMEDY_GRUBBY]    = {"grubby --update-kernel=ALL --args=%s", "grubby", .touches = "the boot menu"},
        [REMEDY_KERNEL_INSTALL] = {"kernel-install add-all", "kernel-install", .touches = "the boot menu"},
        [REMEDY_INITRAMFS_TOOLS] = {"update-initramfs -u", "update-initramfs", .touches = "the initramfs"},
        [REMEDY_MKINITCPIO] = {"mkinitcpio -P", "mkinitcpio", .touches = "the initramfs"},
        [REMEDY_DRACUT]    = {"dracut --force", "dracut", .touches = "the initramfs"}, /* otherwise it replaces no image */
        [REMEDY_KERNEL_LOG] = {"journalctl -k --grep %s", "journalctl", SYSTEMD},
        /* clang-format on */
};

const char *const remedy_forms[] = {
        "uasctl --help",
        "uasctl bench",
        "uasctl bench --help",
        "uasctl bench DISK",
        "uasctl bench --file=PATH",
        "uasctl bench list",
        "uasctl bench show ID",
        "uasctl cancel DISK",
        "uasctl db",
        "uasctl db VID:PID",
        "uasctl explain DISK",
        "uasctl forget DISK",
        "uasctl inhibit COMMAND",
        "uasctl inhibit --list",
        "uasctl monitor --json",
        "uasctl policy",
        "uasctl policy DISK auto",
        "uasctl policy DISK uas",
        "uasctl policy DISK usb-storage",
        "uasctl --force policy DISK uas",
        "uasctl policy --kernel",
        "uasctl policy --kernel DISK",
        "uasctl policy --kernel --write DISK auto",
        "uasctl policy --kernel --write DISK usb-storage",
        "uasctl release DISK",
        "uasctl status",
        "uasctl status DISK",
        "uasctl switch DISK",
        "uasctl switch DISK uas",
        "uasctl switch DISK usb-storage",
        "uasctl trim DISK on",
        "uasctl --force trim DISK on",
        "uasctl trim DISK off",
        "smartctl -d TYPE /dev/DISK", /* where smartctl has answered */
        NULL,
};

bool remedy_operand_valid(const char *operand)
{
        char shown[REMEDY_OPERAND_MAX + 1];

        return *operand && *operand != '-' && strlen(operand) < REMEDY_OPERAND_MAX &&
               streq(make_harmless(operand, shown, sizeof(shown)), operand);
}

/* Quotes a word for a shell, if it needs that. Returns false if it does not fit. */
static bool remedy_quote(const char *s, char *ret, size_t size)
{
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
        size_t used = 1;

        if (strspn(s, plain) == strlen(s))
                return copy_string(ret, size, s);
        for (; *s; s++) {
                const char *text = *s == '\'' ? "'\\''" : (const char[]){*s, '\0'};

                if (used + strlen(text) + sizeof("'") > size)
                        return false;
                (void) stpcpy(ret + used, text);
                used += strlen(text);
        }
        ret[0] = ret[used] = '\'';
        ret[used + 1] = '\0';
        return true;
}

char *remedy_command(enum remedy id, const char *operand, char *ret, size_t size)
{
        const char *words = remedy_rows[id].words, *place;
        char word[REMEDY_OPERAND_MAX], before[48];

        ret[0] = '\0';
        if (!words)
                return ret;
        place = strstr(words, "%s");
        if (!place && copy_string(ret, size, words))
                return ret;
        if (!place || !operand || !remedy_operand_valid(operand) ||
            !remedy_quote(operand, word, sizeof(word)) ||
            !copy_part(before, sizeof(before), words, (size_t) (place - words)) ||
            !concat(ret, size, before, word, place + strlen("%s")))
                ret[0] = '\0';
        return ret;
}

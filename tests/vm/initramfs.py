# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest's initramfs, made again as on a system with these files, by initramfs-tools or by dracut."""

import glob
import os
import shutil

import bare
import context
import cpio
import debian
import image as images

# In trixie it needs dracut-install too, which initramfs-tools has brought.
FETCH = "set -e; apt-get update; mkdir /out; cd /out; apt-get -o APT::Sandbox::User=root download dracut-core\n"
# The module takes over the files of the run, as the script of initramfs-tools in recipe/root does. The tree has no /sys, so dracut
# cannot look for the drivers of the machine. Those for USB disks come from uasd's module.
MAKE = {
    "initramfs-tools": "mkinitramfs -o /boot/made.img $(basename /lib/modules/*)",
    "dracut": """for deb in /tmp/files/debs/*.deb; do dpkg-deb --fsys-tarfile $deb | tar -x --keep-directory-symlink -C /; done
cp -a /tmp/files/99vm-files /usr/lib/dracut/modules.d/
dracut --quiet --no-hostonly --no-early-microcode --no-compress $OPTIONS \\
    --drivers "virtio_pci virtio_blk virtio_console xhci_pci ext4 crc32c_generic" /boot/made.img $(basename /lib/modules/*)""",
}


def dracut_debs(suite):
    """A folder with dracut's packages. They are unpacked, not installed: dracut and initramfs-tools exclude each other."""
    layer = images.Layer("dracut-" + suite, images.digest(FETCH, "1"))

    def fill(path):
        files = path + ".files"
        os.makedirs(files, exist_ok=True)
        with open(files + "/dracut", "w") as file:
            file.write(FETCH)
        try:
            shutil.copytree(bare.run(suite, "dracut", files, path + ".run"), path)
        finally:
            debian.remove_tree(files)
            debian.remove_tree(path + ".run")

    layer.build("fetching dracut for %s" % suite, fill)
    return layer.dir


def dracut_files(suite, folder):
    """Into FOLDER: what MAKE["dracut"] needs."""
    shutil.copytree(dracut_debs(suite), os.path.join(folder, "debs"))
    shutil.copytree(images.recipe("dracut/99vm-files"), os.path.join(folder, "99vm-files"))


def made(vm, files, maker="initramfs-tools", options=""):
    """The path of the initramfs, and the output of its hooks. Its time does not count for the case."""
    with context.clock_stopped():
        flavour = vm.image().flavour
        layer = images.product_layer(flavour, vm.deb)
        folder = os.path.join(vm.folder, "initramfs%d" % len(glob.glob(vm.folder + "/initramfs*.made")))
        laid = folder + ".files"
        os.makedirs(laid + "/root")
        for path, text in files.items():
            os.makedirs(os.path.dirname(laid + "/root" + path), exist_ok=True)
            with open(laid + "/root" + path, "wb") as file:
                file.write(cpio.entry(text)[1])
        if maker == "dracut":
            dracut_files(images.SUITE[flavour], laid)
        os.chmod(laid, 0o755)
        script = "set -e; cp -a /tmp/files/root/. /; OPTIONS=%r; %s" % (options, MAKE[maker])
        said = images.in_tree(layer.lower(), folder, ["sh", "-c", script], files=laid)
        os.makedirs(folder + ".made")
        path = os.path.join(folder + ".made", "initrd.img")
        shutil.move(os.path.join(folder, "up/boot/made.img"), path)
        debian.remove_tree(folder)
    return path, said


def boot(vm, files, disks, extra=None, maker="initramfs-tools", making="", **options):
    """A cold boot of a system with FILES, and an initramfs made with them. EXTRA: additional files. MAKING: options of the maker."""
    guest = vm.guest()
    guest.image.initrd, _said = made(vm, files, maker, making)
    return guest.boot(files={**files, **(extra or {})}, disks=disks, **options)

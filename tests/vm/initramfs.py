# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest's initramfs, made again as update-initramfs does on a system with these files."""

import os
import shutil

import context
import cpio
import debian
import image as images

MAKE = "cp -a /tmp/files/. / && exec mkinitramfs -o /boot/made.img $(basename /lib/modules/*)"


def made(vm, files):
    """The path of the initramfs, and the output of its hooks. Its time does not count for the case."""
    with context.clock_stopped():
        layer = images.product_layer(vm.image().flavour, vm.deb)
        folder = os.path.join(vm.folder, "initramfs%d" % len(os.listdir(vm.folder)))
        laid = folder + ".files"
        for path, text in files.items():
            os.makedirs(os.path.dirname(laid + path), exist_ok=True)
            with open(laid + path, "wb") as file:
                file.write(cpio.entry(text)[1])
        os.chmod(laid, 0o755)
        said = images.in_tree(layer.lower(), folder, ["sh", "-c", MAKE], files=laid)
        os.makedirs(folder + ".made")
        path = os.path.join(folder + ".made", "initrd.img")
        shutil.move(os.path.join(folder, "up/boot/made.img"), path)
        debian.remove_tree(folder)
    return path, said


def boot(vm, files, disks, extra=None, **options):
    """A cold boot of a system with FILES, and an initramfs made with them. EXTRA: additional files."""
    guest = vm.guest()
    guest.image.initrd, _said = made(vm, files)
    return guest.boot(files={**files, **(extra or {})}, disks=disks, **options)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest `busybox`: a system without systemd, udev, D-Bus and a libc, with the bundle in it.

Debian 11's kernel with a usb-storage.ko that has no UAS, devtmpfs, and busybox as process 1. It has no disk of its own: the root is
the initramfs. The agent by which a case runs commands brings its own libraries, in a folder that no other program looks into.
"""

import glob
import gzip
import os
import pathlib
import re
import shutil
import types

import cpio
import debian
import image as images

SUITE = "bullseye"
PACKAGES = ["linux-image-amd64", "linux-headers-amd64", "linux-source-5.10", "make", "gcc-10", "xz-utils", "busybox-static", "kmod",
            "qemu-guest-agent"]
DRIVERS = ["virtio_pci", "virtio_console", "virtio_blk", "virtio_rng", "xhci_pci", "sd_mod", "crc32c_generic", "ext4", "loop",
           "usb_storage", "uas"]
# uas is not loaded: uasd does that.
LOADED = DRIVERS[:-1]
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/local/bin
mount -t devtmpfs dev /dev
mkdir /dev/shm
mount -t proc proc /proc
mount -t sysfs sys /sys
for folder in /run /tmp /dev/shm; do mount -t tmpfs tmpfs $folder; done
for module in %s; do modprobe $module; done
while :; do
        for port in /dev/vport*; do
                [ ! -e $port ] || /vm/lib/ld.so --library-path /vm/lib /vm/qemu-ga -m virtio-serial -p $port -t /run
        done
        sleep 1
done
"""


def tree():
    """A Debian with the kernel, its source, and what the guest's files are taken from."""
    layer = images.Layer("busybox-tree", images.digest(PACKAGES, "1"))
    layer.build("installing a Debian %s to build the guest busybox" % SUITE,
                lambda path: debian.bootstrap(SUITE, PACKAGES, path, images.cache_dir()))
    return layer


def module(base):
    """usb-storage.ko without UAS."""
    layer = images.Layer("module-busybox", images.digest(base.key, images.recipe("vendor")))
    abi = images.guest_abi(base)

    def fill(path):
        upper = path + ".upper"
        try:
            images.in_tree(base.lower(), upper, ["sh", "-c", "/tmp/files/vendor %s && cp -r /tmp/out/. /built" % abi], files=images.RECIPE)
            shutil.copytree(os.path.join(upper, "up/built"), path)
        finally:
            debian.remove_tree(upper)

    layer.build("building usb-storage.ko without UAS for %s" % abi, fill)
    return layer


def libraries(root, program):
    """The files that PROGRAM in ROOT loads, {name: path}."""
    names = re.findall(r"(/\S+) \(0x", debian.sh(["chroot", root, "ldd", program]))
    paths = debian.sh(["chroot", root, "readlink", "-f", *names]).split()
    return {os.path.basename(name): pathlib.Path(root + path) for name, path in zip(names, paths)}


def files_of(base, storage):
    """The initramfs without the bundle: {path: value}."""
    root = base.tree()
    abi = images.guest_abi(base)
    files = {"init": cpio.Exec(INIT % " ".join(LOADED)), "bin/busybox": pathlib.Path(root + "/bin/busybox"),
             "vm/qemu-ga": pathlib.Path(root + "/usr/sbin/qemu-ga"),
             **{folder + "/.keep": "" for folder in ("dev", "proc", "sys", "run", "tmp", "mnt", "etc", "usr/local/bin", "usr/lib", "root")}}
    for name, path in libraries(root, "/usr/sbin/qemu-ga").items():
        files["vm/lib/" + ("ld.so" if name.startswith("ld-linux") else name)] = path
    modules = "lib/modules/" + abi
    for name in DRIVERS:
        said = debian.sh(["chroot", root, "modprobe", "-S", abi, "--show-depends", "--ignore-install", name])
        for path in re.findall(r"^insmod (\S+)", said, re.M):
            files[path.lstrip("/")] = pathlib.Path(root + path)
    files["usr/bin/setsid"] = cpio.Link("/bin/busybox")
    # The bundle's libkmod reads what kmod's depmod has made, busybox the text.
    for name in "modules.dep", "modules.dep.bin", "modules.alias.bin", "modules.symbols.bin", "modules.builtin.bin", "modules.order":
        files[modules + "/" + name] = pathlib.Path(root + "/" + modules + "/" + name)
    files[modules + "/kernel/drivers/usb/storage/usb-storage.ko"] = pathlib.Path(storage.dir + "/usb-storage.ko")
    return files


def image():
    """As images.ensure() gives it. The root is empty."""
    base = tree()
    storage = module(base)
    made = images.Layer("busybox", images.digest(base.key, storage.key, INIT, DRIVERS, "2"))

    def fill(path):
        os.makedirs(path)
        shutil.copy(glob.glob(base.tree() + "/boot/vmlinuz-*")[0], path + "/vmlinuz")
        with gzip.open(path + "/initrd.img", "wb", 1) as out:
            out.write(cpio.archive(files_of(base, storage)))
        with open(path + "/root.raw", "wb") as root:
            root.truncate(1 << 20)

    made.build("making the initramfs of busybox", fill)
    return types.SimpleNamespace(flavour="busybox", arch="amd64", key=made.key, dir=made.dir, kernel=made.dir + "/vmlinuz",
                                 initrd=made.dir + "/initrd.img", root=made.dir + "/root.raw")


def uas_module():
    """The bytes of the kernel's uas.ko."""
    base = tree()
    return pathlib.Path(base.tree(), "lib/modules", images.guest_abi(base), "kernel/drivers/usb/storage/uas.ko").read_bytes()

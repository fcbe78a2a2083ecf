#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guests' images, built once and cached.

    packages   mmdebstrap's tree                        (minutes)
    guest      + recipe/root, recipe/customize          (20 s)
    vendor     + usb-storage.ko without CONFIG_USB_UAS  (10 s)
    builtin    + a kernel with all drivers built in, no initramfs (10 minutes)
    zfs        + ZFS, whose modules are built here      (10 minutes)
    cockpit    packages with Cockpit, and its page      (minutes)
    arm64      packages and guest of another architecture, under emulation (10 minutes)
    sysvinit   packages and guest without systemd; openrc likewise
    product    + the .deb                               (seconds)

Each layer is the upper directory of an overlayfs over those before it, keyed
on what went into it; an image is the stack as ext4 in a sparse raw file, with
its kernel and initramfs beside it. Runs write to qcow2 overlays over that.
"""

import argparse
import contextlib
import fcntl
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import sys
import time

import debian
from debian import ImageError, remove_tree, sh

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPE = os.path.join(HERE, "recipe")
SUITE = {"bookworm": "bookworm", "vendor": "bookworm", "builtin": "bookworm", "trixie": "trixie", "bullseye": "bullseye",
         "sid": "sid", "zfs": "bookworm", "cockpit": "bookworm", "cockpit13": "trixie", "arm64": "bookworm", "busybox": "bullseye",
         "sysvinit": "bookworm", "openrc": "bookworm"}
MORE = {"cockpit": debian.COCKPIT, "cockpit13": debian.COCKPIT}  # packages that other guests of the suite do not have
# Guests of another init. They have packages of their own, and the usb-storage.ko of `vendor`.
INITS = ("sysvinit", "openrc")
ARCH = {"arm64": "arm64"}  # of a guest; the others are amd64
FLAVOURS = tuple(SUITE)
SIZE = "6G"
KEY = 12
KEEP = 3  # of each kind of layer, the most recently used
KEEP_PRODUCTS = 10  # packages, likewise
IN_USE = 2 * 3600  # seconds after its last use in which another run may still need it


def superfluous(paths, keep):
    """All but the newest KEEP, and none that was used recently: several trees may be tested at once."""
    return [path for path in sorted(paths, key=os.path.getmtime)[:-keep]
            if time.time() - os.path.getmtime(path) > IN_USE]


def cache_dir():
    """$UASD_VM_CACHE. Without root no guests are in it, but what has passed."""
    return os.environ.get("UASD_VM_CACHE") or ("/var/cache/uasd-vm" if os.geteuid() == 0 else os.path.expanduser("~/.cache/uasd-vm"))


def say(text):
    print("vm: " + text, file=sys.stderr, flush=True)


def digest(*parts):
    """A short key of strings and files (a directory counts as all in it)."""
    total = hashlib.sha256()
    for part in parts:
        total.update(b"\0")
        if isinstance(part, str) and part.startswith("/"):
            names = [part]
            if os.path.isdir(part):
                names = sorted(os.path.join(base, name)
                               for base, _, files in os.walk(part) for name in files)
            for name in names:
                total.update(b"%s %o\0" % (os.path.relpath(name, part).encode(),
                                           os.stat(name).st_mode & 0o111))
                with open(name, "rb") as file:
                    total.update(file.read())
        else:
            total.update(json.dumps(part, sort_keys=True).encode())
    return total.hexdigest()[:KEY]


def recipe(name):
    return os.path.join(RECIPE, name)


@contextlib.contextmanager
def locked(name):
    """One builder of a thing at a time, also across processes."""
    folder = os.path.join(cache_dir(), "locks")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for somebody else's %s ..." % name)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Layer:
    """A directory in the cache, its parents, and the key of all of them."""

    def __init__(self, name, key, parents=()):
        self.name = name
        self.key = key
        self.parents = list(parents)
        self.dir = os.path.join(cache_dir(), "layers", "%s-%s" % (name, key))

    def tree(self):
        return os.path.join(self.dir, "up") if self.parents else self.dir

    def lower(self):
        stack = [layer.tree() for layer in self.parents] + [self.tree()]
        return ":".join(reversed(stack))

    def build(self, why, fill):
        """FILL(directory) unless the layer is there already."""
        with locked(self.name):
            if os.path.isdir(self.dir):
                os.utime(self.dir)
                return
            say("%s ..." % why)
            start = time.monotonic()
            os.makedirs(os.path.dirname(self.dir), exist_ok=True)
            partial = self.dir + ".new"
            remove_tree(partial)
            try:
                fill(partial)
            except BaseException:
                remove_tree(partial)
                raise
            os.rename(partial, self.dir)
            say("%s: %.0f s" % (why, time.monotonic() - start))
            self.prune()

    def prune(self):
        """Keeps only the newest layers of this name, and what was made of them."""
        old = [path for path in glob.glob(os.path.join(
            os.path.dirname(self.dir), self.name + "-*"))
            if len(path) == len(self.dir)]
        for path in superfluous(old, KEEP):
            remove_tree(path)
            for made in glob.glob(os.path.join(
                    cache_dir(), "images", "*" + path[-KEY - 1:])):
                remove_tree(made)


def in_tree(lower, upper, command, files=None):
    """COMMAND in the mounted stack; @ first: on the host, with $TREE."""
    mount = upper + ".mnt" if upper else os.path.join(
        cache_dir(), "mnt.%d" % os.getpid())
    os.makedirs(mount, exist_ok=True)
    env = dict(os.environ, VM_FILES=files or "")
    try:
        return sh(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                   "--propagation", "private",
                   recipe("chroot"), lower, upper or "", mount] + command, env=env)
    finally:
        os.rmdir(mount)


def arch_of(flavour):
    return ARCH.get(flavour, "amd64")


def named(suite, arch):
    return suite if arch == "amd64" else "%s-%s" % (suite, arch)


def packages_layer(suite, arch="amd64", more=()):
    """SUITE: of Debian, or one of INITS."""
    packages = debian.packages(suite, arch) + list(more)
    name = named(suite, arch) + ("-more" if more else "")
    if arch != "amd64":
        debian.need_emulator(arch)
    layer = Layer("packages-" + name, digest(packages, "1"))
    layer.build("installing Debian %s" % name, lambda path: debian.bootstrap(
        SUITE.get(suite, suite), packages, path, cache_dir(), arch=arch))
    return layer


def guest_layer(suite, arch="amd64", more=()):
    base = packages_layer(suite, arch, more)
    trees = [recipe("root")] + ([recipe("emulated")] if arch != "amd64" else [])
    customize = "customize-init" if suite in INITS else "customize"
    layer = Layer("guest-" + named(suite, arch) + ("-more" if more else ""), digest(
        base.key, *trees, recipe(customize), recipe("chroot")), [base])

    def fill(path):
        os.makedirs(os.path.join(path, "up"))
        for tree in trees:
            sh(["cp", "-a", "--no-preserve=ownership", tree + "/.", os.path.join(path, "up")])
        in_tree(base.lower(), path, ["/tmp/files/" + customize], files=RECIPE)

    layer.build("customising %s" % named(suite, arch), fill)
    return layer


def guest_abi(base):
    kernels = glob.glob(os.path.join(base.tree(), "boot/vmlinuz-*"))
    if len(kernels) != 1:
        raise ImageError("expected one kernel in %s/boot" % base.tree())
    return os.path.basename(kernels[0]).split("-", 1)[1]


def module_layer(flavour, about, packages, key=(), suite="bookworm", **options):
    """The result of recipe/FLAVOUR for the kernel of the guest of SUITE, built in a separate tree with PACKAGES: a guest has no
    compilers."""
    base = packages_layer(suite)
    abi = guest_abi(base)
    # The other suites share what is built for the same kernel.
    layer = Layer("module-" + flavour, digest(base.key if suite == "bookworm" else abi, recipe(flavour), *key))

    def fill(path):
        tree = path + ".tree"
        try:
            try:
                debian.bootstrap("bookworm", ["linux-headers-" + abi, "make", "gcc-12", "xz-utils"] + packages,
                                 tree, cache_dir(), **options)
            except ImageError as error:
                raise ImageError("%s\n(has the archive a newer kernel than the guest's "
                                 "%s? then: tests/vm/image.py --refresh)" % (error, abi))
            in_tree(tree, tree + ".upper", [
                "sh", "-c", "/tmp/files/%s %s && cp -r /tmp/out/. /built" % (flavour, abi)],
                files=RECIPE)
            shutil.copytree(os.path.join(tree + ".upper", "up/built"), path)
        finally:
            remove_tree(tree)
            remove_tree(tree + ".upper")

    layer.build("building %s for %s" % (about, abi), fill)
    return layer


def vendor_layer(suite="bookworm"):
    return module_layer("vendor", "usb-storage.ko without UAS", ["linux-source-6.1"], suite=suite)


MODULES = {
    "vendor": vendor_layer,
    "builtin": lambda: module_layer("builtin", "a kernel with built-in drivers",
                                    ["linux-source-6.1", "bc", "bison", "flex", "libc6-dev", "libelf-dev"],
                                    key=[recipe("builtin.config")]),
    "zfs": lambda: module_layer("zfs", "ZFS", ["libc6-dev", "file"], key=[debian.ZFS],
                                components="main contrib", fetch=debian.ZFS),
    **{init: functools.partial(vendor_layer, init) for init in INITS},
}


def flavour_layer(flavour):
    guest = guest_layer(flavour if flavour in INITS else SUITE[flavour], arch_of(flavour), MORE.get(flavour, ()))
    if flavour not in MODULES:
        return guest
    module = MODULES[flavour]()
    install = "vendor-install" if flavour in INITS else flavour + "-install"
    layer = Layer("guest-" + flavour,
                  digest(guest.key, module.key, recipe(install)),
                  guest.parents + [guest])

    def fill(path):
        files = module.dir + ".files"
        remove_tree(files)
        shutil.copytree(module.dir, files)
        shutil.copy(recipe(install), files)
        try:
            in_tree(guest.lower(), path, ["/tmp/files/" + install], files=files)
        finally:
            remove_tree(files)

    layer.build("the %s guest" % flavour, fill)
    return layer


def packages(deb, also=("uasd-bench", "cockpit-uasd")):
    """The package, and those that are beside it."""
    folder, name = os.path.split(deb)
    beside = [os.path.join(folder, re.sub("^uasd_(.*)_[^_]*$", r"%s_\1_all.deb" % one, name)) for one in also]
    return [deb] + [path for path in beside if path != deb and os.path.exists(path)]


def foreign(deb, arch):
    """The package of ARCH that belongs to DEB, beside it; built from this tree if it is not there."""
    path = re.sub("_amd64[.]deb$", "_%s.deb" % arch, deb)
    if path == deb:
        raise ImageError("not the name of a package for amd64: " + deb)
    with locked("foreign-" + arch):
        if not os.path.exists(path):
            say("building the package for %s ..." % arch)
            folder = os.path.join(cache_dir(), "runs", "foreign-%s.%d" % (arch, os.getpid()))
            try:
                sh([os.path.join(HERE, "../../tools/release"), "--dry-run", "--arch", arch, folder])
                for made in glob.glob(folder + "/**/*_%s.deb" % arch, recursive=True):
                    shutil.copy(made, os.path.dirname(path))
            finally:
                remove_tree(folder)
    return path


def older(deb):
    """The package of Debian 11 that belongs to DEB, in a folder beside it; built from this tree if it is not there. Python is too old
    for that of bench."""
    path = os.path.join(os.path.dirname(deb), "bullseye", os.path.basename(deb))
    with locked("older"):
        if not os.path.exists(path):
            say("building the package for Debian 11 ...")
            partial = os.path.dirname(path) + ".new"
            remove_tree(partial)
            os.makedirs(partial)
            sh([os.path.join(HERE, "../packages/old"), partial])
            os.rename(partial, os.path.dirname(path))
    return path


def product_layer(flavour, deb):
    base = flavour_layer(flavour)
    if not deb:
        return base
    if flavour == "bullseye":
        deb = older(deb)
    if arch_of(flavour) != "amd64":
        deb = foreign(deb, arch_of(flavour))
    debs = packages(deb) if flavour in MORE else packages(deb, ("uasd-bench",))
    layer = Layer("product-" + flavour,
                  digest(base.key, *map(os.path.abspath, debs), recipe("product-install")),
                  base.parents + [base])

    def fill(path):
        files = path + ".files"
        remove_tree(files)
        os.makedirs(files)
        for package in debs:
            shutil.copy(package, files)
        shutil.copy(recipe("product-install"), files)
        try:
            in_tree(base.lower(), path, ["/tmp/files/product-install"], files=files)
        finally:
            remove_tree(files)

    layer.build("installing %s in %s" % (os.path.basename(deb), flavour), fill)
    return layer


def keep_deb(path):
    """A copy of a package under its own hash: a build that goes on meanwhile
    must not change what this run tests."""
    parent = os.path.join(cache_dir(), "products")
    folder = os.path.join(parent, digest(*map(os.path.abspath, packages(path))))
    kept = os.path.join(folder, os.path.basename(path))
    with locked("products"):  # no other run may copy the same one, or remove an old one, meanwhile
        os.makedirs(folder, exist_ok=True)
        for package in reversed(packages(path)):
            own = os.path.join(folder, os.path.basename(package))
            if not os.path.exists(own):
                shutil.copy(package, own + ".new")
                os.rename(own + ".new", own)
        os.utime(folder)
        for old in superfluous([os.path.join(parent, name) for name in os.listdir(parent)], KEEP_PRODUCTS):
            remove_tree(old)
    return kept


class Image:
    """A bootable guest: .kernel, .initrd (None: it boots without), .root (raw, never written), .key"""

    def __init__(self, flavour, layer):
        self.flavour = flavour
        self.arch = arch_of(flavour)
        self.key = layer.key
        self.dir = os.path.join(cache_dir(), "images", "%s-%s" % (flavour, layer.key))
        self.kernel = os.path.join(self.dir, "vmlinuz")
        self.initrd = os.path.join(self.dir, "initrd.img") if flavour != "builtin" else None
        self.root = os.path.join(self.dir, "root.raw")


def ensure(flavour="bookworm", deb=None):
    """The image of FLAVOUR with the package DEB (a path, or None) in it."""
    if flavour == "busybox":
        import busybox  # which builds on this module
        return busybox.image()
    layer = product_layer(flavour, deb)
    image = Image(flavour, layer)
    with locked("image-" + flavour):
        if os.path.isdir(image.dir):
            return image
        say("making the disk of %s ..." % flavour)
        start = time.monotonic()
        partial = image.dir + ".new"
        remove_tree(partial)
        os.makedirs(partial)
        script = ('mke2fs -q -t ext4 -L uasd-root -E lazy_itable_init=1,'
                  'lazy_journal_init=1,root_owner=0:0 -d "$TREE" "$0/root.raw" %s && '
                  'cp -L "$TREE/vmlinuz" %s "$0"' % (SIZE, '"$TREE/initrd.img"' if image.initrd else ""))
        try:
            in_tree(layer.lower(), None, ["@", "sh", "-c", script, partial])
        except BaseException:
            remove_tree(partial)
            raise
        os.rename(partial, image.dir)
        say("making the disk of %s: %.0f s" % (flavour, time.monotonic() - start))
    return image


def main():
    parser = argparse.ArgumentParser(description="Build and cache the guests' images.")
    parser.add_argument("flavour", nargs="*", default=FLAVOURS,
                        help="%s (default: all)" % ", ".join(FLAVOURS))
    parser.add_argument("--deb", help="with this package installed")
    parser.add_argument("--refresh", action="store_true",
                        help="forget all that is cached of Debian, build anew")
    args = parser.parse_args()
    try:
        if args.refresh:
            for kind in ("layers", "images", "saved"):
                remove_tree(os.path.join(cache_dir(), kind))
        for flavour in args.flavour:
            if flavour not in SUITE:
                parser.error("no such guest: " + flavour)
            image = ensure(flavour, args.deb)
            print("%s %s" % (flavour, image.dir))
    except ImageError as error:
        sys.exit("vm: %s" % error)


if __name__ == "__main__":
    main()

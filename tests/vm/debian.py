# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian trees for the guests: the packages, their sources and keys.

The mirror, the proxy and the like are those the host's apt uses: a
contributor behind a proxy has told apt about it already.
"""

import fcntl
import glob
import os
import shutil
import subprocess

# The dependencies of uasd's package are here too, so that it installs offline.
COMMON = """
linux-image-amd64 initramfs-tools busybox zstd kmod
systemd systemd-sysv udev dbus polkitd udisks2 procps less python3
lvm2 mdadm cryptsetup cryptsetup-bin btrfs-progs dosfstools e2fsprogs
gdisk fdisk fio usbutils smartmontools psmisc strace qemu-guest-agent
libmount1 libblkid1 libudev1 libsystemd0 libsmartcols1 libinih1 libjson-c5
libkmod2 openssh-server openssh-client
""".split()

# There these have other names. Its own installer merges /usr, and usrmerge says that it is.
BULLSEYE = {"polkitd": "policykit-1"}

PACKAGES = {
    "bullseye": [BULLSEYE.get(name, name) for name in COMMON] + ["libaio1", "usrmerge"],
    "bookworm": COMMON + ["libaio1"],
    "trixie": COMMON + ["libaio1t64", "systemd-cryptsetup"],
}
PACKAGES["sid"] = PACKAGES["trixie"]
# udev without systemd. None of uasd's dependencies is named here: the bundle brings its own libraries.
NO_SYSTEMD = """
linux-image-amd64 initramfs-tools busybox zstd kmod sysvinit-core initscripts udev procps e2fsprogs psmisc strace
qemu-guest-agent
""".split()
PACKAGES["sysvinit"] = NO_SYSTEMD + ["sysv-rc"]
PACKAGES["openrc"] = NO_SYSTEMD + ["openrc"]

# qemu-user's name for a foreign architecture.
EMULATED = {"arm64": "qemu-aarch64", "armhf": "qemu-arm"}

# The userland of ZFS and its dependencies, without zed, which is a daemon. They are in contrib, like the source of its modules.
ZFS = """
zfs-dkms zfsutils-linux libzfs4linux libzpool5linux libnvpair3linux
libuutil3linux libtirpc3 libtirpc-common
""".split()

# For the page. sudo gives a user administrative access. They fetch their dependencies.
COCKPIT = "cockpit-ws cockpit-bridge cockpit-system sudo iproute2".split()

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class ImageError(Exception):
    pass


def packages(suite, arch):
    return [name.replace("amd64", arch) for name in PACKAGES[suite]]


def sh(args, **kw):
    """Run a command whose output is needed only when it fails."""
    done = subprocess.run(args, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, **kw)
    if done.returncode:
        raise ImageError("%s: exit %d\n%s" % (
            " ".join(map(str, args))[:200], done.returncode, done.stdout[-4000:]))
    return done.stdout


def host_repositories():
    """The base URIs of Debian and of its security archive, as apt sees them."""
    # CODENAME and LABEL come from the Release file, whatever the mirror.
    text = sh(["apt-get", "indextargets", "--format",
               "$(REPO_URI)|$(LABEL)|$(ORIGIN)", "Created-By: Packages"])
    main = security = None
    for line in text.splitlines():
        uri, label, origin = line.split("|")
        if origin != "Debian":
            continue
        if label == "Debian" and main is None:
            main = uri
        elif label == "Debian-Security" and security is None:
            security = uri
    if main is None:
        raise ImageError("apt on this host knows no Debian archive; is this Debian, and was 'apt-get update' run?")
    return main, security


def sources(suite, components, plain=False):
    """PLAIN: the suite alone, without its updates. sid has none."""
    main, security = host_repositories()
    line = "deb [signed-by=%s] %%s %%s %s\n" % (KEYRING, components)
    if plain or suite == "sid":
        return line % (main, suite)
    return (line % (main, suite) + line % (main, suite + "-updates")
            + (line % (security, suite + "-security") if security else ""))


def host_apt_options():
    """Proxies and other ways of fetching; nothing about languages or indexes."""
    keep = []
    for line in sh(["apt-config", "dump"]).splitlines():
        name, _, value = line.partition(" ")
        if (name.startswith("Acquire::") and value not in ('"";', "")
                and not name.startswith(("Acquire::IndexTargets",
                                         "Acquire::Languages",
                                         "Acquire::CompressionTypes",
                                         "Acquire::GzipIndexes",
                                         "Acquire::Changelogs",
                                         "Acquire::cdrom"))):
            keep.append(line)
    return keep


def need_keys(suite):
    """The host's keyring must have the suite's keys. Otherwise the error says how to get them."""
    keys = glob.glob("/usr/share/keyrings/debian-archive-%s-*" % ("trixie" if suite == "sid" else suite))
    if not os.path.exists(KEYRING) or not keys:
        raise ImageError(
            "%s has no keys for %s: apt-get install debian-archive-keyring "
            "(2023.3+deb12u2 or newer), as tests/vm/setup does" % (KEYRING, suite))


def need_emulator(arch):
    """Programs of ARCH run here, also in a chroot: their maintainer scripts make the image."""
    if not all(map(shutil.which, ("arch-test", EMULATED[arch] + "-static", "qemu-system-aarch64"))):
        sh(["apt-get", "-qq", "-y", "--no-install-recommends", "install", "arch-test", "qemu-user-static", "qemu-system-arm"],
           env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
    register_emulator(arch)


def register_emulator(arch):
    """The kernel runs programs of ARCH by qemu-user. It forgets that at each boot."""
    name = EMULATED[arch]
    if not os.path.exists("/proc/sys/fs/binfmt_misc/register"):
        sh(["mount", "-t", "binfmt_misc", "none", "/proc/sys/fs/binfmt_misc"])
    if not os.path.exists("/proc/sys/fs/binfmt_misc/" + name):
        with open("/usr/lib/binfmt.d/%s.conf" % name, encoding="utf-8") as line, \
                open("/proc/sys/fs/binfmt_misc/register", "w", encoding="utf-8") as register:
            register.write(line.read().strip())


def bootstrap(suite, packages, target, cache, components="main", fetch=(), lists=False, arch="amd64", plain=False):
    """mmdebstrap SUITE with PACKAGES into the new directory TARGET. Packages to
    FETCH lie in its /out, not installed. LISTS: apt's lists stay. PLAIN: as of sources().

    Fetched packages are kept in CACHE: another recipe fetches only what
    is new.
    """
    need_keys(suite)
    debs = os.path.join(cache, "debs", suite)
    os.makedirs(debs, exist_ok=True)
    partial = target + ".new"
    remove_tree(partial)
    archives = os.path.join(partial, "var/cache/apt/archives")
    cmd = ["mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory",
           "--skip=download/empty,essential/unlink,cleanup/apt/cache,cleanup/reproducible",
           "--include=" + ",".join(packages),
           # Documents are half of the files. Those of our own package are kept (below).
           "--dpkgopt=path-exclude=/usr/share/doc/*",
           "--dpkgopt=path-exclude=/usr/share/man/*",
           "--dpkgopt=path-exclude=/usr/share/locale/*",
           "--dpkgopt=force-unsafe-io",
           "--aptopt=APT::Install-Recommends \"false\"",
           "--aptopt=Acquire::Languages \"none\"",
           "--setup-hook=mkdir -p \"$1/var/cache/apt/archives\"; "
           "find '%s' -name '*.deb' -exec cp -l -t \"$1/var/cache/apt/archives\" {} + || true" % debs]
    cmd += ["--aptopt=" + line for line in host_apt_options()]
    if suite == "bullseye":
        # A merged /usr, as Debian's installer makes it. The packages of later releases do that themselves.
        cmd += ["--setup-hook=for name in bin sbin lib lib64; do mkdir -p \"$1/usr/$name\" && ln -s \"usr/$name\" \"$1/$name\"; done"]
    if lists:
        cmd += ["--skip=cleanup/apt/lists"]
    if arch != "amd64":
        # Of the emulated processor, an initramfs with all modules takes ten minutes each time.
        cmd += ["--architectures=" + arch, "--essential-hook=mkdir -p \"$1/etc/initramfs-tools/conf.d\" && "
                "echo MODULES=list >\"$1/etc/initramfs-tools/conf.d/emulated\""]
    if fetch:
        cmd += ["--customize-hook=mkdir \"$1/out\" && cd \"$1/out\" && "
                "APT_CONFIG=\"$MMDEBSTRAP_APT_CONFIG\" apt-get -q download " + " ".join(fetch)]
    cmd += [suite, partial, "-"]
    with open(os.path.join(debs, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            sh(cmd, input=sources(suite, components, plain))
        except ImageError:
            remove_tree(partial)
            raise
        for deb in glob.glob(archives + "/*.deb"):
            kept = os.path.join(debs, os.path.basename(deb))
            if not os.path.exists(kept):
                shutil.move(deb, kept)
            else:
                os.unlink(deb)
    for name in ("etc/dpkg/dpkg.cfg.d/99mmdebstrap", "etc/apt/apt.conf.d/99mmdebstrap",
                 "etc/apt/sources.list"):
        path = os.path.join(partial, name)
        if os.path.exists(path):
            os.unlink(path)
    if not lists:
        remove_tree(os.path.join(partial, "var/lib/apt/lists"))
        os.makedirs(os.path.join(partial, "var/lib/apt/lists/partial"))
    os.rename(partial, target)


def remove_tree(path):
    """rm -rf, but never across a mount left by a build that was killed."""
    if os.path.lexists(path):
        sh(["rm", "-rf", "--one-file-system", path])

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bare roots: a Debian with nothing but its base system, made once a week. What runs there gets an overlay of its own.

CROSS: a root of a suite without its updates. A library for two architectures must have the same version in both, and an
update may have come for one of them only.
"""

import contextlib
import glob
import os
import time

import debian
import image

# Besides what every Debian has.
BASE = ["systemd-sysv", "udev"]
# The answers of whoever types the commands, and a short log.
APT = 'APT::Get::Assume-Yes "true";\nquiet "2";\nDpkg::Use-Pty "false";\n'


def layer(suite, cross=False):
    """The layer with the bare root, made again every week."""
    made = image.Layer("bare-%s%s" % (suite, "-cross" if cross else ""), image.digest(BASE, time.strftime("%G-%V"), "1"))
    made.build("installing a bare Debian %s" % suite,
               lambda path: debian.bootstrap(suite, BASE, path, image.cache_dir(), lists=True, plain=cross))
    return made


def settings(suite, cross=False):
    """{file: content} by which the root reaches Debian's archive as the host does."""
    files = {
        "etc/apt/sources.list": debian.sources(suite, "main", plain=cross),
        "etc/apt/apt.conf.d/00host": APT + "".join(line + "\n" for line in debian.host_apt_options()),
        "etc/dpkg/dpkg.cfg.d/00host": "force-unsafe-io\n",
    }
    shared = ["/etc/resolv.conf", "/etc/hosts"]
    if "https://" in files["etc/apt/sources.list"]:
        shared.append("/etc/ssl/certs/ca-certificates.crt")
    for path in shared:
        with open(path, encoding="utf-8") as f:
            files[path[1:]] = f.read()
    return files


def run(suite, script, files, folder, cross=False):
    """Runs SCRIPT, with FILES as /tmp/files, in a bare root of its own below FOLDER. Returns what it left in /out."""
    up = os.path.join(folder, script, "up")
    for name, content in settings(suite, cross).items():
        path = os.path.join(up, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(content)
    archives = os.path.join(up, "var/cache/apt/archives")
    debs = os.path.join(image.cache_dir(), "debs", suite)
    os.makedirs(archives)
    for deb in glob.glob(debs + "/*.deb"):
        os.link(deb, os.path.join(archives, os.path.basename(deb)))
    start = time.monotonic()
    try:
        print(image.in_tree(layer(suite, cross).lower(), os.path.join(folder, script), ["bash", "/tmp/files/" + script], files=files))
    finally:
        print("%s, %s: %.0f s" % (suite, script, time.monotonic() - start), flush=True)
        for deb in glob.glob(archives + "/*.deb"):
            with contextlib.suppress(FileExistsError):
                os.link(deb, os.path.join(debs, os.path.basename(deb)))
    return os.path.join(up, "out")

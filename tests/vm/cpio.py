# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cpio archive (newc) of files for one run, to append to an initramfs.

The kernel unpacks archives one after another, later files winning. That is
all it takes to lay files over the initramfs, and over the root file system
by way of scripts/init-bottom/vm-files (see recipe/root).
"""

import hashlib
import os
import stat


class Link(str):
    """A symbolic link to this target, as a value among files."""


class Exec(str):
    """Text of a file that shall be executable."""


def entry(value):
    """(mode, bytes) of what a case gave as a file."""
    if isinstance(value, Link):
        return stat.S_IFLNK | 0o777, value.encode()
    if isinstance(value, Exec):
        return stat.S_IFREG | 0o755, value.encode()
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            return stat.S_IFREG | (os.fstat(file.fileno()).st_mode & 0o777), file.read()
    if isinstance(value, str):
        value = value.encode()
    return stat.S_IFREG | 0o644, value


def parents(path):
    """Every directory above PATH, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]


def archive(files):
    """The archive of {path: value}, paths without a leading slash."""
    out = []
    known = set()
    number = 0

    def add(name, mode, data):
        nonlocal number
        number += 1
        name = name.encode() + b"\0"
        head = b"070701" + b"".join(
            b"%08x" % field for field in (
                number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0))
        out.append(head + name)
        out.append(b"\0" * (-len(head + name) % 4))
        out.append(data)
        out.append(b"\0" * (-len(data) % 4))

    for path, value in files.items():
        for folder in parents(path):
            if folder not in known:
                known.add(folder)
                add(folder, stat.S_IFDIR | 0o755, b"")
        mode, data = entry(value)
        add(path, mode, data)
    number = -1
    add("TRAILER!!!", 0, b"")
    return b"".join(out)


def overlay(root=None, gone=(), initramfs=None):
    """What to append for these files of the root file system and the initramfs."""
    files = {}
    if root or gone:
        files = {"vm-files/" + path.lstrip("/"): value
                 for path, value in (root or {}).items()}
        # Its own folder, which exists even without files.
        files["vm-files/etc/.vm-files"] = ""
        files["vm-files.gone"] = "".join(path.lstrip("/") + "\n" for path in gone)
        old = [*gone, *(path for path in root or () if path.startswith("/usr/lib/uasd/"))]
        files["vm-files.old"] = "".join(path.lstrip("/") + "\n" for path in old)
        files["vm-files.id"] = hashlib.sha256(archive(files)).hexdigest() + "\n"
    files.update({path.lstrip("/"): value
                  for path, value in (initramfs or {}).items()})
    return archive(files) if files else b""


def append(initrd, extra, target):
    """Write INITRD followed by the archive EXTRA to TARGET."""
    with open(initrd, "rb") as source, open(target, "wb") as out:
        data = source.read()
        out.write(data)
        out.write(b"\0" * (-len(data) % 4))
        out.write(extra)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The content of an emulated disk: prepared and read back from the host.

The files are only touched while the disk's volatile cache is empty: before
it is plugged in, and after a power loss or a flush.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile

MIB = 1 << 20


def size_of(text):
    """"64M" in bytes."""
    if isinstance(text, int):
        return text
    unit = "KMGT".find(text[-1].upper())
    return int(text) if unit < 0 else int(float(text[:-1]) * 1024 ** (unit + 1))


def tool(args, data=None, ok=(0,)):
    done = subprocess.run(args, input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"))
    if done.returncode not in ok:
        raise RuntimeError("%s: %s" % (" ".join(args), done.stderr.decode(errors="replace")))
    return done.stdout


class Media:
    """One LUN's backing file."""

    def __init__(self, path, size="64M"):
        self.path = path
        self.size = size_of(size)
        self.partitions = []  # (start, size) in bytes
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.truncate(self.size)

    def uuid(self, number=None):
        """Of the file system in partition NUMBER or on the whole disk."""
        start, _size = self.area(number)
        return tool(["blkid", "-p", "-o", "value", "-s", "UUID", "-O", str(start), self.path]).decode().strip()

    # -- before ----------------------------------------------------------------

    def partition(self, sizes=(None,), label="gpt"):
        """A partition table; None is a size for "the rest"."""
        script = "label: %s\n" % label
        for size in sizes:
            script += "type=linux%s\n" % (
                ", size=%dKiB" % (size_of(size) // 1024) if size else "")
        tool(["sfdisk", "-q", "--no-reread", "--no-tell-kernel", self.path], script.encode())
        self.partitions = []
        dump = tool(["sfdisk", "--json", self.path])
        for part in json.loads(dump)["partitiontable"]["partitions"]:
            self.partitions.append((part["start"] * 512, part["size"] * 512))
        return self

    def area(self, number=None):
        """(start, size) of partition NUMBER from 1, of the whole disk without."""
        return self.partitions[number - 1] if number else (0, self.size)

    def ext4(self, label="USBDATA", number=None, files=None, block=1024):
        """ext4 in partition NUMBER or on the whole disk, with {name: bytes}."""
        start, size = self.area(number)
        # Nothing left to initialise: a kernel thread doing that would write.
        extended = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
        if start:
            extended += ",offset=%d" % start
        with tempfile.TemporaryDirectory() as folder:
            for name, data in (files or {}).items():
                path = os.path.join(folder, name.lstrip("/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(data if isinstance(data, bytes) else data.encode())
            tool(["mke2fs", "-q", "-F", "-t", "ext4", "-b", str(block), "-L", label,
                  "-E", extended, "-d", folder, self.path, "%dk" % (size // 1024)])
        return self

    def noise(self, start=0, length=None, seed=1):
        """Random bytes that are the same for the same seed; their sha256."""
        length = self.size - start if length is None else length
        source = random.Random(seed)
        total = hashlib.sha256()
        with open(self.path, "r+b") as file:
            file.seek(start)
            while length:
                part = source.randbytes(min(length, MIB))
                total.update(part)
                file.write(part)
                length -= len(part)
        return total.hexdigest()

    # -- after -----------------------------------------------------------------

    def read(self, start, length):
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(length)

    def sha256(self, start=0, length=None):
        left = self.size - start if length is None else length
        total = hashlib.sha256()
        with open(self.path, "rb") as file:
            file.seek(start)
            while left:
                part = file.read(min(left, MIB))
                total.update(part)
                left -= len(part)
        return total.hexdigest()

    def cat(self, name, number=None):
        """A file of the ext4 in partition NUMBER, its journal replayed; None without."""
        start, size = self.area(number)
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "fs")
            self.extract(start, size, copy)
            tool(["e2fsck", "-p", copy], ok=(0, 1))
            out = os.path.join(folder, "out")
            tool(["debugfs", "-R", 'dump "%s" "%s"' % (name, out), copy])
            if not os.path.exists(out):
                return None
            with open(out, "rb") as file:
                return file.read()

    def fsck(self, number=None):
        """True when e2fsck finds no fault after replaying the journal."""
        start, size = self.area(number)
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "fs")
            self.extract(start, size, copy)
            tool(["e2fsck", "-E", "journal_only", "-y", copy], ok=(0, 1))
            return subprocess.run(["e2fsck", "-fn", copy], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0

    def extract(self, start, size, target):
        """A sparse copy of an area."""
        with open(self.path, "rb") as file, open(target, "wb") as out:
            file.seek(start)
            left = size
            while left:
                part = file.read(min(left, MIB))
                if part.count(0) == len(part):
                    out.seek(len(part), os.SEEK_CUR)
                else:
                    out.write(part)
                left -= len(part)
            out.truncate(size)

    def copy(self, path):
        """The same content as another disk's medium (a clone)."""
        shutil.copyfile(self.path, path)
        other = Media(path, self.size)
        other.partitions = list(self.partitions)
        return other

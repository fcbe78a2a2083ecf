# SPDX-License-Identifier: LGPL-2.1-or-later
"""Verified data: every 32 bytes of a disk contain their place, their generation, and their checksum.

So a block that is lost, old, torn, or somebody else's shows, whoever reads it. A Ledger knows which generation a
block may have: the newest that was written, or, after a loss of power, anything since the last one that was synced.
"""

import mmap
import os
import struct
import zlib

BLOCK = 4096
CELL = struct.Struct("<4sIQQI4x")
HEAD = struct.Struct("<4sIQQ")
MAGIC = b"ublk"


def make(disk, address, generation):
    """One block's bytes."""
    head = HEAD.pack(MAGIC, disk, address, generation)
    return CELL.pack(MAGIC, disk, address, generation, zlib.crc32(head)) * (BLOCK // CELL.size)


def generation(data, disk, address):
    """The generation in a block, or a sentence about the error in it."""
    magic, whose, where, number, crc = CELL.unpack_from(data)
    if magic != MAGIC or crc != zlib.crc32(data[:HEAD.size]):
        return "block %d of disk %d is garbage: %s" % (address, disk, bytes(data[:CELL.size]).hex())
    if (whose, where) != (disk, address):
        return "block %d of disk %d holds block %d of disk %d" % (address, disk, where, whose)
    if data != data[:CELL.size] * (BLOCK // CELL.size):
        return "block %d of disk %d is torn" % (address, disk)
    return number


class Ledger:
    """The data written to one LUN's area, and the part of it that has to survive."""

    def __init__(self, blocks, newest=None, durable=None):
        self.newest = newest or [0] * blocks
        self.durable = durable or [0] * blocks

    def wrote(self, first, count, number):
        self.newest[first:first + count] = [number] * count

    def synced(self):
        self.durable = list(self.newest)

    def check(self, disk, data, lossy):
        """Sentences about the errors in DATA, the whole area. LOSSY: unsynced blocks may be older."""
        wrong = []
        for address in range(len(self.newest)):
            part = data[address * BLOCK:(address + 1) * BLOCK]
            newest, durable = self.newest[address], self.durable[address]
            # Most blocks have their last contents: one comparison.
            if part == make(disk, address, newest):
                continue
            shown = generation(part, disk, address)
            if isinstance(shown, str):
                wrong.append(shown)
            elif not lossy or not durable <= shown <= newest:
                wrong.append("block %d of disk %d is of generation %d, written were %d, synced %d"
                             % (address, disk, shown, newest, durable))
            else:
                self.newest[address] = shown
        if lossy and not wrong:
            self.synced()
        return wrong


def fill(path, disk, start, blocks):
    """Generation 0, on the host."""
    with open(path, "r+b") as file:
        file.seek(start)
        for address in range(blocks):
            file.write(make(disk, address, 0))


def write(path, disk, first, count, number, sync=False):
    """In the guest: through the page cache, and left there unless SYNC."""
    fd = os.open(path, os.O_WRONLY)
    try:
        data = b"".join(make(disk, address, number) for address in range(first, first + count))
        done = 0
        while done < len(data):
            done += os.pwrite(fd, data[done:], first * BLOCK + done)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def read(path, blocks):
    """In the guest: from the disk, past the page cache."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size, at = blocks * BLOCK, 0
    buffer = mmap.mmap(-1, size)
    try:
        while at < size:
            part = memoryview(buffer)[at:at + (1 << 20)]
            got = os.preadv(fd, [part], at)
            part.release()
            if got <= 0:
                raise OSError("short read at %d of %s" % (at, path))
            at += got
        return buffer[:]
    finally:
        buffer.close()
        os.close(fd)

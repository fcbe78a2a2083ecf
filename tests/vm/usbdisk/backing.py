# SPDX-License-Identifier: LGPL-2.1-or-later
"""The medium: a (sparse) file, with a volatile write cache of extents in front of it."""

import ctypes
import os
from bisect import bisect_right, insort

KEEP_SIZE_PUNCH_HOLE = 0x03


class Backing:
    """Byte-addressed. The cache is a sorted list of [start, data] that never overlap."""

    def __init__(self, path, size=None, cache_bytes=256 << 20):
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        have = os.fstat(self.fd).st_size
        if size is None:
            size = have
        elif have < size:
            os.ftruncate(self.fd, size)
        self.size = size
        self.limit = cache_bytes
        self.starts = []
        self.extents = {}       # start -> data
        self.dirty = 0

    def close(self):
        os.close(self.fd)

    def _overlapping(self, start, end):
        """Indices [a, b) of the extents that touch start..end."""
        a = bisect_right(self.starts, start)
        if a and self.starts[a - 1] + len(self.extents[self.starts[a - 1]]) > start:
            a -= 1
        b = a
        while b < len(self.starts) and self.starts[b] < end:
            b += 1
        return a, b

    def read(self, start, length):
        data = os.pread(self.fd, length, start)
        if len(data) < length:
            data = data.ljust(length, b"\0")
        if not self.starts:
            return data
        end = start + length
        a, b = self._overlapping(start, end)
        if a == b:
            return data
        out = bytearray(data)
        for at in self.starts[a:b]:
            piece = memoryview(self.extents[at])
            lo, hi = max(at, start), min(at + len(piece), end)
            out[lo - start:hi - start] = piece[lo - at:hi - at]
        return bytes(out)

    def _cut(self, start, end):
        """Drop the part of the cache in start..end."""
        a, b = self._overlapping(start, end)
        cut = self.starts[a:b]
        del self.starts[a:b]
        for at in cut:
            data = self.extents.pop(at)
            self.dirty -= len(data)
            if at < start:
                self._insert(at, data[:start - at])
            if at + len(data) > end:
                self._insert(end, data[end - at:])

    def _insert(self, at, data):
        insort(self.starts, at)
        self.extents[at] = data
        self.dirty += len(data)

    def write(self, start, data, through):
        if self.starts:
            self._cut(start, start + len(data))
        if through:
            self._to_medium(start, data)
            return
        self._insert(start, bytes(data))
        if self.dirty > self.limit:     # a real cache is finite too: it drains by itself
            self.flush()

    def _to_medium(self, start, data):
        view = memoryview(data)
        while view:
            done = os.pwrite(self.fd, view, start)
            view, start = view[done:], start + done

    def flush(self):
        for at in self.starts:
            self._to_medium(at, self.extents[at])
        self.drop()

    def drop(self):
        """The effect of a power loss."""
        lost = self.dirty
        self.starts.clear()
        self.extents.clear()
        self.dirty = 0
        return lost

    def discard(self, start, length):
        self._cut(start, start + length)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.fallocate(self.fd, KEEP_SIZE_PUNCH_HOLE, ctypes.c_int64(start), ctypes.c_int64(length)):
            zero = bytes(1 << 20)
            for at in range(start, start + length, len(zero)):
                self._to_medium(at, zero[:start + length - at])

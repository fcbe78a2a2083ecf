# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scratch files: to write to, in a directory of the user."""

import errno
import os
import tempfile

from bench.model import os_error

KEEP_FREE_PART = 20  # a full file system does harm


def short_size(size: int) -> str:
    """ "1.8T", as in uasctl list."""
    if size < 1024:
        return f'{size}B'
    tenths, unit = size, 0
    while tenths >= 1024 * 1024 and unit < 5:
        tenths, unit = tenths // 1024, unit + 1
    tenths = (tenths * 10 + 512) // 1024
    decimal = f'.{tenths % 10}' if tenths % 10 else ''
    return f'{tenths // 10}{decimal}{"KMGTPE"[unit]}'


def free_space(directory: str) -> int:
    space = os.statvfs(directory)
    return space.f_bavail * space.f_frsize


def fitting(directory: str, wanted: int, least: int) -> int:
    """As much of `wanted` as leaves half of the free space free, but at least `least`."""
    try:
        half = free_space(directory) // 2
    except OSError:
        return least
    return least if wanted <= least or half < least else min(wanted, half)


def make(directory: str, size: int) -> int:
    """Makes a file to write to, empty and `size` long, in a directory of the user.

    It never has a name, so it disappears with its last descriptor in every case. Raises OSError;
    ENOSPC: too little room.
    """
    space = free_space(directory)
    if size > space - space // KEEP_FREE_PART:
        raise os_error(errno.ENOSPC)
    try:
        fd = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            raise
        # Without O_TMPFILE, the file loses its name at once.
        fd, name = tempfile.mkstemp(prefix='.uasctl-bench-', dir=directory)
        os.unlink(name)
    try:
        os.truncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd

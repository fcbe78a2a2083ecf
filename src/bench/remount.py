# SPDX-License-Identifier: LGPL-2.1-or-later
"""--remount: a file system of the disk, which is unmounted for each switch and mounted again."""

import errno
import os
import re
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bench import child, log
from bench.exits import Exit, fail
from bench.lease import Session
from bench.machine import INTERFACE, Machine

NODE_SEC = 10  # longer than udev needs for a node
# systemd unmounts a file system of fstab if it does not know the new device yet. So the mount
# counts if it lasts.
LASTS_SEC = 0.5
ATTEMPTS = 5


@dataclass
class Remount:
    target: str
    type: str
    options: str
    interface: str = ''
    disk: str = ''  # its node
    partition: str = ''  # what follows the name of the disk: "1", or ""
    away: bool = False  # it is unmounted


def _mount_of(path: str) -> tuple[Remount, str] | None:
    """And its device. The last mount with the longest path hides the others."""
    found = None
    with suppress(OSError), open('/proc/self/mounts', errors='surrogateescape') as f:
        for line in f:
            device, target, kind, options = (
                re.sub(r'\\([0-7]{3})', lambda m: chr(int(m[1], 8)), word)
                for word in line.split(' ')[:4])
            inside = path == target or path.startswith(target.rstrip('/') + '/')
            if inside and (not found or len(target) >= len(found[0].target)):
                found = Remount(target, kind, options), device
    return found


def find(machine: Machine, path: str) -> Remount:
    """Of a path, directly on a USB disk. Raises Ended."""
    found = _mount_of(os.path.realpath(path))
    if not found:
        fail(Exit.FAILED, "Cannot find the file system of '%s': %s", path,
             os.strerror(errno.ENOENT))
    m, device = found
    with suppress(OSError):
        status = os.stat(device)
        number = f'{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}'
        real = os.path.realpath(machine.path(f'/sys/dev/block/{number}'))
        on = INTERFACE.search(real)
        if stat.S_ISBLK(status.st_mode) and on:
            m.interface, name = on[1], os.path.basename(real)
            is_part = os.path.exists(f'{real}/partition')
            m.disk = os.path.basename(os.path.dirname(real)) if is_part else name
            m.partition = name.removeprefix(m.disk)
    if not m.interface or m.type.startswith('fuse'):
        fail(Exit.REFUSED, "Cannot unmount and mount '%s': it is no file system of the kernel "
             'directly on a USB disk.', m.target)
    return m


def check_alone(m: Remount, session: Session) -> None:
    """The file system must be the only user of the disk. Raises Ended."""
    for user, text in zip(session.disk['busy'], session.state.users, strict=True):
        own = user['kind'] == 'mount' and not user.get('namespace')
        if not (own and user.get('where') == m.target):
            fail(Exit.REFUSED, '%s: cannot be unmounted for a switch. It is also in use: %s',
                 session.label, text)


def _run(*words: str) -> bool:
    """mount(8) and umount(8) print their own errors. Ctrl+C does not stop them halfway."""
    try:
        return child.run(words).status == 0
    except OSError:
        return False


def take_away(m: Remount) -> bool:
    m.away = m.away or _run('/bin/umount', m.target)
    return m.away


def _is_mounted(m: Remount, node: str) -> bool:
    now = _mount_of(m.target)
    with suppress(OSError):
        return bool(now and now[0].target == m.target
                    and os.stat(node).st_rdev == os.stat(now[1]).st_rdev)
    return False


def bring_back(machine: Machine, m: Remount, block: Callable[[], str]) -> bool:
    """Waits for udev's node, and mounts, if no other program has. block: the disk's name now."""
    deadline = time.monotonic() + NODE_SEC

    def has_node() -> bool:
        """If the disk did not come back, another one may have its name."""
        return os.path.exists(node()) and machine.interface_of(block()) == m.interface

    def node() -> str:
        return f'/dev/{block()}{m.partition}'
    while not has_node() and time.monotonic() < deadline:
        time.sleep(0.1)
    for _ in range(ATTEMPTS):
        if not has_node():
            break
        # Another program may mount it at the same time, or have it claimed for a moment.
        if not _is_mounted(m, node()):
            _run('/bin/mount', '-t', m.type, '-o', m.options, node(), m.target)
        time.sleep(LASTS_SEC)
        if _is_mounted(m, node()):
            m.away = False
            return True
    log.error('Cannot mount %s on %s again. Its options were: -t %s -o %s', node(), m.target,
              m.type, m.options)
    return False

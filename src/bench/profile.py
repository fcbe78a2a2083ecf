# SPDX-License-Identifier: LGPL-2.1-or-later
"""Profiles: fio job files, NAME.fio in /etc/uasd/bench or otherwise in /usr/share/uasd/bench.

Every section except [global] is a pattern. They define how to measure. bench decides what, so
options that name files or places are ignored. No module of the standard library reads fio's format
and says in which line a fault is.
"""

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from bench import options
from bench.machine import Machine
from bench.model import UINT64_MAX, UINT_MAX, Pattern, os_error

NAME = re.compile('(?!-)[0-9A-Za-z_-]{1,64}')
SUFFIX = '.fio'
DIRECTORIES = ('/etc/uasd/bench', '/usr/share/uasd/bench')  # the first one with a name wins
FILE_MAX = 256 * 1024
SECTION_MAX = 64
GLOBAL = 'global'
# fio fails above this number of jobs (REAL_MAX_JOBS), and no queue is deeper.
JOBS_MAX = 1024
DEPTH_MAX = 65536
INT_MAX = (1 << 31) - 1

# The defaults of fio on Linux. Until finish(), read_percent is the mix of reads and writes.
DEFAULT = Pattern(rw='read', engine='psync', block_size=4096, iodepth=1, numjobs=1,
                  read_percent=50)


class Fault(Exception):
    """The first error in a profile, with its file and line."""


@dataclass
class Profile:
    name: str
    text: str  # of the file, for fio's check
    # Their sections have a line "OPTION=VALUE" for each option that fio gets. The lines of
    # [global] above the section come first. An option without a value has "1".
    patterns: list[Pattern] = field(default_factory=list)

    def drop_writes(self) -> bool:
        """Removes the patterns that write. Returns whether there were any."""
        kept = [p for p in self.patterns if not p.writes]
        dropped, self.patterns = len(kept) < len(self.patterns), kept
        return dropped


# ---- the options of fio that bench itself interprets; fio checks all others ----

# Whether it reads, writes, and at random places.
DIRECTIONS = {
    'read': (True, False, False), 'write': (False, True, False), 'randread': (True, False, True),
    'randwrite': (False, True, True), 'rw': (True, True, False), 'readwrite': (True, True, False),
    'randrw': (True, True, True)}

# Engines that read and write a file or a disk, and whether one waits for a request before it
# submits the next one. None: it does so only through the page cache, where the kernel's
# asynchronous I/O is synchronous. For others bench does not know the meaning of the depth.
ENGINES = {'psync': True, 'sync': True, 'vsync': True, 'pvsync': True, 'pvsync2': True,
           'mmap': True, 'libaio': None, 'io_uring': False, 'posixaio': False}

# They name a file or a place, or what bench sets for every job. fio does not get them.
IGNORED = frozenset((
    'description', 'directory', 'filename', 'filesize', 'offset', 'offset_increment', 'opendir',
    'new_group', 'group_reporting', 'stonewall', 'thread', 'randrepeat', 'allrandrepeat',
    'randseed'))


def _rw(text: str) -> str:
    if text not in DIRECTIONS:
        raise ValueError(text)
    return text


def _engine(text: str) -> str:
    if text not in ENGINES:
        raise ValueError(text)
    return text


def _within(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = options.size(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value
    return read


def _region(text: str) -> int:
    return 0 if text == '100%' else options.size(text)


def _seconds(text: str) -> int:
    """In seconds, fio's default unit."""
    m = re.fullmatch('([0-9]{1,20})([smh]?)', text, re.ASCII | re.IGNORECASE)
    value = int(m[1]) * {'': 1, 's': 1, 'm': 60, 'h': 3600}[m[2].lower()] if m else UINT64_MAX
    if value > UINT_MAX:
        raise ValueError(text)
    return value


def _flag(text: str) -> bool:
    return bool(_within(0, 1)(text))


@dataclass(frozen=True)
class Known:
    member: str  # of Pattern
    read: Callable[[str], object]
    ours: bool = False  # bench writes it into the job itself: fio does not get that of the profile


_block = _within(512, 1 << 30)
KNOWN = {
    'rw': Known('rw', _rw, True),
    'readwrite': Known('rw', _rw, True),
    'ioengine': Known('engine', _engine),
    'bs': Known('block_size', _block),
    'blocksize': Known('block_size', _block),
    'size': Known('size', _region, True),
    'iodepth': Known('iodepth', _within(1, DEPTH_MAX), True),
    'numjobs': Known('numjobs', _within(1, JOBS_MAX), True),
    'runtime': Known('runtime_sec', _seconds, True),
    'timeout': Known('runtime_sec', _seconds, True),
    'ramp_time': Known('ramp_sec', _seconds, True),
    'time_based': Known('time_based', _flag, True),
    'direct': Known('direct', _flag),
    'buffered': Known('direct', lambda text: not _flag(text)),
    'rwmixread': Known('read_percent', _within(0, 100)),
    'rwmixwrite': Known('read_percent', lambda text: 100 - _within(0, 100)(text)),
    'fsync': Known('fsync', _within(0, INT_MAX)),
    'fdatasync': Known('fdatasync', _within(0, INT_MAX)),
}


def apply(p: Pattern, name: str, value: str) -> None:
    """One option. Raises ValueError or OverflowError for an invalid value."""
    known = KNOWN.get(name)
    if known:
        setattr(p, known.member, known.read(value))
    if not (known.ours if known else name in IGNORED):
        p.section += f'{name}={value}\n'


def finish(p: Pattern) -> str:
    """Derives the members that depend on several options. Returns the contradiction, or ""."""
    reads, writes, p.random = DIRECTIONS[p.rw]
    if p.size and p.size < p.block_size:
        return 'size= has no room for a block of bs='
    if p.time_based and not p.runtime_sec:
        return 'time_based without runtime= would never end'
    # fio would open it for writing, but it would look like a read.
    if reads and writes and p.read_percent in (0, 100):
        return 'a pattern that reads and writes needs an rwmixread= from 1 to 99'
    if not (reads and writes):
        p.read_percent = 100 if reads else 0
    waits = ENGINES[p.engine]
    p.sync_engine = not p.direct if waits is None else waits
    return ''


# ---- a job file: sections, options and comments ----


def _header(line: str, before: list[Pattern]) -> str:
    """The name of the section. Raises ValueError with the fault."""
    if line[-1] != ']':
        raise ValueError("']' is missing")
    name = line[1:-1]
    if not name:
        raise ValueError('a section without a name')
    if len(name.encode('utf-8', 'surrogateescape')) > SECTION_MAX or ']' in name:
        raise ValueError('this cannot be the name of a section')
    if any(p.name == name for p in before):
        raise ValueError('a section of this name was there before')
    return name


def _option(line: str, p: Pattern | None) -> None:
    """fio reads a name without a value as yes."""
    m = re.fullmatch('([0-9A-Za-z_]+)[ \t]*(?:=[ \t]*(.*))?', line, re.ASCII | re.DOTALL)
    if not m:
        raise ValueError('not an OPTION=VALUE line')
    if p is None:
        raise ValueError('an option before the first section')
    value = '1' if m[2] is None else m[2]
    try:
        apply(p, m[1], value)
    except (ValueError, OverflowError):
        raise ValueError(f'{m[1][:64]}={value[:200]}: value not understood') from None


def parse(name: str, file: str, data: bytes) -> Profile:
    """file: only for messages. Raises Fault."""
    if b'\0' in data:
        raise Fault(f'{file}: not a text')
    profile = Profile(name, data.decode('utf-8', 'surrogateescape'))
    common = replace(DEFAULT)
    current: Pattern | None = None
    for number, line in enumerate(profile.text.split('\n'), 1):
        line = re.split('[;#]', line, maxsplit=1)[0].strip(' \t\n\v\f\r')
        try:
            if line[:1] == '[':
                section = _header(line, profile.patterns)
                current = common if section == GLOBAL else replace(common, name=section)
                # A section begins with the options of [global] up to here.
                profile.patterns += [] if current is common else [current]
            elif line:
                _option(line, current)
        except ValueError as error:
            raise Fault(f'{file}:{number}: {error}') from None
    if not profile.patterns:
        raise Fault(f'{file}: no section but [{GLOBAL}]')
    for p in profile.patterns:
        fault = finish(p)
        if fault:
            raise Fault(f'{file}: [{p.name}]: {fault}')
    return profile


# ---- the files ----


def _read(path: str, shown: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            raise Fault(f'{shown}: a link that leads nowhere') from None
        if error.errno == errno.ENXIO:  # a socket
            raise Fault(f'{shown}: no regular file') from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Fault(f'{shown}: no regular file')
        with open(fd, 'rb', closefd=False) as f:
            data = f.read(FILE_MAX + 1)
    finally:
        os.close(fd)
    if len(data) > FILE_MAX:
        raise os_error(errno.EFBIG)
    return data


def load(machine: Machine, name: str) -> Profile:
    """Raises Fault; ValueError: an invalid name; FileNotFoundError: no such profile; OSError."""
    if not NAME.fullmatch(name):
        raise ValueError(name)
    for directory in DIRECTORIES:
        shown = f'{directory}/{name}{SUFFIX}'
        # A file that exists but cannot be read still hides those in later directories.
        if os.path.lexists(machine.path(shown)):
            return parse(name, shown, _read(machine.path(shown), shown))
    raise os_error(errno.ENOENT)


def names(machine: Machine) -> list[str]:
    found = set()
    for directory in DIRECTORIES:
        with suppress(OSError):
            found |= {f for f in os.listdir(machine.path(directory))
                      if f.endswith(SUFFIX) and NAME.fullmatch(f[:-len(SUFFIX)])
                      and os.path.isfile(machine.path(f'{directory}/{f}'))}
    return sorted(f[:-len(SUFFIX)] for f in found)

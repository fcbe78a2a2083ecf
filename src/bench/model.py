# SPDX-License-Identifier: LGPL-2.1-or-later
"""The data of `uasctl bench` about a comparison, and the members of a stored result.

One side of the program fills it in: profiles, fio, the session with its rounds. The other side
prints it: statistics, tables, JSON, charts, history. The two sides share nothing else.

Rates are per second, sizes in bytes, times of day in microseconds. Latencies are nanoseconds as in
fio since 3.0, from the submission of a request to its completion, including the wait for a place
in the kernel's queue. Strings are empty if nothing is known.
"""

import errno
import json
import math
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

VERSION = 1  # the schema of uasd-bench(7)
FILE_MAX = 16 << 20
PATTERNS_MAX = 256
RUNS_MAX = 65536
REAL_MAX = 1e18
ERRNO_MAX = 4095
UINT_MAX = (1 << 32) - 1
UINT64_MAX = (1 << 64) - 1
TEXT = 1024  # bytes of a text of the disk or the machine
ID_CHARACTERS = frozenset('0123456789abcdef-')

T = TypeVar('T')


def os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class Driver(StrEnum):
    """In the order of all outputs."""

    NONE = 'none'  # not known
    USB_STORAGE = 'usb-storage'
    UAS = 'uas'
    OTHER = 'other'


class Axis(StrEnum):
    """The quantity that a sweep varies. Public words."""

    NONE = 'none'  # no sweep: a comparison
    DEPTH = 'depth'
    JOBS = 'jobs'
    REGION = 'region'
    RUNTIME = 'runtime'  # seconds that are measured
    RAMP = 'ramp'  # seconds before those
    CLIENTS = 'clients'


# ---- the members of a result: how JSON has them, both ways ----


@dataclass(frozen=True)
class Member:
    """read() raises ValueError for a value that write() does not make."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    column: str | None = None  # in CSV, "" for none; None: as the member
    moment: bool = False  # microseconds since 1970
    side: bool = False


def members(cls: Any) -> list[tuple[str, Member]]:
    """Those of a class that are stored, in their order."""
    return [(f.name, f.metadata['json']) for f in fields(cls) if 'json' in f.metadata]


def to_json(value: Any) -> dict[str, Any]:
    return {name: m.write(getattr(value, name)) for name, m in members(value)}


def from_json(cls: type[T], value: Any) -> T:
    if not isinstance(value, dict):
        raise ValueError(cls.__name__)
    return cls(**{name: m.read(value.get(name)) for name, m in members(cls)})


def _same(value: T) -> T:
    return value


def _is(value: Any, kind: type[T]) -> T:
    """As that type; a bool is no number."""
    if type(value) is not kind:
        raise ValueError(value)
    return value


def _short(value: Any, limit: int) -> str:
    if '\0' in _is(value, str) or len(value.encode()) >= limit:
        raise ValueError(value)
    return str(value)


def _text(limit: int, column: str | None = None) -> Any:
    """limit: bytes, with the NUL of C. Null in JSON if it is empty."""
    def read(value: Any) -> str:
        if value == '':
            raise ValueError(value)
        return '' if value is None else _short(value, limit)
    return field(default='', metadata={'json': Member(lambda s: s or None, read, column)})


def _word(limit: int, column: str | None = None) -> Any:
    """The same, never null."""
    return field(default='', metadata={
        'json': Member(_same, lambda value: _short(value, limit), column)})


def _number(limit: int = UINT_MAX, column: str | None = None, moment: bool = False) -> Any:
    def read(value: Any) -> int:
        if not 0 <= _is(value, int) <= limit:
            raise ValueError(value)
        return int(value)
    return field(default=0, metadata={'json': Member(_same, read, column, moment)})


def _finite(value: float) -> float:
    return float(value) if math.isfinite(value) else 0.0


def _read_real(value: Any) -> float:
    """Any program may have printed the number, also without decimals."""
    if type(value) not in (int, float) or not 0 <= value <= REAL_MAX:
        raise ValueError(value)
    return float(value)


def _real(column: str | None = None) -> Any:
    return field(default=0.0, metadata={'json': Member(_finite, _read_real, column)})


def _known() -> Any:
    """Negative, in JSON null: not known."""
    def read(value: Any) -> float:
        return -1.0 if value is None else _read_real(value)
    return field(default=-1.0, metadata={
        'json': Member(lambda x: None if x < 0 else _finite(x), read)})


def _flag(column: str | None = None) -> Any:
    return field(default=False, metadata={
        'json': Member(_same, lambda value: _is(value, bool), column)})


def _choice(default: Driver | Axis, column: str | None = None) -> Any:
    kind = type(default)
    return field(default=default, metadata={
        'json': Member(str, lambda value: kind(_is(value, str)), column)})


def _error() -> Any:
    """0 or a negative errno."""
    def read(value: Any) -> int:
        if not -ERRNO_MAX <= _is(value, int) <= 0:
            raise ValueError(value)
        return int(value)
    return field(default=0, metadata={'json': Member(_same, read)})


def _side() -> Any:
    return field(default_factory=Side, metadata={
        'json': Member(to_json, lambda value: from_json(Side, value), side=True)})


# ---- the data ----


@dataclass
class Pattern:
    """A section of a fio job file."""

    name: str = _word(256, 'pattern')  # "RND4K-Q32T1"
    rw: str = _word(32)  # as in fio: "randread", "rw", ...
    engine: str = _text(64)  # ioengine=
    block_size: int = _number(UINT64_MAX)
    size: int = _number(UINT64_MAX)  # of the region of each job; 0: the whole disk or file
    iodepth: int = _number(65535)
    numjobs: int = _number(65535)
    read_percent: int = _number(100)  # 100: only reads, 0: only writes
    random: bool = _flag()
    direct: bool = _flag()
    sync_engine: bool = _flag()  # the depth is always 1: also libaio, if buffered
    time_based: bool = _flag()
    runtime_sec: int = _number()  # maximum, or exact if time_based; 0: until all of size is done
    ramp_sec: int = _number()  # before runtime_sec, not measured
    fsync: int = _number((1 << 31) - 1)  # number of writes before a sync, as in fio; 0: never
    fdatasync: int = _number((1 << 31) - 1)
    axis: float = _real('axis_value')  # of a sweep's point: depth, jobs, bytes, seconds or clients
    section: str = ''  # of the profile: the options that fio gets; not stored

    @property
    def writes(self) -> bool:
        """Whether it changes the contents of the disk."""
        return self.read_percent < 100


@dataclass
class Side:
    """One direction of one run, all jobs together."""

    bytes: int = _number(UINT64_MAX)
    ios: int = _number(UINT64_MAX)
    bytes_per_sec: float = _real()
    iops: float = _real()
    mean_ns: float = _real()
    p50_ns: int = _number(UINT64_MAX)
    p95_ns: int = _number(UINT64_MAX)
    p99_ns: int = _number(UINT64_MAX)
    # From the end of the submission to the completion.
    clat_mean_ns: float = _known()
    # Of the submission; fio averages slightly different requests, so it can exceed mean_ns.
    slat_mean_ns: float = _real()


@dataclass
class Run:
    """One run of fio: one pattern under one driver."""

    pattern: int = _number(column='')  # index in Bench.patterns
    driver: Driver = _choice(Driver.NONE)
    round: int = _number()  # 0: the first one, which does not count
    order: int = _number()  # in the order of the runs: A B B A
    started_usec: int = _number(UINT64_MAX, 'started', True)
    runtime_usec: int = _number(UINT64_MAX)
    region: int = _number(UINT64_MAX)  # bytes that all jobs together worked on
    read: Side = _side()
    write: Side = _side()
    sync: Side = _side()  # fsync and fdatasync: no bytes, not part of the sides above
    depth_share: float = _real()  # 0..1: of I/O at the requested depth, or at 64 or more
    cpu_percent: float = _real()  # of one CPU; above 100 if several were busy
    other_bytes_per_sec: float = _known()  # moved by others on the same bus meanwhile
    device_read_bytes: float = _known()  # reads, with the ramp, that came from a device
    device_written_bytes: float = _known()  # writes that the kernel counted for fio
    error: int = _error()  # of fio
    host: str = _text(288)  # one of several machines; "": all together, or only one


@dataclass
class Queue:
    """The queue of requests under one driver; 0 and "": not known."""

    driver: Driver = _choice(Driver.NONE, '')
    scheduler: str = _text(64)
    queue_depth: int = _number()  # requests that the disk accepts at once
    nr_requests: int = _number()  # maximum of requests that wait in the kernel


@dataclass
class Conditions:
    """The conditions of the measurement."""

    model: str = _text(TEXT)
    bridge: str = _text(TEXT)  # VID:PID, and the chip if it is known
    firmware: str = _text(64)  # bcdDevice
    serial: str = _text(TEXT)
    controller: str = _text(TEXT)
    kernel: str = _text(TEXT)
    fio: str = _text(TEXT)
    path: str = _text(4096)  # --file: measured through its file system; "": the raw device
    speed_mbps: int = _number()
    disk_size: int = _number(UINT64_MAX)
    memory: int = _number(UINT64_MAX)  # of the machine, which a page cache may use
    rotational: bool = _flag()
    queues: dict[Driver, Queue] = field(default_factory=dict)

    def queue(self, driver: Driver) -> Queue:
        return self.queues.get(driver) or Queue(driver)


@dataclass
class Finding:
    """The event that ended a half early. It is the most important result of a bench."""

    driver: Driver = _choice(Driver.NONE)
    run: int = _number()  # index of the run at that time
    what: str = _text(2 * TEXT)  # a clause: "2 commands aborted, 1 reset"


@dataclass
class Bench:
    id: str = _word(37)  # UUID, the name of the result in /var/lib/uasd/bench
    profile: str = _word(TEXT)
    axis: Axis = _choice(Axis.NONE)
    started_usec: int = _number(UINT64_MAX, '', True)
    interrupted: bool = _flag('')
    single: bool = _flag('')  # at most one driver was to be measured, however it ended
    conditions: Conditions = field(default_factory=Conditions)
    patterns: list[Pattern] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    finding: Finding | None = None


# ---- a stored result ----


def _read_list(cls: type[T], value: Any, limit: int) -> list[T]:
    if not isinstance(value, list) or len(value) > limit:
        raise ValueError(cls.__name__)
    return [from_json(cls, item) for item in value]


def _read_bench(document: dict[str, Any]) -> Bench:
    """Any program may have written it. Figures that follow from the runs are not read."""
    b = from_json(Bench, document)
    b.conditions = from_json(Conditions, document.get('conditions'))
    queues = _read_list(Queue, document['conditions'].get('drivers'), len(Driver))
    b.conditions.queues = {q.driver: q for q in queues}
    b.patterns = _read_list(Pattern, document.get('patterns'), PATTERNS_MAX)
    b.runs = _read_list(Run, document.get('runs'), RUNS_MAX)
    if document.get('finding') is not None:
        b.finding = from_json(Finding, document['finding'])
    if not ID_CHARACTERS.issuperset(b.id) or any(r.pattern >= len(b.patterns) for r in b.runs):
        raise ValueError(b.id)
    return b


def parse(text: bytes) -> Bench:
    """Raises OSError: EBADMSG, not a result; EPROTONOSUPPORT, of a later version; EFBIG."""
    if len(text) > FILE_MAX:
        raise os_error(errno.EFBIG)
    try:
        document = json.loads(text.decode())
        if not isinstance(document, dict) or _is(document.get('version'), int) <= 0:
            raise ValueError('version')
        if document['version'] == VERSION:
            return _read_bench(document)
    except (ValueError, RecursionError) as error:
        raise os_error(errno.EBADMSG) from error
    raise os_error(errno.EPROTONOSUPPORT)


def read(path: str, dir_fd: int | None = None) -> Bench:
    """The same for a file. In dir_fd no link is followed. Raises OSError."""
    follow = 0 if dir_fd is None else os.O_NOFOLLOW
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | follow, dir_fd=dir_fd)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise os_error(errno.EBADMSG)
        if status.st_size > FILE_MAX:
            raise os_error(errno.EFBIG)
        with open(fd, 'rb', closefd=False) as f:
            return parse(f.read())
    finally:
        os.close(fd)

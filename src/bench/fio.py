# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs fio, on this machine or on several at once, and reads its output."""

import errno
import fcntl
import os
import re
import stat
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bench import child, fio_json, log, options
from bench.model import Pattern, Run, os_error

PROGRAM = '/usr/bin/fio'
JOBS_MAX = 64
OUTPUT_MAX = 64 << 20
CHARGED_BLOCK = 512  # unit of getrusage(), in bytes
ONCE_BLOCK = 1 << 20
REMOVE_SEC = 60
WORDS_MAX = 2000
BLKGETSIZE64 = 0x80081272
# A job file can read the environment as ${VARIABLE}.
ENVIRONMENT = {'LC_ALL': 'C', 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'}

READ_ONCE = 'ioengine=psync\nbs=1m\n'
# Options that fill a file. A file system reads zeros, and blocks that were never written, without
# the disk.
LAY_OUT = READ_ONCE + 'refill_buffers=1\nend_fsync=1\n'


@dataclass(frozen=True)
class Job:
    pattern: Pattern
    path: str = ''  # an existing block device or file; opened once
    offset: int = 0  # start of the region
    region: int = 0  # bytes; 0: to the end. The jobs share it: none reads a block of another one
    seed: int = 0  # of random offsets; a new one for every run, because caches know the old places
    creates: bool = False  # the file need not exist
    writes: bool = False  # False: a pattern that writes is refused, and fio gets --readonly
    # As from hosts(). On each runs `fio --server`, and path is the same file there.
    hosts: Sequence[str] = ()
    n_hosts: int = 0  # number that takes part; 0: this machine
    tick: child.Tick | None = None
    # Returns False if the opened path is not the disk that is meant. None: no check.
    owns: Callable[[int], bool] | None = None
    program: str = PROGRAM


class Failed(Exception):
    """fio or its job failed: a positive errno, and fio's error text.

    ENOENT: no fio. EPERM: it writes without permission. ENODEV: path is neither device nor file,
    or not owned. ENOSPC: too small for a block for each job. EIO: fio's output is not readable.
    ECONNREFUSED: a server did not answer.
    """

    def __init__(self, number: int, words: str = '') -> None:
        super().__init__(number, words)
        self.number, self.words = number, words


class Output(NamedTuple):
    text: str  # JSON, and other text that fio printed
    errors: str
    code: int
    read_bytes: int  # from devices, by all its processes, as the kernel counted them
    written_bytes: int


# ---- regions and job files ----


def region_each(p: Pattern, available: int) -> int:
    """Bytes that each job works on; 0: less than a block for each job."""
    each = available // p.numjobs
    if p.size:
        each = min(each, p.size)
    return each - each % p.block_size


def region_all(p: Pattern, available: int) -> int:
    return region_each(p, available) * p.numjobs


def job_text(job: Job, filename: str, each: int) -> str:
    """The job file: the section of the pattern, then the options of the job, which override it."""
    p = job.pattern
    # offset_increment: as if each job had its own file. A block that one job has read would come
    # to another one from a cache.
    # thread: threads die with fio in every case. Processes would go on reading.
    # lat_percentiles: from the submission on. If the queue is full, clat excludes most of the
    # waiting. Old versions have only one.
    # randrepeat: with 1, the default, fio uses its own seed instead of this one.
    return (
        f'[bench]\n{p.section}'
        f'filename={filename}\nallow_file_create={job.creates:d}\nrw={p.rw}\n'
        f'iodepth={p.iodepth}\nnumjobs={p.numjobs}\nsize={each}\noffset={job.offset}\n'
        + (f'offset_increment={each}\n' if p.numjobs > 1 else '') +
        'thread=1\ngroup_reporting=1\ndisk_util=0\n'
        'clat_percentiles=0\nlat_percentiles=1\npercentile_list=50:95:99\n'
        f'randrepeat=0\nrandseed={job.seed + 1}\n'
        f'runtime={p.runtime_sec}\ntime_based={p.time_based:d}\nramp_time={p.ramp_sec}\n')


# ---- several machines ----


def _address(text: str) -> str:
    """ "HOST", "HOST:PORT", "[IPV6]:PORT" as "HOST,PORT": a colon would precede its type."""
    v6 = text[:1] == '['
    m = (re.fullmatch(r'\[([0-9A-Za-z:.%]+)\](?::(.*))?', text) if v6
         else re.fullmatch('([0-9A-Za-z._][0-9A-Za-z._-]*)(?::(.*))?', text))
    if not m or len(m[1]) > 253:
        raise ValueError(text)
    port = fio_json.PORT if m[2] is None else options.number(m[2], 65535)
    if port == 0:
        raise ValueError(text)
    return f'{"ip6:" if v6 else ""}{m[1]},{port}'


def hosts(text: str) -> list[str]:
    """ "HOST[:PORT],[IPV6]:PORT,..." in fio's format. Raises ValueError."""
    found = [_address(word) for word in text.split(',')]
    if len(found) > JOBS_MAX or len(set(found)) < len(found):
        raise ValueError(text)
    return found


def path_ok(path: str) -> bool:
    """Whether a job file for servers can name it."""
    return (path[:1] == '/' and not path[-1:].isspace()
            and not re.search(r'[;#$\\"\x00-\x1f\x7f]', path))


# ---- one start of the program ----


def _memory_file(name: str, text: str) -> int:
    fd = os.memfd_create(name)
    data = text.encode('utf-8', 'surrogateescape')
    while data:
        data = data[os.write(fd, data):]
    return fd


def _read_back(fd: int) -> str:
    data = os.pread(fd, min(os.fstat(fd).st_size, OUTPUT_MAX + 1), 0)
    if len(data) > OUTPUT_MAX:
        raise os_error(errno.EFBIG)
    return data.decode('utf-8', 'replace')


def _execute(job: Job, option: Sequence[str], texts: Sequence[str], target: int = -1) -> Output:
    """Runs fio to its end, with a job file for each machine. Raises OSError or that of tick()."""
    fds = [_memory_file('errors', ''), _memory_file('output', '')]
    try:
        fds += [_memory_file('jobs', text) for text in texts]
        # --output first, since fio ends at --version.
        arguments = ['fio', f'--output=/proc/self/fd/{fds[1]}', *option]
        for i, fd in enumerate(fds[2:]):
            arguments += ['--client', job.hosts[i]] if job.n_hosts > 0 else []
            arguments.append(f'/proc/self/fd/{fd}')
        with open(os.devnull, 'r+b') as none:
            end = child.run(
                arguments, job.program, job.tick, (none.fileno(), none.fileno(), fds[0]),
                [*fds[1:], *([target] if target >= 0 else [])], ENVIRONMENT)
        return Output(_read_back(fds[1]), _read_back(fds[0]), end.code,
                      end.usage.ru_inblock * CHARGED_BLOCK, end.usage.ru_oublock * CHARGED_BLOCK)
    finally:
        for fd in fds:
            os.close(fd)


def words_of(output: Output) -> str:
    """fio's error texts, limited in length.

    Depending on the version, fio prints errors to either stream. The first one is the cause.
    """
    m = re.search('^{', output.text, re.MULTILINE)
    before = output.text[:m.start()] if m else output.text
    return f'{output.errors[:WORDS_MAX]}\n{before[:WORDS_MAX]}'.strip(' \t\r\n')


def log_words(words: str) -> None:
    """Reports fio's error text, a line each."""
    for line in filter(None, words.split('\n')):
        log.error('fio: %s', line)


def ask(option: str, text: str | None = None) -> tuple[bool, str]:
    """Starts fio with one option and perhaps the text of a job file. Whether it succeeds."""
    output = _execute(Job(Pattern()), [option], [] if text is None else [text])
    return output.code == 0, words_of(output)


# ---- a job ----


def _open(job: Job) -> tuple[int, int]:
    """And its bytes. Opened once, so that a job uses the same disk, even if its name changes."""
    fd = os.open(job.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(fd)
        is_block = stat.S_ISBLK(status.st_mode)
        if (job.owns and not job.owns(fd)) or not (is_block or stat.S_ISREG(status.st_mode)):
            raise Failed(errno.ENODEV)
        size = status.st_size
        if is_block:
            size = struct.unpack('Q', fcntl.ioctl(fd, BLKGETSIZE64, bytes(8)))[0]
        if job.offset >= size:
            raise Failed(errno.ENOSPC)
        size -= job.offset
        return fd, min(job.region, size) if job.region else size
    except BaseException:
        os.close(fd)
        raise


def _texts(job: Job, path: str, each: int) -> list[str]:
    """One job file for each machine, each with its own region."""
    return [job_text(replace(job, offset=job.offset + i * each * job.pattern.numjobs,
                             seed=job.seed + i), path, each)
            for i in range(job.n_hosts or 1)]


def _understand(job: Job, output: Output) -> list[Run]:
    """fio's counts make the result. Without them its error text is the reason."""
    p, n = job.pattern, job.n_hosts
    failed = output.code != 0
    try:
        runs = fio_json.parse(output.text, n, p.numjobs, 1 if p.sync_engine else p.iodepth)
    except fio_json.NotFio:
        runs = []
    # If a server does not answer, fio goes on with the others and reports success. Without any
    # server it ends.
    if n > 0 and len(runs) != n + 1:
        raise Failed(errno.ECONNREFUSED if runs or output.code > 0 else errno.EIO,
                     words_of(output))
    if n > 0:
        return runs
    if not runs or (failed and not runs[0].error and runs[0].read.ios + runs[0].write.ios == 0):
        raise Failed(errno.EIO, words_of(output))
    if failed and not runs[0].error:
        runs[0].error = -errno.EIO
    return runs


def run(job: Job) -> tuple[list[Run], str]:
    """One run: its results, and fio's error text if it met an error during the run.

    The results: one, or first all machines together (no host), then each. They are complete except
    for pattern, driver, round and order. Raises Failed, or the error of tick().
    """
    p, n, target = job.pattern, job.n_hosts, -1
    # A server ignores --readonly: there, this check is the only protection.
    if p.writes and not job.writes:
        raise Failed(errno.EPERM)
    if n > JOBS_MAX or (n > 0 and not path_ok(job.path)):
        raise Failed(errno.EINVAL)
    started = time.time_ns() // 1000
    try:
        if n > 0:
            # A colon would separate two names.
            path, available = job.path.replace(':', '\\:'), job.region // n
        else:
            target, available = _open(job)
            path = f'/proc/self/fd/{target}'
        each = region_each(p, available)
        if each == 0:
            raise Failed(errno.ENOSPC)
        option = ['--output-format=json']
        option += ['--readonly'] if n == 0 and not job.writes else []
        output = _execute(job, option, _texts(job, path, each), target)
    except OSError as error:
        raise Failed(error.errno or errno.EIO) from error
    finally:
        if target >= 0:
            os.close(target)
    runs = _understand(job, output)
    for i, one in enumerate(runs):
        one.started_usec = started
        one.region = each * p.numjobs * (n if i == 0 and n > 0 else 1)
        # The kernel of another machine counts its own.
        one.device_read_bytes = -1.0 if n > 0 else float(output.read_bytes)
        one.device_written_bytes = -1.0 if n > 0 else float(output.written_bytes)
    return runs, words_of(output) if runs[0].error else ''


def _run_once(job: Job, section: str) -> None:
    """A preparation: whole blocks in sequence, by the first of several machines."""
    p = Pattern(rw='write' if job.writes else 'read', block_size=ONCE_BLOCK, iodepth=1, numjobs=1,
                sync_engine=True, read_percent=0 if job.writes else 100, section=section)
    runs, words = run(replace(job, pattern=p, n_hosts=1 if job.hosts else 0))
    if runs[0].error:
        raise Failed(-runs[0].error, words)


def prepare(job: Job) -> None:
    """Prepares the job's region. Raises as run().

    Without `writes`, reads it once from end to end, so that the disk or file system allocates and
    maps every block. A region below 1 MiB needs no preparation. With `writes`, fills an empty file
    with data that no drive or file system can compress. For several machines the first makes the
    file, and removes it at the end; it has a name, since each server opens it.
    """
    section = LAY_OUT if job.writes else READ_ONCE
    if job.pattern.direct and not job.writes:
        section += 'direct=1\n'
    try:
        _run_once(replace(job, creates=job.writes and bool(job.hosts)), section)
    except Failed as failed:
        if failed.number != errno.ENOSPC or job.writes:
            raise


def remove(path: str, at: Sequence[str]) -> None:
    """Removes the file of several machines, or gives up after a minute."""
    deadline = time.monotonic() + REMOVE_SEC

    def give_up() -> None:
        if time.monotonic() >= deadline:
            raise Failed(errno.ETIMEDOUT)
    _run_once(Job(Pattern(), path=path, region=ONCE_BLOCK, hosts=at, tick=give_up),
              READ_ONCE + 'unlink=1\n')

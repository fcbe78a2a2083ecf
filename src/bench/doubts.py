# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reasons to doubt a figure. Each is printed beside its figure."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bench import stats
from bench.model import Bench, Driver, Pattern, Run
from bench.units import Measure, bytes_text, figure_text

SUPER_SPEED_MBPS = 5000
USB2_MBPS = 480
DEPTH_SHARE = 0.9  # minimum of all requests at that depth of the queue
DEPTH_SEEN = 64  # fio counts all depths above it as one
SUBMIT_SHARE = 0.5  # of the latency; above it, submission dominates
MEMORY_TIMES = 2  # half of a buffered region that is smaller than this times the memory fits in it
CACHE_REGION = 1 << 30  # below it, caches of the disk and its bridge have an effect
SYNC_TIMES = 1.2  # of the number that the writes require
SPREAD_PERCENT = 10.0
FALL_ROUNDS = 5
FALL_SHARE = 0.05  # from the first rounds to the last ones
DEVICE_SHARE = 0.9  # minimum that comes from a device or goes to one
REGION_SHARE = 0.9  # minimum of the region in the profile; whole blocks are slightly less
LOAD_SHARE = 0.01  # of the link
LOAD_UNKNOWN = 1e6  # bytes per second, if the link is not known
HALVES = 1.05  # ratio
# Limits of spinning disks: the fastest ones, with a reserve. The head has to move, and the platter
# has to turn.
DISK_BYTES = 300e6
DISK_READS_ALONE = 300.0  # per second, one at a time
DISK_READS_QUEUED = 2000.0
DISK_WRITES = 3000.0  # its cache sorts them
DISK_LATENCY = 1e6  # ns: half of its random reads, one at a time


class Doubt(StrEnum):
    """Public words, in the order of all outputs."""

    LINK = 'above-link'  # more than the link can transfer
    USB2 = 'usb2'  # the link is USB 2, which limits the disk
    DEPTH = 'depth'  # the queue was not as deep as requested
    SUBMIT = 'submission'  # more than half of the latency was submission
    CACHE = 'cache'  # memory, or the disk's own cache, may have answered
    REGION = 'region'  # smaller than in the profile
    SYNCS = 'syncs'  # fio synced more often than requested
    MEMORY = 'memory'  # reads did not come from a device, or writes did not go to one
    DISK = 'disk'  # too fast for a spinning disk
    SPREAD = 'spread'  # the rounds differ by more than 10 %
    HEAT = 'falling'  # slower in every round
    HALVES = 'halves'  # the figures before and after the other driver differ
    LOAD = 'load'  # others moved data on the same bus
    ERRORS = 'errors'  # some runs failed and do not count


def link_ceiling(speed_mbps: int) -> float:
    """Upper limit of a link's data rate in bytes per second; 0: not known.

    USB 2: 13 packets of 512 bytes in a microframe. SuperSpeed: the rate after the line code
    (8b/10b at 5 Gbit/s, 128b/132b above), less 32 bytes of header and framing for each packet of
    1024. Both protocols stay below it: at 5 Gbit/s usually 0.4 of 0.485 GB/s.
    """
    line = speed_mbps * 1e6 / 8
    if speed_mbps == USB2_MBPS:
        return 13 * 512 * 8000.0
    if speed_mbps < SUPER_SPEED_MBPS:
        return line  # such links have no faster mode
    coded = line * 8 / 10 if speed_mbps == SUPER_SPEED_MBPS else line * 128 / 132
    return coded * 1024 / (1024 + 32)


@dataclass
class Row:
    """Values of one pattern under one driver that several doubts need."""

    b: Bench
    p: Pattern
    pattern: int
    driver: Driver
    runs: list[Run]
    rates: list[float]
    rate: stats.Summary  # bytes per second
    region: int  # of all jobs
    asked: int  # the same in the profile; 0: everything
    at_once: int

    @property
    def jobs(self) -> int:
        return self.p.numjobs or 1

    @property
    def ceiling(self) -> float:
        return link_ceiling(self.b.conditions.speed_mbps)

    def median(self, measure: Measure) -> float:
        return stats.of(self.b, self.pattern, self.driver, measure).median


def _row(b: Bench, pattern: int, driver: Driver) -> Row:
    p = b.patterns[pattern]
    runs = stats.rounds(b, pattern, driver)
    rates = [stats.of_run(r, Measure.BYTES) for r in runs]
    jobs = p.numjobs or 1
    asked = p.size * jobs
    region = next((r.region for r in reversed(runs) if r.region), asked or b.conditions.disk_size)
    return Row(b, p, pattern, driver, runs, rates, stats.summary(rates), region, asked,
               (1 if p.sync_engine else p.iodepth) * jobs)


# ---- the doubts: each returns its sentence, with its numbers, or "" ----


def _link(row: Row) -> str:
    if not 0 < row.ceiling < row.rate.max:
        return ''
    return (f'{figure_text(row.rate.max, Measure.BYTES)} is more than a link at '
            f'{row.b.conditions.speed_mbps} Mbit/s can carry '
            f'({figure_text(row.ceiling, Measure.BYTES)}): a cache answered')


def _usb2(row: Row) -> str:
    mbps = row.b.conditions.speed_mbps
    if not 0 < mbps <= USB2_MBPS:
        return ''
    return (f'linked at {mbps} Mbit/s: a USB 2 link carries '
            f'{figure_text(row.ceiling, Measure.BYTES)} at most, whatever the disk can do')


def _depth(row: Row) -> str:
    wanted = row.p.iodepth
    share = stats.median([r.depth_share for r in row.runs])
    if wanted > 1 and row.p.sync_engine:
        buffered = row.p.engine == 'libaio'
        engine = 'libaio that is buffered' if buffered else 'a synchronous engine'
        return f'depth {wanted} has no effect with {engine}: it was 1'
    if wanted > 1 and share < DEPTH_SHARE:
        more = ' or more' if wanted > DEPTH_SEEN else ''
        return (f'only {100 * share:.0f} % of the requests reached depth '
                f'{min(wanted, DEPTH_SEEN)}{more}')
    # The disk decides this limit, but it differs from the question.
    uas = row.driver is Driver.UAS
    given = row.b.conditions.queue(Driver.UAS).queue_depth if uas else 0
    if 0 < 2 * given < row.at_once:
        return (f'the disk gets {given} requests at once instead of {row.at_once}, '
                'and the others wait in the kernel')
    return ''


def _submission(row: Row) -> str:
    """A single request does not wait for others.

    fio averages slightly different requests for its two figures, so the submission can seem to
    take longer than the whole request.
    """
    whole = row.median(Measure.MEAN)
    part = stats.median([(r.read if r.read.mean_ns > r.write.mean_ns else r.write).slat_mean_ns
                         for r in row.runs])
    if row.p.iodepth <= 1 or row.p.sync_engine or whole <= 0 or part <= SUBMIT_SHARE * whole:
        return ''
    said = figure_text(part, Measure.MEAN) if part < whole else 'nearly all'
    return (f'{said} of the average latency of {figure_text(whole, Measure.MEAN)} was submission: '
            "the kernel's queue may have been full")


def _cache(row: Row) -> str:
    memory, size = row.b.conditions.memory, bytes_text(row.region)
    if not row.p.direct and memory > 0 and row.region // MEMORY_TIMES < memory:
        return (f"buffered, and the machine's memory ({memory / 1e9:.0f} GB) can hold much of "
                f'{size}')
    if 0 < row.region < CACHE_REGION:
        return (f'{size} is small: below {bytes_text(CACHE_REGION)} caches of the disk and its '
                'bridge answer')
    return ''


def _region(row: Row) -> str:
    if row.region >= REGION_SHARE * row.asked:
        return ''
    each = ' a job' if row.jobs > 1 else ''
    return (f'the profile asks for {bytes_text(row.asked // row.jobs)}{each}, this was '
            f'{bytes_text(row.region // row.jobs)}')


def _syncs(row: Row) -> str:
    """Each job may add one sync at its end (end_fsync=). Tells the round with the most."""
    most, most_asked = 0, 0.0
    for r in row.runs:
        asked = sum(r.write.ios / each for each in (row.p.fsync, row.p.fdatasync) if each > 0)
        if (asked > 0 and r.sync.ios > SYNC_TIMES * asked + row.jobs
                and r.sync.ios * most_asked >= most * asked):
            most, most_asked = r.sync.ios, asked
    if most == 0:
        return ''
    return (f'fio synced {most} times instead of {most_asked:.0f}: older versions sync again with '
            'each following read')


def _memory(row: Row) -> str:
    """The share of a device in the worst round, at most.

    The kernel's count for fio includes the ramp, which may have moved any number of bytes.
    Buffered writes are expected to go to memory.
    """
    share, written = 1.0, False
    for r in row.runs:
        for side, device in ((r.read, r.device_read_bytes), (r.write, r.device_written_bytes)):
            writing = side is r.write
            if (device >= 0 and side.bytes > 0 and device < share * side.bytes
                    and (row.p.direct or not writing)):
                share, written = device / side.bytes, writing
    if share >= DEVICE_SHARE:
        return ''
    return (f'{"O_DIRECT is not honoured: " if row.p.direct else ""}at most {100 * share:.0f} % of '
            f'the bytes {"reached" if written else "came from"} a device, and memory '
            f'{"took" if written else "answered"} the rest')


def _quicker_than_a_disk(row: Row) -> bool:
    if not row.p.random or stats.figure(row.p) is Measure.BYTES:
        return row.rate.median > DISK_BYTES
    iops, alone = row.median(Measure.IOPS), row.at_once <= 1
    if row.p.read_percent < 100:
        return iops > DISK_WRITES
    return (iops > (DISK_READS_ALONE if alone else DISK_READS_QUEUED)
            or (alone and 0 < row.median(Measure.P50) < DISK_LATENCY))


def _disk(row: Row) -> str:
    found = row.b.conditions.rotational and _quicker_than_a_disk(row)
    said = 'too fast for a spinning disk: a cache answered, or the disk does not spin'
    return said if found else ''


def _spread(row: Row) -> str:
    spread = row.rate.spread_percent
    found = spread > SPREAD_PERCENT
    return f'the rounds differ by {spread:.0f} % of their average' if found else ''


def _heat(row: Row) -> str:
    """Almost every round was slower than all before it.

    By chance one in 24 rows of five looks like that.
    """
    values, n = row.rates, row.rate.n
    if n < FALL_ROUNDS:
        return ''
    third = n // 3
    rising = sum(later >= v for i, v in enumerate(values) for later in values[i + 1:])
    share = 1 - stats.median(values[n - third:]) / stats.median(values[:third])
    if rising * 10 > n * (n - 1) // 2 or share < FALL_SHARE:
        return ''
    return f'slower round by round, by {100 * share:.0f} % in all: heat, or garbage collection'


def _halves(row: Row) -> str:
    ratio = stats.halves(row.b, row.pattern, row.driver)
    if ratio <= HALVES:
        return ''
    return (f'it differs by {100 * (ratio - 1):.0f} % before and after the other driver, '
            'and a smaller difference does not count')


def _load(row: Row) -> str:
    load = max((r.other_bytes_per_sec for r in row.runs), default=-1.0)
    if load <= (row.ceiling * LOAD_SHARE if row.ceiling > 0 else LOAD_UNKNOWN):
        return ''
    return (f'other programs moved up to {figure_text(load, Measure.BYTES)} on the same bus, '
            'or on the disk itself')


def _errors(row: Row) -> str:
    failed = sum(r.pattern == row.pattern and r.driver is row.driver and r.round > 0 and not r.host
                 and not stats.counts(r) for r in row.b.runs)
    if failed == 0:
        return ''
    return f'{failed} of its runs failed and {"does" if failed == 1 else "do"} not count'


_ALL: dict[Doubt, Callable[[Row], str]] = {
    Doubt.LINK: _link, Doubt.USB2: _usb2, Doubt.DEPTH: _depth, Doubt.SUBMIT: _submission,
    Doubt.CACHE: _cache, Doubt.REGION: _region, Doubt.SYNCS: _syncs, Doubt.MEMORY: _memory,
    Doubt.DISK: _disk, Doubt.SPREAD: _spread, Doubt.HEAT: _heat, Doubt.HALVES: _halves,
    Doubt.LOAD: _load, Doubt.ERRORS: _errors,
}


def of(b: Bench, pattern: int, driver: Driver) -> dict[Doubt, str]:
    """The doubts about a pattern under a driver, in their order, with their sentences."""
    row = _row(b, pattern, driver)
    # Without a round that counts there is no figure to doubt.
    texts = {d: _ALL[d](row) for d in Doubt if row.runs or d is Doubt.ERRORS}
    return {d: text for d, text in texts.items() if text}


def of_comparison(differs: bool) -> frozenset[Doubt]:
    """The doubts that can cause or hide a difference between the drivers.

    The others are those that concern both drivers, and a USB 2 link if there is a difference
    nevertheless.
    """
    others = {Doubt.REGION, Doubt.SYNCS} | ({Doubt.USB2} if differs else set())
    return frozenset(doubt for doubt in Doubt if doubt not in others)

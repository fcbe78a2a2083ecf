# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sums of the jobs in fio's JSON.

It was written for fio 3.1 to 3.41. Before 3.0 times were in microseconds. A broken or hostile
server may have sent it: what is no number is 0.
"""

import errno
import json
import math
import re
from collections.abc import Sequence
from typing import Any

from bench.model import Run, Side

RUNTIME_MSEC_MAX = 10**11  # a run of three years: fio prints no larger number
# The limits keep sums and products of a few numbers finite.
NUMBER_MAX = 1e18
COUNT_MAX = 10**17
ALL_CLIENTS = 'All clients'  # fio's own sum over machines, which has no percentiles
PORT = 8765  # the default of `fio --server`
DEPTHS = ('1', '2', '4', '8', '16', '32', '>=64')  # fio counts all depths above 64 as one

# fio prints a division by zero as C does. JSON has no such numbers.
_BROKEN = re.compile(' : -?(?:nan|inf)(?![0-9A-Za-z])')
_decoder = json.JSONDecoder(parse_int=lambda text: int(text[:40]))


class NotFio(Exception):
    """The text is no output of fio."""


# ---- members ----


def _item(o: Any, key: str) -> Any:
    return o.get(key) if isinstance(o, dict) else None


def _number(o: Any, key: str) -> float:
    value = _item(o, key)
    try:
        number = float(value) if isinstance(value, (int, float, str)) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) and 0 < number < NUMBER_MAX else 0.0


def _count(o: Any, key: str) -> int:
    value = _item(o, key)
    if isinstance(value, float):
        value = int(value) if math.isfinite(value) else 0
    elif isinstance(value, str):
        m = re.match('[ \t\n\v\f\r]*([0-9]{1,40})', value, re.ASCII)
        value = int(m[1]) if m else 0
    return max(0, min(int(value), COUNT_MAX)) if isinstance(value, int) else 0


# ---- the document ----


def _document(text: str) -> Any:
    """The JSON in a text that may begin and end with other words."""
    text = _BROKEN.sub(' : 0', text)
    # Notes and warnings precede it, a line each.
    for m in re.finditer('^{', text, re.MULTILINE):
        try:
            document, _ = _decoder.raw_decode(text, m.start())
        except (ValueError, RecursionError):
            continue
        return document
    raise NotFio


# ---- one entry of "jobs" or "client_stats" ----


def _syncs(o: Any) -> int:
    """total_ios counts only fsync.

    The latency also counts fdatasync, and old versions do not print its number.
    """
    return max(_count(o, 'total_ios'), _count(_item(o, 'lat_ns'), 'N'))


def _side(o: Any, ios: int) -> tuple[Side, int]:
    """And the time in milliseconds; 0: the side did nothing."""
    if ios == 0:
        return Side(clat_mean_ns=0.0), 0
    lat, clat = _item(o, 'lat_ns'), _item(o, 'clat_ns')
    # 3.1 has the percentiles of lat under clat. If lat has none, those of clat are the best.
    percentile = _item(lat, 'percentile')
    if percentile is None:
        percentile = _item(clat, 'percentile')
    runtime = _count(o, 'runtime')
    side = Side(
        bytes=_count(o, 'io_bytes'), ios=ios,
        # bw_bytes is missing in 3.1.
        bytes_per_sec=float(_count(o, 'bw_bytes')) or _number(o, 'bw') * 1024,
        iops=_number(o, 'iops'),
        mean_ns=_number(lat, 'mean') or _number(clat, 'mean'),
        clat_mean_ns=_number(clat, 'mean'),
        slat_mean_ns=_number(_item(o, 'slat_ns'), 'mean'),
        p50_ns=_count(percentile, '50.000000'),
        p95_ns=_count(percentile, '95.000000'),
        p99_ns=_count(percentile, '99.000000'))
    return side, runtime if runtime <= RUNTIME_MSEC_MAX else 0


def _depth_reached(levels: Any, depth: int) -> float:
    """Share of all I/O that was submitted at a depth of the same power of two, or higher."""
    percent = 0.0
    for i, key in enumerate(DEPTHS):
        if i + 1 == len(DEPTHS) or 2 << i > depth:
            percent += _number(levels, key)
    return min(percent / 100, 1.0)


def _entry(entry: Any, jobs: float, depth: int) -> Run:
    """jobs: the entry's share of numjobs=, of which fio prints the average use of the CPU.

    depth: the iodepth= of the pattern.
    """
    error = _count(entry, 'error')
    run = Run(device_read_bytes=0.0, device_written_bytes=0.0,
              cpu_percent=jobs * (_number(entry, 'usr_cpu') + _number(entry, 'sys_cpu')),
              error=-error if error < 4096 else -errno.EIO)
    read, write, sync = (_item(entry, key) for key in ('read', 'write', 'sync'))
    run.read, reading = _side(read, _count(read, 'total_ios'))
    run.write, writing = _side(write, _count(write, 'total_ios'))
    run.sync, _ = _side(sync, _syncs(sync))
    run.runtime_usec = max(reading, writing) * 1000
    if run.read.ios + run.write.ios > 0:
        run.depth_share = _depth_reached(_item(entry, 'iodepth_level'), depth)
    return run


# ---- all entries together ----


def _mean(a: float, weight_a: float, b: float, weight_b: float) -> float:
    whole = weight_a + weight_b
    return (a * weight_a + b * weight_b) / whole if whole > 0 else 0.0


def _add_side(to: Side, s: Side) -> None:
    """The percentiles are those of the job or machine with the highest: an upper bound."""
    for mean in 'mean_ns', 'clat_mean_ns', 'slat_mean_ns':
        setattr(to, mean, _mean(getattr(to, mean), to.ios, getattr(s, mean), s.ios))
    for percentile in 'p50_ns', 'p95_ns', 'p99_ns':
        setattr(to, percentile, max(getattr(to, percentile), getattr(s, percentile)))
    for sum_of in 'bytes_per_sec', 'iops', 'bytes', 'ios':
        setattr(to, sum_of, getattr(to, sum_of) + getattr(s, sum_of))


def _add(to: Run, r: Run) -> None:
    to.depth_share = _mean(to.depth_share, to.read.ios + to.write.ios, r.depth_share,
                           r.read.ios + r.write.ios)
    to.cpu_percent += r.cpu_percent
    to.runtime_usec = max(to.runtime_usec, r.runtime_usec)
    to.error = to.error or r.error
    for side in 'read', 'write', 'sync':
        _add_side(getattr(to, side), getattr(r, side))


def _finish(r: Run) -> None:
    """All bytes by the longest runtime: rates of jobs that end at different times do not add up.

    Without a runtime, fio's own rates stay. fio has no runtime for syncs.
    """
    sec = r.runtime_usec / 1e6
    for side in (r.read, r.write, r.sync) if sec > 0 else ():
        side.bytes_per_sec, side.iops = side.bytes / sec, side.ios / sec


def _host(entry: Any) -> str:
    name, port = _item(entry, 'hostname'), _item(entry, 'port')
    if not isinstance(name, str) or not name or '\0' in name:
        raise NotFio
    port = PORT if port is None else max(-1 << 31, min(_count(entry, 'port'), (1 << 31) - 1))
    shown = f'[{name}]' if ':' in name else name
    return name[:287] if port == PORT else f'{shown}:{port}'[:287]


def _entries(text: str, several: bool) -> Sequence[Any]:
    document = _document(text)
    found = _item(document, 'client_stats' if several else 'jobs')
    if not isinstance(found, list):
        raise NotFio
    if not several:
        return found
    return [e for e in found if isinstance(e, dict) and _item(e, 'jobname') != ALL_CLIENTS]


def parse(text: str, n_hosts: int, jobs: int, depth: int) -> list[Run]:
    """The JSON of fio, with any text before it. Raises NotFio.

    jobs: numjobs= of the pattern, depth: its iodepth=. All its jobs become one run. With n_hosts
    there follows one for each machine that answered, at most n_hosts. Members that fio does not
    print (pattern, driver, ..., started_usec) are unset. A machine's jobs are grouped, so it has
    one entry.
    """
    entries = _entries(text, n_hosts > 0)
    whole = Run(device_read_bytes=0.0, device_written_bytes=0.0)
    for side in whole.read, whole.write, whole.sync:
        side.clat_mean_ns = 0.0
    runs = [whole]
    for entry in entries:
        one = _entry(entry, jobs if n_hosts > 0 else jobs / len(entries), depth)
        _add(whole, one)
        if n_hosts > 0:
            one.host = _host(entry)
            _finish(one)
            runs.append(one)
    if not entries or len(runs) > n_hosts + 1:
        raise NotFio
    _finish(whole)
    return runs

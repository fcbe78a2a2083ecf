# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures for people: three digits, decimal units."""

import time
from enum import StrEnum

ROUND_MAX = 10000  # of a unit, for blocks and regions; above it, the number is the size of a disk


class Measure(StrEnum):
    """The members of a model.Side that are compared."""

    BYTES = 'bytes_per_sec'
    IOPS = 'iops'
    MEAN = 'mean_ns'
    CLAT = 'clat_mean_ns'  # not known: negative
    P50 = 'p50_ns'
    P95 = 'p95_ns'
    P99 = 'p99_ns'

    @property
    def is_rate(self) -> bool:
        return self in (Measure.BYTES, Measure.IOPS)


# From which value on, its divisor, and its name.
_BYTES = ((0.0, 1e6, ' MB/s'),)
_REQUESTS = ((999.5e3, 1e6, 'M IOPS'), (9999.5, 1e3, 'k IOPS'), (0.0, 1.0, ' IOPS'))
_TIMES = ((999.5e6, 1e9, ' s'), (999.5e3, 1e6, ' ms'), (0.0, 1e3, ' us'))


def _digits(value: float, unit: str) -> str:
    """9.46, 94.6, 946. A value that rounds up to the next digit has one decimal less."""
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f'{value:.{decimals}f}{unit}'


def figure_text(value: float, measure: Measure, utf8: bool = False) -> str:
    """ "412 MB/s", "1234 IOPS", "12.3k IOPS", "430 µs" (or "us")."""
    units = {Measure.BYTES: _BYTES, Measure.IOPS: _REQUESTS}.get(measure, _TIMES)
    divisor, name = next((u[1], u[2]) for u in units if u[0] <= 0 or value >= u[0])
    return _digits(value / divisor, ' µs' if utf8 and name == ' us' else name)


def bytes_text(size: int) -> str:
    """Blocks and regions: "4 KiB", "64 GiB", "1536 B". Other numbers: "4.00 TB"."""
    whole, unit = size, 0
    while unit < 4 and whole >= 1024 and whole % 1024 == 0:
        whole //= 1024
        unit += 1
    if whole < ROUND_MAX:
        return f'{whole} {("B", "KiB", "MiB", "GiB", "TiB")[unit]}'
    part, unit = size / 1e3, 0
    while unit < 3 and part >= 999.5:
        part /= 1e3
        unit += 1
    return _digits(part, (' kB', ' MB', ' GB', ' TB')[unit])


def day_text(usec: int) -> str:
    """ "2026-11-20 10:15"; UTC."""
    try:
        return time.strftime('%Y-%m-%d %H:%M', time.gmtime(usec // 1000000))
    except (OverflowError, ValueError, OSError):
        return '?'

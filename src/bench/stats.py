# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures from the runs of a pattern under a driver.

Sums of rates are added in their order. sum() of later versions of Python rounds differently, and
the same result would get other last digits.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from bench.model import Bench, Driver, Pattern, Run
from bench.units import Measure

SAMPLES_MAX = 64  # more rounds than a user waits for; further rounds of a file are left out
WANDER_ROUNDS = 8  # of each
PARTS = 4
SMALL_BLOCK = 64 << 10  # below it, IOPS are the usual figure
NEIGHBOURS = 1.5  # times the variance; independent neighbours differ by twice the variance
DIGIT = 16  # bytes for up to C(2 * SAMPLES_MAX, SAMPLES_MAX)


@dataclass(frozen=True)
class Summary:
    n: int = 0  # 0: the other members mean nothing
    median: float = 0
    min: float = 0
    max: float = 0
    average: float = 0
    spread_percent: float = 0  # range over average


class Ratio(NamedTuple):
    middle: float
    low: float
    high: float


# ---- the runs and their figures ----


def of_run(run: Run, measure: Measure) -> float:
    """Of reads, writes, or both: then rates are added, and the worse latency counts."""
    read, write = float(getattr(run.read, measure)), float(getattr(run.write, measure))
    return read + write if measure.is_rate else max(read, write)


def counts(run: Run) -> bool:
    return (run.round > 0 and run.error == 0 and not run.host
            and of_run(run, Measure.BYTES) > 0 and of_run(run, Measure.IOPS) > 0)


def rounds(b: Bench, pattern: int, driver: Driver) -> list[Run]:
    """The runs that count: without round 0, failed runs, and a host's own part of a sum."""
    all_runs = [r for r in b.runs if r.pattern == pattern and r.driver is driver and counts(r)]
    return sorted(all_runs[:SAMPLES_MAX], key=lambda r: r.order)


def drivers(b: Bench, pattern: int) -> list[Driver]:
    """Those that have runs of a pattern, which need not count."""
    there = {r.driver for r in b.runs if r.pattern == pattern and not r.host}
    return [d for d in Driver if d in there]


def samples(b: Bench, pattern: int, driver: Driver, measure: Measure) -> list[float]:
    return [of_run(r, measure) for r in rounds(b, pattern, driver)]


def of(b: Bench, pattern: int, driver: Driver, measure: Measure) -> Summary:
    return summary(samples(b, pattern, driver, measure))


def sides(b: Bench, pattern: int, driver: Driver, measure: Measure) -> tuple[float, float]:
    """Medians of the reads and of the writes."""
    runs = rounds(b, pattern, driver)
    return (median([float(getattr(r.read, measure)) for r in runs]),
            median([float(getattr(r.write, measure)) for r in runs]))


def figure(pattern: Pattern) -> Measure:
    """IOPS for small random blocks, bytes for all others."""
    return Measure.IOPS if pattern.random and pattern.block_size < SMALL_BLOCK else Measure.BYTES


def median(values: Sequence[float]) -> float:
    """0 without values."""
    ordered, n = sorted(values), len(values)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2 if n else 0.0


def summary(values: Sequence[float]) -> Summary:
    if not values:
        return Summary()
    least, most, total = min(values), max(values), 0.0
    for value in sorted(values):
        total += value
    average = total / len(values)
    spread = 100 * (most - least) / average if total > 0 else 0.0
    return Summary(len(values), median(values), least, most, average, spread)


# ---- the drift of a driver by itself ----


def _other_between(b: Bench, first: Run, second: Run) -> bool:
    """Whether a run of another driver that counts was between the two."""
    return any(r.pattern == first.pattern and r.driver is not first.driver
               and first.order <= r.order < second.order and counts(r) for r in b.runs)


def halves(b: Bench, pattern: int, driver: Driver) -> float:
    """Compares the same driver before and after the other one.

    The ratio of the medians of its two halves, 1 or more. 1 if it does not have exactly two.
    """
    runs = rounds(b, pattern, driver)
    turns = [i for i in range(1, len(runs)) if _other_between(b, runs[i - 1], runs[i])]
    if len(turns) != 1:
        return 1.0
    values = [of_run(r, Measure.BYTES) for r in runs]
    first, second = median(values[:turns[0]]), median(values[turns[0]:])
    return max(first, second) / min(first, second)


def _neighbours(values: Sequence[float]) -> tuple[int, int]:
    """Sums of squares: differences of neighbours, and distances from the middle.

    By ranks, so that no single round decides.
    """
    ordered, n = sorted(values), len(values)
    # The distance from the middle, doubled.
    places = [bisect_left(ordered, v) - (n - bisect_right(ordered, v)) for v in values]
    return (sum((b - a) ** 2 for a, b in zip(places, places[1:], strict=False)),
            sum(p ** 2 for p in places))


def _furthest_parts(values: Sequence[float]) -> float:
    n = len(values)
    medians = [median(values[i * n // PARTS:(i + 1) * n // PARTS]) for i in range(PARTS)]
    return max(medians) / min(medians)


def wander(a: Sequence[float], b: Sequence[float]) -> float:
    """The drift of a driver by itself, as a ratio of 1 or more. All values are above 0.

    That of the quarters of its rounds whose medians are furthest apart. 1 if neighbouring rounds
    are not more alike than by chance, or if there are too few rounds.
    """
    if len(a) < WANDER_ROUNDS or len(b) < WANDER_ROUNDS:
        return 1.0
    (apart_a, distance_a), (apart_b, distance_b) = _neighbours(a), _neighbours(b)
    alike = apart_a + apart_b < NEIGHBOURS * (distance_a + distance_b)
    return max(_furthest_parts(a), _furthest_parts(b)) if alike else 1.0


# ---- the rank test ----


@lru_cache(maxsize=16)
def _deal(ranks: tuple[int, ...], k: int) -> list[int]:
    """The number of ways in which k of these ranks have each sum.

    The numbers for all sums are the digits of one large number, so that a shift and an addition
    put a rank into all of them.
    """
    ways = [1] + [0] * k
    for i, rank in enumerate(ranks):
        for taken in range(min(i + 1, k), 0, -1):
            ways[taken] += ways[taken - 1] << 8 * DIGIT * rank
    digits = ways[k].to_bytes((sum(ranks) + 1) * DIGIT, 'little')
    return [int.from_bytes(digits[at:at + DIGIT], 'little') for at in range(0, len(digits), DIGIT)]


def rank_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Exact, two-sided Mann-Whitney. 1 if one of them is empty.

    The share of all arrangements of these values, with ties, that are as far apart or further.
    """
    if not a or not b:
        return 1.0
    values = [*a, *b]
    ordered = sorted(values)
    # Twice the rank of each. Equal values get the mean rank.
    ranks = [1 + bisect_left(ordered, v) + bisect_right(ordered, v) for v in values]
    expected = len(a) * (len(values) + 1)
    far = abs(sum(ranks[:len(a)]) - expected)
    ways = _deal(tuple(sorted(ranks)), len(a))
    return sum(n for i, n in enumerate(ways) if abs(i - expected) >= far) / sum(ways)


def least_p(n: int, m: int) -> float:
    """The smallest p that is possible with these numbers."""
    if n == 0 or m == 0:
        return 1.0
    ways = 1.0
    for i in range(1, n + 1):
        ways = ways * (m + i) / i
    return 2 / ways


@lru_cache(maxsize=16)
def _left_out(n: int, m: int, level: float) -> int:
    """The number of ratios that the interval leaves out at each end; 0: none at this level."""
    ways = _deal(tuple(range(1, n + m + 1)), n)
    total, below, least = sum(ways), 0, n * (n + 1) // 2
    for out in range(n * m // 2):
        below += ways[least + out]
        if below / total > level / 2:
            return out
    return n * m // 2


def ratio(a: Sequence[float], b: Sequence[float], level: float) -> Ratio | None:
    """Hodges and Lehmann: the median of all ratios b/a, and an interval by the exact ranks.

    It contains the true ratio at least as often as 1 - level. All values must be above 0. None if
    there are too few for that level.
    """
    if not a or not b or min(a) <= 0 or min(b) <= 0:
        return None
    out = _left_out(len(a), len(b), level)
    if out == 0:
        return None
    ratios = sorted(y / x for x in a for y in b)
    n = len(ratios)
    # Geometric mean: A to B is the inverse of B to A.
    middle = ratios[n // 2] if n % 2 else math.sqrt(ratios[n // 2 - 1] * ratios[n // 2])
    return Ratio(middle, ratios[out - 1], ratios[n - out])

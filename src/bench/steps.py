# SPDX-License-Identifier: LGPL-2.1-or-later
"""The steps of a bench, in a list that is made before it begins. A dry run prints the same steps.

Two drivers are compared in the order A B B A: A has half of its rounds before B and half after. So
a drift (heat, caches, other load) affects both in the same way. The two blocks of B are adjacent,
and need no switch between them.

Within a block, each pattern has all of its rounds in sequence, because alternating patterns vary
more. The first round of every pattern in a block is round 0. It does not count, because the disk
did something else before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from bench import fio
from bench.model import Driver, Pattern
from bench.subject import Subject

SECOND = 1000000
# The first estimates, before the first step of a kind was measured.
SWITCH_USEC = 8 * SECOND
READ_RATE = 100  # bytes per microsecond
RUN_MORE_USEC = 1 * SECOND  # the start and end of fio
# Of a pattern that ends with its region, not with a time: the rates of hard disks.
GUESS_BYTES = 100e6
GUESS_READS_ALONE = 120.0
GUESS_READS_QUEUED = 600.0
GUESS_WRITES = 700.0


class Kind(Enum):
    SWITCH = 'switching to '  # to step.driver
    READ_ALL = 'reading the region once'  # before the rounds that count
    RUN = ''
    PAUSE = 'pausing'


@dataclass
class Step:
    kind: Kind
    driver: Driver  # SWITCH: target
    pattern: int = 0  # of RUN
    round: int = 0
    usec: int = 0  # expected duration


def time_text(usec: int) -> str:
    """ "3 min", rounded."""
    sec = -(-usec // SECOND)
    if sec < 60:
        return f'{sec} s'
    if sec < 3600:
        return f'{(sec + 59) // 60} min'
    return f'{sec // 3600} h {sec % 3600 // 60} min'


def make_steps(s: Subject, n_patterns: int) -> list[Step]:
    """Without durations."""
    rounds = s.options.rounds
    half = rounds if s.second is Driver.NONE else (rounds + 1) // 2
    steps = [Step(Kind.SWITCH, s.first)] if s.driver is not s.first else []
    if not s.hosts or s.lay_out:
        steps.append(Step(Kind.READ_ALL, s.first))
    steps += _block(s.first, n_patterns, 1, half)
    if s.second is not Driver.NONE:
        steps += [*_switch(s, s.second), *_block(s.second, n_patterns, 1, rounds)]
    if half < rounds:  # a single round has no second half
        steps += [*_switch(s, s.first), *_block(s.first, n_patterns, half + 1, rounds)]
    return list(_with_pauses(steps))


def _block(driver: Driver, n_patterns: int, low: int, high: int) -> list[Step]:
    """Round 0, then the rounds from `low` up to `high`."""
    return [Step(Kind.RUN, driver, pattern, number) for pattern in range(n_patterns)
            for number in (0, *range(low, high + 1))]


def _switch(s: Subject, to: Driver) -> list[Step]:
    """A file system that is mounted again has a new scratch file."""
    return [Step(Kind.SWITCH, to)] + ([Step(Kind.READ_ALL, to)] if s.remount else [])


def _with_pauses(steps: Sequence[Step]) -> Iterator[Step]:
    """A pause separates two runs. There is none at the end."""
    for i, step in enumerate(steps):
        if i > 0 and step.kind is steps[i - 1].kind is Kind.RUN:
            yield Step(Kind.PAUSE, step.driver)
        yield step


def expected(p: Pattern, available: int) -> int:
    """Duration of a run. It is an estimate if the run ends with its region, not with a time."""
    limit = (p.runtime_sec + p.ramp_sec) * SECOND
    if p.time_based and p.runtime_sec > 0:
        return limit + RUN_MORE_USEC
    size = float(fio.region_all(p, available))
    sec = size / GUESS_BYTES
    if p.random and p.block_size > 0:
        alone = (p.sync_engine or p.iodepth <= 1) and p.numjobs <= 1
        rate = GUESS_WRITES if p.writes else GUESS_READS_ALONE if alone else GUESS_READS_QUEUED
        sec = max(size / p.block_size / rate, sec)
    usec = int(sec * SECOND) + p.ramp_sec * SECOND
    return (min(usec, limit) if p.runtime_sec > 0 else usec) + RUN_MORE_USEC

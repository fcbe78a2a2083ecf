# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decides whether a difference is reliable, and says it.

It needs two conditions. A rank test (exact Mann-Whitney) must find a difference; by chance it does
so in less than one of a hundred comparisons of independent rounds. And the interval of the ratio
(Hodges and Lehmann, same level) must exclude differences that are too small to notice, or that a
drifting driver shows by itself. Two means prove nothing here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench import doubts, stats
from bench.model import Axis, Bench, Driver, Pattern
from bench.units import bytes_text

LEVEL = 0.01
ROUNDS = 5  # of each, without the one that is dropped; of fewer, any difference could be chance
PRACTICAL = 1.05  # ratio; a smaller one is no difference
TIMES_FROM = 1.5  # below it, a percentage is clearer
DIFFERENCES_TOLD = 4  # the largest; the table has all
DOUBTS_TOLD = 3  # the notes of the table have all


class Word(StrEnum):
    """Public words."""

    SAME = 'none'  # no certain difference
    FASTER = 'faster'  # on uas, or in the second of two results
    SLOWER = 'slower'
    ROUNDS = 'rounds'  # not enough rounds to decide
    FAILED = 'failed'  # one half ended early
    SINGLE = 'single'  # there is nothing to compare


@dataclass
class Verdict:
    word: Word
    p: float = 1.0
    ratio: stats.Ratio | None = None
    medians: float = 0.0  # their ratio, which proves nothing; 0: there is none
    rounds: tuple[int, int] = (0, 0)  # that count, for each

    @property
    def differs(self) -> bool:
        return self.word in (Word.FASTER, Word.SLOWER)


def of(a: Sequence[float], b: Sequence[float], practical: float = PRACTICAL) -> Verdict:
    """Compares b with a. practical: the smallest ratio that counts."""
    v = Verdict(Word.SAME, rounds=(len(a), len(b)))
    if a and b:
        v.medians = stats.median(b) / stats.median(a)
    if stats.least_p(len(a), len(b)) > LEVEL:
        v.word = Word.ROUNDS
        return v
    v.p = stats.rank_p(a, b)
    v.ratio = stats.ratio(a, b, LEVEL)
    if not v.ratio or v.p > LEVEL:
        return v
    practical = max(practical, stats.wander(a, b))  # all values are above 0: there is a ratio
    if v.ratio.low > practical:
        v.word = Word.FASTER
    elif v.ratio.high < 1 / practical:
        v.word = Word.SLOWER
    return v


def between(a: Bench, pattern_a: int, driver_a: Driver,
            b: Bench, pattern_b: int, driver_b: Driver) -> Verdict:
    """Compares a pattern under a driver with another one.

    A difference as small as that between the halves of one does not count.
    """
    m = stats.figure(a.patterns[pattern_a])
    halves = max(stats.halves(a, pattern_a, driver_a), stats.halves(b, pattern_b, driver_b))
    return of(stats.samples(a, pattern_a, driver_a, m), stats.samples(b, pattern_b, driver_b, m),
              max(PRACTICAL, halves))


def of_pattern(b: Bench, pattern: int) -> Verdict:
    """Compares uas with usb-storage."""
    if b.single:
        return Verdict(Word.SINGLE)
    v = between(b, pattern, Driver.USB_STORAGE, b, pattern, Driver.UAS)
    if v.word is Word.ROUNDS:
        if b.finding:
            v.word = Word.FAILED
        elif not b.interrupted and len(stats.drivers(b, pattern)) < 2:
            v.word = Word.SINGLE
    return v


# ---- in words ----


def _axis_text(axis: Axis, p: Pattern) -> str:
    match axis:
        case Axis.REGION:
            return f'region {bytes_text(int(p.axis))}'
        case Axis.CLIENTS:
            return f'{p.axis:.0f} machine{"s" if p.axis > 1 else ""}'
        case Axis.RUNTIME:
            return f'{p.runtime_sec} s'
        case Axis.RAMP:
            return f'after {p.ramp_sec} s'
    return ''


def pattern_text(b: Bench, pattern: int, direction: bool = True) -> str:
    """ "random read, 4 KiB, depth 32". Without names from a profile.

    direction: with "read" or "write", if it is only one of them.
    """
    p = b.patterns[pattern]
    one = direction or p.read_percent not in (0, 100)
    kind = {0: ' write', 100: ' read'}.get(p.read_percent, ' read and write') if one else ''
    share = '' if p.read_percent in (0, 50, 100) else f' ({p.read_percent} % reads)'
    order = 'random' if p.random else 'sequential'
    words = [f'{"" if p.direct else "buffered "}{order}{kind}{share}', bytes_text(p.block_size)]
    if not p.sync_engine:
        words.append(f'depth {p.iodepth}')
    if p.numjobs > 1:
        words.append(f'{p.numjobs} jobs')
    elif p.sync_engine:
        words.append('one at a time')
    return ', '.join([*words, *filter(None, [_axis_text(b.axis, p)])])


_CELLS = {Word.SAME: 'no difference', Word.FASTER: 'faster', Word.SLOWER: 'slower',
          Word.ROUNDS: 'too few rounds', Word.FAILED: 'failed', Word.SINGLE: ''}


def _difference_text(v: Verdict, percent: str, times: str, on: str) -> str:
    middle = v.ratio.middle if v.ratio else 1.0
    factor = 1 / middle if v.word is Word.SLOWER else middle
    if factor >= TIMES_FROM:
        return f'{factor:.{1 if factor < 10 else 0}f}{times} {_CELLS[v.word]}{on}'
    return f'{100 * abs(middle - 1):.0f}{percent} {_CELLS[v.word]}{on}'


def cell_text(v: Verdict) -> str:
    """In a table: "3.1x faster", "2.0x, but not certain", "no difference", "failed", ""."""
    if v.differs:
        return _difference_text(v, '%', 'x', '')
    if v.word not in (Word.SAME, Word.ROUNDS) or 1 / PRACTICAL <= (v.medians or 1) <= PRACTICAL:
        return _CELLS[v.word]
    decimals = 2 if v.medians < TIMES_FROM else 1 if v.medians < 10 else 0
    return f'{v.medians:.{decimals}f}x, but not certain'


def verdict_text(v: Verdict, on: str) -> str:
    """ "3.1 times faster on UAS", "no certain difference".

    on: " on UAS", or "" for a comparison of two results.
    """
    if v.differs:
        return _difference_text(v, ' %', ' times', on)
    return {
        Word.SAME: 'no certain difference',
        Word.ROUNDS: f'too few rounds for a verdict ({v.rounds[0]} and {v.rounds[1]}; it needs '
                     f'{ROUNDS} of each, and the first one does not count)',
        Word.FAILED: 'ended before its time',
    }.get(v.word, '')


# ---- the whole result in one sentence ----


def _differences(b: Bench, verdicts: list[Verdict]) -> list[str]:
    weights = {i: max(v.ratio.middle, 1 / v.ratio.middle)
               for i, v in enumerate(verdicts) if v.differs and v.ratio}
    order = sorted(weights, key=lambda i: (-weights[i], i))
    said = [f'{pattern_text(b, i)}: {verdict_text(verdicts[i], " on UAS")}'
            for i in order[:DIFFERENCES_TOLD]]
    more = len(order) - DIFFERENCES_TOLD
    return said + ([f'{more} more with a difference'] if more > 0 else [])


def _alike(b: Bench, verdicts: list[Verdict], word: Word) -> list[str]:
    """ "2 sequential and 1 random pattern: no certain difference".

    Without numbers if all patterns are like that.
    """
    found = [i for i, v in enumerate(verdicts) if v.word is word]
    if not found:
        return []
    said = verdict_text(verdicts[found[0]], ' on UAS')
    if len(found) == len(verdicts):
        return [said]
    random = sum(b.patterns[i].random for i in found)
    numbers = {'sequential': len(found) - random, 'random': random}
    words = ' and '.join(f'{n} {kind}' for kind, n in numbers.items() if n > 0)
    return [f'{words} pattern{"" if (random or len(found)) == 1 else "s"}: {said}']


def _doubts_text(b: Bench, verdicts: list[Verdict]) -> str:
    """Of the rows behind the summary: with a difference, or, without any, rows with none."""
    differs = any(v.differs for v in verdicts)
    found = {d for i, v in enumerate(verdicts) for driver in Driver
             if (v.differs if differs else v.word is Word.SAME)
             for d in doubts.of(b, i, driver)} & doubts.of_comparison(differs)
    if not found:
        return ''
    told = [d for d in doubts.Doubt if d in found]
    more = len(told) - DOUBTS_TOLD
    return (f'; with doubts: {", ".join(told[:DOUBTS_TOLD])}'
            f'{f" and {more} more" if more > 0 else ""}')


def overall(b: Bench) -> str:
    """All patterns in one sentence, grouped by verdict, differences first. For example:

        random read, 4 KiB, depth 32: 3.1 times faster on UAS

    Doubts follow. "" without a comparison. finding_text() has the finding. The sentence contains
    no names from a device or profile.
    """
    verdicts = [of_pattern(b, i) for i in range(len(b.patterns))]
    clauses = _differences(b, verdicts)
    for word in Word.SAME, Word.ROUNDS, Word.FAILED:
        clauses += _alike(b, verdicts, word)
    return '; '.join(clauses) + _doubts_text(b, verdicts)


def finding_text(b: Bench) -> str:
    """The event that ended a half, in plain words, and the advice; "" without one.

    The words of the event are not escaped.
    """
    f = b.finding
    if not f:
        return ''
    run = b.runs[f.run] if f.run < len(b.runs) else None
    during = f' during {pattern_text(b, run.pattern)}' if run else ''
    advice = (f'This disk is not safe on uas here: leave it on {Driver.USB_STORAGE} (uasctl policy '
              f'DISK {Driver.USB_STORAGE}), whatever the figures say.'
              if f.driver is Driver.UAS
              else 'UAS is not the cause: check cable, power and the disk itself.')
    return f'{f.driver} failed{during}{": " if f.what else ""}{f.what}. {advice}'

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares two results with the same statistics as two drivers."""

from dataclasses import dataclass

from bench import model, printing, stats, terminal, verdict
from bench.document import Members, doubts_json, verdict_json
from bench.model import Bench, Driver, Pattern
from bench.table import Column, Fold, Table
from bench.units import bytes_text, figure_text

REGION_TIMES = 1.1  # rounding to blocks and jobs makes smaller differences

COLUMNS = (
    Column('PATTERN', folds=Fold.NAMES), Column('DRIVER', folds=Fold.LAST),
    Column('FIRST', True, Fold.LAST), Column('SECOND', True, Fold.LAST),
    Column('RATIO', True, Fold.BLANKS, 1), Column('NOTES', folds=Fold.BLANKS),
    Column('SECOND IS', folds=Fold.LAST),
)


@dataclass
class Side:
    """A figure of one of the results."""

    b: Bench
    pattern: int
    driver: Driver

    @property
    def p(self) -> Pattern:
        return self.b.patterns[self.pattern]

    @property
    def region(self) -> int:
        """Bytes that all jobs together worked on."""
        runs = stats.rounds(self.b, self.pattern, self.driver)
        return runs[0].region if runs else 0


@dataclass
class Pair:
    """Two figures with the same question."""

    first: Side
    second: Side
    verdict: verdict.Verdict


def _question(p: Pattern) -> tuple[object, ...]:
    return (p.block_size, p.iodepth, p.numjobs, p.read_percent, p.random, p.direct, p.sync_engine,
            p.rw, p.name)


def _pairs_of(a: Bench, b: Bench, i: int, k: int) -> list[Pair]:
    """Each driver is compared with itself. Two results with one driver each are also compared."""
    first, second = stats.drivers(a, i), stats.drivers(b, k)
    single = len(first) == 1 and len(second) == 1
    pairs = []
    for x, y in [(first[0], second[0])] if single else [(d, d) for d in Driver]:
        v = verdict.between(a, i, x, b, k, y)
        if all(v.rounds):
            pairs.append(Pair(Side(a, i, x), Side(b, k, y), v))
    return pairs


def pairs(a: Bench, b: Bench) -> list[Pair]:
    """In the order of the patterns of a."""
    found = []
    for i, p in enumerate(a.patterns):
        same = (k for k, q in enumerate(b.patterns) if _question(p) == _question(q))
        k = next(same, None)
        if k is not None:
            found += _pairs_of(a, b, i, k)
    return found


def _duration(p: Pattern) -> str:
    if p.runtime_sec == 0:
        return 'until all of it was done'
    return f'{"" if p.time_based else "at most "}{p.runtime_sec} s after {p.ramp_sec} s'


def _differs(pair: Pair) -> list[str]:
    """Differences in the questions: region, engine, duration, file system."""
    a, b = pair.first, pair.second
    said, one, other = [], a.region, b.region
    if one > 0 and other > 0 and max(one, other) > REGION_TIMES * min(one, other):
        said.append(f'a region of {bytes_text(one)}, then one of {bytes_text(other)}')
    engines = ('the engine ', a.p.engine, b.p.engine) if a.p.engine and b.p.engine else ('', '', '')
    places = ['through a file system' if side.b.conditions.path else 'the raw disk'
              for side in (a, b)]
    for kind, x, y in engines, ('', _duration(a.p), _duration(b.p)), ('', *places):
        if x != y:
            said.append(f'{kind}{x}, then {y}')
    return [f'not the same question: {text}' for text in said]


# ---- for people ----


def _row(pair: Pair, notes: printing.Notes) -> list[str]:
    a, b, ratio = pair.first, pair.second, pair.verdict.ratio
    m = stats.figure(a.p)
    # Reasons against the comparison, then the doubts of both figures.
    numbers = [notes.add(_differs(pair)), notes.of(a.b, a.pattern, a.driver, 'first: '),
               notes.of(b.b, b.pattern, b.driver, 'second: ')]
    labels = list(dict.fromkeys(printing.driver_label(side.driver) for side in (a, b)))
    medians = [stats.of(side.b, side.pattern, side.driver, m).median for side in (a, b)]
    return [
        verdict.pattern_text(a.b, a.pattern),
        ', '.join(labels),
        *(figure_text(value, m, terminal.utf8()) for value in medians),
        f'{ratio.middle:.2f} ({ratio.low:.2f}-{ratio.high:.2f})' if ratio else '-',
        ' '.join(filter(None, numbers)),
        verdict.cell_text(pair.verdict),
    ]


def print_text(a: Bench, b: Bench, found: list[Pair], legend: bool) -> None:
    """The conditions are other changes that may have caused the difference."""
    second = printing.head(b, True)
    for key, value in printing.head(a, True).items():
        if key in second:
            printing.print_line(key, value)
            if second[key] != value:
                printing.print_line('then', second[key], True)
    print()
    notes, table = printing.Notes(), Table(COLUMNS, legend)
    for pair in found:
        table.add(_row(pair, notes))
    table.print()
    notes.print()


# ---- for programs ----


def _json_pair(pair: Pair) -> Members:
    a, b = pair.first, pair.second
    return {
        'text': verdict.pattern_text(a.b, a.pattern),
        'driver_a': str(a.driver),
        'driver_b': str(b.driver),
        'comparison': verdict_json(pair.verdict, ''),
        'differs': _differs(pair),
        'doubts_a': doubts_json(a.b, a.pattern, a.driver),
        'doubts_b': doubts_json(b.b, b.pattern, b.driver),
    }


def document(a: Bench, b: Bench) -> Members:
    return {'comparisons': [_json_pair(pair) for pair in pairs(a, b)], 'version': model.VERSION,
            'a': a.id, 'b': b.id}

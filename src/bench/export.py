# SPDX-License-Identifier: LGPL-2.1-or-later
"""A result as CSV, as Markdown, and in the requested format."""

import time
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

from bench import document, model, printing, stats, verdict
from bench.harmless import harmless, sentence
from bench.model import Axis, Bench, Driver, Member, Run
from bench.units import Measure, figure_text


class Format(Enum):
    TABLE = auto()  # for people: fits the terminal
    JSON = auto()
    CSV = auto()
    MARKDOWN = auto()
    MARKDOWN_FULL = auto()  # with all columns


# ---- CSV ----


def _cell(member: Member, value: Any) -> str:
    """Text that a spreadsheet would read as a formula gets an apostrophe in front."""
    if member.moment:
        return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(value // 1000000)) if value else ''
    match member.write(value):
        case None:
            return ''
        case bool(flag):
            return str(int(flag))
        case float(real):
            return f'{real:.15g}'
        case int(number):
            return str(number)
        case text:
            safe = harmless(text)
            return f"'{safe}" if safe[:1] in tuple('=+-@') else safe


def _columns(value: Any, prefix: str = '') -> dict[str, str]:
    row: dict[str, str] = {}
    for name, member in model.members(type(value)):
        if member.side:
            row |= _columns(getattr(value, name), f'{name}_')
        elif member.column != '':
            row[prefix + (member.column or name)] = _cell(member, getattr(value, name))
    return row


def _row(b: Bench, run: Run) -> dict[str, str]:
    parts = b, b.patterns[run.pattern], run, b.conditions.queue(run.driver), b.conditions
    row: dict[str, str] = {}
    for part in parts:
        row |= _columns(part)
    return row | {'counted': str(int(stats.counts(run)))}


def csv_text(b: Bench, legend: bool) -> str:
    """One line for each run, with all conditions (RFC 4180)."""
    head = _row(Bench(patterns=[model.Pattern()]), Run())
    rows = ([list(head)] if legend else []) + [list(_row(b, r).values()) for r in b.runs]
    return ''.join(','.join(map(_quoted, row)) + '\r\n' for row in rows)


def _quoted(value: str) -> str:
    quotes = value[:1] == "'" or set(value) & set(',"\r\n')
    return '"' + value.replace('"', '""') + '"' if quotes else value


# ---- Markdown: for a forum or a bug report, without the serial number ----


def _code(text: str) -> str:
    """There nothing is markup, no name notifies a user, and no cell of a table ends."""
    return f'`{sentence(text).translate({ord("`"): chr(39), ord("|"): "/"})}`'


FULL = ('TEST', 'DRIVER', 'MEDIAN', 'ROUNDS', 'RANGE', 'SPREAD', 'AVERAGE', 'OTHER UNIT', 'LATENCY',
        'COMPLETION', 'P50', 'P95', 'P99', 'NOTES', 'DIFFERENCE')
LATENCIES = Measure.MEAN, Measure.CLAT, Measure.P50, Measure.P95, Measure.P99
PLACES = 16  # of the column ROUNDS


def _rate(b: Bench, pattern: int, driver: Driver, measure: Measure) -> str:
    """ "412 MB/s", or for a mix of reads and writes the rate of each: "290 + 289 IOPS"."""
    share = b.patterns[pattern].read_percent
    reads, writes = (figure_text(x, measure, True)
                     for x in stats.sides(b, pattern, driver, measure))
    if share in (0, 100):
        return reads if share else writes
    return f'{reads.split(" ")[0]} + {writes}'


def _places(values: Sequence[float], best: float) -> str:
    """The number of rounds at each place between 0 and the best one: "......14......"."""
    numbers = [0] * PLACES
    for value in values:
        numbers[int(value / best * (PLACES - 1) + 0.5)] += 1
    return ''.join('.' if n == 0 else str(n) if n < 10 else '+' for n in numbers)


def _best_round(b: Bench, pattern: int) -> float:
    """Of both drivers, or of all points of a sweep."""
    m = stats.figure(b.patterns[pattern])
    return max(stats.of(b, i, d, m).max for i, p in enumerate(b.patterns) for d in Driver
               if i == pattern or (b.axis is not Axis.NONE and stats.figure(p) is m))


def _range(s: stats.Summary, measure: Measure) -> str:
    """ "589-605 MB/s": the unit appears once if both ends have the same."""
    low, high = figure_text(s.min, measure, True), figure_text(s.max, measure, True)
    if low.partition(' ')[2] == high.partition(' ')[2]:
        low = low.partition(' ')[0]
    return f'{low}-{high}'


def _figures(b: Bench, pattern: int, driver: Driver) -> list[str]:
    """From MEDIAN to P99."""
    m = stats.figure(b.patterns[pattern])
    values = stats.samples(b, pattern, driver, m)
    s = stats.summary(values)
    if s.n == 0:
        return ['-', *[''] * 10]
    other = Measure.BYTES if m is Measure.IOPS else Measure.IOPS
    latencies = {x: stats.of(b, pattern, driver, x).median for x in LATENCIES}
    return [
        _rate(b, pattern, driver, m),
        _places(values, _best_round(b, pattern)),
        _range(s, m),
        f'{s.spread_percent:.{1 if s.spread_percent < 9.95 else 0}f} %',
        figure_text(s.average, m, True),
        _rate(b, pattern, driver, other),
        *(figure_text(ns, x, True) if ns > 0 else '-' for x, ns in latencies.items()),
    ]


def _full_rows(b: Bench, notes: printing.Notes) -> list[list[str]]:
    rows = []
    for i in range(len(b.patterns)):
        drivers, text = stats.drivers(b, i), verdict.pattern_text(b, i)
        for driver in drivers:
            said = verdict.cell_text(verdict.of_pattern(b, i)) if driver is drivers[-1] else ''
            rows.append([text if driver is drivers[0] else '', printing.driver_label(driver),
                         *_figures(b, i, driver), notes.of(b, i, driver), said])
    return rows


def _markdown_table(b: Bench, full: bool, notes: printing.Notes) -> list[str]:
    """The smaller one fits into the column of a forum."""
    if full:
        names, rows = list(FULL), _full_rows(b, notes)
        right = {name for name in FULL[2:-2] if name != 'ROUNDS'}
    else:
        table = printing.make_table(b, True, True, notes)
        names, rows = [c.name for c in table.columns], table.rows
        right = {c.name for c in table.columns if c.right}
    rule = ''.join('|--:' if name in right else '|---' for name in names) + '|'
    lines = [''.join(f'| {cell} ' for cell in row) + '|' for row in [names, *rows]]
    return [lines[0], rule, *lines[1:]]


def markdown_text(b: Bench, full: bool) -> str:
    """Names from a device cannot become markup."""
    notes = printing.Notes()
    said = verdict.overall(b)
    parts = [
        ['### uasctl bench'],
        [f'**Safety:** {_code(verdict.finding_text(b))}'] if b.finding else [],
        [f'**Verdict: {said}.**'] if said else [],
        [f'- {key}: {_code(value)}' for key, value in printing.head(b, False).items()],
        _markdown_table(b, full, notes),
        [f'- [{i}] {text}' for i, text in enumerate(notes.texts, 1)],
    ]
    return '\n\n'.join('\n'.join(part) for part in parts if part) + '\n'


def tell(b: Bench, how: Format, legend: bool = True) -> None:
    """Prints a whole result. legend: with the columns' names. Raises OSError."""
    match how:
        case Format.TABLE:
            printing.print_result(b, legend)
        case Format.JSON:
            print(document.text(document.document(b)))
        case Format.CSV:
            print(csv_text(b, legend), end='')
        case Format.MARKDOWN | Format.MARKDOWN_FULL:
            print(markdown_text(b, how is Format.MARKDOWN_FULL), end='')

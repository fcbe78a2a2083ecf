# SPDX-License-Identifier: LGPL-2.1-or-later
"""A result as a table for people, with the lines above and below it."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench import doubts, stats, terminal, verdict
from bench.harmless import sentence
from bench.model import Bench, Conditions, Driver
from bench.table import Column, Fold, Table
from bench.units import Measure, bytes_text, day_text, figure_text

KEY_WIDTH = 8  # of the lines above the table
NOTES_MAX = 64
VALUE = 240  # of a name in a line above the table

COLUMNS = (
    Column('TEST', folds=Fold.LAST), Column('DRIVER', folds=Fold.LAST),
    Column('READ', True, Fold.LAST), Column('WRITE', True, Fold.LAST),
    Column('NOTES', folds=Fold.BLANKS),
)
SIDES = {2: 'read', 3: 'write'}  # by the column
COLOURS = {verdict.Word.FASTER: terminal.GREEN, verdict.Word.SLOWER: terminal.RED,
           verdict.Word.FAILED: terminal.RED}


# ---- the lines above a table ----


def driver_label(driver: Driver) -> str:
    return '-' if driver is Driver.NONE else str(driver)


def rounds_of(b: Bench) -> int:
    """Largest number of rounds that count."""
    return max((len(stats.rounds(b, i, d)) for i in range(len(b.patterns)) for d in Driver),
               default=0)


def _joined(*parts: str) -> str:
    return ', '.join(filter(None, parts))


def _known(what: str, value: str) -> str:
    return f'{what}{value[:VALUE]}' if value else ''


def _queue(c: Conditions, driver: Driver) -> str:
    q = c.queue(driver)
    if q.queue_depth == 0 and not q.scheduler:
        return ''
    return (f'{driver}{f" depth {q.queue_depth}" if q.queue_depth else ""}'
            f'{f" {q.scheduler}" if q.scheduler else ""}'
            f'{f" {q.nr_requests} requests" if q.nr_requests else ""}')


def _run(b: Bench) -> str:
    n = rounds_of(b)
    return _joined(_known('profile ', b.profile),
                   f'{day_text(b.started_usec)} UTC' if b.started_usec else '',
                   f'{n} round{"" if n == 1 else "s"} after one that is dropped', b.id[:8],
                   'interrupted' if b.interrupted else '')


def head(b: Bench, private: bool) -> dict[str, str]:
    """Conditions: key and value, which is not escaped.

    private: includes the serial number of the disk and the path of the file.
    """
    c = b.conditions
    disk = _joined(_known('', c.model), bytes_text(c.disk_size) if c.disk_size else '')
    spins = ('spinning' if c.rotational else 'not spinning') if disk else ''
    memory = f'{bytes_text(c.memory)} of memory' if c.memory else ''
    path = c.path if private or not c.path else 'measured through a file system'
    lines = {
        'Disk': _joined(disk, spins, _known('serial ', c.serial) if private else ''),
        'Bridge': _joined(_known('', c.bridge), _known('firmware ', c.firmware)),
        'Link': _joined(f'{c.speed_mbps} Mbit/s' if c.speed_mbps else '', _known('', c.controller)),
        'Queues': _joined(_queue(c, Driver.USB_STORAGE), _queue(c, Driver.UAS)),
        'Host': _joined(_known('Linux ', c.kernel), _known('', c.fio), memory),
        'File': _known('', path),
        'Bench': _run(b),
    }
    return {key: value for key, value in lines.items() if value}


# ---- the lines below it ----


class Notes:
    """Doubts by number: each sentence appears once, for all figures with it."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, texts: Sequence[str]) -> str:
        """Their numbers: "[1] [3]". "[+]": there are too many."""
        for text in texts:
            if text not in self.texts and len(self.texts) < NOTES_MAX:
                self.texts.append(text)
        return ' '.join(f'[{self.texts.index(t) + 1 if t in self.texts else "+"}]' for t in texts)

    def of(self, b: Bench, pattern: int, driver: Driver, whose: str = '') -> str:
        """Of the doubts of a figure. whose: the words before each sentence."""
        return self.add([whose + text for text in doubts.of(b, pattern, driver).values()])

    def print(self) -> None:
        for i, text in enumerate(self.texts, 1):
            print(f'{"" if i > 1 else chr(10)}[{i}] ', end='')
            terminal.say(sentence(text), len(f'[{i}] '))


# ---- the table ----


@dataclass
class Test:
    """A row: patterns that differ in nothing but the direction. A mix of both is one pattern."""

    name: str
    engine: str
    patterns: dict[int, int]  # by the column


def tests(b: Bench) -> list[Test]:
    found: list[Test] = []
    for i, p in enumerate(b.patterns):
        name = verdict.pattern_text(b, i, False)
        columns = [2] * (p.read_percent > 0) + [3] * p.writes
        test = next((t for t in found if (t.name, t.engine) == (name, p.engine)
                     and not t.patterns.keys() & set(columns)), None)
        if not test:
            test = Test(name, p.engine, {})
            found.append(test)
        test.patterns |= dict.fromkeys(columns, i)
    return found


def _rates(b: Bench, pattern: int, driver: Driver, column: int, utf8: bool) -> str:
    """ "412 MB/s, 393 IOPS": the medians of one direction."""
    if not stats.rounds(b, pattern, driver):
        return '-'
    return ', '.join(figure_text(stats.sides(b, pattern, driver, m)[column - 2], m, utf8)
                     for m in (Measure.BYTES, Measure.IOPS))


def _marks(b: Bench, test: Test, driver: Driver, notes: Notes) -> str:
    """Of the doubts: "[1] [2]", or "read [1] write [2]" if there are two patterns."""
    marks = {column: notes.of(b, i, driver) for column, i in test.patterns.items()}
    if len(set(marks.values())) == 1:
        return next(iter(marks.values()))
    return ' '.join(f'{SIDES[column]} {text}' for column, text in sorted(marks.items()) if text)


def _name(text: str, line: int, lines: int) -> str:
    """Of several lines the second one shows what does not fit into the first one."""
    words = text.split(', ')
    if lines == 1 or len(words) < 3:
        return text if line == 0 else ''
    return (', '.join(words[:2]) + ',', ', '.join(words[2:]), '')[line]


def make_table(b: Bench, legend: bool, markdown: bool, notes: Notes) -> Table:
    """A line for each driver, and one that compares them. An empty direction is left out."""
    verdicts = [verdict.of_pattern(b, i) for i in range(len(b.patterns))]
    compared = any(v.word is not verdict.Word.SINGLE for v in verdicts)
    found = tests(b)
    columns = [i for i, c in enumerate(COLUMNS)
               if i not in SIDES or any(i in t.patterns for t in found)]
    table = Table([COLUMNS[i] for i in columns], legend)
    for t in found:
        drivers = [d for d in Driver if any(d in stats.drivers(b, i) for i in t.patterns.values())]
        n = len(drivers) + compared
        for line, driver in enumerate(drivers):
            rates = {column: _rates(b, i, driver, column, markdown or terminal.utf8())
                     for column, i in t.patterns.items()}
            name = _name(t.name, line, 1 if markdown else n)
            row = [name, driver_label(driver), rates.get(2, ''), rates.get(3, ''),
                   _marks(b, t, driver, notes)]
            table.add([row[i] for i in columns], {len(columns) - 1: terminal.YELLOW})
        if compared:
            row = [_name(t.name, len(drivers), 1 if markdown else n), 'uas is', '', '', '']
            colours = {}
            for column, i in t.patterns.items():
                row[column] = verdict.cell_text(verdicts[i])
                colours[columns.index(column)] = COLOURS.get(verdicts[i].word, '')
            table.add([row[i] for i in columns], colours)
    return table


# ---- a whole result ----


def print_line(key: str, value: str, again: bool = False) -> None:
    """Above a table: "Disk: ...". again: another value of the previous key."""
    print(f'{key:>{KEY_WIDTH}}{" " if again else ":"} ', end='')
    terminal.say(sentence(value), KEY_WIDTH + 2)


def print_result(b: Bench, legend: bool) -> None:
    if b.finding:  # it comes before everything else
        print(terminal.RED if terminal.colours() else '', end='')
        terminal.say(sentence(verdict.finding_text(b)))
        print(terminal.END if terminal.colours() else '')
    for key, value in head(b, True).items():
        print_line(key, value)
    print()
    notes = Notes()
    make_table(b, legend, False, notes).print()
    notes.print()
    said = verdict.overall(b)
    if said:
        print(f'\n{terminal.coloured("Verdict:", terminal.BOLD)} ', end='')
        terminal.say(f'{said}.', len('Verdict: '))

# SPDX-License-Identifier: LGPL-2.1-or-later
"""A result as a table for people, with the lines above and below it."""

from collections.abc import Sequence

from bench import doubts, stats, terminal, verdict
from bench.harmless import sentence
from bench.model import Axis, Bench, Conditions, Driver
from bench.table import Column, Fold, Table
from bench.units import Measure, bytes_text, day_text, figure_text

KEY_WIDTH = 8  # of the lines above the table
PLACES = 16  # of the column ROUNDS
NOTES_MAX = 64
VALUE = 240  # of a name in a line above the table

# The most important figures stay: the median and the verdict.
COLUMNS = (
    Column('PATTERN', folds=Fold.LAST), Column('DRIVER', folds=Fold.LAST),
    Column('MEDIAN', True, Fold.LAST), Column('ROUNDS', goes=9), Column('RANGE', True, goes=5),
    Column('SPREAD', True, goes=8), Column('AVERAGE', True, goes=2), Column('ALSO', True, goes=3),
    Column('LATENCY', True, goes=4), Column('CLAT', True, goes=1), Column('P50', True, goes=6),
    Column('P95', True, goes=7), Column('P99', True, goes=10), Column('SEE', folds=Fold.BLANKS),
    Column('UAS IS', folds=Fold.LAST),
)
MEDIAN = 2
LATENCIES = Measure.MEAN, Measure.CLAT, Measure.P50, Measure.P95, Measure.P99
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


def rate_text(b: Bench, pattern: int, driver: Driver, measure: Measure, utf8: bool) -> str:
    """ "412 MB/s", or for a mix of reads and writes the rate of each: "290 + 289 IOPS"."""
    share = b.patterns[pattern].read_percent
    reads, writes = (figure_text(x, measure, utf8)
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


def _range(s: stats.Summary, measure: Measure, utf8: bool) -> str:
    """ "589-605 MB/s": the unit appears once if both ends have the same."""
    low, high = figure_text(s.min, measure, utf8), figure_text(s.max, measure, utf8)
    if low.partition(' ')[2] == high.partition(' ')[2]:
        low = low.partition(' ')[0]
    return f'{low}-{high}'


def _name(text: str, first: bool, last: bool) -> str:
    """The pattern in words.

    If it has several lines, the second one shows what does not fit into the first one.
    """
    words = text.split(', ')
    if (first and last) or len(words) < 3:
        return text if first else ''
    return ', '.join(words[:2]) + ',' if first else ', '.join(words[2:])


def _figures(b: Bench, pattern: int, driver: Driver, utf8: bool) -> list[str]:
    """From MEDIAN to P99."""
    m = stats.figure(b.patterns[pattern])
    values = stats.samples(b, pattern, driver, m)
    s = stats.summary(values)
    if s.n == 0:
        return ['-', *[''] * 10]
    also = Measure.BYTES if m is Measure.IOPS else Measure.IOPS
    latencies = {x: stats.of(b, pattern, driver, x).median for x in LATENCIES}
    return [
        rate_text(b, pattern, driver, m, utf8),
        _places(values, _best_round(b, pattern)),
        _range(s, m, utf8),
        f'{s.spread_percent:.{1 if s.spread_percent < 9.95 else 0}f} %',
        figure_text(s.average, m, utf8),
        rate_text(b, pattern, driver, also, utf8),
        *(figure_text(ns, x, utf8) if ns > 0 else '-' for x, ns in latencies.items()),
    ]


def make_table(b: Bench, legend: bool, markdown: bool, notes: Notes) -> Table:
    verdicts = [verdict.of_pattern(b, i) for i in range(len(b.patterns))]
    compared = any(v.word is not verdict.Word.SINGLE for v in verdicts)
    table = Table(COLUMNS if compared else COLUMNS[:-1], legend)
    for i, v in enumerate(verdicts):
        drivers, text = stats.drivers(b, i), verdict.pattern_text(b, i)
        for driver in drivers:
            first, last = driver is drivers[0], driver is drivers[-1]
            name = (text if first else '') if markdown else _name(text, first, last)
            row = [name, driver_label(driver),
                   *_figures(b, i, driver, markdown or terminal.utf8()), notes.of(b, i, driver)]
            colours = {len(row) - 1: terminal.YELLOW}
            if compared:
                row.append(verdict.cell_text(v) if last else '')
                colours[len(row) - 1] = COLOURS.get(v.word, '') if last else ''
            table.add(row, colours)
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

# SPDX-License-Identifier: LGPL-2.1-or-later
"""A table as wide as the terminal: columns are left out or folded until no line is wider."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial

from bench import terminal
from bench.harmless import cells, fold, longest


class Fold(Enum):
    """Of cells that are wider than their column."""

    WHOLE = auto()  # one line
    BLANKS = auto()  # broken at blanks
    NAMES = auto()  # the same, and as a last resort at dashes
    LAST = auto()  # one line, unless leaving out columns does not suffice; then as NAMES


@dataclass(frozen=True)
class Column:
    name: str
    right: bool = False
    folds: Fold = Fold.WHOLE
    goes: int = 0  # the column with 1 is left out first, one with 0 never


class Table:
    """Its cells must be harmless."""

    def __init__(self, columns: Sequence[Column], legend: bool) -> None:
        self.columns = columns
        self.legend = legend
        self.rows: list[list[str]] = []
        self.colours: list[Mapping[int, str]] = []

    def add(self, row: list[str], colours: Mapping[int, str] | None = None) -> None:
        """colours: of cells, by their index."""
        self.rows.append(row)
        self.colours.append(colours or {})

    def _widest(self, width: Callable[[str], int], heads: bool) -> list[int]:
        rows = [[c.name for c in self.columns]] * heads + self.rows
        return [max(map(width, column)) for column in zip(*rows, strict=True)]

    def _fit(self, whole: list[int]) -> dict[int, int] | None:
        """The columns that are shown, and their widths.

        None: they are too wide, whatever is left out or folded.
        """
        room, numbers = terminal.width(), range(len(self.columns))
        natural = self._widest(cells, True)  # as wide as the headings, also without them
        if room == 0:
            return dict(enumerate(natural))
        words = self._widest(longest, self.legend)
        parts = self._widest(partial(longest, dashes=True), self.legend)
        least = [{Fold.WHOLE: whole, Fold.BLANKS: words}.get(c.folds, parts)[i]
                 for i, c in enumerate(self.columns)]
        # The minimum as long as other columns can be left out.
        usual = [whole[i] if c.folds in (Fold.WHOLE, Fold.LAST) else words[i]
                 for i, c in enumerate(self.columns)]
        shown = list(numbers)
        for turn in numbers:
            if sum(usual[i] + 1 for i in shown) - 1 > room:
                shown = [i for i in shown if self.columns[i].goes != turn + 1]
        widths = {i: least[i] for i in shown}
        left = room - sum(widths.values()) - len(shown) + 1
        if left < 0 and self.legend:
            return None
        for wanted in usual, whole, natural:  # the columns get the remaining room from the left
            for i in shown:
                more = max(0, min(wanted[i] - widths[i], left))
                widths[i] += more
                left -= more
        return widths

    def _print_rows(self, widths: Mapping[int, int], whole: Sequence[int]) -> None:
        """A column that is folded is as wide as its longest line."""
        rows = [[c.name for c in self.columns]] * self.legend + self.rows
        head: Mapping[int, str] = {}
        colours = [head] * self.legend + self.colours
        mark, last = terminal.mark(), max(widths)
        lines = {i: [fold(row[i], width, mark=mark).split('\n') if width < whole[i] else [row[i]]
                     for row in rows] for i, width in widths.items()}
        used = {i: width if width >= whole[i] else max(cells(s) for cell in lines[i] for s in cell)
                for i, width in widths.items()}
        for number, sgr in enumerate(colours):
            for turn in range(max(len(column[number]) for column in lines.values())):
                parts = []
                for i, column in lines.items():
                    text = next(iter(column[number][turn:]), None)
                    blanks = ' ' * (used[i] - cells(text or ''))
                    shown = (blanks + (text or '') if self.columns[i].right and turn == 0
                             else (text or '') + ('' if i == last else blanks))
                    parts.append(shown if text is None else
                                 terminal.coloured(shown, sgr.get(i, '')))
                print(' '.join(parts).rstrip())

    def _print_cells(self) -> None:
        """Each row as lines "HEADING: text"."""
        keys = max(cells(c.name) for c in self.columns)
        for number, (row, colours) in enumerate(zip(self.rows, self.colours, strict=True)):
            if number > 0:
                print()
            for i, text in enumerate(row):
                if not text:
                    continue
                sgr = colours.get(i, '') if terminal.colours() else ''
                print(f'{self.columns[i].name:>{keys}}: {sgr}', end='')
                terminal.say(text, keys + 2)
                print(terminal.END if sgr else '', end='')

    def print(self) -> None:
        if not self.rows:
            return
        whole = self._widest(cells, self.legend)
        widths = self._fit(whole)
        if widths is None:
            self._print_cells()
            return
        self._print_rows(widths, whole)

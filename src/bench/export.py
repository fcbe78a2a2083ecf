# SPDX-License-Identifier: LGPL-2.1-or-later
"""A result as CSV, as Markdown, and in the requested format."""

import time
from enum import Enum, auto
from typing import Any

from bench import document, model, printing, stats, verdict
from bench.harmless import harmless, sentence
from bench.model import Bench, Member, Run


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


def _markdown_table(b: Bench, full: bool, notes: printing.Notes) -> list[str]:
    """The smaller one fits into the column of a forum.

    There the marks of the doubts are behind the median, and LATENCY takes the place of a
    comparison.
    """
    table = printing.make_table(b, True, True, notes)
    names = [c.name for c in table.columns]
    shown = ['PATTERN', 'DRIVER', 'MEDIAN', 'RANGE',
             'UAS IS' if 'UAS IS' in names else 'LATENCY']
    columns = [i for i, name in enumerate(names) if full or name in shown]
    rows = [names]
    for row in table.rows:
        marks = row[names.index('SEE')]
        if not full and marks:
            row[printing.MEDIAN] += f' {marks}'
        rows.append(row)
    lines = [''.join(f'| {row[i]} ' for i in columns) + '|' for row in rows]
    rule = ''.join('|--:' if table.columns[i].right else '|---' for i in columns) + '|'
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

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What may be the last word of `uasctl bench ...`, for the completions of the shells. The lines
are those that src/ctl/complete.h describes."""

import os
from collections.abc import Sequence
from itertools import pairwise

from bench import kept, profile
from bench.machine import Machine
from bench.options import ROWS, Row
from bench.patterns import AXES

VALUES: dict[str, list[str]] = {
    'chart': [':files'],
    'clients': [':hosts'],
    'driver': ['uas', 'usb-storage'],
    'file': [':files'],
    'host': [':hosts'],
    'json': ['short', 'pretty'],
    'markdown': ['full'],
    'sweep': sorted(AXES),
}
KEPT = {'show', 'diff', 'remove'}


def _find(word: str) -> Row | None:
    name = word.partition('=')[0]
    return next((row for row in ROWS
                 if name == f'--{row.name}' or row.letter and name == f'-{row.letter}'), None)


def _waiting(words: Sequence[str]) -> tuple[Row | None, list[str]]:
    """The option whose value is the last word, and the words that are no option's."""
    waits, free = None, []
    for word, following in pairwise(words):
        if word == '=':  # bash makes it a word of its own
            continue
        if waits:
            waits = None
        elif word[:1] == '-':
            row = _find(word)
            takes = row and row.argument and '=' not in word
            waits = row if row and takes and (row.argument[0] == '=' or following == '=') else None
        else:
            free.append(word)
    return waits, free


def _options() -> list[str]:
    offers = []
    for row in ROWS:
        names = [f'-{row.letter}'] if row.letter else []
        names += [f'--{row.name}='] if row.argument else []
        names += [f'--{row.name}'] if row.argument[:1] != '=' else []
        offers += [f'{name}\t{row.help}' for name in names]
    return offers


def _values(machine: Machine, row: Row) -> list[str]:
    return profile.names(machine) if row.name == 'profile' else VALUES.get(row.name, [])


def print_offers(machine: Machine, words: Sequence[str]) -> None:
    cursor = words[-1]
    waits, free = _waiting(words)
    offers = []
    if waits or cursor.startswith('--') and '=' in cursor:
        row = waits or _find(cursor)
        offers = _values(machine, row) if row else []
    elif cursor[:1] == '-':
        offers = _options()
    elif KEPT & {word.removeprefix('--') for word in words[:-1]}:
        offers = ['last', *kept.ids(machine.root)]
    elif not free or free in (['run'], ['list']):
        os.execvp(machine.uasctl[0], [*machine.uasctl, '--complete', 'status', cursor])
    for offer in offers:
        print(offer)

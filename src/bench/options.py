# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of `uasctl bench`. Its rules and messages are those of getopt_long(3)."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from bench import terminal
from bench.exits import Exit, fail
from bench.model import UINT64_MAX, Driver

ROUNDS_MAX = 60  # the limit of the statistics (stats.py), less round 0
RUNTIME_MAX = 24 * 3600
SIZE_MIN = 1 << 20
PROFILES = '/etc/uasd/bench'
# --quick, of what is not given: with the profile cdm two minutes for both drivers.
QUICK = {'rounds': 3, 'runtime': 1, 'pause': 0, 'size': 1 << 30}
UNITS = {'': 1000000, 'us': 1, 'ms': 1000, 's': 1000000, 'sec': 1000000, 'm': 60000000,
         'min': 60000000, 'h': 3600000000, 'd': 86400000000}


class Verb(IntEnum):
    RUN = 0
    LIST = 1  # also --history
    SHOW = 2
    DIFF = 3
    REMOVE = 4


@dataclass
class Options:
    help: bool = False
    version: bool = False
    host: str = ''  # of --host=, which is refused
    json: bool = False
    json_form: str = ''  # "short" or "pretty"
    no_legend: bool = False
    no_pager: bool = False
    quiet: bool = False
    quick: bool = False
    no_ask_password: bool = False
    dry_run: bool = False
    driver: Driver = Driver.NONE  # compare both
    profile: str = 'cdm'
    pattern: str = ''  # of the profile; "": all of them
    sweep: str = ''  # "depth", "jobs=1,4"
    clients: str = ''  # "HOST,..."
    file: str = ''  # a file, or the directory for one
    chart: str = ''
    write: bool = False
    remount: bool = False
    destroy_data: bool = False
    csv: bool = False
    markdown: bool = False
    markdown_full: bool = False
    rounds: int = 5  # number that counts
    runtime: int = 0  # seconds of one run; 0: as in the profile
    pause: int = 5000000  # microseconds between two runs
    size: int = 0  # of the region; 0: as in the profile
    given: set[str] = field(default_factory=set)  # members with a value of the command line
    measures: bool = False  # an option about measuring was given
    verb: Verb = Verb.RUN
    said: str = ''  # the verb as written, "list" or "--history"
    several: bool = False  # verbs, as options
    words: list[str] = field(default_factory=list)  # arguments of the verb


# ---- values: each raises ValueError ----


def number(text: str, limit: int = UINT64_MAX) -> int:
    if not re.fullmatch('[0-9]{1,20}', text, re.ASCII) or int(text) > limit:
        raise ValueError(text)
    return int(text)


def _rounds(text: str) -> int:
    if number(text, ROUNDS_MAX) == 0:
        raise ValueError(text)
    return int(text)


def _span(text: str) -> int:
    """ "5", "600ms", "1min 30s", in microseconds."""
    total, rest = 0, text
    while rest or not text:
        m = re.match('([0-9]{1,20})([a-z]*) *', rest, re.ASCII)
        if not m or m[2] not in UNITS:
            raise ValueError(text)
        total += int(m[1]) * UNITS[m[2]]
        rest = rest[m.end():]
    if total >= UINT64_MAX:
        raise ValueError(text)
    return total


def _runtime(text: str) -> int:
    usec = _span(text)
    if usec == 0 or usec % 1000000 or usec > RUNTIME_MAX * 1000000:
        raise ValueError(text)
    return usec // 1000000


def size(text: str) -> int:
    """In fio's format: 4k, 1M, 10G. 1 KiB is 1024 with either case of the letter.

    Raises OverflowError for what does not fit. fio reads "KiB" as 1000 unless kb_base= is set.
    """
    m = re.fullmatch('([0-9]+)([kmgt]?)(b?)', text, re.ASCII | re.IGNORECASE)
    if not m:
        raise ValueError(text)
    value = int(m[1][-40:]) << {'': 0, 'k': 10, 'm': 20, 'g': 30, 't': 40}[m[2].lower()]
    if value > UINT64_MAX or len(m[1].lstrip('0')) > 20:
        raise OverflowError(text)
    return value


def _size(text: str) -> int:
    if size(text) < SIZE_MIN:
        raise ValueError(text)
    return size(text)


def _driver(text: str) -> Driver:
    if text not in (Driver.UAS, Driver.USB_STORAGE):
        raise ValueError(text)
    return Driver(text)


def _word(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def _form(text: str) -> str:
    if text not in ('short', 'pretty'):
        raise ValueError(text)
    return text


def _full(text: str) -> bool:
    if text != 'full':
        raise ValueError(text)
    return True


# ---- the table ----


@dataclass(frozen=True)
class Row:
    name: str
    argument: str
    help: str
    takes: str = ''  # for an error message
    read: Callable[[str], Any] | None = None  # None: a flag, or a verb
    to: str = ''  # the member of Options, if it is not the name
    letter: str = ''
    measures: bool = False  # it concerns the measurement
    verb: Verb | None = None

    @property
    def member(self) -> str:
        return self.to or self.name.replace('-', '_')


ROWS = (
    Row('help', '', 'Show this help', letter='h'),
    Row('version', '', 'Show the version'),
    Row('json', '[=short|pretty]', 'Print JSON, on one line or on many', 'short or pretty', _form,
        letter='j', to='json_form'),
    Row('no-legend', '', 'Print no headings'),
    Row('no-pager', '', 'Do not show long text through a pager'),
    Row('quiet', '', 'Print only errors', letter='q'),
    Row('host', '=[USER@]HOST', 'Refused: run uasctl bench there', 'a machine: [USER@]HOST', _word,
        letter='H'),
    Row('no-ask-password', '', 'Do not ask for a password'),
    Row('dry-run', '', 'Print what would be measured, and measure nothing'),
    Row('driver', '=DRIVER', 'Measure only this driver: uas or usb-storage', 'uas or usb-storage',
        _driver, measures=True),
    Row('profile', '=NAME', f'cdm, gcp, matrix, engines, pi, or one in {PROFILES}',
        'the name of a profile', _word, measures=True),
    Row('pattern', '=NAME', 'One pattern of the profile', 'a section of the profile', _word,
        measures=True),
    Row('sweep', '=AXIS[=LIST]', 'Vary one figure: depth, jobs, region, runtime or ramp',
        'depth, jobs, region, runtime or ramp, and perhaps a list: depth=1,8,32', _word,
        measures=True),
    Row('quick', '', 'Take two minutes: three rounds of short runs, and no verdict', measures=True),
    Row('rounds', '=N', 'Number of rounds that count; 5', 'a number from 1 to 60', _rounds,
        letter='n', measures=True),
    Row('runtime', '=SECONDS', 'Duration of each run of fio', 'whole seconds, from 1 s to 24 h',
        _runtime, measures=True),
    Row('pause', '=SECONDS', 'Pause between two runs; 5', 'a time', _span, measures=True),
    Row('size', '=SIZE', 'Maximum size of the region', 'a size of 1M or more: 512M, 4G', _size,
        measures=True),
    Row('file', '=PATH', 'Measure a file, or with --write a scratch file in a directory',
        'a file or a directory', _word, measures=True),
    Row('write', '', 'Write as well, to a scratch file', measures=True),
    Row('remount', '',
        'With --write: compare both drivers, and unmount the file system for each switch',
        measures=True),
    Row('destroy-data', '', 'Write to the raw disk; its serial number has to be typed',
        measures=True),
    Row('clients', '=HOST,...', 'Measure from several machines that run fio --server',
        'hosts that run fio --server', _word, measures=True),
    Row('csv', '', 'Print a line for each run'),
    Row('markdown', '[=full]', 'Print a table for a forum, or one with all columns', 'full', _full,
        to='markdown_full'),
    Row('chart', '=FILE', 'Draw the result, as .svg or .png', 'a file: result.svg', _word),
    Row('history', '', 'As the verb list', verb=Verb.LIST),
    Row('diff', '', 'As the verb diff', verb=Verb.DIFF),
    Row('show', '', 'As the verb show', verb=Verb.SHOW),
    Row('remove', '', 'As the verb remove', verb=Verb.REMOVE),
)

VERBS = {
    Verb.RUN: ('DISK', 'Measure a disk, and compare its drivers (also without a verb)'),
    Verb.LIST: ('[DISK]', 'List the stored results'),
    Verb.SHOW: ('ID',
                'Print one of them again, as a table, --csv, --markdown, --json, --chart'),
    Verb.DIFF: ('A B', 'Compare two of them'),
    Verb.REMOVE: ('ID', 'Delete one of them'),
}


def print_help() -> None:
    terminal.paragraph('uasctl bench [OPTIONS...] [VERB] [ARGUMENTS...]')
    print()
    terminal.paragraph('Measure USB disks under usb-storage and uas, and keep the results.')
    print('\nVerbs:')
    for verb, (arguments, text) in VERBS.items():
        terminal.help_row(f'{verb.name.lower()} {arguments}', text)
    print('\nOptions:')
    for row in ROWS:
        letter = f'-{row.letter}, ' if row.letter else '    '
        terminal.help_row(f'{letter}--{row.name}{row.argument}', row.help)
    print()
    terminal.paragraph(
        'See uasctl(1) for the exit status, and uasd-bench(7) for what the results say.')


# ---- reading it ----


def _wrong_option(text: str) -> None:
    print(f'uasctl: {text}', file=sys.stderr, flush=True)
    fail(Exit.USAGE, 'See uasctl bench --help.')


def _find(name: str) -> Row:
    """By its name or an unambiguous beginning."""
    found = [row for row in ROWS if row.name.startswith(name)]
    exact = [row for row in found if row.name == name]
    if not found:
        _wrong_option(f"unrecognized option '--{name}'")
    if len(found) > 1 and not exact:
        choices = ' '.join(f"'--{row.name}'" for row in found)
        _wrong_option(f"option '--{name}' is ambiguous; possibilities: {choices}")
    return (exact or found)[0]


def _take(o: Options, row: Row, value: str | None) -> None:
    o.measures |= row.measures
    if row.verb is not None:
        o.several |= bool(o.said) and o.verb != row.verb
        o.verb, o.said = row.verb, f'--{row.name}'
        return
    if row.argument == '' or row.argument[0] == '[':
        setattr(o, row.name.replace('-', '_'), True)
    if row.read is None or value is None:
        return
    try:
        setattr(o, row.member, row.read(value))
        o.given.add(row.member)
    except (ValueError, OverflowError):
        fail(Exit.USAGE, '--%s=%s: it takes %s.', row.name, value, row.takes)


def _take_letters(o: Options, letters: str, rest: list[str]) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        row = next((row for row in ROWS if row.letter == letter), None)
        if not row:
            _wrong_option(f"invalid option -- '{letter}'")
        elif row.argument[:1] != '=':
            _take(o, row, None)
        elif letters or rest:
            _take(o, row, letters or rest.pop(0))
            return
        else:
            _wrong_option(f"option requires an argument -- '{letter}'")


def parse(arguments: Sequence[str]) -> Options:
    """Raises Ended. Options may stand after words."""
    o, rest = Options(), list(arguments)
    while rest:
        word = rest.pop(0)
        if word == '--':
            o.words += rest
            break
        if word.startswith('--'):
            name, equals, text = word[2:].partition('=')
            row = _find(name)
            if equals and not row.argument:
                _wrong_option(f"option '--{row.name}' doesn't allow an argument")
            if row.argument[:1] == '=' and not equals and not rest:
                _wrong_option(f"option '--{row.name}' requires an argument")
            follows = row.argument[:1] == '=' and not equals
            _take(o, row, text if equals else rest.pop(0) if follows else None)
        elif len(word) > 1 and word[0] == '-':
            _take_letters(o, word[1:], rest)
        else:
            o.words.append(word)
    for member, value in QUICK.items() if o.quick else ():
        if member not in o.given:
            setattr(o, member, value)
    if not o.said and o.words and o.words[0].upper() in Verb.__members__ and o.words[0].islower():
        o.said = o.words.pop(0)
        o.verb = Verb[o.said.upper()]
    return o


# ---- contradictions ----


def _wrong_with_kept(o: Options) -> str:
    """Of a verb about stored results. The sentence begins with the verb if it is a clause."""
    n = len(o.words)
    if o.measures or o.dry_run:
        return 'measures nothing, so it takes no options of a measurement.'
    if o.verb != Verb.SHOW and (o.csv or o.markdown or o.chart):
        return '--csv, --markdown and --chart need one result: uasctl bench show ID.'
    if o.verb == Verb.DIFF and n != 2:
        return "takes two results. 'uasctl bench list' lists them."
    if o.verb in (Verb.SHOW, Verb.REMOVE) and n != 1:
        return "takes the id of one result. 'uasctl bench list' lists them."
    if o.verb == Verb.LIST and n > 1:
        return 'takes one disk at most.'
    return 'prints nothing, so it takes no --json.' if o.verb == Verb.REMOVE and o.json else ''


def wrong(o: Options) -> str:
    """The contradiction, as a sentence; "": none."""
    if o.verb != Verb.RUN:
        kept = _wrong_with_kept(o)
        wrong_run = kept if not kept or kept[0] == '-' else f"'{o.said}' {kept}"
    else:
        wrong_run = next((text for found, text in _contradictions(o) if found), '')
    if o.json + o.csv + o.markdown > 1:
        return 'Only one of --json, --csv and --markdown can be printed at a time.'
    if o.several:
        return 'Only one of --history, --diff, --show and --remove can be used at a time.'
    return wrong_run


def _contradictions(o: Options) -> tuple[tuple[object, str], ...]:
    return (
        (o.dry_run and (o.json or o.csv or o.markdown or o.chart),
         '--dry-run measures nothing. It takes no --json, --csv, --markdown or --chart.'),
        (len(o.words) > 1, 'One disk at a time.'),
        (not o.words and not o.file,
         'A disk or a file is missing: uasctl bench DISK, or uasctl bench --file=PATH.'),
        (o.write and not o.file, '--write needs --file=DIRECTORY, for its scratch file.'),
        (o.remount and (not o.write or o.clients),
         '--remount needs --file=DIRECTORY and --write, and takes no --clients.'),
        (o.file and o.destroy_data,
         '--destroy-data writes to the raw disk. Use --write with --file.'),
        (o.file and o.driver != Driver.NONE and not o.remount,
         'A mounted disk stays on its driver: --file takes --driver only with --remount.'),
        (o.clients and not o.file,
         '--clients needs --file=PATH, the path on those machines.'),
        (o.sweep.startswith('runtime') and o.runtime,
         '--sweep=runtime and --runtime or --quick exclude each other.'),
        (o.clients and o.sweep,
         '--clients and --sweep exclude each other, because each varies one figure.'),
    )

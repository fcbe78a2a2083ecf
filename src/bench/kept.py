# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stored results: JSON files in /var/lib/uasd/bench, "20261120T101500Z-ID.json".

A file is written as a whole or not at all. `root` is a folder in front of all paths, "": none.
The functions raise log.Failure.
"""

import errno
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress

from bench import document, log, model, printing, stats, terminal, verdict
from bench.exits import Exit
from bench.harmless import harmless
from bench.model import Bench, Driver
from bench.table import Column, Fold, Table
from bench.units import day_text, figure_text

FOLDER = 'var/lib/uasd/bench'
SUFFIX = '.json'
ID_MIN = 8  # as the list shows it; a shorter word could remove the wrong result
ID_AT = 17  # in the name of a file
NAME = re.compile(r'[0-9TZ]{16}-[0-9a-f-]{36}\.json', re.ASCII)

COLUMNS = (
    Column('ID'), Column('DATE', folds=Fold.BLANKS, goes=4),
    Column('DISK', folds=Fold.BLANKS, goes=5), Column('PROFILE', folds=Fold.BLANKS, goes=3),
    Column('LINK', True, goes=1), Column('ROUNDS', True, goes=2),
    Column('RESULT', folds=Fold.BLANKS),
)


def _folder(root: str) -> str:
    return f'{root}/{FOLDER}'


def keep(root: str, b: Bench) -> None:
    """Raises OSError."""
    if len(b.id) != 36 or not model.ID_CHARACTERS.issuperset(b.id):
        raise model.os_error(errno.EINVAL)
    when = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(b.started_usec // 1000000))
    folder, name = _folder(root), f'{when}-{b.id}{SUFFIX}'
    os.makedirs(folder, 0o755, exist_ok=True)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    temporary = f'.{name}.{os.getpid()}'
    try:
        with suppress(FileNotFoundError):  # left by a killed process
            os.unlink(temporary, dir_fd=directory)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644,
                     dir_fd=directory)
        try:
            with open(fd, 'w', encoding='ascii') as f:
                os.fchmod(fd, 0o644)
                f.write(document.text(document.document(b)))
                f.flush()
                os.fsync(fd)
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError:
            os.unlink(temporary, dir_fd=directory)
            raise
        os.fsync(directory)
    finally:
        os.close(directory)


# ---- finding them ----


class Results:
    """Their names, newest first. No result is not an error."""

    def __init__(self, root: str) -> None:
        self.directory: int | None = None
        self.names: list[str] = []
        try:
            self.directory = os.open(_folder(root), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            # A leftover temporary file has another name.
            self.names = sorted(filter(NAME.fullmatch, os.listdir(self.directory)), reverse=True)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise log.Failure(Exit.FAILED, 'Cannot read the stored results: %s',
                              error.strerror) from None

    def read(self, name: str) -> Bench:
        return model.read(name, self.directory)

    def find(self, what: str) -> str:
        """By the beginning of its id or file name, or the newest one."""
        found = self.names[:1] if what == 'last' else []
        found += [name for name in self.names
                  if what and (name.startswith(what) or name.startswith(what, ID_AT))]
        if len(found) > 1:
            raise log.Failure(
                Exit.FAILED, "More than one result begins with '%s'. Give more letters.",
                harmless(what))
        if not found:
            raise _not_found(what)
        return found[0]


def ids(root: str) -> list[str]:
    """As the list shows them."""
    return [name[ID_AT:ID_AT + ID_MIN] for name in Results(root).names]


def _not_found(what: str) -> log.Failure:
    return log.Failure(
        Exit.FAILED, "There is no result '%s'. 'uasctl bench list' lists the stored ones.",
        harmless(what))


def _is_path(what: str) -> bool:
    return '/' in what or (what.endswith(SUFFIX) and what != SUFFIX and os.path.exists(what))


def load(root: str, what: str) -> Bench:
    """The result that the user names."""
    try:
        if _is_path(what):
            return model.read(what)
        results = Results(root)
        return results.read(results.find(what))
    except FileNotFoundError:
        raise _not_found(what) from None
    except OSError as error:
        if error.errno == errno.EPROTONOSUPPORT:
            raise log.Failure(Exit.FAILED, "'%s' was written by a later version.",
                              harmless(what)) from None
        raise log.Failure(Exit.FAILED, "'%s' is not a result of uasctl bench: %s", harmless(what),
                          error.strerror) from None


def remove(root: str, what: str, said: str) -> None:
    """said: the verb as the user has written it."""
    results = Results(root)
    if len(os.fsencode(what)) < ID_MIN:
        raise log.Failure(Exit.USAGE, "'%s' takes at least %i letters of an id.", said, ID_MIN)
    name = results.find(what)
    try:
        os.unlink(name, dir_fd=results.directory)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise log.Failure(
                Exit.UNAUTHORIZED, 'Not permitted: only root may remove results (%s).',
                error.strerror) from None
        raise log.Failure(Exit.FAILED, 'Cannot remove %s: %s', name, error.strerror) from None
    log.info('Removed %s.', name)


# ---- the list of them ----


def _single_text(b: Bench) -> str:
    """Without a comparison: the figure of the first pattern under its driver."""
    for i, p in enumerate(b.patterns):
        m = stats.figure(p)
        for driver in Driver:
            s = stats.of(b, i, driver, m)
            if s.n > 0:
                on = '' if driver is Driver.NONE else f' on {driver}'
                return f'{verdict.pattern_text(b, i)}: {figure_text(s.median, m)}{on}'
    return ''


def _result_text(b: Bench) -> str:
    """In one clause. A finding comes first."""
    if b.finding:
        return f'{b.finding.driver} failed: {b.finding.what[:512]}'
    return verdict.overall(b) or _single_text(b)


def _row(b: Bench) -> list[str]:
    c = b.conditions
    return [
        b.id[:8],
        day_text(b.started_usec),
        harmless(c.model or c.path or '-'),
        harmless(b.profile or '-'),
        f'{c.speed_mbps}M' if c.speed_mbps else '-',
        str(printing.rounds_of(b)),
        harmless(_result_text(b)),
    ]


def _of_disk(benches: list[Bench], disk: str,
             find: Callable[[str], tuple[str, str]]) -> list[Bench]:
    """A name is the serial number of a stored result, or that of a disk that is plugged in."""
    if disk and any(b.conditions.serial == disk for b in benches):
        return [b for b in benches if b.conditions.serial == disk]
    serial, bridge = find(disk)
    return [b for b in benches
            if b.conditions.serial == serial and b.conditions.bridge.startswith(bridge)]


def read_all(root: str) -> list[Bench]:
    """Reports the files that it cannot read."""
    results, benches = Results(root), []
    for name in results.names:
        try:
            benches.append(results.read(name))
        except OSError as error:
            log.warning('%s cannot be read: %s', name, error.strerror)
    return benches


def benches_of(root: str, disk: str | None,
               find: Callable[[str], tuple[str, str]]) -> list[Bench]:
    """find: the serial number and "VID:PID" of a disk that is plugged in; raises log.Failure."""
    benches = read_all(root)
    return benches if disk is None else _of_disk(benches, disk, find)


def list_json(benches: list[Bench]) -> document.Members:
    return {'benches': [document.document(b) for b in benches], 'version': model.VERSION}


def print_list(benches: list[Bench], legend: bool, pager: bool) -> None:
    table = Table(COLUMNS, legend)
    for b in benches:
        table.add(_row(b))
    terminal.pager_open(pager)
    table.print()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Messages: to the journal if stderr is connected to it, otherwise lines on stderr.

The texts are formats with %, and their values may have any content. A message never fails.
"""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from bench.harmless import harmless

ERROR, WARNING, INFO = 3, 4, 6  # as in syslog
JOURNAL = '/run/systemd/journal/socket'


class Failure(Exception):
    """An error that ends the program: its message, and the exit status."""

    def __init__(self, status: int, text: str, *values: object) -> None:
        super().__init__(text % values if values else text)
        self.status = status


class _Log:
    program = 'uasctl'
    most = INFO
    journal = False
    before: Callable[[], None] | None = None


def _stderr_is_journal() -> bool:
    """$JOURNAL_STREAM is inherited: it counts only if stderr still is that same stream."""
    try:
        status = os.fstat(2)
    except OSError:
        return False
    return os.environ.get('JOURNAL_STREAM') == f'{status.st_dev}:{status.st_ino}'


def setup(program: str = 'uasctl', quiet: bool = False,
          before: Callable[[], None] | None = None) -> None:
    """before: called before each line, to erase a line of progress."""
    _Log.program, _Log.most, _Log.before = program, ERROR if quiet else INFO, before
    _Log.journal = _stderr_is_journal()


def _send_journal(level: int, line: str) -> bool:
    fields = f'MESSAGE={line}\nPRIORITY={level}\nSYSLOG_IDENTIFIER={_Log.program}\n'
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.setblocking(False)
        try:
            s.sendto(fields.encode(), JOURNAL)
        except BlockingIOError:  # journald hangs, and a write to stderr would hang this program
            return True
        except OSError:
            return False
    return True


def _send(level: int, text: str, values: tuple[object, ...]) -> None:
    if level > _Log.most:
        return
    line = harmless(text % values if values else text)
    if _Log.before:
        _Log.before()
    if not (_Log.journal and _send_journal(level, line)):
        sys.stderr.flush()
        with suppress(OSError):
            os.write(2, f'{_Log.program}: {line}\n'.encode())


def error(text: str, *values: object) -> None:
    _send(ERROR, text, values)


def warning(text: str, *values: object) -> None:
    _send(WARNING, text, values)


def info(text: str, *values: object) -> None:
    _send(INFO, text, values)


def failure(status: int, text: str, *values: object) -> int:
    """An error message as a value: the exit status of the failure."""
    _send(ERROR, text, values)
    return status

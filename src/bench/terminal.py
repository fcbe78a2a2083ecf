# SPDX-License-Identifier: LGPL-2.1-or-later
"""The standard output: its style, folded lines, the line of progress, and the pager.

The style is determined once, because a pager may replace the terminal later.
"""

import io
import locale
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from typing import Any

from bench.harmless import cells, fold, harmless, shorten

GREEN, RED, YELLOW, BOLD = (f'\x1b[{n}m' for n in (32, 31, 33, 1))
END = '\x1b[0m'
WIDTH = 80
READABLE = 20  # the minimum width: below it a line has hardly two words
INDENT = 6  # of a text that has no room behind what stands before it
TWO_COLUMNS = 60  # the least width for both of a help text
HELP_COLUMN = 31  # of the second one


# ---- the style ----


@cache
def utf8() -> bool:
    return locale.nl_langinfo(locale.CODESET) == 'UTF-8'


def mark() -> str:
    """Of a cut."""
    return '…' if utf8() else '~'


def _dumb() -> bool:
    """A terminal without control sequences."""
    return os.environ.get('TERM') == 'dumb'


@cache
def colours() -> bool:
    """On a terminal, unless NO_COLOR is set. SYSTEMD_COLORS=, a boolean, has precedence."""
    asked = os.environ.get('SYSTEMD_COLORS')
    if not asked:
        return os.isatty(1) and not os.environ.get('NO_COLOR') and not _dumb()
    return asked.lower() not in ('0', 'n', 'no', 'f', 'false', 'off')


def _width_of(fd: int) -> int:
    try:
        return os.get_terminal_size(fd).columns or WIDTH
    except OSError:
        return WIDTH


@cache
def width() -> int:
    """$COLUMNS, or that of the terminal. 0: no terminal, lines may have any length."""
    if not os.isatty(1):
        return 0
    asked = os.environ.get('COLUMNS', '')
    if asked.isascii() and asked.isdigit() and 0 < int(asked) <= 65535:
        return int(asked)
    return _width_of(1)


def coloured(text: str, sgr: str) -> str:
    return f'{sgr}{text}{END}' if sgr and colours() else text


# ---- folded lines ----


def _indented(text: str, room: int, indent: int) -> str:
    return fold(text, room and max(room - indent, READABLE), indent)


def say(text: str, indent: int = 0) -> None:
    """Prints it folded to the terminal.

    The first line begins after `indent` used cells, the others are indented by that. If that
    leaves no room, it begins in the next line.
    """
    if width() > 0 and indent + READABLE > width() and indent > INDENT:
        indent = INDENT
        print('\n' + ' ' * indent, end='')
    print(_indented(text, width(), indent))


def paragraph(text: str) -> None:
    """For help texts, which are also folded without a terminal."""
    print(_indented(text, width() or WIDTH, 0))


def help_row(left: str, text: str) -> None:
    """ "  left    text". The text begins at the same column in all rows, or in the next line."""
    room = width() or WIDTH
    at, used = INDENT if room < TWO_COLUMNS else HELP_COLUMN, cells(left) + 2
    # Blanks in front of the left text stay as long as it fits.
    first = left if used <= room else _indented(left, room, INDENT)
    between = ' ' * (at - used) if used < at else '\n' + ' ' * at
    print(f'  {first}{between}{_indented(text, room, at)}')


# ---- the line of progress: on the terminal behind stderr, each overwrites the one before ----


class _Progress:
    wanted = False
    shown = False


def progress_open(quiet: bool) -> None:
    _Progress.wanted = not quiet and os.isatty(2) and not _dumb()


def progress_clear() -> None:
    """Before any other output."""
    if _Progress.shown:
        _write_error('\r\x1b[K')
    _Progress.shown = False


def progress_line(text: str) -> None:
    if _Progress.wanted:
        # It erases the rest of a longer line last, to avoid flicker. stdout may go elsewhere.
        _write_error(f'\r{shorten(harmless(text), _width_of(2) - 1, mark())}\x1b[K')
        _Progress.shown = True


def _write_error(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode())


# ---- the pager ----

# The flags that systemd uses: end if the text fits on the screen (F), show colours (R), cut lines
# (S), keep the screen (X).
LESS = 'FRSXMK'


class _Pager:
    process: subprocess.Popen[bytes] | None = None


def pager_open(wanted: bool) -> None:
    """From here on the output goes through a pager, if that is wanted and possible.

    The pager is $SYSTEMD_PAGER, or $PAGER, or the first one that exists of pager, less, more. An
    empty value or "cat" means none. No shell interprets its words. All messages must have been
    printed before.
    """
    asked = os.environ.get('SYSTEMD_PAGER', os.environ.get('PAGER'))
    if _Pager.process or not wanted or not os.isatty(1) or _dumb() or asked in ('', 'cat'):
        return
    colours()
    width()  # later stdout is a pipe, which has neither colours nor a width
    # A user who may run only uasctl as root must not get a shell from the pager.
    env = {**os.environ, 'LESS': os.environ.get('SYSTEMD_LESS', LESS), 'LESSSECURE': '1'}
    if utf8():
        env['LESSCHARSET'] = 'utf-8'
    sys.stdout.flush()
    for words in (asked or '').split(), ['pager'], ['less'], ['more'], ['/bin/cat']:
        with suppress(OSError, IndexError):
            _Pager.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE)
            break
    if _Pager.process and _Pager.process.stdin:
        os.dup2(_Pager.process.stdin.fileno(), 1)
        _Pager.process.stdin.close()
        # The user may leave the pager early. Ctrl+C is for the pager.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


# ---- the program ----


class _Output(io.FileIO):
    """Remembers that output was lost, instead of an exception in the middle of a table."""

    lost: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            _Output.lost = _Output.lost or error
            return len(data)


def setup() -> None:
    """At the beginning: the character set and the language of messages, and the output."""
    for category in locale.LC_CTYPE, locale.LC_MESSAGES:
        with suppress(locale.Error):
            locale.setlocale(category, '')
    sys.stdout.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, 'w', closefd=False)), 'utf-8', 'surrogateescape',
        line_buffering=os.isatty(1))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def close() -> OSError | None:
    """At the end: waits for the pager. Returns the error if output was lost.

    It is no error if the user leaves the pager early.
    """
    sys.stdout.flush()
    if not _Pager.process:
        return _Output.lost
    os.close(1)
    _Pager.process.wait()
    return None

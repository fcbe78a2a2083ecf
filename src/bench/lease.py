# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disk by way of uasd: a session of `uasctl lease`, which also reads the kernel's log.

The lease ends with the session, and the session with us, however we end. Then uasd brings the disk
back to its former driver.
"""

import json
import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bench.exits import Ended, Exit
from bench.machine import Machine
from bench.options import Options

Disk = dict[str, Any]  # DISK in uasctl-json(7)


class Lost(Exception):
    """uasd has ended the lease, or is not there any more."""


class Gone(Exception):
    """The disk was unplugged."""


@dataclass(frozen=True)
class Sign:
    """Of an error, in the kernel's log."""

    what: str
    count: int
    blame: str  # a cause other than the bridge, as part of a sentence; "": none is known


@dataclass(frozen=True)
class State:
    """LEASE in uasctl-json(7)."""

    code: int
    text: str
    lost: bool
    label: str
    users: list[str]
    signs: list[Sign]
    disk: Disk | None


def _environment() -> dict[str, str]:
    """Its messages are in English, like ours. The character set stays."""
    environment = {k: v for k, v in os.environ.items() if k not in ('LC_ALL', 'LANGUAGE')}
    ctype = (os.environ.get('LC_ALL') or os.environ.get('LC_CTYPE') or os.environ.get('LANG')
             or 'C')
    return environment | {'LC_CTYPE': ctype, 'LC_MESSAGES': 'C'}


def uasctl(machine: Machine, o: Options, *words: str) -> list[str]:
    more = ['-q'] if o.quiet else []
    more += ['--no-ask-password'] if o.no_ask_password else []
    return [*machine.uasctl, *more, *words]


class Session:
    def __init__(self, machine: Machine, o: Options, what: str, kernel: bool = False) -> None:
        """what: any name of a disk. kernel: without uasd. Raises Ended."""
        self.kernel = kernel
        arguments = uasctl(machine, o, 'lease', '--', what, *(['kernel'] if kernel else []))
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment())
        try:
            self.state = self._answer()
        except Lost:
            raise Ended(self._process.wait() or Exit.FAILED) from None
        self.disk = self.state.disk or {}
        self.label = self.state.label

    def _answer(self) -> State:
        """Raises Lost."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        try:
            o = json.loads(line)
            return State(o['code'], o['text'] or '', o['lost'], o['label'] or '', o['users'],
                         [Sign(s['what'], s['count'], s['blame'] or '') for s in o['signs']],
                         o['disk'])
        except (ValueError, KeyError, TypeError):
            raise Lost from None

    def order(self, word: str) -> State:
        """Raises Lost if uasctl has ended. The answer may tell that the lease or disk is gone."""
        assert self._process.stdin
        try:
            self._process.stdin.write(f'{word}\n'.encode())
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise Lost from None
        self.state = self._answer()
        return self.state

    def look(self, word: str = 'look') -> Disk:
        """The disk, as far as uasd has told, without waiting. Raises Lost or Gone."""
        state = self.order(word)
        if state.lost:
            raise Lost
        if state.disk is None:
            raise Gone
        return state.disk

    def close(self) -> None:
        if self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
        self._process.wait()


def list_disk(machine: Machine, interface: str) -> tuple[Disk | None, str]:
    """As of now, from uasd if it answers, and a label for messages."""
    quiet = Options(quiet=True, no_ask_password=True)
    p = subprocess.run(uasctl(machine, quiet, 'list', '--json', '--', interface),
                       stdin=subprocess.DEVNULL, capture_output=True, env=_environment())
    try:
        disk = json.loads(p.stdout)['disks'][0]
        names = ' '.join(lun['name'] for lun in disk['disks'] if lun['name'])
    except (ValueError, KeyError, TypeError, IndexError):
        return None, interface
    return disk, f'{interface} ({names})' if names else interface


def switch_until_unplugged(machine: Machine, interface: str, driver: str) -> tuple[int, str]:
    """As a user would. Returns the exit status, and the reason of a failure."""
    quiet = Options(quiet=True)
    p = subprocess.run(uasctl(machine, quiet, 'switch', '--', interface, driver),
                       stdin=subprocess.DEVNULL, capture_output=True, env=_environment())
    lines = p.stderr.decode('utf-8', 'replace').splitlines()
    return p.returncode, lines[0].removeprefix('uasctl: ') if lines else ''

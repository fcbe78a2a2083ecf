# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of bench-told, whose path is the first argument. The second one is that of uasctl.

Imported first, it lets a test import from tests/ctl.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
import terminal  # noqa: E402

TOLD, UASCTL = sys.argv[1:3]
IDS = [f'0f3c2a4e-6b1d-4c77-9a55-00000000000{i}' for i in range(10)]


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if k not in ('COLUMNS', 'NO_COLOR', 'SYSTEMD_COLORS')}, 'LC_ALL': 'C.UTF-8', **more}


def told(*args, code=0, **env):
    p = subprocess.run([TOLD, *args], capture_output=True, text=True, env=environment(**env))
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr if code else p.stdout


def keep(root, sample, number, started):
    """Stores a sample. Returns the name of its file."""
    assert told(sample, 'keep', root, IDS[number], str(started + 86400 * number)) == ''
    return next(n for n in os.listdir(f'{root}/var/lib/uasd/bench') if n.endswith(f'-{IDS[number]}.json'))


def on_terminal(*args, width=0, **env):
    """The output on a terminal. width: in columns, as reported by the terminal; 0: the terminal does not know."""
    text, status = terminal.run([TOLD, *args], environment(TERM='xterm', **env), width)
    assert status == 0, text
    return text.replace('\r\n', '\n')


def plain(text):
    return re.sub('\x1b\\[[0-9;]*m', '', text)

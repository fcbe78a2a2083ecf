# SPDX-License-Identifier: LGPL-2.1-or-later
"""A terminal of a test's own."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios


def run(program, env, columns, lines=50):
    """What a program writes to a terminal of that size (0: it does not know its own), and its exit status."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
    p = subprocess.Popen(program, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    out, ended = b'', False
    # It stays open until all has been read: the kernel may say EIO of one that everybody has left before it hands out what was written last.
    while not ended:
        ended = p.poll() is not None
        while select.select([ours], [], [], 0 if ended else 0.01)[0]:
            out += os.read(ours, 65536)
    os.close(theirs)
    os.close(ours)
    return out.decode(), p.returncode

# SPDX-License-Identifier: LGPL-2.1-or-later
"""A terminal for a test."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios

from patience import patience


def first(program, env, columns, until):
    """The output up to this text, of a program that does not end by itself."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    p = subprocess.Popen(program, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    out = b''
    while until not in out:
        assert select.select([ours], [], [], patience())[0], out
        out += os.read(ours, 65536)
    p.kill()
    p.wait()
    os.close(theirs)
    os.close(ours)
    return out.decode()


def run(program, env, columns, lines=50, typed=b'', then=None):
    """The output of a program on a terminal of that size (0: the terminal does not know it), and its exit status. typed: its input,
    which the terminal also shows. then: a text, and what is called when it is shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
    p = subprocess.Popen(program, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.write(ours, typed)
    out, ended = b'', False
    # The slave stays open until all is read. Otherwise the kernel may report EIO before the last output.
    while not ended:
        ended = p.poll() is not None
        while select.select([ours], [], [], 0 if ended else 0.01)[0]:
            out += os.read(ours, 65536)
            if then and then[0] in out:
                then[1]()
                then = None
    os.close(theirs)
    os.close(ours)
    return out.decode(), p.returncode

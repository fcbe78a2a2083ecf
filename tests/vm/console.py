# SPDX-License-Identifier: LGPL-2.1-or-later
"""A terminal on a guest's serial console."""

import os
import select
import socket
import sys
import termios
import tty

LEAVE = b"\x1d"  # Ctrl-]


def attach(path):
    """Connect this terminal to the console socket PATH until Ctrl-]."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    print("console of the guest; log in as root, Ctrl-] leaves", flush=True)
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard) if os.isatty(keyboard) else None
    if before:
        tty.setraw(keyboard)
    try:
        sock.sendall(b"\r")
        while True:
            ready, _, _ = select.select([sock, keyboard], [], [])
            if sock in ready:
                data = sock.recv(4096)
                if not data:
                    return
                os.write(sys.stdout.fileno(), data)
            if keyboard in ready:
                data = os.read(keyboard, 4096)
                if not data or LEAVE in data:
                    return
                sock.sendall(data)
    except ConnectionError:
        return
    finally:
        if before:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        print()
        sock.close()

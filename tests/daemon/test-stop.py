#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder: clients that do not read the messages of uasd."""

import fcntl
import socket
import struct
import termios

from machine import Machine, main, until

SEVERAL = 8000


def call(serial):
    """A call of Introspect: its answer is long, and uasd's socket has room for 16 MB."""
    fields = b''
    for code, kind, value in (1, b'o', b'/org/uasd1'), (2, b's', b'org.freedesktop.DBus.Introspectable'), (3, b's', b'Introspect'):
        fields += b'\0' * (-len(fields) % 8) + bytes([code, 1]) + kind + b'\0' + struct.pack('<I', len(value)) + value + b'\0'
    header = b'l\1\0\1' + struct.pack('<III', 0, serial, len(fields)) + fields
    return header + b'\0' * (-len(header) % 8)


class Stop(Machine):
    def test_full_socket(self):
        "A client of the private socket sends many calls and reads no answer: uasd still stops."
        daemon = self.start_daemon()
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        until(lambda: client.connect_ex(self.tree.path('run/uasd/private')) == 0, 'it listens')
        client.sendall(b'\0AUTH EXTERNAL 30\r\n')
        self.assertRegex(client.recv(4096), b'^OK ')
        client.sendall(b'BEGIN\r\n' + b''.join(call(i + 1) for i in range(SEVERAL)))
        seen = []

        def full():
            """The number of unread bytes has been constant for a second."""
            seen.append(struct.unpack('i', fcntl.ioctl(client, termios.FIONREAD, b'\0' * 4))[0])
            return seen[-1] > 50000 and seen[-50:] == seen[-1:] * 50

        until(full, 'no more fits into its socket')
        daemon.terminate()
        self.assertEqual(daemon.wait(10), 0)


if __name__ == '__main__':
    main()

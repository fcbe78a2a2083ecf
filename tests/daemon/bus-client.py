#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of the bus that no library would be: bus-client.py SOCKET UID CALLS DESCRIPTORS calls Forget so many times, attaches so
many descriptors to each call, and waits."""

import array
import os
import socket
import struct
import sys

PATH, INTERFACE, DESTINATION, SIGNATURE, MEMBER, UNIX_FDS = 1, 2, 6, 8, 3, 9  # fields of a message's header
DISK = '/org/uasd1/disk/_32_2d1_3a1_2e0'
NO_OPTIONS = b'\0' * 8


def padded(data, to):
    return data + b'\0' * (-len(data) % to)


def field(before, code, kind, value):
    data = padded(before, 8) + bytes([code, 1]) + kind.encode() + b'\0'
    if kind == 'u':
        return padded(data, 4) + struct.pack('<I', value)
    length = bytes([len(value)]) if kind == 'g' else struct.pack('<I', len(value))
    return padded(data, len(length)) + length + value.encode() + b'\0'


def message(serial, fields, body=b''):
    header = b''
    for one in fields:
        header = field(header, *one)
    return padded(b'l\1\0\1' + struct.pack('<III', len(body), serial, len(header)) + header, 8) + body


def main():
    path, uid, calls, descriptors = sys.argv[1], *map(int, sys.argv[2:])
    os.setgroups([])
    os.setresuid(uid, uid, uid)
    bus = socket.socket(socket.AF_UNIX)
    bus.connect(path)
    bus.sendall(b'\0AUTH EXTERNAL ' + str(uid).encode().hex().encode() + b'\r\n')
    assert bus.recv(1000).startswith(b'OK')
    bus.sendall(b'NEGOTIATE_UNIX_FD\r\n')
    assert bus.recv(1000).startswith(b'AGREE')
    bus.sendall(b'BEGIN\r\n' + message(1, [(PATH, 'o', '/org/freedesktop/DBus'), (DESTINATION, 's', 'org.freedesktop.DBus'),
                                            (INTERFACE, 's', 'org.freedesktop.DBus'), (MEMBER, 's', 'Hello')]))
    bus.recv(4096)
    null = array.array('i', [os.open('/dev/null', os.O_RDONLY)] * descriptors)
    for i in range(calls):
        call = message(2 + i, [(PATH, 'o', DISK), (DESTINATION, 's', 'org.uasd1'), (INTERFACE, 's', 'org.uasd1.Disk'),
                               (MEMBER, 's', 'Forget'), (SIGNATURE, 'g', 'a{sv}'), (UNIX_FDS, 'u', descriptors)], NO_OPTIONS)
        bus.sendmsg([call], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, null)])
    sys.stdin.read()


main()

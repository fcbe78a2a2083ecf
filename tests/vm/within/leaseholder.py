# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has a lease, or an inhibitor, of uasd: python3 leaseholder.py SOCKET lease DISK | inhibit DISK WHO WHY

Peer to peer, by D-Bus in so many bytes: neither guests nor hosts have a module for it that passes descriptors. Says "taken" or
"error NAME TEXT"; then a line of stdin, an answer: "switch [DRIVER]" the exit status and the text of its end; "wait" waits until uasd
hangs up; "close" closes the descriptor. The end of stdin ends it.
"""

import array
import os
import select
import socket
import struct
import sys

MANAGER = "/org/uasd1", "org.uasd1.Manager"


def object_of(disk):
    """Of a disk, by its Id; "" is all: the manager. Its path and its interface."""
    if not disk:
        return MANAGER
    label = "".join(c if c.isalpha() or i and c.isdigit() else "_%02x" % ord(c) for i, c in enumerate(disk))
    return "/org/uasd1/disk/" + label, "org.uasd1.Disk"


def pad(data, to):
    return data + b"\0" * (-len(data) % to)


def string(text):
    raw = text.encode()
    return struct.pack("<I", len(raw)) + raw + b"\0"


def body_of(texts):
    data = b""
    for text in texts:
        data = pad(data, 4) + string(text)
    return data


class Peer:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.data, self.fds, self.serial = b"", [], 0
        self.socket.sendall(b"\0AUTH EXTERNAL %s\r\nNEGOTIATE_UNIX_FD\r\n" % str(os.getuid()).encode().hex().encode())
        while self.data.count(b"\r\n") < 2:
            self.receive()
        lines = self.data.split(b"\r\n", 2)
        assert lines[0].startswith(b"OK") and lines[1] == b"AGREE_UNIX_FD", lines
        self.data = lines[2]
        self.socket.sendall(b"BEGIN\r\n")

    def receive(self):
        data, ancillary, _flags, _from = self.socket.recvmsg(65536, socket.CMSG_SPACE(64))
        if not data:
            sys.exit("uasd hung up on us")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self.fds += array.array("i", content[:len(content) // 4 * 4]).tolist()
        self.data += data

    def nudge(self):
        """sd-bus, as a server, does not process a call that came with the end of the greeting until more data comes."""
        if not select.select([self.socket], [], [], 0.2)[0]:
            self.call("Ping", [], options=False, of=(MANAGER[0], "org.freedesktop.DBus.Peer"))

    def join(self):
        """The other end is a bus."""
        bus = "org.freedesktop.DBus"
        return self.answer(self.call("Hello", [], options=False, of=("/org/freedesktop/DBus", bus), to=bus))

    def call(self, member, texts, options=True, of=MANAGER, to="org.uasd1"):
        self.serial += 1
        body, signature = body_of(texts), "s" * len(texts)
        if options:
            body, signature = pad(pad(body, 4) + struct.pack("<I", 0), 8), signature + "a{sv}"
        fields = b""
        for code, kind, value in ((1, "o", of[0]), (2, "s", of[1]), (3, "s", member), (6, "s", to)):
            fields = pad(fields, 8) + struct.pack("<BB", code, 1) + kind.encode() + b"\0" + string(value)
        fields = pad(fields, 8) + b"\x08\x01g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
        head = struct.pack("<cBBBII", b"l", 1, 0, 1, len(body), self.serial) + struct.pack("<I", len(fields)) + fields
        self.socket.sendall(pad(head, 8) + body)
        return self.serial

    def message(self):
        """(type, {code: value}, body) of the next message."""
        while True:
            if len(self.data) >= 16:
                order = "<" if self.data[:1] == b"l" else ">"
                n_body, _serial, n_fields = struct.unpack_from(order + "III", self.data, 4)
                start = (16 + n_fields + 7) // 8 * 8
                if len(self.data) >= start + n_body:
                    break
            self.receive()
        kind, fields, at = self.data[1], {}, 16
        while at < 16 + n_fields:
            at = (at + 7) // 8 * 8
            code, signature = self.data[at], self.data[at + 2:at + 3]
            at += 4
            if signature == b"g":
                n = self.data[at]
                fields[code], at = self.data[at + 1:at + 1 + n].decode(), at + n + 2
            elif signature == b"u":
                [fields[code]], at = struct.unpack_from(order + "I", self.data, at), at + 4
            else:
                [n] = struct.unpack_from(order + "I", self.data, at)
                fields[code], at = self.data[at + 4:at + 4 + n].decode(), at + n + 5
        body = self.data[start:start + n_body]
        self.data = self.data[start + n_body:]
        return kind, fields, body

    def answer(self, serial):
        while True:
            kind, fields, body = self.message()
            if kind in (2, 3) and fields.get(5) == serial:
                return kind == 2, fields, body


def texts_of(body, signature):
    """The strings and numbers as text."""
    found, at = [], 0
    for kind in signature:
        at = (at + 3) // 4 * 4
        if kind == "i":
            found.append(struct.unpack_from("<i", body, at)[0])
            at += 4
        else:
            [n] = struct.unpack_from("<I", body, at)
            found.append(body[at + 4:at + 4 + n].decode())
            at += n + 5
    return found


def say(*words):
    print(*words, flush=True)


def failed(fields, body):
    say("error", fields[4], *texts_of(body, fields.get(8, "")[:1]))


def switch(peer, disk, driver):
    good, fields, body = peer.answer(peer.call("Switch", [driver], of=object_of(disk)))
    if not good:
        return failed(fields, body)
    [job] = texts_of(body, "o")
    while True:
        kind, fields, body = peer.message()
        if kind == 4 and fields.get(3) == "JobRemoved":
            path, _disk, code, _step, text = texts_of(body, "osiss")
            if path == job:
                return say(code, text)


def main(path, what, *texts):
    peer = Peer(path)
    serial = peer.call({"lease": "Lease", "inhibit": "Inhibit"}[what], texts[1:], of=object_of(texts[0]))
    peer.nudge()
    good, fields, body = peer.answer(serial)
    if not good:
        failed(fields, body)
        return 1
    [fd] = peer.fds
    say("taken")
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "switch":
            switch(peer, texts[0], *rest or [""])
        elif word == "wait":
            poll = select.poll()
            poll.register(fd, 0)
            say("hung up" if poll.poll(30000) else "still there")
        elif word == "close":
            os.close(fd)
            say("closed")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

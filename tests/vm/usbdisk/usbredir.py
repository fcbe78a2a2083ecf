# SPDX-License-Identifier: LGPL-2.1-or-later
"""The usbredir protocol 0.7: message layouts and the connection to QEMU."""

import asyncio
import struct

# message types
HELLO = 0
DEVICE_CONNECT = 1
DEVICE_DISCONNECT = 2
RESET = 3
INTERFACE_INFO = 4
EP_INFO = 5
SET_CONFIGURATION = 6
GET_CONFIGURATION = 7
CONFIGURATION_STATUS = 8
SET_ALT_SETTING = 9
GET_ALT_SETTING = 10
ALT_SETTING_STATUS = 11
ALLOC_BULK_STREAMS = 18
FREE_BULK_STREAMS = 19
BULK_STREAMS_STATUS = 20
CANCEL_DATA_PACKET = 21
FILTER_REJECT = 22
DEVICE_DISCONNECT_ACK = 24
CONTROL_PACKET = 100
BULK_PACKET = 101

# transfer status
SUCCESS, CANCELLED, INVAL, IOERROR, STALL, TIMEOUT, BABBLE = range(7)

SPEED = {"high": 2, "super": 3}
TYPE_CONTROL, TYPE_BULK, TYPE_INVALID = 0, 2, 255

# bulk streams, connect version, filter, disconnect ack, max packet size, 64-bit ids, 32-bit lengths
CAPABILITIES = 0x7F

HEADER32 = struct.Struct("<III")
HEADER64 = struct.Struct("<IIQ")
CONNECT = struct.Struct("<BBBBHHH")
CONTROL = struct.Struct("<BBBBHHH")     # endpoint, request, requesttype, status, value, index, length
BULK = struct.Struct("<BBHIH")          # endpoint, status, length, stream, length high
STREAMS_ALLOC = struct.Struct("<II")
STREAMS_STATUS = struct.Struct("<IIB")

VERSION = b"usbdisk".ljust(64, b"\0")


def ep_index(address):
    """The place of an endpoint address in ep_info's arrays."""
    return (address & 0x0F) | ((address & 0x80) >> 3)


def greeting():
    """The hello, in a form for both a fresh and a resumed QEMU.

    A fresh QEMU reads a hello with a 32-bit id.  One resumed from a saved state that had been connected says no
    hello, knows our capabilities already and reads 64-bit ids from the start: the plain hello would leave it four
    bytes short for ever.  So six empty disconnects follow, laid out so that the second kind of reader takes the
    same bytes for two hellos, which it ignores.
    """
    body = VERSION + struct.pack("<I", CAPABILITIES)
    hello = HEADER32.pack(HELLO, len(body), 0) + body
    rest = HEADER64.pack(DEVICE_DISCONNECT, 0, 0) * 5
    return hello + HEADER64.pack(DEVICE_DISCONNECT, 0, len(rest) - 4) + rest


class Connection(asyncio.Protocol):
    """One QEMU.  Calls owner.connected(c), owner.message(type, id, body) and owner.disconnected(c)."""

    def __init__(self, owner):
        self.owner = owner
        self.transport = None
        self.buffer = bytearray()
        self.first = True
        self.hello = None

    def connection_made(self, transport):
        self.transport = transport
        transport.write(greeting())
        self.owner.connected(self)

    def connection_lost(self, exc):
        self.transport = None
        self.owner.disconnected(self)

    def close(self):
        if self.transport:
            self.transport.abort()

    def data_received(self, data):
        buffer = self.buffer
        buffer += data
        at, end = 0, len(buffer)
        while end - at >= 12:
            header = HEADER64
            if self.first and not buffer[at]:
                header = HEADER32           # a hello comes before 64-bit ids are agreed on
            if end - at < header.size:
                break
            kind, length, ident = header.unpack_from(buffer, at)
            if end - at < header.size + length:
                break
            start = at + header.size
            with memoryview(buffer) as view:
                body = bytes(view[start:start + length])
            at = start + length
            self.first = False
            if kind == HELLO:
                self.hello = body
            elif self.transport:
                self.owner.message(kind, ident, body)
        del buffer[:at]

    def send(self, kind, ident, body=b"", payload=b""):
        if not self.transport:
            return
        head = HEADER64.pack(kind, len(body) + len(payload), ident)
        if len(payload) > 65536:
            self.transport.write(head + body)
            self.transport.write(payload)
        else:
            self.transport.write(b"".join((head, body, payload)))

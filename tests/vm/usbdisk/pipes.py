# SPDX-License-Identifier: LGPL-2.1-or-later
"""Endpoints: packets of QEMU that wait, and the data for them.

The kernel stops an endpoint to unlink one URB, and QEMU then cancels the packets of *all* its streams and sends
the innocent ones again.  An answer that crosses such a cancel on the wire is dropped by QEMU.  A cancel for a
packet already answered therefore takes the answer back: IN data is given again, OUT data expected again.
"""

from collections import OrderedDict, defaultdict, deque

from . import usbredir as ur

HISTORY_PACKETS = 256
HISTORY_BYTES = 32 << 20


class Packet:
    __slots__ = ("id", "ep", "stream", "length", "data")

    def __init__(self, ident, ep, stream, length, data):
        self.id, self.ep, self.stream, self.length, self.data = ident, ep, stream, length, data


class Chunk:
    """Something to send.  `whole`: one packet ends it, however little that took of it.
    `short`: must end in a packet that is not full, so that the host sees the end."""

    __slots__ = ("data", "done", "whole", "short", "task")

    def __init__(self, data, done=None, whole=False, short=False, task=None):
        self.data, self.done, self.whole, self.short, self.task = data, done, whole, short, task


class History:
    """The last answers, for cancels that cross them."""

    def __init__(self):
        self.entries = OrderedDict()
        self.bytes = 0

    def add(self, ident, pipe, stream, data, task):
        self.take(ident)            # ids are TRB addresses, which repeat
        self.entries[ident] = (pipe, stream, data, task)
        self.bytes += len(data) if data else 0
        while len(self.entries) > HISTORY_PACKETS or (self.bytes > HISTORY_BYTES and len(self.entries) > 1):
            _, old = self.entries.popitem(last=False)
            self.bytes -= len(old[2]) if old[2] else 0

    def take(self, ident):
        entry = self.entries.pop(ident, None)
        if entry and entry[2]:
            self.bytes -= len(entry[2])
        return entry


class Pipe:
    """One bulk endpoint.  `bus` has answer(packet, status, data, length) and a history."""

    def __init__(self, bus, address):
        self.bus = bus
        self.address = address
        self.is_in = bool(address & 0x80)
        self.halted = False
        self.waiting = defaultdict(deque)   # stream -> packets
        self.outbox = defaultdict(deque)    # stream -> chunks (IN)
        self.takers = {}                    # stream -> callback for its next packet (OUT)
        self.sink = None                    # callback for every packet that has no taker (OUT)
        self.expected_again = defaultdict(int)

    def arrive(self, packet):
        if self.halted:
            self.bus.answer(packet, ur.STALL)
            return
        self.waiting[packet.stream].append(packet)
        self.pump(packet.stream)

    def cancel(self, packet):
        queue = self.waiting.get(packet.stream)
        if queue and packet in queue:
            queue.remove(packet)

    def pump(self, stream):
        if self.halted:
            return
        if self.is_in:
            self._pump_in(stream)
        else:
            self._pump_out(stream)

    def _pump_in(self, stream):
        packets, chunks = self.waiting[stream], self.outbox[stream]
        while packets and chunks and not self.halted:
            packet, chunk = packets.popleft(), chunks[0]
            part = chunk.data[:packet.length]
            chunk.data = chunk.data[len(part):]
            full = len(part) == packet.length
            finished = not len(chunk.data) and not (chunk.short and full)
            self.bus.answer(packet, ur.SUCCESS, part)
            self.bus.history.add(packet.id, self, stream, part, chunk.task)
            if finished or chunk.whole:
                chunks.popleft()
                if chunk.done:
                    chunk.done()

    def _pump_out(self, stream):
        packets = self.waiting[stream]
        while packets and not self.halted:
            if self.expected_again.get(stream):
                self.expected_again[stream] -= 1
                self.accept(packets.popleft(), None)
                continue
            taker = self.takers.pop(stream, None) or self.sink
            if not taker:
                return
            packet = packets.popleft()
            if taker(packet) is False:      # not now: the device sends NAK
                packets.appendleft(packet)
                return

    def accept(self, packet, task):
        """Receive an OUT packet from the host."""
        self.bus.answer(packet, ur.SUCCESS, b"", len(packet.data))
        self.bus.history.add(packet.id, self, packet.stream, None, task)

    def take(self, stream, callback):
        self.takers[stream] = callback
        self.pump(stream)

    def send(self, stream, chunk):
        self.outbox[stream].append(chunk)
        self.pump(stream)

    def taken_back(self, stream, data, task):
        """The answer was dropped on the way: keep it for the packet that comes instead."""
        if task is not None and task.failed:
            return
        if self.is_in:
            self.outbox[stream].appendleft(Chunk(data, whole=True, task=task))
        else:
            self.expected_again[stream] += 1
        self.pump(stream)

    def stall_next(self, stream):
        """Answer one packet of this stream with a stall, without a lasting halt."""
        packets = self.waiting[stream]
        if packets:
            self.bus.answer(packets.popleft(), ur.STALL)
            return True
        return False

    def halt(self):
        self.halted = True
        for packets in self.waiting.values():
            while packets:
                self.bus.answer(packets.popleft(), ur.STALL)

    def clear_halt(self):
        self.halted = False
        for stream in list(self.waiting):
            self.pump(stream)

    def forget(self, stream):
        """A new command uses this tag: no data of the last one may reach it."""
        self.outbox.pop(stream, None)
        self.takers.pop(stream, None)
        self.expected_again.pop(stream, None)

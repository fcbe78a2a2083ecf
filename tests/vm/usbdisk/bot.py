# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bulk-Only Transport: one command at a time, CBW, data, CSW."""

import struct

from . import descriptors as desc
from . import scsi
from . import usbredir as ur
from .pipes import Chunk, Pipe

CBW = struct.Struct("<4sIIBBB16s")
CSW = struct.Struct("<4sIIB")
PASSED, FAILED, PHASE_ERROR = 0, 1, 2


class Bot:
    proto = desc.BOT

    def __init__(self, device):
        self.device = device
        self.into = Pipe(device.bus, desc.DATA_IN)
        self.out = Pipe(device.bus, desc.DATA_OUT)
        self.out.sink = self._arrived
        self.pipes = {desc.DATA_IN: self.into, desc.DATA_OUT: self.out}
        self.task = None
        self.collecting = None
        self.expected = 0
        self.to_host = False
        self.wedged = False         # a CBW was invalid: only reset recovery helps

    def inflight(self):
        return 1 if self.task else 0

    def abandon(self):
        """Reset: ends the command in progress."""
        if self.task:
            self.task.dropped = True
        self.task = self.collecting = None
        self.wedged = False

    def reset_recovery(self):
        """The class request: the halts stay until they are cleared."""
        self.abandon()
        for pipe in self.pipes.values():
            pipe.forget(0)

    def clear_halt(self, address):
        pipe = self.pipes.get(address)
        if pipe and not self.wedged:
            pipe.clear_halt()

    def _arrived(self, packet):
        if self.collecting is not None:
            self.collecting += packet.data
            self.out.accept(packet, self.task)
            if len(self.collecting) >= self.expected or len(packet.data) % desc.max_packet(self.device.cfg):
                data, self.collecting = self.collecting, None
                self.task.data = data
                self._start()
            return True
        if self.task:
            return False
        if len(packet.data) != 31 or packet.data[:4] != b"USBC":
            self.wedged = True
            self.device.bus.answer(packet, ur.STALL)
            self.into.halt()
            self.out.halt()
            return True
        _, tag, self.expected, flags, lun, length, cdb = CBW.unpack(packet.data)
        task = scsi.Task(self.proto, tag, lun & 0x0F, cdb[:16] if length > 16 else cdb)
        task.wanted = self.expected
        self.to_host = bool(flags & 0x80)
        self.task = task
        self.device.begin(task)
        stall = task.faults.get("stall")
        if stall and stall.args.get("pipe") == "command":
            self.abandon()
            self.wedged = True
            self.device.bus.answer(packet, ur.STALL)
            self.into.halt()
            self.out.halt()
            return True
        self.out.accept(packet, task)
        if task.dropped or "hang" in task.faults:
            return True
        if self._data_stall(task) and self.expected and not self.to_host:
            self.out.halt()
            self._status(task, scsi.failed(scsi.ABORTED), 0)
        elif self.expected and not self.to_host:
            self.collecting = bytearray()
        else:
            self._start()
        return True

    @staticmethod
    def _data_stall(task):
        stall = task.faults.get("stall")
        return stall is not None and stall.args.get("pipe") == "data"

    def _start(self):
        task = self.task
        self.device.run(task, lambda: self._executed(task))

    def _executed(self, task):
        if task is not self.task:
            return
        result = task.result
        data = result.data
        wants = self.device.out_length(task)
        if wants and (self.to_host or not self.expected):           # Hn < Do, Hi <> Do
            self._phase_error(task)
        elif data and not (self.to_host and self.expected):         # Hn < Di, Ho <> Di
            self._phase_error(task)
        elif data is not None and self.expected and self._data_stall(task):
            self.into.halt()
            self._status(task, scsi.failed(scsi.ABORTED), 0)
        elif self.to_host and self.expected:
            self._data_in(task, result, data)
        else:
            self._status(task, result, min(wants, self.expected) if result.status == scsi.GOOD else 0)

    def _data_in(self, task, result, data):
        if not data:
            self.into.halt()
            self._status(task, result, 0)
            return
        data = memoryview(data)[:self.expected]
        sent = len(data)
        self.into.send(0, Chunk(data, task=task, short=sent < self.expected,
                                done=lambda: self._status(task, result, sent)))

    def _phase_error(self, task):
        if self.expected:
            (self.into if self.to_host else self.out).halt()
        self._csw(task, PHASE_ERROR, self.expected)

    def _status(self, task, result, moved):
        if task is not self.task:
            return
        if result.status != scsi.GOOD:
            self.device.luns[task.lun if task.lun < len(self.device.luns) else 0].sense = result.sense
        stall = task.faults.get("stall")
        if stall and not self._data_stall(task):
            self.into.halt()
            if stall.args.get("lost"):
                self.device.end(task, result)
                self.task = None
                return
        task.result = result
        self._csw(task, PASSED if result.status == scsi.GOOD else FAILED, self.expected - moved)

    def _csw(self, task, status, residue):
        def done():
            if task is self.task:
                self.device.end(task, task.result)
                self.task = None
                self.out.pump(0)

        self.into.send(0, Chunk(CSW.pack(b"USBS", task.tag, residue, status), whole=True, task=task, done=done))

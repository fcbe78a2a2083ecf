# SPDX-License-Identifier: LGPL-2.1-or-later
"""USB Attached SCSI: commands queued by tag.  At SuperSpeed the tag is the stream, at high speed READY IUs ask for
the data."""

import struct
from collections import deque

from . import descriptors as desc
from . import scsi
from . import usbredir as ur
from .pipes import Chunk, Pipe

IU_COMMAND, IU_SENSE, IU_RESPONSE, IU_TASK, IU_READ_READY, IU_WRITE_READY = 1, 3, 4, 5, 6, 7
RC_COMPLETE, RC_INVALID_IU, RC_NOT_SUPPORTED, RC_FAILED, RC_SUCCEEDED, RC_LUN, RC_OVERLAPPED = (
    0x00, 0x02, 0x04, 0x05, 0x08, 0x09, 0x0A)
ABORT_TASK, ABORT_SET, CLEAR_SET, LUN_RESET, NEXUS_RESET, QUERY_TASK, QUERY_SET = (
    0x01, 0x02, 0x04, 0x08, 0x10, 0x80, 0x81)


def lun_of(field):
    """Single level LUN, or a number that no device here has."""
    if field[0] & 0xC0 == 0x40:
        return (field[0] & 0x3F) << 8 | field[1]
    return field[1] if not field[0] and not any(field[2:]) else 0xFFFF


class Turn:
    """A pipe without streams carries one data phase at a time."""

    def __init__(self):
        self.queue = deque()
        self.busy = None

    def ask(self, task, start):
        self.queue.append((task, start))
        self._next()

    def over(self, task):
        if self.busy is task:
            self.busy = None
            self._next()

    def _next(self):
        while self.queue and self.busy is None:
            task, start = self.queue.popleft()
            if not task.dropped:
                self.busy = task
                start()


class Uas:
    proto = desc.UAS

    def __init__(self, device):
        self.device = device
        self.command = Pipe(device.bus, desc.COMMAND)
        self.status = Pipe(device.bus, desc.STATUS)
        self.into = Pipe(device.bus, desc.DATA_IN)
        self.out = Pipe(device.bus, desc.DATA_OUT)
        self.command.sink = self._arrived
        self.pipes = {pipe.address: pipe for pipe in (self.command, self.status, self.into, self.out)}
        self.streams = bool(desc.stream_count(device.cfg))
        self.tasks = {}
        self.turn_in, self.turn_out = Turn(), Turn()

    def inflight(self):
        return len(self.tasks)

    def abandon(self):
        for task in self.tasks.values():
            task.dropped = True
        self.tasks.clear()

    def clear_halt(self, address):
        pipe = self.pipes.get(address)
        if pipe:
            pipe.clear_halt()

    def _stream(self, tag):
        return tag if self.streams else 0

    def _arrived(self, packet):
        iu = packet.data
        tag = iu[2] << 8 | iu[3] if len(iu) >= 4 else 0
        if self.streams and tag and tag not in self.tasks:
            for pipe in (self.status, self.into, self.out):
                pipe.forget(tag)
        if len(iu) >= 32 and iu[0] == IU_COMMAND:
            self._command(packet, iu, tag)
            return True
        self.command.accept(packet, None)
        if len(iu) >= 16 and iu[0] == IU_TASK:
            self._manage(iu, tag)
        else:
            self._respond(tag, RC_INVALID_IU)
        return True

    def _command(self, packet, iu, tag):
        if tag in self.tasks:
            self.command.accept(packet, None)
            self.tasks.pop(tag).dropped = True
            self._respond(tag, RC_OVERLAPPED)
            return
        task = scsi.Task(self.proto, tag, lun_of(iu[8:16]), iu[16:32])
        self.tasks[tag] = task
        self.device.begin(task)
        stall = task.faults.get("stall")
        if stall and stall.args.get("pipe") == "command":
            self.tasks.pop(tag, None)
            self.device.bus.answer(packet, ur.STALL)
            if stall.args.get("halt"):
                self.command.halt()
            return
        self.command.accept(packet, task)
        if task.dropped or "hang" in task.faults:
            return
        stalls = stall is not None and stall.args.get("pipe") == "data"
        wants = self.device.out_length(task)
        if not wants:
            self.device.run(task, lambda: self._executed(task))
        elif stalls:
            self._stall_data(task, self.out, IU_WRITE_READY, self.turn_out)
        elif self.streams:
            self.out.take(tag, lambda data: self._data_out(task, data))
        else:
            self.turn_out.ask(task, lambda: self._write_ready(task))

    def _write_ready(self, task):
        self._iu(task, struct.pack(">BBH", IU_WRITE_READY, 0, task.tag))
        self.out.take(0, lambda packet: self._data_out(task, packet))

    def _data_out(self, task, packet):
        task.data = packet.data
        self.out.accept(packet, task)
        self.turn_out.over(task)
        if not task.dropped:
            self.device.run(task, lambda: self._executed(task))

    def _executed(self, task):
        if self.tasks.get(task.tag) is not task:
            return
        stall = task.faults.get("stall")
        # If the data phase is still open at a sense, the kernel stops the endpoint to unlink its URB, and sometimes QEMU loses the
        # next command's packet on that stream (36 s at a boot). Refusals of a disk by itself end the phase; the fault "fail" does
        # not.
        if self.streams and task.result.data is None and task.result.status == scsi.CHECK and not task.faults \
                and scsi.reads(task.cdb):
            task.result.data = b""
        if task.result.data is None:
            self._finish(task)
        elif stall and stall.args.get("pipe") == "data":
            self._stall_data(task, self.into, IU_READ_READY, self.turn_in)
        elif self.streams:
            self._data_in(task)
        else:
            self.turn_in.ask(task, lambda: self._read_ready(task))

    def _read_ready(self, task):
        self._iu(task, struct.pack(">BBH", IU_READ_READY, 0, task.tag))
        self._data_in(task)

    def _data_in(self, task):
        def done():
            self.turn_in.over(task)
            self._finish(task)

        self.into.send(self._stream(task.tag), Chunk(memoryview(task.result.data), done=done, whole=True, task=task))

    def _stall_data(self, task, pipe, ready, turn):
        """The data packet stalls when it is there, and then the command fails."""
        stream = self._stream(task.tag)

        def start():
            if not self.streams:
                self._iu(task, struct.pack(">BBH", ready, 0, task.tag))
            self.device.when(lambda: task.dropped or pipe.waiting.get(stream), now)

        def now():
            if task.dropped:
                return
            if task.faults["stall"].args.get("halt"):
                pipe.halt()
            else:
                pipe.stall_next(stream)
            turn.over(task)
            task.result = scsi.failed(scsi.ABORTED)
            self._finish(task)

        if self.streams:
            start()
        else:
            turn.ask(task, start)

    def _finish(self, task):
        if self.tasks.get(task.tag) is not task:
            return
        result = task.result
        if result.status != scsi.GOOD:
            task.failed = True
            if self.streams:
                self.into.forget(task.tag)
        stall = task.faults.get("stall")
        if stall and stall.args.get("pipe", "status") == "status":
            self.device.when(lambda: task.dropped or self.status.waiting.get(self._stream(task.tag)),
                             lambda: self._stall_status(task, stall))
            return
        sense = result.sense
        self._iu(task, struct.pack(">BBHHB7xH", IU_SENSE, 0, task.tag, 0, result.status, len(sense)) + sense)
        self._forget(task)

    def _stall_status(self, task, stall):
        if task.dropped:
            return
        if stall.args.get("halt"):
            self.status.halt()
        else:
            self.status.stall_next(self._stream(task.tag))
        self._forget(task)

    def _forget(self, task):
        self.tasks.pop(task.tag, None)
        self.device.end(task, task.result)

    def _iu(self, task, data):
        self.status.send(self._stream(task.tag), Chunk(data, whole=True))

    def _respond(self, tag, code):
        self.status.send(self._stream(tag), Chunk(struct.pack(">BBH3xB", IU_RESPONSE, 0, tag, code), whole=True))

    def _manage(self, iu, tag):
        function, target = iu[4], iu[6] << 8 | iu[7]
        lun = lun_of(iu[8:16])
        self.device.log("task_management", function=function, task=target, lun=lun)
        if lun >= len(self.device.luns):
            return self._respond(tag, RC_LUN)
        if function == ABORT_TASK:
            hit = [self.tasks[target]] if target in self.tasks else []
        elif function in (ABORT_SET, CLEAR_SET, LUN_RESET):
            hit = [task for task in self.tasks.values() if task.lun == lun]
        elif function == NEXUS_RESET:
            hit = list(self.tasks.values())
        elif function in (QUERY_TASK, QUERY_SET):
            found = target in self.tasks if function == QUERY_TASK else bool(self.tasks)
            return self._respond(tag, RC_SUCCEEDED if found else RC_COMPLETE)
        else:
            return self._respond(tag, RC_NOT_SUPPORTED)
        for task in hit:
            task.dropped = True
            self.tasks.pop(task.tag, None)
            self.turn_in.over(task)
            self.turn_out.over(task)
        return self._respond(tag, RC_COMPLETE)

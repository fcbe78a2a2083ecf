# SPDX-License-Identifier: LGPL-2.1-or-later
"""The device as a whole: plugged or not, its control pipe, its alternate settings, its commands."""

import asyncio
import copy

from . import descriptors as desc
from . import faults, latency, pages, scsi
from . import usbredir as ur
from .backing import Backing
from .bot import Bot
from .pipes import History, Packet
from .stats import Stats, Trace
from .uas import Uas

DEFAULTS = {
    "vid": 0x1209, "pid": 0x5A5A, "bcd": 0x0100, "manufacturer": "Example", "product": "Dual Protocol Disk",
    "serial": "USBDISK0001", "speed": "super", "streams": 5, "max_power": 496, "alts": "both", "pipe_usage": True,
    "luns": [], "wcache": "volatile", "cache_mb": 256, "latency": {"kind": "none"}, "plugged": False,
    "resume": "replug", "bus_powered": False, "faults": [],
    # further interfaces, and the time for reading the name of one
    "others": 0, "other_name_ms": 0,
}
TRANSPORTS = {desc.BOT: Bot, desc.UAS: Uas}


class Device:
    def __init__(self, config):
        unknown = set(config) - set(DEFAULTS)
        if unknown:
            raise ValueError(f"unknown configuration: {', '.join(sorted(unknown))}")
        self.cfg = dict(copy.deepcopy(DEFAULTS), **config)
        for key in ("vid", "pid", "bcd"):
            if isinstance(self.cfg[key], str):
                self.cfg[key] = int(self.cfg[key], 16)
        self.loop = asyncio.get_running_loop()
        self.faults = faults.Faults(self.cfg["faults"])
        self.stats, self.trace = Stats(), Trace()
        self.bus = self
        self.history = History()
        self.packets = {}           # id -> bulk packet without an answer
        self.waits = []
        self.connection = None
        self.plugged = False
        self.configured = self.alt = 0
        self.transport = None
        self.stuck = False
        self.luns = [self._make_lun(index, lun) for index, lun in enumerate(self.cfg["luns"])]
        self.latency = None
        self.set_latency(self.cfg["latency"])
        if self.cfg["plugged"]:
            self.plug()

    def _make_lun(self, index, spec):
        cfg = dict({"serial": self.cfg["serial"], "wcache": self.cfg["wcache"]}, **spec)
        backing = Backing(cfg["path"], cfg.get("size"), self.cfg["cache_mb"] << 20)
        cfg["size"] = backing.size
        return scsi.Lun(index, cfg, backing)

    def set_latency(self, spec):
        if self.latency:
            self.latency.clear()
        self.latency = latency.make(spec, self.loop, sum(lun.backing.size for lun in self.luns))

    def log(self, event, **fields):
        self.trace.add(event, **fields)

    # --- QEMU comes and goes

    def connected(self, connection):
        old, self.connection = self.connection, connection
        if old:
            old.close()
        self.stats.connections += 1
        self.log("connected")
        if self.plugged:
            if self.cfg["resume"] == "replug":
                # a guest resumed from a saved state may assume that it still has the device
                connection.send(ur.DEVICE_DISCONNECT, 0)
                self._power_on()
            self._announce()

    def disconnected(self, connection):
        if connection is self.connection:
            self.connection = None
            self.log("disconnected")
            if self.cfg["resume"] == "replug":
                self._power_on()

    def _send(self, kind, ident, body=b"", payload=b""):
        if self.connection:
            self.connection.send(kind, ident, body, payload)

    def _announce(self):
        self._describe()
        speed = ur.SPEED[self.cfg["speed"]]
        self._send(ur.DEVICE_CONNECT, 0, ur.CONNECT.pack(speed, 0, 0, 0, self.cfg["vid"], self.cfg["pid"],
                                                         self.cfg["bcd"]))

    def _describe(self, streams=None):
        protocol = self.protocol()
        streams = desc.stream_count(self.cfg) if streams is None else streams
        self._send(ur.INTERFACE_INFO, 0, desc.interface_info(self.cfg, protocol))
        self._send(ur.EP_INFO, 0, desc.ep_info(self.cfg, protocol, streams))

    def protocol(self):
        return desc.protocols(self.cfg)[self.alt]

    # --- plug

    def plug(self):
        if self.plugged:
            return False
        self.plugged = True
        self.stats.plugs += 1
        self._power_on()
        self.log("plug")
        if self.connection:
            self._announce()
        return True

    def unplug(self):
        if not self.plugged:
            return False
        self.plugged = False
        self._power_on()
        if self.cfg["bus_powered"]:
            self.drop_caches()
        self.log("unplug")
        self._send(ur.DEVICE_DISCONNECT, 0)
        return True

    def power_loss(self):
        self.log("power_loss")
        lost = self.drop_caches()
        self.unplug()
        return lost

    def drop_caches(self):
        return [lun.backing.drop() for lun in self.luns]

    def _power_on(self):
        self.stuck = False
        self.packets.clear()
        self._unconfigure()

    def _unconfigure(self):
        self.configured = self.alt = 0
        self._select(None)

    def _select(self, protocol):
        """A new transport: nothing of the old one remains."""
        if self.transport:
            self.transport.abandon()
        self.latency.clear()
        self.waits.clear()
        self.history = History()
        self.transport = TRANSPORTS[protocol](self) if protocol else None

    # --- messages

    def message(self, kind, ident, body):
        if not self.plugged:
            return
        if kind == ur.BULK_PACKET:
            self._bulk(ident, body)
        elif kind == ur.CANCEL_DATA_PACKET:
            self._cancel(ident)
        elif kind == ur.CONTROL_PACKET:
            self._control(ident, body)
        elif kind == ur.RESET:
            self._reset()
        elif kind == ur.SET_CONFIGURATION:
            self._set_configuration(ident, body[0])
        elif kind == ur.GET_CONFIGURATION:
            self._send(ur.CONFIGURATION_STATUS, ident, bytes((ur.SUCCESS, self.configured)))
        elif kind == ur.SET_ALT_SETTING:
            self._set_alt(ident, body[0], body[1])
        elif kind == ur.GET_ALT_SETTING:
            self._send(ur.ALT_SETTING_STATUS, ident, bytes((ur.SUCCESS, 0, self.alt)))
        elif kind in (ur.ALLOC_BULK_STREAMS, ur.FREE_BULK_STREAMS):
            self._streams(kind, ident, body)
        elif kind == ur.FILTER_REJECT:
            self.log("rejected")

    def _bulk(self, ident, body):
        endpoint, _, low, stream, high = ur.BULK.unpack_from(body)
        packet = Packet(ident, endpoint, stream, high << 16 | low, memoryview(body)[ur.BULK.size:])
        pipe = self.transport.pipes.get(endpoint) if self.transport else None
        self.packets[ident] = packet
        if not pipe:
            self.answer(packet, ur.INVAL)
            return
        pipe.arrive(packet)
        if self.waits:
            self._look()

    def answer(self, packet, status, data=b"", length=None):
        self.packets.pop(packet.id, None)
        length = len(data) if length is None else length
        self._send(ur.BULK_PACKET, packet.id, ur.BULK.pack(packet.ep, status, length & 0xFFFF, packet.stream,
                                                           length >> 16), data)

    def _cancel(self, ident):
        packet = self.packets.get(ident)
        if packet:
            pipe = self.transport.pipes.get(packet.ep) if self.transport else None
            if pipe:
                pipe.cancel(packet)
            self.answer(packet, ur.CANCELLED)
            return
        entry = self.history.take(ident)
        if entry:
            pipe, stream, data, task = entry
            self.log("taken_back", ep=pipe.address, stream=stream)
            pipe.taken_back(stream, data, task)

    def when(self, condition, action):
        """Run it as soon as a packet has made the condition true."""
        self.waits.append((condition, action))
        self._look()

    def _look(self):
        ready = [wait for wait in self.waits if wait[0]()]
        self.waits = [wait for wait in self.waits if wait not in ready]
        for _, action in ready:
            action()

    def _reset(self):
        # enumeration resets as well, and QEMU sends each reset twice: count only those that end something
        self.stats.resets += bool(self.configured)
        self.log("reset")
        if self.configured and self.faults.of_device("gone_on_reset"):
            self.unplug()
            return
        self.stuck = False
        self._unconfigure()

    def _set_configuration(self, ident, value):
        status = ur.SUCCESS if value in (0, 1) else ur.STALL
        if status == ur.SUCCESS:
            self.configured, self.alt = value, 0
            self._select(self.protocol() if value else None)
            self._describe()
        self.log("set_configuration", value=value)
        self._send(ur.CONFIGURATION_STATUS, ident, bytes((status, self.configured)))

    def _set_alt(self, ident, interface, alt):
        self.stats.set_interface[alt] += 1
        refused = self.faults.of_device("refuse_set_interface", alt=alt)
        if refused or interface or alt >= len(desc.protocols(self.cfg)) or not self.configured:
            self.stats.refused += bool(refused)
            self.log("set_interface", alt=alt, ok=False)
            self._send(ur.ALT_SETTING_STATUS, ident, bytes((ur.STALL, interface, self.alt)))
            return
        before, self.alt = self.protocol(), alt
        self._select(self.protocol())
        if before == desc.UAS and self.protocol() == desc.BOT and self.faults.of_device("needs_reset"):
            self.stuck = True
        streams = None
        if self.protocol() == desc.UAS and desc.stream_count(self.cfg):
            refusal = self.faults.of_device("refuse_streams", how="resource")
            streams = 0 if refusal else None
            self.stats.refused += bool(refusal)
        self.log("set_interface", alt=alt, ok=True)
        self._describe(streams)
        self._send(ur.ALT_SETTING_STATUS, ident, bytes((ur.SUCCESS, interface, alt)))

    def _streams(self, kind, ident, body):
        if kind == ur.FREE_BULK_STREAMS:
            mask, count = int.from_bytes(body[:4], "little"), 0
        else:
            mask, count = ur.STREAMS_ALLOC.unpack(body)
        refused = kind == ur.ALLOC_BULK_STREAMS and self.faults.of_device("refuse_streams", how="disconnect")
        self.stats.refused += bool(refused)
        self.log("streams", count=count, ok=not refused)
        self._send(ur.BULK_STREAMS_STATUS, ident,
                   ur.STREAMS_STATUS.pack(mask, count, ur.INVAL if refused else ur.SUCCESS))

    # --- control pipe

    def _control(self, ident, body):
        endpoint, request, kind, _, value, index, length = ur.CONTROL.unpack_from(body)
        data = self._control_data(kind, request, value, index)
        if data is None:
            self.log("control_stall", type=kind, request=request, value=value, index=index)
            self._send(ur.CONTROL_PACKET, ident,
                       ur.CONTROL.pack(endpoint, request, kind, ur.STALL, value, index, 0))
            return
        data = data[:length]
        done = len(data) if kind & 0x80 else length
        answer = ur.CONTROL.pack(endpoint, request, kind, ur.SUCCESS, value, index, done)
        if (kind, request, value) == (0x80, 6, 0x300 | desc.OTHER_NAME):
            self.log("other_name")
            self.loop.call_later(self.cfg["other_name_ms"] / 1e3, lambda: self._send(ur.CONTROL_PACKET, ident, answer, data))
        else:
            self._send(ur.CONTROL_PACKET, ident, answer, data)

    def _control_data(self, kind, request, value, index):
        """The contents of the data stage, or None for a stall."""
        if kind in (0x80, 0x81, 0x82) and request == 0:
            pipe = self.transport.pipes.get(index & 0xFF) if self.transport and kind == 0x82 else None
            return bytes((int(kind == 0x80 or bool(pipe and pipe.halted)), 0))
        if kind == 0x80 and request == 6:
            cfg = self.cfg
            if self.faults.standing("refuse_streams", how="descriptor"):
                cfg = dict(cfg, streams=0)
            return desc.get(cfg, value >> 8, value & 0xFF)
        if kind == 0x02 and request in (1, 3) and value == 0:
            return self._endpoint_halt(index & 0xFF, request == 3)
        if kind == 0xA1 and request == 0xFE:
            return bytes((max(len(self.luns) - 1, 0),))
        if kind == 0x21 and request == 0xFF:
            self.log("bulk_reset")
            if isinstance(self.transport, Bot):
                self.transport.reset_recovery()
            return b""
        if kind in (0x00, 0x01) and request in (1, 3, 0x30, 0x31):      # features, SEL, isochronous delay
            return b""
        return None

    def _endpoint_halt(self, address, halt):
        self.log("halt" if halt else "clear_halt", ep=address)
        if self.transport and address in self.transport.pipes:
            if halt:
                self.transport.pipes[address].halt()
            else:
                self.transport.clear_halt(address)
        return b""

    # --- commands

    def begin(self, task):
        inflight = self.transport.inflight()
        lba, blocks = scsi.extent(task.cdb) if task.op in scsi.MEDIUM_ACCESS else (None, None)
        task.faults = self.faults.for_command(task.proto, task.op, task.lun, inflight, (lba or 0, blocks or 0))
        if self.stuck and task.proto == desc.BOT:
            task.faults = {"hang": True}
        self.stats.by_proto[task.proto].begin(task.op, inflight)
        self.log("command", proto=task.proto, tag=task.tag, lun=task.lun, op=f"0x{task.op:02x}", lba=lba, len=blocks,
                 **({"faults": sorted(task.faults)} if task.faults else {}))
        if "unplug" in task.faults:
            self.unplug()

    def end(self, task, _result):
        self.stats.by_proto[task.proto].end(task)

    def view(self, task):
        return self.luns[task.lun].view(task.proto, self.faults.identity(task.proto, task.lun))

    def out_length(self, task):
        if task.lun >= len(self.luns):
            return 0
        return scsi.out_length(task.cdb, self.view(task).block_size)

    def run(self, task, then):
        """Execute in its own time, then continue."""
        if task.lun < len(self.luns) and task.op in scsi.MEDIUM_ACCESS | faults.SYNC:
            lun, view = self.luns[task.lun], self.view(task)
            if task.is_sync:
                task.dirty_extents = len(lun.backing.starts)
            else:
                lba, blocks = scsi.extent(task.cdb)
                task.place = lba * view.block_size + sum(one.backing.size for one in self.luns[:task.lun])
                task.length = blocks * view.block_size
                task.cached = task.op in faults.WRITE and lun.wce

        def execute():
            if not task.dropped:
                task.result = self._execute(task)
                then()

        delay = task.faults.get("delay")
        if delay:
            self.loop.call_later(delay.args.get("ms", 100) / 1e3,
                                 lambda: None if task.dropped else self.latency.submit(task, execute))
        else:
            self.latency.submit(task, execute)

    def _execute(self, task):
        fail = task.faults.get("fail")
        if fail:
            key, asc, ascq = scsi.MEDIUM_ERROR
            status = fail.args.get("status", scsi.CHECK)
            sense = scsi.fixed_sense(fail.args.get("key", key), fail.args.get("asc", asc), fail.args.get("ascq", ascq))
            # with "zlp" the data-in phase first ends with an empty packet
            return scsi.Result(b"" if fail.args.get("zlp") and task.op in scsi.DATA_IN else None, status,
                               sense if status == scsi.CHECK else b"")
        if task.op == 0xA0:
            return scsi.report_luns(len(self.luns), task.cdb)
        if task.lun >= len(self.luns):
            if task.op == 0x12:
                return scsi.cut(pages.absent(), task.cdb[3] << 8 | task.cdb[4])
            return scsi.failed(scsi.NO_SUCH_LUN)
        result = self.luns[task.lun].execute(self.view(task), task.cdb, task.data)
        short = task.faults.get("short")
        if short and result.data:
            result.data = result.data[:short.args.get("bytes", len(result.data) // 2)]
        return result

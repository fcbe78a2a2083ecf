# SPDX-License-Identifier: LGPL-2.1-or-later
"""The emulated disk with a fake QEMU: the other end of the usbredir protocol, without a guest.

    python3 -m unittest tests/vm/usbdisk_test.py        (from anywhere; takes a few seconds)
"""

import asyncio
import json
import os
import random
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from usbdisk import backing, descriptors as desc, latency, pipes, usbredir as ur     # noqa: E402
from usbdisk.control import Control                                          # noqa: E402
from usbdisk.device import Device                                            # noqa: E402

BLOCK = 512


def cdb10(op, lba, blocks, flags=0):
    return struct.pack(">BBIBHB", op, flags, lba, 0, blocks, 0).ljust(16, b"\0")


def inquiry(page=None, length=255):
    return struct.pack(">BBBHB", 0x12, page is not None, page or 0, length, 0).ljust(16, b"\0")


class FakeQemu:
    """Reads as usbredirparser does: 32-bit ids until it has a hello, 64-bit ones after."""

    def __init__(self, reader, writer, resumed=False):
        self.reader, self.writer = reader, writer
        self.knows = resumed
        self.ident = 0
        self.answers = {}       # id -> (kind, body)
        self.events = []        # (kind, body) without an answer's id
        self.cancelled = set()
        self.arrived = asyncio.Event()
        self.task = asyncio.ensure_future(self._read())
        if not resumed:
            body = b"fake".ljust(64, b"\0") + struct.pack("<I", 0xFF)
            writer.write(ur.HEADER32.pack(ur.HELLO, len(body), 0) + body)

    @classmethod
    async def connect(cls, path, resumed=False):
        return cls(*await asyncio.open_unix_connection(path), resumed)

    async def _read(self):
        while True:
            header = ur.HEADER64 if self.knows else ur.HEADER32
            try:
                kind, length, ident = header.unpack(await self.reader.readexactly(header.size))
                body = await self.reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            self.knows = True
            if kind == ur.BULK_PACKET and ident in self.cancelled:
                self.cancelled.discard(ident)       # as QEMU does: a late answer is dropped
            elif kind in (ur.BULK_PACKET, ur.CONTROL_PACKET, ur.ALT_SETTING_STATUS, ur.CONFIGURATION_STATUS):
                self.answers[ident] = (kind, body)
            else:
                self.events.append((kind, body))
            self.arrived.set()

    async def _until(self, condition, timeout=2):
        async def wait():
            while not condition():
                self.arrived.clear()
                await self.arrived.wait()
        await asyncio.wait_for(wait(), timeout)

    async def event(self, kind):
        await self._until(lambda: any(event[0] == kind for event in self.events))
        index = next(i for i, event in enumerate(self.events) if event[0] == kind)
        return self.events.pop(index)[1]

    async def answer(self, ident, timeout=2):
        await self._until(lambda: ident in self.answers, timeout)
        return self.answers.pop(ident)

    def send(self, kind, body=b"", ident=None):
        if ident is None:
            self.ident += 1
            ident = self.ident
        self.writer.write(ur.HEADER64.pack(kind, len(body), ident) + body)
        return ident

    async def control(self, kind, request, value=0, index=0, length=0):
        ident = self.send(ur.CONTROL_PACKET, ur.CONTROL.pack(kind & 0x80, request, kind, 0, value, index, length))
        _, body = await self.answer(ident)
        return body[3], body[ur.CONTROL.size:]

    async def configure(self, alt=0):
        await self.event(ur.DEVICE_CONNECT)
        self.send(ur.RESET)
        _, body = await self.answer(self.send(ur.SET_CONFIGURATION, b"\1"))
        assert body == b"\0\1", body
        return await self.set_alt(alt) if alt else None

    async def set_alt(self, alt):
        _, body = await self.answer(self.send(ur.SET_ALT_SETTING, bytes((0, alt))))
        return body[0]

    def bulk(self, endpoint, data=b"", length=0, stream=0):
        length = length if endpoint & 0x80 else len(data)
        return self.send(ur.BULK_PACKET, ur.BULK.pack(endpoint, 0, length & 0xFFFF, stream, length >> 16) + data)

    async def done(self, ident, timeout=2):
        """Status and data (IN) or accepted length (OUT) of a bulk packet."""
        _, body = await self.answer(ident, timeout)
        endpoint, status, low, _, high = ur.BULK.unpack_from(body)
        return status, body[ur.BULK.size:] if endpoint & 0x80 else high << 16 | low

    def cancel(self, ident):
        self.cancelled.add(ident)
        self.answers.pop(ident, None)
        self.send(ur.CANCEL_DATA_PACKET, b"", ident)

    async def bot(self, cdb, length=0, data=b"", lun=0, tag=7):
        """A whole BOT command as usb-storage does it; (csw status, residue, data)."""
        expected = len(data) or length
        cbw = struct.pack("<4sIIBBB", b"USBC", tag, expected, 0 if data else 0x80, lun, 16) + cdb
        status, _ = await self.done(self.bulk(desc.DATA_OUT, cbw))
        if status:
            return "stall", 0, b""
        got = b""
        if data:
            status, _ = await self.done(self.bulk(desc.DATA_OUT, data))
        elif length:
            status, got = await self.done(self.bulk(desc.DATA_IN, length=length))
        if status == ur.STALL:
            await self.control(2, 1, 0, desc.DATA_OUT if data else desc.DATA_IN)
        status, csw = await self.done(self.bulk(desc.DATA_IN, length=13))
        if status == ur.STALL:
            await self.control(2, 1, 0, desc.DATA_IN)
            status, csw = await self.done(self.bulk(desc.DATA_IN, length=13))
        signature, back, residue, result = struct.unpack("<4sIIB", csw)
        assert (signature, back) == (b"USBS", tag), csw
        return result, residue, got

    def uas_start(self, tag, cdb, length=0, data=b"", lun=0, streams=True):
        """Submit as uas.c does: status, data, then the command."""
        stream = tag if streams else 0
        status = self.bulk(desc.STATUS, length=112, stream=stream)
        moved = None
        if streams and length:
            moved = self.bulk(desc.DATA_IN, length=length, stream=stream)
        elif streams and data:
            moved = self.bulk(desc.DATA_OUT, data, stream=stream)
        iu = struct.pack(">BxHBxBxBB6x", 1, tag, 0, 0, 0, lun) + cdb
        return status, moved, self.bulk(desc.COMMAND, iu)

    async def uas_end(self, started, timeout=2):
        status, moved, command = started
        assert (await self.done(command))[0] == ur.SUCCESS
        result, iu = await self.done(status, timeout)
        data = b""
        if moved and moved in self.answers:
            _, data = await self.done(moved)
        elif moved:
            self.cancel(moved)
        return (iu[6] if result == ur.SUCCESS else "stall"), iu, data

    async def uas(self, cdb, length=0, data=b"", tag=3, lun=0):
        return await self.uas_end(self.uas_start(tag, cdb, length, data, lun))


class DiskTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "qemu")
        self.clients = []
        self.server = None

    async def asyncTearDown(self):
        for client in self.clients:
            client.task.cancel()
            client.writer.close()
        if self.server:
            self.server.close()
            for lun in self.device.luns:
                lun.backing.close()
        self.folder.cleanup()

    async def start(self, **config):
        config.setdefault("luns", [{"path": os.path.join(self.folder.name, f"lun{index}"), "size": 4 << 20}
                                   for index in range(config.pop("lun_count", 1))])
        self.device = Device(dict({"plugged": True}, **config))
        self.control = Control(self.device)
        loop = asyncio.get_running_loop()
        self.server = await loop.create_unix_server(lambda: ur.Connection(self.device), self.path)
        return await self.connect()

    async def connect(self, resumed=False):
        client = await FakeQemu.connect(self.path, resumed)
        self.clients.append(client)
        return client

    def ask(self, cmd, **fields):
        reply = self.control.handle(json.dumps(dict(fields, cmd=cmd)))
        self.assertTrue(reply["ok"], reply)
        return reply


class Wire(DiskTest):
    async def test_fresh_and_resumed_qemu_both_stay_in_step(self):
        qemu = await self.start()
        await qemu.configure()
        again = await self.connect(resumed=True)
        await again.event(ur.DEVICE_CONNECT)
        self.assertEqual([kind for kind, _ in again.events],
                         [ur.HELLO, ur.HELLO, ur.DEVICE_DISCONNECT, ur.INTERFACE_INFO, ur.EP_INFO])
        ident = again.send(ur.SET_CONFIGURATION, b"\1")
        self.assertEqual((await again.answer(ident))[1], b"\0\1")

    async def test_plug_unplug_replug(self):
        qemu = await self.start(plugged=False)
        await asyncio.sleep(0.02)
        self.assertFalse([event for event in qemu.events if event[0] == ur.DEVICE_CONNECT])
        self.ask("plug")
        await qemu.configure(1)
        qemu.events.clear()
        self.ask("unplug")
        await qemu.event(ur.DEVICE_DISCONNECT)
        self.ask("plug")
        await qemu.configure()
        stats = self.ask("stats")
        self.assertEqual((stats["plugs"], stats["alt"], stats["configured"]), (2, 0, True))

    async def test_resume_keep_goes_on_where_it_was(self):
        qemu = await self.start(resume="keep")
        await qemu.configure(1)
        qemu.writer.close()
        again = await self.connect(resumed=True)
        await again.event(ur.DEVICE_CONNECT)
        self.assertEqual((await again.uas(bytes(16)))[0], 0)

    async def test_descriptors(self):
        qemu = await self.start(speed="super")
        await qemu.configure()
        _, config = await qemu.control(0x80, 6, 0x200, 0, 255)
        self.assertEqual(struct.unpack_from("<H", config, 2)[0], len(config))
        self.assertIn(bytes.fromhex("090400010408066200"), config)
        self.assertIn(bytes.fromhex("07058302000400" "06300f050000" "04240200"), config)
        _, bos = await qemu.control(0x80, 6, 0x0F00, 0, 255)
        self.assertEqual(len(bos), bos[2])
        status, _ = await qemu.control(0x80, 6, 0x0600, 0, 10)
        self.assertEqual(status, ur.STALL)

    def test_descriptor_variants(self):
        from usbdisk.device import DEFAULTS
        high = desc.configuration(dict(DEFAULTS, speed="high"))
        self.assertNotIn(b"\x06\x30", high)
        self.assertEqual(high.count(b"\x04\x24"), 4)
        self.assertNotIn(b"\x04\x24", desc.configuration(dict(DEFAULTS, pipe_usage=False)))
        only = desc.configuration(dict(DEFAULTS, alts="uas"))
        self.assertIn(bytes.fromhex("090400000408066200"), only)
        self.assertNotIn(b"\x08\x06\x50", only)
        self.assertNotIn(b"\x08\x06\x62", desc.configuration(dict(DEFAULTS, alts="bot")))


class BotTest(DiskTest):
    @staticmethod
    async def recover(qemu):
        await qemu.control(0x21, 0xFF)
        await qemu.control(2, 1, 0, desc.DATA_IN)
        await qemu.control(2, 1, 0, desc.DATA_OUT)

    async def test_write_and_read_back(self):
        qemu = await self.start()
        await qemu.configure()
        data = random.randbytes(64 * BLOCK)
        self.assertEqual((await qemu.bot(cdb10(0x2A, 8, 64), data=data))[:2], (0, 0))
        self.assertEqual(await qemu.bot(cdb10(0x28, 8, 64), length=len(data)), (0, 0, data))
        stats = self.ask("stats")
        self.assertEqual(stats["dirty_blocks"], [64])
        self.assertEqual((stats["bot"]["reads"], stats["bot"]["writes"]), (1, 1))
        self.assertEqual((await qemu.bot(cdb10(0x35, 0, 0)))[0], 0)
        self.assertEqual(self.ask("stats")["dirty_blocks"], [0])

    async def test_residue_and_sense(self):
        qemu = await self.start()
        await qemu.configure()
        result, residue, data = await qemu.bot(inquiry(), length=255)
        self.assertEqual((result, residue, len(data)), (0, 255 - 96, 96))
        result, residue, _ = await qemu.bot(cdb10(0x28, 1 << 30, 1), length=BLOCK)
        self.assertEqual((result, residue), (1, BLOCK))
        _, _, sense = await qemu.bot(bytes((3, 0, 0, 0, 18)).ljust(16, b"\0"), length=18)
        self.assertEqual((sense[2], sense[12]), (5, 0x21))

    async def test_phase_errors(self):
        qemu = await self.start()
        await qemu.configure()
        for command in ({"cdb": cdb10(0x28, 0, 1)}, {"cdb": cdb10(0x28, 0, 1), "data": bytes(BLOCK)},
                        {"cdb": cdb10(0x2A, 0, 1), "length": BLOCK}):
            self.assertEqual((await qemu.bot(**command))[0], 2)
            await self.recover(qemu)
        self.assertEqual((await qemu.bot(bytes(16)))[0], 0)

    async def test_bad_cbw_needs_reset_recovery(self):
        qemu = await self.start()
        await qemu.configure()
        self.assertEqual((await qemu.done(qemu.bulk(desc.DATA_OUT, b"nonsense")))[0], ur.STALL)
        await qemu.control(2, 1, 0, desc.DATA_OUT)
        self.assertEqual((await qemu.bot(bytes(16)))[0], "stall")
        await self.recover(qemu)
        self.assertEqual((await qemu.bot(bytes(16)))[0], 0)

    async def test_luns(self):
        qemu = await self.start(lun_count=3)
        await qemu.configure()
        self.assertEqual(await qemu.control(0xA1, 0xFE, 0, 0, 1), (0, b"\2"))
        block = random.randbytes(BLOCK)
        await qemu.bot(cdb10(0x2A, 1, 1), data=block, lun=2)
        self.assertEqual((await qemu.bot(cdb10(0x28, 1, 1), length=BLOCK, lun=2))[2], block)
        self.assertEqual((await qemu.bot(cdb10(0x28, 1, 1), length=BLOCK, lun=1))[2], bytes(BLOCK))


class UasTest(DiskTest):
    async def test_write_and_read_back_on_streams(self):
        qemu = await self.start()
        await qemu.configure(1)
        data = random.randbytes(1 << 20)
        self.assertEqual((await qemu.uas(cdb10(0x2A, 0, 2048), data=data))[0], 0)
        self.assertEqual((await qemu.uas(cdb10(0x28, 0, 2048), length=1 << 20))[2], data)
        self.assertEqual(self.ask("stats")["uas"]["commands"], 2)

    async def test_queue(self):
        qemu = await self.start(latency={"kind": "fixed", "ms": 20})
        await qemu.configure(1)
        started = [qemu.uas_start(tag, cdb10(0x28, tag, 1), length=BLOCK) for tag in range(1, 31)]
        for one in started:
            self.assertEqual((await qemu.uas_end(one))[0], 0)
        self.assertEqual(self.ask("stats")["uas"]["max_inflight"], 30)

    async def test_check_condition(self):
        qemu = await self.start()
        await qemu.configure(1)
        status, iu, _ = await qemu.uas(cdb10(0x28, 1 << 30, 1), length=BLOCK)
        self.assertEqual((status, iu[16 + 2], iu[16 + 12]), (2, 5, 0x21))
        self.assertEqual((await qemu.uas(bytes(16), lun=5))[1][16 + 12], 0x25)

    async def test_high_speed_asks_with_ready_ius(self):
        qemu = await self.start(speed="high")
        await qemu.configure(1)
        data = random.randbytes(4 * BLOCK)
        first, _, _ = qemu.uas_start(1, cdb10(0x2A, 0, 4), data=data, streams=False)
        second, _, _ = qemu.uas_start(2, cdb10(0x28, 0, 4), length=len(data), streams=False)
        self.assertEqual((await qemu.done(first))[1][:4], bytes((7, 0, 0, 1)))
        self.assertEqual((await qemu.done(second))[1][:4], bytes((6, 0, 0, 2)))
        old = qemu.bulk(desc.DATA_IN, length=len(data))
        self.assertEqual((await qemu.done(old))[1], bytes(len(data)))
        self.assertEqual((await qemu.done(qemu.bulk(desc.STATUS, length=112)))[1][:4], bytes((3, 0, 0, 2)))
        await qemu.done(qemu.bulk(desc.DATA_OUT, data))
        self.assertEqual((await qemu.done(qemu.bulk(desc.STATUS, length=112)))[1][:4], bytes((3, 0, 0, 1)))
        self.assertEqual(self.ask("stats")["dirty_blocks"], [4])

    async def test_answers_that_cross_a_cancel_are_given_again(self):
        qemu = await self.start()
        await qemu.configure(1)
        block = random.randbytes(BLOCK)
        await qemu.uas(cdb10(0x2A, 5, 1), data=block)
        status, moved, command = qemu.uas_start(4, cdb10(0x28, 5, 1), length=BLOCK)
        await qemu.done(command)
        await asyncio.sleep(0.02)
        qemu.cancel(moved)      # both have been answered; as if those answers were still on the way
        qemu.cancel(status)
        moved = qemu.bulk(desc.DATA_IN, length=BLOCK, stream=4)
        status = qemu.bulk(desc.STATUS, length=112, stream=4)
        self.assertEqual((await qemu.done(moved))[1], block)
        self.assertEqual((await qemu.done(status))[1][6], 0)
        qemu.cancelled.clear()
        self.assertEqual((await qemu.uas(cdb10(0x28, 6, 1), length=BLOCK, tag=4))[2], bytes(BLOCK))

    async def test_write_data_sent_again_after_a_cancel_is_not_a_second_write(self):
        qemu = await self.start()
        await qemu.configure(1)
        status, moved, command = qemu.uas_start(4, cdb10(0x2A, 5, 1), data=b"x" * BLOCK)
        await qemu.done(command)
        await qemu.done(status)
        qemu.cancel(moved)
        again = qemu.bulk(desc.DATA_OUT, b"x" * BLOCK, stream=4)
        self.assertEqual(await qemu.done(again), (ur.SUCCESS, BLOCK))
        self.assertEqual((await qemu.uas(cdb10(0x2A, 6, 1), data=b"y" * BLOCK, tag=4))[0], 0)
        self.assertEqual((await qemu.uas(cdb10(0x28, 5, 2), length=2 * BLOCK))[2], b"x" * BLOCK + b"y" * BLOCK)

    async def test_reset_and_set_interface_end_everything(self):
        qemu = await self.start()
        await qemu.configure(1)
        self.ask("fault", name="hang", op="read", count=1)
        status, _, _ = qemu.uas_start(2, cdb10(0x28, 0, 1), length=BLOCK)
        with self.assertRaises(asyncio.TimeoutError):
            await qemu.done(status, 0.05)
        qemu.cancel(status)
        qemu.send(ur.RESET)
        await qemu.answer(qemu.send(ur.SET_CONFIGURATION, b"\1"))
        for alt in (1, 0, 1):
            self.assertEqual(await qemu.set_alt(alt), 0)
        self.assertEqual((await qemu.uas(cdb10(0x28, 0, 1), length=BLOCK, tag=2))[0], 0)
        self.assertEqual(self.ask("stats")["set_interface"], {"0": 1, "1": 3})

    async def test_task_management(self):
        qemu = await self.start()
        await qemu.configure(1)
        self.ask("fault", name="hang", count=1)
        qemu.uas_start(2, cdb10(0x28, 0, 1), length=BLOCK)

        async def manage(tag, function, target=0, lun=0):
            status = qemu.bulk(desc.STATUS, length=112, stream=tag)
            qemu.bulk(desc.COMMAND, struct.pack(">BxHBxHBB6x", 5, tag, function, target, 0, lun))
            return (await qemu.done(status))[1][7]

        self.assertEqual(await manage(9, 0x80, 2), 8)       # query: it is there
        self.assertEqual(await manage(9, 0x01, 2), 0)       # abort
        self.assertEqual(await manage(9, 0x80, 2), 0)       # gone
        self.assertEqual(await manage(9, 0x08, lun=4), 9)   # no such LUN
        self.assertEqual(await manage(9, 0x42), 4)          # no such function


class FaultTest(DiskTest):
    async def test_fail_selects_by_protocol_class_and_count(self):
        qemu = await self.start(faults=[{"name": "fail", "proto": "uas", "op": "read", "after": 1, "count": 1}])
        await qemu.configure()
        read = cdb10(0x28, 0, 1)
        self.assertEqual((await qemu.bot(read, length=BLOCK))[0], 0)
        await qemu.set_alt(1)
        results = [(await qemu.uas(read, length=BLOCK))[0] for _ in range(3)]
        self.assertEqual(results, [0, 2, 0])
        self.assertEqual(self.ask("faults")["faults"][0]["hits"], 1)
        self.ask("clear_faults")

    async def test_fails_in_a_full_queue_only(self):
        qemu = await self.start(faults=[{"name": "delay", "op": "read", "ms": 100},
                                        {"name": "fail", "proto": "uas", "op": "read", "queue": 3}])
        await qemu.configure(1)
        read = cdb10(0x28, 0, 1)
        self.assertEqual([(await qemu.uas(read, length=BLOCK))[0] for _ in range(4)], [0] * 4)
        started = [qemu.uas_start(tag, read, BLOCK, b"", 0) for tag in (1, 2, 3, 4)]
        self.assertEqual([(await qemu.uas_end(one))[0] for one in started], [0, 0, 2, 2])

    async def test_fails_at_a_place(self):
        qemu = await self.start(faults=[{"name": "fail", "op": "read", "sector": 9}])
        await qemu.configure()
        results = [(await qemu.bot(cdb10(0x28, lba, blocks), length=blocks * BLOCK))[0]
                   for lba, blocks in ((8, 1), (8, 2), (9, 1), (10, 1), (2, 8))]
        self.assertEqual(results, [0, 1, 1, 0, 1])
        self.assertEqual((await qemu.bot(bytes(16)))[0], 0)  # TEST UNIT READY reads no place

    async def test_stalls(self):
        qemu = await self.start()
        await qemu.configure()
        self.ask("fault", name="stall", op="read", pipe="data", count=1)
        self.assertEqual((await qemu.bot(cdb10(0x28, 0, 1), length=BLOCK))[0], 1)
        self.ask("fault", name="stall", op="read", count=1)
        self.assertEqual((await qemu.bot(cdb10(0x28, 0, 1), length=BLOCK))[0], 0)
        await qemu.set_alt(1)
        self.ask("fault", name="stall", op="read", count=1)
        self.assertEqual((await qemu.uas(cdb10(0x28, 0, 1), length=BLOCK))[0], "stall")
        self.ask("fault", name="stall", op="write", pipe="data", count=1)
        status, moved, _ = qemu.uas_start(5, cdb10(0x2A, 0, 1), data=bytes(BLOCK))
        self.assertEqual((await qemu.done(moved))[0], ur.STALL)
        self.assertEqual((await qemu.done(status))[1][6], 2)

    async def test_short_delay_unplug(self):
        qemu = await self.start()
        await qemu.configure(1)
        self.ask("fault", name="short", op="read", bytes=100, count=1)
        self.assertEqual(len((await qemu.uas(cdb10(0x28, 0, 1), length=BLOCK))[2]), 100)
        self.ask("fault", name="delay", op="read", ms=60, count=1)
        began = asyncio.get_running_loop().time()
        await qemu.uas(cdb10(0x28, 0, 1), length=BLOCK)
        self.assertGreater(asyncio.get_running_loop().time() - began, 0.05)
        qemu.events.clear()
        self.ask("fault", name="unplug", op="sync")
        qemu.uas_start(1, cdb10(0x35, 0, 0))
        await qemu.event(ur.DEVICE_DISCONNECT)
        self.assertFalse(self.ask("stats")["plugged"])

    async def test_what_is_refused_ends_its_data_phase(self):
        qemu = await self.start(speed="super")
        await qemu.configure(1)
        page = bytes((0x12, 1, 0x5A, 0, 255, 0)).ljust(16, b"\0")
        identify = bytes((0xA1, 0x08, 0x2E, 0, 1)).ljust(16, b"\0")
        track = bytes((0x52, 1, 0, 0, 0, 1, 0, 0, 36)).ljust(16, b"\0")  # udev asks a CD-ROM for it
        for command in page, identify, track:
            started = qemu.uas_start(3, command, 512, b"", 0)
            self.assertEqual((await qemu.uas_end(started))[0], 2)
            self.assertNotIn(started[1], qemu.cancelled)
        # The host expects no data from these.
        for command in bytes((0xA1, 0x06, 0x20)), bytes((0x12, 1, 0x5A)):
            self.assertEqual((await qemu.uas(command.ljust(16, b"\0")))[0], 2)

    async def test_refusals(self):
        qemu = await self.start()
        await qemu.configure()
        self.ask("fault", name="refuse_set_interface", alt=1, count=1)
        self.assertEqual(await qemu.set_alt(1), ur.STALL)
        self.ask("fault", name="refuse_streams", how="resource", count=1)
        qemu.events.clear()
        self.assertEqual(await qemu.set_alt(1), 0)
        endpoints = await qemu.event(ur.EP_INFO)
        self.assertEqual(max(struct.unpack_from("<32I", endpoints, 160)), 0)
        await qemu.set_alt(1)
        endpoints = await qemu.event(ur.EP_INFO)
        self.assertEqual(max(struct.unpack_from("<32I", endpoints, 160)), 32)
        self.ask("fault", name="refuse_streams", how="disconnect")
        qemu.send(ur.ALLOC_BULK_STREAMS, struct.pack("<II", 1 << 17, 32))
        self.assertEqual((await qemu.event(ur.BULK_STREAMS_STATUS))[8], ur.INVAL)
        streams = bytes.fromhex("06300f050000")
        self.assertIn(streams, (await qemu.control(0x80, 6, 0x200, 0, 255))[1])
        self.ask("fault", name="refuse_streams")
        self.assertNotIn(streams, (await qemu.control(0x80, 6, 0x200, 0, 255))[1])

    async def test_identity_under_one_protocol(self):
        qemu = await self.start()
        self.ask("fault", name="identity", proto="uas", vendor="Liar", size=1 << 20, offset=BLOCK)
        await qemu.configure()
        await qemu.bot(cdb10(0x2A, 1, 1), data=b"1" * BLOCK)
        self.assertEqual((await qemu.bot(cdb10(0x25, 0, 0), length=8))[2][:4], struct.pack(">I", 8191))
        await qemu.set_alt(1)
        self.assertEqual((await qemu.uas(cdb10(0x25, 0, 0), length=8))[2][:4], struct.pack(">I", 2047))
        self.assertEqual((await qemu.uas(inquiry(), length=255))[2][8:16], b"Liar    ")
        self.assertEqual((await qemu.uas(cdb10(0x28, 0, 1), length=BLOCK))[2], b"1" * BLOCK)

    async def test_needs_reset_and_gone_on_reset(self):
        qemu = await self.start(faults=[{"name": "needs_reset"}])
        await qemu.configure(1)
        await qemu.set_alt(0)
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(qemu.bot(bytes(16)), 0.1)
        qemu.send(ur.RESET)
        await qemu.answer(qemu.send(ur.SET_CONFIGURATION, b"\1"))
        self.assertEqual((await qemu.bot(bytes(16)))[0], 0)
        self.ask("fault", name="gone_on_reset")
        qemu.events.clear()
        qemu.send(ur.RESET)
        await qemu.event(ur.DEVICE_DISCONNECT)

    def test_wrong_fault_is_refused(self):
        from usbdisk.faults import Faults
        with self.assertRaises(ValueError):
            Faults([{"name": "hnag"}])


class CommandTest(DiskTest):
    async def test_pages(self):
        qemu = await self.start(luns=[{"path": os.path.join(self.folder.name, "l"), "size": 3 << 40, "ata": True}])
        await qemu.configure(1)
        pages = (await qemu.uas(inquiry(0), length=255))[2]
        self.assertEqual(pages[4:], bytes((0, 0x80, 0x83, 0xB0, 0xB1, 0xB2)))
        self.assertEqual((await qemu.uas(inquiry(0x80), length=255))[2][4:], b"USBDISK0001")
        capacity = (await qemu.uas(cdb10(0x25, 0, 0), length=8))[2]
        self.assertEqual(capacity[:4], b"\xff" * 4)
        long = (await qemu.uas(struct.pack(">BBQIBB", 0x9E, 0x10, 0, 32, 0, 0), length=32))[2]
        self.assertEqual(struct.unpack_from(">QI", long), ((3 << 31) - 1, 512))
        self.assertEqual(long[13], 3)
        mode = (await qemu.uas(bytes((0x1A, 0, 8, 0, 255)).ljust(16, b"\0"), length=255))[2]
        self.assertEqual(mode[4 + 8 + 2] & 4, 4)
        ata = bytes((0x85, 8, 0x0E, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xEC, 0))
        identify = (await qemu.uas(ata, length=512))[2]
        self.assertEqual(sum(identify) & 0xFF, 0)
        luns = (await qemu.uas(struct.pack(">BBxxxxIxx", 0xA0, 0, 255).ljust(16, b"\0"), length=255))[2]
        self.assertEqual(struct.unpack_from(">I", luns)[0], 8)

    async def test_unmap(self):
        """LBPU without LBPME, and a limit that is enforced."""
        qemu = await self.start(luns=[{"path": os.path.join(self.folder.name, "l"), "size": 4 << 20, "unmap": True, "lbpme": False,
                                       "unmap_blocks": 16}])
        await qemu.configure(1)

        def unmap(*ranges):
            body = b"".join(struct.pack(">QI4x", *one) for one in ranges)
            data = struct.pack(">HH4x", len(body) + 6, len(body)) + body
            return qemu.uas(struct.pack(">B6xHx", 0x42, len(data)).ljust(16, b"\0"), data=data)

        self.assertEqual((await qemu.uas(inquiry(0xB2), length=255))[2][5], 0x80)
        limits = (await qemu.uas(inquiry(0xB0), length=255))[2]
        self.assertEqual(struct.unpack_from(">II", limits, 20), (16, 64))
        long = (await qemu.uas(struct.pack(">BBQIBB", 0x9E, 0x10, 0, 32, 0, 0), length=32))[2]
        self.assertEqual(long[14] & 0x80, 0)
        await qemu.uas(cdb10(0x2A, 0, 32), data=b"x" * 32 * BLOCK)
        self.assertEqual((await unmap((0, 8), (24, 8)))[0], 0)
        self.assertNotEqual((await unmap((8, 17)))[0], 0)
        self.assertEqual((await qemu.uas(cdb10(0x28, 0, 32), length=32 * BLOCK))[2],
                         bytes(8 * BLOCK) + b"x" * 16 * BLOCK + bytes(8 * BLOCK))

    async def test_fua_and_power_loss(self):
        qemu = await self.start()
        await qemu.configure(1)
        await qemu.uas(cdb10(0x2A, 0, 1, flags=8), data=b"f" * BLOCK)
        await qemu.uas(cdb10(0x2A, 1, 1), data=b"v" * BLOCK)
        self.assertEqual(self.ask("power_loss")["lost_blocks"], [1])
        self.ask("plug")
        qemu.events.clear()
        await asyncio.sleep(0.02)
        await qemu.configure(1)
        self.assertEqual((await qemu.uas(cdb10(0x28, 0, 2), length=2 * BLOCK))[2], b"f" * BLOCK + bytes(BLOCK))

    async def test_set_and_quit(self):
        await self.start()
        self.ask("set", wcache="through", latency={"kind": "fixed", "ms": 1})
        self.ask("set", lun=0, serial="OTHER")
        self.assertFalse(self.control.handle('{"cmd": "set", "nonsense": 1}')["ok"])
        self.assertFalse(self.control.handle("not json")["ok"])
        self.assertEqual(self.device.luns[0].cfg["serial"], "OTHER")
        self.ask("quit")
        await asyncio.wait_for(self.control.stopped.wait(), 1)


class Parts(unittest.TestCase):
    def test_cache_against_a_plain_array(self):
        rng = random.Random(1)
        with tempfile.TemporaryDirectory() as folder:
            disk = backing.Backing(os.path.join(folder, "b"), 1 << 16)
            now, safe = bytearray(1 << 16), bytearray(1 << 16)
            for step in range(2000):
                at = rng.randrange(1 << 16)
                length = rng.randrange(1, 4096)
                length = min(length, (1 << 16) - at)
                action = rng.random()
                if action < 0.45:
                    data = rng.randbytes(length)
                    disk.write(at, data, through=action < 0.1)
                    now[at:at + length] = data
                    if action < 0.1:
                        safe[at:at + length] = data
                elif action < 0.9:
                    self.assertEqual(disk.read(at, length), now[at:at + length], step)
                elif action < 0.95:
                    disk.flush()
                    safe[:] = now
                elif action < 0.97:
                    disk.discard(at, length)
                    now[at:at + length] = safe[at:at + length] = bytes(length)
                else:
                    disk.drop()
                    now[:] = safe
                self.assertEqual(disk.dirty, sum(map(len, disk.extents.values())))
            disk.close()

    def test_history_counts_what_it_holds(self):
        history = pipes.History()
        for count in range(10000):
            history.add(count % 64, None, 0, bytes(100000), None)
        self.assertEqual((len(history.entries), history.bytes), (64, 6400000))
        for count in range(1000):
            history.add(1000 + count, None, 0, None, None)
        self.assertEqual((len(history.entries), history.bytes), (pipes.HISTORY_PACKETS, 0))

    def rate(self, depth, count=600):
        """Random reads per second of the hdd model, without real waits."""
        rng = random.Random(2)
        size = 1 << 40
        arm = latency.Arm(size)
        queue = [rng.randrange(size // 4096) * 4096 for _ in range(depth)]
        now = 0.0
        for _ in range(count):
            index = min(range(depth), key=lambda i: arm.positioning(queue[i], now))
            now = arm.access(queue[index], 4096, now)
            queue[index] = rng.randrange(size // 4096) * 4096
        return count / now

    def test_hdd_gains_by_its_queue(self):
        one, many = self.rate(1), self.rate(32)
        self.assertTrue(70 < one < 100, one)
        self.assertTrue(2.5 < many / one < 3.7, many / one)

    def test_a_model_for_each_protocol(self):
        class Clock:
            now = 0.0
            calls = []

            def time(self):
                return self.now

            def call_at(self, when, *call):
                self.calls.append((when, call))

        class Task:
            length, is_sync = 4096, False

            def __init__(self, proto):
                self.proto = proto

        clock, done = Clock(), []
        model = latency.make({"kind": "per-proto", "bot": {"kind": "fixed", "ms": 4, "parallel": 1},
                              "uas": {"kind": "fixed", "ms": 12, "parallel": 1}}, clock, 1 << 30)
        for proto in ("bot", "bot", "uas", "uas"):
            model.submit(Task(proto), lambda proto=proto: done.append((proto, round(clock.now * 1e3))))
        while clock.calls:
            clock.calls.sort(key=lambda one: one[0])
            clock.now, (call, *arguments) = clock.calls.pop(0)
            call(*arguments)
        self.assertEqual(done, [("bot", 4), ("bot", 8), ("uas", 12), ("uas", 24)])
        model.submit(Task("uas"), lambda: done.append("late"))
        model.clear()
        for _when, (call, *arguments) in clock.calls:
            call(*arguments)
        self.assertNotIn("late", done)
        for wrong in ({"kind": "per-proto", "usb": {}}, {"kind": "per-proto", "bot": {"kind": "nothing"}}):
            with self.assertRaises(ValueError):
                latency.make(wrong, clock, 1 << 30)

    def test_hdd_keeps_several_streams(self):
        """Eight alternating streams together have the rate of one, except for the arm once in 8 MiB."""
        size, arm, now = 1 << 40, latency.Arm(1 << 40, mb_per_s=40), 0.0
        for index in range(200):
            for stream in range(8):
                now = arm.access(stream * (size // 8) + (index << 20), 1 << 20, now)
        self.assertTrue(35 < 1600 * (1 << 20) / now / 1e6 <= 40, now)
        # An access outside a stream always costs the arm.
        for stream in range(8):
            self.assertFalse(arm.cached(stream * (size // 8), 1 << 20))

    def test_hdd_streams_at_its_rate(self):
        arm, now = latency.Arm(1 << 40), 0.0
        arm.access(0, 4096, now)
        for index in range(100):
            now = arm.access(4096 + index * 65536, 65536, now) + 0.0002     # the host's own pause, during read-ahead
        self.assertAlmostEqual(100 * 65536 / now / 1e6, 180, delta=15)


if __name__ == "__main__":
    unittest.main()

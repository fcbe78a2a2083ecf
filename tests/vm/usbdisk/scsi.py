# SPDX-License-Identifier: LGPL-2.1-or-later
"""The SCSI command set of one logical unit (SPC-4, SBC-3), and the tasks the transports carry."""

import struct

from . import faults, mmc, pages

GOOD, CHECK = 0x00, 0x02

MEDIUM_ERROR = (0x03, 0x11, 0x00)
NO_MEDIUM = (0x02, 0x3A, 0x00)
BAD_OPCODE = (0x05, 0x20, 0x00)
OUT_OF_RANGE = (0x05, 0x21, 0x00)
BAD_FIELD = (0x05, 0x24, 0x00)
NO_SUCH_LUN = (0x05, 0x25, 0x00)
BAD_PARAMETER = (0x05, 0x26, 0x00)
PROTECTED = (0x07, 0x27, 0x00)
ABORTED = (0x0B, 0x47, 0x03)
MISCOMPARE = (0x0E, 0x1D, 0x00)

VERIFY = {0x2F, 0xAF, 0x8F}
WRITE_VERIFY = {0x2E, 0xAE, 0x8E}
WRITE_SAME = {0x41, 0x93}
DATA_IN = faults.READ | {0x03, 0x12, 0x1A, 0x25, 0x5A, 0x9E, 0xA0, 0xA3}
MEDIUM_ACCESS = faults.READ | faults.WRITE | VERIFY | WRITE_VERIFY | WRITE_SAME


def fixed_sense(key, asc, ascq):
    return bytes((0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, asc, ascq, 0, 0, 0, 0))


class Result:
    """`data` is None when the command has no data-in phase at all."""
    __slots__ = ("status", "sense", "data")

    def __init__(self, data=None, status=GOOD, sense=b""):
        self.status, self.sense, self.data = status, sense, data


def failed(code):
    return Result(None, CHECK, fixed_sense(*code))


class Task:
    """One command in a transport."""
    __slots__ = ("proto", "tag", "lun", "cdb", "op", "faults", "failed", "data", "wanted", "result",
                 "place", "length", "is_sync", "cached", "dirty_extents", "residue", "dropped")

    def __init__(self, proto, tag, lun, cdb):
        self.proto, self.tag, self.lun, self.cdb, self.op = proto, tag, lun, cdb, cdb[0]
        self.faults, self.failed, self.dropped = {}, False, False
        self.data, self.wanted, self.result, self.residue = b"", 0, None, 0
        self.place = self.length = self.dirty_extents = 0
        self.is_sync = self.op in faults.SYNC
        self.cached = False


def extent(cdb):
    """LBA and number of blocks of a medium access."""
    group = cdb[0] >> 5
    if group == 0:
        return (cdb[1] & 0x1F) << 16 | cdb[2] << 8 | cdb[3], cdb[4] or 256
    if group in (1, 2):
        return struct.unpack_from(">I", cdb, 2)[0], struct.unpack_from(">H", cdb, 7)[0]
    if group == 5:
        return struct.unpack_from(">II", cdb, 2)
    return struct.unpack_from(">QI", cdb, 2)


# Position of the allocation length in a command that reads and may be refused.
ALLOCATION = {0x12: slice(3, 5), 0x1A: slice(4, 5), 0x9E: slice(10, 14), 0xA3: slice(6, 10),
              **dict.fromkeys((0x23, 0x43, 0x46, 0x4A, 0x4D, 0x51, 0x52, 0x5A, 0x5C), slice(7, 9)),
              **dict.fromkeys((0xA4, 0xAC, 0xAD), slice(8, 10))}
ATA_PASS_THROUGH = (0x85, 0xA1)


def reads(cdb):
    """Whether the host expects data from a command that this disk may refuse."""
    if cdb[0] in ATA_PASS_THROUGH:      # T_DIR, T_LENGTH
        return bool(cdb[2] & 0x08 and cdb[2] & 0x03)
    return cdb[0] in ALLOCATION and any(cdb[ALLOCATION[cdb[0]]])


def out_length(cdb, block_size):
    """Bytes of data-out that the command itself needs; 0 for one that will be refused."""
    op = cdb[0]
    if op in faults.WRITE | WRITE_VERIFY:
        return extent(cdb)[1] * block_size
    if op in VERIFY:
        return {0: 0, 1: extent(cdb)[1]}.get(cdb[1] >> 1 & 3, 1) * block_size
    if op in WRITE_SAME:
        return 0 if op == 0x93 and cdb[1] & 1 else block_size
    if op == 0x15:
        return cdb[4]
    if op in (0x42, 0x55):
        return struct.unpack_from(">H", cdb, 7)[0]
    return 0


class View:
    """A logical unit as one protocol shows it: some bridges report wrong data under one of the two."""

    def __init__(self, lun, cfg, overrides):
        def value(key, default):
            return overrides.get(key, cfg.get(key, default))

        self.lun = lun
        self.kind = cfg.get("kind", "disk")
        self.block_size = value("block_size", 2048 if self.kind == "cdrom" else 512)
        self.physical = max(value("physical", 4096), self.block_size)
        self.size = value("size", cfg["size"])
        self.blocks = self.size // self.block_size
        self.offset = value("offset", 0)
        self.content = overrides.get("content")
        self.vendor, self.product = value("vendor", "Emulated"), value("product", "USB Disk")
        self.revision, self.serial = value("revision", "0100"), value("serial", "")
        self.wwn = value("wwn", None)
        self.hide_vpd = value("hide_vpd", [])
        self.removable = cfg.get("removable", self.kind == "cdrom")
        self.read_only = cfg.get("read_only", self.kind == "cdrom")
        self.rotation = cfg.get("rotation", 7200)
        self.unmap = cfg.get("unmap", False)
        self.unmap_blocks = cfg.get("unmap_blocks", 0x3FFFFF)       # limit of one command
        self.lbpme = cfg.get("lbpme", self.unmap)   # many bridges report LBPU without this
        self.ata = cfg.get("ata", False)
        self.wce_default = cfg["wcache"] == "volatile"
        self.dpofua = self.wce_default


class Lun:
    """State that outlives commands.  Handlers return a Result."""

    def __init__(self, index, cfg, backing):
        self.index, self.cfg, self.backing = index, cfg, backing
        self.wce = cfg["wcache"] == "volatile"
        self.medium = cfg.get("medium", True)
        self.sense = fixed_sense(0, 0, 0)
        self.views = {}

    def view(self, proto, overrides):
        key = (proto, repr(overrides))
        if key not in self.views:
            self.views.clear()
            self.views[key] = View(self.index, self.cfg, overrides)
        return self.views[key]

    def execute(self, view, cdb, data):
        handler = HANDLERS.get(cdb[0]) or (mmc.HANDLERS.get(cdb[0]) if view.kind == "cdrom" else None)
        if not handler:
            return failed(BAD_OPCODE)
        return handler(self, view, cdb, data)


def cut(data, allocation):
    """A data-in answer of at most `allocation` bytes. 0 bytes are no data phase."""
    return Result(data[:allocation] if allocation else None)


def _inquiry(lun, view, cdb, _data):
    allocation = cdb[3] << 8 | cdb[4]
    if cdb[1] & 1:
        page = pages.vpd(view, cdb[2])
        return cut(page, allocation) if page else failed(BAD_FIELD)
    return failed(BAD_FIELD) if cdb[2] else cut(pages.inquiry(view), allocation)


def _test_unit_ready(lun, _view, _cdb, _data):
    return Result() if lun.medium else failed(NO_MEDIUM)


def _request_sense(lun, _view, cdb, _data):
    sense, lun.sense = lun.sense, fixed_sense(0, 0, 0)
    return cut(sense, cdb[4])


def _capacity10(lun, view, _cdb, _data):
    return Result(pages.capacity10(view)) if lun.medium else failed(NO_MEDIUM)


def _service_in16(lun, view, cdb, _data):
    if cdb[1] & 0x1F != 0x10:
        return failed(BAD_FIELD)
    if not lun.medium:
        return failed(NO_MEDIUM)
    return cut(pages.capacity16(view), struct.unpack_from(">I", cdb, 10)[0])


def _place(lun, view, cdb):
    """Byte offset and length of an access, or the reason there is none."""
    lba, count = extent(cdb)
    if not lun.medium:
        return None, NO_MEDIUM
    if lba + count > view.blocks:
        return None, OUT_OF_RANGE
    return lba * view.block_size + view.offset, count * view.block_size


def _read(lun, view, cdb, _data):
    start, length = _place(lun, view, cdb)
    if start is None:
        return failed(length)
    if not length:
        return Result()
    if view.content == "zero":
        return Result(bytes(length))
    data = lun.backing.read(start, length)
    if view.content == "invert":
        data = (int.from_bytes(data, "big") ^ ((1 << 8 * length) - 1)).to_bytes(length, "big")
    return Result(data)


def _write(lun, view, cdb, data):
    start, length = _place(lun, view, cdb)
    if start is None:
        return failed(length)
    if view.read_only:
        return failed(PROTECTED)
    if len(data) < length:
        return failed(BAD_FIELD)
    if length:
        through = not lun.wce or (cdb[0] not in (0x0A,) and cdb[1] & 0x08)
        lun.backing.write(start, data if len(data) == length else data[:length], through)
    return Result()


def _verify(lun, view, cdb, data):
    start, length = _place(lun, view, cdb)
    if start is None:
        return failed(length)
    if cdb[1] >> 1 & 3 == 1 and lun.backing.read(start, length) != bytes(data):
        return failed(MISCOMPARE)
    return Result()


def _write_same(lun, view, cdb, data):
    start, length = _place(lun, view, cdb)
    if start is None:
        return failed(length)
    if cdb[1] & 0x08 and view.unmap:
        lun.backing.discard(start, length)
        return Result()
    block = bytes(data[:view.block_size]) or bytes(view.block_size)
    step = block * max((1 << 20) // len(block), 1)
    for at in range(start, start + length, len(step)):
        lun.backing.write(at, step[:start + length - at], not lun.wce)
    return Result()


def _unmap(lun, view, _cdb, data):
    if not view.unmap:
        return failed(BAD_OPCODE)
    if sum(struct.unpack_from(">I", data, at + 8)[0] for at in range(8, len(data) - 15, 16)) > view.unmap_blocks:
        return failed(BAD_PARAMETER)
    for at in range(8, len(data) - 15, 16):
        lba, count = struct.unpack_from(">QI", data, at)
        if lba + count > view.blocks:
            return failed(OUT_OF_RANGE)
        if count:
            lun.backing.discard(lba * view.block_size + view.offset, count * view.block_size)
    return Result()


def _synchronize(lun, _view, _cdb, _data):
    lun.backing.flush()
    return Result()


def _mode_sense(lun, view, cdb, _data):
    allocation = cdb[4] if cdb[0] == 0x1A else cdb[7] << 8 | cdb[8]
    data = pages.mode_sense(view, lun.wce, cdb)
    return cut(data, allocation) if data else failed(BAD_FIELD)


def _mode_select(lun, view, cdb, data):
    """Only the write cache can be changed."""
    if not data:
        return Result()
    at = 8 + (data[6] << 8 | data[7]) if cdb[0] == 0x55 else 4 + data[3]
    page = data[at:]
    if len(page) < 3 or page[0] & 0x3F not in (0x08, 0x0A) or view.kind == "cdrom":
        return failed(BAD_PARAMETER)
    if page[0] & 0x3F == 0x08:
        lun.wce = bool(page[2] & 0x04)
        if not lun.wce:
            lun.backing.flush()
    return Result()


def _start_stop(lun, view, cdb, _data):
    start, load = cdb[4] & 1, cdb[4] & 2
    if not start:
        lun.backing.flush()
    if load and view.removable:
        lun.medium = bool(start)
    return Result()


def _nothing(_lun, _view, _cdb, _data):
    return Result()


def _report_opcodes(_lun, view, cdb, _data):
    allocation = struct.unpack_from(">I", cdb, 6)[0]
    if cdb[1] & 0x1F != 0x0C:
        return failed(BAD_FIELD)
    lengths = {0: 6, 1: 10, 2: 10, 4: 16, 5: 12}
    known = set(HANDLERS) if view.kind == "disk" else set(HANDLERS) | set(mmc.HANDLERS)
    known -= set() if view.unmap else {0x42}
    known -= set() if view.ata else {0x85, 0xA1}
    if not cdb[2] & 7:
        body = b"".join(struct.pack(">BBHBBH", op, 0, 0, 0, 0, lengths[op >> 5]) for op in sorted(known))
        return cut(struct.pack(">I", len(body)) + body, allocation)
    op = cdb[3]
    if op not in known:
        return cut(bytes((0, 1, 0, 0)), allocation)
    length = lengths[op >> 5]
    return cut(struct.pack(">BBHB", 0, 3, length, op) + b"\xff" * (length - 1), allocation)


def _ata(lun, view, cdb, _data):
    """ATA PASS-THROUGH: IDENTIFY DEVICE only."""
    command = cdb[14] if cdb[0] == 0x85 else cdb[9]
    if not view.ata:
        return failed(BAD_OPCODE)
    return Result(pages.ata_identify(view, lun.wce)) if command == 0xEC else failed(BAD_FIELD)


HANDLERS = {
    0x00: _test_unit_ready, 0x03: _request_sense, 0x12: _inquiry, 0x15: _mode_select, 0x1A: _mode_sense,
    0x1B: _start_stop, 0x1D: _nothing, 0x1E: _nothing, 0x25: _capacity10, 0x2E: _write, 0x35: _synchronize,
    0x41: _write_same, 0x42: _unmap, 0x55: _mode_select, 0x5A: _mode_sense, 0x85: _ata, 0x8E: _write,
    0x91: _synchronize, 0x93: _write_same, 0x9E: _service_in16, 0xA1: _ata, 0xA3: _report_opcodes,
    0xAE: _write, **{op: _read for op in faults.READ}, **{op: _write for op in faults.WRITE},
    **{op: _verify for op in VERIFY},
}


def report_luns(count, cdb):
    body = b"".join(struct.pack(">BB6x", 0, index) for index in range(count))
    return cut(struct.pack(">II", len(body), 0) + body, struct.unpack_from(">I", cdb, 6)[0])

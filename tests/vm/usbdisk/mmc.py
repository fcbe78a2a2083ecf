# SPDX-License-Identifier: LGPL-2.1-or-later
"""The answers of a CD-ROM LUN, in addition to the commands of a disk: enough for sr_mod, as on enclosures with a driver CD."""

import struct


def _answer(data, allocation):
    from .scsi import cut
    return cut(data, allocation)


def _allocation(cdb):
    return struct.unpack_from(">H", cdb, 7)[0]


def _read_toc(_lun, view, cdb, _data):
    """One data track, and the lead-out."""
    msf = cdb[1] & 2

    def address(lba):
        if not msf:
            return struct.pack(">I", lba)
        lba += 150
        return bytes((0, lba // 4500, lba // 75 % 60, lba % 75))

    if cdb[2] & 0x0F == 1:
        body = bytes((1, 1, 0, 0x14, 1, 0)) + address(0)
    else:
        body = (bytes((1, 1, 0, 0x14, 1, 0)) + address(0)
                + bytes((0, 0x14, 0xAA, 0)) + address(min(view.blocks, 4500 * 99)))
    return _answer(struct.pack(">H", len(body)) + body, _allocation(cdb))


def _get_configuration(_lun, _view, cdb, _data):
    """Profile 8, CD-ROM, and no other."""
    feature = struct.pack(">HBBHBB", 0, 3, 4, 8, 1, 0)
    return _answer(struct.pack(">IHH", 4 + len(feature), 0, 8) + feature, _allocation(cdb))


def _event_status(lun, _view, cdb, _data):
    media = bytes((0, 2 if lun.medium else 0, 0, 0))
    return _answer(struct.pack(">HBB", 2 + len(media), 4, 0x10) + media, _allocation(cdb))


def _disc_information(_lun, _view, cdb, _data):
    return _answer(struct.pack(">HBBBBBB", 32, 0x0E, 1, 1, 1, 1, 0).ljust(34, b"\0"), _allocation(cdb))


HANDLERS = {0x43: _read_toc, 0x46: _get_configuration, 0x4A: _event_status, 0x51: _disc_information}

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Data of SCSI commands that is not on the medium: INQUIRY, mode and capacity pages, ATA IDENTIFY."""

import hashlib
import struct


def pad(text, length):
    return text.encode("latin-1", "replace")[:length].ljust(length)


def digest(view):
    seed = f"{view.vendor}|{view.product}|{view.serial}|{view.lun}"
    return hashlib.sha256((view.wwn or seed).encode()).digest()


def inquiry(view):
    data = bytearray(96)
    data[0] = 5 if view.kind == "cdrom" else 0
    data[1] = 0x80 if view.removable else 0
    data[2], data[3], data[4] = 6, 2, 91
    data[7] = 2                                     # CmdQue
    data[8:16] = pad(view.vendor, 8)
    data[16:32] = pad(view.product, 16)
    data[32:36] = pad(view.revision, 4)
    for at, version in enumerate((0x0460, 0x04C0, 0x1747)):     # SPC-4, SBC-3, UAS-2
        struct.pack_into(">H", data, 58 + 2 * at, version)
    return bytes(data)


def absent(_view=None):
    """INQUIRY of a LUN that does not exist."""
    return bytes((0x7F, 0, 6, 2, 91)).ljust(96, b"\0")


def vpd(view, page):
    kind = 5 if view.kind == "cdrom" else 0
    pages = [0x00, 0x80, 0x83]
    if view.kind == "disk":
        pages += [0xB0, 0xB1, 0xB2]
    pages = [number for number in pages if number not in view.hide_vpd]
    if page not in pages:
        return None
    if page == 0x00:
        body = bytes(pages)
    elif page == 0x80:
        body = pad(view.serial, max(len(view.serial), 1))
    elif page == 0x83:
        naa = bytes((0x30 | digest(view)[0] & 0x0F,)) + digest(view)[1:8]     # NAA 3: locally assigned
        t10 = pad(view.vendor, 8) + pad(view.product, 16) + view.serial.encode("latin-1", "replace")[:32]
        body = bytes((1, 3, 0, len(naa))) + naa + bytes((2, 1, 0, len(t10))) + t10
    elif page == 0xB0:
        unmap = (view.unmap_blocks, 64, view.physical // view.block_size) if view.unmap else (0, 0, 0)
        body = struct.pack(">BBHIIIIIII", 0, 0, max(view.physical // view.block_size, 1),
                           (32 << 20) // view.block_size, 0, 0, *unmap, 0) + struct.pack(">Q", 0xFFFF)
        body = body.ljust(60, b"\0")
    elif page == 0xB1:
        body = struct.pack(">HBB", view.rotation, 0, 3 if view.rotation > 1 else 0).ljust(60, b"\0")
    else:
        body = bytes((0, 0x80 if view.unmap else 0, 2 if view.unmap else 0, 0))
    return struct.pack(">BBH", kind, page, len(body)) + body


def mode_pages(view, wce, page, control):
    """The requested mode pages. control 1 asks for the bits that can be changed."""
    caching = bytearray(20)
    caching[0], caching[1] = 0x08, 18
    caching[2] = 0x04 if (control == 1 or (wce if control != 2 else view.wce_default)) else 0
    ctrl = bytearray(12)
    ctrl[0], ctrl[1] = 0x0A, 10
    if control != 1:
        ctrl[3] = 0x10                              # unrestricted reordering
    capabilities = bytearray(22)
    capabilities[0], capabilities[1] = 0x2A, 20
    known = {0x0A: ctrl, 0x2A: capabilities} if view.kind == "cdrom" else {0x08: caching, 0x0A: ctrl}
    if page == 0x3F:
        return b"".join(bytes(known[number]) for number in sorted(known))
    return bytes(known[page]) if page in known else None


def mode_sense(view, wce, cdb):
    """MODE SENSE 6 and 10. None for a page that does not exist."""
    ten = cdb[0] == 0x5A
    body = mode_pages(view, wce, cdb[2] & 0x3F, cdb[2] >> 6)
    if body is None:
        return None
    specific = 0x80 if view.kind == "cdrom" or view.read_only else 0
    if view.dpofua:
        specific |= 0x10
    blocks = b""
    if not cdb[1] & 0x08:
        blocks = struct.pack(">II", min(view.blocks, 0xFFFFFFFF), view.block_size)
    if ten:
        return struct.pack(">HBBBBH", 6 + len(blocks) + len(body), 0, specific, 0, 0, len(blocks)) + blocks + body
    return bytes((3 + len(blocks) + len(body), 0, specific, len(blocks))) + blocks + body


def capacity10(view):
    return struct.pack(">II", min(view.blocks - 1, 0xFFFFFFFF), view.block_size)


def capacity16(view):
    exponent = max(view.physical // view.block_size, 1).bit_length() - 1
    return struct.pack(">QIBBH", view.blocks - 1, view.block_size, 0, exponent,
                       0xC000 if view.lbpme else 0).ljust(32, b"\0")


def ata_string(text, length):
    data = pad(text, length)
    return b"".join(data[i + 1:i + 2] + data[i:i + 1] for i in range(0, length, 2))


def ata_identify(view, wce):
    """IDENTIFY DEVICE of the disk behind the bridge, which ata_id, hdparm and smartctl read first."""
    words = bytearray(512)
    sectors = view.size // 512

    def word(index, value):
        struct.pack_into("<H", words, 2 * index, value & 0xFFFF)

    words[20:40] = ata_string(view.serial, 20)
    words[46:54] = ata_string(view.revision, 8)
    words[54:94] = ata_string(f"{view.vendor} {view.product}", 40)
    word(0, 0x0040)
    word(49, 0x0300)
    word(53, 0x0006)
    struct.pack_into("<I", words, 120, min(sectors, 0x0FFFFFFF))
    word(75, 31)
    word(76, 0x0106)
    word(80, 0x01F0)
    word(82, 0x0020)                    # write cache
    word(83, 0x7400)                    # 48-bit, flush cache
    word(84, 0x4100)
    word(85, 0x0020 if wce else 0)
    word(86, 0x3400)
    word(87, 0x4100)
    struct.pack_into("<Q", words, 200, sectors)
    word(106, 0x6003 if view.physical == 4096 else 0x4000)
    naa = bytes((0x50 | digest(view)[0] & 0x0F,)) + digest(view)[1:8]
    for index in range(4):
        word(108 + index, naa[2 * index] << 8 | naa[2 * index + 1])
    word(217, view.rotation)
    words[510] = 0xA5
    words[511] = -sum(words[:511]) & 0xFF
    return bytes(words)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Descriptors, and the endpoint tables that usbredir also needs."""

import struct

BOT, UAS = "bot", "uas"

# the usual addresses of real bridges
DATA_IN, DATA_OUT, STATUS, COMMAND = 0x81, 0x02, 0x83, 0x04
# address, pipe id
UAS_PIPES = ((COMMAND, 1), (STATUS, 2), (DATA_IN, 3), (DATA_OUT, 4))
BOT_PIPES = (DATA_IN, DATA_OUT)
PROTOCOL_NUMBER = {BOT: 0x50, UAS: 0x62}
OTHER_NAME = 4


def protocols(cfg):
    """The protocol of each alternate setting."""
    return {"both": [BOT, UAS], "bot": [BOT], "uas": [UAS]}[cfg["alts"]]


def max_packet(cfg):
    return 1024 if cfg["speed"] == "super" else 512


def stream_count(cfg):
    if cfg["speed"] != "super" or not cfg["streams"]:
        return 0
    return 1 << cfg["streams"]


def device(cfg):
    usb, ep0 = (0x0310, 9) if cfg["speed"] == "super" else (0x0200, 64)
    return struct.pack("<BBHBBBBHHHBBBB", 18, 1, usb, 0, 0, 0, ep0, cfg["vid"], cfg["pid"], cfg["bcd"],
                       1 if cfg["manufacturer"] else 0, 2 if cfg["product"] else 0,
                       3 if cfg["serial"] else 0, 1)


def _endpoint(cfg, address, streams=0):
    out = struct.pack("<BBBBHB", 7, 5, address, 2, max_packet(cfg), 0)
    if cfg["speed"] == "super":
        out += struct.pack("<BBBBH", 6, 0x30, 15, streams, 0)
    return out


def _interface(alt, protocol, endpoints):
    return struct.pack("<BBBBBBBBB", 9, 4, 0, alt, endpoints, 8, 6, PROTOCOL_NUMBER[protocol], 0)


def _other(number):
    """An interface of the vendor's own class: no endpoint, but a name."""
    return struct.pack("<BBBBBBBBB", 9, 4, number, 0, 0, 0xFF, 0, 0, OTHER_NAME)


def configuration(cfg):
    body = b""
    for alt, protocol in enumerate(protocols(cfg)):
        if protocol == BOT:
            body += _interface(alt, BOT, 2)
            body += b"".join(_endpoint(cfg, address) for address in BOT_PIPES)
            continue
        body += _interface(alt, UAS, 4)
        for address, pipe in UAS_PIPES:
            body += _endpoint(cfg, address, 0 if address == COMMAND else cfg["streams"])
            if cfg["pipe_usage"]:
                body += bytes((4, 0x24, pipe, 0))
    body += b"".join(_other(number + 1) for number in range(cfg["others"]))
    power = cfg["max_power"] // (8 if cfg["speed"] == "super" else 2)
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), 1 + cfg["others"], 1, 0, 0xC0, min(power, 255)) + body


def bos(cfg):
    """Binary object store. A high speed device here is a plain USB 2.0 one, and has none."""
    if cfg["speed"] != "super":
        return None
    lpm = struct.pack("<BBBI", 7, 16, 2, 0)
    super_speed = struct.pack("<BBBBHBBH", 10, 16, 3, 0, 0x000E, 1, 10, 0x0100)
    return struct.pack("<BBHB", 5, 15, 5 + len(lpm) + len(super_speed), 2) + lpm + super_speed


def string(cfg, index):
    if index == 0:
        return bytes((4, 3, 9, 4))
    text = {1: cfg["manufacturer"], 2: cfg["product"], 3: cfg["serial"],
            OTHER_NAME: "Control" if cfg["others"] else ""}.get(index)
    if not text:
        return None
    data = text.encode("utf-16-le", "surrogatepass")[:252]  # half a pair is invalid text, but a device may send it
    return bytes((len(data) + 2, 3)) + data


def get(cfg, kind, index):
    """The descriptor of a GET_DESCRIPTOR request, or None to stall."""
    if kind == 1:
        return device(cfg)
    if kind == 2:
        return configuration(cfg) if index == 0 else None
    if kind == 3:
        return string(cfg, index)
    if kind == 15:
        return bos(cfg)
    return None


def interface_info(cfg, protocol):
    """usbredir's interface_info: numbers, classes, subclasses, protocols."""
    def column(first, *others):
        return bytes((first, *others)).ljust(32, b"\0")
    others = cfg["others"]
    return (struct.pack("<I", 1 + others) + column(0, *range(1, 1 + others)) + column(8, *[0xFF] * others) + column(6)
            + column(PROTOCOL_NUMBER[protocol]))


def ep_info(cfg, protocol, streams):
    """usbredir's ep_info for the alternate setting that speaks `protocol`."""
    from .usbredir import TYPE_BULK, TYPE_CONTROL, TYPE_INVALID, ep_index
    types, sizes, counts = [TYPE_INVALID] * 32, [0] * 32, [0] * 32
    for index in (0, 16):
        types[index], sizes[index] = TYPE_CONTROL, 512 if cfg["speed"] == "super" else 64
    addresses = BOT_PIPES if protocol == BOT else [address for address, _ in UAS_PIPES]
    for address in addresses:
        index = ep_index(address)
        types[index], sizes[index] = TYPE_BULK, max_packet(cfg)
        if protocol == UAS and address != COMMAND:
            counts[index] = streams
    return struct.pack("<32B32B32B32H32I", *types, *[0] * 32, *[0] * 32, *sizes, *counts)

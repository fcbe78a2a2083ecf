# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: SCSI commands by a disk's sg node, past the block layer."""

import ctypes
import fcntl
import struct

SG_IO, STATUS = 0x2285, 64  # position of the status in sg_io_hdr


def test_unit_ready(fd):
    """Raises OSError if the disk does not answer."""
    command, sense = ctypes.create_string_buffer(6), ctypes.create_string_buffer(32)
    for again in True, False:  # the first one may return a unit attention
        # struct sg_io_hdr, no data, 20 s.
        header = bytearray(struct.pack("@iiBBHIPPPIIiPBBBBHHiII4x", ord("S"), -1, 6, 32, 0, 0, 0, ctypes.addressof(command),
                                       ctypes.addressof(sense), 20000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        fcntl.ioctl(fd, SG_IO, header)
        status, _masked, _message, _written, host, _driver = struct.unpack_from("@BBBBHH", header, STATUS)
        if host or status and not again:
            raise OSError("sg: status %d, host %d" % (status, host))
        if not status:
            return

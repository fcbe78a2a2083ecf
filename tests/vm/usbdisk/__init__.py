# SPDX-License-Identifier: LGPL-2.1-or-later
"""An emulated USB disk that speaks both BOT and UAS, for QEMU's usb-redir device.

The program is the device side of the usbredir protocol 0.7 on a unix socket; QEMU connects to it with
``-chardev socket,id=c0,path=PATH,reconnect=1 -device usb-redir,chardev=c0``.  From the wire up:

    usbredir     messages and framing
    pipes        packets waiting on endpoints and streams, halts, cancelled answers
    descriptors  what the device says it is
    bot, uas     the two transports
    scsi, pages  the command set and its data pages; mmc: what a CD-ROM adds
    backing      the medium, and the write cache that a power loss empties
    latency      how long commands take
    faults       what goes wrong, and when
    device       the whole: plug, control requests, alternate settings, statistics
    control      the JSON socket that tests drive it with
"""

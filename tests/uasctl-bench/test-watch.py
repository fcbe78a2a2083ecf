#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Errors of the disk, its traffic and its queue."""

import unittest

from bench import machine, watch
from bench.lease import Sign
from bench.model import Pattern, Run, Side
from bench.watch import Errors, Traffic

# after, counted for fio: in, out; reported by fio: in, out; ramp, buffered; others a second, device and written in all
TRAFFIC = (
    (Traffic(read=1000, lun_read=1000, known=True), 1000, 0, 1000, 0, 0, False, 0, 1000, 0),
    (Traffic(read=1000, lun_read=1000, others=500, known=True), 1000, 0, 1000, 0, 0, False, 50, 1000, 0),
    # another process reads the disk; another LUN of its enclosure; or writes to the disk
    (Traffic(read=3000, lun_read=3000, known=True), 1000, 0, 1000, 0, 0, False, 200, 3000, 0),
    (Traffic(read=3000, lun_read=1000, known=True), 1000, 0, 1000, 0, 0, False, 200, 1000, 0),
    (Traffic(read=1000, lun_read=1000, written=700, known=True), 1000, 0, 1000, 0, 0, False, 70, 1000, 0),
    # the ramp is counted, and fio does not report it
    (Traffic(read=1200, lun_read=1200, known=True), 1200, 0, 1000, 0, 2, False, 0, 1200, 0),
    # nothing is counted for fio if another process reads for it
    (Traffic(read=1200, lun_read=1200, known=True), 0, 0, 1000, 0, 2, False, 0, 1200, 0),
    # from memory
    (Traffic(known=True), 0, 0, 1000, 0, 0, False, 0, 0, 0),
    # written to memory, and from there by the kernel
    (Traffic(written=5000, known=True), 0, 1000, 0, 1000, 0, True, 0, 0, 1000),
    (Traffic(written=5000, known=True), 0, 1000, 0, 1000, 0, False, 400, 0, 1000),
    # nothing is known about a disk, or about the counts
    (Traffic(read=5000, known=False), 700, 0, 1000, 0, 0, False, -1, 700, 0),
    (Traffic(read=1000, lun_read=1000, known=True), -1, -1, 1000, 0, 0, False, 0, -1, -1),
    # fio writes through another process; and bytes counted here and written there later are the same
    (Traffic(written=1200, lun_written=1200, known=True), 0, 0, 0, 1000, 2, False, 0, 0, 1200),
    (Traffic(written=700, lun_written=300, known=True), 0, 1000, 0, 1000, 0, False, 0, 0, 1000),
)


class Watch(unittest.TestCase):
    def test_trouble(self):
        for errors, io_failed, expect, text in (
                (Errors(counts_timeouts=True), False, False, ''),
                (Errors(counts_timeouts=True), True, False, ''),
                (Errors(counts_timeouts=True, timeouts=1), False, True, '1 command was not answered in time'),
                (Errors(counts_timeouts=True, timeouts=2, failed=3), False, True, '2 commands were not answered in time, 3 commands ended in an error'),
                # commands of another program that the disk cannot execute
                (Errors(counts_timeouts=True, failed=1), False, False, '1 command ended in an error'),
                (Errors(counts_timeouts=True, failed=1), True, True, '1 command ended in an error'),
                # before Linux 6.1 the kernel reports no more
                (Errors(failed=1), False, True, '1 command ended in an error'),
                (Errors(counts_timeouts=True, offline=True), False, True, 'the kernel has given the disk up'),
                (Errors(counts_timeouts=True, signs=[Sign('streams lost', 1, ''), Sign('resets', 3, '')]), False, True,
                 "the kernel's log: streams lost, resets (3 times)"),
                (Errors(counts_timeouts=True, timeouts=1, signs=[Sign('over-current', 1, 'the power supply')]), False, True,
                 "1 command was not answered in time; the kernel's log: over-current; to blame is perhaps the power supply")):
            self.assertEqual((errors.are_trouble(io_failed), errors.text()), (expect, text))

    def test_schedulers(self):
        for line, expect in (('[mq-deadline] none', 'mq-deadline'), ('none [bfq] kyber', 'bfq'), ('[none]', 'none'), ('none', ''), ('', ''), ('[none', ''),
                             (f'[{"a" * 64}]', '')):
            self.assertEqual(machine.scheduler_chosen(line), expect)

    def test_load(self):
        line = '     12        3     2048       40        5        6     1024       70        0       90      110'
        self.assertEqual(machine.stat_bytes(line), (2048 * 512, 1024 * 512))
        for line in '1 2 3', '', '1 0 -5 0 1 0 100', '1 0 x 0 1 0 100':
            self.assertIsNone(machine.stat_bytes(line))

    def test_traffic(self):
        """The traffic of our own run is no other load, whether the kernel counts it for fio or not."""
        for i, (after, charged_in, charged_out, read, written, ramp, buffered, others, device, device_written) in enumerate(TRAFFIC):
            p = Pattern(direct=not buffered, ramp_sec=ramp, read_percent=0 if written else 100)
            r = Run(read=Side(bytes=read), write=Side(bytes=written), runtime_usec=10000000, device_read_bytes=charged_in, device_written_bytes=charged_out)
            watch.tell_traffic(Traffic(known=True), after, p, 10000000, r)
            self.assertEqual((r.other_bytes_per_sec, r.device_read_bytes, r.device_written_bytes), (others, device, device_written), i)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Doubts, and their absence: each row makes one change to a result without doubts."""

import unittest

import samples
from samples import BOT, GiB, KiB, MB, MiB, UAS

from bench import doubts, verdict
from bench.doubts import Doubt, link_ceiling
from bench.model import Side
from bench.units import Measure, bytes_text, day_text, figure_text
from bench.verdict import Word

# A sequential pattern, a random one, and a random one with one read at a time, on a hard disk under uas.
SEQ, RND, ALONE = range(3)


def plain():
    b = samples.bench()
    samples.pattern(b, 'SEQ1M-Q8T1', 'read', MiB, 8)
    samples.pattern(b, 'RND4K-Q32T1', 'randread', 4 * KiB, 32)
    samples.pattern(b, 'RND4K-Q1T1', 'randread', 4 * KiB, 1)
    samples.runs(b, SEQ, UAS, *(x * MB for x in (190, 191, 189, 192, 190.5)))
    samples.runs(b, RND, UAS, *(x * 4096 for x in (600, 598, 605, 601, 597)))
    samples.runs(b, ALONE, UAS, *(x * 4096 for x in (118, 120, 119, 121, 118.5)))
    return b


def of(b, pattern):
    """Every run of the pattern, also in round 0."""
    return [r for r in b.runs if r.pattern == pattern]


def scale(b, pattern, factor):
    for r in of(b, pattern)[1:]:
        r.read.bytes_per_sec *= factor
        r.read.iops *= factor


def rates(*values):
    def change(b):
        for r, value in zip(of(b, SEQ)[1:], values, strict=True):
            r.read.bytes_per_sec, r.read.iops = value * MB, value
    return change


def each(index, **members):
    """Sets members of every run of a pattern: read_ and write_ are those of a side."""
    def change(b):
        for r in of(b, index):
            for name, value in members.items():
                side, _, member = name.partition('__')
                setattr(*((getattr(r, side), member) if member else (r, name)), value)
    return change


def pattern(index, **members):
    def change(b):
        for name, value in members.items():
            setattr(b.patterns[index], name, value)
    return change


def conditions(**members):
    def change(b):
        for name, value in members.items():
            setattr(b.conditions, name, value)
    return change


def scaled(index, factor):
    return lambda b: scale(b, index, factor)


def accepts(n):
    def change(b):
        b.conditions.queue(UAS).queue_depth = n
    return change


def at(number, **members):
    def change(b):
        for name, value in members.items():
            setattr(b.runs[number], name, value)
    return change


def slat_once(b):
    b.runs[8].read.slat_mean_ns = 1e12


def charged(share):
    """Ten seconds after two of ramp, which are also counted for fio. share: of each round's number."""
    def change(b):
        for r in of(b, SEQ):
            r.device_read_bytes = r.read.bytes * 1.2 * share(r)
    return change


def writing(share):
    def change(b):
        b.patterns[SEQ].read_percent = 0
        for r in of(b, SEQ):
            r.write, r.read, r.device_read_bytes = r.read, Side(), 0
            r.device_written_bytes = r.write.bytes * 1.2 * share
    return change


def mixed_to_memory(b):
    b.patterns[SEQ].read_percent = 50
    for r in of(b, SEQ):
        r.write = Side(**vars(r.read))
        r.device_read_bytes, r.device_written_bytes = r.read.bytes * 0.96, r.read.bytes * 0.6
        r.read.bytes_per_sec /= 2
        r.write.bytes_per_sec /= 2


def syncing(times, only=None, more=0, fsync=10, fdatasync=0, ios=4560):
    """Half of the requests are writes, with a sync after every tenth. The slowest round has 4560 writes."""
    def change(b):
        p = b.patterns[ALONE]
        p.read_percent, p.fsync, p.fdatasync = 50, fsync, fdatasync
        for r in of(b, ALONE):
            r.write.ios = ios
            r.sync.ios = int(456 * (times if only is None or r.round == only else 1)) + more
    return change


SOLID = conditions(rotational=False)
LINK, USB2, DEPTH, SUBMIT, CACHE, REGION, SYNCS, MEMORY, DISK, SPREAD, HEAT, HALVES, LOAD, ERRORS = Doubt
NO_DISK = 'too fast for a spinning disk'
LESS = pattern(SEQ, direct=False)

# The changes, the doubts of each pattern, and text that one of the sentences contains.
TABLE = (
    ((), {}, {}, {}, None),
    ((scaled(SEQ, 2.6), SOLID), {LINK}, {}, {}, '499 MB/s is more than a link at 5000 Mbit/s can carry (485 MB/s)'),
    ((scaled(SEQ, 2.5), SOLID), {}, {}, {}, None),
    ((scaled(SEQ, 2.6), SOLID, conditions(speed_mbps=10000)), {}, {}, {}, None),
    ((scaled(SEQ, 100), SOLID, conditions(speed_mbps=0)), {}, {}, {}, None),
    ((conditions(speed_mbps=480), scaled(SEQ, 0.2)), {USB2}, {USB2}, {USB2}, 'linked at 480 Mbit/s: a USB 2 link carries 53.2 MB/s at most'),
    ((conditions(speed_mbps=480), scaled(SEQ, 0.3)), {USB2, LINK}, {USB2}, {USB2}, '57.6 MB/s is more than a link at 480 Mbit/s'),
    ((each(RND, depth_share=0.4),), {}, {DEPTH}, {}, 'only 40 % of the requests reached depth 32'),
    ((at(8, depth_share=0.1),), {}, {}, {}, None),
    ((each(ALONE, depth_share=0),), {}, {}, {}, None),
    ((pattern(RND, sync_engine=True), scaled(RND, 0.2)), {}, {DEPTH}, {}, 'depth 32 has no effect with a synchronous engine: it was 1'),
    ((pattern(RND, sync_engine=True, direct=False, engine='libaio'), scaled(RND, 0.2), conditions(memory=0)), {}, {DEPTH}, {},
     'depth 32 has no effect with libaio that is buffered: it was 1'),
    ((accepts(256), pattern(RND, iodepth=256), each(RND, depth_share=0.4)), {}, {DEPTH}, {}, 'only 40 % of the requests reached depth 64 or more'),
    ((pattern(RND, iodepth=256),), {}, {DEPTH}, {}, 'the disk gets 30 requests at once instead of 256'),
    ((pattern(RND, numjobs=16),), {}, {DEPTH, REGION}, {}, 'the disk gets 30 requests at once instead of 512'),
    ((pattern(SEQ, size=10 * GiB, numjobs=8), each(SEQ, region=5 * GiB)), {REGION, DEPTH}, {}, {}, 'the profile asks for 10 GiB a job, this was 640 MiB'),
    ((pattern(SEQ, size=10 * GiB + 512, numjobs=8), each(SEQ, region=80 * GiB), accepts(256)), {}, {}, {}, None),
    ((LESS, each(SEQ, region=10 * GiB)), {CACHE, REGION}, {}, {}, "buffered, and the machine's memory (9 GB) can hold much of 10 GiB"),
    ((LESS, each(SEQ, region=32 * GiB)), {REGION}, {}, {}, 'the profile asks for 64 GiB, this was 32 GiB'),
    ((each(SEQ, region=256 * MiB),), {CACHE, REGION}, {}, {}, '256 MiB is small: below 1 GiB caches'),
    ((each(SEQ, region=0), pattern(SEQ, size=100 * MiB, numjobs=2)), {CACHE}, {}, {}, '200 MiB is small'),
    ((each(SEQ, region=0), pattern(SEQ, size=0)), {}, {}, {}, None),
    ((scaled(SEQ, 1.8),), {DISK}, {}, {}, NO_DISK),
    ((scaled(RND, 5),), {}, {DISK}, {}, NO_DISK),
    ((SOLID, scaled(RND, 50), scaled(ALONE, 50), each(ALONE, read__p50_ns=90000)), {}, {}, {}, None),
    ((scaled(ALONE, 4),), {}, {}, {DISK}, NO_DISK),
    ((each(ALONE, read__p50_ns=200000),), {}, {}, {DISK}, NO_DISK),
    # As published: 727 a second, because its cache sorts the writes.
    ((pattern(ALONE, read_percent=0), scaled(ALONE, 6)), {}, {}, {}, None),
    ((pattern(ALONE, read_percent=0), scaled(ALONE, 30)), {}, {}, {DISK}, NO_DISK),
    ((rates(180, 191, 200, 185, 188),), {SPREAD}, {}, {}, 'the rounds differ by 11 % of their average'),
    ((rates(200, 198, 196, 192, 188),), {HEAT}, {}, {}, 'slower round by round, by 6 % in all'),
    ((rates(200, 196, 197, 192, 188),), {HEAT}, {}, {}, 'slower round by round'),
    ((rates(200, 199, 198, 197, 196),), {}, {}, {}, None),
    ((rates(188, 192, 196, 198, 200),), {}, {}, {}, None),
    ((rates(200, 120, 110, 105, 100),), {HEAT, SPREAD}, {}, {}, 'by 50 % in all'),
    ((at(3, other_bytes_per_sec=30 * MB),), {LOAD}, {}, {}, 'other programs moved up to 30.0 MB/s on the same bus'),
    ((at(0, other_bytes_per_sec=30 * MB),), {}, {}, {}, None),
    ((at(3, other_bytes_per_sec=3 * MB),), {}, {}, {}, None),
    ((at(3, other_bytes_per_sec=3 * MB), conditions(speed_mbps=0)), {LOAD}, {}, {}, 'other programs moved up to 3.00 MB/s'),
    ((each(SEQ, other_bytes_per_sec=-1),), {}, {}, {}, None),
    # A request that is alone raises no such doubt: there is no queue.
    ((each(RND, read__mean_ns=2.5e9, read__slat_mean_ns=1.9e9), each(ALONE, read__slat_mean_ns=1.9e9)), {}, {SUBMIT}, {},
     "1.90 s of the average latency of 2.50 s was submission: the kernel's queue"),
    ((each(RND, read__mean_ns=81.4e6, read__slat_mean_ns=86.1e6),), {}, {SUBMIT}, {}, 'nearly all of the average latency of 81.4 ms was submission'),
    ((each(RND, read__mean_ns=2.5e9, read__slat_mean_ns=1.25e9),), {}, {}, {}, None),
    ((pattern(SEQ, read_percent=50), each(SEQ, write__mean_ns=2e9, write__slat_mean_ns=1.5e9)), {SUBMIT}, {}, {},
     '1.50 s of the average latency of 2.00 s'),
    ((slat_once,), {}, {}, {}, None),
    ((charged(lambda r: 0.03),), {MEMORY}, {}, {}, 'O_DIRECT is not honoured: at most 4 % of the bytes came from a device'),
    ((charged(lambda r: 0.5 if r.round == 3 else 1.2),), {MEMORY}, {}, {}, 'at most 60 % of the bytes came from a device'),
    ((charged(lambda r: 0.95 if r.round else 0),), {}, {}, {}, None),
    # Hardly anything was moved in a long ramp; and yet the device moved less than fio counted after it.
    ((pattern(SEQ, ramp_sec=40), charged(lambda r: 1 / 1.2)), {}, {}, {}, None),
    ((pattern(SEQ, ramp_sec=40), charged(lambda r: 0.8 / 1.2)), {MEMORY}, {}, {}, 'at most 80 % of the bytes came from a device'),
    ((writing(0.95),), {}, {}, {}, None),
    ((writing(0),), {MEMORY}, {}, {}, 'O_DIRECT is not honoured: at most 0 % of the bytes reached a device, and memory took the rest'),
    ((writing(0), LESS, conditions(memory=0)), {}, {}, {}, None),  # buffered writes are expected to go to memory
    ((mixed_to_memory,), {MEMORY}, {}, {}, 'at most 60 % of the bytes reached a device'),
    ((syncing(1.2, more=1),), {}, {}, {}, None),  # and one at the end
    ((syncing(2.5),), {}, {}, {SYNCS}, 'fio synced 1140 times instead of 456: older versions'),
    ((syncing(1.5, only=3),), {}, {}, {SYNCS}, 'fio synced 684 times instead of 456'),
    ((syncing(4, only=0),), {}, {}, {}, None),
    ((syncing(2.5, fsync=0, fdatasync=20),), {}, {}, {SYNCS}, 'fio synced 1140 times instead of 228'),
    ((syncing(2, fdatasync=10),), {}, {}, {}, None),
    ((syncing(2.5, fsync=0),), {}, {}, {}, None),
    ((syncing(2.5, ios=0),), {}, {}, {}, None),
    ((at(2, error=-5), at(4, error=-5)), {ERRORS}, {}, {}, '2 of its runs failed and do not count'),
    ((at(2, error=-5),), {ERRORS}, {}, {}, '1 of its runs failed and does not count'),
    ((each(SEQ, error=-5), conditions(speed_mbps=480)), {ERRORS}, {USB2}, {USB2}, '5 of its runs failed'),
)


class Doubts(unittest.TestCase):
    def test_all(self):
        for i, (changes, *want, text) in enumerate(TABLE):
            b = plain()
            for change in changes:
                change(b)
            found = [doubts.of(b, p, UAS) for p in (SEQ, RND, ALONE)]
            self.assertEqual([set(x) for x in found], [set(x) for x in want], (i, found))
            said = [sentence for x in found for sentence in x.values()]
            self.assertTrue(text is None or any(text in sentence for sentence in said), (i, said))
            self.assertEqual(doubts.of(b, SEQ, BOT), {})

    def test_halves(self):
        """A B B A, and the first half of A was faster."""
        for first, second, uas, doubted, word in (
                (100, 101, 115, False, Word.FASTER),
                (100, 110, 115, True, Word.SAME),  # faster than both, by less than they differ
                (110, 100, 130, True, Word.FASTER),
                (100, 110, 80, True, Word.SLOWER)):
            b = samples.bench()
            p = samples.pattern(b, 'p', 'read', MiB, 8)
            for k in range(12):
                rate = first if k < 3 else uas if k < 9 else second
                samples.run(b, p, UAS if 3 <= k < 9 else BOT, MB * rate * (1 + k / 1000)).round = k + 1
            self.assertIs(verdict.of_pattern(b, p).word, word)
            self.assertNotIn(HALVES, doubts.of(b, p, UAS))
            text = doubts.of(b, p, BOT).get(HALVES, '')
            self.assertEqual('% before and after the other' in text, doubted, text)

    def test_queue_of_bot(self):
        """usb-storage sends one request at a time. The rows do not repeat that."""
        b = samples.bench()
        p = samples.pattern(b, 'p', 'randread', 4096, 256)
        samples.runs(b, p, BOT, *(x * 4096 for x in (600, 598, 605, 601, 597)))
        self.assertEqual(doubts.of(b, p, BOT), {})

    def test_ceilings(self):
        for mbps, mb in (0, 0), (12, 1.5), (480, 53.248), (5000, 484.848), (10000, 1175.390), (20000, 2350.781):
            self.assertLess(abs(link_ceiling(mbps) / 1e6 - mb), 0.001, mbps)

    def test_units(self):
        for value, m, text in (
                (0, Measure.IOPS, '0.00 IOPS'), (7.6543, Measure.IOPS, '7.65 IOPS'), (99.96, Measure.IOPS, '100 IOPS'),
                (608.4, Measure.IOPS, '608 IOPS'), (9999, Measure.IOPS, '9999 IOPS'), (12345, Measure.IOPS, '12.3k IOPS'),
                (999499, Measure.IOPS, '999k IOPS'), (999600, Measure.IOPS, '1.00M IOPS'), (412.4e6, Measure.BYTES, '412 MB/s'),
                (9.996e6, Measure.BYTES, '10.0 MB/s'), (2.3e9, Measure.BYTES, '2300 MB/s'), (431000, Measure.P50, '431 µs'),
                (999600, Measure.P95, '1.00 ms'), (1.279e9, Measure.MEAN, '1.28 s'), (50, Measure.P99, '0.05 µs')):
            self.assertEqual(figure_text(value, m, True), text)
        self.assertEqual(figure_text(431000, Measure.P50), '431 us')
        for size, text in (
                (0, '0 B'), (512, '512 B'), (4096, '4 KiB'), (256 * KiB, '256 KiB'), (10 * GiB, '10 GiB'), (1536 * MiB, '1536 MiB'),
                (4000787030016, '4.00 TB'), (1536, '1536 B'), (12345, '12.3 kB'), ((1 << 64) - 1, '18446744 TB')):
            self.assertEqual(bytes_text(size), text)
        self.assertEqual(day_text(1763900000000000), '2025-11-23 12:13')
        self.assertTrue(day_text((1 << 64) - 1))


if __name__ == '__main__':
    unittest.main()

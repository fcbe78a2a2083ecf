#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""When a difference counts: by a table, and by comparisons of a disk with itself."""

import math
import unittest

import samples
from samples import BOT, GiB, MB, MiB, UAS

from bench import stats, verdict
from bench.model import Axis, Bench, Pattern
from bench.verdict import Word

MASK = (1 << 64) - 1
NORMAL, HEAVY, DRIFT, BLOCKS, WALK, SLOW = range(6)
"""The noise in a disk's rounds. The deviation is a share of the rate.

HEAVY: one round in eight also loses up to half of its rate. DRIFT: the rate falls by the deviation
over all rounds; the order A B B A compensates that. BLOCKS: at each change of the driver the rate
of all later rounds jumps. WALK: each round differs from the one before. SLOW: it swings slowly
about its rate: each round keeps nine tenths of the last distance.
"""


class Random:
    """Numbers that are the same on every machine (splitmix64)."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = z = (self.state + 0x9e3779b97f4a7c15) & MASK
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
        z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
        return ((z ^ z >> 31) >> 11) / (1 << 53)

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(2 * math.pi * self.uniform())


class Noise:
    def __init__(self, kind, deviation, n):
        """n rounds of each as in a session: half of A, all of B, the rest of A."""
        self.kind, self.deviation, self.random = kind, deviation, Random(0x0815 + kind)
        self.b = samples.bench()
        samples.pattern(self.b, 'p', 'randread', 4096, 32)
        self.half, self.n = (n + 1) // 2, n
        for k in range(2 * n):
            samples.run(self.b, 0, UAS if self.half <= k < self.half + n else BOT, MB).round = k + 1

    def normal(self):
        return self.deviation * self.random.normal()

    def remembered(self, last, k):
        """The part that this round has from the last round, or from the last change of the driver."""
        if self.kind == BLOCKS:
            return self.normal() / 2 if k in (0, self.half, self.half + self.n) else last
        if self.kind == WALK:
            return last + self.normal()
        if self.kind == SLOW:
            return self.normal() if k == 0 else 0.9 * last + math.sqrt(1 - 0.9 * 0.9) * self.normal()
        return 0

    def verdict(self, ratio):
        """Of new rounds in which B is faster by `ratio`."""
        last = 0
        for k, r in enumerate(self.b.runs):
            last = self.remembered(last, k)
            x = math.exp(last + (0 if self.kind >= WALK else self.normal()))
            if self.kind == HEAVY and self.random.uniform() < 0.125:
                x *= 1 - self.random.uniform() / 2
            if self.kind == DRIFT:
                x *= 1 - self.deviation * k / (2 * self.n)
            r.read.bytes_per_sec = MB * x * (ratio if r.driver is UAS else 1)
            r.read.iops = r.read.bytes_per_sec / 4096
        return verdict.of_pattern(self.b, 0).word


def simulate(kind, deviation, ratio, n, times, word):
    """The number of the `times` comparisons with this verdict."""
    noise = Noise(kind, deviation, n)
    return sum(noise.verdict(ratio) is word for _ in range(times))


class Verdicts(unittest.TestCase):
    def test_table(self):
        about = [100, 101, 99, 102, 98]
        rounds = 'too few rounds for a verdict (%i and %i; it needs 5 of each, and the first one does not count)'
        for a, b, word, text in (
                ([192, 193, 190, 191, 195], [595, 600, 590, 592, 605], Word.FASTER, '3.1 times faster on UAS'),
                ([595, 600, 590, 592, 605], [192, 193, 190, 191, 195], Word.SLOWER, '3.1 times slower on UAS'),
                (about, [120, 121, 119, 122, 118], Word.FASTER, '20 % faster on UAS'),
                ([120, 121, 119, 122, 118], about, Word.SLOWER, '17 % slower on UAS'),
                ([10] * 5, [140] * 5, Word.FASTER, '14 times faster on UAS'),
                # Every rank confirms it, but it is too small to notice.
                (about, [104, 105, 104.5, 103.5, 103], Word.SAME, 'no certain difference'),
                # The means are far apart, but because of one run.
                (about, [100.5, 101.5, 99.5, 97, 400], Word.SAME, 'no certain difference'),
                (about, about, Word.SAME, 'no certain difference'),
                # Four against four show this by chance once in 35 times.
                (about[:4], [300, 301, 299, 302], Word.ROUNDS, rounds % (4, 4)),
                (about, [300], Word.ROUNDS, rounds % (5, 1)),
                # More rounds of one driver make up for fewer of the other.
                ([*about, 100], [300, 301, 299, 302], Word.FASTER, '3.0 times faster on UAS'),
                ([], [], Word.ROUNDS, rounds % (0, 0))):
            v = verdict.of(a, b)
            self.assertEqual((v.word, verdict.verdict_text(v, ' on UAS')), (word, text))
        self.assertLessEqual(stats.least_p(verdict.ROUNDS, verdict.ROUNDS), verdict.LEVEL)
        self.assertGreater(stats.least_p(verdict.ROUNDS - 1, verdict.ROUNDS - 1), verdict.LEVEL)

    def test_cells(self):
        for values, want in (((300, 301, 299, 302, 298), '3.0x faster'), ((80, 81, 79, 82, 78), '20% slower'),
                             ((100, 101, 99, 102, 98), 'no difference'), ((100,), 'too few rounds'),
                             ((200, 100, 95, 400, 210), '2.0x, but not certain'), ((51, 300, 40, 120, 50), '0.51x, but not certain'),
                             ((200, 201, 199), '2.0x, but not certain'), ((1140, 1141), '11x, but not certain'), ((104, 105), 'too few rounds'),
                             ((), 'too few rounds')):
            self.assertEqual(verdict.cell_text(verdict.of([100, 101, 99, 102, 98], values)), want)

    def test_disk_against_itself(self):
        """40 of each kind: at most one may claim a difference. In many, not more than the level allows.

        Two changes of the driver cannot distinguish a jump at each change from a difference. There the limit is a little higher.
        """
        for kind in NORMAL, HEAVY, DRIFT, BLOCKS:
            for deviation in 0.01, 0.04, 0.1:
                for n, many in (5, 4000), (20, 500):
                    jumps = kind == BLOCKS
                    self.assertGreaterEqual(simulate(kind, deviation, 1, n, 40, Word.SAME), 38 if jumps else 39, (kind, deviation, n))
                    self.assertGreaterEqual(simulate(kind, deviation, 1, n, many, Word.SAME),
                                            many * (1 - verdict.LEVEL * (4 if jumps else 1)), (kind, deviation, n))

    def test_not_independent(self):
        """The rank test assumes that rounds are independent of each other.

        If each depends on the one before, five rounds stay within the level because of the halves. By ranks and halves only, twenty
        were wrong in 4.6 % (a walk) and 8.5 % (slow). The quarters reduce that.
        """
        for kind, deviation, n, times, most in (
                (NORMAL, 0.2, 5, 4000, 0.005), (NORMAL, 0.2, 20, 1000, 0.005), (HEAVY, 0.1, 20, 500, 0.005),
                (WALK, 0.06, 5, 4000, 0.01), (WALK, 0.06, 10, 1000, 0.01), (WALK, 0.06, 20, 1000, 0.01),
                (WALK, 0.06, 40, 300, 0.02), (SLOW, 0.1, 5, 4000, 0.01), (SLOW, 0.2, 5, 4000, 0.01),
                (SLOW, 0.2, 8, 1000, 0.01), (SLOW, 0.2, 10, 1000, 0.02), (SLOW, 0.1, 20, 1000, 0.01),
                (SLOW, 0.2, 20, 1000, 0.01), (SLOW, 0.2, 40, 300, 0.015)):
            claimed = 1 - simulate(kind, deviation, 1, n, times, Word.SAME) / times
            self.assertLessEqual(claimed, most, (kind, deviation, n))
        # Sixteen patterns of five rounds each, only by the ranks: one result in eight has a difference by chance.
        self.assertLess(abs(1 / (1 - (1 - stats.least_p(5, 5)) ** 16) - 8), 0.5)

    def test_real_difference(self):
        for kind, deviation, ratio, n, least in (
                # Five rounds that spread by 10 % of their average deviate by 4.3 %.
                (NORMAL, 0.043, 1.5, 5, 399), (NORMAL, 0.043, 1 / 1.5, 5, 399), (DRIFT, 0.043, 1.5, 5, 399),
                (BLOCKS, 0.043, 1.5, 5, 399), (HEAVY, 0.043, 3.1, 5, 399), (NORMAL, 0.1, 1.5, 5, 300),
                (NORMAL, 0.1, 1.5, 10, 380), (NORMAL, 0.1, 1.5, 20, 400), (NORMAL, 0.1, 1 / 1.5, 20, 400),
                (NORMAL, 0.1, 1.2, 20, 300), (DRIFT, 0.1, 1.5, 20, 390), (SLOW, 0.05, 2, 20, 399),
                (SLOW, 0.2, 3, 20, 390), (HEAVY, 0.043, 1.5, 20, 399)):
            word = Word.FASTER if ratio > 1 else Word.SLOWER
            self.assertGreaterEqual(simulate(kind, deviation, ratio, n, 400, word), least, (kind, deviation, ratio, n))

    def test_pattern_texts(self):
        plain = {'block_size': 512, 'iodepth': 1, 'numjobs': 1, 'read_percent': 100, 'direct': True}
        timed = {**plain, 'iodepth': 4, 'runtime_sec': 20, 'ramp_sec': 5}
        for members, axis, text in (
                ({**plain, 'block_size': 4096, 'iodepth': 32, 'random': True}, Axis.NONE, 'random read, 4 KiB, depth 32'),
                ({**plain, 'block_size': MiB, 'iodepth': 64, 'numjobs': 8, 'read_percent': 0}, Axis.NONE,
                 'sequential write, 1 MiB, depth 64, 8 jobs'),
                ({**plain, 'block_size': 16384, 'read_percent': 60, 'random': True, 'sync_engine': True, 'direct': False}, Axis.NONE,
                 'buffered random read and write (60 % reads), 16 KiB, one at a time'),
                ({**plain, 'block_size': 4096, 'iodepth': 256, 'read_percent': 50, 'random': True}, Axis.NONE,
                 'random read and write, 4 KiB, depth 256'),
                ({**plain, 'block_size': 131072, 'iodepth': 9, 'numjobs': 16, 'sync_engine': True}, Axis.NONE,
                 'sequential read, 128 KiB, 16 jobs'),
                ({**plain, 'block_size': 1536, 'axis': 2.0 * GiB}, Axis.REGION, 'sequential read, 1536 B, depth 1, region 2 GiB'),
                ({**plain, 'axis': 1.0}, Axis.CLIENTS, 'sequential read, 512 B, depth 1, 1 machine'),
                ({**plain, 'axis': 4.0}, Axis.CLIENTS, 'sequential read, 512 B, depth 1, 4 machines'),
                (timed, Axis.RUNTIME, 'sequential read, 512 B, depth 4, 20 s'),
                (timed, Axis.RAMP, 'sequential read, 512 B, depth 4, after 5 s'),
                ({**timed, 'axis': 4.0}, Axis.DEPTH, 'sequential read, 512 B, depth 4')):
            self.assertEqual(verdict.pattern_text(Bench(axis=axis, patterns=[Pattern(**members)]), 0), text)


if __name__ == '__main__':
    unittest.main()

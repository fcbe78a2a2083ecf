#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The figures from runs, and the rank test: tables with figures that were calculated elsewhere."""

import json
import os
import unittest

import samples
from samples import BOT, MB, UAS

from bench import document, stats, verdict
from bench.model import Driver, Pattern, Run, Side
from bench.stats import SAMPLES_MAX, Ratio, Summary
from bench.units import Measure


class Stats(unittest.TestCase):
    def near(self, got, want, row=None):
        self.assertLessEqual(abs(got - want), 1e-9 * (1 + abs(want)), (row, got, want))

    def test_summaries(self):
        for values, want in (
                ([], Summary()),
                ([7], Summary(1, 7, 7, 7, 7, 0)),
                ([4, 2], Summary(2, 3, 2, 4, 3, 100 * 2 / 3)),
                ([100, 90, 110], Summary(3, 100, 90, 110, 100, 20)),
                ([1, 1, 1, 97], Summary(4, 1, 1, 97, 25, 384))):
            got = stats.summary(values)
            for name in ('n', 'median', 'min', 'max', 'average', 'spread_percent'):
                self.near(getattr(got, name), getattr(want, name), (values, name))

    def test_runs_that_count(self):
        """Not the first round, failed runs, runs without I/O, and a machine's part of a sum."""
        b = samples.bench()
        p, other = samples.pattern(b, 'p', 'randread', 4096, 1), samples.pattern(b, 'o', 'read', 1 << 20, 1)
        samples.runs(b, p, UAS, 3 * 4096, 4096)
        samples.runs(b, p, BOT, 9 * 4096)
        samples.runs(b, other, UAS, 8 * 4096)
        samples.run(b, p, UAS, 7 * 4096).error = -5
        samples.run(b, p, UAS, 0)
        samples.run(b, p, UAS, 2 * 4096).order = 0  # before the others, whatever its index
        samples.run(b, p, UAS, 6 * 4096).host = 'nas'
        self.assertEqual(stats.samples(b, p, UAS, Measure.IOPS), [2, 3, 1])
        self.assertEqual(stats.samples(b, p, Driver.NONE, Measure.IOPS), [])
        for _ in range(2 * SAMPLES_MAX):
            samples.run(b, p, UAS, 4096)
        self.assertEqual(len(stats.samples(b, p, UAS, Measure.BYTES)), SAMPLES_MAX)

    def test_directions(self):
        """Both directions of a mix: the rates are added, and the worse latency counts."""
        r = Run(read=Side(bytes_per_sec=10, iops=1, mean_ns=5, p50_ns=4, p95_ns=20, p99_ns=30, clat_mean_ns=8),
                write=Side(bytes_per_sec=20, iops=2, mean_ns=6, p50_ns=3, p95_ns=21, p99_ns=29, clat_mean_ns=-1))
        self.assertEqual([stats.of_run(r, m) for m in Measure], [30, 3, 6, 8, 4, 21, 30])

    def test_figures(self):
        for random, size, want in (True, 4096, Measure.IOPS), (True, 1 << 20, Measure.BYTES), (False, 4096, Measure.BYTES):
            self.assertIs(stats.figure(Pattern(random=random, block_size=size)), want)

    def test_rank_test(self):
        """Every arrangement is counted. Ties get mean ranks."""
        for a, b, ways, every in (
                ([1, 2, 3], [4, 5, 6], 2, 20),
                ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], 2, 252),
                ([10, 9, 8, 7, 6], [5, 4, 3, 2, 1], 2, 252),
                ([1, 2, 3, 4, 7], [5, 6, 8, 9, 10], 8, 252),
                ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], 252, 252),
                ([5, 5, 5, 5, 5], [5, 5, 5, 5, 5], 252, 252),
                ([1, 2, 2, 3, 4], [2, 4, 5, 5, 6], 22, 252),
                ([1], [2], 2, 2),
                ([10, 11, 12, 13, 14, 15], [1, 2, 3, 4], 2, 210),
                ([1, 2, 3, 4, 5, 20], [6, 7, 8, 9, 10, 11], 60, 924),
                ([3, 1, 2, 2, 5, 1, 4], [6, 7, 5, 9, 8], 3, 792)):
            self.near(stats.rank_p(a, b), ways / every, (a, b))
            self.near(stats.rank_p(b, a), ways / every, (b, a))
        self.assertEqual(stats.rank_p([], [1]), 1)
        for n, m, want in (5, 5, 2 / 252), (3, 4, 2 / 35), (0, 4, 1), (1, 1, 1):
            self.near(stats.least_p(n, m), want, (n, m))

    def test_many_ranks(self):
        """The maximum of samples, without an overflow."""
        a = [100 + i / 100 for i in range(SAMPLES_MAX)]
        b = [2 * x for x in a]
        self.assertTrue(0 < stats.rank_p(a, b) < 1e-30)
        self.near(stats.rank_p(a, a), 1)
        r = stats.ratio(a, b, 0.01)
        self.assertTrue(1.99 < r.low < 2 < r.high < 2.01, r)

    def test_intervals(self):
        six, others = [100, 110, 90, 95, 105, 102], [130, 128, 150, 90, 140, 135]
        for a, b, level, want in (
                ([100, 101, 102, 103, 104], [200, 202, 204, 206, 208], 0.01, Ratio(2, 1.9230769230769231, 2.08)),
                (six, others, 0.01, Ratio(1.3284223283101428, 0.8823529411764706, 1.5555555555555556)),
                (six, others, 0.05, Ratio(1.3284223283101428, 1, 1.4736842105263157)),
                ([1, 2, 3, 4], [4, 8, 12], 0.2, Ratio(3.464101615137755, 1.3333333333333333, 8)),
                ([1, 2, 3], [4, 5, 6], 0.01, None),
                ([1, 2, 3, 4, 0], [4, 5, 6, 7, 8], 0.01, None),
                ([1, 2, 3, 4, 5], [], 0.01, None)):
            got = stats.ratio(a, b, level)
            self.assertEqual(got is None, want is None, (a, b))
            for x, y in zip(got or (), want or ()):
                self.near(x, y, (a, b))

    def test_sides(self):
        """Each side of a mix separately, from the runs that count."""
        b = samples.bench()
        p = samples.pattern(b, 'p', 'randrw', 4096, 256)
        samples.runs(b, p, UAS, 4096 * 500, 4096 * 580, 4096 * 600)
        for i, r in enumerate(b.runs):
            r.write.iops += i
        b.runs[3].error = -5
        self.assertEqual(stats.sides(b, p, UAS, Measure.IOPS), (270, 271.5))
        self.assertEqual(stats.sides(b, p, BOT, Measure.IOPS), (0, 0))

    def test_wander(self):
        """The drift of a driver by itself, from quarter to quarter, where neighbouring rounds are alike."""
        for a, b, want in (
                ([10, 10, 11, 11, 12, 12, 13, 13], [10, 10.1, 10.2, 10.1, 10.3, 10.2, 10.4, 10.3], 1.3),
                ([10, 10, 11, 11, 12, 12, 13], [10, 10, 11, 11, 12, 12, 13, 13], 1),  # too few
                ([10, 11, 13, 15, 16, 14, 12, 10], [20, 22, 26, 30, 32, 28, 24, 20], 15 / 10.5),
                ([10, 16, 11, 15, 10, 14, 12, 13], [20, 32, 20, 30, 22, 28, 24, 26], 1),  # alternating
                ([7] * 8, [9] * 8, 1),
                # A single different round is no drift, wherever it is.
                ([10, 11, 10, 11, 10, 11, 10, 99], [99, 10, 11, 10, 11, 10, 11, 10], 1),
                (range(1, 11), range(1, 11), 9 / 1.5)):
            self.near(stats.wander(a, b), want, (a, b))
            self.near(stats.wander(b, a), want, (b, a))


class Recorded(unittest.TestCase):
    """The last digits of figures are those that the program in C printed before this one."""

    def test_figures(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'figures.json')) as f:
            rows = json.load(f)
        self.assertGreater(len(rows), 30)
        for i, row in enumerate(rows):
            b = samples.bench()
            p = samples.pattern(b, 'p', 'read', 1 << 20, 8)
            for driver, values in (BOT, row['a']), (UAS, row['b']):
                for value in values:
                    r = samples.run(b, p, driver, MB)
                    r.round, r.order, r.read.bytes_per_sec = 1, row['orders'][len(b.runs) - 1], value
            got = document.verdict_json(verdict.of_pattern(b, p), ' on UAS')
            if len(b.runs) > 56:  # the numbers were rounded there: C(56, 28) is the last one that a double counts exactly
                want = json.loads(row['comparison'])['p']
                self.assertLess(abs(got['p'] - want), 1e-13 * want)
                got['p'] = want
            self.assertEqual(document.text(got, False), row['comparison'], i)
            spreads = [document.text({'': stats.of(b, p, d, Measure.BYTES).spread_percent}, False) for d in (BOT, UAS)]
            self.assertEqual(spreads, row['spreads'], i)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The summary of a whole result in one sentence, and its doubts."""

import unittest

import samples
from samples import BOT, MB, MiB, UAS

from bench import verdict
from bench.doubts import Doubt
from bench.model import Driver, Finding
from bench.verdict import Word

FASTER = 'random read, 4 KiB, depth 32: 3.1 times faster on UAS'
SAID = FASTER + '; 2 sequential and 1 random pattern: no certain difference'
SAME = 'no certain difference'


def set_rates(b, pattern, driver, factor):
    for r in b.runs:
        if r.pattern == pattern and r.driver is driver:
            r.read.iops *= factor
            r.read.bytes_per_sec *= factor


def doubt_run(b, r, doubt):
    """Raises this doubt for one run, and so for its figure. The rate stays."""
    p = b.patterns[r.pattern]
    match doubt:
        case Doubt.DEPTH:
            r.depth_share = 0.1
        case Doubt.CACHE:
            r.region = p.size = 100 * MiB
        case Doubt.REGION:
            r.region = p.size // 4
        case Doubt.SYNCS:
            p.fsync, r.write.ios, r.sync.ios = 10, 100, 50
        case Doubt.MEMORY:
            r.device_read_bytes = 1.0
        case Doubt.LOAD:
            r.other_bytes_per_sec = 100 * MB
        case Doubt.SUBMIT:
            r.read.slat_mean_ns = r.read.mean_ns
        case Doubt.USB2:
            b.conditions.speed_mbps = 480
            r.read.bytes_per_sec /= 10 if r.read.bytes_per_sec > 50 * MB else 1  # as fast as the link


class Overall(unittest.TestCase):
    def check(self, b, want):
        self.assertEqual(verdict.overall(b), want)

    def test_overall(self):
        b = samples.comparison()
        b.conditions.rotational, b.conditions.speed_mbps = False, 20000  # no rate is too high
        self.check(samples.bench(), '')
        self.check(b, SAID)
        set_rates(b, 3, UAS, 0.5)
        self.check(b, FASTER + '; random read, 4 KiB, depth 1: 2.0 times slower on UAS; 2 sequential patterns: ' + SAME)
        set_rates(b, 0, UAS, 0.5)
        set_rates(b, 3, UAS, 2)
        self.check(b, FASTER + '; sequential read, 1 MiB, depth 8: 2.0 times slower on UAS; 1 sequential and 1 random pattern: ' + SAME)
        set_rates(b, 0, UAS, 2)
        set_rates(b, 2, UAS, 1 / 3.1)
        self.check(b, SAME)
        for p in range(4):
            set_rates(b, p, UAS, 2 + p)
        self.check(b, 'random read, 4 KiB, depth 1: 5.0 times faster on UAS; random read, 4 KiB, depth 32: 4.0 times faster on UAS; '
                      'sequential read, 1 MiB, depth 1: 3.0 times faster on UAS; sequential read, 1 MiB, depth 8: 2.0 times faster on UAS')
        for r in b.runs:
            r.driver = UAS
        self.check(b, '')  # there is nothing to compare

    def test_doubted(self):
        """Doubts about the rows that carry the verdict, if they can cause or hide a difference.

        Rows 2 and 3 are random, at depth 32 and 1.
        """
        every, any_driver = range(4), tuple(Driver)
        for rows, drivers, doubts, same, want in (
                ([2], [UAS], [Doubt.DEPTH], False, SAID + '; with doubts: depth'),
                ([2], [BOT], [Doubt.CACHE], False, SAID + '; with doubts: cache'),
                ([2], [UAS], [Doubt.MEMORY, Doubt.CACHE], False, SAID + '; with doubts: cache, memory'),
                ([2], [UAS], [Doubt.LOAD], False, SAID + '; with doubts: load'),
                ([2], [UAS], [Doubt.SUBMIT], False, SAID + '; with doubts: submission'),
                ([2], [UAS], [Doubt.REGION, Doubt.SYNCS], False, SAID),  # both drivers have this doubt
                ([0], [UAS], [Doubt.DEPTH, Doubt.CACHE], False, SAID),  # the doubt of another row
                (every, any_driver, [Doubt.USB2], False, SAID),  # faster despite this doubt
                (every, any_driver, [Doubt.USB2], True, SAME + '; with doubts: usb2'),
                ([0], [UAS], [Doubt.DEPTH], True, SAME + '; with doubts: depth'),
                (every, [UAS], [Doubt.DEPTH, Doubt.LOAD], True, SAME + '; with doubts: depth, load')):
            b = samples.comparison()
            b.conditions.rotational = False
            if same:
                set_rates(b, 2, UAS, 1 / 3.1)
            for r in b.runs:
                if r.pattern in rows and r.driver in drivers:
                    for doubt in doubts:
                        doubt_run(b, r, doubt)
            self.check(b, want)

    def test_many_doubts(self):
        """Too many kinds of doubt for one sentence. Without a comparison there is no summary."""
        b = samples.comparison()
        for r in b.runs:
            for doubt in Doubt.DEPTH, Doubt.CACHE, Doubt.MEMORY, Doubt.LOAD, Doubt.SUBMIT:
                doubt_run(b, r, doubt)
        self.assertIn('difference; with doubts: depth, submission, cache and 2 more', verdict.overall(b))
        b.single = True
        self.check(b, '')

    def test_many_patterns(self):
        """The largest differences, equal ones in their order, and the number of the others."""
        b = samples.bench()
        b.conditions.queues[UAS].queue_depth = 64
        for i in range(7):
            p = samples.pattern(b, 'p', 'randread', 4096, 1 << i)
            samples.runs(b, p, BOT, *[100 * 4096] * 5)
            samples.runs(b, p, UAS, *[200 * 4096] * 5)
        twice = 'random read, 4 KiB, depth %i: 2.0 times faster on UAS'
        self.check(b, '; '.join(twice % depth for depth in (1, 2, 4, 8)) + '; 3 more with a difference')
        for i in (0, 2, 3, 4, 5, 6):
            set_rates(b, i, UAS, 0.5)
        self.check(b, twice % 2 + '; 6 random patterns: ' + SAME)
        # A pattern without a verdict is not mentioned.
        for r in b.runs:
            if r.pattern >= 5:
                r.error = -5
        self.check(b, twice % 2 + '; 4 random patterns: ' + SAME + '; 2 random patterns: too few rounds for a verdict (0 and 0; it needs 5 of '
                      'each, and the first one does not count)')

    def test_findings(self):
        """The cause that ended a half comes first, in plain words."""
        b = samples.comparison()
        self.assertEqual(verdict.finding_text(b), '')
        b.finding = Finding(UAS, 20, '2 commands aborted, 1 reset')
        self.assertEqual(b.runs[20].pattern, 1)
        self.assertEqual(verdict.finding_text(b),
                         'uas failed during sequential read, 1 MiB, depth 1: 2 commands aborted, 1 reset. This disk is not safe on uas here: leave '
                         'it on usb-storage (uasctl policy DISK usb-storage), whatever the figures say.')
        b.finding.run, b.finding.driver = 9999, BOT
        self.assertEqual(verdict.finding_text(b), 'usb-storage failed: 2 commands aborted, 1 reset. UAS is not the cause: check cable, power '
                                                  'and the disk itself.')
        # A missing half is not reported as "too few rounds".
        for r in b.runs:
            if r.pattern == 0 and r.driver is UAS:
                r.error = -5
        self.check(b, FASTER + '; 1 sequential and 1 random pattern: ' + SAME + '; 1 sequential pattern: ended before its time')

    def test_single(self):
        """Only one driver, and it ended early: this is no comparison with too few rounds, and no failed one."""
        for interrupted, found, otherwise in ((False, False, Word.SINGLE), (True, False, Word.ROUNDS), (False, True, Word.FAILED),
                                              (True, True, Word.FAILED)):
            for single in False, True:
                b = samples.bench()
                p = samples.pattern(b, 'p', 'randread', 4096, 32)
                samples.runs(b, p, UAS, 100 * 4096)
                b.interrupted, b.single, b.finding = interrupted, single, Finding() if found else None
                v = verdict.of_pattern(b, p)
                self.assertIs(v.word, Word.SINGLE if single else otherwise)
                self.assertEqual(verdict.overall(b) == '', v.word is Word.SINGLE)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lists of patterns of a sweep, and the shares of a region."""

import unittest

from bench import fio, patterns
from bench.model import Axis, Pattern

K = 1 << 10
G = 1 << 30

# axis, depth, jobs, size, available, sync, error, points, last value, region of the last one, its name
SWEEPS = (
    (Axis.DEPTH, 8, 1, G, 4 * G, False, None, 6, 32, G, "P depth=32"),
    (Axis.DEPTH, 8, 1, G, 4 * G, True, patterns.NoEffect, 0, 0, 0, None),
    (Axis.JOBS, 8, 1, G, 4 * G, False, None, 6, 32, G, "P jobs=32"),
    # Four of 1 GiB each: 4 GiB for all patterns, whatever their number of jobs.
    (Axis.JOBS, 1, 4, G, 16 * G, True, None, 6, 32, 4 * G, "P jobs=32"),
    (Axis.JOBS, 1, 1, 0, 8 * G, True, None, 6, 32, 8 * G, "P jobs=32"),
    # Room for only two blocks.
    (Axis.JOBS, 1, 1, 0, 8 * K, True, None, 2, 2, 8 * K, "P jobs=2"),
    (Axis.REGION, 8, 1, G, 100 * G, False, None, 7, 10 * G, 10 * G, "P region=10G"),
    (Axis.REGION, 8, 4, G, 6 * G, False, None, 5, 5 * G, 5 * G, "P region=5G"),
    (Axis.REGION, 8, 1, G, G // 4, False, None, 1, G // 4, G // 4, "P region=256M"),
    (Axis.REGION, 8, 1, G, G // 8, False, patterns.NoRoom, 0, 0, 0, None),
)
# text, error, axis, values, number of values, wrong word
LISTS = (
    ("depth", 0, Axis.DEPTH, (1, 2, 4), 6, None),
    ("depth=3", 0, Axis.DEPTH, (3,), 1, None),
    ("jobs=32,5,1", 0, Axis.JOBS, (1, 5, 32), 3, None),
    ("region=1G,256M", 0, Axis.REGION, (G // 4, G), 2, None),
    ("region=20g", 0, Axis.REGION, (20 * G,), 1, None),
    ("runtime", 0, Axis.RUNTIME, (5, 10, 20), 3, None),
    ("ramp", 0, Axis.RAMP, (0, 5, 10), 3, None),
    ("ramp=7,0", 0, Axis.RAMP, (0, 7), 2, None),
    ("runtime=0", "ERANGE", 0, (), 0, "0"),
    ("ramp=3601", "ERANGE", 0, (), 0, "3601"),
    ("depth=1,64", "ERANGE", 0, (), 0, "64"),
    ("depth=0,1", "ERANGE", 0, (), 0, "0,1"),
    ("region=1023K", "ERANGE", 0, (), 0, "1023K"),
    ("jobs=4,8,4", "EEXIST", 0, (), 0, "4"),
    ("region=1024M,1G", "EEXIST", 0, (), 0, "1G"),
    ("depth=", "EINVAL", 0, (), 0, ""),
    ("depth=4,", "EINVAL", 0, (), 0, ""),
    ("depth=4,,8", "EINVAL", 0, (), 0, ",8"),
    ("depth=four", "EINVAL", 0, (), 0, "four"),
    ("depth=4 8", "EINVAL", 0, (), 0, "4 8"),
    ("depth=1k", "EINVAL", 0, (), 0, "1k"),
    ("depth=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33", "ERANGE", 0, (), 0, "33"),
    ("colour", "EINVAL", 0, (), 0, None),
    ("", "EINVAL", 0, (), 0, None),
    ("=1", "EINVAL", 0, (), 0, None),
    ("d=1", "EINVAL", 0, (), 0, None),
    ("none", "EINVAL", 0, (), 0, None),
    ("clients", "EINVAL", 0, (), 0, None),
    ("a-word-that-is-no-axis=1", "EINVAL", 0, (), 0, None),
)
LISTED = (
    ("depth=3,5", G, None, 2, "P depth=3", "P depth=5"),
    ("jobs=7", G, None, 1, "P jobs=7", "P jobs=7"),
    ("region=1536K,1M,2M,20G", 40 * G, None, 4, "P region=1M", "P region=20G"),
    ("region=1536K", 40 * G, None, 1, "P region=1572864", "P region=1572864"),
    # The usual list ends where the room ends. For a list of the user this is an error.
    ("region", G, None, 3, "P region=256M", "P region=1G"),
    ("region=1G,2G", G, patterns.NoRoom, 0, None, None),
    ("jobs=1,3", 8 * K, patterns.NoRoom, 0, None, None),
)


def pattern(**more):
    return Pattern(**{'name': 'P', 'rw': 'randread', 'engine': 'x', 'block_size': 4 * K, 'iodepth': 8, 'numjobs': 1, 'read_percent': 100} | more)


class Sweep(unittest.TestCase):
    def test_sweeps(self):
        for axis, depth, jobs, size, available, sync, error, n, last, region, name in SWEEPS:
            with self.subTest(name, axis=axis, sync=sync):
                p, s = pattern(iodepth=depth, numjobs=jobs, size=size, sync_engine=sync), patterns.parse(axis)
                self.assertFalse(s.listed)
                if error:
                    self.assertRaises(error, patterns.make, p, s, available)
                    continue
                points = patterns.make(p, s, available)
                end = points[-1]
                self.assertEqual((len(points), end.axis, end.name, fio.region_all(end, available)), (n, last, name, region))
                self.assertEqual(end.iodepth, last if axis is Axis.DEPTH else depth)
                self.assertEqual(end.numjobs, last if axis is Axis.JOBS else jobs)
                self.assertEqual((end.rw, end.block_size, end.read_percent), ('randread', 4 * K, 100))

    def test_lists(self):
        """Lists are taken as they are. No entry is dropped without an error."""
        for text, error, axis, values, n, word in LISTS:
            with self.subTest(text):
                if not error:
                    s = patterns.parse(text)
                    self.assertEqual((s.axis, len(s.values), s.values[:len(values)], s.listed), (axis, n, values, '=' in text))
                    continue
                with self.assertRaises(patterns.WrongSweep) as caught:
                    patterns.parse(text)
                says = {'ERANGE': f"'{(word or '').split(',')[0]}' is out of range: ", 'EEXIST': f"'{word}' occurs twice.", 'EINVAL': 'it takes depth, jobs, '}[error]
                self.assertTrue(str(caught.exception).startswith(says), caught.exception)

    def test_listed_points(self):
        for text, available, error, n, first, last in LISTED:
            with self.subTest(text):
                s = patterns.parse(text)
                if error:
                    self.assertRaises(error, patterns.make, pattern(), s, available)
                else:
                    names = [p.name for p in patterns.make(pattern(), s, available)]
                    self.assertEqual((len(names), names[0], names[-1]), (n, first, last))

    def test_regions(self):
        for block, size, available, jobs, each in ((4 * K, G, 4 * G, 1, G), (4 * K, G, 4 * G, 8, G // 2), (4 * K, 0, 4 * G, 4, G), (K * K, 0, G + 5, 1, G),
                                                   (K * K, 0, G, 3, 341 * K * K), (K * K, 0, K * K, 2, 0), (4 * K, G, 0, 1, 0)):
            p = Pattern(block_size=block, size=size, numjobs=jobs)
            self.assertEqual((fio.region_each(p, available), fio.region_all(p, available)), (each, each * jobs))

    def test_machines(self):
        for n, steps in (0, (0,)), (1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (8, (1, 2, 4, 8)), (64, (1, 2, 4, 8, 16, 32, 64)):
            s = patterns.of_clients(n)
            self.assertEqual((s.axis, s.values), (Axis.CLIENTS if n else Axis.NONE, steps))
            points = patterns.make(pattern(), s, G)
            self.assertEqual((len(points), points[-1].name), (len(steps), f'P clients={n}' if n else 'P'))


if __name__ == '__main__':
    unittest.main()

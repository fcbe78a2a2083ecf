#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of fio, and the figures from it. fio/README.md says how it was recorded."""

import json
import os
import random
import unittest

from bench import doubts, fio, fio_json
from bench.model import Bench, Driver, Pattern

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fio')
# Of a side: bytes, ios, bytes_per_sec, iops, mean, p50, p95, p99, slat, clat if it is compared.
SIDE = 'bytes', 'ios', 'bytes_per_sec', 'iops', 'mean_ns', 'p50_ns', 'p95_ns', 'p99_ns', 'slat_mean_ns', 'clat_mean_ns'
# file, jobs, depth, runtime, read, write, share of the depth, error, CPU if it is compared
RECORDED = (
    ("recorded-3.33-grouped.json", 4, 32, 225000, (67108864, 16384, 298261618, 72817.7778, 1727644.99, 1564672, 2736128, 7372800), (), 0.99243164, 0, 34.157304),
    ("recorded-3.33-apart.json", 3, 32, 10000, (3145728, 768, 314572800, 76800, 1161782.66, 1155072, 1826816, 1875968), (), 0.87890625, 0, 33.333333),
    ("recorded-3.33-apart-plain.json", 3, 8, 127000, (3145728, 768, 24769511.8, 6047.24409, 3626704.94, 3948544, 8355840, 8716288), (), 0.97265625, 0, 3.394384),
    ("recorded-3.33-mixed.json", 1, 1, 468000, (4767744, 291, 10187487.2, 621.794872, 1420738.74, 724992, 4358144, 6062080), (3620864, 221, 7736888.89, 472.222222, 10641.7421, 8640, 27008, 39680), 1, 0, 3.426124),
    ("recorded-3.33-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0), (), 1, -22, 0),
    ("recorded-3.33-ramp.json", 1, 4, 1001000, (589365248, 8989, 588776472, 8980.01998, 433466.511, 264192, 1011712, 4046848), (), 1, 0, 12.9),
    ("recorded-3.1-apart.json", 3, 8, 87000, (3145728, 768, 36157793.1, 8827.58621, 1991080.38, 423936, 9502720, 56360960, 5477.04036, 1985543.81868), (), 0.97265625, 0),
    ("recorded-3.1-mixed.json", 2, 16, 625000, (1273856, 311, 2038169.6, 497.6, 25791742.2, 15269888, 141557760, 158334976, 234909.318), (823296, 201, 1317273.6, 321.6, 38691130, 20054016, 158334976, 181403648, 153218.095), 0.94140625, 0),
    ("recorded-3.1-ramp.json", 1, 4, 1001000, (2056192, 501, 2054137.86, 500.4995, 5596183.47, 99840, 17694720, 105381888, 14832.992), (), 1, 0),
    ("recorded-3.1-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0, 0), (), 1, -22),
    ("recorded-3.16-apart.json", 3, 8, 1046000, (2154496, 526, 2059747.61, 502.868069, 21064939, 50069504, 111673344, 333447168, 394166.306), (), 0.960076046, 0),
    ("recorded-3.16-mixed.json", 2, 16, 291000, (1273856, 311, 4377512.03, 1068.72852, 14608327, 7766016, 61079552, 121110528, 26917.0193), (823296, 201, 2829195.88, 690.721649, 19318702.4, 8028160, 65273856, 123207680, 6730.33333), 0.96875, 0),
    ("recorded-3.16-ramp.json", 1, 4, 1061000, (1241088, 300, 1169734.21, 282.752121, 14023951.8, 10027008, 58982400, 152043520, 13000.0033), (), 0.98, 0),
    ("recorded-3.16-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0, 0), (), 1, -22),
    ("recorded-3.25-apart.json", 3, 8, 138000, (3145728, 768, 22795130.4, 5565.21739, 2774607.41, 1449984, 20054016, 24772608, 23216.9219), (), 0.97265625, 0),
    ("recorded-3.25-mixed.json", 2, 16, 83000, (1273856, 311, 15347662.7, 3746.98795, 3352953.62, 366592, 15532032, 39059456, 8164.6045), (823296, 201, 9919228.92, 2421.68675, 5279563.21, 634880, 24248320, 39059456, 10295.3532), 0.96875, 0),
    ("recorded-3.25-ramp.json", 1, 4, 1005000, (2039808, 496, 2029659.7, 493.532338, 1607400.96, 240640, 5210112, 22413312, 31341.5302), (), 0.23790323, 0),
    ("recorded-3.25-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0, 0), (), 1, -22),
    ("recorded-3.28-apart.json", 3, 8, 539000, (3145728, 768, 5836230.06, 1424.86085, 15803939, 6127616, 62652416, 106430464, 8085.54167, 15795776.5456), (), 0.97265625, 0),
    ("recorded-3.28-mixed.json", 2, 16, 1473000, (1273856, 311, 864803.802, 211.133741, 59488034.2, 32112640, 248512512, 299892736, 9294.72026), (823296, 201, 558924.644, 136.456212, 64406044, 32899072, 248512512, 299892736, 393595.831), 0.96875, 0),
    ("recorded-3.28-ramp.json", 1, 4, 1024000, (655360, 157, 640000, 153.320312, 27984227.8, 5603328, 183500800, 193986560, 15978.2166), (), 0.98089172, 0),
    ("recorded-3.28-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0, 0), (), 1, -22),
    ("recorded-3.36-apart.json", 3, 8, 33000, (3145728, 768, 95325090.9, 23272.7273, 987032.599, 505856, 5079040, 7372800, 5539.09896), (), 0.97265625, 0),
    ("recorded-3.36-mixed.json", 2, 16, 1448000, (1273856, 311, 879734.807, 214.779006, 70997406.8, 1712128, 346030080, 700448768, 1473716.24), (823296, 201, 568574.586, 138.812155, 79214797.8, 1794048, 346030080, 968884224, 180869.219), 0.96875, 0),
    ("recorded-3.36-ramp.json", 1, 4, 1684000, (53248, 10, 31619.9525, 5.93824228, 464236360, 258998272, 1132462080, 1132462080, 24055445), (), 1, 0),
    ("recorded-3.36-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0, 0), (), 1, -22),
    ("recorded-3.39-apart.json", 3, 8, 380000, (3145728, 768, 8278231.58, 2021.05263, 9604801.23, 7438336, 32112640, 101187584, 9007.72786), (), 0.97265625, 0),
    ("recorded-3.39-mixed.json", 2, 16, 112000, (1273856, 311, 11373714.3, 2776.78571, 4201344.1, 1990656, 27918336, 30801920, 6932.24116), (823296, 201, 7350857.14, 1794.64286, 5632422.73, 3522560, 27918336, 31064064, 6827.8806), 0.94921875, 0),
    ("recorded-3.39-ramp.json", 1, 4, 1018000, (1347584, 326, 1323756.39, 320.235756, 11694938.2, 4227072, 37486592, 254803968, 19391.4479), (), 0.98773006, 0),
    ("recorded-3.39-error.json", 1, 1, 0, (0, 1, 0, 0, 0, 0, 0, 0, 0), (), 1, -22),
)
CLIENTS = (
    ("recorded-3.1-clients.json", ("127.0.0.1:8771", "127.0.0.1:8772"), 81000, (2097152, 512, 25890765.4, 6320.98765, 2978876.88, 561152, 35913728, 44826624, 7536.1875)),
    ("recorded-3.16-clients.json", ("127.0.0.1:8771", "127.0.0.1:8772"), 1258000, (2097152, 512, 1667052.46, 406.995231, 52581389.7, 46923776, 287309824, 287309824, 10408.791)),
    ("recorded-3.25-clients.json", ("127.0.0.1:8772", "127.0.0.1:8771"), 65000, (2097152, 512, 32263876.9, 7876.92308, 3059494.26, 2113536, 21102592, 29229056, 8072.33203)),
    ("recorded-3.39-clients.json", ("127.0.0.1:8771", "127.0.0.1:8772"), 319000, (2097152, 512, 6574144.2, 1605.01567, 12290457.8, 6389760, 63700992, 90701824, 129280.416)),
)
HOSTS = (
    ("nas", "nas,8765"),
    ("nas,10.0.0.2:9000", "nas,8765 10.0.0.2,9000"),
    ("[fe80::1%eth0]:9000,[::1]", "ip6:fe80::1%eth0,9000 ip6:::1,8765"),
    ("a,b,c,d", "a,8765 b,8765 c,8765 d,8765"),
    ("", None),
    ("a,", None),
    ("a,a", None),
    ("a:0", None),
    ("a:65536", None),
    ("a:x", None),
    ("-x", None),
    ("a b", None),
    ("sock:/tmp/x", None),
    ("::1", None),
    ("[::1", None),
    ("[::1]9", None),
)


def recorded(name):
    with open(f'{FOLDER}/{name}', encoding='utf-8') as f:
        return f.read()


def job(**more):
    return {'jobname': 'a', 'error': 0} | more


def read(size, ios, ms, mean, percentiles=None):
    clat = {'mean': mean} | ({'percentile': dict(zip(('50.000000', '95.000000', '99.000000'), percentiles))} if percentiles else {})
    return job(read={'io_bytes': size, 'total_ios': ios, 'runtime': ms, 'bw': 1, 'iops': 7.5, 'clat_ns': clat})


def parse(*jobs, depth=1):
    return fio_json.parse(json.dumps({'jobs': jobs}), 0, 1, depth)[0]


class FioJson(unittest.TestCase):
    def near(self, got, want, *row):
        self.assertLessEqual(abs(got - want), 1e-6 * (want + 1), (*row, got, want))

    def side(self, got, want, *row):
        want = (*want, 0, 0, 0, 0, 0, 0, 0, 0, 0)[:9] + want[9:]
        for name, value in zip(SIDE, want):
            self.near(getattr(got, name), value, *row, name)

    def test_recorded(self):
        for name, jobs, depth, runtime, reads, writes, share, error, *cpu in RECORDED:
            with self.subTest(name):
                run, = fio_json.parse(recorded(name), 0, jobs, depth)
                self.side(run.read, reads)
                self.side(run.write, writes)
                self.assertEqual((run.runtime_usec, run.error), (runtime, error))
                self.near(run.depth_share, share)
                for percent in cpu:
                    self.near(run.cpu_percent, percent)

    def test_arithmetic(self):
        """Sums and rates over jobs."""
        slow = {'io_bytes': 10, 'total_ios': 10, 'runtime': 1000, 'slat_ns': {'mean': 19}}
        p = {'50.000000': 10, '95.000000': 20, '99.000000': 30}
        for jobs, want in (
                ([read(1000000, 10, 1000, 5)], (1000000, 10, 1000000, 10, 5)),
                # Two at once: the sum of their bytes, by the common time.
                ([read(1000000, 10, 1000, 5), read(3000000, 30, 1000, 9)], (4000000, 40, 4000000, 40, 8)),
                # One ends earlier: the sum of both rates would be 3,000,000.
                ([read(1000000, 10, 500, 5), read(1000000, 10, 1000, 5)], (2000000, 20, 2000000, 20, 5)),
                # A job that did nothing changes nothing.
                ([read(1000000, 10, 1000, 5, (1, 2, 3)), read(0, 0, 0, 0, (9, 9, 9))], (1000000, 10, 1000000, 10, 5, 1, 2, 3)),
                # Too short for a runtime: fio's own rates. Version 3.1 has only KiB.
                ([read(4096, 1, 0, 5), read(4096, 1, 0, 5)], (8192, 2, 2048, 15, 5)),
                # Percentiles of jobs cannot be averaged. The highest is a bound.
                ([read(10, 10, 1000, 5, (10, 20, 30)), read(10, 10, 1000, 5, (11, 19, 31))], (20, 20, 20, 20, 5, 11, 20, 31)),
                # Latency from the submission on. Version 3.1 has the percentiles of lat under clat.
                ([job(read=slow | {'clat_ns': {'mean': 6, 'percentile': {'50.000000': 1}}, 'lat_ns': {'mean': 25, 'percentile': p}})],
                 (10, 10, 10, 10, 25, 10, 20, 30, 19, 6)),
                ([job(read=slow | {'clat_ns': {'mean': 6, 'percentile': p}, 'lat_ns': {'mean': 25}})], (10, 10, 10, 10, 25, 10, 20, 30, 19, 6)),
                # No numbers, or impossible ones: the result is empty, without an error.
                ([{}], ()), ([None], ()), ([job(read=7)], ()),
                ([read(-5, 10, -1, 5)], (0, 10, 1024, 7.5, 5))):
            run = parse(*jobs)
            self.side(run.read, want, jobs)
            self.assertEqual(run.write.ios, 0)

    def test_depths(self):
        for depth, levels, share in ((1, {'1': 100.0}, 1), (32, {'1': 0.1, '16': 1.0, '32': 98.9}, 0.989),
                                     (24, {'16': 60.0, '32': 40.0}, 1),  # a depth of 24 counts at 16 to 31
                                     (256, {'32': 75.0, '>=64': 25.0}, 0.25), (32, {'1': 100.0}, 0),
                                     (1, {'1': 102.34}, 1),  # with fsync fio counts more requests than it has issued
                                     (8, {'4': -3.0}, 0)):
            self.near(parse(read(1, 1, 1, 1) | {'iodepth_level': levels}, depth=depth).depth_share, share, depth, levels)

    def test_texts(self):
        """Text around the document, and text that is no document."""
        one = json.dumps(read(1, 3, 1, 1))
        for text, ios in ((f'{{"jobs":[{one}]}}', 3), (f'note: both iodepth >= 1 and {{braces}}\n{{what is this\n{{"jobs":[{one}]}}\nfio: bye {{\n', 3),
                          (f'{{"x" : -nan,"y" : inf,"s" : "nan","jobs":[{one}]}}', 3), ('', None), ('fio: failed\n', None), (f'{{"jobs":[{one}', None), ('{}', None),
                          ('{"jobs":[]}', None), ('{"jobs":{}}', None), ('[]\n', None), ('{"a":' * 100000, None), ('{"jobs":[' + '[' * 100000, None)):
            if ios is None:
                self.assertRaises(fio_json.NotFio, fio_json.parse, text, 0, 1, 1)
            else:
                self.assertEqual(fio_json.parse(text, 0, 1, 1)[0].read.ios, ios)

    def test_clients(self):
        text = recorded('recorded-3.33-clients.json')
        runs = fio_json.parse(text, 2, 2, 8)
        self.assertEqual([r.host for r in runs], ['', '127.0.0.1:8772', '127.0.0.1:8771'])
        self.assertEqual([r.read.bytes for r in runs], [591458304, 302206976, 289251328])
        # fio's own sum, which has no percentiles. None can be above the highest.
        self.assertEqual((runs[0].read.ios, int(runs[0].read.bytes_per_sec)), (144399, 295581361))
        self.near(runs[0].read.iops, 72163.418291)
        self.assertEqual((runs[0].read.p50_ns, runs[0].read.p95_ns, runs[0].read.p99_ns), (370688, 593920, 3358720))
        self.near(runs[0].cpu_percent, 44.5)  # 0.9625 + 10.1625 on average of four jobs
        for wrong, n in ((text, 1), ('{"client_stats":[]}', 2), ('{"client_stats":[{"jobname":"All clients"}]}', 2), ('{"client_stats":[7]}', 2),
                         ('{"client_stats":[{"hostname":7}]}', 2), ('{"jobs":[{}]}', 2)):
            self.assertRaises(fio_json.NotFio, fio_json.parse, wrong, n, 2, 8)
        for name, hosts, runtime, want in CLIENTS:
            with self.subTest(name):
                runs = fio_json.parse(recorded(name), 2, 2, 8)
                self.assertEqual(([r.host for r in runs], runs[0].runtime_usec), (['', *hosts], runtime))
                self.side(runs[0].read, want)
                self.assertEqual(runs[1].read.ios + runs[2].read.ios, runs[0].read.ios)

    def test_syncs(self):
        """Syncs of two jobs. They are not among the reads and writes."""
        run, = fio_json.parse(recorded('recorded-3.33-sync.json'), 0, 1, 1)
        self.side(run.sync, (0, 47, 0, 348.148148, 2647091.72, 1744896, 9109504, 9633792, 0))
        self.assertEqual((run.read.ios, run.write.ios), (156 + 155, 100 + 101))
        self.side(fio_json.parse(recorded('recorded-3.33-apart.json'), 0, 1, 8)[0].sync, ())
        # For fdatasync, 3.33 prints the latency and the count, but not in the field of fsync.
        run = parse({'write': {'total_ios': 1707, 'io_bytes': 27967488, 'runtime': 2000}, 'sync': {'total_ios': 0, 'lat_ns': {'mean': 3038633.8, 'N': 95}}})
        self.side(run.sync, (0, 95, 0, 47.5, 3038633.8))
        self.assertEqual(run.write.ios, 1707)

    def test_synced_too_often(self):
        """With a sync after every tenth write, fio 3.33 also syncs with each read. Its own figures show that."""
        run, = fio_json.parse(recorded('recorded-3.33-sync.json'), 0, 2, 1)
        run.driver, run.round = Driver.UAS, 1
        for fsync, fdatasync, doubted in (10, 0, True), (0, 10, True), (0, 0, False), (4, 0, False), (10, 6, False), (1000, 0, True), (5, 0, False):
            p = Pattern(block_size=4096, numjobs=2, read_percent=60, random=True, iodepth=1, sync_engine=True, fsync=fsync, fdatasync=fdatasync)
            found = doubts.of(Bench(patterns=[p], runs=[run]), 0, Driver.UAS)
            self.assertEqual(doubts.Doubt.SYNCS in found, doubted, (fsync, fdatasync))
            if (fsync, fdatasync) == (10, 0):
                self.assertIn('synced 47 times instead of 20: ', found[doubts.Doubt.SYNCS])

    def test_hosts(self):
        for text, want in HOSTS:
            with self.subTest(text):
                if want is None:
                    self.assertRaises(ValueError, fio.hosts, text)
                else:
                    self.assertEqual(' '.join(fio.hosts(text)), want)
        self.assertRaises(ValueError, fio.hosts, ','.join(f'h{i}' for i in range(fio.JOBS_MAX + 1)))

    def test_hostile(self):
        """A broken server: any value at any place gives a result or NotFio, and finite figures."""
        values = [None, True, -1, 10**400, 1e308, '', '9' * 5000, 'x', [], {}, [[]], {'mean': {}}, float('nan')]
        chance = random.Random(1)

        def spoil(o):
            if chance.random() < 0.05:
                return chance.choice(values)
            if isinstance(o, dict):
                return {k: spoil(v) for k, v in o.items()}
            return [spoil(v) for v in o] if isinstance(o, list) else o
        for name, n in ('recorded-3.33-grouped.json', 0), ('recorded-3.33-clients.json', 2):
            text = recorded(name)
            whole = json.loads(text[text.index('{'):])
            for _ in range(300):
                try:
                    runs = fio_json.parse(json.dumps(spoil(whole)), n, 4, 32)
                except fio_json.NotFio:
                    continue
                for run in runs:
                    for side in run.read, run.write, run.sync:
                        self.assertTrue(0 <= side.bytes_per_sec < 1e30 and 0 <= side.mean_ns < 1e19 and side.ios >= 0)
                    self.assertTrue(0 <= run.depth_share <= 1 and -4095 <= run.error <= 0)


if __name__ == '__main__':
    unittest.main()

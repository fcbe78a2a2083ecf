#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What others have written: stored results, fio's JSON, job files of users, and lists of hosts. Each input in hostile/ is tried as it
is, and changed. So are the results of samples.py. An input is read, or refused as its reader documents it.

$HOSTILE_ROUNDS: how many changes of each input are tried, the same ones in each run.
"""

import contextlib
import errno
import glob
import io
import math
import os
import random
import re
import unittest

from samples import SAMPLES

from bench import chart, document, doubts, export, fio, fio_json, model, profile, verdict
from bench.export import Format
from bench.model import Driver

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'hostile')
ROUNDS = int(os.environ.get('HOSTILE_ROUNDS', '3'))
HOSTS, JOBS, DEPTH = 4, 3, 32


def changed(data, chance):
    """Some bytes, which fio's JSON and a job file survive at times."""
    data = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(1, len(data) + 1)
        part = data[at:at + chance.randrange(1, 9)]
        data[at:at + chance.randrange(0, 9)] = chance.choice((b'', part * 2, bytes([chance.randrange(256)]), b'9' * 30, b'\n', b'{', b'"'))
    return bytes(data)


def spoilt(data, chance):
    """Some values of a stored result: any may be there that its reader takes."""
    def other(m):
        if chance.random() > 0.005:
            return m[0]
        return m[1] + chance.choice((b'0', b'1', b'7', b'1000000', b'18446744073709551615', b'1e18', b'1e-300', b'0.5', b'null', b'-1', b'"|`\\u001b[31m=x"'))
    return re.sub(rb'(: )(-?[0-9.e+]+|"[^"]*")', other, data)


def told(b):
    """In all formats."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for how in Format:
            export.tell(b, how)
    return out.getvalue() + chart.script(b, True)


class Hostile(unittest.TestCase):
    def test_results(self):
        """A result that was read can be written, read again as the same one, and printed in every format."""
        read = refused = 0
        for name, data in ((name, document.text(document.document(sample())).encode()) for name, sample in SAMPLES.items()):
            chance = random.Random(name)
            for one in [data, *(spoilt(data, chance) for _ in range(10 * ROUNDS))]:
                try:
                    b = model.parse(one)
                except OSError as error:
                    self.assertIn(error.errno, (errno.EBADMSG, errno.EPROTONOSUPPORT), one)
                    refused += 1
                    continue
                read += 1
                self.check_result(b, one)
        self.assertTrue(read > 0 < refused, (read, refused))

    def check_result(self, b, data):
        first = document.text(document.document(b))
        self.assertEqual(document.text(document.document(model.parse(first.encode()))), first)
        for i in range(len(b.patterns)):
            v = verdict.of_pattern(b, i)
            self.assertTrue(0 <= v.p <= 1 + 1e-7, data)
            if v.ratio:
                self.assertTrue(0 < v.ratio.low <= v.ratio.middle <= v.ratio.high, data)
            for driver in Driver:
                doubts.of(b, i, driver)
        self.assertEqual({c for c in told(b) if c < ' '} - {'\r', '\n'}, set(), data)

    def check_run(self, run, data):
        for side in run.read, run.write:
            for figure in side.bytes_per_sec, side.iops, side.mean_ns:
                self.assertTrue(math.isfinite(figure) and figure >= 0, data)
            self.assertTrue(side.ios > 0 or (side.bytes, side.bytes_per_sec, side.p99_ns) == (0, 0, 0), data)
        self.assertTrue(0 <= run.depth_share <= 1 and math.isfinite(run.cpu_percent) and run.cpu_percent >= 0 and -4096 < run.error <= 0, data)

    def check_json(self, text):
        for n in 0, HOSTS:
            try:
                runs = fio_json.parse(text, n, JOBS, DEPTH)
            except fio_json.NotFio:
                continue
            self.assertTrue(len(runs) == 1 if n == 0 else 2 <= len(runs) <= n + 1, text)
            for run in runs:
                self.check_run(run, text)
                self.assertEqual(run.host == '', run is runs[0], text)
                self.assertTrue(runs[0].read.ios >= run.read.ios and runs[0].write.bytes >= run.write.bytes, text)

    def parse(self, data):
        try:
            return profile.parse('x', 'x.fio', data)
        except profile.Fault as fault:
            self.assertTrue(str(fault).startswith('x.fio:'), fault)
        return None

    def check_profile(self, data):
        """No pattern that writes counts as a read. The job made of a pattern is read as the same pattern, and our options come last."""
        found = self.parse(data)
        if not found:
            return
        self.assertTrue(found.patterns, data)
        for p in found.patterns:
            self.assertTrue(p.name and p.rw and p.engine and p.block_size >= 512 and p.iodepth > 0 and p.numjobs > 0, data)
            self.assertTrue((p.size == 0 or p.size >= p.block_size) and p.read_percent <= 100 and (p.runtime_sec > 0 or not p.time_based), data)
            self.assertEqual(p.writes, p.rw not in ('read', 'randread'), data)
            self.assertLessEqual(fio.region_all(p, 1 << 40), 1 << 40, data)
            made = fio.job_text(fio.Job(p), '/proc/self/fd/4', p.block_size)
            own = made.index('\nfilename=/proc/self/fd/4\nallow_file_create=0\nrw=')
            self.assertTrue(made.startswith('[bench]\n') and '\nfilename=' not in made[own + 1:] and '\n[' not in made, data)
            again, = self.parse(made.encode('utf-8', 'surrogateescape')).patterns
            self.assertTrue(again.section.startswith(p.section), data)
            for member in 'rw', 'read_percent', 'block_size', 'numjobs', 'iodepth', 'time_based':
                self.assertEqual(getattr(again, member), getattr(p, member), (member, data))
        writes, n = sum(p.writes for p in found.patterns), len(found.patterns)
        self.assertEqual((found.drop_writes(), len(found.patterns)), (writes > 0, n - writes), data)

    def check_hosts(self, text):
        with contextlib.suppress(ValueError):
            for host in fio.hosts(text):
                self.assertFalse(host[0] in '-,' or set(host) & set(' /\n'), text)
                self.assertIn(',', host, text)

    def test_fio(self):
        """The first byte of an input says what it is."""
        for path in sorted(glob.glob(f'{FOLDER}/*')):
            with open(path, 'rb') as f:
                data = f.read()
            chance = random.Random(os.path.basename(path))
            for one in [data, *(changed(data, chance) for _ in range(ROUNDS))]:
                kind, rest = one[:1], one[1:]
                if kind == b'j':
                    self.check_json(rest.decode('utf-8', 'replace'))
                elif kind == b'p':
                    self.check_profile(rest)
                elif kind == b'h':
                    self.check_hosts(rest.decode('utf-8', 'surrogateescape'))


if __name__ == '__main__':
    unittest.main()

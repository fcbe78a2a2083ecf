#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Profiles of uasctl bench: the shipped ones, and files that users write."""

import os
import tempfile
import unittest

from bench import options, profile
from bench.machine import Machine

K = 1 << 10
M = 1 << 20
G = 1 << 30
PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/bench/profiles')

# Facts as published, a row a section: profile, section, rw, engine, block, size, depth, jobs, read_percent, runtime, ramp, direct,
# sync, time_based.
SHIPPED = (
    ("cdm", "SEQ1M-Q8T1-read", "read", "libaio", M, 5 * G, 8, 1, 100, 5, 0, True, False, True),
    ("cdm", "SEQ1M-Q1T1-read", "read", "libaio", M, 5 * G, 1, 1, 100, 5, 0, True, False, True),
    ("cdm", "RND4K-Q32T1-read", "randread", "libaio", 4 * K, 5 * G, 32, 1, 100, 5, 0, True, False, True),
    ("cdm", "RND4K-Q1T1-read", "randread", "libaio", 4 * K, 5 * G, 1, 1, 100, 5, 0, True, False, True),
    ("cdm", "SEQ1M-Q8T1-write", "write", "libaio", M, 5 * G, 8, 1, 0, 10, 0, True, False, True),
    ("cdm", "SEQ1M-Q1T1-write", "write", "libaio", M, 5 * G, 1, 1, 0, 10, 0, True, False, True),
    ("cdm", "RND4K-Q32T1-write", "randwrite", "libaio", 4 * K, 5 * G, 32, 1, 0, 10, 0, True, False, True),
    ("cdm", "RND4K-Q1T1-write", "randwrite", "libaio", 4 * K, 5 * G, 1, 1, 0, 10, 0, True, False, True),
    ("gcp", "write_throughput", "write", "libaio", M, 10 * G, 64, 8, 0, 60, 2, True, False, True),
    ("gcp", "write_iops", "randwrite", "libaio", 4 * K, 10 * G, 256, 1, 0, 60, 2, True, False, True),
    ("gcp", "read_throughput", "read", "libaio", M, 10 * G, 64, 8, 100, 60, 2, True, False, True),
    ("gcp", "read_iops", "randread", "libaio", 4 * K, 10 * G, 256, 1, 100, 60, 2, True, False, True),
    ("gcp", "rw_iops", "randrw", "libaio", 4 * K, 10 * G, 256, 1, 50, 60, 2, True, False, True),
    ("engines", "libaio-randread", "randread", "libaio", 4 * K, G, 64, 1, 100, 1000, 0, True, False, False),
    ("engines", "libaio-read", "read", "libaio", 4 * K, G, 64, 1, 100, 1000, 0, True, False, False),
    ("engines", "libaio-randwrite", "randwrite", "libaio", 4 * K, G, 64, 1, 0, 1000, 0, True, False, False),
    ("engines", "libaio-write", "write", "libaio", 4 * K, G, 64, 1, 0, 1000, 0, True, False, False),
    ("engines", "sync-randread", "randread", "sync", 4 * K, G, 64, 1, 100, 1000, 0, True, True, False),
    ("engines", "sync-write", "write", "sync", 4 * K, G, 64, 1, 0, 1000, 0, True, True, False),
    ("matrix", "seq-read-1", "read", "psync", 128 * K, 10 * G, 1, 1, 100, 120, 0, True, True, True),
    ("matrix", "seq-read-64", "read", "psync", 128 * K, 10 * G, 1, 64, 100, 120, 0, True, True, True),
    ("matrix", "rand-read-4", "randread", "psync", 4 * K, 10 * G, 1, 4, 100, 120, 0, True, True, True),
    ("matrix", "rand-read-16", "randread", "psync", 4 * K, 10 * G, 1, 16, 100, 120, 0, True, True, True),
    ("matrix", "seq-write-16", "write", "psync", 128 * K, 10 * G, 1, 16, 0, 0, 0, True, True, False),
    ("matrix", "rand-write-64", "randwrite", "psync", 4 * K, 10 * G, 1, 64, 0, 0, 0, True, True, False),
    ("pi", "hdparm-buffered", "read", "psync", 2 * M, 0, 1, 1, 100, 3, 0, False, True, True),
    ("pi", "hdparm-direct", "read", "psync", 2 * M, 0, 1, 1, 100, 3, 0, True, True, True),
    ("pi", "randrw-Q1T1", "randrw", "psync", 4 * K, G, 1, 1, 50, 0, 0, False, True, False),
    ("pi", "randrw-Q32T16", "randrw", "psync", 4 * K, G, 32, 16, 50, 0, 0, False, True, False),
    ("pi", "sysbench-rndrw", "randrw", "psync", 16 * K, 2 * G, 1, 1, 60, 10, 0, False, True, True),
)
# Options that only fio interprets, and those that bench sets itself: profile, section, name, value, patterns, writes.
OPTIONS = (
    ("gcp", "read_throughput", "iodepth_batch_submit", "64", 5, 3),
    ("gcp", "rw_iops", "iodepth_batch_complete_max", "256", 5, 3),
    ("gcp", "rw_iops", "verify", "0", 5, 3),
    ("matrix", "rand-write-16", "fallocate", "none", 16, 8),
    ("matrix", "seq-read-4", "nrfiles", "1", 16, 8),
    ("pi", "sysbench-rndrw", "fsync", "40", 5, 3),
    ("pi", "randrw-Q32T16", "thread", None, 5, 3),
    ("engines", "sync-read", "direct", "1", 8, 4),
    ("cdm", "SEQ1M-Q1T1-write", "runtime", None, 8, 4),
    ("gcp", "rw_iops", "size", None, 5, 3),
)
FAULTS = (
    ("", "no section but [global]", 0),
    ("[global]\nrw=read\n", "no section but [global]", 0),
    ("rw=read\n[a]\n", "an option before the first section", 1),
    ("[a\n", "']' is missing", 1),
    ("[]\n", "a section without a name", 1),
    ("[a]\n\n[a]\n", "a section of this name was there before", 3),
    ("[a]\ninclude other.fio\n", "not an OPTION=VALUE line", 2),
    ("[a]\nrw=trim\n", "rw=trim: value not understood", 2),
    ("[a]\nrw=randtrimwrite\n", "rw=randtrimwrite: value not understood", 2),
    ("[a]\nrw=read:8\n", "rw=read:8: value not understood", 2),
    ("[a]\nioengine=exec\n", "ioengine=exec: value not understood", 2),
    ("[a]\nbs=4k,8k\n", "bs=4k,8k: value not understood", 2),
    ("[a]\nbs=0\n", "bs=0: value not understood", 2),
    ("[a]\nbs=1Ki\n", "bs=1Ki: value not understood", 2),
    ("[a]\nbs=\n", "bs=: value not understood", 2),
    ("[a]\nsize=50%\n", "size=50%: value not understood", 2),
    ("[a]\nsize=99999999999g\n", "size=99999999999g: value not understood", 2),
    ("[a]\niodepth=0\n", "iodepth=0: value not understood", 2),
    ("[a]\nnumjobs=-1\n", "numjobs=-1: value not understood", 2),
    ("[a]\nnumjobs=4096\n", "numjobs=4096: value not understood", 2),
    ("[a]\nruntime=5ms\n", "runtime=5ms: value not understood", 2),
    ("[a]\ndirect=yes\n", "direct=yes: value not understood", 2),
    ("[a]\nrwmixread=101\n", "rwmixread=101: value not understood", 2),
    ("[a]\n[b]\nrw=randrw\nrwmixread=100\n", "[b]: a pattern that reads and writes needs an rwmixread= from 1 to 99",
    0),
    ("[a]\ntime_based\n", "[a]: time_based without runtime= would never end", 0),
    ("[a]\nbs=1m\nsize=4k\n", "[a]: size= has no room for a block of bs=", 0),
    ("[a]\nfsync=-1\n", "fsync=-1: value not understood", 2),
    ("[a]\nfdatasync=3g\n", "fdatasync=3g: value not understood", 2),
    ("[a]\nbs:4k\n", "not an OPTION=VALUE line", 2),
    ("[a]\nrw read\n", "not an OPTION=VALUE line", 2),
)
SIZES = (
    ("0", None, 0),
    ("4096", None, 4096),
    ("4k", None, 4096),
    ("4K", None, 4096),
    ("4kb", None, 4096),
    ("4B", None, 4),
    ("1M", None, M),
    ("10g", None, 10 * G),
    ("10GB", None, 10 * G),
    ("2t", None, 2048 * G),
    ("18446744073709551615", None, (1 << 64) - 1),
    ("18446744073709551616", OverflowError, 0),
    ("18446744073709551615k", OverflowError, 0),
    ("999999999999999999999999999", OverflowError, 0),
    ("", ValueError, 0),
    ("k", ValueError, 0),
    ("-1", ValueError, 0),
    ("1 k", ValueError, 0),
    ("1kk", ValueError, 0),
    ("0x10", ValueError, 0),
    ("1.5g", ValueError, 0),
)
INHERITANCE = """; two kinds of comment # both

  [global]
rw=randread ; random
   bs = 8K
direct
[first]\r
[second]
bs=64k
iodepth=4
[global]
buffered=1
ioengine=libaio#x
[third]
numjobs=3"""


def parse(text):
    return profile.parse('x', 'x.fio', text.encode())


class Profile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = Machine(folder.name)
        os.makedirs(f'{folder.name}/etc/uasd/bench')
        os.makedirs(f'{folder.name}/usr/share/uasd')
        os.symlink(PROFILES, f'{folder.name}/usr/share/uasd/bench')

    def section(self, p, name):
        return next(x for x in p.patterns if x.name == name)

    def test_shipped(self):
        for name, section, *want in SHIPPED:
            with self.subTest(f'{name} {section}'):
                p = self.section(profile.load(self.machine, name), section)
                self.assertEqual([p.rw, p.engine, p.block_size, p.size, p.iodepth, p.numjobs, p.read_percent, p.runtime_sec, p.ramp_sec,
                                  p.direct, p.sync_engine, p.time_based], want)
                self.assertEqual((p.writes, p.random), (p.read_percent < 100, p.rw.startswith('rand')))
                self.assertEqual((p.fsync, p.fdatasync), (40 if section == 'sysbench-rndrw' else 0, 0))

    def test_shipped_options(self):
        for name, section, option, value, patterns, writes in OPTIONS:
            p = profile.load(self.machine, name)
            last = dict(line.split('=', 1) for line in self.section(p, section).section.splitlines())
            self.assertEqual(last.get(option), value, (name, section))
            self.assertEqual(len(p.patterns), patterns)
            self.assertEqual(p.drop_writes(), writes > 0)
            self.assertEqual(len(p.patterns), patterns - writes)
            self.assertFalse(any(x.writes for x in p.patterns) or p.drop_writes())

    def test_inheritance(self):
        p = parse(INHERITANCE)
        self.assertEqual([(x.name, x.rw, x.direct, x.block_size, x.iodepth, x.numjobs, x.engine) for x in p.patterns],
                         [('first', 'randread', True, 8 * K, 1, 1, 'psync'), ('second', 'randread', True, 64 * K, 4, 1, 'psync'),
                          ('third', 'randread', False, 8 * K, 1, 3, 'libaio')])
        self.assertEqual(p.patterns[1].section, 'bs=8K\ndirect=1\nbs=64k\n')

    def test_waiting(self):
        """Engines for which the depth has no effect. libaio is one of them while it uses the page cache."""
        for text, sync in (('ioengine=psync\ndirect=1', True), ('ioengine=io_uring', False), ('ioengine=posixaio', False), ('ioengine=libaio', True),
                           ('ioengine=libaio\nbuffered=1', True), ('ioengine=libaio\ndirect=0', True), ('ioengine=libaio\ndirect=1', False),
                           ('ioengine=libaio\nbuffered=0', False)):
            self.assertEqual(parse(f'[x]\nrw=randread\niodepth=32\n{text}\n').patterns[0].sync_engine, sync, text)

    def test_faults(self):
        for text, what, line in FAULTS:
            with self.subTest(text), self.assertRaises(profile.Fault) as caught:
                parse(text)
            self.assertEqual(str(caught.exception), f'x.fio:{line}: {what}' if line else f'x.fio: {what}')
        with self.assertRaises(profile.Fault) as caught:
            parse('[a]\0')
        self.assertEqual(str(caught.exception), 'x.fio: not a text')

    def test_sizes(self):
        for text, error, value in SIZES:
            with self.subTest(text):
                if error:
                    self.assertRaises(error, options.size, text)
                else:
                    self.assertEqual(options.size(text), value)

    def put(self, name, text):
        with open(self.machine.path(f'/etc/uasd/bench/{name}'), 'w') as f:
            f.write(text)

    def test_search(self):
        """The user's own come first. A broken one hides the shipped one."""
        for name, text in ('mine.fio', '[a]\nbs=512\n'), ('pi.fio', '[b]\n[c]\n'), ('.hidden.fio', '[a]\n'), ('with blank.fio', '[a]\n'), ('other.txt', '[a]\n'):
            self.put(name, text)
        mine = profile.load(self.machine, 'mine')
        self.assertEqual((len(mine.patterns), mine.patterns[0].block_size, mine.name), (1, 512, 'mine'))
        self.assertEqual(len(profile.load(self.machine, 'pi').patterns), 2)
        self.assertEqual(profile.names(self.machine), ['cdm', 'engines', 'gcp', 'matrix', 'mine', 'pi'])
        self.put('pi.fio', '[b]\nrw=trim\n')
        with self.assertRaises(profile.Fault) as caught:
            profile.load(self.machine, 'pi')
        self.assertEqual(str(caught.exception), '/etc/uasd/bench/pi.fio:2: rw=trim: value not understood')
        self.assertRaises(FileNotFoundError, profile.load, self.machine, 'none')
        for name in '../bench/mine', '', '.hidden', '-x', 'a' * 65:
            self.assertRaises(ValueError, profile.load, self.machine, name)
        self.put('large.fio', '[a]\n' + ' ' * profile.FILE_MAX)
        self.assertRaises(OSError, profile.load, self.machine, 'large')

    def test_no_files(self):
        """Files with the name of a profile that are none."""
        folder = self.machine.path('/etc/uasd/bench')
        os.mkdir(f'{folder}/folder.fio')
        os.mkfifo(f'{folder}/fifo.fio')
        for name, to in ('dangling', 'nowhere'), ('circle', 'circle.fio'), ('gcp', 'nowhere'):
            os.symlink(to, f'{folder}/{name}.fio')
        for name, what in (('folder', 'no regular file'), ('fifo', 'no regular file'), ('dangling', 'a link that leads nowhere'),
                           ('circle', 'a link that leads nowhere'), ('gcp', 'a link that leads nowhere')):  # the shipped one does not replace it
            with self.assertRaises(profile.Fault) as caught:
                profile.load(self.machine, name)
            self.assertEqual(str(caught.exception), f'/etc/uasd/bench/{name}.fio: {what}')
        self.assertFalse({'folder', 'fifo', 'dangling', 'circle'} & set(profile.names(self.machine)))

    def test_hostile(self):
        """Any bytes make a profile or a fault, and nothing else."""
        seed = (b'[global]\nrw=randread\nbs=4k\n[a]\nsize=1g\nruntime=5\ntime_based\n', '[ä]\nfsync=1\n'.encode(), b'[b]\niodepth=\xff\n')
        for text in seed:
            for i in range(len(text)):
                for byte in b'\0\n[]=;#9k\xff -':
                    try:
                        profile.parse('x', 'x.fio', text[:i] + bytes([byte]) + text[i + 1:])
                    except profile.Fault as fault:
                        self.assertTrue(str(fault).startswith('x.fio:'))


if __name__ == '__main__':
    unittest.main()

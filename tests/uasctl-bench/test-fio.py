#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs of fio itself, and of programs that take its place."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace

from bench import child, fio, profile
from bench.model import Pattern

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROFILES = f'{FOLDER}/../../src/bench/profiles'
SIZE = 8 << 20
READ = Pattern(name='r', rw='randread', engine='psync', block_size=4096, size=1 << 20, iodepth=1, numjobs=1, read_percent=100, sync_engine=True,
               section='ioengine=psync\nbs=4k\n')


@unittest.skipUnless(os.access(fio.PROGRAM, os.X_OK), 'no fio')
class Fio(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = f'{self.folder}/data:1'
        with open(self.path, 'wb') as f:
            f.write(os.urandom(SIZE))

    def program(self, text):
        path = f'{self.folder}/program'
        with open(path, 'w') as f:
            f.write('#!/bin/sh\n' + text)
        os.chmod(path, 0o755)
        return path

    def failed(self, job, number):
        with self.assertRaises(fio.Failed) as caught:
            fio.run(job)
        self.assertEqual(caught.exception.number, number)
        return caught.exception.words

    def test_accepts(self):
        """The shipped profiles, and the job files that bench makes of them."""
        for name in sorted(os.listdir(PROFILES)):
            with open(f'{PROFILES}/{name}', 'rb') as f:
                p = profile.parse(name, name, f.read())
            self.assertEqual(fio.ask('--parse-only', p.text)[0], True, name)
            for pattern in p.patterns:
                text = fio.job_text(fio.Job(pattern, seed=7), '/proc/self/fd/0', fio.region_each(pattern, 100 << 30))
                self.assertEqual(fio.ask('--parse-only', text)[0], True, (name, pattern.name))
        ok, words = fio.ask('--parse-only', '[x]\nno_such_option=1\n')
        self.assertFalse(ok)
        self.assertIn('no_such_option', words)
        self.assertTrue(fio.ask('--version')[1].startswith('fio-'))

    def test_runs(self):
        for more, each, jobs in ({}, 1 << 20, 1), ({'numjobs': 4}, 1 << 20, 4), ({'size': 0}, SIZE, 1), ({'rw': 'read', 'section': 'bs=64k\n', 'block_size': 65536}, 1 << 20, 1):
            (run,), words = fio.run(fio.Job(replace(READ, **more), self.path))
            self.assertEqual((run.read.bytes, run.region, run.error, words), (each * jobs, each * jobs, 0, ''), more)
            self.assertGreater(run.started_usec, 1.6e15)
        (run,), _ = fio.run(fio.Job(READ, self.path, region=1 << 16, offset=SIZE - (1 << 16)))
        self.assertEqual(run.read.bytes, 1 << 16)

    def test_refusals(self):
        write = replace(READ, rw='write', read_percent=0)
        with open(self.path, 'rb') as f:
            before = f.read()
        self.failed(fio.Job(write, self.path), errno.EPERM)
        self.failed(fio.Job(READ, '/dev/null'), errno.ENODEV)
        self.failed(fio.Job(READ, self.folder), errno.ENODEV)
        self.failed(fio.Job(READ, f'{self.folder}/none'), errno.ENOENT)
        self.failed(fio.Job(READ, self.path, offset=SIZE), errno.ENOSPC)
        self.failed(fio.Job(READ, self.path, region=4095), errno.ENOSPC)
        self.failed(fio.Job(READ, self.path, owns=lambda fd: False), errno.ENODEV)
        self.failed(fio.Job(READ, 'data', hosts=['a,1'], n_hosts=1, region=1 << 20), errno.EINVAL)
        self.failed(fio.Job(READ, self.path, program=f'{self.folder}/none'), errno.ENOENT)
        # The second net: fio itself refuses a section that writes in spite of the pattern.
        self.failed(fio.Job(replace(READ, rw='write'), self.path), errno.EIO)
        with open(self.path, 'rb') as f:
            self.assertEqual(f.read(), before)

    def test_errors(self):
        words = self.failed(fio.Job(replace(READ, section='no_such_option=1\n'), self.path), errno.EIO)
        self.assertIn('no_such_option', words)
        words = self.failed(fio.Job(READ, self.path, program=self.program('echo broken >&2; exit 3\n')), errno.EIO)
        self.assertEqual(words, 'broken')

    def test_stopped(self):
        """An error of tick() ends fio; a program that ignores SIGINT is killed."""
        def stop():
            raise KeyError
        started = time.monotonic()
        endless = replace(READ, time_based=True, runtime_sec=600)
        self.assertRaises(KeyError, fio.run, fio.Job(endless, self.path, tick=stop))
        self.assertRaises(KeyError, fio.run, fio.Job(READ, self.path, tick=stop, program=self.program('trap "" INT; sleep 600 & wait; wait\n')))
        self.assertGreaterEqual(time.monotonic() - started, child.PATIENCE)

    def test_dies_with_us(self):
        """bench is killed in the middle of a run."""
        fifo = f'{self.folder}/fifo'
        os.mkfifo(fifo)
        program = self.program(f'exec sleep 600 >{fifo}\n')
        p = subprocess.Popen([sys.executable, '-c', f'from bench import child; child.run(["fio"], {program!r})'], env=os.environ)
        with open(fifo, 'rb') as f:
            p.send_signal(signal.SIGKILL)
            self.assertEqual(f.read(), b'')  # its last writer is gone
        self.assertEqual(p.wait(), -signal.SIGKILL)

    def test_prepare(self):
        """The region is read once, or filled with data; a small one needs no preparation."""
        fio.prepare(fio.Job(READ, self.path))
        fio.prepare(fio.Job(READ, self.path, region=4096))
        with open(f'{self.folder}/scratch', 'w+b') as f:
            f.truncate(SIZE)
            fio.prepare(fio.Job(READ, f.name, writes=True))
            data = f.read()
        self.assertEqual(len(data), SIZE)
        self.assertNotIn(bytes(4096), [data[i:i + 4096] for i in range(0, SIZE, 4096)])

    def test_machines(self):
        """Each gets its own part of the region, and its own seed."""
        said = f'{self.folder}/said'
        program = self.program(f'while [ $# -gt 0 ]; do case $1 in --client) echo "$2"; cat "$3";; esac; shift; done >{said}\n')
        self.failed(fio.Job(replace(READ, numjobs=2), '/a:b', region=8 << 20, seed=5, writes=False, hosts=['a,1', 'b,2', 'c,3'], n_hosts=2, program=program), errno.EIO)
        with open(said) as f:
            lines = f.read().splitlines()
        self.assertEqual([x for x in lines if ',' in x], ['a,1', 'b,2'])
        for key, values in (('filename', ['/a\\:b'] * 2), ('offset', ['0', str(2 << 20)]), ('size', [str(1 << 20)] * 2), ('randseed', ['6', '7']),
                            ('offset_increment', [str(1 << 20)] * 2)):
            self.assertEqual([x.partition('=')[2] for x in lines if x.startswith(f'{key}=')], values)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`uasctl bench` where it writes, and through file systems: --destroy-data, --file, --write, --sweep, --clients."""

import json
import os
import pty
import subprocess
import sys
import time
import unittest

from benching import FIO, IN_TREE, QUICK, BenchCase, content


class BenchFiles(BenchCase):
    # Writing

    def test_destroy(self):
        self.start()
        args = 'sda', *QUICK, '--driver=usb-storage', '--destroy-data', '--pattern=SEQ1M-Q1T1-write'
        for answer in '', 'free\n', 'FREE2\n', 'yes\n':
            self.assertIn('nothing has been written', self.bench(*args, stdin=answer, code=6).stderr)
        self.untouched()
        p = self.bench(*args, '--json', stdin='FREE\n')
        self.assertIn('everything on it will be overwritten', p.stderr)
        self.assertGreater(json.loads(p.stdout)['runs'][0]['write']['ios'], 0)
        with open(self.tree.path('dev/sda'), 'rb') as f:
            self.assertNotEqual(f.read(), content(0))
        self.assertEqual(self.asked(), 'Lease 2-1:1.0') # before the right answer nobody had been asked for the disk

    def test_destroy_on_a_terminal(self):
        """There it is asked for."""
        self.start()
        master, slave = pty.openpty()
        p = subprocess.Popen([IN_TREE, self.tree.top, 'bench', 'sda', *QUICK, '--destroy-data'], env=self.env, stdin=slave,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(slave)
        os.write(master, b'no\n')
        err = p.communicate(timeout=30)[1]
        os.close(master)
        self.assertEqual(p.returncode, 6)
        self.assertIn(b'type its serial number (FREE)', err)
        self.untouched()

    # Files

    def test_file(self):
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        p = self.bench(f'--file={self.dir}/data', *QUICK, '--json')
        out = json.loads(p.stdout)
        self.assertEqual(len(out['runs']), 2)
        self.assertEqual(out['conditions']['path'], f'{self.dir}/data')
        self.assertIn('never writes', self.bench(f'--file={self.dir}/data', '--write', *QUICK, code=6).stderr)
        with open(f'{self.dir}/data', 'rb') as f:
            self.assertEqual(f.read(), content(3))
        self.bench(f'--file={self.dir}/none', *QUICK, code=1)
        self.bench('--file=/dev/null', *QUICK, code=2)
        open(f'{self.dir}/empty', 'w').close()
        self.bench(f'--file={self.dir}/empty', *QUICK, code=1)

    def test_scratch(self):
        folder = f'{self.dir}/mounted'
        os.mkdir(folder)
        self.assertIn('is a directory', self.bench(f'--file={folder}', *QUICK, code=2).stderr)
        p = self.bench(f'--file={folder}', '--write', '--size=8M', *QUICK, '--json')
        out = json.loads(p.stdout)
        self.assertTrue(any(r['write']['ios'] > 0 for r in out['runs']))
        self.assertTrue(any(r['read']['ios'] > 0 for r in out['runs']))
        self.assertEqual(os.listdir(folder), [])
        self.assertIn('no room', self.bench(f'--file={folder}', '--write', '--size=900T', *QUICK, code=1).stderr)
        p = self.begin(f'--file={folder}', '--write', '--size=8M', '--profile=quick')
        self.assertEqual(os.listdir(folder), [])
        p.kill()
        p.wait()
        self.assertEqual(os.listdir(folder), [])

    def test_sweep(self):
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        p = self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=jobs=1,4', '--json')
        out = json.loads(p.stdout)
        self.assertEqual([q['numjobs'] for q in out['patterns']], [1, 4])
        self.assertEqual(out['axis'], 'jobs')
        self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=jobs=one', code=2)
        self.assertIn('one thing at a time', self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=depth', code=2).stderr)

    def test_clients(self):
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        ports = 18765 + os.getpid() % 1000 * 2, 18766 + os.getpid() % 1000 * 2
        servers = [self.spawn([FIO, f'--server=127.0.0.1,{port}'], cwd=self.dir, stderr=subprocess.DEVNULL) for port in ports]
        end = time.monotonic() + 20
        while not all(self.listens(port) for port in ports):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        hosts = ','.join(f'127.0.0.1:{port}' for port in ports)
        p = self.bench(f'--file={self.dir}/data', *QUICK, f'--clients={hosts}', '--json')
        out = json.loads(p.stdout)
        self.assertEqual(out['axis'], 'clients')
        counted = [r for r in out['runs'] if r['round'] == 1 and not r['host']]
        self.assertEqual(len(counted), 2)
        for server in servers:
            server.kill()
        self.bench(f'--file={self.dir}/data', *QUICK, f'--clients={hosts}', code=1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

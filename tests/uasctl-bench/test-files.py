#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`uasctl bench` with writes, and through file systems: --destroy-data, --file, --write, --sweep, --clients."""

import itertools
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import unittest

from benching import FIO, IN_TREE, MIB, QUICK, BenchCase, content, main
from patience import patience, stop, until


PORTS = itertools.count(18765 + os.getpid() % 1000 * 8)
PROFILES = os.path.join(os.path.dirname(__file__), '../../src/bench/profiles')


class BenchFiles(BenchCase):
    # Writing

    def test_destroy(self):
        self.start()
        args = 'sda', *QUICK, '--driver=usb-storage', '--destroy-data', '--pattern=SEQ1M-Q1T1-write'
        for answer in '', 'free\n', 'FREE2\n', 'yes\n', 'FREE\rno\n':
            self.assertIn('nothing has been written', self.bench(*args, stdin=answer, code=6).stderr)
        self.untouched()
        p = self.bench(*args, '--json', stdin='FREE\n')
        self.assertIn('everything on /dev/sda will be overwritten', p.stderr)
        self.assertGreater(json.loads(p.stdout)['runs'][0]['write']['ios'], 0)
        with open(self.tree.path('dev/sda'), 'rb') as f:
            self.assertNotEqual(f.read(), content(0))
        self.assertEqual(self.asked(), 'Lease 2-1:1.0') # before the right answer there was no call for the disk

    def replaced(self, *args, meanwhile, code=4):
        """Destroys the data of sda. While it asks for the serial number, something else happens."""
        p = self.spawn([IN_TREE, self.tree.top, 'bench', 'sda', *QUICK, '--driver=usb-storage', '--destroy-data', *args],
                       stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        while 'will be overwritten' not in p.stderr.readline():
            self.assertIsNone(p.poll())
        meanwhile()
        err = p.communicate('FREE\n', timeout=patience(60))[1]
        self.assertEqual(p.returncode, code, err)
        self.untouched()
        return err

    def test_destroy_one_of_two(self):
        """Of a disk with two LUNs only the one that is named is overwritten. Other names of the disk are refused."""
        self.env['SECOND_LUN'] = 'sdz'
        scsi = 'sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host3/target3:0:0/3:0:0:1'
        self.tree.write(f'{scsi}/type', '0\n')
        for name, value in ('dev', '65:144'), ('size', '2048'), ('diskseq', '8'):
            self.tree.write(f'{scsi}/block/sdz/{name}', value + '\n')
        self.tree.write('dev/sdz', content(9))
        self.start()
        args = *QUICK, '--driver=usb-storage', '--destroy-data', '--pattern=SEQ1M-Q1T1-write'
        for name in '2-1', 'FREE':
            err = self.bench(name, *args, stdin='FREE\n', code=2).stderr
            self.assertIn('sda sdz', err)
        p = self.bench('sdz', *args, stdin='FREE\n')
        self.assertIn('/dev/sdz', p.stderr)
        self.untouched()
        with open(self.tree.path('dev/sdz'), 'rb') as f:
            self.assertNotEqual(f.read(), content(9))

    def test_destroy_another_disk(self):
        """Between the question and the answer another disk is plugged in at the same port."""
        self.start()
        err = self.replaced(meanwhile=lambda: self.tree.number('2-1', 6))
        self.assertIn('unplugged', err)

    def test_destroy_another_name(self):
        """The daemon still has a name that belongs to another disk by now."""
        self.start()
        block = 'sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host3/target3:0:0/3:0:0:0/block'
        self.replaced(meanwhile=lambda: os.rename(self.tree.path(f'{block}/sda'), self.tree.path(f'{block}/sdx')), code=1)

    @unittest.skipUnless(os.getuid() == 0 and os.access('/dev/loop-control', os.W_OK), 'no loop devices')
    def test_destroy_number(self):
        """A node is overwritten only if its number is that of the disk."""
        with open(f'{self.dir}/image', 'wb') as f:
            f.write(content(0))
        made = subprocess.run(['losetup', '--find', '--show', f.name], capture_output=True, text=True)
        if made.returncode:
            self.skipTest(made.stderr)
        loop = made.stdout.strip()
        self.addCleanup(subprocess.run, ['losetup', '--detach', loop], check=True)
        number = os.stat(loop).st_rdev
        os.unlink(self.tree.path('dev/sda'))
        os.mknod(self.tree.path('dev/sda'), 0o600 | stat.S_IFBLK, number)
        self.start()
        args = 'sda', *QUICK, '--driver=usb-storage', '--destroy-data', '--pattern=SEQ1M-Q1T1-write'
        self.bench(*args, stdin='FREE\n', code=1)
        with open(loop, 'rb') as f:
            self.assertEqual(f.read(), content(0))
        self.tree.write('sys/block/sda/dev', f'{os.major(number)}:{os.minor(number)}\n')
        self.bench(*args, stdin='FREE\n')
        with open(loop, 'rb') as f:
            self.assertNotEqual(f.read(), content(0))

    def test_destroy_without_lease(self):
        """The lease ends in a pause: no other run begins."""
        self.start()
        p = self.spawn([IN_TREE, self.tree.top, 'bench', 'sda', '--profile=quick', '-n', '9', '--pause=600ms', '--driver=usb-storage',
                        '--destroy-data', '--pattern=SEQ1M-Q1T1-write'], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdin.write('FREE\n')
        p.stdin.flush()
        disk, before = self.tree.path('dev/sda'), content(0)
        while before == content(0) or self.fios(p.pid):
            with open(disk, 'rb') as f:
                before = f.read()
            self.assertIsNone(p.poll())
        stop(p)
        self.daemon.kill()
        self.daemon.wait()
        self.tree.write('dev/sda', content(0)) # it belongs to another program now
        p.send_signal(signal.SIGCONT)
        self.assertIn('uasd ended the lease', p.communicate(timeout=patience(60))[1])
        self.assertEqual(p.returncode, 1)
        self.untouched()

    def test_destroy_on_a_terminal(self):
        """On a terminal it asks for the serial number."""
        self.start()
        master, slave = pty.openpty()
        p = subprocess.Popen([IN_TREE, self.tree.top, 'bench', 'sda', *QUICK, '--destroy-data'], env=self.env, stdin=slave,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(slave)
        os.write(master, b'no\n')
        err = p.communicate(timeout=patience(30))[1]
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

    def device(self, number, name, *slaves):
        """A block device that stands on others."""
        os.makedirs(self.tree.path(f'sys/class/block/{name}/slaves'), exist_ok=True)
        for slave in slaves:
            self.tree.write(f'sys/class/block/{name}/slaves/{slave}/dev', '')
        path = self.tree.path(f'sys/dev/block/{number}')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(f'../../class/block/{name}', path)

    def stand_on(self, *names):
        """Puts the file system of our folder on top of these devices, through a device mapper."""
        device = os.stat(self.dir).st_dev
        shutil.rmtree(self.tree.path('sys/class/block/dm-7'), ignore_errors=True)
        self.device(f'{os.major(device)}:{os.minor(device)}', 'dm-8', 'dm-7')
        self.device('253:7', 'dm-7', *names)

    def below(self, *names):
        """The output for a file on that."""
        self.stand_on(*names)
        p = self.bench(f'--file={self.dir}/data', *QUICK, '--json')
        serial = json.loads(p.stdout)['conditions']['serial']
        if serial is not None:
            self.assertNotIn('is on an unknown disk', p.stderr)
        return serial

    def test_below(self):
        """Through LUKS, LVM or md to the disk; not if there are two disks, or another one."""
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        self.device('259:0', 'nvme0n1')
        self.assertEqual(self.below('sdb'), 'BUSY')
        self.assertIsNone(self.below('sdb', 'sdc'))
        self.assertIsNone(self.below('sdb', 'nvme0n1'))
        self.assertIsNone(self.below('nvme0n1', 'sdb'))
        self.assertIsNone(self.below())
        self.assertIsNone(self.below('dm-7'))

    def test_named(self):
        """A disk that does not have the file gets no figures. If nothing contradicts the user, the named disk is taken."""
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        self.device('259:0', 'nvme0n1')
        self.device('7:0', 'loop0')
        self.tree.write('sys/class/block/loop0/loop/backing_file', '/mnt/image\n')
        usb, more, other, loop = 'sdb', 'sdc', 'nvme0n1', 'loop0'
        args = f'--file={self.dir}/data', *QUICK, '--json'
        for names, where in ((usb,), 'sdb'), ((usb, more), 'another disk'), ((other,), 'another disk'), ((usb, other), 'another disk'):
            self.stand_on(*names)
            kept = self.kept()
            p = self.bench('sda', *args, code=2)
            self.assertRegex(p.stderr, f'is not on .*sda.* but on .*{where}')
            self.assertEqual((p.stdout, self.kept()), ('', kept))
            if usb in names:
                self.assertEqual(json.loads(self.bench('sdb', *args).stdout)['conditions']['serial'], 'BUSY')
        for names in (loop,), (usb, loop):
            self.stand_on(*names)
            self.assertEqual(json.loads(self.bench('sda', *args).stdout)['conditions']['serial'], 'FREE')
        self.stand_on(other)
        self.assertNotIn('Name a disk', self.bench(*args).stderr)

    def test_interrupted(self):
        """The last line says on which driver the disk below the file is."""
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        self.stand_on('sdb')
        p = self.begin(f'--file={self.dir}/data', '--profile=quick', '-n', '60')
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=patience())
        self.assertEqual(p.returncode, 1, out + err)
        self.assertTrue(err.startswith('uasctl: ') and 'Interrupted.\n' in err, err)
        self.assertIn('(sdb) is on usb-storage.\n', err)

    def test_syncs(self):
        """The syncs of the profile are kept. The counts of fio show whether this version syncs more often."""
        os.mkdir(f'{self.dir}/mounted')
        self.tree.write('etc/uasd/bench/syncs.fio', '[p]\nrw=randrw\nrwmixread=60\nbs=4k\nsize=4m\nfsync=10\ntime_based=1\nruntime=1\n')
        out = json.loads(self.bench(f'--file={self.dir}/mounted', '--write', '--size=8M', '--profile=syncs', '-n', '1', '--pause=0', '--json').stdout)
        self.assertEqual((out['patterns'][0]['fsync'], out['patterns'][0]['fdatasync']), (10, 0))
        run = next(r for r in out['runs'] if r['round'] == 1)
        told = [d['text'] for d in out['results'][0]['doubts'] if d['doubt'] == 'syncs']
        asked = run['write']['ios'] / 10
        self.assertGreater(run['sync']['ios'], 0)
        self.assertEqual(len(told), run['sync']['ios'] > 1.2 * asked + 1, run)
        for text in told:
            self.assertRegex(text, f'^fio synced {run["sync"]["ios"]} times instead of [0-9]+: ')

    def test_time(self):
        """A run that ends with its region has an estimated duration, which depends on the work."""
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        said = self.bench(f'--file={self.dir}/data', '--profile=timed', '--dry-run').stderr
        self.assertNotIn('hard disk', said)
        self.tree.write('etc/uasd/bench/whole.fio', '[p]\nrw=read\nbs=1m\nruntime=1000\nioengine=psync\n')
        said = self.bench(f'--file={self.dir}/data', '--profile=whole', '-n', '1', '--pause=0', '--dry-run').stderr
        self.assertRegex(said, r'2 runs of fio, about \d s on a hard disk')

    def test_scratch(self):
        folder = f'{self.dir}/mounted'
        os.mkdir(folder)
        self.assertIn('is a directory', self.bench(f'--file={folder}', *QUICK, code=2).stderr)
        p = self.bench(f'--file={folder}', '--write', '--size=8M', *QUICK, '--json')
        out = json.loads(p.stdout)
        self.assertTrue(any(r['write']['ios'] > 0 for r in out['runs']))
        self.assertTrue(any(r['read']['ios'] > 0 for r in out['runs']))
        self.assertEqual(os.listdir(folder), [])
        self.assertIn('Cannot make a scratch file', self.bench(f'--file={folder}', '--write', '--size=900T', *QUICK, code=1).stderr)
        p = self.begin(f'--file={folder}', '--write', '--size=8M', '--profile=quick')
        self.assertEqual(os.listdir(folder), [])
        p.kill()
        p.wait()
        self.assertEqual(os.listdir(folder), [])

    def test_scratch_size(self):
        """The region of the largest pattern, limited by the free space; and the value of --size."""
        self.tree.write('etc/uasd/bench/large.fio', '[a]\nrw=read\nbs=1m\nsize=768m\nnumjobs=8\nruntime=1\ntime_based\n'
                                                    '[b]\nrw=read\nbs=1m\nsize=1g\nruntime=1\ntime_based\n')
        s = os.statvfs(self.dir)
        large = '6 GiB' if s.f_bavail * s.f_frsize > 13 << 30 else '.*'
        for more, size in ((), large), (('--pattern=b',), '5 GiB'), (('--size=8M',), '8 MiB'):
            said = self.bench(f'--file={self.dir}', '--write', '--profile=large', *more, '--dry-run').stderr
            self.assertRegex(said, f'A scratch file of {size} is written before')

    def test_sweep(self):
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        p = self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=jobs=1,4', '--json')
        out = json.loads(p.stdout)
        self.assertEqual([q['numjobs'] for q in out['patterns']], [1, 4])
        self.assertEqual(out['axis'], 'jobs')
        self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=jobs=one', code=2)
        p = self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=depth=3', '--pattern=RND4K-Q1T1-read', code=2)
        self.assertIn('the engine is synchronous', p.stderr)
        self.assertNotIn('has no pattern', p.stderr)
        self.assertIn("'64' is out of range", self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=jobs=1,64', code=2).stderr)
        self.assertIn("'4' occurs twice", self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=jobs=4,4', code=2).stderr)
        p = self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=region=1M,4M', '--json')
        self.assertEqual([r['region'] for r in json.loads(p.stdout)['runs'] if r['round'] == 1], [MIB, 4 * MIB])
        self.bench(f'--file={self.dir}/data', *QUICK, '--sweep=region=1M,4G', code=1)

    def test_sweep_of_times(self):
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        args = f'--file={self.dir}/data', '--profile=timed', '-n', '1', '--pause=0', '--json'
        out = json.loads(self.bench(*args, '--sweep=runtime=1,2').stdout)
        self.assertEqual([(p['axis'], p['runtime_sec'], p['ramp_sec']) for p in out['patterns']], [(1, 1, 0), (2, 2, 0)])
        for run in out['runs']:
            self.assertAlmostEqual(run['runtime_usec'] / 1e6, 1 + run['pattern'], delta=patience(0.5))
        out = json.loads(self.bench(*args, '--sweep=ramp=0,1').stdout)
        self.assertEqual([(p['axis'], p['runtime_sec'], p['ramp_sec']) for p in out['patterns']], [(0, 1, 0), (1, 1, 1)])
        for run in out['runs']:
            self.assertAlmostEqual(run['runtime_usec'] / 1e6, 1, delta=patience(0.5))
        self.assertIn('exclude each other', self.bench(*args, '--sweep=runtime', '--runtime=3', code=2).stderr)

    def test_sweep_of_twins(self):
        """Patterns that differ only in the varied figure are measured once. Other fio options make them different."""
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3) * 8)
        with open(f'{PROFILES}/cdm.fio', encoding='ascii') as f:
            self.tree.write('etc/uasd/bench/cdm.fio', f.read())
        self.tree.write('etc/uasd/bench/others.fio', '[global]\nioengine=libaio\ndirect=1\ntime_based=1\nruntime=5\n[a]\niodepth=2\n[b]\niodepth=4\n'
                        'invalidate=0\n[c]\niodepth=8\nruntime=6\n')
        for profile, args, points, left in (('cdm', ['--sweep=depth'], 12, 2), ('cdm', ['--sweep=jobs=1,2'], 8, 0),
                                            ('others', ['--sweep=depth=1,2'], 6, 0), ('others', ['--sweep=depth=1,2', '--runtime=1'], 4, 1)):
            said = self.bench(f'--file={self.dir}/data', f'--profile={profile}', *args, '-n', '5', '--dry-run').stderr
            self.assertRegex(said, rf'\b{6 * points} runs of fio')
            self.assertEqual(said.count('are the same as those of another pattern'), left, said)
            self.assertEqual(len({line.split(': ', 1)[1] for line in said.split('\n') if re.search(r' (depth|jobs)=\d+: (random|sequential) read', line)}), points, said)

    def test_runtime(self):
        """The profile reads its region once. With --runtime= fio reads it repeatedly, and the result says so."""
        self.tree.write('etc/uasd/bench/once.fio', '[a]\nrw=read\nbs=1m\nsize=4m\nruntime=600\n')
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        for more, based, seconds in ((), False, 600), (('--runtime=1s',), True, 1):
            out = json.loads(self.bench(f'--file={self.dir}/data', '--profile=once', '-n', '1', '--pause=0', *more, '--json').stdout)
            self.assertEqual((out['patterns'][0]['time_based'], out['patterns'][0]['runtime_sec']), (based, seconds))
            self.assertEqual(out['runs'][-1]['read']['bytes'] > 4 * MIB, based)

    def serve(self, n):
        """Starts this number of servers on loopback. Returns them and their names."""
        ports = [next(PORTS) for _ in range(n)]
        servers = [self.spawn([FIO, f'--server=127.0.0.1,{port}'], cwd=self.dir, stderr=subprocess.DEVNULL) for port in ports]
        until(lambda: all(self.listens(port) for port in ports), 'the servers listen')
        return servers, [f'127.0.0.1:{port}' for port in ports]

    def sums(self, out, jobs, hosts):
        """The part of each machine, and the sum."""
        for step in range(len(out['patterns'])):
            runs = [r for r in out['runs'] if r['pattern'] == step and r['round'] == 1]
            whole, parts = [r for r in runs if not r['host']], [r for r in runs if r['host']]
            n = int(out['patterns'][step]['axis'])
            self.assertEqual(len(whole), 1)
            self.assertEqual(sorted(r['host'] for r in parts), sorted(hosts[:n]))
            self.assertEqual(out['patterns'][step]['numjobs'], jobs)
            for what in 'bytes', 'ios':
                self.assertGreater(min(r['read'][what] for r in parts), 0)
                self.assertEqual(whole[0]['read'][what], sum(r['read'][what] for r in parts), what)
            self.assertEqual(whole[0]['region'], sum(r['region'] for r in parts))
            # Machines that end at different times: the rate counts until the last of them ends, so it is no sum of rates.
            self.assertEqual(whole[0]['runtime_usec'], max(r['runtime_usec'] for r in parts))
            self.assertAlmostEqual(whole[0]['read']['bytes_per_sec'] * whole[0]['runtime_usec'] / 1e6 / whole[0]['read']['bytes'], 1)
            for quantile in 'p50_ns', 'p95_ns', 'p99_ns':
                values = [r['read'][quantile] for r in parts]
                self.assertTrue(min(values) <= whole[0]['read'][quantile] <= max(values), quantile)

    def test_clients_write(self):
        """Each machine writes its own part of one file, which is gone at the end, also after Ctrl-C."""
        shared = f'{self.dir}/shared'
        os.mkdir(shared)
        _servers, hosts = self.serve(2)
        args = f'--file={shared}', '--write', f'--clients={",".join(hosts)}', '--size=8M', '--pause=0', '--profile=quick'
        out = json.loads(self.bench(*args, '-n', '1', '--json').stdout)
        self.assertEqual([(p['rw'], p['axis']) for p in out['patterns']], [('randread', 1), ('randread', 2), ('write', 1), ('write', 2)])
        for run in out['runs']:
            side = 'write' if out['patterns'][run['pattern']]['rw'] == 'write' else 'read'
            self.assertGreater(run[side]['ios'], 0, run)
            self.assertEqual(run['error'], 0)
        self.assertEqual(os.listdir(shared), [])
        p = self.begin(*args, '-n', '20')
        until(lambda: os.listdir(shared), 'its files are there', 30)
        p.send_signal(signal.SIGINT)
        p.wait(patience(60))
        self.assertEqual((p.returncode, os.listdir(shared)), (1, []))

    def test_clients(self):
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        servers, hosts = self.serve(2)
        args = f'--file={self.dir}/data', f'--clients={",".join(hosts)}', '--pause=0', '-n', '1', '--json'
        out = json.loads(self.bench(*args, '--profile=quick').stdout)
        self.assertEqual(out['axis'], 'clients')
        self.assertEqual([p['axis'] for p in out['patterns']], [1, 2])
        self.sums(out, 1, hosts)
        # The shipped profile: clients times jobs.
        with open(f'{PROFILES}/matrix.fio', encoding='ascii') as f:
            self.tree.write('etc/uasd/bench/matrix.fio', f.read())
        out = json.loads(self.bench(*args, '--profile=matrix', '--pattern=rand-read-4', '--runtime=1s').stdout)
        self.assertEqual([p['axis'] for p in out['patterns']], [1, 2])
        self.sums(out, 4, hosts)
        for server in servers:
            server.kill()
            server.wait()
        # fio forks a child for each connection, which listens as long as it lives.
        until(lambda: not any(self.listens(int(host.partition(':')[2])) for host in hosts), 'no server listens')
        p = self.bench(*args, '--profile=quick', code=1)
        self.assertNotIn('\\x', p.stderr)
        self.assertIn('Connection refused', p.stderr)

    def test_clients_named(self):
        """A disk beside --clients is refused if this machine sees that the file is on another one. Otherwise the named disk is
        taken."""
        with open(f'{self.dir}/data', 'wb') as f:
            f.write(content(3))
        self.device('259:0', 'nvme0n1')
        self.device('7:0', 'loop0')
        self.tree.write('sys/class/block/loop0/loop/backing_file', '/mnt/image\n')
        usb, other, loop = 'sdb', 'nvme0n1', 'loop0'
        rows = ((usb, 'sdb', 'data', 0), (usb, 'sda', 'data', 2), (other, 'sda', 'data', 2), (loop, 'sda', 'data', 0), (usb, 'sda', 'elsewhere', 0),
                (usb, '', 'data', 0))
        for below, disk, name, code in rows:
            for size in (), ('--size=4M',):
                with self.subTest(below=below, disk=disk, name=name, size=size):
                    self.stand_on(below)
                    unseen = name != 'data' and not size
                    p = self.bench(*disk.split(), f'--file={self.dir}/{name}', '--clients=127.0.0.1:1', '--dry-run', *size, *QUICK, code=2 if unseen else code)
                    self.assertEqual('is not on' in p.stderr, code == 2, p.stderr)
                    self.assertEqual('then names none' in p.stderr, code == 2)
                    self.assertNotIn('then finds it', p.stderr)
        servers, hosts = self.serve(1)
        self.stand_on(usb)
        out = json.loads(self.bench('sdb', f'--file={self.dir}/data', f'--clients={hosts[0]}', *QUICK, '--json').stdout)
        self.assertEqual((out['conditions']['serial'], {r['driver'] for r in out['runs']}), ('BUSY', {'usb-storage'}))
        for server in servers:
            server.kill()

    def test_clients_paths(self):
        for path in 'data', f'{self.dir}/a;b', f'{self.dir}/a#b', f'{self.dir}/a ', f'{self.dir}/$a':
            p = self.bench(f'--file={path}', '--clients=127.0.0.1:1', '--size=8M', *QUICK, code=2)
            self.assertIn('absolute path', p.stderr)
            self.assertNotIn('\\', p.stderr)
            self.assertNotIn('left out', p.stderr) # nothing is measured, so nothing can be left out


if __name__ == '__main__':
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`uasctl bench` with fake-uasd's leases: order, refusals, interruptions, output."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from benching import IN_TREE, QUICK, BenchCase, main
from patience import alive, let_pass, patience, until


class Bench(BenchCase):
    # A comparison

    def test_compare(self):
        self.start()
        p = self.bench('sda', *QUICK, '--json')
        out = json.loads(p.stdout)
        self.assertEqual([(r['driver'], r['round']) for r in out['runs']],
                         [('usb-storage', 0), ('usb-storage', 1), ('uas', 0), ('uas', 1)])
        for r in out['runs']:
            self.assertGreater(r['read']['ios'], 0)
            self.assertEqual(r['error'], 0)
        self.assertEqual([self.asked() for _ in range(3)], ['Lease 2-1:1.0', 'Switch 2-1:1.0 uas', 'LeaseEnded 2-1:1.0'])
        self.assertEqual(len(self.kept()), 1)
        self.assertRegex(p.stderr, 'usb-storage and uas: 4 runs of fio')
        self.assertIn('Patterns that write are left out', p.stderr)
        self.untouched()

    def test_order(self):
        """A B B A: half of the rounds of the first driver follow those of the other."""
        self.start()
        out = json.loads(self.bench('sda', '--profile=quick', '-n', '2', '--pause=0', '--json').stdout)
        self.assertEqual([(r['driver'], r['round']) for r in out['runs']],
                         [('usb-storage', 0), ('usb-storage', 1), ('uas', 0), ('uas', 1), ('uas', 2), ('usb-storage', 0), ('usb-storage', 2)])
        self.assertEqual([self.asked() for _ in range(4)],
                         ['Lease 2-1:1.0', 'Switch 2-1:1.0 uas', 'Switch 2-1:1.0 usb-storage', 'LeaseEnded 2-1:1.0'])

    def test_places(self):
        """Each round reads other places, and both drivers read the same ones: by the seed in fio's job file."""
        self.start()
        p = self.spawn([IN_TREE, self.tree.top, 'bench', 'sda', '--profile=quick', '-n', '2', '--pause=0', '--runtime=1s', '--json'],
                       stderr=subprocess.DEVNULL)
        seeds = {}
        while p.poll() is None:
            for pid in self.fios(p.pid):
                try:
                    with open(f'/proc/{pid}/cmdline') as f:
                        name = f.read().split('\0')[-2].replace('self', str(pid))
                    with open(name, encoding='ascii') as f:
                        job = dict(line.split('=', 1) for line in f.read().split('\n') if '=' in line)
                except (OSError, IndexError):
                    continue
                if job['rw'] == 'randread':
                    seeds[pid] = int(job['randseed'])
            let_pass(0.02)
        runs = [(r['driver'], r['round']) for r in json.load(p.stdout)['runs']]
        self.assertEqual(len(seeds), len(runs)) # a dictionary keeps the order
        by_round = {}
        for (driver, number), seed in zip(runs, seeds.values()):
            by_round.setdefault(number, {}).setdefault(driver, set()).add(seed)
        for number, drivers in by_round.items():
            self.assertEqual(set(drivers), {'usb-storage', 'uas'})
            self.assertEqual(drivers['usb-storage'], drivers['uas'], number)
        self.assertEqual(len(set(seeds.values())), 3)

    def test_one_driver(self):
        self.start()
        out = json.loads(self.bench('sda', *QUICK, '--driver=usb-storage', '--json').stdout)
        self.assertEqual({r['driver'] for r in out['runs']}, {'usb-storage'})
        self.assertEqual([self.asked(), self.asked()], ['Lease 2-1:1.0', 'LeaseEnded 2-1:1.0'])
        self.bench('sda', *QUICK, '--driver=uas')
        self.assertEqual([self.asked() for _ in range(3)], ['Lease 2-1:1.0', 'Switch 2-1:1.0 uas', 'LeaseEnded 2-1:1.0'])

    def test_conditions(self):
        self.tree.write('sys/block/sda/queue/scheduler', 'none [mq-deadline]\n')
        self.tree.write('sys/block/sda/queue/rotational', '1\n')
        self.tree.write('sys/block/sda/device/queue_depth', '30\n')
        self.tree.write('proc/meminfo', 'MemTotal:        2000 kB\nMemFree: 5 kB\n')
        self.start()
        text = self.bench('sda', *QUICK, '--driver=usb-storage', '--json').stdout
        for word in 'Maker Disk', '1209:5a5a', 'mq-deadline', '6.1.0-test', 'fio-', '0000:00:14.0':
            self.assertIn(word, text)
        found = json.loads(text)['conditions']
        self.assertEqual((found['memory'], found['rotational'], found['speed_mbps']), (2000 * 1024, True, 5000))

    def others(self, block_of, change):
        """The reported load while that is read and written elsewhere, or on the disk itself."""
        for block in 'sda', 'sdb':
            self.tree.write(f'sys/block/{block}/stat', '1 0 100 0 1 0 100 0 0 0 0\n')
        p = self.begin('sda', '--profile=quick', '-n', '1', '--pause=0', '--driver=usb-storage', '--json')
        sectors, out = 0, []
        reader = threading.Thread(target=lambda: out.append(p.stdout.read()))
        reader.start()
        while p.poll() is None: # reading once precedes the runs
            sectors += change
            if change:
                path = self.tree.path(f'sys/block/{block_of}/stat')
                with open(path + '.new', 'w') as f:
                    f.write(f'1 0 {sectors} 0 1 0 100 0 0 0 0\n')
                os.rename(path + '.new', path)
            let_pass(0.02)
        reader.join()
        self.assertEqual(p.returncode, 0)
        out = json.loads(out[0])
        return max(r['other_bytes_per_sec'] for r in out['runs'])

    def test_other_load(self):
        """Load on another disk of the bus, and on the disk itself by others than fio."""
        self.start()
        self.assertEqual(self.others('sdb', 0), 0)
        self.assertGreater(self.others('sdb', 1 << 22), 1e9)
        self.assertGreater(self.others('sda', 1 << 22), 1e9)

    def test_from_memory(self):
        """Answers from the page cache are detected: buffered reads of data that was just read."""
        self.start()
        self.tree.write('etc/uasd/bench/again.fio', '[p]\nrw=read\nbs=4k\nsize=4m\nioengine=psync\ninvalidate=0\ntime_based=1\nruntime=1\n')
        args = 'sda', *QUICK, '--profile=again', '--driver=usb-storage', '--json'
        self.assertIsNone(json.loads(self.bench(*args).stdout)['runs'][0]['device_read_bytes'])
        self.tree.write('proc/self/io', '')  # a kernel that counts
        out = json.loads(self.bench(*args).stdout)
        run = out['runs'][-1]
        self.assertLess(run['device_read_bytes'], run['read']['bytes'] / 10)
        self.assertIn('memory', [d['doubt'] for d in out['results'][0]['doubts']])

    def test_to_memory(self):
        """An accepted O_DIRECT without effect is detected for writes as well."""
        self.start()
        try:
            with tempfile.TemporaryDirectory(dir='/dev/shm') as d:
                os.close(os.open(f'{d}/f', os.O_CREAT | os.O_RDWR | os.O_DIRECT))
                self.tree.write('etc/uasd/bench/out.fio', '[p]\nrw=write\nbs=4k\nsize=4m\nioengine=psync\ndirect=1\ntime_based=1\nruntime=1\n')
                self.tree.write('proc/self/io', '')
                out = json.loads(self.bench(f'--file={d}', '--write', '--size=8m', *QUICK, '--profile=out', '--json').stdout)
        except OSError as e:
            self.skipTest(f'no file system in memory that takes O_DIRECT: {e}')
        self.assertEqual(out['runs'][-1]['device_written_bytes'], 0)
        doubts = {d['doubt']: d['text'] for d in out['results'][0]['doubts']}
        self.assertIn('at most 0 % of the bytes reached a device', doubts['memory'])

    def test_dry_run(self):
        self.start()
        p = self.bench('sda', '--profile=quick', '-n', '21', '--dry-run')
        self.assertNotIn('no verdict', p.stderr)
        self.assertEqual(p.stdout, '')
        self.assertRegex(p.stderr, r'uas: \d+ runs of fio, about \d+ min')
        self.assertEqual(self.kept(), [])
        self.bench('sda', *QUICK, '--driver=usb-storage', '-q')
        self.assertEqual(self.asked(), 'Lease 2-1:1.0') # the first call to the daemon

    def test_too_few_rounds(self):
        """A verdict that is impossible is reported before hours of measuring. With only one driver none is expected."""
        self.start()
        self.assertIn('With fewer than 5 rounds for each driver', self.bench('sda', '--profile=quick', '-n', '4', '--dry-run').stderr)
        for args in ('-n', '5'), (), ('-n', '4', '--driver=usb-storage'):
            self.assertNotIn('no verdict', self.bench('sda', '--profile=quick', *args, '--dry-run').stderr, args)

    @unittest.skipUnless(shutil.which('gnuplot'), 'no gnuplot')
    def test_chart_that_cannot_be(self):
        """If the chart cannot be written, nothing is measured."""
        self.start()
        os.mkdir(f'{self.dir}/folder.svg')
        for path in '/nonexistent/a.svg', f'{self.dir}/folder.svg', '/proc/self/fd/a.svg':
            p = self.bench('sda', *QUICK, f'--chart={path}', code=1)
            self.assertIn(f'Cannot write the chart {path}', p.stderr)
            self.assertEqual((p.stdout, self.kept()), ('', []))
        self.bench('sda', *QUICK, '--driver=usb-storage', f'--chart={self.dir}/a.svg')
        self.assertEqual(self.asked(), 'Lease 2-1:1.0') # the first call to the daemon
        self.assertEqual(len(self.kept()), 1)

    # What is refused

    def test_refused(self):
        self.start()
        self.assertIn('does not offer both', self.bench('sdd', *QUICK, code=5).stderr)
        self.bench('sdd', *QUICK, '--driver=usb-storage', code=5)
        self.assertEqual(self.asked(), 'Lease 2-4:1.0')
        self.assertIn('Not permitted', self.bench('sdf', *QUICK, code=8).stderr)
        self.assertEqual(self.asked(), 'Lease 2-6:1.0')
        self.assertIn('/mnt/usb', self.bench('sdb', *QUICK, code=6).stderr)
        self.assertEqual(self.asked(), 'Lease 2-2:1.0')
        subprocess.run([IN_TREE, self.tree.top, 'switch', 'sdb', 'uas'], env=self.env, capture_output=True, timeout=patience())
        self.asked()
        p = self.bench('sdb', *QUICK, code=6)
        self.assertIn('mounted on /mnt/usb (sdb1)', p.stderr)
        self.bench('sdz', *QUICK, code=4)
        self.assertEqual(self.kept(), [])
        self.untouched()

    def test_no_daemon(self):
        self.assertIn('only it can do that.', self.bench('sda', *QUICK, code=1).stderr)

    def test_profiles(self):
        self.start()
        p = self.bench('sda', '--profile=none', code=2)
        self.assertIn('The profiles are:\nuasctl:   quick', p.stderr)
        self.bench('sda', '--profile=../quick', code=2)
        self.assertIn('RND4K-Q1T1-read', self.bench('sda', '--profile=quick', '--pattern=RND8K', code=2).stderr)
        self.tree.write('etc/uasd/bench/bad.fio', '[x]\nbs=4k\nrw=trim\n')
        self.assertIn('bad.fio:3', self.bench('sda', '--profile=bad', code=1).stderr)
        self.tree.write('etc/uasd/bench/odd.fio', '[x]\nrw=randread\nno_such_option=1\n')
        p = self.bench('sda', '--profile=odd', code=1)
        self.assertIn('Bad option <no_such_option=1>', p.stderr)
        self.assertIn("fio rejects the profile 'odd'", p.stderr)
        self.tree.write('etc/uasd/bench/writes.fio', '[x]\nrw=write\nbs=1m\n')
        self.assertIn('only writes', self.bench('sda', '--profile=writes', code=2).stderr)

    def test_usage(self):
        for args in ([], ['sda', 'sdb'], ['sda', '--write'], ['sda', '--driver=auto'], ['--diff', 'a'], ['sda', '--sweep=colour']):
            p = self.bench(*args, code=2)
            self.assertEqual(p.stdout, '')
        self.assertTrue(self.bench('sda', '--fast', code=2).stderr.endswith("'--fast'\nuasctl: See uasctl bench --help.\n"))

    # What comes between

    def test_interrupted(self):
        for which in signal.SIGINT, signal.SIGTERM:
            self.start()
            p = self.begin('sda', '--profile=quick', '-n', '5')
            fio = self.fios(p.pid)
            p.send_signal(which)
            out, err = p.communicate(timeout=patience())
            self.assertEqual(p.returncode, 1, err)
            self.assertIn('Interrupted.\n', err)
            self.assertIn('uasctl: Nothing was measured.\nuasctl: 2-1:1.0 (sda) is on usb-storage.\n', err)
            self.assertEqual([self.asked(), self.asked()], ['Lease 2-1:1.0', 'LeaseEnded 2-1:1.0'])
            self.assertFalse([pid for pid in fio if os.path.exists(f'/proc/{pid}')])
            self.assertEqual(self.kept(), [])
            self.daemon.kill()

    def test_interrupted_before(self):
        """Before the lease there is nothing to end. The sentence does not name an error of the system."""
        self.env['LEASE_STALLS'] = '1'
        self.start()
        p = self.spawn([IN_TREE, self.tree.top, 'bench', 'sda', '--profile=quick', '-n', '5'], stderr=subprocess.PIPE)
        self.addCleanup(p.stderr.close)
        self.assertEqual(self.asked(), 'Lease 2-1:1.0')
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=patience())
        self.assertEqual((p.returncode, out), (-signal.SIGINT, ''))
        self.assertTrue(err.endswith('uasctl: Interrupted. Nothing was measured. sda stays on usb-storage.\n'), err)

    def test_told_as_interrupted(self):
        """The results up to then are printed, and not stored."""
        self.start()
        p = self.begin('sda', '--profile=quick', '-n', '9', '--pause=0', '--json', '--driver=usb-storage')
        seen = set()
        until(lambda: seen.update(self.fios(p.pid)) or len(seen) >= 4, 'the region, then runs: two of them have ended', 30)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=patience())
        self.assertEqual(p.returncode, 1)
        self.assertIn('is not stored', err)
        out = json.loads(out)
        self.assertTrue(out['interrupted'] and out['single'])
        self.assertIsNone(out['verdict'])
        self.assertEqual({r['comparison']['verdict'] for r in out['results']}, {'single'})
        self.assertEqual(self.kept(), [])

    def test_killed(self):
        self.start()
        p = self.begin('sda', '--profile=quick', '-n', '5')
        fio = self.fios(p.pid)
        p.kill()
        p.wait()
        self.assertEqual([self.asked(), self.asked()], ['Lease 2-1:1.0', 'LeaseEnded 2-1:1.0'])
        until(lambda: not any(map(alive, fio)), 'fio has ended')

    def test_rolled_back(self):
        """The switch to uas fails: this is the finding, and usb-storage is measured."""
        self.start()
        p = self.bench('sdc', *QUICK, '--json', code=7)
        out = json.loads(p.stdout)
        self.assertEqual({r['driver'] for r in out['runs']}, {'usb-storage'})
        self.assertFalse(out['single'])
        self.assertEqual(out['finding']['driver'], 'uas')
        self.assertIn('did not come back in time', out['finding']['what'])
        self.assertEqual([self.asked() for _ in range(3)], ['Lease 2-3:1.0', 'Switch 2-3:1.0 uas', 'LeaseEnded 2-3:1.0'])
        self.assertEqual(len(self.kept()), 1)

    def test_distrusted(self):
        """It fails under uas: that half ends, and the disk is switched back."""
        self.start()
        p = self.begin('sdi', '--profile=quick', '-n', '4', '--pause=0', '--json')
        self.assertEqual([self.asked(), self.asked()], ['Lease 2-9:1.0', 'Switch 2-9:1.0 uas'])
        out, err = self.disturb(p, 7)
        out = json.loads(out)
        self.assertIn('not answered in time', out['finding']['what'])
        self.assertEqual(out['finding']['driver'], 'uas')
        rounds = [r['round'] for r in out['runs'] if r['driver'] == 'usb-storage' and r['round'] > 0]
        self.assertEqual(sorted(rounds), [1, 2, 3, 4])
        self.assertLess(len([r for r in out['runs'] if r['driver'] == 'uas' and not r['error']]), 5)
        self.assertEqual([self.asked(), self.asked()], ['Switch 2-9:1.0 usb-storage', 'LeaseEnded 2-9:1.0'])
        self.assertIn('Its half ends here', err)

    def test_distrusted_at_once(self):
        """uasd reports the distrust before the end of the switch: bench reads both together."""
        self.env['DISTRUST_AT_ONCE'] = '1'
        self.start()
        p = self.bench('sdi', '--profile=quick', '-n', '2', '--pause=0', '--json', code=7)
        out = json.loads(p.stdout)
        self.assertEqual(out['finding']['driver'], 'uas')
        self.assertIn('not answered in time', out['finding']['what'])
        self.assertEqual({r['driver'] for r in out['runs'] if not r['error']}, {'usb-storage'})

    def test_distrusted_from_the_start(self):
        """It was on uas before, where the end of the lease would return it. So bench requests usb-storage after the lease."""
        self.start()
        subprocess.run([IN_TREE, self.tree.top, 'switch', 'sdi', 'uas'], env=self.env, capture_output=True, timeout=patience())
        self.assertEqual(self.asked(), 'Switch 2-9:1.0 uas')
        p = self.begin('sdi', '--profile=timed', '-n', '2', '--pause=0', '--json')
        self.assertEqual(self.asked(), 'Lease 2-9:1.0')
        out, err = self.disturb(p, 7)
        out = json.loads(out)
        self.assertEqual(sorted(r['round'] for r in out['runs'] if r['driver'] == 'usb-storage'), [0, 1, 2])
        self.assertEqual([self.asked() for _ in range(3)],
                         ['Switch 2-9:1.0 usb-storage', 'LeaseEnded 2-9:1.0', 'Switch 2-9:1.0 usb-storage'])
        self.assertIn('until it is unplugged', err)

    def test_kernel_table(self):
        """A refusal that the daemon would make half-way is detected before the start."""
        for name, value in ('idVendor', '357d'), ('idProduct', '7788'):
            self.tree.write(f'sys/bus/usb/devices/2-1/{name}', value + '\n')
        self.start()
        self.assertIn('would not be switched to uas', self.bench('sda', *QUICK, code=6).stderr)
        self.bench('sda', *QUICK, '--driver=usb-storage')
        self.assertEqual(self.asked(), 'Lease 2-1:1.0') # only for the second one

    def test_counters(self):
        """The kernel counts a command that was not answered. This is sufficient, without a message in its log."""
        counts = self.tree.path('sys/block/sda/device')
        self.tree.write('sys/block/sda/device/iotmo_cnt', '0x0\n')
        self.start()
        p = self.begin('sda', '--profile=quick', '-n', '3', '--pause=0', '--json')
        while self.asked() != 'Switch 2-1:1.0 uas':
            pass
        until(lambda: self.fios(p.pid), 'the watch begins again with the driver', pause=0)
        with open(f'{counts}/iotmo_cnt', 'w') as f:
            f.write('0x1\n')
        out, err = p.communicate(timeout=patience(60))
        self.assertEqual(p.returncode, 7, err)
        self.assertIn('1 command was not answered in time', json.loads(out)['finding']['what'])
        self.assertEqual(self.asked(), 'Switch 2-1:1.0 usb-storage')

    def test_pulled_out(self):
        self.start()
        p = self.begin('sdg', '--profile=quick')
        self.assertEqual(self.asked(), 'Lease 2-7:1.0')
        self.assertIn('The disk was unplugged', self.disturb(p, 4)[1])
        self.assertEqual(self.kept(), [])

    def test_lease_lost(self):
        self.start()
        p = self.begin('sde', '--profile=quick')
        self.assertEqual(self.asked(), 'Lease 2-5:1.0')
        self.assertIn('uasd ended the lease', self.disturb(p, 1)[1])
        self.assertEqual(self.kept(), [])

    def test_daemon_dies(self):
        self.start()
        p = self.begin('sdh', '--profile=quick')
        self.assertEqual(self.asked(), 'Lease 2-8:1.0')
        self.disturb(p, 1)
        self.assertEqual(self.kept(), [])

    # What is shown meanwhile, and after

    def test_progress(self):
        """On a terminal a line that is updated; with -q none."""
        self.start()
        for quiet, expect in ((), True), (('-q',), False):
            master, slave = pty.openpty()
            p = subprocess.Popen([IN_TREE, self.tree.top, 'bench', 'sda', *QUICK, '--driver=usb-storage', *quiet], env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
            os.close(slave)
            shown = b''
            try:
                while True:
                    data = os.read(master, 4096)
                    if not data:
                        break
                    shown += data
            except OSError:
                pass
            p.wait(timeout=patience(30))
            os.close(master)
            self.assertEqual(p.returncode, 0)
            found = re.search(rb'\r *\d+ %  \d+ s left  usb-storage, round 1 of 1: buffered random read, 4 KiB, one', shown)
            self.assertEqual(bool(found), expect, shown)
            self.assertEqual(shown.endswith(b'\r\x1b[K'), expect, shown)

    def test_formats(self):
        self.start()
        one = '--driver=usb-storage', *QUICK
        self.assertIn('RND4K-Q1T1-read', self.bench('sda', *one, '--csv').stdout)
        self.assertIn('|', self.bench('sda', *one, '--markdown').stdout)
        self.assertIn('Maker Disk', self.bench('sda', *one).stdout)
        self.assertEqual(len(self.kept()), 3)
        self.assertIn('Maker Disk', self.bench('--history').stdout)


if __name__ == '__main__':
    main()

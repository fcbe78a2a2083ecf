#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl metrics for machines in a folder: the content, and that strict parsers and promtool accept it."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import openmetrics
from tree import BOOT, REMOTE, Tree

PROGRAM = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS = {'iorequest_cnt': 0x1234, 'iodone_cnt': 0x1230, 'ioerr_cnt': 5, 'iotmo_cnt': 3}
# Ends a label, a line and the file; contains escapes, invalid UTF-8 and a bell.
HOSTILE = b'a"} 1\\n\\ \x07\xff\xe2\x82\xac {x="y"} # EOF'

# udev makes "S_2\x41" of this, where the backslash stays.
SERIAL = b' S"2\\x41 '

FIRST, SECOND = '1209:5a5a:S1', r'1209:5a5a:S_2\x5cx41'


class Metrics(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)

    def metrics(self):
        p = self.tree.run('metrics', '-q')
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        return openmetrics.parse(p.stdout.encode())

    def value(self, samples, name, **labels):
        found = [v for (n, l), v in samples.items() if n == name and labels.items() <= dict(l).items()]
        self.assertEqual(len(found), 1, f'{name} {labels}')
        return found[0]

    def two_disks(self):
        self.tree.disk('2-1', 'sda', 'uas', serial='S1', counts=COUNTS)
        self.tree.disk('1-1.4', 'sdb', 'usb-storage', serial=SERIAL, product=HOSTILE, speed=480,
                       counts={'iorequest_cnt': 1, 'iodone_cnt': 1, 'ioerr_cnt': 0})

    def test_no_disks(self):
        self.assertEqual(set(n for n, _ in self.metrics()),
                         {'uasd_build_info', 'uasd_up', 'uasd_quirks_used_bytes', 'uasd_quirks_size_bytes'})

    def test_disks(self):
        self.two_disks()
        m = self.metrics()
        self.assertEqual(self.value(m, 'uasd_up'), 0)
        [info] = [dict(l) for n, l in m if n == 'uasd_disk_info' and dict(l)['disk'] == FIRST]
        self.assertEqual(info, {'disk': FIRST, 'vendor_id': '1209', 'product_id': '5a5a', 'revision': '0214', 'manufacturer': 'Maker',
                                'product': 'Disk', 'serial': 'S1'})
        self.assertEqual(self.value(m, 'uasd_disk_port_info', disk=FIRST, interface='2-1:1.0'), 1)
        self.assertEqual(self.value(m, 'uasd_lun_info', disk=FIRST, lun='0', device='sda'), 1)
        with open(os.path.join(HERE, '../../src/core/types.c')) as f:
            types = f.read()
        for name, kind, word in ('state', 'STATE', 'settled'), ('driver', 'DRIVER', 'usb-storage'), ('target', 'DRIVER', 'uas'), \
                ('policy', 'POLICY', 'auto'), ('verdict', 'VERDICT', 'unknown'):
            words = dict.fromkeys(re.findall(rf'\[{kind}_(?!BY_)\w+\] = "([\w-]+)"', types))
            for disk, now in (FIRST, 'uas' if name == 'driver' else word), (SECOND, word):
                found = {dict(l)[name]: v for (n, l), v in m.items() if n == f'uasd_disk_{name}' and dict(l)['disk'] == disk}
                self.assertEqual(found, {one: int(one == now) for one in words}, (name, disk))
        for disk, speed, slow in (FIRST, 625000000, 0), (SECOND, 60000000, 1):
            self.assertEqual(self.value(m, 'uasd_disk_link_speed_bytes', disk=disk), speed)
            self.assertEqual(self.value(m, 'uasd_disk_link_slow', disk=disk), slow)
        for name, count in zip(('requests', 'completed', 'errors', 'timeouts'), COUNTS.values()):
            self.assertEqual(self.value(m, f'uasd_scsi_{name}_total', disk=FIRST, lun='0'), count)
        # This kernel has no such counter.
        self.assertFalse([l for n, l in m if n == 'uasd_scsi_timeouts_total' and dict(l)['disk'] == SECOND])
        # There was no switch since plug-in.
        self.assertFalse([l for n, l in m if n == 'uasd_disk_last_switch_code'])

    def test_another_port(self):
        "The same disk at another port, with another driver and name: the same series, except those that say where it is."
        self.tree.disk('2-1', 'sda', 'uas', counts=COUNTS)
        before = set(self.metrics())
        self.tree.close()
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-3', 'sdc', 'usb-storage', counts=COUNTS)
        self.assertEqual({n for n, _ in before ^ set(self.metrics())}, {'uasd_disk_port_info', 'uasd_lun_info'})

    def test_twins(self):
        "Disks without a serial number, or with the same one, have series of their own."
        for port, block, serial in ('2-1', 'sda', 'S1'), ('2-2', 'sdb', 'S1'), ('2-3', 'sdc', ''):
            self.tree.disk(port, block, serial=serial)
        self.assertEqual(sorted(dict(l)['disk'] for n, l in self.metrics() if n == 'uasd_disk_info'),
                         ['1209:5a5a:@2-3:1.0', '1209:5a5a:S1@2-1:1.0', '1209:5a5a:S1@2-2:1.0'])

    def test_hostile_names(self):
        self.two_disks()
        found = [(dict(l)['product'], dict(l)['serial']) for n, l in self.metrics() if n == 'uasd_disk_info' and dict(l)['serial'] != 'S1']
        self.assertEqual(found, [(r'a"} 1\x5cn\x5c \x07\xff€ {x="y"} # EOF', r'S_2\x5cx41')])

    def test_record(self):
        self.two_disks()
        line = '1209:5a5a:S1@0000:00:14.0/ss/1=state={} firmware=0214 kernel=6.1.0-test boot=- date=2026-11-20T15:45:07Z reason=x\n'
        for state, distrusted, passed in ('distrusted', 1, 0), ('passed', 0, 1):
            self.tree.write('etc/uasd/history', 'generation=1\n' + line.format(state))
            m = self.metrics()
            self.assertEqual(self.value(m, 'uasd_disk_distrusted', disk=FIRST), distrusted)
            self.assertEqual(self.value(m, 'uasd_disk_trial_passed', disk=FIRST), passed)
            self.assertEqual(self.value(m, 'uasd_disk_distrusted', disk=SECOND), 0)

    def test_quirks(self):
        self.tree.write('sys/module/usb_storage/parameters/quirks', '152d:0578:u,1209:5a5a:f\n')
        m = self.metrics()
        self.assertEqual(self.value(m, 'uasd_quirks_used_bytes'), 23)
        self.assertEqual(self.value(m, 'uasd_quirks_size_bytes'), 127)
        os.unlink(self.tree.path('sys/module/usb_storage/parameters/quirks'))  # no usb-storage
        self.assertFalse([n for n, _ in self.metrics() if n.startswith('uasd_quirks')])

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_events(self):
        with open(os.path.join(HERE, '../../src/common/names.h')) as f:
            ids = dict(re.findall(r'#define MESSAGE_(\w+) "([0-9a-f]{32})"', f.read()))
        self.tree.journal({'MESSAGE_ID': ids['SWITCHED'], '_BOOT_ID': 'f' * 32}, *[{'MESSAGE_ID': ids['SWITCHED']}] * 2,
                          {'MESSAGE_ID': ids['ROLLED_BACK']}, {'MESSAGE_ID': ids['FAILED'], '_UID': '1000'}, {'MESSAGE': 'x'})
        m = self.metrics()
        self.assertEqual({dict(l)['event']: v for (n, l), v in m.items() if n == 'uasd_events_total'},
                         {**{name.lower().replace('_', '-'): 0 for name in ids}, 'switched': 2, 'rolled-back': 1})
        self.assertIn('uasd_events_total{event="switched"} 2\n', self.tree.run('metrics').stdout)
        os.unlink(self.tree.path('proc/sys/kernel/random/boot_id'))
        self.assertNotIn('uasd_events_total', self.tree.run('metrics').stdout)
        self.tree.write('proc/sys/kernel/random/boot_id', 'f' * 8 + BOOT[8:] + '\n')
        none, other = 'uasd_events_total{event="switched"} 0\n', {}
        if os.geteuid() == 0:
            self.assertIn(none, self.tree.run('metrics').stdout)
            os.chmod(self.tree.top, 0o755)
            other = {'user': 65534, 'group': 65534, 'extra_groups': []}
        # Such a user sees only a part of the journal, and does not know that nothing happened.
        self.assertNotIn('uasd_events_total', self.tree.run('metrics', **other).stdout)

    # For node_exporter

    def textfile(self, folder, **more):
        return self.tree.run('metrics', '-q', f'--textfile={folder}', **more)

    def test_textfile(self):
        self.two_disks()
        out = self.tree.path('out')
        os.mkdir(out)
        self.addCleanup(os.umask, os.umask(0o077))
        p = self.textfile(out)
        self.assertEqual((p.returncode, p.stdout, p.stderr), (0, '', ''))
        self.assertEqual(os.listdir(out), ['uasd.prom'])
        self.assertEqual(os.stat(f'{out}/uasd.prom').st_mode & 0o777, 0o644)  # node_exporter is another user
        with open(f'{out}/uasd.prom', 'rb') as f:
            text = f.read()
            self.assertEqual(openmetrics.parse(text, prometheus=True), self.metrics())
            self.assertIn(b'# TYPE uasd_scsi_errors_total counter\n', text)
            # Replaced by rename: a reader has the whole old file.
            self.tree.write('sys/module/usb_storage/parameters/quirks', '152d:0578:u\n')
            self.assertEqual(self.textfile(out).returncode, 0)
            f.seek(0)
            self.assertEqual(f.read(), text)
        with open(f'{out}/uasd.prom', 'rb') as f:
            self.assertEqual(self.value(openmetrics.parse(f.read(), prometheus=True), 'uasd_quirks_used_bytes'), 11)

    def test_textfile_that_cannot_be(self):
        """It reports the reason, and the old file stays."""
        out = self.tree.path('out')
        p = self.textfile(out)
        self.assertEqual(p.returncode, 1)
        self.assertIn(f'Cannot write {out}/uasd.prom: No such file or directory', p.stderr)
        self.tree.write('out/uasd.prom', 'old')
        self.assertEqual(self.textfile(f'{out}/uasd.prom').returncode, 1)

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

        p = self.textfile(out, preexec_fn=small_files)
        self.assertEqual((p.returncode, p.stdout), (1, ''))
        self.assertIn('File too large', p.stderr)
        self.assertEqual(os.listdir(out), ['uasd.prom'])
        with open(f'{out}/uasd.prom') as f:
            self.assertEqual(f.read(), 'old')
        if os.geteuid() == 0:
            os.chmod(self.tree.top, 0o755)
            p = self.textfile(out, user=65534, group=65534, extra_groups=[])
            self.assertEqual((p.returncode, p.stderr), (1, f'uasctl: Cannot write {out}/uasd.prom: Permission denied. Run it as root.\n'))

    def test_usage(self):
        for args in (['list', '--textfile=/tmp'], ['metrics', '--textfile'], ['metrics', '--textfile='], ['metrics', 'sda']):
            p = self.tree.run(*args)
            self.assertEqual((p.returncode, p.stdout), (2, ''), args)

    # Other readers

    def test_manual(self):
        """Every family has its line in the manual, and every line its family."""
        self.two_disks()
        with open(os.path.join(HERE, '../../man/uasctl.1.scd')) as f:
            manual = f.read().split('# METRICS')[1].split('# EXIT STATUS')[0]
        families = {n for n, _ in self.metrics()} | {'uasd_disk_last_switch_code', 'uasd_events_total'}  # tested elsewhere
        self.assertEqual(families, set(re.findall(r'\*(uasd_\w+)\*', manual)))

    @unittest.skipUnless(shutil.which('promtool'), 'no promtool (tools/setup-host)')
    def test_promtool(self):
        self.two_disks()
        self.tree.write('out/keep', '')
        self.textfile(self.tree.path('out'))
        with open(self.tree.path('out/uasd.prom')) as f:
            for text in (self.tree.run('metrics').stdout, f.read()):
                p = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True)
                self.assertEqual((p.returncode, p.stdout, p.stderr), (0, '', ''), text)

    def test_reader_is_strict(self):
        """The parser above refuses what a real one refuses."""
        self.two_disks()
        good = self.tree.run('metrics', '-q').stdout
        for a, b in (('# EOF\n', ''), ('# EOF\n', '# EOF'), ('{disk="1209:5a5a:S1"}', '{disk="1209:"5a5a:S1"}'),
                     ('uasd_up 0', 'uasd_up 0\nuasd_up 0'), ('uasd_up 0', 'uasd_up  0'), ('uasd_up 0', 'uasd_up 0,5'),
                     ('# TYPE uasd_up gauge\n', ''), ('# TYPE uasd_up gauge', '# TYPE uasd_up info'),
                     ('uasd_up 0', 'uasd_up 0\n'), ('# HELP uasd_scsi_errors_total', '# TYPE uasd_scsi_errors_total counter\n# HELP x'),
                     ('uasd_up 0\n', ''), ('uasd_up 0', 'uasd_up{s="x",s="y"} 0'), ('uasd_up 0', 'uasd_up 0\nuasd_build_info{version="2"} 1')):
            bad = good.replace(a, b, 1)
            self.assertNotEqual(bad, good, a)
            with self.assertRaises(openmetrics.Broken, msg=f'{a!r} -> {b!r}'):
                openmetrics.parse(bad.encode())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

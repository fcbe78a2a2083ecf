#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""root's uasctl switch and eject without uasd: they run uasd-switch, here a script in the tree.

    test-alone.py UASCTL-IN-TREE
"""

import glob
import os
import pathlib
import signal
import sys
import unittest

from tree import LIBEXEC, Tree

PROGRAM = sys.argv[1]


@unittest.skipUnless(os.geteuid() == 0, 'only root may')
class Alone(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', serial='S1')
        self.tree.programs('uasd', folder='etc/init.d')

    def switch(self, *lines):
        """uasd-switch prints these lines."""
        script = f'#!/bin/sh\necho "$*" >{self.tree.path("asked")}\n' + ''.join(
            line + '\n' if line.startswith('kill') or line.startswith('exit') else f"echo '{line}'\n" for line in lines)
        self.tree.write(f'{LIBEXEC}/uasd-switch', script)
        os.chmod(self.tree.path(f'{LIBEXEC}/uasd-switch'), 0o755)

    def run_ctl(self, *args, code=0):
        p = self.tree.run(*args)
        self.assertEqual((p.returncode, p.stdout), (code, ''), p.stderr)
        return ' '.join(p.stderr.split())

    def asked(self):
        """The arguments of uasd-switch; None: it did not run."""
        try:
            with open(self.tree.path('asked')) as f:
                line = f.read()
        except FileNotFoundError:
            return None
        os.unlink(self.tree.path('asked'))
        return line.strip()

    def marks(self):
        return ''.join(pathlib.Path(path).read_text() for path in glob.glob(self.tree.path('run/uasd/attachment/*')))

    def mounted(self):
        self.tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n30 20 8:0 / /mnt/usb rw - ext4 /dev/sda rw\n')

    def test_switch(self):
        self.switch('STEP prepare 1', 'STEP claim 2', 'END 0 verify moved from usb-storage to uas')
        said = self.run_ctl('switch', 'sda', 'uas')
        self.assertRegex(self.asked(), r'^--machine --attachment=2-5\S* 2-1:1.0 uas$')
        self.assertEqual(said, 'uasctl: 2-1:1.0 (sda): from usb-storage to uas, until it is unplugged. uasctl: 2-1:1.0 (sda): moved from usb-storage to uas')
        self.assertRegex(self.marks(), '(?m)^OVERRIDE=uas$')
        # Already so: nothing runs, and it is recorded.
        self.run_ctl('switch', 'sda', 'usb-storage')
        self.assertIsNone(self.asked())
        self.assertRegex(self.marks(), '(?m)^OVERRIDE=usb-storage$')
        # Without a driver it follows its policy.
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nPolicy=uas\n')
        self.run_ctl('switch', 'sda')
        self.assertRegex(self.asked(), ' uas$')
        self.assertIn('OVERRIDE=none', self.marks())

    def test_in_use(self):
        """It is refused, with the users, the need of uasd, and how that is started here."""
        self.switch('END 0 verify moved')
        self.mounted()
        said = self.run_ctl('switch', 'sda', 'uas', code=6)
        self.assertIsNone(self.asked())
        self.assertIn('2-1:1.0 (sda): in use, and still on usb-storage:', said)
        self.assertIn('mounted on /mnt/usb (sda)', said)
        self.assertIn('To free it: umount /mnt/usb', said)
        self.assertIn('Only uasd waits until it is free, and uasd is not running.', said)
        self.assertIn('To start it: /etc/init.d/uasd start', said)
        self.assertEqual(self.marks(), '')
        self.assertTrue(self.run_ctl('switch', '--dry-run', 'sda', 'uas', code=6).endswith(' ' + said))
        said = self.run_ctl('eject', 'sda', code=6)
        self.assertIsNone(self.asked())
        self.assertIn('cannot be ejected, because it is in use:', said)
        self.assertIn('mounted on /mnt/usb (sda)', said)

    def test_used_meanwhile(self):
        self.switch('STEP claim 1', 'CLAIMED sda', 'END 3 claim in use: sda')
        said = self.run_ctl('switch', 'sda', 'uas', code=6)
        self.assertIn('2-1:1.0 (sda): in use: sda (step claim)', said)
        self.assertIn('Only uasd waits', said)
        self.assertIn('in use: sda', self.run_ctl('eject', 'sda', code=6))
        self.assertEqual(self.marks(), '')

    def test_failed(self):
        """A request that fails leaves nothing behind."""
        for line, code, text in (('END 7 verify it failed', 7, 'rolled back: it failed (step verify)'), ('END 1 prepare broken', 1, '(sda): broken (step prepare)'),
                                 ('exit 9', 1, 'uasd-switch ended by exit status 9'), ('kill -KILL $$', 1, 'uasd-switch ended by signal 9'),
                                 ('END 4 claim the disk is gone', 4, 'the disk is gone')):
            self.switch('STEP prepare 1', line)
            with self.subTest(line=line):
                self.assertIn(text, self.run_ctl('switch', 'sda', 'uas', code=code))
                self.assertEqual(self.marks(), '')
        self.tree.write(f'{LIBEXEC}/uasd-switch', '#!/nonexistent\n')
        self.assertRegex(self.run_ctl('switch', 'sda', 'uas', code=1), r'\(sda\): cannot start \S*/uasd-switch: No such file or directory$')

    def test_unwritable(self):
        "The request cannot be recorded: it would be forgotten, so it has failed."
        self.switch('END 0 verify moved')
        self.tree.write('run/uasd/attachment', '')
        for driver in 'usb-storage', 'uas':
            self.assertIn('(sda): cannot record the request: Not a directory', self.run_ctl('switch', 'sda', driver, code=1))

    def test_users_unknown(self):
        "It counts as in use, and the reason is named."
        self.switch('END 0 verify moved')
        os.unlink(self.tree.path('proc/1/mountinfo'))
        for verb in ['switch'], ['switch', '--dry-run']:
            said = self.run_ctl(*verb, 'sda', 'uas', code=6)
            self.assertIn('in use, and still on usb-storage: uasctl: Cannot find its users: No such file or directory uasctl: Only uasd waits', said)
        self.assertIsNone(self.asked())

    def test_no_module(self):
        "uas is not there: nothing can move it."
        self.switch('END 0 verify moved')
        os.rmdir(self.tree.path('sys/bus/usb/drivers/uas'))
        self.assertRegex(self.run_ctl('switch', '--dry-run', 'sda', 'uas', code=1), r'\(sda\): would stay on usb-storage\. .*uas')

    def test_interrupted(self):
        """^C while uasd-switch works: uasctl ends by it, and the request is recorded if the switch succeeds."""
        for end, marks in ('END 7 verify it failed', ''), ('END 0 verify moved', 'OVERRIDE=uas'):
            self.switch('STEP prepare 1', 'kill -INT $PPID', end)
            with self.subTest(end=end):
                self.run_ctl('switch', 'sda', 'uas', code=-signal.SIGINT)
                self.assertIn(marks, self.marks())
                self.assertEqual(bool(marks), bool(self.marks()))

    def test_wait(self):
        """uasd would switch it: that will not happen by itself, so it is no deferred one."""
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nPolicy=uas\n')
        said = self.run_ctl('wait', 'sda', code=1)
        self.assertIn('2-1:1.0: uasd would switch it to uas, but is not running. uasctl: To start it: /etc/init.d/uasd start', said)

    def test_refused(self):
        self.switch('END 0 verify moved')
        self.tree.disk('2-2', 'sdb', serial='S2', uas=False)
        self.assertNotIn('--force', self.run_ctl('switch', 'sdb', 'uas', code=5))
        self.tree.disk('2-3', 'sdc', serial='S3', ids=(0x4971, 0x1012))  # in the kernel's table
        self.assertIn('Use --force to override.', self.run_ctl('switch', 'sdc', 'uas', code=6))
        self.run_ctl('switch', 'sdq', 'uas', code=4)
        self.assertIsNone(self.asked())
        self.assertEqual(self.marks(), '')

    def test_eject(self):
        self.switch('STEP claim 1', 'END 0 eject done')
        self.assertIn('ejected. You can unplug it.', self.run_ctl('eject', 'sda'))
        self.assertRegex(self.asked(), r'^--machine --eject --attachment=2-5\S* 2-1:1.0$')
        self.switch('END 1 eject it does not stop')
        self.assertIn('the eject failed: it does not stop', self.run_ctl('eject', 'sda', code=1))

    def test_not_alone(self):
        """Switched off by the kernel command line, or not installed: nothing runs. Other requests need uasd."""
        self.assertIn('only it can do that', self.run_ctl('switch', 'sda', 'uas', code=1))
        self.switch('END 0 verify moved')
        self.assertIn('only it can do that', self.run_ctl('policy', 'sda', 'uas', code=1))
        self.tree.write('proc/cmdline', 'quiet uasd=off\n')
        for verb in ['switch', 'sda', 'uas'], ['switch', '--dry-run', 'sda', 'uas'], ['eject', 'sda']:
            self.assertIn('uasd=off is on the kernel command line', self.run_ctl(*verb, code=1))
        self.assertIsNone(self.asked())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

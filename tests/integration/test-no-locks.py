#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Linux before 3.15, which has no OFD locks: no program switches a disk, each says why in one sentence, and uasctl still reads.

    test-no-locks.py UASD-IN-TREE UASCTL-IN-TREE OLD-KERNEL UASD-SWITCH
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from tree import LIBEXEC, Tree  # noqa: E402

UASD, UASCTL, OLD_KERNEL, SWITCH = sys.argv[1:5]
WHY = 'this kernel has no OFD locks, which Linux has since 3.15'


def run(version, *command):
    p = subprocess.run([OLD_KERNEL, version, *command], capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, ' '.join(p.stderr.split()).partition(': ')[2]  # without the name of the program


class NoLocks(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', serial='S1')
        os.makedirs(self.tree.path(LIBEXEC), exist_ok=True)
        os.symlink(SWITCH, self.tree.path(f'{LIBEXEC}/uasd-switch'))

    def ctl(self, *args, version='3.14'):
        return run(version, UASCTL, self.tree.top, *args)

    def test_uasd(self):
        "It ends at once, as under systemd."
        notified = ['env', 'NOTIFY_SOCKET=/run/none']
        self.assertEqual(run('3.14', *notified, UASD, self.tree.top), (0, '', f'switching no disk: {WHY}'))

    def test_switch(self):
        "The interface is not there: with locks it is looked for."
        for task in ['uas'], ['usb-storage']:
            self.assertEqual(run('3.14', SWITCH, '9-9:1.0', *task), (1, '', f'9-9:1.0: step record: no disk can be switched: {WHY}'))
        for task in '--eject', '--claim':
            self.assertEqual(run('3.14', SWITCH, '--machine', task, '9-9:1.0')[0], 1)
        self.assertEqual(run('3.15', SWITCH, '9-9:1.0', 'uas')[0], 4)

    def test_uasctl(self):
        for args in ['switch', 'sda', 'uas'], ['eject', 'sda'], ['policy', 'sda', 'uas']:
            self.assertEqual(self.ctl(*args), (1, '', f'uasd is off: {WHY}.'))
        self.assertEqual(self.ctl('switch', '--dry-run', 'sda', 'uas'), (1, '', f'2-1:1.0 (sda): would not be switched: {WHY}'))
        self.assertEqual(self.ctl('switch', '--dry-run', 'sda', 'uas', version='3.15')[0], 0)

    def test_reads(self):
        for verb in ['list'], ['explain', 'sda'], ['status', 'sda']:
            code, out, said = self.ctl(*verb)
            self.assertEqual((code, said), (0, f'uasd is off: {WHY}: uasctl reads the disks from the kernel.'))
            self.assertIn('usb-storage', out)


if __name__ == '__main__':
    if run('3.14', 'true')[0] != 0:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)

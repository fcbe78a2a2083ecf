#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The programs uasd-switch and uasd: their options, and what a caller reads. No machine has the USB interface that is asked about."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from patience import patience  # noqa: E402

PROGRAM, UASD = sys.argv[1:3]
NOBODY = '99-99:1.0'
GONE = 'there is no USB storage interface ' + NOBODY


class Uasd(unittest.TestCase):
    def run_uasd(self, *args, code, **user):
        p = subprocess.run([UASD, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience(), **user)
        self.assertEqual(p.returncode, code, (args, p.stdout, p.stderr))
        return p

    def test_version(self):
        self.assertRegex(self.run_uasd('--version', code=0).stdout, r'^uasd [0-9.]+\n$')

    def test_usage(self):
        "No argument starts it by accident."
        for args in ('--help',), ('--version', 'x'), ('x',), ('',):
            with self.subTest(args=args):
                self.assertIn('uasd takes no arguments', self.run_uasd(*args, code=2).stderr)

    def test_not_root(self):
        "A uasd that could do nothing ends, and says why."
        other = {'user': 65534, 'group': 65534, 'extra_groups': []} if os.geteuid() == 0 else {}
        self.assertIn('only root can run uasd', self.run_uasd(code=1, **other).stderr)


class SwitchProgram(unittest.TestCase):
    def run_switch(self, *args, code):
        p = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience())
        self.assertEqual(p.returncode, code, (args, p.stdout, p.stderr))
        return p

    def test_help(self):
        for option in '-h', '--help':
            self.assertIn('uasd-switch [OPTION...] INTERFACE uas|usb-storage\n', self.run_switch(option, code=0).stdout)
        self.assertRegex(self.run_switch('--version', code=0).stdout, r'^uasd-switch [0-9.]+\n$')

    def test_usage(self):
        "Anything else is an error of usage, and says so."
        for args, text in ((('--nonsense', NOBODY, 'uas'), 'nonsense'),
                           ((), 'INTERFACE and driver expected; see --help'),
                           ((NOBODY,), 'INTERFACE and driver expected; see --help'),
                           ((NOBODY, 'uas', 'uas'), 'INTERFACE and driver expected; see --help'),
                           (('--recover',), 'INTERFACE expected; see --help'),
                           (('--recover', NOBODY, 'uas'), 'INTERFACE expected; see --help'),
                           (('--claim',), 'INTERFACE expected; see --help'),
                           (('--claim-again', NOBODY, 'uas'), 'INTERFACE expected; see --help'),
                           (('../x', 'uas'), 'not the name of a USB interface (such as 2-1:1.0): ../x'),
                           (('--recover', '../x'), 'not the name of a USB interface (such as 2-1:1.0): ../x'),
                           ((NOBODY, 'usb'), 'no such target, want uas or usb-storage: usb'),
                           ((NOBODY, 'none'), 'no such target, want uas or usb-storage: none'),
                           (('--hold-deadline=soon', NOBODY, 'uas'), '--hold-deadline: not a number of microseconds: soon'),
                           (('--hold-deadline=1a', NOBODY, 'uas'), '--hold-deadline: not a number of microseconds: 1a'),
                           (('--attachment=2', NOBODY, 'uas'), '--attachment: not the numbers of a bus and a device (such as 2-5): 2'),
                           (('--attachment=2-0', NOBODY, 'uas'), '--attachment: not the numbers of a bus and a device (such as 2-5): 2-0')):
            with self.subTest(args=args):
                p = self.run_switch(*args, code=2)
                self.assertIn(text, p.stderr)
                self.assertEqual(p.stdout, '')

    def test_no_disk(self):
        for driver in 'uas', 'usb-storage':
            p = self.run_switch('--automatic', '--plugged', '--hold-deadline=1', '--no-udev', NOBODY, driver, code=4)
            self.assertEqual((p.stdout, p.stderr), ('', f'uasd-switch: {NOBODY}: step identify: {GONE}\n'))
        self.assertEqual(self.run_switch('--claim', NOBODY, code=4).stderr, f'uasd-switch: {NOBODY}: step claim: {GONE}\n')

    def test_machine(self):
        "uasd reads lines."
        lines = self.run_switch('--machine', NOBODY, 'uas', code=4).stdout.splitlines()
        self.assertRegex(lines[0], '^STEP identify [0-9]+$')
        self.assertEqual(lines[1:], ['END 4 identify ␂there is no USB storage interface %s␟' + NOBODY + '␃'])  # in parts

    def test_reader_dies(self):
        "uasd has died: the switch goes on, whatever it writes."
        reader, writer = os.pipe()
        os.close(reader)
        p = subprocess.run([PROGRAM, '--machine', NOBODY, 'uas'], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True,
                           timeout=patience())
        os.close(writer)
        self.assertEqual((p.returncode, p.stderr), (4, f'uasd-switch: {NOBODY}: step identify: {GONE}\n'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

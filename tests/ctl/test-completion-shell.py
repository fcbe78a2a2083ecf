#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The offers of fish or zsh for a line, with the completion on its path: exactly what uasctl accepts there."""

import os
import sys
import unittest

import shells
from spoken import Spoken
from tree import Tree

PROGRAM, TOLD, SHELL = sys.argv[1:4]
COMPLETION = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/ctl/completion')
DISKS = {'2-1', 'sda', '1-1.4', 'sdb', '1-2', 'sdc'}
DRIVERS = {'uas', 'usb-storage'}
RESULTS = {'last', '0f3c2a4e', '1f3c2a4e'}


class Completion(unittest.TestCase):
    """The shell is started once for all lines. Each test checks some of them."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = Tree(PROGRAM)
        cls.addClassCleanup(cls.tree.close)
        cls.spoken = Spoken(cls.tree, TOLD)
        cls.disks()
        cls.cases = dict(cls.verbs() | cls.options() | cls.arguments() | cls.of_options() | cls.commands())
        cls.found = shells.SHELLS[SHELL](COMPLETION, list(cls.cases), shells.environment(cls.tree))

    @classmethod
    def disks(cls):
        """Three disks that may have any driver; a keyboard, and a disk that disappears."""
        cls.tree.disk('2-1', 'sda', 'uas')
        cls.tree.disk('1-1.4', 'sdb')
        cls.tree.disk('1-2', 'sdc', None)
        for name, value in {'bInterfaceClass': '03', 'bInterfaceSubClass': '01'}.items():
            cls.tree.write(f'sys/bus/usb/devices/1-3:1.0/{name}', value + '\n')
        cls.tree.write('sys/bus/usb/devices/9-9:1.0/bInterfaceClass', '08\n')
        for name in '20251124T121320Z-0f3c2a4e-6b1d-4c77-9a55-000000000001', '20251125T121320Z-1f3c2a4e-6b1d-4c77-9a55-000000000002', 'x':
            cls.tree.write(f'var/lib/uasd/bench/{name}.json', '{}')

    # Lines, and the expected offers

    @classmethod
    def verbs(cls):
        verbs = set(cls.spoken.verbs)
        return {'uasctl ': verbs, 'uasctl --json st': {'status'}, 'uasctl -H nas st': {'status'}, 'uasctl --host=nas st': {'status'},
                'uasctl nonsens': set(), 'uasctl nonsense ': set(), 'uasctl nonsense s': set()}

    @classmethod
    def options(cls):
        common = cls.spoken.common
        lines = {f'uasctl {verb} -': common | cls.spoken.of_verb[verb] for verb in cls.spoken.verbs}
        # A verb that is only the value of an option gets no offers.
        return lines | {'uasctl -': common, 'uasctl switch sda uas --dr': {'--dry-run'}, 'uasctl status --tr': set(),
                        'uasctl inhibit --why list --t': set(), 'uasctl -H list status --t': set()}

    @classmethod
    def arguments(cls):
        lines = {}
        for verb in set(cls.spoken.verbs) - {'inhibit', 'help', 'module'}:
            disks, values = DISKS if cls.spoken.takes_disk(verb) else set(), cls.spoken.values(verb)
            more = DISKS if cls.spoken.takes_disks(verb) else set()
            lines |= {f'uasctl {verb} ': disks, f'uasctl {verb} -q s': {d for d in disks if d.startswith('s')},
                      f'uasctl {verb} sda ': more or values, f'uasctl {verb} -q sda u': {v for v in values if v.startswith('u')},
                      f'uasctl {verb} sda uas ': more}
        return lines | {'uasctl help ': set(cls.spoken.verbs), 'uasctl help log ': set(), 'uasctl status 9': set(), 'uasctl status 1-3': set(), 'uasctl status /dev/nul': {'/dev/null'}, 'uasctl module /dev/nul': {'/dev/null'},
                        'uasctl -H nas switch sda us': {'usb-storage'}, 'uasctl switch --wait=5 ': DISKS, 'uasctl switch --wait ': DISKS,
                        'uasctl log --since 1h ': DISKS, 'uasctl bench -n 5 ': DISKS, 'uasctl bench --driver uas --size=1G s': {'sda', 'sdb', 'sdc'},
                        'uasctl policy --kernel 2': {'2-1'}, 'uasctl policy --kernel --write sda ': DRIVERS | {'auto'}, 'uasctl bench show ': RESULTS, 'uasctl bench --show ': RESULTS,
                        'uasctl bench diff last ': RESULTS, 'uasctl bench --csv show 1': {'1f3c2a4e'}}

    @classmethod
    def of_options(cls):
        columns, etc = cls.spoken.columns, cls.tree.path('etc')
        return {'uasctl list -o ': columns, 'uasctl list --output=': columns, 'uasctl list --output=DR': {'DRIVER'},
                'uasctl list --output=+ID,REASO': {'REASON', 'REASON-ID'}, 'uasctl list --output=ID,NONE': set(),
                'uasctl bench --driver=': DRIVERS, 'uasctl bench sda --driver us': {'usb-storage'}, 'uasctl bench --sweep=': {'depth', 'jobs', 'ramp', 'region', 'runtime'},
                'uasctl bench -n ': set(), 'uasctl bench --rounds=': set(), 'uasctl bench --file=/dev/nul': {'/dev/null'},
                'uasctl inhibit --disk=': DISKS, 'uasctl inhibit --disk s': {'sda', 'sdb', 'sdc'}, 'uasctl inhibit --why=': set(),
                'uasctl inhibit --why ': set(), 'uasctl report --hwdb=2': {'2-1'},
                'uasctl switch --wait=': set(), 'uasctl log --since=': {'today', 'yesterday'}, 'uasctl log -n ': set(), f'uasctl metrics --textfile={etc[:-1]}': {etc}}

    @classmethod
    def commands(cls):
        """After inhibit there is a command, and after that the words of the command."""
        return {'uasctl inhibit uasct': {'uasctl'}, 'uasctl inhibit --why x uasct': {'uasctl'}, 'uasctl inhibit uasctl switch sda u': DRIVERS,
                'uasctl inhibit --disk=sda uasctl list --tr': {'--tree'}, 'uasctl inhibit uasctl --wh': set(), 'uasctl inhibit true --wh': set(),
                'uasctl inhibit uasctl status 2': {'2-1'}}

    # The offers

    def offered(self, line):
        """Whole words; a value without its option, a list without the part before, a path as it was begun."""
        last = line.split(' ')[-1]
        before = last[:last.index('=') + 1] if last.startswith('--') and '=' in last else ''
        value = last[len(before):]
        listed = value[:max(value.rfind(c) for c in ',+') + 1]
        folder = value[:value.rfind('/') + 1]
        words = set()
        for word in self.found[line]:
            word = word.removeprefix(before).removeprefix(listed).removesuffix('=').rstrip('/')
            words.add(folder + word.removeprefix(folder))
        # zsh shows options where only an option can follow.
        if SHELL == 'zsh' and not last:
            words = {word for word in words if not word.startswith('-')}
        # For a command it also offers the dash that means "as a login shell".
        return words - {'-'}

    def compare(self, lines):
        self.assertTrue(lines)
        for line, expected in lines.items():
            with self.subTest(line):
                self.assertEqual(self.offered(line), expected)

    def test_sane(self):
        self.assertEqual(self.spoken.values('switch'), DRIVERS)
        self.assertIn('REASON-ID', self.spoken.columns)
        self.assertIn('list', self.spoken.verbs)
        self.assertEqual(self.spoken.of_verb['list'], {'-o', '--output', '--tree'})

    def test_verbs(self):
        self.compare(self.verbs())

    def test_options(self):
        self.compare(self.options())

    def test_arguments(self):
        self.compare(self.arguments())

    def test_of_options(self):
        self.compare(self.of_options())

    def test_commands(self):
        self.compare(self.commands())


if __name__ == '__main__':
    if shells.missing(SHELL):
        print(f'there is no {SHELL} here')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)

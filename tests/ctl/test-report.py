#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl report: what is in it, and what --redact leaves of it."""

import json
import os
import re
import sys
import unittest

from tree import REMOTE, Tree

PROGRAM = sys.argv[1]
NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/common/names.h')


class Report(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        # All that is private has this in it.
        self.tree.disk('2-1', 'sda', serial='PRIVATE1')
        self.tree.disk('2-2', 'sdb', 'uas', serial='PRIVATE2')
        self.tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n30 20 8:0 / /media/PRIVATE/label rw - ext4 /dev/sda rw\n')
        self.tree.write('proc/cmdline', 'root=UUID=PRIVATE usb-storage.quirks=152d:0578:u quiet uasd.hold=0\n')
        self.tree.write('etc/hostname', 'PRIVATE\n')
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:5a5a:{serial}@0000:00:14.0/ss/1=state=passed firmware=0214 kernel=6.1.0-test boot=- date=2025-11-2{i}T15:45:07Z reason=\n'
            for i, serial in enumerate(('PRIVATE2', 'PRIVATE3', 'PRIVATE1'))))

    def report(self, *args):
        """The machine's lines, the disks and the events."""
        p = self.tree.run('report', '-q', *args)
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        machine, *rest = p.stdout.split('\n\n')
        parts = [json.loads(part) for part in rest]
        return p.stdout, machine, [d for part in parts[:-1] for d in part['disks']], parts[-1]['events']

    def test_all_of_it(self):
        text, machine, disks, events = self.report()
        self.assertIn('uasd: does not answer', machine)
        self.assertIn('Kernel: usb-storage.quirks=152d:0578:u uasd.hold=0\n', machine)
        self.assertIn('System: Linux ' + os.uname().release, machine)
        self.assertEqual([d['serial'] for d in disks], ['PRIVATE1', 'PRIVATE2'])
        self.assertEqual(disks[0]['busy'][0]['where'], '/media/PRIVATE/label')
        self.assertIn('/media/PRIVATE/label', disks[0]['reason'])
        for d in disks:
            self.assertEqual(sum(row['decides'] for row in d['rows']), 1)
            self.assertIn('verdict', d['database'])
            self.assertIsInstance(d['quirks'], list)
        self.assertEqual([e['usb_id'] for e in events], [f'1209:5a5a:PRIVATE{i}' for i in (2, 3, 1)])

    def test_redacted(self):
        if REMOTE:
            with open(NAMES) as f:
                switched = re.search(r'MESSAGE_SWITCHED "(\w+)"', f.read())[1]
            self.tree.journal({'MESSAGE_ID': switched, 'MESSAGE': 'of PRIVATE', 'UASD_USB_ID': '1209:5a5a:PRIVATE1', 'UASD_STEP': 'x'},
                              {'MESSAGE_ID': switched, 'MESSAGE': 'of PRIVATE', 'UASD_USB_ID': 'PRIVATE'})
        text, machine, disks, events = self.report('--redact')
        self.assertNotIn('PRIVATE', text)
        self.assertNotIn(os.uname().nodename, text)
        self.assertEqual([d['serial'] for d in disks], ['SERIAL-1', 'SERIAL-2'])
        self.assertEqual((disks[0]['state'], disks[0]['busy'][0]['kind'], disks[0]['busy'][0]['where']), ('waiting', 'mount', '(redacted)'))
        self.assertIn('until nothing uses it: (redacted)', disks[0]['reason'])
        self.assertEqual([e['usb_id'] for e in events if e['source'] == 'record'], [f'1209:5a5a:SERIAL-{i}' for i in (2, 3, 1)])
        if REMOTE:
            told = [e for e in events if e['source'] == 'journal']
            self.assertEqual([(e['event'], e['usb_id'], e['text']) for e in told],
                             [('switched', '1209:5a5a:SERIAL-1', '(redacted)'), ('switched', '(redacted)', '(redacted)')])

    def test_no_serial(self):
        """That there is none is worth knowing."""
        self.tree.disk('2-3', 'sdc', serial='')
        self.assertEqual([d['serial'] for d in self.report('--redact')[2]], ['SERIAL-1', 'SERIAL-2', ''])

    def test_usage(self):
        self.assertEqual(self.tree.run('report', 'sda').returncode, 2)
        self.assertEqual(self.tree.run('list', '--redact').returncode, 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

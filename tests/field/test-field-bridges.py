#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl for the bridges of public reports, in the table bridges.tsv: the verdict of the database, and what becomes of a disk.

    test-field-bridges.py UASCTL-IN-TREE
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../ctl'))
from tree import Tree  # noqa: E402

PROGRAM = sys.argv[1]
HWDB = os.path.join(HERE, '../../udev/61-uasd.hwdb')
COMPILE = os.environ.get('SYSTEMD_HWDB') or shutil.which('systemd-hwdb')


@unittest.skipUnless(COMPILE, 'no systemd-hwdb')
class Bridges(unittest.TestCase):
    maxDiff = None

    def ask(self, *args):
        p = self.tree.run(*args, '--json')
        self.assertEqual(p.returncode, 0, p.stderr)
        return json.loads(p.stdout)

    def answers(self, bridge, firmware, host):
        """First it is not plugged in, then it is. The record is the one that udev writes at the event of the device."""
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        vid, pid = (int(number, 16) for number in bridge.split(':'))
        self.tree.write('sys/firmware/devicetree/base/compatible', host + '\0')
        with open(HWDB) as f:
            self.tree.write('etc/udev/hwdb.d/61-uasd.hwdb', f.read())
        for args in (['update', '--strict'], ['query']):
            found = subprocess.run([COMPILE, *args, '--root', self.tree.top] + [f'usb:v{vid:04X}p{pid:04X}:Disk'] * (args[0] == 'query'),
                                   check=True, stdout=subprocess.PIPE, text=True).stdout
        verdict = self.ask('db', bridge)['bridges'][0]['database']['verdict']
        self.tree.disk('2-1', 'sda', serial='S1', ids=(vid, pid))
        self.tree.write('sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/bcdDevice', firmware + '\n')
        self.tree.write('run/udev/data/c189:132', 'I:1\n' + ''.join(f'E:{line}\n' for line in found.splitlines()))
        [disk] = self.ask('list')['disks']
        return [verdict, disk['reason_id'], disk['target']]

    def test_table(self):
        with open(os.path.join(HERE, 'bridges.tsv')) as f:
            rows = [line.split() for line in f if not line.startswith('#')]
        self.assertGreater(len(rows), 10)
        self.assertEqual([row[:4] + self.answers(*row[1:4]) for row in rows], rows)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

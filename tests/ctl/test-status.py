#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl status for machines in a folder: how a disk fares, besides what it is."""

import json
import sys
import unittest

from tree import Tree

PROGRAM = sys.argv[1]
COUNTS = {'iorequest_cnt': 0x1234, 'iodone_cnt': 0x1230, 'ioerr_cnt': 5, 'iotmo_cnt': 3}


class Status(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)

    def text(self, *args):
        p = self.tree.run('status', '-q', *args)
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        return p.stdout

    def disk(self, name):
        p = self.tree.run('status', '-q', '--json', name)
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        return json.loads(p.stdout)['disks'][0]

    def test_commands(self):
        self.tree.disk('2-1', 'sda', 'uas', serial='S1', counts=COUNTS)
        self.tree.disk('1-1', 'sdb', serial='S2', counts={'iorequest_cnt': 16, 'ioerr_cnt': 0})
        self.tree.disk('1-2', 'sdc', serial='S3')
        self.assertEqual(self.disk('sda')['commands'], [{'name': 'sda', 'sent': 0x1234, 'done': 0x1230, 'failed': 5, 'timed_out': 3}])
        self.assertEqual(self.disk('sdb')['commands'], [{'name': 'sdb', 'sent': 16, 'done': None, 'failed': 0, 'timed_out': None}])
        self.assertIn('  Commands: sda: 4660 since it came to this driver; 5 failed, 3 ran out of time\n', self.text('sda'))
        self.assertIn('  Commands: sdb: 16 since it came to this driver; 0 failed\n', self.text('sdb'))
        self.assertNotIn('Commands', self.text('sdc'))
        self.assertEqual(self.text().count('Commands'), 2)
        self.assertEqual(len(json.loads(self.tree.run('status', '--json').stdout)['disks']), 3)

    def test_link(self):
        self.tree.disk('1-1', 'sdb', speed=480)
        link = self.disk('sdb')['link']
        self.assertEqual((link['speed_mbps'], link['super_speed'], link['limit']), (480, 'yes', 'unknown'))
        self.assertIn('    Advice: ' + link['advice'], self.text())

    def test_no_disks(self):
        p = self.tree.run('status', '--json')
        self.assertEqual((p.returncode, json.loads(p.stdout)), (0, {'version': 1, 'disks': []}))


unittest.main(argv=sys.argv[:1])

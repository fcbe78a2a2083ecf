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

    PAGES = {'vpd_pgb2': bytes([0, 0xb2, 0, 4, 0, 0x80, 2, 0]),
             'vpd_pgb0': bytes([0, 0xb0, 0, 60]) + bytes(16) + bytes([0, 0x3f, 0xff, 0xff, 0, 0, 0, 64]) + bytes(36)}

    def trims(self, name, mode, used, pages=None):
        scsi = f'sys/block/{name}/device'
        self.tree.write(f'{scsi}/scsi_disk/3:0:0:0/provisioning_mode', mode + '\n')
        self.tree.write(f'sys/block/{name}/queue/discard_max_bytes', f'{used}\n')
        self.tree.write(f'sys/block/{name}/queue/logical_block_size', '512\n')
        for page, data in (pages or {}).items():
            self.tree.write(f'{scsi}/{page}', data)

    def test_trim(self):
        self.tree.disk('2-1', 'sda', 'uas', serial='S1')
        self.trims('sda', 'full', 0, self.PAGES)
        one = {'name': 'sda', 'used': False, 'kept': False, 'offered': 'yes', 'mode': 'full', 'max_bytes': 0,
               'advice': 'To turn it on: uasctl trim DISK on'}
        self.assertEqual(self.disk('sda')['trim'], [one])
        said = '      TRIM: sda: not in use, though the disk offers it (LBPU). To turn it on: uasctl trim 2-1:1.0 on.\n'
        self.assertIn(said, self.text('sda'))
        self.assertEqual(self.tree.run('trim', '-q', 'sda').stdout, said)
        self.assertEqual(json.loads(self.tree.run('trim', '-q', '--json', 'sda').stdout)['disks'][0]['trim'], [one])
        self.tree.write('etc/uasd/trim', '1209:5a5a:S1=on 0:2146435072\n')
        self.trims('sda', 'unmap', 2146435072)
        self.assertEqual(self.disk('sda')['trim'], [dict(one, used=True, kept=True, mode='unmap', max_bytes=2146435072, advice=None)])
        self.assertIn('TRIM: sda: in use under either driver, as it is kept on.\n', self.text())

    def test_trim_by_port(self):
        """Of two that only their ports tell apart one is kept on."""
        self.tree.disk('2-1', 'sda', serial='')
        self.tree.disk('2-2', 'sdb', serial='')
        self.trims('sda', 'full', 0)
        self.trims('sdb', 'full', 0)
        self.tree.write('etc/uasd/trim', '1209:5a5a:@0000:00:14.0/ss/2=on 0:0\n')
        self.assertEqual([self.disk(name)['trim'][0]['kept'] for name in ('sda', 'sdb')], [False, True])
        self.assertIn('TRIM: sda: not in use. Whether the disk offers it shows under uas.\n', self.text('sda'))

    def test_no_disks(self):
        p = self.tree.run('status', '--json')
        self.assertEqual((p.returncode, json.loads(p.stdout)), (0, {'version': 1, 'disks': []}))


unittest.main(argv=sys.argv[:1])

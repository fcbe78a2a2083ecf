#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disks of the machines in folders have no file in sysfs that a real disk lacks, and theirs look the same (sysfs.py).
argv: fake-shown, tree-shown.
"""

import os
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from sysfs import compare  # noqa: E402
from tree import Tree  # noqa: E402

FAKE, TREE = sys.argv[1:3]


class Sysfs(unittest.TestCase):
    def shown(self, *command):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            self.assertEqual(compare(p.stdout.readline().strip() + '/sys', '2-1', real=False), [])

    def test_fake_kernel(self):
        for driver in 'uas', 'usb-storage', 'none':
            with self.subTest(driver):
                self.shown(FAKE, driver)

    def test_tree_of_sys(self):
        self.shown(TREE)

    def test_tree_of_uasctl(self):
        tree = Tree('')
        self.addCleanup(tree.close)
        tree.disk('2-1', 'sda', 'uas', counts={'iorequest_cnt': 31, 'iodone_cnt': 30, 'ioerr_cnt': 1, 'iotmo_cnt': 0})
        tree.disk('2-2', 'sdb')
        for port in '2-1', '2-2':
            self.assertEqual(compare(tree.path('sys'), port, real=False), [])

    def test_differs(self):
        "Each kind of difference is noticed."
        tree = Tree('')
        self.addCleanup(tree.close)
        tree.disk('2-1', 'sda', 'uas')
        device = 'sys/bus/usb/devices/2-1'
        interface = tree.path(device + ':1.0')
        tree.write(device + '/speed', '5000')
        tree.write(device + '/serial_number', 'S1\n')
        tree.write(device + '/remove', '1')
        os.unlink(interface + '/driver')
        os.symlink('../../uas', interface + '/driver')
        os.unlink(tree.path('sys/block/sda'))
        tree.write('sys/block/sda', '')
        self.assertEqual(sorted(compare(tree.path('sys'), '2-1', real=False)), [
            'INTERFACE/driver: it is a link to devices/pci0000:00/0000:00:14.0/usb2/DRIVER', 'block/DISK: it is not a link',
            'remove: it is not written', 'serial_number: a real disk may have none', "speed: '5000'"])
        self.assertIn('INTERFACE/HOST/TARGET/SCSI/delete: there is none', compare(tree.path('sys'), '2-1', real=True))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`uasctl lease`: orders on the standard input, an answer for each, and the end of the lease however its program ends.

    test-lease.py FAKE-UASD UASCTL-IN-TREE
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import privatebus
from patience import patience
from tree import Tree

FAKE, IN_TREE = sys.argv[1:3]
DISKS = ('2-1', 'sda', 'FREE'), ('2-2', 'sdb', 'BUSY'), ('2-3', 'sdc', 'BAD'), ('2-6', 'sdf', 'FORBIDDEN'), ('2-7', 'sdg', 'ABSENT'), \
    ('2-5', 'sde', 'REFUSED'), ('2-8', 'sdh', 'FATAL')


class Lease(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(IN_TREE)
        self.addCleanup(self.tree.close)
        for port, block, serial in DISKS:
            self.tree.disk(port, block, serial=serial)
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=privatebus.address(self.dir), LC_ALL='C.UTF-8', TREE=self.tree.top)
        bus = privatebus.start(self.dir)
        self.addCleanup(lambda: privatebus.kill(bus))

    def start(self):
        self.daemon = subprocess.Popen([FAKE], env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(self.daemon))
        self.called('ready')

    def called(self, *calls):
        """These are the next calls of the daemon."""
        for call in calls:
            self.assertEqual(self.daemon.stdout.readline(), call + '\n')

    def begin(self, *words):
        p = subprocess.Popen([IN_TREE, self.tree.top, 'lease', *words], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(p))
        return p, json.loads(p.stdout.readline())

    @staticmethod
    def order(p, word):
        p.stdin.write(word + '\n')
        p.stdin.flush()
        return json.loads(p.stdout.readline())

    def end(self, p, code=0):
        out, err = p.communicate(timeout=patience())
        self.assertEqual((p.returncode, out), (code, ''), err)
        return err

    def test_orders(self):
        self.start()
        p, first = self.begin('sda')
        self.assertEqual((first['label'], first['disk']['serial'], first['lost']), ('2-1:1.0 (sda)', 'FREE', False))
        for word, call, code in (('lease', 'Lease 2-1:1.0', 0), ('uas', 'Switch 2-1:1.0 uas', 0), ('usb-storage', 'Switch 2-1:1.0 usb-storage', 0),
                                 ('policy', 'Switch 2-1:1.0 -', 0), ('look', None, 0), ('read', None, 0), ('watch', None, 0),
                                 ('plan uas', None, 0), ('lease', None, 2), ('nonsense', None, 2), ('plan', None, 2), ('', None, 2)):
            answer = self.order(p, word)
            self.assertEqual((answer['code'], answer['version'], answer['signs']), (code, 1, []), word)
            if call:
                self.called(call)
            if word in ('uas', 'usb-storage'):
                self.assertEqual((answer['disk']['driver'], answer['text']), (word, 'It runs on its new driver.'))
        self.assertIn("'nonsense' is no order of uasctl lease.", self.end(p))
        self.called('LeaseEnded 2-1:1.0')

    def test_refused(self):
        self.start()
        p, _ = self.begin('FORBIDDEN')
        self.assertEqual(self.order(p, 'lease')['code'], 8)
        answer = self.order(p, 'uas')
        self.assertEqual((answer['code'], answer['text']), (8, 'uasd did not begin the switch'))
        self.assertIn('Not permitted', self.end(p))
        subprocess.run([IN_TREE, self.tree.top, 'switch', 'sdb', 'uas'], env=self.env, capture_output=True, timeout=patience())
        p, _ = self.begin('sdb')
        answer = self.order(p, 'lease')
        self.assertEqual((answer['code'], answer['users']), (6, ['mounted on /mnt/usb (sdb1)']))
        self.end(p)
        p, _ = self.begin('sdc')
        answer = self.order(p, 'uas')
        self.assertEqual((answer['code'], answer['text']), (7, 'The disk did not come back in time.'))
        self.end(p)
        self.tree.write('sys/bus/usb/devices/2-1/idVendor', '357d\n')
        self.tree.write('sys/bus/usb/devices/2-1/idProduct', '7788\n')
        p, _ = self.begin('sda')
        answer = self.order(p, 'plan uas')
        self.assertEqual(answer['code'], 6)
        self.assertTrue(answer['text'].endswith('.'))
        self.end(p)

    def test_ends(self):
        """With the standard input, and with uasctl in every case."""
        self.start()
        for end in (lambda p: p.stdin.close(), lambda p: p.kill(), lambda p: p.send_signal(signal.SIGTERM)):
            p, _ = self.begin('sda')
            self.assertEqual(self.order(p, 'lease')['code'], 0)
            self.called('Lease 2-1:1.0')
            p.send_signal(signal.SIGINT) # it is for the program
            self.assertFalse(self.order(p, 'look')['lost'])
            end(p)
            self.called('LeaseEnded 2-1:1.0')
            p.wait(timeout=patience())

    def test_ends_in_a_switch(self):
        """The program is killed while uasd works on its order."""
        self.start()
        p, _ = self.begin('sdb')
        p.stdin.write('uas\n')
        p.stdin.close()
        self.called('Switch 2-2:1.0 uas')
        p.wait(timeout=patience())

    def test_ends_with_its_parent(self):
        """uasd does not answer, and the program that started uasctl is killed."""
        self.env['LEASE_STALLS'] = '1'
        self.start()
        parent = subprocess.Popen(['sh', '-c', 'exec 3<&0; "$@" <&3 >/dev/null & echo $!; wait', 'sh', IN_TREE, self.tree.top, 'lease', 'sda'],
                                  env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(parent)) # its standard input stays open until then
        parent.stdin.write('lease\n')
        parent.stdin.flush()
        pid = int(parent.stdout.readline())
        pidfd = os.pidfd_open(pid)
        self.addCleanup(os.close, pidfd)
        self.called('Lease 2-1:1.0')
        parent.kill()
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        self.assertTrue(poll.poll(patience() * 1000))

    def test_lost(self):
        """Another program takes the disk, or it is unplugged, or uasd ends."""
        self.start()
        for disk, interface, lost, there in ('sde', '2-5:1.0', True, True), ('sdg', '2-7:1.0', False, False), ('sdh', '2-8:1.0', True, True):
            p, _ = self.begin(disk)
            answer = self.order(p, 'lease')
            self.called(f'Lease {interface}')
            self.daemon.send_signal(signal.SIGUSR1)
            while not answer['lost'] and answer['disk']:
                answer = self.order(p, 'look')
            self.assertEqual((answer['lost'], answer['disk'] is not None), (lost, there), disk)
            self.assertEqual([self.order(p, word)['lost'] for word in ('read', 'look', 'read')], [lost] * 3, disk)
            self.end(p)
            if disk != 'sdh':
                self.called(f'LeaseEnded {interface}')

    def test_lost_in_a_switch(self):
        self.start()
        p, _ = self.begin('sdh')
        p.stdin.write('uas\n')
        p.stdin.flush()
        self.called('Switch 2-8:1.0 uas')
        self.daemon.send_signal(signal.SIGUSR1)
        answer = json.loads(p.stdout.readline())
        self.assertEqual((answer['code'], answer['text'], answer['lost']), (1, 'uasd is not there any more', True))
        self.end(p)

    def test_signs(self):
        """Lines of the kernel that are about this disk and show a fault, from the order on."""
        def line(text, more='SUBSYSTEM=scsi', device='+scsi:3:0:0:0', level=3):
            return f'{level},1,1,-;{text}\n {more}\n DEVICE={device}\n'
        abort = 'sd 3:0:0:0: [sda] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN'
        rows = ((line(abort), 1), (line('scsi host3: uas_eh_device_reset_handler start', device='+scsi:host3', level=6), 1),
                (line('usb 2-1: reset SuperSpeed USB device number 5 using xhci_hcd', 'SUBSYSTEM=usb', 'c189:132', 6), 1),
                (line(abort.replace('3:0', '7:0'), device='+scsi:7:0:0:0'), 0), # about another disk
                (line(abort, level=11), 0), # from a program
                (line('sd 3:0:0:0: [sda] Attached SCSI disk', level=5), 0), ('6,7,7,-;PM: suspend exit\n', 0), ('nonsense', 0))
        shutil.rmtree(self.tree.path('sys/bus/usb/drivers/usb-storage'))
        os.mkdir(self.tree.path('sys/bus/usb/drivers/usb-storage'))
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0/driver'))
        self.tree.link('sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/driver', 'sys/bus/usb/drivers/uas')
        for record, n in rows:
            self.tree.write('dev/kmsg', line(abort)) # an earlier event
            p, _ = self.begin('sda', 'kernel')
            self.assertEqual(self.order(p, 'watch')['signs'], [])
            for times in range(1, 3):
                with open(self.tree.path('dev/kmsg'), 'a') as f:
                    f.write(record)
                signs = self.order(p, 'look')['signs']
                self.assertEqual([s['count'] for s in signs], [times] * n, record)
            self.assertEqual(self.order(p, 'watch')['signs'], [])
            self.end(p)
        # Several kinds, and another part is to blame for one of them.
        p, _ = self.begin('sda', 'kernel')
        self.order(p, 'watch')
        for record in line(abort), line('scsi host3: uas_post_reset: alloc streams error -12 after reset', device='+scsi:host3'), line(abort):
            with open(self.tree.path('dev/kmsg'), 'a') as f:
                f.write(record)
            signs = self.order(p, 'look')['signs']
        self.assertEqual(signs, [{'what': 'commands were not answered in time', 'count': 2, 'blame': None},
                                 {'what': 'it had no streams after a reset', 'count': 1, 'blame': 'the USB controller'}])
        self.end(p)

    def test_kernel(self):
        """Without uasd it reads the disk, and has neither lease nor switch."""
        p, first = self.begin('sda', 'kernel')
        self.assertEqual(first['disk']['serial'], 'FREE')
        for word, code in ('look', 0), ('watch', 0), ('plan uas', 0), ('lease', 2), ('uas', 2), ('policy', 2):
            self.assertEqual(self.order(p, word)['code'], code, word)
        self.end(p)
        p = subprocess.run([IN_TREE, self.tree.top, 'lease', 'sda'], env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual((p.returncode, p.stdout), (1, ''))
        self.assertIn('only it can do that', p.stderr)
        p = subprocess.run([IN_TREE, self.tree.top, 'lease', 'sda', 'daemon'], env=self.env, capture_output=True, text=True)
        self.assertEqual(p.returncode, 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl status for machines in a folder: the condition of a disk."""

import calendar
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
import unittest

from patience import patience, process_state, until
from tree import Tree

PROGRAM = sys.argv[1]
DEVICES = 'sys/devices/pci0000:00/0000:00:14.0/usb2'
NOBODY = pwd.getpwnam('nobody').pw_uid
COUNTS = {'iorequest_cnt': 0x1234, 'iodone_cnt': 0x1230, 'ioerr_cnt': 5, 'iotmo_cnt': 3}


class Status(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)

    def text(self, *args):
        p = self.tree.run('status', '-q', '--all', *args)
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
        self.tree.disk('1-3', 'sdd', serial='S4', counts={'iorequest_cnt': 7})
        self.assertEqual(self.disk('sda')['commands'], [{'name': 'sda', 'sent': 0x1234, 'done': 0x1230, 'failed': 5, 'timed_out': 3}])
        self.assertEqual(self.disk('sdb')['commands'], [{'name': 'sdb', 'sent': 16, 'done': None, 'failed': 0, 'timed_out': None}])
        self.assertIn('  Commands: sda: 4660 since the driver took it; 5 failed, 3 timed out\n', self.text('sda'))
        self.assertIn('  Commands: sdb: 16 since the driver took it; 0 failed\n', self.text('sdb'))
        self.assertNotIn('Commands', self.text('sdc'))
        self.assertIn('  Commands: sdd: 7 since the driver took it\n', self.text('sdd'))
        self.assertEqual(self.text().count('Commands'), 3)
        self.assertEqual(len(json.loads(self.tree.run('status', '--json').stdout)['disks']), 4)

    def test_kernel_without_uas(self):
        "The configuration of the kernel tells whether its usb-storage leaves disks to uas. An option that is off is a comment."
        self.tree.disk('2-1', 'sda')
        on, off = '# Linux\nCONFIG_USB_UAS=m\n', '# Linux\n# CONFIG_USB_UAS is not set\nCONFIG_USB=y\n'
        either = "No table, rule or quirk keeps the disk off uas. Either a switch has moved it to usb-storage, or this kernel's usb-storage is built " \
                 'without UAS support (CONFIG_USB_UAS).'
        without = 'It chooses usb-storage: its usb-storage is built without UAS support (CONFIG_USB_UAS).'
        for path, text, said in ((None, None, either), ('boot/config-6.1.0-test', on, 'It chooses uas. A switch has moved'),
                                 ('boot/config-6.1.0-test', off, without), ('usr/lib/modules/6.1.0-test/config', off, without),
                                 ('usr/lib/modules/6.1.0-test/config', on, 'It chooses uas'), ('boot/config-6.1.0', off, either)):
            if path:
                self.tree.write(path, text)
            shown = ' '.join(self.tree.run('explain', 'sda').stdout.split())
            self.assertIn(' Kernel: ' + said, shown, path)
            if path:
                os.unlink(self.tree.path(path))

    def test_no_choice(self):
        "A disk that does not offer UAS gets no advice about uas, and no row that compares the drivers."
        self.tree.disk('2-1', 'sda', serial='S1', uas=False)
        self.tree.write('sys/block/sda/device/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.assertIn('      TRIM: sda: not in use.\n', self.text('sda'))
        shown = self.tree.run('explain', 'sda', '--no-legend').stdout
        self.assertEqual(re.findall(r'(?m)^(?:→|  )(?: )?([a-z-]+) +yes ', shown), ['no-uas'])
        self.assertIn('fastest', self.tree.run('explain', 'sda', '--all').stdout)
        rows = json.loads(self.tree.run('explain', 'sda', '--json').stdout)['disks'][0]['rows']
        self.assertEqual([row['reason_id'] for row in rows if row['applies']], ['no-uas'])
        self.assertIn('fastest', [row['reason_id'] for row in rows if row['fits']])

    def without_block_device(self, port, block):
        shutil.rmtree(self.tree.path(f'{DEVICES}/{port}/{port}:1.0/host3'))
        for link in 'sys/block', 'sys/class/block':
            os.unlink(self.tree.path(f'{link}/{block}'))

    def test_bare(self):
        "A disk without names, without a block device or without a driver of its own is shown by what it has."
        os.makedirs(self.tree.path('sys/bus/usb/drivers/usbfs'))
        self.tree.disk('2-1', 'sda', 'uas', serial='S1', product='')
        self.tree.write(f'{DEVICES}/2-1/manufacturer', '\n')
        self.tree.write(f'{DEVICES}/2-1/2-1:1.0/host3/target3:0:0/3:0:0:1/type', '0\n')  # the second slot of a card reader
        for port, block, driver in ('2-2', 'sdb', 'usb-storage'), ('2-3', 'sdc', 'usbfs'):
            self.tree.disk(port, block, driver, serial=block)
            self.without_block_device(port, block)
        self.tree.disk('2-4', 'sdd', None, serial='S4')
        shown = self.text()
        self.assertEqual(re.findall('(?m)^● (.*)', shown), ['sda: 1209:5a5a, 1M, on uas - ok', '2-2: Maker Disk, on usb-storage - needs uasd',
                                                           '2-3: Maker Disk, on usbfs - ignored', 'sdd: Maker Disk, 1M - no driver'])
        self.assertEqual(re.findall('(?m)^    Driver: (.*)', shown), ['uas on host3', 'usb-storage, slower than uas', 'usbfs', 'none on host3'])
        self.assertIn('     Disks: sda 1M, LUN 0\n            (no block device) 0B, LUN 1\n', shown)
        self.assertIn('\n2 hints: uasctl status 2-2 sdd\n', self.tree.run('list').stdout)
        tree = self.tree.run('list', '--tree', '--no-legend', '-o', 'DISK,SIZE,LINK', 'sda').stdout
        self.assertEqual([line.split()[1:] for line in tree.splitlines()[1:]], [['1M', '5', 'Gbit/s'], ['1M']])
        self.assertIn('--all prints everything.', self.tree.run('status').stdout)
        self.assertNotIn('--all prints everything.', self.tree.run('status', '--no-legend').stdout)
        self.assertIn('  Protocol: 08:06:62, 4 endpoints; UAS\n', self.text('sda'))
        os.unlink(self.tree.path(f'{DEVICES}/2-1/2-1:1.0/bNumEndpoints'))
        self.assertIn('  Protocol: UAS\n', self.text('sda'))
        self.tree.programs('journalctl')
        os.makedirs(self.tree.path('run/systemd/system'))
        self.assertRegex(self.tree.run('explain', 'sdd').stdout, r'^● 2-4:1.0 \(sdd\) has no driver. It should be on uas.\n(?s:.*)\n +journalctl -k --grep 2-4\n')
        self.tree.write('dev/kmsg', '4,1,2,-;uas 2-4:1.0: probe with driver uas failed with error -28\n')
        self.assertIn('The probe of uas failed with error -28.', self.tree.run('explain', 'sdd').stdout)
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nPolicy=ignore\n')
        self.assertTrue(self.tree.run('explain', 'sdd').stdout.startswith('● 2-4:1.0 (sdd) has no driver.\n'))

    @unittest.skipUnless(os.geteuid() == 0, 'only root can be another user')
    def test_no_bus(self):
        "An ordinary user has no other way to uasd."
        self.tree.disk('2-1', 'sda')
        os.chmod(self.tree.top, 0o755)
        why = 'uasctl: the system bus (D-Bus) does not answer'
        p = self.tree.run('list', user=NOBODY)
        self.assertEqual((p.returncode, p.stderr), (0, why + ': uasctl reads the disks from the kernel.\n'))
        p = self.tree.run('cancel', 'sda', user=NOBODY)
        self.assertEqual((p.returncode, p.stderr), (1, why + ', and only uasd can do that. root reaches uasd without the bus.\n'))

    def test_one_unreadable(self):
        "A disk that cannot be read is named. The others are listed."
        self.tree.disk('2-1', 'sda', serial='S1')
        self.tree.disk('2-2', 'sdb', serial='S2')
        self.tree.write('sys/bus/usb/devices/2-1/idVendor', 'what?\n')
        p = self.tree.run('list', '--json')
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn('2-1:1.0 cannot be read: Invalid argument\n', p.stderr)
        self.assertEqual([disk['interface'] for disk in json.loads(p.stdout)['disks']], ['2-2:1.0'])

    def test_configuration(self):
        "A line that is not understood is reported once, although wait reads the disks again and again."
        self.tree.disk('2-1', 'sda')
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nUnknown=nonsense\nNonsense=1\n')
        deadline = int((time.clock_gettime(time.CLOCK_BOOTTIME) + 20) * 1e6)
        self.tree.write('run/uasd/hold/2-1:1.0', f'BUSNUM=2\nDEVNUM=5\nDEADLINE={deadline}\n')
        p = self.tree.run('wait', 'sda', '--wait=1')
        self.assertEqual(p.returncode, 3, p)
        self.assertEqual(re.findall(r'(?m)^uasctl: /etc/uasd/uasd.conf:(\d): ', p.stderr), ['2', '3'])

    def test_held(self):
        "When the hold ends, and how long that is."
        self.tree.disk('2-1', 'sda')
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nPolicy=uas\n')
        self.tree.write('run/uasd/hold/2-1:1.0', f'BUSNUM=2\nDEVNUM=5\nDEADLINE={int((time.clock_gettime(time.CLOCK_BOOTTIME) + 115) * 1e6)}\n')
        until, left = re.findall(r'(?m)^      Held: until (\S+ \S+) \((.*) left\)$', self.text('sda'))[0]
        self.assertEqual(left, '2 min')
        self.assertLess(abs(calendar.timegm(time.strptime(until, '%Y-%m-%d %H:%M:%S')) - time.time() - 115), 50)

    def test_wait_gone(self):
        "A disk that is unplugged while it is held ends the wait."
        self.tree.disk('2-1', 'sda')
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nNonsense=1\nPolicy=uas\n')
        self.tree.write('run/uasd/hold/2-1:1.0', f'BUSNUM=2\nDEVNUM=5\nDEADLINE={int((time.clock_gettime(time.CLOCK_BOOTTIME) + 290) * 1e6)}\n')
        p = subprocess.Popen([PROGRAM, self.tree.top, 'wait', 'sda'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', LC_ALL='C.UTF-8'))
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        while 'uasd.conf:2: ' not in p.stderr.readline():  # it reads the disks
            self.assertIsNone(p.poll())
        until(lambda: process_state(p.pid) == 'S', 'it waits')
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0'))
        self.assertEqual((p.wait(patience()), p.stdout.read()), (4, ''))

    def test_link(self):
        self.tree.disk('1-1', 'sdb', speed=480)
        link = self.disk('sdb')['link']
        self.assertEqual((link['speed_mbps'], link['super_speed'], link['limit']), (480, 'yes', 'unknown'))
        self.assertIn('    Advice: ' + link['advice'], self.text())

    def test_gentler(self):
        "A disk in use that is to leave uas: explain names the steps that ask less of the bridge, with the present values."
        self.tree.disk('2-1', 'sda', 'uas', serial='S1')
        self.tree.write('etc/uasd/uasd.conf', '[Disk 1209:5a5a]\nPolicy=usb-storage\n')
        self.tree.write('sys/block/sda/device/queue_depth', '30\n')
        self.tree.write('sys/block/sda/queue/max_sectors_kb', '64\n')  # as low as the step
        self.tree.write('sys/bus/usb/devices/2-1/port/usb3_lpm_permit', 'u1_u2\n')
        self.assertNotIn('Gentler', self.tree.run('explain', 'sda').stdout)
        self.tree.write('proc/1/mountinfo', '1 0 8:0 / / rw - ext4 /dev/sda rw\n')
        said = self.tree.run('explain', 'sda').stdout
        first, second = 'sys/bus/usb/devices/2-1/port/usb3_lpm_permit', 'sys/block/sda/device/queue_depth'
        self.assertIn(f'   Gentler: echo 0 >/{first} # now u1_u2; ', said)
        self.assertIn(f'            echo 1 >/{second} # now 30; ', said)
        self.assertNotIn('max_sectors_kb', said)
        for path in first, second:
            command = re.search(f'(echo [0-9]+) >/{path} #', said).group(1)
            self.tree.write(path, command.split()[1] + '\n')
        self.assertNotIn('Gentler', self.tree.run('explain', 'sda').stdout)
        self.tree.write(second, '2\n')
        self.assertIn(f'   Gentler: echo 1 >/{second} # now 2; ', self.tree.run('explain', 'sda').stdout)
        self.tree.write(second, '30\n')
        self.tree.write('etc/uasd/uasd.conf', '')
        self.assertNotIn('Gentler', self.tree.run('explain', 'sda').stdout)

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
        said = '      TRIM: sda: not in use, though the disk offers it (LBPU). To turn it on: uasctl trim 2-1 on.\n'
        self.assertIn(said, self.text('sda'))
        self.assertEqual(self.tree.run('trim', '-q', 'sda').stdout, said.split('TRIM: ')[1])
        self.assertEqual(json.loads(self.tree.run('trim', '-q', '--json', 'sda').stdout)['disks'][0]['trim'], [one])
        self.trims('sda', 'unmap', 2146435072)
        self.tree.write('etc/uasd/trim', f'1209:5a5a:S1=on 0:2146435072:{self.tree.medium("sda")}\n')
        self.assertEqual(self.disk('sda')['trim'], [dict(one, used=True, kept=True, mode='unmap', max_bytes=2146435072, advice=None)])
        self.assertIn('TRIM: sda: in use under both drivers, because it is kept on.\n', self.text())

    def test_used(self):
        "The commands that free a disk are there only if its driver is not the one that it should have."
        self.tree.disk('2-1', 'sda', 'uas')
        self.tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n30 20 8:0 / /mnt rw - ext4 /dev/sda rw\n')
        for policy, free in ('uas', False), ('usb-storage', True):
            self.tree.write('etc/uasd/uasd.conf', f'[uasd]\nPolicy={policy}\n')
            shown = self.text('sda')
            self.assertIn('\n      Used: mounted on /mnt (sda)\n', shown)
            self.assertEqual('\n   To free: umount /mnt\n' in shown, free, policy)

    def test_trim_without_udevd(self):
        "Only udev turns it on again. Where it does not run, the advice is not to ask it."
        self.tree.disk('2-1', 'sda', serial='S1')
        self.trims('sda', 'full', 0, self.PAGES)
        self.tree.write('etc/uasd/trim', f'1209:5a5a:S1=on 0:2146435072:{self.tree.medium("sda")}\n')
        self.assertIn('(LBPU). Only udev turns it on, and no udevd runs here.\n', self.text())
        self.tree.write('run/udev/control', '')
        self.tree.write('proc/net/unix', 'Num RefCount Protocol Flags Type St Inode Path\n0: 2 0 0 5 1 9 /run/udev/control\n')
        self.assertEqual(self.disk('sda')['trim'][0]['advice'], 'udev has not turned it on. To ask it again: uasctl trim DISK on')

    def test_trim_of_another(self):
        """The setting of another disk behind this bridge, of an older uasd, and of this disk, which does not offer TRIM any more."""
        self.tree.disk('2-1', 'sda', 'uas', serial='S1')
        self.trims('sda', 'full', 0, self.PAGES)
        here = self.tree.medium('sda')
        size, inquiry, serial = here.split(':')
        for medium in '', f':1{size}:{inquiry}:{serial}', f':{size}:1{inquiry[1:]}:{serial}', f':{size}:{inquiry}', ':0:0:0':
            self.tree.write('etc/uasd/trim', f'1209:5a5a:S1=on 0:2146435072{medium}\n')
            [one] = self.disk('sda')['trim']
            if medium.count(':') != 2: # as without a VPD page: it is this disk
                self.assertEqual((one['kept'], one['advice']), (False, 'To keep it on for this one: uasctl trim DISK on'), medium)
        self.assertIn('TRIM: sda: not in use: it was turned on for another disk behind this bridge. ', self.text('sda'))
        self.trims('sda', 'full', 0, {'vpd_pgb2': bytes([0, 0xb2, 0, 4, 0, 0, 2, 0])})
        for force, kept in ('', False), (':force', True):
            self.tree.write('etc/uasd/trim', f'1209:5a5a:S1=on 0:2146435072:{here}{force}\n')
            self.assertEqual(self.disk('sda')['trim'][0]['kept'], kept)

    def test_trim_unknown(self):
        """A disk whose SCSI disk has no attributes yet."""
        self.tree.disk('2-1', 'sda', serial='S1')
        p = self.tree.run('trim', 'sda')
        self.assertEqual((p.returncode, p.stdout), (0, ''))
        self.assertIn('2-1:1.0: the kernel does not show whether it uses TRIM.', p.stderr)

    def test_order(self):
        "The numbers of the ports decide: 2-2 comes before 2-10."
        for port, name in ('2-10', 'sda'), ('2-2', 'sdb'):
            self.tree.disk(port, name, serial=name)
        disks = json.loads(self.tree.run('list', '--json').stdout)['disks']
        self.assertEqual([one['interface'] for one in disks], ['2-2:1.0', '2-10:1.0'])

    def test_trim_by_port(self):
        """Two disks differ only in their ports, and one has TRIM on."""
        self.tree.disk('2-1', 'sda', serial='')
        self.tree.disk('2-2', 'sdb', serial='')
        self.trims('sda', 'full', 0)
        self.trims('sdb', 'full', 0)
        self.tree.write('etc/uasd/trim', f'1209:5a5a:@0000:00:14.0/ss/2=on 0:0:{self.tree.medium("sdb")}\n')
        self.assertEqual([self.disk(name)['trim'][0]['kept'] for name in ('sda', 'sdb')], [False, True])
        self.assertIn('TRIM: sda: not in use. Under uas, uasctl shows whether the disk offers it.\n', self.text('sda'))

    def with_names(self):
        self.tree.disk('2-1', 'sda', serial='SERIAL77')
        block = 'sys/block/sda'
        for n in 1, 2, 3:
            self.tree.write(f'{block}/sda{n}/dev', f'8:{n}\n')
            self.tree.write(f'{block}/sda{n}/partition', f'{n}\n')
        self.tree.write('run/udev/data/b8:1', 'E:ID_FS_UUID=aa\nE:ID_FS_UUID_ENC=0011-2233\nE:ID_PART_ENTRY_UUID=4455-01\n')
        self.tree.write('run/udev/data/b8:2', 'E:ID_PART_ENTRY_UUID=4455-02\n')
        for link, node in {'by-id/wwn-0x5000-part1': 'sda1', 'by-id/usb-Maker_Disk_SERIAL77-0:0-part1': 'sda1', 'by-id/ata-X-part2': 'sda2',
                           'by-id/wwn-0x6000-part1': 'sdz1', 'by-uuid/0011-2233': 'sda1', 'by-diskseq/7-part3': 'sda3'}.items():
            os.makedirs(os.path.dirname(self.tree.path(f'dev/disk/{link}')), exist_ok=True)
            os.symlink(f'../../{node}', self.tree.path(f'dev/disk/{link}'))

    def test_names(self):
        self.with_names()
        self.assertEqual(self.disk('sda')['names'], [])
        self.assertNotIn('Names', self.text())
        self.tree.write('etc/fstab', ('# /dev/sda1 /not ext4 defaults 0 0\n/dev/disk/by-id/wwn-0x5000-part1 /mnt/a\\040b ext4 defaults 0 2\n'
                                      'UUID=0011-2233 /by-uuid ext4 defaults 0 2\n/dev/sdz1 /other ext4 defaults 0 0\n'
                                      '/dev/disk/by-id/usb-Maker_Disk_SERIAL77-0:0-part1 /usb ext4 defaults 0 0\n'
                                      '/dev/disk/by-id/wwn-0x6000-part1 /other2 ext4 defaults 0 0\n/dev/sda2 none swap sw 0 0\n'
                                      '/dev/disk/by-id/ata-Gone_SERIAL77-part4 /gone ext4 noauto 0 0\n/dev/disk/by-id/ata-Gone_OTHER /g2 ext4 noauto 0 0\n'
                                      '/dev/disk/by-diskseq/7-part3 /seq ext4 noauto 0 0\n'))
        self.tree.write('etc/crypttab', '# a /dev/sda1\n\nlone\ncrypt /dev/disk/by-id/ata-X-part2\nfine UUID=0011-2233 none luks\n')
        kernel, driver = "may name another disk after a switch, a plug or a boot", 'may exist under only one of the two drivers'
        want = [('/etc/fstab', '/mnt/a b', '/dev/disk/by-id/wwn-0x5000-part1', driver, 'UUID=0011-2233'),
                ('/etc/fstab', 'none', '/dev/sda2', kernel, 'PARTUUID=4455-02'),
                ('/etc/fstab', '/gone', '/dev/disk/by-id/ata-Gone_SERIAL77-part4', driver, None),
                ('/etc/fstab', '/seq', '/dev/disk/by-diskseq/7-part3', 'changes with every switch', None),
                ('/etc/crypttab', 'crypt', '/dev/disk/by-id/ata-X-part2', driver, 'PARTUUID=4455-02')]
        self.assertEqual([tuple(n[k] for k in ('file', 'where', 'name', 'why', 'instead')) for n in self.disk('sda')['names']], want)
        self.tree.write(f'{DEVICES}/2-1/serial', 'RIAL\n')  # too short: it may be in the name of any disk
        self.assertEqual([n['where'] for n in self.disk('sda')['names']], ['/mnt/a b', 'none', '/seq', 'crypt'])
        self.tree.write(f'{DEVICES}/2-1/serial', 'SERIAL77\n')
        line = f'     Names: /etc/fstab, /mnt/a b: /dev/disk/by-id/wwn-0x5000-part1 {driver}. Better: UUID=0011-2233\n'
        self.assertIn(line, self.text())
        self.assertIn(line, self.tree.run('explain', '-q', 'sda').stdout)
        self.assertEqual(len(json.loads(self.tree.run('explain', '-q', '--json', 'sda').stdout)['disks'][0]['names']), len(want))

    def test_hostile_names(self):
        """Invalid lines count as missing, and nothing is printed unescaped."""
        self.with_names()
        self.tree.write('etc/fstab', b'/dev/sda1\n/dev/sda1 /\x1b[31mred ext4 defaults 0 0\n\xff\xfe\n/dev/ /x ext4 defaults 0 0\n')
        self.tree.write('etc/crypttab', b'\x1b]0;x /dev/sda2')
        out = self.text('sda')
        self.assertEqual(out.count('/dev/sda1') + out.count('/dev/sda2'), 2)
        self.assertNotIn('\x1b', out)

    def test_no_disks(self):
        for verb in 'status', 'list', 'db':
            p = self.tree.run(verb, '--json')
            self.assertEqual((p.returncode, json.loads(p.stdout)), (0, {'version': 1, 'disks': []}))
            self.assertNotIn('There are no USB disks.', p.stderr)
            p = self.tree.run(verb)
            self.assertEqual((p.returncode, p.stdout), (0, ''))
            self.assertIn('There are no USB disks.', p.stderr)
            p = self.tree.run(verb, 'sda')
            self.assertEqual((p.returncode, p.stdout), (4, ''))
        shutil.rmtree(self.tree.path('sys'))
        p = self.tree.run('list')
        self.assertEqual((p.returncode, p.stdout, p.stderr), (1, '', 'uasctl: Cannot open /sys: No such file or directory\n'))


unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl report: its content, and what --redact leaves."""

import json
import os
import re
import sys
import unittest

from tree import REMOTE, Tree

PROGRAM = sys.argv[1]
SAID = 'Kernel messages of this boot:'
NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/common/names.h')


class Report(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        # All private data contains this word.
        self.tree.disk('2-1', 'sda', serial='PRIVATE1')
        self.tree.disk('2-2', 'sdb', 'uas', serial='PRIVATE2')
        self.tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n30 20 8:0 / /media/PRIVATE/label rw - ext4 /dev/sda rw\n')
        self.tree.write('proc/cmdline', 'root=UUID=PRIVATE usb-storage.quirks=152d:0578:u quiet uasd.hold=0\n')
        self.tree.write('etc/hostname', 'PRIVATE\n')
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:5a5a:{serial}@0000:00:14.0/ss/1=state=passed firmware=0214 kernel=6.1.0-test boot=- date=2025-11-2{i}T15:45:07Z reason=\n'
            for i, serial in enumerate(('PRIVATE2', 'PRIVATE3', 'PRIVATE1'))))

    def report(self, *args):
        """The lines about the machine, the facts of the disks, and the lines about events."""
        p = self.tree.run('report', '-q', *args)
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        machine, *rest = p.stdout.split('\n\n')
        self.kernel = rest.pop().splitlines() if rest[-1].startswith(SAID) else []
        events = rest.pop().splitlines()[1:] if rest[-1].startswith('Events:') else []
        self.assertTrue(rest[-1].startswith('Facts:\n'))
        self.summaries = rest[:-1]
        return p.stdout, machine, json.loads(rest[-1].removeprefix('Facts:\n'))['disks'], events

    def test_all_of_it(self):
        text, machine, disks, events = self.report()
        ours = self.tree.run('--version').stdout.split()[1]
        self.assertIn(f'uasctl: {ours}\n', machine)
        self.assertIn('uasd: does not answer\n', machine)
        self.assertIn('Kernel: usb-storage.quirks=152d:0578:u uasd.hold=0\n', machine)
        self.assertIn('System: Linux ' + os.uname().release, machine)
        self.assertEqual([d['serial'] for d in disks], ['PRIVATE1', 'PRIVATE2'])
        self.assertEqual(disks[0]['busy'][0]['where'], '/media/PRIVATE/label')
        self.assertEqual([re.findall(r'(?m)^ +(Disk|Bridge|Driver): (.*)$', s) for s in self.summaries],
                         [[('Disk', f'2-{i}:1.0 (sd{"ab"[i - 1]}) Maker Disk'), ('Bridge', f'1209:5a5a, firmware 2.14, verdict {verdict}'),
                           ('Driver', f'{driver}, settled, 5000 Mbit/s')] for i, driver, verdict in ((1, 'usb-storage', 'good'), (2, 'uas', 'unknown'))])
        self.assertIn('      Used: mounted on /media/PRIVATE/label (sda)\n', self.summaries[0])
        for summary, one in zip(self.summaries, disks):
            self.assertIn(f'    Reason: {one["reason"]}', ' '.join(summary.split('\n')).replace('          ', '') + '\n')
        for d in disks:
            self.assertEqual((sum(row['decides'] for row in d['rows']), {row['fits'] for row in d['rows']}), (1, {True}))
            self.assertIn('verdict', d['database'])
            self.assertIsInstance(d['quirks'], list)
            self.assertEqual((d['link']['speed_mbps'], [c['name'] for c in d['commands']], [t['name'] for t in d['trim']]),
                             (5000, [d['disks'][0]['name']], [d['disks'][0]['name']]))
        self.assertEqual([re.search(r'passed, (\S+) at ', e)[1] for e in events], [f'1209:5a5a:PRIVATE{i}' for i in (2, 3, 1)])

    def test_users(self):
        """The summary has three of them. It says how many more there are."""
        for n, more in (3, None), (5, 'and 2 more'):
            self.tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n' + ''.join(
                f'{30 + i} 20 8:0 / /mnt/{i} rw - ext4 /dev/sda rw\n' for i in range(n)))
            self.report()
            lines = [line[12:] for line in self.summaries[0].splitlines()]
            first = next(i for i, line in enumerate(lines) if line.startswith('mounted on '))
            self.assertEqual([line.split()[0] for line in lines[first:first + 3]], ['mounted'] * 3)
            self.assertEqual([line for line in lines if 'more' in line], [more] if more else [])
            self.assertIn(more, (None, lines[first + 3]))

    def test_of_disks(self):
        """Only some disks, with their events."""
        for args, disks, serials in (['sdb'], ['2-2:1.0'], ['PRIVATE2']), (['sdb', 'sda'], ['2-2:1.0', '2-1:1.0'], ['PRIVATE2', 'PRIVATE1']):
            _, _, told, events = self.report(*args)
            self.assertEqual(([d['id'] for d in told], [re.search('PRIVATE.', e)[0] for e in events]), (disks, serials))

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_size(self):
        """Five disks with a long past fit an issue. The newest lines stay. The summary of two disks fits a screen."""
        with open(NAMES) as f:
            waits = re.search(r'MESSAGE_WAITING "(\w+)"', f.read())[1]
        for i in (3, 4, 5):
            self.tree.disk(f'2-{i}', f'sd{"abcde"[i - 1]}', serial=f'PRIVATE{i}')
        self.tree.journal(*({'MESSAGE_ID': waits, 'UASD_USB_ID': '1209:5a5a:PRIVATE1', 'UASD_INTERFACE': '2-1:1.0', 'UASD_FROM': 'usb-storage', 'UASD_TO': 'uas',
                             'UASD_REASON': 'fastest', 'MESSAGE': f'number {i}: ' + 'mounted on /a/b ' * 8} for i in range(300)),
                          *(self.said('usb', 'c189:132', f'usb 2-1: number {i} ' + 'x' * 150) for i in range(200)))
        text, machine, _, events = self.report()
        self.assertLess(len(text), 65536)
        self.assertIn(f'number {299}: ', events[-2 if 'passed' in events[-1] else -1])
        self.assertRegex(events[0], r'\(\d+ older ones are left out\)')
        self.assertIn('number 199 ', self.kernel[-1])
        self.assertLess(len(machine.splitlines()) + sum(len(s.splitlines()) + 1 for s in self.summaries[:2]), 24)

    def test_machine(self):
        """The software of the machine, and its settings."""
        machine = self.report()[1]
        self.assertIn('  Settings: (as by default)\n', machine + '\n')
        self.assertIn(f'      Host: {os.uname().machine}\n', machine)
        self.assertNotIn('        OS:', machine)
        self.tree.write('usr/lib/os-release', 'PRETTY_NAME=Other\n')
        self.assertIn('        OS: Other\n', self.report()[1])
        self.tree.write('etc/os-release', 'NAME=X\n')
        self.assertNotIn('        OS:', self.report()[1])
        self.tree.write('etc/os-release', 'NAME="X"\nPRETTY_NAME="Some \x1bOS 12"\nID=x\n')
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nPolicy=usb-storage\nUnknown=usb-storage\nQuietSec=500ms\nHoldSec=5\nTrialSec=601\n'
                        '[Disk 1209:5a5a]\nPolicy=uas\n[Disk 1209:5a5b:PRIVATE9]\nPolicy=ignore\n')
        self.tree.write('usr/bin/systemctl', '#!/bin/sh\n[ "$*" = --version ] && printf "systemd 300 (300-1)\\n+PAM\\n"\n')
        os.chmod(self.tree.path('usr/bin/systemctl'), 0o755)
        for args, serial in ([], 'PRIVATE9'), (['--redact'], '(redacted)'):
            machine = self.report(*args)[1]
            self.assertIn('        OS: Some \\x1bOS 12\n', machine)
            self.assertIn('  Settings: Policy=usb-storage, Unknown=usb-storage, QuietSec=500ms, HoldSec=5000ms, TrialSec=601000ms\n'
                          '  Settings: [Disk 1209:5a5a] Policy=uas\n'
                          f'  Settings: [Disk 1209:5a5b:{serial}] Policy=ignore\n', machine + '\n')
            self.assertIn('   Manager: systemd 300 (300-1)\n', machine)
        self.tree.write('usr/bin/systemctl', '#!/bin/sh\necho systemd 300\nexit 1\n')
        self.assertNotIn('Manager:', self.report()[1])

    def test_redacted(self):
        if REMOTE:
            with open(NAMES) as f:
                switched = re.search(r'MESSAGE_SWITCHED "(\w+)"', f.read())[1]
            self.tree.journal({'MESSAGE_ID': switched, 'MESSAGE': 'of PRIVATE', 'UASD_USB_ID': '1209:5a5a:PRIVATE1', 'UASD_STEP': 'x'},
                              {'MESSAGE_ID': switched, 'MESSAGE': 'of PRIVATE', 'UASD_USB_ID': 'PRIVATE'},
                              {'MESSAGE_ID': switched, 'MESSAGE': 'of PRIVATE', 'UASD_STEP': 'x'})
        # Texts of uasd, files of the administrator, and a process.
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:5a5a:PRIVATE{i}@0000:00:14.0/ss/2=state=distrusted firmware=0214 kernel=6.1.0-test boot=- date=2025-11-20T15:45:0{i}Z '
            'lost=1 reason=busy: PRIVATE has it\n' for i in (2, 3)))
        self.tree.write('sys/module/usb_storage/parameters/quirks', '\n\n')
        self.assertIn('Quirks: (none)\n', self.tree.run('report').stdout)
        self.tree.write('sys/module/usb_storage/parameters/quirks', '0bc2:2322:u,\n\n')
        self.assertIn('Quirks: 0bc2:2322:u\n', self.tree.run('report').stdout)
        self.tree.write('sys/module/usb_storage/parameters/quirks', '\n\n')
        self.tree.write('etc/modprobe.d/PRIVATE.conf', 'options usb-storage quirks=1209:5a5a:f\n')
        self.tree.write('usr/lib/modprobe.d/package.conf', 'options usb-storage quirks=1209:5a5a:t\n')
        for pid, namespace in (1, 1), (4711, 2):
            os.makedirs(self.tree.path(f'proc/{pid}/ns'))
            os.symlink(f'mnt:[{namespace}]', self.tree.path(f'proc/{pid}/ns/mnt'))
        self.tree.write('proc/4711/mountinfo', '31 20 8:0 / /PRIVATE rw - ext4 /dev/sda rw\n')
        self.tree.write('proc/4711/comm', 'PRIVATE\n')
        self.tree.write('proc/4711/cgroup', '0::/system.slice/PRIVATE.service\n')
        text, _, disks, _ = self.report()
        if os.geteuid() == 0:  # only root sees the processes of others
            self.assertIn(('mnt:[2]', 'PRIVATE', '/PRIVATE', 'PRIVATE.service'),
                          [(b.get('namespace'), b.get('command'), b['where'], b.get('unit')) for b in disks[0]['busy']])
        for private in ('busy: PRIVATE has it', '/etc/modprobe.d/PRIVATE.conf'):
            self.assertIn(private, text)
        text, machine, disks, events = self.report('--redact')
        self.assertNotIn('PRIVATE', text)
        self.assertNotIn(os.uname().nodename, text)
        self.assertEqual([d['serial'] for d in disks], ['SERIAL-1', 'SERIAL-2'])
        self.assertEqual((disks[0]['state'], disks[0]['busy'][0]['kind'], disks[0]['busy'][0]['where']), ('settled', 'mount', '(redacted)'))
        self.assertTrue(disks[0]['reason'].startswith('uasd would switch it to uas, but is not running. '), disks[0]['reason'])
        self.assertEqual(disks[1]['history'], 'distrusted: (redacted)')
        self.assertIn('(redacted)', next(row['found'] for row in disks[1]['rows'] if row['reason_id'] == 'distrusted'))
        self.assertEqual({q.get('file') for q in disks[0]['quirks']},
                         {'/etc/modprobe.d/(redacted)', '/usr/lib/modprobe.d/package.conf'})
        self.assertEqual([e.split('  ', 1)[1] for e in events if 'distrusted' in e],
                         [f'distrusted, 1209:5a5a:SERIAL-{i} at 0000:00:14.0/ss/2: distrusted with firmware 2.14 on Linux 6.1.0-test: (redacted)'
                          for i in (2, 3)])
        if REMOTE:
            self.assertEqual([e.split('  ', 1)[1] for e in events if 'switched' in e],
                             ['switched, 1209:5a5a:SERIAL-1, step x: (redacted)', 'switched, (redacted): (redacted)', 'switched, step x: (redacted)'])
        # That the running system is on a disk is no secret.
        self.tree.write('proc/1/mountinfo', '20 1 8:0 / / rw - ext4 /dev/sda rw\n30 20 8:0 / /PRIVATE rw - ext4 /dev/sda rw\n')
        self.assertEqual([one['where'] for one in self.report('--redact')[2][0]['busy'] if one['kind'] == 'mount'][:2], ['/', '(redacted)'])

    def said(self, subsystem, device, text, **more):
        return {'_TRANSPORT': 'kernel', '_KERNEL_SUBSYSTEM': subsystem, '_KERNEL_DEVICE': device, 'MESSAGE': text, **more}

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_kernel(self):
        """Kernel messages about these ports and about the hosts of both drivers, from this boot, and from the kernel itself."""
        other = {'_BOOT_ID': 'f' * 32}
        self.tree.disk('2-3', 'sdc', serial='usb')  # too short to be anything but a word
        self.tree.journal(
            self.said('usb', 'c189:132', 'usb 2-1: new SuperSpeed USB device'), self.said('usb', 'c189:132', 'usb 2-1: SerialNumber: PRIVATE1'),
            self.said('usb', 'c189:132', 'usb 2-1: Product: Phone of PRIVATE'), self.said('usb', 'c189:132', 'usb 2-1: SerialNumber: 7'),
            self.said('usb', 'c189:133', 'usb 2-11: of a mouse'), self.said('usb', '+usb:2-11:1.0', 'usbhid 2-11:1.0: of a mouse'),
            self.said('usb', '+usb:2-2:1.0', 'usb-storage 2-2:1.0: \x1b[31mred'), self.said('scsi', '+scsi:host5', 'scsi host5: early'),
            self.said('scsi', '+scsi:host5', 'scsi host5: uas'), self.said('scsi', '+scsi:host6', 'scsi host6: ahci'),
            self.said('scsi', '+scsi:5:0:0:0', 'sd 5:0:0:0: tag#1 uas_eh_abort_handler'), self.said('scsi', '+scsi:6:0:0:0', 'sd 6:0:0:0: of SATA'),
            self.said('scsi', '+scsi:target3:0:0', 'scsi target3:0:0: now'), self.said('scsi', '+scsi:5:0:0:0', 'sd 5:0:0:0: it is xPRIVATE2x'),
            self.said('scsi', '+scsi:host99999', 'scsi host99999: uas'), self.said('scsi', '+scsi:5:0:0:0', 'sd 5:0:0:0: before', **other),
            self.said('scsi', '+scsi:5:0:0:0', 'sd 5:0:0:0: forged', _TRANSPORT='syslog'), self.said('net', '+usb:2-1:1.0', 'usb 2-1: of a network'),
            {'_TRANSPORT': 'kernel', '_KERNEL_SUBSYSTEM': 'usb', 'MESSAGE': 'usb 2-1: of no device'},
            {'_TRANSPORT': 'kernel', '_KERNEL_SUBSYSTEM': 'usb', '_KERNEL_DEVICE': '+usb:2-1:1.0'})
        at = '2025-11-23 12:13:'
        lines = [SAID, f'{at}21  usb 2-1: new SuperSpeed USB device', f'{at}22  usb 2-1: SerialNumber: PRIVATE1', f'{at}23  usb 2-1: Product: Phone of PRIVATE',
                 f'{at}24  usb 2-1: SerialNumber: 7', f'{at}27  usb-storage 2-2:1.0: \\x1b[31mred', f'{at}29  scsi host5: uas',
                 f'{at}31  sd 5:0:0:0: tag#1 uas_eh_abort_handler', f'{at}33  scsi target3:0:0: now', f'{at}34  sd 5:0:0:0: it is xPRIVATE2x']
        self.report()
        self.assertEqual(self.kernel, lines)
        for i, line in (2, '22  usb 2-1: SerialNumber: (redacted)'), (3, '23  usb 2-1: Product: (redacted)'), (4, '24  usb 2-1: SerialNumber: (redacted)'), \
                (9, '34  (redacted)'):
            lines[i] = at + line
        self.assertNotIn('PRIVATE', self.report('--redact')[0])
        self.assertEqual(self.kernel, lines)

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_kernel_newest(self):
        self.tree.journal(*(self.said('usb', 'c189:132', f'usb 2-1: number {i}') for i in range(130)))
        self.report()
        self.assertEqual([line.split()[-1] for line in self.kernel[1:]], [str(i) for i in range(30, 130)])

    def test_no_serial(self):
        """A missing serial number is shown."""
        self.tree.disk('2-3', 'sdc', serial='')
        self.assertEqual([d['serial'] for d in self.report('--redact')[2]], ['SERIAL-1', 'SERIAL-2', ''])

    def history(self, *records):
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(f'1209:5a5a:{key}={value}\n' for key, value in records))

    def test_hwdb(self):
        """The results of a disk's trials at all ports, the newest of each kind, in the formats of 61-uasd.hwdb and
        unusual_uas.h."""
        bad = 'state=distrusted firmware=0214 kernel=6.1.0 boot=- date=2025-11-2%dT15:45:07Z failed=1 reason=a; b # c'
        self.history(('PRIVATE1@0000:00:14.0/ss/1', bad % 3), ('PRIVATE1@0000:00:14.0/ss/3', bad % 1),
                     ('PRIVATE1@0000:00:14.0/ss/4', 'state=passed firmware=0100 kernel=6.2 boot=- date=2025-11-25T15:45:07Z reason='),
                     ('PRIVATE12@0000:00:14.0/ss/4', 'state=passed firmware=0101 kernel=6.2 boot=- date=2025-11-25T15:45:07Z reason='))
        p = self.tree.run('report', '--hwdb', 'sda')
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        machine = os.uname().machine
        self.assertEqual(p.stdout.splitlines(), [
            '# Maker Disk', 'usb:v1209p5A5A*',
            f' UASD_DB_1=bad;0214-0214;{machine};own history;2025-11-23;Linux 6.1.0: a? b ? c',
            f' UASD_DB_2=good;0100-0100;{machine};own history;2025-11-25;Linux 6.2',
            '', '/* drivers/usb/storage/unusual_uas.h */', 'UNUSUAL_DEV(0x1209, 0x5a5a, 0x0214, 0x0214,', '\t\t"Maker",', '\t\t"Disk",',
            '\t\tUSB_SC_DEVICE, USB_PR_DEVICE, NULL,', '\t\tUS_FL_IGNORE_UAS),'])

    def test_hwdb_good(self):
        """Letters that it works with here are worth a line. Without letters no line is needed. The values from udev stay."""
        passed = 'state=passed firmware=0214 kernel=6.1.0 boot=- date=2025-11-23T15:45:07Z reason='
        self.history(('PRIVATE2@0000:00:14.0/ss/2', passed))
        self.assertTrue(self.tree.run('report', '--hwdb=sdb').stdout.endswith('\n\n/* drivers/usb/storage/unusual_uas.h needs no line for it. */\n'))
        self.tree.write('sys/module/usb_storage/parameters/quirks', '1209:5a5a:tf\n')
        self.tree.write('run/udev/data/c189:133', 'E:UASD_DB_1=good;*;*;Somebody;2025-01\nE:UASD_DB_2=bad;*;*;Else;2025-01\n')
        out = self.tree.run('report', '--hwdb=sdb').stdout
        self.assertIn(' UASD_DB_3=good;0214-0214;', out)
        self.assertNotIn('UASD_DB_1', out)
        self.assertTrue(out.endswith('\t\tUS_FL_NO_REPORT_OPCODES | US_FL_NO_ATA_1X),\n'), out)
        # Not those that no kernel knows, and not uasd's own.
        self.tree.write('sys/module/usb_storage/parameters/quirks', '1209:5a5a:tzf\n')
        self.assertEqual(self.tree.run('report', '--hwdb=sdb').stdout, out)
        self.tree.write('sys/module/usb_storage/parameters/quirks', '1209:5a5a:u\n')
        self.assertIn('US_FL_IGNORE_UAS', self.tree.run('report', '--hwdb=sdb').stdout)
        inode = os.stat(self.tree.path('sys/module/usb_storage/parameters/quirks')).st_ino
        self.tree.write('run/uasd/quirks', f'quirks=1209:5a5a:u\nparameter={inode}\n')
        self.assertIn('unusual_uas.h needs no line for it. */', self.tree.run('report', '--hwdb=sdb').stdout)
        # The first name of the board is the host.
        self.tree.write('sys/firmware/devicetree/base/compatible', b'vendor,board\0vendor,chip\0')
        self.assertIn(' UASD_DB_3=good;0214-0214;vendor,board;own history;', self.tree.run('report', '--hwdb=sdb').stdout)

    def test_hwdb_known(self):
        "The kernel has the letters already. Without a serial number the results are those of the port."
        self.tree.disk('2-3', 'sdc', serial='', product='Disk  ', ids=(0x2109, 0x0711))
        self.tree.write('etc/uasd/history', 'generation=1\n2109:0711:@0000:00:14.0/ss/3=state=passed firmware=0214 kernel=6.1.0 boot=- '
                                            'date=2025-11-23T15:45:07Z reason=\n'
                        '2109:0711:@0000:00:14.0/ss/4=state=distrusted firmware=0214 kernel=6.1.0 boot=- date=2025-11-24T15:45:07Z failed=1 reason=\n')
        out = self.tree.run('report', '--hwdb', 'sdc').stdout
        self.assertNotIn('UASD_DB_2', out)
        self.assertTrue(out.startswith('# Maker Disk\nusb:v2109p0711*\n UASD_DB_1=good;0214-0214;'), out)
        self.assertTrue(out.endswith('\n/* drivers/usb/storage/unusual_uas.h needs no line for it: the kernel knows all of this. */\n'), out)

    def test_hwdb_in_parts(self):
        "uasd-switch records the reason as a format and its values. The entry is for a file in English."
        self.history(('PRIVATE1@0000:00:14.0/ss/1', 'state=distrusted firmware=0214 kernel=6.1.0 boot=- date=2025-11-21T15:45:07Z failed=1 '
                      'reason=\u2402%s (step %s)\u241fit failed\u241fbind\u2403'))
        self.assertIn(';Linux 6.1.0: it failed (step bind)\n', self.tree.run('report', '--hwdb', 'sda').stdout)

    def test_hwdb_hostile(self):
        """No name ends a line, a string or a comment."""
        self.tree.disk('2-4', 'sdd', serial='S4', product=b'a\x1b";#\\\xc3\x80*/')
        self.history(('S4@0000:00:14.0/ss/4', 'state=distrusted firmware=0214 kernel=6.1.0 boot=- date=- reason='))
        p = self.tree.run('report', '--hwdb', 'sdd')
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        self.assertTrue(p.stdout.isascii())
        self.assertEqual([line for line in p.stdout.splitlines() if line.startswith('# ')], ['# Maker a\\x1b"??\\x5c??*/'])
        self.assertIn('\t\t"a?x1b????x5c??*/",\n', p.stdout)

    def test_hwdb_nothing(self):
        self.history(('PRIVATE1@0000:00:14.0/ss/1', 'state=trial firmware=0214 kernel=6.1.0 boot=- date=- reason='))
        p = self.tree.run('report', '--hwdb', 'sda')
        self.assertEqual((p.returncode, p.stdout), (1, ''))
        self.assertIn('uasctl switch 2-1 uas', p.stderr)
        self.assertEqual(self.tree.run('report', '--hwdb', 'sdz').returncode, 4)
        many = [(f'PRIVATE1@0000:00:14.0/ss/{i}', f'state=passed firmware=000{i} kernel=6.2 boot=- date=- reason=') for i in range(9)]
        self.history(*many)
        self.assertEqual(self.tree.run('report', '--hwdb', 'sda').returncode, 1)
        self.history(*many[:8])
        self.assertEqual(self.tree.run('report', '--hwdb', 'sda').returncode, 0)
        self.tree.write('run/udev/data/c189:132', 'E:UASD_DB_1=good;*;*;Somebody;2025-01\n')
        self.assertEqual(self.tree.run('report', '--hwdb', 'sda').stderr, 'uasctl: An entry has room for 8 statements, and 1209:5a5a has more.\n')
        if os.geteuid() == 0:
            os.chmod(self.tree.top, 0o755)
            os.chmod(self.tree.path('etc/uasd'), 0o700)
            p = self.tree.run('report', '--hwdb', 'sda', user=65534, group=65534, extra_groups=[])
            self.assertEqual((p.returncode, p.stdout, p.stderr.splitlines()[-1]), (1, '', 'uasctl: 2-1:1.0: cannot read its history: Permission denied'))

    def test_usage(self):
        self.assertEqual(self.tree.run('report', 'sdq').returncode, 4)
        self.assertEqual(self.tree.run('report', '--redact', '--hwdb', 'sda').returncode, 2)
        self.assertEqual(self.tree.run('list', '--redact').returncode, 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

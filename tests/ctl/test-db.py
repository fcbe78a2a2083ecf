#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl db VID:PID: a bridge that is not plugged in, in the hwdb of the source tree and in a short one."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from tree import LIBEXEC, Tree

PROGRAM = sys.argv[1]
HWDB = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../udev/61-uasd.hwdb')
COMPILE = os.environ.get('SYSTEMD_HWDB') or shutil.which('systemd-hwdb')


@unittest.skipUnless(COMPILE, 'no systemd-hwdb')
class Db(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', 'uas', serial='S1')
        with open(HWDB) as f:
            self.hwdb(f.read())
        self.host('x')

    def hwdb(self, text):
        self.tree.write('etc/udev/hwdb.d/61-uasd.hwdb', text)
        subprocess.run([COMPILE, 'update', '--strict', '--root', self.tree.top], check=True)

    def host(self, compatible):
        self.tree.write('sys/firmware/devicetree/base/compatible', compatible + '\0')

    def db(self, *args, code=0):
        p = self.tree.run('db', *args)
        self.assertEqual(p.returncode, code, p.stderr)
        return p.stdout if code == 0 else p.stderr

    def fields(self, *args):
        return dict(re.findall(r'(?m)^ *(\w+): (.*)$', self.db(*args)))

    def test_hosts(self):
        "The verdict is that of this host. Verdicts for other hosts are named."
        for host, verdict, elsewhere in (('x', 'unknown', 'bad on raspberrypi, good on x86, good on allwinner'),
                                         ('raspberrypi,4-model-b', 'bad', 'good on x86, good on allwinner'),
                                         ('x86', 'good', 'bad on raspberrypi, good on allwinner')):
            self.host(host)
            found = self.fields('152D:0578')
            self.assertEqual((found['Bridge'], found['Host'], found['Verdict'], found['Elsewhere']), ('152d:0578', host, verdict, elsewhere))
        self.assertIn('JMS578', found['Chip'])
        self.assertIn('expected to work', self.db('152d:0578', '--no-pager'))
        self.assertEqual(self.fields('152d:0578:ANY')['Verdict'], 'good')

    def test_firmware(self):
        "The kernel's table has one firmware of this bridge, so the verdict depends on it."
        out = self.db('0984:0301')
        self.assertRegex(out, r'(?m)^ *Verdict: unknown\n *Reason: The verdict depends on the firmware')
        self.assertRegex(out, r'(?m)^some firmware +bad +1.28-1.28 ')
        found = json.loads(self.db('0984:0301', '--json'))['bridges'][0]
        self.assertEqual((found['vendor_id'], found['product_id'], found['database']['verdict']), ('0984', '0301', 'unknown'))
        self.assertEqual([s['firmware_fits'] for s in found['database']['statements']], [None])
        self.assertRegex(self.db('2537:1068'), r'(?m)^yes +bad +any ')

    def test_old_kernel(self):
        "The table and the letters are those of the kernel that runs."
        self.tree.disk('2-2', 'sdb', ids=(0x0b05, 0x1932), serial='S2')
        self.tree.disk('2-3', 'sdc', ids=(0x4971, 0x8024), serial='S3')
        self.tree.write('sys/module/usb_storage/parameters/quirks', '4971:8024:y\n')
        self.tree.write('etc/uasd/uasd.conf', '[Disk 4971:8024]\nPolicy=usb-storage\n')
        for release, kept_off, y, line in (
                ('4.4.302+', False, 'the kernel ignores this letter', '4971:8024:u'),
                ('5.10.0-32-amd64', True, 'the kernel flushes the cache even if the disk reports none', '4971:8024:uy')):
            with self.subTest(release):
                self.tree.write('proc/sys/kernel/osrelease', release + '\n')
                reason = "the kernel's own table keeps this bridge off UAS" if kept_off else 'This kernel does not.'
                self.assertIn(reason, ' '.join(self.db('17ef:3899').split()))
                rows = json.loads(self.tree.run('explain', '--json', 'sdb').stdout)['disks'][0]['rows']
                self.assertEqual([row['fits'] for row in rows if row['reason_id'] == 'kernel-table'], [kept_off])
                said = ' '.join(self.tree.run('explain', 'sdc').stdout.split())
                self.assertIn('y: ' + y, said)
                self.assertIn(f'quirks={line}\n', self.tree.run('policy', '--kernel', '--no-legend', 'sdc').stdout)

    def test_one_verdict(self):
        "Every screen has the same verdict. The kernel's own table gives none: the decision has another row for it."
        self.tree.disk('2-2', 'sdb', ids=(0x2537, 0x1068), serial='S2')
        self.tree.disk('2-3', 'sdc', 'uas', ids=(0x04e8, 0x4001), serial='S3')
        for number, says in (133, ['bad;*;*;Linux 7.3;2026-11']), (134, ['good;*;*;A list;2026-11', 'bad;*;*;B list;2026-11']):
            self.tree.write(f'run/udev/data/c189:{number}', ''.join(f'E:UASD_DB_{i + 1}={one}\n' for i, one in enumerate(says)))
        for name, kernel, conflict, why in (
                ('sdb', True, False, "No other source has a verdict, but the kernel's own table keeps this bridge off UAS."),
                ('sdc', False, True, 'The sources contradict each other.')):
            found = self.fields(name)
            self.assertEqual((found['Verdict'], found['Reason']), ('unknown', why))
            self.assertIn('\n   Verdict: unknown\n', self.tree.run('status', '--all', name).stdout)
            disk = json.loads(self.db(name, '--json'))['disks'][0]
            self.assertEqual((disk['verdict'], disk['database']['verdict']), ('unknown', 'unknown'))
            self.assertEqual((disk['database']['kernel_only'], disk['database']['conflict']), (kernel, conflict))
        for verb in 'status', 'explain':
            self.assertIn('Reason: The sources contradict each other on this bridge, so Unknown= in uasd.conf decides. uasctl db shows them.',
                          ' '.join(self.tree.run(verb, 'sdc').stdout.split()))
        # Before a purchase too: the reason names the table.
        self.assertIn("the kernel's own table keeps this bridge off UAS", self.fields('2537:1068')['Reason'])

    def test_by_name(self):
        """By chip, maker or product, or a part of it, in either case, with the verdict for this machine. The names of sources do not count."""
        self.tree.write('etc/udev/hwdb.d/20-usb.hwdb', 'usb:v04E8*\n ID_VENDOR_FROM_DATABASE=Samsung Electronics Co., Ltd\n\n'
                                                       'usb:v04E8p4001*\n ID_MODEL_FROM_DATABASE=PSSD T7\n\n')
        with open(HWDB) as f:
            text = f.read()
        self.hwdb(text)
        self.assertIn("There is no USB disk 'jms578'", self.db('jms578', code=4))
        self.tree.write('usr/lib/udev/hwdb.d/61-uasd.hwdb', text)
        found = self.fields('t7')
        self.assertEqual((found['Bridge'], found['Verdict'], found['Chip']), ('04e8:4001', 'unknown', 'ASMedia ASM2362 (smartmontools)'))
        self.host('raspberrypi,4-model-b')
        table = self.db('SAMSUNG', '--no-legend').splitlines()
        self.assertEqual([line.split()[:2] for line in table], [['04e8:4001', 'unknown'], ['04e8:61b6', 'bad']])
        self.assertIn('Samsung Electronics Co., Ltd PSSD T7', table[0])
        chips = json.loads(self.db('Jms578', '--json'))['bridges']
        self.assertIn(('152d', '0578', 'bad'), [(one['vendor_id'], one['product_id'], one['database']['verdict']) for one in chips])
        self.assertTrue(all('JMS578' in one['database']['chip'] for one in chips))
        self.assertEqual(self.db('hiksemi', '--no-legend').splitlines()[0].split()[:4], ['Bridge:', '090c:2000'])  # a comment in the file
        self.assertIn('090c:2000 unknown no uas Hiksemi External HDD', ' '.join(self.db('external hdd', '--no-legend').split()))
        screen = self.db('realtek')
        self.assertRegex(screen, r'^BRIDGE +VERDICT +KERNEL +NAME +CHIP\n')
        self.assertRegex(screen, r'(?m)^0bda:9210 +bad +- +Realtek RTL9210 +Realtek RTL9210 \(smartmontools, usb\.ids\)$')
        self.assertTrue(' '.join(screen.split()).endswith('The verdicts are those for this machine. The sources: uasctl db VID:PID'), screen)
        for nothing in 'smartmontools', 'j', 'no such name', 'unusual_uas.h':
            self.db(nothing, code=4)
        # A disk that is plugged in comes first.
        self.tree.disk('2-9', 'sdt', product='Hiksemi Disk')
        self.assertEqual(self.fields('hiksemi')['Bridge'], '1209:5a5a, firmware 2.14')

    def test_unknown(self):
        out = self.db('1234:5678')
        self.assertIn('Verdict: unknown', out)
        self.assertIn('does not know this bridge', out)
        self.assertNotIn('APPLIES', out)
        for wrong in '1234:567', '12345678', '1234:56789', '1234-5678', 'xxxx:5678', ' 234:5678', '1:23:5678', '1234:56:8':
            self.db(wrong, code=4)

    def test_plugged_in(self):
        "udev's record counts for a disk that is plugged in. Without an argument all disks are shown."
        self.tree.disk('2-2', 'sdb', 'uas', ids=(0x152d, 0x0580), serial='S2')
        self.assertIn('did not know this bridge when it was plugged in', self.db('152d:0580'))
        self.assertEqual(re.findall('Bridge: (.*)', self.db()), ['1209:5a5a, firmware 2.14', '152d:0580, firmware 2.14'])
        self.assertEqual([d['database']['verdict'] for d in json.loads(self.db('--json'))['disks']], ['unknown', 'unknown'])

    def test_rule(self):
        "A local file overrides all statements, on all hosts."
        self.hwdb('usb:v152Dp0578*\n UASD_DB_1=good;*;x86;A list;2026-11\n UASD_VERDICT=bad\n')
        found = self.fields('152d:0578')
        self.assertEqual((found['Verdict'], found.get('Elsewhere')), ('bad', None))
        self.assertIn('UASD_VERDICT', found['Reason'])

    def test_no_hwdb(self):
        os.unlink(self.tree.path('etc/udev/hwdb.bin'))
        self.assertNotIn('systemd-hwdb', self.db('152d:0578', code=1))
        self.tree.programs('systemd-hwdb')
        self.assertIn('To build it: systemd-hwdb update\n', self.db('152d:0578', code=1))

    def test_bundle(self):
        "The bundle has the database as text, for systems without udev."
        self.tree.disk('2-2', 'sdb', 'uas', ids=(0x152d, 0x0578), serial='S2')
        self.host('x86')
        self.assertEqual(self.fields('sdb')['Verdict'], 'unknown')
        os.unlink(self.tree.path('etc/udev/hwdb.bin'))
        os.unlink(self.tree.path('etc/udev/hwdb.d/61-uasd.hwdb'))
        shutil.copytree(os.path.dirname(HWDB), self.tree.path(f'{LIBEXEC}/../hwdb.d'))
        for host, verdict in ('x86', 'good'), ('raspberrypi,4-model-b', 'bad'):
            self.host(host)
            self.assertEqual([self.fields(disk)['Verdict'] for disk in ('152d:0578', 'sdb')], [verdict] * 2)
        self.assertEqual([d['verdict'] for d in json.loads(self.tree.run('list', '--json').stdout)['disks']], ['unknown', 'bad'])
        self.assertEqual(self.fields('1234:5678')['Reason'], 'The database does not know this bridge.')
        # The statements end with the entry, which may be for two bridges.
        self.tree.write(f'{LIBEXEC}/../hwdb.d/61-uasd.hwdb', '#\nusb:v0000p0001*\nusb:v0000p0002*\n UASD_DB_1=good;*;*;A;2026\n\nusb:v0000p0003*\n UASD_DB_2=bad;*;*;B;2026\n')
        for bridge, verdict in ('0000:0001', 'good'), ('0000:0002', 'good'), ('0000:0003', 'unknown'):
            self.assertEqual(self.fields(bridge)['Verdict'], verdict)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

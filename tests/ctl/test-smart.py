#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl status DISK with a fake smartctl: which disks are asked, how, and the treatment of the answer."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from patience import patience
from tree import BOOT, Tree

PROGRAM = sys.argv[1]
ROOT = os.geteuid() == 0
KNOWN = 'USB Bridge:         Some chip\nUSB Type            sntrealtek\n\nUSB Type            sat\n'

# The parts of the output of smartctl 7.3 that uasctl reads, with some others.
SELF = {'version': [7, 3], 'svn_revision': '5338', 'argv': ['smartctl'], 'exit_status': 0}
HEAD = {'json_format_version': [1, 0], 'smartctl': SELF,
        'device': {'name': '/dev/sda', 'info_name': '/dev/sda [SAT]', 'type': 'sat', 'protocol': 'ATA'}}
ATA = dict(HEAD, smart_status={'passed': True}, power_on_time={'hours': 4711}, temperature={'current': 34})
NVME = dict(HEAD, smart_status={'passed': False, 'nvme': {'value': 4}}, temperature={'current': -3},
            nvme_smart_health_information_log={'critical_warning': 4, 'temperature': -3})


def message(text, severity):
    return dict(HEAD, smartctl=dict(SELF, exit_status=2, messages=[{'string': text, 'severity': severity}]))


ASLEEP = message('Device is in STANDBY mode, exit(2)', 'information')
REFUSED = message('Read Device Identity failed: scsi error unsupported field in scsi command', 'error')
NONSENSE = (REFUSED, {}, [], '', 'no JSON', '{"smart_status":', b'\xff\x00', {'smart_status': True, 'temperature': [1]},
            {'smart_status': {'passed': 'yes'}, 'temperature': {'current': 10 ** 9}}, {'smartctl': {'messages': [1, {}]}})


class Smart(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', 'uas', serial='S1')
        self.tree.write('sys/block/sda/device/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.record('passed')

    def record(self, state, boot='-'):
        self.tree.write('etc/uasd/history', f'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state={state} firmware=0214 '
                        f'kernel=6.1.0-test boot={boot} date=2026-11-20T15:45:07Z reason=x\n')

    def smartctl(self, answer, known=KNOWN, before='', lookup=':'):
        """Its database returns `known` for any bridge, any disk returns `answer`."""
        self.tree.write('database', known)
        self.tree.write('answer', answer if isinstance(answer, (str, bytes)) else json.dumps(answer))
        self.tree.write('usr/sbin/smartctl', '#!/bin/sh\n'
                        f'echo "$@" >>{self.tree.path("asked")}\n'
                        f'if [ "$1" = -P ]; then {lookup}; exec cat {self.tree.path("database")}; fi\n'
                        f'{before}\ncat {self.tree.path("answer")}\nexit 4\n')
        os.chmod(self.tree.path('usr/sbin/smartctl'), 0o755)

    def asked(self):
        if not os.path.exists(self.tree.path('asked')):
            return []
        with open(self.tree.path('asked')) as f:
            return f.read().splitlines()

    def status(self):
        """The line and the JSON of the disk."""
        p, q = self.tree.run('status', '-q', 'sda'), self.tree.run('status', '-q', '--json', 'sda')
        self.assertEqual((p.returncode, p.stderr, q.returncode, q.stderr), (0, '', 0, ''))
        lines = [line for line in p.stdout.splitlines() if line.startswith('    Health: ')]
        self.assertEqual(len(lines), 1, p.stdout)
        return lines[0].removeprefix('    Health: sda: '), json.loads(q.stdout)['disks'][0]['smart'][0]

    def not_asked(self, why):
        line, one = self.status()
        self.assertTrue(line.startswith('not known: ' + why), line)
        self.assertEqual((one['why_not'], one['passed'], one['temperature']), (why, None, None))
        self.assertEqual([a for a in self.asked() if not a.startswith('-P')], [])
        return line

    @unittest.skipUnless(ROOT, 'not root')
    def test_answers(self):
        tail = ' (smartctl -d sntrealtek /dev/sda)'
        sleeps, silent = 'it sleeps, and uasctl does not wake it', 'it gave no answer'
        for answer, line, passed, temperature, why in (
                (ATA, 'passed, 34 °C', True, 34, None), (NVME, 'FAILED: back up its data now, -3 °C', False, -3, None),
                (dict(HEAD, smart_status={'passed': True}), 'passed', True, None, None),
                *((dict(HEAD, temperature={'current': warm}), f'{warm} °C', None, warm, None) for warm in (40, 999, -273)),
                *((dict(HEAD, temperature={'current': odd}), 'not known: ' + silent, None, None, silent) for odd in (1000, -274)),
                (ASLEEP, 'not known: ' + sleeps, None, None, sleeps),
                *((bad, 'not known: ' + silent, None, None, silent) for bad in NONSENSE)):
            self.smartctl(answer)
            said, one = self.status()
            self.assertEqual(said, line + tail)
            self.assertEqual(one, {'name': 'sda', 'type': 'sntrealtek', 'passed': passed, 'temperature': temperature, 'why_not': why})
        self.assertEqual(self.asked()[:2], ['-P showall 0x1209:0x5a5a 0x0214', '--json=c -n standby -H -A -d sntrealtek /dev/sda'])

    @unittest.skipUnless(ROOT, 'not root')
    def test_hangs(self):
        self.smartctl(ATA, before='exec sleep 1000')
        begin = time.monotonic()
        p = self.tree.run('status', '-q', 'sda')
        self.assertLess(time.monotonic() - begin, patience(15))
        self.assertEqual(p.returncode, 0)
        self.assertIn('not known: it did not answer in time (smartctl -d sntrealtek', p.stdout)

    @unittest.skipUnless(ROOT, 'not root')
    def test_gone(self):
        "It is unplugged while its type is looked up. Another disk may have its name."
        self.tree.disk('2-2', 'sdb', serial='S2')
        link = self.tree.path('sys/class/block/sda')
        for lookup in f'rm {link}', f'ln -sfn {os.path.realpath(self.tree.path("sys/class/block/sdb"))} {link}':
            self.smartctl(ATA, lookup=lookup)
            self.assertIn('    Health: sda: not known: it has gone (smartctl', self.tree.run('status', '-q', 'sda').stdout)

    @unittest.skipUnless(ROOT, 'not root')
    def test_several_luns(self):
        "Each is asked, up to the first one that does not answer."
        first = os.path.relpath(os.path.realpath(self.tree.path('sys/block/sda/device')), self.tree.top)
        scsi = first[:-1] + '1'
        shutil.copytree(self.tree.path(first), self.tree.path(scsi), symlinks=True)
        os.rename(self.tree.path(f'{scsi}/block/sda'), self.tree.path(f'{scsi}/block/sdy'))
        os.unlink(self.tree.path(f'{scsi}/block/sdy/device'))
        self.tree.link(f'{scsi}/block/sdy/device', scsi)
        self.tree.write(f'{scsi}/block/sdy/dev', '65:128\n')
        os.rename(self.tree.path(f'{scsi}/scsi_disk/3:0:0:0'), self.tree.path(f'{scsi}/scsi_disk/3:0:0:1'))
        for folder in 'block', 'class/block':
            self.tree.link(f'sys/{folder}/sdy', f'{scsi}/block/sdy')
        for answer, both in (ATA, ['sda', 'sdy']), ('', ['sda']):
            self.smartctl(answer)
            smart = json.loads(self.tree.run('status', '-q', '--json', 'sda').stdout)['disks'][0]['smart']
            self.assertEqual([one['name'] for one in smart], both)
            self.assertEqual(re.findall(r'(?m)^ +Health: (\w+): ', self.tree.run('status', '-q', 'sda').stdout), both)

    @unittest.skipUnless(ROOT, 'not root')
    def test_floods_and_dies(self):
        for bad in 'exec cat /dev/zero', 'kill -9 $$':
            self.smartctl(ATA, before=bad)
            self.assertTrue(self.status()[0].startswith('not known: smartctl failed'))

    @unittest.skipIf(ROOT, 'root')
    def test_not_root(self):
        self.smartctl(ATA)
        self.assertIn('smartctl -d sntrealtek /dev/sda', self.not_asked('only root may ask it'))

    def test_suspect(self):
        self.smartctl(ATA)
        self.record('distrusted')
        self.not_asked('it is distrusted')
        self.record('trial', BOOT)
        self.not_asked('it is not settled')
        self.record('passed')
        self.tree.write('sys/block/sda/device/iotmo_cnt', '0x1\n')
        self.assertIn('smartctl -d sntrealtek /dev/sda', self.not_asked('commands to it have timed out'))

    def test_leased(self):
        """A disk under measurement is not disturbed. Without a daemon the record of the lease counts."""
        self.smartctl(ATA)
        here, gone = (f'run/uasd/attachment/{self.tree.attachment(devnum=n)}' for n in (5, 4))
        self.tree.write(here, 'LEASE=usb-storage\n')
        why = 'it is leased, and its holder may be measuring it'
        self.assertEqual(self.not_asked(why), f'not known: {why} (smartctl -d sntrealtek /dev/sda)')
        # The record of a disk that has gone does not count.
        os.unlink(self.tree.path(here))
        self.tree.write(gone, 'LEASE=usb-storage\n')
        self.assertNotIn('leased', self.status()[0])

    def test_switch_runs(self):
        self.smartctl(ATA)
        record = 'run/uasd/switch/2-1:1.0'
        self.tree.write(record, f'PID={os.getpid()}\nSTEP=sync\n')
        self.not_asked('it is being switched')
        # The record of a killed process does not count.
        gone = subprocess.Popen(['true'])
        gone.wait()
        self.tree.write(record, f'PID={gone.pid}\nSTEP=sync\n')
        self.assertNotIn('switched', self.status()[0])
        os.unlink(self.tree.path(record))
        self.assertNotIn('switched', self.status()[0])

    def test_distrusted_at_rest(self):
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0/driver'))
        self.tree.link('sys/bus/usb/devices/2-1:1.0/driver', 'sys/bus/usb/drivers/usb-storage')
        self.smartctl(ATA)
        self.record('distrusted')
        self.not_asked('it is distrusted')

    def test_unknown_bridge(self):
        self.smartctl(ATA, known='No presets are defined for this drive.\n')
        self.assertIn('(most bridges know: smartctl -d sat /dev/sda)', self.not_asked("smartctl's database does not have its bridge"))

    def test_bridge_not_looked_up(self):
        """A program that fails or is late has not said that its database lacks the bridge."""
        for before, why in (('exit 1', "smartctl's answer does not name the type of its bridge"),
                            ('kill -9 $$', "smartctl's answer does not name the type of its bridge"),
                            ('exec sleep 1000', "smartctl's answer about its bridge did not come in time")):
            self.smartctl(ATA, lookup=before)
            self.not_asked(why)
        self.smartctl(ATA, known='USB Bridge:         Some chip\nUSB Type            [unsupported]\n')
        self.not_asked("smartctl's database has its bridge as one that does not work")

    def seagate(self, entry='', driver='uas'):
        self.tree.write('sys/module/usb_storage/parameters/quirks', entry + '\n')
        self.tree.disk('2-7', 'sdc', driver, serial='S7', ids=(0x0bc2, 0x2037))
        self.tree.write('sys/block/sdc/device/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.tree.write('asked', '')
        try:
            p = self.tree.run('status', '-q', 'sdc')
            q = self.tree.run('explain', '-q', 'sdc')
            return next(line for line in p.stdout.splitlines() if 'Health: ' in line), q.stdout
        finally:
            self.tree.remove('2-7', 'sdc')

    @unittest.skipUnless(ROOT, 'not root')
    def test_ata_blocked(self):
        """uas blocks ATA commands of every Seagate (flag t), usb-storage does not, and an entry for the bridge replaces the flag."""
        self.smartctl(ATA, known='USB Type            sat\n')
        blocked = 'the kernel blocks ATA commands to it under uas (flag t), and allows them under usb-storage'
        told, explained = self.seagate()
        self.assertIn('Health: sdc: not known: ' + blocked, told)
        self.assertEqual([a for a in self.asked() if not a.startswith('-P')], [])
        explained = ' '.join(explained.split())
        self.assertIn('SMART: The kernel blocks ATA commands under uas for this bridge (flag t), so SMART cannot be read. '
                      'usb-storage allows them: uasctl switch 2-7 usb-storage', explained)
        told, explained = self.seagate(entry='0bc2:2037:j')
        self.assertIn('Health: sdc: passed, 34', told)
        explained = ' '.join(explained.split())
        self.assertIn("SMART: The entry 0bc2:2037:j replaces the kernel's flag t: ATA commands reach the disk under uas.", explained)
        self.assertIn('j: the kernel does not send REPORT LUNS', explained)
        told, explained = self.seagate(driver='usb-storage')
        self.assertIn('Health: sdc: passed, 34', told)
        self.assertNotIn('SMART:', explained)
        # Other types send no ATA commands.
        self.smartctl(ATA)
        self.assertIn('Health: sdc: passed, 34', self.seagate()[0])

    @unittest.skipUnless(ROOT, 'not root')
    def test_own_questions(self):
        """status prints no counter that its own question raises."""
        counter = self.tree.path('sys/block/sda/device/ioerr_cnt')
        for name, value in ('iorequest_cnt', 0x20), ('ioerr_cnt', 2), ('iotmo_cnt', 0):
            self.tree.write(f'sys/block/sda/device/{name}', f'{value:#x}\n')
        self.smartctl(ATA, before=f'read n <{counter}; printf "0x%x\\n" $((n + 2)) >{counter}')
        first, second = (self.tree.run('status', '-q', '--all', 'sda').stdout for _ in range(2))
        with open(counter) as f:
            self.assertEqual(f.read(), '0x6\n')  # the questions were asked
        self.assertEqual(first, second)
        self.assertIn('  Commands: sda: none has timed out\n', first)
        # Without a question the counters stand, and are printed.
        self.assertIn('  Commands: sda: 32 since the driver took it; 6 failed, 0 timed out\n', self.tree.run('status', '-q', '--all').stdout)

    def test_missing(self):
        line, one = self.status()
        self.assertEqual(line, 'not asked: smartctl is not installed (smartmontools)')
        self.assertEqual(one['type'], None)

    def test_named_alone(self):
        """Neither the list nor the status of all disks runs smartctl."""
        self.smartctl(ATA)
        for args in [], ['list'], ['status'], ['status', '--json'], ['explain', 'sda'], ['trim', 'sda'], ['metrics'], ['report']:
            self.assertNotRegex(self.tree.run(*args).stdout, 'SMART:|Health:')
        self.assertEqual(self.asked(), [])


unittest.main(argv=sys.argv[:1])

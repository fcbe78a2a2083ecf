#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The exit statuses of uasctl(1), from uasd itself and from fake-uasd, for the same disks. Where they differ, fake-uasd is wrong.

The arguments are uasd-in-tree, uasctl-in-tree and fake-uasd.
"""

import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../daemon'))
from machine import BUS, Machine, main, patience, until  # noqa: E402
import privatebus  # noqa: E402
import terminal  # noqa: E402

FAKE = sys.argv[3]
LOCALES = os.path.join(os.environ['LOCALES'], 'de')
NOBODY = pwd.getpwnam('nobody').pw_uid
HOLDER = os.path.join(HERE, '../vm/within/leaseholder.py')
BLACKLISTED = 0x2109, 0x0715  # US_FL_IGNORE_UAS in the kernel's table

# As machine.SWITCH. One disk does not appear on its new driver.
SWITCH = """#!/bin/sh
interface= target=
for word; do interface=$target target=$word; done
case "$*" in
*--eject*)
        interface=$target
        if [ $interface = 2-2:1.0 ]; then
                echo "END 3 claim in use: holder of sdb at dm-9"
                exit 3
        fi
        rm "$TREE/sys/bus/usb/devices/$interface"
        echo "END 0 remove ejected"
        exit 0
        ;;
*--claim*) echo KEPT; exec cat >/dev/null ;; esac
echo "STEP claim 1"
while [ -e "$TREE/at-claim" ]; do sleep 0.02; done
echo "STEP bind 1"
if [ $interface = 2-3:1.0 ]; then
        echo "END 7 bind The disk did not come back."
        exit 7
fi
ln -sfn "$(realpath "$TREE/sys/bus/usb/drivers/$target")" "$TREE/sys/bus/usb/devices/$interface/driver"
echo "END 0 release It is moved."
"""


class Contract:
    """The cases. Both daemons know these disks. All are on usb-storage, and stay there without a request for uas. sda is free,
    sdb in use, sdc cannot be switched, sdd does not offer UAS, sde is in the kernel's table, the user has no permission for
    sdf, sdg is unplugged in the middle of a switch, uasd dies of sdh, sdi is held."""

    DISKS = 'FREE BUSY BAD INCAPABLE REFUSED FORBIDDEN ABSENT FATAL HELD'.split()

    def setUp(self):
        super().setUp()
        self.tree.remove('2-1', 'sdz')
        os.chmod(self.dir, 0o755)
        os.chmod(self.tree.top, 0o755)
        for i, serial in enumerate(self.DISKS):
            block = 'sd' + 'abcdefghi'[i]
            self.tree.disk(f'2-{i + 1}', block, serial=serial, uas=serial != 'INCAPABLE',
                           ids=BLACKLISTED if serial == 'REFUSED' else (0x1209, 0x5a5a))
            self.tree.write('dev/' + block, '')
        self.conf('[uasd]\nQuietSec=0\nUnknown=usb-storage\n')
        self.play(SWITCH)
        os.mkdir(self.tree.path('sys/class/block/sdb/holders/dm-9'))
        self.hears()
        self.start_bus()
        self.start_contract()

    def one(self, disk):
        [one] = json.loads(self.ctl('status', disk, '--json').stdout)['disks']
        return one

    def switch_code(self, code, *args):
        """The exit status of the real call, which must equal that of the preceding --dry-run."""
        self.ctl('switch', *args, '--dry-run', code=code)
        return self.ctl('switch', *args, code=code)

    def test_done(self):
        p = self.switch_code(0, 'sda', 'uas')
        self.assertEqual(p.stdout, '')
        self.assertRegex(p.stderr, r'^uasctl: 2-1:1\.0 \(sda\): from usb-storage to uas, until it is unplugged\.\nuasctl: 2-1:1\.0 \(sda\): [^\n]+\n$')
        self.assertEqual(self.one('sda')['driver'], 'uas')
        self.ctl('switch', 'sda', 'uas')
        self.ctl('switch', 'sda', 'usb-storage')
        self.assertEqual(self.one('sda')['driver'], 'usb-storage')
        self.ctl('switch', 'sda')
        self.ctl('wait', 'sda')

    def test_list_by_name(self):
        "The table of one disk: by VID:PID:SERIAL, by serial number, by port. Several that fit are listed."
        one = self.one('sda')
        bridge = f'{one["vendor_id"]}:{one["product_id"]}'
        for name in f'{bridge}:{one["serial"]}', one['serial'], one['id']:
            self.assertTrue(self.ctl('list', name, '--no-legend').stdout.startswith('sda '), name)
        self.assertIn('matches more than one disk', self.ctl('list', bridge, code=2).stderr)

    def test_deferred(self):
        p = self.switch_code(3, 'sdb', 'uas')
        self.assertTrue(p.stderr.startswith('uasctl: 2-2:1.0 (sdb): in use, and still on usb-storage:\n'), p.stderr)
        self.assertIn('uasctl cancel 2-2', p.stderr)
        self.assertEqual(self.one('sdb')['state'], 'waiting')
        self.ctl('wait', 'sdb', '--wait=0', code=3)
        self.let_go()
        self.ctl('wait', 'sdb', '--wait=20')
        self.assertEqual(self.one('sdb')['driver'], 'uas')

    def test_deferred_waits(self):
        self.ctl('switch', 'sdb', 'uas', '--wait=1', code=3)
        self.let_go()
        self.ctl('switch', 'sdb', 'uas', '--wait=20')

    def test_cancelled(self):
        self.ctl('switch', 'sdb', 'uas', code=3)
        self.ctl('cancel', 'sdb')
        self.ctl('wait', 'sdb', '--wait=0')
        self.ctl('cancel', 'sdb')
        one = self.one('sdb')
        self.assertEqual((one['driver'], one['state']), ('usb-storage', 'settled'))

    def test_cancelled_by_another(self):
        "A client that waits for the request is informed."
        waiting = self.start_ctl('switch', 'sdb', 'uas', '--wait=20', stderr=subprocess.PIPE)
        until(lambda: self.one('sdb')['state'] == 'waiting', 'it waits')
        self.ctl('cancel', 'sdb')
        self.assertEqual(waiting.wait(patience()), 1)
        self.assertIn('it was cancelled', waiting.stderr.read())

    def test_name_while_switching(self):
        "A disk that is just being switched has no block device, and keeps its name. For another name the message tells the port."
        p = self.begin('switch', 'sdg', 'uas')
        until(lambda: self.one('sdg')['state'] == 'switching', 'it is being switched')
        said = self.ctl('status', 'sdq', code=4).stderr
        self.assertEqual(said, "uasctl: There is no USB disk 'sdq'; uasctl lists them.\n"
                               'uasctl: 2-7:1.0 is being switched and may get another name. Its port is always its name: 2-7\n')
        os.unlink(self.tree.path('sys/class/block/sdg'))
        [block] = glob.glob(self.tree.path('sys/bus/usb/devices/2-7:1.0/host*/target*/*/block'))
        shutil.rmtree(block)
        one = self.one('sdg')
        self.assertEqual((one['interface'], one['disks']), ('2-7:1.0', []))
        self.unplug()
        self.assertEqual(p.wait(patience()), 4)

    def test_rolled_back(self):
        self.warns('ROLLED_BACK')
        p = self.ctl('switch', 'sdc', 'uas', code=7)
        self.assertIn('(step bind)', p.stderr)
        self.assertEqual(self.one('sdc')['outcome']['code'], 7)

    def refused(self, code, *args):
        """uasctl announces no change, and nothing of the request remains."""
        before = self.kept()
        p = self.ctl(*args, code=code)
        self.assertEqual(p.stdout, '')
        self.assertNotIn('from usb-storage', p.stderr)
        self.assertNotIn('from now on', p.stderr)
        self.assertEqual(self.kept(), before)
        return p

    def test_incapable(self):
        for force in [], ['--force']:
            self.assertNotIn('--force', self.ctl('switch', 'sdd', 'uas', '--dry-run', *force, code=5).stderr)
            self.refused(5, 'switch', 'sdd', 'uas', *force)
            self.refused(5, 'policy', 'sdd', 'uas', *force)
        self.switch_code(0, 'sdd', 'usb-storage')
        self.switch_code(0, 'sdd')
        self.assertEqual(self.ctl('policy', 'sdd').stdout, 'auto\n')
        self.ctl('policy', 'sdd', 'usb-storage')

    def test_refused(self):
        self.assertIn('Use --force to override.', self.ctl('switch', 'sde', 'uas', '--dry-run', code=6).stderr)
        for verb in 'switch', 'policy':
            self.assertIn('Use --force to override.', self.refused(6, verb, 'sde', 'uas').stderr)
        self.assertEqual(self.ctl('policy', 'sde').stdout, 'auto\n')
        self.switch_code(0, 'sde', 'usb-storage')
        self.switch_code(0, 'sde', 'uas', '--force')
        self.assertEqual(self.one('sde')['driver'], 'uas')

    def test_forced_after_refused(self):
        "A refused request does not prevent a forced one."
        self.ctl('switch', 'sde', 'uas', code=6)
        self.ctl('--force', 'policy', 'sde', 'uas')
        self.assertEqual(self.ctl('policy', 'sde').stdout, 'uas\n')
        self.ctl('switch', 'sde', 'uas')
        self.assertEqual(self.one('sde')['driver'], 'uas')

    def test_no_such_disk(self):
        for args in ['status'], ['switch'], ['switch', '--dry-run'], ['policy'], ['release'], ['cancel'], ['forget'], ['eject'], ['wait'], ['explain']:
            self.ctl(*args, 'sdq', code=4)
            self.ctl(*args, '/dev/nosuch', code=4)
        self.ctl('switch', 'sdq', 'uas', code=4)
        self.ctl('policy', 'sdq', 'uas', code=4)

    def test_which_disk(self):
        for args in ['status'], ['switch'], ['policy'], ['release'], ['cancel'], ['forget'], ['eject'], ['wait']:
            p = self.ctl(*args, '1209:5a5a', code=2)
            self.assertIn('2-1:1.0 (sda)', p.stderr)
            self.assertEqual(p.stdout, '')
        for name in 'sda', '2-1', '2-1:1.0', 'FREE', '1209:5a5a:FREE':
            self.assertEqual(self.one(name)['id'], '2-1:1.0')

    def test_usage(self):
        for args in (['switch'], ['switch', 'sda', 'bot'], ['policy', 'sda', 'sometimes'], ['cancel'], ['forget'], ['release'], ['wait'],
                     ['policy', 'sda', 'uas', '--dry-run'], ['cancel', 'sda', '--force'], ['switch', 'sda', 'uas', '--json']):
            self.ctl(*args, code=2)

    def test_policy(self):
        self.assertEqual(self.ctl('policy', 'sda').stdout, 'auto\n')
        p = self.ctl('policy', 'sda', 'usb-storage')
        self.assertEqual(p.stdout, '')
        self.assertIn('usb-storage', p.stderr)
        self.assertEqual(self.ctl('policy', 'sda').stdout, 'usb-storage\n')
        self.assertEqual([one['policy'] for one in json.loads(self.ctl('policy', 'sda', '--json').stdout)['disks']], ['usb-storage'])
        self.ctl('policy', 'sda', 'auto')
        self.assertEqual(self.ctl('policy', 'sda').stdout, 'auto\n')

    def test_policy_of_one(self):
        "It is not for the model, by which a user may name the disk."
        model = 'That is for this disk. For every disk of its model: a section [Disk 2109:0715] in uasd.conf'
        self.assertIn(model, self.ctl('policy', '2109:0715', 'usb-storage').stderr)
        self.assertNotIn(model, self.ctl('policy', 'sde', 'usb-storage').stderr)

    def policies(self, *args):
        out = json.loads(self.ctl('policy', '--json', *args).stdout)
        self.assertEqual(out['version'], 1)
        return [(one['id'], one['policy'], one['forced'], one['source'], one['disks']) for one in out['policies']]

    def test_absent(self):
        "Policies of disks that are not plugged in are listed, changed and removed by VID:PID:SERIAL."
        self.assertEqual(self.policies(), [])
        self.assertIn('No policy is set', self.ctl('policy').stderr)
        self.ctl('policy', '0bc2:ab38:NA7ABCDE', code=4)
        p = self.ctl('policy', '0BC2:AB38:NA7ABCDE', 'uas')
        self.assertIn('not plugged in', p.stderr)
        self.assertIn('is not known', p.stderr)
        self.ctl('policy', 'sda', 'usb-storage')
        kept, plugged = ('0bc2:ab38:NA7ABCDE', 'uas', False, 'user', []), ('1209:5a5a:FREE', 'usb-storage', False, 'user', ['2-1:1.0'])
        self.assertEqual(sorted(self.policies()), [kept, plugged])
        self.assertEqual([line.split() for line in self.ctl('policy', '--no-legend').stdout.splitlines()],
                         [['0bc2:ab38:NA7ABCDE', 'uas', 'uasctl', '-'], ['1209:5a5a:FREE', 'usb-storage', 'uasctl', '2-1:1.0']])
        self.assertEqual(self.ctl('policy', '0bc2:ab38:NA7ABCDE').stdout, 'uas\n')
        self.assertEqual(self.policies('0bc2:ab38:NA7ABCDE'), [kept])
        self.ctl('policy', '0bc2:ab38:NA7ABCDE', 'usb-storage', '--force')
        self.assertEqual(self.policies('0bc2:ab38:NA7ABCDE'), [(kept[0], 'usb-storage', True, 'user', [])])
        self.assertIn('0bc2:ab38:NA7ABCDE usb-storage, forced uasctl -', ' '.join(self.ctl('policy').stdout.split()))
        self.ctl('policy', '0bc2:ab38:NA7ABCDE', 'sometimes', code=2)
        self.ctl('policy', '0bc2:ab38:NA7ABCDE', 'auto')
        self.ctl('policy', '0bc2:ab38:NA7ABCDE', 'auto')
        self.assertEqual(self.policies(), [plugged])
        self.ctl('policy', '--force', code=2)
        for wrong in '0bc2:ab38:', '0bc2:ab3:X', '0bc2:ab38:a=b', 'xbc2:ab38:X':
            self.ctl('policy', wrong, 'uas', code=4)
        self.ctl('forget', '0bc2:ab38:NA7ABCDE', code=4)

    def test_forbidden(self):
        for args in ['switch', 'uas'], ['policy', 'uas'], ['release'], ['cancel'], ['forget'], ['eject']:
            p = self.as_forbidden(args[0], 'sdf', *args[1:], '--no-ask-password')
            self.assertEqual(p.returncode, 8, (args, p.stderr))
            self.assertIn('Not permitted', p.stderr)

    def test_held(self):
        self.hold()
        self.ctl('wait', 'sdi', '--wait=200ms', code=3)
        self.ctl('release', 'sdi')
        self.go_on()
        self.ctl('wait', 'sdi', '--wait=20')

    def test_policy_of_a_model(self):
        "A model is no disk: the answer names the way for all disks of it."
        self.assertIn('[Disk abcd:5678] of uasd.conf', self.refused(4, 'policy', 'abcd:5678', 'usb-storage').stderr)
        self.assertNotIn('uasd.conf', self.refused(4, 'policy', 'abcd:567', 'usb-storage').stderr)

    def test_eject(self):
        "A free disk goes. One in use stays, with status 6 and its users."
        before = self.one('sdb')
        for disk in 'sdb', '2-2:1.0':
            p = self.refused(6, 'eject', disk)
            self.assertRegex(p.stderr, r'2-2:1.0.* cannot be ejected')
            self.assertEqual(p.stderr.splitlines()[1:], ['uasctl:   held by dm-9 (sdb)', 'uasctl: No command is known that frees dm-9.'])
            self.assertEqual(p.stderr.count('in use'), 1, p.stderr)
        self.assertEqual(self.one('sdb')['driver'], before['driver'])
        self.assertIn('2-1:1.0 (sda): ejected.', self.ctl('eject', 'sda').stderr)
        until(lambda: 'FREE' not in self.ctl('list', '--no-legend', '-o', 'SERIAL').stdout, 'it is gone')
        self.ctl('eject', '2-1', code=4)
        p = self.ctl('eject', 'sdb', 'sdd', code=6)  # each of several, also without UAS
        self.assertIn('2-4:1.0 (sdd): ejected.', p.stderr)

    def test_forget(self):
        self.ctl('forget', 'sda')
        self.ctl('release', 'sda')

    def test_unplugged(self):
        p, waits = self.begin('switch', 'sdg', 'uas'), self.start_ctl('wait', 'sdg', stderr=subprocess.PIPE)
        self.assertIn('from usb-storage to uas', p.stderr.readline())  # after a second at the latest
        self.unplug()
        self.assertEqual((p.wait(patience()), waits.wait(patience())), (4, 4))
        self.assertRegex(p.stderr.read(), r'^uasctl: 2-7:1\.0 \(sdg\): the disk (is gone\.|was unplugged)\n$')

    def test_uasd_dies(self):
        p = self.begin('switch', 'sdh', 'uas')
        self.kill()
        self.assertEqual(p.wait(patience()), 1)
        self.assertIn('uasd is not there any more', p.stderr.read())

    def test_inhibit(self):
        self.assertEqual(self.ctl('inhibit', 'sh', '-c', 'echo out; exit 5', code=5).stdout, 'out\n')
        self.ctl('inhibit', '--disk=sda', 'true')
        self.ctl('inhibit', '--disk=sdq', 'true', code=4)
        self.ctl('inhibit', '/nonexistent', code=127)

    def test_without_uasd(self):
        "Changes fail. inhibit runs its command, because no switch can disturb it. No verb waits."
        self.end()
        for args in ['switch', 'sda', 'uas'], ['policy', 'sda', 'uas'], ['cancel', 'sda'], ['release', 'sda'], ['forget', 'sda'], ['eject', 'sda']:
            self.assertIn('uasd is not running', self.ctl(*args, code=1).stderr)
        p = self.ctl('inhibit', 'sh', '-c', 'echo out; exit 5', code=5)
        self.assertEqual(p.stdout, 'out\n')
        self.assertIn('uasd is not running', p.stderr)
        self.ctl('inhibit', '--disk=sda', 'true')
        self.ctl('inhibit', '--disk=sdq', 'true', code=4)
        self.ctl('inhibit', '/nonexistent', code=127)
        self.ctl('inhibit', '--list', code=1)
        self.tree.write('proc/cmdline', 'quiet uasd=off\n')
        said = self.ctl('switch', 'sda', 'uas', code=1).stderr
        self.assertIn('uasd=off is on the kernel command line', said)
        self.assertNotIn('systemctl start', said)
        os.unlink(self.tree.path('proc/cmdline'))
        self.conf('[uasd]\nUnknown=uas\n')
        disks = json.loads(self.ctl('list', '--json').stdout)['disks']
        self.assertEqual([one['state'] for one in disks], ['settled'] * 3 + ['incapable'] + ['settled'] * 5)
        self.assertEqual([one['reason'].startswith('uasd would switch it to uas, but is not running. ') for one in disks], [True] * 3 + [False] * 2 + [True] * 4)

    def begin(self, *args):
        return self.start_ctl(*args, stderr=subprocess.PIPE)


class Fake(Contract, Machine):
    def start_contract(self):
        self.fake = self.start([FAKE], stdout=subprocess.PIPE)
        self.assertEqual(self.fake.stdout.readline(), 'ready\n')

    def kept(self):
        return [(one['id'], one['policy'], one['driver']) for one in json.loads(self.ctl('list', '--json').stdout)['disks']]

    def let_go(self):
        self.fake.send_signal(signal.SIGUSR1)

    unplug = kill = let_go

    def hold(self):
        """It is held from the start."""

    go_on = hold

    def end(self):
        privatebus.kill(self.fake)

    def begin(self, *args):
        p = super().begin(*args)
        until(lambda: self.fake.stdout.readline().startswith('Switch '), 'it is requested')
        return p

    def as_forbidden(self, *args):
        return self.tree.run(*args, env=self.env)

    def test_policy_by_port(self):
        "A disk without a serial number of its own. uasctl reads it from the device at each call, uasd once."
        port = 'It is kept for the port it is plugged into: '
        self.assertNotIn(port, self.ctl('policy', 'sda', 'usb-storage').stderr)
        self.tree.write(f'{BUS}/2-3/serial', 'FREE\n')
        self.assertIn(port + 'another disk says the same serial number.', self.ctl('policy', 'sda', 'usb-storage').stderr)
        self.assertNotIn(port, self.ctl('policy', 'sde', 'usb-storage').stderr)
        self.tree.write(f'{BUS}/2-1/serial', '\n')
        self.assertIn(port + 'the disk says no serial number.', self.ctl('policy', 'sda', 'usb-storage').stderr)

    def test_eject_held(self):
        "It is about to be mounted."
        self.assertIn('is held', self.refused(6, 'eject', 'sdi').stderr)


class Real(Contract, Machine):
    def start_contract(self):
        self.uasd = self.start_on_bus()

    def end(self):
        self.uasd.terminate()
        self.assertEqual(self.uasd.wait(patience()), 0)

    def kept(self):
        """The records, in /run and permanent."""
        found = {}
        for folder in 'run/uasd/attachment', 'etc/uasd', 'var/lib/uasd':
            for top, _, names in os.walk(self.tree.path(folder)):
                for name in names:
                    with open(os.path.join(top, name), errors='replace') as f:
                        found[os.path.join(top, name)] = f.read()
        return found

    def test_reset(self):
        "reset shows what is set for a disk, asks on a terminal, and ends all of it."
        self.assertIn('nothing is set for it.', self.ctl('reset', 'sda').stderr)
        command_line = 'console=tty1\n'
        self.tree.write('boot/firmware/cmdline.txt', command_line)
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:FREE@0000:00:14.0/ss/1=state=passed firmware=0214 kernel=6.1.0-test boot=- '
                                            'date=2026-01-01T00:00:00Z reason=\n')
        self.ctl('switch', 'sda', 'uas')
        self.ctl('policy', 'sda', 'usb-storage')
        self.ctl('policy', '--kernel', '--write', 'sda', 'usb-storage')
        before = self.kept()
        p = self.ctl('reset', 'sda', '--dry-run')
        for part in 'switch: uas, until it is unplugged', 'policy: usb-storage', 'history: ':
            self.assertIn(f'\nuasctl:   {part}', p.stderr)
        self.assertIn('usb-storage.quirks=1209:5a5a:u', p.stdout)
        asked = terminal.first([self.tree.program, self.tree.top, 'reset', 'sda'], dict(os.environ, **self.env), 80, b'[y/N] ')
        self.assertIn('Undo all of that?', asked)
        for typed, text, status in (b'\n', 'Nothing was changed.', 1), (b'no\n', 'Nothing was changed.', 1), (b'\4', 'Nothing was changed.', 1), (b'Yes\n', 'nothing is set for it any more.', 0):
            self.assertEqual(self.kept(), before)
            shown = terminal.run([self.tree.program, self.tree.top, 'reset', 'sda'], dict(os.environ, **self.env), 80, typed=typed)
            self.assertIn(text, shown[0])
            self.assertEqual(shown[1], status, shown[0])
        self.ctl('wait', 'sda', '--wait=20')
        one = self.one('sda')
        self.assertEqual((one['policy'], one['target'], one['history']), ('auto', 'usb-storage', None))
        with open(self.tree.path('boot/firmware/cmdline.txt')) as f:
            self.assertEqual(f.read(), command_line)
        self.assertIn('nothing is set for it.', self.ctl('reset', 'sda').stderr)
        # It does not ask where nobody sees the question.
        self.ctl('policy', 'sda', 'usb-storage')
        shown = terminal.run(['sh', '-c', '"$@" 2>/dev/null', 'sh', self.tree.program, self.tree.top, 'reset', 'sda'], dict(os.environ, **self.env), 80, typed=b'\n')
        self.assertEqual((shown[1], self.one('sda')['policy']), (0, 'auto'), shown)

    def test_reset_of_failures(self):
        "reset also ends what uasd and a cancelled switch have left."
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:FREE@0000:00:14.0/ss/1=state=distrusted firmware=0214 kernel=6.1.0-test boot=- '
                                            'date=2026-01-01T00:00:00Z reason=it failed\n')
        said = self.ctl('reset', 'sda', '--dry-run').stderr.splitlines()
        self.assertEqual(said[0], 'uasctl: 2-1:1.0 (sda): this ends:')
        self.assertRegex(said[1], '^uasctl:   history: .*it failed')
        self.assertEqual(said[2:], ['uasctl:   uasd may then move it to uas again.'])
        self.assertTrue(self.one('sda')['history'])
        self.ctl('policy', 'sdb', 'uas')
        self.ctl('cancel', 'sdb')
        self.assertEqual(self.ctl('reset', 'sdb', '--dry-run').stderr,
                         'uasctl: 2-2:1.0 (sdb): this ends:\nuasctl:   the switch to uas is cancelled\nuasctl:   policy: uas\n')
        self.ctl('reset', 'sdb')
        self.assertEqual((self.one('sdb')['policy'], self.one('sdb')['state']), ('auto', 'settled'))
        self.assertEqual(self.ctl('reset', 'sdb').stderr, 'uasctl: 2-2:1.0 (sdb): nothing is set for it.\n')

    def test_initramfs_is_old(self):
        "The settings are in the initramfs, too: a change names the command that makes it again."
        old = 'The initramfs has the former settings until it is made again: update-initramfs -u\n'
        self.tree.write('etc/initramfs-tools/initramfs.conf', '')
        for contains in False, True:
            if contains:
                self.tree.write('run/uasd/initramfs', '')
            for words in ['policy', 'sda', 'usb-storage'], ['reset', 'sda'], ['forget', 'sda']:
                self.assertEqual(old in self.ctl(*words).stderr, contains, words)

    def let_go(self):
        os.rmdir(self.tree.path('sys/class/block/sdb/holders/dm-9'))
        with open(self.tree.path('dev/sdb')):
            pass

    def hold(self):
        """The disk is held for its present switch."""
        self.begin('switch', 'sdi', 'uas')
        deadline = int((time.clock_gettime(time.CLOCK_BOOTTIME) + 60) * 1000000)
        self.tree.write('run/uasd/hold/2-9:1.0', f'BUSNUM=2\nDEVNUM=13\nDEADLINE={deadline}\n')

    def go_on(self):
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/hold/2-9:1.0')))
        os.unlink(self.tree.path('at-claim'))

    def begin(self, *args):
        self.tree.write('at-claim', '')
        p = super().begin(*args)
        self.step_is('claim')
        return p

    def unplug(self):
        os.unlink(self.tree.path('sys/bus/usb/devices/2-7:1.0'))
        self.look_again()
        until(lambda: '2-7' not in self.interfaces(), 'it has gone')
        os.unlink(self.tree.path('at-claim'))

    def kill(self):
        privatebus.kill(self.uasd)
        os.unlink(self.tree.path('at-claim'))

    def as_forbidden(self, *args):
        """As another user; there is no polkit here."""
        return self.tree.run(*args, env=self.env, user=NOBODY, group=NOBODY, extra_groups=[])

    def test_absent_record(self):
        "forget removes history and quirks, and log finds the disk by name."
        record = '=state=distrusted firmware=0214 kernel=6.1.0-test boot=- date=2026-11-20T15:45:07Z reason=it failed\n'
        self.tree.write('etc/uasd/history', '0bc2:ab38:NA7ABCDE@0000:00:14.0/ss/1' + record + '0bc2:ab38:NA7ABCDE@0000:00:14.0/ss/2' + record +
                        '0bc2:ab38:NA7@0000:00:14.0/ss/1' + record)
        for name in '0bc2:ab38:NA7ABCDE', 'NA7ABCDE':
            self.assertEqual(self.ctl('log', name).stdout.count('it failed'), 2)
        self.ctl('log', 'NA7ABCD', code=4)
        self.assertEqual(self.ctl('forget', '0bc2:ab38:NA7ABCDE').stdout, '')
        self.ctl('log', '0bc2:ab38:NA7ABCDE', code=4)
        self.assertEqual(self.ctl('log', 'NA7').stdout.count('it failed'), 1)
        with open(self.tree.path('etc/uasd/history')) as f:
            self.assertEqual(f.read().count('NA7ABCDE'), 0)
        p = self.as_forbidden('policy', '0bc2:ab38:NA7', 'uas', '--no-ask-password')
        self.assertEqual(p.returncode, 8, p.stderr)
        self.assertEqual(self.as_forbidden('forget', '0bc2:ab38:NA7', '--no-ask-password').returncode, 8)

    def quirks(self):
        with open(self.tree.path('sys/module/usb_storage/parameters/quirks')) as f:
            return f.read().strip()

    def test_absent_quirk(self):
        "The quirks entry of an unplugged disk is removed with its policy, and set with it."
        self.warns('ROLLED_BACK')
        self.conf('[uasd]\nQuietSec=0\n')
        self.end()
        self.uasd = self.start_on_bus()
        until(lambda: 'rolled back' in self.journal(), 'sdc does not go to uas')
        self.ctl('policy', 'sda', 'usb-storage')
        self.assertIn('1209:5a5a:u', self.quirks())
        for port in range(1, 10):
            os.unlink(self.tree.path(f'sys/bus/usb/devices/2-{port}:1.0'))
        self.look_again()
        until(lambda: self.interfaces() == [], 'all have gone')
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        self.ctl('policy', '1209:5a5a:FREE', 'auto')
        self.assertEqual(self.quirks(), '')
        self.ctl('policy', '1209:5a5b:OTHER', 'usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5b:u')
        self.ctl('policy', '1209:5a5b:OTHER', 'auto')
        self.assertEqual(self.quirks(), '')

    def test_absent_sources(self):
        "The source of each policy. A policy for a port can be changed by its name in the list."
        self.tree.write('etc/uasd/policy', '1209:5a5a:@0000:00:14.0/ss/7=usb-storage\n1209:5a5a:FREE=uas force\n')
        self.conf('[uasd]\nPolicy=usb-storage\n[Disk 152d:0578]\nPolicy=usb-storage\n[Disk 1209:5a5a:BUSY]\nPolicy=ignore\n')
        self.tree.write('run/udev/data/c189:134', 'I:1\nE:UASD_POLICY=ignore\n')
        self.end()
        expected = [('1209:5a5a:@0000:00:14.0/ss/7', 'usb-storage', False, 'user', []), ('1209:5a5a:FREE', 'uas', True, 'user', ['2-1:1.0']),
                    ('1209:5a5a:BAD', 'ignore', False, 'udev', ['2-3:1.0']),
                    ('*', 'usb-storage', False, 'config', [f'2-{i}:1.0' for i in range(4, 10)]), ('152d:0578', 'usb-storage', False, 'config', []),
                    ('1209:5a5a:BUSY', 'ignore', False, 'config', ['2-2:1.0'])]
        self.assertEqual(self.policies(), expected)
        self.assertIn('* usb-storage uasd.conf 2-4:1.0 2-5:1.0 2-6:1.0 ', ' '.join(self.ctl('policy').stdout.split()))
        self.uasd = self.start_on_bus()
        self.assertEqual(self.policies(), expected)
        self.ctl('policy', '1209:5a5a:@0000:00:14.0/ss/7', 'auto')
        self.assertEqual(self.policies(), expected[1:])

    # Verdicts of the kernel and the database

    def test_verdict(self):
        "A bridge that is bad in the database: refused, and switched with force."
        self.tree.write('run/udev/data/c189:132', 'I:1\nE:UASD_DB_1=bad;*;*;A list;2026-11\n')
        self.look_again()
        until(lambda: self.one('sda')['verdict'] == 'bad', 'it is known')
        self.ctl('switch', 'sda', 'uas', '--dry-run', code=6)
        self.refused(6, 'switch', 'sda', 'uas')
        self.refused(6, 'policy', 'sda', 'uas')
        self.assertIn('known to be bad', self.ctl('switch', 'sda', 'uas', code=6).stderr)
        self.switch_code(0, 'sda', 'usb-storage')
        self.switch_code(0, 'sda', 'uas', '--force')
        self.assertEqual(self.one('sda')['driver'], 'uas')
        self.switch_code(0, 'sda', 'uas')  # already so
        self.ctl('switch', 'sda')
        until(lambda: self.one('sda')['driver'] == 'usb-storage', 'it is back')

    def test_history(self):
        "A user may retry a disk that failed on this machine."
        self.tree.write('etc/uasd/history', '1209:5a5a:FREE@0000:00:14.0/ss/1=state=distrusted firmware=0214 kernel=6.1.0-test boot=- '
                                            'date=- reason=it failed\n')
        self.look_again()
        until(lambda: self.one('sda')['verdict'] == 'bad', 'it is distrusted')
        self.switch_code(0, 'sda', 'uas')

    def test_forced_policy(self):
        "A forced policy has precedence over an override without force, also an older one, but not over a forced override."
        self.ctl('switch', 'sda', 'usb-storage')
        self.ctl('--force', 'policy', 'sda', 'uas')
        until(lambda: self.one('sda')['driver'] == 'uas', 'it is on uas')
        self.ctl('switch', 'sda', 'usb-storage', '--dry-run', code=6)
        self.refused(6, 'switch', 'sda', 'usb-storage')
        self.switch_code(0, 'sda', 'usb-storage', '--force')
        self.assertEqual(self.one('sda')['driver'], 'usb-storage')
        self.ctl('switch', 'sda')
        until(lambda: self.one('sda')['driver'] == 'uas', 'it is on uas')

    def test_leased(self):
        "A disk that another program measures."
        holder = self.start([sys.executable, HOLDER, self.tree.path('run/uasd/private'), 'lease', '2-1:1.0'], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline(), 'taken\n', self.journal())
        self.ctl('switch', 'sda', 'uas', '--dry-run', code=6)
        self.refused(6, 'switch', 'sda', 'uas')
        self.assertIn('is leased', self.refused(6, 'eject', 'sda').stderr)

    def test_trim(self):
        "usb-storage does not show whether the disk supports it. status and the refusal say so."
        self.tree.write(f'{BUS}/2-1/2-1:1.0/host3/target3:0:0/3:0:0:0/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.assertIn('Under uas, uasctl shows whether the disk offers it', self.ctl('trim', 'sda').stdout)
        self.assertIn('under usb-storage uasd cannot see', self.refused(6, 'trim', 'sda', 'on').stderr)

    def test_policy_of_a_disk_in_use(self):
        "The users are named when they are known, which may be after the first answer."
        until(lambda: 'dm-9' in self.ctl('policy', 'sdb', 'uas').stderr, 'its user is named')
        self.assertIn('To cancel: uasctl cancel 2-2', self.ctl('policy', 'sdb', 'uas').stderr)
        self.assertNotIn('To cancel', self.ctl('policy', 'sdb', 'usb-storage').stderr)

    def test_policy_of_the_root_disk(self):
        "It never becomes free, so nothing promises that uasd switches it. The command that helps is named."
        os.unlink(self.tree.path('proc/1/mountinfo'))
        with open(self.tree.path('sys/class/block/sdb/dev')) as f:
            self.tree.write('proc/1/mountinfo', f'20 1 {f.read().strip()} / / rw - ext4 /dev/sdb rw\n')
        until(lambda: 'The running system is on it' in self.ctl('policy', 'sdb', 'uas').stderr, 'its user is named')
        said = self.ctl('policy', 'sdb', 'uas').stderr
        self.assertIn('To cancel: uasctl cancel 2-2', said)
        self.assertNotIn('as soon as it is free', said)

    def test_next_boot(self):
        "A disk of the system waits for usb-storage. Only for one without the root a command helps: it is moved before it is mounted."
        self.end()
        os.unlink(self.tree.path('sys/bus/usb/devices/2-2:1.0/driver'))
        self.tree.link(f'{BUS}/2-2/2-2:1.0/driver', 'sys/bus/usb/drivers/uas')
        self.conf('[uasd]\nQuietSec=0\nUnknown=usb-storage\n[Disk 1209:5a5a:BUSY]\nPolicy=uas\n')
        with open(self.tree.path('sys/class/block/sdb/dev')) as f:
            number = f.read().strip()
        self.uasd = self.start_on_bus()
        for where, said in (('/', 'Nothing yet: it starts on uas again.'),
                            ('/boot', 'It starts on uas, and uasd moves it before it is mounted. To change that: uasctl policy --kernel --write 2-2 usb-storage')):
            os.unlink(self.tree.path('proc/1/mountinfo'))
            self.tree.write('proc/1/mountinfo', f'20 1 {number} / {where} rw - ext4 /dev/sdb rw\n')
            until(lambda: f'uasctl: Next boot: {said}\n' in self.ctl('policy', 'sdb', 'usb-storage').stderr, 'its users are known', 10)
            self.ctl('policy', 'sdb', 'auto')

    def test_renamed(self):
        "The kernel gives the disk another name on its new driver."
        rename = """cd "$TREE/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host3/target3:0:0/3:0:0:0/block"
mv sda sdk
for links in "$TREE/sys/block" "$TREE/sys/class/block"; do rm "$links/sda"; ln -s "$PWD/sdk" "$links/sdk"; done
"""
        self.play(SWITCH.replace('echo "END 0 release', rename + 'echo "END 0 release'))
        first, *_, last = self.ctl('switch', 'sda', 'uas').stderr.splitlines()
        self.assertIn(' 2-1:1.0 (sda): from usb-storage to uas', first)
        self.assertIn(' 2-1:1.0 (sdk): ', last)

    @unittest.skipUnless(os.path.isdir(LOCALES), 'built without translations')
    def test_german(self):
        "The answers of uasd are in the language of the user."
        os.makedirs(self.tree.path('usr/share'), exist_ok=True)
        os.symlink(os.path.dirname(LOCALES), self.tree.path('usr/share/locale'))
        self.env['LANGUAGE'] = 'de'
        for args, code, said in ((('switch', 'sdd', 'uas'), 5, 'Sie bietet UAS nicht an.'), (('eject', 'sdb'), 6, 'kann nicht ausgeworfen werden'),
                                 (('forget', '1209:5a5a:NONE'), 4, 'ist nicht angesteckt')):
            self.assertIn(said, self.ctl(*args, code=code).stderr)

    def test_try_again(self):
        self.warns('ROLLED_BACK')
        self.ctl('switch', 'sdc', 'uas', code=7)
        self.assertIn(' Try again: uasctl switch 2-3 uas\n', self.ctl('explain', 'sdc').stdout)

    def test_ejected(self):
        self.ctl('eject', 'sda')
        [fields] = [fields for name, fields in self.messages() if name == 'EJECTED']
        self.assertEqual([fields[key] for key in ('MESSAGE', 'UASD_DISK', 'UASD_INTERFACE', 'UASD_USB_ID')],
                         ['2-1:1.0 sda: ejected', 'sda', '2-1:1.0', '1209:5a5a:FREE'])

    def test_inhibited(self):
        holder = self.start_ctl('inhibit', '--disk=sda', 'sh', '-c', 'echo begun; read -r line', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline(), 'begun\n')
        self.assertIn('uasd switches it by itself. To cancel', self.switch_code(3, 'sda', 'uas').stderr)
        self.assertRegex(self.ctl('list', 'sda').stdout, r'(?m) waiting: inhibited +2-1$')
        for disk in 'sda', 'sdb':
            self.ctl('switch', disk, 'usb-storage', '--dry-run')
        holder.communicate('go\n')
        self.ctl('wait', 'sda', '--wait=20')
        self.assertEqual(self.one('sda')['driver'], 'uas')


if __name__ == '__main__':
    main(needs_root="other users are root's to be", programs=3)

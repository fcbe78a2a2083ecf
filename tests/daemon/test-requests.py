#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: what a request leaves, in the files and in the journal, and what a refused one
leaves."""

import json
import os
import resource
import socket
import subprocess
import threading

from machine import HELLO, INTERFACE, SWITCH, Machine, main, patience, until
from tree import BOOT

SCSI = INTERFACE + '/host3/target3:0:0/3:0:0:0'
# udev's rule asks uasd-hold at this change, and at no other of a disk that is not held.
CHANGE = 'change 00000000-0000-0000-0000-000000000000 UASD=ask'
SECOND = INTERFACE + '/host3/target3:0:0/3:0:0:1'
KEY = '1209:5a5a:S1@0000:00:14.0/ss/1'
MAX = 2146435072  # 2047 MiB
RECORD = KEY + '=state=%s firmware=0214 kernel=6.1.0-test boot=%s date=- %sreason=it failed\n'


class Requests(Machine):
    def setUp(self):
        super().setUp()
        self.hears()

    def read(self, path):
        try:
            with open(self.tree.path(path)) as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def mark(self, key):
        text = self.read('run/uasd/attachment/' + self.tree.attachment())
        return dict(line.split('=') for line in text.splitlines())[key]

    def cannot_write(self, name):
        for folder in 'etc/uasd', 'var/lib/uasd':
            path = self.tree.path(f'{folder}/{name}')
            if os.path.exists(path):
                os.unlink(path)
            os.makedirs(path + '/it')

    # TRIM

    def offers(self, scsi, bits, mode='full'):
        """Its page B2, and at most 4194303 blocks in page B0."""
        self.tree.write(scsi + '/vpd_pgb2', bytes([0, 0xb2, 0, 4, 0, bits, 2, 0]))
        self.tree.write(scsi + '/vpd_pgb0', bytes([0, 0xb0, 0, 60]) + bytes(16) + bytes([0, 0x3f, 0xff, 0xff, 0, 0, 0, 64]) + bytes(36))
        # As if udev's rule were at work.
        self.tree.write(f'{scsi}/block/{"sdz" if scsi == SCSI else "sdy"}/queue/discard_max_bytes', f'{MAX}\n')
        if mode:
            self.tree.write(f'{scsi}/scsi_disk/{os.path.basename(scsi)}/provisioning_mode', mode + '\n')

    def second(self):
        """One more LUN: sdy."""
        for name, value in {'type': '0', 'block/sdy/dev': '8:384', 'block/sdy/size': '2048', 'block/sdy/uevent': ''}.items():
            self.tree.write(f'{SECOND}/{name}', value + '\n')
        self.tree.link(SECOND + '/block/sdy/device', SECOND)
        for path in 'sys/block/sdy', 'sys/class/block/sdy':
            self.tree.link(path, SECOND + '/block/sdy')

    def told(self):
        return [fields['MESSAGE'].partition(': ')[2] for name, fields in self.messages() if name == 'TRIM']

    def kept(self):
        return [line for line in self.read('etc/uasd/trim').splitlines() if line.startswith('1209:')]

    def test_trim(self):
        "It is on record, udev's rule hears of it, and the journal has it. The same for its end."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.offers(SCSI, 0x80)
        self.both()
        self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.kept(), [f'1209:5a5a:S1=on 0:{MAX}:{self.tree.medium("sdz")}'])
        self.assertEqual(self.read(SCSI + '/block/sdz/uevent'), CHANGE)
        self.assertEqual(self.told(), ['TRIM is kept on for it'])
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.ctl('trim', 'sdz', 'off')
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.read(SCSI + '/block/sdz/uevent'), CHANGE)
        self.assertEqual(self.told(), ['TRIM is kept on for it', 'TRIM is not kept on for it any more'])

    def test_trim_of_another(self):
        "The bridge comes back with another disk in it: the journal has it once, and status. The user may turn it on again."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.offers(SCSI, 0x80)
        self.tree.write(SCSI + '/model', 'Disk A          \n')
        self.both()
        self.ctl('trim', 'sdz', 'on')
        mine = self.kept()
        self.pull()
        self.tree.write(SCSI + '/model', 'Disk B          \n')
        self.tree.write(SCSI + '/block/sdz/queue/discard_max_bytes', '0\n')
        self.put_back(6)
        self.look_again()
        other = ('TRIM is kept on for another disk behind this bridge, so it stays off for this one. '
                 'Whether this one offers TRIM: uasctl status 2-1')
        until(lambda: self.told() == ['TRIM is kept on for it', other], 'it is in the journal')
        said = self.ctl('trim', 'sdz').stdout
        self.assertIn('not in use: it was turned on for another disk behind this bridge. To keep it on for this one: '
                      'uasctl trim 2-1 on', ' '.join(said.split()))
        self.assertEqual(self.kept(), mine)
        self.offers(SCSI, 0x80)
        self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.kept(), [f'1209:5a5a:S1=on 0:{MAX}:{self.tree.medium("sdz")}'])

    def test_trim_not_offered(self):
        "Without an offer it needs --force. Without the kernel's attribute that does not help. A refused request leaves nothing."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.offers(SCSI, 0, None)
        self.both()
        self.assertIn('does not offer TRIM (LBPU)', self.ctl('trim', 'sdz', 'on', code=6).stderr)
        forced = self.ctl('trim', 'sdz', 'on', '--force', code=6)
        self.assertIn('provisioning_mode', forced.stderr)
        self.assertNotIn('force', forced.stderr)
        self.offers(SCSI, 0)
        self.ctl('trim', 'sdz', 'on', code=6)
        self.assertEqual((self.kept(), self.read(SCSI + '/block/sdz/uevent')), ([], ''))
        self.ctl('trim', 'sdz', 'on', '--force')
        self.assertEqual(self.kept(), [f'1209:5a5a:S1=on 0:0:{self.tree.medium("sdz")}:force'])
        self.assertEqual(self.told(), ['TRIM is kept on for it by force: it does not say that it knows it'])

    def test_trim_some(self):
        "Only the LUNs that offer it. With --force all that the kernel has the attribute for."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.second()
        self.offers(SCSI, 0)
        self.offers(SECOND, 0x80)
        self.both()
        self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.kept(), [f'1209:5a5a:S1=on 1:{MAX}:{self.tree.medium("sdy")}'])
        self.ctl('trim', 'sdz', 'on', '--force')
        self.assertEqual(self.kept(), [f'1209:5a5a:S1=on 0:0:{self.tree.medium("sdz")}:force 1:{MAX}:{self.tree.medium("sdy")}'])

    def test_trim_unknown(self):
        "usb-storage shows nothing. If one LUN shows that it has no TRIM, uas would not show more."
        self.bind('usb-storage')
        self.conf('[uasd]\nPolicy=usb-storage\n')
        self.tree.write(SCSI + '/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.second()
        self.both()
        self.assertIn('cannot see whether the disk offers TRIM', self.ctl('trim', 'sdz', 'on', code=6).stderr)
        self.offers(SECOND, 0)
        self.assertIn('does not offer TRIM (LBPU)', self.ctl('trim', 'sdz', 'on', code=6).stderr)

    LOST = 'Under usb-storage the kernel sends no TRIM by itself. To keep TRIM: uasctl trim 2-1 on'

    def under_storage(self):
        """As the kernel shows the disk there: no VPD page, and TRIM is off. udev's rule turns it on at once."""
        self.driver_is('usb-storage')
        os.unlink(self.tree.path(SCSI + '/vpd_pgb2'))
        self.tree.write(SCSI + '/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')

    def test_trim_is_lost(self):
        "The disk leaves uas, where the kernel used TRIM: switch and policy name the command that keeps it. It works under usb-storage."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.offers(SCSI, 0x80, 'unmap')
        self.both()
        self.assertNotIn('TRIM', self.ctl('switch', 'sdz', 'uas').stderr)
        self.assertIn(self.LOST, self.ctl('switch', 'sdz', 'usb-storage').stderr)
        self.under_storage()
        self.assertNotIn('TRIM', self.ctl('policy', 'sdz', 'usb-storage').stderr)
        self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.kept(), [f'1209:5a5a:S1=on 0:{MAX}:{self.tree.medium("sdz")}'])
        # Kept on, nothing is lost.
        self.ctl('policy', 'sdz', 'uas')
        self.ctl('switch', 'sdz', 'uas')
        self.driver_is('uas')
        self.offers(SCSI, 0x80, 'unmap')
        self.assertNotIn('TRIM', self.ctl('policy', 'sdz', 'usb-storage').stderr)
        self.driver_is('uas')  # the request of before is still in force
        self.ctl('trim', 'sdz', 'off')
        self.assertNotIn('TRIM', self.ctl('policy', 'sdz', 'uas').stderr)
        self.assertIn(self.LOST, self.ctl('policy', 'sdz', 'usb-storage').stderr)

    def test_trim_some_lost(self):
        "The same for several LUNs: those that have offered it under uas, and have the same medium."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.second()
        for scsi in SCSI, SECOND:
            self.offers(scsi, 0x80, 'unmap')
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.under_storage()
        os.unlink(self.tree.path(SECOND + '/vpd_pgb2'))
        both = [f' {lun}:{MAX}:{self.tree.medium(block)}' for lun, block in enumerate(['sdz', 'sdy'])]
        self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.kept(), ['1209:5a5a:S1=on' + ''.join(both)])
        self.tree.write(SCSI + '/model', 'Disk B          \n')
        self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.kept(), ['1209:5a5a:S1=on' + both[1]])

    def test_trim_seen_of_another(self):
        "What one medium offered under uas says nothing about another one."
        self.offers(SCSI, 0x80, 'unmap')
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.under_storage()
        self.tree.write(SCSI + '/model', 'Disk B          \n')
        self.assertIn('cannot see whether the disk offers TRIM', self.ctl('trim', 'sdz', 'on', code=6).stderr)
        self.assertEqual(self.kept(), [])

    def test_trim_without_uas(self):
        "No text sends a disk to uas that does not offer it."
        self.tree.remove('2-1', 'sdz')
        self.tree.disk('2-1', 'sdz', 'usb-storage', serial='S1', uas=False)
        self.tree.write(SCSI + '/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.both()
        said = self.ctl('trim', 'sdz', 'on', code=6).stderr
        self.assertIn('cannot see whether the disk offers TRIM. If you force it, ', said)
        self.assertNotIn('uas first', said)

    def test_trim_errors(self):
        "Neither a full disk nor a refused event of udev is a success."
        self.offers(SCSI, 0x80)
        self.both()
        self.assertIn('TRIM cannot be turned on: No such file', self.ctl('trim', 'sdz', 'on', code=1).stderr)  # no uevent attribute
        self.cannot_write('trim')
        self.assertIn('TRIM cannot be turned on: ', self.ctl('trim', 'sdz', 'on', code=1).stderr)
        self.assertIn('TRIM cannot be turned ', self.ctl('trim', 'sdz', 'off', code=1).stderr)

    def test_trim_waits_for_udev(self):
        "The answer comes when udev's rule has turned it on: the next command may be fstrim."
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.offers(SCSI, 0x80)
        self.tree.write(SCSI + '/block/sdz/queue/discard_max_bytes', '0\n')
        self.both()
        self.assertIn('Only udev turns it on, and no udevd runs here.', self.ctl('trim', 'sdz', 'on').stderr)
        self.tree.write('run/udev/control', '')
        self.tree.write('proc/net/unix', '/run/udev/control\n')
        self.tree.write(SCSI + '/block/sdz/uevent', '')

        def rule():
            until(lambda: self.read(SCSI + '/block/sdz/uevent') == CHANGE, 'udev hears of it')
            self.tree.write(SCSI + '/block/sdz/queue/discard_max_bytes', f'{MAX}\n')

        udev = threading.Thread(target=rule)
        udev.start()
        p = self.ctl('trim', 'sdz', 'on')
        self.assertEqual(self.read(SCSI + '/block/sdz/queue/discard_max_bytes'), f'{MAX}\n')
        udev.join()
        self.assertNotIn('udev has not', p.stderr)
        # Where no rule does it, that is said.
        self.tree.write(SCSI + '/block/sdz/queue/discard_max_bytes', '0\n')
        self.assertIn('udev has not turned it on yet. To ask it again: uasctl trim 2-1 on', self.ctl('trim', 'sdz', 'on').stderr)

    # Policy and history

    def test_one_copy(self):
        "One of the two copies cannot be written: the change is in force, and the user, the bus and the journal have the warning."
        self.warns('Cannot write /etc/uasd/policy', 'Cannot write /var/lib/uasd/policy')
        self.both()
        for folder, good, so in (('etc/uasd', 'var/lib/uasd', ', which a boot may read too late'),
                                 ('var/lib/uasd', 'etc/uasd', ', and no copy of it')):
            path = self.tree.path(folder)
            os.rename(path, path + '.away')
            os.symlink('nowhere', path)  # it has no files, and takes none
            text = f'Cannot write /{folder}/policy: Not a directory. /{good} has the change{so}.'
            self.assertIn(f'uasctl: {text}\n', self.ctl('policy', 'sdz', 'uas').stderr)
            self.assertIn('S1=uas\n', self.read(good + '/policy'))
            self.assertIn(text, self.journal())
            p = self.call_manager('SetPolicyOf', 'ssa{sv}', '1209:5a5a:NOBODY', 'ignore', '0')
            self.assertTrue(p.stdout.startswith(f'a{{sv}} 2 "warning" s "{text}" "parts" s "'), p.stdout)
            self.assertIn(f'Cannot write /{folder}/%s: %s.', p.stdout)  # the second one
            os.unlink(path)
            os.rename(path + '.away', path)
        self.assertEqual(self.call_manager('SetPolicyOf', 'ssa{sv}', '1209:5a5a:NOBODY', 'auto', '0').stdout, 'a{sv} 0\n')

    def test_not_stored(self):
        "A policy or history that cannot be stored is no success, and is not in force."
        self.warns('the quirks of usb-storage do not keep off uas what is wanted on usb-storage', 'Cannot end the trials')
        self.both()
        self.cannot_write('policy')
        self.assertIn('Cannot store the policy: ', self.ctl('policy', 'sdz', 'usb-storage', code=1).stderr)
        self.assertEqual((self.disk()['policy'], self.disk()['driver']), ('auto', 'uas'))
        self.assertIn('Cannot read the policies: ', self.ctl('policy', code=1).stderr)
        self.cannot_write('history')
        self.assertIn('Cannot clear its history: ', self.ctl('forget', 'sdz', code=1).stderr)
        self.assertNotIn('is forgotten', self.journal())

    def test_unknown_id(self):
        "A policy may be set for a disk that never was here. A history must be there."
        self.both()
        p = self.call_manager('ForgetOf', 'sa{sv}', '1209:5a5a:NOBODY', '0')
        self.assertIn('1209:5a5a:NOBODY is not plugged in, and has no history.', p.stderr)
        self.assertEqual(self.call_manager('SetPolicyOf', 'ssa{sv}', '1209:5a5a:NOBODY', 'ignore', '0').returncode, 0)
        self.assertIn('\n1209:5a5a:NOBODY=ignore\n', self.read('etc/uasd/policy'))
        self.assertIn('1209:5a5a:NOBODY, not plugged in: policy is ignore now', self.journal())
        for wrong in 'NOBODY', '1209:5a5a', '1209:5A5A:S1', 'zzzz:5a5a:S1':
            self.assertIn('That is no VID:PID:SERIAL.', self.call_manager('ForgetOf', 'sa{sv}', wrong, '0').stderr)

    def test_once_more(self):
        "It failed in a trial, and policy uas does not move it there. A user who sets that policy again wants another trial."
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=uas\n')
        self.tree.write('etc/uasd/history', RECORD % ('distrusted', '-', 'failed=1 '))
        self.bind('usb-storage')
        self.both()
        self.assertEqual((self.disk()['reason_id'], self.disk()['target']), ('trial-failed', 'usb-storage'))
        self.ctl('policy', 'sdz', 'uas')
        self.driver_is('uas')
        until(lambda: 'state=distrusted' in self.read('etc/uasd/history') and 'failed=1' not in self.read('etc/uasd/history'),
              'it is on record')
        # For another policy the failure stays on record.
        self.tree.write('etc/uasd/history', RECORD % ('distrusted', '-', 'failed=1 '))
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertIn('failed=1', self.read('etc/uasd/history'))

    def test_policies(self):
        "All that are set, and the disks to which each applies now. Those of a disk at a port as well."
        self.tree.disk('2-2', 'sdy', 'uas', serial='')
        self.conf('[uasd]\nPolicy=ignore\n[Disk 1209:5a5a]\nPolicy=uas\n')
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage force\n1209:5a5a:GONE=uas\n')
        self.both()
        self.assertEqual(self.call_manager('SetPolicyOf', 'ssa{sv}', '1209:5a5a:@0000:00:14.0/ss/2', 'ignore', '0').returncode, 0)
        until(lambda: [one['Policy'] for one in self.managed_disks() if one['Serial'] == ''] == ['ignore'], 'it applies')
        p = self.busctl('--json=short', 'call', 'org.uasd1', '/org/uasd1', 'org.uasd1.Manager', 'ListPolicies')
        self.assertEqual(json.loads(p.stdout)['data'][0], [
            ['1209:5a5a:S1', 'usb-storage', True, 'user', ['2-1:1.0']],
            ['1209:5a5a:GONE', 'uas', False, 'user', []],
            ['1209:5a5a:@0000:00:14.0/ss/2', 'ignore', False, 'user', ['2-2:1.0']],
            ['*', 'ignore', False, 'config', []],
            ['1209:5a5a', 'uas', False, 'config', []]])

    def test_policy_in_use(self):
        "A policy for a disk in use, which uasd has switched before: one line in the journal, and it has not failed meanwhile."
        self.tree.write('run/uasd/attachment/' + self.tree.attachment(), 'TRIED=1\n')
        self.both()
        self.use(True)
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertEqual((self.journal().count('Waits for'), self.journal().count('failed')), (1, 0), self.journal())

    def test_no_driver(self):
        "A disk without a driver cannot be measured."
        self.bind(None)
        self.conf('[uasd]\nPolicy=ignore\n')
        self.both()
        self.assertIn('2-1:1.0 has no driver to measure.', self.call_disk('Lease', 'a{sv}', '0').stderr)

    def test_ejected(self):
        "Each end of uasd-switch has its error."
        self.both()
        for script, code, text in (
                ('echo "END 0 eject It may be unplugged."', 0, ''),
                ('echo "END 3 claim in use: mount of sdz"; exit 3', 6, '2-1:1.0 cannot be ejected: in use: mount of sdz'),
                ('echo "END 6 claim It is the root."; exit 6', 6, '2-1:1.0 cannot be ejected: It is the root.'),
                ('echo "END 4 identify there is no disk"; exit 4', 4, '2-1:1.0 cannot be ejected: there is no disk'),
                ('kill -9 $$', 1, '2-1:1.0 cannot be ejected: uasd-switch has died')):
            self.play(f'#!/bin/sh\necho "$*" >"$TREE/args"\n{script}\n')
            self.assertIn(text, self.ctl('eject', 'sdz', code=code).stderr)
            self.assertEqual(self.read('args'), f'--machine --eject {self.attachment_arg()} 2-1:1.0\n')
        self.assertIn('2-1:1.0 sdz: It may be unplugged.\n', self.journal())
        self.assertIn('2-1:1.0: not ejected: in use: mount of sdz\n', self.journal())

    def test_ejected_once(self):
        "A user who sits at the machine may eject without a password: many calls do not start many programs."
        self.both()
        self.plays_switch('while test -e "$TREE/at-sync"; do sleep 0.05; done', "echo 'END 3 claim in use'", 'exit 3')
        self.tree.write('at-sync', '')
        first = self.start_ctl('eject', 'sdz', stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(self.tree.path('calls')), 'it runs')
        self.assertIn('2-1:1.0 is being ejected already.', self.ctl('eject', 'sdz', code=6).stderr)
        self.assertEqual(self.calls(), 1)
        os.unlink(self.tree.path('at-sync'))
        self.assertEqual(first.wait(patience()), 6)
        self.assertIn('in use', self.ctl('eject', 'sdz', code=6).stderr)
        self.assertEqual(self.calls(), 2)

    def test_stopped_while_it_ejects(self):
        "uasd ends before uasd-switch: the client learns that."
        daemon = self.both()
        self.plays_switch('while test -e "$TREE/at-sync"; do sleep 0.05; done')
        self.tree.write('at-sync', '')
        client = self.start_ctl('eject', 'sdz', stderr=subprocess.PIPE)
        until(lambda: os.path.exists(self.tree.path('calls')), 'it runs')
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0, self.journal())
        self.assertIn('uasd ends while 2-1:1.0 is being ejected, which goes on. It may be unplugged when', client.communicate()[1])
        self.assertEqual(client.returncode, 1)
        os.unlink(self.tree.path('at-sync'))

    def test_no_file_for_its_end(self):
        "uasd has no descriptor left that would report the end of uasd-switch: it reports a failure, so uasd-switch does not go on."
        daemon = self.both()
        self.play('#!/bin/sh\nexec sleep 1000\n')
        free = [n for n in range(100) if not os.path.lexists(f'/proc/{daemon.pid}/fd/{n}')]
        before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (free[2], before[1]))  # two more are left
        self.assertIn('Too many open files', self.ctl('eject', 'sdz', code=1).stderr)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, before)
        with open(f'/proc/{daemon.pid}/task/{daemon.pid}/children') as children:
            self.assertEqual(children.read(), '')

    # Overrides

    def unauthorized(self, yes):
        self.tree.write(INTERFACE + '/authorized', f'{int(not yes)}\n')
        self.look_again()

    def test_undone(self):
        """The administrator takes the right from the disk while the request waits: it is refused, and the one before is in force, also
        if /run is full at that moment."""
        self.warns('its mark in /run cannot be changed')
        daemon = self.both()
        self.ctl('switch', 'sdz', 'usb-storage', '--force')
        self.assertEqual((self.mark('OVERRIDE'), self.mark('OVERRIDE_FORCED')), ('usb-storage', '1'))
        self.use(True)
        listener = self.listen()
        self.switch('uas')
        path = self.switch('uas')  # the one before it is no override that has been in force
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')
        self.assertEqual((self.mark('OVERRIDE'), self.mark('OVERRIDE_FORCED')), ('uas', '0'))
        self.unauthorized(True)
        self.assertEqual(self.told_of(listener, path)[-2][:4], ('JobRemoved', '2-1:1.0', 6, ''))
        self.assertEqual((self.mark('OVERRIDE'), self.mark('OVERRIDE_FORCED')), ('usb-storage', '1'))
        self.unauthorized(False)
        until(lambda: self.disk()['state'] == 'settled', 'it stays')
        self.assertEqual((self.disk()['driver'], self.disk()['target']), ('usb-storage', 'usb-storage'))
        self.switch('uas')
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')
        ends = self.run_is_full(daemon)
        self.unauthorized(True)
        until(lambda: not self.job()[0], 'it is refused')
        self.unauthorized(False)
        until(lambda: self.disk()['state'] == 'settled', 'it stays')
        self.assertEqual((self.disk()['driver'], self.disk()['target']), ('usb-storage', 'usb-storage'))
        ends()
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)
        self.assertEqual((self.mark('OVERRIDE'), self.mark('OVERRIDE_FORCED')), ('usb-storage', '1'))

    def test_forced_once(self):
        "A repeated request keeps its force. One for the other driver has its own."
        self.both()
        self.use(True)
        for target, force, mark in ('usb-storage', True, '1'), ('usb-storage', False, '1'), ('uas', False, '0'), ('usb-storage', False, '0'):
            self.ctl('switch', 'sdz', target, *(['--force'] if force else []), code=3 if target == 'usb-storage' else 0)
            self.assertEqual((self.mark('OVERRIDE'), self.mark('OVERRIDE_FORCED')), (target, mark), (target, force))

    def test_not_started(self):
        "uasd-switch cannot be started: the request has failed, and the next one is served."
        self.warns('cannot start uasd-switch: No such file or directory', 'FAILED')
        self.both()
        os.unlink(self.tree.path('switch'))
        self.assertRegex(self.ctl('switch', 'sdz', 'usb-storage', code=1).stderr, r'cannot start \S*/uasd-switch: No such file or directory')
        self.assertEqual((self.disk()['driver'], self.disk()['state']), ('uas', 'failed'))
        self.play(SWITCH)
        self.ctl('switch', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')

    # Trials

    def test_died(self):
        "The machine went down in the middle of a trial, under the policy uas, too: it is on record and in the journal."
        self.warns('DISTRUSTED')
        self.tree.write('etc/uasd/history', RECORD % ('trial', 'another', ''))
        self.both()
        self.driver_is('usb-storage')
        until(lambda: 'state=distrusted' in self.read('etc/uasd/history'), 'it is on record')
        self.assertIn('failed=1 ', self.read('etc/uasd/history'))
        self.assertIn('reason=the machine went down in the middle of its trial\n', self.read('etc/uasd/history'))
        [told] = [fields for name, fields in self.messages() if name == 'DISTRUSTED']
        self.assertIn('the machine went down in the middle of its trial', told['MESSAGE'])

    def test_ended(self):
        "The disk was unplugged during its trial, and is on uas again: the trial begins again."
        self.tree.write('etc/uasd/history', RECORD % ('ended', BOOT, ''))
        self.both()
        until(lambda: 'state=trial' in self.read('etc/uasd/history'), 'it is on record')
        self.assertEqual((self.disk()['driver'], self.disk()['state']), ('uas', 'trial'))

    def test_ended_on_bot(self):
        "On usb-storage it does not, as long as the disk stays there."
        self.tree.write('etc/uasd/history', RECORD % ('ended', BOOT, ''))
        self.bind('usb-storage')
        self.use(True)
        self.both()
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertIn('state=ended', self.read('etc/uasd/history'))

    def test_not_passed(self):
        "Commands timed out during the trial, and the log does not say so: it has not passed."
        self.conf(f'[uasd]\nQuietSec=0\nTrialSec={patience(2):.0f}\n')
        self.tree.write(SCSI + '/iotmo_cnt', '0x5\n')
        self.tree.write('etc/uasd/history', RECORD % ('trial', BOOT, ''))
        self.both()
        self.tree.write(SCSI + '/iotmo_cnt', '0x6\n')
        until(lambda: 'no distrust yet: commands were not answered in time' in self.journal(), 'it is noted')
        self.assertIn('state=trial', self.read('etc/uasd/history'))
        self.assertEqual(self.disk()['state'], 'trial')

    # The manager

    def test_version(self):
        "The version on the bus is that of the program."
        self.both()
        p = self.busctl('get-property', 'org.uasd1', '/org/uasd1', 'org.uasd1.Manager', 'Version')
        self.assertIn(f's "{self.tree.run("--version").stdout.split()[-1]}"', p.stdout)

    def test_many_peers(self):
        "So many connections of root are served, and no more. When one has ended there is room again."
        self.both()
        most, clients = 32, []
        for _ in range(most):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.settimeout(patience())
            client.connect(self.tree.path('run/uasd/private'))
            client.sendall(HELLO)
            self.assertRegex(client.recv(4096), b'^OK ')
            clients.append(client)

        def one_more():
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.settimeout(patience())
            client.connect(self.tree.path('run/uasd/private'))
            try:
                client.sendall(HELLO)
                return client.recv(4096)
            except OSError:
                return b''

        self.assertEqual(one_more(), b'')
        clients.pop().close()
        until(lambda: one_more().startswith(b'OK '), 'there is room')


if __name__ == '__main__':
    main()

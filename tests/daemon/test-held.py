#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: a disk that is held, a user that only a search by name sees, a trial that passes,
and a switch that was killed before uasd began."""

import os
import re
import shutil
import time

from machine import SWITCH, TIMER_LATE, Machine, main, until
from patience import told

MARK = 'run/uasd/hold/2-1:1.0'
UEVENT = 'sys/class/block/sdz/uevent'
KEY = '1209:5a5a:S1@0000:00:14.0/ss/1'
WORDS = 'firmware=0214 kernel=6.1.0-test boot=00000000-0000-0000-0000-000000000001 date=- reason='
DEFERRED = 'echo "END 3 claim in use: open of sdz"', 'exit 3'


class Held(Machine):
    def setUp(self):
        super().setUp()
        self.bind('usb-storage')
        self.tree.write(UEVENT, '')
        self.hears()

    def hold(self, seconds):
        deadline = int((time.clock_gettime(time.CLOCK_BOOTTIME) + seconds) * 1e6)
        self.tree.write(MARK, f'BUSNUM=2\nDEVNUM=5\nDEADLINE={deadline}\n')
        return deadline

    def read(self, path):
        with open(self.tree.path(path)) as file:
            return file.read()

    def marked(self):
        return os.path.exists(self.tree.path(MARK))

    def tried(self):
        return os.path.exists(self.tree.path('calls'))

    def told(self):
        return [name for name, _ in self.messages()] if os.path.exists(self.tree.path('journal')) else []

    # A hold

    def test_moved(self):
        "uasd-switch is told that the disk is held, and until when."
        deadline = self.hold(20)
        self.play(SWITCH.replace('#!/bin/sh\n', '#!/bin/sh\necho "$*" >>"$TREE/told"\n', 1))
        self.both()
        self.driver_is('uas')
        self.assertEqual(self.read('told'), f'--machine --automatic --plugged --hold-deadline={deadline} {self.attachment_arg()} 2-1:1.0 uas\n')

    def test_goes_on(self):
        "The disk is in use at the first try. The hold goes on, whatever uasd reads again, until there is no time for another try."
        self.hold(14 * max(1, told()))
        self.plays_switch(*DEFERRED)
        self.both()
        until(self.tried, 'it has been tried')
        for _ in range(3):
            self.look_again()
            self.assertIn(self.disk()['state'], ('held', 'switching'))
            self.assertTrue(self.marked())
        until(lambda: not self.marked(), 'the hold is over')
        until(lambda: self.read(UEVENT) == 'add', 'the waiting programs get their disk')
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertIn('RELEASED', self.told())

    def test_released(self):
        "The user does not wait for the end of the hold."
        self.hold(20)
        self.plays_switch(*DEFERRED)
        self.both()
        until(lambda: self.tried() and self.disk()['state'] == 'held', 'it is held')
        self.ctl('release', 'sdz')
        self.assertFalse(self.marked())
        self.assertEqual(self.read(UEVENT), 'add')
        self.assertEqual(self.disk()['state'], 'settled')

    def test_not_ejected(self):
        "It is about to be mounted, and has no user yet."
        self.hold(20)
        self.plays_switch(*DEFERRED)
        self.both()
        until(lambda: self.calls() >= 1 and self.disk()['state'] == 'held', 'it is held')
        calls = self.calls()
        self.assertIn('is held', self.ctl('eject', 'sdz', code=6).stderr)
        self.assertIn('a switch of it is under way', self.call_disk('Lease', 'a{sv}', '0').stderr)
        self.assertEqual(self.calls(), calls)

    def test_ends_elsewhere(self):
        "PID 1's timer has ended the hold. Whoever has waited gets the disk: it is not claimed at once."
        self.hold(20)
        # A held disk is tried each second, which does not count here.
        self.plays_switch(f'[ -e "$TREE/{MARK}" ] || echo late >>"$TREE/late"', *DEFERRED)
        self.both()
        until(lambda: self.tried() and self.disk()['state'] == 'held', 'it is held')
        os.unlink(self.tree.path(MARK))
        until(lambda: self.disk()['state'] == 'waiting', 'uasd sees it')
        self.assertFalse(os.path.exists(self.tree.path('late')))
        self.assertEqual(self.read(UEVENT), '')

    # A search by name

    def hidden_user(self):
        "uasd-switch met a user that no table shows."
        self.play(SWITCH.replace('#!/bin/sh\n', '#!/bin/sh\necho called >>"$TREE/calls"\n'
                                 'if [ -e "$TREE/proc/4242" ]; then echo "CLAIMED sdz"; echo "END 3 claim in use"; exit 3; fi\n', 1))
        os.makedirs(self.tree.path('proc/4242/ns'))
        os.symlink('mnt:[4242]', self.tree.path('proc/4242/ns/mnt'))
        self.tree.write('proc/4242/comm', 'reader\n')
        self.tree.write('proc/4242/mountinfo', '100 1 8:400 / /mnt rw,relatime - ext4 /dev/sdz rw\n')
        self.both()
        until(lambda: 'looked by name: in use' in self.journal(), 'it is found')
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')

    def hidden_user_goes(self):
        shutil.rmtree(self.tree.path('proc/4242'))
        with open(self.tree.path('dev/sdz')):  # its close
            pass

    def test_cannot_search(self):
        "No process can be started for a search by name: the disk waits. uasd searches again later, although no event comes."
        self.warns('cannot look who uses it')
        self.hidden_user()
        self.tree.write('no-fork', '')
        self.hidden_user_goes()
        until(lambda: 'cannot look who uses it' in self.journal(), 'it fails')
        self.assertEqual(self.disk()['state'], 'waiting')  # unknown counts as in use
        os.unlink(self.tree.path('no-fork'))
        self.driver_is('uas', 40)

    def test_by_name(self):
        """The close of the disk makes uasd search by name: as long as it finds a process nothing is tried, then the disk is
        moved."""
        self.hidden_user()
        calls = self.calls()
        self.hidden_user_goes()
        self.driver_is('uas')
        self.assertIn('looked by name: nobody', self.journal())
        self.assertGreater(self.calls(), calls)

    # A trial

    def trial(self, more=''):
        self.bind('uas')
        self.conf('[uasd]\nQuietSec=0\nTrialSec=1\n')
        self.tree.write('etc/uasd/history', f'# \ngeneration=1\n{KEY}=state=trial {more}{WORDS}\n')
        self.both()

    def state(self):
        return re.search(' ?state=([a-z]+)', self.read('etc/uasd/history'))[1]

    def test_not_passed(self):
        "Commands were not answered in its trial. That is too little for distrust, and too much to pass."
        os.write(self.kmsg, f'6,1,{int(time.monotonic() * 1e6)},-;sd 3:0:0:0: uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN\n'
                            ' SUBSYSTEM=scsi\n DEVICE=+scsi:3:0:0:0\n'.encode())
        self.trial()
        until(lambda: 'no distrust yet' in self.journal(), 'it is noted')
        until(lambda: self.at_rest(self.uasd, 10), 'its trial is over')
        self.assertEqual(self.state(), 'trial')

    def test_passed(self):
        "It is put on record and reported."
        self.trial()
        until(lambda: self.state() == 'passed', 'it is on record')
        until(lambda: self.disk()['state'] == 'settled', 'it is no trial any more')
        until(lambda: 'TRIAL_PASSED' in self.told() or 'TRIAL' in self.told(), 'it is reported')

    def test_passed_without_record(self):
        "The record cannot be written: uasd says so, and does not report that it passed. It tries again after a pause."
        self.warns('2-1:1.0: that it passed its trial cannot be put on record: Is a directory', 'Cannot end the trials')
        os.mkdir(self.tree.path('run/uasd/history.lock'))
        self.trial()
        until(lambda: 'that it passed its trial' in self.journal() and self.at_rest(self.uasd, 10), 'it has tried')
        self.assertEqual((self.state(), self.told(), self.disk()['state']), ('trial', [], 'trial'))
        self.assertLessEqual(min(self.timers(self.uasd)), 60 + TIMER_LATE)

    def test_passed_though_distrusted(self):
        "The user insisted on uas. Afterwards the earlier distrust is on record again."
        self.tree.write(f'run/uasd/attachment/{self.tree.attachment()}', 'OVERRIDE=uas\nOVERRIDE_FORCED=1\n')
        self.trial('distrusted=1 ')
        until(lambda: self.state() == 'distrusted', 'it is on record')

    # A switch that was killed

    def test_recovery_is_killed(self):
        "So is each recovery: uasd gives up after four of them, and reports the end of the switch."
        self.warns('FAILED')
        self.play('#!/bin/sh\necho "$*" >>"$TREE/told"\nkill -9 $$\n')
        self.both()
        until(lambda: self.disk()['state'] == 'failed', 'it has given up')
        told = self.read('told').splitlines()
        self.assertEqual(told, [f'--machine --automatic {self.attachment_arg()} 2-1:1.0 uas'] + ['--machine --recover 2-1:1.0'] * 4)
        self.assertIn('uasd-switch ended by signal 9', self.journal())

    def test_recovered(self):
        "The first recovery puts the disk in order: the switch has failed all the same, and is not tried again."
        self.warns('FAILED')
        self.play('#!/bin/sh\necho "$*" >>"$TREE/told"\ncase "$*" in *--recover*) exit 0;; esac\nkill -9 $$\n')
        daemon = self.both()
        until(lambda: self.disk()['state'] == 'failed' and self.at_rest(daemon), 'it has failed')
        self.assertEqual(self.read('told').splitlines(), [f'--machine --automatic {self.attachment_arg()} 2-1:1.0 uas', '--machine --recover 2-1:1.0'])
        self.assertIn('uasd-switch ended by signal 9', self.journal())

    def test_stale_record(self):
        "The lock is free and the record is there: uasd lets uasd-switch finish it, before anything else."
        self.tree.write('run/uasd/switch/2-1:1.0.lock', '')
        self.tree.write('run/uasd/switch/2-1:1.0', 'PID=1\nBUSNUM=2\nDEVNUM=5\nFROM=usb-storage\nTO=uas\nSTEP=bind\nDISKS=1\nMOVED=1\n')
        self.play(SWITCH.replace('#!/bin/sh\n', '#!/bin/sh\necho "$*" >>"$TREE/told"\n'
                                 'case "$*" in *--recover*) rm "$TREE/run/uasd/switch/2-1:1.0"; exit 0;; esac\n', 1))
        self.both()
        self.driver_is('uas')
        self.assertEqual(self.read('told').splitlines(), ['--machine --recover 2-1:1.0', f'--machine --automatic {self.attachment_arg()} 2-1:1.0 uas'])


if __name__ == '__main__':
    main()

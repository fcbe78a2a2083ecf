#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: its behaviour while logind suspends the machine."""

import os
import re
import select
import subprocess
import sys

from machine import Machine, main, until
from tree import BOOT

FAKE_LOGIND = sys.argv[3]


class Sleep(Machine):
    def setUp(self):
        super().setUp()
        self.start_bus()

    def start_logind(self):
        p = self.start([FAKE_LOGIND], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'ready\n')
        return p

    def inhibited(self):
        """uasd and logind; uasd has its inhibitor."""
        logind = self.start_logind()
        daemon = self.start_on_bus()
        self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')
        return daemon, logind

    def order(self, logind, line):
        logind.stdin.write(line + '\n')
        logind.stdin.flush()

    def falls_asleep(self, logind):
        self.order(logind, 'sleep')
        until(lambda: 'going to sleep' in self.journal(), 'uasd knows')

    def says_nothing(self, logind):
        self.assertEqual(select.select([logind.stdout], [], [], 0)[0], [])

    def moving(self):
        return os.path.exists(self.tree.path('moving'))

    def test_nothing_begins(self):
        "Disks that become free and requests during the sleep are processed after it. The inhibitor is released at once."
        _, logind = self.inhibited()
        self.use(True)
        self.switch()
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')
        self.falls_asleep(logind)
        self.assertEqual(logind.stdout.readline(), 'released\n')
        self.use(False)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertFalse(self.moving())
        self.order(logind, 'wake')
        self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')
        self.driver_is('usb-storage')

    def test_under_way(self):
        "A running switch ends first, and delays the sleep."
        _, logind = self.inhibited()
        self.tree.write('at-sync', '')
        self.switch()
        self.step_is('sync')
        self.falls_asleep(logind)
        self.assertEqual(self.job()[1]['Step'], 'sync')  # it continues
        self.says_nothing(logind)
        os.unlink(self.tree.path('at-sync'))
        self.assertEqual(logind.stdout.readline(), 'released\n')
        self.assertEqual(self.disk()['driver'], 'usb-storage')
        self.order(logind, 'wake')
        self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')

    def state(self):
        with open(self.tree.path('etc/uasd/history')) as f:
            return re.search('=state=([a-z]+)', f.read())[1]

    def on_trial(self):
        self.bind('uas')
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 '
                        f'kernel=6.1.0-test boot={BOOT} date=- reason=\n')
        return self.inhibited()

    def test_trial(self):
        "The machine may lose its power while it sleeps, so no trial is open on record then. Awake, it is open again."
        _, logind = self.on_trial()
        self.assertEqual(self.disk()['state'], 'trial')
        for _ in range(2):
            self.order(logind, 'sleep')
            self.assertEqual(logind.stdout.readline(), 'released\n')
            self.assertEqual(self.state(), 'ended')
            self.assertEqual(self.disk()['state'], 'trial')
            self.order(logind, 'wake')
            self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')
            until(lambda: self.state() == 'trial', 'it is open again')
            self.assertEqual(self.disk()['state'], 'trial')

    def test_slow_record(self):
        "It is on record before the machine sleeps, however slow the disk with the record is."
        daemon, logind = self.on_trial()
        self.fsync_hangs()
        self.falls_asleep(logind)
        until(self.in_fsync, 'it is being written')
        until(lambda: self.asleep(daemon, logind), 'both wait')
        self.says_nothing(logind)
        self.fsync_goes_on()
        self.assertEqual(logind.stdout.readline(), 'released\n')
        self.assertEqual(self.state(), 'ended')

    def test_trial_after_a_switch(self):
        "The same for the trial of a switch that delays the sleep."
        _, logind = self.inhibited()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.tree.write('at-sync', '')
        self.switch('uas')
        self.step_is('sync')
        self.falls_asleep(logind)
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 '
                        f'kernel=6.1.0-test boot={BOOT} date=- reason=\n')
        os.unlink(self.tree.path('at-sync'))
        self.assertEqual(logind.stdout.readline(), 'released\n')
        self.assertEqual((self.state(), self.disk()['driver']), ('ended', 'uas'))
        self.order(logind, 'wake')
        self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')
        until(lambda: self.state() == 'trial', 'it is open again')

    def test_no_sleep_after_all(self):
        "The sleep is called off during a switch: there is an inhibitor the whole time, and only one afterwards."
        _, logind = self.inhibited()
        self.tree.write('at-sync', '')
        self.switch()
        self.step_is('sync')
        self.falls_asleep(logind)
        self.order(logind, 'wake')
        self.assertEqual([logind.stdout.readline(), logind.stdout.readline()], ['inhibit sleep delay\n', 'released\n'])
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('usb-storage')
        self.says_nothing(logind)

    def test_comes_in_between(self):
        "uasd starts while the machine falls asleep: no switch begins until it is awake."
        logind = self.start_logind()
        self.order(logind, 'sleep')
        self.start_on_bus()
        until(lambda: 'going to sleep' in self.journal(), 'uasd knows')
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        self.assertFalse(self.moving())
        self.order(logind, 'wake')
        self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')
        self.driver_is('usb-storage')

    def test_logind_comes_and_goes(self):
        """logind is not started for an inhibitor, but gets one when it starts. If it dies before the machine sleeps, nothing
        waits for it."""
        self.start_on_bus()
        logind = self.start_logind()
        self.assertEqual(logind.stdout.readline(), 'inhibit sleep delay\n')
        self.falls_asleep(logind)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        logind.kill()
        self.driver_is('usb-storage')


if __name__ == '__main__':
    main(programs=3)

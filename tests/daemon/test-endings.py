#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the end of a switch, in the journal and in later output."""

import contextlib
import fcntl
import json
import os
import subprocess

from machine import SWITCH, Machine, main, stop, until


def words(path):
    with open(path) as file:
        return file.read().split()


def state(pid):
    return words(f'/proc/{pid}/stat')[2]


@contextlib.contextmanager
def locked(tree):
    """Another process has the lock of a switch. The path of its record."""
    path = tree.path('run/uasd/switch/2-1:1.0')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + '.lock', 'w') as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX, 1)
        yield path


class Endings(Machine):
    def endings(self):
        """The name of each ending, its drivers, and its step."""
        return [(name, *(fields.get('UASD_' + key) for key in ('FROM', 'TO', 'STEP'))) for name, fields in self.messages()]

    def ended(self, code, step):
        self.assertEqual((self.disk()['outcome']['code'], self.disk()['outcome']['step']), (code, step))

    def test_journal(self):
        "The entry has the drivers of the switch, even if the disk is there now, or back, or wanted elsewhere."
        self.warns('ROLLED_BACK')
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.tree.write('fails', '')
        self.ctl('switch', 'sdz', code=7)
        self.assertEqual(self.endings(), [('WAITING', 'uas', 'usb-storage', None), ('SWITCHED', 'uas', 'usb-storage', 'release'),
                                          ('WAITING', 'usb-storage', 'uas', None), ('ROLLED_BACK', 'usb-storage', 'uas', 'bind')])
        self.assertEqual([(fields['MESSAGE'], fields['PRIORITY'], fields['UASD_STATE'], fields['UASD_REASON']) for _, fields in self.messages()], [
            ('2-1:1.0 sdz: Waits for usb-storage until it has been free for a while.', '6', 'waiting', 'override'),
            ('2-1:1.0 sdz: It is moved.', '5', 'settled', 'override'),
            ('2-1:1.0 sdz: Waits for uas until it has been free for a while.', '6', 'waiting', 'unknown-bridge'),
            ('2-1:1.0 sdz: rolled back at step bind: The disk did not come back.', '4', 'failed', 'unknown-bridge')])
        for _, fields in self.messages():
            self.assertEqual((fields['UASD_DISK'], fields['UASD_INTERFACE'], fields['UASD_USB_ID']), ('sdz', '2-1:1.0', '1209:5a5a:S1'))
        self.assertIn('2-1:1.0: switching from uas to usb-storage\n', self.journal())

    def test_journal_in_use(self):
        "Another process was faster: that is no failure."
        self.play('#!/bin/sh\necho "END 3 claim in use: mount of sdz at /mnt by x"\nexit 3\n')
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        name, fields = self.messages()[-1]
        self.assertEqual((name, fields['MESSAGE'], fields['PRIORITY'], fields['UASD_STEP']),
                         ('WAITING', '2-1:1.0 sdz: not now, step claim: in use: mount of sdz at /mnt by x', '6', 'claim'))

    def test_journal_overtaken(self):
        "The newer request is the one in force. The entry is about the switch that began."
        self.both()
        self.tree.write('at-sync', '')
        self.switch()
        self.step_is('sync')
        self.switch('uas')
        os.unlink(self.tree.path('at-sync'))
        until(lambda: self.disk()['driver'] == 'uas' and not self.job()[0], 'it is moved, and back')
        self.assertEqual([one for one in self.endings() if one[0] != 'WAITING'],
                         [('SWITCHED', 'uas', 'usb-storage', 'release'), ('SWITCHED', 'usb-storage', 'uas', 'release')])

    def test_outcome(self):
        "The outcome of the last switch stays until the next one ends. Other requests about the disk do not change it."
        self.warns('ROLLED_BACK')
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.ended(0, 'release')
        for words in ('policy', 'sdz', 'ignore'), ('forget', 'sdz'), ('policy', 'sdz', 'auto'), ('switch', 'sdz', 'usb-storage'):
            self.ctl(*words)
            self.ended(0, 'release')
        self.assertNotIn('Last:', self.ctl('status', 'sdz').stdout)
        self.assertRegex(self.ctl('metrics').stdout, r'uasd_disk_last_switch_code\{[^}]*\} 0\n')
        self.use(True)
        self.ctl('switch', 'sdz', 'uas', code=3)
        self.ended(0, 'release')
        self.tree.write('fails', '')
        self.use(False)
        until(lambda: self.disk()['state'] == 'failed', 'it is rolled back')
        self.ended(7, 'bind')
        self.assertRegex(self.ctl('status', 'sdz').stdout, r'(?m)^ +Last: .* \(step bind\)$')
        # A failed request may be repeated, and is not in force any more. Its outcome stays.
        self.ctl('policy', 'sdz', 'ignore')
        self.ctl('switch', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['state'], 'settled')
        self.ended(7, 'bind')

    def test_killed_before_it_is_told(self):
        "uasd is killed after a switch has succeeded and before it reports that. The next uasd reports it, once."
        daemon = self.both()
        self.tree.write('at-sync', '')
        self.switch()
        self.step_is('sync')
        stop(daemon)
        os.unlink(self.tree.path('at-sync'))
        children = f'/proc/{daemon.pid}/task/{daemon.pid}/children'
        until(lambda: all(state(pid) == 'Z' for pid in words(children)), 'uasd-switch has ended')
        daemon.kill()
        daemon.wait()
        self.assertNotIn('SWITCHED', [one[0] for one in self.endings()])
        for _start in range(2):
            daemon = self.start_on_bus()
            until(lambda: self.disk()['state'] == 'settled', 'at rest')
            self.assertEqual(self.journal().count('a switch begun earlier has ended; it is on usb-storage'), 1)
            daemon.kill()
            daemon.wait()

    def test_told(self):
        "What uasd has reported it does not report again after a restart."
        daemon = self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.assertEqual([one[0] for one in self.endings()], ['WAITING', 'SWITCHED'])
        self.disk()  # answered after the step in which uasd writes down that it has reported the switch
        daemon.kill()
        daemon.wait()
        self.start_on_bus()
        self.assertEqual(self.disk()['state'], 'settled')
        self.assertNotIn('a switch begun earlier', self.journal())

    @contextlib.contextmanager
    def running_elsewhere(self, record=''):
        """While uasd starts, another process has the lock of a switch, with this record."""
        with locked(self.tree) as path:
            if record:
                with open(path, 'w') as file:
                    file.write(record)
            self.both()
            self.assertEqual(self.disk()['state'], 'switching')
            yield path

    def test_begun_elsewhere(self):
        "uasd found a running switch, which then failed. The step is not known to uasd."
        self.warns('FAILED')
        self.conf('[uasd]\nQuietSec=0\nPolicy=usb-storage\n')
        with self.running_elsewhere():
            pass
        until(lambda: self.disk()['state'] != 'switching', 'it has ended')
        [ending] = [fields for name, fields in self.messages() if name == 'FAILED']
        self.assertEqual(ending['MESSAGE'], '2-1:1.0 sdz: not switched: a switch begun earlier has ended; it is on uas')
        self.assertNotIn('UASD_STEP', ending)
        self.assertEqual((ending.get('UASD_FROM'), ending['UASD_TO'], ending['PRIORITY']), (None, 'usb-storage', '4'))

    def test_begun_elsewhere_and_done(self):
        "The same, but it succeeded: the disk is where that switch has moved it, whatever is wanted now."
        self.play('#!/bin/sh\nrm "$TREE/run/uasd/switch/2-1:1.0"\nexit 0\n')
        with self.running_elsewhere('PID=1\nBUSNUM=2\nDEVNUM=5\nFROM=uas\nTO=usb-storage\nSTEP=bind\n'):
            self.bind('usb-storage')
            self.use(True)
        until(lambda: self.disk()['state'] == 'waiting', 'it has ended, and the disk waits for uas')
        [ending] = [fields for name, fields in self.messages() if name == 'SWITCHED']
        self.assertEqual((ending.get('UASD_FROM'), ending['UASD_TO'], ending['PRIORITY']), (None, 'usb-storage', '5'))

    def test_begun_elsewhere_and_killed(self):
        "uasd found a running switch, which was then killed: it has left its record, and uasd-switch puts the disk in order."
        self.play('#!/bin/sh\necho "$*" >"$TREE/args"\nrm "$TREE/run/uasd/switch/2-1:1.0"\nexit 0\n')
        with self.running_elsewhere('PID=1\nBUSNUM=2\nDEVNUM=5\nFROM=uas\nTO=usb-storage\nSTEP=bind\n'):
            pass
        until(lambda: self.disk()['state'] != 'switching', 'it has ended')
        with open(self.tree.path('args')) as file:
            self.assertEqual(file.read(), '--machine --recover 2-1:1.0\n')
        self.assertIn('an interrupted switch was put in order', self.messages()[-1][1]['MESSAGE'])

    def test_begun_before_a_replug(self):
        "The switch of an earlier attachment still runs. The next attachment is switched after its end."
        self.conf('[uasd]\nQuietSec=0\nPolicy=usb-storage\n')
        before = f'PID={os.getpid()}\nBUSNUM=2\nDEVNUM=99\nFROM=uas\nTO=usb-storage\nSTEP=verify\n'
        with self.running_elsewhere(before) as record:
            os.unlink(record)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'it has been switched')

    def test_monitor(self):
        "monitor prints the end of a switch, also if it equals that of the one before."
        self.both()
        client = self.start_ctl('monitor', '--json', stdout=subprocess.PIPE)
        self.assertEqual(json.loads(client.stdout.readline())['event'], 'present')
        for target in 'usb-storage', 'uas', 'usb-storage':
            self.tree.write('at-sync', '')
            self.switch(target)
            while json.loads(client.stdout.readline())['disk']['state'] != 'switching':
                pass
            os.unlink(self.tree.path('at-sync'))
            told = json.loads(client.stdout.readline())
            while told['disk']['state'] == 'switching':
                self.assertNotIn('outcome', told['changed'])
                told = json.loads(client.stdout.readline())
            self.assertIn('outcome', told['changed'])
            self.assertEqual((told['disk']['outcome']['code'], told['disk']['driver']), (0, target))


class Unplugged(Machine):
    """A disk that is unplugged has no outcome, but the journal has an entry about a switch that had begun."""

    def setUp(self):
        super().setUp()
        self.hears()
        self.both()

    def test_at_rest(self):
        "The journal names the driver on which a disk stays."
        self.assertIn('2-1:1.0: settled on uas: The database', self.journal())

    def test_monitor(self):
        "monitor names the reason also for a disk that was just plugged in."
        client = self.start_ctl('monitor', '--json', stdout=subprocess.PIPE)
        self.assertEqual(json.loads(client.stdout.readline())['event'], 'present')
        self.pull()
        self.assertEqual(json.loads(client.stdout.readline())['event'], 'removed')
        self.put_back(7)
        one = json.loads(client.stdout.readline())
        self.assertEqual((one['event'], one['disk']['reason'][:12]), ('added', 'The database'))

    def test_in_a_switch(self):
        self.tree.write('at-sync', '')
        self.switch()
        self.step_is('sync')
        self.pull()
        os.unlink(self.tree.path('at-sync'))
        [told] = [fields for name, fields in self.messages() if name == 'UNPLUGGED']
        self.assertEqual(told['MESSAGE'], '2-1:1.0 sdz: unplugged in the middle of a switch from uas to usb-storage')
        self.assertEqual([told.get('UASD_' + key) for key in ('FROM', 'TO', 'STEP')], ['uas', 'usb-storage', 'sync'])

    def wanted_while_locked(self):
        """The disk becomes free for a switch while another process, such as an eject, has the lock."""
        self.use(True)
        self.switch()
        self.use(False)
        until(lambda: self.disk()['state'] == 'switching', 'uasd wants to switch it')

    def test_ejected(self):
        "An eject has the lock. No switch has begun, so none is interrupted."
        with locked(self.tree):
            self.wanted_while_locked()
            self.pull()
        self.assertEqual([name for name, _ in self.messages()], ['WAITING'])
        self.assertNotIn('switching from', self.journal())
        self.assertIn('2-1:1.0: another uasd-switch is at work\n', self.journal())

    def test_killed_elsewhere(self):
        "An eject or a switch of another process is killed. It is put in order, and uasd's own switch begins then."
        self.play(SWITCH.replace('\n', '\ncase "$*" in *--recover*) rm "$TREE/run/uasd/switch/2-1:1.0"; exit 0;; esac\n', 1))
        with locked(self.tree) as path:
            self.wanted_while_locked()
            with open(path, 'w') as file:
                file.write('PID=1\nBUSNUM=2\nDEVNUM=5\nFROM=uas\nTO=usb-storage\nSTEP=bind\n')
        self.driver_is('usb-storage', 60)
        self.assertFalse(os.path.exists(path))
        self.assertEqual([name for name, _ in self.messages()], ['WAITING', 'WAITING', 'SWITCHED'])

    def test_refused_eject(self):
        "A client that is refused and asks what uses the disk gets the present users, not those of a moment ago."
        self.plays_switch('echo "END 3 claim in use: mount of sdz at /mnt"', 'exit 3')
        self.assertEqual(self.managed_disks()[0]['Busy'], [])
        os.unlink(self.tree.path('proc/1/mountinfo'))
        self.tree.write('proc/1/mountinfo', '30 1 8:400 / /mnt rw - ext4 /dev/sdz rw\n')
        self.assertIn('cannot be ejected', self.call_disk('Eject', 'a{sv}', '0').stderr)
        self.assertEqual([user[2] for user in self.managed_disks()[0]['Busy']], ['/mnt'])

    def test_around_a_switch(self):
        "Unplugged before and after a switch."
        self.pull()
        self.put_back(6)
        self.ctl('switch', 'sdz', 'usb-storage')
        self.pull()
        self.assertEqual([name for name, _ in self.messages() if name != 'WAITING'], ['SWITCHED'])


class System(Machine):
    def test_on_a_volume(self):
        "Swap on a volume of the disk: the system is on it. status, list, the client and D-Bus report that, with advice."
        self.both()
        self.use(True)
        self.tree.write('sys/class/block/dm-9/dev', '253:9\n')
        self.tree.write('sys/class/block/dm-9/dm/name', 'vg-swap\n')
        self.tree.write('proc/swaps', 'Filename Type Size Used Priority\n/dev/mapper/vg-swap partition 1 0 -2\n')
        self.tree.write('sys/class/block/dm-9/dm/uuid', 'LVM-1')
        remedy = 'It serves the running system: turn the swap off and stop the devices on the disk, or restart.'
        asked = self.ctl('switch', 'sdz', 'usb-storage', code=3)
        self.assertIn('used as swap (sdz)', asked.stderr)
        self.assertIn(remedy, asked.stderr)
        # Only this swap, and only this volume.
        self.assertIn('To free it: swapoff /dev/mapper/vg-swap\nuasctl:             lvchange -an vg/swap\n', asked.stderr)
        sentence = 'Waits for usb-storage until nothing uses it: swap on sdz, dm-9 (on sdz). ' + remedy
        [told] = json.loads(self.ctl('list', '--json').stdout)['disks']
        self.assertEqual(told['reason'], sentence)
        self.assertIn(remedy, self.ctl('status', 'sdz').stdout)
        [disk] = self.managed_disks()
        self.assertTrue(disk['SystemDisk'])
        self.assertEqual([user[:3] for user in disk['Busy']], [['swap', 'sdz', '/dev/mapper/vg-swap'], ['holder', 'sdz', 'dm-9']])
        self.assertIn(sentence, self.journal())
        self.ctl('cancel', 'sdz')

    def test_nobody_asks(self):
        "The journal names the user that uasd waits for, even without a request."
        self.use(True)
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nQuietSec=0\nPolicy=usb-storage\n')
        self.start_daemon()
        until(lambda: 'Waits for usb-storage until nothing uses it: dm-9 (on sdz).' in self.journal(), 'the sentence')


if __name__ == '__main__':
    main()

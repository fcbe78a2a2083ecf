#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the kernel's messages about a disk on uas, and the records from them."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time

from machine import BUS, Machine, SWITCH, let_pass, main, patience, slept, stop, until
from tree import BOOT, UAS_ALONE

ABORT = 'sd 3:0:0:0: uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN'
NOTED = 'no distrust yet: commands were not answered in time'


class Trouble(Machine):
    def setUp(self):
        super().setUp()
        self.now = time.monotonic()
        self.times_out(5)

    def says(self, number, after, text=ABORT, subsystem='scsi', device='+scsi:3:0:0:0'):
        """A message of the kernel, so many seconds after the test began."""
        of = f' SUBSYSTEM={subsystem}\n DEVICE={device}\n' if device else ''
        os.write(self.kmsg, f'6,{number},{int((self.now + after) * 1000000)},-;{text}\n{of}'.encode())

    def is_read(self):
        """uasd has read all that the kernel said, and has acted upon it."""
        until(lambda: not int.from_bytes(fcntl.ioctl(self.kmsg, termios.FIONREAD, bytes(4)), sys.byteorder), 'it is read')
        self.disk()

    def times_out(self, count):
        """The SCSI layer's count of commands that timed out."""
        self.tree.write('sys/block/sdz/device/iotmo_cnt', f'0x{count:x}\n')

    def reset(self, number, after, times=None):
        self.says(number, after, 'usb 2-1: reset SuperSpeed USB device number 5 using xhci_hcd', 'usb', 'c189:132')
        until(lambda: self.journal().count('it had to be reset') >= (times or number), 'it is noted')

    def noted(self, times):
        until(lambda: self.journal().count(NOTED) >= times, 'it is noted')
        self.assertEqual(self.journal().count(NOTED), times)

    def again(self, daemon, how):
        how(daemon)
        daemon.wait(patience())
        self.come_back()

    def is_kept(self):
        "Whether the burst is stored. It is reported before that."
        try:
            with open(self.tree.path('run/uasd/kmsg')) as f:
                return '=burst ' in f.read()
        except FileNotFoundError:
            return False

    def kill_when_kept(self, daemon):
        until(self.is_kept, 'it is kept')
        daemon.send_signal(signal.SIGKILL)

    def come_back(self):
        "Starts uasd again, and waits for new messages. Earlier ones may concern another disk."
        self.start_daemon()
        until(self.on_bus, 'uasd is on the bus')
        self.driver_is('uas')

    def counts(self, how):
        daemon = self.both()
        self.says(1, 0)
        self.noted(1)
        self.again(daemon, how)
        self.says(2, 300)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'it is distrusted, and moved')
        self.assertIn('2 times within ten minutes', self.journal())
        self.noted(1)

    def test_stopped(self):
        "A burst counts for ten minutes, even if uasd was stopped meanwhile."
        self.warns('DISTRUSTED')
        self.counts(subprocess.Popen.terminate)

    def test_killed(self):
        "The same if uasd was killed."
        self.warns('DISTRUSTED')
        self.counts(self.kill_when_kept)

    def test_kept_badly(self):
        "A file that another program has changed: what the kernel says from now on counts."
        for n, kept in enumerate(('SEQ=x', 'SEQ=', 'X=99')):
            self.tree.write('run/uasd/kmsg', kept + '\n')
            daemon = self.both() if n == 0 else self.start_on_bus()
            self.says(n + 1, 0)
            until(lambda: self.journal().count(NOTED) == n + 1, kept)  # noqa: B023
            daemon.terminate()
            daemon.wait(patience())

    def test_kept_of_another(self):
        "What is kept about another disk does not count."
        daemon = self.both()
        self.says(1, 0)
        self.noted(1)
        self.kill_when_kept(daemon)
        daemon.wait(patience())
        with open(self.tree.path('run/uasd/kmsg')) as f:
            kept = f.read()
        self.assertIn('\n2-1:1.0@', kept)
        self.tree.write('run/uasd/kmsg', kept.replace('2-1:1.0@', '2-9:1.0@'))
        self.come_back()
        self.says(2, 300)
        self.noted(2)
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_hangs_again(self):
        "Aborts up to the reset, and that of the error handler's own command, are one burst. A hang after them is another one."
        self.warns('DISTRUSTED')
        self.both()
        for number, after in enumerate((0, 5, 31), 1):
            self.says(number, after)
        self.says(4, 31, 'scsi host3: uas_eh_device_reset_handler start', device='+scsi:host3')
        self.says(5, 32, 'scsi host3: uas_eh_device_reset_handler success', device='+scsi:host3')
        self.says(6, 42)
        self.noted(1)
        self.assertEqual(self.disk()['driver'], 'uas')
        self.says(7, 73)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'it is distrusted, and moved')
        self.assertIn('2 times within ten minutes', self.journal())

    def test_not_writable(self):
        "If nothing can be recorded, the disk still leaves uas, and stays distrusted as long as it is plugged in."
        self.warns('the quirks of usb-storage do not keep off uas what is wanted on usb-storage', 'DISTRUSTED', 'what happened cannot be put on record',
                   'Cannot end the trials')
        for path in 'etc/uasd/history', 'var/lib/uasd/history':
            os.makedirs(self.tree.path(path))
        self.both()
        self.says(1, 0)
        self.noted(1)
        self.says(2, 300)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'it is moved')
        self.assertIn('cannot be put on record', self.journal())
        self.assertEqual(self.disk()['reason_id'], 'distrusted')

    def test_not_twice(self):
        "A message that is read again counts only once."
        daemon = self.both()
        self.says(1, 0)
        self.noted(1)
        self.says(1, 0)
        self.says(2, 5)
        self.again(daemon, self.kill_when_kept)
        for number, after in (1, 0), (2, 5), (3, 12):  # one of them is new, and belongs to the same burst
            self.says(number, after)
        self.says(4, 700)
        self.noted(2)
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_counted(self):
        "A kernel message about the disk makes uasd read the SCSI counters. Their value counts only once."
        daemon = self.both()
        self.reset(1, 0)
        self.noted(0)
        self.times_out(6)
        self.reset(2, 20)
        self.noted(1)
        self.says(3, 2)  # the message in the log about it
        self.again(daemon, subprocess.Popen.terminate)
        self.reset(4, 700, 3)
        self.noted(1)

    def test_counted_while_away(self):
        "Counts from the time without a uasd are included."
        daemon = self.both()
        self.reset(1, 0)
        self.noted(0)
        daemon.terminate()
        daemon.wait(patience())
        self.times_out(6)
        self.come_back()
        self.reset(2, 20)
        self.noted(1)

    def test_late_clock(self):
        """The clock of the records is not corrected by NTP, and may be late by any time. A timeout and the message about it are one
        burst nevertheless."""
        self.both()
        self.times_out(6)
        self.says(1, -20)
        self.noted(1)
        self.reset(2, 200, 1)
        self.noted(1)
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_host_of_another(self):
        """uasd reads the messages from before it listened. They are about another disk if the host is new since then. While uasd
        listens, the same disk may have been bound again."""
        self.warns('DISTRUSTED')
        self.says(1, 0)
        self.says(2, 1, 'scsi host3: uas', device='+scsi:host3')
        self.both()
        self.says(3, 300)
        self.noted(2)
        self.assertEqual(self.disk()['driver'], 'uas')
        self.says(4, 301, 'scsi host3: uas', device='+scsi:host3')
        self.says(5, 600)
        self.driver_is('usb-storage')

    def test_before_it_is_known(self):
        "There is no disk. What the kernel says about the first one before uasd has read it counts."
        self.hears()
        self.both()
        self.pull()
        self.says(1, 0)
        self.put_back(6)
        self.noted(1)

    def test_host_used_again(self):
        """A disk fails and goes, and another one gets the number of its host, before uasd has read of that. The messages are about
        the first one."""
        self.warns('DISTRUSTED')
        self.hears()
        daemon = self.both()
        stop(daemon)
        self.says(1, 0, 'sd 3:0:0:0: Device offlined - not ready after error recovery')
        self.says(2, 1, 'scsi host3: uas', device='+scsi:host3')
        self.tree.write(f'{BUS}/2-1/serial', 'S2\n')
        self.tree.number('2-1', 6)
        self.look_again()
        daemon.send_signal(signal.SIGCONT)
        until(lambda: os.path.exists(self.tree.path('run/uasd/strings/' + self.tree.attachment(devnum=6))), 'it is there')
        until(lambda: 'the kernel gave it up' in self.journal(), 'the first one is distrusted')
        with open(self.tree.path('etc/uasd/history')) as f:
            history = f.read()
        self.assertIn(':S1@', history)
        self.assertNotIn(':S2@', history)
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_bound_again(self):
        "The kernel has unbound uas after a failed reset, and bound it again, before uasd has read of that. It is still the same disk."
        self.warns('DISTRUSTED')
        self.hears()
        daemon = self.both()
        stop(daemon)
        self.says(1, 0, 'scsi host3: uas_eh_device_reset_handler FAILED err -19', device='+scsi:host3')
        self.says(2, 1, 'scsi host4: uas', device='+scsi:host4')
        os.rename(self.tree.path(f'{BUS}/2-1/2-1:1.0/host3'), self.tree.path(f'{BUS}/2-1/2-1:1.0/host4'))
        self.look_again()
        daemon.send_signal(signal.SIGCONT)
        self.driver_is('usb-storage')
        self.assertIn('a reset did not bring it back', self.journal())

    def test_power(self):
        "Over-current at its port is no fault of the bridge. It is reported, and excuses what the bridge does at that moment."
        self.warns('TROUBLE')
        self.both()
        self.says(1, 0, 'usb usb2-port1: over-current condition', device='')
        until(lambda: 'TROUBLE' in [name for name, _ in self.messages()], 'it is told')
        self.says(2, 1, 'usb usb2-port1: over-current condition', device='')
        self.says(3, 1)
        self.reset(4, 1000, 1)
        [told] = [fields for name, fields in self.messages() if name == 'TROUBLE']
        self.assertEqual(told['MESSAGE'], '2-1:1.0 sdz: trouble on uas, which is not held against the disk: over-current at its port; '
                                          'to blame: the power supply')
        self.assertEqual(told['PRIORITY'], '4')
        self.noted(0)
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_power_in_a_switch(self):
        "The power failed while the disk was being moved to uas. This excuses what the bridge does after the switch."
        self.warns('TROUBLE')
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.tree.write('at-sync', '')
        p = self.start_ctl('switch', 'sdz', 'uas')
        self.step_is('sync')
        self.says(1, 0, 'usb usb2-port1: over-current condition', device='')
        os.unlink(self.tree.path('at-sync'))
        self.assertEqual(p.wait(patience()), 0, self.journal())
        self.says(2, 1)
        self.says(3, 20)
        self.reset(4, 1000, 1)
        [told] = [fields for name, fields in self.messages() if name == 'TROUBLE']
        self.assertIn('over-current at its port; to blame: the power supply', told['MESSAGE'])
        self.noted(0)
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_sleep(self):
        "The kernel resets the disk at each resume, which does not count. If a sleep ends during a switch, later resets count."
        self.warns('FAILED')
        self.both()
        self.says(1, 0, 'PM: suspend entry (deep)', device='')
        self.says(2, 1, 'usb 2-1: reset SuperSpeed USB device number 5 using xhci_hcd', 'usb', 'c189:132')
        self.says(3, 2, 'PM: suspend exit', device='')
        self.reset(4, 100, 1)
        self.says(5, 200, 'PM: suspend entry (deep)', device='')
        self.says(6, 201, 'usb 2-1: device not accepting address 5, error -71', 'usb', '+usb:2-1')
        self.is_read()
        self.assertNotIn('did not take an address', self.journal())
        self.plays_switch('while test -e "$TREE/at-sync"; do sleep 0.05; done', "echo 'END 1 sync it stays'", 'exit 1')
        self.tree.write('at-sync', '')
        p = self.start_ctl('switch', 'sdz', 'usb-storage')
        until(lambda: os.path.exists(self.tree.path('calls')), 'it runs')
        self.says(7, 202, 'PM: suspend exit', device='')
        os.unlink(self.tree.path('at-sync'))
        self.assertEqual(p.wait(patience()), 1, self.journal())
        self.assertEqual(self.journal().count('it had to be reset'), 1)
        self.reset(8, 300, 2)

    def test_switched(self):
        "The end of a switch makes uasd read them, too."
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.times_out(0)
        self.ctl('switch', 'sdz', 'uas')
        self.ctl('switch', 'sdz', 'usb-storage')
        self.times_out(1)
        self.noted(0)
        self.ctl('switch', 'sdz', 'uas')
        self.noted(1)

    def test_read_after_a_switch(self):
        "The kernel has said it before the end of the switch, and uasd reads it after that: uasd-switch has judged it already."
        said = f'6,2,{int(self.now * 1000000)},-;{ABORT}\\n SUBSYSTEM=scsi\\n DEVICE=+scsi:3:0:0:0\\n'
        self.play(SWITCH.replace('echo "END 0', f'[ $target = usb-storage ] || printf "{said}" >"$TREE/dev/kmsg"\necho "END 0'))
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.says(1, 0, 'usb 9-9: no disk of ours', device='')
        self.is_read()  # without a disk on uas the next time is in ten seconds
        self.times_out(0)
        self.ctl('switch', 'sdz', 'uas')
        self.is_read()
        self.noted(0)

    def test_drops_off(self):
        "A disk that has just failed may drop off the bus, and the cable is not blamed. Later drops count."
        self.warns('DISTRUSTED', 'TROUBLE')
        self.hears()
        self.both()
        self.says(1, 0)
        self.says(2, 300)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'it is distrusted, and moved')
        for devnum in 6, 7, 8:
            self.drops(devnum)
        self.disk()
        self.assertNotIn('TROUBLE', [name for name, _ in self.messages()])
        self.drops(9)
        until(lambda: 'TROUBLE' in [name for name, _ in self.messages()], 'it is told')

    def test_uas_alone(self):
        """A disk that speaks only UAS stays there. Its failure is reported once, and also excuses its drops. What another uasd has
        acted upon does not count again."""
        self.warns('TROUBLE')
        with open(self.tree.path('sys/bus/usb/devices/2-1/descriptors'), 'r+b') as f:
            f.seek(18)
            f.truncate()
            f.write(UAS_ALONE)
        self.hears()
        daemon = self.both()

        def fails(*numbers):
            for number in numbers:
                self.says(number, 1000 * number, 'sd 3:0:0:0: Device offlined - not ready after error recovery')
                self.is_read()
        fails(1, 2)
        self.assertEqual(self.names(), ['TROUBLE'])
        self.again(daemon, lambda daemon: daemon.send_signal(signal.SIGKILL))
        self.says(3, 2100)
        self.noted(1)
        self.assertEqual(self.names(), ['TROUBLE'])
        fails(4)
        self.assertEqual(self.names(), ['TROUBLE'] * 2)
        for devnum in 6, 7, 8:
            self.drops(devnum)
        self.disk()
        self.assertEqual(self.names(), ['TROUBLE'] * 2)
        self.drops(9)
        until(lambda: self.names() == ['TROUBLE'] * 3, 'it is told')

    def fails_on_storage(self, number, after):
        """Four resets, each a burst of its own. Without a disk on uas, uasd reads the log every 10 s."""
        for step in range(4):
            self.says(number + step, after + 20 * step, 'usb 2-1: reset SuperSpeed USB device number 5 using xhci_hcd',
                      'usb', 'c189:132')
        until(lambda: 'NOT_UAS' in self.names(), 'it is diagnosed', 40)

    def names(self):
        return [name for name, _ in self.messages()]

    DIAGNOSIS = 'Not uas: disk, cable, power or port. Under usb-storage: it had to be reset.'

    def test_cleared(self):
        """It is distrusted, moved, and fails under usb-storage, too. The distrust ends, and the disk stays there, also for another
        uasd and with a policy, until the user wants uas again."""
        self.warns('DISTRUSTED', 'NOT_UAS')
        daemon = self.both()
        self.says(1, 0)
        self.says(2, 300)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'it is distrusted, and moved')
        self.assertIsNone(self.disk()['diagnosis'])
        self.fails_on_storage(3, 400)
        self.assertEqual([self.names().count(name) for name in ('DISTRUSTED', 'CLEARED', 'NOT_UAS')], [1, 1, 1])
        until(lambda: 'cleared' in self.disk()['history'], 'a child has recorded it')
        for _restart in range(2):
            one = self.disk()
            self.assertEqual((one['driver'], one['state'], one['reason_id'], one['target']), ('usb-storage', 'settled', 'not-uas', None))
            self.assertEqual(one['diagnosis'], self.DIAGNOSIS)
            self.assertIn('cleared: it fails under usb-storage too: it had to be reset', one['history'])
            self.assertIn(' errors! ', self.ctl('list').stdout)
            for verb in 'status', 'explain':
                self.assertIn(self.DIAGNOSIS, ' '.join(self.ctl(verb, 'sdz').stdout.split()))
            with open(self.tree.path('etc/uasd/history')) as f:
                self.assertIn('state=cleared', f.read())
            daemon.terminate()
            daemon.wait(patience())
            daemon = self.start_daemon()
            until(self.on_bus, 'uasd is on the bus')
            self.driver_is('usb-storage')
        self.assertEqual(self.names().count('NOT_UAS'), 1)
        self.ctl('forget', 'sdz')
        self.driver_is('uas')
        one = self.disk()
        self.assertIsNone(one['diagnosis'])
        self.assertNotIn('cleared', one['history'] or '')

    def test_dying_disk(self):
        """Reads of a dying disk take longer than the kernel waits, under both drivers. Its bridge is not distrusted for that."""
        self.warns('DISTRUSTED', 'NOT_UAS')
        self.both()
        self.says(1, 0)
        self.says(2, 300)
        self.driver_is('usb-storage')
        reset = 'usb 2-1: reset SuperSpeed USB device number 5 using xhci_hcd'
        for number in 3, 4:
            self.times_out(number + 3)
            self.says(number, 200 * number, reset, 'usb', 'c189:132')
            self.is_read()  # and the counter with it
        until(lambda: 'CLEARED' in self.names(), 'it is not distrusted any more')
        one = self.disk()
        self.assertEqual(one['diagnosis'], 'Not uas: disk, cable, power or port. Under usb-storage: commands were not answered in time.')
        self.assertTrue(one['history'].startswith('cleared: '), one)

    def test_given_up_on_storage(self):
        "One sign is enough if the kernel gives the disk up."
        self.warns('NOT_UAS')
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')
        self.says(1, 0, 'sd 3:0:0:0: Device offlined - not ready after error recovery')
        until(lambda: 'NOT_UAS' in self.names(), 'it is diagnosed', 40)
        self.assertEqual(self.disk()['diagnosis'], 'Not uas: disk, cable, power or port. Under usb-storage: the kernel gave it up.')

        self.hurry()
        self.says(2, 1000, 'usb usb2-port1: over-current condition', device='')
        self.is_read()
        self.assertEqual((self.names().count('NOT_UAS'), self.disk()['diagnosis'].rpartition(': ')[2]), (1, 'the kernel gave it up.'))

    def test_asked_for(self):
        "A user has asked for uas, and the kernel gives the disk up in the trial: it leaves uas. That is on record, and reported once."
        self.warns('DISTRUSTED')
        self.tree.write('run/uasd/attachment/' + self.tree.attachment(), 'OVERRIDE=uas\n')
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 '
                        f'kernel=6.1.0-test boot={BOOT} date=- reason=\n')
        self.both()
        self.assertEqual((self.disk()['state'], self.disk()['reason_id']), ('trial', 'override'))
        self.use(True)
        for number in 1, 2:
            self.says(number, 1000 * number, 'sd 3:0:0:0: Device offlined - not ready after error recovery')
            self.is_read()
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')
        self.use(False)
        self.driver_is('usb-storage')
        self.assertEqual((self.disk()['reason_id'], self.names().count('DISTRUSTED')), ('distrusted', 1))
        with open(self.tree.path('etc/uasd/history')) as f:
            self.assertRegex(f.read(), r'=state=distrusted .*failed=1')

    def test_unplugged_on_storage(self):
        "The messages of an unplug are no trouble."
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')
        self.says(1, 0, 'usb 2-1: USB disconnect, device number 5', 'usb', 'c189:132')
        self.says(2, 1, 'sd 3:0:0:0: Device offlined - not ready after error recovery')
        self.is_read()
        self.assertIsNone(self.disk()['diagnosis'])

    def test_on_storage_from_the_start(self):
        "A disk that uasd has never moved gets the same diagnosis, and no record."
        self.warns('NOT_UAS')
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')
        self.fails_on_storage(1, 100)
        one = self.disk()
        self.assertEqual((one['diagnosis'], one['history'], one['reason_id']), (self.DIAGNOSIS, None, 'not-uas'))
        self.assertNotIn('CLEARED', self.names())
        self.ctl('policy', 'sdz', 'uas')
        self.driver_is('uas')

    def test_restart_on_storage(self):
        "What was noted under usb-storage counts for another uasd, too."
        self.warns('NOT_UAS')
        daemon = self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')

        def resets(*numbers):
            stop(daemon)  # it reads them at once, and the next ones ten seconds later
            for number in numbers:
                self.says(number, 100 * number, 'usb 2-1: reset SuperSpeed USB device number 5 using xhci_hcd', 'usb', 'c189:132')
            daemon.send_signal(signal.SIGCONT)
            self.is_read()
        resets(1, 2)
        self.assertNotIn('NOT_UAS', self.names())
        self.kill_when_kept(daemon)
        daemon.wait(patience())
        daemon = self.start_on_bus()
        resets(3, 4)
        until(lambda: 'NOT_UAS' in self.names(), 'it is diagnosed')

    def test_power_on_storage(self):
        "Bad power is a certain cause. It says nothing about the trouble before."
        self.warns('DISTRUSTED', 'NOT_UAS')
        self.both()
        self.says(1, 0)
        self.says(2, 300)
        self.driver_is('usb-storage')
        self.says(3, 400, 'usb usb2-port1: over-current condition', device='')
        until(lambda: 'NOT_UAS' in self.names(), 'it is diagnosed', 40)
        one = self.disk()
        self.assertEqual(one['diagnosis'], 'Not uas: the power supply. Under usb-storage: over-current at its port.')
        self.assertTrue(one['history'].startswith('distrusted: '), one)
        self.assertNotIn('CLEARED', self.names())

    def test_busy_log(self):
        """If all disks are on usb-storage, a busy kernel log hardly wakes uasd. A pipe takes only 16 messages that are not read."""
        daemon = self.both()
        woken = {}
        for driver in 'uas', 'usb-storage':
            self.ctl('policy', 'sdz', driver)
            self.driver_is(driver)
            until(lambda: self.at_rest(daemon), 'it is at rest')
            before = slept(daemon.pid)[1]
            for number in range(14):
                woken_before = slept(daemon.pid)[1]
                self.says(number + 1 + 14 * (driver != 'uas'), 0, 'audit: nothing', device='')
                if driver == 'uas':
                    until(lambda: slept(daemon.pid)[1] > woken_before, 'it reads the message', 5)
                else:
                    let_pass(0.1)  # "busy" is a number of messages in a second
            woken[driver] = slept(daemon.pid)[1] - before
        self.assertGreaterEqual(woken['uas'], 12, woken)
        self.assertLess(woken['usb-storage'], 8, woken)

    def record(self, path, state):
        self.tree.write(path, 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=%s firmware=0214 kernel=6.1.0-test boot=- '
                              'date=2026-11-20T15:45:07Z reason=it had to be reset\n' % state)

    def test_older_initramfs(self):
        "An initramfs that is older than the record is reported until it is updated. The reason names the event."
        self.warns('the initramfs is older than the record of this disk and may put it on uas at the next start; update it')
        older = 'the initramfs is older than th'
        self.tree.write('etc/initramfs-tools/initramfs.conf', '')
        self.record('etc/uasd/history', 'distrusted')
        self.record('run/uasd/initramfs', 'passed')
        self.both()
        self.driver_is('usb-storage')
        one = self.disk()
        self.assertEqual(one['reason'], 'UAS failed on 2026-11-20: it had to be reset (firmware 2.14, Linux 6.1.0-test).')
        self.assertIn(older + 'is record', one['history'])
        self.assertEqual(self.journal().count(older + 'e record of this disk and may put it on uas at the next start; '
                                                      'update it: update-initramfs -u'), 1)
        self.assertIn('Initramfs: It is older than the record of this disk', self.ctl('explain', 'sdz').stdout)
        self.assertIn('update-initramfs -u', json.loads(self.ctl('explain', 'sdz', '--json').stdout)['disks'][0]['initramfs'])
        self.record('run/uasd/initramfs', 'distrusted')
        self.assertEqual(self.disk()['history'], 'distrusted: it had to be reset (2026-11-20, firmware 2.14, Linux 6.1.0-test)')
        self.assertNotIn('Initramfs:', self.ctl('explain', 'sdz').stdout)

    def test_initramfs_becomes_older(self):
        "So is one that becomes older. An initramfs without uasd is not reported."
        self.warns('DISTRUSTED', 'the initramfs is older than the record of this disk and may put it on uas at the next start; update it')
        for made in False, True:
            with self.subTest(made=made):
                if made:
                    self.record('run/uasd/initramfs', 'passed')
                    self.ctl('forget', 'sdz')
                    self.driver_is('uas')
                else:
                    self.both()
                self.says(1 + 2 * made, 1000 * made)
                self.says(2 + 2 * made, 1000 * made + 300)
                self.driver_is('usb-storage')
                self.assertEqual('update it' in self.journal(), made)
        self.assertRegex(self.journal(), r'is distrusted: commands were not answered in time, 2 times within ten minutes \(\d{4}-\d\d-\d\d, '
                                         r'firmware 2.14, Linux 6.1.0-test\)')

    def test_forgotten(self):
        "A restart does not restore records that a user has removed with forget."
        daemon = self.both()
        self.says(1, 0)
        self.noted(1)
        self.ctl('forget', 'sdz')
        self.again(daemon, lambda daemon: daemon.send_signal(signal.SIGKILL))
        self.says(2, 300)
        self.noted(2)
        self.assertEqual(self.disk()['driver'], 'uas')

    # /run is full: a mark that cannot be written yet counts all the same, also when the disk is read again.

    def test_override_with_run_full(self):
        "It is on trial, because a user wants uas. It fails, and goes back."
        self.warns('DISTRUSTED', 'its mark in /run cannot be changed')
        self.tree.write('run/uasd/attachment/' + self.tree.attachment(), 'OVERRIDE=uas\n')
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 '
                        f'kernel=6.1.0-test boot={BOOT} date=- reason=-\n')
        ends = self.run_is_full(self.both())
        self.says(1, 0, 'sd 3:0:0:0: Device offlined - not ready after error recovery')
        self.driver_is('usb-storage')
        self.assertEqual(self.disk()['reason_id'], 'distrusted')
        ends()

    def test_diagnosed_with_run_full(self):
        "It fails under usb-storage: that is the reason, also when it has been read again. A user wants uas all the same."
        self.warns('NOT_UAS', 'its mark in /run cannot be changed')
        daemon = self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')
        ends = self.run_is_full(daemon)
        self.fails_on_storage(1, 100)
        until(lambda: self.disk()['reason_id'] == 'not-uas', 'it is the reason')
        self.ctl('policy', 'sdz', 'uas')
        self.driver_is('uas')
        ends()


if __name__ == '__main__':
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the disk with /etc and /var hangs, or another process has the lock of the
history."""

import contextlib
import fcntl
import os
import signal
import subprocess
import time

from machine import INTERFACE, Machine, main, patience, until
from tree import BOOT

LOCK = 'run/uasd/history.lock'
ABORT = 'sd 3:0:0:0: uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN'


class Records(Machine):
    def setUp(self):
        super().setUp()
        self.tree.write('sys/block/sdz/device/iotmo_cnt', '0x5\n')
        self.hears()

    def fails_on_uas(self):
        for number, ago in (1, 300), (2, 0):
            os.write(self.kmsg, b'6,%d,%d,-;%s\n SUBSYSTEM=scsi\n DEVICE=+scsi:3:0:0:0\n' %
                     (number, (time.monotonic() - ago) * 1000000, ABORT.encode()))

    def history(self, folder='etc/uasd'):
        try:
            with open(self.tree.path(folder + '/history')) as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def distrusted_but_not_written(self):
        self.warns('DISTRUSTED')
        self.both()
        self.fsync_hangs()
        self.fails_on_uas()
        until(self.in_fsync, 'its record is being written')
        self.driver_is('usb-storage')

    def locks(self):
        lock = os.open(self.tree.path(LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def test_disk_hangs(self):
        """A disk that fails on uas is switched, although its record cannot be written. After a replug it is distrusted, because
        uasd knows it."""
        self.distrusted_but_not_written()
        self.pull()
        self.bind('uas')
        self.put_back(6)
        self.driver_is('usb-storage')
        self.assertEqual(self.disk()['reason_id'], 'distrusted')
        self.assertNotIn('distrusted', self.history())
        self.fsync_goes_on()
        until(lambda: 'state=distrusted' in self.history() and 'state=distrusted' in self.history('var/lib/uasd'), 'it is on record')

    def test_another(self):
        "What is not written yet about one disk does not count for another one."
        self.distrusted_but_not_written()
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        self.look_again()
        until(lambda: '2-2' in self.interfaces(), 'it is known')
        [one] = [one for one in self.managed_disks() if one['Interface'] == '2-2:1.0']
        self.assertEqual((one['Driver'], one['State'], one['History']), ('uas', 'settled', ''))

    def test_trial_goes_on(self):
        """A disk on trial is unplugged, and comes back before it is on record that the trial has ended: it is open again, also on
        record. That of another disk is not affected."""
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:5a5a:S{n}@0000:00:14.0/ss/{n}=state=trial firmware=0214 kernel=6.1.0-test boot={BOOT} date=- reason=\n' for n in (1, 2)))
        daemon = self.both()

        def states():
            return [one['State'] for one in self.managed_disks()]
        self.assertEqual(states(), ['trial', 'trial'])
        self.fsync_hangs()
        self.pull()
        until(self.in_fsync, 'its end is being written')
        self.look_again()
        self.assertEqual(states(), ['trial'])
        self.put_back(6)
        self.assertEqual(states(), ['trial', 'trial'])
        self.fsync_goes_on()
        until(lambda: self.at_rest(daemon), 'all is written')
        self.assertEqual(self.history().count('=state=trial '), 2)

    def waits_for_lock(self):
        """The children of uasd that have opened the file of the lock."""
        found = []
        for pid in self.children(self.uasd):
            with contextlib.suppress(FileNotFoundError):
                if any(os.readlink(f'/proc/{pid}/fd/{fd}') == self.tree.path(LOCK) for fd in os.listdir(f'/proc/{pid}/fd')):
                    found.append(pid)
        return found

    def test_lock(self):
        "The same if another process has the lock, for longer than one try waits. uasd writes the record when the lock is free."
        self.warns('DISTRUSTED')
        lock = self.locks()
        self.both()
        self.fails_on_uas()
        self.driver_is('usb-storage')
        first = until(self.waits_for_lock, 'it tries')
        until(lambda: self.waits_for_lock() not in (first, []), 'it tries again')
        self.assertEqual(self.history(), '')
        fcntl.flock(lock, fcntl.LOCK_UN)
        until(lambda: 'state=distrusted' in self.history(), 'it is on record')

    def test_no_process(self):
        "The same if no process can be started: uasd writes the record later."
        self.warns('DISTRUSTED')
        self.both()
        self.tree.write('no-fork', '')
        self.fails_on_uas()
        self.driver_is('usb-storage')
        self.assertEqual(self.history(), '')
        os.unlink(self.tree.path('no-fork'))
        until(lambda: 'state=distrusted' in self.history(), 'it is on record')

    def test_request_without_process(self):
        "A user gets an error at once, and uasd goes on."
        self.both()
        self.tree.write('no-fork', '')
        said = self.ctl('policy', 'sdz', 'usb-storage', code=1).stderr
        self.assertIn('Resource temporarily unavailable', said)
        self.assertEqual(self.disk()['policy'], 'auto')
        os.unlink(self.tree.path('no-fork'))
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')

    def test_stopped_without_process(self):
        "When stopped meanwhile, uasd tries once more."
        self.warns('DISTRUSTED')
        daemon = self.both()
        self.tree.write('no-fork', '')
        self.fails_on_uas()
        self.driver_is('usb-storage')
        os.unlink(self.tree.path('no-fork'))
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0, self.journal())
        self.assertIn('state=distrusted', self.history())
        self.assertNotIn('cannot be put on record', self.journal())

    def test_in_order(self):
        "Later requests are written after it. A client gets the answer when its record is on the disk."
        self.distrusted_but_not_written()
        forget = self.start_ctl('forget', 'sdz')
        policy = self.start_ctl('policy', 'sdz', 'uas')
        self.assertEqual(self.disk()['policy'], 'auto')
        self.assertEqual((forget.poll(), policy.poll()), (None, None))
        self.fsync_goes_on()
        self.assertEqual((forget.wait(patience()), policy.wait(patience())), (0, 0), self.journal())
        self.assertEqual(self.disk()['policy'], 'uas')
        self.assertNotIn('distrusted', self.history())

    def test_forget_another(self):
        "While the record of one disk is removed, it does not count any more, and that of another one does."
        self.tree.disk('2-2', 'sdy', 'usb-storage', serial='S2')
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:5a5a:S{n}@0000:00:14.0/ss/{n}=state=distrusted firmware=0214 kernel=6.1.0-test boot=- date=- reason=it failed\n' for n in (1, 2)))
        self.both()
        until(lambda: self.driver_at('2-1') == 'usb-storage', 'it is moved')
        self.fsync_hangs()
        forget = self.start_ctl('forget', 'sdz')
        until(self.in_fsync, 'its record is being removed')
        self.pull('2-2')
        link = INTERFACE.replace('2-1', '2-2') + '/driver'
        os.unlink(self.tree.path(link))
        self.tree.link(link, 'sys/bus/usb/drivers/uas')
        self.put_back(7, '2-2')
        until(lambda: self.driver_at('2-2') == 'usb-storage', 'it is still distrusted')
        until(lambda: self.driver_at('2-1') == 'uas', 'the first one is not')
        self.assertIsNone(forget.poll())
        self.fsync_goes_on()
        self.assertEqual(forget.wait(patience()), 0)

    def test_forget_absent(self):
        "The record of a disk that is not plugged in is being removed. Plugged in meanwhile, this disk has none, and another one has its own."
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        for port in '2-1', '2-2':
            os.unlink(self.tree.path(f'sys/bus/usb/devices/{port}:1.0'))
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:5a5a:S{n}@0000:00:14.0/ss/{n}=state=distrusted firmware=0214 kernel=6.1.0-test boot=- date=- reason=it failed\n' for n in (1, 2)))
        self.both()
        self.fsync_hangs()
        forget = self.start_ctl('forget', '1209:5a5a:S1')
        until(self.in_fsync, 'its record is being removed')
        self.put_back(6)
        self.put_back(7, '2-2')
        until(lambda: self.driver_at('2-2') == 'usb-storage', 'it is still distrusted')
        [one] = [one for one in self.managed_disks() if one['Interface'] == '2-1:1.0']
        self.assertEqual((one['Driver'], one['State'], one['History']), ('uas', 'settled', ''))
        self.assertIsNone(forget.poll())
        self.fsync_goes_on()
        self.assertEqual(forget.wait(patience()), 0)

    def test_writer_dies(self):
        "The process that writes a record is killed: the user gets an error, and the next request is written."
        self.both()
        self.fsync_hangs()
        policy = self.start_ctl('policy', 'sdz', 'usb-storage', stderr=subprocess.PIPE)
        until(self.in_fsync, 'it is being written')
        [writer] = self.children(self.uasd)
        os.kill(int(writer), signal.SIGKILL)
        self.assertEqual(policy.wait(patience()), 1)
        self.assertIn('Cannot store the policy: Input/output error', policy.stderr.read())
        self.fsync_goes_on()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')

    def driver_at(self, port):
        return os.path.basename(os.path.realpath(self.tree.path(f'sys/bus/usb/devices/{port}:1.0/driver')))

    def test_etc_is_read_only(self):
        "The copy in /var counts, and the journal says that a boot may read it too late."
        self.warns('Cannot write /etc/uasd/policy')
        self.both()
        os.rename(self.tree.path('etc/uasd'), self.tree.path('etc/away'))
        self.tree.write('etc/uasd', '')
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['policy'], 'usb-storage')
        self.assertRegex(self.journal(), 'Cannot write /etc/uasd/policy: Not a directory.* too late')

    def test_stopped(self):
        "When stopped, uasd waits for such a disk only for a limited time. The record is still written."
        self.warns('DISTRUSTED', 'not everything that was to be kept is written yet', 'Cannot end the trials')
        daemon = self.both()
        self.fsync_hangs()
        self.fails_on_uas()
        until(self.in_fsync, 'its record is being written')
        self.driver_is('usb-storage')
        policy = self.start_ctl('policy', 'sdz', 'uas', stderr=subprocess.PIPE)
        until(lambda: 'wants: policy uas' in self.journal(), 'uasd has the request')
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0, self.journal())
        self.assertIn('uasd ends, and has not written this', policy.communicate()[1])
        self.assertEqual(policy.returncode, 1)
        self.fsync_goes_on()
        until(lambda: 'state=distrusted' in self.history(), 'it is on record')

    def test_stopped_in_a_request(self):
        "When stopped while the record of a client hangs, uasd says so. The record is still written."
        self.warns('not everything that was to be kept is written yet')
        daemon = self.both()
        self.fsync_hangs()
        policy = self.start_ctl('policy', 'sdz', 'usb-storage', stderr=subprocess.PIPE)
        until(self.in_fsync, 'its record is being written')
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0, self.journal())
        self.assertIn('uasd ends while this is being written', policy.communicate()[1])
        self.assertEqual(policy.returncode, 1)
        self.fsync_goes_on()
        until(lambda: os.path.exists(self.tree.path('etc/uasd/policy')), 'it is on record')

    def test_answered_by_the_stop(self):
        "When stopped while a client's record is written, uasd still answers the client."
        told = self.notified()
        daemon = self.both()
        self.fsync_hangs()
        client = self.start_ctl('policy', 'sdz', 'usb-storage')
        until(self.in_fsync, 'its record is being written')
        daemon.terminate()
        while told() != 'STOPPING=1':
            pass
        self.fsync_goes_on()
        self.assertEqual(client.wait(patience()), 0, self.journal())
        self.assertEqual(daemon.wait(patience()), 0, self.journal())
        with open(self.tree.path('sys/module/usb_storage/parameters/quirks')) as quirks:
            self.assertIn('1209:5a5a', quirks.read())


if __name__ == '__main__':
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: a disk is unplugged while uasd writes or reads something about it. ASan
detects the rest."""

import os
import signal
import time

from machine import Machine, let_pass, main, patience, stop, until

ABORT = 'sd 3:0:0:0: uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN'
COUNT = 'sys/block/sdz/device/iotmo_cnt'
LINK = 'sys/bus/usb/devices/2-1:1.0'
KEY = '1209:5a5a:S1@0000:00:14.0/ss/1'
WORDS = 'firmware=0214 kernel=6.1.0-test boot=00000000-0000-0000-0000-000000000001 date=- reason='


class Unplug(Machine):
    def setUp(self):
        super().setUp()
        self.tree.write(COUNT, '0x5\n')
        self.hears()

    def on_record(self, state):
        self.tree.write('etc/uasd/history', f'# \ngeneration=1\n{KEY}=state={state} {WORDS}\n')

    def says(self, number, ago):
        os.write(self.kmsg, b'6,%d,%d,-;%s\n SUBSYSTEM=scsi\n DEVICE=+scsi:3:0:0:0\n' %
                 (number, (time.monotonic() - ago) * 1000000, ABORT.encode()))

    def noted(self):
        "A sign of trouble, the first of two."
        self.says(1, 300)
        until(lambda: 'no distrust yet' in self.journal(), 'it is noted')

    def unplug(self):
        os.unlink(self.tree.path(LINK))
        self.look_again()

    def lives(self):
        "The disk is gone, and uasd still works."
        until(lambda: self.interfaces() == [], 'the disk is gone')
        self.put_back(6)

    def test_hold_left_behind(self):
        "The hold mark of a disk that was unplugged without a uasd is removed when uasd starts. That of a present disk stays."
        for interface, devnum in ('2-1:1.0', 5), ('2-9:1.0', 99):
            self.tree.write(f'run/uasd/hold/{interface}', f'BUSNUM=2\nDEVNUM={devnum}\nDEADLINE=99000000\n')
        self.both()
        self.assertEqual(os.listdir(self.tree.path('run/uasd/hold')), ['2-1:1.0'])

    def test_probed_again(self):
        "While uasd is stopped, the controller is probed again, and another disk gets the numbers of the first one. It inherits nothing."
        self.plays_switch('echo "END 0 done moved"')
        daemon = self.both()
        self.ctl('policy', 'sdz', 'ignore')
        self.ctl('switch', 'sdz', 'uas')
        self.assertEqual(self.disk()['reason_id'], 'override')
        first = self.tree.attachment()
        mark, strings = (self.tree.path(f'run/uasd/{folder}/{first}') for folder in ('attachment', 'strings'))
        until(lambda: os.path.exists(mark) and os.path.exists(strings), 'its files are there')
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)
        inode = first.split('-')[-1]
        self.tree.write('run/uasd/hold/2-1:1.0', f'BUSNUM=2\nDEVNUM=5\nINODE={inode}\nDEADLINE=99000000000000\n')
        self.tree.reprobe()
        self.tree.write(f'{LINK}/../serial', 'S2\n')
        self.start_on_bus()
        one = self.disk()
        self.assertEqual((one['serial'], one['policy'], one['reason_id']), ('S2', 'auto', 'unknown-bridge'))
        self.assertEqual([name for _, _, names in os.walk(self.tree.path('run/uasd')) for name in names if inode in name], [])
        self.assertEqual(os.listdir(self.tree.path('run/uasd/hold')), [])

    def test_not_readable(self):
        "An error while uasd reads a disk again does not mean that it has gone."
        self.both()
        path = self.tree.path('sys/bus/usb/devices/2-1/idVendor')
        os.rename(path, self.tree.path('away'))
        os.mkdir(path)
        self.look_again()
        until(self.heard, 'uasd reads it again')
        self.assertEqual(self.interfaces(), ['2-1'])
        os.rmdir(path)
        os.rename(self.tree.path('away'), path)

    def test_no_disk_any_more(self):
        "A keyboard is at its port before uasd looks."
        self.both()
        self.assertEqual(self.interfaces(), ['2-1'])
        self.tree.write(f'{LINK}/bInterfaceClass', '03\n')
        self.look_again()
        until(lambda: self.interfaces() == [], 'the disk is gone')

    def unplugged_in_fsync(self, n, scenario):
        "The disk is unplugged during fsync number n of a scenario."
        self.tree.write('at-fsync', '')
        scenario()
        for i in range(n):
            until(self.in_fsync, 'fsync number %d' % (i + 1))
            if i == n - 1:
                self.unplug()
                until(lambda: self.interfaces() == [], 'uasd sees that, and answers, in the middle of it')
                os.unlink(self.tree.path('at-fsync'))
            os.unlink(self.tree.path('in-fsync'))
        self.lives()

    # ---- scenarios: each writes the history, with four fsyncs for two files and two directories ----

    def distrusted(self, n):
        "It fails on uas twice."
        self.warns('DISTRUSTED')
        self.both()
        self.noted()
        self.unplugged_in_fsync(n, lambda: self.says(2, 0))

    def passed(self, n):
        "Its trial has ended."
        self.conf('[uasd]\nQuietSec=0\nTrialSec=1\n')
        self.on_record('trial')
        self.unplugged_in_fsync(n, self.both)

    def failed_switch(self, n):
        "A switch away from uas has failed, and the SCSI layer has counted an error that the log does not have."
        self.warns('DISTRUSTED', 'ROLLED_BACK')
        self.both()
        self.noted()
        self.tree.write('fails', '')
        self.tree.write('at-bind', '')
        self.switch('usb-storage')
        self.tree.write(COUNT, '0x9\n')
        self.unplugged_in_fsync(n, lambda: os.unlink(self.tree.path('at-bind')))

    def policy(self, n):
        "A user sets its policy."
        self.both()
        self.unplugged_in_fsync(n, lambda: self.start_ctl('policy', 'sdz', 'usb-storage'))

    def forgotten(self, n):
        "A user removes its history with forget."
        self.on_record('distrusted')
        self.both()
        self.unplugged_in_fsync(n, lambda: self.start_ctl('forget', 'sdz'))

    # ---- the same, at other moments ----

    def test_counted(self):
        "Unplugged while uasd reads the SCSI counters after a failed switch."
        self.warns('ROLLED_BACK', 'DISTRUSTED')
        self.both()
        self.noted()
        fifo = self.tree.path(COUNT)
        os.unlink(fifo)
        os.mkfifo(fifo)
        self.tree.write('fails', '')
        self.switch('usb-storage')
        fd = os.open(fifo, os.O_WRONLY)  # uasd reads it
        os.unlink(fifo)
        self.tree.write(COUNT, '0x9\n')
        self.unplug()
        os.write(fd, b'0x9\n')
        os.close(fd)
        self.lives()

    def test_passed_late(self):
        "The end of its trial is noticed in a query for another reason."
        seconds = round(patience(2))
        self.conf(f'[uasd]\nQuietSec=0\nTrialSec={seconds}\n')
        self.on_record('trial')
        daemon = self.both()
        self.assertEqual(self.disk()['state'], 'trial')
        stop(daemon)  # as on a busy machine
        self.fsync_hangs()
        let_pass(seconds)  # uasd measures it: the trial is over
        self.look_again()
        daemon.send_signal(signal.SIGCONT)
        until(self.in_fsync, 'it is put on record')
        self.unplug()
        self.fsync_goes_on()
        self.lives()


def one(scenario, n):
    return lambda self: getattr(self, scenario)(n)


for scenario in 'distrusted', 'passed', 'failed_switch', 'policy', 'forgotten':
    for n in 1, 2, 3, 4:
        setattr(Unplug, f'test_{scenario}_{n}', one(scenario, n))

if __name__ == '__main__':
    main()

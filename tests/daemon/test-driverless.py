#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: disks without a driver."""

import array
import fcntl
import os
import shutil
import subprocess
import termios

from machine import SWITCH, Machine, main, until
from tree import BOT_ALONE, INTERFACES, UAS_ALONE


class Driverless(Machine):
    def setUp(self):
        super().setUp()
        self.bind(None)

    # A request while a driver may still be bound

    def test_request(self):
        "The request is done when the driver is bound."
        self.both()
        self.assertEqual(self.disk()['reason_id'], 'just-unbound')
        self.ctl('switch', 'sdz', 'usb-storage', '--wait=40')
        self.assertEqual(self.disk()['driver'], 'usb-storage')

    def test_request_cancelled(self):
        self.both()
        path = self.switch()
        self.assertEqual(self.job()[1]['State'], 'waiting')
        self.assertEqual(self.cancel_job(path).returncode, 0)
        self.assertEqual(self.job(), (None, {}))

    def test_request_refused(self):
        "Without a driver the request is not fulfilled."
        self.tree.write('sys/bus/usb/devices/2-1/authorized', '0\n')
        self.both()
        self.assertIn('not authorized', self.ctl('switch', 'sdz', 'usb-storage', '--wait=40', code=6).stderr)

    # At plug-in, before the kernel binds usb-storage

    def test_log_is_read(self):
        "uasd reads the boot's records now. After the bind delay_use has no time for that."
        for number in range(3):
            os.write(self.kmsg, b'6,%d,%d,-;usb 2-1: Product: Disk\n' % (number, number))
        self.both()
        left = array.array('i', [0])
        until(lambda: fcntl.ioctl(self.kmsg, termios.FIONREAD, left) == 0 and left[0] == 0, 'all of it has been read')
        self.assertEqual(self.disk()['reason_id'], 'just-unbound')

    # The module uas

    def looks(self):
        """How often uasd has asked libkmod about the module: it gives the child that does that 10 s."""
        try:
            with open(self.tree.path('limits')) as f:
                return f.read().split().count('10000000')
        except FileNotFoundError:
            return 0

    def starts(self, driver, interfaces=INTERFACES):
        """uasd for this disk. The module is not loaded."""
        self.bind(driver)
        shutil.rmtree(self.tree.path('sys/bus/usb/drivers/uas'))
        with open(self.tree.path('sys/bus/usb/devices/2-1/descriptors'), 'r+b') as f:
            device = f.read(18)
            f.seek(0)
            f.truncate()
            f.write(device + interfaces)
        self.hears()
        self.both()

    def is_read_again(self, speed=480):
        self.tree.write('sys/bus/usb/devices/2-1/speed', f'{speed}\n')
        self.look_again()
        until(lambda: self.managed_disks()[0]['SpeedMbps'] == speed, 'it has been read again')

    def asks_again(self, interfaces):
        self.starts('usb-storage', interfaces)
        before = self.looks()
        self.is_read_again()
        return self.looks() - before

    def test_asks_for_both_protocols(self):
        self.assertEqual(self.asks_again(INTERFACES), 1)

    def test_asks_nothing_without_uas(self):
        self.assertEqual(self.asks_again(BOT_ALONE), 0)

    def asks_ahead(self, interfaces, times):
        "Also if events of the disk come."
        self.starts(None, interfaces)
        for speed in 480, 5000:
            self.is_read_again(speed)
            looks = self.looks()
            if self.disk()['reason_id'] != 'just-unbound':
                self.skipTest('the machine is slower than the 5 s that a disk has to get a driver')
            self.assertEqual(looks, times)

    def test_asks_once_ahead(self):
        "uasd asks before usb-storage is bound, and uses the answer after that."
        self.asks_ahead(INTERFACES, 1)
        self.bind('usb-storage')
        self.is_read_again()
        self.assertEqual(self.looks(), 1)

    def test_asks_nothing_ahead_without_uas(self):
        self.starts(None, BOT_ALONE)
        self.is_read_again()
        self.assertEqual(self.looks(), 0)

    def test_asks_nothing_ahead_without_bot(self):
        self.asks_ahead(UAS_ALONE, 0)

    # The remains of a switch that was killed and cannot be recovered

    def test_record_stays(self):
        "Its record does not prevent another try."
        self.play(SWITCH.replace('#!/bin/sh\n', '#!/bin/sh\ncase "$*" in *--recover*) exit 1;; esac\n', 1))
        gone = subprocess.Popen(['true'])
        gone.wait()
        self.tree.write('run/uasd/switch/2-1:1.0', f'PID={gone.pid}\nBUSNUM=2\nDEVNUM=5\nFROM=uas\nTO=usb-storage\nSTEP=bind\nDISKS=1\nMOVED=1\n')
        self.both()
        self.driver_is('uas', 60)

    def test_entry_stays(self):
        "uasd removes the entry of a bind at the next update of the quirks, even if the disk is gone."
        path = 'sys/module/usb_storage/parameters/quirks'
        self.tree.write('run/uasd/quirks.bind', 'ENTRY=dead:beef:u\n')
        self.tree.write(path, 'dead:beef:u,1:2:f,dead:beef:u\n')
        self.both()
        with open(self.tree.path(path)) as f:
            self.assertEqual(f.read(), '1:2:f,dead:beef:u')
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/quirks.bind')))


if __name__ == '__main__':
    main()

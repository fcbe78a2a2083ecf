#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: disks that have no driver."""

import os
import subprocess

from machine import SWITCH, Machine, main


class Driverless(Machine):
    def setUp(self):
        super().setUp()
        self.bind(None)

    # What is asked for in the moment in which a driver may still come

    def test_request(self):
        "It is done when it is done."
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
        "No driver is not the driver that was asked for."
        self.tree.write('sys/bus/usb/devices/2-1/authorized', '0\n')
        self.both()
        self.assertIn('not authorized', self.ctl('switch', 'sdz', 'usb-storage', '--wait=40', code=6).stderr)

    # What a switch leaves that was killed, and cannot be put in order

    def test_record_stays(self):
        "Its record keeps nobody from trying again."
        self.play(SWITCH.replace('#!/bin/sh\n', '#!/bin/sh\ncase "$*" in *--recover*) exit 1;; esac\n', 1))
        gone = subprocess.Popen(['true'])
        gone.wait()
        self.tree.write('run/uasd/switch/2-1:1.0', f'PID={gone.pid}\nBUSNUM=2\nDEVNUM=5\nFROM=uas\nTO=usb-storage\nSTEP=bind\nDISKS=1\nMOVED=1\n')
        self.both()
        self.driver_is('uas', 60)

    def test_entry_stays(self):
        "uasd takes out the entry of a bind as soon as it looks after the quirks, whether the disk is there or not."
        path = 'sys/module/usb_storage/parameters/quirks'
        self.tree.write('run/uasd/quirks.bind', 'ENTRY=dead:beef:u\n')
        self.tree.write(path, 'dead:beef:u,1:2:f,dead:beef:u\n')
        self.both()
        with open(self.tree.path(path)) as f:
            self.assertEqual(f.read(), '1:2:f,dead:beef:u')
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/quirks.bind')))


if __name__ == '__main__':
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the end of the boot, as PID 1 reports it, and the time before."""

import os
import socket
import subprocess
import sys
import time

from machine import Machine, main, patience, until

FAKE_PID1 = sys.argv[3]
OVER = 'uasd: the boot is over'


class Boot(Machine):
    def pid1(self):
        """It listens, and answers when the test orders it."""
        os.makedirs(self.tree.path('run/systemd/system'))
        p = self.start([FAKE_PID1, self.tree.path('run/systemd/private')], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'ready\n')
        return p

    def order(self, pid1, line):
        pid1.stdin.write(line + '\n')
        pid1.stdin.flush()

    def is_asked(self, pid1):
        for line in pid1.stdout:
            if line == 'SystemState\n':
                return
        raise AssertionError('PID 1 has gone')

    def starts_in_time(self):
        """uasd is ready long before sd-bus would give up a handshake. The unused disk waits."""
        began = time.monotonic()
        self.daemon = self.both()
        self.assertLess(time.monotonic() - began, patience())
        self.switch()
        self.assertEqual(self.disk()['state'], 'waiting')

    def still_starting(self):
        self.assertNotIn(OVER, self.journal())
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertFalse(os.path.exists(self.tree.path('moving')))

    def test_busy(self):
        "PID 1 is slow with its first answer: until then no disk is claimed. After that it is starting, and reports the end."
        pid1 = self.pid1()
        self.starts_in_time()
        self.still_starting()
        self.order(pid1, 'answer')
        self.is_asked(pid1)
        self.still_starting()
        self.order(pid1, 'finished')
        self.driver_is('usb-storage')
        self.assertIn(OVER, self.journal())

    def test_hangs_up(self):
        "PID 1 re-executes in the middle of a boot: uasd asks again, and the boot is not over."
        pid1 = self.pid1()
        self.order(pid1, 'answer')
        self.starts_in_time()
        self.is_asked(pid1)
        for _ in range(2):
            self.order(pid1, 'hang up')
            self.is_asked(pid1)
            self.still_starting()
        self.order(pid1, 'state degraded')
        self.order(pid1, 'hang up')
        self.driver_is('usb-storage')

    def test_unreachable(self):
        "systemd has no socket yet: uasd asks again until it has one."
        os.makedirs(self.tree.path('run/systemd/system'))
        self.starts_in_time()
        until(lambda: 'asking again in 2 s' in self.journal(), 'it is asked again')
        self.still_starting()
        self.hurry()
        pauses = [1000, 2000, 4000, 8000, 16000, 30000, 30000]
        until(lambda: [one for one in self.pauses() if one >= 1000][:7] == pauses, 'it is asked each 30 s')
        self.assertEqual([one['PRIORITY'] for one in self.entries() if 'asking again in ' in one['MESSAGE']][:3], ['5', '7', '7'])
        self.still_starting()
        os.rmdir(self.tree.path('run/systemd/system'))
        pid1 = self.pid1()
        self.order(pid1, 'state running')
        self.order(pid1, 'answer')
        self.driver_is('usb-storage')

    def test_full(self):
        "The queue of PID 1 is full, so it accepts no connection: uasd asks again."
        pid1 = self.pid1()
        clients = []
        while True:
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            self.addCleanup(client.close)
            clients.append(client)
            try:
                client.connect(self.tree.path('run/systemd/private'))
            except BlockingIOError:
                break
        self.starts_in_time()
        self.still_starting()
        for client in clients:
            client.close()
        self.order(pid1, 'state running')
        self.order(pid1, 'answer')
        self.driver_is('usb-storage')

    def test_never(self):
        "PID 1 never answers: uasd still stops at once."
        self.pid1()
        self.starts_in_time()
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(patience()), 0)

    def test_refused_while_starting(self):
        "A disk that may be about to be mounted is neither ejected nor leased."
        pid1 = self.pid1()
        self.order(pid1, 'answer')
        self.both()
        self.is_asked(pid1)
        for method in 'Eject', 'Lease':
            p = self.call_disk(method, 'a{sv}', '0')
            self.assertIn('2-1:1.0: the machine is still starting, and may be about to mount it.', p.stderr)
        self.order(pid1, 'finished')
        until(lambda: OVER in self.journal(), 'the boot is over')
        self.plays_ejecting()
        self.assertEqual(self.call_disk('Eject', 'a{sv}', '0').returncode, 0)

    def plays_ejecting(self):
        self.play('#!/bin/sh\necho "END 0 eject It may be unplugged."\n')

    def test_going_down(self):
        "uasd starts while the machine goes down: nothing begins, and requests are refused. Others are answered."
        self.bind('usb-storage')
        os.unlink(self.tree.path('sys/module/usb_storage/parameters/quirks'))
        pid1 = self.pid1()
        self.order(pid1, 'state stopping')
        self.order(pid1, 'answer')
        self.both()
        until(lambda: OVER in self.journal(), 'PID 1 has answered')
        for method, args in ('Switch', ['sa{sv}', 'uas', '0']), ('Eject', ['a{sv}', '0']), ('Lease', ['a{sv}', '0']):
            p = self.call_disk(method, *args)
            self.assertIn('The machine is going down.', p.stderr, method)
        for policy in 'ignore', 'usb-storage', 'auto':
            self.ctl('policy', 'sdz', policy)
        self.assertFalse(os.path.exists(self.tree.path('units')), 'PID 1 is not asked to load a module')
        one = self.disk()
        self.assertEqual((one['driver'], one['state'], os.path.exists(self.tree.path('moving'))), ('usb-storage', 'waiting', False))

    def test_boot_entry(self):
        """UAS has failed with a disk: the unit that writes boot entries is started at the end of the boot, and again after a change
        of the file, once each time. While the machine goes down it is not."""
        self.conf('[uasd]\nQuietSec=0\nBootEntry=auto\n')
        self.tree.write('etc/uasd/history', '1209:5a5a:S1@0000:00:14.0/ss/1=state=distrusted firmware=0214 kernel=6.1.0-test '
                        'boot=- date=- reason=it failed\n')
        self.bind('usb-storage')
        self.tree.write('boot/cmdline.txt', 'rootwait\n')
        asked = 'PID 1 is asked to start uasd-boot-entry.service'
        self.hurry()
        pid1 = self.pid1()
        self.order(pid1, 'answer')
        daemon = self.both()
        self.is_asked(pid1)
        self.disk()
        self.assertNotIn(asked, self.journal())
        for times in 1, 2:
            if times == 1:
                self.order(pid1, 'finished')
            else:
                self.tree.write('boot/cmdline.txt', 'quiet\n')
            self.assertIn('StartUnit uasd-boot-entry.service\n', iter(pid1.stdout.readline, ''))
            self.tree.write('run/uasd/hold/2-1:1.0', '')  # its end makes uasd think again
            os.unlink(self.tree.path('run/uasd/hold/2-1:1.0'))
            self.managed_disks()
            until(lambda: self.at_rest(daemon), 'nothing more is to be done')
            self.assertEqual(self.journal().count(asked), times)
        daemon.terminate()
        daemon.wait(patience())
        self.order(pid1, 'state stopping')
        daemon = self.start_on_bus()
        until(lambda: self.journal().count(OVER) == 2 and self.at_rest(daemon), 'PID 1 has answered')
        self.assertEqual(self.journal().count(asked), 2)

    def test_none(self):
        "Without systemd there is no boot to wait for."
        self.both()
        self.switch()
        self.driver_is('usb-storage')


if __name__ == '__main__':
    main(programs=3)

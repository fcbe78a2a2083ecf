#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder: its messages to PID 1's watchdog."""

import os
import select
import socket

from machine import Machine, main, until

REST = 'WATCHDOG_USEC=0'


class Watchdog(Machine):
    def begin(self, seconds):
        """uasd with a watchdog of so many seconds, at rest."""
        path = os.path.join(self.dir, 'notify')
        self.pid1 = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.pid1.close)
        self.pid1.bind(path)
        self.env.update(NOTIFY_SOCKET=path, WATCHDOG_USEC=str(seconds * 1000000))
        self.hears()
        self.daemon = self.both()
        self.settle()

    def settle(self):
        """Waits until uasd is at rest. Returns all messages up to then."""
        told = []

        def rests():
            rest = self.at_rest(self.daemon)
            while select.select([self.pid1], [], [], 0)[0]:
                told.append(self.pid1.recv(4096).decode())
            return rest and told[-1:] == [REST]
        until(rests, 'it is at rest')
        return told

    def test_at_rest(self):
        """uasd starts the watchdog before it handles an event, and switches it off at rest. So no wake-up is needed to report
        that uasd lives."""
        self.begin(60)
        self.assertTrue(self.at_rest(self.daemon))
        self.look_again()
        self.assertEqual(self.settle(), ['WATCHDOG_USEC=60000000\nWATCHDOG=1', REST])
        self.ctl('list')
        self.assertEqual(self.settle(), ['WATCHDOG_USEC=60000000\nWATCHDOG=1', REST])

    def test_busy(self):
        "During continuous events it sends four messages in each period."
        self.begin(2)
        for _ in range(30):
            self.look_again()
            until(lambda: self.disk(), 'it answers')
        told = self.settle()
        self.assertEqual(set(told), {'WATCHDOG_USEC=2000000\nWATCHDOG=1', REST})
        self.assertLess(len(told), 30)


if __name__ == '__main__':
    main()

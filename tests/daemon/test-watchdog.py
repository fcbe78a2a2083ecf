#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder: its messages to PID 1's watchdog."""

import os
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
        self.both()
        self.settle()

    def told(self):
        """The next message; None: none within two seconds."""
        self.pid1.settimeout(2)
        try:
            return self.pid1.recv(4096).decode()
        except TimeoutError:
            return None

    def settle(self):
        """Waits until uasd has been at rest for two seconds. Returns all messages up to then."""
        told = list(iter(self.told, None))
        self.assertEqual(told[-1], REST)
        return told

    def test_at_rest(self):
        """uasd starts the watchdog before it handles an event, and switches it off at rest. So no wake-up is needed to report
        that uasd lives."""
        self.begin(60)
        self.assertIsNone(self.told())
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

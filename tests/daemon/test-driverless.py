#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: disks that have no driver."""

import importlib.util
import os
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location('machine', os.path.join(HERE, 'test-daemon.py'))
machine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(machine)
until = machine.until

DEVICE = 'sys/bus/usb/devices/2-1'


class Driverless(unittest.TestCase):
    maxDiff = None

    for name in 'start start_bus start_daemon busctl on_bus both ctl journal disk managed job switch'.split():
        locals()[name] = getattr(machine.Daemon, name)

    def setUp(self):
        machine.Daemon.setUp(self)
        os.unlink(self.tree.path(DEVICE + ':1.0/driver'))

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
        self.assertEqual(self.busctl('call', 'org.uasd1', path, 'org.uasd1.Job', 'Cancel').returncode, 0)
        self.assertEqual(self.job(), (None, {}))

    def test_request_refused(self):
        "No driver is not the driver that was asked for."
        self.tree.write(DEVICE + '/authorized', '0\n')
        self.both()
        self.assertIn('not authorized', self.ctl('switch', 'sdz', 'usb-storage', '--wait=40', code=6).stderr)


if __name__ == '__main__':
    machine.main()

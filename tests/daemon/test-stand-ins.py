#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The stand-ins for PID 1, logind and polkit keep to what stand_ins.py says of the real ones.

    test-stand-ins.py FAKE-PID1 FAKE-LOGIND FAKE-POLKIT
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../ctl'))
import privatebus  # noqa: E402
import stand_ins  # noqa: E402
from patience import patience  # noqa: E402

FAKE_PID1, FAKE_LOGIND, FAKE_POLKIT = map(os.path.abspath, sys.argv[1:4])


class StandIns(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def start(self, *program, address=None):
        """The stand-in, and the bus on which it is."""
        env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=address or privatebus.address(self.dir), LC_ALL='C')
        if not address:
            bus = privatebus.start(self.dir)
            self.addCleanup(lambda: privatebus.kill(bus))
        p = subprocess.Popen(program, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (p.stdin.close(), p.stdout.close()))
        self.addCleanup(lambda: privatebus.kill(p))
        self.assertEqual(p.stdout.readline(), 'ready\n')

        def run(command):
            done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience())
            return done.returncode, done.stdout, done.stderr
        return p, stand_ins.Bus(run, exact=True, root=stand_ins.POLKIT[0], private=env['DBUS_SYSTEM_BUS_ADDRESS'].partition('=')[2])

    def order(self, p, *lines):
        p.stdin.write(''.join(line + '\n' for line in lines))
        p.stdin.flush()

    def test_pid1(self):
        socket = os.path.join(self.dir, 'private')
        p, bus = self.start(FAKE_PID1, socket, address='unix:path=' + socket)
        self.order(p, 'answer', 'loaded 12345678', 'array 99', f'unit {stand_ins.WAITING} 7 {stand_ins.NEVER} 90000000',
                   f'unit {stand_ins.STOPPED} 0 {stand_ins.NEVER} {stand_ins.NEVER}')

        def end_jobs():
            for call in p.stdout:
                if call == f'StartUnit {stand_ins.ENDS}\n':
                    self.order(p, 'job')
        threading.Thread(target=end_jobs, daemon=True).start()
        stand_ins.check(bus, stand_ins.PID1)

    def test_logind(self):
        p, bus = self.start(FAKE_LOGIND)
        stand_ins.check(bus, stand_ins.LOGIND)
        self.order(p, 'sleep')
        stand_ins.none_while_asleep(bus)
        self.order(p, 'wake')
        stand_ins.inhibitor(bus)

    def test_polkit(self):
        p, bus = self.start(FAKE_POLKIT)
        answering = threading.Thread(target=lambda: p.stdout.readline() and self.order(p, 'yes'))
        answering.start()
        stand_ins.check(bus, stand_ins.POLKIT)
        answering.join()


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl -H: an ssh that leads to a private bus with fake-uasd. Nothing of this machine is shown."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import privatebus
from patience import patience

UASCTL, FAKE = sys.argv[1:3]


class Host(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(self.dir))
        self.env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=privatebus.address(self.dir), LC_ALL='C.UTF-8')
        bus = privatebus.start(self.dir)
        self.addCleanup(lambda: privatebus.kill(bus))

    def start(self):
        self.daemon = subprocess.Popen([FAKE], env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(self.daemon))
        self.assertEqual(self.asked(), 'ready')

    def asked(self):
        """The next call to the daemon."""
        return self.daemon.stdout.readline().rstrip('\n')

    def far(self, *args, code=0, bus=None):
        """uasctl with that ssh, and without a bus here."""
        ssh = os.path.join(self.dir, 'bin/ssh')
        os.makedirs(os.path.dirname(ssh), exist_ok=True)
        with open(ssh, 'w') as f:
            f.write(f'#!/bin/sh\necho "$*" >>{self.dir}/ssh-asked\n'
                    f'exec systemd-stdio-bridge -p {bus or privatebus.address(self.dir)}\n')
        os.chmod(ssh, 0o755)
        env = {**self.env, 'PATH': f'{self.dir}/bin:{os.environ["PATH"]}', 'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/nonexistent',
               'SYSTEMD_SSH': ssh}
        p = subprocess.run([UASCTL, *args], env=env, capture_output=True, text=True, timeout=patience(30), stdin=subprocess.DEVNULL)
        self.assertEqual(p.returncode, code, f'{args}: {p.stdout}{p.stderr}')
        return p

    def test_verbs(self):
        self.start()
        here = json.loads(subprocess.run([UASCTL, '--json'], env=self.env, capture_output=True, check=True).stdout)
        self.assertEqual(json.loads(self.far('-H', 'root@nas', 'list', '--json').stdout), here)
        with open(os.path.join(self.dir, 'ssh-asked')) as f:
            self.assertRegex(f.read(), r'^.*-- root@nas .*systemd-stdio-bridge.*\n$')
        self.assertEqual(len(self.far('--host=nas', 'list', '--tree', '--no-legend').stdout.splitlines()), 10)
        self.assertIn('State: settled', self.far('-H', 'nas', 'status', 'sda').stdout)
        self.assertIn('It runs on its new driver.', self.far('-H', 'nas', 'switch', 'sda', 'uas', '--wait').stderr)
        self.assertEqual(self.asked(), 'Switch 2-1:1.0 uas')
        self.far('-H', 'nas', 'switch', 'sdc', 'uas', code=7)
        self.assertEqual(self.asked(), 'Switch 2-3:1.0 uas')
        for verb in 'cancel', 'forget', 'release':
            self.far('-H', 'nas', verb, 'sda')
            self.assertEqual(self.asked(), f'{verb.capitalize()} 2-1:1.0')
        self.far('-H', 'nas', 'policy', 'sda', 'uas')
        self.assertEqual(self.asked(), 'SetPolicy 2-1:1.0 uas')
        self.assertEqual(self.far('-H', 'nas', 'policy', 'sda').stdout, 'uas\n')
        self.far('-H', 'nas', 'wait', 'sda')
        self.far('-H', 'nas', 'wait', 'sdi', '--wait=0', code=3)
        self.far('-H', 'nas', 'status', 'sdz', code=4)
        self.far('-H', 'nas', 'status', 'sda1', code=4)
        self.assertIn('path of this machine', self.far('-H', 'nas', 'status', '/dev/null', code=2).stderr)

    def test_without_daemon(self):
        """Without the remote daemon every verb fails. The disks of this machine do not replace those of the other one."""
        for args in ['list'], ['status'], ['policy', 'sda'], ['wait', 'sda'], ['switch', 'sda', 'uas'], ['monitor']:
            p = self.far('-H', 'nas', *args, code=1)
            self.assertEqual((p.stdout, p.stderr), ('', 'uasctl: nas: uasd is not running\n'))
            p = self.far('-H', 'nas', *args, code=1, bus='unix:path=/nonexistent')
            self.assertEqual(p.stdout, '')
            self.assertEqual(p.stderr.splitlines()[-1], 'uasctl: nas: ssh cannot reach its system bus')

    def test_no_ssh(self):
        """A missing tool is not an unreachable machine."""
        env = {**self.env, 'PATH': self.dir + '/none:' + self.dir}
        env.pop('SYSTEMD_SSH', None)
        p = subprocess.run([UASCTL, '-H', 'nas', 'list'], env=env, capture_output=True, text=True, timeout=patience(30), stdin=subprocess.DEVNULL)
        self.assertEqual((p.returncode, p.stdout), (77, ''))
        self.assertEqual(p.stderr.splitlines()[-1], 'uasctl: nas: ssh is not installed (openssh-client)')

    def test_looks_here(self):
        """Verbs that read the machine itself report an error, and make no call."""
        for args in ['explain', 'sda'], ['db', 'sda'], ['log'], ['metrics'], ['report'], ['switch', '--dry-run', 'sda'], ['policy', '--kernel']:
            p = self.far('-H', 'nas', *args, code=2)
            self.assertEqual(p.stdout, '')
            self.assertIn(f'For the other one: ssh nas uasctl {args[0]}', p.stderr)
        self.far('--host=', 'list', code=2)
        self.assertFalse(os.path.exists(os.path.join(self.dir, 'ssh-asked')))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

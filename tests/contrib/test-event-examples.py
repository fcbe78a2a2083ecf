#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each hook of contrib/event.d, with a program or server in place of the one that it uses."""

import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from email import message_from_bytes, policy

HOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../contrib/event.d')
NAMES = sorted(os.listdir(HOOKS))
FACTS = {
    'UASD_EVENT': 'distrusted', 'UASD_DISK': 'sda', 'UASD_INTERFACE': '2-1:1.0', 'UASD_MODEL': 'Gerät $(touch forged) "x"', 'UASD_FROM': 'uas',
    'UASD_TO': 'usb-storage', 'UASD_REASON': 'distrusted', 'UASD_TIME': '2026-11-29T02:16:00+0100',
    'UASD_MESSAGE': "sda: it failed under uas and is distrusted: `touch forged` it's -n %s",
}
HOST = os.uname().nodename


class Examples(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(self.dir))
        os.chmod(self.dir, 0o755)

    def path(self, name):
        return os.path.join(self.dir, name)

    def program(self, name, script):
        with open(self.path(name), 'w') as file:
            file.write('#!/bin/sh\n' + script)
        os.chmod(self.path(name), 0o755)

    def read(self, name):
        with open(self.path(name), 'rb') as file:
            return file.read()

    def run_hook(self, name, code=0, **more):
        env = {'PATH': self.dir + ':/usr/sbin:/usr/bin:/sbin:/bin', **FACTS, **more}  # nothing else, as from uasd
        p = subprocess.run([os.path.join(HOOKS, name)], env=env, capture_output=True, cwd=self.dir, timeout=60)
        self.assertEqual(p.returncode == 0, code == 0, (p.stdout, p.stderr))
        self.assertNotIn('forged', os.listdir(self.dir))

    def test_mail(self):
        self.program('sendmail', f'echo "$*" >{self.dir}/args; cat >{self.dir}/mail\n')
        self.run_hook('mail')
        self.assertEqual(self.read('args'), b'-i -t\n')
        mail = message_from_bytes(self.read('mail'), policy=policy.default)
        self.assertEqual((mail['To'], mail['Subject'], mail['Auto-Submitted']), ('root', f'uasd on {HOST}: sda distrusted', 'auto-generated'))
        body = mail.get_content()
        self.assertEqual(body.splitlines()[0], FACTS['UASD_MESSAGE'])
        self.assertIn('Disk: Gerät $(touch forged) "x", sda, port 2-1:1.0\nTime: 2026-11-29T02:16:00+0100\n', body)
        self.assertIn('uasctl explain 2-1:1.0', body)

    def test_mail_is_refused(self):
        self.program('sendmail', 'exit 75\n')
        self.run_hook('mail', code=75)

    def test_wall(self):
        self.program('wall', f'cat >{self.dir}/said\n')
        self.run_hook('wall')
        self.assertEqual(self.read('said').decode(), f'uasd: {FACTS["UASD_MODEL"]}: {FACTS["UASD_MESSAGE"]}\n')

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which('setpriv'), 'it becomes another user: needs root and setpriv')
    def test_desktop(self):
        "Each user with a session gets it, as that user. One whose program fails is no reason to leave out the next."
        for user in 4001, 4002:
            os.makedirs(self.path(f'users/{user}'))
            open(self.path(f'users/{user}/bus'), 'w').close()
            os.chown(self.path(f'users/{user}/bus'), user, user)
        os.makedirs(self.path('users/4003'))  # no bus
        os.mkdir(self.path('said'))
        os.chmod(self.path('said'), 0o1777)
        self.program('notify-send', f'for one; do echo "$one"; done >{self.dir}/said/$(id -u)\n'
                                    f'echo "$(id -g) $(id -G) $DBUS_SESSION_BUS_ADDRESS" >>{self.dir}/said/$(id -u)\ntest $(id -u) != 4001\n')
        self.run_hook('desktop', UASD_RUN_USER=self.path('users'))
        self.assertEqual(sorted(os.listdir(self.path('said'))), ['4001', '4002'])
        self.assertEqual(self.read('said/4002').decode().splitlines(), [
            '--app-name=uasd', '--icon=drive-harddisk-usb', '--urgency=critical', '--', FACTS['UASD_MODEL'] + ' (distrusted)', FACTS['UASD_MESSAGE'],
            f'4002 4002 unix:path={self.dir}/users/4002/bus'])

    def serve(self, status):
        got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                got.append((self.path, dict(self.headers), self.rfile.read(int(self.headers['Content-Length'])).decode()))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        with open(self.path('ntfy'), 'w') as file:
            file.write(f'url = "http://127.0.0.1:{server.server_port}/topic"\nheader = "Authorization: Bearer secret"\n')
        return got

    @unittest.skipUnless(shutil.which('curl'), 'no curl')
    def test_ntfy(self):
        got = self.serve(200)
        self.run_hook('ntfy', UASD_NTFY=self.path('ntfy'))
        [(path, headers, body)] = got
        self.assertEqual((path, body), ('/topic', f'{FACTS["UASD_MODEL"]}: {FACTS["UASD_MESSAGE"]}'))
        self.assertEqual((headers['Title'], headers['Priority'], headers['Authorization']),
                         (f'uasd on {HOST}: sda distrusted', 'high', 'Bearer secret'))

    @unittest.skipUnless(shutil.which('curl'), 'no curl')
    def test_ntfy_refuses(self):
        self.serve(403)
        self.run_hook('ntfy', code=22, UASD_NTFY=self.path('ntfy'))

    @unittest.skipUnless(shutil.which('shellcheck'), 'no shellcheck')
    def test_shellcheck(self):
        p = subprocess.run(['shellcheck', '-s', 'sh', *(os.path.join(HOOKS, name) for name in NAMES)], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout)

    def test_all(self):
        "Each of them has a test here, is a program, and is installed."
        with open(os.path.join(HOOKS, '../meson.build')) as file:
            installed = file.read()
        for name in NAMES:
            self.assertTrue(hasattr(self, 'test_' + name), name)
            self.assertTrue(os.access(os.path.join(HOOKS, name), os.X_OK), name)
            self.assertIn(f"'event.d/{name}'", installed)


if __name__ == '__main__':
    sys.exit(unittest.main(verbosity=2))

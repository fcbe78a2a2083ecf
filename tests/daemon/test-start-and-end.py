#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder: what PID 1 and a user see of its start and its end."""

import fcntl
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import termios
import unittest.mock

from machine import HELLO, TOP, UASD, Machine, main, patience, privatebus, process_state, stop, until
from tree import BOOT

SEVERAL = 8000


def call(serial):
    """A call of Introspect: its answer is long, and uasd's socket has room for 16 MB."""
    fields = b''
    for code, kind, value in (1, b'o', b'/org/uasd1'), (2, b's', b'org.freedesktop.DBus.Introspectable'), (3, b's', b'Introspect'):
        fields += b'\0' * (-len(fields) % 8) + bytes([code, 1]) + kind + b'\0' + struct.pack('<I', len(value)) + value + b'\0'
    header = b'l\1\0\1' + struct.pack('<III', 0, serial, len(fields)) + fields
    return header + b'\0' * (-len(header) % 8)


class Stop(Machine):
    def test_told(self):
        "PID 1 hears when uasd is ready, and when it stops. Both signals stop it, and it has no error."
        told = self.notified()
        for number in signal.SIGTERM, signal.SIGINT:
            daemon = self.start_daemon()
            self.assertEqual(told(), 'READY=1\nSTATUS=Looking after USB disks')
            self.assertTrue(os.path.exists(self.tree.path('run/uasd/private')))
            daemon.send_signal(number)
            self.assertEqual(told(), 'STOPPING=1')
            self.assertEqual(daemon.wait(patience()), 0)
            self.assertNotIn('cannot go on', self.journal())

    def trial(self):
        with open(self.tree.path('etc/uasd/history')) as file:
            return re.search('=state=([a-z]+) ', file.read())[1]

    def test_trials(self):
        "Nobody watches a trial after uasd, so that ends it: also where systemd runs, as uasd-trials.service may not be installed. A second uasd does not."
        self.warns('another uasd is at work already')
        for systemd in False, True:
            with self.subTest(systemd=systemd):
                if systemd:
                    os.makedirs(self.tree.path('run/systemd/system'))
                self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 '
                                f'kernel=6.1.0-test boot={BOOT} date=- reason=-\n')
                daemon = self.start_daemon()
                until(lambda: os.path.exists(self.tree.path('run/uasd/private')), 'it listens')
                second = self.start([UASD, self.tree.top], stderr=self.said)
                self.assertEqual(second.wait(patience()), 1)
                self.assertEqual(self.trial(), 'trial')
                daemon.terminate()
                self.assertEqual(daemon.wait(patience()), 0)
                self.assertEqual(self.trial(), 'ended')
                os.unlink(self.tree.path('run/uasd/private'))

    def uasd(self, *args, **more):
        p = subprocess.run([UASD, self.tree.top, *args], env=self.env, capture_output=True, text=True, timeout=patience(), **more)
        return p.returncode, p.stdout, p.stderr

    def test_arguments(self):
        with open(os.path.join(TOP, 'meson.build')) as file:
            version = re.search(r"(?m)^  version: '(.*?)'", file.read())[1]
        self.assertEqual(self.uasd('--version'), (0, f'uasd {version}\n', ''))
        self.warns('uasd takes no arguments.')
        for args in ['--version', 'x'], ['--help'], ['start'], ['--event']:
            code, out, err = self.uasd(*args)
            self.assertEqual((code, out), (2, ''), args)
            self.assertIn('uasd takes no arguments. See uasd(8).', err)

    @unittest.skipUnless(os.geteuid() == 0, 'only root can be another user')
    def test_not_root(self):
        os.chmod(self.tree.top, 0o755)
        code, out, err = self.uasd(user=pwd.getpwnam('nobody').pw_uid)
        self.assertEqual((code, out), (1, ''))
        self.assertIn('only root can run uasd: this user may not write to /run', err)

    def test_off(self):
        "With uasd=off it is ready at once, touches nothing, and ends."
        self.tree.write('proc/cmdline', 'root=/dev/vda1 uasd=off quiet\n')
        told = self.notified()
        daemon = self.start_daemon()
        self.assertEqual(told(), 'READY=1\nSTATUS=Off: uasd=off is on the kernel command line')
        self.assertEqual(daemon.wait(patience()), 0)
        self.assertIn('switching no disk: uasd=off is on the kernel command line', self.journal())
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/private')))

    def test_off_under_a_supervisor(self):
        "A supervisor with no word for it would start it again and again: it stays until its signal."
        self.tree.write('proc/cmdline', 'uasd=off\n')
        for times, number in enumerate((signal.SIGTERM, signal.SIGINT), 1):
            daemon = self.start_daemon()
            until(lambda: self.journal().count('switching no disk') == times and process_state(daemon.pid) == 'S', 'it sleeps')
            daemon.send_signal(number)
            self.assertEqual(daemon.wait(patience()), 0)
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/private')))

    def test_ends_before_it_answers(self):
        "uasctl does not say that uasd runs and gives no answer."
        daemon = self.both()
        stop(daemon)
        client = self.start_ctl('cancel', 'sdz', stderr=subprocess.PIPE)
        until(lambda: f' {client.pid} ' in self.busctl('list', '--unique').stdout, 'it is on the bus')
        privatebus.kill(daemon)
        self.assertEqual(client.wait(patience()), 1)
        self.assertIn('uasd is not running', client.stderr.read())

    def test_cannot(self):
        "Without /sys, the mount table or the kernel's events, or next to another uasd, it ends with an error. PID 1 starts it again."
        self.warns('another uasd is at work already', 'cannot go on')
        first = self.start_daemon()
        until(lambda: os.path.exists(self.tree.path('run/uasd/private')), 'it is there')
        second = self.start([UASD, self.tree.top], stderr=self.said)
        self.assertEqual(second.wait(patience()), 1)
        self.assertIn('another uasd is at work already', self.journal())
        self.assertNotIn('cannot go on', self.journal())
        first.terminate()
        first.wait(patience())
        self.tree.write('no-uevents', '')
        third = self.start([UASD, self.tree.top], stderr=self.said)
        self.assertEqual(third.wait(patience()), 1)
        self.assertIn('cannot go on: Too many open files in system', self.journal())
        os.unlink(self.tree.path('no-uevents'))
        for folder in 'proc/1', 'sys':
            with self.subTest(folder):
                self.said.truncate(0)
                away = self.tree.path('away' + os.path.basename(folder))
                os.rename(self.tree.path(folder), away)
                daemon = self.start([UASD, self.tree.top], stderr=self.said)
                self.assertEqual(daemon.wait(patience()), 1)
                self.assertIn('cannot go on: No such file or directory', self.journal())
                os.rename(away, self.tree.path(folder))

    def test_no_memory(self):
        "Without memory for an event uasd would miss it. It ends with an error, and PID 1 starts it again."
        self.warns('no memory for the queue: uasd ends', 'cannot go on: Cannot allocate memory')
        self.hears()
        daemon = self.start([UASD, self.tree.top], stderr=self.said)
        until(lambda: os.path.exists(self.tree.path('run/uasd/private')), 'it is there')
        self.tree.write('no-memory', '')
        self.look_again()
        self.assertEqual(daemon.wait(patience()), 1)

    def test_no_folders(self):
        "A folder in /run cannot be made: uasd does without it."
        for name in 'hold', 'switch':
            with self.subTest(name):
                self.warns('cannot watch /run/uasd: a hold that ends by its timer is seen late')
                self.tree.write('run/uasd/' + name, '')
                bus, daemon = self.start_bus(), self.start_on_bus()
                self.ctl('switch', 'sdz')
                for one in daemon, bus:
                    one.terminate()
                    one.wait(patience())
                self.assertEqual(self.journal().count('is seen late'), 1)
                self.said.truncate(0)
                os.unlink(self.tree.path('run/uasd/' + name))

    def test_no_files(self):
        "Neither the lock nor the private socket can be made: uasd does without them."
        self.warns('cannot open the private socket: Address already in use')
        for name in 'uasd.lock', 'private':
            os.mkdir(self.tree.path('run/uasd/' + name))
        self.both()
        self.assertEqual(self.call_disk('Switch', 'sa{sv}', 'usb-storage', '0').stdout, 'o "/org/uasd1/job/1"\n')
        self.driver_is('usb-storage')

    def test_no_folder(self):
        "There is no /run: uasd works all the same."
        self.warns('cannot open the private socket: Bad file descriptor', 'cannot watch /run/uasd', 'Cannot end the trials',
                   'the quirks of usb-storage do not keep off uas what is wanted')
        shutil.rmtree(self.tree.path('run'))
        self.both()
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_name_is_refused(self):
        "The bus has no policy for uasd: the journal has it, and root still has the private socket."
        self.warns('cannot acquire the name org.uasd1 on the system bus: ')
        with unittest.mock.patch.object(privatebus, 'CONFIG', privatebus.CONFIG.replace('<allow own="*"/>', '')):
            self.start_bus()
        self.start_daemon()
        until(lambda: 'cannot acquire the name org.uasd1' in self.journal(), 'it is told')
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.connect(self.tree.path('run/uasd/private'))
        client.sendall(HELLO)
        self.assertRegex(client.recv(4096), b'^OK ')

    def test_stops_first(self):
        "A disk becomes free when uasd is to stop: no switch begins. At shutdown all disks become free."
        daemon = self.both()
        self.use(True)
        self.switch()
        until(lambda: self.disk()['state'] == 'waiting' and self.asleep(daemon), 'it waits')
        stop(daemon)
        self.use(False)
        daemon.terminate()
        daemon.send_signal(signal.SIGCONT)
        self.assertEqual(daemon.wait(patience()), 0)
        self.assertFalse(os.path.exists(self.tree.path('moving')))
        self.assertNotIn('switching from', self.journal())

    def test_folder(self):
        "A person starts uasd from a disk: it does not keep that in use."
        daemon = self.start([os.path.abspath(UASD), self.tree.top], stderr=self.said, cwd=self.dir)
        until(lambda: os.path.exists(self.tree.path('run/uasd/private')), 'it is there')
        self.assertEqual(os.readlink(f'/proc/{daemon.pid}/cwd'), '/')
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)

    def test_full_socket(self):
        "A client of the private socket sends many calls and reads no answer: uasd still stops."
        daemon = self.start_daemon()
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        until(lambda: client.connect_ex(self.tree.path('run/uasd/private')) == 0, 'it listens')
        client.sendall(HELLO)
        self.assertRegex(client.recv(4096), b'^OK ')
        client.sendall(b'BEGIN\r\n' + b''.join(call(i + 1) for i in range(SEVERAL)))
        seen = []

        def full():
            """The number of unread bytes has been constant for a second."""
            seen.append(struct.unpack('i', fcntl.ioctl(client, termios.FIONREAD, b'\0' * 4))[0])
            return seen[-1] > 50000 and seen[-50:] == seen[-1:] * 50

        until(full, 'no more fits into its socket')
        daemon.terminate()
        self.assertEqual(daemon.wait(patience(10)), 0)


if __name__ == '__main__':
    main()

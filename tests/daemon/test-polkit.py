#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus, with a slow polkit: a client that waits for a password delays no other
client."""

import json
import os
import pty
import pwd
import resource
import select
import shutil
import signal
import subprocess
import sys

from machine import UASCTL, Machine, alive, main, path_of, patience, process_state, until

FAKE_POLKIT = sys.argv[3]

ANNA, BERTA = (pwd.getpwnam(name).pw_uid for name in ('nobody', 'daemon'))  # the bus accepts only users that the machine knows
QUESTIONS_MAX = 16  # as in src/daemon/bus/polkit.c
DESCRIPTORS_MAX = 16  # of a message on the system bus
HERE = os.path.dirname(os.path.abspath(__file__))
# Plays pkttyagent(1): it closes the descriptor when the file "ready" is there.
AGENT = """#!/usr/bin/python3
import os, signal, sys, time
os.chdir(os.environ['FOLDER'])
def write(name, text):
    with open('new', 'w') as f:
        f.write(text)
    os.rename('new', name)
def end(*_):
    write('end', 'TERM')
    sys.exit()
signal.signal(signal.SIGTERM, end)
write('words', ' '.join(sys.argv[1:2] + sys.argv[3:]))
write('pid', str(os.getpid()))
while not os.path.exists('ready'):
    time.sleep(0.02)
os.close(int(sys.argv[2]))
while True:
    signal.pause()
"""


def limit_of_unit():
    """The most files that uasd.service may have open; without a line of its own what systemd gives it."""
    with open(os.path.join(HERE, '../../systemd/uasd.service.in')) as f:
        lines = dict(line.rstrip('\n').split('=', 1) for line in f if '=' in line)
    return int(lines.get('LimitNOFILE', 1024))


class Polkit(Machine):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        os.chmod(self.tree.top, 0o755)
        self.hears()
        self.bus = self.start_bus()
        self.start_on_bus()
        self.polkit = self.start([FAKE_POLKIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(self.asked(), 'ready')

    def asked(self):
        """The next question to polkit."""
        line = b''
        while not line.endswith(b'\n'):
            self.assertTrue(select.select([self.polkit.stdout], [], [], patience())[0], self.journal())
            line += os.read(self.polkit.stdout.fileno(), 1)
        return line.decode().rstrip('\n')

    def answer(self, word):
        self.polkit.stdin.write(word + '\n')
        self.polkit.stdin.flush()

    def ask(self, uid, *words, **more):
        """uasctl of an ordinary user, which waits for polkit's answer."""
        return self.start_ctl(*words, user=uid, group=uid, extra_groups=[], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)

    def call(self, uid, path, *args):
        """A call of an ordinary user, without uasctl."""
        return self.start(['busctl', 'call', 'org.uasd1', path, *args], env=self.env, user=uid, group=uid, extra_groups=[],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def told(self, p, code):
        self.assertEqual(p.wait(patience()), code, self.journal())
        return p.stderr.read()

    def test_answer(self):
        "Yes and no, each to the right client."
        p = self.ask(ANNA, 'switch', 'sdz', 'usb-storage')
        self.assertEqual(self.asked(), 'org.uasd1.switch 2-1:1.0')
        self.assertEqual(self.disk()['driver'], 'uas')
        self.answer('no')
        self.assertIn('org.uasd1.switch', self.told(p, 8))
        p = self.ask(ANNA, 'inhibit', 'true')
        self.assertEqual(self.asked(), 'org.uasd1.switch *')
        self.answer('yes')
        self.told(p, 0)
        p = self.ask(ANNA, 'switch', 'sdz', 'usb-storage')
        self.asked()
        self.answer('yes')
        self.told(p, 0)
        self.assertEqual(self.disk()['driver'], 'usb-storage')
        # The journal has those who may, once each, and what they called.
        self.ctl('policy', 'sdz', 'usb-storage')
        # root by sudo: the kernel knows who logged in. A service has no such user.
        for login in ANNA, 2**32 - 1:
            p = self.start(['sh', '-c', 'mkdir "$0/proc/$$" && echo "$1" >"$0/proc/$$/loginuid" && exec "$2" "$0" policy 1209:5a5a:nowhere uas',
                            self.tree.top, str(login), UASCTL], env=self.env)
            self.assertEqual(p.wait(patience()), 0)
        self.assertEqual([(one['UASD_UID'], one.get('UASD_DISK'), one['MESSAGE']) for one in self.requests()], [
            (str(ANNA), None, '*: uid %d wants: inhibit true' % ANNA),
            (str(ANNA), 'sdz', '2-1:1.0 sdz: uid %d wants: switch usb-storage' % ANNA),
            ('0', 'sdz', '2-1:1.0 sdz: uid 0 wants: policy usb-storage'),
            (str(ANNA), None, '1209:5a5a:nowhere: uid %d wants: policy uas' % ANNA),
            ('0', None, '1209:5a5a:nowhere: uid 0 wants: policy uas')])

    def test_actions(self):
        "Each method has its action. With force it is another one."
        forced = ['1', 'force', 'b', 'true']
        disk = path_of('2-1:1.0'), 'org.uasd1.Disk'
        every = '/org/uasd1', 'org.uasd1.Manager'
        for of, args, action in (
                (disk, ['Switch', 'sa{sv}', 'usb-storage', '0'], 'switch'), (disk, ['Switch', 'sa{sv}', 'usb-storage', *forced], 'force'),
                (disk, ['SetPolicy', 'sa{sv}', 'ignore', '0'], 'policy'), (disk, ['SetPolicy', 'sa{sv}', 'ignore', *forced], 'force'),
                (every, ['SetPolicyOf', 'ssa{sv}', '1209:5a5a:X', 'uas', '0'], 'policy'),
                (every, ['SetPolicyOf', 'ssa{sv}', '1209:5a5a:X', 'uas', *forced], 'force'),
                (disk, ['SetTrim', 'sa{sv}', 'off', '0'], 'policy'), (disk, ['SetTrim', 'sa{sv}', 'on', *forced], 'force'),
                (disk, ['Release', 'a{sv}', '0'], 'switch'), (disk, ['Cancel', 'a{sv}', '0'], 'switch'),
                (disk, ['Forget', 'a{sv}', '0'], 'policy'), (every, ['ForgetOf', 'sa{sv}', '1209:5a5a:X', '0'], 'policy'),
                (disk, ['Eject', 'a{sv}', '0'], 'eject-other-seat'), (disk, ['Lease', 'a{sv}', '0'], 'bench'),
                (disk, ['Inhibit', 'ssa{sv}', 'me', 'busy', '0'], 'switch'), (every, ['Inhibit', 'ssa{sv}', 'me', 'busy', '0'], 'switch')):
            with self.subTest(args):
                p = self.call(ANNA, *of, *args)
                self.assertEqual(self.asked().split()[0], 'org.uasd1.' + action)
                self.answer('no')
                self.assertIn('Access denied', self.told(p, 1))
        self.assertEqual(self.requests(), [])

    def test_answers(self):
        "Each answer has its error, and nothing is done. A client that asks for no password gets none asked."
        for options, silent in ([], ''), (['--no-ask-password'], ' silent'):
            for answer, code, text in (('no', 8, 'polkit does not allow it (action org.uasd1.switch).'),
                                       ('challenge', 8, 'a password is needed, and no agent can ask for it (polkit action org.uasd1.switch).'),
                                       ('garble', 1, "polkit's answer is not understood: ")):
                with self.subTest(answer, silent=silent):
                    p = self.ask(ANNA, *options, 'switch', 'sdz', 'usb-storage')
                    self.assertEqual(self.asked(), 'org.uasd1.switch 2-1:1.0' + silent)
                    self.answer(answer)
                    self.assertIn(text, self.told(p, code))
        self.assertEqual((self.requests(), self.disk()['driver']), ([], 'uas'))

    def test_bus_ends(self):
        "The questions end with the bus. On the next one the user may ask as many again."
        for _ in range(QUESTIONS_MAX):
            self.call(ANNA, path_of('2-1:1.0'), 'org.uasd1.Disk', 'Forget', 'a{sv}', '0')
            self.asked()
        self.bus.kill()
        self.bus.wait()
        os.unlink(os.path.join(self.dir, 'bus'))
        self.start_bus()
        until(self.on_bus, 'uasd is on the new bus')
        self.polkit = self.start([FAKE_POLKIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(self.asked(), 'ready')
        p = self.ask(ANNA, 'forget', 'sdz')
        self.assertEqual(self.asked(), 'org.uasd1.policy 2-1:1.0')
        self.answer('yes')
        self.told(p, 0)

    def test_left(self):
        "The bus does not know any more who asks: refused, because it would know root."
        os.kill(self.uasd.pid, signal.SIGSTOP)
        until(lambda: process_state(self.uasd.pid) == 'T', 'uasd does not read')
        p = self.call(ANNA, path_of('2-1:1.0'), '--expect-reply=no', 'org.uasd1.Disk', 'Switch', 'sa{sv}', 'usb-storage', '0')
        self.told(p, 0)
        until(lambda: f' {p.pid} ' not in self.busctl('list', '--unique').stdout, 'it has left the bus')
        os.kill(self.uasd.pid, signal.SIGCONT)
        p = self.ask(ANNA, 'cancel', 'sdz')  # its answer comes after that to the first one
        self.assertEqual(self.asked(), 'org.uasd1.switch 2-1:1.0')
        self.answer('no')
        self.told(p, 8)
        self.assertEqual((self.requests(), self.disk()['driver']), ([], 'uas'))

    def test_unknown(self):
        "The bus does not name the user who asks: refused, for root too."
        self.tree.write('no-user', '')
        for uid in ANNA, 0:
            p = self.ask(uid, 'switch', 'sdz', 'usb-storage')
            self.assertIn('Cannot find out which user asks: No data available', self.told(p, 8))
        self.assertEqual((self.requests(), self.disk()['driver']), ([], 'uas'))

    def test_agent(self):
        """On a terminal uasctl starts polkit's agent, which asks for the password there. It asks uasd when the agent is ready, or dead,
        and ends the agent at the end, even if that is stopped. If there is no agent, uasctl does without it."""
        folder = self.tree.path('agent')
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        self.tree.write('agent-in-tree', AGENT)
        os.chmod(self.tree.path('agent-in-tree'), 0o755)
        self.env.update(UASCTL_AGENT=self.tree.path('agent-in-tree'), FOLDER=folder)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)

        def not_asked():
            until(lambda: self.asleep(p, self.bus, self.uasd, self.polkit), 'no question is on its way')
            self.assertEqual(select.select([self.polkit.stdout], [], [], 0)[0], [])
        for ready in True, False:
            with self.subTest(ready=ready):
                p = self.ask(ANNA, 'switch', 'sdz', 'usb-storage', stdin=theirs)
                agent = int(until(lambda: self.read('agent/pid'), 'the agent is there'))
                not_asked()
                if ready:
                    self.tree.write('agent/ready', '')
                else:
                    os.kill(agent, signal.SIGKILL)
                self.asked()
                if ready:
                    self.assertEqual((self.read('agent/words'), os.getpgid(agent)), ('--notify-fd --fallback', os.getpgid(p.pid)))
                    os.kill(agent, signal.SIGSTOP)
                    until(lambda: process_state(agent) == 'T', 'it is stopped')
                self.answer('no')
                self.told(p, 8)
                self.assertFalse(alive(agent))
                self.assertEqual(self.read('agent/end'), 'TERM' if ready else '')
                for name in os.listdir(folder):
                    os.unlink(os.path.join(folder, name))
        self.env['UASCTL_AGENT'] = folder
        for more in {'stdin': theirs}, {}:
            p = self.ask(ANNA, 'switch', 'sdz', 'usb-storage', **more)
            self.asked()
            self.answer('no')
            self.told(p, 8)
            self.env['UASCTL_AGENT'] = self.tree.path('agent-in-tree')
        self.assertEqual(os.listdir(folder), [])  # the last standard input was no terminal

    def read(self, name):
        """'' if it is not there."""
        try:
            with open(self.tree.path(name)) as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def test_eject(self):
        "A user who is active at the seat of the disk may pull it out anyway. For another user it is another action."
        for at, seat, action in (('seat0', '', 'eject'), ('seat-1', 'E:ID_SEAT=seat-1\n', 'eject'), ('seat0', 'E:ID_SEAT=seat-1\n', 'eject-other-seat'),
                                 ('seat-1', '', 'eject-other-seat'), (None, '', 'eject-other-seat')):
            with self.subTest(at=at, seat=seat):
                self.tree.write('run/systemd/seats/seat0', 'ACTIVE_UID=%d\n' % BERTA)
                if at:
                    self.tree.write('run/systemd/seats/' + at, 'ACTIVE_UID=%d\n' % ANNA)
                self.tree.write('run/udev/data/c189:132', 'I:1\n' + seat)
                p = self.ask(ANNA, 'eject', 'sdz')
                self.assertEqual(self.asked(), 'org.uasd1.%s 2-1:1.0' % action)
                self.answer('no')
                self.assertIn('org.uasd1.' + action, self.told(p, 8))
                shutil.rmtree(self.tree.path('run/systemd/seats'))

    def test_flood(self):
        "A user with too many questions is refused. root and other users are not."
        asking = [self.ask(ANNA, 'forget', 'sdz') for _ in range(QUESTIONS_MAX)]
        for _ in asking:
            self.assertEqual(self.asked(), 'org.uasd1.policy 2-1:1.0')
        self.assertIn('Too many', self.told(self.ask(ANNA, 'forget', 'sdz'), 1))
        self.ctl('cancel', 'sdz')
        self.ctl('switch', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['driver'], 'usb-storage')
        other = self.ask(BERTA, 'cancel', 'sdz')
        self.assertEqual(self.asked(), 'org.uasd1.switch 2-1:1.0')
        self.answer('yes')
        for p in [*asking, other]:
            self.told(p, 0)
        # After the answers that user may ask again.
        p = self.ask(ANNA, 'forget', 'sdz')
        self.assertEqual(self.asked(), 'org.uasd1.policy 2-1:1.0')
        self.answer('yes')
        self.told(p, 0)

    def test_private(self):
        "The private socket is root's, and so is the connection: also if another user could open the socket."
        path = self.tree.path('run/uasd/private')
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        os.chmod(path, 0o666)
        client = ('import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); '
                  's.sendall(b"\\0AUTH EXTERNAL " + sys.argv[2].encode().hex().encode() + b"\\r\\n"); print(s.recv(100)[:2])')
        for uid, answer in (0, "b'OK'\n"), (ANNA, ''):
            p = self.start(['/usr/bin/python3', '-c', client, path, str(uid)], user=uid, group=uid, extra_groups=[],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(p.communicate(timeout=patience())[0].replace("b''\n", ''), answer)

    def test_large(self):
        "A call that waits for a password takes little memory: its strings are short, and it names each option once."
        for args in (['Inhibit', 'ssa{sv}', 'me', 'x' * 100000, '0'], ['Inhibit', 'ssa{sv}', 'x' * 100000, 'busy', '0'],
                     ['Switch', 'sa{sv}', 'usb-storage', '500'] + ['force', 'b', 'true'] * 500):
            with self.subTest(args[0]):
                p = self.call(ANNA, path_of('2-1:1.0'), 'org.uasd1.Disk', *args)
                self.assertRegex(self.told(p, 1), 'too long|twice')

    def test_descriptors(self):
        "Calls that wait for a password keep the descriptors that their callers have attached. uasd works with many such calls."
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limit = limit_of_unit() if hard == resource.RLIM_INFINITY else min(limit_of_unit(), hard)
        resource.prlimit(self.uasd.pid, resource.RLIMIT_NOFILE, (limit, hard))
        for name in 'nobody', 'daemon', 'bin', 'mail', 'games':
            self.start([sys.executable, os.path.join(HERE, 'bus-client.py'), os.path.join(self.dir, 'bus'),
                        str(pwd.getpwnam(name).pw_uid), str(QUESTIONS_MAX), str(DESCRIPTORS_MAX)], stdin=subprocess.PIPE)
            for _ in range(QUESTIONS_MAX):
                self.assertEqual(self.asked(), 'org.uasd1.policy 2-1:1.0 silent')
        self.ctl('switch', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['driver'], 'usb-storage')

    def test_job_ended_meanwhile(self):
        "A job that has ended before the password came cannot be cancelled."
        self.use(True)
        job = self.switch()
        p = self.call(ANNA, job, 'org.uasd1.Job', 'Cancel', 'a{sv}', '0')
        self.assertEqual(self.asked(), 'org.uasd1.switch 2-1:1.0')
        self.ctl('cancel', 'sdz')
        self.answer('yes')
        self.assertIn('The job has ended', self.told(p, 1))

    def is_listed(self):
        until(lambda: json.loads(self.ctl('list', '--json').stdout)['disks'], 'the other disk is listed')

    def test_unplugged_meanwhile(self):
        "A password is valid for the disk of the question, not for another one at the same port."
        self.warns('TROUBLE')
        number = 5
        for words, listed in ((('switch', 'sdz', 'usb-storage'), False), (('policy', 'sdz', 'usb-storage'), False),
                              (('inhibit', '--disk=sdz', 'true'), False), (('switch', 'sdz', 'usb-storage'), True)):
            with self.subTest(words, listed=listed):
                p = self.ask(ANNA, *words)
                self.asked()
                number += 1
                if listed:
                    self.drops(number)
                    self.is_listed()
                else:
                    self.tree.number('2-1', number)
                self.answer('yes')
                self.assertIn('unplugged meanwhile', self.told(p, 4))
                self.is_listed()  # the other disk, when uasd has read its strings
        one = self.disk()
        self.assertEqual((one['driver'], one['policy'], one['state']), ('uas', 'auto', 'settled'))
        self.assertFalse(os.path.exists(self.tree.path('moving')))

    def test_plugged_in_meanwhile(self):
        "A question about an id is about this id, whether its disk is plugged in or not."
        self.pull()
        p = self.ask(ANNA, 'policy', '1209:5a5a:S1', 'usb-storage')
        self.assertEqual(self.asked(), 'org.uasd1.policy *')
        self.put_back(6)
        self.answer('yes')
        self.told(p, 0)
        until(lambda: self.disk()['driver'] == 'usb-storage', 'its policy applies')


if __name__ == '__main__':
    main(needs_root="other users are root's to be", programs=3)

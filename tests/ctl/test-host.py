#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl -H: an ssh that runs its command here, where fake-uasd is on a private bus."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import privatebus
import terminal
from patience import patience
from tree import Tree

IN_TREE, FAKE = sys.argv[1:3]


class Host(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(self.dir))
        tree = Tree(IN_TREE)
        self.addCleanup(tree.close)
        tree.parts()
        self.here = [IN_TREE, tree.top]
        self.env = dict(os.environ, TREE=tree.top, DBUS_SYSTEM_BUS_ADDRESS=privatebus.address(self.dir), LC_ALL='C.UTF-8')
        bus = privatebus.start(self.dir)
        self.addCleanup(lambda: privatebus.kill(bus))

    def start(self):
        self.daemon = subprocess.Popen([FAKE], env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(self.daemon))
        self.assertEqual(self.asked(), 'ready')

    def asked(self):
        """The next call to the daemon."""
        return self.daemon.stdout.readline().rstrip('\n')

    def far(self, *args, code=0, program=None, ssh='exec sh -c "$last"', input=None):
        """uasctl without a bus here. The other machine has fake-uasd, and PROGRAM as its uasctl."""
        folder = os.path.join(self.dir, 'bin')
        os.makedirs(folder, exist_ok=True)
        far = os.path.join(self.dir, 'far')
        os.makedirs(far, exist_ok=True)
        with open(far + '/uasctl', 'w') as f:
            f.write(f'#!/bin/sh\nexec {program or " ".join(map(os.path.abspath, self.here))} "$@"\n')
        os.chmod(far + '/uasctl', 0o755)
        with open(os.path.join(folder, 'ssh'), 'w') as f:
            f.write(f'#!/bin/sh\necho "$*" >>{self.dir}/ssh-asked\nfor last; do :; done\n'
                    f'PATH={far}:/usr/bin:/bin DBUS_SYSTEM_BUS_ADDRESS={privatebus.address(self.dir)}\n'
                    f'export PATH DBUS_SYSTEM_BUS_ADDRESS\n{ssh}\n')
        os.chmod(os.path.join(folder, 'ssh'), 0o755)
        env = {**self.env, 'PATH': f'{folder}:{os.environ["PATH"]}', 'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/nonexistent'}
        more = {'stdin': subprocess.DEVNULL} if input is None else {'input': input}
        p = subprocess.run([*self.here, *args], env=env, capture_output=True, text=True, timeout=patience(30), **more)
        self.assertEqual(p.returncode, code, f'{args}: {p.stdout}{p.stderr}')
        return p

    def ssh_asked(self):
        with open(os.path.join(self.dir, 'ssh-asked')) as f:
            return f.read().splitlines()

    def test_verbs(self):
        self.start()
        here = json.loads(subprocess.run([*self.here, '--json'], env=self.env, capture_output=True, check=True).stdout)
        self.assertEqual(json.loads(self.far('-H', 'root@nas', 'list', '--json').stdout), here)
        self.assertEqual(self.ssh_asked(), ["-T -- root@nas uasctl --json -- 'list'"])
        self.assertEqual(len(self.far('--host=nas', 'list', '--tree', '--no-legend').stdout.splitlines()), 10)
        self.assertIn('State: settled', self.far('-H', 'nas', 'status', '--all', 'sda').stdout)
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

    def echoed(self, *args, **more):
        """The words of the other uasctl, one a line."""
        echo = os.path.join(self.dir, 'echo')
        with open(echo, 'w') as f:
            f.write('#!/bin/sh\nprintf "%s\\n" "$NO_COLOR" "$@"\ncat\n')
        os.chmod(echo, 0o755)
        return self.far(*args, program=echo, **more).stdout.splitlines()

    def test_words(self):
        """Every word arrives as it is, and options with it."""
        self.env.pop('NO_COLOR', None)
        hostile = "a b'c\"$(reboot)`reboot`;\\*"
        self.assertEqual(self.echoed('-H', 'nas', '-q', 'status', '--', hostile), ['', '--quiet', '--', 'status', hostile])
        self.assertEqual(self.echoed('inhibit', '--host=nas'), ['', '--', 'inhibit'])
        self.assertEqual(self.echoed('-Hnas', 'inhibit', '--why', hostile, 'dd', '--json'), ['', '--why=' + hostile, '--', 'inhibit', 'dd', '--json'])
        self.assertEqual(self.echoed('-H', 'nas', 'switch', '--dry-run', '--wait', 'sda'), ['', '--dry-run', '--wait', '--', 'switch', 'sda'])
        self.assertEqual(self.echoed('-H', 'nas', 'wait', '--wait=1min', 'sda'), ['', '--wait=1min', '--', 'wait', 'sda'])
        self.assertEqual(self.echoed('-jH', 'nas'), ['', '--json', '--'])
        self.assertEqual(self.echoed('--json=pretty', '-H', 'nas'), ['', '--json=pretty', '--'])
        self.env['NO_COLOR'] = 'yes'
        self.assertEqual(self.echoed('-H', 'nas', 'lease', 'sda', input='switch uas\n'), ['1', '--', 'lease', 'sda', 'switch uas'])

    def test_terminal(self):
        """Only for people, and not for JSON."""
        for args, word in ((), '-t'), (('--json',), '-T'):
            program = os.path.join(self.dir, 'bin/ssh')
            self.far('-H', 'nas', 'list', ssh='echo $1')
            env = {**self.env, 'PATH': f'{self.dir}/bin:{os.environ["PATH"]}', 'PAGER': ''}
            self.assertTrue(os.path.exists(program))
            out, status = terminal.run([*self.here, '-H', 'nas', 'list', *args], env, 80)
            self.assertEqual((out.split(), status), ([word], 0))
        out, status = terminal.run(['sh', '-c', '"$@" | cat', 'sh', *self.here, '-H', 'nas', 'list'], env, 80)
        self.assertEqual((out.split(), status), (['-T'], 0))

    def test_fails(self):
        """The status of ssh itself is no status of uasctl."""
        p = self.far('-H', 'nas', 'list', ssh='echo no route >&2; exit 255', code=1)
        self.assertEqual(p.stderr, 'no route\nuasctl: nas: ssh cannot connect to it\n')
        p = self.far('-H', 'nas', 'list', ssh='exit 127', code=77)
        self.assertEqual(p.stderr, 'uasctl: nas: uasctl is not installed there\n')
        self.far('-H', 'nas', 'inhibit', 'none', ssh='exit 127', code=127)
        self.far('-H', 'nas', 'list', ssh='kill -KILL $$', code=137)
        self.far('-H', 'nas', 'list', ssh='exit 6', code=6)

    def test_no_ssh(self):
        """A missing tool is not an unreachable machine."""
        env = {**self.env, 'PATH': self.dir + '/none:' + self.dir}
        p = subprocess.run([*self.here, '-H', 'nas', 'list'], env=env, capture_output=True, text=True, timeout=patience(30), stdin=subprocess.DEVNULL)
        self.assertEqual((p.returncode, p.stdout), (77, ''))
        self.assertEqual(p.stderr.splitlines()[-1], 'uasctl: nas: ssh is not installed (openssh-client)')

    # Several machines

    SOME = 'case "$*" in *" -- down "*) echo "no route" >&2; exit 255;; *" -- empty "*) exit 127;; esac; exec sh -c "$last"'

    def test_list_of_many(self):
        """One table, in the order of the machines. One that does not answer is a line."""
        here = [line.split() for line in subprocess.run([*self.here, 'list'], env=self.env, capture_output=True, text=True).stdout.splitlines()
                if 'hints:' not in line]
        p = self.far('-H', 'root@nas,down,b', 'list', ssh=self.SOME, code=1)
        rows = [line.split() for line in p.stdout.splitlines()]
        self.assertEqual(rows[0], ['HOST', *here[0]])
        self.assertEqual([row[1:] for row in rows if row[0] == 'root@nas'], here[1:])
        self.assertEqual([row[1:] for row in rows if row[0] == 'b'], here[1:])
        [down] = [line for line in p.stdout.splitlines() if line.startswith('down ')]
        self.assertIn('no answer', down)
        self.assertEqual([row[0] for row in rows[1:]], ['root@nas'] * (len(here) - 1) + ['down'] + ['b'] * (len(here) - 1))
        self.assertIn('uasctl: down: no route\nuasctl: down: ssh cannot connect to it\n', p.stderr)
        self.assertIn('uasctl: b: uasctl: uasd is not running', p.stderr)
        self.assertRegex(p.stderr, r'uasctl: root@nas: \d+ hints: uasctl status\n')
        self.assertEqual(sorted(self.ssh_asked()), sorted(
            f"-T -o BatchMode=yes -o ConnectTimeout=10 -- {host} UASCTL_CELLS=1 uasctl -- 'list'" for host in ('root@nas', 'down', 'b')))

    def test_many_options(self):
        p = self.far('-H', 'a,b', '--no-legend', '-q', '-o', 'disk,state', ssh=self.SOME)
        here = subprocess.run([*self.here, 'list', '-q', '--no-legend', '-o', 'disk,state'], env=self.env, capture_output=True, text=True).stdout
        self.assertEqual([line.split() for line in p.stdout.splitlines()], [[host, *line.split()] for host in 'ab' for line in here.splitlines()])
        self.assertEqual(p.stderr, '')
        p = self.far('-H', 'a,empty', 'list', 'sda', '-o', 'disk', ssh=self.SOME, code=77)
        self.assertEqual(p.stdout.split(), ['HOST', 'DISK', 'a', 'sda', 'empty', '-'])
        self.assertIn('empty: uasctl is not installed there', p.stderr)
        p = self.far('-H', 'a,b', 'list', 'sdz', ssh=self.SOME, code=4)
        self.assertEqual(p.stdout, '')
        self.assertIn("uasctl: b: uasctl: There is no USB disk 'sdz'", p.stderr)

    def test_many_as_json(self):
        "Each disk names its machine."
        here = json.loads(subprocess.run([*self.here, '--json'], env=self.env, capture_output=True, check=True).stdout)
        answer = json.loads(self.far('-H', 'a,down,b', 'list', '--json', ssh=self.SOME, code=1).stdout)
        self.assertEqual(answer, {'version': 1, 'disks': [{**disk, 'machine': host} for host in 'ab' for disk in here['disks']], 'no_answer': ['down']})

    def test_many_at_a_time(self):
        "The slowest machine decides how long it takes."
        meet = f'touch {self.dir}/met-$$; while [ "$(ls {self.dir}/met-* | wc -l)" -lt 3 ]; do sleep 0.05; done; exit 255'
        self.far('-H', 'a,b,c', ssh=meet, code=1)

    def test_not_a_table(self):
        "Another version, or a program that greets: its lines are reported, and make no row."
        p = self.far('-H', 'a,b', 'list', '--no-legend', ssh='printf "hello\\nx\\ty\\t\\n"')
        self.assertEqual(p.stdout, '')
        self.assertIn('uasctl: a: hello\n', p.stderr)
        p = self.far('-H', 'a,b', 'list', '--no-legend', ssh='printf "1\t2\t3\t4\t5\t6\t7\t8\t\n"')  # a column more
        self.assertEqual((p.stdout, p.stderr.count('uasctl: b: 1')), ('', 1))
        for text in '{"disks": 7}', '{"version": 1}', '[]', 'no JSON', '':
            p = self.far('-H', 'a,b', '--json', ssh=f"echo '{text}'", code=1)
            self.assertEqual(json.loads(p.stdout), {'version': 1, 'disks': [], 'no_answer': ['a', 'b']})
            self.assertEqual(p.stderr, 'uasctl: a: its answer is no list of disks.\nuasctl: b: its answer is no list of disks.\n')

    def test_no_such_disk(self):
        "A machine that has answered with an error is not one without an answer."
        p = self.far('-H', 'a,b', 'list', 'sdz', '--json', ssh=self.SOME, code=4)
        self.assertEqual(json.loads(p.stdout), {'version': 1, 'disks': [], 'no_answer': []})
        self.assertNotIn('is no list', p.stderr)

    def test_greeting(self):
        "The shell of the other machine prints something first."
        p = self.far('-H', 'a,b', '--json', ssh="""printf 'Welcome {\\n{ not JSON\\n{}\\n{"disks": [{"id": "2-1"}]}\\n'""")
        self.assertEqual(json.loads(p.stdout), {'version': 1, 'disks': [{'id': '2-1', 'machine': one} for one in 'ab'], 'no_answer': []})

    def test_harmless(self):
        "No byte of another machine reaches the terminal as a control character."
        p = self.far('-H', 'a,b', 'list', '--no-legend', '-o', 'disk,product', ssh=r"printf 'sda\t\033[31m\\x41\t\n'")
        self.assertIn(r'\x1b[31m\x41', p.stdout)

    def test_many_refused(self):
        for args in (['-H', 'a,b', 'status'], ['-H', 'a,b', 'switch', 'sda'], ['-H', 'a,b', '--tree'], ['-H', 'a,', 'list'], ['-H', ',a', 'list'],
                     ['-H', 'a,-oProxyCommand=reboot', 'list'], ['-H', 'a,b', '-o', 'nonsense'], ['-H', 'a,b', '-o', ','.join(['id'] * 64)], ['-H', ','.join(['a'] * 257), 'list']):
            self.assertEqual(self.far(*args, code=2).stdout, '')
        self.assertFalse(os.path.exists(os.path.join(self.dir, 'ssh-asked')))
        self.far('-H', 'a,b', '-o', ','.join(['id'] * 63), ssh=self.SOME)
        self.far('-H', ','.join(['a'] * 256), ssh='exit 6', code=6)

    def test_usage(self):
        """A mistake is reported here, and ssh is not run. It would take -oProxyCommand= as an option."""
        for args in (['--host=', 'list'], ['-H', '-oProxyCommand=reboot', 'list'], ['-H', 'nas', 'lits'], ['-H', 'nas', 'wait'],
                     ['-H', 'nas', 'list', '--dry-run']):
            self.assertEqual(self.far(*args, code=2).stdout, '')
        self.assertFalse(os.path.exists(os.path.join(self.dir, 'ssh-asked')))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

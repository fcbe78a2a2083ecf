#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Wrong input to every verb and option that --help shows: an error on stderr, the documented exit status, and no change.

A new verb needs its place in NEEDS_DAEMON or DOES_WITHOUT, a new option with a value its wrong values in WRONG."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import privatebus
from patience import until
from spoken import verbs_of
from tree import LIBEXEC, Tree

FAKE, IN_TREE = sys.argv[1:3]
FIO = shutil.which('fio')

# Verbs that call the daemon, with the words after the verb that would change a disk.
NEEDS_DAEMON = {'switch': ['uas'], 'policy': ['ignore'], 'trim': ['on'], 'release': [], 'cancel': [], 'forget': [], 'reset': [], 'eject': [], 'monitor': []}
# They have their own arguments and tests: test-bench.py, test-lease.py and test-module.py.
CALLS_NOTHING = {'monitor', 'reset'}  # reset: nothing is set for these disks
APART = {'bench', 'inhibit', 'lease', 'module', 'help'}
BENCH = ['bench', 'sda', '--driver=usb-storage', '--profile=one']
# Verbs that print JSON, with the largest number of arguments for that. All others refuse --json.
PRINTS_JSON = {'list': 1, 'status': 1, 'explain': 1, 'db': 1, 'log': 1, 'policy': 1, 'trim': 1, 'monitor': 1}
DOES_WITHOUT = {'list', 'status', 'explain', 'db', 'log', 'metrics', 'report', 'wait'}

NUMBERS = ['x', '', '-1', '1e3', '0x10', '1,5', '99999999999999999999', '5parsec']
WRONG = {'--json': ['x', '', 'Short'], '--wait': NUMBERS, '--lines': NUMBERS, '--since': ['x', '--1', '2026-13-01', '2026-11-20 25:00', '99999999999999999999', '2026-11-20 15:45:07 and so much more'], '--output': ['', 'NAME', '+', 'ID,,ID'],
         '--textfile': [''], '--host': [''], '--hwdb': [], '--disk': [], '--why': []}
NO_DISK = ['sdq', 'sda1x', '9-9', '9-9:1.0', 'ffff:ffff', 'NOSERIAL', '', '/dev/nonexistent', '/nonexistent', '/dev/null', '/proc']

NOBODY = 65534


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = Tree(IN_TREE)
        cls.addClassCleanup(cls.tree.close)
        os.chmod(cls.tree.top, 0o755)
        for number in range(1, 10):  # those of fake-uasd
            cls.tree.disk(f'2-{number}', f'sd{"abcdefghi"[number - 1]}', serial=f'S{number}')
        cls.tree.write('etc/uasd/bench/one.fio', '[one]\nrw=read\nsize=1m\n')
        verbs, options = cls.tree.run('--help').stdout.split('Options:')
        cls.verbs = {verb: arguments.split() for verb, arguments in verbs_of(verbs).items() if verb not in APART}
        cls.assertLessEqual(cls(), APART, set(verbs_of(verbs)))
        # Option: whether it takes a value.
        cls.options = {m[1]: '=' in m[2] for m in re.finditer(r'(?m)^ .*?(--[a-z-]+)(\[?=?)', options.split('Options of bench')[0])}
        # Option: its verbs, where --help names them.
        cls.meant_for = {m[1]: m[2].split(', ') for m in re.finditer(r'(?m)^ .*?(--[a-z-]+)\S*  +([a-z, ]+): ', options)}

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(self.dir))
        os.chmod(self.dir, 0o755)
        self.env = {'DBUS_SYSTEM_BUS_ADDRESS': privatebus.address(self.dir), 'TREE': self.tree.top}

    def start(self, *version):
        bus = privatebus.start(self.dir)
        self.addCleanup(lambda: privatebus.kill(bus))
        self.calls = open(os.path.join(self.dir, 'calls'), 'w+')
        daemon = subprocess.Popen([FAKE, *version], env=dict(os.environ, **self.env), stdout=self.calls)
        self.addCleanup(lambda: (privatebus.kill(daemon), self.calls.close()))
        until(lambda: self.called() == ['ready'] or self.assertIsNone(daemon.poll()), 'it is ready')

    def inhibit(self):
        """From now on a dd inhibits switches."""
        p = subprocess.Popen([IN_TREE, self.tree.top, 'inhibit', 'dd', 'status=none'], env=dict(os.environ, **self.env),
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: (p.communicate(), p.wait()))
        until(lambda: 'Inhibit - dd' in self.called() or self.assertIsNone(p.poll()), 'it inhibits')

    def called(self):
        with open(self.calls.name) as f:
            return f.read().splitlines()

    def files(self):
        found = {}
        for top, folders, names in os.walk(self.tree.top):
            for name in folders + names:
                path = os.path.join(top, name)
                kept = None
                if os.path.islink(path):
                    kept = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, 'rb') as f:
                        kept = f.read()
                found[path] = kept
        return found

    def wrong(self, *args, code, says='', lines=2, **more):
        """It prints an error only to stderr, and changes nothing. The caller checks the calls to the daemon."""
        before = self.files()
        p = self.tree.run(*args, env=self.env, **more)
        self.assertEqual((p.returncode, p.stdout), (code, ''), (args, p))
        self.assertIn(says, p.stderr, args)
        self.assertTrue(0 < len(p.stderr.splitlines()) <= lines, (args, p.stderr))
        self.assertRegex(p.stderr, r'(?m)^\S*uasctl\S*: \S', args)
        self.assertEqual(self.files(), before, args)
        return p

    def media(self, *names):
        """Files to read, for bench."""
        for name in names:
            self.tree.write(f'dev/{name}', bytes(1 << 20))
            self.addCleanup(os.unlink, self.tree.path(f'dev/{name}'))

    def with_disk(self):
        """Verbs that take a disk."""
        return {verb: words for verb, words in self.verbs.items() if words and 'DISK' in words[0]}

    def needed(self, verb):
        return ['sda'] if self.verbs[verb] and self.verbs[verb][0].startswith('DISK') else []

    # The table

    def test_every_verb(self):
        self.assertEqual(set(self.verbs), set(NEEDS_DAEMON) | DOES_WITHOUT)
        self.assertFalse(set(NEEDS_DAEMON) & DOES_WITHOUT)
        self.assertEqual({o for o, value in self.options.items() if value}, set(WRONG))

    def test_arguments(self):
        self.start()
        for verb, words in self.verbs.items():
            if 'DISK...' in ''.join(words):
                self.wrong(verb, 'sda', 'sdq', code=4, says="'sdq'")
            else:
                self.wrong(verb, *['sda', 'uas', 'uas', 'uas'][:len(words) + 1], code=2, says=f'Too many arguments: uasctl {verb}')
            if words and words[0].startswith('DISK'):
                self.wrong(verb, code=2, says=f'Too few arguments: uasctl {verb}')
            if len(words) > 1:
                for word in 'nonsense', '', 'UAS', 'uas ':
                    self.wrong(verb, 'sda', word, code=2, says=f"'{word}' is no value for {verb}: ")
                value = words[1].strip('[]').split('|')[-1]
                self.wrong(verb, value, 'sda', code=2, says=f'The disk comes first: uasctl {verb} sda {value}')
                if 'usb-storage' in words[1]:
                    self.wrong(verb, 'sda', 'BOT', code=2, says=f'uasctl {verb} sda usb-storage')
                else:
                    self.assertNotIn('usb-storage', self.wrong(verb, 'sda', 'BOT', code=2).stderr)
        for words, says in (['nonsense'], 'uasctl --help lists them'), (['nonsense', 'sda'], 'uasctl --help'), ([''], 'uasctl --help'), \
                (['lst'], "Did you mean 'list'?"), (['LIST'], "Did you mean 'list'?"), (['staust', 'sda'], "Did you mean 'status'?"), \
                (['wiat'], "Did you mean 'wait'?"), (['ust'], 'lists them'), (['lxx'], 'lists them'), (['relxxxe'], 'lists them'), \
                (['expxxin'], "Did you mean 'explain'?"), (['sdcard'], 'lists them'), (['sdaa'], 'uasctl status sdaa'), \
                (['help', 'swich'], "Did you mean 'switch'?"), (['version'], 'uasctl --version'), (['sda'], 'uasctl status sda'), (['2-1'], 'uasctl status 2-1'), \
                (['/dev/sdb1'], 'uasctl status /dev/sdb1'):
            self.wrong(*words, code=2, says='There is no verb')
            self.wrong(*words, code=2, says=says)
        self.assertEqual(self.called(), ['ready'])

    def test_two_verbs(self):
        """The second one is an argument: one too many, or a disk that does not exist."""
        self.start()
        for verb, words in self.verbs.items():
            for second in {verb, 'list', 'switch'}:
                self.wrong(verb, second, code=4 if words else 2, says=f"'{second}'" if words else 'Too many arguments')
        self.assertEqual(self.called(), ['ready'])

    def test_options(self):
        self.start()
        for verb in self.verbs:
            for option in '--nonsense', '-Z', '--quiet=1':
                self.wrong(verb, *self.needed(verb), option, code=2, says='option')
                self.wrong(verb, *self.needed(verb), option, code=2, says='See uasctl --help.')
        for option, values in WRONG.items():
            for value in values:
                for verb in self.verbs if value == values[0] else self.meant_for.get(option, ['list']):
                    self.wrong(verb, *self.needed(verb), f'{option}={value}', code=2)
        # No other verb accepts an option for a dry run or for force.
        for option in '--dry-run', '--force':
            for verb in self.verbs:
                p = self.tree.run(verb, *self.needed(verb), option, env=self.env)
                if verb not in NEEDS_DAEMON:
                    self.assertEqual((p.returncode, p.stdout), (2, ''), (verb, option))
                    self.assertIn(f"'{verb}' does not take {option}", p.stderr)
        self.assertEqual([call for call in self.called() if 'force' not in call], ['ready'])

    def test_json(self):
        """With --json no verb prints other text, or makes a change without JSON."""
        self.start()
        for verb, words in self.verbs.items():
            most = PRINTS_JSON.get(verb, -1)
            for n in range(most + 1, len(words) + 1):
                arguments = ['sda', 'uas' if verb != 'trim' else 'on'][:n]
                if len([w for w in words if w[0] != '[']) <= n:
                    self.wrong(verb, *arguments, '--json', code=2, says='--json')
            for n in range(len(self.needed(verb)), most + 1):
                if verb != 'monitor':  # it has no end
                    p = self.tree.run(verb, *['sda'][:n], '--json', env=self.env)
                    self.assertEqual(p.returncode, 0, (verb, n, p))
                    json.loads(p.stdout)
        self.wrong('switch', 'sda', 'uas', '--dry-run', '--json', code=2, says='--json')
        self.wrong('inhibit', '--json', 'true', code=2, says='--json')
        json.loads(self.tree.run('policy', '--kernel', '--json', env=self.env).stdout)
        self.assertEqual(self.called(), ['ready'])
        self.inhibit()
        self.assertEqual(json.loads(self.tree.run('inhibit', '--list', '--json', env=self.env).stdout)['inhibitors'][0]['who'], 'dd')

    def test_which_disk(self):
        for daemon in False, True:
            if daemon:
                self.start()
            for verb, words in self.with_disk().items():
                if verb in NEEDS_DAEMON and not daemon:
                    continue
                more = NEEDS_DAEMON.get(verb, [])
                for name in NO_DISK:
                    if verb == 'db' and name == 'ffff:ffff':  # a bridge needs no disk: test-db.py
                        continue
                    self.wrong(verb, name, *more, code=4, says=f"'{name}'", lines=4)
                told = self.wrong(verb, '1209:5a5a', *more, code=2, says='matches more than one disk', lines=12).stderr
                for number in range(1, 10):
                    self.assertIn(f'2-{number}:1.0 (sd{"abcdefghi"[number - 1]})', told)
        self.assertEqual(self.called(), ['ready'])

    def test_no_daemon(self):
        # There is no bus either. Without one only root can know that uasd does not run.
        says = 'only it can do that.' if os.geteuid() == 0 else 'only uasd can do that. root reaches uasd without the bus.'
        for verb, more in NEEDS_DAEMON.items():
            self.wrong(verb, 'sda', *more, code=1, says=says)

    def test_no_bench(self):
        """bench is a separate program. If it is not installed, the error names the package."""
        path = self.tree.path(LIBEXEC + '/uasctl-bench')
        os.rename(path, path + '-not')
        try:
            self.wrong('bench', 'sda', code=77, says='The package uasd-bench has it, the bundle does not.')
            self.wrong('--json', 'bench', '--history', code=77, says='The package uasd-bench has it, the bundle does not.')
        finally:
            os.rename(path + '-not', path)
        os.chmod(path, 0o644)
        try:
            self.wrong('bench', 'sda', code=1, says='/uasctl-bench: Permission denied')
        finally:
            os.chmod(path, 0o755)

    def test_not_permitted(self):
        """A user without permission gets an error that names the authority. Reading is permitted."""
        self.start()
        who = {'user': NOBODY, 'group': NOBODY} if os.geteuid() == 0 else {}
        for verb, more in NEEDS_DAEMON.items():
            if verb not in CALLS_NOTHING:
                self.wrong(verb, 'sdf', *more, '--no-ask-password', code=8, says='Not permitted: ', lines=3, **who)
        self.wrong('eject', 'sdf', '--no-ask-password', code=8, says='Run it as root.', lines=3, **who)
        # It does not help root, nor against another error.
        said = self.wrong('switch', 'sde', 'uas', '--no-ask-password', code=6, lines=3, **who).stderr
        if os.geteuid() == 0:
            said += self.wrong('eject', 'sdf', code=8, says='Not permitted: ').stderr
        self.assertNotIn('as root', said)
        self.wrong('inhibit', '--disk=sdf', '--no-ask-password', 'true', code=8, says='Not permitted: ', lines=3, **who)
        if FIO:
            self.media('sdf')
            self.wrong('bench', 'sdf', *BENCH[2:], '--no-ask-password', code=8, says='Not permitted: ', lines=20, **who)
        self.inhibit()
        p = self.tree.run('inhibit', '--list', env=self.env, **who)
        self.assertEqual((p.returncode, p.stdout.split()[-3:]), (0, ['any', 'dd', '-']))
        for verb in DOES_WITHOUT - {'log', 'report'}:  # these read files of root
            p = self.tree.run(verb, *self.needed(verb), env=self.env, **who)
            self.assertEqual(p.returncode, 0, (verb, p))

    def test_old_daemon(self):
        """A daemon without a method is reported as of another version. """
        self.start('methods')
        for verb, more in NEEDS_DAEMON.items():
            if verb not in CALLS_NOTHING:
                self.wrong(verb, 'sda', *more, code=1, says='of another version', lines=3)
        for words in ['inhibit', 'true'], ['inhibit', '--disk=sda', 'true'], ['inhibit', '--list'], ['inhibit', '--list', '--json'], ['policy'], \
                ['policy', '1209:5a5a:GONE']:
            self.wrong(*words, code=1, says='of another version')
        if FIO:
            self.media('sda')
            self.wrong(*BENCH, code=1, says='of another version', lines=20)
        self.assertEqual(self.called(), ['ready'])

    def test_which_versions(self):
        """A daemon that reports its version: the error contains it, made harmless, and ours."""
        ours = self.tree.run('--version').stdout.split()[-1]
        says = f'The running uasd is version 0.0.1\\x1b[31m, and this uasctl {ours}: it does not know '
        self.start('older')
        for verb, more in NEEDS_DAEMON.items():
            if verb not in CALLS_NOTHING:
                self.wrong(verb, 'sda', *more, code=1, says=says, lines=3)
        self.wrong('inhibit', 'true', code=1, says=says + "'Inhibit'", lines=3)
        self.wrong('inhibit', '--list', code=1, says=says + "'Inhibitors'", lines=3)

    def test_first_daemon(self):
        """A daemon without ListDisks: verbs that read use the kernel, and the others fail."""
        self.start('nothing')
        for verb in DOES_WITHOUT - {'wait'}:
            p = self.tree.run(verb, *self.needed(verb), env=self.env)
            self.assertEqual(p.returncode, 0, (verb, p))
        self.assertIn("does not understand uasd's answer: uasd is version 0.0.1", self.tree.run('list', env=self.env).stderr)
        self.wrong('switch', 'sda', 'uas', code=1, says="does not understand uasd's answer")

    def test_daemon_goes(self):
        """After its first answer; or it does not answer as expected. There is no list instead of a wrong one."""
        for version, words, says in (('dies ListPolicies', ['policy'], 'uasd is not there any more.'), ('leaves', ['policy'], 'uasd is not there any more.'),
                                     ('leaves', ['inhibit', '--list'], 'uasd is not there any more.'),
                                     ('leaves', ['wait', 'sda'], 'uasd is not there any more.'),
                                     ('leaves', ['lease', 'sda'], 'uasd is not there any more.'),
                                     *(('leaves', [verb, 'sda', *more], 'uasd is not there any more.')
                                       for verb, more in NEEDS_DAEMON.items() if verb not in CALLS_NOTHING),
                                     ('twice', ['wait', 'sdi'], 'uasd is not there any more.'),
                                     ('policies', ['policy'], 'Cannot read the policies: Bad message')):
            with self.subTest(version=version, words=words):
                self.start(*version.split())
                self.wrong(*words, code=1, says=says)
                self.doCleanups()
                self.setUp()

    def test_strange_daemon(self):
        """Unknown words are no answer: verbs that read use the kernel, and the others fail."""
        self.start('words')
        for verb, more in NEEDS_DAEMON.items():
            self.wrong(verb, 'sda', *more, code=1, says="does not understand uasd's answer: uasd is version 0.0.1\\x1b[31m, and uasctl ")
        for verb in 'list', 'status', 'wait':
            p = self.tree.run(verb, *self.needed(verb), env=self.env)
            self.assertIn('does not understand', p.stderr)
            self.assertNotIn('dreaming', p.stdout)
        self.assertEqual(self.called(), ['ready'])

    def test_strange_daemon_of_ours(self):
        """If it says that it is of our version, the error names none."""
        self.start('same')
        self.wrong('cancel', 'sda', code=1, says="uasctl does not understand uasd's answer (another version?)\n")


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

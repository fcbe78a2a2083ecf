#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code, --help, the manual and the completions of three shells have the same verbs, arguments and options. This file tests the
answers of uasctl --complete and the offers of bash, and test-completion-shell.py those of fish and zsh."""

import os
import re
import subprocess
import sys
import unittest

import shells
from patience import patience
from spoken import Spoken
from tree import BENCH, Tree

PROGRAM, TOLD = sys.argv[1:3]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
COMPLETION = os.path.join(TOP, 'src/ctl/completion')


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


class Completion(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = Tree(PROGRAM)
        cls.addClassCleanup(cls.tree.close)
        cls.spoken = Spoken(cls.tree, TOLD)
        cls.env = shells.environment(cls.tree)
        for name in 'verbs help_options common of_verb columns all_options values'.split():
            setattr(cls, name, getattr(cls.spoken, name))

    def test_sane(self):
        self.assertIn('list', self.verbs)
        self.assertEqual(self.of_verb['switch'], {'--dry-run', '--force', '--wait'})
        self.assertEqual(self.of_verb['list'], {'-o', '--output', '--tree'})
        self.assertLessEqual({'-h', '--help', '-q', '--json', '-j'}, self.common)
        self.assertEqual(self.values('switch'), {'uas', 'usb-storage'})

    def test_table(self):
        """--help comes from the table of verbs, and so do the verbs that run."""
        rows = re.findall(r'(?m)^        \{"([a-z]+)", \d', read('src/ctl/verbs.c'))
        self.assertEqual(list(self.verbs), rows)
        self.assertIn('There is no verb', self.tree.run('nonsense').stderr)

    def test_help(self):
        self.assertEqual(self.help_options, self.all_options())

    def test_manual(self):
        manual = read('man/uasctl.1.scd')
        told = '\n'.join(text.split('# OPTIONS')[1].split('\n# ')[0] for text in (manual, read('man/uasctl-bench.1.scd')))
        self.assertEqual({o for line in re.findall(r'(?m)^(\*-.*)$', told) for o in re.findall(r'\*(--?[a-zA-Z-]+)\*', line)},
                         self.all_options())
        lines = re.findall(r'(?m)^\*([a-z]+)\*(.*)$', manual.split('# VERBS')[1].split('\n# ')[0])
        self.assertEqual({verb: rest.replace('*', '').strip() for verb, rest in lines}, self.verbs)

    def test_manual_verbs(self):
        "An option that only some verbs accept has these verbs in its paragraph."
        told = read('man/uasctl.1.scd').split('# OPTIONS')[1].split('\n# ')[0]
        takes = {}
        for names, text in re.findall(r'(?m)^(\*-.*)\n((?:\t.*\n)+)', told):
            verbs = {verb for phrase in re.findall(r'With\s([^:]*):', text) for verb in re.findall(r'\*([a-z]+)(?: [^*]*)?\*', phrase)}
            for option in re.findall(r'\*(--?[a-zA-Z-]+)\*', names):
                for verb in verbs - {'bench'}:
                    takes.setdefault(verb, set()).add(option)
        self.assertEqual(takes, {verb: options for verb, options in self.of_verb.items() if options and verb != 'bench'})

    # bash

    def bash(self, *words):
        """The offers for the last word. readline makes '=' a separate word."""
        script = ('source "$1"; shift; complete -p uasctl >/dev/null || exit 1; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  'complete() { false; }; _uasctl uasctl "${@: -1}" "${@: -2:1}" || exit 2; '
                  '((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
        p = subprocess.run(['bash', '--norc', '-u', '-c', script, 'bash', f'{COMPLETION}/uasctl.bash', 'uasctl', *words],
                           capture_output=True, text=True, timeout=patience(),
                           env=self.env)
        self.assertEqual((p.returncode, p.stderr), (0, ''), words)
        offered = p.stdout.splitlines()
        self.assertEqual(len(offered), len(set(offered)), offered)
        return set(offered)

    def disks(self):
        """Three disks that may have any driver, a keyboard, and the expected names."""
        if not os.path.exists(self.tree.path('sys/block/sda')):
            self.tree.disk('2-1', 'sda', 'uas')
            self.tree.disk('1-1.4', 'sdb')
            self.tree.disk('1-2', 'sdc', None)
            scsi = os.path.realpath(self.tree.path('sys/block/sda/device'))
            self.tree.write(f'{scsi[:-1]}1/type', '0\n')  # a LUN without a block device
            for name, value in {'bInterfaceClass': '03', 'bInterfaceSubClass': '01'}.items():
                self.tree.write(f'sys/bus/usb/devices/1-3:1.0/{name}', value + '\n')
        return {'2-1', 'sda', '1-1.4', 'sdb', '1-2', 'sdc'}

    def test_bash_verbs(self):
        self.assertEqual(self.bash(''), set(self.verbs))
        self.assertEqual(self.bash('--json', 'st'), {'status'})

    def test_bash_options(self):
        for verb in self.verbs:
            offered = {o.rstrip('=') for o in self.bash(verb, '-')}
            self.assertEqual(offered, self.common | self.of_verb[verb], verb)
        self.assertEqual({o.rstrip('=') for o in self.bash('-')}, self.common)
        self.assertEqual(self.bash('switch', 'sda', 'uas', '--dr'), {'--dry-run'})

    def test_bash_arguments(self):
        disks = self.disks()
        for verb, arguments in self.verbs.items():
            takes = 'DISK' in arguments
            if verb in ('inhibit', 'help', 'module'):  # they take a command, a verb, and a file
                continue
            self.assertEqual(self.bash(verb, ''), disks if takes else set(), verb)
            self.assertEqual(self.bash(verb, '--quiet', 'sd'), {d for d in disks if d.startswith('sd')} if takes else set())
            more = disks if self.spoken.takes_disks(verb) else set()
            self.assertEqual(self.bash(verb, 'sda', ''), more or self.values(verb), verb)
            self.assertEqual(self.bash(verb, 'sda', 'uas', ''), more)
        self.assertEqual(self.bash('nonsense', ''), set())
        self.assertEqual(self.bash('nonsense', 'x', ''), set())
        self.assertEqual((self.bash('log', '-n5', 's'), self.bash('log', '-n', 's')), ({d for d in disks if d[0] == 's'}, set()))
        self.assertEqual((self.bash('help', ''), self.bash('help', 'lo'), self.bash('help', 'log', '')), (set(self.verbs), {'log'}, set()))
        self.assertEqual(self.bash('list', '--json', '=', ''), {'short', 'pretty'})
        self.assertEqual(self.bash('switch', '--wait', '=', '5', 'sda', 'us'), {'usb-storage'})
        self.assertEqual(self.bash('-H', 'nas', 'switch', 'sda', 'us'), {'usb-storage'})
        self.assertEqual(self.bash('policy', '--kernel', '--write', 'sda', ''), {'auto', 'uas', 'usb-storage'})
        self.assertEqual(self.bash('switch', '--wait', '=', ''), set())
        self.assertEqual(self.bash('switch', '--wait', ''), disks)
        for words in (['--disk', '='], ['--disk', ''], ['--why', 'x', '--disk', '=', 's'], ['--disk', 's']):
            self.assertEqual(self.bash('inhibit', *words), {d for d in disks if d.startswith(words[-1].strip('='))}, words)
        self.assertEqual(self.bash('inhibit', '--why', '='), set())

    def test_bash_paths(self):
        self.assertEqual(self.bash('status', '/dev/nul'), {'/dev/null'})
        folder = self.tree.path('etc')
        for words in (['--textfile', folder[:-1]], ['--textfile', '=', folder[:-1]]):
            self.assertEqual(self.bash('metrics', *words), {folder})
        self.assertEqual(self.bash('metrics', '--textfile', '='), self.bash('metrics', '--textfile', ''))

    def test_bash_values(self):
        self.assertEqual(self.bash('bench', 'sda', '--driver', ''), {'uas', 'usb-storage'})
        self.assertEqual(self.bash('bench', 'sda', '--driver', '=', 'ua'), {'uas'})
        self.assertEqual(self.bash('bench', '--sweep', '=', 'de'), {'depth'})
        self.assertEqual(self.bash('bench', '--file', '/dev/nul'), {'/dev/null'})
        self.assertEqual(self.bash('bench', '-n', ''), set())
        self.assertEqual(self.bash('log', '--since', '=', ''), {'today', 'yesterday'})

    def test_bash_results(self):
        for words in ['show', ''], ['--show', ''], ['diff', 'last', '']:
            self.assertEqual(self.bash('bench', *words), {'last'}, words)
        for name in '20251124T121320Z-0f3c2a4e-6b1d-4c77-9a55-000000000001.json', '20251125T121320Z-1f3c2a4e-6b1d-4c77-9a55-000000000002.json', 'x.json':
            self.tree.write('var/lib/uasd/bench/' + name, '{}')
        for words in ['show', ''], ['--show', ''], ['--csv', 'show', ''], ['diff', ''], ['diff', 'last', ''], ['--remove', '']:
            self.assertEqual(self.bash('bench', *words), {'last', '0f3c2a4e', '1f3c2a4e'}, words)
        self.assertEqual(self.bash('bench', 'show', '1'), {'1f3c2a4e'})

    def test_bash_columns(self):
        self.assertEqual(self.bash('list', '-o', ''), self.columns)
        self.assertEqual(self.bash('list', '--output', '=', 'DR'), {'DRIVER'})
        self.assertEqual(self.bash('list', '--output', '=', '+ID,REASON'), {'+ID,REASON', '+ID,REASON-ID'})
        self.assertEqual(self.bash('list', '-o', 'NONE'), set())

    def test_bash_command(self):
        """After inhibit there is a command, and after that the words of the command."""
        self.assertLessEqual({'env', 'sh'}, self.bash('inhibit', ''))
        self.assertEqual(self.bash('inhibit', '--why', 'list', 'uasctl-no-such-'), set())
        self.assertEqual(self.bash('inhibit', 'sh', '--w'), set())
        self.assertEqual(self.bash('inhibit', 'sh', '/dev/nul'), {'/dev/null'})

    def test_bash_disk_goes(self):
        """A disk that does not exist or is not readable is not offered, without an error."""
        self.tree.write('sys/bus/usb/devices/9-9:1.0/bInterfaceClass', '08\n')
        self.assertEqual(self.bash('status', '9'), set())

    # what the shells ask

    def complete(self, *words):
        """word -> its description. uasd is not running."""
        p = self.tree.run('--complete', *words)
        self.assertEqual((p.returncode, p.stderr), (0, ''), words)
        return dict((line + '\t').split('\t')[:2] for line in p.stdout.splitlines())

    def test_descriptions(self):
        """Verbs and options are described with the words of --help, in its order."""
        helps = ' '.join((self.tree.run('--help').stdout + self.tree.run('bench', '--help').stdout).split())
        verbs = self.complete('')
        self.assertEqual(list(verbs), list(self.verbs))
        for verb in self.verbs:
            offers = self.complete(verb, '-')
            self.assertEqual({o.rstrip('=') for o in offers}, self.common | self.of_verb[verb], verb)
            for text in [verbs[verb], *offers.values()]:
                self.assertTrue(text)
                self.assertIn(text, helps)

    def test_disks(self):
        self.disks()
        self.assertEqual(self.complete('status', ''), {'sda': '2-1', '2-1': 'sda', 'sdb': '1-1.4', '1-1.4': 'sdb', 'sdc': '1-2', '1-2': 'sdc'})

    def test_what_the_shell_completes(self):
        for words, offer in {('status', '/d'): ':files', ('module', ''): ':files', ('metrics', '--textfile='): ':directories', ('bench', '--file', ''): ':files',
                             ('-H', ''): ':hosts', ('bench', '--clients='): ':hosts', ('inhibit', ''): ':command 2',
                             ('-q', 'inhibit', '--why', 'x', 'ls', '-'): ':command 5'}.items():
            self.assertEqual(self.complete(*words), {offer: ''}, words)
        self.assertEqual(self.complete('list', '-o', '+ID,D'), {':nospace': '', **{f'+ID,{c}': '' for c in self.columns}})

    def test_odd_lines(self):
        """Whatever somebody types, there is an answer."""
        for words in ('-',), ('=',), ('--=',), ('-', '='), ('--',), ('--', ''), ('status', '--', ''), ('=', '=', ''), ('--wait', '=', '=', ''), ('-H',), ('x' * 5000, 'y'):
            self.complete(*words)

    def test_without_bench(self):
        bench = self.tree.path(BENCH)
        os.rename(bench, bench + '.away')
        self.addCleanup(os.rename, bench + '.away', bench)
        self.assertEqual(self.bash('bench', '-'), set())
        self.assertIn('bench', self.bash('b'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

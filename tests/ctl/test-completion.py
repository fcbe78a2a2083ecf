#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code, --help, the manual and the completions of three shells have the same verbs, arguments and options. This file tests the
offers of bash, and test-completion-shell.py those of fish and zsh."""

import os
import re
import subprocess
import sys
import unittest

from patience import patience
from spoken import Spoken
from tree import Tree

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

    # bash

    def bash(self, *words):
        """The offers for the last word. readline makes '=' a separate word."""
        script = ('source "$1"; shift; complete -p uasctl >/dev/null || exit 1; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  'complete() { false; }; _uasctl uasctl "${@: -1}" "${@: -2:1}" || exit 2; '
                  '((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
        p = subprocess.run(['bash', '--norc', '-u', '-c', script, 'bash', f'{COMPLETION}/uasctl.bash', 'uasctl', *words],
                           capture_output=True, text=True, timeout=patience(),
                           env=dict(os.environ, _UASCTL_SYSFS=self.tree.path('sys'), _UASCTL_RESULTS=self.tree.path('var/lib/uasd/bench'), LC_ALL='C.UTF-8'))
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
            if verb in ('inhibit', 'help'):  # they take a command, and a verb
                continue
            self.assertEqual(self.bash(verb, ''), disks if takes else set(), verb)
            self.assertEqual(self.bash(verb, '--quiet', 'sd'), {d for d in disks if d.startswith('sd')} if takes else set())
            more = disks if self.spoken.takes_disks(verb) else set()
            self.assertEqual(self.bash(verb, 'sda', ''), more or self.values(verb), verb)
            self.assertEqual(self.bash(verb, 'sda', 'uas', ''), more)
        self.assertEqual(self.bash('nonsense', ''), set())
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

    # fish

    def test_fish_text(self):
        text = read('src/ctl/completion/uasctl.fish')
        self.assertEqual(re.findall(r"'__uasctl_at 0' -a ([a-z]+) ", text), list(self.verbs))
        told = {}
        for line in re.findall(r'(?m)^complete -c uasctl (.*(?<!\S)-l .*)$', text):
            for o in {f'--{m}' for m in re.findall(r' -l ([a-z-]+)', ' ' + line)} | {f'-{m}' for m in re.findall(r' -s (.)', ' ' + line)}:
                m = re.search(r'__uasctl_of ([a-z ]+)', line)
                told[o] = told.get(o, set()) | set(m[1].split() if m else [])
        self.assertEqual(told, {o: {v for v in self.verbs if o in self.of_verb[v]} for o in self.all_options()})
        for verbs in re.findall(r"'__uasctl_at 1 ((?!help)[a-z ]+)[';]", text):
            self.assertEqual(set(verbs.split()), {v for v, a in self.verbs.items() if 'DISK' in a and 'DISK...' not in a})
        for verbs in re.findall(r"'__uasctl_after ([a-z ]+)[';]", text):
            self.assertEqual(set(verbs.split()), {v for v, a in self.verbs.items() if 'DISK...' in a})
        self.assertEqual({v: set(w.split()) | ({'ignore'} if v == 'policy' else set()) for v, w in re.findall(r"'__uasctl_at 2 ([a-z]+)' -a '(.*)'", text)},
                         {v: self.values(v) for v in self.verbs if self.values(v)})

    def test_descriptions(self):
        """fish and zsh describe verbs and options with the words of --help."""
        table, fish, zsh = (read(f'src/ctl/{name}') for name in ('verbs.c', 'completion/uasctl.fish', 'completion/_uasctl'))
        told = re.findall(r"""'__uasctl_at 0' -a [a-z]+ -d ['"](.*)['"]""", fish) + re.findall(r"(?m)^ +'[a-z]+:(.*)'$", zsh)
        self.assertEqual(len(told), 2 * len(self.verbs))
        for text in told:
            self.assertIn(f'"{text}"', table)
        helps = ' '.join((self.tree.run('--help').stdout + self.tree.run('bench', '--help').stdout).split())
        told = re.findall(r"""(?m) -l .* -d ['"](.*)['"]$""", fish) + re.findall(r"""--[a-z-]+(?:=-?)?\}?['"]?\[(.*?)\]['":]""", zsh)
        self.assertGreater(len(told), 2 * len(self.all_options()) - 20)
        for text in told:
            self.assertIn(text, helps)

    # zsh

    def test_zsh_text(self):
        text = read('src/ctl/completion/_uasctl')
        self.assertEqual(re.findall(r"(?m)^ +'([a-z]+):", text), list(self.verbs))
        common = text.split('common=(')[1].split('\n        )')[0]

        def options(part):
            names = set(re.findall(r"""(?m)(?:^ +|[ ])['"](--[a-z-]+)[=\[]""", part))
            return names | {o for group in re.findall(r'\{(-.,--[a-z-]+)\}', re.sub(r'(?<=[a-zA-Z])[+=]-?(?=[,}])', '', part)) for o in group.split(',')}

        self.assertEqual(options(common), self.common)
        told, values, takes, several = {}, {}, set(), set()
        for label, part in re.findall(r'(?ms)^                ([a-z|*]+)\)\n(.*?);;', text.split('case $words[1] in')[1]):
            for verb in label.split('|'):
                told[verb] = options(part)
                m = re.search(r"""['"]2:[a-z]+:\(([a-z $-]+)\)['"]""", part.replace('$ignore', 'ignore'))
                values[verb] = set(m[1].split()) if m else set()
                takes |= {verb} if re.search('1:disk:(_uasctl_disks| _uasctl_bench)', part) else set()
                several |= {verb} if '*:disk:_uasctl_disks' in part else set()
        self.assertLessEqual(set(told), set(self.verbs) | {'*'})
        self.assertEqual({v: told.get(v, told['*']) for v in self.verbs}, self.of_verb)
        self.assertEqual({v: values.get(v, set()) for v in self.verbs}, {v: self.values(v) for v in self.verbs})
        self.assertEqual(several, {v for v, a in self.verbs.items() if 'DISK...' in a})
        self.assertEqual(takes | several, {v for v, a in self.verbs.items() if 'DISK' in a})


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

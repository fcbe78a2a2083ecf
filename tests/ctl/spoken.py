# SPDX-License-Identifier: LGPL-2.1-or-later
"""The verbs, arguments and options of uasctl: from --help, and from its errors for each option at each verb."""

import contextlib
import os
import re
import string
import subprocess
import sys
import tempfile

from patience import patience

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src'))
from bench import exits, options as bench_options  # noqa: E402

VALUES = {'--textfile': '=/', '--json': '=short', '--lines': '=5', '--since': '=1h', '--output': '=driver', '-o': 'driver', '--hwdb': '=sdz',
          '--host': '=x', '-H': 'x', '--disk': '=sda', '--why': '=x', '-n': '5', '--size': '=1G', '--driver': '=uas', '--sweep': '=depth',
          **dict.fromkeys(('--rounds', '--runtime', '--pause'), '=5'),
          **dict.fromkeys(('--profile', '--pattern', '--file', '--clients', '--chart'), '=none')}


def verbs_of(text):
    """verb -> its arguments: "DISK [uas|usb-storage]"."""
    return {m[1]: m[2].strip() for m in re.finditer(r'(?m)^  ([a-z]+)((?: \[?[A-Z]+(?:\.\.\.)?\]?| \[[A-Z|:]+\]| \[[a-z|-]+\])*)(?:  .*)?$', text)}


def bench_says(line):
    """The errors of uasctl-bench, which gets all words but the verb."""
    stderr = os.dup(2)
    with tempfile.TemporaryFile('w+') as said:
        os.dup2(said.fileno(), 2)
        with contextlib.suppress(exits.Ended):
            bench_options.parse([word for word in line if word != 'bench'])
        os.dup2(stderr, 2)
        os.close(stderr)
        said.seek(0)
        return said.read()


class Spoken:
    def __init__(self, tree, told):
        """told: the program options-told."""
        self.told = told
        verbs, options = tree.run('--help').stdout.split('Options:')
        options += tree.run('bench', '--help').stdout.split('Options:')[1]
        self.verbs = verbs_of(verbs)
        self.help_options = set(re.findall(r'(?<![\w-])--?[a-zA-Z][a-z-]*', '\n'.join(
            line[:31] for line in options.splitlines())))
        self.common, self.of_verb = self.options_in_code()
        # The columns as `list` names them in its error.
        self.columns = set(tree.run('list', '--output=nonsense').stderr.split(': ')[-1].rstrip('.\n').split(', '))

    def ask(self, lines):
        p = subprocess.run([self.told], input=''.join(' '.join(line) + '\n' for line in lines), capture_output=True, text=True,
                           timeout=patience(60), check=True)
        answers = re.split(r'(?m)^\.\n', p.stdout)[:-1]
        assert len(answers) == len(lines), p.stdout
        return [bench_says(line) if 'bench' in line else answer for line, answer in zip(lines, answers)]

    def options_in_code(self):
        """The options of getopt, and the verbs that accept them."""
        letters = [f'-{c}' for c in string.ascii_letters + string.digits]
        every = set()
        for verb in [], ['bench']:
            long, *short = self.ask([[*verb, '--='], *([*verb, letter] for letter in letters)])
            every |= set(re.findall(r"'(--[a-z-]+)'", long.split('possibilities')[1]))
            every |= {letter for letter, said in zip(letters, short) if 'invalid option' not in said}
        common, of_verb = set(every), {verb: set() for verb in self.verbs}
        # For inhibit the option precedes the command. Words after the command belong to it.
        pairs = [(option, verb) for option in sorted(every - {'-h', '--help', '--version'}) for verb in self.verbs]
        said = self.ask([[option + VALUES.get(option, ''), verb, *['sdz'] * self.verbs[verb].startswith('DISK')] for option, verb in pairs])
        for (option, verb), answer in zip(pairs, said):
            if re.search('does not take|unrecognized option|invalid option', answer):
                common.discard(option)
            else:
                of_verb[verb].add(option)
        return common, {verb: options - common for verb, options in of_verb.items()}

    def all_options(self):
        return self.common.union(*self.of_verb.values())

    def values(self, verb):
        """The words that may follow DISK."""
        m = re.search(r'DISK\]? \[([a-z|-]+)\]', self.verbs[verb])
        return set(m[1].split('|')) if m else set()

    def takes_disk(self, verb):
        return 'DISK' in self.verbs[verb]

    def takes_disks(self, verb):
        return 'DISK...' in self.verbs[verb]

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl accepts every command in README.md, docs/ and the manual pages, and its output is the one shown there.

    test-documents.py UASCTL-IN-TREE
"""

import glob
import os
import re
import shlex
import sys
import unittest

from tree import Tree

PROGRAM = sys.argv[1]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
USAGE = 2


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def documents():
    for pattern in 'README.md', 'docs/*.md', 'man/*.scd':
        for path in sorted(glob.glob(pattern, root_dir=TOP)):
            yield path, read(path)


def blocks(path, text):
    """The lines of each block of code."""
    if path.endswith('.scd'):
        return [block.splitlines() for block in re.findall(r'(?ms)^```\n(.*?)^```$', text)]
    return [[line[4:] for line in block.splitlines()] for block in re.findall(r'(?m)(?:^    .*\n)+', text)]


def words(line):
    """The arguments of a line that begins with uasctl; None: another program or another machine."""
    line = re.sub(r'^\$ ', '', line)
    if not re.match(r'uasctl($| )', line):
        return None
    args = shlex.split(re.split(r' [|>]', line)[0], comments=True)[1:]
    return None if '-H' in args or 'monitor' in args else ['true' if arg == 'CMD' else 'sda' if arg == 'DISK' else arg for arg in args]


class Documents(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        # JMS578 on uas, and a disk from the examples of uasctl. The machine of the documents is a Raspberry Pi.
        self.tree.disk('2-1', 'sda', 'uas', ids=(0x152d, 0x0578), serial='NA7ABCDE')
        self.tree.disk('2-2', 'sdb', 'uas', serial='S2')
        self.tree.write('etc/uasd/policy', '152d:0578:NA7ABCDE=usb-storage\n')
        self.tree.write('sys/module/usb_storage/initstate', 'live\n')
        self.tree.write('proc/cmdline', 'console=tty1 root=LABEL=root rootwait\n')
        os.makedirs(self.tree.path('usr/share/uasd'))
        os.symlink(os.path.realpath(os.path.join(TOP, 'src/bench/profiles')), self.tree.path('usr/share/uasd/bench'))
        self.tree.write('boot/firmware/cmdline.txt', 'console=tty1 root=LABEL=root rootwait\n')
        os.makedirs(self.tree.path('bin'))
        os.symlink('/bin/true', self.tree.path('bin/rsync'))
        self.env = {'PATH': self.tree.path('bin') + ':' + os.environ['PATH']}

    def run_line(self, line):
        return self.tree.run(*words(line), env=self.env)

    def test_commands(self):
        count = 0
        for path, text in documents():
            for line in (line for block in blocks(path, text) for line in block if words(line) is not None):
                with self.subTest(path=path, line=line):
                    p = self.run_line(line)
                    self.assertNotEqual(p.returncode, USAGE, p.stderr)
                    self.assertGreaterEqual(p.returncode, 0, p.stderr)
                count += 1
        self.assertGreater(count, 30)

    def test_output(self):
        """After "$ uasctl ..." docs/ show the standard output."""
        count = 0
        for path, text in documents():
            for block in blocks(path, text):
                if block[0].startswith('$ uasctl'):
                    self.assertEqual(self.run_line(block[0]).stdout.splitlines(), block[1:], path)
                    count += 1
        self.assertGreater(count, 0)

    def test_verbs_in_text(self):
        """Commands in the middle of a sentence also begin with an existing verb."""
        known = set(re.findall(r'(?m)^        \{"([a-z]+)", \d', read('src/ctl/verbs.c')))
        for path, text in documents():
            for verb in re.findall(r'(?:`|(?<![\w*])\*)uasctl ([a-z]+)', text):
                self.assertIn(verb, known, path)


    def test_states(self):
        """What a page calls a STATE is what `uasctl list` prints."""
        printed = read('src/ctl/brief.c')
        seen = set()
        for path, text in documents():
            for table in re.findall(r'(?m)^\| STATE \|.*\n(?:\|.*\n)+', text):
                seen |= {(path, word) for word in re.findall(r'(?m)^\| `(.*?)` \|', table)}
            seen |= {(path, word) for word in re.findall(r'STATE `(.*?)`', text)}
        self.assertGreater(len(seen), 12)
        for path, word in sorted(seen):
            self.assertIn(f'_("{word}', printed, path)

    def test_bus(self):
        """Calls with busctl use methods of the interface, with their arguments."""
        with open(os.path.join(os.path.dirname(PROGRAM), '../../src/daemon/org.uasd1.xml')) as built:
            xml = built.read()
        methods = {(interface, name): ''.join(re.findall(r'<arg type="([^"]+)"[^>]* direction="in"', body or ''))
                   for interface, text in re.findall(r'(?s)<interface name="([^"]+)">(.*?)</interface>', xml)
                   for name, body in re.findall(r'(?s)<method name="(\w+)"(?:/>|>(.*?)</method>)', text)}
        calls = [shlex.split(re.sub(r'--\S+ ', '', line)) for path, text in documents() for block in blocks(path, text)
                 for line in block if re.match('busctl call .*org.uasd1.(Manager|Disk) ', line)]
        self.assertGreater(len(calls), 5)
        for _busctl, _call, _name, path, interface, method, *rest in calls:
            self.assertEqual(methods[interface, method], rest[0] if rest else '', method)
            self.assertEqual(path, '/org/uasd1' if interface.endswith('.Manager') else '/org/uasd1/disk/_32_2d1_3a1_2e0', method)

    def test_rows(self):
        """Rows of the decision table that a page names exist, and each row against uas has its advice."""
        known = set(re.findall(r'\[REASON_\w+\] = \{\.word = "([a-z-]+)"', read('src/core/policy.c')))
        named = {row for line in re.findall(r'(?m)^\| (rows? .*) decides? \|', read('docs/troubleshooting.md')) for row in re.findall('`([a-z-]+)`', line)}
        chosen = {'policy', 'policy-ignore', 'override', 'force-needed', 'no-bot', 'fastest'}  # by the user, or no choice
        self.assertEqual(named, known - chosen - {'just-unbound'})  # which lasts a moment


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

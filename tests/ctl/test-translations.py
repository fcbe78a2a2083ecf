#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The translations in po/ are complete, and no machine sees them.

    test-translations.py UASCTL-IN-TREE LOCALES LOCALEDIR
"""

import filecmp
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from parts import all_filled
from tree import Tree

PROGRAM, LOCALES, LOCALEDIR = sys.argv[1:4]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
LANGUAGES = sorted(os.listdir(LOCALES))


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


class Files(unittest.TestCase):
    def test_up_to_date(self):
        """tools/update-po finds the same texts in the source as those in po/."""
        with tempfile.TemporaryDirectory() as folder:
            output(os.path.join(TOP, 'tools', 'update-po'), folder)
            for path in sorted(glob.glob(os.path.join(TOP, 'po', '*.po*'))):
                with self.subTest(path):
                    self.assertTrue(filecmp.cmp(path, os.path.join(folder, os.path.basename(path)), shallow=False),
                                    'run tools/update-po, and translate what is new')

    def test_complete(self):
        with open(os.path.join(TOP, 'po', 'LINGUAS')) as f:
            self.assertEqual([line.strip() for line in f if not line.startswith('#')], LANGUAGES)
        for language in LANGUAGES:
            po = os.path.join(TOP, 'po', language + '.po')
            output('msgfmt', '--check', '--output-file=/dev/null', po)
            for unwanted in '--untranslated', '--only-fuzzy', '--only-obsolete':
                with self.subTest(language=language, unwanted=unwanted):
                    self.assertEqual(output('msgattrib', '--no-wrap', unwanted, po), '')

    def test_sentences(self):
        """translate() takes the first sentence that it knows. So in core, uasd and uasd-switch none begins another text."""
        with open(os.path.join(TOP, 'po', 'uasd.pot')) as f:
            texts = re.findall(r'^#: .*src/(?:core|daemon|hold|switch)/.*\n(?:#, .*\n)?msgid "(.*)"$', f.read(), re.MULTILINE)
        self.assertGreater(len(texts), 200)
        for text in texts:
            for end in re.finditer(r'\. ', text):
                self.assertNotIn(text[:end.start() + 1], texts)


class Machines(unittest.TestCase):
    """What a program reads is the same in every language."""

    COMMANDS = ('list --json', 'status --json', 'status sda --json', 'explain --json sda sdb', 'db --json', 'policy --json', 'log --json',
                'trim sda --json', 'policy --kernel sda --json', 'metrics', 'report', 'report --redact sda',
                'list -o disk,product,size,link,driver,state-id,port,why', 'list -o id,capable,policy,verdict,reason-id --no-legend', '--version')

    def setUp(self):
        self.tree = tree = Tree(PROGRAM)
        self.addCleanup(tree.close)
        tree.disk('2-1', 'sda', 'uas', serial='S1', ids=(0x152d, 0x0578))
        tree.disk('2-2', 'sdb', serial='S2', speed=480)
        tree.disk('2-3', 'sdc', serial='S3', ids=(0x4971, 0x1012))
        tree.write('etc/uasd/uasd.conf', '[Disk 152d:0578]\nPolicy=uas\n')
        tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n30 1 8:16 / /mnt/usb rw - ext4 /dev/sdb rw\n')
        os.makedirs(os.path.dirname(tree.path(LOCALEDIR.lstrip('/'))), exist_ok=True)
        os.symlink(os.path.abspath(LOCALES), tree.path(LOCALEDIR.lstrip('/')))

    def run_in(self, command, **env):
        p = subprocess.run([PROGRAM, self.tree.top, *command.split()], capture_output=True,
                           env=dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', TZ='UTC', **env))
        return p.stdout, p.stderr, p.returncode

    def test_machines(self):
        for language in LANGUAGES:
            for command in self.COMMANDS:
                with self.subTest(language=language, command=command):
                    english, other = (self.run_in(command, LC_ALL='C.UTF-8', LANGUAGE=name) for name in ('en', language))
                    self.assertEqual(other[0], english[0])
                    self.assertEqual(other[2], english[2])

    def test_parts(self):
        """With their values filled in, the sentences of --json=parts are those of --json=short."""
        for command in self.COMMANDS:
            if '--json' in command:
                parts, short = (json.loads(self.run_in(command.replace('--json', '--json=' + form))[0]) for form in ('parts', 'short'))
                with self.subTest(command=command):
                    self.assertEqual(all_filled(parts), short)
                    self.assertTrue('␂' in str(parts) or not command.startswith('explain'))

    def test_languages(self):
        """LANGUAGE counts in every locale except C. Other encodings than UTF-8 have no translation."""
        english, german = b'uasctl: There is no verb ', 'uasctl: Es gibt kein Verb „'.encode()
        for begins, env in ((german, {'LC_ALL': 'C.UTF-8', 'LANGUAGE': 'de'}), (german, {'LC_ALL': 'C.UTF-8', 'LANGUAGE': 'xx:de_AT'}),
                            (german, {'LC_ALL': '', 'LC_CTYPE': 'C.UTF-8', 'LC_MESSAGES': 'C.UTF-8', 'LANGUAGE': 'de'}),
                            (english, {'LC_ALL': 'C.UTF-8', 'LANGUAGE': ''}), (english, {'LC_ALL': 'C', 'LANGUAGE': 'de'}),
                            (english, {'LC_ALL': '', 'LANG': 'C.UTF-8', 'LC_CTYPE': 'C', 'LANGUAGE': 'de'})):
            with self.subTest(env=env):
                self.assertEqual(self.run_in('xyz', **env)[1][:len(begins)], begins)


unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Text for a terminal: what is made visible, where lines are broken, and output that is lost."""

import subprocess
import sys
import unittest

import samples  # noqa: F401: it finds the modules

from bench.harmless import cells, fold, harmless, longest, sentence, shorten

MANY = f'''
import sys
sys.path.insert(0, {sys.path[0]!r})
from bench import terminal
terminal.setup()
for i in range(50000):
    print('line', i)
print(terminal.close(), file=sys.stderr)
'''


class Text(unittest.TestCase):
    def test_harmless(self):
        for text, want in (('plain ü 漢', 'plain ü 漢'), ('\x1b[31m', '\\x1b[31m'), ('a\nb\x7f', 'a\\x0ab\\x7f'), ('a\\b', 'a\\x5cb'),
                           ('\u202e', '\\xe2\\x80\\xae'), ('\xad\x9b', '\\xc2\\xad\\xc2\\x9b'), ('\ufeff\U0001ffff', '\\xef\\xbb\\xbf\\xf0\\x9f\\xbf\\xbf'),
                           (b'a\xffb'.decode('utf-8', 'surrogateescape'), 'a\\xffb')):
            self.assertEqual(harmless(text), want)
        self.assertEqual(sentence('a\\b\x1b'), 'a\\b\\x1b')

    def test_widths(self):
        for text, want in ('', 0), ('abc', 3), ('漢字', 4), ('e\u0301', 1), ('…', 1):
            self.assertEqual(cells(text), want)
        for text, width, want in ('abc', 3, 'abc'), ('abcd', 3, 'ab~'), ('漢字漢', 4, '漢~'), ('abcd', 1, '~'):
            self.assertEqual(shorten(text, width, '~'), want)
        self.assertEqual((longest('a-bcd ef'), longest('a-bcd ef', True), longest('')), (5, 3, 0))

    def test_fold(self):
        for arguments, want in (
                (('one two three', 0), 'one two three'),
                (('one two three', 7), 'one two\nthree'),
                (('one  two three', 8, 2), 'one  two\n  three'),
                (('a verylongword b', 6), 'a\nverylongword\nb'),
                (('a very-longword b', 6, 0, '~'), 'a\nvery-\nlongw~\nb')):
            self.assertEqual(fold(*arguments), want)

    def test_lost(self):
        """A full disk is an error at the end, and no exception in the middle."""
        with open('/dev/full', 'w') as full:
            p = subprocess.run([sys.executable, '-c', MANY], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((p.returncode, p.stderr), (0, '[Errno 28] No space left on device\n'))
        p = subprocess.run([sys.executable, '-c', MANY], capture_output=True, text=True)
        self.assertEqual((p.returncode, p.stderr, p.stdout.count('\n')), (0, 'None\n', 50000))


if __name__ == '__main__':
    unittest.main()

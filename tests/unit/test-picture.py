#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/terminal-picture: the picture shows the text of a transcript at its place on the terminal, with its colours.

    test-picture.py SOURCE-ROOT
"""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from patience import patience  # noqa: E402

PROGRAM = os.path.join(sys.argv[1], 'tools/terminal-picture')
SVG = '{http://www.w3.org/2000/svg}'
TABLE = ('\033[1mA chapter\033[0m  \033[2m(3 s)\033[0m\n  # uasctl list\n'
         '  ID      STATE   PRODUCT\n  2-1:1.0 \033[32msettled\033[0m Maker <Disk> & "more"\n  2-2:1.0 \033[33mwaiting\033[39m 日本\n')


class Picture(unittest.TestCase):
    def draw(self, text, *args):
        with tempfile.NamedTemporaryFile() as f:
            f.write(text.encode('utf-8', 'surrogateescape'))
            f.flush()
            p = subprocess.run([PROGRAM, *args, f.name], capture_output=True, text=True, timeout=patience(), env=dict(os.environ, LC_ALL='C.UTF-8'))
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        svg = ET.fromstring(p.stdout)
        self.assertEqual(svg.tag, SVG + 'svg')
        self.title, *texts = svg.findall(f'{SVG}g/{SVG}text')
        return texts

    def rows(self, texts):
        """{line: [(column, text)]}, from the top."""
        rows = {}
        for t in texts:
            rows.setdefault(int(t.get('y')), []).append((round((float(t.get('x')) - 16) / 8.4), t.text))
        ys = sorted(rows)
        self.assertTrue(all((y - ys[0]) % 19 == 0 for y in ys))
        return {(y - ys[0]) // 19: rows[y] for y in ys}

    def test_text(self):
        rows = self.rows(self.draw(TABLE, '--title', 'a <title>'))
        self.assertEqual(self.title.text, 'a <title>')
        self.assertEqual(rows, {0: [(0, 'A chapter'), (11, '(3 s)')], 1: [(0, '  # uasctl list')], 2: [(0, '  ID      STATE   PRODUCT')],
                                3: [(0, '  2-1:1.0 '), (10, 'settled'), (17, ' Maker <Disk> & "more"')],
                                4: [(0, '  2-2:1.0 '), (10, 'waiting'), (17, ' 日本')]})

    def test_styles(self):
        of = {t.text: t.attrib for t in self.draw(TABLE)}
        self.assertEqual(of['A chapter']['font-weight'], 'bold')
        self.assertEqual(of['(3 s)']['opacity'], '0.6')
        self.assertNotEqual(of['settled']['fill'], of['waiting']['fill'])
        for plain in '  2-1:1.0 ', '  # uasctl list', ' 日本':
            self.assertTrue({'fill', 'font-weight', 'opacity'}.isdisjoint(of[plain]), plain)
        self.assertAlmostEqual(float(of[' 日本']['textLength']), 5 * 8.4, 1)
        one, two = self.draw('\033[38;5;2mgreen\033[m \033[38;2;1;2;300mmixed\033[48;5;7m')
        self.assertEqual((one.get('fill'), two.get('fill')), (of['settled']['fill'], '#0102ff'))

    def test_what_a_terminal_would_not_show(self):
        self.assertEqual(self.rows(self.draw('\n\n\033]0;title\a\033[2Jone\033[K\r\nold\rnew\r\n\n\0three\b\n\n\n')),
                         {0: [(0, 'one')], 1: [(0, 'new')], 3: [(0, 'three')]})
        self.assertEqual(self.draw(''), [])

    def test_long_lines(self):
        rows = self.rows(self.draw('x' * 50 + '\n' + 'y' * 10 + '\033[1m' + 'z' * 50 + '\033[0mnever\n', '--columns', '30'))
        self.assertEqual(rows, {0: [(0, 'x' * 29 + '…')], 1: [(0, 'y' * 10), (10, 'z' * 19 + '…')]})


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

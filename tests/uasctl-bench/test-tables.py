#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of uasctl bench on narrow terminals."""

import json
import re
import sys
import unittest

from telling import IDS, keep, UASCTL, on_terminal, plain, told
from tree import Tree

class Narrow(unittest.TestCase):
    """No line is wider than the terminal, and no text is cut."""
    WIDTHS = 40, 45, 50, 60, 70, 79, 80, 100, 117, 118, 130, 160

    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)

    def parts(self, text, width):
        """The lines above the table, its head, its first column without blanks, and the lines below."""
        lines = text.split('\n')
        self.assertLessEqual(max(map(len, lines)), width, text)
        begin = next(i for i, line in enumerate(lines) if line.startswith(('TEST ', 'PATTERN ')))
        end = lines.index('', begin)
        edge = lines[begin].index('DRIVER')
        words = [' '.join(' '.join(part).split()) for part in (lines[:begin], lines[end:])]
        return words[0], lines[begin], ''.join(line[:edge] for line in lines[begin + 1:end]).replace(' ', ''), words[1]

    def test_table(self):
        for sample in 'doubted', 'full', 'sweep', 'comparison', 'single', 'written':
            above, _, names, below = self.parts(told(sample, 'table'), 1000)
            tests = list(dict.fromkeys(re.sub('(random|sequential) (read|write),', r'\1,', r['text']) for r in json.loads(told(sample, 'json'))['results']))
            self.assertEqual(names, ''.join(tests).replace(' ', ''))
            both = sample in ('full', 'written') # reads beside writes need more room
            for width in (w for w in self.WIDTHS if w >= 50 or not both):
                found = self.parts(plain(on_terminal(sample, 'table', width=width)), width)
                self.assertEqual((found[0], found[2], found[3]), (above, names, below), (sample, width))
                self.assertEqual(found[1].split(), ['TEST', 'DRIVER', 'READ'] + ['WRITE'] * both + ['NOTES'])

    def test_diff(self):
        for number, sample in enumerate(('comparison', 'doubted')):
            told(sample, 'keep', self.tree.top, IDS[number], str(1763900000 + 86400 * number))
        above, _, names, below = self.parts(told('diff', self.tree.top, *IDS[:2]), 1000)
        self.assertIn('then', above)
        self.assertTrue(below)
        for width in (w for w in self.WIDTHS if w >= 50): # seven columns of words and figures
            found = self.parts(plain(on_terminal('diff', self.tree.top, *IDS[:2], width=width)), width)
            self.assertEqual((found[0], found[2], found[3]), (above, names, below), width)

    def test_lines(self):
        """Where no table fits, each cell has a line of its own."""
        for number, sample in enumerate(('comparison', 'doubted')):
            told(sample, 'keep', self.tree.top, IDS[number], str(1763900000 + 86400 * number))
        names = self.parts(told('diff', self.tree.top, *IDS[:2]), 1000)[2]
        text = plain(on_terminal('diff', self.tree.top, *IDS[:2], width=40))
        self.assertLessEqual(max(map(len, text.split('\n'))), 40, text)
        self.assertEqual(''.join(re.findall('(?s)PATTERN: (.*?)DRIVER: ', text)).replace(' ', '').replace('\n', ''), names)
        self.assertEqual(text.count('SECOND IS: no difference'), 8)
        text = plain(on_terminal('written', 'table', width=40))
        self.assertLessEqual(max(map(len, text.split('\n'))), 40, text)
        self.assertRegex(text, r'\nDRIVER: uas is\n  READ: 3\.1x faster\n WRITE: 2\.0x, but not certain\n')


class History(unittest.TestCase):
    GOES = 'LINK', 'ROUNDS', 'PROFILE', 'DATE', 'DISK' # first to last
    WIDTHS = 20, 30, 40, 50, 60, 70, 79, 80, 81, 100, 120, 160, 250

    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)
        self.keep('single', 1)
        self.keep('comparison', 2)
        self.keep('full', 3)

    def keep(self, sample, number):
        return keep(self.tree.top, sample, number, 1763900000)

    def rename(self, name, **conditions):
        path = self.tree.path('var/lib/uasd/bench/' + name)
        with open(path) as f:
            result = json.load(f)
        result['conditions'].update(conditions)
        with open(path, 'w') as f:
            json.dump(result, f)

    def history(self, width, **env):
        """The lines, and the columns of each result, with the lines of a cell joined by blanks."""
        lines = plain(on_terminal('history', self.tree.top, width=width, **env)).rstrip('\n').split('\n')
        starts = [(m.group(), m.start()) for m in re.finditer(r'\w+', lines[0].replace(' LINK', '5000M'))]
        rows = []
        for line in lines[1:]:
            if line.startswith(IDS[0][:8]):
                rows.append({})
            for (name, start), (_, end) in zip(starts, starts[1:] + [('', None)]):
                if name not in ('5000M', 'ROUNDS'):
                    cell = line[start:end].strip()
                    rows[-1][name] = f'{rows[-1].get(name, "")} {cell}'.strip()
        return lines, rows

    def results(self):
        """Results, as printed where nothing has to be folded."""
        lines = told('history', self.tree.top).rstrip('\n').split('\n')
        return [line[lines[0].index('RESULT'):] for line in lines[1:]]

    def test_folded_at_blanks(self):
        results = self.results()
        self.assertEqual(len(results), 3)
        for width in self.WIDTHS:
            lines, rows = self.history(width)
            self.assertLessEqual(max(map(len, lines)), width, lines)
            self.assertEqual([row['RESULT'] for row in rows], results, width)
            for row in rows:
                self.assertEqual(row.get('DISK', 'ACME Rotor 4000'), 'ACME Rotor 4000')
                self.assertIn(row.get('PROFILE', 'cdm'), 'cdm')
                self.assertRegex(row.get('DATE', '2025-11-26'), r'^2025-11-2[4-6]( 12:13)?$')
            there = [name in lines[0] for name in self.GOES]
            self.assertEqual(there, sorted(there), lines[0])
            self.assertTrue(there[-1] or width < 40, lines[0])
        self.assertEqual(len(self.history(250)[0]), 4)

    def test_no_utf8(self):
        """Our own ends of lines are not escaped."""
        lines, rows = self.history(60, LC_ALL='C')
        self.assertEqual([row['RESULT'] for row in rows], self.results())
        self.assertNotIn('x0a', ''.join(lines))

    def test_long_path(self):
        """A word wider than the terminal is cut, and the cut is marked."""
        path = '/srv/' + 'a' * 120
        self.rename(self.keep('single', 4), model=None, path=path)
        for width in self.WIDTHS:
            lines, rows = self.history(width)
            self.assertLessEqual(max(map(len, lines)), width, lines)
            said = rows[0].get('DISK', path)
            self.assertTrue(said == path or said.endswith('…') and path.startswith(said[:-1]), said)
            self.assertEqual([row['RESULT'] for row in rows], self.results(), width)
        self.assertIn(path, told('history', self.tree.top))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

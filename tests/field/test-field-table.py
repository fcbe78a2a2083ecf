#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/field.md: each row is shown by tests that exist, and the counts are those of the table."""

import glob
import os
import re
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
RESULTS = 'solved', 'elsewhere', 'partly', 'no', 'wrong'
SOLVED_AT_LEAST = 32


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def rows():
    """[number, result, evidence] of each case."""
    for line in read('docs/field.md').splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if len(cells) == 5 and cells[0].isdigit():
            yield int(cells[0]), cells[2], re.findall(r'`([^`]+)`', cells[4])


def logs():
    """The numbers that the logs name."""
    for path in glob.glob('tests/field/logs/*.log', root_dir=TOP):
        for numbers in re.findall(r'(?m)^# field (.*)$', read(path)):
            yield from (int(n) for n in re.findall(r'C(\d+)', numbers))


def exists(number, evidence):
    if evidence == 'logs':
        return number in set(logs())
    if evidence == 'bridges':
        return re.search(r'(?m)^%d\t' % number, read('tests/field/bridges.tsv'))
    if re.fullmatch(r'[a-z_]+\.[a-z0-9_]+', evidence):
        file, case = evidence.split('.')
        return re.search(r'(?m)^def %s\(' % case, read('tests/vm/cases/%s.py' % file))
    file, test = evidence.split(' ')
    return any(re.search(r'\b%s\(' % test, read(path)) for path in glob.glob('tests/*/%s.*' % file, root_dir=TOP))


class Table(unittest.TestCase):
    def test_shown(self):
        """Each row that claims something names what shows it."""
        for number, result, evidence in rows():
            with self.subTest(case=number):
                self.assertIn(result, RESULTS)
                self.assertTrue(evidence or result == 'no')
                for one in evidence:
                    self.assertTrue(exists(number, one), one)

    def test_counts(self):
        """All cases are there. The summary counts them, and none blames the wrong part."""
        self.assertEqual([number for number, _, _ in rows()], list(range(1, 51)))
        counts = {name: [result for _, result, _ in rows()].count(name) for name in RESULTS}
        told = dict(re.findall(r'(?m)^\| (\w+) \|.*\| (\d+) \|$', read('docs/field.md')))
        self.assertEqual({name: int(n) for name, n in told.items()}, counts)
        self.assertEqual(counts['wrong'], 0)
        self.assertGreaterEqual(counts['solved'] + counts['elsewhere'], SOLVED_AT_LEAST)


if __name__ == '__main__':
    unittest.main(verbosity=2)

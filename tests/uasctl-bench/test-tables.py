#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of uasctl bench with several figures in a row: by number of jobs or clients, and the history on narrow terminals."""

import json
import re
import statistics
import sys
import unittest

from telling import IDS, UASCTL, on_terminal, plain, told
from tree import Tree

TITLES = {'Bandwidth (MB/s)': ('bytes_per_sec', 1e6), 'IOPS': ('iops', 1), 'Mean latency': ('mean_ns', 1)}
UNITS = {'s': 1e9, 'ms': 1e6, 'µs': 1e3}


def value(text):
    """A cell as a number. Latencies are in nanoseconds."""
    number, _, unit = text.partition(' ')
    return float(number.rstrip('k')) * UNITS.get(unit, 1000 if number.endswith('k') else 1)


class Grid(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)

    def show(self, result, *args):
        with open(self.tree.path('result.json'), 'w') as f:
            json.dump(result, f)
        p = self.tree.run('bench', '--show', self.tree.path('result.json'), *args)
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        return p.stdout

    def tables(self, result, by):
        """The three tables of the markdown: the columns, by title, pattern and driver."""
        text, tables = self.show(result, '--markdown'), {}
        for title in TITLES:
            lines = text.split(f'\n{title} by number of {by}:\n\n')[1].split('\n\n')[0].strip().split('\n')
            head, ruler, *rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]
            self.assertEqual((head[:2], set(ruler[2:])), (['PATTERN', 'DRIVER'], {'--:'}))
            table, pattern = {}, None
            for row in rows:
                self.assertEqual(len(row), len(head))
                pattern = row[0] or pattern
                table[pattern, row[1]] = dict(zip(head[2:], row[2:]))
            tables[title] = table
        return tables

    def test_matrix(self):
        """Each cell is the median of the rounds that count, of that pattern, driver and number of jobs."""
        result = json.loads(told('matrix', 'json'))
        tables = self.tables(result, 'jobs')
        for title, (member, unit) in TITLES.items():
            self.assertEqual(len(tables[title]), 4)
            for at, pattern in enumerate(result['patterns']):
                for driver in 'usb-storage', 'uas':
                    runs = [r for r in result['runs'] if (r['pattern'], r['driver']) == (at, driver) and r['round'] > 0]
                    kind = '4 KiB random reads' if pattern['random'] else '128 KiB sequential reads'
                    cell = tables[title][kind, driver][str(pattern['numjobs'])]
                    want = statistics.median(r['read'][member] for r in runs) / unit
                    self.assertAlmostEqual(value(cell), want, delta=0.006 * want + 0.005, msg=(title, kind, driver, cell))

    def test_clients(self):
        """With several numbers of jobs, a row for each number of clients. With one, the clients are the columns."""
        result = json.loads(told('matrix', 'json'))
        result['axis'] = 'clients'
        for pattern in result['patterns'][:4]:
            pattern['axis'] = 1
        for pattern in result['patterns'][4:]:
            pattern.update(axis=2, **{k: result['patterns'][0][k] for k in ('rw', 'random', 'block_size')})
        table = self.tables(result, 'jobs')['IOPS']
        self.assertEqual(sorted({pattern for pattern, _ in table}), ['128 KiB sequential reads, 1 client', '128 KiB sequential reads, 2 clients'])
        self.assertEqual({tuple(row) for row in table.values()}, {('1', '4', '16', '64')})
        for at, pattern in enumerate(result['patterns']):
            pattern.update(axis=1 + at, numjobs=4)
        table = self.tables(result, 'clients')['IOPS']
        self.assertEqual(list(table), [('128 KiB sequential reads with 4 jobs', d) for d in ('usb-storage', 'uas')])
        self.assertEqual(list(table['128 KiB sequential reads with 4 jobs', 'uas']), [str(1 + i) for i in range(8)])

    def test_nothing_varies(self):
        for sample in 'comparison', 'sweep', 'none', 'single':
            for how in 'table', 'markdown':
                self.assertNotIn('by number of', told(sample, how), (sample, how))

    def test_one_driver_failed(self):
        """A run that did not end has no figure. A driver without a run has no row."""
        result = json.loads(told('matrix', 'json'))
        result['runs'] = [r for r in result['runs'] if r['driver'] == 'uas']
        for run in result['runs']:
            run['error'] = -5 if run['pattern'] == 3 else 0
        for table in self.tables(result, 'jobs').values():
            self.assertEqual({driver for _, driver in table}, {'uas'})
            self.assertEqual([row['64'] == '-' for row in table.values()], [True, False])
            self.assertFalse([row for row in table.values() if '-' in (row['1'], row['4'], row['16'])])

    def test_terminal(self):
        """The same figures below the usual table: whole patterns, with as many columns beside them as fit."""
        tables = self.tables(json.loads(told('matrix', 'json')), 'jobs')
        for width in 60, 80, 120:
            text = plain(on_terminal('matrix', 'table', width=width))
            self.assertLess(text.index('\nPATTERN '), text.index('Bandwidth'))
            for title, table in tables.items():
                lines = text.split(f'\n{title} by number of jobs\n')[1].split('\n\n')[0].strip('\n').split('\n')
                self.assertLessEqual(max(map(len, lines)), width)
                self.assertEqual(len(lines), 10 if width == 60 else 5, lines)
                for (pattern, driver), row in table.items():
                    found = [re.split(r' +(?=[\d.]+k?\b)', line.split(driver)[1].strip()) for line in lines if f' {driver} ' in line]
                    self.assertIn(list(row.values()), [sum(found[i::2], []) for i in (0, 1)], (width, found))
                    self.assertIn(pattern, lines[1] + lines[3])


class Narrow(unittest.TestCase):
    """No line is wider than the terminal, and no text is cut."""
    WIDTHS = 40, 45, 50, 60, 70, 79, 80, 100, 117, 118, 130, 160
    GOES = 'RANGE', 'P50', 'P95', 'SPREAD', 'P99' # first to last

    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)

    def parts(self, text, width):
        """The lines above the table, its head, its first column without blanks, and the lines below."""
        lines = text.split('\n')
        self.assertLessEqual(max(map(len, lines)), width, text)
        begin = next(i for i, line in enumerate(lines) if line.startswith('PATTERN '))
        end = lines.index('', begin)
        edge = lines[begin].index('DRIVER')
        words = [' '.join(' '.join(part).split()) for part in (lines[:begin], lines[end:])]
        return words[0], lines[begin], ''.join(line[:edge] for line in lines[begin + 1:end]).replace(' ', ''), words[1]

    def test_table(self):
        for sample in 'doubted', 'full', 'sweep', 'comparison', 'single':
            above, _, _, below = self.parts(told(sample, 'table'), 1000)
            names = ''.join(p['name'] for p in json.loads(told(sample, 'json'))['patterns']).replace(' ', '')
            for width in self.WIDTHS:
                found = self.parts(plain(on_terminal(sample, 'table', width=width)), width)
                self.assertEqual((found[0], found[2], found[3]), (above, names, below), (sample, width))
                there = [name in found[1] for name in self.GOES]
                self.assertEqual(there, sorted(there), found[1])
                for name in ('MEDIAN', 'NOTES') + ('UAS IS',) * (sample != 'single'):
                    self.assertIn(name, found[1])

    def test_bar(self):
        """It disappears after the spread, and before the latency."""
        seen = set()
        for width in range(50, 118):
            text = plain(on_terminal('doubted', 'table', width=width))
            seen.add(('SPREAD' in text, '█' in text, 'P99' in text))
        self.assertEqual(seen, {(True, True, True), (False, True, True), (False, False, True), (False, False, False)})

    def test_grid(self):
        """The tables by number of jobs."""
        for width in self.WIDTHS:
            text = plain(on_terminal('matrix', 'table', width=width))
            self.assertLessEqual(max(map(len, text.split('\n'))), width)
            self.assertNotIn('…', text)

    def test_diff(self):
        for number, sample in enumerate(('comparison', 'doubted')):
            told(sample, 'keep', self.tree.top, IDS[number], str(1763900000 + 86400 * number))
        above, _, names, below = self.parts(told('diff', self.tree.top, *IDS[:2]), 1000)
        self.assertIn('then', above)
        self.assertTrue(below)
        for width in (w for w in self.WIDTHS if w >= 50): # seven columns of words and figures
            found = self.parts(plain(on_terminal('diff', self.tree.top, *IDS[:2], width=width)), width)
            self.assertEqual((found[0], found[2], found[3]), (above, names, below), width)


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
        return told(sample, 'keep', self.tree.top, IDS[number], str(1763900000 + 86400 * number)).strip()

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

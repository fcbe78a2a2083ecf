#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of uasctl bench that are not one row a figure: by number of jobs or clients, and the history on narrow terminals."""

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
    """A cell as a number, latencies in nanoseconds."""
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
        """The three of the markdown: by title, pattern and driver, what stands in each column."""
        text, tables = self.show(result, '--markdown'), {}
        for title in TITLES:
            lines = text.split(f'\n{title} by number of {by}:\n\n')[1].split('\n\n')[0].strip().split('\n')
            head, ruler, *rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]
            self.assertEqual((head[:2], set(ruler[2:])), (['Pattern', 'Driver'], {'--:'}))
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
        """With several numbers of jobs a row for each number of clients; with one, clients across."""
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
        """What did not come to an end has no figure; a driver that was not tried has no row."""
        result = json.loads(told('matrix', 'json'))
        result['runs'] = [r for r in result['runs'] if r['driver'] == 'uas']
        for run in result['runs']:
            run['error'] = -5 if run['pattern'] == 3 else 0
        for table in self.tables(result, 'jobs').values():
            self.assertEqual({driver for _, driver in table}, {'uas'})
            self.assertEqual([row['64'] == '-' for row in table.values()], [True, False])
            self.assertFalse([row for row in table.values() if '-' in (row['1'], row['4'], row['16'])])

    def test_terminal(self):
        """The same figures below the usual table, whole patterns beside as many columns as there is room for."""
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


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

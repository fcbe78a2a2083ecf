#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""src/core/kernel-table.c agrees with the tables of a newer kernel: tests/unit/kernel-table.tsv has its facts and its version.
tools/kernel-table makes that file again.

    test-kernel-table.py SOURCE-ROOT
"""

import os
import re
import sys
import unittest

TOP = sys.argv[1]
LETTERS = {  # usb_stor_adjust_quirks()
    'SANE_SENSE': 'a', 'BAD_SENSE': 'b', 'FIX_CAPACITY': 'c', 'NO_READ_DISC_INFO': 'd', 'NO_READ_CAPACITY_16': 'e',
    'NO_REPORT_OPCODES': 'f', 'MAX_SECTORS_240': 'g', 'CAPACITY_HEURISTICS': 'h', 'IGNORE_DEVICE': 'i', 'NO_REPORT_LUNS': 'j',
    'NO_SAME': 'k', 'NOT_LOCKABLE': 'l', 'MAX_SECTORS_64': 'm', 'INITIAL_READ10': 'n', 'CAPACITY_OK': 'o', 'WRITE_CACHE': 'p',
    'IGNORE_RESIDUE': 'r', 'SINGLE_LUN': 's', 'NO_ATA_1X': 't', 'IGNORE_UAS': 'u', 'NO_WP_DETECT': 'w', 'ALWAYS_SYNC': 'y'}


def kernel(file='kernel-table.tsv'):
    """The version, and the rows: {table: [(vid, pid, low, high, letters, name)]}, and the literals of the rules."""
    tables = {'uas': [], 'storage': []}
    rules = []
    with open(os.path.join(TOP, 'tests/unit', file)) as f:
        lines = f.read().splitlines()
    for line in lines[2:]:
        table, *fields = line.split('\t')
        if table == 'rule':
            rules += fields
        else:
            *numbers, flags, name = fields
            letters = ''.join(LETTERS.get(flag, '') for flag in flags.split(','))
            tables[table].append((*numbers, ''.join(sorted(letters)), name))
    return re.search(r'Facts of (\S+ \S+)', lines[1]).group(1), tables, rules


def holds(limit, version):
    """Whether a row with this limit is in that kernel; None: in the newest."""
    numbers = [int(one) for one in re.findall(r'\d+', limit)]
    if 'SINCE' in limit:
        return version is None or version >= numbers
    return 'ALWAYS' in limit or version is not None and version < numbers


def ours(version=None):
    """The same of kernel-table.c."""
    with open(os.path.join(TOP, 'src/core/kernel-table.c')) as f:
        text = f.read()
    tables = {}
    for table in 'uas', 'storage':
        body = re.search(r'struct kernel_row %s_rows\[\] = \{(.*?)\n\};' % table, text, re.S).group(1)
        found = re.findall(r'\{0x(\w{4}),\s+0x(\w{4}),\s+0x(\w{4}),\s+0x(\w{4}),\s+"(\w*)",\s+"([^"]*)"([^}]*)\}', body)
        assert len(found) == body.count('{')
        tables[table] = [(*row[:4], ''.join(sorted(row[4])), row[5]) for row in found if holds(row[6], version)]
    rule = re.search(r'(?ms)^static letters_t rule_letters\(.*?^\}', text).group(0)
    return text, tables, re.findall(r'0x(\w{4})', rule) + re.findall(r'"([A-Z0-9]+)"', rule)


class KernelTable(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.version, self.kernel, self.rules = kernel()
        self.text, self.ours, self.our_rules = ours()
        self.assertGreater(min(len(self.kernel['uas']) - 20, len(self.kernel['storage']) - 250), 0, self.version)

    def test_version(self):
        """The comment names the version that the facts are of."""
        self.assertIn(re.search(r' (\d+\.\d+\.\d+)', self.version).group(1), self.text)

    def test_uas(self):
        """All rows of unusual_uas.h, in its order: the first match counts."""
        self.assertEqual(self.ours['uas'], self.kernel['uas'], self.version)

    def test_storage(self):
        """Each row here is in unusual_devs.h with the same letters. None is missing that keeps a disk off uas."""
        by_id = {row[:4]: row for row in self.kernel['storage']}
        for row in self.ours['storage']:
            self.assertIn(row[:4], by_id, self.version)
            self.assertEqual(row[4], by_id[row[:4]][4], row)
        forbidden = {row[:4] for row in self.kernel['storage'] if 'u' in row[4]}
        self.assertEqual(forbidden, {row[:4] for row in self.ours['storage'] if 'u' in row[4]}, self.version)
        self.assertTrue(forbidden)

    def test_no_row_between(self):
        """A disk of ours finds the same row here and there: no other row for its id comes first."""
        of_uas = {row[:5] for row in self.ours['uas']}  # some of its rows are in both files
        ids = {row[:2] for row in self.ours['storage'] + self.ours['uas']}
        for one in ids:
            there = [row[:5] for row in self.kernel['storage'] if row[:2] == one and row[:5] not in of_uas]
            self.assertEqual(there, [row[:5] for row in self.ours['storage'] if row[:2] == one], self.version)

    def test_old(self):
        """The rows for Linux 4.4. Its rows of single Seagate disks say less than the rule for all of them."""
        _, tables, rules = kernel('kernel-table-4.4.tsv')
        _, ours_then, our_rules = ours([4, 4])
        seagate = [row for row in tables['uas'] if row[0] == '0bc2' and row[4] == 't']
        self.assertEqual(len(seagate), 9)
        self.assertIn('0bc2', rules)
        self.assertEqual(ours_then['uas'], [row for row in tables['uas'] if row not in seagate])
        self.assertLess(set(rules), set(our_rules))
        self.assertEqual([row for row in ours_then['storage'] if row[:2] == ('2109', '0715')], [])

    def test_limits(self):
        """As its comment says: from the last release of Linux 4.14 on all tables are the same."""
        self.assertEqual(ours([4, 14])[1], ours()[1])
        self.assertNotEqual(ours([4, 13])[1], ours()[1])

    def test_rules(self):
        """The code of uas-detect.h names the same ids and strings."""
        self.assertEqual(set(self.rules), set(self.our_rules), self.version)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

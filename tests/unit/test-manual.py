#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The installed pages: they contain every reason and state of the code, and refer to each other.

    test-manual.py SOURCE-ROOT PAGE...
"""

import os
import re
import sys
import unittest

TOP = sys.argv[1]
PAGES = {}
for path in sys.argv[2:]:
    with open(path) as f:
        PAGES[os.path.basename(path)] = f.read()


def source(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def plain(roff):
    """Without escapes, with single blanks."""
    return ' '.join(re.sub(r'\\(f[A-Z]|&)', '', roff).replace('\\-', '-').replace('\\\\', '\\').replace('\\(aq', "'").replace('\\[aq]', "'").split())


def section(page, name):
    return re.search(r'(?ms)^\.SH "?%s"?$(.*?)(?=^\.SH|\Z)' % name, PAGES[page])[1]


def terms(text):
    """[(bold text on a line of its own, its description)]"""
    parts = re.split(r'(?m)^\\fB([a-z\\-]+)\\fR(?:\n|$)', text)
    return [(plain(word), plain(re.sub(r'(?m)^\..*$', '', said))) for word, said in zip(parts[1::2], parts[2::2])]


def names(table):
    """{enumerator: word}"""
    body = re.search(r'%s\[_\w+\] = \{(.*?)\};' % table, source('src/core/types.c'), re.S)[1]
    return dict(re.findall(r'\[(\w+)\] = "([a-z-]+)"', body))


class Manual(unittest.TestCase):
    maxDiff = None

    def test_indented(self):
        """The description of a verb or an option is below it: all of its lines have their tab."""
        folder = os.path.join(TOP, 'man')
        for page in sorted(name for name in os.listdir(folder) if '.scd' in name):
            text, literal, before = source(os.path.join('man', page)), False, ''
            where = ''
            for number, line in enumerate(text.splitlines(), 1):
                literal ^= line.strip() == '```'
                if line.startswith('# '):
                    where = line[2:]
                if not literal and line and not line.startswith(('\t', '```', '#', ';')):
                    self.assertFalse(before.startswith('\t'), f'{page}:{number}: {line}')
                    if page in ('uasctl.1.scd', 'uasctl-bench.1.scd') and where in ('VERBS', 'OPTIONS'):
                        self.assertTrue(line.startswith('*'), f'{page}:{number}: {line}')
                before = line
        self.assertIn('# VERBS\n', source('man/uasctl.1.scd'))
        self.assertIn('# OPTIONS\n', source('man/uasctl.1.scd'))

    def test_reasons(self):
        """Each reason with its sentence, in the order of the checks."""
        rows = re.findall(r'\[(REASON_\w+)\] = \{\.word = "([a-z-]+)",.*?\.means = ((?:"[^"]*"\s*)+)[,}]',
                          source('src/core/policy.c'), re.S)
        self.assertEqual([row for row, _, _ in rows], re.findall(r'(?m)^ +(REASON_\w+),', source('src/core/types.h')))
        told = terms(section('uasd.8', 'WHAT DECIDES'))
        self.assertEqual([word for word, _ in told], [word for _, word, _ in rows])
        for (_, _, means), (word, said) in zip(rows, told):
            sentence = ' '.join(''.join(re.findall(r'"([^"]*)"', means)).split())
            self.assertTrue(said.startswith(sentence + ' Driver: '), (sentence, said))
            self.assertRegex(said, r' Driver: [a-zU][\w =;,-]+\.', word)

    def test_states(self):
        told = terms(section('uasctl.1', 'STATES'))
        self.assertEqual([word for word, _ in told], list(names('state_names').values()))
        for word, said in told:
            self.assertTrue(said.endswith('.'), word)

    def test_tables_are_in(self):
        for name, text in PAGES.items():
            self.assertNotIn('@', re.sub(r'\w@', '', text), name)

    def test_pages_know_each_other(self):
        ours = {re.sub(r'(.*)\.(\d)$', r'\1(\2)', name) for name in PAGES}
        self.assertIn('uasd-hwdb(7)', ours)
        for name, text in PAGES.items():
            also = set(re.findall(r'[\w.-]+\(\d\)', plain(section(name, 'SEE ALSO'))))
            self.assertEqual({page for page in also if page.startswith('uas')} - ours, set(), name)
            self.assertTrue(name == 'uasd-hwdb.7' or 'uasd-hwdb(7)' in also, name)

    def test_hwdb_page(self):
        """Its recipe is that at the beginning of the file, and its example is a valid entry."""
        page = source('man/uasd-hwdb.7.scd')
        recipe = re.search(r'(?m)^#   (usb:.*)\n#   ( UASD_VERDICT=bad)$', source('udev/61-uasd.hwdb'))
        self.assertIn('```\n%s\n%s\n```' % recipe.groups(), page)
        for said in re.findall(r'(?m)^ UASD_DB_\d=(.*)$', page):
            self.assertRegex(said, r'^(good|bad|unknown);(\*|[0-9A-F]{4}-[0-9A-F]{4});(\*|[a-z0-9_,-]+);[^;#]+;20\d\d(-\d\d)*(;[^;#]*)?$')
        self.assertEqual(len(re.findall(r'(?m)^ UASD_DB_\d=', page)), 2)
        keys = set(re.findall(r'"(UASD_[A-Z_]+)"', ' '.join(re.findall(r'#define PROP_(?:DB|VERDICT).*', source('src/common/names.h')))))
        for key in keys:
            self.assertIn(key.replace('_DB_', '_DB_1') + '=' if key.endswith('_') else key + '=', page.replace('\\', ''))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

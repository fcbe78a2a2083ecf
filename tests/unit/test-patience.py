#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No test has a patience of its own: how long it waits comes from tests/ctl/patience.py or tests/patience.h.

    test-patience.py SOURCE-ROOT
"""

import ast
import glob
import os
import re
import sys
import unittest

TESTS = os.path.join(sys.argv[1], 'tests')
TIMEOUT = {'run', 'communicate', 'wait', 'check_output', 'check_call'}  # their keyword
FIRST = {'wait', 'settimeout'}  # their first argument


def number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value > 0


def wrong(call):
    """The fault of a call, or None."""
    name = getattr(call.func, 'attr', getattr(call.func, 'id', ''))
    whole = ast.unparse(call.func)
    if whole == 'time.sleep':
        return 'until() a condition, or let_pass()'
    if name in TIMEOUT and any(word.arg == 'timeout' and number(word.value) for word in call.keywords) and whole != 'self.run_ctl':
        return 'timeout=patience()'
    if name in FIRST and call.args and number(call.args[0]):
        return 'patience()'
    if whole == 'select.select' and len(call.args) == 4 and number(call.args[3]) and call.args[3].value > 1:
        return 'patience()'
    return None


class Patience(unittest.TestCase):
    def found(self, text):
        return [why for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and (why := wrong(node))]

    def test_itself(self):
        for text, faults in (('time.sleep(2)', 1), ('p.wait(20)', 1), ('s.settimeout(5)', 1), ('subprocess.run(x, timeout=20)', 1),
                             ('select.select([x], [], [], 20)', 1), ('p.communicate(timeout=9)', 1),
                             ('let_pass(2)', 0), ('p.wait()', 0), ('p.wait(patience())', 0), ('f(timeout=20)', 0),
                             ('select.select([x], [], [], 0)', 0), ('"time.sleep(1)"', 0)):
            self.assertEqual(len(self.found(text)), faults, text)

    def test_python(self):
        files = [path for folder in ('ctl', 'daemon', 'hold', 'uasctl-bench', 'unit', 'field')
                 for path in glob.glob(f'{TESTS}/{folder}/*.py') if not path.endswith('/ctl/patience.py')]
        self.assertGreater(len(files), 60)
        for path in files:
            with open(path) as f:
                self.assertEqual(self.found(f.read()), [], path)

    def test_guests(self):
        "A guest's methods stretch their limits themselves."
        files = glob.glob(f'{TESTS}/vm/cases/*.py')
        self.assertGreater(len(files), 40)
        for path in files:
            with open(path) as f:
                self.assertEqual([why for why in self.found(f.read()) if 'let_pass' in why], [], path)

    def test_c(self):
        files = glob.glob(f'{TESTS}/*/test-*.c')
        self.assertGreater(len(files), 90)
        for path in files:
            with open(path) as f:
                self.assertEqual(re.findall(r'\balarm\([1-9]\d*\)|\b(?<!u)sleep\([1-9]', f.read()), [], path)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

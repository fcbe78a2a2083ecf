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
SLEEP = re.compile(r"(?<!exec )(?<!do )(?<!while )(?<![\w'])sleep [\d.]+(?![\d.]| *<)")  # no loop, and no process that a case needs
# A guest's shell sleeps in these cases. Time is the subject:
SHELLS = {
    'around.py': ['sleep 5'],  # the processes that start meanwhile are counted
    'halfway.py': ['sleep 0.5', 'sleep 1'],  # for a call to begin to hang, which nothing shows; and for one that still hangs then
    'never_cost_a_boot.py': ['sleep 5'],  # in which a uasd that is not off would have begun a switch
    'races.py': ['sleep 12'],  # one shell has the disk open for longer than the flush takes
    'waiting.py': ['sleep 1'],  # less than the quiet time
}


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


def shell(call):
    """The sleeps in the command that a guest carries out while the case waits."""
    if getattr(call.func, 'attr', '') not in ('run', 'out') or not call.args:
        return []
    return [one for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for one in SLEEP.findall(node.value)]


class Patience(unittest.TestCase):
    def found(self, text):
        return [why for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and (why := wrong(node))]

    def in_shells(self, text):
        return sorted(one for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) for one in shell(node))

    def test_itself(self):
        for text, faults in (('time.sleep(2)', 1), ('p.wait(20)', 1), ('s.settimeout(5)', 1), ('subprocess.run(x, timeout=20)', 1),
                             ('select.select([x], [], [], 20)', 1), ('p.communicate(timeout=9)', 1),
                             ('let_pass(2)', 0), ('p.wait()', 0), ('p.wait(patience())', 0), ('f(timeout=20)', 0),
                             ('select.select([x], [], [], 0)', 0), ('"time.sleep(1)"', 0)):
            self.assertEqual(len(self.found(text)), faults, text)
        for text, sleeps in (('guest.run("sleep 5")', 1), ('guest.out("true; sleep 0.5; kill %d" % 1)', 1), ('guest.run(f"x && sleep 1")', 1),
                             ('guest.run("until x; do sleep 0.1; done")', 0), ('guest.run("sh -c \'exec sleep 9\'")', 0),
                             ('guest.run("{ sleep 9 <x & }")', 0), ('guest.spawn("sleep 9")', 0)):
            self.assertEqual(len(self.in_shells(text)), sleeps, text)

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
                text = f.read()
            self.assertEqual([why for why in self.found(text) if 'let_pass' in why], [], path)
            self.assertEqual(self.in_shells(text), SHELLS.get(os.path.basename(path), []), path)

    def test_c(self):
        files = glob.glob(f'{TESTS}/*/test-*.c')
        self.assertGreater(len(files), 90)
        for path in files:
            with open(path) as f:
                self.assertEqual(re.findall(r'\balarm\([1-9]\d*\)|\b(?<!u)sleep\([1-9]', f.read()), [], path)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

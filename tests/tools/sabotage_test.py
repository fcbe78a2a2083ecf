# SPDX-License-Identifier: LGPL-2.1-or-later
"""tests/sabotage: what is said of a sabotage, and that its line comes back.

    python3 tests/tools/sabotage_test.py        (from anywhere)
"""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("run", os.path.join(TOP, "tests", "sabotage", "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)

SOURCE = "one();\ntwo();\ntwo();\nfour(5,\n     6);\n"


class Tried(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a.c")
        with open(self.path, "w") as file:
            file.write(SOURCE)
        self.enterContext(mock.patch.object(run, "TREE", folder.name))

    def read(self):
        with open(self.path) as file:
            return file.read()

    def says(self, *passes, old="one();", there=None, test="t:test_a"):
        """What is said if the test does this, without the sabotage and with it."""
        seen = []

        def ask(told, case):
            seen.append(self.read())
            self.assertEqual((told, case), ("told", "test_a"))
            return passes[len(seen) - 1]
        with mock.patch.object(run, "passes", ask):
            said = run.tried({"t": "told"}, {}, "a.c", test, old, "three();")
        self.assertEqual(seen, [SOURCE, SOURCE.replace(there or old, "three();")][:len(passes)])
        self.assertEqual(self.read(), SOURCE)
        return said

    def test_noticed(self):
        self.assertEqual(self.says(True, False), "noticed")

    def test_broken_line(self):
        "The formatter may break a line anywhere."
        self.assertEqual(self.says(True, False, old="four(5, 6);", there="four(5,\n     6);"), "noticed")

    def test_survived(self):
        self.assertEqual(self.says(True, True), "survived")

    def test_not_compiled(self):
        self.assertEqual(self.says(True, None), "does not compile")

    def test_fails_anyway(self):
        "A test that fails without the sabotage has not noticed it."
        self.assertEqual(self.says(False), "the test fails without it")

    def test_line_gone(self):
        self.assertEqual(self.says(old="zero();"), "the line is there 0 times")

    def test_line_twice(self):
        self.assertEqual(self.says(old="two();"), "the line is there 2 times")

    def test_no_test(self):
        self.assertEqual(self.says(test="u"), "there is no such test")


class Lists(unittest.TestCase):
    def test_each_once(self):
        "Two sabotages of one line, or with one title, are one too many."
        entries = list(run.entries(TOP))
        self.assertGreater(len(entries), 50)
        for which in lambda one: one[0], lambda one: (one[1], one[3]):
            found = [which(one) for one in entries]
            self.assertEqual([one for one in found if found.count(one) > 1], [])


if __name__ == "__main__":
    unittest.main()

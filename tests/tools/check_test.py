# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/check: a test that is named, one case of it, and what was left out.

    python3 tests/tools/check_test.py        (from anywhere)
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("check", os.path.join(TOP, "tools", "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)

TEST = """import sys
import unittest
class One(unittest.TestCase):
    def test_a(self): print("a")
    def test_b(self): print("b")
class Two(unittest.TestCase):
    def test_a(self): print("two")
unittest.main(argv=sys.argv[:1])
"""


def said(action):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        action()
    return out.getvalue()


class Guests(unittest.TestCase):
    def test_list(self):
        "Each case that tests/vm/run has, with its tier. Without it a case that fails would not be counted."
        run = check.Check("full", 1)
        sys.path.insert(0, os.path.join(TOP, "tests", "vm"))
        import context
        for name in sorted(os.listdir(os.path.join(TOP, "tests", "vm", "cases"))):
            if name.endswith(".py") and not name.startswith("_"):
                __import__("cases." + name[:-3])
        with contextlib.chdir(TOP):
            self.assertEqual(run.vm_cases(), {one.name: one.tier for one in context.CASES})


class OneCase(unittest.TestCase):
    def run_case(self, case):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test-x.py")
            with open(path, "w") as file:
                file.write(TEST)
            done = subprocess.run([os.path.join(TOP, "tests", "one-case"), case, path, "PROGRAM"], capture_output=True, text=True)
        return done.stdout.split()

    def test_python(self):
        "A method, a method of one class, a class, a pattern; and nothing else."
        for case, printed in (("test_b", ["b"]), ("One.test_a", ["a"]), ("Two", ["two"]), ("test_*", ["a", "b", "two"]), ("test", [])):
            self.assertEqual(self.run_case(case), printed, case)

    def lines(self, output, case):
        run = check.Check("fast", 1)
        ones = {"uasd:unit / x": {"name": "uasd:unit / x", "result": "OK", "duration": 1, "stdout": output}}
        return said(lambda: run.meson_lines("", ones, "", case)), run.report.count

    def test_no_such_case(self):
        "A test that ran none of its cases has not passed."
        for output, word in (("[==========] Running 0 test(s).", "FAIL"), ("[==========] Running 2 test(s).", "ok"), ("Ran 0 tests in 0.0s", "FAIL"),
                             ("Ran 1 test in 0.0s", "ok"), ("it has no cases", "FAIL")):
            text, count = self.lines(output, "test_b")
            self.assertEqual((text.split()[:2], count[word]), ([word, "unit/x:test_b"], 1), output)


class LeftOut(unittest.TestCase):
    def test_cases(self):
        "Each case that a test skipped, with the reason where the output has it."
        output = ("test_a (__main__.One) ... skipped 'needs root'\ntest_b (__main__.One.test_b)\nWhat it is about. ... skipped 'no bus'\n"
                  "test_c (__main__.One) ... ok\n[  SKIPPED ] test_d\n[       OK ] test_e\n[  SKIPPED ] test_d\n")
        self.assertEqual(check.left_out(output), {":test_a": "needs root", ":test_b": "no bus", ":test_d": "the test says why"})

    def test_closing(self):
        "The end names all that was left out, by its reason, and then counts."
        report = check.Report()

        def close():
            report.case("ok", "unit/x", 1)
            report.case("skip", "vm", 0, note="guests need root")
            report.case("skip", "fresh/bookworm", 0, note="bare roots need root")
            report.case("skip", "unit/y:test_a", 0, note="guests need root")
            with mock.patch.object(check.os, "_exit"):
                report.close()
        self.assertEqual(said(close).splitlines()[-3:], ["left out: vm, unit/y:test_a: guests need root",
                                                         "left out: fresh/bookworm: bare roots need root", "1 passed, 0 failed, 3 skipped"])

    def test_missing(self):
        "Without root a step whose program is missing is left out; as root it fails."
        for user, word in ((1000, "skip"), (0, "FAIL")):
            run = check.Check("fast", 1)
            with mock.patch.object(check.os, "geteuid", lambda user=user: user), mock.patch.object(check.shutil, "which", lambda name: None), \
                    mock.patch.object(check, "LOGS", tempfile.gettempdir()):
                self.assertTrue(said(lambda run=run: run.step("lint/reuse", ["false"])).startswith(word), user)


if __name__ == "__main__":
    unittest.main()

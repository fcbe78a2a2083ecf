# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/check: a test that is named, one case of it, and what was left out.

    python3 tests/tools/check_test.py        (from anywhere)
"""

import ast
import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tests", "vm"))


def load(name, *path):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TOP, *path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


check = load("check", "tools", "check")
fresh = load("fresh", "tests", "fresh", "run")

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
        import context
        for name in sorted(os.listdir(os.path.join(TOP, "tests", "vm", "cases"))):
            if name.endswith(".py") and not name.startswith("_"):
                __import__("cases." + name[:-3])
        with contextlib.chdir(TOP):
            self.assertEqual(run.vm_cases(), {one.name: one.tier for one in context.CASES})


    def test_when(self):
        "Guests wait for the tests, and not for what runs at idle priority beside them."
        run, told, began = check.Check("default", 1), [], check.threading.Event()

        def vm():
            told.append("guests")
            began.set()

        def fresh_roots():
            self.assertTrue(began.wait(20), "the guests wait for the bare roots")
        for name, action in (("step", lambda *_: True), ("build", lambda *_: True), ("package", lambda: True), ("static", lambda: None),
                             ("packages", lambda package: None), ("vm_ready", lambda package: True), ("vm", vm), ("fresh", fresh_roots),
                             ("tests", lambda clang: time.sleep(0.2) or told.append("tests"))):
            self.enterContext(mock.patch.object(run, name, action))
        run.run()
        self.assertEqual(told, ["tests", "guests"])


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


class Compiled(unittest.TestCase):
    def test_in_two_clones(self):
        "What was compiled in one clone is not compiled in another. Without ccache, or without a folder for it, the compiler runs."
        with tempfile.TemporaryDirectory() as top, mock.patch.dict(os.environ, UASD_VM_CACHE=os.path.join(top, "cache")):
            with mock.patch.object(check.shutil, "which", lambda name: None):
                self.assertEqual(check.compiling("gcc"), {"CC": "gcc"})
            with mock.patch.dict(os.environ, UASD_VM_CACHE="/proc/none"):
                self.assertEqual(check.compiling("gcc"), {"CC": "gcc"})
            if not check.shutil.which("ccache"):
                self.skipTest("ccache is not installed")
            env = dict(os.environ, **check.compiling("gcc"))
            for folder in ("one", "two"):
                os.makedirs(os.path.join(top, folder, "build"))
                with open(os.path.join(top, folder, "x.c"), "w") as file:
                    file.write("int x;\n")
                subprocess.run([*env["CC"].split(), "-g", "-c", "../x.c"], cwd=os.path.join(top, folder, "build"), env=env, check=True)
            told = subprocess.run(["ccache", "--print-stats"], env=env, check=True, capture_output=True, text=True).stdout
            count = dict(line.split("\t") for line in told.splitlines())
            self.assertEqual((count["cache_miss"], int(count["direct_cache_hit"]) + int(count["preprocessed_cache_hit"])), ("1", 1))


class Passed(unittest.TestCase):
    """What has passed on this machine need not run again."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.enterContext(mock.patch.dict(os.environ, UASD_VM_CACHE=self.path("cache")))
        fresh.passed.folder_of.cache_clear()
        self.addCleanup(fresh.passed.folder_of.cache_clear)

    def path(self, *names):
        return os.path.join(self.top, *names)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_record(self):
        "It forgets what is old, and looks through its folder once."
        self.write("cache/passed/tool/old", "")
        self.write("cache/passed/tool/new", "")
        os.utime(self.path("cache/passed/tool/old"), (0, 0))
        with mock.patch.object(fresh.passed.os, "scandir", side_effect=os.scandir) as scandir:
            for key in "abc":
                self.assertFalse(fresh.passed.before("tool", key))
                fresh.passed.now("tool", key)
                self.assertTrue(fresh.passed.before("tool", key))
        self.assertEqual(scandir.call_count, 1)
        self.assertEqual(sorted(os.listdir(self.path("cache/passed/tool"))), ["a", "b", "c", "new"])

    def test_due(self):
        "In a bare root only those scripts run again that a change is about, with what makes their package."
        self.enterContext(mock.patch.object(fresh, "TOP", self.top))
        self.enterContext(mock.patch.object(fresh, "files", lambda: [
            os.path.relpath(os.path.join(folder, name), self.top) for folder, _, names in os.walk(self.top) for name in names]))
        always = ["install", "package"]
        for text, (changed, bookworm, trixie) in enumerate((
                ("README.md", ["piuparts", "repository", "autopkgtest", "dkms", "ansible", "demo"], [*always, "piuparts", "repository", "dkms"]),
                ("src/core/policy.c", [], []),
                ("udev/61-uasd.hwdb", [], []),
                ("tests/vm/image.py", ["demo"], []),
                ("tools/release", ["repository"], ["install", "repository"]),
                ("tests/fresh/piuparts", ["piuparts"], ["install", "piuparts"]),
                ("packaging/uas-dkms/Kbuild", ["piuparts", "repository", "autopkgtest", "dkms"], [*always, "piuparts", "repository", "dkms"]),
                ("udev/meson.build", ["piuparts", "repository", "autopkgtest"], [*always, "piuparts", "repository"]))):
            self.write(changed, "    %d\n" % text)
            for suite, scripts in (("bookworm", always + bookworm), ("trixie", trixie)):
                self.assertEqual(fresh.due(suite), scripts, (changed, suite))
                for script in scripts:
                    fresh.passed.now("fresh-" + suite, fresh.key_of(suite, script))


class Names(unittest.TestCase):
    def test_once(self):
        "No class and no function of a test hides one of the same name above it, which would never run."
        count = 0
        for path in glob.glob(os.path.join(TOP, "tests/**/*.py"), recursive=True):
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            for body in [tree.body] + [one.body for one in tree.body if isinstance(one, ast.ClassDef)]:
                names = [one.name for one in body if isinstance(one, (ast.ClassDef, ast.FunctionDef)) and not one.decorator_list]
                self.assertEqual(len(names), len(set(names)), (path, sorted(one for one in set(names) if names.count(one) > 1)))
                count += len(names)
        self.assertGreater(count, 1000)


class LeftOut(unittest.TestCase):
    def test_cases(self):
        "Each case that a test skipped, with the reason where the output has it."
        output = ("test_a (__main__.One) ... skipped 'needs root'\ntest_b (__main__.One.test_b)\nWhat it is about. ... skipped 'no bus'\n"
                  "test_c (__main__.One) ... ok\n[  SKIPPED ] test_d\n[       OK ] test_e\n[  SKIPPED ] test_d\n")
        self.assertEqual(check.left_out(output), {":test_a": "needs root", ":test_b": "no bus", ":test_d": "the test says why"})

    def test_closing(self):
        "The end names all that was left out, by its reason, then what failed, and then counts."
        report = check.Report()

        def close():
            report.case("ok", "unit/x", 1)
            report.case("FAIL", "vm/a.b", 9, note="it was held", log=["more of it"])
            report.case("skip", "vm", 0, note="guests need root")
            report.case("skip", "fresh/bookworm", 0, note="bare roots need root")
            report.case("skip", "unit/y:test_a", 0, note="guests need root")
            with mock.patch.object(check.os, "_exit"):
                report.close()
        self.assertEqual(said(close).splitlines()[-5:], ["time: 0 s", "left out: vm, unit/y:test_a: guests need root",
                                                         "left out: fresh/bookworm: bare roots need root", "failed: vm/a.b  it was held",
                                                         "1 passed, 1 failed, 3 skipped"])

    def test_times(self):
        "The slice of the full tier has a limit of its own, and its time is not that of the default tier."
        report = check.Report()
        for name, processor in (("build/gcc", 100), ("tests", 40), ("tests", 5)):
            report.used(name, processor)
        with mock.patch.object(report, "seconds", lambda: 2000):
            self.assertEqual(report.times(), "time: 2000 s; processor seconds: 145 (build/gcc 100, tests 45)")
            report.slice_start = 1200
            self.assertTrue(report.times().startswith("time: 1200 s, and 800 s for the slice of tier full; "))

    def test_counted(self):
        "A command with its output, its status and the time of its children."
        status, text, processor = check.counted(["sh", "-c", "i=0; (while [ $i -lt 20000 ]; do i=$((i + 1)); done); echo x$A; exit 3"], {"A": "y"})
        self.assertEqual((status, text), (3, "xy\n"))
        self.assertGreater(processor, 0)

    def test_missing(self):
        "Without root a step whose program is missing is left out; as root it fails."
        for user, word in ((1000, "skip"), (0, "FAIL")):
            run = check.Check("fast", 1)
            with mock.patch.object(check.os, "geteuid", lambda user=user: user), mock.patch.object(check.shutil, "which", lambda name: None), \
                    tempfile.TemporaryDirectory() as folder, mock.patch.object(check, "LOGS", folder):
                self.assertTrue(said(lambda run=run: run.step("lint/reuse", ["false"])).startswith(word), user)


if __name__ == "__main__":
    unittest.main()

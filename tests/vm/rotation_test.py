# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases whose turn it is.

    python3 tests/vm/rotation_test.py        (from anywhere)
"""

import fnmatch
import glob
import importlib.machinery
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import context  # noqa: E402
import rotation  # noqa: E402


def load(*path):
    loader = importlib.machinery.SourceFileLoader(path[-1], os.path.join(rotation.TOP, *path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path[-1], loader))
    loader.exec_module(module)
    return module


check = load("tools", "check")
run = load("tests", "vm", "run")
for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.py"))):
    importlib.import_module("cases." + os.path.basename(path)[:-3])
# What a page names that is no case of a guest.
FILES = (".bin", ".c", ".case", ".conf", ".dep", ".h", ".js", ".plg", ".py", ".service", ".sh", ".slice", ".socket", ".txt")
FULL, MADE = run.in_turn("full")
MOST = rotation.GROUPS["full"]


def names(chosen):
    return {one.name for one in chosen}


def never(_one):
    return None


class Guests(unittest.TestCase):
    def test_named_in_pages(self):
        "A page names only cases that exist."
        for page in glob.glob(os.path.join(rotation.TOP, "docs/*.md")) + [os.path.join(rotation.TOP, "README.md")]:
            with open(page, encoding="utf-8") as file:
                named = re.findall(r"`(?:tests/vm/run )?'?([a-z_]+\.[a-z_*@]+)'?`", file.read())
            for name in named:
                if not name.endswith(FILES):
                    self.assertTrue(fnmatch.filter((one.name for one in context.CASES), name), (page, name))
            if os.path.basename(page) in ("field.md", "nas.md", "stacks.md"):
                self.assertTrue([name for name in named if not name.endswith(FILES)], page)

    def test_processors(self):
        "A third of the cases has two processors."
        two = [one for one in context.CASES if one.cpus.count > 1]
        self.assertGreaterEqual(3 * len(two), len(context.CASES))

    def test_main_group(self):
        "Each run has these subjects on kernel 6.12 too: both ways, roll-back, waiting, hold, distrust, a kill sweep."
        every = names(one for one in run.main_group() if one.images == ("trixie",))
        self.assertLessEqual({"both_ways.refused_and_forced@trixie", "kept_off.rolled_back@trixie", "waiting.switched_after_umount@trixie",
                              "held_both_ways.dead_man", "distrust.met_somebody_on_the_way_back@trixie",
                              "killed.at_a_few_calls"}, every)


class Groups(unittest.TestCase):
    def slices(self, first, count, steps=never):
        return [rotation.slice_of(FULL, MADE, MOST, number, steps) for number in range(first, first + count)]

    def test_all_in_turn(self):
        "As many commits in a row as there are groups have all cases, each once, wherever they begin."
        for first in (0, 7, 1389):
            chosen = [one.name for part in self.slices(first, MOST) for one in part]
            self.assertEqual(sorted(chosen), sorted(names(FULL)))

    def test_default_tier(self):
        "Three commits in a row have all cases of the default tier, whatever has changed, and each has the main group."
        for steps in (never, rotation.distance(["src/daemon/loop.c"])):
            cases, made = run.in_turn("default")
            parts = [names(rotation.slice_of(cases, made, 3, number, steps)) for number in range(1878, 1881)]
            self.assertEqual(set.union(*parts) | names(run.main_group()), names(one for one in context.CASES if one.tier != "full"))
            self.assertLess(max(map(len, parts)), len(cases) / 3 + 2 * rotation.CHANGED)

    def test_three_in_a_row(self):
        "Three commits in a row have three slices without a common case, also if all of them change the same file."
        for steps in (never, rotation.distance(["src/core/policy.c"])):
            one, two, three = map(names, self.slices(1389, 3, steps))
            self.assertTrue(one and two and three)
            for a, b in ((one, two), (two, three), (one, three)):
                self.assertLess(len(a & b), rotation.CHANGED + 1, "the groups have a common case")
                self.assertNotEqual(a, b)

    def test_in_time(self):
        "With two guests at once each group has the time that tools/check gives it. So as many runs in a row cover the tier."
        steps = rotation.distance(["src/switch/detach.c"])
        for number in range(MOST):
            part = self.slices(number, 1, steps if number % 2 else never)[0]
            self.assertLess(sum(one.limit for one in part) / rotation.OF_LIMIT / 2, check.SLICE_SECONDS)

    def test_same_time(self):
        "No group may take more than one and a half times as long as another."
        times = [sum(one.limit for one in part) for part in self.slices(0, MOST)]
        self.assertLess(max(times), 1.5 * min(times))

    def test_image_for_all(self):
        "The cases of a guest that no daily case needs are in one group: one run makes it for all of them."
        for guest in ("arm64", "zfs", "builtin", "sysvinit", "openrc"):
            self.assertEqual(sum(any(guest in one.images for one in part) for part in self.slices(0, MOST)), 1, guest)

    def test_weekly(self):
        "Each case is in one of the weekly jobs."
        with open(os.path.join(rotation.TOP, ".github/workflows/ci.yml"), encoding="utf-8") as file:
            jobs = re.findall(r"'([^']+)'", re.search(r"cases: \[.*\]", file.read())[0])
        for one in context.CASES:
            self.assertEqual(sum(fnmatch.fnmatchcase(one.name, job) for job in jobs), 1, one.name)

    def test_last_ones(self):
        "At the group's next turn another case is the last, for which there may be no time."
        last = {rotation.slice_of(FULL, MADE, MOST, 3 + turn * MOST, never)[-1].name for turn in range(5)}
        self.assertEqual(len(last), 5)

    def test_changed(self):
        "Some cases whose subject has changed come first, and the group's all the same."
        steps = rotation.distance(["src/bench/fio.py"])
        plain, chosen = self.slices(5, 1)[0], self.slices(5, 1, steps)[0]
        first = [one for one in chosen if steps(one) is not None]
        self.assertEqual(first, chosen[:len(first)])
        self.assertGreaterEqual(len(first), rotation.CHANGED)
        self.assertEqual(names(chosen) & names(plain), names(plain))

    def test_no_new_guest(self):
        "A case of a rare guest waits for its turn, though its subject has changed."
        steps = rotation.distance(["tests/vm/cases/arm.py"])
        self.assertEqual(sum(any("arm64" in one.images for one in part) for part in self.slices(0, MOST, steps)), 1)


class Time(unittest.TestCase):
    """Which cases of a slice a run begins."""

    def begun(self, base, within, until, expected, limits):
        """How many cases begin, one after the other, and how many are left out. BASE: seconds before the first of them; LIMITS: theirs."""
        clock = [100]
        self.enterContext(mock.patch.object(run.time, "monotonic", lambda: clock[0]))
        runner = run.Runner([], types.SimpleNamespace(within=0, until=until, jobs=1, results="-"))
        runner.args.within, runner.expected = within, expected
        self.assertFalse(runner.too_late(types.SimpleNamespace(name="daily", tier="default", limit=10 ** 6)))
        clock[0] += base
        for number, limit in enumerate(limits):
            one = types.SimpleNamespace(name=str(number), tier="full", limit=limit)
            if not runner.too_late(one):
                clock[0] += expected.get(one.name, limit / rotation.OF_LIMIT)
        return runner.begun, runner.late

    def test_own_time(self):
        "The slice has its time however long the rest has taken."
        for base in (0, 1500, 2000):
            self.assertEqual(self.begun(base, 300, 3000, {}, [600] * 5), (3, 2), base)

    def test_end(self):
        "The run's end comes before; one case begins all the same."
        self.assertEqual(self.begun(1800, 300, 2000, {}, [600] * 5), (2, 3))
        self.assertEqual(self.begun(2500, 300, 2000, {}, [600] * 5), (1, 4))

    def test_what_fits(self):
        "After a case that is too long a short one may begin, as the record has their time."
        self.assertEqual(self.begun(0, 300, 3000, {"1": 250, "2": 10}, [600] * 4), (3, 1))


class OtherGuests(unittest.TestCase):
    def test_twice(self):
        "A case that runs in a second guest has a second name, and is not in the fast tier."
        names = [one.name for one in context.CASES]
        self.assertEqual(len(names), len(set(names)))
        for one in (one for one in context.CASES if "@" in one.name):
            self.assertEqual(one.images, (one.name.partition("@")[2],))
            self.assertNotEqual(one.tier, "fast", one.name)

    def test_newer_kernel(self):
        "README.md says that tests run on kernel 6.12: the main group does in each run of the default tier."
        daily = {one.name.partition(".")[0] for one in run.main_group() if one.images == ("trixie",)}
        self.assertLessEqual({"both_ways", "waiting", "held_both_ways", "distrust", "kept_off", "killed", "errors", "service"}, daily)


class Numbers(unittest.TestCase):
    """The number of a commit, in repositories made here."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.git("init", "-q", "-b", "main", "whole")
        for number in range(3):
            self.git("-C", "whole", "commit", "-q", "--allow-empty", "-m", str(number))

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@localhost", *words], cwd=self.top, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def number(self, folder):
        with mock.patch.object(rotation, "HERE", os.path.join(self.top, folder)):
            return rotation.number()

    def test_next(self):
        "The next commit has the next number."
        self.assertEqual(self.number("whole"), 3)
        self.git("-C", "whole", "commit", "-q", "--allow-empty", "-m", "next")
        self.assertEqual(self.number("whole"), 4)

    def test_three_in_a_row(self):
        "Three commits in a row, in a clone of this tree: three runs have three slices, and each has all of its own group."
        top, slices = os.path.join(self.top, "whole"), []
        for folder in ("tests", "src"):
            shutil.copytree(os.path.join(rotation.TOP, folder), os.path.join(top, folder), symlinks=True,
                            ignore=shutil.ignore_patterns("corpus", "logs", "recorded"))
        for number in range(3):
            with open(os.path.join(top, "src/core/policy.c"), "a", encoding="utf-8") as file:
                file.write("\n")
            self.git("-C", "whole", "add", "-f", ".")
            self.git("-C", "whole", "commit", "-q", "-m", "again")
            listed = subprocess.run([os.path.join(top, "tests/vm/run"), "--list", "--slice"], check=True, capture_output=True, text=True,
                                    env=dict(os.environ, UASD_VM_CACHE=self.top)).stdout
            slices.append({line.split()[3] for line in listed.splitlines() if line.startswith("full ")})
            group = names(rotation.groups(FULL, MADE, MOST)[(4 + number) % MOST])
            self.assertEqual(group - slices[-1], set())
            self.assertLessEqual(len(slices[-1] - group), rotation.CHANGED)
        for one, two in itertools.combinations(slices, 2):
            self.assertGreater(len(one - two), rotation.CHANGED)

    def test_shallow(self):
        "A shallow clone has only one commit, and yet another number for each."
        found = set()
        for number in range(3):
            self.git("clone", "-q", "--depth", "1", "file://%s/whole" % self.top, "shallow%d" % number)
            found.add(self.number("shallow%d" % number))
            self.git("-C", "whole", "commit", "-q", "--allow-empty", "-m", "next")
        self.assertEqual(len(found), 3)

    def test_no_git(self):
        "A tree without git has another number each day."
        os.mkdir(os.path.join(self.top, "plain"))
        with mock.patch.dict(os.environ, GIT_CEILING_DIRECTORIES=self.top):
            with mock.patch.object(rotation.time, "time", lambda: 10 * 86400 + 5):
                self.assertEqual(self.number("plain"), 10)
            with mock.patch.object(rotation.time, "time", lambda: 11 * 86400):
                self.assertEqual(self.number("plain"), 11)


class Subjects(unittest.TestCase):
    known = rotation.sources()

    def patterns(self, *changed):
        return rotation.subjects(changed, self.known)

    def test_every_file(self):
        "Each file of src is the subject of a case."
        for path in (one for one in self.known if one.startswith("src/")):
            self.assertTrue(self.patterns(path), path)

    def test_every_folder_of_the_package(self):
        for folder in ("udev", "systemd", "packaging", "tests/fake"):
            self.assertTrue(self.patterns(folder + "/x"), folder)

    def test_every_case(self):
        "Each file of cases is about a file besides itself, and each pattern names some."
        patterns = {pattern for _, some in rotation.SUBJECTS for pattern in some}
        for pattern in patterns:
            self.assertTrue(any(rotation.fnmatch.fnmatch(one.name, pattern) for one in context.CASES), pattern)
        for one in context.CASES:
            self.assertTrue(any(rotation.fnmatch.fnmatch(one.name, pattern) for pattern in patterns), one.name)

    def test_nearest(self):
        "The includes lead to the cases; a file's own cases are the nearest."
        self.assertEqual(self.patterns("src/switch/detach.c")["killed.*"], 0)
        self.assertEqual(self.patterns("src/sys/io/statefile.c")["killed.*"], 1)
        self.assertEqual(self.patterns("src/core/policy.c")["bridges.*"], 0)
        self.assertGreater(self.patterns("src/core/policy.c")["killed.*"], 0)
        self.assertEqual(self.patterns("tests/vm/cases/killed.py")["killed.*"], 0)
        self.assertEqual(self.patterns("tests/vm/within/races.py")["races.*"], 1)
        self.assertNotIn("killed.*", self.patterns("src/bench/fio.py"))
        self.assertEqual(self.patterns("README.md"), {})


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "slices.tsv")

    def test_share(self):
        rotation.Record(self.path).add("c1", {"killed.a": 12.4})
        rotation.Record(self.path).add("c2", {})
        record = rotation.Record(self.path)
        record.add("c3", {"killed.a": 20, "around.c": 80})
        record = rotation.Record(self.path)
        self.assertEqual(record.seconds(), {"killed.a": 20, "around.c": 80})
        self.assertEqual([run.commit for run in record.runs], ["c1", "c2", "c3"])
        for late, end in ((0, "its slice is complete"), (4, "its slice had no time for 4")):
            self.assertEqual(record.share({"killed.a", "around.c", "other.d"}, late),
                             "of 3 cases that take turns 2 (67 %) passed in the last 3 runs on this machine, 2 of them in this one; " + end)

    def test_forgets(self):
        "It keeps the last runs."
        for number in range(rotation.RUNS + 5):
            rotation.Record(self.path).add("c%d" % number, {"killed.%d" % number: 1})
        record = rotation.Record(self.path)
        self.assertEqual(len(record.runs), rotation.RUNS)
        self.assertNotIn("killed.4", record.seconds())
        self.assertIn("killed.5", record.seconds())


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases of tier full in a slice.

    python3 -m unittest tests/vm/rotation_test.py        (from anywhere)
"""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rotation  # noqa: E402


class One:
    def __init__(self, name, limit=300):
        self.name, self.limit = name, limit


def names(chosen):
    return [one.name for one in chosen]


class Rotation(unittest.TestCase):
    cases = [One("killed.a"), One("users_open.b"), One("around.c")]
    record = {"killed.a": rotation.Passed("2026-01-03T00:00", "new", 50), "users_open.b": rotation.Passed("2026-01-02T00:00", "new", 50),
              "around.c": rotation.Passed("2026-01-01T00:00", "old", 50)}

    def slice_of(self, seconds, record=None, changes=None):
        record = self.record if record is None else record
        return names(rotation.slice_of(self.cases, seconds, record, lambda commit: (changes or {}).get(commit, []), "seed"))

    def test_longest_ago(self):
        "The case that passed longest ago comes first. The slice has as many as fit."
        self.assertEqual(self.slice_of(100), ["around.c", "users_open.b"])
        self.assertEqual(self.slice_of(49), [])

    def test_changed(self):
        "A case whose subject has changed since comes before."
        self.assertEqual(self.slice_of(50, changes={"new": ["src/switch/steps.c"]}), ["killed.a"])
        self.assertEqual(self.slice_of(50, changes={"new": ["tests/vm/cases/users_open.py"]}), ["users_open.b"])
        self.assertEqual(self.slice_of(50, changes={"new": ["README.md"]}), ["around.c"])

    def test_never(self):
        "A case that never passed comes first, and counts with a third of its limit."
        record = {name: one for name, one in self.record.items() if name != "killed.a"}
        self.assertEqual(self.slice_of(100, record), ["killed.a"])
        self.assertEqual(self.slice_of(99, record), ["around.c"])

    def test_kept(self):
        "The file gets the cases that passed, and keeps its other lines."
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rotation.tsv")
            rotation.passed("killed.a", 12.4, "c1", path)
            rotation.passed("around.c", 80, "c2", path)
            rotation.passed("killed.a", 13, "c2", path)
            record = rotation.read(path)
        self.assertEqual({name: (one.commit, one.seconds) for name, one in record.items()}, {"killed.a": ("c2", 13), "around.c": ("c2", 80)})

    def test_subjects(self):
        "Every pattern of cases names some, and every folder is there."
        import glob
        import re
        files = {}
        for path in glob.glob(os.path.join(rotation.HERE, "cases", "*.py")):
            with open(path) as file:
                files[os.path.basename(path)[:-3]] = re.findall(r"^@case\(.*\n(?:    .*\n)*def (\w+)", file.read(), re.M)
        for subject, patterns in rotation.SUBJECTS:
            self.assertTrue(os.path.isdir(os.path.join(rotation.HERE, "../..", os.path.dirname(subject))), subject)
            for pattern in patterns:
                self.assertTrue(any(rotation.fnmatch.fnmatch(name + ".x", pattern) for name in files), pattern)


if __name__ == "__main__":
    unittest.main()

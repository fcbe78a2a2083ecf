# SPDX-License-Identifier: LGPL-2.1-or-later
"""tests/mutate: its rooms, and how it finds the tests of a change."""

import glob
import importlib.machinery
import importlib.util
import os
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
loader = importlib.machinery.SourceFileLoader("mutate", os.path.join(TOP, "tests/mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)


class Rooms(unittest.TestCase):
    def test_all(self):
        "Each room of C has a goal, but what all of them share."
        rooms = {path.split(os.sep)[0] for path in glob.glob("**/*.c", root_dir=os.path.join(TOP, "src"), recursive=True)}
        self.assertEqual(set(mutate.ROOMS), rooms - {"common"})

    def test_folders(self):
        for room, (_goal, folders) in mutate.ROOMS.items():
            for folder in folders:
                self.assertTrue(os.path.exists(os.path.join(TOP, "tests", folder, "meson.build")), (room, folder))


class Scores(unittest.TestCase):
    def test_below(self):
        "A sample that may come from a room at its goal does not fail it."
        for room, killed, survived, below in (("core", 20, 0, False), ("core", 19, 1, False), ("core", 12, 8, True),
                                              ("ctl", 14, 6, False), ("ctl", 11, 9, True)):
            self.assertEqual(mutate.below(room, killed, survived), below, (room, killed, survived))

    def test_last(self):
        with tempfile.NamedTemporaryFile("w") as record, mock.patch.object(mutate, "RECORD", record.name):
            self.assertEqual(mutate.last_results("sys"), "")
            record.write("2026-11-01\ta\tsys\t1\t0\t100\n")  # longer ago than the last ones
            for commit, killed in ("b", 20), ("b", 19), ("c", 18), ("d", 20), ("d", 18):
                record.write("2026-11-02\t%s\tsys\t1\t%d\t%d\n2026-11-02\ta\tctl\t1\t0\t20\n" % (commit, killed, 20 - killed))
            record.flush()
            self.assertEqual(mutate.last_results("sys"), "; 95 % of the last 100 at 3 commits")

    def test_in_turn(self):
        self.assertEqual(list(mutate.in_turn({"core": "abc", "ctl": "x"})), [("core", "a"), ("ctl", "x"), ("core", "b"), ("core", "c")])


class Folder(unittest.TestCase):
    def test_any_path(self):
        "The folder is that in the tree, also below another one called tests."
        for top in "/x/tree", "/x/tests/tree", "/tests/y/tests/tree":
            for path, folder in ((top + "/tests/daemon/test-bus.py", "daemon"), (top + "/build/tests/unit/test-kmsg", "unit"),
                                 ("/usr/bin/python3", None), (top + "/src/ctl/uasctl", None), ("/x/tests/other/program", None)):
                self.assertEqual(mutate.folder_of(path, (top, top + "/build")), folder, path)


class Asked(unittest.TestCase):
    def test_none(self):
        "A change that no test contains is no survivor: the run ends."
        tests = mutate.Tests.__new__(mutate.Tests)
        tests.all, tests.killers, tests.contents = [], {}, {}
        with mock.patch.object(mutate, "run", return_value=(0, "a_function\n")), self.assertRaises(SystemExit) as ended:
            tests.of("core", "src/core/kmsg.c", "x.o")
        self.assertIn("src/core/kmsg.c", str(ended.exception))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""tests/mutate: its rooms, and how it finds the tests of a change."""

import glob
import importlib.machinery
import importlib.util
import os
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

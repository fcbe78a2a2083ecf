# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every assumption of the fake kernel has its case on a real one, and no case is superfluous.

    python3 -m unittest tests/vm/reactions_test.py      (needs no guest)
"""

import glob
import importlib
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
REACTIONS = os.path.join(os.path.dirname(HERE), "fake", "REACTIONS")
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import context  # noqa: E402
import rotation  # noqa: E402


class Reactions(unittest.TestCase):
    def setUp(self):
        for path in glob.glob(os.path.join(HERE, "cases", "reactions_*.py")):
            importlib.import_module("cases." + os.path.basename(path)[:-3])
        self.cases = [one for one in context.CASES if one.name.startswith("reactions_")]
        with open(REACTIONS) as file:
            self.lines = [line for line in file.read().splitlines() if not line.startswith("#")]

    def test_names(self):
        names = [line.partition(":")[0] for line in self.lines]
        self.assertEqual(sorted(names), sorted(one.function.__name__ for one in self.cases))

    def test_kernel_alone(self):
        "They need no uasd, so they run again where the fake kernel has changed, and otherwise in turn."
        fake, real = rotation.distance(["tests/fake/nodes.c"]), rotation.distance(["src/switch/steps.c"])
        for one in self.cases:
            self.assertFalse(one.product, one.name)
            self.assertEqual(fake(one), 0, one.name)
            self.assertIsNone(real(one), one.name)


if __name__ == "__main__":
    unittest.main()

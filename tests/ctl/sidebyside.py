# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cases at the same time, because most of their time is waiting. Each has what it needs for itself."""

import concurrent.futures
import unittest

AT_ONCE = 4


class SideBySide(unittest.TestSuite):
    def run(self, result, debug=False):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(lambda case: case.run(result), self):
                pass
        return result


def loader():
    side_by_side = unittest.TestLoader()
    side_by_side.suiteClass = SideBySide
    return side_by_side

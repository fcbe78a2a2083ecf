#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""test-version.py SOURCE: the packages and NEWS.md have the version of meson.build."""

import os
import re
import sys
import unittest

SOURCE = sys.argv.pop(1)
# The spec has it twice: as a tag, and in the first entry of its changelog.
PLACES = [
    ("NEWS.md", r"^## (\S+)"),
    ("packaging/arch/PKGBUILD", r"^pkgver=(\S+)$"),
    ("packaging/debian/changelog", r"^uasd \((\S+)\)"),
    ("packaging/rpm/uasd.spec", r"^Version: +(\S+)$"),
    ("packaging/rpm/uasd.spec", r"^%changelog\n\* .* - (\S+)-1$"),
]


def first(path, pattern):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return re.search(pattern, file.read(), re.M)[1]


class Version(unittest.TestCase):
    def test_places(self):
        version = first("meson.build", r"^  version: '(.*?)'")
        for path, pattern in PLACES:
            with self.subTest(path):
                self.assertEqual(version, first(path, pattern))


if __name__ == "__main__":
    unittest.main()

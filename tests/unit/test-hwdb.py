#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""udev/61-uasd.hwdb: every line is valid, nothing contradicts the kernel's table in src/core, and systemd's own program compiles it
and finds its entries.

    test-hwdb.py SOURCE-ROOT
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = sys.argv[1]
HWDB = os.path.join(TOP, "udev/61-uasd.hwdb")
SAYS_MAX = 8
# No source names the chip in these.
UNNAMED = set("""
04E8:61B6 054C:087D 059F:105F 059F:1061 0634:5605 0781:55E8 090C:2000 0984:0301 0BC2:331A 1058:262F 125F:A76A 125F:A88A 14B0:0206
154B:F009 154B:F00B 154B:F00D 17EF:3899 4971:1012 4971:8017 4971:8024 7825:A2A4
""".split())
SYSTEMD_HWDB = os.environ.get("SYSTEMD_HWDB") or shutil.which("systemd-hwdb")


def read_hwdb():
    """{match: {key: value}}"""
    entries, matches, filled = {}, [], False
    with open(HWDB) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            where = "%s:%d: %s" % (HWDB, number, line)
            assert line.isascii() and not line.endswith(" "), where
            if line.startswith("#"):
                continue
            # systemd would read the rest as a comment.
            assert "#" not in line, where
            if not line:
                assert not matches or filled, where
                matches, filled = [], False
            elif line.startswith(" "):
                key, sep, value = line[1:].partition("=")
                assert matches and sep and re.fullmatch("UASD_[A-Z0-9_]+", key) and value, where
                for match in matches:
                    assert key not in entries[match], where
                    entries[match][key] = value
                filled = True
            else:
                assert not filled and re.fullmatch(r"usb:v[0-9A-F]{4}p[0-9A-F]{4}\*", line), where
                assert line not in entries, where
                matches.append(line)
                entries[line] = {}
    return entries


def read_says(keys):
    """The statements of an entry: [(verdict, min, max, host, source, date, note)]."""
    says = []
    for i in range(1, SAYS_MAX + 1):
        if "UASD_DB_%d" % i not in keys:
            break
        fields = keys["UASD_DB_%d" % i].split(";")
        if len(fields) == 5:
            fields.append("")
        verdict, firmware, host, source, date, note = fields
        low, high = ("0000", "FFFF") if firmware == "*" else firmware.split("-")
        says.append((verdict, int(low, 16), int(high, 16), host, source, date, note))
    return says


def read_kernel_table():
    """{match: [(min, max, letters, table)]}"""
    with open(os.path.join(TOP, "src/core/kernel-table.c")) as f:
        text = f.read()
    rows = {}
    for table in "uas", "storage":
        body = re.search(r"struct kernel_row %s_rows\[\] = \{(.*?)\n\};" % table, text, re.S).group(1)
        found = re.findall(r'\{0x(\w{4}),\s+0x(\w{4}),\s+0x(\w{4}),\s+0x(\w{4}),\s+"(\w*)",([^}]*)\}', body)
        assert len(found) == body.count("{") > 10
        for vid, pid, low, high, letters, more in found:
            if "BEFORE" in more:  # not in a newer kernel
                continue
            match = "usb:v%sp%s*" % (vid.upper(), pid.upper())
            rows.setdefault(match, []).append((int(low, 16), int(high, 16), letters, table))
    return rows


class Hwdb(unittest.TestCase):
    def setUp(self):
        self.entries = read_hwdb()
        self.assertGreater(len(self.entries), 30)

    def test_statements(self):
        for match, keys in self.entries.items():
            with self.subTest(match):
                says = read_says(keys)
                self.assertEqual(set(keys) - {"UASD_DB_CHIP"}, {"UASD_DB_%d" % (i + 1) for i in range(len(says))})
                self.assertTrue(says)
                self.assertEqual(len(says), len(set(says)))
                self.assertLess(len(keys.get("UASD_DB_CHIP", "")), 64)
                for verdict, low, high, host, source, date, note in says:
                    self.assertIn(verdict, ("good", "bad", "unknown"))
                    self.assertLessEqual(low, high)
                    self.assertRegex(host, r"^(\*|[a-z0-9_,-]{2,31})$")
                    self.assertTrue(2 < len(source) < 80 and len(note) < 80)
                    self.assertRegex(date, r"^20[12]\d(-[01]\d(-[0-3]\d)?)?$")
                    self.assertTrue(verdict != "unknown" or note, "an unknown that says nothing")

    def test_chips(self):
        """The source of the name of a chip is known. Without a source the chip has no name."""
        unnamed = set()
        for match, keys in self.entries.items():
            if "UASD_DB_CHIP" not in keys:
                unnamed.add(match[5:-1].replace("p", ":"))
                continue
            with self.subTest(match):
                chip = keys["UASD_DB_CHIP"]
                self.assertRegex(chip, r"^[A-Z]\w+( Labs)?( [^()]+)? \([^()]+\)(, [A-Z]\w[^()]+ \([^()]+\))*$")
                sources = [s for s in re.split(r"[,;] ", ", ".join(re.findall(r"\(([^()]+)\)", chip))) if s != "no model"]
                self.assertEqual(len(sources), len(set(sources)))
                said = {s[4].split(" ")[0] for s in read_says(keys)}
                self.assertFalse(set(sources) - {"smartmontools", "usb.ids"} - said)
                # A number is a model. A name without one says that there is no model.
                self.assertNotEqual("no model" in chip, bool(re.search(r"[0-9]", chip)))
        self.assertEqual(unnamed, UNNAMED)

    def test_firmware_told(self):
        """A warning about a firmware that bcdDevice does not identify is only text, without an effect."""
        said = [s for s in read_says(self.entries["usb:v0BDAp9210*"]) if s[4].startswith("bensuperpc/rtl9210")]
        self.assertEqual([(s[0], s[5]) for s in said], [("unknown", "2026-07")])
        self.assertIn("1.32.87", said[0][6])

    def test_kernel_forbids(self):
        """Bridges that the kernel's table keeps off uas are bad here, in that range. A good verdict would be a conflict."""
        for match, rows in read_kernel_table().items():
            says = read_says(self.entries.get(match, {}))
            for low, high, letters, table in rows:
                with self.subTest(match, table=table):
                    source = "unusual_uas.h" if table == "uas" else "unusual_devs.h"
                    if "u" in letters:
                        ours = [s for s in says if s[0] == "bad" and s[4].startswith("Linux ") and source in s[4]]
                        self.assertIn((low, high), [(s[1], s[2]) for s in ours])
                    elif table == "uas":
                        ours = [s for s in says if s[4].startswith("Linux ") and source in s[4] and s[1:3] == (low, high)]
                        self.assertEqual([s[0] for s in ours], ["unknown"])
                        if letters:
                            self.assertIn("flags " + letters, ours[0][6])

    def test_kernel_says_so(self):
        """Entries with the source Linux are in the kernel's table."""
        rows = read_kernel_table()
        for match, keys in self.entries.items():
            for verdict, low, high, host, source, _, note in read_says(keys):
                if not source.startswith("Linux ") or source.endswith("uas-detect.h"):
                    self.assertFalse(verdict != "unknown" and source.startswith("Linux "), match)
                    continue
                with self.subTest(match):
                    self.assertEqual(host, "*")
                    table = "uas" if source.endswith("unusual_uas.h") else "storage"
                    found = [r[2] for r in rows.get(match, []) if r[3] == table and r[:2] == (low, high)]
                    self.assertEqual(len(found), 1)
                    self.assertEqual(verdict == "bad", "u" in found[0])
                    flags = re.search(r"flags (\w+)", note)
                    self.assertEqual(flags.group(1) if flags else "", found[0].replace("u", ""))

    def test_page(self):
        """docs/bridges.md is the output of tools/bridges, and has every statement."""
        made = subprocess.run([os.path.join(TOP, "tools/bridges")], check=True, capture_output=True, text=True).stdout
        with open(os.path.join(TOP, "docs/bridges.md")) as f:
            self.assertEqual(f.read(), made, "run tools/bridges >docs/bridges.md")
        rows = {title: re.findall(r"(?m)^\| `(....:....)` \|", text) for title, text in re.findall(r"(?ms)^## ([^\n]+)$(.*?)(?=^## |\Z)", made)}
        says = [(match[5:-1].replace("p", ":").lower(), *s) for match, keys in self.entries.items() for s in read_says(keys)]
        for title, verdict in ("Good", "good"), ("Bad", "bad"):
            self.assertEqual(rows[title], sorted(s[0] for s in says if s[1] == verdict))
        self.assertEqual(rows["Expected to work"], ["152d:0578", "174c:55aa", "174c:55aa"])
        self.assertEqual(sum(map(len, rows.values())), len(says))

    @unittest.skipUnless(SYSTEMD_HWDB, "no systemd-hwdb")
    def test_systemd(self):
        """The look-up of udev for a USB device, which has no modalias, and for an interface, which has one."""
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, "etc/udev/hwdb.d")
            os.makedirs(folder)
            shutil.copy(HWDB, folder)
            subprocess.run([SYSTEMD_HWDB, "update", "--strict", "--root", root], check=True)
            for match, keys in self.entries.items():
                for rest in ":External Disk", "d0100dc00dsc00dp00ic08isc06ip50in00":
                    out = self.query(root, match[:-1] + rest)
                    self.assertEqual(out, keys, match)
            self.assertEqual(self.query(root, "usb:v1209p5A5A:Disk"), {})
            self.assertEqual(self.query(root, "usb:v152Dp057:Disk"), {})

    @unittest.skipUnless(SYSTEMD_HWDB, "no systemd-hwdb")
    def test_overruled(self):
        """The recipe at the beginning of the file."""
        with open(HWDB) as f:
            recipe = re.search(r"(?m)^#   (usb:.*)\n#   ( UASD_VERDICT=bad)$", f.read())
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, "etc/udev/hwdb.d")
            os.makedirs(folder)
            shutil.copy(HWDB, folder)
            with open(os.path.join(folder, "99-local.hwdb"), "w") as f:
                f.write("%s\n%s\n" % recipe.groups())
            subprocess.run([SYSTEMD_HWDB, "update", "--strict", "--root", root], check=True)
            out = self.query(root, "usb:v152Dp0578:Disk")
            self.assertEqual(out["UASD_VERDICT"], "bad")
            self.assertIn("UASD_DB_1", out)

    def query(self, root, modalias):
        out = subprocess.run([SYSTEMD_HWDB, "query", "--root", root, modalias], check=True, capture_output=True, text=True)
        return dict(line.split("=", 1) for line in out.stdout.splitlines())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

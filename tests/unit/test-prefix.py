#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the programs are installed, and that rules, units, hooks, manual and programs name each other there.

usage: test-prefix.py SOURCE
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
PROGRAMS = {"uasd", "uasd-hold", "uasd-hold-decide", "uasd-pid1", "uasd-switch", "uasctl-bench"}
HOOKS = "-Dinitramfs=initramfs-tools,dracut,mkinitcpio"
NAMED = re.compile(r"(?<![\w/.@])/[\w/.@-]*/(?:uasd-(?:hold|pid1|switch)[\w-]*|uasctl-bench|initramfs/run)\b")


def configured(folder, *options):
    """[(what meson installs, as it is in the build directory, where to)]"""
    subprocess.run(["meson", "setup", folder, SOURCE, "-Dtests=false", HOOKS, *options], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["meson", "introspect", folder, "--installed"], check=True, capture_output=True, text=True)
    return sorted(json.loads(done.stdout).items())


class Prefix(unittest.TestCase):
    def check(self, where, *options):
        with tempfile.TemporaryDirectory() as folder:
            installed = configured(folder, *options)
            self.assertEqual({os.path.basename(to): os.path.dirname(to) for _, to in installed if os.path.basename(to) in PROGRAMS},
                             {name: where for name in PROGRAMS})
            named = 0
            for path, to in installed:
                if not os.path.isfile(path) or path.endswith((".po", ".mo")) or "/src/bench/" in path:
                    continue
                with open(path, encoding="utf-8") as file:
                    for name in NAMED.findall(file.read()):
                        if not name.startswith(("/run/", "/sys/", "run/")) and "/udev/" not in name:
                            self.assertTrue(name.startswith(where + "/"), (to, name))
                            named += 1
            self.assertGreater(named, 20)
            with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
                [compiled] = [one["command"] for one in json.load(file) if one["file"].endswith("src/daemon/main.c")]
            self.assertIn('-DPKGLIBEXECDIR="%s"' % where, shlex.split(compiled))

    def test_default(self):
        self.check("/usr/lib/uasd")

    def test_libexecdir(self):
        self.check("/opt/uasd/libexec/uasd", "--prefix=/opt/uasd", "--libexecdir=libexec")


if __name__ == "__main__":
    unittest.main()

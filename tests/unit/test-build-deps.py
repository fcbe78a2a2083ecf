#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""test-build-deps.py SOURCE: meson.build, debian/control and tools/setup-host agree about the dependencies of a build. dpkg
knows the package of each dependency in meson.build, so all of them must be installed."""

import functools
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
# control does not list Debian's build-essential.
ESSENTIAL = {"libc6-dev", "gcc", "dpkg-dev"}
# Names in control that packages of other names provide.
PACKAGE_OF = {"debhelper-compat": "debhelper", "dh-sequence-dkms": "dh-dkms"}


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def owner(path):
    """The package of a file. If /lib is /usr/lib, dpkg knows the file by one of the two names."""
    path = os.path.realpath(path)
    for name in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    raise AssertionError(f"no package has {path}")


@functools.cache
def package(how, name):
    """The package that provides HOW('NAME') of meson."""
    if how == "find_program":
        return owner(shutil.which(name))
    if how == "dependency" and name == "threads":  # of libc, in whichever library
        name = "c"
    elif how == "dependency" and name != "dl":
        return owner(os.path.join(output("pkg-config", "--variable=pcfiledir", name), name + ".pc"))
    return owner(output("gcc", f"-print-file-name=lib{name}.a"))


def meson_asks(only_tests):
    """[(package, version or None)] of the tests' meson.build files, or of all others. Programs of the tree have no package."""
    asked = set()
    for path in glob.glob("**/meson.build", root_dir=SOURCE, recursive=True):
        if path.startswith("build") or path.startswith("tests/") != only_tests:
            continue
        for how, name, version in re.findall(r"\b(dependency|find_library|find_program)\('([\w.-]+)'(?:, version: '(.*?)')?", read(path)):
            if not os.path.exists(os.path.join(SOURCE, os.path.dirname(path), name)):
                asked.add((package(how, name), version or None))
    return {one for one in asked if one[0] not in ESSENTIAL}


def control():
    """{package: (version or None, True if only tests need it)}"""
    field = re.search(r"^Build-Depends:(.*?)^\S", read("packaging", "debian", "control"), re.M | re.S)[1]
    found = {}
    for entry in filter(None, map(str.strip, field.split(","))):
        name, _, version, profile = re.fullmatch(r"([a-z0-9.+-]+)( \((.*?)\))?(?: <(.*)>)?", entry).groups()
        found[name] = version and version.replace(" ", ""), profile == "!nocheck"
    return found


def setup_host(variable):
    return set(re.search(rf"^{variable}='(.*?)'", read("tools", "setup-host"), re.M | re.S)[1].split())


def rules_options(profile):
    """The options that debian/rules passes to meson."""
    said = output("env", "-u", "DEB_BUILD_OPTIONS", "DEB_BUILD_PROFILES=" + profile, "make", "-n", "-C", SOURCE,
                  "--no-print-directory", "-f", "packaging/debian/rules", "override_dh_auto_configure")
    return shlex.split(said.partition(" -- ")[2])


@unittest.skipUnless(shutil.which("dpkg"), "no dpkg")
class BuildDeps(unittest.TestCase):
    def test_package(self):
        """The dependencies of the programs, in the version that meson requires."""
        for name, version in meson_asks(only_tests=False):
            with self.subTest(name):
                self.assertIn(name, control())
                self.assertFalse(control()[name][1], "a build without tests needs it as well")
                if version:
                    self.assertEqual(version, control()[name][0])
        self.assertIn(re.search(r"meson_version: '(.*?)'", read("meson.build"))[1], control()["meson"][0])

    def test_tests(self):
        asked = meson_asks(only_tests=True) - meson_asks(only_tests=False)
        self.assertTrue(asked)
        for name, _ in asked:
            with self.subTest(name):
                self.assertEqual((None, True), control().get(name), "in debian/control, and marked <!nocheck>")

    def test_setup_host(self):
        for variable, test in ("build", False), ("check", True):
            wanted = {PACKAGE_OF.get(name, name) for name, (_, only) in control().items() if only == test}
            self.assertEqual(wanted, setup_host(variable))
        self.assertEqual(set(), ESSENTIAL - setup_host("work"))

    def test_nocheck(self):
        """With the options of debian/rules for nocheck, meson does not need the packages that are marked <!nocheck>."""
        with tempfile.TemporaryDirectory() as folder:
            only_tests = [name for name, (_, only) in control().items() if only]
            files = subprocess.run(["dpkg", "-L"] + only_tests, capture_output=True, text=True).stdout.splitlines()
            hidden = {os.path.basename(path) for path in files if path.endswith(".pc")}
            self.assertTrue(hidden)
            known = os.path.join(folder, "pkgconfig")
            os.mkdir(known)
            for place in output("pkg-config", "--variable=pc_path", "pkg-config").split(":"):
                for path in glob.glob(place + "/*.pc"):
                    if os.path.basename(path) not in hidden:
                        os.symlink(path, os.path.join(known, os.path.basename(path)))
            env = dict(os.environ, PKG_CONFIG_LIBDIR=known, CMAKE="/nonexistent")
            for profile, status in ("nocheck", 0), ("", 1):
                done = subprocess.run(["meson", "setup", os.path.join(folder, "build" + profile), SOURCE] + rules_options(profile),
                                      env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual(status, done.returncode, done.stdout)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of uasctl bench, and scratch files."""

import contextlib
import io
import os
import tempfile
import unittest

from bench import options, scratch
from bench.exits import Ended
from bench.model import Driver

# wrong: the beginning of the error, None if valid, "" if the option itself is refused
ROWS = (
    (("sda",), None),
    (("sda", "--driver=uas"), None),
    (("sda", "--driver=usb-storage", "-n", "20", "--runtime=5s", "--pause=0", "--size=512M"), None),
    (("sda", "--profile", "gcp", "--destroy-data", "--json"), None),
    (("--file=/mnt", "--write"), None),
    (("sda", "--file=/mnt/file", "--csv"), None),
    (("--file=/mnt/file", "--clients=a,b", "--size=1G"), None),
    (("sda", "--sweep=depth", "--pattern=RND4K-Q32T1", "--chart=x.svg"), None),
    (("run", "sda"), None),
    (("run",), "A disk or a file is missing"),
    (("list",), None),
    (("list", "sda", "--json"), None),
    (("list", "a", "b"), "'list' takes one disk"),
    (("diff", "a", "b"), None),
    (("diff", "a"), "'diff' takes two"),
    (("show", "a", "--csv"), None),
    (("show",), "'show' takes the id"),
    (("--show",), "'--show' takes the id"),
    (("remove",), "'remove' takes the id"),
    (("remove", "a", "--json"), "'remove' prints nothing"),
    (("remove", "a"), None),
    (("remove", "a", "--runtime=5"), "'remove' measures nothing"),
    (("--history",), None),
    (("--history", "sda", "--json"), None),
    (("--diff", "a", "b"), None),
    ((), "A disk or a file is missing"),
    (("sda", "sdb"), "One disk"),
    (("sda", "--write"), "--write needs --file"),
    (("sda", "--file=/mnt", "--destroy-data"), "--destroy-data writes"),
    (("sda", "--file=/mnt", "--driver=uas"), "A mounted disk"),
    (("--file=/mnt", "--write", "--remount", "--profile=gcp"), None),
    (("sda", "--file=/mnt", "--write", "--remount", "--driver=uas"), None),
    (("sda", "--remount"), "--remount needs"),
    (("sda", "--file=/mnt", "--remount"), "--remount needs"),
    (("--file=/mnt", "--write", "--remount", "--clients=a"), "--remount needs"),
    (("sda", "--sweep=runtime", "--runtime=5"), "--sweep=runtime and"),
    (("sda", "--sweep=runtime", "--quick"), "--sweep=runtime and"),
    (("sda", "--quick"), None),
    (("list", "--quick"), "'list' measures nothing"),
    (("sda", "--clients=a"), "--clients needs"),
    (("--file=/mnt/file", "--clients=a", "--sweep=depth"), "--clients and --sweep"),
    (("sda", "--json", "--csv"), "Only one of"),
    (("sda", "--csv", "--markdown"), "Only one of"),
    (("sda", "--dry-run"), None),
    (("sda", "--dry-run", "--json"), "--dry-run measures nothing"),
    (("sda", "--dry-run", "--csv"), "--dry-run measures nothing"),
    (("sda", "--dry-run", "--markdown"), "--dry-run measures nothing"),
    (("--file=/mnt/file", "--dry-run", "--chart=x.svg"), "--dry-run measures nothing"),
    (("--show", "a"), None),
    (("--show", "a", "--json", "--chart=x.svg"), None),
    (("--show", "a", "--markdown"), None),
    (("--remove", "a"), None),
    (("--history", "--diff", "a", "b"), "Only one of --history"),
    (("--show", "--remove", "a"), "Only one of --history"),
    (("--history", "-n", "3"), "'--history' measures nothing"),
    (("--history", "--pause=1s"), "'--history' measures nothing"),
    (("--history", "--dry-run"), "'--history' measures nothing"),
    (("--remove", "a", "--dry-run"), "'--remove' measures nothing"),
    (("--history", "--csv"), "--csv, --markdown and --chart need one"),
    (("--history", "--chart=x.svg"), "--csv, --markdown and --chart need one"),
    (("--diff", "a", "b", "--markdown"), "--csv, --markdown and --chart need one"),
    (("--remove", "a", "--csv"), "--csv, --markdown and --chart need one"),
    (("--show", "--remove"), "Only one of --history"),
    (("--show", "a", "b"), "'--show' takes the id"),
    (("--remove",), "'--remove' takes the id"),
    (("--remove", "a", "--json"), "'--remove' prints nothing"),
    (("--show", "a", "--json", "--csv"), "Only one of"),
    (("--history", "a", "b"), "'--history' takes one disk"),
    (("--diff", "a"), "'--diff' takes two"),
    (("sda", "--driver=auto"), ""),
    (("sda", "--driver=none"), ""),
    (("sda", "--profile="), ""),
    (("sda", "-n", "0"), ""),
    (("sda", "-n", "61"), ""),
    (("sda", "-n", "-1"), ""),
    (("sda", "-n", "five"), ""),
    (("sda", "--runtime=0"), ""),
    (("sda", "--runtime=500ms"), ""),
    (("sda", "--runtime=1.7"), ""),
    (("sda", "--runtime=1500ms"), ""),
    (("sda", "--runtime=25h"), ""),
    (("sda", "--runtime=soon"), ""),
    (("sda", "--pause=soon"), ""),
    (("sda", "--size=1023"), ""),
    (("sda", "--size=0"), ""),
    (("sda", "--size=big"), ""),
    (("sda", "--size=99999999999T"), ""),
    (("sda", "--confirm-serial=S1"), ""),
)


class Options(unittest.TestCase):
    def test_command_lines(self):
        for argv, wrong in ROWS:
            with self.subTest(argv), contextlib.redirect_stderr(io.StringIO()):
                if wrong == '':
                    self.assertRaises(Ended, options.parse, argv)
                    continue
                said = options.wrong(options.parse(argv))
                self.assertTrue(said.startswith(wrong) if wrong else said == '', said)

    def test_values(self):
        o = options.parse(['sda', '--size=2g', '-n', '7', '--runtime=1min', '--sweep=jobs=1,4', '--driver', 'usb-storage'])
        self.assertEqual((o.verb, o.words, o.size, o.rounds, o.runtime, o.pause), (options.Verb.RUN, ['sda'], 2 << 30, 7, 60, 5000000))
        self.assertEqual((o.driver, o.sweep, o.measures), (Driver.USB_STORAGE, 'jobs=1,4', True))

    def test_quick(self):
        """What is given stays, in front of it or behind it."""
        def read(*argv):
            o = options.parse(argv)
            return o.rounds, o.runtime, o.pause, o.size
        self.assertEqual(read('sda', '--quick'), (3, 1, 0, 1 << 30))
        self.assertEqual(read('--pause=5', '-n5', '--quick', 'sda', '--size=2G', '--runtime=2'), (5, 2, 5000000, 2 << 30))
        self.assertEqual(read('sda'), (5, 0, 5000000, 0))

    def test_getopt(self):
        """As getopt_long(3): abbreviations, letters together, words between options, and its messages."""
        o = options.parse(['-qj', 'list', '--no-l', '--', '--csv'])
        self.assertEqual((o.quiet, o.json, o.no_legend, o.said, o.words), (True, True, True, 'list', ['--csv']))
        self.assertEqual(options.parse(['-n3', 'sda']).rounds, 3)
        self.assertEqual(options.parse(['--pause', '1min 30s', '--json=short']).pause, 90000000)
        for argv, says in ((['--fast'], "unrecognized option '--fast'"), (['--no'], "option '--no' is ambiguous; possibilities: '--no-legend' '--no-pager' '--no-ask-password'"),
                           (['--csv=1'], "option '--csv' doesn't allow an argument"), (['--rounds'], "option '--rounds' requires an argument"),
                           (['-x'], "invalid option -- 'x'"), (['-n'], "option requires an argument -- 'n'")):
            with contextlib.redirect_stderr(io.StringIO()) as err:
                self.assertRaises(Ended, options.parse, argv)
            self.assertEqual(err.getvalue(), f'uasctl: {says}\n')

    def test_scratch(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaises(OSError, scratch.make, folder, 1 << 62)
            self.assertRaises(FileNotFoundError, scratch.make, '/nowhere/at/all', 4096)
            room = scratch.free_space(folder)
            # At most half of the free space, less if less is wanted, and never less than the minimum.
            self.assertEqual(scratch.fitting(folder, 0, 1), 1)
            self.assertEqual(scratch.fitting(folder, room // 8, 4096), room // 8)
            self.assertTrue(room / 3 < scratch.fitting(folder, 1 << 64, 4096) < room * 2 / 3)
            self.assertEqual(scratch.fitting(folder, 1 << 64, 1 << 63), 1 << 63)
            self.assertEqual(scratch.fitting('/nowhere/at/all', 1 << 20, 4096), 4096)
            fd = scratch.make(folder, 1 << 20)
            self.assertEqual(os.fstat(fd).st_size, 1 << 20)
            self.assertEqual(os.listdir(folder), [])  # it has no name: nothing remains after the process
            os.close(fd)

    def test_sizes_for_people(self):
        for size, text in ((0, '0B'), (1023, '1023B'), (1024, '1K'), (1536, '1.5K'), (8 << 20, '8M'), (1 << 30, '1G'), (5 << 30, '5G'),
                           (900 << 40, '900T'), (1800 << 30, '1.8T')):
            self.assertEqual(scratch.short_size(size), text)


if __name__ == '__main__':
    unittest.main()

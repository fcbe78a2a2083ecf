#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/replay-log gives each log in tests/field/logs the verdict and the cause that stand in it.

A log has the kernel's messages of a public report: numbers and names are others. "# expect PORT VERDICT CAUSE" is the right
answer for a disk, and "# field C1 C2" the cases of docs/field.md that the log stands for.
"""

import glob
import json
import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
REPLAY = os.path.join(HERE, '../../tools/replay-log')
LOGS = sorted(glob.glob(os.path.join(HERE, 'logs/*.log')))


class Logs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A build of its own: this run's sources, whatever compiler runs elsewhere.
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.env = dict(os.environ, REPLAY_LOG_DIR=cls.folder.name)

    def replay(self, *args, code=0, **options):
        p = subprocess.run([REPLAY, *args], env=self.env, capture_output=True, text=True, **options)
        self.assertEqual(p.returncode, code, p.stderr)
        return p.stdout

    def verdicts(self, *args, **options):
        return {(one['port'], one['verdict'], one['cause']) for one in json.loads(self.replay('--json', *args, **options))}

    def test_logs(self):
        """Each log, and enough of them."""
        self.assertGreaterEqual(len(LOGS), 25)
        for path in LOGS:
            with self.subTest(log=os.path.basename(path)), open(path, newline='') as f:
                expected = {tuple(line.split()) for line in re.findall(r'(?m)^# expect (.*?)\r?$', f.read())}
                self.assertTrue(expected)
                self.assertEqual(self.verdicts(path), expected)

    def test_two_at_boot(self):
        """uas takes two disks after the kernel has found both. A hub and a keyboard are none."""
        log = """[    1.0] usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd
[    1.1] hub 2-1:1.0: USB hub found
[    1.2] usb 1-3: new low-speed USB device number 2 using xhci_hcd
[    1.3] usb 2-1.1: new SuperSpeed USB device number 3 using xhci_hcd
[    1.4] usb 2-1.2: new SuperSpeed USB device number 4 using xhci_hcd
[    2.0] scsi host0: uas
[    2.1] scsi host1: uas
[   50.0] sd 1:0:0:0: [sdb] tag#5 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN
"""
        self.assertEqual(self.verdicts('-', input=log), {('2-1.1', 'none', 'unknown'), ('2-1.2', 'noted', 'bridge')})

    def test_text(self):
        """For people: each finding with its time, then the result."""
        path = os.path.join(HERE, 'logs/again-after-minutes.log')
        self.assertRegex(self.replay(path), r'(?s)^ +100\.0+ 2-1: noted, bridge: .*\n.*2-1: distrust, to blame: the bridge\n$')

    def test_arguments(self):
        """No file, two files, an unknown option, a file that is not there."""
        for args in (), ('--json',), ('a', 'b'), ('--xml', 'a'):
            with self.subTest(args=args):
                self.replay(*args, code=2)
        self.replay('/nonexistent', code=1)
        self.assertEqual(self.replay('-', '--json', input=''), '[]\n')

    def test_read_only(self):
        """Without a place for the program it is built for one run, and its exit status stays."""
        self.env = dict(self.env, REPLAY_LOG_DIR='/proc/nonexistent')
        self.assertEqual(self.replay('-', '--json', input=''), '[]\n')
        self.replay('/nonexistent', code=1)


if __name__ == '__main__':
    unittest.main(verbosity=2)

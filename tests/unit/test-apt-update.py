#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/apt-update waits for another apt, and for nothing else. The scripts that install use it."""

import os
import subprocess
import sys
import tempfile
import unittest

TOP = sys.argv[1]
LOCKED = 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)'


class Update(unittest.TestCase):
    def update(self, *answers):
        """apt-get gives these answers in turn, texts of an error or "" for success. Returns the status and the number of calls."""
        with tempfile.TemporaryDirectory() as top:
            for number, answer in enumerate(answers):
                with open(f'{top}/{number}', 'w') as f:
                    f.write(answer)
            with open(f'{top}/apt-get', 'w') as f:
                f.write(f'#!/bin/sh\nn=$(ls {top}/*.asked 2>/dev/null | wc -l)\n: >{top}/$n.asked\ncat {top}/$n >&2\n'
                        f'[ "$*" = "-q -y update" ] && [ "$LC_ALL" = C ] || exit 3\n[ -s {top}/$n ] && exit 100\nexit 0\n')
            os.chmod(f'{top}/apt-get', 0o755)
            p = subprocess.run([f'{TOP}/tools/apt-update', '-y'], capture_output=True, text=True,
                               env={'PATH': f'{top}:/usr/bin:/bin', 'APT_UPDATE_TRIES': '4', 'APT_UPDATE_PAUSE': '0'})
            return p.returncode, len([name for name in os.listdir(top) if name.endswith('.asked')]), p.stdout

    def test_waits(self):
        self.assertEqual(self.update(''), (0, 1, ''))
        self.assertEqual(self.update(LOCKED, LOCKED, ''), (0, 3, ''))
        self.assertEqual(self.update(LOCKED, LOCKED, LOCKED, LOCKED, ''), (100, 4, LOCKED + '\n'))

    def test_other_errors(self):
        self.assertEqual(self.update('E: no network', ''), (100, 1, 'E: no network\n'))
        self.assertEqual(self.update(LOCKED, 'E: no network', ''), (100, 2, 'E: no network\n'))

    def test_used(self):
        for script in 'build-deb', 'setup-host':
            with open(f'{TOP}/tools/{script}') as f:
                text = f.read()
            self.assertIn('tools/apt-update', text)
            self.assertNotRegex(text, r'(apt-get|\[@\]\}").* update$')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/kernel-messages.tsv is true: uasd blames for each message the part that the table names, and has no pattern without a row.

Each row becomes lines of a log, which tools/replay-log reads: "{a|b}" stands for a and for b, "*" for any words.
"""

import csv
import itertools
import json
import os
import re
import subprocess
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')

# A disk behind a hub, on uas.
BEGIN = """#facts host0 2-1.3 2 3 0000:00:14.0
#dev 2-1=2
[    1.000000] usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd
[    1.100000] hub 2-1:1.0: USB hub found
[    2.000000] usb 2-1.3: new SuperSpeed USB device number 3 using xhci_hcd
[    2.200000] scsi host0: uas
"""
ABORT = 'sd 0:0:0:0: [sda] tag#5 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN'
# What the kernel prints before the message, and the word of core/kmsg.c.
FROM = {
    'host': ('scsi host0: ', 'FROM_SCSI'),
    'disk': ('sd 0:0:0:0: [sda] tag#3 ', 'FROM_SCSI'),
    'device': ('usb 2-1.3: ', 'FROM_USB'),
    'interface': ('usb-storage 2-1.3:1.0: ', 'FROM_USB'),
    'port': ('usb 2-1-port3: ', 'FROM_USB'),
    'hub': ('hub 2-1:1.0: ', 'FROM_USB'),
    'hub device': ('usb 2-1: ', 'FROM_USB'),
    'root hub': ('hub 2-0:1.0: ', 'FROM_USB'),
    'controller': ('xhci_hcd 0000:00:14.0: ', 'FROM_CONTROLLER'),
    'hwmon': ('hwmon hwmon1: ', 'FROM_ANYWHERE'),
    'machine': ('', 'FROM_ANYWHERE'),
}
WEIGHTS = {'light': 'MEDIUM', 'heavy': 'HIGH', 'fatal': 'FATAL', 'around': 'AROUND', 'new': 'NEW', 'gone': 'GONE', 'sleep': 'SLEEP',
           'awake': 'AWAKE'}
# Bursts until a bridge is distrusted. They are further apart than one episode of the error handling.
ENOUGH = {'light': 4, 'heavy': 2, 'fatal': 1}
APART = 140


def read_rows():
    with open(os.path.join(TOP, 'docs/kernel-messages.tsv'), newline='') as f:
        lines = (line for line in f if not line.startswith('#'))
        yield from csv.DictReader(lines, delimiter='\t', quoting=csv.QUOTE_NONE)


def spellings(words):
    parts = [part.split('|') for part in re.split(r'[{}]', words)]
    return [''.join(one).replace('*', '7') for one in itertools.product(*parts)]


def read_patterns():
    """[source, blame, weight, start of the message, what is also in it] of each pattern in core/kmsg.c."""
    with open(os.path.join(TOP, 'src/core/kmsg.c')) as f:
        table = f.read().split('} patterns[] = {')[1].split('\n};')[0]
    string = r'(NULL|"(?:[^"\\]|\\.)*")'
    found = re.findall(r'\{(FROM_\w+), BLAME_(\w+), WEIGHT_(\w+), [\w |]+,\s*%s, %s, ' % (string, string), table)
    assert len(found) == table.count('{FROM_'), 'a pattern has another form'
    return [(source, blame, weight, text[1:-1], also if also == 'NULL' else also[1:-1])
            for source, blame, weight, text, also in found]


def decides(patterns, source, message):
    """The number of the first pattern that fits, as sign_read() finds it, or None."""
    for i, (where, _, _, text, also) in enumerate(patterns):
        rest = message[len(text):]
        if message.startswith(text) and where in (source, 'FROM_ANYWHERE') and \
                (also == 'NULL' or (also in rest if also else not rest)):
            return i
    return None


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.env = dict(os.environ, REPLAY_LOG_DIR=folder.name)
        cls.rows = list(read_rows())
        cls.patterns = read_patterns()

    def replay(self, *lines, apart=APART):
        """(verdict, cause) of the disk after these lines, that many seconds apart."""
        log = BEGIN + ''.join('[%5d.000000] %s\n' % (100 + i * apart, line) for i, line in enumerate(lines))
        out = subprocess.run([os.path.join(TOP, 'tools/replay-log'), '--json', '-'], input=log, env=self.env, check=True,
                             capture_output=True, text=True).stdout
        return [(one['verdict'], one['cause']) for one in json.loads(out) if one['port'] == '2-1.3'][0]

    def test_blame(self):
        """uasd blames the part of the table, and no part if the message means nothing."""
        for row in self.rows:
            for message in spellings(row['message']):
                line = FROM[row['from']][0] + message
                with self.subTest(line=line):
                    if row['meaning'] == 'nothing':
                        self.assertEqual(self.replay(line)[0], 'none')
                    elif row['counts'] == 'around':
                        self.assertEqual(self.replay(line)[0], 'none')
                        self.assertEqual(self.replay(ABORT + '\n[  101.000000] ' + line), ('noted', row['meaning']))
                    else:
                        verdict, cause = self.replay(line)
                        self.assertEqual(cause, row['meaning'])
                        self.assertEqual(verdict, 'distrust' if cause == 'bridge' and row['counts'] == 'fatal' else 'noted')

    def test_weight(self):
        """A bridge is distrusted after as many of them as the table says."""
        for row in self.rows:
            if row['meaning'] != 'bridge':
                continue
            line, enough = FROM[row['from']][0] + spellings(row['message'])[0], ENOUGH[row['counts']]
            with self.subTest(line=line):
                self.assertEqual(self.replay(*[line] * enough)[0], 'distrust')
                if enough > 1:
                    self.assertEqual(self.replay(*[line] * (enough - 1))[0], 'noted')

    def test_start(self):
        """The start of a reset begins a burst, soon after another one too. Its end does not."""
        start, end = ('scsi host0: uas_eh_device_reset_handler ' + word for word in ('start', 'success'))
        self.assertEqual(self.replay(start, start, apart=30)[0], 'distrust')
        self.assertEqual(self.replay(end, end, apart=30)[0], 'noted')

    def test_patterns(self):
        """Each row that counts has a pattern of that weight, and each pattern has a row."""
        used = set()
        for row in self.rows:
            for message in spellings(row['message']) if row['counts'] != '-' else ():
                with self.subTest(message=message):
                    i = decides(self.patterns, FROM[row['from']][1], message)
                    self.assertIsNotNone(i)
                    self.assertEqual(self.patterns[i][2], WEIGHTS[row['counts']])
                    used.add(i)
        self.assertEqual([p for i, p in enumerate(self.patterns) if i not in used], [])

    def test_form(self):
        """Each row has its words, and none is there twice."""
        self.assertGreater(len(self.rows), 100)
        seen = [(row['message'], row['from'], row['file']) for row in self.rows]
        self.assertEqual(len(seen), len(set(seen)))
        for row in self.rows:
            with self.subTest(message=row['message']):
                self.assertIn(row['from'], FROM)
                self.assertIn(row['meaning'], ('bridge', 'cable', 'power', 'hub', 'controller', 'disk', 'host', 'nothing'))
                self.assertIn(row['counts'], {'-'} | WEIGHTS.keys())
                self.assertRegex(row['kernels'], r'^(older|\d+\.\d+( \d+\.\d+)*)$')
                self.assertTrue(row['why'])
                self.assertNotIn('', spellings(row['message']))


if __name__ == '__main__':
    unittest.main(verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/replay-log gives each log in tests/field/logs the verdict and the cause that stand in it.

A log has the kernel's messages of a public report: numbers and names are others. "# expect PORT VERDICT CAUSE" is the right
answer for a disk, and "# field C1 C2" the cases of docs/field.md that the log stands for.
"""

import datetime
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

# Two episodes: the bridge is distrusted. Each is (second, message).
TWO = (
    (2.0, 'usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd'),
    (2.2, 'scsi host0: uas'),
    (100.5, 'sd 0:0:0:0: [sda] tag#5 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN '),
    (100.75, 'scsi host0: uas_eh_device_reset_handler start'),
    (300.5, 'sd 0:0:0:0: [sda] tag#5 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN '),
)
# What a program writes has no meaning, whatever it says.
FORGED = 'sd 0:0:0:0: Device offlined - not ready after error recovery'


def date(seconds):
    return datetime.datetime(2026, 3, 3, 10, 0, 0) + datetime.timedelta(seconds=seconds)


def dated(form, program=True):
    """A log in which each line has such a date; %N is the message of the kernel, or that of a program."""
    def line(second, message):
        return date(second).strftime(form).replace('%N', message) + '\n'
    lines = [line(s, 'kernel: ' + m if program else m) for s, m in TWO]
    return ''.join(lines + ([line(150, 'logger[812]: ' + FORGED), line(450, 'logger: kernel: ' + FORGED)] if program else []))


def monotonic(form, *more):
    return ''.join(form % line + '\n' for line in TWO) + ''.join(line + '\n' for line in more)


def as_json():
    for n, (second, message) in enumerate(TWO):
        device = '+scsi:host0' if 'host0' in message else '+scsi:0:0:0:0' if message.startswith('sd') else '+usb:2-1'
        yield {'__MONOTONIC_TIMESTAMP': '%d' % (second * 1e6 + n), '_SOURCE_MONOTONIC_TIMESTAMP': '%d' % (second * 1e6),
               '_TRANSPORT': 'kernel', 'SYSLOG_FACILITY': '0', 'MESSAGE': message, '_KERNEL_DEVICE': device,
               '_KERNEL_SUBSYSTEM': device[1:].split(':')[0]}
    for transport, facility in ('syslog', '0'), ('kernel', '1'):
        yield {'__MONOTONIC_TIMESTAMP': '150000000', '_TRANSPORT': transport, 'SYSLOG_FACILITY': facility,
               'MESSAGE': 'x "MESSAGE":"' + FORGED, '_KERNEL_SUBSYSTEM': 'scsi', '_KERNEL_DEVICE': '+scsi:0:0:0:0'}
    yield {'_TRANSPORT': 'kernel', 'MESSAGE': [1, 2]}


FORMS = {
    'dmesg': monotonic('[%12.6f] %s'),
    'dmesg, printk.caller': monotonic('[%12.6f][    T1] %s'),
    'dmesg --decode': monotonic('kern  :info  : [%12.6f] %s', 'user  :notice: [  150.000000] ' + FORGED),
    'dmesg --raw': monotonic('<6>[%12.6f] %s', '<14>[  150.000000] ' + FORGED),
    'dmesg --show-delta': monotonic('[%12.6f <    0.000123>] %s'),
    'dmesg --ctime': dated('[%a %b %e %H:%M:%S %Y] %N', program=False),
    'dmesg --reltime': '[Mar 3 10:00] x: y\n' + ''.join('[%+11.6f] %s\n' % (TWO[i][0] - TWO[i - 1][0] if i else 1, TWO[i][1])
                                                       for i in range(len(TWO))),
    'dmesg --time-format=iso': dated('%Y-%m-%dT%H:%M:%S,%f+01:00 %N', program=False),
    '/dev/kmsg': ''.join('6,%d,%d,-;%s\n SUBSYSTEM=x\n' % (i, s * 1e6, m) for i, (s, m) in enumerate(TWO)) + '14,9,150000000,-;' + FORGED,
    'journalctl -o short': dated('%b %d %H:%M:%S nas %N'),
    'journalctl -o short --no-hostname': dated('%b %d %H:%M:%S %N'),
    'journalctl -o short-precise': dated('%b %d %H:%M:%S.%f nas %N'),
    'journalctl -o short-iso': dated('%Y-%m-%dT%H:%M:%S+01:00 nas %N'),
    'journalctl -o short-iso-precise': dated('%Y-%m-%dT%H:%M:%S.%f+0100 nas %N'),
    'journalctl -o short-full': dated('%a %Y-%m-%d %H:%M:%S CET nas %N'),
    'journalctl -o short-unix': dated('%s.%f nas %N'),
    'journalctl -o short-monotonic': monotonic('[%12.6f] nas kernel: %s', '[  150.000000] nas logger[812]: ' + FORGED),
    'journalctl -o json': ''.join(json.dumps(one, separators=(',', ':')) + '\n' for one in as_json()),
    'syslog': dated('%b %e %H:%M:%S nas %N').replace('kernel: ', 'kernel: [    2.000000] ', 1),
    'rsyslog': dated('%Y-%m-%dT%H:%M:%S.%f+01:00 nas %N'),
}
REFUSED = {
    'json-pretty': '{\n\t"MESSAGE" : "x",\n}\n',
    'json-sse': 'data: {"MESSAGE":"x"}\n',
    'export': '__CURSOR=s=1;i=1\nMESSAGE=x\n',
    'verbose': 'Tue 2026-03-03 10:00:02.000000 CET [s=1a;i=1;b=2;m=3;t=4;x=5]\n    MESSAGE=x\n',
}


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
        self.errors = p.stderr
        return p.stdout

    def verdicts(self, *args, **options):
        return {(one['port'], one['verdict'], one['cause']) for one in json.loads(self.replay('--json', *args, **options))}

    def test_logs(self):
        """Each log, enough of them, and each cause."""
        causes = set()
        self.assertGreaterEqual(len(LOGS), 34)
        for path in LOGS:
            with self.subTest(log=os.path.basename(path)), open(path, newline='') as f:
                expected = {tuple(line.split()) for line in re.findall(r'(?m)^# expect (.*?)\r?$', f.read())}
                self.assertTrue(expected)
                self.assertEqual(self.verdicts(path), expected)
                causes |= {cause for _, verdict, cause in expected if verdict != 'none'}
        self.assertEqual(causes, {'bridge', 'cable', 'power', 'hub', 'controller', 'disk', 'host', 'unknown'})

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

    def test_forms(self):
        """The same log as each program prints it. Programs cannot forge a line of the kernel."""
        for form, log in FORMS.items():
            with self.subTest(form=form):
                self.assertEqual(self.verdicts('-', input=log), {('2-1', 'distrust', 'bridge')})

    def test_times(self):
        """Each form has its times: two aborts in one moment are one episode."""
        for form, log in FORMS.items():
            with self.subTest(form=form):
                first = re.search(r'(?m)^ *[\d.]+(?= 2-1: noted)', self.replay('-', input=log))[0]
                last = re.search(r'(?m)^ *[\d.]+(?= 2-1: distrust)', self.replay('-', input=log))[0]
                self.assertAlmostEqual(float(last) - float(first), 200, places=3)

    def test_refused(self):
        """Forms that it cannot read, each with the one that it can."""
        for form, log in REFUSED.items():
            with self.subTest(form=form):
                self.replay('-', '--json', input=log, code=1)
                self.assertEqual(self.errors, 'replay-log: - is made by journalctl -o %s. Make it with -o json.\n' % form)
        self.replay('-', '--json', input='Mar 03 10:00:02 nas sshd[1]: x\n', code=1)
        self.assertIn('no message of the kernel', self.errors)
        self.replay('-', '--json', input='usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd\n')
        self.assertIn('no times', self.errors)

    def test_hosts(self):
        """A message of a SCSI host counts for a disk only if the log shows that the host is that disk."""
        usb = '[    1.0] usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd\n[    1.1] usb-storage 2-1:1.0: USB Mass Storage ' \
            'device detected\n'
        bad = '[   50.0] sd 0:0:0:0: [sda] tag#1 Sense Key : Medium Error [current] \n'
        for host, verdict in ('', ('none', 'unknown')), ('ahci', ('none', 'unknown')), ('usb-storage 2-1:1.0', ('noted', 'disk')):
            with self.subTest(host=host):
                log = usb + ('[    1.2] scsi host0: %s\n' % host if host else '') + bad
                self.assertEqual(self.verdicts('-', input=log), {('2-1', *verdict)})
        abort = '[   50.0] sd %d:0:0:0: [sda] tag#5 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN\n'
        facts = '#facts host0 2-1 2 2 0000:00:14.0\n'
        self.assertEqual(self.verdicts('-', input=facts + abort % 0), {('2-1', 'noted', 'bridge')})
        self.assertEqual(self.verdicts('-', input=facts + abort % 3), {('2-1', 'none', 'unknown'), ('host3', 'noted', 'bridge')})

    def test_controllers(self):
        """A controller that dies is that of the disk's bus."""
        log = """[    1.0] xhci_hcd 0000:00:14.0: new USB bus registered, assigned bus number 1
[    1.0] xhci_hcd 0000:00:14.0: new USB bus registered, assigned bus number 2
[    1.0] xhci_hcd 0000:03:00.0: new USB bus registered, assigned bus number 3
[    1.0] xhci_hcd 0000:03:00.0: new USB bus registered, assigned bus number 4
[    2.0] usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd
[    2.2] scsi host0: uas
[   50.0] sd 0:0:0:0: [sda] tag#5 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN
[   55.0] xhci_hcd %s: HC died; cleaning up
"""
        for controller, cause in ('0000:00:14.0', 'controller'), ('0000:03:00.0', 'bridge'):
            self.assertEqual(self.verdicts('-', input=log % controller), {('2-1', 'noted', cause)})

    def test_network_adapter(self):
        """A device with another driver is not the disk that uas takes."""
        log = """[    1.0] usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd
[    1.1] r8152 2-1:1.0 eth0: v1.12.13
[    1.3] usb 2-2: new SuperSpeed USB device number 3 using xhci_hcd
[    2.0] scsi host0: uas
"""
        self.assertEqual(self.verdicts('-', input=log), {('2-2', 'none', 'unknown')})

    def test_help(self):
        """It names the options, the forms and the lines that a log may begin with."""
        for word in '--json', 'dmesg', 'json', '#facts', '#driver', '#dev':
            self.assertIn(word, self.replay('--help'))

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

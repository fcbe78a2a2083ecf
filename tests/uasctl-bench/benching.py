# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine in a folder, fake-uasd on its own bus, and `uasctl bench` with a real fio that reads files instead of nodes.

Imported first, it lets a test import from tests/ctl.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from patience import patience, until  # noqa: E402
from sidebyside import loader  # noqa: E402
from tree import Tree  # noqa: E402

FAKE, IN_TREE = sys.argv[1:3]
FIO = shutil.which('fio')
MIB = 1 << 20

BUS_CONFIG = """<busconfig>
<type>system</type><listen>unix:path={}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow own="*"/><allow eavesdrop="true"/></policy>
</busconfig>"""

# A run ends with its region: most tests look at the order and the outcome, not at the time.
PROFILE = """[global]
ioengine=psync
size=4m
[RND4K-Q1T1-read]
rw=randread
bs=4k
[SEQ1M-Q1T1-write]
rw=write
bs=1m
"""
TIMED = PROFILE.replace('size=4m\n', 'size=4m\ntime_based=1\nruntime=1\n')
QUICK = ('--profile=quick', '-n', '1', '--pause=0')
DISKS = ('2-1', 'sda', 'FREE'), ('2-2', 'sdb', 'BUSY'), ('2-3', 'sdc', 'BAD'), ('2-4', 'sdd', 'INCAPABLE'), \
    ('2-5', 'sde', 'REFUSED'), ('2-6', 'sdf', 'FORBIDDEN'), ('2-7', 'sdg', 'ABSENT'), ('2-8', 'sdh', 'FATAL'), ('2-9', 'sdi', 'HELD')


def content(i):
    return bytes([i + 1]) * (8 * MIB)


@unittest.skipUnless(FIO, 'no fio')
class BenchCase(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(IN_TREE, on_disk=True)
        self.addCleanup(self.tree.close)
        for i, (port, block, serial) in enumerate(DISKS):
            self.tree.disk(port, block, serial=serial, uas=serial != 'INCAPABLE')
            self.tree.write(f'dev/{block}', content(i))
        self.tree.write('etc/uasd/bench/quick.fio', PROFILE)
        self.tree.write('etc/uasd/bench/timed.fio', TIMED)
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        os.chmod(self.dir, 0o755)
        with open(f'{self.dir}/bus.conf', 'w') as f:
            f.write(BUS_CONFIG.format(self.dir))
        self.env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=f'unix:path={self.dir}/bus', LC_ALL='C.UTF-8', TZ='UTC', TREE=self.tree.top)
        self.bus = self.spawn(['dbus-daemon', '--config-file', f'{self.dir}/bus.conf', '--nofork', '--print-address'],
                              stderr=subprocess.DEVNULL)
        self.bus.stdout.readline()
        self.daemon = None

    def spawn(self, command, **more):
        p = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, text=True, **more)
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def start(self):
        self.daemon = self.spawn([FAKE])
        self.assertEqual(self.daemon.stdout.readline(), 'ready\n')

    def asked(self):
        """The next call to the daemon, or the end of a lease."""
        return self.daemon.stdout.readline().rstrip('\n')

    def bench(self, *args, code=0, stdin='', timeout=180):
        p = subprocess.run([IN_TREE, self.tree.top, 'bench', *args], env=self.env, capture_output=True, text=True,
                           timeout=patience(timeout), input=stdin)
        self.assertEqual(p.returncode, code, f'{args}: {p.stdout}{p.stderr}')
        self.assertNotIn('\033', p.stdout + p.stderr)
        return p

    def begin(self, *args):
        """Returns in the middle of a run of fio."""
        p = self.spawn([IN_TREE, self.tree.top, 'bench', *args], stderr=subprocess.PIPE)
        self.addCleanup(p.stderr.close)
        until(lambda: self.fios(p.pid) or self.assertIsNone(p.poll()), 'fio runs')
        return p

    def disturb(self, p, code):
        """In a run of fio, what the part of the disk has for the middle of its lease happens. Returns what p has printed."""
        until(lambda: self.fios(p.pid) or self.assertIsNone(p.poll()), 'fio runs', pause=0.001)
        self.daemon.send_signal(signal.SIGUSR1)
        out, err = p.communicate(timeout=patience(180))
        self.assertEqual(p.returncode, code, f'{out}{err}')
        self.assertNotIn('\033', out + err)
        return out, err

    @staticmethod
    def fios(parent):
        """PIDs of the fio processes below that process."""
        try:
            with open(f'/proc/{parent}/task/{parent}/children') as f:
                children = f.read().split()
        except OSError:
            return []
        found = []
        for pid in children:
            try:
                with open(f'/proc/{pid}/cmdline') as f:
                    words = f.read().split('\0')
                    found += [int(pid)] if words[0] == 'fio' and '--output-format=json' in words else []
            except OSError:
                pass
        return found

    @staticmethod
    def listens(port):
        with open('/proc/net/tcp') as f:
            return any(words[1].endswith(f':{port:04X}') and words[3] == '0A' for words in map(str.split, f))

    def kept(self):
        folder = self.tree.path('var/lib/uasd/bench')
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def untouched(self):
        for i, (_, block, _) in enumerate(DISKS):
            with open(self.tree.path(f'dev/{block}'), 'rb') as f:
                self.assertEqual(f.read(), content(i), block)


def main():
    """Each case has a machine, a bus and a daemon of its own."""
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], testLoader=loader())

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands that uasctl prints to free a disk, for machines in a folder.

    test-remedies.py UASCTL-IN-TREE
"""

import os
import re
import sys
import unittest

import terminal
from tree import Tree

PROGRAM = sys.argv[1]
ROOT = '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n'


class Freeing(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', serial='S1')  # on the slower driver
        os.makedirs(self.tree.path('run/systemd/system'))
        self.tree.programs('systemctl')

    def to_free(self):
        """The lines of the field, and the same on a terminal of 40 columns."""
        p = self.tree.run('status', '-q', 'sda')
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        field = re.search(r'(?m)^   To free: (.*(?:\n {12}.*)*)', p.stdout)
        lines = re.split(r'\n {12}', field[1]) if field else []
        env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', LC_ALL='C.UTF-8', TERM='xterm', NO_COLOR='1')
        shown, _ = terminal.run([PROGRAM, self.tree.top, '-q', '--no-pager', 'status', 'sda'], env, 40)
        for line in lines:
            if not line.endswith('.'):  # a command is never broken
                self.assertRegex(shown, r'(?m)^ *(?:To free: )?' + re.escape(line) + r'\r$')
        return lines

    def process(self, pid, command, cgroup, namespace='mnt:[4026532000]', status='', mounts=''):
        self.tree.write(f'proc/{pid}/comm', command + '\n')
        self.tree.write(f'proc/{pid}/cgroup', f'0::{cgroup}\n')
        self.tree.write(f'proc/{pid}/status', f'Name:\t{command}\n{status}')
        self.tree.write(f'proc/{pid}/mountinfo', mounts)
        for folder in 'ns', 'fd', 'task':
            os.makedirs(self.tree.path(f'proc/{pid}/{folder}'))
        os.symlink(namespace, self.tree.path(f'proc/{pid}/ns/mnt'))

    def unit(self, name):
        os.makedirs(self.tree.path('run/systemd/units'), exist_ok=True)
        os.symlink('0123', self.tree.path(f'run/systemd/units/invocation:{name}'))

    @unittest.skipUnless(os.geteuid() == 0, 'only root sees the processes of others')
    def test_elsewhere(self):
        """Nothing runs in another mount namespace: its service or its processes are ended."""
        there = ROOT + '30 20 8:0 / /srv rw - ext4 /dev/sda rw\n'
        self.process(41, 'evil', '/user.slice/user-1000.slice/session-3.scope', mounts=there)
        self.process(42, 'sleep', '/user.slice/user-1000.slice/user@1000.service/app.slice/ssh.service')
        self.process(43, 'bash', '/user.slice', status='SigIgn:\t0000000000004000\nSigCgt:\t0000000000000000\n')
        self.process(44, 'other', '/', namespace='mnt:[1]')
        self.unit('ssh.service')
        self.assertEqual(self.to_free(), ['kill 41', 'kill 42', 'kill -KILL 43'])
        # The real service has this name, and a container has a copy.
        self.tree.write('proc/41/cgroup', '0::/lxc.payload.c1/system.slice/ssh.service\n')
        self.assertEqual(self.to_free()[0], 'kill 41')
        self.tree.write('proc/41/cgroup', '0::/system.slice/ssh.service\n')
        self.assertEqual(self.to_free(), ['systemctl stop ssh.service', 'kill 42', 'kill -KILL 43'])
        # PID 1 does not know it, there is no systemctl, or there is no systemd.
        os.unlink(self.tree.path('run/systemd/units/invocation:ssh.service'))
        self.assertEqual(self.to_free()[0], 'kill 41')
        self.unit('ssh.service')
        os.unlink(self.tree.path('usr/bin/systemctl'))
        self.assertEqual(self.to_free()[0], 'kill 41')
        self.tree.programs('systemctl')
        os.rmdir(self.tree.path('run/systemd/system'))
        self.assertEqual(self.to_free()[0], 'kill 41')

    def mounted(self, *places):
        def mangle(place):
            return re.sub(rb'[ \n\\]', lambda match: b'\\%03o' % match[0][0], place)
        self.tree.write('proc/1/mountinfo', ROOT.encode() + b''.join(
            b'%d 20 8:0 / %s rw - ext4 /dev/sda rw\n' % (30 + n, mangle(place)) for n, place in enumerate(places)))

    def test_names(self):
        """A name that would be printed otherwise, or cut, has a sentence instead of a command."""
        long = b'/mnt/' + b'a b' * 330
        self.mounted(b'/mnt/a\nb', b'/mnt/\xff', b'/mnt/a\\b', b'/mnt/' + b'x' * 1100, long, b'/mnt/it\'s')
        lines = self.to_free()
        self.assertEqual(lines[:2], ["umount '/mnt/it'\\''s'", f"umount '{long.decode()}'"])
        self.assertEqual([line[:14] for line in lines[2:]], ['/mnt/xxxxxxxxx', '/mnt/a\\x5cb: t', '/mnt/\\xff: the', '/mnt/a\\x0ab: t'])
        self.assertTrue(all(line.endswith('so uasctl prints no command.') for line in lines[2:]), lines)

    def test_programs(self):
        """A program that is not installed is not named."""
        self.mounted(b'/mnt')
        os.unlink(self.tree.path('usr/sbin/umount'))
        self.assertEqual(self.to_free(), ['/mnt: the program that frees it is not installed.'])
        self.tree.programs('umount', folder='bin')
        self.assertEqual(self.to_free(), ['umount /mnt'])

    def test_loop(self):
        """The uses of a loop device end before it. One that the kernel detaches by itself needs no command."""
        self.tree.write('sys/block/loop3/loop/backing_file', '/dev/sda\n')
        self.tree.write('sys/class/block/loop3/dev', '7:3\n')
        self.tree.write('sys/class/block/loop3/loop/autoclear', '0\n')
        self.tree.write('proc/1/mountinfo', ROOT + '31 20 7:3 / /mnt/image rw - ext4 /dev/loop3 rw\n')
        self.assertEqual(self.to_free(), ['umount /mnt/image', 'losetup --detach /dev/loop3'])
        self.tree.write('sys/class/block/loop3/loop/autoclear', '1\n')
        self.assertEqual(self.to_free(), ['umount /mnt/image'])
        # It does not answer, and may be another disk's.
        self.tree.write('sys/block/loop3/loop/backing_file', '/mnt/image\n')
        if os.geteuid() == 0:
            self.assertEqual(self.to_free(), ['No command is known that frees loop3.'])

    def volume(self, number, uuid, name, below):
        self.tree.write(f'sys/class/block/dm-{number}/dev', f'253:{number}\n')
        self.tree.write(f'sys/class/block/dm-{number}/dm/uuid', uuid + '\n')
        self.tree.write(f'sys/class/block/dm-{number}/dm/name', name + '\n')
        os.makedirs(self.tree.path(f'sys/class/block/dm-{number}/holders'))
        os.makedirs(self.tree.path(f'sys/class/block/{below}/holders/dm-{number}'))

    def test_volumes(self):
        """Only the volumes on this disk, and only the top layer of a volume."""
        self.volume(0, 'LVM-01-tpool', 'vg-pool-tpool', 'sda')
        self.volume(1, 'LVM-02', 'vg-thin', 'dm-0')
        self.volume(2, 'CRYPT-LUKS2-01-vault', 'vault', 'dm-1')
        self.volume(3, 'LVM-03', 'v--g-swap', 'sda')
        self.tree.write('proc/swaps', 'Filename Type Size Used Priority\n/dev/dm-3 partition 1 0 -2\n/dev/sdy9 partition 1 0 -3\n')
        self.assertEqual(self.to_free(), ['swapoff /dev/dm-3', 'cryptsetup close vault', 'lvchange -an vg/thin', 'lvchange -an v-g/swap'])

    def test_unknown(self):
        """A device that nothing is known about."""
        self.tree.write('sys/class/block/drbd0/dev', '147:0\n')
        os.makedirs(self.tree.path('sys/class/block/sda/holders/drbd0'))
        self.assertEqual(self.to_free(), ['No command is known that frees drbd0.'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

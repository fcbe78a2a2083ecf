#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands that uasctl prints to free a disk, for machines in a folder.

    test-remedies.py UASCTL-IN-TREE
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import terminal
from patience import patience, until
from tree import Tree

PROGRAM = sys.argv[1]
ROOT = '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n'


TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
# Programs of a system that a text could tell a user to run. A blank and an argument follow.
PROGRAMS = ('systemctl|journalctl|udevadm|systemd-hwdb|update-grub|grub2?-mkconfig|update-initramfs|dracut|mkinitcpio|umount|swapoff|'
            'grubby|kernel-install|losetup|dmsetup|lvchange|vgchange|cryptsetup|veritysetup|integritysetup|multipath|mdadm|zpool|modprobe|nsenter|'
            'smartctl|kill|fuser|lsof|sudo')
NO_COMMANDS = {'smartctl failed', 'smartctl is not installed (smartmontools)', '# Written by uasctl policy --kernel --write.\\n'}
OPERAND = r"(?:%(?:\d\$)?s|DISK|TYPE|VID:PID|COMMAND|PATH|ID|@\w+@)"


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def literals(path):
    """The strings of a C file, each with those that follow it without a comma."""
    text = re.sub(r'(?s)/\*.*?\*/', '', read(path))
    text = re.sub(r'(?m)^\s*#\s*include.*$', '', text)
    text = text.replace('DRIVER_NAME_BOT', '"usb-storage"').replace('DRIVER_NAME_UAS', '"uas"')
    for group in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        yield ''.join(re.findall(LITERAL, group))


def texts():
    """Each string that may be printed: of C, and of the catalogs."""
    for path in sorted(glob.glob('src/**/*.[ch]', root_dir=TOP, recursive=True)):
        if path != 'src/core/remedy.c':
            yield from ((path, text) for text in literals(path))
    for path in sorted(glob.glob('src/daemon/*.catalog', root_dir=TOP)):
        yield from ((path, line) for line in read(path).splitlines() if not line.startswith('#'))


def forms():
    """The commands of uasctl in the table."""
    [table] = re.findall(r'(?s)const char \*const remedy_forms\[\] = \{(.*?)NULL,', read('src/core/remedy.c'))
    return re.findall(LITERAL, table)


class Texts(unittest.TestCase):
    def test_programs(self):
        """No text has a command of the system: they are printed from the table, if they work on this machine."""
        patterns = [re.escape(form).replace('TYPE', '%s').replace('DISK', '%s') for form in forms() if not form.startswith('uasctl')]
        for path, text in texts():
            for found in re.finditer(r"(?<![-\w/.])(?:%s) ['\"]?[-\w%%/]\S*" % PROGRAMS, text):
                with self.subTest(path=path, text=text):
                    if text not in NO_COMMANDS:
                        self.assertTrue(any(re.match(p.replace('%s', r'\S+'), text[found.start():]) for p in patterns), found[0])

    def test_own(self):
        """Each command of uasctl in a text is in the table."""
        verbs = set(re.findall(r'(?m)^        \{"([a-z]+)", \d', read('src/ctl/verbs.c'))) | {'bench'}
        table = sorted((re.sub(r'\\?\b(?:DISK|TYPE|VID:PID|COMMAND|PATH|ID)\b', lambda m: OPERAND, form.replace('VID:PID', 'ID'))
                        for form in forms() if form.startswith('uasctl')), key=len, reverse=True)
        count = 0
        for path, text in texts():
            for found in re.finditer(r'uasctl (?:--?[\w-]+ )*([a-z]+)(?![\w])', text):
                if found[1] not in verbs or text in NO_COMMANDS:
                    continue  # "uasctl reads the disks from the kernel"
                rest = text[found.start():]
                best = max((m.end() for m in (re.match(p, rest) for p in table) if m), default=0)
                with self.subTest(path=path, text=text):
                    if not best and not found[0].startswith('uasctl -'):
                        best = found.end() - found.start()  # the name of the verb
                    self.assertGreater(best, 0, rest)
                    # The words behind it are those of the sentence.
                    self.assertNotRegex(rest[best:], r"^ (?:%[is]|--|DISK|uas\b|usb-storage|auto|on\b|off\b)(?!\|)")
                count += 1
        self.assertGreater(count, 40)

    def test_forms(self):
        """uasctl accepts each of them."""
        tree = Tree(PROGRAM)
        self.addCleanup(tree.close)
        tree.quirk_lines()
        for form in forms():
            words = form.split()[1:]
            if form.startswith('uasctl') and words[0] not in ('bench', 'monitor'):
                args = ['sda' if w == 'DISK' else '152d:0578' if w == 'VID:PID' else 'true' if w == 'COMMAND' else w for w in words]
                p = tree.run(*args)
                with self.subTest(form=form):
                    self.assertNotEqual(p.returncode, 2, p.stderr)

    def test_neutral(self):
        """uasd, uasd-switch and core name no option of a command: their sentences are shown by other programs, too."""
        for path, text in texts():
            if path.split('/')[1] in ('core', 'daemon', 'sys', 'switch', 'hold') and not text.startswith('uasd-switch ['):
                with self.subTest(path=path, text=text):
                    if 'uasctl' not in text and 'see --help' not in text:
                        self.assertNotRegex(text, r'\s--[a-z]')


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
        [one] = json.loads(self.tree.run('status', '-q', '--json', 'sda').stdout)['disks']
        self.assertEqual(one['to_free'], [line for line in lines if not line.endswith('.')])
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

    def test_swap_file(self):
        """A swap file keeps the file system busy. One outside it stays."""
        top = self.tree.path('mnt')
        self.tree.write('mnt/swap file', '')
        self.tree.write('swap', '')
        swaps = (f'Filename Type Size Used Priority\n{top}/swap\\040file file 1 0 -2\n{self.tree.path("swap")} file 1 0 -3\n'
                 '/usr/share/doc file 1 0 -4\n')
        self.tree.write('proc/swaps', swaps)
        self.mounted(b'/usr/share')
        self.assertEqual(self.to_free(), ['swapoff /usr/share/doc', 'umount /usr/share'])
        # One of another disk, which is mounted below it.
        self.assertNotEqual(os.stat('/dev').st_dev, os.stat('/dev/pts').st_dev)
        self.tree.write('proc/swaps', f'{swaps}/dev/pts file 1 0 -5\n')
        self.mounted(b'/dev')
        self.assertEqual(self.to_free(), ['umount /dev'])
        # Its folder is in one in which others write.
        self.mounted(top.encode())
        self.assertEqual(self.to_free(), ['umount /dev/sda', f'No command is known that frees {top}/swap file.'])

    def test_root(self):
        """The running system is on it: nothing frees that."""
        self.tree.write('proc/1/mountinfo', '20 1 8:0 / / rw - ext4 /dev/sda rw\n31 20 8:0 / /mnt rw - ext4 /dev/sda rw\n')
        self.assertEqual(self.to_free(), [])

    def test_path_of_another(self):
        """A user who may change a folder above the mount point leads the path elsewhere: the device is named, if that is unambiguous."""
        top = self.tree.path('mnt')
        os.mkdir(top)
        for places, wanted in (((top,), ['umount /dev/sda']),
                               ((top, '/mnt/it'), ['umount -A /dev/sda']),
                               (('/mnt/it', '/mnt/more'), ['umount /mnt/more', 'umount /mnt/it'])):
            self.mounted(*(place.encode() for place in places))
            self.assertEqual(self.to_free(), wanted)
        link = self.tree.path('link')
        os.symlink('/mnt', link)
        self.mounted(f'{link}/it'.encode())
        self.assertEqual(self.to_free(), ['umount /dev/sda'])
        ours, theirs = '31 20 8:0 / %s rw - ext4 /dev/sda rw\n', '32 20 8:99 / %s rw - fuse %s rw\n'
        none = ['No command is known that frees %s.']
        for table, where, wanted in ((ours % top + theirs % ('/mnt/f', '/dev/sda'), top, none),  # FUSE lets a user name the source
                                     (ours.replace('/dev/sda', 'none') % top, top, none),
                                     # It is mounted there twice.
                                     (ours % '/mnt' + ours.replace('31', '33') % '/mnt', '/mnt', ['umount %s']),
                                     # Another file system is mounted over it, or below it.
                                     (ours % '/mnt' + theirs % ('/mnt', '/dev/sdy'), '/mnt', none),
                                     (theirs % ('/mnt', '/dev/sdy') + ours % '/mnt', '/mnt', ['umount %s'])):
            self.tree.write('proc/1/mountinfo', ROOT + table)
            self.assertEqual(self.to_free(), [line % where for line in wanted], table)
        # Of a partition: the one on top has the number of its disk.
        self.tree.write('sys/block/sda/sda1/dev', '8:1\n')
        self.tree.write('sys/block/sda/sda1/partition', '1\n')
        os.symlink('../../block/sda/sda1', self.tree.path('sys/class/block/sda1'))
        of_part, of_disk = '31 20 8:1 / /mnt rw - ext4 /dev/sda1 rw\n', '32 20 8:0 / /mnt rw - ext4 /dev/sda rw\n'
        for table, wanted in (of_part + of_disk, [none[0] % '/mnt', 'umount /mnt']), (of_disk + of_part, ['umount /mnt', none[0] % '/mnt']):
            self.tree.write('proc/1/mountinfo', ROOT + table)
            self.assertEqual(sorted(self.to_free()), sorted(wanted), table)

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

    @unittest.skipUnless(os.geteuid() == 0, 'root reaches uasd without the bus')
    def test_daemon(self):
        """Without systemd no text names systemctl."""
        def said():
            return self.tree.run('switch', 'sda', 'uas').stderr
        self.assertIn('only it can do that.\nuasctl: To start it: systemctl start uasd\n', said())
        os.rmdir(self.tree.path('run/systemd/system'))
        self.assertIn('only it can do that.\n', said())
        self.assertNotIn('systemctl', said())

    def test_start(self):
        """How uasd is started here: systemd, OpenRC, a script of init; with none of them, no command."""
        os.makedirs(self.tree.path('run/openrc'))
        self.tree.programs('rc-service', folder='sbin')
        self.tree.programs('uasd', folder='etc/init.d')

        def said():
            return ' '.join(self.tree.run('wait', 'sda').stderr.split())
        for command, gone in (('systemctl start uasd', 'run/systemd/system'), ('rc-service uasd restart', 'run/openrc'),
                              ('/etc/init.d/uasd start', 'etc/init.d')):
            self.assertIn(f'but is not running. uasctl: To start it: {command}', said())
            shutil.rmtree(self.tree.path(gone))
        self.assertTrue(said().endswith('but is not running.'), said())

    @unittest.skipUnless(os.geteuid() == 0, 'needs root')
    def test_evil_namespace(self):
        """On this kernel: a user keeps a mount in a user namespace, with an umount of his own. The printed command ends that, and
        runs nothing of his."""
        top = self.tree.path('evil')
        os.mkdir(top)
        os.chmod(self.tree.top, 0o755)
        os.chmod(top, 0o777)
        os.mkdir(f'{top}/disk')
        with open(f'{top}/umount', 'w') as f:
            f.write(f'#!/bin/sh\n: >{top}/ran\n')
        os.chmod(f'{top}/umount', 0o755)
        with open(f'{top}/user', 'w') as f:
            f.write(f'mount --bind {top}/umount /usr/bin/umount && : >{top}/ready && exec sleep 1000\n')
        with open(f'{top}/all', 'w') as f:  # the mount is root's, and root unmounts it
            f.write(f'mount -t tmpfs none {top}/disk && stat -c %d {top}/disk >{top}/number\n'
                    f'setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urm sh {top}/user &\n'
                    f'i=0; until [ -e {top}/ready ] || [ $i -gt 200 ]; do sleep 0.05; i=$((i + 1)); done; umount {top}/disk; : >{top}/gone; wait\n')
        job = subprocess.Popen(['unshare', '-m', 'sh', f'{top}/all'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL)
        try:
            until(lambda: os.path.exists(f'{top}/gone') or job.poll() is not None, 'it is mounted by the user alone')
            if not os.path.exists(f'{top}/ready'):
                self.skipTest('no user namespaces here')
            with open(f'{top}/number') as f:
                number = int(f.read())
            shutil.rmtree(self.tree.path('proc'))
            os.symlink('/proc', self.tree.path('proc'))
            self.tree.write('sys/class/block/sda/dev', f'{os.major(number)}:{os.minor(number)}\n')
            lines = self.to_free()
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], r'^kill \d+$')
            subprocess.run(['sh', '-c', lines[0]], check=True)
            self.assertEqual(job.wait(patience()), 0)
            self.assertEqual(self.to_free(), [])
            self.assertFalse(os.path.exists(f'{top}/ran'))
        finally:
            job.kill()
            job.wait()

    def test_unknown(self):
        """A device that nothing is known about."""
        self.tree.write('sys/class/block/drbd0/dev', '147:0\n')
        os.makedirs(self.tree.path('sys/class/block/sda/holders/drbd0'))
        self.assertEqual(self.to_free(), ['No command is known that frees drbd0.'])


class WithoutSystemd(unittest.TestCase):
    """A machine without systemd, and without the programs of udev and of the journal: no output names them."""

    def test_words(self):
        tree = Tree(PROGRAM)
        self.addCleanup(tree.close)
        tree.disk('2-1', 'sda', serial='S1')
        tree.disk('2-2', 'sdb', 'uas', serial='S2')
        tree.disk('2-3', 'sdc', serial='S3')
        os.unlink(tree.path('sys/bus/usb/devices/2-3:1.0/driver'))
        env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', LC_ALL='C.UTF-8', PATH='/nonexistent')
        with open(os.path.join(TOP, 'src/ctl/verbs.c')) as f:
            verbs = re.findall(r'(?m)^        \{"([a-z]+)", (\d)', f.read())
        lines = [[verb, *(['sda'] if least == '1' else [])] for verb, least in verbs if verb != 'bench']
        lines += [[verb, 'sdb', 'usb-storage'] for verb in ('switch', 'policy')] + [['db', '1234:5678'], ['explain', '--all', '2-3'], ['trim', 'sda', 'on'],
                  ['status', '2-3'], ['switch', '--dry-run', 'sda', 'uas'], ['policy', '--kernel', 'sda'], ['lease', 'sda', 'kernel'], ['bench', '--help']]
        for words in lines:
            p = subprocess.run([PROGRAM, tree.top, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience(20))
            with self.subTest(words=words):
                self.assertNotRegex(p.stdout + p.stderr, r'systemctl|journalctl|udevadm|systemd-hwdb')
                self.assertTrue(p.stdout + p.stderr)
        p = tree.run('db', '1234:5678')
        self.assertIn('No program here builds it. The statements are text: /usr/lib/udev/hwdb.d/61-uasd.hwdb', ' '.join(p.stderr.split()))
        tree.programs('udevadm')
        self.assertIn('To build it: udevadm hwdb --update\n', tree.run('db', '1234:5678').stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The screens of uasctl at 40, 80 and 120 columns are those in screens.txt, and those in German are in screens.de.txt.

    test-screens.py UASCTL-IN-TREE LOCALES LOCALEDIR [--update]
"""

import os
import sys
import unittest

import terminal
from tree import Tree

PROGRAM, LOCALES, LOCALEDIR = sys.argv[1:4]
WIDTHS = 40, 80, 120
NARROW = ('list -o PRODUCT,STATE,DRIVER,REASON', (27, 29)), ('list -o REASON,ID', (30,)), ('explain sda', (28,))
COMMANDS = 'list', 'list --tree', 'status sdb', 'status --all sdb', 'explain sdb', 'explain sdd', 'explain --all sda', 'db sde'
GERMAN = *COMMANDS[:1], *COMMANDS[2:], '--help', 'help policy', 'swich sdb'


class Screens(unittest.TestCase):
    def setUp(self):
        self.tree = tree = Tree(PROGRAM)
        self.addCleanup(tree.close)
        # On uas; on the slower driver and a slower link, in use; a stick; in the kernel's table; a bridge with a bad verdict.
        tree.disk('2-1', 'sda', 'uas', ids=(0x152d, 0x0578), serial='NA7ABCDE', product='JMicron USB to SATA')
        tree.disk('2-2', 'sdb', serial='S2', speed=480)
        tree.disk('1-1.4', 'sdc', uas=False, serial='S3', product='Stick')
        tree.disk('2-3', 'sdd', serial='S4', ids=(0x4971, 0x1012), product='SimpleDrive')
        tree.disk('2-4', 'sde', serial='S5', ids=(0x152d, 0x0539), product='Bridge')
        device = 'sys/devices/pci0000:00/0000:00:14.0/usb2'
        # SuperSpeed in its BOS descriptor.
        tree.write(f'{device}/2-2/bos_descriptors', bytes([5, 15, 15, 0, 1, 10, 16, 3, 0, 14, 0, 3, 10, 255, 7]))
        tree.write('run/udev/data/c189:135', 'I:1\nE:UASD_DB_1=bad;*;*;List one;2026-10\n')
        # A volume group in a LUKS mapping, and a mount point with a blank.
        for name, number, uuid, mapping in ('dm-0', '253:0', 'CRYPT-LUKS2-01-vault', 'vault'), ('dm-1', '253:1', 'LVM-02', 'back--up-data'):
            for file, text in {'dev': number, 'dm/uuid': uuid, 'dm/name': mapping}.items():
                tree.write(f'sys/class/block/{name}/{file}', text + '\n')
        for below, above in ('sdb', 'dm-0'), ('dm-0', 'dm-1'):
            os.makedirs(tree.path(f'sys/class/block/{below}/holders/{above}'))
        tree.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sdz2 rw\n30 1 253:1 / /mnt/back\\040up rw - ext4 /dev/dm-1 rw\n'
                                       '31 1 253:1 /in /srv/in rw - ext4 /dev/dm-1 rw\n')

        os.makedirs(os.path.dirname(tree.path(LOCALEDIR.lstrip('/'))), exist_ok=True)
        os.symlink(os.path.abspath(LOCALES), tree.path(LOCALEDIR.lstrip('/')))

    def screen(self, command, width, **env):
        env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', LC_ALL='C.UTF-8', TZ='UTC', TERM='xterm', PAGER='', **env)
        out, status = terminal.run([PROGRAM, self.tree.top, '-q', '--no-pager', *command.split()], env, width)
        self.assertEqual(status, 2 if command.startswith('swich') else 0, out)
        return ''.join(line.rstrip() + '\n' for line in out.replace('\r', '').splitlines())

    def check(self, name, commands, **env):
        """COMMANDS: with their widths."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        text = 'SPDX-License-Identifier: LGPL-2.1-or-later\n'
        for command, widths in commands:
            for width in widths:
                shown = self.screen(command, width, NO_COLOR='1', **env)
                if not command.startswith('swich'):  # the terminal breaks messages
                    # Behind a key there is always room for 20 columns.
                    self.assertLessEqual(max(map(len, shown.splitlines())), max(width, 32), shown)
                text += f'\n=== {width} columns: uasctl {command}\n{shown}'
        if '--update' in sys.argv:
            with open(path, 'w') as f:
                f.write(text)
        self.maxDiff = None
        with open(path) as f:
            self.assertEqual(f.read(), text)
        return text

    def test_screens(self):
        self.check('screens.txt', [*((command, WIDTHS) for command in COMMANDS), *NARROW])

    @unittest.skipUnless(os.path.isdir(os.path.join(LOCALES, 'de')), 'built without translations')
    def test_german(self):
        text = self.check('screens.de.txt', [(command, (40, 80)) for command in GERMAN], LANGUAGE='de')
        self.assertNotRegex(text, r'(?<![-\w])(the|of|is|its|has|not)(?![-\w])')  # left in English

    def test_readme(self):
        """The first screen of README.md is what uasctl prints for these disks."""
        self.tree = tree = Tree(PROGRAM)
        self.addCleanup(tree.close)
        tree.write('etc/uasd/uasd.conf', '[uasd]\nUnknown=uas\n')
        for port, block, driver, maker, product, size, more in (
                ('2-1', 'sda', 'uas', 'JMicron', 'SABRENT Dock', 4000, {'ids': (0x152d, 0x0578)}),
                ('2-2', 'sdb', 'uas', 'Samsung', 'Portable SSD T7', 1000, {'ids': (0x04e8, 0x61fb), 'speed': 480}),
                ('3-1', 'sdc', 'usb-storage', 'SanDisk', 'Cruzer Blade', 16, {'ids': (0x0781, 0x5567), 'uas': False, 'speed': 480}),
                ('2-4', 'sdd', 'usb-storage', 'Hitachi', 'SimpleDrive', 2000, {'ids': (0x4971, 0x1012)})):
            tree.disk(port, block, driver, serial=block, product=product, **more)
            device = f'sys/devices/pci0000:00/0000:00:14.0/usb{port[0]}/{port}'
            tree.write(f'{device}/manufacturer', maker + '\n')
            tree.write(f'sys/block/{block}/size', f'{size * 10 ** 9 // 512}\n')
        tree.write('sys/devices/pci0000:00/0000:00:14.0/usb2/2-2/bos_descriptors', bytes([5, 15, 15, 0, 1, 10, 16, 3, 0, 14, 0, 3, 10, 255, 7]))
        tree.write('sys/devices/pci0000:00/0000:00:14.0/usb3/3-1/version', ' 2.00\n')
        shown = ''.join(f'    {line}\n' for line in self.screen('list', 80, NO_COLOR='1').splitlines())
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'README.md')) as f:
            self.assertIn('\n\n' + shown + '\n', f.read(), shown)

    def test_answer_first(self):
        """At 80 columns every column of the list has its place, and the first five lines of explain have answer, reason and remedy."""
        self.assertEqual(self.screen('list', 80, NO_COLOR='1').split('\n', 1)[0].split(), 'DISK PRODUCT SIZE LINK DRIVER STATE PORT'.split())
        for disk, answer in ('sdb', 'It should be on uas.'), ('sdd', 'stays on usb-storage.'):
            first = '\n'.join(self.screen(f'explain {disk}', 80, NO_COLOR='1').splitlines()[:5])
            for text in answer, 'Reason: ', 'To change: ':
                self.assertIn(text, first)

    def test_slow_disk(self):
        """From 40 columns on the first screen tells which disk is slow, why, and what to type. That command has the advice."""
        for width in WIDTHS:
            *lines, last = self.screen('list', width, NO_COLOR='1').splitlines()
            [slow] = [line for line in lines if '!' in line]
            self.assertRegex(slow, r'^sdb .* 480 Mbit/s! usb-storage! needs uasd')
            self.assertEqual(last, '1 hint: uasctl status sdb')
            shown = ' '.join(self.screen(last.split('uasctl ')[1], width, NO_COLOR='1').split())
            self.assertIn('try a USB 3 port of the machine and another cable.', shown)
            self.assertIn('uasd would switch it to uas, but is not running.', shown)

    def test_exact_width(self):
        """A table that just fits is shown as it is in a file. One column less, and it becomes lines, if it has headings and no tree."""
        for words, becomes in ('-o ID,DRIVER', True), ('-o REVISION,SERIAL,USB', True), ('-o DRIVER,BUS', True), ('--no-legend -o ID,DRIVER,BUS', False), \
                              ('--tree -o ID,DRIVER,BUS', False), ('--tree -o DISK,CAPABLE', False):
            whole = ''.join(line.rstrip() + '\n' for line in self.tree.run('list', '-q', *words.split()).stdout.splitlines())
            width = max(map(len, whole.splitlines()))
            self.assertEqual(self.screen('list ' + words, width, NO_COLOR='1'), whole)
            less = self.screen('list ' + words, width - 1, NO_COLOR='1')
            self.assertEqual(less.lstrip().startswith(words.split()[-1].split(',')[0] + ':'), becomes, (words, less))
            if not becomes:
                self.assertEqual(less, whole)

    def test_left_out(self):
        """A column is left out when the others no longer fit, not before."""
        headings = {width: self.screen('list', width, NO_COLOR='1') for width in range(40, 80)}
        for width, shown in headings.items():
            if width + 1 in headings and shown.split('\n')[0].split() != headings[width + 1].split('\n')[0].split():
                self.assertEqual(max(map(len, headings[width + 1].splitlines())), width + 1, shown + headings[width + 1])

    def test_long_word(self):
        """A word that is wider than the terminal is whole: the terminal breaks it."""
        where = '/srv/' + 'a-long-name' * 5
        self.tree.write('proc/1/mountinfo', f'20 1 8:16 / {where} rw - ext4 /dev/sdb rw\n')
        self.assertIn(f'mounted on\n            {where}\n', self.screen('status sdb', 40, NO_COLOR='1'))

    def test_colours(self):
        """What is coloured has another sign too."""
        shown = self.screen('list', 120)
        for text in '\033[33m480 Mbit/s!', '\033[33musb-storage!', '\033[33mneeds uasd':
            self.assertIn(text, shown)
        self.assertIn('\033[33musb-storage on host3, slower than uas\033[0m', self.screen('status sdb', 120))
        self.assertIn('\033[33m480 Mbit/s at port 2-2; the device could do 5 Gbit/s\033[0m', self.screen('status sdb', 120))
        self.assertIn('\033[31mbad\033[0m', self.screen('status --all sde', 120))
        shown = self.screen('list -o PRODUCT,DRIVER', 20)
        self.assertRegex(shown, r'\nPRODUCT: *\n      Maker Disk\n DRIVER: *\033\[33m\n      usb-storage!\n\033\[0m\nPRODUCT:')
        self.assertEqual(shown.count('\033'), 2)
        shown = self.screen('list -o DISK,VERDICT', 120)
        self.assertIn('\033[31mbad!', shown)
        self.assertEqual(shown.count('!'), 1)


unittest.main(argv=sys.argv[:1])

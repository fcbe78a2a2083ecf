#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl policy --kernel: the disks of its lines, for each reason that keeps them off uas."""

import json
import os
import sys
import unittest

from tree import PIPES, Tree

PROGRAM = sys.argv[1]
RECORD = ('generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=distrusted firmware=0214 kernel=6.1.0-test boot=- date=2026-11-20T15:45:07Z '
          'reason=it failed\n')
LINES = ['usb-storage.quirks=1209:5a5a:u', 'options usb-storage quirks=1209:5a5a:u']


class PolicyKernel(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.quirk_lines()

    def conf(self, *lines):
        self.tree.write('etc/uasd/uasd.conf', '\n'.join(['[uasd]', *lines, '']))

    def property(self, policy):
        self.tree.write('run/udev/data/c189:132', f'E:UASD_POLICY={policy}\n')

    def override(self, target, interface='2-1:1.0'):
        self.tree.write(f'run/uasd/attachment/{self.tree.attachment(interface.split(":")[0])}', f'TRIED=0\nOVERRIDE={target}\n')

    def lines(self, *disk, code=0):
        """The output, and the messages."""
        p = self.tree.run('policy', '--kernel', '--no-legend', *disk)
        self.assertEqual(p.returncode, code, p.stderr)
        return p.stdout.splitlines(), p.stderr

    def both(self, lines):
        """With the disk, and for all disks."""
        self.assertEqual(self.lines('sda')[0], lines)
        out, said = self.lines()
        self.assertEqual(out, lines, said)
        self.assertEqual('no entry to add' in said, not lines, said)

    def test_auto(self):
        self.both([])

    def test_policy_of_all(self):
        self.conf('Policy=usb-storage')
        self.both(LINES)

    def test_property(self):
        self.property('usb-storage')
        self.both(LINES)

    def test_unknown(self):
        self.conf('Unknown=usb-storage')
        self.both(LINES)

    def bad(self):
        """The database has the verdict bad."""
        self.tree.write('run/udev/data/c189:132', 'I:1\nE:UASD_DB_1=bad;*;*;A list;2026-11\n')

    def test_verdict(self):
        self.bad()
        self.both(LINES)

    def test_place(self):
        "The file of the line, and the command to run afterwards."
        self.bad()
        self.assertIn('in the boot loader', self.tree.run('policy', '--kernel').stdout)
        for path, then in ('etc/kernel/cmdline', 'run the tool that makes the boot entries'), ('etc/default/grub', 'update-grub'), ('boot/cmdline.txt', ''), \
                          ('boot/firmware/cmdline.txt', ''):
            self.tree.write(path, '')
            p = self.tree.run('policy', '--kernel', 'sda')
            self.assertEqual(p.stdout.splitlines()[:2], [f'# For the kernel command line, in /{path}:', LINES[0]])
            self.assertRegex(p.stderr, f'Put it (in|at the end of the (one )?line).* /{path}.*{then}.*and restart.')

    @unittest.skipUnless(os.getuid() == 0, 'drops its rights')
    def test_unreadable(self):
        "The lines replace those in modprobe.d, some of which only root can read."
        self.bad()
        os.chmod(self.tree.top, 0o755)
        self.tree.write('etc/modprobe.d/a.conf', 'options usb-storage quirks=0bc2:ab38:f\n')
        nobody = {'user': 65534, 'group': 65534}
        self.assertNotIn('may not read', self.tree.run('policy', '--kernel', 'sda', **nobody).stderr)
        for path in 'etc/modprobe.d/a.conf', 'etc/modprobe.d':
            os.chmod(self.tree.path(path), 0o600)
            self.assertIn('may not read', self.tree.run('policy', '--kernel', 'sda', **nobody).stderr)
            self.assertNotIn('may not read', self.tree.run('policy', '--kernel', 'sda').stderr)
            os.chmod(self.tree.path(path), 0o755)

    def test_entries(self):
        "GRUB has an entry for each kernel, which grubby changes."
        self.bad()
        self.tree.write('etc/default/grub', 'GRUB_CMDLINE_LINUX=""\nGRUB_ENABLE_BLSCFG=true\n')
        p = self.tree.run('policy', '--kernel', 'sda')
        self.assertEqual(p.stdout.splitlines()[:2], ['# For the kernel command line, in /boot/loader/entries:', LINES[0]])
        self.assertIn('Put it into the options of each entry in /boot/loader/entries, and restart.', p.stderr)
        self.tree.programs('grubby', folder='usr/sbin')
        self.assertIn(f'/boot/loader/entries: grubby --update-kernel=ALL --args={LINES[0]}. Then restart.', self.tree.run('policy', '--kernel', 'sda').stderr)
        self.tree.write('proc/1/mountinfo', '20 1 8:0 / / rw - ext4 /dev/sda rw\n')
        self.assertIn('Next boot: Nothing yet: it starts on uas again. The word to add: uasctl policy --kernel 2-1 ', self.shown('status') + ' ')

    def shown(self, verb):
        return ' '.join(self.tree.run(verb, 'sda').stdout.split())

    def test_root(self):
        "The running system is on the disk: status and explain say what the next boot does, and the command. The command does it."
        self.bad()
        line = 'root=LABEL=root rootwait'
        self.tree.write('proc/1/mountinfo', '20 1 8:0 / / rw - ext4 /dev/sda rw\n')
        self.tree.write('proc/cmdline', line + '\n')
        self.tree.write('boot/firmware/cmdline.txt', line + '\n')
        for verb in 'status', 'explain':
            self.assertIn('Next boot: Nothing yet: it starts on uas again. To change that: '
                          'uasctl policy --kernel --write 2-1 usb-storage ', self.shown(verb) + ' ')
        self.assertEqual(self.tree.run('policy', '--kernel', '--write', '2-1:1.0', 'usb-storage').returncode, 0)
        for verb in 'status', 'explain':
            self.assertIn('Next boot: /boot/firmware/cmdline.txt has the entry. After a restart the disk starts on usb-storage.', self.shown(verb))
            self.assertNotIn('Next boot: Nothing', self.shown(verb))
        self.override('uas')
        self.assertNotIn('Next boot:', self.tree.run('status', 'sda').stdout)
        self.override('none')
        os.mkdir(self.tree.path('etc/kernel'))
        os.rename(self.tree.path('boot/firmware/cmdline.txt'), self.tree.path('etc/kernel/cmdline'))
        self.assertIn('Next boot: /etc/kernel/cmdline has the entry. After the tool that makes the boot entries and a restart '
                      'the disk starts on usb-storage.', self.shown('status'))
        self.tree.write('etc/kernel/cmdline', f'{line} usb-storage.quirks=1209:5a5a:f\n')  # another letter
        self.assertIn('Next boot: Nothing yet', self.shown('status'))

    def test_root_in_initramfs(self):
        "The record of the disk is in the initramfs, which keeps it off uas."
        self.tree.write('proc/1/mountinfo', '20 1 8:0 / / rw - ext4 /dev/sda rw\n')
        for path in 'etc/uasd/history', 'run/uasd/initramfs':
            self.tree.write(path, RECORD)
        self.assertIn('Next boot: The initramfs has the record of this disk, and starts it on usb-storage.', self.shown('status'))
        self.tree.write('run/uasd/initramfs', '')
        self.assertIn('Next boot: Nothing yet', self.shown('status'))
        os.unlink(self.tree.path('run/uasd/initramfs'))  # none with uasd's hook has started this machine
        self.assertIn('Next boot: Nothing yet', self.shown('status'))

    def test_boot_partition(self):
        "Swap or /boot on it: uasd moves the disk before it is mounted."
        self.bad()
        self.tree.write('proc/1/mountinfo', '20 1 8:0 / /boot rw - ext4 /dev/sda rw\n')
        self.assertIn('Next boot: It starts on uas, and uasd moves it before it is mounted. To change that: '
                      'uasctl policy --kernel --write 2-1 usb-storage ', self.shown('status') + ' ')

    def test_slips(self):
        "Entries that the kernel ignores: explain shows those for this disk, policy --kernel all of them."
        for line, near, far in (('usb-storage.quirks=1209:5a5a', '1209:5a5a, by the kernel command line: ignored', None),
                                ('usb-storage.quirks=1209 5a5a:u', '5a5a:u, by the kernel command line: ignored', None),
                                ('usb-storage.quirk=1209:5a5a:u', 'Write: usb-storage.quirks=1209:5a5a:u', None),
                                ('usb-storage.quirks=152d:0578:u, 1209:5a5a:u', 'Write it as 1209:5a5a:u, in one word', None),
                                ('usb-storage.quirks=152d:0578', None, '152d:0578, by the kernel command line: ignored')):
            self.tree.write('proc/cmdline', line + '\n')
            shown, said = self.shown('explain'), self.lines()[1]
            self.assertIn(near or far, said)
            quirks = json.loads(self.tree.run('explain', '--json', 'sda').stdout)['disks'][0]['quirks']
            self.assertEqual([one['effect'] for one in quirks if one['effect'] == 'ignored'], ['ignored'] if near else [])
            if near:
                self.assertIn(near, shown)
            else:
                self.assertNotIn(far, shown)
        self.tree.write('proc/cmdline', 'quiet\n')
        self.tree.write('etc/modprobe.d/a.conf', '\noptions usb-storage quirk=1209:5a5a:u\noptions uas quirks=1209:5a5a:u\n')
        self.assertIn('quirk=1209:5a5a:u, by /etc/modprobe.d/a.conf, line 2: ignored: usb-storage has no parameter of that name. '
                      'Write: options usb-storage quirks=1209:5a5a:u', self.lines()[1])
        self.assertIn('line 3', self.shown('explain'))
        self.assertIn('quirks=1209:5a5a:u, by /etc/modprobe.d/a.conf, line 3: ignored: usb-storage has no parameter of that name. '
                      'Write: options usb-storage quirks=1209:5a5a:u\n', self.lines()[1])
        quirks = json.loads(self.tree.run('explain', '--json', 'sda').stdout)['disks'][0]['quirks']
        self.assertEqual([(one['file'], one['line']) for one in quirks], [('/etc/modprobe.d/a.conf', line) for line in (2, 3)])
        self.assertEqual(self.shown('explain').count('Write: options usb-storage quirks=1209:5a5a:u'), 2)

    def test_quirk(self):
        "The entry that decides, and how to remove it. Each other one, with its letters and the reason that it does not count."
        parameter = 'sys/module/usb_storage/parameters/quirks'
        where = "the kernel command line in the boot loader's configuration, and restart. Or: uasctl policy 2-1 uas"
        self.tree.write('proc/cmdline', 'usb-storage.quirks=1209:5a5a:u\n')
        self.tree.write(parameter, '1209:5a5a:u\n')
        shown = self.tree.run('explain', 'sda').stdout
        self.assertIn(f' To change: Remove 1209:5a5a:u from {where}\n     State: settled. uasd would switch it to usb-storage, but is not running.\n', shown)
        self.assertTrue(shown.endswith('\n\n    Quirks: 1209:5a5a:u, by the kernel command line: in force\n'), shown)
        self.tree.write('proc/cmdline', 'usb-storage.quirks=1209:5a5a:f usb-storage.quirks=1209:5a5a:fu\n')
        self.tree.write(parameter, '1209:5a5a:fu\n')
        shown = self.tree.run('explain', 'sda').stdout
        self.assertIn(f' To change: Remove 1209:5a5a:fu from {where}\n', shown)
        letter = ' ' * 12 + 'f: the kernel does not send REPORT SUPPORTED OPERATION CODES (uas only)\n'
        self.assertTrue(shown.endswith(f'\n\n    Quirks: 1209:5a5a:fu, by the kernel command line: in force\n{letter}{" " * 12}1209:5a5a:f, by the kernel command line: '
                                       f'overruled: only the last quirks= counts, that of the kernel command line\n{letter}{" " * 12}'
                                       'Put all entries into that one string: uasctl policy --kernel prints it.\n'), shown)

    def test_two_in_modprobe(self):
        "The kernel uses only the last one."
        for name, entry in ('a', '0bc2:ab38:f'), ('b', '152d:0578:u'):
            self.tree.write(f'etc/modprobe.d/{name}.conf', f'options usb-storage quirks={entry}\n')
        lines, said = self.lines()
        self.assertEqual(lines[1], 'options usb-storage quirks=0bc2:ab38:f,152d:0578:u')
        self.assertNotIn('no entry to add', said)
        self.assertIn('The kernel uses only the last quirks= of modprobe.d. Delete the one in /etc/modprobe.d/a.conf, line 1.', said)
        self.assertEqual(said.count('Delete the one'), 1)
        self.bad()
        said = self.lines()[1]
        self.assertIn('One of the two places is enough. ', said)
        self.assertNotIn('already has', said)
        self.tree.write('proc/cmdline', 'usb-storage.quirks=0781:5580:u\n')  # overrules both
        said = self.lines()[1]
        self.assertIn('The kernel command line already has usb-storage.quirks=. Change it there: it overrules modprobe.d.', said)
        self.assertNotIn('Delete the one', said)
        self.assertNotIn('One of the two', said)

    def test_full(self):
        "An entry for which there is no room in one place."
        self.bad()
        full = ','.join(f'152d:{0x0500 + n:04x}:u' for n in range(10))
        lack = 'uasctl: The quirks of usb-storage take 127 characters, and there is no room for 1209:5a5a:u (1209:5a5a:S1) %s: shorten the other entries.\n'
        line, modprobe = lack % 'on the kernel command line', lack % 'in modprobe.d'
        for path, text, want in (('etc/modprobe.d/a.conf', 'options usb-storage quirks=', line + modprobe), ('proc/cmdline', 'usb-storage.quirks=', line)):
            self.tree.write(path, f'{text}{full}\n')
            self.assertEqual(self.lines('sda', code=1), ([], want))
            out, said = self.lines(code=1)
            self.assertEqual(out[0], 'usb-storage.quirks=' + full)
            self.assertTrue(said.startswith(want), said)
            os.unlink(self.tree.path(path))

    def test_property_against_section(self):
        "The more specific setting applies."
        self.conf('', '[Disk 1209:5a5a:S1]', 'Policy=usb-storage')
        self.both(LINES)
        self.property('uas')
        self.both([])

    def test_alike(self):
        "The kernel cannot distinguish two disks, and one is wanted on uas: no entry for either, and a message."
        self.tree.disk('2-2', 'sdb', 'uas', serial='S2')
        self.conf('Policy=usb-storage', '[Disk 1209:5a5a:S2]', 'Policy=uas')
        out, said = self.lines()
        self.assertEqual(out, [])
        self.assertIn('1209:5a5a is left out, although S1 should be on usb-storage: another disk of this model should not, and the kernel', said)
        self.tree.disk('2-3', 'sdc', serial='S3', ids=(0x152d, 0x0578))  # of another model
        self.assertEqual(self.lines()[1].count('is left out'), 1)
        # Without BOT it has no driver but uas.
        for port, said in ('2-3', 'another disk of this model'), ('2-2', 'a plugged-in disk of this model speaks only UAS, and would have no driver.'):
            path = f'sys/bus/usb/devices/{port}/descriptors'
            with open(self.tree.path(path), 'rb') as f:
                device = f.read(18)
            self.tree.write(path, device + bytes([9, 2, 18 + len(PIPES), 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 4, 8, 6, 0x62, 0]) + PIPES)
            self.assertIn('1209:5a5a is left out, although S1 should be on usb-storage: ' + said, self.lines()[1])
            self.conf('Policy=usb-storage')

    def test_same_serial(self):
        "Two with the same serial number: each has its own policy, by its port."
        self.tree.disk('2-2', 'sdb', 'uas', serial='S1')
        self.conf('Policy=usb-storage')
        self.assertEqual(self.lines()[0], LINES)
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1@0000:00:14.0/ss/2=uas\n')
        self.assertEqual(self.lines()[0], [])

    def test_no_uas(self):
        "A disk that cannot run on uas needs no entry."
        self.conf('Policy=usb-storage')
        self.tree.write('sys/bus/usb/devices/2-1/descriptors', b'')
        self.assertEqual(self.lines()[0], [])

    def test_no_uas_by_policy(self):
        "Nor does its own policy make one. Another disk of the model still gets an entry, and so does the disk where it is not seen."
        self.tree.remove('2-1', 'sda')
        self.tree.disk('2-1', 'sda', 'usb-storage', serial='S1', uas=False)
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        out, said = self.lines()
        self.assertEqual((out, said), ([], 'uasctl: There is no entry to add.\n'))
        self.assertIn('stays on its driver, with any entry: It does not offer UAS.', self.lines('sda', code=5)[1])
        self.tree.write('boot/cmdline.txt', 'quiet\n')
        p = self.tree.run('policy', '--kernel', '--write', 'sda', 'usb-storage')
        self.assertEqual((p.returncode, p.stdout), (5, ''))
        self.assertIn('stays on its driver, with any entry: It does not offer UAS.', p.stderr)
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n1209:5a5a:S2=usb-storage\n')
        self.assertEqual(self.lines()[0], LINES)
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        self.tree.remove('2-1', 'sda')
        self.assertEqual(self.lines()[0], LINES)

    def test_override(self):
        "An override until the disk is unplugged does not affect the kernel line."
        self.tree.disk('2-2', 'sdb', 'uas', serial='S2')
        self.conf('Policy=usb-storage')
        self.override('uas')
        self.both(LINES)
        self.conf('Policy=auto')
        self.override('usb-storage')
        out, said = self.lines('sda')
        self.assertEqual(out, [])
        self.assertNotIn('would also apply', said)

    def test_override_of_ignored(self):
        self.conf('Policy=ignore')
        self.override('usb-storage')
        out, said = self.lines('sda', code=6)
        self.assertEqual((out, said), ([], 'uasctl: 2-1:1.0 (sda) stays on its driver, with any entry: '
                                           'The policy is ignore, so uasd leaves it on its driver.\n'))

    def test_no_line_no_warning(self):
        "Without a line there is no warning about other disks."
        self.tree.disk('2-2', 'sdb', 'uas', serial='S2')
        self.conf('', '[Disk 1209:5a5a:S2]', 'Policy=usb-storage')
        out, said = self.lines('sda')
        self.assertEqual(out, [])
        self.assertNotIn('would also apply', said)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl policy --kernel --write: the file that this machine boots with, in a folder."""

import fcntl
import os
import re
import stat
import struct
import subprocess
import sys
import unittest

from patience import let_pass, patience, until
from tree import Tree

PROGRAM = sys.argv[1]
PI = 'boot/firmware/cmdline.txt'
GRUB = 'etc/default/grub'
OURS = 'etc/modprobe.d/zzz-uasctl.conf'
LINE = 'console=tty1 root=LABEL=root rootwait'
WORD = 'usb-storage.quirks=1209:5a5a:u'
GRUB_TEXT = '# comment, GRUB_CMDLINE_LINUX="x"\nGRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="%s"\n#GRUB_TERMINAL=console\n'


class PolicyWrite(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.quirk_lines()
        self.boots()
        self.path = PI

    def boots(self, line=f'BOOT_IMAGE=/vmlinuz quiet a b {LINE}'):
        """The command line of the running kernel."""
        self.tree.write('proc/cmdline', line + '\n')

    def put(self, text, path=PI):
        self.path = path
        self.tree.write(path, text)

    def read(self, path=None):
        with open(self.tree.path(path or self.path)) as f:
            return f.read()

    def files(self):
        """Every file in /boot and /etc with its content."""
        found = {}
        for top in 'boot', 'etc':
            for folder, _, names in os.walk(self.tree.path(top)):
                for name in names:
                    path = os.path.relpath(os.path.join(folder, name), self.tree.top)
                    found[path] = os.readlink(self.tree.path(path)) if os.path.islink(self.tree.path(path)) else self.read(path)
        return found

    def policy(self, *words, code=0):
        p = self.tree.run('policy', '--kernel', '--write', *words)
        self.assertEqual(p.returncode, code, p)
        return p

    def changed(self, text, policy='usb-storage'):
        """--dry-run shows the change; without it the file has it, and auto gives the old file back, without a rest."""
        before, old = self.files(), self.read()
        p = self.policy('--dry-run', 'sda', policy)
        self.assertEqual(self.files(), before)
        line = [n for n, (a, b) in enumerate(zip(old.splitlines(), text.splitlines())) if a != b][0]
        shown = [f'/{self.path}:', '-' + old.splitlines()[line], '+' + text.splitlines()[line]]
        self.assertEqual(p.stdout.splitlines(), shown)
        p = self.policy('sda', policy)
        self.assertEqual(p.stdout.splitlines(), shown)
        self.assertEqual(self.files(), {**before, self.path: text, self.path + '.uasd-backup': old})
        self.assertIn('There is nothing to change', self.policy('sda', policy).stderr)
        self.assertEqual(self.policy('sda', 'auto').stdout.splitlines(), [shown[0], '-' + shown[2][1:], '+' + shown[1][1:]])
        self.assertEqual(self.files(), before)
        if '1209:5a5a' in old:
            self.refused('has not written', 'auto')
        else:
            self.assertIn('There is nothing to change', self.policy('sda', 'auto').stderr)
        self.assertEqual(self.files(), before)
        return p.stderr

    def refused(self, why, policy='usb-storage'):
        before = self.files()
        p = self.policy('sda', policy, code=1)
        self.assertEqual((p.stdout, self.files()), ('', before))
        self.assertRegex(p.stderr, f'is not changed: .*{why}.*\n.*' + ('by hand' if policy == 'auto' else r'usb-storage.quirks=1209:5a5a:(u|,|$)'))

    def test_raspberry_pi(self):
        for end in '\n', '':
            self.put(LINE + end)
            said = self.changed(f'{LINE} {WORD}{end}')
            self.assertIn('Now restart', said)
            self.assertIn('/boot/firmware/cmdline.txt.uasd-backup', said)
            self.assertIn('uasctl policy --kernel --write 2-1 auto', said)

    def test_quote_at_the_end(self):
        quoted = 'root=/dev/sda2 dyndbg="file drivers/usb/* +p"'
        self.put(quoted + '\n')
        self.boots(quoted)
        self.changed(f'{quoted} {WORD}\n')

    def test_disk_is_away(self):
        "The entry of a disk that is not plugged in can be removed, but none can be written: uasctl knows nothing about the disk."
        self.put(LINE + '\n')
        before = self.files()
        self.tree.disk('2-3', 'sdc', 'uas', ids=(0x152d, 0x0581), serial='S3')
        self.policy('sdc', 'usb-storage')
        self.assertIn('152d:0581:u', self.read())
        self.tree.remove('2-3', 'sdc')
        self.policy('152d:0581', 'usb-storage', code=4)
        self.policy('152d', 'auto', code=4)
        self.policy('152d:0581:S3', 'auto')
        self.assertEqual(self.files(), before)

    def test_old_raspberry_pi_and_systemd_boot(self):
        def said(path, then):
            self.put(LINE + ' \n', path)
            self.assertIn(then, self.changed(f'{LINE} {WORD} \n'))

        # Only if the program is there, and the kernel that it installs.
        unknown = 'Now run the tool that makes the boot entries, and restart'
        said('etc/kernel/cmdline', unknown)
        self.tree.programs('kernel-install')
        said('etc/kernel/cmdline', unknown)
        self.tree.write('usr/lib/modules/6.1.0-test/vmlinuz', '')
        said('etc/kernel/cmdline', 'Now run kernel-install add-all, and restart')
        said('boot/cmdline.txt', 'is changed. Now restart')

    def test_entries_of_others(self):
        "Entries of others stay. One for the same bridge is replaced, and comes back."
        for before, after in ('0bc2:ab38:f', '1209:5a5a:u,0bc2:ab38:f'), ('0bc2:ab38:f,1209:5a5a:f,152d:0578:u', '1209:5a5a:fu,0bc2:ab38:f,152d:0578:u'):
            for name in 'usb-storage.quirks=', 'usb_storage.quirks=':
                self.put(f'a {name}{before} rootwait\n')
                self.changed(f'a {name}{after} rootwait\n')

    def test_modprobe_is_repeated(self):
        "The kernel command line overrides modprobe.d, so the word repeats what is there."
        self.tree.write('etc/modprobe.d/a.conf', 'options usb-storage quirks=0bc2:ab38:f\n')
        self.put(LINE + '\n')
        self.changed(f'{LINE} usb-storage.quirks=1209:5a5a:u,0bc2:ab38:f\n')

    def test_uas(self):
        "An entry without u, for a disk that another entry keeps off uas."
        self.put(f'{LINE} usb-storage.quirks=1209:5a5a:u\n')
        self.tree.write('proc/cmdline', self.read())
        self.tree.write('sys/module/usb_storage/parameters/quirks', '1209:5a5a:u\n')
        self.changed(f'{LINE} usb-storage.quirks=1209:5a5a:\n', 'uas')

    def test_grub(self):
        os.unlink(self.tree.path('usr/bin/update-grub'))
        self.tree.write('boot/grub/grub.cfg', '')
        for inside, after in ('', WORD), ('quiet', f'quiet {WORD}'), (f'a usb-storage.quirks=0bc2:ab38:f b', f'a usb-storage.quirks=1209:5a5a:u,0bc2:ab38:f b'):
            self.put(GRUB_TEXT % inside, GRUB)
            self.assertIn('Now run grub-mkconfig -o /boot/grub/grub.cfg, and restart', self.changed(GRUB_TEXT % after))
        self.tree.write('boot/grub2/grub.cfg', '')
        self.put(GRUB_TEXT % '', GRUB)
        self.assertIn('Now run grub2-mkconfig -o /boot/grub2/grub.cfg, and restart', self.changed(GRUB_TEXT % WORD))
        self.tree.programs('update-grub', folder='usr/sbin')
        self.assertIn('Now run update-grub, and restart', self.changed(GRUB_TEXT % WORD))
        self.put("GRUB_CMDLINE_LINUX='a'", GRUB)
        self.changed(f"GRUB_CMDLINE_LINUX='a {WORD}'")
        for program in 'usr/sbin/update-grub', 'usr/bin/grub-mkconfig', 'usr/bin/grub2-mkconfig':
            os.unlink(self.tree.path(program))
        self.assertIn('Now run the tool that makes the configuration of GRUB, and restart', self.changed(f"GRUB_CMDLINE_LINUX='a {WORD}'"))

    def test_grub_with_entries(self):
        "GRUB reads the kernel command line from entries, which no command makes again from /etc/default/grub everywhere."
        self.tree.write('boot/grub2/grub.cfg', '')
        for value in 'true', '"true"':
            self.put(GRUB_TEXT % '' + f'GRUB_ENABLE_BLSCFG={value}\n', GRUB)
            self.refused('each kernel has an entry in it')
        self.put(GRUB_TEXT % '' + 'GRUB_ENABLE_BLSCFG=false\n', GRUB)
        self.changed(GRUB_TEXT % WORD + 'GRUB_ENABLE_BLSCFG=false\n')

    def test_grub_not_understood(self):
        self.put(GRUB_TEXT % '', GRUB)
        self.refused('no grub.cfg')
        self.tree.write('boot/grub2/grub.cfg', '')
        for text, why in (('GRUB_DEFAULT=0\n', 'does not set'), ('GRUB_CMDLINE_LINUX=quiet\n', 'not one quoted text'),
                          ('GRUB_CMDLINE_LINUX="a" "b"\n', 'not one quoted text'), ('GRUB_CMDLINE_LINUX="a\nb"\n', 'not one quoted text'),
                          ('GRUB_CMDLINE_LINUX="$A"\n', 'needs a shell'), ('GRUB_CMDLINE_LINUX="`id`"\n', 'needs a shell'),
                          ('GRUB_CMDLINE_LINUX="a\\"b"\n', 'needs a shell|not one quoted'), ('A=\\\nGRUB_CMDLINE_LINUX="a"\n', 'continues'),
                          ('GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX="b"\n', 'more than one place'),
                          ('GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX+="b"\n', 'more than one place'),
                          ('if true; then\n  GRUB_CMDLINE_LINUX="a"\nfi\n', 'start of a line'),
                          ('GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX_DEFAULT="usb-storage.quirks=1:2:u"\n', 'in another line')):
            self.put(text, GRUB)
            self.refused(why)
        self.put(GRUB_TEXT % '', GRUB)
        for more in 'GRUB_CMDLINE_LINUX="b"', 'GRUB_CMDLINE_LINUX_DEFAULT="usb-storage.quirks=1:2:u"':
            self.tree.write('etc/default/grub.d/50-cloud.cfg', f'GRUB_CMDLINE_LINUX_DEFAULT="a"\n{more}\n')
            self.refused('grub.d')
        self.tree.write('etc/default/grub.d/50-cloud.cfg', 'GRUB_CMDLINE_LINUX_DEFAULT="a"\n')
        self.tree.write('etc/default/grub.d/51-empty.cfg', '')
        self.tree.write('etc/default/grub.d/50-cloud.cfg.old', 'GRUB_CMDLINE_LINUX="b"\n')  # GRUB does not read it
        self.changed(GRUB_TEXT % WORD)

    def test_not_understood(self):
        for text, why in ((f'{LINE}\nsecond line\n', 'more than one line'), ('', 'empty'), ('\n', 'empty'), (f'{LINE}\r\n', 'control'),
                          (f'{LINE}\0\n', 'control'), (f'{LINE} a="b\n', 'not closed'), (f'{LINE} -- quiet\n', 'behind --'),
                          (f'# {LINE}\n', 'begins with #'),
                          (f'usb-storage.quirks=1209:5a5b:u # {LINE}\n', 'begins with #'),
                          (f'usb-storage.quirks=#:1:u # {LINE}\n', 'begins with #'),
                          (f'{LINE} usb-storage.quirks="1209:5a5b:u"\n', 'quoted'),
                          (f'{LINE} "usb-storage.quirks=1209:5a5b:u"\n', 'quoted'), ('x' * 70000, 'too long'),
                          (f'{LINE} usb-storage.quirks=1209:5a5b:u;x\n', 'characters'),
                          (f'{LINE} usb-storage.quirks={",".join(["1209:5a5b:u"] * 10)}\n', 'no room')):
            self.put(text)
            self.refused(why)
        os.unlink(self.tree.path(PI))
        os.symlink('other', self.tree.path(PI))
        self.tree.write('boot/firmware/other', LINE)
        self.refused('symbolic link')
        os.unlink(self.tree.path(PI))
        os.mkdir(self.tree.path(PI))
        self.refused('it is no file')

    def test_made_by_raspi_firmware(self):
        self.put(LINE + '\n')
        self.tree.write('etc/kernel/postinst.d/z50-raspi-firmware', '#!/bin/sh\n. /etc/default/raspi-extra-cmdline\n')
        self.refused('raspi-firmware')
        self.tree.write('etc/kernel/postinst.d/z50-raspi-firmware', '#!/bin/sh\n')
        self.changed(f'{LINE} {WORD}\n')

    def test_word_from_elsewhere(self):
        "This boot has the word, and the file does not."
        self.put(LINE + '\n')
        self.boots(f'{LINE} usb-storage.quirks=0bc2:ab38:u')
        self.refused('from another place')

    def test_own_entry_of_the_user(self):
        "auto does not remove what uasctl has not written."
        self.put(f'{LINE} {WORD}\n')
        self.refused('has not written', 'auto')

    def test_modprobe(self):
        "No known boot loader: a file of our own in modprobe.d, which auto removes."
        self.tree.write('etc/modprobe.d/a.conf', 'options usb-storage quirks=0bc2:ab38:f\n')
        self.tree.write('etc/initramfs-tools/initramfs.conf', '')
        before = self.files()
        text = '# Written by uasctl policy --kernel --write.\noptions usb-storage quirks=1209:5a5a:u,0bc2:ab38:f\n'
        shown = [f'/{OURS}:', '+options usb-storage quirks=1209:5a5a:u,0bc2:ab38:f']
        self.assertEqual(self.policy('sda', 'usb-storage', '--dry-run').stdout.splitlines(), shown)
        self.assertEqual(self.files(), before)
        p = self.policy('sda', 'usb-storage')
        self.assertEqual(p.stdout.splitlines(), shown)
        self.assertIn('update-initramfs -u', p.stderr)
        self.assertEqual(self.files(), {**before, OURS: text})
        self.assertEqual(os.stat(self.tree.path(OURS)).st_mode, 0o100644)
        self.policy('sda', 'usb-storage')
        self.assertEqual(self.files(), {**before, OURS: text})
        p = self.policy('sda', 'auto')
        self.assertEqual(p.stdout.splitlines(), [shown[0], '-' + shown[1][1:]])
        self.assertIn('Nothing of uasctl is left in it.\n', p.stderr)
        self.assertEqual(self.files(), before)
        self.assertIn('nothing to change', self.policy('sda', 'auto').stderr)
        self.put(text + '# mine\n', OURS)
        self.refused('not as uasctl has written it')

    def test_modprobe_has_no_effect(self):
        self.path = OURS
        self.boots('usb-storage.quirks=0bc2:ab38:u')
        self.refused('from another place')
        os.unlink(self.tree.path('sys/module/usb_storage/initstate'))
        self.tree.write('lib/modules/6.1.0-test/modules.builtin', 'kernel/drivers/usb/storage/usb-storage.ko\n')
        self.tree.write('usr/lib/modules/6.1.0-test/modules.builtin', 'kernel/drivers/usb/storage/usb-storage.ko\n')
        self.refused('does not know the file')

    def test_twice(self):
        "The kernel uses only the last of two words. The change makes one of them, and auto gives the file back as it was."
        self.tree.disk('2-2', 'sdb', 'uas', ids=(0x0781, 0x5580), serial='S2')
        old = f'usb-storage.quirks=152d:0578:u {LINE} usb_storage.quirks=0781:5580:u quiet\n'
        self.put(old)
        self.boots(old)
        self.tree.write('sys/module/usb_storage/parameters/quirks', '0781:5580:u\n')
        self.changed(f'{LINE} usb_storage.quirks=1209:5a5a:u,152d:0578:u,0781:5580:u quiet\n')
        # The disk of the word that is not used, as explain advises: nothing is left to advise then.
        self.tree.disk('2-3', 'sdc', 'uas', ids=(0x152d, 0x0578), serial='S3')
        said = self.tree.run('policy', '--kernel', 'sdc')
        self.assertIn('usb-storage.quirks=152d:0578:u,0781:5580:u\n', said.stdout)
        self.assertIn('Delete this word: usb-storage.quirks=152d:0578:u\n', said.stderr)
        self.assertNotIn('no entry to add', said.stderr)
        self.policy('sdc', 'usb-storage')
        self.assertEqual(self.read(), f'{LINE} usb_storage.quirks=152d:0578:u,0781:5580:u quiet\n')
        self.boots(self.read().strip())
        self.tree.write('sys/module/usb_storage/parameters/quirks', '152d:0578:u,0781:5580:u\n')
        said = self.tree.run('policy', '--kernel', 'sdc')
        self.assertIn('no entry to add', said.stderr)
        self.assertNotIn('Delete', said.stderr)

    def test_too_long(self):
        "A list of 179 characters: one that fits is printed and written, with the disks that are plugged in."
        ids = ('174c:55aa 2109:0715 152d:0578 152d:0579 152d:1561 174c:0829 14b0:0206 174c:225c 7825:a2a4 152d:0562 125f:a88a 152d:a583 152d:a578 '
               '152d:0583 0bda:9201').split()
        long = ','.join(f'{one}:u' for one in ids)
        self.assertEqual(len(long), 179)
        self.tree.disk('2-2', 'sdb', 'uas', ids=(0x0bda, 0x9201), serial='S2')
        self.put(f'{LINE} usb-storage.quirks={long}\n')
        self.boots(self.read().strip())
        fits = '1209:5a5a:u,0bda:9201:u,174c:55aa:u,2109:0715:u,152d:0578:u,152d:0579:u,152d:1561:u,174c:0829:u,14b0:0206:u,174c:225c:u'
        said = self.changed(f'{LINE} usb-storage.quirks={fits}\n')
        self.assertIn('Left out, since the string is full: 7825:a2a4:u,152d:0562:u', said)
        for disk, first in ('sdb', '0bda:9201:u,174c:55aa'), ((), '0bda:9201:u,174c:55aa'):
            said = self.tree.run('policy', '--kernel', '--no-legend', *([disk] if disk else []))
            self.assertIn(f'usb-storage.quirks={first}', said.stdout)
            self.assertLessEqual(max(map(len, said.stdout.splitlines())), len('options usb-storage quirks=') + 127)
            self.assertIn('have 179 characters. The kernel takes 127, and cannot load usb-storage.', said.stderr)
            self.assertIn('Left out', said.stderr)
        os.unlink(self.tree.path('sys/module/usb_storage/initstate'))
        self.assertIn('and uses none of these entries', self.tree.run('policy', '--kernel').stderr)
        self.assertIn('runs without the entries of that string', ' '.join(self.tree.run('explain', 'sdb').stdout.split()))

    def test_other_file(self):
        "The machine has booted with other words: the change would have no effect, so another file is taken, or none."
        self.put(f'{LINE} elevator=noop\n')
        self.refused('without some of its words')
        self.put(f'{LINE} elevator=noop\n', 'boot/cmdline.txt')
        self.assertIn(' /boot/firmware/cmdline.txt is not changed: ', self.policy('sda', 'usb-storage', code=1).stderr)
        os.unlink(self.tree.path('boot/cmdline.txt'))
        for booted, text in (f'{LINE} quiet=1', f'{LINE} quiet'), (f'{LINE} quiet', f'{LINE} quiet=1'), (f'{LINE} quiet=2', f'{LINE} quiet=1'), ('q', LINE):
            self.boots(booted)
            self.put(text + '\n')
            self.refused('without some of its words')
        self.boots()
        self.put(f'{LINE} elevator=noop\n')
        self.put(LINE + '\n', 'etc/kernel/cmdline')
        self.changed(f'{LINE} {WORD}\n')
        os.unlink(self.tree.path('etc/kernel/cmdline'))
        self.put(f'{LINE} console=serial0,115200\n')  # the firmware of a Raspberry Pi tells the kernel the name of the port
        self.changed(f'{LINE} console=serial0,115200 {WORD}\n')
        for number in 0, 1:
            self.put(f'{LINE} console=serial{number},115200\n')
            self.changed(f'{LINE} console=serial{number},115200 {WORD}\n')
        self.put(f'{LINE} console=serial0,115200\n')
        for text, why in (('[all]\nos_prefix=current/\n', 'os_prefix'), ('cmdline=other.txt\n', 'another file'), ('#cmdline=a.txt\ncmdline=cmdline.txt\n', None)):
            self.tree.write('boot/firmware/config.txt', text)
            if why:
                self.refused(why)
            else:
                self.changed(f'{LINE} console=serial0,115200 {WORD}\n')

    def test_another_loader_than_grub(self):
        "GRUB is installed beside systemd-boot."
        self.tree.write('boot/grub/grub.cfg', '')
        self.put(GRUB_TEXT % '', GRUB)
        self.boots(LINE)
        self.refused('GRUB has not started this machine')
        self.boots(f'initrd=x BOOT_IMAGE=/vmlinuz quiet {LINE}')
        self.changed(GRUB_TEXT % WORD)
        self.boots(LINE)
        self.put(LINE + '\n', 'etc/kernel/cmdline')
        self.changed(f'{LINE} {WORD}\n')

    def test_trim(self):
        "The kernel uses TRIM only under uas: the command that keeps it."
        self.put(LINE + '\n')
        self.assertNotIn('TRIM', self.policy('sda', 'usb-storage').stderr)
        self.policy('sda', 'auto')
        self.tree.write('sys/class/block/sda/queue/discard_max_bytes', '2147450880\n')
        for page, said in ((b'', 'To keep TRIM: uasctl --force trim 2-1 on\n'), (bytes([0, 0xb2, 0, 4, 0, 0, 0, 0]), 'no TRIM by itself.\n'),
                           (bytes([0, 0xb2, 0, 4, 0, 0x80, 2, 0]), 'To keep TRIM: uasctl trim 2-1 on\n')):
            self.tree.write('sys/class/block/sda/device/vpd_pgb2', page)
            self.assertIn(said, self.policy('sda', 'usb-storage').stderr)
            self.policy('sda', 'auto')
            self.assertIn(said, self.tree.run('switch', '--dry-run', 'sda', 'usb-storage').stderr)
            self.assertNotIn('TRIM', self.tree.run('switch', '--dry-run', 'sda', 'uas').stderr)
        # Only with an entry to add.
        kept = 'To keep TRIM: uasctl trim 2-1 on\n'
        self.assertNotIn(kept, self.tree.run('policy', '--kernel', 'sda').stderr)
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        self.assertIn(kept, self.tree.run('policy', '--kernel', 'sda').stderr)
        self.assertNotIn(kept, self.tree.run('policy', '--kernel').stderr)

    def test_failed(self):
        """Without a disk, as uasd has it run: an entry for the disk with the system with which UAS has failed, and for no other."""
        record = '=state=distrusted firmware=0214 kernel=6.1.0-test boot=- date=2026-11-20T15:45:07Z reason=it failed\n'
        root = '20 1 8:0 / / rw - ext4 /dev/sda rw\n'
        self.put(LINE + '\n')
        self.tree.disk('2-2', 'sdb', 'uas', serial='S2', ids=(0x152d, 0x0578))
        for mounts, records, policy, wanted in ((root, '', '', None), ('', '1209:5a5a:S1@0000:00:14.0/ss/1', '', None),
                                                (root, '152d:0578:S2@0000:00:14.0/ss/2', '', None),
                                                (root, '', '1209:5a5a:S1=usb-storage\n', None),
                                                (root, '1209:5a5a:S1@0000:00:14.0/ss/1', '1209:5a5a:S1=uas force\n', None),
                                                (root, '1209:5a5a:S1@0000:00:14.0/ss/1', '', f'{LINE} {WORD}\n')):
            self.tree.write('proc/1/mountinfo', mounts or '20 1 9:0 / / rw - ext4 /dev/vda rw\n')
            self.tree.write('etc/uasd/history', 'generation=1\n' + (records + record if records else ''))
            self.tree.write('etc/uasd/policy', policy)
            before = self.files()
            said = self.policy()
            self.assertEqual(self.read(), wanted or LINE + '\n')
            if not wanted:
                self.assertEqual(self.files(), before)
                self.assertIn('nothing to write', said.stderr)
        self.assertIn('2-1:1.0 sda: the running system is on it, and /boot/firmware/cmdline.txt now starts it on usb-storage. '
                      'UAS failed on 2026-11-20: it failed (firmware 2.14, Linux 6.1.0-test).', said.stderr)
        self.assertIn('To undo it: uasctl forget 2-1\nuasctl: and then: uasctl policy --kernel --write 2-1 auto\n', said.stderr)
        self.assertEqual(self.policy().stdout, '')  # a second time nothing changes
        self.put(f'{LINE}\n')
        said = self.policy('--dry-run')
        self.assertEqual((said.stdout.splitlines()[-1], said.stderr, self.read()), (f'+{LINE} {WORD}', '', f'{LINE}\n'))
        self.put(wanted)
        self.assertEqual(self.read(), wanted)
        self.put(f'{LINE}\n')  # an update of the system
        self.policy()
        self.assertEqual(self.read(), wanted)
        self.put(LINE + '\n', 'boot/cmdline.txt')
        os.unlink(self.tree.path(PI))
        self.boots(LINE + ' elevator=noop')
        self.put(LINE + ' quiet\n', 'boot/cmdline.txt')
        self.assertIn('without some of its words', self.policy(code=1).stderr)
        self.assertEqual(self.read(), LINE + ' quiet\n')
        os.unlink(self.tree.path('boot/cmdline.txt'))
        self.boots()
        self.tree.write('boot/grub/grub.cfg', '')
        self.put(GRUB_TEXT % '', GRUB)
        said = self.policy(code=1)
        self.assertIn('a command must follow', said.stderr)
        self.assertIn(f'The word for the kernel command line: {WORD}\n', said.stderr)
        self.assertEqual(self.read(), GRUB_TEXT % '')

    def test_two_disks(self):
        "Each disk is taken back on its own. The backup stays until nothing of ours is left."
        self.tree.disk('2-2', 'sdb', 'uas', ids=(0x152d, 0x0580), serial='S2')
        self.put(LINE + '\n')
        self.policy('sda', 'usb-storage')
        self.policy('sdb', 'usb-storage')
        self.assertEqual(self.read(), f'{LINE} usb-storage.quirks=152d:0580:u,1209:5a5a:u\n')
        self.put(self.read().replace('rootwait', 'rootwait quiet'))  # a change by the user meanwhile
        self.policy('sda', 'auto')
        self.assertEqual(self.read(), f'{LINE} quiet usb-storage.quirks=152d:0580:u\n')
        self.assertEqual(self.read(PI + '.uasd-backup'), LINE + '\n')
        self.policy('sdb', 'auto')
        self.assertEqual(self.read(), f'{LINE} quiet\n')
        self.assertFalse(os.path.exists(self.tree.path(PI + '.uasd-backup')))

    def test_former_entry(self):
        "The user has changed other entries since: auto removes ours, and the one that was there comes back, if there is room."
        word, other = 'usb-storage.quirks=', '0bc2:ab38:f'
        self.boots(f'{LINE} {word}1209:5a5a:f')
        for now, back in (f'1209:5a5a:fu,{other}', f'1209:5a5a:f,{other}'), (other, f'1209:5a5a:f,{other}'), ('1209:5a5a:fu', '1209:5a5a:f'):
            self.put(f'{LINE} {word}1209:5a5a:f\n')
            self.policy('sda', 'usb-storage')
            self.put(f'{LINE} {word}{now}\n')
            self.policy('sda', 'auto')
            self.assertEqual(self.read(), f'{LINE} {word}{back}\n')
            self.assertEqual(os.path.exists(self.tree.path(PI + '.uasd-backup')), back != '1209:5a5a:f')
        full = ','.join(f'152d:{0x0500 + n:04x}:u' for n in range(10))
        for now, why in (full, 'no room for the former entry'), (f'{full},{full}', 'longer than the kernel takes'):
            self.put(f'{LINE} {word}1209:5a5a:f\n')
            self.policy('sda', 'usb-storage')
            self.put(f'{LINE} {word}{now}\n')
            self.refused(why, 'auto')

    def test_force(self):
        "The kernel's own table keeps the disk off uas."
        self.tree.disk('2-2', 'sdb', ids=(0x4971, 0x1012), serial='S2')
        self.put(LINE + '\n')
        self.assertIn(' --force overrides that.\n', self.policy('sdb', 'uas', code=6).stderr)
        self.assertEqual(self.read(), LINE + '\n')
        self.policy('sdb', 'uas', '--force')
        self.assertEqual(self.read(), f'{LINE} usb-storage.quirks=4971:1012:\n')

    def test_alike(self):
        self.tree.disk('2-2', 'sdb', 'uas', serial='S2')
        self.put(LINE + '\n')
        self.assertIn('2-2:1.0', self.policy('sda', 'usb-storage').stderr)

    def test_mode(self):
        self.put(LINE + '\n')
        os.chmod(self.tree.path(PI), 0o640)
        self.policy('sda', 'usb-storage')
        self.assertEqual({stat.S_IMODE(os.stat(self.tree.path(PI + end)).st_mode) for end in ('', '.uasd-backup')}, {0o640})

    def test_label(self):
        "The new file and the backup have the extended attributes of the old one: its ACL, the label of SELinux."
        acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, rights, who) for tag, rights, who in (
            (1, 6, 2**32 - 1), (2, 4, 1000), (4, 4, 2**32 - 1), (16, 4, 2**32 - 1), (32, 0, 2**32 - 1)))
        self.put(LINE + '\n')
        try:
            os.setxattr(self.tree.path(PI), 'user.origin', b'image')
            os.setxattr(self.tree.path(PI), 'system.posix_acl_access', acl)
        except OSError as e:
            self.skipTest(str(e))
        self.policy('sda', 'usb-storage')
        for end in '', '.uasd-backup':
            self.assertEqual(os.getxattr(self.tree.path(PI + end), 'user.origin'), b'image')
            self.assertEqual(os.getxattr(self.tree.path(PI + end), 'system.posix_acl_access'), acl)

    def test_changed_meanwhile(self):
        "While uasctl prints, another program changes the file: that change stays."
        self.put(LINE + '\n')
        out, filled = os.pipe()
        room = fcntl.fcntl(filled, fcntl.F_SETPIPE_SZ, 4096)
        os.write(filled, bytes(room))
        p = subprocess.Popen([PROGRAM, self.tree.top, 'policy', '--kernel', '--write', 'sda', 'usb-storage'],
                             env=dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', LC_ALL='C.UTF-8'),
                             stdout=filled, stderr=subprocess.PIPE, text=True)
        os.close(filled)
        until(lambda: self.sleeps(p.pid) or self.assertIsNone(p.poll()), 'it waits for room in the pipe', pause=0)
        self.put('quiet ' + LINE + '\n')
        with open(out, 'rb') as f:
            f.read()
        self.assertIn('changed it meanwhile', p.communicate(timeout=patience())[1])
        self.assertEqual((p.returncode, self.read()), (1, 'quiet ' + LINE + '\n'))
        self.assertEqual(os.listdir(self.tree.path('boot/firmware')), ['cmdline.txt'])

    def test_two_at_once(self):
        "The second one waits for the first one, whose temporary file stays. Then the file is another one."
        self.put(LINE + '\n')
        self.put('half', PI + '.uasd-new')
        before = self.files()
        with open(self.tree.path('run/uasd/boot.lock'), 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            p = subprocess.Popen([PROGRAM, self.tree.top, 'policy', '--kernel', '--write', 'sda', 'usb-storage'],
                                 env=dict(os.environ, LC_ALL='C.UTF-8'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(lambda: (p.kill(), p.wait()))
            self.assertIn(WORD, p.stdout.readline() + p.stdout.readline() + p.stdout.readline())
            self.assertRaises(subprocess.TimeoutExpired, p.wait, 0.3)
            self.assertEqual(self.files(), before)
            os.rename(self.tree.path(PI + '.uasd-new'), self.tree.path(PI))
        self.assertIn('changed it meanwhile', p.communicate(timeout=patience())[1])
        self.assertEqual((p.returncode, self.files()), (1, {PI: 'half'}))

    def sleeps(self, pid):
        "Half a second without a moment of work: it waits for room in the pipe."
        for _time in range(5):
            with open(f'/proc/{pid}/stat') as f:
                if f.read().rpartition(') ')[2][0] != 'S':
                    return False
            let_pass(0.1)
        return True

    def test_full(self):
        "Without space for the new file the old one stays. A folder in its place has the same effect here."
        self.put(LINE + '\n')
        os.makedirs(self.tree.path(PI + '.uasd-new'))
        self.assertIn('Cannot change /boot/firmware/cmdline.txt', self.policy('sda', 'usb-storage', code=1).stderr)
        self.assertEqual(self.files()[PI], LINE + '\n')

    @unittest.skipUnless(os.getuid() == 0, 'drops its rights')
    def test_not_root(self):
        self.put(LINE + '\n')
        os.chmod(self.tree.top, 0o755)
        p = self.tree.run('policy', '--kernel', '--write', 'sda', 'usb-storage', user=65534, group=65534)
        self.assertEqual(p.returncode, 8, p)
        self.assertIn('Run it as root', p.stderr)
        self.assertEqual(self.read(), LINE + '\n')

    def test_disk(self):
        self.put(LINE + '\n')
        before = self.files()
        self.tree.disk('2-3', 'sdc', 'usb-storage', ids=(0x152d, 0x0581), serial='S3', uas=False)
        self.policy('sdz', 'usb-storage', code=4)
        self.policy('sdc', 'uas', code=5)
        for words in ['sda'], ['sda', 'ignore'], ['sda', 'nonsense']:
            self.policy(*words, code=2)
        for words in ['--write', 'sda', 'uas'], ['--kernel', '--dry-run', 'sda'], ['--dry-run', 'sda', 'uas'], ['--kernel', 'sda', 'uas']:
            self.assertEqual(self.tree.run('policy', *words).returncode, 2, words)
        self.assertEqual(self.files(), before)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl on a private bus, with fake-uasd: exit status, stdout, stderr."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import openmetrics
import terminal
from patience import patience, stop
from sidebyside import loader
from tree import Tree

FAKE, IN_TREE = sys.argv[1:3]
MANUAL = os.path.join(os.path.dirname(__file__), '../../man/uasctl.1.scd')

BUS_CONFIG = """<busconfig>
<type>system</type><listen>unix:path={}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow own="*"/><allow eavesdrop="true"/></policy>
</busconfig>"""


class Uasctl(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        os.chmod(self.dir, 0o755)
        config = os.path.join(self.dir, 'bus.conf')
        with open(config, 'w') as f:
            f.write(BUS_CONFIG.format(self.dir))
        self.there = Tree(IN_TREE)
        self.addCleanup(self.there.close)
        self.there.parts()
        os.chmod(self.there.top, 0o755)
        self.program = [IN_TREE, self.there.top]
        self.env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=f'unix:path={self.dir}/bus', LC_ALL='C.UTF-8', TREE=self.there.top)
        self.env.pop('NO_COLOR', None)
        self.bus = subprocess.Popen(['dbus-daemon', '--config-file', config, '--nofork', '--print-address'],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.bus.stdout.readline()
        self.daemon = None

    def tearDown(self):
        for p in (self.daemon, self.bus):
            if p:
                p.kill()
                p.wait()
                p.stdout.close()
        shutil.rmtree(self.dir)

    def start(self, *version):
        self.daemon = subprocess.Popen([FAKE, *version], env=self.env, stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.daemon.stdout.readline(), 'ready\n')

    def asked(self):
        """The next call to the daemon."""
        return self.daemon.stdout.readline().rstrip('\n')

    def run_ctl(self, *args, code=0, timeout=20, call=None):
        """CALL: the call to the daemon after which it gets SIGUSR1, which a disk's part waits for."""
        with subprocess.Popen([*self.program, *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL) as p:
            self.addCleanup(p.kill)
            if call:
                self.assertEqual(self.asked(), call)
                self.daemon.send_signal(signal.SIGUSR1)
            out, err = p.communicate(timeout=patience(timeout))
        self.assertEqual(p.returncode, code, f'{args}: {out}{err}')
        self.assertNotIn('\033', out + err)
        return subprocess.CompletedProcess(p.args, p.returncode, out, err)

    def tree(self):
        """A machine in a folder: a disk at rest, and one that waits."""
        tree = Tree(IN_TREE)
        self.addCleanup(tree.close)
        tree.disk('2-1', 'sda', 'uas')
        tree.disk('2-3', 'sdb')
        return tree

    def on_terminal(self, *args, width=120, program=None, **env):
        """The output of uasctl on a terminal of this width."""
        out, status = terminal.run([*(program or self.program), *args], {**self.env, 'TERM': 'xterm', 'PAGER': '', **env}, width)
        self.assertEqual(status, 0, out)
        self.assertNotIn('\033]', out)
        self.assertNotIn('\033[31mDisk', out)
        return out

    def monitor(self, *args):
        """A running uasctl monitor, which has printed the present disks; and its further lines."""
        p = subprocess.Popen([*self.program, 'monitor', *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: (p.kill(), p.wait(), p.stdout.close(), p.stderr.close()))
        return p


class Lists(Uasctl):
    def test_list(self):
        self.start()
        p = self.run_ctl()
        self.assertEqual(p.stderr, '')
        lines = p.stdout.splitlines()
        self.assertEqual(len(lines), 11)
        self.assertEqual(lines[0].split(), 'DISK PRODUCT SIZE LINK DRIVER STATE PORT'.split())
        self.assertRegex(lines[1], r'^sda +Maker Disk +931\.5G +5 Gbit/s +usb-storage! +ok +2-1$')
        self.assertRegex(lines[2], r' 480 Mbit/s! ')
        self.assertEqual(lines[10], '9 hints: uasctl status')
        self.assertEqual(self.run_ctl('list', '--no-legend', '--no-pager').stdout.splitlines(), lines[1:10])
        self.assertIn('\\x1b]0;pwned', p.stdout)

    def test_json(self):
        self.start()
        out = json.loads(self.run_ctl('--json').stdout)
        self.assertEqual(out['version'], 1)
        self.assertEqual([d['id'] for d in out['disks']], [f'2-{i}:1.0' for i in range(1, 10)])
        self.assertEqual(out['disks'][6]['product'], '\033]0;pwned\a\033[31mDisk')
        self.assertEqual([(d['speed_mbps'], d['max_speed_mbps']) for d in out['disks'][:4]],
                         [(5000, None), (480, 5000), (5000, None), (5000, None)])
        one = json.loads(self.run_ctl('status', 'sdi', '--json').stdout)
        self.assertEqual([d['state'] for d in one['disks']], ['held'])

    def test_status(self):
        self.start()
        out = self.run_ctl('status', 'BAD').stdout
        self.assertTrue(out.startswith('● sdc: Maker Disk, 931.5G, on usb-storage - ok\n'), out)
        self.assertRegex(out, r'(?m)^ +Link: 5 Gbit/s at port 2-3$')
        self.assertNotIn('State:', out)
        self.assertTrue(out.endswith('\n--all prints everything.\n'))
        self.assertRegex(self.run_ctl('status', '--all', 'BAD').stdout, r'(?m)^ +State: settled$')
        self.assertRegex(self.run_ctl('status', 'BUSY').stdout, r'(?m)^ +Link: 480 Mbit/s at port 2-2; the device could do 5 Gbit/s$')

    def columns(self):
        """The columns in the manual."""
        with open(MANUAL) as f:
            return re.findall(r'(?m)^\*([A-Z-]+)\*$', f.read().split('# COLUMNS')[1].split('\n# ')[0])

    def test_columns(self):
        self.start()
        known = self.columns()
        p = self.run_ctl('-o', ','.join(known))
        self.assertEqual(p.stdout.splitlines()[0].split(), known)
        self.assertEqual(self.run_ctl('list', '--output=id,Disk', '--no-legend').stdout.splitlines()[0].split(),
                         ['2-1:1.0', 'sda'])
        self.assertRegex(self.run_ctl('list', '-o', '+SERIAL,ID').stdout.splitlines()[1], r' ok +2-1 +FREE +2-1:1\.0$')
        self.assertEqual(self.run_ctl('-o', 'bus,port,target,bridge,revision,usb,capable,policy,verdict,history,host,reason-id,busy',
                                      '--no-legend').stdout.splitlines()[3].split(),
                         '2 2-4 uas 1209:5a5a 2.14 3.20 no auto unknown - host3 fastest -'.split())
        for wrong in 'NAME', '', '+', 'ID,,STATE', 'ID,NAME', 'ID ', ','.join(['ID'] * 65):
            p = self.run_ctl('list', '-o', wrong, code=2)
            self.assertEqual(p.stdout, '')
            self.assertEqual(len(p.stderr.splitlines()), 1)
        self.assertEqual(p.stderr, 'uasctl: More than 64 columns are too many.\n')
        p = self.run_ctl('list', '-o', 'NAME', code=2)
        self.assertEqual(p.stderr, f"uasctl: There is no column 'NAME'. There are: {', '.join(known)}.\n")
        self.run_ctl('switch', 'sdb', 'uas', code=3)
        self.assertIn('mounted on /mnt/usb (sdb1)', self.run_ctl('list', '-o', 'ID,BUSY').stdout.splitlines()[2])
        self.assertRegex(self.run_ctl('list', '-o', 'DISK,STATE').stdout.splitlines()[2], '^sdb +waiting: /mnt/usb$')

    def test_tree(self):
        """Disks below their bus. The descriptions come from sysfs, which has none of these."""
        self.start()
        lines = self.run_ctl('list', '--tree', '-o', 'ID,DISK').stdout.splitlines()
        self.assertEqual(lines[:3], ['ID        DISK', 'usb2      ', '├─2-1:1.0 sda'])
        self.assertEqual(lines[10:], ['└─2-9:1.0 sdi'])
        self.env['LC_ALL'] = 'C'
        self.assertEqual(self.run_ctl('list', '--tree', '-o', 'ID,DISK').stdout.splitlines()[10], '`-2-9:1.0 sdi')

    def test_without_daemon(self):
        """No disk waits, because nothing would switch it. The table looks for users only if it shows them."""
        tree = self.tree()
        p = tree.run('list', '--no-legend')
        self.assertRegex(p.stdout, r'^sda +Maker .* +1M +5 Gbit/s +uas +ok +2-1\nsdb +Maker .* +1M +5 Gbit/s +usb-storage! +needs uasd +2-3$')
        os.unlink(tree.path('proc/1/mountinfo'))
        for args, looked in (['list'], [False, False]), (['list', '--tree'], [False, False]), (['-o', 'ID,BUSY'], [True, True]), \
                            (['--json'], [True, True]), (['status'], [True, True]):
            p = tree.run(*args)
            self.assertEqual(p.returncode, 0)
            self.assertEqual([f'Cannot find out who uses {port}:1.0' in p.stderr for port in ('2-1', '2-3')], looked, (args, p.stderr))


class Terminal(Uasctl):
    def test_colours(self):
        """Only on a terminal, and not if the user disables them. Names from a device never add any."""
        self.start()
        for env, expect in (({}, True), ({'NO_COLOR': ''}, True), ({'NO_COLOR': '1'}, False), ({'TERM': 'dumb'}, False),
                            ({'SYSTEMD_COLORS': '0'}, False), ({'SYSTEMD_COLORS': '1', 'NO_COLOR': '1'}, True)):
            out = self.on_terminal(**env)
            self.assertEqual('\033[33mok' in out, expect, (env, out))
            self.assertEqual('\033[33m480 Mbit/s!' in out, expect, (env, out))
            self.assertEqual('\033[33musb-storage!' in out, expect, (env, out))
        self.env['SYSTEMD_COLORS'] = '1'
        p = subprocess.run(self.program, env=self.env, capture_output=True, text=True, timeout=patience())
        self.assertIn('\033[33mok', p.stdout)

    def test_width(self):
        """No line is wider than the terminal. The product is cut, then columns are left out. The driver is always whole."""
        self.start()
        plain = self.run_ctl().stdout.splitlines()
        product = 'Maker \\x1b]0;pwned\\x07\\x1b[31mDisk'
        left_out = set()
        for width in 120, 100, 90, 85, 80, 79, 70, 65, 60, 55, 50, 45, 40:
            lines = self.on_terminal(width=width, NO_COLOR='1').splitlines()
            self.assertLessEqual(max(map(len, lines)), width, lines)
            names = lines[0].split()
            self.assertEqual(names, [name for name in plain[0].split() if name in names])
            gone = {*plain[0].split()} - {*names}
            self.assertEqual(gone, {*['PORT', 'SIZE', 'PRODUCT', 'LINK'][:len(gone)]}, width)
            left_out.add(len(gone))
            if width >= 80:
                self.assertEqual(names, plain[0].split())
            self.assertEqual(any(product in line for line in lines), width >= max(map(len, plain)))
            rows = [line for line in lines[1:] if line.startswith('sd')]
            self.assertEqual([line.count(' usb-storage! ') for line in rows], [1] * 9, lines)
        self.assertLessEqual({0, 1, 2, 3}, left_out)
        self.assertIn('…', self.on_terminal(width=80, LC_ALL='C.UTF-8'))
        self.assertIn('~', self.on_terminal(width=80, LC_ALL='C'))
        folded = [self.on_terminal('-o', 'ID,REASON', width=30, NO_COLOR='1', LC_ALL=one) for one in ('C.UTF-8', 'C')]
        self.assertRegex(folded[0], r'\n {8}\w')
        self.assertEqual(*folded)
        # $COLUMNS, if it is a number, or what the terminal knows.
        at = {width: self.on_terminal(width=width, NO_COLOR='1') for width in (70, 80)}
        for columns, width, like in ('70', 120, 70), ('0', 70, 70), ('x', 70, 70), ('', 70, 70), ('', 0, 80):
            self.assertEqual(self.on_terminal(width=width, NO_COLOR='1', COLUMNS=columns), at[like], (columns, width))
        self.assertIn(product, self.run_ctl().stdout)
        # Neither column can be folded.
        plain = self.run_ctl('-o', 'ID,DRIVER').stdout.splitlines()
        width = max(map(len, plain))
        for less, first in (0, plain[0].rstrip()), (1, '    ID:'):
            self.assertEqual(self.on_terminal('-o', 'ID,DRIVER', width=width - less, NO_COLOR='1').splitlines()[0].rstrip(), first)
        # No table fits there.
        named = self.on_terminal('-o', 'REASON,PRODUCT,STATE,DRIVER', width=20, NO_COLOR='1')
        self.assertEqual(re.findall('(?m)^ *([A-Z]+): ', named), ['REASON', 'PRODUCT', 'STATE', 'DRIVER'] * 9)
        self.assertEqual(named.count('usb-storage!'), 9)

    def test_step(self):
        """The step of a switch, cut to the width of the terminal. It is erased, also if uasd does not say that it has ended."""
        self.env['STEP'] = 'freeze \033[31mthe disk'
        self.start()
        shown = self.on_terminal('switch', 'sda', 'uas', width=30)
        line = '\r2-1:1.0: freeze \\x1b[31mthe …\033[K'
        self.assertRegex(shown, r'until it is unplugged\.\r\n(?:%s)+\r\033\[Kuasctl: 2-1:1\.0 \(sda\): It runs on its new driver\.\r\n$' % re.escape(line))
        self.run_ctl('switch', 'sdb', 'uas', code=3)
        shown, status = terminal.run([*self.program, 'wait', 'sdb'], {**self.env, 'TERM': 'xterm'}, 100,
                                     then=(b'\033[K', lambda: self.daemon.send_signal(signal.SIGUSR1)))
        self.assertEqual(status, 0)
        self.assertRegex(shown, r'^(?:\r2-2:1\.0: freeze \\x1b\[31mthe disk\033\[K)+\r\033\[K$')
        for args, env in (['usb-storage', '-q'], {}), (['uas'], {'TERM': 'dumb'}):
            self.assertNotIn('\r2-', self.on_terminal('switch', 'sda', *args, **env))

    def test_explain_width(self):
        """No word is broken, and no line is too wide."""
        tree = self.tree()

        def words(width):
            shown = self.on_terminal('-q', '--no-pager', 'explain', '--all', 'sda', program=[IN_TREE, tree.top], width=width, NO_COLOR='1')
            shown = shown.replace('\r', '')
            self.assertLessEqual(max(map(len, shown.splitlines())), width)
            return sorted(shown.split())
        self.assertIn('pipe', words(200))
        for width in 120, 80, 76, 70, 64, 60, 55, 50, 45, 40:
            self.assertEqual(words(width), words(200), width)

    def test_prefix(self):
        """Every message begins with uasctl, whatever argv[0] is, and no line ends with a blank."""
        for args in ['--nosuch'], ['-x'], ['metrics', 'foo'], ['inhibit', '--nosuch', 'true'], ['--since']:
            said = self.run_ctl(*args, code=2).stderr
            self.assertRegex(said, r'^uasctl: .*\S\n', args)
            self.assertNotRegex(said, r' \n', args)
        for args in ['monitor'], ['inhibit', '--list']:
            self.assertIn('uasd is not running, and only it can do that.', self.run_ctl(*args, code=1).stderr)

    def test_pager(self):
        """On a terminal, the pager that the user selects, without a shell."""
        self.start()
        seen = os.path.join(self.dir, 'seen')
        ours = os.path.join(self.dir, 'less')
        with open(ours, 'w') as f:
            f.write('#!/bin/sh\n'
                    f'exec >{seen}\nprintf "%s\\n" "$LESS" "$LESSSECURE" "$LESSCHARSET" "$*"\n'
                    '[ "$1" = --version ] && exit\n'
                    # Both get a Ctrl+C, which must not end uasctl.
                    'read -r _ _ _ _ ours _ </proc/$$/stat\nread -r _ _ _ _ theirs _ </proc/$PPID/stat\n'
                    '[ "$ours" = "$theirs" ] || echo "in another process group"\n'
                    'IFS= read -r line\nkill -INT $PPID\nprintf "%s\\n" "$line"\n/bin/cat\n')
        os.chmod(ours, 0o755)
        os.mkdir(os.path.join(self.dir, 'bin'))
        for name in 'pager', 'cat':
            os.symlink(ours, os.path.join(self.dir, 'bin', name))
        path = f'{self.dir}/bin:/usr/bin:/bin'

        def paged(*args, **env):
            self.assertFalse(os.path.exists(seen))
            shown = self.on_terminal(*args, **env)
            if not os.path.exists(seen):
                self.assertRegex(shown, '2-1|Disk')
                return None
            self.assertEqual(shown, '')
            with open(seen) as f:
                text = f.read()
            os.unlink(seen)
            return text.splitlines()

        lines = paged(PAGER=f'{ours}  a;touch $(x) ')
        self.assertEqual(lines[:4], ['FRSXMK', '1', 'utf-8', 'a;touch $(x)'])
        self.assertEqual(len(lines), 15)
        self.assertLessEqual(max(len(re.sub('\033[^m]*m', '', line)) for line in lines[5:]), 120)
        self.assertIn('\033[33mok', lines[5])
        self.assertEqual(paged(SYSTEMD_PAGER=ours, PAGER='/nonexistent', SYSTEMD_LESS='X')[0], 'X')
        self.assertEqual(paged(PAGER=' '.join([ours, *'abcdefghijklmnopqrst']))[3], 'a b c d e f g h i j k l m n o')  # 16 words are enough
        self.assertEqual(paged(PAGER=ours, LC_ALL='C')[2], '')
        self.assertIn('      Link: 5 Gbit/s', '\n'.join(paged('status', PAGER=ours, NO_COLOR='1')))
        tree = self.tree()
        for verb, row in ('explain', 'unknown-bridge'), ('db', 'Verdict: unknown'):
            self.assertIn(row, '\n'.join(paged('-q', verb, 'sda', program=[IN_TREE, tree.top], PAGER=ours, NO_COLOR='1')))
        # It gets the lines that the terminal would get.
        words, more = ['-q', 'explain', '--all', 'sda'], {'program': [IN_TREE, tree.top], 'width': 100, 'NO_COLOR': '1'}
        self.assertEqual(paged(*words, PAGER=ours, **more)[4:], self.on_terminal(*words, **more).splitlines())
        for none in ({'PAGER': ''}, {'PAGER': 'cat'}, {'SYSTEMD_PAGER': '', 'PAGER': ours}, {'PAGER': ours, 'TERM': 'dumb'}):
            self.assertIsNone(paged(PATH=path, **none))
        self.assertEqual(len(paged(PAGER=' ', PATH=path)), 15)
        self.assertIsNone(paged('--no-pager', PAGER=ours))
        self.assertIsNone(paged('--json', PAGER=ours))
        self.env['PAGER'] = ours
        self.assertIn('Maker Disk', self.run_ctl().stdout)
        self.assertFalse(os.path.exists(seen))
        # If the first one does not exist, the next ones; without any, direct output.
        os.rename(ours, os.path.join(self.dir, 'pager'))
        self.assertEqual(len(paged(PAGER='/nonexistent', PATH=f'{self.dir}:/usr/bin:/bin')), 15)
        self.assertIn(' 2-9\r', self.on_terminal(PAGER='/nonexistent', PATH='/nonexistent'))
        # That of busybox knows no option, so it is not used.
        os.rename(os.path.join(self.dir, 'pager'), ours)
        self.assertEqual(len(paged(PAGER='/nonexistent', PATH=f'{self.dir}:/nonexistent')), 15)
        with open(ours) as f:
            text = f.read()
        with open(ours, 'w') as f:
            f.write(text.replace('exec', 'if [ "$1" = --version ]; then echo "less: unrecognized option" >&2; exit 1; fi\nexec'))
        self.assertIsNone(paged(PAGER='/nonexistent', PATH=f'{self.dir}:/nonexistent'))
        os.unlink(ours)
        # The user leaves the pager early. Often the output comes only then.
        for _ in range(8):
            self.assertEqual(self.on_terminal(PAGER='true'), '')


class Requests(Uasctl):
    def test_trim(self):
        self.start()
        p = self.run_ctl('trim', '2-1', 'on')
        self.assertEqual(self.asked(), 'SetTrim 2-1:1.0 on')
        self.assertIn('TRIM is on from now on', p.stderr)
        self.assertIn('backup', p.stderr)
        self.run_ctl('trim', '2-1', 'off')
        self.assertEqual(self.asked(), 'SetTrim 2-1:1.0 off')
        for args in (['maybe'], ['off', '--force'], ['--force']):
            self.run_ctl('trim', '2-1', *args, code=2)

    def test_store_warning(self):
        """A copy that could not be stored: the change holds, and the person at the keyboard hears of it."""
        text = 'Cannot write /etc/uasd/policy: Read-only file system. /var/lib/uasd has the change, which a boot may read too late.'
        self.env['STORE_WARNING'] = text
        self.start()
        for args in (['policy', 'sda', 'uas'], ['policy', '1234:5678:S', 'uas'], ['forget', 'sda'], ['trim', 'sda', 'on']):
            self.assertIn(f'uasctl: {text}\n', self.run_ctl(*args).stderr)

    def test_trim_refused(self):
        self.start()
        self.assertIn('It does not say so.', self.run_ctl('trim', 'BUSY', 'on', code=6).stderr)
        self.asked()
        self.run_ctl('trim', 'BUSY', 'on', '--force')
        self.assertEqual(self.asked(), 'SetTrim 2-2:1.0 on force')

    def test_policy(self):
        self.start()
        self.assertEqual(self.run_ctl('policy', '2-1').stdout, 'auto\n')
        p = self.run_ctl('policy', '2-1', 'usb-storage')
        self.assertEqual(p.stdout, '')
        self.assertIn('usb-storage', p.stderr)
        self.assertEqual(self.asked(), 'SetPolicy 2-1:1.0 usb-storage')
        self.assertEqual(self.run_ctl('policy', '2-1').stdout, 'usb-storage\n')
        self.run_ctl('policy', '2-1', 'sometimes', code=2)

    def test_which_disk(self):
        self.start()
        self.run_ctl('status', 'sdz', code=4)
        self.run_ctl('cancel', '/dev/nonexistent', code=4)
        p = self.run_ctl('status', '1209:5a5a', code=2)
        self.assertIn('2-1:1.0 (sda)', p.stderr)
        self.assertIn('2-9:1.0 (sdi)', p.stderr)
        self.assertEqual(p.stdout, '')
        # The disk that was meant may have no name at the moment.
        self.assertNotIn('switched', self.run_ctl('status', 'sdz', code=4).stderr)
        self.run_ctl('switch', 'sdg', 'uas', '--wait=0', code=3)
        self.assertEqual(self.run_ctl('status', 'sdz', code=4).stderr, "uasctl: There is no USB disk 'sdz'; uasctl lists them.\n"
                         'uasctl: 2-7:1.0 is being switched and may get another name. Its port is always its name: 2-7\n')

    def test_no_usb_disk(self):
        """A name of something else, and of disks of which one has no serial number."""
        tree = self.tree()
        tree.disk('2-4', 'sdc', serial='')
        tree.write('proc/self/mountinfo', '20 1 8:64 / / rw - ext4 /dev/sde rw\n')
        for name, code, said in (('/', 4, "'/' is not on a USB disk."), ('/proc', 4, "'/proc' is neither a disk nor a mount point."),
                                 ('/dev/null/sda', 4, "Cannot look at '/dev/null/sda': Not a directory"),
                                 ('1209:5a5a', 2, "'1209:5a5a' matches more than one disk:\nuasctl:   2-1:1.0 (sda)  Maker Disk  serial S1\n"
                                  'uasctl:   2-3:1.0 (sdb)  Maker Disk  serial S1\nuasctl:   2-4:1.0 (sdc)  Maker Disk  serial none')):
            p = tree.run('status', '-q', name)
            self.assertEqual((p.returncode, p.stdout, p.stderr), (code, '', f'uasctl: {said}\n'))
        shutil.rmtree(tree.path('sys/bus/usb/devices'))
        tree.write('sys/bus/usb/devices', '')
        p = tree.run('list', '-q')
        self.assertEqual((p.returncode, p.stderr), (1, 'uasctl: Cannot read the USB disks from sysfs: Not a directory\n'))


class Switches(Uasctl):
    def test_switch(self):
        self.start()
        p = self.run_ctl('switch', 'sda', 'uas')
        self.assertEqual(p.stdout, '')
        self.assertIn('from usb-storage to uas', p.stderr)
        self.assertIn('It runs on its new driver.', p.stderr)
        self.assertEqual(self.asked(), 'Switch 2-1:1.0 uas')
        self.assertEqual(json.loads(self.run_ctl('status', 'sda', '--json').stdout)['disks'][0]['driver'], 'uas')
        self.run_ctl('switch', 'sda', 'uas')  # already so
        self.assertEqual(self.asked(), 'Switch 2-1:1.0 uas')
        self.assertEqual(self.run_ctl('switch', 'sda', 'usb-storage', '-q').stderr, '')
        self.assertEqual(self.asked(), 'Switch 2-1:1.0 usb-storage')
        self.run_ctl('switch', 'sda')
        self.assertEqual(self.asked(), 'Switch 2-1:1.0 -')
        self.run_ctl('switch', 'sda', 'bot', code=2)

    def test_switch_busy(self):
        self.start()
        start = time.monotonic()
        p = self.run_ctl('switch', 'sdb', 'uas', code=3)
        self.assertLess(time.monotonic() - start, patience(2))
        self.assertIn('mounted on /mnt/usb (sdb1)', p.stderr)
        self.assertIn('uasctl cancel 2-2', p.stderr)
        self.assertIn('To free it: umount /mnt/usb\n', p.stderr)
        self.run_ctl('wait', 'sdb', '--wait=0', code=3)
        self.run_ctl('wait', 'sdb', call='Switch 2-2:1.0 uas')  # it is freed while uasctl waits
        outcome = json.loads(self.run_ctl('status', 'sdb', '--json').stdout)['disks'][0]['outcome']
        self.assertEqual(outcome, {'code': 0, 'step': None, 'text': 'It runs on its new driver.'})

    def still_wanted(self, said):
        """What the end of uasctl does not end: the request, its users and both ways on."""
        said = ' '.join(said.split())
        self.assertIn('2-2:1.0 (sdb): still waiting. The request stays.', said)
        self.assertIn('mounted on /mnt/usb (sdb1) uasctl: To free it: umount /mnt/usb', said)
        self.assertIn('uasd switches it as soon as it is free. To cancel: uasctl cancel 2-2', said)

    def test_switch_interrupted(self):
        """^C ends uasctl by that signal. It does not end the request, and uasctl says so."""
        self.start()
        with subprocess.Popen([*self.program, 'switch', 'sdb', 'uas', '--wait'], env=self.env, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True) as p:
            self.assertEqual(self.asked(), 'Switch 2-2:1.0 uas')
            p.stderr.readline()  # what it is going to do
            p.send_signal(signal.SIGINT)
            said = p.stderr.read()
            self.assertEqual(p.wait(patience()), -signal.SIGINT, said)
        self.still_wanted(said)
        self.assertEqual([d['state'] for d in json.loads(self.run_ctl('list', '--json').stdout)['disks'] if d['id'] == '2-2:1.0'], ['waiting'])

    def test_switch_wait(self):
        self.start()
        p = self.run_ctl('switch', 'sdb', 'uas', '--wait=1', code=3)
        self.still_wanted(p.stderr)
        self.assertEqual(self.asked(), 'Switch 2-2:1.0 uas')
        self.run_ctl('switch', 'sdb', 'uas', '--wait', call='Switch 2-2:1.0 uas')
        self.run_ctl('switch', 'sdb', 'usb-storage', '--wait=10')

    def test_users_unknown(self):
        "A dry run says so: the disk counts as in use."
        self.start()
        os.unlink(self.there.path('proc/1/mountinfo'))
        said = self.run_ctl('switch', '--dry-run', 'sda', 'uas', code=3).stderr
        self.assertIn('would be switched from usb-storage to uas as soon as nothing uses it', said)
        self.assertIn('uasctl:   Cannot find its users: No such file or directory\n', said)

    def test_switch_fails(self):
        self.start()
        p = self.run_ctl('switch', 'sdc', 'uas', code=7)
        self.assertIn('bind', p.stderr)
        self.assertIn('did not come back', p.stderr)
        self.assertIn('not speak UAS', self.run_ctl('switch', 'sdd', 'uas', code=5).stderr)
        self.assertIn('--force', self.run_ctl('switch', 'sde', 'uas', code=6).stderr)
        self.run_ctl('switch', 'sde', 'uas', '--force')
        self.assertIn('Not permitted', self.run_ctl('switch', 'sdf', 'uas', code=8).stderr)

    def test_pulled_out(self):
        self.start()
        self.run_ctl('switch', 'sdg', 'uas', code=4, call='Switch 2-7:1.0 uas')

    def test_daemon_dies(self):
        self.start()
        self.assertIn('uasd is not there', self.run_ctl('switch', 'sdh', 'uas', code=1, call='Switch 2-8:1.0 uas').stderr)

    def test_daemon_dies_later(self):
        """It has told of the disks before."""
        for method, words in ('Switch', ['switch', 'sda', 'uas']), ('Get', ['inhibit', '--list']):
            self.start('dies', method)
            self.assertEqual(self.run_ctl(*words, code=1).stderr, 'uasctl: uasd is not there any more.\n')
            self.daemon.wait()
            self.daemon.stdout.close()

    def test_metrics(self):
        """The facts come from the kernel, the outcomes from the daemon."""
        tree = Tree(IN_TREE)
        self.addCleanup(tree.close)
        tree.disk('2-3', 'sdc')
        self.start()
        self.run_ctl('switch', 'sdc', 'uas', code=7)
        p = tree.run('metrics', env=self.env)
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        m = openmetrics.parse(p.stdout.encode())
        self.assertEqual(m['uasd_up', ()], 1)
        self.assertEqual(m['uasd_disk_last_switch_code', (('disk', '1209:5a5a:S1'),)], 7)
        self.assertEqual(m['uasd_disk_state', (('disk', '1209:5a5a:S1'), ('state', 'failed'))], 1)
        self.assertEqual(m['uasd_disk_state', (('disk', '1209:5a5a:S1'), ('state', 'waiting'))], 0)


class Monitor(Uasctl):
    def test_monitor(self):
        self.start()
        p = self.monitor('sda')
        self.assertRegex(p.stdout.readline(),
                         r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  2-1:1\.0 \(sda\) present: state settled, driver usb-storage\. .+\.$')
        self.run_ctl('switch', 'sdc', 'uas', code=7)  # of no interest
        self.run_ctl('switch', 'sda', 'uas')
        self.assertRegex(p.stdout.readline(), r' changed: state settled -> switching\. Is being switched to uas\. ')
        self.assertRegex(p.stdout.readline(), r' changed: state switching -> trial, driver usb-storage -> uas, switch done\. On trial on uas: ')

    def test_monitor_reason(self):
        """The reason, when it changes, and the users. No signal carries the reason."""
        self.start()
        p, json_p = self.monitor('sdb', 'sdc'), self.monitor('--json', 'sdb')
        for _ in range(2):
            p.stdout.readline()
        json_p.stdout.readline()
        self.run_ctl('switch', 'sdb', 'uas', code=3)
        self.assertRegex(p.stdout.readline(), r' changed: state settled -> waiting\. Waits for uas until nothing uses it: /mnt/usb \(sdb1\)\.$')
        told = json.loads(json_p.stdout.readline())
        self.assertEqual((told['disk']['reason'], told['changed']), ('Waits for uas until nothing uses it: /mnt/usb (sdb1).', ['state', 'reason']))
        self.run_ctl('switch', 'sdc', 'uas', code=7)
        said = ''
        while 'rolled back' not in said:
            said = p.stdout.readline()
        self.assertRegex(said, r'\(sdc\) changed: .*switch rolled back in step bind')
        self.run_ctl('cancel', 'sdb')
        while '(sdb)' not in said:
            said = p.stdout.readline()
        self.assertIn(' changed: state waiting -> settled, switch failed. ', said)

    def test_monitor_width(self):
        """No line is wider than the terminal."""
        self.start()
        for width in 40, 60, 80:
            shown = terminal.first([*self.program, 'monitor'], {**self.env, 'TERM': 'xterm', 'NO_COLOR': '1'}, width, b'(sdi)')
            self.assertLessEqual(max(map(len, shown.splitlines())), width, shown)

    def test_monitor_several(self):
        self.start()
        p = self.monitor('sdc', 'sda')
        self.assertEqual({p.stdout.readline().split(' ')[4] for _ in range(2)}, {'(sda)', '(sdc)'})
        self.run_ctl('switch', 'sdb', 'uas', code=3)  # of no interest
        self.run_ctl('switch', 'sda', 'uas')
        self.assertIn('(sda) changed: ', p.stdout.readline())

    def test_monitor_json(self):
        self.start()
        p = self.monitor('--json')
        first = [json.loads(p.stdout.readline()) for _ in range(9)]
        self.assertEqual([(e['event'], e['disk']['id'], e['changed']) for e in first],
                         [('present', f'2-{i}:1.0', []) for i in range(1, 10)])
        self.run_ctl('switch', 'sdb', 'uas', code=3)
        self.assertEqual(self.asked(), 'Switch 2-2:1.0 uas')
        self.run_ctl('switch', 'sdg', 'uas', code=4, call='Switch 2-7:1.0 uas')
        events = [json.loads(p.stdout.readline()) for _ in range(3)]
        self.assertEqual([(e['version'], e['event'], e['disk']['id'], e['disk']['state'], e['changed']) for e in events],
                         [(1, 'changed', '2-2:1.0', 'waiting', ['state', 'reason']),
                          (1, 'changed', '2-7:1.0', 'switching', ['state', 'reason']),
                          (1, 'removed', '2-7:1.0', 'switching', [])])
        self.assertEqual([u['where'] for u in events[0]['disk']['busy']], ['/mnt/usb'])
        self.assertLess(abs(events[0]['time_usec'] / 1e6 - time.time()), 60)

    def outage(self, p):
        """uasd ends, and monitor says so."""
        self.daemon.wait()
        self.daemon.stdout.close()
        self.assertIn('waiting for it to come back', p.stderr.readline())

    def resumes(self, p):
        """uasd is back, and monitor prints a change."""
        self.start()
        self.switched(p)

    def switched(self, p):
        self.run_ctl('switch', 'sda', 'uas')
        self.assertRegex(p.stdout.readline(), r' changed: state settled -> switching\. Is being switched to uas\. ')

    def test_monitor_outlives_daemon(self):
        """Changes during an outage of uasd are printed when uasd is back."""
        self.start()
        p = self.monitor('sda')
        p.stdout.readline()
        self.run_ctl('policy', 'sda', 'uas')
        self.daemon.kill()
        self.outage(p)
        self.start()
        self.assertRegex(p.stdout.readline(), r' changed: policy auto -> uas$')
        self.switched(p)

    def test_monitor_outlives_daemon_that_fails(self):
        """The next uasd may end before it has answered. monitor waits for the one after it."""
        self.start()
        p = self.monitor('sda')
        p.stdout.readline()
        for version in [], ['dies'], ['dies']:
            if version:
                self.start(*version)
            else:
                self.daemon.kill()
            self.outage(p)
        self.resumes(p)

    def test_full(self):
        """A result that could not be written is no success."""
        self.start()
        full = 'uasctl: Cannot write to the standard output: No space left on device\n'
        for args in ['list'], ['status', 'sda', '--json'], ['--help']:
            with open('/dev/full', 'w') as out:
                p = subprocess.run([*self.program, *args], env=self.env, stdout=out, stderr=subprocess.PIPE, text=True, timeout=patience())
            self.assertEqual((p.returncode, p.stderr), (1, full), args)

    def test_monitor_full(self):
        """A full disk is reported once, with the true reason. A reader that has gone is no error, and is noticed without an
        event."""
        self.start()
        with open('/dev/full', 'w') as full:
            p = subprocess.run([*self.program, 'monitor'], env=self.env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=patience())
        self.assertEqual((p.returncode, p.stderr), (1, 'uasctl: Cannot write to the standard output: No space left on device\n'))
        p = self.monitor('sda')
        p.stdout.readline()
        p.stdout.close()
        self.assertEqual((p.wait(patience()), p.stderr.read()), (0, ''))

    def test_monitor_without_daemon(self):
        self.assertIn('only it can do that.', self.run_ctl('monitor', code=1).stderr)
        self.start()
        self.run_ctl('monitor', 'nosuch', code=4)


class Others(Uasctl):
    def test_children_of_others(self):
        """A parent may have left SIGCHLD ignored, and the kernel then keeps no exit status of a child."""
        p = subprocess.run([*self.program, 'inhibit', 'sh', '-c', 'exit 5'], env=self.env, timeout=patience(), stderr=subprocess.DEVNULL,
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(p.returncode, 5)

    def test_signal_to_inhibit(self):
        """The command gets a signal that is sent to uasctl, but no Ctrl+C, which the terminal sends to both."""
        for number, status in (signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM):
            with subprocess.Popen([*self.program, 'inhibit', 'sh', '-c', 'echo ready; exec cat'], env=self.env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
                self.addCleanup(p.kill)
                self.assertEqual(p.stdout.readline(), 'ready\n')
                p.send_signal(number)
                if status:
                    self.assertEqual(p.wait(patience()), status)
                p.communicate(timeout=patience())
                self.assertEqual(p.returncode, status)

    def test_release_and_wait(self):
        self.start()
        self.run_ctl('wait', 'sdi', '--wait=200ms', code=3)
        self.run_ctl('release', 'sdi')
        self.assertEqual(self.asked(), 'Release 2-9:1.0')
        self.run_ctl('wait', 'sdi', '--wait=10')
        self.run_ctl('wait', 'sda')

    def test_several(self):
        """Several disks, in the order of the names. A name that fits no disk stops all; a failure does not."""
        self.start()
        ids = ['2-3:1.0', '2-1:1.0']
        for verb in 'list', 'status':
            self.assertEqual([d['id'] for d in json.loads(self.run_ctl(verb, 'sdc', 'sda', '2-3', '--json').stdout)['disks']], ids)
        self.assertEqual([line.split()[0] for line in self.run_ctl('list', '-o', 'ID', 'sdc', 'sda').stdout.splitlines()], ['ID', *ids])
        self.assertEqual(re.findall(r'(?m)^● (sd.): ', self.run_ctl('status', 'sdc', 'sda').stdout), ['sdc', 'sda'])
        self.run_ctl('cancel', 'sda', 'sdq', code=4)
        self.run_ctl('cancel', 'sdf', 'sda', 'sdb', code=8)
        self.assertEqual([self.asked() for _ in range(3)], ['Cancel 2-6:1.0', 'Cancel 2-1:1.0', 'Cancel 2-2:1.0'])
        self.run_ctl('forget', 'sdf', '1209:5a5a:FREE', code=8)
        self.assertEqual([self.asked() for _ in range(2)], ['Forget 2-6:1.0', 'Forget 2-1:1.0'])
        self.run_ctl('wait', 'sda', 'sdi', '--wait=0', code=3)
        self.run_ctl('release', 'sda', 'sdi')
        self.run_ctl('wait', 'sda', 'sdi', '--wait=10')

    def test_explain_several(self):
        tree = self.tree()
        shown = tree.run('explain', 'sdb', 'sda').stdout
        self.assertEqual(re.findall(r'(?m)^\S+ (\d-\d:1\.0) \(sd.\) ', shown), ['2-3:1.0', '2-1:1.0'])
        told = json.loads(tree.run('explain', '--json', 'sdb', 'sda').stdout)['disks']
        self.assertEqual([(d['id'], sum(row['decides'] for row in d['rows'])) for d in told], [('2-3:1.0', 1), ('2-1:1.0', 1)])

    def test_json_forms(self):
        self.start()
        for args, lines in (['-j'], False), (['--json=pretty'], False), (['--json=short'], True):
            out = self.run_ctl('status', 'sda', *args).stdout
            self.assertEqual((out.count('\n') == 1, json.loads(out)['disks'][0]['id']), (lines, '2-1:1.0'), args)
        p = self.monitor('--json=pretty', 'sda')
        self.assertEqual(p.stdout.readline(), '{\n')

    def test_help(self):
        """At any width, no line is wider and all verbs are there. Without a terminal the width is 80."""
        verbs = re.findall(r'(?m)^  ([a-z]+)', self.run_ctl('--help').stdout.split('Options:')[0])
        self.assertIn('switch', verbs)
        tree = self.tree()
        for width in 0, 40, 50, 60, 80, 120:
            for args in ['--help'], ['help'], ['help', 'switch'], ['bench', '--help']:
                program = self.program if args[0] != 'bench' else [IN_TREE, tree.top]
                shown = self.on_terminal(*args, width=width, program=program) if width else self.run_ctl(*args).stdout if program == self.program else ''
                self.assertLessEqual(max(map(len, shown.splitlines()), default=0), width or 80, (width, args))
                if args == ['help']:
                    self.assertEqual(re.findall(r'(?m)^  ([a-z]+)', shown.split('Options:')[0]), verbs)
        for shown in self.run_ctl('--help').stdout, self.on_terminal('--help', width=60).replace('\r', ''), tree.run('bench', '--help').stdout:
            for line in shown.split('Options:\n')[1].split('\n\n')[0].splitlines():
                self.assertRegex(line, r'^(  -\w, --\S+ {2,}|      --\S+ {2,}| {31})\S')
        of_switch = self.run_ctl('switch', '--help').stdout
        self.assertEqual(of_switch, self.run_ctl('help', 'switch').stdout)
        self.assertIn('--dry-run', of_switch)
        self.assertIn('DISK is ', of_switch)
        self.assertNotIn('DISK', self.run_ctl('help', 'metrics').stdout)
        self.assertNotIn('--since', of_switch)
        self.assertEqual(tree.run('help', 'bench').stdout, tree.run('bench', '--help').stdout)

    def test_cancel_and_forget(self):
        self.start()
        for verb in 'cancel', 'forget':
            self.run_ctl(verb, '2-1')
            self.assertEqual(self.asked(), f'{verb.capitalize()} 2-1:1.0')
            self.run_ctl(verb, 'sdf', code=8)
            self.assertEqual(self.asked(), f'{verb.capitalize()} 2-6:1.0')
        self.run_ctl('switch', 'sdb', 'uas', code=3)
        self.run_ctl('cancel', 'sdb')
        self.assertIn('\n      Last: it was cancelled\n', self.run_ctl('status', 'sdb').stdout)

    def test_no_daemon(self):
        self.assertIn('uasd is not running', self.run_ctl('list').stderr)
        self.assertEqual(self.run_ctl('list', '-q').stderr, '')
        json.loads(self.run_ctl('list', '--json').stdout)
        self.assertIn('only it can do that.', self.run_ctl('switch', 'sda', 'uas', code=1).stderr)
        self.run_ctl('release', 'sda', code=1)

    def test_no_bus(self):
        self.bus.kill()
        self.bus.wait()
        # Another user has no other way to uasd.
        self.assertIn('uasd is not running' if os.geteuid() == 0 else 'the system bus (D-Bus) does not answer', self.run_ctl('list').stderr)

    @unittest.skipIf(os.geteuid(), 'not root')
    def test_no_bus_for_a_user(self):
        """uasd may run: only root has a way to it without the bus."""
        self.bus.kill()
        self.bus.wait()
        program = shutil.copy(IN_TREE, self.dir)  # the user may read it there
        for args, code, more in ((['list'], 0, ': uasctl reads the disks from the kernel.'),
                                 (['cancel', 'sda'], 1, ', and only uasd can do that. root reaches uasd without the bus.')):
            p = subprocess.run(['setpriv', '--reuid=65534', '--clear-groups', program, self.there.top, *args], env=self.env, capture_output=True, text=True,
                               timeout=patience(), stdin=subprocess.DEVNULL)
            self.assertEqual((p.returncode, p.stderr.splitlines()[0]), (code, f'uasctl: the system bus (D-Bus) does not answer{more}'))

    def test_usage(self):
        for args in (['nonsense'], ['trim', 'sda', '--tree'], ['--nonsense'], ['switch'], ['list', '--dry-run'],
                     ['inhibit'], ['inhibit', '--list', 'true'], ['inhibit', '--list', '--disk=sda'], ['inhibit', '--list', '--why=x']):
            p = self.run_ctl(*args, code=2)
            self.assertEqual(p.stdout, '')
            self.assertLess(len(p.stderr.splitlines()), 3)
        self.assertRegex(self.run_ctl('--version').stdout, r'^uasctl \d')


class Deadlines(Uasctl):
    def test_stopped_daemon(self):
        self.start()
        stop(self.daemon)
        start = time.monotonic()
        self.assertIn('does not answer', self.run_ctl('list').stderr)
        self.assertLess(time.monotonic() - start, patience(8))
        self.daemon.send_signal(signal.SIGCONT)

    def test_slow_daemon(self):
        """Orders have a longer timeout than reads."""
        self.start()
        stop(self.daemon)
        timer = threading.Timer(7, self.daemon.send_signal, [signal.SIGCONT])
        timer.start()
        self.run_ctl('switch', 'sda', 'uas')
        timer.join()

    def test_stays_stopped(self):
        self.start()
        stop(self.daemon)
        self.run_ctl('switch', 'sda', 'uas', code=1, timeout=45)  # in the end
        self.daemon.send_signal(signal.SIGCONT)

    def hangs_at(self, method, *words):
        """It has told of the disks before."""
        self.start('hangs', method)
        self.assertEqual(self.run_ctl(*words, code=1, timeout=45).stderr, 'uasctl: uasd does not answer any more.\n')

    def test_hangs_when_it_is_read(self):
        self.hangs_at('Get', 'inhibit', '--list')

    def test_hangs_at_an_order(self):
        self.hangs_at('Switch', '--no-ask-password', 'switch', 'sda', 'uas')

    def test_stopped_bus(self):
        self.start()
        stop(self.bus)
        self.assertIn('does not answer', self.run_ctl('list').stderr)
        self.bus.send_signal(signal.SIGCONT)


class Parts(unittest.TestCase):
    def test_all_run(self):
        """meson.build names each class of cases."""
        with open(os.path.join(os.path.dirname(__file__), 'meson.build')) as f:
            [named] = re.findall(r"foreach part : \[([^\]]*)\]\n  test\('uasctl-", f.read())
        self.assertEqual({f"'{one.__name__}'" for one in [*Uasctl.__subclasses__(), Parts]}, set(re.split(r'[\s,]+', named)))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2,
                  testLoader=loader() if sys.argv[3:] == ['Deadlines'] else unittest.defaultTestLoader)

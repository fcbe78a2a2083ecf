#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl log: real journal files, and records."""

import datetime
import json
import os
import pwd
import re
import select
import shutil
import subprocess
import sys
import unittest

import terminal
from patience import patience
from tree import EPOCH, MACHINE, REMOTE, Tree

PROGRAM = sys.argv[1]
NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/common/names.h')

with open(NAMES) as f:
    IDS = dict(re.findall(r'#define MESSAGE_(\w+) "([0-9a-f]{32})"', f.read()))


def record(key, state, date, reason=''):
    return f'{key}=state={state} firmware=0214 kernel=6.1.0-test boot=- date={date} reason={reason}\n'


class Log(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', serial='S1')
        self.tree.disk('2-2', 'sdb', serial='')

    def ending(self, name, interface='2-1:1.0', serial='S1', **more):
        return {'MESSAGE_ID': IDS[name], 'UASD_INTERFACE': interface, 'UASD_USB_ID': f'1209:5a5a:{serial}',
                'MESSAGE': f'{interface} sda: text of {name}', 'PRIORITY': '5', **more}

    def log(self, *args, code=0, talk='', **more):
        p = self.tree.run('log', *args, **more)
        self.assertEqual((p.returncode, p.stderr), (code, talk))
        return p.stdout.splitlines()

    # Records

    MORE = 'uasctl: Root and the group systemd-journal see more of the journal.\n'
    NO_JOURNAL = 'uasctl: There is no journal: this is only the history.\n'

    def test_nothing(self):
        "A user who is not root may have to join a group, but only where journald runs."
        self.log(talk=self.NO_JOURNAL + 'uasctl: There are no events.\n')
        os.makedirs(self.tree.path('run/systemd/journal'))
        other = '' if os.geteuid() == 0 else ' that this user may read (root and the group systemd-journal may)'
        self.log(talk=self.NO_JOURNAL.replace('journal', 'journal' + other) + 'uasctl: There are no events.\n')

    @unittest.skipUnless(REMOTE and os.geteuid() == 0, 'no systemd-journal-remote, or not root')
    def test_another_user(self):
        "What this user cannot read is named, and who can."
        os.chmod(self.tree.top, 0o755)
        os.makedirs(self.tree.path('run/systemd/journal'))
        nobody = {'user': 65534, 'group': 65534, 'extra_groups': []}
        self.tree.journal(self.ending('HELD'))
        os.chmod(self.tree.path(f'var/log/journal/{MACHINE}/system.journal'), 0o644)
        self.log('sda', **nobody)
        self.log('sdb', talk=self.MORE + 'uasctl: There are no events.\n', **nobody)
        self.log('sdb', talk='uasctl: There are no events.\n')
        self.tree.write('etc/uasd/history', 'generation=1\n' + record('1209:5a5a:@0000:00:14.0/ss/2', 'passed', '2025-11-20T10:00:00Z'))
        self.log('sdb', talk=self.MORE, **nobody)
        self.log(**nobody)
        os.chmod(self.tree.path('var/log/journal'), 0o700)
        self.log('sdb', talk=self.NO_JOURNAL.replace('journal', 'journal that this user may read (root and the group systemd-journal may)'), **nobody)
        os.chmod(self.tree.path('etc/uasd'), 0o700)
        self.assertIn('uasctl: Cannot read the history: Permission denied\n', self.tree.run('log', **nobody).stderr)

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_absent(self):
        "A disk that is not plugged in is known from the journal or from its policy, by its serial number or its whole name."
        self.tree.journal(*(self.ending('HELD', serial=serial) for serial in ('GONE', 'GONE2', 'S1')))
        for name, n in ('GONE', 1), ('gone2', 1), ('1209:5a5a:GONE', 1), ('S1', 1):
            self.assertEqual(len(self.log(name)), n, name)
        self.tree.write('etc/uasd/policy', '0bc2:ab38:KE_PT=uas\n0bc2:ab38:@0000:00:14.0/ss/1=uas\n')
        more = '' if os.geteuid() == 0 else self.MORE
        for name in 'KE_PT', ' KE PT ', 'KE/PT', '0bc2:ab38:KE_PT', '0bc2:ab38: KE PT ':
            self.log(name, talk=more + 'uasctl: There are no events.\n')
        for name in 'GON', 'ONE', '1209:5a5a:GON', '', 'ab38:KE_PT', ',', ' ':
            self.log(name, code=4, talk=f"uasctl: There is no USB disk '{name}'; uasctl lists them.\n")

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_parts(self):
        "A message in parts is put together, in the language of the reader."
        self.tree.journal(self.ending('FAILED', UASD_PARTS='\u2402%s (step %s)\u241fit failed\u241fbind\u2403'))
        self.assertEqual([line[35:] for line in self.log('sda')], ['it failed (step bind)'])

    def test_syslog(self):
        "Without journald it says where the messages of uasd are."
        self.tree.write('run/uasd/log', 'uasd: hello\n')
        end = 'uasctl: There are no events.\n'
        file = 'uasctl: The messages of uasd from times without syslog are in /run/uasd/log.\n'
        self.log(talk=self.NO_JOURNAL + file + end)
        self.tree.write('dev/log', '')
        self.log(talk=self.NO_JOURNAL + file + 'uasctl: The messages of uasd are in syslog, unless its service has a log of its own.\n' + end)

    def test_records(self):
        self.tree.write('etc/uasd/history', 'generation=1\n' +
                        record('1209:5a5a:S1@0000:00:14.0/ss/1', 'distrusted', '2026-11-20T15:45:07Z', 'it had to be reset') +
                        record('1209:5a5a:S1@0000:00:14.0/ss/4', 'passed', '2026-11-18T10:00:00Z') +
                        record('1209:5a5a:S12@0000:00:14.0/ss/1', 'ended', '2026-11-19T10:00:00Z') +
                        record('1209:5a5a:@0000:00:14.0/ss/2', 'passed', '-') +
                        record('1209:5a5a:@0000:00:14.0/ss/2.1', 'passed', '2026-11-17T10:00:00Z'))
        one = '2026-11-18 10:00:00  on record     1209:5a5a:S1 at 0000:00:14.0/ss/4: passed with firmware 2.14 on Linux 6.1.0-test'
        two = ('2026-11-20 15:45:07  on record     1209:5a5a:S1 at 0000:00:14.0/ss/1: distrusted with firmware 2.14 on Linux 6.1.0-test: '
               'it had to be reset')
        three = '-                    on record     1209:5a5a: at 0000:00:14.0/ss/2: passed with firmware 2.14 on Linux 6.1.0-test'
        self.assertEqual(self.log('sda', talk=self.NO_JOURNAL), [one, two])
        self.assertEqual(self.log('sdb', talk=self.NO_JOURNAL), [three])  # only by its port
        self.assertTrue(self.log('1209:5a5a:S12', talk=self.NO_JOURNAL)[0].endswith(': trial without a result with firmware 2.14 on Linux 6.1.0-test'))
        everything = self.log(talk=self.NO_JOURNAL)
        self.assertEqual((len(everything), everything[0], everything[-1]), (5, three, two))
        self.assertEqual(self.log('--since=2026-11-20', talk=self.NO_JOURNAL), [two])
        self.assertEqual(self.log('sda', '--since=2026-11-20 15:45:07', talk=self.NO_JOURNAL), [two])
        self.assertEqual(self.log('--since=1h', '-q'), [])

    def test_since(self):
        """The words of journalctl."""
        now = datetime.datetime.now(datetime.timezone.utc)  # as TZ of the tree
        hours = {'h30': 30, 'h3': 3, 'm30': 0.5}
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            record(f'1209:5a5a:{name}@0000:00:14.0/ss/1', 'passed', (now - datetime.timedelta(hours=h)).strftime('%Y-%m-%dT%H:%M:%SZ'))
            for name, h in hours.items()))
        midnight = (now - now.replace(hour=0, minute=0, second=0)).total_seconds() / 3600
        at = now - datetime.timedelta(hours=1)
        for word, most in ('2d', 48), ('-2d', 48), ('4h', 4), ('-4h', 4), ('4h ago', 4), ('-3h 30min', 3.5), ('now', 0), ('today', midnight), \
                          ('yesterday', midnight + 24), (at.strftime('%Y-%m-%dT%H:%M'), 1.01), (at.strftime('%Y-%m-%d %H:%M:%S'), 1):
            self.assertEqual([line.split(':')[4].split(' ')[0] for line in self.log('-q', f'--since={word}')],
                             [name for name, h in hours.items() if h <= most], word)
        if at.date() == now.date():
            self.assertEqual(len(self.log('-q', f'--since={at.strftime("%H:%M")}')), 1)

    def test_lines_and_disks(self):
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            record(f'1209:5a5a:{serial}@0000:00:14.0/ss/{port}', 'passed', f'2026-11-1{i}T10:00:00Z')
            for i, (serial, port) in enumerate((('S1', 1), ('', 2), ('S3', 3), ('S1', 4)))))
        self.assertEqual([line[8:10] for line in self.log('-q', '-n2')], ['12', '13'])
        self.assertEqual([line[8:10] for line in self.log('-q', '--lines=3', 'sda', 'sdb')], ['10', '11', '13'])
        self.assertEqual([line[8:10] for line in self.log('-q', '-n0')], [])
        self.assertEqual([line[8:10] for line in self.log('-q', 'S3', 'sdb')], ['11', '12'])
        self.assertEqual(len(json.loads(''.join(self.log('-q', '-jn1')))['events']), 1)
        self.log('sda', 'sdz', code=4, talk="uasctl: There is no USB disk 'sdz'; uasctl lists them.\n")

    def test_width(self):
        """No line is wider than the terminal, and no word is lost."""
        self.tree.write('etc/uasd/history', 'generation=1\n' + record('1209:5a5a:S1@0000:00:14.0/ss/1', 'distrusted', '2026-11-20T15:45:07Z', 'it had to be reset'))
        words = self.log('-q')[0].split()
        for width in 40, 54, 55, 56, 80, 120:
            shown, status = terminal.run([PROGRAM, self.tree.top, 'log', '-q'], dict(os.environ, TERM='xterm', LC_ALL='C.UTF-8', TZ='UTC'), width)
            self.assertEqual((status, shown.split()), (0, words))
            self.assertLessEqual(max(map(len, shown.splitlines())), width, shown)
            # Below the text, or below the word if there is no room.
            self.assertEqual({len(line) - len(line.lstrip()) for line in shown.splitlines()[1:]}, {35 if width >= 55 else 6}, shown)

    def test_hostile_record(self):
        self.tree.write('etc/uasd/history', 'generation=1\n' + record('1209:5a5a:\x1b[31m@p', 'passed', '\x1b[31m', '\x1b[31m\x07'))
        lines = self.log('-q')
        self.assertEqual(len(lines), 1)
        self.assertNotRegex(lines[0], '[\x00-\x1f]')
        self.tree.write('etc/uasd/history', 'generation=1\n' + record('1209:5a5a:OLD@p', 'passed', '1969-12-31T23:59:59Z') + record('1209:5a5a:NOWHERE', 'passed', '-'))
        self.assertRegex('\n'.join(self.log('-q')), r'^-  +on record +1209:5a5a:OLD at p: passed[^\n]*$')

    def test_usage(self):
        for args, talk in ((['--since=soon'], 'is no time'), (['--since='], 'is no time'), (['--since=2026-13-01'], 'is no time'),
                           (['-n', 'x'], 'is no number'), (['-n', '-1'], 'is no number'), (['-f', '--json'], '--follow'),
                           (['--since=1h ago ago'], 'is no time'), (['--since=2026-11-20T'], 'is no time'), (['--since=25:00'], 'is no time')):
            p = self.tree.run('log', *args)
            self.assertEqual((p.returncode, p.stdout), (2, ''), args)
            self.assertIn(talk, p.stderr)
        self.assertEqual(self.tree.run('list', '--since=1h').returncode, 2)
        self.assertEqual(self.tree.run('log', 'sdz').returncode, 4)

    # The journal

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_journal(self):
        self.tree.journal(self.ending('HELD'), {'MESSAGE': 'of somebody else'}, self.ending('SWITCHED'),
                     self.ending('WAITING', '2-4:1.0'),                     # the same disk at another port
                     self.ending('FAILED', serial='S2'),                    # another disk at this port
                     self.ending('TROUBLE', _UID='1000'),                   # any user can write that
                     self.ending('FAILED', '2-2:1.0', ''), self.ending('HELD', '2-3:1.0', ''))
        at = '2025-11-23 12:13:2'
        first = [f'{at}1  held          2-1:1.0 sda: text of HELD', f'{at}3  switched      2-1:1.0 sda: text of SWITCHED',
                 f'{at}4  waiting       2-4:1.0 sda: text of WAITING']
        self.assertEqual(self.log('sda'), first)
        self.assertEqual(self.log('sdb'), [f'{at}7  failed        2-2:1.0 sda: text of FAILED'])
        self.assertEqual(len(self.log()), 6)
        self.assertEqual(self.log('sda', '--since=2025-11-23 12:13:23'), first[1:])
        # In time between the two.
        self.tree.write('etc/uasd/history', 'generation=1\n' + record('1209:5a5a:S1@0000:00:14.0/ss/1', 'passed', '2025-11-23T12:13:22Z'))
        self.assertEqual([line[21:30] for line in self.log('sda')], ['held     ', 'on record', 'switched ', 'waiting  '])

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_status(self):
        "status has the last five events of the disk, without its name."
        self.tree.journal(*(self.ending(name) for name in ('HELD', 'SWITCHED', 'WAITING', 'FAILED', 'CLEARED')), self.ending('FAILED', serial='S2'),
                          {**self.ending('TROUBLE', UASD_DISK='sdz'), 'MESSAGE': '2-1:1.0 sdz: had trouble'})
        shown = self.tree.run('status', '-q', 'sda').stdout
        self.assertRegex(shown, r'(?m)^    Events: 2025-11-23 12:13:22 switched: ')
        self.assertEqual(re.findall(r'(?m)^(?:    Events: |            )2025\S+ 12:13:2(\d ([a-z-]+): .*)', shown),
                         [(f'{2 + i} {word}: {text}', word) for i, (word, text) in enumerate(
                             (('switched', '2-1:1.0 sda: text of SWITCHED'), ('waiting', '2-1:1.0 sda: text of WAITING'),
                              ('failed', '2-1:1.0 sda: text of FAILED'), ('cleared', '2-1:1.0 sda: text of CLEARED')))] +
                         [('7 trouble: had trouble', 'trouble')])
        self.assertNotIn('Events', self.tree.run('status', '-q', 'sdb').stdout)
        self.assertNotIn('Events', self.tree.run('status', '-q').stdout)  # of many disks

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_short_waits(self):
        """A wait is hidden if the next event of its disk comes within 10 s. A switch says who wanted it, if uasd did not."""
        other = {'MESSAGE': 'of another program'}
        self.tree.journal(self.ending('WAITING'), self.ending('WAITING', serial='S2'), self.ending('SWITCHED', UASD_REASON='override'),
                          self.ending('WAITING', UASD_REASON='policy'), *[other] * 9, self.ending('SWITCHED', UASD_REASON='fastest'))
        wanted = '2-1:1.0 sda: text of SWITCHED (wanted by uasctl switch)', '2-1:1.0 sda: text of WAITING (wanted by the policy)', \
            '2-1:1.0 sda: text of SWITCHED'
        self.assertEqual([line[35:] for line in self.log('sda')], list(wanted))
        self.assertEqual([line[35:] for line in self.log('sda', '--all')], ['2-1:1.0 sda: text of WAITING', *wanted])
        self.assertEqual(len(self.log()), 4)  # the other disk still waits
        self.assertEqual(len(json.loads('\n'.join(self.log('sda', '--json')))['events']), 4)

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_waits_of_others(self):
        "What came of a wait is at the same port, and names its disk."
        self.tree.journal(self.ending('WAITING'), self.ending('SWITCHED', '2-4:1.0'), *({'MESSAGE_ID': IDS[name], 'MESSAGE': name, **more}
                          for more in ({}, {'UASD_USB_ID': 'x'}, {'UASD_INTERFACE': '2-1:1.0'}) for name in ('WAITING', 'SWITCHED')))
        self.assertEqual([line[21:29].strip() for line in self.log()], ['waiting', 'switched'] * 4)

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_who_asked(self):
        """log and status name the user. What a user asks does not end a wait. A user without a name has the number."""
        me = pwd.getpwuid(os.geteuid())
        self.tree.journal(self.ending('ASKED', UASD_UID=str(me.pw_uid)), self.ending('WAITING'), self.ending('ASKED', UASD_UID='4294967294'))
        lines = [f'2-1:1.0 sda: text of ASKED ({me.pw_name})', '2-1:1.0 sda: text of WAITING', '2-1:1.0 sda: text of ASKED']
        self.assertEqual([line[35:] for line in self.log('sda')], lines)
        self.assertIn(lines[0] + '\n', self.tree.run('status', '-q', 'sda').stdout)
        asked = [one['uid'] for one in json.loads('\n'.join(self.log('sda', '--json')))['events']]
        self.assertEqual(asked, [str(me.pw_uid), None, '4294967294'])

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_follow(self):
        """The last ten, and then new ones of the disk. It ends when its reader does."""
        self.tree.journal(*(self.ending('HELD') for _ in range(12)))
        env = dict(os.environ, LC_ALL='C.UTF-8', TZ='UTC')
        p = subprocess.Popen([PROGRAM, self.tree.top, 'log', '-f', 'sda'], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (p.kill(), p.wait(), p.stdout.close(), p.stderr.close()))
        self.assertEqual([p.stdout.readline()[21:25] for _ in range(10)], ['held'] * 10)
        self.tree.journal(self.ending('FAILED', serial='S2'), self.ending('SWITCHED'))
        self.assertIn('text of SWITCHED', p.stdout.readline())
        self.tree.journal(self.ending('TROUBLE'))
        self.assertIn('text of TROUBLE', p.stdout.readline())
        p.stdout.close()
        self.assertEqual((p.wait(patience()), p.stderr.read()), (0, ''))

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_follow_slow_reader(self):
        """An entry that comes while the past is being printed follows it, without a further one."""
        self.tree.journal(*({**self.ending('HELD'), 'MESSAGE': 'x' * 1000} for _ in range(20)))
        env = dict(os.environ, LC_ALL='C.UTF-8', TZ='UTC')
        p = subprocess.Popen([PROGRAM, self.tree.top, 'log', '-f', '-n', '20', 'sda'], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             pipesize=4096)
        self.addCleanup(lambda: (p.kill(), p.wait(), p.stdout.close(), p.stderr.close()))
        # It has read the past, which does not fit into the pipe.
        self.assertTrue(select.select([p.stdout], [], [], patience())[0])
        self.tree.journal(self.ending('SWITCHED'))
        for _ in range(20):
            p.stdout.readline()
        self.assertIn(b'text of SWITCHED', p.stdout.readline())

    def test_follow_nothing(self):
        self.log('-f', code=1, talk=self.NO_JOURNAL + 'uasctl: There are no events.\nuasctl: There is no journal to follow.\n')

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_every_ending(self):
        self.tree.journal(*(self.ending(name) for name in IDS), folder='run/log/journal')
        self.assertEqual([line[21:33].strip() for line in self.log('sda', '--all')], [name.lower().replace('_', '-') for name in IDS])

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_json(self):
        self.tree.journal(self.ending('ROLLED_BACK', UASD_DISK='sda', UASD_STATE='failed', UASD_FROM='usb-storage', UASD_TO='uas',
                                 UASD_REASON='fastest', UASD_STEP='bind'))
        self.tree.write('etc/uasd/history', 'generation=1\n' + record('1209:5a5a:S1@p', 'passed', '-', 'so'))
        out = json.loads('\n'.join(self.log('sda', '--json')))
        self.assertEqual((out['version'], out['journal']), (1, True))
        nothing = dict.fromkeys(('interface', 'port', 'disks', 'state', 'from', 'to', 'reason_id', 'step', 'uid'))
        self.assertEqual(out['events'], [
            {**nothing, 'time_usec': 0, 'source': 'record', 'event': 'passed', 'usb_id': '1209:5a5a:S1', 'port': 'p',
             'text': 'passed with firmware 2.14 on Linux 6.1.0-test: so'},
            {**nothing, 'time_usec': (EPOCH + 1) * 1000000, 'source': 'journal', 'event': 'rolled-back', 'usb_id': '1209:5a5a:S1',
             'interface': '2-1:1.0', 'disks': 'sda', 'state': 'failed', 'from': 'usb-storage', 'to': 'uas', 'reason_id': 'fastest',
             'step': 'bind', 'text': '2-1:1.0 sda: text of ROLLED_BACK'}])

    @unittest.skipUnless(REMOTE, 'no systemd-journal-remote')
    def test_broken_journal(self):
        """The readable part is printed."""
        self.tree.journal(self.ending('HELD'))
        path = self.tree.path(f'var/log/journal/{MACHINE}')
        shutil.copy(f'{path}/system.journal', f'{path}/system@x.journal')
        with open(f'{path}/system@x.journal', 'r+b') as f:
            f.truncate(100)
        self.assertEqual(len(self.log('sda')), 1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

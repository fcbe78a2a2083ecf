#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the quirks of usb-storage follow the policies and records."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from machine import INTERFACE, Machine, main, stop, until
import privatebus
from tree import BOOT, PIPES

COMPILE = os.environ.get('SYSTEMD_HWDB') or shutil.which('systemd-hwdb')
PARAMETER = 'sys/module/usb_storage/parameters/quirks'
RECORD = '1209:5a5a:S1@0000:00:14.0/ss/1=state=%s firmware=0214 kernel=6.1.0-test boot=%s date=- reason=it failed\n'


class KeptOff(Machine):
    def quirks(self, text=None):
        if text is not None:
            self.tree.write(PARAMETER, text + '\n')
        with open(self.tree.path(PARAMETER)) as f:
            return f.read().strip()

    def loaded(self, text):
        """usb_storage is loaded: the parameter appears, or is a new one, with TEXT as its first value."""
        self.tree.write(PARAMETER + '.anew', text + '\n')
        os.rename(self.tree.path(PARAMETER + '.anew'), self.tree.path(PARAMETER))

    def test_policy(self):
        """The policy usb-storage has its entry in the quirks as long as it applies, beside entries of others and over a restart
        of uasd."""
        others = 'dead:beef:f,1209:5a5c:t'
        self.quirks(others)
        daemon = self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:u,' + others)
        self.assertIn('kept off uas by the quirks of usb-storage: 1209:5a5a:u', self.journal())
        self.driver_is('usb-storage')
        # Another program empties the string. uasd starts again and finds the entries it needs.
        privatebus.kill(daemon)
        self.quirks(others)
        self.start_on_bus()
        self.assertEqual(self.quirks(), '1209:5a5a:u,' + others)
        [word] = json.loads(self.ctl('explain', 'sdz', '--json').stdout)['disks'][0]['quirks']
        self.assertEqual((word['entry'], word['source'], word['effect']), ('1209:5a5a:u', 'uasd-kept', 'in-force'))
        self.ctl('policy', 'sdz', 'auto')
        self.assertEqual(self.quirks(), others)
        self.driver_is('uas')

    def test_no_uas(self):
        "A disk that does not offer UAS here needs none of the 127 characters. It may offer it at another port: without it, the entry is there."
        self.tree.remove('2-1', 'sdz')
        self.tree.disk('2-1', 'sdz', 'usb-storage', uas=False)
        self.hears()
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.ctl('policy', '1209:5a5a:S2', 'usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        self.ctl('policy', '1209:5a5a:S2', 'auto')
        self.assertEqual(self.quirks(), '')
        self.pull()
        until(lambda: self.quirks() == '1209:5a5a:u', 'its entry is there')
        self.put_back(7)
        until(lambda: self.quirks() == '', 'it has gone')

    @unittest.skipUnless(COMPILE, 'no systemd-hwdb')
    def test_verdict_before_udev(self):
        """At plug-in the hwdb has the verdict, also if the quirks change with the disk and its facts are read again."""
        self.tree.write('etc/udev/hwdb.d/61-uasd.hwdb', 'usb:v1209p5A5A*\n UASD_DB_1=bad;*;*;A list;2026-11\n')
        subprocess.run([COMPILE, 'update', '--strict', '--root', self.tree.top], check=True)
        self.tree.remove('2-1', 'sdz')
        self.tree.disk('2-1', 'sdz', 'usb-storage', uas=False)
        self.hears()
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.quirks(), '')
        self.pull()
        until(lambda: self.quirks() == '1209:5a5a:u', 'its entry is there')
        self.put_back(7)
        until(lambda: self.quirks() == '', 'it has gone')
        self.assertEqual([disk['Verdict'] for disk in self.managed_disks()], ['bad'])

    def test_boot_entry(self):
        """UAS has failed with a disk: with BootEntry=auto the unit that writes boot entries is started at each start of uasd, once,
        and again after a change of the file."""
        self.warns('PID 1 cannot be asked to start uasd-boot-entry.service')
        self.tree.write('boot/firmware/cmdline.txt', 'rootwait usb-storage.quirks=1209:5a5a:u\n')
        asked = 'PID 1 is asked to start uasd-boot-entry.service'
        self.tree.write('etc/uasd/history', RECORD % ('distrusted', BOOT))
        for line, count in ('BootEntry=ask', 0), ('BootEntry=auto', 1), ('BootEntry=auto', 2):
            self.conf('[uasd]\nQuietSec=0\n' + line + '\n')
            daemon = self.both()
            self.driver_is('usb-storage')
            self.assertEqual(self.journal().count(asked), count)
            if count < 2:
                privatebus.kill(daemon)
        # An update of the system rewrites the file, in two steps.
        for name in 'other.txt', 'cmdline.txt', 'cmdline.txt':
            self.tree.write('boot/firmware/' + name, 'rootwait\n')
        until(lambda: self.journal().count(asked) >= 3 and self.at_rest(daemon), 'the unit is started, and nothing more is to be done')
        self.assertEqual(self.journal().count(asked), 3)
        privatebus.kill(daemon)
        self.tree.write('etc/uasd/history', '')
        daemon = self.both()
        self.driver_is('uas')
        self.assertEqual(self.journal().count(asked), 3)

    def test_of_another(self):
        "Another driver has the disk for a time: it stays off uas afterwards."
        self.conf('[uasd]\nQuietSec=0\nUnknown=usb-storage\n')
        self.quirks('')
        self.hears()
        self.both()
        self.driver_is('usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        os.makedirs(self.tree.path('sys/bus/usb/drivers/usbfs'))
        self.bind('usbfs')
        self.look_again()
        until(lambda: self.disk()['reason_id'] == 'other-driver', 'a program has it')
        self.assertEqual(self.quirks(), '1209:5a5a:u')

    def test_for_all(self):
        """A setting for all disks, or for unknown ones, applies to the disks that uasd has seen: after an unplug until uasd
        ends, and while they are plugged in also over a restart of uasd."""
        for line in 'Unknown=usb-storage', 'Policy=usb-storage':
            self.conf('[uasd]\nQuietSec=0\n' + line + '\n')
            self.quirks('')
            daemon = self.both()
            self.driver_is('usb-storage')
            self.assertEqual(self.quirks(), '1209:5a5a:u', line)
            privatebus.kill(daemon)
        daemon = self.both()
        self.ctl('switch', 'sdz', 'uas')  # this ends with the attachment
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        self.unplug()
        until(lambda: json.loads(self.ctl('list', '--json').stdout)['disks'] == [], 'it has gone')
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        self.assertNotIn('nothing any more', self.journal())
        privatebus.kill(daemon)
        self.conf('[uasd]\nQuietSec=0\n')
        self.both()
        self.assertEqual(self.quirks(), '')

    def test_foreign(self):
        "An entry of another program for that disk is extended by a second one, and stays. If it has u, ours is not needed."
        self.quirks('1209:5a5a:f')
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:fu,1209:5a5a:f')
        self.ctl('policy', 'sdz', 'auto')
        self.assertEqual(self.quirks(), '1209:5a5a:f')
        self.quirks('1209:5a5a:fu')
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:fu')

    def test_no_room(self):
        "127 characters: a disk without room for its entry is reported by name, once."
        self.warns('The quirks of usb-storage')
        others = ','.join('dead:be%02x:f' % i for i in range(10)) + ',dead:beff:uf'
        self.quirks(others)
        self.assertGreater(len(others) + len('1209:5a5a:u,'), 127)
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.quirks(), others)
        self.assertEqual(self.journal().count('have no room for 1209:5a5a:u: 1209:5a5a:S1 may start on uas.'), 1, self.journal())

    def test_lock(self):
        """A bind that hangs has the lock: no process waits for it. When it ends the entry is set, without another event. The next
        one is waited for anew."""
        self.both()
        for n, (policy, driver, before, after) in enumerate((('usb-storage', 'usb-storage', '', '1209:5a5a:u'), ('auto', 'uas', '1209:5a5a:u', ''))):
            first = len(self.pauses())
            with open(self.tree.path('run/uasd/quirks.lock'), 'w') as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.ctl('policy', 'sdz', policy)
                self.driver_is(driver)
                until(lambda: 100 in self.pauses()[first:], 'it waits for a moment')  # noqa: B023
                self.assertEqual(self.quirks(), before)
            until(lambda: self.quirks() == after, 'the parameter follows')  # noqa: B023
            self.assertEqual(self.journal().count('waits for it'), n + 1, self.journal())

    def test_module_anew(self):
        """usb_storage is loaded again, and modprobe.d has the same entry that uasd had set. It belongs to modprobe.d now, and
        stays."""
        self.both()
        self.ctl('policy', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        self.tree.write('etc/modprobe.d/mine.conf', 'options usb-storage quirks=1209:5a5a:u,dead:beef:f\n')
        self.tree.write('sys/module/usb_storage/initstate', 'live\n')
        self.loaded('1209:5a5a:u,dead:beef:f')
        words = json.loads(self.ctl('explain', 'sdz', '--json').stdout)['disks'][0]['quirks']
        self.assertEqual([(word['entry'], word['source'], word['effect']) for word in words], [('1209:5a5a:u', 'modprobe.d', 'in-force')])
        self.ctl('policy', 'sdz', 'auto')
        self.driver_is('usb-storage')
        self.assertEqual(self.quirks(), '1209:5a5a:u,dead:beef:f')
        with open(self.tree.path('run/uasd/quirks')) as f:
            self.assertEqual(f.readline(), 'quirks=\n')

    def units(self):
        """The units that PID 1 was asked to start."""
        path = self.tree.path('units')
        if not os.path.exists(path):
            return []
        with open(path) as f:
            return f.read().split()

    def test_module(self):
        "usb_storage is loaded once, before the disk that needs the entry. The options from modprobe.d stay."
        os.unlink(self.tree.path(PARAMETER))
        self.unplug()
        self.tree.write('etc/uasd/policy', '1209:5a5a:S2=usb-storage\n')
        self.both()
        self.assertEqual(self.units(), ['modprobe@usb_storage.service'])
        self.loaded('dead:beef:f')
        until(lambda: self.quirks() == '1209:5a5a:u,dead:beef:f', 'it is kept off')
        self.assertEqual(self.units(), ['modprobe@usb_storage.service'])

    def test_module_never_comes(self):
        "uasd looks for it less and less often, and then says what follows. PID 1 is asked once."
        self.warns('usb_storage is not loaded: disks that are to be kept off uas may start on it')
        os.unlink(self.tree.path(PARAMETER))
        self.unplug()
        self.hurry()
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        self.both()
        slower = [100 * 2 ** n for n in range(9)] + [30000]
        until(lambda: self.pauses()[-1:] == slower[-1:] and self.at_rest(self.uasd), 'it has looked for it for the last time')
        self.assertEqual(self.pauses(), slower)
        self.assertEqual(self.units(), ['modprobe@usb_storage.service'])

    def test_module_not_needed(self):
        "No module is loaded if no disk is kept off."
        os.unlink(self.tree.path(PARAMETER))
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=uas\n1209:5a5a:S2=usb-storage\n')
        self.both()
        self.assertEqual(self.units(), [])
        self.ctl('policy', 'sdz', 'ignore')
        self.assertEqual(self.units(), [])
        self.ctl('policy', 'sdz', 'usb-storage')
        self.assertEqual(self.units(), ['modprobe@usb_storage.service'])

    def uas_alone(self):
        """The disk has only the UAS setting."""
        device = os.path.dirname(INTERFACE)
        with open(self.tree.path(device + '/descriptors'), 'rb') as f:
            first = f.read(18)
        self.tree.write(device + '/descriptors', first + bytes([9, 2, 86, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 4, 8, 6, 0x62, 0]) + PIPES)
        self.tree.write(INTERFACE + '/bInterfaceProtocol', '62\n')

    def test_uas_alone(self):
        "A disk that speaks only UAS is never kept off it. Such a policy is refused; an older policy or record has no effect."
        self.uas_alone()
        self.start_bus()
        for path, text in {'etc/uasd/history': RECORD % ('distrusted', '-'), 'etc/uasd/policy': '1209:5a5a:S1=usb-storage\n',
                           'etc/uasd/uasd.conf': '[uasd]\nQuietSec=0\n[Disk 1209:5a5a]\nPolicy=usb-storage\n'}.items():
            with self.subTest(path):
                self.tree.write(path, text)
                daemon = self.start_on_bus()
                self.assertIn('only UAS', self.ctl('policy', 'sdz', 'usb-storage', code=5).stderr)
                self.assertEqual((self.quirks(), self.disk()['driver'], self.disk()['state']), ('', 'uas', 'settled'))
                lines = self.ctl('policy', '--kernel')
                self.assertEqual(lines.stdout, '')
                self.assertEqual('speaks only UAS, and would have no driver' in lines.stderr, path != 'etc/uasd/history', lines.stderr)
                privatebus.kill(daemon)
                os.unlink(self.tree.path(path))

    def given_up(self):
        """uasd runs, and the kernel sets the disk offline."""
        self.both()
        os.write(self.kmsg, b'6,1,%d,-;sd 3:0:0:0: Device offlined - not ready after error recovery\n SUBSYSTEM=scsi\n DEVICE=+scsi:3:0:0:0\n' %
                 (time.monotonic() * 1000000))

    def test_trouble(self):
        "A disk that fails under uas is distrusted, and kept off it."
        self.warns('DISTRUSTED')
        self.given_up()
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')
        self.driver_is('usb-storage')

    def test_trouble_in_use(self):
        "Also if it cannot leave uas yet: after a replug it starts on usb-storage."
        self.warns('DISTRUSTED')
        self.use(True)
        self.given_up()
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')
        self.assertEqual((self.disk()['driver'], self.disk()['state']), ('uas', 'waiting'))

    def test_trouble_uas_alone(self):
        "There is no other driver for it: the fault is reported, and nothing is recorded."
        self.warns('TROUBLE')
        self.uas_alone()
        self.given_up()
        until(lambda: 'trouble on uas, which is not held against the disk' in self.journal(), 'it is told')
        self.assertEqual((self.quirks(), self.disk()['driver'], self.disk()['state']), ('', 'uas', 'settled'))
        self.assertFalse(os.path.exists(self.tree.path('etc/uasd/history')))

    def test_uas_alone_comes(self):
        "It appears after the entry was made, and gets no driver. The entry is removed, and it is bound to uas."
        self.uas_alone()
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        self.unplug()
        daemon = self.both()
        self.assertEqual(self.quirks(), '1209:5a5a:u')
        privatebus.kill(daemon)
        self.bind(None)
        self.tree.link('sys/bus/usb/devices/2-1:1.0', INTERFACE)
        self.start_on_bus()
        self.assertEqual(self.quirks(), '')
        self.driver_is('uas')
        until(lambda: self.disk()['state'] == 'settled', 'and stays there')

    def look(self):
        """Makes uasd read the disk again."""
        self.tree.write('run/uasd/hold/2-1:1.0', '')
        os.unlink(self.tree.path('run/uasd/hold/2-1:1.0'))

    def records(self, line):
        self.tree.write('etc/uasd/history', line)

    def test_rolled_back(self):
        "A trial fails, and the disk is rolled back. uasd-switch writes the record, and the entry is in the quirks at once."
        self.warns('ROLLED_BACK')
        self.bind('usb-storage')
        self.tree.write('record', RECORD % ('distrusted', '-'))
        self.plays_switch('cp "$TREE/record" "$TREE/etc/uasd/history"',
                          "printf 'STEP verify 1\\nEND 7 verify It cannot be read.\\n'", 'exit 7')
        self.both()
        until(lambda: self.disk()['state'] in ('failed', 'settled') and self.calls(), 'it was tried')
        self.assertEqual(self.disk()['driver'], 'usb-storage')
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')

    def test_put_in_order(self):
        "A record that --recover writes has the same effect."
        self.bind('usb-storage')
        self.tree.write('record', RECORD % ('distrusted', '-'))
        self.tree.write('run/uasd/switch/2-1:1.0.lock', '')
        self.tree.write('run/uasd/switch/2-1:1.0', 'BUSNUM=2\n')
        self.plays_switch('cp "$TREE/record" "$TREE/etc/uasd/history"', 'rm -f "$TREE/run/uasd/switch/2-1:1.0"', 'exit 0')
        self.both()
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')

    def test_switch_of_others(self):
        "udev started a uasd-switch after uasd had read the disk. Its history record counts when its switch record is removed."
        self.both()
        self.records(RECORD % ('distrusted', '-'))
        self.tree.write('run/uasd/switch/2-1:1.0', '')
        os.unlink(self.tree.path('run/uasd/switch/2-1:1.0'))
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')

    def test_event_of_others_lost(self):
        "So many files are removed there that the kernel loses the event: uasd reads everything again."
        daemon = self.both()
        with open('/proc/sys/fs/inotify/max_queued_events') as f:
            most = int(f.read())
        if most > 100000:
            self.skipTest('it would take minutes to fill the queue of inotify')
        stop(daemon)
        for i in range(most + 2):  # two equal events in a row are one
            path = self.tree.path(f'run/uasd/switch/x{i % 2}')
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            os.unlink(path)
        self.records(RECORD % ('distrusted', '-'))
        self.tree.write('run/uasd/switch/2-1:1.0', '')
        os.unlink(self.tree.path('run/uasd/switch/2-1:1.0'))
        daemon.send_signal(signal.SIGCONT)
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')

    def unplug(self):
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0'))
        self.look()

    def test_unplugged_on_trial(self):
        """Two of the same model: the other one is not kept off while this one is on trial. An unplug ends the trial, and the
        other one is kept off before it is plugged in."""
        self.tree.write('etc/uasd/policy', '1209:5a5a:S2=usb-storage\n')
        self.records(RECORD % ('trial', BOOT))
        self.both()
        self.assertEqual((self.disk()['driver'], self.quirks()), ('uas', ''))
        self.unplug()
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')

    def test_unplugged_in_a_switch(self):
        "A record that uasd-switch writes after the disk has gone counts as well."
        self.bind('usb-storage')
        self.tree.write('record', RECORD % ('distrusted', '-'))
        self.tree.write('gone', '')
        self.plays_switch('while [ -e "$TREE/gone" ]; do sleep 0.02; done', 'cp "$TREE/record" "$TREE/etc/uasd/history"', 'exit 1')
        self.both()
        until(lambda: os.path.exists(self.tree.path('calls')), 'it is tried')
        self.unplug()
        until(lambda: json.loads(self.ctl('list', '--json').stdout)['disks'] == [], 'it has gone')
        self.assertEqual(self.quirks(), '')
        os.unlink(self.tree.path('gone'))
        until(lambda: self.quirks() == '1209:5a5a:u', 'it is kept off')


if __name__ == '__main__':
    main()

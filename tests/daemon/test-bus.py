#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: its objects are those of org.uasd1.xml; jobs; a bus that starts late, or
again."""

import json
import os
import pty
import select
import subprocess
import time
import unittest
import xml.etree.ElementTree as ElementTree

from machine import INTERFACE, TOP, XML, Machine, main, path_of, patience, until
from parts import filled
from tree import BOOT


class Daemon(Machine):
    # Objects

    def shape(self, interfaces):
        """{interface: {(kind, name): arguments, and whether changes are signalled, true by default}}"""
        def annotations(one):
            return {'org.freedesktop.DBus.Property.EmitsChangedSignal': 'true',
                    **{a.get('name'): a.get('value') for a in one.findall('annotation')}}
        found = {}
        for interface in interfaces:
            members = found[interface.get('name')] = {}
            for one in interface:
                if one.tag == 'property':
                    members['property', one.get('name')] = one.get('type'), one.get('access'), annotations(one)
                elif one.tag in ('method', 'signal'):
                    members[one.tag, one.get('name')] = [(arg.get('type'), arg.get('name'), arg.get('direction', 'out'))
                                                         for arg in one.findall('arg')], annotations(one)
        return found

    def test_contract(self):
        self.both()
        self.use(True)
        self.assertEqual(self.switch(), '/org/uasd1/job/1')
        there = {}
        for path in ['/org/uasd1', *self.managed()]:
            p = self.busctl('introspect', '--xml-interface', 'org.uasd1', path)
            self.assertNotIn('Deprecated', p.stdout)
            there.update(self.shape(ElementTree.fromstring(p.stdout).findall('interface')))
        there = {name: members for name, members in there.items() if name.startswith('org.uasd1')}
        self.assertEqual(there, self.shape(ElementTree.parse(XML).getroot().findall('interface')))

    def test_courses(self):
        "ListDisks returns the same as the properties of each disk, and `list` shows the same from more."
        self.tree.disk('2-2', 'sdy', 'uas', product='A "second"', speed=480)
        self.both()
        p = self.busctl('--json=short', 'call', 'org.uasd1', '/org/uasd1', 'org.uasd1.Manager', 'ListDisks', 'b', 'true')
        courses, users = json.loads(p.stdout)['data']
        told = {one[0]: [*one[:5], one[7], one[8:11], [user[1:] for user in users if user[0] == one[0]]] for one in courses}
        names = 'Id', 'State', 'Target', 'ReasonId', 'Verdict', 'Lease', 'Outcome', 'Busy'
        self.assertEqual(told, {disk['Id']: [disk[name] for name in names] for disk in self.managed_disks()})
        self.assertEqual(len(told), 2)
        brief, whole = (self.ctl('list', *more).stdout.splitlines() for more in (['-o', '+PORT'], ['-o', '+PORT,POLICY']))
        self.assertEqual(len(brief), 3)
        for one, other in zip(brief, whole, strict=True):
            self.assertEqual(other.rsplit(None, 1)[0], one)

    def test_values(self):
        "Each property of a disk that waits, and of its job."
        self.both()
        self.use(True)
        self.switch()
        [disk] = self.managed_disks()
        # Two tests of their own: test_sentences, test_moments.
        del disk['Sentences'], disk['WaitingSince']
        self.assertEqual(disk, {
            'Id': '2-1:1.0', 'Interface': '2-1:1.0', 'VendorId': 0x1209, 'ProductId': 0x5a5a, 'Revision': 0x214, 'Manufacturer': 'Maker',
            'Product': 'Disk', 'Serial': 'S1', 'SpeedMbps': 5000, 'MaxSpeedMbps': 0, 'UsbVersion': '3.20', 'Driver': 'uas', 'Capable': True,
            'Policy': 'auto', 'Target': 'usb-storage', 'State': 'waiting',
            'Reason': 'Waits for usb-storage until nothing uses it: dm-9 (on sdz).', 'ReasonId': 'override', 'Verdict': 'unknown',
            'History': '', 'Diagnosis': '', 'Host': 'host3', 'Lease': '', 'Disks': [['sdz', 0, 1 << 20]],
            'Busy': [['holder', 'sdz', 'dm-9', '', '', 0, '']], 'Outcome': [-1, '', ''], 'Advice': '', 'Trim': 'off', 'SystemDisk': False,
            'TrialEnds': 0})
        self.assertEqual(self.job(), ('/org/uasd1/job/1', {'Id': 1, 'Disk': '2-1:1.0', 'From': 'uas', 'To': 'usb-storage',
                                                           'State': 'waiting', 'Step': '', 'Result': ''}))

    def test_told_of_changes(self):
        "For each property uasd sends its changes, or invalidates it, or does neither, as documented."
        contract = {name: {key: more[2]['org.freedesktop.DBus.Property.EmitsChangedSignal'] for (kind, key), more in members.items()
                           if kind == 'property'}
                    for name, members in self.shape(ElementTree.parse(XML).getroot().findall('interface')).items()}
        self.both()
        listener = self.listen()
        self.ctl('inhibit', 'true')
        self.switch()
        told = {}
        for line in listener:
            one = json.loads(line)
            data = one['payload']['data']
            if one['member'] == 'PropertiesChanged':
                of = told.setdefault(data[0], {})
                of.update(dict.fromkeys(data[1], 'true'), **dict.fromkeys(data[2], 'invalidates'))
            elif one['member'] == 'JobRemoved':
                break
        self.assertEqual(told, {name: {key: how for key, how in properties.items() if how in ('true', 'invalidates')}
                                for name, properties in contract.items()})

    def test_moments(self):
        "Since when a switch waits, and the end of a trial, by the time of day."
        self.both()
        before = time.time()
        self.assertEqual([(one['WaitingSince'], one['TrialEnds']) for one in self.managed_disks()], [(0, 0)])
        self.use(True)
        self.switch()
        [one] = self.managed_disks()
        self.assertTrue(before - 1 < one['WaitingSince'] / 1e6 < time.time() + 1, one)
        self.assertRegex(self.ctl('status', 'sdz').stdout, r'(?m)^   Waiting: since \d{4}-\d\d-\d\d [\d:]{8} \(\d+ s\)$')
        self.use(False)
        self.driver_is('usb-storage')
        self.assertEqual([one['WaitingSince'] for one in self.managed_disks()], [0])

    def test_end_of_trial(self):
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 '
                        f'kernel=6.1.0-test boot={BOOT} date=- reason=-\n')
        self.both()
        [one] = self.managed_disks()
        self.assertEqual((one['State'], one['WaitingSince']), ('trial', 0))
        self.assertGreater(one['TrialEnds'] / 1e6, time.time())
        self.assertRegex(self.ctl('list').stdout, ' trial, (10|9) min left ')
        self.assertRegex(self.ctl('status', 'sdz').stdout, r'(?m)^     Trial: until \d{4}-\d\d-\d\d [\d:]{8} \((10|9) min left\)$')

    def test_more(self):
        "The advice for a slow link, the setting of TRIM, and whether the running system is on the disk."
        self.tree.disk('1-3', 'sdy', 'uas', product='Slow', speed=480)
        self.both()
        slow, fast = sorted(self.managed_disks(), key=lambda one: one['SpeedMbps'])
        self.assertEqual([one['Trim'] for one in (slow, fast)], ['off', 'off'])
        self.assertEqual([one['SystemDisk'] for one in (slow, fast)], [False, False])
        self.assertIn('SuperSpeed', slow['Advice'])
        self.assertEqual(fast['Advice'], '')

    def test_read_alone(self):
        "What depends on the users of a disk is up to date, whichever property a client reads."
        self.both()

        def read(name):
            return self.busctl('get-property', 'org.uasd1', path_of('2-1:1.0'), 'org.uasd1.Disk', name).stdout.strip()
        self.assertEqual(read('SystemDisk'), 'b false')
        self.tree.write('proc/swaps', 'Filename Type Size Used Priority\n/dev/sdz partition 1 0 -2\n')
        until(lambda: read('SystemDisk') == 'b true', 'the swap is found')
        self.switch()
        self.assertIn('swap on sdz', read('Reason'))
        self.use(True)
        self.tree.write('proc/swaps', 'Filename Type Size Used Priority\n')
        until(lambda: 'dm-9' in read('Reason'), 'the other user is found')
        self.ctl('cancel', 'sdz')

    def test_told_of_unplugged(self):
        "The disk of a job is unplugged: the clients hear how the job has ended."
        self.hears()
        self.both()
        self.use(True)
        job = self.switch()
        listener = self.listen()
        self.pull()
        self.put_back(6)
        ends = []
        while (one := json.loads(listener.readline()))['member'] != 'InterfacesAdded':
            if one['member'] == 'JobRemoved':
                ends.append(one['payload']['data'])
        self.assertEqual(ends, [[job, '2-1:1.0', 4, '', *['the disk was unplugged'] * 2]])

    def test_told_when_free(self):
        "A disk that waits is not in use any more: the clients hear that it only waits until it has been free for a while."
        self.conf('[uasd]\nQuietSec=600\n')
        daemon = self.both()
        self.use(True)
        self.switch()
        until(lambda: self.disk()['state'] == 'waiting' and self.at_rest(daemon, 1), 'it waits')
        listener = self.listen()
        self.use(False)
        until(lambda: 'until it has been free for a while' in self.disk()['reason'], 'it is free')
        self.ctl('cancel', 'sdz')
        told = []
        while 'settled' not in told:
            one = json.loads(listener.readline())
            if one['member'] == 'PropertiesChanged' and one['payload']['data'][0] == 'org.uasd1.Disk':
                told.append(one['payload']['data'][1]['State']['data'])
        self.assertEqual(told[0], 'waiting')

    def test_lun_without_a_disk(self):
        "A LUN for which the kernel has made no block device, as that of a card reader: all else is as without it."
        scsi = INTERFACE + '/host3/target3:0:0/3:0:0:'
        self.tree.write(scsi + '1/type', '0\n')
        self.tree.write(scsi + '0/block/sdz/uevent', '')
        self.tree.write(scsi + '0/vpd_pgb2', bytes([0, 0xb2, 0, 4, 0, 0x80, 2, 0]))
        self.tree.write(scsi + '0/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.both()
        for word in 'on', 'off':
            self.assertEqual(self.call_disk('SetTrim', 'sa{sv}', word, '0').stdout, 'a{sv} 0\n')
            [one] = self.managed_disks()
            self.assertEqual((one['Trim'], one['Disks']), (word, [['sdz', 0, 1 << 20]]))
        self.ctl('switch', 'sdz', 'usb-storage')
        self.driver_is('usb-storage')

    def test_sentences(self):
        "Sentences has the others in parts. With its values filled in, a format is the English sentence."
        self.tree.disk('1-3', 'sdy', 'uas', product='Slow', speed=480)
        self.both()
        self.use(True)
        self.switch()
        slow, busy = sorted(self.managed_disks(), key=lambda one: one['SpeedMbps'])
        self.assertEqual({name: filled(text) for name, text in slow['Sentences'].items()}, {name: slow[name] for name in ('Reason', 'Advice')})
        self.assertEqual({name: filled(text) for name, text in busy['Sentences'].items()}, {'Reason': busy['Reason']})
        self.assertIn('␂Waits for %s until nothing uses it: %s.␟usb-storage␟', busy['Sentences']['Reason'])

    def test_activation(self):
        "D-Bus starts the unit through the link that enabling makes."
        with open(os.path.join(TOP, 'src/daemon/org.uasd1.service')) as activation, open(os.path.join(TOP, 'systemd/uasd.service.in')) as unit:
            [started] = [line.split('=')[1] for line in activation if line.startswith('SystemdService=')]
            self.assertIn(started, [line.split('=')[1] for line in unit if line.startswith('Alias=')])

    # Jobs

    def test_job(self):
        "A job waits, runs in steps and ends, and all of that is signalled. Then it is removed."
        self.both()
        self.assertEqual(self.job(), (None, {}))
        listener = self.listen()
        self.use(True)
        path = self.switch()
        waiting = {'Id': 1, 'Disk': '2-1:1.0', 'From': 'uas', 'To': 'usb-storage', 'State': 'waiting', 'Step': '', 'Result': ''}
        self.assertEqual(self.job(), (path, waiting))
        self.tree.write('at-sync', '')
        self.use(False)
        self.step_is('sync')
        self.assertEqual(self.job(), (path, dict(waiting, State='running', Step='sync')))
        p = self.cancel_job(path)
        self.assertIn('not stopped in the middle', p.stderr)
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('usb-storage')
        until(lambda: self.job() == (None, {}), 'the job is gone')
        self.assertEqual(self.busctl('get-property', 'org.uasd1', path, 'org.uasd1.Job', 'State').returncode, 1)
        steps = [('running', step, '') for step in ('identify', 'claim', 'sync', 'bind')]
        self.assertEqual(self.told_of(listener, path), [
            'InterfacesAdded', ('running', '', ''), *steps, ('done', 'release', 'done'),
            ('JobRemoved', '2-1:1.0', 0, 'release', 'It is moved.'), 'InterfacesRemoved'])

    def test_begins_again(self):
        "A switch finds the disk in use, waits, and begins again: without the step that it had before."
        self.plays_switch('for word; do interface=$target target=$word; done',
                          'test "$(wc -l <"$TREE/calls")" -gt 1 || { echo "STEP claim 1"; echo "END 3 claim in use"; exit 3; }',
                          'ln -sfn "$(realpath "$TREE/sys/bus/usb/drivers/$target")" "$TREE/sys/bus/usb/devices/$interface/driver"',
                          'echo "END 0 release It is moved."')
        self.both()
        listener = self.listen()
        path = self.switch()
        self.assertEqual(self.told_of(listener, path), [
            'InterfacesAdded', ('running', '', ''), ('running', 'claim', ''), ('waiting', '', ''), ('running', '', ''), ('done', 'release', 'done'),
            ('JobRemoved', '2-1:1.0', 0, 'release', 'It is moved.'), 'InterfacesRemoved'])

    def test_rolled_back(self):
        self.warns('ROLLED_BACK')
        self.both()
        listener = self.listen()
        self.tree.write('fails', '')
        self.assertIn('(step bind)', self.ctl('switch', 'sdz', 'usb-storage', code=7).stderr)
        told = self.told_of(listener, '/org/uasd1/job/1')
        self.assertEqual(told[-3:], [('done', 'bind', 'rolled-back'),
                                     ('JobRemoved', '2-1:1.0', 7, 'bind', 'The disk did not come back.'), 'InterfacesRemoved'])

    def test_results(self):
        "Each exit status of uasd-switch has its word."
        self.warns('FAILED', 'ROLLED_BACK')
        self.both()
        listener = self.listen()
        for code, word in (1, 'failed'), (2, 'failed'), (4, 'no-disk'), (5, 'incapable'), (6, 'refused'), (7, 'rolled-back'), (8, 'failed'), (9, 'failed'):
            with self.subTest(code):
                self.plays_switch('echo "STEP claim 1"', f'echo "END {code} claim It is so."', f'exit {code}')
                told = self.told_of(listener, self.switch())
                self.assertEqual(told[-3:-1], [('done', 'claim', word), ('JobRemoved', '2-1:1.0', code, 'claim', 'It is so.')])

    def test_parts(self):
        "uasd reports the end of a switch in English, and in parts for uasctl."
        self.warns('ROLLED_BACK')
        self.both()
        listener = self.listen()
        parts, english = '␂%s does not take it: %s␟usb-storage␟No such device␃', 'usb-storage does not take it: No such device'
        self.tree.write('fails', parts)
        self.assertIn(f'{english} (step bind)', self.ctl('switch', 'sdz', 'usb-storage', code=7).stderr)
        ends = (one['payload']['data'] for one in map(json.loads, listener) if one['member'] == 'JobRemoved')
        self.assertEqual(next(ends)[4:], [english, parts])
        self.assertEqual(self.disk()['outcome']['text'], english)
        entry = self.messages()[-1][1]
        self.assertEqual(entry['MESSAGE'], f'2-1:1.0 sdz: rolled back at step bind: {english}')
        self.assertEqual(entry['UASD_PARTS'], f'␂%s%s%s: %s␟2-1:1.0␟ ␟sdz␟␂%s at step %s: %s␟rolled back␟bind␟{parts}␃␃')

    def test_forged_end(self):
        """The first END counts: later text may be the name of a process that keeps the disk busy. The state of the disk also
        counts."""
        self.plays_switch("printf 'STEP claim 1\\nEND 3 claim in use: open of sdz by x\\nEND 0 a b\\n'", 'exit 3')
        self.both()
        self.ctl('switch', '2-1', 'usb-storage', '--wait=2', code=3)
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertEqual(self.disk()['outcome']['code'], 3)
        self.assertLess(self.calls(), 5)

    def test_done_and_not_moved(self):
        self.warns('FAILED')
        self.plays_switch("echo 'END 0 release moved'")
        self.both()
        self.ctl('switch', '2-1', 'usb-storage', '--wait', code=1)
        disk = self.disk()
        self.assertEqual((disk['state'], disk['driver'], disk['outcome']['code']), ('failed', 'uas', 1), disk)
        self.assertEqual(self.calls(), 1)

    def test_as_started(self):
        "uasd-switch has a process group of its own, and gets all signals: uasd blocks some, and ignores SIGPIPE."
        # uasd tries again: a file is there whole, whenever the test reads it.
        self.plays_switch('grep -E "^Sig(Blk|Ign)" /proc/self/status >"$TREE/signals.new"', 'mv "$TREE/signals.new" "$TREE/signals"',
                          'cut -d" " -f1,5 /proc/$$/stat >"$TREE/group.new"', 'mv "$TREE/group.new" "$TREE/group"',
                          "echo 'END 3 claim in use'", 'exit 3')
        self.both()
        self.ctl('switch', '2-1', 'usb-storage', code=3)
        with open(self.tree.path('signals')) as signals, open(self.tree.path('group')) as group:
            self.assertEqual([int(line.split()[1], 16) & 0x7fffffff for line in signals], [0, 0])  # glibc has two of its own
            self.assertEqual(len(set(group.read().split())), 1)

    def test_left_without_driver(self):
        """uasd tries again until a driver is bound."""
        self.warns('STRANDED')
        self.plays_switch('for interface; do last2=$last last=$interface; done',
                          'driver="$TREE/sys/bus/usb/devices/$last2/driver"',
                          'if [ "$(wc -l <"$TREE/calls")" -gt 2 ]; then',
                          '        ln -sfn "$(realpath "$TREE/sys/bus/usb/drivers/$last")" "$driver"',
                          '        echo "END 0 release moved"',
                          '        exit 0',
                          'fi',
                          'rm -f "$driver"',
                          "printf 'STEP bind 1\\nEND 1 bind usb-storage does not take it; it did not go back\\n'",
                          'exit 1')
        self.both()
        self.ctl('switch', '2-1', 'usb-storage', '--wait', code=1)
        self.assertIsNone(self.disk()['driver'])
        self.driver_is('usb-storage', 60)
        until(lambda: self.disk()['state'] == 'settled', 'it is settled')
        self.assertEqual(self.calls(), 3)

    def test_cancel(self):
        "A waiting job is cancelled through its own object. Nothing moves when the disk becomes free."
        self.both()
        self.use(True)
        p = self.cancel_job('/org/uasd1/job/1')
        self.assertEqual(p.returncode, 1)
        path = self.switch()
        self.assertEqual(self.cancel_job(path).returncode, 0)
        self.assertEqual(self.job(), (None, {}))
        self.assertEqual(self.disk()['state'], 'settled')
        self.use(False)
        self.assertEqual(self.disk()['driver'], 'uas')
        self.assertFalse(os.path.exists(self.tree.path('moving')))

    def test_newer_request(self):
        "One job for each disk: a newer one replaces it."
        self.both()
        self.use(True)
        listener = self.listen()
        first = self.switch()
        self.assertEqual(self.switch(), '/org/uasd1/job/2')
        self.assertEqual(self.told_of(listener, first)[1:], [
            ('done', '', 'failed'), ('JobRemoved', '2-1:1.0', 1, '', 'replaced by a newer request'), 'InterfacesRemoved'])
        self.assertEqual(self.job()[0], '/org/uasd1/job/2')

    def test_killed_client(self):
        "The client is killed: the job continues."
        self.both()
        self.use(True)
        client = self.start_ctl('switch', 'sdz', 'usb-storage', '--wait', stderr=subprocess.DEVNULL)
        path, _ = until(lambda: self.job() if self.job()[0] else None, 'there is a job')
        client.kill()
        client.wait()
        self.assertEqual(self.job()[1]['State'], 'waiting')
        self.use(False)
        self.driver_is('usb-storage')
        until(lambda: not self.job()[0], 'the job is gone')
        self.assertIn('It is moved.', self.journal())

    def on_terminal(self, *args, stdout=subprocess.DEVNULL):
        """uasctl with a terminal behind stderr, and the other end of it."""
        ours, theirs = pty.openpty()
        # Open the whole time: see terminal.py.
        self.addCleanup(os.close, theirs)
        client = self.start_ctl(*args, stderr=theirs, stdout=stdout)
        screen = os.fdopen(ours, 'rb', buffering=0)
        self.addCleanup(screen.close)
        return client, screen

    def read_until(self, screen, text):
        said = b''
        while text not in said:
            said += screen.read(4096)
        return said

    def test_progress(self):
        "A terminal shows the step on one line, which is erased at the end. No other output has it, and -q disables it."
        self.both()
        said = self.ctl('switch', 'sdz', 'usb-storage').stderr
        self.assertNotIn('\033', said)
        self.assertEqual(said.count('from uas to usb-storage'), 1)  # once for all steps
        client, screen = self.on_terminal('switch', 'sdz', 'uas')
        said = self.read_until(screen, b'It is moved.\r\n')
        self.assertIn(b'\r2-1:1.0: identify\033[K\r2-1:1.0: claim\033[K\r2-1:1.0: sync\033[K\r2-1:1.0: bind\033[K\r\033[K', said)
        self.assertTrue(said.endswith(b'\r\033[Kuasctl: 2-1:1.0 (sdz): It is moved.\r\n'), said)
        client, screen = self.on_terminal('-q', 'switch', 'sdz', 'usb-storage')
        self.assertEqual(client.wait(patience()), 0)
        self.assertFalse(select.select([screen], [], [], 0)[0])
        client, screen = self.on_terminal('monitor', stdout=subprocess.PIPE)
        self.assertIn(' present: ', client.stdout.readline())
        self.switch('uas')
        self.read_until(screen, b'2-1:1.0: bind\033[K\r\033[K')

    # The bus

    @unittest.skipIf(os.geteuid(), 'only for root does uasctl use the private socket')
    def test_late_bus(self):
        "uasd serves root before there is a bus. It joins the bus when that starts, and again after a restart."
        self.start_daemon()
        until(lambda: self.tree.run('list', env=self.env).stderr == '', 'uasd answers on its private socket')
        self.ctl('switch', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['driver'], 'usb-storage')
        bus = self.start_bus()
        until(self.on_bus, 'uasd is on the bus')
        self.assertEqual([one['Driver'] for one in self.managed_disks()], ['usb-storage'])
        for _ in range(2):
            bus.kill()
            bus.wait()
            os.unlink(os.path.join(self.dir, 'bus'))
            self.assertEqual(self.disk()['driver'], 'usb-storage')
            bus = self.start_bus()
            until(self.on_bus, 'uasd is on the new bus')
        self.ctl('switch', 'sdz', 'uas')
        self.assertEqual(self.disk()['driver'], 'uas')


if __name__ == '__main__':
    main()

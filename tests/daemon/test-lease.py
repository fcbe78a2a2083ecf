#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: inhibitors and leases."""

import fcntl
import json
import os
import signal
import subprocess
import sys

from machine import TOP, Machine, main, patience, stop, until

HOLDER = os.path.join(TOP, 'tests/vm/within/leaseholder.py')
sys.path.append(os.path.dirname(HOLDER))
import leaseholder  # noqa: E402
from tree import UAS_ALONE  # noqa: E402

# Plays the claimer as well. Its claim is a lock. Like that of a block device it ends with its holder, not when the holder is
# reaped: uasd starts the switch before that.
CLAIM = """#!/bin/sh
for word; do last=$word; done
case "$*" in
*--claim*)
        echo "$*" >>"$TREE/claims"
        if [ -e "$TREE/in-use" ]; then
                echo "STEP claim 1"
                echo "END 3 claim in use: mount of sdz at /mnt by x"
                exit 3
        fi
        while [ -e "$TREE/claim-waits" ]; do sleep 0.02; done
        exec 9>"$TREE/claimed"
        flock -w 10 9 || exit 1
        echo $$ >&9
        echo KEPT
        exec cat >/dev/null ;;
esac
# Whoever switches claims for himself.
if [ -e "$TREE/claimed" ] && ! flock -s -n "$TREE/claimed" true; then
        echo "END 3 claim in use: a mount or a program has claimed sdz"
        exit 3
fi
exec "$TREE/moves" "$@"
"""


class Lease(Machine):
    def setUp(self):
        super().setUp()
        os.rename(self.tree.path('switch'), self.tree.path('moves'))
        self.play(CLAIM)

    def property(self, name):
        [disk] = self.managed_disks()
        return disk[name]

    def holder(self, *what, comm='fio'):
        p = self.start(['sh', '-c', 'read -r go && exec "$@"', 'sh', sys.executable, HOLDER, self.tree.path('run/uasd/private'), *what],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tree.write(f'proc/{p.pid}/comm', comm + '\n')
        p.stdin.write('go\n')
        p.stdin.flush()
        return p

    def told(self, holder):
        return holder.stdout.readline().rstrip('\n')

    def leased(self):
        p = self.holder('lease', '2-1:1.0')
        self.assertEqual(p.stdout.readline(), 'taken\n', self.journal())
        return p

    def ask(self, holder, line):
        holder.stdin.write(line + '\n')
        holder.stdin.flush()
        return holder.stdout.readline().rstrip('\n')

    def record(self):
        "Whether a lease is on record."
        try:
            with open(self.tree.path('run/uasd/attachment/' + self.tree.attachment())) as f:
                marks = dict(line.rstrip('\n').split('=') for line in f)
        except FileNotFoundError:
            return False
        return marks['LEASE'] != 'none'

    def claimed(self):
        try:
            with open(self.tree.path('claimed')) as f:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True

    def claims(self):
        try:
            with open(self.tree.path('claims')) as f:
                return [line.split()[1] for line in f]
        except FileNotFoundError:
            return []

    # Inhibitors

    def test_wait_tells_the_last_reason(self):
        "A reason that changes while uasctl waits is printed as it is at the end."
        self.both()
        first = self.start_ctl('inhibit', '--why', 'the first', 'sh', '-c', 'echo begun; read x', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(first.stdout.readline(), 'begun\n')
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        waits = self.start_ctl('wait', 'sdz', f'--wait={patience(3):.0f}', stderr=subprocess.PIPE)
        until(lambda: f' {waits.pid} ' in self.busctl('list', '--unique').stdout, 'it reads the first one')
        stop(waits)
        second = self.start_ctl('inhibit', '--why', 'the second', 'sh', '-c', 'echo begun; read x', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(second.stdout.readline(), 'begun\n')
        first.communicate('\n')
        waits.send_signal(signal.SIGCONT)
        self.assertIn('the second', waits.communicate()[1])
        second.communicate('\n')

    def test_inhibit(self):
        """A request waits until the command ends. uasctl has the exit status of the command. The words of the command stay
        unchanged."""
        self.both()
        go = self.tree.path('go')
        command = ['sh', '-c', f'echo begun; while [ ! -e {go} ]; do sleep 0.02; done; exit 7', '--why', '-q']
        p = self.start_ctl('inhibit', '--why', 'it is being filled', *command, stdout=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'begun\n')
        self.assertIn('inhibited by sh: it is being filled', self.ctl('switch', 'sdz', 'usb-storage', code=3).stderr)
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertEqual(self.disk()['reason'], 'Waits for usb-storage: inhibited by sh: it is being filled.')
        self.assertFalse(os.path.exists(self.tree.path('moving')))
        self.assertEqual(json.loads(self.ctl('inhibit', '--list', '--json').stdout),
                         {'version': 1, 'inhibitors': [{'disk': None, 'who': 'sh', 'why': 'it is being filled'}]})
        self.assertEqual(self.ctl('inhibit', '--list').stdout, 'DISK WHO WHY\nany  sh  it is being filled\n')
        self.tree.write('go', '')
        self.assertEqual(p.wait(patience()), 7)
        self.driver_is('usb-storage')
        self.assertIn('No program inhibits', self.ctl('inhibit', '--list').stderr)

    def test_inhibit_plugged_in_meanwhile(self):
        "An inhibitor for all disks also protects one that is plugged in later."
        self.hears()
        self.both()
        go = self.tree.path('go')
        p = self.start_ctl('inhibit', 'sh', '-c', f'echo begun; while [ ! -e {go} ]; do sleep 0.02; done', stdout=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'begun\n')
        self.pull()
        self.tree.write('etc/uasd/policy', '# \ngeneration=1\n1209:5a5a:S1=usb-storage\n')
        self.put_back(6)
        self.assertEqual(self.disk()['reason'], 'Waits for usb-storage: inhibited by sh.')
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertFalse(os.path.exists(self.tree.path('moving')))
        self.tree.write('go', '')
        self.driver_is('usb-storage')

    def test_inhibit_killed(self):
        "The client is killed: the command gets SIGTERM, and the switch goes on, whatever processes the command leaves."
        self.both()
        pid = self.tree.path('pid')
        command = f'sleep 1000 & echo $! >{pid}; trap "" TERM; echo begun; wait'
        p = self.start_ctl('inhibit', '--disk', 'sdz', 'sh', '-c', command, stdout=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'begun\n')
        with open(pid) as f:
            left = int(f.read())
        self.addCleanup(os.kill, left, signal.SIGKILL)
        self.assertEqual(self.ctl('inhibit', '--list', '--no-legend').stdout.split(), ['2-1:1.0', 'sh', '-'])
        self.switch()
        self.assertEqual(self.disk()['state'], 'waiting')
        p.kill()
        self.driver_is('usb-storage')
        os.kill(left, 0)

    def test_inhibit_signals(self):
        "The end of the command: by a signal, not found, not executable."
        self.both()
        self.assertIn('no-such-program', self.ctl('inhibit', 'no-such-program', code=127).stderr)
        self.ctl('inhibit', self.tree.top, code=126)
        self.ctl('inhibit', 'sh', '-c', 'kill -KILL $$', code=137)
        self.ctl('inhibit', '--disk=sdq', 'true', code=4)
        self.ctl('inhibit', 'true')
        p = self.start_ctl('inhibit', 'sh', '-c', 'trap "exit 3" TERM; echo begun; while :; do sleep 0.02; done',
                       stdout=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'begun\n')
        p.terminate()
        self.assertEqual(p.wait(patience()), 3)

    def test_inhibit_without_daemon(self):
        "uasd is killed: the inhibitor reports it, and the command continues. The next uasd does not know it."
        daemon = self.both()
        go = self.tree.path('go')
        p = self.start_ctl('inhibit', 'sh', '-c', f'echo begun; while [ ! -e {go} ]; do sleep 0.02; done; exit 5',
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), 'begun\n')
        daemon.kill()
        daemon.wait()
        self.assertIn('uasd has ended', p.stderr.readline())
        self.start_on_bus()
        self.assertEqual(self.ctl('inhibit', '--list', '--no-legend').stdout, '')
        self.ctl('switch', 'sdz', 'usb-storage')
        self.tree.write('go', '')
        self.assertEqual(p.wait(patience()), 5)
        daemon = None

    def test_inhibit_two(self):
        "Two inhibitors: both must end. One for another disk has no effect here. A harmful name is made harmless."
        self.both()
        first = self.holder('inhibit', '2-1:1.0', 'one\033[31m', 'w' * 500)
        self.assertEqual(self.told(first), 'taken')
        second = self.holder('inhibit', '', 'two', '')
        self.assertEqual(self.told(second), 'taken')
        self.switch()
        self.assertIn('inhibited by one\\x1b[31m: ' + 'w' * 100, self.disk()['reason'])
        self.assertEqual(self.ask(first, 'close'), 'closed')
        until(lambda: self.disk()['reason'] == 'Waits for usb-storage: inhibited by two.', 'the other one')
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertEqual(self.ask(second, 'close'), 'closed')
        self.driver_is('usb-storage')
        self.assertIn('NoSuchDisk', self.told(self.holder('inhibit', '9-9:1.0', 'one', '')))

    def test_inhibit_too_many(self):
        "128 inhibitors at most. The end of one makes room for another."
        self.both()
        peer = leaseholder.Peer(self.tree.path('run/uasd/private'))
        self.addCleanup(peer.socket.close)
        peer.nudge()
        for _ in range(128):
            self.assertTrue(peer.answer(peer.call('Inhibit', ['who', 'why']))[0])
        good, fields, body = peer.answer(peer.call('Inhibit', ['who', 'why']))
        self.assertEqual((good, fields[4], leaseholder.texts_of(body, 's')),
                         (False, 'org.freedesktop.DBus.Error.LimitsExceeded', ['There are too many inhibitors already.']))
        for fd in peer.fds:
            os.close(fd)
        until(lambda: peer.answer(peer.call('Inhibit', ['who', 'why']))[0], 'there is room')
        os.close(peer.fds[-1])

    def test_inhibit_reasons(self):
        "A program may give its reason as a sentence, and need not give its name."
        self.both()
        self.use(True)
        self.switch()
        for who, why, text in (('one', 'it is filled', 'one: it is filled.'), ('one', 'It is filled.', 'one: It is filled.'),
                               ('one', 'Filled!', 'one: Filled!'), ('', 'it is filled', 'somebody: it is filled.'), ('one', '', 'one.')):
            with self.subTest(who=who, why=why):
                p = self.holder('inhibit', '2-1:1.0', who, why)
                self.assertEqual(self.told(p), 'taken')
                self.assertEqual(self.property('Reason'), 'Waits for usb-storage: inhibited by ' + text)
                self.assertEqual(self.ask(p, 'close'), 'closed')
                until(lambda: 'inhibited' not in self.property('Reason'), 'it has ended')

    def test_inhibit_told(self):
        "The bus signals each begin and end, with the present list."
        self.both()
        listener = self.listen()

        def told():
            for line in listener:
                one = json.loads(line)
                if one['member'] == 'PropertiesChanged' and one['payload']['data'][0] == 'org.uasd1.Manager':
                    self.assertEqual(one['path'], '/org/uasd1')
                    self.assertEqual(one['payload']['data'][2], [])
                    return one['payload']['data'][1]['Inhibitors']['data']
            raise AssertionError('nothing')

        first = self.holder('inhibit', '2-1:1.0', 'one', 'it is filled')
        self.assertEqual(told(), [['2-1:1.0', 'one', 'it is filled']])
        second = self.holder('inhibit', '', 'two', '')
        self.assertEqual(told(), [['2-1:1.0', 'one', 'it is filled'], ['', 'two', '']])
        self.assertEqual((self.told(first), self.told(second)), ('taken', 'taken'))
        self.assertEqual(self.ask(first, 'close'), 'closed')
        self.assertEqual(told(), [['', 'two', '']])
        second.kill()
        self.assertEqual(told(), [])

    # Leases

    def test_lease(self):
        """Claimed the whole time, and moved only by its holder. Reported on the bus and in JSON. At its end the disk returns to
        its driver."""
        self.both()
        self.assertEqual((self.property('Lease'), self.disk()['lease']), ('', None))
        holder = self.leased()
        self.assertTrue(self.claimed() and self.record())
        self.assertEqual(self.claims(), ['--claim'])
        self.assertEqual(self.property('Lease'), f'fio ({holder.pid}) has it for itself.')
        self.assertEqual(self.disk()['lease'], self.property('Lease'))
        self.assertEqual(json.loads(self.ctl('explain', 'sdz', '--json').stdout)['disks'][0]['lease'], self.property('Lease'))
        self.assertIn('has it for itself', self.ctl('status', 'sdz').stdout)
        # No other client.
        self.assertIn('has it for itself', self.ctl('switch', 'sdz', 'usb-storage', code=6).stderr)
        other = self.told(self.holder('lease', '2-1:1.0'))
        self.assertIn('org.uasd1.Error.InUse', other)
        self.assertIn(f'({holder.pid})', other)
        self.assertEqual(self.disk()['driver'], 'uas')
        for there, driver in ('0 It is moved.', 'usb-storage'), ('0 It is moved.', 'uas'), ('0 It is moved.', 'usb-storage'):
            self.assertEqual(self.ask(holder, 'switch ' + driver), there)
            self.assertEqual(self.ctl('explain', 'sdz').stderr, '')  # the wish of the holder is not reported as a different view
            self.assertTrue(self.claimed())
            self.assertEqual(self.disk()['driver'], driver)
        self.assertEqual(self.claims(), ['--claim'] + ['--claim-again'] * 3)
        self.assertEqual(self.disk()['state'], 'settled')
        self.assertEqual(self.ask(holder, 'close'), 'closed')
        self.driver_is('uas')
        until(lambda: not self.record() and self.property('Lease') == '', 'there is no lease any more')
        self.assertFalse(self.claimed())
        self.ctl('switch', 'sdz', 'usb-storage')

    def test_lease_no_driver(self):
        "The holder switches back without the name of a driver: the disk has its former one, and is still leased."
        self.both()
        holder = self.leased()
        for word, driver in ('switch usb-storage', 'usb-storage'), ('switch', 'uas'):
            self.assertEqual(self.ask(holder, word), '0 It is moved.')
            self.assertEqual(self.disk()['driver'], driver)
        self.assertTrue(self.record())

    def client(self, path, bus=False):
        """Calls from this process."""
        peer = leaseholder.Peer(path)
        self.addCleanup(peer.socket.close)
        if bus:
            peer.join()
        else:
            peer.nudge()

        def call(member, *texts):
            good, fields, body = peer.answer(peer.call(member, texts, of=leaseholder.object_of('2-1:1.0')))
            return '' if good else fields[4]
        return call, peer

    def test_lease_of_a_client_of_the_bus(self):
        "Named by its process, too. It may switch the disk, and no other client of the bus."
        self.both()
        self.tree.write(f'proc/{os.getpid()}/comm', 'fio\n')
        holder, peer = self.client(os.path.join(self.dir, 'bus'), True)
        other, _ = self.client(os.path.join(self.dir, 'bus'), True)
        self.assertEqual(holder('Lease'), '')
        until(lambda: self.property('Lease') == f'fio ({os.getpid()}) has it for itself.', 'its name')
        for method in ['Switch', 'usb-storage'], ['Lease'], ['Eject']:
            self.assertEqual(other(*method), 'org.uasd1.Error.InUse')
        self.assertEqual(holder('Switch', 'usb-storage'), '')
        self.driver_is('usb-storage')
        os.close(peer.fds[0])
        self.driver_is('uas')
        until(lambda: not self.record() and not self.property('Lease'), 'no lease any more')
        self.assertEqual(other('Switch', 'usb-storage'), '')
        self.driver_is('usb-storage')

    def test_lease_nameless(self):
        "Its process cannot be seen from here."
        self.both()
        holder, _ = self.client(self.tree.path('run/uasd/private'))
        self.assertEqual(holder('Lease'), '')
        self.assertEqual(self.property('Lease'), 'Somebody has it for himself.')

    def test_lease_refused(self):
        "A disk that is moved, or is about to be, is not leased: for a user who asked for it, or for none."
        def refused():
            self.assertIn('2-1:1.0: a switch of it is under way or has been asked for.', self.call_disk('Lease', 'a{sv}', '0').stderr)
        self.tree.write('at-sync', '')
        self.conf('[uasd]\nQuietSec=0\nPolicy=usb-storage\n')
        self.both()
        until(lambda: self.disk()['state'] == 'switching', 'it is moved')
        self.assertIsNone(self.job()[0])
        refused()
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('usb-storage')
        self.use(True)
        job = self.switch('uas')
        refused()
        self.assertEqual(self.cancel_job(job).returncode, 0)
        self.assertEqual(self.claims(), [])
        self.leased()

    def test_lease_uas_alone(self):
        "A disk that speaks only UAS cannot be compared with itself."
        path = self.tree.path('sys/bus/usb/devices/2-1/descriptors')
        with open(path, 'rb') as f:
            device = f.read()[:18]
        with open(path, 'wb') as f:
            f.write(device + UAS_ALONE)
        self.both()
        self.assertIn('2-1:1.0: this disk speaks only UAS', self.call_disk('Lease', 'a{sv}', '0').stderr)

    def test_lease_odd_name(self):
        "A process chooses its name."
        self.both()
        holder = self.holder('lease', '2-1:1.0', comm='f\x1b[31mio')
        self.assertEqual(self.told(holder), 'taken')
        self.assertEqual(self.property('Lease'), f'f\\x1b[31mio ({holder.pid}) has it for itself.')
        self.assertIn(f': f\\x1b[31mio ({holder.pid})', self.told(self.holder('lease', '2-1:1.0')))

    def test_lease_smart(self):
        "The disk may be under measurement: smartctl is not called, even if only the daemon knows the lease."
        self.both()
        self.tree.write('sys/block/sdz/device/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.tree.write('usr/sbin/smartctl', f'#!/bin/sh\necho "$@" >>{self.tree.path("asked")}\necho "USB Type  sat"\n')
        os.chmod(self.tree.path('usr/sbin/smartctl'), 0o755)
        self.assertNotIn('leased', self.ctl('status', 'sdz').stdout)
        os.unlink(self.tree.path('asked'))
        holder = self.leased()
        record = self.tree.path('run/uasd/attachment/' + self.tree.attachment())
        os.rename(record, self.tree.path('record'))
        [one] = json.loads(self.ctl('status', '--json', 'sdz').stdout)['disks']
        self.assertIn('it is leased', one['smart'][0]['why_not'])
        os.rename(self.tree.path('record'), record)
        with open(self.tree.path('asked')) as f:
            self.assertEqual([line for line in f if not line.startswith('-P showall')], [])
        self.assertEqual(self.ask(holder, 'close'), 'closed')
        until(lambda: not self.record() and self.property('Lease') == '', 'there is no lease any more')
        self.assertNotIn('leased', self.ctl('status', 'sdz').stdout)

    def test_lease_killed(self):
        "The holder is killed while the disk is on the other driver: the disk returns."
        self.both()
        holder = self.leased()
        self.assertEqual(self.ask(holder, 'switch usb-storage'), '0 It is moved.')
        holder.kill()
        self.driver_is('uas')
        until(lambda: not self.record() and not self.claimed(), 'no lease any more')

    def test_lease_ends_with_run_full(self):
        "/run is full when the lease ends. Its end is on record with the next change of the disk, or when uasd ends. A new lease counts."
        self.warns('its mark in /run cannot be changed')
        daemon = self.both()
        for then in 'lease', 'switch', 'stop':
            with self.subTest(then):
                holder = self.leased()
                ends = self.run_is_full(daemon)
                holder.kill()
                until(lambda: not self.property('Lease') and not self.claimed(), 'no lease any more')
                self.assertTrue(self.record())
                ends()
                if then == 'lease':
                    holder = self.leased()
                    self.assertTrue(self.record())
                    holder.kill()
                    until(lambda: not self.record() and not self.claimed(), 'no lease any more')
                elif then == 'switch':
                    self.ctl('switch', 'sdz', 'usb-storage')
                else:
                    daemon.terminate()
                    self.assertEqual(daemon.wait(patience()), 0)
                self.assertFalse(self.record())

    def test_lease_on_the_bus(self):
        "Also over the system bus: a holder that leaves it ends the lease."
        self.both()
        p = self.call_disk('Lease', 'a{sv}', '0')
        self.assertEqual((p.returncode, p.stdout[:2]), (0, 'h '), p.stderr)
        until(lambda: 'the lease has ended' in self.journal() and not self.record() and not self.claimed(), 'no lease any more')
        self.assertEqual(self.property('Lease'), '')
        p = self.call_disk('Lease', 'a{sv}', '0', disk='9-9:1.0')
        self.assertIn('no USB disk 9-9:1.0', p.stderr)

    def test_lease_unused(self):
        "Without a switch there is nothing to restore."
        self.both()
        holder = self.leased()
        holder.kill()
        until(lambda: not self.record() and not self.claimed() and not self.property('Lease'), 'no lease any more')
        self.assertFalse(os.path.exists(self.tree.path('moving')))

    def test_lease_in_use(self):
        "The disk is in use: refused, with the user, and nothing of the lease remains."
        self.both()
        self.tree.write('in-use', '')
        self.assertEqual(self.told(self.holder('lease', '2-1:1.0')),
                         'error org.uasd1.Error.InUse The disk cannot be had alone: in use: mount of sdz at /mnt by x')
        self.assertEqual((self.record(), self.property('Lease'), self.disk()['state']), (False, '', 'settled'))
        os.unlink(self.tree.path('in-use'))
        self.leased()

    def test_lease_not_claimed(self):
        "uasd-switch cannot be started: refused, and nothing of the lease remains."
        self.both()
        os.rename(self.tree.path('switch'), self.tree.path('away'))
        self.assertIn('No such file or directory', self.told(self.holder('lease', '2-1:1.0')))
        self.assertEqual((self.record(), self.property('Lease')), (False, ''))
        os.rename(self.tree.path('away'), self.tree.path('switch'))
        self.leased()

    def test_lease_is_claimed(self):
        "Already while uasd-switch claims the disk nothing else moves it."
        self.both()
        self.tree.write('claim-waits', '')
        holder = self.holder('lease', '2-1:1.0')
        until(self.claims, 'somebody claims')
        self.ctl('policy', 'sdz', 'usb-storage')
        os.unlink(self.tree.path('claim-waits'))
        self.assertEqual(self.told(holder), 'taken')
        self.assertEqual((self.disk()['driver'], os.path.exists(self.tree.path('moving'))), ('uas', False))
        self.assertEqual(self.ask(holder, 'close'), 'closed')
        self.driver_is('usb-storage')

    def test_lease_too_slow(self):
        "The open of the disk hangs: the holder waits for 20 s, and nothing of the lease remains."
        self.both()
        self.tree.write('claim-waits', '')
        self.hurry()
        self.assertEqual(self.told(self.holder('lease', '2-1:1.0')),
                         'error org.freedesktop.DBus.Error.Failed The disk cannot be had alone: it does not answer in time')
        self.assertIn(20000, self.pauses())
        for name in 'claim-waits', 'hurry':
            os.unlink(self.tree.path(name))
        until(lambda: not self.record() and not self.property('Lease'), 'no lease')
        until(lambda: not self.claimed(), 'no claim')
        self.leased()

    def test_lease_given_up(self):
        "The client is gone before the claim exists: the claim is released."
        self.both()
        self.tree.write('claim-waits', '')
        holder = self.holder('lease', '2-1:1.0')
        until(self.claims, 'somebody claims')
        holder.kill()
        holder.wait()
        os.unlink(self.tree.path('claim-waits'))
        until(lambda: not self.record() and not self.property('Lease'), 'no lease')
        until(lambda: not self.claimed(), 'no claim')
        self.leased()

    def test_lease_claim_dies(self):
        "The claim ends: the holder is informed, and the lease is over."
        self.both()
        holder = self.leased()
        self.assertEqual(self.ask(holder, 'switch usb-storage'), '0 It is moved.')
        with open(self.tree.path('claimed')) as f:
            os.kill(int(f.read()), signal.SIGKILL)
        self.assertEqual(self.ask(holder, 'wait'), 'hung up')
        self.driver_is('uas')
        until(lambda: not self.record(), 'no lease')

    def test_lease_taken_meanwhile(self):
        """A program uses the disk in the middle of a switch. The lease is over, its holder is informed, and the disk returns
        when it is free."""
        self.both()
        holder = self.leased()
        self.tree.write('at-bind', '')
        holder.stdin.write('switch usb-storage\n')
        holder.stdin.flush()
        until(lambda: self.disk()['state'] == 'switching' and not self.claimed(), 'it is being switched, its claim let go')
        self.tree.write('in-use', '')
        self.use(True)
        os.unlink(self.tree.path('at-bind'))
        self.assertEqual(self.told(holder), '1 in use: mount of sdz at /mnt by x')
        self.assertEqual(self.ask(holder, 'wait'), 'hung up')
        self.assertEqual((self.disk()['driver'], self.disk()['state'], self.record()), ('usb-storage', 'waiting', True))
        until(lambda: 'Waits for uas until nothing uses it' in self.disk()['reason'], 'who uses it')
        os.unlink(self.tree.path('in-use'))
        self.use(False)
        self.driver_is('uas')
        until(lambda: not self.record(), 'no lease')

    def test_lease_in_a_switch(self):
        "While the disk is switched for its holder, uasd does not try to claim it again, whatever happens."
        self.hears()
        daemon = self.both()
        holder = self.leased()
        self.tree.write('at-bind', '')
        holder.stdin.write('switch usb-storage\n')
        holder.stdin.flush()
        self.step_is('bind')
        self.look_again()
        until(self.heard, 'uasd reads the disk again')
        self.assertEqual(self.disk()['state'], 'switching')
        self.assertEqual((self.claims(), len(self.children(daemon))), (['--claim'], 1))
        os.unlink(self.tree.path('at-bind'))
        self.assertEqual(self.told(holder), '0 It is moved.')
        holder.kill()
        self.driver_is('uas')

    def test_lease_failed_switch(self):
        "A switch under the lease is rolled back: the holder is informed, and keeps the lease."
        self.warns('ROLLED_BACK')
        self.both()
        holder = self.leased()
        self.tree.write('fails', '')
        self.assertEqual(self.ask(holder, 'switch usb-storage'), '7 The disk did not come back.')
        until(self.claimed, 'it is claimed again')
        os.unlink(self.tree.path('fails'))
        self.assertEqual(self.ask(holder, 'switch usb-storage'), '0 It is moved.')
        holder.kill()
        self.driver_is('uas')

    def test_lease_over_in_a_switch(self):
        "The holder is killed in the middle of a switch: the switch ends first, and then the disk returns."
        self.both()
        holder = self.leased()
        self.tree.write('at-sync', '')
        holder.stdin.write('switch usb-storage\n')
        holder.stdin.flush()
        until(lambda: self.disk()['state'] == 'switching', 'it is being switched')
        holder.kill()
        until(lambda: 'goes back to uas' in self.property('Lease'), 'that it is over')
        os.unlink(self.tree.path('at-sync'))
        until(lambda: not self.record(), 'no lease any more')
        self.assertEqual(self.disk()['driver'], 'uas')
        self.assertIn('switching from usb-storage to uas', self.journal())

    def test_lease_uasd_killed(self):
        "uasd is killed under a lease: the claim ends with it, the holder sees that, and the next uasd restores the driver."
        daemon = self.both()
        holder = self.leased()
        self.assertEqual(self.ask(holder, 'switch usb-storage'), '0 It is moved.')
        daemon.kill()
        daemon.wait()
        self.assertEqual(self.ask(holder, 'wait'), 'hung up')
        until(lambda: not self.claimed(), 'nobody claims it')
        self.assertTrue(self.record())
        self.start_on_bus()
        self.driver_is('uas')
        until(lambda: not self.record(), 'no lease any more')
        self.assertEqual(self.property('Lease'), '')

    def test_lease_unplugged(self):
        "Unplugged under a lease: the holder is informed, nothing remains, and the next disk there is not leased."
        self.both()
        holder = self.leased()
        self.assertEqual(self.ask(holder, 'switch usb-storage'), '0 It is moved.')
        self.tree.number('2-1', 77)
        self.ctl('forget', 'sdz', code=4)  # makes uasd read the port again: that is another disk
        self.assertEqual(self.ask(holder, 'wait'), 'hung up')
        until(lambda: not self.record() and not self.claimed(), 'no lease any more')
        until(self.managed_disks, 'a child has read the strings of the other disk')
        self.assertEqual(self.property('Lease'), '')

    def test_lease_unplugged_at_once(self):
        "Unplugged before it has the claim."
        self.hears()
        self.both()
        self.tree.write('claim-waits', '')
        holder = self.holder('lease', '2-1:1.0')
        until(self.claims, 'it claims')
        self.pull()
        self.assertEqual(self.told(holder), 'error org.uasd1.Error.NoSuchDisk The disk cannot be had alone: it was unplugged')

    def test_lease_not_claimed_again(self):
        "After a switch of its holder uasd-switch cannot be started: the holder is informed, and the lease is over."
        self.warns('cannot start uasd-switch: No such file or directory', 'FAILED')
        self.both()
        holder = self.leased()
        self.tree.write('at-bind', '')
        holder.stdin.write('switch usb-storage\n')
        holder.stdin.flush()
        self.step_is('bind')
        os.unlink(self.tree.path('switch'))
        os.unlink(self.tree.path('at-bind'))
        self.assertEqual(self.told(holder), '1 its claim cannot be taken again')
        self.assertEqual(self.ask(holder, 'wait'), 'hung up')
        until(lambda: self.disk()['state'] == 'failed', 'it does not go back either')

    def test_lease_inhibited(self):
        "The switch of the holder waits for an inhibitor, and so does the return."
        self.both()
        holder = self.leased()
        inhibitor = self.holder('inhibit', '', 'one', '')
        self.assertEqual(self.told(inhibitor), 'taken')
        holder.stdin.write('switch usb-storage\n')
        holder.stdin.flush()
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')
        self.assertTrue(self.claimed())
        holder.kill()
        until(lambda: self.disk()['state'] == 'settled', 'nothing is to be done')
        self.assertFalse(os.path.exists(self.tree.path('moving')))

    def test_lease_override(self):
        "An earlier override applies again after the lease. So does a policy that is set meanwhile."
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        holder = self.leased()
        self.assertEqual(self.ask(holder, 'switch uas'), '0 It is moved.')
        self.ctl('cancel', 'sdz')
        self.ctl('policy', 'sdz', 'uas')
        self.assertEqual(self.disk()['driver'], 'uas')
        holder.kill()
        self.driver_is('usb-storage')
        until(lambda: not self.record(), 'no lease any more')
        self.assertEqual((self.disk()['state'], self.disk()['reason_id']), ('settled', 'override'))
        self.ctl('switch', 'sdz')
        self.driver_is('uas')


if __name__ == '__main__':
    main()

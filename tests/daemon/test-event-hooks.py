#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder: the hooks in /etc/uasd/event.d get each event once, whatever they do themselves."""

import contextlib
import glob
import os
import signal
import subprocess
import sys
import time

from machine import BUS, ENDS_ON, TIMER_LATE, UASD, Machine, alive, let_pass, main, stop, until

FAKE_PID1 = sys.argv[3]
HISTORY = ('# \ngeneration=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=trial firmware=0214 kernel=6.1.0-test '
           'boot={boot} date=- reason=\n')
THIS_BOOT = '00000000-0000-0000-0000-000000000001'


class EventHooks(Machine):
    def setUp(self):
        super().setUp()
        self.play(ENDS_ON)
        self.hook('50-log')

    def hook(self, name, more='', mode=0o755):
        """It writes its variables to the file "hooks", which has an empty line after each call."""
        path = 'etc/uasd/event.d/' + name
        self.tree.write(path, f'#!/bin/sh\n(echo HOOK={name}; env | grep ^UASD_ | sort; echo) >>{self.tree.top}/hooks\n{more}\n')
        os.chmod(self.tree.path(path), mode)

    def called(self):
        try:
            with open(self.tree.path('hooks')) as file:
                return [dict(line.split('=', 1) for line in one.splitlines()) for one in file.read().split('\n\n')[:-1]]
        except FileNotFoundError:
            return []

    def events(self):
        return [one['UASD_EVENT'] for one in self.called()]

    def waiting(self):
        """The files of events that no hook has got."""
        folder = self.tree.path('run/uasd/event')
        return sorted(name for name in os.listdir(folder) if not name.startswith('.')) if os.path.isdir(folder) else []

    def at_work(self):
        """Whether a `uasd --event` runs. PID 1 starts it on a real machine: it is no child of uasd."""
        for path in glob.glob('/proc/[0-9]*/cmdline'):
            with contextlib.suppress(OSError), open(path) as file:
                if file.read().split('\0')[1:3] == [self.tree.top, '--event']:
                    return True
        return False

    def only(self, *events):
        """The hooks have got these events, and get no other."""
        until(lambda: self.events() == list(events), 'the hooks have got it')
        until(lambda: self.at_rest(self.uasd, 10) and not self.waiting() and not self.at_work(), 'nothing is left')
        self.assertEqual(self.events(), list(events))

    def ends(self, code, on, text='It went so.'):
        self.tree.write('ends-on', on)
        self.tree.write('ends', f'END {code} bind {text}\n')

    def rolls_back(self):
        self.warns('ROLLED_BACK')
        self.ends(7, 'uas')
        self.ctl('switch', 'sdz', 'usb-storage', '--wait', code=7)

    def moves(self, target):
        self.ends(0, target)
        self.ctl('switch', 'sdz', target, '--wait')

    def is_slow(self):
        self.tree.write(BUS + '/2-1/speed', '480\n')

    def kill(self, daemon):
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()

    # What they get

    def test_rolled_back(self):
        self.both()
        self.rolls_back()
        self.only('rolled-back')
        [facts] = self.called()
        self.assertEqual(time.strptime(facts.pop('UASD_TIME'), '%Y-%m-%dT%H:%M:%S%z').tm_year, time.localtime().tm_year)
        self.assertEqual(facts, {
            'HOOK': '50-log', 'UASD_EVENT': 'rolled-back', 'UASD_DISK': 'sdz', 'UASD_INTERFACE': '2-1:1.0', 'UASD_MODEL': 'Disk',
            'UASD_FROM': 'uas', 'UASD_TO': 'usb-storage', 'UASD_REASON': 'override',
            'UASD_MESSAGE': 'sdz: rolled back at step bind: It went so.'})

    def test_each_time(self):
        "A user asks for the same again: another event."
        self.both()
        self.rolls_back()
        self.only('rolled-back')
        self.rolls_back()
        self.only('rolled-back', 'rolled-back')

    def test_failed(self):
        self.warns('FAILED')
        self.both()
        self.ends(1, 'uas')
        for times in 1, 2:
            self.ctl('switch', 'sdz', 'usb-storage', '--wait', code=1)
            self.only(*['failed'] * times)

    def test_gave_up(self):
        "uasd tries again and again to bring it back. The hooks get that once, and once more if it has had a driver meanwhile."
        self.warns('STRANDED')
        self.both()
        self.ends(1, 'none')
        self.ctl('switch', 'sdz', 'usb-storage', '--wait', code=1)
        until(lambda: self.times('STRANDED') > 1, 'it is tried again')
        self.only('gave-up')
        self.assertEqual(self.called()[0]['UASD_MESSAGE'], 'sdz: not brought back, it has no driver; step bind: It went so.')
        self.moves('usb-storage')
        self.ends(1, 'none')
        self.ctl('switch', 'sdz', 'uas', '--wait', code=1)
        until(lambda: self.events() == ['gave-up'] * 2, 'the hooks have got it again')

    def test_trial_passed(self):
        self.conf('[uasd]\nQuietSec=0\nTrialSec=1\n')
        self.tree.write('etc/uasd/history', HISTORY.format(boot=THIS_BOOT))
        self.both()
        self.only('trial-passed')
        self.moves('usb-storage')
        self.tree.write('etc/uasd/history', HISTORY.format(boot=THIS_BOOT).replace('generation=1', 'generation=9'))
        self.moves('uas')
        self.only('trial-passed', 'trial-passed')

    def times(self, name):
        return [one for one, _ in self.messages()].count(name)

    def test_distrusted(self):
        "Once, also if uasd is killed before the record of the event is written, and the next one finds it again."
        self.warns('DISTRUSTED')
        self.conf('[uasd]\nQuietSec=60\n')  # no switch, whose retries would go on for long
        self.tree.write('etc/uasd/history', HISTORY.format(boot='00000000-0000-0000-0000-000000000002'))
        self.fsync_hangs()
        daemon = self.both()
        until(self.events, 'the hooks have got it')
        until(self.in_fsync, 'the record is being written')
        with open(f'/proc/{daemon.pid}/task/{daemon.pid}/children') as file:
            writers = [int(pid) for pid in file.read().split()]
        self.kill(daemon)
        for pid in writers:  # they survive uasd
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.fsync_goes_on()
        self.start_on_bus()
        until(lambda: self.times('DISTRUSTED') == 2, 'it is found again')
        self.only('distrusted')
        self.assertIn('the machine went down in the middle of its trial', self.called()[0]['UASD_MESSAGE'])

    def test_distrusted_again(self):
        "A user wants uas again, and the kernel gives it up again."
        self.warns('DISTRUSTED')
        self.ends(0, 'usb-storage')
        self.both()
        for number in 1, 2:
            os.write(self.kmsg, b'6,%d,%d,-;sd 3:0:0:0: Device offlined - not ready after error recovery\n SUBSYSTEM=scsi\n DEVICE=+scsi:3:0:0:0\n' %
                     (number, time.monotonic() * 1000000))
            self.only(*['distrusted'] * number)
            if number == 1:
                self.driver_is('usb-storage')
                self.moves('uas')

    def test_slow_link(self):
        "Once for each time that it is plugged in. A restart of uasd changes nothing."
        self.hears()
        self.is_slow()
        daemon = self.both()
        self.only('slow-link')
        self.assertIn('sdz: It can do SuperSpeed, but its link has 480 Mbit/s.', self.called()[0]['UASD_MESSAGE'])
        self.kill(daemon)
        self.start_on_bus()
        self.only('slow-link')
        self.pull()
        let_pass(5.1)  # uasd measures it: what comes back within 5 s has dropped off
        self.put_back(6)
        self.only('slow-link', 'slow-link')

    def test_slow_and_loose(self):
        "It drops off the bus by itself, and comes back: no further message."
        self.hears()
        self.is_slow()
        self.both()
        self.only('slow-link')
        for devnum in 6, 7:
            self.drops(devnum)
        self.disk()
        self.only('slow-link')

    def test_names_of_devices(self):
        "A device cannot forge a variable."
        self.tree.write(BUS + '/2-1/product', b'x\nUASD_EVENT=no\n$(id)')
        self.is_slow()
        self.both()
        self.only('slow-link')
        self.assertNotIn('\n', self.called()[0]['UASD_MODEL'])

    # What they do

    def limits(self):
        with open(self.tree.path('limits')) as file:
            return file.read().split()

    def test_hangs(self):
        "It is killed after 30 s, with its children. The next hook gets the event, and uasd does not wait."
        self.tree.write('no-patience', '')
        self.hook('10-hangs', f'sleep 1000 & echo $! >{self.tree.top}/sleeps; wait')
        self.both()
        self.warns('event.d/10-hangs was killed after 30 s')
        self.rolls_back()
        self.assertEqual(self.disk()['driver'], 'uas')
        until(lambda: [one['HOOK'] for one in self.called()] == ['10-hangs', '50-log'], 'both are called')
        self.assertEqual(self.limits(), ['30000000', '30000000'])
        with open(self.tree.path('sleeps')) as file:
            pid = int(file.read())
        until(lambda: not alive(pid), 'its child is killed')

    def test_fails(self):
        self.hook('10-fails', 'exit 3')
        self.hook('20-dies', 'kill -KILL $$')
        self.tree.write('etc/uasd/event.d/30-broken', '#!/no/such/program\n')
        os.chmod(self.tree.path('etc/uasd/event.d/30-broken'), 0o755)
        self.both()
        self.warns('10-fails has failed', '20-dies has failed', 'cannot start /etc/uasd/event.d/30-broken: No such file or directory')
        self.rolls_back()
        until(lambda: [one['HOOK'] for one in self.called()] == ['10-fails', '20-dies', '50-log'], 'all are called')
        self.assertEqual(self.disk()['driver'], 'uas')

    def test_of_others(self):
        "Only files are run that root alone can have written."
        for name, mode in ('10-group', 0o775), ('20-world', 0o757), ('30-plain', 0o644), ('40-user', 0o755):
            self.hook(name, mode=mode)
        os.mkdir(self.tree.path('etc/uasd/event.d/60-folder'))
        if os.geteuid() == 0:
            os.chown(self.tree.path('etc/uasd/event.d/40-user'), 65534, 65534)
        else:
            os.unlink(self.tree.path('etc/uasd/event.d/40-user'))
        self.both()
        self.warns('is not run: it must be an executable file of root')
        self.rolls_back()
        self.only('rolled-back')

    def test_none(self):
        "Without a hook nothing is written, and nothing is started."
        os.unlink(self.tree.path('etc/uasd/event.d/50-log'))
        self.is_slow()
        self.both()
        self.rolls_back()
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/event')))
        with open(self.tree.path('run/uasd/attachment/' + self.tree.attachment())) as file:
            self.assertNotIn('TOLD=1', file.read().replace('TOLD=0\n', ''))

    # Who runs them

    def run_event(self, name):
        p = subprocess.run([UASD, self.tree.top, '--event', name], env=self.env, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)

    def pid1(self):
        """It answers, and starts nothing: the file "calls-of-pid1" gets each call."""
        os.makedirs(self.tree.path('run/systemd/system'))
        with open(self.tree.path('calls-of-pid1'), 'w') as calls:
            pid1 = self.start([FAKE_PID1, self.tree.path('run/systemd/private')], stdin=subprocess.PIPE, stdout=calls)
        until(lambda: self.pid1_got('ready'), 'it listens')
        for line in 'state running', 'answer':
            pid1.stdin.write(line + '\n')
            pid1.stdin.flush()
        return pid1

    def pid1_got(self, call='StartUnit'):
        with open(self.tree.path('calls-of-pid1')) as calls:
            return [line.strip() for line in calls if line.startswith(call)]

    def test_two_at_once(self):
        "PID 1 is busy with the first event: the second one is passed on as soon as it answers. Later uasd tries both again."
        pid1 = self.pid1()
        daemon = self.both()
        stop(pid1)
        for n in 1, 2:
            self.rolls_back()
            until(lambda: len(self.waiting()) == n, 'it is written down')  # noqa: B023
        pid1.send_signal(signal.SIGCONT)
        units = {f'StartUnit uasd-event@{name}.service' for name in self.waiting()}
        until(lambda: set(self.pid1_got()) == units, 'PID 1 has both orders')
        until(lambda: self.at_rest(daemon, 30) and min(self.timers(daemon)) <= 60 + TIMER_LATE, 'it waits for a minute')

    def test_no_answer(self):
        "PID 1 does not answer: uasd tries again later, without a warning."
        pid1 = self.pid1()
        self.both()
        stop(pid1)
        self.rolls_back()
        until(lambda: 60000 in self.pauses(), 'uasd has given up for now')
        self.assertEqual(len(self.waiting()), 1)
        pid1.send_signal(signal.SIGCONT)

    def test_pauses(self):
        "PID 1 cannot be asked: uasd tries again, less and less often. A new event begins from the front."
        self.warns('cannot start the hooks in /etc/uasd/event.d: Transport endpoint is not connected')
        os.makedirs(self.tree.path('run/systemd/system'))
        self.hears()
        self.hurry()
        self.is_slow()
        self.both()
        minute = 60 * 1000
        slower = [minute, 2 * minute, 4 * minute, 8 * minute, 16 * minute, 32 * minute, 60 * minute, 60 * minute]
        until(lambda: [one for one in self.pauses() if one >= minute][:8] == slower, 'it is tried once in an hour')
        self.tree.disk('2-2', 'sdy', 'uas')
        self.tree.write(BUS + '/2-2/speed', '480\n')
        self.look_again()
        until(lambda: [one for one in self.pauses() if one >= minute].count(minute) == 2, 'it is tried again in a minute')
        self.assertEqual(len(self.waiting()), 2)

    def test_systemd(self):
        "PID 1 starts the unit. Its program gives the event to the hooks, and a second one finds nothing."
        pid1 = self.pid1()
        self.is_slow()
        self.both()
        until(self.waiting, 'it is written down')
        [name] = self.waiting()
        self.assertEqual(until(self.pid1_got, 'it has the order'), [f'StartUnit uasd-event@{name}.service'])
        pid1.stdin.write('job\n')  # it has ended
        pid1.stdin.flush()
        until(lambda: 60000 in self.pauses(), 'uasd has heard that')
        self.assertRegex(name, r'^slow-link-\d+\.\d{6}$')
        self.assertEqual(self.called(), [])
        self.run_event(name)
        self.assertEqual(self.events(), ['slow-link'])
        self.run_event(name)
        self.assertEqual(self.events(), ['slow-link'])
        for bad in '../uasd.lock', 'none', '':
            self.run_event(bad)
        self.assertEqual(self.events(), ['slow-link'])

    def test_told_with_run_full(self):
        "/run is full: an event that may come again is told again."
        self.warns('its mark in /run cannot be changed')
        daemon = self.both()
        self.rolls_back()
        self.only('rolled-back')
        ends = self.run_is_full(daemon)
        self.rolls_back()
        self.only('rolled-back', 'rolled-back')
        ends()

    def test_left(self):
        "uasd was killed before it could start the hooks: the next one does that."
        daemon = self.both()
        self.tree.write('no-fork', '')
        self.rolls_back()
        self.assertEqual((len(self.waiting()), self.events()), (1, []))
        self.assertIn(60000, self.pauses())  # it would try again then
        self.kill(daemon)
        for path in 'no-fork', 'run/uasd/attachment/' + self.tree.attachment():  # without it the next one does not try again
            os.unlink(self.tree.path(path))
        self.start_on_bus()
        self.only('rolled-back')


if __name__ == '__main__':
    main(programs=3)

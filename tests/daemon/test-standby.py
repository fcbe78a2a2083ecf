#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the uasd-switch that waits on standby while a disk waits for its users."""

import os
import signal

from machine import Machine, alive, main, patience, stop, until

# Plays uasd-switch on standby, and becomes the one that gets the arguments.
STANDBY = """#!/usr/bin/python3
import os
job = os.read(0, 4096).decode()
if job:
    assert job.endswith('\\0'), job
    os.execv(os.environ['UASD_SWITCH'], [os.environ['UASD_SWITCH'], *job.split('\\0')[:-1]])
"""
SWITCH = """echo "$$ $*" >>"$TREE/calls"
for word; do interface=$target target=$word; done
echo "STEP sync 1"
while [ -e "$TREE/at-sync" ]; do sleep 0.02; done
ln -sfn "$(realpath "$TREE/sys/bus/usb/drivers/$target")" "$TREE/sys/bus/usb/devices/$interface/driver"
echo "END 0 release It is moved.\""""


class Standby(Machine):
    def setUp(self):
        super().setUp()
        self.tree.write('standby', STANDBY)
        os.chmod(self.tree.path('standby'), 0o755)
        self.env['UASD_STANDBY'] = self.tree.path('standby')
        self.play('#!/bin/sh\n%s\n' % SWITCH)
        self.hears()
        self.daemon = self.both()

    def standbys(self):
        """The processes on standby that are alive."""
        found = []
        with open(f'/proc/{self.daemon.pid}/task/{self.daemon.pid}/children') as children:
            for pid in children.read().split():
                with open(f'/proc/{pid}/cmdline', 'rb') as line:
                    if b'--standby' in line.read():
                        found.append(int(pid))
        return found

    def started(self):
        [pid] = until(self.standbys, 'one is on standby')
        return pid

    def ended(self):
        until(lambda: not self.standbys(), 'none is on standby')

    def waits(self):
        """The disk waits for its user. Returns the process on standby."""
        self.use(True)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        return self.started()

    def switched_by(self):
        """The process of the last switch."""
        with open(self.tree.path('calls')) as calls:
            pid, *args = calls.readlines()[-1].split()
        self.assertEqual(args, ['--machine', self.attachment_arg(), '2-1:1.0', 'usb-storage'])
        return int(pid)

    def test_switches(self):
        "It gets the switch, and no other is started before that has ended. At rest there is none."
        self.assertEqual(self.standbys(), [])
        pid = self.waits()
        self.tree.write('at-sync', '')
        self.use(False)
        self.step_is('sync')
        self.assertEqual(self.switched_by(), pid)
        self.look_again()
        self.assertEqual(self.disk()['state'], 'switching')
        self.assertEqual(self.standbys(), [])
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('usb-storage')
        until(lambda: self.disk()['state'] == 'settled', 'at rest')
        self.assertEqual(self.standbys(), [])

    def test_next(self):
        "Another disk still waits: after the switch the next one is on standby."
        self.tree.disk('2-2', 'sdy', 'uas')
        self.tree.write('dev/sdy', '')
        self.look_again()
        until(lambda: '2-2' in self.interfaces(), 'the second disk')
        os.mkdir(self.tree.path('sys/class/block/sdy/holders/dm-8'))
        self.ctl('switch', 'sdy', 'usb-storage', code=3)
        first = self.started()
        self.assertEqual(self.waits(), first)
        self.use(False)
        until(lambda: os.path.exists(self.tree.path('calls')), 'it is switched')
        self.assertEqual(self.switched_by(), first)
        self.assertNotEqual(until(self.started, 'the next one'), first)
        self.ctl('cancel', 'sdy')
        self.ended()

    def test_killed(self):
        "It is not replaced, and uasd starts another uasd-switch for the disk."
        pid = self.waits()
        os.kill(pid, signal.SIGKILL)
        until(lambda: 'on standby has ended' in self.journal(), 'uasd knows')
        self.look_again()
        self.assertEqual(self.disk()['state'], 'waiting')
        self.assertEqual(self.standbys(), [])
        self.use(False)
        self.driver_is('usb-storage')
        self.assertNotEqual(self.switched_by(), pid)

    def test_killed_unnoticed(self):
        "It dies while uasd is stopped, in which the disk becomes free."
        pid = self.waits()
        stop(self.daemon)
        os.kill(pid, signal.SIGKILL)
        self.use(False)
        self.daemon.send_signal(signal.SIGCONT)
        self.driver_is('usb-storage')
        self.assertNotEqual(self.switched_by(), pid)

    def test_killed_with_its_job(self):
        "It has read the arguments and done nothing: another uasd-switch gets them."
        self.tree.write('standby', '#!/usr/bin/python3\nimport os\nif os.read(0, 4096):\n    os.kill(os.getpid(), 9)\n')
        pid = self.waits()
        self.use(False)
        self.driver_is('usb-storage')
        self.assertNotEqual(self.switched_by(), pid)
        self.assertNotIn('signal', self.journal())

    def test_other_version(self):
        "Another version was installed, which does not know the option, and the disk becomes free before it has ended."
        self.tree.write('standby', '#!/usr/bin/python3\nimport os, sys\nif os.read(0, 4096):\n    sys.exit(2)\n')
        pid = self.waits()
        self.use(False)
        self.driver_is('usb-storage')
        self.assertNotEqual(self.switched_by(), pid)
        self.assertNotIn('exit status', self.journal())

    def test_cancelled(self):
        self.waits()
        self.ctl('cancel', 'sdz')
        self.ended()

    def test_uasd_stops(self):
        "PID 1 finds no process when uasd has ended."
        pid = self.waits()
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(patience()), 0)
        self.assertFalse(os.path.exists(f'/proc/{pid}'))

    def test_uasd_is_killed(self):
        pid = self.waits()
        self.daemon.kill()
        self.daemon.wait()
        until(lambda: not alive(pid), 'it has ended')


if __name__ == '__main__':
    main()

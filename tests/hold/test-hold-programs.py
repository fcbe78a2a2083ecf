#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd-hold and uasd-generator as udev and PID 1 run them, for a machine in a folder and a PID 1 on its private socket."""

import errno
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../ctl'))
import privatebus  # noqa: E402
from patience import patience  # noqa: E402
from tree import LIBEXEC, Tree  # noqa: E402

HOLD, DECIDE, PID1, GENERATOR, FAKE_PID1 = map(os.path.abspath, sys.argv[1:6])
USB = 'sys/devices/pci0000:00/0000:00:14.0/usb2/2-1'
INTERFACE = USB + '/2-1:1.0'
SCSI = INTERFACE + '/host3/target3:0:0/3:0:0:0'
RELEASE = 'RestartUnit uasd-release@2-1:1.0.timer\n'
# The limits of this boot: 20 s a hold, 90 s a device. 3 s are for the events after a release.
LIMITS = '[Timer]\nOnActiveSec=\nOnActiveSec=20000ms\nX-DeviceTimeoutSec=90000ms\n'
DROPIN = 'uasd-release@.timer.d/50-hold.conf'
PASSED = '1209:5a5a:S1@0000:00:14.0/ss/1=state=passed firmware=0214 kernel=6.1.0-test boot=- date=- reason=\n'


NEVER = 2**64 - 1


def uptime():
    """CLOCK_MONOTONIC in seconds: for a PID 1 in the folder, the time of this machine."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Programs(unittest.TestCase):
    def setUp(self):
        self.tree = Tree('-')
        self.addCleanup(self.tree.close)
        self.tree.disk('2-1', 'sdz', 'usb-storage')
        self.tree.write('run/udev/data/c189:132', 'I:1\nE:ID_SERIAL_SHORT=S1\nE:ID_MODEL_ENC=Fast\n')
        self.tree.write(SCSI + '/block/sdz/uevent', '')
        self.tree.write('sys/bus/usb/drivers_probe', '')
        self.tree.write('sys/module/uas/initstate', 'live\n')
        self.tree.write('proc/cmdline', 'quiet\n')
        self.tree.write('run/systemd/generator/' + DROPIN, LIMITS)
        os.symlink(DROPIN, self.tree.path('run/systemd/generator/uasd-hold'))
        os.makedirs(self.tree.path('run/systemd/system'))
        self.tree.write('dev/kmsg', '')
        os.makedirs(self.tree.path(LIBEXEC), exist_ok=True)
        os.symlink(DECIDE, self.tree.path(LIBEXEC + '/uasd-hold-decide'))
        os.symlink(PID1, self.tree.path(LIBEXEC + '/uasd-pid1'))
        self.tree.write('limits', '')
        self.env = dict(os.environ, TREE=self.tree.top, LC_ALL='C')

    def read(self, path):
        with open(self.tree.path(path)) as file:
            return file.read()

    def run_hold(self, *args, code=0, **env):
        p = subprocess.run([HOLD, *args], env=dict(self.env, **env), capture_output=True, text=True, timeout=patience())
        self.assertEqual(p.returncode, code, (args, p.stdout, p.stderr))
        return p

    def asks(self, code=0):
        """The properties that udev's rule gets at the first event of the disk."""
        return self.run_hold('udev', 'sdz', code=code, ACTION='add', DEVTYPE='disk').stdout.split()

    def pid1(self, *orders, socket='run/systemd/private'):
        os.makedirs(os.path.dirname(self.tree.path(socket)), exist_ok=True)
        p = subprocess.Popen([FAKE_PID1, self.tree.path(socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(p))
        self.assertEqual(p.stdout.readline(), 'ready\n')
        for line in orders:
            p.stdin.write(line + '\n')
            p.stdin.flush()
        return p

    def asked(self, pid1):
        """What PID 1 was asked until now."""
        pid1.stdin.close()
        return pid1.stdout.readlines()

    def holds(self, *orders, expect=True):
        pid1 = self.pid1(*orders, 'answer')
        said = self.asks()
        asked = self.asked(pid1)
        self.assertEqual(('UASD_HOLD=1' in said, RELEASE in asked), (expect, expect), (orders, said, asked))
        self.assertEqual(os.path.exists(self.tree.path('run/uasd/hold/2-1:1.0')), expect)
        self.assertIn('UASD_CAPABLE=1', said)
        return asked

    # uasd-hold udev, and the timer in PID 1

    def test_running(self):
        "The machine runs: the disk is held, and PID 1 has the timer."
        self.assertIn('ListUnitsByPatterns active mdadm-last-resort@*.timer\n', self.holds('state running'))
        self.assertEqual(self.read('limits'), 'answer 10\nanswer 10\npid1 9\nanswer 2\n')

    def test_stopping(self):
        "The machine goes down: no hold."
        self.holds('state stopping', expect=False)

    def test_boot_has_time(self):
        "The jobs of the boot wait since the units were loaded, for 90 s. A hold of 20 s and 3 s more fit into that."
        self.holds('state starting', 'loaded %d' % ((uptime() - 63) * 1e6), self.waiting('dev-a.device', running=90))

    def test_boot_has_no_time(self):
        "It would end when the jobs had given up the disk."
        self.holds('state starting', 'loaded %d' % ((uptime() - 69) * 1e6), self.waiting('dev-a.device', running=90), expect=False)

    def test_slow_boot(self):
        "A slow machine, whose owner has it wait for its devices longer than 90 s. The generator never finds more than that."
        for expect, running in (True, 300), (True, NEVER), (False, 160):
            with self.subTest(running=running):
                self.holds('state starting', 'loaded %d' % ((uptime() - 150) * 1e6), self.waiting('dev-a.device', running=running),
                           expect=expect)
                self.tearDown_hold()

    def test_not_asked_without_boot(self):
        "After the boot no job waits any more."
        self.holds('state running', 'loaded %d' % ((uptime() - 300) * 1e6))

    def waiting(self, name, job=7, timeout=NEVER, running=NEVER):
        """The order for a unit with a job, and its two timeouts in seconds."""
        return 'unit %s %d %d %d' % (name, job, *(NEVER if t == NEVER else t * 10**6 for t in (timeout, running)))

    def test_jobs_of_the_boot(self):
        """
        A boot that began two seconds ago. PID 1 has each timeout, whatever has set it. The half of it is for the hold, so a hold
        of 20 s does not fit into less than 40 s. Only units with a job count, and JobRunningTimeoutSec= only for a device.
        """
        for expect, *units in ((True, dict(name='dev-a.device', running=40)), (False, dict(name='dev-a.device', running=39)),
                               (False, dict(name='dev-a.device', timeout=39)), (True, dict(name='dev-a.device', running=10, job=0)),
                               (True, dict(name='dev-a.device'), dict(name='x.service', timeout=10)),
                               (False, dict(name='dev-a.device', running=90), dict(name='dev-b.device', running=10)),
                               (False, dict(name='local-fs.target', timeout=30)), (True, dict(name='mnt.mount', running=30)),
                               (False, dict(name='mnt.mount', timeout=30)), (False, dict(name='dev-a.swap', timeout=30)),
                               (True, dict(name='dev-a.device', running=0))):
            with self.subTest(units=units):
                asked = self.holds('state starting', 'loaded %d' % ((uptime() - 2) * 1e6), *(self.waiting(**unit) for unit in units),
                                   expect=expect)
                self.assertIn('ListUnitsByPatterns inactive activating *.device *.mount *.swap *.target\n', asked)
                self.tearDown_hold()

    def test_jobs_wait_already(self):
        "Half of the time is enough, but the jobs have waited for too long."
        self.holds('state starting', 'loaded %d' % ((uptime() - 30) * 1e6), self.waiting('dev-a.device', running=50), expect=False)

    def test_jobs_after_the_boot(self):
        "A job that waits without a limit does not matter. Another may have waited since the machine runs."
        for expect, running in (True, NEVER), (False, uptime()):
            with self.subTest(running=running):
                self.holds('state running', self.waiting('dev-a.device', running=running), expect=expect)
                self.tearDown_hold()

    def test_array_waits(self):
        "mdadm waits long enough for the members of an array, or has ended."
        for left in 40, -1:
            with self.subTest(left=left):
                self.holds('state running', 'array %d' % ((uptime() + left) * 1e6))
                self.tearDown_hold()

    def test_array_does_not_wait(self):
        "mdadm starts the array without the disk before the hold ends."
        self.holds('state running', 'array %d' % ((uptime() + 22) * 1e6), expect=False)

    def tearDown_hold(self):
        for path in 'run/uasd/hold/2-1:1.0', 'run/systemd/private':
            if os.path.lexists(self.tree.path(path)):
                os.unlink(self.tree.path(path))

    def test_unknown_limits(self):
        "PID 1 does not know since when the jobs wait: no hold."
        self.holds('state starting', expect=False)

    def test_no_answer_of_use(self):
        "A call of PID 1 fails, or its answer is of another type: no hold. Seven calls ask, and the eighth orders the timer."
        orders = ('state starting', 'loaded %d' % ((uptime() - 2) * 1e6), self.waiting('dev-a.device', running=90),
                  'array %d' % ((uptime() + 300) * 1e6))
        for order, n in [('refuse', n) for n in range(1, 9)] + [('garble', n) for n in range(1, 8)]:
            with self.subTest(order=order, n=n):
                self.tearDown_hold()
                self.holds(*orders, '%s %d' % (order, n), expect=False)
        self.tearDown_hold()
        self.holds(*orders, 'refuse 9')

    def test_no_pid1(self):
        "Without PID 1 there is no timer, so there is no hold. The rest of the answer comes."
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1'])

    def test_no_timer(self):
        "The program that arms the timer is missing or fails: no hold."
        self.pid1('state running', 'answer')
        os.unlink(self.tree.path(LIBEXEC + '/uasd-pid1'))
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1'])
        os.symlink('/bin/false', self.tree.path(LIBEXEC + '/uasd-pid1'))
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1'])
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/hold/2-1:1.0')))

    def test_no_decision(self):
        "The program that decides is missing: no hold, the rest of the answer comes, and the other verbs fail."
        self.pid1('state running', 'answer')
        os.unlink(self.tree.path(LIBEXEC + '/uasd-hold-decide'))
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1'])
        self.assertIn('Cannot run /%s/uasd-hold-decide: ' % LIBEXEC, self.run_hold('let-go', code=1).stderr)

    def test_switch_is_awaited(self):
        "A switch has just moved the disk: the program that waits for its end is asked. Without it the rest of the answer comes at once."
        self.tree.write('run/uasd/switch/2-1:1.0', 'PID=%d\nAWAIT=1\n' % os.getpid())
        self.tree.write('run/uasd/attachment/' + self.tree.attachment(), 'TRIED=1\n')  # no hold begins
        decide = self.tree.path(LIBEXEC + '/uasd-hold-decide')
        os.unlink(decide)
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1'])
        with open(decide, 'w') as file:
            file.write('#!/bin/sh\necho "$@"\n')
        os.chmod(decide, 0o755)
        self.assertEqual(self.asks(), ['udev', 'sdz'])

    def asks_pid1(self, *args):
        """The answer of uasd-pid1 to its caller: a number, or -errno."""
        p = subprocess.run([PID1, *args], env=self.env, capture_output=True, text=True, timeout=patience())
        self.assertEqual(p.stderr, '')
        self.assertEqual(p.returncode != 0, p.stdout.startswith('-'), p.stdout)
        return p.stdout

    def test_pid1_state(self):
        "The state of the machine as uasd-switch asks for it: starting, running or stopping."
        for number, words in enumerate((('initializing', 'starting'), ('running', 'degraded', 'maintenance'), ('stopping',))):
            for word in words:
                with self.subTest(word):
                    pid1 = self.pid1('state ' + word, 'answer')
                    self.assertEqual(self.asks_pid1('state'), '%d\n' % number)
                    pid1.stdin.close()
                    pid1.wait()
                    os.unlink(self.tree.path('run/systemd/private'))

    def test_pid1_state_over_the_bus(self):
        "The system bus is asked first, and PID 1 itself without an answer."
        bus = self.pid1('state stopping', 'answer', socket='run/dbus/system_bus_socket')
        self.pid1()
        for _tries in range(50):  # the bus has a short time
            answer = self.asks_pid1('state')
            if answer == '2\n':
                break
        self.assertEqual(answer, '2\n')
        for silent in True, False:
            with self.subTest(silent=silent):
                bus.stdin.close()
                bus.wait()
                os.unlink(self.tree.path('run/dbus/system_bus_socket'))
                os.unlink(self.tree.path('run/systemd/private'))
                if silent:
                    bus = self.pid1(socket='run/dbus/system_bus_socket')
                else:
                    with open(self.tree.path('run/dbus/system_bus_socket'), 'w'):
                        pass
                self.pid1('state running', 'answer')
                self.tree.write('limits', '')
                self.assertEqual(self.asks_pid1('state'), '1\n')
                self.assertEqual(self.read('limits'), 'pid1 0\n' * silent + 'pid1 25\n')  # a quarter of a second for the bus

    def test_pid1_without_sysfs(self):
        "-ENOENT would mean that systemd is not PID 1."
        self.env['TREE'] = self.tree.path('no-such-folder')
        self.assertEqual(self.asks_pid1('state'), '-%d\n' % errno.ECANCELED)

    def test_pid1_release(self):
        "The timer of a hold that uasd-switch begins: only the order, whatever the machine does."
        pid1 = self.pid1('state stopping', 'answer')
        self.assertNotIn('-', self.asks_pid1('release', '2-1:1.0'))
        self.assertEqual(self.asked(pid1), [RELEASE])

    def test_pid1_start(self):
        pid1 = self.pid1('answer')
        loading = subprocess.Popen([PID1, 'start', 'modprobe@uas.service'], env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: privatebus.kill(loading))
        self.assertTrue(select.select([pid1.stdout], [], [], patience())[0], 'PID 1 was asked nothing')
        self.assertEqual(pid1.stdout.readline(), 'StartUnit modprobe@uas.service\n')
        pid1.stdin.write('job\n')
        pid1.stdin.flush()
        self.assertNotIn('-', loading.stdout.read())

    def test_pid1_fails(self):
        "Without systemd -ENOENT, which alone lets a switch go on. A PID 1 that cannot be reached, or is silent: another error."
        questions = ('state',), ('release', '2-1:1.0'), ('start', 'x.service'), ('hold', '2-1:1.0')
        shutil.rmtree(self.tree.path('run/systemd/system'))
        for args in questions:
            self.assertEqual(self.asks_pid1(*args), '-%d\n' % errno.ENOENT, args)
        os.makedirs(self.tree.path('run/systemd/system'))
        for args in questions:
            self.assertEqual(self.asks_pid1(*args), '-%d\n' % errno.ENOTCONN, args)
        self.pid1()
        for args in ('state',), ('hold', '2-1:1.0'):
            self.assertEqual(self.asks_pid1(*args), '-%d\n' % errno.ETIMEDOUT)

    def test_pid1_usage(self):
        for args in (), ('2-1:1.0',), ('state', 'x'), ('release',), ('release', '../x'), ('hold', '../x'), ('hold', '2-1:1.0', 'x'), ('start',):
            with self.subTest(args=args):
                p = subprocess.run([PID1, *args], env=self.env, capture_output=True, text=True, timeout=patience())
                self.assertEqual((p.returncode, p.stdout), (2, ''))
                self.assertIn('usage: uasd-pid1 state', p.stderr)

    def test_silent_pid1(self):
        "PID 1 does not answer: udev gets the rest of the answer a second before the helper would be killed."
        pid1 = self.pid1()
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1'])
        self.assertNotIn(RELEASE, self.asked(pid1))
        self.assertEqual(self.read('limits'), 'answer 10\nanswer 10\npid1 9\n')

    def test_hangs(self):
        "An attribute cannot be read: udev does not wait for ever."
        os.unlink(self.tree.path(USB + '/idVendor'))
        os.mkfifo(self.tree.path(USB + '/idVendor'))
        self.asks(code=-signal.SIGKILL)

    def test_stopped(self):
        "The kernel kills the helper also while a signal has stopped it."
        timer = LIBEXEC + '/uasd-pid1'
        os.unlink(self.tree.path(timer))
        self.tree.write(timer, '#!/bin/sh\nkill -STOP $PPID\n')
        os.chmod(self.tree.path(timer), 0o755)
        began = time.monotonic()
        self.assertEqual(self.asks(code=-signal.SIGKILL), [])
        self.assertLess(time.monotonic() - began, patience(10))
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/hold/2-1:1.0')))

    def test_properties(self):
        "All that the rule takes from the answer."
        self.tree.write('run/udev/data/c189:132', 'I:1\nE:ID_SERIAL_SHORT=S1\nE:UASD_DB_CHIP=Chip\nE:UASD_DB_1=bad;*;*;A list;2026-11\n')
        self.tree.write('etc/uasd/trim', f'1209:5a5a:S1=on 0:2146435072:{self.tree.medium("sdz")}\n')
        self.tree.write(SCSI + '/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.tree.write('run/uasd/attachment/' + self.tree.attachment(), 'NO_AUTO=1\n')
        self.assertEqual(self.asks(), ['UASD_CAPABLE=1', 'UASD_VERDICT=bad', 'UDISKS_AUTO=0', 'UASD_TRIM=1', 'UASD_TRIM_SET=1',
                                       'UASD_TRIM_MODE=unmap', 'UASD_TRIM_MAX=2146435072'])

    def test_not_capable(self):
        "A disk without UAS is not called capable."
        self.tree.remove('2-1', 'sdz')
        self.tree.disk('2-1', 'sdz', 'usb-storage', uas=False)
        self.assertEqual(self.asks(), [])

    def test_no_disk(self):
        "No answer about an unknown device: the rule does nothing."
        self.assertEqual(self.run_hold('udev', 'sdy', code=1, ACTION='add', DEVTYPE='disk').stdout, '')

    def test_no_sysfs(self):
        self.env['TREE'] = self.tree.path('no-such-folder')
        for program in HOLD, DECIDE:
            p = subprocess.run([program, 'udev', 'sdz'], env=self.env, capture_output=True, text=True, timeout=patience())
            self.assertEqual((p.returncode, p.stdout), (1, ''))

    def test_answer_is_lost(self):
        "An answer that cannot be written, and a helper that could hang for ever."
        def no_timer():
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
        for program in HOLD, DECIDE:
            with self.subTest(program), open('/dev/full', 'w') as full:
                p = subprocess.run([program, 'udev', 'sdz'], env=self.env, stdout=full, timeout=patience())
                self.assertEqual(p.returncode, 1)
                p = subprocess.run([program, 'udev', 'sdz'], env=self.env, capture_output=True, text=True, preexec_fn=no_timer, timeout=patience())
                self.assertEqual((p.returncode, p.stdout), (1, ''))
        self.tree.write('no-timer', '')
        self.asks(code=1)

    def test_usage(self):
        for args in (), ('udev',), ('udev', 'sdz', 'x'), ('release',), ('interface',), ('let-go', 'x'), ('quirks', 'x'), ('nonsense', 'x'):
            with self.subTest(args=args):
                self.assertIn('usage: uasd-hold', self.run_hold(*args, code=2).stderr)

    # uasd-hold settle, and the script of the initramfs that runs it before root is mounted

    def test_settle(self):
        "Exit status 0: a disk was moved, so its events are still to come. 1: none was."
        self.tree.write('etc/uasd/initramfs', '')
        self.tree.write('run/udev/data/+usb:2-1:1.0', 'E:UASD_ASKED=1\n')
        self.run_hold('settle', code=1)
        self.tree.write('run/uasd/attachment/' + self.tree.attachment(), 'TRIED=1\nEARLY=1\n')
        self.run_hold('settle')

    def test_mounting(self):
        "All events of udev are waited for only if a disk was moved: a slow device does not delay any other boot."
        with open(os.path.join(HERE, '../../packaging/initramfs/run.in')) as file:
            self.tree.write('run-script', file.read().replace('@pkglibexecdir@', self.tree.path(LIBEXEC)))
        for shell in ['dash'], ['bash', '--posix'], ['busybox', 'sh']:
            if not shutil.which(shell[0]):
                continue
            for moved in True, False:
                with self.subTest(shell=shell, moved=moved):
                    self.tree.write('said', '')
                    for program, status in (LIBEXEC + '/uasd-hold', not moved), ('bin/udevadm', True):
                        self.tree.write(program, '#!/bin/sh\necho ${0##*/} $* >>%s\nexit %d\n' % (self.tree.path('said'), status))
                        os.chmod(self.tree.path(program), 0o755)
                    p = subprocess.run([*shell, self.tree.path('run-script'), 'mounting'], capture_output=True, text=True, timeout=patience(),
                                       env=dict(os.environ, PATH=self.tree.path('bin') + ':' + os.environ['PATH']))
                    self.assertEqual((p.returncode, p.stdout, p.stderr), (0, '', ''))
                    self.assertEqual(self.read('said').splitlines(),
                                     ['uasd-hold settle'] + ['udevadm settle --timeout=30'] * moved)

    # uasd-hold release

    def held(self, seconds):
        self.tree.write('run/uasd/hold/2-1:1.0', 'BUSNUM=2\nDEVNUM=5\nDEADLINE=%d\n'
                        % ((time.clock_gettime(time.CLOCK_BOOTTIME) + seconds) * 1e6))

    def released(self):
        """Ends the hold as PID 1's timer does, with stderr in the journal. The fields of what it reports."""
        with open(self.tree.path('said'), 'w') as said:
            file = os.fstat(said.fileno())
            p = subprocess.run([HOLD, 'release', '2-1:1.0'], stderr=said, timeout=patience(),
                               env=dict(self.env, JOURNAL_STREAM='%d:%d' % (file.st_dev, file.st_ino)))
        self.assertEqual(p.returncode, 0, self.read('said'))
        if not os.path.exists(self.tree.path('journal')):
            return {}
        return dict(line.split('=', 1) for line in self.read('journal').splitlines())

    def test_released(self):
        "udev's record has the names: a disk that hangs does not return its strings."
        serial = self.tree.path(USB + '/serial')
        os.unlink(serial)
        os.mkfifo(serial)
        self.held(10)
        said = self.released()
        self.assertEqual((said['MESSAGE'], said['PRIORITY']), ('Released the mounts of 2-1:1.0.', '5'))
        self.assertEqual((said['UASD_INTERFACE'], said['UASD_DISK'], said['UASD_USB_ID']), ('2-1:1.0', 'sdz', '1209:5a5a:S1'))
        self.assertEqual(self.read(SCSI + '/block/sdz/uevent'), 'add')

    def test_released_by_time(self):
        self.held(-1)
        said = self.released()
        self.assertEqual((said['MESSAGE'], said['PRIORITY']),
                         ('Released the mounts of 2-1:1.0: its time ran out before it was switched.', '4'))

    def test_nothing_to_release(self):
        self.assertEqual(self.released(), {})

    def test_cannot_release(self):
        self.assertIn('Cannot release the mounts of ../x: ', self.run_hold('release', '../x', code=1).stderr)

    # uasd-hold interface, and the programs that it starts

    def initramfs(self, *lines):
        """A disk that has passed its trial, in an initramfs. A script with these lines plays uasd-switch."""
        self.tree.write('etc/uasd/initramfs', '')
        self.tree.write('etc/uasd/history', PASSED)
        for program, more in (LIBEXEC + '/uasd-switch', lines), ('sbin/modprobe', ()):
            self.tree.write(program, '\n'.join(['#!/bin/sh', 'echo "${0##*/} $*" >>"$TREE/calls"', *more, '']))
            os.chmod(self.tree.path(program), 0o755)

    def calls(self):
        return self.read('calls').splitlines()

    def test_moves(self):
        "uasd-switch is told all, and its output is not taken for properties."
        self.initramfs('echo out', 'echo err >&2', 'grep SigBlk /proc/self/status >"$TREE/mask"')
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertEqual(self.run_hold('interface', '2-1:1.0').stdout, '')
        self.assertEqual(self.read('limits'), 'answer 40\n')
        modprobe, switch = self.calls()
        self.assertEqual(modprobe, 'modprobe -q sd_mod')
        told = re.fullmatch('uasd-switch --automatic --plugged --no-udev --hold-deadline=([0-9]+) --attachment=2-5(?:-[0-9]+)? 2-1:1.0 uas', switch)
        self.assertAlmostEqual(int(told[1]) / 1e6, now + 15, delta=10)
        self.assertEqual(self.read('dev/kmsg'), 'out\nerr\n')
        self.assertEqual(self.read('mask').split(), ['SigBlk:', '0' * 16])

    def test_without_kmsg(self):
        "Without the kernel's log the output is lost, but never a property."
        self.initramfs('echo out')
        os.unlink(self.tree.path('dev/kmsg'))
        self.assertEqual(self.run_hold('interface', '2-1:1.0').stdout, '')

    def test_switch_dies(self):
        "A uasd-switch that was killed is followed by its recovery. If that leaves no driver, the kernel chooses one."
        self.initramfs('case "$*" in *--recover*) exit 0;; esac', 'rm "$TREE/%s/driver"' % INTERFACE,
                       'mkdir "$TREE/run/uasd/switch"', 'echo "PID=1" >"$TREE/run/uasd/switch/2-1:1.0"', 'kill -9 $$')
        self.run_hold('interface', '2-1:1.0')
        self.assertEqual(self.calls()[2:], ['uasd-switch --no-udev --recover 2-1:1.0'])
        self.assertEqual(self.read('sys/bus/usb/drivers_probe'), '2-1:1.0')
        self.assertFalse(os.path.exists(self.tree.path('run/uasd/switch/2-1:1.0')))

    def test_switch_is_missing(self):
        "Neither a switch nor its recovery can be started. The kernel chooses a driver for a disk that has none."
        self.initramfs()
        os.unlink(self.tree.path(LIBEXEC + '/uasd-switch'))
        with open(self.tree.path('sbin/modprobe'), 'a') as file:  # after the disk has been read
            file.write('rm "$TREE/%s/driver"\nmkdir "$TREE/run/uasd/switch"\necho "PID=1" >"$TREE/run/uasd/switch/2-1:1.0"\n' % INTERFACE)
        self.run_hold('interface', '2-1:1.0')
        self.assertEqual(self.calls(), ['modprobe -q sd_mod'])
        self.assertEqual(self.read('sys/bus/usb/drivers_probe'), '2-1:1.0')

    def test_switch_fails(self):
        "It has ended by itself: no recovery."
        self.initramfs('exit 7')
        self.run_hold('interface', '2-1:1.0')
        self.assertEqual(len(self.calls()), 2)
        self.assertEqual(self.read('sys/bus/usb/drivers_probe'), '')

    def test_switch_hangs(self):
        "It is killed three seconds after the end of the hold, which it needs for its own way back."
        self.initramfs('case "$*" in *--recover*) exit 0;; esac', 'exec sleep 60')
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nHoldSec=1\n')
        began = time.monotonic()
        self.run_hold('interface', '2-1:1.0')
        self.assertGreater(time.monotonic() - began, 3.9)
        self.assertEqual(self.calls()[2:], ['uasd-switch --no-udev --recover 2-1:1.0'])

    def test_not_moved(self):
        self.initramfs()
        self.tree.write('proc/cmdline', 'uasd=off\n')
        self.run_hold('interface', '2-1:1.0')
        self.assertFalse(os.path.exists(self.tree.path('calls')))

    # The other verbs

    def test_let_go(self):
        self.initramfs()
        self.run_hold('let-go')
        self.assertEqual(self.read('limits'), 'answer 10\n')
        self.assertEqual(self.read(SCSI + '/block/sdz/uevent'), 'add')

    def test_let_go_fails(self):
        self.initramfs()
        os.rmdir(self.tree.path('run/uasd'))
        self.tree.write('run/uasd', 'no folder')
        self.run_hold('let-go', code=1)

    def test_quirks(self):
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        os.makedirs(self.tree.path('new'))
        self.run_hold('quirks', '6.1.0-test', self.tree.path('new'))
        self.assertIn('\noptions usb-storage quirks=1209:5a5a:u\n', self.read('new/etc/modprobe.d/zzz-uasd.conf'))

    def test_quirks_fail(self):
        self.tree.write('etc/uasd/policy', '1209:5a5a:S1=usb-storage\n')
        self.tree.write('new/etc/modprobe.d', 'no folder')
        for folder in 'no-such-folder', 'new':
            with self.subTest(folder):
                p = self.run_hold('quirks', '6.1.0-test', self.tree.path(folder), code=1)
                self.assertIn('Cannot keep disks off uas in the initramfs: ', p.stderr)

    def test_end_trials(self):
        trial = PASSED.replace('passed', 'trial').replace('boot=-', 'boot=00000000-0000-0000-0000-000000000001')
        self.tree.write('etc/uasd/history', trial)
        self.assertEqual(self.run_hold('end-trials').stderr, '')
        self.assertIn('state=ended', self.read('etc/uasd/history'))

    def test_end_trials_fails(self):
        os.rmdir(self.tree.path('etc/uasd'))
        self.tree.write('etc/uasd', 'no folder')
        self.assertIn('Cannot end the trials of this boot: ', self.run_hold('end-trials', code=1).stderr)

    # uasd-generator

    def generate(self, code=0, folder=None):
        """The length of a hold and the patience of a boot; None: no hold."""
        os.makedirs(self.tree.path('normal'), exist_ok=True)
        p = subprocess.run([GENERATOR, folder or self.tree.path('normal'), '-', '-'], env=self.env, capture_output=True, text=True, timeout=patience())
        self.assertEqual(p.returncode, code, p.stderr)
        self.said = p.stderr
        if not os.path.lexists(self.tree.path('normal/uasd-hold')):
            return None
        return re.findall('=([0-9]+ms)\n', self.read('normal/uasd-hold'))

    def enabled(self, conf='', cmdline='quiet\n'):
        wants = self.tree.path('etc/systemd/system/sysinit.target.wants')
        os.makedirs(wants)
        os.symlink('/usr/lib/systemd/system/uasd.service', wants + '/uasd.service')
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\n' + conf)
        self.tree.write('proc/cmdline', cmdline)

    def test_generates(self):
        self.enabled()
        self.assertEqual(self.generate(), ['20000ms', '90000ms'])

    def test_generates_half(self):
        "A boot that waits for a short time gets half of it."
        self.enabled()
        self.tree.write('etc/fstab', 'LABEL=x /mnt ext4 x-systemd.device-timeout=12s 0 2\n')
        self.assertEqual(self.generate(), ['6000ms', '12000ms'])

    def test_generates_shortest(self):
        self.enabled('HoldSec=1\n')
        self.assertEqual(self.generate(), ['1000ms', '90000ms'])

    def test_generates_nothing(self):
        for name, conf, cmdline in (('shorter than a second', 'HoldSec=900ms\n', 'quiet\n'), ('HoldSec=0', 'HoldSec=0\n', 'quiet\n'),
                                    ('uasd.hold=0', '', 'uasd.hold=0 quiet\n'), ('uasd=off', '', 'uasd=off\n')):
            with self.subTest(name):
                self.setUp()
                self.enabled(conf, cmdline)
                self.assertIsNone(self.generate())

    def test_not_enabled(self):
        self.assertIsNone(self.generate())

    def test_unreadable_timeout(self):
        "Nobody knows how long the boot waits: nothing is held."
        self.enabled()
        self.tree.write('etc/fstab', 'LABEL=x /mnt ext4 x-systemd.device-timeout=soon 0 2\n')
        self.assertIsNone(self.generate(code=1))
        self.assertIn('No mounts will be held: a device timeout cannot be read', self.said)

    def test_no_folder(self):
        self.enabled()
        self.assertIsNone(self.generate(code=1, folder=self.tree.path('no-such-folder')))
        self.assertIn('No mounts will be held: No such file', self.said)

    def test_generator_usage(self):
        p = subprocess.run([GENERATOR, '.'], capture_output=True, text=True, timeout=patience())
        self.assertEqual((p.returncode, p.stderr), (2, 'usage: uasd-generator NORMAL-DIR EARLY-DIR LATE-DIR\n'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The base of the tests of uasd: a machine in a folder with one disk, a private bus, uasd, and a script as uasd-switch.

The first two arguments of a test are uasd-in-tree and uasctl-in-tree. Imported first, it lets a test import from tests/ctl.
"""

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../ctl'))
import privatebus  # noqa: E402
from patience import alive, let_pass, patience, process_state, stop, until  # noqa: E402, F401
from tree import Tree, memory  # noqa: E402

UASD, UASCTL = sys.argv[1:3]
TOP = os.path.join(HERE, '../..')
BUS = 'sys/devices/pci0000:00/0000:00:14.0/usb2'
INTERFACE = BUS + '/2-1/2-1:1.0'  # of the one disk
XML = os.path.join(os.path.dirname(UASD), '../../src/daemon/org.uasd1.xml')  # the build makes it
SKIPPED = 77
WARNING = 4  # the priority in the journal
HELLO = b'\0AUTH EXTERNAL %s\r\n' % str(os.geteuid()).encode().hex().encode()  # to the private socket

with open(os.path.join(TOP, 'src/common/names.h')) as names:
    NAMES = names.read()
# The messages to the journal: {id: name}
MESSAGES = {number: name for name, number in re.findall(r'#define MESSAGE_(\w+) "([0-9a-f]{32})"', NAMES)}

# Plays uasd-switch: waits at a step for the maker of the file "at-STEP", and moves the disk.
SWITCH = """#!/bin/sh
interface= target=
for word; do interface=$target target=$word; done
: >"$TREE/moving"
for step in identify claim sync bind; do
        echo "STEP $step 1"
        while [ -e "$TREE/at-$step" ]; do sleep 0.02; done
done
if [ -e "$TREE/fails" ]; then
        text=$(cat "$TREE/fails")
        echo "END 7 bind ${text:-The disk did not come back.}"
        exit 7
fi
ln -sfn "$(realpath "$TREE/sys/bus/usb/drivers/$target")" "$TREE/sys/bus/usb/devices/$interface/driver"
echo "END 0 release It is moved."
"""
# Plays uasd-switch: binds the disk to the driver in the file "ends-on", and ends as "ends" says.
ENDS_ON = """#!/bin/sh
for word; do interface=$last last=$word; done
driver="$TREE/sys/bus/usb/devices/$interface/driver"
on=$(cat "$TREE/ends-on")
rm -f "$driver"
test "$on" = none || ln -sfn "$(realpath "$TREE/sys/bus/usb/drivers/$on")" "$driver"
echo "STEP bind 1"
cat "$TREE/ends"
exit 1
"""


# sd-event lets a timer end so many seconds late: several may end with one wake-up.
TIMER_LATE = 0.25


def timers(fdinfo):
    """Seconds until a timer descriptor ends; none if it is no such descriptor, or not armed."""
    try:
        with open(fdinfo) as f:
            armed = re.findall(r'it_value: \((\d+), (\d+)\)', f.read())
    except FileNotFoundError:
        return []
    return [int(seconds) + int(nsec) / 1e9 for seconds, nsec in armed if int(seconds) or int(nsec)]


def slept(pid):
    """Whether a process sleeps, and how often it has."""
    with open(f'/proc/{pid}/status') as f:
        status = dict(line.split(':', 1) for line in f)
    return status['State'].split()[0] == 'S', int(status['voluntary_ctxt_switches'])


def path_of(disk):
    """The object of a disk, by its Id: sd_bus_path_encode(3)."""
    return '/org/uasd1/disk/' + ''.join(c if c.isalpha() or i and c.isdigit() else f'_{ord(c):02x}' for i, c in enumerate(disk))


class Machine(unittest.TestCase):
    """The class has no cases of its own."""
    maxDiff = None

    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)
        self.warnings = set()
        self.addCleanup(self.check_warnings)
        # A real mount table, because only that reports changes. It contains nothing of the folder.
        os.unlink(self.tree.path('proc/1/mountinfo'))
        os.symlink('/proc/self/mountinfo', self.tree.path('proc/1/mountinfo'))
        self.tree.disk('2-1', 'sdz', 'uas')
        self.tree.write('dev/sdz', '')
        os.mkfifo(self.tree.path('dev/kmsg'))
        self.kmsg = os.open(self.tree.path('dev/kmsg'), os.O_RDWR)
        self.addCleanup(os.close, self.kmsg)
        fcntl.fcntl(self.kmsg, fcntl.F_SETFL, os.O_DIRECT)  # one read returns one record, as in the kernel
        self.conf('[uasd]\nQuietSec=0\n')
        self.play(SWITCH)
        self.dir = tempfile.mkdtemp(dir=memory())
        self.addCleanup(lambda: shutil.rmtree(self.dir))
        self.env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=privatebus.address(self.dir), TREE=self.tree.top, LC_ALL='C.UTF-8', TERM='xterm',
                        UASD_SWITCH=self.tree.path('switch'),
                        ASAN_OPTIONS='detect_leaks=0')  # uasd does not free memory that it needs until its end
        self.said = open(os.path.join(self.dir, 'said'), 'w+')
        self.addCleanup(self.said.close)

    def conf(self, text):
        self.tree.write('etc/uasd/uasd.conf', text)

    def play(self, script):
        """It is uasd-switch from now on."""
        self.tree.write('switch', script)
        os.chmod(self.tree.path('switch'), 0o755)

    def plays_switch(self, *lines):
        self.play('\n'.join(['#!/bin/sh', 'echo called >>"$TREE/calls"', *lines, '']))

    def calls(self):
        try:
            with open(self.tree.path('calls')) as f:
                return len(f.readlines())
        except FileNotFoundError:
            return 0

    def bind(self, driver):
        """Sets the driver of the disk in sysfs, or None. No uevent reports it."""
        link = self.tree.path(INTERFACE + '/driver')
        if os.path.lexists(link):
            os.unlink(link)
        if driver:
            self.tree.link(INTERFACE + '/driver', 'sys/bus/usb/drivers/' + driver)

    def hears(self):
        """From its start uasd gets only the events of look_again(), and writes down which it takes."""
        os.mkfifo(self.tree.path('uevents'))
        os.mkfifo(self.tree.path('announced'))
        self.tree.write('heard', '')

    def heard(self):
        """These events, in the order in which uasd has taken them."""
        with open(self.tree.path('heard')) as f:
            return f.read().splitlines()

    def look_again(self):
        """Events were lost: uasd reads everything again."""
        with open(self.tree.path('uevents'), 'wb') as fifo:
            fifo.write(b'lost\n')

    def pull(self, port='2-1'):
        """Unplugs the present disk."""
        os.unlink(self.tree.path(f'sys/bus/usb/devices/{port}:1.0'))
        self.look_again()
        until(lambda: port not in self.interfaces(), 'it has gone')

    def attachment_arg(self):
        return '--attachment=' + self.tree.attachment().split('@')[1]

    def put_back(self, devnum, port='2-1'):
        """Plugs in the disk, or the one that is there now."""
        self.tree.number(port, devnum)
        self.tree.link(f'sys/bus/usb/devices/{port}:1.0', f'{BUS}/{port}/{port}:1.0')
        self.look_again()
        until(lambda: port in self.interfaces(), 'it is back')

    def drops(self, devnum):
        """uasd finds another device when it reads the port."""
        self.tree.number('2-1', devnum)
        self.look_again()
        until(lambda: os.path.exists(self.tree.path('run/uasd/strings/' + self.tree.attachment(devnum=devnum))), 'it is back')

    def hurry(self):
        """The pauses of uasd are short from now on."""
        self.tree.write('hurry', '')

    def pauses(self):
        """How long uasd has waited, or wanted to, before each of its calls: in ms."""
        try:
            with open(self.tree.path('pauses')) as file:
                return [int(line) for line in file]
        except FileNotFoundError:
            return []

    def timers(self, daemon):
        """Seconds until each timer of uasd ends."""
        return [left for fd in os.listdir(f'/proc/{daemon.pid}/fdinfo') for left in timers(f'/proc/{daemon.pid}/fdinfo/{fd}')]

    def children(self, daemon):
        """The processes that uasd waits for."""
        with open(f'/proc/{daemon.pid}/task/{daemon.pid}/children') as f:
            return f.read().split()

    def asleep(self, *processes):
        """All sleep at one moment: no message is on its way between them."""
        before = [slept(p.pid) for p in processes]
        return all(sleeps for sleeps, _ in before) and [slept(p.pid) for p in processes] == before

    def at_rest(self, daemon, seconds=60):
        """Without an event uasd does nothing for so long: it sleeps, has no child, and no timer of it ends before."""
        before = slept(daemon.pid)
        rests = before[0] and not self.children(daemon) and min(self.timers(daemon), default=seconds) >= seconds
        return rests and slept(daemon.pid) == before

    def run_is_full(self, daemon):
        """uasd cannot write the mark of the disk. Its next name is taken. Ends that again."""
        temporary = self.tree.path(f'run/uasd/attachment/.{self.tree.attachment()}.{daemon.pid}')
        os.makedirs(temporary)
        return lambda: os.rmdir(temporary)

    def fsync_hangs(self):
        """The disk with the records: each fsync of uasd waits for fsync_goes_on()."""
        self.tree.write('at-fsync', '')
        self.addCleanup(self.fsync_goes_on)

    def in_fsync(self):
        return os.path.exists(self.tree.path('in-fsync'))

    def fsync_goes_on(self):
        for name in 'at-fsync', 'in-fsync':
            if os.path.exists(self.tree.path(name)):
                os.unlink(self.tree.path(name))

    def interfaces(self):
        """The ports of the disks that uasd knows."""
        return [one['Interface'].split(':')[0] for one in self.managed_disks()]

    def start(self, program, **more):
        p = subprocess.Popen(program, **{'env': self.env, 'stdin': subprocess.DEVNULL, 'text': True, **more})
        self.addCleanup(lambda: privatebus.kill(p))
        return p

    def notified(self):
        """PID 1's socket."""
        path = os.path.join(self.dir, 'notify')
        pid1 = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(pid1.close)
        pid1.bind(path)
        pid1.settimeout(patience())
        self.env['NOTIFY_SOCKET'] = path
        return lambda: pid1.recv(4096).decode()

    def start_bus(self):
        bus = privatebus.start(self.dir)
        self.addCleanup(lambda: privatebus.kill(bus))
        return bus

    def start_daemon(self):
        self.uasd = daemon = self.start([UASD, self.tree.top], stderr=self.said)

        def end():  # whatever the state
            if daemon.poll() == -signal.SIGKILL:  # the test killed it
                return
            daemon.terminate()
            self.assertEqual(daemon.wait(patience()), 0, self.journal())
        self.addCleanup(end)
        return daemon

    def busctl(self, *args):
        return subprocess.run(['busctl', *args], env=self.env, capture_output=True, text=True, timeout=patience())

    def on_bus(self):
        return self.busctl('status', 'org.uasd1').returncode == 0

    def start_on_bus(self):
        daemon = self.start_daemon()
        until(self.on_bus, 'uasd is on the bus')
        return daemon

    def both(self):
        self.start_bus()
        return self.start_on_bus()

    def start_ctl(self, *args, **more):
        return self.start([UASCTL, self.tree.top, *args], **more)

    def ctl(self, *args, code=0):
        p = self.tree.run(*args, env=self.env)
        self.assertEqual(p.returncode, code, (args, p.stdout, p.stderr, self.journal()))
        return p

    def journal(self):
        with open(self.said.name) as f:
            return f.read()

    def entries(self):
        """All messages to the journal, each as its fields."""
        with open(self.tree.path('journal')) as f:
            return [dict(line.split('=', 1) for line in one.splitlines()) for one in f.read().split('\n\n') if one]

    def messages(self):
        """The messages in the journal that have an id: the name, and all fields. Not those about what was asked."""
        every = [(MESSAGES[one['MESSAGE_ID']], one) for one in self.entries() if 'MESSAGE_ID' in one]
        return [(name, one) for name, one in every if name != 'ASKED']

    def requests(self):
        """Who asked for what, in the journal: all fields."""
        return [one for one in self.entries() if MESSAGES.get(one.get('MESSAGE_ID')) == 'ASKED']

    def warns(self, *names):
        """The test makes uasd print these warnings or errors: names of messages, or parts of the text. Any other is a failure."""
        self.warnings |= set(names)

    def check_warnings(self):
        if not os.path.exists(self.tree.path('journal')):
            return
        printed = [(MESSAGES.get(one.get('MESSAGE_ID')), one['MESSAGE']) for one in self.entries() if int(one['PRIORITY']) <= WARNING]
        self.assertEqual([one for one in printed if not any(name == one[0] or name in one[1] for name in self.warnings)], [], 'not named with warns()')
        self.assertEqual([name for name in self.warnings if not any(name == one[0] or name in one[1] for one in printed)], [], 'not printed')

    def disk(self):
        [one] = json.loads(self.ctl('list', '--json').stdout)['disks']
        return one

    def driver_is(self, driver, seconds=20):
        """uasctl reads the driver from the kernel, which uasd-switch has changed before uasd knows its end."""
        def is_on_it():
            one = self.disk()
            return one['driver'] == driver and one['state'] != 'switching'
        until(is_on_it, 'it is on ' + driver, seconds)

    def managed(self):
        p = self.busctl('--json=short', 'call', 'org.uasd1', '/org/uasd1', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')
        self.assertEqual(p.returncode, 0, p.stderr)
        return {path: {name: {key: value['data'] for key, value in members.items()} for name, members in interfaces.items()}
                for path, interfaces in json.loads(p.stdout)['data'][0].items()}

    def managed_disks(self):
        return [one['org.uasd1.Disk'] for one in self.managed().values() if 'org.uasd1.Disk' in one]

    def job(self):
        """Path and properties of the present job; None, {} without one."""
        jobs = {path: interfaces['org.uasd1.Job'] for path, interfaces in self.managed().items() if 'org.uasd1.Job' in interfaces}
        self.assertLessEqual(len(jobs), 1)
        return jobs.popitem() if jobs else (None, {})

    def step_is(self, step):
        until(lambda: self.job()[1].get('Step') == step, 'step ' + step)

    def listen(self):
        p = self.start(['busctl', '--json=short', 'monitor', '--match=type=signal,path_namespace=/org/uasd1'], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        self.assertIn('Monitoring', p.stderr.readline())
        return p.stdout

    def told_of(self, listener, path):
        """All signals about a job until its removal: changes of State, Step and Result."""
        told = []
        for line in listener:
            one = json.loads(line)
            member, data = one['member'], one['payload']['data']
            if member == 'PropertiesChanged' and one['path'] == path:
                self.assertEqual((data[0], data[1]['Disk']['data']), ('org.uasd1.Job', '2-1:1.0'))
                told.append(tuple(data[1][name]['data'] for name in ('State', 'Step', 'Result')))
            elif data[0] == path:
                told.append((member, *data[1:5]) if member == 'JobRemoved' else member)
            if told[-1:] == ['InterfacesRemoved']:
                return told
        raise AssertionError(told)

    def call_manager(self, method, *args):
        return self.busctl('call', 'org.uasd1', '/org/uasd1', 'org.uasd1.Manager', method, *args)

    def call_disk(self, method, *args, disk='2-1:1.0'):
        return self.busctl('call', 'org.uasd1', path_of(disk), 'org.uasd1.Disk', method, *args)

    def switch(self, target='usb-storage'):
        """Requests a switch. Returns the path of its job."""
        p = self.call_disk('Switch', 'sa{sv}', target, '0')
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout.split('"')[1]

    def cancel_job(self, path):
        return self.busctl('call', 'org.uasd1', path, 'org.uasd1.Job', 'Cancel', 'a{sv}', '0')

    def use(self, yes):
        """Adds a holder of the disk, or removes it and closes the disk."""
        holder = self.tree.path('sys/class/block/sdz/holders/dm-9')
        if yes:
            os.mkdir(holder)
            return
        os.rmdir(holder)
        with open(self.tree.path('dev/sdz')):
            pass


def main(needs_root=None, programs=2):
    """Runs the tests of the program. needs_root: why an ordinary user cannot run them. programs: number of arguments that are not for
    unittest."""
    if needs_root and os.geteuid() != 0:
        print(needs_root)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[1 + programs:], verbosity=2)

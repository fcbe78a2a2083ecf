# SPDX-License-Identifier: LGPL-2.1-or-later
"""What uasd relies on in PID 1, logind and polkit, asked with busctl: the stand-ins of these tests (test-stand-ins.py) and, in a
guest, the real ones (tests/vm/cases/stand_ins.py) give the same answers.
"""

import json
import xml.etree.ElementTree as ET

from patience import until

PID1 = ('org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager')
UNIT, TIMER = 'org.freedesktop.systemd1.Unit', 'org.freedesktop.systemd1.Timer'
LOGIND = ('org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager')
POLKIT = ('org.freedesktop.PolicyKit1', '/org/freedesktop/PolicyKit1/Authority', 'org.freedesktop.PolicyKit1.Authority')
# Members that uasd uses, with the signature of a method's input and output, of a property or of a signal.
API = {
    PID1: {'Subscribe': ('', ''), 'RestartUnit': ('ss', 'o'), 'StartUnit': ('ss', 'o'),
           'ListUnitsByPatterns': ('asas', 'a(ssssssouso)'), 'SystemState': 's', 'UnitsLoadFinishTimestampMonotonic': 't',
           'JobRemoved': ('uoss',), 'StartupFinished': ('tttttt',)},
    LOGIND: {'Inhibit': ('ssss', 'h'), 'PrepareForSleep': ('b',)},
    POLKIT: {'CheckAuthorization': ('(sa{sv})sa{ss}us', '(bba{ss})')},
}
WAITING = 'dev-never.device'  # its job waits for a device that never comes
NEVER = (1 << 64) - 1
ENDS = 'modprobe@usb_storage.service'  # ends soon after its start
STOPPED = 'stopped.timer'
# Listens at PID 1's own socket, which is the first argument, and starts the unit that is the second one. Prints the path of its job, and
# the first JobRemoved with that path.
STARTS = r"""
import json, os, socket, struct, subprocess, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
stream = peer.makefile('rb')
peer.sendall(b'\0AUTH EXTERNAL %s\r\n' % str(os.geteuid()).encode().hex().encode())
assert stream.readline().startswith(b'OK ')
peer.sendall(b'BEGIN\r\n')
job = json.loads(subprocess.check_output(['busctl', '--json=short', 'call', *sys.argv[3:], 'StartUnit', 'ss', sys.argv[2], 'replace']))['data'][0]
while True:
    size, _serial, fields = struct.unpack('<4x3I', stream.read(16))
    header, body = stream.read((fields + 7) // 8 * 8), stream.read(size)
    if b'JobRemoved' not in header or job.encode() not in body:
        continue
    values, at = [struct.unpack_from('<I', body)[0]], 4
    for _ in 'oss':
        length = struct.unpack_from('<I', body, at)[0]
        values.append(body[at + 4:at + 4 + length].decode())
        at += (length + 8) // 4 * 4
    break
print(json.dumps((job, values)))
"""
# For each of them the statements about it, in their order.
STATEMENTS = {PID1: [], LOGIND: [], POLKIT: []}


class Bus:
    """run: carries out a command, returns (exit status, stdout, stderr). exact: it has no other members than uasd uses. root: a name
    on the bus of a program of root. private: PID 1's own socket."""

    def __init__(self, run, exact=False, root=LOGIND[0], private='/run/systemd/private'):
        self.run, self.exact, self.root, self.private = run, exact, root, private

    def busctl(self, *args):
        return self.run(['busctl', '--json=short', *map(str, args)])

    def call(self, of, member, signature='', *args):
        """(type, data) of the answer."""
        code, out, err = self.busctl('call', *of, member, *([signature, *args] if signature else []))
        assert code == 0, (of, member, err)
        answer = json.loads(out) if out.strip() else {'type': '', 'data': []}
        return answer['type'], answer['data']

    def get(self, of, name):
        code, out, err = self.busctl('get-property', *of, name)
        assert code == 0, (of, name, err)
        answer = json.loads(out)
        return answer['type'], answer['data']

    def members(self, of):
        _type, [text] = self.call((*of[:2], 'org.freedesktop.DBus.Introspectable'), 'Introspect')
        found = {}
        for one in ET.fromstring(text).find(f"interface[@name='{of[2]}']"):
            of_args = [(arg.get('type'), arg.get('direction')) for arg in one.findall('arg')]
            if one.tag == 'method':
                found[one.get('name')] = tuple(''.join(kind for kind, to in of_args if (to == 'out') == out) for out in (False, True))
            elif one.tag == 'signal':
                found[one.get('name')] = (''.join(kind for kind, _to in of_args),)
            elif one.tag == 'property':
                found[one.get('name')] = one.get('type')
        return found


def about(of):
    def register(statement):
        STATEMENTS[of].append(statement)
        return statement
    return register


def check(bus, of):
    members = bus.members(of)
    assert {name: members.get(name) for name in API[of]} == API[of], members
    assert not bus.exact or members == API[of], set(members) - set(API[of])
    for statement in STATEMENTS[of]:
        print('%s: %s' % (of[0], statement.__doc__), flush=True)
        statement(bus)


def units(bus, states, *patterns):
    """{name: (active state, path, id of the job, path of the job)}"""
    kind, [found] = bus.call(PID1, 'ListUnitsByPatterns', 'asas', len(states), *states, len(patterns), *patterns)
    assert kind == 'a(ssssssouso)', kind
    return {one[0]: (one[3], one[6], one[7], one[9]) for one in found}


@about(PID1)
def states(bus):
    "Its state is one of the words that uasd knows, and it tells when it had loaded the units."
    kind, word = bus.get(PID1, 'SystemState')
    assert kind == 's' and word in ('initializing', 'starting', 'running', 'degraded', 'maintenance', 'stopping'), word
    kind, at = bus.get(PID1, 'UnitsLoadFinishTimestampMonotonic')
    assert kind == 't' and at > 0, at


@about(PID1)
def waiting_jobs(bus):
    "A job that waits for a device is at its inactive unit, with the timeouts. Both lists of patterns select."
    state, path, job, of_job = units(bus, ['inactive', 'activating'], '*.device', '*.mount')[WAITING]
    assert state == 'inactive' and job > 0 and of_job == f'/org/freedesktop/systemd1/job/{job}', (state, job, of_job)
    assert bus.get((PID1[0], path, UNIT), 'JobTimeoutUSec') == ('t', NEVER)
    kind, running = bus.get((PID1[0], path, UNIT), 'JobRunningTimeoutUSec')
    assert kind == 't' and 0 < running < NEVER, running
    assert WAITING not in units(bus, ['active'], '*.device')
    assert WAITING not in units(bus, ['inactive'], '*.mount')


@about(PID1)
def timers(bus):
    "An active timer tells when it ends. A unit without a job has the id 0 for it."
    found = units(bus, ['active'], '*.timer')
    assert found
    for state, path, job, of_job in found.values():
        assert (state, job, of_job) == ('active', 0, '/'), (state, job, of_job)
        kind, _at = bus.get((PID1[0], path, TIMER), 'NextElapseUSecMonotonic')
        assert kind == 't', kind


@about(PID1)
def job_begins(bus):
    "A unit that is started is a job, whose path is the answer."
    kind, [path] = bus.call(PID1, 'StartUnit', 'ss', WAITING, 'replace')
    assert kind == 'o' and path.startswith('/org/freedesktop/systemd1/job/'), path


@about(PID1)
def job_ends(bus):
    "A unit that was started and has ended sends JobRemoved on PID 1's own socket: the id and path of its job, its name, done."
    code, out, err = bus.run(['python3', '-c', STARTS, bus.private, ENDS, *PID1])
    assert code == 0, err
    job, removed = json.loads(out)
    assert removed == [int(job.removeprefix('/org/freedesktop/systemd1/job/')), job, ENDS, 'done'], (job, removed)


@about(PID1)
def timer_restarts(bus):
    "RestartUnit makes an inactive timer active."
    assert STOPPED not in units(bus, ['active'], '*.timer')
    kind, [path] = bus.call(PID1, 'RestartUnit', 'ss', STOPPED, 'replace')
    assert kind == 'o' and path.startswith('/org/freedesktop/systemd1/job/'), path
    until(lambda: STOPPED in units(bus, ['active'], '*.timer'), 'it is active')
    assert STOPPED not in units(bus, ['inactive'], '*.timer')


@about(LOGIND)
def inhibitor(bus):
    "A delay inhibitor is a descriptor."
    kind, [_fd] = bus.call(LOGIND, 'Inhibit', 'ssss', 'sleep', 'test', 'a reason', 'delay')
    assert kind == 'h', kind


def none_while_asleep(bus):
    "Between the two PrepareForSleep it gives no inhibitor, by the error that uasd reads."
    code, out, err = bus.run(['dbus-send', '--system', '--print-reply', '--dest=' + LOGIND[0], LOGIND[1], LOGIND[2] + '.Inhibit',
                              'string:sleep', 'string:test', 'string:a reason', 'string:delay'])
    assert code != 0 and err.startswith('Error org.freedesktop.login1.OperationInProgress: '), (out, err)


def authorization(bus, action):
    """polkit's answer about a program of root, given by its unique name."""
    _kind, [name] = bus.call(('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus'), 'GetNameOwner', 's', bus.root)
    return bus.call(POLKIT, 'CheckAuthorization', '(sa{sv})sa{ss}us', 'system-bus-name', 1, 'name', 's', name, action,
                    1, 'disk', '2-1:1.0', 0, '')


@about(POLKIT)
def root_may(bus):
    "Two truth values and details: allowed, and whether a password would help."
    answer = authorization(bus, 'org.freedesktop.systemd1.manage-units')
    assert answer == ('(bba{ss})', [[True, False, {}]]), answer

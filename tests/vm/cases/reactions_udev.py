# SPDX-License-Identifier: LGPL-2.1-or-later
"""The assumptions of the fake kernel about udev, on a real one: see tests/fake/REACTIONS."""

from context import case
from inside import plugged, python

IMAGES = ("bookworm", "trixie")

# A rule's program, which ends when the case lets it. So the case decides how long udev needs for an event.
GATE = """
echo begin $1 ${2#sd?} >>/run/gate.log
until test -e /run/go; do sleep 0.05; done
echo end $1 ${2#sd?} >>/run/gate.log
"""
RULE = 'ACTION=="add|remove", SUBSYSTEM=="block", KERNEL=="sd*", PROGRAM="/bin/sh /run/gate $env{ACTION} %k"\n'

# One socket hears the kernel and udev, so the order of its events is that in which they were sent.
UDEV = r"""
import socket

def listen():
    heard = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
    heard.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
    heard.bind((0, 3))
    return heard

def hear(heard, last=None, seconds=60):
    "Events of disks up to LAST, or those of some SECONDS: `udev add 1` is of the first partition."
    found, end = [], time.monotonic() + seconds
    while not last or last not in found:
        heard.settimeout(max(end - time.monotonic(), 0.001))
        try:
            data = heard.recv(1 << 16)
        except (TimeoutError, BlockingIOError):
            assert not last, (last, found)
            break
        who = "kernel"
        if data.startswith(b"libudev\0"):
            at, size = struct.unpack_from("II", data, 16)
            who, data = "udev", data[at:at + size]
        words = dict(one.split("=", 1) for one in data.decode().split("\0") if "=" in one)
        name = os.path.basename(words.get("DEVNAME", ""))
        if words.get("SUBSYSTEM") == "block" and name.startswith("sd") and words["ACTION"] in ("add", "remove"):
            found.append(" ".join((who, words["ACTION"], name[3:])).strip())
    return found

def go(on=True):
    if on:
        open("/run/go", "w").close()
    elif os.path.exists("/run/go"):
        os.unlink("/run/go")

def log():
    "What the gate has seen."
    return open("/run/gate.log").read().strip().splitlines() if os.path.exists("/run/gate.log") else []

def wait(question, seconds=60):
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, log()
        time.sleep(0.01)

def rebind(close_gate=True):
    "The disk is new, and udev's worker stands in the gate with it. Returns what hears the events."
    settle()
    assert unbind(driver()) is None
    settle()
    if os.path.exists("/run/gate.log"):
        os.unlink("/run/gate.log")
    go(not close_gate)
    heard = listen()
    assert bind(sys.argv[2]) is None
    if close_gate:
        wait(lambda: "begin add" in log())
    return heard

def lock(fd):
    return error(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""


def gated(vm, program, **config):
    "What PROGRAM answers on each image."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image, **config)
        guest.put("/run/gate", GATE)
        guest.put("/run/udev/rules.d/10-gate.rules", RULE)
        guest.run("udevadm control --reload && touch /run/go", check=True)
        yield image, python(guest, disk, UDEV + program, "uas", timeout=200)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def announced_when_ready(vm):
    "The kernel announces a disk before its partitions, when all of them can be opened, and its removal after theirs."
    for image, answer in gated(vm, """
heard = rebind(close_gate=False)
hear(heard, "kernel add")
name = disks()[0]
opens = [error(node, name + part) for part in ("", "1", "2")]
added = ["kernel add"] + hear(heard, "udev add 2")
settle()
unbind(driver())
answer = [opens, [one for one in added if "kernel" in one], [one for one in hear(heard, "udev remove") if "kernel" in one]]
""", partitions=["4M", None]):
        assert answer == [[None] * 3, ["kernel add", "kernel add 1", "kernel add 2"],
                          ["kernel remove 1", "kernel remove 2", "kernel remove"]], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def udev_announces_last(vm):
    "udev announces an event when its rules are done, and begins with a partition when it has announced the disk."
    for image, answer in gated(vm, """
heard = rebind()
first = hear(heard, seconds=3)
began = log()
go()
answer = [first, began, hear(heard, "udev add 1"), log()]
""", partitions=[None]):
        assert answer == [["kernel add", "kernel add 1"], ["begin add"], ["udev add", "udev add 1"],
                          ["begin add", "end add", "begin add 1", "end add 1"]], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def udev_keeps_order(vm):
    "udev processes a removal when it has processed the addition, although the kernel has announced both."
    for image, answer in gated(vm, """
heard = rebind()
assert unbind(driver()) is None
first = hear(heard, seconds=3)
began = log()
go()
last = hear(heard, "udev remove")
answer = [first, began, [one for one in last if not one.endswith("1")], [one for one in log() if not one.endswith("1")]]
""", partitions=[None]):
        assert answer == [["kernel add", "kernel add 1", "kernel remove 1", "kernel remove"], ["begin add"],
                          ["udev add", "udev remove"], ["begin add", "end add", "begin remove", "end remove"]], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def udev_records_first(vm):
    "The record is there when udev announces the disk, and not before it, with a time in between; it is gone when udev announces the removal."
    for image, answer in gated(vm, """
def record():
    try:
        return open("/run/udev/data/" + number).read().splitlines()
    except FileNotFoundError:
        return None
start = time.monotonic()
heard = rebind()
number = "b" + open("/sys/class/block/%s/dev" % disks()[0]).read().strip()
before = record()
go()
hear(heard, "udev add")
[usec] = [int(one[2:]) for one in record() if one.startswith("I:")]
after = [start * 1e6 < usec < time.monotonic() * 1e6, "G:systemd" in record()]
settle()
assert unbind(driver()) is None
hear(heard, "udev remove")
answer = [before, after, record()]
""", partitions=[None]):
        assert answer == [None, [True, True], None], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def udev_keeps_open(vm):
    "A worker, called (udev-worker), has the disk open until it has processed it, also when it is gone; the next disk gets another name."
    for image, answer in gated(vm, """
def who():
    "Those who have the disk open."
    found = set()
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(path).removesuffix(" (deleted)") == "/dev/" + first:
                pid = path.split("/")[2]
                found.add((open("/proc/%s/comm" % pid).read().strip(), "/systemd-udevd.service" in open("/proc/%s/cgroup" % pid).read()))
        except OSError:
            pass
    return sorted(found)
heard = rebind()
first = disks()[0]
opens = [who()]
assert unbind(driver()) is None and bind("uas") is None
appear()
opens.append(who())
second = disks()[0]
go()
settle()
opens.append(who())
third = rebind(close_gate=False) and (appear(), disks()[0])[1]
answer = [opens, second != first, third == first]
""", partitions=[None]):
        udev = ["(udev-worker)", True]
        assert answer == [[[udev], [udev], []], True, True], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def udev_keeps_lock(vm):
    "As long as udev processes a disk or one of its partitions, no process gets the lock of the disk."
    for image, answer in gated(vm, """
heard = rebind()
fd = node(disks()[0])
locks = [lock(fd)]
# Only the partition's event is left.
rule = open("/run/udev/rules.d/10-gate.rules").read()
go()
settle()
locks.append(lock(fd))
fcntl.flock(fd, fcntl.LOCK_UN)
go(False)
os.unlink("/run/gate.log")
assert write("/sys/class/block/%s1/uevent" % disks()[0], "add") is None
wait(lambda: "begin add 1" in log())
locks.append(lock(fd))
go()
settle()
locks.append(lock(fd))
answer = locks
""", partitions=[None]):
        assert answer == ["EAGAIN", None, "EAGAIN", None], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def udev_waits_for_lock(vm):
    "While a process has the lock of a disk, udev begins with no event of it or of its partitions, except a removal."
    for image, answer in gated(vm, """
heard = rebind(close_gate=False)
hear(heard, "udev add 1")
settle()
[name] = disks()
fd = node(name)
assert lock(fd) is None
os.unlink("/run/gate.log")
for one in (name, name + "1"):
    assert write("/sys/class/block/%s/uevent" % one, "add") is None
first = [hear(heard, seconds=3), log()]
fcntl.flock(fd, fcntl.LOCK_UN)
second = sorted(hear(heard, "udev add 1"))
settle()
assert lock(fd) is None
assert unbind(driver()) is None
third = hear(heard, "udev remove")
answer = [first, second, [one for one in third if "udev" in one]]
""", partitions=[None]):
        assert answer == [[["kernel add", "kernel add 1"], []], ["udev add", "udev add 1"], ["udev remove 1", "udev remove"]], (image, answer)


@case(tier="full", image=IMAGES, product=False, cpus=2)
def trigger_runs_rules(vm):
    "A synthetic add runs the rules as the first one did, and a property that they do not set again is gone."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image, partitions=[None])
        guest.put("/run/udev/rules.d/10-mark.rules", 'SUBSYSTEM=="block", KERNEL=="sd*", TEST=="/run/mark", ENV{VM_HELD}="1"\n')
        answer = python(guest, disk, UDEV + """
subprocess.run(["udevadm", "control", "--reload"], check=True)
open("/run/mark", "w").close()
heard = rebind(close_gate=False)
def held():
    return ["VM_HELD=1" in subprocess.run(["udevadm", "info", "/dev/" + name + part], stdout=subprocess.PIPE, text=True).stdout
            for part in ("", "1")]
hear(heard, "udev add 1")
[name] = disks()
seen = [held()]
os.unlink("/run/mark")
seen.append(held())
for part in ("", "1"):
    assert write("/sys/class/block/%s%s/uevent" % (name, part), "add") is None
told = sorted(hear(heard, "udev add 1"))
answer = seen + [held(), told]
""", "uas", timeout=200)
        assert answer == [[True, True], [True, True], [False, False],
                          ["kernel add", "kernel add 1", "udev add", "udev add 1"]], (image, answer)

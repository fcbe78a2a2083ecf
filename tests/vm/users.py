# SPDX-License-Identifier: LGPL-2.1-or-later
"""A process uses a disk, and uasd waits for it, and only for it."""

import re

from evidence import listed

QUIET = 1
# No trial, because its timer would count.
CONFIG = {"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=%d\nTrialSec=0\n" % QUIET}
# From the end of the use to the beginning of the switch, in addition to the quiet time. If the end causes an event, waits() has
# seen that no timer is armed, so nothing else can begin the switch: the slack is for a busy host. Two seconds were too few for a
# guest with two processors there. Without an event more is allowed.
SLACK = 10
# From the beginning to its end, on an emulated processor. A real one takes well under a second for it.
THROUGH = 12


def settled(vm, disks, image=None):
    """A resumed guest with these disks on uas, at rest; without udisks, which opens each new disk at any time."""
    guest = vm.resume(image=image, files=CONFIG)
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    for disk in disks:
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas", count=len(disk.media))
        guest.wait_until("uasctl wait %s" % disk.interface, 60)
    return guest


def daemon(guest):
    return guest.out("systemctl show -P MainPID uasd")


def timers(guest):
    """Seconds until each timer that uasd has armed. Without one only an event wakes it."""
    text = guest.out("cat /proc/%s/fdinfo/* 2>/dev/null; true" % daemon(guest))  # some are closed meanwhile
    return [int(seconds) + int(nsec) / 1e9 for seconds, nsec in re.findall(r"it_value: \((\d+), (\d+)\)", text)
            if (seconds, nsec) != ("0", "0")]


def wake_ups(guest, seconds):
    """How often uasd ran in so many seconds, after it has stopped its watchdog: a second after the last event."""
    guest.run("sleep 2")
    file = "/proc/%s/status" % daemon(guest)
    before, after = guest.out("grep ^voluntary %s; sleep %s; grep ^voluntary %s" % (file, seconds, file),
                              timeout=seconds + 60).splitlines()
    return int(after.split()[1]) - int(before.split()[1])


def at_rest(guest):
    """Waits until nothing more can happen without an event: udev and uasd sleep, and no timer of uasd ends within a minute."""
    def rests():
        state = guest.out("udevadm settle; cut -d ' ' -f 3 /proc/%s/stat" % daemon(guest))
        return state == "S" and not [left for left in timers(guest) if left < 60]
    guest.until(rests, 90, "uasd at rest")


def fits(user, wanted):
    """Every key has the expected value, or matches the pattern; None: the key is absent."""
    return all(user.get(key) is None if value is None else
               key in user and re.fullmatch(str(value), str(user[key])) for key, value in wanted.items())


def ask(guest, disk):
    """uasctl switch to the other driver, which has to wait. Returns that driver."""
    target = "usb-storage" if guest.driver(disk.interface) == "uas" else "uas"
    asked = guest.run("uasctl switch %s %s" % (disk.interface, target))
    assert asked.rc == 3, (target, asked)
    return target


def waits(guest, disk, *wanted, told=True, alone=False):
    """Waiting, with each of WANTED among its users. TOLD: whether the end is an event, so no timer is armed. ALONE: there are no
    others, once what uasd has found before has aged."""
    def look():
        one = listed(guest, disk)
        return one if one["state"] == "waiting" and (not alone or len(one["busy"]) == len(wanted)) and all(
            any(fits(user, each) for user in one["busy"]) for each in wanted) else None
    try:
        one = guest.until(look, 60, "waiting for %s" % (wanted,))
    except Exception as error:
        raise AssertionError("%s: %s" % (error, listed(guest, disk))) from error
    if told:
        guest.until(lambda: not timers(guest), 40, "no timer; %s" % (wanted,))
    else:
        # Backoff: 1, 2, 4 ... s. The first one is always there, until the look by name.
        def backs_off():
            longest = max(timers(guest) or [0])
            assert longest <= 30, longest
            return longest > 2
        guest.until(backs_off, 40, "a timer that backs off; %s" % (wanted,))
    return one


def goes(guest, disk, target, end, slack=SLACK):
    """END is the last part of the use: the switch follows by itself. Returns the seconds between them."""
    assert guest.driver(disk.interface) != target
    before = len(began(guest, disk))
    # journald's clock is the kernel's, which /proc/uptime shows as well.
    times = guest.out("cat /proc/uptime; %s; cat /proc/uptime" % end).split()
    ending, ended = float(times[0]), float(times[-2])
    guest.wait_disk(disk.interface, driver=target, timeout=30 + slack, count=len(disk.media))
    guest.until(lambda: listed(guest, disk)["state"] in ("settled", "trial"), 30, "settled")
    times = began(guest, disk)[before:]
    waited = times[0] - ended
    assert len(times) == 1, times
    arrived = guest.until(lambda: through(guest, disk, target, times[0]), 20, "its end in the journal")
    print("  %-11s %5.2f s after the end of the use, there after %5.2f s (%s)" % (target, waited, arrived - ended, end), flush=True)
    assert arrived - times[0] <= THROUGH, (times[0], arrived)
    assert waited <= QUIET + slack, waited
    if slack <= 10:  # otherwise a try may just have been in progress
        assert times[0] - ending >= QUIET - 0.1, times[0] - ending
    assert guest.driver(disk.interface) == target
    return waited


def began(guest, disk):
    """The times at which switches of the disk began, by uasd's messages. A switch that was deferred does not count."""
    found = []
    for line in guest.journal("-b -u uasd").splitlines():
        match = re.match(r"\[\s*([0-9.]+)\] \S+ uasd\[\d+\]: %s.*: (switching from|not now)" % re.escape(disk.interface), line)
        if match and match.group(2) == "not now":
            found.pop()
        elif match:
            found.append(float(match.group(1)))
    return found


def through(guest, disk, target, since):
    """When a switch that began at SINCE had moved the disk to TARGET, or None."""
    for line in guest.journal("-b -u uasd").splitlines():
        match = re.match(r"\[\s*([0-9.]+)\] \S+ uasd\[\d+\]: %s.*: moved from \S+ to %s" % (re.escape(disk.interface), target), line)
        if match and float(match.group(1)) >= since:
            return float(match.group(1))
    return None


def waits_for(guest, disk, start, wanted, end, told=True, slack=SLACK):
    """START a use of the disk, request a switch, see it wait for WANTED, END it, see the switch."""
    guest.run(start, check=True)
    target = ask(guest, disk)
    one = waits(guest, disk, *(wanted if isinstance(wanted, tuple) else (wanted,)), told=told)
    goes(guest, disk, target, end, slack)
    return one

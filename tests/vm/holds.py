# SPDX-License-Identifier: LGPL-2.1-or-later
"""Observed boots: when a hold began and ended, and when the disk was mounted.

A unit of the guest listens to udev before the first device is triggered, so
that a hold cannot come and go unseen; what PID 1 and the kernel did is in the
journal. Both clocks count from the guest's start.
"""

import re

import cpio
from evidence import when

LABEL = "LABEL=DATA /mnt ext4 defaults 0 2"
SERVICE_DROPIN = "/etc/systemd/system/uasd.service.d/vm.conf"
LOG = "/run/vm-monitor"

MONITOR = {
    "/etc/systemd/system/vm-monitor.service":
        "[Unit]\nDefaultDependencies=no\nBefore=systemd-udev-trigger.service\n"
        "[Service]\nExecStart=/bin/udevadm monitor --udev --property\n"
        "StandardOutput=file:%s\n"
        "ExecStartPost=/bin/sh -c 'until grep -q UDEV %s; do sleep 0.05; done'\n" % (LOG, LOG),
    "/etc/systemd/system/sysinit.target.wants/vm-monitor.service":
        cpio.Link("../vm-monitor.service"),
}


class Event:
    """One event as udev has sent it after processing."""

    def __init__(self, time, action, path, properties):
        self.time = time
        self.action = action
        self.name = path.rpartition("/")[2]
        self.properties = properties

    @property
    def held(self):
        return self.properties.get("UASD_HOLD") == "1"

    def __repr__(self):
        return "%.2f %s %s%s" % (self.time, self.action, self.name, " held" * self.held)


def events(guest, subsystem="block"):
    """All events of a subsystem since the boot, in order."""
    found = []
    for part in guest.out("cat " + LOG).split("\n\n"):
        head, _, rest = part.strip().partition("\n")
        match = re.match(r"UDEV  ?\[(\d+\.\d+)\] (\S+)\s+(\S+) \((\S+)\)", head)
        if match and match.group(4) == subsystem:
            properties = dict(line.partition("=")[::2] for line in rest.splitlines())
            found.append(Event(float(match.group(1)), match.group(2), match.group(3), properties))
    return found


class Timeline:
    """The course of one disk (named `name` the whole time) in a boot."""

    def __init__(self, guest, disk, name="sda"):
        self.guest = guest
        self.disk = disk
        mine = [one for one in events(guest)
                if one.name.startswith(name) and one.action != "remove"]
        self.events = mine
        held = [one for one in mine if one.held]
        self.appeared = mine[0].time if mine else None
        self.was_held = bool(held)
        # An old systemd names a unit by its description only.
        # PID 1 starts the dead man's timer before the first message of the hold.
        self.began = when(guest, r"systemd\[1\]: Started (\S+ - )?Deadline for Holding the Mounts")
        self.timer = when(guest, r"systemd\[1\]: (Starting|Started|Finished) (\S+ - )?Release the Mounts")
        self.released = next((one.time for one in mine if held and one.time > held[-1].time), None)
        self.mounted = when(guest, r"EXT4-fs \(%s\d*\): mounted" % name, "-b -k")
        self.driver = guest.driver(disk.interface)
        # It fires in any case, and finds nothing to do after a normal release.
        self.by_timer = (self.timer is not None and self.released is not None
                         and self.timer < self.released)

    def __str__(self):
        def since(time):
            if time is None:
                return "never"
            return "%+.2f s" % (time - (self.began or self.appeared or 0))
        return "%s at %.2f s; timer %s, released %s, mounted %s, on %s" % (
            "held" if self.was_held else "seen, not held,", self.began or self.appeared or 0,
            since(self.timer), since(self.released), since(self.mounted), self.driver)


def early(lines):
    """A drop-in for uasd.service with LINES. The service starts before udev sees a disk.

    Once only, if nothing else is said: the disk, when it comes, would have it
    started again. And without a watchdog: a boot of a slow machine lasts longer
    than its minute, and a uasd that a case has stopped stays so.
    """
    text = "[Unit]\nBefore=systemd-udev-trigger.service\n[Service]\n"
    if "Restart=" not in lines:
        text += "Restart=no\nWatchdogSec=0\nExecStartPre=/bin/mkdir /run/vm-started\n"
    return text + lines


def boot(vm, disk, fstab=LABEL, files=None, wait="booted", timeout=180, **options):
    """A cold boot with DISK and its fstab line, watched."""
    files = dict(MONITOR, **(files or {}))
    return vm.boot(disks=[disk], fstab=[fstab], files=files, wait=wait, timeout=timeout, **options)


def mounted_at_boot(guest, disk, driver, where="/mnt"):
    """The Timeline of a boot that succeeded: mounted, on DRIVER, no unit failed."""
    line = Timeline(guest, disk)
    print(line, flush=True)
    failed = guest.out("systemctl list-units --failed --plain --no-legend").split("\n")
    failed = [unit for unit in failed if unit and not unit.startswith("uasd.service")]
    assert not failed, failed
    assert where in guest.mounts(), guest.mounts()
    assert line.driver == driver, line.driver
    assert line.mounted is not None
    return line


def never_held(line):
    """No hold began at any time, by all files and units."""
    assert not line.was_held, line.events
    assert line.began is None, line.began
    assert line.guest.run("ls /run/uasd/hold/*").rc != 0
    assert not any("SYSTEMD_READY" in one.properties for one in line.events), line.events


def held_and_released(line, seconds, slack=8.0):
    """A hold began and ended in time. The mount followed at once.

    SLACK is for udev, fsck and mount on a guest that may share its processor.
    """
    assert line.was_held, line.events
    assert line.began is not None and line.released is not None, line
    assert line.released - line.began <= seconds + slack, line
    assert line.mounted - line.released <= slack, line


def by_the_dead_man(line, seconds):
    """The timer of PID 1 released the disk when the time was up, not before and not after."""
    early = 1.0  # PID 1 reports the start of the timer a moment later
    held_and_released(line, seconds)
    assert line.by_timer, line
    assert seconds - early <= line.timer - line.began <= seconds + 2, line
    assert line.released - line.began >= seconds - early, line

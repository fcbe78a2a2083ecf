# SPDX-License-Identifier: LGPL-2.1-or-later
"""A switched disk waits in udev for its trial: every program sees it once, in its final state."""

import re

from context import case


def passes(text):
    """The block events that udev has processed: (action, name, properties)."""
    found = []
    for part in text.split("\n\n"):
        head, _, rest = part.strip().partition("\n")
        match = re.match(r"UDEV  ?\[[0-9.]+\] (\S+)\s+\S*/block/(?:\S+/)?(\S+) \(block\)", head)
        if match:
            found.append(match.groups() + (dict(line.partition("=")[::2] for line in rest.splitlines()),))
    return found


@case(tier="fast", image="vendor", cpus=2)
def without_a_hold(vm):
    "Asked for by hand: one `add` of each node in either direction, no hold, no timer of PID 1."
    disk = vm.disk(label="DATA")
    guest = vm.resume(disks=[disk])
    guest.wait_disk(disk.interface, driver="uas")
    guest.run("uasctl wait sda && udevadm settle", check=True)
    timers = len(guest.journal("-b -o cat").split("Started uasd-release@"))
    for target in ("usb-storage", "uas"):
        job = guest.spawn("exec stdbuf -oL udevadm monitor --udev --property --subsystem-match=block")
        guest.until(lambda: "UDEV - the event" in job.output(), 20, "the monitor")
        guest.run("uasctl switch sda %s --wait=60" % target, check=True)
        guest.wait_until("test -e /dev/disk/by-label/DATA", 30)
        guest.run("udevadm settle", check=True)
        seen = passes(job.output())
        job.kill()
        for name in ("sda", "sda1"):
            added = [one for one in seen if one[:2] == ("add", name)]
            assert len(added) == 1, seen
            assert added[0][2].get("UDISKS_AUTO") == "0", added
        assert not any("UASD_HOLD" in one[2] or "SYSTEMD_READY" in one[2] for one in seen), seen
        assert guest.driver(disk.interface) == target
    assert len(guest.journal("-b -o cat").split("Started uasd-release@")) == timers

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The verdicts of the database about bridges, and those of the administrator."""

from context import case
from evidence import disk_in, gone

RULE = "usb:v1209p5A5A*\n UASD_DB_CHIP=Emulated\n UASD_DB_1=%s;*;*;Somebody;2026-11\n"


def says(guest, verdict):
    guest.put("/etc/udev/hwdb.d/70-local.hwdb", RULE % verdict)
    guest.run("systemd-hwdb update", check=True)


@case(tier="default", image="bookworm")
def known_bad(vm):
    "A bridge that the database calls bad is taken off uas when it is plugged in; called good, it stays there."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    says(guest, "bad")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = disk_in(guest, disk, "settled")
    assert (one["verdict"], one["target"]) == ("bad", "usb-storage"), one
    assert "Somebody" in guest.out("uasctl db sda")
    known = guest.uasctl("db sda")["disks"][0]["database"]
    assert known["chip"] == "Emulated" and [one["verdict"] for one in known["statements"]] == ["bad"], known
    gone(guest, disk)
    says(guest, "good")
    disk.plug()
    guest.wait_disk(disk.interface, driver="uas")
    one = disk_in(guest, disk, "settled")
    assert (one["verdict"], one["driver"]) == ("good", "uas"), one

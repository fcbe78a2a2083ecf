# SPDX-License-Identifier: LGPL-2.1-or-later
"""Held the other way: the initramfs put the disk on uas, the policy is usb-storage, and it is mounted there.

Also what shows that holds and their timer work with a newer kernel and systemd.
"""

from context import case
from evidence import only_disk, quirks_of_others, when
from holds import (SERVICE_DROPIN, boot, by_the_dead_man, early, held_and_released,
                   mounted_at_boot)


def mounted_on_storage_alone(guest, disk):
    """Held on uas, moved, mounted once, and nothing was ever written over UAS."""
    line = mounted_at_boot(guest, disk, "usb-storage")
    held_and_released(line, 20)
    assert not line.by_timer, line
    on_uas = when(guest, r"scsi host\d+: uas", "-b -k")
    held = when(guest, r"its mounts are held until")  # PID 1 may report the start of the timer after the disk has been moved
    on_bot = when(guest, r"scsi host\d+: usb-storage", "-b -k")
    assert on_uas < held < on_bot < line.mounted, (on_uas, held, on_bot, line.mounted)
    stats = disk.stats()
    assert stats["uas"]["writes"] == 0 and stats["bot"]["writes"] > 0, stats
    one = only_disk(guest, "settled")
    assert (one["driver"], one["reason_id"]) == ("usb-storage", "policy"), one
    assert quirks_of_others(guest) == ""


@case(also=("bullseye",))
def configured(vm):
    "Policy in uasd.conf."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={
        "/etc/uasd/uasd.conf": "[Disk 1209:5a5a]\nPolicy=usb-storage\n"})
    mounted_on_storage_alone(guest, disk)


@case(image="trixie", tier="full")
def kept_trixie(vm):
    "Policy as `uasctl policy` keeps it, on kernel 6.12 with systemd 257."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={
        "/etc/uasd/policy": "1209:5a5a:%s=usb-storage\n" % disk.config["serial"]})
    mounted_on_storage_alone(guest, disk)


@case(image="trixie", also=("bullseye", "sid"))
def dead_man(vm):
    "The daemon killed before the hold begins, with other releases of systemd: the timer, and mounted on uas."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={
        "/etc/uasd/uasd.conf": "[Disk 1209:5a5a]\nPolicy=usb-storage\n",
        SERVICE_DROPIN: early("ExecStartPost=/bin/kill -KILL $MAINPID\n")})
    by_the_dead_man(mounted_at_boot(guest, disk, "uas"), 20)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nothing to do on a stock kernel: decisions of the kernel or the user stay."""

from context import case
from evidence import only_disk
from holds import boot, held_and_released, mounted_at_boot, never_held

QUIRKS = "/sys/module/usb_storage/parameters/quirks"
OURS = "1209:5a5a:u,1234:5678:s"


def explained(guest, disk):
    """The deciding row, from `uasctl explain` in JSON; also in words."""
    [one] = guest.uasctl("explain " + disk.interface)["disks"]
    [row] = [row for row in one["rows"] if row["decides"]]
    text = guest.out("uasctl explain " + disk.interface)
    assert row["reason_id"] in text, text
    return row["reason_id"], text


@case()
def by_itself(vm):
    "On uas by itself: no hold, no switch, settled, and explain says why."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk)
    never_held(mounted_at_boot(guest, disk, "uas"))
    assert only_disk(guest, "settled")["target"] == "uas"
    reason, _text = explained(guest, disk)
    assert reason == "unknown-bridge", reason
    # The firmware sends four commands over BOT.
    assert disk.stats()["bot"]["commands"] <= 4, disk.stats()["bot"]
    assert disk.stats()["set_interface"]["1"] == 1, disk.stats()["set_interface"]
    assert guest.read(QUIRKS) == ""


@case(limit=360, tier="full")
def quirk(vm):
    "A `u` on the command line is the user's word; a policy, kept over a restart, is a later one."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, cmdline="usb-storage.quirks=" + OURS)
    never_held(mounted_at_boot(guest, disk, "usb-storage"))
    one = only_disk(guest, "settled")
    assert (one["target"], one["reason_id"]) == ("usb-storage", "quirk"), one
    reason, text = explained(guest, disk)
    assert reason == "quirk" and "1209:5a5a:u" in text, text
    assert disk.stats()["uas"]["commands"] == 0

    guest.run("uasctl policy %s uas" % disk.interface, check=True)
    assert only_disk(guest, "waiting")["reason_id"] == "policy"
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas")
    # The entry existed only for the bind: the string is the user's again.
    assert guest.read(QUIRKS) == OURS
    guest.run("mount /mnt && umount /mnt", check=True)

    disk.reset_stats()
    guest.reboot()
    held_and_released(mounted_at_boot(guest, disk, "uas"), 20)
    assert only_disk(guest, "settled")["reason_id"] == "policy"
    assert guest.read(QUIRKS) == OURS
    assert disk.stats()["bot"]["writes"] == 0


def rescued(guest, disk):
    one = only_disk(guest, "settled")
    assert (one["driver"], one["reason_id"]) == ("usb-storage", "uas-kept-away"), one
    reason, _text = explained(guest, disk)
    assert reason == "uas-kept-away", reason
    # Not against the user: a module that was kept away stays away.
    assert guest.run("grep ^uas /proc/modules").rc == 1
    assert disk.stats()["uas"]["commands"] == 0


@case(tier="full")
def blacklisted(vm):
    "modprobe.blacklist=uas leaves the disk without a driver: it is mounted on usb-storage."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, cmdline="modprobe.blacklist=uas")
    mounted_at_boot(guest, disk, "usb-storage")
    rescued(guest, disk)


@case(tier="fast")
def install_line(vm):
    "The same with `install uas /bin/false`, at plug-in."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.put("/etc/modprobe.d/vm.conf", "install uas /bin/false\n")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    rescued(guest, disk)

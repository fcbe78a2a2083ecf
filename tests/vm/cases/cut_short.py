# SPDX-License-Identifier: LGPL-2.1-or-later
"""A switch that is interrupted by an unplug, by Ctrl-C or by a shutdown. The bridge is not blamed for any of them."""

from context import case
from evidence import DISTRUSTED, disk_in, gone, messages, record_of, well
from holds import LABEL
from stepped import bring, resumed

RECORD = "/run/uasd/switch/%s"


def at_step(guest, disk, target, step):
    """`uasctl switch` to TARGET was started in the background; it is at STEP."""
    guest.run("(uasctl switch %s %s --wait=100 >/run/vm-said 2>&1; echo $? >/run/vm-rc) </dev/null >/dev/null 2>&1 &" % (
        disk.interface, target), check=True)
    guest.wait_until("grep -qs STEP=%s %s" % (step, RECORD % disk.interface), 60)


def exit_status(guest):
    return int(guest.wait_until("cat /run/vm-rc", 120).text)


@case(image="vendor", limit=120, cpus=2)
def pulled_while_it_is_verified(vm):
    "A disk that hangs on uas and is pulled is not on record, and the next attachment is switched."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\nQuietSec=0\n"})
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    well(guest, disk, "usb-storage")
    assert record_of(guest, disk) == []
    disk.fault(name="delay", proto="uas", op="read", ms=6)  # otherwise the disk answers before so many commands are queued
    disk.fault(name="hang", proto="uas", op="read", queue=16)
    at_step(guest, disk, "uas", "verify")
    gone(guest, disk)
    assert exit_status(guest) == 4, guest.read("/run/vm-said")
    guest.wait_until("! test -e " + RECORD % disk.interface, 60)
    assert record_of(guest, disk) == [] and messages(guest, DISTRUSTED) == 0, record_of(guest, disk)
    assert "unplugged in the middle of a switch from usb-storage to uas" in guest.journal("-b -u uasd")
    disk.clear_faults()
    disk.plug()
    well(guest, disk, "usb-storage")
    assert guest.run("uasctl switch %s uas --wait=60" % disk.interface, 90).rc == 0
    well(guest, disk, "uas")


@case(tier="full", limit=900)
def terminated_in_the_middle(vm):
    "SIGTERM to uasd-switch before it claims, binds and verifies, each way: the disk has a driver, nothing is lost, and it is not distrusted."
    disk, guest, world = resumed(vm)
    for before in world.plan:
        for step in "bind", "verify", "claim":
            bring(guest, world, before)
            pid = world.stop(step)
            guest.run("kill -TERM %d; kill -CONT %d" % (pid, pid), check=True)
            guest.wait_until("! test -e /proc/%d" % pid, 30)
            guest.run("uasctl wait %s" % disk.interface, 120)
            world.check()
    assert messages(guest, DISTRUSTED) == 0
    assert not any("state=distrusted" in line for line in record_of(guest, disk)), record_of(guest, disk)


@case(tier="full", image="vendor", limit=500)
def rebooted_in_the_middle(vm):
    "An orderly restart begins while a disk is verified on uas: the next boot mounts it, and it is not distrusted."
    disk = vm.disk(label="DATA")
    boot = {"fstab": [LABEL], "files": {"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\nQuietSec=0\nHoldSec=40\n"}}
    guest = vm.boot(disks=[disk], **boot)
    well(guest, disk, "usb-storage")
    guest.run("umount /mnt", check=True)
    disk.fault(name="delay", proto="uas", op="read", ms=400)
    at_step(guest, disk, "uas", "verify")
    guest.reboot()
    disk.clear_faults()
    assert "/mnt" in guest.mounts(), "the boot went without the disk"
    one = disk_in(guest, disk, "settled", 60)
    assert one["reason_id"] != "distrusted" and messages(guest, DISTRUSTED) == 0, one
    assert not any("state=distrusted" in line or "state=trial" in line for line in record_of(guest, disk)), record_of(guest, disk)
    well(guest, disk)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several disks: of exactly the same model, or gone all at once."""

from context import case
from evidence import switch, well


def plugged(vm, *disks):
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    for disk in disks:
        guest.plug(disk)
    for disk in disks:
        well(guest, disk, "uas")
    return guest


@case(tier="full", image="vendor", cpus=2)
def twins(vm):
    "Two disks of one VID:PID and serial are two: a name that fits both is refused, a request goes to the one that is meant."
    one, two = vm.disk(label="ONE", serial="TWIN"), vm.disk(label="TWO", serial="TWIN")
    guest = plugged(vm, one, two)
    for name in ("1209:5a5a", "TWIN"):
        done = guest.run("uasctl switch %s usb-storage --wait=5" % name)
        assert done.rc in (2, 4) and one.interface in done.err and two.interface in done.err, done
    done = switch(guest, one, "usb-storage")
    assert done.rc == 0, done
    assert (guest.driver(one.interface), guest.driver(two.interface)) == ("usb-storage", "uas")
    by = {each["interface"]: each for each in guest.uasctl("list")["disks"]}
    assert len(by) == 2 and by[one.interface]["reason_id"] == "override", by
    assert by[two.interface]["reason_id"] != "override", by
    well(guest, one, "usb-storage")
    well(guest, two, "uas")


@case(tier="full", image="vendor", cpus=2)
def hub_vanishes(vm):
    "Four disks vanish at once, one mounted and waiting, one in the middle of a switch: nothing stays of them, and they are welcome again."
    disks = [vm.disk(label="D%d" % n, size="32M") for n in range(4)]
    guest = plugged(vm, *disks)
    mounted, moving = disks[1], disks[2]
    guest.run("mount LABEL=D1 /mnt", check=True)
    assert guest.run("uasctl switch %s usb-storage --wait=0" % mounted.interface).rc == 3
    moving.fault(name="delay", op="any", ms=200)
    guest.spawn("uasctl switch %s usb-storage --wait=60" % moving.interface)
    guest.wait_until("test -e /run/uasd/switch/%s" % moving.interface, 20)
    for disk in disks:
        disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")
    guest.wait_until("! pgrep -x uasd-switch", 90)
    guest.wait_until("test -z \"$(ls -A /run/uasd/hold)$(ls -A /run/uasd/attachment)$(ls -A /run/uasd/strings)\"", 60)
    guest.run("umount -l /mnt")
    moving.clear_faults()
    for disk in disks:
        disk.plug()
    for disk in disks:
        well(guest, disk, "uas")


@case(tier="full", image="vendor", cpus=2)
def twins_of_two_minds(vm):
    "Two disks of one serial, one policy each: right after a boot and after a replug each is where it is wanted, and swapped the policies stay with the ports."
    one, two = vm.disk(label="ONE", serial="TWIN"), vm.disk(label="TWO", serial="TWIN")
    guest = plugged(vm, one, two)
    done = guest.run("uasctl policy %s usb-storage" % one.interface)
    assert done.rc == 0 and "kept for the port" in done.err, done
    well(guest, one, "usb-storage")
    well(guest, two, "uas")
    guest.reboot()
    well(guest, one, "usb-storage")
    well(guest, two, "uas")
    for disk in (one, two):
        disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")
    for disk in (two, one):
        disk.plug()
    well(guest, one, "usb-storage")
    well(guest, two, "uas")
    ports = two.port, one.port
    for disk in (one, two):
        disk.unplug()
        guest.detach(disk)
    for disk, port in zip((one, two), ports):
        guest.attach(disk, port)
        disk.plug()
    well(guest, one, "uas")
    well(guest, two, "usb-storage")
    by = {each["interface"]: each for each in guest.uasctl("list")["disks"]}
    assert by[two.interface]["policy"] == "usb-storage" and by[one.interface]["policy"] == "auto", by

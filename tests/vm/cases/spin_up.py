# SPDX-License-Identifier: LGPL-2.1-or-later
"""A disk that spins up: it has a SCSI device, and its block device comes seconds later."""

from cases.reactions_drivers import SPINS_UP
from context import case
from evidence import only_disk


@case(image="vendor")
def left_alone(vm):
    "uasd is started while a disk spins up: the disk is not touched, stays when it is mounted as it appears, and is moved when it is free."
    disk = vm.disk(label="DATA", faults=[SPINS_UP])
    guest = vm.resume()
    # No hold: the disk is there before uasd.
    guest.run("systemctl stop uasd && systemctl disable -q uasd", check=True)
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nQuietSec=2\n")
    guest.plug(disk)
    guest.wait_until("test -e /sys/bus/usb/devices/%s/host*/target*/*/driver" % disk.interface)
    guest.run("systemctl start uasd", check=True)
    one = only_disk(guest, "waiting")
    assert (one["driver"], one["target"], one["disks"]) == ("usb-storage", "uas", []), one
    # uasd has tried, and the kernel has the disk. The kernel holds the lock of the SCSI device, and journald waits for it to read
    # the uevent. So the journal stands still meanwhile, and programs that log much wait for journald.
    guest.run("until uasctl list --json | grep -q 'still probing'; do sleep 1; done", check=True)
    assert not guest.block_devices(disk.interface)
    assert disk.stats()["set_interface"].get("1", 0) == 0, disk.stats()

    mounting = guest.spawn("until mount /dev/sda1 /mnt; do :; done")
    disk.clear_faults()
    mounting.wait(30, check=True)
    guest.run("dd if=/dev/urandom of=/mnt/file bs=1M count=8 conv=fsync status=none", check=True)
    total = guest.out("sha256sum </mnt/file")
    # A try in progress may have been faster than mount. Under the mount the disk stays where it is.
    driver = guest.driver(disk.interface)
    if driver == "usb-storage":
        # uasd may have seen mount(8) itself, and looks again.
        guest.until(lambda: ["/mnt"] == [user["where"] for user in only_disk(guest, "waiting")["busy"] if user["kind"] == "mount"],
                    what="the mount in the list")
        assert disk.stats()["set_interface"].get("1", 0) == 0, disk.stats()
    assert guest.driver(disk.interface) == driver

    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=60)
    only_disk(guest, "settled")
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.out("sha256sum </mnt/file") == total

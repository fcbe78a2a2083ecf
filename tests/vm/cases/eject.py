# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl eject, with a real kernel behind it."""

from context import case
from evidence import on_storage, only_disk

SYNC, STOP, WRITES = "0x35", "0x1b", {"0x2a", "0x8a"}


def gone(guest, disk):
    guest.wait_until("! test -e /sys/bus/usb/devices/%s" % disk.interface.split(":")[0], 30)


@case(tier="default", image="vendor", limit=400, cpus=2)
def both_drivers(vm):
    "A mounted disk stays; unmounted, it is stopped and gone, under either driver and after a switch under way. No byte is lost, not even in its cache."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk, config="[uasd]\nQuietSec=0\nTrialSec=0\n")
    guest.run("systemctl start uasd", check=True)
    for driver in "uas", "usb-storage":
        proto = "uas" if driver == "uas" else "bot"
        guest.run("uasctl switch sda %s --wait=60" % driver, 90, check=True)
        only_disk(guest, "settled")
        guest.run("mount /dev/sda1 /mnt && dd if=/dev/urandom of=/mnt/%s bs=1M count=8 status=none" % driver, check=True)
        total = guest.out("sha256sum </mnt/%s" % driver)
        refused = guest.run("uasctl eject sda")
        assert refused.rc == 6 and "/mnt" in refused.err and "in use" in refused.err, refused.err
        assert guest.run("mountpoint -q /mnt").rc == 0 and guest.driver(disk.interface) == driver
        # The last sector of the disk is behind the partition. Nothing syncs this write.
        guest.run("umount /mnt && printf %s | dd of=/dev/sda bs=512 seek=$(($(blockdev --getsz /dev/sda) - 40)) status=none" % driver, check=True)
        disk.reset_stats()
        guest.run("uasctl eject sda", 90, check=True)
        gone(guest, disk)
        assert disk.stats()[proto]["by_op"].get(STOP) == 1, disk.stats()
        ops = [event["op"] for event in reversed(disk.trace(100)) if event["event"] == "command"]
        before = ops[ops.index(STOP) + 1:]
        assert SYNC in before and not WRITES & set(before[:before.index(SYNC)]), ops  # udev may read the disk meanwhile
        assert guest.uasctl("list")["disks"] == []
        assert "ejected" in guest.journal("-b -u uasd") and "unplugged in the middle" not in guest.journal("-b -u uasd")
        assert disk.power_loss() == [0]
        guest.plug(disk)
        guest.wait_disk(disk.interface)
        only_disk(guest, "settled")
        end = guest.out("dd if=/dev/sda bs=512 skip=$(($(blockdev --getsz /dev/sda) - 40)) count=1 status=none | tr -d '\\0'")
        assert end == driver, end
        guest.run("mount -o ro /dev/sda1 /mnt", check=True)
        assert guest.out("sha256sum </mnt/%s" % driver) == total
        guest.run("umount /mnt", check=True)

    # It waits for a switch that is under way.
    one = only_disk(guest, "settled")
    other = {"uas": "usb-storage", "usb-storage": "uas"}[one["driver"]]
    disk.reset_stats()
    guest.run("(uasctl switch sda %s &) ; while ! test -e /run/uasd/switch/%s; do sleep 0.01; done; uasctl eject 2-%d" %
              (other, disk.interface, disk.port), 90, check=True)
    gone(guest, disk)
    assert disk.stats()["uas" if other == "uas" else "bot"]["by_op"].get(STOP) == 1, disk.stats()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The driver must make the difference: errors that usb-storage has as well are no fault of uas."""

from context import case
from evidence import ROLLED_BACK, disk_in, record_of


def tried(guest, disk):
    """Tries uas, which must be rolled back. Returns the disk as uasctl lists it."""
    done = guest.run("uasctl switch %s uas --wait=90" % disk.interface, timeout=120)
    assert done.rc == 7, done
    assert guest.driver(disk.interface) == "usb-storage"
    return disk_in(guest, disk, "failed")


@case(tier="default", image="bookworm", limit=400)
def bad_place(vm):
    "A place that the disk cannot read under either driver is the disk's fault, also if it only takes long; one that only uas cannot read is held against uas."
    disk = vm.disk()
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    # One of the places that the switch reads (sys/block/readcheck.c).
    depth = int(guest.read("/sys/block/sda/device/queue_depth"))
    size = int(guest.read("/sys/block/sda/size")) * 512
    sector = depth // 2 * (size // depth) // 4096 * 8
    guest.run("uasctl switch %s usb-storage --wait=60" % disk.interface, check=True)

    # Hardware error, internal target failure: no medium error for the kernel.
    bad = dict(op="read", sector=sector + 3)
    disk.fault(name="fail", key=4, asc=0x44, ascq=0, zlp=True, **bad)
    assert guest.run("dd if=/dev/sda of=/dev/null bs=4k count=1 skip=%d iflag=direct" % (sector // 8), timeout=90).rc != 0
    one = tried(guest, disk)
    expected = "sda cannot be read at sector %d, under both drivers" % sector
    assert expected in one["reason"], one
    assert expected in guest.out("journalctl -b -o cat MESSAGE_ID=" + ROLLED_BACK)
    assert not (one["history"] or "").startswith("distrusted"), one
    assert "state=distrusted" not in str(record_of(guest, disk))

    # The disk tries again and again, longer than the switch waits.
    disk.clear_faults()
    disk.fault(name="delay", ms=25000, **bad)
    one = tried(guest, disk)
    assert "sda does not answer reads at sector %d in time, under both drivers" % sector in one["reason"], one
    assert not (one["history"] or "").startswith("distrusted"), one

    disk.clear_faults()
    disk.fault(name="fail", proto="uas", key=4, asc=0x44, ascq=0, **bad)
    one = tried(guest, disk)
    assert "under uas reads at full depth fail" in one["history"], one
    [record] = record_of(guest, disk)
    assert "state=distrusted" in record and "failed=1" in record, record

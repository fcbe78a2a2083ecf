# SPDX-License-Identifier: LGPL-2.1-or-later
"""The driver must make the difference: errors that usb-storage has as well are no fault of uas."""

from context import case
from evidence import CLEARED, DISTRUSTED, NOT_UAS, ROLLED_BACK, disk_in, episode_over, hang_once, impatient, messages, record_of


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

    # LBA out of range: a bridge's word for a place that the disk does not find, and no medium error for the kernel.
    bad = dict(op="read", sector=sector + 3)
    disk.fault(name="fail", key=5, asc=0x21, ascq=0, zlp=True, **bad)
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
    disk.fault(name="fail", proto="uas", key=5, asc=0x21, ascq=0, zlp=True, **bad)
    one = tried(guest, disk)
    assert "under uas reads at full depth fail" in one["history"], one
    [record] = record_of(guest, disk)
    assert "state=distrusted" in record and "failed=1" in record, record


@case(tier="full", image="bookworm", limit=400)
def fails_under_both(vm):
    "A disk that fails under uas, is moved, and fails under usb-storage as well is not distrusted any more, and stays where it is."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=1\n"})
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    impatient(guest, "sda")
    for _time in range(2):
        hang_once(guest, disk, "sda")
        episode_over()
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert disk_in(guest, disk, "settled")["history"].startswith("distrusted: ")
    impatient(guest, "sda")
    for _time in range(4):  # a command without an answer costs usb-storage a reset
        if messages(guest, NOT_UAS):
            break
        disk.fault(name="hang", proto="bot", op="read", count=1)
        guest.run("dd if=/dev/sda of=/dev/null bs=4k count=1 iflag=direct", timeout=90)
        disk.clear_faults()
        episode_over()
    guest.until(lambda: messages(guest, NOT_UAS) == 1, 30, "diagnosed")
    one = disk_in(guest, disk, "settled")
    assert (one["driver"], one["target"], one["reason_id"]) == ("usb-storage", None, "not-uas"), one
    assert one["diagnosis"].startswith("Not uas: disk, cable, power or port."), one
    assert one["history"].startswith("cleared: "), one
    assert messages(guest, DISTRUSTED) == 1 and messages(guest, CLEARED) == 1
    [record] = record_of(guest, disk)
    assert "state=cleared" in record, record
    assert " errors! " in guest.out("uasctl list")
    for verb in "status", "explain":
        assert "Not uas: disk, cable" in guest.out("uasctl %s %s" % (verb, disk.interface))
    # The next uasd leaves it there as well.
    guest.run("systemctl restart uasd", check=True)
    one = disk_in(guest, disk, "settled")
    assert (one["driver"], one["reason_id"]) == ("usb-storage", "not-uas"), one

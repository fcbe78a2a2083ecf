# SPDX-License-Identifier: LGPL-2.1-or-later
"""The error watch: the kernel's messages about a disk under uas, and the decisions of uasd."""

from context import case
from evidence import (DISTRUSTED, TROUBLE, disk_in, episode_over, gone, hang_once, impatient, messages, only_disk, record_of)
from patience import let_pass
from users import at_rest


@case(tier="default", image="bookworm", limit=400, cpus=2)
def breaks_while_mounted(vm):
    "A bridge that fails under uas is distrusted at once, and moved when it is free; its neighbour is not blamed."
    bad, good = vm.disk(label="BAD"), vm.disk(label="GOOD")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=1\n"})
    guest.run("systemctl restart uasd", check=True)
    for disk in bad, good:
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
    assert guest.block_devices(bad.interface) == ["sda"]
    guest.run("mount LABEL=BAD /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=4 conv=fsync status=none", check=True)
    total = guest.out("sha256sum </mnt/file")
    impatient(guest, "sda")

    # One stall of a disk that recovers is a burst of lines. It is only noted.
    hang_once(guest, bad, "sda")
    guest.wait_until("journalctl -b -u uasd | grep -q 'no distrust yet'", 30)
    assert disk_in(guest, bad, "settled")["history"] is None
    episode_over()
    hang_once(guest, bad, "sda")
    one = disk_in(guest, bad, "waiting")
    assert (one["driver"], one["target"], one["reason_id"]) == ("uas", "usb-storage", "distrusted"), one
    assert "2 times" in one["history"] and "/mnt" in one["reason"], one
    assert guest.driver(bad.interface) == "uas" and guest.run("mountpoint -q /mnt").rc == 0
    assert messages(guest, DISTRUSTED) == 1
    text = guest.out("uasctl explain %s" % bad.interface)
    assert "not answered in time" in text and "uasctl forget" in text, text
    [record] = record_of(guest, bad)
    for word in ("state=distrusted", "firmware=0100", "kernel=" + guest.out("uname -r"), "boot=", "date=20"):
        assert word in record, record
    assert guest.read("/var/lib/uasd/history") == guest.read("/etc/uasd/history")

    other = disk_in(guest, good, "settled")
    assert other["driver"] == "uas" and other["history"] is None, other
    assert not record_of(guest, good)

    at_rest(guest)
    assert guest.driver(bad.interface) == "uas", "pulled from under its mount"
    guest.run("umount /mnt", check=True)
    guest.wait_disk(bad.interface, driver="usb-storage")
    one = disk_in(guest, bad, "settled")
    assert one["history"].startswith("distrusted: ") and one["reason_id"] == "distrusted", one
    guest.run("mount LABEL=BAD /mnt", check=True)
    assert guest.out("sha256sum </mnt/file") == total
    guest.run("umount /mnt", check=True)

    # After a replug it starts on usb-storage.
    gone(guest, bad)
    commands = bad.stats()["uas"]["commands"]
    bad.plug()
    guest.wait_disk(bad.interface, driver="usb-storage")
    one = disk_in(guest, bad, "settled")
    assert one["driver"] == "usb-storage" and one["reason_id"] == "distrusted", one
    assert bad.stats()["uas"]["commands"] == commands, bad.stats()

    # At another port this does not apply.
    gone(guest, bad)
    moved = vm.disk(media=bad.media, serial=bad.config["serial"])
    guest.plug(moved)
    guest.wait_disk(moved.interface, driver="uas")
    assert not (disk_in(guest, moved, "settled")["history"] or "").startswith("distrusted")
    gone(guest, moved)
    bad.plug()
    guest.wait_disk(bad.interface, driver="usb-storage")
    disk_in(guest, bad, "settled", timeout=60)

    guest.run("uasctl forget %s" % bad.interface, check=True)
    guest.wait_disk(bad.interface, driver="uas")
    one = disk_in(guest, bad, "trial")
    assert one["history"] == "on trial", one
    assert messages(guest, DISTRUSTED) == 1 and messages(guest, TROUBLE) == 0


@case(tier="default", image="bookworm", cpus=2)
def harmless(vm):
    "An unbind's failed cache flush, an unplug under load, forged lines: nothing is held against anybody."
    disk = vm.disk(label="DATA", wcache="volatile")
    guest = vm.resume()
    guest.run("systemctl stop udisks2; uasctl list", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    for _round in range(3):
        guest.run("dd if=/dev/zero of=/dev/sda bs=4k count=4 seek=5000 oflag=direct", check=True)
        guest.sysfs("/sys/bus/usb/drivers/uas/unbind", disk.interface)
        guest.sysfs("/sys/bus/usb/drivers/uas/bind", disk.interface)
        guest.wait_disk(disk.interface, driver="uas")
    assert guest.kernel_log().count("Synchronize Cache(10) failed") >= 3
    # Root may write to the kernel's log. The kernel marks such lines.
    host = only_disk(guest, "settled")["host"]
    for text in ("sd %s:0:0:0: [sda] tag#1 uas_eh_abort_handler 0 uas-tag 1 inflight: CMD" % host[4:],
                 "sd %s:0:0:0: Device offlined - not ready after error recovery" % host[4:],
                 "usb usb2-port1: over-current condition"):
        guest.run("echo '<3>%s' >/dev/kmsg" % text, check=True)
    for _round in range(2):  # three times would count as a disk that drops off the bus
        job = guest.spawn("dd if=/dev/sda of=/dev/null bs=64k iflag=direct")
        let_pass(0.3)
        gone(guest, disk)
        job.wait(60)
        disk.plug()
        guest.wait_disk(disk.interface, driver="uas")
    one = only_disk(guest, "settled")
    assert one["driver"] == "uas" and one["history"] is None, one
    assert messages(guest, DISTRUSTED) == 0 and messages(guest, TROUBLE) == 0
    assert not record_of(guest, disk)
    assert guest.run("systemctl is-active uasd").text == "active"


@case(tier="full", image="bookworm", limit=400, cpus=2)
def controller_dies(vm):
    "The controller answers nothing any more while the disk is read: it is blamed, once, and the disk is not, nor when it is back."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    impatient(guest, "sda")
    # Off the bus: the driver's I/O reaches nothing.
    controller = guest.out("basename $(dirname $(readlink -f /sys/bus/usb/devices/usb2))")
    job = guest.spawn("exec dd if=/dev/sda of=/dev/null bs=64k iflag=direct")
    guest.run(r"printf '\0\4' | dd of=/sys/bus/pci/devices/%s/config bs=1 seek=4 conv=notrunc status=none" % controller, check=True)
    guest.wait_until("dmesg | grep -q 'HC died; cleaning up'", 150)
    guest.wait_until("journalctl -b MESSAGE_ID=%s | grep -q uasd" % TROUBLE, 30)
    job.wait(60)
    at_rest(guest)
    said = guest.out("journalctl -b --no-pager -o cat MESSAGE_ID=" + TROUBLE).splitlines()
    assert len(said) == 1 and disk.interface in said[0] and "the controller" in said[0] and \
        said[0].endswith("to blame: the USB controller"), said
    assert messages(guest, DISTRUSTED) == 0 and not record_of(guest, disk)
    guest.until(lambda: guest.driver(disk.interface) is None, 60, "gone")
    guest.run("echo 1 >/sys/bus/pci/devices/%s/remove; echo 1 >/sys/bus/pci/rescan" % controller, check=True)
    guest.wait_disk(disk.interface, driver="uas")
    one = only_disk(guest, "settled")
    assert not (one["history"] or "").startswith("distrusted"), one
    assert messages(guest, DISTRUSTED) == 0 and messages(guest, TROUBLE) == 1


@case(tier="default", image="bookworm", cpus=2)
def given_up_is_repaired(vm):
    "A disk that the kernel has given up goes to usb-storage when nobody is left on it, and works."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    impatient(guest, "sda")
    guest.run("mount LABEL=DATA /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=4 conv=fsync status=none && sync", check=True)
    total = guest.out("sha256sum </mnt/file")
    disk.fault(name="hang", proto="uas", op="any")
    guest.run("dd if=/dev/sda of=/dev/null bs=4k count=1 iflag=direct", timeout=120)
    guest.wait_until("grep -q offline /sys/block/sda/device/state", 90)
    one = only_disk(guest, "waiting", timeout=60)
    assert one["target"] == "usb-storage" and "gave it up" in one["history"], one
    at_rest(guest)
    assert guest.driver(disk.interface) == "uas", "pulled from under its mount"
    guest.run("umount /mnt", timeout=120)
    guest.wait_until("! mountpoint -q /mnt", 30)
    guest.wait_disk(disk.interface, driver="usb-storage", timeout=90)
    only_disk(guest, "settled", timeout=60)
    guest.run("mount LABEL=DATA /mnt", check=True)
    assert guest.out("sha256sum </mnt/file") == total
    [record] = record_of(guest, disk)
    assert "lost=1" in record, record


@case(tier="default", image="bookworm", cpus=2, also=("trixie",))
def drops_off(vm):
    "A disk drops off the bus and is back, three times within seconds: its cable or its power is blamed, once, and the disk is not."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")

    def drop():
        gone(guest, disk)
        disk.plug()
        guest.wait_disk(disk.interface, driver="uas")
        return only_disk(guest, "settled")
    drops = 0
    while not messages(guest, TROUBLE):
        drop()
        drops += 1
        assert drops < 9  # a drop of more than five seconds does not count
    assert drops >= 3, drops
    one = drop()
    assert one["driver"] == "uas" and not (one["history"] or "").startswith("distrusted"), one
    said = guest.out("journalctl -b --no-pager -o cat MESSAGE_ID=" + TROUBLE).splitlines()
    assert len(said) == 1 and disk.interface in said[0] and "dropped off the bus by itself and came back, 3 times" in said[0] and \
        said[0].endswith("to blame: the cable, a connector or the power supply"), said
    assert messages(guest, DISTRUSTED) == 0 and not any("distrusted" in record for record in record_of(guest, disk))
    guest.run("mount LABEL=DATA /mnt && umount /mnt", check=True)

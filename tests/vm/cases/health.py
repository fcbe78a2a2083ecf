# SPDX-License-Identifier: LGPL-2.1-or-later
"""The condition of a disk: stored TRIM, counters of the SCSI layer, names that a switch removes, smartctl."""

import re
import time

from context import case
from evidence import only_disk

MODE = "cat /sys/block/%s/device/scsi_disk/*/provisioning_mode"
MAX = "cat /sys/block/%s/queue/discard_max_bytes"
UNMAP = "0x42"
# Like many bridges: LBPU without LBPME, and a limit for each command.
LUN = {"unmap": True, "lbpme": False, "unmap_blocks": 16384, "ata": True}
LIMIT = 16384 * 512


def settled(guest, disk, driver):
    [name] = guest.wait_disk(disk.interface, driver=driver)
    only_disk(guest, "settled", 60)
    return name


def has_mode(guest, disk, mode, limit):
    "Waits until udev's rule has set it. It must stay."
    name, = guest.wait_disk(disk.interface)
    guest.until(lambda: guest.out(MODE % name) == mode, 20, "provisioning_mode " + mode)
    guest.run("udevadm settle --timeout=20")
    assert (guest.out(MODE % name), int(guest.out(MAX % name))) == (mode, limit), guest.udev("/dev/" + name)
    one, = guest.uasctl("status " + name)["disks"][0]["trim"]
    assert (one["mode"], one["used"], one["max_bytes"]) == (mode, limit > 0, limit), one
    return one


def unmaps(disk, proto):
    return disk.stats()[proto]["by_op"].get(UNMAP, 0)


def frees(guest, disk, name, proto):
    "fstrim reaches the disk, every command succeeds, and the files are unchanged."
    before = unmaps(disk, proto)
    guest.run("mount /dev/%s1 /mnt && dd if=/dev/urandom of=/mnt/gone bs=1M count=20 && rm /mnt/gone && cp /bin/ls /mnt/ls && sync && "
              "fstrim -v /mnt && umount /mnt" % name, check=True, timeout=120)
    assert unmaps(disk, proto) > before, disk.stats()
    guest.run("mount -o ro /dev/%s1 /mnt && cmp /bin/ls /mnt/ls && umount /mnt" % name, check=True)
    assert "critical target error" not in guest.kernel_log(), guest.kernel_log()
    guest.run("fsck.ext4 -fn /dev/%s1" % name, check=True, timeout=120)


@case(limit=400)
def trim_is_kept(vm):
    "TRIM of a bridge that offers it once: on under both drivers, after a switch and a replug, with fstrim at work; off is what it was."
    guest = vm.resume()
    disk = vm.disk(label="TRIM", lun=LUN)
    guest.plug(disk)
    name = settled(guest, disk, "uas")
    one = has_mode(guest, disk, "full", 0)
    assert (one["offered"], one["kept"]) == ("yes", False), one

    guest.run("uasctl trim %s on" % name, check=True)
    assert has_mode(guest, disk, "unmap", LIMIT)["kept"]
    frees(guest, disk, name, "uas")
    assert "on 0:%i" % LIMIT in guest.read("/etc/uasd/trim")

    guest.run("uasctl switch --wait=60 %s usb-storage" % name, check=True, timeout=90)
    name = settled(guest, disk, "usb-storage")
    # The VPD page is not visible here. The one seen under uas counts.
    one = has_mode(guest, disk, "unmap", LIMIT)
    assert (one["offered"], one["kept"]) == ("unknown", True), one
    frees(guest, disk, name, "bot")

    disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")
    disk.plug()
    name = settled(guest, disk, "uas")
    has_mode(guest, disk, "unmap", LIMIT)
    guest.run("udevadm trigger --settle -c change /dev/" + name, check=True)
    has_mode(guest, disk, "unmap", LIMIT)

    guest.run("uasctl trim %s off" % name, check=True)
    has_mode(guest, disk, "full", 0)
    guest.run("udevadm trigger --settle -c change /dev/" + name, check=True)
    has_mode(guest, disk, "full", 0)
    assert guest.run("mount /dev/%s1 /mnt && fstrim /mnt" % name).rc != 0
    guest.run("umount /mnt", check=True)


def exchange(guest, disk, other):
    "The disk in the dock is exchanged: the bridge is the same, and so is the port."
    port = disk.port
    disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")
    guest.detach(disk)
    guest.attach(other, port)
    other.plug()


@case(tier="full", limit=400)
def trim_of_another(vm):
    "TRIM is kept on for one disk in a dock: another disk does not get it, of the same model or not, nor under usb-storage. The first one has it again."
    mine, alike, other = (vm.disk(label="TRIM", serial="DOCK", lun=dict(LUN, product=product, serial=serial))
                          for product, serial in (("Disk A", "A1"), ("Disk A", "A2"), ("Disk B", "B1")))
    guest = vm.resume()
    guest.plug(mine)
    name = settled(guest, mine, "uas")
    guest.run("uasctl trim %s on" % name, check=True)
    has_mode(guest, mine, "unmap", LIMIT)
    before = mine
    for disk in alike, other:
        exchange(guest, before, disk)
        before = disk
        name = settled(guest, disk, "uas")
        one = has_mode(guest, disk, "full", 0)
        assert (one["offered"], one["kept"]) == ("yes", False), one
        assert "turned on for another disk behind this bridge" in " ".join(guest.out("uasctl trim " + name).split())
        assert guest.run("mount /dev/%s1 /mnt && fstrim /mnt" % name).rc != 0
        guest.run("umount /mnt", check=True)
    guest.run("uasctl switch --wait=60 %s usb-storage" % name, check=True, timeout=90)
    settled(guest, other, "usb-storage")
    has_mode(guest, other, "full", 0)
    assert len(re.findall("TRIM is kept on for another disk behind this bridge", guest.journal("-b -u uasd"))) == 2
    assert unmaps(alike, "uas") + unmaps(other, "uas") + unmaps(other, "bot") == 0
    exchange(guest, other, mine)
    settled(guest, mine, "uas")
    assert has_mode(guest, mine, "unmap", LIMIT)["kept"]


@case(tier="full", limit=300)
def trim_by_the_kernel_and_not_at_all(vm):
    "A disk that says it twice: sd turns it on under uas, and off leaves that alone. One that offers nothing is refused, and forced all the same."
    guest = vm.resume()
    disk = vm.disk(label="TWICE", lun=dict(LUN, lbpme=True))
    guest.plug(disk)
    name = settled(guest, disk, "uas")
    mode = guest.out(MODE % name)
    assert mode == "unmap" and int(guest.out(MAX % name)) > 0, mode
    guest.run("uasctl trim %s on && uasctl trim %s off" % (name, name), check=True)
    guest.run("udevadm settle --timeout=20")
    assert guest.out(MODE % name) == "unmap"
    # It ends with uas. The command that is printed keeps it, also when it is run later.
    said = guest.run("uasctl switch --wait=60 %s usb-storage" % name, check=True, timeout=90).err
    name = settled(guest, disk, "usb-storage")
    has_mode(guest, disk, "full", 0)
    guest.run(re.search("To keep TRIM: (uasctl trim %s on)\n" % disk.interface.split(":")[0], said)[1], check=True)
    assert has_mode(guest, disk, "unmap", LIMIT)["kept"]
    frees(guest, disk, name, "bot")
    disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")

    without = vm.disk(label="NONE", pid=0x5A5B)
    guest.plug(without)
    name = settled(guest, without, "uas")
    told = guest.run("uasctl trim %s on" % name)
    assert told.rc == 6 and "LBPU" in told.err, told
    has_mode(guest, without, "full", 0)
    guest.run("uasctl trim --force %s on" % name, check=True)
    guest.until(lambda: guest.out(MODE % name) == "unmap", 20, "unmap")
    guest.run("uasctl trim %s off" % name, check=True)
    has_mode(guest, without, "full", 0)


@case(limit=300)
def how_it_fares(vm):
    "status of a real disk: commands are counted, a link in fstab is named with the UUID to write instead, and smartctl, asked or not, keeps nobody waiting."
    guest = vm.resume()
    disk = vm.disk(label="FARE", lun={"ata": True})
    guest.plug(disk)
    name = settled(guest, disk, "uas")

    def status():
        begin = time.monotonic()
        told = guest.run("uasctl status " + name, timeout=60)
        assert told.rc == 0 and time.monotonic() - begin < 15, told
        return guest.uasctl("status " + name)["disks"][0]

    before, = status()["commands"]
    assert before["sent"] > 0 and before["timed_out"] in (0, None), before
    guest.run("dd if=/dev/%s of=/dev/null bs=1M count=8 iflag=direct" % name, check=True)
    after, = status()["commands"]
    assert after["sent"] > before["sent"] and after["done"] <= after["sent"], (before, after)

    links = guest.out("ls /dev/disk/by-id").split()
    link = next((one for one in links if one.startswith(("wwn-", "ata-", "scsi-")) and one.endswith("-part1")), None)
    if not link:    # this udev makes no link for such a disk; a rule of another package may
        link = "wwn-0x3000000000000001-part1"
        guest.run("ln -s ../../%s1 /dev/disk/by-id/%s" % (name, link), check=True)
    uuid = guest.out("blkid -o value -s UUID /dev/%s1" % name)
    guest.run("echo '/dev/disk/by-id/%s /srv ext4 noauto,nofail 0 0' >>/etc/fstab && echo 'LABEL=FARE /opt ext4 noauto,nofail 0 0' >>/etc/fstab"
              % link, check=True)
    for verb in "status", "explain":
        one, = guest.uasctl("%s %s" % (verb, name))["disks"][0]["names"]
        assert (one["file"], one["where"], one["instead"]) == ("/etc/fstab", "/srv", "UUID=" + uuid), one
        assert link in guest.out("uasctl %s %s" % (verb, name))

    # smartctl is not run for an unknown bridge. It is run after its database knows the bridge.
    smart, = status()["smart"]
    assert smart["why_not"] and smart["type"] is None, smart
    guest.put("/etc/smart_drivedb.h", '{ "USB: Emulated; ", "0x1209:0x5a5a", "", "", "-d sat" },\n')
    smart, = status()["smart"]
    assert smart["type"] == "sat", smart
    assert "smartctl -d sat /dev/" + name in guest.out("uasctl status " + name)
    guest.run("mv /usr/sbin/smartctl /usr/sbin/smartctl.gone", check=True)
    smart, = status()["smart"]
    assert "not installed" in smart["why_not"], smart

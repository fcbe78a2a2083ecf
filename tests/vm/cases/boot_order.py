# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boot order: a disk that usb-storage had in the initramfs is mounted on uas."""

from context import case
from evidence import listed, mounted_on_uas_alone
from stacks import passed

FSTAB = "LABEL=DATA /mnt/usb ext4 defaults 0 2"
# Two emulated machines on two cores are slow. A switch that takes longer than its hold is rolled back.
PATIENT = {"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=40\n"}


@case(image="vendor", tier="full", cpus=2)
def label(vm):
    "An fstab line by LABEL, without nofail."
    disk = vm.disk(label="DATA")
    guest = vm.boot(disks=[disk], fstab=[FSTAB], files={**PATIENT, "/mnt/usb/.keep": ""})
    assert guest.state() == "running", guest.out("systemctl --failed")
    mounted_on_uas_alone(guest, disk, "/mnt/usb")


@case(image="vendor")
def uuid_and_two_disks(vm):
    "By UUID, two disks at once: each keeps its own name; a third has no partition table."
    first, second = vm.disk(label="FIRST"), vm.disk(label="SECOND")
    third = vm.disk(media=[vm.media("64M").ext4("THIRD")])
    uuid = first.media[0].uuid(1)
    guest = vm.boot(disks=[first, second, third],
                    fstab=["UUID=%s /mnt/first ext4 defaults 0 2" % uuid,
                           "LABEL=SECOND /mnt/second ext4 defaults 0 2",
                           "LABEL=THIRD /mnt/third ext4 defaults 0 2"],
                    files={**PATIENT, **{"/mnt/%s/.keep" % where: "" for where in ("first", "second", "third")}})
    assert guest.state() == "running", guest.out("systemctl --failed")
    names = {}
    for disk, where in ((first, "/mnt/first"), (second, "/mnt/second"), (third, "/mnt/third")):
        [names[disk]] = guest.block_devices(disk.interface)
        mounted_on_uas_alone(guest, disk, where, names[disk])
    assert sorted(names.values()) == ["sda", "sdb", "sdc"], names
    # The name the kernel gave each on usb-storage, before it was switched.
    attached = [line for line in guest.journal("-b -k").splitlines() if "Attached SCSI disk" in line]
    for disk in names:
        assert sum("[%s]" % names[disk] in line for line in attached) == 2, attached


@case(tier="full", image="vendor", cpus=2)
def two_luns(vm):
    "A disk of two LUNs."
    disk = vm.disk(label="DATA", luns=2)
    guest = vm.boot(disks=[disk], fstab=[FSTAB, "LABEL=DATA1 /mnt/more ext4 defaults 0 2"],
                    files={**PATIENT, "/mnt/usb/.keep": "", "/mnt/more/.keep": ""})
    assert guest.state() == "running", guest.out("systemctl --failed")
    first, second = guest.block_devices(disk.interface)  # the kernel probes them side by side: either may be sda
    assert sorted((first, second)) == ["sda", "sdb"]
    mounted_on_uas_alone(guest, disk, "/mnt/usb", first)
    mounted_on_uas_alone(guest, disk, "/mnt/more", second)


@case(image="vendor", tier="full")
def automount(vm):
    "x-systemd.automount: the boot is not held, the first access finds the disk on uas."
    disk = vm.disk(label="DATA")
    guest = vm.boot(disks=[disk], fstab=["LABEL=DATA /mnt/usb ext4 x-systemd.automount 0 2"],
                    files={**PATIENT, "/mnt/usb/.keep": ""})
    assert guest.state() == "running", guest.out("systemctl --failed")
    guest.run("ls /mnt/usb/lost+found", check=True, timeout=60)
    assert guest.driver(disk.interface) == "uas"
    stats = disk.stats()
    assert stats["bot"]["writes"] == 0 and stats["uas"]["writes"] > 0, stats


@case(image="vendor", tier="full")
def trial_passed(vm):
    "A disk that has passed its trial is moved in coldplug: nobody is told of it before, no hold, no timer; one that has not is held beside it."
    known, new = vm.disk(label="DATA"), vm.disk(label="NEW")
    guest = vm.boot(disks=[known, new], fstab=[FSTAB, "LABEL=NEW /mnt/new ext4 defaults 0 2"],
                    files={**PATIENT, **passed(vm, known), "/mnt/usb/.keep": "", "/mnt/new/.keep": ""})
    assert guest.state() == "running", guest.out("systemctl --failed")
    log = guest.journal("-b -o cat")
    for disk, where, held in ((known, "/mnt/usb", False), (new, "/mnt/new", True)):
        [name] = guest.block_devices(disk.interface)
        mounted_on_uas_alone(guest, disk, where, name)
        assert ("Started uasd-release@%s.timer" % disk.interface in log) == held, log
        assert ("uasd-switch: %s: moved from usb-storage to uas" % disk.interface in guest.kernel_log()) != held
        one = listed(guest, disk)
        assert one["state"] == ("trial" if held else "settled"), one
    assert "not now" not in log, log  # uasd sees that it is being moved, and waits

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package is upgraded, downgraded or removed while a disk is held, while it waits, and in the middle of a switch.

`vendor` has the user space of bookworm, and moves disks to uas. In the other guests they start there, and are moved to usb-storage.
"""

import re
import subprocess

import evidence
from context import case
from evidence import only_disk, well


def dpkg(guest, command):
    # Making an initramfs takes minutes in a guest, and it is not booted.
    guest.put("/etc/initramfs-tools/update-initramfs.conf", "update_initramfs=no\n")
    done = guest.run("dpkg %s </dev/null" % command, timeout=180)
    assert done.rc == 0, done


def bring(vm, guest):
    "The package's file and that of the version before it, in the guest: the dpkg commands that install them."
    with open(vm.deb, "rb") as file:
        guest.put("/run/uasd.deb", file.read())
    guest.put("/run/before.deb", version_before(vm))
    return "-i /run/uasd.deb", "-i /run/before.deb"


def version_before(vm):
    "The same package with a lower number. No version has been released so far."
    tree, deb = vm.folder + "/before", vm.folder + "/before.deb"
    subprocess.run(["dpkg-deb", "-R", vm.deb, tree], check=True)
    with open(tree + "/DEBIAN/control", "r+") as file:
        text = re.sub("(?m)^Version: .*", "Version: 0.0.1", file.read())
        file.seek(0)
        file.truncate()
        file.write(text)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, deb], check=True, stdout=subprocess.DEVNULL)
    with open(deb, "rb") as file:
        return file.read()


def version(guest):
    return guest.out("dpkg-query -W -f '${Status} ${Version}' uasd")


def target(vm):
    "The driver to which uasd moves a disk here that is plugged in."
    return "uas" if vm.case.images[0] == "vendor" else "usb-storage"


def waiting(vm, disk):
    "A guest with DISK mounted, and uasd waiting to move it."
    if target(vm) == "uas":
        return evidence.waiting(vm, disk)
    guest = vm.resume(disks=[disk])
    well(guest, disk, "uas")
    guest.run("mount /dev/sda1 /mnt && uasctl policy sda usb-storage", check=True)
    only_disk(guest, "waiting")
    return guest


def in_the_middle(vm):
    "A guest with the version before, and a slow switch off uas that is moving the disk. The command that upgrades it."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    upgrade, before = bring(vm, guest)
    dpkg(guest, before)
    guest.plug(disk)
    well(guest, disk, "uas")
    disk.fault(name="delay", op="any", ms=300)
    guest.spawn("uasctl switch sda usb-storage --wait=120")
    guest.wait_until("grep -qE 'STEP=(unbind|bind|appear|verify)' /run/uasd/switch/%s" % disk.interface, 60)
    return disk, guest, upgrade


@case(tier="full", image="vendor", also=("trixie", "sid"))
def upgraded_while_waiting(vm):
    "Downgraded and upgraded while a disk waits: it goes on waiting, and is switched."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    upgrade, downgrade = bring(vm, guest)
    now = version(guest)
    dpkg(guest, downgrade)
    assert version(guest) == "install ok installed 0.0.1", version(guest)
    only_disk(guest, "waiting")
    dpkg(guest, upgrade)
    assert version(guest) == now, version(guest)
    only_disk(guest, "waiting")
    guest.run("umount /mnt", check=True)
    well(guest, disk, target(vm))


def changed_while_held(vm, there):
    "dpkg THERE begins while a disk is held: the hold ends, and the disk is moved and can be mounted."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=%s\n" % target(vm)})
    upgrade, downgrade = bring(vm, guest)
    dpkg(guest, downgrade if there == "up" else upgrade)
    # uasd does not move the disk, so the hold lasts. systemd lets a process that it ends go on.
    guest.run("echo >/sys/module/usb_storage/parameters/quirks; kill -STOP $(systemctl show -P MainPID uasd)", check=True)
    guest.plug(disk)
    guest.wait_until("test -n \"$(ls -A /run/uasd/hold)\"", 60)
    dpkg(guest, upgrade if there == "up" else downgrade)
    well(guest, disk, target(vm))
    guest.wait_until("test -e /dev/disk/by-label/DATA", 40)
    guest.run("mount LABEL=DATA /mnt", check=True)


@case(tier="full", image="vendor", cpus=2, also=("trixie",))
def upgraded_while_held(vm):
    "Upgraded while a disk is held: the new version moves it, and the hold ends."
    changed_while_held(vm, "up")


@case(tier="full", image="vendor", also=("trixie",))
def downgraded_while_held(vm):
    "Downgraded while a disk is held: the version before moves it, and the hold ends."
    changed_while_held(vm, "down")


@case(tier="full", image="vendor", cpus=2, also=("trixie",))
def upgraded_in_the_middle(vm):
    "Upgraded in the middle of a switch: that is finished, and there is one in the end."
    disk, guest, upgrade = in_the_middle(vm)
    dpkg(guest, upgrade)
    disk.clear_faults()
    guest.wait_until("! pgrep -x uasd-switch", 90)
    well(guest, disk)
    assert guest.run("systemctl is-active uasd").text == "active"


@case(tier="full", image="vendor", cpus=2, also=("trixie",))
def removed_in_the_middle(vm):
    "Removed in the middle of a switch: the disk is on a driver, held by nobody, and can be mounted."
    disk, guest, _upgrade = in_the_middle(vm)
    dpkg(guest, "-r uasd")
    disk.clear_faults()
    guest.wait_until("! pgrep -x uasd-switch", 90)
    guest.wait_disk(disk.interface)
    assert guest.run("ls -A /run/uasd/hold").text == ""
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == ""
    guest.wait_until("test -e /dev/disk/by-label/DATA", 40)
    guest.run("mount LABEL=DATA /mnt", check=True)


@case(tier="full", image="vendor", also=("trixie", "bullseye", "sid"))
def purged_while_waiting(vm):
    "Removed while a disk waits: it is left where it is, mounted and unmounted; and purged, nothing stays behind."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    dpkg(guest, "-r uasd")
    guest.run("umount /mnt", check=True)
    assert guest.run("pgrep -l uasd").text == ""
    assert guest.driver(disk.interface) != target(vm)
    dpkg(guest, "-P uasd")
    left = guest.run("ls -d /run/uasd /etc/uasd /var/lib/uasd").text
    assert left == "", left

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package is installed again or removed while a disk waits, and in the middle of a switch."""

from context import case
from evidence import only_disk, waiting, well


def dpkg(guest, command):
    # Making an initramfs takes minutes in a guest, and it is not booted.
    guest.put("/etc/initramfs-tools/update-initramfs.conf", "update_initramfs=no\n")
    done = guest.run("dpkg %s </dev/null" % command, timeout=180)
    assert done.rc == 0, done


def bring(vm, guest):
    "The package's file, in the guest."
    with open(vm.deb, "rb") as file:
        guest.put("/run/uasd.deb", file.read())
    return "-i /run/uasd.deb"


def in_the_middle(vm):
    "A guest with the package's file, and a slow switch off uas that is moving the disk."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    install = bring(vm, guest)
    disk.fault(name="delay", op="any", ms=300)
    guest.spawn("uasctl switch sda usb-storage --wait=120")
    guest.wait_until("grep -qE 'STEP=(unbind|bind|appear|verify)' /run/uasd/switch/%s" % disk.interface, 60)
    return disk, guest, install


@case(tier="full", image="vendor")
def upgraded_while_waiting(vm):
    "Installed again while a disk waits: it goes on waiting, and is switched."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    dpkg(guest, bring(vm, guest))
    only_disk(guest, "waiting")
    guest.run("umount /mnt", check=True)
    well(guest, disk, "uas")


@case(tier="full", image="vendor")
def upgraded_in_the_middle(vm):
    "Installed again in the middle of a switch: that is finished, and there is one in the end."
    disk, guest, install = in_the_middle(vm)
    dpkg(guest, install)
    disk.clear_faults()
    guest.wait_until("! pgrep -x uasd-switch", 90)
    well(guest, disk)
    assert guest.run("systemctl is-active uasd").text == "active"


@case(tier="full", image="vendor")
def removed_in_the_middle(vm):
    "Removed in the middle of a switch: the disk is on a driver, held by nobody, and can be mounted."
    disk, guest, _install = in_the_middle(vm)
    dpkg(guest, "-r uasd")
    disk.clear_faults()
    guest.wait_until("! pgrep -x uasd-switch", 90)
    guest.wait_disk(disk.interface)
    assert guest.run("ls -A /run/uasd/hold").text == ""
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == ""
    guest.wait_until("test -e /dev/disk/by-label/DATA", 40)
    guest.run("mount LABEL=DATA /mnt", check=True)


@case(tier="full", image="vendor")
def purged_while_waiting(vm):
    "Removed while a disk waits: it is left where it is, mounted and unmounted; and purged, nothing stays behind."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    dpkg(guest, "-r uasd")
    guest.run("umount /mnt", check=True)
    assert guest.run("pgrep -l uasd").text == ""
    assert guest.driver(disk.interface) == "usb-storage"
    dpkg(guest, "-P uasd")
    left = guest.run("ls -d /run/uasd /etc/uasd /var/lib/uasd").text
    assert left == "", left

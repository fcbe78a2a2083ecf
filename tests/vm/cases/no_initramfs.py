# SPDX-License-Identifier: LGPL-2.1-or-later
"""A kernel with built-in drivers that mounts root by itself, as on a Raspberry Pi."""

import os

from cases.root_on_usb import CMDLINE, left, on_fat, plain
from context import case
from evidence import only_disk, quirks_of_others, switch
from media import tool

LINE = "root=/dev/sda rootwait"


def root_disk(vm):
    """A disk with the guest's root, whose fstab and cmdline.txt name it."""
    disk, uuid = plain(vm)
    commands = []
    for path, text in (("/etc/fstab", "UUID=%s / ext4 errors=remount-ro 0 1\n" % uuid), (CMDLINE, LINE + "\n")):
        folder, name = os.path.split(path)
        with open(os.path.join(vm.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        commands += ["mkdir " + folder, "cd " + folder, "rm " + name, "write %s %s" % (file.name, name)]
    tool(["debugfs", "-w", "-f", "-", disk.media[0].path], data="\n".join(commands).encode())
    return disk, uuid


def start(vm, disk, uuid, cmdline, guest=None):
    """A boot with what the file of the boot loader says."""
    guest = (guest or vm.guest()).boot(disks=[disk], cmdline=cmdline)
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert guest.out("findmnt -no UUID /") == uuid
    assert guest.run("grep -q '^\\(uas\\|usb_storage\\) ' /proc/modules").rc == 1
    return guest


@case(tier="full", image="builtin")
def root_by_the_file(vm):
    "Root comes up on uas. uasd cannot move it; policy --kernel --write keeps it off uas from the next boot on, and undoes that."
    disk, uuid = root_disk(vm)
    guest = start(vm, disk, uuid, LINE)
    assert guest.driver(disk.interface) == "uas"
    on_fat(guest)
    only_disk(guest, "settled")
    refused = guest.run("uasctl switch sda usb-storage")
    assert refused.rc == 3, refused
    assert "The running system is on it" in refused.err, refused.err
    assert "uasctl policy --kernel --write %s usb-storage" % disk.interface.split(":")[0] in refused.err, refused.err
    assert "Next boot: Nothing yet: it starts on uas again." in refused.err, refused.err
    guest.run("uasctl cancel sda", check=True)

    guest.run("uasctl policy --kernel --write sda usb-storage", check=True)
    line = guest.read(CMDLINE)
    assert line.strip() == LINE + " usb-storage.quirks=1209:5a5a:u", line
    guest.shut_down()
    disk.reset_stats()
    guest = start(vm, disk, uuid, line.strip(), guest)
    left(guest, disk)
    assert only_disk(guest, "settled")["reason_id"] in ("policy", "quirk")

    guest.run("uasctl policy --kernel --write sda auto", check=True)
    assert guest.read(CMDLINE).strip() == LINE
    guest.shut_down()
    guest = start(vm, disk, uuid, LINE, guest)
    assert guest.driver(disk.interface) == "uas"
    only_disk(guest, "settled")


@case(tier="full", image="builtin")
def data_disk(vm):
    "A disk with data: both directions, mounted in between. It waits, though a built-in driver has no count of its users."
    disk = vm.disk(label="DATA")
    guest = vm.boot()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    guest.run("mkdir -p /mnt && mount LABEL=DATA /mnt && echo kept >/mnt/file", check=True)
    guest.run("uasctl policy sda usb-storage", check=True)
    only_disk(guest, "waiting")
    assert guest.driver(disk.interface) == "uas"
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled")
    assert switch(guest, disk, "uas").rc == 0
    assert guest.driver(disk.interface) == "uas"
    guest.run("mount LABEL=DATA /mnt", check=True)
    assert guest.read("/mnt/file").strip() == "kept"
    assert quirks_of_others(guest) == ""

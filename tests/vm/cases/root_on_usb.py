# SPDX-License-Identifier: LGPL-2.1-or-later
"""Root on the USB disk: it boots, moved in the initramfs or left on its driver.

Only a disk that has passed its trial is moved there: no trial can be put on
record yet.
"""

import re
import subprocess

from context import case
from evidence import when
from media import Media, tool
from stacks import bound, nothing_left, passed


def plain(vm, **config):
    "The image's own root as an emulated disk, under a UUID of its own."
    path = vm.folder + "/root-copy.raw"
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", vm.image().root, path], check=True)
    uuid = renamed(path)
    return vm.disk(media=[Media(path, "6G")], **config), uuid


def renamed(path):
    tool(["tune2fs", "-U", "random", path])
    return tool(["blkid", "-p", "-o", "value", "-s", "UUID", path]).decode().strip()


def boot(vm, disk, root, uuid, conf=None, **options):
    files = {"/etc/fstab": "UUID=%s / ext4 errors=remount-ro 0 1\n" % uuid}
    initramfs = dict(conf or {})
    files.update(conf or {})
    guest = vm.boot(disks=[disk], cmdline="root=" + root, files=files, initramfs=initramfs, timeout=240, **options)
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert guest.out("findmnt -no UUID /") == uuid
    nothing_left(guest)
    return guest


def moved_early(guest, disk):
    "In the initramfs, so that root was mounted on uas alone."
    assert guest.driver(disk.interface) == "uas"
    moved = bound(guest)
    mounted = when(guest, r"EXT4-fs \(\S+\): mounted filesystem", "-b -k")
    assert moved < mounted, (moved, mounted)
    assert "uasd-switch: 2-1:1.0: moved from usb-storage to uas" in guest.kernel_log()
    assert disk.stats()["bot"]["writes"] == 0, disk.stats()["bot"]


def left(guest, disk, driver="usb-storage"):
    "On the driver it started on; neither held nor taken up by anybody after the initramfs (H4)."
    assert guest.driver(disk.interface) == driver
    assert guest.run("journalctl -b | grep Started.uasd-release@").rc == 1
    stats = disk.stats()
    other = stats["bot" if driver == "uas" else "uas"]
    assert other["commands"] == 0, stats
    errors = [line for line in guest.kernel_log().splitlines() if re.search("I/O error|EXT4-fs error", line)]
    assert not errors, errors


@case(image="vendor", tier="full", limit=600)
def by_uuid(vm):
    "H4, by UUID, nothing said: found held in the initramfs, mounted all the same, left where it is."
    disk, uuid = plain(vm)
    guest = boot(vm, disk, "UUID=" + uuid, uuid)
    left(guest, disk)
    [one] = guest.uasctl("list")["disks"]
    assert one["state"] == "waiting" and one["busy"], one


@case(image="vendor", limit=600)
def by_uuid_moved(vm):
    "By UUID, its trial passed: moved in the initramfs."
    disk, uuid = plain(vm)
    guest = boot(vm, disk, "UUID=" + uuid, uuid, passed(vm, disk))
    moved_early(guest, disk)
    [one] = guest.uasctl("list")["disks"]
    assert one["state"] == "settled", one

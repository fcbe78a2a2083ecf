# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian's kernel and uasd's package for arm64, on an emulated processor of that kind: the main job."""

from cases import both_ways, held_both_ways
from context import case
from evidence import only_disk


@case(tier="full", image="arm64", limit=1200)
def both_directions(vm):
    "Raw writes without fsync survive both switches."
    both_ways.unsynced_writes_survive(vm)


@case(tier="full", image="arm64", limit=1200)
def rolled_back(vm):
    "A bridge that hangs under uas: the disk is on usb-storage again, with its data."
    disk = vm.disk(label="DATA", wcache="volatile")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\n"})
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage", timeout=120)
    only_disk(guest, "settled", timeout=120)
    guest.run("mount /dev/sda1 /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=8 status=none", check=True)
    total = guest.out("sha256sum </mnt/file")
    guest.run("umount /mnt", check=True)
    disk.fault(name="hang", proto="uas", op="inquiry")
    done = guest.run("uasctl switch sda uas --wait=300", timeout=400)
    assert done.rc == 7 and "appear" in done.err, done
    assert guest.driver(disk.interface) == "usb-storage"
    only_disk(guest, "failed")
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.out("sha256sum </mnt/file") == total


@case(tier="full", image="arm64", limit=1200)
def held_at_boot(vm):
    "A disk that fstab mounts: the boot holds it, moves it to the driver of the policy, and mounts it."
    held_both_ways.configured(vm)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stacked storage at boot: what lies on a held disk is assembled once the disk is on its driver, and not before.

Debian's initramfs activates LVM and md by itself, before the root file system's
rules exist: our hook holds there too. H11: LVM and udisks ask for other things
than SYSTEMD_READY.
"""

from context import case
from stacks import KEY, PASSWORD, bound, healthy, made, node, nothing_left, partuuid, prepare

PATIENT = {"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=40\n"}
ALL = """
for disk in $A $B; do
    printf 'label: gpt\\nsize=48M\\nsize=48M\\nsize=48M\\n,\\n' | sfdisk -q $disk
done
udevadm settle
vgcreate -qq vg ${A}1 ${B}1
lvcreate -qq -n lv -l 80%VG vg
mdadm --create /dev/md/array --run --quiet --level=1 --raid-devices=2 --metadata=1.2 ${A}2 ${B}2
mdadm --wait /dev/md/array || true
cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 ${A}3 KEY
cryptsetup open -d KEY ${A}3 box
for one in vg/lv md/array mapper/box; do
    mke2fs -q -t ext4 -L $(basename $one) /dev/$one
done
mkfs.btrfs -q -M -L btrfs -d raid1 -m raid1 ${A}4 ${B}4
cryptsetup close box
""".replace("KEY", KEY)
FSTAB = ["LABEL=lv /mnt/lv ext4 defaults 0 2", "LABEL=array /mnt/array ext4 defaults 0 2",
         "/dev/mapper/box /mnt/box ext4 defaults 0 2", "LABEL=btrfs /mnt/btrfs btrfs defaults 0 0"]
WHERE = ("/mnt/lv", "/mnt/array", "/mnt/box", "/mnt/btrfs")


def two_disks(vm):
    disks = [vm.disk(size="320M"), vm.disk(size="320M")]
    prepare(vm, disks, ALL)
    return disks


def boot(vm, disks, files=None, **options):
    files = {**PATIENT, KEY: PASSWORD, **{where + "/.keep": "" for where in WHERE}, **(files or {})}
    files["/etc/crypttab"] = "box PARTUUID=%s %s luks\n" % (partuuid(disks[0], 3), KEY)
    return vm.boot(disks=disks, fstab=FSTAB, files=files, timeout=240, **options)


def mounted(guest):
    mounts = guest.mounts()
    for where in WHERE:
        assert where in mounts, sorted(mounts)
    assert guest.out("cat /sys/block/md*/md/degraded") == "0"
    assert guest.out("btrfs filesystem show /mnt/btrfs").count("devid") == 2


def assembled_on_uas(guest, disks):
    "Everything is there, made of the disks under uas, and nothing of it was made before."
    mounted(guest)
    since = bound(guest)
    for where in WHERE[:3]:
        device = node(guest, where)
        assert made(guest, device) > since, (where, device, made(guest, device), since)
    for disk in disks:
        assert disk.stats()["bot"]["writes"] == 0, disk.stats()["bot"]
        assert disk.stats()["uas"]["writes"] > 0


@case(image="vendor", limit=600)
def all_kinds(vm):
    "LVM, md, LUKS and btrfs over two held disks, none with nofail: assembled after the switch alone."
    disks = two_disks(vm)
    guest = boot(vm, disks)
    healthy(guest, disks)
    assembled_on_uas(guest, disks)
    nothing_left(guest)

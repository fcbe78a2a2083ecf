# SPDX-License-Identifier: LGPL-2.1-or-later
"""Users of a disk by stacked devices: LVM, dm-crypt, md, btrfs and ZFS over two disks, loop devices, swap."""

from context import case
from users import ask, goes, listed, settled, waits, waits_for

HOLDER = {"kind": "holder", "device": "sda1"}
OPEN_CRYPT = ("echo -n secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 "
              "--key-file - /dev/sda1 secret")


# A disk at /usr, and over it the former /usr: running programs go on.
MOUNTS = """python3 -c 'import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def may(failed):
    if failed:
        raise OSError(ctypes.get_errno(), "that mount")
BIND, PRIVATE, DETACH = 0x1000, 0x40000, 2
%s'"""
MOUNT_USR = MOUNTS % """may(libc.mount(b"/usr", b"/run/vm-usr.d", None, BIND, None))
may(libc.mount(None, b"/run/vm-usr.d", None, PRIVATE, None))
may(libc.mount(b"/dev/sda1", b"/usr", b"ext4", 0, None))
may(libc.mount(b"/run/vm-usr.d", b"/usr", None, BIND, None))"""
UMOUNT_USR = MOUNTS % """may(libc.umount2(b"/usr", DETACH))
may(libc.umount2(b"/usr", 0))"""


def clean(guest, command):
    """Nothing stacked any more, and udev has seen that."""
    guest.run(command + "; wipefs -aq /dev/sda1; udevadm settle", check=True)


@case(tier="full", limit=600, cpus=2)
def mapped(vm):
    "LVM, active and not, dm-crypt and md: waited for until deactivated; the volumes come back with the disk."
    disk = vm.disk(size="96M", partitions=["64M", None])
    guest = settled(vm, [disk])

    # An active volume. Its file is there again after the switch, because LVM activates it as at any plug-in.
    guest.run("pvcreate -q /dev/sda1 && vgcreate -q vg /dev/sda1 && lvcreate -q -y -L 16M -n data vg && "
              "mkfs.ext4 -q /dev/vg/data && mount /dev/vg/data /mnt && echo kept >/mnt/file && umount /mnt", check=True)
    waits_for(guest, disk, "true", dict(HOLDER, where="dm-0"), "vgchange -q -an vg")
    guest.wait_until("test -e /dev/vg/data", 30)
    guest.run("vgchange -q -an vg && vgchange -q --setautoactivation n vg", check=True)
    # An inactive volume is not a user, so nothing waits. It is there afterwards, and still inactive.
    target = "usb-storage" if guest.driver(disk.interface) == "uas" else "uas"
    assert guest.run("uasctl switch sda %s --wait=60" % target).rc == 0
    assert guest.driver(disk.interface) == target
    guest.run("udevadm settle", check=True)
    assert guest.out("vgs --noheadings -o vg_name,lv_count,vg_missing_pv_count").split() == ["vg", "1", "0"]
    assert guest.run("test -e /dev/vg/data").rc != 0
    guest.run("vgchange -q -ay vg && mount /dev/vg/data /mnt", check=True)
    assert guest.read("/mnt/file") == "kept"
    clean(guest, "umount /mnt && vgchange -q -an vg && vgremove -q -f vg")

    guest.run(OPEN_CRYPT, check=True)
    waits_for(guest, disk, "true", dict(HOLDER, where="dm-0"), "cryptsetup close secret")

    guest.run("mdadm -q --create /dev/md7 --run --force --level=1 --raid-devices=1 --metadata=1.2 /dev/sda1", check=True)
    waits_for(guest, disk, "true", dict(HOLDER, where="md7"), "mdadm -q --stop /dev/md7", told=False, slack=2)
    # Assembled again, as at any plug-in: it is only on this disk, and complete.
    guest.wait_until("grep -q 'active .*raid1 sda1' /proc/mdstat", 30)


@case(tier="full", limit=600, cpus=2)
def left_an_array(vm):
    "A member that is taken out of an array which goes on: nobody tells, so it is looked for, and moved within half a minute."
    disk = vm.disk(size="96M", partitions=["64M", None])
    guest = settled(vm, [disk])
    guest.run("truncate -s 64M /run/other && losetup /dev/loop6 /run/other && mdadm -q --create /dev/md7 --run --level=1 "
              "--raid-devices=2 --metadata=1.2 --assume-clean /dev/sda1 /dev/loop6", check=True)
    waits_for(guest, disk, "true", dict(HOLDER, where="md7"),
              "mdadm -q /dev/md7 --fail /dev/sda1 && sleep 1 && mdadm -q /dev/md7 --remove /dev/sda1", told=False, slack=35)
    guest.run("grep -q 'md7 : active raid1' /proc/mdstat", check=True)


@case(limit=600, cpus=2)
def btrfs_over_two(vm):
    "The second disk of a mounted btrfs stands in no mount table: found, named with the mount point, here and elsewhere."
    disks = [vm.disk(size="192M", partitions=[None]), vm.disk(size="192M", partitions=[None])]
    guest = settled(vm, disks)
    guest.run("mkfs.btrfs -q -f /dev/sda1 /dev/sdb1 && udevadm settle && mount /dev/sda1 /mnt && mkdir -p /run/u", check=True)
    source = guest.mounts()["/mnt"][0]
    second = disks[1 if source == "/dev/sda1" else 0]
    name = guest.block_devices(second.interface)[0]
    assert name not in source
    target = ask(guest, second)
    waits(guest, second, {"kind": "mount", "device": name + "1", "where": "/mnt"},
          {"kind": "holder", "device": name + "1", "where": "btrfs .*"})
    assert [user["where"] for user in listed(guest, disks[0])["busy"] if user["kind"] == "mount"] == ["/mnt"]
    goes(guest, second, target, "umount /mnt")
    guest.run("btrfs device scan -q; udevadm settle")
    job = guest.spawn("exec unshare -m sh -c 'mount /dev/sda1 /run/u && exec sleep 1000'")
    guest.wait_until("grep -qs /run/u /proc/$(pgrep -x sleep | tail -1)/mountinfo", 20)
    target = ask(guest, second)
    waits(guest, second, {"kind": "mount", "where": "/run/u", "namespace": r"mnt:\[\d+\]"})
    goes(guest, second, target, "pkill -x sleep")
    job.kill()


@case(tier="full", image="zfs", limit=900, cpus=2)
def zfs_over_two(vm):
    "A disk of an imported ZFS pool, which claims it and shows it nowhere: not touched, its pool named, and moved after zpool export, datasets mounted or not."
    disks = [vm.disk(size="192M"), vm.disk(size="192M")]
    guest = settled(vm, disks)
    guest.run("zpool create -f tank mirror /dev/sda /dev/sdb && dd if=/dev/urandom of=/tank/file bs=1M count=8 conv=fsync status=none",
              check=True, timeout=120)
    total = guest.out("sha256sum </tank/file")
    for mounted in True, False:
        if not mounted:
            guest.run("zpool import tank && zfs unmount tank", check=True, timeout=120)
        driver = guest.driver(disks[0].interface)
        target = ask(guest, disks[0])
        waits(guest, disks[0], {"kind": "claim", "device": "sda", "where": "ZFS pool tank"}, told=False)
        guest.run("zpool scrub -w tank", check=True, timeout=120)
        assert guest.run("zpool status -x tank").text == "pool 'tank' is healthy", guest.out("zpool status tank")
        assert guest.driver(disks[0].interface) == driver
        goes(guest, disks[0], target, "zpool export tank", slack=35)
    guest.run("zpool import tank", check=True, timeout=120)
    assert guest.out("sha256sum </tank/file") == total
    assert guest.run("zpool status -x tank").text == "pool 'tank' is healthy", guest.out("zpool status tank")


@case(tier="full", limit=600, cpus=2)
def loops_and_system(vm):
    "Loop devices over the raw node and over a file, swap, /boot, /usr: the last three with what to do about it."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    loop = {"kind": "loop", "device": "sda1", "where": r"loop\d+"}
    waits_for(guest, disk, "losetup /dev/loop5 /dev/sda1", loop, "losetup -d /dev/loop5")
    # losetup -d takes effect when the last user ends: here the mount.
    waits_for(guest, disk, "mount -o loop /dev/sda1 /mnt", loop, "umount /mnt")
    guest.run("mount /dev/sda1 /mnt && truncate -s 4M /mnt/image && losetup /dev/loop5 /mnt/image", check=True)
    target = ask(guest, disk)
    waits(guest, disk, {"kind": "mount", "device": "sda1", "where": "/mnt"})
    assert guest.run("umount /mnt").rc != 0
    goes(guest, disk, target, "losetup -d /dev/loop5; umount /mnt")

    def serves(where, end, what_to_do, why="serves the running system"):
        target = "usb-storage" if guest.driver(disk.interface) == "uas" else "uas"
        asked = guest.run("uasctl switch sda %s" % target)
        assert asked.rc == 3 and what_to_do in asked.err, asked
        one = waits(guest, disk, dict(where, device="sda1"))
        assert why in one["reason"] and what_to_do in one["reason"], one
        goes(guest, disk, target, end)

    guest.run("mount /dev/sda1 /boot", check=True)
    serves({"kind": "mount", "where": "/boot"}, "umount /boot", "unmount it")
    guest.run("mkdir /run/vm-usr.d && " + MOUNT_USR, check=True)
    serves({"kind": "mount", "where": "/usr"}, UMOUNT_USR, "so uasd cannot switch it", "The running system is on it")
    guest.run("mkswap -q -f /dev/sda1 && swapon /dev/sda1", check=True)
    serves({"kind": "swap"}, "swapoff /dev/sda1", "turn the swap off")

    # The same with a mapping between the two.
    guest.run(OPEN_CRYPT + " && mkswap -q -f /dev/mapper/secret && swapon /dev/mapper/secret", check=True)
    serves({"kind": "swap"}, "swapoff /dev/mapper/secret && cryptsetup close secret", "turn the swap off and stop the devices")
    guest.run(OPEN_CRYPT + " && mkfs.ext4 -q -F /dev/mapper/secret && mount /dev/mapper/secret /boot", check=True)
    serves({"kind": "mount", "where": "/boot"}, "umount /boot && cryptsetup close secret", "unmount it and stop the devices")

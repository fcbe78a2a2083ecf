# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stacked storage at boot: devices on a held disk are assembled when the disk is on its driver, and not before.

Debian's initramfs activates LVM and md by itself, before the root file system's
rules exist: our hook holds there too. H11: LVM and udisks ask for other things
than SYSTEMD_READY.
"""

import cpio
from context import case
from evidence import when
from holds import SERVICE_DROPIN, early as early_service
from stacks import KEY, PASSWORD, bound, healthy, made, node, nothing_left, partuuid, policy, prepare
from users import settled

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


def let_go_by_the_timers(guest, *places):
    "Held for HoldSec=10, and what is mounted at PLACES was made after that."
    began = when(guest, r"systemd\[1\]: Started uasd-release@\S+timer")
    assert began is not None, "nothing was held"
    for where in places:
        device = node(guest, where)
        assert made(guest, device) >= began + 9, (where, device, made(guest, device), began)


@case(image="vendor", tier="full", limit=600)
def dead_man(vm):
    "uasd stopped before the hold begins: the timers let all of it go."
    disks = two_disks(vm)
    guest = boot(vm, disks, files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=10\n", SERVICE_DROPIN: early_service(
        "ExecStartPost=/bin/kill -STOP $MAINPID\n")})
    healthy(guest, disks, "usb-storage")
    mounted(guest)
    let_go_by_the_timers(guest, *WHERE[:3])


def left(vm, **options):
    "All of it appears on usb-storage, the kernel's choice: nothing was held, no disk was on uas."
    disks = two_disks(vm)
    guest = boot(vm, disks, **options)
    healthy(guest, disks, "usb-storage")
    mounted(guest)
    nothing_left(guest)
    for disk in disks:
        assert disk.stats()["uas"]["commands"] == 0, disk.stats()
    return guest


def held(guest):
    return guest.run("journalctl -b | grep Started.uasd-release@").rc == 0


@case(image="vendor", tier="full", limit=600)
def no_hold(vm):
    "uasd.hold=0: nothing is held, in the initramfs neither; it waits until the disks are free."
    guest = left(vm, cmdline="uasd.hold=0")
    assert not held(guest)
    assert [one["state"] for one in guest.uasctl("list")["disks"]] == ["waiting"] * 2


@case(image="vendor", tier="full", limit=600)
def off(vm):
    "uasd=off: as if it were not there."
    guest = left(vm, cmdline="uasd=off")
    assert not held(guest)
    assert guest.run("systemctl is-active uasd").text == "inactive"


@case(image="vendor", tier="full", limit=600)
def no_trial(vm):
    "Nothing can be put on record, so there is no first trial: held for HoldSec=, then all of it comes up."
    readonly = "".join("ExecStartPre=+/bin/mount -o bind,ro %s %s\n" % (where, where) for where in ("/etc/uasd", "/var/lib/uasd"))
    guest = left(vm, files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=10\n", "/var/lib/uasd/.keep": "",
                            SERVICE_DROPIN: early_service(readonly)})
    assert held(guest)
    assert "its trial cannot be put on record" in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")


MIRRORS = """
for disk in $A $B; do
    printf 'label: gpt\\nsize=48M\\nsize=48M\\n' | sfdisk -q $disk
done
udevadm settle
vgcreate -qq vg ${A}1 ${B}1
lvcreate -qq --type raid1 -m 1 -n lv -L 16M vg
mdadm --create /dev/md/array --run --quiet --level=1 --raid-devices=2 --metadata=1.2 ${A}2 ${B}2
mdadm --wait /dev/md/array || true
until [ "$(lvs --noheadings -o sync_percent vg/lv | tr -d ' ')" = 100.00 ]; do sleep 0.2; done
for one in vg/lv md/array; do
    mke2fs -q -t ext4 -L $(basename $one) /dev/$one
done
"""


def mirrored(vm, fault=None, files=None):
    """Booted. Neither mirror is degraded or resyncs. Each was started when it was complete."""
    inner, outer = vm.disk(size="128M"), vm.disk(size="128M")
    prepare(vm, [inner, outer], MIRRORS)
    inner.close()
    if fault:
        outer.fault(**fault)
    guest = vm.boot(disks=[outer], drives=inner.media, fstab=FSTAB[:2], timeout=240, files={
        **{where + "/.keep": "" for where in WHERE[:2]}, **(files or {})})
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert guest.out("cat /sys/block/md*/md/degraded") == "0"
    assert guest.out("cat /sys/block/md*/md/sync_action") == "idle"
    member = guest.block_devices(outer.interface)[0] + "2"
    assert sorted(guest.out("ls /sys/block/md*/slaves").split()) == [member, "vdb2"]
    assert guest.out("lvs --noheadings -o lv_health_status,sync_percent vg/lv") == "100.00"
    assert guest.out("vgs --noheadings -o vg_missing_pv_count vg") == "0"
    log = guest.kernel_log()
    # Messages of a resync, or of a late member.
    for word in ("recovery of RAID", "resync of RAID", "not clean", "out-of-sync", "1 out of 2"):
        assert word not in log, log
    return guest, outer


@case(tier="full", image="vendor", limit=600)
def mirrors(vm):
    "md RAID1 and LVM raid1 with one internal and one USB member: neither degraded nor in need of a resync."
    guest, outer = mirrored(vm, files=PATIENT)
    healthy(guest, [outer])
    since = bound(guest)
    # The array is known since its inner member appeared, and starts when it is complete.
    assert made(guest, node(guest, "/mnt/lv")) > since
    assert when(guest, "active with 2 out of 2 mirrors", "-b -k") > since


@case(image="vendor", tier="full", limit=600)
def mirrors_dead_man(vm):
    "The same, uasd stopped before the hold begins: the timer lets the USB member go, and both mirrors are whole."
    guest, outer = mirrored(vm, files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=10\n", SERVICE_DROPIN: early_service(
        "ExecStartPost=/bin/kill -STOP $MAINPID\n")})
    healthy(guest, [outer], "usb-storage")
    let_go_by_the_timers(guest, "/mnt/lv")


@case(image="vendor", tier="full", limit=600)
def mirrors_rolled_back(vm):
    "The same, the USB member hangs under uas: taken back within the hold as it is by default, and both mirrors are whole."
    guest, outer = mirrored(vm, fault={"name": "hang", "proto": "uas", "op": "read"})
    assert guest.driver(outer.interface) == "usb-storage"
    assert outer.stats()["uas"]["commands"] > 0


# The disk has no driver for twenty seconds, so that the import may meet it like that.
SLOW_SWITCH = cpio.Exec("""#!/bin/sh
/usr/lib/uasd/uasd-switch.real "$@" | while read -r line; do
    echo "$line"
    case $line in 'STEP bind '*) pkill -STOP -f uasd-switch.real; sleep 20; pkill -CONT -f uasd-switch.real ;; esac
done
""")


@case(tier="full", image="zfs", limit=1200)
def zfs_mirror(vm):
    "A ZFS mirror of two disks, one of which has to leave uas at the boot. ZFS ignores the hold. It imports the pool whole, by its cache and by a scan, and after the switch."
    disks = [vm.disk(size="192M"), vm.disk(size="192M")]
    guest = settled(vm, disks)
    links = ["/dev/disk/by-id/usb-" + guest.udev("/dev/" + guest.block_devices(disk.interface)[0])["ID_SERIAL"] for disk in disks]
    guest.run("zpool create -f tank mirror %s && dd if=/dev/urandom of=/tank/file bs=1M count=8 conv=fsync status=none" % " ".join(links),
              check=True, timeout=120)
    total = guest.out("sha256sum </tank/file")
    guest.run("systemctl enable zfs-import-scan && mv /usr/lib/uasd/uasd-switch /usr/lib/uasd/uasd-switch.real", check=True, timeout=60)
    guest.put("/usr/lib/uasd/uasd-switch", SLOW_SWITCH)
    guest.put("/etc/uasd/uasd.conf", PATIENT["/etc/uasd/uasd.conf"])
    for moves, unit in zip(disks, ("zfs-import-cache", "zfs-import-scan")):
        if unit == "zfs-import-scan":
            guest.run("zpool set cachefile=none tank && rm -f /etc/zfs/zpool.cache", check=True)
        [(path, text)] = policy(moves, "usb-storage").items()
        guest.put(path, text)
        guest.run("sync", check=True)
        guest.reboot(timeout=400)
        print("%s: %s, %s\n%s" % (unit, guest.state(), [guest.driver(disk.interface) for disk in disks], guest.out("zpool status; true")),
              flush=True)
        assert guest.state() == "running", guest.out("systemctl --failed")
        assert guest.run("systemctl is-active %s" % unit).rc == 0
        assert guest.run("zpool status -x tank").text == "pool 'tank' is healthy", guest.out("zpool status tank")
        assert guest.out("sha256sum </tank/file") == total
        # A guest may be so slow that no hold begins. Then the pool is imported at once, and its disks stay.
        moved = "switching from uas to usb-storage, held" in guest.journal("-b -u uasd")
        assert guest.driver(moves.interface) == ("usb-storage" if moved else "uas"), guest.journal("-b -u uasd")
        nothing_left(guest)

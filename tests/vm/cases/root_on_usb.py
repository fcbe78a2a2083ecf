# SPDX-License-Identifier: LGPL-2.1-or-later
"""Root on the USB disk: it boots, moved in the initramfs or left on its driver.

Only a disk that has passed its trial is moved there: no trial can be put on
record yet.
"""

import os
import re
import subprocess

import initramfs
from context import case
from evidence import BOOT_ENTRY, DISTRUSTED, hang_once, impatient, listed, messages, only_disk, when
from media import Media, tool
from patience import let_pass
from stacks import bound, distrusted, nothing_left, passed, policy, prepare

INITRAMFS_TOOLS = "initramfs-tools"
# dracut's own init instead of systemd.
PLAIN = {"maker": "dracut", "making": "--omit systemd --omit systemd-initrd --omit dracut-systemd"}
HANGS = {"name": "hang", "proto": "uas", "op": "any"}
# The root file system is at 1 MiB of each disk, where data begins.
LVM = """
pvcreate -qq --dataalignment 1m $A
vgcreate -qq vg $A
lvcreate -qq -n root -L 6G -Wn -Zn vg
test "$(pvs --noheadings --units m --nosuffix -o pe_start $A | tr -d ' ')" = 1.00
"""
MD = """
mdadm --create /dev/md/root --run --quiet --level=1 --raid-devices=2 --metadata=1.2 --data-offset=1M --bitmap=none \\
    --assume-clean $A $B
"""
LV = "/dev/mapper/vg-root"


def plain(vm, **config):
    "The image's own root as an emulated disk, with its own UUID."
    path = vm.folder + "/root-copy.raw"
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", vm.image().root, path], check=True)
    uuid = renamed(path)
    return vm.disk(media=[Media(path, "6G")], **config), uuid


def renamed(path):
    tool(["tune2fs", "-U", "random", path])
    return tool(["blkid", "-p", "-o", "value", "-s", "UUID", path]).decode().strip()


def stacked(vm, script, *configs):
    "The same, on the stack that SCRIPT makes from one disk for each of CONFIGS."
    disks = [vm.disk(size=(6 << 30) + (64 << 20), **config) for config in configs]
    prepare(vm, disks, script)
    path = vm.folder + "/root-copy.raw"
    subprocess.run(["cp", "--sparse=always", vm.image().root, path], check=True)
    uuid = renamed(path)
    for disk in disks:
        tool(["dd", "if=" + path, "of=" + disk.media[0].path, "bs=1M", "seek=1", "conv=sparse,notrunc"])
    return disks, uuid


def boot(vm, disks, root, uuid, conf=None, maker=None, extra=None, making="", **options):
    """CONF is in the initramfs as well. With a MAKER (its options: MAKING) the initramfs is made again, as on a system with these
    files. EXTRA is not in it."""
    files = {"/etc/fstab": "UUID=%s / ext4 errors=remount-ro 0 1\n" % uuid, **(extra or {})}
    options = dict(options, cmdline="root=" + root, timeout=240)
    if maker:
        guest = initramfs.boot(vm, conf or {}, disks, extra=files, maker=maker, making=making, **options)
    else:
        guest = vm.boot(disks=disks, files={**files, **(conf or {})}, initramfs=conf, **options)
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert guest.out("findmnt -no UUID /") == uuid
    nothing_left(guest)
    return guest


def moved_early(guest, disk):
    "Moved in the initramfs, so root was mounted only on uas."
    assert guest.driver(disk.interface) == "uas"
    moved = bound(guest)
    mounted = when(guest, r"EXT4-fs \(\S+\): mounted filesystem", "-b -k")
    assert moved < mounted, (moved, mounted)
    assert "uasd-switch: %s: moved from usb-storage to uas" % disk.interface in guest.kernel_log()
    assert disk.stats()["bot"]["writes"] == 0, disk.stats()["bot"]


def let_go(guest):
    "A wait for root ended the hold in the initramfs: local-block was run."
    assert guest.run("test -e /run/uasd/waited-for").rc == 0


def left(guest, disk, driver="usb-storage"):
    "On its first driver; neither held nor moved after the initramfs (H4)."
    assert guest.driver(disk.interface) == driver
    assert guest.run("journalctl -b | grep Started.uasd-release@").rc == 1
    stats = disk.stats()
    if driver == "uas":
        assert stats["bot"]["writes"] == 0, stats  # the BIOS reads a block by BOT
    else:
        assert stats["uas"]["commands"] == 0, stats
    errors = [line for line in guest.kernel_log().splitlines() if re.search("I/O error|EXT4-fs error", line)]
    assert not errors, errors


REMEDY = "The running system is on it, so uasd cannot switch it."


def waits(guest, *disks):
    "Waiting for its users, which stay as long as the system runs. All output says that, with advice."
    listed = {one["interface"]: one for one in guest.uasctl("list")["disks"]}
    for disk in disks:
        one = listed[disk.interface]
        assert one["state"] == "waiting", one
        assert [user for user in one["busy"] if user["kind"] == "mount" and user["where"] == "/"], one
        assert one["reason"].startswith("Waits for uas until nothing uses it: / (") and one["reason"].endswith(REMEDY), one
        assert REMEDY in guest.out("uasctl status " + disk.interface)
        objects = guest.out("busctl --json=short call org.uasd1 /org/uasd1 org.freedesktop.DBus.ObjectManager GetManagedObjects")
        assert len(re.findall(r'\["mount","[a-z0-9]+","/",', objects)) == len(disks), objects
        said = guest.journal("-b -u uasd")
        assert re.search(r"%s.*Waits for uas until nothing uses it: / \(.*%s" % (re.escape(disk.interface), re.escape(REMEDY)), said), said
        asked = guest.run("uasctl switch %s uas" % disk.interface)
        assert asked.rc == 3 and REMEDY in asked.err and "mounted on / (" in asked.err, asked
        assert guest.driver(disk.interface) == "usb-storage"


def one_disk(vm, conf=None, **options):
    "Root on LVM on a single disk: booted, and the disk."
    [disk], uuid = stacked(vm, LVM, {})
    return boot(vm, [disk], LV, uuid, conf and conf(disk), **options), disk


@case(image="vendor", tier="full", limit=600)
def h04_taken_up_after_the_initramfs(vm):
    "H4, by UUID, nothing said: initramfs-tools looks for it by itself, udev's hold or not; mounted, left where it is."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid)
    left(guest, disk)
    waits(guest, disk)


@case(image="vendor", limit=600)
def by_uuid_moved(vm):
    "By UUID, its trial passed: moved in the initramfs."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, passed(vm, disk))
    assert guest.run("test -e /run/uasd/waited-for").rc == 1
    moved_early(guest, disk)
    [one] = guest.uasctl("list")["disks"]
    assert one["state"] == "settled", one


@case(image="vendor", tier="full", limit=600)
def hanging(vm):
    "Its trial passed, but now it answers nothing on uas: taken back in the initramfs, in time."
    disk, uuid = plain(vm, faults=[HANGS])
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, passed(vm, disk))
    taken_back(guest, disk)


def taken_back(guest, disk):
    "It was tried on uas, and runs on usb-storage."
    assert guest.driver(disk.interface) == "usb-storage"
    stats = disk.stats()
    assert stats["uas"]["commands"] > 0 and stats["uas"]["writes"] == 0, stats


def whole(guest):
    "The array has both members, without a resync."
    assert guest.out("findmnt -no SOURCE /").startswith("/dev/md")
    assert guest.out("cat /sys/block/md*/md/degraded /sys/block/md*/md/sync_action").split() == ["0", "idle"]
    log = guest.kernel_log()
    for word in ("recovery of RAID", "resync of RAID", "not clean", "1 out of 2"):
        assert word not in log, log


@case(image="vendor", tier="full", limit=600)
def lvm(vm):
    "On LVM, nothing said: held in the initramfs until somebody waits for it, then activated where it is."
    guest, disk = one_disk(vm)
    let_go(guest)
    left(guest, disk)
    waits(guest, disk)


@case(image="vendor", tier="full", limit=600)
def lvm_moved(vm):
    "On LVM, its trial passed: moved before LVM sees it."
    guest, disk = one_disk(vm, lambda disk: passed(vm, disk))
    moved_early(guest, disk)


@case(image="vendor", tier="full", limit=600)
def lvm_hanging(vm):
    "On LVM, its trial passed, but now it hangs on uas: taken back, then activated."
    [disk], uuid = stacked(vm, LVM, {})
    disk.fault(**HANGS)
    guest = boot(vm, [disk], LV, uuid, passed(vm, disk))
    taken_back(guest, disk)


@case(image="vendor", tier="full", limit=600)
def md(vm):
    "On a mirror of two USB disks, nothing said: both are let go at once, the array is whole."
    disks, uuid = stacked(vm, MD, {}, {})
    guest = boot(vm, disks, "UUID=" + uuid, uuid)
    let_go(guest)
    whole(guest)
    for disk in disks:
        left(guest, disk)
    waits(guest, *disks)
    whole(guest)


@case(image="vendor", tier="full", limit=600)
def md_moved(vm):
    "On a mirror, both have passed their trial: moved, then assembled, whole."
    disks, uuid = stacked(vm, MD, {}, {})
    guest = boot(vm, disks, "UUID=" + uuid, uuid, passed(vm, *disks))
    whole(guest)
    for disk in disks:
        moved_early(guest, disk)


@case(image="vendor", tier="full", limit=600)
def md_hanging(vm):
    "On a mirror, one of the two hangs on uas and is taken back: the array waits for it, and is whole."
    disks, uuid = stacked(vm, MD, {}, {})
    disks[1].fault(**HANGS)
    guest = boot(vm, disks, "UUID=" + uuid, uuid, passed(vm, *disks))
    whole(guest)
    taken_back(guest, disks[1])
    # If the kernel probes the hanging one first, neither appears in time, or too late to be tried. The other one is not the cause.
    if guest.driver(disks[0].interface) == "uas":
        moved_early(guest, disks[0])
    else:
        taken_back(guest, disks[0])
        journal = guest.journal("-b -t uasd-switch")
        assert not re.search("%s: step appear: no disk appeared under uas in time$" % disks[0].interface, journal, re.M), journal
        assert not (listed(guest, disks[0])["history"] or "").startswith("distrusted")


@case(tier="full", limit=600)
def stock_lvm(vm):
    "Stock kernel, on LVM: on uas from the start, and left there."
    guest, disk = one_disk(vm)
    left(guest, disk, "uas")


@case(tier="full", limit=600)
def stock_md(vm):
    "Stock kernel, on a mirror: the same, whole."
    disks, uuid = stacked(vm, MD, {}, {})
    guest = boot(vm, disks, "UUID=" + uuid, uuid)
    whole(guest)
    for disk in disks:
        left(guest, disk, "uas")


@case(tier="full", limit=600)
def stock_kept_off(vm):
    "Stock kernel, on LVM, policy usb-storage: kept off uas from the start, mounted on usb-storage."
    guest, disk = one_disk(vm, lambda disk: policy(disk, "usb-storage"), maker=INITRAMFS_TOOLS)
    left(guest, disk)


@case(tier="full", limit=600)
def stock_hanging(vm):
    "Stock kernel, on a mirror, one of the two would hang on uas and is distrusted: it never gets there, the array is whole."
    disks, uuid = stacked(vm, MD, {}, {"pid": 0x5A5B})
    disks[1].fault(**HANGS)
    guest = boot(vm, disks, "UUID=" + uuid, uuid, distrusted(vm, disks[1], 2), maker=INITRAMFS_TOOLS)
    whole(guest)
    left(guest, disks[0], "uas")
    left(guest, disks[1])


@case(tier="full", limit=600)
def stock_by_uuid(vm):
    "Stock kernel, by UUID: on uas from the start, and left there."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid)
    left(guest, disk, "uas")


@case(tier="full", limit=600)
def stock_by_uuid_hanging(vm):
    "Stock kernel, by UUID, it would hang on uas and is distrusted: it never gets there, root is mounted on usb-storage."
    disk, uuid = plain(vm, faults=[HANGS])
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, distrusted(vm, disk, 1), maker=INITRAMFS_TOOLS)
    left(guest, disk)


@case(tier="full", limit=600)
def stock_lvm_hanging(vm):
    "The same on LVM."
    [disk], uuid = stacked(vm, LVM, {})
    disk.fault(**HANGS)
    guest = boot(vm, [disk], LV, uuid, distrusted(vm, disk, 1), maker=INITRAMFS_TOOLS)
    left(guest, disk)


CMDLINE = "/boot/firmware/cmdline.txt"


def on_fat(guest):
    "The folder of that file becomes a FAT file system of its own, on the guest's internal disk, as on a Raspberry Pi."
    folder = os.path.dirname(CMDLINE)
    guest.run("mkfs.vfat -F 16 /dev/vda 65536 && mount /dev/vda /mnt && mv %s /mnt && umount /mnt && mount /dev/vda %s && "
              "echo '/dev/vda %s vfat defaults 0 2' >>/etc/fstab && systemctl daemon-reload && systemctl restart uasd" % (CMDLINE, folder, folder), check=True)


def written(guest, line, count):
    "The entry is behind that LINE. The journal of this boot has so many changes. Returns the new line."
    guest.wait_until("grep -qx '%s usb-storage.quirks=1209:5a5a:u' %s" % (line, CMDLINE), 90)
    guest.until(lambda: messages(guest, BOOT_ENTRY) == count, 30, "%d changes are told" % count)
    assert guest.read(CMDLINE + ".uasd-backup") == line
    return guest.read(CMDLINE)


@case(tier="full", limit=600)
def stock_entry_by_itself(vm):
    "BootEntry=auto: uas fails, the boot file gets the entry, also after updates of the system; the next boot is on usb-storage. The printed undo works."
    disk, uuid = plain(vm)
    line = "root=UUID=%s rootwait" % uuid
    guest = boot(vm, [disk], line[len("root="):], uuid, extra={CMDLINE: line + "\n", "/etc/uasd/uasd.conf": "[uasd]\nBootEntry=auto\n"})
    left(guest, disk, "uas")
    on_fat(guest)
    impatient(guest, "sda")
    hang_once(guest, disk, "sda")
    assert messages(guest, BOOT_ENTRY) == 0 and guest.read(CMDLINE) == line
    let_pass(17)  # a later sign is of another episode
    hang_once(guest, disk, "sda")
    new = written(guest, line, 1)
    assert messages(guest, DISTRUSTED) == 1 and guest.driver(disk.interface) == "uas"
    # An update of the system rewrites the file: in place, and by a new file.
    for count, command in enumerate(("echo '%s' >%s", "echo '%s' >%s.new; mv %s.new %s"), 2):
        guest.run(command % ((line,) + (CMDLINE,) * (command.count("%s") - 1)), check=True)
        assert written(guest, line, count) == new
    guest.shut_down()

    disk.reset_stats()
    guest.boot(disks=[disk], cmdline=new)
    assert guest.state() == "running", guest.out("systemctl --failed")
    left(guest, disk)
    assert only_disk(guest, "settled")["reason_id"] == "distrusted"
    # The unit runs at each start of uasd. Nothing is to do now.
    guest.wait_until("journalctl -b -u uasd-boot-entry | grep -q Finished", 30)
    assert (guest.read(CMDLINE), messages(guest, BOOT_ENTRY)) == (new, 0)
    guest.run("systemctl stop uasd && echo '%s' >%s && systemctl start uasd" % (line, CMDLINE), check=True)
    assert written(guest, line, 1) == new

    commands = re.findall(r"(?m)^[^#\n]*uasctl\[\d+\]: (?:To undo it|and then): (uasctl .*)$", guest.journal("-b -u uasd-boot-entry"))
    assert len(commands) == 2, guest.journal("-b -u uasd-boot-entry")
    for command in commands:
        guest.run(command, check=True)
    guest.run("systemctl restart uasd", check=True)
    assert only_disk(guest, "settled")["reason_id"] == "quirk"  # of the kernel that runs
    assert guest.read(CMDLINE) == line and guest.run("test -e %s.uasd-backup" % CMDLINE).rc == 1


@case(image="trixie", tier="full", limit=600)
def trixie_by_uuid(vm):
    "The newer kernel, by UUID: on uas from the start, and left there."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid)
    left(guest, disk, "uas")


@case(image="trixie", tier="full", limit=600)
def trixie_kept_off(vm):
    "The newer kernel, on LVM, policy usb-storage."
    guest, disk = one_disk(vm, lambda disk: policy(disk, "usb-storage"), maker=INITRAMFS_TOOLS)
    left(guest, disk)


def called_bad(vm):
    "The user calls the bridge bad: the file, and what `systemd-hwdb update` makes of it for the root file system."
    name, text = "/etc/udev/hwdb.d/70-own.hwdb", "usb:v1209p5A5A*\n UASD_VERDICT=bad\n"
    folder = vm.folder + "/hwdb"
    os.makedirs(folder + os.path.dirname(name))
    with open(folder + name, "w") as file:
        file.write(text)
    tool(["systemd-hwdb", "--root=" + folder, "update"])
    with open(folder + "/etc/udev/hwdb.bin", "rb") as file:
        return {name: text}, {"/etc/udev/hwdb.bin": file.read()}


@case(tier="full", limit=600)
def stock_called_bad(vm):
    "Stock kernel, by UUID, and the database of bridges advises against uas: it is moved to usb-storage in the initramfs."
    disk, uuid = plain(vm)
    conf, extra = called_bad(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, conf, maker=INITRAMFS_TOOLS, extra=extra)
    assert guest.driver(disk.interface) == "usb-storage"
    [one] = guest.uasctl("list")["disks"]
    assert (one["verdict"], one["state"]) == ("bad", "settled"), one
    assert disk.stats()["uas"]["writes"] == 0, disk.stats()


@case(image="vendor", tier="full", limit=600)
def dracut_moved(vm):
    "dracut's initramfs with systemd, by UUID, its trial passed: moved there, before root is mounted."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, passed(vm, disk), maker="dracut")
    moved_early(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_waits(vm):
    "dracut, by UUID, nothing said: held until systemd waits for it, then mounted and left where it is."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, maker="dracut")
    let_go(guest)
    left(guest, disk)
    waits(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_hanging(vm):
    "dracut, its trial passed, but now it answers nothing on uas: taken back in the initramfs, in time."
    disk, uuid = plain(vm, faults=[HANGS])
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, passed(vm, disk), maker="dracut")
    taken_back(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_lvm(vm):
    "dracut, on LVM, its trial passed: moved before LVM sees it."
    guest, disk = one_disk(vm, lambda disk: passed(vm, disk), maker="dracut")
    moved_early(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_off(vm):
    "dracut, with rd.uasd=off: neither held nor moved in the initramfs."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=%s rd.uasd=off" % uuid, uuid, passed(vm, disk), maker="dracut")
    left(guest, disk)


@case(image="trixie", tier="full", limit=600)
def trixie_dracut_kept_off(vm):
    "The newer kernel and the newer dracut, by UUID, policy usb-storage: kept off uas from the start."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, policy(disk, "usb-storage"), maker="dracut")
    left(guest, disk)


@case(image="trixie", tier="full", limit=600)
def trixie_dracut_hanging(vm):
    "The same, and it would hang on uas and is distrusted: it never gets there."
    disk, uuid = plain(vm, faults=[HANGS])
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, distrusted(vm, disk, 1), maker="dracut")
    left(guest, disk)


def without_systemd(guest):
    "PID 1 of the initramfs was dracut's shell script. systemd began once, on the real root."
    started = re.findall(r"systemd \S+ running in system mode", guest.journal("-b"))
    assert len(started) == 1, started


@case(image="vendor", tier="full", limit=600)
def dracut_plain_moved(vm):
    "dracut's initramfs without systemd, by UUID, its trial passed: moved there, before root is mounted."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, passed(vm, disk), **PLAIN)
    without_systemd(guest)
    moved_early(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_plain_waits(vm):
    "dracut without systemd, nothing said: held until the initramfs waits for it, then mounted and left where it is."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, **PLAIN)
    without_systemd(guest)
    let_go(guest)
    left(guest, disk)
    waits(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_plain_hanging(vm):
    "dracut without systemd, its trial passed, but now it answers nothing on uas: taken back in the initramfs, in time."
    disk, uuid = plain(vm, faults=[HANGS])
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, passed(vm, disk), **PLAIN)
    without_systemd(guest)
    taken_back(guest, disk)


@case(image="vendor", tier="full", limit=600)
def dracut_plain_off(vm):
    "dracut without systemd, with rd.uasd=off: neither held nor moved in the initramfs."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=%s rd.uasd=off" % uuid, uuid, passed(vm, disk), **PLAIN)
    without_systemd(guest)
    left(guest, disk)


@case(image="trixie", tier="full", limit=600)
def trixie_dracut_plain_kept_off(vm):
    "The newer kernel and the newer dracut without systemd, policy usb-storage: kept off uas from the start."
    disk, uuid = plain(vm)
    guest = boot(vm, [disk], "UUID=" + uuid, uuid, policy(disk, "usb-storage"), **PLAIN)
    without_systemd(guest)
    left(guest, disk)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a system without systemd, udev and D-Bus gets: requests without uasd, the ends of uses, a boot flash that stays."""

import collections
import os
import pathlib
import re

import bundled
import busybox
import context
import cpio
import image as images
from cases.bundle import ROUNDS, sees_no_foreign
from context import case
from evidence import only_disk
from within.calls import DOES

SWITCHES = 100
# After so many rounds with something wrong the sweep ends.
ENOUGH = 3
BROUGHT = "/odd/%s/ld.so --library-path /odd/%s /odd/%s/%s"
DMSETUP = BROUGHT % (("dmsetup",) * 4)
STRACE = BROUGHT % (("strace",) * 4) + " -qq"


def brought(program):
    """Files of a program of Debian 12 with its libraries."""
    root = images.packages_layer("bookworm").tree()
    name = os.path.basename(program)
    return {"odd/%s/%s" % (name, name): pathlib.Path(root + program),
            **{"odd/%s/%s" % (name, "ld.so" if library.startswith("ld-linux") else library): path
               for library, path in busybox.libraries(root, program).items()}}


def refused(guest, words, *said):
    """A request for a disk in use: refused, also by --dry-run, with these texts."""
    for option in ("", " --dry-run") if words.startswith("switch") else ("",):
        done = guest.run("uasctl " + words + option)
        assert done.rc == 6 and all(text in done.err for text in said), (words, option, done)
        sees_no_foreign(done)


def names(guest, text):
    """The disk waits, and a switch that was tried has named the user."""
    guest.until(lambda: text in (only_disk(guest, "waiting")["outcome"] or {}).get("text", ""), what="it is in use: " + text)


@case(image="busybox", product=False)
def without_uasd(vm):
    "Without uasd root's uasctl moves and ejects a free disk. It refuses one in use, names the user, and prints a command that starts uasd."
    disk = vm.disk(label="DATA")
    guest = bundled.boot(vm)
    guest.run("/bundle/install.sh --init=sysvinit --no-start && kill $(pidof uasd)", check=True)
    guest.wait_until("! pidof uasd")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    moved = guest.run("uasctl switch sda uas")
    assert moved.rc == 0 and "moved from usb-storage to uas" in moved.err, moved
    assert guest.driver(disk.interface) == "uas"
    guest.run("mount -t ext4 /dev/sda1 /mnt", check=True)
    assert "JMS578" in guest.out("uasctl db 152d:0578"), "the bundle has no bridge database"
    start = "To start it: /etc/init.d/uasd start"
    refused(guest, "switch sda usb-storage", "mounted on /mnt (sda1)", "To free it: umount /mnt", start)
    refused(guest, "eject sda", "mounted on /mnt (sda1)")
    guest.run("umount /mnt", check=True)
    # Another name of the same device.
    guest.run("mknod /tmp/other b $(tr : ' ' </sys/class/block/sda1/dev) && { sleep 1000 </tmp/other >/dev/null 2>&1 & }", check=True)
    refused(guest, "switch sda usb-storage", "sleep", start)
    refused(guest, "eject sda", "sleep")
    assert guest.driver(disk.interface) == "uas"
    guest.run("kill $(pidof sleep)")
    guest.run("uasctl switch sda usb-storage", check=True)
    assert guest.driver(disk.interface) == "usb-storage"
    # A uasd that starts later follows the switch.
    guest.run(start.removeprefix("To start it: "), check=True)
    guest.wait_until("! uasctl list 2>&1 | grep 'not running'")
    only_disk(guest, "settled")
    assert guest.driver(disk.interface) == "usb-storage"
    guest.run("/etc/init.d/uasd stop && uasctl eject sda", check=True)
    assert not guest.block_devices(disk.interface)
    assert guest.run("uasctl switch sda uas").rc == 4


@case(tier="full", image="busybox", product=False)
def ends_of_uses(vm):
    "A loop device, a device of device mapper, and a process that opened the disk by another node, keep it where it is. Their ends free it."
    disk = vm.disk(label="DATA")
    with context.clock_stopped():
        mapper = next(pathlib.Path(busybox.tree().tree()).glob("lib/modules/*/kernel/drivers/md/dm-mod.ko"))
        more = {**brought("/usr/sbin/dmsetup"), "odd/dm-mod.ko": mapper}
    guest = bundled.boot(vm, disk, conf="Policy=usb-storage\n", more=more)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled")
    guest.run("mount -t ext4 /dev/sda1 /mnt && dd if=/dev/zero of=/mnt/file bs=1M count=1 && losetup /dev/loop0 /mnt/file && umount -l /mnt", check=True)
    guest.run("uasctl policy sda uas", check=True)
    names(guest, "loop of sda1")
    bundled.goes(guest, "losetup -d /dev/loop0")
    guest.wait_disk(disk.interface, driver="uas", timeout=10)
    only_disk(guest, "settled")
    guest.run("mknod /tmp/other b $(tr : ' ' </sys/class/block/sda1/dev) && { sleep 1000 </tmp/other >/dev/null 2>&1 & }", check=True)
    guest.run("uasctl policy sda usb-storage", check=True)
    names(guest, "by sleep")
    bundled.goes(guest, "kill $(pidof sleep)", slack=35)  # no event
    guest.wait_disk(disk.interface, driver="usb-storage", timeout=10)
    # As LUKS and LVM use it. No udevd makes links of it.
    guest.wait_until("test -b /dev/sda1")
    size = guest.out("cat /sys/class/block/sda1/size")
    guest.run("insmod /odd/dm-mod.ko && %s create upper --noudevsync --noudevrules --table '0 %s linear /dev/sda1 0'" % (DMSETUP, size), check=True)
    guest.run("mount -t ext4 /dev/dm-0 /mnt && uasctl policy sda uas", check=True)
    guest.until(lambda: {user["kind"] for user in only_disk(guest, "waiting")["busy"]} == {"mount", "holder"}, what="both users")
    guest.run("umount /mnt", check=True)
    guest.until(lambda: {user["kind"] for user in only_disk(guest, "waiting")["busy"]} == {"holder"}, what="the holder")
    assert guest.driver(disk.interface) == "usb-storage"
    bundled.goes(guest, DMSETUP + " remove upper --noudevsync")
    guest.wait_disk(disk.interface, driver="uas", timeout=10)


@case(tier="full", image="busybox", product=False, limit=600)
def boot_flash(vm):
    "A hundred switches of three disks: a USB stick on usb-storage, mounted as the boot flash of a NAS is, gets no event and no new number."
    flash = vm.disk(label="FLASH", alts="bot", vid=0xf400, pid=0xf400)
    disks = [vm.disk(label="DATA%d" % number) for number in range(3)]
    guest = bundled.boot(vm, flash)
    guest.wait_disk(flash.interface, driver="usb-storage")
    guest.run("mount -t ext4 /dev/sda1 /mnt", check=True)
    for disk in disks:
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
    path = "/sys/bus/usb/devices/%s/" % flash.interface.partition(":")[0]
    state = "cat %sdevnum && ls %s && ls -d %s/host*/target*/*/block/*" % (path, path, path + flash.interface)
    before = guest.out(state)
    guest.run("dmesg -c", check=True)
    commands = flash.stats()["bot"]["commands"]
    log = []
    for number in range(SWITCHES):
        driver = "usb-storage" if number // len(disks) % 2 == 0 else "uas"
        # The kernel's buffer is too small for the messages of all.
        log += guest.out("uasctl switch %s %s && dmesg -c" % (disks[number % len(disks)].interface, driver)).splitlines()
    assert guest.out(state) == before

    def attached():
        log.extend(guest.out("dmesg -c").splitlines())
        return sum("Attached SCSI disk" in line for line in log)
    guest.until(lambda: attached() >= SWITCHES, what="the kernel has said so of each switch")
    assert attached() == SWITCHES
    name = " %s:" % flash.interface.partition(":")[0]
    told = [line for line in log if name in line or "[sda]" in line]
    assert told == [], told
    assert flash.stats()["bot"]["commands"] == commands
    guest.run("umount /mnt", check=True)


@case(tier="full", image="busybox", product=False)
def no_bind(vm):
    "Kernels before 4.14 send no `bind`: the other events of a plug-in are enough, and the disk is on uas before a command of usb-storage."
    disk = vm.disk(label="DATA")
    library = os.path.join(vm.folder, "no-bind.so")
    images.sh(["cc", "-shared", "-fPIC", "-O1", "-o", library, os.path.join(images.HERE, "within/no-bind.c")])
    guest = bundled.boot(vm, more={"odd/no-bind.so": pathlib.Path(library)})
    bundled.stop(guest)
    guest.run("LD_PRELOAD=/odd/no-bind.so /opt/uasd/lib/uasd/uasd >/run/uasd.log 2>&1 </dev/null &", check=True)
    bundled.started(guest)
    for number in range(ROUNDS):
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
        only_disk(guest, "settled")
        assert disk.stats()["bot"]["commands"] == 0, (number, disk.stats())
        disk.unplug()
        guest.wait_until("test ! -e /sys/bus/usb/devices/%s" % disk.interface)
    # Those of usb-storage and of uas.
    assert guest.run("cat /run/uasd.log").out.count("no-bind: not received") >= 2 * ROUNDS, guest.run("cat /run/uasd.log")


# In the place of uasd-switch: counts its system calls, or kills it at the planned one.
WRAPPER = """#!/bin/sh
real=/opt/uasd/lib/uasd/uasd-switch.vm
case " $* " in *" --recover "*) exec $real "$@";; esac
[ ! -e /run/vm-trace ] || exec %s -o /run/vm-trace $real "$@"
[ -e /run/vm-kill ] || exec $real "$@"
read call nth </run/vm-kill
rm /run/vm-kill
%s -o /dev/null -e trace=$call -e inject=$call:signal=KILL:when=$nth $real "$@"
rc=$?
[ $rc = 137 ] || exit $rc
echo >/run/vm-killed
kill -KILL $$
""" % (STRACE, STRACE)
# New data goes to the disk, without a sync, before a switch to $2. Then: a driver, a node, no child, no record, no hold, the quirks, and
# the data. Prints what is wrong after 30 s.
ROUND = r"""
interface=$1 target=$2
at() { echo /sys/bus/usb/devices/$interface/host*/target*/*/block/*; }
rm -f /run/vm-killed
head -c 65536 /dev/urandom >/tmp/data
name=$(basename $(at))
dd if=/tmp/data of=/dev/${name}2 bs=65536 count=1 2>/dev/null || echo cannot write
uasctl switch $name $target --wait=60 >/tmp/said 2>&1
wrong() {
        [ -e /sys/bus/usb/devices/$interface/driver ] || { echo no driver; return; }
        name=$(basename $(at))
        [ -b /dev/${name}2 ] || { echo no disk; return; }
        [ -z "$(pidof uasd-switch.vm uasd-switch)" ] || { echo uasd-switch runs; return; }
        [ -z "$(ls /run/uasd/switch /run/uasd/hold 2>/dev/null | grep "^$interface$")" ] || { echo a record or a hold is left; return; }
        [ -z "$(cat /sys/module/usb_storage/parameters/quirks)" ] || { echo quirks "$(cat /sys/module/usb_storage/parameters/quirks)"; return; }
        ! uasctl list $interface | grep -E 'switching|held' || return
}
n=0
while said=$(wrong); [ -n "$said" ] && [ $n -lt 150 ]; do n=$((n + 1)); busybox usleep 200000; done
[ -z "$said" ] || echo "$said"
dd if=/dev/${name}2 bs=65536 count=1 2>/dev/null | cmp -s - /tmp/data || echo data lost
"""


def round_of(guest, disk, target):
    """A switch, killed or not: what is wrong after it, and whether it was killed."""
    said = guest.run("sh /odd/round %s %s" % (disk.interface, target), timeout=180)
    return (said.out + said.err).strip(), guest.run("test -e /run/vm-killed").rc == 0


@case(tier="full", image="busybox", product=False, limit=2400, also=bundled.WITHOUT_SYSTEMD)
def killed_at_every_call(vm):
    "uasd-switch killed once at every call that reaches beyond itself, each way: the disk is on a driver, nothing is left, no byte is lost."
    disk = vm.disk(size="16M", partitions=["4M", None], wcache="volatile")
    with context.clock_stopped():
        traced = brought("/usr/bin/strace")
    guest = bundled.on_uas(vm, disk, conf="TrialSec=0\n", more={**traced, "odd/round": ROUND, "odd/wrapper": cpio.Exec(WRAPPER)})
    only_disk(guest, "settled")
    guest.run("cd /opt/uasd/lib/uasd && mv uasd-switch uasd-switch.vm && cp /odd/wrapper uasd-switch", check=True)
    guest.run("echo 0 >/sys/module/usb_storage/parameters/delay_use", check=True)
    wrong, count = [], {"killed": 0, "moved": 0, "back": 0}
    for before, after in (("uas", "usb-storage"), ("usb-storage", "uas")):
        guest.run("touch /run/vm-trace", check=True)
        assert round_of(guest, disk, after) == ("", False) and guest.driver(disk.interface) == after
        calls = collections.Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", guest.out("cat /run/vm-trace; rm /run/vm-trace"), re.M))
        plan = [(call, nth) for call in DOES for nth in range(1, calls[call] + 1)]
        print("from %s: %d calls" % (before, len(plan)), flush=True)
        for call, nth in plan:
            if guest.driver(disk.interface) != before:
                assert round_of(guest, disk, before)[0] == ""
            guest.run("echo %s %d >/run/vm-kill" % (call, nth), check=True)
            said, killed = round_of(guest, disk, after)
            now = guest.driver(disk.interface)
            print("%s %d: %s, on %s %s" % (call, nth, "killed" if killed else "not reached", now, said), flush=True)
            count["killed"] += killed
            count["moved" if now == after else "back"] += killed
            wrong += ["%s %d to %s: %s" % (call, nth, after, said)] if said else []
            assert len(wrong) < ENOUGH, wrong
    print(count, flush=True)
    assert not wrong, wrong
    assert count["killed"] >= 100 and count["moved"] and count["back"], count
    assert guest.run("grep distrusted /etc/uasd/history").rc, "a kill was blamed on the bridge"

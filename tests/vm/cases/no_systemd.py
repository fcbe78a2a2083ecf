# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a system without systemd, udev and D-Bus gets: requests without uasd, the ends of uses, a boot flash that stays."""

import bundled
from cases.bundle import sees_no_foreign
from context import case
from evidence import only_disk

SWITCHES = 100


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
    "A loop device, and a process that opened the disk by another node, keep it where it is. uasd hears of each end without udevd."
    disk = vm.disk(label="DATA")
    guest = bundled.on_storage(vm, disk)
    guest.run("mount -t ext4 /dev/sda1 /mnt && dd if=/dev/zero of=/mnt/file bs=1M count=1 && losetup /dev/loop0 /mnt/file && umount -l /mnt", check=True)
    guest.run("uasctl policy sda uas", check=True)
    names(guest, "loop of sda1")
    guest.run("losetup -d /dev/loop0", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=10)
    only_disk(guest, "settled")
    guest.run("mknod /tmp/other b $(tr : ' ' </sys/class/block/sda1/dev) && { sleep 1000 </tmp/other >/dev/null 2>&1 & }", check=True)
    guest.run("uasctl policy sda usb-storage", check=True)
    names(guest, "by sleep")
    guest.run("kill $(pidof sleep)", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage", timeout=10)


@case(tier="full", image="busybox", product=False)
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
    before, log = guest.out(state), guest.kernel_log()
    commands = flash.stats()["bot"]["commands"]
    for number in range(SWITCHES):
        driver = "usb-storage" if number // len(disks) % 2 == 0 else "uas"
        guest.run("uasctl switch %s %s" % (disks[number % len(disks)].interface, driver), check=True)
    assert guest.out(state) == before
    name = " %s:" % flash.interface.partition(":")[0]
    told = [line for line in guest.kernel_log()[len(log):].splitlines() if name in line or "[sda]" in line]
    assert told == [], told
    assert flash.stats()["bot"]["commands"] == commands
    guest.run("umount /mnt", check=True)

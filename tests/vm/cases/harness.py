# SPDX-License-Identifier: LGPL-2.1-or-later
"""The harness itself, and the behaviour of the kernel on which uasd relies.

None of these has uasd in the guest.
"""

import os

import cpio
from context import case
from machine import GuestPanic

SYS = "/sys/bus/usb/drivers/"


@case(tier="full", product=False)
def boots(vm):
    "A cold boot reaches running, with files of this run in root and initramfs."
    guest = vm.boot(
        cmdline="vm.test=1",
        fstab=["LABEL=NOTHERE /mnt ext4 nofail,noauto 0 0"],
        files={"/etc/vm/text": "hello\n",
               "/usr/local/bin/hello": cpio.Exec("#!/bin/sh\necho hello\n"),
               "/etc/systemd/system/vm-test.service":
                   "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n",
               "/etc/systemd/system/multi-user.target.wants/vm-test.service":
                   cpio.Link("../vm-test.service")},
        remove=["/etc/motd"], mask=["udisks2.service"],
        initramfs={"/scripts/init-bottom/vm-files.note": "not a script\n",
                   "/vm-note": "seen in the initramfs\n"})
    assert guest.state() == "running", guest.run("systemctl --failed").out
    assert "vm.test=1" in guest.out("cat /proc/cmdline")
    assert guest.out("hello") == "hello"
    assert "NOTHERE" in guest.out("cat /etc/fstab")
    assert guest.out("systemctl is-active vm-test.service") == "active"
    assert guest.run("systemctl is-active udisks2.service").text == "inactive"
    assert guest.run("test -e /etc/motd").rc == 1
    boot_id = guest.read("/proc/sys/kernel/random/boot_id")
    guest.put("/etc/vm/text", "changed\n")
    guest.reboot()
    assert guest.read("/proc/sys/kernel/random/boot_id") != boot_id
    # The files of a run are written once, not at every boot.
    assert guest.read("/etc/vm/text") == "changed"


@case(tier="full", product=False)
def nothing_to_replace(vm):
    "A fault in a program of uasd that is not in the guest ends the boot: no case with it could fail."
    path = "/usr/lib/uasd/uasd-none"
    for options in {"files": {path: ""}}, {"remove": [path]}:
        try:
            vm.boot(**options)
        except GuestPanic as error:
            assert str(error).startswith("vm-files: usr/lib/uasd/uasd-none is not in this guest"), error
        else:
            raise AssertionError("it booted with " + repr(options))


@case(tier="fast", product=False)
def resumes(vm):
    "A saved guest goes on, with the right time, commands, jobs and files."
    guest = vm.resume()
    assert guest.state() == "running", guest.run("systemctl --failed").out
    skew = abs(float(guest.out("date +%s.%N")) - float(os.popen("date +%s.%N").read()))
    assert skew < 5, skew
    result = guest.run("echo out; echo err >&2; exit 3")
    assert (result.rc, result.out, result.err) == (3, "out\n", "err\n"), result
    job = guest.spawn("sleep 1; echo done; exit 4")
    assert job.poll() is None
    result = job.wait(20)
    assert (result.rc, result.out) == (4, "done\n"), result
    data = os.urandom(300000)
    guest.put("/root/sub/data", data)
    assert guest.get("/root/sub/data") == data
    assert guest.run("cat", input="typed").out == "typed"
    sleeper = guest.spawn("sleep 1000")
    sleeper.kill()
    assert guest.run("pgrep -x sleep").rc == 1
    # What is empty, or failed, is no answer.
    answers = iter(([], "", guest.run("exit 1"), 0, False, None, ["there"]))
    assert guest.until(lambda: next(answers), 20) == ["there"]


@case(tier="fast", product=False)
def stock_kernel_binds_uas(vm):
    "Debian's kernel takes a disk with both protocols on uas."
    disk = vm.disk(label="DATA")
    guest = vm.resume(disks=[disk])
    names = guest.wait_disk(disk.interface, driver="uas")
    assert len(names) == 1
    props = guest.udev("/dev/%s1" % names[0])
    assert props["ID_FS_LABEL"] == "DATA", props
    assert props["ID_USB_INTERFACES"] == ":080650:080662:", props
    assert disk.stats()["uas"]["reads"] > 0
    assert disk.stats()["bot"]["commands"] == 0


def switch(guest, interface, source, target):
    assert guest.sysfs(SYS + source + "/unbind", interface) is None
    assert guest.sysfs(SYS + target + "/bind", interface) is None


@case(tier="fast", image="vendor", product=False)
def vendor_kernel_switches(vm):
    "Without CONFIG_USB_UAS the disk is on usb-storage, and a bare switch works."
    disk = vm.disk(label="DATA")
    guest = vm.resume(disks=[disk])
    guest.wait_disk(disk.interface, driver="usb-storage")
    # udev loads Debian's uas.ko (its CRCs match), but no disk is bound to it.
    guest.wait_until("grep -q ^uas /proc/modules")
    log = guest.kernel_log()
    assert "disagrees about version" not in log
    assert "UAS is ignored" not in log
    assert guest.driver(disk.interface) == "usb-storage"
    switch(guest, disk.interface, "usb-storage", "uas")
    guest.wait_disk(disk.interface, driver="uas")
    # Back without a quirk: this usb-storage never declines.
    switch(guest, disk.interface, "uas", "usb-storage")
    guest.wait_disk(disk.interface, driver="usb-storage")


@case(tier="full", image="vendor", product=False)
def vendor_kernel_boots(vm):
    "At a cold boot the vendor kernel takes a disk with usb-storage, in the initramfs."
    disk = vm.disk(label="DATA")
    guest = vm.boot(fstab=["LABEL=DATA /mnt ext4 defaults 0 2"], disks=[disk])
    assert guest.driver(disk.interface) == "usb-storage"
    assert "/mnt" in guest.mounts()
    switched = [line for line in guest.kernel_log().splitlines()
                if "uas" in line.replace("uasd", "")
                and "interface driver uas" not in line]
    assert not switched, switched


# Resets a device until its devnum is another one, and prints what devnum and dev were: argv[1] is its directory, argv[2] its node.
DURING_RESETS = r"""
import fcntl, os, signal, sys
node = os.open(sys.argv[2], os.O_RDWR)
files = [os.open(sys.argv[1] + "/" + name, os.O_RDONLY) for name in ("devnum", "dev")]
resets = os.fork()
while resets == 0:
    fcntl.ioctl(node, 0x5514)  # USBDEVFS_RESET
seen = [set(), set()]
while len(seen[0]) < 2:
    for file, values in zip(files, seen):
        values.add(os.pread(file, 16, 0).decode().strip())
os.kill(resets, signal.SIGKILL)
for values in seen:
    print(*sorted(values))
"""


@case(tier="full", product=False)
def address_in_a_reset(vm):
    "While a device is reset, its devnum is 0 for a moment, and the number of its node is the same: uasd reads only that."
    # At this speed the kernel asks the device for its descriptor before it gives it the address.
    disk = vm.disk(speed="high")
    guest = vm.resume(disks=[disk])
    guest.wait_disk(disk.interface)
    device = "/sys/bus/usb/devices/" + disk.interface.partition(":")[0]
    bus, number = (int(guest.read(device + "/" + name)) for name in ("busnum", "devnum"))
    node = "/dev/bus/usb/%03d/%03d" % (bus, number)
    out = guest.run("python3 -c '%s' %s %s" % (DURING_RESETS, device, node), timeout=120, check=True).out
    assert out.splitlines() == ["0 %d" % number, "189:%d" % ((bus - 1) * 128 + number - 1)], out


@case(tier="full", product=False)
def power_cut(vm):
    "What was not synced is gone, on the system disk and in the USB disk's cache."
    disk = vm.disk(label="DATA", wcache="volatile")
    guest = vm.resume(disks=[disk])
    guest.wait_disk(disk.interface)
    guest.run("mkdir -p /mnt; mount LABEL=DATA /mnt; sync", check=True)
    for place in ("/root", "/mnt"):
        guest.run("echo kept >%s/synced; sync %s/synced; echo lost >%s/unsynced"
                  % (place, place, place), check=True)
    guest.run("dd if=/dev/urandom of=/mnt/raw bs=64k count=8 oflag=direct", check=True)
    assert disk.dirty() > 0
    guest.power_cut()
    assert disk.dirty() == 0
    assert disk.media[0].cat("synced", 1) == b"kept\n"
    assert not disk.media[0].cat("unsynced", 1)
    guest.boot(disks=[disk])
    assert guest.out("cat /root/synced") == "kept"
    assert guest.run("cat /root/unsynced").text == ""
    guest.run("mount LABEL=DATA /mnt", check=True)
    assert guest.out("cat /mnt/synced") == "kept"
    assert guest.run("cat /mnt/unsynced").text == ""


@case(tier="fast", product=False)
def hotplug(vm):
    "Disks come and go; two LUNs, two disks, other speeds and protocols."
    one = vm.disk(luns=2, label="DATA")
    guest = vm.resume(disks=[one])
    assert len(guest.wait_disk(one.interface, driver="uas", count=2)) == 2
    one.unplug()
    guest.until(lambda: guest.run("test -e /dev/sda").rc or None, 20, "disk gone")
    one.plug()
    guest.wait_disk(one.interface, driver="uas", count=2)
    two = vm.disk(speed="high", alts="bot", vid=0x1234, pid=0xabcd)
    guest.plug(two)
    guest.wait_disk("1-2:1.0", driver="usb-storage")
    assert "1234:abcd" in guest.out("lsusb")
    sum_before = two.media[0].noise()
    # The kernel's cached data is stale now: bypass the cache.
    name = guest.block_devices("1-2:1.0")[0]
    got = guest.out("dd if=/dev/%s bs=1M iflag=direct 2>/dev/null | sha256sum" % name)
    assert got.split()[0] == sum_before


@case(tier="fast", product=False)
def panic_is_noticed(vm):
    "A guest whose kernel dies is not waited for."
    guest = vm.resume()
    try:
        guest.run("echo c >/proc/sysrq-trigger", timeout=60)
    except GuestPanic as panic:
        assert "sysrq triggered crash" in str(panic)
    else:
        raise AssertionError("the panic went unnoticed")

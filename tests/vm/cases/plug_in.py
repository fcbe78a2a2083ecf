# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plug-in: a disk is switched within usb-storage's delay_use."""

from context import case


@case(tier="fast", image="vendor")
def inside_delay_use(vm):
    "Over 20 plug-ins no block device appears under usb-storage; delay_use is 3 s, for this machine is slow."
    twenty_times(vm, 3)


@case(tier="full", image="vendor")
def inside_one_second(vm):
    "The same with the kernel's own delay_use of 1 s, uas loaded: what PID 1 does to load it takes this machine longer than that."
    twenty_times(vm, 1, loaded=True)


def twenty_times(vm, delay, loaded=False):
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run("modprobe usb-storage delay_use=%d" % delay, check=True)
    assert guest.read("/sys/module/usb_storage/parameters/delay_use") == str(delay)
    # The emulator must translate code that runs for the first time, which a processor need not: plug-ins that do not count.
    other = vm.disk(pid=0x5A5B)
    for _round in range(2):
        guest.plug(other)
        guest.wait_disk(other.interface, driver="uas")
        guest.wait_until("uasctl wait %s" % other.interface, 30)
        other.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/%s" % other.interface, 30)
    if not loaded:
        guest.wait_until("rmmod uas", 30)
    # Every block device, with the driver above it, as the kernel announces it.
    events = guest.spawn("exec udevadm monitor --kernel --property --subsystem-match=block --subsystem-match=usb")
    guest.until(lambda: "KERNEL - the kernel uevent" in events.output(), 10, "the monitor")
    for _round in range(20):
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
        guest.wait_until("uasctl wait %s" % disk.interface, 30)
        assert guest.block_devices(disk.interface) == ["sda"]
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/%s" % disk.interface, 30)
    text = events.output()
    events.kill()
    driver, disks, wrong = None, 0, 0
    for block in text.split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if values.get("ACTION") == "bind" and values.get("DEVTYPE") == "usb_interface":
            driver = values.get("DRIVER")
        # The release triggers an `add` of its own, which is marked as synthetic.
        if values.get("ACTION") == "add" and values.get("DEVTYPE") == "disk" and "SYNTH_UUID" not in values:
            disks += 1
            wrong += driver != "uas"
    assert (disks, wrong) == (20, 0), (disks, wrong)
    stats = disk.stats()
    assert stats["bot"]["commands"] == 0, stats["bot"]


@case(tier="fast", image="vendor")
def mounts_as_usual(vm):
    "After a plug-in the disk is ready: links are there, udisks sees it, fstab mounts it."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/systemd/system/mnt-usb.mount":
                             "[Mount]\nWhat=LABEL=DATA\nWhere=/mnt/usb\n"
                             "[Install]\nWantedBy=dev-disk-by\\x2dlabel-DATA.device\n"})
    guest.run("systemctl daemon-reload && systemctl enable mnt-usb.mount", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    guest.wait_until("mountpoint -q /mnt/usb", 30)
    props = guest.udev("/dev/sda1")
    assert props["ID_FS_TYPE"] == "ext4", props
    assert "UASD_HOLD" not in props and props.get("SYSTEMD_READY") != "0", props
    assert props.get("UDISKS_AUTO") != "0", props
    [one] = guest.uasctl("list")["disks"]
    assert one["state"] == "trial" and one["driver"] == "uas", one

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plug-in: a disk is switched within usb-storage's delay_use."""

import re

from context import case


@case(tier="fast", image="vendor")
def inside_delay_use(vm):
    "Twenty plug-ins from the first on, uas not loaded: no block device appears under usb-storage in the kernel's delay_use of 1 s."
    twenty_times(vm)


@case(tier="full", image="vendor", cpus=2)
def inside_delay_use_two_processors(vm):
    "The same on a machine with two processors."
    twenty_times(vm)


def twenty_times(vm, timeout=60, before="true"):
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run(before, timeout, check=True)
    assert guest.out("nproc") == str(vm.cpus.count)
    assert guest.run("grep -E '^(uas|usb_storage) ' /proc/modules").out == "", "nothing is loaded before the first plug-in"
    plugs = plug_in(guest, disk, 20, timeout)
    assert guest.read("/sys/module/usb_storage/parameters/delay_use") == "1"
    assert [plug["drivers"] for plug in plugs] == [["uas"]] * 20, plugs
    assert logged(guest.kernel_log()) == [["uas"]] * 20, logged(guest.kernel_log())
    print("unbound after %s ms" % sorted(round(plug["unbind"] * 1e3) for plug in plugs))
    stats = disk.stats()
    assert stats["bot"]["commands"] == 0, stats["bot"]


def plug_in(guest, disk, count, timeout=60):
    """Plugs DISK in COUNT times, and out. Returns what told() makes of it."""
    # Every block device, with the driver above it, as the kernel announces it.
    events = guest.spawn("exec udevadm monitor --kernel --property --subsystem-match=block --subsystem-match=usb")
    guest.until(lambda: "KERNEL - the kernel uevent" in events.output(), timeout, "the monitor")
    for _round in range(count):
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas", timeout=timeout)
        guest.wait_until("uasctl wait %s" % disk.interface, timeout)
        assert guest.block_devices(disk.interface) == ["sda"]
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/%s" % disk.interface, timeout)
    text = events.output()
    events.kill()
    return told(text)


def told(text):
    """
    For each bind to usb-storage: seconds until the unbind, seconds until the last block device, and the drivers of all block
    devices since.
    """
    driver, plugs = None, []
    for block in text.split("\n\n"):
        when = re.search(r"KERNEL\[([0-9.]+)\]", block)
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        action, kind = values.get("ACTION"), values.get("DEVTYPE")
        if kind == "usb_interface" and action == "bind":
            driver = values.get("DRIVER")
            if driver == "usb-storage":
                bound = float(when.group(1))
                plugs.append({"drivers": []})
        elif kind == "usb_interface" and action == "unbind" and plugs and "unbind" not in plugs[-1]:
            plugs[-1]["unbind"] = float(when.group(1)) - bound
        # The release triggers an `add` of its own, which is marked as synthetic.
        elif kind == "disk" and action == "add" and "SYNTH_UUID" not in values:
            plugs[-1]["drivers"].append(driver)
            plugs[-1]["disk"] = float(when.group(1)) - bound
    return plugs


def logged(text):
    """The same without the times, by the kernel's log: the drivers of the SCSI disks of each plug-in."""
    hosts, plugs = {}, []
    for line in text.splitlines():
        host = re.search(r"scsi host(\d+): (uas|usb-storage)", line)
        device = re.search(r"(?:scsi|sd) (\d+):\d+:\d+:\d+: (?:Direct-Access|\[sd[a-z]+\] Attached)", line)
        if "USB Mass Storage device detected" in line:
            plugs.append(set())
        elif host:
            hosts[host.group(1)] = host.group(2)
        elif device:
            plugs[-1].add(hosts[device.group(1)])
    return [sorted(drivers) for drivers in plugs]


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

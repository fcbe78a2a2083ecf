# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stacked devices on disks, made in a guest before the tested boot."""

import json
import os
import re
import subprocess

import context
import image as images
import saved
from guest import Guest
from media import tool

KEY = "/etc/vm-key"
# Random, but the same in the guest that makes the container and in the one that opens it.
PASSWORD = "correct horse"


def prepare(vm, disks, script):
    """Run SCRIPT with DISKS plugged in, as $A, $B ..., in a guest without uasd. They are off and clean afterwards. The result is
    kept for other cases."""
    with context.clock_stopped():
        image = images.ensure("bookworm")
        key = images.digest(image.key, script, [disk.media[0].size for disk in disks])
        kept = os.path.join(images.cache_dir(), "prepared", key)
        state = saved.ensure(image) if not os.path.isdir(kept) else None
    with images.locked("prepared-" + key):
        if not os.path.isdir(kept):
            make(vm, disks, script, image, state)
            partial = kept + ".partial"
            images.remove_tree(partial)
            os.makedirs(partial)
            for number, disk in enumerate(disks):
                copy(disk.media[0].path, os.path.join(partial, "%d.raw" % number))
            os.rename(partial, kept)
            return
    for number, disk in enumerate(disks):
        copy(os.path.join(kept, "%d.raw" % number), disk.media[0].path)


def copy(source, target):
    subprocess.run(["cp", "--sparse=always", source, target], check=True)


def make(vm, disks, script, image, state):
    guest = Guest(os.path.join(vm.folder, "prepare%d" % len(vm.guests)), image)
    vm.guests.append(guest)
    guest.resume(state)
    variables, names = "", []
    for letter, disk in zip("ABCD", disks):
        guest.plug(disk)
        [name] = guest.wait_disk(disk.interface)
        names.append("/dev/" + name)
        variables += "%s=/dev/%s\n" % (letter, name)
    guest.put(KEY, PASSWORD)
    guest.put("/run/vm-prepare", "set -ex\nexport LC_ALL=C\n" + variables + script)
    guest.run("sh /run/vm-prepare", timeout=200, check=True)
    guest.run("sync; vgchange -an; dmsetup remove_all; mdadm --stop --scan; sync", timeout=60)
    # LVM writes past the page cache: only fsync(2) of the disk itself flushes the disk's cache.
    guest.run("sync %s" % " ".join(names), timeout=60, check=True)
    for disk in disks:
        disk.unplug()
        disk.reset_stats()
        assert disk.dirty() == 0, disk.dirty()
    guest.close()


def bound(guest):
    "The time at which the kernel bound the last disk to uas."
    times = [float(one) for one in re.findall(r"^\[\s*([0-9.]+)\] .*scsi host\d+: uas$",
                                              guest.journal("-b -k"), re.M)]
    assert times, guest.kernel_log()
    return max(times)


def made(guest, device):
    "When udev first saw a device, in seconds since the start. The kernel's log has no message about LVM."
    return int(guest.udev(device)["USEC_INITIALIZED"]) / 1e6


def node(guest, where):
    "The device mounted at WHERE, as /dev/dm-0 or /dev/md127."
    return guest.out("readlink -f $(findmnt -no SOURCE %s)" % where)


def healthy(guest, disks, driver="uas"):
    "Booted, nothing failed, every disk on DRIVER, no error on any of them."
    assert guest.state() == "running", guest.out("systemctl --failed")
    for disk in disks:
        assert guest.driver(disk.interface) == driver, (disk.interface, guest.driver(disk.interface))
    errors = [line for line in guest.kernel_log().splitlines()
              if re.search(r"I/O error|Buffer I/O|degraded|resync|lost async", line)]
    assert not errors, errors


def nothing_left(guest):
    "No hold, no switch in progress."
    assert not guest.run("ls /run/uasd/hold").text
    assert not guest.run("ls /run/uasd/switch | grep -v lock").text
    assert guest.run("udevadm info --export-db | grep UASD_HOLD=1").rc == 1


def partuuid(disk, number):
    table = json.loads(tool(["sfdisk", "--json", disk.media[0].path]))["partitiontable"]
    return table["partitions"][number - 1]["uuid"].lower()


def image_kernel(image):
    "The release of a guest's kernel, as uname -r says."
    kernel = subprocess.run(["file", "-bL", image.kernel], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"version (\S+)", kernel).group(1)


def disk_key(disk):
    return "1209:%04x:%s" % (disk.config.get("pid", 0x5A5A), disk.config["serial"])


def record(vm, disk, port, state):
    "A line of /etc/uasd/history on DISK at PORT, with the guest's kernel."
    return "%s@0000:00:02.0/ss/%d=state=%s firmware=0100 kernel=%s boot=- date=2026-01-01T00:00:00Z reason=\n" % (
        disk_key(disk), port, state, image_kernel(vm.image()))


def passed(vm, *disks):
    """/etc/uasd/history of a machine on which DISKS, on ports 1, 2 ..., have passed their trial; None skips a port."""
    return {"/etc/uasd/history": "".join(record(vm, disk, port, "passed") for port, disk in enumerate(disks, 1) if disk)}


def distrusted(vm, disk, port):
    """... and of one on which DISK has failed at PORT."""
    return {"/etc/uasd/history": record(vm, disk, port, "distrusted")}


def policy(disk, word):
    """/etc/uasd/policy with the policy of one disk."""
    return {"/etc/uasd/policy": "%s=%s\n" % (disk_key(disk), word)}

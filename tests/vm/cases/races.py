# SPDX-License-Identifier: LGPL-2.1-or-later
"""Between check and act: a process that opens the disk while a switch examines it gets it, and does not fail because of a claim."""

import statistics

import within
from context import case
from within import blocks

BLOCKS = 256
FOREIGN = "aaaa:bbbb:c,dead:beef:m"


def tell_times(action, took):
    """The delay that a switch causes to other programs, beside the same without one. Printed, not judged: the manual promises no
    time."""
    for when, seconds in took.items():
        if seconds:
            print("  %s, %s: median %.0f ms, longest %.0f ms, %d times" % (
                action, when, 1000 * statistics.median(seconds), 1000 * max(seconds), len(seconds)), flush=True)


def raced(vm, seconds, files=None, **config):
    disk = vm.disk(size="16M", partitions=["4M", "4M", None], wcache="volatile")
    [media] = disk.media
    media.ext4("DATA", 1)
    blocks.fill(media.path, 0, media.area(2)[0], BLOCKS)
    guest = vm.resume(files=files)
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    told = within.run(guest, "races", dict(config, interface=disk.interface, blocks=BLOCKS, seed=1), seconds)
    print(told["count"], flush=True)
    for action, took in told["took"].items():
        tell_times(action, took)
    assert not told["wrong"], "\n".join(told["wrong"])
    assert "another disk shows" not in guest.journal("-b -u uasd")
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == ""
    assert guest.run("ls -A /run/uasd/hold").text == ""
    return told["count"]


@case(limit=400, cpus=2)
def formatted_behind_its_back(vm):
    "A partition is formatted when its disk has been read and before it goes, each way: that is the disk that is moved, and nothing is held against it."
    # Without udev's look after a write, for which the switch would begin again.
    count = raced(vm, 300, {"/etc/udev/rules.d/99-vm.rules": 'SUBSYSTEM=="block", OPTIONS+="nowatch"\n'}, standing=[("mkfs", "delete")] * 2)
    assert count["mkfs"] == {"good": 2, "away": 0}, count


@case(tier="full", limit=900, cpus=2)
def while_it_looks(vm):
    "mount, fsck, mkfs, swapon and writers while a switch stands still before it claims: all succeed, the switch waits, and goes."
    standing = [("mount", "delete"), ("fsck", "fingerprint"), ("swapon", "delete"), ("write", "delete"), ("mkfs", "prepare"),
                ("keeps_open", "sync")]
    count = raced(vm, 800, standing=standing)
    assert all(count[action] == {"good": 1, "away": 0} for action, _step in standing), count


@case(limit=300, cpus=2)
def opened_in_the_fsync(vm):
    "A writer opens the raw node while uasd's fsync of it is under way in the kernel, and writes: it is waited for, and nothing of his is lost."
    disk = vm.disk(label="DATA", wcache="volatile")
    guest = vm.resume()
    guest.run("systemctl stop udisks2", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    guest.wait_until("uasctl wait %s" % disk.interface, 60)
    guest.run("dd if=/dev/urandom of=/dev/sda1 bs=64k count=16 conv=notrunc status=none; udevadm settle; uasctl wait sda", check=True)
    disk.fault(name="delay", op="sync", ms=8000, count=1)
    asked = guest.spawn("uasctl switch sda usb-storage --wait=60")
    # In the kernel, which has sent a flush to the disk and waits.
    guest.wait_until("grep -qs '(uasd-switch) D' /proc/$(pgrep -x uasd-switch | head -n 1)/stat", 20)
    written = guest.out("exec 3<>/dev/sda1; head -c 65536 /dev/urandom | tee /run/said >&3; sleep 12; "
                        "uasctl list --json | grep -o '\"driver\": *\"[a-z-]*\"'; sha256sum </run/said", timeout=60).split()
    assert written[:2] == ['"driver":', '"uas"'], written
    guest.wait_disk(disk.interface, driver="usb-storage")
    asked.wait(60)
    assert guest.out("head -c 65536 /dev/%s1 | sha256sum" % guest.block_devices(disk.interface)[0]).split()[0] == written[2]
    assert disk.dirty() == 0


# On two processors a program can open the disk between the claim and the delete (docs/switch.md): of a hundred this many may.
CLAIMED = 3


def hundred(vm, *actions, rounds=100):
    """Each of ACTIONS this number of times, at any moment of a switch."""
    count = raced(vm, 2500, {"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=0\nTrialSec=0\n"}, actions=actions, rounds=rounds,
                  claimed=CLAIMED * len(actions) if vm.cpus.count > 1 else 0)
    for action in actions:
        one = count[action]
        print("%s: %d went well, %d found no such device, %.1f s a round" % (action, one["good"], one["away"], one["seconds"]),
              flush=True)
        # No program got another error, and there were programs to get one.
        claimed = one.get("claimed at delete", 0)
        assert one["good"] + one["away"] + claimed == rounds and one["good"] >= rounds // 4, count


@case(tier="full", limit=2600, cpus=2)
def hundred_mounts(vm):
    "A mount at any moment of a hundred switches: it goes well, or there is no such device; hardly ever busy, never an error, nothing lost."
    hundred(vm, "mount")


@case(tier="full", limit=2600)
def hundred_checks(vm):
    "The same with e2fsck on one processor: never busy."
    hundred(vm, "fsck")


@case(tier="full", limit=2600, cpus=2)
def hundred_mkfs(vm):
    "The same with mkfs, which writes for longer than a switch takes."
    hundred(vm, "mkfs")


@case(tier="full", limit=2600)
def hundred_swaps(vm):
    "The same with swapon and swapoff on one processor: never busy."
    hundred(vm, "swapon")


@case(tier="full", limit=600, cpus=2)
def several_at_once(vm):
    "Four disks, two of them alike to the serial number, are switched at the same time, both ways: nothing lost or mixed up."
    alike = {"pid": 0x5A60, "serial": "ALIKE"}
    disks = [vm.disk(size="8M", luns=luns, wcache="volatile", **known)
             for luns, known in ((1, alike), (1, alike), (2, {"pid": 0x5A61}), (1, {"speed": "high"}))]
    guest = vm.resume()
    guest.run("systemctl stop udisks2; modprobe usb-storage; echo %s >/sys/module/usb_storage/parameters/quirks" % FOREIGN,
              check=True)
    for disk in disks:
        guest.plug(disk)
    for target in ("usb-storage", "uas", "usb-storage", "uas"):
        written = {}
        for disk in disks:
            nodes = guest.wait_disk(disk.interface, count=len(disk.media))
            written[disk] = [guest.out("head -c 3M /dev/urandom | tee /dev/%s | sha256sum" % node) for node in nodes]
        guest.run("udevadm settle", check=True)
        asked = guest.run("for i in %s; do (uasctl switch $i %s --wait=120; echo $?) & done; wait"
                          % (" ".join(disk.interface for disk in disks), target), 200)
        assert asked.out.split().count("0") == len(disks), asked
        for disk in disks:
            nodes = guest.wait_disk(disk.interface, driver=target, count=len(disk.media))
            told = [guest.out("head -c 3M /dev/%s | sha256sum" % node) for node in nodes]
            assert told == written[disk], (target, disk.interface, nodes)
            assert disk.dirty() == 0, (target, disk.interface)
        assert guest.read("/sys/module/usb_storage/parameters/quirks") == FOREIGN

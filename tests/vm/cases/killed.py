# SPDX-License-Identifier: LGPL-2.1-or-later
"""Killed anywhere: the disk works on a driver, nothing is lost, nothing is left behind, and the journal tells."""

import within
from context import case
from within import blocks

QUIRKS = "aaaa:bbbb:c,0x1209:0x5b5b:u,dead:beef:m"
BLOCKS = 512


def verified(vm, luns=2, **config):
    """A disk of LUNS, each with a partition of verified data behind one for file systems."""
    config.setdefault("wcache", "volatile")
    disk = vm.disk(size="8M", luns=luns, partitions=["4M", None], **config)
    for lun, media in enumerate(disk.media):
        blocks.fill(media.path, lun, media.area(2)[0], BLOCKS)
    return disk


def killed(vm, *runs, seed=1, luns=2):
    """All RUNS in one guest: {who, does, rest, seconds, ...}, see within/kills.py."""
    disk = verified(vm, luns)
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas", count=luns)
    told = within.run(guest, "kills", {"interface": disk.interface, "luns": luns, "part": "2", "blocks": BLOCKS,
                                       "quirks": QUIRKS, "seed": seed, "runs": runs},
                      sum(run["seconds"] for run in runs) + 300)
    print(told["count"], flush=True)
    assert not told["wrong"], "\n".join(told["wrong"])
    # Each that left a record was finished or undone, and the journal says so.
    journal = guest.journal("-b -u uasd")
    assert journal.count("was left at step") >= told["count"]["records"], journal[-4000:]
    assert disk.dirty() == 0 or guest.run("sync").rc == 0
    return told["count"]


@case(tier="full", limit=1200)
def at_some_calls(vm):
    "uasd-switch, uasd, both killed at a sample of their system calls, each way: data, driver, quirks, holds, journal."
    count = killed(vm, {"who": "self", "does": 8, "seconds": 300}, {"who": "both", "does": 4, "seconds": 200},
                   {"who": "daemon", "does": 3, "seconds": 200}, luns=1)
    assert count["killed"] >= 12 and count["records"] >= 6 and count["moved"] and count["back"], count


@case(tier="full", limit=7200)
def switch_at_every_call(vm):
    "uasd-switch killed at every system call that does anything, each way, and at every ninth of the others."
    count = killed(vm, {"who": "self", "rest": 300, "seconds": 6000})
    assert count["left"] == 0, count


@case(tier="full", limit=7200)
def both_at_every_call(vm):
    "The same, and its daemon dies with it."
    count = killed(vm, {"who": "both", "seconds": 4000})
    assert count["left"] == 0, count


@case(tier="full", limit=7200)
def daemon_at_every_call(vm):
    "uasd killed at every system call it makes while it has a disk switched."
    count = killed(vm, {"who": "daemon", "rest": 60, "seconds": 4000})
    assert count["left"] == 0, count


@case(tier="full", limit=3600)
def twice(vm):
    "uasd-switch killed, and so is the one that puts it in order."
    count = killed(vm, {"who": "self", "does": 40, "again": True, "seconds": 2000})
    assert count["left"] == 0, count


STEPS = ("record", "claim", "sync", "fingerprint", "prepare", "delete", "unbind", "bind", "appear", "verify", "release")
# What was dirty before `fingerprint` was synced by then: nobody may lose it any more.
SYNCED = STEPS[STEPS.index("fingerprint"):]


def steps(vm, guest, disk):
    luns = len(disk.media)
    return within.Steps(guest, disk, {"interface": disk.interface, "luns": luns, "part": "2", "blocks": 128,
                                      "quirks": QUIRKS, "seed": 1})


def resumed(vm, luns=2):
    disk = verified(vm, luns)
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas", count=luns)
    world = steps(vm, guest, disk)
    world.begin()
    world.learn()
    return disk, guest, world


def pulled_out(vm, which, luns=2):
    disk, guest, world = resumed(vm, luns)
    for driver, step in which:
        if world.driver != driver:
            world.what = "on the way"
            guest.run("uasctl switch sda %s --wait=90" % driver, 120, check=True)
            world.check()
        pid = world.stop(step)
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/" + disk.interface, 20)
        world.guest.run("kill -CONT %d" % pid)
        guest.wait_until("! test -e /proc/%d" % pid, 60)
        if step in SYNCED:
            world.ledgers = [[newest, newest] for newest, _durable in world.ledgers]
        disk.plug()
        guest.wait_disk(disk.interface, count=luns)
        world.check(lossy=True)
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == QUIRKS


@case(tier="full", limit=600)
def pulled_out_at_some_steps(vm):
    "The disk is unplugged in the middle of a switch and plugged in again: nothing of the switch is left, nothing synced is lost."
    pulled_out(vm, [("uas", "unbind"), ("uas", "appear"), ("usb-storage", "bind")], luns=1)


@case(tier="full", limit=3600)
def pulled_out_at_every_step(vm):
    "The same before every step, each way, a disk of two LUNs."
    pulled_out(vm, [("uas", step) for step in STEPS] + [("usb-storage", step) for step in STEPS])


def cut(vm, which):
    "Power cuts before steps of a switch; after each the machine boots, with the disk in its fstab."
    disk = vm.disk(size="16M", partitions=["4M", None], wcache="volatile")
    [media] = disk.media
    media.ext4("DATA", 1)
    blocks.fill(media.path, 0, media.area(2)[0], BLOCKS)
    boot = {"fstab": ["LABEL=DATA /mnt ext4 defaults 0 2"], "disks": [disk]}
    guest = vm.boot(**boot)
    world = steps(vm, guest, disk)
    for driver, step in which:
        guest.run("umount /mnt", check=True)
        world.begin()
        if not world.plan:
            world.learn()
        if world.driver != driver:
            guest.run("uasctl switch sda %s --wait=90" % driver, 120, check=True)
            world.what = "on the way"
            world.check()
        world.stop(step)
        guest.power_cut()
        if step in SYNCED:
            world.ledgers = [[newest, newest] for newest, _durable in world.ledgers]
        guest.boot(**boot)
        assert "/mnt" in guest.mounts(), "the boot went without the disk"
        failed = guest.out("systemctl list-units --failed --plain --no-legend")
        assert not failed, failed
        within.put(guest)
        world.check(lossy=True, quirks="")
        assert media.fsck(1) or guest.run("umount /mnt && e2fsck -fn /dev/sda1 && mount /mnt").rc == 0


@case(tier="full", limit=600)
def power_cut_between_the_drivers(vm):
    "The power goes while the disk has no driver: the machine boots and mounts it, nothing that was synced is lost."
    cut(vm, [("uas", "bind")])


@case(tier="full", limit=7200)
def power_cut_at_every_step(vm):
    "The same before every step, each way."
    cut(vm, [("uas", step) for step in STEPS] + [("usb-storage", step) for step in STEPS])


def hanging(guest, state="D"):
    """The uasd-switch that sits in the kernel."""
    text = guest.run("ps -o stat=,pid=,args= -C uasd-switch,uasd-switch.vm").out
    return [line for line in text.splitlines() if line.strip().startswith(state)]


@case(tier="full", limit=900)
def restarted_over_a_hanging_child(vm):
    "uasd is killed and comes back while its child sits in D state: that child alone moves the disk, and binds once."
    disk, guest, world = resumed(vm, luns=1)
    world.what = "on the way"
    if world.driver != "usb-storage":
        guest.run("uasctl switch sda usb-storage --wait=90", 120, check=True)
        world.check()
    pid = world.stop("delete")
    binds = disk.stats()["set_interface"].get("1", 0)
    disk.fault(name="hang", proto="bot", op="sync")
    guest.run("kill -CONT %d" % pid)
    guest.until(lambda: hanging(guest), 60, "a uasd-switch in D state")
    before = guest.out("systemctl show -P MainPID uasd")
    guest.run("systemctl kill --kill-whom=main -s KILL uasd", check=True)
    guest.wait_until("test $(systemctl show -P MainPID uasd) -gt 0 && test $(systemctl show -P MainPID uasd) != " + before, 30)
    guest.wait_until("uasctl list", 60)
    assert hanging(guest), "it hangs no more"
    [one] = guest.uasctl("list")["disks"]
    assert one["state"] == "switching", one
    # A second one may not begin, whoever asks for it.
    asked = guest.run("/usr/lib/uasd/uasd-switch.vm %s uas" % disk.interface)
    assert asked.rc == 3 and "another switch" in asked.err, asked
    disk.clear_faults()
    guest.until(lambda: not hanging(guest, ""), 300, "the child has ended")
    world.check()
    guest.until(lambda: guest.uasctl("list")["disks"][0]["state"] in ("settled", "trial", "failed"), 60, "at rest")
    after = disk.stats()["set_interface"].get("1", 0)
    assert after - binds <= 1, (binds, after)
    assert guest.driver(disk.interface) in ("uas", "usb-storage")

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Killed anywhere: the disk works on a driver, nothing is lost, nothing remains, and the journal reports it."""

import re

import within
from context import case
from evidence import DISTRUSTED, disk_in, messages, record_of
from holds import LABEL
from stepped import BLOCKS, QUIRKS, back, bring, main_pid, resumed, steps, verified
from within import blocks


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
    # Each switch with a record was completed or undone, and the journal reports that.
    journal = guest.journal("-b -u uasd")
    assert journal.count("was left at step") >= told["count"]["records"], journal[-4000:]
    return told["count"]


@case(limit=1200, cpus=2)
def at_some_calls(vm):
    "uasd-switch, uasd, both killed at a sample of their system calls, each way: data, driver, quirks, holds, journal."
    count = killed(vm, {"who": "self", "does": 4, "seconds": 300}, {"who": "both", "does": 2, "seconds": 200},
                   {"who": "daemon", "does": 1, "seconds": 200}, luns=1)
    assert count["killed"] >= 6 and count["records"] >= 3 and count["moved"] and count["back"], count


@case(image="trixie", limit=1200, also=("bullseye", "sid"))
def at_a_few_calls(vm):
    "A smaller sample on other kernels."
    count = killed(vm, {"who": "self", "does": 2, "seconds": 200}, {"who": "both", "does": 1, "seconds": 200}, seed=7, luns=1)
    assert count["killed"] >= 3 and count["records"] >= 1 and count["moved"] and count["back"], count


@case(tier="full", image="vendor", limit=1200, cpus=2)
def at_some_calls_vendor(vm):
    "The same on a kernel without UAS of its own, where a bind takes other paths."
    count = killed(vm, {"who": "self", "does": 8, "seconds": 300}, {"who": "both", "does": 4, "seconds": 200}, seed=5, luns=1)
    assert count["killed"] >= 10 and count["records"] >= 4 and count["moved"] and count["back"], count


@case(tier="full", limit=3000, cpus=2)
def switch_at_every_call(vm):
    "uasd-switch killed once at every call that reaches beyond itself, each way, and at a sample of the others."
    count = killed(vm, {"who": "self", "does": None, "rest": 12, "seconds": 2600}, seed=2, luns=1)
    assert not count["left"] and count["killed"] >= 200 and count["records"] >= 150, count


@case(tier="full", limit=3400, cpus=2)
def both_at_every_call(vm):
    "uasd-switch and uasd with it, at every such call; the next uasd puts it in order."
    count = killed(vm, {"who": "both", "does": None, "rest": 8, "seconds": 3000}, seed=3, luns=1)
    assert not count["left"] and count["killed"] >= 200 and count["records"] >= 150, count


@case(tier="full", limit=2600, cpus=2)
def daemon_at_every_call(vm):
    "uasd killed at every such call of its own while it has a switch done, which ends well without it."
    count = killed(vm, {"who": "daemon", "does": None, "rest": 12, "seconds": 2200}, seed=4, luns=1)
    # The number of polls varies from switch to switch: more than two thirds of the calls are not reached.
    assert not count["left"] and count["daemon"] >= 20, count


@case(tier="full", image="vendor", limit=2100, cpus=2)
def while_it_rolls_back(vm):
    "uasd-switch killed at calls of the way back from uas, where verify failed: no child of it lives, nor its claim; the data is whole."
    disk = verified(vm, luns=1)
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\nQuietSec=0\n"})
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    # Killed before the verdict it is on uas, and readable except with a full queue. Without the delay no queue would form.
    disk.fault(name="delay", proto="uas", op="read", ms=6)
    disk.fault(name="fail", proto="uas", op="read", queue=16, zlp=True)  # with outstanding data uas retries it
    told = within.run(guest, "kills", {"interface": disk.interface, "luns": 1, "part": "2", "blocks": BLOCKS, "quirks": QUIRKS,
                                       "seed": 6, "runs": [{"who": "self", "after": "verify", "does": 12, "seconds": 900},
                                                           {"who": "both", "after": "verify", "does": 4, "seconds": 400}]}, 2000)
    print(told["count"], flush=True)
    assert not told["wrong"], "\n".join(told["wrong"])
    assert told["count"]["killed"] >= 10 and told["count"]["records"] >= 6, told["count"]


PLUG_IN = ("identify", "record", "detach", "claim", "sync", "fingerprint", "prepare", "trial", "delete", "unbind", "bind", "appear",
           "verify", "release")


@case(tier="full", image="vendor", limit=900, cpus=2)
def at_plug_in(vm):
    "uasd-switch killed before every step at plug-in, where the unbind comes first: the disk appears, and is not to blame."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    within.put(guest)
    # With strace the unbind comes later than a second after the bind.
    guest.run("cd %s && python3 -c 'import kills; kills.wrap()' && modprobe usb-storage delay_use=5" % within.THERE, check=True)
    for number, step in enumerate(PLUG_IN, 1):
        guest.put("/run/vm-kill.stop", "%d signal=KILL\n" % number)
        guest.plug(disk)
        guest.wait_until("! test -e /run/vm-kill.stop", 30)
        guest.wait_disk(disk.interface)
        guest.run("uasctl wait %s" % disk.interface, 120)
        assert guest.block_devices(disk.interface) == ["sda"], step
        assert guest.driver(disk.interface) in ("uas", "usb-storage"), step
        left = guest.run("ls /run/uasd/switch/%s /run/uasd/hold/%s" % (disk.interface, disk.interface)).out
        assert not left, (step, left)
        assert not guest.run("grep distrusted /etc/uasd/history").out, step
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/%s" % disk.interface, 30)
    left = re.findall(r"from usb-storage to uas was left at step (\w+)", guest.journal("-b -u uasd"))
    # The one that was to begin has not: the record names the step before. A slow machine may defer a switch before its last steps.
    assert set(PLUG_IN[1:9]) <= set(left), left


STEPS = ("record", "claim", "sync", "fingerprint", "prepare", "trial", "delete", "unbind", "bind", "appear", "verify", "release")
# Data that was dirty before `fingerprint` is synced by then: it must not be lost any more.
SYNCED = STEPS[STEPS.index("fingerprint"):]
# From here on its trial is on record.
TRIED = STEPS[STEPS.index("delete"):]


@case(tier="full", limit=1800, cpus=2)
def switch_after_every_step(vm):
    "uasd-switch killed after every step, each way, a disk of two LUNs with unsynced data."
    disk, guest, world = resumed(vm)
    for driver, plan in world.plan.items():
        done = list(plan)
        for after, step in zip(done, done[1:]):
            bring(guest, world, driver)
            pid = world.stop(step)
            before = guest.journal("-b -u uasd")
            guest.run("kill -KILL %d" % pid, check=True)
            guest.wait_until("uasctl list", 60)
            world.check()
            guest.run("uasctl wait %s" % disk.interface, 120)
            said = guest.journal("-b -u uasd")
            # The first step has no record yet.
            told = "switch from %s to %s was left at step %s" % (driver, "uas" if driver != "uas" else "usb-storage", after)
            assert said.count(told) == before.count(told) + (after != "identify"), (told, said[-3000:])
            ends = ("uasd-switch ended by signal 9", "though uasd-switch was killed")
            assert sum(said.count(end) - before.count(end) for end in ends) == 1, (step, said[-3000:])


@case(tier="full", limit=1800, cpus=2)
def both_after_every_step(vm):
    "uasd-switch and uasd killed after every step, each way; the next uasd finds the record, and says what it was."
    disk, guest, world = resumed(vm)
    for driver, plan in world.plan.items():
        done = list(plan)
        for after, step in zip(done, done[1:]):
            bring(guest, world, driver)
            pid, daemon = world.stop(step), main_pid(guest)
            told = "switch from %s to %s was left at step %s" % (driver, "uas" if driver != "uas" else "usb-storage", after)
            before = guest.journal("-b -u uasd").count(told)
            # uasd is stopped first, so it does not see the end of its child.
            guest.run("kill -STOP %d; kill -KILL %d; kill -KILL %d" % (daemon, pid, daemon), check=True)
            back(guest, daemon)
            # The request may go on: it is kept until the disk is unplugged.
            guest.run("uasctl wait %s" % disk.interface, 120, check=True)
            world.check()
            # The first step has no record yet.
            assert guest.journal("-b -u uasd").count(told) == before + (after != "identify"), (told, guest.journal("-b -u uasd")[-3000:])


@case(tier="full", limit=1800, cpus=2)
def pulled_out_at_every_step(vm):
    "Unplugged before every step, each way, and plugged in again: nothing of the switch is left but its ending, nothing synced is lost."
    disk, guest, world = resumed(vm)
    for rounds, (driver, step) in enumerate(((driver, step) for driver in ("uas", "usb-storage") for step in STEPS), 1):
        bring(guest, world, driver)
        before = record_of(guest, disk)
        pid = world.stop(step)
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/" + disk.interface, 20)
        guest.run("kill -CONT %d" % pid)
        guest.wait_until("! test -e /proc/%d" % pid, 60)
        guest.until(lambda: guest.journal("-b -u uasd").count("unplugged in the middle of a switch from " + driver) == (
            rounds if driver == "uas" else rounds - len(STEPS)), 20, "it is told once, before " + step)
        # A trial in progress ends with its attachment. The trial of the switch has not begun.
        ended = [line.replace("state=trial ", "state=ended ") for line in before]
        guest.until(lambda: record_of(guest, disk) == ended, 20, "what is on record is as before, before " + step)
        if step in SYNCED:
            world.ledgers = [[newest, newest] for newest, _durable in world.ledgers]
        disk.plug()
        guest.wait_disk(disk.interface, count=len(disk.media))
        world.check(lossy=True)
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == QUIRKS


def after_cut(guest, disk, world, step, boot):
    """The machine boots with the disk in its fstab. Returns its report about the disk."""
    guest.boot(disks=[disk], **boot)
    assert "/mnt" in guest.mounts(), "the boot went without the disk"
    failed = guest.out("systemctl list-units --failed --plain --no-legend")
    assert not failed, failed
    if step in SYNCED:
        world.ledgers = [[newest, newest] for newest, _durable in world.ledgers]
    within.put(guest)
    world.check(lossy=True, quirks="")
    guest.run("umount /mnt && e2fsck -fn /dev/disk/by-label/DATA", check=True)
    return disk_in(guest, disk, "settled", 60)


def cut_before_steps(vm, before, config="", ready="true"):
    """The power fails before each step in turn of switches from BEFORE, when READY. Yields the step, and the disk after that
    boot."""
    boot = {"fstab": [LABEL], "files": {"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=40\n" + config}}
    disk = vm.disk(size="16M", partitions=["4M", None], wcache="volatile")
    [media] = disk.media
    media.ext4("DATA", 1)
    blocks.fill(media.path, 0, media.area(2)[0], BLOCKS)
    guest = vm.boot(disks=[disk], **boot)
    guest.run("umount /mnt", check=True)
    world = steps(vm, guest, disk)
    for step in STEPS:
        world.begin()
        if not world.plan:
            world.learn()
        bring(guest, world, before)
        guest.wait_until(ready)
        world.stop(step)
        guest.power_cut()
        disk.reset_stats()
        yield guest, disk, step, after_cut(guest, disk, world, step, boot)


@case(tier="full", image="vendor", limit=2700)
def power_cut_on_the_way_to_uas(vm):
    "The power goes after every step to uas: the next boot has its disk and what was synced; once the trial is on record, off uas."
    for guest, disk, step, one in cut_before_steps(vm, "usb-storage"):
        if step in TRIED:
            assert (one["driver"], one["reason_id"]) == ("usb-storage", "distrusted"), one
            assert "went down in the middle of its trial" in one["history"], one
            assert messages(guest, DISTRUSTED) == 1 and disk.stats()["set_interface"].get("1", 0) == 0
            guest.run("uasctl forget %s" % disk.interface, check=True)
            guest.wait_disk(disk.interface, driver="uas")
        else:
            assert one["driver"] == "uas" and one["history"] == "on trial" and messages(guest, DISTRUSTED) == 0, one


@case(tier="full", limit=2700, also=("bullseye", "sid"))
def power_cut_on_the_way_from_uas(vm):
    "The power goes after every step off uas: the next boot has its disk and what was synced, and blames nobody."
    # Its trial has ended: another case.
    for guest, _disk, _step, one in cut_before_steps(vm, "uas", "TrialSec=0\n", "grep -q state=passed /etc/uasd/history"):
        assert one["driver"] == "uas" and messages(guest, DISTRUSTED) == 0, one

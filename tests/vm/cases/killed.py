# SPDX-License-Identifier: LGPL-2.1-or-later
"""Killed anywhere: the disk works on a driver, nothing is lost, nothing is left behind, and the journal tells."""

import re

import within
from context import case
from evidence import DISTRUSTED, disk_in, gone, messages, stranded, switch, well
from holds import LABEL
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
    guest.wait_disk(disk.interface, driver="uas", timeout=60, count=luns)
    told = within.run(guest, "kills", {"interface": disk.interface, "luns": luns, "part": "2", "blocks": BLOCKS,
                                       "quirks": QUIRKS, "seed": seed, "runs": runs},
                      sum(run["seconds"] for run in runs) + 300)
    print(told["count"], flush=True)
    assert not told["wrong"], "\n".join(told["wrong"])
    # Each that left a record was finished or undone, and the journal says so.
    journal = guest.journal("-b -u uasd")
    assert journal.count("was left at step") >= told["count"]["records"], journal[-4000:]
    return told["count"]


@case(tier="full", limit=1200)
def at_some_calls(vm):
    "uasd-switch, uasd, both killed at a sample of their system calls, each way: data, driver, quirks, holds, journal."
    count = killed(vm, {"who": "self", "does": 8, "seconds": 300}, {"who": "both", "does": 4, "seconds": 200},
                   {"who": "daemon", "does": 3, "seconds": 200}, luns=1)
    assert count["killed"] >= 12 and count["records"] >= 6 and count["moved"] and count["back"], count


@case(tier="full", image="vendor", limit=1200)
def at_some_calls_vendor(vm):
    "The same on a kernel without UAS of its own, where a bind takes other paths."
    count = killed(vm, {"who": "self", "does": 8, "seconds": 300}, {"who": "both", "does": 4, "seconds": 200}, seed=5, luns=1)
    assert count["killed"] >= 10 and count["records"] >= 4 and count["moved"] and count["back"], count


@case(tier="full", limit=3000)
def switch_at_every_call(vm):
    "uasd-switch killed once at every call that reaches beyond itself, each way, and at a sample of the others."
    count = killed(vm, {"who": "self", "does": None, "rest": 12, "seconds": 2600}, seed=2, luns=1)
    assert not count["left"] and count["killed"] >= 200 and count["records"] >= 150, count


@case(tier="full", limit=3400)
def both_at_every_call(vm):
    "uasd-switch and uasd with it, at every such call; the next uasd puts it in order."
    count = killed(vm, {"who": "both", "does": None, "rest": 8, "seconds": 3000}, seed=3, luns=1)
    assert not count["left"] and count["killed"] >= 200 and count["records"] >= 150, count


@case(tier="full", limit=1500)
def daemon_at_every_call(vm):
    "uasd killed at every such call of its own while it has a switch done, which ends well without it."
    count = killed(vm, {"who": "daemon", "does": None, "rest": 12, "seconds": 1100}, seed=4, luns=1)
    # How often it polls differs from switch to switch: a good two thirds are not reached.
    assert not count["left"] and count["daemon"] >= 20, count


@case(tier="full", image="vendor", limit=2100)
def while_it_rolls_back(vm):
    "uasd-switch killed at calls of the way back from uas, where verify failed: no child of it lives, nor its claim; the data is whole."
    disk = verified(vm, luns=1)
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\nQuietSec=0\n"})
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage", timeout=60)
    disk.fault(name="fail", proto="uas", op="read", after=20)
    told = within.run(guest, "kills", {"interface": disk.interface, "luns": 1, "part": "2", "blocks": BLOCKS, "quirks": QUIRKS,
                                       "seed": 6, "runs": [{"who": "self", "after": "verify", "does": 12, "seconds": 900},
                                                           {"who": "both", "after": "verify", "does": 4, "seconds": 400}]}, 2000)
    print(told["count"], flush=True)
    assert not told["wrong"], "\n".join(told["wrong"])
    assert told["count"]["killed"] >= 10 and told["count"]["records"] >= 6, told["count"]


STEPS = ("record", "claim", "sync", "fingerprint", "prepare", "trial", "delete", "unbind", "bind", "appear", "verify", "release")
# What was dirty before `fingerprint` was synced by then: nobody may lose it any more.
SYNCED = STEPS[STEPS.index("fingerprint"):]
# From here on its trial is on record.
TRIED = STEPS[STEPS.index("delete"):]


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


def bring(guest, world, driver):
    """By a switch that nothing befalls."""
    if world.driver != driver:
        world.what = "on the way"
        guest.run("uasctl switch %s %s --wait=90" % (world.config["interface"], driver), 120, check=True)
        world.check()


@case(tier="full", limit=1800)
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


def main_pid(guest):
    return int(guest.out("systemctl show -P MainPID uasd"))


def back(guest, before):
    """Until PID 1 has started another uasd than BEFORE, and that answers."""
    guest.until(lambda: main_pid(guest) not in (0, before), 30, "another uasd")
    guest.wait_until("uasctl list", 60)


@case(tier="full", limit=1800)
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
            # Stopped first, it sees nothing of its child's end.
            guest.run("kill -STOP %d; kill -KILL %d; kill -KILL %d" % (daemon, pid, daemon), check=True)
            back(guest, daemon)
            # What was asked for may go on: that is kept until the disk is unplugged.
            guest.run("uasctl wait %s" % disk.interface, 120, check=True)
            world.check()
            # The first step has no record yet.
            assert guest.journal("-b -u uasd").count(told) == before + (after != "identify"), (told, guest.journal("-b -u uasd")[-3000:])


@case(tier="full", limit=1800)
def pulled_out_at_every_step(vm):
    "Unplugged before every step, each way, and plugged in again: nothing of the switch is left, nothing synced is lost."
    disk, guest, world = resumed(vm)
    for driver, step in [(driver, step) for driver in ("uas", "usb-storage") for step in STEPS]:
        bring(guest, world, driver)
        pid = world.stop(step)
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/" + disk.interface, 20)
        guest.run("kill -CONT %d" % pid)
        guest.wait_until("! test -e /proc/%d" % pid, 60)
        if step in SYNCED:
            world.ledgers = [[newest, newest] for newest, _durable in world.ledgers]
        disk.plug()
        guest.wait_disk(disk.interface, count=len(disk.media))
        world.check(lossy=True)
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == QUIRKS


def hanging(guest, state="D"):
    """The uasd-switch that sits in the kernel."""
    text = guest.run("ps -o stat=,pid=,args= -C uasd-switch,uasd-switch.vm").out
    return [line for line in text.splitlines() if line.strip().startswith(state)]


@case(tier="full", limit=900)
def restarted_over_a_hanging_child(vm):
    "uasd is killed and comes back while its child sits in D state: that child alone moves the disk, and binds once."
    disk, guest, world = resumed(vm, luns=1)
    bring(guest, world, "usb-storage")
    pid = world.stop("delete")
    binds = disk.stats()["set_interface"].get("1", 0)
    disk.fault(name="hang", proto="bot", op="sync")
    guest.run("kill -CONT %d" % pid)
    guest.until(lambda: hanging(guest), 60, "a uasd-switch in D state")
    before = main_pid(guest)
    guest.run("systemctl kill --kill-whom=main -s KILL uasd", check=True)
    back(guest, before)
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
    # Where its delete went well after all it is moved, else it stays: by one bind or none.
    assert after - binds == (guest.driver(disk.interface) == "uas"), (binds, after, guest.driver(disk.interface))
    journal = guest.journal("-b -u uasd")
    assert "a switch begun earlier has ended" in journal and "not switched, step :" not in journal, journal[-4000:]


def binds(guest, disk):
    """How often each driver has taken the disk since the boot, by the kernel's own word."""
    log = guest.journal("-b -k")
    return {"uas": len(re.findall(r"scsi host\d+: uas$", log, re.M)),
            "usb-storage": len(re.findall(r"scsi host\d+: usb-storage %s$" % disk.interface, log, re.M))}


# Sits in a call to the USB device, with the lock of the device that an unbind needs: the page that the kernel wants to read there
# is one that nobody delivers.
LOCKS = """exec python3 -c 'import ctypes, fcntl, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
faults = libc.syscall(323, 0)
fcntl.ioctl(faults, 0xC018AA3F, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
page = libc.mmap(None, 4096, 3, 0x22, -1, ctypes.c_long(0))
fcntl.ioctl(faults, 0xC020AA00, bytearray(struct.pack("QQQQ", page, 4096, 1, 0)))
fd = os.open(sys.argv[1], os.O_RDWR)
open("/run/vm-locked", "w")
libc.ioctl(fd, ctypes.c_ulong(0x41045508), ctypes.c_void_p(page))' /dev/bus/usb/$(cat /sys/bus/usb/devices/%(port)s/busnum \
/sys/bus/usb/devices/%(port)s/devnum | xargs printf '%%03d/%%03d')"""


@case(tier="full", limit=600)
def restarted_over_a_hanging_unbind(vm):
    "uasd is killed and comes back while its child hangs in the unbind, in D state, each way: that child alone goes on, one bind in the end."
    disk, guest, world = resumed(vm, luns=1)
    for rounds, (driver, target) in enumerate((("uas", "usb-storage"), ("usb-storage", "uas")), 1):
        bring(guest, world, driver)
        pid = world.stop("unbind")
        before = binds(guest, disk)
        guest.run("rm -f /run/vm-locked")
        locks = guest.spawn(LOCKS % {"port": disk.interface.partition(":")[0]})
        guest.wait_until("test -e /run/vm-locked", 20)
        guest.run("sleep 0.5; kill -CONT %d" % pid, check=True)
        guest.until(lambda: hanging(guest), 30, "a uasd-switch in D state")
        print(guest.run("sleep 1; cat /proc/%d/stack" % pid).out, flush=True)
        assert hanging(guest), "that was not it"
        assert "STEP=unbind" in guest.out("cat /run/uasd/switch/" + disk.interface).split()
        daemon = main_pid(guest)
        guest.run("systemctl kill --kill-whom=main -s KILL uasd", check=True)
        back(guest, daemon)
        assert hanging(guest), "it hangs no more"
        [one] = guest.uasctl("list")["disks"]
        assert one["state"] == "switching" and guest.driver(disk.interface) == driver, one
        asked = guest.run("/usr/lib/uasd/uasd-switch.vm %s %s" % (disk.interface, target))
        assert asked.rc == 3 and "another switch" in asked.err, asked
        assert binds(guest, disk) == before
        locks.kill()
        guest.until(lambda: not hanging(guest, ""), 120, "the child has ended")
        guest.wait_disk(disk.interface, driver=target, timeout=60)
        guest.run("uasctl wait %s" % disk.interface, 120)
        world.check()
        after = binds(guest, disk)
        assert {one: after[one] - before[one] for one in after} == {target: 1, driver: 0}, (driver, before, after)
        journal = guest.journal("-b -u uasd")
        assert journal.count("a switch begun earlier has ended") == rounds, journal[-4000:]


@case(tier="full", limit=400)
def between_quirks_and_bind(vm):
    "Killed with the entry of its bind in the quirks, the bind not begun: whoever comes next takes out the entry and its record, uasd at once or when it is started."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    parameter, entry = "/sys/module/usb_storage/parameters/quirks", "1209:5a5a:u"
    guest.run("systemctl stop udisks2; modprobe usb_storage; echo %s >%s" % (QUIRKS, parameter), check=True)
    guest.plug(disk)
    well(guest, disk, "uas", quirks=QUIRKS)
    within.put(guest)
    guest.run("cd %s && python3 -c 'import kills; kills.wrap()'" % within.THERE, check=True)
    well(guest, disk, "uas", quirks=QUIRKS)

    def armed():
        guest.run("rm -f /run/vm-killed; echo usb-storage >/run/vm-kill.bind", check=True)

    def there():
        "What there was of it just after it had been killed."
        guest.wait_until("test -s /run/vm-killed", 60)
        return guest.out("cat /run/vm-killed").split()

    # Not killed, then killed under uasd.
    for target in "usb-storage", "uas":
        assert switch(guest, disk, target).rc == 0
        well(guest, disk, target, quirks=QUIRKS)
    armed()
    asked = switch(guest, disk, "usb-storage")
    there()  # uasd may have been quicker than the look
    well(guest, disk, quirks=QUIRKS)
    assert asked.rc in (0, 1), asked
    assert "was left at step bind" in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")
    assert switch(guest, disk, "uas").rc == 0

    # Killed while there is no uasd.
    guest.run("systemctl stop uasd", check=True)
    assert guest.run("test -e /run/uasd/quirks.bind").rc != 0
    armed()
    guest.run("/usr/lib/uasd/uasd-switch --machine %s usb-storage" % disk.interface)
    found = there()
    assert found == ["ENTRY=" + entry, entry + "," + QUIRKS], found
    assert guest.driver(disk.interface) is None and guest.read("/run/uasd/quirks.bind") == "ENTRY=" + entry
    assert guest.read(parameter) == entry + "," + QUIRKS
    guest.run("systemctl start uasd", check=True)
    well(guest, disk, "uas", quirks=QUIRKS)
    assert guest.read(parameter) == QUIRKS


@case(tier="full", limit=400)
def no_driver_takes_it(vm):
    "Its interface loses its authorization between the drivers: no driver may have it, which is told as what it is; authorized again it works."
    disk, guest, world = resumed(vm, luns=1)
    bring(guest, world, "uas")
    authorized = "/sys/bus/usb/devices/%s/authorized" % disk.interface
    pid = world.stop("bind")
    assert guest.driver(disk.interface) is None
    guest.run("echo 0 >%s && kill -CONT %d" % (authorized, pid), check=True)
    guest.wait_until("! test -e /proc/%d" % pid, 120)
    told = stranded(guest, disk, "uas", "usb-storage")
    assert "not brought back, it has no driver" in told["MESSAGE"] and told["UASD_STEP"] == "bind", told
    [one] = guest.uasctl("list")["disks"]
    assert (one["driver"], one["reason_id"]) == (None, "unauthorized"), one
    assert guest.driver(disk.interface) is None
    # The kernel's own way back: it probes only what is asked for then.
    guest.run("echo 1 >%s && echo %s >/sys/bus/usb/drivers_probe" % (authorized, disk.interface), check=True)
    guest.wait_disk(disk.interface, timeout=60)
    guest.run("uasctl wait %s" % disk.interface, 120)
    world.check()


@case(tier="full", image="vendor", limit=300)
def pulled_out_of_a_hanging_unbind(vm):
    "The disk answers nothing, unbind sits in D state, SIGKILL does not end it: pulled out and plugged in it works, and is moved."
    disk = vm.disk(label="DATA", faults=[{"name": "hang", "proto": "bot", "op": "inquiry"}])
    guest = vm.resume()
    guest.run("systemctl stop uasd; modprobe usb-storage; echo 0 >/sys/module/usb_storage/parameters/delay_use", check=True)
    guest.plug(disk)
    guest.until(lambda: disk.stats()["bot"]["commands"] > 0, 30, "its scan")
    guest.run("systemctl start uasd", check=True)
    [line] = guest.until(lambda: hanging(guest), 20, "a uasd-switch in D state")
    pid = line.split()[1]
    assert "STEP=unbind\n" in guest.out("cat /run/uasd/switch/" + disk.interface) + "\n"
    guest.run("kill -KILL " + pid, check=True)
    assert hanging(guest), "it hangs no more"
    gone(guest, disk)
    guest.wait_until("! test -e /proc/" + pid, 20)
    disk.clear_faults()
    disk.plug()
    well(guest, disk, "uas")
    # Begun twice, and the first of the two has arrived nowhere.
    said = guest.journal("-b -u uasd")
    assert said.count("switching from usb-storage to uas") == 2 and said.count("moved from usb-storage to uas") == 1, said[-3000:]
    guest.run("udevadm settle; e2fsck -fn /dev/disk/by-label/DATA", check=True)


@case(tier="full", limit=400)
def adopted_and_killed(vm):
    "uasd comes back while a switch it began stands between the drivers; that is killed then, and put in order at once."
    _disk, guest, world = resumed(vm, luns=1)
    pid = world.stop("bind", hang=True)
    before = main_pid(guest)
    guest.run("systemctl kill --kill-whom=main -s KILL uasd", check=True)
    back(guest, before)
    guest.until(lambda: [one["state"] for one in guest.uasctl("list")["disks"]] == ["switching"], 60, "adopted")
    # strace, which it hangs in, would not let it die.
    guest.run("kill -KILL %d $(sed -n 's/^TracerPid:.//p' /proc/%d/status)" % (pid, pid), check=True)
    guest.wait_until("! test -e /proc/%d" % pid, 20)
    world.check()
    assert "was left at step unbind" in guest.journal("-b -u uasd")


def after_cut(guest, disk, world, step, boot):
    """The machine boots with the disk in its fstab; what it says of the disk."""
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
    """The power goes before one step after the other of switches from BEFORE, when READY; the step, and the disk after that boot."""
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
            guest.wait_disk(disk.interface, driver="uas", timeout=60)
        else:
            assert one["driver"] == "uas" and one["history"] == "on trial" and messages(guest, DISTRUSTED) == 0, one


@case(tier="full", limit=2700)
def power_cut_on_the_way_from_uas(vm):
    "The power goes after every step off uas: the next boot has its disk and what was synced, and blames nobody."
    # Its trial is over: that is another matter.
    for guest, _disk, _step, one in cut_before_steps(vm, "uas", "TrialSec=0\n", "grep -q state=passed /etc/uasd/history"):
        assert one["driver"] == "uas" and messages(guest, DISTRUSTED) == 0, one

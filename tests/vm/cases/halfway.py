# SPDX-License-Identifier: LGPL-2.1-or-later
"""A switch that hangs or ends between the drivers. The next process waits for it or recovers it, and the disk is not moved
twice."""

import re

import within
from context import case
from evidence import gone, record_of, stranded, switch, well
from stepped import QUIRKS, back, bring, main_pid, resumed


def hanging(guest, state="D"):
    """The uasd-switch that hangs in the kernel."""
    text = guest.run("ps -o stat=,pid=,args= -C uasd-switch,uasd-switch.vm").out
    return [line for line in text.splitlines() if line.strip().startswith(state)]


@case(tier="full", limit=900, cpus=2)
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
    # No process may start a second one.
    asked = guest.run("/usr/lib/uasd/uasd-switch.vm %s uas" % disk.interface)
    assert asked.rc == 3 and "another switch" in asked.err, asked
    disk.clear_faults()
    guest.until(lambda: not hanging(guest, ""), 300, "the child has ended")
    world.check()
    guest.until(lambda: guest.uasctl("list")["disks"][0]["state"] in ("settled", "trial", "failed"), 60, "at rest")
    after = disk.stats()["set_interface"].get("1", 0)
    # If its delete succeeded, it is moved, otherwise it stays: by one bind or none.
    assert after - binds == (guest.driver(disk.interface) == "uas"), (binds, after, guest.driver(disk.interface))
    journal = guest.journal("-b -u uasd")
    assert "a switch begun earlier has ended" in journal and ", step :" not in journal, journal[-4000:]


def binds(guest, disk):
    """How often each driver has taken the disk since the boot, by the kernel's log."""
    log = guest.journal("-b -k")
    return {"uas": len(re.findall(r"scsi host\d+: uas$", log, re.M)),
            "usb-storage": len(re.findall(r"scsi host\d+: usb-storage %s$" % disk.interface, log, re.M))}


# Hangs in a call to the USB device, and holds the lock of the device that an unbind needs: no process provides the page that the
# kernel reads there.
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


@case(tier="full", limit=600, cpus=2)
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
        guest.wait_disk(disk.interface, driver=target)
        guest.run("uasctl wait %s" % disk.interface, 120)
        world.check()
        after = binds(guest, disk)
        assert {one: after[one] - before[one] for one in after} == {target: 1, driver: 0}, (driver, before, after)
        journal = guest.journal("-b -u uasd")
        assert journal.count("a switch begun earlier has ended") == rounds, journal[-4000:]


@case(limit=400, cpus=2)
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
        "The state just after the kill."
        guest.wait_until("test -s /run/vm-killed", 60)
        return guest.out("cat /run/vm-killed").split()

    # Not killed, then killed under uasd.
    for target in "usb-storage", "uas":
        assert switch(guest, disk, target).rc == 0
        well(guest, disk, target, quirks=QUIRKS)
    armed()
    asked = switch(guest, disk, "usb-storage")
    there()  # uasd may have been faster
    well(guest, disk, quirks=QUIRKS)
    assert asked.rc in (0, 1), asked
    assert "was left at step bind" in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")
    assert switch(guest, disk, "uas").rc == 0

    # Killed while uasd is stopped.
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


@case(tier="full", limit=400, cpus=2)
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
    # The kernel's own way back: then it probes only on request.
    guest.run("echo 1 >%s && echo %s >/sys/bus/usb/drivers_probe" % (authorized, disk.interface), check=True)
    guest.wait_disk(disk.interface)
    guest.run("uasctl wait %s" % disk.interface, 120)
    world.check()


@case(tier="full", image="vendor", limit=300, cpus=2)
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
    # The kernel has not shown its block device yet: it is unbound before anything else.
    record = guest.out("cat /run/uasd/switch/" + disk.interface).split()
    assert "STEP=detach" in record, record
    guest.run("kill -KILL " + pid, check=True)
    assert hanging(guest), "it hangs no more"
    gone(guest, disk)
    guest.wait_until("! test -e /proc/" + pid, 20)
    disk.clear_faults()
    disk.plug()
    well(guest, disk, "uas")
    # The first one ended without a driver. A later one may meet a disk that udev still has open, and uasd tries again.
    said = guest.journal("-b -u uasd")
    assert said.count("switching from usb-storage to uas") >= 2, said[-3000:]
    assert said.count("moved from usb-storage to uas") == 1, said[-3000:]
    guest.run("udevadm settle; e2fsck -fn /dev/disk/by-label/DATA", check=True)


@case(tier="full", limit=400, cpus=2)
def adopted_and_killed(vm):
    "uasd comes back while a switch it began stands between the drivers; that is killed then, and put in order at once."
    _disk, guest, world = resumed(vm, luns=1)
    pid = world.stop("bind", hang=True)
    before = main_pid(guest)
    guest.run("systemctl kill --kill-whom=main -s KILL uasd", check=True)
    back(guest, before)
    guest.until(lambda: [one["state"] for one in guest.uasctl("list")["disks"]] == ["switching"], 60, "adopted")
    # It hangs in strace, which would not let it die.
    guest.run("kill -KILL %d $(sed -n 's/^TracerPid:.//p' /proc/%d/status)" % (pid, pid), check=True)
    guest.wait_until("! test -e /proc/%d" % pid, 20)
    world.check()
    assert "was left at step unbind" in guest.journal("-b -u uasd")


@case(tier="full", limit=600, cpus=2)
def unloaded(vm):
    "Another program unloads uas while a switch to it stands before a step: back on usb-storage, no byte lost, nothing held against it."
    disk, guest, world = resumed(vm)
    for step in "bind", "appear":
        bring(guest, world, "usb-storage")
        pid = world.stop(step)
        # udev's worker may have the new disk open for a while.
        guest.wait_until("rmmod uas", 30)
        guest.run("kill -CONT %d" % pid, check=True)
        guest.wait_until("! test -e /proc/%d" % pid, 120)
        world.check()
        assert world.driver == "usb-storage", world.driver
        assert not any("distrusted" in record for record in record_of(guest, disk)), record_of(guest, disk)
        guest.run("modprobe uas && uasctl forget %s" % disk.interface, check=True)
        guest.wait_until("uasctl wait %s" % disk.interface, 60)

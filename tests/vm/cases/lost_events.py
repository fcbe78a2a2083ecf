# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lost events, or a udev that does not answer: uasd still finds the state, and no disk stays without a driver."""

from context import case
from evidence import gone, switch, well
from users import ask, listed, timers

DEAF = "sysctl -qw net.core.rmem_max=4096 && systemctl restart uasd"


@case(tier="full", image="vendor", cpus=2)
def daemon_sleeps(vm):
    "One disk goes and another comes while the daemon sleeps and more is told than it can keep: it looks at everything anew."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = vm.resume()
    guest.run(DEAF, check=True)
    guest.plug(disk)
    well(guest, disk, "uas")
    guest.run("systemctl kill -s STOP uasd", check=True)
    gone(guest, disk)
    guest.run("for i in $(seq 50); do for f in /sys/bus/usb/devices/*/uevent /sys/block/*/uevent; do echo change >$f; done; done",
              timeout=120, check=True)
    guest.plug(other)
    guest.wait_disk(other.interface)
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.until(lambda: "kernel events were lost" in guest.journal("-b -u uasd"), 60, "the loss is noticed")
    well(guest, other, "uas")
    [one] = guest.uasctl("list")["disks"]
    assert one["interface"] == other.interface, one


@case(tier="full", image="vendor", cpus=2)
def end_of_a_use(vm):
    "What a disk waits for ends while the daemon sleeps and is told more than it can keep: the disk is switched all the same."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run(DEAF, check=True)
    guest.plug(disk)
    well(guest, disk, "uas")
    guest.run("echo -n secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 "
              "--key-file - /dev/sda1 secret && udevadm settle", check=True)
    target = ask(guest, disk)
    assert [user["kind"] for user in listed(guest, disk)["busy"]] == ["holder"]
    guest.until(lambda: not timers(guest), 20, "nothing but an event wakes it")
    guest.run("systemctl kill -s STOP uasd", check=True)
    # Hubs: an event of a block device would make uasd look at the waiting disks.
    guest.run("for i in $(seq 200); do for f in /sys/bus/usb/devices/usb*/uevent; do echo change >$f; done; done; udevadm settle",
              timeout=120, check=True)
    guest.run("cryptsetup close secret && udevadm settle", check=True)
    assert guest.run("ls /sys/class/block/sda1/holders").out.strip() == ""
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.until(lambda: "kernel events were lost" in guest.journal("-b -u uasd"), 60, "the loss is noticed")
    guest.until(lambda: guest.driver(disk.interface) == target, 60, "it is switched")
    well(guest, disk, target)


@case(tier="full", image="vendor", cpus=2)
def switch_among_others(vm):
    "A switch hears of its disk among so many other events that most are lost to it: it is not taken back for that."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run(DEAF, check=True)
    guest.plug(disk)
    well(guest, disk, "uas")
    flood = guest.spawn("while :; do for f in /sys/block/vda/uevent /sys/block/loop*/uevent; do echo change >$f; done; done")
    for target in ("usb-storage", "uas"):
        done = switch(guest, disk, target)
        assert done.rc == 0, (target, done)
        assert guest.driver(disk.interface) == target
    flood.kill()
    guest.run("udevadm settle --timeout=100", timeout=120)
    well(guest, disk, "uas")


@case(tier="full", image="vendor", cpus=2)
def udev_answers_none(vm):
    "udev answers no event at all: switched or taken back, never lost; and all is well once udev is back."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    guest.run("udevadm control --stop-exec-queue", check=True)
    done = switch(guest, disk, "usb-storage", 150)
    where = guest.driver(disk.interface)
    guest.run("udevadm control --start-exec-queue", check=True)
    assert (done.rc, where) in ((0, "usb-storage"), (7, "uas")), (done, where)
    guest.run("udevadm settle --timeout=60", timeout=90)
    well(guest, disk, where)
    guest.run("mount LABEL=DATA /mnt", check=True)


def attachment(guest, disk):
    """BUS, DEV and INODE, as in the names of its files in /run/uasd."""
    return guest.out("cd /sys/bus/usb/devices/%s && cat busnum devnum && stat -Lc %%i ." % disk.interface.partition(":")[0]).split()


def probe_again(guest, meanwhile):
    """The controller goes with all its devices, and is probed again. MEANWHILE happens in between."""
    controller = guest.out("basename $(readlink -f /sys/bus/usb/devices/usb2/..)")
    guest.run("echo %s >/sys/bus/pci/drivers/xhci_hcd/unbind" % controller, check=True)
    meanwhile()
    guest.run("echo %s >/sys/bus/pci/drivers/xhci_hcd/bind" % controller, check=True)


@case(tier="full")
def controller_probed_again(vm):
    "The controller is probed again, and bus and device number come again: another disk there inherits nothing, with uasd stopped or not."
    disk, other = vm.disk(label="DATA", serial="ONE"), vm.disk(label="OTHER", serial="TWO")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    port = disk.port

    def exchange(old, new):
        old.unplug()
        guest.detach(old)
        guest.attach(new, port)
        new.plug()

    guest.run("uasctl policy sda ignore && uasctl switch --wait=60 sda usb-storage", check=True, timeout=90)
    assert listed(guest, disk)["reason_id"] == "override"
    first = attachment(guest, disk)
    guest.run("test -e /run/uasd/attachment/%s@%s && systemctl stop uasd" % (disk.interface, "-".join(first)), check=True)
    probe_again(guest, lambda: exchange(disk, other))
    guest.wait_disk(other.interface, driver="uas")
    guest.run("systemctl start uasd", check=True)
    well(guest, other, "uas")
    one = listed(guest, other)
    assert (one["serial"], one["policy"], one["target"]) == ("TWO", "auto", "uas") and one["reason_id"] != "override", one
    second = attachment(guest, other)
    # What was not enough: the numbers are the same.
    assert second[:2] == first[:2] and second[2] != first[2], (first, second)
    assert guest.out("find /run/uasd -name '*-%s'" % first[2]) == ""

    # The same while uasd runs, and the first disk comes back: its policy is there, its override is not.
    guest.run("uasctl switch --wait=60 %s usb-storage" % other.interface, check=True, timeout=90)
    probe_again(guest, lambda: exchange(other, disk))
    guest.wait_disk(disk.interface, driver="uas")
    guest.until(lambda: [one["serial"] for one in guest.uasctl("list")["disks"]] == ["ONE"], 60, "the first disk is listed")
    one = guest.until(lambda: (one := listed(guest, disk))["state"] == "ignored" and one, 60, "state ignored")
    assert (one["policy"], one["reason_id"], one["driver"]) == ("ignore", "policy-ignore", "uas"), one
    assert attachment(guest, disk)[:2] == first[:2] and attachment(guest, disk)[2] not in (first[2], second[2])

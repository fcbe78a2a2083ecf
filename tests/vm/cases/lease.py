# SPDX-License-Identifier: LGPL-2.1-or-later
"""Inhibitors and leases."""

import users
import within
from context import case

CLAIM = "python3 -c 'import os; os.open(\"/dev/sda\", os.O_RDONLY | os.O_EXCL)'"
READ = "dd if=/dev/sda of=/dev/null bs=64k count=16 iflag=direct status=none"


class Holder:
    """within/leaseholder.py in the guest: ask() it, or kill() it."""

    def __init__(self, guest, what):
        within.put(guest)
        self.guest, self.lines = guest, 0
        guest.run("cd %s && rm -f in out && mkfifo in && : >out" % within.THERE, check=True)
        self.job = guest.spawn("cd %s && exec python3 -u leaseholder.py /run/uasd/private %s <>in >out" % (within.THERE, what))

    def answer(self, timeout=90):
        said = self.guest.until(lambda: self.guest.get(within.THERE + "/out").decode().split("\n")[self.lines:-1] or None, timeout, "an answer")
        self.lines += 1
        return said[0]

    def tell(self, line):
        self.guest.run("echo '%s' >%s/in" % (line, within.THERE), check=True)

    def ask(self, line, timeout=90):
        self.tell(line)
        return self.answer(timeout)

    def kill(self):
        self.job.kill()


def plugged(vm, **config):
    disk = vm.disk(label="DATA", **config)
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas", count=len(disk.media))
    guest.run("uasctl wait %s --wait=60" % disk.interface, 90, check=True)
    return disk, guest


def one(guest):
    [disk] = guest.uasctl("list")["disks"]
    return disk


def leased(guest, disk):
    holder = Holder(guest, "lease " + disk.interface)
    assert holder.answer() == "taken"
    return holder


def over(guest, disk, driver):
    """The driver is restored, nothing of the lease remains, and the disk can be mounted."""
    guest.wait_disk(disk.interface, driver=driver, timeout=90, count=len(disk.media))
    guest.until(lambda: one(guest)["lease"] is None, 60, "nobody has it")
    guest.wait_until('! grep -q LEASE=u /run/uasd/attachment/*', 30)
    guest.run("mount LABEL=DATA /mnt && umount /mnt", check=True)


def claimed(guest):
    """No program can mount or claim it. Every program can read it."""
    refused = guest.run(CLAIM)
    assert refused.rc and "busy" in refused.err, refused
    refused = guest.run("mount /dev/sda1 /mnt")
    assert refused.rc == 32 and "mounted" in refused.err, refused
    guest.run(READ, check=True)


def inhibits(guest, arguments=""):
    guest.run("rm -f /run/go", check=True)
    job = guest.spawn("exec uasctl inhibit %s --why 'it is being filled' sh -c 'until test -e /run/go; do sleep 0.1; done; exit 7'" % arguments)
    guest.wait_until("uasctl inhibit --list --no-legend | grep -q filled", 30)
    return job


@case(limit=300, cpus=2)
def inhibited(vm):
    "A switch asked for while a command runs under uasctl inhibit begins when that has ended, or when uasctl is killed; who asks is told."
    disk, guest = plugged(vm)
    interface = disk.interface
    job = inhibits(guest)
    told = guest.run("uasctl switch sda usb-storage")
    assert told.rc == 3 and "inhibited by sh: it is being filled" in told.err, told
    assert one(guest)["state"] == "waiting" and guest.driver(interface) == "uas"
    guest.run(": >/run/go", check=True)
    assert job.wait(30).rc == 7
    guest.wait_disk(interface, driver="usb-storage")
    # For one disk, and uasctl is killed: its command ends.
    job = inhibits(guest, "--disk sda")
    guest.run("uasctl switch sda uas")
    assert one(guest)["state"] == "waiting"
    guest.run("pkill -KILL -x uasctl", check=True)
    guest.wait_disk(interface, driver="uas")
    guest.wait_until("! pgrep -f '[u]ntil test -e /run/go'", 30)
    job.kill()
    # uasd is killed: the command goes on, and its uasctl reports it.
    job = inhibits(guest)
    guest.run("systemctl kill -s KILL --kill-who=main uasd", check=True)
    guest.until(lambda: "uasd has ended" in guest.out("cat %s.err" % job.base), 30, "that it is gone")
    guest.wait_until("uasctl list", 30)
    guest.run(": >/run/go", check=True)
    assert job.wait(30).rc == 7


@case(limit=300, image="vendor", cpus=2)
def inhibited_at_plug_in(vm):
    "A disk plugged in meanwhile stays on the driver the kernel gave it, and is moved afterwards."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    job = inhibits(guest)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert one(guest)["state"] == "waiting" and "inhibited by sh" in one(guest)["reason"]
    guest.wait_until("mount LABEL=DATA /mnt && umount /mnt", 30)
    guest.run(": >/run/go", check=True)
    job.wait(30)
    guest.wait_disk(disk.interface, driver="uas")


@case(limit=600, cpus=2)
def lease_moves(vm):
    "Leased, a disk is claimed throughout and moved both ways by its holder alone, all LUNs; given back, it is where it was."
    disk, guest = plugged(vm, luns=2)
    holder = leased(guest, disk)
    claimed(guest)
    assert guest.run(CLAIM.replace("sda", "sdb")).rc
    seen = one(guest)
    assert "has it for itself" in seen["lease"] and not seen["busy"], seen
    told = guest.run("uasctl switch sda usb-storage")
    assert told.rc == 6 and "has it for itself" in told.err, told
    for driver in "usb-storage", "uas", "usb-storage":
        assert holder.ask("switch " + driver).startswith("0 "), driver
        assert guest.driver(disk.interface) == driver
        guest.wait_disk(disk.interface, driver=driver, count=2)
        claimed(guest)
    # The holder waits for another reader. Our own claim does not count as a user.
    job = guest.spawn("exec sleep 1000 </dev/sda")
    guest.wait_until("fuser -s /dev/sda", 10)
    holder.tell("switch uas")
    guest.until(lambda: one(guest)["state"] == "waiting" and [user["command"] for user in one(guest)["busy"]] == ["sleep"], 30, "who uses it")
    job.kill()
    assert holder.answer().startswith("0 ")
    assert holder.ask("switch usb-storage").startswith("0 ")
    assert holder.ask("close") == "closed"
    over(guest, disk, "uas")
    # The holder is killed, and a reader needs more time to end.
    holder = leased(guest, disk)
    assert holder.ask("switch usb-storage").startswith("0 ")
    job = guest.spawn("exec sleep 1000 </dev/sda")
    guest.wait_until("fuser -s /dev/sda", 10)
    holder.kill()
    guest.until(lambda: one(guest)["state"] == "waiting", 30, "it waits for the reader")
    job.kill()
    over(guest, disk, "uas")


@case(limit=300, cpus=2)
def lease_refused(vm):
    "A disk in use is not leased, and its user is named; nor to who may not."
    disk, guest = plugged(vm)
    guest.run("mount LABEL=DATA /mnt", check=True)
    told = Holder(guest, "lease " + disk.interface).answer()
    assert told.startswith("error org.uasd1.Error.InUse") and "/mnt" in told, told
    guest.run("umount /mnt", check=True)
    job = guest.spawn("exec sleep 1000 </dev/sda1")
    guest.wait_until("fuser -s /dev/sda1", 10)
    told = Holder(guest, "lease " + disk.interface).answer()
    assert told.startswith("error org.uasd1.Error.InUse") and "sleep" in told, told
    job.kill()
    assert one(guest)["state"] == "settled" and one(guest)["lease"] is None
    guest.run("useradd -m anna", check=True)
    for method, arguments in ("Lease", "'a{sv}' 0"), ("Inhibit", "'ssa{sv}' me '' 0"):
        told = guest.run("runuser -u anna -- busctl call org.uasd1 %s org.uasd1.Disk %s %s" % (disk.object, method, arguments))
        assert told.rc and ("org.uasd1.bench" if method == "Lease" else "org.uasd1.switch") in told.err, told
    told = guest.run("busctl call org.uasd1 %s org.uasd1.Disk Lease 'a{sv}' 0" % disk.object)
    assert told.rc == 0, told
    over(guest, disk, "uas")


@case(tier="full", limit=600, cpus=2)
def lease_killed(vm):
    "uasd killed under a lease, its claimer too: the next uasd brings the disk back; so after a claimer alone that dies."
    disk, guest = plugged(vm)
    holder = leased(guest, disk)
    assert holder.ask("switch usb-storage").startswith("0 ")
    guest.run("systemctl kill -s KILL --kill-who=main uasd", check=True)
    assert holder.ask("wait") == "hung up"
    guest.wait_until("uasctl list", 60)
    over(guest, disk, "uas")
    holder.kill()
    # In the middle of a switch as well.
    holder = leased(guest, disk)
    # On a machine that is busy with a switch, pgrep takes as long as the switch.
    killer = guest.spawn("until test -e {0}; do sleep 0.05; done; kill -KILL {1}; test -e {0}"
                         .format("/run/uasd/switch/" + disk.interface, users.daemon(guest)))
    holder.tell("switch usb-storage")
    killer.wait(check=True)
    guest.wait_until("uasctl list", 60)
    over(guest, disk, "uas")
    holder.kill()
    holder = leased(guest, disk)
    assert holder.ask("switch usb-storage").startswith("0 ")
    guest.run("pkill -KILL -f '[u]asd-switch.*--claim'", check=True)
    assert holder.ask("wait") == "hung up"
    over(guest, disk, "uas")
    holder.kill()


@case(tier="full", limit=300, cpus=2)
def lease_unplugged(vm):
    "Unplugged under a lease: its holder knows, nothing is left; plugged in again it is like any other."
    disk, guest = plugged(vm)
    holder = leased(guest, disk)
    disk.unplug()
    assert holder.ask("wait") == "hung up"
    guest.until(lambda: not guest.uasctl("list")["disks"], 30, "it is gone")
    guest.wait_until("! grep -q LEASE=u /run/uasd/attachment/* && ! pgrep -f '[u]asd-switch'", 30)
    holder.kill()
    disk.plug()
    guest.wait_disk(disk.interface, driver="uas")
    over(guest, disk, "uas")

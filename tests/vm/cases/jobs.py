# SPDX-License-Identifier: LGPL-2.1-or-later
"""A request is an object on the bus, and belongs to uasd. A call on the bus starts uasd. The bus may start late."""

import json

import cpio
from context import case
from evidence import only_disk, well
from holds import boot

# The steps of the switch whose order matters.
STEPS = ["identify", "claim", "sync", "delete", "unbind", "bind", "appear", "verify", "release"]
SWITCHED = "b47b9c49de4a4effa326bd9e95b92095"
MANAGER = "org.uasd1 /org/uasd1 org.uasd1.Manager"


def mounted_on_uas(vm):
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run("useradd -m anna && systemctl stop udisks2", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    guest.run("mount /dev/sda1 /mnt", check=True)
    guest.wait_until("busctl status org.uasd1", 30)
    return disk, guest


def request(guest, disk, target):
    """Requests a switch. Returns the path of the job."""
    return guest.out("busctl call org.uasd1 %s org.uasd1.Disk Switch 'sa{sv}' %s 0" % (disk.object, target)).split('"')[1]


def of_job(guest, path, name):
    """A property of it; None: there is no such job."""
    told = guest.run("busctl get-property org.uasd1 %s org.uasd1.Job %s" % (path, name))
    return told.out.split(" ", 1)[1].strip().strip('"') if told.rc == 0 else None


@case(limit=200, cpus=2)
def client_killed(vm):
    "Whoever asked is killed: the job goes on, ends in the journal, and its object goes."
    disk, guest = mounted_on_uas(vm)
    guest.spawn("uasctl switch sda usb-storage --wait")
    path = guest.until(lambda: guest.run("busctl tree --list org.uasd1 | grep -m1 /job/").out.strip() or None, 20, "a job")
    assert (of_job(guest, path, "Disk"), of_job(guest, path, "To")) == (disk.interface, "usb-storage")
    guest.run("pkill -KILL -x uasctl", check=True)
    guest.wait_until("! pgrep -x uasctl", 10)
    assert of_job(guest, path, "State") == "waiting" and guest.driver(disk.interface) == "uas"
    guest.run("umount /mnt", check=True)
    well(guest, disk, "usb-storage")
    guest.until(lambda: of_job(guest, path, "State") is None, 10, "the job is gone")
    ended = [json.loads(line) for line in guest.out("journalctl -b -o json MESSAGE_ID=%s" % SWITCHED).splitlines()]
    assert (ended[-1]["UASD_INTERFACE"], ended[-1]["UASD_TO"]) == (disk.interface, "usb-storage"), ended


@case(limit=200, cpus=2)
def told_step_by_step(vm):
    "The steps of a switch are told as they are taken, then how it ended; a switch that runs is not broken off."
    disk, guest = mounted_on_uas(vm)
    guest.spawn("exec busctl --json=short monitor --match=type=signal,path_namespace=/org/uasd1 >/run/told 2>/run/told.err")
    guest.wait_until("grep -q Monitoring /run/told.err", 20)
    path = request(guest, disk, "usb-storage")
    guest.run("umount /mnt", check=True)
    well(guest, disk, "usb-storage")

    def told():
        found = [json.loads(line) for line in guest.out("cat /run/told").splitlines()]
        return found if any(one["member"] == "InterfacesRemoved" and one["payload"]["data"][0] == path for one in found) else None
    signals = guest.until(told, 20, "the job's end is told")
    changes = [{name: value["data"] for name, value in one["payload"]["data"][1].items()}
               for one in signals if one["path"] == path and one["member"] == "PropertiesChanged"]
    steps = [one["Step"] for one in changes if one["State"] == "running" and one["Step"]]
    steps = steps[len(steps) - 1 - steps[::-1].index("identify"):]  # an open makes it begin again
    assert [step for step in steps if step in STEPS] == STEPS, steps
    assert (changes[-1]["State"], changes[-1]["Result"]) == ("done", "done"), changes
    assert [one["State"] for one in changes].index("done") == len(changes) - 1, changes
    removed = [one["payload"]["data"] for one in signals if one["member"] == "JobRemoved"]
    assert [one[:3] for one in removed] == [[path, disk.interface, 0]], removed


@case(limit=200, cpus=2)
def cancelled(vm):
    "A job that waits is cancelled by its own object, by those who may; the disk stays where it is."
    disk, guest = mounted_on_uas(vm)
    path = request(guest, disk, "usb-storage")
    assert of_job(guest, path, "State") == "waiting"
    cancel = "busctl call org.uasd1 %s org.uasd1.Job Cancel 'a{sv}' 0" % path
    # Any user may read the job, but not cancel it.
    assert "waiting" in guest.out("runuser -u anna -- busctl get-property org.uasd1 %s org.uasd1.Job State" % path)
    told = guest.run("runuser -u anna -- " + cancel)
    assert told.rc != 0 and "polkit" in told.err, told
    assert of_job(guest, path, "State") == "waiting"
    guest.run(cancel, check=True)
    assert of_job(guest, path, "State") is None
    guest.run("umount /mnt", check=True)
    only_disk(guest, "settled")
    assert guest.driver(disk.interface) == "uas"


@case(limit=200, cpus=2)
def started_by_a_call(vm):
    "A call on the bus starts uasd where it is enabled, and not where somebody has disabled it; uasctl starts nothing."
    guest = vm.resume()
    guest.run("systemctl stop uasd", check=True)
    assert "not running" in guest.run("uasctl list").err
    version = "busctl get-property %s Version" % MANAGER
    assert guest.run("systemctl is-active uasd").rc != 0
    assert guest.run(version, timeout=60).out.startswith('s "')
    assert guest.run("systemctl is-active uasd").rc == 0
    guest.run("systemctl disable -q --now uasd", check=True)
    told = guest.run(version, timeout=60)
    assert told.rc != 0 and told.err.strip(), told
    assert guest.run("systemctl is-active uasd").rc != 0


@case(tier="full", cpus=2)
def bus_comes_late(vm):
    "A boot without D-Bus, which is started much later: uasd joins it without being restarted."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, mask=("dbus.service", "dbus.socket", "systemd-journald-audit.socket"), wait="agent")
    guest.wait_until("mountpoint -q /mnt", 120)
    pid = guest.out("systemctl show -P MainPID uasd")
    assert guest.uasctl("list")["disks"], "by the private socket"
    guest.run("rm -f /etc/systemd/system/dbus.service /etc/systemd/system/dbus.socket && systemctl daemon-reload && "
              "systemctl start dbus.socket dbus.service", check=True)
    guest.wait_until("busctl --system status org.uasd1", 30)
    assert disk.interface in guest.out("busctl call org.uasd1 /org/uasd1 org.freedesktop.DBus.ObjectManager GetManagedObjects")
    assert guest.out("systemctl show -P MainPID uasd") == pid


@case(tier="full", image="vendor", limit=300, cpus=2)
def released_in_the_boot(vm):
    "A boot that is held, without a bus, by a switch that does not come on: from a shell on the machine the disk is released over the private socket, and mounted at once on the driver it has."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=120\n",
                                  "/usr/lib/uasd/uasd-switch": cpio.Exec("#!/bin/sh\nexec sleep 600\n")},
                 mask=("dbus.service", "dbus.socket", "systemd-journald-audit.socket"), wait="agent")
    guest.until(lambda: [one["state"] for one in guest.uasctl("list")["disks"]] in (["held"], ["switching"]), 60, "it is held")
    guest.run("pgrep -f 'sleep 600'", check=True)
    assert guest.run("mountpoint -q /mnt").rc != 0 and guest.run("ls /run/uasd/hold").text.strip()
    assert guest.run("test -e /run/dbus/system_bus_socket").rc != 0
    said = guest.run("uasctl release %s" % disk.interface, check=True)
    assert "released" in said.err, said
    guest.wait_until("mountpoint -q /mnt", 30)
    assert guest.driver(disk.interface) == "usb-storage"
    assert guest.run("ls -A /run/uasd/hold").text == ""
    assert guest.run("systemctl is-active --quiet 'uasd-release@*.service'").rc != 0
    assert "Release the Mounts" not in guest.journal("-b"), "PID 1 ended the hold"

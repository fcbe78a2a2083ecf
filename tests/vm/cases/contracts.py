# SPDX-License-Identifier: LGPL-2.1-or-later
"""PID 1, logind and polkit keep to what the tests' stand-ins for them do (tests/daemon/stand_ins.py), and sysfs looks like that of
the machines in folders (tests/sys/sysfs.py)."""

import os
import shlex
import sys

from context import case
from inside import move, plugged, python

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.append(os.path.join(TESTS, "daemon"))
import stand_ins  # noqa: E402


def keep_to_it(vm):
    guest = vm.resume()

    def run(command):
        done = guest.run(shlex.join(command))
        return done.rc, done.out, done.err
    bus = stand_ins.Bus(run)
    guest.put("/etc/systemd/system/" + stand_ins.STOPPED, "[Timer]\nOnActiveSec=1000\nUnit=%s\n" % stand_ins.ENDS)
    guest.run("systemctl daemon-reload && systemctl start --no-block " + stand_ins.WAITING + " && systemd-run --on-active=1000 true", check=True)
    for of in stand_ins.API:
        stand_ins.check(bus, of)
    guest.run("systemctl stop " + stand_ins.WAITING, check=True)

    # The machine is about to sleep as long as an inhibitor delays it.
    guest.put("/etc/systemd/logind.conf.d/vm.conf", "[Login]\nInhibitDelayMaxSec=90\n")
    guest.run("systemctl restart systemd-logind && echo freezer >/sys/power/pm_test", check=True)
    delays = guest.spawn("exec systemd-inhibit --what=sleep --mode=delay sleep 1000")
    guest.wait_until("systemd-inhibit --list --no-pager | grep -q 'sleep .* sleep .* delay'")
    guest.spawn("systemctl suspend")
    guest.wait_until("busctl get-property %s PreparingForSleep | grep -qx 'b true'" % " ".join(stand_ins.LOGIND))
    stand_ins.none_while_asleep(bus)
    delays.kill()

    def woken():
        with open(guest.folder + "/console.log", errors="replace") as log:
            return "PM: suspend exit" in log.read()
    # The agent sleeps as well, and answers nothing meanwhile.
    guest.until(woken, 120, "the guest is awake again")
    guest.agent.drop()
    guest.agent.connect(60)
    guest.wait_until("busctl get-property %s PreparingForSleep | grep -qx 'b false'" % " ".join(stand_ins.LOGIND), 60)
    stand_ins.inhibitor(bus)


@case(tier="full", image="bookworm", product=False)
def systemd_252(vm):
    "PID 1, logind and polkit of Debian 12 answer as the stand-ins do."
    keep_to_it(vm)


@case(tier="full", image="trixie", product=False)
def systemd_257(vm):
    "PID 1, logind and polkit of Debian 13 answer as the stand-ins do."
    keep_to_it(vm)


@case(tier="full", also=("trixie",), product=False)
def sysfs(vm):
    "A real disk has all files of those of the fake kernel, with values and links of the same form."
    guest, disk = plugged(vm, "uas", luns=2, label="DATA")
    with open(os.path.join(TESTS, "sys", "sysfs.py")) as file:
        program = file.read() + "answer = compare('/sys', I.partition(':')[0], real=True)"
    for driver in ("uas", "usb-storage"):
        move(guest, disk, driver)
        differ = python(guest, disk, program)
        assert not differ, (driver, differ)


@case(tier="full", also=("trixie", "bullseye"))
def serial_number(vm):
    "A serial number is the same in udev, uasctl and uasd-hold, which honours the policy for it while uasd stands still."
    disk = vm.disk(serial=" AB 12/x ")
    guest = vm.resume()
    port = "/sys/bus/usb/devices/2-1"
    for reported, used in ((" AB 12/x ", "AB_12_x"), ("A,B", ""), ("Gr\u00f6\u00dfe", ""), ("A\tB", ""), ("   ", ""),
                           ("A\\x41\\", "A\\x41_"), ("a#b+c-d.e:f=g@h_i!~\x7f", "a#b+c-d.e:f=g@h_i___"), ("AB  12/x", "AB_12_x")):
        disk.set(serial=reported)
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
        guest.wait_until("uasctl wait " + disk.interface)
        raw, record = guest.out("od -An -v -tx1 %s/serial" % port), guest.udev(port)
        assert bytes.fromhex(raw) == (reported + "\n").encode(), raw
        [one] = guest.uasctl("list")["disks"]
        assert one["serial"] == record.get("ID_SERIAL_SHORT", "") == used, (one, record)
        disk.unplug()
        guest.wait_until("! test -e " + port)
    # As lsusb shows it, for a disk that is not plugged in.
    guest.run("uasctl policy '1209:5a5a: AB 12/x ' usb-storage", check=True)
    guest.run("grep -qx '1209:5a5a:AB_12_x=usb-storage' /etc/uasd/policy", check=True)
    guest.run("systemctl kill -s STOP uasd && echo >/sys/module/usb_storage/parameters/quirks", check=True)
    disk.set(serial=" AB 12/x ")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    guest.wait_until("udevadm settle && udevadm info -q property /dev/sda | grep -qx UASD_HOLD=1")
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.wait_until("uasctl wait " + disk.interface)
    [one] = guest.uasctl("list")["disks"]
    assert (one["driver"], one["policy"], one["reason_id"]) == ("usb-storage", "usb-storage", "policy"), one

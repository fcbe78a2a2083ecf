# SPDX-License-Identifier: LGPL-2.1-or-later
"""PID 1 and uasd: PID 1 restarts it without a limit, also when it hangs, and `systemctl isolate` stops nothing that a hold
needs."""

import re

from context import case
from evidence import listed, only_disk, switch, well
from patience import let_pass
from stepped import back, main_pid

KILLS = 20
UNITS = ("uasd.service", "uasd-release@2-1:1.0.timer", "uasd-release@2-1:1.0.service")


@case(limit=300, cpus=2)
def killed_often(vm):
    "uasd is killed twenty times in a row, as soon as it is there: PID 1 starts it once more, and it answers."
    guest = vm.resume()
    assert guest.run("systemd-analyze verify %s" % " ".join(UNITS)).text == ""
    # A shorter pause, for more restarts within the ten seconds of systemd's default limit.
    guest.put("/etc/systemd/system/uasd.service.d/vm.conf", "[Service]\nRestartSec=100ms\n")
    guest.run("systemctl daemon-reload && systemctl restart uasd", check=True)
    guest.run("for i in $(seq %d); do\n"
              "  pid=$(systemctl show -P MainPID uasd)\n"
              "  kill -KILL $pid\n"
              "  until new=$(systemctl show -P MainPID uasd); [ $new != 0 ] && [ $new != $pid ]; do sleep 0.02; done\n"
              "done" % KILLS, timeout=120, check=True)
    before = main_pid(guest)
    assert int(guest.out("systemctl show -P NRestarts uasd")) == KILLS
    guest.run("kill -KILL %d" % before, check=True)
    back(guest, before)


@case(image="vendor")
def module_of_the_configuration(vm):
    "uasd may not load the file of Module=: uasd-module.service does, with no other right. One that does not fit, it refuses."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    text = guest.out("systemd-analyze security --no-pager uasd-module.service")
    assert float(re.search(r"Overall exposure level for uasd-module.service: ([0-9.]+)", text).group(1)) <= 3.1, text
    guest.run("rmmod uas; mkdir /srv/odd && mv /lib/modules/$(uname -r)/kernel/drivers/usb/storage/uas.ko /srv/odd/ &&"
              " chmod 664 /srv/odd/uas.ko", check=True)
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nModule=/srv/odd/uas.ko\n")
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled")
    guest.run("systemctl start uasd-module", check=True)
    assert "/srv/odd/uas.ko is refused: other users may write it." in guest.journal("-b -u uasd-module")
    assert guest.run("test -e /sys/module/uas").rc
    guest.run("chmod 644 /srv/odd/uas.ko && systemctl restart uasd", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=60)
    only_disk(guest, "settled")
    assert "/srv/odd/uas.ko is loaded." in guest.journal("-b -u uasd-module"), guest.journal("-b -u uasd-module")


HOOK = """#!/bin/bash
{ env | grep ^UASD_ | sort; cat /proc/self/cgroup; (: </dev/tcp/127.0.0.1/9) 2>&1; } >>/root/hook
"""


@case()
def event_hooks(vm):
    "A passed trial: PID 1 runs the hook in a unit of its own, with the network that uasd has not. A restart of uasd repeats nothing."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nTrialSec=2\n")
    guest.put("/etc/uasd/event.d/test", HOOK, mode=0o755)
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    for driver in "usb-storage", "uas":  # the first switch to uas is a trial
        switch(guest, disk, driver)
    guest.wait_until("grep -q refused /root/hook", 60)
    text = guest.out("cat /root/hook")
    for line in "UASD_EVENT=trial-passed", "UASD_INTERFACE=" + disk.interface, "UASD_FROM=uas", "Connection refused":
        assert line in text, text
    assert re.search(r"uasd.event@trial.passed-[0-9.]+\.service", text), text
    guest.run("systemctl restart uasd", check=True)
    only_disk(guest, "settled")
    assert guest.out("cat /root/hook") == text
    assert guest.out("systemctl --failed --no-legend --plain") == "" and guest.out("ls /run/uasd/event") == ""


@case(image="bullseye")
def known_to_systemd_247(vm):
    "The oldest systemd knows all settings of the units, and takes the rules; a disk is moved both ways there."
    disk = vm.disk()
    guest = vm.resume(disks=[disk])
    assert guest.run("systemd-analyze verify %s uasd-settle.service uasd-boot-entry.service uasd-module.service uasd-trials.service uasd-event@x.service uasd-metrics.timer"
                     % " ".join(UNITS)).text == ""
    assert guest.out("journalctl -b -u systemd-udevd -o cat | grep -i uasd; true") == ""
    guest.wait_disk(disk.interface)
    for driver in "usb-storage", "uas":
        guest.run("uasctl switch %s %s --wait=30" % (disk.interface, driver), 60, check=True)
        assert guest.driver(disk.interface) == driver


@case(tier="full", cpus=2)
def isolate(vm):
    "`systemctl isolate` within a hold: uasd and the hold's timer stay, and the timer ends the hold."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=30\nPolicy=usb-storage\n"})
    guest.run("systemctl daemon-reload && systemctl restart uasd && systemctl kill -s STOP uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface)
    held = "udevadm info -q property -n sda | grep -qx UASD_HOLD=1"
    guest.wait_until(held, 20)
    timer = "systemctl is-active -q uasd-release@%s.timer" % disk.interface
    guest.run(timer, check=True)
    guest.put("/etc/systemd/system/vm-quiet.target", "[Unit]\nAllowIsolate=yes\nRequires=sysinit.target vm-agent.service\n")
    guest.run("systemctl daemon-reload && systemctl isolate vm-quiet.target", check=True)
    assert guest.run("systemctl is-active -q udisks2 cron dbus").rc != 0  # it stops units that no unit requires
    assert guest.run(timer).rc == 0 and guest.run(held).rc == 0
    guest.wait_until("! " + held, 60)
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")


@case(cpus=2)
def armed_often(vm):
    "The timer of one hold is armed twenty times in a row, as for a disk with as many LUNs: it runs."
    guest = vm.resume()
    guest.run("for i in $(seq 20); do /usr/lib/uasd/uasd-pid1 release 9-1:1.0; done", check=True)
    guest.run("systemctl is-active uasd-release@9-1:1.0.timer", check=True)


@case(limit=300, also=("trixie",))
def release_fails(vm):
    "The program that ends a hold is killed, as by the OOM killer, without a living uasd: PID 1 runs it again, and the hold ends."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=10\nPolicy=usb-storage\n"})
    guest.put("/etc/systemd/system/uasd-release@.service.d/vm.conf", "[Service]\nExecStartPre=/bin/sh -c "
              "'[ -e /run/vm-once ] || { touch /run/vm-once; kill -KILL $$$$; }'\n")
    guest.run("systemctl daemon-reload && systemctl restart uasd && systemctl kill -s STOP uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface)
    held = "udevadm info -q property -n sda | grep -qx UASD_HOLD=1"
    guest.wait_until(held, 20)
    guest.wait_until("! " + held, 60)
    guest.run("test -e /run/vm-once", check=True)
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")


@case(limit=300)
def watchdog(vm):
    "A uasd that hangs is replaced by another one, and one that is at rest is not."
    guest = vm.resume()
    guest.run("grep -qx WatchdogSec=1min /lib/systemd/system/uasd.service", check=True)
    guest.put("/etc/systemd/system/uasd.service.d/vm.conf", "[Service]\nWatchdogSec=5\nTimeoutAbortSec=2\n")
    guest.run("systemctl daemon-reload && systemctl restart uasd", check=True)
    before = main_pid(guest)
    let_pass(15)  # three times what PID 1 would wait for a uasd that hangs
    assert main_pid(guest) == before
    # In the middle of an event, but for less than a second.
    guest.run("uasctl list && kill -STOP %d" % before, check=True)
    back(guest, before)
    assert guest.out("journalctl -b -u uasd -o cat | grep -c 'Watchdog timeout'") == "1"


@case(tier="full", limit=300)
def gadget_slow_to_name(vm):
    "The kernel has a disk's device locked for half a minute, as its other interfaces tell their names: uasd answers, sees to another disk, and then to this one."
    other, slow = vm.disk(), vm.disk(others=7, other_name_ms=4500)
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    guest.plug(other)
    well(guest, other, "uas")
    before = main_pid(guest)
    guest.plug(slow)
    guest.wait_until("test -e /sys/bus/usb/devices/" + slow.interface, 30)
    for target in ("usb-storage", "uas", "usb-storage"):
        done = switch(guest, other, target)
        assert done.rc == 0, done
        # The lock is held: its name cannot be read.
        assert guest.run("timeout 0.5 cat /sys/bus/usb/devices/%s/../serial" % slow.interface).rc == 124
    guest.wait_disk(slow.interface, timeout=60)
    guest.until(lambda: listed(guest, slow), 60, "uasd knows it")
    assert switch(guest, slow, "usb-storage").rc == 0
    assert main_pid(guest) == before

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PID 1 does for uasd: it restarts it without a limit, and `systemctl isolate` takes nothing away that a hold needs."""

from context import case
from stepped import back, main_pid

KILLS = 20
UNITS = ("uasd.service", "uasd-release@2-1:1.0.timer", "uasd-release@2-1:1.0.service")


@case(limit=300)
def killed_often(vm):
    "uasd is killed twenty times in a row, as soon as it is there: PID 1 starts it once more, and it answers."
    guest = vm.resume()
    assert guest.run("systemd-analyze verify %s" % " ".join(UNITS)).text == ""
    # The pause is shorter, to have more restarts within the ten seconds that systemd counts by default.
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


@case(tier="full")
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
    assert guest.run("systemctl is-active -q udisks2 cron dbus").rc != 0  # it stops what nobody requires
    assert guest.run(timer).rc == 0 and guest.run(held).rc == 0
    guest.wait_until("! " + held, 60)
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")

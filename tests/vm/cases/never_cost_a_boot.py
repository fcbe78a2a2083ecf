# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd never breaks a boot: with any fault, the disk is mounted, and in time.

The disk is in fstab without nofail, on the vendor kernel: there the hold
begins in every healthy boot, so what a broken one does is the fault's doing.
"""

import cpio
from context import case
from evidence import when
from guest import FSTAB
from holds import (LABEL, MONITOR, SERVICE_DROPIN, Timeline, boot, by_the_dead_man, early, held_and_released,
                   mounted_at_boot, never_held)
from stacks import KEY, prepare

HOLD_SEC = 20
HELPER = "/usr/lib/uasd/uasd-hold"
PID1 = "/usr/lib/uasd/uasd-pid1"
SWITCH = "/usr/lib/uasd/uasd-switch"
ENABLED = "/etc/systemd/system/sysinit.target.wants/uasd.service"
FIFTEEN = "LABEL=DATA /mnt ext4 defaults,x-systemd.device-timeout=15s 0 2"


def control(vm, disk):
    "The same boot without a fault: held, switched, mounted on uas."
    guest = boot(vm, disk)
    line = mounted_at_boot(guest, disk, "uas")
    held_and_released(line, HOLD_SEC)
    assert not line.by_timer, line
    guest.power_cut()


def without_hold(vm, disk, **options):
    "A boot in which no hold may begin. Returns the seconds to the mount."
    guest = boot(vm, disk, **options)
    line = mounted_at_boot(guest, disk, "usb-storage")
    never_held(line)
    stats = disk.stats()
    assert stats["set_interface"]["1"] == 0 and stats["uas"]["commands"] == 0, stats
    return guest, line


@case(image="vendor", tier="full", limit=480)
def switched_off(vm):
    "uasd=off and uasd.hold=0: no hold ever begins; off, nothing is ever switched."
    disk = vm.disk(label="DATA")
    control(vm, disk)
    for word in ("uasd=off", "uasd.hold=0"):
        disk.reset_stats()
        guest, _line = without_hold(vm, disk, cmdline=word)
        guest.run("umount /mnt", check=True)
        if word == "uasd=off":
            guest.run("sleep 5")
            assert guest.driver(disk.interface) == "usb-storage"
        else:
            guest.wait_disk(disk.interface, driver="uas")
        guest.power_cut()


def not_started(vm, disk, **options):
    disk.reset_stats()
    guest, _line = without_hold(vm, disk, **options)
    assert guest.run("systemctl is-active uasd.service").text == "inactive"
    guest.power_cut()


@case(tier="full", image="vendor")
def disabled(vm):
    "The service disabled: no hold ever begins, no switch either."
    not_started(vm, vm.disk(label="DATA"), remove=[ENABLED])


@case(image="vendor", tier="full", limit=480)
def disabled_or_masked(vm):
    "The service disabled or masked, in boots that have a hold otherwise."
    disk = vm.disk(label="DATA")
    control(vm, disk)
    for options in ({"remove": [ENABLED]}, {"mask": ["uasd.service"]}):
        not_started(vm, disk, **options)


@case(image="vendor", tier="full", limit=480)
def helper_broken(vm):
    "uasd-hold missing, or failing with rubbish on its lips: no hold, no delay."
    disk = vm.disk(label="DATA")
    control(vm, disk)
    rubbish = cpio.Exec("#!/bin/sh\necho UASD_HOLD=1\necho SYSTEMD_READY=0\n"
                        "head -c 100000 /dev/urandom\nexit 1\n")
    for options in ({"remove": [HELPER]}, {"files": {HELPER: rubbish}}):
        disk.reset_stats()
        guest, _line = without_hold(vm, disk, **options)
        guest.power_cut()


@case(image="vendor", tier="full", limit=300)
def helper_hangs(vm):
    "uasd-hold stops (SIGSTOP) before it answers: the kernel kills it, udev does not wait for it, no hold."
    disk = vm.disk(label="DATA")
    without_hold(vm, disk, files={PID1: cpio.Exec("#!/bin/sh\nkill -STOP $PPID\n")})


def daemon(vm, lines, files=None, fstab=LABEL, wait="booted"):
    """A boot with LINES in uasd.service."""
    disk = vm.disk(label="DATA")
    files = dict(files or {}, **{SERVICE_DROPIN: early(lines)})
    guest = boot(vm, disk, fstab=fstab, files=files, wait=wait)
    guest.wait_until("mountpoint -q /mnt", 60)
    return guest, disk


@case(image="vendor", tier="full")
def daemon_killed(vm):
    "SIGKILL before the hold begins, nobody to start it again."
    guest, disk = daemon(vm, "ExecStartPost=/bin/kill -KILL $MAINPID\n")
    by_the_dead_man(mounted_at_boot(guest, disk, "usb-storage"), HOLD_SEC)
    assert guest.run("pgrep -x uasd").rc == 1


@case(image="vendor", tier="full")
def daemon_stopped(vm):
    "SIGSTOP before the hold begins, and HoldSec=12: that long and no longer."
    guest, disk = daemon(vm, "ExecStartPost=/bin/kill -STOP $MAINPID\n",
                         {"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=12\n"})
    by_the_dead_man(mounted_at_boot(guest, disk, "usb-storage"), 12)
    assert guest.out("ps -o stat= -C uasd").startswith("T")


# uasd-switch gets another name, and a harmful program takes its place first.
SWITCH_AWAY = ("ExecStartPre=/bin/sh -c 'mv -n %s %s.real; cp /etc/vm-switch %s'\n"
               % (SWITCH, SWITCH, SWITCH))


@case(image="vendor", tier="full")
def daemon_killed_in_a_switch(vm):
    "SIGKILL at the moment it has begun a switch, Restart=no: that ends well without it."
    guest, disk = daemon(vm, SWITCH_AWAY, {"/etc/vm-switch": cpio.Exec(
        "#!/bin/sh\nkill -KILL $PPID\nexec %s.real \"$@\"\n" % SWITCH)})
    line = mounted_at_boot(guest, disk, "uas")
    # Without a uasd it reports its end to the journal, perhaps after the mount.
    moved = "%s: moved from usb-storage to uas" % disk.interface
    guest.until(lambda: moved in guest.journal("-b -t uasd-switch"), 20, "it says how it ended")
    held_and_released(line, HOLD_SEC)
    assert not line.by_timer and guest.run("pgrep -x uasd").rc == 1


@case(image="vendor", tier="full")
def daemon_stopped_in_a_switch(vm):
    "SIGSTOP at the moment it has begun a switch: that ends well without it."
    guest, disk = daemon(vm, SWITCH_AWAY, {"/etc/vm-switch": cpio.Exec(
        "#!/bin/sh\nkill -STOP $PPID\nexec %s.real \"$@\"\n" % SWITCH)})
    line = mounted_at_boot(guest, disk, "uas")
    held_and_released(line, HOLD_SEC)
    assert not line.by_timer and guest.out("ps -o stat= -C uasd").startswith("T")


@case(image="vendor")
def both_killed_in_a_switch(vm):
    "Daemon and uasd-switch die while the disk has no driver: the next daemon mends it."
    guest, disk = daemon(vm, SWITCH_AWAY + "Restart=on-failure\n", {"/etc/vm-switch": cpio.Exec(
        "#!/bin/sh\n[ ! -e /run/vm-once ] || exec %s.real \"$@\"\n>/run/vm-once\n"
        "%s.real \"$@\" | while read -r line; do\n  echo \"$line\"\n"
        "  case $line in 'STEP bind '*)\n    >/run/vm-killed; pkill -KILL -f uasd-switch.real; kill -KILL $PPID;;\n"
        "  esac\ndone\n" % (SWITCH, SWITCH))})
    line = mounted_at_boot(guest, disk, guest.driver(disk.interface))
    held_and_released(line, HOLD_SEC)
    assert line.driver in ("uas", "usb-storage"), line
    assert guest.run("test -e /run/vm-killed").rc == 0
    assert not guest.run("ls /run/uasd/switch | grep -v lock").text


@case(image="vendor", tier="full")
def switch_missing(vm):
    "No uasd-switch: released at once."
    disk = vm.disk(label="DATA")
    line = mounted_at_boot(boot(vm, disk, remove=[SWITCH]), disk, "usb-storage")
    held_and_released(line, 5)
    assert not line.by_timer, line


@case(image="vendor", tier="full")
def switch_stopped(vm):
    "uasd-switch stops (SIGSTOP) before it does anything: the dead man's timer."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={SWITCH: cpio.Exec("#!/bin/sh\nkill -STOP $$\n")})
    by_the_dead_man(mounted_at_boot(guest, disk, "usb-storage"), HOLD_SEC)


@case(image="vendor")
def switch_stopped_between_drivers(vm):
    "uasd-switch stops (SIGSTOP) with the disk on no driver: the dead man's timer has the kernel choose one."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={"/etc/vm-switch": cpio.Exec(
        "#!/bin/sh\n%s.real \"$@\" | while read -r line; do\n  echo \"$line\"\n"
        "  case $line in 'STEP bind '*)\n    pkill -STOP -f uasd-switch.real;;\n  esac\ndone\n" % SWITCH),
        SERVICE_DROPIN: early(SWITCH_AWAY)})
    # It may have bound the disk when it is stopped. Then the release is as for any other.
    by_the_dead_man(mounted_at_boot(guest, disk, guest.driver(disk.interface)), HOLD_SEC)


def hanging(vm, op, fstab=LABEL):
    disk = vm.disk(label="DATA", faults=[{"name": "hang", "proto": "uas", "op": op}])
    guest = boot(vm, disk, fstab=fstab)
    return mounted_at_boot(guest, disk, "usb-storage")


@case(image="vendor")
def disk_hangs(vm):
    "A disk that answers nothing under uas: back on usb-storage within the hold."
    line = hanging(vm, "any")
    held_and_released(line, HOLD_SEC)
    assert line.disk.stats()["uas"]["commands"] > 0


@case(image="vendor", tier="full")
def disk_hangs_at_reads(vm):
    "A disk that says who it is under uas, but cannot be read."
    line = hanging(vm, "read")
    held_and_released(line, HOLD_SEC)
    assert line.disk.stats()["uas"]["commands"] > 0


@case(image="vendor", tier="full", limit=300)
def disk_hangs_at_depth(vm):
    "A disk that is read well under uas until its queue is full: who examines it hangs, and it is back within the hold all the same."
    disk = vm.disk(label="DATA", faults=[{"name": "hang", "proto": "uas", "op": "read", "after": 90}])
    guest = boot(vm, disk)
    held_and_released(mounted_at_boot(guest, disk, "usb-storage"), HOLD_SEC)
    assert "rolled back at step verify: under uas reads at full depth are not answered in time" in guest.journal("-b -u uasd")


@case(image="vendor", tier="full", limit=300)
def half_the_device_timeout(vm):
    "HoldSec=40 beside x-systemd.device-timeout=60s: a hold of half of that."
    guest, disk = daemon(vm, "ExecStartPost=/bin/kill -KILL $MAINPID\n",
                         {"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=40\n"},
                         fstab=FIFTEEN.replace("15s", "60s"))
    by_the_dead_man(mounted_at_boot(guest, disk, "usb-storage"), 30)


@case(image="vendor", tier="fast")
def fifteen_seconds(vm):
    "x-systemd.device-timeout=15s: the hold is half of that, so a mount that waits is not lost."
    # Not in a boot: an emulated one takes 15 s before udev sees the disk.
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/fstab": FSTAB + FIFTEEN + "\n"})
    guest.run("systemctl daemon-reload && systemctl kill -s STOP uasd.service", check=True)
    guest.plug(disk)
    guest.wait_until("udevadm info -q property /dev/sda | grep UASD_HOLD=1")
    began = when(guest, r"systemd\[1\]: Started uasd-release@")
    guest.run("systemctl start mnt.mount", check=True)
    mounted = when(guest, r"EXT4-fs \(sda1\): mounted", "-b -k")
    print("held, mounted %+.2f s" % (mounted - began), flush=True)
    assert 7 <= mounted - began <= 7.5 + 6
    assert guest.driver(disk.interface) == "usb-storage"


BOX = "5ca1ab1e-0000-4000-8000-00000000b0c5"
KEY_DISK = """
cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --uuid %s $A %s
cryptsetup open -d %s $A box
mke2fs -q -t ext4 /dev/mapper/box
cryptsetup close box
mke2fs -q -t ext4 -L KEY $B
mount $B /mnt
cp %s /mnt/key
umount /mnt
""" % (BOX, KEY, KEY, KEY)


@case(image="vendor", limit=300)
def key_on_a_held_disk(vm):
    "crypttab's keyfile-timeout=: the key is on a disk that uasd wants to move. The boot finds it in time, and nobody is asked for a password."
    inner, outer = vm.disk(), vm.disk()
    prepare(vm, [inner, outer], KEY_DISK)
    inner.close()
    # No timeout but that of the key is shorter than a hold. uasd is stopped, so a hold would last until its timer ends it.
    guest = vm.boot(drives=inner.media, wait="agent", fstab=["/dev/mapper/box /mnt ext4 defaults 0 2"], files={
        **MONITOR, "/etc/uasd/uasd.conf": "[uasd]\nHoldSec=45\n",
        "/etc/crypttab": "box UUID=%s /key:LABEL=KEY luks,keyfile-timeout=50s\n" % BOX,
        SERVICE_DROPIN: early("ExecStartPost=/bin/kill -STOP $MAINPID\n")})
    # A hold of half of the time would not end before the key is given up.
    loaded = int(guest.out("systemctl show -P UnitsLoadFinishTimestampMonotonic")) / 1e6
    guest.wait_until("awk '{exit $1 < %f}' /proc/uptime" % (loaded + 25), 60)
    guest.plug(outer)
    asks = "ls /run/systemd/ask-password/ask.*"
    guest.wait_until("mountpoint -q /mnt || " + asks, 120)
    assert guest.run(asks).rc != 0, guest.journal("-b")
    line = Timeline(guest, outer)
    print(line, flush=True)
    never_held(line)
    assert line.driver == "usb-storage"


@case(tier="full", image="vendor")
def h15_delay_for_everybody(vm):
    "H15: a disk that speaks BOT alone: no hold, no timer, nothing waits for uasd."
    disk = vm.disk(label="DATA", alts="bot")
    guest = boot(vm, disk)
    line = mounted_at_boot(guest, disk, "usb-storage")
    never_held(line)
    assert disk.stats()["bot"]["writes"] > 0
    log = guest.journal("-b -u systemd-udevd.service")
    assert "uasd-hold" not in log, log
    # Neither the mount nor any target is ordered after the daemon.
    after = guest.out("systemctl show -P Before uasd.service").split()
    assert after == ["shutdown.target"], after


def waiting(guest, disk):
    """A disk in use on usb-storage, which uasd switches as soon as it is free."""
    conf = "[uasd]\nQuietSec=0\n"
    guest.put("/etc/uasd/uasd.conf", conf + "[Disk 1209:5a5a]\nPolicy=usb-storage\n")
    guest.run("systemctl restart uasd.service", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.run("mount LABEL=DATA /mnt", check=True)
    guest.put("/etc/uasd/uasd.conf", conf)
    guest.run("systemctl restart uasd.service", check=True)
    guest.until(lambda: guest.uasctl("list")["disks"][0]["state"] == "waiting", 20, "waiting")


@case(image="vendor", tier="full", limit=600)
def nothing_at_shutdown(vm):
    "Ten restarts with a waiting disk, QuietSec=0: no switch begins on the way down."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    waiting(guest, disk)
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas")
    guest.close()
    for attempt in range(10):
        disk = vm.disk(label="DATA")
        guest = vm.resume()
        waiting(guest, disk)
        if attempt % 3 == 2:  # also a request of a user
            assert guest.run("uasctl switch %s uas" % disk.interface).rc == 3
        guest.reboot(wait="none")
        stats = disk.stats()
        print("restart %d: set_interface %s, %d commands by uas" % (
            attempt + 1, stats["set_interface"], stats["uas"]["commands"]), flush=True)
        assert stats["set_interface"]["1"] == 0 and stats["uas"]["commands"] == 0, stats
        guest.close()
        disk.close()

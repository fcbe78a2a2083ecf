# SPDX-License-Identifier: LGPL-2.1-or-later
"""Faults of other projects that hold mounts, which must not happen here: H1 to H15. Two of them need another boot:
root_on_usb.h04_taken_up_after_the_initramfs and never_cost_a_boot.h15_delay_for_everybody.

The catalogue is of systemd, multipath-tools, LVM and dracut: each case's first line says
what happened there. The disk starts on usb-storage and wants uas (vendor kernel).
"""

import re
import time

from context import case
from evidence import on_storage, only_disk, when
from guest import FSTAB
from users import timers

HOLD_SEC = 20
TIMER = "uasd-release@2-1:1.0.timer"


def held(vm, seconds=HOLD_SEC, plug=True, **disk_options):
    """A guest in which the disk is held, and only the dead man's timer can end that: uasd is stopped."""
    disk = vm.disk(**disk_options or {"label": "DATA"})
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=%d\n" % seconds})
    if seconds != HOLD_SEC:  # the generator tells PID 1
        guest.run("systemctl daemon-reload", check=True)
    guest.run("systemctl kill -s STOP uasd.service", check=True)
    if plug:
        guest.plug(disk)
        guest.wait_until("udevadm info -q property /dev/sda | grep UASD_HOLD=1")
        guest.run("udevadm settle", check=True)
    return guest, disk


def is_held(guest, *names):
    for name in names or ("sda", "sda1"):
        props = guest.udev("/dev/" + name)
        if not (props.get("UASD_HOLD") == "1" and props.get("SYSTEMD_READY") == "0"):
            return False
    return True


def is_free(guest, *names):
    for name in names or ("sda", "sda1"):
        props = guest.udev("/dev/" + name)
        if "UASD_HOLD" in props or "SYSTEMD_READY" in props or "UDISKS_IGNORE" in props:
            return False
    return True


def used_before_udev(vm, use, **options):
    """Plugged in and used before udev has seen the disk: the state that coldplug finds after an initramfs. uasd is stopped."""
    guest, disk = held(vm, plug=False, **options)
    guest.run("modprobe -a usb-storage sd_mod", check=True)  # as udev would
    guest.run("systemctl stop systemd-udevd-kernel.socket systemd-udevd-control.socket systemd-udevd", check=True)
    guest.plug(disk)
    guest.wait_until("test -b /dev/sda%s" % (len(disk.media[0].partitions) or ""), 30)
    guest.run(use, check=True)
    guest.run("systemctl start systemd-udevd-kernel.socket systemd-udevd-control.socket systemd-udevd && "
              "udevadm trigger --action=add --subsystem-match=block && udevadm settle", check=True)
    assert guest.run("ls /run/uasd/hold/*").rc != 0
    assert guest.run("systemctl is-active %s" % TIMER).text == "inactive"
    return guest, disk


@case(image="vendor", tier="full", limit=500)
def h01_ready_taken_back_unmounts(vm):
    "H1: SYSTEMD_READY=0 on a later event unmounted a mounted disk: a hold never begins on a disk PID 1 knows."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk)
    guest.put("/etc/fstab", guest.read("/etc/fstab") + "\nLABEL=DATA /mnt ext4 defaults 0 2\n")
    guest.run("systemctl daemon-reload && systemctl start mnt.mount && echo kept >/mnt/file", check=True)
    assert ".device" in guest.out("systemctl show -P StopPropagatedFrom -P BindsTo mnt.mount")
    # All later events: uasd, its generator, every kind of uevent, a re-execution of PID 1.
    guest.run("systemctl enable -q uasd && systemctl daemon-reload && systemctl start uasd", check=True)
    for action in ("add", "change", "bind", "move", "online"):
        guest.run("udevadm trigger --action=%s --subsystem-match=usb --subsystem-match=block --subsystem-match=scsi && "
                  "udevadm settle" % action, check=True)
    guest.run("systemctl daemon-reexec && systemctl restart systemd-udevd && udevadm trigger --action=add && udevadm settle",
              check=True)
    assert is_free(guest)
    assert guest.read("/mnt/file") == "kept" and guest.run("systemctl is-active mnt.mount").text == "active"
    assert "Unmounting" not in guest.journal("-b")
    assert guest.run("systemctl is-active local-fs.target").text == "active"
    only_disk(guest, "waiting")


@case(image="vendor", tier="full", limit=500)
def h02_said_once(vm):
    "H2: said on the first event alone, the hold was dropped by the next: every event says it again."
    guest, disk = held(vm, 90)
    for action in ("change", "add", "bind"):
        guest.run("udevadm trigger --action=%s /sys/class/block/sda /sys/class/block/sda1 && udevadm settle" % action, check=True)
        assert is_held(guest), (action, guest.udev("/dev/sda1"))
    guest.run("blockdev --rereadpt /dev/sda && udevadm settle", check=True)
    assert is_held(guest)
    guest.run("systemctl kill -s CONT uasd.service", check=True)
    guest.wait_disk(disk.interface, driver="uas")
    guest.until(lambda: is_free(guest), 60, "released")


@case(image="vendor", tier="full", limit=500)
def h03_absent_key_skips_the_rest(vm):
    "H3: IMPORT{db} of an absent key skipped the rest of its line: what is not known skips nothing here."
    # Neither capable nor with a verdict: every key that a partition may import is absent.
    disk = vm.disk(label="DATA", alts="bot")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    for action in ("add", "change"):
        guest.run("udevadm trigger --action=%s /sys/class/block/sda1 && udevadm settle" % action, check=True)
        props = guest.udev("/dev/sda1")
        assert props["ID_FS_LABEL"] == "DATA" and "/dev/disk/by-label/DATA" in props["DEVLINKS"], props
        assert not [key for key in props if key.startswith("UASD")], props
    # With some of them present.
    disk.unplug()
    guest.wait_until("! test -e /dev/sda")
    other = vm.disk(label="MORE")
    guest.plug(other)
    guest.wait_disk(other.interface, driver="uas")
    guest.wait_until("udevadm info -q property /dev/sda1 | grep UASD_CAPABLE=1")
    props = guest.udev("/dev/sda1")
    assert props["ID_FS_LABEL"] == "MORE" and "UASD_VERDICT" not in props and is_free(guest), props


@case(image="vendor", tier="full", limit=500)
def h05_exclusive_open_as_probe(vm):
    "H5: an exclusive open as probe got in others' way: looking is passive, partitions too, and nothing is claimed while in use."
    guest, disk = used_before_udev(vm, "mkswap -q /dev/sda2 && swapon /dev/sda2", size="96M", partitions=["32M", None])
    assert is_free(guest, "sda", "sda1", "sda2")
    guest.run("systemctl kill -s CONT uasd.service", check=True)
    only_disk(guest, "waiting")
    # A process repeatedly claims the other partition. It disturbs no program, and no program disturbs it.
    guest.run("python3 -c 'import os, time\nfor i in range(2000):\n    os.close(os.open(\"/dev/sda1\", os.O_RDONLY | os.O_EXCL))\n"
              "    time.sleep(0.002)'", check=True)
    assert "switching" not in guest.journal("-b -u uasd")
    assert guest.driver(disk.interface) == "usb-storage"


@case(image="vendor", tier="full", limit=500)
def h06_stale_values_held_for_ever(vm):
    "H6: the helper failed, the values of the last event were taken: a helper that fails means not held."
    for helper in ("exit 1", "kill -9 $$", "echo UASD_HOLD=1; exit 1"):
        guest, disk = held(vm)
        guest.put("/run/failing", "#!/bin/sh\n%s\n" % helper, mode=0o755)
        guest.run("mount --bind /run/failing /usr/lib/uasd/uasd-hold && "
                  "udevadm trigger --action=change /sys/class/block/sda && udevadm settle && "
                  "udevadm trigger --action=change /sys/class/block/sda1 && udevadm settle", check=True)
        assert is_free(guest), guest.udev("/dev/sda1")
        assert guest.udev("/dev/sda1")["ID_FS_LABEL"] == "DATA"
        guest.run("mount LABEL=DATA /mnt", check=True)
        guest.close()
        disk.close()


H07 = {
    "vm-slow.service": "[Unit]\nDescription=vm-slow\nAfter=local-fs.target\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
                       "ExecStart=/bin/true\nExecStop=/bin/sleep %d\nTimeoutStopSec=%d\n" % (HOLD_SEC + 25, HOLD_SEC + 40),
    # Like those of the incident: started after the hold, with the same time, and without a stop job.
    "vm-fires.timer": "[Unit]\nDefaultDependencies=no\n[Timer]\nOnActiveSec=%d\nAccuracySec=100ms\n" % HOLD_SEC,
    "vm-fires.service": "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\n"
                        "ExecStart=/bin/sh -c 'echo vm: a timer fires >/dev/console'\n",
}


@case(image="vendor", tier="full", limit=500)
def h07_timer_restarts_what_stops(vm):
    "H7: a timer fired while everything was stopped, and started the daemon again: ours goes first, though it takes longer than a hold."
    guest, _disk = held(vm, plug=False)
    for path, text in H07.items():
        guest.put("/run/systemd/system/" + path, text)
    guest.run("systemctl daemon-reload && systemctl start vm-slow.service", check=True)
    guest.plug(_disk)
    guest.wait_until("udevadm info -q property /dev/sda | grep UASD_HOLD=1")
    guest.run("systemctl start vm-fires.timer", check=True)
    for unit in (TIMER, TIMER.replace("timer", "service")):
        shown = guest.out("systemctl show -P DefaultDependencies -P Conflicts -P Before %s" % unit)
        assert "no" in shown.split() and shown.count("shutdown.target") == 2, shown
    assert "initrd-cleanup.service" in guest.out("systemctl show -P Conflicts " + TIMER)
    assert guest.run("systemctl is-active " + TIMER).text == "active"
    begin = time.monotonic()
    guest.run("mkdir -p /etc/systemd/system/uasd.service.d && printf '[Service]\\nTimeoutStopSec=5\\n' "
              ">/etc/systemd/system/uasd.service.d/vm.conf && systemctl daemon-reload", check=True)
    guest.machine.monitor.poll_event("RESET")
    guest.run("systemctl --no-block reboot", check=True)
    guest.until(lambda: guest.machine.monitor.poll_event("RESET", 0.2), 150, "the reset")
    print("reset after %.0f s" % (time.monotonic() - begin))
    with open(guest.machine.path("console.log"), errors="replace") as console:
        text = re.sub(r"\033\[[0-9;]*[mK]", "", console.read())
    # The fault is present: stopping took longer than the hold, and another timer, started later, fired.
    begun, fired = text.find("Stopping vm-slow"), text.find("vm: a timer fires")
    assert 0 < begun < fired, text[-3000:]
    log = text[begun:].partition("reboot: machine restart")[0]
    assert "Stopped target" in log
    assert not re.search(r"Start(ing|ed).*(uasd|Release the Mounts)", log), log[-3000:]


@case(image="vendor", tier="full", limit=500)
def h08_clock_not_set(vm):
    "H8: the wall clock was not set yet: a deadline counts from the machine's start, whatever the time of day becomes."
    guest, _disk = held(vm, 40)
    began = when(guest, r"systemd\[1\]: Started uasd-release@")
    now = int(guest.out("date +%s"))
    try:
        for shift in (3600 * 24 * 400, -3600 * 24 * 4000):
            guest.run("date -s @%d && udevadm trigger --action=change /sys/class/block/sda && udevadm settle" % (now + shift),
                      check=True)
            assert is_held(guest)
        guest.until(lambda: is_free(guest), 160, "released")
    finally:
        guest.run("date -s @%d" % now)
    after = float(guest.out("cat /proc/uptime").split()[0]) - began
    print("released %.1f s after it began" % after)
    assert 39.5 <= after <= 60, after


@case(image="vendor", tier="full", limit=500)
def h09_release_behind_many(vm):
    "H9: the release stood in a queue behind thousands of events, and a mount was lost: PID 1 gives it, and it comes in time."
    guest, disk = held(vm, plug=False)
    guest.put("/etc/fstab", FSTAB + "LABEL=DATA /mnt ext4 defaults 0 2\n")
    # udev is slow with every event of other devices, and always has some hundred to process.
    guest.put("/run/udev/rules.d/10-slow.rules", 'SUBSYSTEM=="tty|mem|vc", PROGRAM="/bin/sleep 0.05"\n')
    guest.run("udevadm control --reload && systemctl daemon-reload", check=True)
    others = guest.spawn("while :; do udevadm settle --timeout=0 && udevadm trigger --action=change --subsystem-match=tty "
                         "--subsystem-match=mem --subsystem-match=vc; sleep 0.1; done")
    guest.plug(disk)
    guest.wait_until("udevadm info -q property /dev/sda1 | grep UASD_HOLD=1", 90)
    behind = guest.spawn("while test -e /run/uasd/hold/2-1:1.0; do sleep 0.02; done; udevadm settle --timeout=0 && echo idle")
    began = when(guest, r"systemd\[1\]: Started uasd-release@")
    mount = guest.spawn("systemctl start mnt.mount")
    result = mount.wait(160)
    released = when(guest, r"uasd-hold\[\d+\]: Released the mounts of 2-1:1.0") - began
    mounted = when(guest, r"EXT4-fs \(sda1\): mounted", "-b -k") - began
    print("released %.1f s, mounted %.1f s after the hold began" % (released, mounted))
    assert result.rc == 0, result
    assert behind.wait(10).text != "idle", "udev had nothing to do"
    assert HOLD_SEC - 0.5 <= released <= HOLD_SEC + 20, released
    others.kill()


@case(image="vendor", tier="full", limit=500)
def h10_partitions_by_accident(vm):
    "H10: partitions were held or let go by accident: disks and partitions are meant by their type, the disk comes first."
    guest, disk = held(vm, 60, media=[vm.media().ext4("WHOLE"), vm.media().partition(["16M", None])])
    # The kernel looks at both at the same time: either may be sda.
    whole, parted = guest.wait_disk(disk.interface, count=2)
    parts = [parted + "1", parted + "2"]
    guest.wait_until("test -b /dev/" + parts[1], 30)
    guest.run("udevadm settle", check=True)
    for name in (whole, parted, *parts):
        assert is_held(guest, name), name
    # A device that a user stacked on a held disk is not ours, nor are its partitions.
    guest.run("losetup -P /dev/loop5 /dev/%s && udevadm settle && test -b /dev/loop5p1" % parted, check=True)
    for name in ("loop5", "loop5p1", "vda"):
        assert "UASD_HOLD" not in guest.udev("/dev/" + name), name
    guest.run("losetup -d /dev/loop5", check=True)
    events = guest.spawn("exec udevadm monitor --kernel --property --subsystem-match=block")
    guest.until(lambda: "KERNEL - the kernel uevent" in events.output(), 10, "the monitor")
    guest.until(lambda: is_free(guest, whole, parted, *parts), 180, "released")
    added = re.findall(r"KERNEL\[\S+\] add\s+\S+/(sd\w+) ", events.output())
    events.kill()
    assert sorted(added) == sorted([whole, parted, *parts]), added
    assert all(added.index(parted) < added.index(part) for part in parts), added
    assert guest.udev("/dev/" + whole)["ID_FS_LABEL"] == "WHOLE"


@case(image="vendor", tier="full", limit=500)
def h11_others_do_not_ask_systemd(vm):
    "H11: LVM, md and udisks do not look at SYSTEMD_READY: a hold has a word for each, and they come with the release."
    disk = vm.disk(size="160M", partitions=["64M", "32M", None])
    guest = on_storage(vm, disk)
    guest.run("pvcreate -q /dev/sda1 && vgcreate -q vg /dev/sda1 && lvcreate -q -y -L 16M -n data vg && vgchange -q -an vg && "
              "mdadm -q --create /dev/md7 --run --force --level=1 --raid-devices=1 --metadata=1.2 /dev/sda2 && "
              "mdadm -q --stop /dev/md7 && mkfs.ext4 -q -L DATA /dev/sda3 && udevadm settle", check=True)
    disk.unplug()
    guest.wait_until("! test -e /dev/sda")
    guest.run("systemctl enable -q uasd && systemctl daemon-reload && systemctl start uasd && "
              "systemctl kill -s STOP uasd.service && systemctl start udisks2", check=True)
    guest.plug(disk)
    guest.wait_until("udevadm info -q property /dev/sda3 | grep UASD_HOLD=1")
    guest.run("udevadm settle", check=True)
    for name in ("sda1", "sda2", "sda3"):
        props = guest.udev("/dev/" + name)
        assert props["UDISKS_IGNORE"] == "1" and "ID_FS_TYPE" not in props, props
        assert not re.search("by-(label|uuid)", props["DEVLINKS"]), props
    assert guest.run("test -e /dev/vg/data").rc != 0 and "sda2" not in guest.read("/proc/mdstat")
    assert guest.out("busctl get-property org.freedesktop.UDisks2 /org/freedesktop/UDisks2/block_devices/sda3 "
                     "org.freedesktop.UDisks2.Block HintIgnore") == "b true"
    guest.wait_until("test -e /dev/vg/data && grep -q 'active .*raid1 sda2' /proc/mdstat && test -e /dev/disk/by-label/DATA",
                     HOLD_SEC + 120)


@case(image="vendor", tier="full", limit=500)
def h12_settle(vm):
    "H12: the boot waited for udev to settle: no boot of ours does; the initramfs of a machine with a USB disk, twice, and for so long."
    guest = vm.resume()
    assert guest.run("systemctl is-active systemd-udev-settle.service").text == "inactive"
    assert guest.out("systemctl show -P ActiveEnterTimestamp systemd-udev-settle.service || true") == ""
    units = guest.out("systemctl list-dependencies --all --plain uasd.service 'uasd-release@x.timer' 'uasd-release@x.service'")
    assert "settle" not in units, units
    # "After=" alone starts nothing.
    named = guest.out("grep -aohE '.*(udevadm.settle|udev-settle).*' /usr/lib/uasd/uasd* /usr/lib/systemd/system/uasd* "
                      "/usr/lib/udev/rules.d/*uasd* /usr/lib/systemd/system-generators/*uasd*")
    assert named == "After=systemd-udev-trigger.service systemd-udev-settle.service", named
    # The initramfs waits where root that may be moving is about to be mounted, and once where a device is missing. The waits are
    # limited. Without a USB disk there is none.
    text = guest.read("/usr/lib/uasd/initramfs/run")
    asked = {verb: re.findall(r"udevadm settle --timeout=(\d+) \|\| true$", body, re.M)
             for verb, body in re.findall(r"^(\w+)\(\) \{\n(.*?)^\}", text, re.M | re.S)}
    assert asked == {"usb_disk_there": [], "start": [], "waiting": ["10"], "watch": ["30"], "mounting": ["30"]}, asked
    assert text.count("udevadm") == 3, text
    guest.run("touch /etc/initrd-release", check=True)
    for script, verb in ("local-premount", "mounting"), ("local-block", "waiting"):
        calls = guest.out("strace -f -qq -e trace=execve -o /run/vm-calls /usr/share/initramfs-tools/scripts/%s/uasd; "
                          "cat /run/vm-calls" % script)
        assert '"/usr/lib/uasd/initramfs/run", "%s"' % verb in calls and "udevadm" not in calls, calls
    guest.run("rm /etc/initrd-release", check=True)
    # A disk is switched and mounted as usual with a udev that never settles.
    guest.put("/run/udev/rules.d/10-never.rules", 'KERNEL=="tty1", ACTION=="change", PROGRAM="/bin/sleep 150"\n')
    guest.run("udevadm control --reload && udevadm trigger --action=change /sys/class/tty/tty1", check=True)
    disk = vm.disk(label="DATA")
    guest.plug(disk)
    guest.until(lambda: guest.driver(disk.interface) == "uas", 60)
    guest.wait_until("mount LABEL=DATA /mnt", 30)
    assert guest.run("udevadm settle --timeout=0").rc != 0, "udev is done after all"


@case(image="vendor", tier="full", limit=500)
def h13_repartitioned(vm):
    "H13: partitions vanish and return when the table is written: no hold begins on that, and what waits goes on waiting."
    disk = vm.disk(size="96M", partitions=["32M", "32M", None])
    guest = on_storage(vm, disk)
    guest.run("mkfs.ext4 -q /dev/sda1 && mount /dev/sda1 /mnt && systemctl enable -q uasd && systemctl daemon-reload && "
              "systemctl start uasd", check=True)
    only_disk(guest, "waiting")
    guest.run("for i in 1 2 3; do sfdisk -q --delete --no-reread /dev/sda 3; partx -d --nr 3 /dev/sda; "
              "echo ',,L' | sfdisk -q --no-reread -N 3 /dev/sda; partx -a --nr 3 /dev/sda; udevadm settle; done; test -b /dev/sda3",
              check=True)
    assert is_free(guest, "sda", "sda1", "sda2", "sda3") and "/mnt" in guest.mounts()
    # The partition that returned is watched like those before it.
    job = guest.spawn("exec sleep 1000 </dev/sda3")
    guest.wait_until("fuser -s /dev/sda3", 10)
    guest.run("umount /mnt", check=True)
    guest.until(lambda: any(user["device"] == "sda3" for user in only_disk(guest, "waiting")["busy"]), 20, "seen")
    guest.until(lambda: not timers(guest), 20, "no timer")
    job.kill()
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    # Written in the quiet time before a switch: udevd removes all partitions and adds them again.
    guest.run("mount /dev/sda1 /mnt && { uasctl switch sda usb-storage; umount /mnt; } && "
              "printf 'label: gpt\\n,16M\\n,16M\\n' | sfdisk -q --wipe always /dev/sda && udevadm settle", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.wait_until("test -b /dev/sda2 && ! test -e /dev/sda3", 20)
    assert is_free(guest, "sda", "sda1", "sda2")


@case(tier="full", limit=500, cpus=2)
def h14_mount_before_its_event(vm):
    "H14: mounts and uevents come in no order: a disk mounted before udev has told of it is neither held nor pulled."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=0\n[Disk 1209:5a5a]\nPolicy=usb-storage\n"})
    guest.put("/run/udev/rules.d/10-slow.rules", 'KERNEL=="sd*", PROGRAM="/bin/sleep 5"\n')
    guest.run("udevadm control --reload && systemctl restart uasd && systemctl kill -s STOP uasd.service", check=True)
    guest.plug(disk)
    guest.wait_until("mount /dev/sda1 /mnt", 30)
    assert guest.run("test -e /run/udev/data/b8:1").rc != 0, "udev was faster"
    guest.run("systemctl kill -s CONT uasd.service && echo kept >/mnt/file && sync -f /mnt", check=True)
    guest.run("udevadm settle", check=True)
    assert is_free(guest) and guest.udev("/dev/sda1")["ID_FS_LABEL"] == "DATA"
    one = only_disk(guest, "waiting")
    assert (one["driver"], one["target"]) == ("uas", "usb-storage"), one
    guest.run("dd if=/mnt/file of=/dev/null iflag=direct bs=4k && umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.read("/mnt/file") == "kept"
    log = guest.kernel_log()
    assert not re.search(r"I/O error|device offline|Aborting journal|shut down requested", log), log[-4000:]

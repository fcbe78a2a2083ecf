# SPDX-License-Identifier: LGPL-2.1-or-later
"""A slow machine: 32 ns an instruction, as an old NAS that boots, or 16. All work takes many times as long there, delay_use and a hold do not.

At 32 ns PID 1 gets the disk from udev 80 s after it has begun to wait, of 90 s, and no hold fits into the rest. At 16 ns a hold begins
after 40 s. The times are those of the guest's clock. It counts instructions, so the load of the host does not affect it.
"""

from cases import plug_in
from context import HALF_AS_SLOW, SLOW, case
from holds import LABEL, SERVICE_DROPIN, boot, by_the_dead_man, early, held_and_released, mounted_at_boot

HOLD_SEC = 20
# For what udev, fsck and mount do after a hold.
SLACK = 25
TIMEOUT = 900


@case(tier="full", image="vendor", slow=SLOW, limit=1200)
def inside_delay_use(vm):
    "Twenty plug-ins from the first on, uas not loaded: no block device appears under usb-storage in the kernel's delay_use of 1 s."
    plug_in.twenty_times(vm, timeout=300)


@case(tier="full", image="vendor", slow=SLOW, limit=1200)
def inside_delay_use_among_weights(vm):
    "The same where a service and the users have CPU weights, as a container manager gives them to all: Nice= counts only within uasd."
    plug_in.twenty_times(vm, timeout=300, before="for unit in dbus.service user.slice; do systemctl set-property --runtime $unit CPUWeight=100 || exit; "
                         "done; cd /sys/fs/cgroup && grep -w cpu cgroup.subtree_control && grep -w cpu system.slice/cgroup.subtree_control")


@case(tier="full", image="vendor", slow=SLOW, limit=1200)
def boot_goes_on(vm):
    "A boot with the disk in fstab: it is mounted and no unit fails, and if the disk is held, that ends at its time."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, timeout=TIMEOUT)
    line = mounted_at_boot(guest, disk, guest.driver(disk.interface))
    if line.was_held:
        held_and_released(line, HOLD_SEC, SLACK)


def waits(seconds):
    """The line in fstab by which a boot waits so long for the disk."""
    return LABEL.replace("defaults", "defaults,x-systemd.device-timeout=%ds" % seconds)


def moved_in_its_hold(vm, fstab, device_timeout):
    """A boot whose disk is held, moved and mounted on uas: a hold of at most HOLD_SEC, a mount while PID 1 still waits."""
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, fstab=fstab, timeout=TIMEOUT)
    line = mounted_at_boot(guest, disk, "uas")
    held_and_released(line, HOLD_SEC, SLACK)
    assert line.released - line.began <= HOLD_SEC and not line.by_timer, line
    began = int(guest.out("systemctl show -P UnitsLoadFinishTimestampMonotonic")) / 1e6
    print("mounted %.2f s after PID 1 has begun to wait" % (line.mounted - began), flush=True)
    assert line.mounted - began < device_timeout, (line, began)
    stats = disk.stats()
    assert stats["bot"]["writes"] == 0 and stats["uas"]["writes"] > 0, stats


@case(tier="full", image="vendor", slow=HALF_AS_SLOW, limit=1200)
def held_at_boot(vm):
    "A disk of fstab is held and moved in the boot, in the time of its hold, and mounted on uas before PID 1 gives it up."
    moved_in_its_hold(vm, LABEL, 90)


@case(tier="full", image="vendor", slow=HALF_AS_SLOW, limit=1200)
def held_for_long(vm):
    "The same with x-systemd.device-timeout=600s: the hold is not longer for that."
    moved_in_its_hold(vm, waits(600), 600)


@case(tier="full", image="vendor", slow=HALF_AS_SLOW, limit=1200)
def daemon_stopped(vm):
    "uasd does nothing for a held disk: PID 1 ends the hold at its time, and the disk is mounted on its driver."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={SERVICE_DROPIN: early("ExecStartPost=/bin/kill -STOP $MAINPID\n")}, timeout=TIMEOUT)
    guest.wait_until("mountpoint -q /mnt", 300)
    by_the_dead_man(mounted_at_boot(guest, disk, "usb-storage"), HOLD_SEC)

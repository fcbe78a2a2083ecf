# SPDX-License-Identifier: LGPL-2.1-or-later
"""udisks, and a desktop that mounts plugged-in disks by itself."""

from context import case
from evidence import only_disk

# As gvfs: mounts each new block device once, unless it is to be ignored or not to be mounted automatically.
AUTOMOUNTER = r"""
tree=org.freedesktop.UDisks2 seen=
get() { busctl get-property $tree $1 $tree.Block $2 2>/dev/null | cut -d' ' -f2-; }
while sleep 0.3; do
    for path in $(busctl tree --list $tree | grep block_devices/sd); do
        name=${path##*/}
        this=$name:$(cat /sys/class/block/${name%%[0-9]*}/diskseq 2>/dev/null)
        ignore=$(get $path HintIgnore) auto=$(get $path HintAuto)
        echo "$name $(get $path IdType) ignore=$ignore auto=$auto"
        case "$seen" in *" $this "*) continue;; esac
        [ "$ignore" = false ] && [ "$(get $path IdType)" = '"ext4"' ] || continue
        seen="$seen $this "
        [ "$auto" = true ] && udisksctl mount --no-user-interaction -b /dev/$name && echo "mounted $name"
    done
done
"""


def desktop(vm, quiet=3):
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=%d\n" % quiet, "/run/automounter": AUTOMOUNTER})
    guest.run("systemctl restart uasd && systemctl start udisks2", check=True)
    return guest


@case(image="vendor", tier="full", limit=500, cpus=2)
def not_while_held(vm):
    "A held disk is mounted by nobody; released, it is, as at any plug-in."
    disk = vm.disk(label="DATA")
    guest = desktop(vm)
    job = guest.spawn("exec bash /run/automounter")
    guest.run("systemctl kill -s STOP uasd.service", check=True)
    guest.plug(disk)
    guest.wait_until("udevadm info -q property /dev/sda1 | grep UASD_HOLD=1")
    guest.until(lambda: 'sda1' in job.output(), 20, "udisks knows it")
    assert not guest.run("lsblk -no MOUNTPOINT /dev/sda").text
    assert "mounted sda1" not in job.output(), job.output()
    # The dead man's timer.
    guest.until(lambda: "mounted sda1" in job.output(), 150, "mounted by the desktop")
    held = [line for line in job.output().splitlines() if line.startswith("sda1 ")]
    assert any("ignore=true" in line for line in held), held
    assert guest.run("udevadm info -q property /dev/sda1 | grep UASD_HOLD=1").rc != 0


@case(image="vendor", tier="full", limit=500, cpus=2)
def not_again(vm):
    "At plug-in the desktop mounts the disk; unmounted by its user and switched then, it stays unmounted until he mounts it."
    disk = vm.disk(label="DATA")
    guest = desktop(vm)
    job = guest.spawn("exec bash /run/automounter")
    guest.plug(disk)
    guest.until(lambda: "mounted sda1" in job.output(), 150, "mounted by the desktop")
    assert guest.driver(disk.interface) == "uas"
    assert guest.run("uasctl switch sda usb-storage").rc == 3
    only_disk(guest, "waiting")
    guest.run("udisksctl unmount -b /dev/sda1", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled")
    lines = len(job.output().splitlines())
    # It has seen the new disk, several times.
    guest.until(lambda: sum("sda1 \"ext4\" ignore=false auto=false" in line
                            for line in job.output().splitlines()[lines:]) > 3, 150, "seen again")
    assert job.output().count("mounted sda1") == 1, job.output()
    assert not guest.run("lsblk -no MOUNTPOINT /dev/sda").text
    guest.run("udisksctl mount -b /dev/sda1", check=True)


@case(image="vendor", tier="full", limit=500)
def power_off_wins(vm):
    "udisksctl power-off right after unmounting: the disk goes, and no switch gets in between."
    disk = vm.disk(label="DATA")
    guest = desktop(vm, quiet=8)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    guest.wait_until("udisksctl mount -b /dev/sda1", 60)
    assert guest.run("uasctl switch sda usb-storage").rc == 3
    only_disk(guest, "waiting")
    disk.reset_stats()
    began = len([line for line in guest.journal("-b -u uasd").splitlines() if "switching from" in line])
    guest.run("udisksctl unmount -b /dev/sda1 && udisksctl power-off -b /dev/sda", check=True)
    guest.wait_until("! test -e /sys/bus/usb/devices/%s" % disk.interface, 30)
    assert guest.uasctl("list")["disks"] == []
    after = [line for line in guest.journal("-b -u uasd").splitlines() if "switching from" in line]
    assert len(after) == began, after
    assert disk.stats()["set_interface"].get("0", 0) == 0, disk.stats()["set_interface"]

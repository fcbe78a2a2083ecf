# SPDX-License-Identifier: LGPL-2.1-or-later
"""/run, /etc or /var full or read-only: what cannot be recorded is not begun, and it goes on when there is room again."""

from context import case
from evidence import switch, well


def run_spoiled(vm, spoil, mend):
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    guest.run(spoil, check=True)
    done = switch(guest, disk, "usb-storage")
    where = guest.driver(disk.interface)
    guest.run(mend, check=True)
    assert done.rc == 1, done
    assert where == "uas", where
    well(guest, disk, "uas")
    done = switch(guest, disk, "usb-storage")
    assert done.rc == 0, done
    well(guest, disk, "usb-storage")


@case(tier="full", image="vendor")
def run_full(vm):
    "/run is full: nothing is begun."
    # To the last byte: what holds a page already could be written into.
    run_spoiled(vm, "fallocate -l $(($(df --output=avail -B1 /run | tail -n 1))) /run/filler; "
                    "! dd if=/dev/zero of=/run/filler2 bs=4k status=none", "rm -f /run/filler /run/filler2")


@case(tier="full", image="vendor")
def run_read_only(vm):
    "/run/uasd is read-only: nothing is begun."
    # Others write to files of /run all the time, which keeps it from being made so itself.
    run_spoiled(vm, "mount --bind /run/uasd /run/uasd && mount -o remount,bind,ro /run/uasd && ! touch /run/uasd/x", "umount /run/uasd")


@case(tier="full", image="vendor")
def root_read_only(vm):
    "/etc and /var are read-only: no policy is kept and none is pretended; the way off uas needs no record."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    guest.run("sync; mount -o remount,ro /", check=True)
    done = guest.run("uasctl policy sda usb-storage", timeout=60)
    assert done.rc == 1 and done.err.strip(), done
    [one] = guest.uasctl("list")["disks"]
    assert one["policy"] == "auto", one
    done = switch(guest, disk, "usb-storage")
    assert done.rc == 0, done
    well(guest, disk, "usb-storage")
    guest.run("mount -o remount,rw /", check=True)
    assert guest.run("uasctl policy sda uas").rc in (0, 3)
    assert guest.uasctl("list")["disks"][0]["policy"] == "uas"
    well(guest, disk)

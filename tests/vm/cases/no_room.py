# SPDX-License-Identifier: LGPL-2.1-or-later
"""/run, /etc or /var full or read-only: a switch that cannot be recorded does not begin, and goes on when there is room again."""

from context import case
from evidence import switch, well

# To the last byte: a page that is already allocated could be written.
FILL = "fallocate -l $(($(df --output=avail -B1 %(at)s | tail -n 1))) %(at)s/filler; ! dd if=/dev/zero of=%(at)s/filler2 bs=4k status=none"
EMPTY = "rm -f %(at)s/filler %(at)s/filler2"


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
    run_spoiled(vm, FILL % {"at": "/run"}, EMPTY % {"at": "/run"})


@case(tier="full", image="vendor")
def run_read_only(vm):
    "/run/uasd is read-only: nothing is begun."
    # Other programs write to files in /run all the time, so it cannot be made read-only itself.
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


@case(tier="full", image="vendor", limit=300)
def var_full(vm):
    "/var is full, and /etc is: no trial can be put on record, so nothing is moved to uas, until there is room again; off uas needs none."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\n"})
    guest.run("systemctl restart uasd; mkdir -p /etc/uasd /var/lib/uasd; for at in /etc/uasd /var/lib/uasd; do cp -a $at /run/kept; "
              "mount -t tmpfs -o size=64k none $at; cp -a /run/kept/. $at; rm -rf /run/kept; done; systemctl restart uasd", check=True)
    guest.plug(disk)
    well(guest, disk, "usb-storage")
    for at in "/etc/uasd", "/var/lib/uasd":
        guest.run(FILL % {"at": at})
        assert guest.run("echo x >%s/one-more" % at).rc != 0
    done = guest.run("uasctl switch sda uas --wait=10", timeout=60)
    assert done.rc == 3, done
    assert "its trial cannot be put on record: No space left" in guest.journal("-b -u uasd")
    well(guest, disk, "usb-storage")
    for at in "/etc/uasd", "/var/lib/uasd":
        guest.run(EMPTY % {"at": at} + "; rm -f %s/one-more" % at, check=True)
    guest.wait_disk(disk.interface, driver="uas")
    well(guest, disk, "uas")
    for at in "/etc/uasd", "/var/lib/uasd":
        guest.run(FILL % {"at": at})
        assert guest.run("echo x >%s/one-more" % at).rc != 0
    done = switch(guest, disk, "usb-storage")
    assert done.rc == 0, done
    well(guest, disk, "usb-storage")


@case(tier="full", image="bookworm", limit=300)
def run_fills_up(vm):
    "/run fills up in the middle of a switch, before the disk goes from its driver: whichever way it ends, the disk is on a driver, nothing is left behind once there is room."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    for step in "sync", "delete", "bind", "verify":
        other = "usb-storage" if guest.driver(disk.interface) == "uas" else "uas"
        guest.spawn("exec busctl --json=short monitor --match=type=signal,path_namespace=/org/uasd1 >/dev/shm/told 2>/dev/shm/err")
        guest.wait_until("grep -q Monitoring /dev/shm/err", 20)
        asked = guest.spawn("uasctl switch %s %s --wait=60" % (disk.interface, other))
        guest.wait_until("grep -q '\"%s\"' /dev/shm/told" % step, 60)
        guest.run(FILL % {"at": "/run"}, check=True)
        asked.wait(120)
        where = guest.driver(disk.interface)
        guest.run(EMPTY % {"at": "/run"}, check=True)
        guest.run("pkill -x busctl")
        print("  full from %s on: %s" % (step, where))
        guest.run("systemctl restart uasd", check=True)
        guest.run("uasctl wait %s" % disk.interface, 120)
        # If the request could not be removed, it is carried out now.
        well(guest, disk)

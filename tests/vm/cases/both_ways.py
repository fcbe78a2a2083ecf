# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl switch, in both directions, without data loss."""

import hashlib

from context import case
from evidence import only_disk

ENTRIES = "aaaa:bbbb:c,0x1209:0x5a5b:u,dead:beef:m"


def unsynced(guest, seed):
    """16 MiB of raw writes without a sync; their checksum."""
    where = 4 + 20 * seed
    guest.run("dd if=/dev/urandom of=/run/data bs=1M count=16 status=none && "
              "dd if=/run/data of=/dev/sda bs=1M seek=%d conv=notrunc status=none" % where, check=True)
    return guest.out("sha256sum </run/data").split()[0], where


def written(disk, where):
    """The content of the medium itself, without any cache."""
    with open(disk.media[0].path, "rb") as file:
        file.seek(where << 20)
        return hashlib.sha256(file.read(16 << 20)).hexdigest()


@case(tier="fast", image=("bookworm", "vendor"), cpus=2, also=("trixie", "bullseye", "sid"))
def unsynced_writes_survive(vm):
    "Mainline: raw writes without fsync survive both switches, with a volatile write cache; quirks of others too."
    disk = vm.disk(size="96M", wcache="volatile")
    guest = vm.resume()
    guest.run("modprobe usb-storage", check=True)
    assert guest.sysfs("/sys/module/usb_storage/parameters/quirks", ENTRIES) is None
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    for seed, target in enumerate(("usb-storage", "uas", "usb-storage")):
        total, where = unsynced(guest, seed)
        done = guest.run("uasctl switch sda %s --wait=60" % target)
        assert done.rc == 0, (target, done)
        assert guest.driver(disk.interface) == target
        assert guest.block_devices(disk.interface) == ["sda"]
        # The old driver flushed all of it: the cache of the disk is empty.
        assert written(disk, where) == total, target
        assert guest.read("/sys/module/usb_storage/parameters/quirks") == ENTRIES
        guest.run("dd if=/dev/sda of=/run/back bs=1M skip=%d count=16 status=none" % where, check=True)
        assert guest.out("sha256sum </run/back").split()[0] == total
    # Without a target the override is removed.
    assert guest.run("uasctl switch sda --wait=60").rc == 0
    assert guest.driver(disk.interface) == "uas"
    only_disk(guest, "settled")


@case(tier="fast", image="vendor", cpus=2)
def vendor_kernel(vm):
    "The same on a kernel whose usb-storage knows nothing of UAS; an entry `u` of the user's is overridden and kept."
    disk = vm.disk(size="96M", wcache="volatile")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    guest.sysfs("/sys/module/usb_storage/parameters/quirks", "1209:5a5a:u," + ENTRIES)
    for seed, target in enumerate(("usb-storage", "uas")):
        total, where = unsynced(guest, seed)
        done = guest.run("uasctl switch 1209:5a5a %s --wait=60" % target)
        assert done.rc == 0, (target, done)
        assert guest.driver(disk.interface) == target
        assert written(disk, where) == total, target
        assert guest.read("/sys/module/usb_storage/parameters/quirks") == "1209:5a5a:u," + ENTRIES


@case(tier="fast", cpus=2)
def built_in_flags(vm):
    "An entry of ours restates what the kernel's own table says of the bridge."
    disk = vm.disk(label="DATA", vid=0x152D, pid=0x0567)  # NO_REPORT_OPCODES
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    assert guest.run("uasctl switch sda usb-storage --wait=60").rc == 0
    # usb-storage prints its flags: NO_REPORT_OPCODES 0x..., IGNORE_UAS 0x800000.
    lines = [line for line in guest.kernel_log().splitlines() if "Quirks match for vid 152d pid 0567" in line]
    flags = int(lines[-1].split()[-1], 16)
    assert flags & 0x800000, lines
    assert flags & 0x4000000, lines  # US_FL_NO_REPORT_OPCODES
    assert guest.run("uasctl switch sda uas --wait=60").rc == 0
    assert guest.driver(disk.interface) == "uas"


@case(tier="fast", image="vendor", cpus=2)
def asked_and_answered(vm):
    "--dry-run changes nothing; a disk in use is deferred with exit code 3 and switched later; --wait waits for it."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    dry = guest.run("uasctl switch sda usb-storage --dry-run")
    assert dry.rc == 0 and guest.driver(disk.interface) == "uas", dry
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.run("uasctl switch sda usb-storage --dry-run").rc == 3
    late = guest.run("uasctl switch sda usb-storage")
    assert late.rc == 3 and "/mnt" in late.err, late
    late = guest.run("uasctl switch sda usb-storage --wait=2")
    assert late.rc == 3, late
    only_disk(guest, "waiting")
    waiting = guest.spawn("exec uasctl wait sda")
    guest.run("umount /mnt", check=True)
    assert waiting.wait(30).rc == 0
    assert guest.driver(disk.interface) == "usb-storage"
    assert guest.run("uasctl switch sda usb-storage").rc == 0  # already so
    assert guest.run("uasctl switch nothing uas").rc == 4
    assert guest.run("uasctl switch sda sideways").rc == 2


@case(tier="fast", limit=120, cpus=2, also=("trixie", "bullseye", "sid"))
def refused_and_forced(vm):
    "A bridge in the kernel's table: refused with 6 as --dry-run says, with 0 done by force; a refused request leaves nothing behind."
    disk = vm.disk(label="DATA", vid=0x2109, pid=0x0715)
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert only_disk(guest, "settled")["reason_id"] == "kernel-table"
    before = guest.out("grep -r . /etc/uasd /var/lib/uasd /run/uasd/attachment; true")
    for words in ("switch sda uas --dry-run", "switch sda uas", "policy sda uas"):
        done = guest.run("uasctl " + words)
        assert done.rc == 6 and "to uas, until" not in done.err, (words, done)
        assert guest.driver(disk.interface) == "usb-storage"
    assert guest.out("grep -r . /etc/uasd /var/lib/uasd /run/uasd/attachment; true") == before
    guest.run("uasctl --force policy sda uas", check=True)
    guest.wait_disk(disk.interface, driver="uas")
    assert guest.run("uasctl switch sda usb-storage --dry-run").rc == 6
    assert guest.run("uasctl switch sda usb-storage").rc == 6
    assert guest.driver(disk.interface) == "uas"
    assert guest.run("uasctl switch sda usb-storage --force --wait=60").rc == 0
    assert guest.driver(disk.interface) == "usb-storage"


@case(limit=300, cpus=2, also=("trixie", "bullseye", "sid"))
def unreadable_under_uas(vm):
    "A disk that uas cannot read any more, all of it or part, is what usb-storage is there for: it goes over, and is whole."
    disk = vm.disk(size="12M", partitions=["4M", None])
    [media] = disk.media
    media.ext4("DATA", 1)
    guest = vm.resume()
    guest.run("systemctl stop udisks2", check=True)
    guest.plug(disk)
    for after in (0, 20):
        [node] = guest.wait_disk(disk.interface, driver="uas")
        before = guest.out("sha256sum </dev/" + node)
        guest.run("udevadm settle && echo 3 >/proc/sys/vm/drop_caches", check=True)
        disk.fault(name="fail", proto="uas", op="read", after=after)
        guest.run("uasctl switch %s usb-storage --wait=90" % disk.interface, 120, check=True)
        disk.clear_faults()
        [node] = guest.wait_disk(disk.interface, driver="usb-storage")
        guest.run("udevadm settle; test -b /dev/%s2" % node, check=True)
        assert guest.out("sha256sum </dev/" + node) == before
        guest.run("uasctl forget %s; uasctl switch %s uas --wait=90" % (disk.interface, disk.interface), 120, check=True)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""A failed switch is rolled back: usb-storage again, the same data, the hold released."""

from context import case
from evidence import only_disk, quirks_of_others

FAULTS = {
    "hangs": ([{"name": "hang", "proto": "uas", "op": "inquiry"}], "appear"),
    # The kernel's and udev's own reads pass: the depth makes it hang.
    "hangs_at_depth": ([{"name": "hang", "proto": "uas", "op": "read", "after": 60}], "verify"),
    "stalls": ([{"name": "stall", "proto": "uas", "op": "any"}], "appear"),
    "fails_reads": ([{"name": "fail", "proto": "uas", "op": "read"}], "verify"),
    "refuses_set_interface": ([{"name": "refuse_set_interface", "alt": 1}], "bind"),
    "refuses_streams": ([{"name": "refuse_streams"}], "bind"),
    "other_size": ([{"name": "identity", "proto": "uas", "size": 32 << 20}], "verify"),
}
# With another fault at the same step.
REPEATED = ("hangs_at_depth", "stalls", "refuses_streams")


def tried(vm, name):
    """A free disk with 8 MiB of known data, a fault under UAS, and a switch that has to be rolled back."""
    faults, step = FAULTS[name]
    # The descriptors are read at plug-in. The other faults come later, so the disk works at first.
    early = [fault for fault in faults if fault["name"] == "refuse_streams"]
    disk = vm.disk(label="DATA", wcache="volatile", faults=early)
    guest = vm.resume()
    guest.run("systemctl stop uasd && systemctl disable -q uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.run("mount /dev/sda1 /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=8 status=none", check=True)
    total = guest.out("sha256sum </mnt/file")
    guest.run("umount /mnt", check=True)
    for fault in faults:
        if fault not in early:
            disk.fault(**fault)
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nPolicy=usb-storage\n")
    guest.run("systemctl start uasd", check=True)
    only_disk(guest, "settled")
    done = guest.run("uasctl switch sda uas --wait=150", timeout=200)
    assert done.rc == 7, done
    assert step in done.err, done
    assert guest.driver(disk.interface) == "usb-storage"
    one = only_disk(guest, "failed")
    assert step in one["reason"] or one["outcome"]["step"] == step, one
    assert guest.run("ls -A /run/uasd/hold").text == ""
    guest.wait_until("test -e /dev/disk/by-label/DATA", 30)
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.out("sha256sum </mnt/file") == total
    assert quirks_of_others(guest) == ""
    assert "rolled back at step " + step in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")


def register(name):
    def one(vm):
        tried(vm, name)
    one.__name__ = name
    one.__module__ = __name__
    one.__doc__ = "Under UAS the disk: %s." % name.replace("_", " ")
    case(tier="full" if name in REPEATED else "default", image="vendor")(one)


for each in FAULTS:
    register(each)


@case(tier="full", image="vendor", limit=500, cpus=2)
def hangs_sooner_or_later(vm):
    "Under UAS the disk hangs at a read of the kernel, of udev or of its examination: nobody waits for who hangs, it goes back, with its name."
    disk = vm.disk(size="32M", partitions=["8M", "8M", None])
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\nQuietSec=0\n"})
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    ends = []
    for after in 40, 70, 100, 130, 160:  # the number of reads varies
        disk.fault(name="hang", proto="uas", op="read", after=after)
        done = guest.run("uasctl forget sda && uasctl switch sda uas --wait=100", timeout=150)
        ends.append((done.rc, guest.driver(disk.interface)))
        # It was rolled back because of the hang, or it has passed.
        assert ends[-1] in ((7, "usb-storage"), (0, "uas")), (after, done, guest.journal("-b -u uasd"))
        disk.clear_faults()
        guest.wait_until("uasctl wait sda && uasctl switch sda usb-storage --wait=100", 200)
        assert guest.block_devices(disk.interface) == ["sda"]
    assert ends.count((7, "usb-storage")) >= 3, ends

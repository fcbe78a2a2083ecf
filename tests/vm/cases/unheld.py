# SPDX-License-Identifier: LGPL-2.1-or-later
"""A disk in fstab without a hold: uasd examines it while fsck and mount take it, and disturbs neither."""

from context import case
from evidence import only_disk
from holds import LABEL

# Messages of fsck and mount after EBUSY, and of PID 1 about their failure.
HARM = r"(resource|or mount point) busy|is in use|Failed to mount|Failed to start .*(fsck|File System Check)|Dependency failed"


@case(tier="full", image="vendor", limit=2700, sliced=False)
def twenty_boots(vm):
    "Without a hold, 20 boots: fsck and mount never meet a claim, the disk waits untouched; unmounted, it goes to uas."
    disk = vm.disk(label="DATA")
    guest = vm.boot(disks=[disk], fstab=[LABEL], cmdline="uasd.hold=0")
    for number in range(20):
        if number:
            guest.reboot()
        assert guest.state() == "running", guest.run("systemctl --failed").out
        assert guest.mounts()["/mnt"][0] == "/dev/sda1", guest.mounts()
        one = only_disk(guest, "waiting")
        assert (one["driver"], one["target"]) == ("usb-storage", "uas") and [user["where"] for user in one["busy"]] == ["/mnt"], one
        harm = guest.run("journalctl -b --no-pager | grep -E '%s'" % HARM).text
        assert not harm, harm
        assert "switching from" not in guest.journal("-b -u uasd")
        assert disk.stats()["set_interface"].get("1", 0) == 0, disk.stats()
        print("boot %d: mounted on usb-storage" % (number + 1), flush=True)
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")

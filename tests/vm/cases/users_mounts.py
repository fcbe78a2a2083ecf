# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who uses a disk by a mount: seen, named, waited for without a wake-up, and the end of it is an event."""

from context import case
from inside import python
from users import ask, goes, settled, waits, waits_for, wake_ups


@case(tier="full", limit=600)
def here(vm):
    "Mounted, bind-mounted, kept busy by a working directory, detached with somebody inside, exported by NFS."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    at = {"kind": "mount", "device": "sda1", "where": "/mnt"}
    waits_for(guest, disk, "mount /dev/sda1 /mnt", at, "umount /mnt")

    # A bind mount is a user of its own, and so is a subfolder of it.
    guest.run("mkdir -p /run/b && mount /dev/sda1 /mnt && mkdir -p /mnt/folder && mount --bind /mnt/folder /run/b", check=True)
    target = ask(guest, disk)
    waits(guest, disk, at, {"kind": "mount", "device": "sda1", "where": "/run/b"})
    guest.run("umount /mnt", check=True)
    one = waits(guest, disk, {"kind": "mount", "where": "/run/b"})
    assert len(one["busy"]) == 1, one
    assert wake_ups(guest, 5) == 0
    assert guest.driver(disk.interface) != target
    goes(guest, disk, target, "umount /run/b")

    # The user wants it off, and cannot: somebody's working directory is there. Then he detaches it.
    guest.run("mount /dev/sda1 /mnt", check=True)
    inside = guest.spawn("cd /mnt && exec sleep 1000")
    guest.until(lambda: guest.run("fuser -sm /mnt"), 10)
    target = ask(guest, disk)
    waits(guest, disk, at)
    assert guest.run("umount /mnt").rc != 0
    waits(guest, disk, at)
    guest.run("umount -l /mnt", check=True)
    one = waits(guest, disk, {"kind": "open", "device": "sda1", "command": "sleep", "pid": r"\d+"})
    assert len(one["busy"]) == 1, one
    assert "sleep" in one["reason"], one
    assert guest.driver(disk.interface) != target
    goes(guest, disk, target, "pkill -x sleep", slack=8)
    inside.kill()

    # Exported by the kernel's NFS server: its table of exports keeps the mount busy.
    guest.run("modprobe nfsd && mkdir -p /proc/fs/nfsd && { mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd; } "
              "&& mount /dev/sda1 /mnt", check=True)
    python(guest, disk, """
import time
def channel(table, line):
    open("/proc/net/rpc/%s/channel" % table, "w").write(line + "\\n")
later = int(time.time()) + 3600
channel("auth.unix.ip", "nfsd 127.0.0.1 %d vm" % later)
channel("nfsd.export", "vm /mnt %d 1 65534 65534 0" % later)
answer = None
""")
    target = ask(guest, disk)
    waits(guest, disk, at)
    refused = guest.run("umount /mnt")
    assert refused.rc != 0 and "busy" in refused.err, refused
    waits(guest, disk, at)
    goes(guest, disk, target, "date +%s >/proc/net/rpc/nfsd.export/flush; sleep 1.1; "
         "date +%s >/proc/net/rpc/nfsd.export/flush; umount /mnt")

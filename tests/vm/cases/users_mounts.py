# SPDX-License-Identifier: LGPL-2.1-or-later
"""Users of a disk by a mount: detected, named, waited for without a wake-up, and their end is an event."""

from context import case
from inside import python
from users import ask, daemon, goes, listed, settled, timers, waits, waits_for, wake_ups


@case(limit=600, cpus=2)
def here(vm):
    "Mounted, bind-mounted, kept busy by a working directory, detached with somebody inside, exported by NFS."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    at = {"kind": "mount", "device": "sda1", "where": "/mnt"}
    waits_for(guest, disk, "mount /dev/sda1 /mnt", at, "umount /mnt")

    # A bind mount is a separate user, and so is one of a subfolder.
    guest.run("mkdir -p /run/b && mount /dev/sda1 /mnt && mkdir -p /mnt/folder && mount --bind /mnt/folder /run/b", check=True)
    target = ask(guest, disk)
    waits(guest, disk, at, {"kind": "mount", "device": "sda1", "where": "/run/b"})
    guest.run("umount /mnt", check=True)
    waits(guest, disk, {"kind": "mount", "where": "/run/b"}, alone=True)
    assert wake_ups(guest, 5) == 0
    assert guest.driver(disk.interface) != target
    goes(guest, disk, target, "umount /run/b")

    # The user wants to unmount it, but a process has its working directory there. Then he detaches it.
    guest.run("mount /dev/sda1 /mnt", check=True)
    inside = guest.spawn("cd /mnt && exec sleep 1000")
    guest.until(lambda: guest.run("fuser -sm /mnt"), 10)
    target = ask(guest, disk)
    waits(guest, disk, at)
    assert guest.run("umount /mnt").rc != 0
    waits(guest, disk, at)
    guest.run("umount -l /mnt", check=True)
    one = waits(guest, disk, {"kind": "open", "device": "sda1", "command": "sleep", "pid": r"\d+"}, alone=True)
    assert "sleep" in one["reason"], one
    assert guest.driver(disk.interface) != target
    goes(guest, disk, target, "pkill -x sleep")
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


SERVICE = """[Service]
PrivateMounts=yes
ExecStart=/bin/sh -c 'mkdir -p /run/s && mount /dev/sda1 /run/s && exec sleep infinity'
"""


@case(tier="full", limit=600, cpus=2)
def elsewhere(vm):
    "Mounted in another mount namespace alone: a shell under unshare -m, a service with PrivateMounts."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    guest.put("/etc/systemd/system/private.service", SERVICE)
    guest.run("systemctl daemon-reload", check=True)

    def shell():
        guest.run("rm -f /run/u.*; mkdir -p /run/u && mkfifo /run/u.in", check=True)
        job = guest.spawn("exec unshare -m sh -c 'mount /dev/sda1 /run/u && read line </run/u.in; umount /run/u; "
                          "touch /run/u.done; exec sleep 1000'")
        guest.wait_until("grep -qs /run/u /proc/$(pgrep -f '^sh -c mount /dev/sda1' | tail -1)/mountinfo", 10)
        return job

    # It ends by umount while the shell lives on ...
    job = shell()
    target = ask(guest, disk)
    there = {"kind": "mount", "device": "sda1", "where": "/run/u", "namespace": r"mnt:\[\d+\]", "command": "sh", "pid": r"\d+"}
    waits(guest, disk, there)
    assert "/run/u" not in guest.mounts()
    assert wake_ups(guest, 5) == 0
    goes(guest, disk, target, "echo >/run/u.in; until test -e /run/u.done; do sleep 0.05; done")
    job.kill()

    # ... or with the shell. Nothing of ours keeps the namespace alive meanwhile.
    job = shell()
    target = ask(guest, disk)
    waits(guest, disk, there)
    goes(guest, disk, target, "pkill -KILL -f '^sh -c mount /dev/sda1'")
    job.kill()

    # Twice, in two namespaces: both have to end.
    job = shell()
    guest.run("systemctl start private && until grep -qs /run/s /proc/$(systemctl show -P MainPID private)/mountinfo; "
              "do sleep 0.1; done", check=True)
    target = ask(guest, disk)
    service = {"kind": "mount", "device": "sda1", "where": "/run/s", "namespace": r"mnt:\[\d+\]", "unit": "private.service"}
    waits(guest, disk, there, service)
    guest.run("pkill -KILL -f '^sh -c mount /dev/sda1'", check=True)
    waits(guest, disk, service, alone=True)
    goes(guest, disk, target, "systemctl stop private")
    job.kill()

    # A copy that propagation has made in a service's namespace is not a separate user.
    guest.put("/etc/systemd/system/private.service", "[Service]\nPrivateMounts=yes\nExecStart=/bin/sleep infinity\n")
    guest.run("systemctl daemon-reload && mount /dev/sda1 /mnt && systemctl start private", check=True)
    target = ask(guest, disk)
    waits(guest, disk, {"kind": "mount", "where": "/mnt", "namespace": None}, alone=True)
    goes(guest, disk, target, "umount /mnt")
    assert guest.run("systemctl is-active private").text == "active"


@case(tier="full", limit=600, cpus=2)
def no_wake_ups(vm):
    "A minute of waiting for a mount here, one elsewhere, an open node, a loop device and swap: not one wake-up."
    disk = vm.disk(size="160M", partitions=["32M", "32M", "32M", "32M", None])
    guest = settled(vm, [disk])
    guest.run("mkdir -p /run/u && mkfs.ext4 -q /dev/sda1 && mkfs.ext4 -q /dev/sda2 && mkswap -q /dev/sda3", check=True)
    jobs = [guest.spawn("exec unshare -m sh -c 'mount /dev/sda2 /run/u && exec sleep 1000'"),
            guest.spawn("exec sleep 1000 </dev/sda5")]
    guest.wait_until("fuser -s /dev/sda5 && grep -qs ' /run/u ' /proc/*/mountinfo", 20)
    # After that namespace was made, which would otherwise have a copy of the mount.
    guest.run("mount /dev/sda1 /mnt && swapon /dev/sda3 && losetup /dev/loop5 /dev/sda4", check=True)
    target = ask(guest, disk)
    waits(guest, disk, {"kind": "mount", "device": "sda1", "where": "/mnt"}, {"kind": "swap", "device": "sda3"},
          {"kind": "loop", "device": "sda4", "where": "loop5"}, {"kind": "open", "device": "sda5", "command": "sleep"},
          {"kind": "mount", "device": "sda2", "where": "/run/u", "namespace": r"mnt:\[\d+\]"})
    guest.until(lambda: wake_ups(guest, 3) == 0, 30, "quiet")
    assert wake_ups(guest, 60) == 0
    # Now only users that no quick look finds.
    guest.run("umount /mnt; swapoff /dev/sda3; losetup -d /dev/loop5", check=True)
    waits(guest, disk, {"kind": "open", "device": "sda5"}, {"kind": "mount", "device": "sda2"})
    guest.until(lambda: len(listed(guest, disk)["busy"]) == 2, 30, "udev has looked")
    guest.until(lambda: wake_ups(guest, 3) == 0, 30, "quiet")
    assert wake_ups(guest, 60) == 0
    assert not timers(guest)
    assert daemon(guest) and listed(guest, disk)["state"] == "waiting"
    goes(guest, disk, target, "pkill -x sleep")
    for job in jobs:
        job.kill()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loop devices and nodes with other names than those in /dev, and threads. Each driver has two disks, so its reference count is
useless."""

from context import case
from users import ask, goes, settled, waits, waits_for

MKNOD = "mknod %s b $(stat -c 0x%%t /dev/sda1) $(stat -c 0x%%T /dev/sda1)"
LOOP = {"kind": "loop", "device": "sda1", "where": "loop5"}


@case(limit=300, cpus=2)
def loop_in_a_chroot(vm):
    "A loop device that was set up in a chroot, over the node in a bind-mounted /dev, and is mounted: waited for, and what was written is kept."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = settled(vm, [disk, other])
    guest.run("mkdir -p /run/chroot && mount --bind / /run/chroot && mount --bind /dev /run/chroot/dev && "
              "chroot /run/chroot losetup /dev/loop5 /dev/sda1 && mount /dev/loop5 /mnt && echo kept >/mnt/file", check=True)
    assert guest.read("/sys/block/loop5/loop/backing_file") == "/run/chroot/dev/sda1"
    target = ask(guest, disk)
    waits(guest, disk, LOOP)
    goes(guest, disk, target, "umount /mnt; losetup -d /dev/loop5")
    guest.run("mount /dev/sda1 /mnt && grep -q kept /mnt/file && umount /mnt", check=True)


@case(tier="full", limit=600, cpus=2)
def loops_by_number(vm):
    "A loop device over a node of a container that is gone, over one made by mknod, and over a file of a mount that was detached."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = settled(vm, [disk, other])
    guest.run("unshare -m sh -ec 'mount -t tmpfs none /mnt; %s; losetup /dev/loop5 /mnt/sda1'" % (MKNOD % "/mnt/sda1"), check=True)
    assert guest.read("/sys/block/loop5/loop/backing_file") == "/sda1"
    waits_for(guest, disk, "mount /dev/loop5 /mnt && echo kept >/mnt/file", LOOP, "umount /mnt; losetup -d /dev/loop5")
    guest.run("mount /dev/sda1 /mnt && grep -q kept /mnt/file && umount /mnt && " + MKNOD % "/root/node", check=True)
    waits_for(guest, disk, "losetup /dev/loop5 /root/node", LOOP, "losetup -d /dev/loop5")
    waits_for(guest, disk, "mount /dev/sda1 /mnt && truncate -s 4M /mnt/image && losetup /dev/loop5 /mnt/image && umount -l /mnt",
              LOOP, "losetup -d /dev/loop5")
    # The claim would detect swap as well, without a name.
    guest.run("rm /root/node; %s; mkswap -q -f /root/node" % (MKNOD % "/root/node"), check=True)
    waits_for(guest, disk, "swapon /root/node", {"kind": "swap", "device": "sda1"}, "swapoff /root/node")


# A thread opens argv[1]. The main thread ends before that, or the thread has its own open files.
THREAD = """exec python3 -c 'import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def work():
    if sys.argv[2] == "unshared":
        assert libc.unshare(0x400) == 0
    else:
        while open("/proc/self/stat").read().split()[2] != "Z":
            time.sleep(0.05)
    os.open(sys.argv[1], os.O_RDWR)
    open("/run/held", "w")
    time.sleep(1000)
threading.Thread(target=work).start()
if sys.argv[2] == "ended":
    libc.syscall(60, 0)
time.sleep(1000)' /dev/sda1 %s"""


@case(tier="full", limit=600, cpus=2)
def threads(vm):
    "A node is open in a thread whose main thread has ended, or which does not share open files: named and waited for."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = settled(vm, [disk, other])
    for kind in "ended", "unshared":
        guest.run("rm -f /run/held", check=True)
        job = guest.spawn(THREAD % kind)
        guest.wait_until("test -e /run/held", 20)
        target = ask(guest, disk)
        waits(guest, disk, {"kind": "open", "device": "sda1", "command": "python3", "pid": r"\d+"})
        goes(guest, disk, target, "pkill -KILL -x python3")
        job.kill()


@case(tier="full", limit=600, cpus=2)
def sg_by_number(vm):
    "sg of a disk under another name, as `docker --device /dev/sg1:/dev/sg0` makes it: waited for, and the disk of that name is not."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = settled(vm, [disk, other])
    guest.run("systemd-run --quiet --unit=sg unshare -m sh -ec 'mount --bind /dev/sg1 /dev/sg0; exec sleep 1000 </dev/sg0' && "
              "until ls -l /proc/*/fd | grep -q /dev/sg0; do sleep 0.1; done", check=True)
    target = ask(guest, other)
    waits(guest, other, {"kind": "open", "device": "sg1", "command": "sleep", "unit": "sg.service"})
    assert guest.run("uasctl switch sda %s --wait=60" % target).rc == 0
    goes(guest, other, target, "systemctl stop sg")

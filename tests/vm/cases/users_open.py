# SPDX-License-Identifier: LGPL-2.1-or-later
"""Users of a disk without a mount: a node that is open, claimed or mapped, or that has no medium."""

import within
from context import case
from users import SLACK, ask, goes, listed, settled, timers, waits, waits_for
from within import blocks

# Opens a node in a given way, and stays.
HOLD = """exec python3 -c 'import ctypes, mmap, os, socket, sys, time
fd = os.open(sys.argv[1], eval("os." + sys.argv[2].replace("|", "|os.")))
if sys.argv[3:] == ["mapped"]:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    assert libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0)) != ctypes.c_void_p(-1).value
    os.close(fd)
elif sys.argv[3:] == ["sent"]:
    ends = socket.socketpair()
    socket.send_fds(ends[0], [b"x"], [fd])
    os.close(fd)
open("/run/held", "w")
time.sleep(1000)' %s"""


def holds(guest, arguments):
    guest.run("rm -f /run/held", check=True)
    job = guest.spawn(HOLD % arguments)
    guest.wait_until("test -e /run/held", 20)
    return job


def held(guest, disk, arguments, wanted, told=True, slack=SLACK):
    job = holds(guest, arguments)
    target = ask(guest, disk)
    one = waits(guest, disk, wanted, told=told, alone=True)
    goes(guest, disk, target, "pkill -x python3", slack)
    job.kill()
    return one


@case(tier="full", limit=600, cpus=2)
def nodes(vm):
    "A reader of a partition, a VM on the raw disk, dd writing, sg, an exclusive claim: named, and their close is an event."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    who = {"kind": "open", "command": "python3", "pid": r"\d+"}
    held(guest, disk, "/dev/sda1 O_RDONLY", dict(who, device="sda1"))
    held(guest, disk, "/dev/sda 'O_RDWR|O_DIRECT|O_CLOEXEC'", dict(who, device="sda"))
    held(guest, disk, "/dev/sg0 O_RDWR", dict(who, device="sg0"))
    held(guest, disk, "/dev/sda1 'O_RDONLY|O_EXCL'", dict(who, device="sda1"))
    # The unit is named as well.
    guest.run("systemd-run --quiet --unit=backup sh -c 'exec sleep 1000 </dev/sda1' && until fuser -s /dev/sda1; do sleep 0.1; done",
              check=True)
    waits_for(guest, disk, "true", {"kind": "open", "device": "sda1", "command": "sleep", "unit": "backup.service"},
              "systemctl stop backup")
    # dd in the middle of a write: its data up to then is on the medium after the switch.
    job = guest.spawn("{ head -c 1048576 /dev/zero | tr '\\0' x; exec sleep 1000; } | dd of=/dev/sda1 bs=64k conv=notrunc "
                      "oseek=64 iflag=fullblock status=none")
    guest.wait_until("fuser -s /dev/sda1", 10)
    waits_for(guest, disk, "true", {"kind": "open", "device": "sda1", "command": "dd"}, "pkill -x sleep; pkill -x dd")
    job.kill()
    start, _size = disk.media[0].area(1)
    assert disk.media[0].read(start + (4 << 20), 1 << 20) == b"x" * (1 << 20)


@case(tier="full", limit=600, cpus=2)
def hard_to_see(vm):
    "Mapped into memory, on its way through a socket, a node elsewhere: nobody tells the end, so it is looked for, at most 30 s apart."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = settled(vm, [disk, other])
    # Their descriptors are closed: no list of open files shows them. If a driver has two disks, its count of opens does not say
    # which one is in use. Then only the claim does.
    held(guest, disk, "/dev/sda 'O_RDONLY|O_EXCL' sent", {"kind": "claim", "device": "sda", "command": None}, told=False, slack=35)
    held(guest, disk, "/dev/sda1 O_RDONLY mapped", {"kind": "open", "device": "sda", "command": None}, told=False, slack=35)
    # A separate node, as in containers: a watch of /dev does not get its close.
    guest.run("mknod /root/node b $(stat -c '0x%t 0x%T' /dev/sda1)", check=True)
    held(guest, disk, "/root/node O_RDONLY", {"kind": "open", "device": "sda1", "command": "python3"}, told=False, slack=35)
    # A file that is open with O_PATH does not count.
    job = holds(guest, "/dev/sda1 O_PATH")
    target = "usb-storage" if guest.driver(disk.interface) == "uas" else "uas"
    assert guest.run("uasctl switch sda %s --wait=60" % target).rc == 0
    job.kill()
    guest.until(lambda: not timers(guest), 20, "no timer")


NAMESPACE = "/sys/kernel/config/nvmet/subsystems/one/namespaces/1"


@case(tier="full", limit=600, cpus=2)
def exported(vm):
    "A disk that the kernel exports (nvmet): no process has it open, and nothing claims it. With two disks the count says nothing."
    disk, other = vm.disk(label="DATA"), vm.disk(label="OTHER")
    guest = settled(vm, [disk, other])
    guest.run("modprobe nvmet && { mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config; } && "
              "mkdir -p %s && echo -n /dev/sda >%s/device_path && echo 1 >%s/enable" % ((NAMESPACE,) * 3), check=True)
    guest.run("python3 -c 'import os; os.open(\"/dev/sda\", os.O_RDONLY | os.O_EXCL)' && ! fuser -s /dev/sda", check=True)
    waits_for(guest, disk, "true", {"kind": "open", "device": "sda", "command": "nvmet"}, "echo 0 >%s/enable" % NAMESPACE,
              told=False, slack=35)


@case(tier="full", limit=600, cpus=2)
def other_luns(vm):
    "A CD-ROM as second LUN and a card reader with an empty slot: in use they are waited for, free they move along."
    media = [vm.media("32M"), vm.media("16M"), vm.media("16M")]
    media[0].partition().ext4("DATA", 1)
    disk = vm.disk(media=media, lun=[{}, {"kind": "cdrom", "block_size": 2048}, {"removable": True, "medium": False}])
    guest = settled(vm, [disk])
    assert guest.block_devices(disk.interface) == ["sda", "sr0", "sdb"], guest.block_devices(disk.interface)
    one = listed(guest, disk)
    assert [(each["name"], each["lun"], each["size"] > 0) for each in one["disks"]] == \
        [("sda", 0, True), ("sr0", 1, True), ("sdb", 2, False)], one
    assert guest.run("dd if=/dev/sdb of=/dev/null count=1").rc != 0  # the slot is really empty
    held(guest, disk, "/dev/sr0 'O_RDONLY|O_NONBLOCK'", {"kind": "open", "device": "sr0"})
    held(guest, disk, "/dev/sdb 'O_RDONLY|O_NONBLOCK'", {"kind": "open", "device": "sdb"})
    assert guest.driver(disk.interface) == "uas"
    # Free: all of it moves at once, and comes back with its medium or without.
    assert guest.run("uasctl switch sda usb-storage --wait=60").rc == 0
    assert guest.block_devices(disk.interface) == ["sda", "sr0", "sdb"], guest.block_devices(disk.interface)
    assert guest.run("dd if=/dev/sr0 of=/dev/null bs=2048 count=16").rc == 0
    assert guest.run("dd if=/dev/sdb of=/dev/null count=1").rc != 0


@case(tier="full", limit=600, cpus=2)
def sg_during_a_switch(vm):
    "sg is opened while a switch stands between its look and the delete, with the disk to itself: not pulled, named, waited for."
    disk = vm.disk(size="8M", partitions=["4M", None], wcache="volatile")
    blocks.fill(disk.media[0].path, 0, disk.media[0].area(2)[0], 128)
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=1\nTrialSec=0\n"})
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    world = within.Steps(guest, disk, {"interface": disk.interface, "luns": 1, "part": "2", "blocks": 128, "quirks": "", "seed": 1})
    world.begin()
    world.learn()
    for step in ("sync", "fingerprint", "delete", "delete"):
        before = world.driver
        pid = world.stop(step)
        [sg] = guest.out("ls /sys/bus/usb/devices/%s/host*/target*/*/scsi_generic" % disk.interface).split()
        guest.run("systemd-run --quiet --unit=sg sh -c 'exec sleep 1000 </dev/%s' && until fuser -s /dev/%s; do sleep 0.1; done"
                  % (sg, sg), check=True)
        guest.run("kill -CONT %d" % pid)
        guest.wait_until("! test -e /proc/%d" % pid, 60)
        one = waits(guest, disk, {"kind": "open", "device": sg, "command": "sleep", "unit": "sg.service"})
        assert guest.driver(disk.interface) == before, one
        guest.run("systemctl stop sg", check=True)
        guest.wait_disk(disk.interface, driver="usb-storage" if before == "uas" else "uas")
        guest.until(lambda: listed(guest, disk)["state"] == "settled", 60, "settled")
        world.check()


# Actions with a card, their ends, and whether the disk waits for them.
CARDS = {
    "mounts": ("mount /dev/{0}1 /mnt", "umount /mnt", True),
    "elsewhere": ("systemd-run --quiet --unit=card unshare -m sh -c 'mount /dev/{0}1 /mnt; exec sleep 1000' && "
                  "until grep -qs ' /mnt ' /proc/*/mountinfo; do sleep 0.1; done", "systemctl stop card", True),
    "opens": ("systemd-run --quiet --unit=card sh -c 'exec sleep 1000 </dev/{0}1' && until fuser -s /dev/{0}1; do sleep 0.1; done",
              "systemctl stop card", True),
    "looks": ("true", "true", False),
}


@case(tier="full", limit=1500, cpus=2)
def card_during_a_switch(vm):
    "A card put into an empty slot while a switch stands at a step: mounted or open it is not pulled, and waited for; unused it goes along."
    media = [vm.media("8M"), vm.media("16M")]
    media[0].partition(("4M", None))
    media[1].partition().ext4("CARD", 1)
    blocks.fill(media[0].path, 0, media[0].area(2)[0], 128)
    disk = vm.disk(media=media, lun=[{}, {"removable": True, "medium": False}], wcache="volatile")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=1\nTrialSec=0\n"})
    guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas", count=2)
    world = within.Steps(guest, disk, {"interface": disk.interface, "luns": 2, "part": "2", "blocks": 128, "quirks": "", "seed": 1,
                                       "data": [0]})
    world.begin()
    world.learn()
    for step, card in [("claim", "mounts"), ("sync", "opens"), ("fingerprint", "mounts"), ("prepare", "looks"), ("trial", "elsewhere"),
                       ("delete", "mounts"), ("delete", "opens"), ("delete", "looks")]:
        before = world.driver
        start, end, waits_for_it = CARDS[card]
        pid = world.stop(step)
        disk.set(lun=1, medium=True)
        name = guest.block_devices(disk.interface)[1]
        # An open of the slot makes the kernel look for a medium.
        guest.run("dd if=/dev/%s of=/dev/null count=1 status=none; test -e /dev/%s1" % (name, name), check=True)
        guest.run(start.format(name), check=True)
        guest.run("kill -CONT %d" % pid)
        guest.wait_until("! test -e /proc/%d" % pid, 60)
        if waits_for_it:
            one = waits(guest, disk, {"device": name + "1"})
            assert guest.driver(disk.interface) == before, one
            if card == "mounts":
                guest.run("echo kept >/mnt/file && sync /mnt/file && grep -q kept /mnt/file", check=True)
            guest.run(end, check=True)
        target = "usb-storage" if before == "uas" else "uas"
        guest.wait_disk(disk.interface, driver=target, timeout=90, count=2)
        guest.until(lambda: listed(guest, disk)["state"] == "settled", 60, "settled")
        world.check()
        [found] = [each for each in listed(guest, disk)["disks"] if each["lun"] == 1]
        assert found["size"] > 0, found
        journal = guest.journal("-b -k")
        assert "Buffer I/O error" not in journal and "EXT4-fs error" not in journal, journal[-3000:]
        disk.set(lun=1, medium=False)
        guest.until(lambda: guest.run("dd if=/dev/%s of=/dev/null count=1" % found["name"]).rc != 0, 20, "an empty slot")
        guest.wait_until("uasctl wait %s" % disk.interface, 60)

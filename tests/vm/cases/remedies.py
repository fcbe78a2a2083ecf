# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands that uasctl prints to free a disk: run exactly as printed, they free it, and touch nothing else."""

import re
import shlex

from context import case
from users import ask, settled

OPEN_CRYPT = ("echo -n secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 "
              "--key-file - /dev/sda1 secret")


def printed(guest, disk):
    """The lines of "To free"."""
    text = guest.out("uasctl --no-pager status %s" % disk.interface)
    field = re.search(r"(?m)^   To free: (.*(?:\n {12}.*)*)", text)
    return re.split(r"\n {12}", field[1]) if field else []


def follow(guest, disk, start, wanted, meanwhile="true"):
    """START a use of the disk, request a switch, run the commands that are printed, once: the disk goes. WANTED: their patterns.
    MEANWHILE happens before they run."""
    guest.run(start, check=True)
    target = ask(guest, disk)
    commands = guest.until(lambda: printed(guest, disk), 60, "commands for %s" % start)
    assert len(commands) == len(wanted) and all(re.fullmatch(*pair) for pair in zip(wanted, commands)), (commands, wanted)
    guest.run(meanwhile, check=True)
    for command in commands:
        answer = guest.run("sh -c " + shlex.quote(command))
        assert answer.rc == 0, (command, answer)
    guest.wait_disk(disk.interface, driver=target, timeout=120, count=len(disk.media))
    print("  %-11s after: %s" % (target, "; ".join(commands)), flush=True)


@case(limit=600)
def evil_namespace(vm):
    "nobody keeps a copy of a mount in a user namespace, with an umount of his own, or redirects a mount point: the printed command frees the disk, and nothing of his runs."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    guest.run("mkdir -p /opt/evil && chmod 777 /opt/evil && mount /dev/sda1 /mnt", check=True)
    guest.put("/opt/evil/umount", "#!/bin/sh\nid -u >/opt/evil/ran\n")
    guest.run("chmod 755 /opt/evil/umount", check=True)
    job = guest.spawn("exec systemd-run --quiet --scope setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urm sh -c "
                      "'mount --bind /opt/evil/umount /usr/bin/umount && exec sleep 1000'")
    guest.wait_until("grep -qs evil /proc/$(pgrep -x sleep | tail -1)/mountinfo", 30)
    # It would be run, as root: this is what must not be printed.
    guest.run("nsenter --target $(pgrep -x sleep | tail -1) --mount umount /mnt", check=True)
    assert guest.read("/opt/evil/ran") == "0"
    guest.run("rm /opt/evil/ran", check=True)
    follow(guest, disk, "umount /mnt", [r"kill \d+"])
    assert guest.run("test -e /opt/evil/ran").rc != 0
    job.kill()
    # He owns a folder above the mount point. Since the command was printed, he has led that path to another mount.
    guest.run("mkdir -p /opt/his/a/mnt /run/other && chown -R nobody /opt/his && mount -t tmpfs none /run/other", check=True)
    moved = "setpriv --reuid=65534 --clear-groups sh -ec 'cd /opt/his; mv a b; mkdir a; ln -s /run/other a/mnt'"
    follow(guest, disk, "mount /dev/sda1 /opt/his/a/mnt", ["umount /dev/sda1"], meanwhile=moved)
    guest.run("mountpoint -q /run/other && mountpoint -q /opt/his/a/mnt", check=True)  # umount follows the link
    follow(guest, disk, "mount /dev/sda1 /opt/his/b/mnt && mount --bind /opt/his/b/mnt /mnt", ["umount -A /dev/sda1"])


@case(tier="full", limit=900)
def followed(vm):
    "Mounts here and elsewhere, swap, LVM, a loop device, dm-crypt, open nodes: one round of the printed commands frees the disk."
    disk = vm.disk(size="96M", partitions=["64M", None])
    guest = settled(vm, [disk])
    guest.run("mkdir -p '/run/it'\\''s a' /run/u /run/img && mkfs.ext4 -q /dev/sda1", check=True)
    follow(guest, disk, "mount /dev/sda1 '/run/it'\\''s a'", [r"umount '/run/it'\\''s a'"])
    jobs = [guest.spawn("exec systemd-run --quiet --scope unshare -m sh -c 'trap \"\" TERM; mount /dev/sda1 /run/u && sleep 1000; exec sleep 1000'")]
    follow(guest, disk, "until grep -qs ' /run/u ' /proc/*/mountinfo; do sleep 0.1; done", [r"kill -KILL \d+"] * 2)
    guest.put("/etc/systemd/system/private.service", "[Service]\nPrivateMounts=yes\nRestart=always\n"
              "ExecStart=/bin/sh -c 'mount /dev/sda1 /run/u && exec sleep infinity'\n")
    follow(guest, disk, "systemctl daemon-reload && systemctl start private && "
           "until grep -qs ' /run/u ' /proc/*/mountinfo; do sleep 0.1; done", [r"systemctl stop private\.service"])
    # Open nodes: a service that starts again, and a process that ignores SIGTERM.
    follow(guest, disk, "systemd-run --quiet --unit=reader -p Restart=always sh -c 'exec sleep 1000 </dev/sda1' && "
           "until fuser -s /dev/sda1; do sleep 0.1; done", [r"systemctl stop reader\.service"])
    jobs.append(guest.spawn("exec systemd-run --quiet --scope sh -c \"trap '' TERM; exec sleep 1000 </dev/sda1\""))
    follow(guest, disk, "until fuser -s /dev/sda1; do sleep 0.1; done", [r"kill -KILL \d+"])
    # A loop device over the node, with a file system on it.
    follow(guest, disk, "losetup /dev/loop5 /dev/sda1 && mount /dev/loop5 /run/img",
           ["umount /run/img", "losetup --detach /dev/loop5"])
    follow(guest, disk, OPEN_CRYPT + " && mkfs.ext4 -q -F /dev/mapper/secret && mount /dev/mapper/secret /mnt",
           ["umount /mnt", "cryptsetup close secret"])
    follow(guest, disk, "mkswap -q -f /dev/sda1 && swapon /dev/sda1", ["swapoff /dev/sda1"])
    # Swap on a volume. Another volume of the group is on another disk, and so is another swap area: both stay.
    guest.run("truncate -s 64M /run/other /run/swap && chmod 600 /run/swap && losetup /dev/loop6 /run/other && losetup /dev/loop7 /run/swap && "
              "mkswap -q /dev/loop7 && swapon /dev/loop7 && wipefs -aq /dev/sda1 && pvcreate -q -y /dev/sda1 /dev/loop6 && "
              "vgcreate -q vg /dev/sda1 /dev/loop6 && lvcreate -q -y -L 16M -n other vg /dev/loop6", check=True)
    follow(guest, disk, "lvcreate -q -y -L 16M -n swap vg /dev/sda1 && mkswap -q /dev/vg/swap && swapon /dev/vg/swap",
           [r"swapoff /dev/dm-\d+", "lvchange -an vg/swap"])
    guest.run("test -b /dev/vg/other && dmsetup info vg-other && grep -q /dev/loop7 /proc/swaps", check=True)
    for job in jobs:
        job.kill()


@case(tier="full", limit=400)
def array(vm):
    "A member of a mounted array: the printed commands free the disk. Its other member and another array stay."
    disk = vm.disk(size="96M", partitions=["64M", None])
    guest = settled(vm, [disk])
    guest.run("truncate -s 64M /run/half /run/own && losetup /dev/loop4 /run/half && losetup /dev/loop3 /run/own && "
              "mdadm -q --create /dev/md8 --run --force --level=1 --raid-devices=1 --metadata=1.2 /dev/loop3", check=True)
    follow(guest, disk, "mdadm -q --create /dev/md7 --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean /dev/sda1 /dev/loop4 && "
           "mkfs.ext4 -q -F /dev/md7 && mount /dev/md7 /mnt", ["umount /mnt", "mdadm --stop /dev/md7"])
    guest.run("grep -q '^md8 : active' /proc/mdstat && test -b /dev/loop4", check=True)


@case(tier="full", image="zfs", limit=600)
def pool(vm):
    "A disk of an imported ZFS pool: the printed command exports the pool, and frees the disk."
    disk = vm.disk(size="192M")
    guest = settled(vm, [disk])
    guest.run("zpool create -f tank /dev/sda", check=True, timeout=120)
    follow(guest, disk, "zpool sync tank", ["zpool export tank"])

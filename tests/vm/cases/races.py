# SPDX-License-Identifier: LGPL-2.1-or-later
"""Between check and act: whoever comes while a switch looks at the disk gets it, and never fails for a claim."""

import within
from context import case
from evidence import only_disk
from within import blocks

BLOCKS = 256
ACTIONS = ("mount", "fsck", "mkfs", "swapon", "write", "keeps_open")
# Before the disk is deleted; from then on it is on its way, and nobody can have it.
EARLY = ("claim", "sync", "fingerprint", "prepare", "delete")


def raced(vm, seconds, **config):
    disk = vm.disk(size="16M", partitions=["4M", "4M", None], wcache="volatile")
    [media] = disk.media
    media.ext4("DATA", 1)
    blocks.fill(media.path, 0, media.area(2)[0], BLOCKS)
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    told = within.run(guest, "races", dict(config, interface=disk.interface, blocks=BLOCKS, seed=1), seconds)
    print(told["count"], flush=True)
    assert not told["wrong"], "\n".join(told["wrong"])
    assert guest.read("/sys/module/usb_storage/parameters/quirks") == ""
    assert guest.run("ls -A /run/uasd/hold").text == ""
    return told["count"]


@case(tier="full", limit=900)
def while_it_looks(vm):
    "mount, fsck, mkfs, swapon and writers while a switch stands still before it claims: all succeed, the switch waits."
    standing = [("mount", "delete"), ("fsck", "fingerprint"), ("swapon", "delete"), ("write", "delete"), ("mkfs", "prepare"),
                ("keeps_open", "sync")]
    count = raced(vm, 800, standing=standing)
    assert all(count[action] == [1, 0] for action, _step in standing), count


@case(tier="full", limit=5400)
def at_every_step(vm):
    "The same, each of them before each step, and while a program opens the disk."
    raced(vm, 5000, standing=[(action, step) for step in EARLY for action in ACTIONS])


@case(tier="full", limit=14400)
def hundred_rounds(vm):
    "Each of them a hundred times at any moment of a switch: who fails, fails because the disk was on its way."
    count = raced(vm, 14000, actions=ACTIONS, rounds=100)
    assert all(sum(count[action]) == 100 for action in ACTIONS), count


def unheld(vm, boots):
    """A disk in fstab that is not held, while uasd looks at it."""
    disk = vm.disk(label="DATA")
    guest = vm.guest(image="vendor")
    for number in range(boots):
        guest.boot(disks=[disk] if number == 0 else [], cmdline="uasd.hold=0", fstab=["LABEL=DATA /mnt ext4 defaults 0 2"])
        assert "/mnt" in guest.mounts(), number
        assert not guest.out("systemctl list-units --failed --plain --no-legend"), number
        one = only_disk(guest, "waiting")
        assert one["driver"] == "usb-storage" and one["busy"], one
        print("boot %d: mounted" % number, flush=True)
        if number + 1 < boots:
            guest.run("sync")
            guest.power_cut()
            guest.disks = {}
            guest.attach(disk)
            disk.plug()
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=60)


@case(tier="full", image="vendor", limit=400)
def unheld_at_boot(vm):
    "A boot with an fstab disk that may not be held: fsck and mount never meet a claim; it waits, and goes after umount."
    unheld(vm, 1)


@case(tier="full", image="vendor", limit=3600)
def twenty_boots_unheld(vm):
    "The same, twenty times."
    unheld(vm, 20)

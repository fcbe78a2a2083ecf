# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest whose switches stop before any step, to be killed, unplugged or cut off from power there."""

import within
from within import blocks

QUIRKS = "aaaa:bbbb:c,0x1209:0x5b5b:u,dead:beef:m"
BLOCKS = 512


def verified(vm, luns=2, **config):
    """A disk of LUNS, each with a partition of verified data after one for file systems."""
    config.setdefault("wcache", "volatile")
    disk = vm.disk(size="8M", luns=luns, partitions=["4M", None], **config)
    for lun, media in enumerate(disk.media):
        blocks.fill(media.path, lun, media.area(2)[0], BLOCKS)
    return disk


def steps(vm, guest, disk):
    luns = len(disk.media)
    return within.Steps(guest, disk, {"interface": disk.interface, "luns": luns, "part": "2", "blocks": 128,
                                      "quirks": QUIRKS, "seed": 1})


def resumed(vm, luns=2):
    disk = verified(vm, luns)
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas", count=luns)
    world = steps(vm, guest, disk)
    world.begin()
    world.learn()
    return disk, guest, world


def bring(guest, world, driver):
    """By a switch without incidents."""
    if world.driver != driver:
        world.what = "on the way"
        guest.run("uasctl switch %s %s --wait=90" % (world.config["interface"], driver), 120, check=True)
        world.check()


def main_pid(guest):
    return int(guest.out("systemctl show -P MainPID uasd"))


def back(guest, before):
    """Waits until PID 1 has started another uasd than BEFORE, and until it answers."""
    guest.until(lambda: main_pid(guest) not in (0, before), 30, "another uasd")
    guest.wait_until("uasctl list", 60)

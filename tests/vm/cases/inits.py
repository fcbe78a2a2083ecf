# SPDX-License-Identifier: LGPL-2.1-or-later
"""The start script that install.sh writes, run by a real init with udevd and without systemd."""

import bundled
from context import case
from evidence import only_disk

ROUNDS = 20


def runs(guest, *words):
    """The exit status of each of these words of the start script, in turn."""
    return [guest.run(bundled.SERVICE[guest.image.flavour] + word).rc for word in words]


@case(tier="full", image="sysvinit", product=False)
def start_stop_status(vm):
    "Twenty times by the tool of the init: started twice there is one uasd, stopped twice none. A mounted disk keeps its driver."
    disk = vm.disk(label="DATA")
    guest = bundled.boot(vm, disk)
    assert guest.run("test -e /run/systemd/system").rc and "init" in guest.out("readlink -f /proc/1/exe")
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    guest.run("mount /dev/sda1 /mnt && echo kept >/mnt/file", check=True)
    for number in range(ROUNDS):
        assert runs(guest, "start", "start", "status") == [0, 0, 0], number
        assert len(guest.out("pidof uasd").split()) == 1, number
        assert runs(guest, "stop", "status", "stop") == [0, 3, 0], number
        assert guest.run("pidof uasd").rc, number
    assert guest.driver(disk.interface) == "uas"
    guest.run("test \"$(cat /mnt/file)\" = kept && umount /mnt", check=True)

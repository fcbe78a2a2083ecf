# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `uasctl list` says of a real bus."""

from context import case
from evidence import only_disk

@case(tier="full", image="trixie")
def speed_and_tree(vm):
    "The link's speed and what the disk could do, the bus above it, and a terminal's pager, on real sysfs and udev."
    guest = vm.resume()
    disk = vm.disk()
    guest.plug(disk)
    one = only_disk(guest, "settled")
    port, bus = disk.interface.split(":")[0], disk.interface.split("-")[0]
    shown = guest.run("test -e /sys/bus/usb/devices/%s/bos_descriptors" % port).rc == 0
    # The emulated disk's BOS says SuperSpeed and no more; before Linux 6.9 it is not shown.
    assert (one["speed_mbps"], one["max_speed_mbps"]) == (5000, 5000 if shown else None), one
    line = guest.out("uasctl list --no-legend")
    assert line.startswith(disk.interface) and " 5000M " in line and " uas " in line, line
    root, below = guest.out("LC_ALL=C uasctl list --tree --no-legend -o ID,SPEED,DRIVER,PRODUCT").splitlines()
    speed = guest.out("cat /sys/bus/usb/devices/usb%s/speed" % bus)
    controller = guest.out("basename $(realpath /sys/bus/usb/devices/usb%s/..)" % bus)
    assert root.split() == ["usb" + bus, speed + "M", "xhci_hcd", controller], root
    assert below.startswith("`-" + disk.interface), below
    guest.put("/usr/local/bin/vm-pager", "#!/bin/sh\nexec cat >/run/paged\n", mode=0o755)
    for verb in "list", "status", "explain sda", "db sda":
        guest.run("rm -f /run/paged", check=True)
        done = guest.run("TERM=xterm PAGER=vm-pager script -qec 'uasctl %s' /dev/null </dev/null" % verb)
        assert done.rc == 0 and guest.out("cat /run/paged"), (verb, done)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `uasctl list` says of a real bus, and how long it takes."""

import json

from context import case
from evidence import only_disk, well

TIMES = """
import json, subprocess, time
took = {}
for command in json.loads('%s'):
    runs = []
    for _ in range(12):
        begin = time.monotonic()
        subprocess.run(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        runs.append(time.monotonic() - begin)
    took[command] = sorted(runs)[len(runs) // 2]
print(json.dumps(took))
"""


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
    guest.put("/run/pager", "#!/bin/sh\nexec cat >/run/paged\n", mode=0o755)
    for verb in "list", "status", "explain sda", "db sda":
        guest.run("rm -f /run/paged", check=True)
        done = guest.run("TERM=xterm PAGER=/run/pager script -qec 'uasctl %s' /dev/null </dev/null" % verb)
        assert done.rc == 0 and disk.interface in guest.out("cat /run/paged"), (verb, done)


@case(tier="full", image="bookworm")
def eight_disks(vm):
    "With eight disks `uasctl list` takes no longer than `lsusb -t` or `lsblk`."
    guest = vm.resume()
    guest.run("systemctl stop udisks2")
    disks = [vm.disk(size="8M") for _ in range(8)]
    for disk in disks:
        guest.plug(disk)
    for disk in disks:
        well(guest, disk, "uas")
    guest.until(lambda: {one["state"] for one in guest.uasctl("list")["disks"]} <= {"settled", "trial"}, 120, "at rest")
    commands = ["uasctl list", "lsusb -t", "lsblk"]
    took = json.loads(guest.run("python3 -", input=TIMES % json.dumps(commands), timeout=300, check=True).out)
    print("  ".join("%s: %.1f ms" % (command, 1000 * took[command]) for command in commands))
    assert len(guest.out("uasctl list --no-legend").splitlines()) == 8
    assert took["uasctl list"] <= max(took["lsusb -t"], took["lsblk"]), took

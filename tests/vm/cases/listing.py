# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of `uasctl list` for a real bus, and its duration."""

import json

from context import case
from evidence import only_disk, well

COMMANDS = "uasctl list", "lsusb -t", "lsblk"
# In turns, so that other load of the machine affects all equally.
TIMES = """
import json, subprocess, sys, time
commands = json.loads(sys.argv[1])
took = {command: [] for command in commands}
for _ in range(9):
    for command in commands:
        begin = time.monotonic()
        subprocess.run(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        took[command].append(time.monotonic() - begin)
print(json.dumps([sorted(took[command])[4] for command in commands]))
"""

@case(tier="full", image="trixie")
def speed_and_tree(vm):
    "The link's speed and what the disk could do, the bus above it, and a terminal's pager, on real sysfs and udev."
    guest = vm.resume()
    disk = vm.disk()
    guest.plug(disk)
    one = only_disk(guest, "settled")
    guest.wait_disk(disk.interface, "uas")  # the kernel makes sda later
    port, bus = disk.interface.split(":")[0], disk.interface.split("-")[0]
    shown = guest.run("test -e /sys/bus/usb/devices/%s/bos_descriptors" % port).rc == 0
    # The BOS of the emulated disk has only SuperSpeed. Before Linux 6.9 sysfs does not show it.
    assert (one["speed_mbps"], one["max_speed_mbps"]) == (5000, 5000 if shown else None), one
    line = guest.out("uasctl list --no-legend")
    assert line.startswith("sda ") and " 5 Gbit/s " in line and " uas " in line and line.endswith(" " + port), line
    root, below = guest.out("LC_ALL=C uasctl list --tree --no-legend -o ID,LINK,DRIVER,PRODUCT").splitlines()
    speed = guest.out("cat /sys/bus/usb/devices/usb%s/speed" % bus)
    controller = guest.out("basename $(realpath /sys/bus/usb/devices/usb%s/..)" % bus)
    assert root.split() == ["usb" + bus, str(int(speed) // 1000), "Gbit/s", "xhci_hcd", controller], root
    assert below.startswith("`-" + disk.interface), below
    guest.put("/usr/local/bin/vm-pager", "#!/bin/sh\nexec cat >/run/paged\n", mode=0o755)
    for verb in "list", "status", "explain sda", "db sda":
        guest.run("rm -f /run/paged", check=True)
        done = guest.run("TERM=xterm PAGER=vm-pager script -qec 'uasctl %s' /dev/null </dev/null" % verb)
        assert done.rc == 0 and guest.out("cat /run/paged"), (verb, done)


@case(tier="full", image="bookworm")
def eight_disks(vm):
    "`uasctl list` beside `lsusb -t` and `lsblk` with eight disks: all of them are listed; medians of nine are told, and not judged."
    guest = vm.resume()
    disks = [vm.disk(size="8M") for _ in range(8)]
    for disk in disks:
        guest.plug(disk)
    for disk in disks:
        well(guest, disk, "uas")
    guest.until(lambda: {one["state"] for one in guest.uasctl("list")["disks"]} <= {"settled", "trial"}, 120, "at rest")
    guest.put("/run/times.py", TIMES)
    ours, *others = json.loads(guest.run("python3 /run/times.py '%s'" % json.dumps(COMMANDS), timeout=300, check=True).out)
    print("  %s: %.1f ms" % (COMMANDS[0], 1000 * ours))
    for command, took in zip(COMMANDS[1:], others):
        print("  %s: %.1f ms, ratio %.2f" % (command, 1000 * took, ours / took))
    assert len(guest.out("uasctl list --no-legend").splitlines()) == 8

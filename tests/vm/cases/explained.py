# SPDX-License-Identifier: LGPL-2.1-or-later
"""What explain and policy --kernel say of the quirks parameter, held to the kernel and to modprobe."""

from context import case

PARAMETER = "/sys/module/usb_storage/parameters/quirks"
CONF = "/etc/modprobe.d/somebody.conf"


def words(guest, disk):
    "Entry, source and effect of all that is said of the disk."
    entry, = guest.uasctl("explain " + disk.interface)["disks"]
    return [(w["entry"], w["source"], w["effect"]) for w in entry["quirks"]]


def told(guest, disk, *what):
    """Until explain says just that: a switch under way has an entry of its own."""
    try:
        guest.until(lambda: words(guest, disk) == list(what), 30, "the words")
    except Exception:
        raise AssertionError("%s, not %s" % (words(guest, disk), what)) from None


def load_anew(guest, disk):
    disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")
    guest.run("modprobe -r uas usb_storage && modprobe usb_storage", check=True)
    disk.plug()
    guest.until(lambda: guest.uasctl("list")["disks"] != [], 60, "the disk in the list")


@case(tier="full", limit=300)
def whose_quirk(vm):
    "Run time, modprobe.d by file and line, not loaded yet, and overruled by a later file: as modprobe really loads it. What policy --kernel prints is in force then."
    disk = vm.disk()
    guest = vm.resume()
    guest.plug(disk)
    guest.until(lambda: guest.uasctl("list")["disks"] != [], 60, "the disk in the list")
    told(guest, disk, *[])
    guest.put(CONF, "# mine\noptions usb-storage quirks=1209:5a5a:f\n")
    told(guest, disk, *[("1209:5a5a:f", "modprobe.d", "not-loaded")])
    guest.run("echo 1209:5a5a:u > %s" % PARAMETER, check=True)
    told(guest, disk, *[("1209:5a5a:u", "run-time", "in-force"), ("1209:5a5a:f", "modprobe.d", "not-loaded")])
    load_anew(guest, disk)
    assert guest.read(PARAMETER) == "1209:5a5a:f"
    told(guest, disk, *[("1209:5a5a:f", "modprobe.d", "in-force")])
    assert "%s, line 2: in force" % CONF in guest.out("uasctl explain %s" % disk.interface)
    guest.put("/etc/modprobe.d/zz.conf", "options usb_storage quirks=dead:beef:u\n")
    load_anew(guest, disk)
    assert guest.read(PARAMETER) == "dead:beef:u"
    told(guest, disk, *[("1209:5a5a:f", "modprobe.d", "overruled")])

    guest.run("uasctl policy %s usb-storage" % disk.interface, check=True)
    line = guest.out("uasctl policy --kernel --no-legend 2>/dev/null | grep ^options")
    assert line == "options usb-storage quirks=1209:5a5a:u,dead:beef:u", line
    guest.put("/etc/modprobe.d/zz.conf", line + "\n")
    disk.reset_stats()
    load_anew(guest, disk)
    assert guest.read(PARAMETER) == "1209:5a5a:u,dead:beef:u"
    assert words(guest, disk)[0] == ("1209:5a5a:u", "modprobe.d", "in-force")
    assert guest.driver(disk.interface) == "usb-storage"
    assert disk.stats()["uas"]["commands"] == 0, disk.stats()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of explain and policy --kernel about the quirks parameter, compared with the kernel and modprobe."""

from context import case
from evidence import disk_in

PARAMETER = "/sys/module/usb_storage/parameters/quirks"
CONF = "/etc/modprobe.d/somebody.conf"


def words(guest, disk):
    "Entry, source and effect of each line about the disk."
    entry, = guest.uasctl("explain " + disk.interface)["disks"]
    return [(w["entry"], w["source"], w["effect"]) for w in entry["quirks"]]


def told(guest, disk, *what):
    """Waits for exactly this output of explain: a running switch has its own entry."""
    try:
        guest.until(lambda: words(guest, disk) == list(what), 30, "the words")
    except Exception:
        raise AssertionError("%s, not %s" % (words(guest, disk), what)) from None


def load_anew(guest, disk):
    disk.unplug()
    guest.until(lambda: guest.uasctl("list")["disks"] == [], 60, "an empty list")
    # udev's worker may still have the disk open, and with it the module.
    guest.wait_until("modprobe -r uas usb_storage", 20)
    guest.run("modprobe usb_storage", check=True)
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
    printed = "uasctl policy --kernel --no-legend 2>/dev/null | grep ^options"
    # It replaces all lines, so it has the letters of each.
    assert guest.out(printed) == "options usb-storage quirks=1209:5a5a:fu,dead:beef:u", guest.out(printed)
    guest.run("rm %s" % CONF, check=True)
    line = guest.out(printed)
    assert line == "options usb-storage quirks=1209:5a5a:u,dead:beef:u", line
    guest.put("/etc/modprobe.d/zz.conf", line + "\n")
    disk.reset_stats()
    load_anew(guest, disk)
    assert guest.read(PARAMETER) == "1209:5a5a:u,dead:beef:u"
    assert words(guest, disk)[0] == ("1209:5a5a:u", "modprobe.d", "in-force"), words(guest, disk)
    assert guest.driver(disk.interface) == "usb-storage"
    assert disk.stats()["uas"]["commands"] == 0, disk.stats()
    # It has the text of uasd's own entry, but uasd must not remove it.
    guest.run("uasctl policy %s auto" % disk.interface, check=True)
    disk_in(guest, disk, "settled")
    assert guest.read(PARAMETER) == "1209:5a5a:u,dead:beef:u"


# The disk, the action, and the expected output: the deciding row, its driver, and words of the finding.
ROWS = (
    ("no-uas", {"alts": "bot"}, None, "usb-storage", "08/06/62"),
    ("no-pipe-usage", {"pipe_usage": False}, None, None, "pipe usage"),
    ("no-bot", {"alts": "uas"}, None, "uas", ""),
    ("kernel-table", {"vid": 0x4971, "pid": 0x1012}, None, "usb-storage", "Hitachi"),
    ("kernel-rule", {"vid": 0x174C, "pid": 0x55AA}, None, "usb-storage", "ASM1051"),
    ("quirk", {"pid": 0x5A01}, "entry", "usb-storage", "1209:5a01:u"),
    ("force-needed", {"vid": 0x4971, "pid": 0x1012, "serial": "FORCED"}, "wanted", "usb-storage", ""),
    ("policy-ignore", {"pid": 0x5A02}, "policy ignore", None, "ignore"),
    ("policy", {"pid": 0x5A03}, "policy usb-storage", "usb-storage", "usb-storage"),
    ("override", {"pid": 0x5A04}, "switch usb-storage", "usb-storage", "usb-storage"),
    ("unauthorized", {"pid": 0x5A05}, "unauthorized", None, "not authorized"),
    ("other-driver", {"pid": 0x5A06}, "claimed", "usbfs", "usbfs"),
    ("unknown-bridge", {"pid": 0x5A07}, None, "uas", "unknown"),
    ("fastest", {"vid": 0x1058, "pid": 0x262F}, None, "uas", "faster"),
)

# Claims the interface for a program, as a virtual machine does, until it is killed.
CLAIM = r"""
import fcntl, struct, sys, time
fd = open(sys.argv[1], "rb+", buffering=0)
fcntl.ioctl(fd, 0x8108551B, struct.pack("II256s", 0, 0, b""))
open("/run/vm-claimed", "w").close()
time.sleep(600)
"""


def prepare(guest, disk, what):
    device = "/sys/bus/usb/devices/" + disk.interface.split(":")[0]
    if what == "unauthorized":  # the whole device would have no interface any more
        guest.sysfs("/sys/bus/usb/devices/%s/authorized" % disk.interface, "0")
    elif what == "claimed":
        guest.put("/run/claim.py", CLAIM)
        node = "/dev/bus/usb/%03d/%03d" % tuple(int(guest.read("%s/%s" % (device, name))) for name in ("busnum", "devnum"))
        guest.run("rm -f /run/vm-claimed", check=True)
        guest.spawn("python3 /run/claim.py " + node)
        guest.wait_until("test -e /run/vm-claimed", 30)
    elif what and what.startswith("policy"):
        guest.run("uasctl policy %s %s" % (disk.interface, what.split()[1]), check=True)
    elif what and what.startswith("switch"):
        guest.run("uasctl switch %s %s" % (disk.interface, what.split()[1]), timeout=120, check=True)


@case(tier="full", limit=900)
def every_row(vm):
    "Each row of the decision table that an emulated disk can show decides for a disk of its own, with what was found, what it means and what to do; as text the same."
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=0\n[Disk 4971:1012:FORCED]\nPolicy=uas\n"})
    guest.run("modprobe usb-storage; echo 1209:5a01:u >%s; systemctl stop udisks2; systemctl restart uasd" % PARAMETER, check=True)
    for reason, config, what, driver, found in ROWS:
        disk = vm.disk(size="8M", **config)
        guest.plug(disk)
        guest.until(lambda: guest.uasctl("list")["disks"], 60, "the disk is listed")
        if what != "unauthorized":
            guest.until(lambda: guest.driver(disk.interface), 60, "it is probed")
        prepare(guest, disk, what)

        def decides():
            entry, = guest.uasctl("explain " + disk.interface)["disks"]
            row = next((one for one in entry["rows"] if one["decides"]), {"reason_id": None})
            return row["reason_id"] == reason and (driver is None or guest.driver(disk.interface) == driver) and (entry, row)
        try:
            entry, row = guest.until(decides, 60, "it is decided by")
        except Exception as error:
            raise AssertionError("%s: %s, on %s" % (reason, guest.out("uasctl explain " + disk.interface),
                                                    guest.driver(disk.interface))) from error
        assert row["fits"] and found in row["found"] and row["means"], row
        text = guest.out("uasctl explain " + disk.interface)
        assert row["means"] in " ".join(text.split()), text
        print("  %s: %s" % (reason, row["found"]))
        guest.run("pkill -f /run/claim.py")
        disk.unplug()
        guest.until(lambda: not guest.uasctl("list")["disks"], 60, "an empty list")
        guest.detach(disk)
        disk.close()


@case(tier="full", limit=300)
def given_up(vm):
    "uas is refused its streams and gives up: the disk is not left without a driver, and explain says why. A disk on a USB 2 link is shown with its speed."
    guest = vm.resume()
    disk = vm.disk(size="8M", faults=[{"name": "refuse_streams", "how": "descriptor"}])
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage", timeout=120)
    disk_in(guest, disk, "failed")
    text = guest.out("uasctl explain " + disk.interface)
    assert "State: failed. uas does not take it: Invalid argument\n" in text and "uasctl forget %s\n" % disk.interface.split(":")[0] in text, text
    disk.unplug()
    guest.until(lambda: not guest.uasctl("list")["disks"], 60, "an empty list")
    slow = vm.disk(size="8M", speed="high")
    guest.plug(slow)
    guest.wait_disk(slow.interface, driver="uas")
    entry, = guest.uasctl("explain " + slow.interface)["disks"]
    assert entry["link"]["speed_mbps"] == 480, entry["link"]
    text = guest.out("uasctl status " + slow.interface)
    assert "Link: 480 Mbit/s at port %s\n" % slow.interface.split(":")[0] in text, text

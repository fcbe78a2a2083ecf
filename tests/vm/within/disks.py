# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: the places of the disks, the remains of a switch, the output of uasctl."""

import glob
import json
import os
import subprocess
import time

QUIRKS = "/sys/module/usb_storage/parameters/quirks"
SWITCH = "/usr/lib/uasd/uasd-switch"


def sh(*words, timeout=120):
    """(exit status, output)"""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout)
    return done.returncode, done.stdout.decode(errors="replace").strip()


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def put(path, text):
    with open(path, "w") as file:
        file.write(text + "\n")


def other(driver):
    return "usb-storage" if driver == "uas" else "uas"


def quirks(text=None):
    """The quirks parameter. With TEXT it is written first."""
    if text is not None:
        fd = os.open(QUIRKS, os.O_WRONLY)
        os.write(fd, text.encode() or b"\n")
        os.close(fd)
    return read(QUIRKS)


def called_for():
    """The own entries that the targets of the disks require: for those with the permanent target usb-storage."""
    done = subprocess.run(["uasctl", "list", "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    found = set()
    # An override until a disk is unplugged does not count.
    configured = "Policy=usb-storage" in (read("/etc/uasd/uasd.conf") or "")
    for one in json.loads(done.stdout)["disks"] if done.returncode == 0 else []:
        if configured or (one.get("reason_id") in ("distrusted", "policy") and one.get("target") == "usb-storage"):
            at = "/sys/bus/usb/devices/%s/id" % one["interface"].partition(":")[0]
            found.add("%s:%s:u" % (read(at + "Vendor"), read(at + "Product")))
    return sorted(found)


def wrong_quirks(foreign):
    """The error in the parameter, which must have the entries FOREIGN of others in this order; "" without one.

    The own ones are told by what is called for, not by what uasd says is its own: of that the record has to tell, and no more.
    """
    entries = [one for one in (quirks() or "").split(",") if one]
    record = [one for one in (read("/run/uasd/quirks") or "").partition("quirks=")[2].partition("\n")[0].split(",") if one]
    wanted = called_for()
    own = [one for one in entries if one not in foreign.split(",")]
    theirs = [one for one in entries if one in foreign.split(",")]
    if sorted(own) == wanted and sorted(record) == wanted and ",".join(theirs) == foreign:
        return ""
    return "quirks %r, of others %r, called for %r, on record as own %r" % (",".join(entries), foreign, wanted, record)


def driver(interface):
    try:
        return os.path.basename(os.readlink("/sys/bus/usb/devices/%s/driver" % interface))
    except OSError:
        return None


def names(interface):
    """The whole disks behind an interface, by LUN."""
    found = glob.glob("/sys/bus/usb/devices/%s/host*/target*/*/block/*" % interface)
    return [os.path.basename(path) for path in sorted(found)]


def until(question, seconds, what, pause=0.05):
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError("not within %d s: %s" % (seconds, what))
        time.sleep(pause)


def on_a_driver(interface, luns, seconds=60):
    """Wait until all its disks are there; (driver, names)."""
    def look():
        now = driver(interface)
        found = names(interface)
        return now in ("uas", "usb-storage") and len(found) == luns and (now, found)
    try:
        return until(look, seconds, "%d disks at %s" % (luns, interface))
    except AssertionError as error:
        raise AssertionError("%s; on %s, %s" % (error, driver(interface), names(interface))) from None


def listed(interface):
    """The disk in uasctl's list; {} while it is not listed."""
    done = subprocess.run(["uasctl", "list", "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    found = [] if done.returncode else json.loads(done.stdout)["disks"]
    return next((one for one in found if one["interface"] == interface), {})


def state(interface):
    return listed(interface).get("state")


def rest(interface, seconds=60):
    """Wait until uasd has no work with it. Returns its state."""
    busy = ("switching", "held", None)
    return until(lambda: next((word for word in [state(interface)] if word not in busy), None), seconds,
                 "uasd at rest with %s" % interface)


def left_behind(interface, nodes):
    """Things that a switch must not leave, as sentences."""
    wrong = ["hold mark of %s" % os.path.basename(path) for path in glob.glob("/run/uasd/hold/" + interface)]
    wrong += ["record of %s" % os.path.basename(path) for path in glob.glob("/run/uasd/switch/" + interface)]
    wrong += ["a bind's entry in the quirks: %s" % read(path) for path in glob.glob("/run/uasd/quirks.bind")]
    for name in nodes:
        for path in ["/sys/class/block/" + name] + glob.glob("/sys/class/block/%s/%s*" % (name, name)):
            number = read(path + "/dev")
            if number and "UASD_HOLD=1" in (read("/run/udev/data/b" + number) or ""):
                wrong.append("%s is held" % os.path.basename(path))
    return wrong


def switches():
    """The PIDs of all uasd-switch, including children that one has left behind."""
    found = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        if read(path) in ("uasd-switch", "uasd-switch.vm"):
            stat = read(os.path.dirname(path) + "/stat") or ""
            if stat and stat.rpartition(")")[2].split()[0] != "Z":
                found.append(int(stat.split()[0]))
    return found


def claimed(interface):
    """Nodes that cannot be claimed, with the reason, although they are not in use. A mount is also a claim."""
    wrong = []
    for name in names(interface):
        if "/dev/" + name in (read("/proc/mounts") or ""):
            continue
        for path in ["/dev/" + name] + glob.glob("/dev/%s[0-9]*" % name):
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK))
            except OSError as error:
                wrong.append("%s: %s" % (path, error.strerror))
    return wrong


def settle():
    sh("udevadm", "settle", "--timeout=30")

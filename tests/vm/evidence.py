# SPDX-License-Identifier: LGPL-2.1-or-later
"""Questions of several cases about a guest and its disks."""

import json
import re

from patience import let_pass

QUIRKS = "/sys/module/usb_storage/parameters/quirks"


def when(guest, pattern, options="-b"):
    """Seconds since boot of the first journal line that matches, or None."""
    for line in guest.journal(options).splitlines():
        found = re.match(r"\[\s*([0-9.]+)\] (.*)", line)
        if found and re.search(pattern, found.group(2)):
            return float(found.group(1))
    return None


def mounted_on_uas_alone(guest, disk, where, name="sda"):
    """Mounted only on uas: the journal and the disk agree."""
    source, _kind, _options = guest.mounts()[where]
    assert source.startswith("/dev/" + name), source
    assert guest.driver(disk.interface) == "uas"
    mounts = [line for line in guest.journal("-b -k").splitlines()
              if "EXT4-fs" in line and "mounted filesystem" in line and name in line]
    assert len(mounts) == 1, mounts
    bound = when(guest, r"scsi host\d+: uas", "-b -k")
    mounted = when(guest, r"EXT4-fs \(%s\w*\): mounted" % name, "-b -k")
    assert bound is not None and bound < mounted, (bound, mounted)
    # A mount writes to the superblock; nothing wrote on BOT.
    stats = disk.stats()
    assert stats["bot"]["writes"] == 0, stats["bot"]
    assert stats["uas"]["writes"] > 0, stats["uas"]
    target = when(guest, r"Reached target (local-fs\.target|Local File Systems)")
    assert target is not None and mounted < target, (mounted, target)


def on_storage(vm, disk, config="", image=None, count=1):
    """A resumed guest with the disk on usb-storage and uasd stopped, as if uasd started later."""
    guest = vm.resume(image=image)
    guest.run("systemctl stop uasd", check=True)
    if config:
        guest.put("/etc/uasd/uasd.conf", config)
    # Not even a hold: the disk was there before uasd.
    guest.run("systemctl disable -q uasd", check=True)
    stock = guest.image.flavour != "vendor"  # there it would start on uas
    if stock:
        guest.run("modprobe usb_storage && echo 1209:5a5a:u >%s" % QUIRKS, check=True)
    guest.plug(disk)
    names = guest.wait_disk(disk.interface, driver="usb-storage", count=count)
    assert len(names) == count, names
    if stock:
        guest.run("echo >%s" % QUIRKS, check=True)
    return guest


def only_disk(guest, state, timeout=30):
    """The one disk as uasctl lists it, once it is in this state. A trial on uas counts as settled."""
    states = (state, "trial") if state == "settled" else (state,)

    def look():
        disks = guest.uasctl("list")["disks"]
        assert len(disks) < 2, disks
        return disks[0] if disks and disks[0]["state"] in states else None
    return guest.until(look, timeout, "state " + state)


def listed(guest, disk):
    """This one of several disks as uasctl lists it; None: not listed."""
    return next((one for one in guest.uasctl("list")["disks"] if one["interface"] == disk.interface), None)


def disk_in(guest, disk, state, timeout=30):
    """The same, once it is in this state."""
    states = (state, "trial") if state == "settled" else (state,)

    def look():
        one = listed(guest, disk)
        return one if one and one["state"] in states else None
    return guest.until(look, timeout, "%s in state %s" % (disk.interface, state))


def impatient(guest, name):
    """Commands time out after 2 seconds instead of 30, so that faults show sooner."""
    guest.run("echo 2 >/sys/block/%s/device/timeout; echo 2 >/sys/block/%s/device/eh_timeout" % (name, name), check=True)


def hang_once(guest, disk, name):
    """One read is not answered: an abort, a reset, and it goes on."""
    before = guest.kernel_log().count("uas_eh_device_reset_handler success")
    disk.fault(name="hang", proto="uas", op="read", count=1)
    guest.run("dd if=/dev/%s of=/dev/null bs=4k count=64 iflag=direct" % name, timeout=120)
    disk.clear_faults()
    guest.until(lambda: guest.kernel_log().count("uas_eh_device_reset_handler success") > before or None, 60, "the reset")


def episode_over():
    """A sign more than ten seconds after the last one begins another episode of error handling (src/core/trouble.c)."""
    let_pass(12)


def record_of(guest, disk):
    """The records of a disk in /etc/uasd/history at its ports: lists of words."""
    text = guest.read("/etc/uasd/history") or ""
    return [line.partition("=")[2] for line in text.splitlines() if ":%s@" % disk.config["serial"] in line]


def messages(guest, message):
    """Number of journal entries with an ending of uasd."""
    text = guest.run("journalctl -b -o json MESSAGE_ID=%s --output-fields=MESSAGE" % message).out
    return len(text.splitlines())


ROLLED_BACK = "485663fd8cba451386a4bfcaa34f8941"
DISTRUSTED = "fb889702e9134914a1d0f03a2eb84e7e"
NOT_UAS = "3c03c6c227ba4d2e84e16b7e13f4d5cf"
CLEARED = "abf811e4be434b489084747a16b26e3d"
TROUBLE = "83e1dbb2cf0d4b4ca1cdb5d5591c3908"
BOOT_ENTRY = "6dfe4b588ff24e04a8460990eca611d9"
TRIAL_PASSED = "5f07edea107b4f2493b98da086b46864"
STRANDED = "8b68d3c1d462461887b4c56a0a0e9468"


def stranded(guest, disk, before, target):
    """The fields of the one switch of the boot that ended on the wrong driver. The catalog has its text, `uasctl log` its word."""
    journal = "LC_ALL=C journalctl -b --no-pager MESSAGE_ID=%s " % STRANDED
    guest.wait_until(journal + "| grep -q 'not brought back'", 20)
    [told] = [json.loads(line) for line in guest.out(journal + "-o json").splitlines()]
    assert (told["UASD_INTERFACE"], told["UASD_FROM"], told["UASD_TO"]) == (disk.interface, before, target), told
    assert told["UASD_USB_ID"].endswith(":" + disk.config["serial"]) and told["PRIORITY"] == "4", told
    text = " ".join(guest.out(journal + "-x").split())
    assert "Subject: USB disk %s could not be brought back to its former driver" % disk.interface in text, text
    assert "failed at step %s" % told["UASD_STEP"] in text and "uasctl explain " + disk.interface in text, text
    words = [event["event"] for event in guest.uasctl("log " + disk.interface)["events"]]
    assert words.count("stranded") == 1, words
    return told


def quirks_of_others(guest):
    """The quirks parameter without the entries by which uasd keeps disks off uas; "" also without a parameter."""
    entries = (guest.read("/sys/module/usb_storage/parameters/quirks") or "").split(",")
    for own in (guest.read("/run/uasd/quirks") or "").partition("quirks=")[2].partition("\n")[0].split(","):
        if own in entries:
            entries.remove(own)
    return ",".join(entries)


def well(guest, disk, driver=None, count=1, quirks=""):
    """The disk is on a driver and readable, nothing is held or remains, and uasctl reports its driver. QUIRKS: those of others."""
    names = guest.wait_disk(disk.interface, driver=driver, count=count)

    def at_rest():
        one = listed(guest, disk)
        return one if one and one["state"] not in ("held", "switching", "unbound") else None
    one = guest.until(at_rest, 90, "it comes to rest")
    now = guest.driver(disk.interface)
    assert guest.run("ls -A /run/uasd/hold").text == "", guest.run("ls -l /run/uasd/hold").out
    assert guest.run("ls /run/uasd/switch/%s" % disk.interface).rc != 0, guest.run("cat /run/uasd/switch/*").out
    assert quirks_of_others(guest) == quirks, quirks_of_others(guest)
    # A bind of another disk may be in progress.
    guest.wait_until("! test -e /run/uasd/quirks.bind", 20)
    for name in names:
        # A held disk would have no links of its file system.
        guest.wait_until("! udevadm info -q property -n %s | grep -qx UASD_HOLD=1" % name, 30)
        guest.run("dd if=/dev/%s of=/dev/null bs=1M count=1 iflag=direct status=none" % name, check=True)
    assert one["driver"] == now, (now, one)
    assert sorted(each["name"] for each in one["disks"]) == sorted(names), one
    return one


def waiting(vm, disk, image=None):
    """A guest with DISK mounted on usb-storage, and uasd waiting to move it."""
    guest = on_storage(vm, disk, image=image)
    guest.run("mount /dev/sda1 /mnt && systemctl start uasd", check=True)
    only_disk(guest, "waiting")
    return guest


def gone(guest, disk):
    """DISK is pulled, and the kernel has noticed."""
    disk.unplug()
    guest.wait_until("! test -e /sys/bus/usb/devices/%s" % disk.interface, 30)


def switch(guest, disk, target, timeout=100):
    """uasctl switch, and its result."""
    return guest.run("uasctl switch %s %s --wait=%d" % (disk.interface, target, timeout), timeout=timeout + 50)

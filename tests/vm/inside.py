# SPDX-License-Identifier: LGPL-2.1-or-later
"""Python in the guest, for tests of a system call, its errno, or the moment after it."""

import json

from qmp import quote

# Available to every program. I is the disk's USB interface.
PRELUDE = r'''
import ctypes, errno, fcntl, glob, json, os, struct, subprocess, sys, time

I = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)


def error(action, *arguments):
    "None if it went well, else the errno's name."
    try:
        action(*arguments)
    except OSError as e:
        return errno.errorcode[e.errno]


def write(path, text):
    def one():
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    return error(one)


def bind(driver, interface=I):
    return write("/sys/bus/usb/drivers/%s/bind" % driver, interface)


def unbind(driver, interface=I):
    return write("/sys/bus/usb/drivers/%s/unbind" % driver, interface)


def quirks(text):
    return write("/sys/module/usb_storage/parameters/quirks", text)


def at(pattern):
    "What is there below the interface."
    return sorted(glob.glob("/sys/bus/usb/devices/%s/%s" % (I, pattern)))


def driver():
    links = at("driver")
    return os.path.basename(os.readlink(links[0])) if links else None


def alt():
    return int(open("/sys/bus/usb/devices/%s/bAlternateSetting" % I).read())


def disks():
    return [os.path.basename(path) for path in at("host*/target*/*/block/*")]


def appear(count=1, seconds=20):
    "Seconds until so many disks are there."
    start = time.monotonic()
    while len(disks()) < count:
        assert time.monotonic() < start + seconds, "no disk"
        time.sleep(0.005)
    return time.monotonic() - start


def settle():
    subprocess.run(["udevadm", "settle", "--timeout=20"])


def node(name, flags=os.O_RDONLY):
    return os.open("/dev/" + name, flags)


def mount(source, where):
    os.makedirs(where, exist_ok=True)
    if libc.mount(source.encode(), where.encode(), b"ext4", 0, None) < 0:
        raise OSError(ctypes.get_errno(), "mount")
'''


def python(guest, disk, program, *arguments, timeout=60):
    """Runs PROGRAM in the guest. Returns the value of `answer`."""
    words = " ".join(quote(str(word)) for word in (disk.interface,) + arguments)
    result = guest.run("python3 - " + words, timeout, check=True,
                       input=PRELUDE + program + "\nprint(json.dumps(answer))\n")
    return json.loads(result.text)


def plugged(vm, driver, image=None, **config):
    """A resumed guest and a small disk in it, on DRIVER; (guest, disk)."""
    config.setdefault("size", "16M")
    disk = vm.disk(**config)
    guest = vm.resume(image=image)
    # It opens a disk some time after udev has processed it.
    guest.run("systemctl stop udisks2")
    guest.plug(disk)
    guest.wait_disk(disk.interface, count=len(disk.media))
    if guest.driver(disk.interface) != driver:
        move(guest, disk, driver)
    return guest, disk


def move(guest, disk, driver):
    """To DRIVER by hand, if needed. Sets the quirks for that."""
    python(guest, disk, """
target = sys.argv[2]
assert quirks("1209:5a5a:u" if target == "usb-storage" else "\\n") is None
if driver() != target:
    assert driver() is None or unbind(driver()) is None
    assert bind(target) is None
answer = None
""", driver)
    guest.wait_disk(disk.interface, driver=driver, count=len(disk.media))

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bundle of this working tree, in the guests `busybox`, `sysvinit` and `openrc`, and `vendor` with systemd: installed by its install.sh.

In `busybox` no start script is written, and a case starts uasd itself. In the other ones the init of the system does.
"""

import glob
import os
import pathlib
import tempfile

import context
import debian
import evidence
import image as images
from users import QUIET, THROUGH

# How an init starts and stops uasd, and asks for it.
WITHOUT_SYSTEMD = {"sysvinit": "service uasd ", "openrc": "rc-service uasd "}
SERVICE = {**WITHOUT_SYSTEMD, "vendor": "service uasd "}


def files():
    """{path: value} of the bundle, unpacked in /bundle."""
    top = os.path.dirname(os.path.dirname(images.HERE))
    made = images.Layer("bundle", images.digest(*(os.path.join(top, name) for name in ("src", "meson.build", "packaging/bundle", "packaging/release.d", "contrib/event.d", "udev/61-uasd.hwdb"))))

    def fill(path):
        with tempfile.TemporaryDirectory() as work:
            debian.sh([os.path.join(top, "tools/build-bundle"), "--here", work])
            os.makedirs(path)
            debian.sh(["tar", "-xf", glob.glob(work + "/*.tar.xz")[0], "--strip-components=1", "-C", path])

    made.build("building the bundle", fill)
    return {"bundle/" + os.path.relpath(os.path.join(folder, name), made.dir): pathlib.Path(folder, name)
            for folder, _, names in os.walk(made.dir) for name in names}


# Until uasd has moved it once more: when the use had ended, when the last attempt began, and when that had moved it.
GOES = """
count() { grep -c ": $1 from " %s; }
attempts=$(count switching) moved=$(count moved)
%s || exit
read -r ended _ </proc/uptime
began=$ended
until [ $(count moved) -gt $moved ]; do
        before=$attempts attempts=$(count switching)
        [ $attempts = $before ] || read -r began _ </proc/uptime
        busybox usleep 50000
done
read -r moved _ </proc/uptime
echo $ended $began $moved
"""


def log(guest):
    """What uasd reports, if no syslogd runs."""
    return "/run/uasd/log" if guest.image.flavour in SERVICE else "/run/uasd.log"


def goes(guest, end, slack=2):
    """END is the last part of a use. The switch begins soon after it: SLACK in addition to the quiet time. A timer may be armed."""
    ended, began, moved = map(float, guest.out(GOES % (log(guest), end), timeout=90).split()[-3:])
    print("  began %5.2f s after the end of the use, moved after %5.2f s (%s)" % (began - ended, moved - ended, end), flush=True)
    assert began - ended <= QUIET + slack, (end, ended, began, moved)
    assert moved - began <= THROUGH, (end, ended, began, moved)


def started(guest):
    guest.wait_until("! uasctl list 2>&1 | grep 'not running'")


def start(guest):
    service = SERVICE.get(guest.image.flavour)
    guest.run(service + "start" if service else "/opt/uasd/lib/uasd/uasd >>/run/uasd.log 2>&1 </dev/null &", check=True)
    started(guest)


def stop(guest):
    """A switch that has begun goes on."""
    guest.run(SERVICE[guest.image.flavour] + "stop" if guest.image.flavour in SERVICE else "kill $(pidof uasd)", check=True)
    guest.wait_until("! pidof uasd")


def install(guest):
    """By install.sh, which finds out by itself which init runs. It starts nothing, and a uasd that runs goes on."""
    guest.run("/bundle/install.sh --no-start" + ("" if guest.image.flavour in SERVICE else " --init=none"), check=True)


def replace(guest):
    """The uasd that is installed runs, in place of one that may run."""
    if guest.image.flavour in SERVICE:
        guest.run("/bundle/install.sh && sync", check=True)
        started(guest)
        return
    if not guest.run("pidof uasd").rc:
        stop(guest)
    start(guest)


def boot(vm, *disks, conf="", first=":", more=None, early=(), guest=None, drives=()):
    """The guest with uasd installed and running, then DISKS plugged in. FIRST runs before uasd starts, with the disks EARLY.
    more: further files. GUEST boots again. If it has a root of its own, uasd is installed there, starts by itself, and finds DISKS."""
    again = guest is not None
    guest = guest or vm.guest()
    with context.clock_stopped():
        laid = {**files(), "etc/uasd/uasd.conf": "[uasd]\nQuietSec=%d\n" % QUIET + conf, **(more or {})}
    if guest.image.flavour not in SERVICE:
        guest.boot(initramfs=laid, wait="agent", disks=early, drives=drives)
    elif again:
        guest.boot(files=laid, wait="agent", disks=disks)
        started(guest)
        return guest
    else:
        guest.boot(files=laid, wait="agent", disks=early)
    install(guest)
    for disk in early:
        guest.wait_disk(disk.interface)
    guest.run(first, check=True)
    replace(guest)
    for disk in disks:
        guest.plug(disk)
    return guest


def on_uas(vm, disk, **how):
    """The guest with DISK on uas. how: as of boot()."""
    guest = boot(vm, disk, **how)
    guest.wait_disk(disk.interface, driver="uas")
    return guest


def on_storage(vm, disk):
    """The guest with DISK settled on usb-storage, by the policy of its configuration."""
    guest = boot(vm, disk, conf="Policy=usb-storage\n")
    guest.wait_disk(disk.interface, driver="usb-storage")
    evidence.only_disk(guest, "settled")
    return guest

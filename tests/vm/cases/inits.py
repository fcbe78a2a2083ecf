# SPDX-License-Identifier: LGPL-2.1-or-later
"""The start script that install.sh writes, run by a real init with udevd: sysvinit, OpenRC, and systemd."""

import os
import re

import bundled
import image as images
from context import case
from evidence import only_disk

ROUNDS = 20
# It starts a uasd that was killed.
SUPERVISED = ("openrc",)


def runs(guest, *words):
    """The exit status of each of these words of the start script, in turn."""
    return [guest.run(bundled.SERVICE[guest.image.flavour] + word).rc for word in words]


def running(guest):
    """The numbers of each uasd."""
    return guest.run("pidof uasd").out.split()


@case(tier="full", image="sysvinit", product=False, also=("openrc",))
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
        assert len(running(guest)) == 1, number
        # udevd and its children are at work at a plug-in, too.
        assert guest.out("ps -o ni= -p $(pidof uasd)") == "-10"
        assert runs(guest, "stop", "status", "stop") == [0, 3, 0], number
        assert not running(guest), number
    # Two at once
    guest.run("{ %s start & %s start & wait; }" % ((bundled.SERVICE[guest.image.flavour].strip(),) * 2))
    assert len(guest.until(lambda: running(guest), what="it runs")) == 1 and runs(guest, "status") == [0]
    bundled.started(guest)
    only_disk(guest, "settled")
    assert len(running(guest)) == 1
    assert guest.driver(disk.interface) == "uas"
    guest.run("test \"$(cat /mnt/file)\" = kept && umount /mnt", check=True)


@case(tier="full", image="sysvinit", product=False, also=("openrc",))
def killed(vm):
    "A uasd that was killed is started again by its supervisor. Without one the status says that it does not run, and a start works."
    disk = vm.disk(label="DATA")
    guest = bundled.on_storage(vm, disk)
    guest.run("mount /dev/sda1 /mnt && uasctl policy sda uas", check=True)
    only_disk(guest, "waiting")
    before = running(guest)
    guest.run("kill -KILL $(pidof uasd)", check=True)
    start = "start"
    if guest.image.flavour in SUPERVISED:
        guest.until(lambda: running(guest) not in ([], before), what="it is started again")
        assert runs(guest, "status") == [0]
        # Now the supervisor, too. For OpenRC that service is still started.
        guest.run("kill -KILL $(pidof supervise-daemon uasd)", check=True)
        start = "restart"
    guest.wait_until("! pidof uasd")
    assert runs(guest, "status") == [64 if guest.image.flavour in SUPERVISED else 3]
    assert runs(guest, start, "status") == [0, 0]
    bundled.started(guest)
    only_disk(guest, "waiting")
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=30)


@case(tier="full", image="sysvinit", product=False, limit=400, also=("openrc",))
def boots_beside_a_mount(vm):
    "A boot mounts the disk by fstab and starts uasd: the disk waits on usb-storage for its umount. A shutdown in its trial is not held against it."
    disk = vm.disk(label="DATA")
    guest = bundled.on_uas(vm, disk)
    guest.run("echo LABEL=DATA /mnt ext4 nofail 0 2 >>/etc/fstab && sync", check=True)
    only_disk(guest, "trial")
    guest.shut_down()
    bundled.boot(vm, disk, guest=guest)
    assert [user["where"] for user in only_disk(guest, "waiting")["busy"] if user["kind"] == "mount"] == ["/mnt"]
    assert guest.driver(disk.interface) == "usb-storage"
    assert runs(guest, "status") == [0]
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=30)
    only_disk(guest, "settled")


@case(tier="full", image="sysvinit", product=False, also=("openrc",))
def messages(vm):
    "What uasd reports is in syslog, or in a file where none runs. uasctl log says which one."
    disk = vm.disk(label="DATA")
    guest = bundled.on_uas(vm, disk)
    only_disk(guest, "settled")
    moved = "moved from usb-storage to uas"
    guest.wait_until("grep '%s' /run/uasd/log" % moved)
    assert "uasd are in syslog" not in guest.run("uasctl log").err
    guest.run("busybox syslogd -O /run/messages", check=True)
    guest.wait_until("test -e /dev/log")
    guest.run("uasctl switch sda usb-storage --wait=30 && uasctl switch sda uas --wait=30", check=True)
    assert moved in guest.out("grep 'daemon.* uasd: ' /run/messages")
    assert guest.out("cat /run/uasd/log").count(moved) == 1
    said = guest.run("uasctl log", check=True)
    assert "times without syslog are in /run/uasd/log." in said.err and "The messages of uasd are in syslog" in said.err, said


@case(tier="full", image="vendor", product=False, limit=900)
def systemd(vm):
    "systemd runs the bundle by the unit of install.sh: a disk is moved, uasd starts after a kill and at boot, and --remove ends it."
    disk = vm.disk(label="DATA")
    guest = bundled.on_uas(vm, disk)
    only_disk(guest, "settled")
    assert guest.out("systemctl show -p ControlGroup uasd") == "ControlGroup=/uasd.service"
    guest.run("uasctl switch sda usb-storage --wait=30 && uasctl switch sda uas --wait=30", check=True)
    guest.until(lambda: guest.journal("-b -u uasd").count("moved from usb-storage to uas") == 2, what="the journal has both")
    before = running(guest)
    guest.run("kill -KILL $(pidof uasd)", check=True)
    guest.until(lambda: running(guest) not in ([], before), what="it is started again")
    bundled.started(guest)
    assert runs(guest, "status") == [0]
    only_disk(guest, "trial")
    guest.reboot()
    bundled.started(guest)
    guest.wait_disk(disk.interface, driver="uas", timeout=60)
    assert runs(guest, "status", "stop", "status", "start") == [0, 0, 3, 0]
    guest.run("udevadm settle && mount LABEL=DATA /mnt", check=True)
    guest.run("/opt/uasd/install.sh --remove --purge", check=True)
    assert not running(guest) and guest.run("systemctl cat uasd.service").rc


# Each open of a file. strace names the folder of a path that is relative.
OPENS = re.compile(r'\bopenat2?\((?:AT_FDCWD|\d+)<([^>]*)>, "([^"]*)", (.*)')
VERBS = ("list", "status sda", "explain --all sda", "log", "report", "db", "policy sda auto", "switch sda usb-storage --wait=120", "forget sda",
         "eject sda")


def opened(text):
    """{path: whether it was opened for writing} of strace's output."""
    found = {}
    for folder, name, rest in OPENS.findall(text):
        path = os.path.normpath(os.path.join(folder, name))
        found[path] = found.get(path, False) or bool(re.search("O_(WRONLY|RDWR|CREAT)", rest))
    return found


def listed_files():
    """{path: whether uasd writes there} of docs/nas.md."""
    with open(os.path.join(images.HERE, "../../docs/nas.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| (reads|writes) \| (.*?) \|", page.read().partition("## Files")[2].partition("\n## ")[0], re.M)
    return {path: kind == "writes" for kind, paths in rows for path in re.findall("`(/[^`]*)`", paths)}


def inside(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@case(tier="full", image="sysvinit", product=False)
def files(vm):
    "uasd, uasd-switch and uasctl open only files that docs/nas.md lists, write only where it says so, and open all of them."
    disk = vm.disk(label="DATA")
    guest = bundled.boot(vm)
    bundled.stop(guest)
    trace = "strace -f -y -s 300 -e trace=openat,openat2 -o /run/trace.%s "
    guest.run((trace % "uasd") + "/opt/uasd/lib/uasd/uasd </dev/null >/dev/null 2>&1 &", check=True)
    bundled.started(guest)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    for verb in VERBS:
        guest.run("%s -A uasctl %s" % (trace % "uasctl", verb), timeout=150)
    # Nothing needs the module any more, and it is looked for.
    guest.run("rmmod uas && %s -A uasctl module && kill $(pidof uasd)" % (trace % "uasctl"), check=True)
    guest.wait_until("! pidof strace")
    here, page = opened(guest.out("cat /run/trace.*")), listed_files()
    places = {path: max((one for one in page if inside(path, one)), key=len, default=None) for path in here}
    foreign = sorted(path for path, place in places.items()
                     if (here[path] and not page[place] if place else here[path] or not any(inside(one, path) for one in page)))
    assert not foreign, foreign
    assert set(page) == set(places.values()) - {None}, sorted(set(page) - set(places.values()))

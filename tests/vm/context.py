# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a case gets: `vm`, and the decorator that makes a function a case.

    from context import case

    @case(tier="fast", image="vendor")
    def switches_when_free(vm):
        "A free disk is moved to uas."
        disk = vm.disk(label="DATA")
        guest = vm.resume(disks=[disk])
        guest.wait_disk(driver="uas")
"""

import contextlib
import os
import signal

import image as images
import saved
from disk import Disk
from guest import Guest
from machine import Processors
from media import Media
from patience import told

TIERS = ("fast", "default", "full")
LIMIT = 240
# Guests that only tier full has, where a case names them beside another one.
RARE = ("bullseye", "sid", "sysvinit", "openrc")
# Nanoseconds an instruction.
SLOW = 32
HALF_AS_SLOW = 16
# In a case's folder: too large to keep, and useless without the run.
BULKY = ("*.qcow2", "*.raw", "initrd.img", "*.sock", "*.usb", "*.ctl", "*.copy")


class Skip(Exception):
    """The case cannot run here, for this reason."""


class Case:
    def __init__(self, function, tier, image, product, limit, sliced=True, cpus=1, slow=0, also=""):
        module = function.__module__.rpartition(".")[2]
        self.name = "%s.%s%s" % (module, function.__name__, also and "@" + also)
        self.function = function
        self.tier = tier
        self.images = (image,) if isinstance(image, str) else tuple(image)
        self.product = product
        self.limit = round(limit * (told() or 1))
        self.sliced = sliced
        self.cpus = Processors(cpus, slow.bit_length() - 1 if slow else None)
        self.about = (function.__doc__ or "").strip().partition("\n")[0]


CASES = []


def case(tier="default", image="bookworm", product=True, limit=LIMIT, sliced=True, cpus=1, slow=0, also=()):
    """A function of `vm` becomes a case.

    tier     "fast", "default" or "full": each includes those before
    image    the guest it uses ("bookworm", "vendor", "builtin", "trixie", "bullseye", "sid", "zfs", "cockpit", "cockpit13", "arm64",
             "busybox", "sysvinit", "openrc"), or several;
             the first is what vm.boot() and vm.resume() take by default
    product  whether uasd is installed in the guest
    limit    seconds it may take
    also     guests in which it runs once more, as NAME@GUEST; not in the fast tier, and those of RARE only in tier full
    sliced   False: it takes too long for a slice of tier full, so only a run of the whole tier has it
    cpus     processors of its guests: two run uasd, its children, udev and the kernel at the same time
    slow     SLOW or HALF_AS_SLOW: its guests have one such processor, whatever the host does meanwhile
    """
    assert tier in TIERS, tier

    def register(function):
        CASES.append(Case(function, tier, image, product, limit, sliced, cpus, slow))
        # The fast tier has no time for another guest. One processor: all of them resume one saved guest. Those of the bundle boot.
        CASES.extend(Case(function, "full" if other in RARE else "default" if tier == "fast" else tier, other, product, limit, sliced,
                          cpus if image == "busybox" else 1, also=other) for other in also)
        return function
    return register


@contextlib.contextmanager
def clock_stopped():
    """The time of shared builds does not count for this case."""
    left = signal.alarm(0)
    try:
        yield
    finally:
        signal.alarm(left)


class Vm:
    """Guests and disks of one case; all of them end with it."""

    def __init__(self, folder, one, deb=None):
        self.folder = folder
        self.case = one
        self.deb = deb
        self.cpus = one.cpus
        self.guests = []
        self.disks = []

    def skip(self, why):
        raise Skip(why)

    def image(self, flavour=None):
        with clock_stopped():
            return images.ensure(flavour or self.case.images[0],
                                 self.deb if self.case.product else None)

    def guest(self, image=None):
        """A guest that is still off; boot() it."""
        number = len(self.guests)
        guest = Guest(os.path.join(self.folder, "guest%d" % number), self.image(image), self.cpus)
        self.guests.append(guest)
        return guest

    def boot(self, image=None, disks=(), **options):
        """A cold boot with DISKS plugged in; options as of Guest.boot()."""
        return self.guest(image).boot(disks=disks, **options)

    def resume(self, image=None, disks=(), files=None):
        """A guest that has booted already; FILES are put, DISKS hot-plugged."""
        guest = self.guest(image)
        with clock_stopped():
            state = saved.ensure(guest.image, self.cpus)
        guest.resume(state)
        for path, data in (files or {}).items():
            guest.put(path, data)
        for disk in disks:
            guest.plug(disk)
        return guest

    def disk(self, size="64M", label=None, partitions=None, luns=1, media=None, **config):
        """An emulated disk, not plugged in yet.

        Blank, or with `label` a GPT with one ext4 of that label; `partitions`
        is a list of sizes (None: the rest) for a table without file systems.
        `media` takes prepared backing files instead. The rest goes to
        usbdisk: wcache="volatile", speed="high", alts="bot", vid=, serial=...
        """
        name = "disk%d" % len(self.disks)
        if media is None:
            media = []
            for lun in range(luns):
                path = os.path.join(self.folder, "%s.%d.raw" % (name, lun))
                one = Media(path, size)
                if label:
                    one.partition().ext4(label + (str(lun) if lun else ""), 1)
                elif partitions:
                    one.partition(partitions)
                media.append(one)
        disk = Disk(self.folder, name, media, **config)
        self.disks.append(disk)
        return disk

    def media(self, size="64M", name=None):
        """A blank backing file, to prepare before vm.disk(media=[...])."""
        name = name or "media%d.raw" % len(os.listdir(self.folder))
        return Media(os.path.join(self.folder, name), size)

    def evidence(self):
        """Data about a failed case. Guests may be dying."""
        for guest in self.guests:
            if guest.machine.process is None:
                continue
            for name, command in (
                    ("journal.txt", "journalctl -b --no-pager -o short-monotonic"),
                    ("state.txt", "timeout 10 uasctl list; timeout 10 uasctl list --json; "
                                  "systemctl list-jobs --no-pager; lsblk; lsusb -t; "
                                  "cat /proc/mounts; ls -l /run/uasd; ps axf")):
                try:
                    text = guest.run(command, timeout=60).out
                except Exception as error:
                    text = "not to be had: %s\n" % error
                with open(os.path.join(guest.folder, name), "w") as file:
                    file.write(text)
        for disk in self.disks:
            try:
                text = "".join("%s\n" % line for line in disk.trace(1000))
                text += "%s\n" % disk.stats()
            except Exception as error:
                text = "not to be had: %s\n" % error
            with open(os.path.join(self.folder, disk.name + ".trace"), "w") as file:
                file.write(text)

    def close(self):
        for guest in self.guests:
            guest.close()
        for disk in self.disks:
            disk.close()

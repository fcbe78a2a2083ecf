# SPDX-License-Identifier: LGPL-2.1-or-later
"""The machine that is measured: its files in /sys, /proc, /dev and /etc, and its uasctl."""

import glob
import os
import re
from contextlib import suppress
from dataclasses import dataclass

from bench.model import Conditions, Driver, Queue

UASCTL = ('uasctl',)
INTERFACE = re.compile(r'/([0-9]+-[0-9.]+:[0-9]+\.[0-9]+)/')
SECTOR = 512  # bytes; unit of /sys/block for every disk
BELOW_MAX = 8  # devices on top of each other


@dataclass
class Below:
    """The disks below a block device, through device mapper, md and so on."""

    interfaces: list[str]
    known: bool  # False: also a device whose disks cannot be found
    others: bool  # also a disk that is none of USB


@dataclass(frozen=True)
class Machine:
    root: str = ''  # of another machine in a folder
    uasctl: tuple[str, ...] = UASCTL

    def path(self, path: str) -> str:
        return f'{self.root}{path}'

    def exists(self, path: str) -> bool:
        return os.path.exists(self.path(path))

    def read(self, path: str) -> str:
        """ "": it cannot be read."""
        with suppress(OSError), open(self.path(path), errors='replace') as f:
            return f.read(1 << 16).rstrip('\n')
        return ''

    def number(self, path: str, base: int = 10) -> int | None:
        try:
            return int(self.read(path), base)
        except ValueError:
            return None

    def interface_of(self, block: str) -> str:
        """Of a disk or partition; "": it is on no USB disk."""
        found = INTERFACE.search(os.path.realpath(self.path(f'/sys/class/block/{block}')))
        return found[1] if found and self.exists(f'/sys/class/block/{block}') else ''

    def attachment(self, interface: str) -> tuple[str, int] | None:
        """Differs for each time that a device is plugged in; None: there is none."""
        device = f'/sys/bus/usb/devices/{interface.split(":")[0]}'
        try:
            return self.read(f'{device}/dev'), os.stat(self.path(device)).st_ino
        except OSError:
            return None

    def luns(self, interface: str) -> dict[str, int]:
        """Its disks, and their logical unit numbers."""
        pattern = self.path(f'/sys/bus/usb/devices/{interface}/host*/target*/*:*/block/*')
        found = {}
        for path in sorted(glob.glob(pattern)):
            *_, scsi, _, block = path.split('/')
            found[block] = int(scsi.rsplit(':', 1)[-1])
        return found

    def _blocks(self) -> list[str]:
        with suppress(OSError):
            return sorted(os.listdir(self.path('/sys/block')))
        return []

    def below(self, device: int) -> Below:
        """device: as in st_dev."""
        found = Below([], True, False)
        link = f'/sys/dev/block/{os.major(device)}:{os.minor(device)}'
        try:
            self._add_below(os.path.basename(os.readlink(self.path(link))), found, 0)
        except OSError:
            found.known = False
        return found

    def _add_below(self, block: str, found: Below, depth: int) -> None:
        interface = self.interface_of(block)
        if interface:
            found.interfaces += [] if interface in found.interfaces else [interface]
            return
        if depth >= BELOW_MAX:
            found.known = False
            return
        try:
            slaves = os.listdir(self.path(f'/sys/class/block/{block}/slaves'))
        except FileNotFoundError:
            slaves = []
        for slave in slaves:
            self._add_below(slave, found, depth + 1)
        # Without slaves it is a disk or a partition, or a loop device on a file.
        if not slaves and self.exists(f'/sys/class/block/{block}/loop/backing_file'):
            found.known = False
        elif not slaves:
            found.others = True

    # ---- the conditions of a measurement, without which a result means nothing ----

    def describe(self, c: Conditions) -> None:
        c.kernel = self.read('/proc/sys/kernel/osrelease')
        m = re.match('MemTotal: *([0-9]+)', self.read('/proc/meminfo'))
        c.memory = int(m[1]) * 1024 if m else 0

    def controller(self, interface: str) -> str:
        """Its driver and its device, which uasd does not report."""
        hub = self.path(f'/sys/bus/usb/devices/usb{interface.split("-")[0]}')
        try:
            device = os.path.basename(os.path.dirname(os.readlink(hub)))
        except OSError:
            return ''
        with suppress(OSError):
            driver = os.path.basename(os.readlink(os.path.join(os.path.realpath(hub), '../driver')))
            return f'{driver} {device}'
        return device

    def chip(self, interface: str) -> str:
        """The chip of the bridge, by udev's record."""
        dev = self.read(f'/sys/bus/usb/devices/{interface.split(":")[0]}/dev')
        record = self.read(f'/run/udev/data/c{dev}') if dev else ''
        m = re.search('^E:UASD_DB_CHIP=(.*)$', record, re.MULTILINE)
        return m[1] if m else ''

    def describe_queue(self, block: str, driver: Driver, c: Conditions) -> None:
        """Under its driver, after the bind. A value that cannot be read stays unknown."""
        sys = f'/sys/block/{block}'
        old, q = c.queue(driver), Queue(driver)
        q.scheduler = scheduler_chosen(self.read(f'{sys}/queue/scheduler')) or old.scheduler
        depth = self.number(f'{sys}/device/queue_depth')
        q.queue_depth = old.queue_depth if depth is None else depth
        requests = self.number(f'{sys}/queue/nr_requests')
        q.nr_requests = old.nr_requests if requests is None else requests
        rotational = self.number(f'{sys}/queue/rotational')
        c.rotational = c.rotational if rotational is None else rotational != 0
        c.queues[driver] = q

    def bytes_moved(self, block: str) -> tuple[int, int] | None:
        return stat_bytes(self.read(f'/sys/block/{block}/stat'))

    def bus_disks(self, interface: str) -> dict[str, str]:
        """The disks on the bus of an interface, with the interface of each."""
        bus = f'{interface.split("-")[0]}-'
        found = {block: self.interface_of(block) for block in self._blocks()}
        return {block: its for block, its in found.items() if its.startswith(bus)}


def scheduler_chosen(line: str) -> str:
    """ "[mq-deadline] none": the name in brackets."""
    m = re.search(r'\[([^]]*)\]', line)
    return m[1] if m and len(m[1]) < 64 else ''


def stat_bytes(line: str) -> tuple[int, int] | None:
    """Read and written, of a line of /sys/block/NAME/stat."""
    # reads, merged, sectors, ms, writes, merged, sectors, ...
    words = line.split()[:7]
    if len(words) < 7 or not all(word.isascii() and word.isdigit() for word in words):
        return None
    return int(words[2]) * SECTOR, int(words[6]) * SECTOR

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The subject of a measurement: an unused disk, or a file."""

import errno
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bench import log, patterns, remount, scratch
from bench.exits import Ended, Exit, fail
from bench.lease import Disk, Gone, Lost, Session
from bench.machine import Machine
from bench.model import UINT64_MAX, Conditions, Driver, Pattern
from bench.options import Options
from bench.remount import Remount

SCRATCH_SIZE = 5 << 30  # minimum, unless the user sets a size: caches answered below that
NODE_SEC = 10  # longer than udev needs for a node
OPTICAL = 5  # the type of such a SCSI device


@dataclass
class Subject:
    options: Options
    machine: Machine
    session: Session | None = None  # with the disk; None: it is not known, or on several
    lun: int = 0
    named: bool = False  # the user has named this LUN, or it is the only one
    interface: str = ''
    attachment: object = None  # of the disk when it was found
    block: str = ''  # the node of the LUN, which may have another name after a switch
    driver: Driver = Driver.NONE  # the present one; NONE: not known (file)
    first: Driver = Driver.NONE
    second: Driver = Driver.NONE  # NONE: no comparison
    path: str = ''  # of the file; "": the raw disk
    hosts: Sequence[str] = field(default_factory=tuple)  # (): only this machine
    available: int = 0  # bytes
    scratch_fd: int = -1  # the scratch file of this machine
    writes: bool = False  # permitted
    lay_out: bool = False  # the file is empty and must be written before it is read
    remount: Remount | None = None
    distrusted: bool = False  # uasd has distrusted the disk since its first view or last switch
    history: str | None = None  # uasd's clause
    why: str = ''  # the reason why a switch failed

    @property
    def disk(self) -> Disk:
        return self.session.disk if self.session else {}

    @property
    def switches(self) -> bool:
        """Whether the disk is leased, or its file system unmounted."""
        return not self.path or self.remount is not None

    def close(self) -> None:
        self.end_lease()
        self.drop_scratch()

    # ---- the disk ----

    def take_disk(self, what: str) -> int:
        """Takes the LUN with that name, or else the first one with a disk. Returns its bytes."""
        if not self.session:
            return 0
        # A link by id names one LUN, too.
        name = os.path.basename(os.path.realpath(what) if what[:1] == '/' else what)
        luns = [lun for lun in self.disk['disks'] if lun['name'] and lun['size'] > 0
                and self.machine.number(f'/sys/block/{lun["name"]}/device/type') != OPTICAL]
        if not luns:
            return 0
        lun = next((lun for lun in luns if lun['name'] == name), luns[0])
        with_disk = [lun for lun in self.disk['disks'] if lun['name']]
        self.lun, self.block = lun['lun'], lun['name']
        self.named = lun['name'] == name or len(with_disk) == 1
        self.interface = self.disk['interface']
        self.driver = driver_of(self.disk)
        self.attachment = self.machine.attachment(self.interface)
        return int(lun['size'])

    def is_there(self) -> bool:
        """Not unplugged since it was found, also if its interface is there again."""
        return (not self.interface
                or self.machine.attachment(self.interface) == self.attachment is not None)

    def owns(self, fd: int) -> bool:
        """Whether an open node belongs to the LUN of the subject.

        A name may belong to another disk by now. A number cannot, as long as the node is open: the
        kernel gives it to no other disk.
        """
        status = os.fstat(fd)
        if not self.is_there() or self.machine.luns(self.interface).get(self.block) != self.lun:
            return False
        number = f'{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}'
        return (not stat.S_ISBLK(status.st_mode)
                or self.machine.read(f'/sys/block/{self.block}/dev') == number)

    def describe(self, c: Conditions) -> None:
        self.machine.describe(c)
        c.path = self.options.file
        d = self.disk
        if not d:
            return
        c.model = ' '.join(filter(None, (d['manufacturer'], d['product'])))
        c.serial = d['serial']
        c.bridge = f'{d["vendor_id"]}:{d["product_id"]}'
        chip = self.machine.chip(d['interface'])
        c.bridge += f' {chip}' if chip else ''
        c.firmware = f'{int(d["revision"][:2], 16):x}.{d["revision"][2:]}'
        c.speed_mbps = d['speed_mbps']
        c.disk_size = next((lun['size'] for lun in d['disks'] if lun['lun'] == self.lun), 0)
        c.controller = self.machine.controller(d['interface'])

    # ---- the lease ----

    def _take_view(self, disk: Disk) -> None:
        for lun in disk['disks']:
            if lun['lun'] == self.lun and lun['name']:
                self.block = lun['name']
        history = disk['history'] or ''
        new = self.history is not None and history != self.history
        self.distrusted |= new and history.startswith('distrusted')
        self.history = history

    def look(self, word: str = 'look') -> None:
        """Reads what uasd has told. Raises Lost or Gone. Without a lease there is no such end."""
        if not self.session:
            return
        if self.session.kernel:
            with suppress(Lost, Gone):
                self.session.look()
        else:
            self._take_view(self.session.look(word))

    def _check_same(self) -> None:
        """The user may have answered a question meanwhile: time enough to exchange disks."""
        assert self.session
        now, was = self.session.state.disk or {}, self.disk
        same = all(now.get(key) == was[key] for key in ('vendor_id', 'product_id', 'serial'))
        if not (same and self.is_there()):
            fail(Exit.NO_DISK, '%s: was unplugged meanwhile. Nothing has been measured.',
                 self.session.label)

    def begin_lease(self) -> None:
        """For the raw disk takes a lease. Raises Ended.

        While it lasts, uasd's claim stays, no program mounts the disk, and uasd restores the
        driver when it ends in any way. With --remount the file system is unmounted and mounted
        once instead, before hours of measuring.
        """
        assert self.session
        try:
            self.session.look('read')
            self._check_same()
            self._take_view(self.session.state.disk or {})
            if self.remount:
                if not remount.take_away(self.remount):
                    fail(Exit.REFUSED, "Cannot unmount '%s', so the drivers cannot be compared.",
                         self.remount.target)
                if not self._bring_back():
                    fail(Exit.FAILED, 'Nothing was measured.')
                return
            state = self.session.order('lease')
            if state.code:
                raise Ended(state.code)
            self._check_same()  # the lease is of this one
        except Gone:
            self._check_same()
        except Lost:
            fail(Exit.FAILED, 'uasd is not there any more.')

    def end_lease(self) -> None:
        if self.session:
            self.session.close()

    def _bring_back(self) -> bool:
        assert self.remount
        return remount.bring_back(self.machine, self.remount, lambda: self.block)

    def _await_node(self) -> bool:
        """The bus may report the end before udev has made the node."""
        deadline = time.monotonic() + NODE_SEC
        while time.monotonic() < deadline:
            with suppress(Lost, Gone):
                self.look('read')
                if os.access(self.machine.path(f'/dev/{self.block}'), os.R_OK):
                    return True
            time.sleep(0.2)
        return False

    def _switch_disk(self, to: Driver) -> int:
        assert self.session
        try:
            state = self.session.order(str(to))
        except Lost:
            self.why = 'uasd is not there any more'
            return Exit.FAILED
        self.why = state.text.removesuffix('.')  # the text becomes part of a sentence
        if not state.lost and not self._await_node() and state.code == Exit.OK:
            self.why = 'its node did not come back'
            return Exit.FAILED
        return state.code

    def switch(self, to: Driver) -> int:
        """Switches the disk and waits for its node, in spite of signals. self.why is the reason.

        A switch needs an unused disk. So with --remount the file system is unmounted before it. It
        is mounted after it with the same type and options, in every case in which that is
        possible. Then it has no scratch file. Returns the exit status of the switch. REFUSED: the
        file system is in use.
        """
        self.why = ''
        m = self.remount
        if not m:
            return self._switch_disk(to)
        self.drop_scratch()  # it ends with its mount
        if not remount.take_away(m):
            self.why = f"'{m.target}' cannot be unmounted"
            return Exit.REFUSED
        code = self._switch_disk(to)
        if not self._bring_back() and code == Exit.OK:
            self.why = f"'{m.target}' is not mounted again"
            return Exit.FAILED
        return code

    # ---- scratch files ----

    def drop_scratch(self) -> None:
        if self.scratch_fd >= 0:
            os.close(self.scratch_fd)
        self.scratch_fd = -1

    def take_scratch(self) -> None:
        self.available = self.options.size or SCRATCH_SIZE
        self.writes = self.lay_out = True

    def size_scratch(self, all_patterns: Sequence[Pattern]) -> None:
        """--write without --size: the region of the largest pattern."""
        if self.lay_out and not self.options.size:
            asked = patterns.asked_for(self.options, all_patterns)
            wanted = max((min(p.size * p.numjobs, UINT64_MAX) for p in asked), default=0)
            self.available = scratch.fitting(self.options.file, wanted, SCRATCH_SIZE)

    def make_scratch(self) -> bool:
        """--write: makes the scratch file, after all questions. Reports errors."""
        directory = self.options.file
        try:
            self.scratch_fd = scratch.make(directory, self.available)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                log.error("Cannot make a scratch file in '%s': %s", directory, error.strerror)
                return False
            log.error("Cannot make a scratch file of %s in '%s': %s are free, and a twentieth "
                      'stays free. --size= limits it.', scratch.short_size(self.available),
                      directory, scratch.short_size(scratch.free_space(directory)))
            return False
        # fio opens it through our descriptor.
        self.path = f'/proc/{os.getpid()}/fd/{self.scratch_fd}'
        return True




def driver_of(disk: Disk) -> Driver:
    name = disk.get('driver')
    known = (Driver.UAS, Driver.USB_STORAGE)
    return Driver(name) if name in known else Driver.OTHER if name else Driver.NONE

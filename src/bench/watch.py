# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measured disk meanwhile: the traffic on its bus, and its errors.

One abort or reset is enough here: the result decides about no user's data, and a bridge that fails
now will fail later.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.lease import Sign
from bench.machine import Machine
from bench.model import Pattern, Run, Side

# ---- the traffic during a run: the kernel's counters separate our bytes from those of others ----


@dataclass
class Traffic:
    """Bytes, by the counters of the disks on a bus."""

    known: bool = False
    others: int = 0  # on the other disks of the bus
    read: int = 0  # of the measured disk, with all LUNs of its enclosure
    written: int = 0
    lun_read: int = 0  # of the measured LUN
    lun_written: int = 0


def traffic(machine: Machine, interface: str, block: str) -> Traffic:
    """interface: "": the disk is not known."""
    t = Traffic(known=bool(interface))
    for name, its in machine.bus_disks(interface).items() if interface else ():
        moved = machine.bytes_moved(name)
        if not moved:
            continue
        if its != interface:
            t.others += sum(moved)
            continue
        t.read += moved[0]
        t.written += moved[1]
        if name == block:
            t.lun_read, t.lun_written = moved
    return t


def _ours(side: Side, charged: float, p: Pattern, r: Run) -> float:
    """The bytes of our run.

    fio's own count leaves out the ramp, which has the same rate. The kernel's count for fio leaves
    out FUSE file systems.
    """
    ramp = p.ramp_sec * 1e6 / r.runtime_usec if r.runtime_usec > 0 else 0.0
    return max(charged, side.bytes * (1 + ramp))


def tell_traffic(before: Traffic, after: Traffic, p: Pattern, usec: int, r: Run) -> None:
    """Bytes per second of others on the bus and on the disk itself, and what reached a device.

    r.device_*: the kernel's counts for fio, negative if there are none.
    """
    r.other_bytes_per_sec = -1.0
    if not before.known or not after.known or usec <= 0:
        return

    def more(member: str) -> float:
        return float(max(getattr(after, member) - getattr(before, member), 0))
    others = more('others') + max(
        more('read') - _ours(r.read, r.device_read_bytes, p, r), 0.0)
    # The kernel writes dirty pages at any time, so these bytes cannot be attributed.
    if p.direct or not p.writes:
        others += max(more('written') - _ours(r.write, r.device_written_bytes, p, r), 0.0)
    r.other_bytes_per_sec = others * 1e6 / usec
    # A file system in its own process reads and writes for fio.
    if r.device_read_bytes >= 0:
        r.device_read_bytes = max(r.device_read_bytes, more('lun_read'))
    if r.device_written_bytes >= 0:
        r.device_written_bytes = max(r.device_written_bytes, more('lun_written'))


# ---- errors: from the counters of the SCSI layer, and from the kernel's log ----


@dataclass
class Errors:
    """Since the disk is on its driver: a switch makes a new SCSI device."""

    block: str = ''
    counts_timeouts: bool = False  # this kernel counts time-outs
    timeouts_before: int = 0
    failed_before: int = 0
    timeouts: int = 0  # of commands
    failed: int = 0  # commands that ended in an error; other programs may have caused them
    offline: bool = False  # the kernel has set the disk offline
    signs: Sequence[Sign] = field(default_factory=tuple)  # the first ones first

    @classmethod
    def begin(cls, machine: Machine, block: str) -> 'Errors':
        timeouts = machine.number(f'/sys/block/{block}/device/iotmo_cnt', 16)
        failed = machine.number(f'/sys/block/{block}/device/ioerr_cnt', 16)
        return cls(block, timeouts is not None, timeouts or 0, failed or 0)

    def look(self, machine: Machine, signs: Sequence[Sign], io_failed: bool) -> bool:
        """Whether it is trouble. io_failed: whether I/O also failed."""
        if not self.block:
            return False
        device = f'/sys/block/{self.block}/device'
        timeouts = machine.number(f'{device}/iotmo_cnt', 16) or 0
        failed = machine.number(f'{device}/ioerr_cnt', 16) or 0
        self.timeouts = max(timeouts - self.timeouts_before, 0)
        self.failed = max(failed - self.failed_before, 0)
        self.offline = machine.read(f'{device}/state') == 'offline'
        self.signs = signs
        return self.are_trouble(io_failed)

    def are_trouble(self, io_failed: bool) -> bool:
        if self.timeouts or self.offline or self.signs:
            return True
        # Other programs may send commands that the disk does not support. If the kernel does not
        # count time-outs, this is the only sign.
        return self.failed > 0 and (io_failed or not self.counts_timeouts)

    def text(self) -> str:
        """A clause: "2 commands were not answered in time; ..."."""
        clauses = []
        if self.timeouts:
            were = 'command was' if self.timeouts == 1 else 'commands were'
            clauses.append(f'{self.timeouts} {were} not answered in time')
        if self.failed:
            ended = 'command ended' if self.failed == 1 else 'commands ended'
            clauses.append(f'{self.failed} {ended} in an error')
        if self.offline:
            clauses.append('the kernel has given the disk up')
        clauses = [', '.join(clauses)] if clauses else []
        if self.signs:
            seen = ', '.join(s.what + (f' ({s.count} times)' if s.count > 1 else '')
                             for s in self.signs)
            clauses.append(f"the kernel's log: {seen}")
        blame = [s.blame for s in self.signs if s.blame]
        if blame:
            clauses.append(f'to blame is perhaps {blame[-1]}')
        return '; '.join(clauses)

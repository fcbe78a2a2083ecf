# SPDX-License-Identifier: LGPL-2.1-or-later
"""Results as fio and the session would return them."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src'))
from bench.model import (  # noqa: E402
    Axis, Bench, Conditions, Driver, Finding, Pattern, Queue, Run, Side)

MB = 1e6
KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30
BEGIN = 1763900000000000  # 2025-11-23 12:13:20 UTC
BOT, UAS = Driver.USB_STORAGE, Driver.UAS


def bench():
    """A hard disk at a 5 Gbit/s link, all conditions known, without patterns."""
    return Bench(
        id='0f3c2a4e-6b1d-4c77-9a55-1d2e3f405162', profile='cdm', started_usec=BEGIN,
        conditions=Conditions(
            model='ACME Rotor 4000', bridge='1209:5a5a JMS580', firmware='1.14', serial='S-0815',
            controller='xhci_hcd 0000:00:14.0', kernel='6.1.0-test', fio='fio-3.33',
            speed_mbps=5000, disk_size=4000787030016, memory=8 * GiB, rotational=True,
            queues={BOT: Queue(BOT, 'mq-deadline', 1, 2), UAS: Queue(UAS, 'mq-deadline', 30, 256)}))


def pattern(b, name, rw, block_size, depth):
    """As in CrystalDiskMark; direct, by io_uring. Returns its index."""
    share = 0 if 'write' in rw else 50 if rw in ('randrw', 'rw') else 100
    b.patterns.append(Pattern(
        name=name, rw=rw, engine='io_uring', block_size=block_size, size=64 * GiB, iodepth=depth,
        numjobs=1, read_percent=share, random=rw.startswith('rand'), direct=True, time_based=True,
        runtime_sec=10, ramp_sec=2))
    return len(b.patterns) - 1


def side(p, rate):
    iops, size = rate / p.block_size, int(rate * 10)
    mean = 1e9 * p.iodepth / iops if rate > 0 else 0.0
    return Side(
        bytes=size, ios=size // p.block_size, bytes_per_sec=float(rate), iops=iops, mean_ns=mean,
        p50_ns=int(mean * 0.9), p95_ns=int(mean * 2), p99_ns=int(mean * 4),
        clat_mean_ns=mean - mean / 64, slat_mean_ns=mean / 64)


def run(b, index, driver, rate):
    """Adds a run with this rate in bytes per second. Its round follows from the existing runs."""
    p = b.patterns[index]
    r = Run(
        pattern=index, driver=driver, order=len(b.runs),
        round=sum(x.pattern == index and x.driver is driver and not x.host for x in b.runs),
        started_usec=BEGIN + len(b.runs) * 15000000, runtime_usec=10000000,
        region=p.size * p.numjobs, depth_share=0.998, cpu_percent=3.5, other_bytes_per_sec=0.0)
    none = Side(clat_mean_ns=0.0)
    r.read, r.write = (
        side(p, rate * share / 100) if share > 0 else none
        for share in (p.read_percent, 100 - p.read_percent))
    r.sync = Side(clat_mean_ns=0.0)
    b.runs.append(r)
    return r


def runs(b, index, driver, *rates):
    """Adds the round that is dropped, and others."""
    run(b, index, driver, rates[0] / 2 if rates else MB)
    for rate in rates:
        run(b, index, driver, rate)


def comparison():
    """Two random, two sequential patterns: 3.1 times faster on UAS, and no difference."""
    b = bench()
    s8, s1 = pattern(b, 'SEQ1M-Q8T1', 'read', MiB, 8), pattern(b, 'SEQ1M-Q1T1', 'read', MiB, 1)
    r32 = pattern(b, 'RND4K-Q32T1', 'randread', 4096, 32)
    r1 = pattern(b, 'RND4K-Q1T1', 'randread', 4096, 1)
    for index, unit, bot, uas in (
            (s8, MB, (190, 191, 189, 192, 190.5), (191, 190, 189.5, 192.5, 190.2)),
            (s1, MB, (171, 172, 170, 171.5, 170.5), (170.8, 172.2, 170.1, 171.2, 170.4)),
            (r32, 4096, (192, 193, 190, 191, 195), (595, 600, 590, 592, 605)),
            (r1, 4096, (118, 120, 119, 121, 118.5), (119, 120.5, 118.2, 121.5, 118.7))):
        runs(b, index, BOT, *(x * unit for x in bot))
        runs(b, index, UAS, *(x * unit for x in uas))
    return b


def written():
    """Reads and writes, as with --write. Writes scatter, and twice the median proves nothing."""
    b = comparison()
    s8, r32 = pattern(b, 'SEQ1M-Q8T1', 'write', MiB, 8), pattern(b, 'RND4K-Q32T1', 'randwrite', 4096, 32)
    for index, unit in (s8, MB), (r32, 4096):
        runs(b, index, BOT, *(x * unit for x in (100, 50, 400, 60, 300)))
        runs(b, index, UAS, *(x * unit for x in (200, 90, 380, 150, 240)))
    return b


def full():
    """Every feature: a mix, a sweep's axis, several machines, a finding."""
    b = comparison()
    mixed = pattern(b, 'mixed', 'randrw', 4096, 256)
    runs(b, mixed, BOT, 281 * 4096, 280 * 4096)
    r = run(b, mixed, UAS, 579 * 4096)
    r.host, r.round = 'nas2:8765', 1
    r = run(b, mixed, UAS, 0)
    r.error, r.other_bytes_per_sec = -5, -1.0
    r.device_read_bytes, r.device_written_bytes = 4096.0, 8192.0
    r.sync = Side(ios=7, iops=0.7, mean_ns=2.5e6, p50_ns=2000000, p95_ns=4000000, p99_ns=5000000,
                  clat_mean_ns=0.0)
    p = b.patterns[mixed]
    p.fsync, p.fdatasync, p.axis, p.sync_engine = 40, 80, 256.0, True
    b.axis, b.interrupted, b.conditions.path = Axis.DEPTH, True, '/mnt/usb/scratch'
    b.finding = Finding(UAS, len(b.runs) - 1, '2 commands aborted, 1 reset')
    return b


def hostile():
    """A device whose names contain code. $TOUCHED is the file that it would touch."""
    b = comparison()
    command = f"../x '; system(\"touch {os.environ.get('TOUCHED', '/nonexistent/x')}\") #"
    b.conditions.model = '=cmd|\' /C calc\'!A0 \x1b[31m`x` | <b>@all</b>, "q"\n# h'
    b.conditions.bridge = b.profile = command
    b.patterns[0].name = 'a\'b"c\\d|e`f<g>&\x1b]0;h\a'
    return b


def sweep():
    """Random reads at depth 1 to 32: one driver gets faster, the other does not."""
    b = bench()
    b.axis = Axis.DEPTH
    for depth in (1, 2, 4, 8, 16, 32):
        p = pattern(b, f'RND4K depth={depth}', 'randread', 4096, depth)
        b.patterns[p].axis = float(depth)
        for i in range(6):
            run(b, p, BOT, (120 + i) * 4096)
            run(b, p, UAS, (120 + 3 * i + 14 * depth) * 4096)
    return b


def matrix():
    """Like the profile of that name: rates grow with the jobs, up to the limit of the disk."""
    b = bench()
    b.profile = 'matrix'
    for i, n in enumerate((1, 4, 16, 64) * 2):
        random = i >= 4
        name, rw = ('rand', 'randread') if random else ('seq', 'read')
        p = pattern(b, f'{name}-read-{n}', rw, 4096 if random else 128 * KiB, 1)
        b.patterns[p].numjobs, b.patterns[p].sync_engine, b.patterns[p].engine = n, True, 'psync'
        for turn in range(4):
            rate = 4096 * (100 + n) if random else (140 + n) * MB
            run(b, p, BOT, rate * (1 + turn / 100))
            run(b, p, UAS, 2 * rate * (1 + turn / 100))
    return b


def _only(wanted):
    b = comparison()
    b.runs = [r for r in b.runs if wanted(r)]
    return b


def doubted():
    b = comparison()
    b.conditions.speed_mbps = 480
    for r in b.runs:
        if r.pattern == 2:
            r.depth_share = 0.4
    return b


SAMPLES = {
    'comparison': comparison, 'full': full, 'hostile': hostile, 'sweep': sweep, 'matrix': matrix,
    'written': written,
    'single': lambda: _only(lambda r: r.driver is UAS), 'doubted': doubted, 'none': Bench,
    'hasty': lambda: _only(lambda r: r.round <= 1),  # one round of each driver that counts
}

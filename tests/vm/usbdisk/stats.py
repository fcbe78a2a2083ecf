# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counters and the trace, for the assertions of tests."""

import time
from collections import Counter, deque

from . import faults


class Counters:
    """Of one protocol."""

    def __init__(self):
        self.commands = self.reads = self.writes = self.syncs = self.failed = self.max_inflight = 0
        self.bytes_read = self.bytes_written = 0
        self.by_op = Counter()

    def begin(self, op, inflight):
        self.commands += 1
        self.by_op[op] += 1
        self.reads += op in faults.READ
        self.writes += op in faults.WRITE
        self.syncs += op in faults.SYNC
        self.max_inflight = max(self.max_inflight, inflight)

    def end(self, task):
        result = task.result
        if result is None or result.status:
            self.failed += 1
        elif task.op in faults.READ:
            self.bytes_read += task.length
        elif task.op in faults.WRITE:
            self.bytes_written += task.length

    def report(self):
        out = {key: value for key, value in vars(self).items() if key != "by_op"}
        out["by_op"] = {f"0x{op:02x}": count for op, count in sorted(self.by_op.items())}
        return out


class Stats:
    def __init__(self):
        self.by_proto = {"bot": Counters(), "uas": Counters()}
        self.set_interface = Counter({0: 0, 1: 0})
        self.resets = self.plugs = self.connections = 0
        self.refused = 0        # SET_INTERFACE and streams refused by a fault

    def report(self):
        out = {name: counters.report() for name, counters in self.by_proto.items()}
        out["set_interface"] = {str(alt): count for alt, count in sorted(self.set_interface.items())}
        out.update(resets=self.resets, plugs=self.plugs, connections=self.connections, refused=self.refused)
        for key in ("bytes_read", "bytes_written"):
            out[key] = sum(getattr(counters, key) for counters in self.by_proto.values())
        return out


class Trace:
    def __init__(self, length=8192):
        self.events = deque(maxlen=length)

    def add(self, event, **fields):
        self.events.append((time.monotonic(), event, fields))

    def last(self, count):
        picked = list(self.events)[-count:] if count else []
        return [dict(fields, t=round(when, 6), event=event) for when, event, fields in picked]

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The faults: their conditions and durations.

Faults of commands: hang, stall, short, fail, unplug, delay.  Faults of the device, which are looked up where they
apply and take only `count`: refuse_streams, refuse_set_interface, needs_reset, gone_on_reset.  `identity` holds
for as long as it is set.  refuse_streams has three ways: "descriptor" (companions without streams, from the next plug
on: uas fails cleanly), "resource" (the controller has none left; QEMU's xHCI then leaves the endpoints disabled, and
only a replug helps) and "disconnect" (the allocation fails; QEMU unplugs the device).
Selectors: proto, op, lun, sector (commands that read or write this block), queue (with so many commands in flight at least, this one counted), after (so many pass
first), every (then each n-th), count.
"""

READ = {0x08, 0x28, 0xA8, 0x88}
WRITE = {0x0A, 0x2A, 0xAA, 0x8A}
SYNC = {0x35, 0x91}
CLASSES = {"read": READ, "write": WRITE, "sync": SYNC, "inquiry": {0x12}}

OF_COMMANDS = {"hang", "stall", "short", "fail", "unplug", "delay"}
OF_DEVICE = {"refuse_streams", "refuse_set_interface", "needs_reset", "gone_on_reset"}
SELECTORS = {"name", "proto", "op", "lun", "sector", "queue", "after", "every", "count"}


class Fault:
    def __init__(self, spec):
        self.name = spec["name"]
        if self.name not in OF_COMMANDS | OF_DEVICE | {"identity"}:
            raise ValueError(f"no fault named {self.name!r}")
        self.proto = spec.get("proto")
        if self.proto not in (None, "bot", "uas"):
            raise ValueError("proto is bot or uas")
        self.ops = self._ops(spec.get("op", "any"))
        self.lun = spec.get("lun")
        self.sector = spec.get("sector")
        self.queue = int(spec.get("queue", 0))
        self.after = int(spec.get("after", 0))
        self.every = max(int(spec.get("every", 1)), 1)
        self.seen = 0
        self.left = spec.get("count")
        self.hits = 0
        self.args = {key: value for key, value in spec.items() if key not in SELECTORS}
        if self.name == "refuse_streams":
            self.args.setdefault("how", "descriptor")
        self.spec = dict(spec)

    @staticmethod
    def _ops(op):
        if op == "any":
            return None
        if isinstance(op, list):
            return set().union(*(Fault._ops(one) or set() for one in op))
        if op in CLASSES:
            return CLASSES[op]
        return {int(op, 0) if isinstance(op, str) else op}

    def applies(self, proto, op=None, lun=None, inflight=None, extent=None):
        if self.sector is not None and extent is not None and not extent[0] <= self.sector < extent[0] + extent[1]:
            return False
        if inflight is not None and inflight < self.queue:
            return False
        if self.proto and proto and self.proto != proto:
            return False
        if self.ops is not None and op is not None and op not in self.ops:
            return False
        return self.lun is None or lun is None or self.lun == lun

    def spend(self):
        """Whether the fault applies to this occasion. Counts it."""
        if self.after > 0:
            self.after -= 1
            return False
        self.seen += 1
        if (self.seen - 1) % self.every:
            return False
        if self.left is not None:
            if self.left <= 0:
                return False
            self.left -= 1
        self.hits += 1
        return True


class Faults:
    def __init__(self, specs=()):
        self.list = [Fault(spec) for spec in specs]

    def add(self, spec):
        self.list.append(Fault(spec))

    def clear(self):
        self.list.clear()

    def for_command(self, proto, op, lun, inflight, extent=(0, 0)):
        """name -> Fault for this command, counted. extent: its first block and number of blocks."""
        found = {}
        for fault in self.list:
            if fault.name in OF_COMMANDS and fault.name not in found and fault.applies(proto, op, lun, inflight, extent):
                if fault.spend():
                    found[fault.name] = fault
        return found

    def of_device(self, name, **match):
        for fault in self.list:
            if fault.name == name and all(fault.args.get(key) in (None, value) for key, value in match.items()):
                if fault.spend():
                    return fault
        return None

    def standing(self, name, **match):
        """Whether there is such a fault. Does not count it."""
        return any(fault.name == name and all(fault.args.get(key) == value for key, value in match.items())
                   for fault in self.list)

    def identity(self, proto, lun):
        merged = {}
        for fault in self.list:
            if fault.name == "identity" and fault.applies(proto, None, lun):
                merged.update(fault.args)
        return merged

    def report(self):
        return [dict(fault.spec, hits=fault.hits, left=fault.left) for fault in self.list]

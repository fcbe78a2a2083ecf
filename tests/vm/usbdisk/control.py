# SPDX-License-Identifier: LGPL-2.1-or-later
"""The control socket: one JSON object per line, one JSON object back."""

import asyncio
import json

LUN_KEYS = {"wcache", "vendor", "product", "revision", "serial", "wwn", "hide_vpd", "physical", "rotation", "unmap", "lbpme",
            "ata", "read_only", "removable", "medium"}
LIVE_KEYS = {"resume", "bus_powered"}
PLUG_KEYS = {"vid", "pid", "bcd", "manufacturer", "product", "serial", "speed", "streams", "max_power", "alts",
             "pipe_usage"}


class Control:
    def __init__(self, device):
        self.device = device
        self.stopped = asyncio.Event()

    async def client(self, reader, writer):
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self.handle(line)).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError, asyncio.CancelledError):     # a line too long is a ValueError
            pass
        finally:
            writer.close()

    def handle(self, line):
        try:
            request = json.loads(line)
            command = getattr(self, "do_" + request.pop("cmd"), None)
            if not command:
                return {"ok": False, "error": "no such command"}
            return dict({"ok": True}, **(command(**request) or {}))
        except Exception as error:      # a wrong request must never end the disk
            return {"ok": False, "error": f"{type(error).__name__}: {error}"}

    def do_plug(self):
        return {"changed": self.device.plug()}

    def do_unplug(self):
        return {"changed": self.device.unplug()}

    def do_power_loss(self):
        lost = self.device.power_loss()
        return {"lost_blocks": [count // 512 for count in lost]}

    def do_stats(self):
        device = self.device
        out = device.stats.report()
        out.update(plugged=device.plugged, connected=device.connection is not None, alt=device.alt,
                   configured=bool(device.configured),
                   protocol=device.transport.proto if device.transport else None,
                   inflight=device.transport.inflight() if device.transport else 0,
                   dirty_blocks=[lun.backing.dirty // 512 for lun in device.luns])
        return out

    def do_reset_stats(self):
        self.device.stats = type(self.device.stats)()

    def do_trace(self, last=100):
        return {"trace": self.device.trace.last(last)}

    def do_fault(self, **spec):
        self.device.faults.add(spec)
        later = self.device.plugged and spec["name"] == "refuse_streams" and spec.get("how", "descriptor") == "descriptor"
        return {"note": "from the next plug on"} if later else None

    def do_faults(self):
        return {"faults": self.device.faults.report()}

    def do_clear_faults(self):
        self.device.faults.clear()

    def do_config(self):
        return {"config": self.device.cfg}

    def do_set(self, lun=None, **values):
        """Keys of a LUN act at once (without "lun" on all of them), those in descriptors at the next plug."""
        device = self.device
        for key, value in values.items():
            known = False
            if key == "latency":
                device.set_latency(value)
                device.cfg[key] = value
                known = True
            if key in LIVE_KEYS | PLUG_KEYS and lun is None:
                device.cfg[key] = int(value, 16) if key in ("vid", "pid", "bcd") and isinstance(value, str) else value
                known = True
            if key in LUN_KEYS and (lun is not None or key not in PLUG_KEYS or key == "serial"):
                self._set_lun(device.luns if lun is None else [device.luns[lun]], key, value)
                known = True
            if not known:
                raise ValueError(f"cannot set {key}")

    @staticmethod
    def _set_lun(luns, key, value):
        for one in luns:
            one.cfg[key] = value
            one.views.clear()
            if key == "wcache":
                one.wce = value == "volatile"
                if not one.wce:
                    one.backing.flush()
            if key == "medium":     # a card is put in or taken out
                one.medium = value

    def do_quit(self):
        """Like a power loss: the volatile caches are lost."""
        self.device.power_loss()
        asyncio.get_running_loop().call_later(0.05, self.stopped.set)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""An emulated USB disk: the process usbdisk, driven over its control socket."""

import json
import os
import sys
import time

import machine
import qmp

HERE = os.path.dirname(os.path.abspath(__file__))


class Disk:
    """One USB device with one or more LUNs, at first not plugged in.

    media   a list of media.Media, one a LUN
    config  keys of usbdisk's configuration: vid, pid, serial, speed, alts,
            wcache, latency, faults, ... see usbdisk/device.py; lun: keys
            of a LUN for all of them, or a list with those of each
    """

    def __init__(self, folder, name, media, **config):
        self.name = name
        self.media = media
        self.port = None
        self.socket = os.path.join(folder, name + ".usb")
        self.control = os.path.join(folder, name + ".ctl")
        self.log = os.path.join(folder, name + ".log")
        extra = config.pop("lun", {})
        block = config.pop("block_size", 512)
        extra = extra if isinstance(extra, list) else [extra] * len(media)
        config["luns"] = [dict({"path": one.path, "size": one.size, "block_size": block}, **more)
                          for one, more in zip(media, extra)]
        config.setdefault("serial", "UASD-" + name.upper())
        config.setdefault("plugged", False)
        if config.get("speed") == "high":
            config.setdefault("max_power", 500)  # more is refused by the hub
        self.config = config
        self.process = None
        self.lines = None
        self.start()

    def start(self):
        for path in (self.socket, self.control):
            if os.path.exists(path):
                os.unlink(path)
        self.process = machine.spawn(
            [sys.executable, "-m", "usbdisk", "--socket", self.socket,
             "--control", self.control, "--config", json.dumps(self.config)],
            self.log, env=dict(os.environ, PYTHONPATH=HERE))
        end = time.monotonic() + 20
        while not os.path.exists(self.control):
            if self.process.poll() is not None or time.monotonic() > end:
                with open(self.log, errors="replace") as log:
                    raise qmp.VmError("the disk %s did not start: %s"
                                      % (self.name, log.read()[-2000:]))
            time.sleep(0.02)
        self.lines = qmp.Lines(self.control)

    def call(self, command, **arguments):
        """One request on the control socket, e.g. call("stats")."""
        self.lines.send(dict(arguments, cmd=command))
        answer = self.lines.receive(20)
        if not answer.pop("ok", False):
            raise qmp.VmError("disk %s: %s: %s" % (self.name, command, answer.get("error")))
        return answer

    def plug(self):
        return self.call("plug")

    def unplug(self):
        """Pull the plug; the write cache is kept (a disk with its own mains)."""
        return self.call("unplug")

    def power_loss(self):
        """Off, unplugged, the contents of its volatile write cache lost. Returns the lost blocks by LUN."""
        return self.call("power_loss").get("lost_blocks")

    def stats(self):
        """Counters: ["bot"|"uas"]["commands"|"reads"|...], ["alt"], ["dirty_blocks"]."""
        return self.call("stats")

    def reset_stats(self):
        self.call("reset_stats")

    def dirty(self):
        """Blocks (512 bytes) in the volatile caches of all LUNs."""
        return sum(self.stats()["dirty_blocks"])

    def trace(self, last=100):
        return self.call("trace", last=last)["trace"]

    def fault(self, **spec):
        """Add a fault; see usbdisk/faults.py."""
        return self.call("fault", **spec)

    def clear_faults(self):
        self.call("clear_faults")

    def set(self, **values):
        """Change configuration keys of the running disk."""
        return self.call("set", **values)

    @property
    def interface(self):
        """Its sysfs name on an otherwise unused controller, e.g. "2-1:1.0"."""
        bus = 2 if self.config.get("speed", "super") == "super" else 1
        return "%d-%d:1.0" % (bus, self.port)

    @property
    def object(self):
        """Its path on uasd's bus: sd_bus_path_encode(3)."""
        return "/org/uasd1/disk/" + "".join(c if c.isalpha() or i and c.isdigit() else "_%02x" % ord(c)
                                            for i, c in enumerate(self.interface))

    def close(self):
        """End the process; what its volatile cache held is lost."""
        if self.lines:
            self.lines.close()
        if self.process:
            machine.end(self.process)
        self.lines = self.process = None

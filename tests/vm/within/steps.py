# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: a switch that stands still before the step that is asked for, while the host does something to it.

Called by the host once an order: JSON on stdin (what to do, and what is known), JSON on stdout. What is on the disks is
kept by the host, which outlives a power cut.
"""

import json
import os
import re
import signal
import subprocess
import sys

import blocks
import disks
import kills

def knows(order):
    world = kills.Kills(order["config"])
    world.number = order["number"]
    world.ledgers = [blocks.Ledger(world.area, *two) for two in order["ledgers"]]
    return world


def begin(world, order):
    """After a boot: the wrapper stands, the quirks are there."""
    kills.wrap()
    disks.quirks(world.foreign)
    kills.put("/sys/module/usb_storage/parameters/delay_use", "0")
    disks.until(lambda: disks.rest(world.interface) in ("settled", "trial", "failed"), 90, "settled")
    disks.sh("sync")


def learn(world, order):
    """Which write(2) is the first word of each step; ends on the other driver."""
    target = kills.other(disks.driver(world.interface))
    kills.put(kills.PLAN + ".trace", "")
    world.request(target)
    found, writes = {}, 0
    with open(kills.PLAN + ".trace", errors="replace") as file:
        for line in file:
            if line.startswith("write("):
                writes += 1
                step = re.match(r'write\(1, "STEP (\w+)', line)
                if step:
                    found[step[1]] = writes
    os.unlink(kills.PLAN + ".trace")
    world.settle()
    return found


def stop(world, order):
    """A switch is begun and stops before STEP; its unsynced data is told, and whether it was reached."""
    before = disks.driver(world.interface)
    world.dirty()
    with open(kills.PLAN + ".stop", "w") as file:
        file.write("write %d\n" % order["nth"])
    subprocess.Popen(["uasctl", "switch", disks.names(world.interface)[0], kills.other(before), "--wait=1"],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return disks.until(stopped, 60, "stopped before " + order["step"])


def stopped():
    """The stopped uasd-switch, or None."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            status = disks.read("/proc/%s/status" % entry) or ""
            if re.match(r"Name:\s+uasd-switch(\.vm)?\n", status) and re.search(r"State:\s+[tT]", status):
                if "TracerPid:\t0" not in status:
                    return int(entry)
    return None


def go(world, order):
    """It goes on."""
    os.kill(order["pid"], signal.SIGCONT)


def check(world, order):
    world.interface = order.get("interface", world.interface)
    world.lossy = order["lossy"]
    world.foreign = order.get("quirks", world.foreign)
    world.check(order["what"])
    return world.wrong


def main():
    order = json.load(sys.stdin)
    world = knows(order)
    talk, sys.stdout = sys.stdout, sys.stderr
    answer = globals()[order["do"]](world, order)
    json.dump({"answer": answer, "number": world.number, "driver": disks.driver(world.interface),
               "ledgers": [[one.newest, one.durable] for one in world.ledgers]}, talk)


if __name__ == "__main__":
    main()

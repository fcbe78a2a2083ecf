# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: a switch that stops before a requested step, for an action of the host.

Called by the host once an order: JSON on stdin (what to do, and what is known), JSON on stdout. What is on the disks is
kept by the host, which outlives a power cut.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

import blocks
import disks
import kills


# A stopped one goes on when uasd dies (the kernel sends SIGCONT). One that hangs in strace does not.
STOP, HANG = "signal=STOP", "delay_enter=600000000"


def knows(order):
    world = kills.Kills(order["config"])
    world.number = order["number"]
    world.ledgers = [blocks.Ledger(world.area, *two) for two in order["ledgers"]]
    return world


def begin(world, order):
    """After a boot: installs the wrapper, and writes the quirks."""
    kills.wrap()
    disks.quirks(world.foreign)
    disks.put("/sys/module/usb_storage/parameters/delay_use", "0")
    disks.until(lambda: disks.rest(world.interface) in ("settled", "trial", "failed"), 90, "settled")
    disks.sh("sync")


def learn(world, order):
    """Finds the first write to uasd of each step. Ends on the other driver."""
    target = disks.other(disks.driver(world.interface))
    disks.put(kills.PLAN + ".trace", "")
    world.request(target)
    found, writes = {}, 0
    with open(kills.PLAN + ".trace", errors="replace") as file:
        for line in file:
            if line.startswith("write(1,"):
                writes += 1
                step = re.match(r'write\(1, "STEP (\w+)', line)
                if step:
                    found[step[1]] = writes
    os.unlink(kills.PLAN + ".trace")
    world.settle()
    assert disks.driver(world.interface) == target, "not moved: %s" % disks.listed(world.interface)
    return found


def stop(world, order):
    """A switch begins and stops before STEP. Returns its unsynced data, and whether the step was reached."""
    before = disks.driver(world.interface)
    world.dirty()
    with open(kills.PLAN + ".stop", "w") as file:
        file.write("%d %s\n" % (order["nth"], HANG if order.get("hang") else STOP))
    subprocess.Popen(["uasctl", "switch", disks.names(world.interface)[0], disks.other(before), "--wait=1"],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = disks.until(stopped, 60, "stopped before " + order["step"])
    # Its record has the step before: that is done, and this one has not begun.
    there = re.search(r"^STEP=(\w+)$", disks.read("/run/uasd/switch/" + world.interface) or "", re.M)
    assert (there and there[1]) == order["after"], "stands after %s, not after %s" % (there and there[1], order["after"])
    return pid


def stopped():
    """The uasd-switch that stands still, or None."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and disks.read("/proc/%s/comm" % entry) in ("uasd-switch", "uasd-switch.vm"):
            status = disks.read("/proc/%s/status" % entry) or ""
            # A traced one stops at every call, and continues.
            if re.search(r"State:\s+[tT]", status) and "TracerPid:\t0" not in status:
                time.sleep(0.2)
                if disks.read("/proc/%s/status" % entry) == status:
                    return int(entry)
    return None


def go(world, order):
    """Lets it continue."""
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

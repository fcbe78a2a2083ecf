# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's part of a soak: the machine, its disks, and what befalls them from outside; within/soak.py is the guest's.

The guest asks for what only the host can do by a line on its console ("##soak 7 unplug 0 350"), and sees it done by
what becomes of its disks, or by the file /run/vm/done/7.
"""

import json
import os
import random
import re
import time

import within
from within import blocks

ASKED = re.compile(rb"##soak (\d+) (\w+) (\d+) (\d+)\r?\n")
BLOCKS = 256
HARM = ("lost", "driverless", "boots_missed", "pulled", "left_behind", "quirks", "stopped")
SESSION = 60  # switches in one guest; then another one, with other disks


def soak(vm, switches, seed, end=None):
    """So many switches; the counts of what happened."""
    total = {}
    session = 0
    while total.get("switches", 0) < switches and not (end and time.monotonic() > end):
        session += 1
        one = Session(vm, random.Random("%d/%d" % (seed, session)))
        try:
            count = one.run(min(SESSION, switches - total.get("switches", 0)), end)
        finally:
            one.close()
        for key, value in count.items():
            total[key] = total.get(key, 0) + value
        print("session %d: %s" % (session, summary(count)), flush=True)
        if not count.get("switches"):
            break
    return total


def harm(total):
    return sum(total.get(key, 0) for key in HARM)


def summary(total):
    order = ("switches", "moved", "waits", "rollbacks", "refused", "kills", "recoveries", "unplugs", "cuts") + HARM
    return ", ".join("%s %d" % (key.replace("_", " "), total.get(key, 0)) for key in order)


class Session:
    """One guest with one or two disks, from a resumed state on."""

    def __init__(self, vm, source):
        self.vm = vm
        self.random = source
        self.disks = []
        for number in range(source.choice((1, 1, 2))):
            luns = source.choice((1, 1, 2, 3))
            disk = vm.disk(size="12M", luns=luns, partitions=["4M", "2M", None],
                           wcache=source.choice(("volatile", "volatile", "none")), pid=0x5A5A + number)
            for lun, media in enumerate(disk.media):
                media.ext4("D%dL%d" % (number, lun), 1)
                blocks.fill(media.path, lun, media.area(2)[0], BLOCKS)
            self.disks.append(disk)
        self.guest = vm.resume()
        self.guest.run("systemctl stop udisks2")
        for disk in self.disks:
            self.guest.plug(disk)
        self.state = {"disks": [{"interface": disk.interface, "luns": len(disk.media),
                                 "ledgers": [[[0] * BLOCKS, [0] * BLOCKS] for _ in disk.media]} for disk in self.disks],
                      "number": 0, "count": {}, "wrong": []}
        self.seen = 0

    def run(self, switches, end):
        left = switches
        while left > 0 and not (end and time.monotonic() > end):
            seconds = max(60, end - time.monotonic()) if end else 3600
            job = within.start(self.guest, "soak", dict(self.state, switches=left, blocks=BLOCKS, seconds=seconds,
                                                        seed=self.random.getrandbits(32)))
            cut = self.serve(job)
            if not cut:
                done = job.poll()
                print(done.out, end="", flush=True)
                if done.rc:
                    print(done.err, flush=True)
                    raise RuntimeError("the guest's part ended with %d" % done.rc)
                self.state = json.loads(self.guest.get(within.THERE + "/answer.json"))
                break
            left -= self.after_cut()
        return self.state["count"]

    def serve(self, job):
        """Until the guest's part has ended; True if the power was cut instead."""
        looked = 0
        while True:
            with open(self.guest.machine.console, "rb") as log:
                log.seek(self.seen)
                text = log.read()
            for match in ASKED.finditer(text):
                if self.act(int(match[1]), match[2].decode(), int(match[3]), int(match[4])):
                    self.seen += match.end()
                    return True
            # Half a line is read again.
            self.seen += text.rfind(b"\n") + 1
            self.guest.machine.alive()
            looked += 1
            if looked % 20 == 0 and job.poll():
                return False
            time.sleep(0.05)

    def act(self, number, what, which, after):
        disk = self.disks[which]
        time.sleep(after / 1000)
        if what == "cut":
            return True
        if what == "unplug":
            disk.unplug()
        elif what == "plug":
            disk.plug()
        elif what == "stall":
            disk.fault(name="fail", proto="uas", op="read", after=20)
        elif what == "hang":
            disk.fault(name="hang", proto="uas", op="read", after=60)
        elif what == "well":
            disk.clear_faults()
        self.guest.run("mkdir -p /run/vm/done; touch /run/vm/done/%d" % number)
        return False

    def after_cut(self):
        """The machine loses its power and boots again; what was going on is known from its last word."""
        with open(self.guest.machine.console, "rb") as log:
            word = re.findall(rb"##state (\{.*\})\r?\n", log.read())[-1]
        self.guest.power_cut()
        before = self.state["count"].get("switches", 0)
        self.state = json.loads(word)
        self.state["count"]["cuts"] = self.state["count"].get("cuts", 0) + 1
        self.guest.boot(disks=self.disks, fstab=["LABEL=D0L0 /mnt ext4 defaults 0 2"])
        if "/mnt" not in self.guest.mounts():
            self.state["count"]["boots_missed"] = self.state["count"].get("boots_missed", 0) + 1
        self.guest.run("umount /mnt; systemctl stop udisks2")
        self.state["lossy"] = True
        return self.state["count"].get("switches", 0) - before

    def close(self):
        self.guest.close()
        self.vm.guests.remove(self.guest)
        for disk in self.disks:
            disk.close()
            self.vm.disks.remove(disk)
            for media in disk.media:
                os.unlink(media.path)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's part of a soak: the machine, its disks, and incidents from outside. within/soak.py is the guest's part.

The guest asks for what only the host can do by the file /run/vm/asked ("7 unplug 0 350": its seventh wish, disk 0, after
350 ms), and sees it done by /run/vm/done.
"""

import json
import os
import random
import time

import within
from qmp import CommandFailed, VmError
from within import blocks

BLOCKS = 256
HARM = ("lost", "driverless", "boots_missed", "pulled", "left_behind", "quirks", "stopped")
SESSION = 100  # switches in one guest; after that another one, with other disks


def soak(vm, switches, seed, end=None, once=()):
    """This number of switches. Returns the counts of events. ONCE: each kind of incident equally often."""
    total = {}
    session = 0
    while total.get("switches", 0) < switches and not (end and time.monotonic() > end):
        session += 1
        one = Session(vm, random.Random("%d/%d" % (seed, session)), once)
        count = one.run(min(SESSION, switches - total.get("switches", 0)), end)
        for key, value in count.items():
            total[key] = total.get(key, 0) + value
        print("session %d: %s" % (session, summary(count)), flush=True)
        if harm(count):
            break  # the guest stays for inspection
        one.close()
    return total


def harm(total):
    return sum(total.get(key, 0) for key in HARM)


def summary(total):
    order = ("switches", "moved", "waits", "rollbacks", "refused", "kills", "recoveries", "unplugs", "cuts", "at_once") + HARM
    return ", ".join("%s %d" % (key.replace("_", " "), total.get(key, 0)) for key in order)


class Session:
    """One guest with up to four disks, from a resumed state on."""

    def __init__(self, vm, source, once):
        self.vm = vm
        self.once = once
        self.random = source
        self.disks = []
        known = []
        for number in range(source.choice((1, 2, 3, 4, 4, 4))):
            luns = source.choice((1, 1, 2, 3))
            disk = vm.disk(size="12M", luns=luns, partitions=["4M", "2M", None], pid=0x5A5A + number,
                           wcache=source.choice(("volatile", "volatile", "none")), speed=source.choice(("super", "super", "high")))
            for lun, media in enumerate(disk.media):
                media.ext4("D%dL%d" % (number, lun), 1)
                blocks.fill(media.path, 8 * number + lun, media.area(2)[0], BLOCKS)
            self.disks.append(disk)
            known.append({"luns": luns, "first": 8 * number,
                          "ledgers": [[[0] * BLOCKS, [0] * BLOCKS] for _ in disk.media]})
        self.guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=%d\n" % source.choice((0, 0, 1))})
        self.guest.run("systemctl stop udisks2; systemctl restart uasd", check=True)
        for disk, one in zip(self.disks, known):
            self.guest.plug(disk)
            one["interface"] = disk.interface
        self.state = {"disks": known, "number": 0, "count": {}, "wrong": []}

    def run(self, switches, end):
        left = switches
        while left > 0 and not (end and time.monotonic() > end):
            seconds = max(1, end - time.monotonic()) if end else 3600
            before = self.state["count"].get("switches", 0)
            job = within.start(self.guest, "soak", dict(self.state, switches=left, blocks=BLOCKS, seconds=seconds,
                                                        once=self.once, seed=self.random.getrandbits(32)))
            if self.serve(job):
                left -= self.after_cut(before)
                continue
            done = job.poll()
            if done.rc:
                raise CommandFailed(job.command, done)
            self.state = json.loads(self.guest.get(within.THERE + "/answer.json"))
            break
        return self.state["count"]

    def serve(self, job):
        """Runs until the guest's part has ended. Returns True if the power failed instead."""
        served = looked = told = 0
        while True:
            wish = self.wish()
            if wish and wish[0] > served:
                served = wish[0]
                if self.act(*wish):
                    print(job.output()[told:], end="", flush=True)
                    return True
            looked += 1
            if looked % 30 == 0:
                text = job.output()
                print(text[told:], end="", flush=True)
                told = len(text)
            if looked % 4 == 0 and job.poll() is not None:  # a Result that failed is false
                print(job.output()[told:], end="", flush=True)
                return False
            time.sleep(0.3)  # each look costs the guest

    def wish(self):
        try:
            number, what, which, after = self.guest.get(within.THERE + "/asked").split()
        except VmError:  # nothing yet
            return None
        return int(number), what.decode(), int(which), int(after)

    def act(self, number, what, which, after):
        """True if that was the end of this boot."""
        disk = self.disks[which]
        if what == "cut":
            self.state = json.loads(self.guest.get(within.THERE + "/state.json"))
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
        self.guest.agent.write(within.THERE + "/done", b"%d\n" % number)
        return False

    def after_cut(self, before):
        """The machine boots after a power failure, with its first disk in fstab. Returns the number of switches."""
        self.guest.power_cut()
        count = self.state["count"]
        count["cuts"] = count.get("cuts", 0) + 1
        self.guest.boot(disks=self.disks, fstab=["LABEL=D0L0 /mnt ext4 defaults 0 2"])
        if "/mnt" not in self.guest.mounts():
            count["boots_missed"] = count.get("boots_missed", 0) + 1
        self.guest.run("umount /mnt; systemctl stop udisks2")
        self.state["lossy"] = True
        return count["switches"] - before

    def close(self):
        self.guest.close()
        self.vm.guests.remove(self.guest)
        for disk in self.disks:
            disk.close()
            self.vm.disks.remove(disk)
            for media in disk.media:
                os.unlink(media.path)

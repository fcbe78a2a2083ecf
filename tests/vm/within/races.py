# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: mount, fsck, mkfs, swapon and writers, at the same time as a switch.

Partition 1 has an ext4, partition 2 verified data, partition 3 is swap. Whatever somebody does to a disk that was not
taken away in the end has to succeed, and nobody's disk is taken away while he uses it. Of a disk that is on its way from
one driver to the other there is no device, and whoever comes then is told just that: never that somebody else has it, and
never of an error of a disk that he had got hold of.
"""

import json
import os
import random
import re
import subprocess
import sys
import time

import blocks
import disks
import kills

MNT = "/run/vm-mnt"
FILE = MNT + "/file"
FILE_BLOCKS = 16
FILE_DISK = 99  # the LUN in its blocks, which is none

# Output of commands, in C: the disk is claimed; an I/O error after the open; there is no such device.
CLAIMED = r"busy|in use|already mounted|exclusive"
BROKEN = r"Input/output error|I/O error|can't read superblock|read swap header failed|[Ss]hort (read|write)|Error (read|writ)|trouble writ"
AWAY = r"does not exist|No such file or directory|No such device|not a (valid )?block device"


def kind_of(told, there):
    """The kind of this output of a command. THERE: whether the device existed at that time."""
    if told.startswith(("PULLED", "LOST")):
        return told.partition(" ")[0].lower()
    for kind, pattern in (("claimed", CLAIMED), ("broken", BROKEN), ("away", AWAY)):
        if re.search(pattern, told):
            return kind
    return "unclear" if there else "away"


class Races:
    def __init__(self, config):
        self.interface = config["interface"]
        self.area = config["blocks"]
        self.ledger = blocks.Ledger(self.area)
        self.number = 0
        self.random = random.Random(config["seed"])
        self.claimed = config.get("claimed", 0)  # so many times a program may find the disk claimed as it goes
        self.wrong = []
        self.count = {}
        self.took = {}
        self.file = None  # the generation of the file on partition 1
        self.name = kills.names_of(self.interface)[0]
        os.makedirs(MNT, exist_ok=True)

    def node(self, part):
        """Always by this name, even while it does not exist."""
        return "/dev/%s%d" % (self.name, part)

    def tell(self, what, kind):
        """Counts it: "good", "away", or a forbidden result."""
        count = self.count.setdefault(what, {"good": 0, "away": 0})
        count[kind] = count.get(kind, 0) + 1

    def judge(self, action, told):
        """Counts the result of ACTION. Returns its output if that is forbidden, else None."""
        if not told:
            self.tell(action, "good")
            return None
        kind = kind_of(told, self.there)
        if kind != "away":
            kind += " at " + self.step
        self.tell(action, kind)
        return None if kind == "away" else "%s: %s" % (kind, told)

    def act(self, action):
        told = getattr(self, action)()
        # First of all, and without an open, which would be one more of those in between.
        self.there = os.path.exists("/sys/class/block/" + self.name)
        found = re.search("^STEP=(.*)", disks.read("/run/uasd/switch/" + self.interface) or "", re.M)
        self.step = found[1] if found else "rest"
        return told

    def timed(self, *words):
        """The one command of an action that opens the disk, and its duration."""
        start = time.monotonic()
        rc, text = disks.sh(*words)
        self.seconds = time.monotonic() - start
        return rc, text

    # -- actions: None on success, else the output; they leave the disk as it was --------------

    def mount(self):
        rc, text = self.timed("mount", self.node(1), MNT)
        if rc:
            return text
        # It is in use now, and stays.
        wrong = self.file_is_wrong()
        try:
            self.number += 1
            with open(FILE, "wb") as file:
                self.file = None
                file.write(b"".join(blocks.make(FILE_DISK, address, self.number) for address in range(FILE_BLOCKS)))
                file.flush()
                os.fsync(file.fileno())
            self.file = self.number
            time.sleep(0.3)
            os.listdir(MNT)
            if not os.path.exists(os.path.realpath("/sys/class/block/" + os.path.basename(self.mounted_from()))):
                wrong = "PULLED from under a mount"
        except OSError as error:
            wrong = "PULLED from under a mount: %s" % error
        rc, text = disks.sh("umount", MNT)
        return wrong or ("PULLED from under a mount: " + text if rc else None)

    def file_is_wrong(self):
        """The error in the file of the last mount, read from a disk without cached data of it; or None."""
        if self.file is None:
            return None
        try:
            with open(FILE, "rb") as file:
                data = file.read()
        except OSError as error:
            return "LOST, the file under the mount: %s" % error
        for address in range(FILE_BLOCKS):
            shown = blocks.generation(data[address * blocks.BLOCK:][:blocks.BLOCK] or bytes(blocks.BLOCK), FILE_DISK, address)
            if shown != self.file:
                return "LOST, the file under the mount: generation %d was synced, there is %s" % (self.file, shown)
        return None

    def look_inside(self, what):
        """Partition 1 is valid, and has the file that was written under the mount."""
        rc, text = disks.sh("e2fsck", "-fn", self.node(1))
        if rc:
            self.wrong.append("%s: the file system is not sound: %s" % (what, text))
        if self.file is None:
            return
        rc, text = disks.sh("mount", "-o", "ro,noload", self.node(1), MNT)
        bad = "it cannot be mounted: " + text if rc else self.file_is_wrong()
        if not rc:
            disks.sh("umount", MNT)
        if bad:
            self.wrong.append("%s: %s" % (what, bad))

    def mounted_from(self):
        with open("/proc/mounts") as file:
            return next(line.split()[0] for line in file if line.split()[1] == MNT)

    def fsck(self):
        rc, text = self.timed("e2fsck", "-p", "-f", self.node(1))
        return None if rc in (0, 1) else text

    def mkfs(self):
        rc, text = self.timed("mkfs.ext4", "-q", "-m", "0", self.node(1))
        if not rc:
            self.file = None
        return text if rc else None

    def swapon(self):
        rc, text = self.timed("swapon", self.node(3))
        if rc:
            return text
        time.sleep(0.3)
        rc, text = disks.sh("swapoff", self.node(3))
        return "PULLED from under swap: " + text if rc else None

    def write(self):
        """Written, closed, not synced: uasd must sync it."""
        self.number += 1
        first, count = self.random.randrange(self.area - 8), self.random.randrange(1, 8)
        before = self.ledger.newest[first:first + count]
        try:
            blocks.write(self.node(2), 0, first, count, self.number)
            self.ledger.wrote(first, count, self.number)
        except OSError as error:
            # Some of it may be on the disk.
            self.ledger.wrote(first, count, self.number)
            for address, old in zip(range(first, first + count), before):
                self.ledger.durable[address] = min(self.ledger.durable[address], old)
            self.unsure = True
            return str(error)
        return None

    def keeps_open(self):
        """A writer that stays while another program opens the disk."""
        try:
            fd = os.open(self.node(2), os.O_RDWR)
        except OSError as error:
            return str(error)
        try:
            self.number += 1
            first = self.random.randrange(self.area - 1)
            os.pwrite(fd, blocks.make(0, first, self.number), first * blocks.BLOCK)
            self.ledger.wrote(first, 1, self.number)
            time.sleep(0.3)
            os.fsync(fd)
        except OSError as error:
            return "PULLED from under an open: %s" % error
        finally:
            os.close(fd)
        return None

    # -- a switch meanwhile ----------------------------------------------------------

    def after(self, what, told, bad, before, target):
        """Judges the result. TOLD: the output; BAD: the same if it is forbidden."""
        now, _names = disks.on_a_driver(self.interface, 1)
        moved = now == target
        if bad and bad.startswith("claimed at delete") and moved and self.claimed > 0:
            self.claimed -= 1
        elif bad:
            self.wrong.append("%s failed: %s" % (what, bad))
        elif told and not moved:
            self.wrong.append("%s failed, and the disk did not even go: %s" % (what, told))
        disks.sh("uasctl", "wait", kills.names_of(self.interface)[0], timeout=200)
        disks.settle()
        node = self.node(2)
        disks.until(lambda: os.path.exists(node), 20, node)
        lost = self.ledger.check(0, blocks.read(node, self.area), self.unsure)
        self.unsure = False
        self.wrong += ["%s: %s" % (what, one) for one in lost[:4]]
        if what.split()[0] in ("mount", "fsck", "mkfs"):
            self.look_inside(what)
        disks.settle()
        print("%-40s %s to %s: %s%s" % (what, before, target, "moved" if moved else "deferred at first",
                                        "; told: " + told.replace("\n", " ")[:200] if told else ""), flush=True)

    def request(self, target):
        return subprocess.Popen(["uasctl", "switch", kills.names_of(self.interface)[0], target, "--wait=60"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    unsure = False

    # -- at any moment of a switch -----------------------------------------------------

    def measure(self):
        """The duration of a switch in each direction."""
        self.span = {}
        for _way in range(2):
            before = disks.driver(self.interface)
            self.write()
            disks.settle()
            start = time.monotonic()
            self.request(disks.other(before)).wait()
            self.span[before] = time.monotonic() - start
            disks.settle()
        print("a switch takes " + ", ".join("%.1f s from %s" % (span, one) for one, span in self.span.items()), flush=True)

    def at_rest(self, action):
        """The duration of ACTION without a switch, on either driver."""
        seconds = []
        for _way in range(2):
            self.request(disks.other(disks.driver(self.interface))).wait()
            disks.settle()
            for _time in range(3):
                told = self.act(action)
                assert not told, "%s at rest: %s" % (action, told)
                seconds.append(self.seconds)
                disks.settle()
        return seconds

    def at_any_moment(self, action, rounds):
        """ACTION during ROUNDS switches, each a little later than in the one before in the same direction."""
        took = {"at rest": self.at_rest(action), "well": [], "on its way": [], "afterwards": []}
        start = time.monotonic()
        for number in range(rounds):
            before = disks.driver(self.interface)
            target = disks.other(before)
            told = self.write()
            assert not told, "a writer at rest: %s" % told
            disks.settle()
            asked = self.request(target)
            after = (number // 2 + self.random.random()) / (rounds // 2) * self.span[before]
            time.sleep(after)
            over = asked.poll() is not None
            told = self.act(action)
            took["on its way" if told else "afterwards" if over else "well"].append(self.seconds)
            asked.wait(120)
            what = "%s after %.2f s" % (action, after)
            bad = self.judge(action, told)
            self.after(what, told, bad, before, target)
        self.count[action]["seconds"] = round((time.monotonic() - start) / rounds, 1)
        self.took[action] = took

    def standing(self, action, step, nth):
        """ACTION while a switch stands still before STEP."""
        import steps
        before = disks.driver(self.interface)
        target = disks.other(before)
        disks.put(kills.PLAN + ".stop", "%d %s" % (nth, steps.STOP))
        asked = self.request(target)
        pid = disks.until(steps.stopped, 60, "stopped before " + step)
        told = self.act(action)
        os.kill(pid, 18)
        rc = asked.wait(120)
        what = "%s before %s" % (action, step)
        self.judge(action, told)
        if rc:
            self.wrong.append("%s: the switch that waited for it ended with %d" % (what, rc))
        self.after(what, told, told, before, target)  # the disk is still there: no action fails


def main():
    import steps
    with open(sys.argv[1]) as file:
        config = json.load(file)
    races = Races(config)
    if "standing" in config:
        kills.wrap()
    disks.put("/sys/module/usb_storage/parameters/delay_use", "0")
    disks.until(lambda: disks.state(races.interface) in ("settled", "trial"), 60, "settled")
    disks.sh("mkswap", races.node(3))
    disks.settle()
    races.request(disks.other(disks.driver(races.interface))).wait()
    disks.settle()
    if "standing" in config:
        world = kills.Kills(dict(config, luns=1, part="2", quirks=disks.quirks()))
        plan = {}
        for _way in range(2):
            before = disks.driver(races.interface)
            plan[before] = steps.learn(world, None)
        for action, step in config["standing"]:
            races.standing(action, step, plan[disks.driver(races.interface)][step])
    else:
        races.measure()
        for action in config["actions"]:
            races.at_any_moment(action, config["rounds"])
    with open(sys.argv[2], "w") as file:
        json.dump({"count": races.count, "wrong": races.wrong, "took": races.took}, file)


if __name__ == "__main__":
    main()

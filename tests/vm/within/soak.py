# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: one switch after the other, each with something that befalls it, and all blocks verified after it."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import blocks
import disks
import kills

# What befalls a switch, and how often.
EVENTS = (("nothing", 8), ("dirtied", 8), ("mount", 4), ("open", 3), ("swap", 1), ("kill_switch", 5), ("kill_daemon", 3),
          ("kill_both", 3), ("unplug", 3), ("fault", 2), ("cut", 1))
MNT = "/run/vm-mnt"


class Soak:
    def __init__(self, config):
        self.config = config
        self.random = random.Random(config["seed"])
        self.disks = config["disks"]
        for disk in self.disks:
            disk["books"] = [blocks.Ledger(config["blocks"], *two) for two in disk["ledgers"]]
        self.number = config["number"]
        self.count = config["count"]
        self.asked = 0
        self.wrong = config["wrong"]
        os.makedirs(MNT, exist_ok=True)

    def add(self, key, more=1):
        self.count[key] = self.count.get(key, 0) + more

    def state(self):
        plain = [{"interface": disk["interface"], "luns": disk["luns"],
                  "ledgers": [[book.newest, book.durable] for book in disk["books"]]} for disk in self.disks]
        return {"disks": plain, "number": self.number, "count": self.count, "wrong": self.wrong}

    # -- what the host does --------------------------------------------------------

    def console(self, text):
        with open("/dev/ttyS0", "w") as file:
            file.write("\r\n" + text + "\r\n")

    def ask(self, what, disk=0, after=0, wait=True):
        number = int(time.time() * 1000) % 100000000
        self.console("##soak %d %s %d %d" % (number, what, disk, after))
        if wait:
            disks.until(lambda: os.path.exists("/run/vm/done/%d" % number), 120, "the host: " + what)

    # -- data -------------------------------------------------------------------------

    def node(self, disk, lun, part):
        return "/dev/%s%d" % (disks.names(disk["interface"])[lun], part)

    def dirty(self, disk):
        self.number += 1
        for lun, book in enumerate(disk["books"]):
            first = self.random.randrange(len(book.newest) - 16)
            count = self.random.randrange(1, 16)
            sync = self.random.random() < 0.3
            blocks.write(self.node(disk, lun, 2), lun, first, count, self.number, sync)
            book.wrote(first, count, self.number)
            if sync:
                book.synced()

    def verify(self, disk, lossy):
        """All blocks of all LUNs; what is wrong is counted and told."""
        for lun, book in enumerate(disk["books"]):
            node = self.node(disk, lun, 2)
            disks.until(lambda: os.path.exists(node), 30, node)
            for one in book.check(lun, blocks.read(node, len(book.newest)), lossy):
                self.add("lost", blocks.BLOCK)
                self.tell(one)

    def tell(self, text):
        self.wrong.append(text)
        print("WRONG " + text, flush=True)

    # -- one switch ----------------------------------------------------------------------

    def switch(self):
        which = self.random.randrange(len(self.disks))
        disk = self.disks[which]
        interface = disk["interface"]
        event = self.random.choices([one for one, _often in EVENTS], [often for _one, often in EVENTS])[0]
        before = disks.driver(interface)
        target = kills.other(before)
        self.lossy = False
        start = time.monotonic()
        if self.random.random() < 0.7 or event == "dirtied":
            self.dirty(disk)
        getattr(self, event)(which, disk, target)
        self.settle(disk, event)
        now = disks.driver(interface)
        self.add("switches")
        self.add("moved" if now == target else "back")
        print("%4d %s %-12s %s to %s: %s, %.1f s" % (self.count["switches"], interface, event, before, target,
                                                   "moved" if now == target else "stayed", time.monotonic() - start), flush=True)

    def request(self, disk, target, wait=60):
        """The exit code of a request."""
        rc, text = disks.sh("uasctl", "switch", disks.names(disk["interface"])[0], target, "--wait=%d" % wait, timeout=200)
        if rc == 3:
            self.add("waits")
        elif rc == 7:
            self.add("rollbacks")
        elif rc:
            self.add("refused")
        return rc

    def begin(self, disk, target):
        return subprocess.Popen(["uasctl", "switch", disks.names(disk["interface"])[0], target, "--wait=60"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def settle(self, disk, what):
        """All at rest, then all that has to be true."""
        interface = disk["interface"]
        try:
            _now, found = disks.on_a_driver(interface, disk["luns"], 120)
        except AssertionError as error:
            self.add("driverless")
            self.tell("%s: %s" % (what, error))
            raise
        disks.sh("uasctl", "wait", found[0], timeout=300)
        _now, found = disks.on_a_driver(interface, disk["luns"], 120)
        disks.settle()
        self.verify(disk, self.lossy)
        try:
            disks.until(lambda: not disks.left_behind(interface, found), 40, "")
        except AssertionError:
            self.add("left_behind")
            self.tell("%s: %s" % (what, disks.left_behind(interface, found)))
        if disks.quirks() != self.foreign:
            self.add("quirks")
            self.tell("%s: quirks %r" % (what, disks.quirks()))
            disks.quirks(self.foreign)

    # -- what befalls it ---------------------------------------------------------------------

    def nothing(self, which, disk, target):
        self.request(disk, target)

    dirtied = nothing

    def mount(self, which, disk, target):
        """In use: it waits, is not pulled, and goes afterwards."""
        lun = self.random.randrange(disk["luns"])
        if disks.sh("mount", self.node(disk, lun, 1), MNT)[0]:
            return self.request(disk, target)
        self.request(disk, target, 1)
        self.used(lambda: self.in_file_system(self.node(disk, lun, 1)))
        disks.sh("umount", MNT)

    def in_file_system(self, _node):
        with open(MNT + "/file", "w") as file:
            file.write("%d" % self.number)
            file.flush()
            os.fsync(file.fileno())

    def used(self, action):
        try:
            action()
        except OSError as error:
            self.add("pulled")
            self.tell("pulled: %s" % error)

    def open(self, which, disk, target):
        lun = self.random.randrange(disk["luns"])
        fd = os.open(self.node(disk, lun, 2), os.O_RDWR)
        try:
            self.request(disk, target, 1)

            def work():
                self.number += 1
                os.pwrite(fd, blocks.make(lun, 0, self.number), 0)
                disk["books"][lun].wrote(0, 1, self.number)
                os.fsync(fd)
            self.used(work)
        finally:
            os.close(fd)

    def swap(self, which, disk, target):
        node = self.node(disk, 0, 3)
        disks.sh("mkswap", node)
        if disks.sh("swapon", node)[0]:
            return self.request(disk, target)
        self.request(disk, target, 1)
        self.used(lambda: None if disks.sh("swapoff", node)[0] == 0 else self.add("pulled"))

    def killing(self, disk, target, whom):
        asked = self.begin(disk, target)
        time.sleep(self.random.uniform(0, 3))
        for name in whom:
            for entry in os.listdir("/proc"):
                if entry.isdigit() and disks.read("/proc/%s/comm" % entry) == name:
                    try:
                        os.kill(int(entry), signal.SIGKILL)
                        self.add("kills")
                    except ProcessLookupError:
                        pass
        asked.wait(200)
        disks.until(lambda: disks.sh("uasctl", "status")[0] == 0, 60, "uasd is there")

    def kill_switch(self, which, disk, target):
        self.killing(disk, target, ["uasd-switch"])

    def kill_daemon(self, which, disk, target):
        self.killing(disk, target, ["uasd"])

    def kill_both(self, which, disk, target):
        self.killing(disk, target, ["uasd", "uasd-switch"])

    def unplug(self, which, disk, target):
        """What nobody synced is the puller's loss; what was synced stays."""
        asked = self.begin(disk, target)
        self.ask("unplug", which, self.random.randrange(3000))
        self.add("unplugs")
        asked.wait(200)
        disks.until(lambda: not os.path.exists("/sys/bus/usb/devices/" + disk["interface"]), 60, "unplugged")
        self.lossy = True
        self.ask("plug", which)

    def fault(self, which, disk, target):
        """UAS turns out to be broken: rolled back, or not tried."""
        self.ask(self.random.choice(("stall", "hang")), which)
        self.request(disk, target, 120)
        self.ask("well", which)

    def cut(self, which, disk, target):
        """The power goes; nothing comes after this."""
        self.add("switches")
        self.console("##state " + json.dumps(self.state()))
        self.begin(disk, target)
        self.ask("cut", which, self.random.randrange(4000), wait=False)
        time.sleep(600)

    def run(self):
        self.foreign = "aaaa:bbbb:c,dead:beef:m"
        disks.quirks(self.foreign)
        folder = "/run/systemd/system/uasd.service.d"
        os.makedirs(folder, exist_ok=True)
        kills.put(folder + "/vm.conf", "[Unit]\nStartLimitIntervalSec=0")
        disks.sh("systemctl", "daemon-reload")
        end = time.monotonic() + self.config["seconds"]
        for disk in self.disks:
            self.lossy = bool(self.config.get("lossy"))
            self.settle(disk, "at first")
        goal = self.count.get("switches", 0) + self.config["switches"]
        while self.count.get("switches", 0) < goal and time.monotonic() < end:
            self.switch()
        rc, journal = disks.sh("journalctl", "-b", "-u", "uasd", "--no-pager", "-o", "cat")
        self.add("recoveries", journal.count("was left at step"))


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    soak = Soak(config)
    try:
        soak.run()
    except AssertionError as error:
        soak.tell(str(error))
        soak.add("stopped")
    with open(sys.argv[2], "w") as file:
        json.dump(soak.state(), file)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: switches in sequence, each with an incident, and a check of all blocks after it."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import blocks
import disks
import sg

# The incidents of a switch, with their weights.
EVENTS = (("nothing", 8), ("dirtied", 8), ("mount", 4), ("open", 3), ("sg", 1), ("loop", 1), ("mapped", 1), ("swap", 1),
          ("kill_switch", 5), ("kill_daemon", 3), ("kill_both", 3), ("unplug", 3), ("fault", 2), ("cut", 1))
HERE = "/run/vm"
MNT = "/run/vm-mnt"
FILE, FILE_BLOCKS = MNT + "/file", 16
HISTORY = "/var/lib/uasd/history"


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
        self.said = ""
        self.bag = []
        self.wrong = config["wrong"]
        os.makedirs(MNT, exist_ok=True)

    def add(self, key, more=1):
        self.count[key] = self.count.get(key, 0) + more

    def state(self):
        plain = [{"interface": disk["interface"], "luns": disk["luns"], "first": disk["first"],
                  "ledgers": [[book.newest, book.durable] for book in disk["books"]]} for disk in self.disks]
        return {"disks": plain, "number": self.number, "count": self.count, "wrong": self.wrong}

    # -- what the host does --------------------------------------------------------

    def ask(self, what, disk=0, after=0):
        self.asked += 1
        disks.put(HERE + "/asked.new", "%d %s %d %d" % (self.asked, what, disk, after))
        os.rename(HERE + "/asked.new", HERE + "/asked")
        disks.until(lambda: disks.read(HERE + "/done") == str(self.asked), 120, "the host: " + what)

    # -- data -------------------------------------------------------------------------

    def node(self, disk, lun, part):
        return "/dev/%s%d" % (disks.names(disk["interface"])[lun], part)

    def dirty(self, disk):
        self.number += 1
        for lun, book in enumerate(disk["books"]):
            first = self.random.randrange(len(book.newest) - 16)
            count = self.random.randrange(1, 16)
            sync = self.random.random() < 0.3
            blocks.write(self.node(disk, lun, 2), disk["first"] + lun, first, count, self.number, sync)
            book.wrote(first, count, self.number)
            if sync:
                book.synced()

    def sync(self, disk):
        """All written data is on the medium, not only in the cache of the disk."""
        for lun, book in enumerate(disk["books"]):
            fd = os.open(self.node(disk, lun, 2), os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
            book.synced()

    def verify(self, disk, lossy):
        """Checks all blocks of all LUNs. Counts and prints errors. LOSSY: unsynced data may be lost."""
        for lun, book in enumerate(disk["books"]):
            node = self.node(disk, lun, 2)
            disks.until(lambda: os.path.exists(node), 30, node)
            for one in book.check(disk["first"] + lun, blocks.read(node, len(book.newest)), lossy):
                self.add("lost", blocks.BLOCK)
                self.tell(one)
        if lossy:
            self.sync(disk)

    def tell(self, text):
        self.wrong.append(text)
        print("WRONG " + text, flush=True)

    # -- one switch ----------------------------------------------------------------------

    def switch(self):
        which = self.random.randrange(len(self.disks))
        disk = self.disks[which]
        event = self.event()
        both = [disk] + [one for one in self.disks if one is not disk and self.random.random() < 0.8]
        for one in both:
            self.forget(one)
            one["before"], one["lossy"] = disks.driver(one["interface"]), False
            if self.random.random() < 0.7 or event == "dirtied":
                self.dirty(one)
        start = time.monotonic()
        # Another disk is switched at the same time, without an incident.
        also = [self.begin(one, disks.other(one["before"])) for one in both[1:]]
        target = disks.other(disk["before"])
        getattr(self, event)(which, disk, target)
        for asked in also:
            asked.wait(200)
            self.add("at_once")
        for one in both:
            self.settle(one, event)
            self.add("switches")
            now = disks.driver(one["interface"])
            moved = now != one["before"]
            self.add("moved" if moved else "back")
            if moved and not one["lossy"]:
                for book in one["books"]:
                    book.synced()  # uasd has synced it
            print("%4d %s %-12s %s: %s, %.1f s" % (self.count["switches"], one["interface"], event if one is disk else "at once",
                  one["before"], "moved" if moved else "stayed", time.monotonic() - start), flush=True)

    def event(self):
        """Each incident comes with its weight, in random order."""
        if not self.bag:
            self.bag = [one for one, often in EVENTS for _ in range(often)]
            if self.config.get("once"):
                self.bag = [one for one, _often in EVENTS if one in self.config["once"]]
            self.random.shuffle(self.bag)
        return self.bag.pop()

    def forget(self, disk):
        """Otherwise a disk that failed would stay where it is for good."""
        if "state=distrusted" in (disks.read(HISTORY) or "") and \
                disks.listed(disk["interface"]).get("reason_id") == "distrusted":
            disks.sh("uasctl", "forget", disk["interface"])
            disks.sh("uasctl", "wait", disk["interface"], timeout=300)
            self.settle(disk, "forgotten")

    def request(self, disk, target, wait=60):
        """The exit code of a request. Its output is kept for reports."""
        rc, self.said = disks.sh("uasctl", "switch", disk["interface"], target, "--wait=%d" % wait, timeout=200)
        if rc == 3:
            self.add("waits")
        elif rc == 7:
            self.add("rollbacks")
        elif rc:
            self.add("refused")
        return rc

    def begin(self, disk, target):
        return subprocess.Popen(["uasctl", "switch", disk["interface"], target, "--wait=60"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def settle(self, disk, what):
        """Waits until the disk is at rest, and checks everything that must be true."""
        interface = disk["interface"]
        try:
            disks.on_a_driver(interface, disk["luns"], 120)
            rc, text = disks.sh("uasctl", "wait", interface, timeout=300)
            assert rc == 0, "uasctl wait: exit code %d: %s" % (rc, text)
            _now, found = disks.on_a_driver(interface, disk["luns"], 120)
        except AssertionError as error:
            self.add("driverless")
            raise AssertionError("%s: %s" % (what, error)) from None
        self.verify(disk, disk["lossy"])
        try:
            disks.until(lambda: not disks.left_behind(interface, found), 40, "")
        except AssertionError:
            self.add("left_behind")
            self.tell("%s: %s" % (what, disks.left_behind(interface, found)))
        # Exactly the own entries that keep a distrusted disk off uas.
        try:
            disks.until(lambda: not disks.wrong_quirks(self.foreign), 40, "quirks in order", 0.3)
        except AssertionError:
            self.add("quirks")
            self.tell("%s: %s" % (what, disks.wrong_quirks(self.foreign)))
            disks.quirks(self.foreign)

    # -- incidents ---------------------------------------------------------------------

    def nothing(self, which, disk, target):
        self.request(disk, target)

    dirtied = nothing

    def used(self, disk, target, action):
        """A switch is requested while a process uses the disk: the disk stays where it is, and ACTION works."""
        rc = self.request(disk, target, 1)
        try:
            action()
        except (OSError, subprocess.CalledProcessError) as error:
            self.add("pulled")
            self.tell("pulled: %s" % error)
        if rc != 3 or disks.driver(disk["interface"]) != disk["before"]:
            self.add("pulled")
            self.tell("not waited for: exit code %d, on %s: %s" % (rc, disks.driver(disk["interface"]), self.said))

    def mount(self, which, disk, target):
        """A file system is in use, and its synced file is read back after that, under the other driver if it is switched."""
        lun = self.random.randrange(disk["luns"])
        must("mount", self.node(disk, lun, 1), MNT)
        self.number += 1
        data = b"".join(blocks.make(disk["first"] + lun, address, self.number) for address in range(FILE_BLOCKS))

        def work():
            with open(FILE, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        try:
            self.used(disk, target, work)
        finally:
            must("umount", MNT)
        # After the wait it is switched. In any case the file is in no cache.
        try:
            disks.until(lambda: disks.driver(disk["interface"]) == target, 60, "it goes", 0.2)
        except AssertionError:
            pass  # not switched is not lost
        self.settle(disk, "unmounted")
        must("mount", "-o", "ro", self.node(disk, lun, 1), MNT)
        try:
            with open(FILE, "rb") as file:
                if file.read() != data:
                    self.add("lost", len(data))
                    self.tell("the file that was synced under a mount is another one on %s" % disks.driver(disk["interface"]))
        finally:
            must("umount", MNT)
        disks.settle()

    def open(self, which, disk, target):
        lun = self.random.randrange(disk["luns"])
        fd = os.open(self.node(disk, lun, 2), os.O_RDWR)

        def work():
            self.number += 1
            os.pwrite(fd, blocks.make(disk["first"] + lun, 0, self.number), 0)
            disk["books"][lun].wrote(0, 1, self.number)
            os.fsync(fd)
        try:
            self.used(disk, target, work)
        finally:
            os.close(fd)

    def sg(self, which, disk, target):
        """By the SCSI node, past the block layer: a command is answered as long as it is open."""
        [name] = os.listdir("/sys/class/block/%s/device/scsi_generic" % disks.names(disk["interface"])[0])
        fd = os.open("/dev/" + name, os.O_RDWR)
        try:
            self.used(disk, target, lambda: sg.test_unit_ready(fd))
        finally:
            os.close(fd)

    def loop(self, which, disk, target):
        """A loop device over the partition of the file system, and a read of the file system through it."""
        done = subprocess.run(["losetup", "--show", "-f", self.node(disk, 0, 1)], stdout=subprocess.PIPE, check=True)
        loop = done.stdout.decode().strip()
        try:
            self.used(disk, target, lambda: must("e2fsck", "-fn", loop))
        finally:
            must("losetup", "-d", loop)

    def mapped(self, which, disk, target):
        """A write through a device of the device mapper, which maps verified data."""
        node = self.node(disk, 0, 2)
        book = disk["books"][0]
        must("dmsetup", "create", "vm", "--table", "0 %d linear %s 0" % (len(book.newest) * blocks.BLOCK // 512, node))
        disks.settle()

        def work():
            self.number += 1
            blocks.write("/dev/mapper/vm", disk["first"], 3, 5, self.number, True)
            book.wrote(3, 5, self.number)
        try:
            self.used(disk, target, work)
            disks.settle()  # udev looks at a disk after a write
        finally:
            must("dmsetup", "remove", "--retry", "vm")

    def swap(self, which, disk, target):
        node = self.node(disk, 0, 3)
        must("mkswap", node)
        disks.settle()
        must("swapon", node)
        self.used(disk, target, lambda: must("swapoff", node))

    def killing(self, disk, target, whom):
        asked = self.begin(disk, target)
        time.sleep(self.random.uniform(0.2, 3))
        before = daemon()
        for name in whom:
            for entry in os.listdir("/proc"):
                if entry.isdigit() and disks.read("/proc/%s/comm" % entry) == name:
                    try:
                        os.kill(int(entry), signal.SIGKILL)
                        self.add("kills")
                    except ProcessLookupError:
                        pass
        asked.wait(200)
        # uasctl answers without it, too. But only a uasd that has read all disks knows the pending work. PID 1 starts nothing
        # before it has processed the events of the disks: 42 s were seen, for ten of them on a busy machine.
        disks.settle()
        disks.until(lambda: daemon() and ("uasd" not in whom or daemon() != before), 150, "uasd is there", 0.3)

    def kill_switch(self, which, disk, target):
        self.killing(disk, target, ["uasd-switch"])

    def kill_daemon(self, which, disk, target):
        self.killing(disk, target, ["uasd"])

    def kill_both(self, which, disk, target):
        self.killing(disk, target, ["uasd", "uasd-switch"])

    def unplug(self, which, disk, target):
        """Unsynced data is lost through the user's unplug. Synced data stays."""
        asked = self.begin(disk, target)
        self.ask("unplug", which, self.random.randrange(2500))
        self.add("unplugs")
        asked.wait(200)
        disks.until(lambda: not os.path.exists("/sys/bus/usb/devices/" + disk["interface"]), 60, "unplugged")
        disk["lossy"] = True
        self.ask("plug", which)

    def fault(self, which, disk, target):
        """UAS fails: rolled back, or not tried."""
        self.sync(disk)
        # A hang on the way off uas takes the kernel's time-outs, one after the other: rollback.hangs and halfway have that.
        self.ask(self.random.choice(("stall", "hang")) if target == "uas" else "stall", which)
        self.request(disk, target, 120)
        self.ask("well", which)

    def cut(self, which, disk, target):
        """The power fails. Nothing comes after this."""
        self.add("switches")
        self.recoveries()
        with open(HERE + "/state.json", "w") as file:
            json.dump(self.state(), file)
        self.begin(disk, target)
        self.ask("cut", which, self.random.randrange(3500))

    def recoveries(self):
        """The number since this boot."""
        journal = disks.sh("journalctl", "-b", "-t", "uasd-switch", "--no-pager", "-o", "cat")[1]
        self.add("recoveries", journal.count("was left at step"))

    def run(self):
        # Our own entries exist only during a bind. At first, and after a power cut, there are none.
        self.foreign = ""
        for disk in self.disks:
            disk["lossy"] = bool(self.config.get("lossy"))
            self.settle(disk, "at first")
        self.foreign = "aaaa:bbbb:c,dead:beef:m"
        disks.quirks(self.foreign)
        end = time.monotonic() + self.config["seconds"]
        goal = self.count.get("switches", 0) + self.config["switches"]
        while self.count.get("switches", 0) < goal and time.monotonic() < end:
            self.switch()
        self.recoveries()


def daemon():
    """The PID of the uasd that reports it is ready, or None."""
    shown = disks.sh("systemctl", "show", "-P", "ActiveState", "-P", "MainPID", "uasd")[1].split()
    return shown[1 - shown.index("active")] if "active" in shown else None


def must(*words):
    done = disks.sh(*words)
    assert done[0] == 0, "%s: %s" % (" ".join(words), done[1])


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    soak = Soak(config)
    folder = "/run/systemd/system/uasd.service.d"
    os.makedirs(folder, exist_ok=True)
    disks.put(folder + "/vm.conf", "[Unit]\nStartLimitIntervalSec=0")  # the test itself kills every few seconds
    disks.sh("systemctl", "daemon-reload")
    try:
        soak.run()
    except AssertionError as error:
        soak.tell(str(error))
        soak.add("stopped")
    with open(sys.argv[2], "w") as file:
        json.dump(soak.state(), file)


if __name__ == "__main__":
    main()

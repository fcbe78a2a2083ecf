# SPDX-License-Identifier: LGPL-2.1-or-later
"""In the guest: uasd-switch, uasd or both are killed at each system call in turn, and the disk is checked after each.

strace stands between the daemon and its child and sends the SIGKILL as the call begins, so the product has no
door for it. A kill leaves what was done before it, and of all calls only those that do something beyond the process
itself make that differ; calls.DOES are all of those. The others are `rest`.
"""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import blocks
import disks
from calls import DOES
from disks import other, put

# After so many rounds with something wrong a run ends: what remains is found again in each of them, after a long wait.
ENOUGH = 3
REAL = disks.SWITCH + ".vm"  # a name of at most 15 characters, or ps cuts it
PLAN, KILLED = "/run/vm-kill", "/run/vm-killed"

# In the place of uasd-switch: kills it at the planned call, and writes another entry to the quirks before the recovery.
WRAPPER = r"""#!/bin/sh
plan=%(plan)s
case " $* " in *" --recover "*) plan=$plan.recover;; esac
[ ! -e $plan.trace ] || exec strace -qq -o $plan.trace %(real)s "$@"
if [ -e $plan.stop ]; then
    read nth how <$plan.stop; rm $plan.stop
    out=$(readlink /proc/$$/fd/1) # what it tells uasd, and nothing else that it writes
    exec strace -qq -o /dev/null -e trace=write -P "$out" -e inject=write:$how:when=$nth %(real)s "$@"
fi
if [ -e $plan.bind ]; then
    read driver <$plan.bind; rm $plan.bind
    strace -qq -o /dev/null -P /sys/bus/usb/drivers/$driver/bind -e trace=write -e inject=write:signal=KILL %(real)s "$@"
    cat /run/uasd/quirks.bind %(quirks)s >%(killed)s 2>&1
    kill -KILL $$
fi
[ -e $plan ] || exec %(real)s "$@"
read call nth who <$plan; rm $plan
strace -qq -o /dev/null -e trace=$call -e inject=$call:signal=KILL:when=$nth %(real)s "$@"
rc=$?
[ $rc = 137 ] || exit $rc
now=$(sed 's/,feed:[0-9a-f]*:i//' %(quirks)s)
printf '%%s,feed:%%x:i' "$now" $((nth + 16)) >%(quirks)s
echo $call $nth $(sed -n 's/^STEP=//p' /run/uasd/switch/[0-9]*[0-9] 2>/dev/null) >>%(killed)s
[ "$who" != both ] || kill -KILL $PPID
kill -KILL $$
""" % {"plan": PLAN, "real": REAL, "quirks": disks.QUIRKS, "killed": KILLED}


def wrap():
    if not os.path.exists(REAL):
        os.rename(disks.SWITCH, REAL)
    with open(disks.SWITCH + ".new", "w") as file:
        file.write(WRAPPER)
    os.chmod(disks.SWITCH + ".new", 0o755)
    os.rename(disks.SWITCH + ".new", disks.SWITCH)
    folder = "/run/systemd/system/uasd.service.d"
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/vm.conf", "w") as file:  # the test itself kills every few seconds; strace needs its calls
        file.write("[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=100ms\nSystemCallFilter=\n")
    disks.sh("sync")
    disks.sh("systemctl", "daemon-reload")
    disks.sh("systemctl", "restart", "uasd")


class Kills:
    def __init__(self, config):
        self.interface = config["interface"]
        self.luns = config["luns"]
        self.data = config.get("data", range(self.luns))  # the LUNs that have verified data
        self.part = config["part"]
        self.area = config["blocks"]
        self.ledgers = [blocks.Ledger(self.area) for _ in range(self.luns)]
        self.number = 0
        self.random = random.Random(config["seed"])
        self.count = dict.fromkeys(("rounds", "killed", "records", "moved", "back", "daemon"), 0)
        self.wrong = []
        self.rounds_wrong = 0
        self.foreign = config["quirks"]
        self.fed = 0
        self.lossy = False  # unsynced data may be lost

    # -- one round ---------------------------------------------------------------

    def dirty(self):
        """Writes new data to every LUN, without a sync."""
        self.number += 1
        for lun, name in enumerate(disks.names(self.interface)):
            if lun not in self.data:
                continue
            first = self.random.randrange(self.area - 8)
            count = self.random.randrange(1, 8)
            # After a kill uasd may move the disk once more, as it was asked to, and its nodes go and come meanwhile.
            disks.until(lambda: self.wrote(name, lun, first, count), 30, "write to disk %d" % lun)
        disks.settle()  # udev looks at a disk after a write, and a switch would wait for it

    def wrote(self, name, lun, first, count):
        try:
            blocks.write("/dev/%s%s" % (name, self.part), lun, first, count, self.number)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENXIO):
                raise
            return False
        self.ledgers[lun].wrote(first, count, self.number)
        return True

    def check(self, what):
        """Everything that must be true after any kill."""
        _now, found = disks.on_a_driver(self.interface, self.luns)
        disks.rest(self.interface)
        wrong = []
        for lun, name in enumerate(found):
            if lun not in self.data:
                continue
            node = "/dev/%s%s" % (name, self.part)
            disks.until(lambda: os.path.exists(node), 20, node)
            wrong += self.ledgers[lun].check(lun, blocks.read(node, self.area), self.lossy)
        # A hold without its owner is ended by the next process, at the latest by PID 1.
        try:
            disks.until(lambda: not disks.left_behind(self.interface, found), 30, "nothing left")
        except AssertionError:
            disks.settle()
            wrong += disks.left_behind(self.interface, found)
        # No child of a killed one remains, nor its claim.
        for question, left in (disks.switches, "uasd-switch %s is left"), (lambda: disks.claimed(self.interface), "claimed: %s"):
            try:
                disks.until(lambda: not question(), 20, "nothing left")
            except AssertionError:
                found = question()
                wrong += [left % found] if found else []
        # The required entries may have become known at the end of the switch.
        try:
            disks.until(lambda: not self.wrong_quirks(), 20, "quirks in order", 0.3)
        except AssertionError:
            wrong.append(self.wrong_quirks())
        if len(wrong) > 6:
            wrong[6:] = ["and %d more" % (len(wrong) - 6)]
        for one in wrong:
            print("WRONG %s: %s" % (what, one), flush=True)
        self.wrong += ["%s: %s" % (what, one) for one in wrong]

    def wrong_quirks(self):
        """The entries of others are there, also the one written meanwhile, and exactly the own ones that are required."""
        written = re.findall(",(feed:[0-9a-f]*:i)", disks.quirks() or "")
        if len(written) != self.fed:
            return "quirks %r, %d were written meanwhile" % (disks.quirks(), self.fed)
        return disks.wrong_quirks(",".join([one for one in [self.foreign] if one] + written))

    def untold(self, since, who, before, target, step, again):
        """The kill as the journal should have it: the part that is missing or wrong; "" if none is. STEP: that of the record, or
        None."""
        said = disks.sh("journalctl", "-b", "-u", "uasd", "--since=@%.3f" % since, "--no-pager", "-o", "cat")[1]
        now = disks.driver(self.interface)
        left = re.findall(r"%s: a switch from (\S+) to (\S+) was left at step (\S+)" % re.escape(self.interface), said)
        # The recovery was killed as well, and the next one found the same record or its own.
        if (left[:1] if again else left) != ([(before, target, step)] if step else []):
            return "left at %s, the journal has %s" % (step, left)
        ended = len(re.findall("uasd-switch ended by signal 9|though uasd-switch was killed", said))
        if who == "self" and ended != 1:
            return "its end by a signal is told %d times" % ended
        arrived = ("moved from %s to %s" % (before, target), "moved to %s, though" % target, "interrupted switch was put in order",
                   "not brought back, it is on " + target, "a switch begun earlier has ended; it is on " + target)
        if now == target and not any(word in said for word in arrived):
            return "that it is on %s now is not told" % now
        return ""

    def request(self, target):
        disks.sh("uasctl", "switch", names_of(self.interface)[0], target, "--wait=90")

    def one(self, call, nth, who, again=None):
        """One kill. True if the call was reached."""
        before = disks.driver(self.interface)
        target = other(before)
        self.dirty()
        since = time.time()
        for path in (KILLED, PLAN, PLAN + ".recover"):
            if os.path.exists(path):
                os.unlink(path)
        if again:
            put(PLAN + ".recover", "%s %d self" % again)
        if who == "daemon":
            done = self.daemon(call, nth, target)
        else:
            put(PLAN, "%s %d %s" % (call, nth, who))
            self.request(target)
            done = disks.read(KILLED)
        what = "%s killed at %s %d, %s to %s%s" % (who, call, nth, before, target, ", again at %s %d" % again if again else "")
        if done:
            self.count["killed"] += 1
            self.count["records"] += len(done.split()) > 2
            if who != "daemon":
                self.fed = 1  # it replaces the one before, and stays
        self.count["rounds"] += 1
        known = len(self.wrong)
        try:
            self.check(what)
        except AssertionError as error:
            self.wrong.append("%s: %s" % (what, error))
            print("WRONG %s: %s" % (what, error), flush=True)
            return None
        if done:
            words = done.splitlines()[0].split()
            step = words[2] if who != "daemon" and len(words) > 2 else None
            told = ""
            for _try in range(20):  # the journal may be late by a moment
                told = self.untold(since, who, before, target, step, again)
                if not told:
                    break
                time.sleep(0.5)
            if told:
                self.wrong.append("%s: journal: %s" % (what, told))
                print("WRONG %s: journal: %s" % (what, told), flush=True)
        self.rounds_wrong += len(self.wrong) > known
        now = disks.driver(self.interface)
        self.count["moved" if now == target else "back"] += 1
        print("%-60s %s" % (what, "%s; on %s" % (done or "not reached", now)), flush=True)
        return bool(done)

    def daemon(self, call, nth, target):
        """uasd itself is killed, at a call of its own during a switch."""
        rc, pid = disks.sh("systemctl", "show", "-P", "MainPID", "uasd")
        tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                                   "inject=%s:signal=KILL:when=%d" % (call, nth), "-p", pid],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        disks.until(lambda: "TracerPid:\t0" not in (disks.read("/proc/%s/status" % pid) or ""), 20, "strace has uasd")
        asked = subprocess.Popen(["uasctl", "switch", names_of(self.interface)[0], target, "--wait=60"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked.wait(90)
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGTERM)
        tracer.wait()
        # Its parent may not have waited for it yet.
        killed = " Z " in (disks.read("/proc/%s/stat" % pid) or " Z ")
        if killed:
            self.count["daemon"] += 1
            disks.until(lambda: disks.sh("uasctl", "status")[0] == 0, 30, "uasd is back")
        return "uasd" if killed else None

    # -- many --------------------------------------------------------------------

    def calls(self, pid=None, after=None):
        """Performs one whole switch. Returns {call: number}; `earlier` has those up to the step AFTER."""
        target = other(disks.driver(self.interface))
        path = PLAN + ".trace"
        if pid:
            words = ["strace", "-qq", "-o", path, "-p", pid]
            tracer = subprocess.Popen(words, stdin=subprocess.DEVNULL)
            time.sleep(1)
            self.request(target)
            tracer.send_signal(signal.SIGTERM)
            tracer.wait()
        else:
            put(path, "")
            self.request(target)
        found = {}
        self.earlier = {}
        with open(path, errors="replace") as file:
            for line in file:
                call = re.match(r"(\w+)\(", line)
                if call:
                    found[call[1]] = found.get(call[1], 0) + 1
                if after and line.startswith('write(1, "STEP %s ' % after):
                    self.earlier = dict(found)
        os.unlink(path)
        assert not after or self.earlier, "it never came to " + after
        self.settle()
        return found

    def settle(self):
        disks.on_a_driver(self.interface, self.luns)
        disks.settle()
        disks.rest(self.interface)

    def plan(self, want):
        """The places of the kills, for each direction: (driver it comes from) -> [(call, nth)]."""
        plan = {}
        for _way in range(2):
            before = disks.driver(self.interface)
            pid = disks.sh("systemctl", "show", "-P", "MainPID", "uasd")[1] if want["who"] == "daemon" else None
            calls = self.calls(pid)
            does = [(call, nth) for call in DOES for nth in range(1, calls.get(call, 0) + 1)]
            rest = [(call, nth) for call in sorted(set(calls) - set(DOES)) if call not in ("execve", "exit_group", "restart_syscall")
                    for nth in range(1, calls[call] + 1)]
            print("%s: from %s %d calls that do something, %d others" % (want["who"], before, len(does), len(rest)), flush=True)
            chosen = sample(does, want.get("does"), self.random) + sample(rest, want.get("rest", 0), self.random)
            self.random.shuffle(chosen)
            plan[before] = chosen
        return plan

    def ready(self):
        """On usb-storage, without distrust: a switch to uas begins, which will be rolled back."""
        self.settle()
        disks.sh("uasctl", "forget", self.interface)
        if disks.driver(self.interface) != "usb-storage":
            self.request("usb-storage")
            self.settle()
        disks.until(lambda: disks.driver(self.interface) == "usb-storage", 90, "back on usb-storage")
        disks.rest(self.interface)

    def undone(self, want):
        """Killed at all calls of the rollback, which follows the step AFTER."""
        self.ready()
        calls = self.calls(after=want["after"])
        assert disks.driver(self.interface) == "usb-storage", "it was not taken back"
        does = [(call, nth) for call in DOES for nth in range(self.earlier.get(call, 0) + 1, calls.get(call, 0) + 1)]
        print("%s: %d calls after %s that do something" % (want["who"], len(does), want["after"]), flush=True)
        end = time.monotonic() + want["seconds"]
        for call, nth in sample(does, want.get("does"), self.random):
            if time.monotonic() > end or self.rounds_wrong >= ENOUGH:
                self.count["left"] = self.count.get("left", 0) + 1
                continue
            self.ready()
            if self.one(call, nth, want["who"]) is None:
                return

    def run(self, want):
        if want.get("after"):
            self.undone(want)
            return
        plan = self.plan(want)
        end = time.monotonic() + want["seconds"]
        total = sum(map(len, plan.values()))
        while any(plan.values()) and time.monotonic() < end and self.rounds_wrong < ENOUGH:
            before = disks.driver(self.interface)
            if not plan[before]:
                self.request(other(before))
                self.settle()
                continue
            call, nth = plan[before].pop()
            again = None
            if want.get("again"):
                again = ("write", self.random.randrange(1, 12)) if self.random.random() < 0.6 else ("renameat", 1)
            if self.one(call, nth, want["who"], again) is None:
                return  # the disk is gone: nothing to continue with
        left = sum(map(len, plan.values()))
        if left:
            print("%d of %d not done: no time" % (left, total), flush=True)
        self.count["left"] = self.count.get("left", 0) + left


def sample(all_of_them, how_many, source):
    return list(all_of_them) if how_many is None else source.sample(all_of_them, min(how_many, len(all_of_them)))


def names_of(interface):
    return disks.until(lambda: disks.names(interface), 30, "a disk")


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    kills = Kills(config)
    disks.quirks(kills.foreign)
    wrap()
    put("/sys/module/usb_storage/parameters/delay_use", "0")
    disks.until(lambda: disks.state(kills.interface) in ("settled", "trial"), 60, "settled")
    for want in config["runs"]:
        kills.run(want)
    with open(sys.argv[2], "w") as file:
        json.dump({"count": kills.count, "wrong": kills.wrong}, file)


if __name__ == "__main__":
    main()

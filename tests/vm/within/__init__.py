# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that run inside a guest, for loops with hundreds of rounds, in which each round-trip to the host would cost time.

The host puts the files of this folder into the guest and starts one; it reads a
JSON configuration and leaves a JSON answer. blocks.py is used on both sides.
"""

import json
import os

from qmp import CommandFailed

HERE = os.path.dirname(os.path.abspath(__file__))
THERE = "/run/vm"


def put(guest):
    """All programs into the guest."""
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".py") and name != "__init__.py":
            with open(os.path.join(HERE, name), "rb") as file:
                guest.put(THERE + "/" + name, file.read())


def start(guest, program, config):
    """Starts PROGRAM with CONFIG: a Job. Its answer is read by answer()."""
    put(guest)
    guest.put(THERE + "/config.json", json.dumps(config))
    return guest.spawn("exec python3 -u %s/%s.py %s/config.json %s/answer.json" % (THERE, program, THERE, THERE))


def answer(guest, job, timeout):
    """Its result. Its output goes into the case's log."""
    done = job.wait(timeout)
    print(done.out, flush=True)
    if done.rc:
        raise CommandFailed(job.command, done)
    return json.loads(guest.get(THERE + "/answer.json"))


def run(guest, program, config, timeout):
    return answer(guest, start(guest, program, config), timeout)


class Steps:
    """A switch that stops where it is ordered to, see steps.py. The contents of the disk are kept here."""

    def __init__(self, guest, disk, config):
        self.guest = guest
        self.disk = disk
        self.config = config
        self.ledgers = [[[0] * config["blocks"], [0] * config["blocks"]] for _ in range(config["luns"])]
        self.number = 0
        self.driver = None
        self.plan = {}

    def order(self, do, timeout=180, **more):
        told = self.guest.run("exec python3 %s/steps.py" % THERE, timeout, check=True, input=json.dumps(dict(
            more, do=do, config=self.config, ledgers=self.ledgers, number=self.number)))
        if told.err.strip():
            print(told.err.strip(), flush=True)
        answer = json.loads(told.out)
        self.ledgers, self.number, self.driver = answer["ledgers"], answer["number"], answer["driver"]
        return answer["answer"]

    def begin(self):
        """In a guest that has just booted or was resumed, with the disk plugged in."""
        put(self.guest)
        self.order("begin")

    def learn(self):
        """Finds its steps in each direction: {driver it comes from: {step: number}}."""
        for _way in range(2):
            before = self.driver
            self.plan[before] = self.order("learn")

    def stop(self, step, **how):
        """Begins a switch to the other driver, which stops before STEP. Returns its process. hang=True: it hangs whatever
        happens."""
        before = self.driver
        steps = list(self.plan[before])
        after = steps[steps.index(step) - 1]
        pid = self.order("stop", step=step, nth=self.plan[before][step], after=None if after == "identify" else after, **how)
        self.what = "%s to %s, before %s" % (before, "uas" if before == "usb-storage" else "usb-storage", step)
        return pid

    def check(self, lossy=False, **more):
        wrong = self.order("check", what=self.what, lossy=lossy, **more)
        print("%s: on %s%s" % (self.what, self.driver, "; WRONG" if wrong else ""), flush=True)
        assert not wrong, wrong

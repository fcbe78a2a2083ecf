# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases of tier full take hours together. A run takes a slice of them, and rotation.tsv has the time at which each passed last.

    case<TAB>date<TAB>commit<TAB>seconds

A slice begins with the cases whose subject has changed since they passed, and goes on with those that passed longest ago.
"""

import fnmatch
import hashlib
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "rotation.tsv")

# Changed files, and the cases about them. A case's own file counts as well.
SUBJECTS = (
    ("src/switch/*", ("killed.*", "races.*", "halfway.*", "rollback.*", "cut_short.*", "spin_up.*", "no_room.*")),
    ("src/sys/users/*", ("users_*",)),
    ("src/sys/quirks/*", ("kept_off.*", "held_both_ways.*")),
    ("src/sys/block/*", ("races.*", "killed.*", "seen_once.*")),
    ("src/sys/state/*", ("distrust.*", "trial.*", "no_room.*", "before_var.*")),
    ("src/hold/*", ("boot_order.*", "never_cost_a_boot.*", "root_on_usb.*", "unheld.*", "stacked.*", "plug_in.*")),
    ("src/daemon/*", ("around.*", "waiting.*", "lost_events.*", "many.*", "jobs.*", "lease.*", "service.*", "kept_off.*", "bus.*")),
    ("src/core/*", ("bridges.*", "trial.*", "distrust.*", "health.*", "explained.*")),
    ("src/client/*", ("ctl_tells.*", "listing.*", "monitor.*", "explained.*")),
    ("src/ctl/*", ("ctl_tells.*", "listing.*", "monitor.*", "explained.*")),
    ("src/bench/*", ("bench.*",)),
    ("udev/*", ("boot_order.*", "plug_in.*", "users_*")),
    ("systemd/*", ("service.*", "exposure.*", "never_cost_a_boot.*")),
    ("packaging/*", ("packages.*", "root_on_usb.*")),
    ("tests/vm/usbdisk/*", ("harness.*",)),
    ("tests/vm/machine.py", ("harness.*",)),
    # What the kernel does, in a guest without uasd: it changes with the fake kernel, or with the kernel.
    ("tests/fake/REACTIONS", ("reactions_*",)),
    ("tests/fake/kernel*", ("reactions_*",)),
    ("tests/vm/image.py", ("reactions_*",)),
)


class Passed:
    def __init__(self, date, commit, seconds):
        self.date, self.commit, self.seconds = date, commit, float(seconds)


def read(path=RECORD):
    """{case: Passed}"""
    try:
        with open(path) as file:
            lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    except FileNotFoundError:
        return {}
    return {name: Passed(*rest) for name, *rest in lines}


def write(record, path=RECORD):
    with open(path + ".new", "w") as file:
        file.write("# case, when it passed last (UTC), on which commit, seconds; written by tests/vm/run --record\n")
        for name in sorted(record):
            one = record[name]
            file.write("%s\t%s\t%s\t%.0f\n" % (name, one.date, one.commit, one.seconds))
    os.rename(path + ".new", path)


def git(*words):
    done = subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def head(*more):
    """The commit that is checked out; None if it is not known, or if files of the package, or MORE, differ from it."""
    paths = [":/" + path for path in ("src", "udev", "systemd", "packaging", *more)]
    return git("rev-parse", "--short=12", "HEAD") if git("status", "--porcelain", *paths) == "" else None


def passed(name, seconds, commit, path=RECORD):
    record = read(path)
    record[name] = Passed(time.strftime("%Y-%m-%dT%H:%M", time.gmtime()), commit, seconds)
    write(record, path)


def changed_since(name):
    """The files that differ from those with which NAME passed last; None: it is not known."""
    last = read().get(name)
    if not last or git("cat-file", "-e", last.commit + "^{commit}") is None:
        return None
    return set(git("diff", "--name-only", last.commit).splitlines())


def looked_at(name, changed):
    """Whether one of the CHANGED files is a subject of this case."""
    return any("tests/vm/cases/%s.py" % name.partition(".")[0] == path
               or any(fnmatch.fnmatch(path, subject) and any(fnmatch.fnmatch(name, one) for one in names)
                      for subject, names in SUBJECTS)
               for path in changed)


def slice_of(cases, seconds, record, changed_since, seed):
    """As many CASES of tier full as fit into SECONDS. changed_since(commit): the files. SEED: breaks ties, different each time."""
    def order(one):
        last = record.get(one.name)
        if not last:
            return (0, "", hashlib.sha256((seed + one.name).encode()).hexdigest())
        changed = looked_at(one.name, changed_since(last.commit))
        return (0 if changed else 1, last.date, hashlib.sha256((seed + one.name).encode()).hexdigest())

    chosen = []
    for one in sorted(cases, key=order):
        needs = record[one.name].seconds if one.name in record else one.limit / 3
        if needs <= seconds:
            seconds -= needs
            chosen.append(one)
    return chosen


class Changes:
    """The files that differ between a commit and the checkout. git is run once for each commit."""

    def __init__(self):
        self.known = {}

    def __call__(self, commit):
        if commit not in self.known:
            self.known[commit] = (git("diff", "--name-only", commit, "HEAD") or "").splitlines()
        return self.known[commit]

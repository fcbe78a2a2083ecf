# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases that take turns. Those of tier full take hours together: each run of the default tier has a slice of them, beside the main
group and a third of its own other cases.

The commit alone decides which: the cases of a tier are in GROUPS groups, and the next commit has the next group. So as many commits
in a row cover all of them, if each is checked and no case is added meanwhile. A few cases whose subject has changed come first.

$UASD_VM_CACHE/slices.tsv is the record of the last runs on this machine. It only says which cases have run.
"""

import fnmatch
import glob
import hashlib
import os
import re
import subprocess
import time

import image

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GROUPS = {"default": 3, "full": 20}
# So many cases whose subject has changed join those of the group. They never displace these: else a slice after each change of
# one file would have the same cases.
CHANGED = 4
# One of them takes some minutes at most: a long one waits for its turn.
SHORT = 600
# A case that this machine has no record of takes about this part of its limit: on a quiet machine a twelfth, as the median.
OF_LIMIT = 6
# Runs that the record keeps.
RUNS = 20

# Files, and the cases about them. A file is also about the cases of the files that include it (subjects() finds them), the
# nearest first, and a case's own file about its cases. So a folder that is missing here is not forgotten.
SUBJECTS = (
    ("src/switch/*", ("killed.*", "races.*", "halfway.*", "rollback.*", "cut_short.*", "spin_up.*", "no_room.*", "both_ways.*",
                      "eject.*", "errors.*", "difference.*")),
    ("src/sys/users/*", ("users_*", "remedies.*")),
    ("src/sys/quirks/*", ("kept_off.*", "held_both_ways.*", "mainline.*", "bundle.*")),
    ("src/sys/block/*", ("races.*", "killed.*", "seen_once.*")),
    ("src/sys/state/*", ("distrust.*", "trial.*", "no_room.*", "before_var.*")),
    ("src/hold/*", ("boot_order.*", "never_cost_a_boot.*", "root_on_usb.*", "unheld.*", "stacked.*", "plug_in.*", "no_initramfs.*",
                    "arm.*")),
    ("src/sys/platform/*", ("bundle.*", "no_systemd.*")),
    ("src/daemon/*", ("around.*", "waiting.*", "lost_events.*", "many.*", "jobs.*", "lease.*", "service.*", "kept_off.*", "bus.*",
                      "soak.*", "incidents.*", "udisks.*", "slow.*")),
    ("src/core/*", ("bridges.*", "trial.*", "distrust.*", "health.*", "explained.*")),
    ("src/client/*", ("ctl_tells.*", "listing.*", "monitor.*", "explained.*")),
    ("src/ctl/*", ("ctl_tells.*", "listing.*", "monitor.*", "explained.*")),
    ("src/bench/*", ("bench.*",)),
    ("cockpit/*", ("page.*",)),
    ("tests/page/*", ("page.*",)),
    ("udev/*", ("boot_order.*", "plug_in.*", "users_*")),
    ("systemd/*", ("service.*", "exposure.*", "never_cost_a_boot.*", "slow.*")),
    ("packaging/*", ("packages.*", "root_on_usb.*", "bundle.*", "inits.*")),
    ("contrib/*", ("service.*",)),
    ("tests/vm/usbdisk/*", ("harness.*",)),
    ("tests/vm/machine.py", ("harness.*",)),
    # What the kernel and udev do, in a guest without uasd: it changes with the fake kernel, or with the kernel.
    ("tests/fake/*", ("reactions_*",)),
    ("tests/vm/image.py", ("reactions_*",)),
    # The stand-ins of PID 1, logind and polkit.
    ("tests/daemon/fake-*", ("contracts.*",)),
    ("tests/hold/*", ("contracts.*",)),
)


def git(*words):
    done = subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def number():
    """The number of the commit: the next one has the next. If the history is not all there, another number for each commit, and
    without git one for each day."""
    if git("rev-parse", "--is-shallow-repository") == "false":
        count = git("rev-list", "--count", "HEAD")
        if count:
            return int(count)
    commit = git("rev-parse", "HEAD")
    return int(commit, 16) if commit else int(time.time() // 86400)


def scattered(*words):
    """A sort key: an order that has nothing to do with names."""
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()


def groups(cases, made, count):
    """CASES in COUNT groups whose limits have about the same sum. MADE: the guests that every run has. The cases of another guest
    stay together, as one run then makes it for all of them."""
    bundles = {}
    for one in cases:
        bundles.setdefault(frozenset(one.images) - made or one.name, []).append(one)
    parts = [[] for _ in range(count)]
    for bundle in sorted(bundles.values(), key=lambda bundle: (-sum(one.limit for one in bundle), scattered(bundle[0].name))):
        min(parts, key=lambda part: sum(one.limit for one in part)).extend(bundle)
    return parts


def slice_of(cases, made, count, commit, steps):
    """Of CASES, in COUNT groups, those of the group that the number COMMIT says, and before them those whose subject has changed.
    steps(case): how far its subject is from a change; None: it has not changed."""
    turn, which = divmod(commit, count)
    part = groups(cases, made, count)[which]
    # A run may have no time for the last ones. At the group's next turn these are others.
    first = turn % max(len(part), 1)
    part = part[first:] + part[:first]
    others = [one for one in cases
              if one not in part and steps(one) is not None and one.limit <= SHORT and made.issuperset(one.images)]
    others.sort(key=lambda one: (steps(one), scattered(commit, one.name)))
    return others[:CHANGED] + sorted(part, key=lambda one: steps(one) is None)


# Which cases are about a changed file

def sources():
    """{file below the top: what it includes or imports}, of src and of tests/vm."""
    found = {}
    for path in glob.glob(os.path.join(TOP, "src/**/*.[ch]"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found[os.path.relpath(path, TOP)] = {"src/" + one for one in re.findall(r'^\s*#\s*include\s*"([^"]+)"', file.read(), re.M)}
    for path in glob.glob(os.path.join(HERE, "**/*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        names = re.findall(r"^\s*(?:from|import) ([\w.]+)", text, re.M)
        names += re.findall(r"\bwithin import (\w+)", text) + re.findall(r'\bwithin\.\w+\([^")]*"(\w+)"', text)
        found[os.path.relpath(path, TOP)] = {"tests/vm/%s%s.py" % (folder, one.replace(".", "/"))
                                             for one in names for folder in ("", "within/")}
    return found


def subjects(changed, known=None):
    """{pattern of cases: steps}. STEPS: from one of the files CHANGED to a file that the cases are about, 0 if it is the same."""
    known = sources() if known is None else known
    patterns = {}
    for start in changed:
        steps, front = {start: 0}, [start]
        # What includes a file's header uses the file. A file without a header of its own is behind those of its folder.
        if start.startswith("src/") and start.endswith(".c"):
            own = start[:-1] + "h"
            folder = os.path.dirname(start)
            front += [own] if own in known else [one for one in known if os.path.dirname(one) == folder and one.endswith(".h")]
            steps.update(dict.fromkeys(front, 0))
        for path in front:
            for one, includes in known.items():
                if path in includes and one not in steps:
                    steps[one] = steps[path] + 1
                    front.append(one)
                    header = one[:-1] + "h"
                    if header in known and header not in steps:
                        steps[header] = steps[one]
                        front.append(header)
        for path, count in steps.items():
            about = [names for subject, names in SUBJECTS if fnmatch.fnmatch(path, subject)]
            if path.startswith("tests/vm/cases/"):
                about.append((os.path.basename(path)[:-2] + "*",))
            for name in sum(about, ()):
                patterns[name] = min(count, patterns.get(name, count))
    return patterns


def distance(changed):
    """A function for slice_of() from the files CHANGED."""
    patterns = subjects(changed)

    def steps(one):
        return min((count for pattern, count in patterns.items() if fnmatch.fnmatch(one.name, pattern)), default=None)
    return steps


def changes():
    """The files that the commit changes, and those before it since the last run on this machine."""
    for since in [run.commit for run in reversed(Record().runs)] + ["HEAD~1"]:
        if git("merge-base", "--is-ancestor", since, "HEAD") is not None and git("rev-parse", since) != git("rev-parse", "HEAD"):
            return (git("diff", "--name-only", since) or "").splitlines()
    return []


# The record

class Run:
    def __init__(self, date, commit):
        self.date, self.commit, self.passed = date, commit, {}


class Record:
    """The last runs, each with the seconds that its cases took."""

    def __init__(self, path=None):
        self.path = path or os.path.join(image.cache_dir(), "slices.tsv")
        self.runs = []
        if os.path.exists(self.path):
            with open(self.path) as file:
                for date, commit, name, seconds in (line.rstrip("\n").split("\t") for line in file):
                    if not self.runs or (self.runs[-1].date, self.runs[-1].commit) != (date, commit):
                        self.runs.append(Run(date, commit))
                    if name:
                        self.runs[-1].passed[name] = float(seconds)

    def add(self, commit, passed):
        """PASSED: {case: seconds}"""
        run = Run(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), commit)
        run.passed = dict(passed)
        self.runs = self.runs[1 - RUNS:] + [run]
        with open(self.path + ".new", "w") as file:
            for run in self.runs:
                for name, seconds in sorted(run.passed.items()) or [("", 0)]:
                    file.write("%s\t%s\t%s\t%.0f\n" % (run.date, run.commit, name, seconds))
        os.rename(self.path + ".new", self.path)

    def seconds(self):
        """{case: what it took last}"""
        return {name: seconds for run in self.runs for name, seconds in run.passed.items()}

    def share(self, names, late):
        """How many of the cases NAMES have passed, in words. LATE: of this run's slice so many have not begun."""
        done = len(names & self.seconds().keys())
        return "of %d cases that take turns %d (%.0f %%) passed in the last %d runs on this machine, %d of them in this one; %s" % (
            len(names), done, 100 * done / max(len(names), 1), len(self.runs), len(names & self.runs[-1].passed.keys()),
            "its slice had no time for %d" % late if late else "its slice is complete")

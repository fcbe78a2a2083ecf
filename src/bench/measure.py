# SPDX-License-Identifier: LGPL-2.1-or-later
"""The verb run: from the command line to the result."""

import errno
import os
import time
import uuid

from bench import chart, find, fio, lease, log, patterns, profile, session, steps, verdict
from bench.exits import Ended, Exit, fail
from bench.machine import Machine
from bench.model import Bench, Driver
from bench.options import Options
from bench.profile import Profile
from bench.session import Session
from bench.subject import Subject

BACK_SEC = 15  # longer than uasd needs to switch a free disk back
OVER_SEC = 60
PENDING = ('held', 'waiting', 'switching')


def _find_fio() -> str:
    """Its version. Before any wait, the programs that are needed are looked for."""
    if not os.access(fio.PROGRAM, os.X_OK):
        fail(Exit.TOOL_MISSING, 'fio is not installed. Install the package fio.')
    try:
        ok, version = fio.ask('--version')
    except OSError:
        ok = False
    if not ok or not version:
        fail(Exit.TOOL_MISSING, 'Cannot read the version of %s.', fio.PROGRAM)
    return version


def _load_profile(machine: Machine, name: str) -> Profile:
    try:
        return profile.load(machine, name)
    except profile.Fault as fault:
        fail(Exit.FAILED, '%s', fault)
    except FileNotFoundError:
        log.error("There is no profile '%s'. The profiles are:", name)
        for known in profile.names(machine):
            log.error('  %s', known)
    except ValueError:
        log.error("'%s' is not a valid name of a profile.", name)
    except OSError as error:
        fail(Exit.FAILED, "Cannot read the profile '%s': %s", name, error.strerror)
    raise Ended(Exit.USAGE)


def _check_profile(p: Profile) -> None:
    """fio knows more options than bench does."""
    try:
        ok, words = fio.ask('--parse-only', p.text)
    except OSError as error:
        fail(Exit.FAILED, "fio rejects the profile '%s': %s", p.name, error.strerror)
    if not ok:
        fio.log_words(words)
        fail(Exit.FAILED, "fio rejects the profile '%s'%s", p.name,
             '.' if words else f': {os.strerror(errno.EBADMSG)}')


def _tell_plan(s: Session) -> None:
    f, b = s.subject, s.bench
    guess = '' if all(p.time_based for p in b.patterns) else (
        ' on a hard disk. A run that ends with its region takes as long as the disk needs')
    n_runs = sum(step.kind is steps.Kind.RUN for step in s.steps)
    both = f.second is not Driver.NONE
    log.info('%s%i runs of fio, about %s%s.', f'{f.first} and {f.second}: ' if both else '',
             n_runs, steps.time_text(s.left(0)), guess)
    find.tell_scratch(f)
    if both and f.options.rounds < verdict.ROUNDS:
        log.info('With fewer than %i rounds for each driver, any difference could be chance. '
                 'There will be no verdict.', verdict.ROUNDS)
    for i, p in enumerate(b.patterns):
        log.info('  %s: %s', p.name, verdict.pattern_text(b, i))


# ---- the end ----


def _tell_kept_off(interface: str) -> None:
    log.info("The disk failed under uas, so it stays on usb-storage until it is unplugged. "
             "'uasctl switch %s' ends that.", interface)


def _go_back(s: Session, before: Driver, overridden: bool) -> int:
    """Both switches of --remount are overrides, which would outlive the measurement."""
    f = s.subject
    assert f.session
    if Driver.UAS in s.ended and before is Driver.UAS:
        _tell_kept_off(f.interface)
        return Exit.OK
    code = s.switch(before)
    if code != Exit.OK or overridden:
        return code
    try:
        return f.session.order('policy').code
    except lease.Lost:
        return Exit.FAILED


def _tell_where(s: Session) -> None:
    """After an interruption: where the disk is. When the lease has ended, uasd switches it back."""
    f = s.subject
    deadline = time.monotonic() + BACK_SEC
    if not s.bench.runs:
        log.info('Nothing was measured.')
    while f.interface:
        disk, label = lease.list_disk(f.machine, f.interface)
        if disk is None:
            return
        pending = disk['state'] in PENDING
        if not (pending or disk['lease']) or time.monotonic() >= deadline:
            log.info('%s is on %s%s.', label, disk['driver'] or 'no driver',
                     f', and its state is {disk["state"]}' if pending else '')
            return
        time.sleep(0.1)


def _keep_off_uas(f: Subject) -> None:
    """For a disk that was on uas before the lease and failed there. uasd would restore uas.

    So after the lease this requests usb-storage until the disk is unplugged, as a user would. The
    request is no switch under the lease.
    """
    deadline = time.monotonic() + OVER_SEC
    while True:
        code, why = lease.switch_until_unplugged(f.machine, f.interface, Driver.USB_STORAGE)
        if code == Exit.OK:
            _tell_kept_off(f.interface)
            return
        if code != Exit.REFUSED or time.monotonic() >= deadline:
            log.info('The disk failed under uas, but goes back to it: %s', why)
            return
        time.sleep(0.5)


# ---- the measurement ----


def _run(s: Session, before: Driver, overridden: bool) -> int:
    """The disk or file is ours."""
    f = s.subject
    shared = bool(f.hosts) and f.lay_out
    if shared:
        # The id of the result is in the name, so the file cannot exist before.
        f.path = f'{f.path}/uasctl-bench-{s.bench.id}'
    elif f.lay_out and not f.make_scratch():
        return Exit.FAILED
    code = s.run()
    back = _go_back(s, before, overridden) if f.remount else Exit.OK
    if shared:
        try:
            fio.remove(f.path, f.hosts)
        except fio.Failed:
            log.error("Cannot remove the scratch file '%s' on %s. Remove it there.", f.path,
                      f.hosts[0])
    return code or back


def _measure(s: Session) -> int:
    """All checks are done."""
    f = s.subject
    raw, before, code = not f.path, f.driver, int(Exit.OK)
    overridden = f.disk.get('reason_id') == 'override'
    # The disk stays where it is until the first switch.
    if raw:
        session.die_saying(f'Interrupted. Nothing was measured. {f.block} stays on {f.driver}.')
    else:
        session.catch_signals()
    try:
        if f.switches:
            f.begin_lease()
        session.catch_signals()
        code = _run(s, before, overridden)
    except Ended as ended:
        code = ended.status
    f.close()
    if session.caught():
        _tell_where(s)
    failed = Driver.UAS in s.ended and before is Driver.UAS
    if raw and failed and code == Exit.ROLLED_BACK:
        _keep_off_uas(f)
    return code


def _prepare(machine: Machine, o: Options, f: Subject, what: str) -> Session:
    """Checks everything, and makes the plan. Raises Ended."""
    version = _find_fio()
    if o.chart:
        chart.check(o.chart)
    p = _load_profile(machine, o.profile)
    dropped = not (o.write or o.destroy_data) and p.drop_writes()
    _check_profile(p)
    (find.find_mounted if o.remount else find.find_file if o.file else find.find_disk)(f, what)
    f.size_scratch(p.patterns)
    if o.size:
        f.available = min(f.available, o.size)
    b = Bench()
    code = patterns.choose(p, o, f.available, len(f.hosts), b)
    if code != Exit.OK:
        raise Ended(code)
    if dropped:
        log.info('Patterns that write are left out. --write or --destroy-data permits them.')
    b.id, b.started_usec = str(uuid.uuid4()), session.realtime()
    b.conditions.fio = version
    b.single = f.second is Driver.NONE
    f.describe(b.conditions)
    s = Session(f, b)
    s.plan()
    _tell_plan(s)
    return s


def measure(machine: Machine, o: Options) -> tuple[int, Bench | None]:
    """Returns the exit status, and the result, which is incomplete with most failures."""
    f = Subject(o, machine)
    try:
        s = _prepare(machine, o, f, o.words[0] if o.words else '')
        if o.dry_run:
            return Exit.OK, None
        if o.destroy_data and not find.ask_destroy(f):
            return Exit.REFUSED, None
        return _measure(s), s.bench
    except Ended as ended:
        return ended.status, None
    finally:
        f.close()

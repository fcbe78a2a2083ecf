# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the steps of a bench, and checks the disk meanwhile."""

import errno
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType

from bench import fio, log, terminal, verdict, watch
from bench.exits import Exit
from bench.lease import Gone, Lost
from bench.model import Axis, Bench, Driver, Finding, Pattern, Run
from bench.steps import READ_RATE, SECOND, SWITCH_USEC, Kind, Step, expected, make_steps, time_text
from bench.subject import Subject

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_USEC = 1 * SECOND
GONE_SEC = 3.0  # the I/O of an unplugged disk fails before the disconnect is reported
# A longer first read would take more time than it helps.
READ_ONCE_MAX = 16 << 30


class Interrupted(Exception):
    """By a signal."""


class Trouble(Exception):
    """The disk has failed: the half of its driver ends."""


class Broken(Exception):
    """Another failure, which is reported."""


def boottime() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def realtime() -> int:
    return time.time_ns() // 1000


# ---- signals ----


class _Caught:
    which = 0


def caught() -> int:
    return _Caught.which


def catch_signals() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP end a session in an orderly way."""
    def note(which: int, _frame: FrameType | None) -> None:
        _Caught.which = which
    _catch(note)


def die_saying(words: str) -> None:
    """Until then these signals end uasctl, with these words. A second signal is the death."""
    def die(which: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        os.write(2, f'uasctl: {words}\n'.encode())
        os.kill(os.getpid(), which)
    _catch(die)


def _catch(handler: Callable[[int, FrameType | None], None]) -> None:
    _Caught.which = 0
    for which in SIGNALS:
        signal.signal(which, handler)


# ---- the session ----


@dataclass
class Session:
    subject: Subject
    bench: Bench
    steps: list[Step] = field(default_factory=list)
    at: int = 0  # the present one
    errors: watch.Errors = field(default_factory=watch.Errors)
    ended: set[Driver] = field(default_factory=set)  # whose half has ended early
    looked: int = 0  # time of the last check of the disk
    what: str = ''  # the present step for the line of progress
    percent: int = 0  # the largest that was shown
    started: int = 0  # of all steps, and of the present one; CLOCK_BOOTTIME in microseconds
    began: int = 0

    def plan(self) -> None:
        s = self.subject
        self.steps = make_steps(s, len(self.bench.patterns))
        usec = {Kind.SWITCH: SWITCH_USEC, Kind.READ_ALL: self.region_once() // READ_RATE,
                Kind.PAUSE: s.options.pause}
        for step in self.steps:
            step.usec = (expected(self.bench.patterns[step.pattern], s.available)
                         if step.kind is Kind.RUN else usec[step.kind])

    def region_once(self) -> int:
        """Bytes that are read before the rounds, or written to a scratch file."""
        available = self.subject.available
        if self.subject.lay_out:
            return available
        return min(READ_ONCE_MAX, max((fio.region_all(p, available) for p in self.bench.patterns),
                                      default=0))

    # ---- progress ----

    def next(self, at: int) -> int:
        """The next step from there on: those of a driver whose half has ended are skipped."""
        while at < len(self.steps) and self.steps[at].driver in self.ended:
            at += 1
        return at

    def left(self, at: int) -> int:
        """Expected duration of all steps from there on."""
        return sum(step.usec for step in self.steps[at:] if step.driver not in self.ended)

    def percent_of(self, done: int, rest: int) -> int:
        """It never falls, also if the rest turns out to be longer."""
        self.percent = max(self.percent, done * 100 // (done + rest or 1))
        return self.percent

    def learn(self, usec: int) -> None:
        """A step lasts as long as the one before it of the same kind and pattern."""
        now = self.steps[self.at]
        for step in self.steps[self.at:] if now.kind is not Kind.PAUSE else ():
            if step.kind is now.kind and step.pattern == now.pattern:
                step.usec = usec

    def show_progress(self) -> None:
        elapsed = boottime() - self.began
        if elapsed > self.steps[self.at].usec:  # at once, so that the time left does not jump later
            self.learn(elapsed)
        within = min(elapsed, self.steps[self.at].usec)
        done, rest = self.began - self.started + within, self.left(self.at) - within
        terminal.progress_line(
            f'{self.percent_of(done, rest):3} %  {time_text(rest)} left  {self.what}')

    def _describe(self, step: Step) -> str:
        """ "uas, round 2 of 5: random read, 4 KiB, depth 32"."""
        if step.kind is Kind.READ_ALL and self.subject.lay_out:
            return 'writing the scratch file'
        if step.kind is not Kind.RUN:
            return f'{step.kind.value}{step.driver if step.kind is Kind.SWITCH else ""}'
        number = f'round {step.round} of {self.subject.options.rounds}'
        driver = '' if step.driver is Driver.NONE else f'{step.driver}, '
        return (f'{driver}{number if step.round else "warming up"}: '
                f'{verdict.pattern_text(self.bench, step.pattern)}')

    # ---- checks of the disk ----

    def look(self, io_failed: bool) -> None:
        """Raises Gone, Lost or Trouble."""
        s = self.subject
        self.looked = boottime()
        if not s.is_there():
            raise Gone
        s.look()
        signs = s.session.state.signs if s.session else ()
        if self.errors.look(s.machine, signs, io_failed) or s.distrusted:
            raise Trouble

    def tick(self) -> None:
        """For fio and for pauses: shows the progress and checks the disk."""
        self.show_progress()
        if caught():
            raise Interrupted
        if boottime() >= self.looked + LOOK_USEC:
            self.look(False)

    def _ended(self, number: int, words: str) -> None:
        """fio ended with an error. Finds out whether the disk caused it. Always raises."""
        deadline = time.monotonic() + GONE_SEC
        trouble: Trouble | None = None
        if caught():
            raise Interrupted
        while True:
            try:
                self.look(True)
            except Trouble as error:
                trouble = error
            time.sleep(0.2)
            if time.monotonic() >= deadline:
                break
        if trouble:
            raise trouble
        fio.log_words(words)
        log.error('fio failed: %s', os.strerror(number))
        raise Broken

    def _owns(self, fd: int) -> bool:
        """Nothing but the lease keeps other programs from mounting the disk."""
        try:
            self.subject.look()
        except (Gone, Lost):
            return False
        return self.subject.owns(fd)

    # ---- the runs ----

    def _job(self, p: Pattern) -> fio.Job:
        s = self.subject
        return fio.Job(p, s.path or s.machine.path(f'/dev/{s.block}'), region=s.available,
                       hosts=s.hosts, tick=self.tick, owns=None if s.path else self._owns)

    def _read_all(self) -> None:
        s = self.subject
        assert s.path or not s.lay_out  # an empty scratch file, never the disk
        job = self._job(self.bench.patterns[0])
        job = replace(job, region=self.region_once(), writes=s.lay_out)
        try:
            fio.prepare(job)
        except fio.Failed as failed:
            self._ended(failed.number, failed.words)
        if caught():
            raise Interrupted

    def _run_fio(self, job: fio.Job) -> tuple[list[Run], str]:
        s = self.subject
        before = watch.traffic(s.machine, s.interface, s.block)
        began = boottime()
        runs, words = fio.run(job)
        after = watch.traffic(s.machine, s.interface, s.block)
        if not s.machine.exists('/proc/self/io'):  # this kernel does not count I/O of a process
            runs[0].device_read_bytes = runs[0].device_written_bytes = -1.0
        watch.tell_traffic(before, after, job.pattern, boottime() - began, runs[0])
        return runs, words

    def _add_runs(self, step: Step, runs: Sequence[Run]) -> None:
        order = self.bench.runs[-1].order + 1 if self.bench.runs else 0
        for r in runs:
            r.pattern, r.driver, r.round = step.pattern, self.subject.driver, step.round
            r.order = order
        self.bench.runs += runs

    def _run(self, step: Step) -> None:
        s, p = self.subject, self.bench.patterns[step.pattern]
        writes = s.writes and p.writes
        assert not writes or s.options.write or s.options.destroy_data  # only with permission
        # The places are the same under both drivers, and different in every round.
        seed = 1000003 * (step.pattern + 1) + step.round
        n_hosts = int(p.axis) if self.bench.axis is Axis.CLIENTS else 0
        started = realtime()
        try:
            runs, words = self._run_fio(
                replace(self._job(p), seed=seed, writes=writes, n_hosts=n_hosts))
        except (fio.Failed, Trouble) as failed:
            try:
                if isinstance(failed, fio.Failed):
                    self._ended(failed.number, failed.words)
                raise
            except Trouble:  # it does not count, but the result can refer to it
                self._add_runs(step, [Run(started_usec=started, error=-errno.EIO)])
                raise
        if caught():  # fio was signalled, too, and ended early
            raise Interrupted
        self._add_runs(step, runs)
        if runs[0].error:
            self._ended(-runs[0].error, words)
        self.look(False)  # events at the very end of the run

    def _pause(self, usec: int) -> None:
        end = boottime() + usec
        while boottime() < end:
            self.tick()
            time.sleep(0.1)

    # ---- the drivers ----

    def _end_half(self, driver: Driver, what: str) -> None:
        self.ended.add(driver)
        log.error('%s: %s. Its half ends here.', driver, what)
        if not self.bench.finding:
            self.bench.finding = Finding(driver, max(len(self.bench.runs) - 1, 0), what)

    def _trouble(self) -> None:
        s = self.subject
        if s.session:
            self.errors.look(s.machine, s.session.state.signs, True)
        seen = self.errors.text()
        if s.distrusted:
            seen = f'{seen}; uasd has it as {s.history}' if seen else f'uasd has it as {s.history}'
        self._end_half(s.driver, seen or 'I/O failed')

    def arrive(self, driver: Driver) -> None:
        """The disk is on its new driver, or still on the old one."""
        s = self.subject
        s.driver = driver
        if s.interface:
            s.machine.describe_queue(s.block, driver, self.bench.conditions)
        if s.session:
            try:
                watched = s.session.order('watch').code == Exit.OK
            except Lost:
                watched = False
            self.errors = watch.Errors.begin(s.machine, s.block) if watched else watch.Errors()
            if not watched:
                log.info('Cannot watch the disk for errors.')
        if driver is not Driver.UAS:  # only a disk on uas is distrusted
            s.distrusted = False

    def switch(self, to: Driver) -> int:
        """Unless it is on that driver. Reports errors. Returns an exit status."""
        s = self.subject
        before = s.driver
        if before is to:
            return Exit.OK
        try:
            s.look()
        except (Gone, Lost):
            return self.lost()
        s.distrusted = False  # from here on it is about the new driver
        code = s.switch(to)
        if s.remount and not s.remount.away and not s.make_scratch() and code == Exit.OK:
            s.why, code = 'there is no new scratch file', Exit.FAILED
        if code == Exit.OK:
            self.arrive(to)
            log.info('Switched to %s.', to)
            if s.distrusted:
                self._trouble()
            return Exit.OK
        if code != Exit.ROLLED_BACK:
            log.error('Cannot switch to %s: %s.', to, s.why)
            try:
                s.look()
            except (Gone, Lost):
                return self.lost()
            return code
        self.arrive(before)
        self._end_half(to, f'the switch to it was rolled back: {s.why}')
        return Exit.OK

    def lost(self) -> int:
        """The lease has ended or the disk is gone: reports which, and returns the exit status."""
        self.bench.interrupted = True
        gone = not self.subject.is_there()
        try:
            self.subject.look()
        except Gone:
            gone = True
        except Lost:
            pass
        if gone:
            return log.failure(Exit.NO_DISK, 'The disk was unplugged.')
        return log.failure(Exit.FAILED, 'uasd ended the lease: another program took the disk, or '
                           'uasd was stopped.')

    # ---- running the steps ----

    def _do(self, step: Step) -> int:
        try:
            if caught():
                raise Interrupted
            if step.kind is Kind.SWITCH:
                return self.switch(step.driver)
            if step.kind is Kind.READ_ALL:
                self._read_all()
            elif step.kind is Kind.RUN:
                self._run(step)
            else:
                self._pause(step.usec)
        except Trouble:
            self._trouble()
        except (Gone, Lost):
            return self.lost()
        except Interrupted:
            self.bench.interrupted = True
            log.error('Interrupted.')
            return Exit.FAILED
        except Broken:
            return Exit.FAILED
        return Exit.OK

    def run(self) -> int:
        """Runs the steps. Reports errors. Returns an exit status.

        ROLLED_BACK: with a finding, the rest was measured. With all others but OK the result is
        incomplete.
        """
        s, code = self.subject, int(Exit.OK)
        self.arrive(s.driver)
        self.started = boottime()
        self.at = self.next(0)
        while code == Exit.OK and self.at < len(self.steps):
            step = self.steps[self.at]
            self.what, self.began = self._describe(step), boottime()
            self.show_progress()
            code = self._do(step)
            self.learn(boottime() - self.began)
            self.at = self.next(self.at + 1)
        terminal.progress_clear()
        # A disk that fails under uas is not left there, even if it was there before.
        failed = self.bench.finding is not None and Driver.UAS in self.ended
        if (failed and s.driver is Driver.UAS and s.session and not s.session.kernel
                and self.switch(Driver.USB_STORAGE) != Exit.OK):
            code = Exit.FAILED
        return Exit.ROLLED_BACK if code == Exit.OK and self.bench.finding else code

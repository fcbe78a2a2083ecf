#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The steps of a measurement, and their times."""

import os
import unittest
import unittest.mock

from bench import options, patterns, profile
from bench.machine import Machine
from bench.model import Bench, Driver, Pattern
from bench.options import Options
from bench.remount import Remount
from bench.session import Session
from bench.steps import SECOND, Kind, expected, make_steps, time_text
from bench.subject import Subject

BOT, UAS, NONE = Driver.USB_STORAGE, Driver.UAS, Driver.NONE


def session(now, first, second, n_patterns, rounds, read_all, read_again=False, ended=()):
    f = Subject(Options(rounds=rounds), Machine(), driver=now, first=first, second=second, hosts=() if read_all else ('host',),
                remount=Remount('/mnt', 'ext4', 'rw') if read_again else None)
    return Session(f, Bench(patterns=[Pattern()] * n_patterns), make_steps(f, n_patterns), ended=set(ended))


def text_of(s, at=0):
    """In short form: "|" a switch, "r" the region, "." a pause, "a0" pattern a, round 0."""
    words, at = [], s.next(at)
    while at < len(s.steps):
        step = s.steps[at]
        words.append({Kind.SWITCH: '|' + ('bot' if step.driver is BOT else step.driver), Kind.READ_ALL: 'r', Kind.PAUSE: '.',
                      Kind.RUN: f'{chr(ord("a") + step.pattern)}{step.round}'}[step.kind])
        at = s.next(at + 1)
    return ' '.join(words)


class Steps(unittest.TestCase):
    def test_orders(self):
        for shape, want in (
                # A B B A: half of A before, half after; every block of a pattern warms up
                ((BOT, BOT, UAS, 1, 2, True), 'r a0 . a1 |uas a0 . a1 . a2 |bot a0 . a2'),
                ((UAS, UAS, BOT, 1, 2, True), 'r a0 . a1 |bot a0 . a1 . a2 |uas a0 . a2'),
                ((BOT, BOT, UAS, 1, 3, False), 'a0 . a1 . a2 |uas a0 . a1 . a2 . a3 |bot a0 . a3'),
                # a file system that is mounted again has a new scratch file after each switch
                ((BOT, BOT, UAS, 1, 2, True, True), 'r a0 . a1 |uas r a0 . a1 . a2 |bot r a0 . a2'),
                ((UAS, BOT, NONE, 1, 1, True, True), '|bot r a0 . a1'),
                # one pattern after another
                ((BOT, BOT, UAS, 2, 2, False), 'a0 . a1 . b0 . b1 |uas a0 . a1 . a2 . b0 . b1 . b2 |bot a0 . a2 . b0 . b2'),
                # one round has no second half, and needs no switch back
                ((BOT, BOT, UAS, 1, 1, False), 'a0 . a1 |uas a0 . a1'),
                # one driver, bound already or not
                ((UAS, UAS, NONE, 1, 3, True), 'r a0 . a1 . a2 . a3'),
                ((UAS, BOT, NONE, 1, 2, True), '|bot r a0 . a1 . a2'),
                ((NONE, NONE, NONE, 1, 1, False), 'a0 . a1'),
                ((BOT, BOT, UAS, 0, 1, False), '|uas')):
            self.assertEqual(text_of(session(*shape)), want)

    def test_rounds(self):
        """Each driver has the requested number of rounds that count, and each of them once."""
        for rounds in range(1, 22):
            now, seen = BOT, []
            for step in session(BOT, BOT, UAS, 3, rounds, True).steps:
                now = step.driver if step.kind is Kind.SWITCH else now
                self.assertIs(step.driver, now)
                seen += [(now, step.pattern, step.round)] if step.kind is Kind.RUN and step.round else []
            self.assertEqual(sorted(seen), sorted((d, p, r) for d in (BOT, UAS) for p in range(3) for r in range(1, rounds + 1)))

    def test_halves(self):
        """After a half has ended, no run and no switch uses its driver."""
        for shape, ended, at, want in (
                # ended in the first round of uas: switch back, and the rest
                ((BOT, BOT, UAS, 1, 2, False), UAS, 5, '|bot a0 . a2'),
                # on uas from the beginning: only the rounds of the other driver remain
                ((UAS, UAS, BOT, 1, 2, False), UAS, 1, '|bot a0 . a1 . a2'),
                ((BOT, BOT, UAS, 1, 2, False), BOT, 1, '|uas a0 . a1 . a2'),
                ((UAS, UAS, NONE, 1, 5, False), UAS, 3, '')):
            self.assertEqual(text_of(session(*shape, ended=[ended]), at), want)

    def test_times(self):
        s = session(BOT, BOT, UAS, 2, 2, True)
        for step in s.steps:
            step.usec = {Kind.SWITCH: 10, Kind.READ_ALL: 3, Kind.PAUSE: 1, Kind.RUN: 1000 if step.pattern else 100}[step.kind]
        # 7 runs of each pattern, 2 switches; pauses between 4, 6 and 4 runs
        self.assertEqual(s.left(0), 3 + 7 * 1100 + 2 * 10 + 3 + 5 + 3)
        self.assertEqual(s.left(len(s.steps)), 0)
        s.ended.add(UAS)
        self.assertEqual(s.left(0), 3 + 4 * 1100 + 10 + 3 + 3)

    def test_quick(self):
        """The shipped profile on both drivers of a disk, as the help says: two minutes, three rounds."""
        o = options.parse(['sda', '--quick'])
        f = Subject(o, Machine(), driver=BOT, first=BOT, second=UAS, available=o.size)
        with open(os.path.join(os.path.dirname(profile.__file__), 'profiles/cdm.fio'), 'rb') as shipped:
            found = profile.parse('cdm', 'cdm.fio', shipped.read())
        found.drop_writes()
        b = Bench()
        self.assertEqual(patterns.choose(found, o, f.available, 0, b), 0)
        s = Session(f, b)
        s.plan()
        self.assertEqual((len(b.patterns), max(step.round for step in s.steps)), (4, 3))
        self.assertTrue(90 * SECOND < s.left(0) <= 120 * SECOND, s.left(0))

    def test_time_left(self):
        for usec, want in ((0, '0 s'), (1, '1 s'), (59 * SECOND, '59 s'), (60 * SECOND, '1 min'), (61 * SECOND, '2 min'), (3599 * SECOND, '60 min'),
                           (3600 * SECOND, '1 h 0 min'), (9000 * SECOND, '2 h 30 min')):
            self.assertEqual(time_text(usec), want)

    def test_guesses(self):
        """A pattern that ends with its region: the estimate follows from its bytes, and never exceeds its runtime."""
        engine = {'block_size': 4096, 'size': 1 << 30, 'iodepth': 64, 'numjobs': 1, 'read_percent': 100, 'runtime_sec': 1000}
        for more, available, sec in (
                (engine | {'runtime_sec': 60, 'ramp_sec': 2, 'random': True, 'time_based': True}, 1 << 30, 63),
                (engine, 1 << 30, 11), (engine | {'random': True}, 1 << 30, 437), (engine | {'random': True}, 64 << 20, 28),
                (engine | {'iodepth': 1, 'random': True, 'sync_engine': True}, 1 << 30, 1001),
                # matrix: 10 GiB of random writes by one job
                ({'block_size': 4096, 'size': 10 << 30, 'iodepth': 1, 'numjobs': 1, 'random': True, 'sync_engine': True}, 16 << 30, 3745),
                ({'block_size': 128 << 10, 'size': 10 << 30, 'iodepth': 1, 'numjobs': 1, 'sync_engine': True}, 16 << 30, 108)):
            self.assertAlmostEqual(expected(Pattern(**more), available) // SECOND, sec, delta=1)

    def test_progress(self):
        """The first switch and the warm-up take longer than planned: the percentage stands, and those to come are expected to."""
        s = session(BOT, BOT, UAS, 2, 3, False)
        for step in s.steps:
            step.usec = 10
        usec, done, percent, s.at = {Kind.PAUSE: 10, Kind.SWITCH: 80, Kind.RUN: 50}, 0, 0, s.next(0)
        while s.at < len(s.steps):
            took = usec[s.steps[s.at].kind]
            for rest in (lambda: s.left(s.at)), (lambda: s.left(s.at) - took):
                now = s.percent_of(done, rest())
                self.assertGreaterEqual(now, percent)
                percent = now
                if rest() == s.left(s.at):
                    done += took
                    s.learn(took)
            s.at = s.next(s.at + 1)
        self.assertEqual(percent, 100)
        for step in s.steps:  # all of a kind were learned from the first one, switches and warm-ups too
            self.assertEqual(step.usec, usec[step.kind])

    def test_overrun(self):
        """A switch that takes longer than planned lengthens the rest while it runs. Nothing jumps at its end."""
        s = session(BOT, BOT, UAS, 1, 3, False)
        for step in s.steps:
            step.usec = 10
        s.at = next(i for i, step in enumerate(s.steps) if step.kind is Kind.SWITCH)
        later = s.left(s.at + 1) - 10  # without the second switch
        with unittest.mock.patch('bench.session.boottime') as clock:
            for now, long in (5, 10), (10, 10), (11, 11), (80, 80):
                clock.return_value = now
                s.show_progress()
                self.assertEqual(s.left(s.at + 1), later + long, now)

    def test_percent(self):
        """A percentage that was shown does not fall when the rest grows."""
        s = session(BOT, BOT, UAS, 1, 1, False)
        self.assertEqual([s.percent_of(*row) for row in ((0, 0), (16, 84), (18, 132), (40, 110))], [0, 16, 16, 26])


if __name__ == '__main__':
    unittest.main()

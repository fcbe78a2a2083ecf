# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patterns of a measurement: those of a profile, one of them, or one with a varied figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench import log, options
from bench.exits import Exit, fail
from bench.fio import Job, job_text, region_all, region_each
from bench.model import UINT64_MAX, Axis, Bench, Pattern
from bench.options import Options
from bench.profile import Profile

VALUES_MAX = 32
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    low: int
    high: int
    member: str  # of Pattern, which gets the value; "": none
    usual: tuple[int, ...]


# The values of the study behind the profile cdm, and the limits for others.
AXES = {
    Axis.DEPTH: Limits(1, 32, 'iodepth', (1, 2, 4, 8, 16, 32)),
    Axis.JOBS: Limits(1, 32, 'numjobs', (1, 2, 4, 8, 16, 32)),
    Axis.REGION: Limits(MIB, UINT64_MAX, '', (256 * MIB, 512 * MIB, GIB, 3 * GIB, 5 * GIB, 8 * GIB,
                                              10 * GIB)),
    Axis.RUNTIME: Limits(1, 3600, 'runtime_sec', (5, 10, 20)),
    Axis.RAMP: Limits(0, 3600, 'ramp_sec', (0, 5, 10)),
}


@dataclass(frozen=True)
class Sweep:
    axis: Axis = Axis.NONE  # NONE: the pattern as it is, with one value
    values: tuple[int, ...] = (0,)  # depth, jobs, bytes of the whole region, seconds, machines
    listed: bool = False  # by the user


class WrongSweep(Exception):
    """The sentence after "--sweep=...: "."""


def _value(axis: Axis, word: str) -> int:
    """Raises ValueError, or OverflowError if it is too small or too large."""
    if len(word.encode('utf-8', 'surrogateescape')) >= 24:
        raise ValueError(word)
    value = options.size(word) if axis is Axis.REGION else options.number(word)
    if not AXES[axis].low <= value <= AXES[axis].high:
        raise OverflowError(word)
    return value


def parse(text: str) -> Sweep:
    """ "depth", "jobs=1,4", "region=256M,1G". Raises WrongSweep."""
    general = 'it takes depth, jobs, region, runtime or ramp, and perhaps a list: depth=1,8,32.'
    name, equals, words = text.partition('=')
    if name not in AXES:
        raise WrongSweep(general)
    axis = Axis(name)
    if not equals:
        return Sweep(axis, AXES[axis].usual)
    values: list[int] = []
    for word in words.split(','):
        try:
            value = _value(axis, word)
        except OverflowError:
            raise WrongSweep(
                f"'{word}' is out of range: depth and jobs go from 1 to 32, a region begins at 1M, "
                'runtime goes from 1 to 3600 s, ramp from 0.') from None
        except ValueError:
            raise WrongSweep(general) from None
        if len(values) == VALUES_MAX:
            raise WrongSweep(general)
        if value in values:
            raise WrongSweep(f"'{word}' occurs twice.")
        values.append(value)
    return Sweep(axis, tuple(sorted(values)), True)


def of_clients(n: int) -> Sweep:
    """Numbers of machines that take part: 1, 2, 4, 8 ... and n. Without machines none varies."""
    if n == 0:
        return Sweep()
    steps = [1 << i for i in range(n.bit_length()) if 1 << i < n]
    return Sweep(Axis.CLIENTS, (*steps, n))


class NoRoom(Exception):
    """Not even the smallest region fits, or a listed one does not."""


def _vary(base: Pattern, axis: Axis, value: int, available: int) -> Pattern:
    """The other figures stay: more jobs share the region of one. Raises NoRoom."""
    is_region = axis is Axis.REGION
    region = value if is_region else region_all(base, available)
    unit = 1 if not is_region or value % MIB else MIB if value % GIB else GIB
    letter = {1: '', MIB: 'M', GIB: 'G'}[unit]
    p = replace(base, axis=float(value), name=f'{base.name} {axis}={value // unit}{letter}')
    if axis is Axis.CLIENTS:  # all points have the same job, and none of them needs more room
        return p
    if AXES[axis].member:
        setattr(p, AXES[axis].member, value)
    if axis in (Axis.JOBS, Axis.REGION):
        p.size = region // p.numjobs
    p.time_based = p.time_based or axis is Axis.RUNTIME
    if region > available or (p.size or region) < p.block_size:
        raise NoRoom
    return p


class NoEffect(Exception):
    """Depth, because the engine of the pattern is synchronous."""


def make(base: Pattern, s: Sweep, available: int) -> list[Pattern]:
    """The points, each a pattern: "RND4K-Q32T1 depth=4".

    Larger regions are left out unless they are listed. Raises NoRoom or NoEffect.
    """
    # The engine waits for each request, whatever iodepth= is: a flat line would look like a
    # finding.
    if s.axis is Axis.DEPTH and base.sync_engine:
        raise NoEffect
    if s.axis is Axis.NONE:
        return [replace(base)]
    points: list[Pattern] = []
    for value in s.values:
        try:
            points.append(_vary(base, s.axis, value, available))
        except NoRoom:
            if s.listed or not points:
                raise
            break
    return points


def _job(p: Pattern, available: int) -> tuple[str, float]:
    """Patterns that differ only in the varied figure lead to the same points."""
    return job_text(Job(p), '', region_each(p, available)), p.axis


def _add(base: Pattern, o: Options, available: int, s: Sweep, b: Bench) -> None:
    if o.runtime:
        base = replace(base, runtime_sec=o.runtime, time_based=True)
    try:
        points = make(base, s, available)
    except NoEffect:
        log.info('%s: the engine is synchronous, so the depth has no effect.', base.name)
        return
    except NoRoom:
        if not s.listed:
            fail(Exit.FAILED, 'The smallest region does not fit.')
        fail(Exit.FAILED,
             "--sweep=%s: too little room for '%s'. Use smaller values or a larger file.",
             o.sweep, base.name)
    left = 0
    there = {_job(p, available) for p in b.patterns}
    for p in points:
        if o.sweep and _job(p, available) in there:
            left += 1
        else:
            there.add(_job(p, available))
            b.patterns.append(p)
    if left:
        log.info('%s: %i of %i points are the same as those of another pattern, and are left out.',
                 base.name, left, len(points))


def asked_for(o: Options, patterns: Sequence[Pattern]) -> list[Pattern]:
    """By --pattern=."""
    return [p for p in patterns if not o.pattern or p.name.lower() == o.pattern.lower()]


def _nothing_left(profile: Profile, o: Options, found: bool) -> None:
    if o.pattern and not found:
        log.error("The profile '%s' has no pattern '%s'%s:", profile.name, o.pattern,
                  '' if o.write or o.destroy_data else ' that only reads')
        for p in profile.patterns:
            log.error('  %s', p.name)
    elif o.sweep:
        log.error("There is nothing to vary in the profile '%s' by --sweep=%s.", profile.name,
                  o.sweep)
    else:
        log.error("The profile '%s' only writes. Use --write with --file=DIRECTORY, or "
                  '--destroy-data.', profile.name)


def choose(profile: Profile, o: Options, available: int, n_clients: int, b: Bench) -> int:
    """Fills in the patterns, the axis and the profile of b. Returns an exit status."""
    try:
        s = parse(o.sweep) if o.sweep else of_clients(n_clients)
    except WrongSweep as wrong:
        return log.failure(Exit.USAGE, '--sweep=%s: %s', o.sweep, wrong)
    b.axis, b.profile = s.axis, profile.name
    chosen = asked_for(o, profile.patterns)
    for p in chosen:
        _add(p, o, available, s, b)
    if not b.patterns:
        _nothing_left(profile, o, bool(chosen))
    return Exit.OK if b.patterns else Exit.USAGE

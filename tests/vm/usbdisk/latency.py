# SPDX-License-Identifier: LGPL-2.1-or-later
"""The durations of commands.

{"kind": "none"}: as fast as the program is.

{"kind": "fixed", "ms": 4, "mb_per_s": 0, "parallel": 0}: every medium access takes `ms`; up to `parallel` of them
(0: all) at once, so that UAS gains by its queue; mb_per_s is a rate that all share (0: none).

{"kind": "hdd", "seek_ms": 8, "rotation_ms": 4, "mb_per_s": 180}: one arm over one spinning disk, shared by all LUNs.
  - seek: settle + a * sqrt(distance / capacity), with settle a tenth of seek_ms and a mean of seek_ms over random pairs
  - rotation: 2 * rotation_ms a turn; every place has its angle (a track is 1 MiB), so the mean wait is rotation_ms
  - transfer: bytes / mb_per_s
  - going on where the last access ended costs the transfer only, and the disk reads ahead meanwhile (up to 8 MiB):
    sequential speed is the same at depth 1 and at depth 32.  Its cache has a segment for each of the last 32 streams: one that
    goes on pays for the arm once in 8 MiB, also where others are read in between
  - with several commands queued (UAS) the one that is reached first goes first, by seek plus rotation: random
    reads get about three times the rate at depth 32.  None waits more than a second and a half for it.
  - writes into a volatile cache cost the transfer only; the flush costs one access for every 16 dirty extents

{"kind": "per-proto", "bot": {...}, "uas": {...}}: a model of its own for each protocol, as if the bridge, not the disk, set the pace:
one that gains nothing by its queue ("fixed" with parallel 1 for both), or one that is slower under UAS.

BOT has one command at a time by nature.  Time is booked, not measured: a late timer does not slow the next command.
"""

import math

SETTLE = 0.1
READ_AHEAD = 8 << 20
SEGMENTS = 32
TRACK = 1 << 20
STARVED = 1.5


class Arm:
    """The mechanics, without clocks: the position, and the cost of an access at a given time."""

    def __init__(self, capacity, seek_ms=8, rotation_ms=4, mb_per_s=180):
        self.capacity = max(capacity, 1)
        self.settle = SETTLE * seek_ms / 1e3
        self.stroke = (1 - SETTLE) * seek_ms / 1e3 / (8 / 15)       # E sqrt|x-y| = 8/15
        self.turn = max(2 * rotation_ms / 1e3, 1e-9)
        self.rate = mb_per_s * 1e6
        self.position = 0
        self.streamed = 0.0         # when the medium had delivered up to `position`
        self.segments = {}          # position of a stream -> how much of it is in the cache beyond

    def positioning(self, where, now):
        distance = abs(where - self.position) / self.capacity
        seek = self.settle + self.stroke * math.sqrt(min(distance, 1))
        angle = where / TRACK % 1 * self.turn
        return seek + (angle - now - seek) % self.turn

    def access(self, where, length, now):
        """Do the access. Returns the time at which it is done."""
        beyond = self.segments.pop(where, None)
        if where == self.position:
            start = max(self.streamed, now - READ_AHEAD / self.rate)
            end = max(now, start + length / self.rate)
            self.streamed = max(start + length / self.rate, now - READ_AHEAD / self.rate)
        elif beyond is not None and beyond >= length:
            end = self.streamed = now + length / self.rate
            beyond -= length
        else:
            end = self.streamed = now + self.positioning(where, now) + length / self.rate
            beyond = 0 if beyond is None else READ_AHEAD - length  # a stream continues the last access
        self.position = where + length
        self.segments[self.position] = beyond or 0
        if len(self.segments) > SEGMENTS:
            del self.segments[next(iter(self.segments))]
        return end

    def cached(self, where, length):
        return self.segments.get(where, -1) >= length


class Immediate:
    def submit(self, task, run):
        run()

    def clear(self):
        pass


class Fixed:
    def __init__(self, loop, ms=4, mb_per_s=0, parallel=0):
        self.loop, self.delay, self.rate, self.parallel = loop, ms / 1e3, mb_per_s * 1e6, parallel
        self.link_free = 0.0
        self.busy = 0
        self.queue = []
        self.era = 0

    def submit(self, task, run):
        if not task.length and not task.is_sync:
            run()
            return
        self.queue.append((task, run))
        self._start()

    def _start(self):
        while self.queue and (not self.parallel or self.busy < self.parallel):
            task, run = self.queue.pop(0)
            done = self.loop.time() + self.delay
            if self.rate:
                self.link_free = max(self.link_free, self.loop.time()) + task.length / self.rate
                done = max(done, self.link_free)
            self.busy += 1
            self.loop.call_at(done, self._finish, run, self.era)

    def _finish(self, run, era):
        if era != self.era:
            return
        self.busy -= 1
        run()
        self._start()

    def clear(self):
        self.queue.clear()
        self.busy = 0
        self.era += 1


class Hdd:
    def __init__(self, loop, arm):
        self.loop, self.arm = loop, arm
        self.queue = []
        self.current = None
        self.free_at = 0.0
        self.era = 0

    def submit(self, task, run):
        if not task.length and not task.is_sync:
            run()
            return
        self.queue.append((task, run, self.loop.time()))
        if self.current is None:
            self._start(self.loop.time())

    def _pick(self, now):
        oldest = min(range(len(self.queue)), key=lambda i: self.queue[i][2])
        if now - self.queue[oldest][2] > STARVED:
            return oldest
        return min(range(len(self.queue)), key=lambda i: self._reach(self.queue[i][0], now))

    def _reach(self, task, now):
        if task.is_sync or task.cached or task.place == self.arm.position or self.arm.cached(task.place, task.length):
            return 0
        return self.arm.positioning(task.place, now)

    def _start(self, now):
        if not self.queue:
            self.current = None
            return
        index = self._pick(now)
        task, run, _ = self.queue.pop(index)
        if task.is_sync:
            done = now + math.ceil(task.dirty_extents / 16) * (self.arm.settle + self.arm.turn / 2)
        elif task.cached:
            done = now + task.length / self.arm.rate
        else:
            done = self.arm.access(task.place, task.length, now)
        self.current = task
        self.free_at = done
        self.loop.call_at(done, self._finish, run, self.era)

    def _finish(self, run, era):
        if era != self.era:
            return
        backlog = bool(self.queue)
        run()
        # with waiting work the arm was not idle since it was free, however late this timer is
        self._start(self.free_at if backlog else self.loop.time())

    def clear(self):
        self.queue.clear()
        self.current = None
        self.era += 1


class PerProto:
    def __init__(self, models):
        self.models = models

    def submit(self, task, run):
        self.models[task.proto].submit(task, run)

    def clear(self):
        for one in self.models.values():
            one.clear()


def make(spec, loop, capacity):
    spec = dict(spec or {"kind": "none"})
    kind = spec.pop("kind", "none")
    if kind == "fixed":
        return Fixed(loop, **spec)
    if kind == "hdd":
        return Hdd(loop, Arm(capacity, **spec))
    if kind == "per-proto":
        models = {proto: make(spec.pop(proto, None), loop, capacity) for proto in ("bot", "uas")}
        if spec:
            raise ValueError(f"latency per-proto has bot and uas, not {', '.join(spec)}")
        return PerProto(models)
    if kind == "none":
        return Immediate()
    raise ValueError(f"latency kind {kind!r}")

# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long a test waits, in one place. A test that is given up too early on a slow machine gets more time by UASD_PATIENCE=3.

What must happen is waited for with until() or patience(). Time that uasd itself measures does not stretch: let_pass().
tests/unit/test-patience.py finds other waits.
"""

import os
import signal
import time


def told():
    """The factor that the user gives, or 0."""
    return float(os.environ.get('UASD_PATIENCE') or 0)


def factor():
    """Without UASD_PATIENCE it follows the load: with four processes for each processor everything takes four times as long."""
    return told() or max(1, os.getloadavg()[0] / os.cpu_count())


def patience(seconds=20):
    return seconds * factor()


def until(condition, what='it happens', seconds=20, pause=0.02):
    """What the condition returns as soon as that is true."""
    end = time.monotonic() + patience(seconds)
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError('not within %.0f s: %s' % (patience(seconds), what))
        time.sleep(pause)
    return found


def let_pass(seconds):
    """For a period that uasd measures. It is no wait for an event."""
    time.sleep(seconds)


def process_state(pid):
    """As in proc(5): 'S' sleeps, 'T' is stopped, 'Z' is a zombie."""
    with open(f'/proc/{pid}/stat') as stat:
        return stat.read().rpartition(')')[2].split()[0]


def alive(pid):
    """A process that nobody waits for stays as a zombie where PID 1 does not wait for orphans, as in many containers."""
    try:
        return process_state(pid) not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


def stop(process):
    """SIGSTOP. It is sent, and the process stops later: until then it could still take an event."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: process_state(process.pid) == 'T', 'it is stopped')

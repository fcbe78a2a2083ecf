# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs programs, without a shell, that end before this one does."""

import ctypes
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TICK_MSEC = 200
PATIENCE = 3.0  # after SIGINT fio writes its results; if it takes longer, it hangs
EXIT_NO_PROGRAM = 127
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None)

# Called meanwhile. It may raise an error that ends the program.
Tick = Callable[[], None]


@dataclass(frozen=True)
class End:
    status: int  # as from waitpid()
    usage: resource.struct_rusage

    @property
    def code(self) -> int:
        """The exit status; negative: it died of a signal."""
        return os.waitstatus_to_exitcode(self.status)


def die_with(parent: int) -> Callable[[], None]:
    def in_child() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(EXIT_NO_PROGRAM)
    return in_child


def _follow(p: subprocess.Popen[bytes], tick: Tick | None) -> Exception | None:
    """Until its last thread has ended. Returns the error of tick()."""
    pidfd = os.pidfd_open(p.pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    stopped: Exception | None = None
    at = 0.0
    try:
        while not poll.poll(TICK_MSEC):
            if stopped is not None:
                if time.monotonic() - at >= PATIENCE:
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                continue
            try:
                if tick:
                    tick()
            except Exception as error:
                stopped, at = error, time.monotonic()
                signal.pidfd_send_signal(pidfd, signal.SIGINT)
    finally:
        os.close(pidfd)
    return stopped


def run(arguments: Sequence[str], executable: str | None = None, tick: Tick | None = None,
        stdio: Sequence[int | None] = (None, None, None), fds: Sequence[int] = (),
        environment: dict[str, str] | None = None) -> End:
    """Runs a program until its last thread has ended.

    Signals of the terminal do not reach it, and it dies with us. It gets the descriptors under
    their numbers. If tick() raises an error the program gets SIGINT, and after three seconds
    SIGKILL; the error is raised when it has ended. Raises OSError if
    there is no such program.
    """
    p = subprocess.Popen(
        arguments, executable=executable, stdin=stdio[0], stdout=stdio[1], stderr=stdio[2],
        pass_fds=fds, cwd='/', env=environment, process_group=0,
        preexec_fn=die_with(os.getpid()))
    try:
        stopped = _follow(p, tick)
    except BaseException:
        p.kill()
        raise
    finally:
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if stopped:
        raise stopped
    return End(status, usage)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""QEMU's monitor (QMP) and the guest agent: JSON lines on two unix sockets."""

import base64
import json
import os
import random
import socket
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ctl"))
from patience import patience  # noqa: E402


class VmError(Exception):
    """A failure of the harness, not of the product."""


class CommandFailed(Exception):
    """A command in the guest failed."""

    def __init__(self, command, result):
        super().__init__("%s: exit %s\n%s%s" % (command, result.rc,
                                                result.out[-3000:], result.err[-3000:]))
        self.result = result


class CommandTimeout(Exception):
    """A command in the guest, or a condition, took too long."""


class Result:
    """The result of a command in the guest: .rc .out .err, .text is out stripped."""

    def __init__(self, rc, out, err):
        self.rc = rc
        self.out = out
        self.err = err
        self.text = out.strip()

    def __bool__(self):
        return self.rc == 0

    def __repr__(self):
        return "Result(rc=%r, out=%r, err=%r)" % (self.rc, self.out, self.err)


class Lines:
    """JSON objects, one a line, over a unix socket."""

    def __init__(self, path, timeout=10):
        end = time.monotonic() + timeout
        while True:
            self.sock = socket.socket(socket.AF_UNIX)
            try:
                self.sock.connect(path)
                break
            except OSError:
                self.sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self.data = b""

    def send(self, message, prefix=b""):
        self.sock.settimeout(10)
        self.sock.sendall(prefix + json.dumps(message).encode() + b"\n")

    def receive(self, timeout):
        """The next object; TimeoutError when there is none in time."""
        end = time.monotonic() + timeout
        while b"\n" not in self.data:
            self.sock.settimeout(max(0.001, end - time.monotonic()))
            got = self.sock.recv(1 << 16)
            if not got:
                raise ConnectionError("closed")
            self.data += got
        line, _, self.data = self.data.partition(b"\n")
        # The agent marks the end of rubbish with 0xff (guest-sync-delimited).
        return json.loads(line.rpartition(b"\xff")[2] or b"{}")

    def close(self):
        self.sock.close()


class Monitor:
    """QMP: call() a command, wait_event() for events of QEMU."""

    def __init__(self, path):
        self.lines = Lines(path, timeout=30)
        self.events = []
        self.lines.receive(10)
        self.call("qmp_capabilities")

    def call(self, command, timeout=60, **arguments):
        self.lines.send({"execute": command, "arguments": arguments})
        end = time.monotonic() + timeout
        while True:
            answer = self.lines.receive(end - time.monotonic())
            if "event" in answer:
                self.events.append(answer)
            elif "error" in answer:
                raise VmError("QMP %s: %s" % (command, answer["error"].get("desc")))
            else:
                return answer["return"]

    def poll_event(self, name, timeout=0.0):
        """True when event NAME has come (it is then used up)."""
        end = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event["event"] == name:
                    self.events.remove(event)
                    return True
            try:
                answer = self.lines.receive(max(0.001, end - time.monotonic()))
            except (TimeoutError, socket.timeout):
                return False
            if "event" in answer:
                self.events.append(answer)

    def close(self):
        self.lines.close()


class Agent:
    """qemu-ga in the guest. ALIVE() raises when the guest cannot answer any more."""

    ENV = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
           "HOME=/root", "TERM=dumb", "LC_ALL=C.UTF-8"]

    def __init__(self, path, alive):
        self.path = path
        self.alive = alive
        self.lines = None
        self.lock = threading.RLock()
        self.stale = False

    def drop(self):
        """Drop the connection: the guest is gone or was reset."""
        with self.lock:
            if self.lines:
                self.lines.close()
            self.lines = None

    def connect(self, timeout):
        """Until the agent answers. A new connection each time: what an agent
        never read would otherwise be answered by the next boot's."""
        with self.lock:
            end = time.monotonic() + timeout
            while True:
                self.alive()
                self.drop()
                number = random.getrandbits(31)
                try:
                    self.lines = Lines(self.path, timeout=5)
                    self.lines.send({"execute": "guest-sync-delimited",
                                     "arguments": {"id": number}}, b"\xff")
                    pause = min(2.0, max(0.1, end - time.monotonic()))
                    while self.lines.receive(pause).get("return") != number:
                        pass
                    return
                except (OSError, ValueError):
                    if time.monotonic() > end:
                        self.drop()
                        raise CommandTimeout(
                            "the guest agent did not answer in %.0f s" % timeout)
                    time.sleep(0.1)

    def call(self, command, timeout=20, **arguments):
        with self.lock:
            if self.lines is None:
                self.connect(timeout)
            self.lines.send({"execute": command, "arguments": arguments})
            end = time.monotonic() + patience(timeout)
            while True:
                try:
                    answer = self.lines.receive(0.5)
                    break
                except (TimeoutError, socket.timeout):
                    self.alive()
                    if time.monotonic() > end:
                        self.drop()
                        raise CommandTimeout("guest agent: %s: no answer in %.0f s"
                                             % (command, timeout))
                except OSError:
                    self.drop()
                    self.alive()
                    raise
            if "error" in answer:
                raise VmError("agent %s: %s" % (command, answer["error"].get("desc")))
            return answer.get("return")

    def start(self, command, stdin=None):
        """Start a shell command; its pid. Read status() until it has exited."""
        arguments = {"path": "/usr/bin/setsid", "arg": ["/bin/sh", "-c", command],
                     "env": self.ENV, "capture-output": True}
        if stdin is not None:
            arguments["input-data"] = base64.b64encode(stdin).decode()
        return self.call("guest-exec", **arguments)["pid"]

    def finish(self, pid, command, timeout):
        """Wait for start()'s command. It is killed at its time limit."""
        end = time.monotonic() + timeout
        pause = 0.01
        while True:
            status = self.call("guest-exec-status", pid=pid)
            if status["exited"]:
                break
            self.alive()
            if time.monotonic() > end:
                self.call("guest-exec", path="/bin/sh", env=self.ENV,
                          arg=["-c", "kill -9 -%d" % pid])
                raise CommandTimeout("after %.0f s: %s" % (timeout, command))
            time.sleep(pause)
            pause = min(0.25, pause * 1.5)
        text = [base64.b64decode(status.get(key, "")).decode("utf-8", "replace")
                for key in ("out-data", "err-data")]
        rc = status.get("exitcode", -status.get("signal", 0))
        return Result(rc, *text)

    def write(self, path, data):
        handle = self.call("guest-file-open", path=path, mode="w")
        try:
            for at in range(0, len(data), 1 << 20):
                part = data[at:at + (1 << 20)]
                self.call("guest-file-write", handle=handle,
                          **{"buf-b64": base64.b64encode(part).decode()})
        finally:
            self.call("guest-file-close", handle=handle)

    def read(self, path):
        handle = self.call("guest-file-open", path=path, mode="r")
        parts = []
        try:
            while True:
                got = self.call("guest-file-read", handle=handle, count=1 << 20)
                parts.append(base64.b64decode(got["buf-b64"]))
                if got["eof"] or not got["count"]:
                    return b"".join(parts)
        finally:
            self.call("guest-file-close", handle=handle)



def unused_name(prefix="j"):
    return "%s%08x" % (prefix, random.getrandbits(32))


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"



# SPDX-License-Identifier: LGPL-2.1-or-later
"""One QEMU process: how it is started, watched and ended.

A power cut is SIGKILL. With cache=writeback QEMU writes guest data into the
qcow2 file at once, but the tables that make new clusters part of the disk
only at the guest's own flushes: killed, the overlay falls back to the last
flush of everything that lies in clusters new since then. (Clusters already
there keep what was written, as a drive may write back early; and a QMP
`quit` would flush all.) cache=unsafe must not be used: it drops the guest's
flushes, and synced data would be lost as well.
"""

import atexit
import ctypes
import os
import re
import signal
import subprocess
import time
import typing

import qmp

PANIC = re.compile(rb"(?:Kernel panic - not syncing|vm-files: ).*")
MEMORY = 1024
PORTS = 8

# The host is not what loses its power here. Its own flushes are left out, or a guest
# waits half a minute at one while the host writes an image (seen in CI: a hold
# of 20 s over after 53). What QEMU does at a guest's flush to its qcow2 tables stays.
NO_HOST_FLUSHES = {"LD_PRELOAD": "libeatmydata.so"}

_children = []


def die_with_parent():
    """Between fork and exec: no process outlives the harness, even if it is killed."""
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


def spawn(args, log, env=None, pass_fds=()):
    """A child process of the harness, its output in the file LOG."""
    with open(log, "ab") as out:
        child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, env=env,
                                 pass_fds=pass_fds, preexec_fn=die_with_parent)
    _children.append(child)
    return child


def end(child):
    if child.poll() is None:
        child.kill()
    child.wait()
    if child in _children:
        _children.remove(child)


@atexit.register
def end_all():
    for child in list(_children):
        end(child)


class Processors(typing.NamedTuple):
    """COUNT of them. SHIFT: the guest's clock counts instructions, 2 to the power of SHIFT ns each, so that no load of the host
    affects it. Where a guest waits for its disk, its clock is that of the host."""
    count: int = 1
    shift: int | None = None


def processor(arch, cpus=Processors()):
    """The program, its accelerator, processors and board. tcg: /dev/kvm of a nested host may open and then hang. Ask for kvm."""
    if arch == "arm64":
        return ["qemu-system-aarch64", "-accel", "tcg,thread=single,tb-size=512", "-cpu", "cortex-a57",
                "-smp", str(cpus.count), "-M", "virt,memory-backend=ram,usb=off"]
    return ["qemu-system-x86_64"] + accelerator(cpus) + ["-smp", str(cpus.count), "-M", "q35,memory-backend=ram,usb=off"]


def accelerator(cpus):
    if os.environ.get("UASD_VM_ACCEL") == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    counted = [] if cpus.shift is None else ["-icount", "shift=%d,sleep=on" % cpus.shift]
    # Multi-threaded TCG sometimes fails at the kernel's code patching. cpu "max" boots a third slower than a plain x86-64-v2.
    thread = "multi" if cpus.count > 1 and not counted else "single"
    return ["-accel", "tcg,thread=%s,tb-size=512" % thread, "-cpu", "Nehalem"] + counted


class GuestPanic(Exception):
    """The guest does not go on; the console says why."""


class Machine:
    """QEMU on one system disk. Files, sockets and logs lie in FOLDER."""

    def __init__(self, folder, image, disk, cpus):
        self.folder = folder
        self.cpus = cpus
        self.image = image
        self.disk = disk
        self.process = None
        self.monitor = None
        self.console = os.path.join(folder, "console.log")
        self.seen = 0
        self.panic = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, initrd, cmdline, memory=None, incoming=None, drives=(), forward=None):
        """Start QEMU, its processor stopped. MEMORY: (file, shared); DRIVES: raw files; FORWARD: (port of the host, port of 10.0.2.15)."""
        assert self.process is None, "QEMU runs already"
        for name in ("qmp.sock", "agent.sock", "console.sock"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        self.panic = None
        args = processor(self.image.arch, self.cpus) + [
            "-S", "-m", str(MEMORY),
            "-nodefaults", "-no-user-config", "-display", "none"]
        if memory:
            args += ["-object", "memory-backend-file,id=ram,size=%dM,mem-path=%s,share=%s"
                     % (MEMORY, memory[0], "on" if memory[1] else "off")]
        else:
            args += ["-object", "memory-backend-ram,id=ram,size=%dM" % MEMORY]
        args += [
            "-kernel", self.image.kernel, "-append", cmdline,
            "-drive", "file=%s,if=none,id=root,format=qcow2,cache=writeback" % self.disk,
            "-device", "virtio-blk-pci,drive=root",
            "-device", "qemu-xhci,id=xhci,p2=%d,p3=%d" % (PORTS, PORTS),
            "-object", "rng-random,id=rng,filename=/dev/urandom",
            "-device", "virtio-rng-pci,rng=rng",
            "-device", "virtio-serial-pci",
            "-chardev", "socket,id=agent,server=on,wait=off,path=" + self.path("agent.sock"),
            "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
            "-chardev", "socket,id=console,server=on,wait=off,logappend=on,path=%s,logfile=%s"
            % (self.path("console.sock"), self.console),
            "-serial", "chardev:console",
            "-qmp", "unix:%s,server=on,wait=off" % self.path("qmp.sock")]
        if initrd:
            args += ["-initrd", initrd]
        for number, path in enumerate(drives):
            args += ["-drive", "file=%s,if=none,id=drive%d,format=raw,cache=writeback" % (path, number),
                     "-device", "virtio-blk-pci,drive=drive%d" % number]
        if forward:
            args += ["-nic", "user,restrict=on,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:%d-10.0.2.15:%d" % forward]
        if incoming:
            args += ["-incoming", "defer"]
        with open(self.path("qemu.log"), "a") as log:
            log.write(" ".join(args) + "\n")
        self.process = spawn(args, self.path("qemu.log"), env=dict(os.environ, **NO_HOST_FLUSHES))
        try:
            self.monitor = qmp.Monitor(self.path("qmp.sock"))
        except OSError:
            self.alive()
            raise
        if incoming:
            self.monitor.call("migrate-set-capabilities", capabilities=[
                {"capability": "x-ignore-shared", "state": True}])
            self.monitor.call("migrate-incoming", uri="exec:cat '%s'" % incoming)
            self.wait_migrated()

    def wait_migrated(self, timeout=120):
        end_time = time.monotonic() + timeout
        while True:
            info = self.monitor.call("query-migrate")
            if info.get("status") == "completed":
                return
            if info.get("status") == "failed" or time.monotonic() > end_time:
                raise qmp.VmError("saving or resuming the guest: %s" % info)
            self.alive()
            time.sleep(0.02)

    def save(self, target):
        """Stop for good. All but the memory's contents goes to TARGET."""
        self.monitor.call("stop")
        self.monitor.call("migrate-set-capabilities", capabilities=[
            {"capability": "x-ignore-shared", "state": True}])
        self.monitor.call("migrate", uri="exec:cat >'%s'" % target)
        self.wait_migrated()

    def run(self):
        self.monitor.call("cont")

    def alive(self):
        """Raise when QEMU has ended or the guest's kernel has panicked."""
        if self.process is None or self.process.poll() is not None:
            with open(self.path("qemu.log"), errors="replace") as log:
                raise qmp.VmError("QEMU is not running: " + log.read()[-2000:])
        if self.panic is None and os.path.exists(self.console):
            with open(self.console, "rb") as log:
                # A little again: the message may have been cut in two.
                log.seek(max(0, self.seen - 200))
                found = PANIC.search(log.read())
                self.seen = log.tell()
            if found:
                self.panic = found.group().decode("utf-8", "replace").strip()
        if self.panic is not None:
            raise GuestPanic(self.panic)

    def attach(self, port, path):
        """Plug the cable of port PORT into the disk process listening on PATH."""
        self.monitor.call("chardev-add", id="cable%d" % port, backend={
            "type": "socket", "data": {
                "addr": {"type": "unix", "data": {"path": path}},
                "server": False, "reconnect": 1}})
        self.monitor.call("device_add", driver="usb-redir", id="usb%d" % port,
                          chardev="cable%d" % port, bus="xhci.0", port=str(port))

    def detach(self, port):
        self.monitor.call("device_del", id="usb%d" % port)  # its chardev goes with it

    def kill(self):
        """The power fails."""
        if self.process:
            end(self.process)
        self.forget()

    def quit(self):
        """End QEMU with everything written to the overlay."""
        if self.process:
            try:
                self.monitor.lines.send({"execute": "quit"})
                self.process.wait(20)
            except (OSError, subprocess.TimeoutExpired):
                pass
            end(self.process)
        self.forget()

    def forget(self):
        if self.monitor:
            self.monitor.close()
        self.process = self.monitor = None

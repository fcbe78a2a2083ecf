# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest: boots, runs commands, loses its power."""

import json
import os
import subprocess
import time

import cpio
import qmp
from machine import Machine, Processors
from qmp import CommandFailed, CommandTimeout, Result, patience, quote

# TCG caches translated code by its address: code at a different address in each process is translated each time.
# On a loaded host QEMU is late with the ticks by which the kernel tests its timer: "MP-BIOS bug: 8254 timer not connected to
# IO-APIC", and the boot hangs.
CONSOLE = {"amd64": "ttyS0 no_timer_check", "arm64": "ttyAMA0"}
CMDLINE = ("root=/dev/vda rootfstype=ext4 rw mitigations=off norandmaps init_on_alloc=0 "
           "nosoftlockup panic_on_oops=1 net.ifnames=0")


def cmdline_of(image):
    return "console=%s %s" % (CONSOLE[image.arch], CMDLINE)


FSTAB = "/dev/vda / ext4 errors=remount-ro 0 1\n"


def overlay(backing, kind, path):
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", backing,
                    "-F", kind, path], check=True)


class Job:
    """A command running in the background of the guest."""

    def __init__(self, guest, command):
        self.guest = guest
        self.command = command
        # A case may fill /run.
        self.base = "/dev/shm/" + qmp.unused_name("vm-job-")
        # The agent would wait for processes with its pipes open.
        guest.run("(setsid sh -c %s >%s.out 2>%s.err; echo $? >%s.rc.new; "
                  "mv %s.rc.new %s.rc) </dev/null >/dev/null 2>&1 & echo $! >%s.pid"
                  % ((quote(command),) + (self.base,) * 6), check=True)

    def poll(self):
        """None while it runs, then its Result."""
        rc = self.guest.run("cat %s.rc 2>/dev/null" % self.base)
        if rc.rc:
            return None
        return Result(int(rc.text), self.output(), self.guest.run(
            "cat %s.err" % self.base).out)

    def output(self):
        return self.guest.run("cat %s.out" % self.base).out

    def wait(self, timeout=60, check=False):
        def ended():
            result = self.poll()
            return None if result is None else [result]  # a Result that failed is false
        [result] = self.guest.until(ended, timeout, self.command)
        if check and result.rc:
            raise CommandFailed(self.command, result)
        return result

    def kill(self, signal="KILL"):
        """Also what it has started."""
        self.guest.run("pkill -%s -s $(pgrep -P $(cat %s.pid) | tr '\\n' ,)"
                       " || pkill -%s -P $(cat %s.pid)"
                       % (signal, self.base, signal, self.base))


class Guest:
    """One guest on one system disk; boot() or resume() it first.

    Files lie in FOLDER: console.log, qemu.log, the overlay root.qcow2.
    """

    def __init__(self, folder, image, cpus=Processors()):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.image = image
        self.disks = {}
        self.machine = Machine(folder, image, os.path.join(folder, "root.qcow2"), cpus)
        self.agent = qmp.Agent(os.path.join(folder, "agent.sock"), self.machine.alive)

    # -- power ---------------------------------------------------------------

    def boot(self, cmdline="", fstab=(), files=None, remove=(), mask=(),
             initramfs=None, disks=(), wait="booted", timeout=180, memory=None,
             drives=(), forward=None):
        """A cold boot; on the same system disk if there was one before.

        cmdline    added to the kernel command line
        fstab      lines added to /etc/fstab
        files      {path: text, bytes, Path, cpio.Link or cpio.Exec} in the root;
                   laid once, before systemd starts
        remove     paths taken away from it
        mask       units masked
        initramfs  like files, in the initramfs
        disks      plugged in before the kernel starts
        drives     media.Media of internal disks: vdb and so on
        forward    (port of the host, port of the guest's 10.0.2.15): the guest has a network card
        wait       "booted" (running or degraded), "agent", or "none"
        """
        if not os.path.exists(self.machine.disk):
            overlay(self.image.root, "raw", self.machine.disk)
        files = dict(files or {})
        if fstab:
            files["/etc/fstab"] = FSTAB + "".join(line.rstrip("\n") + "\n" for line in fstab)
        for unit in mask:
            files["/etc/systemd/system/" + unit] = cpio.Link("/dev/null")
        extra = cpio.overlay(files, remove, initramfs)
        initrd = self.image.initrd
        if extra:
            assert initrd, "files are laid by the initramfs"
            initrd = os.path.join(self.folder, "initrd.img")
            cpio.append(self.image.initrd, extra, initrd)
        self.machine.start(initrd, (cmdline_of(self.image) + " " + cmdline).strip(), memory=memory,
                           drives=[one.path for one in drives], forward=forward)
        for disk in disks:
            self.plug(disk)
        self.machine.run()
        self.wait_boot(wait, timeout)
        return self

    def resume(self, state, disks=()):
        """Go on with a guest saved in the folder STATE (see saved.py)."""
        overlay(os.path.join(state, "root.qcow2"), "qcow2", self.machine.disk)
        self.machine.start(self.image.initrd, cmdline_of(self.image),
                           memory=(os.path.join(state, "memory"), False),
                           incoming=os.path.join(state, "state"))
        self.machine.run()
        self.agent.connect(30)
        self.run("date -s @%.3f" % time.time(), check=True)
        for disk in disks:
            self.plug(disk)
        return self

    def wait_boot(self, wait="booted", timeout=180):
        """Until the agent answers, or systemd has nothing left to start."""
        end = time.monotonic() + patience(timeout)
        if wait == "none":
            return
        self.agent.connect(patience(timeout))
        if wait == "agent":
            return
        while self.state() not in ("running", "degraded"):
            if time.monotonic() > end:
                raise CommandTimeout("not booted after %.0f s; jobs:\n%s" % (
                    timeout, self.run("systemctl list-jobs --no-pager").out))
            time.sleep(0.3)

    def state(self):
        """What systemctl is-system-running says."""
        return self.run("systemctl is-system-running").text

    def reboot(self, wait="booted", timeout=240):
        """Restart by systemd, in the same QEMU, with the disks as they are."""
        while self.machine.monitor.poll_event("RESET"):
            pass  # of earlier restarts: QEMU may report one several times
        self.run("systemctl --no-block reboot", check=True)
        end = time.monotonic() + patience(timeout)
        while not self.machine.monitor.poll_event("RESET", 0.2):
            self.machine.alive()
            if time.monotonic() > end:
                raise CommandTimeout("no reset %.0f s after systemctl reboot" % timeout)
        self.agent.drop()
        self.wait_boot(wait, end - time.monotonic())

    def power_cut(self):
        """Power off, now, for the guest and its attached disks.

        Page cache, unflushed writes to the system disk (machine.py) and the
        USB disks' volatile caches are gone. boot() comes after it.
        """
        self.machine.kill()
        self.agent.drop()
        for disk in self.disks.values():
            disk.power_loss()
        self.disks = {}

    def shut_down(self, timeout=120):
        """An orderly end, by the init."""
        # The other poweroff waits, and the agent ends before it.
        self.run("if [ -d /run/systemd/system ]; then systemctl --no-block poweroff; else poweroff </dev/null >/dev/null 2>&1 & fi", check=True)
        try:
            self.machine.process.wait(patience(timeout))
        except subprocess.TimeoutExpired:
            raise CommandTimeout("not powered off in %.0f s" % timeout) from None
        self.machine.quit()
        self.agent.drop()
        self.disks = {}

    def close(self):
        self.machine.kill()
        self.agent.drop()

    # -- USB -----------------------------------------------------------------

    def attach(self, disk, port=None):
        """Lead the cable of port PORT (1..8, default the first free) to DISK."""
        if port is None:
            port = min(set(range(1, 9)) - set(self.disks))
        self.machine.attach(port, disk.socket)
        self.disks[port] = disk
        disk.port = port
        return disk

    def plug(self, disk, port=None):
        """Plug DISK in; its cable is led to a port first if it is to none."""
        if disk not in self.disks.values():
            self.attach(disk, port)
        disk.plug()

    def detach(self, disk):
        """Remove the cable for good. disk.unplug() only pulls the disk."""
        self.machine.detach(disk.port)
        del self.disks[disk.port]

    # -- commands ------------------------------------------------------------

    def run(self, command, timeout=60, check=False, input=None):
        """Run a shell command as root; its Result (.rc .out .err .text)."""
        if isinstance(input, str):
            input = input.encode()
        result = self.agent.finish(self.agent.start(command, input), command, patience(timeout))
        if check and result.rc:
            raise CommandFailed(command, result)
        return result

    def out(self, command, timeout=60):
        """The output of a command that must succeed, stripped."""
        return self.run(command, timeout, check=True).text

    def spawn(self, command):
        """Start a shell command in the background: a Job."""
        return Job(self, command)

    def put(self, path, data, mode=None):
        """Write a file in the guest, with the folders above it."""
        self.run("mkdir -p %s" % quote(os.path.dirname(path)), check=True)
        if isinstance(data, cpio.Link):
            self.run("ln -sfn %s %s" % (quote(data), quote(path)), check=True)
            return
        kind, content = cpio.entry(data)
        self.agent.write(path, content)
        self.run("chmod %o %s" % (mode or kind & 0o777, quote(path)), check=True)

    def get(self, path):
        """The bytes of a file in the guest."""
        return self.agent.read(path)

    def until(self, question, timeout=30, what="condition"):
        """Ask until the answer is true: an empty list, or a Result that failed, is none. Returns the answer."""
        began = time.monotonic()
        while True:
            answer = question()
            if answer:
                return answer
            self.machine.alive()
            if time.monotonic() > began + patience(timeout):
                raise CommandTimeout("not within %.0f s: %s" % (patience(timeout), what))
            time.sleep(0.15)

    def wait_until(self, command, timeout=30):
        """Until a shell command succeeds; its Result."""
        return self.until(lambda: self.run(command), timeout, command)

    # -- looking -------------------------------------------------------------

    def journal(self, options="-b"):
        return self.run("journalctl --no-pager -o short-monotonic " + options,
                        timeout=120).out

    def kernel_log(self):
        return self.run("dmesg").out

    def mark(self, text):
        """A line in the kernel log, to find a position again."""
        self.run("echo %s >/dev/kmsg" % quote("vm: " + text))

    def udev(self, device):
        """The udev properties of a /dev node or a /sys path, as a dict."""
        kind = "--path" if device.startswith("/sys") else "--name"
        text = self.out("udevadm info --query=property %s=%s" % (kind, device))
        return dict(line.partition("=")[::2] for line in text.splitlines())

    def read(self, path):
        """A short file, e.g. of sysfs, stripped; None when it is not there."""
        result = self.run("cat " + quote(path))
        return result.text if result.rc == 0 else None

    def driver(self, interface="2-1:1.0"):
        """The driver of a USB interface: "uas", "usb-storage", None."""
        result = self.run("readlink /sys/bus/usb/devices/%s/driver" % interface)
        return os.path.basename(result.text) or None

    def block_devices(self, interface="2-1:1.0"):
        """Names of the whole disks behind a USB interface, by LUN."""
        result = self.run("ls -d /sys/bus/usb/devices/%s/host*/target*/*/block/*"
                          % interface)
        return [os.path.basename(path) for path in sorted(result.out.split())]

    def wait_disk(self, interface="2-1:1.0", driver=None, timeout=60, count=1):
        """Wait until COUNT disks are there (and on DRIVER) and udev has settled; names."""
        def look():
            if driver and self.driver(interface) != driver:
                return None
            names = self.block_devices(interface)
            return names if len(names) >= count else None
        names = self.until(look, timeout, "%d disk(s) at %s on %s"
                           % (count, interface, driver or "any driver"))
        self.run("udevadm settle --timeout=20")
        return names

    def sysfs(self, path, value):
        """One write(2) of VALUE: None if it went well, else the errno's name."""
        result = self.run(
            "exec python3 -c 'import errno,os,sys\n"
            "try: os.write(os.open(sys.argv[1], os.O_WRONLY), sys.argv[2].encode())\n"
            "except OSError as e: print(errno.errorcode[e.errno])' %s %s"
            % (quote(path), quote(value)), timeout=120, check=True)
        return result.text or None

    def mounts(self):
        """{mount point: (source, type, options)} of PID 1's namespace."""
        found = {}
        for line in self.out("cat /proc/1/mounts").splitlines():
            source, where, kind, options = line.split()[:4]
            found[where] = (source, kind, options)
        return found

    def uasctl(self, arguments):
        """The JSON that `uasctl ARGUMENTS --json` prints."""
        return json.loads(self.out("uasctl --json " + arguments))


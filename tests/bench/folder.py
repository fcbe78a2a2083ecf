# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine in a folder with N disks on uas, and uasd on a private bus."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ctl"))
import privatebus  # noqa: E402
from tree import BOOT, Tree  # noqa: E402

# Records of so many disks fit into the history.
RECORDS = 256
DEVICES = 126  # on a bus, without its root hub
RECORD = "1209:5a5a:S%d@0000:00:14.0/ss/%d=state=passed firmware=0214 kernel=6.1.0-test boot=" + BOOT + " date=- reason=-\n"
RECORD_OF_UDEV = """I:2000000
E:ID_VENDOR=Maker
E:ID_VENDOR_ENC=Maker
E:ID_VENDOR_ID=1209
E:ID_MODEL=Disk
E:ID_MODEL_ENC=Disk
E:ID_MODEL_ID=5a5a
E:ID_REVISION=0214
E:ID_SERIAL=Maker_Disk_S{0}
E:ID_SERIAL_SHORT=S{0}
E:ID_BUS=usb
E:ID_USB_INTERFACES=:080650:080662:
E:UASD_CAPABLE=1
G:systemd
Q:systemd
V:1
"""
# valgrind shows its process the CPU of the host, and libc has functions for each. Without these they are the same everywhere.
PLAIN_LIBC = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-FSRM,-RTM,-BMI2,-EVEX"

CALLGRIND = ("valgrind", "-q", "--tool=callgrind")


def port_of(number):
    return "%d-%d" % (2 + number // DEVICES, number % DEVICES + 1)


def node(number):
    return "sd" + "".join(chr(ord("a") + number // 26 ** power % 26) for power in (2, 1, 0))


def in_empty_root(folder):
    """A process whose root is FOLDER."""
    pid = os.fork()
    if pid == 0:
        os.chroot(folder)
        while True:
            signal.pause()
    return pid


class Machine:
    def __init__(self, uasctl, count):
        self.tree = Tree(uasctl)
        self.folder = tempfile.mkdtemp(prefix="bench-")
        # No other variable: the loader reads all of them.
        self.env = {"PATH": os.environ["PATH"], "DBUS_SYSTEM_BUS_ADDRESS": privatebus.address(self.folder), "TREE": self.tree.top,
                    "LC_ALL": "C.UTF-8", "GLIBC_TUNABLES": PLAIN_LIBC}
        # A real mount table, because only that reports changes: that of a process which sees no mount from its root.
        self.nobody = in_empty_root(self.tree.path("dev"))
        self.mount_table(self.nobody)
        os.mkfifo(self.tree.path("uevents"))
        history = "generation=1\n" + "".join(RECORD % (i, i % DEVICES + 1) for i in range(min(count, RECORDS)))
        self.tree.write("etc/uasd/history", history)
        self.tree.write("var/lib/uasd/history", history)
        for number in range(count):
            self.add(number)
        self.count = count
        self.bus = privatebus.start(self.folder)

    def mount_table(self, pid):
        """PID 1 has the mount table of this process."""
        os.unlink(self.tree.path("proc/1/mountinfo"))
        os.symlink("/proc/%d/mountinfo" % pid, self.tree.path("proc/1/mountinfo"))

    def start(self, command):
        self.uasd = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait(lambda: subprocess.run(["busctl", "status", "org.uasd1"], env=self.env, capture_output=True).returncode == 0)
        self.settle()

    def start_counted(self, uasd):
        """Under callgrind."""
        self.dumps = 0
        self.start([*CALLGRIND, "--callgrind-out-file=%s/out" % self.folder, uasd, self.tree.top])

    def dump(self):
        """The file with what ran since the last dump."""
        self.dumps += 1
        subprocess.run(["callgrind_control", "--dump", str(self.uasd.pid)], check=True, capture_output=True, timeout=60)
        return "%s/out.%d" % (self.folder, self.dumps)

    def stop(self):
        self.uasd.terminate()
        self.uasd.wait()

    def add(self, number, driver="uas"):
        port, name = port_of(number), node(number)
        usb = "sys/devices/pci0000:00/0000:00:14.0/usb%s/%s" % (port[0], port)
        block = "%s/%s:1.0/host3/target3:0:0/3:0:0:0/block/%s" % (usb, port, name)
        self.tree.disk(port, name, driver, serial="S%d" % number)
        minor = (int(port[0]) - 1) * 128 + number % DEVICES + 1
        self.tree.write(usb + "/dev", "189:%d\n" % minor)
        self.tree.write("run/udev/data/c189:%d" % minor, RECORD_OF_UDEV.format(number))
        self.tree.write(block + "/dev", "8:%d\n" % (16 * number))
        os.makedirs(self.tree.path("sys/dev/block"), exist_ok=True)
        self.tree.link("sys/dev/block/8:%d" % (16 * number), block)

    def wait(self, condition, seconds=300):
        end = time.monotonic() + seconds
        while not condition():
            if self.uasd.poll() is not None or time.monotonic() > end:
                raise RuntimeError("uasd has ended, or it takes too long")
            time.sleep(0.1)

    def ticks(self):
        """Whether it sleeps and has no child at work, and its CPU time. A child may wait for a processor longer than for half a second."""
        with open("/proc/%d/stat" % self.uasd.pid) as stat:
            words = stat.read().rpartition(")")[2].split()
        with open("/proc/%d/task/%d/children" % (self.uasd.pid, self.uasd.pid)) as children:
            return words[0] == "S" and not children.read(), words[11:13]

    def settle(self):
        """Until it has done nothing for half a second."""
        same = 0
        while same < 5:
            before = self.ticks()
            time.sleep(0.1)
            same = same + 1 if self.ticks() == before and before[0] else 0

    def event(self, *words):
        with open(self.tree.path("uevents"), "wb") as fifo:
            fifo.write((" ".join(words) + "\n").encode())
        self.settle()

    def close(self):
        self.uasd.kill()
        self.uasd.wait()
        privatebus.kill(self.bus)
        os.kill(self.nobody, signal.SIGKILL)
        os.waitpid(self.nobody, 0)
        self.tree.close()
        shutil.rmtree(self.folder)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Faults around uasd: other services, events, files, clocks, packages. After each of them the disk works on a driver, nothing is
held, and uasctl reports the real state.
"""

import json
import time

from context import case
from evidence import gone, only_disk, switch, waiting, well, when
from holds import boot
from users import ask, daemon, goes, settled, waits_for


@case(image="vendor", cpus=2)
def services_gone(vm):
    "Without D-Bus, then without journald, then with udevd restarted under it, a waiting disk is switched all the same."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    pid = guest.out("systemctl show -P MainPID uasd")
    # D-Bus
    guest.run("systemctl stop dbus.socket; systemctl kill -s KILL dbus.service; systemctl stop dbus.service")
    guest.wait_until("! pgrep -x dbus-daemon", 20)
    guest.run("rm -f /run/dbus/system_bus_socket")
    assert only_disk(guest, "waiting")["driver"] == "usb-storage"  # by the private socket
    guest.run("umount /mnt", check=True)
    well(guest, disk, "uas")
    assert guest.run("uasctl switch sda usb-storage --wait=60", timeout=90).rc == 0
    well(guest, disk, "usb-storage")
    guest.run("systemctl start dbus.socket dbus.service", check=True)
    guest.wait_until("busctl --system status org.uasd1", 30)
    # journald
    guest.run("systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket "
              "systemd-journald.service")
    guest.wait_until("! pgrep -x systemd-journal", 20)
    assert guest.run("uasctl switch sda uas --wait=60", timeout=90).rc == 0
    well(guest, disk, "uas")
    guest.run("systemctl start systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service", check=True)
    # udevd
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.run("uasctl switch sda usb-storage --wait=0", timeout=60).rc == 3
    guest.run("systemctl restart systemd-udevd", check=True)
    guest.run("umount /mnt", check=True)
    well(guest, disk, "usb-storage")
    assert guest.out("systemctl show -P MainPID uasd") == pid


UDEVD = "systemd-udevd-kernel.socket systemd-udevd-control.socket systemd-udevd"


def listens(guest):
    """The netlink sockets of uasd, by their groups."""
    pid = guest.out("systemctl show -P MainPID uasd")
    return sorted(guest.out("awk '$1 != \"sk\" && $3 == %s {print $2, $4}' /proc/net/netlink" % pid).splitlines())


@case(tier="full", image="vendor", cpus=2)
def udevd_comes_and_goes(vm):
    "udevd is stopped, and started again: each time a new disk is switched, and uasd sees the end of each use, once."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    before, sockets = daemon(guest), listens(guest)
    assert sockets, guest.out("cat /proc/net/netlink")
    for number in range(2):
        guest.run("systemctl %s %s" % (("stop", "start")[number], UDEVD), check=True)
        assert guest.run("pgrep -x systemd-udevd").rc == (1, 0)[number]
        gone(guest, disk)
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
        well(guest, disk, "uas")
        waits_for(guest, disk, "mount /dev/sda1 /mnt", {"kind": "mount"}, "umount /mnt")
        # The loop device alone keeps the file system: only its own event says that it has gone.
        waits_for(guest, disk, "mount /dev/sda1 /mnt && truncate -s 1M /mnt/file && losetup /dev/loop1 /mnt/file && umount -l /mnt",
                  {"kind": "loop"}, "losetup -d /dev/loop1")
        well(guest, disk, "uas")
        assert listens(guest) == sockets, (listens(guest), sockets)
    assert daemon(guest) == before
    assert "kernel events were lost" not in guest.journal("-b -u uasd")


@case(tier="full", cpus=2)
def never_a_bus(vm):
    "A boot without D-Bus: the disk is held, switched and mounted."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files={"/etc/uasd/uasd.conf": "[Disk 1209:5a5a]\nPolicy=usb-storage\n"},
                 mask=("dbus.service", "dbus.socket", "systemd-journald-audit.socket"), wait="agent")
    guest.wait_until("mountpoint -q /mnt", 120)
    well(guest, disk, "usb-storage")


@case(tier="full", image="vendor", cpus=2)
def clock_jumps(vm):
    "The wall clock jumps a year ahead and two back, while a disk waits and while it is held: nothing is late or early for it."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    guest.run("date -s '+1 year'", check=True)
    guest.run("umount /mnt && date -s '-2 years'", check=True)
    well(guest, disk, "uas")
    gone(guest, disk)
    # Held, and no process switches it: PID 1's timer releases it.
    guest.run("systemctl enable -q uasd && systemctl daemon-reload && systemctl restart uasd && systemctl kill -s STOP uasd", check=True)
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nPolicy=uas\n")
    guest.plug(disk)
    guest.wait_disk(disk.interface)
    held = "udevadm info -q property -n sda | grep -qx UASD_HOLD=1"
    guest.wait_until(held, 20)
    began = time.monotonic()
    guest.run("date -s '+3 years'", check=True)
    # A timer by the wall clock would have elapsed when PID 1 answers.
    assert guest.out("systemctl show -P SubState uasd-release@%s.timer" % disk.interface) == "waiting"
    assert guest.run(held).rc == 0, "the jump ended the hold"
    guest.run("date -s '-5 years'", check=True)
    guest.wait_until("! " + held, 60)
    assert time.monotonic() - began > 8, "the jumps ended the hold"
    guest.run("systemctl kill -s CONT uasd", check=True)
    well(guest, disk)


def sleep(guest, first="sleep 1", how="echo freeze >/sys/power/state"):
    """A whole suspend and resume, processes and devices, five seconds long, by the kernel's own test of it. FIRST: shell, ends
    as it begins."""
    def woken():
        with open(guest.folder + "/console.log", errors="replace") as log:
            return log.read().count("PM: suspend exit")
    before = woken()
    guest.run("echo devices >/sys/power/pm_test; (%s; %s) </dev/null >/dev/null 2>&1 &" % (first, how), check=True)
    # The agent's port sleeps as well, and would lose a request.
    guest.until(lambda: woken() > before, 120, "the guest is awake again")
    guest.agent.drop()
    guest.agent.connect(60)


@case(tier="full", image="vendor", cpus=2)
def asleep_while_waiting(vm):
    "The machine sleeps while a disk waits: it goes on waiting, and is switched."
    disk = vm.disk(label="DATA")
    guest = waiting(vm, disk)
    sleep(guest)
    well(guest, disk, "usb-storage")
    assert "/mnt" in guest.mounts()
    guest.run("umount /mnt", check=True)
    well(guest, disk, "uas")


# A switch is requested, and the machine goes to sleep as soon as the disk is between the drivers. The processes of that moment are
# recorded.
AT_WORK = """(uasctl switch %(interface)s %(target)s --wait=100 >/run/vm-said 2>&1; echo $? >/run/vm-rc) &
until grep -qsE 'STEP=(unbind|bind|appear|verify)' %(record)s; do sleep 0.02; done
{ cat %(record)s; ps -o stat=,args= -C uasd-switch; } >/run/vm-asleep"""


@case(tier="full", image="vendor", limit=400, cpus=2)
def asleep_in_the_middle(vm):
    "The machine sleeps while uasd-switch is at work between the drivers, each way: the switch is finished or taken back, no byte lost."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nTrialSec=0\n"})
    guest.plug(disk)
    for before, target in ("uas", "usb-storage"), ("usb-storage", "uas"):
        guest.run("uasctl forget %s" % disk.interface)
        if well(guest, disk)["driver"] != before:
            assert switch(guest, disk, before).rc == 0
        well(guest, disk, before)
        guest.run("rm -f /run/vm-*; udevadm settle; mount /dev/disk/by-label/DATA /mnt && head -c 1M /dev/urandom | tee /mnt/file | "
                  "sha256sum >/root/sum && umount /mnt && udevadm settle && uasctl wait %s" % disk.interface, check=True)
        disk.fault(name="delay", op="any", ms=150)
        names = {"interface": disk.interface, "target": target, "record": "/run/uasd/switch/" + disk.interface}
        sleep(guest, AT_WORK % names)
        asleep = guest.out("cat /run/vm-asleep")
        print(asleep, flush=True)
        assert "TO=%s\n" % target in asleep and "uasd-switch --machine" in asleep, asleep
        rc = int(guest.wait_until("cat /run/vm-rc", 150).text)
        disk.clear_faults()
        assert rc in (0, 7), guest.read("/run/vm-said")
        well(guest, disk, target if rc == 0 else before)
        guest.run("mount -o ro /dev/disk/by-label/DATA /mnt && test \"$(sha256sum </mnt/file)\" = \"$(cat /root/sum)\" && umount /mnt", check=True)


@case(tier="full", image="vendor", limit=400, cpus=2)
def asleep_again_and_again(vm):
    "The machine sleeps four times in a few minutes, and the kernel resets the disk at each resume: nothing is held against the bridge."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nPolicy=uas\n")
    # USB_QUIRK_RESET_RESUME; without it the kernel resets a disk only if its controller was without power.
    guest.run("systemctl restart uasd && echo 1209:5a5a:b >/sys/module/usbcore/parameters/quirks", check=True)
    guest.plug(disk)
    well(guest, disk, "uas")
    for _times in range(4):
        sleep(guest, "sleep 11")  # another burst begins after ten seconds
    assert guest.kernel_log().count("reset SuperSpeed USB device") >= 4, guest.kernel_log()[-3000:]
    well(guest, disk, "uas")
    [one] = guest.uasctl("list")["disks"]
    assert not (one["history"] or "").startswith("distrusted"), one
    assert "no distrust yet" not in guest.journal("-b -u uasd")


@case(tier="full", image="vendor", limit=400, cpus=2)
def asleep_by_logind(vm):
    "logind sends the machine to sleep while uasd-switch is at work: the machine sleeps when the switch has ended, and uasd goes on afterwards."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nTrialSec=0\n",
                             "/etc/systemd/logind.conf.d/vm.conf": "[Login]\nInhibitDelayMaxSec=90\n"})
    guest.run("systemctl restart systemd-logind", check=True)
    inhibits = "systemd-inhibit --list --no-pager | grep -E '^uasd .* sleep .* delay$'"
    guest.wait_until(inhibits, 60)
    guest.plug(disk)
    before = well(guest, disk)["driver"]
    target = "uas" if before == "usb-storage" else "usb-storage"
    disk.fault(name="delay", op="any", ms=150)
    sleep(guest, AT_WORK % {"interface": disk.interface, "target": target, "record": "/run/uasd/switch/" + disk.interface},
          "systemctl suspend")
    disk.clear_faults()
    asleep = guest.out("cat /run/vm-asleep")
    assert "TO=%s\n" % target in asleep, asleep
    rc = int(guest.wait_until("cat /run/vm-rc", 60).text)
    assert rc in (0, 7), guest.read("/run/vm-said")  # a slow machine rolls back
    ended, fell = when(guest, "moved from %s to %s|rolled back at step" % (before, target)), when(guest, "PM: suspend entry")
    journal = guest.journal("-b")
    assert ended is not None and fell is not None and ended < fell, (ended, fell, journal[-3000:])
    guest.wait_until(inhibits, 60)
    well(guest, disk, target if rc == 0 else before)
    assert switch(guest, disk, before if rc == 0 else target).rc == 0


@case(tier="full", image="vendor", cpus=2)
def second_daemon(vm):
    "A second uasd gives up at once, and the first goes on."
    guest = vm.resume()
    pid = guest.out("systemctl show -P MainPID uasd")
    done = guest.run("timeout 20 /usr/lib/uasd/uasd", timeout=30)
    assert done.rc == 1 and "another uasd" in done.err, done
    assert guest.out("systemctl show -P MainPID uasd") == pid
    assert guest.uasctl("list")["disks"] == []


RECORD = "PID=1\nBUSNUM=%s\nDEVNUM=%s\nFROM=uas\nTO=usb-storage\nSTEP=bind\nDISKS=1\nMOVED=1\nHOLDING=1\n"
MARK = "BUSNUM=%s\nDEVNUM=%s\nDEADLINE=99999999999999\n"


def left_over(vm, record, mark):
    """RECORD and MARK exist when uasd starts: nothing is held, nothing is moved, and both are removed."""
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    well(guest, disk, "uas")
    port = disk.interface.partition(":")[0]
    here = tuple(guest.read("/sys/bus/usb/devices/%s/%s" % (port, name)) for name in ("busnum", "devnum"))
    guest.run("systemctl stop uasd", check=True)
    guest.put("/run/uasd/switch/" + disk.interface, record(here))
    guest.put("/run/uasd/hold/" + disk.interface, mark(here))
    guest.run("udevadm trigger -c add -w /sys/block/sda", check=True)
    assert "UASD_HOLD" not in guest.udev("/dev/sda")
    guest.run("systemctl start uasd", check=True)
    for kind in "switch", "hold":
        guest.wait_until("! test -e /run/uasd/%s/%s" % (kind, disk.interface), 60)
    well(guest, disk, "uas")


@case(tier="full", image="vendor", cpus=2)
def stale_record(vm):
    "A record and a mark of another device at that port hold nothing and move nothing."
    left_over(vm, lambda here: RECORD % (9, 99), lambda here: MARK % (9, 99))


@case(tier="full", image="vendor", cpus=2)
def record_of_rubbish(vm):
    "A record and a mark that make no sense hold nothing and move nothing."
    left_over(vm, lambda here: "PID=x\nBUSNUM=\n=\nTO=everything\nDISKS=-1\n\1\2", lambda here: "DEADLINE=never\n")


@case(tier="full", image="vendor", cpus=2)
def record_of_this_one(vm):
    "A record and a mark of this very device, which is on a driver: that keeps it."
    left_over(vm, lambda here: RECORD % here, lambda here: MARK % here)


HOSTILE = {
    "manufacturer": "%n%s\x1b[31mred\x1b]0;owned\x07\x9b2J",
    # Noncharacters: D-Bus refuses a string with one.
    "product": "a\nUASD_STATE=settled\tb\r\u202egnp.\u200b\ufeff\ufffe\uffff\ufdd0\ufdef\U0001fffe\U0010ffff\udc00",
    "serial": ("=\"'\\;$(reboot)`x`\x01\x7f|&" + "\u4e2d\ud83d\ude00" * 60)[:126],
}


def harmless(text):
    bad = [c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u200b\ufeff\ufffd"
           or ord(c) & 0xfffe == 0xfffe or 0xfdd0 <= ord(c) <= 0xfdef]
    assert not bad, (bad, text)


def on_the_bus(guest):
    """The disks from GetManagedObjects, with any names."""
    guest.wait_until("busctl --system status org.uasd1", 30)
    told = json.loads(guest.out("busctl --system --json=short call org.uasd1 /org/uasd1 "
                                "org.freedesktop.DBus.ObjectManager GetManagedObjects"))
    found = [one["org.uasd1.Disk"] for one in told["data"][0].values() if "org.uasd1.Disk" in one]
    return [{name: value["data"] for name, value in one.items()} for one in found]


@case(tier="full", image="vendor", cpus=2)
def hostile_strings(vm):
    "A disk that calls itself in control and format characters, 252 bytes long: it is switched, and no terminal or journal gets them raw."
    disk = vm.disk(label="DATA", **HOSTILE)
    guest = vm.resume()
    guest.plug(disk)
    one = well(guest, disk, "uas")
    assert "%n%s" in one["manufacturer"], one
    [told] = on_the_bus(guest)
    assert r"\xef\xbb\xbf\xef\xbf\xbe\xef\xbf\xbf\xef\xb7\x90" in told["Product"], told
    harmless("\n".join(told[name] for name in ("Manufacturer", "Product", "Serial")))
    for verb in ("list", "status sda", "explain sda", "list --json", "report"):
        done = guest.run("uasctl %s" % verb)
        harmless(done.out + done.err)
    guest.run("uasctl policy sda usb-storage", check=True)
    well(guest, disk, "usb-storage")
    harmless(guest.read("/etc/uasd/policy"))
    guest.run("systemctl restart uasd", check=True)
    assert well(guest, disk, "usb-storage")["policy"] == "usb-storage"
    assert guest.out("grep -c '=usb-storage' /etc/uasd/policy") == "1"
    # Held, and released by PID 1: uasd-hold tells that.
    guest.run("uasctl policy sda auto", check=True)
    well(guest, disk, "uas")
    gone(guest, disk)
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nHoldSec=5\n")
    guest.run("systemctl daemon-reload && systemctl kill -s STOP uasd", check=True)
    guest.plug(disk)
    guest.wait_until("journalctl -b -t uasd-hold | grep -q 'Released the mounts'", 60)
    guest.run("systemctl kill -s CONT uasd", check=True)
    # All fields of all our messages, as they were sent.
    text = guest.run("journalctl -b -o export --no-pager SYSLOG_IDENTIFIER=uasd + SYSLOG_IDENTIFIER=uasd-switch + "
                     "SYSLOG_IDENTIFIER=uasd-hold").out
    assert "switching" in text and "Released the mounts" in text
    harmless("\n".join(line for line in text.splitlines() if line.startswith(("MESSAGE=", "UASD_"))))
    # A field that is not text is sent as bytes, with its name on a line of its own.
    assert not [line for line in text.splitlines() if line in ("MESSAGE", "UASD_DISK", "UASD_REASON")], text


# A forged last line, for readers of the last line.
FORGED = "x\\nEND 0 a b"
NAMED = """exec python3 -c 'import os, time
open("/proc/self/comm", "w").write("%s")
os.open("/dev/sda1", os.O_RDONLY)
open("/run/held", "w").write(str(os.getpid()))
time.sleep(1000)'""" % FORGED
MOUNTED = """exec unshare -m sh -c 'where=$(printf "/run/%s"); mkdir "$where" && mount -o ro /dev/sda1 "$where" && echo $$ >/run/held
exec sleep 1000'""" % FORGED


# All names that a user can choose, in no character set: process, unit and mount point, in a namespace of his own.
BYTES = r"""exec unshare -m sh -c 'unit=$(printf "/sys/fs/cgroup/\377.scope") where=$(printf "/run/\377")
mkdir -p "$unit" "$where" && echo $$ >"$unit/cgroup.procs" && mount -o ro /dev/sda1 "$where" && printf "sl\377eep" >/proc/self/comm
echo $$ >/run/held; read forever </run/never'"""


@case(tier="full", image="vendor", limit=400, cpus=2)
def hostile_names(vm):
    "In use by a process, at a mount point or in a unit whose name ends a switch or is no text: the disk waits for it, quietly, all are told of, and no terminal gets it raw."
    disk = vm.disk(label="DATA")
    guest = settled(vm, [disk])
    guest.run("mkfifo /run/never", check=True)
    for user in (NAMED, MOUNTED, BYTES):
        guest.run("rm -f /run/held", check=True)
        job = guest.spawn(user)
        guest.wait_until("test -s /run/held", 20)
        target = ask(guest, disk)
        before, after = guest.out("grep ^processes /proc/stat; sleep 5; grep ^processes /proc/stat").splitlines()
        assert int(after.split()[1]) - int(before.split()[1]) < 50, (before, after)
        one = only_disk(guest, "waiting")
        assert one["driver"] != target and (one.get("outcome") or {}).get("code") in (None, 0, 3), one
        for verb in ("list", "status sda", "explain sda"):
            done = guest.run("uasctl %s" % verb, check=True)
            harmless(done.out + done.err)
        [told] = on_the_bus(guest)
        if user is BYTES:
            named = (r"/run/\xff", r"sl\xffeep", r"\xff.scope")
            assert named in [(each["where"], each["command"], each.get("unit")) for each in one["busy"] if each["kind"] == "mount"], one
            assert named in [(each[2], each[4], each[6]) for each in told["Busy"]], told
            assert r"of \xff.scope" in guest.out("uasctl status sda")
        goes(guest, disk, target, "kill $(cat /run/held)")
        job.kill()
    text = guest.run("journalctl -b -o export --no-pager SYSLOG_IDENTIFIER=uasd + SYSLOG_IDENTIFIER=uasd-switch").out
    assert "Waits for" in text
    harmless("\n".join(line for line in text.splitlines() if line.startswith(("MESSAGE=", "UASD_"))))
    assert "MESSAGE" not in text.splitlines(), text

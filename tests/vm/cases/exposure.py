# SPDX-License-Identifier: LGPL-2.1-or-later
"""The permissions of the service (SECURITY.md): the figure, and that everything works with them."""

import re

from context import case
from evidence import DISTRUSTED, hang_once, impatient, messages, only_disk, quirks_of_others

LIMIT = 3.2
# CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG
CAPABILITIES = 1 << 2 | 1 << 19 | 1 << 34


def in_the_service(guest, command):
    """A shell command under the device rules of the service, in its control group."""
    return guest.run("echo $$ >/sys/fs/cgroup/$(systemctl show -P ControlGroup uasd)/cgroup.procs && " + command)


def exposure(vm):
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    text = guest.out("systemd-analyze security --no-pager uasd.service")
    figure = float(re.search(r"Overall exposure level for uasd.service: ([0-9.]+)", text).group(1))
    assert figure <= LIMIT, text
    print("exposure", figure, flush=True)
    assert guest.out("systemctl show -P ControlGroup uasd") == "/uasd.service"
    pid = guest.out("systemctl show -P MainPID uasd")
    for space in ("mnt", "net", "pid", "user", "ipc"):
        assert guest.out("readlink /proc/%s/ns/%s" % (pid, space)) == guest.out("readlink /proc/1/ns/" + space), space
    status = dict(line.split(":", 1) for line in guest.out("cat /proc/%s/status" % pid).splitlines())
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2", status
    assert int(status["CapBnd"], 16) == int(status["CapEff"], 16) == CAPABILITIES, status

    # Held at plug-in while the daemon is stopped, then switched under the hold, and released.
    guest.put("/etc/uasd/uasd.conf", "[uasd]\nHoldSec=45\n[Disk 1209:5a5a]\nPolicy=usb-storage\n")
    guest.run("systemctl daemon-reload && systemctl restart uasd && systemctl kill -s STOP uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    assert guest.udev("/dev/sda").get("UASD_HOLD") == "1", guest.udev("/dev/sda")
    guest.run("systemctl kill -s CONT uasd", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    assert one["reason_id"] == "policy", one
    assert "switching from uas to usb-storage, held" in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")
    assert "UASD_HOLD" not in guest.udev("/dev/sda1"), guest.udev("/dev/sda1")

    # Both directions. PID 1 loads the module.
    guest.run("rmmod uas", check=True)  # usb-storage stays
    done = guest.run("uasctl switch sda uas --wait=60", timeout=90)
    assert done.rc == 0, done
    assert guest.driver(disk.interface) == "uas"
    assert "modprobe@uas.service" in guest.journal("-b _PID=1"), guest.journal("-b _PID=1")
    done = guest.run("uasctl switch sda usb-storage --wait=60", timeout=90)
    assert done.rc == 0, done
    assert quirks_of_others(guest) == ""

    # uasd sees open files and namespaces of all users.
    guest.run("chmod o+r /dev/sda", check=True)
    reader = guest.spawn("exec setpriv --reuid=65534 --clear-groups sleep 1000 </dev/sda")
    elsewhere = guest.spawn("exec unshare -m --propagation private sh -c 'mount /dev/sda1 /mnt; exec sleep 1000'")
    guest.wait_until("fuser -s /dev/sda && grep -qs ' /mnt ' /proc/*/mountinfo", 20)
    done = guest.run("uasctl switch sda uas --wait=3", timeout=60)
    assert done.rc == 3, done
    one = only_disk(guest, "waiting")
    kinds = {user["kind"]: user for user in one["busy"]}
    assert kinds["open"]["command"] == "sleep", one
    assert kinds["mount"]["where"] == "/mnt" and kinds["mount"]["namespace"].startswith("mnt:"), one
    reader.kill()
    elsewhere.kill()
    guest.wait_disk(disk.interface, driver="uas")

    # The error watch receives the kernel's messages.
    name = guest.wait_disk(disk.interface, driver="uas")[0]
    impatient(guest, name)
    hang_once(guest, disk, name)
    guest.wait_until("journalctl -b -u uasd | grep -q 'no distrust yet'", 30)
    assert messages(guest, DISTRUSTED) == 0

    # The service can read disks. It cannot write, and has no other device.
    assert in_the_service(guest, "head -c 512 /dev/sda >/dev/null").rc == 0
    before = disk.stats()["uas"]["writes"]
    done = in_the_service(guest, "head -c 512 /dev/zero | dd of=/dev/sda conv=notrunc")
    assert done.rc != 0 and "not permitted" in done.err, done
    assert disk.stats()["uas"]["writes"] == before
    guest.run("head -c 1 /dev/mem >/dev/null", check=True)
    done = in_the_service(guest, "head -c 1 /dev/mem")
    assert done.rc != 0 and "not permitted" in done.err, done

    # No other user writes the records of uasd.
    guest.run("uasctl policy sda uas", check=True)
    assert guest.out("find /run/uasd /var/lib/uasd /etc/uasd ! -type l -perm /022 -o ! -user root") == ""
    assert guest.out("find /run/uasd /var/lib/uasd /etc/uasd/policy -type l") == ""
    assert guest.out("find /run/uasd -type d ! -perm 755 -o -name '*@*' ! -perm 644") == ""
    assert guest.out("stat -c %a /run/uasd/private") == "600"
    assert "Operation not permitted" not in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")


@case(tier="full", limit=300)
def no_shell(vm):
    "uasd, a switch each way, a look for hidden users: what is run is run by its full path, at the first try, and is no shell."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    pid = guest.out("systemctl show -P MainPID uasd")
    tracer = guest.spawn("exec strace -f -qq -e trace=execve,execveat -o /run/vm-calls -p %s" % pid)
    guest.wait_until("! grep -q 'TracerPid:.0$' /proc/%s/status" % pid, 20)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    reader = guest.spawn("exec unshare -m --propagation private sh -c 'mount /dev/sda1 /mnt; exec sleep 1000'")
    guest.wait_until("grep -qs ' /mnt ' /proc/*/mountinfo", 20)
    assert guest.run("uasctl switch %s usb-storage --wait=2" % disk.interface, timeout=90).rc == 3
    reader.kill()
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert guest.run("uasctl switch %s uas --wait=60" % disk.interface, timeout=120).rc == 0
    calls = re.findall(r'exec\w+\((?:\w+, )?"([^"]*)", \["([^"]*)"', guest.read("/run/vm-calls"))
    tracer.kill()
    assert len(calls) >= 2, guest.read("/run/vm-calls")
    for path, name in calls:
        assert path.startswith("/usr/lib/uasd/") and not re.search("sh$", name), (path, name)
    assert "ENOENT" not in guest.read("/run/vm-calls")


@case(tier="full", limit=300)
def bookworm(vm):
    "On bookworm: 3.2 or lower, PID 1's mount namespace, and hold, switch, modules, users, devices as they should be."
    exposure(vm)


@case(tier="full", image="trixie")
def trixie(vm):
    "The same on trixie."
    exposure(vm)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""On the system bus: the permissions, and that the objects are those of org.uasd1.xml."""

import json
import xml.etree.ElementTree as ElementTree

from context import case

XML = "/usr/share/dbus-1/interfaces/org.uasd1.xml"
RULE = "/etc/polkit-1/rules.d/50-vm.rules"

# Types the password at the prompt on its own terminal. Prints the text of the terminal.
TYPIST = r"""
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
said = b""
while b"assword:" not in said:
    try:
        said += os.read(fd, 1024)
    except OSError:
        sys.exit("not asked: " + said.decode(errors="replace"))
open("/run/vm-asked", "w").close()
while not os.path.exists("/run/vm-type"):
    time.sleep(0.1)
os.write(fd, sys.argv[1].encode() + b"\n")
try:
    while True:
        part = os.read(fd, 1024)
        if not part:
            break
        said += part
except OSError:
    pass
print(said.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def with_user(vm):
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    # Administrators of Debian are in the group sudo.
    guest.run("useradd -m anna && useradd -m -G sudo berta && echo berta:secret | chpasswd && systemctl stop udisks2", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    guest.wait_until("busctl status org.uasd1", 30)
    return disk, guest


def anna(guest, command, timeout=60):
    return guest.run("runuser -u anna -- " + command, timeout)


def refused(guest, command):
    told = anna(guest, command)
    assert told.rc == 8 and told.err.strip() and not told.out, told
    return told.err


@case(limit=300)
def polkit_decides(vm):
    "An ordinary user may read, is refused clearly without an agent, and may do what a polkit rule or a password lets him; uasd answers meanwhile."
    disk, guest = with_user(vm)
    interface = disk.interface
    [one] = guest.uasctl("list")["disks"]
    assert anna(guest, "uasctl list --json").out.count(one["id"]) and anna(guest, "uasctl status " + interface).rc == 0
    for command in ("switch %s usb-storage", "policy %s usb-storage", "cancel %s", "release %s", "forget %s"):
        assert "org.uasd1." in refused(guest, "uasctl %s" % (command % interface)), command
    assert guest.driver(interface) == "uas" and not guest.run("cat /etc/uasd/policy").out
    # A rule permits him to switch, and nothing else. A switch against the kernel's table is another action.
    guest.put(RULE, 'polkit.addRule(function(action, subject) {\n    if (action.id == "org.uasd1.switch" && subject.user == "anna")\n'
                    '        return polkit.Result.YES;\n});\n', 0o644)
    guest.until(lambda: anna(guest, "uasctl switch %s usb-storage --wait" % interface).rc == 0, 30, "polkit has read its rule")
    assert guest.driver(interface) == "usb-storage"
    assert "org.uasd1.policy" in refused(guest, "uasctl policy %s uas" % interface)
    assert "org.uasd1.force" in refused(guest, "uasctl switch %s uas --force" % interface)
    guest.run("rm " + RULE, check=True)
    # With berta's password, on a terminal. While the prompt waits, other clients are served.
    guest.put("/run/vm-typist.py", TYPIST)
    # By su: polkit looks for the user's agent in a session of logind.
    job = guest.spawn("exec python3 /run/vm-typist.py secret su -l anna --session-command 'uasctl switch %s uas --wait'" % interface)
    guest.wait_until("test -e /run/vm-asked", 60)
    assert guest.run("timeout 5 uasctl list").rc == 0 and guest.driver(interface) == "usb-storage"
    assert anna(guest, "timeout 5 busctl get-property org.uasd1 /org/uasd1 org.uasd1.Manager Version").rc == 0
    guest.run(": >/run/vm-type", check=True)
    done = job.wait(60)
    assert done.rc == 0 and guest.driver(interface) == "uas", done
    # Without polkit only root may go on.
    guest.run("systemctl mask --now polkit", check=True)
    assert "polkit" in refused(guest, "uasctl switch %s usb-storage" % interface)
    guest.run("busctl call org.uasd1 %s org.uasd1.Disk Switch 'sa{sv}' usb-storage 0" % disk.object, check=True)
    guest.wait_disk(interface, driver="usb-storage")


def annotations(one):
    return {"org.freedesktop.DBus.Property.EmitsChangedSignal": "true", **{a.get("name"): a.get("value") for a in one.findall("annotation")}}


def shape(interface):
    """{(kind, name): arguments, and whether changes are signalled, true by default}"""
    found = {}
    for one in interface:
        if one.tag == "property":
            found["property", one.get("name")] = one.get("type"), one.get("access"), annotations(one)
        elif one.tag in ("method", "signal"):
            args = [(arg.get("type"), arg.get("name"), arg.get("direction", "out")) for arg in one.findall("arg")]
            found[one.tag, one.get("name")] = args, annotations(one)
    return found


@case(limit=200)
def as_in_the_xml(vm):
    "Manager, Disk and Job are on the bus as org.uasd1.xml, the contract, says; and on the private socket the same."
    disk, guest = with_user(vm)
    contract = {one.get("name"): shape(one) for one in ElementTree.fromstring(guest.out("cat " + XML)).findall("interface")}
    path = guest.out("busctl tree --list org.uasd1 | grep /disk/")
    # A job exists as long as its disk is in use.
    guest.run("mount /dev/sda1 /mnt && busctl call org.uasd1 %s org.uasd1.Disk Switch 'sa{sv}' usb-storage 0"
              % path, check=True)
    job = guest.out("busctl tree --list org.uasd1 | grep /job/")
    there = {}
    for where in ("/org/uasd1", path, job):
        text = guest.out("busctl introspect --xml-interface org.uasd1 " + where)
        there.update({one.get("name"): shape(one) for one in ElementTree.fromstring(text).findall("interface")})
    for name, members in contract.items():
        assert there[name] == members, (name, set(map(str, there[name].items())) ^ set(map(str, members.items())))
    assert {name for name in there if name.startswith("org.uasd1")} == set(contract)
    managed = guest.out("busctl call org.uasd1 /org/uasd1 org.freedesktop.DBus.ObjectManager GetManagedObjects")
    assert path in managed and '"%s"' % disk.interface in managed


# A process in here finds no bus and no uasd of this machine.
ELSEWHERE = "unshare --mount sh -c 'mount -t tmpfs none /run/dbus && mount -t tmpfs none /run/uasd && exec \"$@\"' elsewhere "


@case(tier="full", limit=300)
def by_ssh(vm):
    "uasctl -H through a real sshd: it shows what is there, the rights of who logs in there decide, and a request runs to its end."
    disk, guest = with_user(vm)
    interface = disk.interface
    guest.run("install -d -m 700 /root/.ssh && ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 && "
              "cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys && install -d -o anna -m 700 /home/anna/.ssh && "
              "install -o anna -m 600 /root/.ssh/id_ed25519.pub /home/anna/.ssh/authorized_keys && "
              "echo 'StrictHostKeyChecking accept-new' >/root/.ssh/config && mkdir -p /run/sshd && /usr/sbin/sshd", check=True)
    here = guest.uasctl("list")
    assert "uasd is not running" in guest.run(ELSEWHERE + "uasctl list").err, "this machine's uasd was reached"
    done = guest.run(ELSEWHERE + "uasctl -H root@localhost list --json", check=True)
    assert json.loads(done.out)["disks"] == here["disks"], (done.out, here)
    assert json.loads(guest.run(ELSEWHERE + "uasctl -H anna@localhost list --json", check=True).out)["disks"] == here["disks"]
    told = guest.run(ELSEWHERE + "uasctl -H anna@localhost switch %s usb-storage --wait" % interface)
    assert told.rc == 8 and "org.uasd1.switch" in told.err and guest.driver(interface) == "uas", told
    events = guest.spawn("exec " + ELSEWHERE + "uasctl -H root@localhost monitor")
    guest.until(lambda: "present" in events.output(), 30, "the monitor's first line")
    guest.run(ELSEWHERE + "uasctl -H root@localhost switch %s usb-storage --wait" % interface, timeout=120, check=True)
    assert guest.driver(interface) == "usb-storage"
    guest.until(lambda: "changed" in events.output(), 30, "the monitor there")
    events.kill()
    told = guest.run(ELSEWHERE + "uasctl -H root@localhost status sdz")
    assert told.rc == 4, told
    guest.run("pkill -x sshd", check=True)
    told = guest.run(ELSEWHERE + "uasctl -H root@localhost list")
    assert told.rc == 1 and not told.out and "ssh cannot connect to it" in told.err, told

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong around uasd: other services, events, files, clocks, packages. After each of it the disk works on a driver, nothing
is held, and uasctl tells the truth.
"""

from context import case
from evidence import on_storage, only_disk


def well(guest, disk, driver=None, count=1):
    """The disk is on a driver and readable, nothing is held or left over, and uasctl says where it is."""
    names = guest.wait_disk(disk.interface, driver=driver, timeout=60, count=count)

    def at_rest():
        [one] = [one for one in guest.uasctl("list")["disks"] if one["interface"] == disk.interface] or [None]
        return one if one and one["state"] not in ("held", "switching", "unbound") else None
    one = guest.until(at_rest, 90, "it comes to rest")
    now = guest.driver(disk.interface)
    assert guest.run("ls -A /run/uasd/hold").text == "", guest.run("ls -l /run/uasd/hold").out
    assert guest.run("ls /run/uasd/switch/%s" % disk.interface).rc != 0, guest.run("cat /run/uasd/switch/*").out
    assert guest.read("/sys/module/usb_storage/parameters/quirks") in ("", None)
    for name in names:
        # Held, it would have none of the file system's links.
        guest.wait_until("udevadm info -q property -n %s | grep -qx 'UASD_HOLD=1' && exit 1 || exit 0" % name, 30)
        guest.run("dd if=/dev/%s of=/dev/null bs=1M count=1 iflag=direct status=none" % name, check=True)
    assert one["driver"] == now, (now, one)
    assert sorted(each["name"] for each in one["disks"]) == sorted(names), one
    return one


def waiting(vm, disk, image=None):
    """A guest with DISK mounted on usb-storage, and uasd waiting to move it."""
    guest = on_storage(vm, disk, image=image)
    guest.run("mount /dev/sda1 /mnt && systemctl start uasd", check=True)
    only_disk(guest, "waiting")
    return guest


@case(image="vendor")
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


HOSTILE = {
    "manufacturer": "%n%s\x1b[31mred\x1b]0;owned\x07\x9b2J",
    "product": "a\nUASD_STATE=settled\tb\r\u202egnp.\u200b\ufeff\udc00",
    "serial": ("=\"'\\;$(reboot)`x`\x01\x7f|&" + "\u4e2d\ud83d\ude00" * 60)[:126],
}


def harmless(text):
    bad = [c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u200b\ufeff\ufffd"]
    assert not bad, (bad, text)


@case(image="vendor")
def hostile_strings(vm):
    "A disk that calls itself in control and format characters, 252 bytes long: it is switched, and no terminal or journal gets them raw."
    disk = vm.disk(label="DATA", **HOSTILE)
    guest = vm.resume()
    guest.plug(disk)
    one = well(guest, disk, "uas")
    assert "%n%s" in one["manufacturer"], one
    for verb in ("list", "status sda", "explain sda", "list --json", "report"):
        done = guest.run("uasctl %s" % verb)
        harmless(done.out + done.err)
    guest.run("uasctl policy sda usb-storage", check=True)
    well(guest, disk, "usb-storage")
    harmless(guest.read("/etc/uasd/policy"))
    guest.run("systemctl restart uasd", check=True)
    assert well(guest, disk, "usb-storage")["policy"] == "usb-storage"
    assert guest.out("grep -c '=usb-storage' /etc/uasd/policy") == "1"
    # All fields of all our messages, as they were sent.
    text = guest.run("journalctl -b -o export --no-pager _COMM=uasd + _COMM=uasd-switch + _COMM=uasd-hold").out
    assert "switching" in text
    harmless("\n".join(line for line in text.splitlines() if line.startswith(("MESSAGE=", "UASD_"))))
    # A field that is not text is sent as bytes, its name alone on a line.
    assert not [line for line in text.splitlines() if line in ("MESSAGE", "UASD_DISK", "UASD_REASON")], text

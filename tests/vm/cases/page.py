# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page for Cockpit in Chromium, with Cockpit's own shell, bridge and login."""

import contextlib
import os
import re
import socket
import sys
import time

from context import case
from evidence import only_disk
from qmp import patience

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../page"))
import chromium  # noqa: E402
import pictures  # noqa: E402

PASSWORD = "seldom-seen"
CONFIG = {"/etc/cockpit/cockpit.conf": "[WebService]\nAllowUnencrypted=true\n"}
# Every user logs in with a password; administrators of Debian are in the group sudo.
NETWORK = ("ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && useradd -m -s /bin/bash -G sudo berta && useradd -m -s /bin/bash anna && "
           "echo 'berta:%s\nanna:%s' | chpasswd && systemctl restart cockpit.socket" % (PASSWORD, PASSWORD))
PAGE = "uasd/index"  # of the frame
SLOW = 90  # seconds for what an emulated machine does in one
HOT_PLUG = 2  # seconds


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    def __init__(self, vm):
        if not chromium.PROGRAM:
            vm.skip("chromium is missing")
        self.port = free_port()
        self.guest = vm.boot(forward=(self.port, 9090), files=CONFIG, timeout=300)
        self.guest.run(NETWORK, 60, check=True)
        self.chromium = chromium.Chromium()

    def alone(self):
        """Another tab with the page, without the shell, which differs between releases."""
        tab = self.chromium.tab()
        tab.open("http://127.0.0.1:%d/cockpit/@localhost/uasd/index.html" % self.port)
        tab.until("(document.getElementById('page') || {}).dataset.state === 'running'", "the page knows the state", SLOW)
        return tab

    def log_in(self, user, language="en-us"):
        """The page, within Cockpit's shell, with limited access."""
        tab = self.chromium.tab()
        tab.size(1440)
        address = "http://127.0.0.1:%d/uasd" % self.port
        tab.call("Network.clearBrowserCookies")
        tab.cookie("CockpitLang", language, address)
        tab.call("Page.addScriptToEvaluateOnNewDocument", source="localStorage.setItem('superuser:%s', 'none'); localStorage.setItem('shell:style', 'light')"
                 % user)
        tab.open(address)
        tab.until("(document.getElementById('login-user-input') || {}).offsetParent", "the login is shown", SLOW)
        for field, text in ("login-user-input", user), ("login-password-input", PASSWORD):
            tab.run("document.getElementById(%r).value = %r" % (field, text))
        tab.click("#login-button")
        tab.frame = PAGE
        tab.until("document.getElementById('page')", "the page is there", SLOW)
        tab.problems = []  # those of the log-in, which asks without a password first
        tab.until("!['loading', undefined].includes(document.getElementById('page').dataset.state)", "the page knows the state", SLOW)
        return tab

    @staticmethod
    def elevate(tab):
        "Turns administrative access on in Cockpit's own dialogue. Cockpit then loads the page again, 337 also when the dialogue opens."
        tab.frame = ""
        tab.click("#super-user-indicator button")
        tab.until("!!document.querySelector('[role=dialog] input[type=password]')", "Cockpit asks for the password", SLOW)
        tab.run("document.querySelector('[role=dialog] input[type=password]').focus()")
        tab.call("Input.insertText", text=PASSWORD)
        tab.press("Enter")
        tab.until("!document.querySelector('[role=dialog]')", "Cockpit has the rights", SLOW)
        tab.frame = PAGE

    def close(self):
        self.chromium.close()


def problems(tab):
    "Cockpit's shell asks for files that Debian does not have."
    return [one for one in tab.problems if "/cockpit/" not in one or "/uasd/" in one]


def guest_clock(guest):
    "The time of the host at which the guest's clock was zero, at the earliest."
    def look():
        before = time.time()
        return before - float(guest.out("cut -d' ' -f1 /proc/uptime"))
    return max(look() for _ in range(5))


def plug_to_row(guest, disk, tab):
    "Plugs it in. Returns the seconds from the kernel's message about the new device to its row, at most. The event of its interface comes later."
    tab.run("window.row = new Promise(seen => new MutationObserver(() => document.querySelector('.disk') && seen(Date.now() / 1000))"
            ".observe(document.body, { childList: true, subtree: true })), 1")
    zero = guest_clock(guest)
    guest.plug(disk)
    tab.until("document.querySelector('.disk')", "its row", SLOW)
    found = re.search(r"\[ *([\d.]+)\] usb %s: New USB device found" % re.escape(disk.interface.split(":")[0]), guest.kernel_log())
    return tab.run("row") - zero - float(found[1])


def opened(tab):
    tab.click(".opener")
    tab.until("document.querySelector('.details .rows')", "uasctl has answered", SLOW)


def driver_is(tab, driver):
    tab.until("document.querySelector('.driver').innerText === %r && !document.querySelector('.state.busy')" % driver, "the row has " + driver, SLOW)


@case(tier="full", image="cockpit", limit=1500, cpus=2, also=("cockpit13",))
def every_button(vm):
    "Log-in, hot-plug, each request on a real disk, a roll-back, uasd stopped and killed, unplugged in a dialogue, an ordinary user in German."
    with contextlib.closing(Browser(vm)) as browser:
        guest = browser.guest
        tab = browser.log_in("berta")
        tab.shows("You can look, but not change anything.", SLOW)
        browser.elevate(tab)
        tab.until("document.getElementById('page').dataset.state === 'running' && !document.querySelector('.notice')", "the page has the rights", SLOW)
        tab.shows("No USB disks.")
        disk = vm.disk(label="DATA")
        guest.run("systemctl stop udisks2")
        elapsed = plug_to_row(guest, disk, tab)
        print("row %.2f s after the kernel's message" % elapsed)
        assert elapsed < patience(HOT_PLUG), elapsed
        guest.wait_disk(disk.interface, driver="uas")
        tab.shows("sda", SLOW)
        opened(tab)
        alone = browser.alone()
        opened(alone)
        pictures.check(alone, vm.folder, "guest")
        alone.close()

        # A free disk, then one in use. Only a mount of fstab has a button.
        tab.click("[data-key=switch]")
        driver_is(tab, "usb-storage")
        assert guest.driver(disk.interface) == "usb-storage"
        guest.run("mount /dev/sda1 /mnt", check=True)
        tab.click("[data-key=switch]")
        tab.shows("waiting for /mnt", SLOW)
        tab.shows("umount /mnt", SLOW)
        tab.click("[data-key=cancel]")
        tab.until("document.querySelector('[data-key=switch]')", "it is cancelled", SLOW)
        guest.run("echo '/dev/sda1 /mnt ext4 noauto' >>/etc/fstab", check=True)
        tab.click("[data-key=switch]")
        tab.shows("Unmount /mnt", SLOW)
        tab.click("[data-key=unmount]")
        driver_is(tab, "uas")
        assert "/mnt" not in guest.mounts()

        # A fault under uas brings the disk back.
        tab.click("[data-key=policy-usb-storage]")
        tab.until("document.querySelector('[data-key=policy-usb-storage]').checked", "the policy is set", SLOW)
        tab.click("[data-key=undo]")
        driver_is(tab, "usb-storage")
        disk.fault(name="identity", proto="uas", size=32 << 20)
        tab.click("[data-key=policy-uas]")
        tab.shows("rolled back", SLOW)
        assert only_disk(guest, "failed")["driver"] == "usb-storage"
        disk.clear_faults()
        tab.click("[data-key=policy-auto]")
        # The bus would start uasd again for a call that is still on its way.
        guest.until(lambda: guest.uasctl("list")["disks"][0]["policy"] == "auto", 30, "the policy is set")

        # uasd goes, and comes back.
        guest.run("systemctl stop uasd", check=True)
        tab.shows("uasd is stopped", SLOW)
        tab.click("[data-key=start]")
        tab.until("document.querySelector('.details').offsetParent", "the details are open again", SLOW)
        tab.run("document.querySelector('[data-key=eject]').focus(), window.states = [], new MutationObserver(() => states.push(document.getElementById('page').dataset.state))"
                ".observe(document.getElementById('page'), { attributes: true }), 1")
        guest.run("systemctl kill -s KILL uasd", check=True)
        tab.until("states.some(one => one !== 'running') && states.at(-1) === 'running' && document.querySelector('.details').offsetParent",
                  "the page has the disk from another uasd, with its details", SLOW)
        tab.until("document.activeElement.dataset.key === 'eject'", "the focus is where it was", SLOW)

        # Unplugged while a dialogue is open.
        guest.run("dd if=/dev/sda of=/dev/null bs=4k count=1 iflag=direct", check=True)
        tab.click("[data-key=eject]")
        tab.shows("Eject ")
        disk.unplug()
        tab.shows("Nothing was done.", SLOW)
        tab.shows("No USB disks.", SLOW)
        guest.plug(disk)
        tab.shows("sda", SLOW)
        opened(tab)
        guest.run("dd if=/dev/sda of=/dev/null bs=4k count=1 iflag=direct", check=True)
        tab.click("[data-key=eject]")
        tab.click("dialog .primary")
        tab.shows("can be unplugged.", SLOW)
        assert not problems(tab), tab.problems

        # An ordinary user reads, in German, and is refused.
        disk.unplug()
        guest.plug(disk)
        guest.wait_disk(disk.interface)
        tab.close()
        tab = browser.log_in("anna", "de-de")
        tab.shows("USB-Platten")
        tab.shows("Sie können nur lesen.", SLOW)
        opened(tab)
        driver = guest.driver(disk.interface)
        tab.click("[data-key=switch]")
        tab.shows("Sie dürfen das nicht.", SLOW)
        assert guest.driver(disk.interface) == driver
        assert "org.uasd1" not in tab.text()
        assert not problems(tab), tab.problems

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page for Cockpit in Chromium, with Cockpit's own shell, bridge and login."""

import contextlib
import os
import socket
import sys
import time

from context import case
from evidence import only_disk

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../page"))
import chromium  # noqa: E402

PASSWORD = "seldom-seen"
CONFIG = {"/etc/cockpit/cockpit.conf": "[WebService]\nAllowUnencrypted=true\n"}
# Every user logs in with a password; administrators of Debian are in the group sudo.
NETWORK = ("ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && useradd -m -s /bin/bash -G sudo berta && useradd -m -s /bin/bash anna && "
           "echo 'berta:%s\nanna:%s' | chpasswd && systemctl restart cockpit.socket" % (PASSWORD, PASSWORD))
PAGE = "uasd/index"  # of the frame
SLOW = 90  # seconds for what an emulated machine does in one


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

    def log_in(self, user, language="en-us", administrator=False):
        """The page, within Cockpit's shell."""
        tab = self.chromium.tab()
        tab.size(1440)
        address = "http://127.0.0.1:%d/uasd" % self.port
        tab.call("Network.clearBrowserCookies")
        tab.cookie("CockpitLang", language, address)
        tab.call("Page.addScriptToEvaluateOnNewDocument", source="localStorage.setItem('superuser:%s', %r); localStorage.setItem('shell:style', 'light')"
                 % (user, "any" if administrator else "none"))
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

    def close(self):
        self.chromium.close()


def problems(tab):
    "Cockpit's shell asks for files that Debian does not have."
    return [one for one in tab.problems if "/cockpit/" not in one or "/uasd/" in one]


def opened(tab):
    tab.click(".opener")
    tab.until("document.querySelector('.details .rows')", "uasctl has answered", SLOW)


def driver_is(tab, driver):
    tab.until("document.querySelector('.driver').innerText === %r && !document.querySelector('.state.busy')" % driver, "the row has " + driver, SLOW)


@case(tier="full", image="cockpit", limit=900, cpus=2, also=("cockpit13",))
def every_button(vm):
    "Log-in, hot-plug, each request on a real disk, a roll-back, uasd stopped and killed, unplugged in a dialogue, an ordinary user in German."
    with contextlib.closing(Browser(vm)) as browser:
        guest = browser.guest
        tab = browser.log_in("berta", administrator=True)
        tab.shows("No USB disks.")
        disk = vm.disk(label="DATA")
        began = time.monotonic()
        guest.plug(disk)
        guest.until(lambda: guest.run("uasctl list --json").out.count(disk.interface), 30, "uasd knows it")
        tab.shows("sda", 2)
        print("row %.1f s after the plug" % (time.monotonic() - began))
        guest.wait_disk(disk.interface, driver="uas")
        opened(tab)

        # A free disk, then one in use.
        tab.click("[data-key=switch]")
        driver_is(tab, "usb-storage")
        assert guest.driver(disk.interface) == "usb-storage"
        guest.run("mount /dev/sda1 /mnt", check=True)
        tab.click("[data-key=switch]")
        tab.shows("waiting for /mnt", SLOW)
        tab.shows("umount /mnt", SLOW)
        tab.click("[data-key=cancel]")
        tab.until("document.querySelector('[data-key=switch]')", "it is cancelled", SLOW)
        tab.click("[data-key=switch]")
        tab.shows("waiting for /mnt", SLOW)
        guest.run("umount /mnt", check=True)
        driver_is(tab, "uas")

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
        tab.shows("sda", SLOW)
        tab.run("document.querySelector('.disk').dataset.old = 'yes'")
        guest.run("systemctl kill -s KILL uasd", check=True)
        tab.until("document.querySelector('.disk:not([data-old])')", "the page has the disk from another uasd", SLOW)

        # Unplugged while a dialogue is open.
        tab.until("document.querySelector('.opener')", "the disk is shown", SLOW)
        if not tab.run("document.querySelector('.details') !== null"):
            opened(tab)
        tab.click("[data-key=eject]")
        tab.shows("Eject ")
        disk.unplug()
        tab.shows("Nothing was done.", SLOW)
        tab.shows("No USB disks.", SLOW)
        guest.plug(disk)
        tab.shows("sda", SLOW)
        opened(tab)
        tab.click("[data-key=eject]")
        tab.click("dialog .primary")
        tab.shows("can be unplugged.", SLOW)
        assert not problems(tab), tab.problems

        # An ordinary user reads, in German, and is refused.
        disk.unplug()
        guest.plug(disk)
        guest.wait_disk(disk.interface)
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

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page for cockpit in Chromium, with cockpit-ws, cockpit-bridge and uasd for a machine in a folder. A script plays uasd-switch.

    test-page.py UASD-IN-TREE UASCTL-IN-TREE CATALOGUES [CASE...]

CATALOGUES: the folder with the translations that the build makes. With UASD_PICTURES=keep the pictures become those in docs/page.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../daemon'))
from machine import MESSAGES, NAMES, SKIPPED, TOP, UASCTL, Machine, main, patience, stop, until  # noqa: E402
from tree import BOOT, REMOTE  # noqa: E402
import privatebus  # noqa: E402
import chromium  # noqa: E402
import pictures  # noqa: E402

CATALOGUES = sys.argv[3]
WS = shutil.which('cockpit-ws', path='/usr/lib/cockpit:/usr/libexec:/usr/lib/x86_64-linux-gnu')
BRIDGE = shutil.which('cockpit-bridge')
CSS_MAX = 8 * 1024
# What a control must have, and the roles that are controls.
CONTROLS = {'button', 'radio', 'checkbox', 'combobox', 'link', 'textbox'}
# What the page runs besides uasctl, for the machine in the folder.
PROGRAMS = {
    'uasctl': '#!/bin/sh\nexec %s "$TREE" "$@"\n' % os.path.abspath(UASCTL),
    'cat': '#!/bin/sh\ncase $1 in /proc/*) exec /bin/cat "$TREE$1";; esac\nexec /bin/cat "$@"\n',
    'findmnt': '#!/bin/sh\n[ "$1 $2" = "--fstab --mountpoint" ] && grep -q " $3 " "$TREE/etc/fstab"\n',
    # The mount is over, unless a file is open.
    'umount': '#!/bin/sh\nif [ -e "$TREE/open" ]; then echo "umount: $1: target is busy." >&2; exit 32; fi\n'
              'echo "$1" >"$TREE/unmounted"\n: >"$TREE/proc/1/mountinfo"\n: <"$TREE/dev/sdz"\n',
    'systemctl': """#!/bin/sh
echo "$*" >>"$TREE/systemctl-called"
[ "$1" = show ] && cat "$TREE/systemctl-shows"
if [ -e "$TREE/start-fails" ]; then echo "Job for uasd.service failed." >&2; exit 1; fi
exit 0
""",
}
# An administrator's bridge: root's, at the other end of a socket. sudo would be in its place.
ELEVATE = """#!/usr/bin/python3
import os, selectors, socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(%r)
ways = selectors.DefaultSelector()
ways.register(0, selectors.EVENT_READ, peer.fileno())
ways.register(peer, selectors.EVENT_READ, 1)
while True:
    for key, _ in ways.select():
        data = os.read(key.fd, 65536)
        if not data:
            sys.exit()
        while data:
            data = data[os.write(key.data, data):]
"""
NOT_ALLOWED = 'You are not allowed to do that. Turn on administrative access first.'
NOT_DONE = '$0: uasd could not do that. Its journal has the reason.'
NO_ANSWER = '$0: uasd did not answer. Its journal has the reason.'


def fill(text):
    return text.replace('$0', 'Maker Disk')


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


class Page(Machine):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        page = os.path.join(self.dir, 'share/cockpit/uasd')
        os.makedirs(page)
        for folder in os.path.join(TOP, 'cockpit'), CATALOGUES:
            for name in os.listdir(folder):
                if name.endswith(('.js', '.html', '.css', '.json')):
                    os.symlink(os.path.abspath(os.path.join(folder, name)), os.path.join(page, name))
        for name, text in PROGRAMS.items():
            self.tree.write('bin/' + name, text)
            os.chmod(self.tree.path('bin/' + name), 0o755)
        self.tree.write('systemctl-shows', 'LoadState=loaded\n')
        self.tree.write('proc/diskstats', '8 400 sdz 1 0 8 0 0 0 0 0 0 0 0\n')
        self.env['PATH'] = self.tree.path('bin') + ':' + os.environ['PATH']
        self.env['XDG_DATA_HOME'] = os.path.join(self.dir, 'share')
        self.env['XDG_CONFIG_DIRS'] = self.dir
        # Without these cockpit-bridge starts a D-Bus and an ssh-agent that outlive it.
        self.env['DBUS_SESSION_BUS_ADDRESS'] = 'unix:path=/nonexistent/bus'
        self.env['SSH_AUTH_SOCK'] = '/nonexistent/agent'
        self.port = free_port()
        self.tabs = []
        self.addCleanup(self.check_tabs)

    def check_tabs(self):
        for tab in self.tabs:
            self.assertEqual(tab.problems, [])
            tab.close()
        until(lambda: not self.processes(), f'no process of the session remains: {self.processes()}')

    def processes(self):
        """Those that have the environment of this test, except uasd and the bus, which others end."""
        found, mark = [], f'XDG_DATA_HOME={self.env["XDG_DATA_HOME"]}\0'.encode()
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/environ', 'rb') as environ, open(f'/proc/{pid}/comm') as comm:
                if mark in environ.read() and (name := comm.read().strip()) in ('cockpit-bridge', 'dbus-daemon', 'ssh-agent', 'cockpit-ws'):
                    found.append(name)
        return found

    def show(self, language='en', theme='light', user=()):
        """The page, without cockpit's shell."""
        tab = self.loading(language, theme, user)
        tab.until('document.getElementById("page").dataset.state !== "loading"', 'the page knows the state')
        return tab

    def loading(self, language='en', theme='light', user=()):
        self.start([*user, WS, '--no-tls', '--address=127.0.0.1', f'--port={self.port}', '--local-session=' + BRIDGE], stdout=self.said, stderr=self.said)

        def listens():
            with socket.socket() as one:
                return one.connect_ex(('127.0.0.1', self.port)) == 0
        until(listens, 'cockpit-ws listens')
        tab = self.browser.tab()
        self.tabs.append(tab)
        tab.size(1440)
        address = f'http://127.0.0.1:{self.port}/cockpit/@localhost/uasd/index.html'
        tab.cookie('CockpitLang', language, address)
        tab.call('Page.addScriptToEvaluateOnNewDocument', source=f'localStorage.setItem("shell:style", "{theme}")')
        tab.open(address)
        return tab

    def opened(self, **more):
        """The page, with the details of its first disk."""
        tab = self.show(**more)
        tab.click('.opener')
        tab.until('document.querySelector(".details .rows")', 'uasctl has answered')
        return tab

    def picture(self, tab, name, width=1000, height=700):
        pictures.check(tab, self.dir, name, width, height)
        tab.size(1440)

    # The list

    def test_list(self):
        self.tree.disk('1-3', 'sdy', 'uas', product='Slow', speed=480, serial='S2')
        self.both()
        tab = self.show()
        tab.shows('Maker Slow')
        lines = tab.run('[...document.querySelectorAll(".line")].map(one => one.innerText.replace(/\\s+/g, " ").trim())')
        self.assertEqual(lines, ['Maker Slow sdy 1 MB 480 Mbit/s ! uas ok', 'Maker Disk sdz 1 MB 5 Gbit/s uas ok'])
        tab.shows('Maker Slow would be faster with another port or cable.')
        tab.click('[data-key=advice]')
        tab.shows('try a USB 3 port of the machine')
        tab.until('document.querySelector(".details .rows")', 'uasctl has answered')
        self.picture(tab, 'list', height=900)

    def test_loading(self):
        self.start_bus()
        daemon = self.start_on_bus()
        stop(daemon)
        tab = self.loading()
        tab.shows('Reading the disks…')
        daemon.send_signal(signal.SIGCONT)
        tab.shows('Maker Disk')
        self.assertNotIn('Reading the disks…', tab.text())

    def test_hot_plug(self):
        "A disk appears within two seconds after uasd knows it, and disappears. With none the page says so."
        self.hears()
        self.both()
        tab = self.show()
        tab.shows('Maker Disk')
        self.pull()
        tab.shows('No USB disks.')
        self.picture(tab, 'empty', 800, 300)
        self.put_back(9)
        tab.shows('Maker Disk', 2)

    def test_hundred(self):
        for number in range(1, 101):
            self.tree.disk(f'2-{number + 1}', f'sd{chr(97 + number // 26)}{chr(97 + number % 26)}', 'uas', serial=f'T{number}')
        self.both()
        tab = self.show()
        tab.until('document.querySelectorAll(".disk").length === 101', 'all disks are shown', 10)
        tab.click('.opener')
        tab.until('document.querySelector(".details .rows")', 'uasctl has answered')
        for width in 360, 768, 1440:
            tab.size(width)
            self.assertLessEqual(tab.run('document.documentElement.scrollWidth'), width)

    def test_states(self):
        "Each state of a disk has its word."
        self.conf('[uasd]\nQuietSec=0\n[Disk 1209:0005]\nPolicy=ignore\n')
        os.makedirs(self.tree.path('sys/bus/usb/drivers/ums-other'))
        for number, (product, driver, more) in enumerate((
                ('Trial', 'uas', {}), ('Distrusted', 'usb-storage', {}), ('Stick', 'usb-storage', {'uas': False}),
                ('Ignored', 'uas', {}), ('Unbound', None, {}), ('Other', 'ums-other', {})), 2):
            self.tree.disk(f'2-{number}', 'sd' + 'abcdefghi'[number], driver, serial=f'S{number}', product=product, ids=(0x1209, number), **more)
        self.tree.write('etc/uasd/history', 'generation=1\n' + ''.join(
            f'1209:000{number}:S{number}@0000:00:14.0/ss/{number}=state={state} firmware=0214 kernel=6.1.0-test boot={BOOT} date={date} reason={reason}\n'
            for number, state, date, reason in ((2, 'trial', '-', '-'), (3, 'distrusted', '2026-11-24', 'timeout'))))
        self.tree.write('sys/bus/usb/devices/2-6/authorized', '0\n')
        self.both()
        tab = self.show()
        tab.until('document.querySelectorAll(".disk").length === 7', 'all disks are shown')

        def words():
            return dict(tab.run('[...document.querySelectorAll(".line")].map(one => [one.querySelector("button").innerText.split(" ")[1], '
                                'one.querySelector(".state").innerText])'))
        self.assertEqual(words(), {'Disk': 'ok', 'Trial': 'trial, 10 min left', 'Distrusted': 'distrusted on uas', 'Stick': 'BOT only',
                                   'Ignored': 'ignored', 'Unbound': 'no driver', 'Other': 'driver ums-other'})
        self.picture(tab, 'states')

    def test_held(self):
        "A held disk says so, and its mounts can go on at once."
        self.bind('usb-storage')
        self.tree.write('sys/class/block/sdz/uevent', '')
        deadline = int((time.clock_gettime(time.CLOCK_BOOTTIME) + 100) * 1e6)
        self.tree.write('run/uasd/hold/2-1:1.0', f'BUSNUM=2\nDEVNUM=5\nDEADLINE={deadline}\n')
        self.plays_switch('echo "END 3 claim in use: open of sdz"', 'exit 3')
        self.hears()
        self.both()
        tab = self.opened()
        tab.shows('mounts deferred')

        def released():  # a held disk is tried each second, and has another button meanwhile
            tab.run('(document.querySelector("[data-key=release]") || document.body).click()')
            return not os.path.exists(self.tree.path('run/uasd/hold/2-1:1.0'))
        until(released, 'the hold is over', pause=0.3)
        # In the middle of an attempt it ends only the hold.
        tab.until('["ok", "waiting until it is free"].includes(document.querySelector(".state").innerText)', 'it is settled')
        with open(self.tree.path('sys/class/block/sdz/uevent')) as file:
            self.assertEqual(file.read(), 'add')

    def test_few_programs(self):
        "The page runs its programs once for a change, and never several sets at a time. uasd computes moments anew each time."
        self.both()
        tab = self.show()
        [disk] = self.managed_disks()
        calls = tab.run("""import(new URL("disk.js", location.href)).then(async ({ DiskCard }) => {
            const spawn = cockpit.spawn, card = new DiskCard({}), disk = %s, calls = [];
            cockpit.spawn = (words, options) => { if (words[0] === "uasctl") calls.push(words); return spawn(words, options); };
            const ends = async () => { while (card.reading) await new Promise(done => setTimeout(done, 20)); return calls.length; };
            card.update(disk, null);
            card.toggle();
            const once = await ends();
            for (let i = 0; i < 10; i++)
                card.update(Object.assign({}, disk, { WaitingSince: i, TrialEnds: i }), null);
            const again = await ends();
            for (let i = 0; i < 10; i++)
                card.update(Object.assign({}, disk, { ReasonId: "reason" + i }), null);
            const changed = await ends();
            card.update(disk, null);
            card.update(Object.assign({}, disk, { ReasonId: "other" }), null);
            card.update(disk, null); /* it is again as it is being read */
            const back = await ends();
            card.toggle();
            card.toggle();
            return [once, again, changed, back, await ends()];
        })""" % json.dumps(disk))
        self.assertEqual(calls, [4, 4, 12, 20, 24])

    @unittest.skipUnless(REMOTE, 'systemd-journal-remote makes the journal')
    def test_about(self):
        "Health, history, the last five events, and all rows of the decision."
        self.tree.write('sys/block/sdz/device/scsi_disk/3:0:0:0/provisioning_mode', 'full\n')
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=passed firmware=0214 kernel=6.1.0-test boot=- '
                        'date=2026-11-20T15:45:07Z reason=x\n')
        answer = {'json_format_version': [1, 0], 'smartctl': {'version': [7, 3], 'argv': ['smartctl'], 'exit_status': 0},
                  'device': {'name': '/dev/sdz', 'info_name': '/dev/sdz [SAT]', 'type': 'sat', 'protocol': 'ATA'},
                  'smart_status': {'passed': False}, 'temperature': {'current': 34}}
        self.tree.write('usr/sbin/smartctl', '#!/bin/sh\nif [ "$1" = -P ]; then printf "USB Bridge:  Some chip\\nUSB Type  sat\\n"; '
                        f"else cat <<'E'\n{json.dumps(answer)}\nE\nfi\n")
        os.chmod(self.tree.path('usr/sbin/smartctl'), 0o755)
        number = {name: number for number, name in MESSAGES.items()}['SWITCHED']
        self.tree.journal(*({'MESSAGE_ID': number, 'UASD_INTERFACE': '2-1:1.0', 'UASD_USB_ID': '1209:5a5a:S1', 'PRIORITY': '5',
                             'MESSAGE': f'2-1:1.0 sdz: end number {n}', 'UASD_PARTS': f'␂%s%s%s: end number %s␟2-1:1.0␟ ␟sdz␟{n}␃'}
                            for n in range(1, 8)))
        self.both()
        tab = self.opened()
        about = tab.run('document.querySelector("dl").innerText')
        self.assertIn('sdz: FAILING, 34 °C', about)
        self.assertIn('History', about)
        events = tab.run('[...document.querySelectorAll(".events li")].map(one => one.lastChild.textContent)')
        self.assertEqual(events[1:], [f'end number {n}' for n in (7, 6, 5, 4)])  # the first is the history
        brief = tab.run('document.querySelectorAll(".rows li").length')
        tab.click('[data-key=rows]')
        self.assertGreater(tab.run('document.querySelectorAll(".rows li").length'), brief)
        self.assertIn('no', tab.run('[...document.querySelectorAll(".rows .mark")].map(one => one.innerText)'))
        tab.shows('Show less')
        self.assertEqual(tab.run('document.activeElement.dataset.key'), 'rows')

    def test_chart(self):
        "The newest result of this disk is a chart, with the same figures for a screen reader."
        lines = subprocess.run([os.path.join(TOP, 'tests/uasctl-bench/json-samples.py')], capture_output=True, text=True, check=True).stdout.splitlines()
        bench = json.loads(lines[1])
        bench['conditions']['serial'] = 'S1'
        self.tree.write('usr/lib/uasd/uasctl-bench', "#!/bin/sh\ncat <<'E'\n" + json.dumps({'version': 1, 'benches': [bench]}) + '\nE\n')
        os.chmod(self.tree.path('usr/lib/uasd/uasctl-bench'), 0o755)
        self.both()
        tab = self.opened()
        name = tab.run('document.querySelector(".chart").getAttribute("aria-label")')
        for result in bench['results']:
            if any(figure['measure'] == 'iops' for figure in result['figures']):
                self.assertIn(result['text'] + '; usb-storage ', name)
        self.picture(tab, 'chart', height=1000)

    # Requests

    def test_switch(self):
        "A switch with its steps, by the keyboard alone."
        self.both()
        tab = self.opened()
        self.tree.write('at-sync', '')
        tab.run('document.querySelector(".opener").focus()')
        for _ in range(30):
            tab.press('Tab')
            if tab.run('document.activeElement.dataset.key') == 'switch':
                break
        self.assertIn('Switch to usb-storage', tab.run('document.activeElement.innerText'))
        self.assertEqual(tab.run('getComputedStyle(document.activeElement).outlineStyle'), 'solid')
        tab.press('Enter')
        tab.shows('switching: sync')
        self.picture(tab, 'switching', height=800)
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('usb-storage')
        tab.until('document.querySelector(".driver").innerText === "usb-storage"', 'the row has the driver')
        tab.shows('Switch to uas')
        tab.shows('It is moved.')

    def test_busy(self):
        "A waiting disk shows its users, and the command that frees it can be copied. Cancel ends the wait."
        self.both()
        self.use(True)
        self.tree.programs('cryptsetup', folder='usr/sbin')
        self.tree.write('sys/class/block/dm-9/dm/name', 'vault\n')
        self.tree.write('sys/class/block/dm-9/dm/uuid', 'CRYPT-LUKS2-1\n')
        tab = self.opened()
        tab.click('[data-key=switch]')
        tab.shows('waiting for dm-9')
        tab.shows('cryptsetup close vault')
        self.picture(tab, 'waiting', height=900)
        tab.run('navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }')
        tab.click('[data-key=free0]')
        tab.shows('Copied.')
        self.assertEqual(tab.run('window.copied'), 'cryptsetup close vault')
        tab.click('[data-key=cancel]')
        tab.shows('Switch to usb-storage')
        self.assertTrue(self.disk()['driver'] == 'uas' and self.job() == (None, {}))

    def test_policy(self):
        self.both()
        tab = self.opened()
        tab.click('[data-key=policy-usb-storage]')
        self.driver_is('usb-storage')
        tab.until('document.querySelector("[data-key=policy-usb-storage]").checked', 'the policy is shown')
        self.assertEqual(self.disk()['policy'], 'usb-storage')

    def test_force(self):
        "Against the verdict the page asks, and goes on only with a backup."
        self.tree.remove('2-1', 'sdz')
        self.tree.disk('2-1', 'sdz', ids=(0x4971, 0x1012))  # in the kernel's table
        self.both()
        tab = self.opened()
        tab.click('[data-key=switch]')
        tab.shows('Force Maker Disk?')
        self.assertTrue(tab.run('document.querySelector(".risk").disabled'))
        self.picture(tab, 'force', 800, 600)
        tab.size(360)
        self.assertLessEqual(tab.run('document.querySelector("dialog").getBoundingClientRect().right'), 360)
        tab.run('document.querySelector("dialog [data-key=sure]").focus()')
        tab.press('Escape')
        tab.until('!document.querySelector("dialog") && document.activeElement.dataset.key === "switch"', 'it is closed, and its button has the focus')
        self.assertEqual(self.calls(), 0)
        tab.click('[data-key=switch]')
        tab.click('[data-key=sure]')
        tab.click('.risk')
        self.driver_is('uas')

    def test_eject(self):
        "The page asks first if the disk was used in the last ten seconds, or if it cannot know."
        self.both()
        self.play('#!/bin/sh\necho "END 0 eject It is stopped."\n')
        tab = self.opened()

        def asks():
            tab.click('[data-key=eject]')
            tab.shows('Eject Maker Disk?')
        asks()
        tab.press('Escape')
        tab.run('const now = Date.now; window.later = 0; Date.now = () => now() + later')
        self.tree.write('proc/diskstats', '8 400 sdz 2 0 16 0 0 0 0 0 0 0 0\n')
        tab.run('later = 11000')
        asks()
        tab.click('dialog .primary')
        tab.shows('Maker Disk can be unplugged.')
        tab.run('document.getElementById("news").replaceChildren(), later = 22000')
        tab.click('[data-key=eject]')
        tab.shows('Maker Disk can be unplugged.')
        self.assertFalse(tab.run('Boolean(document.querySelector("dialog"))'))

    def test_eject_in_use(self):
        "What keeps the disk busy is in the details, with the command that frees it."
        self.both()
        self.tree.write('proc/diskstats', '')
        self.plays_switch('echo "END 3 claim in use: mount of sdz at /mnt/data"', 'exit 3')
        tab = self.opened()
        self.mount('/mnt/data')
        tab.click('[data-key=eject]')
        tab.click('dialog .primary')
        tab.shows('Maker Disk is in use. Its details show by what.')
        tab.shows('umount /mnt/data')
        self.assertEqual(tab.run('document.querySelector(".users").innerText'), 'mount · /mnt/data · sdz')

    def mount(self, where):
        """After the start of uasd, which needs a real mount table to hear of changes."""
        os.unlink(self.tree.path('proc/1/mountinfo'))
        self.tree.write('proc/1/mountinfo', f'30 1 8:400 / {where} rw - ext4 /dev/sdz rw\n')

    def test_unmount(self):
        "If the one user is a mount of fstab, a button unmounts it. Otherwise there is a command."
        self.tree.write('etc/fstab', 'LABEL=DATA /mnt/data ext4 defaults 0 2\n')
        self.both()
        self.mount('/mnt/data')
        tab = self.opened()
        self.assertFalse(tab.run('Boolean(document.querySelector("[data-key=unmount]"))'), 'nothing waits')
        tab.click('[data-key=switch]')
        tab.shows('Unmount /mnt/data')
        self.assertFalse(tab.run('Boolean(document.querySelector("[data-key=free0]"))'))
        self.picture(tab, 'unmount', height=900)
        self.tree.write('open', '')
        tab.click('[data-key=unmount]')
        tab.shows('/mnt/data was not unmounted. A program may have opened a file there: close it, and try again.')
        self.assertNotIn('target is busy', tab.text())
        os.unlink(self.tree.path('open'))
        tab.click('[data-key=unmount]')
        self.driver_is('usb-storage')
        tab.until('!document.querySelector("[data-key=unmount]")', 'it is not in use any more')

    def test_unmount_elsewhere(self):
        self.tree.write('etc/fstab', 'LABEL=DATA /mnt/other ext4 defaults 0 2\n')
        self.both()
        self.mount('/mnt/data')
        self.switch()
        tab = self.opened()
        tab.shows('waiting for /mnt/data')
        self.assertEqual(tab.run('[...document.querySelectorAll("[data-key=unmount], [data-key=free0]")].map(one => one.dataset.key)'), ['free0'])

    def test_rolled_back(self):
        self.warns('ROLLED_BACK')
        self.both()
        self.tree.write('fails', 'The disk did not come back.')
        tab = self.opened()
        tab.click('[data-key=switch]')
        tab.until('document.querySelector(".state").innerText === "rolled back"', 'the state is shown')
        tab.shows('The disk did not come back. (step bind)')
        tab.shows('Show the journal of uasd')
        self.picture(tab, 'rolled-back', height=900)
        tab.run('cockpit.jump = path => { window.jumped = path; }')
        tab.click('[data-key=log]')
        self.assertEqual(tab.run('jumped'), '/system/logs/#/?prio=debug&service=uasd.service')

    def test_failed(self):
        self.warns('FAILED')
        self.both()
        self.plays_switch('echo "END 1 bind The driver did not take it."', 'exit 1')
        tab = self.opened()
        tab.click('[data-key=switch]')
        tab.until('document.querySelector(".state").innerText === "failed"', 'the state is shown')
        tab.shows('The driver did not take it. (step bind)')

    def test_distrusted(self):
        self.tree.write('etc/uasd/history', 'generation=1\n1209:5a5a:S1@0000:00:14.0/ss/1=state=distrusted firmware=0214 '
                        f'kernel=6.1.0-test boot={BOOT} date=2026-11-24 reason=timeout\n')
        self.bind('usb-storage')
        self.both()
        tab = self.opened()
        tab.shows('distrusted on uas')
        tab.shows('Check the file systems of this disk.')
        self.picture(tab, 'distrusted', height=900)
        tab.click('[data-key=forget]')
        tab.shows('Try uas again with Maker Disk?')
        tab.click('dialog .primary')
        self.driver_is('uas')
        tab.until('!document.querySelector("[data-key=forget]")', 'it is trusted again')

    def test_system_disk(self):
        "The entry of the boot loader is shown as a change before it is written."
        self.tree.write('proc/swaps', 'Filename Type Size Used Priority\n/dev/sdz partition 1 0 -2\n')
        self.tree.write('boot/firmware/cmdline.txt', 'console=tty1 root=/dev/sdz\n')
        self.both()
        tab = self.opened()
        tab.click('[data-key=boot]')
        tab.shows('Driver of Maker Disk at boot')
        tab.until('!document.querySelector("dialog .primary").disabled', 'the change is shown')
        self.assertIn('usb-storage.quirks=1209:5a5a:u', tab.run('document.querySelector("pre").innerText'))
        self.picture(tab, 'boot-entry', 800, 700)
        tab.click('dialog .primary')
        tab.shows('Restart the machine to apply it.')
        tab.click('[data-key=boot]')
        tab.until('document.querySelector("dialog .primary") && !document.querySelector("dialog .primary").disabled', 'it can be written once more')
        os.unlink(self.tree.path('boot/firmware/cmdline.txt'))
        tab.click('dialog .primary')
        tab.shows('The file cannot be changed.')

    # What goes wrong

    def test_unplugged_meanwhile(self):
        self.hears()
        self.both()
        tab = self.opened()
        tab.click('[data-key=eject]')
        tab.shows('Eject Maker Disk?')
        self.pull()
        tab.until('!document.querySelector("dialog")', 'the dialogue is closed')
        tab.shows('The disk was unplugged. Nothing was done.')

    def test_killed(self):
        "uasd dies and comes back. The details stay open, with the focus where it was."
        self.start_bus()
        daemon = self.start_on_bus()
        tab = self.opened()
        tab.run('document.querySelector("[data-key=switch]").focus()')
        daemon.kill()
        daemon.wait()
        tab.shows('uasd is stopped')
        self.picture(tab, 'stopped', 800, 300)
        tab.click('[data-key=start]')
        until(lambda: 'start uasd.service' in self.systemctl_called(), 'the unit is started')
        tab.run('document.activeElement.blur()')
        self.start_on_bus()
        tab.shows('Switch to usb-storage')
        tab.until('!document.querySelector(".notice.bad")', 'the notice is gone')
        self.assertEqual(tab.run('document.activeElement.dataset.key'), 'switch')

    def test_another_disk_meanwhile(self):
        "A disk that was unplugged while uasd was away has no card any more."
        self.start_bus()
        daemon = self.start_on_bus()
        tab = self.opened()
        daemon.kill()
        daemon.wait()
        tab.shows('uasd is stopped')
        self.tree.remove('2-1', 'sdz')
        self.tree.disk('2-2', 'sdy', 'uas', product='Other', serial='S2')
        self.start_on_bus()
        tab.shows('Maker Other')
        self.assertEqual(tab.run('document.querySelectorAll(".disk").length'), 1)
        self.assertFalse(tab.run('Boolean(document.querySelector(".details"))'))

    def systemctl_called(self):
        with open(self.tree.path('systemctl-called')) as file:
            return file.read()

    def test_absent(self):
        self.tree.write('systemctl-shows', 'LoadState=not-found\n')
        self.start_bus()
        self.show().shows('uasd is not installed')

    def test_start_fails(self):
        self.start_bus()
        tab = self.show()
        tab.shows('uasd is stopped')
        self.tree.write('start-fails', '')
        tab.click('[data-key=start]')
        tab.shows('uasd could not be started. Its journal has the reason.')
        self.assertNotIn('Job for', tab.text())

    def test_off(self):
        self.tree.write('proc/cmdline', 'root=/dev/vda uasd=off\n')
        self.start_bus()
        self.show().shows('uasd is off: the kernel command line has uasd=off.')

    def test_bus_again(self):
        "The bus goes away and comes back."
        bus = self.start_bus()
        daemon = self.start_on_bus()
        tab = self.show()
        tab.shows('Maker Disk')
        privatebus.kill(bus)
        tab.shows('The system bus does not answer.')
        os.unlink(os.path.join(self.dir, 'bus'))
        self.start_bus()
        until(self.on_bus, 'uasd is on the bus again')
        tab.shows('Maker Disk')
        self.assertIsNone(daemon.poll())

    def test_refused(self):
        "Without polkit an ordinary user may only read. No error is shown raw."
        self.both()
        for folder in self.dir, self.tree.top:
            os.chmod(folder, 0o755)
        self.env['HOME'] = self.dir
        tab = self.opened(user=['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'])
        tab.shows('You can look, but not change anything.')
        self.picture(tab, 'limited', height=900)
        for key in 'switch', 'policy-ignore':
            tab.click(f'[data-key={key}]')
            tab.shows('You are not allowed to do that.')
            tab.run('document.getElementById("news").replaceChildren()')
            self.assertNotIn('org.', tab.text())
        self.assertTrue(tab.run('document.querySelector("[data-key=policy-auto]").checked'))
        self.assertEqual(self.calls(), 0)

    def test_rights(self):
        "Administrative access can be turned on while the page is open, and off again."
        self.both()
        for folder in self.dir, self.tree.top:
            os.chmod(folder, 0o755)
        self.env['HOME'] = self.dir
        bridge = os.path.join(self.dir, 'share/cockpit/elevate')
        os.makedirs(bridge)
        with open(os.path.join(bridge, 'manifest.json'), 'w') as file:
            json.dump({'bridges': [{'privileged': True, 'label': 'root', 'spawn': [self.tree.path('bin/elevate')]}]}, file)
        self.tree.write('bin/elevate', ELEVATE % os.path.join(self.dir, 'root'))
        os.chmod(self.tree.path('bin/elevate'), 0o755)
        door = socket.socket(socket.AF_UNIX)
        self.addCleanup(door.close)
        door.bind(os.path.join(self.dir, 'root'))
        os.chmod(os.path.join(self.dir, 'root'), 0o666)
        door.listen()
        tab = self.opened(user=['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'])
        tab.shows('You can look, but not change anything.')
        tab.click('[data-key=switch]')
        tab.shows('You are not allowed to do that.')

        def superuser(method, *args):
            tab.run('void cockpit.dbus(null, { bus: "internal" }).call("/superuser", "cockpit.Superuser", %s, %s).catch(error => console.error(error.message))'
                    % (json.dumps(method), json.dumps(args)))
        superuser('Start', 'elevate')
        door.settimeout(patience())
        peer, _ = door.accept()
        with peer:
            self.start([BRIDGE], stdin=peer, stdout=peer, stderr=self.said)
        tab.until('document.querySelector(".disk") && !document.querySelector(".notice")', 'the page has the rights')
        tab.click('.opener')  # cockpit loads the page again
        tab.click('[data-key=switch]')
        self.driver_is('usb-storage')
        superuser('Stop')
        tab.shows('You can look, but not change anything.')

    def test_errors(self):
        "Each error that uasd can return has its sentence, in both languages."
        sources = ''
        for folder, _, names in os.walk(os.path.join(TOP, 'src/daemon')):
            for name in names:
                with open(os.path.join(folder, name)) as file:
                    sources += file.read()
        macros = dict(re.findall(r'#define (UASD_BUS_ERROR_\w+) "(.*)"', NAMES))
        for macro in re.findall(r'\bSD_BUS_ERROR_[A-Z_]+\b', sources):
            macros[macro] = 'org.freedesktop.DBus.Error.' + macro[len('SD_BUS_ERROR_'):].title().replace('_', '')
        for macro in 'SD_BUS_ERROR_NULL', 'SD_BUS_ERROR_UNKNOWN_OBJECT', 'UASD_BUS_ERROR_NO_SUCH_DISK':
            del macros[macro]
        self.both()
        with open(os.path.join(CATALOGUES, 'po.de.js')) as file:
            german = json.loads(re.search(r'(?s)cockpit\.locale\((.*)\);', file.read())[1])
        for language in 'en', 'de':
            tab = self.show(language=language)

            def sentence(name, message, problem=None):
                return tab.run('import(new URL("errors.js", location.href)).then(errors => errors.error_text(%s, %s))' % (
                    json.dumps({'Id': '2-1:1.0', 'Manufacturer': 'Maker', 'Product': 'Disk', 'Lease': 'a benchmark of both'}),
                    json.dumps({'name': name, 'message': message, 'problem': problem})))

            def translation(text):
                return german[text][1] if language == 'de' else text
            # The sentences of uasd. Those for other names may be raw.
            own = {'Incapable', 'Refused', 'ForceNeeded', 'InUse', 'Stopping', 'LimitsExceeded'}
            said = [(macros[macro], eval('(' + text + ')')) for macro, text in re.findall(
                r'bus_error_set\([^;]*?,\s*(\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', sources) if macros.get(macro, '').split('.')[-1] in own]
            self.assertGreater(len(said), 12)
            said += [('org.uasd1.Error.Incapable', '%s: this disk speaks only UAS'), ('org.uasd1.Error.ForceNeeded', '%s: Its policy was set with force.')]
            for name, text in said:
                if text == '%s: %s':
                    continue
                wanted = text if text in german else text.removeprefix('%s: ')
                wanted = 'Maker Disk: ' * (wanted != text) + translation(wanted)
                for value in 'Maker Disk', 'a benchmark of both':
                    wanted = wanted.replace('%s', value, 1)
                self.assertEqual(sentence(name, text.replace('%s', '2-1:1.0', 1).replace('%s', 'a benchmark of both')), wanted)
            for name in 'org.uasd1.Error.NoSuchDisk', 'org.freedesktop.DBus.Error.UnknownObject':
                self.assertEqual(sentence(name, 'raw'), fill(translation('$0 was unplugged.')))
            for name in {*macros.values(), 'System.Error.ENOSPC'}:
                if name.split('.')[-1] not in own:
                    refused = name.split('.')[-1] in ('AccessDenied', 'InteractiveAuthorizationRequired')
                    self.assertEqual(sentence(name, 'raw'), fill(translation(NOT_ALLOWED if refused else NOT_DONE)), name)
            for name, problem in ('org.freedesktop.DBus.Error.NoReply', None), (None, 'disconnected'):
                self.assertEqual(sentence(name, 'raw', problem), fill(translation(NO_ANSWER)))
            self.assertEqual(sentence(None, 'raw', 'access-denied'), translation(NOT_ALLOWED))

    # Languages, themes, readers

    def test_german(self):
        self.tree.disk('1-3', 'sdy', 'uas', product='Slow', speed=480, serial='S2')
        self.both()
        tab = self.opened(language='de')
        self.assertEqual(tab.run('document.documentElement.lang'), 'de')
        for text in 'USB-Platten', 'ok', 'Warum', 'Auf usb-storage umstellen':
            tab.shows(text)
        # The sentences of uasd are those of uasctl.
        german = self.ctl('status', 'sdy').stdout
        self.assertNotIn('SuperSpeed, but', tab.text())
        self.assertIn('SuperSpeed, aber', tab.text(), german)
        self.assertEqual([row for row in tab.run('[...document.querySelectorAll(".rows li")].map(one => one.innerText)') if 'the verdict' in row], [])
        self.picture(tab, 'phone', 360, 1200)

    def test_catalogue(self):
        "Each text of the page is in its catalogue, and each language of uasctl has one."
        with open(os.path.join(TOP, 'po/LINGUAS')) as file:
            self.assertEqual({f'po.{line.strip()}.js' for line in file if not line.startswith('#')},
                             {name for name in os.listdir(CATALOGUES) if re.fullmatch(r'po\.\w+\.js', name)})
        with open(os.path.join(CATALOGUES, 'po.de.js')) as file:
            german = json.loads(re.search(r'(?s)cockpit\.locale\((.*)\);', file.read())[1])
        source = ''
        for name in os.listdir(os.path.join(TOP, 'cockpit')):
            if name.endswith('.js'):
                with open(os.path.join(TOP, 'cockpit', name)) as file:
                    source += file.read()
        texts = {json.loads(text) for text in re.findall(r'\b_\(("(?:[^"\\]|\\.)*")\)', source)}
        self.assertGreater(len(texts), 80)
        self.assertEqual(texts - set(german), set())

    def test_dark(self):
        self.both()
        tab = self.show(theme='dark')
        tab.shows('Maker Disk')
        self.assertEqual(tab.run('getComputedStyle(document.body).backgroundColor'), 'rgb(21, 21, 21)')
        tab.click('.opener')
        tab.until('document.querySelector(".details .rows")', 'uasctl has answered')
        self.picture(tab, 'dark', height=800)
        tab.run('window.dispatchEvent(new CustomEvent("cockpit-style", { detail: { style: "light" } }))')
        self.assertEqual(tab.run('getComputedStyle(document.body).backgroundColor'), 'rgb(240, 240, 240)')

    def test_readers(self):
        "Each control has a name. The headings are in order."
        self.both()
        self.use(True)
        tab = self.opened()
        tab.click('[data-key=eject]')
        for _ in range(2):
            tree = tab.tree()
            self.assertEqual([one for one in tree if one[0] in CONTROLS and not one[1].strip()], [])
            self.assertTrue([one for one in tree if one[0] in CONTROLS])
            tab.press('Escape')
            tab.until('!document.querySelector("dialog")', 'it is closed')
        self.assertIn(('heading', 'USB disks'), tree)

    def test_keyboard(self):
        "Tab reaches each control, also of a dialogue, and each shows that it has the focus."
        self.both()
        self.mount('/mnt/data')
        tab = self.opened()
        tab.click('[data-key=switch]')
        tab.until('document.querySelector("[data-key=free0]") && !document.querySelector("[aria-busy]")', 'its commands are shown')

        def reached(inside):
            # By name: a card is made again when something about its disk changes.
            tab.run('window.named = one => one.dataset.key || one.name || one.textContent, window.reached = {}')
            for _ in range(40):
                tab.press('Tab')
                tab.run('reached[named(document.activeElement)] = getComputedStyle(document.activeElement).outlineStyle')
            return tab.run(f'[...document.querySelectorAll("{inside} button:enabled, {inside} input:enabled")].filter(one => one.type !== "radio" || one.checked)'
                           '.map(one => [named(one), reached[named(one)]])')
        for place in 'main', 'dialog':
            found = reached(place)
            self.assertGreater(len(found), 1)
            self.assertEqual([one for one in found if one[1] != 'solid'], [])
            if place == 'main':
                tab.click('[data-key=eject]')
                tab.until('document.querySelector("dialog")', 'it asks')

    def test_css(self):
        self.assertLessEqual(os.path.getsize(os.path.join(TOP, 'cockpit/uasd.css')), CSS_MAX)


if __name__ == '__main__':
    missing = [name for name, there in (('chromium', chromium.PROGRAM), ('cockpit-ws', WS), ('cockpit-bridge', BRIDGE)) if not there]
    if missing:
        print('missing: ' + ', '.join(missing))
        sys.exit(SKIPPED)
    main('without Cockpit only root has administrative access', programs=3)

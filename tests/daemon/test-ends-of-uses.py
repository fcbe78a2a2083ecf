#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: events of the kernel, and how uasd hears that a disk is not in use any more."""

import ctypes
import os
import re
import subprocess
import time

from machine import INTERFACE, SWITCH, Machine, let_pass, main, until

SOCKETS = 'Num       RefCount Protocol Flags    Type St Inode Path\n0000000000000000: 00000002 00000000 00010000 0005 01 17 '
HOLDER = 'sys/class/block/sdz/holders/dm-9'


class Uses(Machine):
    def setUp(self):
        super().setUp()
        self.hears()

    def event(self, line, fifo='uevents'):
        with open(self.tree.path(fifo), 'wb') as fifo:
            fifo.write(line.encode() + b'\n')

    def references(self, count):
        """All opens of disks on the two drivers."""
        self.tree.write('sys/module/usb_storage/refcnt', '3\n')
        self.tree.write('sys/module/uas/refcnt', f'{count}\n')

    def waits(self):
        daemon = self.both()
        os.mkdir(self.tree.path(HOLDER))
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        self.disk()
        return daemon

    def looks(self):
        self.disk()  # an answer shows that uasd has processed the earlier events
        return os.path.getsize(self.tree.path('looks'))

    def bound_by(self, event):
        self.conf('[uasd]\nPolicy=ignore\n')
        self.both()
        self.bind(None)
        self.event('unbind usb 2-1:1.0 2-1:1.0')
        until(lambda: self.disk()['driver'] is None, 'it is seen')
        self.bind('usb-storage')
        self.event(event)
        self.driver_is('usb-storage')

    def test_interface(self):
        "An event of the interface, or of a block device of the disk, makes uasd read the disk again."
        self.bound_by('add block sdz 2-1:1.0')

    def test_host(self):
        "Before Linux 4.14 no `bind` reports a driver: the SCSI host of the disk does."
        self.bound_by('add scsi host0 2-1:1.0')

    def test_no_udevd(self):
        """Without a udevd the events of the kernel report the end of a use; with one, which may start later and be killed, its own
        do. A udevd that was killed leaves its socket."""
        self.waits()
        before = self.looks()
        self.event('change block loop1', 'announced')
        until(lambda: self.looks() > before, 'it looks without udevd')
        self.tree.write('run/udev/control', '')
        self.tree.write('proc/net/unix', SOCKETS + '/run/udev/control\n')
        before = self.looks()
        self.event('change block loop1', 'announced')
        until(lambda: len(self.heard()) == 2 and self.at_rest(self.uasd), 'it has taken the event')
        self.assertEqual(self.looks(), before)
        self.event('change block loop1')
        until(lambda: self.looks() > before, 'it looks with udevd')
        self.tree.write('proc/net/unix', SOCKETS + '/run/dbus/system_bus_socket\n')
        before = self.looks()
        self.event('change block loop1', 'announced')
        until(lambda: self.looks() > before, 'it looks after the death of udevd')

    def test_plugged(self):
        "A disk comes and goes."
        self.both()
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        self.event('bind usb 2-2:1.0 2-2:1.0')
        until(lambda: sorted(self.interfaces()) == ['2-1', '2-2'], 'it is there')
        os.unlink(self.tree.path('sys/bus/usb/devices/2-2:1.0'))
        self.event('unbind usb 2-2:1.0 2-2:1.0')
        until(lambda: self.interfaces() == ['2-1'], 'it has gone')

    def test_no_log(self):
        "A /dev/kmsg that is no device is not read. Everything else works."
        self.warns("the kernel's log cannot be read, so no disk is watched for errors: Operation not permitted")
        os.unlink(self.tree.path('dev/kmsg'))
        self.tree.write('dev/kmsg', '6,1,1,-;sd 3:0:0:0: Device offlined - not ready after error recovery\n SUBSYSTEM=scsi\n DEVICE=+scsi:3:0:0:0\n')
        self.both()
        self.assertEqual((self.disk()['driver'], self.disk()['state']), ('uas', 'settled'))
        self.ctl('switch', 'sdz', 'usb-storage')

    def test_device_goes(self):
        "When the device itself goes, the files of that attachment are removed. Those of other ports stay."
        self.both()
        for name in '2-1:1.0@2-9', '2-9:1.0@2-7':
            self.tree.write('run/uasd/attachment/' + name, 'TRIED=1\n')
        self.event('remove usb 2-1')
        until(lambda: not os.path.exists(self.tree.path('run/uasd/attachment/2-1:1.0@2-9')), 'it is removed')
        self.assertTrue(os.path.exists(self.tree.path('run/uasd/attachment/2-9:1.0@2-7')))
        self.assertEqual(self.interfaces(), ['2-1'])

    def test_holder_ends(self):
        "A volume on the disk is removed: its event makes uasd look, and the disk is moved. The event of a new one does not."
        self.waits()
        before = self.looks()
        self.event('add block dm-9')
        self.event('add usb 2-9')
        self.assertEqual(self.looks(), before)
        os.rmdir(self.tree.path(HOLDER))
        self.event('remove block dm-9')
        self.driver_is('usb-storage')

    def watches(self, daemon):
        """Files that uasd watches for the end of their uses."""
        count = 0
        for fd in os.listdir(f'/proc/{daemon.pid}/fdinfo'):
            try:
                with open(f'/proc/{daemon.pid}/fdinfo/{fd}') as info:
                    count += len(re.findall('(?m)^inotify wd:', info.read()))
            except FileNotFoundError:
                pass
        return count

    def test_watches_end(self):
        "uasd watches a disk while it waits, and not longer: twice the same."
        daemon = self.both()
        before = self.watches(daemon)
        for target in 'usb-storage', 'uas':
            self.use(True)
            self.ctl('switch', 'sdz', target, code=3)
            self.assertGreater(self.watches(daemon), before)
            self.use(False)
            self.driver_is(target)
            until(lambda: self.watches(daemon) == before, 'it watches none')

    def first_change(self):
        "It is looked at, whatever the count is."
        self.references(7)
        daemon = self.waits()
        before = self.looks()
        self.event('remove block dm-9')
        until(lambda: self.looks() > before, 'it looks')
        return daemon

    def test_not_released_yet(self):
        "The event comes a moment before the kernel releases the disk. uasd looks when the drivers count fewer opens."
        self.first_change()
        began, before = time.monotonic(), self.looks()
        self.event('remove block dm-9')
        after = self.looks()
        if time.monotonic() < began + 4:  # otherwise the last repeat may have come
            self.assertEqual(after, before)
        os.rmdir(self.tree.path(HOLDER))
        self.references(6)
        self.driver_is('usb-storage')

    def test_released_without_count(self):
        """After the last repeat uasd looks, although the count is the same: something else may have been opened. Each pause is twice
        as long as the one before, the tenth 2.56 s."""
        daemon = self.first_change()
        os.rmdir(self.tree.path(HOLDER))
        self.event('remove block dm-9')
        before, left = self.looks(), [0]

        def looks():
            left.extend(self.timers(daemon))
            return os.path.getsize(self.tree.path('looks')) > before
        until(looks, 'the tenth pause ends')
        self.assertTrue(1.28 < max(left) <= 2.56, max(left))
        self.driver_is('usb-storage', 40)

    def test_unknown(self):
        "If uasd cannot see who uses the disk, it counts as in use."
        self.both()
        self.tree.write('sys/fs/btrfs', 'no folder\n')
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        self.assertIn('cannot see who uses it: Not a directory', self.journal())
        os.unlink(self.tree.path('sys/fs/btrfs'))
        self.event('remove block dm-9')
        self.driver_is('usb-storage')

    def listens(self):
        """The tables of mounts and swaps that uasd listens to."""
        folder, found = f'/proc/{self.uasd.pid}', set()
        names = {fd: os.readlink(f'{folder}/fd/{fd}') for fd in os.listdir(folder + '/fd')}
        for fd, name in names.items():
            if name == 'anon_inode:[eventpoll]':
                with open(f'{folder}/fdinfo/{fd}') as info:
                    found |= {names.get(one, '') for one in re.findall(r'(?m)^tfd: +(\d+)', info.read())}
        return sorted(os.path.basename(name) for name in found if name.endswith(('/mountinfo', '/swaps')))

    def test_tables(self):
        "uasd listens to the tables of mounts and swaps as long as a disk waits, also if a disk is unplugged after it has waited."
        os.unlink(self.tree.path('proc/swaps'))
        os.symlink('/proc/swaps', self.tree.path('proc/swaps'))
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        self.both()
        self.assertEqual(self.listens(), [])
        os.mkdir(self.tree.path('sys/class/block/sdy/holders/dm-9'))
        for devnum in 6, 7:
            for name in 'sdz', 'sdy':
                os.makedirs(self.tree.path(f'sys/class/block/{name}/holders/dm-9'), exist_ok=True)
                self.ctl('switch', name, 'usb-storage', code=3)
                self.assertEqual(self.listens(), ['mountinfo', 'swaps'])
            self.use(False)
            until(lambda: {one['Interface']: one['State'] for one in self.managed_disks()} == {'2-1:1.0': 'settled', '2-2:1.0': 'waiting'},
                  'one of two is free')
            self.assertEqual(self.listens(), ['mountinfo', 'swaps'])
            self.call_disk('Cancel', 'a{sv}', '0', disk='2-2:1.0')
            until(lambda: self.listens() == [], 'none waits')
            self.pull()
            self.bind('uas')
            self.put_back(devnum)

    def test_in_a_container(self):
        "Only a container has mounted the disk. No table of PID 1 shows when that ends: the end of the file system makes uasd look."
        init = self.start(['unshare', '--mount', 'sh', '-c', 'echo ready; exec sleep 1000'], stdout=subprocess.PIPE)
        mount, unmount = self.mounter('proc/4242/root/mnt')
        self.assertEqual(init.stdout.readline(), 'ready\n')  # PID 1 has its own mounts
        os.unlink(self.tree.path('proc/1/mountinfo'))
        os.symlink(f'/proc/{init.pid}/mountinfo', self.tree.path('proc/1/mountinfo'))
        mount()
        with open('/proc/self/mountinfo') as table:
            [number] = [line.split()[0] for line in table if self.tree.path('proc/4242/root/mnt') in line.split()]
        os.mkdir(self.tree.path('proc/4242/ns'))
        os.symlink('mnt:[4242]', self.tree.path('proc/4242/ns/mnt'))
        self.tree.write('proc/4242/mountinfo', f'{number} 1 8:400 / /mnt rw - ext4 /dev/sdz rw\n')
        self.play(SWITCH.replace('\n', '\nif [ -s "$TREE/proc/4242/mountinfo" ]; then echo "CLAIMED sdz"; echo "END 3 claim in use"; exit 3; fi\n', 1))
        daemon = self.both()
        before = self.descriptors()
        told = 'looked by name: in use\n'  # otherwise it says that no event tells
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        until(lambda: told in self.journal() and self.at_rest(daemon), 'an event will tell when that ends')
        self.look_again()
        until(lambda: self.journal().count(told) > 1 and self.at_rest(daemon), 'also when it has been read again')
        self.tree.write('proc/4242/mountinfo', '')
        unmount()
        self.driver_is('usb-storage')
        until(lambda: self.descriptors() == before, 'uasd watches it no longer')

    def descriptors(self):
        folder = f'/proc/{self.uasd.pid}/fd'
        return [os.readlink(f'{folder}/{fd}') for fd in os.listdir(folder)].count('anon_inode:inotify')

    def mounter(self, at='at'):
        """Functions that mount a tmpfs, and unmount it."""
        at = self.tree.path(at)
        os.makedirs(at)
        libc = ctypes.CDLL(None)
        if libc.mount(b'none', at.encode(), b'tmpfs', 0, None):
            self.skipTest('no right to mount')
        libc.umount2(at.encode(), 0)
        self.addCleanup(lambda: libc.umount2(at.encode(), 0))
        return lambda: libc.mount(b'none', at.encode(), b'tmpfs', 0, None), lambda: libc.umount2(at.encode(), 0)

    def test_unmounted(self):
        "Any change of PID 1's mount table makes uasd look."
        mount, unmount = self.mounter()
        mount()
        self.waits()
        os.rmdir(self.tree.path(HOLDER))
        unmount()
        self.driver_is('usb-storage')

    def test_storm(self):
        "Two checks are at least 5 ms apart, and between them uasd wakes up once. The last change of a storm is not lost."
        mount, unmount = self.mounter()
        daemon = self.waits()

        def wakeups():
            with open(f'/proc/{daemon.pid}/status') as status:
                return int(re.search(r'^voluntary_ctxt_switches:\s*(\d+)', status.read(), re.M).group(1))
        looks, woken, began = self.looks(), wakeups(), time.monotonic()
        for _event in range(500):
            mount()
            unmount()
        checks = (time.monotonic() - began) / 0.005 + 1
        self.assertLessEqual(wakeups() - woken, 2 * checks + 10)  # a client's end wakes uasd, too
        self.assertLessEqual(self.looks() - looks, checks + 1)
        mount()
        os.rmdir(self.tree.path(HOLDER))
        unmount()
        self.driver_is('usb-storage')

    def test_used_again(self):
        "After a slow look uasd pauses for longer than the quiet time. A use that begins meanwhile is seen before the switch would begin."
        mount, unmount = self.mounter()
        self.conf('[uasd]\nQuietSec=1\n')
        self.plays_switch('echo "END 0 release It is moved."')
        self.waits()
        before = self.looks()
        self.tree.write('proc/swaps', 'Filename Type Size Used Priority\n' + '/none partition 1 0 -2\n' * 500000)
        os.rmdir(self.tree.path(HOLDER))
        mount()
        until(lambda: self.looks() > before, 'it looks', 30)
        os.mkdir(self.tree.path(HOLDER))
        unmount()
        until(lambda: self.looks() > before + 1, 'it looks again', 60)
        self.assertFalse(os.path.exists(self.tree.path('calls')))
        self.assertEqual(self.disk()['state'], 'waiting')

    def test_longest_pause(self):
        "A look hangs for a time: uasd waits 10 s before the next one, and not longer."
        mount, unmount = self.mounter()
        daemon = self.both()
        table, fifo, used = (self.tree.path('proc/' + name) for name in ('swaps', 'fifo', 'used'))
        for path in table, used:
            self.tree.write(path, 'Filename Type Size Used Priority\n/dev/sdz partition 1 0 -2\n')
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        os.mkfifo(fifo)
        os.replace(fifo, table)
        mount()
        with open(table, 'w') as f:  # when uasd reads it
            let_pass(0.3)  # uasd measures how long a look takes
            os.replace(used, table)
            f.write('Filename Type Size Used Priority\n/dev/sdz partition 1 0 -2\n')
        unmount()
        left = until(lambda: [left for left in self.timers(daemon) if left > 5], 'a timer ends the pause')
        self.assertLessEqual(max(left), 10)

    def test_new_partition(self):
        "A partition table is written while the disk waits: the close of a new node counts, too."
        self.waits()
        self.tree.write('dev/sdz1', '')
        node = INTERFACE + '/host3/target3:0:0/3:0:0:0/block/sdz/sdz1'
        for name, value in {'dev': '8:401', 'partition': '1'}.items():
            self.tree.write(f'{node}/{name}', value + '\n')
        self.tree.link('sys/class/block/sdz1', node)
        self.event('change block sdz 2-1:1.0')
        self.disk()
        os.rmdir(self.tree.path(HOLDER))
        with open(self.tree.path('dev/sdz1')):
            pass
        self.driver_is('usb-storage')


if __name__ == '__main__':
    main()

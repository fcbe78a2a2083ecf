#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the strings of a disk that hangs in the kernel are not read again."""

import os
import signal

from machine import INTERFACE, Machine, main, until
import privatebus

DEVICE = os.path.dirname(INTERFACE)


class Strings(Machine):
    def hang(self, *attributes):
        """A read of one hangs forever, as behind the lock of a device."""
        for name in attributes:
            path = self.tree.path(f'{DEVICE}/{name}')
            os.unlink(path)
            os.mkfifo(path)

    def opens(self, path):
        """The other end of that attribute, when a process reads it."""
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None

    def names(self):
        one = self.disk()
        return one['manufacturer'], one['product'], one['serial']

    def test_restart(self):
        "The disk hangs, and uasd is started again: it gets ready and reports the disk. So does uasctl, also without uasd."
        daemon = self.both()
        until(lambda: os.path.exists(self.tree.path('run/uasd/strings/' + self.tree.attachment())), 'the strings are kept')
        self.hang('manufacturer', 'product', 'serial')
        privatebus.kill(daemon)
        self.assertEqual(self.names(), ('Maker', 'Disk', 'S1'))
        self.start_on_bus()
        self.assertEqual(self.names(), ('Maker', 'Disk', 'S1'))
        self.assertIn('S1', self.ctl('status', '--all', 'sdz').stdout)

    def test_another(self):
        "Another disk at the same port reports its own strings, and the stored ones of the previous disk are removed."
        daemon = self.both()
        until(lambda: os.path.exists(self.tree.path('run/uasd/strings/' + self.tree.attachment())), 'the strings are kept')
        privatebus.kill(daemon)
        self.tree.number('2-1', 6)
        self.tree.write(f'{DEVICE}/serial', 'S2\n')
        self.start_on_bus()
        self.assertEqual(self.names(), ('Maker', 'Disk', 'S2'))
        self.assertEqual(os.listdir(self.tree.path('run/uasd/strings')), [self.tree.attachment(devnum=6)])

    def test_locked(self):
        """The kernel holds the lock of a new device, because another interface of it is being probed. Meanwhile uasd handles
        other disks."""
        self.hears()
        self.both()
        self.tree.disk('2-2', 'sdy', 'uas', serial='S9')
        path = self.tree.path('sys/devices/pci0000:00/0000:00:14.0/usb2/2-2/manufacturer')
        os.unlink(path)
        os.mkfifo(path)
        self.look_again()
        fifo = until(lambda: self.opens(path), 'a process reads it')
        self.assertEqual(self.interfaces(), ['2-1'])
        self.ctl('switch', 'sdz', 'usb-storage')
        self.assertEqual(self.disk()['driver'], 'usb-storage')
        os.write(fifo, b'Late\n')
        os.close(fifo)
        until(lambda: '2-2' in self.interfaces(), 'it is known when it has told its name')
        [late] = [one for one in self.managed_disks() if one['Interface'] == '2-2:1.0']
        self.assertEqual((late['Manufacturer'], late['Serial']), ('Late', 'S9'))

    def test_locked_at_start(self):
        "The same at the start of uasd. A device that disappears meanwhile leaves nothing behind."
        self.hears()
        self.hang('product')
        self.both()
        self.assertEqual(self.interfaces(), [])
        fifo = until(lambda: self.opens(self.tree.path(f'{DEVICE}/product')), 'a process reads it')
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0'))
        self.look_again()
        os.close(fifo)
        os.unlink(self.tree.path(f'{DEVICE}/product'))
        self.tree.write(f'{DEVICE}/product', 'Other\n')
        self.put_back(6)
        self.assertEqual(self.names(), ('Maker', 'Other', 'S1'))

    def test_reader_ends(self):
        "The process that reads them is killed: uasd starts another one. If the device goes, uasd ends it."
        self.hears()
        self.hang('product')
        daemon = self.both()
        path = self.tree.path(f'{DEVICE}/product')
        fifo = until(lambda: self.opens(path), 'a process reads it')
        [reader] = self.children(daemon)
        os.kill(int(reader), signal.SIGKILL)
        until(lambda: self.children(daemon) not in ([], [reader]), 'another one reads it')
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0'))
        with open(self.tree.path('uevents'), 'w') as events:
            events.write('unbind usb 2-1:1.0 2-1:1.0\n')
        until(lambda: self.at_rest(daemon), 'it does not wait for a process, or for a time')
        os.close(fifo)

    def test_no_process(self):
        "No process can be started that asks the device: uasd adds the disk when it has its serial number, for policy and history."
        self.warns('its names cannot be read yet')
        self.hears()
        self.tree.write('no-fork', '')
        daemon = self.both()
        until(lambda: 'cannot be read yet' in self.journal(), 'it fails')
        self.assertEqual(self.interfaces(), [])
        os.unlink(self.tree.path('sys/bus/usb/devices/2-1:1.0'))
        with open(self.tree.path('uevents'), 'w') as events:
            events.write('unbind usb 2-1:1.0 2-1:1.0\n')
        until(lambda: self.at_rest(daemon), 'it does not wait for a device that has gone')
        tried = self.journal().count('cannot be read yet')
        self.tree.link('sys/bus/usb/devices/2-1:1.0', INTERFACE)
        self.look_again()
        until(lambda: self.journal().count('cannot be read yet') > tried, 'it fails again')
        os.unlink(self.tree.path('no-fork'))
        until(lambda: '2-1' in self.interfaces(), 'it is known')
        self.assertEqual(self.names(), ('Maker', 'Disk', 'S1'))

    def test_not_readable(self):
        "One of them cannot be read: it is not stored as empty, and the next uasd reads it."
        path = self.tree.path(f'{DEVICE}/serial')
        os.rename(path, self.tree.path('away'))
        os.mkdir(path)
        daemon = self.both()
        self.assertEqual([one['Serial'] for one in self.managed_disks()], [''])
        privatebus.kill(daemon)
        os.rmdir(path)
        os.rename(self.tree.path('away'), path)
        self.start_on_bus()
        self.assertEqual([one['Serial'] for one in self.managed_disks()], ['S1'])

    def test_no_room(self):
        "If they cannot be stored, everything else still works."
        self.tree.write('run/uasd/strings', '')
        daemon = self.both()
        self.assertEqual(self.names(), ('Maker', 'Disk', 'S1'))
        self.ctl('switch', 'sdz', 'usb-storage')
        privatebus.kill(daemon)
        self.assertEqual(self.names(), ('Maker', 'Disk', 'S1'))


if __name__ == '__main__':
    main()

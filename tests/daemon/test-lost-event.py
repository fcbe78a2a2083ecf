#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the event that a disk is free was lost."""

import json
import os
import signal

from machine import Machine, main, stop, until


class Lost(Machine):
    def holder(self, block):
        return self.tree.path(f'sys/class/block/{block}/holders/dm-9')

    def test_uevents(self):
        """The holder of a disk has gone, and udev's event was lost: uasd looks for the users again, of the first disk and of the
        last."""
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        for block in 'sdz', 'sdy':
            os.mkdir(self.holder(block))
        os.mkfifo(self.tree.path('uevents'))
        self.both()
        for block in 'sdz', 'sdy':
            self.ctl('switch', block, 'usb-storage', code=3)
            os.rmdir(self.holder(block))
        with open(self.tree.path('uevents'), 'wb') as fifo:
            fifo.write(b'lost\n')
        until(lambda: {one['driver'] for one in json.loads(self.ctl('list', '--json').stdout)['disks']} == {'usb-storage'}, 'they are moved')
        self.assertIn('kernel events were lost', self.journal())

    def test_order(self):
        "Events of two kinds wait: what the kernel has bound comes first. Its delay_use is only one second."
        self.hears()
        daemon = self.start_daemon()
        until(lambda: self.at_rest(daemon), 'it has begun')
        stop(daemon)
        for fifo, event in ('announced', 'change block loop1'), ('uevents', 'bind usb 2-1:1.0'):
            with open(self.tree.path(fifo), 'w') as f:
                f.write(event + '\n')
        daemon.send_signal(signal.SIGCONT)
        until(lambda: len(self.heard()) == 2, 'it has heard both')
        self.assertEqual(self.heard(), ['bind usb 2-1:1.0', 'change block loop1'])

    def test_closes(self):
        "So many closes of one disk's node that the last close of another's is lost."
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        self.tree.write('dev/sdy', '')
        for block in 'sdz', 'sdy':
            os.mkdir(self.holder(block))
        daemon = self.both()
        for block in 'sdz', 'sdy':
            self.ctl('switch', block, 'usb-storage', code=3)
        with open('/proc/sys/fs/inotify/max_queued_events') as f:
            most = int(f.read())
        stop(daemon)
        for i in range(most + 2):  # two equal ones in a row are one event
            os.close(os.open(self.tree.path('dev/sdz'), os.O_RDWR if i % 2 else os.O_RDONLY))
        os.rmdir(self.holder('sdy'))
        os.close(os.open(self.tree.path('dev/sdy'), os.O_RDONLY))
        daemon.send_signal(signal.SIGCONT)
        until(lambda: self.tree_driver('2-2') == 'usb-storage', 'it is moved', 60)
        self.assertEqual(self.tree_driver('2-1'), 'uas')

    def tree_driver(self, port):
        return os.path.basename(os.path.realpath(self.tree.path(f'sys/bus/usb/devices/{port}:1.0/driver')))

    def test_bus_out_of_reach(self):
        "uasd tries again to join a bus to which it could not connect."
        self.warns('cannot join the system bus')
        self.start_bus()
        far = os.path.join(self.dir, 'far')
        with open(far, 'w'):
            pass
        self.env = dict(self.env, DBUS_SYSTEM_BUS_ADDRESS=f'unix:path={far}/bus')
        self.start_daemon()
        until(lambda: 'cannot join the system bus: Not a directory' in self.journal(), 'it has tried')
        os.unlink(far)
        os.symlink(self.dir, far)
        until(self.on_bus, 'uasd is on the bus')


if __name__ == '__main__':
    main()

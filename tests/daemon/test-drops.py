#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: a disk that drops off the bus and comes back, repeatedly."""

import os
import time

from machine import BUS, Machine, let_pass, main, until

SENTENCE = ('it dropped off the bus by itself and came back, 3 times within ten minutes, which is not held against it; '
            'to blame: the cable, a connector or the power supply')


class Drops(Machine):
    def setUp(self):
        super().setUp()
        self.hears()
        self.both()

    def told(self):
        self.disk()  # an answer shows that uasd has processed the earlier events
        return [fields for name, fields in self.messages() if name == 'TROUBLE']

    def not_yet(self, *devnums):
        for devnum in devnums:
            self.drops(devnum)
            self.assertEqual(self.told(), [])

    def once(self, *devnums):
        for devnum in devnums:
            self.drops(devnum)
            until(self.told, 'it is told')
        [told] = self.told()
        self.assertEqual(told['MESSAGE'].partition(': ')[2], SENTENCE)
        self.assertEqual((told['UASD_INTERFACE'], told['UASD_USB_ID'], told['PRIORITY']), ('2-1:1.0', '1209:5a5a:S1', '4'))

    def test_told(self):
        "The third time is reported, once, and nothing else happens."
        self.warns('TROUBLE')
        self.not_yet(6, 7)
        self.once(8, 9, 10, 11)
        one = self.disk()
        self.assertEqual((one['driver'], one['state'], one['history']), ('uas', 'settled', None))
        for path in 'etc/uasd/history', 'var/lib/uasd/history':
            self.assertFalse(os.path.exists(self.tree.path(path)))

    def test_by_hand(self):
        "Unplugging by hand takes longer."
        self.warns('TROUBLE')
        self.not_yet(6, 7)
        self.pull()
        let_pass(5.1)  # uasd measures it: what comes back within 5 s has dropped off
        self.put_back(8)
        self.assertEqual(self.told(), [])
        self.once(9)

    def test_pulled(self):
        "It disconnects, and connects a moment later."
        self.warns('TROUBLE')
        self.not_yet(6, 7)
        began = time.monotonic()
        self.pull()
        self.put_back(8)
        if time.monotonic() < began + 5:  # otherwise this machine is too slow to distinguish the two
            self.once()

    def test_in_a_switch(self):
        "A drop during a switch may be caused by the switch."
        self.warns('TROUBLE')
        self.not_yet(6, 7)
        self.tree.write('at-sync', '')
        self.switch()
        self.step_is('sync')
        self.not_yet(8)
        os.unlink(self.tree.path('at-sync'))
        self.once(9)

    def test_another(self):
        "Another disk does not count as the same one coming back."
        self.not_yet(6, 7)
        self.tree.write(f'{BUS}/2-1/serial', 'S2\n')
        self.not_yet(8)


if __name__ == '__main__':
    main()

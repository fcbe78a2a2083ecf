#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: after a failed switch the catalog names the real driver of the disk."""

import os
import re

from machine import ENDS_ON, TOP, Machine, main


class Stranded(Machine):
    def setUp(self):
        super().setUp()
        self.play(ENDS_ON)

    def ending(self, code, on, to='usb-storage'):
        """The fields of the end of one switch, and the text of the catalog with these fields."""
        self.tree.write('ends-on', on)
        self.tree.write('ends', f'END {code} bind It went so.\n')
        self.ctl('switch', 'sdz', to, '--wait', code=code)
        name, fields = self.messages()[-1]
        with open(os.path.join(TOP, 'src/daemon/uasd.catalog')) as f:
            [text] = re.findall(r'(?ms)^-- %s\n(.*?)(?=^-- |\Z)' % fields['MESSAGE_ID'], f.read())
        text = re.sub(r'@(\w+)@', lambda field: fields[field[1]], ' '.join(text.split()))
        return name, fields, text

    def test_failed(self):
        self.warns('FAILED')
        self.both()
        what, fields, text = self.ending(1, 'uas')
        self.assertEqual((what, fields['UASD_STEP'], fields['UASD_STATE']), ('FAILED', 'bind', 'failed'))
        self.assertIn('is still on its driver', text)

    def test_rolled_back(self):
        "The advice depends on the driver that works."
        self.warns('ROLLED_BACK')
        self.both()
        what, fields, text = self.ending(7, 'uas')
        self.assertEqual((what, fields['UASD_STEP']), ('ROLLED_BACK', 'bind'))
        self.assertIn('is on its former driver', text)
        self.assertTrue(text.endswith('uasctl policy 2-1:1.0 uas'), text)

    def test_rolled_back_from_uas(self):
        self.warns('ROLLED_BACK')
        self.bind('usb-storage')
        self.conf('[uasd]\nQuietSec=0\nPolicy=usb-storage\n')
        self.both()
        what, fields, text = self.ending(7, 'usb-storage', 'uas')
        self.assertEqual(what, 'ROLLED_BACK')
        self.assertTrue(text.endswith('uasctl policy 2-1:1.0 usb-storage'), text)

    def stranded(self, code, on, where):
        self.both()
        what, fields, text = self.ending(code, on)
        self.assertEqual((what, fields['UASD_STEP']), ('STRANDED', 'bind'), fields)
        self.assertEqual(fields['MESSAGE'], f'2-1:1.0 sdz: not brought back, {where}; step bind: It went so.')
        self.assertIn('on another driver than before, or on none', text)

    def test_stays_on_the_other(self):
        self.warns('STRANDED')
        self.stranded(1, 'usb-storage', 'it is on usb-storage')

    def test_taken_back_and_is_not(self):
        self.warns('STRANDED')
        self.stranded(7, 'usb-storage', 'it is on usb-storage')

    def test_without_driver(self):
        self.warns('STRANDED')
        self.stranded(1, 'none', 'it has no driver')


if __name__ == '__main__':
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd.conf: the values that uasd read at its start, the present ones, and invalid ones."""

import json

from machine import Machine, main, patience, until

OTHER = 'uasd still follows the row'


class Config(Machine):
    def explained(self):
        """The deciding row of the table, its remedy, and other messages."""
        p = self.ctl('explain', 'sdz', '--json')
        [row] = [row for row in json.loads(p.stdout)['disks'][0]['rows'] if row['decides']]
        return row['reason_id'], row['remedy'], p.stderr

    def test_read_at_start(self):
        "explain reports when the file differs from the values of uasd. After a restart uasd uses the file."
        daemon = self.both()
        self.assertEqual(self.explained()[0::2], ('unknown-bridge', ''))
        self.conf('[uasd]\nPolicy=ignore\n')
        reason, remedy, said = self.explained()
        self.assertEqual((reason, remedy), ('policy-ignore', 'Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK uas'))
        self.assertIn(f'{OTHER} unknown-bridge; ', said)
        self.assertIn('uasd reads uasd.conf when it starts.', said)
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)
        self.start_on_bus()
        self.assertEqual(self.explained()[0::2], ('policy-ignore', ''))

    def test_who_says_so(self):
        "The remedy works."
        self.conf('[uasd]\nPolicy=ignore\n')
        self.both()
        self.ctl('policy', 'sdz', 'auto')
        self.assertEqual(self.explained()[0], 'policy-ignore')
        self.assertIn('the policy is ignore, by uasd.conf\n', self.ctl('explain', 'sdz').stdout)
        self.ctl('policy', 'sdz', 'uas')
        self.assertEqual(self.explained(), ('policy', 'uasctl policy DISK auto', ''))
        self.assertIn('the policy is uas, by uasctl policy\n', self.ctl('explain', 'sdz').stdout)

    def test_switched_again(self):
        "A new setting moves also a disk that uasd has moved by itself, but not again to the driver where it does not stay."
        mark = f'run/uasd/attachment/{self.tree.attachment()}'
        self.conf('[uasd]\nQuietSec=0\n[Disk 1209:5a5a]\nPolicy=usb-storage\n')
        self.tree.write(mark, 'TRIED=1\nSWITCHED_TO=uas\n')
        daemon = self.both()
        self.driver_is('usb-storage')
        until(lambda: self.disk()['state'] == 'settled', 'it is done')
        self.assertNotIn('failed', self.journal())
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)
        self.bind('uas')
        self.tree.write(mark, 'TRIED=1\nSWITCHED_TO=usb-storage\n')
        self.start_on_bus()
        one = self.disk()
        self.assertEqual((one['state'], one['reason']), (
            'failed', 'uasd has tried usb-storage once since it was plugged in, and does not try again by itself.'))

    def test_forgotten_with_run_full(self):
        "/run is full when a user wants another try. The next uasd knows that too."
        self.warns('its mark in /run cannot be changed')
        self.conf('[uasd]\nQuietSec=0\n[Disk 1209:5a5a]\nPolicy=usb-storage\n')
        self.tree.write(f'run/uasd/attachment/{self.tree.attachment()}', 'TRIED=1\nSWITCHED_TO=usb-storage\n')
        daemon = self.both()
        self.assertEqual(self.disk()['state'], 'failed')
        ends = self.run_is_full(daemon)
        self.use(True)
        self.ctl('forget', 'sdz')
        self.assertEqual(self.disk()['state'], 'waiting')
        ends()
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)
        self.start_on_bus()
        self.assertEqual(self.disk()['state'], 'waiting')

    def complaints(self, said):
        return [line.split(': ', 1)[1] for line in said.splitlines() if 'uasd.conf' in line and '/' in line]

    def test_every_mistake(self):
        "uasd and uasctl report each error with path and line, and ignore only that line."
        self.warns('uasd.conf')
        self.conf('Policy=uas\n[uasd]\nPolicy=fast\n# ' + 'x' * 999 + '\nno assignment\nQuietSec=0\nQuietsec=1\n[uasd\nUnknown=' + 'x' * 999 +
                  '\n[Disk 1209]\nPolicy=uas\n\nneither\nUnknown=usb-storage\n[uasd]\nTrialSec=-1\nUnknown=usb-storage\n')
        self.tree.write('usr/lib/uasd/uasd.conf.d/10-x.conf', '[uasd]\nHoldSec=\n')
        self.tree.write('etc/uasd/uasd.conf.d/20-x.conf', ''.join(f'line {i}\n' for i in range(100)) + '[Disk 1209:5a5a]\nPolicy=ignore\n')
        key, value, line = 'no such section or key', 'value not understood', 'not a KEY=VALUE line'
        main = [f'/etc/uasd/uasd.conf:{n}: {what}' for n, what in (
            (1, key), (3, value), (5, line), (7, key), (8, line), (9, 'too long a line'), (11, key), (13, line), (14, key), (16, value))]
        rest = ['/usr/lib/uasd/uasd.conf.d/10-x.conf:2: ' + value, *[f'/etc/uasd/uasd.conf.d/20-x.conf:{n}: {line}' for n in range(1, 33)],
                f'/etc/uasd/uasd.conf.d/20-x.conf:33: {line}, nor are others below, perhaps']
        self.both()
        self.assertEqual(self.complaints(self.journal()), main + rest)
        for verb in ('explain', 'sdz'), ('policy', '--kernel'):
            self.assertEqual(self.complaints(self.ctl(*verb).stderr), main + rest)
        # Valid lines count, also after an invalid one.
        self.assertEqual(self.explained()[0], 'policy-ignore')


if __name__ == '__main__':
    main()

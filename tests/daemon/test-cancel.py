#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the effect of cancel on a waiting, a running and a completed switch."""

import json
import os

from machine import Machine, main, patience, until
import privatebus

STAYS = 'The switch to %s was cancelled. The disk stays on %s until a user asks again or plugs it in again.'


class Cancel(Machine):
    def is_at(self, **what):
        one = self.disk()
        self.assertEqual({key: one[key] for key in what}, what, one)
        return one

    def is_settled_on(self, driver, target):
        return self.is_at(driver=driver, target=target, state='settled')

    def mark(self, key):
        [name] = os.listdir(self.tree.path('run/uasd/attachment'))
        with open(self.tree.path('run/uasd/attachment/' + name)) as f:
            return dict(line.strip().split('=') for line in f)[key]

    def stop(self, daemon):
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)

    def anew(self, daemon):
        privatebus.kill(daemon)
        return self.start_on_bus()

    def test_running(self):
        "A running switch is not interrupted, and the request is kept. cancel fails, on the disk and on the job."
        self.both()
        self.tree.write('at-sync', '')
        path = self.switch()
        self.step_is('sync')
        p = self.ctl('cancel', 'sdz', code=6)
        self.assertIn('2-1:1.0 is being switched, and a switch is not stopped in the middle.', p.stderr)
        p = self.cancel_job(path)
        self.assertIn('not stopped in the middle', p.stderr)
        self.assertEqual(self.mark('OVERRIDE'), 'usb-storage')
        self.assertIn('Is being switched to usb-storage', self.disk()['reason'])
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('usb-storage')
        self.assertEqual(self.is_settled_on('usb-storage', 'usb-storage')['reason_id'], 'override')

    def test_release(self):
        "For a disk that is not held, release is the same as cancel. The journal has no entry about a hold."
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.ctl('release', 'sdz')
        self.is_settled_on('usb-storage', 'usb-storage')
        self.assertEqual((self.mark('OVERRIDE'), self.mark('RELEASED')), ('usb-storage', '0'))
        self.assertNotIn('RELEASED', [name for name, _ in self.messages()])

    def test_done(self):
        "Without a waiting request nothing happens. A completed switch stays, also after other requests about the disk."
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.ctl('cancel', 'sdz')
        self.is_settled_on('usb-storage', 'usb-storage')
        self.ctl('forget', 'sdz')
        self.ctl('policy', 'sdz', 'uas')
        self.is_settled_on('usb-storage', 'usb-storage')
        self.assertEqual(self.mark('OVERRIDE'), 'usb-storage')
        # Without the override the disk goes where its policy wants it.
        self.ctl('switch', 'sdz')
        self.is_settled_on('uas', 'uas')

    def test_waiting(self):
        "A waiting request is removed with its override. A client that waits for it is informed."
        self.both()
        self.use(True)
        listener = self.listen()
        path = self.switch()
        self.ctl('cancel', 'sdz')
        self.assertEqual(self.told_of(listener, path)[-2:], [('JobRemoved', '2-1:1.0', 1, '', 'it was cancelled'), 'InterfacesRemoved'])
        self.assertNotIn('cancelled', self.is_settled_on('uas', 'uas')['reason'])
        self.assertEqual((self.mark('OVERRIDE'), self.mark('CANCELLED')), ('none', '0'))
        self.use(False)
        self.ctl('forget', 'sdz')
        self.is_settled_on('uas', 'uas')
        self.assertFalse(os.path.exists(self.tree.path('moving')))

    def test_waiting_on_done(self):
        "A request is cancelled, and the earlier completed request is in force again."
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage')
        self.use(True)
        for words in ['uas'], []:
            with self.subTest(words):
                self.ctl('switch', 'sdz', *words, code=3)
                self.is_at(state='waiting', target='uas')
                self.ctl('cancel', 'sdz')
                self.is_settled_on('usb-storage', 'usb-storage')
        self.use(False)
        self.ctl('forget', 'sdz')
        self.is_settled_on('usb-storage', 'usb-storage')

    def test_kept(self):
        """A switch that no user requested and that a user cancelled stays cancelled, also after a restart of uasd, and is
        reported everywhere. A new request ends that."""
        self.bind('usb-storage')
        self.use(True)
        daemon = self.both()
        self.is_at(state='waiting', target='uas')
        self.ctl('cancel', 'sdz')
        stays = STAYS % ('uas', 'usb-storage')
        for _ in range(2):
            self.assertTrue(self.is_settled_on('usb-storage', 'uas')['reason'].startswith(stays))
            self.assertIn(stays, self.ctl('status', 'sdz').stdout)
            self.assertIn(stays, self.ctl('explain', 'sdz').stdout)
            daemon = self.anew(daemon)
        self.use(False)
        self.ctl('list')
        self.assertIn(stays, self.journal())
        self.is_settled_on('usb-storage', 'uas')
        self.assertFalse(os.path.exists(self.tree.path('moving')))
        # Without the daemon uasctl does not show it as waiting either.
        privatebus.kill(daemon)
        [one] = json.loads(self.tree.run('list', '--json').stdout)['disks']
        self.assertEqual((one['state'], one['target']), ('settled', 'uas'))
        self.assertTrue(one['reason'].startswith(stays))
        self.start_on_bus()
        self.ctl('policy', 'sdz', 'auto')
        self.driver_is('uas')
        self.assertEqual(self.mark('CANCELLED'), '0')
        self.assertNotIn('cancelled', self.disk()['reason'])

    def test_request_stays_on_record(self):
        "/run is full: the request cannot be removed from the record. It stays in force, and the user learns that."
        daemon = self.both()
        self.use(True)
        path = self.switch()
        ends = self.run_is_full(daemon)
        for words, said in ((['cancel', 'sdz'], 'The record in /run/uasd cannot be changed'), (['release', 'sdz'], 'The disk cannot be released'),
                            (['switch', 'sdz', 'uas'], 'The record in /run/uasd cannot be changed')):
            self.assertIn(said + ': File exists', self.ctl(*words, code=1).stderr)
        self.assertEqual((self.job()[0], self.job()[1]['State']), (path, 'waiting'))
        self.is_at(state='waiting', target='usb-storage')
        ends()
        self.ctl('cancel', 'sdz')
        self.assertEqual(self.mark('OVERRIDE'), 'none')

    def test_not_on_record(self):
        """/run is full: a switch that no user requested stays cancelled, also after events of the disk. The next uasd knows it if there
        is room when the first one ends."""
        self.warns('its mark in /run cannot be changed', 'its mark in /run still says what is no longer true')
        self.hears()
        self.bind('usb-storage')
        self.use(True)
        daemon = self.both()
        self.is_at(state='waiting', target='uas')
        ends = self.run_is_full(daemon)
        self.ctl('cancel', 'sdz')
        self.tree.write('sys/bus/usb/devices/2-1/speed', '480\n')
        self.look_again()
        until(lambda: self.managed_disks()[0]['SpeedMbps'] == 480, 'it has been read again')
        self.is_settled_on('usb-storage', 'uas')
        ends()
        self.stop(daemon)
        daemon = self.start_on_bus()
        self.is_settled_on('usb-storage', 'uas')
        # It is cancelled no more, and there is no room to the end.
        self.run_is_full(daemon)
        self.ctl('forget', 'sdz')
        self.is_at(state='waiting', target='uas')
        self.stop(daemon)

    def test_asked_before_restart(self):
        "A request outlives uasd, and can be cancelled afterwards. Its job ends with the uasd that had it."
        daemon = self.both()
        self.use(True)
        self.switch()
        self.anew(daemon)
        self.is_at(state='waiting', target='usb-storage')
        self.ctl('cancel', 'sdz')
        self.is_settled_on('uas', 'uas')
        self.assertEqual(self.mark('OVERRIDE'), 'none')


if __name__ == '__main__':
    main()

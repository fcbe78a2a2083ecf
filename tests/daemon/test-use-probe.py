#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: the child that looks for users by name."""

import json
import os
import re
import signal

from machine import Machine, let_pass, main, patience, stop, until


class Look(Machine):
    def table_hangs(self):
        """Adds a process in its own mount namespace, and its mount table hangs."""
        self.table = self.tree.path('proc/77/mountinfo')
        os.makedirs(self.tree.path('proc/77/ns'))
        os.mkfifo(self.table)
        os.symlink('mnt:[77]', self.tree.path('proc/77/ns/mnt'))

    def opens_table(self):
        """The other end of the table, when a process reads it."""
        try:
            return os.open(self.table, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None

    def test_keeps(self):
        "The child keeps the trees, an inotify and its socket to uasd. It has neither uasd's lock, nor a connection, nor an inhibitor."
        self.tree.disk('2-2', 'sdy', 'uas', serial='S2')
        daemon = self.both()
        inhibitor = self.start_ctl('inhibit', '--disk=sdy', 'sleep', '1000')
        self.addCleanup(lambda: inhibitor.wait(patience()))
        self.addCleanup(inhibitor.terminate)
        until(lambda: 'sleep' in self.ctl('inhibit', '--list').stdout, 'there is an inhibitor')
        self.plays_switch('echo "END 3 claim in use: a mount or a program has claimed sdz"', 'exit 3')
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        until(lambda: [one['State'] for one in self.managed_disks() if one['Interface'] == '2-1:1.0'] == ['waiting'], 'it waits')
        self.table_hangs()  # uasd looks repeatedly, because no event reports the end of that claim
        end = until(self.opens_table, 'a process reads the table')
        self.addCleanup(lambda: os.close(end))
        [pid] = self.children(daemon)
        keeps = {fd: os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd') if int(fd) > 2}
        kinds = sorted(re.sub(r'^socket:.*', 'socket', target) for target in keeps.values() if not target.startswith(self.tree.top))
        self.assertEqual(kinds, ['anon_inode:inotify', 'socket'], keeps)
        self.assertNotIn(self.tree.path('run/uasd/uasd.lock'), keeps.values())

    def test_killed(self):
        "A child that dies has not said that no process uses the disk: uasd looks again, and does not switch."
        daemon = self.both()
        self.plays_switch('echo "END 3 claim in use: a mount or a program has claimed sdz"', 'exit 3')
        self.table_hangs()
        mounted = self.tree.path('proc/77/mounted')
        self.tree.write('proc/77/mounted', '30 1 8:400 / /mnt/other rw - ext4 /dev/sdz rw\n')
        os.replace(mounted, self.table)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        until(lambda: '/mnt/other' in self.disk()['reason'], 'uasd has found the mount')
        os.mkfifo(mounted)
        os.replace(mounted, self.table)
        end = until(self.opens_table, 'a process reads the table')
        before = self.calls()
        [pid] = self.children(daemon)
        os.kill(int(pid), signal.SIGKILL)
        until(lambda: not os.path.exists(f'/proc/{pid}'), 'it is dead')
        os.close(end)
        os.close(until(self.opens_table, 'the next one reads it'))
        self.assertEqual(self.calls(), before)

    def test_asked(self):
        "A query about the users of a waiting disk does not block uasd. The bus gets them when they are found."
        self.both()
        self.use(True)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        [before] = self.managed_disks()
        self.assertEqual([one[0] for one in before['Busy']], ['holder'])
        listener = self.listen()
        self.table_hangs()

        def finds(where, first='/mnt/other'):
            let_pass(0.6)  # uasd measures it: the users found last are too old then
            self.assertIn(f' waiting: {first} ', self.ctl('list').stdout)  # the table names the first user of a disk that waits
            end = until(self.opens_table, 'a process reads the table')
            self.assertEqual(self.disk()['state'], 'waiting')  # uasd answers
            os.write(end, f'30 1 8:400 / {where} rw - ext4 /dev/sdz rw\n'.encode())
            os.close(end)
            until(lambda: 'PropertiesChanged' in listener.readline(), 'the bus hears of it')
        finds('/mnt/other', 'dm-9')
        # A user that differs in one thing is another one. Nothing asks meanwhile: the next look begins after the change.
        finds('/mnt/new')
        namespace = self.tree.path('proc/77/ns/mnt')
        os.unlink(namespace)
        os.symlink('mnt:[78]', namespace)
        finds('/mnt/new', '/mnt/new')
        os.rename(self.tree.path('proc/77'), self.tree.path('proc/78'))
        self.table = self.tree.path('proc/78/mountinfo')
        finds('/mnt/new', '/mnt/new')
        self.assertEqual(sorted(one[0] for one in self.managed_disks()[0]['Busy']), ['holder', 'mount'])

    def test_asked_in_vain(self):
        "A query that takes long and finds the same users makes no signal: a client that asks at each signal would ask forever."
        self.both()
        self.use(True)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        self.table_hangs()
        listener = None
        for _ in range(2):
            let_pass(0.6)  # uasd measures it: the users found last are too old then
            self.managed_disks()
            end = until(self.opens_table, 'a process reads the table')
            listener = listener or self.listen()
            os.close(end)
        self.assertEqual(self.call_disk('Cancel', 'a{sv}', '0').returncode, 0)
        first = until(lambda: [one for one in [json.loads(listener.readline())] if one['member'] == 'PropertiesChanged' and one['payload']['data'][0].endswith('Disk')],
                      'the bus hears of the cancellation')
        self.assertEqual(first[0]['payload']['data'][1]['State']['data'], 'settled')

    def test_unplugged(self):
        "The first and the last disk go while a process looks for the users of three: only the other one gets them."
        self.hears()
        for port, name in ('2-2', 'sdy'), ('2-3', 'sdx'):
            self.tree.disk(port, name, 'uas', serial=name)
        self.both()
        for name in 'sdz', 'sdy', 'sdx':
            os.mkdir(self.tree.path(f'sys/class/block/{name}/holders/dm-9'))
            self.ctl('switch', name, 'usb-storage', code=3)
        self.managed_disks()
        self.table_hangs()
        let_pass(0.6)  # uasd measures it: the users found last are too old then
        self.managed_disks()
        end = until(self.opens_table, 'a process reads the table')
        self.pull('2-1')
        self.pull('2-3')
        with open(self.tree.path('sys/class/block/sdy/dev')) as dev:
            os.write(end, f'30 1 {dev.read().strip()} / /mnt/other rw - ext4 /dev/sdy rw\n'.encode())
        os.close(end)
        until(lambda: [sorted(user[0] for user in one['Busy']) for one in self.managed_disks()] == [['holder', 'mount']], 'its mount is named')

    def test_first_walk_hangs(self):
        "The first walk takes long: the journal and the bus name at once the users that the tables show."
        self.both()
        self.table_hangs()
        self.use(True)
        self.switch()
        end = until(self.opens_table, 'a process reads the table')
        self.addCleanup(lambda: os.close(end))
        self.assertEqual([user[:3] for user in self.managed_disks()[0]['Busy']], [['holder', 'sdz', 'dm-9']])
        self.assertIn('dm-9', self.disk()['reason'])
        self.assertRegex(self.journal(), 'Waits for usb-storage until nothing uses it: dm-9')

    def test_beside_settled(self):
        "One call asks about a disk that waits and about others: only tables are read for the others, and all processes for it."
        for port, name in ('2-2', 'sdy'), ('2-3', 'sdx'):
            self.tree.disk(port, name, 'uas', serial=name)
        self.both()
        with open(self.tree.path('sys/class/block/sdy/dev')) as dev:
            number = dev.read().strip()
        self.tree.write('proc/77/mountinfo', f'30 1 {number} / /mnt/other rw - ext4 /dev/sdy rw\n')
        os.makedirs(self.tree.path('proc/77/ns'))
        os.symlink('mnt:[77]', self.tree.path('proc/77/ns/mnt'))
        self.plays_switch('echo "END 3 claim in use: a mount or a program has claimed sdy"', 'exit 3')
        self.ctl('switch', 'sdy', 'usb-storage', code=3)

        def uses():
            return {one['Interface'][:3]: [user[2] for user in one['Busy']] for one in self.managed_disks()}
        named = {'2-1': [], '2-2': ['/mnt/other'], '2-3': []}
        until(lambda: uses() == named, 'its mount is named')
        for _ in range(3):
            let_pass(0.6)  # uasd measures it: the users found last are too old then
            self.assertEqual(uses(), named)

    def test_settled(self):
        "The users of a disk that does not wait are only read from tables: uasd looks at no process."
        self.table_hangs()
        self.both()
        self.assertEqual([one['Busy'] for one in self.managed_disks()], [[]])
        self.use(True)
        until(lambda: [user[0] for user in self.managed_disks()[0]['Busy']] == ['holder'], 'the holder is listed')
        self.assertIsNone(self.opens_table())

    def test_burst(self):
        "A process that opens and closes the disk all the time causes one look for all events that uasd reads at once."
        daemon = self.both()
        self.use(True)
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        stop(daemon)
        before = os.path.getsize(self.tree.path('looks'))
        for _ in range(100):  # writers and readers alternate, because inotify merges equal events
            for mode in 'ab', 'rb':
                with open(self.tree.path('dev/sdz'), mode):
                    pass
        daemon.send_signal(signal.SIGCONT)
        self.use(False)
        self.driver_is('usb-storage')
        self.assertLess(os.path.getsize(self.tree.path('looks')) - before, 20)


if __name__ == '__main__':
    main()

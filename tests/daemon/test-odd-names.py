#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd for a machine in a folder, on a private bus: with any names of devices, users and files, all disks are reported."""

import json
import os

from machine import INTERFACE, Machine, main, until

# Invalid UTF-8; and a well-formed noncharacter, which sd-bus refuses.
BROKEN, NEVER = b'\xff', '\ufffe'.encode()


class Names(Machine):
    def waits(self):
        self.both()
        self.use(True)
        self.switch()
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')

    def told(self):
        """The output of D-Bus and uasctl about the one disk. uasctl gets it from uasd."""
        [disk] = self.managed_disks()
        p = self.ctl('list', '--json')
        self.assertEqual(p.stderr, '')
        return disk, json.loads(p.stdout)['disks'][0]

    def process(self, pid, comm, cgroup, where):
        """A process that has the disk mounted in its own namespace."""
        for folder in 'ns', 'fd':
            os.makedirs(self.tree.path(f'proc/{pid}/{folder}'))
        os.symlink(f'mnt:[{pid}]', self.tree.path(f'proc/{pid}/ns/mnt'))
        self.tree.write(f'proc/{pid}/comm', comm + b'\n')
        self.tree.write(f'proc/{pid}/cgroup', b'0::' + cgroup + b'\n')
        self.tree.write(f'proc/{pid}/mountinfo', b'100 1 8:400 / ' + where + b' rw,relatime - ext4 /dev/sdz rw\n')

    def test_users(self):
        self.process(4242, b'sl' + BROKEN + b'eep', b'/' + BROKEN + b'.scope', b'/mnt/' + BROKEN)
        self.process(4243, b'sl' + NEVER + b'eep', b'/' + NEVER + rb'a\x2db.service', b'/mnt/' + NEVER)
        self.waits()
        disk, told = self.told()
        users = {user[5]: (user[2], user[4], user[6]) for user in disk['Busy'] if user[0] == 'mount'}
        self.assertEqual(users, {4242: (r'/mnt/\xff', r'sl\xffeep', r'\xff.scope'),
                                 4243: (r'/mnt/\xef\xbf\xbe', r'sl\xef\xbf\xbeeep', r'\xef\xbf\xbea\x2db.service')})
        self.assertEqual({one['pid']: one['unit'] for one in told['busy'] if one['kind'] == 'mount'},
                         {pid: unit for pid, (_, _, unit) in users.items()})
        self.assertIn(r'of \xef\xbf\xbea\x2db.service (sdz)', self.ctl('status', 'sdz').stdout)
        self.ctl('cancel', 'sdz')

    def test_claim(self):
        "A claim without a process: the pool that udev found on the disk, if it is imported."
        self.claimed('CLAIMED', ('claim', 'sdz', None))

    def test_claim_by_count(self):
        "The same if the driver's count shows it before the claim is tried."
        self.claimed('OPENED', ('open', 'sdz', None))

    def test_claim_of_a_partition(self):
        "The pool is on a partition, as zpool(8) makes it."
        for name, value in ('dev', '8:401'), ('partition', '1'), ('size', '1024'):
            self.tree.write(f'{INTERFACE}/host3/target3:0:0/3:0:0:0/block/sdz/sdz1/{name}', value + '\n')
        self.tree.write('proc/spl/kstat/zfs/tank/state', 'ONLINE\n')
        self.tree.write('run/udev/data/b8:401', 'E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL_ENC=tank\n')
        self.play("#!/bin/sh\nprintf 'OPENED sdz\\nEND 3 claim in use: sdz\\n'\nexit 3\n")
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage', code=3)
        until(lambda: [(one['kind'], one['where']) for one in self.told()[1]['busy']] == [('claim', 'ZFS pool tank')], 'the pool is named')

    def test_claim_of_another_lun(self):
        "The pool of one LUN is not named for the claim of another one."
        second = INTERFACE + '/host3/target3:0:0/3:0:0:1'
        for name, value in ('type', '0'), ('block/sdy/dev', '8:384'), ('block/sdy/size', '2048'):
            self.tree.write(f'{second}/{name}', value + '\n')
        self.tree.write('proc/spl/kstat/zfs/tank/state', 'ONLINE\n')
        for number, kind in ('8:400', 'ext4'), ('8:384', 'zfs_member'):
            self.tree.write(f'run/udev/data/b{number}', f'E:ID_FS_TYPE={kind}\nE:ID_FS_LABEL_ENC=tank\n')
        for claimed, by in ('sdy', ('claim', 'sdy', 'ZFS pool tank')), ('sdz', ('open', 'sdz', None)):
            self.play(f"#!/bin/sh\nprintf 'OPENED {claimed}\\nEND 3 claim in use: {claimed}\\n'\nexit 3\n")
            if claimed == 'sdy':
                self.both()
            self.ctl('switch', 'sdz', 'usb-storage', code=3)
            until(lambda: [(one['kind'], one['device'], one.get('where')) for one in self.told()[1]['busy']] == [by], claimed)  # noqa: B023
            self.ctl('cancel', 'sdz')  # no further try while the next script is written

    def claimed(self, how, by_nobody):
        self.play(f"#!/bin/sh\nprintf '{how} sdz\\nEND 3 claim in use: sdz\\n'\nexit 3\n")
        self.both()
        self.ctl('switch', 'sdz', 'usb-storage', code=3)

        def claimed(where):
            by = ('claim', 'sdz', where) if where else by_nobody
            until(lambda: [(one['kind'], one['device'], one.get('where')) for one in self.told()[1]['busy']] == [by], f'claimed by {where}')

        def record(kind, label):
            self.tree.write('run/udev/data/b8:400', f'E:ID_FS_TYPE={kind}\nE:ID_FS_LABEL_ENC={label}\n')
        claimed(None)
        state, label = self.tree.path('proc/spl/kstat/zfs/ta nk/state'), r'ta\x20nk'
        self.tree.write('proc/spl/kstat/zfs/ta nk/state', 'ONLINE\n')
        for kind, what in ('ext4', label), ('zfs_member', 'else'), ('zfs_member', r'..\x2fzfs\x2fta\x20nk'):
            record('zfs_member', label)
            claimed('ZFS pool ta nk')
            self.assertIn('ZFS pool ta nk has claimed sdz', self.ctl('status', 'sdz').stdout)
            record(kind, what)
            claimed(None)
        record('zfs_member', label)
        claimed('ZFS pool ta nk')
        os.unlink(state)
        claimed(None)
        self.ctl('cancel', 'sdz')

    def test_device(self):
        device = 'sys/bus/usb/devices/2-1/'
        self.tree.write(device + 'manufacturer', b'Ma' + BROKEN + b'ker\n')
        self.tree.write(device + 'product', b'Di' + NEVER + b'sk\\\n')
        self.tree.write(device + 'version', b' 3' + BROKEN + b'\n')
        self.both()
        disk, told = self.told()
        self.assertEqual((disk['Manufacturer'], disk['Product'], disk['UsbVersion']), (r'Ma\xffker', r'Di\xef\xbf\xbesk\x5c', r'3\xff'))
        self.ctl('switch', 'sdz', 'usb-storage')

    def test_record(self):
        "A damaged line of the records."
        self.tree.write('etc/uasd/history', b'1209:5a5a:S1@0000:00:14.0/ss/1=state=distrusted firmware=0214 kernel=6.1.0-test boot=- '
                        b'date=2026-01-01T00:00:00Z failed=1 reason=under uas ' + BROKEN + b' failed\n')
        self.both()
        self.assertIn(r'under uas \xff failed', self.told()[0]['History'])

    def test_switch(self):
        "The last output of uasd-switch."
        self.warns('ROLLED_BACK')
        self.play(b'#!/bin/sh\necho "END 7 verify in use by ' + BROKEN + NEVER + rb' \xff' + b'"\nexit 7\n')
        self.both()
        words = r'in use by \xff\xef\xbf\xbe \xff'
        self.ctl('switch', 'sdz', 'usb-storage', code=7)
        disk, _ = self.told()
        self.assertEqual((disk['Outcome'], disk['Reason']), ([7, 'verify', words], words))


if __name__ == '__main__':
    main()

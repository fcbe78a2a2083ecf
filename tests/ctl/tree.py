# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine in a folder, with USB disks, for uasctl-in-tree."""

import os
import re
import shutil
import subprocess
import tempfile

from patience import patience, until

# Configuration, BOT without endpoints, UAS with four bulk pipes of 32 streams, each with its pipe usage.
PIPES = b''.join(bytes([7, 5, address, 2, 0, 4, 0, 6, 0x30, 0, 5, 0, 0, 4, 0x24, 1 + i, 0])
                 for i, address in enumerate((0x01, 0x82, 0x83, 0x04)))
INTERFACES = bytes([9, 2, 95, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 0, 8, 6, 0x50, 0, 9, 4, 0, 1, 4, 8, 6, 0x62, 0]) + PIPES

BOT_ALONE = bytes([9, 2, 18, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 0, 8, 6, 0x50, 0])
UAS_ALONE = bytes([9, 2, 86, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 4, 8, 6, 0x62, 0]) + PIPES

REMOTE = next((p for p in ('/usr/lib/systemd/systemd-journal-remote', '/lib/systemd/systemd-journal-remote') if os.path.exists(p)), None)
MACHINE = '0123456789abcdef0123456789abcdef'
BOOT = '00000000-0000-0000-0000-000000000001'
EPOCH = 1763900000  # 2025-11-23 12:13:20 UTC
# The folder of uasd's programs, below the root. A build with another --libexecdir says which.
LIBEXEC = os.environ.get('PKGLIBEXECDIR', '/usr/lib/uasd')[1:]
BENCH = LIBEXEC + '/uasctl-bench'


def memory():
    """The folder of a tmpfs, where a file costs a tenth; None: it has no room, or programs cannot be run from it."""
    room = os.statvfs('/dev/shm') if os.access('/dev/shm', os.W_OK) else None
    return '/dev/shm' if room and room.f_bavail * room.f_frsize >= 1 << 30 and not room.f_flag & os.ST_NOEXEC else None


class Tree:
    def __init__(self, program, on_disk=False):
        """ON_DISK: some tmpfs cannot be read with O_DIRECT."""
        self.program = program
        self.top = tempfile.mkdtemp(prefix='uasctl-tree-', dir=None if on_disk else memory())
        for folder in ('sys/bus/usb/devices', 'sys/bus/usb/drivers/uas', 'sys/bus/usb/drivers/usb-storage', 'sys/class/block',
                       'sys/block', 'dev', 'run/uasd', 'etc/uasd', 'usr/lib/uasd', 'var/lib/uasd'):
            os.makedirs(os.path.join(self.top, folder))
        self.write('proc/1/mountinfo', '20 1 8:2 / / rw - ext4 /dev/sda2 rw\n')
        self.write('proc/swaps', 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n')
        self.write('proc/sys/kernel/osrelease', '6.1.0-test\n')
        self.write('proc/sys/kernel/random/boot_id', BOOT + '\n')
        # The tree contains its own uasctl-bench.
        bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../uasctl-bench/bench-in-tree.py')
        self.write(BENCH, f'#!/bin/sh\nUASCTL_IN_TREE={os.path.abspath(program)} exec {bench} {self.top} "$@"\n')
        os.chmod(self.path(BENCH), 0o755)
        self.programs('umount', 'swapoff', 'losetup', 'zpool', 'lvchange', 'cryptsetup', 'veritysetup', 'integritysetup', 'multipath',
                      'dmsetup', 'mdadm', folder='usr/sbin')
        self.programs('update-grub', 'grub-mkconfig', 'grub2-mkconfig', 'update-initramfs', 'mkinitcpio', 'dracut')
        self.entries = 0
        self.write('sys/module/usb_storage/parameters/quirks', '\n')

    def close(self):
        def removed():
            shutil.rmtree(self.top, ignore_errors=True)
            return not os.path.exists(self.top)
        until(removed, 'no process writes to the folder', 10)  # the fake uasd-switch may outlive uasd by a moment

    def path(self, path):
        return os.path.join(self.top, path)

    def write(self, path, data):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def programs(self, *names, folder='usr/bin'):
        for name in names:
            self.write(f'{folder}/{name}', '#!/bin/false\n')
            os.chmod(self.path(f'{folder}/{name}'), 0o755)

    def link(self, path, target):
        """target: relative to the top as well."""
        os.symlink(os.path.relpath(self.path(target), os.path.dirname(self.path(path))), self.path(path))

    def attachment(self, port='2-1', devnum=5):
        """The name of the files about the attachment of this device."""
        inode = os.stat(self.path(f'sys/devices/pci0000:00/0000:00:14.0/usb{port[0]}/{port}')).st_ino
        return f'{port}:1.0@{port[0]}-{devnum}-{inode}'

    def reprobe(self, port='2-1'):
        """The controller was probed again: the directory is another one, and the numbers are the same."""
        device = self.path(f'sys/devices/pci0000:00/0000:00:14.0/usb{port[0]}/{port}')
        shutil.copytree(device, device + '.new', symlinks=True)
        os.rename(device, self.path('gone'))
        os.rename(device + '.new', device)

    def medium(self, block):
        """The medium of a block device as in /etc/uasd/trim."""
        def hashed(parts):
            value = 0xcbf29ce484222325
            for byte in b''.join(parts):
                value = (value ^ byte) * 0x100000001b3 % 2 ** 64
            return value if parts else 0

        def read(name):
            path = self.path(f'sys/block/{block}/{name}')
            if not os.path.exists(path):
                return b''
            with open(path, 'rb') as f:
                return f.read()
        inquiry = hashed([read('device/' + name).rstrip(b'\n') + b'\0' for name in ('vendor', 'model', 'rev')])
        serial = hashed([page for page in (read('device/vpd_' + name) for name in ('pg80', 'pg83')) if page])
        return f'{int(read("size")) * 512}:{inquiry:x}:{serial:x}'

    def number(self, port, devnum):
        """The number that the device at the port got when it was plugged in. 127 devices fit on a bus."""
        self.write(f'sys/devices/pci0000:00/0000:00:14.0/usb{port[0]}/{port}/dev', f'189:{(int(port[0]) - 1) * 128 + devnum - 1}\n')

    def disk(self, port, block, driver='usb-storage', serial='S1', product='Disk', speed=5000, counts=None, ids=(0x1209, 0x5a5a), uas=True):
        """A disk with one LUN. counts: attributes of its SCSI device. uas: it offers UAS."""
        device = f'sys/devices/pci0000:00/0000:00:14.0/usb{port[0]}/{port}'
        interface = f'{device}/{port}:1.0'
        scsi = f'{interface}/host3/target3:0:0/3:0:0:0'
        vid, pid, bcd = *ids, 0x0214
        for name, value in {'idVendor': f'{vid:04x}', 'idProduct': f'{pid:04x}',
                            'bcdDevice': f'{bcd:04x}', 'speed': speed, 'version': ' 3.20', 'manufacturer': 'Maker',
                            'product': product, 'serial': serial}.items():
            self.write(f'{device}/{name}', (f'{value}\n' if not isinstance(value, bytes) else value + b'\n'))
        self.number(port, int(re.split('[-.]', port)[-1]) + 4)
        self.write(f'{device}/descriptors',
                   bytes([18, 1, 0x20, 3, 0, 0, 0, 9, vid & 255, vid >> 8, pid & 255, pid >> 8, bcd & 255, bcd >> 8, 1, 2, 3, 1]) +
                   (INTERFACES if uas else BOT_ALONE))
        for name, value in {'bInterfaceClass': '08', 'bInterfaceSubClass': '06', 'bInterfaceProtocol': '62' if driver == 'uas' else '50',
                            'bNumEndpoints': '04' if driver == 'uas' else '02', 'bInterfaceNumber': '00'}.items():
            self.write(f'{interface}/{name}', value + '\n')
        self.write(f'{scsi}/type', '0\n')
        for name, value in (counts or {}).items():
            self.write(f'{scsi}/{name}', f'0x{value:x}\n')
        for name, value in {'dev': f'8:{16 * (ord(block[-1]) - ord("a"))}', 'size': '2048', 'diskseq': '7'}.items():
            self.write(f'{scsi}/block/{block}/{name}', value + '\n')
        os.makedirs(self.path(f'{scsi}/block/{block}/holders'))
        self.link(f'{scsi}/block/{block}/device', scsi)
        self.link(f'sys/block/{block}', f'{scsi}/block/{block}')
        self.link(f'sys/class/block/{block}', f'{scsi}/block/{block}')
        self.link(f'sys/bus/usb/devices/{port}', device)
        hub = f'sys/bus/usb/devices/usb{port[0]}'
        if not os.path.lexists(self.path(hub)):
            self.link(hub, os.path.dirname(device))
        self.link(f'sys/bus/usb/devices/{port}:1.0', interface)
        if driver:
            self.link(f'{interface}/driver', f'sys/bus/usb/drivers/{driver}')
            self.link(f'sys/bus/usb/drivers/{driver}/{port}:1.0', interface)

    def parts(self):
        """The disks of fake-uasd. Nothing stands against uas on them."""
        self.write('etc/uasd/uasd.conf', '[uasd]\nUnknown=uas\n')
        for number, serial in enumerate('FREE BUSY BAD INCAPABLE REFUSED FORBIDDEN ABSENT FATAL HELD'.split(), 1):
            block = 'sd' + 'abcdefghi'[number - 1]
            product = '\033]0;pwned\a\033[31mDisk' if serial == 'ABSENT' else 'Stick' if serial in ('INCAPABLE', 'REFUSED', 'FORBIDDEN') else 'Disk'
            self.disk(f'2-{number}', block, serial=serial, product=product, speed=480 if serial == 'BUSY' else 5000, uas=serial != 'INCAPABLE')
            self.write(f'sys/block/{block}/size', '1953525168\n')

    def quirk_lines(self):
        """The kernel has usb-storage as a module, and nothing about it on its command line; one disk is there."""
        self.write('sys/module/usb_storage/initstate', 'live\n')
        self.write('proc/cmdline', 'quiet\n')
        self.disk('2-1', 'sda', 'uas', serial='S1')

    def remove(self, port, block):
        """As if the disk had never existed."""
        for link in f'sys/bus/usb/devices/{port}', f'sys/bus/usb/devices/{port}:1.0', f'sys/block/{block}', f'sys/class/block/{block}', \
                    f'sys/bus/usb/drivers/uas/{port}:1.0', f'sys/bus/usb/drivers/usb-storage/{port}:1.0':
            if os.path.lexists(self.path(link)):
                os.unlink(self.path(link))
        shutil.rmtree(self.path(f'sys/devices/pci0000:00/0000:00:14.0/usb{port[0]}/{port}'))

    def journal(self, *entries, folder='var/log/journal'):
        """A real journal file with these entries, by default from root and from this boot, one per second."""
        text = ''
        for entry in entries:
            self.entries += 1
            entry = {'_UID': '0', '_BOOT_ID': BOOT.replace('-', ''), **entry}
            text += (f'__REALTIME_TIMESTAMP={(EPOCH + self.entries) * 1000000}\n__MONOTONIC_TIMESTAMP={self.entries * 1000000}\n' +
                     ''.join(f'{k}={v}\n' for k, v in entry.items()) + '\n')
        folder = self.path(f'{folder}/{MACHINE}')
        os.makedirs(folder, exist_ok=True)
        subprocess.run([REMOTE, '-o', f'{folder}/system.journal', '--split-mode=none', '-'], input=text, text=True, check=True,
                       capture_output=True, timeout=patience(60))

    def run(self, *args, **more):
        """uasctl without a daemon, unless env has one."""
        env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nonexistent/bus', LC_ALL='C.UTF-8', TZ='UTC')
        return subprocess.run([self.program, self.top, *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=patience(),
                              text=True, env=dict(env, **more.pop('env', {})), **more)

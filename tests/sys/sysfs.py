# SPDX-License-Identifier: LGPL-2.1-or-later
"""The files of a USB disk in sysfs that uasd uses: their names, the targets of links and the forms of values. The machines in folders
(test-sysfs.py) and, in a guest, the real ones (tests/vm/cases/contracts.py) are compared with this list.
"""

import os
import re

WRITTEN = None  # uasd only writes it: in a folder it is empty
NUMBER, HEX = r'\d+\n', r'0x[0-9a-f]+\n'
LUN = 'INTERFACE/HOST/TARGET/SCSI'
DISK = LUN + '/block/DISK'
BLOCK = {'dev': r'8:\d+\n', 'size': NUMBER, 'uevent': WRITTEN, 'stat': r'( *\d+){17}\n'}
# Below the directory of the USB device.
DEVICE = {
    'dev': r'189:\d+\n',
    'idVendor': r'[0-9a-f]{4}\n',
    'idProduct': r'[0-9a-f]{4}\n',
    'bcdDevice': r'[0-9a-f]{4}\n',
    'authorized': r'[01]\n',
    'speed': NUMBER,
    'version': r'[ \d]\d\.\d\d\n',
    'manufacturer': r'.+\n',
    'product': r'.+\n',
    'serial': r'.+\n',
    'remove': WRITTEN,
    'descriptors': r'(?s)\x12\x01.{16}\x09\x02.{7}\x09\x04.*',
    'INTERFACE/bInterfaceClass': r'08\n',
    'INTERFACE/bInterfaceSubClass': r'06\n',
    'INTERFACE/bInterfaceProtocol': r'(50|62)\n',
    'INTERFACE/bInterfaceNumber': r'[0-9a-f]{2}\n',
    'INTERFACE/bNumEndpoints': r'[0-9a-f]{2}\n',
    'INTERFACE/bAlternateSetting': r'[ \d]\d\n',
    'INTERFACE/authorized': r'[01]\n',
    'INTERFACE/driver': 'bus/usb/drivers/DRIVER',
    'INTERFACE/HOST/scsi_host/HOST/scan': WRITTEN,
    LUN + '/type': NUMBER,
    LUN + '/delete': WRITTEN,
    LUN + '/state': r'[a-z-]+\n',
    LUN + '/iorequest_cnt': HEX,
    LUN + '/iodone_cnt': HEX,
    LUN + '/ioerr_cnt': HEX,
    LUN + '/iotmo_cnt': HEX,
    LUN + '/queue_depth': NUMBER,
    LUN + '/vendor': r'.{8}\n',
    LUN + '/model': r'.{16}\n',
    LUN + '/rev': r'.{4}\n',
    LUN + '/driver': 'bus/scsi/drivers/sd',
    LUN + '/scsi_generic/SG/dev': r'21:\d+\n',
    DISK + '/device': LUN,
    DISK + '/diskseq': NUMBER,
    DISK + '/holders/': '',
    **{f'{DISK}/{name}': form for name, form in BLOCK.items()},
    DISK + '/PART/partition': NUMBER,
    **{f'{DISK}/PART/{name}': form for name, form in BLOCK.items()},
}
# Elsewhere in sysfs, all of them links to the device or below it.
LINKS = {
    'bus/usb/devices/PORT': '.',
    'bus/usb/devices/INTERFACE': 'INTERFACE',
    'bus/usb/drivers/DRIVER/INTERFACE': 'INTERFACE',
    'bus/scsi/devices/SCSI': LUN,
    'class/scsi_host/HOST': 'INTERFACE/HOST/scsi_host/HOST',
    'block/DISK': DISK,
    'class/block/DISK': DISK,
    'class/block/PART': DISK + '/PART',
}
NAMES = (('INTERFACE', r'\d+-[\d.]+:\d+\.\d+'), ('PORT', r'\d+-[\d.]+'), ('HOST', r'host\d+'), ('TARGET', r'target\d+:\d+:\d+'),
         ('SCSI', r'\d+:\d+:\d+:\d+'), ('PART', r'sd[a-z]+\d+'), ('DISK', r'sd[a-z]+'), ('SG', r'sg\d+'), ('DRIVER', r'uas|usb-storage'))


def general(path):
    "The path without the names of this disk."
    def one(name):
        return next((word for word, form in NAMES if re.fullmatch(form, name)), name)
    return '/'.join(map(one, path.split('/')))


def files(sys, port):
    "(general name, path, target of a link or None) of all that belongs to the device at the port."
    device = os.path.realpath(f'{sys}/bus/usb/devices/{port}')

    def target(path):
        if not os.path.islink(path):
            return None
        end = os.path.realpath(path)
        return general(os.path.relpath(end, device if (end + '/').startswith(device + '/') else os.path.realpath(sys)))
    for folder, folders, names in os.walk(device):
        for name in names + [name for name in folders if os.path.islink(f'{folder}/{name}')]:
            path = f'{folder}/{name}'
            yield general(os.path.relpath(path, device)), path, target(path)
        if not folders + names:
            yield general(os.path.relpath(folder, device)) + '/', folder, ''
    for pattern in LINKS:
        above = os.path.dirname(pattern)
        for driver in ('uas', 'usb-storage') if 'DRIVER' in above else ('',):
            folder = f'{sys}/{above}'.replace('DRIVER', driver)
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                path = f'{folder}/{name}'
                if f'{above}/{general(name)}' == pattern and (
                        not os.path.exists(path) or not os.path.islink(path) or target(path) in LINKS.values()):
                    yield pattern, path, target(path)


def wrong(name, path, target, real):
    "What is wrong with one of these files, or None."
    form = LINKS[name] if name in LINKS else DEVICE[name]
    if target is not None or name in LINKS:
        return None if target == form else f'it is a link to {target}' if target else 'it is not a link'
    if form is WRITTEN:
        return None if os.stat(path).st_mode & 0o200 and (real or os.path.getsize(path) == 0) else 'it is not written'
    with open(path, 'rb') as file:
        text = file.read().decode('latin-1')
    return None if re.fullmatch(form, text) else repr(text)


def compare(sys, port, real):
    """The list against one disk: [what differs]. A folder has no file that a real sysfs lacks; a REAL one has all of them."""
    found, differ = set(), []
    for name, path, target in files(sys, port):
        if name in DEVICE or name in LINKS:
            found.add(name)
            fault = wrong(name, path, target, real)
            differ += [f'{name}: {fault}'] if fault else []
        elif not real:
            differ.append(f'{name}: a real disk may have none')
    return differ + [f'{name}: there is none' for name in {**DEVICE, **LINKS} if real and name not in found]

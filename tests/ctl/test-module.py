#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl module: which files are the module uas of the running kernel. The real libkmod reads files that are made here.

    test-module.py UASCTL-IN-TREE
"""

import lzma
import os
import struct
import sys
import unittest

from tree import Tree

PROGRAM = sys.argv[1]
RELEASE = '6.1.0-test'
MAGIC = RELEASE + ' SMP preempt mod_unload modversions '
USED = {'module_layout': 0x1111, 'usb_stor_adjust_quirks': 0x2222, 'printk': 0x3333}
STORAGE = {'module_layout': 0x1111, 'printk': 0x3333}
FITS = '/odd/uas.ko is the module uas for this kernel.\n'
UNCOMPARED = 'Versions of symbols that cannot be compared here: %d of 3. The kernel compares all of them when it loads the file.\n'
ALIAS = 'alias=usb:v*p*d*dc*dsc*dp*ic08isc06ip62in*'


def module(name='uas', magic=MAGIC, used=None, versions=None, exports=None, more=()):
    """An ELF object. used: its undefined symbols; versions: those in __versions; exports: the values of __crc_..."""
    used = list(USED if used is None else used)
    versions = USED if versions is None else versions
    info = [b'license=GPL', *(line.encode() for line in more)]
    info += [b'name=' + name.encode()] if name else []
    info += [b'vermagic=' + magic.encode()] if magic else []
    strings, symbols = b'\0', [struct.pack('=IBBHQQ', 0, 0, 0, 0, 0, 0)]
    for symbol, value in [(s, None) for s in used] + [('__crc_' + s, v) for s, v in (exports or {}).items()]:
        symbols.append(struct.pack('=IBBHQQ', len(strings), 1 << 4, 0, 0 if value is None else 0xfff1, value or 0, 0))
        strings += symbol.encode() + b'\0'
    sections = {'': (0, b''), '.modinfo': (1, b'\0'.join(info) + b'\0'),
                '__versions': (1, b''.join(struct.pack('=Q56s', crc, s.encode()) for s, crc in versions.items())),
                '.symtab': (2, b''.join(symbols)), '.strtab': (3, strings)}
    if not versions:
        del sections['__versions']
    names = b'\0'.join(n.encode() for n in [*sections, '.shstrtab']) + b'\0'
    sections['.shstrtab'] = (3, names)
    body, headers, at = b'', b'', 64
    for section, (kind, data) in sections.items():
        data += b'\0' * (-len(data) % 8)
        link = list(sections).index('.strtab') if kind == 2 else 0
        headers += struct.pack('=IIQQQQIIQQ', names.index(b'\0' + section.encode() + b'\0') + 1 if section else 0, kind, 0, 0,
                               at if kind else 0, len(data), link, 1, 8, 24 if kind == 2 else 0)
        body += data
        at += len(data)
    order = 1 if sys.byteorder == 'little' else 2
    return struct.pack('=4sBBBB8xHHIQQQIHHHHHH', b'\x7fELF', 2, order, 1, 0, 1, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, len(sections),
                       len(sections) - 1) + body + headers


class Module(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(PROGRAM)
        self.addCleanup(self.tree.close)
        self.tree.write('proc/sys/kernel/osrelease', RELEASE + '\n')
        os.rmdir(self.tree.path('sys/bus/usb/drivers/uas'))

    def disk(self):
        self.tree.disk('2-1', 'sda')
        return 'sda'

    def storage(self, data=None, name='usb-storage.ko'):
        """The running kernel's own module."""
        folder = 'lib/modules/%s/' % RELEASE
        self.tree.write(folder + 'kernel/' + name, module('usb_storage', versions=STORAGE, used=STORAGE,
                                                          exports={'usb_stor_adjust_quirks': 0x2222}) if data is None else data)
        self.tree.write(folder + 'modules.dep', 'kernel/x.ko:\nkernel/%s: kernel/x.ko\n' % name)

    def put(self, data, name='odd/uas.ko', mode=0o644):
        self.tree.write(name, data)
        os.chmod(self.tree.path(name), mode)

    def asks(self, *args):
        p = self.tree.run('module', *args)
        return p.returncode, p.stdout + p.stderr

    def refused(self, why, path='/odd/uas.ko'):
        self.assertEqual(self.asks(path), (1, 'uasctl: %s is refused: %s.\n' % (path, why)))


@unittest.skipUnless(os.geteuid() == 0, 'the file has to belong to root')
class Content(Module):
    def test_fits(self):
        "All of its versions are those of the running kernel's modules; or the rest is named."
        self.put(module())
        for what, write, said in (('none', lambda: None, UNCOMPARED % 3),
                                  ('a module without versions', lambda: self.storage(module('usb_storage', versions={}, used=())), UNCOMPARED % 3),
                                  ('one that is damaged', lambda: self.storage(b'\x7fELF'), UNCOMPARED % 3),
                                  ('some', lambda: self.storage(module('usb_storage', versions=STORAGE, used=STORAGE)), UNCOMPARED % 1),
                                  ('all', self.storage, '')):
            with self.subTest(what=what):
                write()
                self.assertEqual(self.asks('/odd/uas.ko'), (0, FITS + said))

    def test_compressed(self):
        "Its file, and that of the running kernel's module."
        self.storage(lzma.compress(module('usb_storage', versions=STORAGE, used=STORAGE)), name='usb-storage.ko.xz')
        self.put(lzma.compress(module()), 'odd/uas.ko.xz')
        self.assertEqual(self.asks('/odd/uas.ko.xz'), (0, FITS.replace('.ko', '.ko.xz') + UNCOMPARED % 1))
        self.put(lzma.compress(module(versions={**USED, 'printk': 1})), 'odd/uas.ko.xz')
        self.refused('this kernel has another version of the symbol printk', '/odd/uas.ko.xz')

    def test_refused(self):
        other = MAGIC.replace('preempt ', '')
        for what, data, why in (
                ('another kernel', module(magic=other), "it was built for the kernel '%s', and this is '%s'" % (other, MAGIC)),
                ('a longer one', module(magic=MAGIC + 'x'), "it was built for the kernel '%sx', and this is '%s'" % (MAGIC, MAGIC)),
                ('a symbol of the kernel', module(versions={**USED, 'printk': 0x3334}), 'this kernel has another version of the symbol printk'),
                ('a symbol of usb-storage', module(versions={**USED, 'usb_stor_adjust_quirks': 1}),
                 'this kernel has another version of the symbol usb_stor_adjust_quirks'),
                ('no version of a symbol', module(versions=STORAGE), 'it has no version of the symbol usb_stor_adjust_quirks'),
                ('no versions', module(versions={}), 'it has no version of the symbol module_layout'),
                ('no symbols', module(versions={}, used=()), 'it has no versions of symbols'),
                ('another module', module('usb_storage'), 'it is the module usb_storage, not uas'),
                ('with control characters', module('u\x1bas'), 'it is the module u\\x1bas, not uas'),
                ('no name', module(''), 'it is not the module uas'),
                ('no vermagic', module(magic=''), 'it does not say for which kernel it was built'),
                ('text', b'insmod uas.ko\n' * 100, 'it is no kernel module, or it is damaged'),
                ('empty', b'', 'it is no kernel module, or it is damaged'),
                ('no sections', module()[:64], 'it is no kernel module, or it is damaged')):
            with self.subTest(what=what):
                self.storage()
                self.put(data)
                self.refused(why)

    def test_old_kernel(self):
        "Before Linux 4.13 a module does not contain its name."
        self.put(module('', more=(ALIAS,)))
        self.assertEqual(self.asks('/odd/uas.ko'), (0, FITS + UNCOMPARED % 3))

    def test_without_versions(self):
        "A kernel without versions of symbols."
        plain = MAGIC.replace('modversions ', '')
        self.storage(module('usb_storage', magic=plain, versions={}))
        self.put(module(magic=plain, versions={}))
        self.assertEqual(self.asks('/odd/uas.ko'), (0, FITS))

    def test_release(self):
        "Without a module of the running kernel only its release is known, which is a whole word."
        self.put(module(magic=MAGIC.replace(RELEASE, RELEASE + '2')))
        self.refused("it was built for the kernel '%s', and this is '%s'" % (MAGIC.replace(RELEASE, RELEASE + '2'), RELEASE))
        self.tree.write('proc/sys/kernel/osrelease', RELEASE[:-1] + '\n')
        self.put(module())
        self.refused("it was built for the kernel '%s', and this is '%s'" % (MAGIC, RELEASE[:-1]))

    def test_cut(self):
        "A file that ends too soon is refused, wherever that is."
        self.storage()
        whole = module()
        for size in range(0, len(whole), 16):
            self.put(whole[:size])
            status, said = self.asks('/odd/uas.ko')
            self.assertEqual((status, said.count('\n')), (1, 1), (size, said))

    def test_file(self):
        self.put(module())
        for mode in 0o664, 0o646:
            self.put(module(), mode=mode)
            self.refused('other users may write it')
        self.put(module())
        os.chown(self.tree.path('odd/uas.ko'), 65534, 65534)
        self.refused('it does not belong to root')
        os.symlink('uas.ko', self.tree.path('odd/link.ko'))
        self.refused('it is a symbolic link', '/odd/link.ko')
        os.mkfifo(self.tree.path('odd/fifo'))
        self.refused('it is no regular file', '/odd/fifo')

    def test_conf(self):
        "Module= in uasd.conf is what is checked without a path, and what the decision follows."
        self.tree.write('etc/uasd/uasd.conf', '[uasd]\nModule=/odd/uas.ko\n')
        disk = self.disk()
        for data, said, row in ((module(), FITS, 'uas is loaded or can be'),
                                (b'', 'is refused', 'uas is not loaded: the file of Module= is refused, see uasctl module')):
            self.put(data)
            self.assertIn(said, self.asks()[1])
            self.assertIn(row, self.tree.run('explain', '--all', disk).stdout)


class Place(Module):
    def test_path(self):
        self.refused('there is no such file', '/odd/missing.ko')
        self.refused('it is no regular file', '/etc')
        self.assertEqual(self.asks('odd/uas.ko'), (2, 'uasctl: The path of a module begins with /: odd/uas.ko\n'))
        self.assertEqual(self.asks('/a', '/b')[0], 2)

    def test_loaded(self):
        self.tree.write('sys/bus/usb/drivers/uas/bind', '')
        for args in (), ('--load',):
            self.assertEqual(self.asks(*args), (0, 'uas is loaded.\n'))

    @unittest.skipIf(os.path.isdir('/lib/modules/' + os.uname().release), 'libkmod looks there, and not into the tree')
    def test_system(self):
        "The host's libkmod has no module for this tree: the programs decide, and explain says the same."
        disk = self.disk()

        def says(status, said, row):
            got = self.asks()
            self.assertEqual((got[0], got[1].replace('uasctl: ', '')), (status, said))
            self.assertIn(row, self.tree.run('explain', '--all', disk).stdout)
        missing = 'this kernel has no module uas, or it is not installed'
        says(1, missing[0].upper() + missing[1:] + '.\n', missing)
        self.tree.write('var/packages/uas/target/uas/uas.ko', '')
        says(1, 'This kernel has no module uas. Another package has one: write Module=/var/packages/uas/target/uas/uas.ko to uasd.conf.\n', missing)
        self.tree.write('lib/modules/%s/modules.dep' % RELEASE, 'kernel/uas.ko:\n')
        no_loader = 'uas is not loaded: libkmod cannot load it, and the system has no modprobe, no insmod'
        says(1, no_loader + '.\n', no_loader)
        self.tree.programs('insmod', folder='usr/sbin')
        says(0, 'uas is not loaded, and can be.\n', 'uas is loaded or can be')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

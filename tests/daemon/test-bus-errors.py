#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasd's errors on the bus: each has a name that uasd-dbus(7) lists for that method."""

import os
import re
import shutil
import subprocess
import unittest

from machine import NAMES, TOP, XML, Machine, main, path_of, patience, until

PREFIX = 'org.uasd1.Error.'
GDBUS = unittest.skipUnless(shutil.which('gdbus'), 'no gdbus, and busctl does not tell the names of errors')
INVALID = 'org.freedesktop.DBus.Error.InvalidArgs'

with open(XML) as xml:
    INTERFACES = dict(re.findall(r'(?s)<interface name="org\.uasd1\.(\w+)">(.*?)</interface>', xml.read()))
with open(os.path.join(TOP, 'man/uasd-dbus.7.scd')) as page:
    PAGE = {name: re.sub(r'\*\w+\*\([1-8]\)', '', text).replace('\n\t', ' ') for name, text in re.findall(r'(?ms)^# ([\w.]+)\n(.*?)(?=^# |\Z)', page.read())}
ERRORS = re.findall(r'"org\.uasd1\.Error\.(\w+)"', NAMES)


def promised():
    """{(interface, method): its errors}"""
    found = {}
    for interface in INTERFACES:
        for method, text in re.findall(r'(?m)^\*(\w+)\*\(\) (.*)$', PAGE['org.uasd1.' + interface]):
            listed = re.findall(r'Errors: ([\w, ]+)\.', text)
            found[interface, method] = listed[0].split(', ') if listed else []
    return found


class Errors(Machine):
    def call(self, method, *args, path=path_of('2-1:1.0'), interface='Disk'):
        """The name of its error, and the text."""
        p = subprocess.run(['gdbus', 'call', '--address', self.env['DBUS_SYSTEM_BUS_ADDRESS'], '--dest', 'org.uasd1', '--object-path', path,
                            '--method', f'org.uasd1.{interface}.{method}', *args], env=self.env, capture_output=True, text=True, timeout=patience())
        self.assertEqual(p.returncode, 1, p.stdout)
        return re.findall(r'GDBus\.Error:([\w.]+): (.*)', p.stderr)[0]

    def refused(self, method, error, *args, **more):
        name, text = self.call(method, *args, **more)
        self.assertEqual(name, PREFIX + error, text)
        self.assertIn(error, promised()[more.get('interface', 'Disk'), method])
        return text

    def test_named(self):
        "Every method lists its errors. Every error is one of ours and documented. All our names are listed."
        self.assertEqual(sorted(promised()), sorted((interface, method) for interface, text in INTERFACES.items()
                                                    for method in re.findall(r'<method name="(\w+)"', text)))
        self.assertEqual({error for listed in promised().values() for error in listed}, set(ERRORS))
        self.assertEqual(set(re.findall(r'(?m)^\*(\w+)\* ', PAGE['ERRORS'])), set(ERRORS))

    def test_page(self):
        "uasd-dbus(7) has all properties and signals."
        for interface, text in INTERFACES.items():
            named = re.findall(r'\*(\w+)\*(?!\()', ' '.join(line for line in PAGE['org.uasd1.' + interface].splitlines()
                                                          if re.match(r'\*\w+\*( |,|\.|$)', line) and not line.startswith('*uasctl')))
            self.assertEqual(sorted(named), sorted(re.findall(r'<(?:property|signal) name="(\w+)"', text)), interface)

    @GDBUS
    def test_no_such_disk(self):
        self.both()
        for method, args in {'Switch': ['uas'], 'SetPolicy': ['uas'], 'SetTrim': ['on'], 'Release': [], 'Cancel': [], 'Forget': [],
                             'Eject': [], 'Inhibit': ['who', 'why'], 'Lease': []}.items():
            self.refused(method, 'NoSuchDisk', *args, '{}', path=path_of('9-9:1.0'))
        self.refused('GetDisk', 'NoSuchDisk', '9-9:1.0', path='/org/uasd1', interface='Manager')

    def test_disk(self):
        "GetDisk returns the object of a disk."
        self.both()
        self.assertEqual(self.call_manager('GetDisk', 's', '2-1:1.0').stdout, f'o "{path_of("2-1:1.0")}"\n')

    @GDBUS
    def test_invalid(self):
        "An option of another type is also an invalid argument, not a missing device."
        self.both()
        for method, word in ('Switch', 'uas'), ('SetPolicy', 'uas'), ('SetTrim', 'on'):
            for options in "{'force': <'yes'>}", "{'force': <1>}", "{'farce': <true>}":
                self.assertEqual(self.call(method, word, options)[0], INVALID, (method, options))
            self.assertEqual(self.call(method, 'sideways', '{}')[0], INVALID)
        for method in 'Release', 'Cancel', 'Forget', 'Eject', 'Lease':
            self.assertEqual(self.call(method, "{'force': <true>}")[0], INVALID, method)

    @GDBUS
    def test_refused(self):
        self.both()
        text = self.refused('SetTrim', 'Refused', 'on', '{}')
        self.assertNotIn('--force', text)  # the client may have no such option

    @GDBUS
    def test_running(self):
        self.both()
        self.tree.write('at-sync', '')
        self.switch()
        until(lambda: self.disk()['state'] == 'switching', 'it is being switched')
        self.refused('Cancel', 'Refused', '{}', path='/org/uasd1/job/1', interface='Job')
        self.refused('Cancel', 'Refused', '{}')
        self.refused('Release', 'Refused', '{}')
        self.refused('Lease', 'InUse', '{}')
        os.unlink(self.tree.path('at-sync'))

    @GDBUS
    def test_incapable(self):
        self.tree.write('sys/bus/usb/devices/2-1/descriptors', b'')
        self.both()
        self.refused('Switch', 'Incapable', 'uas', '{}')
        self.refused('Lease', 'Incapable', '{}')


if __name__ == '__main__':
    main()

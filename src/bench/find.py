# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds the subject of a measurement, and checks it before anything begins.

The functions report errors and raise Ended.
"""

import errno
import os
import stat
import sys
from contextlib import suppress

from bench import fio, log, remount
from bench.exits import Ended, Exit, fail
from bench.harmless import harmless
from bench.lease import Session
from bench.machine import Below, Machine
from bench.model import Driver
from bench.options import Options
from bench.subject import Subject, driver_of
from bench.units import bytes_text


def _choose_drivers(s: Subject) -> None:
    """The present driver comes first; with A B B A it is also the last one."""
    assert s.session
    now, only, label = driver_of(s.disk), s.options.driver, s.session.label
    if now not in (Driver.UAS, Driver.USB_STORAGE):
        fail(Exit.FAILED, '%s: cannot be measured on %s.', label, s.disk['driver'] or 'no driver')
    if not s.disk['capable'] and only != now:
        fail(Exit.INCAPABLE, '%s: cannot be compared, since it does not offer both drivers. '
             '--driver=%s measures the present one.', label, now)
    s.first = now if only is Driver.NONE else only
    if only is Driver.NONE:
        s.second = Driver.USB_STORAGE if now is Driver.UAS else Driver.UAS


def _look_at_switch(s: Subject) -> None:
    """Whether uasd would refuse the switch, before half of the time is spent."""
    assert s.session
    to = s.first if s.second is Driver.NONE else s.second
    if to is s.driver:
        return
    plan = s.session.order(f'plan {to}')
    if plan.code in (Exit.REFUSED, Exit.INCAPABLE):
        log.error('%s: would not be switched to %s. %s', s.session.label, to, plan.text)
        log.info('--driver=%s measures the present driver.', s.driver)
        raise Ended(plan.code)


def _look_at_node(s: Subject) -> None:
    node = s.machine.path(f'/dev/{s.block}')
    mode = os.R_OK | os.W_OK if s.writes else os.R_OK
    if os.access(node, mode, effective_ids=True):
        return
    if os.path.exists(node):
        fail(Exit.UNAUTHORIZED, 'Not permitted: only root may %s /dev/%s.',
             'write to' if s.writes else 'read', s.block)
    fail(Exit.FAILED, 'Cannot open /dev/%s: %s', s.block, os.strerror(errno.ENOENT))


def find_disk(s: Subject, what: str) -> None:
    """An unused disk, for its raw node."""
    s.session = Session(s.machine, s.options, what)
    label = s.session.label
    s.available = s.take_disk(what)
    if s.available == 0:
        fail(Exit.FAILED, '%s: has no disk.', label)
    s.writes = s.options.destroy_data
    # The serial number, which the user types, is that of all LUNs.
    if s.writes and not s.named:
        names = ' '.join(lun['name'] for lun in s.disk['disks'] if lun['name'])
        fail(Exit.USAGE, '%s has several disks (%s). Name the one that is to be overwritten, as in '
             '/dev/%s.', label, names, s.block)
    _choose_drivers(s)
    if s.session.state.users:
        log.error('%s is in use. Only an unused disk can be measured:', label)
        for user in s.session.state.users:
            log.error('  %s', user)
        log.info('Unmount it, or measure through its file system: --file=PATH.')
        raise Ended(Exit.REFUSED)
    _look_at_switch(s)
    _look_at_node(s)


def _look_at_path(s: Subject) -> os.stat_result:
    path, write = s.options.file, s.options.write
    try:
        status = os.stat(path)
    except OSError as error:
        fail(Exit.FAILED, "Cannot open '%s': %s", path, error.strerror)
    if stat.S_ISDIR(status.st_mode) and write:
        s.take_scratch()
        return status
    if stat.S_ISDIR(status.st_mode):
        fail(Exit.USAGE, "'%s' is a directory. Name a file, or add --write for a scratch file in "
             'it.', path)
    if not stat.S_ISREG(status.st_mode):
        fail(Exit.USAGE, "'%s' is neither a file nor a directory. A disk is measured without "
             '--file.', path)
    if write:
        fail(Exit.REFUSED, "'%s' is a file, and --write never writes to an existing one. Name a "
             'directory.', path)
    if status.st_size == 0:
        fail(Exit.FAILED, "'%s' is empty.", path)
    s.available = status.st_size
    return status


def _look_at_clients(s: Subject, size: int) -> None:
    """The servers see the file. size: of the file on this machine, or 0 if it is not there."""
    o = s.options
    try:
        s.hosts = fio.hosts(o.clients)
    except ValueError:
        fail(Exit.USAGE, "--clients=%s: it takes hosts that run 'fio --server', HOST[:PORT],...",
             o.clients)
    if not fio.path_ok(o.file):
        fail(Exit.USAGE, '--file=%s: with --clients it takes an absolute path, as the servers see '
             'it, without ; # $, double quotes, backslashes, and blanks at its end.', o.file)
    if o.write:
        s.take_scratch()
        return
    s.available = o.size or size
    if s.available == 0:
        fail(Exit.USAGE, "The size of '%s' is not known here. Add --size=SIZE.", o.file)


def find_file(s: Subject, what: str) -> None:
    """A file on any file system. what: its disk, or "" to find it.

    The disk is needed only for the record. The user names it, and the result is stored under its
    name. So it is refused only if it is known to be wrong.
    """
    o = s.options
    s.path = o.file
    status: os.stat_result | None = None
    if o.clients:
        # The file may exist only on other machines. If this one sees it, it is the same file.
        with suppress(OSError):
            status = os.stat(o.file)
        seen = status is not None and stat.S_ISREG(status.st_mode)
        _look_at_clients(s, status.st_size if status and seen else 0)
        seen = seen and bool(what)
    else:
        status, seen = _look_at_path(s), True
    # Only the kernel knows the partition of a file system. uasd names only whole disks.
    below = s.machine.below(status.st_dev) if status and seen else Below([], False, False)
    # Several have several links, drivers and queues.
    alone = len(below.interfaces) == 1 and below.known and not below.others
    if what:
        s.session = Session(s.machine, o, what, kernel=True)
        if below.known and s.disk['interface'] not in below.interfaces:
            log.error("'%s' is not on %s but on %s.", o.file, s.session.label,
                      _label(s.machine, below.interfaces[0]) if alone else 'another disk')
            log.info('Omit the disk: the result then names none.' if o.clients
                     else 'Omit the disk: uasctl then finds it.')
            raise Ended(Exit.USAGE)
    elif alone:
        quiet = Options(quiet=True, no_ask_password=True)
        s.session = Session(s.machine, quiet, below.interfaces[0], kernel=True)
    elif not below.known or below.interfaces:
        log.info('The file is on an unknown disk, or on more than one. Name a disk to get its '
                 'link, driver and errors.')
    s.take_disk(what)
    s.first = s.driver


def _label(machine: Machine, interface: str) -> str:
    return f'{interface} ({" ".join(machine.luns(interface))})'


def find_mounted(s: Subject, what: str) -> None:
    """--remount: a directory on a file system that is the only user of its disk."""
    if os.geteuid() != 0:
        fail(Exit.UNAUTHORIZED, 'Not permitted: only root may unmount a file system.')
    _look_at_path(s)
    m = remount.find(s.machine, s.options.file)
    s.session = Session(s.machine, s.options, what or m.interface)
    if s.disk['interface'] != m.interface:
        fail(Exit.USAGE, "'%s' is not on %s but on %s.", s.options.file, s.session.label,
             _label(s.machine, m.interface))
    remount.check_alone(m, s.session)
    s.path, s.remount = s.options.file, m
    s.take_disk(m.disk)
    _choose_drivers(s)
    _look_at_switch(s)


def ask_destroy(s: Subject) -> bool:
    """--destroy-data: the user must type the disk's serial number.

    Without a terminal it comes from the standard input. A disk without a serial number is
    confirmed by its interface.
    """
    assert s.session
    d = s.disk
    what, expected = (('serial number', d['serial']) if d['serial']
                      else ('interface', d['interface']))
    log.warning('%s, %s: everything on /dev/%s will be overwritten.', s.session.label,
                ' '.join(filter(None, (d['manufacturer'], d['product']))), s.block)
    if os.isatty(0):
        sys.stderr.write(f'To go on, type its {what} ({harmless(expected)}): ')
        sys.stderr.flush()
    with suppress(OSError, AttributeError):
        typed = sys.stdin.buffer.readline().removesuffix(b'\n')
        if typed.decode('utf-8', 'surrogateescape') == expected:
            return True
    log.error('Wrong %s: nothing has been written.', what)
    return False


def tell_scratch(s: Subject) -> None:
    if s.lay_out:
        log.info('A scratch file of %s is written before%s.', bytes_text(s.available),
                 ', and after each switch' if s.remount else '')
    if s.remount:
        log.info("'%s' is unmounted for each switch, and mounted again.", s.remount.target)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The assumptions of the fake kernel about the quirks and the kernel's own tables: see tests/fake/REACTIONS."""

from context import case
from inside import plugged, python

READ = 'open("/sys/module/usb_storage/parameters/quirks").read()'


@case(tier="full", product=False)
def first_entry_wins(vm):
    "The first entry that matches decides, and replaces the kernel's table."
    guest, disk = plugged(vm, "uas")
    assert python(guest, disk, """
answer = [unbind("uas"), quirks("1209:5a5b:,1209:5a5a:U,1209:5a5a:"), bind("uas"),
          quirks("nonsense,0x1209:5a5a:,1209:5a5a:u"), bind("uas")]
""") == [None, None, "ENODEV", None, None]
    # Hitachi, unusual_uas.h: the kernel keeps it off uas.
    disk.unplug()
    disk.set(vid=0x4971, pid=0x1012)
    disk.plug()
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert python(guest, disk, """
answer = [unbind("usb-storage"), quirks("\\n"), bind("uas"), quirks("4971:1012:"), bind("uas"), driver()]
""") == [None, None, "ENODEV", None, None, "uas"]


@case(tier="full", product=False)
def two_tables(vm):
    "A disk that usb-storage's table alone keeps off UAS is taken by uas/bind without a quirk."
    # VIA VL817, unusual_devs.h.
    disk = vm.disk(size="16M", vid=0x2109, pid=0x0715)
    guest = vm.resume(disks=[disk])
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert python(guest, disk, """
answer = [%s.strip(), unbind("usb-storage"), bind("usb-storage"), unbind("usb-storage"), bind("uas"), driver()]
""" % READ) == ["", None, None, None, None, "uas"]


@case(tier="full", product=False)
def quirks_127(vm):
    "The quirks parameter takes 127 characters; 128: ENOSPC, and the old string stays."
    guest, disk = plugged(vm, "uas")
    assert python(guest, disk, """
answer = [quirks("1:2:u"), quirks(128 * "x"), %s, quirks(127 * "x"), %s]
""" % (READ, READ)) == [None, "ENOSPC", "1:2:u\n", None, 127 * "x" + "\n"]


@case(tier="full", product=False)
def quirks_empty(vm):
    "A write of no bytes changes nothing; a newline empties the string."
    guest, disk = plugged(vm, "uas")
    assert python(guest, disk, """
answer = [unbind("uas"), quirks("1209:5a5a:u"), quirks(""), %s, bind("uas"), quirks("\\n"), %s, bind("uas")]
""" % (READ, READ)) == [None, None, None, "1209:5a5a:u\n", "ENODEV", None, "\n\n", None]

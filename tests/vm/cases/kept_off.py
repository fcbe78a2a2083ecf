# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policy and distrust reach the initramfs: a disk with the target usb-storage is not on uas at any time of the boot.

A stock kernel, several disks: the event of any of them loads uas, which takes
every disk that is not kept off it. So the hook puts it into the quirks.
"""

import re

import initramfs
from context import case
from evidence import DISTRUSTED, TROUBLE, disk_in, episode_over, gone, hang_once, impatient, messages, only_disk, record_of, well
from stacks import distrusted, passed, policy

OFF = "zzz-uasd.conf"
FOREIGN = "dead:beef:f,1209:5a5c:t"
FOREIGN_CONF = {"/etc/modprobe.d/somebody.conf": "options usb-storage quirks=%s delay_use=1\n" % FOREIGN}
PARAMETER = "/sys/module/usb_storage/parameters/quirks"
FSTAB = ["LABEL=%s /mnt/%s ext4 defaults 0 2" % (name, name) for name in ("ONE", "TWO", "OFF")]
MOUNTS = {"/mnt/%s/.keep" % name: "" for name in ("ONE", "TWO", "OFF")}


def three_disks(vm):
    "The last one is another model, and is plugged in after the first has loaded uas."
    return [vm.disk(label="ONE"), vm.disk(label="TWO"), vm.disk(label="OFF", pid=0x5A5B)]


def never_on_uas(guest, disk):
    "Neither a bind in the kernel's log nor a command to the disk."
    stats = disk.stats()
    assert stats["uas"]["commands"] == 0 and stats["bot"]["commands"] > 0, stats
    log = guest.journal("-b -k")
    assert "usb-storage %s: USB Mass Storage device detected" % disk.interface in log, log
    # Only the two others.
    assert len(re.findall(r"scsi host\d+: uas$", log, re.M)) == len(guest.disks) - 1, log
    assert guest.driver(disk.interface) == "usb-storage"


def known_fault(vm, files):
    "Control: policy and records are in the initramfs, the quirks are not. The event of another disk loads uas."
    disks = three_disks(vm)
    guest = initramfs.boot(vm, files, disks, initramfs={"/etc/modprobe.d/" + OFF: ""})
    assert disks[2].stats()["uas"]["commands"] > 0, disks[2].stats()
    guest.close()
    for disk in disks:
        disk.close()


@case(tier="full", limit=600)
def policy_reaches_it(vm):
    "Policy usb-storage: never on uas, foreign quirks in force; back to auto: our entry goes, theirs stay, it is moved."
    disks = three_disks(vm)
    files = {**policy(disks[2], "usb-storage"), **FOREIGN_CONF}
    known_fault(vm, files)
    for disk in disks:
        disk.start()
    guest = initramfs.boot(vm, files, disks, fstab=FSTAB, extra=MOUNTS)
    assert guest.state() == "running", guest.out("systemctl --failed")
    never_on_uas(guest, disks[2])
    assert guest.read(PARAMETER) == "1209:5a5b:u," + FOREIGN
    one = disk_in(guest, disks[2], "settled")
    assert one["reason_id"] == "policy" and one["policy"] == "usb-storage", one
    said = guest.run("uasctl policy %s auto" % disks[2].interface, check=True)
    assert "update-initramfs -u" in said.err, said.err
    guest.wait_until("test \"$(cat %s)\" = %s" % (PARAMETER, FOREIGN), 30)
    guest.run("umount /mnt/OFF", check=True)
    guest.wait_disk(disks[2].interface, driver="uas")
    disk_in(guest, disks[2], "settled")
    assert guest.read(PARAMETER) == FOREIGN


@case(tier="full", limit=600)
def distrust_reaches_it(vm):
    "Distrusted, and it would hang: never on uas, the boot goes through; forgotten, our entry goes."
    disks = three_disks(vm)
    files = distrusted(vm, disks[2], 3)
    disks[2].fault(name="hang", proto="uas", op="any")
    guest = initramfs.boot(vm, files, disks, fstab=FSTAB, extra=MOUNTS)
    assert guest.state() == "running", guest.out("systemctl --failed")
    never_on_uas(guest, disks[2])
    assert guest.read(PARAMETER) == "1209:5a5b:u"
    assert disk_in(guest, disks[2], "settled")["reason_id"] == "distrusted"
    guest.run("uasctl forget %s" % disks[2].interface, check=True)
    guest.wait_until("test -z \"$(cat %s)\"" % PARAMETER, 30)


@case(tier="full", limit=600)
def two_alike(vm):
    "Of two alike disks one is wanted on usb-storage, the other has passed its trial: the kernel cannot tell them apart, neither is kept off, both end where they belong."
    first, second = vm.disk(label="ONE"), vm.disk(label="TWO")
    files = {**policy(first, "usb-storage"), **passed(vm, None, second)}
    guest = initramfs.boot(vm, files, [first, second], fstab=FSTAB[:2], extra=MOUNTS)
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert guest.read(PARAMETER) == ""
    assert guest.driver(first.interface) == "usb-storage"
    assert guest.driver(second.interface) == "uas"
    assert second.stats()["bot"]["writes"] == 0, second.stats()


@case(tier="full", limit=600)
def alike_and_new(vm):
    "Our own entry is nobody's word against an alike disk of which nothing is known: it is held, and moved to uas."
    first, second = vm.disk(label="ONE"), vm.disk(label="TWO")
    files = {**policy(first, "usb-storage"), "/etc/uasd/uasd.conf": "[uasd]\nHoldSec=40\n"}
    guest = initramfs.boot(vm, files, [first, second], fstab=FSTAB[:2], extra=MOUNTS)
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert first.stats()["uas"]["commands"] == 0, first.stats()
    assert guest.driver(second.interface) == "uas"
    assert second.stats()["bot"]["writes"] == 0, second.stats()
    # One of the two is on trial there: from now on neither is kept off.
    guest.wait_until("test -z \"$(cat %s)\"" % PARAMETER, 30)
    assert guest.driver(first.interface) == "usb-storage"


def put_all(guest, files):
    for path, text in files.items():
        guest.put(path, text)


@case(image="bookworm")
def before_usb_storage(vm):
    "No disk has been there yet, so usb_storage is not loaded: PID 1 loads it for a kept policy, with what modprobe.d says, and the first disk that comes is never on uas."
    guest = vm.resume()
    disk = vm.disk()
    guest.run("! test -e /sys/module/usb_storage", check=True)
    put_all(guest, {**policy(disk, "usb-storage"), **FOREIGN_CONF})
    guest.run("systemctl restart uasd", check=True)
    guest.wait_until("test \"$(cat %s)\" = 1209:5a5a:u,%s" % (PARAMETER, FOREIGN), 30)
    assert "modprobe@usb_storage.service" in guest.journal("-b _PID=1"), guest.journal("-b _PID=1")
    guest.plug(disk)
    well(guest, disk, "usb-storage", quirks=FOREIGN)
    assert disk.stats()["uas"]["commands"] == 0, disk.stats()
    assert disk_in(guest, disk, "settled")["reason_id"] == "policy"


@case(image="bookworm")
def replugged(vm):
    "Policy usb-storage, said at run time: from then on the disk starts on usb-storage and is never on uas, over replugs and restarts of uasd, until the policy is another one."
    guest = vm.resume()
    disk = vm.disk()
    put_all(guest, FOREIGN_CONF)
    guest.plug(disk)
    well(guest, disk, "uas", quirks=FOREIGN)
    guest.run("uasctl policy %s usb-storage" % disk.interface, check=True)
    well(guest, disk, "usb-storage", quirks=FOREIGN)
    assert guest.read(PARAMETER) == "1209:5a5a:u," + FOREIGN
    for restart in False, True:
        disk.unplug()
        guest.wait_until("! test -e /sys/bus/usb/devices/" + disk.interface, 30)
        if restart:
            guest.run("systemctl restart uasd", check=True)
        commands = disk.stats()["uas"]["commands"]
        guest.plug(disk)
        well(guest, disk, "usb-storage", quirks=FOREIGN)
        assert disk.stats()["uas"]["commands"] == commands, (commands, disk.stats())
        assert disk_in(guest, disk, "settled")["reason_id"] == "policy"
        assert guest.read(PARAMETER) == "1209:5a5a:u," + FOREIGN
    # A different override, and back.
    guest.run("uasctl switch %s uas" % disk.interface, check=True, timeout=120)
    assert guest.driver(disk.interface) == "uas"
    guest.run("uasctl policy %s auto" % disk.interface, check=True)
    assert guest.read(PARAMETER) == FOREIGN
    well(guest, disk, "uas", quirks=FOREIGN)


@case(tier="full", image="bookworm", limit=300)
def speaks_uas_alone(vm):
    "A disk that speaks UAS alone is never kept off it: not by a policy, which is refused, not by trouble, and not by a policy that an older uasd has kept."
    guest = vm.resume()
    disk = vm.disk(label="DATA", alts="uas")
    guest.plug(disk)
    well(guest, disk, "uas")
    for request in "policy", "switch":
        told = guest.run("uasctl %s %s usb-storage" % (request, disk.interface))
        assert told.rc == 5 and "only UAS" in told.err, told
    for restart in False, True:
        gone(guest, disk)
        if restart:
            guest.run("systemctl restart uasd", check=True)
        guest.plug(disk)
        one = well(guest, disk, "uas")
        assert (one["state"], one["reason_id"], one["policy"]) == ("settled", "no-bot", "auto"), one
        assert guest.read(PARAMETER) == ""
    assert "speaks only UAS" in " ".join(guest.out("uasctl explain %s" % disk.interface).split())

    # Events that would make another disk distrusted are reported.
    [name] = guest.block_devices(disk.interface)
    impatient(guest, name)
    hang_once(guest, disk, name)
    episode_over()
    hang_once(guest, disk, name)
    guest.until(lambda: messages(guest, TROUBLE) == 1, 30, "the trouble is told")
    one = well(guest, disk, "uas")
    assert (one["state"], one["reason_id"], one["history"]) == ("settled", "no-bot", None), one
    assert messages(guest, DISTRUSTED) == 0 and not record_of(guest, disk)
    assert guest.read(PARAMETER) == ""

    # While the disk is absent, its protocols are not known.
    gone(guest, disk)
    guest.run("systemctl stop uasd; rm -f /etc/uasd/policy", check=True)
    guest.put("/var/lib/uasd/policy", policy(disk, "usb-storage")["/etc/uasd/policy"])
    guest.run("systemctl start uasd", check=True)
    guest.wait_until("test \"$(cat %s)\" = 1209:5a5a:u" % PARAMETER, 30)
    guest.plug(disk)
    one = well(guest, disk, "uas")
    assert (one["state"], one["reason_id"]) == ("settled", "no-bot"), one
    guest.wait_until("test -z \"$(cat %s)\"" % PARAMETER, 30)
    guest.run("mount LABEL=DATA /mnt && umount /mnt", check=True)


@case(image="bookworm", limit=300, also=("trixie", "bullseye", "sid"))
def rolled_back(vm):
    "A first trial on uas that fails its verify: on a stock kernel the disk is never on uas again, over replugs and a restart of uasd, until somebody says forget; the entries of others stay."
    guest = vm.resume()
    disk = vm.disk(label="DATA")
    put_all(guest, FOREIGN_CONF)
    # The entry of another program makes it start on usb-storage, and is gone when uasd starts.
    guest.run("systemctl stop uasd && systemctl disable -q uasd && modprobe usb_storage && echo 1209:5a5a:u,%s >%s"
              % (FOREIGN, PARAMETER), check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.run("echo %s >%s" % (FOREIGN, PARAMETER), check=True)
    disk.fault(name="fail", proto="uas", op="read")
    guest.run("systemctl start uasd", check=True)
    one = only_disk(guest, "failed", timeout=120)
    assert one["driver"] == "usb-storage" and one["outcome"]["step"] == "verify", one
    assert one["history"].startswith("distrusted: "), one
    assert disk.stats()["uas"]["commands"] > 0, disk.stats()
    [record] = record_of(guest, disk)
    assert record.startswith("state=distrusted ") and "failed=1" in record, record
    well(guest, disk, "usb-storage", quirks=FOREIGN)
    guest.wait_until("test \"$(cat %s)\" = 1209:5a5a:u,%s" % (PARAMETER, FOREIGN), 30)
    # It would work by now: only the record keeps it off.
    disk.clear_faults()
    commands = disk.stats()["uas"]["commands"]
    for restart in False, True:
        gone(guest, disk)
        if restart:
            guest.run("systemctl restart uasd", check=True)
        guest.plug(disk)
        one = well(guest, disk, "usb-storage", quirks=FOREIGN)
        assert (one["state"], one["reason_id"]) == ("settled", "distrusted"), one
        assert guest.read(PARAMETER) == "1209:5a5a:u," + FOREIGN
    assert disk.stats()["uas"]["commands"] == commands, (commands, disk.stats())
    assert record_of(guest, disk) == [record]
    guest.run("uasctl forget %s" % disk.interface, check=True)
    well(guest, disk, "uas", quirks=FOREIGN)
    assert guest.read(PARAMETER) == FOREIGN


@case(tier="full", limit=600)
def off(vm):
    "uasd=off on the kernel command line: nothing of ours in the quirks, what others wrote in force."
    disk = vm.disk(label="OFF")
    files = {**policy(disk, "usb-storage"), **FOREIGN_CONF}
    guest = initramfs.boot(vm, files, [disk], fstab=FSTAB[2:], extra=MOUNTS, cmdline="uasd=off")
    assert guest.state() == "running", guest.out("systemctl --failed")
    assert guest.read(PARAMETER) == FOREIGN
    assert guest.driver(disk.interface) == "uas"

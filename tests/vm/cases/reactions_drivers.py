# SPDX-License-Identifier: LGPL-2.1-or-later
"""The assumptions of the fake kernel about bind and unbind, on real ones: see tests/fake/REACTIONS."""

from context import case
from inside import move, plugged, python

BOTH = ("uas", "usb-storage")


@case(tier="full", product=False)
def unbind_takes_all(vm):
    "When unbind returns, LUNs, host and link are gone, and alternate setting 0 is back."
    guest, disk = plugged(vm, "uas", luns=2, label="DATA")
    for driver in BOTH:
        move(guest, disk, driver)
        before, done, after = python(guest, disk, """
def look():
    return [len(disks()), len(at("host*")), driver(), alt(), sum(map(os.path.exists, nodes))]
nodes = glob.glob("/dev/sd*") + glob.glob("/sys/class/block/sd*")
answer = [look(), unbind(driver()), look()]
""")
        # Two disks with a partition each: four nodes in /dev, four in sysfs.
        assert before == [2, 1, driver, 1 if driver == "uas" else 0, 8], before
        assert done is None, done
        assert after == [0, 0, None, 0, 0], after


@case(tier="full", product=False)
def unbind_not_bound(vm):
    "unbind of a driver that does not have the interface: ENODEV."
    guest, disk = plugged(vm, "uas")
    assert python(guest, disk, 'answer = [unbind("usb-storage"), unbind("uas"), unbind("uas")]') == \
        ["ENODEV", None, "ENODEV"]
    move(guest, disk, "usb-storage")
    assert python(guest, disk, 'answer = unbind("uas")') == "ENODEV"


@case(tier="full", product=False)
def not_refused(vm):
    "unbind and delete of a mounted disk succeed, and destroy."
    guest, disk = plugged(vm, "uas", luns=2, label="DATA")
    for driver in BOTH:
        move(guest, disk, driver)
        answer = python(guest, disk, """
files = []
for name in disks():
    where = "/run/" + name
    mount("/dev/%s1" % name, where)
    files.append(open(where + "/late", "w"))
    files[-1].write("late")
    files[-1].flush()
scsi = os.path.realpath("/sys/block/%s/device" % disks()[1])
answer = [write(scsi + "/delete", "1"), unbind(driver()),
          [error(os.fsync, file.fileno()) for file in files]]
for file in files:
    file.close()
subprocess.run("umount -l /run/sd?", shell=True)
""")
        # EROFS: ext4's journal has met the error before the fsync
        assert answer[:2] == [None, None] and set(answer[2]) <= {"EIO", "EROFS"}, answer
        for media in disk.media:
            assert not media.cat("late", 1)


@case(tier="full", product=False)
def delete_takes_one_lun(vm):
    "delete takes that LUN alone and leaves the driver bound."
    guest, disk = plugged(vm, "uas", luns=2)
    for driver in BOTH:
        move(guest, disk, driver)
        answer = python(guest, disk, """
first, second = disks()
scsi = os.path.realpath("/sys/block/%s/device" % first)
answer = [write(scsi + "/delete", "1"), disks() == [second], driver(), len(at("host*")),
          os.path.exists("/dev/" + first), write(scsi + "/delete", "1")]
""")
        assert answer == [None, True, driver, 1, False, "ENOENT"], answer


@case(tier="full", product=False)
def scan_brings_back(vm):
    "- - - to the host's scan brings a deleted LUN back without a rebind."
    guest, disk = plugged(vm, "uas", luns=2)
    for driver in BOTH:
        move(guest, disk, driver)
        answer = python(guest, disk, """
hosts = at("host*")
for scsi in at("host*/target*/*/delete")[:1]:
    assert write(scsi, "1") is None
assert len(disks()) == 1
answer = [write(at("host*/scsi_host/host*/scan")[0], "- - -"), appear(2) < 2, at("host*") == hosts, driver(),
          write("/sys/class/scsi_host/host99/scan", "- - -")]
settle()
""")
        assert answer == [None, True, True, driver, "ENOENT"], answer


# A disk that is not ready. sd sends START STOP UNIT, and asks again each second.
SPINS_UP = {"name": "fail", "op": 0x00, "key": 2, "asc": 4, "ascq": 1}


@case(tier="full", product=False)
def disk_comes_late(vm):
    "While a disk spins up its SCSI device is there, with its driver and state running, and no block device; unbind takes it all the same."
    guest, disk = plugged(vm, "uas")
    for driver in BOTH:
        move(guest, disk, driver)
        disk.fault(**SPINS_UP)
        answer = python(guest, disk, """
def again():
    assert unbind(sys.argv[2]) is None and bind(sys.argv[2]) is None
    while not at("host*/target*/*/driver"):
        time.sleep(0.005)
def seen():
    [scsi] = map(os.path.dirname, at("host*/target*/*/delete"))
    return [os.path.basename(os.readlink(scsi + "/driver")), open(scsi + "/state").read().strip(), disks()]
again()
answer = [seen(), unbind(sys.argv[2]), at("host*"), driver()]
assert bind(sys.argv[2]) is None
again()
answer += [seen()]
""", driver)
        assert answer == [["sd", "running", []], None, [], None, ["sd", "running", []]], answer
        disk.clear_faults()
        guest.wait_disk(disk.interface, driver=driver)


@case(tier="full", product=False)
def bind_busy(vm):
    "bind of the driver that has the interface: EBUSY."
    guest, disk = plugged(vm, "uas")
    assert python(guest, disk, 'answer = bind("uas")') == "EBUSY"
    move(guest, disk, "usb-storage")
    assert python(guest, disk, 'answer = [bind("usb-storage"), bind("uas")]') == ["EBUSY", "EBUSY"]


@case(tier="full", image=("bookworm", "vendor"), product=False)
def bind_uas_with_u(vm):
    "uas/bind with the quirk u: ENODEV, on the vendor kernel too."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image)
        answer = python(guest, disk, 'answer = [unbind("uas"), quirks("1209:5a5a:fu"), bind("uas"), driver()]')
        assert answer == [None, None, "ENODEV", None], (image, answer)


@case(tier="full", product=False)
def bind_bot_declines(vm):
    "usb-storage/bind of a disk that uas would take: ENXIO."
    guest, disk = plugged(vm, "uas")
    assert python(guest, disk, 'answer = [unbind("uas"), bind("usb-storage"), driver()]') == [None, "ENXIO", None]


@case(tier="full", image=("bookworm", "vendor"), product=False)
def alt_1_is_not_bot(vm):
    "usb-storage/bind while uas has the interface: ENODEV."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image)
        answer = python(guest, disk, 'answer = [alt(), quirks("1209:5a5a:u"), bind("usb-storage"), driver()]')
        assert answer == [1, None, "ENODEV", "uas"], (image, answer)


@case(tier="full", product=False)
def gone_is_enodev(vm):
    "bind and unbind of what is not there, no interface, or not authorized: ENODEV."
    guest, disk = plugged(vm, "uas")
    port = disk.interface.partition(":")[0]
    assert python(guest, disk, 'answer = [f(d, sys.argv[2]) for f in (bind, unbind) for d in ("uas", "usb-storage")]',
                  port) == ["ENODEV"] * 4
    assert python(guest, disk, """
device = os.path.dirname(os.path.realpath("/sys/bus/usb/devices/" + I))
answer = [write(device + "/authorized", "0"), bind("uas"), unbind("uas"), write(device + "/authorized", "1")]
""") == [None, "ENODEV", "ENODEV", None]
    guest.wait_disk(disk.interface, driver="uas")
    disk.unplug()
    guest.wait_until("! test -e /sys/bus/usb/devices/" + disk.interface)
    assert python(guest, disk, 'answer = [f(d) for f in (bind, unbind) for d in ("uas", "usb-storage")]') == \
        ["ENODEV"] * 4


@case(tier="full", image="vendor", product=False)
def vendor_never_declines(vm):
    "usb-storage without UAS takes every disk; uas/bind works, but not with the quirk u."
    guest, disk = plugged(vm, "uas")
    answer = python(guest, disk, """
answer = [unbind("uas"), bind("usb-storage"), driver(), unbind("usb-storage"), quirks("1209:5a5a:u"), bind("uas"),
          quirks("\\n"), bind("uas"), driver()]
""")
    assert answer == [None, None, "usb-storage", None, None, "ENODEV", None, None, "uas"], answer


@case(tier="full", product=False)
def bind_does_not_wait(vm):
    "When bind returns, link and alternate setting are there, the disks are not."
    guest, disk = plugged(vm, "uas")
    # However slow the test is: the INQUIRY of the disk is slow.
    disk.fault(name="delay", op="inquiry", ms=500, count=2)
    answer = python(guest, disk, """
assert unbind("uas") is None
answer = [bind("uas"), driver(), alt(), len(at("host*")), disks()]
appear()
""")
    assert answer == [None, "uas", 1, 1, []], answer


@case(tier="full", product=False)
def uas_scans_at_once(vm):
    "Under uas the disk is there within 0.2 s of the bind."
    guest, disk = plugged(vm, "uas")
    # The best of several: the time of the emulation is not the kernel's.
    took = python(guest, disk, """
answer = []
for one in range(4):
    assert unbind("uas") is None and bind("uas") is None
    answer.append(appear())
    settle()
""")
    assert min(took) < 0.2, took


@case(tier="full", image=("bookworm", "vendor"), product=False)
def bot_waits_delay_use(vm):
    "Under usb-storage the disk is there a second after the bind, not before 0.5 s."
    for image in vm.case.images:
        guest, disk = plugged(vm, "usb-storage", image)
        took = python(guest, disk, """
answer = []
for one in range(2):
    assert unbind("usb-storage") is None
    start = time.monotonic()
    assert bind("usb-storage") is None
    appear()
    answer.append(time.monotonic() - start)
    settle()
""")
        assert 0.5 < min(took) < 1.5, took


@case(tier="full", image=("bookworm", "vendor"), product=False)
def module_takes_unbound(vm):
    "A driver that is loaded takes an interface without a driver by itself."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image)
        answer = python(guest, disk, """
subprocess.run(["rmmod", "uas"], check=True)
answer = [driver(), alt(), bind("uas")]
subprocess.run(["modprobe", "uas"], check=True)
answer.append(driver())
""")
        assert answer == [None, 0, "ENOENT", "uas"], (image, answer)
        guest.wait_disk(disk.interface, driver="uas")


@case(tier="full", image=("bookworm", "vendor"), product=False)
def probe_any_driver(vm):
    "drivers_probe gives an interface without a driver to one that takes it; success also if there is nothing to be done."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image)
        answer = python(guest, disk, """
def probe():
    return write("/sys/bus/usb/drivers_probe", I)
was = driver()
answer = [probe(), driver() == was, unbind(was), driver(), probe(), driver() in ("uas", "usb-storage")]
""")
        assert answer == [None, True, None, None, None, True], (image, answer)

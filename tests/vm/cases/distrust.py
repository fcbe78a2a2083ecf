# SPDX-License-Identifier: LGPL-2.1-or-later
"""Distrust: the record of a disk, and the events that end it."""

from context import case
from evidence import disk_in, episode_over, gone, hang_once, impatient, listed, only_disk, record_of, stranded
from holds import boot, held_and_released, mounted_at_boot
from patience import let_pass
from stacks import bound, distrusted, passed

RECORD = "1209:5a5a:UASD-DISK0@0000:00:02.0/ss/1=state=distrusted firmware=%04x kernel=%s boot=- date=2026-01-01T00:00:00Z%s reason=it had to be reset\n"


@case(tier="full", image="bookworm", limit=300, cpus=2)
def until_something_changes(vm):
    "Another kernel or another firmware: another trial is due; the same, or data lost: it stays off uas."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    kernel = guest.out("uname -r")
    rows = ((0x0100, kernel, "", "usb-storage"),
            (0x0100, "6.0.0-other", "", "uas"),
            (0x0100, "6.0.0-other", " lost=1", "usb-storage"),
            (0x0099, kernel, " lost=1", "uas"))
    for number, (firmware, record_kernel, more, driver) in enumerate(rows):
        # Newer than the records that uasd itself has written meanwhile.
        guest.put("/etc/uasd/history", "generation=%d\n" % (100 * number + 100) + RECORD % (firmware, record_kernel, more))
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver=driver)
        one = only_disk(guest, "settled")
        assert one["driver"] == driver, (firmware, record_kernel, more, one)
        assert (one["reason_id"] == "distrusted") == (driver == "usb-storage"), one
        gone(guest, disk)

    # The device reports its firmware: an update shows at the next plug.
    guest.put("/etc/uasd/history", "generation=999\n" + RECORD % (0x0100, kernel, ""))
    disk.set(bcd=0x0101)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    assert only_disk(guest, "settled")["revision"] == "0101"


@case(tier="full", image="vendor", limit=300, cpus=2)
def rolled_back_is_remembered(vm):
    "A switch to uas that had to be taken back is not tried again at the next plug, until somebody says forget."
    disk = vm.disk(label="DATA", faults=[{"name": "hang", "proto": "uas", "op": "inquiry"}])
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=8\n"})
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    one = only_disk(guest, "failed", timeout=120)
    assert one["driver"] == "usb-storage" and one["history"].startswith("distrusted: "), one
    [record] = record_of(guest, disk)
    assert "failed=1" in record, record
    disk.clear_faults()
    gone(guest, disk)
    disk.reset_stats()
    disk.plug()
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    assert one["reason_id"] == "distrusted", one
    assert disk.stats()["set_interface"].get("1", 0) == 0, "it was on uas again"
    guest.run("uasctl forget %s" % disk.interface, check=True)
    guest.wait_disk(disk.interface, driver="uas")
    assert only_disk(guest, "trial")["history"] == "on trial"


@case(tier="full", image="bookworm", limit=400, cpus=2)
def beside_one_that_hangs(vm):
    "Bound while the kernel waits for another disk, which hangs: it is late as well, and whether or not it is taken back for that, nothing is held against it."
    bad, good = vm.disk(), vm.disk(pid=0x5A5B)
    guest = vm.resume()
    for disk in bad, good:
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
        guest.run("uasctl switch %s usb-storage" % disk.interface, check=True)
    bad.fault(name="hang", proto="uas", op="inquiry")
    hangs = guest.spawn("uasctl switch %s uas --wait=150" % bad.interface)
    guest.wait_until("grep -q STEP=appear /run/uasd/switch/%s" % bad.interface)
    late = guest.spawn("uasctl switch %s uas --wait=150" % good.interface)
    guest.wait_until("grep -q STEP=appear /run/uasd/switch/%s" % good.interface)
    let_pass(5)  # the kernel waits for the other disk all the time
    assert guest.driver(good.interface) == "uas" and not guest.block_devices(good.interface), "the kernel has shown it"
    assert hangs.wait(150).rc == 7
    assert late.wait(150).rc == (0 if guest.driver(good.interface) == "uas" else 7)
    assert disk_in(guest, bad, "failed")["history"].startswith("distrusted")
    one = listed(guest, good)
    assert one["driver"] == guest.driver(good.interface) and not (one["history"] or "").startswith("distrusted"), one
    guest.run("uasctl switch %s uas --wait=60" % good.interface, check=True)
    disk_in(guest, good, "settled")


@case(tier="full", image="bookworm", limit=300)
def no_place_to_write(vm):
    "With nothing to write to, a disk that fails is off uas all the same, as long as it stays plugged in."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    impatient(guest, "sda")
    guest.run("mkdir -p /etc/uasd /var/lib/uasd && chattr +i /etc/uasd /var/lib/uasd", check=True)
    hang_once(guest, disk, "sda")
    episode_over()
    hang_once(guest, disk, "sda")
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    assert one["reason_id"] == "distrusted", one
    assert "cannot be put on record" in guest.journal("-b -u uasd")
    assert not record_of(guest, disk)

LATECOMER = """
import glob, os, sys, time
interface, stop = sys.argv[1:]
found = []
while not found:
    if os.path.realpath("/sys/bus/usb/devices/%s/driver" % interface).endswith("/uas"):
        found = glob.glob("/sys/bus/usb/devices/%s/host*/target*/*/block/*" % interface)
    time.sleep(0.002)
while True:
    try:
        fd = os.open("/dev/" + os.path.basename(found[0]), os.O_RDONLY)
        break
    except OSError:
        time.sleep(0.002)
print("open", flush=True)
while not os.path.exists(stop):
    time.sleep(0.1)
"""


@case(tier="default", limit=200, also=("trixie", "bullseye", "sid"))
def met_somebody_on_the_way_back(vm):
    "Its reads fail under uas, and just then somebody has it open: not taken from under him, and off uas when he has gone."
    disk = vm.disk(label="DATA")
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\n", "/run/latecomer.py": LATECOMER})
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled")
    disk.fault(name="fail", proto="uas", op="read")
    disk.fault(name="delay", proto="uas", op="read", ms=50)  # so that somebody has the time
    late = guest.spawn("exec python3 -u /run/latecomer.py %s /run/stop" % disk.interface)
    asked = guest.run("uasctl switch %s uas --wait=60" % disk.interface, 100)
    assert asked.rc == 1 and "in use already" in asked.err, asked
    assert guest.driver(disk.interface) == "uas" and "open" in late.output(), (late.output(), guest.journal("-b -u uasd"))
    told = stranded(guest, disk, "usb-storage", "uas")
    assert "not brought back, it is on uas" in told["MESSAGE"] and told["UASD_STEP"] == "verify", told
    one = only_disk(guest, "waiting")
    assert one["history"].startswith("distrusted: ") and [user["kind"] for user in one["busy"]] == ["open"], one
    guest.run("touch /run/stop", check=True)
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    guest.run("udevadm settle; mount /dev/disk/by-label/DATA /mnt", check=True)


@case(image="vendor", tier="full", limit=600)
def older_initramfs(vm):
    "The initramfs has the trial that a disk passed, the root file system the distrust of later: the disk is off uas before it is mounted, and uasd reports the initramfs."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, files=distrusted(vm, disk, 1), initramfs=passed(vm, disk))
    line = mounted_at_boot(guest, disk, "usb-storage")
    held_and_released(line, 20)
    assert "uasd-switch: %s: moved from usb-storage to uas" % disk.interface in guest.kernel_log()  # by the initramfs
    assert bound(guest) < line.mounted
    assert disk.stats()["uas"]["writes"] == 0, disk.stats()["uas"]

    one = listed(guest, disk)
    assert one["state"] == "settled" and one["reason"].startswith("UAS failed on 2026-01-01: "), one
    older = "the initramfs is older than this record"
    assert older in one["history"], one
    assert older in guest.out("uasctl status --all " + disk.interface)
    assert "Update it: update-initramfs -u" in guest.out("uasctl explain " + disk.interface)
    assert "update it: update-initramfs -u" in guest.journal("-b -u uasd")
    # The other work of update-initramfs takes minutes here.
    guest.run("mkdir -p /run/made/etc && DESTDIR=/run/made version=$(uname -r) MODULES=dep verbose=n __MODULES_TO_ADD=/run/modules "
              "sh -e /usr/share/initramfs-tools/hooks/uasd", timeout=100)
    assert older not in guest.out("uasctl status --all " + disk.interface)
    assert "Initramfs" not in guest.out("uasctl explain " + disk.interface)

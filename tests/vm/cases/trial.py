# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first minutes on uas: on record before the disk is moved, and watched after it."""

from context import case
from evidence import (DISTRUSTED, TRIAL_PASSED, episode_over, gone, hang_once, impatient, messages, on_storage, only_disk, record_of)


def on_trial(vm, disk, config=""):
    """A guest in which the disk has just been moved to uas for the first time."""
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\n" + config})
    guest.run("systemctl restart uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    return guest


@case(tier="fast", image="vendor")
def passed(vm):
    "After its time without trouble a disk has passed: from then on it is switched without another trial."
    disk = vm.disk(label="DATA")
    guest = on_trial(vm, disk, "TrialSec=4\n")
    guest.until(lambda: only_disk(guest, "settled")["state"] == "settled" or None, 30, "the trial's end")
    one = only_disk(guest, "settled")
    assert one["history"] == "passed its trial" and one["driver"] == "uas", one
    [record] = record_of(guest, disk)
    assert record.startswith("state=passed firmware=0100 "), record
    assert messages(guest, TRIAL_PASSED) == 1
    gone(guest, disk)
    disk.plug()
    guest.wait_disk(disk.interface, driver="uas")
    assert only_disk(guest, "settled")["state"] == "settled"
    assert record_of(guest, disk) == [record]


@case(tier="default", image="vendor")
def nobody_watches(vm):
    "Moved while uasd is not there, no trial is left open for a machine to die in; uasd begins one when it comes."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk)
    guest.run("/usr/lib/uasd/uasd-switch --machine %s uas" % disk.interface, check=True)
    [record] = record_of(guest, disk)
    assert "state=ended" in record, record
    guest.run("systemctl start uasd", check=True)
    only_disk(guest, "trial")
    [record] = record_of(guest, disk)
    assert "state=trial" in record, record


@case(tier="default", image="vendor", limit=400)
def machine_dies(vm):
    "A machine that loses its power in the middle of a trial comes back with that disk on usb-storage, and says so."
    disk = vm.disk(label="DATA")
    guest = on_trial(vm, disk)
    one = only_disk(guest, "trial")
    assert one["history"] == "on trial", one
    [record] = record_of(guest, disk)
    text = " ".join(guest.out("uasctl explain %s" % disk.interface).split())
    assert "History: on trial" in text and "On trial on uas: after an error uasd moves it back." in text, text
    assert record.startswith("state=trial ") and "boot=" + guest.read("/proc/sys/kernel/random/boot_id") in record, record
    guest.power_cut()
    disk.reset_stats()
    guest.boot(disks=[disk])
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    assert (one["driver"], one["reason_id"]) == ("usb-storage", "distrusted"), one
    assert "went down in the middle of its trial" in one["history"], one
    assert disk.stats()["set_interface"].get("1", 0) == 0, "it was on uas again"
    assert "went down in the middle" in guest.out("uasctl explain %s" % disk.interface)
    assert messages(guest, DISTRUSTED) == 1
    guest.run("uasctl forget %s" % disk.interface, check=True)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "trial")


@case(tier="full", image="vendor", limit=300)
def orderly_reboot(vm):
    "A trial ends without a result when the disk is unplugged, uasd is stopped, or the machine is restarted while uasd is dead."
    disk = vm.disk(label="DATA")
    guest = on_trial(vm, disk)
    only_disk(guest, "trial")
    disk.unplug()
    guest.until(lambda: record_of(guest, disk)[0].startswith("state=ended ") or None, 30, "ended by unplugging")
    disk.plug()
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "trial")
    guest.run("systemctl stop uasd", check=True)
    guest.until(lambda: record_of(guest, disk)[0].startswith("state=ended ") or None, 30, "ended by uasd-trials.service")
    guest.run("systemctl start uasd", check=True)
    only_disk(guest, "trial")
    assert record_of(guest, disk)[0].startswith("state=trial "), record_of(guest, disk)
    # uasd is killed, and the machine is restarted before PID 1 has restarted uasd.
    guest.run("systemctl kill -s KILL uasd", check=True)
    assert record_of(guest, disk)[0].startswith("state=trial "), record_of(guest, disk)
    guest.reboot()
    guest.wait_disk(disk.interface, driver="uas")
    one = only_disk(guest, "trial")
    assert one["history"] == "on trial", one
    assert messages(guest, DISTRUSTED) == 0


@case(tier="full", image="vendor", limit=300)
def trouble_leads_back(vm):
    "Trouble in a trial leads back, also where policy says uas; who says it once more gets another trial."
    disk = vm.disk(label="DATA")
    guest = on_trial(vm, disk)
    guest.run("uasctl policy %s uas" % disk.interface, check=True)
    impatient(guest, "sda")
    hang_once(guest, disk, "sda")
    episode_over()
    hang_once(guest, disk, "sda")
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    assert one["reason_id"] == "trial-failed", one
    guest.run("uasctl policy %s uas" % disk.interface, check=True)
    guest.wait_disk(disk.interface, driver="uas")
    one = only_disk(guest, "trial")
    assert one["history"].startswith("distrusted: ") and "; on trial again" in one["history"], one


@case(tier="full", image="vendor", limit=300)
def no_record_no_trial(vm):
    "Where nothing can be written durably a disk is not moved for the first time; it is when that is mended."
    disk = vm.disk(label="DATA")
    guest = vm.resume()
    guest.run("mkdir -p /etc/uasd /var/lib/uasd && chattr +i /etc/uasd /var/lib/uasd", check=True)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    guest.wait_until("journalctl -b -u uasd | grep -q 'cannot be put on record'", 60)
    assert guest.driver(disk.interface) == "usb-storage"
    only_disk(guest, "waiting", timeout=60)
    assert disk.stats()["set_interface"].get("1", 0) == 0
    guest.run("chattr -i /etc/uasd /var/lib/uasd", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=90)
    assert record_of(guest, disk)[0].startswith("state=trial ")

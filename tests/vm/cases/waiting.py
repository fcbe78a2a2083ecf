# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting: a user of a disk keeps it; it is switched when it becomes free."""

from context import case
from evidence import on_storage, only_disk
from patience import let_pass
from users import at_rest

QUIET = {"/etc/uasd/uasd.conf": "[uasd]\nQuietSec=2\n"}


@case(tier="fast", image="vendor", cpus=2, also=("trixie", "bullseye", "sid"))
def switched_after_umount(vm):
    "A mounted disk stays untouched and is listed as waiting; after umount it is switched, its data intact."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk)
    guest.run("mount /dev/sda1 /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=16 status=none", check=True)
    total = guest.out("sha256sum </mnt/file")
    guest.run("systemctl start uasd", check=True)
    one = only_disk(guest, "waiting")
    assert one["driver"] == "usb-storage" and one["target"] == "uas", one
    [mount] = [user for user in one["busy"] if user["kind"] == "mount"]
    assert (mount["device"], mount["where"]) == ("sda1", "/mnt"), one
    assert "/mnt" in one["reason"], one
    at_rest(guest)
    assert guest.driver(disk.interface) == "usb-storage"
    assert disk.stats()["set_interface"].get("1", 0) == 0

    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=20)
    one = only_disk(guest, "settled")
    assert [each["name"] for each in one["disks"]] == ["sda"], one
    guest.run("mount /dev/sda1 /mnt", check=True)
    assert guest.out("sha256sum </mnt/file") == total
    # A desktop does not mount it again after the user has unmounted it.
    assert guest.udev("/dev/sda1").get("UDISKS_AUTO") == "0"
    # The close of a writer makes a change, for which udev starts no program of uasd: one that fails loses no property.
    before = guest.udev("/dev/sda")
    assert (before["UASD_CAPABLE"], before["UDISKS_AUTO"]) == ("1", "0"), before
    guest.run("mount --bind /bin/false /usr/lib/uasd/uasd-hold && udevadm trigger --settle -c change /dev/sda", check=True)
    after = guest.udev("/dev/sda")
    guest.run("umount /usr/lib/uasd/uasd-hold", check=True)
    # The order of the links may change, and systemd 257 marks an event that is under way.
    for properties in before, after:
        properties["DEVLINKS"] = properties["ID_PROCESSING"] = ""
    assert after == before, (before, after)


@case(tier="fast", image="vendor", cpus=2)
def remounted_in_the_quiet_time(vm):
    "Somebody who unmounts and mounts again within the quiet time is not disturbed."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk, config="[uasd]\nQuietSec=5\n")
    guest.run("mount /dev/sda1 /mnt", check=True)
    guest.run("systemctl start uasd", check=True)
    only_disk(guest, "waiting")
    for _round in range(3):
        guest.run("umount /mnt && sleep 1 && mount /dev/sda1 /mnt", check=True)
        let_pass(1)  # less than the quiet time
    at_rest(guest)
    assert guest.driver(disk.interface) == "usb-storage"
    assert guest.run("mountpoint -q /mnt").rc == 0
    assert only_disk(guest, "waiting")["busy"], "nobody uses it?"
    assert "switching" not in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")


@case(tier="default", image="vendor", cpus=2)
def new_setting(vm):
    "Moved to uas at plug-in, then a policy in uasd.conf and a restart: it goes back without a failure, and again when the policy goes."
    disk = vm.disk(label="DATA")
    guest = vm.resume(disks=[disk])
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    for text, driver in ("[Disk 1209:5a5a]\nPolicy=usb-storage\n", "usb-storage"), ("", "uas"):
        guest.put("/etc/uasd/uasd.conf", "[uasd]\nQuietSec=1\n" + text)
        guest.run("systemctl restart uasd", check=True)
        guest.wait_disk(disk.interface, driver=driver, timeout=30)
        only_disk(guest, "settled")
    assert "failed" not in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")


@case(tier="full", image="vendor", cpus=2)
def cancelled(vm):
    "Cancelled while it waits, then uasd is started anew: free, the disk stays where it is, and what was cancelled unasked is still told; until somebody asks."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk, config="[uasd]\nQuietSec=1\nTrialSec=0\n")
    guest.run("mount /dev/sda1 /mnt && systemctl start uasd", check=True)

    def stays(driver, words):
        "Before and after a restart, in use and free."
        for command in "true", "systemctl restart uasd", "umount /mnt", "systemctl restart uasd":
            guest.run(command, check=True)
            one = only_disk(guest, "settled")
            assert one["driver"] == driver and one["reason"].startswith(words), one
            assert words in " ".join(guest.out("uasctl status sda").split())
            at_rest(guest)
            assert guest.driver(disk.interface) == driver, command
        assert words in " ".join(guest.out("uasctl explain sda").split())

    only_disk(guest, "waiting")
    guest.run("uasctl cancel sda", check=True)
    stays("usb-storage", "The switch to uas was cancelled. The disk stays on usb-storage until a user asks again")
    assert disk.stats()["set_interface"].get("1", 0) == 0
    guest.run("uasctl switch sda uas --wait=60", 90, check=True)
    # A removed request leaves nothing behind.
    guest.run("udevadm settle; mount /dev/sda1 /mnt", check=True)
    assert guest.run("uasctl switch sda usb-storage").rc == 3
    only_disk(guest, "waiting")
    guest.run("uasctl cancel sda", check=True)
    stays("uas", "")
    assert "switching from uas" not in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")


@case(tier="fast", image="vendor", cpus=2)
def one_of_two_luns_in_use(vm):
    "Two LUNs, one in use: nothing moves; both free: both move."
    disk = vm.disk(label="DATA", luns=2)
    guest = on_storage(vm, disk, count=2)
    guest.run("mount /dev/sdb1 /mnt", check=True)
    guest.run("systemctl start uasd", check=True)
    one = only_disk(guest, "waiting")
    # The kernel probes both at once: either may be sda.
    assert [each["lun"] for each in one["disks"]] == [0, 1] and sorted(each["name"] for each in one["disks"]) == ["sda", "sdb"], one
    at_rest(guest)
    assert guest.driver(disk.interface) == "usb-storage"
    assert sorted(guest.block_devices(disk.interface)) == ["sda", "sdb"]
    guest.run("umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=20, count=2)
    one = only_disk(guest, "settled")
    assert [each["lun"] for each in one["disks"]] == [0, 1] and sorted(each["name"] for each in one["disks"]) == ["sda", "sdb"], one


@case(tier="fast", image="vendor", cpus=2, also=("trixie",))
def plain_open(vm):
    "A process with the node open is named, and waited for, although no claim sees it."
    disk = vm.disk(label="DATA")
    guest = on_storage(vm, disk)
    holder = guest.spawn("exec sleep 1000 </dev/sda1")
    guest.wait_until("fuser -s /dev/sda1", 10)
    guest.run("systemctl start uasd", check=True)
    at_rest(guest)
    # A child of uasd finds the names, again after each claim that was refused.
    guest.until(lambda: [(user["device"], user["command"]) for user in only_disk(guest, "waiting")["busy"] if user["kind"] == "open"] ==
                [("sda1", "sleep")], 20, "who has it open")
    assert guest.driver(disk.interface) == "usb-storage"
    holder.kill()
    guest.wait_disk(disk.interface, driver="uas", timeout=20)
    only_disk(guest, "settled")

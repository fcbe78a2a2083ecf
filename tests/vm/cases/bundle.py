# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bundle on systems without systemd: `busybox` has no udev and no D-Bus either; `sysvinit` and `openrc` have udevd, and their init
starts uasd."""

import re

import bundled
import busybox
import context
from context import case
from evidence import only_disk
from patience import let_pass

# Programs that this system does not have.
FOREIGN = re.compile("systemctl|journalctl|udevadm|systemd-hwdb")
ROUNDS = 10


# Each verb of uasctl, for a mounted disk that waits: the exit status, and a part of what it prints.
WAITING = {
    "list": (0, "waiting: /mnt"),
    "status": (0, "Used: mounted on /mnt (sda1)"),
    "status sda": (0, "To free: umount /mnt"),
    "explain sda": (0, "the policy is uas, by uasctl policy"),
    "explain --all sda": (0, "no-streams"),
    "db sda": (0, "Verdict: unknown"),
    "log": (0, "There is no journal: this is only the history."),
    "monitor >/run/seen & until grep present /run/seen; do sleep 0.1; done; kill $!": (0, "(sda) present: state waiting, driver usb-storage."),
    "wait --wait=1 sda": (3, "timed out. Waits for uas until nothing uses it: /mnt (sda1)."),
    "switch sda uas --wait=1": (3, "still waiting. The request stays."),
    "policy": (0, "uas         uasctl"),
    "cancel sda": (0, "no switch waits for it now."),
    "release sda": (0, "released."),
    "reset --dry-run sda": (0, "policy: uas"),
    "forget sda": (0, "its history is cleared."),
    "eject sda": (6, "cannot be ejected, because it is in use:"),
    "inhibit true": (0, ""),
    "inhibit --list": (0, "No program inhibits switches."),
    "lease sda": (0, '"state": "waiting"'),
    "trim sda": (0, "sda: not in use."),
    "module": (0, "uas is "),
    "bench sda": (77, "The package uasd-bench has it, the bundle does not."),
    "metrics": (0, "# EOF"),
    "report": (0, "Waits for uas until nothing uses it: /mnt (sda1)."),
    "help": (0, "bench [DISK]"),
    "help switch": (0, "--wait"),
    "--help": (0, "bench [DISK]"),
}


def status(guest, name):
    """A number of uasd's /proc/PID/status."""
    return int(guest.out("sed -n 's/^%s:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$(pidof uasd)/status" % name))


def sees_no_foreign(said):
    assert not FOREIGN.search(said.out + said.err), said


@case(image="busybox", product=False, cpus=2, also=bundled.WITHOUT_SYSTEMD)
def plugged_in(vm):
    "Ten plug-ins: each time the disk is on uas before usb-storage has sent it a command, also when uas is not loaded yet."
    disk = vm.disk(label="DATA")
    guest = bundled.boot(vm)
    assert guest.run("test -e /sys/bus/usb/drivers/uas").rc, "uas is loaded already"
    for number in range(ROUNDS):
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
        only_disk(guest, "settled")
        stats = disk.stats()
        assert stats["bot"]["commands"] == 0, (number, stats)
        disk.unplug()
        guest.wait_until("test ! -e /sys/bus/usb/devices/%s" % disk.interface)
    assert guest.kernel_log().count("Attached SCSI disk") == ROUNDS, guest.kernel_log()
    assert "usb-storage %s" % disk.interface in guest.kernel_log(), "usb-storage never had it"


@case(image="busybox", product=False, also=bundled.WITHOUT_SYSTEMD)
def waits_and_tells(vm):
    "A mounted disk waits for umount, and no longer. Every verb works, and no text names a program of systemd or udev."
    disk = vm.disk(label="DATA")
    guest = bundled.on_storage(vm, disk)
    guest.run("mount -t ext4 /dev/sda1 /mnt && echo kept >/mnt/file", check=True)
    guest.run("uasctl policy sda uas", check=True)
    guest.until(lambda: [user["where"] for user in only_disk(guest, "waiting")["busy"] if user["kind"] == "mount"] == ["/mnt"],
                what="the mount is named")
    assert guest.driver(disk.interface) == "usb-storage"
    assert set(re.findall(r"^  ([a-z]+) ", guest.out("uasctl help"), re.M)) == {words.split()[0] for words in WAITING} - {"--help"}
    for words, (status, text) in WAITING.items():
        said = guest.run("uasctl " + words)
        assert said.rc == status and text in said.out + said.err, (words, said)
        sees_no_foreign(said)
    assert guest.driver(disk.interface) == "usb-storage"
    bundled.goes(guest, "umount /mnt")
    guest.wait_disk(disk.interface, driver="uas", timeout=20)
    only_disk(guest, "settled")
    guest.run("mount -t ext4 /dev/sda1 /mnt && grep -q kept /mnt/file && umount /mnt", check=True)
    guest.run("uasctl switch sda usb-storage --wait=30", check=True)
    assert guest.driver(disk.interface) == "usb-storage"
    guest.run("uasctl eject sda", check=True)
    guest.until(lambda: not guest.block_devices(disk.interface), what="ejected")
    sees_no_foreign(guest.run("cat /run/uasd.log 2>/dev/null"))


@case(image="busybox", product=False)
def module_elsewhere(vm):
    "A uas.ko of another kernel is refused with its reason, and changes nothing. One that fits is loaded, wherever it is."
    disk = vm.disk(label="DATA")
    with context.clock_stopped():
        fits = busybox.uas_module()
    other = fits.replace(b"vermagic=5.10.0-", b"vermagic=5.10.1-")
    assert other != fits
    guest = bundled.boot(vm, conf="Module=/odd/other.ko\n", first="rm /lib/modules/*/kernel/drivers/usb/storage/uas.ko",
                         more={"odd/uas.ko": fits, "odd/other.ko": other})
    modules, log = guest.out("sort /proc/modules"), guest.kernel_log()
    checked = guest.run("uasctl module")
    assert checked.rc == 1, checked
    assert re.fullmatch(r"uasctl: /odd/other.ko is refused: it was built for the kernel '5\.10\.1-[^']*', and this is '5\.10\.0-[^']*'\.\n",
                        checked.err), checked
    assert guest.run("uasctl module --load").rc == 1
    assert (guest.out("sort /proc/modules"), guest.kernel_log()) == (modules, log)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled")
    assert "the file of Module= is refused" in guest.out("uasctl explain sda")
    assert guest.run("uasctl switch sda uas --wait=30", timeout=60).rc
    assert guest.driver(disk.interface) == "usb-storage"
    assert guest.run("test -e /sys/module/uas").rc

    checked = guest.run("uasctl module /odd/uas.ko")
    assert checked.rc == 0 and "/odd/uas.ko is the module uas for this kernel.\n" in checked.out, checked
    bundled.stop(guest)
    guest.run("sed -i s/other/uas/ /etc/uasd/uasd.conf", check=True)
    bundled.start(guest)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    assert guest.kernel_log().count("registered new interface driver usb-storage") == 1, "usb-storage was unloaded"


@case(image="busybox", product=False)
def module_by_modprobe(vm):
    "Without the indexes of kmod's depmod the system's modprobe loads uas, and the log says so."
    disk = vm.disk(label="DATA")
    guest = bundled.on_uas(vm, disk, first="rm /lib/modules/*/*.bin")
    only_disk(guest, "settled")
    assert "modprobe has loaded the module uas" in guest.out("cat /run/uasd.log")


@case(tier="full", image="busybox", product=False, cpus=2, also=bundled.WITHOUT_SYSTEMD)
def rolled_back(vm):
    "A disk that fails under UAS goes back to usb-storage, with its data."
    disk = vm.disk(label="DATA", wcache="volatile")
    guest = bundled.on_storage(vm, disk)
    guest.run("mount -t ext4 /dev/sda1 /mnt && echo kept >/mnt/file && umount /mnt", check=True)
    disk.fault(name="fail", proto="uas", op="read")
    done = guest.run("uasctl switch sda uas --wait=150", timeout=200)
    assert done.rc == 7 and "verify" in done.err, done
    sees_no_foreign(done)
    assert guest.driver(disk.interface) == "usb-storage"
    guest.run("mount -t ext4 /dev/sda1 /mnt && grep -q kept /mnt/file", check=True)


@case(tier="full", image="busybox", product=False)
def at_rest(vm):
    "With a disk on uas uasd has at most 4 MB of memory, and does not wake up for a minute. It has looked for the module."
    disk = vm.disk(label="DATA")
    guest = bundled.on_uas(vm, disk, conf="TrialSec=0\n")
    only_disk(guest, "settled")
    guest.wait_until("! grep -h it_value: /proc/$(pidof uasd)/fdinfo/* | grep -qv '(0, 0)'")  # no timer
    before = status(guest, "voluntary_ctxt_switches")
    let_pass(60)  # the minute
    woken = status(guest, "voluntary_ctxt_switches") - before
    resident = status(guest, "VmRSS")
    assert woken == 0, woken
    assert resident <= 4096, "%d KiB" % resident


@case(tier="full", image="busybox", product=False, cpus=2, also=bundled.WITHOUT_SYSTEMD)
def removed(vm):
    "--check names what is there; an upgrade beside a disk in use, and --remove, disturb nothing."
    disk = vm.disk(label="DATA")
    guest = bundled.on_uas(vm, disk)
    guest.run("mount -t ext4 /dev/sda1 /mnt", check=True)
    checked = guest.run("/bundle/install.sh --check")
    assert checked.rc == 0 and "Linux " + guest.out("uname -r") in checked.out and re.search("^ok +uas", checked.out, re.M), checked
    bundled.install(guest)
    assert guest.driver(disk.interface) == "uas"
    guest.run("uasctl list", check=True)
    guest.run("/opt/uasd/install.sh --remove --purge", check=True)
    guest.wait_until("! pidof uasd")
    places = "/opt/uasd /usr/local/bin/uasctl /etc/uasd /run/uasd /var/lib/uasd /etc/init.d/uasd* /etc/rc*.d/*uasd /etc/runlevels/*/uasd"
    left = guest.run("ls -d %s 2>/dev/null" % (places + " /opt" * (guest.image.flavour == "busybox"))).text
    assert left == "", left
    guest.run("echo more >/mnt/file && umount /mnt", check=True)


@case(image="busybox", product=False, limit=120, cpus=2, also=bundled.WITHOUT_SYSTEMD)
def mounted_at_boot(vm):
    "A disk that was mounted before uasd waits. TakeMounts=boot has it unmounted, moved, and mounted again by its line in fstab."
    disk = vm.disk(label="DATA")
    fstab = "echo /dev/sda1 /mnt ext4 defaults 0 0 >>/etc/fstab && mount /mnt && echo kept >/mnt/file"
    hook = "mkdir /etc/uasd/release.d && ln -s /opt/uasd/lib/release.d/mounts /etc/uasd/release.d/"
    guest = bundled.boot(vm, conf="TakeMounts=boot\n", first=fstab, early=[disk])
    only_disk(guest, "waiting")
    assert guest.driver(disk.interface) == "usb-storage"
    bundled.stop(guest)
    guest.run(hook, check=True)
    bundled.start(guest)
    guest.wait_disk(disk.interface, driver="uas")
    guest.wait_until("grep -q '^/dev/sda1 /mnt ' /proc/mounts && grep kept /mnt/file")
    sees_no_foreign(guest.run("cat /run/uasd.log 2>/dev/null"))


@case(tier="full", image="busybox", product=False, cpus=2, also=bundled.WITHOUT_SYSTEMD)
def distrusted(vm):
    "A disk that failed under UAS stays on usb-storage when it is plugged in again, until `uasctl forget`."
    disk = vm.disk(label="DATA", faults=[{"name": "fail", "proto": "uas", "op": "read"}])
    guest = bundled.boot(vm, disk)
    one = only_disk(guest, "failed", timeout=150)
    assert one["driver"] == "usb-storage" and one["history"].startswith("distrusted: "), one
    disk.clear_faults()
    disk.unplug()
    guest.wait_until("test ! -e /sys/bus/usb/devices/%s" % disk.interface)
    disk.reset_stats()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    assert only_disk(guest, "settled")["reason_id"] == "distrusted"
    assert disk.stats()["set_interface"].get("1", 0) == 0, "it was on uas again"
    guest.run("uasctl forget %s" % disk.interface, check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=30)
    sees_no_foreign(guest.run("cat /run/uasd.log 2>/dev/null"))


@case(tier="full", image="busybox", product=False, cpus=2, also=bundled.WITHOUT_SYSTEMD)
def upgraded_while_it_waits(vm):
    "The bundle is installed over itself while a mounted disk waits: the new uasd moves it after umount, and no byte is lost."
    disk = vm.disk(label="DATA", wcache="volatile")
    guest = bundled.on_storage(vm, disk)
    guest.run("mount -t ext4 /dev/sda1 /mnt && echo kept >/mnt/file && uasctl policy sda uas", check=True)
    only_disk(guest, "waiting")
    before = guest.out("pidof uasd")
    bundled.install(guest)
    assert guest.out("pidof uasd") == before, "an upgrade that starts nothing leaves uasd running"
    only_disk(guest, "waiting")
    bundled.replace(guest)
    assert guest.out("pidof uasd") != before
    only_disk(guest, "waiting")
    guest.run("echo more >>/mnt/file && umount /mnt", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=30)
    only_disk(guest, "settled")
    guest.run("mount -t ext4 /dev/sda1 /mnt && test \"$(cat /mnt/file)\" = 'kept\nmore'", check=True)


@case(tier="full", image="busybox", product=False, limit=400, also=bundled.WITHOUT_SYSTEMD)
def power_cut(vm):
    "A machine that loses its power in a trial comes back with the disk on usb-storage, and with all that was synced."
    disk = vm.disk(label="DATA", wcache="volatile")
    drives, kept = [], ":"
    if vm.case.images[0] == "busybox":  # its root is in memory
        drives = [vm.media()]
        drives[0].partition().ext4("SETTINGS", 1)
        kept = "mount -t ext4 /dev/vdb1 /etc/uasd && printf '[uasd]\\nQuietSec=1\\n' >/etc/uasd/uasd.conf"
    guest = bundled.on_uas(vm, disk, first=kept, drives=drives)
    only_disk(guest, "trial")
    guest.run("mount -t ext4 /dev/sda1 /mnt && echo kept >/mnt/file && sync", check=True)
    guest.run("echo lost >/mnt/other", check=True)
    guest.power_cut()
    disk.reset_stats()
    bundled.boot(vm, disk, first=kept, guest=guest, drives=drives)
    guest.wait_disk(disk.interface, driver="usb-storage")
    one = only_disk(guest, "settled")
    assert (one["driver"], one["reason_id"]) == ("usb-storage", "distrusted"), one
    assert "went down in the middle of its trial" in one["history"], one
    assert disk.stats()["set_interface"].get("1", 0) == 0, "it was on uas again"
    guest.run("mount -t ext4 /dev/sda1 /mnt && grep -q kept /mnt/file && umount /mnt", check=True)
    guest.run("uasctl forget sda", check=True)
    guest.wait_disk(disk.interface, driver="uas", timeout=30)

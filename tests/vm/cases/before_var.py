# SPDX-License-Identifier: LGPL-2.1-or-later
"""Disks that are held before /var is mounted, and with a read-only root file system.

What a boot has to know lies in /etc; a first trial begins when it can be put
on record there or in /var, and not before. systemd-udevd is started after
systemd-remount-fs: a root that is still read-only at a hold stays so.
"""

import os
import tempfile

import cpio
import image as images
from context import case
from evidence import disk_in, mounted_on_uas_alone, record_of
from media import Media, tool
from stacks import nothing_left, passed, policy

PATIENT = {"/etc/uasd/uasd.conf": "[uasd]\nHoldSec=40\n"}
DATA = "LABEL=DATA /mnt/usb ext4 defaults 0 2"
VAR = "LABEL=VAR /var ext4 defaults 0 2"


def with_var(vm, name):
    "A blank medium with the guest's /var on it, labelled VAR."
    path = os.path.join(vm.folder, name)
    with tempfile.TemporaryDirectory() as folder:
        tool(["debugfs", "-R", "rdump /var %s" % folder, vm.image().root])
        tool(["truncate", "-s", "256M", path])
        tool(["mke2fs", "-q", "-F", "-t", "ext4", "-L", "VAR", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
              "-d", os.path.join(folder, "var"), path])
    return Media(path, "256M")


def read_only_root():
    "In the initramfs: the root file system is passed on read-only, as usual, after the files of the case are written."
    script = "/scripts/init-bottom/vm-files"
    with open(images.recipe("root/etc/initramfs-tools" + script)) as file:
        text = file.read()
    end = "sync\nexit 0\n"
    assert text.endswith(end), text
    return {script: cpio.Exec(text[:-len(end)] + "sync\nmount -o remount,ro \"$rootmnt\"\n")}


def started(guest):
    assert guest.state() == "running", guest.out("systemctl --failed")
    nothing_left(guest)


@case(image="vendor", tier="full", limit=400, cpus=2)
def var_on_it(vm):
    "/var itself is on the held disk: its trial is put on record in /etc, it is moved, then /var is mounted."
    disk = vm.disk(media=[with_var(vm, "var.raw")])
    guest = vm.boot(disks=[disk], fstab=[VAR], files=PATIENT, timeout=240)
    started(guest)
    mounted_on_uas_alone(guest, disk, "/var")
    [line] = record_of(guest, disk)
    assert line.startswith("state=trial "), line
    # From now on it is stored in both places.
    guest.run("uasctl policy %s uas" % disk.interface, check=True)
    assert guest.read("/etc/uasd/policy") == guest.read("/var/lib/uasd/policy") is not None


@case(image="vendor", tier="full", limit=400, cpus=2)
def var_apart(vm):
    "/var on an internal disk of its own: policy and record are known before it is mounted."
    inner = with_var(vm, "var.raw")
    known, off = vm.disk(label="DATA"), vm.disk(label="OFF")
    guest = vm.boot(disks=[known, off], drives=[inner], fstab=[VAR, DATA, "LABEL=OFF /mnt/off ext4 defaults 0 2"], timeout=240, files={
        **PATIENT, **passed(vm, known), **policy(off, "usb-storage"), "/mnt/usb/.keep": "", "/mnt/off/.keep": ""})
    started(guest)
    assert guest.mounts()["/var"][0] == "/dev/vdb", guest.mounts()["/var"]
    mounted_on_uas_alone(guest, known, "/mnt/usb", guest.block_devices(known.interface)[0])
    assert guest.run("journalctl -b | grep Started.uasd-release@").rc == 1
    assert off.stats()["uas"]["commands"] == 0
    disk_in(guest, off, "settled")


@case(image="vendor", tier="full", limit=400, cpus=2)
def read_only(vm):
    "The root file system is read-only, /var not there yet: no first trial, on usb-storage when the hold is over; what has passed its trial is moved; once it is free the trial is recorded in /var."
    new, known = vm.disk(label="NEW"), vm.disk(label="DATA")
    # Otherwise /var may be mounted during the hold, and the new disk is moved.
    fstab = "/dev/vda / ext4 ro 0 1\n%s\n%s\nLABEL=NEW /mnt/new ext4 defaults 0 2\n" % (VAR.replace("defaults", "x-systemd.requires=/mnt/new"), DATA)
    guest = vm.boot(disks=[new, known], drives=[with_var(vm, "var.raw")], initramfs=read_only_root(), timeout=240, files={
        "/etc/fstab": fstab, "/etc/uasd/uasd.conf": "[uasd]\nHoldSec=25\n", **passed(vm, None, known),
        "/mnt/usb/.keep": "", "/mnt/new/.keep": ""})
    started(guest)
    assert guest.run("touch /etc/uasd/x").rc != 0
    assert guest.driver(new.interface) == "usb-storage" and "/mnt/new" in guest.mounts()
    assert new.stats()["uas"]["commands"] == 0, new.stats()
    assert "its trial cannot be put on record" in guest.journal("-b -u uasd"), guest.journal("-b -u uasd")
    mounted_on_uas_alone(guest, known, "/mnt/usb", guest.block_devices(known.interface)[0])
    assert disk_in(guest, new, "waiting")["busy"]
    guest.run("umount /mnt/new", check=True)
    guest.wait_disk(new.interface, driver="uas")
    disk_in(guest, new, "trial")
    assert ":%s@0000:00:02.0/ss/1=state=trial " % new.config["serial"] in guest.read("/var/lib/uasd/history")

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Booted guests, saved once and resumed in a second or so.

The guest's memory is a file that is mapped shared when it is saved and
copy-on-write when it is resumed (migration capability x-ignore-shared): there
is nothing to load, and two guests share what neither has written. No USB
device is attached at that moment, so that every machine fits the state.
"""

import os
import shutil
import time

import guest as guests
import image as images
import machine


def folder_of(image, cpus):
    processor = machine.processor(image.arch, cpus)
    version = images.sh([processor[0], "--version"])
    # The memory of a guest matches only the disk it was booted from, not another one by the same recipe.
    key = images.digest(image.key, version, processor, guests.cmdline_of(image),
                        str(os.stat(image.root).st_mtime_ns), os.path.join(images.HERE, "machine.py"))
    return os.path.join(images.cache_dir(), "saved",
                        "%s-%s-%s" % (image.flavour, image.key, key[:6]))


def ensure(image, cpus=machine.Processors()):
    """The folder of IMAGE's saved guest. Boots and saves it if there is none."""
    folder = folder_of(image, cpus)
    with images.locked("saved-" + image.flavour):
        if os.path.isdir(folder):
            os.utime(folder)
            return folder
        images.say("booting and saving %s ..." % image.flavour)
        start = time.monotonic()
        partial = folder + ".new"
        images.remove_tree(partial)
        os.makedirs(partial)
        memory = os.path.join(partial, "memory")
        guest = guests.Guest(partial, image, cpus)
        try:
            guest.boot(memory=(memory, True), timeout=300)
            settle(guest)
            guest.machine.save(os.path.join(partial, "state"))
            guest.machine.quit()
            os.unlink(os.path.join(partial, "qemu.log"))
            os.rename(partial, folder)
        except BaseException:
            guest.close()
            for name in ("console.log", "qemu.log"):
                if os.path.exists(os.path.join(partial, name)):
                    shutil.copy(os.path.join(partial, name),
                                os.path.join(os.path.dirname(folder), "failed-" + name))
            images.remove_tree(partial)
            raise
        prune(image)
        images.say("booting and saving %s: %.0f s" % (
            image.flavour, time.monotonic() - start))
    return folder


def settle(guest):
    """Let the boot's last work end, and load what every case will use."""
    guest.run("udevadm settle; journalctl --sync; python3 -c 'import json, subprocess'; "
              "udevadm info --export-db >/dev/null; lsblk >/dev/null; sync", check=True)
    guest.until(lambda: guest.run("systemctl list-jobs").out.startswith("No jobs"),
                60, "no jobs left")


def prune(image, keep=6):
    """Memory files are large: keeps the newest few of each flavour."""
    parent = os.path.join(images.cache_dir(), "saved")
    mine = [os.path.join(parent, name) for name in os.listdir(parent)
            if name.startswith(image.flavour + "-") and not name.endswith(".new")]
    for path in images.superfluous(mine, keep):
        images.remove_tree(path)

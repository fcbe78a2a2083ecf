# SPDX-License-Identifier: LGPL-2.1-or-later
"""The assumptions of the fake kernel about caches, claims, opens and names: see tests/fake/REACTIONS."""

from context import case
from inside import move, plugged, python

BOTH = ("uas", "usb-storage")
CACHED = 200  # blocks of 512 bytes

# Past the page cache, into the cache of the drive. A mapping is aligned.
INTO_DRIVE = """
import mmap
def into_drive(name):
    fd = node(name, os.O_WRONLY | os.O_DIRECT)
    os.pwrite(fd, mmap.mmap(-1, 512 * %d), 2 << 20)
    os.close(fd)
""" % CACHED


def everywhere(vm):
    """For each image of the case and both drivers: (image, driver, guest, disk)."""
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image, label="DATA")
        for driver in BOTH:
            move(guest, disk, driver)
            yield image, driver, guest, disk


def protocol(driver):
    return "uas" if driver == "uas" else "bot"


@case(tier="full", product=False, cpus=2)
def loses_page_cache(vm):
    "Neither unbind nor delete writes dirty pages back."
    guest, disk = plugged(vm, "uas", luns=2, partitions=[None])
    for driver in BOTH:
        move(guest, disk, driver)
        disk.reset_stats()
        assert python(guest, disk, """
first, second = disks()
# Kept open: the last close would write them.
fds = [node(name, os.O_WRONLY) for name in (first, first + "1", second, second + "1")]
for fd in fds:
    os.pwrite(fd, b"dirty" * 4096, 2 << 20)
answer = [write("/sys/block/%s/device/delete" % second, "1"), unbind(driver())]
answer += [error(os.fsync, fd) for fd in fds]
""") == [None, None] + ["EIO"] * 4
        assert disk.stats()[protocol(driver)]["writes"] == 0
        assert all(b"dirty" not in media.read(0, media.size) for media in disk.media)


@case(tier="full", product=False, cpus=2)
def flushes_drive(vm):
    "unbind of usb-storage and delete flush the drive's own cache."
    guest, disk = plugged(vm, "uas", luns=2, wcache="volatile")
    for driver in BOTH:
        move(guest, disk, driver)
        python(guest, disk, INTO_DRIVE + "answer = [into_drive(name) for name in disks()]")
        assert disk.stats()["dirty_blocks"] == [CACHED, CACHED]
        assert python(guest, disk, 'answer = write("/sys/block/%s/device/delete" % disks()[1], "1")') is None
        assert disk.stats()["dirty_blocks"] == [CACHED, 0]
        if driver == "usb-storage":
            assert python(guest, disk, 'answer = unbind("usb-storage")') is None
            assert disk.power_loss() == [0, 0]


@case(tier="full", image=("bookworm", "vendor"), product=False, cpus=2)
def uas_cannot_flush(vm):
    "unbind of uas does not flush the drive's cache; a power cut takes what is in it."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image, wcache="volatile")
        answer = python(guest, disk, INTO_DRIVE + 'into_drive(disks()[0]); answer = unbind("uas")')
        assert answer is None, answer
        assert disk.power_loss() == [CACHED], image


@case(tier="full", product=False, cpus=2)
def fsync_does_both(vm):
    "fsync of a node writes its own page cache, no other node's, and flushes the drive."
    guest, disk = plugged(vm, "uas", partitions=[None], wcache="volatile")
    for driver in BOTH:
        move(guest, disk, driver)
        [name] = guest.block_devices(disk.interface)
        # A writer that stays: the last close would write its pages, too.
        job = guest.spawn("exec python3 -uc 'import os, sys, time\n"
                          "for node, at in ((sys.argv[1], 65536), (sys.argv[1] + \"1\", 2 << 20)):\n"
                          "    os.pwrite(os.open(node, os.O_WRONLY), node[-4:].encode() * 1024, at)\n"
                          "print(1)\n"
                          "time.sleep(1000)' /dev/" + name)
        guest.until(lambda: job.output() or None, 20, "written")

        def medium():
            return [text.encode() * 1024 in disk.media[0].read(0, 8 << 20) for text in ("/" + name, name + "1")]

        assert medium() == [False, False]
        sync = 'answer = error(os.fsync, node(disks()[0] + "%s"))'  # a read-only descriptor is enough
        assert python(guest, disk, sync % "1") is None
        assert medium() == [False, True] and disk.dirty() == 0
        assert python(guest, disk, sync % "") is None
        assert medium() == [True, True] and disk.dirty() == 0
        job.kill()
        disk.media[0].noise(65536, 4 << 20)


@case(tier="full", product=False, cpus=2)
def letter_of_last_close(vm):
    "The new disk gets the old one's name if nobody has the old one open at the bind, else another."
    guest, disk = plugged(vm, "uas", partitions=[None])
    # The lock waits for udev, which is an opener like any other.
    assert python(guest, disk, """
def again(close):
    settle()
    fd = node(disks()[0] + "1") if not close else node(disks()[0], os.O_RDONLY | os.O_EXCL)
    if close:
        fcntl.flock(fd, fcntl.LOCK_EX)
    assert unbind("uas") is None
    if close:
        os.close(fd)
    assert bind("uas") is None
    appear()
    return disks()[0], fd
first, fd = again(False)
os.close(fd)
second, _ = again(True)
third, _ = again(True)
answer = [first, second, third]
""") == ["sdb", "sda", "sda"]


@case(tier="full", product=False, cpus=2)
def claim_excludes(vm):
    "O_EXCL on the whole disk: EBUSY while a partition is mounted anywhere; and it keeps mounts away."
    guest, disk = plugged(vm, "uas", label="DATA")
    claim = 'answer = error(node, "sda", os.O_RDONLY | os.O_EXCL)'
    assert python(guest, disk, claim) is None
    python(guest, disk, 'mount("/dev/sda1", "/run/m"); answer = None')
    assert python(guest, disk, claim) == "EBUSY"
    guest.run("umount /run/m", check=True)
    job = guest.spawn("unshare -m sh -c 'mount /dev/sda1 /run/m; echo 1; exec sleep 1000'")
    guest.until(lambda: job.output() or None, 20, "mounted")
    assert "/run/m" not in guest.mounts()
    assert python(guest, disk, claim) == "EBUSY"
    job.kill()
    # A namespace ends some time after the last process in it.
    guest.until(lambda: python(guest, disk, claim) is None, 10, "free again")
    assert python(guest, disk, """
settle()
fd = node("sda", os.O_RDONLY | os.O_EXCL)
answer = [error(mount, "/dev/sda1", "/run/m"), error(node, "sda1", os.O_RDONLY | os.O_EXCL)]
os.close(fd)
answer.append(error(mount, "/dev/sda1", "/run/m"))
""") == ["EBUSY", "EBUSY", None]


def slot(vm):
    """A card reader whose slot is empty, and the card for it; the guest."""
    card = vm.media("16M")
    card.partition().ext4("CARD", 1)
    return plugged(vm, "uas", media=[card], lun=[{"removable": True, "medium": False}])


SLOT = """
def shown():
    base = "/sys/block/sda/"
    return [int(open(base + "size").read()) > 0, os.path.exists(base + "sda1"), int(open(base + "diskseq").read())]
"""


@case(tier="full", image=("bookworm", "trixie"), product=False, cpus=2)
def slot_is_claimed(vm):
    "O_NONBLOCK opens an empty slot, ENOMEDIUM without it; O_EXCL on it keeps mounts of a card away that is put in later."
    guest, disk = slot(vm)
    for driver in BOTH:
        move(guest, disk, driver)
        assert python(guest, disk, 'settle(); answer = error(node, "sda")') == "ENOMEDIUM"
        job = guest.spawn("exec python3 -uc 'import os, time\nfd = os.open(\"/dev/sda\", os.O_RDONLY | os.O_NONBLOCK | os.O_EXCL)\n"
                          "print(1)\ntime.sleep(1000)'")
        guest.until(lambda: job.output() or None, 20, "claimed")
        disk.set(lun=0, medium=True)
        assert python(guest, disk, """
os.close(node("sda"))
settle()
answer = error(mount, "/dev/sda1", "/run/m")
""") == "EBUSY"
        job.kill()
        assert python(guest, disk, """
end = time.monotonic() + 10
while (answer := error(mount, "/dev/sda1", "/run/m")) == "EBUSY" and time.monotonic() < end:
    time.sleep(0.1)
""") is None
        guest.run("umount /run/m", check=True)
        disk.set(lun=0, medium=False)
        guest.until(lambda: python(guest, disk, 'answer = error(node, "sda")') == "ENOMEDIUM", 20, "empty again")


@case(tier="full", image=("bookworm", "trixie"), product=False, cpus=2)
def card_is_seen(vm):
    "An open of the node sees a card that was put in: size and partitions are there, and diskseq is another one."
    guest, disk = slot(vm)
    for driver in BOTH:
        move(guest, disk, driver)
        # The kernel itself polls every other second. No other program does here.
        guest.run("echo 0 >/sys/module/block/parameters/events_dfl_poll_msecs", check=True)
        look = SLOT + """
settle()
os.close(node("sda", os.O_RDONLY | os.O_NONBLOCK))
answer = shown()
"""
        empty = [python(guest, disk, look) for _ in range(2)]
        assert empty[0] == empty[1] and empty[0][:2] == [False, False], empty  # only an open changes nothing
        disk.set(lun=0, medium=True)
        card = [python(guest, disk, look) for _ in range(2)]
        assert card[0] == card[1] and card[0][:2] == [True, True] and card[0][2] != empty[0][2], (empty, card)
        disk.set(lun=0, medium=False)


@case(tier="full", product=False, cpus=2)
def plain_open_is_no_claim(vm):
    "A plain open stands in the way of no claim, and is told by inotify; several in a row once."
    guest, disk = plugged(vm, "uas", label="DATA")
    # Watched by name, as the product does before it claims: it also gets its own opens.
    answer = python(guest, disk, """
IN_OPEN, IN_MODIFY, IN_CLOSE_WRITE, IN_NONBLOCK = 0x20, 0x2, 0x8, 0o4000
settle()
plain = [node("sda"), node("sda1", os.O_RDWR)]
queue = libc.inotify_init1(IN_NONBLOCK)
for name in (b"/dev/sda", b"/dev/sda1"):
    assert libc.inotify_add_watch(queue, name, IN_OPEN | IN_MODIFY | IN_CLOSE_WRITE) > 0
def told(nodes=(1, 2)):
    try:
        return [event[:2] for event in struct.iter_unpack("iIII", os.read(queue, 4096)) if event[0] in nodes]
    except BlockingIOError:
        return []
def others(*words):
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
answer = [told()]
claim = node("sda", os.O_RDONLY | os.O_EXCL)
fcntl.flock(claim, fcntl.LOCK_EX)
plain.append(node("sda1"))
answer.append(told())
others("dd", "if=/dev/sda", "of=/dev/null", "count=1")
answer.append(told())
others("dd", "if=/dev/zero", "of=/dev/sda1", "count=1", "conv=notrunc")
# udev follows every close of a writer; while we have the lock it opens the whole disk alone, to wait for it.
answer.append(told([2]))
# Somebody's, and at once ours of the same node.
plain += [node("sda1"), node("sda1")]
answer.append(told([2]))
os.close(plain[1])
answer.append(told([2]))
""")
    opened, modified, written = 0x20, 0x2, 0x8
    assert answer == [[], [[1, opened], [2, opened]], [[1, opened]],
                      [[2, opened], [2, modified], [2, written]],
                      [[2, opened]], [[2, written]]], answer


@case(tier="full", image=("bookworm", "trixie"), product=False, cpus=2)
def counts_opens(vm):
    "Each open pins the module of the disk's driver once until its close; of a partition on 6.1 the first one alone."
    for image, driver, guest, disk in everywhere(vm):
        opens, mounts, gone = python(guest, disk, """
settle()
module = "/sys/module/%s/" % driver().replace("-", "_")
def count():
    return int(open(module + "refcnt").read()) - len(os.listdir(module + "holders"))
name = disks()[0]
part = name + "1"
opens, fds = [count()], []
for one in (name, name, part, part):
    fds.append(node(one))
    opens.append(count())
mount("/dev/" + part, "/run/m")
opens.append(count())
for fd in fds:
    os.close(fd)
mounts = [count()]
libc.umount(b"/run/m")
mounts.append(count())
fd = node(name)
unbind(driver())
gone = [count()]
os.close(fd)
gone.append(count())
answer = [opens, mounts, gone]
""")
        # A mount is an open like any other. On 6.12 each open of a partition counts.
        assert opens == ([0, 1, 2, 3, 3, 3] if image == "bookworm" else [0, 1, 2, 3, 4, 5]), (image, opens)
        assert mounts == [1, 0], (image, mounts)
        # Even when the disk has gone.
        assert gone == [1, 0], (image, gone)


@case(tier="full", product=False, cpus=2)
def last_close_writes_back(vm):
    "The last close of a node writes its page cache to the drive, whose own cache may keep it."
    guest, disk = plugged(vm, "uas", partitions=[None], wcache="volatile")
    for driver in BOTH:
        move(guest, disk, driver)
        assert disk.dirty() == 0
        # Opens and closes of the whole disk by others make no difference. A second one of the partition does.
        assert python(guest, disk, """
[name] = disks()
whole, first, second = node(name), node(name + "1", os.O_WRONLY), node(name + "1")
os.pwrite(first, b"d" * (512 * %d), 1 << 20)
os.close(first)
answer = None
""" % CACHED) is None
        guest.until(lambda: disk.dirty() >= CACHED or None, 10, "written back")
        python(guest, disk, "answer = os.fsync(node(disks()[0]))")
        assert disk.dirty() == 0


@case(tier="full", image=("bookworm", "vendor", "trixie"), product=False, cpus=2)
def delete_lets_nobody_in(vm):
    "A LUN whose delete has begun (state cancel) is ENXIO to whoever opens it, when its block device is still there."
    for image, driver, guest, disk in everywhere(vm):
        opens = python(guest, disk, """
import threading
[name] = disks()
def state():
    try:
        return open(device + "/state").read().strip()
    except OSError:
        return "gone"
opens = set()
# Somebody who comes just between has to be lucky.
for _time in range(20):
    settle()
    [device] = map(os.path.dirname, at("host*/target*/*/state"))
    host = at("host*/scsi_host/*/scan")[0]
    thread = threading.Thread(target=write, args=(device + "/delete", "1"))
    thread.start()
    while thread.is_alive():
        if state() != "running":
            opens |= {error(node, one, flags) for one in (name, name + "1") for flags in (os.O_RDONLY, os.O_RDWR | os.O_EXCL)}
    thread.join()
    assert state() == "gone"
    assert write(host, "- - -") is None
    appear()
    if "ENXIO" in opens:
        break
answer = sorted(opens, key=str)
""")
        assert set(opens) <= {"ENXIO", "ENOENT", "ENODEV"}, (image, driver, opens)
        # On 6.12 the block device disappears too soon after that to open it reliably in between.
        assert "ENXIO" in opens or image == "trixie", (image, driver, opens)


@case(tier="full", image=("bookworm", "trixie"), product=False)
def delete_waits_for_scan(vm):
    "While the kernel scans the host a delete waits: the state of the LUN stays running, and it can be claimed."
    for image in vm.case.images:
        guest, disk = plugged(vm, "uas", image, luns=2)
        for driver in BOTH:
            move(guest, disk, driver)
            disk.fault(name="delay", op="inquiry", lun=1, ms=3000, count=1)
            answer = python(guest, disk, """
import threading
settle()
name = disks()[0]
first, second = map(os.path.dirname, at("host*/target*/*/state"))
assert write(second + "/delete", "1") is None
rescan = (at("host*/scsi_host/*/scan")[0], "- - -")
scan = threading.Thread(target=write, args=rescan)
delete = threading.Thread(target=write, args=(first + "/delete", "1"))
scan.start()
time.sleep(1)
delete.start()
time.sleep(0.5)
answer = [open(first + "/state").read().strip(), error(node, name, os.O_RDWR | os.O_EXCL), scan.is_alive(), delete.is_alive()]
scan.join()
delete.join()
answer += [os.path.exists(first), write(*rescan)]
""")
            assert answer == ["running", None, True, True, False, None], (image, driver, answer)
            guest.wait_disk(disk.interface, count=2)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""`uasctl bench` on disks whose latency is a documented model (usbdisk/latency.py), with interruptions."""

import json

from context import case
from evidence import gone, impatient, only_disk, well

# The patterns of `gcp`, at depths that an emulated guest can reach, with blocks small enough for many in a run of seconds.
PROFILE = """[global]
ioengine=libaio
direct=1
time_based=1
runtime=2
size=1g
[read_throughput]
rw=read
bs=256k
iodepth=4
[read_iops]
rw=randread
bs=4k
iodepth=32
iodepth_batch_submit=32
iodepth_batch_complete_max=32
[rw_iops]
rw=randrw
bs=4k
iodepth=32
iodepth_batch_submit=32
iodepth_batch_complete_max=32
[big_random]
rw=randread
bs=112k
iodepth=4
"""
HDD = {"kind": "hdd", "seek_ms": 8, "rotation_ms": 4, "mb_per_s": 4}
# The link sets the pace, and a queue has no advantage. It is so slow, and the blocks so large (but not more than one command of
# usb-storage), that the emulation's own time for a command does not matter.
PACE = {"kind": "fixed", "ms": 0, "mb_per_s": 1}


def begin(vm, image="bookworm", **config):
    """A guest with an unused disk, on the driver that its kernel chose."""
    guest = vm.resume(image=image)
    guest.run("mkdir -p /etc/uasd/bench", check=True)
    guest.put("/etc/uasd/bench/small.fio", PROFILE)
    disk = vm.disk(**config)
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled", timeout=60)
    return guest, disk


def bench(guest, options, code=0, answer="", timeout=380):
    """The result, and the messages. code: the expected exit status."""
    done = guest.run("uasctl bench sda --json --profile=small --pause=0 " + options, timeout=timeout, input=answer)
    assert done.rc == code, (done.rc, done.out[-2000:], done.err)
    return (json.loads(done.out) if done.out.strip() else None), done.err


def verdicts(result):
    return {result["patterns"][one["pattern"]]["name"]: one["comparison"] for one in result["results"]}


def lease(guest):
    """The holder of the lease of the disk, or None."""
    [one] = guest.uasctl("list")["disks"]
    return one["lease"]


def nothing_left(guest, disk, driver):
    """The driver is restored. There is no lease, no fio, and nothing of a switch."""
    guest.until(lambda: guest.driver(disk.interface) == driver or None, 90, "back on " + driver)
    well(guest, disk, driver)
    guest.until(lambda: lease(guest) is None or None, 30, "the lease ends")
    assert guest.run("pgrep -x fio").rc != 0
    assert guest.run("grep -l LEASE=u /run/uasd/attachment/*").text == "", guest.run("grep LEASE /run/uasd/attachment/*").out


def under(guest, disk, driver):
    """Waits until a run of fio under this driver has begun."""
    guest.until(lambda: guest.driver(disk.interface) == driver and guest.run("pgrep -x fio").rc == 0 or None, 90, "fio on " + driver)


@case(tier="full", limit=500)
def shape_of_a_hard_disk(vm):
    "A hard disk with a queue: random reads gain well above 2 times by uas, sequential reads nothing that is seen; in the order A B B A."
    guest, disk = begin(vm, size="48M", latency=HDD)
    result, _said = bench(guest, "-n 5 --pattern=read_iops")
    one = verdicts(result)["read_iops"]
    assert one["verdict"] == "faster" and one["ratio"] > 2, (one, result["results"])
    flat, _said = bench(guest, "-n 5 --pattern=read_throughput")
    one = verdicts(flat)["read_throughput"]
    assert one["verdict"] == "none", (one, flat["results"])
    for run in flat["runs"]:
        assert run["error"] == 0 and run["read"]["ios"] > 0, run
    order = [run["driver"] for run in sorted(flat["runs"], key=lambda run: run["order"])]
    assert order == ["uas"] * 4 + ["usb-storage"] * 6 + ["uas"] * 3, order
    depths = {one["driver"]: one["queue_depth"] for one in flat["conditions"]["drivers"]}
    assert depths["usb-storage"] == 1 and depths["uas"] > 1, depths
    nothing_left(guest, disk, "uas")
    assert len(guest.run("ls /var/lib/uasd/bench").out.split()) == 2


@case(tier="full", limit=400)
def mixture_on_a_hard_disk(vm):
    "The mixture of reads and writes gains as well; without the right serial number nothing is written."
    guest, disk = begin(vm, size="48M", latency=HDD, wcache="through")
    bench(guest, "-n 1 --destroy-data --pattern=rw_iops", code=6, answer="yes\n")
    assert disk.stats()["uas"]["writes"] == 0, disk.stats()["uas"]
    result, said = bench(guest, "-n 5 --destroy-data --pattern=rw_iops", answer=disk.config["serial"] + "\n")
    assert "overwritten" in said, said
    one = verdicts(result)["rw_iops"]
    assert one["verdict"] == "faster" and one["ratio"] > 2, (one, result["results"])
    assert disk.stats()["uas"]["writes"] > 0
    nothing_left(guest, disk, "uas")


@case(tier="full", limit=400)
def nothing_to_gain(vm):
    "Where the queue brings nothing no difference is certain."
    guest, disk = begin(vm, size="8M", latency=PACE)
    result, _said = bench(guest, "-n 5 --runtime=3 --pattern=big_random")
    one = verdicts(result)["big_random"]
    assert one["verdict"] == "none", (one, result["results"])
    nothing_left(guest, disk, "uas")


@case(tier="full", limit=2400, sliced=False)
def gcp_as_it_is(vm):
    "The profile gcp as it is shipped, its runs shortened: A B B A over two patterns at once, random reads and the mixture well above 2 times, sequential reads no difference."
    guest = vm.boot(memory="2G", timeout=300)
    disk = vm.disk(size="96M", latency=dict(HDD, mb_per_s=40), wcache="through")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled", timeout=60)
    result = {}
    for options, answer in (("-n 5", ""), ("-n 5 --destroy-data --pattern=rw_iops", disk.config["serial"] + "\n")):
        done = guest.run("uasctl bench sda --json --profile=gcp --runtime=15 --pause=0 " + options, timeout=1100, input=answer)
        assert done.rc == 0, (done.rc, done.out[-2000:], done.err)
        told = json.loads(done.out)
        for name, one in verdicts(told).items():
            print("  %s: %s, ratio %s" % (name, one["verdict"], one["ratio"]), flush=True)
        result.update(verdicts(told))
    assert list(result) == ["read_throughput", "read_iops", "rw_iops"], list(result)
    assert all(result[name]["verdict"] == "faster" and result[name]["ratio"] > 2 for name in ("read_iops", "rw_iops")), result
    assert result["read_throughput"]["verdict"] == "none", result["read_throughput"]
    nothing_left(guest, disk, "uas")


def two_disks(vm):
    "For a file system over both, and a profile with a pattern that memory may answer."
    guest = vm.resume()
    disks = [vm.disk(size="300M"), vm.disk(size="300M")]
    for disk in disks:
        guest.plug(disk)
        guest.wait_disk(disk.interface, driver="uas")
    guest.run("mkdir -p /etc/uasd/bench", check=True)
    guest.put("/etc/uasd/bench/small.fio", PROFILE + "[cached]\nrw=read\nbs=64k\ndirect=0\n")
    return guest, disks


@case(tier="full", limit=400)
def file_over_several_disks(vm):
    "A file of a btrfs over two USB disks, which belongs to no block device alone: measured where it is, with a disk named beside it or not; what memory answers is doubted."
    guest, disks = two_disks(vm)
    guest.run("mkfs.btrfs -q -d raid0 -m raid1 /dev/sda /dev/sdb && mount /dev/sda /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=32 "
              "conv=fsync status=none", check=True, timeout=120)
    common = "uasctl bench %s --json --profile=small --pause=0 -n 2 --file=/mnt/file --pattern=%s"
    done = guest.run(common % ("", "read_iops"), timeout=120)
    assert done.rc == 0 and "Name a disk" in done.err, done.err
    result = json.loads(done.out)
    assert all(run["error"] == 0 and run["read"]["ios"] > 0 for run in result["runs"]), result["runs"]
    done = guest.run(common % ("sda", "read_throughput"), timeout=120)
    assert done.rc == 0, done.err
    assert json.loads(done.out)["conditions"]["bridge"], done.out[:2000]
    done = guest.run(common % ("sda", "cached"), timeout=120)
    assert done.rc == 0, done.err
    [one] = json.loads(done.out)["results"]
    doubts = {each["doubt"] if isinstance(each, dict) else each for each in one["doubts"]}
    assert doubts & {"cache", "memory"}, one
    written = sum(disk.stats()["uas"]["reads"] for disk in disks)
    assert written > 0
    guest.run("umount /mnt", check=True)


@case(tier="full", image="zfs", limit=600)
def file_on_zfs(vm):
    "A file of a ZFS pool over two USB disks: measured where it is, with a disk named beside it or not; of a scratch file nothing is left. ZFS charges for what its cache answers, O_DIRECT or not."
    guest, disks = two_disks(vm)
    guest.run("zpool create -f tank /dev/sda /dev/sdb && dd if=/dev/urandom of=/tank/file bs=1M count=32 conv=fsync status=none",
              check=True, timeout=120)

    def of_file(options):
        """The result, the output, and the doubts of its one pattern."""
        for disk in disks:
            disk.reset_stats()
        done = guest.run("uasctl bench --json --profile=small --pause=0 -n 2 " + options, timeout=200)
        assert done.rc == 0, (options, done)
        result = json.loads(done.out)
        assert all(run["error"] == 0 and run["read"]["ios"] > 0 for run in result["runs"]), result["runs"]
        assert result["patterns"][0]["direct"] == ("cached" not in options), result["patterns"]
        return result, done.err, {each["doubt"] for each in result["results"][0]["doubts"]}

    result, said, _doubts = of_file("--file=/tank/file --pattern=read_iops")
    assert "Name a disk" in said and result["conditions"]["bridge"] is None, (said, result["conditions"])
    for options in "sda --file=/tank/file --pattern=read_throughput", "sda --file=/tank/file --pattern=cached":
        result, _said, doubts = of_file(options)
        assert result["conditions"]["bridge"], result["conditions"]
        assert "cache" in doubts and "memory" not in doubts, result["results"]
        # All of it is counted for fio, and almost nothing of it came from the disks.
        assert all(run["device_read_bytes"] >= run["read"]["bytes"] > 0 for run in result["runs"]), result["runs"]
        asked = sum(disk.stats()["uas"]["reads"] for disk in disks)
        assert asked < min(run["read"]["ios"] for run in result["runs"]), (asked, result["runs"])
    result, _said, _doubts = of_file("--file=/tank --write --size=16M --pattern=rw_iops")
    assert all(run["write"]["ios"] > 0 for run in result["runs"]), result["runs"]
    assert guest.out("ls -A /tank") == "file"
    # The raw disk belongs to the pool.
    done = guest.run("uasctl bench sda --json --profile=small --pause=0 -n 1", timeout=120)
    assert done.rc == 6 and not done.out.strip(), done
    guest.run("zpool scrub -w tank", check=True, timeout=120)
    assert "errors: No known data errors" in guest.out("zpool status tank"), guest.out("zpool status tank")
    guest.run("zpool export tank", check=True)


@case(tier="full", limit=400)
def slower_under_uas(vm):
    "A bridge that is slower under uas is called slower."
    guest, disk = begin(vm, size="8M", latency={"kind": "per-proto", "bot": dict(PACE, mb_per_s=2), "uas": PACE})
    result, _said = bench(guest, "-n 5 --runtime=3 --pattern=big_random")
    one = verdicts(result)["big_random"]
    assert one["verdict"] == "slower" and 0.3 < one["ratio"] < 0.8, (one, result["results"])
    nothing_left(guest, disk, "uas")


@case(tier="full", limit=400)
def ended_in_the_middle(vm):
    "Ctrl-C, SIGTERM, SIGKILL while it is on the other driver: the disk goes back to its own, and nothing is left."
    guest, disk = begin(vm, size="16M")
    for signal in "INT", "TERM", "KILL":
        job = guest.spawn("uasctl bench sda --profile=small --pattern=read_iops --pause=1 -n 9")
        under(guest, disk, "usb-storage")
        assert lease(guest), "nobody has a lease"
        # No other program gets the disk meanwhile.
        assert guest.run("mkfs.ext4 -q /dev/sda", timeout=60).rc != 0
        guest.run("pkill -%s -x uasctl-bench" % signal, check=True)
        done = job.wait(60)
        if signal != "KILL":
            assert done.rc == 1 and "Interrupted" in done.err, (done.rc, done.err)
        nothing_left(guest, disk, "uas")
    assert guest.run("ls /var/lib/uasd/bench/*").rc != 0, "half a result was kept"


@case(tier="full", limit=400)
def pulled_in_the_middle(vm):
    "Unplugged in the middle: told as that, no lease is left, and plugged in again it is as before."
    guest, disk = begin(vm, size="16M")
    job = guest.spawn("uasctl bench sda --profile=small --pattern=read_iops --pause=0 -n 9")
    under(guest, disk, "usb-storage")
    gone(guest, disk)
    done = job.wait(90)
    assert done.rc == 4 and "was unplugged" in done.err, (done.rc, done.err)
    assert guest.run("pgrep -x fio").rc != 0
    disk.plug()
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled", timeout=60)
    nothing_left(guest, disk, "uas")


@case(tier="full", image="vendor", limit=400)
def fails_under_uas(vm):
    "A command that is not answered under uas ends that half and is the first thing told; the disk is on usb-storage after it."
    guest = vm.resume(files={"/etc/uasd/uasd.conf": "[uasd]\nPolicy=usb-storage\n"})
    guest.run("systemctl restart uasd && mkdir -p /etc/uasd/bench", check=True)
    guest.put("/etc/uasd/bench/small.fio", PROFILE)
    disk = vm.disk(size="16M")
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="usb-storage")
    only_disk(guest, "settled", timeout=60)
    job = guest.spawn("uasctl bench sda --json --profile=small --pattern=read_iops --pause=1 -n 5")
    under(guest, disk, "uas")
    impatient(guest, guest.block_devices(disk.interface)[0])
    disk.fault(name="hang", proto="uas", op="read", count=1)
    done = job.wait(200)
    disk.clear_faults()
    assert done.rc == 7, (done.rc, done.err)
    result = json.loads(done.out)
    assert result["finding"]["driver"] == "uas", result["finding"]
    assert "not answered in time" in result["finding"]["what"], result["finding"]
    rounds = sorted(run["round"] for run in result["runs"] if run["driver"] == "usb-storage" and run["round"])
    assert rounds == [1, 2, 3, 4, 5], rounds
    assert verdicts(result)["read_iops"]["verdict"] == "failed", verdicts(result)
    nothing_left(guest, disk, "usb-storage")
    # It comes first, also in the table for people.
    last = guest.run("ls /var/lib/uasd/bench").out.split()
    assert len(last) == 1, last


@case(tier="full", limit=300)
def in_use(vm):
    "A mounted disk is refused with who uses it, measured through its file system instead, and keeps its driver and what is on it."
    guest, disk = begin(vm, label="DATA", size="64M")
    guest.run("mount LABEL=DATA /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=8 conv=fsync status=none", check=True)
    total = guest.out("sha256sum </mnt/file")
    _none, said = bench(guest, "-n 1", code=6)
    assert "/mnt" in said, said
    for code, options in ((0, "--file=/mnt/file --pattern=read_iops"), (0, "--file=/mnt --write --size=8M --pattern=rw_iops"),
                          (1, "--file=/mnt --write --size=1G")):
        done = guest.run("uasctl bench --json --profile=small --pause=0 -n 2 " + options, timeout=120)
        assert done.rc == code, (done.rc, done.out[-1000:], done.err)
        if code == 0:
            result = json.loads(done.out)
            assert {run["driver"] for run in result["runs"]} == {"uas"}, result["runs"]
            assert result["conditions"]["bridge"], result["conditions"]
    guest.run("mv /usr/bin/fio /usr/bin/fio.away", check=True)
    assert "install" in bench(guest, "--file=/mnt/file", code=77)[1]
    guest.run("mv /usr/bin/fio.away /usr/bin/fio", check=True)
    assert guest.out("ls -A /mnt").split() == ["file", "lost+found"]
    assert guest.out("sha256sum </mnt/file") == total
    assert guest.driver(disk.interface) == "uas"
    guest.run("umount /mnt", check=True)
    nothing_left(guest, disk, "uas")


@case(tier="full", limit=600)
def both_drivers_on_a_file(vm):
    "With --remount a disk with data is measured under both drivers: it is unmounted for each switch, and mounted again with its options, also one of fstab. It ends on its driver, also after Ctrl-C. A process in the mount keeps everything as it was."
    guest, disk = begin(vm, label="DATA", size="64M")
    guest.run("mount -o noatime LABEL=DATA /mnt && dd if=/dev/urandom of=/mnt/file bs=1M count=8 conv=fsync status=none", check=True)
    total = guest.out("sha256sum </mnt/file")

    def as_before():
        assert guest.out("sha256sum </mnt/file") == total
        assert guest.out("ls -A /mnt").split() == ["file", "lost+found"]
        assert "noatime" in guest.out("findmnt -no OPTIONS /mnt"), guest.out("findmnt /mnt")
        assert guest.driver(disk.interface) == "uas"
        [one] = guest.uasctl("list")["disks"]
        assert one["reason_id"] != "override", one

    options = "--file=/mnt --write --remount --size=8M --pattern=rw_iops "
    result, said = bench(guest, options + "-n 2")
    order = [run["driver"] for run in sorted(result["runs"], key=lambda run: run["order"])]
    assert order == ["uas"] * 2 + ["usb-storage"] * 3 + ["uas"] * 2, order
    assert all(run["write"]["ios"] > 0 and run["error"] == 0 for run in result["runs"]), result["runs"]
    assert not result["single"] and result["conditions"]["path"] == "/mnt" and "unmounted for each switch" in said, said
    as_before()
    job = guest.spawn("uasctl bench --profile=small --pause=1 -n 9 " + options)
    under(guest, disk, "usb-storage")
    guest.run("pkill -INT -x uasctl-bench", check=True)
    done = job.wait(120)
    assert done.rc == 1 and "Interrupted" in done.err, (done.rc, done.err)
    as_before()
    # systemd knows a file system of fstab as a unit that is bound to the device.
    guest.run("umount /mnt && echo 'LABEL=DATA /mnt ext4 noatime,nofail 0 0' >>/etc/fstab && systemctl daemon-reload && mount /mnt", check=True)
    result, _said = bench(guest, options + "-n 1")
    assert {run["driver"] for run in result["runs"]} == {"uas", "usb-storage"}, result["runs"]
    as_before()
    assert len(guest.out("findmnt -no TARGET /mnt").split()) == 1
    job = guest.spawn("cd /mnt && exec sleep 100")
    guest.until(lambda: guest.run("pgrep -x sleep").rc == 0 or None, 30, "a process in the mount")
    _none, said = bench(guest, options + "-n 1", code=6)
    assert "Cannot unmount" in said, said
    as_before()
    guest.run("pkill -x sleep", check=True)
    job.wait(30)
    guest.run("umount /mnt", check=True)
    nothing_left(guest, disk, "uas")


@case(tier="full", limit=3000, sliced=False)
def against_itself(vm):
    "Forty comparisons of a disk with itself, each of two measurements of its own: no certain difference, but for two at most."
    guest, disk = begin(vm, size="48M", latency=HDD)
    results = [bench(guest, "-n 5 --runtime=1 --driver=uas --pattern=read_iops")[0]["id"] for _ in range(80)]
    seen = {}
    for before, after in zip(results[::2], results[1::2]):
        done = guest.run("uasctl bench --json --diff %s %s" % (before, after), check=True)
        [pair] = json.loads(done.out)["comparisons"]
        verdict = pair["comparison"]["verdict"]
        seen[verdict] = seen.get(verdict, 0) + 1
    print(seen, flush=True)
    assert sum(seen.values()) == 40 and seen.get("none", 0) >= 38, seen
    nothing_left(guest, disk, "uas")

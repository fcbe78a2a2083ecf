# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of `uasctl log` and `uasctl metrics` about a disk of the real kernel, and the entries in the journal."""

import json

from context import case
from evidence import only_disk


@case(tier="fast")
def log_and_metrics(vm):
    "A disk that has been switched: its history by name from the journal, in two languages; its counters; the timer writes for node_exporter."
    guest = vm.resume()
    disk = vm.disk()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    guest.run("uasctl switch sda usb-storage", check=True)

    one = json.loads(guest.out("uasctl list --json"))["disks"][0]
    entry = json.loads(guest.out("journalctl -b -o json -n 1 UASD_INTERFACE=" + disk.interface + " MESSAGE_ID="
                                 "b47b9c49de4a4effa326bd9e95b92095").splitlines()[-1])
    assert entry["UASD_USB_ID"] == f"{one['vendor_id']}:{one['product_id']}:{one['serial']}", entry

    # The catalog depends only on the name of the locale.
    guest.run("cp -r /usr/lib/locale/C.utf8 /usr/lib/locale/de_DE.utf8", check=True)
    for language, words in (("C", "USB disk %s runs on usb-storage"), ("de_DE.UTF-8", "USB-Platte %s läuft jetzt mit usb-storage")):
        said = guest.out("LC_ALL=%s journalctl -b -x --no-pager -n 1 MESSAGE_ID=b47b9c49de4a4effa326bd9e95b92095" % language)
        assert words % disk.interface in said, (language, said)
        assert "uasctl explain " + disk.interface in said, (language, said)

    log = json.loads(guest.out("uasctl log sda --json"))
    assert log["journal"] is True, log
    last = [event for event in log["events"] if event["source"] == "journal"][-1]
    assert (last["event"], last["interface"], last["to"]) == ("switched", disk.interface, "usb-storage"), last
    assert last["usb_id"] == entry["UASD_USB_ID"], last
    assert "switched" in guest.out("uasctl log sda").splitlines()[-1]
    assert guest.out("uasctl log sda --since=2100-01-01") == ""
    # An unprivileged user sees what is permitted, and a message about it.
    assert guest.run("setpriv --reuid=65534 --clear-groups uasctl log sda").rc == 0

    text = guest.out("uasctl metrics")
    assert text.rstrip().endswith("# EOF") and 'uasd_up 1\n' in text, text
    done = [line for line in text.splitlines() if line.startswith("uasd_scsi_completed_total{")]
    assert len(done) == 1 and int(done[0].split()[-1]) > 0, text

    guest.run("mkdir -p /var/lib/prometheus/node-exporter && systemctl start uasd-metrics.timer && systemctl start uasd-metrics.service",
              check=True)
    guest.wait_until("test -s /var/lib/prometheus/node-exporter/uasd.prom", 20)
    assert guest.run("systemctl is-enabled uasd-metrics.timer").out.strip() != "enabled"
    guest.run("systemctl stop uasd-metrics.timer", check=True)

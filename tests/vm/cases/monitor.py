# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of `uasctl monitor` during events of a disk."""

import json

from context import case
from evidence import only_disk


@case(tier="fast")
def tells_a_life(vm):
    "Plugged in, switched and back, pulled out: every state, in order."
    guest = vm.resume()
    guest.spawn("uasctl monitor --json >/run/monitor")
    guest.until(lambda: guest.run("busctl --no-pager list | grep -q uasctl").rc == 0, 20, "monitor is on the bus")
    disk = vm.disk()
    guest.plug(disk)
    guest.wait_disk(disk.interface, driver="uas")
    only_disk(guest, "settled")
    guest.run("uasctl switch sda usb-storage", check=True)
    disk.unplug()

    def events():
        return [json.loads(line) for line in guest.out("cat /run/monitor").splitlines()]
    guest.until(lambda: any(one["event"] == "removed" for one in events()), 20, "removed")
    told = events()
    assert told[0]["event"] == "added" and told[-1]["event"] == "removed", told
    states = []
    for one in told:
        if not states or states[-1] != one["disk"]["state"]:
            states.append(one["disk"]["state"])
    assert states[states.index("settled"):] in (["settled", "switching", "settled"],
                                                ["settled", "waiting", "switching", "settled"]), states
    drivers = [one["disk"]["driver"] for one in told]
    assert drivers.index("uas") < drivers.index("usb-storage"), drivers
    ended = [one["disk"]["outcome"]["code"] for one in told if "outcome" in one["changed"]]
    assert ended == [0], told

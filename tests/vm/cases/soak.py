# SPDX-License-Identifier: LGPL-2.1-or-later
"""A short soak with a fixed seed; tests/vm/soak runs long ones."""

import time

import soaking
from context import case


@case(tier="full", limit=900)
def short(vm):
    "Two minutes of random disks, users, kills, unplugs and power cuts: nothing lost, nobody pulled, no disk without a driver."
    total = soaking.soak(vm, 30, 7, time.monotonic() + 120)
    print(soaking.summary(total), flush=True)
    assert total.get("switches", 0) >= 3 and not soaking.harm(total), soaking.summary(total)

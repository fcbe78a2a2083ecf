# SPDX-License-Identifier: LGPL-2.1-or-later
"""A short soak with a fixed seed; tests/vm/soak runs long ones."""

import soaking
from context import case

BEFALLS = ("nothing", "dirtied", "mount", "open", "sg", "loop", "mapped", "swap", "kill_switch", "kill_daemon", "kill_both", "unplug")


@case(tier="default", limit=500, cpus=2)
def short(vm):
    "Users, kills and an unplug befall one switch after the other: nothing lost, nobody pulled, no disk without a driver."
    total = soaking.soak(vm, len(BEFALLS), 8, once=BEFALLS)
    print(soaking.summary(total), flush=True)
    assert total["switches"] >= len(BEFALLS) and not soaking.harm(total), soaking.summary(total)
    assert total["waits"] == 6 and total["unplugs"] == 1 and total["kills"] >= 2, soaking.summary(total)

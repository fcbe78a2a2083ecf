# SPDX-License-Identifier: LGPL-2.1-or-later
"""A slow machine: 32 ns an instruction, as an old NAS that boots. All work takes many times as long there, delay_use and a hold do not.

The times are those of the guest's clock. It counts instructions, so the load of the host does not affect it.
"""

from cases import plug_in
from context import case
from holds import boot, held_and_released, mounted_at_boot

HOLD_SEC = 20
# For what udev, fsck and mount do after a hold.
SLACK = 25
TIMEOUT = 900


@case(tier="full", image="vendor", slow=True, limit=1200)
def inside_delay_use(vm):
    "Twenty plug-ins from the first on, uas not loaded: no block device appears under usb-storage in the kernel's delay_use of 1 s."
    plug_in.twenty_times(vm, timeout=300)


@case(tier="full", image="vendor", slow=True, limit=1200)
def boot_goes_on(vm):
    "A boot with the disk in fstab: it is mounted and no unit fails, and if the disk is held, that ends at its time."
    disk = vm.disk(label="DATA")
    guest = boot(vm, disk, timeout=TIMEOUT)
    line = mounted_at_boot(guest, disk, guest.driver(disk.interface))
    if line.was_held:
        held_and_released(line, HOLD_SEC, SLACK)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boot order solved: what usb-storage took in the initramfs is mounted on uas."""

from context import case
from evidence import mounted_on_uas_alone

FSTAB = "LABEL=DATA /mnt/usb ext4 defaults 0 2"


@case(image="vendor")
def label(vm):
    "An fstab line by LABEL, without nofail."
    disk = vm.disk(label="DATA")
    guest = vm.boot(disks=[disk], fstab=[FSTAB], files={"/mnt/usb/.keep": ""})
    assert guest.state() == "running", guest.out("systemctl --failed")
    mounted_on_uas_alone(guest, disk, "/mnt/usb")

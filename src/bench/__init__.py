# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl bench: measures USB disks under usb-storage and uas."""

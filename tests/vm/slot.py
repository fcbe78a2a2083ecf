# SPDX-License-Identifier: LGPL-2.1-or-later
"""Room for one guest, shared by all runs on this host."""

import fcntl
import os
import time

import image as images


class Slot:
    """With more guests than processors all of them are slow, and exceed time limits."""

    def __init__(self, stopping=lambda: False):
        folder = os.path.join(images.cache_dir(), "locks")
        os.makedirs(folder, exist_ok=True)
        count = int(os.environ.get("UASD_VM_SLOTS") or os.cpu_count() or 2)
        while not stopping():
            for number in range(count):
                self.file = open(os.path.join(folder, "slot%d" % number), "w")
                try:
                    fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    self.file.close()
            time.sleep(0.5)

    def free(self):
        self.file.close()

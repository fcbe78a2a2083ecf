# SPDX-License-Identifier: LGPL-2.1-or-later
"""What has passed on this machine. With the same content it passes again, so it need not run.

A file $UASD_VM_CACHE/passed/NAME/KEY stands for each; KEY: a digest of all that the result depends on.
"""

import contextlib
import functools
import os
import time

import image

KEPT = 60 * 86400  # seconds after the last question about it


def path(name, key):
    return os.path.join(image.cache_dir(), "passed", name, key)


def before(name, key):
    try:
        os.utime(path(name, key))
        return True
    except OSError:
        return False


@functools.cache
def folder_of(name):
    """The folder of NAME, made and rid of what is too old. A process looks through it once: it has thousands of files."""
    folder = os.path.dirname(path(name, "-"))
    os.makedirs(folder, exist_ok=True)
    for one in os.scandir(folder):
        # Another run may be removing the same one.
        with contextlib.suppress(FileNotFoundError):
            if time.time() - one.stat().st_mtime > KEPT:
                os.unlink(one.path)
    return folder


def now(name, key):
    """Remember it. Where the cache cannot be written, it only runs again."""
    with contextlib.suppress(OSError):
        with open(os.path.join(folder_of(name), key), "w"):
            pass

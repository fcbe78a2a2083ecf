# SPDX-License-Identifier: LGPL-2.1-or-later
"""The system calls at which a kill differs: those that do something beyond the process itself. Used on both sides."""

DOES = ("write", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdirat", "sendmsg", "fsync", "ioctl",
        "finit_module", "clone", "clone3", "kill", "wait4", "poll", "ppoll", "openat2")

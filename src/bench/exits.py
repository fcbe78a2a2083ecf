# SPDX-License-Identifier: LGPL-2.1-or-later
"""The exit statuses (uasctl(1), EXIT STATUS), and the end of the program for a reported reason."""

from enum import IntEnum
from typing import NoReturn

from bench import log


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NO_DISK = 4
    INCAPABLE = 5
    REFUSED = 6
    ROLLED_BACK = 7
    UNAUTHORIZED = 8
    TOOL_MISSING = 77


class Ended(Exception):
    """The reason is reported already."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def fail(status: int, text: str, *values: object) -> NoReturn:
    raise Ended(log.failure(status, text, *values))

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that run as root start no shell and search no PATH: the given programs import no function that does."""

import re
import subprocess
import sys

WRONG = re.compile(r"\b(system|popen|wordexp|exec[lv]p|execlpe|execvpe|posix_spawnp)(?=@|$)", re.M)


def main():
    for program in sys.argv[1:]:
        symbols = subprocess.run(["nm", "-D", "--undefined-only", program], check=True, capture_output=True,
                                 text=True).stdout
        assert "read" in symbols, "no symbols of %s" % program
        found = WRONG.findall(symbols)
        assert not found, "%s calls %s" % (program, found)


main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Results as JSON, a line each: with every member, and with as few as possible."""

import samples

from bench import diff, document
from bench.model import Bench, Driver, Finding


def little(finding):
    """Every member that may be null is null."""
    b = Bench(id='0f3c2a4e-6b1d-4c77-9a55-1d2e3f405163', finding=finding)
    p = samples.pattern(b, 'p', 'read', 4096, 1)
    samples.run(b, p, Driver.NONE, 1000).read.clat_mean_ns = -1.0
    b.patterns[p].engine = ''
    return b


full, plain = samples.full(), samples.comparison()
full.runs[1].error = -5  # a run that raises a doubt
for b in full, plain, little(Finding(Driver.USB_STORAGE)), little(None):
    print(document.text(document.document(b), False))
print(document.text(diff.document(full, plain), False))

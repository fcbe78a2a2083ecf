#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints a result, for the tests of the output.

    bench-told SAMPLE table|json|csv|markdown|markdown-full
    bench-told SAMPLE chart FILE
    bench-told SAMPLE keep ROOT [ID [STARTED]]
    bench-told history ROOT [DISK]
    bench-told diff ROOT A B

$NO_LEGEND and $JSON are the options of that name; $TOUCHED is the file that the sample "hostile"
would touch.
"""

import os
import sys

from samples import SAMPLES

from bench import chart, export, kept, log, terminal
from bench.main import main

LEGEND = not os.environ.get('NO_LEGEND')
FORMATS = ('table', 'json', 'csv', 'markdown', 'markdown-full')


def stored(verb, root, *words):
    """$UASCTL_IN_TREE finds a disk of the machine in that folder."""
    flags = ['--no-pager', *['--no-legend'] * (not LEGEND), *['--json'] * bool(os.environ.get('JSON'))]
    sys.exit(main([verb, *flags, '--', *words], 'test', root, (os.environ.get('UASCTL_IN_TREE', 'uasctl'), root)))


def keep(b, root, name=None, started=None):
    if name:
        b.id = name
    if started:
        b.started_usec = int(started) * 1000000
    try:
        kept.keep(root, b)
    except OSError:
        sys.exit(1)


def tell(sample, how, *rest):
    b = SAMPLES[sample]()
    if how == 'keep':
        keep(b, *rest)
    elif how == 'chart':
        chart.check(*rest)
        chart.draw(b, *rest)
    else:
        export.tell(b, list(export.Format)[FORMATS.index(how)], LEGEND)


if sys.argv[1] in ('history', 'diff'):
    stored('list' if sys.argv[1] == 'history' else 'diff', *sys.argv[2:])
terminal.setup()
log.setup('bench-told')
try:
    tell(*sys.argv[1:])
except log.Failure as failure:
    log.error('%s', failure)
    sys.stdout.flush()
    sys.exit(failure.status)
terminal.close()

#!/usr/bin/python3 -B
# SPDX-License-Identifier: LGPL-2.1-or-later
"""uasctl-bench for the machine in a folder: the first argument. $UASCTL_IN_TREE is its uasctl."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src'))
from bench.main import main  # noqa: E402

root = sys.argv[1]
sys.exit(main(sys.argv[2:], '0.1.0', root, (os.environ['UASCTL_IN_TREE'], root)))

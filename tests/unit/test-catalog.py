#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every message id has a catalog entry, every entry an id, and every id is sent by somebody."""

import os
import re
import sys

top = sys.argv[1]
names = dict(re.findall(r'#define (MESSAGE_\w+) "([0-9a-f]{32})"', open(top + "/src/common/names.h").read()))
catalog = open(top + "/src/daemon/uasd.catalog").read()
entries = re.findall(r"^-- ([0-9a-f]{32})$", catalog, re.M)
fields = set(re.findall(r'#define FIELD_\w+ "(\w+)"', open(top + "/src/common/names.h").read()))
code = "".join(open(os.path.join(folder, name)).read() for folder, _dirs, files in os.walk(top + "/src")
               for name in files if name.endswith(".c"))

wrong = ["no catalog entry: " + name for name, one in names.items() if one not in entries]
wrong += ["no such message id: " + one for one in entries if one not in names.values()]
wrong += ["twice in the catalog: " + one for one in set(entries) if entries.count(one) > 1]
wrong += ["never sent: " + name for name in names if not re.search(r"\b%s\b" % name, code)]
log = open(top + "/src/ctl/events.c").read()
wrong += ["uasctl log does not know it: " + name for name in names if not re.search(r"\b%s\b" % name, log)]
wrong += ["no such field: " + one for one in set(re.findall(r"@(\w+)@", catalog)) if one not in fields]
wrong += ["no subject: " + one for one in entries if not re.search(r"^-- %s\nSubject: \S" % one, catalog, re.M)]
assert names, "no message ids found"
for line in wrong:
    print(line)
sys.exit(bool(wrong))

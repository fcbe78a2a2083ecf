#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every message id has an entry in the catalog of every language, every entry has an id, and a program sends every id. The entries
of an id have the same fields, headers and commands in every language. If journalctl is installed, it accepts them.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

top = sys.argv[1]


def read(path):
    with open(os.path.join(top, path)) as f:
        return f.read()


def what_agrees(text):
    """The parts of an entry that a translator must not change."""
    return {
        "fields": sorted(re.findall(r"@(\w+)@", text)),
        "headers": re.findall(r"(?m)^((?!Subject)[A-Z][\w-]+: .*)$", text.split("\n\n")[0]),
        "subject's fields": re.findall(r"@(\w+)@", text.split("\n")[0]),
        "commands": sorted(re.findall(r"uasctl [a-z]+(?: @\w+@)*", " ".join(text.split()))),
        "settings": sorted(re.findall(r"\w+=", text)),
        "paragraphs": text.strip().count("\n\n"),
    }


names = dict(re.findall(r'#define (MESSAGE_\w+) "([0-9a-f]{32})"', read("src/common/names.h")))
fields = set(re.findall(r'#define FIELD_\w+ "(\w+)"', read("src/common/names.h")))
code = "".join(read(os.path.join(folder, name)) for folder, _dirs, files in os.walk(os.path.join(top, "src"))
               for name in files if name.endswith(".c"))
log = read("src/ctl/events.c")
[manual] = re.findall(r"(?s)## ENDING\n.*?\*event\* \(string\)\n(.*?); of a record", read("man/uasctl-json.7.scd"))
catalogs = sorted(glob.glob(os.path.join(top, "src/daemon/*.catalog")))
original = None

assert names, "no message ids found"
assert len(catalogs) >= 2 and catalogs[0].endswith("/uasd.catalog"), catalogs
wrong = ["never sent: " + name for name in names if not re.search(r"\b%s\b" % name, code)]
wrong += ["uasctl log does not know it: " + name for name in names if not re.search(r"\b%s\b" % name, log)]
wrong += ["uasctl-json(7) does not know it: " + name for name in names
          if name[8:].lower().replace("_", "-") not in re.findall(r"[\w-]+", manual)]
for path in catalogs:
    name = os.path.basename(path)
    entries = re.findall(r"(?ms)^-- ([0-9a-f]{32})\n(.*?)(?=^-- |\Z)", read(path))
    ids = [one for one, _ in entries]
    wrong += [f"{name}: no entry: {message}" for message, one in names.items() if one not in ids]
    wrong += [f"{name}: no such message id: {one}" for one in ids if one not in names.values()]
    wrong += [f"{name}: twice: {one}" for one in set(ids) if ids.count(one) > 1]
    wrong += [f"{name}: no subject: {one}" for one, text in entries if not re.match(r"Subject: \S", text)]
    wrong += [f"{name}: no such field: {field}" for _, text in entries for field in re.findall(r"@(\w+)@", text) if field not in fields]
    wrong += [f"{name}: not installed" for _ in [0] if name not in read("systemd/meson.build")]
    original = original or dict(entries)
    for one, text in entries:
        for what, value in what_agrees(text).items():
            if one in original and value != what_agrees(original[one])[what]:
                wrong.append(f"{name}: {one}: other {what} than in {os.path.basename(catalogs[0])}: {value}")
        # journalctl shows it as it is, in a terminal of 80 columns. The fields of the subject become short.
        # A command ends its line, so it can be pasted.
        for line in text.split("\n")[0].replace("@UASD_INTERFACE@", "2-1.4:1.0"), *text.split("\n")[1:]:
            if len(line) > 78:
                wrong.append(f"{name}: {len(line)} columns: {line}")
            if "uasctl " in line and not re.search(r"uasctl [a-z]+( --[a-z]+)*( @\w+@)+( [a-z]+)?$", line):
                wrong.append(f"{name}: a command is not whole at the end of its line: {line}")
        if path != catalogs[0] and text == original.get(one):
            wrong.append(f"{name}: {one}: not translated")

if shutil.which("journalctl"):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(root + "/usr/lib/systemd/catalog")
        for path in catalogs:
            shutil.copy(path, root + "/usr/lib/systemd/catalog")
        run = subprocess.run(["journalctl", "--update-catalog", "--root", root], capture_output=True, text=True)
        wrong += ["journalctl: " + line for line in run.stderr.splitlines()]
        with open(root + "/var/lib/systemd/catalog/database", "rb") as f:
            database = f.read()
        for path in catalogs:
            for subject in re.findall(r"(?m)^Subject: .*$", read(path)):
                if subject.encode() not in database:
                    wrong.append(f"journalctl did not take from {os.path.basename(path)}: {subject}")

for line in wrong:
    print(line)
sys.exit(bool(wrong))

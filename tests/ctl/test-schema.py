#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The JSON in a manual and in the output are the same: every member, no other one, and its type.

    test-schema.py PROGRAM [MANUAL]
"""

import json
import os
import re
import subprocess
import sys

MAN = sys.argv[2] if len(sys.argv) > 2 else 'uasctl-json.7.scd'
with open(os.path.join(os.path.dirname(__file__), '../../man', MAN)) as f:
    MANUAL = f.read().split('\n# JSON\n')[1].split('\n# ')[0]
WORDS = {'string': str, 'number': int, 'real': float, 'boolean': bool}
problems = []


def read_schema():
    """{section: {member: (type, may be null, may be missing)}}"""
    schema = {}
    for section in re.split(r'(?m)^## ', MANUAL)[1:]:
        name, text = section.split('\n', 1)
        entries = re.findall(r'(?m)^\*(\w+)\* \((.*)\)\n\t\S', text)
        if len(entries) != len(re.findall(r'(?m)^\*', text)) or len(dict(entries)) != len(entries):
            problems.append(f'{name}: there is an entry that cannot be read')
        schema[name] = {}
        for member, said in entries:
            said, missing = re.subn(r', may be missing$', '', said)
            said, null = re.subn(r' or null$', '', said)
            schema[name][member] = (said, bool(null), bool(missing))
    return schema


SCHEMA = read_schema()
seen = set()


def check(where, value, said):
    if said.startswith('list of '):
        if type(value) is not list:
            return problems.append(f'{where}: no list')
        for one in value:
            check(where, one, said.removeprefix('list of '))
    elif said in WORDS:
        if type(value) is not WORDS[said]:
            problems.append(f'{where}: {value!r} is no {said}')
    elif said not in SCHEMA:
        problems.append(f'{where}: the manual does not say what a {said!r} is')
    else:
        for member in value.keys() - SCHEMA[said].keys():
            problems.append(f'{said}: {member} is not in the manual')
        for member, (kind, null, missing) in SCHEMA[said].items():
            how = 'missing' if member not in value else 'null' if value[member] is None else 'there'
            seen.add((said, member, how))
            if how == 'there':
                check(f'{said}.{member}', value[member], kind)
            elif not (missing if how == 'missing' else null):
                problems.append(f'{said}: {member} is {how}')


lines = [json.loads(line) for line in subprocess.run(sys.argv[1], capture_output=True, check=True).stdout.splitlines()]
for line in lines:
    check('', line, 'EVENT' if 'event' in line else 'LOG OUTPUT' if 'events' in line else 'LEASE' if 'lost' in line else 'KERNEL OUTPUT' if 'kernel' in line else
          'INHIBITORS OUTPUT' if 'inhibitors' in line else 'POLICIES OUTPUT' if 'policies' in line else 'BRIDGES OUTPUT' if 'bridges' in line else 'DIFF OUTPUT' if 'comparisons' in line else 'OUTPUT')
for section, members in SCHEMA.items():
    for member, (_, null, missing) in members.items():
        for how, promised in ('there', True), ('null', null), ('missing', missing):
            if promised and (section, member, how) not in seen:
                problems.append(f'{section}: {member} is never {how}')
if [str(line['version']) for line in lines] != re.findall(r'It is (\d+)\.', MANUAL) * len(lines):
    problems.append('another version than the manual says')
sys.exit('\n'.join(problems) if problems else 0)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes a translation for the page: its own texts, and the sentences that uasd sends in parts.

    catalogue.py PO LANGUAGE OUTPUT MANIFEST

OUTPUT is po.LANGUAGE.js, which cockpit loads for po.js. MANIFEST has only the texts of manifest.json: newer cockpits read these there.
"""

import glob
import json
import os
import re
import sys

# What a sentence on the bus can be made of. uasctl's own screens are not shown here.
SOURCES = re.compile(r'(?m)^#: .*\bsrc/(?:common|core|daemon|hold|switch|sys)/')
HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = re.compile(r'(?m)^(msgid|msgstr) ((?:".*"\n?)+)')


def read(path):
    """[(entry with its comments, msgid, msgstr)]"""
    with open(path, encoding='utf-8') as file:
        entries = file.read().split('\n\n')
    for entry in entries:
        texts = {key: ''.join(json.loads(line) for line in lines.splitlines()) for key, lines in TEXT.findall(entry)}
        if texts.get('msgid') and texts.get('msgstr'):
            yield entry, texts['msgid'], texts['msgstr']


def texts_of_page():
    """po/ names the first file that has a text, which may be one of uasctl."""
    found = set()
    for path in glob.glob(os.path.join(HERE, '*.js')):
        with open(path, encoding='utf-8') as file:
            found.update(json.loads(text) for text in re.findall(r'\b_\(("(?:[^"\\]|\\.)*")\)', file.read()))
    return found


def write(path, language, messages):
    head = {'': {'language': language, 'language-direction': 'ltr'}}
    with open(path, 'w', encoding='utf-8') as file:
        file.write('/* SPDX-License-Identifier: LGPL-2.1-or-later */\ncockpit.locale(%s);\n' %
                   json.dumps(head | {source: [None, text] for source, text in messages}, ensure_ascii=False, indent=0))


def main(po, language, output, manifest):
    own = texts_of_page()
    messages = [(source, text) for entry, source, text in read(po) if source in own or SOURCES.search(entry)]
    write(output, language, messages)
    with open(os.path.join(HERE, 'manifest.json'), encoding='utf-8') as file:
        labels = {one['label'] for one in json.load(file)['tools'].values()}
    write(manifest, language, [one for one in messages if one[0] in labels])


if __name__ == '__main__':
    main(*sys.argv[1:])

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sentences in parts, as src/common/sentence.c writes them."""

import re

INNERMOST = re.compile('␂([^␂␟␃]*)((?:␟[^␂␟␃]*)*)␃')


def filled(text):
    """The sentence in English: the format with its values."""
    while m := INNERMOST.search(text):
        values = iter(m[2].split('␟')[1:])
        text = text[:m.start()] + re.sub(r'%(%|[\d.*lzh-]*[a-z])', lambda one: '%' if one[1] == '%' else next(values), m[1]) + text[m.end():]
    return text


def all_filled(document):
    """The same for each text in a JSON document."""
    if isinstance(document, dict):
        return {key: all_filled(value) for key, value in document.items()}
    if isinstance(document, list):
        return [all_filled(value) for value in document]
    return filled(document) if isinstance(document, str) else document

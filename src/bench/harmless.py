# SPDX-License-Identifier: LGPL-2.1-or-later
"""Text of devices, files and users for a terminal: without control characters, and folded."""

import re
import unicodedata

# C1 controls and soft hyphen; bidi and zero-width marks; line separators; BOM; interlinear; tags;
# noncharacters, which D-Bus refuses; and bytes that are no UTF-8.
_HIDDEN = re.compile(
    '[\x00-\x1f\\\\\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb'
    '\U000e0000-\U000e0fff\ud800-\udfff\ufdd0-\ufdef'
    + ''.join(f'{chr(plane << 16 | 0xfffe)}{chr(plane << 16 | 0xffff)}' for plane in range(17))
    + ']')


def harmless(text: str) -> str:
    """Other characters become "\\x1b", a byte each, and so does the backslash."""
    def escape(match: re.Match[str]) -> str:
        raw = match[0].encode('utf-8', 'surrogateescape')
        return ''.join(f'\\x{byte:02x}' for byte in raw)
    return _HIDDEN.sub(escape, text)


def sentence(text: str) -> str:
    """The same for our own text with names in it: a backslash stays."""
    return harmless(text).replace('\\x5c', '\\')


# ---- widths, in cells of a terminal ----


def cells(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.category(c) in ('Mn', 'Me', 'Cf')
               else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)


def shorten(text: str, width: int, mark: str) -> str:
    """Cuts it to a width, and marks the cut."""
    used, cut = 0, 0
    for i, c in enumerate(text):
        used += cells(c)
        if used < width:
            cut = i + 1
        elif used > width:
            return text[:cut] + mark
    return text


_WORDS = re.compile('( *)([^ ]+)')
_PARTS = re.compile('( *)([^ -]*-|[^ ]+)')  # words also end at dashes, like "SEQ1M-Q8T1-read"


def longest(text: str, dashes: bool = False) -> int:
    """The widest word."""
    pieces = (_PARTS if dashes else _WORDS).finditer(text)
    return max((cells(m[2]) for m in pieces), default=0)


def fold(text: str, width: int, indent: int = 0, mark: str = '') -> str:
    """In lines of at most that width, all but the first after blanks that do not count.

    A wider word is whole: the terminal breaks it. With a mark, if a word is wider, all are broken
    after their dashes; a part that is still wider is cut and marked. width 0: unchanged.
    """
    if width == 0:
        return text
    folded, used = '', 0
    pattern = _PARTS if mark and longest(text) > width else _WORDS
    for blanks, piece in pattern.findall(text):
        if folded and used + len(blanks) + cells(piece) > width:
            folded += '\n' + ' ' * indent
            used = 0
        elif folded:  # two blanks in a row may be part of a name that is copied from the line
            folded += blanks
            used += len(blanks)
        part = shorten(piece, width, mark) if mark else piece
        folded += part
        used += cells(part)
    return folded

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of the page: PNG files, read with the standard library and compared with a tolerance."""

import os
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from patience import until  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/page')
COLOUR, PALETTE, ALPHA = 2, 3, 6  # kinds of PNG
FAR = 64  # difference of a channel that a person sees
TOLERATED = 0.01  # share of pixels that may be far: another version of Chromium draws letters otherwise


def unfilter(kind, line, above, step):
    """A line of a PNG, by its filter."""
    for i in range(len(line)):
        a = line[i - step] if i >= step else 0
        b = above[i]
        if kind == 1:
            line[i] = line[i] + a & 255
        elif kind == 2:
            line[i] = line[i] + b & 255
        elif kind == 3:
            line[i] = line[i] + (a + b) // 2 & 255
        elif kind == 4:
            c = above[i - step] if i >= step else 0
            p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
            line[i] = line[i] + (a if p <= q and p <= r else b if q <= r else c) & 255
    return line


def read(path):
    """(width, height, RGB of all pixels)"""
    with open(path, 'rb') as file:
        data = file.read()
    at, chunks = 8, {}
    while at < len(data):
        size, name = struct.unpack_from('>I4s', data, at)
        chunks[name] = chunks.get(name, b'') + data[at + 8:at + 8 + size]
        at += 12 + size
    width, height, depth, kind = struct.unpack_from('>IIBB', chunks[b'IHDR'])
    assert kind in (COLOUR, PALETTE, ALPHA) and (depth == 8 or kind == PALETTE), (kind, depth)
    step = {COLOUR: 3, PALETTE: 1, ALPHA: 4}[kind]
    long = (width * step * depth + 7) // 8
    packed, above, pixels = zlib.decompress(chunks[b'IDAT']), bytearray(long), bytearray()
    for y in range(height):
        begin = y * (long + 1)
        above = unfilter(packed[begin], bytearray(packed[begin + 1:begin + 1 + long]), above, step)
        if kind == PALETTE:
            per, mask = 8 // depth, (1 << depth) - 1
            for x in range(width):
                index = above[x // per] >> (per - 1 - x % per) * depth & mask
                pixels += chunks[b'PLTE'][3 * index:3 * index + 3]
        elif kind == ALPHA:
            for x in range(width):
                pixels += above[4 * x:4 * x + 3]
        else:
            pixels += above
    return width, height, bytes(pixels)


def difference(a, b):
    """The share of pixels that differ. 1: another size."""
    if a[:2] != b[:2]:
        return 1
    far = sum(1 for i in range(0, len(a[2]), 3) if a[2][i:i + 3] != b[2][i:i + 3] and max(abs(x - y) for x, y in zip(a[2][i:i + 3], b[2][i:i + 3])) > FAR)
    return far / (a[0] * a[1])


def keep(path, name):
    """Takes a picture as the one to compare with, with few colours."""
    if not shutil.which('pngquant'):
        sys.exit('pngquant is missing')
    os.makedirs(FOLDER, exist_ok=True)
    subprocess.run(['pngquant', '--force', '--speed', '1', '--nofs', '--strip', '--output', os.path.join(FOLDER, name + '.png'), '64', path], check=True)


def check(tab, folder, name, width=1000, height=700):
    """Compares what a tab shows with docs/page/NAME.png. The pictures are in FOLDER first."""
    tab.size(width, height)
    tab.run('document.activeElement.blur(), document.querySelectorAll("#news > *").forEach(one => one.remove()), document.fonts.ready.then(() => 1)')
    path = os.path.join(folder, name + '.png')
    if os.environ.get('UASD_PICTURES') == 'keep':
        tab.until('!document.querySelector("[aria-busy]")', 'uasctl has answered')
        tab.picture(path)
        keep(path, name)

    def same():  # sentences follow a moment after the state
        tab.picture(path)
        return difference(read(path), read(os.path.join(FOLDER, name + '.png'))) <= TOLERATED
    try:
        until(same, 'the picture is the same', 10)
    except AssertionError:
        shutil.copy(path, f'/tmp/{name}.png')
        raise AssertionError(f'{name}: the picture is another one, see /tmp/{name}.png') from None

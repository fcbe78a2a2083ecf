# SPDX-License-Identifier: LGPL-2.1-or-later
"""Charts, drawn by gnuplot without a shell.

A comparison has bars with ranges, a sweep has lines over its axis. Names in the script are
stripped of all characters that could make them a command.
"""

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress

from bench import log, printing, stats, verdict
from bench.exits import Exit
from bench.harmless import harmless
from bench.model import Axis, Bench, Driver, os_error
from bench.units import Measure

PROGRAM = 'gnuplot'
WIDTH, HEIGHT = 720, 420  # of a panel
SERIES_MAX = 16  # lines of a chart that remain distinguishable
COLOURS = {Driver.NONE: '#7570b3', Driver.USB_STORAGE: '#d95f02', Driver.UAS: '#1b9e77',
           Driver.OTHER: '#66a61e'}
AXES = {Axis.NONE: '', Axis.DEPTH: 'queue depth', Axis.JOBS: 'jobs', Axis.REGION: 'region in GiB',
        Axis.RUNTIME: 'measured seconds', Axis.RAMP: 'seconds before', Axis.CLIENTS: 'machines'}

Series = tuple[int, Driver]  # a line of a sweep, by its first pattern, or the bars of one driver


# ---- the script ----


def _word(text: str) -> str:
    """Keeps characters without a meaning in a quoted string, in a line of data, and for gnuplot's
    terminal."""
    return ''.join(c if not c.isascii() or c.isalnum() or c in ' -_.,:()=+/%' else '.'
                   for c in harmless(text))


def _is_shown(b: Bench, pattern: int, driver: Driver, m: Measure) -> bool:
    """Whether there is a figure. A point without a place on the axis is not shown."""
    p = b.patterns[pattern]
    return (stats.figure(p) is m and (b.axis in (Axis.NONE, Axis.RAMP) or p.axis > 0)
            and stats.of(b, pattern, driver, m).n > 0)


def _base(b: Bench, pattern: int) -> str:
    """Two points of a sweep belong together if their names differ only in the last word."""
    return b.patterns[pattern].name.rpartition(' ')[0] or b.patterns[pattern].name


def _same_series(b: Bench, one: int, other: int) -> bool:
    return b.axis is Axis.NONE or _base(b, one) == _base(b, other)


def _find_series(b: Bench, m: Measure) -> list[Series]:
    found: list[Series] = []
    for i in range(len(b.patterns)):
        for driver in Driver:
            if _is_shown(b, i, driver, m) and not any(
                    d is driver and _same_series(b, first, i) for first, d in found):
                found.append((i, driver))
    return found[:SERIES_MAX]


def _row(b: Bench, pattern: int, driver: Driver, m: Measure) -> str:
    """The name or place of a pattern, and its figure with the range of the rounds."""
    p, s = b.patterns[pattern], stats.of(b, pattern, driver, m)
    unit = 1e6 if m is Measure.BYTES else 1.0
    if b.axis is Axis.NONE:
        place = f'"{_word(p.name or verdict.pattern_text(b, pattern))}"'
    else:
        place = f'{p.axis / (1 << 30 if b.axis is Axis.REGION else 1):.6g}'
    figures = [s.median, s.min, s.max]
    return ' '.join([place, *(f'{x / unit:.6g}' if s.n else '?' for x in figures)])


def _data(b: Bench, m: Measure, series: Series) -> list[str]:
    """Bars have a row for every pattern."""
    first, driver = series
    return [_row(b, i, driver, m) for i, p in enumerate(b.patterns)
            if (stats.figure(p) is m if b.axis is Axis.NONE
                else _is_shown(b, i, driver, m) and _same_series(b, i, first))]


def _plot(b: Bench, number: int, series: Series) -> str:
    first, driver = series
    if b.axis is Axis.NONE:
        style, name = '2:3:4:xtic(1)', ''
    else:
        style = f'1:2:3:4 with yerrorlines lw 2 pt 7 ps 0.6 dt {number // 2 + 1}'
        name = f'{_base(b, first)} '
    return (f" $data{number} using {style} lc rgb '{COLOURS[driver]}' "
            f"title '{_word(name)}{printing.driver_label(driver)}'")


def _panel(b: Bench, m: Measure, found: list[Series]) -> Iterator[str]:
    """Bars side by side, or lines over the axis."""
    rows = 0
    for i, series in enumerate(found):
        data = _data(b, m, series)
        rows = len(data)
        yield from (f'$data{i} << END', *data, 'END')
    yield f"set ylabel '{'IOPS' if m is Measure.IOPS else 'MB/s'}'"
    yield 'set yrange [0:*]'
    if b.axis is Axis.NONE:
        yield from ('set style data histogram', 'set style histogram errorbars gap 1 lw 1',
                    'set style fill solid 0.8 border -1',
                    f'set xtics rotate by {-30 if rows > 4 else 0}', 'unset logscale',
                    f'set xrange [-0.7:{rows} - 0.3]')
    else:
        linear = b.axis in (Axis.REGION, Axis.RAMP)
        yield from (f"set xlabel '{AXES[b.axis]}'", 'set xtics autofreq norotate',
                    'unset logscale' if linear else 'set logscale x 2', 'set xrange [*:*]',
                    'set offsets graph 0.03, graph 0.03, 0, 0')
    yield 'plot' + ','.join(_plot(b, i, series) for i, series in enumerate(found))


def script(b: Bench, svg: bool) -> str:
    """For gnuplot. It draws to standard output. "": there is nothing to draw."""
    panels = {m: found for m in (Measure.IOPS, Measure.BYTES) if (found := _find_series(b, m))}
    if not panels:
        return ''
    title = _word(b.conditions.model or 'uasctl bench')
    if b.profile:
        title += f', {_word(b.profile)}'
    background = " background '#ffffff'" if svg else ''
    lines = [f'set terminal {"svg" if svg else "png"} size {WIDTH * len(panels)},{HEIGHT} '
             f'noenhanced{background}',
             'set encoding utf8', "set datafile missing '?'", 'set grid ytics', 'set key below',
             f"set multiplot layout 1,{len(panels)} title '{title}'"]
    for m, found in panels.items():
        lines += _panel(b, m, found)
    return '\n'.join([*lines, 'unset multiplot', ''])


# ---- the program: these raise log.Failure ----


def _not_written(path: str, error: OSError) -> log.Failure:
    return log.Failure(Exit.FAILED, 'Cannot write the chart %s: %s', path, error.strerror)


def _temporary(path: str) -> tuple[str, int]:
    """Beside it: a chart appears as a whole or not at all, even if the name exists."""
    name = f'{path}.{os.getpid()}'
    try:
        with suppress(FileNotFoundError):  # left by a killed process with the same number
            os.unlink(name)
        return name, os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise _not_written(path, error) from None


def check(path: str) -> None:
    """Before hours of measuring: the name, gnuplot, and the directory."""
    if len(path) <= 4 or not path.lower().endswith(('.svg', '.png')):
        raise log.Failure(Exit.USAGE, "'%s': the name of a chart must end with .svg or .png.", path)
    try:
        subprocess.run([PROGRAM, '--version'], stdin=subprocess.DEVNULL, check=False, cwd='/',
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        raise log.Failure(
            Exit.TOOL_MISSING, 'gnuplot is not installed. Install it for charts (Debian: '
            'gnuplot-nox), or use --csv.') from None
    if os.path.isdir(path):
        raise _not_written(path, os_error(errno.EISDIR))
    temporary, fd = _temporary(path)
    os.close(fd)
    os.unlink(temporary)


def draw(b: Bench, path: str) -> None:
    """The name of the file, which is checked already, selects the format."""
    text = script(b, path.lower().endswith('.svg'))
    if not text:
        raise log.Failure(Exit.FAILED, 'There is nothing to draw: no round is complete.')
    name, fd = _temporary(path)
    with open(fd, 'rb') as picture, tempfile.TemporaryFile() as source:
        source.write(text.encode('utf-8', 'surrogateescape'))
        source.seek(0)
        try:
            # Without start-up files.
            done = subprocess.run([PROGRAM, '--default-settings', '-'], stdin=source, cwd='/',
                                  stdout=picture, stderr=subprocess.PIPE, check=False)
            if done.returncode == 0 and os.fstat(fd).st_size > 0:
                os.rename(name, path)
                return
        except OSError as error:
            os.unlink(name)
            raise _not_written(path, error) from None
    os.unlink(name)
    # gnuplot also prints warnings about fonts, so its words are shown only if it fails.
    words = done.stderr.decode('utf-8', 'surrogateescape').strip().split('\n')[0][:255]
    raise log.Failure(Exit.FAILED, 'gnuplot could not draw the chart%s',
                      f': {harmless(words)}' if words else '.')

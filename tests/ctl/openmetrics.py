# SPDX-License-Identifier: LGPL-2.1-or-later
"""A strict parser of metrics: the requirements of both OpenMetrics 1.0 and the Prometheus format 0.0.4 for the kinds that uasctl
writes."""

import re

NAME = r'[a-zA-Z_][a-zA-Z0-9_]*'
VALUE = r'"((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf'({NAME})(?:\{{({NAME}={VALUE}(?:,{NAME}={VALUE})*)\}})? (\d+)')
# Suffixes of the samples of typed families. A family with such a name could be mistaken for a sample of another one.
SUFFIXES = ('_created', '_bucket', '_count', '_sum', '_gcount', '_gsum')


class Broken(Exception):
    pass


def demand(holds, line, what):
    if not holds:
        raise Broken(f'{what}: {line!r}')


def parse(data, prometheus=False):
    """bytes -> {(name, ((label, value), ...)): value}, or Broken. prometheus: counters are typed, under their full name."""
    text = data.decode('utf-8')
    demand(text.endswith('\n# EOF\n') and text.count('\n# EOF') == 1, text[-20:], 'ends with one # EOF')
    samples, families, family, described = {}, set(), None, None
    for line in text[:-len('# EOF\n')].splitlines():
        demand('\r' not in line and line == line.strip() and line, line, 'neither empty nor padded')
        if line.startswith('#'):
            m = re.fullmatch(rf'# (HELP|TYPE) ({NAME}) (\S.*)', line)
            demand(m, line, 'a HELP or TYPE line')
            kind, name, rest = m.groups()
            demand(name.startswith('uasd_') and not name.endswith(SUFFIXES), line, 'a name of ours')
            if kind == 'HELP':
                demand(name not in families, line, 'a family once')
                demand(family is None or any(s[0] == family for s in samples), line, 'no family without samples')
                demand(re.fullmatch(r'[^\\"]+\.', rest), line, 'a sentence')
                families.add(name)
                family, described = name, None
            else:
                demand(name == family and not described, line, 'one TYPE, after its HELP')
                described = rest
                demand(rest in ('gauge', 'counter'), line, 'a type that both know')
                demand((rest == 'counter') == name.endswith('_total'), line, 'counters alone end in _total')
                demand(prometheus or rest != 'counter', line, 'a TYPE of counters which OpenMetrics reads otherwise')
            continue
        m = SAMPLE.fullmatch(line)
        demand(m, line, 'a sample')
        demand(m[1] == family, line, 'samples of a family stand together')
        demand(described or (family.endswith('_total') and not prometheus), line, 'gauges have a TYPE')
        labels = tuple((name, re.sub(r'\\(.)', lambda e: '\n' if e[1] == 'n' else e[1], value))
                       for name, value in re.findall(rf'({NAME})={VALUE}', m[2] or ''))
        demand(len({name for name, _ in labels}) == len(labels), line, 'a label once')
        demand((m[1], labels) not in samples, line, 'a sample once')
        demand(all(s[0] != m[1] or [n for n, _ in s[1]] == [n for n, _ in labels] for s in samples), line,
               'the same labels in a family')
        samples[m[1], labels] = int(m[m.lastindex])
    demand(samples, text, 'any sample')
    return samples

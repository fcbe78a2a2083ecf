# SPDX-License-Identifier: LGPL-2.1-or-later
"""Results as JSON: the schema of uasd-bench(7). Writing and reading a result preserves it."""

import json
import math
from typing import Any

from bench import doubts, model, stats, verdict
from bench.model import Bench, Driver
from bench.units import Measure

Members = dict[str, Any]


def doubts_json(b: Bench, pattern: int, driver: Driver) -> list[Members]:
    return [{'driver': str(driver), 'doubt': str(doubt), 'text': text}
            for doubt, text in doubts.of(b, pattern, driver).items()]


def verdict_json(v: verdict.Verdict, on: str) -> Members:
    """on: as for verdict.verdict_text()."""
    document: Members = {
        'verdict': str(v.word), 'text': verdict.verdict_text(v, on) or None, 'p': v.p}
    if v.ratio:
        document |= {'ratio': v.ratio.middle, 'ratio_low': v.ratio.low, 'ratio_high': v.ratio.high}
    return document


def _figures(b: Bench, pattern: int, driver: Driver) -> list[Members]:
    summaries = {m: stats.of(b, pattern, driver, m) for m in Measure}
    return [{'driver': str(driver), 'measure': str(m), 'rounds': s.n, 'median': float(s.median),
             'average': float(s.average), 'min': float(s.min), 'max': float(s.max),
             'spread_percent': float(s.spread_percent)}
            for m, s in summaries.items() if s.n > 0]


def _result(b: Bench, pattern: int) -> Members:
    return {
        'pattern': pattern,
        'text': verdict.pattern_text(b, pattern),
        'figures': [f for d in Driver for f in _figures(b, pattern, d)],
        'comparison': verdict_json(verdict.of_pattern(b, pattern), ' on UAS'),
        'doubts': [x for d in Driver for x in doubts_json(b, pattern, d)],
    }


def _conditions(c: model.Conditions) -> Members:
    # The key of the queue, not its own member, which may be unset.
    queues = [model.to_json(c.queue(d)) | {'driver': str(d)}
              for d in (Driver.USB_STORAGE, Driver.UAS)]
    return model.to_json(c) | {'drivers': queues}


def document(b: Bench) -> Members:
    return {
        'finding': model.to_json(b.finding) if b.finding else None,
        'version': model.VERSION,
        **model.to_json(b),
        'verdict': verdict.overall(b) or None,
        'conditions': _conditions(b.conditions),
        'results': [_result(b, i) for i in range(len(b.patterns))],
        'patterns': [model.to_json(p) for p in b.patterns],
        'runs': [model.to_json(r) for r in b.runs],
    }


# ---- its text ----


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        text = f'{value if math.isfinite(value) else 0.0:.17g}'
        return text if set(text) & set('.e') else f'{text}.0'
    if isinstance(value, str):  # a path may have any bytes
        value = value.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')
    return json.dumps(value)


def _text(value: Any, end: str) -> str:
    """end: what begins each line, or a blank for one line."""
    if isinstance(value, dict):
        items = [f'{json.dumps(k)}: {_text(v, _deeper(end))}' for k, v in value.items()]
        begin, close = '{', '}'
    elif isinstance(value, list):
        items = [_text(v, _deeper(end)) for v in value]
        begin, close = '[', ']'
    else:
        return _scalar(value)
    inner = f',{_deeper(end)}'.join(items)
    return f'{begin}{_deeper(end) if items else ""}{inner}{end}{close}'


def _deeper(end: str) -> str:
    return end if end == ' ' else end + '  '


def text(value: Members, pretty: bool = True) -> str:
    """In ASCII; on many lines, or on one."""
    return _text(value, '\n' if pretty else ' ')

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program uasctl-bench, which `uasctl bench` runs."""

import errno
import os
import signal
from collections.abc import Sequence

from bench import chart, complete, diff, document, export, kept, log, options, terminal
from bench.exits import Ended, Exit, fail
from bench.export import Format
from bench.lease import Session
from bench.machine import UASCTL, Machine
from bench.measure import measure
from bench.model import Bench
from bench.options import Options, Verb


def _print_json(o: Options, value: document.Members) -> None:
    print(document.text(value, o.json_form != 'short'))


def _tell(o: Options, b: Bench) -> None:
    """In the requested format, and as a chart if one is requested."""
    if o.json:
        _print_json(o, document.document(b))
    else:
        how = (Format.CSV if o.csv else Format.MARKDOWN_FULL if o.markdown_full
               else Format.MARKDOWN if o.markdown else Format.TABLE)
        export.tell(b, how, not o.no_legend)
    if o.chart:
        chart.draw(b, o.chart)


def _run(machine: Machine, o: Options) -> int:
    code, b = measure(machine, o)
    if not b or not b.runs:
        return code
    if not b.interrupted and code in (Exit.OK, Exit.ROLLED_BACK):
        try:
            kept.keep(machine.root, b)
        except OSError as error:
            log.info('Cannot store the result: %s', error.strerror)
    else:
        log.info('The measurement is not complete, so its result is not stored:')
    try:
        _tell(o, b)
    except log.Failure as failure:
        return code or log.failure(failure.status, '%s', failure)
    return code


def _list(machine: Machine, o: Options) -> None:
    def find(what: str) -> tuple[str, str]:
        session = Session(machine, o, what, kernel=True)
        session.close()
        d = session.disk
        return d['serial'], f'{d["vendor_id"]}:{d["product_id"]}'
    benches = kept.benches_of(machine.root, o.words[0] if o.words else None, find)
    if o.json:
        _print_json(o, kept.list_json(benches))
    elif benches:
        kept.print_list(benches, not o.no_legend, not o.no_pager)
    else:
        log.info('No result is stored%s. Make one: uasctl bench DISK',
                 ' of this disk' if o.words else '')


def _show(machine: Machine, o: Options) -> None:
    if o.chart:
        chart.check(o.chart)
    _tell(o, kept.load(machine.root, o.words[0]))


def _diff(machine: Machine, o: Options) -> None:
    a, b = (kept.load(machine.root, word) for word in o.words)
    found = diff.pairs(a, b)
    if o.json:
        _print_json(o, diff.document(a, b))
    elif found:
        terminal.pager_open(not o.no_pager)
        diff.print_text(a, b, found, not o.no_legend)
    if not found:
        fail(Exit.FAILED, 'The two results have no pattern in common.')


def _remove(machine: Machine, o: Options) -> None:
    kept.remove(machine.root, o.words[0], o.said)


VERBS = {Verb.LIST: _list, Verb.SHOW: _show, Verb.DIFF: _diff, Verb.REMOVE: _remove}


def _program(arguments: Sequence[str], version: str, machine: Machine) -> int:
    if arguments[:1] == ['--complete']:
        complete.print_offers(machine, arguments[1:])
        return Exit.OK
    o = options.parse(arguments)
    if o.help:
        options.print_help()
        return Exit.OK
    if o.version:
        print(f'uasctl {version}')
        return Exit.OK
    if o.host:
        fail(Exit.USAGE, 'bench measures only the machine on which it runs. For another one: ssh '
             '%s uasctl bench ...', o.host)
    log.setup('uasctl', o.quiet, terminal.progress_clear)
    terminal.progress_open(o.quiet)
    wrong = options.wrong(o)
    if wrong:
        fail(Exit.USAGE, '%s', wrong)
    if not os.path.isdir(machine.path('/sys')):
        fail(Exit.FAILED, 'Cannot read sysfs: %s', os.strerror(errno.ENOENT))
    if o.verb is Verb.RUN:
        return _run(machine, o)
    VERBS[o.verb](machine, o)
    return Exit.OK


def main(arguments: Sequence[str], version: str, root: str = '',
         uasctl: tuple[str, ...] = UASCTL) -> int:
    """root, uasctl: of a machine in a folder. Returns the exit status."""
    terminal.setup()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    log.setup()
    try:
        code = _program(arguments, version, Machine(root, uasctl))
    except Ended as ended:
        code = ended.status
    except log.Failure as failure:
        code = log.failure(failure.status, '%s', failure)
    lost = terminal.close()
    if lost:
        return log.failure(Exit.FAILED, 'Cannot write to the standard output: %s', lost.strerror)
    return code

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dashboard and the alert rules of contrib/grafana, for metrics of uasctl in a real Prometheus."""

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

PROGRAM = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../ctl'))
from patience import patience, until  # noqa: E402
from tree import REMOTE, Tree  # noqa: E402

FOLDER = os.path.join(HERE, '../../contrib/grafana')
RULES = os.path.join(FOLDER, 'uasd-alerts.yml')
SKIPPED = 77
NAME = re.compile(r'\b(?:uasd|node)_[a-z_]+')


def dashboard():
    with open(os.path.join(FOLDER, 'uasd-dashboard.json')) as file:
        return json.load(file)


def queries():
    return [(panel['title'], target['expr']) for panel in dashboard()['panels'] for target in panel['targets']]


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Machine:
    """A machine in a folder, with the metrics that uasctl wrote for node_exporter, on a port."""

    def __init__(self, of, serial, driver, speed):
        self.tree = Tree(PROGRAM)
        of.addClassCleanup(self.tree.close)
        self.tree.disk('2-1', 'sda', driver, serial=serial, product='Dock ' + serial, speed=speed,
                       counts={name: 7 for name in ('iorequest_cnt', 'iodone_cnt', 'ioerr_cnt', 'iotmo_cnt')})
        if REMOTE:
            self.tree.journal({'MESSAGE': 'x'})
        os.mkdir(self.tree.path('out'))
        machine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = machine.text().encode()
                self.send_response(200)
                self.send_header('Content-Type', 'text/plain; version=0.0.4')
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        of.addClassCleanup(self.server.server_close)
        of.addClassCleanup(self.server.shutdown)
        self.address = '127.0.0.1:%d' % self.server.server_port
        p = self.tree.run('metrics', '-q', '--textfile=' + self.tree.path('out'))
        assert (p.returncode, p.stderr) == (0, ''), p

    def text(self):
        with open(self.tree.path('out/uasd.prom')) as file:
            return file.read() + 'node_textfile_mtime_seconds{file="/x/uasd.prom"} %d\n' % time.time()


class Rules(unittest.TestCase):
    def promtool(self, *args):
        p = subprocess.run(['promtool', *args], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return p.stdout

    def test_valid(self):
        self.assertIn('4 rules found', self.promtool('check', 'rules', RULES))

    def test_alerts(self):
        self.promtool('test', 'rules', os.path.join(HERE, 'uasd-alerts.test.yml'))


class Dashboard(unittest.TestCase):
    def test_form(self):
        "Ids and places of panels are unique, and each query is for the machines that are chosen."
        panels = dashboard()['panels']
        self.assertEqual(len({panel['id'] for panel in panels}), len(panels))
        places = [(x, y) for one in (panel['gridPos'] for panel in panels)
                  for x in range(one['x'], one['x'] + one['w']) for y in range(one['y'], one['y'] + one['h'])]
        self.assertEqual(len(set(places)), len(places), 'a panel lies on another one')
        self.assertLess(max(x for x, _ in places), 24)
        for panel in panels:
            for target in panel['targets']:
                self.assertIn('instance=~"$instance"', target['expr'], panel['title'])
                self.assertEqual(target['datasource'], {'type': 'prometheus', 'uid': '${datasource}'})


@unittest.skipUnless(shutil.which('prometheus'), 'no prometheus (tools/setup-host)')
class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machines = [Machine(cls, 'S1', 'uas', 5000), Machine(cls, 'S2', 'usb-storage', 480)]
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        cls.url = 'http://127.0.0.1:%d' % free_port()
        with open(folder + '/prometheus.yml', 'w') as file:
            json.dump({'global': {'scrape_interval': '1s', 'evaluation_interval': '1s'}, 'rule_files': [os.path.abspath(RULES)],
                       'scrape_configs': [{'job_name': 'node', 'static_configs': [{'targets': [m.address for m in cls.machines]}]}]}, file)
        cls.log = open(folder + '/log', 'w+')
        cls.addClassCleanup(cls.log.close)
        cls.prometheus = subprocess.Popen(['prometheus', '--config.file=' + folder + '/prometheus.yml', '--storage.tsdb.path=' + folder + '/data',
                                           '--web.listen-address=' + cls.url.split('/')[2]], stdout=cls.log, stderr=cls.log)
        cls.addClassCleanup(cls.prometheus.wait)
        cls.addClassCleanup(cls.prometheus.kill)

    def setUp(self):
        until(lambda: len(self.query('count_over_time(uasd_up[1m]) > 2')) == 2, 'both machines were scraped a few times', 60)

    def get(self, path, **what):
        with urllib.request.urlopen(f'{self.url}/api/v1/{path}?' + urllib.parse.urlencode(what), timeout=patience()) as answer:
            return json.load(answer)['data']

    def query(self, expr):
        if self.prometheus.poll() is not None:
            self.log.seek(0)
            raise AssertionError(self.log.read())
        try:
            return self.get('query', query=expr)['result']
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it begins
                return []
            raise AssertionError((expr, error.read().decode())) from None
        except OSError:  # it does not listen yet
            return []

    def test_panels(self):
        "Each query has an answer, of both machines or of the chosen one."
        for title, expr in queries():
            whole = expr.replace('$__rate_interval', '1m')
            self.assertNotIn('$_', whole)
            if not REMOTE and 'events_total' in expr:
                continue
            found = self.query(whole.replace('$instance', '.*'))
            self.assertTrue(found, (title, expr))
            instances = {one['metric']['instance'] for one in found if 'instance' in one['metric']}
            self.assertIn(instances, ({m.address for m in self.machines}, set()), title)
            one = self.query(whole.replace('$instance', re.escape(self.machines[0].address).replace('\\', '\\\\')))
            self.assertTrue(one, (title, expr))
            self.assertLessEqual({a['metric']['instance'] for a in one if 'instance' in a['metric']}, {self.machines[0].address}, title)
        [table] = [expr for title, expr in queries() if title == 'Disks' and 'driver' in expr]
        rows = {tuple(row['metric'][name] for name in ('product', 'driver', 'state', 'policy', 'verdict')) + (row['value'][1],)
                for row in self.query(table.replace('$instance', '.*'))}
        self.assertEqual(rows, {('Dock S1', 'uas', 'settled', 'auto', 'unknown', '625000000'),
                                ('Dock S2', 'usb-storage', 'settled', 'auto', 'unknown', '60000000')})

    def test_names(self):
        "Dashboard and rules name only metrics that there are."
        there = set(self.get('label/__name__/values'))
        with open(RULES) as file:
            named = {name for text in [file.read().split('groups:')[1]] + [expr for _title, expr in queries()] for name in NAME.findall(text)}
        if not REMOTE:
            named.discard('uasd_events_total')
        self.assertEqual(named - there, set())

    def test_alerts(self):
        "uasd does not answer on either machine, and one has a slow link: these two alerts, and no others."
        def pending():
            return {(one['labels']['alertname'], one['labels']['instance']) for one in self.get('alerts')['alerts']}
        first, second = (m.address for m in self.machines)
        expected = {('UasdGone', first), ('UasdGone', second), ('UasdSlowLink', second)}
        until(lambda: pending() >= expected, 'they are pending', 30)
        self.assertEqual(pending(), expected)
        self.assertTrue(all(rule['health'] == 'ok' for group in self.get('rules')['groups'] for rule in group['rules']))


if __name__ == '__main__':
    if not shutil.which('promtool') or not shutil.which('prometheus'):
        print('no promtool or no prometheus (tools/setup-host)')
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of results of uasctl bench: tables, CSV, markdown, charts, and stored results."""

import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

from telling import IDS, keep, TOLD, UASCTL, environment, on_terminal, plain, told
from tree import Tree


class Table(unittest.TestCase):
    def test_at_a_glance(self):
        text = told('comparison', 'table')
        self.assertIn('    Disk: ACME Rotor 4000, 4.00 TB, spinning, serial S-0815\n', text)
        self.assertIn('  Bridge: 1209:5a5a JMS580, firmware 1.14\n', text)
        self.assertIn('    Link: 5000 Mbit/s, xhci_hcd 0000:00:14.0\n', text)
        self.assertIn('  Queues: usb-storage depth 1 mq-deadline 2 requests, uas depth 30 mq-deadline 256 requests\n', text)
        self.assertIn('    Host: Linux 6.1.0-test, fio-3.33, 8 GiB of memory\n', text)
        self.assertIn('5 rounds after one that is dropped', text)
        self.assertRegex(text, r'\nTEST +DRIVER +READ NOTES\n')
        self.assertRegex(text, r'\nrandom, 4 KiB, +usb-storage +0\.79 MB/s, 192 IOPS\ndepth 32 +uas +2\.44 MB/s, 595 IOPS\n +uas is +3\.1x faster\n')
        self.assertTrue(text.endswith('\nVerdict: random read, 4 KiB, depth 32: 3.1 times faster on UAS; 2 sequential and 1 random '
                                      'pattern: no certain difference.\n'))
        self.assertNotIn('\x1b', text)

    def test_mixed(self):
        """Reads and writes separately, and the mean of the latencies, like the published figures."""
        result = json.loads(told('full', 'json'))
        runs = [r for r in result['runs'] if r['pattern'] == 4 and r['round'] > 0 and r['driver'] == 'usb-storage']
        reads, writes = ([r[side]['iops'] for r in runs] for side in ('read', 'write'))
        self.assertEqual((len(runs), [round(sum(x) / 2) for x in (reads, writes)]), (2, [140, 140]))
        [figure] = [f for f in result['results'][4]['figures'] if f['measure'] == 'mean_ns' and f['driver'] == 'usb-storage']
        mean = f"{figure['median'] / 1e9:.2f} s"
        self.assertRegex(told('full', 'table'), r'write, 4 KiB, usb-storage 0\.57 MB/s, 140 IOPS 0\.57 MB/s, 140 IOPS \[1\]\n'
                                                r'one at a time +uas +- +-\n +uas is +failed +failed\n')
        self.assertIn('| random read and write, 4 KiB, one at a time | usb-storage | 140 + 140 IOPS | .......2........ | 280-281 IOPS | 0.4 % | '
                      '280 IOPS | 0.57 + 0.57 MB/s | ' + mean + ' |', told('full', 'markdown-full'))

    def test_side_by_side(self):
        """A test is one row: its reads beside its writes, each with its own comparison and its own doubts."""
        text = told('written', 'table')
        self.assertRegex(text, r'\nTEST +DRIVER +READ +WRITE NOTES\n')
        self.assertRegex(text, r'\nsequential, 1 MiB, usb-storage +190 MB/s, 182 IOPS +100 MB/s, 95\.4 IOPS write \[1\]\n'
                               r'depth 8 +uas +190 MB/s, 181 IOPS +200 MB/s, 191 IOPS write \[2\]\n'
                               r' +uas is +no difference +2\.0x, but not certain\n')
        self.assertRegex(text, r'\n +uas is +3\.1x faster +2\.0x, but not certain\n')
        self.assertEqual(text.count(' uas is '), 4)
        self.assertLessEqual(max(map(len, plain(on_terminal('written', 'table', width=80)).split('\n'))), 80)

    def test_engines_apart(self):
        """Tests that differ in more than the direction have rows of their own."""
        result = json.loads(told('written', 'json'))
        result['patterns'][4]['engine'] = 'psync'
        result['patterns'][5]['block_size'] = 8192
        tree = Tree(UASCTL)
        self.addCleanup(tree.close)
        tree.write('r.json', json.dumps(result))
        self.assertEqual(tree.run('bench', 'show', tree.path('r.json')).stdout.count(' uas is '), 6)

    def test_rounds(self):
        """Each round at its place between 0 and the best one, both drivers by the same measure."""
        result = json.loads(told('comparison', 'json'))
        rates = {'usb-storage': (100, 98, 50, 3, 1), 'uas': (500,) * 12}
        result['runs'] = [dict(result['runs'][0], pattern=2, driver=driver, round=i + 1, order=i, read=dict(result['runs'][0]['read'], iops=rate))
                          for driver in rates for i, rate in enumerate(rates[driver])]
        tree = Tree(UASCTL)
        self.addCleanup(tree.close)
        tree.write('r.json', json.dumps(result))
        text = tree.run('bench', 'show', tree.path('r.json'), '--markdown=full').stdout
        self.assertEqual(re.findall(r' ([.\d+]{16}) ', text), ['2.12............', '...............+'], text)

    def test_ascii(self):
        self.assertTrue(told('comparison', 'table', LC_ALL='C').isascii())

    def test_colours(self):
        text = on_terminal('doubted', 'table', COLUMNS='120')
        self.assertRegex(text, '\x1b\\[32m *3.1x faster')
        self.assertRegex(text, '\x1b\\[33m\\[[0-9]\\]')
        self.assertNotIn('\x1b', on_terminal('doubted', 'table', NO_COLOR='1'))

    def test_safety_first(self):
        text = told('full', 'table')
        self.assertTrue(text.startswith('uas failed during random read and write, 4 KiB, one at a time: 2 commands aborted, 1 reset. This disk is '
                                        'not safe on uas here'), text)
        self.assertIn('interrupted', text)
        self.assertIn('    File: /mnt/usb/scratch\n', text)
        self.assertTrue(on_terminal('full', 'table').startswith('\x1b[31muas failed'))

    def test_doubts(self):
        text = told('doubted', 'table')
        note = re.search(r'\[(\d)\] only 40 % of the requests reached depth 32\n', text)[1]
        usb2 = re.search(r'\[(\d)\] linked at 480 Mbit/s', text)[1]
        for line in text.split('\n'):
            if ' IOPS ' in line:
                self.assertEqual(f'[{note}]' in line, '192 IOPS' in line or '595 IOPS' in line, line)
            if re.search(r'MB/s, .* IOPS', line):
                self.assertIn(f'[{usb2}]', line)

    def test_doubts_of_the_verdict(self):
        """Every summary says that the pattern with the difference was not as deep as requested."""
        said = 'no certain difference; with doubts: depth'
        self.assertTrue(told('doubted', 'table').replace('\n', ' ').endswith(said + '. '))
        self.assertIn(said + '.**\n', told('doubted', 'markdown'))
        self.assertTrue(json.loads(told('doubted', 'json'))['verdict'].endswith(said))
        for how in 'table', 'markdown', 'json':
            self.assertNotIn('with doubts', told('comparison', how))

    def test_one_driver(self):
        text = told('single', 'table')
        self.assertNotIn('uas is', text)
        self.assertNotIn('Verdict', text)
        self.assertNotIn('usb-storage ', text.split('TEST')[1])

    def test_nothing(self):
        self.assertIn('0 rounds', told('none', 'table'))

    def test_no_legend(self):
        self.assertNotIn('TEST', told('comparison', 'table', NO_LEGEND='1'))

    def test_harmless(self):
        for how in 'table', 'markdown', 'markdown-full', 'csv', 'json':
            text = told('hostile', how)
            self.assertNotRegex(text, '[\x00-\x08\x0b\x0c\x0e-\x1f]', how)


class Csv(unittest.TestCase):
    def rows(self, sample):
        return list(csv.DictReader(io.StringIO(told(sample, 'csv')), strict=True))

    def test_a_line_a_run(self):
        rows, result = self.rows('full'), json.loads(told('full', 'json'))
        self.assertEqual(len(rows), len(result['runs']))
        for row, run in zip(rows, result['runs']):
            pattern = result['patterns'][run['pattern']]
            self.assertNotIn(None, row)
            self.assertNotIn(None, row.values())
            self.assertEqual(row['pattern'], pattern['name'])
            self.assertEqual(row['engine'], pattern['engine'])
            self.assertEqual(int(row['iodepth']), pattern['iodepth'])
            self.assertEqual((int(row['fsync']), int(row['fdatasync'])), (pattern['fsync'], pattern['fdatasync']))
            self.assertEqual((row['driver'], int(row['round']), int(row['order'])), (run['driver'], run['round'], run['order']))
            self.assertEqual(int(row['read_bytes']), run['read']['bytes'])
            self.assertAlmostEqual(float(row['write_iops']), run['write']['iops'])
            self.assertEqual((int(row['sync_ios']), int(row['sync_p99_ns'])), (run['sync']['ios'], run['sync']['p99_ns']))
            self.assertEqual(row['other_bytes_per_sec'] == '', run['other_bytes_per_sec'] is None)
            self.assertEqual(row['device_read_bytes'] == '', run['device_read_bytes'] is None)
            self.assertEqual(row['host'], run['host'] or '')
            self.assertEqual(row['nr_requests'], '256' if run['driver'] == 'uas' else '2')
            self.assertEqual(int(row['error']), run['error'])
            self.assertEqual(row['serial'], 'S-0815')
            self.assertEqual(row['queue_depth'], '30' if run['driver'] == 'uas' else '1')
            self.assertEqual(int(row['counted']), run['round'] > 0 and not run['error'] and not run['host'])
        self.assertEqual(rows[0]['started'], '2025-11-23T12:13:20Z')
        for member in list(result['conditions'].keys() - {'drivers'}) + ['scheduler', 'queue_depth']:
            self.assertIn(member, rows[0])

    def test_no_formula(self):
        row = self.rows('hostile')[0]
        self.assertTrue(row['model'].startswith("'=cmd|"))
        self.assertIn('"q"\\x0a# h', row['model'])


class Markdown(unittest.TestCase):
    def test_post(self):
        text = told('comparison', 'markdown')
        self.assertIn('**Verdict: random read, 4 KiB, depth 32: 3.1 times faster on UAS;', text)
        self.assertNotIn('S-0815', text)
        rows = [line for line in text.split('\n') if line.startswith('|')]
        self.assertEqual({line.count('|') for line in rows}, {5})
        self.assertEqual(len(rows), 2 + 12)
        self.assertEqual(rows[0], '| TEST | DRIVER | READ | NOTES |')
        self.assertIn('\n| TEST | DRIVER | READ | WRITE | NOTES |\n|---|---|--:|--:|---|\n', told('written', 'markdown'))

    def test_full(self):
        rows = [line for line in told('comparison', 'markdown-full').split('\n') if line.startswith('|')]
        self.assertEqual(({line.count('|') for line in rows}, len(rows)), ({16}, 2 + 8))
        self.assertRegex(rows[-4], r'^\| random read, 4 KiB, depth 32 \| usb-storage \| 192 IOPS \| \.{5}5\.{10} \| 190-195 IOPS \| 2\.6 % \| '
                                   r'192 IOPS \| 0\.79 MB/s \| 167 ms \| 164 ms \| 150 ms ')
        self.assertRegex(rows[-3], r'\| uas \| 595 IOPS \| \.{15}5 \| 590-605 IOPS \| 2\.5 % \| 596 IOPS \| 2\.44 MB/s .*\| 3\.1x faster \|$')

    def test_doubts(self):
        "A figure that is doubted has its mark in the small table as well."
        text = told('doubted', 'markdown')
        marks = set(re.findall(r'\[\d+\]', ''.join(line for line in text.split('\n') if line.startswith('|'))))
        self.assertTrue(marks)
        self.assertEqual(marks, set(re.findall(r'(?m)^- (\[\d+\])', text)))

    def test_private(self):
        text = told('full', 'markdown')
        self.assertNotIn('/mnt/usb', text)
        self.assertNotIn('nas2', text)
        self.assertIn('**Safety:** `uas failed', text)

    def test_no_markup(self):
        text = told('hostile', 'markdown')
        outside = ''.join(text.split('`')[::2])
        self.assertNotIn('<b>', outside)
        self.assertNotIn('@all', outside)
        self.assertIn("'x'", text)


@unittest.skipUnless(shutil.which('gnuplot'), 'no gnuplot')
class Chart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def texts(self, sample):
        told(sample, 'chart', self.path('a.svg'))
        self.assertEqual(os.listdir(self.folder.name), ['a.svg'])
        document = xml.dom.minidom.parse(self.path('a.svg'))
        return [''.join(n.data for t in e.getElementsByTagName('tspan') or [e] for n in t.childNodes if n.nodeType == n.TEXT_NODE).strip()
                for e in document.getElementsByTagName('text')]

    def test_bars(self):
        texts = self.texts('comparison')
        for text in 'usb-storage', 'uas', 'IOPS', 'MB/s', 'RND4K-Q32T1', 'SEQ1M-Q8T1', 'ACME Rotor 4000, cdm':
            self.assertIn(text, texts)

    def test_lines(self):
        texts = self.texts('sweep')
        for text in 'RND4K usb-storage', 'RND4K uas', 'queue depth', 'IOPS', '1', '2', '4', '8', '16', '32':
            self.assertIn(text, texts)
        self.assertNotIn('MB/s', texts)

    def test_png(self):
        for sample in 'comparison', 'sweep', 'single', 'full':
            told(sample, 'chart', self.path('a.PNG'))
            with open(self.path('a.PNG'), 'rb') as f:
                self.assertEqual(f.read(8), b'\x89PNG\r\n\x1a\n')

    def test_names_mean_nothing(self):
        """Names have no effect in gnuplot or a shell, and no start-up files of the user are read."""
        with open(self.path('.gnuplot'), 'w') as f:
            f.write(f'system("touch {self.path("ran")}")\n')
        touched = self.path('touched')
        self.assertIn(f'system(\\"touch {touched}\\")', told('hostile', 'json', TOUCHED=touched))
        told('hostile', 'chart', self.path('a.svg'), HOME=self.folder.name, TOUCHED=touched)
        xml.dom.minidom.parse(self.path('a.svg'))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ['.gnuplot', 'a.svg'])
        name = self.path('|touch ran.svg')
        told('comparison', 'chart', name)
        xml.dom.minidom.parse(name)

    def test_what_goes_wrong(self):
        self.assertIn('must end with .svg or .png', told('comparison', 'chart', self.path('a.pdf'), code=2))
        self.assertIn('There is nothing to draw', told('none', 'chart', self.path('a.svg'), code=1))
        self.assertIn('Cannot write the chart', told('comparison', 'chart', self.path('none/a.svg'), code=1))
        self.assertIn('gnuplot is not installed. Install it', told('comparison', 'chart', self.path('a.svg'), code=77, PATH='/nonexistent'))
        with open(self.path('gnuplot'), 'w') as f:
            f.write('#!/bin/sh\necho "no such terminal" >&2\nexit 1\n')
        os.chmod(self.path('gnuplot'), 0o755)
        self.assertIn('could not draw the chart: no such terminal', told('comparison', 'chart', self.path('a.svg'), code=1, PATH=self.folder.name))
        self.assertEqual(os.listdir(self.folder.name), ['gnuplot'])

    def test_replaced_as_a_whole(self):
        """A link is replaced, not written through."""
        with open(self.path('other'), 'w') as f:
            f.write('kept')
        os.symlink('other', self.path('a.svg'))
        told('comparison', 'chart', self.path('a.svg'))
        self.assertFalse(os.path.islink(self.path('a.svg')))
        with open(self.path('other')) as f:
            self.assertEqual(f.read(), 'kept')


class Kept(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(UASCTL)
        self.addCleanup(self.tree.close)
        self.root = self.tree.top

    def keep(self, sample, number, started=1763900000):
        return keep(self.root, sample, number, started)

    def history(self, *args, **env):
        return told('history', self.root, *args, **env)

    def test_keep(self):
        name = self.keep('full', 1)
        self.assertEqual(name, f'20251124T121320Z-{IDS[1]}.json')
        path = self.tree.path('var/lib/uasd/bench/' + name)
        self.assertEqual(os.listdir(os.path.dirname(path)), [name])
        with open(path) as f:
            self.assertEqual(json.load(f)['id'], IDS[1])
        told('full', 'keep', self.root, '../../x', code=1)
        told('none', 'keep', self.root, code=1)

    def test_history(self):
        self.assertEqual(self.history(), '')
        self.keep('comparison', 1)
        self.keep('full', 2)
        self.keep('single', 3)
        head, *lines = self.history().rstrip('\n').split('\n')
        self.assertEqual(head.split(), ['ID', 'DATE', 'DISK', 'PROFILE', 'LINK', 'ROUNDS', 'RESULT'])
        self.assertRegex(lines[0], r'^0f3c2a4e 2025-11-26 12:13 ACME Rotor 4000 +cdm +5000M +5 sequential read, 1 MiB, depth 8: 190 MB/s on uas$')
        self.assertIn('uas failed: 2 commands aborted, 1 reset', lines[1])
        self.assertIn('3.1 times faster on UAS', lines[2])
        self.assertEqual(len(lines), 3)
        listed = json.loads(self.history(JSON='1'))
        self.assertEqual([b['id'] for b in listed['benches']], [IDS[3], IDS[2], IDS[1]])

    def test_history_of_a_disk(self):
        self.tree.disk('2-1', 'sda', serial='S-0815')
        self.tree.disk('2-2', 'sdb', serial='OTHER')
        self.keep('comparison', 1)
        for disk in 'S-0815', 'sda', '2-1':
            self.assertEqual(self.history(disk).count('\n'), 2, disk)
        self.assertEqual(self.history('sdb'), '')
        self.assertIn('sdx', told('history', self.root, 'sdx', code=4))

    def test_hostile_files(self):
        self.keep('comparison', 1)
        folder = self.tree.path('var/lib/uasd/bench/')
        for i, content in enumerate(('', '{', '[' * 100000, 'x' * 1000), 2):
            with open(folder + f'2025112{i}T121320Z-{IDS[i]}.json', 'w') as f:
                f.write(content)
        os.symlink('/dev/zero', folder + f'20251127T121320Z-{IDS[7]}.json')
        with open(folder + 'README', 'w') as f:
            f.write('not ours')
        p = subprocess.run([TOLD, 'history', self.root], capture_output=True, text=True, env=environment())
        self.assertEqual(p.returncode, 0)
        self.assertEqual(p.stdout.count('\n'), 2)
        self.assertEqual(p.stderr.count('cannot be read'), 5)

    def diff(self, a, b, code=0, **env):
        return told('diff', self.root, a, b, code=code, **env)

    def test_diff(self):
        first = self.keep('comparison', 1)
        self.keep('doubted', 2)
        self.keep('single', 3)
        text = self.diff(first[:16], IDS[2])
        self.assertEqual(text.count('no difference'), 8)
        self.assertRegex(text, r'Link: 5000 Mbit/s.*\n +then +480 Mbit/s')
        self.assertRegex(text, r'random read, 4 KiB, depth 32 +usb-storage 192 IOPS 192 IOPS 1\.00 \(0\.\d\d-1\.\d\d\) \[2\] \[4\] no difference\n')
        self.assertEqual(self.diff('last', IDS[1]).count('no difference'), 4)
        path = self.tree.path('var/lib/uasd/bench/' + first)
        self.assertEqual(self.diff(path, path).count('no difference'), 8)
        both = json.loads(self.diff(IDS[1], IDS[3], JSON='1'))
        self.assertEqual([both[m] for m in ('version', 'a', 'b')], [1, IDS[1], IDS[3]])
        self.assertEqual([c['comparison']['verdict'] for c in both['comparisons']], ['none'] * 4)

    def test_diff_of_a_change(self):
        """The same disk, twice as fast."""
        name = self.keep('comparison', 1)
        path = self.tree.path('var/lib/uasd/bench/' + name)
        with open(path) as f:
            result = json.load(f)
        for run in result['runs']:
            for key in 'bytes_per_sec', 'iops':
                run['read'][key] *= 2
        with open(self.tree.path('other.json'), 'w') as f:
            json.dump(result, f)
        self.assertEqual(self.diff(path, self.tree.path('other.json')).count('2.0x faster'), 8)
        self.assertEqual(self.diff(self.tree.path('other.json'), path).count('2.0x slower'), 8)

    def other(self, number, change):
        """The path of a stored result after that change."""
        with open(glob.glob(self.tree.path(f'var/lib/uasd/bench/*{IDS[number]}.json'))[0]) as f:
            result = json.load(f)
        change(result)
        with open(self.tree.path('other.json'), 'w') as f:
            json.dump(result, f)
        return self.tree.path('other.json')

    def test_diff_of_other_questions(self):
        """Differences in the questions are printed beside each pair, and so are the doubts of both figures."""
        self.keep('comparison', 1)
        self.assertNotIn('[1]', self.diff(IDS[1], IDS[1]))

        def change(result):
            for run in result['runs']:
                run['region'] = 16 << 20
            for pattern in result['patterns']:
                pattern['engine'], pattern['runtime_sec'] = 'libaio', 60
            result['conditions']['path'] = '/mnt/file'
        other = self.other(1, change)
        text = self.diff(IDS[1], other)
        for said in ('a region of 64 GiB, then one of 16 MiB', 'the engine io_uring, then libaio', '10 s after 2 s, then 60 s after 2 s',
                     'the raw disk, then through a file system'):
            self.assertRegex(text, rf'\n\[\d\] not the same question: {said}\n')
        self.assertRegex(text, r'\n\[\d\] second: 16 MiB is small')
        self.assertNotIn('first:', text)
        self.assertEqual(text.count('[1] [2] [3] [4] [5] '), 8, text)
        pairs = json.loads(self.diff(other, IDS[1], JSON='1'))['comparisons']
        self.assertEqual(pairs[0]['differs'][0], 'not the same question: a region of 16 MiB, then one of 64 GiB')
        self.assertEqual([len(pairs[0]['differs']), pairs[0]['doubts_b'], [d['doubt'] for d in pairs[0]['doubts_a']]], [4, [], ['cache', 'region']])
        self.assertEqual({d['driver'] for p in pairs for d in p['doubts_a']}, {'usb-storage', 'uas'})

    def test_diff_knows_halves(self):
        """If one differs from itself by 20 % before and after the other driver, 10 % are no difference."""
        self.keep('comparison', 1)

        def scale(half):
            def change(result):
                for run in result['runs']:
                    # B in the middle of A
                    run['order'] = 100 * run['pattern'] + (50 if run['driver'] == 'uas' else 0 if run['round'] < 3 else 80) + run['round']
                    later = run['driver'] == 'usb-storage' and run['round'] >= 3
                    for key in 'bytes_per_sec', 'iops':
                        run['read'][key] *= 1.1 * (half if later else 1)
                result['runs'].sort(key=lambda r: r['order'])
            return change
        steady = json.loads(self.diff(IDS[1], self.other(1, scale(1)), JSON='1'))['comparisons']
        torn = json.loads(self.diff(IDS[1], self.other(1, scale(1.2)), JSON='1'))['comparisons']
        of_bot = [[p['comparison']['verdict'] for p in pairs if p['driver_a'] == 'usb-storage'] for pairs in (steady, torn)]
        self.assertEqual(of_bot, [['faster'] * 4, ['none'] * 4])

    def test_diff_refused(self):
        self.keep('comparison', 1)
        self.keep('sweep', 2)
        self.assertIn('More than one result', self.diff('0f3c', 'last', code=1))
        self.assertIn('There is no result', self.diff('ffff', 'last', code=1))
        self.assertIn('There is no result', self.diff('', 'last', code=1))
        self.assertIn('is not a result of uasctl bench', self.diff('/dev/null', 'last', code=1))
        self.assertIn('no pattern in common', self.diff(IDS[1], IDS[2], code=1))
        said = self.diff(IDS[1], IDS[2], code=1, JSON='1')
        self.assertRegex(said, r'"comparisons": \[\s*\]')
        self.assertIn('no pattern in common', said)

    def bench(self, *args, code=0):
        p = self.tree.run('bench', *args)
        self.assertEqual(p.returncode, code, (args, p.stdout, p.stderr))
        return p.stdout + p.stderr if code else p.stdout

    def test_show(self):
        """A stored result is printed as it was the first time, in every format."""
        name = self.keep('comparison', 1)
        self.keep('single', 2)
        with open(self.tree.path('var/lib/uasd/bench/' + name)) as f:
            kept = json.load(f)
        for result in IDS[1], name[:16], self.tree.path('var/lib/uasd/bench/' + name):
            self.assertEqual(json.loads(self.bench('--show', result, '--json')), kept)
        self.assertIn('Verdict: random read, 4 KiB, depth 32: 3.1 times faster on UAS', self.bench('--show', IDS[1]))
        self.assertNotIn('Verdict', self.bench('--show', 'last'))
        rows = list(csv.DictReader(io.StringIO(self.bench('--show', IDS[1], '--csv'))))
        self.assertEqual(len(rows), len(kept['runs']))
        self.assertTrue(self.bench('--show', IDS[1], '--markdown').startswith('### uasctl bench\n'))
        self.assertIn('There is no result', self.bench('--show', 'ffff', code=1))
        self.assertIn('must end with .svg', self.bench('--show', IDS[1], '--chart=x', code=2))

    @unittest.skipUnless(shutil.which('gnuplot'), 'no gnuplot')
    def test_show_chart(self):
        self.keep('comparison', 1)
        self.bench('--show', 'last', f'--chart={self.root}/a.svg')
        xml.dom.minidom.parse(self.tree.path('a.svg'))

    def test_remove(self):
        names = [self.keep('comparison', i) for i in (1, 2, 3)]
        folder = self.tree.path('var/lib/uasd/bench')
        self.assertIn('8 letters', self.bench('--remove', IDS[1][:7], code=2))
        self.assertIn('8 letters', self.bench('--remove', 'last', code=2))
        self.assertIn('More than one', self.bench('--remove', IDS[1][:8], code=1))
        self.assertIn('There is no result', self.bench('--remove', f'{folder}/{names[0]}', code=1))
        self.assertEqual(sorted(os.listdir(folder)), names)
        self.bench('--remove', IDS[2])
        self.assertEqual(sorted(os.listdir(folder)), [names[0], names[2]])
        self.assertIn('There is no result', self.bench('--remove', IDS[2], code=1))
        self.assertNotIn(IDS[2], self.bench('--history', '--json'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A result that was written is read back. Other text is refused."""

import errno
import os
import tempfile
import unittest

import samples
from samples import BOT, MiB, UAS

from bench import document, model
from bench.model import Axis, Bench, Driver


def text_of(b):
    return document.text(document.document(b)).encode()


class Json(unittest.TestCase):
    def check_same(self, b):
        text = text_of(b)
        again = model.parse(text)
        self.assertEqual(text_of(again), text)
        self.assertEqual((len(again.runs), len(again.patterns)), (len(b.runs), len(b.patterns)))
        return again

    def refused(self, text, code=errno.EBADMSG, row=None):
        with self.assertRaises(OSError, msg=row) as caught:
            model.parse(text)
        self.assertEqual(caught.exception.errno, code, row)

    def test_round_trip(self):
        full = samples.full()
        for b in Bench(), samples.comparison(), full:
            self.check_same(b)
        full.patterns[0].size = full.runs[1].read.bytes = (1 << 64) - 1
        full.runs[1].read.bytes_per_sec = 1 / 3
        full.single = True
        again = self.check_same(full)
        # The members are compared one by one: a comparison of the texts could hide a mistake that was made twice.
        self.assertEqual((again.id, again.profile, again.axis, again.started_usec), (full.id, 'cdm', Axis.DEPTH, full.started_usec))
        self.assertTrue(again.interrupted and again.single)
        self.assertEqual((again.finding.driver, again.finding.run, again.finding.what), (UAS, full.finding.run, full.finding.what))
        c = again.conditions
        self.assertEqual((c.model, c.disk_size, c.rotational, c.path), ('ACME Rotor 4000', full.conditions.disk_size, True, '/mnt/usb/scratch'))
        self.assertEqual([(c.queue(d).scheduler, c.queue(d).queue_depth, c.queue(d).nr_requests) for d in (Driver.NONE, BOT, UAS)],
                         [('', 0, 0), ('mq-deadline', 1, 2), ('mq-deadline', 30, 256)])
        p = again.patterns[4]
        self.assertEqual((p.rw, p.read_percent, p.sync_engine, p.random, p.direct, p.fsync, p.fdatasync), ('randrw', 50, True, True, True, 40, 80))
        self.assertEqual((again.patterns[0].size, again.patterns[0].fsync), ((1 << 64) - 1, 0))
        self.assertEqual((again.runs[1].read.bytes, again.runs[1].read.bytes_per_sec), ((1 << 64) - 1, 1 / 3))
        self.assertEqual(again.runs[8].read, full.runs[8].read)
        self.assertGreater(again.runs[8].read.slat_mean_ns, 0)
        last = again.runs[-1]
        self.assertEqual((again.runs[-2].host, last.error, last.other_bytes_per_sec), ('nas2:8765', -5, -1))
        self.assertEqual((last.device_read_bytes, last.device_written_bytes, again.runs[0].device_read_bytes), (4096, 8192, -1))
        self.assertEqual((last.sync.ios, last.sync.p99_ns, again.runs[0].other_bytes_per_sec), (7, 5000000, 0))

    def test_hostile(self):
        """A valid result in which every occurrence of a piece of text is replaced."""
        text = text_of(samples.full())
        wrong, later, right = errno.EBADMSG, errno.EPROTONOSUPPORT, 0
        for old, new, want in (
                (b'"version": 1', b'"version": 2', later),
                (b'"version": 1', b'"version": "1"', wrong),
                (b'"version": 1', b'"version": -1', wrong),
                (b'"version": 1', b'"version": true', wrong),
                (b'"version": 1', b'"other": 1', wrong),
                (b'"version": 1', b'"version": 1, "unknown": [1, 2]', right),
                (b'0f3c2a4e-6b1d', b'../../etc/x', wrong),
                (b'0f3c2a4e-6b1d', b'0f3c2a4e-6b1d-6b1d-6b1d-6b1d-6b1d', wrong),
                (b'"axis": "depth"', b'"axis": "depht"', wrong),
                (b'"driver": "uas"', b'"driver": "uass"', wrong),
                (b'"driver": "uas"', b'"driver": 2', wrong),
                (b'"iodepth": 32', b'"iodepth": 65536', wrong),
                (b'"iodepth": 32', b'"iodepth": 32.5', wrong),
                (b'"iodepth": 32', b'"iodepth": 32.0', wrong),
                (b'"iodepth": 32', b'"iodepth": -32', wrong),
                (b'"iodepth": 32', b'"iodepth": 99999999999999999999999', wrong),
                (b'"iodepth": 32', b'"iodepth": ' + b'9' * 5000, wrong),
                (b'"read_percent": 50', b'"read_percent": 101', wrong),
                (b'"pattern": 4', b'"pattern": 5', wrong),
                (b'"depth_share": 0.998', b'"depth_share": NaN', wrong),
                (b'"depth_share": 0.998', b'"depth_share": -0.5', wrong),
                (b'"depth_share": 0.998', b'"depth_share": 1e999', wrong),
                (b'"depth_share": 0.998', b'"depth_share": true', wrong),
                (b'"depth_share": 0.998', b'"depth_share": 1', right),
                (b'"single": false', b'"single": 0', wrong),
                (b'"single": false', b'"was": false', wrong),
                (b'"sync"', b'"was"', wrong),
                (b'"fsync"', b'"was"', wrong),
                (b'"nr_requests"', b'"was"', wrong),
                (b'"fsync": 40', b'"fsync": -1', wrong),
                (b'"fdatasync": 80', b'"fdatasync": 4294967296', wrong),
                (b'"sync": {', b'"sync": [ ], "was": {', wrong),
                (b'"depth_share": 0.998', b'"depth_share": null', wrong),
                (b'"error": -5', b'"error": 5', wrong),
                (b'"error": -5', b'"error": -5000', wrong),
                (b'"host": null', b'"hosts": null', right),
                (b'"host": null', b'"host": ""', wrong),
                (b'"host": null', b'"host": [[[[[[[[[[1]]]]]]]]]]', wrong),
                (b'"host": null', b'"host": "' + b'x' * 288 + b'"', wrong),
                (b'"rw": "randread"', b'"rw": "a\\u0000b"', wrong),
                (b'"rw": "randread"', b'"rw": "a\\ud800"', wrong),
                (b'"rw": "randread"', b'"rw": "a\xff"', wrong),
                (b'"random": true', b'"random": 1', wrong),
                (b'"patterns": [', b'"patterns": {}, "x": [', wrong),
                (b'"patterns": [', b'"patterns": [ 1,', wrong),
                (b'"patterns": [', b'"patterns": [], "x": [', wrong),  # the runs refer to no pattern
                (b'"runs": [', b'"runs": [ null,', wrong),
                (b'"conditions": {', b'"conditions": [], "x": {', wrong),
                (b'"finding": {', b'"finding": 1, "x": {', wrong),
                (b'"verdict": ', b'"verdict": [], "x": ', right)):  # computed again
            self.assertIn(old, text)
            changed = text.replace(old, new)
            if want:
                self.refused(changed, want, (old, new))
            else:
                model.parse(changed)

    def test_no_result_at_all(self):
        for text in (b'', b' ', b'{', b'{}', b'[]', b'1', b'null', b'""', b'{"version":1}', b'{} {}', b'[' * 13, b'[' * 100000,
                     b'{"a":' * 100000):
            self.refused(text, row=text[:20])
        b = samples.bench()
        samples.pattern(b, 'p', 'read', MiB, 1)
        text = text_of(b)
        for n in range(len(text)):  # half a file
            self.refused(text[:n], row=n)
        self.refused(text + b'\nx')
        model.parse(text + b' \n')
        self.refused(b' ' * (model.FILE_MAX + 1), errno.EFBIG)

    def test_files(self):
        b = samples.full()
        with tempfile.TemporaryDirectory() as folder:
            with open(f'{folder}/good', 'wb') as f:
                f.write(text_of(b))
            with open(f'{folder}/large', 'wb') as f:
                f.truncate(model.FILE_MAX + 1)
            os.mkfifo(f'{folder}/fifo')
            os.symlink('good', f'{folder}/link')
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            self.addCleanup(os.close, fd)
            self.assertEqual(len(model.read('good', fd).runs), len(b.runs))
            self.assertEqual(len(model.read(f'{folder}/link').runs), len(b.runs))
            for name, code in (('large', errno.EFBIG), ('fifo', errno.EBADMSG), ('.', errno.EBADMSG), ('none', errno.ENOENT),
                               ('link', errno.ELOOP)):  # the read does not wait for a writer
                with self.assertRaises(OSError) as caught:
                    model.read(name, fd)
                self.assertEqual(caught.exception.errno, code, name)

    def test_text(self):
        """As json-c printed it."""
        for value, want in (({}, '{ }'), ({'a': []}, '{ "a": [ ] }'), ({'a': [1.0, 0.1, 1e22, float('inf')]}, '{ "a": [ 1.0, 0.10000000000000001, 1e+22, 0.0 ] }'),
                            ({'a': [True, None, 1]}, '{ "a": [ true, null, 1 ] }'), ({'a': 'ä\x1b\x7f/\udcff'}, '{ "a": "\\u00e4\\u001b\\u007f/\\ufffd" }')):
            self.assertEqual(document.text(value, False), want)
        self.assertEqual(document.text({'a': [], 'b': {'c': 1}}), '{\n  "a": [\n  ],\n  "b": {\n    "c": 1\n  }\n}')


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/site: each link of the site leads somewhere, nothing comes from another place, the search and the filter find what is there."""

import html.parser
import json
import os
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {"", "#"}
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given.get("id"), given.get("name") if tag == "a" else None}
        if tag == "a":
            self.links.append(given.get("href", ""))
        elif "src" in given or tag == "link":
            self.loaded.append(given.get("src") or given.get("href"))


@unittest.skipUnless(shutil.which("mkdocs"), "not installed: mkdocs")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.top = cls.work.name + "/site"
        subprocess.run([os.path.join(TOP, "tools", "site"), cls.top], check=True)
        cls.pages = {os.path.join(folder, name): Page(os.path.join(folder, name))
                     for folder, _, names in os.walk(cls.top) for name in names if name.endswith(".html") and name != "404.html"}

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def test_links(self):
        self.assertGreater(len(self.pages), 20)
        for path, page in self.pages.items():
            for link in page.links:
                url = urllib.parse.urlsplit(link)
                if url.scheme or url.netloc:
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))) if url.path else path
                self.assertTrue(os.path.exists(target), "%s: %s" % (path, link))
                if target in self.pages:
                    self.assertIn(urllib.parse.unquote(url.fragment), self.pages[target].anchors, "%s: %s" % (path, link))

    def test_nothing_from_another_place(self):
        for path, page in self.pages.items():
            for url in page.loaded:
                self.assertFalse(urllib.parse.urlsplit(url).netloc, "%s: %s" % (path, url))

    def test_search(self):
        with open(self.top + "/search/search_index.json", encoding="utf-8") as file:
            found = {entry["location"].partition("#")[0] for entry in json.load(file)["docs"] if "JMS578" in entry["text"]}
        self.assertIn("docs/bridges.html", found)

    @unittest.skipUnless(shutil.which("chromium"), "not installed: chromium")
    def test_filter(self):
        def rows(query):
            text = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + self.work.name + "/chromium",
                                   "--dump-dom", "file://%s/docs/bridges.html%s" % (self.top, query)], check=True, timeout=120,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            body = text.count("<tr>") + text.count("<tr hidden")
            return body, text.count("<tr hidden")

        everything, hidden = rows("")
        self.assertEqual(hidden, 0)
        of_all, hidden = rows("?filter=JMS578+allwinner")
        self.assertEqual(of_all, everything)
        with open(os.path.join(TOP, "docs", "bridges.md"), encoding="utf-8") as file:
            fits = sum(line.startswith("| `") and "JMS578" in line and "allwinner" in line for line in file)
        tables = everything - hidden - fits  # what is left are the headings
        self.assertGreater(fits, 0)
        self.assertLess(tables, 10)


if __name__ == "__main__":
    unittest.main()

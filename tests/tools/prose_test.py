# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/lint prose: bad sentences are found, good ones pass, and only changed lines count.

    python3 tests/tools/prose_test.py        (from anywhere)
"""

import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

import prose  # noqa: E402

LONG = "The daemon waits " + "and waits " * 15 + "for the disk."


def rules(path, text, changed=None, removed=""):
    return [line.split(": ")[1] for line in prose.check(path, text, changed, removed)]


class Rules(unittest.TestCase):
    def test_bad(self):
        "Each rule finds its sentence."
        for rule, sentence in {
                "long": LONG,
                "joints": "A disk: it waits; it moves; it ends.",
                "actor": "Nobody can open it then.",
                "subject": "What is held is released.",
                "only": "The kernel lets root alone read it.",
                "verb": "The switch is taken back.",
                "word": "The disk is read anew.",
                "passive": "The file is removed by the kernel."}.items():
            self.assertEqual(rules("a.md", sentence + "\n"), [rule], sentence)

    def test_good(self):
        "Sentences that look a little like a bad one."
        for sentence in ("The kernel removes the file.", "What do I have?", "uasd cannot do that by hand.", "It is off by default.",
                         "Only root can read it.", "A mount of 2.5 GiB waits: it is in use.", "Take the back side.", " ".join(["word"] * 28) + ".",
                         "| a long | table has | short cells | and no | sentence | in it | at all | which is | why it | has no | limit |"):
            self.assertEqual(rules("a.md", sentence + "\n"), [], sentence)

    def test_kinds(self):
        "Prose of every kind of file; code is no prose."
        self.assertEqual(rules("a.c", "/* Nobody\n * reads it. */\nint nobody; char *s = \"nobody reads this\";\n"), ["actor"])
        self.assertEqual(rules("a.c", 'log_error("%s: nobody " "has it", name);\n'), ["actor"])
        self.assertEqual(rules("a.c", '/* SPDX-License-' 'Identifier: X */\nlog_error("%s: cannot read it: %s", name, strerror(r));\n'), [])
        self.assertEqual(rules("a.scd", "# NAME\n\n*x*\n\tNobody has it.\n\n```\nnobody here\n```\n"), ["actor"])
        self.assertEqual(rules("a.md", "Text.\n\n    nobody here\n\n```\nnobody here\n```\n\nThe name `nobody` is code.\n"), [])
        self.assertEqual(rules("a.catalog", "-- 1234\nSubject: Nobody has it\nDefined-By: nobody\n\nIt is free.\n"), ["actor"])
        self.assertEqual(rules("a.de.catalog", "Nobody has it.\n"), [])

    def test_parts(self):
        "Items, terms and paragraphs are separate sentences."
        item = "one two three four five six seven eight nine ten\n"
        self.assertEqual(rules("a.md", ("- " + item) * 4), [])
        self.assertEqual(rules("a.md", (item + "\n") * 4), [])
        self.assertEqual(rules("a.scd", ("*term*\n\t" + item) * 4), [])
        self.assertEqual(rules("a.md", item * 4), ["long"])

    def test_place(self):
        "A finding names the first line of its sentence, and shows if any line of it changed."
        text = "Good one.\n\nThe disk that\nnobody has\nis free.\n"
        self.assertTrue(prose.check("a.md", text, {5})[0].startswith("a.md:3: actor: \"nobody\": "))
        self.assertEqual(prose.check("a.md", text, {1, 2}), [])


class Changes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.makedirs(os.path.join(self.folder.name, "tools"))
        os.symlink(os.path.join(TOP, "tools/lint"), os.path.join(self.folder.name, "tools/lint"))
        os.symlink(os.path.join(TOP, "tests"), os.path.join(self.folder.name, "tests"))  # tools/lint imports a module from there
        self.git("init", "-q", "-b", "main")

    def git(self, *args):
        subprocess.run(["git", "-C", self.folder.name, "-c", "user.name=x", "-c", "user.email=x@localhost", *args], check=True)

    def commit(self, text, path="a.md"):
        with open(os.path.join(self.folder.name, path), "w") as file:
            file.write(text)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")

    def lint(self, *args):
        p = subprocess.run([sys.executable, os.path.join(self.folder.name, "tools/lint"), "prose", *args], capture_output=True, text=True)
        return p.returncode, p.stdout.strip()

    def test_changed(self):
        "Only changes since the previous commit. Moved lines are not new."
        self.commit("Nobody has it.\n")
        self.assertEqual(self.lint(), (77, "no earlier commit to compare with"))
        self.commit("Nobody has it.\n\nThe disk is free.\n")
        self.assertEqual(self.lint(), (0, "no findings in 1 changed files"))
        self.commit("The disk is free.\n\nIt waits. Nobody\nhas it.\n")
        self.assertEqual(self.lint()[0], 0)
        self.commit("The disk is free.\n\nIt waits. Somebody\nhas it.\n")
        status, text = self.lint()
        self.assertEqual((status, text.split(": ")[:2]), (1, ["a.md:3", "actor"]))
        self.git("rm", "-q", "a.md")
        self.git("commit", "-q", "-m", "x")
        self.assertEqual(self.lint()[0], 0)
        self.assertEqual(self.lint("--since=nonsense")[0], 2)

    def test_since(self):
        "An older commit, and the last one in origin/main."
        self.commit("Good.\n")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.commit("Nobody has it.\n")
        self.commit("x\n", "b.md")
        self.assertEqual(self.lint()[0], 1)
        self.assertEqual(self.lint("--since=HEAD~1")[0], 0)
        self.assertEqual(self.lint("--since", "HEAD~2")[0], 1)
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.lint()[0], 0)


if __name__ == "__main__":
    unittest.main()

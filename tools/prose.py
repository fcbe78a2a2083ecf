# SPDX-License-Identifier: LGPL-2.1-or-later
"""The prose of changed lines: docs/writing.md, as far as a pattern can find it.

Prose is Markdown, manual pages (scdoc), English journal catalogs, comments in C, and the strings that C passes to log_*().
A sentence that a commit only moves or folds differently is not checked.
"""

import bisect
import re
import subprocess

WORDS_MAX = 28  # the goal is 25; a rule that fails a build leaves some room
JOINTS_MAX = 2  # colons and semicolons in a sentence
WORD = re.compile(r"[A-Za-z][\w'/.-]*[\w']|[A-Za-z]")

# name, pattern, advice. Each pattern stands for a habit that readers of the project stumbled over.
PATTERNS = [
    # The reader has to guess which program or person is meant.
    ("actor", r"\b(?:[Ss]ome|[Aa]ny|[Nn]o|[Ee]very)(?:body| one)\b|\b(?:some|any|every)one\b|\b[Ww]ho(?:m|ever|mever)\b",
     "name the process, the user or the program"),
    # A clause in the place of the subject: the reader knows what the sentence is about only at its end.
    ("subject", r"^(?:What(?:ever)?|Who(?:se)?|That of|Those (?:of|that|who)|Of (?:an?|the|what|those|which|all|several))\b(?![^?]*\?$)",
     "begin with the thing that acts"),
    # "A alone" limits the word before it, which most readers learn only after they have read over it.
    ("only", r"\b(?:it|them|its?elf|\w+s|\w+ed|\w+ing|root|uas|fio) alone\b", "write \"only\" before the word that it limits"),
    # A verb with a particle has many meanings, and is missing in many dictionaries.
    ("verb", r"\b(?:t(?:ake|akes|aken|aking|ook) (?:it |them |that )?(?:back|away)|l(?:et|ets|etting) go|g(?:oes|one|oing) by|be(?:en)? rid of|"
             r"held against|(?:be|is|are|was|were) told|t(?:ell|ells|old) of|had it that)\b",
     "use the technical verb: roll back, remove, release, follow, report, print"),
    # Words that a reader who learned English late has not met.
    ("word", r"\b(?:anew|thereof|whence|hence(?:forth)?|thither|hither|betimes|besides|lest|ere|albeit|forthwith|whereupon)\b",
     "use a common word: again, also, therefore"),
    # The actor is known, and stands at the end. "by default", "by hand" and "by name" are no actors.
    ("passive", r"\b(?:is|are|was|were|be|been|being) (?:\w+ )?(?:\w+(?:ed|en|wn)|made|done|held|kept|read|sent|set|put|found) by "
                r"(?:the (?:kernel|user|daemon|helper|hook|generator|program|package|process|administrator)|an?other|uasd|uasctl|udev|systemd|PID 1|"
                r"uasd-\w+|\w+\(\))",
     "make the actor the subject"),
]
COMPILED = [(name, re.compile(pattern), advice) for name, pattern, advice in PATTERNS]


def blank(text, start, end, keep=""):
    """TEXT with START to END as blanks, so that offsets and lines stay; KEEP: instead, as one word."""
    return text[:start] + re.sub(r"[^\n]", keep or " ", text[start:end]) + text[end:]


def mask(text, pattern, keep="", flags=0):
    for match in re.finditer(pattern, text, flags):
        text = blank(text, match.start(), match.end(), keep)
    return text


def markdown(text):
    """Blocks of code, tables of figures and names of code are no prose."""
    text = mask(text, r"^```.*?^```", flags=re.M | re.S)
    text = mask(text, r"^(?: {4}|<!--).*$", flags=re.M)
    text = mask(text, r"`[^`\n]*`", "x")
    text = mask(text, r"\]\([^)\n]*\)")
    # A new item, heading, row or cell begins a sentence.
    return re.sub(r"^( *)([-*#>]|\d+\.)(?= )|\|", lambda m: m[0][:-1] + "\0", text, flags=re.M)


def manual(text):
    text = mask(text, r"^```.*?^```", flags=re.M | re.S)
    text = mask(text, r"^;.*$", flags=re.M)
    text = re.sub(r"^(\t*)([-#|]|:-|\[\[)(?= )", lambda m: m[0][:-1] + "\0", text, flags=re.M)
    # A term in bold stands on a line of its own; its text follows below a tab.
    text = re.sub(r"^(?=[*_].*\n\t)|(?<=\n)\t(?=\S)", lambda m: "\0" if m[0] else "", text, flags=re.M)
    return re.sub(r"[*_\\](?=\S)|(?<=\S)[*_]", " ", text)


def catalog(text):
    text = mask(text, r"^(?:#|-- |Defined-By:|Documentation:).*$", flags=re.M)
    return re.sub(r"^Subject:", lambda m: " " * 7 + "\0", text, flags=re.M)


def comments(text):
    """Only the comments of C, without their asterisks."""
    out, last = [], 0
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*.*?\*/|//[^\n]*', text, re.S):
        out.append(re.sub(r"[^\n]", " ", text[last:match.start()]))
        body = match[0]
        is_prose = body[0] == "/" and "SPDX-" not in body and "clang-format" not in body
        if is_prose:
            body = "\0 " + re.sub(r"(?m)^(\s*)\*(?!/)", r"\1 ", body[2:])
            body = mask(body[:-2] + "  " if match[0].endswith("*/") else body, r"`[^`\n]*`", "x")
        out.append(body if is_prose else re.sub(r"[^\n]", " ", body))
        last = match.end()
    return "".join(out) + re.sub(r"[^\n]", " ", text[last:])


def messages(text):
    """Only the strings in calls of log_*(). A comma between two of them ends a sentence."""
    code = mask(text, r"/\*.*?\*/", flags=re.S)
    out = list(re.sub(r"[^\n]", " ", code))
    for call in re.finditer(r"\blog_\w+\(", code):
        depth, at = 1, call.end()
        out[at - 1] = "\0"
        while at < len(code) and depth > 0:
            string = re.compile(r'"((?:[^"\\\n]|\\.)*)"').match(code, at)
            if string:
                out[string.start(1):string.end(1)] = re.sub(r"%[-\d.*]*[a-z]+|\\[nt]", lambda m: "x" * len(m[0]), string[1])
                at = string.end()
                continue
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            if code[at] in ",?:":
                out[at] = "\0"
            at += 1
        if at <= len(out):
            out[at - 1] = "\0"
    return "".join(out)


def prose(path, text):
    """The text of PATH in which only prose is left, once for each kind. Offsets stay; a NUL ends a sentence."""
    if path.endswith((".c", ".h")):
        return [comments(text), messages(text)]
    if path.endswith(".md"):
        return [markdown(text)]
    if path.endswith(".scd"):
        return [manual(text)]
    if path.endswith(".catalog") and not re.search(r"\.\w\w\.catalog$", path):
        return [catalog(text)]
    return []


def sentences(text):
    """(start, end) of each."""
    # A full stop in a name or a number has no blank behind it.
    for match in re.finditer(r"(?:(?!\n[ \t]*\n)[^\0.!?]|[.!?](?![\s\0)\"'*_]|\Z))+[.!?]?", text):
        lead = len(match[0]) - len(match[0].lstrip())
        if match[0].strip():
            yield match.start() + lead, match.end()


def findings(text):
    """(start, end, rule, advice) in TEXT, which is prose."""
    for start, end in sentences(text):
        sentence = " ".join(text[start:end].split())
        words = len(WORD.findall(sentence))
        if words > WORDS_MAX:
            yield start, end, "long", "%d words; make it two sentences" % words
        joints = len(re.findall(r"[:;](?=\s)", sentence.rstrip(":;")))
        if joints > JOINTS_MAX:
            yield start, end, "joints", "%d colons and semicolons; make it two sentences" % joints
        for name, pattern, advice in COMPILED:
            match = pattern.search(sentence)
            if match and words > 1:
                yield start, end, name, "\"%s\": %s" % (match[0], advice)


def check(path, text, changed=None, removed=""):
    """Lines of findings. CHANGED: the set of line numbers to look at, or None. REMOVED: words of what the commit took out."""
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    found = set()
    for piece in prose(path, text):
        for start, end, name, advice in findings(piece):
            first, last = bisect.bisect_right(starts, start), bisect.bisect_right(starts, max(start, end - 1))
            if changed is not None and changed.isdisjoint(range(first, last + 1)):
                continue
            if removed and " %s " % words_of(piece[start:end]) in removed:
                continue
            found.add((first, "%s:%d: %s: %s" % (path, first, name, advice)))
    return [line for _, line in sorted(found)]


def words_of(text):
    return " ".join(re.findall(r"\w+", text))


def read_diff(diff):
    """({path: set of the line numbers that are new}, the words of what is gone)"""
    changed, removed, path, line = {}, [], None, 0
    for one in diff.splitlines():
        if one.startswith("+++ "):
            path = one[6:].rstrip("\t") if one.startswith("+++ b/") else None
        elif one.startswith("@@"):
            line = int(re.search(r"\+(\d+)", one)[1])
        elif one.startswith("+") and path:
            changed.setdefault(path, set()).add(line)
            line += 1
        elif one.startswith("-") and not one.startswith("--- "):
            removed.append(words_of(one[1:]))
    return changed, " %s " % " ".join(filter(None, removed))


def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True, errors="replace")


def base():
    """The last commit that origin/main has, or else the one before this; None in a clone that has neither."""
    head = git("rev-parse", "--verify", "--quiet", "HEAD").stdout.strip()
    common = git("merge-base", "HEAD", "origin/main").stdout.strip()
    if common and common != head:
        return common
    return git("rev-parse", "--verify", "--quiet", "HEAD~1").stdout.strip() or None


def run(since=None):
    """The exit status: 0, 1 if there is a finding, 77 if there is nothing to compare with."""
    since = since or base()
    if not since:
        print("no earlier commit to compare with")
        return 77
    # A branch that has fallen behind must not answer for what others have changed since.
    since = git("merge-base", since, "HEAD").stdout.strip() or since
    diff = git("diff", "--no-color", "--no-ext-diff", "-U0", since, "--", "*.md", "*.scd", "*.catalog", "*.c", "*.h")
    if diff.returncode:
        print(diff.stderr.strip())
        return 2
    changed, removed = read_diff(diff.stdout)
    found = []
    for path, lines in sorted(changed.items()):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found += check(path, file.read(), lines, removed)
        except FileNotFoundError:
            continue
    print("\n".join(found) if found else "no findings in %d changed files" % len(changed))
    return 1 if found else 0

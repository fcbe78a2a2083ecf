# SPDX-License-Identifier: LGPL-2.1-or-later
"""Interactive fish and zsh with the completions on their path: their offers after a given line."""

import os
import pty
import select
import shutil
import subprocess
import time

from patience import patience

END = '\x1e'

FISH = """
set -p fish_complete_path $argv[1]
for line in $argv[2..]
    complete -C $line
    echo \\x1e
end
"""

# Added matches are written to descriptor 3. -O and -D are queries of a function, not matches.
ZSHRC = """
fpath=($COMPLETION $fpath)
autoload -Uz compinit
compinit -u -D
unsetopt beep
LISTMAX=100000
compadd() {
        local -a found
        local given=${@[1,(i)(-|--)]}
        if [[ " $given" != *\\ -[a-zA-Z0-9]#[OAD]* ]]; then
                builtin compadd -O found "$@"
                (($#found == 0)) || print -rlu 3 -- $found
        fi
        builtin compadd "$@"
}
answer() {
        local line
        while IFS= read -r -u 4 line; do
                BUFFER=$line
                CURSOR=$#BUFFER
                zle list-choices
                print -u 3 $'\\x1e'
        done
        exit
}
zle -N zle-line-init answer
"""


def environment(tree):
    """A separate home, and a uasctl on PATH, for the machine in that folder."""
    home = tree.path('home')
    program = os.path.join(home, 'bin', 'uasctl')
    tree.write(program, f'#!/bin/sh\nexec {os.path.abspath(tree.program)} {tree.top} "$@"\n')
    os.chmod(program, 0o755)
    return dict(os.environ, HOME=home, ZDOTDIR=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home, XDG_CACHE_HOME=home,
                PATH=os.path.dirname(program) + ':' + os.environ['PATH'], TERM='dumb', LC_ALL='C.UTF-8')


def by_line(text, lines):
    answers = text.replace('\r', '').split(END + '\n')
    assert len(answers) == len(lines) + 1 and not answers[-1], text
    return {line: answer.splitlines() for line, answer in zip(lines, answers)}


def fish(completion, lines, env):
    p = subprocess.run(['fish', '--no-config', '-c', FISH, completion, *lines], capture_output=True, text=True, timeout=patience(240), env=env)
    assert (p.returncode, p.stderr) == (0, ''), p.stderr
    return {line: [one.split('\t')[0] for one in found] for line, found in by_line(p.stdout, lines).items()}


def zsh(completion, lines, env):
    with open(os.path.join(env['ZDOTDIR'], '.zshrc'), 'w') as f:
        f.write(ZSHRC)
    asked, ask = os.pipe()
    found, told = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        for fd, at in (asked, 10), (told, 11):
            os.dup2(fd, at)
        os.dup2(11, 3)
        os.dup2(10, 4)
        os.execvpe('zsh', ['zsh', '-d', '-i'], dict(env, COMPLETION=completion))
    os.close(asked)
    os.close(told)
    text, screen, open_ones = b'', b'', {found, terminal}
    try:
        os.write(ask, ''.join(line + '\n' for line in lines).encode())
        os.close(ask)
        end = time.monotonic() + patience(240)
        while found in open_ones:
            ready = select.select(list(open_ones), [], [], max(end - time.monotonic(), 0))[0]
            assert ready, (text, screen)
            for fd in ready:
                try:
                    data = os.read(fd, 65536)
                except OSError:  # a terminal whose shell has ended
                    data = b''
                if not data:
                    open_ones.discard(fd)
                elif fd == found:
                    text += data
                else:
                    screen += data
    finally:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
        os.waitpid(pid, 0)
        os.close(terminal)
        os.close(found)
    return by_line(text.decode(), lines)


SHELLS = {'fish': fish, 'zsh': zsh}


def missing(shell):
    return not shutil.which(shell)

"""A command line that is nothing but a program and its arguments."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?:[A-Za-z0-9_@%+=:,./-]|'[^'\n]*'|\"[^\"$`\\!\n]*\")+")
_QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_OWN_COMMANDS = (
    "alias bg break builtin case cd command continue coproc declare dirs disown do done elif else enable "
    "esac eval exec exit export fc fg fi for function getopts hash if in jobs let local logout mapfile popd "
    "pushd read readarray readonly return select set shift shopt source suspend then time times trap type "
    "typeset ulimit umask unalias unset until wait while ."
)
_SHELL_WORDS = frozenset(_OWN_COMMANDS.split())


def plain_words(line: str) -> list[str] | None:
    """The words of a line without any shell syntax; None for every other line, and for the shell's own
    commands. What it returns is what a shell would run, and can be run without one."""
    words: list[str] = []
    rest = line.strip(" \t")
    while rest:
        found = _WORD.match(rest)
        if found is None:
            return None
        words.append(_QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or "", found[0]))
        after = rest[found.end() :]
        rest = after.lstrip(" \t")
        if rest and rest == after:
            return None
    is_plain = bool(words) and not _ASSIGNMENT.match(line.strip(" \t")) and words[0] not in _SHELL_WORDS
    return words if is_plain and words[0] else None

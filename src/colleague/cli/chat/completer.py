"""What a chat offers while one types: commands, their values, and files after `@`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from colleague.home import Home
from colleague.sessions.slash_command import completions, find_command

MOST_FILES = 50


@dataclass
class ChatCompleter(Completer):
    """`sessions` and `approvals` are told by the chat; experts and models are read when asked for."""

    home: Home
    sessions: Sequence[str] = ()
    approvals: Sequence[str] = ()
    _models: Sequence[str] | None = field(default=None, repr=False)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        del complete_event
        line = document.text_before_cursor
        word = line.split(" ")[-1].split("\n")[-1]
        if line.startswith("/"):
            for found in completions(line, {name: self._values(name) for name in _command(line)}):
                yield Completion(found, -len(word), display_meta=_help(found))
        elif word.startswith("@"):
            for path in _files(word[1:]):
                yield Completion(f"@{path}", -len(word))

    def _values(self, command: str) -> Sequence[str]:
        """An offer that cannot be made is none."""
        with contextlib.suppress(Exception):
            if command == "model":
                return self._known_models()
            if command == "experts":
                from colleague.experts.expert import listed_experts

                return [each.name for each in listed_experts(self.home)]
        known = {"sessions": self.sessions, "approve": self.approvals, "reject": self.approvals}
        return known.get(command, ())

    def _known_models(self) -> Sequence[str]:
        if self._models is None:
            from colleague.agent.models.model_list import list_models
            from colleague.config import load_settings

            found = list_models(load_settings(self.home), os.environ, folder=self.home.root)
            self._models = [each.name for each in found]
        return self._models


def _command(line: str) -> list[str]:
    """The command whose values are asked for; none while its own name is typed."""
    name, space, _ = line[1:].partition(" ")
    spec = find_command(name.lower()) if space else None
    return [spec.name] if spec else []


def _help(found: str) -> str:
    spec = find_command(found[1:]) if found.startswith("/") else None
    return spec.help if spec else ""


def _files(typed: str) -> Iterator[str]:
    head, slash, start = typed.rpartition("/")
    folder = Path(f"{head}{slash}" or ".").expanduser()
    with contextlib.suppress(OSError):
        names = sorted(folder.iterdir())[: MOST_FILES * 20]
        fitting = [each for each in names if each.name.startswith(start) and " " not in each.name]
        hidden = [each for each in fitting if start.startswith(".") or not each.name.startswith(".")]
        yield from (f"{head}{slash}{each.name}{'/' if each.is_dir() else ''}" for each in hidden[:MOST_FILES])

"""Writes docs/reference from the code: commands, settings and validation findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from colleague.cli.app import build_app
from colleague.config import known_settings
from colleague.packages.rule import RULES

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTICE = "<!-- Written by `make docs` from the code. Change the code, not this page. -->"

STATUS = {
    "works": "it has the effect that is described; one that needs something of the machine names it.",
    "not yet": "it is accepted and has no effect; `colleague config check`, `doctor` and `serve` say so.",
    "restricts": "it restricts agents and nothing enforces it yet; with a value that does, nothing starts.",
}


def pages() -> dict[str, str]:
    return {
        "commands.md": _page(_commands()),
        "settings.md": _page(_settings()),
        "findings.md": _page(_findings()),
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join([NOTICE, "", *lines]) + "\n"


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Every command takes `--debug` for the traceback of an error, and `--help`."
    yield (
        "Exit codes: 0 done; 1 the answer is no; 2 wrong usage; 3 the gateway or the database is needed "
        "and cannot be used, or another process is in the way; 4 a run that was waited for now waits "
        "for a person."
    )
    root = typer.main.get_command(build_app())
    for path, command in _leaves(root, ["colleague"]):
        yield from _command(path, command)


def _leaves(command: Any, path: list[str]) -> Iterator[tuple[list[str], Any]]:
    for name, child in getattr(command, "commands", {}).items():
        yield from _leaves(child, [*path, name])
    if not hasattr(command, "commands"):
        yield path, command


def _command(path: list[str], command: Any) -> Iterator[str]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [
        param for param in command.params if param.param_type_name == "option" and param.name != "help"
    ]
    shown = [
        f"[{param.human_readable_name}]" if not param.required else param.human_readable_name
        for param in arguments
    ]
    yield ""
    yield f"## {' '.join([*path, *shown])}"
    yield ""
    yield command.help or ""
    yield ""
    if command.epilog:
        yield from _example(command.epilog)
    for param in arguments:
        yield f"- `{param.human_readable_name}`: {param.help or ''}"
    for param in options:
        metavar = "" if param.is_flag else f" {param.metavar or param.human_readable_name.upper()}"
        yield f"- `{', '.join(param.opts)}{metavar}`: {param.help or ''}"


def _example(text: str) -> Iterator[str]:
    """The lines of the help as a block."""
    _, *lines = text.split("\n\n")
    yield from ("```sh", *lines, "```", "")


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "`colleague.json` in the home (JSON5), laid over `openclaw.json` when there is one. Texts may hold"
    yield "`${NAME}` references to the environment; `$${NAME}` is the literal text."
    yield ""
    yield "The status of a key says what is true of it in this version"
    yield "([more about that](../running-in-production.md#settings-that-have-no-effect)):"
    yield ""
    for status, text in STATUS.items():
        count = sum(setting.status == status for setting in known_settings())
        if count:
            yield f"- **{status}** ({count} keys): {text}"
    yield ""
    yield "A key that holds other keys works as far as one of them does."
    yield ""
    yield "| key | type | default | status | what it does |"
    yield "|---|---|---|---|---|"
    for each in known_settings():
        cells = (f"`{each.key}`", each.type, each.default, each.status, each.description)
        yield "| " + " | ".join(map(_cell, cells)) + " |"


def _findings() -> Iterator[str]:
    yield "# Findings"
    yield ""
    yield "What `colleague expert validate` can say."
    yield "An error keeps an expert from being used; a warning does not."
    yield "An error inside `rehearsal.yaml` keeps it only from being rehearsed."
    yield ""
    yield "| code | severity | group | rule |"
    yield "|---|---|---|---|"
    for code, (severity, group, text) in RULES.items():
        yield f"| `{code}` | {severity} | {group} | {_cell(text)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")

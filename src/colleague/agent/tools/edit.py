"""The tool that replaces parts of a file."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from colleague.agent.tool import ToolSpec
from colleague.agent.tools.arguments import ArgumentError, Arguments, flag, parameters, text
from colleague.agent.tools.changing_tool import ChangingTool
from colleague.agent.tools.page import kind_of
from colleague.agent.tools.path import MissingPath, escaped
from colleague.agent.tools.versioned import ChangeRefused

_MOST_LINES_COMPARED = 2_000
_LIKE_ENOUGH = 0.6
_MOST_PLACES = 10


@dataclass(frozen=True)
class _Edit:
    """One replacement; `number` is its place in the call."""

    number: int
    old: str
    new: str
    every: bool


class EditTool(ChangingTool):
    """`edit`: exact replacements, all of them or none."""

    spec = ToolSpec(
        name="edit",
        description=(
            "Replaces exact pieces of text in a file, one after another, all of them or none. Each old text "
            "must occur exactly once, unless replace_all is set. Works on the file's present text."
        ),
        parameters=parameters(
            "path",
            "edits",
            path=text("Path in the tree, such as state/pipeline.md"),
            edits={
                "type": "array",
                "minItems": 1,
                "description": "The replacements, in order",
                "items": parameters(
                    "old",
                    "new",
                    old=text(
                        "Text to replace, exactly as it is in the file, with enough around it to be unique"
                    ),
                    new=text("Text to put there"),
                    replace_all=flag("Replace every occurrence"),
                ),
            },
        ),
        repeatable=True,
    )

    def new_data(self, path: str, arguments: Arguments, before: bytes | None) -> bytes:
        edits = [
            _Edit(number, each.text("old"), each.text("new"), each.flag("replace_all"))
            for number, each in enumerate(arguments.each("edits"), 1)
        ]
        if before is None:
            folder, _, name = path.rpartition("/")
            raise MissingPath(path, folder, name)
        if kind := kind_of(before):
            raise ChangeRefused(f"{escaped(path)} is {kind}, which cannot be edited as text.")
        now = before.decode("utf-8", "surrogateescape")
        for edit in edits:
            now = _applied(path, now, edit)
        return now.encode("utf-8", "surrogateescape")


def _applied(path: str, now: str, edit: _Edit) -> str:
    if not edit.old:
        raise ArgumentError(f"edit {edit.number}: old is empty. Give the text to replace, or use write.")
    if edit.old == edit.new:
        raise ArgumentError(f"edit {edit.number}: old and new are the same.")
    if edit.old not in now and "\r\n" in now:
        edit = _with_carriage_returns(edit)
    places = _places(now, edit.old)
    if not places:
        raise ChangeRefused(_not_found(path, now, edit))
    if len(places) > 1 and not edit.every:
        lines = ", ".join(str(now.count("\n", 0, place) + 1) for place in places)
        raise ChangeRefused(
            f"edit {edit.number}: old occurs more than once in {escaped(path)}, at lines {lines}. Nothing "
            "was changed. Take more of the text around the one you mean or set replace_all."
        )
    return now.replace(edit.old, edit.new)


def _with_carriage_returns(edit: _Edit) -> _Edit:
    """A file from Windows is shown with plain line ends, so that is how old and new are written."""
    old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (edit.old, edit.new))
    return _Edit(edit.number, old, new, edit.every)


def _not_found(path: str, now: str, edit: _Edit) -> str:
    message = f"edit {edit.number}: old is not in {escaped(path)}. Nothing was changed. "
    if " ".join(edit.old.split()) in " ".join(now.split()):
        return message + "It is there with other spaces or line ends; read the file and copy it exactly."
    near = _nearest_line(now, edit.old.strip().partition("\n")[0].strip())
    return message + (f"The nearest is {near}" if near else "Read the file and copy the text exactly.")


def _nearest_line(now: str, wanted: str) -> str:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:200])
    best, best_ratio = "", _LIKE_ENOUGH
    for number, line in enumerate(now.split("\n")[:_MOST_LINES_COMPARED], 1):
        matcher.set_seq1(line.strip()[:200])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = f"line {number}: {line.strip()[:200]}", ratio
    return best


def _places(now: str, old: str) -> list[int]:
    """Where a text occurs, overlaps included; the first ten are enough to tell."""
    places: list[int] = []
    at = now.find(old)
    while at >= 0 and len(places) < _MOST_PLACES:
        places.append(at)
        at = now.find(old, at + 1)
    return places

"""A patch in the `*** Begin Patch` form: files that are added, changed, moved or deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from colleague.agent.tools.path import escaped
from colleague.errors import ColleagueError

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _END_OF_FILE = "*** Move to: ", "*** End of File"


class PatchError(ColleagueError):
    """A patch cannot be read, or does not fit the files."""


@dataclass(frozen=True)
class Hunk:
    """Lines that replace others, each with its sign: a space, - or +. `anchors` are lines that stand
    somewhere before them."""

    anchors: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    at_end: bool = False

    @property
    def before(self) -> list[str]:
        return [line for sign, line in self.lines if sign != "+"]


@dataclass(frozen=True)
class FilePatch:
    """What a patch does with one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    text: str = ""
    """The content of an added file."""
    hunks: tuple[Hunk, ...] = ()
    move_to: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, self.move_to) if self.move_to else (self.path,)


def parse_patch(text: str) -> list[FilePatch]:
    """Raises PatchError with the line that cannot be read."""
    lines = text.strip().replace("\r\n", "\n").split("\n")
    if lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise PatchError(f"A patch begins with the line {BEGIN} and ends with {END}.")
    reader = _Lines(lines[:-1], 1)
    found: list[FilePatch] = []
    while reader.has_more:
        found.append(_file_patch(reader))
    if not found:
        raise PatchError("The patch changes no file.")
    return found


@dataclass
class _Lines:
    """The lines of a patch, read one by one."""

    lines: Sequence[str]
    at: int

    @property
    def has_more(self) -> bool:
        return self.at < len(self.lines)

    @property
    def next(self) -> str:
        return self.lines[self.at] if self.has_more else ""

    def take(self) -> str:
        self.at += 1
        return self.lines[self.at - 1]

    def take_after(self, prefix: str) -> str | None:
        """The rest of the next line, when it begins so."""
        return self.take()[len(prefix) :].strip() if self.next.startswith(prefix) else None

    def error(self, what: str) -> PatchError:
        return PatchError(f"Line {self.at + 1} of the patch: {what}. It is {escaped(self.next)!r}.")


def _file_patch(reader: _Lines) -> FilePatch:
    if (path := reader.take_after(_ADD)) is not None:
        return FilePatch("add", path, text=_added(reader))
    if (path := reader.take_after(_DELETE)) is not None:
        return FilePatch("delete", path)
    if (path := reader.take_after(_UPDATE)) is not None:
        move_to = reader.take_after(_MOVE) or ""
        hunks = _hunks(reader)
        if not hunks and not move_to:
            raise reader.error(f"{escaped(path)} is updated without any change")
        return FilePatch("update", path, hunks=hunks, move_to=move_to)
    raise reader.error("it must be *** Add File:, *** Update File: or *** Delete File: with a path")


def _added(reader: _Lines) -> str:
    lines = []
    while reader.has_more and not reader.next.startswith("*** "):
        if not reader.next.startswith("+"):
            raise reader.error("every line of an added file begins with +")
        lines.append(reader.take()[1:])
    return "".join(f"{line}\n" for line in lines)


def _hunks(reader: _Lines) -> tuple[Hunk, ...]:
    found: list[Hunk] = []
    while reader.has_more and (not reader.next.startswith("*** ") or reader.next == _END_OF_FILE):
        found.append(_hunk(reader, is_first=not found))
    return tuple(found)


def _hunk(reader: _Lines, *, is_first: bool) -> Hunk:
    anchors: list[str] = []
    while reader.next.startswith("@@"):
        anchors.append(reader.take()[2:].strip())
    if not anchors and not is_first:
        raise reader.error("a further change begins with a line @@")
    lines: list[tuple[str, str]] = []
    while reader.has_more and (not reader.next or reader.next[0] in " +-"):
        line = reader.take()
        lines.append((line[:1], line[1:]))
    while lines and not lines[-1][0]:
        lines.pop()  # an empty line before the next heading is there for the eye
    at_end = reader.next.rstrip() == _END_OF_FILE and bool(reader.take())
    if all(sign not in ("+", "-") for sign, _ in lines):
        raise reader.error("a change needs lines that begin with + or -")
    named = tuple(each for each in anchors if each)
    return Hunk(named, tuple((sign or " ", line) for sign, line in lines), at_end)


def patched(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """The text with every hunk applied, in order. Raises PatchError for one that does not fit once."""
    end = "\r" if "\r\n" in text else ""
    has_last_end = text.endswith("\n") or not text
    lines = text.removesuffix("\n").split("\n") if text else []
    at = 0
    for number, hunk in enumerate(hunks, 1):
        place = _place(path, lines, hunk, at, number)
        size = len(hunk.before)
        new = _replaced(hunk, lines[place : place + size], end)
        lines[place : place + size] = new
        at = place + len(new)
    return "\n".join(lines) + ("\n" if lines and has_last_end else "")


def _replaced(hunk: Hunk, old: Sequence[str], end: str) -> list[str]:
    """Lines that stay, stay as they are in the file."""
    there = iter(old)
    new = []
    for sign, line in hunk.lines:
        if sign == "+":
            new.append(f"{line}{end}")
        elif sign == "-":
            next(there)
        else:
            new.append(next(there))
    return new


def _place(path: str, lines: Sequence[str], hunk: Hunk, at: int, number: int) -> int:
    """Where the lines of a hunk stand, after `at`."""
    where = f"{escaped(path)}, change {number}"
    for anchor in hunk.anchors:
        at = _anchor(where, lines, anchor, at) + 1
    if not hunk.before:
        return len(lines) if hunk.at_end or not hunk.anchors else at
    for strip in (_as_it_is, str.rstrip, str.strip):
        places = _places(lines, hunk, at, strip)
        if len(places) == 1 or (places and hunk.anchors):
            return places[0]
        if places:
            raise PatchError(_ambiguous(where, places))
    raise PatchError(
        f"{where}: its lines are not in the file{' after the change before' if at else ''}. Nothing was "
        f"changed. The first is {escaped(hunk.before[0])!r}; read the file and copy them exactly."
    )


def _ambiguous(where: str, places: Sequence[int]) -> str:
    shown = ", ".join(str(place + 1) for place in places[:10])
    return (
        f"{where}: its lines stand in more than one place, at lines {shown}. Nothing was changed. Give more "
        "of the lines around it, or a line @@ with one that stands before it."
    )


def _anchor(where: str, lines: Sequence[str], anchor: str, at: int) -> int:
    for place in range(at, len(lines)):
        if lines[place].strip() == anchor:
            return place
    raise PatchError(f"{where}: there is no line {escaped(anchor)!r} to begin from. Nothing was changed.")


def _places(lines: Sequence[str], hunk: Hunk, at: int, strip: Callable[[str], str]) -> list[int]:
    wanted, seen = list(map(strip, hunk.before)), list(map(strip, lines))
    size = len(wanted)
    last = len(seen) - size
    first = max(at, last) if hunk.at_end else at
    return [place for place in range(first, last + 1) if seen[place : place + size] == wanted]


def _as_it_is(line: str) -> str:
    return line

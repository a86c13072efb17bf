"""What an expert has learned: Markdown that a person can read and edit, one entry after another."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import quote, unquote

from colleague.errors import ColleagueError
from colleague.experts.workspace.file_name import file_name_part
from colleague.failpoints import failpoint
from colleague.files import locked, sync_folder, write_atomic
from colleague.packages.frontmatter import split_frontmatter

Confidence = Literal["high", "medium", "low"]

PACKAGE = "package"
PACKAGE_LEARNINGS = "_package.md"
ARCHIVE = "archive"

_HEADING = re.compile(r"^###(?:[ \t]+(.*))?$", re.MULTILINE)
_ID = re.compile(r"^<!-- learning: (\S+) -->[ \t]*$", re.MULTILINE)
_ID_LINE = re.compile(r"^<!-- learning: \S+ -->[ \t]*\n?", re.MULTILINE)
_FIELD = re.compile(
    r"[-*+]\s+\**(date|source|observation|correction|confidence)\**:\**(.*)", re.IGNORECASE | re.DOTALL
)
_PLAIN_SCOPE = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][a-z0-9_-]*", re.IGNORECASE)


@dataclass(frozen=True)
class LearningEntry:
    """One learning. `scope` is "package" or the name of a function; `date` is YYYY-MM-DD.

    Texts are kept tidy: plain line ends, nothing that cannot be printed, title and date on one line. An
    entry that a person wrote has no id."""

    id: str
    scope: str
    title: str
    date: str
    source: str
    observation: str
    correction: str
    confidence: Confidence = "medium"

    def __post_init__(self) -> None:
        for name in ("title", "date"):
            object.__setattr__(self, name, " ".join(_tidy(getattr(self, name)).split()))
        for name in ("source", "observation", "correction"):
            object.__setattr__(self, name, _tidy(getattr(self, name)))
        object.__setattr__(self, "confidence", _confidence(self.confidence))


def append_entry(folder: Path, entry: LearningEntry, most: int) -> bool:
    """Adds an entry to the learnings of its scope. False when its id is there, and then nothing changes.

    Over `most` entries the oldest go to the archive. They are written there first, so that a crash leaves
    them in both files and never in neither; the next append ends what it began."""
    if not entry.id:
        raise ColleagueError("a learning without an id cannot be kept", hint="use the id of its proposal")
    name = learnings_file(entry.scope)
    with locked(folder.parent / ".learnings.lock"):
        current, archive = _read(folder / name), _read(folder / ARCHIVE / name)
        if entry.id in _ids(current) or entry.id in _ids(archive):
            return False
        head, old = _split(current)
        over = max(0, len(old) + 1 - max(most, 1))
        if over:
            _archive(folder / ARCHIVE / name, entry.scope, archive, old[:over])
            failpoint("learning.archived")
        _write(folder / name, entry.scope, head, [*old[over:], _rendered(entry)])
    return True


def with_entry(folder: Path, entry: LearningEntry, most: int) -> tuple[str, str]:
    """The file of an entry's scope as it is, and as it would be with the entry; nothing is written."""
    current = _read(folder / learnings_file(entry.scope))
    head, old = _split(current)
    kept = old[max(0, len(old) + 1 - max(most, 1)) :]
    return current, _joined(entry.scope, head, [*kept, _rendered(entry)])


def scopes(folder: Path) -> list[str]:
    """What there are learnings about, as their files say; the whole package first."""
    files = sorted(folder.glob("*.md")) if folder.is_dir() else []
    found = [_scope_of(path) for path in files]
    return sorted(found, key=lambda scope: (scope != PACKAGE, scope))


def _scope_of(path: Path) -> str:
    """Frontmatter names it where a file's name does not say it exactly."""
    from colleague.packages.nodes import NodeError, parse, plain

    head = split_frontmatter(_read(path)).head
    try:
        read = plain(parse(head or "", path.name))
    except NodeError:
        read = None
    written = str(read.get("scope") or "") if isinstance(read, dict) else ""
    return written if learnings_file(written) == path.name else path.stem


def entries(folder: Path, scope: str) -> list[LearningEntry]:
    """The entries of a scope, oldest first, as far as they can be read after a person has edited them."""
    _, blocks = _split(_read(folder / learnings_file(scope)))
    return [_parsed(block, scope) for block in blocks]


def package_learnings(folder: Path) -> str:
    """The approved learnings for the whole package, as a prompt shows them."""
    return _display_path(folder / PACKAGE_LEARNINGS)


def function_learnings(folder: Path, function: str) -> str:
    """The approved learnings for one function, as they are shown when it runs."""
    return "" if function == PACKAGE else _display_path(folder / learnings_file(function))


def learnings_file(scope: str) -> str:
    """The name of a scope's file. A function's name can be anything, so it is never a path by itself."""
    return PACKAGE_LEARNINGS if scope == PACKAGE else f"{file_name_part(scope)}.md"


def _archive(path: Path, scope: str, archive: str, moved: list[str]) -> None:
    """What a crash has moved before is not added again, unless it was edited since."""
    head, kept = _split(archive)
    _write(path, scope, head, kept + [block for block in moved if block not in kept])


def _display_path(path: Path) -> str:
    return _ID_LINE.sub("", split_frontmatter(_read(path)).body).strip()


def _read(path: Path) -> str:
    """The text of a file, nothing when there is none. No byte is lost, whatever editor saved it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _write(path: Path, scope: str, head: str, blocks: list[str]) -> None:
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
        sync_folder(path.parent.parent)
    write_atomic(path, _joined(scope, head, blocks))


def _joined(scope: str, head: str, blocks: list[str]) -> str:
    return "\n\n".join([head or _frontmatter(scope), *blocks]) + "\n"


def _frontmatter(scope: str) -> str:
    written = f"function:{scope}" if scope.startswith("function:") else scope
    return f"---\nscope: {written if _PLAIN_SCOPE.fullmatch(written) else _quoted(written)}\n---"


def _quoted(text: str) -> str:
    plain = (each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08x}" for each in text)
    return f'"{"".join(plain)}"'


def _split(text: str) -> tuple[str, list[str]]:
    """What stands before the first entry, and the entries, each as it is written."""
    document = split_frontmatter(text)
    front = "\n".join(text.split("\n")[: document.body_line - 1])
    starts = [found.start() for found in _HEADING.finditer(document.body)]
    before = document.body[: starts[0]] if starts else document.body
    blocks = [document.body[start:end].rstrip() for start, end in pairwise([*starts, len(document.body)])]
    return f"{front}\n{before}".strip(), blocks


def _ids(text: str) -> set[str]:
    return {unquote(found) for found in _ID.findall(text)}


def _rendered(entry: LearningEntry) -> str:
    lines = [
        f"### {entry.title}".rstrip(),
        f"<!-- learning: {quote(entry.id, safe=':')} -->",
        "",
        _field("Date", entry.date),
        _field("Source", entry.source),
        _field("Observation", entry.observation),
        _field("Correction", entry.correction),
        _field("Confidence", entry.confidence),
    ]
    return "\n".join(lines)


def _field(name: str, text: str) -> str:
    """An item of a list. Later lines are indented, so nothing in them can begin a field or an entry."""
    first, *rest = text.split("\n")
    return "\n".join([f"- {name}: {first}".rstrip(), *(f"  {line}".rstrip() for line in rest)])


def _parsed(block: str, scope: str) -> LearningEntry:
    """Text that belongs to no field counts as observed."""
    heading, *lines = block.split("\n")
    values: dict[str, list[str]] = {}
    name, ids = "observation", _ids(block)
    for line in lines:
        field = _FIELD.match(line)
        if field:
            name = field.group(1).lower()
        if not _ID.match(line):
            values.setdefault(name, []).append(field.group(2).strip() if field else _outdented(line))
    texts = {each: "\n".join(found) for each, found in values.items()}
    return LearningEntry(
        id=min(ids, default=""),
        scope=scope,
        title=heading.lstrip("#"),
        date=texts.get("date", ""),
        source=texts.get("source", ""),
        observation=texts.get("observation", ""),
        correction=texts.get("correction", ""),
        confidence=_confidence(texts.get("confidence", "")),
    )


def _outdented(line: str) -> str:
    return line.removeprefix("  ")


def _confidence(text: str) -> Confidence:
    word = text.strip().lower()
    return cast(Confidence, word) if word in get_args(Confidence) else "medium"


def _tidy(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = ("".join(filter(_is_printed, line)).rstrip() for line in text.split("\n"))
    return "\n".join(lines).strip()


def _is_printed(character: str) -> bool:
    return character == "\t" or unicodedata.category(character) not in ("Cc", "Cs")

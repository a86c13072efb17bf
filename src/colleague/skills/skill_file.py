"""Reading a SKILL.md, whatever is found in its place: it never hangs and never raises."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.file_cache import FileCache
from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.frontmatter import MarkdownDocument, split_frontmatter
from colleague.packages.mark import Mark
from colleague.packages.nodes import Mapping, Node, NodeError, Scalar, Sequence, parse
from colleague.skills.loose_yaml import parse_loosely
from colleague.skills.skill import NAME, AllowedTool, InstallHint, SkillHead, SkillNeeds

MOST_BYTES = 16_000_000
"""No setting makes a longer one readable."""
MOST_CACHED = 5_000
_BEGINNING = "begin the file with a line of ---, name: and description:, and another line of ---"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NAMESPACES = ("openclaw", "clawdbot", "clawdis", "moltbot")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
"""With its arguments, as in `Bash(git add:*)`."""
_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_PACKAGE_FIELDS = ("package", "formula", "module", "url")


@dataclass(frozen=True)
class SkillFlaw:
    """Why a SKILL.md cannot be used, with its file and line."""

    problem: str
    hint: str = ""


@dataclass(frozen=True)
class SkillText:
    """A SKILL.md, read. `instructions` is what stands below the frontmatter."""

    head: SkillHead
    instructions: str


def read_head(file: Path, most_bytes: int) -> SkillHead | SkillFlaw:
    """The frontmatter; read again only when the file is another than before."""
    flaw = _size_flaw(file, most_bytes)
    return flaw or _cached_head(file)


def read_instructions(file: Path) -> str:
    """What stands below the frontmatter; empty when the file cannot be read any more."""
    found = _read_skill(file)
    return found.instructions if isinstance(found, SkillText) else ""


def _read_head(file: Path) -> SkillHead | SkillFlaw:
    found = _read_skill(file)
    return found.head if isinstance(found, SkillText) else found


_cached_head = FileCache(_read_head, MOST_CACHED)


def _size_flaw(file: Path, most: int) -> SkillFlaw | None:
    try:
        status = file.lstat()
    except OSError as error:
        return SkillFlaw(f"{file} cannot be read: {error.strerror}")
    if flaw := _kind_flaw(file, status.st_mode):
        return flaw
    if status.st_size > most:
        hint = "keep it short and put the rest into files beside it, or raise skills.limits.maxSkillFileBytes"
        return SkillFlaw(f"{file} has {status.st_size:,} bytes; {most:,} is the limit", hint)
    return None


def _kind_flaw(file: Path, mode: int) -> SkillFlaw | None:
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISLNK(mode):
        return SkillFlaw(f"{file} is a link, and links are not followed", "put the file itself there")
    return SkillFlaw(f"{file} is no plain file", "put a text file there")


def _read_skill(file: Path) -> SkillText | SkillFlaw:
    text = _read_text(file)
    if isinstance(text, SkillFlaw):
        return text
    shown = text.lstrip("\n")
    document = split_frontmatter(shown)
    if document.head is not None:
        return _parsed(file, document, first_line=len(text) - len(shown) + 2)
    if not document.unclosed and shown.startswith("#") and (said := _first_sentence(shown)):
        warning = (
            f"{file}:1: it has no frontmatter; its folder is its name, and its first sentence describes it"
        )
        return SkillText(SkillHead("", said, warnings=(warning,)), shown.strip())
    what = "never ends" if document.unclosed else "is missing"
    return SkillFlaw(f"{file}:1: the frontmatter {what}", _BEGINNING)


def _read_text(file: Path) -> str | SkillFlaw:
    try:
        descriptor = os.open(file, _FLAGS)
        with os.fdopen(descriptor, "rb") as opened:
            if flaw := _kind_flaw(file, os.fstat(descriptor).st_mode):
                return flaw
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        return SkillFlaw(f"{file} cannot be read: {error.strerror}")
    if len(data) > MOST_BYTES:
        return SkillFlaw(f"{file} has more than {MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return SkillFlaw(f"{file}:{line}: byte 0x{data[error.start]:02x} is not UTF-8", "save it as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parsed(file: Path, document: MarkdownDocument, *, first_line: int) -> SkillText | SkillFlaw:
    head = document.head or ""
    warnings: list[str] = []
    try:
        node = parse(head, str(file), first_line=first_line)
    except NodeError as error:
        try:
            loose = parse_loosely(head, str(file), first_line=first_line)
        except NodeError:
            return SkillFlaw(f"{error.at.file}:{error.at.line}: {error.message}", error.hint)
        node = loose.node
        warnings += loose.warnings
    findings = Findings()
    made = _head(Fields(node, "a skill", findings, Mark(str(file))), document.body, warnings)
    if findings.errors:
        return SkillFlaw(str(findings.errors[0]), findings.errors[0].hint)
    return SkillText(made, document.body.strip())


def _head(fields: Fields, body: str, warnings: list[str]) -> SkillHead:
    own = _own_metadata(fields, warnings)
    needed = own.child("requires")
    name = fields.text("name").strip()
    if name and not NAME.fullmatch(name):
        warnings.append(f"{fields.mark('name').file}:{fields.mark('name').line}: the name cannot be used")
    description = fields.text("description").strip()
    if not description:
        warnings.append(f"{fields.at.file}: it has no description, so agents cannot tell when to use it")
    return SkillHead(
        name=name if NAME.fullmatch(name) else "",
        description=description or _first_sentence(body),
        key=own.text("skillKey").strip(),
        allowed=tuple(AllowedTool.read(word) for word in _words(fields.texts("allowed-tools"))),
        needs=SkillNeeds(
            os=_names(own, "os"),
            bins=_names(needed, "bins"),
            any_bins=_names(needed, "anyBins"),
            env=_names(needed, "env"),
            config=_names(needed, "config"),
            always=_flag(own, "always", False),
        ),
        primary_env=own.text("primaryEnv").strip(),
        install=tuple(_install_hints(own, warnings)),
        homepage=(own.text("homepage") or fields.text("homepage")).strip(),
        user_invocable=_flag(fields, "user-invocable", True),
        model_invocable=not _flag(fields, "disable-model-invocation", False),
        warnings=tuple(warnings),
    )


def _own_metadata(fields: Fields, warnings: list[str]) -> Fields:
    """`metadata.openclaw`, or an older name of it; the metadata may be a text with JSON in it."""
    node = _entry(fields, "metadata")
    if isinstance(node, Scalar) and node.text.lstrip().startswith("{"):
        try:
            node = parse(node.text, node.mark.file, first_line=node.mark.line)
        except NodeError as error:
            fields.findings.add(error.code, error.at, error.message, error.hint)
    entries = node.entries if isinstance(node, Mapping) else {}
    own = next((entries[name] for name in _NAMESPACES if name in entries), None)
    if own is not None and not isinstance(own, Mapping):
        warnings.append(
            f"{own.mark.file}:{own.mark.line}: metadata.openclaw is no mapping and is passed over"
        )
        own = None
    return Fields(own, "metadata.openclaw", fields.findings, fields.mark("metadata"))


def _entry(fields: Fields, name: str) -> Node | None:
    return fields.node.entries.get(name) if fields.node else None


def _flag(fields: Fields, name: str, default: bool) -> bool:
    """Also as a word in quotes, as many write it."""
    node = _entry(fields, name)
    word = _WORDS.get(node.text.strip().lower()) if isinstance(node, Scalar) else None
    return fields.flag(name, default) if word is None else word


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    """A list of names; also one text with commas, a mapping by name, and entries that have a field name."""
    node = _entry(fields, name)
    if isinstance(node, Mapping):
        return tuple(node.entries)
    if isinstance(node, Sequence):
        named = [_named(each) for each in node.items]
        return tuple(filter(None, named)) if None not in named else fields.texts(name)
    return tuple(part.strip() for text in fields.texts(name) for part in text.split(",") if part.strip())


def _named(node: Node) -> str | None:
    """Empty for nothing; None for what has no name."""
    found = node.entries.get("name") if isinstance(node, Mapping) else node
    if not isinstance(found, Scalar):
        return None
    return "" if found.value is None else found.text.strip()


def _install_hints(own: Fields, warnings: list[str]) -> Iterator[InstallHint]:
    """They are only shown, so one of another form breaks nothing."""
    node = _entry(own, "install")
    for each in node.items if isinstance(node, Sequence) else (node,) if node else ():
        if isinstance(each, Scalar):
            yield from [InstallHint("", each.text.strip(), "")] if each.value else ()
        elif isinstance(each, Mapping) and "kind" in each.entries:
            yield _install_hint(Fields(each, "install", own.findings, own.at))
        else:
            warnings.append(f"{each.mark.file}:{each.mark.line}: an entry of install has no kind")


def _words(texts: Iterable[str]) -> Iterator[str]:
    return (word for text in texts for word in _TOOL.findall(text))


def _install_hint(fields: Fields) -> InstallHint:
    what = next((fields.text(name) for name in _PACKAGE_FIELDS if fields.has(name)), "")
    return InstallHint(fields.text("kind"), what, fields.text("label"), fields.texts("os"))


def _first_sentence(body: str) -> str:
    lines = (line.strip() for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")

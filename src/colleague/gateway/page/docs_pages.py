"""The documentation: Markdown files of this project as pages, with navigation and search."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from colleague.docs_location import docs_folder

FIRST = "about"
"""What is shown where no page is named."""
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start", ("about", "getting-started", "concepts", "page")),
    ("Experts", ("managing-experts", "writing-an-expert", "triggers", "approvals", "private-knowledge")),
    (
        "Agents",
        (
            "chat",
            "agents",
            "sessions",
            "tools",
            "skills",
            "reminders",
            "streaming",
            "context",
            "plugins",
            "sandbox",
        ),
    ),
    ("Running it", ("models", "mcp", "gateway", "running-in-production", "tracing", "troubleshooting")),
    ("Inside", ("architecture", "durable", "security", "contributing")),
    ("Reference", ("reference/commands", "reference/settings", "reference/findings")),
)
SHORT = {
    "about": "What it is",
    "chat": "Chat",
    "mcp": "MCP",
    "reminders": "Reminders and order",
    "streaming": "Streaming",
}
"""In the navigation, where a title is a sentence."""
PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}
MOST_HITS = 30
_AROUND = 90
_AWAY = ("http", "https")

PageLink = Callable[[str, str], str]
"""The address of a page or a picture, by its name, and a fragment."""


@dataclass(frozen=True)
class DocsPage:
    """One rendered page; `body` is HTML. `headings` are ids and texts of its second level."""

    name: str
    title: str
    body: str
    headings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DocsHit:
    """Where words were found: a page, the heading over them, and the text around them."""

    name: str
    title: str
    heading: str
    fragment: str
    text: str


@dataclass(frozen=True)
class DocsSection:
    """A part of a page under one heading, as plain text."""

    heading: str
    fragment: str
    text: str


@dataclass(frozen=True)
class DocsFolder:
    """The Markdown files of one folder. They are ours, so what is in them is believed."""

    root: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """In the order of the navigation, as far as they are there."""
        listed = [name for _, names in GROUPS for name in names]
        return tuple(name for name in listed if self._file(name).is_file())

    def groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Names and titles, group by group."""
        found = [
            (group, [(name, SHORT.get(name) or self.title(name)) for name in names if name in self.names])
            for group, names in GROUPS
        ]
        return [each for each in found if each[1]]

    def title(self, name: str) -> str:
        return self._titles[name]

    @cached_property
    def _titles(self) -> dict[str, str]:
        found = {name: re.search(r"^# (.+)$", self._text(name), re.MULTILINE) for name in self.names}
        return {name: match[1].strip() if match else name for name, match in found.items()}

    def page(self, name: str, link: PageLink) -> DocsPage | None:
        if name not in self.names:
            return None
        tokens = _markdown().parse(self._text(name))
        found = _headings(tokens)
        for token in _all(tokens):
            self._relink(token, name, link)
            if token.type == "table_open":
                token.attrs["tabindex"] = 0  # a wide one is scrolled with the keyboard
        body = str(_markdown().renderer.render(_open_links(tokens), _markdown().options, {}))
        body = body.replace("<pre>", '<pre tabindex="0">')  # on a phone they are scrolled, by keyboard, too
        second = tuple((anchor, text) for level, anchor, text in found if level == 2)
        return DocsPage(name, self.title(name), body, second)

    def picture(self, name: str) -> Path | None:
        """A picture beside the pages; None for anything else."""
        file = self.root / name
        inside = posixpath.normpath(name) == name and not name.startswith(("/", ".."))
        return file if inside and file.suffix in PICTURES and file.is_file() else None

    def search(self, text: str) -> list[DocsHit]:
        """Sections that have all the words; those with a word in the heading first."""
        words = text.lower().split()
        if not words:
            return []
        found = [
            (all(word in f"{self.title(name)} {part.heading}".lower() for word in words), name, part)
            for name in self.names
            for part in self._sections[name]
            if all(word in f"{part.heading}\n{part.text}".lower() for word in words)
        ]
        found.sort(key=lambda each: not each[0])
        return [
            DocsHit(name, self.title(name), part.heading, part.fragment, _around(part.text, words[0]))
            for _, name, part in found[:MOST_HITS]
        ]

    @cached_property
    def index_script(self) -> str:
        """Every section, for the search of static/docs.js: a script, since files cannot fetch one another."""
        found = [
            [name, self.title(name), part.heading, part.fragment, part.text]
            for name in self.names
            for part in self._sections[name]
            if part.text or part.heading
        ]
        return f"colleagueDocs({json.dumps(found, ensure_ascii=False, separators=(',', ':'))});\n"

    @cached_property
    def _sections(self) -> dict[str, list[DocsSection]]:
        return {name: list(_sections_of(self._text(name))) for name in self.names}

    def _relink(self, token: Token, page: str, link: PageLink) -> None:
        """Addresses between files become addresses between pages; those of other files lead nowhere."""
        key = {"link_open": "href", "image": "src"}.get(token.type)
        if key is None:
            return
        parts = urlsplit(str(token.attrs[key]))
        if parts.scheme in _AWAY:
            token.attrs["rel"] = "noreferrer"
            return
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
        target = page if not parts.path else FIRST if path == "README.md" else path.removesuffix(".md")
        known = target in self.names or (key == "src" and self.picture(target) is not None)
        token.attrs[key] = link(target, parts.fragment) if known else ""

    def _text(self, name: str) -> str:
        return self._file(name).read_text(encoding="utf-8")

    def _file(self, name: str) -> Path:
        return self.root / f"{name}.md"


def find_docs() -> DocsFolder:
    """The documentation of this installation: in the package, or beside it in the repository."""
    return _found()


@cache
def _found() -> DocsFolder:
    return DocsFolder(docs_folder())


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _headings(tokens: Sequence[Token]) -> list[tuple[int, str, str]]:
    """Gives each heading the id that GitHub gives it: level, id and text."""
    found, used = [], dict[str, int]()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(each.content for each in inline.children or ())
            anchor = _slug(text, used)
            opening.attrs["id"] = anchor
            found.append((int(opening.tag[1:]), anchor, text))
    return found


def _sections_of(text: str) -> Iterator[DocsSection]:
    tokens = _markdown().parse(text)
    anchors = iter(_headings(tokens))
    heading, fragment, lines, is_heading = "", "", list[str](), False
    for token in tokens:
        if token.type == "heading_open":
            yield DocsSection(heading, fragment, " ".join(lines))
            (_, fragment, heading), lines = next(anchors), []
            is_heading = True
        elif token.type == "heading_close":
            is_heading = False
        elif not is_heading and token.content and token.type != "html_block":
            lines.append(_plain(token.content))
    yield DocsSection(heading, fragment, " ".join(lines))


def _slug(text: str, used: dict[str, int]) -> str:
    slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    count = used.get(slug, 0)
    used[slug] = count + 1
    return f"{slug}-{count}" if count else slug


def _open_links(tokens: list[Token]) -> list[Token]:
    """Without the marks of links that lead nowhere; their text stays."""
    for token in tokens:
        if token.children:
            token.children = list(_without_dead(token.children))
    return tokens


def _without_dead(children: Sequence[Token]) -> Iterator[Token]:
    dead = False
    for token in children:
        if token.type == "link_open":
            dead = token.attrs["href"] == ""
        if not (dead and token.type in ("link_open", "link_close")):
            yield token
        if token.type == "link_close":
            dead = False


def _plain(text: str) -> str:
    """Markdown as it reads: the text of links without their addresses, no marks of code."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", "")


def _around(text: str, word: str) -> str:
    at = max(0, text.lower().find(word))
    begin, end = max(0, at - _AROUND), at + _AROUND
    return f"{'…' if begin else ''}{text[begin:end].strip()}{'…' if end < len(text) else ''}"

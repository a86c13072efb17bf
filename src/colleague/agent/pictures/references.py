"""Pictures that a text refers to: paths, file:// and web addresses, [[media:...]] and Markdown images."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
MOST_CHARACTERS = 200_000
"""Of a text; what stands further down is not looked at."""

_REFERENCE = re.compile(
    r"""
      \[\[media:(?P<media>[^\[\]\n]{1,2000}+)\]\]
    | !\[[^\[\]\n]{0,500}+\]\([ ]?(?:<(?P<angled>[^<>\n]{1,2000}+)>|(?P<markdown>[^()<>\s]{1,2000}+))
      (?:[ ]+["'][^"'\n]{0,300}+["'])?[ ]?\)
    | (?P<address>(?:https?|file)://[^\s<>"'`()\[\]]{1,2000}+)
    | ["'`](?P<quoted>[^"'`\n]{1,500}+)["'`]
    | (?P<plain>(?:\\[^\n]|[^\s"'`<>()\[\]{}|,;:*?!\\])++)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)


@dataclass(frozen=True)
class Reference:
    """`target` is a path or a web address. An `explicit` one can only be meant as a picture: when nothing is
    there, that is said. Other words may look like the name of a file by chance."""

    target: str
    explicit: bool

    @property
    def is_web(self) -> bool:
        return self.target.casefold().startswith(("http://", "https://"))


def references(text: str) -> list[Reference]:
    """In the order of the text, each target once."""
    found: dict[str, Reference] = {}
    for reference in _found(text[:MOST_CHARACTERS]):
        found.setdefault(reference.target, reference)
    return list(found.values())


def _found(text: str) -> Iterator[Reference]:
    place = 0
    while match := _REFERENCE.search(text, place):
        kind, written = match.lastgroup or "", match[match.lastgroup or 0]
        place = match.end()
        if kind == "quoted" and not _is_picture(written):
            place = match.start() + 1  # an apostrophe, perhaps: look at what follows it
            continue
        target = _target(kind, written.strip())
        if target and (kind in ("media", "angled", "markdown") or _is_picture(_without_query(target))):
            yield Reference(target, kind not in ("quoted", "plain"))


def _target(kind: str, written: str) -> str:
    """The path or web address that is meant; nothing for an address that is neither."""
    if kind == "plain":
        return re.sub(r"\\(.)", r"\1", written.removeprefix("@")).rstrip(".")
    if written.casefold().startswith("file://"):
        return _file_path(written)
    if written.casefold().startswith(("http://", "https://")):
        return written.rstrip(".,;:!?")
    if _SCHEME.match(written):
        return ""
    return unquote(written) if kind in ("angled", "markdown") else written


def _file_path(url: str) -> str:
    try:
        parts = urlsplit(url.rstrip(".,;:!?"))
    except ValueError:
        return ""
    return unquote(parts.path) if parts.netloc.casefold() in ("", "localhost") else ""


def _without_query(target: str) -> str:
    """Without the query of a web address."""
    return target.partition("?")[0].partition("#")[0] if "://" in target else target


def _is_picture(path: str) -> bool:
    return path.casefold().endswith(ENDINGS)

"""The tools of a server as a person has them in mind, kept in a file, and what differs from that now.

The first list counts as known: whoever adds a server accepts its tools. What a later list changes is shown
until a person accepts it. A new tool, or one that did not say so before, is not believed to only read."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from colleague.errors import ColleagueError
from colleague.file_cache import FileCache
from colleague.files import locked, write_atomic
from colleague.mcp.log import safe_name
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.tool_difference import ToolDifference, difference_lines, tool_text

_MOST_SHOWN = 20


class ToolsChanged(ColleagueError):
    """The tools are not the ones that were looked at."""


@dataclass(frozen=True)
class KnownTool:
    """What is remembered of one tool."""

    description: str
    schema: str
    read_only: bool
    idempotent: bool = False
    text: str = field(default="", compare=False)
    """What a person is shown of it: description, parameters, hints. Empty in older records."""

    @classmethod
    def of(cls, tool: McpTool) -> KnownTool:
        said = f"{tool.title}\n{tool.description}"
        hints = (tool.read_only, tool.idempotent)
        return cls(_digest(said), _digest(tool.input_schema), *hints, tool_text(tool))


@dataclass(frozen=True)
class ToolRecord:
    """The record of one server."""

    file: Path
    cache: FileCache[dict[str, Any]]

    @classmethod
    def of(cls, folder: Path, server: str) -> ToolRecord:
        return cls(folder / "tools" / f"{safe_name(server)}.json", FileCache(_read))

    def compare(self, listed: Iterable[McpTool], launch_digest: str) -> None:
        """Writes a list down. The first one of a server counts as accepted."""
        now = {each.name: KnownTool.of(each) for each in listed}
        stored = self._stored()
        if stored.get("launch") != launch_digest:
            self._write(launch_digest, accepted=now, latest=now)
        elif _known(stored, "latest") != now:
            self._write(launch_digest, accepted=_known(stored, "accepted"), latest=now)

    def believed(self, tools: Iterable[McpTool]) -> list[McpTool]:
        """The tools as they may be used until a person accepts what changed."""
        stored = self._stored()
        return [_believed(each, _known(stored, "accepted")) for each in tools] if stored else list(tools)

    def accept(self, digest: str = "") -> tuple[str, ...]:
        """What was listed last is known from now on; the changes that this covers.

        `digest` is of the list that a person looked at; another one raises ToolsChanged."""
        stored = self._stored()
        if digest and digest != self.digest():
            raise ToolsChanged("the tools are not the ones you looked at", hint="look at them again")
        if not stored:
            return ()
        accepted, latest = _known(stored, "accepted"), _known(stored, "latest")
        self._write(stored["launch"], accepted=latest, latest=latest)
        return _changes(accepted, latest)

    def changes(self) -> tuple[str, ...]:
        """As of the list that was seen last; no server is asked."""
        return tuple(each.change for each in self.differences())

    def differences(self) -> tuple[ToolDifference, ...]:
        """The same changes, with the lines that differ."""
        stored = self._stored()
        if not stored:
            return ()
        return _differences(_known(stored, "accepted"), _known(stored, "latest"))

    def digest(self) -> str:
        """Of the list that was seen last."""
        return _digest(self._stored().get("latest"))

    def _stored(self) -> dict[str, Any]:
        try:
            return self.cache(self.file)
        except (OSError, ValueError):
            return {}

    def _write(
        self, launch: str, *, accepted: Mapping[str, KnownTool], latest: Mapping[str, KnownTool]
    ) -> None:
        """A full disk costs the record, not the server."""
        parts = {"accepted": accepted, "latest": latest}
        document = {name: {key: vars(each) for key, each in part.items()} for name, part in parts.items()}
        with contextlib.suppress(OSError), locked(self.file.with_suffix(".lock")):
            write_atomic(self.file, json.dumps({"launch": launch, **document}))


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _known(stored: Mapping[str, Any], part: str) -> dict[str, KnownTool]:
    return {name: KnownTool(**each) for name, each in stored[part].items()}


def _believed(tool: McpTool, accepted: Mapping[str, KnownTool]) -> McpTool:
    """Neither "it only reads" nor "twice is once" counts where it was not said to a person."""
    known = accepted.get(tool.name)
    reads, repeats = (known.read_only, known.idempotent) if known else (False, False)
    if (reads or not tool.read_only) and (repeats or not tool.idempotent):
        return tool
    read_only = tool.read_only and reads
    return replace(
        tool, read_only=read_only, idempotent=tool.idempotent and repeats, destructive=not read_only
    )


def _changes(accepted: Mapping[str, KnownTool], now: Mapping[str, KnownTool]) -> tuple[str, ...]:
    return tuple(each.change for each in _differences(accepted, now))


def _differences(
    accepted: Mapping[str, KnownTool], now: Mapping[str, KnownTool]
) -> tuple[ToolDifference, ...]:
    found = [
        ToolDifference(f"{name!r} is new", difference_lines("", each.text))
        for name, each in now.items()
        if name not in accepted
    ]
    found += [ToolDifference(f"{name!r} is gone") for name in accepted if name not in now]
    for name, each in now.items():
        if name in accepted and (before := accepted[name]) != each:
            change = f"{name!r} has changed: {_difference(before, each)}"
            found.append(ToolDifference(change, difference_lines(before.text, each.text)))
    more = len(found) - _MOST_SHOWN
    return (*found[:_MOST_SHOWN], *([ToolDifference(f"{more:,} more changes")] if more > 0 else []))


def _difference(before: KnownTool, now: KnownTool) -> str:
    parts = ["its description"] * (before.description != now.description)
    parts += ["its schema"] * (before.schema != now.schema)
    if now.read_only and not before.read_only:
        parts.append("it says that it only reads now, which is not believed yet")
    elif before.read_only and not now.read_only:
        parts.append("it no longer says that it only reads")
    return ", ".join(parts)


def _digest(seen: Any) -> str:
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:32]

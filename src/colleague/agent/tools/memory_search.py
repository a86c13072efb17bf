"""The tool that finds what the agent wrote down before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from colleague.agent.tool import ToolOutput, ToolSpec
from colleague.agent.tools.arguments import ArgumentError, Arguments, number, parameters, text
from colleague.agent.tools.memory_index import Hit, MemoryHits, MemoryIndex
from colleague.agent.tools.memory_passages import Passage
from colleague.agent.tools.memory_tool import MemoryTool
from colleague.agent.tools.path import escaped

SOURCE = "memory"
_USUAL = 6
_MOST = 50
_MOST_IN_EXCERPT = 700
_MOST_IN_QUERY = 2_000
_MOST_NOTES = 5


class MemorySearchTool(MemoryTool):
    """`memory_search`: passages of the memory, best first."""

    spec = ToolSpec(
        name="memory_search",
        description=(
            "Searches your long-term memory (MEMORY.md and memory/*.md) for words. Use it before you answer "
            "about earlier work, decisions, dates, people or preferences. Answers the path, the lines, the "
            "heading and an excerpt of each passage, best first; read more of one with memory_get."
        ),
        parameters=parameters(
            "query",
            query=text("The words to look for; other forms of a word are found too"),
            maxResults=number(f"How many passages at most; {_USUAL} when not given"),
        ),
        read_only=True,
        repeatable=True,
    )

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index

    async def answer(self, arguments: Arguments) -> ToolOutput:
        words = _words(arguments.text("query"))
        limit = arguments.number("maxResults", _USUAL, most=_MOST)
        found = await asyncio.to_thread(self._index.search, words, limit)
        parts = [_hit_text(hit, words) for hit in found.hits] or [_nothing(found)]
        notes = _notes(found.notes)
        return ToolOutput("\n\n".join([*parts, notes] if notes else parts), source=SOURCE)


def _words(query: str) -> list[str]:
    """What can be looked for in a query: whatever has a letter or a digit in it."""
    plain = "".join(each if each.isprintable() else " " for each in query[:_MOST_IN_QUERY])
    words = [word for word in plain.split() if any(map(str.isalnum, word))]
    if not words:
        raise ArgumentError("memory_search: the query has no word to look for.")
    return list(dict.fromkeys(words))


def _nothing(found: MemoryHits) -> str:
    if found.files:
        return f"[nothing was found in {found.files:,} files; try other words]"
    return "[there is no memory yet: neither MEMORY.md nor a file in memory/ exists]"


def _notes(notes: Sequence[str]) -> str:
    lines = [f"[not searched: {note}]" for note in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        lines.append(f"[not searched: {len(notes) - _MOST_NOTES:,} more]")
    return "\n".join(lines)


def _hit_text(hit: Hit, words: Sequence[str]) -> str:
    where, passage = escaped(hit.path), hit.passage
    lines = (
        f"line {passage.first}" if passage.first == passage.last else f"lines {passage.first}-{passage.last}"
    )
    heading = f", under {passage.heading!r}" if passage.heading else ""
    return f"{where}, {lines}{heading}\n{_excerpt(passage, words)}"


def _excerpt(passage: Passage, words: Sequence[str]) -> str:
    """The lines around the one with the most words, each with its number."""
    lines = passage.text.split("\n")
    looked_for = [word.casefold().strip("\"'.,;:!?()[]") for word in words]
    counts = [sum(word in line.casefold() for word in looked_for) for line in lines]
    start = max(counts.index(max(counts)) - 1, 0)
    shown, left = [], _MOST_IN_EXCERPT
    for offset, line in enumerate(lines[start:], passage.first + start):
        shown.append(f"{offset:>6}  {_around(line, looked_for, left)}")
        left -= len(line)
        if left <= 0:
            break
    return "\n".join(shown)


def _around(line: str, words: Sequence[str], most: int) -> str:
    """A line, or the part of a long one where the first word stands."""
    if len(line) <= most:
        return line
    places = [place for word in words if (place := line.casefold().find(word)) >= 0]
    start = max(min(places, default=0) - most // 4, 0)
    return f"{'...' if start else ''}{line[start : start + most]}{'...' if start + most < len(line) else ''}"

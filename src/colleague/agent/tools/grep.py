"""The tool that searches in files. No pattern can hang it: the search is a process, stopped in time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import ArgumentError, Arguments, flag, number, parameters, text
from colleague.agent.tools.file_tool import FileTool
from colleague.agent.tools.glob import Glob
from colleague.agent.tools.page import kind_of
from colleague.agent.tools.path import escaped

_MOST = 200
_MOST_CONTEXT = 20
_MOST_BYTES = 32_000_000
_CHILD = Path(__file__).with_name("grep_child.py")


@dataclass(frozen=True)
class _Gathered:
    """The files to search, as the child reads them."""

    stream: bytes
    complete: bool


class GrepTool(FileTool):
    """`grep`: lines that match a regular expression."""

    seconds = 5.0

    spec = ToolSpec(
        name="grep",
        description=(
            "Searches files for lines that match a regular expression (Python syntax). "
            "Answers path:line: text, and path-line- text for lines around a match."
        ),
        parameters=parameters(
            "pattern",
            pattern=text("Regular expression, matched line by line"),
            path=text("Folder or file to search; all of the tree when not given"),
            glob=text("Only files whose path matches, such as *.md"),
            ignore_case=flag("Capitals make no difference"),
            literal=flag("The pattern is plain text, not a regular expression"),
            context=number("Lines to show before and after each match"),
            limit=number(f"How many matches at most; {_MOST} when not given"),
        ),
        read_only=True,
        repeatable=True,
    )

    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        path = arguments.text("path", ".")
        order = {
            "pattern": arguments.text("pattern"),
            "literal": arguments.flag("literal"),
            "ignore_case": arguments.flag("ignore_case"),
            "context": arguments.number("context", 0, least=0, most=_MOST_CONTEXT),
            "limit": arguments.number("limit", _MOST),
        }
        glob = Glob(arguments.text("glob", "**"))
        seconds = min(self.seconds, request.timeout or self.seconds)
        lines = await asyncio.to_thread(self._search, path, glob, order, seconds)
        return ToolOutput("\n".join(lines) or "[nothing matches]", source=self.source(path))

    def _search(self, path: str, glob: Glob, order: dict[str, Any], seconds: float) -> list[str]:
        gathered = self._gather(path, glob)
        messages = _run(json.dumps(order).encode() + b"\n" + gathered.stream, seconds)
        lines = list(_lines(messages, order["context"]))
        if not gathered.complete:
            lines.append(f"[only the first {_MOST_BYTES:,} bytes were searched; name a folder or a glob]")
        return lines + _ending(messages, seconds)

    def _gather(self, path: str, glob: Glob) -> _Gathered:
        walked = self.tree.walk(path)
        entries = [each for each in walked.entries if glob.matches(each.path)]
        parts, left = [], _MOST_BYTES
        for content in self.tree.contents(entries):
            left -= len(content.data)
            if left < 0:
                break
            if not kind_of(content.data):
                header = json.dumps({"path": content.path, "size": len(content.data)})
                parts.append(header.encode() + b"\n" + content.data)
        return _Gathered(b"".join(parts), walked.complete and left >= 0)


def _run(stream: bytes, seconds: float) -> list[dict[str, Any]]:
    """What the child said, as far as it came."""
    command = [sys.executable, "-I", "-S", str(_CHILD)]
    try:
        said = subprocess.run(
            command, input=stream, capture_output=True, timeout=seconds, check=False, env={}
        ).stdout
    except subprocess.TimeoutExpired as stopped:
        said = stopped.stdout or b""
    return [json.loads(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n")]


def _lines(messages: list[dict[str, Any]], context: int) -> Iterator[str]:
    before = None
    for each in messages:
        if "line" not in each:
            continue
        here = (each["path"], each["line"])
        if context and before not in (None, (here[0], here[1] - 1)):
            yield "--"
        before = here
        mark = ":" if each["hit"] else "-"
        rest = f" [{each['rest']} more characters]" if each["rest"] else ""
        yield f"{escaped(each['path'])}{mark}{each['line']}{mark} {each['text']}{rest}"


def _ending(messages: list[dict[str, Any]], seconds: float) -> list[str]:
    for each in messages:
        if "error" in each:
            raise ArgumentError(
                f"The pattern is not a regular expression that can be used: {each['error']}. "
                "Put a backslash before special characters, or set literal."
            )
    if messages and "done" in messages[-1]:
        return ["[more lines match; raise limit, or narrow the pattern]"] if messages[-1]["more"] else []
    at = next((each["searching"] for each in reversed(messages) if "searching" in each), "")
    where = f" in {escaped(at)}" if at else ""
    return [f"[stopped after {seconds:g} seconds{where}; use a simpler pattern or a smaller folder]"]

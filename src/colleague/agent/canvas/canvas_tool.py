"""The tool with which an agent shows a document, a table or a chart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from colleague.agent.canvas.content import CHARTS, KINDS, checked_content, checked_title
from colleague.agent.canvas.text_view import canvas_text
from colleague.agent.gate import Verdict
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import Arguments, parameters, text
from colleague.config import Settings
from colleague.errors import ColleagueError, UsageError
from colleague.store.canvases import NewCanvas, canvas_documents, find_canvas, get_version, put_canvas
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry
from colleague.store.tx import Database, Tx

ACTIONS = ("show", "list", "read")
_DESCRIPTION = (
    "Shows people a document (Markdown), a table, a chart, or HTML as source, beside your answer, where it "
    "can be opened at any time. show returns its id; show with that id adds a version to it. list and read "
    "return what you have shown."
)
_VALUES = {"type": "array", "items": {"type": ["number", "null"]}}
_CHART = {
    "type": "object",
    "description": "For a chart",
    "properties": {
        "type": {"type": "string", "enum": list(CHARTS)},
        "labels": {"type": "array", "items": {"type": "string"}},
        "series": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "values": _VALUES},
                "required": ["name", "values"],
            },
        },
    },
    "required": ["type", "labels", "series"],
}
_PARAMETERS = parameters(
    "action",
    action={"type": "string", "enum": list(ACTIONS), "description": "What to do."},
    id=text("For read, and for show to add a version: the canvas"),
    title=text("For show: what it is called"),
    kind={"type": "string", "enum": list(KINDS), "description": "For show."},
    text=text("For a document: Markdown; for html: the source"),
    columns={"type": "array", "items": {"type": "string"}, "description": "For a table"},
    rows={"type": "array", "items": {"type": "array"}, "description": "For a table: one list for each row"},
    chart=_CHART,
)


@dataclass(frozen=True)
class CanvasTools:
    """Gives `canvas`."""

    database: Database

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        return (CanvasTool(self.database, entry),)


@dataclass(frozen=True)
class CanvasTool:
    """`canvas`: what one agent shows."""

    database: Database
    entry: SessionEntry

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="canvas",
            description=_DESCRIPTION,
            parameters=_PARAMETERS,
            repeatable=True,
            own_verdict=lambda _: Verdict("allow", "auto"),
        )

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            return await self._act(Arguments.of(self.spec, request.arguments), request)
        except ColleagueError as error:
            return refused(error)

    async def _act(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        action = arguments.text("action")
        if action == "show":
            return ToolOutput(await self._show(arguments, request))
        if action == "list":
            mine = await self.database.read(lambda tx: canvas_documents(tx, agent_id=self.entry.agent_id))
            return ToolOutput(json.dumps(mine, ensure_ascii=False, indent=1), source="canvas")
        if action == "read":
            wanted = arguments.text("id")
            return await self.database.read(lambda tx: self._read(tx, wanted))
        raise UsageError(f"there is no action {action!r}", hint=f"one of: {', '.join(ACTIONS)}")

    async def _show(self, arguments: Arguments, request: ToolRequest) -> str:
        """Watchers are told by the end of the call, whose result this is."""
        kind, title = arguments.text("kind"), checked_title(arguments.text("title"))
        content = json.dumps(checked_content(kind, request.arguments), ensure_ascii=False)
        new = NewCanvas(title, kind, content, request.run_id, request.key)
        wanted = arguments.text("id", "").strip() or None
        made = await self.database.write(
            lambda tx: put_canvas(
                tx, new, agent_id=self.entry.agent_id, session_key=self.entry.key, canvas_id=wanted
            )
        )
        shown: dict[str, Any] = {"canvas": made.canvas_id, "version": made.version}
        return json.dumps(shown | {"title": made.title, "kind": made.kind}, ensure_ascii=False)

    def _read(self, tx: Tx, ending: str) -> ToolOutput:
        canvas = find_canvas(tx, ending)
        if canvas.agent_id != self.entry.agent_id:
            raise UsageError(f"there is no canvas {ending!r}", hint="list shows yours")
        shown = get_version(tx, canvas.id, canvas.version)
        return ToolOutput(canvas_text(shown.kind, json.loads(shown.content)), source=f"canvas:{canvas.id}")

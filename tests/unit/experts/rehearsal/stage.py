"""The framework's part in a rehearsal, played in a few lines: tools, files, attempts and the transcript."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition

from colleague.agent.models.messages import from_json, to_json
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.think import think
from colleague.agent.render import wrapped
from colleague.agent.tool import ToolSpec
from colleague.agent.toolbox import checked_arguments
from colleague.agent.tools.arguments import parameters
from colleague.experts.rehearsal.walkthrough import walkthrough_model
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.parameter import object_schema
from colleague.packages.process import Process

DRAFTED = "Left as a draft for a person; this step is done."
MOST_TURNS = 300
TEXT, OBJECT = {"type": "string"}, {"type": "object"}
STATUS = {"enum": ["done", "skipped", "failed"]}
NATIVE = {
    "read": parameters("path", path=TEXT, offset={"type": "integer"}, limit={"type": "integer"}),
    "write": parameters("path", "text", path=TEXT, text=TEXT),
    "ls": parameters(path=TEXT),
    "mark_step": parameters(
        "step", "status", "note", step={"type": "integer", "minimum": 1}, status=STATUS, note=TEXT
    ),
    "function_result": parameters("function", "outputs", function=TEXT, outputs=OBJECT),
    "complete": parameters("narrative", "outputs", narrative=TEXT, outputs=OBJECT),
    "escalate": parameters("reason", reason=TEXT),
}


@dataclass(frozen=True)
class Said:
    """A result: the text as a model sees it, and whether the call did what it should."""

    text: str
    ok: bool = True


Answerer = Callable[[str, dict[str, Any]], Said]


def data(document: Any, source: str = "mcp:office/tool") -> Said:
    text = document if isinstance(document, str) else json.dumps(document)
    return Said(wrapped(text, source))


def error(text: str) -> Said:
    return Said(text, ok=False)


@dataclass
class Stage:
    """One run. `operations` are the schemas of what is bound; `answer` says what an operation returns."""

    package: Package
    process: Process | None
    inputs: Mapping[str, Any]
    operations: Mapping[str, Any]
    answer: Answerer
    function: Function | None = None
    native: Mapping[str, Any] = field(default_factory=lambda: dict(NATIVE))
    files: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    marks: list[tuple[int, str, str]] = field(default_factory=list)
    messages: list[ModelMessage] = field(default_factory=list)
    outputs: dict[str, Any] | None = None
    narrative: str = ""
    attempts: int = 1
    faults: dict[str, list[Said]] = field(default_factory=dict)
    """What a tool answers first, before it does its work."""

    def __post_init__(self) -> None:
        self.files = {entry.path: self._shipped(entry.path) for entry in self.package.entries} | self.files
        self._seen: dict[str, str] = {}
        self.say("Begin.")

    def _shipped(self, path: str) -> str:
        return (self.package.root / path).read_bytes().decode("utf-8", "replace")

    def say(self, text: str) -> None:
        self.messages.append(ModelRequest(parts=[UserPromptPart(content=text)]))

    def run(self, most_attempts: int = 3) -> Stage:
        """To `complete`, to a text without a call, or to the end of the last attempt."""
        for _ in range(MOST_TURNS):
            if not self.turn() or self.outputs is not None or self.attempts > most_attempts:
                return self
        raise AssertionError(f"the rehearsal does not end: {self.calls[-10:]}")

    def turn(self) -> bool:
        """One answer and the result of its call; False when there was no call."""
        response = asyncio.run(self._think())
        self.messages.append(response)
        self.texts.append(response.text or "")
        if not response.tool_calls:
            return False
        (part,) = response.tool_calls
        arguments = self._checked(part.tool_name, part.args)
        self.calls.append((part.tool_name, arguments))
        said = self._result(part.tool_name, arguments)
        outcome = "success" if said.ok else "failed"
        returned = ToolReturnPart(part.tool_name, said.text, tool_call_id=part.tool_call_id, outcome=outcome)
        self.messages.append(ModelRequest(parts=[returned]))
        if self.marks and part.tool_name == "mark_step" and self.marks[-1][1] == "failed":
            self.attempts += 1
            self.say(f"[The last attempt failed: {self.marks[-1][2]}. Go on from where you were.]")
        return True

    async def _think(self) -> ModelResponse:
        """A new model for each answer, given the transcript as it was stored."""
        model = walkthrough_model(self.package, self.process, self.inputs, function=self.function)
        self.messages = from_json(to_json(self.messages))
        tools = [
            ToolDefinition(name=name, parameters_json_schema=schema) for name, schema in self.tools.items()
        ]
        return (await think(model, ThinkRequest(messages=self.messages, tools=tools))).response

    @property
    def tools(self) -> dict[str, Any]:
        functions = {
            f"function.{each.name}": object_schema(each.inputs)
            for each in self.package.functions
            if each.session == "isolated"
        }
        return {**self.native, **functions, **self.operations}

    def _checked(self, name: str, raw: Any) -> dict[str, Any]:
        assert name in self.tools, f"{name} is not offered"
        return checked_arguments(ToolSpec(name, "", self.tools[name]), raw)

    def _result(self, name: str, arguments: dict[str, Any]) -> Said:
        if self.faults.get(name):
            return self.faults[name].pop(0)
        if name in ("read", "write"):
            return self._file(name, **arguments)
        if name == "mark_step":
            self.marks.append((arguments["step"], arguments["status"], arguments["note"]))
            return Said("Noted.")
        if name == "complete":
            self.outputs, self.narrative = arguments["outputs"], arguments["narrative"]
            return Said("Done.")
        return Said("Noted.") if name == "function_result" else self.answer(name, arguments)

    def _file(self, name: str, path: str, text: str = "") -> Said:
        present = self.files.get(path)
        if name == "read":
            if present is None:
                return error(f"There is no {path}.")
            self._seen[path] = present
            return data(present, f"file:{path}") if present else Said("[the file is empty]")
        if not path.startswith(("scratch/", "state/")):
            return error(f"{path} is read-only.")
        if present is not None and self._seen.get(path) != present:
            self._seen[path] = present
            return error(f"{path} exists and this session has not seen its present text.\n{present}")
        self.files[path] = self._seen[path] = text
        return Said(f"{path} is written.")

    def called(self, name: str) -> list[dict[str, Any]]:
        return [arguments for each, arguments in self.calls if each == name]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]
